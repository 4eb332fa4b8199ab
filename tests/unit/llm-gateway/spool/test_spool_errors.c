/* Folders that are no spool, names, links and what is missing. */
#include "tests/unit/llm-gateway/spool/spool_sides.h"

static void test_folders_that_are_no_spool(void **state)
{
    struct scene *scene = *state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX], longest[PATH_MAX];
    assert_null(atoll_spool_client_open("", NULL, NULL, &err));
    expect_err(&err, ATOLL_E_INPUT, "a folder's path");
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_null(atoll_spool_client_open(longest, NULL, NULL, &err));
    expect_err(&err, ATOLL_E_INPUT, "a folder's path");
    snprintf(path, sizeof(path), "%s/thesis.tex", scene->folder);
    scene_write(path, "x", 1);
    snprintf(longest, sizeof(longest), "%s/thesis.tex/deep/spool",
             scene->folder); /* folders above it are made */
    assert_null(atoll_spool_client_open(longest, NULL, NULL, &err));
    expect_err(&err, ATOLL_E_IO, "cannot make the folder");
    assert_null(atoll_spool_server_open(scene->folder, NULL, NULL, &err));
    expect_err(&err, ATOLL_E_INPUT, "thesis.tex");
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/spool", scene->folder);
    scene_write(path, "atoll-spool 2\n", 14);
    assert_null(atoll_spool_client_open(scene->folder, NULL, NULL, &err));
    expect_err(&err, ATOLL_E_SCHEMA, "newer version");
    scene_write(path, "other", 5);
    assert_null(atoll_spool_client_open(scene->folder, NULL, NULL, &err));
    expect_err(&err, ATOLL_E_INPUT, "not the mark");
    assert_int_equal(unlink(path), 0);
    atoll_spool_client_close(NULL);
    atoll_spool_server_close(NULL);
}

static void test_wrong_names(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    static const char *const names[] = {
        "",        "a",    "zz1",   "../../etc/passwd",
        "ab/../x", "ab.c", "aB1\n", "0123456789012345678901234567890123456789012345678901234567890123456789"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_llm_outcome outcome;
        atoll_llm_outcome_init(&outcome);
        assert_int_equal(atoll_spool_client_look(client, names[i], &outcome, &err), -1);
        assert_int_equal(err.code, ATOLL_E_INPUT);
        assert_int_equal(atoll_spool_client_done(client, names[i], &err), -1);
        assert_int_equal(atoll_spool_server_reply(server, names[i], &outcome, &err), -1);
        atoll_spool_client_withdraw(client, names[i]);
    }
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* Whoever may write into a spool cannot lead its server, or another client, into folders of theirs. */
static void test_links_are_not_followed(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    char outside[256], path[PATH_MAX], name[ATOLL_SPOOL_NAME_BYTES], part[3];
    static const char *const files[] = {"x.request", "y.reply", "y.request"};
    ask(client, "k1", name); /* where its file will lie */
    assert_int_equal(atoll_spool_client_done(client, name, &err), 0);
    snprintf(part, sizeof(part), "%.2s", name);
    snprintf(outside, sizeof(outside), "%s/.outside", scene->folder);
    assert_int_equal(mkdir(outside, 0700), 0);
    for (size_t i = 0; i < 3; i++) {
        static const char request[] =
            "{\"model\":\"any\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}";
        snprintf(path, sizeof(path), "%s/%s%s", outside, part, files[i]);
        scene_write(path, request, sizeof(request) - 1);
        make_old(path, 7200);
    }
    snprintf(path, sizeof(path), "%s/bell/%s", scene->folder, part);
    unlink(path);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", scene->folder, i ? "bell" : part);
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(symlink(".outside", path), 0);
    }
    scene->now_ns += 2 * S;
    assert_int_equal(atoll_spool_server_scan(server, 10, take, &taken, &err), -1);
    snprintf(path, sizeof(path), "%s/%s: a folder of the spool is expected, and no link", scene->folder,
             part);
    expect_err(&err, ATOLL_E_INPUT, path);
    assert_int_equal(taken.count, 0);
    for (int i = 0; i < 16; i++)
        atoll_spool_server_clean(server, 3600, NULL);
    struct atoll_llm_outcome outcome;
    atoll_llm_outcome_init(&outcome);
    snprintf(name, sizeof(name), "%sx", part);
    assert_int_equal(atoll_spool_server_reply(server, name, &outcome, &err), 0); /* its request is gone */
    atoll_llm_outcome_fini(&outcome);
    struct atoll_llm_request request;
    scene_request(&request, "k1");
    atoll_err_clear(&err);
    assert_int_equal(atoll_spool_client_ask(client, &request, name, &err), -1);
    scene_request(&request, "another folder's");
    atoll_err_clear(&err);
    assert_int_equal(atoll_spool_client_ask(client, &request, name, &err), 0); /* without a bell */
    snprintf(path, sizeof(path), "%s/*", outside);
    glob_t found;
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 3);
    globfree(&found);
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* A folder that cannot be read is said, and holds up no other. */
static void test_a_missing_folder(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX], name[ATOLL_SPOOL_NAME_BYTES];
    ask(client, "k1", name);
    snprintf(path, sizeof(path), "%s/%s", scene->folder, name[0] == '0' && name[1] == '0' ? "01" : "00");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(atoll_spool_server_scan(server, 10, take, &taken, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, path);
    assert_int_equal(taken.count, 1);
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* As a copy leaves it that takes files alone: asked for once more as if nothing were missing. */
static void test_a_copy_without_empty_folders(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    char path[PATH_MAX], name[ATOLL_SPOOL_NAME_BYTES];
    atoll_spool_client_close(client);
    for (unsigned i = 0; i < 256; i++) {
        snprintf(path, sizeof(path), "%s/%02x", scene->folder, i);
        assert_int_equal(rmdir(path), 0);
    }
    client = client_of(scene);
    ask(client, "k1", name);
    atoll_spool_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test_setup_teardown(test_folders_that_are_no_spool, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_wrong_names, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_links_are_not_followed, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_missing_folder, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_copy_without_empty_folders, scene_make, scene_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/unit/llm-gateway/spool/spool_sides.h"

/* ---- the way of a request ---- */

static void test_there_and_back(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    char name[ATOLL_SPOOL_NAME_BYTES];
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    ask(client, "k1", name);
    assert_true(scene_has(scene, name, "request"));
    assert_false(look(scene, client, name, ATOLL_LLM_OK, ""));
    assert_int_equal(scan(scene, server, 10, &taken), 1);
    assert_string_equal(taken.names[0], name);
    assert_string_equal(taken.keys[0], "k1");
    assert_int_equal(scan(scene, server, 10, &taken), 0); /* once */
    assert_false(look(scene, client, name, ATOLL_LLM_OK, ""));
    answer(server, name, "32 lanes");
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    assert_true(look(scene, client, name, ATOLL_LLM_OK, "32 lanes"));
    assert_true(look(scene, client, name, ATOLL_LLM_OK, "32 lanes")); /* it stays */
    assert_int_equal(atoll_spool_client_done(client, name, NULL), 0);
    assert_int_equal(scene_count(scene, "*"), 0);
    assert_int_equal(scene_count(scene, ".?*"), 256); /* ".." of each: no temporary file */
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

static void test_asking_again_finds_the_reply(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    char name[ATOLL_SPOOL_NAME_BYTES], again[ATOLL_SPOOL_NAME_BYTES];
    struct atoll_spool_client *client = client_of(scene);
    ask(client, "k1", name);
    ask(client, "k1", again); /* a duplicate */
    assert_string_equal(name, again);
    atoll_spool_client_close(client); /* a kill */
    assert_int_equal(scan(scene, server, 10, &taken), 1);
    answer(server, name, "first");
    client = client_of(scene);
    ask(client, "k1", again);
    assert_string_equal(name, again);
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    assert_true(look(scene, client, name, ATOLL_LLM_OK, "first"));
    ask(client, "k2", again);
    assert_string_not_equal(name, again);
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

static void test_names_follow_from_key_or_id(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_llm_request request;
    char names[4][ATOLL_SPOOL_NAME_BYTES];
    scene_request(&request, "");
    for (unsigned i = 0; i < 2; i++) {
        request.sample = i;
        assert_int_equal(atoll_spool_client_ask(client, &request, names[i], NULL), 0);
        request.key = "key";
        assert_int_equal(atoll_spool_client_ask(client, &request, names[2 + i], NULL), 0);
        request.key = "";
    }
    assert_string_not_equal(names[0], names[1]); /* another sample is another question */
    assert_string_equal(names[2], names[3]);     /* the same key is the same */
    atoll_spool_client_close(client);
}

static void test_a_reply_is_never_overwritten(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    char name[ATOLL_SPOOL_NAME_BYTES];
    ask(client, "k1", name);
    answer(server, name, "first");
    answer(server, name, "second");
    assert_true(look(scene, client, name, ATOLL_LLM_OK, "first"));
    assert_int_equal(scene_count(scene, "*.reply"), 1);
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

static void test_limits_and_refusals_of_the_sink(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {.refusals = 1};
    char name[ATOLL_SPOOL_NAME_BYTES], key[16];
    for (int i = 0; i < 20; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        ask(client, key, name);
    }
    assert_int_equal(scan(scene, server, 0, &taken), 0);
    assert_int_equal(scan(scene, server, 20, &taken), 0); /* the first is refused, so it ends */
    assert_int_equal(scan(scene, server, 7, &taken), 7);
    assert_int_equal(scan(scene, server, 7, &taken), 7);
    assert_int_equal(scan(scene, server, 7, &taken), 6);
    assert_int_equal(scan(scene, server, 7, &taken), 0);
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* Without a sweep: only where a bell rang, and only once. */
static void test_bells(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    char name[ATOLL_SPOOL_NAME_BYTES], bell[PATH_MAX];
    struct stat status;
    scan(scene, server, 10, &taken);
    ask(client, "k1", name);
    snprintf(bell, sizeof(bell), "%s/bell/%.2s", scene->folder, name);
    assert_int_equal(stat(bell, &status), 0);
    assert_int_equal(atoll_spool_server_scan(server, 10, take, &taken, NULL), 0); /* no time has passed */
    assert_int_equal(taken.count, 1);
    assert_int_equal(stat(bell, &status), -1);
    ask(client, "k2", name);
    snprintf(bell, sizeof(bell), "%s/bell/%.2s", scene->folder, name);
    assert_int_equal(unlink(bell), 0);
    assert_int_equal(atoll_spool_server_scan(server, 10, take, &taken, NULL), 0);
    assert_int_equal(taken.count, 1);
    assert_int_equal(scan(scene, server, 10, &taken), 1); /* two seconds later it is found without */
    static const char *const strange[] = {"zz", "-1", "0x", "abc", "+f"};
    for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
        snprintf(bell, sizeof(bell), "%s/bell/%s", scene->folder, strange[i]);
        scene_write(bell, "", 0);
    }
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* ---- one server at a time ---- */

/* A claim as a process of another machine would leave it: its beat stands still until it is written anew. */
static void claim_elsewhere(const struct scene *scene, struct atoll_lease **ret_lease)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease_holder other;
    atoll_lease_holder_self("17", 0, &other);
    snprintf(other.host, sizeof(other.host), "elsewhere");
    memcpy(other.boot, "00000000000000000000000000000000-000000", sizeof(other.boot));
    *ret_lease = atoll_lease_claim(scene->folder, &other, 0, NULL, &err);
    if (!*ret_lease)
        fail_msg("%s", err.text);
}

static void test_a_second_server_is_told_who_has_it(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_server *one = server_of(scene);
    struct atoll_err err = ATOLL_ERR_INIT;
    char words[64];
    assert_null(atoll_spool_server_open(scene->folder, NULL, NULL, &err));
    snprintf(words, sizeof(words), "another gateway serves it: pid %d on host ", (int)getpid());
    expect_err(&err, ATOLL_E_BUSY, words);
    atoll_spool_server_close(one);
    atoll_spool_server_close(server_of(scene)); /* released, it is free at once */
}

static void test_a_holder_elsewhere_is_watched(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_lease *lease;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct taken taken = {0};
    char name[ATOLL_SPOOL_NAME_BYTES];
    claim_elsewhere(scene, &lease);
    ask(client, "k1", name);
    struct atoll_spool_server *server = server_of(scene);
    assert_int_equal(scan(scene, server, 10, &taken), 0); /* it may live */
    scene->now_ns += (ATOLL_LEASE_TIME_S - 5) * S;
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    assert_int_equal(check(scene, server, &taken), 0);
    clean(server, 0);
    scene->now_ns += 5 * S;
    assert_int_equal(scan(scene, server, 10, &taken), 1); /* silent for so long: it is gone */
    answer(server, name, "taken over");
    assert_true(look(scene, client, name, ATOLL_LLM_OK, "taken over"));
    atoll_spool_server_close(server);
    assert_int_equal(atoll_lease_renew(lease, &err), -1); /* where it lives after all, it learns so */
    assert_int_equal(err.code, ATOLL_E_BUSY);
    atoll_lease_release(lease);
    atoll_spool_client_close(client);
}

static void test_a_holder_elsewhere_that_beats_keeps_it(void **state)
{
    struct scene *scene = *state;
    struct atoll_lease *lease;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct taken taken = {0};
    claim_elsewhere(scene, &lease);
    struct atoll_spool_server *server = server_of(scene);
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    assert_int_equal(atoll_lease_renew(lease, NULL), 0);
    assert_int_equal(atoll_spool_server_scan(server, 10, take, &taken, &err), -1);
    expect_err(&err, ATOLL_E_BUSY, "on host elsewhere, job 17");
    atoll_spool_server_close(server);
    atoll_lease_release(lease);
}

/* It stood still until another one took the spool: it learns so before it takes or answers anything more. */
static void test_a_server_that_lost_its_lease_stops(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct atoll_lease_seen seen;
    struct atoll_lease_holder other;
    struct atoll_llm_outcome outcome;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct taken taken = {0};
    char name[ATOLL_SPOOL_NAME_BYTES];
    ask(client, "k1", name);
    assert_int_equal(scan(scene, server, 10, &taken), 1);
    assert_int_equal(atoll_lease_look(scene->folder, NULL, &seen, NULL), 0);
    atoll_lease_holder_self("18", 0, &other);
    struct atoll_lease *lease = atoll_lease_claim(scene->folder, &other, seen.epoch, NULL, &err);
    assert_non_null(lease);
    scene->now_ns += ATOLL_LEASE_TIME_S * S;
    atoll_llm_outcome_init(&outcome);
    assert_int_equal(atoll_spool_server_reply(server, name, &outcome, &err), -1);
    expect_err(&err, ATOLL_E_BUSY, "job 18");
    assert_false(scene_has(scene, name, "reply"));
    assert_int_equal(atoll_spool_server_scan(server, 10, take, &taken, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_int_equal(atoll_spool_server_check(server, gone, &taken, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    atoll_spool_server_close(server);
    atoll_lease_release(lease);
    atoll_spool_client_close(client);
}

/* What a killed one had taken is taken anew. */
static void test_a_restarted_server_goes_on_at_once(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    char name[ATOLL_SPOOL_NAME_BYTES];
    ask(client, "k1", name);
    assert_int_equal(scan(scene, server, 10, &taken), 1);
    atoll_spool_server_close(server);
    server = server_of(scene);
    assert_int_equal(scan(scene, server, 10, &taken), 1);
    answer(server, name, "still here");
    assert_true(look(scene, client, name, ATOLL_LLM_OK, "still here"));
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

static void test_withdrawn_requests(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    char name[ATOLL_SPOOL_NAME_BYTES];
    ask(client, "k1", name);
    atoll_spool_client_withdraw(client, name);
    assert_int_equal(scene_count(scene, "*"), 0);
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    ask(client, "k1", name);
    assert_int_equal(scan(scene, server, 10, &taken), 1);
    atoll_spool_client_withdraw(client, name); /* while somebody works on it */
    assert_int_equal(check(scene, server, &taken), 1);
    assert_string_equal(taken.names[0], name);
    assert_int_equal(check(scene, server, &taken), 0); /* said once */
    answer(server, name, "for nobody");
    assert_int_equal(scene_count(scene, "*"), 0);
    ask(client, "k1", name);
    assert_int_equal(scan(scene, server, 10, &taken), 1);
    answer(server, name, "kept");
    atoll_spool_client_withdraw(client, name); /* too late: it is there for who asks again */
    assert_true(scene_has(scene, name, "request") && scene_has(scene, name, "reply"));
    ask(client, "k1", name);
    assert_true(look(scene, client, name, ATOLL_LLM_OK, "kept"));
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* Two clients of one question: the first is done with the reply, so the second must ask again. */
static void test_what_was_fetched_by_another_is_said(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_llm_outcome outcome;
    struct atoll_err err = ATOLL_ERR_INIT;
    char name[ATOLL_SPOOL_NAME_BYTES], path[PATH_MAX];
    ask(client, "k1", name);
    scene_path(scene, name, "request", path);
    assert_int_equal(unlink(path), 0);
    atoll_llm_outcome_init(&outcome);
    assert_int_equal(atoll_spool_client_look(client, name, &outcome, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "ask again");
    ask(client, "k1", name);
    assert_int_equal(atoll_spool_client_look(client, name, &outcome, &err), 0);
    atoll_llm_outcome_fini(&outcome);
    atoll_spool_client_close(client);
}

/* ---- by hand ---- */

static void test_replies_of_people(void **state)
{
    static const struct {
        const char *bytes;
        size_t length; /* 0: of the text */
        enum atoll_llm_status status;
        const char *part;
    } cases[] = {
        {"A warp has 32 lanes.\n", 0, ATOLL_LLM_OK, "A warp has 32 lanes."},
        {"{\"choices\":[{\"message\":{\"content\":\"32\"},\"finish_reason\":\"stop\"}]}", 0, ATOLL_LLM_OK,
         "32"},
        {" \n", 0, ATOLL_LLM_EMPTY, "without any text"},
        {"{\"choices\": [", 0, ATOLL_LLM_PROTOCOL, ".reply: reply: it begins with a brace"},
        {"a\0b", 3, ATOLL_LLM_PROTOCOL, "no text of UTF-8"},
        {"\xff\xfe", 0, ATOLL_LLM_PROTOCOL, "no text of UTF-8"},
    };
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char name[ATOLL_SPOOL_NAME_BYTES], path[PATH_MAX], key[8];
        snprintf(key, sizeof(key), "k%zu", i);
        ask(client, key, name);
        scene_path(scene, name, "reply", path);
        scene_write(path, "", 0); /* an editor's empty file is not yet a reply */
        assert_false(look(scene, client, name, ATOLL_LLM_OK, ""));
        scene_write(path, cases[i].bytes, cases[i].length ? cases[i].length : strlen(cases[i].bytes));
        assert_true(look(scene, client, name, cases[i].status, cases[i].part));
    }
    atoll_spool_client_close(client);
}

static void test_a_reply_by_hand_ends_the_work(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    char name[ATOLL_SPOOL_NAME_BYTES], path[PATH_MAX];
    ask(client, "k1", name);
    assert_int_equal(scan(scene, server, 10, &taken), 1);
    scene_path(scene, name, "reply", path);
    scene_write(path, "by hand", 7);
    assert_int_equal(check(scene, server, &taken), 1);
    assert_true(look(scene, client, name, ATOLL_LLM_OK, "by hand"));
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* Requests written by a script: any valid name; what cannot be read gets an answer that says so. */
static void test_requests_of_scripts(void **state)
{
    static const struct {
        const char *name, *bytes;
        int is_taken;
        const char *part;
    } cases[] = {
        {"00by-hand_1", "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}", 1, NULL},
        {"01x", "{\"model\":\"m\"", 0, "request 01x:"},
        {"02x", "", 0, "request 02x:"},
        {"03x", "{\"messages\":[]}", 0, "request 03x:"},
        {"ffx", "\xff", 0, "request ffx:"},
    };
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct taken taken = {0};
        char path[PATH_MAX];
        scene_path(scene, cases[i].name, "request", path);
        scene_write(path, cases[i].bytes, strlen(cases[i].bytes));
        assert_int_equal(scan(scene, server, 10, &taken), cases[i].is_taken);
        if (!cases[i].is_taken)
            assert_true(look(scene, client, cases[i].name, ATOLL_LLM_INVALID, cases[i].part));
    }
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* What is no file, or not ours, holds nobody up and is not followed. */
static void test_strange_things_in_folders(void **state)
{
    struct scene *scene = *state;
    struct atoll_spool_client *client = client_of(scene);
    struct atoll_spool_server *server = server_of(scene);
    struct taken taken = {0};
    char path[PATH_MAX], name[ATOLL_SPOOL_NAME_BYTES];
    static const char *const ignored[] = {"aa/README",       "aa/.x.request",      "aa/bbx.request",
                                          "aa/aa.request",   "aa/aax.request.txt", "aa/AAx.request",
                                          "aa/aa x.request", "aa/aax.lease-1"};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++) {
        snprintf(path, sizeof(path), "%s/%s", scene->folder, ignored[i]);
        scene_write(path, "x", 1);
    }
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    scene_path(scene, "b0pipe", "request", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    scene_path(scene, "b1folder", "request", path);
    assert_int_equal(mkdir(path, 0700), 0);
    scene_path(scene, "b2link", "request", path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    scene_path(scene, "b3sparse", "request", path);
    scene_write(path, "", 0);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* read to its end it would take an hour */
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    scene_path(scene, "b3socket", "request", path);
    snprintf(un.sun_path, sizeof(un.sun_path), "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    close(fd);
    assert_int_equal(scan(scene, server, 10, &taken), 0);
    static const char *const named[] = {"b0pipe", "b1folder", "b2link"};
    for (size_t i = 0; i < 3; i++)
        assert_true(look(scene, client, named[i], ATOLL_LLM_INVALID, "not a regular file"));
    assert_true(look(scene, client, "b3sparse", ATOLL_LLM_INVALID, "larger than"));
    assert_true(look(scene, client, "b3socket", ATOLL_LLM_INVALID, "not a regular file"));
    /* What cannot be read holds up no other of its folder. */
    if (geteuid() == 0)
        print_message("root reads every file: one that cannot be read is not tried\n");
    else {
        struct atoll_err err = ATOLL_ERR_INIT;
        for (int i = 0; i < 2; i++) {
            static const char request[] =
                "{\"model\":\"any\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}";
            scene_path(scene, i ? "b4second" : "b4first", "request", path);
            scene_write(path, request, sizeof(request) - 1);
            assert_int_equal(chmod(path, i ? 0600 : 0), 0);
        }
        taken.count = 0;
        scene->now_ns += 2 * S;
        assert_int_equal(atoll_spool_server_scan(server, 10, take, &taken, &err), -1);
        assert_int_equal(taken.count, 1);
    }
    ask(client, "k1", name);
    scene_path(scene, name, "reply", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(look(scene, client, name, ATOLL_LLM_PROTOCOL, "not a regular file"));
    atoll_spool_client_close(client);
    atoll_spool_server_close(server);
}

/* ---- cleaning ---- */

static void test_cleaning(void **state)
{
    static const struct {
        const char *files[3]; /* suffixes of files of one name, or names of temporary files */
        int age_s;
        size_t kept;
    } cases[] = {
        {{"request"}, 1000000, 1},
        {{"request", "reply"}, 3500, 2},
        {{"request", "reply"}, 3700, 0},
        {{"reply"}, 3700, 0},
        {{"reply"}, 3500, 1},
        {{".00x.0123456789abcdef.tmp"}, 500, 1},
        {{".00x.0123456789abcdef.tmp"}, 700, 0},
        {{"strange"}, 1000000, 1},
    };
    struct scene *scene = *state;
    struct atoll_spool_server *server = server_of(scene);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char path[PATH_MAX];
        for (size_t k = 0; k < 3 && cases[i].files[k]; k++) {
            scene_path(scene, "00x", cases[i].files[k], path);
            if (cases[i].files[k][0] == '.')
                snprintf(path, sizeof(path), "%s/00/%s", scene->folder, cases[i].files[k]);
            scene_write(path, "x", 1);
            make_old(path, cases[i].age_s);
        }
        clean(server, 3600);
        size_t left = scene_count(scene, "00x.*") + scene_count(scene, ".00x.*");
        if (left != cases[i].kept)
            fail_msg("case %zu: %zu left", i, left);
        clean(server, 0);
        scene_path(scene, "00x", "request", path);
        unlink(path);
        scene_path(scene, "00x", "strange", path);
        unlink(path);
        clean(server, 0);
        assert_int_equal(scene_count(scene, "00x.*") + scene_count(scene, ".00x.*"), 0);
    }
    atoll_spool_server_close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_asking_again_finds_the_reply, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_names_follow_from_key_or_id, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_reply_is_never_overwritten, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_limits_and_refusals_of_the_sink, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_bells, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_second_server_is_told_who_has_it, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_holder_elsewhere_is_watched, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_holder_elsewhere_that_beats_keeps_it, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_server_that_lost_its_lease_stops, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_restarted_server_goes_on_at_once, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_withdrawn_requests, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_what_was_fetched_by_another_is_said, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_replies_of_people, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_a_reply_by_hand_ends_the_work, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_requests_of_scripts, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_strange_things_in_folders, scene_make, scene_end),
        cmocka_unit_test_setup_teardown(test_cleaning, scene_make, scene_end),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

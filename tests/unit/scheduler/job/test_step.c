/* test_step.c - command lines of every shipped profile against tests/fixtures/step/NAME.txt, and what no launcher can do.
 * ATOLL_WRITE_FIXTURES=1 writes those files again; read the difference before you keep it. */
#include "tests/support/expect.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/campaign/batch_script.h"
#include "scheduler/job/pilot.h"

static const char *const nodes[] = {"n1", "n2", "n3", "n4"};
static const char *const arguments[] = {"/c/parts/0000", "--until", "1800000000", NULL};
static const struct atoll_step_request plain = {.nodes = nodes,
                                                .node_count = 4,
                                                .evaluators_per_node = 2,
                                                .gpus_per_node = 2,
                                                .program = "/opt/atoll eval",
                                                .arguments = arguments};

/* The requests that a profile's fixture holds, in this order. */
static struct atoll_step_request request_of(size_t i)
{
    static const char *const bad[] = {"n3", "n4"};
    struct atoll_step_request r = plain;

    if (i == 1) { /* one node, no GPU */
        r.node_count = 1;
        r.gpus_per_node = 0;
    }
    if (i == 2) { /* two nodes left out, with a host file */
        r.node_count = 2;
        r.left_out = bad;
        r.left_out_count = 2;
        r.host_file = "/c/hosts";
    }
    return r;
}

static void put_words(struct atoll_buffer *out, const char *title, int rc, const char *const *words,
                      const struct atoll_err *err)
{
    atoll_buffer_printf(out, "## %s\n", title);
    if (rc != 0) {
        atoll_buffer_printf(out, "refused: %s\n", err->text);
        return;
    }
    for (size_t i = 0; words && words[i]; i++) {
        atoll_shell_put(out, words[i]);
        atoll_buffer_put_u8(out, '\n');
    }
}

static void put_profile(struct atoll_buffer *out, const struct atoll_site *site, struct atoll_arena *arena)
{
    static const char *const titles[] = {"four nodes", "one node without GPUs", "two of four nodes"};

    for (size_t i = 0; i < 3; i++) {
        struct atoll_step_request r = request_of(i);
        struct atoll_err err = ATOLL_ERR_INIT;
        const char *const *words = NULL;
        int rc = atoll_step_command(site, &r, arena, &words, &err);

        put_words(out, titles[i], rc, words, &err);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *const *words = NULL;
    int rc =
        atoll_step_broadcast(site, &plain, "/opt/atoll eval", "/tmp/a b/atoll-eval", arena, &words, &err);
    put_words(out, "broadcast", rc, words, &err);
}

static void write_fixture(const char *path, const struct atoll_buffer *text)
{
    FILE *stream = fopen(path, "w");

    assert_non_null(stream);
    fwrite(text->data, 1, text->length - 1, stream);
    assert_int_equal(fclose(stream), 0);
}

static void compare(const char *path, const struct atoll_buffer *text)
{
    char kept[16384];
    FILE *stream = fopen(path, "r");
    size_t length;

    if (!stream) {
        fail_msg("no %s; ATOLL_WRITE_FIXTURES=1 writes it", path);
        return;
    }
    length = fread(kept, 1, sizeof(kept) - 1, stream);
    kept[length] = '\0';
    fclose(stream);
    if (strcmp(kept, (const char *)text->data) != 0)
        fail_msg("%s differs:\n%s", path, (const char *)text->data);
}

static void check_profile(const char *file)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, &err);
    struct atoll_buffer text;
    struct atoll_site *site;
    char path[512];

    snprintf(path, sizeof(path), ATOLL_SOURCE_DIR "/jobscripts/sites/%s", file);
    site = atoll_site_load(path, &err);
    if (!site)
        fail_msg("%s", err.text);
    atoll_buffer_init(&text, 1 << 16);
    put_profile(&text, site, arena);
    atoll_buffer_put_u8(&text, 0);
    snprintf(path, sizeof(path), ATOLL_SOURCE_DIR "/tests/fixtures/step/%s.txt", site->name);
    if (getenv("ATOLL_WRITE_FIXTURES"))
        write_fixture(path, &text);
    compare(path, &text);
    atoll_buffer_fini(&text);
    atoll_site_destroy(site);
    atoll_arena_destroy(arena);
}

static void test_shipped_profiles(void **state)
{
    DIR *folder = opendir(ATOLL_SOURCE_DIR "/jobscripts/sites");
    struct dirent *entry;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            check_profile(entry->d_name);
    closedir(folder);
}

static struct atoll_site *parse(const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_site *site = atoll_site_parse("s.yaml", text, strlen(text), &err);

    if (!site)
        fail_msg("%s", err.text);
    return site;
}

static void test_refusals(void **state)
{
    static const struct {
        const char *step;
        size_t request; /* of request_of */
        unsigned evaluators;
        size_t node_count;
        const char *words;
    } rows[] = {
        {"srun", 0, 0, 4, "at least one node and one evaluator"},
        {"srun", 0, 2, 0, "all nodes of the job are bad"},
        {"ibrun", 2, 2, 2, "ibrun starts the whole job's layout and cannot leave nodes out; let the job end"},
        {"direct", 0, 1, 4, "start: direct is for one node, and the step has 4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, &err);
        struct atoll_step_request r = request_of(rows[i].request);
        const char *const *words = NULL;
        char text[128];

        snprintf(text, sizeof(text), "version: 1\nname: x\nstep: {start: %s}\n", rows[i].step);
        struct atoll_site *site = parse(text);
        r.evaluators_per_node = rows[i].evaluators;
        r.node_count = rows[i].node_count;
        assert_int_equal(atoll_step_command(site, &r, arena, &words, &err), -1);
        assert_null(words);
        if (!strstr(err.text, rows[i].words))
            fail_msg("row %zu: %s", i, err.text);
        atoll_site_destroy(site);
        atoll_arena_destroy(arena);
    }
}

static void test_host_files(void **state)
{
    static const struct {
        const char *step, *text;
    } rows[] = {
        {"start: mpirun", "n1 slots=3\nn2 slots=2\nn3 slots=2\nn4 slots=2\n"},
        {"start: mpirun, layout: uniform", "n1 slots=3\nn2 slots=3\nn3 slots=3\nn4 slots=3\n"},
        {"start: mpiexec", "n1\nn2\nn3\nn4\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer out;
        char text[128];

        snprintf(text, sizeof(text), "version: 1\nname: x\nstep: {%s}\n", rows[i].step);
        struct atoll_site *site = parse(text);
        atoll_buffer_init(&out, 4096);
        assert_int_equal(atoll_step_hosts(site, &plain, &out, &err), 0);
        atoll_buffer_put_u8(&out, 0);
        assert_string_equal((const char *)out.data, rows[i].text);
        atoll_buffer_fini(&out);
        atoll_site_destroy(site);
    }
}

static void test_too_many_words(void **state)
{
    static const char *words[ATOLL_STEP_WORD_LIMIT + 1];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, &err);
    struct atoll_site *site = parse("version: 1\nname: x\nstep: {start: srun}\n");
    struct atoll_step_request r = plain;
    const char *const *command = NULL;

    (void)state;
    for (size_t i = 0; i < ATOLL_STEP_WORD_LIMIT; i++)
        words[i] = "x";
    r.arguments = words;
    assert_int_equal(atoll_step_command(site, &r, arena, &command, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    atoll_site_destroy(site);
    atoll_arena_destroy(arena);
}

/* The copy really copies: run its shell words here, into a folder that is not there yet. */
static void test_copy_words(void **state)
{
    char folder[] = "/tmp/atoll-step-XXXXXX", source[64], target[96], command[4096];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, &err);
    struct atoll_site *site = parse("version: 1\nname: x\nstep: {start: direct}\nfiles: {broadcast: copy}\n");
    struct atoll_step_request r = request_of(1);
    const char *const *words = NULL;
    struct atoll_buffer line;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(source, sizeof(source), "%s/a $b", folder);
    snprintf(target, sizeof(target), "%s/new 'folder'/a", folder);
    FILE *stream = fopen(source, "w");
    assert_non_null(stream);
    fputs("text", stream);
    fclose(stream);
    assert_int_equal(atoll_step_broadcast(site, &r, source, target, arena, &words, &err), 0);
    atoll_buffer_init(&line, sizeof(command));
    for (size_t i = 0; words[i]; i++) {
        atoll_shell_put(&line, words[i]);
        atoll_buffer_put_u8(&line, ' ');
    }
    atoll_buffer_put_u8(&line, 0);
    assert_int_equal(system((const char *)line.data), 0);
    atoll_buffer_fini(&line);
    stream = fopen(target, "r");
    assert_non_null(stream);
    assert_non_null(fgets(command, sizeof(command), stream));
    assert_string_equal(command, "text");
    fclose(stream);
    assert_int_equal(atoll_step_broadcast(site, &r, "a", target, arena, &words, &err), -1);
    assert_non_null(strstr(err.text, "needs absolute paths"));
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    atoll_site_destroy(site);
    atoll_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_profiles), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_host_files),       cmocka_unit_test(test_too_many_words),
        cmocka_unit_test(test_copy_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/campaign/sweep.h"

#define ID "9452ab1ac5e09ac82c5c8894845c3da1cd7a7416af43bed614d6b49ae3fa4fa6"

static char folder[PATH_MAX];

static int make_folder(void **state)
{
    char path[] = "/tmp/atoll-sweep-XXXXXX";
    assert_non_null(mkdtemp(path));
    return realpath(path, folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static void write_bytes(const char *name, const char *bytes, size_t length)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

/* ---- round trip ---- */

static void test_what_is_written_comes_back(void **state)
{
    static const struct atoll_sweep_part parts[] = {{"0000", 3}, {"0001", 1}, {"0007", 2}};
    static const char *const after[] = {"/scratch/it's \"a\" \xf0\x9f\x98\x80 50%j\\off", "/b: [c] #d"};
    const struct atoll_sweep put = {.id = ID,
                                    .atoll_version = "0.1.0",
                                    .backend = "null",
                                    .created_unix_s = 1795343844,
                                    .jobs = 4,
                                    .nodes = 2,
                                    .gpus_per_node = 8,
                                    .evaluators_per_node = 8,
                                    .time_min = 90,
                                    .max_queued = 3,
                                    .partition = "gpu",
                                    .account = "yes",
                                    .qos = "",
                                    .constraint = "a&b|[c*2]",
                                    .priority = 1e6,
                                    .share = 0.1,
                                    .after = after,
                                    .after_count = 2,
                                    .parts = parts,
                                    .part_count = 3};
    char name[ATOLL_SWEEP_NAME_BYTES], path[PATH_MAX], small[8];
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_sweep_write(&put, folder, NULL), 0);
    assert_int_equal(atoll_sweep_is(folder), 1);
    struct atoll_sweep *got = atoll_sweep_open(folder, &err);
    if (!got)
        fail_msg("%s", err.text);
    assert_string_equal(got->dir, folder);
    assert_string_equal(got->id, ID);
    assert_string_equal(got->account, "yes");
    assert_string_equal(got->qos, "");
    assert_string_equal(got->constraint, put.constraint);
    assert_true(got->jobs == 4 && got->nodes == 2 && got->gpus_per_node == 8 && got->time_min == 90);
    assert_true(got->max_queued == 3 && got->priority == 1e6 && got->share == 0.1);
    assert_int_equal(got->after_count, 2);
    assert_string_equal(got->after[0], after[0]);
    assert_string_equal(got->after[1], after[1]);
    assert_int_equal(got->part_count, 3);
    assert_string_equal(got->parts[2].name, "0007");
    assert_int_equal(got->parts[2].task_count, 2);
    assert_int_equal(atoll_sweep_part_path(got, 1, path, sizeof(path), NULL), 0);
    assert_memory_equal(path + strlen(folder), "/parts/0001", 12);
    assert_int_equal(atoll_sweep_part_path(got, 1, small, sizeof(small), &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "path too long");
    atoll_sweep_job_name(got, name);
    assert_string_equal(name, "atoll-9452ab1ac5e09ac8");
    atoll_sweep_close(got);
    atoll_sweep_close(NULL);
}

/* ---- hostile files ---- */

#define HEAD                                                                                                 \
    "version: 1\nid: \"" ID "\"\natoll_version: \"0.1.0\"\ncreated_unix_s: 1\nbackend: \"null\"\njobs: 1\n"  \
    "nodes: 1\ngpus_per_node: 0\nevaluators_per_node: 1\ntime_min: 2\npriority: 0\nshare: 1\n"
#define PARTS "parts:\n  - {name: \"0000\", tasks: 1}\n"

static void expect_refused(const char *text, size_t length, const char *part)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    write_bytes(ATOLL_SWEEP_FILE, text, length);
    struct atoll_sweep *sweep = atoll_sweep_open(folder, &err);
    if (sweep) {
        atoll_sweep_close(sweep);
        fail_msg("was taken: %.200s", text);
    }
    assert_true(err.code == ATOLL_E_INPUT || err.code == ATOLL_E_LIMIT);
    if (!strstr(err.text, part))
        fail_msg("'%s' was expected in '%s'", part, err.text);
    assert_non_null(strstr(err.text, ATOLL_SWEEP_FILE)); /* says where */
}

static void test_hostile_files_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "sweep.yaml"},
        {"[]", "sweep.yaml:1"},
        {HEAD, "parts"},
        {HEAD "parts: []\n", "at least one part"},
        {HEAD "parts: {a: 1}\n", "sweep.yaml:13"},
        {HEAD "parts: 3\n", "at least one part"},
        {HEAD "parts:\n  - {name: \"../..\", tasks: 1}\n", "sweep.yaml:14: '../..' is no part"},
        {HEAD "parts:\n  - {name: \"0/1\", tasks: 1}\n", "is no part"},
        {HEAD "parts:\n  - {name: \"123456789\", tasks: 1}\n", "is no part"},
        {HEAD "parts:\n  - {name: \"\", tasks: 1}\n", "sweep.yaml:14"},
        {HEAD "parts:\n  - {name: [0], tasks: 1}\n", "sweep.yaml:14"},
        {HEAD "parts:\n  - {name: \"0\", tasks: 0}\n", "at least 1"},
        {HEAD "parts:\n  - {name: \"0\", tasks: -1}\n", "sweep.yaml:14"},
        {HEAD "parts:\n  - {name: \"0\", tasks: 4294967296}\n", "sweep.yaml:14"},
        {HEAD "parts:\n  - {name: \"0\", tasks: 1e3}\n", "sweep.yaml:14"},
        {HEAD "parts:\n  - {name: \"0\", tasks: 1, more: 2}\n", "more"},
        {HEAD "parts:\n  - {name: \"0\", tasks: 1}\n  - {name: \"0\", tasks: 1}\n",
         "sweep.yaml:15: part 0 follows part 0"},
        {HEAD "parts:\n  - {name: \"1\", tasks: 1}\n  - {name: \"0\", tasks: 1}\n", "part 0 follows part 1"},
        {HEAD "jobs: 2\n" PARTS, "jobs"},
        {HEAD "after: /x\n" PARTS, "sweep.yaml:13"},
        {HEAD "after: [[/x]]\n" PARTS, "sweep.yaml:13"},
        {HEAD "after:\n  - \"a\\nb\"\n" PARTS, "control character"},
        {HEAD "partition: \"\\0\"\n" PARTS, "sweep.yaml"},
        {HEAD "unknown: 1\n" PARTS, "unknown"},
        {HEAD PARTS "---\n" HEAD PARTS, "sweep.yaml"},
        {"&a [*a]", "sweep.yaml"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_refused(cases[i].text, strlen(cases[i].text), cases[i].part);
    expect_refused(HEAD "qos: \"a\0b\"\n" PARTS, sizeof(HEAD "qos: \"a\0b\"\n" PARTS) - 1, "");
}

/* Each line of a good file in turn, with a value that is none. */
static void test_each_key_refuses_what_it_cannot_be(void **state)
{
    static const struct {
        const char *key, *line;
    } cases[] = {{"version", "version: 2"},
                 {"id", "id: \"atoll; rm -rf\""},
                 {"id", "id: \"9452ab1a\""},
                 {"id", "id: [1]"},
                 {"atoll_version", "atoll_version: {}"},
                 {"created_unix_s", "created_unix_s: .nan"},
                 {"created_unix_s", "created_unix_s: yesterday"},
                 {"jobs", "jobs: 0"},
                 {"jobs", "jobs: -1"},
                 {"nodes", "nodes: 0"},
                 {"nodes", "nodes: 99999999999999999999"},
                 {"evaluators_per_node", "evaluators_per_node: 0"},
                 {"gpus_per_node", "gpus_per_node: 1.5"},
                 {"time_min", "time_min: 0"},
                 {"priority", "priority: .inf"},
                 {"share", "share: 0"},
                 {"share", "share: -1"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static const char head[] = HEAD;
        const char *at = strstr(head, cases[i].key), *end;
        char text[4096];
        while (at != head && at[-1] != '\n')
            at = strstr(at + 1, cases[i].key);
        end = strchr(at, '\n');
        snprintf(text, sizeof(text), "%.*s%s%s%s", (int)(at - head), head, cases[i].line, end, PARTS);
        expect_refused(text, strlen(text), "sweep.yaml:");
    }
}

static void test_counts_have_limits(void **state)
{
    size_t bytes = (size_t)1 << 20, length = 0;
    char *text = malloc(bytes);
    length += (size_t)snprintf(text, bytes, "%sparts:\n", HEAD);
    for (int i = 0; i < ATOLL_SWEEP_PART_LIMIT; i++)
        length += (size_t)snprintf(text + length, bytes - length, "  - {name: \"%04d\", tasks: 1}\n", i);
    write_bytes(ATOLL_SWEEP_FILE, text, length);
    struct atoll_sweep *sweep = atoll_sweep_open(folder, NULL);
    assert_non_null(sweep);
    assert_int_equal(sweep->part_count, ATOLL_SWEEP_PART_LIMIT);
    atoll_sweep_close(sweep);
    length += (size_t)snprintf(text + length, bytes - length, "  - {name: \"4096\", tasks: 1}\n");
    expect_refused(text, length, "4096");
    length = (size_t)snprintf(text, bytes, "%safter:\n", HEAD);
    for (int i = 0; i < 65; i++)
        length += (size_t)snprintf(text + length, bytes - length, "  - /c%d\n", i);
    length += (size_t)snprintf(text + length, bytes - length, "%s", PARTS);
    expect_refused(text, length, "64");
    memset(text, '[', 100000);
    expect_refused(text, 100000, "");
    free(text);
}

static void test_a_truncated_file_is_never_a_smaller_campaign(void **state)
{
    static const char text[] = HEAD PARTS "  - {name: \"0001\", tasks: 1}\n";
    size_t taken = 0;
    for (size_t length = 0; length + 1 < sizeof(text) - 1; length++) {
        write_bytes(ATOLL_SWEEP_FILE, text, length);
        struct atoll_sweep *sweep = atoll_sweep_open(folder, NULL);
        taken += sweep != NULL && sweep->part_count != 1;
        atoll_sweep_close(sweep);
    }
    assert_int_equal(taken, 0);
}

/* ---- marks and history ---- */

static void test_no_campaign_says_how_to_make_one(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_sweep_is("/nowhere"), 0);
    assert_null(atoll_sweep_open("/nowhere", &err));
    expect_err(&err, ATOLL_E_NOTFOUND, "make one with atoll submit SUITE -o /nowhere");
}

static void test_marks_stand_until_they_are_cleared(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (enum atoll_sweep_mark mark = 0; mark < ATOLL_SWEEP_MARK_COUNT; mark++) {
        assert_int_equal(atoll_sweep_is_marked(folder, mark), 0);
        assert_int_equal(atoll_sweep_mark(folder, mark, 1, NULL), 0);
        assert_int_equal(atoll_sweep_mark(folder, mark, 1, NULL), 0);
        assert_int_equal(atoll_sweep_is_marked(folder, mark), 1);
        assert_int_equal(atoll_sweep_mark(folder, mark, 0, NULL), 0);
        assert_int_equal(atoll_sweep_mark(folder, mark, 0, NULL), 0);
        assert_int_equal(atoll_sweep_is_marked(folder, mark), 0);
    }
    assert_int_equal(atoll_sweep_mark("/nowhere", ATOLL_SWEEP_PAUSED, 1, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "/nowhere/paused: cannot write");
    assert_int_equal(atoll_sweep_is_done(folder), 0);
    write_bytes("done.json", "", 0);
    assert_int_equal(atoll_sweep_is_done(folder), 1);
}

static void test_a_torn_line_takes_no_other_with_it(void **state)
{
    char line[PATH_MAX + 64], long_text[3000];
    write_bytes(ATOLL_SWEEP_HISTORY, "{\"unix_s\":1,\"job\":\"1\",\"wh", 25);
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    atoll_sweep_record(folder, "12", "lost", "a \"b\"\n%s", "\xe4\x01");
    atoll_sweep_record(folder, "12", "lost", "%s", long_text);
    atoll_sweep_record("/nowhere", "12", "lost", "nobody hears it");
    snprintf(line, sizeof(line), "%s/" ATOLL_SWEEP_HISTORY, folder);
    FILE *file = fopen(line, "r");
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "{\"unix_s\":1,\"job\":\"1\",\"wh\n");
    assert_non_null(fgets(line, sizeof(line), file));
    assert_non_null(strstr(line, "\"text\":\"a \\\"b\\\"\\n"));
    assert_true(line[0] == '{' && line[strlen(line) - 2] == '}');
    assert_non_null(fgets(line, sizeof(line), file));
    assert_true(line[0] == '{' && strlen(line) > 1000);
    assert_null(fgets(line, sizeof(line), file));
    fclose(file);
}

static void test_what_the_file_can_hold(void **state)
{
    static const char *const good[] = {"", "/a b", "\xc3\xa4", "\xf0\x9f\x98\x80", "\xc2\xa0"};
    static const char *const bad[] = {"a\n", "\t", "\x7f", "\xe4", "\xc2\x85", "\xff", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_int_equal(atoll_sweep_can_hold(good[i]), 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(atoll_sweep_can_hold(bad[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_written_comes_back),
                                       cmocka_unit_test(test_hostile_files_are_refused_with_their_line),
                                       cmocka_unit_test(test_each_key_refuses_what_it_cannot_be),
                                       cmocka_unit_test(test_counts_have_limits),
                                       cmocka_unit_test(test_a_truncated_file_is_never_a_smaller_campaign),
                                       cmocka_unit_test(test_no_campaign_says_how_to_make_one),
                                       cmocka_unit_test(test_marks_stand_until_they_are_cleared),
                                       cmocka_unit_test(test_a_torn_line_takes_no_other_with_it),
                                       cmocka_unit_test(test_what_the_file_can_hold)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

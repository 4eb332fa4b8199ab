/* test_secret.c - which files and variables are taken, what is left of them, and what matches. */
#include "tests/support/expect.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/llm-gateway/scratch_folder.h"
#include "llm-gateway/http/secret.h"

static char folder[PATH_MAX];

static int set_up(void **state)
{
    scratch_make(folder);
    return 0;
}

static int tear_down(void **state)
{
    scratch_remove(folder);
    return 0;
}

static const char *write_file(const char *name, const char *bytes, size_t length, mode_t mode)
{
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    scratch_write(path, bytes, length);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static void a_files_first_line_is_taken(void **state)
{
    static const struct {
        const char *bytes, *secret, *says;
    } cases[] = {
        {"sk-1\n", "sk-1", NULL},           {"sk-1", "sk-1", NULL},
        {"sk-1\r\nsecond\n", "sk-1", NULL}, {"sk 1 \t \n", "sk 1", NULL},
        {"", NULL, "holds no secret"},      {"\nsk-1\n", NULL, "holds no secret"},
        {"  \n", NULL, "holds no secret"},  {"sk\x01\n", NULL, "byte 2"},
        {"s\xc3\xa4\n", NULL, "byte 1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const char *path = write_file("key", cases[i].bytes, strlen(cases[i].bytes), 0600);
        struct atoll_secret *secret = atoll_secret_of_file(path, &err);
        if (cases[i].secret) {
            assert_non_null(secret);
            assert_string_equal(atoll_secret_text(secret), cases[i].secret);
        } else {
            assert_null(secret);
            assert_int_equal(err.code, ATOLL_E_INPUT);
            assert_non_null(strstr(err.text, cases[i].says));
            assert_null(strstr(err.text, "sk"));
        }
        atoll_secret_destroy(secret);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_secret_of_file(write_file("nul", "a\0b\n", 4, 0600), &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
}

static void its_length_has_a_limit(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char bytes[ATOLL_SECRET_LIMIT_BYTES + 10];
    memset(bytes, 'k', sizeof(bytes));
    struct atoll_secret *secret =
        atoll_secret_of_file(write_file("k", bytes, ATOLL_SECRET_LIMIT_BYTES, 0600), &err);
    assert_non_null(secret);
    assert_int_equal(strlen(atoll_secret_text(secret)), ATOLL_SECRET_LIMIT_BYTES);
    atoll_secret_destroy(secret);
    assert_null(atoll_secret_of_file(write_file("k", bytes, ATOLL_SECRET_LIMIT_BYTES + 1, 0600), &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
    assert_non_null(strstr(err.text, "longer than 4096"));
    assert_null(atoll_secret_of_file(write_file("k", bytes, sizeof(bytes), 0600), &err));
}

static void a_file_others_can_reach_is_refused(void **state)
{
    static const struct {
        mode_t mode;
        int is_fine;
    } cases[] = {{0600, 1}, {0400, 1}, {0700, 1}, {0640, 0}, {0604, 0}, {0660, 0}, {0620, 0}, {0601, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_secret *secret = atoll_secret_of_file(write_file("m", "key\n", 4, cases[i].mode), &err);
        assert_int_equal(secret != NULL, cases[i].is_fine);
        if (!secret) {
            assert_int_equal(err.code, ATOLL_E_DENIED);
            assert_non_null(strstr(err.text, "chmod 600"));
            assert_null(strstr(err.text, "key\n"));
        }
        atoll_secret_destroy(secret);
        write_file("m", "", 0, 0600);
    }
}

static void only_regular_files_are_read(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char link[PATH_MAX + 64], fifo[PATH_MAX + 64];
    const char *path = write_file("real", "key\n", 4, 0600);
    snprintf(link, sizeof(link), "%s/link", folder);
    snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_null(atoll_secret_of_file(link, &err));
    assert_int_equal(err.code, ATOLL_E_DENIED);
    assert_non_null(strstr(err.text, "symbolic link"));
    assert_null(atoll_secret_of_file(fifo, &err)); /* and does not wait for a writer */
    assert_int_equal(err.code, ATOLL_E_DENIED);
    assert_null(atoll_secret_of_file(folder, &err));
    assert_int_equal(err.code, ATOLL_E_DENIED);
    assert_null(atoll_secret_of_file("/nonexistent/key", &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
}

static void a_file_of_somebody_else_is_refused(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (geteuid() != 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    const char *path = write_file("theirs", "key\n", 4, 0600);
    assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
    assert_null(atoll_secret_of_file(path, &err));
    assert_int_equal(err.code, ATOLL_E_DENIED);
    assert_non_null(strstr(err.text, "12345"));
}

/* Counts a text in a file of /proc. */
static int count_in(const char *path, const char *text)
{
    static char bytes[1 << 18];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t length = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    int count = 0;
    for (size_t i = 0; i + strlen(text) <= length; i++)
        count += memcmp(bytes + i, text, strlen(text)) == 0;
    return count;
}

/* main() started this program again with the variable in the environment that the kernel keeps. */
static void a_variable_is_taken_and_wiped(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(count_in("/proc/self/environ", "sk-environment"), 1);
    struct atoll_secret *secret = atoll_secret_of_environment("ATOLL_TEST_SECRET", &err);
    assert_non_null(secret);
    assert_string_equal(atoll_secret_text(secret), "sk-environment-42");
    assert_null(getenv("ATOLL_TEST_SECRET"));
    assert_int_equal(count_in("/proc/self/environ", "sk-environment"), 0);
    assert_int_equal(system("test -z \"$ATOLL_TEST_SECRET\""), 0); /* a child has none */
    atoll_secret_destroy(secret);
    assert_null(atoll_secret_of_environment("ATOLL_TEST_SECRET", &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_non_null(strstr(err.text, "ATOLL_TEST_SECRET"));
    assert_null(atoll_secret_of_environment("", &err));
    assert_null(atoll_secret_of_environment("A=B", &err));
}

static void a_bad_variable_is_wiped_too(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(setenv("ATOLL_TEST_BAD", "", 1), 0);
    assert_null(atoll_secret_of_environment("ATOLL_TEST_BAD", &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
    assert_null(getenv("ATOLL_TEST_BAD"));
}

static void only_the_whole_secret_matches(void **state)
{
    static const struct {
        const char *given;
        size_t length;
        int is_same;
    } cases[] = {{"token", 5, 1},   {"tokeN", 5, 0},      {"Token", 5, 0}, {"toke", 4, 0},
                 {"tokens", 6, 0},  {"", 0, 0},           {NULL, 0, 0},    {"token\0", 6, 0},
                 {"token\n", 6, 0}, {"tokentoken", 10, 0}};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_secret *secret = atoll_secret_of_file(write_file("t", "token\n", 6, 0600), &err);
    assert_non_null(secret);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(atoll_secret_matches(secret, cases[i].given, cases[i].length), cases[i].is_same);
    atoll_secret_destroy(secret);
    atoll_secret_destroy(NULL);
}

static void a_forked_child_has_nothing(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_secret *secret = atoll_secret_of_file(write_file("f", "token\n", 6, 0600), &err);
    assert_non_null(secret);
    pid_t child = fork();
    if (child == 0) {
        int has = strlen(atoll_secret_text(secret)) > 0 || atoll_secret_matches(secret, "token", 5);
        atoll_secret_destroy(secret);
        _exit(has);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(atoll_secret_text(secret), "token");
    atoll_secret_destroy(secret);
}

static void a_hardened_process_leaves_no_core(void **state)
{
    pid_t child = fork(); /* the test itself stays as it is */
    if (child == 0) {
        struct rlimit limit;
        struct atoll_err err = ATOLL_ERR_INIT;
        int failed = atoll_secret_harden(&err) != 0 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 ||
                     getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_max != 0;
        _exit(failed);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* As servers echo it: plain, escaped by any writer of JSON, inside a document inside a document, in a URL. */
static void every_form_is_scrubbed(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        const char *scrubbed; /* a line, which may be cut */
    } cases[] = {
        {"", 0, ""},
        {"nothing", 0, "nothing"},
        {"sk-/a\"b+9", 1, "*********"},
        {"x sk-/a\"b+9sk-/a\"b+9 y", 2, "x ****************** y"},
        {"sk-\\/a\\\"b+9", 1, "***********"},
        {"sk-\\\\\\/a\\\\\\\"b+9", 1, "***************"},
        {"\\u0073\\u006B-\\u002f\\u0061\\\"b+9", 1, "******************************"},
        {"\\\\u0073k-/a\\\"b+9", 1, "****************"},
        {"sk-%2Fa%22b%2b9", 1, "***************"},
        {"sk-/a\"b+8", 0, "sk-/a\"b+8"},
        {"\\u0073k-/a\"b+\\u00", 0, "\\u0073k-/a\"b+\\u00"},
        {"cut: sk-/a\"b+", 0, "cut: ********"},
        {"cut: sk-/a\"b", 0, "cut: sk-/a\"b"}, /* too little to be one */
        {"\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\", 0, "\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\"},
    };
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *path = write_file("key", "sk-/a\"b+9\n", 10, 0600);
    struct atoll_secret *secret = atoll_secret_of_file(path, &err);
    assert_non_null(secret);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[128], line[128];
        snprintf(text, sizeof(text), "%s", cases[i].text);
        snprintf(line, sizeof(line), "%s", cases[i].text);
        assert_int_equal(atoll_secret_scrub(secret, text, strlen(text)), cases[i].count);
        if (cases[i].count)
            assert_string_equal(text, cases[i].scrubbed);
        atoll_secret_scrub_line(secret, line);
        assert_string_equal(line, cases[i].scrubbed);
    }
    char text[] = "sk-/a";
    assert_int_equal(atoll_secret_scrub(NULL, text, 5), 0);
    atoll_secret_destroy(secret);
    secret = atoll_secret_of_file(write_file("key", "sk-/a\n", 6, 0600), &err);
    assert_int_equal(atoll_secret_scrub(secret, text, 5), 0);
    atoll_secret_destroy(secret);
}

/* A server may echo it in what it wants called, too; a name stays one that providers take. */
static void calls_are_scrubbed(void **state)
{
    static const struct atoll_llm_tool_call call = {"id-key-of-9", "key-of-9_f", "{\"source\":\"key-of-9\"}"};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_outcome o;
    struct atoll_secret *secret = atoll_secret_of_file(write_file("key", "key-of-9\n", 9, 0600), &err);
    assert_non_null(secret);
    atoll_llm_outcome_init(&o);
    o.status = ATOLL_LLM_TOOL_CALLS;
    assert_int_equal(atoll_llm_outcome_set_calls(&o, &call, 1, &err), 0);
    atoll_outcome_text_put(&o.provider_state, "[\"key-of-9\"]", 12);
    atoll_buffer_put_bytes(&o.raw, "in pieces: key- of-9", 20);
    atoll_secret_scrub_outcome(secret, &o);
    assert_string_equal(o.tool_calls[0].id, "id-********");
    assert_string_equal(o.tool_calls[0].name, "_________f");
    assert_string_equal(o.tool_calls[0].arguments, "{\"source\":\"********\"}");
    assert_string_equal((const char *)o.provider_state.data, "[\"********\"]");
    assert_int_equal(o.raw.length, 0); /* it holds the secret in pieces */
    atoll_llm_outcome_fini(&o);
    atoll_secret_destroy(secret);
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_files_first_line_is_taken),
        CASE(its_length_has_a_limit),
        CASE(a_file_others_can_reach_is_refused),
        CASE(only_regular_files_are_read),
        CASE(a_file_of_somebody_else_is_refused),
        CASE(a_variable_is_taken_and_wiped),
        CASE(every_form_is_scrubbed),
        CASE(calls_are_scrubbed),
        CASE(a_bad_variable_is_wiped_too),
        CASE(only_the_whole_secret_matches),
        CASE(a_forked_child_has_nothing),
        CASE(a_hardened_process_leaves_no_core),
    };
    if (!getenv("ATOLL_TEST_SECRET")) {
        setenv("ATOLL_TEST_SECRET", "sk-environment-42", 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

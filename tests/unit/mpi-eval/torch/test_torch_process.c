/* test_torch_process.c - the driver of a Python process, against a peer that does not behave; no torch is needed. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/process.h"

#define PYTHON "/usr/bin/python3"

/* server: that forks it; NULL: by itself */
static struct atoll_torch *begin(struct atoll_torch *server, const char *kind, uint64_t memory_bytes,
                                 const atomic_int *cancelled)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_torch_settings settings = {.python = PYTHON,
                                            .role = kind,
                                            .script = ATOLL_SOURCE_DIR "/tests/fixtures/torch/peer.py",
                                            .memory_bytes = memory_bytes,
                                            .folder_bytes = 1 << 21,
                                            .cancelled = cancelled};
    struct atoll_torch *t =
        server ? atoll_torch_fork(server, &settings, &err) : atoll_torch_start(&settings, &err);
    if (!t)
        fail_msg("%s", err.text);
    return t;
}

static struct atoll_torch *start(const char *kind, uint64_t memory_bytes, const atomic_int *cancelled)
{
    return begin(NULL, kind, memory_bytes, cancelled);
}

/* 'T': stopped, and in no sleep that it could wake from. */
static char state_of(long pid)
{
    char path[64], name[64], run = 0;
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    for (int i = 0; i < 1000 && run != 'T'; i++) {
        FILE *f = fopen(path, "r");
        if (!f || fscanf(f, "%*d %63s %c", name, &run) != 2)
            run = 0;
        if (f)
            fclose(f);
        usleep(1000);
    }
    return run;
}

/* Between calls nothing of it runs. */
static void test_stopped(void **state)
{
    struct atoll_torch *t = start("echo", 0, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *reply = NULL;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atoll_torch_call(t, json_object(), -1, 20e9, &reply, &err), 0);
        assert_int_equal(state_of((long)json_integer_value(json_object_get(reply, "pid"))), 'T');
        json_decref(reply);
    }
    atoll_torch_stop(t);
}

static void test_ask(void **state)
{
    struct atoll_torch *t = start("echo", 0, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *reply = NULL;
    char text[8] = "";
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_string_equal(atoll_torch_facts(t)->torch, "2.0");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            atoll_torch_call(t, json_pack("{s:s, s:i}", "op", "x", "n", i), i ? fd : -1, 20e9, &reply, &err),
            0);
        assert_int_equal(json_integer_value(json_object_get(json_object_get(reply, "request"), "n")), i);
        assert_int_equal(json_integer_value(json_object_get(reply, "fds")), i ? 1 : 0);
        if (i == 2)
            assert_int_equal(access(atoll_json_member(reply, "folder"), F_OK), 0);
        if (i < 2)
            json_decref(reply);
    }
    assert_int_equal(pread(fd, text, 7, 0), 7);
    assert_string_equal(text, "written");
    close(fd);
    atoll_torch_stop(t);
    assert_int_equal(access(atoll_json_member(reply, "folder"), F_OK), -1);
    json_decref(reply);
    atoll_torch_stop(NULL);
}

/* A large request and a large answer pass through a socket that holds neither. */
static void test_large(void **state)
{
    struct atoll_torch *t = start("echo", 0, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t length = (size_t)3 << 20;
    char *text = malloc(length + 1);
    json_t *reply = NULL;
    memset(text, 'a', length);
    text[length] = '\0';
    assert_int_equal(atoll_torch_call(t, json_pack("{s:s}", "text", text), -1, 20e9, &reply, &err), 0);
    assert_string_equal(atoll_json_member(json_object_get(reply, "request"), "text"), text);
    json_decref(reply);
    free(text);
    atoll_torch_stop(t);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *kind;
        enum atoll_code code;
    } cases[] = {{"problem", ATOLL_E_INPUT},
                 {"memory", ATOLL_E_LIMIT},
                 {"unsupported", ATOLL_E_MISSING},
                 {"internal", ATOLL_E_INTERNAL},
                 {"what is this", ATOLL_E_INTERNAL}};
    struct atoll_torch *t = start("no", 0, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        json_t *reply = NULL;
        assert_int_equal(
            atoll_torch_call(t, json_pack("{s:s}", "kind", cases[i].kind), -1, 20e9, &reply, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.text, "two"));
        assert_null(reply);
    }
    atoll_torch_stop(t);
}

/* Of one that is started, and of one that a server forks: the server lives on. */
static void misbehave(struct atoll_torch *server)
{
    static const struct {
        const char *kind;
        double deadline_ns;
        enum atoll_code code;
        const char *text;
    } cases[] = {
        {"garbage", 20e9, ATOLL_E_PROTOCOL, "sent what is no answer"},
        {"list", 20e9, ATOLL_E_PROTOCOL, "sent what is no answer"},
        {"long", 20e9, ATOLL_E_PROTOCOL, "more than 16 MiB"},
        {"half", 20e9, ATOLL_E_CHILD, "ended by itself (exit status 0)"},
        {"closes", 20e9, ATOLL_E_CHILD, "closed its link"},
        {"dies", 20e9, ATOLL_E_CHILD, "exit status 3); it said: the last words"},
        {"silent", 0.05e9, ATOLL_E_TIMEOUT, "did not answer within 0.05 s and was killed"},
        {"eats", 20e9, ATOLL_E_LIMIT, "of memory and was killed"},
        {"fills", 20e9, ATOLL_E_LIMIT,
         "of files in its temporary folder and was killed: it may have 0.0021 GB"},
        {"hides", 20e9, ATOLL_E_LIMIT,
         "of files in its temporary folder and was killed: it may have 0.0021 GB"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_torch *t = begin(server, cases[i].kind, (uint64_t)200 << 20, NULL);
        struct atoll_err err = ATOLL_ERR_INIT;
        json_t *reply = NULL;
        assert_int_equal(atoll_torch_call(t, json_object(), -1, cases[i].deadline_ns, &reply, &err), -1);
        expect_err(&err, cases[i].code, cases[i].text);
        atoll_err_clear(&err);
        assert_int_equal(atoll_torch_call(t, json_object(), -1, 1e9, &reply, &err), -1);
        expect_err(&err, ATOLL_E_CHILD, "is gone");
        atoll_torch_stop(t);
    }
}

static void test_misbehaviour(void **state)
{
    misbehave(NULL);
}

static long number_of(const json_t *reply, const char *name)
{
    return (long)json_integer_value(json_object_get(reply, name));
}

/* A child has a folder and a stop of its own, and the next one the same server, whatever it did. */
static void test_fork(void **state)
{
    struct atoll_torch *server = start(ATOLL_TORCH_FORK_SERVER, 0, NULL), *t;
    struct atoll_err err = ATOLL_ERR_INIT;
    char first[256] = "";
    long parent = 0;
    for (int i = 0; i < 2; i++) {
        json_t *reply = NULL;
        t = begin(server, "echo", 0, NULL);
        assert_int_equal(atoll_torch_call(t, json_object(), -1, 20e9, &reply, &err), 0);
        if (i) {
            assert_int_equal(number_of(reply, "parent"), parent);
            assert_string_not_equal(atoll_json_member(reply, "folder"), first);
        }
        parent = number_of(reply, "parent");
        snprintf(first, sizeof(first), "%s", atoll_json_member(reply, "folder"));
        assert_int_equal(access(first, F_OK), 0);
        assert_int_equal(state_of(number_of(reply, "pid")), 'T');
        json_decref(reply);
        if (i == 0) {
            atoll_torch_stop(t);
            assert_int_equal(access(first, F_OK), -1);
            misbehave(server);
        }
    }
    /* the server's end is its children's, and is told */
    assert_int_equal(kill((pid_t)parent, SIGKILL), 0);
    atoll_torch_stop(t);
    assert_int_equal(access(first, F_OK), -1);
    const struct atoll_torch_settings settings = {.python = PYTHON, .role = "echo"};
    assert_null(atoll_torch_fork(server, &settings, &err));
    expect_err(&err, ATOLL_E_CHILD, "is gone");
    atoll_torch_stop(server);
}

static void test_stillborn(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_torch_settings settings = {.python = PYTHON,
                                                  .role = "stillborn",
                                                  .script = ATOLL_SOURCE_DIR "/tests/fixtures/torch/peer.py",
                                                  .start_limit_ns = 20e9};
    assert_null(atoll_torch_start(&settings, &err));
    expect_err(&err, ATOLL_E_CHILD, "ended by itself (exit status 4)");
}

/* What is printed never blocks it. */
static void test_words(void **state)
{
    struct atoll_torch *t = start("talks", 0, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *reply = NULL;
    assert_int_equal(atoll_torch_call(t, json_object(), -1, 20e9, &reply, &err), 0);
    json_decref(reply);
    atoll_torch_stop(t);
}

static void test_cancel(void **state)
{
    atomic_int cancelled = 0;
    struct atoll_torch *t = start("silent", 0, &cancelled);
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *reply = NULL;
    atomic_store(&cancelled, 1);
    assert_int_equal(atoll_torch_call(t, json_object(), -1, 20e9, &reply, &err), -1);
    expect_err(&err, ATOLL_E_BUSY, "cancelled");
    atoll_torch_stop(t);
}

static void test_sandbox(void **state)
{
    char secret[] = "/tmp/atoll-secret-XXXXXX";
    int fd = mkstemp(secret);
    struct atoll_torch *t = start("tries", 0, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    json_t *reply = NULL;
    static const struct {
        const char *name;
        int is_denied;
    } cases[] = {{"network", 1}, {"outside", 1}, {"secret", 1}, {"session", 1}, {"inside", 0}, {"folder", 0}};
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(atoll_torch_call(t, json_pack("{s:s}", "secret", secret), -1, 20e9, &reply, &err), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int error = (int)json_integer_value(json_object_get(reply, cases[i].name));
        if ((error == EPERM || error == EACCES) != cases[i].is_denied)
            fail_msg("%s: errno %d", cases[i].name, error);
    }
    unlink(secret);
    json_decref(reply);
    atoll_torch_stop(t);
    t = start("descriptor", 0, NULL);
    assert_int_equal(atoll_torch_call(t, json_object(), -1, 20e9, &reply, &err), 0);
    assert_int_equal(json_integer_value(json_object_get(reply, "errno")), EPERM);
    json_decref(reply);
    atoll_torch_stop(t);
}

static void test_find(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char python[256] = "";
    assert_int_equal(setenv(ATOLL_TORCH_VARIABLE, "/no/such/python", 1), 0);
    assert_int_equal(atoll_torch_find("auto", python, sizeof(python), &err), -1);
    atoll_err_clear(&err);
    assert_int_equal(atoll_torch_find("none", python, sizeof(python), &err), 1);
    assert_int_equal(atoll_torch_find("", python, sizeof(python), &err),
                     1); /* as a setup has it that names none */
    assert_int_equal(setenv(ATOLL_TORCH_VARIABLE, "none", 1), 0);
    assert_int_equal(atoll_torch_find(NULL, python, sizeof(python), &err), 1);
    assert_int_equal(atoll_torch_find("auto", python, sizeof(python), &err), 1);
    assert_int_equal(atoll_torch_find("/no/such/python", python, sizeof(python), &err), -1);
    expect_err(&err, ATOLL_E_MISSING, "/no/such/python is no program");
    atoll_err_clear(&err);
    assert_int_equal(atoll_torch_find("no-such-python", python, sizeof(python), &err), -1);
    expect_err(&err, ATOLL_E_MISSING, "ATOLL_PYTHON");
    atoll_err_clear(&err);
    assert_int_equal(atoll_torch_find("/bin/false", python, sizeof(python), &err), -1);
    expect_err(&err, ATOLL_E_MISSING, "/bin/false is no Python 3 that works");
    assert_string_equal(python, "");
    json_t *answer = atoll_torch_examine(PYTHON, &err);
    assert_non_null(answer);
    assert_true(json_array_size(json_object_get(answer, "path")) > 0);
    json_decref(answer);
}

/* An interpreter is started once, until its file changes. */
static void test_examined_once(void **state)
{
    static const unsigned starts[] = {1, 1, 2, 2};
    char folder[] = "/tmp/atoll-python-XXXXXX", python[64], log[64], command[256];
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_non_null(mkdtemp(folder));
    snprintf(python, sizeof(python), "%s/python3", folder);
    snprintf(log, sizeof(log), "%s/log", folder);
    FILE *f = fopen(python, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "#!/bin/sh\necho >> %s\nexec %s \"$@\"\n", log, PYTHON) > 0 && fclose(f) == 0);
    assert_int_equal(chmod(python, 0700), 0);
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        struct stat st;
        if (starts[i] > 1) {
            const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
            assert_int_equal(utimensat(AT_FDCWD, python, times, 0), 0);
        }
        json_t *answer = atoll_torch_examine(python, &err);
        assert_non_null(answer);
        assert_true(json_array_size(json_object_get(answer, "path")) > 0);
        json_object_clear(answer); /* its own */
        json_decref(answer);
        assert_int_equal(stat(log, &st), 0);
        assert_int_equal(st.st_size, starts[i]);
    }
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_versions(void **state)
{
    static const struct {
        const char *version;
        int tried;
    } cases[] = {{"1.12.1", -1}, {"1.13.0a0+gitunknown", 1}, {"2.0.1", 1}, {"2.11.0+cu130", 1}, {"2.12.0", 0},
                 {"3.0", 0},     {"of unknown version", 0}};
    json_t *answer = json_pack("{s:s, s:s, s:s}", "torch", "2.11.0", "cuda", "13.0", "triton", "3.5");
    char text[96];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(atoll_torch_is_tried(cases[i].version), cases[i].tried);
    atoll_torch_describe(answer, text, sizeof(text));
    assert_string_equal(text, "torch 2.11.0, CUDA 13.0, Triton 3.5");
    json_object_del(answer, "cuda");
    json_object_del(answer, "triton");
    atoll_torch_describe(answer, text, sizeof(text));
    assert_string_equal(text, "torch 2.11.0");
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ask),          cmocka_unit_test(test_large),
        cmocka_unit_test(test_stopped),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_misbehaviour), cmocka_unit_test(test_words),
        cmocka_unit_test(test_cancel),       cmocka_unit_test(test_sandbox),
        cmocka_unit_test(test_find),         cmocka_unit_test(test_examined_once),
        cmocka_unit_test(test_versions),     cmocka_unit_test(test_stillborn),
        cmocka_unit_test(test_fork)};
    if (access(PYTHON, X_OK) != 0) {
        printf("no " PYTHON "\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

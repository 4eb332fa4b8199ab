/* test_compile_patience.c - a compiler is ended for what it computes, and for hanging, and not because others compute. */
#include "tests/support/expect.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "mpi-eval/backend/compile/compile_patience.h"
#include "mpi-eval/backend/cpu/compile/compile.h"

#define DEADLINE_NS 1e9 /* of a compilation of 0.1 s, behind all that other tests compute meanwhile */

static void test_rule(void **state)
{
    (void)state;
    static const struct {
        double running_ns, processor_ns;
        int ends;
        double left_ns;
        const char *says;
    } rows[] = {
        {1.1, 1.1, 1, 0.02e9, "was not done after 1e-09 s of processor time"},
        {1.1e9, 0.2e9, 0, 0.8e9, ""},
        {1.1e9, 0.999e9, 0, 0.02e9, ""},
        {4.8e9, 0.2e9, 0, 0.2e9, ""},
        {5.1e9, 0.2e9, 1, 0.02e9, "was not done after 5 s, of which it had a processor for 0.2 s"},
        {1.1e9, -1, 1, 0, "was not done after 1 s"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_compile_patience patience = {0};
        double deadline = i ? 1e9 : 1;
        char text[160];
        assert_false(atoll_compile_patience_is_late(&patience, deadline, deadline));
        assert_true(atoll_compile_patience_is_late(&patience, rows[i].running_ns, deadline));
        assert_int_equal(
            atoll_compile_patience_ends(&patience, rows[i].running_ns, deadline, rows[i].processor_ns),
            rows[i].ends);
        atoll_compile_patience_tell(&patience, deadline, text, sizeof(text));
        if (rows[i].ends) {
            assert_non_null(strstr(text, rows[i].says));
            continue;
        }
        double left = atoll_compile_patience_left_ns(&patience, rows[i].running_ns, deadline);
        assert_true(left > rows[i].left_ns * 0.999 && left < rows[i].left_ns * 1.001);
        assert_false(atoll_compile_patience_is_late(&patience, rows[i].running_ns + left, deadline));
    }
}

static void compute(double seconds)
{
    while (atoll_compile_thread_processor_ns() < seconds * 1e9)
        ;
}

/* A leader that has waited for one child, while another one lives. */
static void test_group(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t leader = fork();
    if (leader == 0) {
        setpgid(0, 0);
        pid_t child = fork();
        if (child == 0) {
            compute(0.1);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        if (fork() == 0) {
            compute(0.1);
            byte = (char)write(ends[1], "x", 1);
            pause();
        }
        compute(0.05);
        byte = (char)write(ends[1], "x", 1);
        pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    double group = atoll_compile_group_processor_ns(leader);
    double process = atoll_compile_process_processor_ns(leader);
    kill(-leader, SIGKILL);
    waitpid(leader, NULL, 0);
    if (group < 0.2e9 || group > 0.4e9 || process < 0.05e9 || process > 0.1e9)
        fail_msg("a group that computed 0.25 s: %.3f s, its leader 0.05 s: %.3f s", group / 1e9,
                 process / 1e9);
    assert_true(atoll_compile_group_processor_ns(0x7ffffff0) == 0); /* nobody's */
    assert_true(atoll_compile_process_processor_ns(leader) < 0);
    close(ends[0]);
    close(ends[1]);
}

static pid_t only_child(void)
{
    char path[64];
    long pid = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fscanf(in, "%ld", &pid), 1);
    fclose(in);
    return (pid_t)pid;
}

/* Nobody lets the compiler compute, for longer than its deadline: it has time still.  For much longer: it is ended. */
static void test_a_compiler_without_a_processor(void **state)
{
    (void)state;
    static const struct atoll_compiler_settings settings = {
        "cc", "-O1", NULL, 1, DEADLINE_NS, UINT64_C(2) << 30, 16 << 20};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler *compiler = atoll_cc_create(&settings, &err);
    if (!compiler)
        fail_msg("%s", err.text);
    for (int comes_back = 0; comes_back < 2; comes_back++) {
        struct atoll_compiled result;
        double begin = atoll_clock_mono_ns();
        assert_int_equal(atoll_compiler_submit(compiler, 0, ATOLL_CC_CANDIDATE, "int f;\n", 7, NULL, 0, &err),
                         0);
        pid_t group = only_child();
        kill(-group, SIGSTOP);
        while (!atoll_compiler_collect(compiler, &result)) {
            struct pollfd fds[2];
            int wait_ms = atoll_compiler_timeout_ms(compiler);
            assert_true(wait_ms >= 0);
            poll(fds, (nfds_t)atoll_compiler_pollfds(compiler, fds, 2), wait_ms < 100 ? wait_ms : 100);
            if (comes_back && atoll_clock_mono_ns() - begin > 1.1 * DEADLINE_NS)
                kill(-group, SIGCONT);
        }
        double took = atoll_clock_mono_ns() - begin;
        assert_true(took > (comes_back ? 1.1 : ATOLL_COMPILE_PATIENCE) * DEADLINE_NS);
        assert_int_equal(result.status, comes_back ? ATOLL_COMPILE_OK : ATOLL_COMPILE_TIMEOUT);
        if (!comes_back)
            assert_non_null(strstr(result.diagnostics, "after 5 s, of which it had a processor for 0"));
        assert_true(result.wall_ns > DEADLINE_NS && result.processor_ns < DEADLINE_NS);
        atoll_compiled_fini(&result);
    }
    atoll_compiler_destroy(compiler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_a_compiler_without_a_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

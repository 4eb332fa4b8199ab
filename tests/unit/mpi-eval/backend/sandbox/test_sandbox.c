/* Each containment is applied in a child, which tries what it must not and says by its end how that went. */
#include "tests/support/expect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-eval/backend/cpu/process/control.h"
#include "mpi-eval/backend/sandbox/sandbox.h"
#include "mpi-eval/backend/sandbox/spawn.h"

#define KILLED 1000 /* by SIGSYS; other results are errno values, 0 = it worked */

static int try_nothing(void)
{
    return 0;
}

static int try_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : errno;
}

static int try_open(void)
{
    return open("/etc/passwd", O_RDONLY) >= 0 ? 0 : errno;
}

static int try_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid > 0 ? 0 : errno;
}

static int try_namespace(void)
{
    return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) >= 0 ? 0 : errno;
}

static int try_ptrace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : errno;
}

static int try_map(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ? 0
                                                                                                      : errno;
}

static int try_map_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ? 0
                                                                                                     : errno;
}

static int try_wake(void)
{
    _Atomic uint32_t word = 0;
    atoll_futex_wake(&word, 0);
    return 0;
}

static int try_sleep(void)
{
    _Atomic uint32_t word = 0;
    atoll_futex_wait(&word, 0, 1000, 0);
    return 0;
}

static int try_requeue(void)
{
    _Atomic uint32_t word = 0;
    return syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == 0 ? 0 : errno;
}

static int try_exec(void)
{
    char name[] = "true";
    char *argv[] = {name, NULL}, *environment[] = {NULL};
    execve("/bin/true", argv, environment);
    return errno;
}

static int try_kill(void)
{
    return kill(getppid(), 0) == 0 ? 0 : errno;
}

static const struct row {
    enum atoll_filter_kind kind;
    const char *name;
    int (*attempt)(void);
    int result;
} rows[] = {
    {ATOLL_FILTER_COMPILE, "open", try_open, 0},
    {ATOLL_FILTER_COMPILE, "fork", try_fork, 0},
    {ATOLL_FILTER_COMPILE, "exec", try_exec, 0},
    {ATOLL_FILTER_COMPILE, "map code", try_map_code, 0},
    {ATOLL_FILTER_COMPILE, "socket", try_socket, EPERM},
    {ATOLL_FILTER_COMPILE, "namespace", try_namespace, EPERM},
    {ATOLL_FILTER_COMPILE, "ptrace", try_ptrace, EPERM},
    {ATOLL_FILTER_ZYGOTE, "nothing", try_nothing, 0},
    {ATOLL_FILTER_ZYGOTE, "map", try_map, 0},
    {ATOLL_FILTER_ZYGOTE, "fork", try_fork, 0},
    {ATOLL_FILTER_ZYGOTE, "map code", try_map_code, KILLED},
    {ATOLL_FILTER_ZYGOTE, "open", try_open, KILLED},
    {ATOLL_FILTER_ZYGOTE, "socket", try_socket, KILLED},
    {ATOLL_FILTER_ZYGOTE, "namespace", try_namespace, KILLED},
    {ATOLL_FILTER_ZYGOTE, "exec", try_exec, KILLED},
    {ATOLL_FILTER_ZYGOTE, "kill", try_kill, KILLED},
    {ATOLL_FILTER_SAMPLE, "nothing", try_nothing, 0},
    {ATOLL_FILTER_SAMPLE, "futex wake", try_wake, 0},
    {ATOLL_FILTER_SAMPLE, "futex sleep", try_sleep, KILLED},
    {ATOLL_FILTER_SAMPLE, "futex lock", try_requeue, KILLED},
    {ATOLL_FILTER_SAMPLE_SPIN, "nothing", try_nothing, 0},
    {ATOLL_FILTER_SAMPLE_SPIN, "futex wake", try_wake, KILLED},
    {ATOLL_FILTER_SAMPLE_SPIN, "futex sleep", try_sleep, KILLED},
    {ATOLL_FILTER_SAMPLE_SPIN, "fork", try_fork, KILLED},
    {ATOLL_FILTER_SAMPLE, "map", try_map, KILLED},
    {ATOLL_FILTER_SAMPLE, "fork", try_fork, KILLED},
    {ATOLL_FILTER_SAMPLE, "open", try_open, KILLED},
    {ATOLL_FILTER_SAMPLE, "socket", try_socket, KILLED},
    {ATOLL_FILTER_SAMPLE, "kill", try_kill, KILLED},
    {ATOLL_FILTER_SAMPLE, "exec", try_exec, KILLED},
};

static int result_of(pid_t pid)
{
    int status = 0;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
        return KILLED;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_filters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct atoll_filter filter;
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(atoll_filter_init(&filter, rows[i].kind, &err), 0);
        pid_t pid = fork();
        if (pid == 0) {
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || atoll_filter_apply(&filter, i % 2) != 0)
                _exit(99);
            syscall(SYS_exit_group, rows[i].attempt());
        }
        int result = result_of(pid);
        if (result != rows[i].result)
            fail_msg("filter %d, %s: %d, not %d", (int)rows[i].kind, rows[i].name, result, rows[i].result);
        atoll_filter_fini(&filter);
        atoll_filter_fini(&filter);
    }
}

static int open_result(const char *path, int flags)
{
    int fd = open(path, flags, 0600);
    return fd >= 0 ? 0 : errno;
}

static void test_landlock(void **state)
{
    (void)state;
    if (atoll_landlock_version() == 0) {
        print_message("skipped: this kernel has no Landlock\n");
        skip();
    }
    char folder[] = "/tmp/atoll-test-XXXXXX", inside[64];
    assert_non_null(mkdtemp(folder));
    snprintf(inside, sizeof(inside), "%s/file", folder);
    const struct atoll_landlock_path paths[] = {
        {folder, 1}, {"/usr", 0}, {"/no/such/folder", 0}, {"/dev/null", 1}};
    const struct {
        const char *path;
        int flags, result;
    } attempts[] = {
        {inside, O_CREAT | O_WRONLY, 0},
        {inside, O_RDONLY, 0},
        {"/usr/bin/env", O_RDONLY, 0},
        {"/dev/null", O_WRONLY, 0},
        {"/etc/passwd", O_RDONLY, EACCES},
        {"/usr/file", O_CREAT | O_WRONLY, EACCES},
        {"/proc/self/environ", O_RDONLY, EACCES},
        {"/dev/zero", O_RDONLY, EACCES},
    };
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        int ruleset = -1;
        assert_int_equal(atoll_landlock_create(paths, 4, &ruleset, &err), 0);
        pid_t pid = fork();
        if (pid == 0) {
            if (atoll_privileges_drop() != 0 || atoll_landlock_apply(ruleset) != 0)
                _exit(99);
            _exit(open_result(attempts[i].path, attempts[i].flags));
        }
        int result = result_of(pid);
        if (result != attempts[i].result)
            fail_msg("%s: %s", attempts[i].path, strerror(result));
        close(ruleset);
    }
    assert_int_equal(atoll_landlock_apply(-1), 0);
    unlink(inside);
    rmdir(folder);
}

static void test_privileges_and_limits(void **state)
{
    (void)state;
    static const struct atoll_limit limits[] = {{RLIMIT_NOFILE, 17}, {RLIMIT_CORE, RLIM_INFINITY}};
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit now;
        if (atoll_privileges_drop() != 0 || atoll_limits_apply(limits, 2) != 0)
            _exit(1);
        if (getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur != 17 || now.rlim_max != 17)
            _exit(2);
        _exit(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && sethostname("x", 1) != 0 && errno == EPERM ? 0
                                                                                                        : 3);
    }
    assert_int_equal(result_of(pid), 0);
}

/* Runs a shell line under spawn; gives what it prints. */
static void spawn_shell(const char *line, struct atoll_spawn *spawn, char *ret_text, size_t bytes)
{
    char shell[] = "sh", option[] = "-c", *copy = strdup(line), variable[] = "ONLY=this";
    char *argv[] = {shell, option, copy, NULL}, *environment[] = {variable, NULL};
    int ends[2];
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(pipe(ends), 0); /* not close-on-exec: spawn must close it */
    spawn->path = "/bin/sh";
    spawn->argv = argv;
    spawn->environment = environment;
    spawn->fds[0] = -1;
    spawn->fds[1] = spawn->fds[2] = ends[1];
    spawn->fd_count = 3;
    pid_t pid = atoll_spawn_start(spawn, &err);
    if (pid < 0)
        fail_msg("%s", err.text);
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got = 1; got > 0; used += got > 0 ? (size_t)got : 0)
        got = read(ends[0], ret_text + used, bytes - 1 - used);
    ret_text[used] = '\0';
    close(ends[0]);
    result_of(pid);
    free(copy);
}

static void test_spawn(void **state)
{
    (void)state;
    static const struct {
        const char *line, *prints, *folder;
    } lines[] = {
        {"echo $ONLY$HOME", "this\n", NULL},
        {"pwd", "/usr\n", "/usr"},
        {"for i in 3 4 5 6 7 8 9 64 65 66; do test -e /proc/$$/fd/$i && echo $i; done; echo end", "end\n",
         NULL},
        {"read a b c d e f < /proc/$$/stat; test $e = $$ && echo leader", "leader\n", NULL},
        {"read line; echo \"$line\"", "\n", NULL},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct atoll_spawn spawn = {.ruleset = -1, .folder = lines[i].folder};
        char text[256];
        spawn_shell(lines[i].line, &spawn, text, sizeof(text));
        if (strcmp(text, lines[i].prints) != 0)
            fail_msg("%s: \"%s\"", lines[i].line, text);
    }
}

static void test_spawn_says_what_failed(void **state)
{
    (void)state;
    static const struct {
        const char *path, *folder, *text;
    } failures[] = {
        {"/no/such/program", NULL, "/no/such/program: the child could not execute: No such file"},
        {"/etc/passwd", NULL, "could not execute: Permission denied"},
        {"/bin/true", "/no/such/folder", "could not enter its folder: No such file"},
    };
    char name[] = "x";
    char *argv[] = {name, NULL}, *environment[] = {NULL};
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_spawn spawn = {failures[i].path, argv, environment, .folder = failures[i].folder,
                                    .ruleset = -1};
        assert_int_equal(atoll_spawn_start(&spawn, &err), -1);
        if (!strstr(err.text, failures[i].text))
            fail_msg("%s", err.text);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_landlock),
        cmocka_unit_test(test_privileges_and_limits),
        cmocka_unit_test(test_spawn),
        cmocka_unit_test(test_spawn_says_what_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

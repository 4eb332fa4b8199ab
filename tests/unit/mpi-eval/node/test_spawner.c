/* The program the spawner starts is this one: "child MODE" behaves as told and speaks on descriptor 3. */
#include "tests/support/expect.h"
#include "tests/support/only_child.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi-eval/node/spawner.h"

static char program[PATH_MAX];

/* ---- the child ---- */

static void say(const char *text)
{
    if (write(ATOLL_SPAWNER_CHILD_FD, text, strlen(text)) < 0)
        _exit(1);
}

static void describe(void)
{
    char line[4096];
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir)) {
            snprintf(line, sizeof(line), "fd %s\n", entry->d_name);
            say(line);
        }
    }
    if (dir)
        closedir(dir);
    for (char **entry = environ; *entry; entry++) {
        snprintf(line, sizeof(line), "env %s\n", *entry);
        say(line);
    }
    snprintf(line, sizeof(line), "group %d\n", getpgid(0) == getpid());
    say(line);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    snprintf(line, sizeof(line), "blocked %d\n", sigismember(&mask, SIGTERM) || sigismember(&mask, SIGCHLD));
    say(line);
    say("end\n");
}

/* A grandchild in a group of its own, as compile children are; it holds the socket, so its end shows. */
static void linger(void)
{
    char line[64];
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        pause();
        _exit(0);
    }
    snprintf(line, sizeof(line), "pids %d %d\n", getpid(), pid);
    say(line);
    pause();
}

static int child_main(const char *mode)
{
    if (strcmp(mode, "describe") == 0)
        describe();
    if (strcmp(mode, "linger") == 0)
        linger();
    return 17;
}

/* ---- the tests ---- */

static struct atoll_spawner *spawner_open(const char *mode)
{
    const char *argv[] = {"child", mode, NULL};
    struct atoll_spawner *spawner = atoll_spawner_create(program, argv, NULL);
    assert_non_null(spawner);
    return spawner;
}

/* Reads until `until` was seen or the other end closed; at most 10 s. */
static size_t read_until(int fd, char *ret_text, size_t bytes, const char *until)
{
    size_t length = 0;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ret_text[0] = '\0';
    while (length + 1 < bytes && !(until && strstr(ret_text, until)) && poll(&ready, 1, 10000) > 0) {
        ssize_t n = read(fd, ret_text + length, bytes - 1 - length);
        if (n <= 0)
            break;
        length += (size_t)n;
        ret_text[length] = '\0';
    }
    return length;
}

static int exit_wait(struct atoll_spawner *spawner, unsigned *ret_tag)
{
    int status = -1;
    struct pollfd ready = {.fd = atoll_spawner_fd(spawner), .events = POLLIN};
    while (atoll_spawner_exited(spawner, ret_tag, &status) == 0)
        assert_int_equal(poll(&ready, 1, 10000), 1);
    return status;
}

static void test_child_is_clean(void **state)
{
    char text[32768];
    pid_t pid;
    int fd;
    unsigned tag = 99;
    setenv("PMIX_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("SLURM_JOB_ID", "1", 1);
    setenv("SECRET_TOKEN", "key", 1);
    setenv("ATOLL_SCRATCH", "/tmp", 1);
    setenv("LC_ALL", "C", 1);
    setenv("CUDA_HOME", "/opt/cuda", 1); /* where a module put the toolkit */
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    int leak = dup(2); /* stays open in this process, not in a child */
    struct atoll_spawner *spawner = spawner_open("describe");
    assert_int_equal(atoll_spawner_start(spawner, 4, &pid, &fd, NULL), 0);
    read_until(fd, text, sizeof(text), "end\n");
    assert_non_null(strstr(text, "fd 2\n"));
    assert_non_null(strstr(text, "fd 3\n"));
    for (int other = 4; other < 64; other++) {
        char line[32];
        snprintf(line, sizeof(line), "fd %d\n", other);
        assert_null(strstr(text, line));
    }
    static const char *const refused[] = {"PMIX_", "OMPI_", "SLURM_", "SECRET", "TOKEN", "CUDA_VISIBLE"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_null(strstr(text, refused[i]));
    assert_non_null(strstr(text, "env PATH="));
    assert_non_null(strstr(text, "env ATOLL_SCRATCH=/tmp\n"));
    assert_non_null(strstr(text, "env LC_ALL=C\n"));
    assert_non_null(strstr(text, "env CUDA_HOME=/opt/cuda\n"));
    assert_non_null(strstr(text, "group 1\n"));
    assert_non_null(strstr(text, "blocked 0\n"));
    int status = exit_wait(spawner, &tag);
    assert_int_equal(tag, 4);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 17);
    close(fd);
    close(leak);
    atoll_spawner_destroy(spawner);
}

static void linger_start(struct atoll_spawner *spawner, unsigned tag, int *ret_fd, int *ret_child,
                         int *ret_grandchild)
{
    char text[256];
    pid_t pid;
    assert_int_equal(atoll_spawner_start(spawner, tag, &pid, ret_fd, NULL), 0);
    read_until(*ret_fd, text, sizeof(text), "\n");
    assert_int_equal(sscanf(text, "pids %d %d", ret_child, ret_grandchild), 2);
    assert_int_equal(*ret_child, pid);
}

/* The socket closes when the last process that holds it is gone: child and grandchild. */
static void assert_all_gone(int fd)
{
    char text[16];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 10000), 1);
    assert_int_equal(read(fd, text, sizeof(text)), 0);
    close(fd);
}

static void test_kill_takes_what_the_child_started(void **state)
{
    struct atoll_spawner *spawner = spawner_open("linger");
    int fd, child, grandchild;
    unsigned tag = 99;
    linger_start(spawner, 1, &fd, &child, &grandchild);
    assert_int_equal(atoll_spawner_kill(spawner, 1, NULL), 0);
    int status = exit_wait(spawner, &tag);
    assert_int_equal(tag, 1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_all_gone(fd);
    atoll_spawner_destroy(spawner);
}

/* As Slurm delivers them: to every process of a step. */
static void test_signals_of_the_rank_pass_by(void **state)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
    struct atoll_spawner *spawner = spawner_open("linger");
    int fd, other, child, grandchild;
    unsigned tag = 99;
    linger_start(spawner, 1, &fd, &child, &grandchild);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        assert_int_equal(kill(only_child(), signals[i]), 0);
        assert_int_equal(kill(-child, signals[i]), 0);
    }
    linger_start(spawner, 2, &other, &child, &grandchild); /* the spawner lives */
    assert_int_equal(atoll_spawner_kill(spawner, 1, NULL), 0);
    int status = exit_wait(spawner, &tag);
    assert_true(tag == 1 && WIFSIGNALED(status) &&
                WTERMSIG(status) == SIGKILL); /* the child lived until then */
    atoll_spawner_destroy(spawner);
    close(fd);
    close(other);
}

static void test_destroy_leaves_nothing(void **state)
{
    struct atoll_spawner *spawner = spawner_open("linger");
    int fds[2], child, grandchild;
    linger_start(spawner, 0, &fds[0], &child, &grandchild);
    linger_start(spawner, 1, &fds[1], &child, &grandchild);
    atoll_spawner_destroy(spawner);
    assert_all_gone(fds[0]);
    assert_all_gone(fds[1]);
}

/* The owner dies by SIGKILL: its socket closes, and the spawner ends everything. */
static void test_killed_owner_leaves_nothing(void **state)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t owner = fork();
    if (owner == 0) {
        const char *argv[] = {"child", "linger", NULL};
        struct atoll_spawner *spawner = atoll_spawner_create(program, argv, NULL);
        pid_t pid;
        int fd, sent;
        if (!spawner || atoll_spawner_start(spawner, 0, &pid, &fd, NULL) != 0)
            _exit(1);
        char word = 'x';
        struct iovec part = {.iov_base = &word, .iov_len = 1};
        char control[CMSG_SPACE(sizeof(fd))] __attribute__((aligned(8))) = {0};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
        sent = (int)sendmsg(pair[1], &message, 0);
        close(pair[0]);
        close(pair[1]);
        close(fd);
        pause();
        _exit(sent > 0 ? 0 : 1);
    }
    close(pair[1]);
    char byte, control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    assert_int_equal(recvmsg(pair[0], &message, 0), 1);
    int fd;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    char text[256];
    read_until(fd, text, sizeof(text), "\n");
    assert_int_equal(kill(owner, SIGKILL), 0);
    assert_int_equal(waitpid(owner, NULL, 0), owner);
    assert_all_gone(fd);
    close(pair[0]);
}

/* The spawner itself dies: the kernel ends the children with it. */
static void test_killed_spawner_takes_children(void **state)
{
    struct atoll_spawner *spawner = spawner_open("linger");
    int fd, child, grandchild, status;
    unsigned tag;
    pid_t pid;
    linger_start(spawner, 0, &fd, &child, &grandchild);
    assert_int_equal(kill(only_child(), SIGKILL), 0);
    struct pollfd ready = {.fd = atoll_spawner_fd(spawner), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 10000), 1);
    assert_int_equal(atoll_spawner_exited(spawner, &tag, &status), -1);
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_spawner_start(spawner, 1, &pid, &fd, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CHILD);
    kill(grandchild, SIGKILL); /* of the test's making: real ones ask the kernel to die with their parent */
    assert_all_gone(fd);
    atoll_spawner_destroy(spawner);
}

static void test_refusals(void **state)
{
    struct atoll_spawner *spawner = spawner_open("linger");
    struct atoll_err err = ATOLL_ERR_INIT;
    int fd, child, grandchild, other;
    pid_t pid;
    linger_start(spawner, 0, &fd, &child, &grandchild);
    assert_int_equal(atoll_spawner_start(spawner, 0, &pid, &other, &err), -1); /* the tag is taken */
    assert_int_equal(err.sys_errno, EBUSY);
    assert_int_equal(atoll_spawner_kill(spawner, 7, NULL), 0); /* nobody */
    atoll_spawner_destroy(spawner);
    close(fd);
    atoll_spawner_destroy(NULL);
}

static void test_program_that_is_not_there(void **state)
{
    const char *argv[] = {"none", NULL};
    struct atoll_spawner *spawner = atoll_spawner_create("/nonexistent/program", argv, NULL);
    pid_t pid;
    int fd;
    unsigned tag = 9;
    assert_int_equal(atoll_spawner_start(spawner, 2, &pid, &fd, NULL), 0);
    assert_int_equal(WEXITSTATUS(exit_wait(spawner, &tag)), 127);
    assert_int_equal(tag, 2);
    close(fd);
    atoll_spawner_destroy(spawner);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[0], "child") == 0)
        return child_main(argv[1]);
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child_is_clean),
        cmocka_unit_test(test_kill_takes_what_the_child_started),
        cmocka_unit_test(test_signals_of_the_rank_pass_by),
        cmocka_unit_test(test_destroy_leaves_nothing),
        cmocka_unit_test(test_killed_owner_leaves_nothing),
        cmocka_unit_test(test_killed_spawner_takes_children),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_program_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

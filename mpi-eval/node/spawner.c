/* spawner.c - the process that starts evaluator processes.
 * Protocol, one SOCK_SEQPACKET socket pair, one struct a message: the owner sends START or KILL; the spawner
 * answers each START with STARTED (with the child's socket by SCM_RIGHTS) or REFUSED, and says EXITED once
 * for every child that ended, at any time.  The owner keeps EXITED messages that arrive while it waits for an
 * answer. Invariant: a tag has at most one live child; the socket of a child lives in the child and in the
 * owner only. */
#include "mpi-eval/node/spawner.h"

#include "mpi-eval/node/binding.h"
#include "mpi-eval/node/gpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MS     10000
#define ADDED_ENTRIES 2 /* to a child's environment: its slice and its device */

enum verb { VERB_START = 1, VERB_KILL, VERB_STARTED, VERB_REFUSED, VERB_EXITED };

struct word {
    uint32_t verb, tag;
    int32_t pid, value; /* value: errno of REFUSED, status of EXITED */
};

struct child {
    pid_t pid; /* 0 = free */
    unsigned tag;
};

struct atoll_spawner {
    pid_t pid;
    int fd;
    struct word kept[ATOLL_SPAWNER_CHILD_LIMIT * 2];
    size_t kept_count;
};

/* ---- the spawner process ---- */

struct nursery {
    int fd, signal_fd;
    const char *program;
    const char *const *argv;
    char **environment;
    struct atoll_slice slice; /* of this rank; a count in ATOLL_EVALUATORS_HERE goes before */
    struct atoll_gpus gpus;
    struct child children[ATOLL_SPAWNER_CHILD_LIMIT];
};

static int is_allowed(const char *entry)
{
    static const char *const names[] = {"PATH=",      "HOME=",      "LANG=",
                                        "TMPDIR=",    "TZ=",        "LD_LIBRARY_PATH=",
                                        "CUDA_HOME=", "CUDA_PATH=", "CUDA_DEVICE_ORDER="};
    static const char *const prefixes[] = {"LC_", "ATOLL_"};
    if (strncmp(entry, ATOLL_SLICE_VARIABLE "=", sizeof ATOLL_SLICE_VARIABLE) == 0)
        return 0; /* each child is told its own */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return 1;
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return 1;
    }
    return 0;
}

/* Lives as long as the process, so the entries stay where they are; there is room for ADDED_ENTRIES more at the end. */
static char **environment_clean(void)
{
    size_t count = 0, kept = 0;
    while (environ && environ[count])
        count++;
    char **clean = calloc(count + ADDED_ENTRIES + 1, sizeof *clean);
    for (size_t i = 0; clean && i < count; i++) {
        if (is_allowed(environ[i]))
            clean[kept++] = environ[i];
    }
    return clean;
}

static void close_all_but(int keep)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir) {
        for (int fd = 3; fd < 1024; fd++) {
            if (fd != keep)
                close(fd);
        }
        return;
    }
    int own = dirfd(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        int fd = atoi(entry->d_name);
        if (fd > 2 && fd != keep && fd != own)
            close(fd);
    }
    closedir(dir);
}

static void stdio_detach(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, 0);
    dup2(null, 1);
    if (null > 2)
        close(null);
}

static void signals_of_a_child(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int signal_number = 1; signal_number < 32; signal_number++)
        signal(signal_number, SIG_DFL);
    /* Slurm sends a step's signals to every process of it, and a terminal to its whole group: an orderly end is rank 0's
     * affair, who needs these processes until then.  They are ended by SIGKILL or by their socket's end. */
    static const int ranks_affair[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof ranks_affair / sizeof *ranks_affair; i++)
        signal(ranks_affair[i], SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Several evaluators of one node get cores and a device of their own; who chose a device in the environment keeps it. */
static void slice_take(const struct nursery *nursery, unsigned tag)
{
    static char entry[sizeof ATOLL_GPU_VARIABLE + ATOLL_GPU_NAME_BYTES], place[64];
    struct atoll_slice slice = nursery->slice;
    const char *here = getenv("ATOLL_EVALUATORS_HERE");
    if (here)
        slice = (struct atoll_slice){tag, (unsigned)strtoul(here, NULL, 10)};
    atoll_slice_bind(&slice, here != NULL);
    const char *gpu = getenv(ATOLL_GPU_VARIABLE) ? NULL : atoll_gpus_of(&nursery->gpus, &slice);
    char **end = nursery->environment;
    while (*end)
        end++;
    snprintf(place, sizeof place, "%s=%u/%u", ATOLL_SLICE_VARIABLE, slice.index, slice.count);
    *end++ = place;
    if (gpu) {
        snprintf(entry, sizeof entry, "%s=%s", ATOLL_GPU_VARIABLE, gpu);
        *end = entry;
    }
}

static _Noreturn void child_main(const struct nursery *nursery, int socket_fd, pid_t parent, unsigned tag)
{
    setpgid(0, 0);
    signals_of_a_child();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    if (socket_fd == ATOLL_SPAWNER_CHILD_FD)
        fcntl(socket_fd, F_SETFD, 0);
    else if (dup2(socket_fd, ATOLL_SPAWNER_CHILD_FD) < 0)
        _exit(127);
    close_all_but(ATOLL_SPAWNER_CHILD_FD);
    slice_take(nursery, tag);
    char *const *argv = NULL;
    memcpy(&argv, &nursery->argv, sizeof argv); /* execve promises not to change them */
    execve(nursery->program, argv, nursery->environment);
    _exit(127);
}

static struct child *child_find(struct nursery *nursery, pid_t pid, unsigned tag)
{
    for (size_t i = 0; i < ATOLL_SPAWNER_CHILD_LIMIT; i++) {
        struct child *child = &nursery->children[i];
        if (pid ? child->pid == pid : (child->pid != 0 && child->tag == tag))
            return child;
    }
    return NULL;
}

static struct child *child_free_place(struct nursery *nursery)
{
    for (size_t i = 0; i < ATOLL_SPAWNER_CHILD_LIMIT; i++) {
        if (nursery->children[i].pid == 0)
            return &nursery->children[i];
    }
    return NULL;
}

/* Forks the child of one START; returns its pid or -errno. */
static pid_t nursery_fork(struct nursery *nursery, unsigned tag, int *ret_fd)
{
    int pair[2];
    struct child *place = child_free_place(nursery);
    if (!place || child_find(nursery, 0, tag))
        return -EBUSY;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -errno;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child_main(nursery, pair[1], parent, tag);
    int fork_errno = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return -fork_errno;
    }
    setpgid(pid, pid); /* both sides do it: a kill of the group must never come too early */
    place->pid = pid;
    place->tag = tag;
    *ret_fd = pair[0];
    return pid;
}

static void word_send(int fd, const struct word *word, int passed_fd)
{
    struct iovec part = {.iov_len = sizeof *word};
    struct word copy = *word;
    part.iov_base = &copy;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed_fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &passed_fd, sizeof passed_fd);
    }
    while (sendmsg(fd, &message, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

static void nursery_start(struct nursery *nursery, unsigned tag)
{
    int fd = -1;
    pid_t pid = nursery_fork(nursery, tag, &fd);
    struct word answer = {.verb = pid > 0 ? VERB_STARTED : VERB_REFUSED,
                          .tag = tag,
                          .pid = pid > 0 ? pid : 0,
                          .value = pid > 0 ? 0 : -pid};
    word_send(nursery->fd, &answer, fd);
    if (fd >= 0)
        close(fd);
}

/* The spawner adopts what its children leave behind (a compiler or a worker in a group of its own), and ends
 * it. */
static void orphans_kill(struct nursery *nursery)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    int pid;
    while (file && fscanf(file, "%d", &pid) == 1) {
        if (child_find(nursery, pid, 0))
            continue;
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
    }
    if (file)
        fclose(file);
}

/* The group is killed before its leader is reaped: afterwards its number could belong to somebody else. */
static void nursery_reap(struct nursery *nursery)
{
    siginfo_t info = {.si_pid = 0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0) {
        int status = 0;
        pid_t pid = info.si_pid;
        struct child *child = child_find(nursery, pid, 0);
        if (child)
            kill(-pid, SIGKILL);
        waitpid(pid, &status, 0);
        orphans_kill(nursery);
        if (child) {
            struct word word = {.verb = VERB_EXITED, .tag = child->tag, .pid = pid, .value = status};
            child->pid = 0;
            word_send(nursery->fd, &word, -1);
        }
        info.si_pid = 0;
    }
}

static _Noreturn void nursery_leave(struct nursery *nursery)
{
    for (size_t i = 0; i < ATOLL_SPAWNER_CHILD_LIMIT; i++) {
        if (nursery->children[i].pid > 0)
            kill(-nursery->children[i].pid, SIGKILL);
    }
    do {
        orphans_kill(nursery);
    } while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
    _exit(0);
}

static void nursery_obey(struct nursery *nursery)
{
    struct word word;
    ssize_t n = recv(nursery->fd, &word, sizeof word, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof word)
        nursery_leave(nursery);
    if (word.verb == VERB_START)
        nursery_start(nursery, word.tag);
    struct child *child = word.verb == VERB_KILL ? child_find(nursery, 0, word.tag) : NULL;
    if (child)
        kill(-child->pid, SIGKILL);
}

static _Noreturn void nursery_main(struct nursery *nursery)
{
    sigset_t mask;
    signals_of_a_child();
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    nursery->signal_fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
    for (;;) {
        struct pollfd fds[2] = {{.fd = nursery->fd, .events = POLLIN},
                                {.fd = nursery->signal_fd, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            nursery_leave(nursery);
        struct signalfd_siginfo info;
        while (nursery->signal_fd >= 0 && read(nursery->signal_fd, &info, sizeof info) > 0)
            continue;
        nursery_reap(nursery);
        if (fds[0].revents)
            nursery_obey(nursery);
    }
}

static _Noreturn void nursery_begin(int fd, const char *program, const char *const *argv)
{
    struct nursery nursery = {.fd = fd, .program = program, .argv = argv, .slice = atoll_slice_of_rank()};
    setpgid(0, 0);
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    close_all_but(fd);
    stdio_detach();
    nursery.environment = environment_clean();
    atoll_gpus_list(getenv("CUDA_VISIBLE_DEVICES"), "/dev", &nursery.gpus);
    if (!nursery.environment)
        _exit(1);
    nursery_main(&nursery);
}

/* ---- the owner's side ---- */

struct atoll_spawner *atoll_spawner_create(const char *program, const char *const *argv,
                                           struct atoll_err *err)
{
    int pair[2];
    struct atoll_spawner *spawner = calloc(1, sizeof *spawner);
    if (!spawner) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the spawner");
        return NULL;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        atoll_err_errno(err, errno, "cannot make a socket pair for the spawner");
        free(spawner);
        return NULL;
    }
    spawner->pid = fork();
    if (spawner->pid == 0)
        nursery_begin(pair[1], program, argv);
    int fork_errno = errno;
    close(pair[1]);
    spawner->fd = pair[0];
    if (spawner->pid < 0) {
        atoll_err_errno(err, fork_errno, "cannot fork the spawner");
        close(pair[0]);
        free(spawner);
        return NULL;
    }
    return spawner;
}

void atoll_spawner_destroy(struct atoll_spawner *spawner)
{
    if (!spawner)
        return;
    close(spawner->fd);
    while (waitpid(spawner->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    free(spawner);
}

int atoll_spawner_fd(const struct atoll_spawner *spawner)
{
    return spawner->fd;
}

pid_t atoll_spawner_pid(const struct atoll_spawner *spawner)
{
    return spawner->pid;
}

static int passed_fd(struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fd = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

/* 1: a word (and maybe a descriptor) came; 0: none now; -1: the spawner is gone. */
static int word_receive(int fd, struct word *ret_word, int *ret_fd)
{
    struct iovec part = {.iov_base = ret_word, .iov_len = sizeof *ret_word};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n;
    do {
        n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n != (ssize_t)sizeof *ret_word)
        return -1;
    *ret_fd = passed_fd(&message);
    return 1;
}

static int spawner_say(struct atoll_spawner *spawner, enum verb verb, unsigned tag, struct atoll_err *err)
{
    struct word word = {.verb = verb, .tag = tag};
    ssize_t n;
    do {
        n = send(spawner->fd, &word, sizeof word, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return atoll_err_set(err, ATOLL_E_CHILD, "the spawner process is gone: %s", strerror(errno));
    return 0;
}

static int answer_wait(struct atoll_spawner *spawner, struct word *ret_word, int *ret_fd,
                       struct atoll_err *err)
{
    for (;;) {
        int rc = word_receive(spawner->fd, ret_word, ret_fd);
        if (rc < 0)
            return atoll_err_set(err, ATOLL_E_CHILD, "the spawner process is gone");
        if (rc > 0 && ret_word->verb != VERB_EXITED)
            return 0;
        if (rc > 0 && spawner->kept_count < sizeof spawner->kept / sizeof spawner->kept[0]) {
            spawner->kept[spawner->kept_count++] = *ret_word;
            continue;
        }
        struct pollfd waited = {.fd = spawner->fd, .events = POLLIN};
        int ready = poll(&waited, 1, ANSWER_MS);
        if (ready == 0)
            return atoll_err_set(err, ATOLL_E_TIMEOUT, "the spawner process does not answer");
    }
}

int atoll_spawner_start(struct atoll_spawner *spawner, unsigned tag, pid_t *ret_pid, int *ret_fd,
                        struct atoll_err *err)
{
    struct word answer;
    int fd = -1;
    if (spawner_say(spawner, VERB_START, tag, err) != 0 || answer_wait(spawner, &answer, &fd, err) != 0)
        return -1;
    if (answer.verb == VERB_STARTED && fd >= 0) {
        *ret_pid = answer.pid;
        *ret_fd = fd;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    return atoll_err_errno(err, answer.value, "cannot start an evaluator process");
}

int atoll_spawner_kill(struct atoll_spawner *spawner, unsigned tag, struct atoll_err *err)
{
    return spawner_say(spawner, VERB_KILL, tag, err);
}

int atoll_spawner_exited(struct atoll_spawner *spawner, unsigned *ret_tag, int *ret_status)
{
    struct word word;
    int fd = -1, rc = 1;
    if (spawner->kept_count > 0) {
        word = spawner->kept[0];
        memmove(spawner->kept, spawner->kept + 1, --spawner->kept_count * sizeof word);
    } else {
        rc = word_receive(spawner->fd, &word, &fd);
    }
    if (fd >= 0)
        close(fd);
    if (rc <= 0 || word.verb != VERB_EXITED)
        return rc < 0 ? -1 : 0;
    *ret_tag = word.tag;
    *ret_status = word.value;
    return 1;
}

/* spawner.c - the process that starts evaluator processes, and its owner's side.
 * It forks by itself, not through base/process: that runs one child to its end, while this process and its children live as
 * long as the rank, and it is forked before MPI_Init.
 * Protocol, one SOCK_SEQPACKET socket pair, one struct a message: the owner sends START or KILL; the spawner
 * answers each START with STARTED (with the child's socket by SCM_RIGHTS) or REFUSED, and sends EXITED once
 * for every child that ended, at any time.  The owner keeps EXITED messages that arrive while it waits for an
 * answer. Invariant: a tag has at most one live child; the socket of a child lives in the child and in the
 * owner only. */
#include "mpi-eval/node/spawner.h"

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

#include "mpi-eval/node/binding.h"
#include "mpi-eval/node/gpus.h"

#define ANSWER_MS     10000
#define ADDED_ENTRIES 2 /* to a child's environment: its slice and its device */

enum message_type { MESSAGE_START = 1, MESSAGE_KILL, MESSAGE_STARTED, MESSAGE_REFUSED, MESSAGE_EXITED };

struct message {
    uint32_t type, tag;
    int32_t pid, value; /* value: errno of REFUSED, status of EXITED */
};

struct atoll_spawner {
    pid_t pid;
    int fd;
    struct message kept[ATOLL_SPAWNER_CHILD_LIMIT * 2]; /* EXITED that came before an answer */
    size_t kept_count;
};

/* One message and at most one descriptor of the socket pair. */
struct envelope {
    struct iovec part;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr header;
};

static void envelope_init(struct envelope *e, struct message *message)
{
    memset(e, 0, sizeof(*e));
    e->part = (struct iovec){.iov_base = message, .iov_len = sizeof(*message)};
    e->header = (struct msghdr){.msg_iov = &e->part,
                                .msg_iovlen = 1,
                                .msg_control = e->control,
                                .msg_controllen = sizeof(e->control)};
}

/* ---- the spawner process ---- */

struct child {
    pid_t pid; /* 0 = free */
    unsigned tag;
};

struct server {
    int fd;
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
    if (strncmp(entry, ATOLL_SLICE_VARIABLE "=", sizeof(ATOLL_SLICE_VARIABLE)) == 0)
        return 0; /* each child gets its own */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return 1;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return 1;
    return 0;
}

/* Lives as long as the process, so the entries stay where they are; there is room for ADDED_ENTRIES more at the end. */
static char **clean_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ && environ[count])
        count++;
    char **clean = calloc(count + ADDED_ENTRIES + 1, sizeof(*clean));
    for (size_t i = 0; clean && i < count; i++)
        if (is_allowed(environ[i]))
            clean[kept++] = environ[i];
    return clean;
}

static void close_all_but(int keep)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir) {
        for (int fd = 3; fd < 1024; fd++)
            if (fd != keep)
                close(fd);
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

static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int signal_number = 1; signal_number < 32; signal_number++)
        signal(signal_number, SIG_DFL);
    /* Slurm sends a step's signals to every process of it, and a terminal to its whole group.  Rank 0 ends a run in order and
     * needs these processes until then: they are ended by SIGKILL or by their socket's end. */
    static const int left_to_rank0[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof(left_to_rank0) / sizeof(*left_to_rank0); i++)
        signal(left_to_rank0[i], SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Several evaluators of one node get cores and a device of their own; who chose a device in the environment keeps it. */
static void choose_slice(const struct server *s, unsigned tag)
{
    static char entry[sizeof(ATOLL_GPU_VARIABLE) + ATOLL_GPU_NAME_BYTES], place[64];
    struct atoll_slice slice = s->slice;
    const char *here = getenv("ATOLL_EVALUATORS_HERE");
    if (here)
        slice = (struct atoll_slice){tag, (unsigned)strtoul(here, NULL, 10)};
    atoll_slice_bind(&slice, here != NULL);
    const char *gpu = getenv(ATOLL_GPU_VARIABLE) ? NULL : atoll_gpus_of(&s->gpus, &slice);
    char **end = s->environment;
    while (*end)
        end++;
    snprintf(place, sizeof(place), "%s=%u/%u", ATOLL_SLICE_VARIABLE, slice.index, slice.count);
    *end++ = place;
    if (gpu) {
        snprintf(entry, sizeof(entry), "%s=%s", ATOLL_GPU_VARIABLE, gpu);
        *end = entry;
    }
}

static _Noreturn void child_main(const struct server *s, int socket_fd, pid_t parent, unsigned tag)
{
    setpgid(0, 0);
    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    if (socket_fd == ATOLL_SPAWNER_CHILD_FD)
        fcntl(socket_fd, F_SETFD, 0);
    else if (dup2(socket_fd, ATOLL_SPAWNER_CHILD_FD) < 0)
        _exit(127);
    close_all_but(ATOLL_SPAWNER_CHILD_FD);
    choose_slice(s, tag);
    char *const *argv = NULL;
    memcpy(&argv, &s->argv, sizeof(argv)); /* execve promises not to change them */
    execve(s->program, argv, s->environment);
    _exit(127);
}

/* By pid; where that is 0, by tag. */
static struct child *find_child(struct server *s, pid_t pid, unsigned tag)
{
    for (size_t i = 0; i < ATOLL_SPAWNER_CHILD_LIMIT; i++) {
        struct child *child = &s->children[i];
        if (pid ? child->pid == pid : (child->pid != 0 && child->tag == tag))
            return child;
    }
    return NULL;
}

/* Forks the child of one START; returns its pid or -errno. */
static pid_t fork_child(struct server *s, unsigned tag, int *ret_fd)
{
    int pair[2];
    size_t free_index = 0;
    while (free_index < ATOLL_SPAWNER_CHILD_LIMIT && s->children[free_index].pid != 0)
        free_index++;
    if (free_index == ATOLL_SPAWNER_CHILD_LIMIT || find_child(s, 0, tag))
        return -EBUSY;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return -errno;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child_main(s, pair[1], parent, tag);
    int fork_errno = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return -fork_errno;
    }
    setpgid(pid, pid); /* both sides do it: a kill of the group must never come too early */
    s->children[free_index] = (struct child){.pid = pid, .tag = tag};
    *ret_fd = pair[0];
    return pid;
}

/* passed_fd: -1 = none. */
static void send_to_owner(const struct server *s, struct message message, int passed_fd)
{
    struct envelope e;
    envelope_init(&e, &message);
    if (passed_fd >= 0) {
        struct cmsghdr *control = CMSG_FIRSTHDR(&e.header);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(control), &passed_fd, sizeof(passed_fd));
    } else {
        e.header.msg_control = NULL;
        e.header.msg_controllen = 0;
    }
    while (sendmsg(s->fd, &e.header, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

/* The spawner adopts what its children leave behind (a compiler or a worker in a group of its own), and ends
 * it. */
static void kill_orphans(struct server *s)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    int pid;
    while (file && fscanf(file, "%d", &pid) == 1) {
        if (find_child(s, pid, 0))
            continue;
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
    }
    if (file)
        fclose(file);
}

/* The group is killed before its leader is reaped: afterwards its number could belong to somebody else. */
static void reap_children(struct server *s)
{
    siginfo_t info = {.si_pid = 0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0) {
        int status = 0;
        pid_t pid = info.si_pid;
        struct child *child = find_child(s, pid, 0);
        if (child)
            kill(-pid, SIGKILL);
        waitpid(pid, &status, 0);
        kill_orphans(s);
        if (child) {
            child->pid = 0;
            send_to_owner(
                s, (struct message){.type = MESSAGE_EXITED, .tag = child->tag, .pid = pid, .value = status},
                -1);
        }
        info.si_pid = 0;
    }
}

static _Noreturn void kill_all_and_exit(struct server *s)
{
    for (size_t i = 0; i < ATOLL_SPAWNER_CHILD_LIMIT; i++)
        if (s->children[i].pid > 0)
            kill(-s->children[i].pid, SIGKILL);
    do {
        kill_orphans(s);
    } while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
    _exit(0);
}

/* One message of the owner; when it is gone, so is this process. */
static void take_message(struct server *s)
{
    struct message message;
    ssize_t n = recv(s->fd, &message, sizeof(message), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof(message))
        kill_all_and_exit(s);
    if (message.type == MESSAGE_START) {
        int fd = -1;
        pid_t pid = fork_child(s, message.tag, &fd);
        struct message answer = {.type = pid > 0 ? MESSAGE_STARTED : MESSAGE_REFUSED,
                                 .tag = message.tag,
                                 .pid = pid > 0 ? pid : 0,
                                 .value = pid > 0 ? 0 : -pid};
        send_to_owner(s, answer, fd);
        if (fd >= 0)
            close(fd);
    }
    const struct child *child = message.type == MESSAGE_KILL ? find_child(s, 0, message.tag) : NULL;
    if (child)
        kill(-child->pid, SIGKILL);
}

static _Noreturn void server_main(int fd, const char *program, const char *const *argv)
{
    struct server s = {.fd = fd, .program = program, .argv = argv, .slice = atoll_slice_of_rank()};
    sigset_t mask;
    setpgid(0, 0);
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    close_all_but(fd);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC); /* standard error stays */
    if (null >= 0) {
        dup2(null, 0);
        dup2(null, 1);
    }
    if (null > 2)
        close(null);
    s.environment = clean_environment();
    atoll_gpus_list(getenv("CUDA_VISIBLE_DEVICES"), "/dev", &s.gpus);
    if (!s.environment)
        _exit(1);
    reset_signals();
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    int signal_fd = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
    for (;;) {
        struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
        struct signalfd_siginfo info;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            kill_all_and_exit(&s);
        while (signal_fd >= 0 && read(signal_fd, &info, sizeof(info)) > 0)
            continue;
        reap_children(&s);
        if (fds[0].revents)
            take_message(&s);
    }
}

/* ---- the owner's side ---- */

struct atoll_spawner *atoll_spawner_create(const char *program, const char *const *argv,
                                           struct atoll_err *err)
{
    int pair[2];
    struct atoll_spawner *spawner = calloc(1, sizeof(*spawner));
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
        server_main(pair[1], program, argv);
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

/* 1: a message (and maybe a descriptor) came; 0: none now; -1: the spawner is gone. */
static int receive_message(int fd, struct message *ret_message, int *ret_fd)
{
    struct envelope e;
    ssize_t n;
    envelope_init(&e, ret_message);
    do {
        n = recvmsg(fd, &e.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (n != (ssize_t)sizeof(*ret_message))
        return -1;
    struct cmsghdr *control = CMSG_FIRSTHDR(&e.header);
    *ret_fd = -1;
    if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
        control->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(ret_fd, CMSG_DATA(control), sizeof(*ret_fd));
    }
    return 1;
}

static int send_message(struct atoll_spawner *spawner, enum message_type type, unsigned tag,
                        struct atoll_err *err)
{
    struct message message = {.type = type, .tag = tag};
    ssize_t n;
    do {
        n = send(spawner->fd, &message, sizeof(message), MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return atoll_err_set(err, ATOLL_E_CHILD, "the spawner process is gone: %s", strerror(errno));
    return 0;
}

static int wait_for_answer(struct atoll_spawner *spawner, struct message *ret_message, int *ret_fd,
                           struct atoll_err *err)
{
    for (;;) {
        int rc = receive_message(spawner->fd, ret_message, ret_fd);
        if (rc < 0)
            return atoll_err_set(err, ATOLL_E_CHILD, "the spawner process is gone");
        if (rc > 0 && ret_message->type != MESSAGE_EXITED)
            return 0;
        if (rc > 0 && spawner->kept_count < sizeof(spawner->kept) / sizeof(spawner->kept[0])) {
            spawner->kept[spawner->kept_count++] = *ret_message;
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
    struct message answer;
    int fd = -1;
    if (send_message(spawner, MESSAGE_START, tag, err) != 0 ||
        wait_for_answer(spawner, &answer, &fd, err) != 0) {
        return -1;
    }
    if (answer.type == MESSAGE_STARTED && fd >= 0) {
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
    return send_message(spawner, MESSAGE_KILL, tag, err);
}

int atoll_spawner_exited(struct atoll_spawner *spawner, unsigned *ret_tag, int *ret_status)
{
    struct message message;
    int fd = -1, rc = 1;
    if (spawner->kept_count > 0) {
        message = spawner->kept[0];
        memmove(spawner->kept, spawner->kept + 1, --spawner->kept_count * sizeof(message));
    } else {
        rc = receive_message(spawner->fd, &message, &fd);
    }
    if (fd >= 0)
        close(fd);
    if (rc <= 0 || message.type != MESSAGE_EXITED)
        return rc < 0 ? -1 : 0;
    *ret_tag = message.tag;
    *ret_status = message.value;
    return 1;
}

#include "mpi-eval/torch/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/program.h"
#include "mpi-eval/backend/sandbox/scratch.h"
#include "mpi-eval/backend/sandbox/spawn.h"
#include "mpi-eval/torch/confinement.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/shared_memory.h"

#define START_LIMIT_NS     180e9
#define LOOK_MS            20    /* between looks at memory, deadline and cancellation */
#define SLOW_LOOK_NS       500e6 /* between looks at the memory of a group, and at files */
#define WORDS_BYTES        4001
#define REPLY_VALUES       ((size_t)1 << 18)
#define SERVER_LIMIT_NS    60e9 /* for a server to fork or to reap */
#define FD_LIMIT           3
#define ENVIRONMENT_LIMIT  32
#define FILE_LIMIT         ((rlim_t)256 << 20)
#define RIVAL_FILE_LIMIT   ((rlim_t)8 << 30)
#define FOLDER_BYTES       ((uint64_t)2000000000)
#define RIVAL_FOLDER_BYTES ((uint64_t)16000000000) /* caches of compilers */
#define FOLDER_DEPTH       24
#define FILTER_BYTES       (1 << 16)

struct atoll_torch {
    pid_t pid; /* leads its group, unless a server forked it; 0: gone */
    int socket, log;
    int is_server;              /* forks others */
    struct atoll_torch *server; /* that forked it; borrowed */
    json_t *interpreter;        /* of a server: what its children need to know */
    char *script;
    int watches_group; /* it may have children */
    double slow_looked_ns;
    uint64_t memory_bytes, folder_bytes;
    const atomic_int *cancelled; /* borrowed */
    struct atoll_scratch *scratch;
    struct atoll_torch_facts facts;
    char words[WORDS_BYTES];
    size_t words_length;
};

/* ---- start ---- */

struct environment {
    char *list[ENVIRONMENT_LIMIT + 1]; /* owned */
    size_t count;
};

static void environment_add(struct environment *e, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void environment_add(struct environment *e, const char *name, const char *format, ...)
{
    char value[8192];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(value) || e->count == ENVIRONMENT_LIMIT ||
        asprintf(&e->list[e->count], "%s=%s", name, value) < 0)
        return;
    e->list[++e->count] = NULL;
}

static void environment_make(struct environment *e, const struct atoll_torch_settings *s, const char *folder)
{
    static const char *const homes[] = {
        "HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH", "XDG_CACHE_HOME"};
    static const char *const kept[] = {"LD_LIBRARY_PATH",   "CUDA_HOME", "CUDA_PATH",
                                       "CUDA_DEVICE_ORDER", "CC",        "CXX"};
    static const char *const counts[] = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"};
    e->count = 0;
    e->list[0] = NULL;
    for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++)
        environment_add(e, homes[i], "%s", folder);
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if (getenv(kept[i]))
            environment_add(e, kept[i], "%s", getenv(kept[i]));
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        environment_add(e, counts[i], "%u", s->threads ? s->threads : 1);
    environment_add(e, "PATH", "%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    environment_add(e, "CUDA_VISIBLE_DEVICES", "%s", s->gpu ? s->gpu : "");
    environment_add(e, "LC_ALL", "C.UTF-8");
    environment_add(e, "PYTHONHASHSEED", "0");
}

static void environment_fini(struct environment *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->list[i]);
}

static int is_role(const struct atoll_torch_settings *s, const char *role)
{
    return strcmp(s->role, role) == 0;
}

/* What it may read, and the folder that it may write to. */
static int ruleset_make(const struct atoll_torch_settings *s, const char *script, const char *folder,
                        const json_t *interpreter, int *ret_ruleset, struct atoll_err *err)
{
    struct atoll_python_places *places = calloc(1, sizeof(*places));
    if (!places)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to start Python");
    atoll_python_places_make(places, interpreter, script, folder, s->gpu != NULL, is_role(s, "rival"));
    int rc = atoll_landlock_create(places->paths, places->count, ret_ruleset, err);
    atoll_python_places_fini(places);
    free(places);
    return rc;
}

static pid_t process_spawn(const struct atoll_torch_settings *s, const char *script, const char *folder,
                           const json_t *interpreter, int socket, int log, struct atoll_err *err)
{
    const struct atoll_limit limits[] = {{RLIMIT_CORE, 0},
                                         {RLIMIT_FSIZE, is_role(s, "rival") ? RIVAL_FILE_LIMIT : FILE_LIMIT}};
    struct atoll_filter filter = {0};
    struct environment environment;
    char *argv[] = {strdup(s->python), strdup("-I"), strdup("-B"), strdup(script), strdup(s->role), NULL};
    int ruleset = -1, local = s->gpu || is_role(s, "rival");
    pid_t pid = -1;
    environment_make(&environment, s, folder);
    if (!argv[0] || !argv[1] || !argv[2] || !argv[3] || !argv[4]) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to start Python");
        goto done;
    }
    if (atoll_filter_init(&filter, local ? ATOLL_FILTER_DEVICE : ATOLL_FILTER_COMPILE, err) != 0 ||
        ruleset_make(s, script, folder, interpreter, &ruleset, err) != 0)
        goto done;
    struct atoll_spawn spawn = {.path = s->python,
                                .argv = argv,
                                .environment = environment.list,
                                .folder = folder,
                                .fds = {-1, log, log, socket},
                                .fd_count = 4,
                                .limits = limits,
                                .limit_count = 2,
                                .ruleset = ruleset,
                                .filter = &filter,
                                .drop_privileges = 1,
                                .niceness = s->niceness};
    pid = atoll_spawn_start(&spawn, err);
done:
    if (ruleset >= 0)
        close(ruleset);
    atoll_filter_fini(&filter);
    environment_fini(&environment);
    for (size_t i = 0; i < sizeof(argv) / sizeof(*argv); i++)
        free(argv[i]);
    return pid;
}

/* ---- its end ---- */

static int server_reap(struct atoll_torch *server, int is_waiting, pid_t *ret_pid, int *ret_status);

/* As waitpid, of one that a server forked as well, whose parent the server is. */
static pid_t reap(struct atoll_torch *t, int is_waiting, int *ret_status)
{
    pid_t pid = -1;
    if (t->server)
        return server_reap(t->server, is_waiting, &pid, ret_status) == 0 ? pid : t->pid;
    while ((pid = waitpid(t->pid, ret_status, is_waiting ? 0 : WNOHANG)) < 0 && errno == EINTR)
        ;
    return pid;
}

/* Between calls a server is stopped alone: its child goes on. */
static pid_t group_of(const struct atoll_torch *t)
{
    return t->server || t->is_server ? t->pid : -t->pid;
}

static void group_kill(struct atoll_torch *t)
{
    int status;
    if (t->pid <= 0)
        return;
    kill(t->server ? t->pid : -t->pid, SIGKILL);
    reap(t, 1, &status);
    t->pid = 0;
}

/* ---- watching ---- */

static void words_take(struct atoll_torch *t)
{
    char rest[4096];
    ssize_t got;
    while (t->log >= 0 && (got = read(t->log, rest, sizeof(rest))) > 0) {
        size_t room = WORDS_BYTES - 1 - t->words_length, n = (size_t)got < room ? (size_t)got : room;
        for (size_t i = 0; i < n; i++)
            t->words[t->words_length + i] = rest[i] ? rest[i] : ' ';
        t->words_length += n;
        t->words[t->words_length] = '\0';
    }
}

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t resident_bytes(pid_t pid)
{
    char path[64];
    unsigned long long all = 0, resident = 0;
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%llu %llu", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return resident * page_bytes();
}

/* Its children's as well. */
static uint64_t group_bytes(pid_t group)
{
    uint64_t sum = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *e; processes && (e = readdir(processes));) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid > 0 && getpgid(pid) == group)
            sum += resident_bytes(pid);
    }
    if (processes)
        closedir(processes);
    return sum;
}

/* What files beneath a folder take of the disk. */
static uint64_t files_bytes(int folder_fd, int depth)
{
    uint64_t sum = 0;
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder && fd >= 0)
        close(fd);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        struct stat file;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(folder_fd, e->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        sum += (uint64_t)file.st_blocks * 512;
        int below = S_ISDIR(file.st_mode) && depth > 0
                        ? openat(folder_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                        : -1;
        if (below < 0)
            continue;
        sum += files_bytes(below, depth - 1);
        close(below);
    }
    if (folder)
        closedir(folder);
    return sum;
}

/* Of files on that device that a process holds open and that have no name any more. */
static uint64_t nameless_bytes(pid_t pid, dev_t device)
{
    char path[64];
    uint64_t sum = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        struct stat file;
        if (fstatat(dirfd(folder), e->d_name, &file, 0) == 0 && S_ISREG(file.st_mode) && file.st_nlink == 0 &&
            file.st_dev == device)
            sum += (uint64_t)file.st_blocks * 512;
    }
    if (folder)
        closedir(folder);
    return sum;
}

static uint64_t folder_bytes(const struct atoll_torch *t)
{
    struct stat folder;
    int fd = open(atoll_scratch_path(t->scratch), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t sum = 0;
    if (fd >= 0 && fstat(fd, &folder) == 0)
        sum = files_bytes(fd, FOLDER_DEPTH) + nameless_bytes(t->pid, folder.st_dev);
    if (fd >= 0)
        close(fd);
    return sum;
}

/* The last line that it printed, or "". */
static const char *last_words(struct atoll_torch *t)
{
    words_take(t);
    size_t end = t->words_length;
    while (end > 0 && (t->words[end - 1] == '\n' || t->words[end - 1] == ' '))
        end--;
    t->words[end] = '\0';
    t->words_length = end;
    const char *line = strrchr(t->words, '\n');
    return line ? line + 1 : t->words;
}

/* How it left, once its end of the socket is closed. */
static int gone(struct atoll_torch *t, struct atoll_err *err)
{
    struct timespec grace = {.tv_nsec = 100000000};
    int status = 0;
    pid_t reaped = t->pid > 0 ? reap(t, 0, &status) : 0;
    if (reaped == 0 && t->pid > 0) {
        nanosleep(&grace, NULL);
        reaped = reap(t, 0, &status);
    }
    if (reaped == t->pid && reaped > 0) {
        if (!t->server)
            kill(-t->pid, SIGKILL); /* what it may have left behind */
        t->pid = 0;
    }
    const char *words = last_words(t);
    if (t->pid > 0) {
        group_kill(t);
        return atoll_err_set(err, ATOLL_E_CHILD, "the torch process closed its link and was killed");
    }
    if (reaped > 0 && WIFSIGNALED(status))
        return atoll_err_set(err, ATOLL_E_CHILD, "the torch process was killed by signal %d (%s)%s%.300s",
                             WTERMSIG(status), strsignal(WTERMSIG(status)), *words ? "; it said: " : "",
                             words);
    return atoll_err_set(err, ATOLL_E_CHILD, "the torch process ended by itself (exit status %d)%s%.300s",
                         reaped > 0 ? WEXITSTATUS(status) : -1, *words ? "; it said: " : "", words);
}

/* Whether it holds more of the machine than it may; then it is killed. */
static int look_at_size(struct atoll_torch *t, int is_due, struct atoll_err *err)
{
    double now = atoll_clock_mono_ns();
    uint64_t bytes = resident_bytes(t->pid), written = 0;
    if (is_due || now - t->slow_looked_ns > SLOW_LOOK_NS) {
        t->slow_looked_ns = now;
        bytes = t->watches_group ? group_bytes(t->pid) : bytes;
        written = t->is_server ? 0 : folder_bytes(t); /* its children's lie in its own */
    }
    if (bytes <= t->memory_bytes && written <= t->folder_bytes)
        return 0;
    group_kill(t);
    if (written > t->folder_bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT,
                             "the torch process had %.3g GB of files in its temporary folder and was killed: "
                             "it may have %.3g GB; what runs in it must not keep data in files",
                             (double)written / 1e9, (double)t->folder_bytes / 1e9);
    return atoll_err_set(err, ATOLL_E_LIMIT,
                         "the torch process had %.1f GB of memory and was killed: it may have %.1f GB",
                         (double)bytes / 1e9, (double)t->memory_bytes / 1e9);
}

static int look(struct atoll_torch *t, double deadline, double limit_ns, struct atoll_err *err)
{
    words_take(t);
    if (look_at_size(t, 0, err) != 0)
        return -1;
    if (t->cancelled && atomic_load(t->cancelled)) {
        group_kill(t);
        return atoll_err_set(err, ATOLL_E_BUSY, "cancelled");
    }
    if (atoll_clock_mono_ns() < deadline)
        return 0;
    group_kill(t);
    return atoll_err_set(err, ATOLL_E_TIMEOUT,
                         "the torch process did not answer within %.3g s and was killed", limit_ns / 1e9);
}

/* ---- frames ---- */

struct transfer {
    double deadline, limit_ns;
};

static int wait_for(struct atoll_torch *t, short events, const struct transfer *to, struct atoll_err *err)
{
    struct pollfd p[] = {{t->socket, events, 0}, {t->log, POLLIN, 0}};
    poll(p, 2, LOOK_MS);
    return p[0].revents & events ? 0 : look(t, to->deadline, to->limit_ns, err);
}

/* Descriptors that go with the first byte of a frame. */
struct descriptors {
    int fds[FD_LIMIT];
    size_t count;
};

static int put_all(struct atoll_torch *t, const void *bytes, size_t length,
                   const struct descriptors *descriptors, const struct transfer *to, struct atoll_err *err)
{
    const char *at = bytes;
    size_t fd_bytes = descriptors->count * sizeof(int);
    union {
        char room[CMSG_SPACE(FD_LIMIT * sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    while (length > 0) {
        struct iovec iov = {(void *)(uintptr_t)at, length};
        struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
        if (fd_bytes > 0) {
            message.msg_control = control.room;
            message.msg_controllen = CMSG_SPACE(fd_bytes);
            struct cmsghdr *c = CMSG_FIRSTHDR(&message);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(fd_bytes);
            memcpy(CMSG_DATA(c), descriptors->fds, fd_bytes);
        }
        ssize_t n = sendmsg(t->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            at += n;
            length -= (size_t)n;
            fd_bytes = 0;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return gone(t, err);
        } else if (wait_for(t, POLLOUT, to, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int misbehaved(struct atoll_torch *t, struct atoll_err *err, const char *what)
{
    group_kill(t);
    return atoll_err_set(err, ATOLL_E_PROTOCOL, "the torch process %s and was killed", what);
}

static int take_all(struct atoll_torch *t, void *bytes, size_t length, const struct transfer *to,
                    struct atoll_err *err)
{
    char *at = bytes;
    while (length > 0) {
        struct iovec iov = {at, length};
        struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
        ssize_t n = recvmsg(t->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n > 0 && message.msg_flags & MSG_CTRUNC)
            return misbehaved(t, err, "sent a descriptor nobody asked for");
        if (n > 0) {
            at += n;
            length -= (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            return gone(t, err);
        } else if (wait_for(t, POLLIN, to, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int frame_put(struct atoll_torch *t, const json_t *request, const struct descriptors *descriptors,
                     const struct transfer *to, struct atoll_err *err)
{
    struct atoll_buffer frame;
    atoll_buffer_init(&frame, ATOLL_TORCH_FRAME_BYTES + 4);
    atoll_buffer_put_u32(&frame, 0);
    int rc = atoll_json_put(&frame, request, err);
    if (rc == 0 && (rc = atoll_buffer_check(&frame, err)) == 0) {
        uint32_t length = (uint32_t)frame.length - 4;
        for (int i = 0; i < 4; i++)
            frame.data[i] = (unsigned char)(length >> 8 * i);
        rc = put_all(t, frame.data, frame.length, descriptors, to, err);
    }
    atoll_buffer_fini(&frame);
    return rc;
}

static json_t *frame_take(struct atoll_torch *t, const struct transfer *to, struct atoll_err *err)
{
    unsigned char head[4];
    if (take_all(t, head, sizeof(head), to, err) != 0)
        return NULL;
    uint32_t length =
        (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
    if (length > ATOLL_TORCH_FRAME_BYTES) {
        misbehaved(t, err, "sent an answer of more than 16 MiB");
        return NULL;
    }
    char *body = malloc((size_t)length + 1);
    json_t *reply = NULL;
    if (!body)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an answer");
    else if (take_all(t, body, length, to, err) == 0 &&
             (!(reply = atoll_json_load(body, length, REPLY_VALUES, 0, NULL)) ||
              !json_is_boolean(json_object_get(reply, "ok")))) {
        misbehaved(t, err, "sent what is no answer");
        json_decref(reply);
        reply = NULL;
    }
    free(body);
    return reply;
}

/* What a reply that says no means. */
static int refused(const json_t *reply, struct atoll_err *err)
{
    static const struct {
        const char *kind;
        enum atoll_code code;
    } kinds[] = {{"problem", ATOLL_E_INPUT}, {"memory", ATOLL_E_LIMIT}, {"unsupported", ATOLL_E_MISSING}};
    const char *kind = atoll_json_member(reply, "kind"), *text = atoll_json_member(reply, "error");
    enum atoll_code code = ATOLL_E_INTERNAL;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kind, kinds[i].kind) == 0)
            code = kinds[i].code;
    return atoll_err_set(err, code, "%.900s", *text ? text : "the torch process gave no reason");
}

static int call(struct atoll_torch *torch, json_t *request, const struct descriptors *descriptors,
                double deadline_ns, json_t **ret_reply, struct atoll_err *err)
{
    const struct transfer to = {atoll_clock_mono_ns() + deadline_ns, deadline_ns};
    json_t *reply = NULL;
    if (torch->pid <= 0) {
        json_decref(request);
        return atoll_err_set(err, ATOLL_E_CHILD, "the torch process is gone");
    }
    kill(group_of(torch), SIGCONT);
    if (frame_put(torch, request, descriptors, &to, err) == 0)
        reply = frame_take(torch, &to, err);
    json_decref(request);
    /* A short call is not looked at while it runs; a rival's folder is large, and its calls are many. */
    if (reply && look_at_size(torch, !torch->watches_group, err) != 0) {
        json_decref(reply);
        reply = NULL;
    }
    if (torch->pid > 0)
        kill(group_of(torch), SIGSTOP);
    words_take(torch);
    if (!reply)
        return -1;
    if (!json_is_true(json_object_get(reply, "ok"))) {
        refused(reply, err);
        json_decref(reply);
        return -1;
    }
    *ret_reply = reply;
    return 0;
}

int atoll_torch_call(struct atoll_torch *torch, json_t *request, int fd, double deadline_ns,
                     json_t **ret_reply, struct atoll_err *err)
{
    const struct descriptors descriptors = {.fds = {fd}, .count = fd >= 0};
    return call(torch, request, &descriptors, deadline_ns, ret_reply, err);
}

int atoll_torch_send_kernels(struct atoll_torch *torch, const void *kernels, size_t bytes, double deadline_ns,
                             struct atoll_err *err)
{
    struct atoll_shared_memory image;
    json_t *reply = NULL;
    atoll_shared_memory_init(&image);
    int rc = atoll_shared_memory_reserve(&image, bytes, err);
    if (rc == 0) {
        memcpy(image.base, kernels, bytes);
        rc = atoll_torch_call(
            torch, json_pack("{s:s, s:i, s:I}", "op", "kernels", "offset", 0, "bytes", (json_int_t)bytes),
            image.fd, deadline_ns, &reply, err);
    }
    json_decref(reply);
    atoll_shared_memory_fini(&image);
    return rc;
}

/* ---- begin and end ---- */

static void fact(char *ret, size_t bytes, const json_t *reply, const char *name)
{
    snprintf(ret, bytes, "%s", atoll_json_member(reply, name));
}

/* Steals path. */
static int hello(struct atoll_torch *t, const struct atoll_torch_settings *s, json_t *path,
                 struct atoll_err *err)
{
    int is_confined = !is_role(s, "rival") && !is_role(s, "probe") && !t->is_server, fd = -1, rc = -1;
    json_t *reply = NULL, *cores = json_array();
    if (is_confined && (fd = atoll_python_filter_file(ATOLL_FILTER_MODULE, err)) < 0) {
        json_decref(path);
        json_decref(cores);
        return -1;
    }
    for (size_t i = 0; i < s->core_count && s->cores; i++)
        json_array_append_new(cores, json_integer(s->cores[i]));
    json_t *request = json_pack("{s:o, s:o, s:b, s:i, s:s, s:i}", "path", path, "cores", cores, "gpu",
                                s->gpu != NULL, "threads", (int)(s->threads ? s->threads : 1), "folder",
                                atoll_scratch_path(t->scratch), "seccomp", (int)SYS_seccomp);
    rc = request ? atoll_torch_call(t, request, fd,
                                    s->start_limit_ns > 0 ? s->start_limit_ns : START_LIMIT_NS, &reply, err)
                 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory to start Python");
    if (fd >= 0)
        close(fd);
    if (rc != 0)
        return -1;
    fact(t->facts.python, sizeof(t->facts.python), reply, "python");
    fact(t->facts.torch, sizeof(t->facts.torch), reply, "torch");
    fact(t->facts.cuda, sizeof(t->facts.cuda), reply, "cuda");
    fact(t->facts.triton, sizeof(t->facts.triton), reply, "triton");
    fact(t->facts.device, sizeof(t->facts.device), reply, "device");
    json_decref(reply);
    return 0;
}

struct pipes {
    int link[2], log[2]; /* ours first; -1: closed */
};

static int pipes_make(struct pipes *p, struct atoll_err *err)
{
    *p = (struct pipes){{-1, -1}, {-1, -1}};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->link) != 0 || pipe2(p->log, O_CLOEXEC) != 0)
        return atoll_err_errno(err, errno, "cannot make a link to Python");
    fcntl(p->log[0], F_SETFL, O_NONBLOCK);
    return 0;
}

/* Ours become the process's; the others are closed: while they are open here, the end of the process goes unseen. */
static void pipes_give(struct pipes *p, struct atoll_torch *t)
{
    t->socket = p->link[0];
    t->log = p->log[0];
    if (p->link[1] >= 0)
        close(p->link[1]);
    if (p->log[1] >= 0)
        close(p->log[1]);
}

static int process_start(struct atoll_torch *t, const struct atoll_torch_settings *s, struct atoll_err *err)
{
    char own[PATH_MAX];
    struct pipes pipes;
    const char *script = s->script ? s->script : getenv("ATOLL_TORCH_SCRIPT");
    if (!script && atoll_program_data("torch/atoll_torch.py", own, sizeof(own), err) != 0)
        return -1;
    if (!(t->script = strdup(script ? script : own)))
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to start Python");
    if (!(t->scratch = atoll_scratch_create(err)) || !(t->interpreter = atoll_torch_examine(s->python, err)))
        return -1;
    if (pipes_make(&pipes, err) == 0)
        t->pid = process_spawn(s, t->script, atoll_scratch_path(t->scratch), t->interpreter, pipes.link[1],
                               pipes.log[1], err);
    pipes_give(&pipes, t);
    return t->pid > 0 ? hello(t, s, json_incref(json_object_get(t->interpreter, "path")), err) : -1;
}

static struct atoll_torch *torch_create(const struct atoll_torch_settings *settings, struct atoll_err *err)
{
    struct atoll_torch *t = calloc(1, sizeof(*t));
    if (!t) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a torch process");
        return NULL;
    }
    t->socket = t->log = -1;
    t->is_server = is_role(settings, ATOLL_TORCH_FORK_SERVER);
    t->watches_group = is_role(settings, "rival");
    t->memory_bytes = settings->memory_bytes ? settings->memory_bytes : atoll_memory_limit_bytes() / 2;
    t->folder_bytes = settings->folder_bytes       ? settings->folder_bytes
                      : is_role(settings, "rival") ? RIVAL_FOLDER_BYTES
                                                   : FOLDER_BYTES;
    t->cancelled = settings->cancelled;
    return t;
}

struct atoll_torch *atoll_torch_start(const struct atoll_torch_settings *settings, struct atoll_err *err)
{
    struct atoll_torch *t = torch_create(settings, err);
    if (t && process_start(t, settings, err) != 0) {
        atoll_torch_stop(t);
        t = NULL;
    }
    return t;
}

/* ---- children of a server ---- */

static int server_reap(struct atoll_torch *server, int is_waiting, pid_t *ret_pid, int *ret_status)
{
    const struct descriptors none = {.count = 0};
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *reply = NULL;
    if (call(server, json_pack("{s:s, s:b}", "op", "reap", "is_waiting", is_waiting), &none, SERVER_LIMIT_NS,
             &reply, &why) != 0)
        return -1; /* with the server its child is gone, too */
    *ret_pid = (pid_t)json_integer_value(json_object_get(reply, "pid"));
    *ret_status = (int)json_integer_value(json_object_get(reply, "status"));
    json_decref(reply);
    return 0;
}

static int process_fork(struct atoll_torch *t, const struct atoll_torch_settings *s, struct atoll_err *err)
{
    struct pipes pipes;
    struct descriptors sent = {.count = 0};
    json_t *reply = NULL;
    int ruleset = -1;
    if (!(t->scratch = atoll_scratch_create_in(atoll_scratch_path(t->server->scratch), err)) ||
        ruleset_make(s, t->server->script, atoll_scratch_path(t->scratch), t->server->interpreter, &ruleset,
                     err) != 0)
        return -1;
    if (pipes_make(&pipes, err) == 0) {
        sent = (struct descriptors){{pipes.link[1], pipes.log[1], ruleset}, ruleset >= 0 ? 3 : 2};
        call(t->server,
             json_pack("{s:s, s:s, s:s, s:i, s:i, s:i}", "op", "fork", "role", s->role, "folder",
                       atoll_scratch_path(t->scratch), "landlock", (int)SYS_landlock_restrict_self, "seccomp",
                       (int)SYS_seccomp, "tgkill", (int)SYS_tgkill),
             &sent, SERVER_LIMIT_NS, &reply, err);
    }
    pipes_give(&pipes, t);
    if (ruleset >= 0)
        close(ruleset);
    t->pid = (pid_t)json_integer_value(json_object_get(reply, "pid"));
    json_decref(reply);
    return t->pid > 0 ? hello(t, s, json_incref(json_object_get(t->server->interpreter, "path")), err) : -1;
}

struct atoll_torch *atoll_torch_fork(struct atoll_torch *server, const struct atoll_torch_settings *settings,
                                     struct atoll_err *err)
{
    struct atoll_torch *t = torch_create(settings, err);
    if (!t)
        return NULL;
    t->server = server;
    if (process_fork(t, settings, err) != 0) {
        atoll_torch_stop(t);
        t = NULL;
    }
    return t;
}

void atoll_torch_stop(struct atoll_torch *torch)
{
    if (!torch)
        return;
    group_kill(torch);
    words_take(torch);
    if (torch->words_length)
        atoll_log(ATOLL_LOG_DEBUG, "eval.torch.words", "a torch process printed: %.600s", torch->words);
    if (torch->socket >= 0)
        close(torch->socket);
    if (torch->log >= 0)
        close(torch->log);
    atoll_scratch_destroy(torch->scratch);
    json_decref(torch->interpreter);
    free(torch->script);
    free(torch);
}

const struct atoll_torch_facts *atoll_torch_facts(const struct atoll_torch *torch)
{
    return &torch->facts;
}

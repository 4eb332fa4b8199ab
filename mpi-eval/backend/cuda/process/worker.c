/* worker.c - the referee's end of the link.  Nothing the device process says is trusted further than its own trouble
 * goes: lengths are bounded, texts are terminated here, and silence ends in a kill of its group. */
#include "mpi-eval/backend/cuda/process/worker.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/program.h"
#include "mpi-eval/backend/sandbox/spawn.h"
#include "base/clock.h"

#define START_LIMIT_NS 60e9
#define SPIN_NS        200e3 /* answers of short batches are not slept for, */
#define SPIN_LONG_NS   20e6  /* and with so many cores nor are a sample's: a core that slept is late */
#define SPIN_CORES     8
#define LOOK_NS        2000000
#define ARGUMENT_LIMIT 24
#define FILE_LIMIT     ((rlim_t)4 << 30) /* of what a watcher writes */

struct atoll_cuda_worker {
    pid_t pid; /* of the watcher where there is one */
    int socket, is_watched;
    double start_limit_ns;
    struct atoll_cuda_facts facts;
    unsigned char *reply; /* owned; grows to the largest reply */
    size_t reply_room;
};

enum transfer { MOVED, LATE, GONE };

static enum transfer wait_for(int fd, short events, double deadline)
{
    double left = deadline - atoll_clock_raw_ns();
    if (left <= 0)
        return LATE;
    struct pollfd p = {fd, events, 0};
    double ms = left / 1e6 + 1;
    if (poll(&p, 1, ms > INT_MAX ? INT_MAX : (int)ms) < 0 && errno != EINTR)
        return GONE;
    return MOVED;
}

static enum transfer put_all(int fd, const void *bytes, size_t length, double deadline)
{
    const unsigned char *at = bytes;
    while (length > 0) {
        ssize_t n = send(fd, at, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            at += n;
            length -= (size_t)n;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return GONE;
        } else {
            enum transfer t = wait_for(fd, POLLOUT, deadline);
            if (t != MOVED)
                return t;
        }
    }
    return MOVED;
}

/* How long is looked without sleeping: most batches are shorter than a wake-up is late.  The evaluator keeps two cores free of compile
 * children, this thread's and the device process's. */
static double spin_ns(void)
{
    cpu_set_t cores;
    int count = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
    return count < SPIN_CORES ? SPIN_NS : SPIN_LONG_NS;
}

static enum transfer take_all(int fd, void *bytes, size_t length, double deadline)
{
    unsigned char *at = bytes;
    double spin_until = atoll_clock_raw_ns() + spin_ns();
    while (length > 0) {
        ssize_t n = recv(fd, at, length, MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            length -= (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            return GONE;
        } else if (atoll_clock_raw_ns() > spin_until) {
            enum transfer t = wait_for(fd, POLLIN, deadline);
            if (t != MOVED)
                return t;
        }
    }
    return MOVED;
}

/* Whether nothing has come by then; what has come is left there. */
static int is_silent(int fd, double until)
{
    char byte;
    double spin_until = atoll_clock_raw_ns() + spin_ns();
    while (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR))
        if (atoll_clock_raw_ns() > until ||
            (atoll_clock_raw_ns() > spin_until && wait_for(fd, POLLIN, until) != MOVED))
            return 1;
    return 0;
}

/* ---- start ---- */

/* What of the environment the driver reads, and nothing else: no keys, no PMIx. */
#define ENVIRONMENT_LIMIT 16
struct environment {
    char text[ENVIRONMENT_LIMIT][1024];
    char *list[ENVIRONMENT_LIMIT + 1];
    size_t count;
};

static void environment_add(struct environment *e, const char *name, const char *value)
{
    if (!value || e->count == ENVIRONMENT_LIMIT)
        return;
    int n = snprintf(e->text[e->count], sizeof(e->text[0]), "%s=%s", name, value);
    if (n <= 0 || (size_t)n >= sizeof(e->text[0]))
        return;
    e->list[e->count] = e->text[e->count];
    e->list[++e->count] = NULL;
}

/* It reads what it needs to load the driver, and writes to devices alone: no file of anybody's can be changed by it. */
static int sandbox_make(struct atoll_filter *ret_filter, int *ret_ruleset, struct atoll_err *err)
{
    /* the driver names its threads (/proc/self/task) and asks /sys for the machine's shape */
    static const struct atoll_landlock_path paths[] = {{"/", ATOLL_LANDLOCK_READ},
                                                       {"/dev", ATOLL_LANDLOCK_DEVICES},
                                                       {"/proc", ATOLL_LANDLOCK_WRITE},
                                                       {"/proc", ATOLL_LANDLOCK_DEVICES},
                                                       {"/sys", ATOLL_LANDLOCK_DEVICES}};
    if (atoll_filter_init(ret_filter, ATOLL_FILTER_DEVICE, err) != 0)
        return -1;
    if (atoll_landlock_create(paths, sizeof(paths) / sizeof(*paths), ret_ruleset, err) == 0)
        return 0;
    atoll_filter_fini(ret_filter);
    return -1;
}

static char *no_const(const char *text)
{
    char *same;
    memcpy(&same, &text, sizeof(same)); /* execve promises not to change them */
    return same;
}

static pid_t process_spawn(const struct atoll_cuda_worker_settings *settings, const char *program,
                           const char *device, const struct environment *environment, int socket,
                           struct atoll_err *err)
{
    static const struct atoll_limit limits[] = {{RLIMIT_CORE, 0}, {RLIMIT_FSIZE, FILE_LIMIT}};
    struct atoll_filter filter = {0};
    int ruleset = -1;
    char *arguments[ARGUMENT_LIMIT];
    /* device: as the process is to look for it. */
    size_t n = 0;
    for (; settings->watcher && settings->watcher[n] && n < ARGUMENT_LIMIT - 4; n++)
        arguments[n] = no_const(settings->watcher[n]);
    arguments[n++] = no_const(settings->watcher ? program : "atoll-worker-cuda");
    arguments[n++] = no_const(device);
    if (settings->watcher)
        arguments[n++] = no_const(ATOLL_CUDA_LINK_ORDERLY);
    arguments[n] = NULL;
    if (!settings->watcher && sandbox_make(&filter, &ruleset, err) != 0)
        return -1;
    struct atoll_spawn spawn = {.path = settings->watcher ? settings->watcher[0] : program,
                                .argv = arguments,
                                .environment = environment->list,
                                .fds = {-1, -1, 2, socket},
                                .fd_count = 4,
                                .limits = limits,
                                .limit_count = settings->watcher ? 2 : 1,
                                .ruleset = ruleset,
                                .filter = settings->watcher ? NULL : &filter,
                                .drop_privileges = 1};
    pid_t pid = atoll_spawn_start(&spawn, err);
    if (ruleset >= 0)
        close(ruleset);
    atoll_filter_fini(&filter);
    return pid;
}

static int process_start(struct atoll_cuda_worker *w, const struct atoll_cuda_worker_settings *settings,
                         struct atoll_err *err)
{
    char beside[4096], ordinal[16];
    const char *program = settings->program ? settings->program : getenv("ATOLL_WORKER_CUDA");
    if (!program && atoll_program_beside("atoll-worker-cuda", beside, sizeof(beside), err) != 0)
        return -1;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return atoll_err_errno(err, errno, "cannot make a socket pair");
    w->socket = pair[0];
    w->is_watched = settings->watcher != NULL;
    struct environment environment;
    int is_part = settings->uuid && strncmp(settings->uuid, "MIG-", 4) == 0;
    /* part: of a GPU ("MIG-..."), which the driver shows alone and only by this variable; NULL: all that the user shows.
     * scratch: NULL without a watcher. */
    const char *part = is_part ? settings->uuid : NULL;
    const char *scratch = settings->watcher ? settings->scratch : NULL;
    static const char *const kept[] = {"LD_LIBRARY_PATH", "CUDA_DEVICE_ORDER", "CUDA_HOME", "CUDA_PATH",
                                       "ATOLL_CUPTI"};
    environment.count = 0;
    environment.list[0] = NULL;
    environment_add(&environment, "LC_ALL", "C");
    environment_add(&environment, "CUDA_CACHE_DISABLE", "1"); /* cubins only: nothing to write anywhere */
    environment_add(&environment, "CUDA_MODULE_LOADING", "EAGER"); /* no load in a first launch */
    environment_add(&environment, "CUDA_VISIBLE_DEVICES", part ? part : getenv("CUDA_VISIBLE_DEVICES"));
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        environment_add(&environment, kept[i], getenv(kept[i]));
    environment_add(&environment, "TMPDIR", scratch);
    environment_add(&environment, "PATH", scratch ? "/usr/bin:/bin" : NULL); /* watchers may be scripts */
    snprintf(ordinal, sizeof(ordinal), "%u", settings->ordinal);
    w->pid = process_spawn(settings, program ? program : beside,
                           is_part          ? "0"
                           : settings->uuid ? settings->uuid
                                            : ordinal,
                           &environment, pair[1], err);
    close(pair[1]);
    return w->pid > 0 ? 0 : -1;
}

/* What the process left with, once its end of the socket is closed. */
static const char *end_text(struct atoll_cuda_worker *w, char *text, size_t bytes)
{
    int status = 0;
    pid_t reaped = waitpid(w->pid, &status, WNOHANG);
    if (reaped == 0) { /* it closed its socket, or talked nonsense, and lives on */
        struct timespec grace = {.tv_nsec = 100000000};
        nanosleep(&grace, NULL);
        kill(-w->pid, SIGKILL);
    }
    if (reaped <= 0)
        while ((reaped = waitpid(w->pid, &status, 0)) < 0 && errno == EINTR)
            ;
    if (reaped == w->pid)
        w->pid = 0;
    if (WIFSIGNALED(status))
        snprintf(text, bytes, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, bytes, "exit status %d", WEXITSTATUS(status));
    return text;
}

static int hello_take(struct atoll_cuda_worker *w, double limit_ns, struct atoll_err *err)
{
    struct atoll_cuda_hello hello;
    enum transfer t = take_all(w->socket, &hello, sizeof(hello), atoll_clock_raw_ns() + limit_ns);
    if (t == LATE)
        return atoll_err_set(
            err, ATOLL_E_TIMEOUT,
            "the device process was not ready after %.0f s; look at `atoll doctor` and the driver's "
            "log (dmesg)",
            limit_ns / 1e9);
    if (t == GONE) {
        char text[96];
        return atoll_err_set(err, ATOLL_E_CHILD,
                             "the device process ended before it was ready (%s); look at `atoll doctor`",
                             end_text(w, text, sizeof(text)));
    }
    if (hello.version != ATOLL_CUDA_LINK_VERSION)
        return atoll_err_set(err, ATOLL_E_CHILD,
                             "atoll-worker-cuda is of another version; install both together");
    hello.text[sizeof(hello.text) - 1] = '\0';
    if (hello.code != ATOLL_OK)
        return atoll_err_set(err, hello.code < ATOLL_CODE_COUNT ? (enum atoll_code)hello.code : ATOLL_E_CHILD,
                             "%s", hello.text);
    w->facts = hello.facts;
    w->facts.model[sizeof(w->facts.model) - 1] = '\0';
    w->facts.uuid[sizeof(w->facts.uuid) - 1] = '\0';
    w->facts.pci[sizeof(w->facts.pci) - 1] = '\0';
    w->facts.limits.driver[sizeof(w->facts.limits.driver) - 1] = '\0';
    w->facts.limits.target[sizeof(w->facts.limits.target) - 1] = '\0';
    w->facts.limits.counters[sizeof(w->facts.limits.counters) - 1] = '\0';
    return 0;
}

struct atoll_cuda_worker *atoll_cuda_worker_begin(const struct atoll_cuda_worker_settings *settings,
                                                  struct atoll_err *err)
{
    struct atoll_cuda_worker *w = calloc(1, sizeof(*w));
    if (!w) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a device process");
        return NULL;
    }
    w->socket = -1;
    w->start_limit_ns = settings->start_limit_ns > 0 ? settings->start_limit_ns : START_LIMIT_NS;
    if (process_start(w, settings, err) == 0)
        return w;
    atoll_cuda_worker_destroy(w);
    return NULL;
}

int atoll_cuda_worker_ready(struct atoll_cuda_worker *worker, struct atoll_err *err)
{
    return hello_take(worker, worker->start_limit_ns, err);
}

struct atoll_cuda_worker *atoll_cuda_worker_create(const struct atoll_cuda_worker_settings *settings,
                                                   struct atoll_err *err)
{
    struct atoll_cuda_worker *w = atoll_cuda_worker_begin(settings, err);
    if (!w || atoll_cuda_worker_ready(w, err) == 0)
        return w;
    atoll_cuda_worker_destroy(w);
    return NULL;
}

static void process_end(struct atoll_cuda_worker *w)
{
    if (w->pid <= 0)
        return;
    kill(-w->pid, SIGKILL);
    kill(w->pid, SIGKILL); /* should it not lead its group yet */
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
}

void atoll_cuda_worker_destroy(struct atoll_cuda_worker *worker)
{
    if (!worker)
        return;
    process_end(worker);
    if (worker->socket >= 0)
        close(worker->socket);
    free(worker->reply);
    free(worker);
}

const struct atoll_cuda_facts *atoll_cuda_worker_facts(const struct atoll_cuda_worker *worker)
{
    return &worker->facts;
}

pid_t atoll_cuda_worker_pid(const struct atoll_cuda_worker *worker)
{
    return worker->pid;
}

/* ---- batches ---- */

static void reply_fail(struct atoll_cuda_worker *w, enum transfer t, struct atoll_command_batch_reply *reply)
{
    char text[96] = "earlier";
    if (t == GONE && w->pid > 0)
        end_text(w, text, sizeof(text));
    process_end(w);
    atoll_command_batch_reply_fini(reply);
    atoll_command_batch_reply_init(reply);
    reply->status = t == LATE ? ATOLL_COMMAND_BATCH_TIMEOUT : ATOLL_COMMAND_BATCH_LOST;
    if (t == LATE)
        snprintf(reply->text, sizeof(reply->text), "the device process was killed at the deadline");
    else
        snprintf(reply->text, sizeof(reply->text), "the device process ended by itself (%s)", text);
}

static enum transfer exchange(struct atoll_cuda_worker *w, const struct atoll_buffer *batch, double deadline,
                              const struct atoll_cuda_worker_silence *silence, size_t *ret_length)
{
    uint64_t length = batch->length;
    enum transfer t = put_all(w->socket, &length, sizeof(length), deadline);
    if (t == MOVED)
        t = put_all(w->socket, batch->data, batch->length, deadline);
    if (t == MOVED && silence && is_silent(w->socket, atoll_clock_raw_ns() + silence->after_ns))
        silence->broken(silence->context);
    if (t == MOVED)
        t = take_all(w->socket, &length, sizeof(length), deadline);
    if (t != MOVED || length > ATOLL_CUDA_LINK_BYTES)
        return t == MOVED ? GONE : t;
    if (length > w->reply_room) {
        unsigned char *grown = realloc(w->reply, (size_t)length);
        if (!grown)
            return GONE;
        w->reply = grown;
        w->reply_room = (size_t)length;
    }
    *ret_length = (size_t)length;
    return take_all(w->socket, w->reply, (size_t)length, deadline);
}

int atoll_cuda_worker_run(struct atoll_cuda_worker *worker, const struct atoll_command_batch *batch,
                          double deadline_ns, struct atoll_command_batch_reply *ret_reply,
                          struct atoll_err *err)
{
    return atoll_cuda_worker_run_heard(worker, batch, deadline_ns, NULL, ret_reply, err);
}

int atoll_cuda_worker_run_heard(struct atoll_cuda_worker *worker, const struct atoll_command_batch *batch,
                                double deadline_ns, const struct atoll_cuda_worker_silence *silence,
                                struct atoll_command_batch_reply *ret_reply, struct atoll_err *err)
{
    size_t length = 0;
    if (atoll_buffer_check(&batch->bytes, err) != 0)
        return -1;
    if (worker->pid <= 0) {
        reply_fail(worker, GONE, ret_reply);
        return 0;
    }
    enum transfer t = exchange(worker, &batch->bytes, atoll_clock_raw_ns() + deadline_ns, silence, &length);
    if (t != MOVED)
        reply_fail(worker, t, ret_reply);
    else if (atoll_command_batch_reply_decode(worker->reply, length, ret_reply, NULL) != 0)
        reply_fail(worker, GONE, ret_reply);
    else if (ret_reply->status == ATOLL_COMMAND_BATCH_FAULT && !worker->is_watched)
        process_end(worker);
    return 0;
}

int atoll_cuda_worker_end(struct atoll_cuda_worker *worker, double limit_ns)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    double until = atoll_clock_raw_ns() + limit_ns;
    siginfo_t ended = {.si_pid = 0};
    shutdown(worker->socket, SHUT_RDWR);
    while (worker->pid > 0 && waitid(P_PID, (id_t)worker->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0 && atoll_clock_raw_ns() < until)
        nanosleep(&look, NULL);
    int is_late = worker->pid > 0 && ended.si_pid == 0;
    process_end(worker); /* with what the watcher may have left behind */
    return is_late;
}

/* The referee's half of the protocol in control.h.  A run may be sent while its child is still being set up: the child that
 * takes it has said its pid by then.  The referee kills a sample by that pid, which it was told before any candidate code ran
 * in it; the zygote keeps a dead sample as a zombie until the next one has ended, so that this pid is
 * never another process.
 *
 * A forged "done" buys candidate code the time from the referee stopping its clock to SIGKILL taking effect on
 * the sample's cores: on a 2-core 2.1 GHz machine, with the referee pinned to a core of its own, 1.1 us median,
 * 2 to 7 us at the 99th percentile, and up to 0.5 us more for the watched words; stop_ns bounds it loosely.  Not
 * waking the futex gains nothing more: the span ends when the referee looks.  The buffers are read only after the
 * zygote has seen the death; some words of them, which only the caller knows, are read before the kill as well,
 * so that work after the end shows.
 */
#include "mpi-eval/backend/cpu/process/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/program.h"
#include "mpi-eval/backend/cpu/process/control.h"
#include "mpi-eval/backend/cpu/compile/object.h"
#include "mpi-eval/backend/cpu/process/sample.h"
#include "mpi-eval/backend/sandbox/spawn.h"
#include "base/clock.h"

/* For steps of our own; a candidate's deadline comes with the request, from the referee. */
#define LOAD_TIMEOUT_NS                                                                                      \
    20e9 /* worker start and checks; then as long again for a load that others keep from a core */
#define SETUP_TIMEOUT_NS 30e9 /* fork to ready; mapping of large buffers is in it */
#define DEATH_TIMEOUT_NS 30e9 /* SIGKILL to the zygote's report */
#define LOOK_EVERY_NS    50e3 /* a spinning referee looks at the socket this often */
#define SLEEP_SLICE_NS   1000000L
#define WATCH_NS                                                                                             \
    300e3 /* a spinning referee waits so long for a reply before it sleeps: a death, the next child */
#define IDLE_LIMIT_NS  50e3
#define PROBE_BLIND_NS 3e3
#define SPINS_PER_LOOK 16          /* less than a microsecond */
#define LOAD_CPU_NS    2000000000L /* of the candidate: loading its object; some 20 ms are much */
#define STACK_DEFAULT  ((uint64_t)8 << 20)
#define STACK_SMALLEST ((uint64_t)64 << 10)

/* What one run has come to. */
struct progress {
    pid_t pid;
    int armed, ended, lost, timed_out;
    double wait_ns;  /* for the child to be ready and to stand */
    double blind_ns; /* when a spinning referee saw a word set, it had last looked so long ago */
    struct atoll_control_reply end;
    double rung_ns, seen_ns, killed_ns; /* when the doorbell rang, the clock stopped, the sample was killed */
    uint64_t seen[ATOLL_RUN_WATCH_LIMIT]; /* watched words when the clock stopped */
};

struct atoll_runner {
    pid_t worker;
    int socket, page_fd, object_fd;
    struct atoll_control_page *page;
    int spin;
    unsigned thread_count;
    size_t symbol_count;
    pid_t ahead; /* the child that waits for the next run; 0: it is being set up */
    const struct atoll_run_request *request; /* of the run under way; borrowed */
    int in_window;                           /* its window has begun */
    struct atoll_control_run message;        /* of the run under way */
    struct progress progress;
};

/* 1: a whole reply; 0: none within timeout_ns; -1: the worker is gone or talks nonsense. */
static int receive_reply(const struct atoll_runner *runner, double timeout_ns,
                         struct atoll_control_reply *reply)
{
    double deadline = atoll_clock_raw_ns() + timeout_ns, sleep_at = deadline - timeout_ns + WATCH_NS;
    for (;;) {
        ssize_t got = recv(runner->socket, reply, sizeof(*reply), MSG_DONTWAIT);
        if (got == (ssize_t)sizeof(*reply))
            return 1;
        if (got >= 0 || (errno != EAGAIN && errno != EINTR))
            return -1;
        double now = atoll_clock_raw_ns(), left = deadline - now;
        if (left <= 0)
            return 0;
        if (runner->spin && now < sleep_at) {
            for (int i = 0; i < SPINS_PER_LOOK; i++)
                atoll_cpu_relax();
            continue;
        }
        struct pollfd fd = {runner->socket, POLLIN, 0};
        struct timespec wait = {(time_t)(left / 1e9), (long)left % 1000000000L};
        ppoll(&fd, 1, &wait, NULL);
    }
}

static int send_all(int fd, const struct msghdr *message, size_t length)
{
    ssize_t sent;
    do
        sent = sendmsg(fd, message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)length ? 0 : -1;
}

static int make_object_fd(const void *object, size_t length, struct atoll_err *err)
{
    int fd = memfd_create("candidate", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot make a memory file for the object");
    if (atoll_write_all(fd, object, length) != 0) {
        atoll_err_errno(err, errno, "cannot write the object's memory file");
        close(fd);
        return -1;
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return fd;
}

static int make_page(struct atoll_runner *runner, struct atoll_err *err)
{
    runner->page_fd = memfd_create("control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (runner->page_fd < 0 || ftruncate(runner->page_fd, ATOLL_CONTROL_PAGE_BYTES) != 0)
        return atoll_err_errno(err, errno, "cannot make the control page");
    fcntl(runner->page_fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW);
    void *at = mmap(NULL, ATOLL_CONTROL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, runner->page_fd, 0);
    if (at == MAP_FAILED)
        return atoll_err_errno(err, errno, "cannot map the control page");
    runner->page = at;
    return 0;
}

static int start_worker(struct atoll_runner *runner, const char *worker_path, struct atoll_err *err)
{
    char beside[4096];
    if (!worker_path && atoll_program_beside("atoll-worker", beside, sizeof(beside), err) != 0)
        return -1;
    const char *path = worker_path ? worker_path : beside;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return atoll_err_errno(err, errno, "cannot make a socket pair");
    runner->socket = pair[0];
    char name[] = "atoll-worker", mode[] = "--zygote", locale[] = "LC_ALL=C";
    char *argv[] = {name, mode, NULL}, *environment[] = {locale, NULL};
    struct atoll_spawn spawn = {
        .path = path,
        .argv = argv,
        .environment = environment,
        .fds = {-1, -1, -1, pair[1], runner->object_fd, runner->page_fd},
        .fd_count = ATOLL_CONTROL_FD_COUNT,
        .ruleset = -1,
    };
    runner->worker = atoll_spawn_start(&spawn, err);
    close(pair[1]);
    return runner->worker > 0 ? 0 : -1;
}

static int fill_setup(struct atoll_control_setup *setup, const struct atoll_runner_settings *settings,
                      int allow_mutable_globals, const char *const *symbols, size_t symbol_count,
                      struct atoll_err *err)
{
    uint64_t stack = settings->stack_bytes ? settings->stack_bytes : STACK_DEFAULT;
    setup->type = ATOLL_CONTROL_SETUP;
    setup->version = ATOLL_CONTROL_VERSION;
    setup->thread_count = settings->thread_count;
    setup->spin = settings->spin != 0;
    setup->allow_mutable_globals = allow_mutable_globals != 0;
    setup->symbol_count = (uint32_t)symbol_count;
    setup->load_cpu_ns = LOAD_CPU_NS;
    setup->stack_bytes = (stack < STACK_SMALLEST ? STACK_SMALLEST : stack + 65535) & ~(uint64_t)65535;
    for (unsigned i = 0; i < ATOLL_CONTROL_THREAD_LIMIT; i++)
        setup->cores[i] = settings->cores && i < settings->thread_count ? settings->cores[i] : -1;
    for (size_t i = 0; i < symbol_count; i++) {
        int length = snprintf(setup->symbols[i], ATOLL_CONTROL_SYMBOL_BYTES, "%s", symbols[i]);
        if (length >= ATOLL_CONTROL_SYMBOL_BYTES)
            return atoll_err_set(err, ATOLL_E_LIMIT, "symbol %s is longer than %d bytes", symbols[i],
                                 ATOLL_CONTROL_SYMBOL_BYTES - 1);
    }
    return 0;
}

/* Whether the worker was ended because loading the object took too much processor time.  It has closed its socket. */
static int has_loaded_too_long(const struct atoll_runner *runner)
{
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)runner->worker, &info, WEXITED | WNOWAIT) != 0)
        if (errno != EINTR)
            return 0;
    return info.si_code != CLD_EXITED && info.si_status == SIGPROF;
}

static int await_loaded(const struct atoll_runner *runner, struct atoll_err *err)
{
    struct atoll_control_reply reply;
    int status = receive_reply(runner, LOAD_TIMEOUT_NS, &reply);
    int is_loading = status == 1 && reply.type == ATOLL_CONTROL_LOADING;
    if (is_loading)
        status = receive_reply(runner, LOAD_TIMEOUT_NS, &reply);
    if (status == 0)
        return atoll_err_set(err, ATOLL_E_CHILD, "atoll-worker did not %s within %.0f s",
                             is_loading ? "load the object" : "start", LOAD_TIMEOUT_NS / 1e9);
    if (status == 1 && is_loading && reply.type == ATOLL_CONTROL_LOADED)
        return 0;
    if (status == 1 && reply.type == ATOLL_CONTROL_REFUSED && reply.code > 0 &&
        reply.code < ATOLL_CODE_COUNT) {
        reply.text[sizeof(reply.text) - 1] = '\0';
        return atoll_err_set(err, (enum atoll_code)reply.code, "%s", reply.text);
    }
    if (status < 0 && is_loading && has_loaded_too_long(runner))
        return atoll_err_set(err, ATOLL_E_TIMEOUT, "the object was not loaded after %.0f s of processor time",
                             LOAD_CPU_NS / 1e9);
    return atoll_err_set(err, ATOLL_E_CHILD, "atoll-worker ended while it loaded the object");
}

struct atoll_runner *atoll_runner_create(const struct atoll_runner_settings *settings, const void *object,
                                         size_t object_length, int allow_mutable_globals,
                                         const char *const *symbols, size_t symbol_count,
                                         struct atoll_err *err)
{
    struct atoll_control_setup setup;
    if (settings->thread_count < 1 || settings->thread_count > ATOLL_CONTROL_THREAD_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "%u threads: 1 to %d are possible", settings->thread_count,
                      ATOLL_CONTROL_THREAD_LIMIT);
        return NULL;
    }
    if (symbol_count < 1 || symbol_count > ATOLL_CONTROL_SYMBOL_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "%zu symbols: 1 to %d are possible", symbol_count,
                      ATOLL_CONTROL_SYMBOL_LIMIT);
        return NULL;
    }
    if (atoll_object_check(object, object_length, allow_mutable_globals, symbols, symbol_count, err) != 0 ||
        fill_setup(&setup, settings, allow_mutable_globals, symbols, symbol_count, err) != 0)
        return NULL;
    struct atoll_runner *runner = calloc(1, sizeof(*runner));
    if (!runner) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a runner");
        return NULL;
    }
    runner->socket = runner->page_fd = -1;
    runner->spin = settings->spin;
    runner->thread_count = settings->thread_count;
    runner->symbol_count = symbol_count;
    runner->object_fd = make_object_fd(object, object_length, err);
    struct iovec iov = {&setup, sizeof(setup)};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    int failed = runner->object_fd < 0 || make_page(runner, err) != 0 ||
                 start_worker(runner, settings->worker_path, err) != 0;
    if (!failed && send_all(runner->socket, &message, sizeof(setup)) != 0)
        failed = atoll_err_set(err, ATOLL_E_CHILD, "atoll-worker ended before it was set up");
    if (failed || await_loaded(runner, err) != 0) {
        atoll_runner_destroy(runner);
        return NULL;
    }
    close(runner->object_fd);
    runner->object_fd = -1;
    return runner;
}

static void window_begin(struct atoll_runner *runner)
{
    if (!runner->in_window && runner->request->window_begin)
        runner->request->window_begin(runner->request->context);
    runner->in_window = 1;
}

static void window_end(struct atoll_runner *runner)
{
    if (runner->in_window && runner->request->window_end)
        runner->request->window_end(runner->request->context);
    runner->in_window = 0;
}

static void stop_worker(struct atoll_runner *runner)
{
    if (runner->worker <= 0)
        return;
    kill(-runner->worker, SIGKILL);
    kill(runner->worker, SIGKILL); /* should it not lead its group yet */
    while (waitpid(runner->worker, NULL, 0) < 0 && errno == EINTR)
        ;
    runner->worker = 0;
}

void atoll_runner_destroy(struct atoll_runner *runner)
{
    if (!runner)
        return;
    window_end(runner); /* of a run that was not finished */
    stop_worker(runner);
    if (runner->socket >= 0)
        close(runner->socket);
    if (runner->object_fd >= 0)
        close(runner->object_fd);
    if (runner->page)
        munmap(runner->page, ATOLL_CONTROL_PAGE_BYTES);
    if (runner->page_fd >= 0)
        close(runner->page_fd);
    free(runner);
}

static int fill_word(const struct atoll_run_request *request, const struct atoll_run_argument *from,
                     struct atoll_control_word *to, struct atoll_err *err)
{
    if (from->buffer >= 0 && (size_t)from->buffer >= request->buffer_count)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "argument names buffer %d of %zu", from->buffer,
                             request->buffer_count);
    if (from->buffer >= 0 && from->offset > request->buffers[from->buffer].bytes)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "argument lies %zu bytes into buffer %d", from->offset,
                             from->buffer);
    *to = (struct atoll_control_word){.buffer = from->buffer < 0 ? -1 : from->buffer};
    if (from->buffer >= 0)
        to->value.offset = from->offset;
    else
        to->value.i64 = from->value.i64;
    return 0;
}

static int fill_launch(const struct atoll_runner *runner, const struct atoll_run_request *request,
                       const struct atoll_run_launch *from, struct atoll_control_launch *to,
                       struct atoll_err *err)
{
    if (from->symbol >= runner->symbol_count || from->argument_count > ATOLL_RUN_WORD_LIMIT ||
        from->units < 0 || from->units > INT64_MAX / 2)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "launch of symbol %zu with %zu arguments over %lld units",
                             from->symbol, from->argument_count, (long long)from->units);
    to->symbol = (uint32_t)from->symbol;
    to->word_count = (uint32_t)from->argument_count;
    to->units = from->units;
    for (size_t i = 0; i < from->argument_count; i++)
        if (fill_word(request, &from->arguments[i], &to->words[i], err) != 0)
            return -1;
    return 0;
}

static int fill_reference(const struct atoll_run_request *request, struct atoll_control_run *message,
                          struct atoll_err *err)
{
    if (request->dim_count > ATOLL_TASK_DIM_LIMIT || request->tensor_count > ATOLL_TASK_TENSOR_LIMIT ||
        request->launch_count != 1)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "reference run with %zu dims, %zu tensors, %zu launches",
                             request->dim_count, request->tensor_count, request->launch_count);
    message->dim_count = (uint32_t)request->dim_count;
    message->tensor_count = (uint32_t)request->tensor_count;
    message->scratch_doubles = request->scratch_doubles;
    for (size_t i = 0; i < request->dim_count; i++)
        message->dims[i] = request->dims[i];
    for (size_t i = 0; i < 3 * request->tensor_count; i++)
        if (fill_word(request, &request->reference_arguments[i], &message->reference[i], err) != 0)
            return -1;
    return 0;
}

static int fill_run(struct atoll_runner *runner, const struct atoll_run_request *request,
                    struct atoll_err *err)
{
    struct atoll_control_run *message = &runner->message;
    if (request->buffer_count > ATOLL_RUN_BUFFER_LIMIT || request->launch_count < 1 ||
        request->launch_count > ATOLL_RUN_LAUNCH_LIMIT || request->watch_count > ATOLL_RUN_WATCH_LIMIT)
        return atoll_err_set(err, ATOLL_E_INTERNAL,
                             "run with %zu buffers, %zu launches and %zu watched words",
                             request->buffer_count, request->launch_count, request->watch_count);
    message->type = ATOLL_CONTROL_RUN;
    message->kind = (uint32_t)request->kind;
    message->buffer_count = (uint32_t)request->buffer_count;
    message->launch_count = (uint32_t)request->launch_count;
    message->dim_count = message->tensor_count = 0;
    message->touch = request->touch != 0;
    message->flush = request->flush != 0;
    message->scratch_doubles = 0;
    for (size_t i = 0; i < request->buffer_count; i++) {
        if (request->buffers[i].bytes == 0)
            return atoll_err_set(err, ATOLL_E_INTERNAL, "buffer %zu is empty", i);
        message->buffers[i] =
            (struct atoll_control_buffer){request->buffers[i].bytes, request->buffers[i].read_only != 0, 0};
    }
    for (size_t i = 0; i < request->launch_count; i++)
        if (fill_launch(runner, request, &request->launches[i], &message->launches[i], err) != 0)
            return -1;
    return request->kind == ATOLL_RUN_REFERENCE ? fill_reference(request, message, err) : 0;
}

static int send_run(const struct atoll_runner *runner, const struct atoll_run_request *request)
{
    size_t length = offsetof(struct atoll_control_run, launches) +
                    request->launch_count * sizeof(runner->message.launches[0]);
    size_t fd_bytes = request->buffer_count * sizeof(int);
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * ATOLL_RUN_BUFFER_LIMIT)];
    struct iovec iov = {(void *)(uintptr_t)&runner->message, length};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (request->buffer_count > 0) {
        int fds[ATOLL_RUN_BUFFER_LIMIT];
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(fd_bytes);
        memset(control, 0, sizeof(control));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fd_bytes);
        for (size_t i = 0; i < request->buffer_count; i++)
            fds[i] = request->buffers[i].fd;
        memcpy(CMSG_DATA(header), fds, fd_bytes);
    }
    return send_all(runner->socket, &message, length);
}

/* Waits until *word is set, the sample ended, the worker is lost or the deadline (by the raw clock) passed.  Returns
 * the time at which *word was seen set. */
static double await_word(const struct atoll_runner *runner, _Atomic uint32_t *word, int spin, double deadline,
                         struct progress *progress)
{
    double looked = atoll_clock_raw_ns(), look_at = looked + LOOK_EVERY_NS;
    for (;;) {
        for (int i = 0; i < (spin ? SPINS_PER_LOOK : 1); i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != 0) {
                double now = atoll_clock_raw_ns();
                progress->blind_ns = spin ? now - looked : 0;
                return now;
            }
            if (spin)
                atoll_cpu_relax();
            else
                atoll_futex_wait(word, 0, SLEEP_SLICE_NS, 1);
        }
        double now = looked = atoll_clock_raw_ns();
        if (now < look_at)
            continue;
        look_at = now + LOOK_EVERY_NS;
        int status = receive_reply(runner, 0, &progress->end);
        if (status < 0 || (status == 1 && progress->end.type != ATOLL_CONTROL_ENDED))
            progress->lost = 1;
        progress->ended = status == 1;
        progress->timed_out = now >= deadline;
        if (progress->ended || progress->lost || progress->timed_out)
            return now;
    }
}

/* 1: the child of the next run has said that it stands; 0: not within timeout_ns; -1: there is none, and there will be none. */
static int look_ahead(struct atoll_runner *runner, double timeout_ns)
{
    struct atoll_control_reply *reply = &runner->progress.end; /* should it have ended, it says why */
    int status = runner->ahead > 0 ? 1 : receive_reply(runner, timeout_ns, reply);
    if (runner->ahead > 0 || status == 0)
        return status;
    if (status < 0 || reply->type != ATOLL_CONTROL_READY || reply->pid <= 0)
        return -1;
    runner->ahead = reply->pid;
    return 1;
}

void atoll_runner_settle(struct atoll_runner *runner)
{
    if (runner && runner->worker > 0)
        look_ahead(runner, SETUP_TIMEOUT_NS); /* trouble is the next run's */
}

static void await_ready(const struct atoll_runner *runner, struct progress *progress)
{
    await_word(runner, &runner->page->ready, 0, atoll_clock_raw_ns() + SETUP_TIMEOUT_NS, progress);
    if (progress->timed_out)
        progress->lost = 1;
}

static int has_failed(const struct progress *progress)
{
    return progress->ended || progress->lost;
}

static double time_span(struct atoll_runner *runner, const struct atoll_run_request *request,
                        struct progress *progress)
{
    struct atoll_control_page *page = runner->page;
    double begin = atoll_clock_raw_ns();
    atomic_store_explicit(&page->doorbell, 1, memory_order_release);
    double rung = atoll_clock_raw_ns();
    if (!runner->spin)
        atoll_futex_wake(&page->doorbell, 1);
    double end = await_word(runner, &page->done, runner->spin, begin + request->deadline_ns, progress);
    for (size_t i = 0; i < request->watch_count; i++)
        progress->seen[i] = *request->watch[i];
    if (progress->pid > 0 && !progress->ended)
        kill(-progress->pid, SIGKILL);
    progress->killed_ns = atoll_clock_raw_ns();
    progress->blind_ns += rung - begin;
    progress->rung_ns = rung;
    progress->seen_ns = end;
    return end - begin;
}

static enum atoll_run_status judge(const struct progress *progress, int done)
{
    int by_signal = progress->end.end_code == CLD_KILLED || progress->end.end_code == CLD_DUMPED;
    if (progress->lost)
        return ATOLL_RUN_LOST;
    if (by_signal && progress->end.end_status == SIGSYS)
        return ATOLL_RUN_FORBIDDEN;
    if (by_signal && progress->end.end_status == SIGKILL)
        return done ? ATOLL_RUN_DONE : progress->timed_out ? ATOLL_RUN_TIMEOUT : ATOLL_RUN_LOST;
    return by_signal ? ATOLL_RUN_CRASHED : ATOLL_RUN_EXITED;
}

static void describe(struct atoll_run_result *result, const struct progress *progress, double deadline_ns)
{
    int number = progress->end.end_status;
    const char *name = sigabbrev_np(number), *text = sigdescr_np(number);
    switch (result->status) {
    case ATOLL_RUN_CRASHED:
        result->signal = number;
        snprintf(result->detail, sizeof(result->detail), "%s (SIG%s)", text ? text : "signal",
                 name ? name : "?");
        break;
    case ATOLL_RUN_FORBIDDEN:
        result->signal = number;
        snprintf(result->detail, sizeof(result->detail), "forbidden system call");
        break;
    case ATOLL_RUN_EXITED:
        snprintf(result->detail, sizeof(result->detail), "left with exit status %d", number);
        break;
    case ATOLL_RUN_TIMEOUT:
        snprintf(result->detail, sizeof(result->detail), "not done after %.3g s", deadline_ns / 1e9);
        break;
    case ATOLL_RUN_DONE:
    case ATOLL_RUN_LOST: break;
    }
}

int atoll_runner_start(struct atoll_runner *runner, const struct atoll_run_request *request,
                       struct atoll_err *err)
{
    if (fill_run(runner, request, err) != 0)
        return -1;
    runner->request = request;
    runner->progress = (struct progress){0};
    if (look_ahead(runner, 0) < 0 || send_run(runner, request) != 0)
        runner->progress.lost = 1;
    return 0;
}

void atoll_runner_arm(struct atoll_runner *runner)
{
    struct progress *progress = &runner->progress;
    if (progress->armed || has_failed(progress))
        return;
    double begin = atoll_clock_raw_ns();
    progress->lost = look_ahead(runner, SETUP_TIMEOUT_NS) != 1;
    progress->pid = runner->ahead;
    runner->ahead = 0;
    if (progress->lost)
        return;
    window_begin(runner); /* what compiles on these cores would keep the threads from them when they wake */
    await_ready(runner, progress);
    progress->armed = 1;
    if (!has_failed(progress)) {
        atomic_store_explicit(&runner->page->armed, 1, memory_order_release);
        atoll_futex_wake(&runner->page->armed, 1);
    }
    progress->wait_ns += atoll_clock_raw_ns() - begin;
}

/* What the child said when its threads stood is read before the doorbell: later the page is not to be trusted. */
struct stood {
    double at_ns;
    int64_t switches, cpu_ns, flushed_bytes;
};

/* What others took.  A thread that spins has used exactly the time that its core was not taken from it, from where it stood
 * to its death; without a switch that the kernel forced nobody took anything. */
static void account(const struct atoll_runner *runner, const struct stood *stood,
                    struct atoll_run_result *result)
{
    const struct atoll_control_reply *end = &runner->progress.end;
    result->probe_ns[1] = runner->spin ? (double)end->probe_ns : 0;
    result->flushed_bytes = (size_t)stood->flushed_bytes;
    result->blind_ns = runner->spin ? runner->progress.blind_ns : 0;
    if (end->switches < stood->switches || end->cpu_ns < stood->cpu_ns)
        return;
    double used = (double)(end->cpu_ns - stood->cpu_ns),
           lost = ((double)end->ended_ns - stood->at_ns) * runner->thread_count - used;
    result->preemptions = (long)(end->switches - stood->switches);
    if (!runner->spin)
        return;
    /* What its threads spun for before and after the span, as far as nobody kept us from ending it. */
    double idle =
        runner->progress.rung_ns - stood->at_ns + runner->progress.killed_ns - runner->progress.seen_ns;
    if (idle < IDLE_LIMIT_NS)
        result->own_ns = fmax(used / runner->thread_count - idle, 0);
    result->lost_ns = lost > 0 && result->preemptions > 0 ? lost : 0;
}

/* From threads that stand to the end of the child. */
static void sample_time(struct atoll_runner *runner, const struct atoll_run_request *request,
                        struct atoll_run_result *result)
{
    struct progress *progress = &runner->progress;
    const struct atoll_control_page *page = runner->page;
    struct stood stood = {atoll_clock_raw_ns(), page->switches, page->cpu_ns, page->flushed_bytes};
    result->ns = time_span(runner, request, progress);
    int done = !progress->ended && !progress->lost && !progress->timed_out;
    if (!progress->ended && !progress->lost) {
        int status = receive_reply(runner, DEATH_TIMEOUT_NS, &progress->end);
        progress->ended = status == 1 && progress->end.type == ATOLL_CONTROL_ENDED;
        progress->lost = !progress->ended;
    }
    result->status = judge(progress, done);
    result->late_count = 0;
    for (size_t i = 0; done && i < request->watch_count; i++)
        result->late_count += *request->watch[i] != progress->seen[i];
    if (progress->ended) {
        result->stop_ns = fmax((double)progress->end.ended_ns - progress->seen_ns, 0);
        account(runner, &stood, result);
    }
    describe(result, progress, request->deadline_ns);
}

void atoll_runner_finish(struct atoll_runner *runner, const struct atoll_run_request *request,
                         struct atoll_run_result *ret_result)
{
    struct progress *progress = &runner->progress;
    struct atoll_run_result result = {
        .status = ATOLL_RUN_LOST, .preemptions = -1, .lost_ns = -1, .own_ns = -1};
    atoll_runner_arm(runner);
    double begin = atoll_clock_raw_ns();
    if (!has_failed(progress))
        await_word(runner, &runner->page->awake, runner->spin, begin + SETUP_TIMEOUT_NS, progress);
    if (!has_failed(progress) && !progress->timed_out) {
        double armed = atoll_clock_raw_ns();
        atomic_store_explicit(&runner->page->armed, 2, memory_order_release);
        if (!runner->spin)
            atoll_futex_wake(&runner->page->armed, 1);
        double stood =
            await_word(runner, &runner->page->standing, runner->spin, begin + SETUP_TIMEOUT_NS, progress);
        if (runner->spin && request->kind == ATOLL_RUN_CANDIDATE && progress->blind_ns < PROBE_BLIND_NS)
            result.probe_ns[0] = stood - armed;
    }
    if (progress->timed_out)
        progress->lost = 1;
    result.setup_ns = progress->wait_ns + atoll_clock_raw_ns() - begin;
    if (!has_failed(progress))
        sample_time(runner, request, &result);
    else {
        /* A sample that never became ready is our trouble, whatever it ended with. */
        char *trouble = progress->end.text;
        trouble[progress->end.type == ATOLL_CONTROL_ENDED ? sizeof(progress->end.text) - 1 : 0] = '\0';
        result.status = ATOLL_RUN_LOST;
        if (progress->lost && !trouble[0])
            snprintf(result.detail, sizeof(result.detail), "atoll-worker is lost");
        else
            snprintf(result.detail, sizeof(result.detail), "the sample did not start: %.200s",
                     trouble[0] ? trouble : "it ended");
    }
    window_end(runner);
    if (result.status == ATOLL_RUN_LOST) {
        stop_worker(runner); /* a sample that still lives dies with it */
        if (!result.detail[0])
            snprintf(result.detail, sizeof(result.detail), "atoll-worker is lost");
    }
    *ret_result = result;
}

int atoll_runner_run(struct atoll_runner *runner, const struct atoll_run_request *request,
                     struct atoll_run_result *ret_result, struct atoll_err *err)
{
    if (atoll_runner_start(runner, request, err) != 0)
        return -1;
    atoll_runner_finish(runner, request, ret_result);
    atoll_runner_settle(runner);
    return 0;
}

const char *atoll_run_status_name(enum atoll_run_status s)
{
    static const char *const names[] = {"done", "crashed", "forbidden", "exited", "timeout", "lost"};
    return (unsigned)s < sizeof(names) / sizeof(names[0]) ? names[s] : "unknown";
}

const char *atoll_runner_isolation(char *ret_text, size_t bytes)
{
    int version = atoll_landlock_version();
    char landlock[32] = "no-landlock";
    if (version > 0)
        snprintf(landlock, sizeof(landlock), "landlock-%d", version);
    snprintf(ret_text, bytes, "no-new-privs no-capabilities seccomp %s rlimits", landlock);
    return ret_text;
}

/* NVRTC in child processes.  A job is looked up in the cache, else waits until a child is idle, and where another process of
 * the node compiles the same, for what that one puts there (at most as long as a compilation may take); children
 * are started when there is work for them, and stay.  Children are not stopped in timing windows: a compilation on the
 * host does not disturb a device.  A child that dies takes no job with it: the job goes to a fresh one, once. */
#include "mpi-eval/backend/cuda/compile/compile.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "mpi-eval/backend/compile/compile_job.h"
#include "mpi-eval/backend/compile/compile_patience.h"
#include "mpi-eval/backend/compile/diagnostics.h"
#include "mpi-eval/backend/cuda/compile/compile_cache.h"
#include "mpi-eval/backend/cuda/compile/compile_child.h"
#include "mpi-eval/backend/cuda/compile/nvrtc.h"
#include "mpi-eval/backend/cuda/compile/toolkit.h"

#define TARGET_BYTES        16
#define NUMBER_BYTES        24
#define START_NS            120e9 /* for a child to open NVRTC, over a slow file system */
#define SLOT_LIMIT          256
#define FILE_BYTES          65536 /* a child writes its own seccomp filter to a memory file, and nothing else */
#define ATTEMPTS            2     /* of a job whose child dies */
#define LOOK_NS             20e6 /* whether another process is done */
#define KEY_BYTES           ((size_t)20 << 20)
#define STATIC_SHARED_BYTES (48ul << 10) /* CUDA C++ Programming Guide, "Compute Capabilities" */
#define ERROR_STATUS        (1 << 8)     /* of wait(2): exit status 1 */

struct slot {
    struct atoll_compile_child child;
    struct atoll_compile_job *job;          /* owned; NULL: none */
    struct atoll_compile_claim claim;       /* of the job */
    unsigned attempts;                      /* of the job */
    uint64_t serial;                        /* of the request under way */
    double since_ns;                        /* start of the child, or of the request */
    double spent_ns;                        /* the child's processor time before the request */
    struct atoll_compile_patience patience; /* with either */
};

struct nvrtc {
    struct atoll_compiler base;
    struct atoll_toolkit toolkit;
    struct atoll_compile_cache *cache; /* NULL: none */
    struct atoll_filter filter;
    struct atoll_limit limits[4];
    struct atoll_compile_options options; /* before the defines */
    char *version, target[TARGET_BYTES], bytes[NUMBER_BYTES];
    char *environment[4];     /* owned */
    struct atoll_id identity; /* of all that is the same for every job */
    double deadline_ns;
    uint64_t memory_bytes, output_bytes;
    struct slot *slots;
    unsigned slot_count;
    struct atoll_compile_queue queued, done;
    struct atoll_compile_queue waiting; /* another process compiles them */
    double looked_ns;                   /* whether it has */
    uint64_t serial;
};

/* ---- children ---- */

/* Since its present start or request; -1: not to be read. */
static double child_processor_ns(const struct slot *slot)
{
    int is_there = slot->child.state != ATOLL_COMPILE_CHILD_NONE;
    double all = is_there ? atoll_compile_process_processor_ns(slot->child.pid) : -1;
    return all < 0 ? -1 : all - slot->spent_ns;
}

static void clock_start(struct slot *slot)
{
    slot->since_ns = atoll_clock_mono_ns();
    slot->spent_ns = 0;
    slot->spent_ns = fmax(child_processor_ns(slot), 0);
    slot->patience = (struct atoll_compile_patience){0};
}

static int child_start(struct nvrtc *n, struct slot *slot, struct atoll_err *err)
{
    static char serve[] = "serve";
    char *argv[5 + ATOLL_TOOLKIT_FOLDER_LIMIT + 1] = {n->toolkit.program, serve, n->target, n->bytes,
                                                      n->toolkit.library};
    for (size_t i = 0; i < n->toolkit.include_count; i++)
        argv[5 + i] = n->toolkit.includes[i];
    struct atoll_spawn spawn = {
        .path = n->toolkit.program,
        .argv = argv,
        .environment = n->environment,
        .folder = n->toolkit.library, /* names without a folder are looked for there */
        .limits = n->limits,
        .limit_count = sizeof(n->limits) / sizeof(n->limits[0]),
        .ruleset = -1, /* the child confines itself before it reads a request */
        .filter = &n->filter,
        .drop_privileges = 1,
    };
    int status = atoll_compile_child_start(&slot->child, &spawn, err);
    clock_start(slot);
    return status;
}

static void job_finish(struct nvrtc *n, struct slot *slot, enum atoll_compile_status status,
                       const char *diagnostics, const char *report)
{
    double processor_ns = child_processor_ns(slot);
    atoll_compile_job_finish(slot->job, status, diagnostics, report, atoll_clock_mono_ns() - slot->since_ns);
    if (processor_ns >= 0)
        slot->job->result.processor_ns = processor_ns;
    atoll_compile_queue_put(&n->done, slot->job);
    slot->job = NULL;
    if (n->cache)
        atoll_compile_cache_unclaim(n->cache, &slot->claim);
}

static double job_deadline_ns(const struct nvrtc *n, const struct atoll_compile_job *job)
{
    return atoll_compile_job_deadline_ns(job, n->deadline_ns);
}

/* What a slot has from since_ns on: its child to stand ready, or the job. */
static double slot_deadline_ns(const struct nvrtc *n, const struct slot *slot)
{
    return slot->child.state == ATOLL_COMPILE_CHILD_STARTING || !slot->job ? START_NS
                                                                           : job_deadline_ns(n, slot->job);
}

/* The child stands ready: its clock starts. */
static void job_send(struct nvrtc *n, struct slot *slot)
{
    struct atoll_buffer request;
    atoll_buffer_init(&request, ATOLL_COMPILE_WIRE_REQUEST_BYTES);
    slot->serial = ++n->serial;
    clock_start(slot);
    const struct atoll_compile_job *job = slot->job;
    atoll_buffer_put_u64(&request, slot->serial);
    atoll_buffer_put_u32(&request, (uint32_t)(job_deadline_ns(n, job) / 1e9));
    atoll_buffer_put_text(&request, job->file_name);
    atoll_buffer_put_blob(&request, job->text, job->length + 1);
    atoll_buffer_put_u32(&request, (uint32_t)(n->options.count + job->define_count));
    for (size_t i = 0; i < n->options.count; i++)
        atoll_buffer_put_text(&request, n->options.texts[i]);
    for (size_t i = 0; i < job->define_count; i++)
        atoll_buffer_put_text(&request, job->defines[i]);
    if (atoll_compile_child_send(&slot->child, &request) != 0)
        job_finish(n, slot, ATOLL_COMPILE_BROKEN, "no memory for a compile request", "");
    atoll_buffer_fini(&request);
}

/* ---- who compiles ---- */

/* What a job's cubin is kept under; zero: no memory. */
static void job_key(const struct nvrtc *n, const struct atoll_compile_job *job, struct atoll_id *ret_key)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, KEY_BYTES);
    atoll_buffer_put_bytes(&b, n->identity.bytes, ATOLL_ID_BYTES);
    atoll_buffer_put_text(&b, job->file_name);
    atoll_buffer_put_blob(&b, job->text, job->length);
    for (size_t i = 0; i < job->define_count; i++)
        atoll_buffer_put_text(&b, job->defines[i]);
    memset(ret_key, 0, sizeof(*ret_key));
    if (!b.failed)
        *ret_key = atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
}

/* 1: it is there, and the job is done. */
static int finish_from_cache(struct nvrtc *n, struct atoll_compile_job *job, const struct atoll_id *key)
{
    double start = atoll_clock_mono_ns();
    char *report = NULL;
    if (!atoll_compile_cache_get(n->cache, key, &job->result.object, &job->result.object_length, &report))
        return 0;
    job->result.from_cache = 1;
    atoll_compile_job_finish(job, ATOLL_COMPILE_OK, "", report, atoll_clock_mono_ns() - start);
    free(report);
    return 1;
}

/* The next job that is ours to compile, with its claim; NULL: none. */
static struct atoll_compile_job *job_take(struct nvrtc *n, struct atoll_compile_claim *ret_claim)
{
    for (struct atoll_compile_job *job; (job = atoll_compile_queue_take(&n->queued));) {
        struct atoll_id key;
        double now = atoll_clock_mono_ns();
        int is_patient = !(job->waits_until_ns > 0) || now < job->waits_until_ns;
        job_key(n, job, &key);
        if (!n->cache || atoll_id_is_zero(&key) || !is_patient)
            return job;
        if (!atoll_compile_cache_claim(n->cache, &key, ret_claim)) {
            if (!(job->waits_until_ns > 0))
                job->waits_until_ns = now + job_deadline_ns(n, job);
            atoll_compile_queue_put(&n->waiting, job);
            continue;
        }
        if (!finish_from_cache(n, job, &key))
            return job;
        atoll_compile_cache_unclaim(n->cache, ret_claim);
        atoll_compile_queue_put(&n->done, job);
    }
    return NULL;
}

/* What others have put meanwhile is done; what they gave up, or take too long for, is queued again. */
static void look_at_waiting(struct nvrtc *n)
{
    struct atoll_compile_queue looked_at = n->waiting;
    double now = atoll_clock_mono_ns();
    if (!n->waiting.first || now - n->looked_ns < LOOK_NS)
        return;
    n->looked_ns = now;
    n->waiting = (struct atoll_compile_queue){0};
    for (struct atoll_compile_job *job; (job = atoll_compile_queue_take(&looked_at));) {
        struct atoll_id key;
        struct atoll_compile_claim claim;
        job_key(n, job, &key);
        int is_free = atoll_compile_cache_claim(n->cache, &key, &claim);
        int is_done = is_free && finish_from_cache(n, job, &key);
        if (is_free)
            atoll_compile_cache_unclaim(n->cache, &claim);
        atoll_compile_queue_put(is_done                                 ? &n->done
                                : is_free || now >= job->waits_until_ns ? &n->queued
                                                                        : &n->waiting,
                                job);
    }
}

/* Gives queued jobs to children: to those that stand ready, then to those that start, then to new ones. */
static void jobs_start(struct nvrtc *n)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int state = ATOLL_COMPILE_CHILD_READY; state >= ATOLL_COMPILE_CHILD_NONE; state--) {
        for (unsigned i = 0; i < n->slot_count && n->queued.first; i++) {
            struct slot *slot = &n->slots[i];
            if (slot->job || (int)slot->child.state != state)
                continue;
            slot->job = job_take(n, &slot->claim);
            if (!slot->job)
                return;
            slot->attempts = 0;
            if (state == ATOLL_COMPILE_CHILD_READY)
                job_send(n, slot);
            else if (state == ATOLL_COMPILE_CHILD_NONE && child_start(n, slot, &err) != 0)
                job_finish(n, slot, ATOLL_COMPILE_BROKEN, err.text, "");
        }
    }
}

/* ---- how a job ends ---- */

/* Names of our folders are nobody's business: headers are called as an #include line calls them. */
static void folders_hide(const struct nvrtc *n, char *text)
{
    for (size_t i = n->toolkit.include_count; i-- > 0;) {
        size_t length = strlen(n->toolkit.includes[i]);
        for (char *at = text; (at = strstr(at, n->toolkit.includes[i]));)
            memmove(at, at + length + (at[length] == '/'), strlen(at + length + (at[length] == '/')) + 1);
    }
}

static void cubin_accept(struct nvrtc *n, struct slot *slot, const void *cubin, size_t length,
                         const char *report)
{
    struct atoll_id key;
    char text[128];
    struct atoll_compiled *result = &slot->job->result;
    if (length > n->output_bytes || length < 4 || memcmp(cubin, "\177ELF", 4) != 0) {
        snprintf(text, sizeof(text), "the compiler made no cubin of at most %llu bytes",
                 (unsigned long long)n->output_bytes);
        job_finish(n, slot, ATOLL_COMPILE_ERROR, text, "");
        return;
    }
    result->object = malloc(length);
    if (!result->object) {
        job_finish(n, slot, ATOLL_COMPILE_BROKEN, "no memory for a cubin", "");
        return;
    }
    memcpy(result->object, cubin, length);
    result->object_length = length;
    job_key(n, slot->job, &key);
    if (n->cache && !atoll_id_is_zero(&key))
        atoll_compile_cache_put(n->cache, &key, cubin, length, report);
    job_finish(n, slot, ATOLL_COMPILE_OK, "", report);
}

/* NVRTC says it under the candidate's name.  What a candidate writes follows other words, or two blanks. */
static int is_out_of_memory(const char *log)
{
    static const char words[] = "): catastrophic error: out of memory";
    for (const char *line = log; *line;) {
        size_t length = strcspn(line, "\n");
        if (line[0] != ' ' && length >= sizeof(words) - 1 &&
            memcmp(line + length - (sizeof(words) - 1), words, sizeof(words) - 1) == 0)
            return 1;
        line += length + (line[length] == '\n');
    }
    return 0;
}

/* ptxas tells in its report what a kernel declares, and NVRTC drops its words on why that cannot be. */
static unsigned long shared_bytes(const char *report)
{
    unsigned long most = 0, bytes;
    for (const char *at = report; (at = strstr(at, " bytes smem")); at++) {
        const char *begin = at;
        while (begin > report && isdigit((unsigned char)begin[-1]))
            begin--;
        bytes = strtoul(begin, NULL, 10);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void say_nothing_said(enum atoll_compile_status status, const char *report,
                             char ret_text[ATOLL_DIAGNOSTICS_BYTES])
{
    unsigned long bytes = shared_bytes(report);
    if (status == ATOLL_COMPILE_MEMORY)
        snprintf(ret_text, ATOLL_DIAGNOSTICS_BYTES, "the compiler ran out of memory");
    else if (bytes > STATIC_SHARED_BYTES)
        snprintf(
            ret_text, ATOLL_DIAGNOSTICS_BYTES,
            "a kernel uses too much shared data (%lu bytes are declared, %lu may be on every device; what is "
            "larger is extern __shared__, with shared_bytes in the plan)",
            bytes, STATIC_SHARED_BYTES);
    else
        snprintf(ret_text, ATOLL_DIAGNOSTICS_BYTES, "the compiler gave up");
}

static void job_conclude(struct nvrtc *n, struct slot *slot, uint32_t result, char *log, const void *cubin,
                         size_t length)
{
    char diagnostics[ATOLL_DIAGNOSTICS_BYTES], report[ATOLL_COMPILE_REPORT_BYTES];
    atoll_compile_report_split(log, report);
    if (result == ATOLL_NVRTC_SUCCESS) {
        cubin_accept(n, slot, cubin, length, report);
        return;
    }
    if (result == ATOLL_COMPILE_WIRE_FORBIDDEN) {
        job_finish(n, slot, ATOLL_COMPILE_FORBIDDEN, log, "");
        return;
    }
    enum atoll_compile_status status = result == ATOLL_NVRTC_ERROR_OUT_OF_MEMORY || is_out_of_memory(log)
                                           ? ATOLL_COMPILE_MEMORY
                                           : atoll_compile_judge(log, slot->job->file_name, ERROR_STATUS);
    folders_hide(n, log);
    if (atoll_diagnostics_trim(log, "", diagnostics) == 0)
        say_nothing_said(status, report, diagnostics);
    job_finish(n, slot, status, diagnostics, report);
}

/* The child died, and its job was under way. */
static void child_died(struct nvrtc *n, struct slot *slot, const struct atoll_compile_child_end *end)
{
    int exited = WIFEXITED(end->wait_status), number = exited ? 0 : WTERMSIG(end->wait_status);
    char text[128];
    if (number == SIGXCPU) {
        job_finish(n, slot, ATOLL_COMPILE_TIMEOUT, "the compiler used up its processor time", "");
        return;
    }
    if ((exited && WEXITSTATUS(end->wait_status) == ATOLL_COMPILE_WIRE_EXIT_MEMORY) ||
        (number != SIGKILL && end->peak_bytes > n->memory_bytes / 3)) {
        job_finish(n, slot, ATOLL_COMPILE_MEMORY, "the compiler ran out of memory", "");
        return;
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    if (++slot->attempts < ATTEMPTS) {
        if (child_start(n, slot, &err) != 0)
            job_finish(n, slot, ATOLL_COMPILE_BROKEN, err.text, "");
        return;
    }
    int crash =
        number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE || number == SIGILL;
    if (crash)
        snprintf(text, sizeof(text), "the compiler crashes on this source (signal %d)", number);
    else
        snprintf(text, sizeof(text), "compile children die (%s %d)", exited ? "exit status" : "signal",
                 exited ? WEXITSTATUS(end->wait_status) : number);
    job_finish(n, slot, crash ? ATOLL_COMPILE_ERROR : ATOLL_COMPILE_BROKEN, text, "");
}

static void child_lost(struct nvrtc *n, struct slot *slot)
{
    struct atoll_compile_child_end end;
    atoll_compile_child_end(&slot->child, &end);
    if (slot->job)
        child_died(n, slot, &end);
}

/* ---- frames ---- */

static void hello_receive(struct nvrtc *n, struct slot *slot, struct atoll_reader *r)
{
    char text[ATOLL_ERR_TEXT_BYTES];
    struct atoll_compile_child_end end;
    uint32_t failed = atoll_reader_u32(r);
    atoll_reader_fixed_text(r, text, sizeof(text));
    if (atoll_reader_finish(r, "hello", NULL) != 0)
        snprintf(text, sizeof(text), "a compile child starts with nonsense");
    else if (!failed) {
        if (slot->job)
            job_send(n, slot);
        return;
    }
    atoll_compile_child_end(&slot->child, &end);
    if (slot->job)
        job_finish(n, slot, ATOLL_COMPILE_BROKEN, text, "");
}

/* -1: nonsense. */
static int reply_receive(struct nvrtc *n, struct slot *slot, struct atoll_reader *r)
{
    size_t log_length = 0, length = 0;
    uint64_t serial = atoll_reader_u64(r);
    uint32_t result = atoll_reader_u32(r), leaves = atoll_reader_u32(r);
    const char *log = atoll_reader_blob(r, &log_length);
    const void *cubin = atoll_reader_blob(r, &length);
    if (atoll_reader_finish(r, "reply", NULL) != 0 || !slot->job || serial != slot->serial ||
        log_length > ATOLL_COMPILE_WIRE_LOG_BYTES)
        return -1;
    char *text = calloc(1, log_length + 1);
    if (!text) {
        job_finish(n, slot, ATOLL_COMPILE_BROKEN, "no memory for a compiler's log", "");
        return 0;
    }
    for (size_t i = 0; i < log_length; i++)
        text[i] = log[i] ? log[i] : ' ';
    job_conclude(n, slot, result, text, cubin, length);
    free(text);
    if (leaves)
        child_lost(n, slot);
    return 0;
}

static int is_over(const struct nvrtc *n, struct slot *slot)
{
    double running = atoll_clock_mono_ns() - slot->since_ns, deadline = slot_deadline_ns(n, slot);
    if (slot->child.state == ATOLL_COMPILE_CHILD_STARTING)
        return running > deadline;
    return atoll_compile_patience_is_late(&slot->patience, running, deadline) &&
           atoll_compile_patience_ends(&slot->patience, running, deadline, child_processor_ns(slot));
}

/* Talks to a slot's child without blocking, and ends it at its deadline. */
static void slot_poll(struct nvrtc *n, struct slot *slot)
{
    struct atoll_reader frame;
    int got = 0;
    while (slot->child.state != ATOLL_COMPILE_CHILD_NONE) {
        int was_starting = slot->child.state == ATOLL_COMPILE_CHILD_STARTING;
        got = atoll_compile_child_poll(&slot->child, &frame);
        if (got == 1 && was_starting)
            hello_receive(n, slot, &frame);
        else if (got == 1 && reply_receive(n, slot, &frame) != 0)
            got = -1;
        if (got < 0)
            child_lost(n, slot);
        if (got != 1)
            break;
    }
    int starting = slot->child.state == ATOLL_COMPILE_CHILD_STARTING;
    if (slot->child.state == ATOLL_COMPILE_CHILD_NONE || (!starting && !slot->job) || !is_over(n, slot))
        return;
    char text[128];
    struct atoll_compile_child_end end;
    if (starting)
        snprintf(text, sizeof(text), "a compile child did not stand ready after %.3g s", START_NS / 1e9);
    else
        atoll_compile_patience_tell(&slot->patience, slot_deadline_ns(n, slot), text, sizeof(text));
    atoll_compile_child_end(&slot->child, &end);
    if (slot->job)
        job_finish(n, slot, starting ? ATOLL_COMPILE_BROKEN : ATOLL_COMPILE_TIMEOUT, text, "");
}

/* ---- the interface ---- */

static void nvrtc_destroy(struct atoll_compiler *compiler)
{
    struct nvrtc *n = (struct nvrtc *)compiler;
    for (unsigned i = 0; i < n->slot_count; i++) {
        atoll_compile_child_fini(&n->slots[i].child);
        atoll_compile_job_destroy(n->slots[i].job);
        if (n->cache)
            atoll_compile_cache_unclaim(n->cache, &n->slots[i].claim);
    }
    atoll_compile_queue_fini(&n->queued);
    atoll_compile_queue_fini(&n->waiting);
    atoll_compile_queue_fini(&n->done);
    atoll_compile_options_fini(&n->options);
    for (size_t i = 0; i < sizeof(n->environment) / sizeof(n->environment[0]); i++)
        free(n->environment[i]);
    atoll_filter_fini(&n->filter);
    atoll_compile_cache_destroy(n->cache);
    atoll_toolkit_fini(&n->toolkit);
    free(n->slots);
    free(n->version);
    free(n);
}

static const char *nvrtc_version(const struct atoll_compiler *compiler)
{
    return ((const struct nvrtc *)compiler)->version;
}

/* 1: the job is done without a child. */
static int finish_at_once(struct nvrtc *n, struct atoll_compile_job *job)
{
    struct atoll_id key;
    if (memchr(job->text, 0, job->length)) {
        atoll_compile_job_finish(job, ATOLL_COMPILE_ERROR, "the source has a NUL byte", "", 0);
        return 1;
    }
    job_key(n, job, &key);
    return n->cache && !atoll_id_is_zero(&key) && finish_from_cache(n, job, &key);
}

static int nvrtc_submit(struct atoll_compiler *compiler, uint64_t number, const char *file_name,
                        const char *text, size_t length, const char *const *defines, size_t define_count,
                        struct atoll_err *err)
{
    struct nvrtc *n = (struct nvrtc *)compiler;
    if (define_count > ATOLL_COMPILE_WIRE_OPTION_LIMIT - ATOLL_COMPILE_OPTION_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%zu defines; %d are possible", define_count,
                             ATOLL_COMPILE_WIRE_OPTION_LIMIT - ATOLL_COMPILE_OPTION_LIMIT);
    struct atoll_compile_job *job =
        atoll_compile_job_create(number, file_name, ".cu", text, length, defines, define_count, err);
    if (!job)
        return -1;
    atoll_compile_queue_put(finish_at_once(n, job) ? &n->done : &n->queued, job);
    jobs_start(n);
    for (unsigned i = 0; i < n->slot_count; i++) /* what was queued for a ready child goes out now */
        slot_poll(n, &n->slots[i]);
    return 0;
}

static size_t nvrtc_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit)
{
    const struct nvrtc *n = (const struct nvrtc *)compiler;
    size_t count = 0;
    for (unsigned i = 0; i < n->slot_count && count < limit; i++) {
        const struct slot *slot = &n->slots[i];
        if (slot->child.state != ATOLL_COMPILE_CHILD_NONE)
            ret_fds[count++] = (struct pollfd){slot->child.fd, atoll_compile_child_events(&slot->child), 0};
    }
    return count;
}

static int nvrtc_timeout_ms(const struct atoll_compiler *compiler)
{
    const struct nvrtc *n = (const struct nvrtc *)compiler;
    double now = atoll_clock_mono_ns(), least = n->waiting.first ? LOOK_NS : -1;
    if (n->done.first)
        return 0;
    for (unsigned i = 0; i < n->slot_count; i++) {
        const struct slot *slot = &n->slots[i];
        int starting = slot->child.state == ATOLL_COMPILE_CHILD_STARTING;
        if (!starting && !slot->job)
            continue;
        double left =
            atoll_compile_patience_left_ns(&slot->patience, now - slot->since_ns, slot_deadline_ns(n, slot));
        least = least < 0 || left < least ? left : least;
    }
    if (least < 0)
        return -1;
    return least / 1e6 < INT_MAX - 1 ? (int)(least / 1e6) + 1 : INT_MAX;
}

static int nvrtc_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled)
{
    struct nvrtc *n = (struct nvrtc *)compiler;
    for (unsigned i = 0; i < n->slot_count; i++)
        slot_poll(n, &n->slots[i]);
    look_at_waiting(n);
    jobs_start(n);
    return atoll_compile_queue_collect(&n->done, ret_compiled);
}

static unsigned nvrtc_idle_count(struct atoll_compiler *compiler)
{
    const struct nvrtc *n = (const struct nvrtc *)compiler;
    unsigned count = 0;
    for (unsigned i = 0; i < n->slot_count && !n->queued.first; i++)
        count += !n->slots[i].job;
    return count;
}

static void nvrtc_pause(struct atoll_compiler *compiler)
{
    (void)compiler; /* on purpose: see the top */
}

static const struct atoll_compiler_kind nvrtc_kind = {nvrtc_destroy,    nvrtc_version,    nvrtc_submit,
                                                      nvrtc_pollfds,    nvrtc_timeout_ms, nvrtc_collect,
                                                      nvrtc_idle_count, nvrtc_pause,      nvrtc_pause};

/* ---- create ---- */

/* What every job shares, for the cache: options, version, library, and the state of the header folders. */
static void identity_set(struct nvrtc *n)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, (size_t)1 << 20);
    atoll_buffer_put_text(&b, "PTX is judged, 2"); /* raised when a rule over PTX is added */
    atoll_buffer_put_text(&b, n->toolkit.version);
    atoll_buffer_put_text(&b, n->toolkit.nvrtc);
    for (size_t i = 0; i < n->options.count; i++)
        atoll_buffer_put_text(&b, n->options.texts[i]);
    for (size_t i = 0; i < n->toolkit.include_count; i++) {
        struct stat st = {0};
        stat(n->toolkit.includes[i], &st);
        atoll_buffer_put_u64(&b, (uint64_t)st.st_ino);
        atoll_buffer_put_i64(&b, (int64_t)st.st_mtim.tv_sec);
        atoll_buffer_put_i64(&b, (int64_t)st.st_mtim.tv_nsec);
    }
    n->identity = atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
}

static int nvrtc_set_up(struct nvrtc *n, const struct atoll_nvrtc_settings *settings, struct atoll_err *err)
{
    const struct atoll_compiler_settings *s = &settings->compiler;
    if (atoll_toolkit_init(&n->toolkit, settings->program, settings->include_path, err) != 0 ||
        atoll_compile_options_init(&n->options, s, &n->toolkit, err) != 0)
        return -1;
    const char *libraries = getenv("LD_LIBRARY_PATH");
    size_t count = 0;
    if (!(n->environment[count++] = strdup("LC_ALL=C")) ||
        asprintf(&n->environment[count++], "ATOLL_NVRTC=%s", n->toolkit.nvrtc) < 0 ||
        (libraries && asprintf(&n->environment[count++], "LD_LIBRARY_PATH=%s", libraries) < 0)) {
        n->environment[count - 1] = NULL;
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the environment of compile children");
    }
    if (atoll_filter_init(&n->filter, ATOLL_FILTER_COMPILE, err) != 0)
        return -1;
    if (asprintf(&n->version, "nvrtc %s %s%s%s", n->toolkit.version, n->target,
                 s->flags && s->flags[0] ? " " : "", s->flags ? s->flags : "") < 0) {
        n->version = NULL;
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler's version");
    }
    n->limits[0] = (struct atoll_limit){RLIMIT_AS, s->memory_bytes};
    n->limits[1] = (struct atoll_limit){RLIMIT_FSIZE, FILE_BYTES};
    n->limits[2] = (struct atoll_limit){RLIMIT_CORE, 0};
    n->limits[3] = (struct atoll_limit){RLIMIT_NOFILE, 256};
    snprintf(n->bytes, sizeof(n->bytes), "%llu", (unsigned long long)s->output_bytes);
    identity_set(n);
    struct atoll_err why = ATOLL_ERR_INIT;
    if (settings->cache && !settings->cache[0])
        return 0;
    n->cache = atoll_compile_cache_create(settings->cache, ATOLL_COMPILE_CACHE_BYTES, &why);
    if (!n->cache)
        atoll_log(ATOLL_LOG_WARNING, "eval.compile.cache", "%s; kernels are compiled every time", why.text);
    return 0;
}

/* The first child, before there are jobs: is there an NVRTC that compiles for this target? */
static int compiler_probe(struct nvrtc *n, struct atoll_err *err)
{
    static const char text[] = "extern \"C\" __global__ void probe(float *x) { x[threadIdx.x] *= 2; }\n";
    struct atoll_compiled result;
    struct atoll_compile_cache *cache = n->cache;
    n->cache = NULL; /* the answer must be today's */
    int failed = atoll_compiler_run(&n->base, "probe.cu", text, sizeof(text) - 1, NULL, 0, &result, err);
    n->cache = cache;
    if (failed)
        return -1;
    failed = result.status != ATOLL_COMPILE_OK;
    if (failed)
        atoll_err_set(err, ATOLL_E_MISSING,
                      "NVRTC %s does not compile for %s: %.600s (check the compiler flags)",
                      n->toolkit.version, n->target, result.diagnostics);
    atoll_compiled_fini(&result);
    return failed ? -1 : 0;
}

static struct nvrtc *nvrtc_allocate(const struct atoll_compiler_settings *s)
{
    struct nvrtc *n = calloc(1, sizeof(*n));
    if (!n || !(n->slots = calloc(s->slots, sizeof(n->slots[0])))) {
        free(n);
        return NULL;
    }
    n->base.kind = &nvrtc_kind;
    n->deadline_ns = s->deadline_ns;
    n->memory_bytes = s->memory_bytes;
    n->output_bytes = s->output_bytes;
    n->slot_count = s->slots;
    snprintf(n->target, sizeof(n->target), "%s", s->target);
    for (unsigned i = 0; i < n->slot_count; i++) {
        atoll_compile_child_init(&n->slots[i].child,
                                 (size_t)s->output_bytes + 2 * ATOLL_COMPILE_WIRE_LOG_BYTES);
        n->slots[i].claim.fd = -1;
    }
    return n;
}

static int settings_check(const struct atoll_compiler_settings *s, struct atoll_err *err)
{
    if (s->slots < 1 || s->slots > SLOT_LIMIT || !(s->deadline_ns > 0))
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "%u compile slots, deadline %.3g s: 1 to %d slots and a deadline above 0 are possible", s->slots,
            s->deadline_ns / 1e9, SLOT_LIMIT);
    const char *target = s->target ? s->target : "";
    size_t digits = strncmp(target, "sm_", 3) == 0 ? strspn(target + 3, "0123456789") : 0;
    const char *tail = target + 3 + digits;
    if (digits < 2 || digits > 3 ||
        !(tail[0] == '\0' || ((tail[0] == 'a' || tail[0] == 'f') && tail[1] == '\0')))
        return atoll_err_set(err, ATOLL_E_INPUT, "\"%.32s\" is no target of NVRTC; \"sm_90a\" is one",
                             target);
    return 0;
}

static struct atoll_compiler *nvrtc_create(const struct atoll_nvrtc_settings *settings, struct atoll_err *err)
{
    struct nvrtc *n = nvrtc_allocate(&settings->compiler);
    if (!n) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler");
        return NULL;
    }
    if (nvrtc_set_up(n, settings, err) != 0 || compiler_probe(n, err) != 0) {
        atoll_compiler_destroy(&n->base);
        return NULL;
    }
    return &n->base;
}

struct atoll_compiler *atoll_nvrtc_create(const struct atoll_nvrtc_settings *settings, struct atoll_err *err)
{
    const char *command = settings->compiler.command ? settings->compiler.command : "nvrtc";
    struct atoll_err why = ATOLL_ERR_INIT;
    if (settings_check(&settings->compiler, err) != 0)
        return NULL;
    int wants_nvrtc = strcmp(command, "nvrtc") == 0;
    struct atoll_compiler *compiler = wants_nvrtc ? nvrtc_create(settings, &why) : NULL;
    if (compiler)
        return compiler;
    char *nvcc = atoll_toolkit_find_program(wants_nvrtc ? "nvcc" : command);
    if (wants_nvrtc && (why.code != ATOLL_E_MISSING || !nvcc)) {
        atoll_err_set(err, why.code, "%s", why.text);
    } else if (!nvcc) {
        atoll_err_set(err, ATOLL_E_MISSING, "no compiler \"%.200s\" here; \"nvrtc\" and \"nvcc\" are known",
                      command);
    } else {
        if (wants_nvrtc)
            atoll_log(ATOLL_LOG_WARNING, "eval.compile.nvcc", "%s; %s is used, which takes far longer",
                      why.text, nvcc);
        struct atoll_toolkit t = {0};
        compiler = NULL;
        if (atoll_toolkit_add_folders(&t, settings->include_path, err) == 0)
            compiler = atoll_nvcc_create(nvcc, &settings->compiler, t.includes, t.include_count, err);
        atoll_toolkit_fini(&t);
    }
    free(nvcc);
    return compiler;
}

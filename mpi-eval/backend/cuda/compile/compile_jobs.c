/* A child that dies takes no job with it: the job goes to a fresh one, once. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "mpi-eval/backend/cpu/compile/compile_judge.h"
#include "mpi-eval/backend/cpu/compile/diagnostics.h"
#include "mpi-eval/backend/cuda/compile/compile_report.h"
#include "mpi-eval/backend/cuda/compile/compile_state.h"
#include "mpi-eval/backend/cuda/compile/compile_wire.h"
#include "mpi-eval/backend/cuda/compile/nvrtc.h"
#include "base/clock.h"

#define ATTEMPTS     2 /* of a job whose child dies */
#define KEY_BYTES    ((size_t)20 << 20)
#define ERROR_STATUS (1 << 8) /* of wait(2): exit status 1 */

/* ---- children ---- */

static int start_child(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot, struct atoll_err *err)
{
    static char serve[] = "serve";
    char *argv[6 + ATOLL_TOOLKIT_FOLDER_LIMIT + 1] = {n->toolkit.program, serve,    n->target,
                                                      n->seconds,         n->bytes, n->toolkit.library};
    for (size_t i = 0; i < n->toolkit.include_count; i++)
        argv[6 + i] = n->toolkit.includes[i];
    struct atoll_spawn spawn = {
        .path = n->toolkit.program,
        .argv = argv,
        .environment = n->environment,
        .folder = n->toolkit.library, /* names without a folder are looked for there */
        .limits = n->limits,
        .limit_count = sizeof n->limits / sizeof n->limits[0],
        .ruleset = -1, /* the child confines itself before it reads a request */
        .filter = &n->filter,
        .drop_privileges = 1,
    };
    slot->since_ns = atoll_clock_mono_ns();
    return atoll_compile_child_start(&slot->child, &spawn, err);
}

static void put_request(const struct atoll_nvrtc *n, const struct atoll_nvrtc_slot *slot,
                        struct atoll_buffer *b)
{
    const struct atoll_compile_job *job = slot->job;
    atoll_buffer_put_u64(b, slot->serial);
    atoll_buffer_put_text(b, job->file_name);
    atoll_buffer_put_blob(b, job->text, job->length + 1);
    atoll_buffer_put_u32(b, (uint32_t)(n->options.count + job->define_count));
    for (size_t i = 0; i < n->options.count; i++)
        atoll_buffer_put_text(b, n->options.texts[i]);
    for (size_t i = 0; i < job->define_count; i++)
        atoll_buffer_put_text(b, job->defines[i]);
}

static void finish(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot, enum atoll_compile_status status,
                   const char *diagnostics, const char *report)
{
    atoll_compile_job_finish(slot->job, status, diagnostics, report, atoll_clock_mono_ns() - slot->since_ns);
    atoll_compile_queue_put(&n->done, slot->job);
    slot->job = NULL;
}

/* The child stands ready: its clock starts. */
static void send_job(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot)
{
    struct atoll_buffer request;
    atoll_buffer_init(&request, ATOLL_COMPILE_WIRE_REQUEST_BYTES);
    slot->serial = ++n->serial;
    slot->since_ns = atoll_clock_mono_ns();
    put_request(n, slot, &request);
    if (atoll_compile_child_send(&slot->child, &request) != 0)
        finish(n, slot, ATOLL_COMPILE_BROKEN, "no memory for a compile request", "");
    atoll_buffer_fini(&request);
}

void atoll_nvrtc_start_jobs(struct atoll_nvrtc *n)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int state = ATOLL_COMPILE_CHILD_READY; state >= ATOLL_COMPILE_CHILD_NONE; state--) {
        for (unsigned i = 0; i < n->slot_count && n->queued.first; i++) {
            struct atoll_nvrtc_slot *slot = &n->slots[i];
            if (slot->job || (int)slot->child.state != state)
                continue;
            slot->job = atoll_compile_queue_take(&n->queued);
            slot->attempts = 0;
            if (state == ATOLL_COMPILE_CHILD_READY)
                send_job(n, slot);
            else if (state == ATOLL_COMPILE_CHILD_NONE && start_child(n, slot, &err) != 0)
                finish(n, slot, ATOLL_COMPILE_BROKEN, err.text, "");
        }
    }
}

/* ---- how a job ends ---- */

void atoll_nvrtc_key(const struct atoll_nvrtc *n, const struct atoll_compile_job *job,
                     struct atoll_id *ret_key)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, KEY_BYTES);
    atoll_buffer_put_bytes(&b, n->identity.bytes, ATOLL_ID_BYTES);
    atoll_buffer_put_text(&b, job->file_name);
    atoll_buffer_put_blob(&b, job->text, job->length);
    for (size_t i = 0; i < job->define_count; i++)
        atoll_buffer_put_text(&b, job->defines[i]);
    memset(ret_key, 0, sizeof *ret_key);
    if (!b.failed)
        *ret_key = atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
}

/* Names of our folders are nobody's business: headers are called as an #include line calls them. */
static void hide_folders(const struct atoll_nvrtc *n, char *text)
{
    for (size_t i = n->toolkit.include_count; i-- > 0;) {
        size_t length = strlen(n->toolkit.includes[i]);
        for (char *at = text; (at = strstr(at, n->toolkit.includes[i]));)
            memmove(at, at + length + (at[length] == '/'), strlen(at + length + (at[length] == '/')) + 1);
    }
}

static void take_cubin(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot, const void *cubin, size_t length,
                       const char *report)
{
    struct atoll_id key;
    char text[128];
    struct atoll_compiled *result = &slot->job->result;
    if (length > n->output_bytes || length < 4 || memcmp(cubin, "\177ELF", 4) != 0) {
        snprintf(text, sizeof text, "the compiler made no cubin of at most %llu bytes",
                 (unsigned long long)n->output_bytes);
        finish(n, slot, ATOLL_COMPILE_ERROR, text, "");
        return;
    }
    result->object = malloc(length);
    if (!result->object) {
        finish(n, slot, ATOLL_COMPILE_BROKEN, "no memory for a cubin", "");
        return;
    }
    memcpy(result->object, cubin, length);
    result->object_length = length;
    atoll_nvrtc_key(n, slot->job, &key);
    if (n->cache && !atoll_id_is_zero(&key))
        atoll_compile_cache_put(n->cache, &key, cubin, length, report);
    finish(n, slot, ATOLL_COMPILE_OK, "", report);
}

/* NVRTC says it under the candidate's name.  What a candidate writes follows other words, or two blanks. */
static int says_no_memory(const char *log)
{
    static const char words[] = "): catastrophic error: out of memory";
    for (const char *line = log; *line;) {
        size_t length = strcspn(line, "\n");
        if (line[0] != ' ' && length >= sizeof words - 1 &&
            memcmp(line + length - (sizeof words - 1), words, sizeof words - 1) == 0)
            return 1;
        line += length + (line[length] == '\n');
    }
    return 0;
}

static void conclude(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot, uint32_t result, char *log,
                     const void *cubin, size_t length)
{
    char diagnostics[ATOLL_DIAGNOSTICS_BYTES], report[ATOLL_COMPILE_REPORT_BYTES];
    atoll_compile_report_split(log, report);
    if (result == ATOLL_NVRTC_SUCCESS) {
        take_cubin(n, slot, cubin, length, report);
        return;
    }
    enum atoll_compile_status status = result == ATOLL_NVRTC_ERROR_OUT_OF_MEMORY || says_no_memory(log)
                                           ? ATOLL_COMPILE_MEMORY
                                           : atoll_compile_judge(log, slot->job->file_name, ERROR_STATUS);
    hide_folders(n, log);
    if (atoll_diagnostics_trim(log, "", diagnostics) == 0)
        snprintf(diagnostics, sizeof diagnostics, "%s",
                 status == ATOLL_COMPILE_MEMORY ? "the compiler ran out of memory" : "the compiler gave up");
    finish(n, slot, status, diagnostics, report);
}

/* The child died, and its job was under way. */
static void bury(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot,
                 const struct atoll_compile_child_end *end)
{
    int exited = WIFEXITED(end->wait_status), number = exited ? 0 : WTERMSIG(end->wait_status);
    char text[128];
    if (number == SIGXCPU) {
        finish(n, slot, ATOLL_COMPILE_TIMEOUT, "the compiler used up its processor time", "");
        return;
    }
    if ((exited && WEXITSTATUS(end->wait_status) == ATOLL_COMPILE_WIRE_EXIT_MEMORY) ||
        (number != SIGKILL && end->peak_bytes > n->memory_bytes / 3)) {
        finish(n, slot, ATOLL_COMPILE_MEMORY, "the compiler ran out of memory", "");
        return;
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    if (++slot->attempts < ATTEMPTS) {
        if (start_child(n, slot, &err) != 0)
            finish(n, slot, ATOLL_COMPILE_BROKEN, err.text, "");
        return;
    }
    int crash =
        number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE || number == SIGILL;
    if (crash)
        snprintf(text, sizeof text, "the compiler crashes on this source (signal %d)", number);
    else
        snprintf(text, sizeof text, "compile children die (%s %d)", exited ? "exit status" : "signal",
                 exited ? WEXITSTATUS(end->wait_status) : number);
    finish(n, slot, crash ? ATOLL_COMPILE_ERROR : ATOLL_COMPILE_BROKEN, text, "");
}

static void lose_child(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot)
{
    struct atoll_compile_child_end end;
    atoll_compile_child_end(&slot->child, &end);
    if (slot->job)
        bury(n, slot, &end);
}

/* ---- frames ---- */

static void take_hello(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot, struct atoll_reader *r)
{
    char text[ATOLL_ERR_TEXT_BYTES];
    struct atoll_compile_child_end end;
    uint32_t failed = atoll_reader_u32(r);
    atoll_reader_fixed_text(r, text, sizeof text);
    if (atoll_reader_finish(r, "hello", NULL) != 0)
        snprintf(text, sizeof text, "a compile child starts with nonsense");
    else if (!failed) {
        if (slot->job)
            send_job(n, slot);
        return;
    }
    atoll_compile_child_end(&slot->child, &end);
    if (slot->job)
        finish(n, slot, ATOLL_COMPILE_BROKEN, text, "");
}

/* -1: nonsense. */
static int take_reply(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot, struct atoll_reader *r)
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
        finish(n, slot, ATOLL_COMPILE_BROKEN, "no memory for a compiler's log", "");
        return 0;
    }
    for (size_t i = 0; i < log_length; i++)
        text[i] = log[i] ? log[i] : ' ';
    conclude(n, slot, result, text, cubin, length);
    free(text);
    if (leaves)
        lose_child(n, slot);
    return 0;
}

void atoll_nvrtc_tend(struct atoll_nvrtc *n, struct atoll_nvrtc_slot *slot)
{
    struct atoll_reader frame;
    int got = 0;
    while (slot->child.state != ATOLL_COMPILE_CHILD_NONE) {
        int was_starting = slot->child.state == ATOLL_COMPILE_CHILD_STARTING;
        got = atoll_compile_child_pump(&slot->child, &frame);
        if (got == 1 && was_starting)
            take_hello(n, slot, &frame);
        else if (got == 1 && take_reply(n, slot, &frame) != 0)
            got = -1;
        if (got < 0)
            lose_child(n, slot);
        if (got != 1)
            break;
    }
    int starting = slot->child.state == ATOLL_COMPILE_CHILD_STARTING;
    if (slot->child.state == ATOLL_COMPILE_CHILD_NONE || (!starting && !slot->job) ||
        atoll_clock_mono_ns() - slot->since_ns <= (starting ? ATOLL_NVRTC_START_NS : n->deadline_ns))
        return;
    char text[96];
    struct atoll_compile_child_end end;
    snprintf(text, sizeof text, "%s after %.3g s",
             starting ? "a compile child did not stand ready" : "the compiler was not done",
             (starting ? ATOLL_NVRTC_START_NS : n->deadline_ns) / 1e9);
    atoll_compile_child_end(&slot->child, &end);
    if (slot->job)
        finish(n, slot, starting ? ATOLL_COMPILE_BROKEN : ATOLL_COMPILE_TIMEOUT, text, "");
}

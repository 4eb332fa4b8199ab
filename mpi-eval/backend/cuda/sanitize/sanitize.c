/* A run: the device process is started by the tool; inputs are written by the host and nothing else is, so that a read of
 * what nobody wrote is seen; the launches are those of a sample; the process ends in order, and the tool writes its report.
 * What comes out is not looked at: samples do that.
 *
 * Under memcheck every buffer is an allocation of its own, so that its bounds are seen; a kernel can tell that by its
 * addresses.  Under the other tools the buffers lie in one arena as those of a sample, under a key that is as secret: a
 * kernel that keeps to its bounds wherever it is not in a sample reads guard zones there, which nobody wrote. */
#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/task/init.h"
#include "mpi-eval/backend/sandbox/scratch.h"
#include "mpi-eval/backend/cuda/measure/launch.h"
#include "mpi-eval/backend/backends.h"

#define SERIES       ((uint64_t)1 << 62)  /* input sets of their own */
#define BYTES_LIMIT  ((uint64_t)64 << 20) /* of a variant: accesses take a hundred times as long */
#define WRITE_BYTES  ((size_t)32 << 20)   /* of one batch */
#define REPORT_BYTES ((size_t)256 << 10)
#define NOTES_BYTES  1024
#define PLACES       2 /* that an arena has room for, as a sample's has at least */

/* One tool's run. */
struct run {
    const struct atoll_prepared *prepared;
    const struct atoll_loaded_candidate *candidate;
    const struct atoll_variant *variant;
    struct atoll_input_set input_set;
    struct atoll_layout layout; /* under memcheck: buffers alone */
    uint64_t placement;         /* of the arena; 0 under memcheck: there is none */
    struct atoll_cuda_worker *worker;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    double until_ns;
    struct atoll_sanitizer_report *report;
};

/* -1: the run ends here, and says so unless the tool has more to say. */
static int give_up(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int give_up(struct run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->report->text, sizeof(r->report->text), format, args);
    va_end(args);
    return -1;
}

static void append(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t bytes, const char *format, ...)
{
    size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, bytes - n, format, args);
    va_end(args);
}

static int batch_run(struct run *r)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    double left = r->until_ns - atoll_referee_now_ns();
    int rc = atoll_cuda_worker_run(r->worker, &r->batch, left > 0 ? left : 0, &r->reply, &err);
    atoll_command_batch_clear(&r->batch);
    if (rc != 0)
        return give_up(r, "%.400s", err.text);
    if (r->reply.status == ATOLL_COMMAND_BATCH_TIMEOUT)
        return give_up(r, "not finished in time");
    return r->reply.status == ATOLL_COMMAND_BATCH_DONE ? 0 : give_up(r, "%s", r->reply.text);
}

/* ---- what the launches work on ---- */

static int module_load(struct run *r)
{
    atoll_command_batch_module_load(&r->batch, 0, r->candidate->object, r->candidate->object_length);
    char name[128];
    for (uint32_t k = 0; k < atoll_cuda_function_count(r->prepared); k++)
        atoll_command_batch_function(&r->batch, k, 0,
                                     atoll_cuda_function_name(r->prepared, k, name, sizeof(name)));
    return batch_run(r);
}

static int arena_allocate(struct run *r)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT];
    size_t count = r->layout.count;
    for (size_t i = 0; i < count; i++)
        bytes[i] = r->layout.buffers[i].bytes;
    struct atoll_span arena = {.bytes = atoll_layout_need(bytes, count, PLACES)};
    atoll_command_batch_alloc(&r->batch, 0, arena.bytes);
    if (batch_run(r) != 0)
        return -1;
    arena.address = atoll_command_batch_take_u64(&r->reply);
    if (atoll_reader_finish(&r->reply.reader, "addresses", &err) != 0 ||
        atoll_layout_make(&arena, bytes, count, r->placement++, -1, &r->layout, &err) != 0)
        return give_up(r, "%.400s", err.text);
    return 0;
}

/* What an earlier variant had in a slot is freed. */
static int buffers_allocate(struct run *r)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (r->placement)
        return arena_allocate(r);
    for (uint32_t i = 0; i < r->layout.count; i++)
        atoll_command_batch_alloc(&r->batch, i, r->layout.buffers[i].bytes);
    if (batch_run(r) != 0)
        return -1;
    for (size_t i = 0; i < r->layout.count; i++)
        r->layout.buffers[i].address = atoll_command_batch_take_u64(&r->reply);
    return atoll_reader_finish(&r->reply.reader, "addresses", &err) == 0 ? 0 : give_up(r, "%s", err.text);
}

static int input_write(struct run *r, size_t tensor)
{
    const struct atoll_task *task = r->prepared->task;
    size_t length = (size_t)r->layout.buffers[tensor].bytes;
    struct atoll_err err = ATOLL_ERR_INIT;
    unsigned char *bytes = malloc(length ? length : 1);
    if (!bytes)
        return give_up(r, "no memory for an input");
    int rc = atoll_init_fill(task, tensor, r->variant, r->input_set.seed, r->input_set.distribution, 0,
                             length / atoll_dtype_bytes(task->tensors[tensor].dtype), bytes, &err);
    if (rc != 0)
        give_up(r, "%.400s", err.text);
    for (size_t at = 0; rc == 0 && at < length; at += WRITE_BYTES) {
        size_t n = length - at < WRITE_BYTES ? length - at : WRITE_BYTES;
        atoll_command_batch_write(&r->batch, r->layout.buffers[tensor].address + at, bytes + at, n);
        rc = batch_run(r);
    }
    free(bytes);
    return rc;
}

static int launches_run(struct run *r)
{
    struct atoll_device_command_launch launch;
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_plan *plan = r->prepared->plan;
    size_t path = 0;
    if (atoll_plan_path_at(r->prepared->task, plan, r->variant, &path, &err) != 0)
        return give_up(r, "%.400s", err.text);
    for (size_t k = plan->paths[path].first; k < plan->paths[path].first + plan->paths[path].count; k++) {
        if (atoll_cuda_launch_make(r->prepared, r->variant, k, &r->layout, &launch, &err) != 0)
            return give_up(r, "%.400s", err.text);
        atoll_command_batch_launch(&r->batch, &launch);
    }
    return batch_run(r);
}

/* Sizes of all buffers; 0 where they are too many bytes to be watched. */
static int is_small(struct run *r)
{
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT], total = 0;
    if (atoll_cuda_buffer_bytes(r->prepared, r->variant, bytes, &r->layout.count, NULL) != 0)
        return 0;
    for (size_t i = 0; i < r->layout.count; i++) {
        r->layout.buffers[i].bytes = bytes[i];
        total += bytes[i];
    }
    return total <= BYTES_LIMIT;
}

static int variant_run(struct run *r, struct atoll_referee *referee, const struct atoll_variant *variant,
                       uint32_t place, uint64_t number, int *count)
{
    const struct atoll_task *task = r->prepared->task;
    r->variant = variant;
    if (variant->kind != ATOLL_VARIANT_CHECK || !atoll_variant_is_here(&atoll_backend_cuda, variant) ||
        !is_small(r))
        return 0;
    r->input_set = atoll_input_set_make(referee->setup.secret, task, place, SERIES, number);
    (*count)++;
    int rc = buffers_allocate(r);
    for (size_t k = 0; k < task->tensor_count && rc == 0; k++)
        if (task->tensors[k].role != ATOLL_ROLE_OUT)
            rc = input_write(r, k);
    return rc == 0 ? launches_run(r) : rc;
}

/* The task's, and those that the paths of the plan need. */
static int variants_run(struct run *r, struct atoll_referee *referee, uint64_t number)
{
    const struct atoll_task *task = r->prepared->task;
    const struct atoll_plan_cover *cover = &r->prepared->cover;
    int rc = 0, count = 0;
    for (uint32_t i = 0; i < task->variant_count && rc == 0; i++)
        rc = variant_run(r, referee, &task->variants[i], i, number, &count);
    for (uint32_t i = 0; i < cover->count && rc == 0; i++)
        rc = variant_run(r, referee, &cover->variants[i], ATOLL_TASK_VARIANT_LIMIT + i, number, &count);
    return rc || count
               ? rc
               : give_up(r, "no check variant has at most %llu bytes", (unsigned long long)BYTES_LIMIT);
}

/* ---- the process and its report ---- */

static size_t file_read(const char *path, char *ret_bytes, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t n = 1;
    while (fd >= 0 && n > 0 && length < bytes) {
        n = read(fd, ret_bytes + length, bytes - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    return length;
}

static void run_in(struct run *r, struct atoll_referee *referee, const char *path,
                   enum atoll_sanitizer_tool tool, const char *scratch)
{
    const char *watcher[ATOLL_SANITIZER_ARGUMENT_LIMIT];
    char report[4096];
    snprintf(report, sizeof(report), "%s/report", scratch);
    atoll_sanitizer_arguments(path, tool, report, watcher);
    struct atoll_cuda_device *device = atoll_cuda_device_of(referee);
    struct atoll_cuda_worker_settings settings;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_cuda_device_settings(device, &settings);
    settings.watcher = watcher;
    settings.scratch = scratch;
    settings.start_limit_ns = r->until_ns - atoll_referee_now_ns();
    r->worker = atoll_cuda_worker_create(&settings, &err);
    int rc = r->worker ? 0 : give_up(r, "%.400s", err.text);
    if (rc == 0)
        rc = module_load(r) != 0 || variants_run(r, referee, tool) != 0;
    if (r->worker && atoll_cuda_worker_end(r->worker, r->until_ns - atoll_referee_now_ns()) != 0 && rc == 0)
        rc = give_up(r, "not finished in time");
    atoll_cuda_worker_destroy(r->worker);
    /* A finding counts however the run ended; that there is none, only of a run that came to its end. */
    struct atoll_sanitizer_report said;
    char *bytes = malloc(REPORT_BYTES);
    size_t length = bytes ? file_read(report, bytes, REPORT_BYTES) : 0;
    atoll_sanitizer_report_read(bytes ? bytes : "", length, &said);
    if (said.state == ATOLL_SANITIZER_FOUND || rc == 0)
        *r->report = said;
    else if (said.text[0])
        append(r->report->text, sizeof(r->report->text), "; it says: %s", said.text);
    if (r->report->state == ATOLL_SANITIZER_UNFINISHED && !r->report->text[0])
        give_up(r, "its report has no end");
    free(bytes);
}

void atoll_cuda_sanitize_with(struct atoll_referee *referee, const struct atoll_loaded_candidate *candidate,
                              const char *path, enum atoll_sanitizer_tool tool, double limit_ns,
                              struct atoll_sanitizer_report *ret_report)
{
    struct run r = {.prepared = candidate->prepared,
                    .candidate = candidate,
                    .until_ns = atoll_referee_now_ns() + limit_ns,
                    .report = ret_report};
    struct atoll_err err = ATOLL_ERR_INIT;
    if (tool != ATOLL_SANITIZER_MEMCHECK)
        r.placement = atoll_placement_at(atoll_referee_placement(referee), tool + 1);
    *ret_report = (struct atoll_sanitizer_report){.state = ATOLL_SANITIZER_UNFINISHED};
    struct atoll_scratch *scratch = atoll_scratch_create(&err);
    atoll_command_batch_init(&r.batch);
    atoll_command_batch_reply_init(&r.reply);
    if (scratch)
        run_in(&r, referee, path, tool, atoll_scratch_path(scratch));
    else
        give_up(&r, "%.400s", err.text);
    atoll_command_batch_fini(&r.batch);
    atoll_command_batch_reply_fini(&r.reply);
    atoll_scratch_destroy(scratch);
}

/* ---- all tools ---- */

/* What the tools said so far. */
struct words {
    char clean[64], notes[NOTES_BYTES];
};

static enum atoll_verdict tools_run(struct atoll_referee *referee,
                                    const struct atoll_loaded_candidate *candidate, const char *path,
                                    char *ret_detail)
{
    double until = atoll_referee_now_ns() + referee->setup.sanitize_deadline_ns;
    struct words words = {"", ""};
    atoll_cuda_device_drop_all(atoll_cuda_device_of(referee));
    for (unsigned tool = 0; tool < ATOLL_SANITIZER_TOOL_COUNT; tool++) {
        const char *name = atoll_sanitizer_name(tool);
        struct atoll_sanitizer_report report;
        if (atomic_load(&referee->cancelled)) {
            snprintf(ret_detail, ATOLL_DETAIL_BYTES, "cancelled");
            return ATOLL_V_INFRASTRUCTURE;
        }
        /* a tool that hangs leaves the others their share */
        double share = (until - atoll_referee_now_ns()) / (ATOLL_SANITIZER_TOOL_COUNT - tool);
        atoll_cuda_sanitize_with(referee, candidate, path, tool, share, &report);
        if (report.state == ATOLL_SANITIZER_FOUND &&
            atoll_sanitizer_is_believed(tool, candidate->prepared->plan, candidate->prepared->body)) {
            snprintf(ret_detail, ATOLL_DETAIL_BYTES, "compute-sanitizer %s: %s", name, report.text);
            if (report.errors)
                append(ret_detail, ATOLL_DETAIL_BYTES, " (errors: %llu)", (unsigned long long)report.errors);
            return ATOLL_V_WRONG;
        }
        if (report.state == ATOLL_SANITIZER_CLEAN) {
            append(words.clean, sizeof(words.clean), "%s%s", words.clean[0] ? ", " : "", name);
            if (report.warnings)
                append(words.notes, sizeof(words.notes), "; %s warns %llu times", name,
                       (unsigned long long)report.warnings);
        } else if (report.state == ATOLL_SANITIZER_FOUND) {
            append(words.notes, sizeof(words.notes),
                   "; %s, not believed of a kernel with barriers or copies of its own: %s", name,
                   report.text);
        } else {
            append(words.notes, sizeof(words.notes), "; %s did not look: %s", name, report.text);
        }
    }
    if (words.clean[0])
        snprintf(ret_detail, ATOLL_DETAIL_BYTES, "clean under compute-sanitizer (%s)%s", words.clean,
                 words.notes);
    else
        snprintf(ret_detail, ATOLL_DETAIL_BYTES, "not run under compute-sanitizer%s", words.notes);
    return ATOLL_V_CORRECT;
}

/* Finalists of several duels are looked at once. */
static struct atoll_cuda_sanitized *place_of(struct atoll_cuda_device *d, const struct atoll_case *known,
                                             const struct atoll_prepared *prepared)
{
    for (size_t i = 0; i < ATOLL_CUDA_SANITIZED_LIMIT; i++) {
        struct atoll_cuda_sanitized *s = &d->sanitized[i];
        if (s->detail[0] && s->task == known->number && atoll_id_equal(&s->candidate, &prepared->id))
            return s;
    }
    struct atoll_cuda_sanitized *next = &d->sanitized[d->sanitized_count++ % ATOLL_CUDA_SANITIZED_LIMIT];
    *next = (struct atoll_cuda_sanitized){.candidate = prepared->id, .task = known->number};
    return next;
}

enum atoll_verdict atoll_cuda_sanitize(struct atoll_referee *referee, struct atoll_case *known,
                                       struct atoll_loaded_candidate *candidate, char *ret_detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    ret_detail[0] = 0;
    if (!(referee->setup.sanitize_deadline_ns > 0))
        return ATOLL_V_CORRECT;
    char *path = atoll_sanitizer_find(&err);
    if (!path) {
        snprintf(ret_detail, ATOLL_DETAIL_BYTES, "not run under compute-sanitizer: %s", err.text);
        return ATOLL_V_CORRECT;
    }
    struct atoll_cuda_sanitized *s = place_of(atoll_cuda_device_of(referee), known, candidate->prepared);
    if (!s->detail[0])
        s->verdict = tools_run(referee, candidate, path, s->detail);
    enum atoll_verdict verdict = s->verdict;
    snprintf(ret_detail, ATOLL_DETAIL_BYTES, "%s", s->detail);
    if (verdict == ATOLL_V_INFRASTRUCTURE)
        s->detail[0] = 0;
    free(path);
    return verdict;
}

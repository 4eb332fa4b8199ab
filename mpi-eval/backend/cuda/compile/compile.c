/* NVRTC in child processes.  A job is looked up in the cache, else waits until a child is idle (compile_jobs.c); children
 * are started when there is work for them, and stay.  Children are not stopped in timing windows: a compilation on the
 * host does not disturb a device. */
#include "mpi-eval/backend/cuda/compile/compile.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "mpi-eval/backend/cuda/compile/compile_nvcc.h"
#include "mpi-eval/backend/cuda/compile/compile_state.h"
#include "mpi-eval/backend/cuda/compile/compile_wire.h"
#include "base/clock.h"

#define SLOT_LIMIT 256
#define FILE_BYTES 65536 /* a child writes its own seccomp filter to a memory file, and nothing else */

/* ---- the interface ---- */

static void nvrtc_destroy(struct atoll_compiler *compiler)
{
    struct atoll_nvrtc *n = (struct atoll_nvrtc *)compiler;
    for (unsigned i = 0; i < n->slot_count; i++) {
        atoll_compile_child_fini(&n->slots[i].child);
        atoll_compile_job_destroy(n->slots[i].job);
    }
    atoll_compile_queue_fini(&n->queued);
    atoll_compile_queue_fini(&n->done);
    atoll_compile_options_fini(&n->options);
    for (size_t i = 0; i < sizeof n->environment / sizeof n->environment[0]; i++)
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
    return ((const struct atoll_nvrtc *)compiler)->version;
}

/* 1: the job is done without a child. */
static int answer_at_once(struct atoll_nvrtc *n, struct atoll_compile_job *job)
{
    struct atoll_id key;
    double start = atoll_clock_mono_ns();
    char *report = NULL;
    if (memchr(job->text, 0, job->length)) {
        atoll_compile_job_finish(job, ATOLL_COMPILE_ERROR, "the source has a NUL byte", "", 0);
        return 1;
    }
    atoll_nvrtc_key(n, job, &key);
    if (!n->cache || atoll_id_is_zero(&key) ||
        !atoll_compile_cache_get(n->cache, &key, &job->result.object, &job->result.object_length, &report))
        return 0;
    job->result.from_cache = 1;
    atoll_compile_job_finish(job, ATOLL_COMPILE_OK, "", report, atoll_clock_mono_ns() - start);
    free(report);
    return 1;
}

static int nvrtc_submit(struct atoll_compiler *compiler, uint64_t number, const char *file_name,
                        const char *text, size_t length, const char *const *defines, size_t define_count,
                        struct atoll_err *err)
{
    struct atoll_nvrtc *n = (struct atoll_nvrtc *)compiler;
    if (define_count > ATOLL_COMPILE_WIRE_OPTION_LIMIT - ATOLL_COMPILE_OPTION_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%zu defines; %d are possible", define_count,
                             ATOLL_COMPILE_WIRE_OPTION_LIMIT - ATOLL_COMPILE_OPTION_LIMIT);
    struct atoll_compile_job *job =
        atoll_compile_job_create(number, file_name, ".cu", text, length, defines, define_count, err);
    if (!job)
        return -1;
    atoll_compile_queue_put(answer_at_once(n, job) ? &n->done : &n->queued, job);
    atoll_nvrtc_start_jobs(n);
    for (unsigned i = 0; i < n->slot_count; i++) /* what was queued for a ready child goes out now */
        atoll_nvrtc_tend(n, &n->slots[i]);
    return 0;
}

static size_t nvrtc_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit)
{
    const struct atoll_nvrtc *n = (const struct atoll_nvrtc *)compiler;
    size_t count = 0;
    for (unsigned i = 0; i < n->slot_count && count < limit; i++) {
        const struct atoll_nvrtc_slot *slot = &n->slots[i];
        if (slot->child.state != ATOLL_COMPILE_CHILD_NONE)
            ret_fds[count++] = (struct pollfd){slot->child.fd, atoll_compile_child_events(&slot->child), 0};
    }
    return count;
}

static int nvrtc_timeout_ms(const struct atoll_compiler *compiler)
{
    const struct atoll_nvrtc *n = (const struct atoll_nvrtc *)compiler;
    double now = atoll_clock_mono_ns(), least = -1;
    if (n->done.first)
        return 0;
    for (unsigned i = 0; i < n->slot_count; i++) {
        const struct atoll_nvrtc_slot *slot = &n->slots[i];
        int starting = slot->child.state == ATOLL_COMPILE_CHILD_STARTING;
        if (!starting && !slot->job)
            continue;
        double left = slot->since_ns + (starting ? ATOLL_NVRTC_START_NS : n->deadline_ns) - now;
        left = left < 0 ? 0 : left;
        least = least < 0 || left < least ? left : least;
    }
    if (least < 0)
        return -1;
    return least / 1e6 < INT_MAX - 1 ? (int)(least / 1e6) + 1 : INT_MAX;
}

static int nvrtc_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled)
{
    struct atoll_nvrtc *n = (struct atoll_nvrtc *)compiler;
    for (unsigned i = 0; i < n->slot_count; i++)
        atoll_nvrtc_tend(n, &n->slots[i]);
    atoll_nvrtc_start_jobs(n);
    return atoll_compile_queue_collect(&n->done, ret_compiled);
}

static void nvrtc_pause(struct atoll_compiler *compiler)
{
    (void)compiler; /* on purpose: see the top */
}

static const struct atoll_compiler_kind nvrtc_kind = {nvrtc_destroy, nvrtc_version,    nvrtc_submit,
                                                      nvrtc_pollfds, nvrtc_timeout_ms, nvrtc_collect,
                                                      nvrtc_pause,   nvrtc_pause};

/* ---- create ---- */

/* What every job shares, for the cache: options, version, library, and the state of the header folders. */
static void fill_identity(struct atoll_nvrtc *n)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, (size_t)1 << 20);
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

static int fill_environment(struct atoll_nvrtc *n, struct atoll_err *err)
{
    const char *libraries = getenv("LD_LIBRARY_PATH");
    size_t count = 0;
    if (!(n->environment[count++] = strdup("LC_ALL=C")) ||
        asprintf(&n->environment[count++], "ATOLL_NVRTC=%s", n->toolkit.nvrtc) < 0 ||
        (libraries && asprintf(&n->environment[count++], "LD_LIBRARY_PATH=%s", libraries) < 0)) {
        n->environment[count - 1] = NULL;
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the environment of compile children");
    }
    return 0;
}

static void open_cache(struct atoll_nvrtc *n, const char *folder)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (folder && !folder[0])
        return;
    n->cache = atoll_compile_cache_create(folder, ATOLL_COMPILE_CACHE_BYTES, &err);
    if (!n->cache)
        atoll_log(ATOLL_LOG_WARNING, "eval.compile.cache", "%s; kernels are compiled every time", err.text);
}

static int set_up(struct atoll_nvrtc *n, const struct atoll_nvrtc_settings *settings, struct atoll_err *err)
{
    const struct atoll_compiler_settings *s = &settings->compiler;
    if (atoll_toolkit_init(&n->toolkit, settings->program, settings->include_path, err) != 0 ||
        atoll_compile_options_init(&n->options, s, &n->toolkit, err) != 0 || fill_environment(n, err) != 0 ||
        atoll_filter_init(&n->filter, ATOLL_FILTER_COMPILE, err) != 0)
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
    snprintf(n->seconds, sizeof n->seconds, "%.0f", s->deadline_ns / 1e9);
    snprintf(n->bytes, sizeof n->bytes, "%llu", (unsigned long long)s->output_bytes);
    fill_identity(n);
    open_cache(n, settings->cache);
    return 0;
}

/* The first child, before there are jobs: is there an NVRTC that compiles for this target? */
static int first_child(struct atoll_nvrtc *n, struct atoll_err *err)
{
    static const char text[] = "extern \"C\" __global__ void probe(float *x) { x[threadIdx.x] *= 2; }\n";
    struct atoll_compiled result;
    struct atoll_compile_cache *cache = n->cache;
    n->cache = NULL; /* the answer must be today's */
    int failed = atoll_compiler_run(&n->base, "probe.cu", text, sizeof text - 1, NULL, 0, &result, err);
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

static struct atoll_nvrtc *allocate(const struct atoll_compiler_settings *s)
{
    struct atoll_nvrtc *n = calloc(1, sizeof *n);
    if (!n || !(n->slots = calloc(s->slots, sizeof n->slots[0]))) {
        free(n);
        return NULL;
    }
    n->base.kind = &nvrtc_kind;
    n->deadline_ns = s->deadline_ns;
    n->memory_bytes = s->memory_bytes;
    n->output_bytes = s->output_bytes;
    n->slot_count = s->slots;
    snprintf(n->target, sizeof n->target, "%s", s->target);
    for (unsigned i = 0; i < n->slot_count; i++)
        atoll_compile_child_init(&n->slots[i].child,
                                 (size_t)s->output_bytes + 2 * ATOLL_COMPILE_WIRE_LOG_BYTES);
    return n;
}

static int check_settings(const struct atoll_compiler_settings *s, struct atoll_err *err)
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

static struct atoll_compiler *create_nvrtc(const struct atoll_nvrtc_settings *settings, struct atoll_err *err)
{
    struct atoll_nvrtc *n = allocate(&settings->compiler);
    if (!n) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler");
        return NULL;
    }
    if (set_up(n, settings, err) != 0 || first_child(n, err) != 0) {
        atoll_compiler_destroy(&n->base);
        return NULL;
    }
    return &n->base;
}

static struct atoll_compiler *create_nvcc(const struct atoll_nvrtc_settings *settings, const char *path,
                                          struct atoll_err *err)
{
    struct atoll_toolkit t = {0};
    struct atoll_compiler *compiler = NULL;
    if (atoll_toolkit_add_folders(&t, settings->include_path, err) == 0)
        compiler = atoll_nvcc_create(path, &settings->compiler, t.includes, t.include_count, err);
    atoll_toolkit_fini(&t);
    return compiler;
}

struct atoll_compiler *atoll_nvrtc_create(const struct atoll_nvrtc_settings *settings, struct atoll_err *err)
{
    const char *command = settings->compiler.command ? settings->compiler.command : "nvrtc";
    struct atoll_err why = ATOLL_ERR_INIT;
    if (check_settings(&settings->compiler, err) != 0)
        return NULL;
    int wants_nvrtc = strcmp(command, "nvrtc") == 0;
    struct atoll_compiler *compiler = wants_nvrtc ? create_nvrtc(settings, &why) : NULL;
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
        compiler = create_nvcc(settings, nvcc, err);
    }
    free(nvcc);
    return compiler;
}

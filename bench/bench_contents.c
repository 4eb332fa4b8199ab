/* bench_contents.c - how fast are inputs, fills, guards and the look at what a candidate left?  GB/s of each form and type
 * against the bandwidth that a copy of the calibration reaches on the same device.
 * bench_contents [--mib N] [--repeats N] [--json FILE]   (256 MiB a row, the least of 5)
 * bench_contents --cubin FILE: no device; our kernels, compiled for sm_90a, to be taken apart (nvdisasm). */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/compile/nvrtc.h"
#include "mpi-eval/backend/cuda/measure/contents.h"
#include "mpi-eval/backend/cuda/process/worker.h"

#define DEADLINE_NS  60e9
#define RESULT_BYTES 4096u
#define REPEAT_LIMIT 1000u
#define SMALL        65536u /* bytes of a small tensor */

struct session {
    struct atoll_cuda_worker *worker;
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    uint64_t result, area, bytes;
    uint32_t multiprocessors;
    unsigned repeats;
    double copy; /* bytes per ns */
    FILE *json;
    int rows;
};

/* ---- the device ---- */

static void *text_compile(const char *text, const char *target, size_t *ret_length, struct atoll_err *err)
{
    const struct atoll_nvrtc_library *nvrtc = atoll_nvrtc_library_open(err);
    struct _nvrtcProgram *program = NULL;
    char option[64];
    const char *options[] = {option};
    void *cubin = NULL;
    snprintf(option, sizeof(option), "--gpu-architecture=%s", target);
    if (!nvrtc)
        return NULL;
    if (nvrtc->nvrtcCreateProgram(&program, text, "support.cu", 0, NULL, NULL) ||
        nvrtc->nvrtcCompileProgram(program, 1, options) || nvrtc->nvrtcGetCUBINSize(program, ret_length) ||
        !(cubin = malloc(*ret_length)) || nvrtc->nvrtcGetCUBIN(program, cubin)) {
        free(cubin);
        cubin = NULL;
        atoll_err_set(err, ATOLL_E_CHILD, "our kernels do not compile for %s", target);
    }
    nvrtc->nvrtcDestroyProgram(&program);
    return cubin;
}

static int session_run(struct session *s, struct atoll_err *err)
{
    if (atoll_cuda_worker_run(s->worker, &s->batch, DEADLINE_NS, &s->reply, err) != 0)
        return -1;
    atoll_command_batch_clear(&s->batch);
    if (s->reply.status != ATOLL_COMMAND_BATCH_DONE)
        return atoll_err_set(err, ATOLL_E_CHILD, "command %u: %.200s", s->reply.command, s->reply.text);
    return 0;
}

static int session_load(struct session *s, struct atoll_err *err)
{
    const struct atoll_cuda_facts *facts = atoll_cuda_worker_facts(s->worker);
    unsigned capability = facts->limits.compute_capability;
    size_t lengths[2] = {0, 0};
    char target[32];
    snprintf(target, sizeof(target), "sm_%u%s", capability, capability >= 90 ? "a" : "");
    s->multiprocessors = facts->limits.multiprocessors;
    printf("%s, %s, %u multiprocessors\n", facts->model, target, s->multiprocessors);
    void *support = text_compile(atoll_support_text(), target, &lengths[0], err);
    void *calibration =
        support ? text_compile(atoll_support_calibration_text(), target, &lengths[1], err) : NULL;
    int rc = -1;
    if (calibration) {
        atoll_support_load(&s->batch, support, lengths[0], calibration, lengths[1]);
        atoll_command_batch_alloc(&s->batch, 0, RESULT_BYTES + 2 * s->bytes + 4096);
        rc = session_run(s, err);
    }
    if (rc == 0) {
        struct atoll_device_command_function function;
        for (unsigned i = 0; i < ATOLL_SUPPORT_LOADED_COUNT; i++)
            atoll_command_batch_take_function(&s->reply, &function);
        s->result = atoll_command_batch_take_u64(&s->reply);
        s->area = (s->result + RESULT_BYTES + 255) / 256 * 256;
        rc = atoll_reader_finish(&s->reply.reader, "the device's memory", err);
    }
    free(support);
    free(calibration);
    return rc;
}

/* ---- rows ---- */

/* What is timed; number: which of its kind. */
typedef void put_row(struct session *s, int form, enum atoll_dtype dtype);

static int row_time(struct session *s, put_row *put, int form, enum atoll_dtype dtype, double *ret_ns,
                    struct atoll_err *err)
{
    double least = HUGE_VAL;
    for (unsigned i = 0; i <= s->repeats; i++) {
        atoll_command_batch_event(&s->batch, 0);
        put(s, form, dtype);
        atoll_command_batch_event(&s->batch, 1);
        if (session_run(s, err) != 0)
            return -1;
        if (i > 0)
            least = fmin(least, s->reply.event_ns[1] - s->reply.event_ns[0]);
    }
    *ret_ns = least;
    return 0;
}

static void row_print(struct session *s, const char *kernel, const char *form, const char *dtype,
                      double bytes, double ns)
{
    printf("%-10s %-16s %-7s %10.1f %10.2f %10.1f %7.0f %%\n", kernel, form, dtype, bytes / 1048576, ns / 1e3,
           bytes / ns, s->copy > 0 ? 100 * bytes / ns / s->copy : 100);
    fflush(stdout);
    if (s->json)
        fprintf(
            s->json,
            "%s\n {\"kernel\": \"%s\", \"form\": \"%s\", \"dtype\": \"%s\", \"bytes\": %.0f, \"ns\": %.0f, "
            "\"gb_per_s\": %.1f, \"share\": %.4f}",
            s->rows ? "," : "", kernel, form, dtype, bytes, ns, bytes / ns,
            s->copy > 0 ? bytes / ns / s->copy : 1.0);
    s->rows++;
}

static int row(struct session *s, put_row *put, const char *kernel, const char *name, int form,
               enum atoll_dtype dtype, double bytes, struct atoll_err *err)
{
    double ns = 0;
    if (row_time(s, put, form, dtype, &ns, err) != 0)
        return -1;
    row_print(s, kernel, name, atoll_dtype_name(dtype), bytes, ns);
    return 0;
}

static void put_copy(struct session *s, int form, enum atoll_dtype dtype)
{
    (void)form;
    (void)dtype;
    atoll_support_copy(&s->batch, s->area, s->area + s->bytes, s->bytes, s->multiprocessors);
}

/* A part as a task with this init would have it: a standard normal, [-1, 1), integers from 0 on. */
static struct atoll_init_part part_of(int form, enum atoll_dtype dtype, uint64_t bytes)
{
    struct atoll_init_part part = {
        .count = bytes / atoll_dtype_bytes(dtype),
        .params = {.key = 0x9e3779b97f4a7c15ull, .form = form, .dtype = (int)dtype, .row = 4096, .words = 1}};
    struct atoll_init_params *p = &part.params;
    if (form <= ATOLL_VALUE_NORMAL_SIGNED) {
        atoll_value_normal_settle(p, 1);
        return part;
    }
    p->a = p->a_single = form == ATOLL_VALUE_CONSTANT ? 1 : -1;
    p->step = p->step_single = 2;
    p->words = form == ATOLL_VALUE_INTEGER || ATOLL_VALUE_IS_SINGLE(dtype) ? 1 : 2;
    p->span = form == ATOLL_VALUE_RAGGED ? 1 << 20 : 100;
    return part;
}

static void put_input(struct session *s, int form, enum atoll_dtype dtype)
{
    struct atoll_init_part part = part_of(form, dtype, s->bytes);
    struct atoll_contents_launch launch;
    uint64_t blocks = atoll_contents_of_part(&part, s->area, &launch);
    atoll_support_launch(&s->batch, ATOLL_KERNEL_contents, blocks, ATOLL_SUPPORT_BLOCK, 0, &launch,
                         sizeof(launch));
}

static struct atoll_support_fill fill_of(int kind, enum atoll_dtype dtype)
{
    return (struct atoll_support_fill){(enum atoll_fill_kind)kind, dtype, 77, 3};
}

static void put_fill(struct session *s, int kind, enum atoll_dtype dtype)
{
    struct atoll_support_fill fill = fill_of(kind, dtype);
    struct atoll_contents c;
    atoll_contents_begin(&c, &s->batch);
    atoll_contents_fill(&c, &fill, s->area, s->bytes / atoll_dtype_bytes(dtype));
    atoll_contents_end(&c);
}

static void put_guard(struct session *s, int form, enum atoll_dtype dtype)
{
    struct atoll_contents c;
    (void)form;
    (void)dtype;
    atoll_contents_begin(&c, &s->batch);
    atoll_contents_guard(&c, s->area, s->bytes, 5);
    atoll_contents_end(&c);
}

static void put_hash(struct session *s, int form, enum atoll_dtype dtype)
{
    struct atoll_inspection look;
    (void)form;
    (void)dtype;
    atoll_inspection_begin(&look, &s->batch);
    atoll_inspection_hash(&look, s->area, s->bytes, 5, s->result);
    atoll_inspection_end(&look);
}

/* After put_guard: all is as it was. */
static void put_guard_look(struct session *s, int form, enum atoll_dtype dtype)
{
    struct atoll_inspection look;
    (void)form;
    (void)dtype;
    atoll_inspection_begin(&look, &s->batch);
    atoll_inspection_guard(&look, s->area, s->bytes, 5, s->result);
    atoll_inspection_end(&look);
}

/* Two inputs, an output and four guard zones, as a sample of one matrix product has them; form 1: small ones. */
static void put_sample(struct session *s, int form, enum atoll_dtype dtype)
{
    struct atoll_contents c;
    uint64_t each = form ? SMALL : s->bytes / 4 / 256 * 256, at = s->area;
    struct atoll_support_fill fill = fill_of(ATOLL_FILL_RANDOM, dtype);
    atoll_contents_begin(&c, &s->batch);
    for (unsigned i = 0; i < 4; i++, at += each + SMALL) {
        atoll_contents_guard(&c, at, SMALL, i);
        if (i == 3)
            break;
        if (i == 2) {
            atoll_contents_fill(&c, &fill, at + SMALL, each / atoll_dtype_bytes(dtype));
            continue;
        }
        struct atoll_init_part part = part_of(ATOLL_VALUE_NORMAL, dtype, each);
        c.launch.regions[c.count++] =
            (struct atoll_region){at + SMALL, part.count, ATOLL_REGION_INIT, 0, {.init = part.params}};
    }
    atoll_contents_end(&c);
}

static double sample_bytes(const struct session *s, int form)
{
    return 3.0 * (form ? SMALL : (double)(s->bytes / 4 / 256 * 256)) + 4.0 * SMALL;
}

/* ---- all of them ---- */

static int inputs_time(struct session *s, struct atoll_err *err)
{
    static const char *const forms[] = {"normal",  "normal, ties",  "normal, sparse",  "normal, signed",
                                        "uniform", "uniform, ties", "uniform, sparse", "uniform, signed",
                                        "integer", "index",         "permutation",     "ragged",
                                        "constant"};
    static const enum atoll_dtype floats[] = {ATOLL_F64,  ATOLL_F32,    ATOLL_F16,
                                              ATOLL_BF16, ATOLL_F8E4M3, ATOLL_F8E5M2},
                                  integers[] = {ATOLL_I64, ATOLL_I32, ATOLL_I16,
                                                ATOLL_I8,  ATOLL_U8,  ATOLL_F32};
    for (int form = 0; form < ATOLL_VALUE_FORM_COUNT; form++)
        for (size_t t = 0; t < 6; t++) {
            int is_number = form <= ATOLL_VALUE_UNIFORM_SIGNED || form == ATOLL_VALUE_CONSTANT;
            enum atoll_dtype dtype = is_number ? floats[t] : integers[t];
            if (!is_number && form != ATOLL_VALUE_INTEGER && dtype != ATOLL_I32)
                continue;
            if (row(s, put_input, "input", forms[form], form, dtype, (double)s->bytes, err) != 0)
                return -1;
        }
    return 0;
}

static int fills_time(struct session *s, struct atoll_err *err)
{
    static const char *const kinds[ATOLL_FILL_COUNT] = {"poison", "zero", "random", "stale"};
    static const enum atoll_dtype dtypes[] = {ATOLL_F64, ATOLL_F32, ATOLL_BF16, ATOLL_F8E4M3, ATOLL_I32};
    for (int kind = 0; kind < ATOLL_FILL_COUNT; kind++)
        for (size_t t = 0; t < sizeof(dtypes) / sizeof(*dtypes); t++)
            if (row(s, put_fill, "fill", kinds[kind], kind, dtypes[t], (double)s->bytes, err) != 0)
                return -1;
    return 0;
}

static int all_time(struct session *s, struct atoll_err *err)
{
    double ns = 0;
    printf("%-10s %-16s %-7s %10s %10s %10s %9s\n", "kernel", "form", "dtype", "MiB", "us", "GB/s",
           "of copy");
    if (row_time(s, put_copy, 0, ATOLL_F32, &ns, err) != 0)
        return -1;
    s->copy = 2 * (double)s->bytes / ns;
    row_print(s, "copy", "", "", 2 * (double)s->bytes, ns);
    if (inputs_time(s, err) != 0 || fills_time(s, err) != 0 ||
        row(s, put_guard, "guard", "", 0, ATOLL_I64, (double)s->bytes, err) != 0 ||
        row(s, put_guard_look, "look", "guard", 0, ATOLL_I64, (double)s->bytes, err) != 0 ||
        row(s, put_hash, "look", "hash", 0, ATOLL_I64, (double)s->bytes, err) != 0)
        return -1;
    static const enum atoll_dtype dtypes[] = {ATOLL_F32, ATOLL_BF16};
    for (int form = 0; form < 2; form++)
        for (size_t t = 0; t < 2; t++)
            if (row(s, put_sample, "sample", form ? "small" : "whole", form, dtypes[t], sample_bytes(s, form),
                    err) != 0)
                return -1;
    return 0;
}

static int cubin_write(const char *path, struct atoll_err *err)
{
    size_t length = 0;
    void *cubin = text_compile(atoll_support_text(), "sm_90a", &length, err);
    FILE *f = cubin ? fopen(path, "wb") : NULL;
    int rc = cubin ? 0 : -1;
    if (cubin && (!f || fwrite(cubin, 1, length, f) != length))
        rc = atoll_err_errno(err, errno, "cannot write '%s'", path);
    if (f && fclose(f) != 0 && rc == 0)
        rc = atoll_err_errno(err, errno, "cannot write '%s'", path);
    free(cubin);
    return rc;
}

static int measure(struct session *s, const char *path, struct atoll_err *err)
{
    struct atoll_cuda_worker_settings settings = {0};
    if (path && !(s->json = fopen(path, "w")))
        return atoll_err_errno(err, errno, "cannot write '%s'", path);
    if (s->json)
        fputs("[", s->json);
    atoll_command_batch_init(&s->batch);
    atoll_command_batch_reply_init(&s->reply);
    s->worker = atoll_cuda_worker_create(&settings, err);
    int rc = s->worker && session_load(s, err) == 0 ? all_time(s, err) : -1;
    atoll_cuda_worker_destroy(s->worker);
    atoll_command_batch_fini(&s->batch);
    atoll_command_batch_reply_fini(&s->reply);
    if (s->json && (fputs("\n]\n", s->json) == EOF || fclose(s->json) != 0) && rc == 0)
        rc = atoll_err_errno(err, errno, "cannot write '%s'", path);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"mib", required_argument, NULL, 'm'},
                                            {"repeats", required_argument, NULL, 'r'},
                                            {"cubin", required_argument, NULL, 'c'},
                                            {"json", required_argument, NULL, 'j'},
                                            {0}};
    struct session s = {.bytes = (uint64_t)256 << 20, .repeats = 5};
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *path = NULL, *cubin = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (option == 'm')
            s.bytes = (uint64_t)strtoul(optarg, NULL, 10) << 20;
        else if (option == 'r')
            s.repeats = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'c')
            cubin = optarg;
        else if (option == 'j')
            path = optarg;
        else
            return 2;
    if (s.bytes == 0 || s.bytes >> 36 || s.repeats == 0 || s.repeats > REPEAT_LIMIT) {
        fprintf(stderr, "usage: bench_contents [--mib N] [--repeats N] [--json FILE] [--cubin FILE]\n");
        return 2;
    }
    if ((cubin ? cubin_write(cubin, &err) : measure(&s, path, &err)) == 0)
        return 0;
    fprintf(stderr, "bench_contents: %s\n", err.text);
    return 1;
}

#include "mpi-eval/backend/cuda/measure/support.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/task/init.h"
#include "mpi-eval/backend/cuda/compile/cubin.h"
#include "mpi-eval/backend/cuda/kernels/known_answer.h"
#include "mpi-eval/backend/cuda/kernels/text.h"
#include "mpi-eval/referee/check.h"
#include "mpi-eval/referee/shape.h"

/* Blocks of a grid-stride loop: 4 waves of 8 blocks on 132 multiprocessors; on others the last wave is a small part of
 * the whole, too. */
#define BLOCKS_LIMIT 4224

static const struct {
    const char *name;
    uint32_t module;
} kernels[ATOLL_SUPPORT_KERNEL_COUNT] = {
#define KERNEL_ROW(name, module) {"atoll_" #name "_kernel", module},
    ATOLL_SUPPORT_KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};

const char *atoll_support_text(void)
{
    return atoll_device_support_text;
}

const char *atoll_support_calibration_text(void)
{
    return atoll_device_calibration_text;
}

const char *atoll_support_wide_frames_text(void)
{
    return atoll_device_wide_frames_text;
}

int atoll_support_stack(const void *cubin, size_t length, uint32_t *ret_bytes, struct atoll_err *err)
{
    const char *names[ATOLL_SUPPORT_KERNEL_COUNT];
    size_t count = 0;
    uint32_t bytes;
    for (uint32_t i = 0; i < ATOLL_SUPPORT_KERNEL_COUNT; i++)
        if (kernels[i].module == 0 && i != ATOLL_KERNEL_local_1k && i != ATOLL_KERNEL_local_2k)
            names[count++] = kernels[i].name;
    if (atoll_cubin_stack(cubin, length, names, count, &bytes, err) != 0)
        return -1;
    if (bytes > ATOLL_SUPPORT_LOCAL_BYTES)
        return atoll_err_set(err, ATOLL_E_MISSING,
                             "this compiler spills %u bytes of our kernels' registers to local memory, and "
                             "%u can be overwritten; use "
                             "another NVRTC (ATOLL_NVRTC)",
                             bytes, ATOLL_SUPPORT_LOCAL_BYTES);
    *ret_bytes = bytes;
    return 0;
}

void atoll_support_load(struct atoll_command_batch *batch, const void *cubin, size_t length,
                        const void *calibration_cubin, size_t calibration_length)
{
    atoll_command_batch_module_load(batch, 0, cubin, length);
    atoll_command_batch_module_load(batch, 1, calibration_cubin, calibration_length);
    for (uint32_t i = 0; i < ATOLL_SUPPORT_LOADED_COUNT; i++)
        atoll_command_batch_function(batch, i, kernels[i].module, kernels[i].name);
}

void atoll_support_wide_frames_load(struct atoll_command_batch *batch, const void *cubin, size_t length)
{
    atoll_command_batch_module_load(batch, 2, cubin, length);
    for (uint32_t i = ATOLL_SUPPORT_LOADED_COUNT; i < ATOLL_SUPPORT_KERNEL_COUNT; i++)
        atoll_command_batch_function(batch, i, kernels[i].module, kernels[i].name);
}

uint64_t atoll_support_blocks(uint64_t items)
{
    uint64_t blocks = items / ATOLL_SUPPORT_BLOCK + (items % ATOLL_SUPPORT_BLOCK != 0);
    return blocks > BLOCKS_LIMIT ? BLOCKS_LIMIT : blocks ? blocks : 1;
}

void atoll_support_launch(struct atoll_command_batch *batch, uint32_t function, uint64_t blocks,
                          uint32_t threads, uint32_t shared_bytes, const void *params, uint32_t param_bytes)
{
    struct atoll_device_command_launch launch;
    memset(&launch, 0, sizeof(launch));
    launch.function = function;
    launch.grid[0] = (uint32_t)blocks;
    launch.block[0] = threads;
    launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
    launch.shared_bytes = shared_bytes;
    if (params)
        atoll_device_command_params_struct(&launch, params, param_bytes);
    atoll_command_batch_launch(batch, &launch);
}

#define LAUNCH(s, kernel, blocks, params)                                                                    \
    atoll_support_launch(s, ATOLL_KERNEL_##kernel, blocks, ATOLL_SUPPORT_BLOCK, 0, &(params), sizeof(params))

/* ---- fills ---- */

static struct atoll_fill_params poison(const struct atoll_support_fill *fill, struct atoll_fill_params p)
{
    p.form = ATOLL_FILL_FORM_BITS;
    p.top = atoll_dtype_encode(p.dtype, atoll_dtype_is_float(fill->dtype) ? (double)NAN : 9.0e18);
    if (fill->dtype == ATOLL_F64)
        p.top = 0x7ff8000000000000ull | (fill->key & 0xffffffffffffull);
    else if (fill->dtype == ATOLL_F32)
        p.top = 0x7fc00000u | (fill->key & 0x3fffffu);
    return p;
}

/* Two octaves and more below twice the size, both signs; integers from 0 to twice the size. */
static struct atoll_fill_params plausible(const struct atoll_support_fill *fill, double size,
                                          struct atoll_fill_params p)
{
    static const int mantissa[ATOLL_DTYPE_COUNT] = {[ATOLL_F64] = 52, [ATOLL_F32] = 23,   [ATOLL_F16] = 10,
                                                    [ATOLL_BF16] = 7, [ATOLL_F8E4M3] = 3, [ATOLL_F8E5M2] = 2};
    if (!atoll_dtype_is_float(fill->dtype)) {
        double largest = fmin(atoll_dtype_decode(p.dtype, atoll_dtype_encode(p.dtype, 9e18)), 4e9);
        p.form = ATOLL_FILL_FORM_INTEGER;
        p.top = (uint64_t)fmin(floor(2 * size) + 1, largest);
        return p;
    }
    p.form = ATOLL_FILL_FORM_FLOAT;
    p.sign = (uint64_t)1 << (8 * atoll_dtype_bytes(fill->dtype) - 1);
    p.top = atoll_dtype_encode(p.dtype, 2 * size);
    while (p.top && !isfinite(atoll_dtype_decode(p.dtype, p.top)))
        p.top--;
    p.mask = ((uint64_t)4 << mantissa[fill->dtype]) - 1;
    while (p.mask > p.top)
        p.mask >>= 1;
    return p;
}

struct atoll_fill_params atoll_support_fill_params(const struct atoll_support_fill *fill)
{
    struct atoll_fill_params p = {.key = fill->key, .dtype = (int)fill->dtype};
    double size = isfinite(fill->magnitude) && fill->magnitude > 0 ? fill->magnitude : 1;
    switch (fill->kind) {
    case ATOLL_FILL_POISON: return poison(fill, p);
    case ATOLL_FILL_RANDOM: return plausible(fill, size, p);
    case ATOLL_FILL_STALE:
        p.form = ATOLL_FILL_FORM_NORMAL;
        p.scale = size;
        return p;
    case ATOLL_FILL_ZERO:
    case ATOLL_FILL_COUNT: break;
    }
    p.form = ATOLL_FILL_FORM_BITS;
    return p;
}

/* ---- caches and clocks ---- */

void atoll_support_flush(struct atoll_command_batch *batch, uint64_t area, uint64_t bytes,
                         uint32_t multiprocessors, uint32_t shared_bytes, uint64_t key, uint64_t result)
{
    struct atoll_area_launch p = {.address = area, .bytes = bytes, .key = key, .result = result};
    atoll_support_launch(batch, ATOLL_KERNEL_flush_write, multiprocessors, 1024, shared_bytes, &p, sizeof(p));
    p.address = area + bytes;
    LAUNCH(batch, flush_read, atoll_support_blocks(bytes / 16), p);
}

void atoll_support_shared_wipe(struct atoll_command_batch *batch, uint32_t multiprocessors,
                               uint32_t shared_bytes, uint64_t key)
{
    struct atoll_area_launch p = {.key = key};
    atoll_support_launch(batch, ATOLL_KERNEL_flush_write, multiprocessors, 1024, shared_bytes, &p, sizeof(p));
}

static const struct {
    uint32_t bytes, kernel;
} frames[] = {{1024, ATOLL_KERNEL_local_1k},
              {ATOLL_SUPPORT_LOCAL_BYTES, ATOLL_KERNEL_local_2k},
              {4096, ATOLL_KERNEL_local_4k},
              {8192, ATOLL_KERNEL_local_8k},
              {ATOLL_SUPPORT_LOCAL_WIDEST, ATOLL_KERNEL_local_16k}};
#define FRAMES (sizeof(frames) / sizeof(*frames))

/* FRAMES: none. */
static size_t frame_at(uint32_t bytes)
{
    size_t i = 0;
    while (i < FRAMES && frames[i].bytes < bytes)
        i++;
    return i;
}

uint32_t atoll_support_local_frame(uint32_t frame_bytes)
{
    size_t i = frame_at(frame_bytes);
    return i < FRAMES ? frames[i].bytes : 0;
}

uint64_t atoll_support_local_room(uint32_t frame_bytes, uint32_t multiprocessors,
                                  uint32_t threads_per_multiprocessor)
{
    uint64_t bytes = (uint64_t)frame_bytes * multiprocessors * threads_per_multiprocessor;
    return bytes + bytes / 8;
}

int atoll_support_local_wipe(struct atoll_command_batch *batch, uint32_t frame_bytes,
                             uint32_t multiprocessors, uint32_t threads_per_multiprocessor, uint64_t key,
                             uint64_t result)
{
    struct atoll_area_launch p = {.key = key, .result = result};
    uint64_t blocks = (uint64_t)multiprocessors * (threads_per_multiprocessor / ATOLL_SUPPORT_BLOCK + 1);
    size_t i = frame_at(frame_bytes);
    if (i == FRAMES)
        return -1;
    for (int twice = 0; twice < 2; twice++)
        atoll_support_launch(batch, frames[i].kernel, blocks, ATOLL_SUPPORT_BLOCK, 0, &p, sizeof(p));
    return 0;
}

void atoll_support_touch(struct atoll_command_batch *batch, uint64_t address, uint64_t bytes, uint64_t key,
                         uint64_t result)
{
    struct atoll_area_launch p = {.address = address, .bytes = bytes, .key = key, .result = result};
    LAUNCH(batch, flush_read, atoll_support_blocks(bytes / 16), p);
}

void atoll_support_gate(struct atoll_command_batch *batch)
{
    atoll_command_batch_gate(batch, ATOLL_KERNEL_gate);
}

void atoll_support_clock_probe(struct atoll_command_batch *batch, uint64_t result)
{
    struct atoll_area_launch p = {.result = result};
    atoll_support_launch(batch, ATOLL_KERNEL_clock, 1, 1, 0, &p, sizeof(p));
}

/* ---- sealing ---- */

static uint64_t sealed_values_bytes(uint64_t count)
{
    return (count + 1) / 2 * 16;
}

uint64_t atoll_support_sealed_bytes(uint64_t count, int has_scale)
{
    return sealed_values_bytes(count) + (has_scale ? (count + 3) / 4 * 16 : 0);
}

void atoll_support_seal(struct atoll_command_batch *batch, const struct atoll_support_output *output,
                        uint64_t sealed, const struct atoll_support_key *key, uint64_t salt)
{
    struct atoll_seal_launch p = {
        .expected = output->expected,
        .scale = output->scale,
        .count = output->count,
        .sealed = sealed,
        .sealed_scale = output->scale ? sealed + sealed_values_bytes(output->count) : 0,
        .key = {key->words[0], key->words[1]},
        .salt = salt,
    };
    LAUNCH(batch, seal, atoll_support_blocks(output->count / 2 + 1), p);
}

/* ---- comparing ---- */

void atoll_support_compare_clear(struct atoll_command_batch *batch, uint64_t result)
{
    unsigned char bytes[ATOLL_SUPPORT_FINDING_BYTES] = {0};
    struct atoll_finding_area area = {.first_wrong = ~(atoll_u64)0};
    _Static_assert(sizeof(area) <= sizeof(bytes), "a finding has room");
    memcpy(bytes, &area, sizeof(area));
    atoll_command_batch_write(batch, result, bytes, sizeof(bytes));
}

int atoll_support_hashes_along(const struct atoll_task *task, const struct atoll_support_output *output)
{
    enum atoll_dtype dtype = task->tensors[output->tensor].dtype;
    return (dtype == ATOLL_F32 || dtype == ATOLL_BF16 || dtype == ATOLL_F16) && output->address % 16 == 0;
}

void atoll_support_compare(struct atoll_command_batch *batch, const struct atoll_task *task,
                           const struct atoll_support_output *output, uint64_t sealed,
                           const struct atoll_support_key *key, uint64_t salt, uint64_t result)
{
    static const struct atoll_support_key none = {{0, 0}};
    const struct atoll_support_key *k = key ? key : &none;
    double atol = task->tolerance.atol, rtol = task->tolerance.rtol;
    if (!atoll_check_has_element_bound(&task->tolerance)) {
        /* Nothing is wrong by itself then; what is far off is looked at for having been left out (referee/check.h). */
        int is_known = output->has_fill && output->fill.magnitude > 0;
        rtol = is_known ? atoll_check_unwritten_ratio(&task->tolerance) : 0;
        atol = is_known ? rtol * output->fill.magnitude +
                              (atoll_dtype_is_float(task->tensors[output->tensor].dtype) ? 0 : 1)
                        : HUGE_VAL;
    }
    struct atoll_compare_launch p = {
        .address = output->address,
        .count = output->count,
        .result = result,
        .expected = sealed ? sealed : output->expected,
        .scale = output->scale,
        .key = {k->words[0], k->words[1]},
        .salt = salt,
        .hash_key = atoll_mix64(k->words[0] ^ atoll_mix64(k->words[1] + salt)),
        .atol = atol,
        .rtol = rtol,
        .dtype = (int)task->tensors[output->tensor].dtype,
        .is_sealed = sealed != 0,
        .has_fill = output->has_fill,
        .has_sums = task->tolerance.norm > 0 || task->tolerance.cosine > 0,
        .output_hash = atoll_support_hashes_along(task, output) ? output->hash : 0,
        .output_key = output->hash_key,
    };
    if (sealed && output->scale)
        p.scale = sealed + sealed_values_bytes(output->count);
    if (output->has_fill)
        p.fill = atoll_support_fill_params(&output->fill);
    LAUNCH(batch, compare, atoll_support_blocks(output->count / 2 + 1), p);
}

void atoll_support_finding_read(const void *bytes, struct atoll_support_finding *ret_finding)
{
    struct atoll_finding_area a;
    memcpy(&a, bytes, sizeof(a));
    *ret_finding = (struct atoll_support_finding){
        .count = a.count,
        .wrong_count = a.wrong_count,
        .nonfinite_count = a.nonfinite_count,
        .unwritten_count = a.unwritten_count,
        .worst_index = a.worst_index,
        .first_wrong = a.first_wrong,
        .last_wrong = a.last_wrong,
        .worst_error = a.worst_error,
        .worst_expected = a.worst_expected,
        .worst_got = a.worst_got,
        .difference2 = a.difference2,
        .expected2 = a.expected2,
        .got2 = a.got2,
        .product = a.product,
        .expected_hash = a.expected_hash,
    };
}

/* ---- what a finding means: the same sentences as those of the host's comparison (referee/check.c) ---- */

struct text {
    char *at;
    size_t room;
};

static void append(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->room, format, args);
    va_end(args);
    size_t used = n < 0 || t->room == 0 ? 0 : (size_t)n < t->room ? (size_t)n : t->room - 1;
    t->at += used;
    t->room -= used;
}

/* wrong_count: of elements, as far as each is judged by itself. */
static void describe(const struct atoll_support_finding *f, uint64_t wrong_count, const char *name,
                     const struct atoll_shape *shape, struct text *t)
{
    char worst[160], first[160], last[160];
    append(t, "%s: %llu of %llu elements wrong (%.3g %%); worst %s: expected %.9g, got %.9g", name,
           (unsigned long long)wrong_count, (unsigned long long)f->count,
           100.0 * (double)wrong_count / (double)f->count,
           atoll_shape_index_text(shape, name, f->worst_index, worst, sizeof(worst)), f->worst_expected,
           f->worst_got);
    if (f->worst_error < ATOLL_WORST_ERROR_MAX && wrong_count == f->wrong_count)
        append(t, ", error %.3g times the tolerance", f->worst_error);
    if (f->nonfinite_count)
        append(t, "; %llu are NaN or Inf where the reference is finite",
               (unsigned long long)f->nonfinite_count);
    if (f->unwritten_count)
        append(t, "; %llu were never written", (unsigned long long)f->unwritten_count);
    if (f->wrong_count > 1 && f->first_wrong < f->last_wrong && f->last_wrong < f->count)
        append(t, "; wrong ones lie between %s and %s",
               atoll_shape_index_text(shape, name, f->first_wrong, first, sizeof(first)),
               atoll_shape_index_text(shape, name, f->last_wrong, last, sizeof(last)));
}

/* Criteria over the whole tensor; written so that NaN fails. */
static int judge_norms(const struct atoll_support_finding *f, const struct atoll_tolerance *tolerance,
                       const char *name, int is_right, struct text *t)
{
    if (tolerance->norm > 0) {
        double error = sqrt(f->difference2), limit = tolerance->norm * sqrt(f->expected2);
        if (!(error <= limit)) {
            append(t, "%s%s: norm of the error %.6g is above %.6g", is_right ? "" : "; ", name, error, limit);
            is_right = 0;
        }
    }
    if (tolerance->cosine > 0 && f->expected2 > 0) {
        double cosine = f->product / sqrt(f->expected2 * f->got2);
        if (!(cosine >= tolerance->cosine)) {
            append(t, "%s%s: cosine %.9g is below %.9g", is_right ? "" : "; ", name, cosine,
                   tolerance->cosine);
            is_right = 0;
        }
    }
    return is_right;
}

int atoll_support_finding_judge(const struct atoll_support_finding *f, const struct atoll_task *task,
                                size_t tensor, const struct atoll_variant *variant, char *ret_detail,
                                size_t detail_bytes)
{
    const char *name = task->tensors[tensor].name;
    struct text t = {ret_detail, detail_bytes};
    struct atoll_shape shape;
    int is_right = 1;
    if (detail_bytes)
        ret_detail[0] = '\0';
    if (atoll_shape_of(task, tensor, variant, &shape, NULL) || f->count != shape.count ||
        f->wrong_count > f->count || f->worst_index >= f->count) {
        append(&t, "%s: the comparison saw %llu elements, which is not what there is", name,
               (unsigned long long)f->count);
        return 0;
    }
    uint64_t wrong_count = f->wrong_count;
    if (!atoll_check_has_element_bound(&task->tolerance)) { /* then being far off alone is no fault */
        wrong_count = f->nonfinite_count > f->unwritten_count ? f->nonfinite_count : f->unwritten_count;
        if (!wrong_count && f->worst_error >= ATOLL_WORST_ERROR_MAX)
            wrong_count = 1; /* finite where the reference is not */
    }
    if (wrong_count && (f->unwritten_count || f->nonfinite_count ||
                        (double)wrong_count > task->tolerance.wrong_share * (double)f->count)) {
        is_right = 0;
        describe(f, wrong_count, name, &shape, &t);
    }
    return judge_norms(f, &task->tolerance, name, is_right, &t);
}

/* ---- two references ---- */

static struct atoll_agreement_launch agreement(const struct atoll_support_output *output, uint64_t result,
                                               uint64_t room)
{
    return (struct atoll_agreement_launch){.expected = output->expected,
                                           .scale = output->scale,
                                           .count = output->count,
                                           .result = result,
                                           .room = room};
}

void atoll_support_collect(struct atoll_command_batch *batch, const struct atoll_support_output *output,
                           uint64_t result, uint64_t room)
{
    struct atoll_agreement_launch p = agreement(output, result, room);
    LAUNCH(batch, collect, atoll_support_blocks(output->count), p);
}

void atoll_support_gather(struct atoll_command_batch *batch, const struct atoll_support_output *output,
                          uint64_t result, uint64_t room)
{
    struct atoll_agreement_launch p = agreement(output, result, room);
    LAUNCH(batch, gather, atoll_support_blocks(output->count), p);
}

/* ---- known answer ---- */

void atoll_support_known_answer(struct atoll_command_batch *batch, uint64_t area, uint32_t multiprocessors,
                                uint64_t key, uint64_t result)
{
    struct atoll_probe_launch p = {.area = area, .key = key, .result = result};
    atoll_command_batch_set(batch, result, 0, 2);
    atoll_support_launch(batch, ATOLL_KERNEL_known_answer, multiprocessors, ATOLL_KNOWN_ANSWER_THREADS, 0, &p,
                         sizeof(p));
}

uint64_t atoll_support_known_answer_expected(uint32_t multiprocessors, uint64_t key)
{
    uint64_t sum = 0, first[ATOLL_KNOWN_ANSWER_THREADS], second[ATOLL_KNOWN_ANSWER_THREADS];
    for (uint64_t block = 0; block < multiprocessors; block++) {
        for (unsigned t = 0; t < ATOLL_KNOWN_ANSWER_THREADS; t++)
            first[t] = atoll_known_answer_value(key, block * ATOLL_KNOWN_ANSWER_THREADS + t);
        for (unsigned t = 0; t < ATOLL_KNOWN_ANSWER_THREADS; t++)
            second[t] = atoll_known_answer_meet(first[t], first[atoll_known_answer_partner(t, 0)]);
        for (unsigned t = 0; t < ATOLL_KNOWN_ANSWER_THREADS; t++)
            sum += atoll_known_answer_meet(second[t], second[atoll_known_answer_partner(t, 1)]);
    }
    return sum;
}

/* ---- what the device can do at most ---- */

#define FMA_ROUNDS    2048 /* of 8 chains, 8 products each: about a millisecond */
#define FMA_BLOCKS    8    /* per multiprocessor: every thread that it holds */
#define TENSOR_ROUNDS 4096
#define WARPS         8

void atoll_support_empty(struct atoll_command_batch *batch)
{
    atoll_support_launch(batch, ATOLL_KERNEL_empty, 1, 32, 0, NULL, 0);
}

void atoll_support_copy(struct atoll_command_batch *batch, uint64_t to, uint64_t from, uint64_t bytes,
                        uint32_t multiprocessors)
{
    struct atoll_area_launch p = {.address = to, .bytes = bytes, .from = from};
    atoll_support_launch(batch, ATOLL_KERNEL_copy, (uint64_t)multiprocessors * 8, ATOLL_SUPPORT_BLOCK, 0, &p,
                         sizeof(p));
}

void atoll_support_read(struct atoll_command_batch *batch, uint64_t from, uint64_t bytes,
                        uint32_t multiprocessors, uint64_t result)
{
    struct atoll_area_launch p = {.bytes = bytes, .from = from, .result = result};
    atoll_support_launch(batch, ATOLL_KERNEL_read, (uint64_t)multiprocessors * 8, ATOLL_SUPPORT_BLOCK, 0, &p,
                         sizeof(p));
}

/* The result is cleared first: a kernel that did its work leaves 1 there. */
static void launch_peak(struct atoll_command_batch *batch, uint32_t kernel, uint64_t blocks, uint64_t rounds,
                        uint64_t result)
{
    struct atoll_probe_launch p = {.result = result, .rounds = rounds};
    atoll_command_batch_set(batch, result, 0, 2);
    atoll_support_launch(batch, kernel, blocks, ATOLL_SUPPORT_BLOCK, 0, &p, sizeof(p));
}

int atoll_support_fma(struct atoll_command_batch *batch, enum atoll_dtype dtype, uint32_t multiprocessors,
                      uint64_t result, double *ret_flops)
{
    static const struct {
        enum atoll_dtype dtype;
        uint32_t kernel;
        int lanes;
    } rows[] = {
        {ATOLL_F64, ATOLL_KERNEL_fma_f64, 1},
        {ATOLL_F32, ATOLL_KERNEL_fma_f32, 1},
        {ATOLL_F16, ATOLL_KERNEL_fma_f16, 2},
        {ATOLL_BF16, ATOLL_KERNEL_fma_bf16, 2},
    };
    uint64_t blocks = (uint64_t)multiprocessors * FMA_BLOCKS;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].dtype == dtype) {
            launch_peak(batch, rows[i].kernel, blocks, FMA_ROUNDS, result);
            *ret_flops = 2.0 * rows[i].lanes * 64 * FMA_ROUNDS * ATOLL_SUPPORT_BLOCK * (double)blocks;
            return 0;
        }
    return -1;
}

int atoll_support_tensor(struct atoll_command_batch *batch, unsigned type, uint32_t multiprocessors,
                         uint64_t result, double *ret_flops)
{
    /* products of one block in one round (tensor.cu) */
    static const struct {
        unsigned type;
        uint32_t kernel;
        double products;
    } rows[] = {
        {ATOLL_F64, ATOLL_KERNEL_tensor_f64, WARPS * 8 * 2048.0},
        {ATOLL_F16, ATOLL_KERNEL_tensor_f16, 2 * 64 * 256 * 16.0},
        {ATOLL_BF16, ATOLL_KERNEL_tensor_bf16, 2 * 64 * 256 * 16.0},
        {ATOLL_DTYPE_COUNT, ATOLL_KERNEL_tensor_tf32, 2 * 64 * 256 * 8.0},
        {ATOLL_F8E4M3, ATOLL_KERNEL_tensor_f8e4m3, 2 * 64 * 256 * 32.0},
        {ATOLL_F8E5M2, ATOLL_KERNEL_tensor_f8e5m2, 2 * 64 * 256 * 32.0},
        {ATOLL_I8, ATOLL_KERNEL_tensor_i8, 2 * 64 * 256 * 32.0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].type == type) {
            launch_peak(batch, rows[i].kernel, multiprocessors, TENSOR_ROUNDS, result);
            *ret_flops = 2.0 * rows[i].products * TENSOR_ROUNDS * multiprocessors;
            return 0;
        }
    return -1;
}

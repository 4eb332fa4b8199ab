#include "mpi-eval/backend/cuda/measure/support.h"

#include <math.h>
#include <string.h>

#include "core/task/init.h"
#include "mpi-eval/backend/cuda/kernels/answer_value.h"
#include "mpi-eval/backend/cuda/kernels/text.h"
#include "mpi-eval/backend/cuda/measure/support_launch.h"

/* Blocks of a grid-stride loop: 4 waves of 8 blocks on 132 multiprocessors; on others the last wave is a small part of
 * the whole, too. */
#define BLOCKS_LIMIT 4224
/* 1 / the standard deviation of a sum of four 16-bit uniforms, sqrt(4 * (2^32 - 1) / 12). */
#define STALE_STEP (1.0 / 37837.22)

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

void atoll_support_load(struct atoll_command_batch *s, const void *cubin, size_t length,
                        const void *calibration_cubin, size_t calibration_length)
{
    atoll_command_batch_module_load(s, 0, cubin, length);
    atoll_command_batch_module_load(s, 1, calibration_cubin, calibration_length);
    for (uint32_t i = 0; i < ATOLL_SUPPORT_KERNEL_COUNT; i++)
        atoll_command_batch_function(s, i, kernels[i].module, kernels[i].name);
}

unsigned atoll_support_result_count(void)
{
    return ATOLL_SUPPORT_KERNEL_COUNT;
}

uint64_t atoll_support_blocks(uint64_t items)
{
    uint64_t blocks = items / ATOLL_SUPPORT_BLOCK + (items % ATOLL_SUPPORT_BLOCK != 0);
    return blocks > BLOCKS_LIMIT ? BLOCKS_LIMIT : blocks ? blocks : 1;
}

void atoll_support_launch(struct atoll_command_batch *s, uint32_t function, uint64_t blocks, uint32_t threads,
                          uint32_t shared_bytes, const void *params, uint32_t param_bytes)
{
    struct atoll_device_command_launch launch;
    memset(&launch, 0, sizeof launch);
    launch.function = function;
    launch.grid[0] = (uint32_t)blocks;
    launch.block[0] = threads;
    launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
    launch.shared_bytes = shared_bytes;
    if (params)
        atoll_device_command_params_struct(&launch, params, param_bytes);
    atoll_command_batch_launch(s, &launch);
}

#define LAUNCH(s, kernel, blocks, params)                                                                    \
    atoll_support_launch(s, ATOLL_KERNEL_##kernel, blocks, ATOLL_SUPPORT_BLOCK, 0, &(params), sizeof(params))

/* ---- contents ---- */

int atoll_support_init(struct atoll_command_batch *s, const struct atoll_task *task, size_t tensor,
                       const struct atoll_variant *variant, uint64_t draw_seed, unsigned distribution,
                       uint64_t address, struct atoll_err *err)
{
    struct atoll_init_launch p = {.address = address};
    size_t count = 0;
    if (atoll_init_settle(task, tensor, variant, draw_seed, distribution, &p.init, err) ||
        atoll_task_element_count(task, tensor, variant, &count, err))
        return -1;
    p.count = count;
    LAUNCH(s, init, atoll_support_blocks(count), p);
    return 0;
}

static uint64_t sign_bit(enum atoll_dtype dtype)
{
    return (uint64_t)1 << (8 * atoll_dtype_bytes(dtype) - 1);
}

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
    p.sign = sign_bit(fill->dtype);
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
        p.scale = size * STALE_STEP;
        return p;
    case ATOLL_FILL_ZERO:
    case ATOLL_FILL_COUNT: break;
    }
    p.form = ATOLL_FILL_FORM_BITS;
    return p;
}

void atoll_support_fill(struct atoll_command_batch *s, const struct atoll_support_fill *fill,
                        uint64_t address, uint64_t count)
{
    struct atoll_fill_launch p = {address, count, atoll_support_fill_params(fill)};
    LAUNCH(s, fill, atoll_support_blocks(count * atoll_dtype_bytes(fill->dtype) / 16 + 16), p);
}

void atoll_support_guard(struct atoll_command_batch *s, uint64_t address, uint64_t bytes, uint64_t key)
{
    struct atoll_area_launch p = {.address = address, .bytes = bytes, .key = key};
    LAUNCH(s, guard, atoll_support_blocks(bytes / 8), p);
}

void atoll_support_guard_clear(struct atoll_command_batch *s, uint64_t result)
{
    uint64_t start[2] = {0, ~(uint64_t)0};
    atoll_command_batch_write(s, result, start, sizeof start);
}

void atoll_support_guard_check(struct atoll_command_batch *s, uint64_t address, uint64_t bytes, uint64_t key,
                               uint64_t result)
{
    struct atoll_area_launch p = {.address = address, .bytes = bytes, .key = key, .result = result};
    LAUNCH(s, guard_check, atoll_support_blocks(bytes / 8), p);
}

void atoll_support_hash(struct atoll_command_batch *s, uint64_t address, uint64_t bytes, uint64_t key,
                        uint64_t result)
{
    struct atoll_area_launch p = {.address = address, .bytes = bytes, .key = key, .result = result};
    LAUNCH(s, hash, atoll_support_blocks(bytes / 16), p);
}

/* ---- caches and clocks ---- */

void atoll_support_flush(struct atoll_command_batch *s, uint64_t area, uint64_t bytes,
                         uint32_t multiprocessors, uint32_t shared_bytes, uint64_t key, uint64_t result)
{
    struct atoll_area_launch p = {.address = area, .bytes = bytes, .key = key, .result = result};
    atoll_support_launch(s, ATOLL_KERNEL_flush_write, multiprocessors, 1024, shared_bytes, &p, sizeof p);
    p.address = area + bytes;
    LAUNCH(s, flush_read, atoll_support_blocks(bytes / 16), p);
}

void atoll_support_shared_wipe(struct atoll_command_batch *s, uint32_t multiprocessors, uint32_t shared_bytes,
                               uint64_t key)
{
    struct atoll_area_launch p = {.key = key};
    atoll_support_launch(s, ATOLL_KERNEL_flush_write, multiprocessors, 1024, shared_bytes, &p, sizeof p);
}

void atoll_support_touch(struct atoll_command_batch *s, uint64_t address, uint64_t bytes, uint64_t key,
                         uint64_t result)
{
    struct atoll_area_launch p = {.address = address, .bytes = bytes, .key = key, .result = result};
    LAUNCH(s, flush_read, atoll_support_blocks(bytes / 16), p);
}

void atoll_support_gate(struct atoll_command_batch *s)
{
    atoll_command_batch_gate(s, ATOLL_KERNEL_gate);
}

void atoll_support_clock_probe(struct atoll_command_batch *s, uint64_t result)
{
    struct atoll_area_launch p = {.result = result};
    atoll_support_launch(s, ATOLL_KERNEL_clock, 1, 1, 0, &p, sizeof p);
}

/* ---- known answer ---- */

void atoll_support_known_answer(struct atoll_command_batch *s, uint64_t area, uint32_t multiprocessors,
                                uint64_t key, uint64_t result)
{
    struct atoll_probe_launch p = {.area = area, .key = key, .result = result};
    atoll_command_batch_set(s, result, 0, 2);
    atoll_support_launch(s, ATOLL_KERNEL_answer, multiprocessors, ATOLL_ANSWER_THREADS, 0, &p, sizeof p);
}

uint64_t atoll_support_known_answer_expected(uint32_t multiprocessors, uint64_t key)
{
    uint64_t sum = 0, first[ATOLL_ANSWER_THREADS], second[ATOLL_ANSWER_THREADS];
    for (uint64_t block = 0; block < multiprocessors; block++) {
        for (unsigned t = 0; t < ATOLL_ANSWER_THREADS; t++)
            first[t] = atoll_answer_value(key, block * ATOLL_ANSWER_THREADS + t);
        for (unsigned t = 0; t < ATOLL_ANSWER_THREADS; t++)
            second[t] = atoll_answer_meet(first[t], first[atoll_answer_partner(t, 0)]);
        for (unsigned t = 0; t < ATOLL_ANSWER_THREADS; t++)
            sum += atoll_answer_meet(second[t], second[atoll_answer_partner(t, 1)]);
    }
    return sum;
}

/* support_calibrate.c - what the device can do at most, as steps. */
#include "mpi-eval/backend/cuda/measure/support_launch.h"

#define FMA_ROUNDS    2048 /* of 8 chains, 8 products each: about a millisecond */
#define FMA_BLOCKS    8    /* per multiprocessor: every thread that it holds */
#define TENSOR_ROUNDS 4096
#define WARPS         8

void atoll_support_empty(struct atoll_command_batch *s)
{
    atoll_support_launch(s, ATOLL_KERNEL_empty, 1, 32, 0, NULL, 0);
}

void atoll_support_copy(struct atoll_command_batch *s, uint64_t to, uint64_t from, uint64_t bytes,
                        uint32_t multiprocessors)
{
    struct atoll_area_launch p = {.address = to, .bytes = bytes, .from = from};
    atoll_support_launch(s, ATOLL_KERNEL_copy, (uint64_t)multiprocessors * 8, ATOLL_SUPPORT_BLOCK, 0, &p,
                         sizeof p);
}

void atoll_support_read(struct atoll_command_batch *s, uint64_t from, uint64_t bytes,
                        uint32_t multiprocessors, uint64_t result)
{
    struct atoll_area_launch p = {.bytes = bytes, .from = from, .result = result};
    atoll_support_launch(s, ATOLL_KERNEL_read, (uint64_t)multiprocessors * 8, ATOLL_SUPPORT_BLOCK, 0, &p,
                         sizeof p);
}

/* The result is cleared first: a kernel that did its work leaves 1 there. */
static void launch_peak(struct atoll_command_batch *s, uint32_t kernel, uint64_t blocks, uint64_t rounds,
                        uint64_t result)
{
    struct atoll_probe_launch p = {.result = result, .rounds = rounds};
    atoll_command_batch_set(s, result, 0, 2);
    atoll_support_launch(s, kernel, blocks, ATOLL_SUPPORT_BLOCK, 0, &p, sizeof p);
}

int atoll_support_fma(struct atoll_command_batch *s, enum atoll_dtype dtype, uint32_t multiprocessors,
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].dtype == dtype) {
            launch_peak(s, rows[i].kernel, blocks, FMA_ROUNDS, result);
            *ret_flops = 2.0 * rows[i].lanes * 64 * FMA_ROUNDS * ATOLL_SUPPORT_BLOCK * (double)blocks;
            return 0;
        }
    return -1;
}

int atoll_support_tensor(struct atoll_command_batch *s, unsigned type, uint32_t multiprocessors,
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
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type) {
            launch_peak(s, rows[i].kernel, multiprocessors, TENSOR_ROUNDS, result);
            *ret_flops = 2.0 * rows[i].products * TENSOR_ROUNDS * multiprocessors;
            return 0;
        }
    return -1;
}

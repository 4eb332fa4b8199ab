/* support.h - kernels of ours on the device, as commands of a batch: fills (contents.h makes them), cache flush,
 * sealed expected values, comparison, reference, probes, calibration (MEASUREMENT.md 2 to 4).
 * Layer: mpi-eval, backend/cuda.  Pure: composes batches, reads results; kernels/ holds the texts.
 *
 * Sealed expected values: what the reference says of an input set lies on the device only encrypted (Threefry-2x64-13
 * keystream; Salmon et al., SC 2011), under a key of the referee's that is handed to the device after the candidate
 * has finished. So the reference is paid once per input set, and no expected value is ever addressable by a candidate in
 * the clear.  Plain values exist only between a candidate's end and the wipe that ends the batch.  fingerprint.h is the
 * compact form of the same. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SUPPORT_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_SUPPORT_H

#include "mpi-eval/backend/cuda/kernels/params.h"
#include "core/evaluation.h"
#include "core/task/task.h"
#include "mpi-eval/backend/cuda/process/command_batch.h"
#include "mpi-eval/referee/fill.h"

/* Slots that support uses; callers use modules from ATOLL_SUPPORT_MODULE_END and functions from
 * ATOLL_SUPPORT_FUNCTION_END on. */
#define ATOLL_SUPPORT_MODULE_END   3
#define ATOLL_SUPPORT_FUNCTION_END 64

/* The translation unit of the support module and of the calibration module, to be compiled for the device (sm_90a where
 * the architecture has such a form: it decides which tensor instructions are used).  They need no header and no option
 * besides the architecture; what must not be contracted is written so. */
const char *atoll_support_text(void);
const char *atoll_support_calibration_text(void);
/* And that of frames above ATOLL_SUPPORT_LOCAL_BYTES, which a process loads when a candidate has such. */
const char *atoll_support_wide_frames_text(void);
/* Local memory of a thread of the support module's kernels, but those whose purpose it is: registers that a compiler spilled, of
 * expected values, inputs and keys.  ATOLL_E_MISSING where it is more than can be overwritten. */
int atoll_support_stack(const void *cubin, size_t length, uint32_t *ret_bytes, struct atoll_err *err);
/* Loads support and calibration and looks their kernels up (FUNCTION results: skip ATOLL_SUPPORT_LOADED_COUNT of them). */
void atoll_support_load(struct atoll_command_batch *batch, const void *cubin, size_t length,
                        const void *calibration_cubin, size_t calibration_length);
/* The same for wide frames. */
void atoll_support_wide_frames_load(struct atoll_command_batch *batch, const void *cubin, size_t length);

/* ---- before the candidate ---- */

/* What an output or scratch holds before (contents.h).  kind STALE takes plausible values of another input set: `stale_seed` of the tensor's own
 * init or, for tensors without one, a normal of `magnitude`.  The same (kind, key, index) always gives the same bits. */
struct atoll_support_fill {
    enum atoll_fill_kind kind;
    enum atoll_dtype dtype;
    uint64_t key;
    double magnitude; /* of RANDOM and STALE: a typical size of right values; 0 = 1 */
};
/* Puts everything out of the caches: writes `bytes` at area, then reads as much at area + bytes (the area has 2 *
 * bytes; multiples of 16); the end is reads, so nothing of ours is dirty.  Shared memory of every multiprocessor gets
 * changing garbage. */
void atoll_support_flush(struct atoll_command_batch *batch, uint64_t area, uint64_t bytes,
                         uint32_t multiprocessors, uint32_t shared_bytes, uint64_t key, uint64_t result);
/* The last of it alone: what a kernel left in shared memory is gone. */
void atoll_support_shared_wipe(struct atoll_command_batch *batch, uint32_t multiprocessors,
                               uint32_t shared_bytes, uint64_t key);

/* Garbage in the local memory of every thread that a multiprocessor can hold, as far as frames of frame_bytes reach; -1: more than
 * ATOLL_SUPPORT_LOCAL_WIDEST.  Frames above ATOLL_SUPPORT_LOCAL_BYTES want wide frames loaded. */
#define ATOLL_SUPPORT_LOCAL_BYTES  2048u
#define ATOLL_SUPPORT_LOCAL_WIDEST 16384u
int atoll_support_local_wipe(struct atoll_command_batch *batch, uint32_t frame_bytes,
                             uint32_t multiprocessors, uint32_t threads_per_multiprocessor, uint64_t key,
                             uint64_t result);
/* Of the smallest kernel that does so: bytes of a thread; 0: none. */
uint32_t atoll_support_local_frame(uint32_t frame_bytes);
/* Bytes of device memory that the driver keeps for such frames, a little more for what it rounds up. */
uint64_t atoll_support_local_room(uint32_t frame_bytes, uint32_t multiprocessors,
                                  uint32_t threads_per_multiprocessor);
/* Reads `bytes` at address, but the last bytes % 16: as much of it as fits is in the cache afterwards. */
void atoll_support_touch(struct atoll_command_batch *batch, uint64_t address, uint64_t bytes, uint64_t key,
                         uint64_t result);
/* What follows starts when the whole batch is queued (atoll_command_batch_gate). */
void atoll_support_gate(struct atoll_command_batch *batch);
/* Spins about 20 us on one multiprocessor and writes u64 cycles, u64 nanoseconds to the 16 bytes at result. */
void atoll_support_clock_probe(struct atoll_command_batch *batch, uint64_t result);

/* ---- after the candidate ---- */

struct atoll_support_key {
    uint64_t words[2];
};

/* One output tensor as it is referred to and compared.  expected, scale: device addresses of count doubles, plain
 * (scale 0 = none). */
struct atoll_support_output {
    size_t tensor;
    uint64_t address; /* of the candidate's output; any alignment that its dtype has */
    uint64_t count;
    uint64_t expected, scale;
    struct atoll_support_fill fill; /* what it held before */
    int has_fill;                   /* 0: inout */
    uint64_t hash, hash_key;        /* where what atoll_inspection_hash says of it is added, 0: nowhere */
};

/* 1 where a comparison makes output->hash in its own pass; else the caller asks atoll_inspection_hash. */
int atoll_support_hashes_along(const struct atoll_task *task, const struct atoll_support_output *output);

/* Sealed copies: 8 bytes per element of expected, 4 per element of scale (as float, rounded up).  salt makes every
 * array of an input set another stream. */
uint64_t atoll_support_sealed_bytes(uint64_t count, int has_scale);
void atoll_support_seal(struct atoll_command_batch *batch, const struct atoll_support_output *output,
                        uint64_t sealed, const struct atoll_support_key *key, uint64_t salt);
/* Compares an output against plain (sealed 0) or sealed expected values, every element, by float-rounded scales in both
 * cases.  key (NULL: zeros) and salt also key the finding's hashes: the same for plain and sealed.  Adds the finding to the
 * ATOLL_SUPPORT_FINDING_BYTES at result (which clear sets up).  Writes no expected value anywhere. */
#define ATOLL_SUPPORT_FINDING_BYTES 256
void atoll_support_compare_clear(struct atoll_command_batch *batch, uint64_t result);
void atoll_support_compare(struct atoll_command_batch *batch, const struct atoll_task *task,
                           const struct atoll_support_output *output, uint64_t sealed,
                           const struct atoll_support_key *key, uint64_t salt, uint64_t result);

/* Two references in the same arrays: collect notes what the first one put (elsewhere are all ones), gather what the second
 * one put there.  result: an atoll_agreement_area with room for `room` entries, its counts 0 before. */
void atoll_support_collect(struct atoll_command_batch *batch, const struct atoll_support_output *output,
                           uint64_t result, uint64_t room);
void atoll_support_gather(struct atoll_command_batch *batch, const struct atoll_support_output *output,
                          uint64_t result, uint64_t room);

struct atoll_support_finding {
    uint64_t count, wrong_count, nonfinite_count, unwritten_count;
    uint64_t worst_index, first_wrong, last_wrong;
    double worst_error; /* in units of the tolerance */
    double worst_expected, worst_got;
    double difference2, expected2, got2,
        product;            /* sums of squares and products: expected2 always, the others
                                                      where the task has a norm or cosine */
    uint64_t expected_hash; /* of the expected values used: what was damaged while it was sealed differs */
};
/* bytes: ATOLL_SUPPORT_FINDING_BYTES read back from result. */
void atoll_support_finding_read(const void *bytes, struct atoll_support_finding *ret_finding);
/* What MEASUREMENT.md 2 makes of it: 1 right, 0 wrong with the text. */
int atoll_support_finding_judge(const struct atoll_support_finding *f, const struct atoll_task *task,
                                size_t tensor, const struct atoll_variant *variant, char *ret_detail,
                                size_t detail_bytes);

/* ---- the device itself ---- */

/* Known-answer kernel over an area of at least 1 MiB: exercises integer, float, double, shared memory and atomics on
 * every multiprocessor; the 8-byte result is compared with what the host computes. */
void atoll_support_known_answer(struct atoll_command_batch *batch, uint64_t area, uint32_t multiprocessors,
                                uint64_t key, uint64_t result);
uint64_t atoll_support_known_answer_expected(uint32_t multiprocessors, uint64_t key);
/* Calibration: each appends its launch(es) between event and event + 1 and says what it did. */
void atoll_support_empty(struct atoll_command_batch *batch);
void atoll_support_copy(struct atoll_command_batch *batch, uint64_t to, uint64_t from, uint64_t bytes,
                        uint32_t multiprocessors);
void atoll_support_read(struct atoll_command_batch *batch, uint64_t from, uint64_t bytes,
                        uint32_t multiprocessors, uint64_t result);
/* FMA peak of f64, f32, f16 (packed), bf16 (packed): operations done are in *ret_flops; -1 for other types.  The u64 at
 * result is cleared and then 1 when the kernel did them, 0 when the architecture has no such instruction. */
int atoll_support_fma(struct atoll_command_batch *batch, enum atoll_dtype dtype, uint32_t multiprocessors,
                      uint64_t result, double *ret_flops);
/* Tensor peak by the type of the factors (index ATOLL_DTYPE_COUNT = tf32; f64, f16, bf16, both f8, i8); the same. */
int atoll_support_tensor(struct atoll_command_batch *batch, unsigned type, uint32_t multiprocessors,
                         uint64_t result, double *ret_flops);

/* ---- slots of our kernels, and how they are launched ---- */

#define ATOLL_SUPPORT_BLOCK 256 /* threads; ATOLL_BLOCK of grid.cuh */

/* X(name, module): kernel atoll_<name>_kernel; the order is that of the function slots. */
#define ATOLL_SUPPORT_KERNELS(X)                                                                             \
    X(contents, 0)                                                                                           \
    X(inspect, 0)                                                                                            \
    X(flush_write, 0)                                                                                        \
    X(flush_read, 0)                                                                                         \
    X(clock, 0)                                                                                              \
    X(gate, 0)                                                                                               \
    X(seal, 0)                                                                                               \
    X(compare, 0)                                                                                            \
    X(print_make, 0)                                                                                         \
    X(print_match, 0)                                                                                        \
    X(local_1k, 0)                                                                                           \
    X(local_2k, 0)                                                                                           \
    X(known_answer, 0)                                                                                       \
    X(collect, 0)                                                                                            \
    X(gather, 0)                                                                                             \
    X(empty, 1)                                                                                              \
    X(copy, 1)                                                                                               \
    X(read, 1)                                                                                               \
    X(fma_f64, 1)                                                                                            \
    X(fma_f32, 1)                                                                                            \
    X(fma_f16, 1)                                                                                            \
    X(fma_bf16, 1)                                                                                           \
    X(tensor_f64, 1)                                                                                         \
    X(tensor_f16, 1)                                                                                         \
    X(tensor_bf16, 1)                                                                                        \
    X(tensor_tf32, 1)                                                                                        \
    X(tensor_f8e4m3, 1)                                                                                      \
    X(tensor_f8e5m2, 1)                                                                                      \
    X(tensor_i8, 1)                                                                                          \
    X(local_4k, 2)                                                                                           \
    X(local_8k, 2)                                                                                           \
    X(local_16k, 2)

#define ATOLL_SUPPORT_SLOT(name, module) ATOLL_KERNEL_##name,
enum atoll_support_kernel { ATOLL_SUPPORT_KERNELS(ATOLL_SUPPORT_SLOT) ATOLL_SUPPORT_KERNEL_COUNT };
#undef ATOLL_SUPPORT_SLOT
#define ATOLL_SUPPORT_LOADED_COUNT ((unsigned)ATOLL_KERNEL_local_4k) /* of modules 0 and 1, the first ones */

/* `blocks` blocks of `threads`; params: one struct by value, NULL none. */
void atoll_support_launch(struct atoll_command_batch *batch, uint32_t function, uint64_t blocks,
                          uint32_t threads, uint32_t shared_bytes, const void *params, uint32_t param_bytes);
/* As many blocks as `items` threads need, within what a grid-stride loop is worth. */
uint64_t atoll_support_blocks(uint64_t items);
/* What a fill makes an element from. */
struct atoll_fill_params atoll_support_fill_params(const struct atoll_support_fill *fill);

#endif

/* oracle.h - the compiled reference of one task on the device, and where it works: plain expected values exist only in
 * the plain area, between the end of a candidate and the wipe that ends the batch (docs/adr/0007).
 * Layer: mpi-eval, backend/cuda.  Lifetime: open/close with the case. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_ORACLE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_MEASURE_ORACLE_H

#include "mpi-eval/backend/cuda/measure/device.h"

struct atoll_cuda_oracle {
    struct atoll_cuda_cubin_bytes cubin;
    uint32_t generation; /* of the process that it is loaded into */
    uint32_t slot;       /* of device->oracles */
    uint64_t stamp;
    int is_on_host;                                  /* PyTorch's: not on the device */
    int is_windowless;                               /* there is no room to show large answers there */
    char precision[8];                               /* of its last answer; "" a compiled reference */
    double magnitude[ATOLL_TASK_TENSOR_LIMIT];       /* typical size of right values; 0 not seen yet */
    int has_nonfinite[ATOLL_TASK_VARIANT_LIMIT + 1]; /* expected values: fingerprints say nothing there */
    /* tiles.h: which variants reference.cu answers, and where it does not, why; "" there is none, or it does */
    unsigned char is_tiled[ATOLL_TASK_VARIANT_LIMIT + 1];
    uint32_t stack_bytes, tiled_stack_bytes; /* of the kernels of reference.c and reference.cu, a thread */
    char refusal[512];
};

/* Addresses of one variant in the plain area, by tensor number; 0 where there is nothing. */
struct atoll_cuda_plain {
    uint64_t need; /* bytes of the area */
    uint64_t counts[ATOLL_TASK_TENSOR_LIMIT];
    uint64_t expected[ATOLL_TASK_TENSOR_LIMIT], scale[ATOLL_TASK_TENSOR_LIMIT];
    uint64_t spare[ATOLL_TASK_TENSOR_LIMIT]; /* inout as it was before the candidate */
    uint64_t scratch, scratch_bytes;
    uint64_t sealed_bytes;                           /* of the whole expected values of one input set */
    uint64_t sealed_offset[ATOLL_TASK_TENSOR_LIMIT]; /* of an output's array within it */
    uint64_t print_bytes, print_offset[ATOLL_TASK_TENSOR_LIMIT]; /* the same of their fingerprint */
};

/* out: empty, with a limit of its own. */
int atoll_cuda_case_unit(const struct atoll_task *task, const char **ret_name, struct atoll_buffer *out,
                         struct atoll_err *err);
int atoll_cuda_case_open(struct atoll_referee *referee, struct atoll_case *known, struct atoll_err *err);
void atoll_cuda_case_close(struct atoll_referee *referee, struct atoll_case *known);
#define ATOLL_CUDA_REFERENCE_KERNEL "atoll_reference_kernel" /* of the unit */
#define ATOLL_CUDA_TILED_KERNEL                                                                              \
    "atoll_tiled_kernel" /* of reference.cu, in the same unit; where there is one */
/* Loads the reference into the process there is: 0, 1 lost, -1. */
int atoll_cuda_oracle_load(struct atoll_cuda_device *device, struct atoll_case *known, struct atoll_err *err);
uint32_t atoll_cuda_oracle_function(const struct atoll_cuda_oracle *oracle);
uint32_t atoll_cuda_oracle_tiled_function(const struct atoll_cuda_oracle *oracle);

/* Offsets from `base`; pure. */
int atoll_cuda_plain_plan(const struct atoll_task *task, const struct atoll_variant *variant,
                          uint32_t multiprocessors, uint64_t base, struct atoll_cuda_plain *ret_plain,
                          struct atoll_err *err);
/* 1 for out and inout. */
static inline int atoll_cuda_is_output(const struct atoll_task *task, size_t tensor)
{
    return task->tensors[tensor].role == ATOLL_ROLE_OUT || task->tensors[tensor].role == ATOLL_ROLE_INOUT;
}

/* Puts __device__ before every declaration of file scope that begins a line; lines keep their numbers.  Types are left
 * as they are.  Owned by the caller (free); NULL: ATOLL_E_MEMORY, ATOLL_E_LIMIT. */
char *atoll_cuda_reference_annotate(const char *source, struct atoll_err *err);

/* Units of the reference: `count` of them that are stride apart, modulo how many there are; count 0 or at least as many as there
 * are: all. */
struct atoll_cuda_units {
    uint64_t count, first, stride; /* first and stride: any numbers */
};

/* Runs the reference over its units, some NULL: all: expected (and scale) of every output is written; inputs: addresses by
 * tensor number (0 for out).  function: slot of its kernel.  scratch: address of an area of scratch_bytes for units' scratch;
 * threads in flight follow from it; ATOLL_E_LIMIT when it is too small for one.  expected is NaN where no unit puts a
 * value: it is filled before, but where the text proves that each of all units puts its element (reference_elements.h). */
int atoll_cuda_reference_run(struct atoll_command_batch *batch, uint32_t function,
                             const struct atoll_task *task, const struct atoll_variant *variant,
                             const uint64_t *inputs, const struct atoll_support_output *outputs,
                             size_t output_count, const struct atoll_cuda_units *some, uint64_t scratch,
                             uint64_t scratch_bytes, struct atoll_err *err);
/* All of it by reference.cu; function: slot of its kernel. */
void atoll_cuda_tiled_run(struct atoll_command_batch *batch, uint32_t function, const struct atoll_task *task,
                          const struct atoll_variant *variant, const uint64_t *inputs,
                          const struct atoll_support_output *outputs, size_t output_count,
                          uint32_t multiprocessors);

#endif

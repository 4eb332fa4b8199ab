/* cubin.h - what a compiled device image says about itself, without a device: kernels, their resources, the mix of
 * their instructions, what a kernel could change in it, what it would link.
 * Layer: mpi-eval, backend/cuda.  Hostile input (the compiler's output is the candidate's doing): every offset is
 * checked.  Sources: ELF64 and the section and attribute names of NVIDIA's cubin (.nv.info, EIATTR_*), as cuobjdump and
 * readelf show them; opcodes of compute capability 7.0 and up from nvdisasm. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_CUBIN_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_CUBIN_H

#include "core/message.h"
#include "core/profile.h"

#define ATOLL_CUBIN_KERNEL_LIMIT 64
#define ATOLL_CUBIN_PARAM_LIMIT  64

struct atoll_cubin_kernel {
    char name[128];
    uint32_t registers, static_shared_bytes, stack_bytes;
    /* Of local memory, what a thread can reach: its stack; beyond it calls may go on (a function that calls itself is in no
     * frame) where anything moves the stack but kernels, once and by their frames. */
    uint32_t local_bytes;
    uint32_t spill_store_bytes, spill_load_bytes; /* from the compiler's report, 0 without */
    uint32_t threads_limit;                       /* of __launch_bounds__; 0 none */
    uint32_t param_count;                         /* in the order of the signature */
    struct {
        uint32_t offset, bytes;
    } params[ATOLL_CUBIN_PARAM_LIMIT];
    uint32_t code_bytes;
    /* What its instructions make of numbers besides what mix counts, bits of ATOLL_MIX_FP16, _TENSOR_TF32, _TENSOR_F8 and
     * _TENSOR_OTHER (atoll_conversions_beyond). */
    unsigned conversions;
    uint32_t mix[ATOLL_MIX_COUNT];
};

struct atoll_cubin {
    unsigned target; /* 90 */
    size_t kernel_count;
    struct atoll_cubin_kernel kernels[ATOLL_CUBIN_KERNEL_LIMIT];
    /* Everything a kernel could reach by a cast and find again in the next launch: globals (an image does not tell which of
     * them are const), texts, the compiler's tables, constants.  Not the banks of parameters. */
    uint64_t state_bytes;
    /* The first instruction of any function that no source may have come to, whatever the rules made of its text: what it does
     * ("reads a clock"), NULL none, and in which function. */
    const char *breaks;
    char breaks_in[128];
    char undefined_name[128]; /* a symbol it would need from elsewhere (device runtime ...), "" */
};

/* report: the compiler's (ptxas -v), may be "".  ATOLL_E_INPUT when it is no cubin. */
int atoll_cubin_read(const void *bytes, size_t length, const char *report, struct atoll_cubin *ret_cubin,
                     struct atoll_err *err);
/* Appends the operations of all functions, a line each with its offset, without operands: their names, widths of accesses and
 * predicates.  ATOLL_E_INPUT when it is no cubin. */
int atoll_cubin_list(const void *bytes, size_t length, struct atoll_buffer *out, struct atoll_err *err);
const struct atoll_cubin_kernel *atoll_cubin_find(const struct atoll_cubin *cubin,
                                                  const char *name); /* or NULL */
/* The most local memory that a thread of these kernels has, functions that they call among it.  -1: no cubin, or one of them is
 * not in it. */
int atoll_cubin_stack(const void *bytes, size_t length, const char *const *kernels, size_t count,
                      uint32_t *ret_bytes, struct atoll_err *err);

/* Theoretical occupancy, 0..1, by registers, shared memory, warps and blocks (CUDA C++ programming guide, "compute
 * capabilities"); *ret_by names what limits it. */
double atoll_cubin_occupancy(const struct atoll_cubin_kernel *kernel,
                             const struct atoll_device_limits *limits, uint32_t threads_per_block,
                             uint32_t dynamic_shared_bytes, enum atoll_occupancy_limit *ret_by);

#endif

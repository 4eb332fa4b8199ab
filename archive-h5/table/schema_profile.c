/* schema_profile.c - the table profiles: a column for each counter and class of instructions (core/profile.h). */
#include "archive-h5/table/schema_columns.h"

static const char *tier_name(unsigned v)
{
    return atoll_tier_name((enum atoll_tier)v);
}

#define COUNTER(index, column, of, text)                                                                     \
    {                                                                                                        \
        .name = column, .type = ATOLL_COLUMN_F64, .offset = FIELD(profile, counters[ATOLL_COUNTER_##index]), \
        .unit = of, .description = text, .may_be_nan = 1                                                     \
    }
#define MIX(index, column, text, when)                                                                       \
    {                                                                                                        \
        .name = "mix_" column, .type = ATOLL_COLUMN_U32, .offset = FIELD(profile, mix[ATOLL_MIX_##index]),   \
        .unit = "", .description = "instructions of the binary: " text, .known = ATOLL_KNOWN_##when          \
    }

#define ADDED_MIX(index, column, text, when)                                                                 \
    {                                                                                                        \
        .name = "mix_" column, .type = ATOLL_COLUMN_U32, .offset = FIELD(profile, mix[ATOLL_MIX_##index]),   \
        .unit = "", .description = "instructions of the binary: " text, .known = ATOLL_KNOWN_##when,         \
        .since = 6                                                                                           \
    }

#define FACT(field, kind, in, text, when)                                                                    \
    {                                                                                                        \
        COLUMN(profile, field, kind, in, text), .known = ATOLL_KNOWN_##when                                  \
    }
#define ADDED_FACT(field, text, when)                                                                        \
    {                                                                                                        \
        COLUMN(profile, field, U32, "", text), .known = ATOLL_KNOWN_##when, .since = 6                       \
    }

const struct atoll_column atoll_profile_columns[ATOLL_PROFILE_COLUMN_COUNT] = {
    OWNER(profile),
    EVENT(profile),
    COL(profile, evaluation, U64, "", "number of the dispatch"),
    COL(profile, candidate, ID, "", "candidate"),
    COL(profile, task, U32, "", "task"),
    COL(profile, device, U64, "", "key of the device"),
    ENUM(profile, tier, tier_name, ATOLL_TIER_COUNT, "what was measured"),
    ENUM(profile, limiter, limiter_name, ATOLL_LIMITER_COUNT,
         "what the kernel is limited by, coarsely; the level or pipe is in evaluations"),
    COL(profile, reason, TEXT, "", "why no higher tier"),
    FACT(clock_hz, F64, "Hz", "median clock of the timed samples, 0 = not known", UNLESS_ZERO),
    COL(profile, throttle_reasons, U64, "", "of the device's monitor, all timing windows together"),
    FACT(intensity_flops_per_byte, F64, "1/B", "useful operations per byte of device memory, 0 = not known",
         UNLESS_ZERO),
    COL(profile, wall_ns, F64, "ns", "what counting cost"),
    FACT(kernel_count, U32, "", "kernels of the plan, 0 = nothing is known of the binary", UNLESS_ZERO),
    FACT(registers, U32, "", "registers per thread, the most of its kernels", OF_GPU),
    FACT(static_shared_bytes, U32, "B", "static shared memory of a block", OF_GPU),
    FACT(dynamic_shared_bytes, U32, "B", "dynamic shared memory of a block", OF_GPU),
    FACT(stack_bytes, U32, "B", "stack of a thread", OF_GPU),
    FACT(spill_store_bytes, U32, "B", "stored by spills, per thread", OF_GPU),
    FACT(spill_load_bytes, U32, "B", "loaded by spills, per thread", OF_GPU),
    FACT(theoretical_occupancy, F64, "", "0..1, the least of its kernels at the first bench variant",
         UNLESS_ZERO),
    COUNTER(SM_THROUGHPUT, "sm_throughput", "%", "throughput of the multiprocessors, share of their peak"),
    COUNTER(DRAM_THROUGHPUT, "dram_throughput", "%", "throughput of device memory, share of its peak"),
    COUNTER(L1_THROUGHPUT, "l1_throughput", "%", "throughput of the first-level caches, share of their peak"),
    COUNTER(L2_THROUGHPUT, "l2_throughput", "%", "throughput of the second-level cache, share of its peak"),
    COUNTER(DRAM_READ_BYTES, "dram_read_bytes", "B", "read from device memory"),
    COUNTER(DRAM_WRITE_BYTES, "dram_write_bytes", "B", "written to device memory"),
    COUNTER(L1_HIT, "l1_hit", "%", "sectors found in the first-level cache"),
    COUNTER(L2_HIT, "l2_hit", "%", "sectors found in the second-level cache"),
    COUNTER(OCCUPANCY, "occupancy", "%", "achieved, share of the warps a multiprocessor holds"),
    COUNTER(ISSUE_ACTIVE, "issue_active", "%", "cycles in which a scheduler issued"),
    COUNTER(INSTRUCTIONS, "instructions", "1", "executed, of warps"),
    COUNTER(TENSOR, "tensor", "%", "tensor pipes, share of their peak"),
    COUNTER(FMA, "fma", "%", "fp32 pipes, share of their peak"),
    COUNTER(ALU, "alu", "%", "integer and logic pipes, share of their peak"),
    COUNTER(FP64, "fp64", "%", "fp64 pipes, share of their peak"),
    COUNTER(XU, "xu", "%", "transcendental pipes, share of their peak"),
    COUNTER(LSU, "lsu", "%", "load and store pipes, share of their peak"),
    COUNTER(BANK_CONFLICTS, "bank_conflicts", "1", "extra wavefronts of shared memory"),
    COUNTER(SHARED_ACCESSES, "shared_accesses", "1", "accesses to shared memory"),
    COUNTER(STALL_LONG_SCOREBOARD, "stall_long_scoreboard", "1",
            "warps that waited per issue, for device memory"),
    COUNTER(STALL_SHORT_SCOREBOARD, "stall_short_scoreboard", "1",
            "the same, for shared memory or the transcendental pipe"),
    COUNTER(STALL_BARRIER, "stall_barrier", "1", "the same, at a barrier"),
    COUNTER(STALL_MIO, "stall_mio", "1", "the same, for the queue of memory instructions"),
    COUNTER(STALL_LG, "stall_lg", "1", "the same, for the queue of local and global memory"),
    COUNTER(STALL_MATH, "stall_math", "1", "the same, for an arithmetic pipe"),
    COUNTER(STALL_WAIT, "stall_wait", "1", "the same, for a fixed latency"),
    COUNTER(STALL_NOT_SELECTED, "stall_not_selected", "1", "ready, but another warp issued"),
    COUNTER(STALL_TENSOR, "stall_tensor", "1", "waited for the tensor pipe"),
    COUNTER(TIME_NS, "counted_time_ns", "ns", "of the counted run: never a measurement"),
    MIX(FP32, "fp32", "fp32 arithmetic", OF_GPU),
    MIX(FP64, "fp64", "fp64 arithmetic", OF_GPU),
    MIX(FP16, "fp16", "packed f16 and bf16 arithmetic", OF_GPU),
    MIX(INTEGER, "integer", "integer and logic", OF_GPU),
    MIX(TRANSCENDENTAL, "transcendental", "transcendental functions", OF_GPU),
    MIX(TENSOR_F16, "tensor_f16", "tensor instructions on f16 and bf16", OF_GPU),
    MIX(TENSOR_TF32, "tensor_tf32", "tensor instructions on tf32", OF_GPU),
    MIX(TENSOR_F8, "tensor_f8", "tensor instructions on f8", OF_GPU),
    MIX(TENSOR_OTHER, "tensor_other", "tensor instructions on f64 and integers", OF_GPU),
    MIX(GLOBAL_LOAD, "global_load", "loads from global memory", OF_GPU),
    MIX(GLOBAL_STORE, "global_store", "stores to global memory", OF_GPU),
    MIX(SHARED, "shared", "shared-memory accesses", OF_GPU),
    MIX(LOCAL, "local", "local memory: spills and stack", OF_GPU),
    MIX(ASYNC_COPY, "async_copy", "asynchronous and bulk copies", OF_GPU),
    MIX(ATOMIC, "atomic", "atomics and reductions", OF_GPU),
    MIX(BARRIER, "barrier", "barriers", OF_GPU),
    MIX(BRANCH, "branch", "branches", OF_GPU),
    MIX(OTHER, "other", "everything else", UNLESS_ZERO),
    ADDED_MIX(WARPGROUP, "wgmma", "of the tensor ones, those of a warp group", OF_GPU),
    ADDED_MIX(BULK_COPY, "bulk_copy", "of the asynchronous copies, those of whole blocks", OF_GPU),
    ADDED_MIX(WIDE_ACCESS, "wide_access", "of loads from and stores to global memory, those of 128 bits",
              OF_GPU),
    ADDED_MIX(VECTOR_128, "vector_128", "of an x86-64 binary, packed arithmetic on 128 bits", OF_X86),
    ADDED_MIX(VECTOR_256, "vector_256", "the same on 256 bits", OF_X86),
    ADDED_MIX(VECTOR_512, "vector_512", "the same on 512 bits", OF_X86),
    ADDED_MIX(FUSED, "fused", "of an x86-64 binary, fused multiply-adds, packed and scalar", OF_X86),
    ADDED_MIX(SCALAR, "scalar", "of an x86-64 binary, arithmetic on one float", OF_X86),
    ADDED_MIX(GATHER, "gather", "of an x86-64 binary, gathers", OF_X86),
    ADDED_FACT(blocks, "of the launch with the most, at the first bench variant, 0 = not known", UNLESS_ZERO),
    ADDED_FACT(threads_per_block, "of that launch", UNLESS_ZERO),
    ADDED_FACT(resident_blocks, "of that launch that a multiprocessor holds at a time", UNLESS_ZERO),
    ADDED_FACT(cluster_blocks, "blocks of the largest cluster", OF_GPU),
    ADDED_ENUM(profile, occupancy_by, occupancy_limit_name, ATOLL_OCCUPANCY_COUNT,
               "what theoretical_occupancy is limited by"),
};

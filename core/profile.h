/* profile.h - why a kernel is as fast as it is: hardware counters, static resources of the binary, and where that puts
 * it (MEASUREMENT.md 1, level 7).  Layer: core.  Plain values; encode/decode for wire and journal (docs/spec/wire.md).
 * The order of both enums is the order in journals and archives: new ones go before COUNT. */
#ifndef ATOLL_CORE_PROFILE_H
#define ATOLL_CORE_PROFILE_H

#include "base/buffer.h"

/* Percentages are 0..100 of the device's peak; a value that was not measured is NaN. */
enum atoll_counter {
    ATOLL_COUNTER_SM_THROUGHPUT,   /* % */
    ATOLL_COUNTER_DRAM_THROUGHPUT, /* % */
    ATOLL_COUNTER_L1_THROUGHPUT,   /* % */
    ATOLL_COUNTER_L2_THROUGHPUT,   /* % */
    ATOLL_COUNTER_DRAM_READ_BYTES,
    ATOLL_COUNTER_DRAM_WRITE_BYTES,
    ATOLL_COUNTER_L1_HIT,         /* % */
    ATOLL_COUNTER_L2_HIT,         /* % */
    ATOLL_COUNTER_OCCUPANCY,      /* achieved, % of the warps an SM holds */
    ATOLL_COUNTER_ISSUE_ACTIVE,   /* % of cycles in which a scheduler issues */
    ATOLL_COUNTER_INSTRUCTIONS,   /* executed, of warps */
    ATOLL_COUNTER_TENSOR,         /* % of the tensor pipes' peak */
    ATOLL_COUNTER_FMA,            /* %, fp32 pipes */
    ATOLL_COUNTER_ALU,            /* % */
    ATOLL_COUNTER_FP64,           /* % */
    ATOLL_COUNTER_XU,             /* %, transcendental */
    ATOLL_COUNTER_LSU,            /* % */
    ATOLL_COUNTER_BANK_CONFLICTS, /* extra shared-memory wavefronts */
    ATOLL_COUNTER_SHARED_ACCESSES,
    /* warps stalled per issue, by reason */
    ATOLL_COUNTER_STALL_LONG_SCOREBOARD, /* device memory */
    ATOLL_COUNTER_STALL_SHORT_SCOREBOARD,
    ATOLL_COUNTER_STALL_BARRIER,
    ATOLL_COUNTER_STALL_MIO,
    ATOLL_COUNTER_STALL_LG,
    ATOLL_COUNTER_STALL_MATH,
    ATOLL_COUNTER_STALL_WAIT,
    ATOLL_COUNTER_STALL_NOT_SELECTED,
    ATOLL_COUNTER_STALL_TENSOR, /* wgmma and friends */
    ATOLL_COUNTER_TIME_NS,      /* of the counted run: never a measurement */
    ATOLL_COUNTER_COUNT
};

/* Classes of machine instructions in the binary, counted statically: up to OTHER each instruction once. */
enum atoll_mix {
    ATOLL_MIX_FP32,
    ATOLL_MIX_FP64,
    ATOLL_MIX_FP16, /* and bf16, packed */
    ATOLL_MIX_INTEGER,
    ATOLL_MIX_TRANSCENDENTAL,
    ATOLL_MIX_TENSOR_F16, /* HMMA, HGMMA: f16 and bf16 */
    ATOLL_MIX_TENSOR_TF32,
    ATOLL_MIX_TENSOR_F8,
    ATOLL_MIX_TENSOR_OTHER, /* f64, integer */
    ATOLL_MIX_GLOBAL_LOAD,
    ATOLL_MIX_GLOBAL_STORE,
    ATOLL_MIX_SHARED,
    ATOLL_MIX_LOCAL,      /* spills and stack */
    ATOLL_MIX_ASYNC_COPY, /* cp.async, bulk copies */
    ATOLL_MIX_ATOMIC,
    ATOLL_MIX_BARRIER,
    ATOLL_MIX_BRANCH,
    ATOLL_MIX_OTHER,
    /* what these are besides: counted above, too */
    ATOLL_MIX_WARPGROUP,   /* of the tensor ones: wgmma */
    ATOLL_MIX_BULK_COPY,   /* of the asynchronous copies: TMA */
    ATOLL_MIX_WIDE_ACCESS, /* of loads from and stores to global memory: 128 bits */
    /* of an x86-64 binary: packed arithmetic by its width, and what of it is fused or scalar */
    ATOLL_MIX_VECTOR_128,
    ATOLL_MIX_VECTOR_256,
    ATOLL_MIX_VECTOR_512,
    ATOLL_MIX_FUSED,  /* multiply-add, packed and scalar */
    ATOLL_MIX_SCALAR, /* arithmetic on one float */
    ATOLL_MIX_GATHER,
    ATOLL_MIX_COUNT
};

/* What the measurement of counters amounts to. */
enum atoll_tier {
    ATOLL_TIER_TIMES,    /* 0: events or clocks only */
    ATOLL_TIER_MONITOR,  /* 1: device monitor (clocks, power, throttling) */
    ATOLL_TIER_STATIC,   /* 2: resources of the binary */
    ATOLL_TIER_COUNTERS, /* 3 */
    ATOLL_TIER_COUNT
};

/* MEMORY and INSTRUCTION are the coarse kinds that a referee tells (atoll_limiter_of); a diagnosis (core/diagnosis.h) names
 * one of the others. */
enum atoll_limiter {
    ATOLL_LIMITER_UNKNOWN,
    ATOLL_LIMITER_MEMORY,      /* near the bandwidth of device memory, L2 or L1 */
    ATOLL_LIMITER_INSTRUCTION, /* near the peak of an arithmetic or issue pipe */
    ATOLL_LIMITER_LATENCY,     /* near neither: waits */
    ATOLL_LIMITER_LAUNCH,      /* near the time of an empty launch */
    ATOLL_LIMITER_DRAM,        /* on cpu: main memory */
    ATOLL_LIMITER_L2,
    ATOLL_LIMITER_L1,
    ATOLL_LIMITER_SHARED,
    ATOLL_LIMITER_BANK_CONFLICTS,
    ATOLL_LIMITER_TENSOR,
    ATOLL_LIMITER_FMA, /* fp32; on cpu: its floating-point units */
    ATOLL_LIMITER_ALU,
    ATOLL_LIMITER_FP64,
    ATOLL_LIMITER_XU,
    ATOLL_LIMITER_LSU,
    ATOLL_LIMITER_ISSUE,
    ATOLL_LIMITER_OCCUPANCY,
    ATOLL_LIMITER_TAIL,   /* too few blocks, or a last wave of few */
    ATOLL_LIMITER_SPILLS, /* accesses to local memory: spilled registers, arrays with variable indices */
    ATOLL_LIMITER_COUNT
};

/* What keeps more warps from being resident. */
enum atoll_occupancy_limit {
    ATOLL_OCCUPANCY_UNKNOWN,
    ATOLL_OCCUPANCY_BLOCKS, /* small ones */
    ATOLL_OCCUPANCY_WARPS, /* none: as many as a multiprocessor holds, or a block that does not divide them */
    ATOLL_OCCUPANCY_REGISTERS,
    ATOLL_OCCUPANCY_SHARED,
    ATOLL_OCCUPANCY_COUNT
};

/* Of the kernel of a plan that needs most, registers and so on as the maximum over its kernels; mix as the sum. */
struct atoll_resources {
    uint32_t kernel_count; /* 0: nothing is known */
    uint32_t registers;    /* per thread */
    uint32_t static_shared_bytes, dynamic_shared_bytes;
    uint32_t stack_bytes, spill_store_bytes, spill_load_bytes; /* per thread */
    double occupancy; /* theoretical, 0..1, the least of its kernels at the first bench variant; 0 unknown */
    uint32_t mix[ATOLL_MIX_COUNT];
    /* of the launch with the most blocks, at the first bench variant; blocks 0: unknown, a record from before it was told */
    uint32_t blocks, threads_per_block, resident_blocks; /* resident: of a multiprocessor */
    uint32_t cluster_blocks;                             /* the largest cluster of a launch; 1: none */
    enum atoll_occupancy_limit occupancy_by;             /* of the kernel that occupancy is of */
};

struct atoll_profile {
    enum atoll_tier tier;
    enum atoll_limiter limiter;
    double counters[ATOLL_COUNTER_COUNT];
    double intensity_flops_per_byte; /* useful operations per byte of device memory moved; 0 unknown */
    double wall_ns;                  /* what counting cost; 0 where the values are those of the same binary */
    /* why no higher tier; at COUNTERS "", or which evaluation of the same binary they were read in */
    char reason[96];
    /* clocks of the timed samples */
    double clock_hz;           /* median of the device-side probe; 0 unknown */
    uint64_t throttle_reasons; /* of the monitor, all windows together */
    struct atoll_resources resources;
};

/* Classes of arithmetic instructions in a mix that are less exact than anything the task allows (bit 1 << enum atoll_mix; 0
 * none): half precision beside no f16, bf16 or f8, matrix products of factors with fewer bits than its precisions have.
 * Packed half instructions of a task with tensors of such a type are conversions, and are not counted. */
struct atoll_task;
unsigned atoll_mix_beyond(const uint32_t mix[ATOLL_MIX_COUNT], const struct atoll_task *task);
/* Of what instructions do besides (the same bits: FP16 conversions to f16 or bf16 and functions of them, TENSOR_TF32 and
 * TENSOR_F8 conversions to these types, TENSOR_OTHER products of integers), what neither a precision of the task nor a tensor's
 * type accounts for. */
unsigned atoll_conversions_beyond(unsigned conversions, const struct atoll_task *task);
/* Their names, "tensor_f16, fp16"; returns text. */
const char *atoll_mix_names(unsigned set, char *text, size_t bytes);

void atoll_profile_init(struct atoll_profile *profile); /* counters NaN, the rest 0 */
/* 1 when nothing in it is known: as init leaves it. */
int atoll_profile_is_empty(const struct atoll_profile *profile);
/* A number beyond its range (docs/spec/wire.md) travels as unknown: a counter as NaN, anything else as 0. */
void atoll_profile_encode(const struct atoll_profile *profile, struct atoll_buffer *out);
/* Takes one profile; hostile input: enums and numbers are checked, trouble is the reader's sticky failure. */
void atoll_profile_decode(struct atoll_reader *reader, struct atoll_profile *ret_profile);

const char *
atoll_counter_name(enum atoll_counter counter); /* "dram_throughput": columns, JSON; "unknown" beyond */
const char *atoll_counter_unit(enum atoll_counter counter); /* "%", "bytes", "1", "ns" */
const char *atoll_mix_name(enum atoll_mix mix);
const char *atoll_tier_name(enum atoll_tier tier);
const char *atoll_limiter_name(enum atoll_limiter limiter);
const char *atoll_occupancy_limit_name(enum atoll_occupancy_limit limit); /* "registers" */

/* Where a kernel stands.  time_ns: its median; empty_launch_ns: of the device; counters NaN where unknown.  Pure.
 * Thresholds: a pipe or memory above 60 % of its peak limits, the larger of both; below all of that it waits
 * (latency); at less than three empty launches it is the launch.  Unknown where none that was counted limits, and no
 * pipe, no memory or not the double-precision or transcendental pipe was counted that the binary has instructions for. */
enum atoll_limiter atoll_limiter_of(const struct atoll_profile *profile, double time_ns,
                                    double empty_launch_ns);

#endif

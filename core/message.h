/* message.h - what coordinator and evaluators say to each other: frame types and payloads
 * (docs/spec/wire.md).
 * Layer: core.  Both directions travel the same over a socket pair and over MPI.  Every decoder treats its
 * input as hostile: bounds, enums, NaN; an error is one bad message, never an abort. */
#ifndef ATOLL_CORE_MESSAGE_H
#define ATOLL_CORE_MESSAGE_H

#include "base/buffer.h"
#include "core/evaluation.h"
#include "core/plan/plan.h"

enum atoll_message_type {
    /* evaluator -> coordinator */
    ATOLL_MSG_HELLO = 1, /* struct atoll_device_info */
    ATOLL_MSG_REQUEST,   /* u32 how many orders it wants in hand, all together */
    ATOLL_MSG_EVALUATED, /* struct atoll_evaluation */
    ATOLL_MSG_DUELLED,   /* struct atoll_duel */
    ATOLL_MSG_HEARTBEAT, /* struct atoll_pulse */
    /* u32 enum atoll_code, text: the evaluator cannot go on (no compiler, device quarantined) */
    ATOLL_MSG_FAILED,
    ATOLL_MSG_PLACE, /* struct atoll_evaluator_location (evaluator_location.h); before HELLO, and from one that has no device instead of it */
    ATOLL_MSG_RIVALLED,    /* struct atoll_rival (rival.h) */
    ATOLL_MSG_DEVICE_TIME, /* struct atoll_time_report (device_time.h) */
    ATOLL_MSG_TOOLED,      /* struct atoll_tool_answer (tool.h) */
    /* coordinator -> evaluator */
    ATOLL_MSG_SETUP = 32, /* struct atoll_setup */
    ATOLL_MSG_TASK,       /* u32 task number, blob: atoll_task_encode */
    ATOLL_MSG_EVALUATE,   /* struct atoll_order, one candidate */
    ATOLL_MSG_DUEL,       /* struct atoll_order, two candidates, or one and a rival */
    ATOLL_MSG_ACK,        /* u64 evaluation: its result is durable */
    ATOLL_MSG_STOP,       /* empty: finish nothing, leave */
    /* made by the transport when the peer is gone: u8 0 it is started again, 1 for good */
    ATOLL_MSG_PEER_LOST,
    ATOLL_MSG_RIVAL, /* struct atoll_order, one rival; coordinator -> evaluator */
    ATOLL_MSG_TOOL,  /* struct atoll_tool_order (tool.h); coordinator -> evaluator */
    ATOLL_MSG_TYPE_COUNT
};

/* What a device API can launch, and facts that plans and prompts use; on cpu all 0 but memory, target and tensor rates. */
struct atoll_device_limits {
    uint32_t compute_capability; /* 90 */
    uint32_t multiprocessors, warp_size;
    uint32_t threads_per_block, threads_per_multiprocessor, blocks_per_multiprocessor;
    uint32_t registers_per_multiprocessor, registers_per_block;
    uint32_t shared_bytes_per_block; /* with opt-in, static and dynamic together */
    uint32_t shared_bytes_per_multiprocessor;
    uint32_t cluster_blocks;    /* most in one cluster; 0 = no clusters */
    uint32_t cooperative;       /* 1: cooperative launches */
    uint32_t grid[3], block[3]; /* largest extents */
    double
        memory_bytes; /* all of the device's; cpu: of the machine, or what limits leave of it (base/memory_limit.h) */
    double clock_hz, memory_clock_hz;
    /* measured rates of the tensor units by the type of their factors, operations per second; the last is tf32 */
    double tensor_flops[ATOLL_DTYPE_COUNT + 1];
    char driver[32];      /* "580.126.09, CUDA 13.0" */
    char target[16];      /* of its compiler: "sm_90a" */
    char counters[96];    /* "open", or why they are not */
    uint32_t host_memory; /* 1: the device can address pageable host memory */
};

/* One device as measured by its evaluator. */
struct atoll_device_info {
    uint64_t key;     /* stable hash of uuid (or of host and cores on cpu): equal over restarts */
    char backend[16]; /* "cpu" */
    char model[96];   /* "Intel(R) Xeon(R) Processor" */
    char uuid[64];
    char node[64];
    char toolchain[512];                  /* "gcc 12.2.0 -O3 ..." */
    uint32_t threads;                     /* of a candidate, cpu */
    double bandwidth_bytes_per_s;         /* calibrated; 0 = not yet */
    double peak_flops[ATOLL_DTYPE_COUNT]; /* per arithmetic type, 0 = not measured */
    double empty_launch_ns, clock_resolution_ns;
    double last_level_cache_bytes;
    char isolation[256]; /* what containment this node gives: "seccomp landlock-7 rlimit ..." */
    struct atoll_device_limits limits;
    char torch
        [96]; /* what measures rivals: "torch 2.11.0, CUDA 13.0, Triton 3.5"; "" none: it measures none */
};
void atoll_device_info_encode(const struct atoll_device_info *d, struct atoll_buffer *out);
int atoll_device_info_decode(const void *bytes, size_t length, struct atoll_device_info *ret_info,
                             struct atoll_err *err);

/* Heartbeat with what the evaluator did so far, cumulative. */
struct atoll_pulse {
    double uptime_ns, occupied_ns, candidate_ns, compile_ns, idle_ns;
    uint32_t queued, compiling, worker_restarts;
};
void atoll_pulse_encode(const struct atoll_pulse *p, struct atoll_buffer *out);
int atoll_pulse_decode(const void *bytes, size_t length, struct atoll_pulse *ret_pulse,
                       struct atoll_err *err);

/* Settings that hold for the whole run. */
struct atoll_setup {
    uint8_t secret[32];      /* seeds of all draws derive from it; never leaves coordinator and referees */
    double sample_device_ns; /* device time one candidate's sampling may take, default 1e9 */
    double sample_wall_ns;   /* wall time of the same, with inputs, flush and checks */
    uint32_t sample_min;     /* default 7 */
    double interval_target;  /* 0.005 */
    uint32_t full_compares;  /* 5 */
    uint32_t threads;        /* 0 = all cores of the device but one */
    double compile_deadline_ns;
    uint64_t compile_memory_bytes;
    double sanitize_deadline_ns; /* of a finalist under compute-sanitizer; 0: it is not put there */
    char compiler[256];          /* "cc" */
    char compile_flags[512];     /* "-O3 -march=native ..." */
    uint32_t backend_null;       /* 1: measure nothing, answer at once (bench/ only) */
    char backend[16];            /* "cpu", "cuda" */
    char include_path[256];      /* cuda: where CUTLASS and the like lie, "" none */
    char python[256];     /* Python with torch: a path, "auto" (the evaluator looks), "" or "none": none */
    uint32_t is_warm;     /* 1: timed right after an untimed launch and without a flush; 0: cold caches */
    uint32_t profile_all; /* 1: counters of every correct candidate, 0: of those near their cell's elite */
    double profile_ratio; /* near: at most this many times the elite's time; 0 = no counters; default 1.5 */
    /* near: share of the device's time that counters may take, but for the best of each task; default 0.1 */
    double profile_budget;
    uint32_t
        wants_triton; /* cuda: 1: sources in Triton may come (setting triton), so its interpreter starts at once */
};
void atoll_setup_encode(const struct atoll_setup *s, struct atoll_buffer *out);
int atoll_setup_decode(const void *bytes, size_t length, struct atoll_setup *ret_setup,
                       struct atoll_err *err);

/* A candidate as it travels; texts borrowed from the arena of the decoder or from the sender. */
struct atoll_order_candidate {
    struct atoll_id id;
    const char *language;
    const char *source;
    struct atoll_choice choice;
};

enum atoll_order_kind { ATOLL_ORDER_EVALUATE, ATOLL_ORDER_DUEL, ATOLL_ORDER_RIVAL, ATOLL_ORDER_KIND_COUNT };

struct atoll_order {
    uint64_t evaluation;
    uint32_t task;
    enum atoll_order_kind kind;
    enum atoll_duel_purpose purpose;        /* duel */
    struct atoll_order_candidate candidate; /* evaluate: it; duel: the challenger; rival: none */
    struct atoll_order_candidate elite;     /* duel only, and none of purpose RIVAL */
    double baseline_ns;                     /* 0 unknown; deadline = clamp(20 x baseline, 0.2 s, 10 s) */
    double incumbent_ns; /* evaluate: the elite of its cell; drop early when clearly slower; 0 = none */
    /* evaluate: the same at one variant, where that is known; where it is at all, their mean counts if less; 0 = none */
    double bars_ns[ATOLL_TASK_VARIANT_LIMIT];
    double alpha, margin; /* duel: error rate of this challenge; ln(1.01) */
    uint32_t pair_limit;  /* duel */
    uint32_t rival; /* rival: its number in the task; duel of purpose RIVAL: the fastest over all variants */
    /* duel of purpose RIVAL: the rival at each bench variant, the fastest there */
    uint8_t rivals[ATOLL_TASK_VARIANT_LIMIT];
    double limit_ns; /* rival: how long it may take, compiling included; 0 = as long as the referee lets it */
};
/* 1: the candidate of this order is compared with another candidate. */
static inline int atoll_order_has_elite(const struct atoll_order *o)
{
    return o->kind == ATOLL_ORDER_DUEL && o->purpose != ATOLL_DUEL_RIVAL;
}
void atoll_order_encode(const struct atoll_order *o, struct atoll_buffer *out);
struct atoll_arena;
int atoll_order_decode(const void *bytes, size_t length, struct atoll_arena *arena,
                       struct atoll_order *ret_order, struct atoll_err *err);

#endif

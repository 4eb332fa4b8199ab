/* issue.h - what can be wrong with a kernel that is correct, and which stage of staged optimisation works on it
 * (ALGORITHMS.md 9; papers/002 IV-A and IV-C, whose categories are told here for any language).
 * Layer: core, pure tables; threads and processes may call anything at any time.  The order of both enums is the order
 * in journals: new ones go before COUNT. */
#ifndef ATOLL_CORE_ISSUE_H
#define ATOLL_CORE_ISSUE_H

#include <stddef.h>
#include <stdint.h>

/* In the order that is used where no planner says otherwise. */
enum atoll_issue_stage {
    ATOLL_ISSUE_STAGE_ALGORITHM,
    ATOLL_ISSUE_STAGE_DISCOVERY,
    ATOLL_ISSUE_STAGE_DTYPE,
    ATOLL_ISSUE_STAGE_FUSION,
    ATOLL_ISSUE_STAGE_MEMORY,
    ATOLL_ISSUE_STAGE_ADDRESSING, /* block-level: block pointers, bulk copies */
    ATOLL_ISSUE_STAGE_PERSISTENT,
    ATOLL_ISSUE_STAGE_DEVICE,
    ATOLL_ISSUE_STAGE_TUNING,
    ATOLL_ISSUE_STAGE_COUNT
};

/* A mask of issues has bit i for issue i. */
enum atoll_issue {
    ATOLL_ISSUE_REDUNDANT_WORK,
    ATOLL_ISSUE_LOOP_INVARIANT,
    ATOLL_ISSUE_SERIAL_REDUCTION,
    ATOLL_ISSUE_STRUCTURE_UNUSED,
    ATOLL_ISSUE_DIRECT_FORMULATION,
    ATOLL_ISSUE_EXPENSIVE_MATH,
    ATOLL_ISSUE_OPEN_ENDED,
    ATOLL_ISSUE_FAR_FROM_FLOOR,
    ATOLL_ISSUE_DTYPE_FLOAT64,
    ATOLL_ISSUE_DTYPE_PRECISION,
    ATOLL_ISSUE_DTYPE_CONVERSION,
    ATOLL_ISSUE_UNFUSED_KERNELS,
    ATOLL_ISSUE_UNFUSED_ELEMENTWISE,
    ATOLL_ISSUE_UNFUSED_REDUCTION,
    ATOLL_ISSUE_FUSION_INTERMEDIATE,
    ATOLL_ISSUE_FUSION_PRESSURE,
    ATOLL_ISSUE_FUSION_NOOP,
    ATOLL_ISSUE_UNCOALESCED_ACCESS,
    ATOLL_ISSUE_NARROW_ACCESS,
    ATOLL_ISSUE_MISSING_TILES,
    ATOLL_ISSUE_MISSING_REGISTER_BLOCKING,
    ATOLL_ISSUE_MISSING_PREFETCH,
    ATOLL_ISSUE_BANK_CONFLICTS,
    ATOLL_ISSUE_STRIDED_INPUT,
    ATOLL_ISSUE_LONG_LIVENESS,
    ATOLL_ISSUE_REGISTER_PRESSURE,
    ATOLL_ISSUE_MANUAL_ADDRESSING,
    ATOLL_ISSUE_MISSING_BULK_COPY,
    ATOLL_ISSUE_WIDE_INDICES,
    ATOLL_ISSUE_BOUNDS_IN_LOOP,
    ATOLL_ISSUE_MISSING_PERSISTENT,
    ATOLL_ISSUE_WORKERS_HARDCODED,
    ATOLL_ISSUE_UNEVEN_WAVES,
    ATOLL_ISSUE_LAUNCH_BOUND,
    ATOLL_ISSUE_LOW_OCCUPANCY,
    ATOLL_ISSUE_TILE_SIZE,
    ATOLL_ISSUE_NO_SWIZZLING,
    ATOLL_ISSUE_MATRIX_UNITS_UNUSED,
    ATOLL_ISSUE_NO_COOPERATION,
    ATOLL_ISSUE_SUBGROUPS_UNUSED,
    ATOLL_ISSUE_EXCESS_BARRIERS,
    ATOLL_ISSUE_ATOMIC_CONTENTION,
    ATOLL_ISSUE_SLOW_INTRINSIC,
    ATOLL_ISSUE_SERIALISED_TILES,
    ATOLL_ISSUE_OPEN_PARAMETERS,
    ATOLL_ISSUE_FIXED_PARAMETERS,
    ATOLL_ISSUE_COUNT
};

#define ATOLL_ISSUE_SEVERITY_LIMIT 5

/* severity: 1..5 where an analyser states none; it orders the issues of a stage for whoever reads them, and never
 * decides whether the stage runs (papers/002 IV-C 1).  The values are ours: how much such an issue can cost. */
struct atoll_issue_row {
    const char *name;    /* "serial_reduction" */
    const char *meaning; /* one line, to be read after "the kernel:" */
    enum atoll_issue_stage stage;
    unsigned severity;
};

/* NULL outside of the enum. */
const struct atoll_issue_row *atoll_issue_row(enum atoll_issue issue);
/* "algorithm" ...; "unknown" outside. */
const char *atoll_stage_name(enum atoll_issue_stage stage);

/* Those that a kernel in a language can have: of C none that blocks, waves, barriers and atomics of a device make. */
uint64_t atoll_issues_of_language(const char *language);
/* Those issues of the mask that a stage works on. */
uint64_t atoll_issues_of_stage(uint64_t issues, enum atoll_issue_stage stage);
/* Bit per stage that has one of the issues. */
uint32_t atoll_issue_stages(uint64_t issues);

/* 1 when a has to be over before b begins.  Precedences are an order: they hold across stages that are skipped. */
int atoll_stage_precedes(enum atoll_issue_stage a, enum atoll_issue_stage b);
/* A legal order of exactly these stages (a bit each): as wished as far as the precedences allow, stages
 * that were not wished after those that were.  wished: hostile, may be NULL when count is 0; of equal entries the
 * first counts, what is none of the stages is ignored.  Returns how many; the same arguments give the same. */
size_t atoll_stage_order_complete(uint32_t stages, const uint8_t *wished, size_t count,
                                  uint8_t ret_order[ATOLL_ISSUE_STAGE_COUNT]);

/* What is known of a kernel without reading it. */
struct atoll_issue_evidence {
    unsigned cell;           /* behaviour, 0..63 */
    unsigned higher;         /* bit per dimension: the task has a correct kernel on a higher level of it */
    double time_ns;          /* of the kernel, > 0 */
    double floor_ns;         /* of the task on this device, 0 = unknown */
    int has_open_parameters; /* its template has combinations that were not tried */
    uint64_t shown;          /* by its measurement (atoll_issues_of_diagnosis) */
};
struct atoll_diagnosis;
struct atoll_resources;
/* The issues that a diagnosis of a correct kernel shows: of what limits it, what its warps wait for and what the binary does not use.
 * resources: of the binary, NULL unknown. */
uint64_t atoll_issues_of_diagnosis(const struct atoll_diagnosis *diagnosis,
                                   const struct atoll_resources *resources);

/* The issues that follow from it: none at the floor; the next level of a dimension only where the task has a kernel up
 * there; types that only a reader of the source can see are never among them. */
uint64_t atoll_issues_of(const struct atoll_issue_evidence *evidence);

#endif

#include "core/issue.h"

#include <string.h>

#include "core/diagnosis.h"
#include "core/fitness.h"

#define BIT(n)       (UINT64_C(1) << (n))
#define STAGE(name)  ((uint32_t)1 << ATOLL_ISSUE_STAGE_##name)
#define STAGES_KNOWN (((uint32_t)1 << ATOLL_ISSUE_STAGE_COUNT) - 1)
#define AT_FLOOR     1.01 /* time over floor: less is left than a promotion asks for (MEASUREMENT.md 5) */
#define FAR          2.0  /* time over floor: more than half of the time is not explained by it */
#define DIMENSIONS   3
#define TOP_LEVEL    3

#define ROW(id, label, in_stage, how_bad, text)                                                              \
    [ATOLL_ISSUE_##id] = {label, text, ATOLL_ISSUE_STAGE_##in_stage, how_bad}

static const struct atoll_issue_row rows[ATOLL_ISSUE_COUNT] = {
    ROW(REDUNDANT_WORK, "redundant_work", ALGORITHM, 4, "the same value is computed more than once"),
    ROW(LOOP_INVARIANT, "loop_invariant", ALGORITHM, 2, "work inside a loop does not depend on the loop"),
    ROW(SERIAL_REDUCTION, "serial_reduction", ALGORITHM, 4,
        "one worker accumulates what a tree could reduce"),
    ROW(STRUCTURE_UNUSED, "structure_unused", ALGORITHM, 3,
        "symmetry, zeros or repetition in the data are computed as if they were not there"),
    ROW(DIRECT_FORMULATION, "direct_formulation", ALGORITHM, 4,
        "it computes as the reference says it, where a reformulation needs fewer passes or operations"),
    ROW(EXPENSIVE_MATH, "expensive_math", ALGORITHM, 2,
        "divisions, roots or transcendental functions that an identity removes"),
    ROW(OPEN_ENDED, "open_ended", DISCOVERY, 3, "an opportunity that no other type names"),
    ROW(FAR_FROM_FLOOR, "far_from_floor", DISCOVERY, 3,
        "most of its time is explained neither by bandwidth nor by peak arithmetic"),
    ROW(DTYPE_FLOAT64, "dtype_float64", DTYPE, 5, "double precision where the tolerance does not need it"),
    ROW(DTYPE_PRECISION, "dtype_precision", DTYPE, 3,
        "intermediate values are wider than the allowed precisions and the tolerance need"),
    ROW(DTYPE_CONVERSION, "dtype_conversion", DTYPE, 2, "inputs are converted again at every use"),
    ROW(UNFUSED_KERNELS, "unfused_kernels", FUSION, 4, "separate launches read what the one before wrote"),
    ROW(UNFUSED_ELEMENTWISE, "unfused_elementwise", FUSION, 3, "an element-wise step is a pass of its own"),
    ROW(UNFUSED_REDUCTION, "unfused_reduction", FUSION, 3,
        "a reduction and what uses its result are separate passes over the data"),
    ROW(FUSION_INTERMEDIATE, "fusion_intermediate", FUSION, 4,
        "an intermediate result goes through device memory"),
    ROW(FUSION_PRESSURE, "fusion_pressure", FUSION, 3,
        "so much is fused that registers spill: part of it belongs apart"),
    ROW(FUSION_NOOP, "fusion_noop", FUSION, 2, "an operation does not change the result"),
    ROW(UNCOALESCED_ACCESS, "uncoalesced_access", MEMORY, 5,
        "neighbouring workers access addresses that are not neighbours"),
    ROW(NARROW_ACCESS, "narrow_access", MEMORY, 3, "single elements are accessed where vectors would do"),
    ROW(MISSING_TILES, "missing_tiles", MEMORY, 4, "data that is used again is loaded again from far memory"),
    ROW(MISSING_REGISTER_BLOCKING, "missing_register_blocking", MEMORY, 3,
        "operands come from near memory once per operation instead of being kept in registers"),
    ROW(MISSING_PREFETCH, "missing_prefetch", MEMORY, 3, "loads are waited for instead of being overlapped"),
    ROW(BANK_CONFLICTS, "bank_conflicts", MEMORY, 3,
        "accesses to near memory fall on the same banks or sets"),
    ROW(STRIDED_INPUT, "strided_input", MEMORY, 2, "an input is walked across its rows"),
    ROW(LONG_LIVENESS, "long_liveness", MEMORY, 2, "values are loaded long before they are used"),
    ROW(REGISTER_PRESSURE, "register_pressure", MEMORY, 4, "registers spill to memory"),
    ROW(MANUAL_ADDRESSING, "manual_addressing", ADDRESSING, 2,
        "addresses of tiles are computed by hand for every element"),
    ROW(MISSING_BULK_COPY, "missing_bulk_copy", ADDRESSING, 3,
        "tiles are copied by the workers where the hardware copies whole blocks"),
    ROW(WIDE_INDICES, "wide_indices", ADDRESSING, 1, "64-bit index arithmetic in an inner loop"),
    ROW(BOUNDS_IN_LOOP, "bounds_in_loop", ADDRESSING, 2,
        "bounds are checked inside the inner loop instead of only for the last tile"),
    ROW(MISSING_PERSISTENT, "missing_persistent", PERSISTENT, 3,
        "one block per tile where a fixed number of blocks could walk over all tiles"),
    ROW(WORKERS_HARDCODED, "workers_hardcoded", PERSISTENT, 2,
        "the number of blocks is a constant that does not follow from the device"),
    ROW(UNEVEN_WAVES, "uneven_waves", PERSISTENT, 3,
        "the last wave of blocks leaves most of the device idle"),
    ROW(LAUNCH_BOUND, "launch_bound", PERSISTENT, 3, "launches take a good part of the time"),
    ROW(LOW_OCCUPANCY, "low_occupancy", DEVICE, 3, "too few workers are resident to hide latency"),
    ROW(TILE_SIZE, "tile_size", DEVICE, 4, "tiles fit neither the problem's shape nor the device"),
    ROW(NO_SWIZZLING, "no_swizzling", DEVICE, 2, "blocks that run together share little in the last cache"),
    ROW(MATRIX_UNITS_UNUSED, "matrix_units_unused", DEVICE, 5,
        "products of matrices do not use the matrix units that an allowed precision has"),
    ROW(NO_COOPERATION, "no_cooperation", DEVICE, 2, "workers of a block do not share what they compute"),
    ROW(SUBGROUPS_UNUSED, "subgroups_unused", DEVICE, 2,
        "block-wide exchange where shuffles, votes or reductions of a sub-group would do"),
    ROW(EXCESS_BARRIERS, "excess_barriers", DEVICE, 2, "barriers that nothing needs"),
    ROW(ATOMIC_CONTENTION, "atomic_contention", DEVICE, 3, "many workers update the same address"),
    ROW(SLOW_INTRINSIC, "slow_intrinsic", DEVICE, 2,
        "a library function where a device instruction is accurate enough"),
    ROW(SERIALISED_TILES, "serialised_tiles", DEVICE, 3,
        "tiles that do not depend on each other are a chain"),
    ROW(OPEN_PARAMETERS, "open_parameters", TUNING, 3, "its template has combinations that were not tried"),
    ROW(FIXED_PARAMETERS, "fixed_parameters", TUNING, 3, "sizes are constants that could be parameters"),
};

static const char *const stage_names[ATOLL_ISSUE_STAGE_COUNT] = {
    [ATOLL_ISSUE_STAGE_ALGORITHM] = "algorithm",   [ATOLL_ISSUE_STAGE_DISCOVERY] = "discovery",
    [ATOLL_ISSUE_STAGE_DTYPE] = "dtype",           [ATOLL_ISSUE_STAGE_FUSION] = "fusion",
    [ATOLL_ISSUE_STAGE_MEMORY] = "memory",         [ATOLL_ISSUE_STAGE_ADDRESSING] = "addressing",
    [ATOLL_ISSUE_STAGE_PERSISTENT] = "persistent", [ATOLL_ISSUE_STAGE_DEVICE] = "device",
    [ATOLL_ISSUE_STAGE_TUNING] = "tuning",
};

/* The stages right before each one (papers/002 IV-A). */
static const uint32_t before[ATOLL_ISSUE_STAGE_COUNT] = {
    [ATOLL_ISSUE_STAGE_DTYPE] = STAGE(ALGORITHM) | STAGE(DISCOVERY),
    [ATOLL_ISSUE_STAGE_FUSION] = STAGE(ALGORITHM) | STAGE(DISCOVERY) | STAGE(DTYPE),
    [ATOLL_ISSUE_STAGE_ADDRESSING] = STAGE(MEMORY),
    [ATOLL_ISSUE_STAGE_DEVICE] = STAGE(FUSION) | STAGE(ADDRESSING),
    [ATOLL_ISSUE_STAGE_TUNING] = STAGE(DEVICE),
};

/* What a level below the top lacks, per dimension (ALGORITHMS.md 1). */
static const enum atoll_issue lacks[DIMENSIONS][TOP_LEVEL] = {
    {ATOLL_ISSUE_UNCOALESCED_ACCESS, ATOLL_ISSUE_MISSING_TILES, ATOLL_ISSUE_MISSING_REGISTER_BLOCKING},
    {ATOLL_ISSUE_UNFUSED_ELEMENTWISE, ATOLL_ISSUE_DIRECT_FORMULATION, ATOLL_ISSUE_OPEN_ENDED},
    {ATOLL_ISSUE_NO_COOPERATION, ATOLL_ISSUE_SUBGROUPS_UNUSED, ATOLL_ISSUE_MISSING_PERSISTENT},
};

const struct atoll_issue_row *atoll_issue_row(enum atoll_issue issue)
{
    return (unsigned)issue < ATOLL_ISSUE_COUNT ? &rows[issue] : NULL;
}

const char *atoll_stage_name(enum atoll_issue_stage stage)
{
    return (unsigned)stage < ATOLL_ISSUE_STAGE_COUNT ? stage_names[stage] : "unknown";
}

uint64_t atoll_issues_of_language(const char *language)
{
    static const uint64_t of_devices =
        BIT(ATOLL_ISSUE_MISSING_BULK_COPY) | BIT(ATOLL_ISSUE_MISSING_PERSISTENT) |
        BIT(ATOLL_ISSUE_WORKERS_HARDCODED) | BIT(ATOLL_ISSUE_UNEVEN_WAVES) | BIT(ATOLL_ISSUE_LOW_OCCUPANCY) |
        BIT(ATOLL_ISSUE_NO_COOPERATION) | BIT(ATOLL_ISSUE_SUBGROUPS_UNUSED) |
        BIT(ATOLL_ISSUE_EXCESS_BARRIERS) | BIT(ATOLL_ISSUE_ATOMIC_CONTENTION);
    uint64_t all = BIT(ATOLL_ISSUE_COUNT) - 1;
    return strcmp(language, "c") == 0 ? all & ~of_devices : all;
}

uint64_t atoll_issues_of_stage(uint64_t issues, enum atoll_issue_stage stage)
{
    uint64_t of_stage = 0;
    for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++)
        if (rows[i].stage == stage)
            of_stage |= issues & BIT(i);
    return of_stage;
}

uint32_t atoll_issue_stages(uint64_t issues)
{
    uint32_t stages = 0;
    for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++)
        if (issues & BIT(i))
            stages |= (uint32_t)1 << rows[i].stage;
    return stages;
}

/* All stages that have to be over before a stage; the table goes from earlier to later stages only. */
static uint32_t all_before(unsigned stage)
{
    uint32_t all = before[stage];
    for (unsigned earlier = stage; earlier-- > 0;)
        if (all >> earlier & 1)
            all |= before[earlier];
    return all;
}

int atoll_stage_precedes(enum atoll_issue_stage a, enum atoll_issue_stage b)
{
    return (unsigned)a < ATOLL_ISSUE_STAGE_COUNT && (unsigned)b < ATOLL_ISSUE_STAGE_COUNT &&
           (all_before(b) >> a & 1);
}

/* What is wanted first of what is left and may begin. */
static uint8_t next_of(const uint8_t *wanted, size_t count, uint32_t left)
{
    size_t i = 0;
    while (i + 1 < count && (!(left >> wanted[i] & 1) || (all_before(wanted[i]) & left)))
        i++;
    return wanted[i];
}

size_t atoll_stage_order_complete(uint32_t stages, const uint8_t *wished, size_t count,
                                  uint8_t ret_order[ATOLL_ISSUE_STAGE_COUNT])
{
    uint8_t wanted[ATOLL_ISSUE_STAGE_COUNT];
    uint32_t missing = stages &= STAGES_KNOWN;
    size_t wanted_count = 0, ordered = 0;
    for (size_t i = 0; i < count; i++) {
        if (wished[i] < ATOLL_ISSUE_STAGE_COUNT && (missing >> wished[i] & 1)) {
            wanted[wanted_count++] = wished[i];
            missing &= ~((uint32_t)1 << wished[i]);
        }
    }
    for (unsigned stage = 0; stage < ATOLL_ISSUE_STAGE_COUNT; stage++)
        if (missing >> stage & 1)
            wanted[wanted_count++] = (uint8_t)stage;
    for (uint32_t left = stages; left; left &= ~((uint32_t)1 << ret_order[ordered++]))
        ret_order[ordered] = next_of(wanted, wanted_count, left);
    return ordered;
}

uint64_t atoll_issues_of(const struct atoll_issue_evidence *evidence)
{
    unsigned levels[DIMENSIONS] = {evidence->cell / 16 % 4, evidence->cell / 4 % 4, evidence->cell % 4};
    double floor_ns = atoll_floor_trusted_ns(evidence->floor_ns, evidence->time_ns);
    double ratio = floor_ns > 0 ? evidence->time_ns / floor_ns : 0;
    uint64_t issues = evidence->has_open_parameters ? BIT(ATOLL_ISSUE_OPEN_PARAMETERS) : 0;
    if (ratio > 0 && ratio < AT_FLOOR)
        return 0;
    if (ratio > FAR)
        issues |= BIT(ATOLL_ISSUE_FAR_FROM_FLOOR);
    for (unsigned d = 0; d < DIMENSIONS; d++)
        if (levels[d] < TOP_LEVEL && (evidence->higher >> d & 1))
            issues |= BIT(lacks[d][levels[d]]);
    return issues | evidence->shown;
}

#define ISSUE(id) BIT(ATOLL_ISSUE_##id)
#define MOVES_TWICE                                                                                          \
    (2.0 / 3) /* bytes that have to be moved over those that are: below it tiles or passes are missing */

static const uint64_t of_limiter[ATOLL_LIMITER_COUNT] = {
    [ATOLL_LIMITER_L2] = ISSUE(TILE_SIZE) | ISSUE(NO_SWIZZLING),
    [ATOLL_LIMITER_L1] = ISSUE(UNCOALESCED_ACCESS) | ISSUE(NARROW_ACCESS),
    [ATOLL_LIMITER_SHARED] = ISSUE(MISSING_REGISTER_BLOCKING),
    [ATOLL_LIMITER_BANK_CONFLICTS] = ISSUE(BANK_CONFLICTS),
    [ATOLL_LIMITER_ALU] = ISSUE(WIDE_INDICES) | ISSUE(MANUAL_ADDRESSING),
    [ATOLL_LIMITER_FP64] = ISSUE(DTYPE_FLOAT64),
    [ATOLL_LIMITER_XU] = ISSUE(EXPENSIVE_MATH) | ISSUE(SLOW_INTRINSIC),
    [ATOLL_LIMITER_LSU] = ISSUE(NARROW_ACCESS),
    [ATOLL_LIMITER_ISSUE] = ISSUE(LOOP_INVARIANT) | ISSUE(BOUNDS_IN_LOOP),
    [ATOLL_LIMITER_OCCUPANCY] = ISSUE(LOW_OCCUPANCY),
    [ATOLL_LIMITER_TAIL] = ISSUE(UNEVEN_WAVES),
    [ATOLL_LIMITER_SPILLS] = ISSUE(REGISTER_PRESSURE),
    [ATOLL_LIMITER_LAUNCH] = ISSUE(LAUNCH_BOUND),
};

/* Where waiting limits. */
static const uint64_t of_stall[ATOLL_STALL_COUNT] = {
    [ATOLL_STALL_LONG_SCOREBOARD] = ISSUE(MISSING_PREFETCH),
    [ATOLL_STALL_SHORT_SCOREBOARD] = ISSUE(MISSING_REGISTER_BLOCKING),
    [ATOLL_STALL_BARRIER] = ISSUE(EXCESS_BARRIERS),
    [ATOLL_STALL_MIO] = ISSUE(MISSING_REGISTER_BLOCKING),
    [ATOLL_STALL_LG] = ISSUE(UNCOALESCED_ACCESS) | ISSUE(NARROW_ACCESS),
    [ATOLL_STALL_WAIT] = ISSUE(SERIAL_REDUCTION),
    [ATOLL_STALL_TENSOR] = ISSUE(SERIALISED_TILES),
};

static const uint64_t of_unused[ATOLL_UNUSED_COUNT] = {
    [ATOLL_UNUSED_TENSOR] = ISSUE(MATRIX_UNITS_UNUSED),
    [ATOLL_UNUSED_WARPGROUP] = ISSUE(MATRIX_UNITS_UNUSED),
    [ATOLL_UNUSED_BULK_COPY] = ISSUE(MISSING_BULK_COPY),
    [ATOLL_UNUSED_ASYNC_COPY] = ISSUE(MISSING_PREFETCH),
    [ATOLL_UNUSED_CLUSTER] = ISSUE(NO_COOPERATION),
    [ATOLL_UNUSED_F8] = ISSUE(DTYPE_PRECISION),
    [ATOLL_UNUSED_WIDE_ACCESS] = ISSUE(NARROW_ACCESS),
    [ATOLL_UNUSED_AVX2] = ISSUE(NARROW_ACCESS),
    [ATOLL_UNUSED_VECTORS] = ISSUE(NARROW_ACCESS),
};

uint64_t atoll_issues_of_diagnosis(const struct atoll_diagnosis *d, const struct atoll_resources *resources)
{
    uint64_t issues = (unsigned)d->limiter < ATOLL_LIMITER_COUNT ? of_limiter[d->limiter] : 0;
    if (d->error != ATOLL_ERROR_NONE)
        return 0;
    if (d->limiter == ATOLL_LIMITER_LATENCY && (unsigned)d->stall < ATOLL_STALL_COUNT)
        issues |= of_stall[d->stall];
    if (d->limiter == ATOLL_LIMITER_ISSUE && d->next == ATOLL_LIMITER_ALU)
        issues |= of_limiter[ATOLL_LIMITER_ALU];
    if (d->limiter == ATOLL_LIMITER_OCCUPANCY && d->occupancy_by == ATOLL_OCCUPANCY_REGISTERS)
        issues |= ISSUE(REGISTER_PRESSURE);
    if (d->traffic > 0 && d->traffic < MOVES_TWICE)
        issues |= ISSUE(MISSING_TILES);
    for (unsigned i = 0; i < ATOLL_UNUSED_COUNT; i++)
        if (d->unused >> i & 1)
            issues |= of_unused[i];
    if (resources && resources->spill_load_bytes + resources->spill_store_bytes > 0)
        issues |= ISSUE(REGISTER_PRESSURE);
    if (d->limiter == ATOLL_LIMITER_LAUNCH && resources && resources->kernel_count > 1)
        issues |= ISSUE(UNFUSED_KERNELS);
    return issues;
}

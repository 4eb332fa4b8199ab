/* profile.c - names, bytes and verdict of a profile.  Both lists travel with their lengths and without what is unknown
 * at their ends, so that an older record simply has shorter ones.  A counter that is no plausible number is not
 * measured: counting never fails a candidate. */
#include "core/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/task/task.h"

#define TIME_LIMIT_NS 1e18
#define COUNT_LIMIT   1e24   /* bytes, instructions, rates */
#define PERCENT_LIMIT 1000.0 /* replayed passes differ: a share may come out above 100 */
#define LIMITING      60.0   /* % of a peak */
#define LAUNCHES      3.0    /* empty launches: what is shorter is mostly launch */

static const struct {
    const char *name, *unit;
} counters[ATOLL_COUNTER_COUNT] = {
    [ATOLL_COUNTER_SM_THROUGHPUT] = {"sm_throughput", "%"},
    [ATOLL_COUNTER_DRAM_THROUGHPUT] = {"dram_throughput", "%"},
    [ATOLL_COUNTER_L1_THROUGHPUT] = {"l1_throughput", "%"},
    [ATOLL_COUNTER_L2_THROUGHPUT] = {"l2_throughput", "%"},
    [ATOLL_COUNTER_DRAM_READ_BYTES] = {"dram_read_bytes", "bytes"},
    [ATOLL_COUNTER_DRAM_WRITE_BYTES] = {"dram_write_bytes", "bytes"},
    [ATOLL_COUNTER_L1_HIT] = {"l1_hit", "%"},
    [ATOLL_COUNTER_L2_HIT] = {"l2_hit", "%"},
    [ATOLL_COUNTER_OCCUPANCY] = {"occupancy", "%"},
    [ATOLL_COUNTER_ISSUE_ACTIVE] = {"issue_active", "%"},
    [ATOLL_COUNTER_INSTRUCTIONS] = {"instructions", "1"},
    [ATOLL_COUNTER_TENSOR] = {"tensor", "%"},
    [ATOLL_COUNTER_FMA] = {"fma", "%"},
    [ATOLL_COUNTER_ALU] = {"alu", "%"},
    [ATOLL_COUNTER_FP64] = {"fp64", "%"},
    [ATOLL_COUNTER_XU] = {"xu", "%"},
    [ATOLL_COUNTER_LSU] = {"lsu", "%"},
    [ATOLL_COUNTER_BANK_CONFLICTS] = {"bank_conflicts", "1"},
    [ATOLL_COUNTER_SHARED_ACCESSES] = {"shared_accesses", "1"},
    [ATOLL_COUNTER_STALL_LONG_SCOREBOARD] = {"stall_long_scoreboard", "1"},
    [ATOLL_COUNTER_STALL_SHORT_SCOREBOARD] = {"stall_short_scoreboard", "1"},
    [ATOLL_COUNTER_STALL_BARRIER] = {"stall_barrier", "1"},
    [ATOLL_COUNTER_STALL_MIO] = {"stall_mio", "1"},
    [ATOLL_COUNTER_STALL_LG] = {"stall_lg", "1"},
    [ATOLL_COUNTER_STALL_MATH] = {"stall_math", "1"},
    [ATOLL_COUNTER_STALL_WAIT] = {"stall_wait", "1"},
    [ATOLL_COUNTER_STALL_NOT_SELECTED] = {"stall_not_selected", "1"},
    [ATOLL_COUNTER_STALL_TENSOR] = {"stall_tensor", "1"},
    [ATOLL_COUNTER_TIME_NS] = {"counted_time_ns", "ns"},
};

static const char *const mixes[ATOLL_MIX_COUNT] = {
    [ATOLL_MIX_FP32] = "fp32",
    [ATOLL_MIX_FP64] = "fp64",
    [ATOLL_MIX_FP16] = "fp16",
    [ATOLL_MIX_INTEGER] = "integer",
    [ATOLL_MIX_TRANSCENDENTAL] = "transcendental",
    [ATOLL_MIX_TENSOR_F16] = "tensor_f16",
    [ATOLL_MIX_TENSOR_TF32] = "tensor_tf32",
    [ATOLL_MIX_TENSOR_F8] = "tensor_f8",
    [ATOLL_MIX_TENSOR_OTHER] = "tensor_other",
    [ATOLL_MIX_GLOBAL_LOAD] = "global_load",
    [ATOLL_MIX_GLOBAL_STORE] = "global_store",
    [ATOLL_MIX_SHARED] = "shared",
    [ATOLL_MIX_LOCAL] = "local",
    [ATOLL_MIX_ASYNC_COPY] = "async_copy",
    [ATOLL_MIX_ATOMIC] = "atomic",
    [ATOLL_MIX_BARRIER] = "barrier",
    [ATOLL_MIX_BRANCH] = "branch",
    [ATOLL_MIX_OTHER] = "other",
    [ATOLL_MIX_WARPGROUP] = "wgmma",
    [ATOLL_MIX_BULK_COPY] = "bulk_copy",
    [ATOLL_MIX_WIDE_ACCESS] = "wide_access",
    [ATOLL_MIX_VECTOR_128] = "vector_128",
    [ATOLL_MIX_VECTOR_256] = "vector_256",
    [ATOLL_MIX_VECTOR_512] = "vector_512",
    [ATOLL_MIX_FUSED] = "fused",
    [ATOLL_MIX_SCALAR] = "scalar",
    [ATOLL_MIX_GATHER] = "gather",
};

static const char *const tiers[ATOLL_TIER_COUNT] = {
    [ATOLL_TIER_TIMES] = "times",
    [ATOLL_TIER_MONITOR] = "monitor",
    [ATOLL_TIER_STATIC] = "static",
    [ATOLL_TIER_COUNTERS] = "counters",
};

static const char *const limiters[ATOLL_LIMITER_COUNT] = {
    [ATOLL_LIMITER_UNKNOWN] = "unknown",
    [ATOLL_LIMITER_MEMORY] = "memory",
    [ATOLL_LIMITER_INSTRUCTION] = "instruction",
    [ATOLL_LIMITER_LATENCY] = "latency",
    [ATOLL_LIMITER_LAUNCH] = "launch",
    [ATOLL_LIMITER_DRAM] = "dram",
    [ATOLL_LIMITER_L2] = "l2",
    [ATOLL_LIMITER_L1] = "l1",
    [ATOLL_LIMITER_SHARED] = "shared_memory",
    [ATOLL_LIMITER_BANK_CONFLICTS] = "bank_conflicts",
    [ATOLL_LIMITER_TENSOR] = "tensor",
    [ATOLL_LIMITER_FMA] = "fma",
    [ATOLL_LIMITER_ALU] = "alu",
    [ATOLL_LIMITER_FP64] = "fp64",
    [ATOLL_LIMITER_XU] = "xu",
    [ATOLL_LIMITER_LSU] = "lsu",
    [ATOLL_LIMITER_ISSUE] = "issue",
    [ATOLL_LIMITER_OCCUPANCY] = "occupancy",
    [ATOLL_LIMITER_TAIL] = "tail",
    [ATOLL_LIMITER_SPILLS] = "spills",
};

static const char *const occupancy_limits[ATOLL_OCCUPANCY_COUNT] = {
    [ATOLL_OCCUPANCY_UNKNOWN] = "unknown",      [ATOLL_OCCUPANCY_BLOCKS] = "blocks",
    [ATOLL_OCCUPANCY_WARPS] = "warps",          [ATOLL_OCCUPANCY_REGISTERS] = "registers",
    [ATOLL_OCCUPANCY_SHARED] = "shared memory",
};

const char *atoll_counter_name(enum atoll_counter counter)
{
    return (unsigned)counter < ATOLL_COUNTER_COUNT ? counters[counter].name : "unknown";
}

const char *atoll_counter_unit(enum atoll_counter counter)
{
    return (unsigned)counter < ATOLL_COUNTER_COUNT ? counters[counter].unit : "1";
}

const char *atoll_mix_name(enum atoll_mix mix)
{
    return (unsigned)mix < ATOLL_MIX_COUNT ? mixes[mix] : "unknown";
}

unsigned atoll_mix_beyond(const uint32_t mix[ATOLL_MIX_COUNT], const struct atoll_task *task)
{
    const unsigned eighth = 1u << ATOLL_F8E4M3 | 1u << ATOLL_F8E5M2, tf32 = 1u << ATOLL_DTYPE_COUNT;
    const unsigned half = 1u << ATOLL_F16 | 1u << ATOLL_BF16 | eighth;
    unsigned stored = 0, beyond = 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        stored |= 1u << task->tensors[i].dtype;
    const struct {
        enum atoll_mix class;
        unsigned needs; /* one of these among the precisions */
    } rows[] = {{ATOLL_MIX_FP16, half},
                {ATOLL_MIX_TENSOR_F16, half},
                {ATOLL_MIX_TENSOR_TF32, half | tf32},
                {ATOLL_MIX_TENSOR_F8, eighth}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned has = task->precisions | (rows[i].class == ATOLL_MIX_FP16 ? stored : 0);
        if (mix[rows[i].class] > 0 && !(has & rows[i].needs))
            beyond |= 1u << rows[i].class;
    }
    return beyond;
}

unsigned atoll_conversions_beyond(unsigned conversions, const struct atoll_task *task)
{
    const unsigned eighth = 1u << ATOLL_F8E4M3 | 1u << ATOLL_F8E5M2, tf32 = 1u << ATOLL_DTYPE_COUNT;
    const unsigned half = 1u << ATOLL_F16 | 1u << ATOLL_BF16 | eighth;
    const unsigned integers = 1u << ATOLL_I8 | 1u << ATOLL_U8;
    unsigned has = task->precisions, allowed = 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        has |= 1u << task->tensors[i].dtype;
    allowed |= has & half ? 1u << ATOLL_MIX_FP16 : 0;
    allowed |= has & (half | tf32) ? 1u << ATOLL_MIX_TENSOR_TF32 : 0;
    allowed |= has & eighth ? 1u << ATOLL_MIX_TENSOR_F8 : 0;
    allowed |= has & integers ? 1u << ATOLL_MIX_TENSOR_OTHER : 0;
    return conversions & ~allowed;
}

const char *atoll_mix_names(unsigned set, char *text, size_t bytes)
{
    size_t used = 0;
    if (bytes)
        text[0] = '\0';
    for (unsigned i = 0; i < ATOLL_MIX_COUNT && used < bytes; i++)
        if (set >> i & 1u) {
            int n = snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", mixes[i]);
            used += n > 0 ? (size_t)n : 0;
        }
    return text;
}

const char *atoll_tier_name(enum atoll_tier tier)
{
    return (unsigned)tier < ATOLL_TIER_COUNT ? tiers[tier] : "unknown";
}

const char *atoll_limiter_name(enum atoll_limiter limiter)
{
    return (unsigned)limiter < ATOLL_LIMITER_COUNT ? limiters[limiter] : "unknown";
}

const char *atoll_occupancy_limit_name(enum atoll_occupancy_limit limit)
{
    return (unsigned)limit < ATOLL_OCCUPANCY_COUNT ? occupancy_limits[limit] : "unknown";
}

void atoll_profile_init(struct atoll_profile *p)
{
    memset(p, 0, sizeof(*p));
    for (size_t c = 0; c < ATOLL_COUNTER_COUNT; c++)
        p->counters[c] = NAN;
}

static double limit_of(size_t counter)
{
    return counters[counter].unit[0] == '%' ? PERCENT_LIMIT : COUNT_LIMIT;
}

/* Whether value can be on the wire; false for NaN. */
static int is_plausible(double value, double limit)
{
    return value >= 0.0 && value <= limit;
}

static size_t known_counters(const struct atoll_profile *p)
{
    size_t count = ATOLL_COUNTER_COUNT;
    while (count && !is_plausible(p->counters[count - 1], limit_of(count - 1)))
        count--;
    return count;
}

static size_t known_mixes(const struct atoll_resources *r)
{
    size_t count = ATOLL_MIX_COUNT;
    while (count && r->mix[count - 1] == 0)
        count--;
    return count;
}

int atoll_profile_is_empty(const struct atoll_profile *p)
{
    return p->tier == ATOLL_TIER_TIMES && p->limiter == ATOLL_LIMITER_UNKNOWN && known_counters(p) == 0 &&
           !(p->intensity_flops_per_byte > 0.0) && !(p->wall_ns > 0.0) && p->reason[0] == '\0' &&
           !(p->clock_hz > 0.0) && p->throttle_reasons == 0 && p->resources.kernel_count == 0;
}

static void put_known(struct atoll_buffer *out, double value, double limit)
{
    atoll_buffer_put_f64(out, is_plausible(value, limit) ? value : 0.0);
}

static void put_resources(struct atoll_buffer *out, const struct atoll_resources *r)
{
    const uint32_t values[] = {r->kernel_count,         r->registers,   r->static_shared_bytes,
                               r->dynamic_shared_bytes, r->stack_bytes, r->spill_store_bytes,
                               r->spill_load_bytes};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        atoll_buffer_put_u32(out, values[i]);
    put_known(out, r->occupancy, 1.0);
    size_t count = known_mixes(r);
    atoll_buffer_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        atoll_buffer_put_u32(out, r->mix[i]);
    if (!r->blocks) /* as before launches were told */
        return;
    const uint32_t launch[] = {r->blocks, r->threads_per_block, r->resident_blocks, r->cluster_blocks};
    for (size_t i = 0; i < sizeof(launch) / sizeof(*launch); i++)
        atoll_buffer_put_u32(out, launch[i]);
    atoll_buffer_put_u8(out, (uint8_t)r->occupancy_by);
}

void atoll_profile_encode(const struct atoll_profile *p, struct atoll_buffer *out)
{
    int there = !atoll_profile_is_empty(p);
    atoll_buffer_put_u8(out, (uint8_t)there);
    if (!there)
        return;
    atoll_buffer_put_u8(out, (uint8_t)p->tier);
    atoll_buffer_put_u8(out, (uint8_t)p->limiter);
    size_t count = known_counters(p);
    atoll_buffer_put_u32(out, (uint32_t)count);
    for (size_t c = 0; c < count; c++)
        atoll_buffer_put_f64(out, is_plausible(p->counters[c], limit_of(c)) ? p->counters[c] : (double)NAN);
    put_known(out, p->intensity_flops_per_byte, COUNT_LIMIT);
    put_known(out, p->wall_ns, TIME_LIMIT_NS);
    atoll_buffer_put_blob(out, p->reason, strnlen(p->reason, sizeof(p->reason) - 1));
    put_known(out, p->clock_hz, COUNT_LIMIT);
    atoll_buffer_put_u64(out, p->throttle_reasons);
    put_resources(out, &p->resources);
}

static void refuse(struct atoll_reader *r)
{
    r->failed = r->failed ? r->failed : ATOLL_E_PROTOCOL;
}

static unsigned read_u8_below(struct atoll_reader *r, unsigned limit)
{
    unsigned value = atoll_reader_u8(r);
    if (value >= limit) {
        refuse(r);
        return 0;
    }
    return value;
}

static size_t read_count(struct atoll_reader *r, size_t element_bytes, size_t limit)
{
    size_t count = atoll_reader_count(r, element_bytes);
    if (count > limit) {
        refuse(r);
        return 0;
    }
    return count;
}

static void read_counters(struct atoll_reader *r, struct atoll_profile *p)
{
    size_t count = read_count(r, sizeof(double), ATOLL_COUNTER_COUNT);
    for (size_t c = 0; c < count; c++) {
        double value = atoll_reader_f64(r);
        if (!isnan(value) && !is_plausible(value, limit_of(c)))
            refuse(r);
        p->counters[c] = isnan(value) ? (double)NAN : value;
    }
}

static void read_resources(struct atoll_reader *r, struct atoll_resources *ret)
{
    uint32_t *const values[] = {&ret->kernel_count,         &ret->registers,   &ret->static_shared_bytes,
                                &ret->dynamic_shared_bytes, &ret->stack_bytes, &ret->spill_store_bytes,
                                &ret->spill_load_bytes};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        *values[i] = atoll_reader_u32(r);
    ret->occupancy = atoll_reader_f64_in(r, 0.0, 1.0);
    size_t count = read_count(r, sizeof(uint32_t), ATOLL_MIX_COUNT);
    for (size_t i = 0; i < count; i++)
        ret->mix[i] = atoll_reader_u32(r);
    if (r->failed || r->offset == r->length)
        return;
    uint32_t *const launch[] = {&ret->blocks, &ret->threads_per_block, &ret->resident_blocks,
                                &ret->cluster_blocks};
    for (size_t i = 0; i < sizeof(launch) / sizeof(*launch); i++)
        *launch[i] = atoll_reader_u32(r);
    ret->occupancy_by = (enum atoll_occupancy_limit)read_u8_below(r, ATOLL_OCCUPANCY_COUNT);
}

void atoll_profile_decode(struct atoll_reader *r, struct atoll_profile *ret_profile)
{
    struct atoll_profile p;
    atoll_profile_init(&p);
    if (read_u8_below(r, 2)) {
        p.tier = (enum atoll_tier)read_u8_below(r, ATOLL_TIER_COUNT);
        p.limiter = (enum atoll_limiter)read_u8_below(r, ATOLL_LIMITER_COUNT);
        read_counters(r, &p);
        p.intensity_flops_per_byte = atoll_reader_f64_in(r, 0.0, COUNT_LIMIT);
        p.wall_ns = atoll_reader_f64_in(r, 0.0, TIME_LIMIT_NS);
        atoll_reader_fixed_text(r, p.reason, sizeof(p.reason));
        p.clock_hz = atoll_reader_f64_in(r, 0.0, COUNT_LIMIT);
        p.throttle_reasons = atoll_reader_u64(r);
        read_resources(r, &p.resources);
    }
    if (r->failed)
        atoll_profile_init(&p);
    *ret_profile = p;
}

/* The largest of some counters; NaN when none of them is known. */
static double largest(const struct atoll_profile *p, const enum atoll_counter *which, size_t count)
{
    double most = NAN;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, p->counters[which[i]]);
    return most;
}

/* 1 when a pipe that was not counted may be the busiest: the binary has instructions for it. */
static int has_uncounted_pipe(const struct atoll_profile *p)
{
    static const struct {
        enum atoll_counter counter;
        enum atoll_mix mix;
    } rows[] = {{ATOLL_COUNTER_FP64, ATOLL_MIX_FP64}, {ATOLL_COUNTER_XU, ATOLL_MIX_TRANSCENDENTAL}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (isnan(p->counters[rows[i].counter]) && p->resources.mix[rows[i].mix] > 0)
            return 1;
    return 0;
}

enum atoll_limiter atoll_limiter_of(const struct atoll_profile *p, double time_ns, double empty_launch_ns)
{
    static const enum atoll_counter memories[] = {ATOLL_COUNTER_DRAM_THROUGHPUT, ATOLL_COUNTER_L2_THROUGHPUT,
                                                  ATOLL_COUNTER_L1_THROUGHPUT};
    static const enum atoll_counter pipes[] = {
        ATOLL_COUNTER_SM_THROUGHPUT, ATOLL_COUNTER_ISSUE_ACTIVE, ATOLL_COUNTER_TENSOR, ATOLL_COUNTER_FMA,
        ATOLL_COUNTER_ALU,           ATOLL_COUNTER_FP64,         ATOLL_COUNTER_XU,     ATOLL_COUNTER_LSU};
    if (time_ns > 0.0 && time_ns < LAUNCHES * empty_launch_ns)
        return ATOLL_LIMITER_LAUNCH;
    double memory = largest(p, memories, sizeof(memories) / sizeof(*memories));
    double pipe = largest(p, pipes, sizeof(pipes) / sizeof(*pipes));
    if (memory > LIMITING && !(pipe > memory))
        return ATOLL_LIMITER_MEMORY;
    if (pipe > LIMITING)
        return ATOLL_LIMITER_INSTRUCTION;
    return isnan(memory) || isnan(pipe) || has_uncounted_pipe(p) ? ATOLL_LIMITER_UNKNOWN
                                                                 : ATOLL_LIMITER_LATENCY;
}

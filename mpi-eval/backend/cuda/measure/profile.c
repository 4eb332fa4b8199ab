/* Hardware counters of one run of a plan, never timed: each launch is a range, replayed as often as the metrics need. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/backend/cuda/measure/backend.h"
#include "mpi-eval/backend/cuda/measure/local_memory.h"
#include "mpi-eval/backend/cuda/measure/stage.h"

#define SERIES      ((uint64_t)1 << 61) /* input sets of their own */
#define DEADLINE_NS 30e9

#define ANY           0U, ~0U
#define ACTIVE        ".avg.pct_of_peak_sustained_active"
#define ELAPSED       ".avg.pct_of_peak_sustained_elapsed"
#define STALL(reason) "smsp__average_warps_issue_stalled_" reason "_per_issue_active.ratio"

/* Of several launches these are sums, all others means. */
static const enum atoll_counter sums[] = {ATOLL_COUNTER_DRAM_READ_BYTES, ATOLL_COUNTER_DRAM_WRITE_BYTES,
                                          ATOLL_COUNTER_INSTRUCTIONS,    ATOLL_COUNTER_BANK_CONFLICTS,
                                          ATOLL_COUNTER_SHARED_ACCESSES, ATOLL_COUNTER_TIME_NS};

/* What shares a pass was asked of CUPTI's host side, which needs no device (tests/unit: test_cuda_profile); a pass takes 24 ms
 * whatever is in it.  A throughput is that of its unit's busiest part: CUPTI's own l1tex__throughput and lts__throughput need
 * five and four passes to name it, these parts share those of the rest.  FMA and FP64 are instructions of the pipe,
 * ISSUE_ACTIVE those issued, each of its peak: cycles_active and smsp__issue_active would take a pass more.  TENSOR is
 * cycles of the pipe: one wgmma instruction keeps it busy for many. */
static const struct {
    enum atoll_counter counter;
    const char *name;
    unsigned capability_first, capability_last;
    int small;
} rows[] = {
    {ATOLL_COUNTER_DRAM_THROUGHPUT, "dram__throughput" ELAPSED, ANY, 1},
    {ATOLL_COUNTER_L1_THROUGHPUT, "l1tex__data_pipe_lsu_wavefronts" ACTIVE, ANY, 1},
    {ATOLL_COUNTER_L1_THROUGHPUT, "l1tex__m_xbar2l1tex_read_sectors" ACTIVE, ANY, 0},
    {ATOLL_COUNTER_L1_THROUGHPUT, "l1tex__m_l1tex2xbar_req_cycles_active" ACTIVE, ANY, 0},
    {ATOLL_COUNTER_L1_THROUGHPUT, "l1tex__data_bank_reads" ACTIVE, ANY, 0},
    {ATOLL_COUNTER_L1_THROUGHPUT, "l1tex__data_bank_writes" ACTIVE, ANY, 0},
    {ATOLL_COUNTER_L2_THROUGHPUT, "lts__t_sectors" ELAPSED, ANY, 1},
    {ATOLL_COUNTER_L2_THROUGHPUT, "lts__t_tag_requests" ELAPSED, ANY, 0},
    {ATOLL_COUNTER_L2_THROUGHPUT, "lts__d_sectors" ELAPSED, ANY, 0},
    {ATOLL_COUNTER_L2_THROUGHPUT, "lts__lts2xbar_cycles_active" ELAPSED, ANY, 0},
    {ATOLL_COUNTER_L2_THROUGHPUT, "lts__xbar2lts_cycles_active" ELAPSED, ANY, 0},
    {ATOLL_COUNTER_DRAM_READ_BYTES, "dram__bytes_read.sum", ANY, 1},
    {ATOLL_COUNTER_DRAM_WRITE_BYTES, "dram__bytes_write.sum", ANY, 1},
    {ATOLL_COUNTER_L1_HIT, "l1tex__t_sector_hit_rate.pct", ANY, 0},
    {ATOLL_COUNTER_L2_HIT, "lts__t_sector_hit_rate.pct", ANY, 0},
    {ATOLL_COUNTER_OCCUPANCY, "sm__warps_active" ACTIVE, ANY, 1},
    {ATOLL_COUNTER_ISSUE_ACTIVE, "sm__inst_issued" ACTIVE, ANY, 1},
    {ATOLL_COUNTER_INSTRUCTIONS, "smsp__inst_executed.sum", ANY, 0},
    {ATOLL_COUNTER_TENSOR, "sm__pipe_tensor_cycles_active" ACTIVE, ANY, 1},
    {ATOLL_COUNTER_FMA, "sm__inst_executed_pipe_fma" ACTIVE, ANY, 1},
    {ATOLL_COUNTER_ALU, "sm__pipe_alu_cycles_active" ACTIVE, ANY, 1},
    {ATOLL_COUNTER_FP64, "sm__inst_executed_pipe_fp64" ACTIVE, ANY, 0},
    {ATOLL_COUNTER_XU, "sm__inst_executed_pipe_xu" ACTIVE, ANY, 0},
    {ATOLL_COUNTER_LSU, "sm__inst_executed_pipe_lsu" ACTIVE, ANY, 0},
    {ATOLL_COUNTER_BANK_CONFLICTS, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", ANY, 1},
    {ATOLL_COUNTER_SHARED_ACCESSES, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", ANY, 0},
    {ATOLL_COUNTER_STALL_LONG_SCOREBOARD, STALL("long_scoreboard"), ANY, 0},
    {ATOLL_COUNTER_STALL_SHORT_SCOREBOARD, STALL("short_scoreboard"), ANY, 0},
    {ATOLL_COUNTER_STALL_BARRIER, STALL("barrier"), ANY, 0},
    {ATOLL_COUNTER_STALL_MIO, STALL("mio_throttle"), ANY, 0},
    {ATOLL_COUNTER_STALL_LG, STALL("lg_throttle"), ANY, 0},
    {ATOLL_COUNTER_STALL_MATH, STALL("math_pipe_throttle"), ANY, 0},
    {ATOLL_COUNTER_STALL_WAIT, STALL("wait"), ANY, 0},
    {ATOLL_COUNTER_STALL_NOT_SELECTED, STALL("not_selected"), ANY, 0},
    {ATOLL_COUNTER_STALL_TENSOR, STALL("gmma"), 90, 90, 0},
    {ATOLL_COUNTER_TIME_NS, "gpu__time_duration.sum", ANY, 1},
};
_Static_assert(sizeof(rows) / sizeof(*rows) <= ATOLL_METRICS_LIMIT, "room for all metrics");

/* CUPTI's sm__throughput is the busiest of the multiprocessor's units, and needs five passes more to name it; these are
 * the ones that kernels saturate. */
static const enum atoll_counter pipes[] = {
    ATOLL_COUNTER_ISSUE_ACTIVE, ATOLL_COUNTER_TENSOR, ATOLL_COUNTER_FMA, ATOLL_COUNTER_ALU,
    ATOLL_COUNTER_FP64,         ATOLL_COUNTER_XU,     ATOLL_COUNTER_LSU};

void atoll_metrics_select(enum atoll_metrics_set set, unsigned capability, struct atoll_metrics *ret_metrics)
{
    ret_metrics->count = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int there = capability >= rows[i].capability_first && capability <= rows[i].capability_last;
        if (there && (rows[i].small || set == ATOLL_METRICS_FULL)) {
            ret_metrics->names[ret_metrics->count] = rows[i].name;
            ret_metrics->counters[ret_metrics->count++] = rows[i].counter;
        }
    }
}

static int usable(double value)
{
    return isfinite(value) && value >= 0.0;
}

/* How long each launch took is its weight; without any times all weigh the same. */
static double weight_of(const struct atoll_metrics *metrics, const double *range)
{
    for (size_t i = 0; i < metrics->count; i++)
        if (metrics->counters[i] == ATOLL_COUNTER_TIME_NS)
            return usable(range[i]) ? range[i] : 0.0;
    return 1.0;
}

static int is_sum(enum atoll_counter counter)
{
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
        if (sums[i] == counter)
            return 1;
    return 0;
}

static double merge(const struct atoll_metrics *metrics, const double *values, size_t ranges, size_t metric)
{
    int sums_up = is_sum(metrics->counters[metric]);
    double sum = 0.0;
    double weights = 0.0;
    for (size_t r = 0; r < ranges; r++) {
        const double *range = &values[r * metrics->count];
        double weight = sums_up ? 1.0 : weight_of(metrics, range);
        if (usable(range[metric])) {
            sum += weight * range[metric];
            weights += weight;
        } else if (sums_up) {
            return NAN; /* a sum that lacks a part is none */
        }
    }
    return !(weights > 0.0) ? NAN : sums_up ? sum : sum / weights;
}

void atoll_metrics_merge(const struct atoll_metrics *metrics, const double *values, size_t ranges,
                         double *ret_counters)
{
    for (size_t counter = 0; counter < ATOLL_COUNTER_COUNT; counter++)
        ret_counters[counter] = NAN;
    for (size_t i = 0; i < metrics->count; i++) {
        double *counter = &ret_counters[metrics->counters[i]]; /* of several parts the busiest */
        *counter = fmax(*counter, merge(metrics, values, ranges, i));
    }
    for (size_t i = 0; i < sizeof(pipes) / sizeof(*pipes); i++) {
        ret_counters[ATOLL_COUNTER_SM_THROUGHPUT] = fmax(ret_counters[ATOLL_COUNTER_SM_THROUGHPUT],
                                                         ret_counters[pipes[i]]); /* fmax passes NaN over */
    }
}

int atoll_metrics_are_counted(const struct atoll_metrics *metrics, const double *values, size_t ranges)
{
    for (size_t i = 0; i < ranges * metrics->count; i++)
        if (is_sum(metrics->counters[i % metrics->count]) && !usable(values[i]))
            return 0;
    return 1;
}

/* ---- a run ---- */

struct counting {
    struct atoll_cuda_stage stage;
    enum atoll_metrics_set set;
    struct atoll_metrics metrics;
    struct atoll_profile *profile;
};

static int no_counters(struct counting *c, const char *why)
{
    snprintf(c->profile->reason, sizeof(c->profile->reason), "%.95s", why);
    return -1;
}

/* Nor will there be any: what has failed once is not tried again on this device. */
static int never_counters(struct counting *c, const char *why)
{
    struct atoll_cuda_device *d = c->stage.device;
    snprintf(d->counters_reason, sizeof(d->counters_reason), "%.*s", (int)sizeof(d->counters_reason) - 1,
             why);
    return no_counters(c, d->counters_reason);
}

/* Sets the metrics up in this process; that costs some tenths of a second, once for each set. */
static int counters_open(struct counting *c)
{
    struct atoll_cuda_device *d = c->stage.device;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (d->counters_reason[0])
        return no_counters(c, d->counters_reason);
    if (d->counters_generation[c->set] == d->generation)
        return 0;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_counters_open(&d->batch, c->set, c->metrics.names, (uint32_t)c->metrics.count);
    int rc = atoll_cuda_device_run(d, DEADLINE_NS, &err);
    if (rc == 0 && d->reply.status == ATOLL_COMMAND_BATCH_DONE) {
        d->counters_generation[c->set] = d->generation;
        return 0;
    }
    if (rc < 0)
        return no_counters(c, err.text);
    return never_counters(c, d->reply.text[0] ? d->reply.text : "the profiler ended the device process");
}

static int counts_take(struct counting *c)
{
    struct atoll_command_batch_reply *reply = &c->stage.device->reply;
    size_t length = 0;
    double values[ATOLL_PLAN_LAUNCH_LIMIT * ATOLL_METRICS_LIMIT];
    struct atoll_reader in;
    const void *bytes = atoll_command_batch_take_bytes(reply, &length);
    atoll_reader_init(&in, bytes, length);
    size_t ranges = atoll_reader_u32(&in);
    if (ranges == 0 || ranges > ATOLL_PLAN_LAUNCH_LIMIT)
        return no_counters(c, "the profiler counted other launches than the plan's");
    for (size_t i = 0; i < ranges * c->metrics.count; i++)
        values[i] = atoll_reader_f64(&in);
    if (atoll_reader_finish(&in, "counters", NULL) != 0)
        return no_counters(c, "the profiler's numbers are not complete");
    if (!atoll_metrics_are_counted(&c->metrics, values, ranges))
        return never_counters(c, "counters gave NaN for counts: another tool (DCGM, a profiler) holds them");
    atoll_metrics_merge(&c->metrics, values, ranges, c->profile->counters);
    return 0;
}

static int launches_count(struct counting *c)
{
    struct atoll_cuda_device *d = c->stage.device;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_command_batch_clear(&d->batch);
    if (atoll_cuda_sample_count(&c->stage.sample, &d->batch, c->set, &err) != 0)
        return no_counters(c, err.text);
    int rc = atoll_cuda_device_run(d, DEADLINE_NS, &err);
    if (rc < 0)
        return no_counters(c, err.text);
    if (rc > 0 || d->reply.status != ATOLL_COMMAND_BATCH_DONE)
        return no_counters(c, d->reply.text);
    return counts_take(c);
}

static void count(struct counting *c)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int is_reached = 1, rc = atoll_cuda_stage_set(&c->stage, &err);
    if (rc == 0)
        rc = atoll_cuda_local_have(c->stage.device, c->stage.candidate, &is_reached, &err);
    if (rc != 0) {
        no_counters(c, rc > 0 ? "the device process was lost" : err.text);
        return;
    }
    c->stage.device->has_unreached |= !is_reached;
    if (counters_open(c) != 0 || launches_count(c) != 0)
        return;
    c->profile->tier = ATOLL_TIER_COUNTERS;
    c->profile->reason[0] = 0;
    /* Useful operations over the bytes that went to and from the device's memory. */
    struct atoll_profile *p = c->profile;
    struct atoll_work work;
    double bytes = p->counters[ATOLL_COUNTER_DRAM_READ_BYTES] + p->counters[ATOLL_COUNTER_DRAM_WRITE_BYTES];
    if (bytes > 0 && atoll_task_work(c->stage.known->task, c->stage.variant, &work, NULL) == 0)
        p->intensity_flops_per_byte = (work.flops + work.matrix_flops) / bytes;
}

void atoll_cuda_profile(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, uint32_t variant,
                        enum atoll_metrics_set set, struct atoll_profile *ret_profile)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_input_set input_set =
        atoll_input_set_make(referee->setup.secret, known->task, variant, SERIES, ++d->clock);
    struct counting *c = calloc(1, sizeof(*c));
    if (!c)
        return;
    c->profile = ret_profile;
    c->set = set;
    c->stage = (struct atoll_cuda_stage){.referee = referee,
                                         .device = d,
                                         .known = known,
                                         .candidate = candidate,
                                         .input_set = &input_set,
                                         .placement = atoll_referee_placement(referee)};
    atoll_metrics_select(set, d->facts.limits.compute_capability, &c->metrics);
    count(c);
    free(c);
}

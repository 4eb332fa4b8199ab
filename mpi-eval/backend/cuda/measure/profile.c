/* Hardware counters of one run of a plan, never timed: each launch is a range, replayed as often as the metrics need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/backend/cuda/measure/backend.h"
#include "mpi-eval/backend/cuda/measure/metrics.h"
#include "mpi-eval/backend/cuda/measure/stage.h"

#define SERIES      ((uint64_t)1 << 61) /* draws of their own */
#define DEADLINE_NS 30e9

struct counting {
    struct atoll_cuda_stage stage;
    struct atoll_metrics metrics;
    struct atoll_profile *profile;
};

static int no_counters(struct counting *c, const char *why)
{
    snprintf(c->profile->reason, sizeof c->profile->reason, "%.95s", why);
    return -1;
}

/* Sets the metrics up in this process; that costs about a second, once. */
static int counters_open(struct counting *c)
{
    struct atoll_cuda_device *d = c->stage.device;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (d->counters_reason[0])
        return no_counters(c, d->counters_reason);
    if (d->counters_generation == d->generation)
        return 0;
    atoll_command_batch_clear(&d->steps);
    atoll_command_batch_counters_open(&d->steps, c->metrics.names, (uint32_t)c->metrics.count);
    int rc = atoll_cuda_device_run(d, DEADLINE_NS, &err);
    if (rc == 0 && d->reply.status == ATOLL_COMMAND_BATCH_DONE) {
        d->counters_generation = d->generation;
        return 0;
    }
    if (rc < 0)
        return no_counters(c, err.text);
    snprintf(d->counters_reason, sizeof d->counters_reason, "%.*s", (int)sizeof d->counters_reason - 1,
             d->reply.text[0] ? d->reply.text : "the profiler ended the device process");
    return no_counters(c, d->counters_reason);
}

static int counts_take(struct counting *c)
{
    struct atoll_command_batch_reply *reply = &c->stage.device->reply;
    size_t length = 0, most = ATOLL_PLAN_LAUNCH_LIMIT * c->metrics.count;
    double values[ATOLL_PLAN_LAUNCH_LIMIT * ATOLL_COUNTER_COUNT];
    struct atoll_reader in;
    const void *bytes = atoll_command_batch_take_bytes(reply, &length);
    atoll_reader_init(&in, bytes, length);
    size_t ranges = atoll_reader_u32(&in);
    if (ranges == 0 || ranges > ATOLL_PLAN_LAUNCH_LIMIT || ranges * c->metrics.count > most)
        return no_counters(c, "the profiler counted other launches than the plan's");
    for (size_t i = 0; i < ranges * c->metrics.count; i++)
        values[i] = atoll_reader_f64(&in);
    if (atoll_reader_finish(&in, "counters", NULL) != 0)
        return no_counters(c, "the profiler's numbers are not complete");
    atoll_metrics_merge(&c->metrics, values, ranges, c->profile->counters);
    return 0;
}

static int launches_count(struct counting *c)
{
    struct atoll_cuda_device *d = c->stage.device;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_command_batch_clear(&d->steps);
    if (atoll_cuda_sample_count(&c->stage.sample, &d->steps, &err) != 0)
        return no_counters(c, err.text);
    int rc = atoll_cuda_device_run(d, DEADLINE_NS, &err);
    if (rc < 0)
        return no_counters(c, err.text);
    if (rc > 0 || d->reply.status != ATOLL_COMMAND_BATCH_DONE)
        return no_counters(c, d->reply.text);
    return counts_take(c);
}

/* Useful operations over the bytes that went to and from the device's memory. */
static void intensity_set(struct counting *c)
{
    struct atoll_profile *p = c->profile;
    struct atoll_work work;
    double bytes = p->counters[ATOLL_COUNTER_DRAM_READ_BYTES] + p->counters[ATOLL_COUNTER_DRAM_WRITE_BYTES];
    if (bytes > 0 && atoll_task_work(c->stage.known->task, c->stage.variant, &work, NULL) == 0)
        p->intensity_flops_per_byte = work.flops / bytes;
}

static void count(struct counting *c)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int rc = atoll_cuda_stage_set(&c->stage, &err);
    if (rc != 0) {
        no_counters(c, rc > 0 ? "the device process was lost" : err.text);
        return;
    }
    if (counters_open(c) != 0 || launches_count(c) != 0)
        return;
    c->profile->tier = ATOLL_TIER_COUNTERS;
    c->profile->reason[0] = 0;
    intensity_set(c);
}

void atoll_cuda_profile(struct atoll_referee *referee, struct atoll_case *known,
                        struct atoll_loaded_candidate *candidate, uint32_t variant,
                        struct atoll_profile *ret_profile)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_input_set draw =
        atoll_input_set_make(referee->setup.secret, known->task, variant, SERIES, ++d->clock);
    struct counting *c = calloc(1, sizeof *c);
    if (!c)
        return;
    c->profile = ret_profile;
    c->stage = (struct atoll_cuda_stage){.referee = referee,
                                         .device = d,
                                         .known = known,
                                         .candidate = candidate,
                                         .draw = &draw,
                                         .placement = atoll_referee_placement(referee)};
    atoll_metrics_select(ATOLL_METRICS_FULL, d->facts.limits.compute_capability, &c->metrics);
    count(c);
    free(c);
}

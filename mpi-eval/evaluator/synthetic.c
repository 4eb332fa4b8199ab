/* synthetic.c - answers of the null backend. */
#include "mpi-eval/evaluator/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES    7
#define DEVICE_KEY 0x6c6c756eu /* "null" */
#define TIME_SAID  "null-time "
#define RATIO_HALF 0.01 /* of a comparison's 95 % interval, a share of the ratio */

void atoll_synthetic_device(struct atoll_device_info *ret_device)
{
    *ret_device = (struct atoll_device_info){.key = DEVICE_KEY,
                                             .backend = "null",
                                             .model = "null device",
                                             .uuid = "null",
                                             .node = "localhost",
                                             .toolchain = "none",
                                             .threads = 1,
                                             .bandwidth_bytes_per_s = 1e10,
                                             .empty_launch_ns = 1000,
                                             .clock_resolution_ns = 1,
                                             .last_level_cache_bytes = 1 << 20,
                                             .isolation = "none"};
    for (int i = 0; i < ATOLL_DTYPE_COUNT; i++)
        ret_device->peak_flops[i] = 1e11;
}

double atoll_synthetic_time_ns(const struct atoll_id *candidate)
{
    return 1e6 + 2e6 * (double)(atoll_id_u64(candidate) >> 32) / 4294967296.0;
}

double atoll_synthetic_time_of(const struct atoll_order_candidate *candidate)
{
    const char *said = candidate->source ? strstr(candidate->source, TIME_SAID) : NULL;
    double time_ns = said ? strtod(said + strlen(TIME_SAID), NULL) : 0;
    return time_ns >= 1 && time_ns <= 1e9 ? time_ns : atoll_synthetic_time_ns(&candidate->id);
}

static int timing_fill(struct atoll_timing *timing, uint32_t variant, double time_ns)
{
    double scratch[SAMPLES];
    timing->samples_ns = malloc(SAMPLES * sizeof(*timing->samples_ns));
    if (!timing->samples_ns)
        return -1;
    timing->variant = variant;
    timing->sample_count = SAMPLES;
    for (int i = 0; i < SAMPLES; i++)
        timing->samples_ns[i] = time_ns * (1.0 + 1e-4 * i);
    atoll_summary_of(timing->samples_ns, SAMPLES, scratch, &timing->summary);
    timing->floor_ns = 5e5;
    timing->resolution_ns = 1;
    return 0;
}

int atoll_synthetic_evaluate(const struct atoll_task *task, const struct atoll_order *order,
                             struct atoll_evaluation *ret_evaluation, struct atoll_err *err)
{
    struct atoll_evaluation *e = ret_evaluation;
    const struct atoll_id *id = &order->candidate.id;
    double time_ns = atoll_synthetic_time_of(&order->candidate);
    e->evaluation = order->evaluation;
    e->candidate = *id;
    e->verdict = ATOLL_V_CORRECT;
    e->level = 6;
    e->behaviour = (struct atoll_behaviour){id->bytes[8] & 3, id->bytes[9] & 3, id->bytes[10] & 3};
    e->binary = *id;
    e->device = DEVICE_KEY;
    e->compile_ns = 1e6;
    e->sampling_ns = e->candidate_ns = SAMPLES * time_ns;
    e->occupied_ns = 2 * e->sampling_ns;
    e->draw_count = SAMPLES;
    e->worst_error = 0.5;
    for (uint32_t v = 0; v < task->variant_count; v++) {
        if (task->variants[v].kind != ATOLL_VARIANT_BENCH)
            continue;
        if (timing_fill(&e->timings[e->timing_count], v, time_ns) != 0)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for samples");
        e->timing_count++;
    }
    return 0;
}

static double rival_time_ns(uint32_t number)
{
    return 2.5e6 - 2.5e5 * number;
}

int atoll_synthetic_rival(const struct atoll_task *task, const struct atoll_order *order,
                          struct atoll_rival *ret_rival, struct atoll_err *err)
{
    struct atoll_rival *r = ret_rival;
    double time_ns = rival_time_ns(order->rival);
    r->evaluation = order->evaluation;
    r->task = order->task;
    r->number = order->rival;
    r->verdict = ATOLL_V_CORRECT;
    r->device = DEVICE_KEY;
    r->worst_error = 0.5;
    r->compile_ns = 1e6;
    r->occupied_ns = 2 * SAMPLES * time_ns;
    for (uint32_t v = 0; v < task->variant_count; v++) {
        if (task->variants[v].kind != ATOLL_VARIANT_BENCH)
            continue;
        if (timing_fill(&r->timings[r->timing_count], v, time_ns) != 0)
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for samples");
        r->host_ns[r->timing_count++] = 2 * time_ns;
    }
    return 0;
}

void atoll_synthetic_duel(const struct atoll_order *order, struct atoll_duel *ret_duel)
{
    double elite_ns = order->purpose == ATOLL_DUEL_RIVAL ? rival_time_ns(order->rival)
                                                         : atoll_synthetic_time_of(&order->elite);
    *ret_duel = (struct atoll_duel){.evaluation = order->evaluation,
                                    .purpose = order->purpose,
                                    .verdict = ATOLL_V_CORRECT,
                                    .pair_count = 8,
                                    .device = DEVICE_KEY,
                                    .elite_ns = elite_ns,
                                    .challenger_ns = atoll_synthetic_time_of(&order->candidate)};
    ret_duel->ratio = ret_duel->elite_ns / ret_duel->challenger_ns;
    ret_duel->ratio_lo = ret_duel->ratio * (1 - RATIO_HALF);
    ret_duel->ratio_hi = ret_duel->ratio * (1 + RATIO_HALF);
    ret_duel->better = log(ret_duel->ratio) > order->margin;
    ret_duel->p_value = ret_duel->better ? order->alpha / 2 : 1;
    ret_duel->candidate_ns = 8 * (ret_duel->elite_ns + ret_duel->challenger_ns);
    ret_duel->occupied_ns = 2 * ret_duel->candidate_ns;
}

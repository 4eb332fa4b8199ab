/* evaluation.h - filled evaluations and duels for tests that only pass them on. */
#ifndef ATOLL_TESTS_SUPPORT_EVALUATION_H
#define ATOLL_TESTS_SUPPORT_EVALUATION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/evaluation.h"

static inline void sample_timing(struct atoll_timing *t, uint32_t variant, double first_ns)
{
    double scratch[9];
    *t = (struct atoll_timing){
        .variant = variant, .floor_ns = 10.5, .resolution_ns = 20.25, .discarded_count = 1};
    t->samples_ns = malloc(sizeof(scratch));
    if (!t->samples_ns)
        abort();
    t->sample_count = 9;
    for (size_t i = 0; i < 9; i++)
        t->samples_ns[i] = first_ns + (double)(i * 5 % 9);
    atoll_summary_of(t->samples_ns, t->sample_count, scratch, &t->summary);
}

/* Every field of it is set. */
static inline void sample_profile(struct atoll_profile *p)
{
    atoll_profile_init(p);
    p->tier = ATOLL_TIER_COUNTERS;
    p->limiter = ATOLL_LIMITER_MEMORY;
    for (size_t c = 0; c < ATOLL_COUNTER_COUNT; c++)
        p->counters[c] = 1.5 + (double)c;
    p->counters[ATOLL_COUNTER_DRAM_THROUGHPUT] = 88.25;
    p->counters[ATOLL_COUNTER_DRAM_READ_BYTES] = 67108864.0;
    p->intensity_flops_per_byte = 0.625;
    p->wall_ns = 2.5e8;
    snprintf(p->reason, sizeof(p->reason), "held");
    p->clock_hz = 1.98e9;
    p->throttle_reasons = 4;
    p->resources = (struct atoll_resources){.kernel_count = 2,
                                            .registers = 48,
                                            .static_shared_bytes = 1024,
                                            .dynamic_shared_bytes = 32768,
                                            .stack_bytes = 16,
                                            .spill_store_bytes = 8,
                                            .spill_load_bytes = 12,
                                            .occupancy = 0.75};
    for (uint32_t m = 0; m < ATOLL_MIX_COUNT; m++)
        p->resources.mix[m] = 10 + m;
}

/* Correct, two bench variants (1 and 3) of 9 samples each; to be fini'ed. */
static inline void sample_evaluation(struct atoll_evaluation *e)
{
    atoll_evaluation_init(e);
    e->evaluation = 0x1122334455667788u;
    e->candidate = atoll_id_of("candidate", 9);
    e->binary = atoll_id_of("binary", 6);
    e->verdict = ATOLL_V_CORRECT;
    e->level = 6;
    snprintf(e->detail, sizeof(e->detail), "right everywhere; worst element y[3,4] at 0.25 of its tolerance");
    e->behaviour = (struct atoll_behaviour){1, 3, 2};
    e->device = 99;
    e->started_unix_ns = 1700000000000000000;
    e->compile_ns = 1e8;
    e->check_ns = 2e7;
    e->sampling_ns = 3e8;
    e->occupied_ns = 3.2e8;
    e->candidate_ns = 1e6;
    e->code_bytes = 4096;
    e->draw_count = 14;
    e->fully_compared_count = 5;
    e->worst_error = 0.25;
    e->timing_count = 2;
    sample_timing(&e->timings[0], 1, 1000.0);
    sample_timing(&e->timings[1], 3, 50000.0);
    e->timings[1].flags = ATOLL_TIMING_AUDIT;
    sample_profile(&e->profile);
}

static inline void sample_duel(struct atoll_duel *d)
{
    memset(d, 0, sizeof(*d));
    d->evaluation = 77;
    d->purpose = ATOLL_DUEL_FINAL;
    d->verdict = ATOLL_V_CORRECT;
    d->better = 1;
    d->ratio = 1.25;
    d->p_value = 1e-6;
    d->pair_count = 16;
    d->elite_ns = 1250.0;
    d->challenger_ns = 1000.0;
    d->occupied_ns = 1e8;
    d->candidate_ns = 1e6;
    d->device = 99;
    snprintf(d->detail, sizeof(d->detail), "16 pairs in 4 blocks");
}

#endif

#include "archive-h5/report/archive_summary.h"

#include <math.h>

const double atoll_fast_thresholds[ATOLL_FAST_COUNT] = {1.0, 1.5, 2.0, 3.0, 5.0};

static void add_times(const struct atoll_query *q, enum atoll_table table, struct atoll_archive_summary *s)
{
    const double *occupied = atoll_tables_column_named(atoll_query_tables(q), table, "occupied_ns"),
                 *candidate = atoll_tables_column_named(atoll_query_tables(q), table, "candidate_ns");
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(q), table); i++) {
        s->occupied_ns += occupied[i];
        s->candidate_ns += candidate[i];
    }
}

static void add_campaigns(const struct atoll_query *q, struct atoll_archive_summary *s)
{
    struct atoll_row_campaign c;
    const uint32_t *owners =
        atoll_tables_column_named(atoll_query_tables(q), ATOLL_TABLE_DEVICES, "campaign");
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_CAMPAIGN); i++) {
        uint64_t devices = 0;
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_CAMPAIGN, i, &c);
        for (uint64_t d = 0; d < atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_DEVICES); d++)
            devices += owners[d] == i;
        s->noop_challenges += c.noop_challenges;
        s->noop_promotions += c.noop_promotions;
        s->tokens += c.tokens;
        s->cost_usd += c.cost_usd;
        s->wall_ns += (double)c.campaign_ns;
        s->device_wall_ns += (double)c.campaign_ns * (double)(devices ? devices : 1);
    }
}

/* One task among those of a yardstick; the means hold sums until sums_end. */
static void speedup_add(struct atoll_speedup_sums *s, const struct atoll_speedup *speedup)
{
    s->task_count++;
    if (!(speedup->ratio > 0))
        return;
    s->timed_count++;
    s->geometric_mean += log(speedup->ratio);
    s->arithmetic_mean += speedup->ratio;
    s->are_final &= speedup->is_final;
    for (size_t k = 0; k < ATOLL_FAST_COUNT; k++)
        s->fast_share[k] += speedup->ratio > atoll_fast_thresholds[k];
}

static void speedup_end(struct atoll_speedup_sums *s)
{
    double timed = s->timed_count ? (double)s->timed_count : 1;
    for (size_t k = 0; k < ATOLL_FAST_COUNT; k++)
        s->fast_share[k] /= s->task_count ? (double)s->task_count : 1;
    s->geometric_mean = s->timed_count ? exp(s->geometric_mean / timed) : 0;
    s->arithmetic_mean /= timed;
}

static void sums_begin(struct atoll_task_sums *s)
{
    *s = (struct atoll_task_sums){.headline = ATOLL_OVER_SEED};
    for (size_t y = 0; y < ATOLL_YARDSTICK_COUNT; y++)
        s->over[y].are_final = 1;
}

static void sums_add(struct atoll_task_sums *s, const struct atoll_task_summary *t)
{
    uint64_t unstable = t->verdicts[ATOLL_V_UNSTABLE];
    s->task_count++;
    s->solved_count += t->best_ns > 0;
    s->evaluated += t->evaluated;
    s->correct += t->correct;
    s->judged += t->evaluated - (unstable < t->evaluated ? unstable : t->evaluated);
    for (size_t y = 0; y < ATOLL_YARDSTICK_COUNT; y++)
        if (y == ATOLL_OVER_SEED || t->over[y].yardstick_ns > 0)
            speedup_add(&s->over[y], &t->over[y]);
    if (t->headline < s->headline)
        s->headline = t->headline;
}

static void sums_end(struct atoll_task_sums *s)
{
    for (size_t y = 0; y < ATOLL_YARDSTICK_COUNT; y++)
        speedup_end(&s->over[y]);
}

void atoll_query_summary(const struct atoll_query *q, struct atoll_archive_summary *ret)
{
    struct atoll_archive_summary s = {.asks = atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_ASKS)};
    sums_begin(&s.tasks);
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_TASKS); i++) {
        struct atoll_task_summary t;
        atoll_query_task_summary(q, i, &t);
        sums_add(&s.tasks, &t);
    }
    sums_end(&s.tasks);
    add_times(q, ATOLL_TABLE_EVALUATIONS, &s);
    add_times(q, ATOLL_TABLE_DUELS, &s);
    add_campaigns(q, &s);
    *ret = s;
}

#include "archive-h5/report/archive_summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/report/time_split.h"

const double atoll_fast_thresholds[ATOLL_FAST_COUNT] = {1.0, 1.5, 2.0, 3.0, 5.0};

/* What evaluations and duels of a campaign say they took, for archives without the accounts of its devices. */
static void add_times(const struct atoll_query *q, enum atoll_table table, uint32_t campaign,
                      struct atoll_archive_summary *s)
{
    const struct atoll_tables *t = atoll_query_tables(q);
    const double *occupied = atoll_tables_column_named(t, table, "occupied_ns"),
                 *candidate = atoll_tables_column_named(t, table, "candidate_ns");
    const uint32_t *owners = atoll_tables_column_named(t, table, "campaign");
    for (uint64_t i = 0; i < atoll_tables_count(t, table); i++) {
        if (owners[i] != campaign)
            continue;
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
        struct atoll_device_time time;
        if (atoll_query_campaign_time(q, (uint32_t)i, &time)) {
            s->occupied_ns += atoll_device_time_occupied_ns(&time);
            s->candidate_ns += time.ns[ATOLL_TIME_CANDIDATES];
            s->device_wall_ns += atoll_device_time_whole_ns(&time);
            continue;
        }
        add_times(q, ATOLL_TABLE_EVALUATIONS, (uint32_t)i, s);
        add_times(q, ATOLL_TABLE_DUELS, (uint32_t)i, s);
        s->device_wall_ns += (double)c.campaign_ns * (double)(devices ? devices : 1);
    }
}

/* One task among those of a yardstick; arithmetic mean and shares hold sums until sums_end. */
static void speedup_add(struct atoll_speedup_sums *s, const struct atoll_speedup *speedup)
{
    s->task_count++;
    if (!(speedup->ratio > 0))
        return;
    s->timed_count++;
    atoll_ratio_mean_add(&s->geometric, speedup->ratio, speedup->lo, speedup->hi);
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
    s->geometric_mean = atoll_ratio_mean_value(&s->geometric, &s->geometric_lo, &s->geometric_hi);
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
    if (t->floor_share > 0) {
        s->floor_count++;
        s->memory_floor_count += t->is_memory_floor != 0;
        s->floor_mean += log(t->floor_share);
    }
    if (t->headline < s->headline)
        s->headline = t->headline;
}

static void sums_end(struct atoll_task_sums *s)
{
    s->floor_mean = s->floor_count ? exp(s->floor_mean / (double)s->floor_count) : 0;
    for (size_t y = 0; y < ATOLL_YARDSTICK_COUNT; y++)
        speedup_end(&s->over[y]);
}

/* The groups a level or a category comes behind; those without one come last. */
static int compare_groups(const void *one, const void *other)
{
    const struct atoll_task_group *a = one, *b = other;
    if (a->level != b->level)
        return !a->level || (b->level && a->level > b->level) ? 1 : -1;
    return !*a->category != !*b->category ? (*a->category ? -1 : 1) : strcmp(a->category, b->category);
}

size_t atoll_query_groups(const struct atoll_query *q, enum atoll_grouping by,
                          struct atoll_task_group *ret_groups, size_t limit)
{
    size_t count = 0;
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_TASKS); i++) {
        struct atoll_task_summary t;
        size_t g = 0;
        atoll_query_task_summary(q, i, &t);
        unsigned level = by == ATOLL_BY_LEVEL ? t.level : 0;
        const char *category = by == ATOLL_BY_CATEGORY ? t.category : "";
        while (g < count && (ret_groups[g].level != level || strcmp(ret_groups[g].category, category) != 0))
            g++;
        if (g == limit)
            continue;
        if (g == count) {
            ret_groups[count++] = (struct atoll_task_group){.level = level, .category = category};
            sums_begin(&ret_groups[g].sums);
        }
        sums_add(&ret_groups[g].sums, &t);
    }
    if (count == 1 && !ret_groups[0].level && !*ret_groups[0].category)
        return 0;
    for (size_t g = 0; g < count; g++)
        sums_end(&ret_groups[g].sums);
    qsort(ret_groups, count, sizeof(*ret_groups), compare_groups);
    return count;
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
    add_campaigns(q, &s);
    for (uint64_t d = 0; d < atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_DEVICES); d++)
        s.device_wall_ns += atoll_query_device_first(q, d) == d ? atoll_query_device_gaps_ns(q, d) : 0;
    *ret = s;
}

/* learned.c - a part's learned.yaml names the campaigns whose statistics are in it, so the one with most of them is begun with, and only
 * parts that ended since are read. */
#include "scheduler/campaign/learned.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/campaign_progress.h"
#include "archive-h5/campaign/hints.h"
#include "archive-h5/campaign/knowledge.h"
#include "archive-h5/campaign/learned.h"
#include "archive-h5/table/project.h"

static void statistics_of(const struct atoll_row_hint *row, struct atoll_hint_statistics *ret)
{
    *ret =
        (struct atoll_hint_statistics){.uses = row->uses,
                                       .outcomes = row->outcomes,
                                       .wins = row->wins,
                                       .expected = row->expected,
                                       .gains = row->gains,
                                       .log_gain = row->mean_gain > 0 ? row->gains * log(row->mean_gain) : 0};
}

/* Texts stay the tables'; 0: the row is no hint that could be told again. */
static int hint_of_row(const struct atoll_tables *t, const struct atoll_row_hint *row,
                       struct atoll_experience_hint *ret)
{
    struct atoll_experience_hint h = {.name = atoll_tables_text(t, row->name),
                                      .language = atoll_tables_text(t, row->language),
                                      .device = atoll_tables_text(t, row->device),
                                      .category = atoll_tables_text(t, row->category),
                                      .role = ATOLL_ISLAND_ROLE_COUNT,
                                      .context = atoll_tables_text(t, row->context),
                                      .advice = atoll_tables_text(t, row->advice),
                                      .source = atoll_tables_text(t, row->source),
                                      .origin = (enum atoll_hint_origin)row->origin};
    const char *role = atoll_tables_text(t, row->role);
    for (unsigned r = 0; r < ATOLL_ISLAND_ROLE_COUNT; r++)
        if (strcmp(role, atoll_hint_role_name((uint8_t)r)) == 0)
            h.role = (uint8_t)r;
    if (atoll_trigger_parse(atoll_tables_text(t, row->trigger), &h.trigger, NULL) != 0 ||
        h.origin >= ATOLL_HINT_ORIGIN_COUNT || atoll_experience_hint_check(&h, NULL) != 0) {
        return 0;
    }
    statistics_of(row, &h.prior);
    *ret = h;
    return 1;
}

int atoll_learned_add_tables(const struct atoll_tables *tables, int is_all, struct atoll_hint_file *sum,
                             struct atoll_err *err)
{
    size_t new, known;
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < atoll_tables_count(tables, ATOLL_TABLE_HINTS); i++) {
        struct atoll_row_hint row;
        struct atoll_experience_hint hint;
        struct atoll_hint_file one = {.hints = &hint, .hint_count = 1};
        atoll_tables_get(tables, ATOLL_TABLE_HINTS, i, &row);
        if (hint_of_row(tables, &row, &hint) &&
            (is_all || hint.prior.uses > 0 || hint.origin == ATOLL_HINT_DISTILLED))
            rc = atoll_hint_file_merge(sum, &one, &new, &known, err);
    }
    for (uint64_t i = 0; rc == 0 && i < atoll_tables_count(tables, ATOLL_TABLE_CAMPAIGN); i++) {
        struct atoll_row_campaign row;
        struct atoll_hint_file one = {.campaigns = &row.id, .campaign_count = 1};
        atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, i, &row);
        rc = atoll_hint_file_merge(sum, &one, &new, &known, err);
    }
    return rc;
}

/* ---- parts ---- */

static int has_ended(const char *dir)
{
    struct atoll_campaign_progress progress;
    if (atoll_campaign_progress_read(dir, &progress, NULL) != 0)
        return 0;
    int has = progress.phase == ATOLL_CAMPAIGN_PROGRESS_ENDED;
    atoll_campaign_progress_fini(&progress);
    return has;
}

/* Of what parts before it were given, the file that knows most campaigns. */
static int begin(const struct atoll_sweep *sweep, size_t part, struct atoll_hint_file *sum,
                 struct atoll_err *err)
{
    struct atoll_hint_file most = {0};
    size_t new, known;
    for (size_t i = 0; i < sweep->part_count; i++) {
        char dir[PATH_MAX];
        struct atoll_hint_file file;
        if (i == part || atoll_sweep_part_path(sweep, i, dir, sizeof(dir), NULL) != 0 ||
            atoll_campaign_learned_read(dir, &file, NULL) <= 0)
            continue;
        int is_more = file.campaign_count > most.campaign_count;
        atoll_hint_file_fini(is_more ? &most : &file);
        if (is_more)
            most = file;
    }
    int rc = most.hint_count ? atoll_hint_file_merge(sum, &most, &new, &known, err) : 0;
    atoll_hint_file_fini(&most);
    return rc;
}

static int is_in(const struct atoll_hint_file *sum, const struct atoll_id *campaign)
{
    for (size_t i = 0; i < sum->campaign_count; i++)
        if (atoll_id_equal(&sum->campaigns[i], campaign))
            return 1;
    return 0;
}

static int add_part(const char *dir, struct atoll_hint_file *sum, struct atoll_err *err)
{
    struct atoll_campaign *campaign = has_ended(dir) ? atoll_campaign_open(dir, NULL, NULL) : NULL;
    struct atoll_projection *projection = campaign && !is_in(sum, &atoll_campaign_config(campaign)->id)
                                              ? atoll_projection_of_campaign(campaign, NULL, NULL)
                                              : NULL;
    int rc = projection ? atoll_learned_add_tables(atoll_projection_tables(projection), 0, sum, err) : 0;
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    return rc;
}

static int gather(const struct atoll_sweep *sweep, size_t part, struct atoll_hint_file *sum,
                  struct atoll_err *err)
{
    int rc = begin(sweep, part, sum, err);
    for (size_t i = 0; rc == 0 && i < sweep->part_count; i++) {
        char dir[PATH_MAX];
        if (i != part)
            rc = atoll_sweep_part_path(sweep, i, dir, sizeof(dir), err) == 0 ? add_part(dir, sum, err) : -1;
    }
    return rc;
}

/* Whether models of the campaign are told hints, and nobody has begun it. */
static int wants(const struct atoll_campaign *campaign, struct atoll_err *err)
{
    const struct atoll_search *search = &atoll_campaign_config(campaign)->search;
    struct atoll_attempt *attempts = NULL;
    size_t count = 0;
    if (!search->hints || search->strategy == ATOLL_STRATEGY_REPEATED ||
        !atoll_campaign_option(campaign, ATOLL_CAMPAIGN_KNOWLEDGE_OPTION))
        return 0;
    int rc = atoll_campaign_attempts(campaign, &attempts, &count, err);
    free(attempts);
    return rc == 0 ? count == 0 : -1;
}

/* All of it has to find room beside the hints that the campaign was made with, or it could not be read. */
static int finds_room(const struct atoll_campaign *campaign, const struct atoll_hint_file *learned,
                      struct atoll_err *err)
{
    struct atoll_hint_file own, sum = {0};
    size_t new, known;
    if (atoll_campaign_hints_read(campaign, &own, err) != 0)
        return -1;
    int rc = atoll_hint_file_merge(&sum, &own, &new, &known, err);
    rc = rc == 0 ? atoll_hint_file_merge(&sum, learned, &new, &known, err) : rc;
    atoll_hint_file_fini(&own);
    atoll_hint_file_fini(&sum);
    return rc;
}

int atoll_learned_give(const struct atoll_sweep *sweep, size_t part, size_t *ret_hints, size_t *ret_parts,
                       struct atoll_err *err)
{
    char dir[PATH_MAX];
    struct atoll_hint_file sum = {0};
    *ret_hints = *ret_parts = 0;
    if (atoll_sweep_part_path(sweep, part, dir, sizeof(dir), err) != 0)
        return -1;
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    int wanted = campaign ? wants(campaign, err) : -1;
    int rc = wanted > 0 ? gather(sweep, part, &sum, err) : wanted;
    if (rc == 0 && sum.hint_count > 0) {
        rc = finds_room(campaign, &sum, err);
        rc = rc == 0 ? atoll_campaign_learned_write(dir, &sum, err) : rc;
        if (rc > 0) {
            *ret_hints = sum.hint_count;
            *ret_parts = sum.campaign_count;
        }
    }
    atoll_hint_file_fini(&sum);
    atoll_campaign_close(campaign);
    return rc < 0 ? -1 : 0;
}

/* knowledge_stats.c - `atoll knowledge stats`: what came of what models were told, over campaigns. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/print.h"
#include "base/spelling.h"
#include "core/experience/hint.h"
#include "core/knowledge/knowledge_base.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/cli/command.h"
#include "scheduler/knowledge/overlay.h"

struct stats_settings {
    const char *kind;
    int all, json;
};

#define FIELD(name) offsetof(struct stats_settings, name)
static const struct atoll_option stats_options[] = {
    {"kind", 0, ATOLL_OPT_TEXT, FIELD(kind), "NAME", NULL, 0, 0, NULL,
     "Only these: constraint, pattern, example, hardware or kernel."},
    {"all", 0, ATOLL_OPT_FLAG, FIELD(all), NULL, NULL, 0, 0, NULL,
     "Entries that come with Atoll and that nobody was told, too."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "A JSON array of entries, best first."},
    {0}};

static const struct atoll_command stats_command = {
    "knowledge stats",
    "DIR|ARCHIVE ...",
    "rank what models were told by what came of it",
    "One line per entry, the best first: how many asks were told it, how many kernels were measured behind "
    "that "
    "and how many gained, how many times as many that is as asks of the same kind that were told other "
    "things "
    "(lift, which begins at 1 and moves with evidence), and the mean speed over the parent of those that "
    "gained or "
    "lost. A campaign that is in several archives counts once.",
    "atoll knowledge stats my-campaign\natoll knowledge stats --all --json a.h5 b.h5",
    stats_options,
    NULL};

struct total {
    char *kind, *name; /* owned */
    struct atoll_hint_statistics sum;
    uint32_t campaigns;
};

struct totals {
    struct total *rows;
    uint32_t count, capacity;
    struct atoll_id *seen; /* campaigns */
    uint32_t seen_count, seen_capacity;
};

static void totals_fini(struct totals *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        free(t->rows[i].kind);
        free(t->rows[i].name);
    }
    free(t->rows);
    free(t->seen);
}

static struct total *total_of(struct totals *t, const char *kind, const char *name, struct atoll_err *err)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (strcmp(t->rows[i].name, name) == 0 && strcmp(t->rows[i].kind, kind) == 0)
            return &t->rows[i];
    if (atoll_array_reserve(&t->rows, &t->capacity, t->count + 1, sizeof(*t->rows), err) != 0)
        return NULL;
    struct total *row = &t->rows[t->count++];
    *row = (struct total){.kind = strdup(kind), .name = strdup(name)};
    if (row->kind && row->name)
        return row;
    atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what came of entries");
    return NULL;
}

/* ---- archives ---- */

static int is_seen(const struct totals *t, uint32_t before, const struct atoll_id *campaign)
{
    for (uint32_t i = 0; i < before; i++)
        if (atoll_id_equal(&t->seen[i], campaign))
            return 1;
    return 0;
}

static int add_rows(struct totals *t, const struct atoll_tables *tables, uint32_t before,
                    struct atoll_err *err)
{
    uint64_t campaigns = atoll_tables_count(tables, ATOLL_TABLE_CAMPAIGN);
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_KNOWLEDGE_ENTRIES); i++) {
        struct atoll_row_hint row;
        struct atoll_row_campaign campaign;
        atoll_tables_get(tables, ATOLL_TABLE_KNOWLEDGE_ENTRIES, i, &row);
        if (row.campaign < campaigns) {
            atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, row.campaign, &campaign);
            if (is_seen(t, before, &campaign.id))
                continue;
        }
        const struct atoll_hint_statistics own = {.uses = row.uses,
                                                  .outcomes = row.outcomes,
                                                  .wins = row.wins,
                                                  .expected = row.expected,
                                                  .gains = row.gains,
                                                  .log_gain =
                                                      row.mean_gain > 0 ? row.gains * log(row.mean_gain) : 0};
        struct total *total =
            total_of(t, atoll_tables_text(tables, row.trigger), atoll_tables_text(tables, row.name), err);
        if (!total)
            return -1;
        atoll_hint_statistics_add(&total->sum, &own);
        total->campaigns++;
    }
    return 0;
}

static int add_archive(struct totals *t, const char *path, struct atoll_err *err)
{
    struct atoll_archive_view view;
    uint32_t before = t->seen_count;
    if (atoll_archive_view_open(path, &view, err) != 0)
        return -1;
    int rc = add_rows(t, view.tables, before, err);
    for (uint64_t i = 0; rc == 0 && i < atoll_tables_count(view.tables, ATOLL_TABLE_CAMPAIGN); i++) {
        struct atoll_row_campaign row;
        rc = atoll_array_reserve(&t->seen, &t->seen_capacity, t->seen_count + 1, sizeof(*t->seen), err);
        atoll_tables_get(view.tables, ATOLL_TABLE_CAMPAIGN, i, &row);
        if (rc == 0)
            t->seen[t->seen_count++] = row.id;
    }
    atoll_archive_view_close(&view);
    return rc;
}

static int add_installed(struct totals *t, struct atoll_err *err)
{
    struct atoll_knowledge_pack *pack = atoll_knowledge_overlay_load(NULL, 0, err);
    struct atoll_knowledge_base *base = pack ? atoll_knowledge_base_parse(pack, NULL, NULL, err) : NULL;
    int rc = base ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < base->count; i++)
        rc = total_of(t, atoll_knowledge_kind_name(base->entries[i].kind), base->entries[i].id, err) ? 0 : -1;
    atoll_knowledge_base_destroy(base);
    atoll_knowledge_pack_destroy(pack);
    return rc;
}

/* ---- the table ---- */

/* By lift, then by uses, then by name. */
static int compare(const void *a, const void *b)
{
    const struct total *x = a, *y = b;
    double lift_x = atoll_hint_lift(&x->sum), lift_y = atoll_hint_lift(&y->sum);
    if (lift_x != lift_y)
        return lift_x < lift_y ? 1 : -1;
    if (x->sum.uses != y->sum.uses)
        return x->sum.uses < y->sum.uses ? 1 : -1;
    return strcmp(x->name, y->name);
}

static json_t *total_json(const struct total *t)
{
    const struct atoll_hint_statistics *s = &t->sum;
    return json_pack("{s:o, s:o, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "id",
                     atoll_json_text(t->name), "kind", atoll_json_text(t->kind), "campaigns",
                     (int)t->campaigns, "uses", s->uses, "outcomes", s->outcomes, "wins", s->wins, "expected",
                     s->expected, "gains", s->gains, "mean_gain", s->gains > 0 ? atoll_hint_gain(s) : 0,
                     "confidence", atoll_hint_confidence(s), "lift", atoll_hint_lift(s), "dropped",
                     atoll_hint_is_losing(s));
}

static void print_total(const struct total *t)
{
    const struct atoll_hint_statistics *s = &t->sum;
    char wins[40] = "-", gain[24] = "-";
    if (s->outcomes > 0)
        snprintf(wins, sizeof(wins), "%.0f of %.0f, %.1fx", s->wins, s->outcomes, atoll_hint_lift(s));
    if (s->gains > 0)
        snprintf(gain, sizeof(gain), "%.2f", atoll_hint_gain(s));
    atoll_print(stdout, "%-10s  %-52s %6.0f  %-18s %6s %s\n", t->kind, t->name, s->uses, wins, gain,
                atoll_hint_is_losing(s) ? "dropped" : "");
}

static void print_totals(const struct stats_settings *settings, const struct totals *t)
{
    json_t *rows = settings->json ? json_array() : NULL;
    if (!rows)
        atoll_print(stdout, "%-10s  %-52s %6s  %-18s %6s\n", "kind", "entry", "uses", "gains, lift", "speed");
    for (uint32_t i = 0; i < t->count; i++) {
        if (settings->kind && strcmp(settings->kind, t->rows[i].kind) != 0)
            continue;
        if (rows)
            json_array_append_new(rows, total_json(&t->rows[i]));
        else
            print_total(&t->rows[i]);
    }
    if (rows)
        atoll_json_print(rows, JSON_INDENT(2), stdout);
}

/* USAGE, with the nearest one, where there is no such kind. */
static int check_kind(const char *kind, struct atoll_err *err)
{
    const char *names[ATOLL_KNOWLEDGE_KIND_COUNT + 1] = {
        "kernel"}; /* of other tasks, beside those of knowledge */
    char hint[ATOLL_SPELLING_HINT_BYTES];

    for (unsigned i = 0; i < ATOLL_KNOWLEDGE_KIND_COUNT; i++)
        names[i + 1] = atoll_knowledge_kind_name((enum atoll_knowledge_kind)i);
    for (unsigned i = 0; i <= ATOLL_KNOWLEDGE_KIND_COUNT; i++)
        if (!kind || strcmp(kind, names[i]) == 0)
            return 0;
    return atoll_err_set(
        err, ATOLL_E_USAGE, "--kind %.40s: no such kind; %s", kind,
        atoll_spelling_hint(kind, names, ATOLL_KNOWLEDGE_KIND_COUNT + 1, "--help names them", hint));
}

static int run_stats(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct stats_settings *settings = given;
    struct totals totals = {0};
    int rc = check_kind(settings->kind, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = add_archive(&totals, arguments[i], err);
    if (rc == 0 && settings->all)
        rc = add_installed(&totals, err);
    if (rc == 0) {
        if (totals.count > 0)
            qsort(totals.rows, totals.count, sizeof(*totals.rows), compare);
        print_totals(settings, &totals);
    }
    totals_fini(&totals);
    return rc;
}

const struct atoll_subcommand atoll_command_knowledge_stats = {.command = &stats_command,
                                                               .settings_bytes =
                                                                   sizeof(struct stats_settings),
                                                               .least = 1,
                                                               .most = 64,
                                                               .missing = "name a campaign or an archive",
                                                               .run = run_stats};

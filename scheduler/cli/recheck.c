/* recheck.c - a task's best is compiled once, then compared with its baseline in one process, and with its rivals where the campaign
 * measured one and a Python with torch is here.  What is compared with the record are the intervals of the two ratios. */
#include "scheduler/cli/recheck.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/report/task_rival.h"
#include "base/json.h"
#include "base/print.h"
#include "base/spelling.h"
#include "base/units.h"
#include "core/rival.h"
#include "core/search.h"
#include "core/stats.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/coordinator/replay.h"
#include "mpi-eval/coordinator/setup.h"
#include "mpi-eval/referee/rival.h"
#include "mpi-eval/torch/interpreter.h"
#include "scheduler/cli/agreement.h"
#include "scheduler/cli/archive_view.h"
#include "scheduler/doctor/calibrate_device.h"

#define ERROR_RATE 0.01 /* of one comparison */

struct recheck {
    const struct atoll_recheck *settings;
    struct atoll_bench_device device;
    struct atoll_replayed replayed;
    struct atoll_archive_view view;
    int has_torch;
    unsigned checked, failed, disagreed;
};

/* One comparison, measured again. */
struct again {
    int is_measured;
    struct atoll_duel duel;
    struct atoll_agreement agreement; /* with the record */
};

/* A task under check. */
struct subject {
    uint32_t number;
    const struct atoll_task *task;
    struct atoll_task_status status;
    struct atoll_row_task row; /* in tasks, of the first device model */
    uint64_t task_row;
    struct again seed, rival;
    const char *why_no_rival; /* NULL: none was measured in the campaign, or it was measured again */
};

/* ---- the two that are compared ---- */

/* One side of a comparison: source text (with its plan) and choice, borrowed from the engine. */
struct given_side {
    const char *language, *source;
    struct atoll_choice choice;
};

struct side {
    struct atoll_order_candidate candidate;
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled;
};

static void side_fini(struct side *side)
{
    atoll_prepared_destroy(side->prepared);
    atoll_compiled_fini(&side->compiled);
}

static int side_compile(struct side *side, struct atoll_bench_device *device, const struct atoll_task *task,
                        const char *name, const struct given_side *given, struct atoll_err *err)
{
    const struct atoll_backend *backend = atoll_backend_find(device->setup.backend);

    side->candidate.language = given->language;
    side->candidate.source = given->source;
    side->candidate.choice = given->choice;
    side->prepared =
        atoll_prepared_create(task, backend, &side->candidate, atoll_referee_device(device->referee), err);
    if (!side->prepared)
        return -1;
    if (side->prepared->verdict != ATOLL_V_CORRECT) {
        return atoll_err_set(err, ATOLL_E_MISMATCH, "%s: the %s is %s now: %s", task->name, name,
                             atoll_verdict_name(side->prepared->verdict), side->prepared->detail);
    }
    side->candidate.id = side->prepared->id;
    if (atoll_prepared_compile(side->prepared, device->compiler, &side->compiled, err) != 0)
        return -1;
    if (side->compiled.status != ATOLL_COMPILE_OK) {
        return atoll_err_set(err, ATOLL_E_MISMATCH, "%s: the %s does not compile here: %s", task->name, name,
                             side->compiled.diagnostics);
    }
    return 0;
}

/* One side of the comparison, from the replayed engine's candidate. */
static int find_side(const struct atoll_engine *engine, uint32_t task, const struct atoll_id *candidate,
                     struct given_side *ret_side, struct atoll_err *err)
{
    struct atoll_id source;

    if (atoll_engine_candidate(engine, task, candidate, &source, &ret_side->choice) != 0 ||
        atoll_engine_source(engine, &source, &ret_side->language, &ret_side->source) != 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "the campaign does not hold a candidate's source");
    }
    return 0;
}

static void fill_order(struct atoll_order *order, uint32_t task, enum atoll_duel_purpose purpose)
{
    struct atoll_search search;

    memset(order, 0, sizeof(*order));
    atoll_search_defaults(&search);
    order->task = task;
    order->kind = ATOLL_ORDER_DUEL;
    order->purpose = purpose;
    order->alpha = ERROR_RATE;
    order->margin = atoll_search_log_margin(&search);
    order->pair_limit = search.pair_limit;
}

/* Checks both on all check, bench and hidden variants, and times them interleaved. */
static int measure_seed(struct recheck *r, struct subject *s, const struct side *best, struct atoll_err *err)
{
    struct given_side given;
    struct atoll_order order;
    struct side baseline;
    int status;

    memset(&baseline, 0, sizeof(baseline));
    status = find_side(r->replayed.engine, s->number, &s->status.baseline, &given, err);
    status = status == 0 ? side_compile(&baseline, &r->device, s->task, "baseline", &given, err) : status;
    if (status == 0) {
        fill_order(&order, s->number, ATOLL_DUEL_FINAL);
        order.elite = baseline.candidate;
        order.candidate = best->candidate;
        atoll_referee_duel(r->device.referee, s->number, &order, baseline.prepared, baseline.compiled.object,
                           baseline.compiled.object_length, best->prepared, best->compiled.object,
                           best->compiled.object_length, &s->seed.duel);
        s->seed.is_measured = 1;
    }
    side_fini(&baseline);
    return status;
}

/* The rivals that the campaign found fastest at each bench variant. */
static struct atoll_fastest_rival find_fastest(const struct recheck *r, const struct subject *s)
{
    struct atoll_rival_times times = {.ns = {{0}}};
    uint64_t rows[ATOLL_TASK_RIVAL_LIMIT], timings[ATOLL_TASK_VARIANT_LIMIT];
    size_t count = atoll_query_rivals(r->view.query, s->task_row, rows);

    for (size_t i = 0; i < count; i++) {
        struct atoll_row_rival rival;
        size_t timed = atoll_query_rival_timings(r->view.query, rows[i], timings);

        atoll_tables_get(r->view.tables, ATOLL_TABLE_RIVALS, rows[i], &rival);
        for (size_t k = 0; rival.verdict == ATOLL_V_CORRECT && k < timed; k++) {
            struct atoll_row_rival_timing t;

            atoll_tables_get(r->view.tables, ATOLL_TABLE_RIVAL_TIMINGS, timings[k], &t);
            if (t.variant < ATOLL_TASK_VARIANT_LIMIT)
                times.ns[rival.number][t.variant] = t.median_ns;
        }
    }
    return atoll_rival_times_fastest(&times, s->task);
}

static void measure_rival(struct recheck *r, struct subject *s, const struct side *best)
{
    struct atoll_fastest_rival fastest = find_fastest(r, s);
    struct atoll_order order;

    fill_order(&order, s->number, ATOLL_DUEL_RIVAL);
    order.candidate = best->candidate;
    order.rival = fastest.number;
    memcpy(order.rivals, fastest.numbers, sizeof(order.rivals));
    atoll_referee_rival_duel(r->device.referee, s->number, &order, best->prepared, best->compiled.object,
                             best->compiled.object_length, &s->rival.duel);
    s->rival.is_measured = 1;
}

/* Holds it against the campaign's final comparison, of so many pairs (0: it made none).  0 where they disagree. */
static int hold_against(struct recheck *r, struct again *a, uint32_t pairs, struct atoll_ratio recorded)
{
    const struct atoll_duel *d = &a->duel;
    struct atoll_ratio none = {0, 0, 0}, measured = {d->ratio, d->ratio_lo, d->ratio_hi};
    int disagrees;

    a->agreement = atoll_agreement_of(pairs ? recorded : none, d->ratio_hi > 0 ? measured : none);
    disagrees = a->agreement.kind == ATOLL_AGREEMENT_DISAGREES;
    r->disagreed += (unsigned)disagrees;
    return !disagrees;
}

/* ---- what is printed ---- */

static void print_again(const char *head, const char *over, const struct again *a)
{
    char other[32], best[32], text[256];

    atoll_print(stdout, "%s %s -> %s  %.2fx over the %s  p %.1g  %u pairs  %s %s\n", head,
                atoll_duration_text(a->duel.elite_ns, other, sizeof(other)),
                atoll_duration_text(a->duel.challenger_ns, best, sizeof(best)), a->duel.ratio, over,
                a->duel.p_value, a->duel.pair_count, atoll_verdict_name(a->duel.verdict), a->duel.detail);
    atoll_print(stdout, "     %s\n", atoll_agreement_text(&a->agreement, text, sizeof(text)));
}

static json_t *interval_json(const struct atoll_ratio *r)
{
    return r->ratio > 0 ? json_pack("[f, f]", r->lo, r->hi) : json_null();
}

/* yardstick: the key of the time that stands against the best's. */
static json_t *again_json(const struct again *a, const char *yardstick)
{
    const struct atoll_duel *d = &a->duel;
    const struct atoll_agreement *g = &a->agreement;

    if (!a->is_measured)
        return json_null();
    return json_pack("{s:s, s:f, s:o, s:f, s:f, s:f, s:i, s:o, s:o, s:o, s:o, s:o}", "verdict",
                     atoll_verdict_name(d->verdict), "speedup", d->ratio, "speedup_interval",
                     interval_json(&g->measured), "p_value", d->p_value, yardstick, d->elite_ns, "best_ns",
                     d->challenger_ns, "pairs", (int)d->pair_count, "detail", atoll_json_text(d->detail),
                     "recorded_speedup", g->recorded.ratio > 0 ? json_real(g->recorded.ratio) : json_null(),
                     "recorded_interval", interval_json(&g->recorded), "agrees",
                     g->times_apart > 0 ? json_boolean(g->kind == ATOLL_AGREEMENT_AGREES) : json_null(),
                     "times_apart", g->times_apart > 0 ? json_real(g->times_apart) : json_null());
}

/* The headline's fields at the top, those of both comparisons below "seed" and "rival". */
static void print_json(const struct recheck *r, const struct subject *s, int passed)
{
    int is_rival = s->rival.is_measured;
    json_t *row = json_pack("{s:s, s:b, s:s}", "task", s->task->name, "passed", passed, "speedup_over",
                            is_rival ? "rival" : "seed");
    json_t *rival = again_json(&s->rival, "rival_ns"), *seed = again_json(&s->seed, "baseline_ns");

    json_object_update(row, is_rival ? rival : seed);
    if (is_rival)
        json_object_set_new(rival, "name", atoll_json_text(atoll_tables_text(r->view.tables, s->row.rival)));
    json_object_set_new(row, "seed", seed);
    json_object_set_new(row, "rival", rival);
    if (s->seed.is_measured)
        json_object_set_new(row, "baseline_ns", json_real(s->seed.duel.elite_ns));
    if (s->why_no_rival)
        json_object_set_new(row, "no_rival", json_string(s->why_no_rival));
    atoll_json_print(row, JSON_COMPACT, stdout);
}

static void print_subject(const struct recheck *r, const struct subject *s, int passed)
{
    char head[64], over[256];

    if (r->settings->json) {
        print_json(r, s, passed);
        return;
    }
    snprintf(head, sizeof(head), "%-4s %-20s", passed ? "ok" : "FAIL", s->task->name);
    if (s->rival.is_measured) {
        snprintf(over, sizeof(over), "rival %.200s", atoll_tables_text(r->view.tables, s->row.rival));
        print_again(head, over, &s->rival);
        snprintf(head, sizeof(head), "%-4s %-20s", "", "");
    }
    if (s->seed.is_measured)
        print_again(head, "seed", &s->seed);
    if (s->why_no_rival)
        atoll_print(stdout, "     its rival %s was not measured again: %s\n",
                    atoll_tables_text(r->view.tables, s->row.rival), s->why_no_rival);
    fflush(stdout);
}

/* A task with nothing to measure. */
static int print_unmeasured(const struct atoll_task *task, int passed, const char *why, int json)
{
    if (json) {
        json_t *row = json_pack("{s:s, s:b, s:s}", "task", task->name, "passed", passed, "detail", why);

        atoll_json_print(row, JSON_COMPACT, stdout);
    } else {
        atoll_print(stdout, "%-4s %-20s %s\n", passed ? "ok" : "FAIL", task->name, why);
    }
    return passed;
}

/* ---- tasks ---- */

/* NOTFOUND, with the nearest one, where the campaign has no task of this name. */
static int find_task(const struct atoll_engine *engine, const char *name, struct atoll_err *err)
{
    uint32_t count = atoll_engine_task_count(engine);
    const char **names = calloc((size_t)count + 1, sizeof(*names));
    char hint[ATOLL_SPELLING_HINT_BYTES];
    int is_there = 0;

    if (!names)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the names of %u tasks", count);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = atoll_engine_task(engine, i)->name;
        is_there |= strcmp(names[i], name) == 0;
    }
    atoll_spelling_hint(name, names, count, "atoll best prints them", hint);
    free(names);
    return is_there ? 0
                    : atoll_err_set(err, ATOLL_E_NOTFOUND, "no task '%.70s' in the campaign; %s", name, hint);
}

static int find_subject(const struct recheck *r, uint32_t number, struct subject *ret)
{
    uint64_t count = atoll_tables_count(r->view.tables, ATOLL_TABLE_TASKS);

    *ret = (struct subject){.number = number, .task = atoll_engine_task(r->replayed.engine, number)};
    for (uint64_t i = 0; i < count; i++) {
        struct atoll_row_task row;

        atoll_tables_get(r->view.tables, ATOLL_TABLE_TASKS, i, &row);
        if (row.task == number && row.model == 0) {
            ret->row = row;
            ret->task_row = i;
        }
    }
    return atoll_engine_task_status(r->replayed.engine, number, 0, &ret->status) == 0 &&
                   !atoll_id_is_zero(&ret->status.best)
               ? 0
               : -1;
}

/* The best over its baseline, unless it is that, and over its rival. */
static int measure_subject(struct recheck *r, struct subject *s, struct atoll_err *err)
{
    int has_seed =
        !atoll_id_is_zero(&s->status.baseline) && !atoll_id_equal(&s->status.best, &s->status.baseline);
    int has_rival = s->row.rival_ns > 0 && r->has_torch;
    struct given_side given;
    struct side best;
    int status;

    if (s->row.rival_ns > 0 && !r->has_torch)
        s->why_no_rival = "there is no Python with torch here (--python of the campaign, ATOLL_PYTHON)";
    if (!has_seed && !has_rival)
        return 0;
    memset(&best, 0, sizeof(best));
    status = find_side(r->replayed.engine, s->number, &s->status.best, &given, err);
    status = status == 0 ? side_compile(&best, &r->device, s->task, "best kernel", &given, err) : status;
    status = status == 0 ? atoll_referee_add_task(r->device.referee, s->number, s->task, err) : status;
    if (status == 0 && has_seed)
        status = measure_seed(r, s, &best, err);
    if (status == 0 && has_rival)
        measure_rival(r, s, &best);
    side_fini(&best);
    return status;
}

/* 1 passed, 0 failed, -1 error.  A task whose best is its baseline and that has no rival has nothing to compare. */
static int recheck_task(struct recheck *r, uint32_t number, struct atoll_err *err)
{
    const struct atoll_duel *seed, *rival;
    struct subject s;
    int passed = 1, has_baseline;

    if (find_subject(r, number, &s) != 0)
        return print_unmeasured(s.task, 0, "no correct kernel in the campaign", r->settings->json);
    if (measure_subject(r, &s, err) != 0)
        return -1;
    has_baseline = !atoll_id_is_zero(&s.status.baseline);
    seed = &s.seed.duel;
    rival = &s.rival.duel;
    if (!s.seed.is_measured && !s.rival.is_measured) {
        return print_unmeasured(s.task, has_baseline && r->settings->minimum <= 1,
                                s.why_no_rival ? s.why_no_rival : "the baseline is still the best",
                                r->settings->json);
    }
    if (s.seed.is_measured) {
        struct atoll_ratio recorded = {s.row.final_ratio, s.row.final_lo, s.row.final_hi};
        int agrees = hold_against(r, &s.seed, s.row.final_pairs, recorded);

        passed &= seed->verdict == ATOLL_V_CORRECT && seed->better && agrees;
    }
    if (s.rival.is_measured) {
        struct atoll_ratio recorded = {s.row.final_rival_ratio, s.row.final_rival_lo, s.row.final_rival_hi};
        int agrees = hold_against(r, &s.rival, s.row.final_rival_pairs, recorded);

        passed &= rival->verdict == ATOLL_V_CORRECT && agrees;
    }
    passed &= (s.rival.is_measured ? rival : seed)->ratio >= r->settings->minimum;
    print_subject(r, &s, passed);
    return passed;
}

static int recheck_all(struct recheck *r, struct atoll_err *err)
{
    for (uint32_t i = 0; i < atoll_engine_task_count(r->replayed.engine); i++) {
        int passed;

        if (r->settings->task &&
            strcmp(r->settings->task, atoll_engine_task(r->replayed.engine, i)->name) != 0)
            continue;
        passed = recheck_task(r, i, err);
        if (passed < 0)
            return -1;
        r->checked++;
        r->failed += !passed;
    }
    if (!r->settings->json)
        printf("%u task%s measured again, %u failed, %u disagree%s with the record\n", r->checked,
               r->checked == 1 ? "" : "s", r->failed, r->disagreed, r->disagreed == 1 ? "s" : "");
    return r->failed ? 1 : 0;
}

/* The campaign's Python, where it is there; else the one that would be found without it. */
static int choose_python(struct atoll_setup *setup)
{
    char python[sizeof(setup->python)];
    int found = atoll_torch_find(setup->python, python, sizeof(python), NULL);

    found = found < 0 ? atoll_torch_find("auto", python, sizeof(python), NULL) : found;
    if (found == 0)
        snprintf(setup->python, sizeof(setup->python), "%s", python);
    return found == 0;
}

int atoll_recheck(const char *dir, const struct atoll_recheck *settings, struct atoll_err *err)
{
    struct recheck r;
    int status;

    memset(&r, 0, sizeof(r));
    r.settings = settings;
    if (atoll_archive_view_open(dir, &r.view, err) != 0)
        return -1;
    if (!r.view.campaign) {
        atoll_archive_view_close(&r.view);
        return atoll_err_set(err, ATOLL_E_USAGE, "%s: --recheck needs a campaign's folder", dir);
    }
    status = atoll_replay_campaign(r.view.campaign, NULL, &r.replayed, err);
    if (status == 0) {
        status = settings->task ? find_task(r.replayed.engine, settings->task, err) : 0;
        status = status == 0 ? atoll_setup_of_campaign(r.view.campaign, 0, &r.device.setup, err) : -1;
        if (status == 0 && r.device.setup.backend_null)
            status = atoll_err_set(err, ATOLL_E_USAGE,
                                   "%s: its backend is null: its times are invented, there is nothing to "
                                   "measure again",
                                   dir);
        if (status == 0) {
            r.device.setup.sample_wall_ns = 2e9;
            r.has_torch = choose_python(&r.device.setup);
            status = atoll_bench_device_open(&r.device, err);
        }
        if (status == 0) {
            status = recheck_all(&r, err);
            atoll_bench_device_close(&r.device);
        }
        atoll_replayed_fini(&r.replayed);
    }
    atoll_archive_view_close(&r.view);
    return status;
}

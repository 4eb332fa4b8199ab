/* verify.c - `atoll verify`: checks files, or measures again in this process with fresh secret and draws. */
#include "scheduler/cli/command.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/hdf5/verify_file.h"
#include "core/search.h"
#include "core/stats.h"
#include "base/print.h"
#include "base/spelling.h"
#include "base/units.h"
#include "mpi-eval/coordinator/replay.h"
#include "mpi-eval/coordinator/setup.h"
#include "base/json.h"
#include "mpi-eval/backend/backends.h"
#include "scheduler/doctor/calibrate_device.h"
#include "scheduler/cli/archive_view.h"

struct verify_settings {
    const char *task;
    int recheck, json;
    double minimum;
};

#define FIELD(name) offsetof(struct verify_settings, name)

static const struct atoll_option verify_options[] = {
    {"recheck", 0, ATOLL_OPT_FLAG, FIELD(recheck), NULL, NULL, 0, 0, NULL,
     "Measure baseline and best of each task again on this machine: new process, new seeds, all variants, "
     "interleaved."},
    {"task", 't', ATOLL_OPT_TEXT, FIELD(task), "TASK", NULL, 0, 0, NULL, "With --recheck: only this task."},
    {"minimum", 0, ATOLL_OPT_DOUBLE, FIELD(minimum), "RATIO", "0", 0, 1e6, NULL,
     "With --recheck: a task below this speedup fails."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "JSON lines."},
    {0}};

static const struct atoll_command verify_command = {
    "verify",
    "DIR|FILE",
    "check files of a campaign, or its results by measuring again",
    "Without --recheck: reads journals, segments and archives and checks every checksum, length, reference "
    "and hash. With --recheck: "
    "compiles the recorded sources again, measures, and says whether the interval of the measured ratio "
    "agrees "
    "with that of the record, and by how much it does not. Exit status 0 when everything holds.",
    "atoll verify my-campaign\natoll verify my-campaign --recheck --minimum 1.5",
    verify_options,
    NULL};

static void print_finding(void *context, int is_problem, const char *line)
{
    (void)context;
    atoll_print(stdout, "%-7s %s\n", is_problem ? "PROBLEM" : "ok", line);
}

static int verify_files(const char *path, int json, struct atoll_err *err)
{
    struct atoll_verify_report report;

    if (atoll_verify_path(path, json ? NULL : print_finding, NULL, &report, err) != 0)
        return -1;
    if (json) {
        json_t *object = json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "files", (json_int_t)report.files, "records",
            (json_int_t)report.records, "rows", (json_int_t)report.rows, "torn_bytes",
            (json_int_t)report.torn_bytes, "quarantined_records", (json_int_t)report.quarantined_records,
            "problems", (json_int_t)report.problems, "first_problem", atoll_json_text(report.first_problem));

        atoll_json_print(object, JSON_COMPACT, stdout);
    } else {
        printf("%llu files, %llu journal records, %llu rows, %llu torn bytes, %llu quarantined records, %llu "
               "problems\n",
               (unsigned long long)report.files, (unsigned long long)report.records,
               (unsigned long long)report.rows, (unsigned long long)report.torn_bytes,
               (unsigned long long)report.quarantined_records, (unsigned long long)report.problems);
    }
    if (report.problems) {
        atoll_err_set(err, ATOLL_E_CORRUPT, "%s: %llu problems, first: %.400s", path,
                      (unsigned long long)report.problems, report.first_problem);
        return -1;
    }
    return 0;
}

/* ---- measuring again ---- */

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
    if (atoll_compiler_run(device->compiler, backend->unit_name, side->prepared->unit_text,
                           side->prepared->unit_length, NULL, 0, &side->compiled, err) != 0) {
        return -1;
    }
    if (side->compiled.status != ATOLL_COMPILE_OK) {
        return atoll_err_set(err, ATOLL_E_MISMATCH, "%s: the %s does not compile here: %s", task->name, name,
                             side->compiled.diagnostics);
    }
    side->prepared->report = side->compiled.report;
    return 0;
}

/* Compiles both, checks both on all check, bench and hidden variants with draws nobody has seen, and times them interleaved.
 * -1 when one is refused or does not compile (err says which and why). */
static int measure_again(struct atoll_bench_device *device, uint32_t task_number,
                         const struct atoll_task *task, const struct given_side *baseline,
                         const struct given_side *best, struct atoll_duel *ret_duel, struct atoll_err *err)
{
    struct side sides[2];
    struct atoll_order order;
    struct atoll_search search;
    int status;

    memset(sides, 0, sizeof(sides));
    memset(&order, 0, sizeof(order));
    atoll_search_defaults(&search);
    status = side_compile(&sides[0], device, task, "baseline", baseline, err);
    status = status == 0 ? side_compile(&sides[1], device, task, "best kernel", best, err) : status;
    status = status == 0 ? atoll_referee_add_task(device->referee, task_number, task, err) : status;
    if (status == 0) {
        order.task = task_number;
        order.kind = ATOLL_ORDER_DUEL;
        order.purpose = ATOLL_DUEL_FINAL;
        order.elite = sides[0].candidate;
        order.candidate = sides[1].candidate;
        order.alpha = 0.01;
        order.margin = atoll_search_log_margin(&search);
        order.pair_limit = search.pair_limit;
        atoll_referee_duel(device->referee, task_number, &order, sides[0].prepared, sides[0].compiled.object,
                           sides[0].compiled.object_length, sides[1].prepared, sides[1].compiled.object,
                           sides[1].compiled.object_length, ret_duel);
    }
    side_fini(&sides[0]);
    side_fini(&sides[1]);
    return status;
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

/* What the campaign says of a task's final comparison; ratio 0 when it made none.  Journals from before there were intervals
 * give the ratio alone. */
struct recorded {
    double ratio, lo, hi;
};

static struct recorded find_recorded(const struct atoll_tables *tables, uint32_t number)
{
    struct recorded recorded = {0, 0, 0};

    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_TASKS); i++) {
        struct atoll_row_task row;

        atoll_tables_get(tables, ATOLL_TABLE_TASKS, i, &row);
        if (row.task == number && row.model == 0 && row.final_pairs > 0) {
            recorded.ratio = row.final_ratio;
            recorded.lo = row.final_hi > 0 ? row.final_lo : row.final_ratio;
            recorded.hi = row.final_hi > 0 ? row.final_hi : row.final_ratio;
        }
    }
    return recorded;
}

/* Measured against recorded: how many times their intervals are apart, 1 when they agree, 0 when there is nothing to compare. */
static double gap_of(const struct recorded *recorded, const struct atoll_duel *duel)
{
    if (!(recorded->ratio > 0) || !(duel->ratio_hi > 0))
        return 0;
    return atoll_interval_gap(duel->ratio_lo, duel->ratio_hi, recorded->lo, recorded->hi);
}

static void print_comparison(const struct recorded *recorded, const struct atoll_duel *duel, double gap)
{
    if (!(gap > 0)) {
        atoll_print(stdout, "     the campaign made no final comparison to hold this against\n");
        return;
    }
    atoll_print(stdout,
                "     recorded %.2fx (%.2f to %.2f), measured %.2fx (%.2f to %.2f): ", recorded->ratio,
                recorded->lo, recorded->hi, duel->ratio, duel->ratio_lo, duel->ratio_hi);
    if (gap > 1)
        printf("they disagree, %.2f times the record; the intervals are %.2f times apart\n",
               duel->ratio / recorded->ratio, gap);
    else
        puts("they agree");
}

static void print_recheck(const struct atoll_task *task, const struct atoll_duel *duel,
                          const struct recorded *recorded, double gap, int passed, int json)
{
    char baseline[32], best[32];

    if (json) {
        json_t *row =
            json_pack("{s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:i, s:o}", "task", task->name, "passed", passed,
                      "verdict", atoll_verdict_name(duel->verdict), "speedup", duel->ratio, "p_value",
                      duel->p_value, "baseline_ns", duel->elite_ns, "best_ns", duel->challenger_ns, "pairs",
                      (int)duel->pair_count, "detail", atoll_json_text(duel->detail));
        json_object_set_new(row, "speedup_interval",
                            duel->ratio_hi > 0 ? json_pack("[f, f]", duel->ratio_lo, duel->ratio_hi)
                                               : json_null());
        json_object_set_new(row, "recorded_speedup",
                            recorded->ratio > 0 ? json_real(recorded->ratio) : json_null());
        json_object_set_new(row, "recorded_interval",
                            recorded->ratio > 0 ? json_pack("[f, f]", recorded->lo, recorded->hi)
                                                : json_null());
        json_object_set_new(row, "agrees", gap > 0 ? json_boolean(gap <= 1) : json_null());
        json_object_set_new(row, "times_apart", gap > 0 ? json_real(gap) : json_null());

        atoll_json_print(row, JSON_COMPACT, stdout);
        return;
    }
    atoll_print(stdout, "%-4s %-20s %s -> %s  %.2fx  p %.1g  %u pairs  %s %s\n", passed ? "ok" : "FAIL",
                task->name, atoll_duration_text(duel->elite_ns, baseline, sizeof(baseline)),
                atoll_duration_text(duel->challenger_ns, best, sizeof(best)), duel->ratio, duel->p_value,
                duel->pair_count, atoll_verdict_name(duel->verdict), duel->detail);
    print_comparison(recorded, duel, gap);
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

/* 1 passed, 0 failed, -1 error.  A task whose best is its baseline has nothing to compare. */
static int recheck_task(struct atoll_bench_device *device, const struct atoll_engine *engine,
                        const struct atoll_tables *tables, uint32_t number,
                        const struct verify_settings *settings, unsigned *disagreed, struct atoll_err *err)
{
    const struct atoll_task *task = atoll_engine_task(engine, number);
    struct atoll_task_status status;
    struct given_side baseline, best;
    struct atoll_duel duel;
    struct recorded recorded;
    double gap;
    int passed;

    if (atoll_engine_task_status(engine, number, 0, &status) != 0 || atoll_id_is_zero(&status.best) ||
        atoll_id_is_zero(&status.baseline)) {
        return print_unmeasured(task, 0, "no correct kernel in the campaign", settings->json);
    }
    if (atoll_id_equal(&status.best, &status.baseline)) {
        return print_unmeasured(task, settings->minimum <= 1, "the baseline is still the best",
                                settings->json);
    }
    if (find_side(engine, number, &status.baseline, &baseline, err) != 0 ||
        find_side(engine, number, &status.best, &best, err) != 0 ||
        measure_again(device, number, task, &baseline, &best, &duel, err) != 0) {
        return -1;
    }
    recorded = find_recorded(tables, number);
    gap = gap_of(&recorded, &duel);
    *disagreed += gap > 1;
    passed = duel.verdict == ATOLL_V_CORRECT && duel.better && duel.ratio >= settings->minimum && gap <= 1;
    print_recheck(task, &duel, &recorded, gap, passed, settings->json);
    return passed;
}

static int recheck_all(struct atoll_bench_device *device, const struct atoll_engine *engine,
                       const struct atoll_tables *tables, const struct verify_settings *settings,
                       struct atoll_err *err)
{
    unsigned failed = 0, checked = 0, disagreed = 0;

    for (uint32_t i = 0; i < atoll_engine_task_count(engine); i++) {
        int passed;

        if (settings->task && strcmp(settings->task, atoll_engine_task(engine, i)->name) != 0)
            continue;
        passed = recheck_task(device, engine, tables, i, settings, &disagreed, err);
        if (passed < 0)
            return -1;
        checked++;
        failed += !passed;
    }
    if (!settings->json)
        printf("%u tasks measured again, %u failed, %u disagree with the record\n", checked, failed,
               disagreed);
    return failed ? 1 : 0;
}

static int recheck(const char *dir, const struct verify_settings *settings, struct atoll_err *err)
{
    struct atoll_bench_device device;
    struct atoll_replayed replayed;
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    struct atoll_projection *projection = campaign ? atoll_projection_of_campaign(campaign, NULL, err) : NULL;
    int status = projection ? atoll_replay_campaign(campaign, NULL, &replayed, err) : -1;

    if (status == 0) {
        status = settings->task ? find_task(replayed.engine, settings->task, err) : 0;
        status = status == 0 ? atoll_setup_of_campaign(campaign, 0, &device.setup, err) : -1;
        if (status == 0) {
            device.setup.sample_wall_ns = 2e9;
            status = atoll_bench_device_open(&device, err);
        }
        if (status == 0) {
            status =
                recheck_all(&device, replayed.engine, atoll_projection_tables(projection), settings, err);
            atoll_bench_device_close(&device);
        }
        atoll_replayed_fini(&replayed);
    }
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    return status;
}

static int verify_one(const char *path, const void *context, struct atoll_err *err)
{
    const struct verify_settings *settings = context;

    return settings->recheck ? recheck(path, settings, err) : verify_files(path, settings->json, err);
}

static int run_verify(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    return atoll_archive_each_part(arguments[0], verify_one, given, err);
}

const struct atoll_subcommand atoll_command_verify = {.command = &verify_command,
                                                      .settings_bytes = sizeof(struct verify_settings),
                                                      .least = 1,
                                                      .most = 1,
                                                      .missing = "name a campaign's folder or a file",
                                                      .run = run_verify};

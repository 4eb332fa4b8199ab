/* verify.c - `atoll verify` (files, or measure again) and `atoll replay` (derive every decision again). */
#include "scheduler/cli/commands.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/hdf5/verify_file.h"
#include "base/units.h"
#include "mpi-eval/coordinator/replay.h"
#include "mpi-eval/coordinator/setup.h"
#include "base/json.h"
#include "scheduler/cli/recheck.h"
#include "scheduler/campaign/sweep.h"

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
    "compiles the recorded sources again and measures. Exit status 0 when everything holds.",
    "atoll verify my-campaign\natoll verify my-campaign --recheck --minimum 1.5",
    verify_options,
    NULL};

static void print_finding(void *context, int is_problem, const char *line)
{
    (void)context;
    printf("%-7s %s\n", is_problem ? "PROBLEM" : "ok", line);
}

static int verify_files(const char *path, int json, struct atoll_err *err)
{
    struct atoll_verify_report report;

    if (atoll_verify_path(path, json ? NULL : print_finding, NULL, &report, err) != 0) {
        return atoll_code_exit_status(err->code);
    }
    if (json) {
        json_t *object = json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "files", (json_int_t)report.files, "records",
            (json_int_t)report.records, "rows", (json_int_t)report.rows, "torn_bytes",
            (json_int_t)report.torn_bytes, "quarantined_records", (json_int_t)report.quarantined_records,
            "problems", (json_int_t)report.problems, "first_problem", atoll_json_text(report.first_problem));

        json_dumpf(object, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(object);
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
        return atoll_code_exit_status(ATOLL_E_CORRUPT);
    }
    return 0;
}

/* One side of the comparison, from the replayed engine's candidate. */
static int find_side(const struct atoll_engine *engine, uint32_t task, const struct atoll_id *candidate,
                     struct atoll_recheck_side *ret_side, struct atoll_err *err)
{
    struct atoll_id source;

    if (atoll_engine_candidate(engine, task, candidate, &source, &ret_side->choice) != 0 ||
        atoll_engine_source(engine, &source, &ret_side->language, &ret_side->source) != 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "the campaign does not hold a candidate's source");
    }
    return 0;
}

static void print_recheck(const struct atoll_task *task, const struct atoll_duel *duel, int passed, int json)
{
    char baseline[32], best[32];

    if (json) {
        json_t *row =
            json_pack("{s:s, s:b, s:s, s:f, s:f, s:f, s:f, s:i, s:o}", "task", task->name, "passed", passed,
                      "verdict", atoll_verdict_name(duel->verdict), "speedup", duel->ratio, "p_value",
                      duel->p_value, "baseline_ns", duel->elite_ns, "best_ns", duel->challenger_ns, "pairs",
                      (int)duel->pair_count, "detail", atoll_json_text(duel->detail));

        json_dumpf(row, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(row);
        return;
    }
    printf("%-4s %-20s %s -> %s  %.2fx  p %.1g  %u pairs  %s %s\n", passed ? "ok" : "FAIL", task->name,
           atoll_duration_text(duel->elite_ns, baseline, sizeof(baseline)),
           atoll_duration_text(duel->challenger_ns, best, sizeof(best)), duel->ratio, duel->p_value,
           duel->pair_count, atoll_verdict_name(duel->verdict), duel->detail);
    fflush(stdout);
}

/* A task with nothing to measure. */
static int print_unmeasured(const struct atoll_task *task, int passed, const char *why, int json)
{
    if (json) {
        json_t *row = json_pack("{s:s, s:b, s:s}", "task", task->name, "passed", passed, "detail", why);

        json_dumpf(row, stdout, JSON_COMPACT);
        putchar('\n');
        json_decref(row);
    } else {
        printf("%-4s %-20s %s\n", passed ? "ok" : "FAIL", task->name, why);
    }
    return passed;
}

/* 1 passed, 0 failed, -1 error.  A task whose best is its baseline has nothing to compare. */
static int recheck_task(struct atoll_bench_device *device, const struct atoll_engine *engine, uint32_t number,
                        const struct verify_settings *settings, struct atoll_err *err)
{
    const struct atoll_task *task = atoll_engine_task(engine, number);
    struct atoll_task_status status;
    struct atoll_recheck_side baseline, best;
    struct atoll_duel duel;
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
        atoll_recheck(device, number, task, &baseline, &best, &duel, err) != 0) {
        return -1;
    }
    passed = duel.verdict == ATOLL_V_CORRECT && duel.better && duel.ratio >= settings->minimum;
    print_recheck(task, &duel, passed, settings->json);
    return passed;
}

static int recheck_all(struct atoll_bench_device *device, const struct atoll_engine *engine,
                       const struct verify_settings *settings, struct atoll_err *err)
{
    unsigned failed = 0, checked = 0;

    for (uint32_t i = 0; i < atoll_engine_task_count(engine); i++) {
        int passed;

        if (settings->task && strcmp(settings->task, atoll_engine_task(engine, i)->name) != 0) {
            continue;
        }
        passed = recheck_task(device, engine, i, settings, err);
        if (passed < 0) {
            return atoll_code_exit_status(err->code);
        }
        checked++;
        failed += !passed;
    }
    if (!checked) {
        atoll_err_set(err, ATOLL_E_NOTFOUND, "no task '%s' in the campaign",
                      settings->task ? settings->task : "");
        return atoll_code_exit_status(ATOLL_E_NOTFOUND);
    }
    if (!settings->json) {
        printf("%u tasks measured again, %u failed\n", checked, failed);
    }
    return failed ? 1 : 0;
}

static int recheck(const char *dir, const struct verify_settings *settings, struct atoll_err *err)
{
    struct atoll_bench_device device;
    struct atoll_replayed replayed;
    struct atoll_campaign *campaign = atoll_campaign_open(dir, NULL, err);
    int status = campaign ? atoll_replay_campaign(campaign, NULL, &replayed, err) : -1;

    if (status == 0) {
        status = atoll_setup_of_campaign(campaign, 0, &device.setup, err);
        if (status == 0) {
            device.setup.sample_wall_ns = 2e9;
            status = atoll_bench_device_open(&device, err);
        }
        if (status == 0) {
            status = recheck_all(&device, replayed.engine, settings, err);
            atoll_bench_device_close(&device);
        } else {
            status = atoll_code_exit_status(err->code);
        }
        atoll_replayed_fini(&replayed);
    } else {
        status = atoll_code_exit_status(err->code);
    }
    atoll_campaign_close(campaign);
    return status;
}

/* A submitted campaign's parts one after the other, with their names; anything else itself.  Ends with the first that
 * fails, whose exit status it returns. */
static int each_part(const char *path,
                     int (*one)(const char *path, const void *settings, struct atoll_err *err),
                     const void *settings, struct atoll_err *err)
{
    struct atoll_sweep *sweep;
    int status = 0;

    if (!atoll_sweep_is(path)) {
        return one(path, settings, err);
    }
    sweep = atoll_sweep_open(path, err);
    if (!sweep) {
        return atoll_code_exit_status(err->code);
    }
    for (size_t i = 0; i < sweep->part_count && status == 0; i++) {
        char part[PATH_MAX];

        status = atoll_sweep_part_path(sweep, i, part, sizeof(part), err) == 0
                     ? one(part, settings, err)
                     : atoll_code_exit_status(err->code);
    }
    atoll_sweep_close(sweep);
    return status;
}

static int verify_one(const char *path, const void *context, struct atoll_err *err)
{
    const struct verify_settings *settings = context;

    return settings->recheck ? recheck(path, settings, err) : verify_files(path, settings->json, err);
}

static int run_verify(int argc, char **argv, struct atoll_err *err)
{
    struct verify_settings settings = {0};
    const char *path;
    size_t count;
    int status = atoll_verb_parse(&verify_command, argc, argv, &settings, &path, 1, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : atoll_code_exit_status(err->code);
    }
    if (count != 1) {
        atoll_err_set(err, ATOLL_E_USAGE, "atoll verify: name a campaign's folder or a file");
        return atoll_code_exit_status(ATOLL_E_USAGE);
    }
    return each_part(path, verify_one, &settings, err);
}

const struct atoll_verb atoll_verb_verify = {&verify_command, run_verify};

struct replay_settings {
    const char *gateway, *record;
    int json;
};

#undef FIELD
#define FIELD(name) offsetof(struct replay_settings, name)

static const struct atoll_option replay_options[] = {
    {"gateway", 'g', ATOLL_OPT_TEXT, FIELD(gateway), "replay:FILE", NULL, 0, 0, NULL,
     "The gateway's recording: every answer of the model is compared with the one in it."},
    {"record", 0, ATOLL_OPT_TEXT, FIELD(record), "FILE", NULL, 0, 0, NULL,
     "Write the exchanges with the model into a recording, for --gateway replay:FILE of other runs."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(json), NULL, NULL, 0, 0, NULL, "One JSON object."},
    {0}};

static const struct atoll_command replay_command = {
    "replay",
    "DIR",
    "derive every decision of a campaign again and compare",
    "Feeds the recorded events to the engine and compares each decision with the recorded one, bit for bit. "
    "The first difference is "
    "named and the exit status is 1. Only the engine version that wrote the journals can do this.\n\n"
    "Where a language model was asked its prompts are worded again, its answers read again, and compared "
    "too.",
    "atoll replay my-campaign",
    replay_options,
    NULL};

static void print_dialogues(const struct atoll_prompt_replay_report *d)
{
    if (d->prompts + d->other == 0) {
        return;
    }
    printf("%llu prompts worded again and equal, %llu answers read again and equal, %llu of them in the "
           "recording\n",
           (unsigned long long)d->prompts, (unsigned long long)d->answers, (unsigned long long)d->recorded);
    if (d->other) {
        printf("%llu prompts of another version of Atoll's texts were not compared\n",
               (unsigned long long)d->other);
    }
    if (d->kept) {
        printf("%llu exchanges recorded\n", (unsigned long long)d->kept);
    }
}

static int replay_one(const char *dir, const void *context, struct atoll_err *err)
{
    const struct replay_settings *settings = context;
    struct atoll_replay_report report;
    struct atoll_prompt_replay_report dialogues;
    struct atoll_id digest;
    char hex[ATOLL_ID_HEX];

    if (atoll_replay(dir, settings->gateway ? settings->gateway + 7 : NULL, settings->record, &report,
                     &dialogues, &digest, err) != 0) {
        return atoll_code_exit_status(err->code);
    }
    atoll_id_hex(&digest, hex);
    if (settings->json) {
        json_t *object =
            json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "attempts",
                      (json_int_t)report.attempt_count, "events", (json_int_t)report.event_count, "decisions",
                      (json_int_t)report.decision_count, "torn_bytes", (json_int_t)report.torn_bytes,
                      "quarantined_records", (json_int_t)report.quarantined_records, "prompts",
                      (json_int_t)dialogues.prompts, "other_prompts", (json_int_t)dialogues.other, "answers",
                      (json_int_t)dialogues.answers, "recorded", (json_int_t)dialogues.recorded, "kept",
                      (json_int_t)dialogues.kept, "state", hex);

        json_dumpf(object, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(object);
        return 0;
    }
    print_dialogues(&dialogues);
    printf("%llu attempts, %llu events, %llu decisions derived again and equal; %llu torn bytes, %llu "
           "quarantined records\n"
           "engine state %s\n",
           (unsigned long long)report.attempt_count, (unsigned long long)report.event_count,
           (unsigned long long)report.decision_count, (unsigned long long)report.torn_bytes,
           (unsigned long long)report.quarantined_records, hex);
    return 0;
}

static int run_replay(int argc, char **argv, struct atoll_err *err)
{
    struct replay_settings settings = {0};
    const char *dir;
    size_t count;
    int status = atoll_verb_parse(&replay_command, argc, argv, &settings, &dir, 1, &count, err);

    if (status != 0) {
        return status > 0 ? 0 : atoll_code_exit_status(err->code);
    }
    if (count != 1) {
        atoll_err_set(err, ATOLL_E_USAGE, "atoll replay: name the campaign's directory");
        return atoll_code_exit_status(ATOLL_E_USAGE);
    }
    if (settings.gateway && strncmp(settings.gateway, "replay:", 7) != 0) {
        atoll_err_set(err, ATOLL_E_USAGE, "atoll replay: --gateway takes replay:FILE; nothing is asked here");
        return atoll_code_exit_status(ATOLL_E_USAGE);
    }
    return each_part(dir, replay_one, &settings, err);
}

const struct atoll_verb atoll_verb_replay = {&replay_command, run_replay};

/* replay.c - `atoll replay`: derives every decision of a campaign again. */
#include "scheduler/cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/print.h"
#include "mpi-eval/coordinator/replay.h"
#include "scheduler/cli/archive_view.h"

struct replay_settings {
    const char *gateway, *record;
    int json;
};

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
    if (d->prompts + d->other == 0)
        return;
    printf("%llu prompts worded again and equal, %llu answers read again and equal, %llu of them in the "
           "recording\n",
           (unsigned long long)d->prompts, (unsigned long long)d->answers, (unsigned long long)d->recorded);
    if (d->other) {
        printf("%llu prompts of another version of Atoll's texts were not compared\n",
               (unsigned long long)d->other);
    }
    if (d->kept)
        printf("%llu exchanges recorded\n", (unsigned long long)d->kept);
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
        return -1;
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

        atoll_json_print(object, JSON_INDENT(2), stdout);
        return 0;
    }
    print_dialogues(&dialogues);
    atoll_print(stdout,
                "%llu attempt%s, %llu events, %llu decisions derived again and equal; %llu torn bytes, %llu "
                "quarantined records\n"
                "engine state %s\n",
                (unsigned long long)report.attempt_count, report.attempt_count == 1 ? "" : "s",
                (unsigned long long)report.event_count, (unsigned long long)report.decision_count,
                (unsigned long long)report.torn_bytes, (unsigned long long)report.quarantined_records, hex);
    return 0;
}

static int run_replay(void *given, const char *const *arguments, size_t count, struct atoll_err *err)
{
    const struct replay_settings *settings = given;

    if (settings->gateway && strncmp(settings->gateway, "replay:", 7) != 0) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll replay: --gateway takes replay:FILE; nothing is asked here");
    }
    return atoll_archive_each_part(arguments[0], replay_one, settings, err);
}

const struct atoll_subcommand atoll_command_replay = {.command = &replay_command,
                                                      .settings_bytes = sizeof(struct replay_settings),
                                                      .least = 1,
                                                      .most = 1,
                                                      .missing = "name the campaign's directory",
                                                      .run = run_replay};

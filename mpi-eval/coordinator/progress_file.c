#include "mpi-eval/coordinator/progress_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive-h5/campaign/campaign_progress.h"
#include "base/log.h"

static void complain(struct atoll_progress_file *file, const struct atoll_err *err)
{
    if (!file->has_complained)
        atoll_log_err(ATOLL_LOG_WARNING, "eval.progress.file", err);
    file->has_complained = 1;
}

void atoll_progress_file_begin(struct atoll_progress_file *file, const struct atoll_campaign *campaign,
                               const char *attempt_dir, uint64_t journal_bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_campaign_progress standing;
    *file = (struct atoll_progress_file){.attempt_dir = attempt_dir, .journal_bytes = journal_bytes};
    if (atoll_campaign_progress_of(campaign, &standing, &err) != 0) {
        complain(file, &err);
        return;
    }
    file->campaign = campaign;
    file->evaluated = standing.evaluated;
    file->duelled = standing.duelled;
    atoll_campaign_progress_fini(&standing);
}

void atoll_progress_file_count(struct atoll_progress_file *file, const struct atoll_event *events,
                               size_t count, uint64_t journal_bytes)
{
    for (size_t i = 0; i < count; i++) {
        file->evaluated += events[i].type == ATOLL_EVENT_EVALUATED;
        file->duelled += events[i].type == ATOLL_EVENT_DUELLED;
    }
    file->journal_bytes = journal_bytes;
}

int atoll_progress_file_is_due(const struct atoll_progress_file *file, double now_ns)
{
    return file->campaign && (file->written_ns <= 0 || now_ns - file->written_ns >= ATOLL_PROGRESS_FILE_NS);
}

/* Models come from devices, which may say anything. */
static void text_clean(const char *from, char *ret_text, size_t bytes)
{
    snprintf(ret_text, bytes, "%s", from ? from : "");
    for (char *at = ret_text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

static void task_fill(const struct atoll_engine *engine, uint32_t number, uint32_t model,
                      struct atoll_progress_json *hint)
{
    struct atoll_task_status s;
    const struct atoll_task *task = atoll_engine_task(engine, number);
    if (!task || atoll_engine_task_status(engine, number, model, &s) != 0)
        return;
    struct atoll_campaign_progress_task *row = &hint->tasks[hint->task_count++];
    snprintf(row->name, sizeof row->name, "%s", task->name);
    if (atoll_engine_model_count(engine) > 1)
        text_clean(atoll_engine_model(engine, model), row->model, sizeof row->model);
    row->evaluated = s.evaluated;
    row->correct = s.correct;
    row->baseline_ns = s.baseline_ns;
    row->best_ns = s.best_ns;
    row->final_ratio = s.final_ratio;
    row->is_done = s.done != 0;
    hint->correct += s.correct;
}

static int tasks_fill(const struct atoll_engine *engine, struct atoll_progress_json *hint,
                      struct atoll_err *err)
{
    uint32_t tasks = atoll_engine_task_count(engine), models = atoll_engine_model_count(engine);
    models = models ? models : 1;
    hint->tasks = calloc((size_t)tasks * models + 1, sizeof *hint->tasks);
    if (!hint->tasks)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the progress of %u tasks", tasks);
    for (uint32_t i = 0; i < tasks; i++)
        for (uint32_t model = 0; model < models; model++)
            task_fill(engine, i, model, hint);
    return 0;
}

static double share(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static void asks_fill(const struct atoll_progress_facts *facts, struct atoll_progress_json *hint)
{
    const struct atoll_llm_queue_counts *q = &facts->questions;
    hint->has_asks = facts->has_model;
    hint->asks = (struct atoll_campaign_progress_asks){.open = q->open,
                                                       .answered = q->answered,
                                                       .failed = q->failed,
                                                       .tokens = q->tokens,
                                                       .cost_usd = q->cost_usd};
}

static void hint_fill(const struct atoll_progress_file *file, const struct atoll_progress_facts *facts,
                      int64_t now_unix_ns, struct atoll_progress_json *hint)
{
    struct atoll_engine_status s;
    const char *name = strrchr(file->attempt_dir, '/');
    atoll_engine_status(facts->engine, &s);
    hint->campaign = atoll_campaign_config(file->campaign)->id;
    snprintf(hint->attempt, sizeof hint->attempt, "%.63s", name ? name + 1 : file->attempt_dir);
    hint->journal_bytes = file->journal_bytes;
    hint->evaluated = file->evaluated;
    hint->duelled = file->duelled;
    hint->written_unix_ns = now_unix_ns;
    hint->campaign_s = facts->elapsed_ns / 1e9;
    hint->elapsed_s = facts->attempt_ns / 1e9;
    hint->device_s = s.device_ns / 1e9;
    hint->busy = share(facts->busy);
    hint->candidate_share = share(facts->candidate_share);
    hint->evaluators = facts->evaluators;
    hint->is_finishing = s.finishing != 0;
    hint->is_stopped = s.stopped != 0;
    snprintf(hint->reason, sizeof hint->reason, "%s", atoll_reason_name(s.reason));
    asks_fill(facts, hint);
}

void atoll_progress_file_write(struct atoll_progress_file *file, const struct atoll_progress_facts *facts,
                               double now_ns, int64_t now_unix_ns)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_progress_json hint = {.task_count = 0};
    if (!file->campaign)
        return;
    file->written_ns = now_ns;
    hint_fill(file, facts, now_unix_ns, &hint);
    if (tasks_fill(facts->engine, &hint, &err) != 0 ||
        atoll_progress_json_write(atoll_campaign_dir(file->campaign), &hint, NULL, &err) != 0)
        complain(file, &err);
    atoll_progress_json_fini(&hint);
}

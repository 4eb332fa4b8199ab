/* progress.c - names of tasks are identifiers, so nothing of them needs quoting beyond the quotes; those of device models
 * come from devices, which may say anything. */
#include "mpi-eval/coordinator/progress.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign_progress.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"

#define LINE_NS           0.5e9
#define FILE_NS           10e9
#define LINE_BYTES        (4u << 20)
#define LAST_LINE_WAIT_MS 1000
#define VALUE_DIGITS      1e-8 /* to which two values are the same */

void atoll_progress_init(struct atoll_progress *p, int fd, double now_ns)
{
    *p = (struct atoll_progress){.fd = fd, .line_ns = now_ns};
    atoll_buffer_init(&p->line, LINE_BYTES);
}

void atoll_progress_fini(struct atoll_progress *p)
{
    atoll_buffer_fini(&p->line);
    free(p->values);
}

/* ---- intervals ---- */

/* Without memory it stays unknown. */
static void value_add(struct atoll_progress *p, struct atoll_progress_value value)
{
    if (!(value.value > 0) || !(value.lo > 0) || !(value.hi > 0) ||
        atoll_array_reserve(&p->values, &p->value_capacity, p->value_count + 1, sizeof(*p->values), NULL) !=
            0) {
        return;
    }
    p->values[p->value_count++] = value;
}

/* That of the value as the engine has it; zeros where it is not known.  A value is as good as a name: two comparisons with the same
 * to the last digit would have to be told apart by nobody.  progress.json has nine digits of it. */
static struct atoll_progress_value value_find(const struct atoll_progress *p,
                                              enum atoll_progress_value_kind kind, double value)
{
    struct atoll_progress_value found = {.kind = kind, .value = value};
    for (uint32_t i = 0; i < p->value_count && value > 0; i++) {
        const struct atoll_progress_value *v = &p->values[i];
        if (v->kind == kind && fabs(v->value - value) <= VALUE_DIGITS * value)
            found = *v;
    }
    return found;
}

/* Of a task's values with their intervals. */
struct task_values {
    struct atoll_progress_value final, rival_final, rival_time;
};

static struct task_values values_of(const struct atoll_progress *p, const struct atoll_task_status *s)
{
    struct task_values values = {
        value_find(p, ATOLL_PROGRESS_FINAL, s->final_ratio),
        value_find(p, ATOLL_PROGRESS_RIVAL_FINAL, s->rival_ratio),
        value_find(p, ATOLL_PROGRESS_RIVAL_TIME, s->rival_ns),
    };
    if (s->rival_lo_ns > 0) {
        values.rival_time.lo = s->rival_lo_ns;
        values.rival_time.hi = s->rival_hi_ns;
    }
    return values;
}

/* ---- lines ---- */

int atoll_progress_line_is_due(const struct atoll_progress *p, double now_ns)
{
    return p->fd >= 0 && now_ns - p->line_ns >= LINE_NS;
}

static void put_text(const char *key, const char *text, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "\"%s\":\"", key);
    for (; *text; text++)
        atoll_buffer_put_u8(out, *text < ' ' || *text > '~' || strchr("\"\\", *text) ? '?' : (uint8_t)*text);
    atoll_buffer_printf(out, "\",");
}

static void put_task(const struct atoll_progress *p, const struct atoll_engine *engine, uint32_t number,
                     uint32_t model, struct atoll_buffer *out)
{
    struct atoll_task_status s;
    const struct atoll_task *task = atoll_engine_task(engine, number);
    if (!task || atoll_engine_task_status(engine, number, model, &s) != 0)
        return;
    atoll_buffer_printf(out, "%s{\"name\":\"%s\",", number || model ? "," : "", task->name);
    if (atoll_engine_model_count(engine) > 1)
        put_text("model", atoll_engine_model(engine, model), out);
    if (s.rival_ns > 0)
        put_text("rival", task->rivals[s.rival].name, out);
    if (s.unstable_limit)
        atoll_buffer_printf(out, "\"unstable_rounds\":%u,\"unstable_limit\":%u,", s.unstable_rounds,
                            s.unstable_limit);
    struct task_values values = values_of(p, &s);
    atoll_buffer_printf(out,
                        "\"baseline_lo_ns\":%.17g,\"baseline_hi_ns\":%.17g,\"best_lo_ns\":%.17g,"
                        "\"best_hi_ns\":%.17g,\"final_lo\":%.17g,\"final_hi\":%.17g,\"rival_lo\":%.17g,"
                        "\"rival_hi\":%.17g,\"rival_lo_ns\":%.17g,\"rival_hi_ns\":%.17g,"
                        "\"final_pairs\":%llu,\"rival_pairs\":%llu,",
                        s.baseline_lo_ns, s.baseline_hi_ns, s.best_lo_ns, s.best_hi_ns, values.final.lo,
                        values.final.hi, values.rival_final.lo, values.rival_final.hi, values.rival_time.lo,
                        values.rival_time.hi, (unsigned long long)values.final.pair_count,
                        (unsigned long long)values.rival_final.pair_count);
    atoll_buffer_printf(out,
                        "\"evaluated\":%llu,\"correct\":%llu,\"baseline_ns\":%.17g,\"best_ns\":%.17g,"
                        "\"floor_ns\":%.17g,\"best_fitness\":%.6g,\"final_ratio\":%.17g,\"rival_ns\":%.17g,"
                        "\"rival_ratio\":%.17g,\"promotions\":%llu,\"done\":%d,"
                        "\"reason\":\"%s\"}",
                        (unsigned long long)s.evaluated, (unsigned long long)s.correct, s.baseline_ns,
                        s.best_ns, s.floor_ns, s.best_fitness, s.final_ratio, s.rival_ns, s.rival_ratio,
                        (unsigned long long)s.promotions, s.done, atoll_reason_name(s.reason));
}

static void put_line(const struct atoll_progress *p, const struct atoll_progress_facts *facts, double rate,
                     int is_last, struct atoll_buffer *out)
{
    struct atoll_engine_status s;
    atoll_engine_status(facts->engine, &s);
    atoll_buffer_printf(
        out,
        "{\"type\":\"%s\",\"elapsed_s\":%.3f,\"budget_s\":%.3f,\"evaluated\":%llu,\"rate\":%.3f,"
        "\"under_way\":%llu,\"evaluators\":%u,\"busy\":%.4f,\"candidate_share\":%.4f,\"disk_full\":%d,"
        "\"finishing\":%d,\"stopped\":%d,\"reason\":\"%s\",",
        is_last ? "summary" : "progress", facts->elapsed_ns / 1e9, facts->budget_ns / 1e9,
        (unsigned long long)s.evaluated, rate, (unsigned long long)s.under_way, facts->evaluators,
        facts->busy, facts->candidate_share, facts->is_disk_full, s.finishing, s.stopped,
        atoll_reason_name(s.reason));
    if (facts->has_model) {
        const struct atoll_llm_queue_counts *q = &facts->asks;
        atoll_buffer_printf(out,
                            "\"asks\":{\"open\":%u,\"answered\":%llu,\"failed\":%llu,\"tokens\":%llu,"
                            "\"cost_usd\":%.9g,\"over\":%d},",
                            q->open, (unsigned long long)q->answered, (unsigned long long)q->failed,
                            (unsigned long long)q->tokens, q->cost_usd, q->is_over);
    }
    atoll_buffer_printf(out, "\"tasks\":[");
    uint32_t models = atoll_engine_model_count(facts->engine);
    for (uint32_t i = 0; i < atoll_engine_task_count(facts->engine); i++)
        for (uint32_t model = 0; model < (models ? models : 1); model++)
            put_task(p, facts->engine, i, model, out);
    atoll_buffer_printf(out, "]");
    if (facts->message)
        atoll_buffer_printf(out, ",\"message\":\"%s\"", facts->message);
    atoll_buffer_printf(out, "}\n");
}

void atoll_progress_write_line(struct atoll_progress *p, const struct atoll_progress_facts *facts,
                               double now_ns, int is_last)
{
    struct atoll_engine_status status;
    size_t written = 0;
    double since_ns = now_ns - p->line_ns;
    if (p->fd < 0)
        return;
    atoll_engine_status(facts->engine, &status);
    double rate = since_ns > 0 ? (double)(status.evaluated - p->line_evaluated) * 1e9 / since_ns : 0;
    p->line_ns = now_ns;
    p->line_evaluated = status.evaluated;
    atoll_buffer_clear(&p->line);
    put_line(p, facts, rate, is_last, &p->line);
    while (!p->line.failed && written < p->line.length) {
        struct pollfd ready = {.fd = p->fd, .events = POLLOUT};
        if (poll(&ready, 1, is_last || written ? LAST_LINE_WAIT_MS : 0) <= 0 || !(ready.revents & POLLOUT))
            return;
        ssize_t n = write(p->fd, p->line.data + written, p->line.length - written);
        if (n <= 0)
            return;
        written += (size_t)n;
    }
}

/* ---- the file ---- */

static void complain(struct atoll_progress *p, const struct atoll_err *err)
{
    if (!p->has_complained)
        atoll_log_err(ATOLL_LOG_WARNING, "eval.progress.file", err);
    p->has_complained = 1;
}

void atoll_progress_begin_file(struct atoll_progress *p, const struct atoll_campaign *campaign,
                               const char *attempt_dir, uint64_t journal_bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_campaign_progress before;
    p->attempt_dir = attempt_dir;
    p->journal_bytes = journal_bytes;
    if (atoll_campaign_progress_of(campaign, &before, &err) != 0) {
        complain(p, &err);
        return;
    }
    p->campaign = campaign;
    p->evaluated = before.evaluated;
    p->duelled = before.duelled;
    for (size_t i = 0; before.has_hint && i < before.hint.task_count; i++) {
        const struct atoll_campaign_progress_task *t = &before.hint.tasks[i];
        const struct atoll_progress_value values[] = {
            {ATOLL_PROGRESS_FINAL, t->final_ratio, t->final_lo, t->final_hi, t->final_pairs},
            {ATOLL_PROGRESS_RIVAL_FINAL, t->rival_ratio, t->rival_lo, t->rival_hi, t->rival_pairs},
            {ATOLL_PROGRESS_RIVAL_TIME, t->rival_ns, t->rival_lo_ns, t->rival_hi_ns, 0},
        };
        for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++)
            value_add(p, values[v]);
    }
    atoll_campaign_progress_fini(&before);
}

void atoll_progress_count(struct atoll_progress *p, const struct atoll_event *events, size_t count,
                          uint64_t journal_bytes)
{
    for (size_t i = 0; i < count; i++) {
        p->evaluated += events[i].type == ATOLL_EVENT_EVALUATED;
        p->duelled += events[i].type == ATOLL_EVENT_DUELLED;
        const struct atoll_duel *duel = &events[i].duel;
        if (events[i].type == ATOLL_EVENT_DUELLED && duel->verdict == ATOLL_V_CORRECT &&
            (duel->purpose == ATOLL_DUEL_FINAL || duel->purpose == ATOLL_DUEL_RIVAL))
            value_add(
                p, (struct atoll_progress_value){
                       duel->purpose == ATOLL_DUEL_RIVAL ? ATOLL_PROGRESS_RIVAL_FINAL : ATOLL_PROGRESS_FINAL,
                       duel->ratio, duel->ratio_lo, duel->ratio_hi, duel->pair_count});
    }
    p->journal_bytes = journal_bytes;
}

int atoll_progress_file_is_due(const struct atoll_progress *p, double now_ns)
{
    return p->campaign && (p->file_ns <= 0 || now_ns - p->file_ns >= FILE_NS);
}

static void fill_task(const struct atoll_progress *p, const struct atoll_engine *engine, uint32_t number,
                      uint32_t model, struct atoll_progress_json *json)
{
    struct atoll_task_status s;
    const struct atoll_task *task = atoll_engine_task(engine, number);
    if (!task || atoll_engine_task_status(engine, number, model, &s) != 0)
        return;
    struct atoll_campaign_progress_task *row = &json->tasks[json->task_count++];
    snprintf(row->name, sizeof(row->name), "%s", task->name);
    if (atoll_engine_model_count(engine) > 1) {
        const char *name = atoll_engine_model(engine, model);
        atoll_utf8_line(row->model, sizeof(row->model), name ? name : "", name ? strlen(name) : 0);
    }
    row->evaluated = s.evaluated;
    row->correct = s.correct;
    row->baseline_ns = s.baseline_ns;
    row->best_ns = s.best_ns;
    row->final_ratio = s.final_ratio;
    row->rival_ns = s.rival_ns;
    row->rival_ratio = s.rival_ratio;
    row->baseline_lo_ns = s.baseline_lo_ns;
    row->baseline_hi_ns = s.baseline_hi_ns;
    row->best_lo_ns = s.best_lo_ns;
    row->best_hi_ns = s.best_hi_ns;
    struct task_values values = values_of(p, &s);
    row->final_lo = values.final.lo;
    row->final_hi = values.final.hi;
    row->final_pairs = values.final.pair_count;
    row->rival_lo = values.rival_final.lo;
    row->rival_hi = values.rival_final.hi;
    row->rival_pairs = values.rival_final.pair_count;
    row->rival_lo_ns = values.rival_time.lo;
    row->rival_hi_ns = values.rival_time.hi;
    if (s.rival_ns > 0)
        snprintf(row->rival, sizeof(row->rival), "%s", task->rivals[s.rival].name);
    row->unstable_rounds = s.unstable_rounds;
    row->unstable_limit = s.unstable_limit;
    row->is_done = s.done != 0;
    if (!atoll_id_is_zero(&s.best)) {
        char id[ATOLL_ID_HEX];
        atoll_id_hex(&s.best, id);
        snprintf(row->best, sizeof(row->best), "%.16s", id);
    }
    snprintf(row->reason, sizeof(row->reason), "%s", atoll_reason_name(s.reason));
    json->correct += s.correct;
}

/* Without memory the file says nothing of devices. */
static void fill_devices(const struct atoll_time_ledger *times, struct atoll_progress_json *json)
{
    struct atoll_time_sum sum;
    size_t count = 0;
    while (times && atoll_time_ledger_sum(times, count, &sum))
        count++;
    json->devices = calloc(count + 1, sizeof(*json->devices));
    for (size_t i = 0; json->devices && i < count && atoll_time_ledger_sum(times, i, &sum); i++) {
        struct atoll_campaign_progress_device *row = &json->devices[json->device_count++];
        snprintf(row->key, sizeof(row->key), "%016llx", (unsigned long long)sum.key);
        atoll_utf8_line(row->node, sizeof(row->node), sum.node, strlen(sum.node));
        atoll_utf8_line(row->model, sizeof(row->model), sum.model, strlen(sum.model));
        for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
            row->part_s[k] = sum.time.ns[k] / 1e9;
    }
}

static double share(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

void atoll_progress_write_file(struct atoll_progress *p, const struct atoll_progress_facts *facts,
                               double now_ns)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_engine_status s;
    const struct atoll_llm_queue_counts *q = &facts->asks;
    if (!p->campaign)
        return;
    p->file_ns = now_ns;
    atoll_engine_status(facts->engine, &s);
    struct atoll_progress_json json = {
        .campaign = atoll_campaign_config(p->campaign)->id,
        .journal_bytes = p->journal_bytes,
        .evaluated = p->evaluated,
        .duelled = p->duelled,
        .written_unix_ns = atoll_clock_unix_ns(),
        .campaign_s = facts->elapsed_ns / 1e9,
        .elapsed_s = facts->attempt_ns / 1e9,
        .device_s = s.device_ns / 1e9,
        .busy = share(facts->busy),
        .candidate_share = share(facts->candidate_share),
        .evaluators = facts->evaluators,
        .evaluation_budget = s.evaluation_budget,
        .wall_budget_s = s.wall_budget_ns / 1e9,
        .device_budget_s = s.device_budget_ns / 1e9,
        .tokens = s.tokens,
        .token_budget = s.token_budget,
        .cost_usd = s.cost_usd,
        .money_budget_usd = s.money_budget_usd,
        .is_finishing = s.finishing != 0,
        .is_stopped = s.stopped != 0,
        .has_asks = facts->has_model,
        .asks = {.open = q->open,
                 .answered = q->answered,
                 .failed = q->failed,
                 .tokens = q->tokens,
                 .cost_usd = q->cost_usd},
    };
    const char *name = strrchr(p->attempt_dir, '/');
    snprintf(json.attempt, sizeof(json.attempt), "%.63s", name ? name + 1 : p->attempt_dir);
    snprintf(json.reason, sizeof(json.reason), "%s", atoll_reason_name(s.reason));
    uint32_t tasks = atoll_engine_task_count(facts->engine), models = atoll_engine_model_count(facts->engine);
    models = models ? models : 1;
    json.tasks = calloc((size_t)tasks * models + 1, sizeof(*json.tasks));
    if (!json.tasks) {
        atoll_err_set(&err, ATOLL_E_MEMORY, "no memory for the progress of %u tasks", tasks);
        complain(p, &err);
        return;
    }
    for (uint32_t i = 0; i < tasks; i++)
        for (uint32_t model = 0; model < models; model++)
            fill_task(p, facts->engine, i, model, &json);
    fill_devices(facts->times, &json);
    if (atoll_progress_json_write(atoll_campaign_dir(p->campaign), &json, NULL, &err) != 0)
        complain(p, &err);
    atoll_progress_json_fini(&json);
}

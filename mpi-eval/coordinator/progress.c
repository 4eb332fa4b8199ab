/* progress.c - progress as JSON lines.  Names of tasks are identifiers, so nothing of them needs quoting beyond the
 * quotes; those of device models come from devices. */
#include "mpi-eval/coordinator/progress.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define LAST_LINE_WAIT_MS 1000

static void model_put(const char *model, struct atoll_buffer *out)
{
    atoll_buffer_printf(out, "\"model\":\"");
    for (; *model; model++)
        atoll_buffer_put_u8(out,
                            *model < ' ' || *model > '~' || strchr("\"\\", *model) ? '?' : (uint8_t)*model);
    atoll_buffer_printf(out, "\",");
}

static void task_put(const struct atoll_engine *engine, uint32_t number, uint32_t model,
                     struct atoll_buffer *out)
{
    struct atoll_task_status s;
    const struct atoll_task *task = atoll_engine_task(engine, number);
    if (!task || atoll_engine_task_status(engine, number, model, &s) != 0)
        return;
    atoll_buffer_printf(out, "%s{\"name\":\"%s\",", number || model ? "," : "", task->name);
    if (atoll_engine_model_count(engine) > 1)
        model_put(atoll_engine_model(engine, model), out);
    atoll_buffer_printf(
        out,
        "\"evaluated\":%llu,\"correct\":%llu,\"baseline_ns\":%.17g,\"best_ns\":%.17g,"
        "\"floor_ns\":%.17g,\"best_fitness\":%.6g,\"final_ratio\":%.17g,\"promotions\":%llu,\"done\":%d}",
        (unsigned long long)s.evaluated, (unsigned long long)s.correct, s.baseline_ns, s.best_ns, s.floor_ns,
        s.best_fitness, s.final_ratio, (unsigned long long)s.promotions, s.done);
}

static void asks_put(const struct atoll_progress_facts *facts, struct atoll_buffer *out)
{
    const struct atoll_llm_queue_counts *q = &facts->questions;
    if (!facts->has_model)
        return;
    atoll_buffer_printf(out,
                        "\"asks\":{\"open\":%u,\"answered\":%llu,\"failed\":%llu,\"tokens\":%llu,"
                        "\"cost_usd\":%.9g,\"over\":%d},",
                        q->open, (unsigned long long)q->answered, (unsigned long long)q->failed,
                        (unsigned long long)q->tokens, q->cost_usd, q->is_over);
}

void atoll_progress_line(const struct atoll_progress_facts *facts, int is_last, struct atoll_buffer *out)
{
    struct atoll_engine_status s;
    atoll_engine_status(facts->engine, &s);
    atoll_buffer_printf(
        out,
        "{\"type\":\"%s\",\"elapsed_s\":%.3f,\"budget_s\":%.3f,\"evaluated\":%llu,\"rate\":%.3f,"
        "\"under_way\":%llu,\"evaluators\":%u,\"busy\":%.4f,\"candidate_share\":%.4f,\"finishing\":%d,"
        "\"stopped\":%d,\"reason\":\"%s\",",
        is_last ? "summary" : "progress", facts->elapsed_ns / 1e9, facts->budget_ns / 1e9,
        (unsigned long long)s.evaluated, facts->rate, (unsigned long long)s.under_way, facts->evaluators,
        facts->busy, facts->candidate_share, s.finishing, s.stopped, atoll_reason_name(s.reason));
    asks_put(facts, out);
    atoll_buffer_printf(out, "\"tasks\":[");
    uint32_t models = atoll_engine_model_count(facts->engine);
    for (uint32_t i = 0; i < atoll_engine_task_count(facts->engine); i++)
        for (uint32_t model = 0; model < (models ? models : 1); model++)
            task_put(facts->engine, i, model, out);
    atoll_buffer_printf(out, "]");
    if (facts->message)
        atoll_buffer_printf(out, ",\"message\":\"%s\"", facts->message);
    atoll_buffer_printf(out, "}\n");
}

void atoll_progress_write(int fd, const struct atoll_buffer *line, int is_last)
{
    size_t written = 0;
    if (fd < 0 || line->failed)
        return;
    while (written < line->length) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (poll(&ready, 1, is_last || written ? LAST_LINE_WAIT_MS : 0) <= 0 || !(ready.revents & POLLOUT))
            return;
        ssize_t n = write(fd, line->data + written, line->length - written);
        if (n <= 0)
            return;
        written += (size_t)n;
    }
}

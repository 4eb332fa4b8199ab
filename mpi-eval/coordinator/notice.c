/* notice.c - each text goes to the log and, as the run's message, to whoever watches it. */
#include "mpi-eval/coordinator/notice.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "base/utf8.h"
#include "core/candidate.h"
#include "mpi-eval/torch/interpreter.h"

#define BARREN_AFTER   2 /* combinations that were tried: the tuner soon leaves such a template alone */
#define WAITS_NS       20e9
#define WAITS_LEAST_NS 3e9
#define WAITS_SHARE    0.3 /* of the time of a short run */

static void word(struct atoll_notice *notice, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void word(struct atoll_notice *notice, const char *format, ...)
{
    char text[sizeof(notice->text)];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    atoll_utf8_line(notice->text, sizeof(notice->text), text, strlen(text));
    notice->is_of_rival = 0;
    for (char *c = notice->text; *c; c++)
        if (*c == '"' || *c == '\\')
            *c = '\'';
}

int atoll_notice_triton(struct atoll_notice *notice, const struct atoll_setup *setup,
                        enum atoll_triton triton)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char python[PATH_MAX];
    if (triton == ATOLL_TRITON_NONE || setup->backend_null || strcmp(setup->backend, "cuda") != 0 ||
        atoll_triton_find(setup->python, python, sizeof(python), &err) == 0)
        return 0;
    word(notice, "sources in Triton may come (setting triton), and none will count here: %.400s", err.text);
    atoll_log(ATOLL_LOG_WARNING, "eval.triton.missing", "%s", notice->text);
    return 1;
}

/* As the task names its seed; of a source from elsewhere the beginning of its identity. */
static void template_name(const struct atoll_task *task, const struct atoll_barren *barren, char ret_name[64])
{
    char hex[ATOLL_ID_HEX];
    for (size_t i = 0; task && i < task->seed_count; i++) {
        struct atoll_id id = atoll_source_id(task->seeds[i].language, task->seeds[i].source);
        if (atoll_id_equal(&id, &barren->source)) {
            snprintf(ret_name, 64, "seed %.50s", task->seeds[i].name);
            return;
        }
    }
    atoll_id_hex(&barren->source, hex);
    snprintf(ret_name, 64, "template %.12s", hex);
}

static void word_barren(struct atoll_notice *notice, const struct atoll_engine *engine,
                        const struct atoll_barren *barren, const char *detail)
{
    char name[64];
    const struct atoll_task *task = atoll_engine_task(engine, barren->task);
    const char *colon = *detail ? ": " : "", *name_of_task = task ? task->name : "?";
    template_name(task, barren, name);
    if (barren->tried == 1) {
        word(notice, "%s: the only combination of %s that was tried does not compile%s%.300s", name_of_task,
             name, colon, detail);
    } else {
        word(notice, "%s: none of the %u combinations of %s that were tried compiles%s%.300s", name_of_task,
             barren->tried, name, colon, detail);
    }
}

void atoll_notice_result(struct atoll_notice *notice, const struct atoll_engine *engine, uint32_t task,
                         const struct atoll_evaluation *evaluation)
{
    struct atoll_engine_status status;
    struct atoll_barren barren;
    struct atoll_id source;
    struct atoll_choice choice;
    uint32_t cursor = 0;
    atoll_engine_status(engine, &status);
    int counts = status.evaluated != notice->evaluated;
    notice->evaluated = status.evaluated;
    if (counts && !notice->has_counted)
        notice->text[0] = '\0'; /* it waits no longer */
    notice->has_counted |= counts;
    if (!notice->has_counted) {
        const struct atoll_task *of = atoll_engine_task(engine, task);
        notice->uncounted++;
        snprintf(notice->uncounted_detail, sizeof(notice->uncounted_detail), "%s of %s%s%.150s",
                 atoll_verdict_name(evaluation->verdict), of ? of->name : "?",
                 evaluation->detail[0] ? ": " : "", evaluation->detail);
    }
    if (!counts ||
        (evaluation->verdict != ATOLL_V_COMPILE_ERROR && evaluation->verdict != ATOLL_V_FORBIDDEN &&
         evaluation->verdict != ATOLL_V_BAD_PLAN) ||
        atoll_engine_candidate(engine, task, &evaluation->candidate, &source, &choice) != 0) {
        return;
    }
    while (atoll_engine_next_barren(engine, &cursor, &barren)) {
        if (barren.task != task || !atoll_id_equal(&barren.source, &source) || barren.tried != BARREN_AFTER)
            continue;
        word_barren(notice, engine, &barren, evaluation->detail);
        atoll_log(ATOLL_LOG_WARNING, "eval.template", "%s", notice->text);
    }
}

void atoll_notice_rival(struct atoll_notice *notice, const struct atoll_engine *engine,
                        const struct atoll_rival *rival)
{
    struct atoll_notice said = {.text = ""};
    const struct atoll_task *task = atoll_engine_task(engine, rival->task);
    if (!task || rival->number >= task->rival_count || rival->verdict == ATOLL_V_INFRASTRUCTURE)
        return;
    const char *name = task->rivals[rival->number].name;
    char time[32];
    if (rival->verdict == ATOLL_V_CORRECT) {
        atoll_duration_text(atoll_rival_time_ns(rival, task), time, sizeof(time));
        word(&said, "rival of %s: %s %s", task->name, name, time);
    } else {
        word(&said, "rival of %s: %s counts for nothing, it is %s%s%.300s", task->name, name,
             atoll_verdict_name(rival->verdict), rival->detail[0] ? ": " : "", rival->detail);
    }
    atoll_log(ATOLL_LOG_INFO, "eval.rival", "%s", said.text);
    if (notice->text[0] && !notice->is_of_rival)
        return;
    memcpy(notice->text, said.text, sizeof(notice->text));
    notice->is_of_rival = 1;
}

void atoll_notice_check(struct atoll_notice *notice, const struct atoll_notice_facts *facts)
{
    char time[32];
    double span_ns = facts->attempt_ns + facts->left_ns;
    double after_ns =
        facts->left_ns > 0 ? fmax(WAITS_LEAST_NS, fmin(WAITS_NS, WAITS_SHARE * span_ns)) : WAITS_NS;
    if (notice->has_counted || facts->attempt_ns - notice->waits_said_ns < after_ns)
        return;
    notice->waits_said_ns = facts->attempt_ns;
    atoll_duration_text(facts->attempt_ns, time, sizeof(time));
    if (notice->uncounted) {
        word(notice, "no evaluation has counted in %s; %u came back, the last one %s", time,
             notice->uncounted, notice->uncounted_detail);
    } else if (facts->ready < facts->evaluators) {
        word(
            notice,
            "no evaluation has come back in %s: %u of %u evaluators %s ready; one measures its device first, "
            "which takes long where others use the same cores; more time, or fewer evaluators, would help",
            time, facts->ready, facts->evaluators, facts->evaluators == 1 ? "is" : "are");
    } else {
        word(
            notice,
            "no evaluation has come back in %s: %llu are under way on %u evaluators, and the first of a task "
            "also makes its "
            "data and runs its reference; give more time, or fewer and smaller tasks",
            time, (unsigned long long)facts->under_way, facts->ready);
    }
    atoll_log(ATOLL_LOG_WARNING, "eval.waits", "%s", notice->text);
}

void atoll_notice_end(const struct atoll_engine *engine)
{
    struct atoll_notice last = {.text = ""};
    struct atoll_barren barren;
    uint32_t cursor = 0;
    while (atoll_engine_next_barren(engine, &cursor, &barren)) {
        word_barren(&last, engine, &barren, "");
        atoll_log(ATOLL_LOG_WARNING, "eval.template.end", "%s", last.text);
    }
}

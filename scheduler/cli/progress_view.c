/* progress_view.c - a line assembler in front of two renderers. */
#include "scheduler/cli/progress_view.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/print.h"
#include "base/units.h"

#define LINE_LIMIT     (1u << 20)
#define PLAIN_PERIOD_S 5
#define BAR_CELLS      20

struct atoll_progress_view {
    FILE *out;
    enum atoll_progress_mode mode;
    char *line; /* owned, room for LINE_LIMIT bytes and a NUL */
    size_t length;
    int skipping;      /* the line was too long; drop it up to its end */
    int drawn_lines;   /* bars on the screen now */
    double printed_s;  /* elapsed time of the last plain line */
    char message[256]; /* last message shown */
};

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? value : "";
}

static double speedup(const json_t *task)
{
    double best = number(task, "best_ns"), baseline = number(task, "baseline_ns");

    return best > 0 && baseline > 0 ? baseline / best : 0;
}

static void draw_task(FILE *out, const json_t *task)
{
    char baseline[32], best[32];
    double ratio = speedup(task), fitness = number(task, "best_fitness");
    /* Fitness 0.5..1 is the way from the baseline to the floor: that way is the bar. */
    int full = fitness > 0.5 ? (int)((fitness - 0.5) * 2 * BAR_CELLS + 0.5) : 0;

    atoll_print(out, "  %-16.16s [", text(task, "name"));
    for (int i = 0; i < BAR_CELLS; i++)
        fputc(i < full ? '#' : '.', out);
    fputc(']', out);
    if (ratio > 0) {
        atoll_print(out, " %8s -> %8s  %6.2fx",
                    atoll_duration_text(number(task, "baseline_ns"), baseline, sizeof(baseline)),
                    atoll_duration_text(number(task, "best_ns"), best, sizeof(best)), ratio);
    } else {
        atoll_print(out, " %-29s", "waiting for its baseline");
    }
    atoll_print(out, "  %5.0f%s", number(task, "evaluated"), number(task, "done") > 0 ? " done" : "");
    if (*text(task, "model"))
        atoll_print(out, "  %s", text(task, "model"));
}

static void print_totals(FILE *out, const json_t *line)
{
    const json_t *asks = json_object_get(line, "asks");
    char elapsed[32], budget[32];
    double seconds = number(line, "elapsed_s");
    const char *phase = number(line, "stopped") > 0     ? "done"
                        : number(line, "finishing") > 0 ? "finals"
                                                        : "search";

    atoll_print(out, "%s", atoll_duration_text(1e9 * number(line, "elapsed_s"), elapsed, sizeof(elapsed)));
    if (number(line, "budget_s") > 0)
        atoll_print(out, " of %s",
                    atoll_duration_text(1e9 * number(line, "budget_s"), budget, sizeof(budget)));
    atoll_print(out, "  %s  %.0f evaluations, %.1f/s  device busy %.0f %%, candidates %.0f %%", phase,
                number(line, "evaluated"), seconds > 0 ? number(line, "evaluated") / seconds : 0,
                100 * number(line, "busy"), 100 * number(line, "candidate_share"));
    if (asks) { /* where a language model is asked */
        fprintf(out, "  model: %.0f open, %.0f answered", number(asks, "open"), number(asks, "answered"));
        if (number(asks, "failed") > 0)
            fprintf(out, ", %.0f failed", number(asks, "failed"));
        atoll_print(out, ", %.0f tokens, $%.4f%s", number(asks, "tokens"), number(asks, "cost_usd"),
                    number(asks, "over") > 0 ? " (over: the tuner goes on)" : "");
    }
}

/* Lines are cut at a narrow terminal's edge: wrapped ones would not be where the next drawing expects them. */
static void draw_bars(struct atoll_progress_view *view, const json_t *line)
{
    const json_t *tasks = json_object_get(line, "tasks"), *task;
    size_t index;

    fputs("\033[?7l", view->out);
    if (view->drawn_lines)
        fprintf(view->out, "\033[%dA", view->drawn_lines);
    json_array_foreach((json_t *)(uintptr_t)tasks, index, task)
    {
        draw_task(view->out, task);
        fputs("\033[K\n", view->out);
    }
    print_totals(view->out, line);
    fputs("\033[K\n\033[?7h", view->out);
    view->drawn_lines = (int)json_array_size(tasks) + 1;
}

static void print_plain(struct atoll_progress_view *view, const json_t *line)
{
    const json_t *tasks = json_object_get(line, "tasks"), *task, *leader = NULL;
    double elapsed = number(line, "elapsed_s");
    size_t index;

    if (view->printed_s > 0 && elapsed < view->printed_s + PLAIN_PERIOD_S)
        return;
    view->printed_s = elapsed;
    json_array_foreach((json_t *)(uintptr_t)tasks, index, task)
    {
        if (!leader || speedup(task) > speedup(leader))
            leader = task;
    }
    print_totals(view->out, line);
    if (leader && speedup(leader) > 0) {
        atoll_print(view->out, "  best %s %.2fx%s%s", text(leader, "name"), speedup(leader),
                    *text(leader, "model") ? " on " : "", text(leader, "model"));
    }
    fputc('\n', view->out);
}

static void show(struct atoll_progress_view *view, const char *bytes, size_t length)
{
    json_t *line;

    if (view->mode == ATOLL_PROGRESS_JSON) {
        atoll_json_print_text(bytes, view->out);
        fputc('\n', view->out);
        fflush(view->out);
        return;
    }
    line = json_loadb(bytes, length, 0, NULL);
    if (json_is_object(line)) {
        const char *message = text(line, "message");

        if (*message && strncmp(message, view->message, sizeof(view->message) - 1) != 0) {
            snprintf(view->message, sizeof(view->message), "%s", message);
            if (view->drawn_lines) {
                fprintf(view->out, "\033[%dA\033[J", view->drawn_lines);
                view->drawn_lines = 0;
            }
            atoll_print(view->out, "atoll: %s\n", view->message);
        }
        if (view->mode == ATOLL_PROGRESS_BARS)
            draw_bars(view, line);
        else
            print_plain(view, line);
        fflush(view->out);
    }
    json_decref(line);
}

struct atoll_progress_view *atoll_progress_view_create(FILE *out, enum atoll_progress_mode mode,
                                                       struct atoll_err *err)
{
    struct atoll_progress_view *view = calloc(1, sizeof(*view));
    const char *term = getenv("TERM");

    if (!view || !(view->line = malloc(LINE_LIMIT + 1))) {
        free(view);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the progress view");
        return NULL;
    }
    view->out = out;
    view->mode = mode;
    if (mode == ATOLL_PROGRESS_AUTO) {
        int bars = isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;

        view->mode = bars ? ATOLL_PROGRESS_BARS : ATOLL_PROGRESS_PLAIN;
    }
    return view;
}

void atoll_progress_view_destroy(struct atoll_progress_view *view)
{
    if (view) {
        free(view->line);
        free(view);
    }
}

void atoll_progress_view_feed(struct atoll_progress_view *view, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            view->line[view->length] = '\0';
            if (!view->skipping && view->length && view->mode != ATOLL_PROGRESS_NONE)
                show(view, view->line, view->length);
            view->length = 0;
            view->skipping = 0;
        } else if (view->length == LINE_LIMIT) {
            view->skipping = 1;
        } else {
            view->line[view->length++] = bytes[i];
        }
    }
}

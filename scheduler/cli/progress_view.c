/* progress_view.c - a line assembler in front of two renderers.  What is shown of one line is composed in memory and written at
 * once: a terminal never sees half a picture. */
#include "scheduler/cli/progress_view.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "core/decision.h"

#define LINE_LIMIT     (1u << 20)
#define PLAIN_PERIOD_S 5
#define BAR_CELLS      20
#define NAME_COLUMNS   19
#define EVALS_COLUMNS  6
/* Of a task's line with its best time and its first speedup; what is added where a terminal has the room, in this order. */
#define TASK_COLUMNS      74
#define PAIRS_COLUMNS     6
#define RATIO_COLUMNS     13 /* with rivals the speedup over the seed, too */
#define YARDSTICK_COLUMNS 17
#define WHOLE_TOTALS      90

/* Head, totals, and the line that the cursor stands on. */
#define LINES_BESIDE_TASKS 3

struct atoll_progress_view {
    FILE *target; /* borrowed */
    FILE *out;    /* in memory, while something is composed */
    char *text;   /* of that, owned */
    size_t text_bytes;
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

/* As the table of results has it: that of the final comparison where there was one, else the quotient of two times; 0 unknown.
 * final, yardstick: names of fields. */
static double ratio_of(const json_t *task, const char *final, const char *yardstick)
{
    double best = number(task, "best_ns"), other = number(task, yardstick);

    if (number(task, final) > 0)
        return number(task, final);
    return best > 0 && other > 0 ? other / best : 0;
}

static int has_rival(const json_t *task)
{
    return number(task, "rival_ns") > 0;
}

static double over_rival(const json_t *task)
{
    return ratio_of(task, "rival_ratio", "rival_ns");
}

static double over_seed(const json_t *task)
{
    return ratio_of(task, "final_ratio", "baseline_ns");
}

/* What a task's speedup is where one is told: over its rival, over the seed where it has none. */
static double speedup(const json_t *task)
{
    return has_rival(task) ? over_rival(task) : over_seed(task);
}

static int is_final(const json_t *task)
{
    return number(task, has_rival(task) ? "rival_ratio" : "final_ratio") > 0;
}

static const char *unstable_text(const json_t *task, char *ret_text, size_t bytes)
{
    return atoll_unstable_text((uint64_t)number(task, "unstable_rounds"),
                               (uint64_t)number(task, "unstable_limit"), ret_text, bytes);
}

static int have_rivals(const json_t *tasks)
{
    const json_t *task;
    size_t index;

    json_array_foreach((json_t *)(uintptr_t)tasks, index, task)
    {
        if (has_rival(task))
            return 1;
    }
    return 0;
}

/* "~2.31x"; ~ where no final comparison confirmed it. */
static const char *ratio_text(double ratio, int is_final_ratio, char *ret_text, size_t bytes)
{
    if (!(ratio > 0))
        return "-";
    snprintf(ret_text, bytes, "%s%.2fx", is_final_ratio ? "" : "~", ratio);
    return ret_text;
}

/* What of a task's line is shown. */
struct layout {
    int with_rivals, with_seed, with_yardstick, with_pairs;
    unsigned columns; /* without what follows the evaluations */
};

static int take_room(struct layout *layout, unsigned terminal_columns, unsigned columns)
{
    if (terminal_columns > 0 && layout->columns + columns > terminal_columns)
        return 0;
    layout->columns += columns;
    return 1;
}

/* columns: of the terminal, 0 = no limit. */
static struct layout layout_choose(unsigned columns, int with_rivals)
{
    struct layout layout = {.with_rivals = with_rivals, .columns = TASK_COLUMNS};

    layout.with_pairs = take_room(&layout, columns, PAIRS_COLUMNS);
    layout.with_seed = with_rivals && take_room(&layout, columns, RATIO_COLUMNS);
    layout.with_yardstick = take_room(&layout, columns, YARDSTICK_COLUMNS);
    return layout;
}

/* of: "baseline", "best", "rival" */
static const char *time_text(const json_t *task, const char *of, char *ret_text, size_t bytes)
{
    char key[3][32];

    snprintf(key[0], sizeof(key[0]), "%s_ns", of);
    snprintf(key[1], sizeof(key[1]), "%s_lo_ns", of);
    snprintf(key[2], sizeof(key[2]), "%s_hi_ns", of);
    return atoll_duration_interval_text(number(task, key[0]), number(task, key[1]), number(task, key[2]),
                                        ret_text, bytes);
}

/* "~2.31x     ", "2.31x   2%"; ~ where no final comparison confirmed it. */
static const char *over_seed_text(const json_t *task, char *ret_text, size_t bytes)
{
    return atoll_ratio_interval_text(!(number(task, "final_ratio") > 0), over_seed(task),
                                     number(task, "final_lo"), number(task, "final_hi"), ret_text, bytes);
}

static const char *over_rival_text(const json_t *task, char *ret_text, size_t bytes)
{
    return atoll_ratio_interval_text(!(number(task, "rival_ratio") > 0), over_rival(task),
                                     number(task, "rival_lo"), number(task, "rival_hi"), ret_text, bytes);
}

/* of: "final", "rival": whose ratio. */
static const char *interval_text(const json_t *task, const char *of, char *ret_text, size_t bytes)
{
    char key[2][32];

    snprintf(key[0], sizeof(key[0]), "%s_lo", of);
    snprintf(key[1], sizeof(key[1]), "%s_hi", of);
    if (!(number(task, key[1]) > 0))
        return "-";
    snprintf(ret_text, bytes, "%.2f-%.2f", number(task, key[0]), number(task, key[1]));
    return ret_text;
}

static void draw_bar(FILE *out, const json_t *task)
{
    double fitness = number(task, "best_fitness");
    /* Fitness 0.5..1 is the way from the baseline to the floor: that way is the bar. */
    int full = fitness > 0.5 ? (int)((fitness - 0.5) * 2 * BAR_CELLS + 0.5) : 0;

    for (int i = 0; i < BAR_CELLS; i++)
        fputc(i < full ? '#' : '.', out);
}

static void draw_figures(FILE *out, const json_t *task, const struct layout *layout)
{
    char text[48];
    double pairs = number(task, layout->with_rivals ? "rival_pairs" : "final_pairs");

    if (layout->with_yardstick)
        atoll_print(out, " %13s ->",
                    time_text(task, layout->with_rivals ? "rival" : "baseline", text, sizeof(text)));
    atoll_print(out, " %13s", time_text(task, "best", text, sizeof(text)));
    atoll_print(out, " %12s",
                layout->with_rivals ? over_rival_text(task, text, sizeof(text))
                                    : over_seed_text(task, text, sizeof(text)));
    if (layout->with_pairs && pairs > 0)
        atoll_print(out, " %5.0f", pairs);
    else if (layout->with_pairs)
        atoll_print(out, " %5s", "-");
    if (layout->with_seed)
        atoll_print(out, " %12s", over_seed_text(task, text, sizeof(text)));
}

/* While the search goes on, a task that is done shows why in place of its bar: what stands at the line's end a narrow terminal
 * cuts off.  One that waits says for what in place of all figures. */
static void draw_task(FILE *out, const json_t *task, int is_searching, const struct layout *layout,
                      unsigned columns)
{
    char waits[96], rest[256] = "";
    const char *unstable = unstable_text(task, waits, sizeof(waits));
    int is_done = number(task, "done") > 0;
    int has_figures = over_seed(task) > 0 || over_rival(task) > 0;

    atoll_print(out, "  %-16.16s ", text(task, "name"));
    if (!has_figures && !is_done) {
        atoll_print(out, "%-*s", (int)layout->columns - NAME_COLUMNS - EVALS_COLUMNS,
                    *unstable ? unstable : "waiting for its baseline");
    } else {
        fputc('[', out);
        if (is_done && is_searching)
            atoll_print(out, "%-*.*s", BAR_CELLS, BAR_CELLS, atoll_reason_text(text(task, "reason")));
        else
            draw_bar(out, task);
        fputc(']', out);
        draw_figures(out, task, layout);
    }
    atoll_print(out, " %5.0f", number(task, "evaluated"));
    if (is_done)
        snprintf(rest, sizeof(rest), "  done%s%s", *atoll_reason_text(text(task, "reason")) ? ": " : "",
                 atoll_reason_text(text(task, "reason")));
    snprintf(rest + strlen(rest), sizeof(rest) - strlen(rest), "%s%s", *text(task, "model") ? "  " : "",
             text(task, "model"));
    /* Of what is cut off a terminal shows the last character. */
    if (columns == 0 || layout->columns + strlen(rest) <= columns)
        atoll_print(out, "%s", rest);
}

/* The bar's ends are named above it. */
static void draw_head(FILE *out, const struct layout *layout)
{
    atoll_print(out, "  %-16s [%-*s]", "task", BAR_CELLS, "seed           floor");
    if (layout->with_yardstick)
        atoll_print(out, " %13s ->", layout->with_rivals ? "rival +-" : "seed +-");
    atoll_print(out, " %13s %12s", "best +-", layout->with_rivals ? "speedup +-" : "over seed +-");
    if (layout->with_pairs)
        atoll_print(out, " pairs");
    if (layout->with_seed)
        atoll_print(out, " over seed +-");
    fputs(" evals\033[K\n", out);
}

static void print_totals(FILE *out, const json_t *line, unsigned columns)
{
    const json_t *asks = json_object_get(line, "asks");
    char elapsed[32], budget[32];
    double seconds = number(line, "elapsed_s");
    const char *phase = number(line, "stopped") > 0     ? "done"
                        : number(line, "disk_full") > 0 ? "disk full: waiting"
                        : number(line, "finishing") > 0 ? "finals"
                                                        : "search";

    atoll_print(out, "%s", atoll_duration_text(1e9 * number(line, "elapsed_s"), elapsed, sizeof(elapsed)));
    if (number(line, "budget_s") > 0)
        atoll_print(out, " of %s",
                    atoll_duration_text(1e9 * number(line, "budget_s"), budget, sizeof(budget)));
    atoll_print(out, "  %s  %.0f %s, %.1f/s  device busy %.0f %%, candidates %.0f %%", phase,
                number(line, "evaluated"), columns > 0 && columns < WHOLE_TOTALS ? "evals" : "evaluations",
                seconds > 0 ? number(line, "evaluated") / seconds : 0, 100 * number(line, "busy"),
                100 * number(line, "candidate_share"));
    if (asks) { /* where a language model is asked */
        fprintf(out, "  model: %.0f open, %.0f answered", number(asks, "open"), number(asks, "answered"));
        if (number(asks, "failed") > 0)
            fprintf(out, ", %.0f failed", number(asks, "failed"));
        atoll_print(out, ", %.0f tokens, $%.4f%s", number(asks, "tokens"), number(asks, "cost_usd"),
                    number(asks, "over") > 0 ? " (over: the tuner goes on)" : "");
    }
}

static int is_last(const json_t *line)
{
    return strcmp(text(line, "type"), "summary") == 0;
}

/* How many tasks fit on the screen, with the head and the totals; all where it is none. */
static size_t tasks_that_fit(const struct atoll_progress_view *view)
{
    struct winsize size;
    int fd = fileno(view->target);

    if (fd < 0 || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
        return SIZE_MAX;
    return size.ws_row > LINES_BESIDE_TASKS ? (size_t)size.ws_row - LINES_BESIDE_TASKS : 1;
}

/* Lines are cut at a narrow terminal's edge, and tasks that do not fit below each other are counted, those in work shown first:
 * what wraps or scrolls would not be where the next drawing expects it.  The last drawing stays, and has them all. */
static void draw_bars(struct atoll_progress_view *view, const json_t *line)
{
    const json_t *tasks = json_object_get(line, "tasks"), *task;
    size_t index, drawn = 0, count = json_array_size(tasks);
    size_t room = is_last(line) ? SIZE_MAX : tasks_that_fit(view);
    unsigned columns = atoll_print_columns(view->target);
    struct layout layout = layout_choose(columns, have_rivals(tasks));

    fputs("\033[?7l", view->out);
    if (view->drawn_lines)
        fprintf(view->out, "\033[%dA", view->drawn_lines);
    draw_head(view->out, &layout);
    for (int done = 0; done < (count > room ? 2 : 1); done++) {
        json_array_foreach((json_t *)(uintptr_t)tasks, index, task)
        {
            if (drawn < room && (count <= room || (number(task, "done") > 0) == done)) {
                draw_task(view->out, task, number(line, "finishing") == 0 && number(line, "stopped") == 0,
                          &layout, columns);
                fputs("\033[K\n", view->out);
                drawn++;
            }
        }
    }
    print_totals(view->out, line, columns);
    if (drawn < count)
        fprintf(view->out, "  (%zu more tasks)", count - drawn);
    fputs("\033[K\n\033[J\033[?7h", view->out);
    view->drawn_lines = (int)drawn + 2;
}

/* The last line's times are of kernels measured alone, the table's of the final comparisons: why they differ is said between. */
static void print_end(FILE *out, unsigned columns, const json_t *line)
{
    const json_t *task;
    size_t index, finals = 0, others = 0;

    json_array_foreach(json_object_get(line, "tasks"), index, task)
    {
        finals += (size_t)is_final(task);
        others += (size_t)(!is_final(task) && speedup(task) > 0);
    }
    if (finals > 0)
        atoll_print_folded(out, columns, 0,
                           "times above were measured one kernel at a time; the table has those of the final "
                           "comparisons, side by side");
    if (others > 0)
        fputs("~ the quotient of two times measured apart: no final comparison confirmed it\n", out);
}

static void print_plain(struct atoll_progress_view *view, const json_t *line)
{
    const json_t *tasks = json_object_get(line, "tasks"), *task, *leader = NULL;
    double elapsed = number(line, "elapsed_s");
    char ratio[32], waits[96], ends[48] = "";
    size_t index;

    if (view->printed_s > 0 && elapsed < view->printed_s + PLAIN_PERIOD_S && !is_last(line))
        return;
    view->printed_s = elapsed;
    json_array_foreach((json_t *)(uintptr_t)tasks, index, task)
    {
        if (!leader || has_rival(task) > has_rival(leader) ||
            (has_rival(task) == has_rival(leader) && speedup(task) > speedup(leader))) {
            leader = task;
        }
    }
    print_totals(view->out, line, 0);
    if (leader && speedup(leader) > 0) {
        if (is_final(leader) &&
            strcmp(interval_text(leader, has_rival(leader) ? "rival" : "final", waits, sizeof(waits)), "-") !=
                0)
            snprintf(ends, sizeof(ends), " (%.40s)", waits);
        atoll_print(view->out, "  best %s %s%s over %s%s%s", text(leader, "name"),
                    ratio_text(speedup(leader), is_final(leader), ratio, sizeof(ratio)), ends,
                    has_rival(leader) ? "its rival" : "its seed", *text(leader, "model") ? " on " : "",
                    text(leader, "model"));
    }
    json_array_foreach((json_t *)(uintptr_t)tasks, index, task)
    {
        const char *unstable = unstable_text(task, waits, sizeof(waits));
        if (*unstable)
            atoll_print(view->out, "  %s: %s", text(task, "name"), unstable);
    }
    fputc('\n', view->out);
}

/* Takes the drawing away, so that a line of text can stand above the next one. */
static void clear(struct atoll_progress_view *view)
{
    if (view->drawn_lines)
        fprintf(view->out, "\033[%dA\033[J", view->drawn_lines);
    view->drawn_lines = 0;
}

/* -1: no memory, the line is not shown. */
static int compose(struct atoll_progress_view *view)
{
    view->out = open_memstream(&view->text, &view->text_bytes);
    return view->out ? 0 : -1;
}

/* One write for all that was composed. */
static void send(struct atoll_progress_view *view)
{
    if (fclose(view->out) == 0)
        fwrite(view->text, 1, view->text_bytes, view->target);
    fflush(view->target);
    free(view->text);
}

static void show_object(struct atoll_progress_view *view, const json_t *line)
{
    const char *message = text(line, "message");
    char told[sizeof(view->message) + 8];

    if (*message && strncmp(message, view->message, sizeof(view->message) - 1) != 0) {
        snprintf(view->message, sizeof(view->message), "%s", message);
        clear(view);
        snprintf(told, sizeof(told), "atoll: %s", view->message);
        atoll_print_folded(view->out, atoll_print_columns(view->target), 0, told);
    }
    if (view->mode == ATOLL_PROGRESS_BARS)
        draw_bars(view, line);
    else
        print_plain(view, line);
    if (is_last(line)) {
        print_end(view->out, atoll_print_columns(view->target), line);
        view->drawn_lines = 0; /* it stays */
    }
}

static void show(struct atoll_progress_view *view)
{
    json_t *line = view->mode == ATOLL_PROGRESS_JSON ? NULL : json_loadb(view->line, view->length, 0, NULL);

    if ((json_is_object(line) || view->mode == ATOLL_PROGRESS_JSON) && compose(view) == 0) {
        if (line) {
            show_object(view, line);
        } else {
            atoll_json_print_text(view->line, view->out);
            fputc('\n', view->out);
        }
        send(view);
    }
    json_decref(line);
}

void atoll_progress_view_message(struct atoll_progress_view *view, const char *message)
{
    if (compose(view) != 0)
        return;
    clear(view);
    atoll_print(view->out, "atoll: %s\n", message);
    send(view);
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
    view->target = out;
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
                show(view);
            view->length = 0;
            view->skipping = 0;
        } else if (view->length == LINE_LIMIT) {
            view->skipping = 1;
        } else {
            view->line[view->length++] = bytes[i];
        }
    }
}

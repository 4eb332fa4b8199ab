#include "tests/support/expect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "scheduler/cli/progress_view.h"
#include "tests/support/terminal.h"

#define LINE                                                                                                 \
    "{\"type\": \"progress\", \"elapsed_s\": 2, \"budget_s\": 10, \"evaluated\": 12, \"rate\": 6, "          \
    "\"busy\": 0.5, "                                                                                        \
    "\"candidate_share\": 0.25, \"tasks\": [{\"name\": \"softmax\", \"baseline_ns\": 4e6, \"best_ns\": "     \
    "1e6, "                                                                                                  \
    "\"best_fitness\": 0.75, \"evaluated\": 12, \"done\": 0}]}\n"

/* What a view prints for a text fed in pieces of the given size. */
static char *shown(enum atoll_progress_mode mode, const char *text, size_t piece)
{
    char *out = NULL;
    size_t length = 0, left = strlen(text);
    FILE *stream = open_memstream(&out, &length);
    struct atoll_progress_view *view = atoll_progress_view_create(stream, mode, NULL);

    assert_non_null(view);
    for (const char *at = text; left; at += piece, left -= piece) {
        piece = piece < left ? piece : left;
        atoll_progress_view_feed(view, at, piece);
    }
    atoll_progress_view_destroy(view);
    fclose(stream);
    return out;
}

static void lines_may_be_split_anywhere(void **state)
{
    char *whole = shown(ATOLL_PROGRESS_PLAIN, LINE, sizeof(LINE));

    (void)state;
    assert_non_null(strstr(whole, "12 evaluations"));
    assert_non_null(strstr(whole, "best softmax ~4.00x over its seed"));
    for (size_t piece = 1; piece < 40; piece++) {
        char *split = shown(ATOLL_PROGRESS_PLAIN, LINE, piece);

        assert_string_equal(split, whole);
        free(split);
    }
    free(whole);
}

static void plain_lines_are_rare(void **state)
{
    char *out = shown(ATOLL_PROGRESS_PLAIN, LINE LINE LINE, 4096);
    size_t lines = 0;

    (void)state;
    for (const char *at = out; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 1);
    free(out);
}

static void bars_are_redrawn_in_place(void **state)
{
    char *out = shown(ATOLL_PROGRESS_BARS, LINE LINE, 4096);

    (void)state;
    assert_non_null(strstr(out, "[##########..........]"));
    assert_non_null(strstr(out, "\033[3A"));
    assert_non_null(strstr(out, "[seed           floor]")); /* what the bar is */
    assert_non_null(strstr(out, "4.00x"));
    free(out);
    out = shown(
        ATOLL_PROGRESS_BARS,
        "{\"tasks\": [{\"name\": \"early\", \"best_fitness\": 1, \"done\": 1, \"reason\": \"floor\"}]}\n",
        4096);
    assert_non_null(strstr(out, "[floor goal reached  ]"));
    free(out);
}

/* A task that has to wait says why. */
static void an_unstable_baseline_is_told(void **state)
{
    static const enum atoll_progress_mode modes[] = {ATOLL_PROGRESS_PLAIN, ATOLL_PROGRESS_BARS};
    static const char line[] = "{\"elapsed_s\": 2, \"tasks\": [{\"name\": \"alpha\", \"unstable_rounds\": 2, "
                               "\"unstable_limit\": 5}, {\"name\": \"beta\"}]}\n";

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char *out = shown(modes[i], line, 4096);
        const char *told = strstr(out, "baseline unstable, tried again in 2 of 5 rounds");

        assert_non_null(told);
        assert_null(strstr(told + 1, "baseline unstable"));
        free(out);
    }
}

/* While nothing can be written a run waits beyond its time. */
static void a_full_disk_is_told(void **state)
{
    static const enum atoll_progress_mode modes[] = {ATOLL_PROGRESS_PLAIN, ATOLL_PROGRESS_BARS};
    static const char full[] = "{\"elapsed_s\": 12, \"budget_s\": 6, \"finishing\": 1, \"disk_full\": 1, "
                               "\"evaluated\": 3, \"tasks\": []}\n";

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char *out = shown(modes[i], full, 4096);

        assert_non_null(strstr(out, "12.0 s of 6.00 s  disk full: waiting  3 evaluations"));
        free(out);
    }
}

static ssize_t count_write(void *cookie, const char *bytes, size_t length)
{
    (void)bytes;
    ++*(size_t *)cookie;
    return (ssize_t)length;
}

/* Standard error has no buffer of its own. */
static void a_redraw_is_one_write(void **state)
{
    static const enum atoll_progress_mode modes[] = {ATOLL_PROGRESS_BARS, ATOLL_PROGRESS_JSON};

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        size_t writes = 0;
        FILE *stream = fopencookie(&writes, "w", (cookie_io_functions_t){.write = count_write});
        struct atoll_progress_view *view;

        setvbuf(stream, NULL, _IONBF, 0);
        view = atoll_progress_view_create(stream, modes[i], NULL);
        for (size_t line = 1; line <= 5; line++) {
            atoll_progress_view_feed(view, LINE, strlen(LINE));
            assert_int_equal(writes, line);
        }
        atoll_progress_view_message(view, "interrupted");
        assert_int_equal(writes, 6);
        atoll_progress_view_destroy(view);
        fclose(stream);
    }
}

/* What a terminal of so many columns shows of a line. */
static void show_on_terminal(unsigned short columns, const char *line, char *ret_text, size_t bytes)
{
    FILE *stream;
    int master = terminal_open(24, columns, &stream);
    struct atoll_progress_view *view = atoll_progress_view_create(stream, ATOLL_PROGRESS_BARS, NULL);

    atoll_progress_view_feed(view, line, strlen(line));
    terminal_read(master, "\033[?7h", ret_text, bytes);
    atoll_progress_view_destroy(view);
    fclose(stream);
    close(master);
}

/* Every time and ratio that is shown has its interval, on each terminal; no line is longer than its terminal. */
static void intervals_stand_on_each_terminal(void **state)
{
#define TASK                                                                                                 \
    "{\"name\": \"softmax\", \"baseline_ns\": 4e6, \"baseline_lo_ns\": 3.88e6, \"baseline_hi_ns\": 4.12e6, " \
    "\"best_ns\": 1e6, \"best_lo_ns\": 0.95e6, \"best_hi_ns\": 1.05e6, \"final_ratio\": 3.5, "               \
    "\"final_lo\": 3.43, \"final_hi\": 3.57, \"final_pairs\": 16, \"evaluated\": 13, \"done\": 1, "          \
    "\"reason\": \"floor\""
    static const char own[] = "{\"type\": \"summary\", \"elapsed_s\": 3, \"stopped\": 1, \"tasks\": [" TASK
                              "}, {\"name\": \"other\", \"unstable_rounds\": 2, \"unstable_limit\": 5}]}\n";
    static const char rivals[] =
        "{\"type\": \"summary\", \"elapsed_s\": 3, \"stopped\": 1, \"tasks\": [" TASK
        ", \"rival\": \"eager\", \"rival_ns\": 2e6, \"rival_lo_ns\": 1.92e6, \"rival_hi_ns\": 2.08e6, "
        "\"rival_ratio\": 1.9, \"rival_lo\": 1.786, \"rival_hi\": 2.014, \"rival_pairs\": 24}]}\n";
    static const struct {
        const char *line;
        unsigned short columns;
        const char *figures; /* behind the bar */
    } rows[] = {
        {own, 79, "]  1.00 ms   5%   3.50x   2%    13"},
        {own, 80, "]  1.00 ms   5%   3.50x   2%    16    13"},
        {own, 100, "]  4.00 ms   3% ->  1.00 ms   5%   3.50x   2%    16    13"},
        {own, 200, "]  4.00 ms   3% ->  1.00 ms   5%   3.50x   2%    16    13  done: floor goal reached"},
        {rivals, 80, "]  1.00 ms   5%   1.90x   6%    24    13"},
        {rivals, 100, "]  1.00 ms   5%   1.90x   6%    24   3.50x   2%    13"},
        {rivals, 200,
         "]  2.00 ms   4% ->  1.00 ms   5%   1.90x   6%    24   3.50x   2%    13  done: floor goal reached"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[8192], figures[256];
        const char *at;

        show_on_terminal(rows[i].columns, rows[i].line, text, sizeof(text));
        snprintf(figures, sizeof(figures), "%s\033[K", rows[i].figures);
        if (!strstr(text, figures))
            fail_msg("at %u columns there is no '%s' in:\n%s", rows[i].columns, rows[i].figures, text);
        assert_true(rows[i].line == rivals ||
                    strstr(text, "  other            baseline unstable, tried again in 2 of 5 rounds"));
        for (at = strstr(text, "  task"); at; at = strchr(at, '\n')) {
            at += strspn(at, "\r\n");
            if (strcspn(at, "\033\r\n") > rows[i].columns)
                fail_msg("longer than %u columns:\n%s", rows[i].columns, at);
        }
    }
}

/* More tasks than lines: those in work are drawn, the others counted; the last picture has all. */
static void a_low_screen_is_not_left(void **state)
{
    static const char tasks[] = "\"tasks\": [{\"name\": \"one\", \"done\": 1}, {\"name\": \"two\"}, "
                                "{\"name\": \"three\", \"done\": 1}, "
                                "{\"name\": \"four\"}, {\"name\": \"five\", \"done\": 1}]}\n";
    char line[512], last[512], shown[8192] = "";
    FILE *stream;
    int master = terminal_open(6, 80, &stream);
    struct atoll_progress_view *view;

    (void)state;
    view = atoll_progress_view_create(stream, ATOLL_PROGRESS_BARS, NULL);
    snprintf(line, sizeof(line), "{\"type\": \"progress\", %s", tasks);
    snprintf(last, sizeof(last), "{\"type\": \"summary\", %s", tasks);
    atoll_progress_view_feed(view, line, strlen(line));
    terminal_read(master, "\033[?7h", shown, sizeof(shown));
    assert_non_null(strstr(shown, "]       best +- over seed +- pairs evals"));
    assert_non_null(strstr(shown, "two"));
    assert_non_null(strstr(shown, "four"));
    assert_non_null(strstr(shown, "one"));
    assert_null(strstr(shown, "five"));
    assert_non_null(strstr(shown, "(2 more tasks)"));
    atoll_progress_view_feed(view, last, strlen(last));
    terminal_read(master, "\033[?7h", shown, sizeof(shown));
    assert_non_null(strstr(shown, "\033[5A"));
    assert_non_null(strstr(shown, "five"));
    assert_null(strstr(shown, "more tasks"));
    atoll_progress_view_destroy(view);
    fclose(stream);
    close(master);
}

/* The last line is always shown, has the ratio that the table has, says why tasks ended and why its times are others. */
static void the_end_is_told(void **state)
{
    static const char end[] =
        "{\"type\": \"summary\", \"elapsed_s\": 3, \"evaluated\": 13, \"stopped\": 1, "
        "\"tasks\": [{\"name\": \"softmax\", "
        "\"baseline_ns\": 4e6, \"best_ns\": 1e6, \"best_lo_ns\": 0.95e6, \"best_hi_ns\": 1.05e6, "
        "\"final_ratio\": 3.5, \"final_lo\": 3.4, \"final_hi\": 3.6, \"evaluated\": "
        "13, \"done\": 1, \"reason\": "
        "\"floor\"}, {\"name\": \"other\", \"baseline_ns\": 4e6, \"best_ns\": 2e6, "
        "\"done\": 1, \"reason\": \"wall_time\"}]}\n";
    char text[2048], *plain, *bars;

    (void)state;
    snprintf(text, sizeof(text), "%s%s", LINE, end);
    plain = shown(ATOLL_PROGRESS_PLAIN, text, 4096);
    bars = shown(ATOLL_PROGRESS_BARS, text, 4096);
    assert_non_null(strstr(plain, "13 evaluations"));
    assert_non_null(strstr(plain, "best softmax ~4.00x over its seed"));
    assert_non_null(strstr(plain, "best softmax 3.50x (3.40-3.60) over its seed\n"));
    assert_non_null(strstr(bars, " 4.00 ms      ->  1.00 ms   5%   3.50x   3%     -    13"));
    assert_non_null(strstr(bars, "  2.00 ms       ~2.00x          -     0"));
    assert_non_null(strstr(bars, "done: floor goal reached"));
    assert_non_null(strstr(bars, "done: time is over"));
    assert_non_null(strstr(bars, "the table has those of the final comparisons"));
    assert_non_null(strstr(plain, "no final comparison confirmed it"));
    free(plain);
    free(bars);
}

/* Where devices are of several models every line says of which it is. */
static void models_are_named(void **state)
{
    static const char line[] =
        "{\"type\": \"progress\", \"elapsed_s\": 2, \"tasks\": [{\"name\": \"softmax\", "
        "\"model\": \"Slow\", \"baseline_ns\": 4e6, \"best_ns\": 2e6}, {\"name\": "
        "\"softmax\", \"model\": \"Fast\", \"baseline_ns\": 4e6, \"best_ns\": 1e6}]}\n";
    char *plain = shown(ATOLL_PROGRESS_PLAIN, line, 4096), *bars = shown(ATOLL_PROGRESS_BARS, line, 4096);

    (void)state;
    assert_non_null(strstr(plain, "best softmax ~4.00x over its seed on Fast"));
    assert_true(strstr(bars, "Slow") && strstr(bars, "Fast"));
    free(plain);
    free(bars);
}

/* Where a rival was measured speedups are over it, and over the seed they stand second. */
static void rivals_come_first(void **state)
{
    static const char line[] =
        "{\"type\": \"progress\", \"elapsed_s\": 2, \"tasks\": [{\"name\": \"plain\", \"baseline_ns\": 9e6, "
        "\"best_ns\": 1e6}, {\"name\": \"softmax\", \"baseline_ns\": 4e6, \"best_ns\": 2e6, \"rival\": "
        "\"compiled\", "
        "\"rival_ns\": 3e6, \"rival_ratio\": 0}, {\"name\": \"norm\", \"baseline_ns\": 8e6, \"best_ns\": "
        "2e6, "
        "\"final_ratio\": 3.9, \"rival_ns\": 2e6, \"rival_ratio\": 1.05, \"rival_lo\": 1.04, "
        "\"rival_hi\": 1.06}]}\n";
    char *plain = shown(ATOLL_PROGRESS_PLAIN, line, 4096), *bars = shown(ATOLL_PROGRESS_BARS, line, 4096);

    (void)state;
    assert_non_null(strstr(plain, "best softmax ~1.50x over its rival\n"));
    assert_non_null(strstr(bars, "      rival +- ->       best +-   speedup +- pairs over seed +- evals"));
    assert_non_null(strstr(bars, " 3.00 ms      ->  2.00 ms       ~1.50x          -  ~2.00x     "));
    assert_non_null(strstr(bars, " 2.00 ms      ->  2.00 ms        1.05x   1%     -   3.90x     "));
    assert_non_null(strstr(bars, "            - ->  1.00 ms                 -     -  ~9.00x     "));
    free(plain);
    free(bars);
}

static void messages_are_shown_once(void **state)
{
    char *out =
        shown(ATOLL_PROGRESS_PLAIN, "{\"message\": \"disk full\"}\n{\"message\": \"disk full\"}\n", 7);
    char *first = strstr(out, "atoll: disk full");

    (void)state;
    assert_non_null(first);
    assert_null(strstr(first + strlen("atoll: disk full"), "disk full"));
    free(out);
}

static void json_passes_through(void **state)
{
    char *out = shown(ATOLL_PROGRESS_JSON, LINE, 3);

    (void)state;
    assert_string_equal(out, LINE);
    free(out);
    out = shown(ATOLL_PROGRESS_JSON, "{\"message\": \"\xc2\x9b\\u001b \xff\"}\n", 3);
    assert_string_equal(out, "{\"message\": \"\\u009b\\u001b \\ufffd\"}\n");
    free(out);
}

static void garbage_is_skipped(void **state)
{
    static const char *const cases[] = {"\n",
                                        "garbage\n",
                                        "[1, 2]\n",
                                        "{\"tasks\": 7}\n",
                                        "{\"tasks\": [1, null]}\n",
                                        "{\"elapsed_ns\": \"x\"}\n",
                                        "\xff\xfe\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        char *out;

        snprintf(text, sizeof(text), "%s" LINE, cases[i]);
        out = shown(ATOLL_PROGRESS_BARS, text, 5);
        assert_non_null(strstr(out, "4.00x"));
        free(out);
    }
}

static void an_endless_line_is_dropped(void **state)
{
    size_t length = (3u << 20);
    char *text = malloc(length + sizeof(LINE) + 1), *out;

    (void)state;
    memset(text, 'x', length);
    strcpy(text + length, "\n" LINE);
    out = shown(ATOLL_PROGRESS_PLAIN, text, 4096);
    assert_non_null(strstr(out, "12 evaluations"));
    assert_null(strstr(out, "xxx"));
    free(out);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_may_be_split_anywhere),
        cmocka_unit_test(plain_lines_are_rare),
        cmocka_unit_test(bars_are_redrawn_in_place),
        cmocka_unit_test(an_unstable_baseline_is_told),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_redraw_is_one_write),
        cmocka_unit_test(the_end_is_told),
        cmocka_unit_test(a_low_screen_is_not_left),
        cmocka_unit_test(models_are_named),
        cmocka_unit_test(rivals_come_first),
        cmocka_unit_test(messages_are_shown_once),
        cmocka_unit_test(json_passes_through),
        cmocka_unit_test(garbage_is_skipped),
        cmocka_unit_test(an_endless_line_is_dropped),
        cmocka_unit_test(intervals_stand_on_each_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

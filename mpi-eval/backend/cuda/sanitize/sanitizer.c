#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/compile/toolkit.h"

#define PROGRAM     "compute-sanitizer"
#define PRINT_LIMIT "8" /* findings; the first one is quoted */
#define PADDING_BYTES                                                                                        \
    "65536" /* behind every buffer, so that its neighbour does not hide an access past its end */

const char *atoll_sanitizer_name(enum atoll_sanitizer_tool tool)
{
    static const char *const names[ATOLL_SANITIZER_TOOL_COUNT] = {
        [ATOLL_SANITIZER_MEMCHECK] = "memcheck",
        [ATOLL_SANITIZER_INITCHECK] = "initcheck",
        [ATOLL_SANITIZER_RACECHECK] = "racecheck",
        [ATOLL_SANITIZER_SYNCCHECK] = "synccheck",
    };
    return tool < ATOLL_SANITIZER_TOOL_COUNT ? names[tool] : "unknown";
}

char *atoll_sanitizer_find(struct atoll_err *err)
{
    const char *wanted = getenv(ATOLL_SANITIZER_VARIABLE);
    char *path;
    if (wanted && wanted[0]) {
        path = strchr(wanted, '/') ? atoll_toolkit_find_program(wanted) : NULL;
        if (!path)
            atoll_err_set(err, ATOLL_E_MISSING, ATOLL_SANITIZER_VARIABLE " names no program: %.300s", wanted);
        return path;
    }
    path = atoll_toolkit_find_program(PROGRAM);
    if (!path)
        atoll_err_set(err, ATOLL_E_MISSING,
                      "no " PROGRAM " in PATH, CUDA_HOME or /usr/local/cuda; it belongs to the CUDA toolkit");
    return path;
}

void atoll_sanitizer_arguments(const char *program, enum atoll_sanitizer_tool tool, const char *report,
                               const char *ret_arguments[ATOLL_SANITIZER_ARGUMENT_LIMIT])
{
    const char *const all[] = {program,
                               "--tool",
                               NULL,
                               "--log-file",
                               report,
                               "--target-processes",
                               "application-only",
                               "--show-backtrace",
                               "device",
                               "--print-limit",
                               PRINT_LIMIT};
    /* Calls that fail are ours, and the executor's way to ask. */
    static const char *const of_memcheck[] = {"--report-api-errors", "no", "--padding", PADDING_BYTES};
    size_t count = sizeof(all) / sizeof(*all), more = tool == ATOLL_SANITIZER_MEMCHECK ? 4 : 0;
    _Static_assert(sizeof(all) / sizeof(*all) + 4 < ATOLL_SANITIZER_ARGUMENT_LIMIT,
                   "all arguments have room");
    memcpy(ret_arguments, all, sizeof(all));
    memcpy(ret_arguments + count, of_memcheck, more * sizeof(*of_memcheck));
    ret_arguments[2] = atoll_sanitizer_name(tool);
    ret_arguments[count + more] = NULL;
}

static int has_clusters_or_maps(const struct atoll_plan *plan)
{
    for (size_t k = 0; k < plan->launch_count; k++) {
        const struct atoll_launch *l = &plan->launches[k];
        if (l->cluster[0])
            return 1;
        for (size_t i = 0; i < l->arg_count; i++)
            if (l->args[i].kind == ATOLL_ARG_TENSORMAP)
                return 1;
    }
    return 0;
}

/* Behind the comment that begins here; `at` itself where none does. */
static const char *behind_comment(const char *at)
{
    const char *end = strncmp(at, "/*", 2) == 0 ? strstr(at + 2, "*/") : NULL;
    if (end)
        return end + 2;
    return strncmp(at, "//", 2) == 0 || strncmp(at, "/*", 2) == 0 ? at + strcspn(at, "\n") : at;
}

static int has_mark(const char *at)
{
    static const char *const marks[] = {"mbarrier",        "bar.sync",       "bar.arrive",    "bar.red",
                                        "barrier.sync",    "barrier.arrive", "barrier.red",   "barrier.cta",
                                        "barrier.cluster", "cp.async",       "wgmma",         "tcgen05",
                                        "cuda/barrier",    "cuda/ptx",       "cuda/pipeline", "cuda_pipeline",
                                        "cuda_awbarrier",  "memcpy_async",   "cutlass/",      "cute/"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (strncmp(at, marks[i], strlen(marks[i])) == 0)
            return 1;
    return 0;
}

int atoll_sanitizer_is_believed(enum atoll_sanitizer_tool tool, const struct atoll_plan *plan,
                                const char *source)
{
    if (tool == ATOLL_SANITIZER_MEMCHECK)
        return 1;
    for (const char *at = source; *at;) {
        const char *behind = behind_comment(at);
        if (has_mark(at))
            return 0;
        at = behind > at ? behind : at + 1;
    }
    return !has_clusters_or_maps(plan);
}

/* ---- what a report says ---- */

#define MARK         "========="
#define LINE_BYTES   200
#define DETAIL_LINES 3 /* of a finding: where, which thread, which address */

/* Headings that blame the kernel, by their beginnings; racecheck and older versions differ in case. */
static const char *const findings[] = {"Invalid ",
                                       "Uninitialized ",
                                       "Barrier error",
                                       "Warpgroup MMA",
                                       "Error: Race reported",
                                       "ERROR: Race reported",
                                       "Error: Potential ",
                                       "ERROR: Potential ",
                                       "Potential invalid ",
                                       "Malloc/Free error",
                                       "Misaligned ",
                                       "Illegal ",
                                       "Out-of-range ",
                                       "Warp ",
                                       "Stack ",
                                       "Tensor Memory ",
                                       "Deadlock detected"};

/* What else is an error is the tool's own: it did not see what it was to look at, whatever its summary counts. */
static const char *const troubles[] = {
    "Error: ", "Internal ", "Target application", "Unable to ", "Device not supported", "Fatal"};

struct scan {
    struct atoll_sanitizer_report *report;
    int has_summary, is_broken;
    int detail_lines; /* that the finding under way may still have */
};

static int begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static int is_among(const char *line, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (begins(line, beginnings[i]))
            return 1;
    return 0;
}

/* The digits at `text`, with or without commas between them. */
static uint64_t number_at(const char *text)
{
    uint64_t n = 0;
    for (; *text == ',' || (*text >= '0' && *text <= '9'); text++)
        if (*text != ',' && n < UINT64_MAX / 10)
            n = n * 10 + (uint64_t)(*text - '0');
    return n;
}

static void summary_take(struct scan *s, const char *counts)
{
    const char *parts = strchr(counts, '('), *warnings = parts ? strchr(parts, ' ') : NULL;
    if (strstr(counts, "were not printed") || !strstr(counts, parts ? ")" : "error"))
        return;
    s->has_summary = 1;
    s->report->errors = number_at(parts ? parts + 1 : counts);
    warnings = warnings ? strchr(warnings + 1, ' ') : NULL;
    s->report->warnings = warnings ? number_at(warnings + 1) : 0;
}

static void text_add(struct atoll_sanitizer_report *r, const char *line)
{
    size_t n = strlen(r->text);
    snprintf(r->text + n, sizeof(r->text) - n, "%s%s", n ? ", " : "", line);
}

static void heading_take(struct scan *s, const char *line)
{
    struct atoll_sanitizer_report *r = s->report;
    s->detail_lines = 0;
    if (r->state == ATOLL_SANITIZER_FOUND)
        return;
    if (is_among(line, findings, sizeof(findings) / sizeof(*findings))) {
        r->state = ATOLL_SANITIZER_FOUND;
        r->text[0] = 0;
        text_add(r, line);
        s->detail_lines = DETAIL_LINES;
    } else if (!s->is_broken && is_among(line, troubles, sizeof(troubles) / sizeof(*troubles))) {
        s->is_broken = 1;
        text_add(r, line);
    }
}

/* What follows the mark, printable, without blanks at its end; 0 where the line is none of the tool's. */
static int line_copy(const char *bytes, size_t length, char ret_line[LINE_BYTES])
{
    size_t n = 0, mark = strlen(MARK);
    if (length < mark || memcmp(bytes, MARK, mark) != 0)
        return 0;
    for (size_t i = mark; i < length && n < LINE_BYTES - 1; i++)
        ret_line[n++] = (char)(bytes[i] >= ' ' && bytes[i] <= '~' ? bytes[i] : bytes[i] == '\r' ? ' ' : '?');
    while (n > 0 && ret_line[n - 1] == ' ')
        n--;
    ret_line[n] = 0;
    return 1;
}

void atoll_sanitizer_report_read(const char *bytes, size_t length, struct atoll_sanitizer_report *ret)
{
    struct scan s = {.report = ret};
    char line[LINE_BYTES];
    *ret = (struct atoll_sanitizer_report){.state = ATOLL_SANITIZER_UNFINISHED};
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t n = end ? (size_t)(end - bytes) : length;
        if (line_copy(bytes, n, line)) {
            const char *summary = strstr(line, "SUMMARY: "), *text = line + strspn(line, " ");
            if (!*text)
                s.detail_lines = 0;
            else if (summary && !begins(text, "LEAK"))
                summary_take(&s, summary + strlen("SUMMARY: "));
            else if (text - line <= 1)
                heading_take(&s, text);
            else if (s.detail_lines > 0 && s.detail_lines--)
                text_add(s.report, text);
        }
        bytes += n + (end != NULL);
        length -= n + (end != NULL);
    }
    if (ret->state == ATOLL_SANITIZER_FOUND || s.is_broken)
        return;
    if (s.has_summary && ret->errors)
        snprintf(ret->text, sizeof(ret->text), "it counts %llu errors of a kind that is not known",
                 (unsigned long long)ret->errors);
    else if (s.has_summary)
        ret->state = ATOLL_SANITIZER_CLEAN;
}

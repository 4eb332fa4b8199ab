#include "mpi-eval/backend/cuda/sanitize/sanitizer_report.h"

#include <stdio.h>
#include <string.h>

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

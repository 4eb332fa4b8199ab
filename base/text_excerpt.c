#include "base/text_excerpt.h"

#include <string.h>

#include "base/utf8.h"

#define LINE_LIMIT ((size_t)32)
#define LINE_BYTES ((size_t)200) /* of one that are shown */

struct line {
    const char *text;
    size_t length, number; /* from 1 */
};

/* The next line; 0: there is none. */
static int line_next(const char *text, size_t length, struct line *line)
{
    const char *begin = line->number ? line->text + line->length + 1 : text;
    if (begin >= text + length)
        return 0;
    const char *end = memchr(begin, '\n', (size_t)(text + length - begin));
    *line = (struct line){begin, (size_t)((end ? end : text + length) - begin), line->number + 1};
    return 1;
}

static size_t score_of(const struct atoll_text_wanted *wanted, const struct line *line)
{
    if (wanted->pattern)
        return (size_t)atoll_pattern_matches(wanted->pattern, line->text, line->length, wanted->work);
    return atoll_text_query_count(wanted->query, line->text, line->length);
}

/* The best lines: those with more of what is wanted, of equal ones the first. */
struct best {
    size_t count, limit, scores[LINE_LIMIT], numbers[LINE_LIMIT];
};

static void best_add(struct best *best, size_t score, size_t number)
{
    size_t at = best->count;
    while (at > 0 && score > best->scores[at - 1])
        at--;
    if (at >= best->limit)
        return;
    best->count += best->count < best->limit;
    for (size_t i = best->count - 1; i > at; i--) {
        best->scores[i] = best->scores[i - 1];
        best->numbers[i] = best->numbers[i - 1];
    }
    best->scores[at] = score;
    best->numbers[at] = number;
}

static int is_near(const struct best *best, size_t number, size_t beside)
{
    for (size_t i = 0; i < best->count; i++)
        if (number + beside >= best->numbers[i] && number <= best->numbers[i] + beside)
            return 1;
    return 0;
}

size_t atoll_text_excerpt(const char *text, size_t length, const struct atoll_text_wanted *wanted,
                          size_t line_limit, size_t beside, struct atoll_buffer *out)
{
    struct best best = {.limit = line_limit < LINE_LIMIT ? line_limit : LINE_LIMIT};
    size_t wanted_count = 0, last = 0;
    for (struct line line = {0}; line_next(text, length, &line);) {
        size_t score = score_of(wanted, &line);
        wanted_count += score > 0;
        if (score > 0)
            best_add(&best, score, line.number);
    }
    for (struct line line = {0}; best.count && line_next(text, length, &line);) {
        if (!is_near(&best, line.number, beside))
            continue;
        size_t shown = line.length > LINE_BYTES ? atoll_utf8_cut(line.text, LINE_BYTES) : line.length;
        atoll_buffer_printf(out, "%s%6zu: %.*s%s\n", last && line.number > last + 1 ? "   ...\n" : "",
                            line.number, (int)shown, line.text, shown < line.length ? " ..." : "");
        last = line.number;
    }
    return wanted_count;
}

/* line_diff.c - equal ends are set aside; the middle is a table of common subsequences, walked from its first corner. */
#include "base/line_diff.h"

#include <stdlib.h>
#include <string.h>

#define CELL_LIMIT ((size_t)4096 * 4096)

struct line {
    const char *text;
    size_t length; /* without the end of the line */
};

struct lines {
    struct line *items; /* owned */
    size_t count;
    int is_unended; /* the last one has no end of its own */
};

/* One line of the script. */
struct step {
    char mark;   /* ' ', '-', '+' */
    size_t a, b; /* lines of each text before it */
};

static int split(const char *text, struct lines *ret)
{
    size_t count = 1;

    for (const char *at = text; *at; at++)
        count += *at == '\n';
    *ret = (struct lines){.items = malloc(count * sizeof(*ret->items))};
    while (ret->items && *text) {
        size_t length = strcspn(text, "\n");

        ret->items[ret->count++] = (struct line){text, length};
        ret->is_unended = text[length] == '\0';
        text += length + (text[length] == '\n');
    }
    return ret->items ? 0 : -1;
}

static int is_same(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
    const struct line *one = &a->items[i], *other = &b->items[j];
    int one_unended = a->is_unended && i + 1 == a->count, other_unended = b->is_unended && j + 1 == b->count;

    return one->length == other->length && one_unended == other_unended &&
           memcmp(one->text, other->text, one->length) == 0;
}

/* Steps of the middles a[head..a_end), b[head..b_end), removals before additions; their number.  -1: no memory. */
static long compare_middles(const struct lines *a, size_t a_end, const struct lines *b, size_t b_end,
                            size_t head, struct step *steps)
{
    size_t n = a_end - head, m = b_end - head, i = 0, j = 0, width = m + 1;
    long count = 0;
    int is_compared = n && m && n <= CELL_LIMIT / m;
    /* longest[i * width + j]: common lines of a[i..] and b[j..] */
    uint16_t *longest = is_compared ? calloc((n + 1) * width, sizeof(*longest)) : NULL;

    if (is_compared && !longest)
        return -1;
    for (size_t row = longest ? n : 0; row-- > 0;) {
        for (size_t at = m; at-- > 0;) {
            uint16_t below = longest[(row + 1) * width + at], right = longest[row * width + at + 1];

            longest[row * width + at] = is_same(a, head + row, b, head + at)
                                            ? (uint16_t)(longest[(row + 1) * width + at + 1] + 1)
                                        : below >= right ? below
                                                         : right;
        }
    }
    while (i < n || j < m) {
        struct step step = {'-', head + i, head + j};

        if (longest && i < n && j < m && is_same(a, head + i, b, head + j)) {
            step.mark = ' ';
            i++;
            j++;
        } else if (i < n &&
                   (!longest || j == m || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
            i++;
        } else {
            step.mark = '+';
            j++;
        }
        steps[count++] = step;
    }
    free(longest);
    return count;
}

static void put_line(const struct lines *lines, size_t index, char mark, struct atoll_buffer *out)
{
    atoll_buffer_put_u8(out, (uint8_t)mark);
    atoll_buffer_put_bytes(out, lines->items[index].text, lines->items[index].length);
    atoll_buffer_put_u8(out, '\n');
    if (lines->is_unended && index + 1 == lines->count)
        atoll_buffer_printf(out, "\\ No newline at end of file\n");
}

/* Steps first..end-1 are one hunk. */
static void put_hunk(const struct lines *a, const struct lines *b, const struct step *steps, size_t first,
                     size_t end, struct atoll_buffer *out)
{
    size_t a_count = 0, b_count = 0;

    for (size_t i = first; i < end; i++) {
        a_count += steps[i].mark != '+';
        b_count += steps[i].mark != '-';
    }
    /* A hunk without lines of one text names the line before it. */
    atoll_buffer_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", steps[first].a + (a_count > 0), a_count,
                        steps[first].b + (b_count > 0), b_count);
    for (size_t i = first; i < end; i++)
        put_line(steps[i].mark == '+' ? b : a, steps[i].mark == '+' ? steps[i].b : steps[i].a, steps[i].mark,
                 out);
}

int atoll_line_diff(const char *a_name, const char *a_text, const char *b_name, const char *b_text,
                    size_t context, struct atoll_buffer *out, struct atoll_err *err)
{
    struct lines a = {0}, b = {0};
    struct step *steps = NULL;
    size_t head = 0, a_end, b_end, count = 0;
    long compared;
    int status = -1;

    if (split(a_text, &a) != 0 || split(b_text, &b) != 0 ||
        !(steps = malloc((a.count + b.count + 1) * sizeof(*steps)))) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to compare %s with %s", a_name, b_name);
        goto done;
    }
    for (; head < a.count && head < b.count && is_same(&a, head, &b, head); head++)
        steps[count++] = (struct step){' ', head, head};
    a_end = a.count;
    b_end = b.count;
    while (a_end > head && b_end > head && is_same(&a, a_end - 1, &b, b_end - 1)) {
        a_end--;
        b_end--;
    }
    status = a_end > head || b_end > head;
    if (status == 0)
        goto done;
    compared = compare_middles(&a, a_end, &b, b_end, head, steps + count);
    if (compared < 0) {
        status = atoll_err_set(err, ATOLL_E_MEMORY, "no memory to compare %s with %s", a_name, b_name);
        goto done;
    }
    count += (size_t)compared;
    for (; a_end < a.count; a_end++, b_end++)
        steps[count++] = (struct step){' ', a_end, b_end};
    atoll_buffer_printf(out, "--- %s\n+++ %s\n", a_name, b_name);
    for (size_t at = 0; at < count;) {
        size_t first, last; /* changed steps of the hunk */

        while (at < count && steps[at].mark == ' ')
            at++;
        if (at == count)
            break;
        first = last = at;
        for (; at < count && at <= last + 2 * context + 1; at++)
            last = steps[at].mark == ' ' ? last : at;
        at = last + 1;
        put_hunk(&a, &b, steps, first > context ? first - context : 0,
                 count - at > context ? at + context : count, out);
    }
    status = atoll_buffer_check(out, err) == 0 ? 1 : -1;
done:
    free(a.items);
    free(b.items);
    free(steps);
    return status;
}

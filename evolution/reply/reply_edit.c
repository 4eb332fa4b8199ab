/* reply_edit.c - SEARCH/REPLACE edits.  A SEARCH text is looked for line by line: exactly, then with blanks at ends of
 * lines ignored, then with one indentation added or removed, then, where it is one line, inside of a line.  The first way
 * that finds anything decides, and has to find it once. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/plan/plan.h"
#include "evolution/reply/reply_text.h"

#define ROOM_BYTES ((size_t)4 * ATOLL_SOURCE_LIMIT) /* of a kernel between two edits */
#define WORK_LIMIT 20000000 /* compared lines per reply: nobody writes such an edit by hand */

struct edit {
    struct atoll_reply_span search, replace; /* whole lines */
};

enum mark { MARK_NONE, MARK_SEARCH, MARK_DIVIDER, MARK_REPLACE };

static enum mark mark_of(struct atoll_reply_span line)
{
    static const struct {
        char sign;
        const char *words[2];
        int bare; /* the word may be missing */
        enum mark mark;
    } marks[] = {{'<', {"SEARCH", "ORIGINAL"}, 0, MARK_SEARCH},
                 {'=', {"", ""}, 1, MARK_DIVIDER},
                 {'>', {"REPLACE", "UPDATED"}, 1, MARK_REPLACE}};
    line = atoll_reply_trim(line);
    for (size_t i = 0; i < 3; i++) {
        size_t count = 0;
        while (count < line.length && line.text[count] == marks[i].sign)
            count++;
        if (count < 5 || count > 9)
            continue;
        struct atoll_reply_span word =
            atoll_reply_trim((struct atoll_reply_span){line.text + count, line.length - count});
        if (word.length == 0)
            return marks[i].bare ? marks[i].mark : MARK_NONE;
        for (size_t w = 0; w < 2; w++) {
            size_t n = strlen(marks[i].words[w]);
            if (n && word.length >= n && word.length <= n + 2 &&
                strncasecmp(word.text, marks[i].words[w], n) == 0) {
                return marks[i].mark;
            }
        }
    }
    return MARK_NONE;
}

int atoll_reply_has_edits(struct atoll_reply_span text)
{
    struct atoll_reply_span line;
    size_t at = 0;
    while (atoll_reply_line(text, &at, &line))
        if (mark_of(line) == MARK_SEARCH)
            return 1;
    return 0;
}

/* Lines from byte begin to the line that begins at end, without a fence around them. */
static struct atoll_reply_span lines_between(struct atoll_reply_span text, size_t begin, const char *end)
{
    struct atoll_reply_span part = {text.text + begin, (size_t)(end - text.text) - begin}, first, last;
    size_t at = 0, cut;
    if (!atoll_reply_line(part, &at, &first) || at >= part.length || first.length < 3 ||
        memcmp(first.text, "```", 3) != 0) {
        return part;
    }
    cut = part.length - 1;
    while (cut > 0 && part.text[cut - 1] != '\n')
        cut--;
    last = atoll_reply_trim((struct atoll_reply_span){part.text + cut, part.length - cut});
    if (cut < at || last.length != 3 || memcmp(last.text, "```", 3) != 0)
        return part;
    return (struct atoll_reply_span){part.text + at, cut - at};
}

/* The edits of text in order; returns how many, or -1 with a sentence in ret_why. */
static int read_edits(struct atoll_reply_span text, struct edit *ret_edits, char *ret_why, size_t why_bytes)
{
    struct atoll_reply_span line;
    enum mark state = MARK_REPLACE; /* the last mark that was seen */
    size_t at = 0, begin = 0;
    int count = 0;
    while (atoll_reply_line(text, &at, &line)) {
        enum mark m = mark_of(line);
        if (m == MARK_SEARCH && state != MARK_REPLACE)
            break;
        if (m == MARK_SEARCH && count == ATOLL_REPLY_EDIT_LIMIT) {
            snprintf(ret_why, why_bytes, "there are more than %d edits; write the whole kernel",
                     ATOLL_REPLY_EDIT_LIMIT);
            return -1;
        }
        if (m == MARK_NONE || (m == MARK_DIVIDER && state != MARK_SEARCH) ||
            (m == MARK_REPLACE && state != MARK_DIVIDER)) {
            continue;
        }
        if (m == MARK_DIVIDER)
            ret_edits[count].search = lines_between(text, begin, line.text);
        if (m == MARK_REPLACE)
            ret_edits[count++].replace = lines_between(text, begin, line.text);
        state = m;
        begin = at;
    }
    if (state == MARK_REPLACE)
        return count;
    snprintf(ret_why, why_bytes, "edit %d: it has no %s; was the answer cut off?", count + 1,
             state == MARK_SEARCH ? "'=======' behind its SEARCH text" : "'>>>>>>> REPLACE' at its end");
    return -1;
}

/* ---- finding ---- */

enum way { EXACTLY, BUT_FOR_ENDS, BUT_FOR_INDENT, WAY_COUNT };

struct match {
    size_t begin, end;           /* bytes of the source */
    long shift;                  /* bytes of indentation that the source has more than the edit */
    struct atoll_reply_span add; /* that indentation, shift > 0 */
};

static size_t indent_of(struct atoll_reply_span line)
{
    size_t n = 0;
    while (n < line.length && strchr(" \t", line.text[n]))
        n++;
    return n;
}

static struct atoll_reply_span without_end(struct atoll_reply_span line)
{
    while (line.length && strchr(" \t", line.text[line.length - 1]))
        line.length--;
    return line;
}

static int same(struct atoll_reply_span a, struct atoll_reply_span b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* One line of the source against one of the edit; m->shift is set by the first line that is not empty. */
static int lines_match(struct atoll_reply_span from, struct atoll_reply_span search, enum way way, int *known,
                       struct match *m)
{
    if (way == EXACTLY)
        return same(from, search);
    from = without_end(from);
    search = without_end(search);
    if (way == BUT_FOR_ENDS || from.length == 0 || search.length == 0)
        return same(from, search);
    size_t a = indent_of(from), b = indent_of(search);
    if (!*known) {
        *known = 1;
        m->shift = (long)a - (long)b;
        m->add = (struct atoll_reply_span){from.text, a > b ? a - b : 0};
    }
    from.text += a, from.length -= a;
    search.text += b, search.length -= b;
    return (long)a - (long)b == m->shift && same(from, search);
}

static int matches_at(struct atoll_reply_span source, size_t at, struct atoll_reply_span search, enum way way,
                      size_t *work, struct match *m)
{
    struct atoll_reply_span line, wanted;
    size_t from = 0;
    int known = 0;
    m->begin = at;
    m->shift = 0;
    m->add.length = 0;
    while (atoll_reply_line(search, &from, &wanted)) {
        if (++*work > WORK_LIMIT || !atoll_reply_line(source, &at, &line) ||
            !lines_match(line, wanted, way, &known, m)) {
            return 0;
        }
    }
    m->end = at < source.length ? at : source.length;
    return 1;
}

/* How often search is found, counted up to 2. */
static int count_lines(struct atoll_reply_span source, struct atoll_reply_span search, enum way way,
                       size_t *work, struct match *ret_match)
{
    struct atoll_reply_span line;
    struct match m;
    size_t at = 0, begin = 0;
    int count = 0;
    for (; count < 2 && *work <= WORK_LIMIT && atoll_reply_line(source, &at, &line); begin = at) {
        if (matches_at(source, begin, search, way, work, &m)) {
            *ret_match = m;
            count++;
        }
    }
    return count;
}

static int count_inside(struct atoll_reply_span source, struct atoll_reply_span search,
                        struct match *ret_match)
{
    search = atoll_reply_trim(search);
    if (search.length == 0 || memchr(search.text, '\n', search.length))
        return 0;
    const char *found = memmem(source.text, source.length, search.text, search.length);
    if (!found)
        return 0;
    size_t begin = (size_t)(found - source.text), after = begin + search.length;
    *ret_match = (struct match){.begin = begin, .end = after};
    return memmem(source.text + after, source.length - after, search.text, search.length) ? 2 : 1;
}

static struct atoll_reply_span without_blank_lines(struct atoll_reply_span text)
{
    struct atoll_reply_span line;
    size_t at = 0, begin = 0;
    while (atoll_reply_line(text, &at, &line) && without_end(line).length == 0)
        begin = at;
    begin = begin < text.length ? begin : text.length;
    text.text += begin, text.length -= begin;
    struct atoll_reply_span kept = atoll_reply_trim(text);
    text.length = (size_t)(kept.text - text.text) + kept.length;
    return text;
}

static int find(struct atoll_reply_span source, const struct edit *e, size_t *work, struct match *ret_match,
                int *ret_inside)
{
    *ret_inside = 0;
    for (enum way way = EXACTLY; way < WAY_COUNT; way++) {
        int count = count_lines(source, way == EXACTLY ? e->search : without_blank_lines(e->search), way,
                                work, ret_match);
        if (count)
            return count;
    }
    *ret_inside = 1;
    return count_inside(source, e->search, ret_match);
}

/* ---- replacing ---- */

/* The edit's lines with the source's indentation; room for shift more bytes per line. */
static size_t put_shifted(struct atoll_reply_span replace, const struct match *m, char *to)
{
    struct atoll_reply_span line;
    size_t at = 0, used = 0;
    while (atoll_reply_line(replace, &at, &line)) {
        size_t indent = indent_of(line), less = m->shift < 0 ? (size_t)-m->shift : 0;
        less = less < indent ? less : indent;
        if (without_end(line).length) {
            memcpy(to + used, m->add.text ? m->add.text : "", m->add.length);
            used += m->add.length;
        }
        memcpy(to + used, line.text + less, line.length - less);
        used += line.length - less;
        to[used++] = '\n';
    }
    return used;
}

/* Into room, which has ROOM_BYTES; -1 when it is not enough. */
static int replace(const struct edit *e, const struct match *m, int inside, char *room,
                   struct atoll_reply_span *source)
{
    struct atoll_reply_span with = inside ? atoll_reply_trim(e->replace) : e->replace;
    struct atoll_reply_span line;
    size_t used = m->begin, lines = 0;
    for (size_t at = 0; atoll_reply_line(with, &at, &line);)
        lines++;
    if (m->add.length > ROOM_BYTES / (lines + 1) ||
        source->length + with.length + (m->add.length + 1) * lines >= ROOM_BYTES) {
        return -1;
    }
    memcpy(room, source->text, m->begin);
    if (inside) {
        memcpy(room + used, with.text, with.length);
        used += with.length;
    } else {
        used += put_shifted(with, m, room + used);
    }
    memcpy(room + used, source->text + m->end, source->length - m->end);
    used += source->length - m->end;
    room[used] = 0;
    *source = (struct atoll_reply_span){room, used};
    return 0;
}

/* 0, or -1 with a sentence in ret_why. */
static int apply(const struct edit *e, int number, char *room, struct atoll_reply_span *source, size_t *work,
                 char *ret_why, size_t why_bytes)
{
    struct match m = {0};
    int inside = 0, count = atoll_reply_trim(e->search).length ? find(*source, e, work, &m, &inside) : -1;
    const char *why = "the kernel grows too long";
    if (count < 0)
        why = "its SEARCH text is empty; give the lines that are replaced";
    else if (*work > WORK_LIMIT)
        why = "the edits are too long; write the whole kernel";
    else if (count == 0)
        why = "its SEARCH text is not in the kernel; copy its lines exactly";
    else if (count > 1)
        why = "its SEARCH text is in the kernel more than once; add lines around it";
    else if (replace(e, &m, inside, room, source) == 0)
        return 0;
    snprintf(ret_why, why_bytes, "edit %d: %s", number, why);
    return -1;
}

const char *atoll_reply_apply(struct atoll_arena *arena, struct atoll_reply_span text, const char *source,
                              char *ret_why, size_t why_bytes, struct atoll_err *err)
{
    struct edit *edits = atoll_arena_alloc_array(arena, ATOLL_REPLY_EDIT_LIMIT + 1, sizeof(*edits), err);
    char *room = edits ? atoll_arena_alloc(arena, 2 * ROOM_BYTES, err) : NULL;
    struct atoll_reply_span now = {source, strlen(source)};
    size_t work = 0;
    ret_why[0] = 0;
    int count = room ? read_edits(text, edits, ret_why, why_bytes) : -1;
    if (count < 0)
        return NULL;
    for (int i = 0; i < count; i++)
        if (apply(&edits[i], i + 1, room + (i % 2 ? ROOM_BYTES : 0), &now, &work, ret_why, why_bytes) != 0)
            return NULL;
    return now.text;
}

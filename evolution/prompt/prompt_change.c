/* prompt_change.c - diffs of sources, and excerpts of them.  A compiler's line numbers count a text that has been put together,
 * so the lines it quotes are looked for by what stands in them. */
#include "evolution/prompt/prompt_change.h"

#include <string.h>

#include "base/line_diff.h"

#define CONTEXT       2                   /* equal lines around a hunk */
#define DIFF_BYTES    ((size_t)768 << 10) /* two sources at most, and their marks */
#define CELL_LIMIT    ((size_t)1 << 21)   /* lines of one times lines of the other: some milliseconds */
#define EXCERPTS      3
#define AROUND        4 /* lines before and behind a quoted one */
#define EXCERPT_BYTES 4000
#define QUOTED_LEAST  6 /* characters of a line that says where it is */

/* Whether the parts in which they differ are so long that comparing them line by line would hold up whoever waits for prompts. */
static int is_too_long(const char *from, const char *to)
{
    size_t head = 0, from_end = strlen(from), to_end = strlen(to), n = 0, m = 0;
    while (from[head] && from[head] == to[head])
        head++;
    while (from_end > head && to_end > head && from[from_end - 1] == to[to_end - 1])
        from_end--, to_end--;
    for (size_t i = head; i < from_end; i++)
        n += from[i] == '\n';
    for (size_t i = head; i < to_end; i++)
        m += to[i] == '\n';
    return n > 0 && m > CELL_LIMIT / n;
}

/* The hunks, without the names in front; 0: there is no difference that can be shown. */
static int make_diff(struct atoll_prompt_text *t, const char *from, const char *to, struct atoll_buffer *out,
                     const char **ret_text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(out, DIFF_BYTES);
    if (is_too_long(from, to))
        return 0;
    int rc = atoll_line_diff("a", from, "b", to, CONTEXT, out, &err);
    atoll_buffer_put_u8(out, 0);
    if ((rc < 0 && err.code == ATOLL_E_MEMORY) || out->failed == ATOLL_E_MEMORY)
        t->text.failed = ATOLL_E_MEMORY;
    if (rc <= 0 || out->failed)
        return 0;
    const char *text = (const char *)out->data, *hunks = strstr(text, "@@");
    *ret_text = hunks ? hunks : text;
    return 1;
}

int atoll_prompt_put_diff(struct atoll_prompt_text *t, const char *from, const char *to, size_t cap)
{
    struct atoll_buffer out;
    const char *diff;
    int is_short = make_diff(t, from, to, &out, &diff) && strlen(diff) < strlen(to) / 4 * 3;
    if (is_short)
        atoll_prompt_put_code(t, "diff", diff, cap);
    atoll_buffer_fini(&out);
    return is_short;
}

void atoll_prompt_put_change(struct atoll_prompt_text *t, const char *language, const char *from,
                             const char *to, size_t cap)
{
    if (!from) {
        atoll_prompt_put_code(t, language, to, cap);
        return;
    }
    if (strcmp(from, to) == 0) {
        atoll_prompt_put(t, "The same source, with other params.\n");
        return;
    }
    if (!atoll_prompt_put_diff(t, from, to, cap))
        atoll_prompt_put_code(t, language, to, cap);
}

static int has_words(const char *line, size_t length)
{
    size_t words = 0;
    for (size_t i = 0; i < length; i++)
        words += (line[i] | 0x20) >= 'a' && (line[i] | 0x20) <= 'z';
    return words >= 3;
}

void atoll_prompt_put_change_line(struct atoll_prompt_text *t, const char *from, const char *to)
{
    struct atoll_buffer out;
    const char *diff;
    size_t added = 0, removed = 0, length = 0;
    const char *first = NULL;
    if (!from || !make_diff(t, from, to, &out, &diff)) {
        if (from)
            atoll_buffer_fini(&out);
        return;
    }
    for (const char *line = diff; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t bytes = strcspn(line, "\n");
        added += *line == '+';
        removed += *line == '-';
        if (*line == '+' && !first && has_words(line + 1, bytes - 1)) {
            first = line + 1;
            length = bytes - 1;
        }
    }
    atoll_prompt_put(t, "  %zu lines new, %zu gone%s\n", added, removed,
                     first ? "; the first new one:" : ".");
    if (first) {
        char text[160];
        while (length && strchr(" \t", *first))
            first++, length--;
        length = length < sizeof(text) ? length : sizeof(text) - 1;
        memcpy(text, first, length);
        text[length] = '\0';
        atoll_prompt_put_quote(t, text, 0);
    }
    atoll_buffer_fini(&out);
}

/* ---- lines that a compiler quotes ---- */

struct line {
    const char *text;
    size_t length;
};

static struct line trimmed(const char *text, size_t length)
{
    while (length && strchr(" \t\r", text[0]))
        text++, length--;
    while (length && strchr(" \t\r", text[length - 1]))
        length--;
    return (struct line){text, length};
}

/* gcc's "   12 |     foo = 1;" without what stands before the bar. */
static struct line quoted(const char *text, size_t length)
{
    size_t i = strspn(text, " 0123456789");
    if (i > 0 && i + 1 < length && text[i] == '|')
        return trimmed(text + i + 1, length - i - 1);
    return trimmed(text, length);
}

static size_t find_line(const struct line *lines, size_t count, struct line wanted)
{
    size_t i = 0;
    while (i < count &&
           (lines[i].length != wanted.length || memcmp(lines[i].text, wanted.text, wanted.length) != 0))
        i++;
    return i;
}

#define LINE_LIMIT 8192 /* of a source; what follows is not looked at */

static void put_excerpt(struct atoll_prompt_text *t, const char *language, const struct line *lines,
                        size_t count, size_t at)
{
    struct atoll_buffer out;
    size_t begin = at > AROUND ? at - AROUND : 0, end = at + AROUND + 1 < count ? at + AROUND + 1 : count;
    atoll_buffer_init(&out, (size_t)1 << 20);
    for (size_t i = begin; i < end; i++) {
        const char *from = lines[i].text;
        while (i > 0 && from[-1] != '\n') /* its indentation */
            from--;
        atoll_buffer_put_bytes(&out, from, (size_t)(lines[i].text - from) + lines[i].length);
        atoll_buffer_put_bytes(&out, "\n", 1);
    }
    atoll_buffer_put_u8(&out, 0);
    if (!out.failed)
        atoll_prompt_put_code(t, language, (const char *)out.data, EXCERPT_BYTES);
    else if (out.failed == ATOLL_E_MEMORY)
        t->text.failed = ATOLL_E_MEMORY;
    atoll_buffer_fini(&out);
}

int atoll_prompt_put_quoted_lines(struct atoll_prompt_text *t, const char *language, const char *source,
                                  const char *message)
{
    static const size_t none = (size_t)-1;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t count = 0, found = 0, shown[EXCERPTS] = {none, none, none};
    struct atoll_arena *arena = atoll_arena_create(LINE_LIMIT * sizeof(struct line) + 4096, &err);
    struct line *lines = arena ? atoll_arena_alloc_array(arena, LINE_LIMIT, sizeof(*lines), &err) : NULL;
    if (!lines)
        t->text.failed = ATOLL_E_MEMORY;
    for (const char *at = source; lines && *at && count < LINE_LIMIT; at += *at == '\n') {
        size_t bytes = strcspn(at, "\n");
        lines[count++] = trimmed(at, bytes);
        at += bytes;
    }
    for (const char *at = message; lines && *at && found < EXCERPTS; at += *at == '\n') {
        size_t bytes = strcspn(at, "\n");
        struct line wanted = quoted(at, bytes);
        size_t line = wanted.length >= QUOTED_LEAST ? find_line(lines, count, wanted) : count;
        int is_near = 0;
        at += bytes;
        for (size_t i = 0; i < found; i++)
            is_near |= line < shown[i] + AROUND && shown[i] < line + AROUND;
        if (line == count || is_near)
            continue;
        atoll_prompt_put(t, found ? "...\n" : "\nWhere it says so:\n\n");
        put_excerpt(t, language, lines, count, line);
        shown[found++] = line;
    }
    atoll_arena_destroy(arena);
    return found > 0;
}

/* reply_text.c - bytes to text: ends of lines, broken characters, thoughts; then prose and fenced blocks as people write
 * them rather than as a standard has them: a fence with an info word inside of an open block begins a new one (somebody
 * forgot to close it); a fence around prose or around other fences is looked through. */
#include "evolution/reply/reply_text.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

int atoll_reply_line(struct atoll_reply_span text, size_t *at, struct atoll_reply_span *ret_line)
{
    if (*at >= text.length)
        return 0;
    const char *begin = text.text + *at, *end = memchr(begin, '\n', text.length - *at);
    ret_line->text = begin;
    ret_line->length = end ? (size_t)(end - begin) : text.length - *at;
    *at += ret_line->length + 1;
    return 1;
}

struct atoll_reply_span atoll_reply_trim(struct atoll_reply_span span)
{
    while (span.length && strchr(" \t\n", span.text[0]))
        span.text++, span.length--;
    while (span.length && strchr(" \t\n", span.text[span.length - 1]))
        span.length--;
    return span;
}

size_t atoll_reply_find(struct atoll_reply_span span, const char *part)
{
    const char *found = span.length ? memmem(span.text, span.length, part, strlen(part)) : NULL;
    return found ? (size_t)(found - span.text) : span.length;
}

static size_t copy_text(const unsigned char *from, size_t length, char *to)
{
    size_t used = 0, at = length >= 3 && memcmp(from, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < length) {
        size_t n = atoll_utf8_character_bytes(from + at, length - at);
        if (from[at] == '\r') {
            if (at + 1 == length || from[at + 1] != '\n')
                to[used++] = '\n';
        } else if (n == 0 || (from[at] < ' ' && from[at] != '\n' && from[at] != '\t') || from[at] == 0x7f) {
            to[used++] = '?';
        } else {
            memcpy(to + used, from + at, n);
            used += n;
        }
        at += n ? n : 1;
    }
    return used;
}

/* ---- thoughts ---- */

static const char *const thoughts[] = {"think", "thinking", "thought", "reasoning"};

/* "<think>" or "</think>" at the beginning of a line (its blanks skipped), NULL: another line.  ret_after: what follows. */
static const char *thought_tag(struct atoll_reply_span line, int is_end, struct atoll_reply_span *ret_after)
{
    line = atoll_reply_trim(line);
    size_t open = is_end ? 2 : 1;
    if (line.length < open || memcmp(line.text, "</", open) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(thoughts) / sizeof(*thoughts); i++) {
        size_t n = strlen(thoughts[i]);
        if (line.length > open + n && memcmp(line.text + open, thoughts[i], n) == 0 &&
            line.text[open + n] == '>') {
            ret_after->text = line.text + open + n + 1;
            ret_after->length = line.length - open - n - 1;
            return thoughts[i];
        }
    }
    return NULL;
}

/* An end tag that nothing began: servers keep the beginning in their template, so all before it is thought. */
static size_t stray_end(struct atoll_reply_span text)
{
    size_t at = 0, end = 0;
    struct atoll_reply_span line, after;
    while (atoll_reply_line(text, &at, &line)) {
        if (thought_tag(line, 0, &after))
            return end;
        if (thought_tag(line, 1, &after))
            end = (size_t)(after.text - text.text);
    }
    return end;
}

/* In place; returns the new length. */
static size_t drop_thoughts(char *text, size_t length)
{
    struct atoll_reply_span all = {text, length}, line, after;
    size_t used = 0, at = stray_end(all), begin = at;
    while (atoll_reply_line(all, &at, &line)) {
        const char *name = thought_tag(line, 0, &after);
        if (name) {
            struct atoll_reply_span rest = {after.text, length - (size_t)(after.text - text)};
            char tag[16];
            snprintf(tag, sizeof(tag), "</%s>", name);
            size_t end = atoll_reply_find(rest, tag);
            at = (size_t)(after.text - text) + (end < rest.length ? end + strlen(tag) : rest.length);
        } else {
            size_t end = at < length ? at : length;
            memmove(text + used, text + begin, end - begin);
            used += end - begin;
        }
        begin = at;
    }
    return used;
}

int atoll_reply_clean(struct atoll_arena *arena, const char *text, size_t length,
                      struct atoll_reply_span *ret_text, struct atoll_err *err)
{
    char *copy = atoll_arena_alloc(arena, length + 1, err);
    if (!copy)
        return -1;
    size_t used = drop_thoughts(copy, copy_text((const unsigned char *)text, length, copy));
    copy[used] = 0;
    ret_text->text = copy;
    ret_text->length = used;
    return 0;
}

struct fence {
    char sign; /* '`' or '~', 0: the line is none */
    size_t count;
    struct atoll_reply_span info;
};

static struct fence fence_of(struct atoll_reply_span line)
{
    struct fence f = {0};
    line = atoll_reply_trim(line);
    if (!line.length || (line.text[0] != '`' && line.text[0] != '~'))
        return f;
    while (f.count < line.length && line.text[f.count] == line.text[0])
        f.count++;
    if (f.count < 3)
        return f;
    f.info = atoll_reply_trim((struct atoll_reply_span){line.text + f.count, line.length - f.count});
    if (memchr(f.info.text, '`', f.info.length))
        return f; /* code inside of a line */
    f.sign = line.text[0];
    return f;
}

struct reader {
    struct atoll_reply_span text;
    struct atoll_reply_block *blocks;
    size_t count;
    struct fence open;    /* sign 0: prose */
    struct fence wrapper; /* of prose or of nothing, with fences inside; sign 0: none */
};

static int closes(const struct fence *f, const struct fence *open)
{
    return open->sign == f->sign && f->info.length == 0 && f->count >= open->count;
}

/* Ends the current block at byte `end` of the text; the next one begins at `begin`. */
static void cut(struct reader *r, size_t end, size_t begin, int is_open)
{
    struct atoll_reply_block *b = &r->blocks[r->count];
    size_t first = (size_t)(b->text.text - r->text.text);
    b->text.length = end > first ? end - first : 0;
    b->kind = r->open.sign ? ATOLL_REPLY_FENCED : ATOLL_REPLY_PROSE;
    b->info = r->open.info;
    b->is_open = is_open;
    if (b->text.length)
        r->count++;
    if (r->count < ATOLL_REPLY_BLOCK_LIMIT)
        r->blocks[r->count].text.text = r->text.text + (begin < r->text.length ? begin : r->text.length);
}

static const char *const wrappers[] = {"markdown", "md", "text", "txt"};

size_t atoll_reply_blocks(struct atoll_reply_span text, struct atoll_reply_block *ret_blocks)
{
    struct reader r = {.text = text, .blocks = ret_blocks};
    struct atoll_reply_span line;
    size_t at = 0;
    r.blocks[0].text.text = text.text;
    while (r.count < ATOLL_REPLY_BLOCK_LIMIT && atoll_reply_line(text, &at, &line)) {
        struct fence f = fence_of(line);
        size_t begin = (size_t)(line.text - text.text);
        if (!f.sign)
            continue;
        if (!r.open.sign && closes(&f, &r.wrapper)) {
            cut(&r, begin, at, 0);
            r.wrapper.sign = 0;
        } else if (!r.open.sign) {
            cut(&r, begin, at, 0);
            int is_wrapper = 0;
            for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++) {
                is_wrapper |= f.info.length == strlen(wrappers[i]) &&
                              memcmp(f.info.text, wrappers[i], f.info.length) == 0;
            }
            *(is_wrapper ? &r.wrapper : &r.open) = f;
        } else if (closes(&f, &r.open)) {
            cut(&r, begin, at, 0);
            r.open.sign = 0;
            r.open.info.length = 0;
        } else if (f.info.length && f.sign == r.open.sign &&
                   (f.count == r.open.count || !r.open.info.length)) {
            cut(&r, begin, at, 1);
            if (f.count < r.open.count)
                r.wrapper = r.open;
            r.open = f;
        }
    }
    if (r.count < ATOLL_REPLY_BLOCK_LIMIT)
        cut(&r, text.length, text.length, r.open.sign != 0);
    return r.count;
}

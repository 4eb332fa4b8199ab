/* reply_clean.c - bytes to text: ends of lines, broken characters, thoughts. */
#include <stdio.h>
#include <string.h>

#include "evolution/reply/reply_part.h"

int atoll_answer_line(struct atoll_answer_span text, size_t *at, struct atoll_answer_span *ret_line)
{
    if (*at >= text.length)
        return 0;
    const char *begin = text.text + *at, *end = memchr(begin, '\n', text.length - *at);
    ret_line->text = begin;
    ret_line->length = end ? (size_t)(end - begin) : text.length - *at;
    *at += ret_line->length + 1;
    return 1;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

struct atoll_answer_span atoll_answer_trim(struct atoll_answer_span span)
{
    while (span.length && is_blank(span.text[0]))
        span.text++, span.length--;
    while (span.length && is_blank(span.text[span.length - 1]))
        span.length--;
    return span;
}

size_t atoll_answer_find(struct atoll_answer_span span, const char *part)
{
    const char *found = span.length ? memmem(span.text, span.length, part, strlen(part)) : NULL;
    return found ? (size_t)(found - span.text) : span.length;
}

/* Bytes of the UTF-8 character at text, 0 when it is broken. */
static size_t character_bytes(const unsigned char *text, size_t left)
{
    size_t n = text[0] < 0x80                      ? 1
               : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
               : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
               : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                                                   : 0;
    if (n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    int odd = n > 2 && ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
                        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f));
    return odd ? 0 : n;
}

static size_t copy_text(const unsigned char *from, size_t length, char *to)
{
    size_t used = 0, at = length >= 3 && memcmp(from, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < length) {
        size_t n = character_bytes(from + at, length - at);
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
static const char *thought_tag(struct atoll_answer_span line, int is_end, struct atoll_answer_span *ret_after)
{
    line = atoll_answer_trim(line);
    size_t open = is_end ? 2 : 1;
    if (line.length < open || memcmp(line.text, "</", open) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof thoughts / sizeof *thoughts; i++) {
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

/* Where the thought ends that text is inside of: behind its end tag; the text's length without one. */
static size_t thought_end(struct atoll_answer_span text, const char *name)
{
    char tag[16];
    snprintf(tag, sizeof tag, "</%s>", name);
    size_t at = atoll_answer_find(text, tag);
    return at < text.length ? at + strlen(tag) : text.length;
}

/* An end tag that nothing began: servers keep the beginning in their template, so all before it is thought. */
static size_t stray_end(struct atoll_answer_span text)
{
    size_t at = 0, end = 0;
    struct atoll_answer_span line, after;
    while (atoll_answer_line(text, &at, &line)) {
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
    struct atoll_answer_span all = {text, length}, line, after;
    size_t used = 0, at = stray_end(all), begin = at;
    while (atoll_answer_line(all, &at, &line)) {
        const char *name = thought_tag(line, 0, &after);
        if (name) {
            struct atoll_answer_span rest = {after.text, length - (size_t)(after.text - text)};
            at = (size_t)(after.text - text) + thought_end(rest, name);
        } else {
            size_t end = at < length ? at : length;
            memmove(text + used, text + begin, end - begin);
            used += end - begin;
        }
        begin = at;
    }
    return used;
}

int atoll_answer_clean(struct atoll_arena *arena, const char *text, size_t length,
                       struct atoll_answer_span *ret_text, struct atoll_err *err)
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

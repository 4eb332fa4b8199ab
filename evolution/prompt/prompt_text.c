/* prompt_text.c - the text of a section.  What others wrote is made harmless before it is quoted (EXPLOITS.md, P1); pieces
 * are cut when the section's budget is known: ours stays whole, what is quoted shares the rest, the small ones first, so
 * that one long source cannot push out three short messages. */
#include "evolution/prompt/prompt_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "evolution/prompt/prompt_excerpt.h"

static const char *const markers[] = {"<|",       "<\xef\xbd\x9c",   "</s>",          "[/INST]",
                                      "<</SYS>>", "<start_of_turn>", "<end_of_turn>", "<think>",
                                      "</think>"};

/* Zero-width characters, marks of direction, tags: a reader does not see them. */
static int is_hidden(const unsigned char *text, size_t bytes)
{
    if (bytes == 3 && text[0] == 0xe2) {
        return (text[1] == 0x80 &&
                ((text[2] >= 0x8b && text[2] <= 0x8f) || (text[2] >= 0xa8 && text[2] <= 0xae))) ||
               (text[1] == 0x81 && text[2] >= 0xa0 && text[2] <= 0xaf);
    }
    if (bytes == 3) {
        return text[0] == 0xef &&
               ((text[1] == 0xbb && text[2] == 0xbf) || (text[1] == 0xbf && text[2] >= 0xb0));
    }
    return bytes == 4 && text[0] == 0xf3 && text[1] == 0xa0;
}

/* One character; returns how many bytes of text it was. */
static size_t clean_one(const char *text, struct atoll_buffer *out)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t n = atoll_utf8_character_bytes(at, 4);
    if (at[0] == '\r' && at[1] == '\n')
        return 1;
    if (at[0] == '\r' || at[0] == '\f' || at[0] == '\v') {
        atoll_buffer_put_bytes(out, "\n", 1);
    } else if (n == 0 || (at[0] < ' ' && at[0] != '\n' && at[0] != '\t') || at[0] == 0x7f ||
               is_hidden(at, n) || (n == 2 && at[0] == 0xc2 && at[1] < 0xa0)) {
        atoll_buffer_put_bytes(out, "?", 1);
    } else {
        atoll_buffer_put_bytes(out, text, n);
    }
    int may_mark = *text == '<' || *text == '['; /* as all of them begin */
    for (size_t i = 0; may_mark && i < sizeof(markers) / sizeof(*markers); i++) {
        if (strncmp(text, markers[i], strlen(markers[i])) == 0) {
            atoll_buffer_put_bytes(out, " ", 1); /* behind its first character */
            break;
        }
    }
    return n ? n : 1;
}

static void atoll_prompt_clean(const char *text, struct atoll_buffer *out)
{
    while (*text)
        text += clean_one(text, out);
}

static int is_path_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("._+-~/", c));
}

/* Bytes of the folders of an absolute path that begins here; 0 when none does.  before: the two bytes in front of it,
 * which say "-I" where a compiler's option goes on with a path. */
static size_t folder_bytes(const char *text, const char before[2])
{
    size_t last = 0;
    int is_option = before[0] == '-' && is_path_byte(before[1]);
    if (text[0] != '/' || (is_path_byte(before[1]) && !is_option))
        return 0;
    for (size_t i = 0; is_path_byte(text[i]); i++)
        last = text[i] == '/' && is_path_byte(text[i + 1]) ? i : last;
    return last ? last + 1 : 0;
}

static void atoll_prompt_clean_message(const char *text, struct atoll_buffer *out)
{
    for (char before[2] = {0, 0}; *text;) {
        text += folder_bytes(text, before);
        before[0] = before[1];
        before[1] = *text;
        if (*text)
            text += clean_one(text, out);
    }
}

#define TEXT_LIMIT ((size_t)4 << 20) /* of one section before it is cut */
#define NOTE_BYTES 64                /* of a mark where something was cut */
#define MARK_BYTES 48                /* the same of ranked pieces, which whole ones give back */
#define KEPT_BYTES 900               /* of a line that is never cut */

void atoll_prompt_text_init(struct atoll_prompt_text *t)
{
    memset(t, 0, sizeof(*t));
    atoll_buffer_init(&t->text, TEXT_LIMIT);
}

void atoll_prompt_text_fini(struct atoll_prompt_text *t)
{
    atoll_buffer_fini(&t->text);
}

static struct atoll_prompt_piece *add_piece(struct atoll_prompt_text *t, enum atoll_prompt_cut cut)
{
    struct atoll_prompt_piece *last = t->piece_count ? &t->pieces[t->piece_count - 1] : NULL;
    if (last && cut == ATOLL_PROMPT_KEEP && last->cut == ATOLL_PROMPT_KEEP)
        return last;
    if (t->piece_count == ATOLL_PROMPT_PIECE_LIMIT)
        return NULL;
    last = &t->pieces[t->piece_count++];
    *last = (struct atoll_prompt_piece){
        .begin = t->text.length, .cut = cut, .brief = cut == ATOLL_PROMPT_KEEP ? 0 : t->brief};
    return last;
}

void atoll_prompt_put(struct atoll_prompt_text *t, const char *format, ...)
{
    char text[1024];
    struct atoll_prompt_piece *p = add_piece(t, ATOLL_PROMPT_KEEP);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!p || n < 0)
        return;
    atoll_buffer_put_bytes(&t->text, text, strlen(text));
    p->length = t->text.length - p->begin;
}

/* "| " in front of every line of the piece, which is the text's last. */
static void prefix_lines(struct atoll_prompt_text *t, struct atoll_prompt_piece *p)
{
    struct atoll_buffer lines;
    const char *text = p->length ? (const char *)t->text.data + p->begin : "";
    atoll_buffer_init(&lines, 3 * TEXT_LIMIT);
    for (size_t at = 0; at < p->length;) {
        const char *line = memchr(text + at, '\n', p->length - at);
        size_t stop = line ? (size_t)(line - text) : p->length;
        atoll_buffer_put_bytes(&lines, at ? "\n| " : "| ", at ? 3 : 2);
        atoll_buffer_put_bytes(&lines, text + at, stop - at);
        at = stop + 1;
    }
    t->text.length = p->begin;
    atoll_buffer_put_bytes(&t->text, lines.data, lines.length);
    t->text.failed = t->text.failed ? t->text.failed : lines.failed;
    p->length = t->text.length - p->begin;
    atoll_buffer_fini(&lines);
}

static void put_hostile(struct atoll_prompt_text *t, enum atoll_prompt_cut cut, const char *info,
                        const char *text, size_t cap)
{
    struct atoll_prompt_piece *p = add_piece(t, cut);
    if (!p) {
        t->dropped_bytes += strlen(text);
        return;
    }
    if (cut == ATOLL_PROMPT_MIDDLE || cut == ATOLL_PROMPT_WHOLE)
        atoll_prompt_clean(text, &t->text);
    else
        atoll_prompt_clean_message(text, &t->text);
    p->length = t->text.length - p->begin;
    while (p->length > 0 && strchr("\n ", t->text.data[p->begin + p->length - 1]))
        p->length--;
    t->text.length = p->begin + p->length;
    if (cut == ATOLL_PROMPT_TAIL || cut == ATOLL_PROMPT_RANKED)
        prefix_lines(t, p);
    p->cap = cap;
    snprintf(p->info, sizeof(p->info), "%s", info);
}

void atoll_prompt_put_code(struct atoll_prompt_text *t, const char *language, const char *code, size_t cap)
{
    put_hostile(t, ATOLL_PROMPT_MIDDLE, language, code, cap);
}

void atoll_prompt_put_whole(struct atoll_prompt_text *t, const char *language, const char *code)
{
    put_hostile(t, ATOLL_PROMPT_WHOLE, language, code, 0);
}

void atoll_prompt_put_quote(struct atoll_prompt_text *t, const char *text, size_t cap)
{
    put_hostile(t, ATOLL_PROMPT_TAIL, "", text, cap);
}

void atoll_prompt_put_ranked(struct atoll_prompt_text *t, const char *text, size_t length, size_t cap,
                             unsigned rank)
{
    size_t before = t->piece_count;
    char *copy = strndup(text, length);
    if (!copy)
        t->text.failed = ATOLL_E_MEMORY;
    put_hostile(t, ATOLL_PROMPT_RANKED, "", copy ? copy : "", cap);
    if (t->piece_count > before)
        t->pieces[before].rank = rank;
    free(copy);
}

void atoll_prompt_put_kept(struct atoll_prompt_text *t, const char *line, size_t length)
{
    struct atoll_prompt_piece *p = add_piece(t, ATOLL_PROMPT_KEEP);
    char *text = p ? strndup(line, length < KEPT_BYTES ? length : KEPT_BYTES) : NULL;
    if (!p) {
        t->dropped_bytes += length;
        return;
    }
    if (!text)
        t->text.failed = ATOLL_E_MEMORY;
    atoll_buffer_put_bytes(&t->text, "| ", 2);
    atoll_prompt_clean_message(text ? text : "", &t->text);
    atoll_buffer_put_bytes(&t->text, "\n", 1);
    p->length = t->text.length - p->begin;
    free(text);
}

void atoll_prompt_put_brief(struct atoll_prompt_text *t, const struct atoll_prompt_input *input, size_t index,
                            size_t cap)
{
    char text[2 * ATOLL_BRIEF_TEXT_LIMIT];
    const struct atoll_brief *brief = &input->briefs[index];
    const char *title = brief->title ? brief->title : "", *rest = brief->text ? brief->text : "";
    snprintf(text, sizeof(text), "%s%s%s", title, title[0] && rest[0] ? "\n" : "", rest);
    size_t first = t->piece_count;
    t->brief = index + 1;
    atoll_prompt_put_quote(t, text, cap);
    t->brief = 0;
    if (title[0] && first < t->piece_count) {
        struct atoll_prompt_piece *p = &t->pieces[first];
        const unsigned char *begin = t->text.data + p->begin, *end = memchr(begin, '\n', p->length);
        p->title_bytes = (end ? (size_t)(end - begin) : p->length) + 1;
    }
}

/* ---- quoting ---- */

static const char *text_of(const struct atoll_prompt_text *t, const struct atoll_prompt_piece *p)
{
    return t->text.length ? (const char *)t->text.data + p->begin : "";
}

/* One more than the longest run of backticks, at least three. */
static size_t fence_length(const char *text, size_t length)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < length; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest + 1;
}

/* What quoting adds to a piece that is not cut. */
static size_t frame_bytes(const struct atoll_prompt_text *t, const struct atoll_prompt_piece *p)
{
    if (p->cut == ATOLL_PROMPT_KEEP)
        return 0;
    if (p->cut == ATOLL_PROMPT_TAIL)
        return 1 + NOTE_BYTES;
    if (p->cut == ATOLL_PROMPT_RANKED)
        return 1 + MARK_BYTES;
    return 2 * fence_length(text_of(t, p), p->length) + strlen(p->info) + 3 + NOTE_BYTES;
}

static size_t wish(const struct atoll_prompt_piece *p)
{
    return p->cap && p->length > p->cap ? p->cap : p->length;
}

size_t atoll_prompt_text_bytes(const struct atoll_prompt_text *t)
{
    size_t bytes = 0;
    for (size_t i = 0; i < t->piece_count; i++)
        bytes += wish(&t->pieces[i]) + frame_bytes(t, &t->pieces[i]);
    return bytes;
}

/* What the first path launches (prompt_excerpt.h); of what has no functions two thirds from the beginning, the rest from the end. */
static size_t render_code(const char *text, size_t length, size_t keep, const char *info,
                          struct atoll_buffer *out)
{
    char fence[512];
    size_t ticks = fence_length(text, length), cut = 0;
    ticks = ticks < sizeof(fence) ? ticks : sizeof(fence) - 1;
    memset(fence, '`', ticks);
    fence[ticks] = 0;
    atoll_buffer_printf(out, "%s%s\n", fence, info);
    if (keep >= length) {
        atoll_buffer_put_bytes(out, text, length);
    } else if ((cut = atoll_prompt_excerpt(text, length, keep, out)) > 0) {
        atoll_buffer_printf(out, "%s\n", fence);
        return cut;
    } else {
        size_t head = keep / 3 * 2, tail = length - (keep - head);
        while (head > 0 && text[head - 1] != '\n')
            head--;
        while (tail < length && (tail == 0 || text[tail - 1] != '\n'))
            tail++;
        cut = tail - head;
        atoll_buffer_put_bytes(out, text, head);
        atoll_buffer_printf(out, "/* ... %zu bytes are left out here ... */\n", cut);
        atoll_buffer_put_bytes(out, text + tail, length - tail);
    }
    atoll_buffer_printf(out, "%s%s\n", keep >= length || cut < length ? "\n" : "", fence);
    return cut;
}

static size_t render_quote(const char *text, size_t length, size_t keep, struct atoll_buffer *out)
{
    size_t end = keep < length ? atoll_prompt_sentence_end(text, length, atoll_utf8_cut(text, keep)) : length;
    while (end > 0 && end < length && text[end - 1] == '\n')
        end--;
    if (end == 1) /* half of a mark */
        end = 0;
    atoll_buffer_put_bytes(out, text, end);
    if (end > 0)
        atoll_buffer_put_bytes(out, "\n", 1);
    if (end < length)
        atoll_buffer_printf(out, "| ... (%zu more bytes are left out)\n", length - end);
    return length - end;
}

size_t atoll_prompt_text_fixed_bytes(const struct atoll_prompt_text *t)
{
    size_t bytes = 0;
    for (size_t i = 0; i < t->piece_count; i++)
        bytes +=
            frame_bytes(t, &t->pieces[i]) + (t->pieces[i].cut == ATOLL_PROMPT_KEEP ? t->pieces[i].length : 0);
    return bytes;
}

static int is_shared(const struct atoll_prompt_piece *p)
{
    return p->cut == ATOLL_PROMPT_MIDDLE || p->cut == ATOLL_PROMPT_TAIL;
}

/* What pieces take together with a share each. */
static size_t bytes_of_share(const struct atoll_prompt_text *t, size_t share)
{
    size_t sum = 0;
    for (size_t i = 0; i < t->piece_count; i++) {
        size_t w = is_shared(&t->pieces[i]) ? wish(&t->pieces[i]) : 0;
        sum += w < share ? w : share;
    }
    return sum;
}

/* The largest share per piece with which all of them fit. */
static size_t share_of(const struct atoll_prompt_text *t, size_t room)
{
    size_t low = 0, high = room;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (bytes_of_share(t, middle) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* What ranked pieces lose of themselves, which is all or nothing: the lowest ranks are served first. */
static void serve_ranked(struct atoll_prompt_text *t, size_t room)
{
    unsigned rank = 0, next = 0;
    for (int is_first = 1; is_first || next != rank; is_first = 0) {
        rank = next;
        for (size_t i = 0; i < t->piece_count; i++) {
            struct atoll_prompt_piece *p = &t->pieces[i];
            if (p->cut != ATOLL_PROMPT_RANKED)
                continue;
            if (p->rank > rank && (next == rank || p->rank < next))
                next = p->rank;
            if (p->rank != rank)
                continue;
            p->cut_bytes = p->length <= room + MARK_BYTES ? 0 : p->length;
            if (!p->cut_bytes)
                room = room + MARK_BYTES - p->length;
        }
    }
}

/* What is left out of one brief in a row has one mark, behind its last piece. */
static void render_ranked(const struct atoll_prompt_text *t, size_t at, size_t *left,
                          struct atoll_buffer *out)
{
    const struct atoll_prompt_piece *p = &t->pieces[at], *next = at + 1 < t->piece_count ? p + 1 : NULL;
    *left += p->cut_bytes;
    if (!p->cut_bytes) {
        atoll_buffer_put_bytes(out, text_of(t, p), p->length);
        atoll_buffer_put_bytes(out, "\n", 1);
    }
    if (*left && !(next && next->cut == ATOLL_PROMPT_RANKED && next->brief == p->brief && next->cut_bytes)) {
        atoll_buffer_printf(out, "| ... (%zu bytes are left out)\n", *left);
        *left = 0;
    }
}

size_t atoll_prompt_text_render(struct atoll_prompt_text *t, size_t limit, struct atoll_buffer *out)
{
    size_t fixed = atoll_prompt_text_fixed_bytes(t), cut = t->dropped_bytes,
           room = limit > fixed ? limit - fixed : 0, share = share_of(t, room);
    room -= bytes_of_share(t, share); /* for what is shown whole or not at all */
    size_t left = 0;
    serve_ranked(t, room);
    for (size_t i = 0; i < t->piece_count; i++) {
        struct atoll_prompt_piece *p = &t->pieces[i];
        const char *text = text_of(t, p);
        size_t keep = wish(p) < share ? wish(p) : share;
        p->cut_bytes = p->cut == ATOLL_PROMPT_RANKED ? p->cut_bytes : 0;
        if (p->cut == ATOLL_PROMPT_KEEP) {
            atoll_buffer_put_bytes(out, text, p->length);
        } else if (p->cut == ATOLL_PROMPT_RANKED) {
            render_ranked(t, i, &left, out);
        } else if (p->cut == ATOLL_PROMPT_MIDDLE) {
            p->cut_bytes = render_code(text, p->length, keep, p->info, out);
        } else if (p->cut == ATOLL_PROMPT_TAIL) {
            p->cut_bytes = render_quote(text, p->length, keep, out);
        } else if (p->length <= room) {
            render_code(text, p->length, p->length, p->info, out);
            room -= p->length;
        } else {
            atoll_buffer_printf(out, "(Its source of %zu bytes is left out: no room.)\n", p->length);
            p->cut_bytes = p->length;
        }
        cut += p->cut_bytes;
    }
    return cut;
}

uint32_t atoll_prompt_text_cut_of(const struct atoll_prompt_text *t, size_t brief, size_t bytes)
{
    size_t cut = 0;
    int is_shown = 0;
    for (size_t i = 0; i < t->piece_count; i++) {
        const struct atoll_prompt_piece *p = &t->pieces[i];
        if (p->brief != brief)
            continue;
        cut += p->cut_bytes;
        is_shown |= p->length - p->cut_bytes > p->title_bytes;
    }
    return (uint32_t)(!is_shown ? bytes : cut < bytes ? cut : bytes - 1);
}

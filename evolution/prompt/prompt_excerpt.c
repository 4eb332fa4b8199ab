/* prompt_excerpt.c - blocks of a source (its plan, functions, what stands between them) or hunks of a diff, the most telling ones
 * first.  It reads text as lines: a function ends with a brace in the first column, which is how kernels are written; what
 * does not look so is no function and is cut as any text. */
#include "evolution/prompt/prompt_excerpt.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_LIMIT 256
#define NAME_LIMIT  16
#define NAME_BYTES  64
#define CALL_DEPTH  4            /* of calls that are followed, so that no source takes long to read */
#define LEAST_PART  200          /* bytes of a block that is worth being shown in part */
#define MARK_BYTES  ((size_t)48) /* of a mark; the frame of a quotation has room for one (prompt_text.c) */

/* In the order of choice.  A kernel may be a frame of a few lines around a template that does the work, so what is called is no worse. */
enum rank { REACHED, PLAN, BETWEEN, OTHER };

struct block {
    size_t begin, end; /* of the text */
    size_t head, tail; /* shown: begin to head, tail to end; head == tail: all of it */
    enum rank rank;
    int is_function, is_shown;
};

struct excerpt {
    const char *text;
    size_t length, count;
    struct block blocks[BLOCK_LIMIT];
    char names[NAME_LIMIT][NAME_BYTES]; /* of what the first path launches */
    size_t name_count;
    int is_python;
};

static size_t line_end(const struct excerpt *e, size_t at)
{
    const char *end = memchr(e->text + at, '\n', e->length - at);
    return end ? (size_t)(end - e->text) + 1 : e->length;
}

static int starts(const struct excerpt *e, size_t at, const char *with)
{
    size_t bytes = strlen(with);
    return at + bytes <= e->length && memcmp(e->text + at, with, bytes) == 0;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the name stands in the block as a word with a parenthesis, or arguments of a template, behind it. */
static int has_call(const struct excerpt *e, const struct block *b, const char *name, size_t bytes)
{
    for (size_t i = b->begin; bytes && i + bytes < b->end; i++)
        if (memcmp(e->text + i, name, bytes) == 0 && strchr("(<", e->text[i + bytes]) &&
            (i == b->begin || !is_word(e->text[i - 1])))
            return 1;
    return 0;
}

static void add_block(struct excerpt *e, size_t begin, size_t end, enum rank rank, int is_function)
{
    int is_empty = end == begin + 1 && e->text[begin] == '\n';
    if (is_empty && e->count) { /* an empty line is of what it follows */
        struct block *last = &e->blocks[e->count - 1];
        last->end = last->head = last->tail = end;
    } else if (end > begin && e->count < BLOCK_LIMIT)
        e->blocks[e->count++] = (struct block){
            .begin = begin, .end = end, .head = end, .tail = end, .rank = rank, .is_function = is_function};
}

/* ---- sources ---- */

/* "kernel": "f" and "function": "f" of the plan's first list of launches. */
static void read_names(struct excerpt *e, size_t end)
{
    static const char *const keys[] = {"\"kernel\"", "\"function\""};
    size_t at = 0;
    int depth = 0, any = 0;
    while (at < end && !starts(e, at, "\"launch\""))
        at++;
    for (; at < end && !(any && depth == 0); at++) {
        depth += (e->text[at] == '[') - (e->text[at] == ']');
        any |= depth > 0;
        for (size_t k = 0; k < 2 && e->name_count < NAME_LIMIT; k++) {
            if (!starts(e, at, keys[k]))
                continue;
            size_t from = at + strlen(keys[k]), bytes = 0;
            while (from < end && e->text[from] != '"')
                from++;
            for (from++; from + bytes < end && is_word(e->text[from + bytes]) && bytes + 1 < NAME_BYTES;)
                bytes++;
            memcpy(e->names[e->name_count], e->text + from, bytes);
            e->names[e->name_count++][bytes] = '\0';
        }
    }
}

/* The plan is the first comment; a function of C ends with "}" in the first column, one of Python with the line before the next one that is not
 * indented.  What stands right in front of a function without an empty line belongs to it. */
static void split_source(struct excerpt *e)
{
    size_t at = 0, begin;
    int is_python = starts(e, 0, "#") && !starts(e, 0, "#include") && !starts(e, 0, "#define");
    e->is_python = is_python;
    if (is_python)
        while (at < e->length && e->text[at] == '#')
            at = line_end(e, at);
    else
        while (at < e->length && (at < 2 || !starts(e, at - 2, "*/")))
            at++;
    at = at < e->length && e->text[at] == '\n' ? at + 1 : at;
    read_names(e, at);
    add_block(e, 0, at, PLAN, 0);
    int is_body = 0;
    for (begin = at; at < e->length;) {
        size_t end = line_end(e, at);
        int is_empty = e->text[at] == '\n';
        is_body |= is_python ? starts(e, at, "def ")
                             : e->text[at] == '{' || (end > at + 1 && e->text[end - 2] == '{');
        int closes =
            is_body && (is_python ? end == e->length || !strchr(" \t\n)", e->text[end]) : e->text[at] == '}');
        if (closes || (is_empty && !is_body)) {
            add_block(e, begin, end, BETWEEN, closes);
            begin = end;
            is_body = 0;
        }
        at = end;
    }
    add_block(e, begin, e->length, BETWEEN, is_body);
}

/* The last byte of a comment that begins here, else the place itself. */
static size_t past_comment(const struct excerpt *e, const struct block *b, size_t at)
{
    size_t end = at;
    if (starts(e, at, "/*"))
        for (end++; end + 1 < b->end && !starts(e, end - 1, "*/");)
            end++;
    return end;
}

/* The name of a function: what stands before the first parenthesis that arguments or a body follow. */
static size_t name_of(const struct excerpt *e, const struct block *b, const char **ret_name)
{
    size_t found = 0;
    for (size_t i = b->begin; i < b->end && e->text[i] != '{'; i++) {
        i = past_comment(e, b, i);
        if (e->text[i] == '#' || starts(e, i, "//"))
            i = line_end(e, i) - 1;
        size_t from = i;
        if (e->text[i] != '(')
            continue;
        while (from > b->begin && is_word(e->text[from - 1]))
            from--;
        if (i > from && strncmp(e->text + from, "__", 2) != 0) {
            *ret_name = e->text + from;
            found = i - from;
            break;
        }
    }
    return found;
}

static void rank_functions(struct excerpt *e)
{
    for (size_t i = 0; i < e->count; i++) {
        struct block *b = &e->blocks[i];
        const char *name = "";
        size_t bytes = b->is_function ? name_of(e, b, &name) : 0;
        if (!b->is_function)
            continue;
        b->rank = bytes ? OTHER : BETWEEN; /* a type */
        for (size_t k = 0; k < e->name_count; k++)
            if (strlen(e->names[k]) == bytes && memcmp(e->names[k], name, bytes) == 0)
                b->rank = REACHED;
    }
    for (int any = 1, depth = 0; any && depth < CALL_DEPTH;
         depth++) { /* what these call, and what that calls */
        any = 0;
        for (size_t i = 0; i < e->count; i++) {
            const char *name = "";
            size_t bytes = e->blocks[i].rank == OTHER ? name_of(e, &e->blocks[i], &name) : 0;
            for (size_t k = 0; k < e->count && bytes; k++) {
                if (e->blocks[k].rank == REACHED && has_call(e, &e->blocks[k], name, bytes)) {
                    e->blocks[i].rank = REACHED;
                    any = 1;
                    break;
                }
            }
        }
    }
}

/* ---- diffs ---- */

static void split_diff(struct excerpt *e)
{
    size_t begin = 0;
    for (size_t at = 0; at < e->length; at = line_end(e, at)) {
        if (at > begin && starts(e, at, "@@")) {
            add_block(e, begin, at, REACHED, 0);
            begin = at;
        }
    }
    add_block(e, begin, e->length, REACHED, 0);
}

/* ---- choosing ---- */

static struct block *next_block(struct excerpt *e, const unsigned char *tried)
{
    struct block *best = NULL;
    for (size_t i = 0; i < e->count; i++) {
        struct block *b = &e->blocks[i];
        if (!tried[i] &&
            (!best || b->rank < best->rank ||
             (b->rank == best->rank && b->rank == REACHED && b->end - b->begin > best->end - best->begin)))
            best = b;
    }
    return best;
}

static size_t indent(const struct excerpt *e, size_t at)
{
    size_t i = at;
    while (i < e->length && (e->text[i] == ' ' || e->text[i] == '\t'))
        i++;
    return i - at;
}

/* Of a loop that begins with this line: to the next line that is indented no more. */
static size_t loop_bytes(const struct excerpt *e, const struct block *b, size_t at)
{
    size_t end = line_end(e, at);
    while (end < b->end && (strchr("\n#", e->text[end]) || indent(e, end) > indent(e, at)))
        end = line_end(e, end);
    return end - at;
}

/* Its signature, and as much as fits from its longest loop on. */
static void show_part(const struct excerpt *e, struct block *b, size_t room)
{
    size_t at = b->begin, loop = 0, longest = 0, end;
    for (char opens = e->is_python ? ':' : '{'; b->is_function && at < b->end && e->text[at] != opens; at++)
        at = past_comment(e, b, at);
    b->head = at < b->end ? line_end(e, at) : b->end;
    if (!b->is_function || b->head - b->begin > room / 2)
        b->head = b->begin;
    for (at = b->head; b->is_function && at < b->end; at = line_end(e, at)) {
        size_t text = at + indent(e, at), bytes = 0;
        if (starts(e, text, "for ") || starts(e, text, "while ") || starts(e, text, "for("))
            bytes = loop_bytes(e, b, at);
        if (bytes > longest) {
            longest = bytes;
            loop = at;
        }
    }
    b->tail = loop ? loop : b->head;
    room -= b->head - b->begin;
    for (end = b->tail; end < b->end && line_end(e, end) - b->tail <= room; end = line_end(e, end))
        ;
    b->end = end;
    b->is_shown = 1;
}

static size_t choose(struct excerpt *e, size_t keep)
{
    unsigned char tried[BLOCK_LIMIT] = {0};
    struct block *b;
    size_t used = 0, taken = 0;
    while ((b = next_block(e, tried))) {
        size_t bytes = b->end - b->begin, room = keep > taken + MARK_BYTES ? keep - taken - MARK_BYTES : 0;
        tried[b - e->blocks] = 1;
        if (bytes <= room)
            b->is_shown = 1;
        else if (room >= LEAST_PART && b->rank <= PLAN)
            show_part(e, b, room - MARK_BYTES);
        if (!b->is_shown)
            continue;
        bytes = b->head < b->tail ? b->head - b->begin + (b->end - b->tail) : b->end - b->begin;
        used += bytes;
        taken += bytes + (b->head < b->tail ? 2 * MARK_BYTES : MARK_BYTES);
    }
    return used;
}

static void put_part(const struct excerpt *e, size_t from, size_t to, size_t *shown, struct atoll_buffer *out)
{
    if (to <= from)
        return;
    if (from > *shown)
        atoll_buffer_printf(out, "/* ... %zu bytes are left out here ... */\n", from - *shown);
    atoll_buffer_put_bytes(out, e->text + from, to - from);
    if (e->text[to - 1] != '\n')
        atoll_buffer_put_bytes(out, "\n", 1);
    *shown = to;
}

size_t atoll_prompt_excerpt(const char *text, size_t length, size_t keep, struct atoll_buffer *out)
{
    struct excerpt e = {.text = text, .length = length};
    size_t shown = 0, functions = 0;
    int is_diff = starts(&e, 0, "@@");
    if (is_diff) {
        split_diff(&e);
    } else {
        split_source(&e);
        rank_functions(&e);
    }
    for (size_t i = 0; i < e.count; i++)
        functions += is_diff || e.blocks[i].rank == REACHED;
    if (functions < 1 || e.count < 2 || e.count == BLOCK_LIMIT)
        return 0;
    size_t used = choose(&e, keep);
    if (used < keep / 2) /* one of its blocks is most of it, and none of these */
        return 0;
    for (size_t i = 0; i < e.count; i++) {
        struct block *b = &e.blocks[i];
        if (!b->is_shown)
            continue;
        put_part(&e, b->begin, b->head < b->end ? b->head : b->end, &shown, out);
        if (b->head < b->end)
            put_part(&e, b->tail, b->end, &shown, out);
    }
    if (shown < length)
        atoll_buffer_printf(out, "/* ... %zu bytes are left out here ... */\n", length - shown);
    return length - used;
}

size_t atoll_prompt_excerpt_reached(const char *text, size_t length, const char *const *names, size_t count,
                                    struct atoll_buffer *out)
{
    struct excerpt e = {.text = text, .length = length};
    size_t shown = 0, left = 0, functions = 0;
    split_source(&e);
    e.name_count = count < NAME_LIMIT ? count : NAME_LIMIT;
    for (size_t i = 0; i < e.name_count; i++)
        snprintf(e.names[i], NAME_BYTES, "%s", names[i]);
    rank_functions(&e);
    for (size_t i = 0; i < e.count; i++) {
        left += e.blocks[i].rank == OTHER ? e.blocks[i].end - e.blocks[i].begin : 0;
        functions += e.blocks[i].rank == REACHED;
    }
    if (!left || !functions || count > NAME_LIMIT || e.count == BLOCK_LIMIT)
        return 0;
    for (size_t i = 0; i < e.count; i++)
        if (e.blocks[i].rank != OTHER)
            put_part(&e, e.blocks[i].begin, e.blocks[i].end, &shown, out);
    if (shown < length)
        atoll_buffer_printf(out, "/* ... %zu bytes are left out here ... */\n", length - shown);
    return left;
}

size_t atoll_prompt_sentence_end(const char *text, size_t length, size_t keep)
{
    if (keep >= length)
        return keep;
    for (size_t i = keep; i > keep / 2; i--)
        if (text[i - 1] == '\n' || (strchr(".;!?", text[i - 1]) && (text[i] == ' ' || text[i] == '\n')))
            return i;
    return keep;
}

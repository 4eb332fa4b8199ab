/* reply_json.c - a text is mended while it is copied: a small machine that knows whether it is in a string and which brackets
 * are open.  What it gives is read by a strict parser, so a wrong guess is no document, never a wrong one. */
#include "evolution/reply/reply_json.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_LIMIT    16
#define VALUE_LIMIT    4096
#define DOCUMENT_LIMIT 64 /* places of the text that are tried */
#define DOCUMENT_BYTES ((size_t)256 << 10)

struct mender {
    struct atoll_reply_span from;
    size_t at, used;
    char *out;
    char open[DEPTH_LIMIT]; /* the brackets that close what is open */
    size_t depth;
    size_t safe_used, safe_depth; /* behind the last bracket that closed; depth 0: none did */
};

static char peek(const struct mender *m, size_t ahead)
{
    return m->at + ahead < m->from.length ? m->from.text[m->at + ahead] : '\0';
}

static void put(struct mender *m, char c)
{
    m->out[m->used++] = c;
}

/* Whether a quote that stands at `at` ends its string: what follows then is a mark of JSON, or nothing. */
static int ends_string(const struct mender *m)
{
    size_t i = m->at + 1;
    while (i < m->from.length && strchr(" \t\n", m->from.text[i]))
        i++;
    return i >= m->from.length || strchr(",:]}/", m->from.text[i]) != NULL;
}

static int hex_of(char c)
{
    const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c | 0x20) : NULL;
    return c >= '0' && c <= '9' ? c - '0' : found ? (int)(found - digits) : -1;
}

/* An escape begins; halves of pairs and NUL, which a text cannot hold, become '?'. */
static void mend_escape(struct mender *m)
{
    char c = peek(m, 1);
    if (c == 'u') {
        int code = 0;
        for (size_t i = 2; i < 6 && code >= 0; i++)
            code = hex_of(peek(m, i)) < 0 ? -1 : code * 16 + hex_of(peek(m, i));
        if (code == 0 || (code >= 0xd800 && code < 0xe000)) {
            put(m, '?');
            m->at += 6;
            return;
        }
        c = code < 0 ? '\0' : c;
    }
    put(m, '\\');
    if (c && strchr("\"\\/bfnrtu", c)) {
        put(m, c);
        m->at += 2;
    } else {
        put(m, '\\');
        m->at++;
    }
}

/* From an opening quote to behind the closing one; 0: the text ends before. */
static int mend_string(struct mender *m)
{
    put(m, m->from.text[m->at++]);
    while (m->at < m->from.length) {
        char c = m->from.text[m->at];
        if (c == '\\') {
            mend_escape(m);
            continue;
        }
        if (c == '"' && ends_string(m)) {
            put(m, c);
            m->at++;
            return 1;
        }
        if (c == '"' || c == '\n' || c == '\t')
            put(m, '\\');
        put(m, c == '\n' ? 'n' : c == '\t' ? 't' : c);
        m->at++;
    }
    return 0;
}

static void skip_comment(struct mender *m)
{
    struct atoll_reply_span rest = {m->from.text + m->at, m->from.length - m->at};
    int is_line = peek(m, 1) == '/';
    size_t end = atoll_reply_find(rest, is_line ? "\n" : "*/");
    m->at += end + (is_line || end == rest.length ? 0 : 2);
}

/* Drops a comma that stands right in front of what comes now. */
static void drop_comma(struct mender *m)
{
    size_t used = m->used;
    while (used > 0 && strchr(" \t\n", m->out[used - 1]))
        used--;
    if (used > 0 && m->out[used - 1] == ',')
        m->used = used - 1;
}

/* Closes what is open behind the last value that was complete. */
static int break_off(struct mender *m)
{
    if (!m->safe_depth)
        return 0;
    m->used = m->safe_used;
    for (size_t depth = m->safe_depth; depth-- > 0;)
        put(m, m->open[depth]);
    m->at = m->from.length;
    return 1;
}

/* From an opening bracket to behind its closing one; 0: this is no JSON. */
static int mend(struct mender *m)
{
    while (m->at < m->from.length) {
        char c = m->from.text[m->at];
        if (c == '"') {
            if (!mend_string(m))
                return break_off(m);
            continue;
        }
        if (c == '/' && (peek(m, 1) == '/' || peek(m, 1) == '*')) {
            skip_comment(m);
            continue;
        }
        if (c == '{' || c == '[') {
            if (m->depth == DEPTH_LIMIT)
                return 0;
            m->open[m->depth++] = c == '{' ? '}' : ']';
        } else if (c == '}' || c == ']') {
            if (m->open[m->depth - 1] != c)
                return 0;
            m->depth--;
            drop_comma(m);
        }
        put(m, c);
        m->at++;
        if ((c == '}' || c == ']') && m->depth == 0)
            return 1;
        if (c == '}' || c == ']') { /* the brackets below it stay as they are until it is passed again */
            m->safe_used = m->used;
            m->safe_depth = m->depth;
        }
    }
    return break_off(m);
}

struct finder {
    struct atoll_arena *work;
    char *out; /* room for one mended document */
    atoll_reply_json_taker *take;
    void *context;
};

/* A document that begins with the span's first byte, mended into f->out; 0: none does. */
static int mend_at(struct finder *f, struct atoll_reply_span span, struct mender *ret)
{
    span.length = span.length < DOCUMENT_BYTES ? span.length : DOCUMENT_BYTES;
    *ret = (struct mender){.from = span, .out = f->out};
    return mend(ret);
}

static int show(struct finder *f, const char *text, size_t length, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    json_t *document = atoll_json_load(text, length, VALUE_LIMIT, 0, &why);
    if (!document && why.code == ATOLL_E_MEMORY) {
        *err = why;
        return -1;
    }
    int rc = document ? f->take(f->context, document, err) : 0;
    json_decref(document);
    return rc;
}

static int show_fences(struct finder *f, struct atoll_reply_span text, struct atoll_err *err)
{
    struct atoll_reply_block *blocks =
        atoll_arena_alloc_array(f->work, ATOLL_REPLY_BLOCK_LIMIT, sizeof(*blocks), err);
    size_t count = blocks ? atoll_reply_blocks(text, blocks) : 0, tries = 0;
    if (!blocks)
        return -1;
    while (count-- > 0 && tries < DOCUMENT_LIMIT) {
        struct mender m;
        struct atoll_reply_span inside = atoll_reply_trim(blocks[count].text);
        if (blocks[count].kind != ATOLL_REPLY_FENCED || !inside.length || !strchr("{[", inside.text[0]))
            continue;
        tries++;
        int rc = mend_at(f, inside, &m) ? show(f, m.out, m.used, err) : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* An object or array of others begins here: prose has brackets too. */
static int may_begin(struct atoll_reply_span rest)
{
    size_t i = 1;
    while (i < rest.length && strchr(" \t\n", rest.text[i]))
        i++;
    return i < rest.length && strchr(rest.text[0] == '{' ? "\"}/" : "\"{]/", rest.text[i]) != NULL;
}

static int show_all(struct finder *f, struct atoll_reply_span text, struct atoll_err *err)
{
    struct atoll_reply_span found[DOCUMENT_LIMIT];
    size_t count = 0, tries = 0;
    for (size_t at = 0; at < text.length && count < DOCUMENT_LIMIT && tries < DOCUMENT_LIMIT; at++) {
        struct atoll_reply_span rest = {text.text + at, text.length - at};
        struct mender m;
        if ((rest.text[0] != '{' && rest.text[0] != '[') || !may_begin(rest))
            continue;
        tries++;
        if (!mend_at(f, rest, &m))
            continue;
        const char *copy = atoll_arena_text(f->work, m.out, m.used, err);
        if (!copy)
            return -1;
        found[count++] = (struct atoll_reply_span){copy, m.used};
        at += m.at - 1;
    }
    while (count-- > 0) {
        int rc = show(f, found[count].text, found[count].length, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int atoll_reply_json_find(struct atoll_reply_span text, struct atoll_arena *work,
                          atoll_reply_json_taker *take, void *context, struct atoll_err *err)
{
    struct finder f = {work, atoll_arena_alloc(work, 2 * DOCUMENT_BYTES + DEPTH_LIMIT + 8, err), take,
                       context};
    int rc = f.out ? show_fences(&f, text, err) : -1;
    return rc != 0 ? rc : show_all(&f, text, err);
}

/* source_python.c - Python's own lexical analysis (The Python Language Reference, 2), as far as it tells names from texts and
 * comments.  A token that begins a line says so, continued lines (backslash, open brackets) aside. */
#include "core/source/source_python.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define SOURCE_LIMIT ((size_t)1 << 20)

struct lexer {
    const char *at;
    struct atoll_token_list *list;
    size_t capacity;
    uint32_t line;
    long depth; /* of brackets */
    int first;
};

static int push(struct lexer *x, enum atoll_token_kind kind, const char *text, size_t length, uint32_t line)
{
    struct atoll_token_list *list = x->list;
    if (list->count == x->capacity) {
        size_t capacity = x->capacity ? x->capacity * 2 : 1024;
        struct atoll_token *tokens = realloc(list->tokens, capacity * sizeof(*tokens));
        if (!tokens)
            return -1;
        list->tokens = tokens;
        x->capacity = capacity;
    }
    list->tokens[list->count++] = (struct atoll_token){
        .kind = kind, .text = text, .length = (uint32_t)length, .line = line, .first = (uint8_t)x->first};
    x->first = 0;
    return 0;
}

static size_t letter_length(const char *p)
{
    if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_')
        return 1;
    return *p & 0x80 ? atoll_utf8_character_bytes(p, 4) : 0;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t name_length(const char *p)
{
    size_t n = letter_length(p), step = n;
    while (step) {
        step = is_digit(p[n]) ? 1 : letter_length(p + n);
        n += step;
    }
    return n;
}

/* Of the letters before a quote that make it raw, of bytes, formatted or old; 0: another name, or none. */
static size_t prefix_length(const char *p)
{
    size_t n = strspn(p, "rRbBfFuU");
    return n <= 2 && (p[n] == '"' || p[n] == '\'') ? n : 0;
}

/* A text from its prefix on; what never ends goes to the end of its line, or of the source where it may have many. */
static int take_text(struct lexer *x)
{
    const char *begin = x->at, *p = begin + prefix_length(begin);
    char quote = *p;
    int is_long = p[1] == quote && p[2] == quote;
    uint32_t line = x->line;
    p += is_long ? 3 : 1;
    for (; *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
            x->line += *p == '\n';
        } else if (*p == '\n' && !is_long) {
            break;
        } else if (*p == quote && (!is_long || (p[1] == quote && p[2] == quote))) {
            p += is_long ? 3 : 1;
            x->at = p;
            return push(x, ATOLL_TOKEN_STRING, begin, (size_t)(p - begin), line);
        } else {
            x->line += *p == '\n';
        }
    }
    if (!x->list->odd_line)
        x->list->odd_line = line;
    x->at = p;
    return push(x, ATOLL_TOKEN_ODD, begin, (size_t)(p - begin), line);
}

static int take_one(struct lexer *x)
{
    const char *p = x->at;
    size_t n = prefix_length(p);
    if (n || *p == '"' || *p == '\'')
        return take_text(x);
    if ((n = name_length(p)) > 0) {
        x->at += n;
        return push(x, ATOLL_TOKEN_NAME, p, n, x->line);
    }
    if (is_digit(*p) || (*p == '.' && is_digit(p[1]))) {
        for (n = 1; is_digit(p[n]) || letter_length(p + n) || p[n] == '.' ||
                    ((p[n] == '+' || p[n] == '-') && (p[n - 1] == 'e' || p[n - 1] == 'E') && p[1] != 'x');)
            n++;
        x->at += n;
        return push(x, ATOLL_TOKEN_NUMBER, p, n, x->line);
    }
    x->depth += *p && strchr("([{", *p) ? 1 : *p && strchr(")]}", *p) ? -1 : 0;
    x->at++;
    int is_mark = *p > ' ' && *p < 127 && *p != '$' && *p != '?' && *p != '`' && *p != '\\' && *p != '!';
    is_mark |= *p == '!' && p[1] == '=';
    return push(x, is_mark ? ATOLL_TOKEN_MARK : ATOLL_TOKEN_ODD, p, 1, x->line);
}

int atoll_python_token_list_init(struct atoll_token_list *list, const char *source, struct atoll_err *err)
{
    size_t length = strlen(source);
    memset(list, 0, sizeof(*list));
    if (length > SOURCE_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "a source of %zu bytes is more than a lexer takes", length);
    list->text = strdup(source);
    struct lexer x = {.at = list->text, .list = list, .line = 1, .first = 1};
    int failed = !list->text;
    while (!failed && *x.at) {
        if (*x.at == '\n') {
            x.line++;
            x.first = x.depth <= 0 ? 1 : x.first;
            x.at++;
        } else if (*x.at == '\\' && (x.at[1] == '\n' || (x.at[1] == '\r' && x.at[2] == '\n'))) {
            x.at += x.at[1] == '\n' ? 2 : 3;
            x.line++;
        } else if (*x.at == ' ' || *x.at == '\t' || *x.at == '\r' || *x.at == '\f') {
            x.at++;
        } else if (*x.at == '#') {
            x.at += strcspn(x.at, "\n");
        } else {
            failed = take_one(&x) != 0;
        }
    }
    if (!failed)
        return 0;
    atoll_token_list_fini(list);
    return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the tokens of a source");
}

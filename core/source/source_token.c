/* source_token.c - a lexer for C-family sources.  Two passes: splice lines (backslash, blanks, newline: as
 * gcc and clang do) into a copy with a table of line starts, then cut the copy into tokens. */
#include "core/source/source_token.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE_LIMIT ((size_t)1 << 20)

struct lexer {
    const char *at, *end;
    struct atoll_token_list *list;
    size_t capacity;
    uint32_t line;
    int at_line_start, in_directive;
};

/* A spliced newline leaves this byte, so that lines stay countable; the lexer takes it for nothing. */
#define SPLICE '\1'

static size_t splice_length(const char *p)
{
    size_t n = 1;
    while (p[n] == ' ' || p[n] == '\t' || p[n] == '\v' || p[n] == '\f' || p[n] == '\r')
        n++;
    return p[n] == '\n' ? n + 1 : 0;
}

/* Drops splices; the lines they swallowed are given back after the next newline, where no token is cut. */
static void splice(char *out, const char *in)
{
    size_t owed = 0;
    while (*in) {
        size_t n = *in == '\\' ? splice_length(in) : 0;
        if (n) {
            in += n;
            owed++;
            continue;
        }
        char c = *in++;
        *out++ = c == SPLICE ? '\2' : c;
        for (; c == '\n' && owed; owed--)
            *out++ = SPLICE;
    }
    *out = 0;
}

static int is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int push(struct lexer *x, enum atoll_token_kind kind, const char *text, size_t length)
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
    if (x->at_line_start && kind == ATOLL_TOKEN_MARK &&
        (text[0] == '#' || (length == 2 && memcmp(text, "%:", 2) == 0))) {
        x->in_directive = 1;
    }
    list->tokens[list->count++] = (struct atoll_token){
        kind, text, (uint32_t)length, x->line, (uint8_t)x->in_directive, (uint8_t)x->at_line_start};
    x->at_line_start = 0;
    return 0;
}

/* Blanks, newlines and comments; 1 when something was skipped. */
static int skip_space(struct lexer *x)
{
    const char *before = x->at;
    while (x->at < x->end) {
        char c = *x->at;
        if (c == '\n' || c == SPLICE) {
            x->line++;
            if (c == '\n') {
                x->at_line_start = 1;
                x->in_directive = 0;
            }
        } else if (c != ' ' && c != '\t' && c != '\v' && c != '\f' && !(c == '\r' && x->at[1] == '\n')) {
            break;
        }
        x->at++;
    }
    return x->at != before;
}

static int skip_comment(struct lexer *x)
{
    if (x->at[0] != '/' || (x->at[1] != '/' && x->at[1] != '*'))
        return 0;
    if (x->at[1] == '/') {
        while (x->at < x->end && *x->at != '\n')
            x->at++;
        return 1;
    }
    uint32_t opened = x->line;
    for (x->at += 2; x->at < x->end; x->at++) {
        if (x->at[0] == '*' && x->at[1] == '/') {
            x->at += 2;
            return 1;
        }
        x->line += *x->at == '\n' || *x->at == SPLICE;
    }
    x->list->odd_line = opened;
    return 1;
}

static size_t quoted_length(const char *p)
{
    for (size_t n = 1; p[n] && p[n] != '\n'; n++) {
        if (p[n] == p[0])
            return n + 1;
        if (p[n] == '\\' && p[n + 1] && p[n + 1] != '\n')
            n++;
    }
    return 0;
}

static size_t number_length(const char *p)
{
    size_t n = 1;
    for (;; n++) {
        if ((p[n] == '+' || p[n] == '-') && strchr("eEpP", p[n - 1]))
            continue;
        if (!is_name_start(p[n]) && !is_digit(p[n]) && p[n] != '.')
            return n;
    }
}

static size_t mark_length(const char *p)
{
    static const char *const marks[] = {
        "%:%:", "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
        "+=",   "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "##", "<:", ":>", "<%", "%>", "%:"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (strncmp(p, marks[i], strlen(marks[i])) == 0)
            return strlen(marks[i]);
    return strchr("+-*/%<>=!&|^~?:;,.()[]{}#", *p) ? 1 : 0;
}

static int lex_token(struct lexer *x)
{
    const char *p = x->at;
    enum atoll_token_kind kind = ATOLL_TOKEN_ODD;
    size_t n = 0;
    if (is_name_start(*p)) {
        kind = ATOLL_TOKEN_NAME;
        for (n = 1; is_name_start(p[n]) || is_digit(p[n]);)
            n++;
    } else if (is_digit(*p) || (*p == '.' && is_digit(p[1]))) {
        kind = ATOLL_TOKEN_NUMBER;
        n = number_length(p);
    } else if (*p == '"' || *p == '\'') {
        kind = *p == '"' ? ATOLL_TOKEN_STRING : ATOLL_TOKEN_CHARACTER;
        n = quoted_length(p);
    } else {
        kind = ATOLL_TOKEN_MARK;
        n = mark_length(p);
    }
    if (n == 0) {
        kind = ATOLL_TOKEN_ODD;
        n = 1;
    }
    x->at += n;
    return push(x, kind, p, n);
}

int atoll_token_list_init(struct atoll_token_list *list, const char *source, struct atoll_err *err)
{
    size_t length = strlen(source);
    memset(list, 0, sizeof(*list));
    if (length > SOURCE_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "source of %zu bytes, at most %zu", length, SOURCE_LIMIT);
    list->text = calloc(length + 1, 1);
    if (!list->text)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the tokens of a source");
    splice(list->text, source);
    struct lexer x = {list->text, list->text + strlen(list->text), list, 0, 1, 1, 0};
    while (x.at < x.end) {
        if (skip_space(&x) || skip_comment(&x))
            continue;
        if (lex_token(&x)) {
            atoll_token_list_fini(list);
            return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the tokens of a source");
        }
    }
    return 0;
}

void atoll_token_list_fini(struct atoll_token_list *list)
{
    free(list->tokens);
    free(list->text);
    memset(list, 0, sizeof(*list));
}

int atoll_token_is(const struct atoll_token *token, const char *text)
{
    return strlen(text) == token->length && memcmp(token->text, text, token->length) == 0;
}

int atoll_token_starts(const struct atoll_token *token, const char *prefix)
{
    size_t n = strlen(prefix);
    return token->length >= n && memcmp(token->text, prefix, n) == 0;
}

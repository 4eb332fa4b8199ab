/* source_token.c - a lexer for C-family sources.  Two passes: splice lines into a copy, then cut the copy into tokens.
 * Where compilers disagree (a blank between backslash and newline, a lone carriage return) the rules refuse the text. */
#include "core/source/source_token.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

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
    return p[1] == '\n' ? 2 : p[1] == '\r' && p[2] == '\n' ? 3 : 0;
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

/* Bytes of a letter of names, plain or beyond ASCII; 0: none. */
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
        ((length == 1 && *text == '#') || (length == 2 && memcmp(text, "%:", 2) == 0))) {
        x->in_directive = 1;
    }
    list->tokens[list->count++] = (struct atoll_token){.kind = kind,
                                                       .text = text,
                                                       .length = (uint32_t)length,
                                                       .line = x->line,
                                                       .directive = (uint8_t)x->in_directive,
                                                       .first = (uint8_t)x->at_line_start};
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

static size_t name_length(const char *p)
{
    size_t n = 0;
    for (size_t more = 1; more; n += more)
        more = is_digit(p[n]) ? n > 0 : letter_length(p + n);
    return n;
}

static size_t number_length(const char *p)
{
    size_t n = 1;
    for (;;) {
        size_t more = (p[n] == '+' || p[n] == '-') && strchr("eEpP", p[n - 1]) ? 1 : letter_length(p + n);
        if (!more && !is_digit(p[n]) && p[n] != '.')
            return n;
        n += more ? more : 1;
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
    enum atoll_token_kind kind = ATOLL_TOKEN_NAME;
    size_t n = name_length(p);
    if (n > 0) {
        kind = ATOLL_TOKEN_NAME;
    } else if (is_digit(*p) || (*p == '.' && is_digit(p[1]))) {
        kind = ATOLL_TOKEN_NUMBER;
        n = number_length(p);
    } else if (*p == '"' || *p == '\'') {
        kind = *p == '"' ? ATOLL_TOKEN_STRING : ATOLL_TOKEN_CHARACTER;
        n = quoted_length(p);
        if (n == 0) { /* an open quote takes the rest of its line, comments and all */
            kind = ATOLL_TOKEN_ODD;
            n = strcspn(p, "\n");
        }
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

static int is_directive(const struct atoll_token_list *list, size_t at, const char *name)
{
    return at + 1 < list->count && list->tokens[at].first && list->tokens[at].directive &&
           !list->tokens[at + 1].first && atoll_token_is(&list->tokens[at + 1], name);
}

/* What "#if 0" leaves out, up to its #else, #elif or #endif; other conditions are not weighed. */
static void mark_dead(struct atoll_token_list *list)
{
    static const char *const opens[] = {"if", "ifdef", "ifndef"}, *const turns[] = {"else", "elif", "elifdef",
                                                                                    "elifndef"};
    unsigned depth = 0;
    for (size_t at = 0; at < list->count; at++) {
        int open = 0, turn = 0, end = is_directive(list, at, "endif");
        for (size_t i = 0; i < sizeof(opens) / sizeof(*opens); i++)
            open |= is_directive(list, at, opens[i]);
        for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++)
            turn |= is_directive(list, at, turns[i]);
        if (depth > 0) {
            depth += (unsigned)open;
            depth -= (unsigned)(end || (turn && depth == 1));
        } else if (is_directive(list, at, "if") && at + 2 < list->count && !list->tokens[at + 2].first &&
                   atoll_token_is(&list->tokens[at + 2], "0") &&
                   (at + 3 == list->count || list->tokens[at + 3].first)) {
            depth = 1;
            at += 2;
            continue;
        }
        list->tokens[at].dead = depth > 0;
    }
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
    mark_dead(list);
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

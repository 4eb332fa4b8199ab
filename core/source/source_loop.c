/* source_loop.c - finds `for` loops by their brackets and assignments by their operators. */
#include "core/source/source_loop.h"

#include <string.h>

#define NESTING_LIMIT 64 /* of statements without braces: for (...) for (...) ... */

int atoll_token_same(const struct atoll_token *a, const struct atoll_token *b)
{
    return a && b && a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

static int is(const struct atoll_loop_list *l, size_t at, const char *text)
{
    return at < l->token_count && atoll_token_is(&l->tokens[at], text);
}

int atoll_loop_mentions(const struct atoll_loop_list *list, size_t begin, size_t end,
                        const struct atoll_token *name)
{
    for (size_t i = begin; i < end && i < list->token_count; i++)
        if (list->tokens[i].kind == ATOLL_TOKEN_NAME && atoll_token_same(&list->tokens[i], name))
            return 1;
    return 0;
}

/* Index after the bracket that closes the one at `at`; the end of the tokens when it never closes. */
static size_t skip_group(const struct atoll_loop_list *l, size_t at)
{
    int depth = 0;
    for (; at < l->token_count; at++)
        if (is(l, at, "(") || is(l, at, "[") || is(l, at, "{"))
            depth++;
        else if ((is(l, at, ")") || is(l, at, "]") || is(l, at, "}")) && --depth <= 0)
            return at + 1;
    return at;
}

static size_t skip_statement(const struct atoll_loop_list *l, size_t at, int nesting)
{
    if (is(l, at, "{"))
        return skip_group(l, at);
    if (nesting < NESTING_LIMIT && is(l, at + 1, "(") &&
        (is(l, at, "for") || is(l, at, "while") || is(l, at, "if"))) {
        int has_else = is(l, at, "if");
        at = skip_statement(l, skip_group(l, at + 1), nesting + 1);
        return has_else && is(l, at, "else") ? skip_statement(l, at + 1, nesting + 1) : at;
    }
    while (at < l->token_count && !is(l, at, ";") && !is(l, at, "}"))
        at = is(l, at, "(") || is(l, at, "[") || is(l, at, "{") ? skip_group(l, at) : at + 1;
    return at < l->token_count ? at + 1 : at;
}

/* The variable is what the last part of the header changes. */
static void read_header(const struct atoll_loop_list *l, struct atoll_loop *loop)
{
    size_t at = loop->header_begin, parts = 0;
    for (; at < loop->header_end && parts < 2; at++)
        parts += is(l, at, ";") ? 1u : 0u;
    for (; at < loop->header_end; at++) {
        const struct atoll_token *t = &l->tokens[at];
        if (is(l, at, "++") || is(l, at, "--")) {
            size_t name =
                at > loop->header_begin && l->tokens[at - 1].kind == ATOLL_TOKEN_NAME ? at - 1 : at + 1;
            loop->variable = name < loop->header_end ? &l->tokens[name] : NULL;
            loop->unit_step = 1;
            return;
        }
        if ((is(l, at, "+=") || is(l, at, "-=")) && at > 0 && t[-1].kind == ATOLL_TOKEN_NAME) {
            loop->variable = &t[-1];
            loop->unit_step = is(l, at + 1, "1") && at + 2 >= loop->header_end;
            loop->step = !loop->unit_step && at + 1 < loop->header_end ? &l->tokens[at + 1] : NULL;
            return;
        }
    }
}

static void find_loops(struct atoll_loop_list *l)
{
    for (size_t i = 0; i + 1 < l->token_count && l->loop_count < ATOLL_LOOP_LIMIT; i++) {
        if (!is(l, i, "for") || !is(l, i + 1, "("))
            continue;
        struct atoll_loop *loop = &l->loops[l->loop_count];
        size_t after = skip_group(l, i + 1);
        *loop =
            (struct atoll_loop){i + 2, after - 1, after, skip_statement(l, after, 0), -1, 1, NULL, 0, NULL};
        read_header(l, loop);
        for (size_t k = 0; k < l->loop_count; k++) {
            if (l->loops[k].body_begin <= i && i < l->loops[k].body_end) {
                loop->parent = (int)k;
                l->loops[k].is_innermost = 0;
            }
        }
        l->loop_count++;
    }
}

static int loop_around(const struct atoll_loop_list *l, size_t at)
{
    int found = -1;
    for (size_t k = 0; k < l->loop_count; k++)
        if (l->loops[k].body_begin <= at && at < l->loops[k].body_end)
            found = (int)k;
    return found;
}

/* End of the loop header that a token lies in; 0 outside of headers. */
static size_t header_end(const struct atoll_loop_list *l, size_t at)
{
    for (size_t k = 0; k < l->loop_count; k++)
        if (l->loops[k].header_begin <= at && at < l->loops[k].header_end)
            return l->loops[k].header_end;
    return 0;
}

static int is_assignment(const struct atoll_loop_list *l, size_t at)
{
    static const char *const marks[] = {"=", "+=", "-=", "*=", "/=", "|=", "&=", "^="};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (is(l, at, marks[i]))
            return 1;
    return 0;
}

/* Base of a left side: the name before its first '[', else the last name; "*p" is an element of p. */
static void read_left(const struct atoll_loop_list *l, struct atoll_assignment *a)
{
    a->is_element = is(l, a->begin, "*");
    for (size_t i = a->begin; i < a->op; i++) {
        if (is(l, i, "[") && i > a->begin && l->tokens[i - 1].kind == ATOLL_TOKEN_NAME) {
            a->base = &l->tokens[i - 1];
            a->is_element = 1;
            return;
        }
        if (l->tokens[i].kind == ATOLL_TOKEN_NAME)
            a->base = &l->tokens[i];
    }
}

/* Where the left side begins: after "if (...)", "while (...)", "for (...)", "else", "do". */
static size_t skip_keywords(const struct atoll_loop_list *l, size_t begin, size_t op)
{
    for (;;) {
        size_t next = begin;
        if (is(l, begin, "else") || is(l, begin, "do")) {
            next = begin + 1;
        } else if (is(l, begin + 1, "(") &&
                   (is(l, begin, "if") || is(l, begin, "while") || is(l, begin, "for"))) {
            next = skip_group(l, begin + 1);
        }
        if (next == begin || next >= op)
            return begin;
        begin = next;
    }
}

static size_t add_assignment(struct atoll_loop_list *l, size_t begin, size_t op)
{
    struct atoll_assignment *a = &l->assignments[l->assignment_count];
    size_t end = op + 1;
    while (end < l->token_count && !is(l, end, ";") && !is(l, end, "}") && !is(l, end, ",") &&
           !is(l, end, ")")) { /* a comma outside of brackets begins the next declarator */
        end = is(l, end, "(") || is(l, end, "[") || is(l, end, "{") ? skip_group(l, end) : end + 1;
    }
    *a = (struct atoll_assignment){skip_keywords(l, begin, op), op, end, loop_around(l, op), NULL, 0};
    read_left(l, a);
    if (a->base)
        l->assignment_count++;
    return end;
}

static void find_assignments(struct atoll_loop_list *l)
{
    size_t begin = 0;
    for (size_t i = 0; i < l->token_count && l->assignment_count < ATOLL_ASSIGNMENT_LIMIT; i++) {
        size_t header = is_assignment(l, i) || is(l, i, ";") ? header_end(l, i) : 0;
        if (header)
            i = header;
        else if (is_assignment(l, i))
            i = add_assignment(l, begin, i);
        if (header || is(l, i, ";") || is(l, i, "{") || is(l, i, "}") || is(l, i, ","))
            begin = i + 1;
    }
}

void atoll_loop_list_find(struct atoll_loop_list *list, const struct atoll_token *tokens, size_t count)
{
    memset(list, 0, sizeof(*list));
    list->tokens = tokens;
    list->token_count = count;
    find_loops(list);
    find_assignments(list);
}

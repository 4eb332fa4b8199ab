/* rules_scope.c - statements of file scope, one after the other; bodies of functions and classes are skipped,
 * namespaces and extern "C" blocks are entered. */
#include "core/rules/rules_row.h"

#include <string.h>

#define NONE ((size_t)-1)

struct scope {
    const struct atoll_token *tokens;
    size_t count, at;
    size_t c_until; /* end of the extern "C" block that at lies in, 0 = none */
};

/* One statement: [begin, end) without bodies; body: its first "{" at parenthesis depth 0, NONE without. */
struct statement {
    size_t begin, end, body;
};

static int is(const struct scope *s, size_t at, const char *text)
{
    return at < s->count && !s->tokens[at].directive && atoll_token_is(&s->tokens[at], text);
}

static int is_any(const struct scope *s, size_t at, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is(s, at, texts[i]))
            return 1;
    return 0;
}

static size_t find(const struct scope *s, size_t begin, size_t end, const char *text)
{
    for (size_t i = begin; i < end; i++)
        if (is(s, i, text))
            return i;
    return NONE;
}

static int has(const struct scope *s, size_t begin, size_t end, const char *text)
{
    return find(s, begin, end, text) != NONE;
}

/* Index after the bracket that closes the one at `at`. */
static size_t skip_group(const struct scope *s, size_t at)
{
    int depth = 0;
    for (; at < s->count; at++)
        if (is(s, at, "(") || is(s, at, "[") || is(s, at, "{"))
            depth++;
        else if ((is(s, at, ")") || is(s, at, "]") || is(s, at, "}")) && --depth <= 0)
            return at + 1;
    return s->count;
}

static int is_type_keyword(const struct scope *s, size_t at)
{
    static const char *const words[] = {"struct", "class", "union", "enum"};
    return is_any(s, at, words, 4);
}

/* "template <...>" in front of a declaration. */
static size_t skip_template(const struct scope *s, size_t at)
{
    while (is(s, at, "template") && is(s, at + 1, "<")) {
        int depth = 0;
        for (at++; at < s->count; at++) {
            depth += is(s, at, "<") ? 1 : is(s, at, ">") ? -1 : is(s, at, ">>") ? -2 : 0;
            if (is(s, at, "(") || is(s, at, "["))
                at = skip_group(s, at) - 1;
            else if (depth <= 0)
                break;
        }
        at = at < s->count ? at + 1 : at;
    }
    return at;
}

/* Arguments of an attribute, not parameters. */
static int is_attribute(const struct scope *s, size_t at)
{
    static const char *const words[] = {"__launch_bounds__", "__align__",        "alignas",
                                        "__attribute__",     "__cluster_dims__", "decltype"};
    return is_any(s, at, words, sizeof(words) / sizeof(*words));
}

/* A type is defined when a class keyword stands before the body and no parameter list does. */
static int defines_type(const struct scope *s, const struct statement *t)
{
    int found = 0;
    for (size_t i = t->begin; i < t->body;) {
        int group = is(s, i, "(");
        if (group && !(i > t->begin && is_attribute(s, i - 1)))
            return 0;
        found |= is_type_keyword(s, i);
        i = group ? skip_group(s, i) : i + 1;
    }
    return found;
}

/* A function's body: behind parameters, and no initialiser. */
static int is_function_body(const struct scope *s, const struct statement *t)
{
    return has(s, t->begin, t->body, "(") && !has(s, t->begin, t->body, "=") && !defines_type(s, t);
}

/* Ends at ";", behind a function's body, or behind the "{" of a block that is entered. */
static struct statement next_statement(struct scope *s)
{
    struct statement t = {s->at, s->at, NONE};
    t.begin = skip_template(s, t.begin);
    for (size_t i = t.begin; i < s->count;) {
        if (s->tokens[i].directive) {
            i++;
            continue;
        }
        if (is(s, i, ";") || is(s, i, "}")) {
            t.end = i;
            s->at = i + 1;
            return t;
        }
        if (!is(s, i, "{")) {
            i = is(s, i, "(") || is(s, i, "[") ? skip_group(s, i) : i + 1;
            continue;
        }
        t.body = t.body == NONE ? i : t.body;
        t.end = i;
        if (t.body == i && !has(s, t.begin, i, "(") &&
            (has(s, t.begin, i, "namespace") || (is(s, t.begin, "extern") && i == t.begin + 2))) {
            if (is(s, t.begin, "extern") && i >= s->c_until) /* blocks inside of it end before it */
                s->c_until = skip_group(s, i);
            s->at = i + 1;
            return t;
        }
        i = skip_group(s, i);
        if (t.body == t.end && is_function_body(s, &t)) {
            s->at = i;
            return t;
        }
    }
    t.end = s->at = s->count;
    return t;
}

/* "f(a, b)" declares a function when something in the parentheses looks like a type before a name. */
static int declares_function(const struct scope *s, size_t begin, size_t end)
{
    static const char *const types[] = {"void",     "int",   "float", "double", "char",  "bool",  "long",
                                        "unsigned", "short", "half",  "...",    "const", "size_t"};
    size_t open = find(s, begin, end, "(");
    while (open != NONE && open > 0 && is_attribute(s, open - 1))
        open = find(s, skip_group(s, open), end, "(");
    if (open == NONE || has(s, begin, open, "="))
        return 0;
    size_t close = skip_group(s, open) - 1;
    if (close <= open + 1)
        return 1;
    for (size_t i = open + 1; i < close; i++) {
        int name = s->tokens[i].kind == ATOLL_TOKEN_NAME;
        if (is_any(s, i, types, sizeof(types) / sizeof(*types)) ||
            (name && i + 1 < close && s->tokens[i + 1].kind == ATOLL_TOKEN_NAME) ||
            (name && (is(s, i + 1, "*") || is(s, i + 1, "&")) &&
             (i + 2 >= close || s->tokens[i + 2].kind == ATOLL_TOKEN_NAME))) {
            return 1;
        }
    }
    return 0;
}

/* constexpr, const behind the last "*" of the declarator, or __constant__ with a value. */
static int is_constant(const struct scope *s, size_t begin, size_t end, int has_value)
{
    size_t stop = find(s, begin, end, "="), star = begin;
    stop = stop == NONE ? end : stop;
    if (has(s, begin, stop, "constexpr") || (has_value && has(s, begin, stop, "__constant__")))
        return 1;
    for (size_t i = begin; i < stop; i++)
        star = is(s, i, "*") ? i : star;
    return has(s, star, stop, "const");
}

static int is_shared(const struct scope *s, size_t begin, size_t end)
{
    return has(s, begin, end, "__shared__");
}

static size_t first_name(const struct scope *s, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (!s->tokens[i].directive && s->tokens[i].kind == ATOLL_TOKEN_NAME)
            return i;
    return NONE;
}

/* Whether a statement of file scope declares a variable that can be written. */
static int declares_mutable(const struct scope *s, const struct statement *t)
{
    static const char *const others[] = {"using",  "typedef",   "static_assert", "_Static_assert",
                                         "friend", "namespace", "concept",       "asm",
                                         "public", "private"};
    size_t name = first_name(s, t->begin, t->end), begin = t->begin;
    if (name == NONE || is_any(s, name, others, sizeof(others) / sizeof(*others)))
        return 0;
    for (size_t i = name; i < t->end && i < name + 3; i++)
        if (is_any(s, i, others, 3))
            return 0;
    if (t->body != NONE && (defines_type(s, t) || is_function_body(s, t))) {
        begin = skip_group(s, t->body);
        if (is_function_body(s, t) || first_name(s, begin, t->end) == NONE)
            return 0;
        return !is_constant(s, t->begin, t->body, 0) && !is_shared(s, t->begin, t->body);
    }
    if (t->body != NONE &&
        (has(s, t->begin, t->body, "namespace") || (is(s, t->begin, "extern") && t->body == t->begin + 2))) {
        return 0;
    }
    size_t head = t->body == NONE ? t->end : t->body;
    if (is_type_keyword(s, name) && head <= name + 2) /* struct S; */
        return 0;
    if (declares_function(s, begin, head) || head < begin + 2)
        return 0;
    int has_value = t->body != NONE || has(s, begin, head, "=");
    return !is_shared(s, begin, head) && !is_constant(s, begin, head, has_value);
}

size_t atoll_scope_mutable_global(const struct atoll_token *tokens, size_t count)
{
    struct scope s = {tokens, count, 0, 0};
    while (s.at < count) {
        struct statement t = next_statement(&s);
        if (declares_mutable(&s, &t))
            return first_name(&s, t.begin, t.end);
    }
    return count;
}

/* In front of a static variable's name stands nothing but types; behind it "=", ";", "[" or "{". */
static int is_mutable_static(const struct scope *s, size_t at, size_t *ret_end)
{
    size_t end = at;
    while (end < s->count && !is(s, end, ";") && !is(s, end, "{") && !is(s, end, "}"))
        end = is(s, end, "(") || is(s, end, "[") ? skip_group(s, end) : end + 1;
    size_t begin = at;
    while (begin > 0 && !is(s, begin - 1, ";") && !is(s, begin - 1, "{") && !is(s, begin - 1, "}") &&
           !s->tokens[begin - 1].directive) {
        begin--;
    }
    *ret_end = end = end < s->count ? end : s->count;
    if (declares_function(s, begin, end) || is_shared(s, begin, end) || has(s, begin, end, "operator"))
        return 0;
    return !is_constant(s, begin, end, has(s, begin, end, "=") || is(s, end, "{"));
}

size_t atoll_scope_mutable_static(const struct atoll_token *tokens, size_t count)
{
    struct scope s = {tokens, count, 0, 0};
    for (size_t i = 0; i < count; i++) {
        size_t end = i;
        if ((is(&s, i, "static") || is(&s, i, "thread_local")) && is_mutable_static(&s, i, &end))
            return i;
        i = end;
    }
    return count;
}

size_t atoll_scope_unlinked_kernel(const struct atoll_token *tokens, size_t count)
{
    struct scope s = {tokens, count, 0, 0};
    while (s.at < count) {
        size_t c_until = s.c_until;
        struct statement t = next_statement(&s);
        size_t kernel = find(&s, t.begin, t.end, "__global__"), linkage = find(&s, t.begin, t.end, "extern");
        int is_c = t.begin < c_until || (linkage != NONE && is(&s, linkage + 1, "\"C\""));
        if (kernel != NONE && !is_c)
            return kernel;
    }
    return count;
}

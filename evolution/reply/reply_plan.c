/* reply_plan.c - where an answer's plan stands, and whether the parent's still fits.  Nothing is validated here: that is
 * core/plan/plan.h's, with the task in hand. */
#include <string.h>

#include "core/source/source_token.h"
#include "evolution/reply/reply_part.h"

#define NAME_LIMIT  16   /* launches of a plan */
#define TRY_LIMIT   256  /* places where a function's name stands before a "(" */
#define PARAM_LIMIT 4096 /* tokens of a parameter list */

/* Where the comment begins whose text begins at `at`; `at` itself when none does. */
static size_t comment_begin(struct atoll_answer_span source, size_t at)
{
    size_t begin = at;
    while (begin > 0 && strchr(" \t\n", source.text[begin - 1]))
        begin--;
    return begin >= 2 && memcmp(source.text + begin - 2, "/*", 2) == 0 ? begin - 2 : at;
}

struct atoll_answer_span atoll_answer_plan_comment(struct atoll_answer_span source)
{
    static const char word[] = "atoll-plan";
    for (size_t at = 0; at < source.length;) {
        struct atoll_answer_span rest = {source.text + at, source.length - at};
        size_t found = at + atoll_answer_find(rest, word);
        size_t begin = found < source.length ? comment_begin(source, found) : found;
        if (begin < found) {
            rest = (struct atoll_answer_span){source.text + found, source.length - found};
            size_t end = atoll_answer_find(rest, "*/");
            end = end < rest.length ? found + end + 2 : source.length;
            return (struct atoll_answer_span){source.text + begin, end - begin};
        }
        at = found + sizeof word - 1;
    }
    return (struct atoll_answer_span){source.text, 0};
}

int atoll_answer_is_plan(struct atoll_answer_span block)
{
    block = atoll_answer_trim(block);
    return block.length > 2 && block.text[0] == '{' && block.text[block.length - 1] == '}' &&
           atoll_answer_find(block, "\"launch\"") < block.length;
}

const char *atoll_answer_join(struct atoll_arena *arena, struct atoll_answer_span json,
                              struct atoll_answer_span source, struct atoll_err *err)
{
    static const char begin[] = "/* atoll-plan ", end[] = " */\n";
    struct atoll_answer_span own = atoll_answer_plan_comment(source);
    size_t before = own.length ? (size_t)(own.text - source.text) : 0, used = 0;
    struct atoll_answer_span head = atoll_answer_trim((struct atoll_answer_span){source.text, before});
    char *text = atoll_arena_alloc(arena, source.length + json.length + sizeof begin + sizeof end + 4, err);
    if (!text)
        return NULL;
#define APPEND(bytes, n) (memcpy(text + used, bytes, n), used += (n))
    if (json.length) {
        APPEND(begin, sizeof begin - 1);
        APPEND(json.text, json.length);
        APPEND(end, sizeof end - 1);
    } else if (own.length) {
        APPEND(own.text, own.length);
    }
    if (head.length) {
        APPEND("\n", 1);
        APPEND(head.text, head.length);
        APPEND("\n", 1);
    }
    size_t rest = before + own.length;
    rest += used && text[used - 1] == '\n' && rest < source.length && source.text[rest] == '\n';
    APPEND(source.text + rest, source.length - rest);
#undef APPEND
    while (used && strchr(" \t\n", text[used - 1]))
        used--;
    text[used++] = '\n';
    text[used] = 0;
    return text;
}

/* ---- does the parent's plan fit ---- */

/* Values of "kernel" and "function" in the plan's JSON. */
static size_t launch_names(struct atoll_answer_span plan, struct atoll_answer_span ret_names[NAME_LIMIT])
{
    static const char *const keys[] = {"\"kernel\"", "\"function\""};
    size_t count = 0;
    for (size_t k = 0; k < 2; k++)
        for (struct atoll_answer_span rest = plan; count < NAME_LIMIT;) {
            size_t at = atoll_answer_find(rest, keys[k]);
            if (at == rest.length)
                break;
            rest.text += at + strlen(keys[k]);
            rest.length -= at + strlen(keys[k]);
            size_t open = atoll_answer_find(rest, "\"");
            struct atoll_answer_span value = {rest.text + open + 1,
                                              rest.length > open ? rest.length - open - 1 : 0};
            value.length = atoll_answer_find(value, "\"");
            if (value.length)
                ret_names[count++] = value;
        }
    return count;
}

static int token_equals(const struct atoll_token *t, struct atoll_answer_span name)
{
    return t->length == name.length && memcmp(t->text, name.text, name.length) == 0;
}

/* The "(" of a function's definition: behind its name, with a "{" behind its ")". */
static size_t find_definition(const struct atoll_token_list *list, struct atoll_answer_span name)
{
    for (size_t i = 0, tries = 0; i + 1 < list->count && tries < TRY_LIMIT; i++) {
        size_t at = i + 1, depth = 0;
        if (!token_equals(&list->tokens[i], name) || !atoll_token_is(&list->tokens[at], "("))
            continue;
        for (tries++; at < list->count && at < i + PARAM_LIMIT; at++) {
            depth += atoll_token_is(&list->tokens[at], "(") ? 1 : 0;
            if (atoll_token_is(&list->tokens[at], ")") && --depth == 0)
                break;
        }
        if (at + 1 < list->count && atoll_token_is(&list->tokens[at + 1], "{"))
            return i + 1;
    }
    return list->count;
}

static int is_qualifier(const struct atoll_token *t)
{
    static const char *const words[] = {"const",      "restrict", "__restrict__", "__restrict",
                                        "__constant", "volatile", "__global",     "global"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (atoll_token_is(t, words[i]))
            return 1;
    return 0;
}

/* The next token of a parameter list that says something of a type: qualifiers and names of parameters do not. */
static const struct atoll_token *next_type(const struct atoll_token_list *list, size_t *at, size_t *depth)
{
    for (; *at < list->count; (*at)++) {
        const struct atoll_token *t = &list->tokens[*at], *next = t + 1;
        int is_last = *at + 1 < list->count && (atoll_token_is(next, ",") || atoll_token_is(next, ")"));
        if (t->kind == ATOLL_TOKEN_NAME && (is_last || is_qualifier(t)))
            continue;
        *depth += atoll_token_is(t, "(") ? 1 : 0;
        *depth -= atoll_token_is(t, ")") && *depth > 0 ? 1 : 0;
        (*at)++;
        return t;
    }
    return NULL;
}

static int same_parameters(const struct atoll_token_list *a, size_t at_a, const struct atoll_token_list *b,
                           size_t at_b)
{
    size_t depth_a = 0, depth_b = 0;
    for (;;) {
        const struct atoll_token *x = next_type(a, &at_a, &depth_a), *y = next_type(b, &at_b, &depth_b);
        if (!x || !y || x->length != y->length || memcmp(x->text, y->text, x->length) != 0)
            return 0;
        if (depth_a == 0)
            return 1;
    }
}

int atoll_answer_plan_fits(const char *parent, struct atoll_answer_span source, struct atoll_arena *arena,
                           struct atoll_err *err)
{
    struct atoll_answer_span whole = {parent, strlen(parent)}, plan = atoll_answer_plan_comment(whole);
    struct atoll_answer_span names[NAME_LIMIT];
    struct atoll_token_list old = {0}, new = {0};
    size_t count = launch_names(plan, names);
    const char *text = atoll_arena_text(arena, source.text, source.length, err);
    int fits =
        text && atoll_token_list_init(&old, parent, err) == 0 && atoll_token_list_init(&new, text, err) == 0
            ? count > 0
            : -1;
    for (size_t i = 0; fits > 0 && i < count; i++) {
        size_t a = find_definition(&old, names[i]), b = find_definition(&new, names[i]);
        fits = a < old.count && b < new.count &&same_parameters(&old, a, &new, b);
    }
    atoll_token_list_fini(&old);
    atoll_token_list_fini(&new);
    return fits;
}

int atoll_answer_is_balanced(struct atoll_answer_span source, struct atoll_arena *arena,
                             struct atoll_err *err)
{
    struct atoll_token_list list;
    const char *text = atoll_arena_text(arena, source.text, source.length, err);
    long depth = 0;
    if (!text || atoll_token_list_init(&list, text, err) != 0)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        depth += list.tokens[i].directive               ? 0
                 : atoll_token_is(&list.tokens[i], "{") ? 1
                 : atoll_token_is(&list.tokens[i], "}") ? -1
                                                        : 0;
    int balanced = depth <= 0 && list.odd_line == 0;
    atoll_token_list_fini(&list);
    return balanced;
}

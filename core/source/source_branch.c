#include "core/source/source_branch.h"

#include <stdio.h>

#include "base/arena.h"

#define CONDITION_DEPTH 64
#define CONDITION_BYTES 1024

struct condition {
    int known, active, taken; /* taken: a branch of this #if was certainly active */
};

struct filter {
    struct condition stack[CONDITION_DEPTH];
    size_t depth;
    const struct atoll_plan *plan;
    const struct atoll_choice *choice;
};

static int parameter(const struct filter *f, const struct atoll_token *name)
{
    for (size_t i = 0; f->plan && f->choice && i < f->plan->param_count && i < f->choice->count; i++) {
        if (atoll_token_is(name, f->plan->params[i].name)) {
            return (int)i;
        }
    }
    return -1;
}

/* Writes a directive's condition as an expression: parameters are bound later, defined(P) is 1. */
static int condition_text(const struct filter *f, const struct atoll_token *t, const struct atoll_token *end,
                          char *ret)
{
    size_t used = 0;
    for (; t < end && used + t->length + 4 < CONDITION_BYTES; t++) {
        if (atoll_token_is(t, "defined")) {
            const struct atoll_token *name = t + 1 < end && atoll_token_is(t + 1, "(") ? t + 2 : t + 1;
            if (name >= end || parameter(f, name) < 0) {
                return -1;
            }
            used += (size_t)snprintf(ret + used, CONDITION_BYTES - used, " 1");
            t = name > t + 1 ? name + 1 : name;
            continue;
        }
        used += (size_t)snprintf(ret + used, CONDITION_BYTES - used, " %.*s", (int)t->length, t->text);
    }
    return t < end ? -1 : 0;
}

/* 1 or 0, or -1 when it takes more than parameters and integers to know. */
static int evaluate(const struct filter *f, const struct atoll_token *begin, const struct atoll_token *end)
{
    char text[CONDITION_BYTES] = "";
    struct atoll_binding bindings[ATOLL_PLAN_PARAM_LIMIT];
    size_t n = 0;
    int64_t value = 0;
    if (condition_text(f, begin, end, text)) {
        return -1;
    }
    for (; f->plan && f->choice && n < f->plan->param_count && n < f->choice->count; n++) {
        bindings[n] = (struct atoll_binding){f->plan->params[n].name, f->choice->values[n]};
    }
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    const struct atoll_expression *e = arena ? atoll_expression_parse(arena, text, NULL) : NULL;
    int rc = e && !atoll_expression_eval(e, bindings, n, &value, NULL) ? value != 0 : -1;
    atoll_arena_destroy(arena);
    return rc;
}

static void set_branch(struct condition *c, int value)
{
    c->known = value >= 0;
    c->active = c->taken ? 0 : value != 0;
    c->taken |= value == 1;
}

static void open_condition(struct filter *f, int value)
{
    if (f->depth < CONDITION_DEPTH) {
        f->stack[f->depth] = (struct condition){0, 0, 0};
        set_branch(&f->stack[f->depth], value);
    }
    f->depth++;
}

static void conditional(struct filter *f, const struct atoll_token *name, const struct atoll_token *end)
{
    struct condition *c = f->depth && f->depth <= CONDITION_DEPTH ? &f->stack[f->depth - 1] : NULL;
    if (atoll_token_is(name, "if")) {
        open_condition(f, evaluate(f, name + 1, end));
    } else if (atoll_token_is(name, "ifdef") || atoll_token_is(name, "ifndef")) {
        int is_parameter = name + 1 < end && parameter(f, name + 1) >= 0;
        open_condition(f, is_parameter ? atoll_token_is(name, "ifdef") : -1);
    } else if (atoll_token_is(name, "elif") && c) {
        set_branch(c, evaluate(f, name + 1, end));
    } else if (atoll_token_is(name, "else") && c) {
        set_branch(c, c->taken ? 0 : 1);
    } else if (atoll_token_is(name, "endif") && f->depth) {
        f->depth--;
    }
}

static int is_active(const struct filter *f)
{
    for (size_t i = 0; i < f->depth && i < CONDITION_DEPTH; i++) {
        if (!f->stack[i].active) {
            return 0;
        }
    }
    return 1;
}

size_t atoll_source_branch_keep(const struct atoll_token *tokens, size_t count, const struct atoll_plan *plan,
                                const struct atoll_choice *choice, struct atoll_token *ret_tokens)
{
    struct filter f = {.plan = plan, .choice = choice};
    size_t kept = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && tokens[i].directive && tokens[end].directive && !tokens[end].first) {
            end++;
        }
        if (tokens[i].directive && end > i + 1) {
            conditional(&f, &tokens[i + 1], &tokens[end]);
        }
        int keep = !tokens[i].directive || (end > i + 1 && (atoll_token_is(&tokens[i + 1], "pragma") ||
                                                            atoll_token_is(&tokens[i + 1], "define")));
        for (size_t k = i; k < end && keep && is_active(&f); k++) {
            ret_tokens[kept++] = tokens[k];
        }
        i = end;
    }
    return kept;
}

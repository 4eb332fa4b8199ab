/* behaviour_sums.c - what assignments in loops say: sums, stores, blocks of results, running values. */
#include "core/behaviour/behaviour_sign.h"

#include <string.h>

#define DECLARATION_TOKENS 64 /* looked at before a name */

/* What is asked of assignments often enough to be worked out once. */
struct facts {
    unsigned char sums[ATOLL_ASSIGNMENT_LIMIT]; /* accumulates into a scalar of a loop */
    unsigned char
        locals[ATOLL_ASSIGNMENT_LIMIT]; /* writes an array of the function's own, or shared memory */
    unsigned char shared[ATOLL_ASSIGNMENT_LIMIT];
};

static size_t statement_begin(const struct atoll_loop_list *l, size_t at)
{
    size_t least = at > DECLARATION_TOKENS ? at - DECLARATION_TOKENS : 0;
    while (at > least && !atoll_sign_is(l, at - 1, ";") && !atoll_sign_is(l, at - 1, "{") &&
           !atoll_sign_is(l, at - 1, "}")) {
        at--;
    }
    return at;
}

/* "type name[", or a later name of such a declaration. */
static int declares(const struct atoll_loop_list *l, size_t at)
{
    if (l->tokens[at - 1].kind == ATOLL_TOKEN_NAME)
        return !atoll_sign_is(l, at - 1, "return") && !atoll_sign_is(l, at - 1, "else");
    size_t begin = statement_begin(l, at);
    int depth = 0;
    if (!atoll_sign_is(l, at - 1, ",") || begin + 1 >= at || l->tokens[begin].kind != ATOLL_TOKEN_NAME ||
        l->tokens[begin + 1].kind != ATOLL_TOKEN_NAME) {
        return 0;
    }
    for (size_t i = begin; i < at; i++) {
        depth += (atoll_sign_is(l, i, "(") || atoll_sign_is(l, i, "[")) -
                 (atoll_sign_is(l, i, ")") || atoll_sign_is(l, i, "]"));
    }
    return depth == 0;
}

static int is_local_array(const struct atoll_loop_list *l, const struct atoll_token *name)
{
    int depth = 0;
    for (size_t i = 1; i + 1 < l->token_count; i++) {
        depth += atoll_sign_is(l, i, "{") ? 1 : atoll_sign_is(l, i, "}") ? -1 : 0;
        if (depth > 0 && atoll_token_same(&l->tokens[i], name) && atoll_sign_is(l, i + 1, "[")) {
            if (declares(l, i))
                return 1;
        }
    }
    return 0;
}

static int is_compound(const struct atoll_loop_list *l, const struct atoll_assignment *a)
{
    return atoll_sign_is(l, a->op, "+=") ||
           (atoll_sign_is(l, a->op, "=") && atoll_loop_mentions(l, a->op + 1, a->end, a->base));
}

static int is_loop_variable(const struct atoll_loop_list *l, const struct atoll_token *name)
{
    for (size_t i = 0; i < l->loop_count; i++)
        if (l->loops[i].variable && atoll_token_same(l->loops[i].variable, name))
            return 1;
    return 0;
}

/* As an earlier assignment to the same array found out. */
static int is_local(const struct atoll_loop_list *l, const struct facts *f, size_t assignment)
{
    const struct atoll_token *base = l->assignments[assignment].base;
    for (size_t i = 0; i < assignment; i++)
        if (l->assignments[i].is_element && atoll_token_same(l->assignments[i].base, base))
            return f->locals[i];
    return is_local_array(l, base);
}

static void know_assignments(const struct atoll_loop_list *l, struct facts *f)
{
    struct atoll_sign_names shared;
    atoll_sign_find_shared(l, &shared);
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        f->sums[i] = a->loop >= 0 && !a->is_element && is_compound(l, a) && !is_loop_variable(l, a->base);
        f->shared[i] = a->is_element && atoll_sign_has_name(&shared, a->base) ? 1 : 0;
        f->locals[i] = a->is_element && (f->shared[i] || is_local(l, f, i)) ? 1 : 0;
    }
}

/* Names are the same up to trailing digits: s0 s1, acc_2. */
static size_t stem(const struct atoll_token *t)
{
    size_t n = t->length;
    while (n > 1 && t->text[n - 1] >= '0' && t->text[n - 1] <= '9')
        n--;
    return n;
}

static size_t skip_index(const struct atoll_loop_list *l, size_t at, size_t end)
{
    int depth = 0;
    for (; at < end; at++) {
        depth += atoll_sign_is(l, at, "[") ? 1 : atoll_sign_is(l, at, "]") ? -1 : 0;
        if (depth == 0)
            break;
    }
    return at;
}

/* Right sides compare with indices and trailing digits left out: x[i] and x[i + 1] are the same operation. */
static int same_operation(const struct atoll_loop_list *l, const struct atoll_assignment *a,
                          const struct atoll_assignment *b)
{
    size_t i = a->op, k = b->op;
    for (; i < a->end && k < b->end; i++, k++) {
        i = atoll_sign_is(l, i, "[") ? skip_index(l, i, a->end) : i;
        k = atoll_sign_is(l, k, "[") ? skip_index(l, k, b->end) : k;
        if (i >= a->end || k >= b->end)
            break;
        const struct atoll_token *x = &l->tokens[i], *y = &l->tokens[k];
        if (stem(x) != stem(y) || memcmp(x->text, y->text, stem(x)) != 0)
            return 0;
    }
    return i >= a->end && k >= b->end;
}

/* Two sums in one loop: of the same operation they split one sum, of different ones they are one pass for two
 * results. */
static void see_sums(const struct atoll_loop_list *l, const struct facts *f, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        for (size_t k = 0; k < i && f->sums[i]; k++) {
            const struct atoll_assignment *other = &l->assignments[k];
            if (other->loop != a->loop || !f->sums[k] || atoll_token_same(a->base, other->base))
                continue;
            atoll_sign_mark(b,
                            same_operation(l, a, other) ? ATOLL_SIGN_SPLIT_SUM : ATOLL_SIGN_SEVERAL_RESULTS);
        }
    }
}

/* A loop that stores results and sums, or stores to several arrays. */
static void see_stores(const struct atoll_loop_list *l, const struct facts *f, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (a->loop < 0 || !a->is_element || f->locals[i])
            continue;
        for (size_t k = 0; k < l->assignment_count; k++) {
            const struct atoll_assignment *other = &l->assignments[k];
            if (other->loop != a->loop || k == i)
                continue;
            if (f->sums[k])
                atoll_sign_mark(b, ATOLL_SIGN_STORE_AND_SUM);
            if (other->is_element && !f->locals[k] && !atoll_token_same(other->base, a->base))
                atoll_sign_mark(b, ATOLL_SIGN_SEVERAL_RESULTS);
        }
    }
}

/* Whether elements of an array are summed into something else: then it is a split sum, not a block of
 * results. */
static int is_summed_up(const struct atoll_loop_list *l, const struct facts *f,
                        const struct atoll_token *array)
{
    for (size_t i = 0; i < l->assignment_count; i++)
        if (f->sums[i] && atoll_loop_mentions(l, l->assignments[i].op + 1, l->assignments[i].end, array))
            return 1;
    return 0;
}

static int is_copy(const struct atoll_loop_list *l, const struct atoll_assignment *a)
{
    if (!atoll_sign_is(l, a->op, "=") || a->op + 2 >= a->end ||
        l->tokens[a->op + 1].kind != ATOLL_TOKEN_NAME || !atoll_sign_is(l, a->op + 2, "[")) {
        return 0;
    }
    size_t at = a->op + 2;
    while (at < a->end && atoll_sign_is(l, at, "["))
        at = skip_index(l, at, a->end) + 1;
    return at >= a->end;
}

static void see_blocks(const struct atoll_loop_list *l, const struct facts *f, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (a->loop < 0 || !f->locals[i] || f->shared[i])
            continue;
        if (is_copy(l, a)) {
            atoll_sign_mark(b, ATOLL_SIGN_PACKING);
        } else if (is_compound(l, a)) {
            atoll_sign_mark(b,
                            is_summed_up(l, f, a->base) ? ATOLL_SIGN_SPLIT_SUM : ATOLL_SIGN_REGISTER_BLOCK);
        }
    }
}

/* Welford: d = x - m; m += d / n. */
static void see_running_mean(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *mean = &l->assignments[i];
        if (mean->loop < 0 || !atoll_sign_is(l, mean->op, "+="))
            continue;
        for (size_t k = 0; k < i; k++) {
            const struct atoll_assignment *delta = &l->assignments[k];
            if (delta->loop == mean->loop && atoll_sign_is(l, delta->op, "=") &&
                atoll_sign_is(l, delta->end - 2, "-") &&
                atoll_token_same(&l->tokens[delta->end - 1], mean->base) &&
                atoll_loop_mentions(l, mean->op + 1, mean->end, delta->base)) {
                atoll_sign_mark(b, ATOLL_SIGN_RUNNING_MEAN);
            }
        }
    }
}

/* s += x[new] - x[old]: a window that slides. */
static void see_sliding(const struct atoll_loop_list *l, const struct facts *f, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (!f->sums[i] || a->op + 1 >= a->end || l->tokens[a->op + 1].kind != ATOLL_TOKEN_NAME ||
            !atoll_sign_is(l, a->op + 2, "[")) {
            continue;
        }
        size_t at = skip_index(l, a->op + 2, a->end) + 1;
        if (atoll_sign_is(l, at, "-") && at + 1 < a->end &&
            atoll_token_same(&l->tokens[at + 1], &l->tokens[a->op + 1]) && atoll_sign_is(l, at + 2, "[")) {
            atoll_sign_mark(b, ATOLL_SIGN_SLIDING);
        }
    }
}

void atoll_sign_see_sums(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    struct facts f = {{0}, {0}, {0}};
    know_assignments(l, &f);
    see_sums(l, &f, b);
    see_stores(l, &f, b);
    see_blocks(l, &f, b);
    see_sliding(l, &f, b);
    see_running_mean(l, b);
}

#include "core/behaviour/behaviour_sign.h"

#define INDEX_TOKENS 256
#define NEST_DEPTH   8

static int range_is_min(const struct atoll_loop_list *l, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (atoll_sign_is(l, i, "?") || atoll_sign_is(l, i, "MIN") || atoll_sign_is(l, i, "min"))
            return 1;
    return 0;
}

/* Whether a loop starts or ends by the variable of one around it, or by a name made from that variable. */
static int follows(const struct atoll_loop_list *l, const struct atoll_loop *inner, int outer)
{
    const struct atoll_token *variable = l->loops[outer].variable;
    if (!variable || atoll_token_same(variable, inner->variable))
        return 0;
    if (atoll_loop_mentions(l, inner->header_begin, inner->header_end, variable))
        return 1;
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (a->loop == outer && !a->is_element &&
            atoll_loop_mentions(l, inner->header_begin, inner->header_end, a->base) &&
            atoll_loop_mentions(l, a->op + 1, a->end, variable)) {
            return 1;
        }
    }
    return 0;
}

/* A tile: an outer loop with a step, and a loop inside that follows it; or an outer loop that counts tiles,
 * followed by two loops, one in the other.  One loop that follows a counting loop is a chunk: how work is
 * dealt out, no blocking. */
static void see_tiles(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->loop_count; i++) {
        const struct atoll_loop *inner = &l->loops[i];
        int depth = 0;
        for (int k = inner->parent; k >= 0 && depth < NEST_DEPTH; k = l->loops[k].parent, depth++) {
            if (!follows(l, inner, k))
                continue;
            int twice = inner->parent != k && inner->parent >= 0 && follows(l, &l->loops[inner->parent], k);
            atoll_sign_mark(b,
                            !l->loops[k].unit_step || twice ? ATOLL_SIGN_TILE_LOOP : ATOLL_SIGN_CHUNK_LOOP);
        }
    }
}

/* A loop that steps by a named width and cuts the last piece short, whatever then works on the piece. */
static void see_tails(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        const struct atoll_loop *loop = a->loop >= 0 ? &l->loops[a->loop] : NULL;
        if (loop && loop->step && loop->step->kind == ATOLL_TOKEN_NAME && !a->is_element &&
            range_is_min(l, a->op + 1, a->end) && atoll_loop_mentions(l, a->op + 1, a->end, loop->variable)) {
            atoll_sign_mark(b, ATOLL_SIGN_NAMED_TAIL);
        }
    }
}

/* An index ends with the variable and nothing multiplies it: neighbours in memory. */
static int is_contiguous_index(const struct atoll_loop_list *l, size_t open,
                               const struct atoll_token *variable)
{
    int found = 0;
    for (size_t i = open + 1; i < l->token_count && !atoll_sign_is(l, i, "]"); i++) {
        if (!atoll_token_same(&l->tokens[i], variable))
            continue;
        if (atoll_sign_is(l, i + 1, "*") || atoll_sign_is(l, i - 1, "*") || atoll_sign_is(l, i + 1, "/") ||
            atoll_sign_is(l, i + 1, "%")) {
            return 0;
        }
        found = 1;
    }
    return found;
}

static int uses_restrict(const struct atoll_loop_list *l)
{
    for (size_t i = 0; i < l->token_count; i++) {
        if (atoll_sign_is(l, i, "restrict") || atoll_sign_is(l, i, "__restrict") ||
            atoll_sign_is(l, i, "__restrict__")) {
            return 1;
        }
    }
    return 0;
}

/* Innermost loops of unit step whose every indexed access is contiguous or fixed. */
static void see_contiguous(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    if (!uses_restrict(l))
        return;
    for (size_t i = 0; i < l->loop_count; i++) {
        const struct atoll_loop *loop = &l->loops[i];
        size_t good = 0, bad = 0;
        if (!loop->is_innermost || !loop->unit_step || !loop->variable)
            continue;
        for (size_t k = loop->body_begin; k < loop->body_end; k++) {
            if (!atoll_sign_is(l, k, "["))
                continue;
            size_t end = k;
            while (end < loop->body_end && end < k + INDEX_TOKENS && !atoll_sign_is(l, end, "]"))
                end++;
            int uses = atoll_loop_mentions(l, k, end, loop->variable);
            int fits = uses && is_contiguous_index(l, k, loop->variable);
            good += fits ? 1u : 0u;
            bad += uses && !fits ? 1u : 0u;
        }
        if (good && !bad)
            atoll_sign_mark(b, ATOLL_SIGN_CONTIGUOUS);
    }
}

static int range_has(const struct atoll_loop_list *l, size_t begin, size_t end, const char *const *texts,
                     size_t count)
{
    for (size_t i = begin; i < end; i++) {
        for (size_t k = 0; k < count; k++)
            if (atoll_sign_is(l, i, texts[k]))
                return 1;
    }
    return 0;
}

/* Online softmax: in one loop a running maximum, an exponential of a difference, and a sum that is rescaled.
 */
static void see_rescale(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    static const char *const maxima[] = {"fmax", "fmaxf",           "max",          "MAX",
                                         ">",    "__builtin_fmaxf", "_mm256_max_ps"};
    static const char *const exponentials[] = {"exp",           "expf",   "exp2", "exp2f", "__builtin_expf",
                                               "__builtin_exp", "__expf", "ex2"};
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (a->loop < 0 || a->is_element)
            continue;
        const struct atoll_loop *loop = &l->loops[a->loop];
        int rescales = atoll_sign_is(l, a->op, "*=") ||
                       (atoll_sign_is(l, a->op, "=") && atoll_sign_is(l, a->op + 2, "*") &&
                        atoll_token_same(&l->tokens[a->op + 1], a->base));
        if (rescales && range_has(l, loop->body_begin, loop->body_end, maxima, 7) &&
            range_has(l, loop->body_begin, loop->body_end, exponentials, 8)) {
            atoll_sign_mark(b, ATOLL_SIGN_RUNNING_RESCALE);
        }
    }
}

void atoll_sign_see_loops(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    see_tiles(l, b);
    see_tails(l, b);
    see_contiguous(l, b);
    see_rescale(l, b);
}

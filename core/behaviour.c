/* behaviour.c - the cell of a C source.  Signs are collected on a board: each construct belongs to one
 * category and gives its weight to one (dimension, level) once, however often it stands there.  A level is
 * reached when its categories together reach its threshold; the highest reached level counts.  Branches of
 * #if over parameters that are false for the choice are left out; what cannot be decided stays in. */
#include "core/behaviour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/source_loop.h"
#include "core/source_token.h"

#define CONDITION_DEPTH 64
#define CONDITION_BYTES 1024
#define THRESHOLD       2
#define TOKEN_LIMIT     32768 /* what comes later does not move the cell */
#define INDEX_TOKENS    256
#define NEST_DEPTH      8

enum dimension { MEMORY, ALGORITHM, COORDINATION, DIMENSION_COUNT };

enum category {
    VECTOR_TYPES,
    SIMD_HINT,
    CONTIGUOUS,
    ALIGNED, /* memory 1 */
    TILE_LOOP,
    CHUNK_LOOP,
    NAMED_TAIL, /* memory 2 */
    REGISTER_BLOCK,
    PACKING,
    PREFETCH, /* memory 3 */
    SEVERAL_RESULTS,
    STORE_AND_SUM, /* algorithm 1 */
    RUNNING_RESCALE,
    RUNNING_MEAN,
    SLIDING,
    APPROXIMATE, /* algorithm 2 */
    RECURSION,
    NAMED_METHOD, /* algorithm 3 */
    SPLIT_SUM,
    REDUCE_CLAUSE,
    HORIZONTAL, /* coordination 1 */
    PHASES,     /* coordination 2 */
    ATOMIC,     /* coordination 3 */
    CATEGORY_COUNT
};

/* Which level a category speaks for, and how strongly. */
static const struct {
    unsigned char dimension, level, weight;
} categories[CATEGORY_COUNT] = {
    [VECTOR_TYPES] = {MEMORY, 1, 2},
    [SIMD_HINT] = {MEMORY, 1, 2},
    [CONTIGUOUS] = {MEMORY, 1, 2},
    [ALIGNED] = {MEMORY, 1, 1},
    [TILE_LOOP] = {MEMORY, 2, 2},
    [CHUNK_LOOP] = {MEMORY, 2, 1},
    [NAMED_TAIL] = {MEMORY, 2, 2},
    [REGISTER_BLOCK] = {MEMORY, 3, 2},
    [PACKING] = {MEMORY, 3, 2},
    [PREFETCH] = {MEMORY, 3, 2},
    [SEVERAL_RESULTS] = {ALGORITHM, 1, 2},
    [STORE_AND_SUM] = {ALGORITHM, 1, 2},
    [RUNNING_RESCALE] = {ALGORITHM, 2, 2},
    [RUNNING_MEAN] = {ALGORITHM, 2, 2},
    [SLIDING] = {ALGORITHM, 2, 2},
    [APPROXIMATE] = {ALGORITHM, 2, 2},
    [RECURSION] = {ALGORITHM, 3, 2},
    [NAMED_METHOD] = {ALGORITHM, 3, 2},
    [SPLIT_SUM] = {COORDINATION, 1, 2},
    [REDUCE_CLAUSE] = {COORDINATION, 1, 2},
    [HORIZONTAL] = {COORDINATION, 1, 2},
    [PHASES] = {COORDINATION, 2, 2},
    [ATOMIC] = {COORDINATION, 3, 2},
};

enum match { EXACT, PREFIX, INSIDE };

/* Names whose presence is the sign. */
static const struct {
    enum match match;
    const char *text;
    enum category category;
} names[] = {
    {PREFIX, "_mm256_", VECTOR_TYPES},
    {PREFIX, "_mm512_", VECTOR_TYPES},
    {PREFIX, "_mm_load", VECTOR_TYPES},
    {PREFIX, "_mm_store", VECTOR_TYPES},
    {PREFIX, "__m128", VECTOR_TYPES},
    {PREFIX, "__m256", VECTOR_TYPES},
    {PREFIX, "__m512", VECTOR_TYPES},
    {PREFIX, "vld1", VECTOR_TYPES},
    {PREFIX, "vst1", VECTOR_TYPES},
    {PREFIX, "float32x", VECTOR_TYPES},
    {EXACT, "vector_size", VECTOR_TYPES},
    {EXACT, "ext_vector_type", VECTOR_TYPES},
    {EXACT, "simd", SIMD_HINT},
    {EXACT, "ivdep", SIMD_HINT},
    {EXACT, "vectorize", SIMD_HINT},
    {EXACT, "__builtin_assume_aligned", ALIGNED},
    {EXACT, "aligned", ALIGNED},
    {EXACT, "alignas", ALIGNED},
    {EXACT, "_Alignas", ALIGNED},
    {EXACT, "__builtin_prefetch", PREFETCH},
    {EXACT, "_mm_prefetch", PREFETCH},
    {INSIDE, "strassen", NAMED_METHOD},
    {INSIDE, "winograd", NAMED_METHOD},
    {INSIDE, "twiddle", NAMED_METHOD},
    {INSIDE, "butterfly", NAMED_METHOD},
    {INSIDE, "karatsuba", NAMED_METHOD},
    {EXACT, "reduction", REDUCE_CLAUSE},
    {PREFIX, "_mm512_reduce_", HORIZONTAL},
    {PREFIX, "_mm256_hadd", HORIZONTAL},
    {PREFIX, "_mm_hadd", HORIZONTAL},
    {PREFIX, "vaddvq", HORIZONTAL},
    {PREFIX, "vmaxvq", HORIZONTAL},
    {PREFIX, "__builtin_reduce_", HORIZONTAL},
    {EXACT, "_mm256_extractf128_ps", HORIZONTAL},
    {PREFIX, "__atomic_", ATOMIC},
    {PREFIX, "__sync_", ATOMIC},
    {EXACT, "_Atomic", ATOMIC},
};

/* What was seen, and what is asked of assignments often enough to be worked out once. */
struct board {
    unsigned char seen[CATEGORY_COUNT];
    unsigned char sums[ATOLL_ASSIGNMENT_LIMIT];   /* accumulates into a scalar of a loop */
    unsigned char locals[ATOLL_ASSIGNMENT_LIMIT]; /* writes an array of the function's own */
};

static void mark(struct board *b, enum category c)
{
    b->seen[c] = 1;
}

/* ---- what of the source counts ---- */

struct condition {
    int known, active, taken; /* taken: a branch of this #if was certainly active */
};

struct filter {
    struct atoll_token *out;
    size_t count;
    struct condition stack[CONDITION_DEPTH];
    size_t depth;
    const struct atoll_plan *plan;
    const struct atoll_choice *choice;
};

static int parameter(const struct filter *f, const struct atoll_token *name)
{
    for (size_t i = 0; f->plan && f->choice && i < f->plan->param_count && i < f->choice->count; i++)
        if (atoll_token_is(name, f->plan->params[i].name))
            return (int)i;
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
            if (name >= end || parameter(f, name) < 0)
                return -1;
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
    if (condition_text(f, begin, end, text))
        return -1;
    for (; f->plan && f->choice && n < f->plan->param_count && n < f->choice->count; n++)
        bindings[n] = (struct atoll_binding){f->plan->params[n].name, f->choice->values[n]};
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
    for (size_t i = 0; i < f->depth && i < CONDITION_DEPTH; i++)
        if (!f->stack[i].active)
            return 0;
    return 1;
}

/* Keeps code, pragmas and macro bodies of active branches, in place. */
static size_t filter_tokens(struct filter *f, const struct atoll_token *tokens, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && tokens[i].directive && tokens[end].directive && !tokens[end].first)
            end++;
        if (tokens[i].directive && end > i + 1)
            conditional(f, &tokens[i + 1], &tokens[end]);
        int keep = !tokens[i].directive || (end > i + 1 && (atoll_token_is(&tokens[i + 1], "pragma") ||
                                                            atoll_token_is(&tokens[i + 1], "define")));
        for (size_t k = i; k < end && keep && is_active(f); k++)
            f->out[f->count++] = tokens[k];
        i = end;
    }
    return f->count;
}

/* ---- signs in single names ---- */

static int matches(const struct atoll_token *t, enum match match, const char *text)
{
    size_t n = strlen(text);
    if (match == EXACT)
        return atoll_token_is(t, text);
    if (match == PREFIX)
        return atoll_token_starts(t, text);
    for (size_t i = 0; i + n <= t->length; i++)
        if (strncasecmp(t->text + i, text, n) == 0)
            return 1;
    return 0;
}

static void see_names(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->token_count; i++)
        for (size_t k = 0; l->tokens[i].kind == ATOLL_TOKEN_NAME && k < sizeof names / sizeof *names; k++)
            if (matches(&l->tokens[i], names[k].match, names[k].text))
                mark(b, names[k].category);
}

/* ---- signs in loops ---- */

static int is(const struct atoll_loop_list *l, size_t at, const char *text)
{
    return at < l->token_count && atoll_token_is(&l->tokens[at], text);
}

static int range_is_min(const struct atoll_loop_list *l, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (is(l, i, "?") || is(l, i, "MIN") || is(l, i, "min"))
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
            atoll_loop_mentions(l, a->op + 1, a->end, variable))
            return 1;
    }
    return 0;
}

/* A tile: an outer loop with a step, and a loop inside that follows it; or an outer loop that counts tiles,
 * followed by two loops, one in the other.  One loop that follows a counting loop is a chunk: how work is
 * dealt out, no blocking. */
static void see_tiles(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->loop_count; i++) {
        const struct atoll_loop *inner = &l->loops[i];
        int depth = 0;
        for (int k = inner->parent; k >= 0 && depth < NEST_DEPTH; k = l->loops[k].parent, depth++) {
            if (!follows(l, inner, k))
                continue;
            int twice = inner->parent != k && inner->parent >= 0 && follows(l, &l->loops[inner->parent], k);
            mark(b, !l->loops[k].unit_step || twice ? TILE_LOOP : CHUNK_LOOP);
        }
    }
}

/* A loop that steps by a named width and cuts the last piece short, whatever then works on the piece. */
static void see_tails(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        const struct atoll_loop *loop = a->loop >= 0 ? &l->loops[a->loop] : NULL;
        if (loop && loop->step && loop->step->kind == ATOLL_TOKEN_NAME && !a->is_element &&
            range_is_min(l, a->op + 1, a->end) && atoll_loop_mentions(l, a->op + 1, a->end, loop->variable))
            mark(b, NAMED_TAIL);
    }
}

/* An index ends with the variable and nothing multiplies it: neighbours in memory. */
static int is_contiguous_index(const struct atoll_loop_list *l, size_t open,
                               const struct atoll_token *variable)
{
    int found = 0;
    for (size_t i = open + 1; i < l->token_count && !is(l, i, "]"); i++) {
        if (!atoll_token_same(&l->tokens[i], variable))
            continue;
        if (is(l, i + 1, "*") || is(l, i - 1, "*") || is(l, i + 1, "/") || is(l, i + 1, "%"))
            return 0;
        found = 1;
    }
    return found;
}

static int uses_restrict(const struct atoll_loop_list *l)
{
    for (size_t i = 0; i < l->token_count; i++)
        if (is(l, i, "restrict") || is(l, i, "__restrict") || is(l, i, "__restrict__"))
            return 1;
    return 0;
}

/* Innermost loops of unit step whose every indexed access is contiguous or fixed. */
static void see_contiguous(const struct atoll_loop_list *l, struct board *b)
{
    if (!uses_restrict(l))
        return;
    for (size_t i = 0; i < l->loop_count; i++) {
        const struct atoll_loop *loop = &l->loops[i];
        size_t good = 0, bad = 0;
        if (!loop->is_innermost || !loop->unit_step || !loop->variable)
            continue;
        for (size_t k = loop->body_begin; k < loop->body_end; k++) {
            if (!is(l, k, "["))
                continue;
            size_t end = k;
            while (end < loop->body_end && end < k + INDEX_TOKENS && !is(l, end, "]"))
                end++;
            int uses = atoll_loop_mentions(l, k, end, loop->variable);
            int fits = uses && is_contiguous_index(l, k, loop->variable);
            good += fits ? 1u : 0u;
            bad += uses && !fits ? 1u : 0u;
        }
        if (good && !bad)
            mark(b, CONTIGUOUS);
    }
}

/* ---- signs in assignments ---- */

static int is_local_array(const struct atoll_loop_list *l, const struct atoll_token *name)
{
    int depth = 0;
    for (size_t i = 1; i + 1 < l->token_count; i++) {
        depth += is(l, i, "{") ? 1 : is(l, i, "}") ? -1 : 0;
        if (depth > 0 && atoll_token_same(&l->tokens[i], name) && is(l, i + 1, "[") &&
            l->tokens[i - 1].kind == ATOLL_TOKEN_NAME && !is(l, i - 1, "return"))
            return 1;
    }
    return 0;
}

static int is_compound(const struct atoll_loop_list *l, const struct atoll_assignment *a)
{
    return is(l, a->op, "+=") || (is(l, a->op, "=") && atoll_loop_mentions(l, a->op + 1, a->end, a->base));
}

static int is_loop_variable(const struct atoll_loop_list *l, const struct atoll_token *name)
{
    for (size_t i = 0; i < l->loop_count; i++)
        if (l->loops[i].variable && atoll_token_same(l->loops[i].variable, name))
            return 1;
    return 0;
}

/* Accumulating scalar of a loop. */
static int is_sum(const struct atoll_loop_list *l, const struct atoll_assignment *a)
{
    return a->loop >= 0 && !a->is_element && is_compound(l, a) && !is_loop_variable(l, a->base);
}

static void know_assignments(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        b->sums[i] = is_sum(l, a) ? 1 : 0;
        b->locals[i] = a->is_element && is_local_array(l, a->base) ? 1 : 0;
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

static int same_stem(const struct atoll_token *a, const struct atoll_token *b)
{
    return stem(a) == stem(b) && memcmp(a->text, b->text, stem(a)) == 0;
}

static size_t skip_index(const struct atoll_loop_list *l, size_t at, size_t end)
{
    int depth = 0;
    for (; at < end; at++) {
        depth += is(l, at, "[") ? 1 : is(l, at, "]") ? -1 : 0;
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
        i = is(l, i, "[") ? skip_index(l, i, a->end) : i;
        k = is(l, k, "[") ? skip_index(l, k, b->end) : k;
        if (i >= a->end || k >= b->end)
            break;
        if (!same_stem(&l->tokens[i], &l->tokens[k]))
            return 0;
    }
    return i >= a->end && k >= b->end;
}

/* Two sums in one loop: of the same operation they split one sum, of different ones they are one pass for two
 * results. */
static void see_sums(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        for (size_t k = 0; k < i && b->sums[i]; k++) {
            const struct atoll_assignment *other = &l->assignments[k];
            if (other->loop != a->loop || !b->sums[k] || atoll_token_same(a->base, other->base))
                continue;
            mark(b, same_operation(l, a, other) ? SPLIT_SUM : SEVERAL_RESULTS);
        }
    }
}

/* A loop that stores results and sums, or stores to several arrays. */
static void see_stores(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (a->loop < 0 || !a->is_element || b->locals[i])
            continue;
        for (size_t k = 0; k < l->assignment_count; k++) {
            const struct atoll_assignment *other = &l->assignments[k];
            if (other->loop != a->loop || k == i)
                continue;
            if (b->sums[k])
                mark(b, STORE_AND_SUM);
            if (other->is_element && !b->locals[k] && !atoll_token_same(other->base, a->base))
                mark(b, SEVERAL_RESULTS);
        }
    }
}

/* Whether elements of an array are summed into something else: then it is a split sum, not a block of
 * results. */
static int is_summed_up(const struct atoll_loop_list *l, const struct board *b,
                        const struct atoll_token *array)
{
    for (size_t i = 0; i < l->assignment_count; i++)
        if (b->sums[i] && atoll_loop_mentions(l, l->assignments[i].op + 1, l->assignments[i].end, array))
            return 1;
    return 0;
}

static int is_copy(const struct atoll_loop_list *l, const struct atoll_assignment *a)
{
    if (!is(l, a->op, "=") || a->op + 2 >= a->end || l->tokens[a->op + 1].kind != ATOLL_TOKEN_NAME ||
        !is(l, a->op + 2, "["))
        return 0;
    size_t at = a->op + 2;
    while (at < a->end && is(l, at, "["))
        at = skip_index(l, at, a->end) + 1;
    return at >= a->end;
}

static void see_blocks(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (a->loop < 0 || !b->locals[i])
            continue;
        if (is_copy(l, a))
            mark(b, PACKING);
        else if (is_compound(l, a))
            mark(b, is_summed_up(l, b, a->base) ? SPLIT_SUM : REGISTER_BLOCK);
    }
}

/* ---- signs of algorithms ---- */

static int range_has(const struct atoll_loop_list *l, size_t begin, size_t end, const char *const *texts,
                     size_t count)
{
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < count; k++)
            if (is(l, i, texts[k]))
                return 1;
    return 0;
}

/* Online softmax: in one loop a running maximum, an exponential of a difference, and a sum that is rescaled.
 */
static void see_rescale(const struct atoll_loop_list *l, struct board *b)
{
    static const char *const maxima[] = {"fmax", "fmaxf",           "max",          "MAX",
                                         ">",    "__builtin_fmaxf", "_mm256_max_ps"};
    static const char *const exponentials[] = {"exp",   "expf",           "exp2",
                                               "exp2f", "__builtin_expf", "__builtin_exp"};
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (a->loop < 0 || a->is_element)
            continue;
        const struct atoll_loop *loop = &l->loops[a->loop];
        int rescales = is(l, a->op, "*=") || (is(l, a->op, "=") && is(l, a->op + 2, "*") &&
                                              atoll_token_same(&l->tokens[a->op + 1], a->base));
        if (rescales && range_has(l, loop->body_begin, loop->body_end, maxima, 7) &&
            range_has(l, loop->body_begin, loop->body_end, exponentials, 6))
            mark(b, RUNNING_RESCALE);
    }
}

/* Welford: d = x - m; m += d / n. */
static void see_running_mean(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *mean = &l->assignments[i];
        if (mean->loop < 0 || !is(l, mean->op, "+="))
            continue;
        for (size_t k = 0; k < i; k++) {
            const struct atoll_assignment *delta = &l->assignments[k];
            if (delta->loop == mean->loop && is(l, delta->op, "=") && is(l, delta->end - 2, "-") &&
                atoll_token_same(&l->tokens[delta->end - 1], mean->base) &&
                atoll_loop_mentions(l, mean->op + 1, mean->end, delta->base))
                mark(b, RUNNING_MEAN);
        }
    }
}

/* s += x[new] - x[old]: a window that slides. */
static void see_sliding(const struct atoll_loop_list *l, struct board *b)
{
    for (size_t i = 0; i < l->assignment_count; i++) {
        const struct atoll_assignment *a = &l->assignments[i];
        if (!b->sums[i] || a->op + 1 >= a->end || l->tokens[a->op + 1].kind != ATOLL_TOKEN_NAME ||
            !is(l, a->op + 2, "["))
            continue;
        size_t at = skip_index(l, a->op + 2, a->end) + 1;
        if (is(l, at, "-") && at + 1 < a->end &&
            atoll_token_same(&l->tokens[at + 1], &l->tokens[a->op + 1]) && is(l, at + 2, "["))
            mark(b, SLIDING);
    }
}

/* Elementary functions of one's own are built around log2(e), ln 2 or 2 / pi. */
static void see_approximations(const struct atoll_loop_list *l, struct board *b)
{
    static const char *const constants[] = {"1.4426950", "0.6931471",  "0.69314718",
                                            "1.442695",  "0.63661977", "0x1.715476"};
    for (size_t i = 0; i < l->token_count; i++)
        for (size_t k = 0;
             l->tokens[i].kind == ATOLL_TOKEN_NUMBER && k < sizeof constants / sizeof *constants; k++)
            if (atoll_token_starts(&l->tokens[i], constants[k]))
                mark(b, APPROXIMATE);
}

/* A function that calls itself. */
static void see_recursion(const struct atoll_loop_list *l, struct board *b)
{
    const struct atoll_token *function = NULL, *name = NULL;
    int depth = 0;
    for (size_t i = 0; i < l->token_count; i++) {
        if (depth == 0 && l->tokens[i].kind == ATOLL_TOKEN_NAME && is(l, i + 1, "(") &&
            !is(l, i, "__attribute__"))
            name = &l->tokens[i];
        if (is(l, i, "{") && depth++ == 0)
            function = name;
        if (is(l, i, "}") && depth > 0)
            depth--;
        if (depth > 0 && function && is(l, i + 1, "(") && atoll_token_same(&l->tokens[i], function))
            mark(b, RECURSION);
    }
}

typedef void see_signs(const struct atoll_loop_list *l, struct board *b);

static see_signs *const watchers[] = {see_names,        see_tiles,   see_tails,          see_contiguous,
                                      see_sums,         see_stores,  see_blocks,         see_rescale,
                                      see_running_mean, see_sliding, see_approximations, see_recursion};

/* ---- the cell ---- */

static unsigned char level_of(const struct board *b, unsigned dimension)
{
    unsigned score[ATOLL_BEHAVIOUR_LEVELS] = {0}, level = ATOLL_BEHAVIOUR_LEVELS - 1;
    for (unsigned c = 0; c < CATEGORY_COUNT; c++)
        if (b->seen[c] && categories[c].dimension == dimension)
            score[categories[c].level] += categories[c].weight;
    /* Several levels of memory are blocks of registers, packing or prefetch within tiles, not alone. */
    if (dimension == MEMORY && score[2] < THRESHOLD)
        score[3] = 0;
    while (level > 0 && score[level] < THRESHOLD)
        level--;
    return (unsigned char)level;
}

static struct atoll_behaviour classify_tokens(const struct atoll_token *tokens, size_t count,
                                              const struct atoll_plan *plan)
{
    struct atoll_behaviour cell = {0, 0, 0};
    struct atoll_loop_list *loops = malloc(sizeof *loops);
    struct board *board = calloc(1, sizeof *board);
    if (loops && board) {
        atoll_loop_list_find(loops, tokens, count < TOKEN_LIMIT ? count : TOKEN_LIMIT);
        know_assignments(loops, board);
        for (size_t i = 0; i < sizeof watchers / sizeof *watchers; i++)
            watchers[i](loops, board);
        if (plan && plan->launch_count > 1)
            mark(board, PHASES);
        cell.memory = level_of(board, MEMORY);
        cell.algorithm = level_of(board, ALGORITHM);
        cell.coordination = level_of(board, COORDINATION);
    }
    free(board);
    free(loops);
    return cell;
}

struct atoll_behaviour atoll_behaviour_classify(const char *language, const char *body,
                                                const struct atoll_plan *plan,
                                                const struct atoll_choice *choice)
{
    struct atoll_behaviour cell = {0, 0, 0};
    struct atoll_token_list list;
    if (strcmp(language, "c") != 0 || atoll_token_list_init(&list, body, NULL))
        return cell;
    struct filter *f = calloc(1, sizeof *f);
    struct atoll_token *kept = malloc((list.count + 1) * sizeof *kept);
    if (f && kept) {
        f->out = kept;
        f->plan = plan;
        f->choice = choice;
        cell = classify_tokens(kept, filter_tokens(f, list.tokens, list.count), plan);
    }
    free(kept);
    free(f);
    atoll_token_list_fini(&list);
    return cell;
}

const char *atoll_behaviour_dimension_name(unsigned dimension)
{
    static const char *const texts[] = {"memory", "algorithm", "coordination"};
    return dimension < DIMENSION_COUNT ? texts[dimension] : "unknown";
}

const char *atoll_behaviour_level_text(unsigned dimension, unsigned level)
{
    static const char *const texts[DIMENSION_COUNT][ATOLL_BEHAVIOUR_LEVELS] = {
        {"scalar or strided access", "vectorised contiguous access", "cache blocking",
         "several levels: tiles with register blocks, packing or prefetch"},
        {"direct translation of the reference", "fused, one pass over the data",
         "reformulated: online, running or approximated", "structurally new algorithm"},
        {"none, independent units", "reductions over several accumulators", "several phases",
         "atomics between units"},
    };
    return dimension < DIMENSION_COUNT && level < ATOLL_BEHAVIOUR_LEVELS ? texts[dimension][level]
                                                                         : "unknown";
}

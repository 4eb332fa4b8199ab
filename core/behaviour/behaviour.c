/* behaviour.c - the cell of a source.  Signs are collected on a board; each gives its weight to one (dimension,
 * level).  A level is reached when its signs together reach its threshold; the highest reached level counts.
 * Branches of #if over parameters that are false for the choice are left out; what cannot be decided stays in. */
#include "core/behaviour/behaviour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "core/behaviour/behaviour_sign.h"
#include "core/behaviour/behaviour_triton.h"

#define THRESHOLD       2
#define CONDITION_DEPTH 64
#define CONDITION_BYTES 1024
#define TOKEN_LIMIT     32768 /* what comes later does not move the cell */

enum dimension { MEMORY, ALGORITHM, COORDINATION, DIMENSION_COUNT };

/* Which level a sign speaks for, and how strongly; what is not listed says nothing in that language. */
struct weight {
    unsigned char dimension, level, weight;
};

static const struct weight c_weights[ATOLL_SIGN_COUNT] = {
    [ATOLL_SIGN_VECTOR_TYPES] = {MEMORY, 1, 2},
    [ATOLL_SIGN_SIMD_HINT] = {MEMORY, 1, 2},
    [ATOLL_SIGN_CONTIGUOUS] = {MEMORY, 1, 2},
    [ATOLL_SIGN_ALIGNED] = {MEMORY, 1, 1},
    [ATOLL_SIGN_TILE_LOOP] = {MEMORY, 2, 2},
    [ATOLL_SIGN_CHUNK_LOOP] = {MEMORY, 2, 1},
    [ATOLL_SIGN_NAMED_TAIL] = {MEMORY, 2, 2},
    [ATOLL_SIGN_REGISTER_BLOCK] = {MEMORY, 3, 2},
    [ATOLL_SIGN_PACKING] = {MEMORY, 3, 2},
    [ATOLL_SIGN_PREFETCH] = {MEMORY, 3, 2},
    [ATOLL_SIGN_SEVERAL_RESULTS] = {ALGORITHM, 1, 2},
    [ATOLL_SIGN_STORE_AND_SUM] = {ALGORITHM, 1, 2},
    [ATOLL_SIGN_RUNNING_RESCALE] = {ALGORITHM, 2, 2},
    [ATOLL_SIGN_RUNNING_MEAN] = {ALGORITHM, 2, 2},
    [ATOLL_SIGN_SLIDING] = {ALGORITHM, 2, 2},
    [ATOLL_SIGN_APPROXIMATE] = {ALGORITHM, 2, 2},
    [ATOLL_SIGN_RECURSION] = {ALGORITHM, 3, 2},
    [ATOLL_SIGN_NAMED_METHOD] = {ALGORITHM, 3, 2},
    [ATOLL_SIGN_SPLIT_SUM] = {COORDINATION, 1, 2},
    [ATOLL_SIGN_REDUCE_CLAUSE] = {COORDINATION, 1, 2},
    [ATOLL_SIGN_HORIZONTAL] = {COORDINATION, 1, 2},
    [ATOLL_SIGN_PHASES] = {COORDINATION, 2, 2},
    [ATOLL_SIGN_ATOMIC] = {COORDINATION, 3, 2},
};

static const struct weight device_weights[ATOLL_SIGN_COUNT] = {
    [ATOLL_SIGN_VECTOR_TYPES] = {MEMORY, 1, 2},
    [ATOLL_SIGN_COALESCED] = {MEMORY, 1, 2},
    [ATOLL_SIGN_ALIGNED] = {MEMORY, 1, 1},
    [ATOLL_SIGN_CACHE_LOAD] = {MEMORY, 1, 1},
    [ATOLL_SIGN_SHARED_TILE] = {MEMORY, 2, 2},
    [ATOLL_SIGN_REGISTER_BLOCK] = {MEMORY, 3, 2},
    [ATOLL_SIGN_FRAGMENT] = {MEMORY, 3, 2},
    [ATOLL_SIGN_ASYNC_COPY] = {MEMORY, 3, 2},
    [ATOLL_SIGN_PREFETCH] = {MEMORY, 3, 2},
    [ATOLL_SIGN_STAGES] = {MEMORY, 3, 1},
    [ATOLL_SIGN_SEVERAL_RESULTS] = {ALGORITHM, 1, 2},
    [ATOLL_SIGN_STORE_AND_SUM] = {ALGORITHM, 1, 2},
    [ATOLL_SIGN_ROW_CACHE] = {ALGORITHM, 1, 2},
    [ATOLL_SIGN_RUNNING_RESCALE] = {ALGORITHM, 2, 2},
    [ATOLL_SIGN_RUNNING_MEAN] = {ALGORITHM, 2, 2},
    [ATOLL_SIGN_SLIDING] = {ALGORITHM, 2, 2},
    [ATOLL_SIGN_APPROXIMATE] = {ALGORITHM, 2, 2},
    [ATOLL_SIGN_RECURSION] = {ALGORITHM, 3, 2},
    [ATOLL_SIGN_NAMED_METHOD] = {ALGORITHM, 3, 2},
    [ATOLL_SIGN_BARRIER] = {COORDINATION, 1, 2},
    [ATOLL_SIGN_SHUFFLE] = {COORDINATION, 2, 2},
    [ATOLL_SIGN_PHASES] = {COORDINATION, 3, 2},
    [ATOLL_SIGN_GRID_SYNC] = {COORDINATION, 3, 2},
    [ATOLL_SIGN_CLUSTER] = {COORDINATION, 3, 2},
    [ATOLL_SIGN_ATOMIC] = {COORDINATION, 3, 2},
    [ATOLL_SIGN_PERSISTENT] = {COORDINATION, 3, 2},
    [ATOLL_SIGN_REGISTER_ROLES] = {COORDINATION, 2, 2},
    [ATOLL_SIGN_PRODUCER] = {COORDINATION, 2, 1},
    [ATOLL_SIGN_CONSUMER] = {COORDINATION, 2, 1},
};

static unsigned char level_of(const struct atoll_sign_board *b, const struct weight *weights,
                              unsigned dimension)
{
    unsigned score[ATOLL_BEHAVIOUR_LEVELS] = {0}, level = ATOLL_BEHAVIOUR_LEVELS - 1;
    for (unsigned c = 0; c < ATOLL_SIGN_COUNT; c++)
        if (b->seen[c] && weights[c].dimension == dimension)
            score[weights[c].level] += weights[c].weight;
    /* Several levels of memory are blocks of registers, packing or prefetch within tiles, not alone. */
    if (dimension == MEMORY && score[2] < THRESHOLD)
        score[3] = 0;
    while (level > 0 && score[level] < THRESHOLD)
        level--;
    return (unsigned char)level;
}

static void see_plan(const struct atoll_plan *plan, struct atoll_sign_board *b)
{
    /* What a path does counts, not how many there are. */
    for (size_t i = 0; i < plan->path_count; i++)
        if (plan->paths[i].count > 1)
            atoll_sign_mark(b, ATOLL_SIGN_PHASES);
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct atoll_launch *l = &plan->launches[i];
        if (l->cooperative)
            atoll_sign_mark(b, ATOLL_SIGN_GRID_SYNC);
        if (l->cluster[0])
            atoll_sign_mark(b, ATOLL_SIGN_CLUSTER);
        for (size_t k = 0; k < l->arg_count; k++) {
            if (l->args[k].kind == ATOLL_ARG_TENSORMAP) {
                atoll_sign_mark(b, ATOLL_SIGN_SHARED_TILE);
                atoll_sign_mark(b, ATOLL_SIGN_ASYNC_COPY);
            }
        }
    }
}

/* ---- the branches of #if over parameters that a choice leaves; odd nesting keeps too much or too little ---- */

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

/* Copies the code, pragmas and macro bodies of active branches into ret_tokens, which has room for count;
 * returns how many.  plan and choice may be NULL: then no name is a parameter. */
static size_t keep_active(const struct atoll_token *tokens, size_t count, const struct atoll_plan *plan,
                          const struct atoll_choice *choice, struct atoll_token *ret_tokens)
{
    struct filter f = {.plan = plan, .choice = choice};
    size_t kept = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && tokens[i].directive && tokens[end].directive && !tokens[end].first)
            end++;
        if (tokens[i].directive && end > i + 1)
            conditional(&f, &tokens[i + 1], &tokens[end]);
        int keep = !tokens[i].directive || (end > i + 1 && (atoll_token_is(&tokens[i + 1], "pragma") ||
                                                            atoll_token_is(&tokens[i + 1], "define")));
        for (size_t k = i; k < end && keep && is_active(&f); k++)
            ret_tokens[kept++] = tokens[k];
        i = end;
    }
    return kept;
}

/* ---- the cell ---- */

static struct atoll_behaviour classify_tokens(int is_device, const struct atoll_token *tokens, size_t count,
                                              const struct atoll_plan *plan)
{
    const struct weight *weights = is_device ? device_weights : c_weights;
    struct atoll_behaviour cell = {0, 0, 0};
    struct atoll_sign_board board = {{0}};
    struct atoll_loop_list *loops = malloc(sizeof(*loops));
    if (!loops)
        return cell;
    atoll_loop_list_find(loops, tokens, count < TOKEN_LIMIT ? count : TOKEN_LIMIT);
    atoll_sign_see_names(loops, is_device, &board);
    atoll_sign_see_loops(loops, &board);
    atoll_sign_see_sums(loops, &board);
    if (is_device)
        atoll_sign_see_device(loops, &board);
    if (plan)
        see_plan(plan, &board);
    /* A barrier that guards a tile is part of the tile. */
    if (board.seen[ATOLL_SIGN_SHARED_TILE])
        board.seen[ATOLL_SIGN_BARRIER] = 0;
    cell.memory = level_of(&board, weights, MEMORY);
    cell.algorithm = level_of(&board, weights, ALGORITHM);
    cell.coordination = level_of(&board, weights, COORDINATION);
    free(loops);
    return cell;
}

struct atoll_behaviour atoll_behaviour_classify(const char *language, const char *body,
                                                const struct atoll_plan *plan,
                                                const struct atoll_choice *choice)
{
    struct atoll_behaviour cell = {0, 0, 0};
    struct atoll_token_list list;
    if (strcmp(language, "triton") == 0)
        return atoll_behaviour_triton(body, plan, choice);
    int is_device = strcmp(language, "cuda") == 0;
    if ((!is_device && strcmp(language, "c") != 0) || atoll_token_list_init(&list, body, NULL))
        return cell;
    struct atoll_token *kept = malloc((list.count + 1) * sizeof(*kept));
    if (kept) {
        cell =
            classify_tokens(is_device, kept, keep_active(list.tokens, list.count, plan, choice, kept), plan);
    }
    free(kept);
    atoll_token_list_fini(&list);
    return cell;
}

const char *atoll_behaviour_dimension_name(unsigned dimension)
{
    static const char *const texts[] = {"memory", "algorithm", "coordination"};
    return dimension < DIMENSION_COUNT ? texts[dimension] : "unknown";
}

const char *atoll_behaviour_level_text_of(const char *language, unsigned dimension, unsigned level)
{
    static const char *const texts[3][DIMENSION_COUNT][ATOLL_BEHAVIOUR_LEVELS] = {
        {
            {"scalar or strided access", "vectorised contiguous access", "cache blocking",
             "several levels: tiles with register blocks, packing or prefetch"},
            {"the reference's own sums and passes, by whatever instructions",
             "fused: fewer launches or passes than the reference has steps",
             "reformulated: online, running or approximated", "structurally new algorithm"},
            {"none, independent units", "reductions over several accumulators", "several phases",
             "atomics between units"},
        },
        {
            {"scalar or uncoalesced access", "coalesced or vectorised access", "tiles in shared memory",
             "several levels: shared tiles with register blocks, tensor fragments, asynchronous copies or "
             "prefetch"},
            {"the reference's own sums and passes, by whatever instructions",
             "fused: fewer launches or passes than the reference has steps",
             "reformulated: online, running or approximated", "structurally new algorithm"},
            {"none, independent threads", "barriers of a block",
             "within warps: shuffles, votes, reductions, warps with roles of their own",
             "across blocks: atomics, several kernels, clusters, grid-wide barriers, persistent blocks"},
        },
        {
            {"single elements", "contiguous blocks, each loaded once", "tiles that a loop goes through",
             "several levels: pipelined tiles of tl.dot, tensor descriptors, warps with roles of their own"},
            {"the reference's own sums and passes, by whatever instructions",
             "fused: fewer launches or passes than the reference has steps",
             "reformulated: online, running or approximated", "structurally new algorithm"},
            {"none, independent programs", "reductions or products within a block",
             "scans, sorts, warps with roles of their own",
             "across programs: atomics, several kernels, persistent programs"},
        }};
    int which = strcmp(language, "c") == 0 ? 0 : strcmp(language, "triton") == 0 ? 2 : 1;
    return dimension < DIMENSION_COUNT && level < ATOLL_BEHAVIOUR_LEVELS ? texts[which][dimension][level]
                                                                         : "unknown";
}

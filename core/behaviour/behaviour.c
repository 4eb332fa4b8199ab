/* behaviour.c - the cell of a source.  Signs are collected on a board; each gives its weight to one (dimension,
 * level).  A level is reached when its signs together reach its threshold; the highest reached level counts.
 * Branches of #if over parameters that are false for the choice are left out; what cannot be decided stays in. */
#include "core/behaviour/behaviour.h"

#include <stdlib.h>
#include <string.h>

#include "core/behaviour/behaviour_sign.h"
#include "core/source/source_branch.h"

#define THRESHOLD   2
#define TOKEN_LIMIT 32768 /* what comes later does not move the cell */

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
    for (unsigned c = 0; c < ATOLL_SIGN_COUNT; c++) {
        if (b->seen[c] && weights[c].dimension == dimension) {
            score[weights[c].level] += weights[c].weight;
        }
    }
    /* Several levels of memory are blocks of registers, packing or prefetch within tiles, not alone. */
    if (dimension == MEMORY && score[2] < THRESHOLD) {
        score[3] = 0;
    }
    while (level > 0 && score[level] < THRESHOLD) {
        level--;
    }
    return (unsigned char)level;
}

static void see_plan(const struct atoll_plan *plan, struct atoll_sign_board *b)
{
    if (plan->launch_count > 1) {
        atoll_sign_mark(b, ATOLL_SIGN_PHASES);
    }
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct atoll_launch *l = &plan->launches[i];
        if (l->cooperative) {
            atoll_sign_mark(b, ATOLL_SIGN_GRID_SYNC);
        }
        if (l->cluster[0]) {
            atoll_sign_mark(b, ATOLL_SIGN_CLUSTER);
        }
        for (size_t k = 0; k < l->arg_count; k++) {
            if (l->args[k].kind == ATOLL_ARG_TENSORMAP) {
                atoll_sign_mark(b, ATOLL_SIGN_SHARED_TILE);
                atoll_sign_mark(b, ATOLL_SIGN_ASYNC_COPY);
            }
        }
    }
}

static struct atoll_behaviour classify_tokens(int is_device, const struct atoll_token *tokens, size_t count,
                                              const struct atoll_plan *plan)
{
    const struct weight *weights = is_device ? device_weights : c_weights;
    struct atoll_behaviour cell = {0, 0, 0};
    struct atoll_sign_board board = {{0}};
    struct atoll_loop_list *loops = malloc(sizeof(*loops));
    if (!loops) {
        return cell;
    }
    atoll_loop_list_find(loops, tokens, count < TOKEN_LIMIT ? count : TOKEN_LIMIT);
    atoll_sign_see_names(loops, is_device, &board);
    atoll_sign_see_loops(loops, &board);
    atoll_sign_see_sums(loops, &board);
    if (is_device) {
        atoll_sign_see_device(loops, &board);
    }
    if (plan) {
        see_plan(plan, &board);
    }
    /* A barrier that guards a tile is part of the tile. */
    if (board.seen[ATOLL_SIGN_SHARED_TILE]) {
        board.seen[ATOLL_SIGN_BARRIER] = 0;
    }
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
    int is_device = strcmp(language, "cuda") == 0;
    if ((!is_device && strcmp(language, "c") != 0) || atoll_token_list_init(&list, body, NULL)) {
        return cell;
    }
    struct atoll_token *kept = malloc((list.count + 1) * sizeof(*kept));
    if (kept) {
        cell = classify_tokens(is_device, kept,
                               atoll_source_branch_keep(list.tokens, list.count, plan, choice, kept), plan);
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
    static const char *const texts[2][DIMENSION_COUNT][ATOLL_BEHAVIOUR_LEVELS] = {
        {
            {"scalar or strided access", "vectorised contiguous access", "cache blocking",
             "several levels: tiles with register blocks, packing or prefetch"},
            {"direct translation of the reference", "fused, one pass over the data",
             "reformulated: online, running or approximated", "structurally new algorithm"},
            {"none, independent units", "reductions over several accumulators", "several phases",
             "atomics between units"},
        },
        {
            {"scalar or uncoalesced access", "coalesced or vectorised access", "tiles in shared memory",
             "several levels: shared tiles with register blocks, tensor fragments, asynchronous copies or "
             "prefetch"},
            {"direct translation of the reference", "fused, one pass over the data",
             "reformulated: online, running or approximated", "structurally new algorithm"},
            {"none, independent threads", "barriers of a block",
             "within warps: shuffles, votes, reductions, warps with roles of their own",
             "across blocks: atomics, several kernels, clusters, grid-wide barriers, persistent blocks"},
        }};
    int is_device = strcmp(language, "c") != 0;
    return dimension < DIMENSION_COUNT && level < ATOLL_BEHAVIOUR_LEVELS ? texts[is_device][dimension][level]
                                                                         : "unknown";
}

const char *atoll_behaviour_level_text(unsigned dimension, unsigned level)
{
    return atoll_behaviour_level_text_of("c", dimension, level);
}

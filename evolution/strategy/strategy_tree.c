/* Tree search (papers/003 3.1).  First drafts, independent of each other; then a policy chooses nodes that are expanded
 * by asking for a child.  What was evaluated is a node, also where it failed: its child repairs it.  What nobody asked
 * for, seeds and imports, hangs at the root as drafts do, and counts as one where the built-in operator drafts.
 *
 * Every ask is a try of its node, whatever comes of it, and a node has tree_children tries: so every mix of failures
 * ends.  A child stays on its parent's island.
 *
 * UCT: Kocsis and Szepesvari, ECML 2006; expansions under way count as visits that brought nothing (virtual loss,
 * Chaslot and others, CG 2008), so that several go different ways; a node gets a further child when its visits allow
 * one (progressive widening, Coulom, 2007), else a node with eight tries would get all of them before its first child
 * gets one.  The value of a node is the best fitness in its subtree: what counts at the end is the best kernel, and a
 * mean would punish a node for the failures of its children, which are frequent wherever code is written.  UCT wants
 * values that spread over 0..1; those of correct kernels spread over less, and less in one task than in another.  So
 * tree_exploration is in units of what the search gained so far, from the baseline to the best.
 *
 * What follows from individuals is not kept: duels correct them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fitness.h"
#include "evolution/strategy/ask.h"
#include "evolution/population/inspire.h"
#include "evolution/population/null_control.h"
#include "evolution/engine/propose.h"
#include "evolution/strategy/strategy.h"
#include "evolution/strategy/translate.h"

#define WIDENING       0.5  /* a node of n visits has n to this power children, rounded up */
#define LEAST_PROGRESS 0.01 /* of fitness, while nothing is gained */

struct node {
    uint32_t individual;
    uint32_t parent; /* ATOLL_NONE: the root; below its own position */
    uint32_t tries;  /* asks for children */
    /* while a node is chosen */
    uint32_t visits; /* of its subtree */
    double value, score;
    uint32_t next; /* best child by score that leads to a node with tries left, ATOLL_NONE */
    uint8_t leads; /* it has tries left, or something below it has */
};

struct expansion {
    uint64_t ask;
    uint32_t node; /* ATOLL_NONE: the root, a draft */
    uint32_t left; /* candidates that are not settled, ATOLL_NONE: not answered */
};

struct tree {
    struct node *nodes; /* in the order of their verdicts */
    uint32_t node_count, node_capacity;
    struct expansion *expansions; /* under way, in the order of their asks */
    uint32_t expansion_count, expansion_capacity;
    uint32_t drafts; /* asks for them */
};

static int create(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    t->strategy = calloc(1, sizeof(struct tree));
    return t->strategy ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a tree");
}

static void destroy(void *state)
{
    struct tree *tree = state;
    free(tree->nodes);
    free(tree->expansions);
    free(tree);
}

static int has_tries(const struct atoll_engine *e, const struct node *n)
{
    return n->tries < e->search.tree_children &&
           e->individuals.items[n->individual].state != ATOLL_INDIVIDUAL_DISCARDED;
}

/* ---- choosing a node ---- */

static double fitness_of(const struct atoll_engine *e, const struct node *n)
{
    return e->individuals.items[n->individual].fitness;
}

static uint32_t choose_greedy(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    const struct tree *tree = t->strategy;
    uint32_t best = ATOLL_NONE;
    for (uint32_t i = 0; i < tree->node_count; i++) {
        if (has_tries(e, &tree->nodes[i]) &&
            (best == ATOLL_NONE || fitness_of(e, &tree->nodes[i]) > fitness_of(e, &tree->nodes[best]))) {
            best = i;
        }
    }
    return best;
}

static struct node *parent_of(struct tree *tree, const struct node *n, struct node *root)
{
    return n->parent == ATOLL_NONE ? root : &tree->nodes[n->parent];
}

/* Visits and values, from the leaves up. */
static void count_visits(const struct atoll_engine *e, struct tree *tree, struct node *root)
{
    *root = (struct node){.next = ATOLL_NONE};
    for (uint32_t i = 0; i < tree->node_count; i++) {
        struct node *n = &tree->nodes[i];
        n->visits = 1;
        n->value = fitness_of(e, n);
        n->next = ATOLL_NONE;
        n->leads = (uint8_t)has_tries(e, n);
    }
    for (uint32_t i = 0; i < tree->expansion_count; i++)
        if (tree->expansions[i].node != ATOLL_NONE)
            tree->nodes[tree->expansions[i].node].visits++;
    for (uint32_t i = tree->node_count; i-- > 0;) {
        const struct node *n = &tree->nodes[i];
        struct node *parent = parent_of(tree, n, root);
        parent->visits += n->visits;
        parent->value = fmax(parent->value, n->value);
        parent->leads |= n->leads;
    }
}

static uint32_t choose_uct(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    struct tree *tree = t->strategy;
    struct node root;
    count_visits(e, tree, &root);
    double begun = t->baseline != ATOLL_NONE ? e->individuals.items[t->baseline].fitness
                                             : atoll_fitness(e->search.fitness_form, ATOLL_V_CORRECT,
                                                             t->yardstick_ns, t->yardstick_ns, t->floor_ns);
    double gained = root.value - begun;
    double exploration = e->search.tree_exploration * fmax(gained, LEAST_PROGRESS);
    for (uint32_t i = 0; i < tree->node_count; i++) {
        struct node *n = &tree->nodes[i], *parent = parent_of(tree, n, &root);
        n->score = n->value + exploration * sqrt(log(parent->visits) / n->visits);
        if (n->leads && (parent->next == ATOLL_NONE || n->score > tree->nodes[parent->next].score))
            parent->next = i;
    }
    uint32_t at = root.next;
    while (at != ATOLL_NONE) {
        const struct node *n = &tree->nodes[at];
        int widens = n->tries < ceil(pow(n->visits, WIDENING));
        if (has_tries(e, n) && (widens || n->next == ATOLL_NONE))
            break;
        at = n->next;
    }
    return at;
}

typedef uint32_t policy(const struct atoll_engine *e, const struct atoll_task_state *t);

static policy *const policies[ATOLL_TREE_POLICY_COUNT] = {
    [ATOLL_TREE_GREEDY] = choose_greedy,
    [ATOLL_TREE_UCT] = choose_uct,
};

/* ---- asking ---- */

static int drafts_are_missing(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    const struct tree *tree = t->strategy;
    if (tree->drafts >= e->search.tree_drafts)
        return 0;
    if (atoll_ask_is_outside(e, t))
        return 1;
    /* Seeds and imports, whatever became of them, count as drafts. */
    uint32_t missing = e->search.tree_drafts - tree->drafts;
    for (uint32_t i = 0; i < e->individuals.count && missing; i++) {
        const struct atoll_individual *r = &e->individuals.items[i];
        missing -= r->task == atoll_task_position(e, t) && !r->ask && !atoll_null_control_is(r);
    }
    return missing > 0;
}

static int ready(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    const struct tree *tree = t->strategy;
    if (!atoll_ask_allowed(e, t) || (!atoll_ask_is_outside(e, t) && !t->template_count))
        return 0;
    if (drafts_are_missing(e, t))
        return 1;
    for (uint32_t i = 0; i < tree->expansion_count; i++)
        if (tree->expansions[i].node == ATOLL_NONE)
            return 0; /* a draft is not answered */
    for (uint32_t i = tree->node_count; i-- > 0;)
        if (has_tries(e, &tree->nodes[i]))
            return 1;
    return 0;
}

/* The expansion is open before the ask is made, under its number: it may be answered at once. */
static int make(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                uint32_t node, struct atoll_err *err)
{
    struct tree *tree = t->strategy;
    if (atoll_array_reserve(&tree->expansions, &tree->expansion_capacity, tree->expansion_count + 1,
                            sizeof(*tree->expansions), err)) {
        return -1;
    }
    tree->expansions[tree->expansion_count++] =
        (struct expansion){.ask = asked->ask.number, .node = node, .left = ATOLL_NONE};
    return (atoll_ask_stays_here(e, t) ? atoll_ask_make_here : atoll_ask_make)(e, t, asked, err);
}

static int propose(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_err *err)
{
    struct tree *tree = t->strategy;
    if (drafts_are_missing(e, t)) {
        struct atoll_asked draft = atoll_ask_about(e, t, ATOLL_ASK_WRITE, ATOLL_OPERATOR_INITIALISE,
                                                   atoll_propose_island(e, t), ATOLL_NONE);
        tree->drafts++;
        return make(e, t, &draft, ATOLL_NONE, err);
    }
    uint32_t elite = atoll_ask_is_outside(e, t) ? atoll_translate_elite(e, t) : ATOLL_NONE;
    if (elite != ATOLL_NONE) { /* a draft beside those that were asked for */
        struct atoll_asked draft = atoll_translate_ask(e, t, elite, atoll_propose_island(e, t));
        return make(e, t, &draft, ATOLL_NONE, err);
    }
    uint32_t node = policies[e->search.tree_policy](e, t);
    uint32_t parent = tree->nodes[node].individual;
    struct atoll_asked asked = atoll_ask_about(e, t, ATOLL_ASK_WRITE, ATOLL_OPERATOR_UNIVERSAL,
                                               e->individuals.items[parent].island, parent);
    atoll_inspire(e, t, &asked);
    tree->nodes[node].tries++;
    return make(e, t, &asked, node, err);
}

/* ---- answers ---- */

static uint32_t expansion_of(const struct tree *tree, uint64_t ask)
{
    uint32_t at = 0;
    while (at < tree->expansion_count && tree->expansions[at].ask != ask)
        at++;
    return at;
}

static void close_expansion(struct tree *tree, uint32_t at)
{
    tree->expansion_count--;
    memmove(&tree->expansions[at], &tree->expansions[at + 1],
            (tree->expansion_count - at) * sizeof(*tree->expansions));
}

static int replied(struct atoll_engine *e, struct atoll_task_state *t, const struct atoll_asked *asked,
                   const struct atoll_reply *reply, uint32_t accepted, struct atoll_err *err)
{
    struct tree *tree = t->strategy;
    uint32_t at = expansion_of(tree, reply->ask);
    if (at == tree->expansion_count)
        return 0;
    tree->expansions[at].left = accepted;
    if (!accepted)
        close_expansion(tree, at);
    return 0;
}

/* What was given up has no verdict and is no node. */
static int settled(struct atoll_engine *e, struct atoll_task_state *t, uint64_t ask, uint32_t individual,
                   struct atoll_err *err)
{
    struct tree *tree = t->strategy;
    uint32_t at = expansion_of(tree, ask), parent = ATOLL_NONE;
    if (at < tree->expansion_count) {
        parent = tree->expansions[at].node;
        if (!--tree->expansions[at].left)
            close_expansion(tree, at);
    }
    if (individual == ATOLL_NONE || e->individuals.items[individual].state == ATOLL_INDIVIDUAL_ABANDONED)
        return 0;
    if (atoll_array_reserve(&tree->nodes, &tree->node_capacity, tree->node_count + 1, sizeof(*tree->nodes),
                            err)) {
        return -1;
    }
    tree->nodes[tree->node_count++] = (struct node){.individual = individual, .parent = parent};
    return 0;
}

/* ---- its state as bytes ---- */

static int is_node_or_root(uint32_t node, uint32_t count)
{
    return node == ATOLL_NONE || node < count;
}

static int nodes_codec(const struct atoll_engine *e, const struct atoll_task_state *t, struct tree *tree,
                       struct atoll_codec *c, struct atoll_err *err)
{
    uint32_t count = tree->node_count;
    atoll_codec_count(c, &count, 12);
    if (c->in && atoll_array_reserve(&tree->nodes, &tree->node_capacity, count, sizeof(*tree->nodes), err))
        return -1;
    tree->node_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct node *n = &tree->nodes[i];
        atoll_codec_u32(c, &n->individual);
        atoll_codec_u32(c, &n->parent);
        atoll_codec_u32(c, &n->tries);
        if (c->in && (n->individual >= e->individuals.count ||
                      e->individuals.items[n->individual].task != atoll_task_position(e, t) ||
                      !is_node_or_root(n->parent, i))) {
            c->in->failed = 1;
        }
    }
    return 0;
}

static int expansions_codec(const struct atoll_engine *e, struct tree *tree, struct atoll_codec *c,
                            struct atoll_err *err)
{
    uint32_t count = tree->expansion_count;
    atoll_codec_count(c, &count, 16);
    if (c->in && atoll_array_reserve(&tree->expansions, &tree->expansion_capacity, count,
                                     sizeof(*tree->expansions), err)) {
        return -1;
    }
    tree->expansion_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct expansion *x = &tree->expansions[i];
        atoll_codec_u64(c, &x->ask);
        atoll_codec_u32(c, &x->node);
        atoll_codec_u32(c, &x->left);
        if (c->in &&
            (!x->ask || x->ask >= e->next_ask || !x->left || !is_node_or_root(x->node, tree->node_count))) {
            c->in->failed = 1;
        }
    }
    return 0;
}

static int codec(struct atoll_engine *e, struct atoll_task_state *t, struct atoll_codec *c,
                 struct atoll_err *err)
{
    struct tree *tree = t->strategy;
    atoll_codec_u32(c, &tree->drafts);
    return nodes_codec(e, t, tree, c, err) ? -1 : expansions_codec(e, tree, c, err);
}

const struct atoll_strategy atoll_strategy_tree = {.name = "tree",
                                                   .create = create,
                                                   .destroy = destroy,
                                                   .ready = ready,
                                                   .propose = propose,
                                                   .settled = settled,
                                                   .replied = replied,
                                                   .codec = codec};

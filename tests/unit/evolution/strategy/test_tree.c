#include "tests/support/operator.h"

#include <math.h>

static struct atoll_buffer plain, tuned;

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"k0", NULL, NULL}, {"k1", NULL, NULL}};
    static const struct sim_seed templates[] = {
        {"k0", NULL, NULL},
        {"k1", "\"A\": [1, 2, 3, 4, 5, 6], \"B\": [1, 2, 3, 4, 5, 6]", NULL},
        {"k2", "\"U\": [1, 2, 3, 4]", NULL},
    };
    atoll_buffer_init(&plain, 1u << 24);
    atoll_buffer_init(&tuned, 1u << 24);
    sim_task("plain", seeds, 2, 1, &plain);
    sim_task("tuned", templates, 3, 1, &tuned);
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(&plain);
    atoll_buffer_fini(&tuned);
    return 0;
}

static struct atoll_search settings(enum atoll_tree_policy policy, double exploration)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = ATOLL_STRATEGY_TREE;
    search.stagnation_limit = 0;
    search.queue_depth = 1;
    search.asks = 1;
    search.ask_share = 1;
    search.tree_drafts = 2;
    search.tree_policy = policy;
    search.tree_exploration = exploration;
    search.tree_children = 3;
    return search;
}

/* The one ask that is under way is about this kernel; ATOLL_NONE: a draft. */
static void expect_ask(const struct sim *s, uint32_t parent)
{
    assert_int_equal(op_count(s), 1);
    const struct atoll_ask *ask = op_at(s, 0);
    assert_int_equal(ask->kind, ATOLL_ASK_WRITE);
    assert_int_equal(ask->count, 1);
    assert_int_equal(ask->op, parent == ATOLL_NONE ? ATOLL_OPERATOR_INITIALISE : ATOLL_OPERATOR_UNIVERSAL);
    if (parent == ATOLL_NONE)
        assert_true(atoll_id_is_zero(&ask->parent));
    else
        assert_int_equal(op_number(s, 0, &ask->parent), parent);
}

/* Steps of a search with one ask at a time; kernel: of the answer, ATOLL_NONE: it fails. */
struct step {
    uint32_t parent, kernel;
};

static void follow(enum atoll_tree_policy policy, double exploration, const struct step *steps, size_t count,
                   const double *times)
{
    struct atoll_search search = settings(policy, exploration);
    struct sim *s = op_start(1, &search, &plain, 1);
    sim_capacity(s, 1); /* so that the next ask waits for the verdict */
    op_evaluate(s, times);
    for (size_t i = 0; i < count; i++) {
        expect_ask(s, steps[i].parent);
        if (steps[i].kernel == ATOLL_NONE)
            op_status(s, op_at(s, 0)->number, ATOLL_REPLY_FAILED);
        else
            op_kernel(s, op_at(s, 0)->number, steps[i].kernel);
        op_evaluate(s, times);
        sim_reload(s);
    }
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* The floor is 0.5 ms and the baseline 4 ms: fitness is 1/2 at 4 ms, 2/3 at 2, 5/6 at 1, 1 at 0.5, 0.1 where wrong. */
static void greedy_by_hand(void **state)
{
    static const double times[] = {4, 8, 0, 2, 1, 0, 1.9, 0.5};
    static const struct step steps[] = {
        {ATOLL_NONE, 2}, {ATOLL_NONE, 3},                          /* drafts, one of them wrong */
        {3, 4},          {4, 5},          {4, ATOLL_NONE}, {4, 6}, /* of 4 there are three tries */
        {6, ATOLL_NONE}, {6, ATOLL_NONE}, {6, ATOLL_NONE}, {3, ATOLL_NONE},
        {3, 7},          {7, ATOLL_NONE}, {7, ATOLL_NONE}, {7, ATOLL_NONE},
        {0, ATOLL_NONE}, {0, ATOLL_NONE}, {0, ATOLL_NONE}, {1, ATOLL_NONE}, /* as fit as 0, and younger */
        {1, ATOLL_NONE}, {1, ATOLL_NONE}, {2, ATOLL_NONE}, /* then what is wrong, the oldest first */
    };
    follow(ATOLL_TREE_GREEDY, 0, steps, sizeof(steps) / sizeof(*steps), times);
}

/* After the drafts the root's children have one visit each and are worth .5, .5, .1 and .6667, and .1667 is gained: with
 * sqrt(ln 4) and an exploration of 0.3 they score .5589, .5589, .1589 and .7255.  So 3 is expanded, as a node without
 * children may; then its two visits allow a second child, and the third try goes below it. */
static void uct_by_hand(void **state)
{
    static const double times[] = {4, 8, 0, 2, 1, 0, 1.9, 0.5, 3, 2.5};
    static const struct step steps[] = {
        {ATOLL_NONE, 2}, {ATOLL_NONE, 3}, {3, 4},          {3, ATOLL_NONE}, {4, 5},          {4, 6},
        {6, ATOLL_NONE}, {6, 7},          {3, ATOLL_NONE}, {7, 8},          {4, ATOLL_NONE}, {7, 9},
    };
    follow(ATOLL_TREE_UCT, 0.3, steps, sizeof(steps) / sizeof(*steps), times);
}

/* With 1.4 the root's child 3 loses its turn when it was visited five times: 1.1343 against 1.1729 of 0 and 1. */
static void uct_explores(void **state)
{
    static const double times[] = {4, 8, 0, 2, 1, 0, 1.9, 0.5, 3, 2.5, 3.5, 0};
    static const struct step steps[] = {
        {ATOLL_NONE, 2}, {ATOLL_NONE, 3}, {3, 4},  {3, 8},          {4, 5},  {4, 6},          {0, ATOLL_NONE},
        {0, 7},          {7, 9},          {7, 10}, {1, ATOLL_NONE}, {1, 11}, {9, ATOLL_NONE},
    };
    follow(ATOLL_TREE_UCT, 1.4, steps, sizeof(steps) / sizeof(*steps), times);
}

/* Several at once: what is under way is a visit without value.  Two equal seeds with room for two children each are
 * expanded in turn. */
static void under_way_counts_as_a_visit(void **state)
{
    static const uint32_t parents[] = {0, 1, 0, 1, 0, 1};
    static const double times[] = {4, 4};
    struct atoll_search search = settings(ATOLL_TREE_UCT, 1.4);
    search.asks = 8;
    search.tree_drafts = 1;
    struct sim *s = op_start(1, &search, &plain, 1);
    sim_capacity(s, 1);
    op_evaluate(s, times);
    expect_ask(s, ATOLL_NONE);
    op_status(s, 1, ATOLL_REPLY_EMPTY);
    assert_int_equal(op_count(s), 6); /* three tries each, not eight asks */
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(op_number(s, 0, &op_at(s, i)->parent), parents[i]);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* What failed is told with the ask that repairs it or goes round it. */
static void failures_are_told(void **state)
{
    static const double times[] = {4, 0, 1, 0};
    struct atoll_search search = settings(ATOLL_TREE_GREEDY, 1.4);
    struct sim *s = op_start(1, &search, &plain, 1);
    sim_capacity(s, 1);
    op_evaluate(s, times);
    assert_int_equal(op_at(s, 0)->failure_count, 0);
    op_kernel(s, 1, 2);
    op_evaluate(s, times);
    op_status(s, 2, ATOLL_REPLY_EMPTY);
    expect_ask(s, 2);
    op_kernel(s, 3, 3); /* wrong */
    op_evaluate(s, times);
    expect_ask(s, 2);
    assert_int_equal(op_at(s, 0)->failure_count, 1);
    assert_int_equal(op_number(s, 0, &op_at(s, 0)->failures[0]), 3);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* With the built-in operator seeds count as drafts, and the rest are instances of any template. */
static void seeds_are_drafts(void **state)
{
    for (uint32_t drafts = 1; drafts <= 6; drafts++) {
        struct atoll_search search = settings(ATOLL_TREE_UCT, 1.4);
        search.ask_share = 0;
        search.tree_drafts = drafts;
        search.evaluation_budget = 20;
        struct sim *s = op_start(drafts, &search, &tuned, 1);
        const struct atoll_individuals *all = &s->engine->individuals;
        uint64_t asked = drafts > 3 ? drafts - 3 : 0;
        sim_capacity(s, 8);
        for (unsigned i = 0; i < 1000 && s->order_count; i++) {
            sim_answer(s);
            for (uint32_t k = 0; k < all->count; k++) { /* nothing is expanded before all drafts are judged */
                for (uint32_t j = 0; j < all->count && all->items[k].ask > asked; j++) {
                    assert_true(all->items[j].ask > asked || all->items[j].ask == 0 ||
                                all->items[j].state != ATOLL_INDIVIDUAL_UNDER_WAY);
                }
            }
        }
        uint32_t seen = 0;
        for (uint32_t k = 0; k < all->count; k++)
            seen += all->items[k].ask > 0 && all->items[k].ask <= asked;
        assert_int_equal(seen, asked);
        assert_int_equal(all->count, 20);
        op_finish(s);
    }
}

/* Half of the asks go to the tuner. */
static void operators_share(void **state)
{
    struct atoll_search search = settings(ATOLL_TREE_UCT, 1.4);
    search.ask_share = 0.5;
    search.evaluation_budget = 40;
    struct sim *s = op_start(1, &search, &tuned, 1);
    struct op_moods moods = {.next = 3};
    sim_capacity(s, 2);
    while (!s->counts[ATOLL_DECIDE_STOP])
        op_advance(s, &moods);
    uint64_t here = 0;
    for (uint32_t i = 0; i < s->engine->individuals.count; i++)
        here += s->engine->individuals.items[i].op == ATOLL_OPERATOR_TUNE;
    assert_in_range(here, 8, 30);
    assert_in_range(s->counts[ATOLL_DECIDE_ASK], 8, 40);
    op_finish(s);
}

/* ---- whatever happens ---- */

/* The rules told once more, plainly, from what can be seen. */
struct oracle {
    uint64_t seen; /* asks up to here */
    uint32_t drafts;
    uint32_t nodes[4096], count; /* individuals, in the order of their verdicts */
    uint32_t parents[1 << 14];   /* of asks: individual, ATOLL_NONE a draft */
};

static const struct atoll_individual *at(const struct sim *s, uint32_t individual)
{
    return &s->engine->individuals.items[individual];
}

static int is_node(const struct oracle *o, uint32_t individual)
{
    for (uint32_t i = 0; i < o->count; i++)
        if (o->nodes[i] == individual)
            return 1;
    return 0;
}

static void see_nodes(const struct sim *s, struct oracle *o)
{
    for (uint32_t i = 0; i < s->engine->individuals.count; i++) {
        if (at(s, i)->state < ATOLL_VERDICT_COUNT && at(s, i)->op != ATOLL_OPERATOR_NULL_CONTROL &&
            !is_node(o, i)) {
            o->nodes[o->count++] = i;
        }
    }
}

static uint32_t parent_of(const struct sim *s, const struct oracle *o, uint32_t individual)
{
    return at(s, individual)->ask ? o->parents[at(s, individual)->ask] : ATOLL_NONE;
}

static int is_open(const struct sim *s, uint64_t ask)
{
    const struct atoll_task_state *t = &s->engine->tasks[0];
    for (uint32_t i = 0; i < op_count(s); i++)
        if (op_at(s, i)->number == ask)
            return 1;
    for (uint32_t i = t->pending_next; i < t->pending_count; i++)
        if (t->pending[i].ask == ask)
            return 1;
    for (uint32_t i = 0; i < s->engine->individuals.count; i++)
        if (at(s, i)->ask == ask && at(s, i)->state == ATOLL_INDIVIDUAL_UNDER_WAY)
            return 1;
    return 0;
}

/* Asks before `now` about a node: all of them, or those that are open. */
static uint32_t tries(const struct sim *s, const struct oracle *o, uint32_t node, uint64_t now, int open)
{
    uint32_t count = 0;
    for (uint64_t a = 1; a < now; a++)
        count += o->parents[a] == node && (!open || is_open(s, a));
    return count;
}

struct view {
    const struct sim *s;
    const struct oracle *o;
    uint64_t now;
};

static uint32_t visits(const struct view *v, uint32_t node)
{
    uint32_t count = node == ATOLL_NONE ? 0 : 1 + tries(v->s, v->o, node, v->now, 1);
    for (uint32_t i = 0; i < v->o->count; i++)
        if (parent_of(v->s, v->o, v->o->nodes[i]) == node)
            count += visits(v, v->o->nodes[i]);
    return count;
}

static double value(const struct view *v, uint32_t node)
{
    double best = at(v->s, node)->fitness;
    for (uint32_t i = 0; i < v->o->count; i++)
        if (parent_of(v->s, v->o, v->o->nodes[i]) == node)
            best = fmax(best, value(v, v->o->nodes[i]));
    return best;
}

static int has_tries(const struct view *v, uint32_t node)
{
    return node != ATOLL_NONE && tries(v->s, v->o, node, v->now, 0) < v->s->search.tree_children;
}

static int leads(const struct view *v, uint32_t node)
{
    int any = has_tries(v, node);
    for (uint32_t i = 0; i < v->o->count && !any; i++)
        any = parent_of(v->s, v->o, v->o->nodes[i]) == node && leads(v, v->o->nodes[i]);
    return any;
}

static uint32_t best_child(const struct view *v, uint32_t node)
{
    uint32_t best = ATOLL_NONE;
    double most = 0, gained = 0.01;
    for (uint32_t i = 0; i < v->o->count; i++)
        gained = fmax(gained, at(v->s, v->o->nodes[i])->fitness - at(v->s, 0)->fitness);
    for (uint32_t i = 0; i < v->o->count; i++) {
        uint32_t child = v->o->nodes[i];
        if (parent_of(v->s, v->o, child) != node || !leads(v, child))
            continue;
        double score = value(v, child) +
                       v->s->search.tree_exploration * gained * sqrt(log(visits(v, node)) / visits(v, child));
        if (best == ATOLL_NONE || score > most) {
            best = child;
            most = score;
        }
    }
    return best;
}

static uint32_t by_uct(const struct view *v)
{
    uint32_t node = best_child(v, ATOLL_NONE);
    for (;;) {
        assert_int_not_equal(node, ATOLL_NONE);
        uint32_t next = best_child(v, node);
        double room = ceil(sqrt(visits(v, node)));
        if (has_tries(v, node) && (next == ATOLL_NONE || tries(v->s, v->o, node, v->now, 0) < room))
            return node;
        node = next;
    }
}

static uint32_t by_greed(const struct view *v)
{
    uint32_t best = ATOLL_NONE;
    for (uint32_t i = 0; i < v->o->count; i++) {
        if (has_tries(v, v->o->nodes[i]) &&
            (best == ATOLL_NONE || at(v->s, v->o->nodes[i])->fitness > at(v->s, best)->fitness)) {
            best = v->o->nodes[i];
        }
    }
    return best;
}

static void see_ask(const struct sim *s, struct oracle *o, const struct atoll_ask *ask)
{
    struct view v = {s, o, ask->number};
    uint32_t expected = ATOLL_NONE;
    if (o->drafts < s->search.tree_drafts) {
        o->drafts++;
        assert_int_equal(ask->op, ATOLL_OPERATOR_INITIALISE);
    } else {
        for (uint64_t a = 1; a <= s->search.tree_drafts; a++)
            assert_false(is_open(s, a));
        expected = s->search.tree_policy == ATOLL_TREE_UCT ? by_uct(&v) : by_greed(&v);
        assert_int_not_equal(expected, ATOLL_NONE);
        assert_int_equal(ask->op, ATOLL_OPERATOR_UNIVERSAL);
        assert_true(atoll_id_equal(&ask->parent, &at(s, expected)->id));
        assert_int_equal(ask->island, at(s, expected)->island);
    }
    assert_int_equal(atoll_id_is_zero(&ask->parent), expected == ATOLL_NONE);
    o->parents[ask->number] = expected;
}

static void look(const struct sim *s, struct oracle *o)
{
    see_nodes(s, o);
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_ask *ask = op_at(s, i);
        if (ask->number <= o->seen)
            continue;
        assert_int_equal(ask->number, o->seen + 1);
        see_ask(s, o, ask);
        o->seen = ask->number;
    }
}

static struct atoll_search random_settings(uint64_t seed, double ask_share)
{
    struct atoll_random r = {seed, 0};
    struct atoll_search search = settings(atoll_random_next(&r) % 2 ? ATOLL_TREE_UCT : ATOLL_TREE_GREEDY, 1);
    search.seed = seed;
    search.ask_share = ask_share;
    search.tree_exploration = 2 * atoll_random_unit(atoll_random_next(&r));
    search.islands = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 3);
    search.noop_interval = 1;
    search.asks = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 9);
    search.tree_drafts = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 6);
    search.tree_children = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 5);
    search.evaluation_budget = 10 + atoll_random_next(&r) % 50;
    return search;
}

static void the_policy_holds_whatever_happens(void **state)
{
    for (uint64_t seed = 1; seed <= RANDOM_CASES(120); seed++) {
        struct atoll_search search = random_settings(seed, 1);
        struct sim *s = op_start(seed, &search, &plain, 1);
        struct op_moods moods = op_random_moods(s, 2);
        static struct oracle o;
        memset(&o, 0, sizeof(o));
        sim_capacity(s, 1 + (uint32_t)sim_below(s, 64));
        for (unsigned i = 0; i < 250 && !s->counts[ATOLL_DECIDE_STOP]; i++) {
            op_happen(s, &moods);
            look(s, &o);
        }
        op_drain(s, &moods);
        op_finish(s);
    }
}

static void it_ends_whatever_happens(void **state)
{
    static const double shares[] = {0, 0.5, 1};
    for (uint64_t seed = 1; seed <= RANDOM_CASES(120); seed++) {
        struct atoll_search search = random_settings(seed, shares[seed % 3]);
        struct sim *s = op_start(seed, &search, seed % 2 ? &tuned : &plain, 1 + (uint32_t)(seed % 2));
        struct op_moods moods = op_random_moods(s, 2);
        op_happen_often(s, &moods);
        op_drain(s, &moods);
        op_finish(s);
    }
}

/* An operator that brings nothing new is not asked for ever, without any budget. */
static void nothing_new_is_an_end(void **state)
{
    for (uint64_t seed = 1; seed <= RANDOM_CASES(100); seed++) {
        struct atoll_search search = random_settings(seed, 1);
        search.evaluation_budget = 0;
        struct sim *s = op_start(seed, &search, &plain, 1);
        struct op_moods moods = {.failed = (unsigned)(seed % 3 * 50), .known = 100, .next = 6};
        sim_capacity(s, 2);
        op_drain(s, &moods);
        assert_int_equal(s->last[ATOLL_DECIDE_TASK_DONE].reason, ATOLL_REASON_EXHAUSTED);
        op_finish(s);
    }
}

static void snapshots_are_checked(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct atoll_search search = random_settings(seed, 1);
        op_check_snapshots(&search, &plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_by_hand),
        cmocka_unit_test(uct_by_hand),
        cmocka_unit_test(uct_explores),
        cmocka_unit_test(under_way_counts_as_a_visit),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(seeds_are_drafts),
        cmocka_unit_test(operators_share),
        cmocka_unit_test(the_policy_holds_whatever_happens),
        cmocka_unit_test(it_ends_whatever_happens),
        cmocka_unit_test(nothing_new_is_an_end),
        cmocka_unit_test(snapshots_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

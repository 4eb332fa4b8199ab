#include "tests/support/operator.h"

static struct atoll_buffer plain, tuned;

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"k0", NULL, NULL}, {"k1", NULL, NULL}, {"k2", NULL, NULL}};
    static const struct sim_seed templates[] = {
        {"k0", NULL, NULL},
        {"k1", "\"A\": [1, 2, 3, 4, 5, 6, 7, 8], \"B\": [1, 2, 3, 4, 5, 6, 7, 8]", "A * B != 6"},
        {"k2", "\"U\": [1, 2, 3, 4]", NULL},
    };
    atoll_buffer_init(&plain, 1u << 24);
    atoll_buffer_init(&tuned, 1u << 24);
    sim_task("plain", seeds, 3, 1, &plain);
    sim_task("tuned", templates, 3, 1, &tuned);
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(&plain);
    atoll_buffer_fini(&tuned);
    return 0;
}

static struct atoll_search settings(void)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = ATOLL_STRATEGY_BEAM;
    search.stagnation_limit = 0;
    search.queue_depth = 1;
    search.asks = 64;
    search.beam_width = search.beam_plans = search.beam_attempts = 2;
    search.beam_iterations = 3;
    search.ask_share = 1;
    return search;
}

static void expect_ask(const struct sim *s, uint64_t number, enum atoll_ask_kind kind, uint32_t parent,
                       uint32_t island)
{
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_ask *ask = op_at(s, i);
        if (ask->number != number)
            continue;
        assert_int_equal(ask->kind, kind);
        assert_int_equal(ask->op, kind == ATOLL_ASK_PLAN ? ATOLL_OPERATOR_PLAN : ATOLL_OPERATOR_EXECUTE);
        assert_int_equal(ask->count, kind == ATOLL_ASK_PLAN ? 1 : 2);
        assert_int_equal(op_number(s, 0, &ask->parent), parent);
        assert_int_equal(ask->island, island);
        return;
    }
    fail_msg("ask %u is not under way", (unsigned)number);
}

static void expect_attempts(const struct sim *s, uint64_t number, uint32_t parent, uint32_t island,
                            uint64_t plan, uint32_t plan_index)
{
    expect_ask(s, number, ATOLL_ASK_WRITE, parent, island);
    for (uint32_t i = 0; i < op_count(s); i++) {
        if (op_at(s, i)->number == number) {
            assert_int_equal(op_at(s, i)->plan, plan);
            assert_int_equal(op_at(s, i)->plan_index, plan_index);
        }
    }
}

/* Two members, two plans each, two attempts at each, three iterations, all of it known beforehand. */
static void a_small_search_by_hand(void **state)
{
    /* of kernels 0.., in ms; 0: wrong */
    static const double times[] = {4, 3, 0, 2, 1.5, 2.5, 0, 9};
    struct atoll_search search = settings();
    struct sim *s = op_start(1, &search, &plain, 1);
    sim_capacity(s, 8);
    assert_int_equal(op_count(s), 0);
    op_evaluate(s, times);
    /* the correct seeds, by time, and two samples of each */
    assert_int_equal(op_count(s), 4);
    expect_ask(s, 1, ATOLL_ASK_PLAN, 1, 0);
    expect_ask(s, 2, ATOLL_ASK_PLAN, 1, 0);
    expect_ask(s, 3, ATOLL_ASK_PLAN, 0, 1);
    expect_ask(s, 4, ATOLL_ASK_PLAN, 0, 1);
    op_plans(s, 3, 7); /* more than were wanted */
    assert_int_equal(op_count(s), 4);
    expect_attempts(s, 5, 0, 1, 3, 0);
    op_plans(s, 4, 1);
    expect_attempts(s, 6, 0, 1, 4, 0);
    op_plans(s, 2, 0);
    op_plans(s, 1, 1);
    expect_attempts(s, 7, 1, 0, 1, 0);
    op_kernels(s, 5, (const uint32_t[]){3, 4, 5}, 3); /* the third was not wanted */
    op_evaluate(s, times);
    op_status(s, 6, ATOLL_REPLY_FAILED);
    assert_int_equal(op_count(s), 1);
    op_kernels(s, 7, (const uint32_t[]){5, 6}, 2);
    assert_int_equal(s->order_count, 2);
    assert_int_equal(op_count(s), 0);
    op_evaluate(s, times);
    /* the best of each plan: 4 of the one, 5 of the other; 3 is faster than 5, but of the same plan as 4 */
    assert_int_equal(op_count(s), 4);
    expect_ask(s, 8, ATOLL_ASK_PLAN, 4, 0);
    expect_ask(s, 9, ATOLL_ASK_PLAN, 4, 0);
    expect_ask(s, 10, ATOLL_ASK_PLAN, 5, 1);
    op_status(s, 8, ATOLL_REPLY_EMPTY);
    op_plans(s, 10, 1);
    expect_attempts(s, 12, 5, 1, 10, 0);
    op_status(s, 11, ATOLL_REPLY_REFUSED);
    op_status(s, 9, ATOLL_REPLY_EMPTY);
    op_kernels(s, 12, (const uint32_t[]){3, 7}, 2); /* one is known */
    op_evaluate(s, times);
    /* a pool of one, however slow, and the fastest of the last beam */
    expect_ask(s, 13, ATOLL_ASK_PLAN, 7, 0);
    expect_ask(s, 15, ATOLL_ASK_PLAN, 4, 1);
    for (uint64_t ask = 16; ask > 12; ask--)
        op_status(s, ask, ask % 2 ? ATOLL_REPLY_FAILED : ATOLL_REPLY_REFUSED);
    assert_int_equal(op_count(s), 0);
    assert_int_equal(s->last[ATOLL_DECIDE_TASK_DONE].reason, ATOLL_REASON_EXHAUSTED);
    op_evaluate(s, times);
    op_finish(s);
}

static void reply_step(struct sim *s, uint64_t ask, const char *step)
{
    struct atoll_reply reply = {.ask = ask, .item_count = 1};
    reply.items[0] = (struct atoll_reply_item){.kind = ATOLL_ITEM_PLAN, .title = "A step", .text = step};
    atoll_reply_count_items(&reply);
    op_reply(s, &reply);
}

/* A step that its parent had, in the same words, is asked for once more; what comes then is carried out, or dropped. */
static void a_repeated_plan_is_asked_for_again(void **state)
{
    static const double times[] = {4, 3, 2, 1};
    for (int is_new = 0; is_new < 2; is_new++) {
        struct atoll_search search = settings();
        search.beam_width = 1;
        search.beam_attempts = 1;
        search.beam_iterations = 1;
        struct sim *s = op_start(1, &search, &plain, 1);
        sim_capacity(s, 8);
        op_evaluate(s, times);
        assert_int_equal(op_count(s), 2);
        uint32_t parent = op_number(s, 0, &op_at(s, 0)->parent);
        reply_step(s, 1, "Tile the loop over k by 8.");
        reply_step(s, 2, "tile the loop,\n  over K, by 8");
        assert_int_equal(op_count(s), 2); /* attempts at the first, and the second anew */
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(op_at(s, i)->kind, i == 0 ? ATOLL_ASK_WRITE : ATOLL_ASK_PLAN);
            assert_int_equal(op_number(s, 0, &op_at(s, i)->parent), parent);
        }
        assert_int_equal(op_at(s, 0)->plan, 1);
        uint64_t again = op_at(s, 1)->number;
        reply_step(s, again, is_new ? "Unroll it." : "Tile the loop over k by 8!");
        assert_int_equal(op_count(s), is_new ? 2 : 1);
        if (is_new)
            assert_int_equal(op_at(s, 1)->plan, again);
        while (op_count(s))
            op_status(s, op_at(s, 0)->number, ATOLL_REPLY_EMPTY);
        assert_int_equal(s->last[ATOLL_DECIDE_TASK_DONE].reason, ATOLL_REASON_EXHAUSTED);
        op_evaluate(s, times);
        op_finish(s);
    }
}

/* A member that a duel proved wrong is not in the next beam, nor is it filled up with it. */
static void what_was_refuted_does_not_go_on(void **state)
{
    static const double times[] = {4, 3, 2};
    struct atoll_search search = settings();
    search.islands = 1;
    search.grid = 0;
    struct sim *s = op_start(1, &search, &plain, 1);
    sim_capacity(s, 1);
    for (unsigned i = 0; i < 2; i++) { /* k0, then k1, which challenges it */
        struct atoll_decision order = sim_take(s, 0);
        sim_evaluated(s, &order, ATOLL_V_CORRECT, 1e6 * times[op_number(s, 0, &order.candidate)]);
    }
    while (s->order_count) {
        struct atoll_decision order = sim_take(s, 0);
        if (order.type == ATOLL_DECIDE_DUEL)
            sim_duelled(s, &order, ATOLL_V_WRONG, 0, 0);
        else
            sim_evaluated(s, &order, ATOLL_V_WRONG, 0);
    }
    assert_int_equal(op_count(s), 2);
    expect_ask(s, 1, ATOLL_ASK_PLAN, 0, 0);
    expect_ask(s, 2, ATOLL_ASK_PLAN, 0, 0);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_finish(s);
}

/* With a beam that a duel proved wrong the search begins once more, with the seeds that are left. */
static void a_refuted_beam_begins_again(void **state)
{
    static const double times[] = {4, 3, 0};
    struct atoll_search search = settings();
    search.islands = search.beam_width = 1;
    search.grid = 0;
    struct sim *s = op_start(1, &search, &plain, 1);
    sim_capacity(s, 8);
    while (!s->counts[ATOLL_DECIDE_DUEL] || s->order_count > 1) {
        size_t at = s->orders[0].type == ATOLL_DECIDE_DUEL;
        struct atoll_decision order = sim_take(s, at);
        double ns = 1e6 * times[op_number(s, 0, &order.candidate)];
        sim_evaluated(s, &order, ns > 0 ? ATOLL_V_CORRECT : ATOLL_V_WRONG, ns);
    }
    expect_ask(s, 1, ATOLL_ASK_PLAN, 1, 0);
    struct atoll_decision duel = sim_take(s, 0);
    sim_duelled(s, &duel, ATOLL_V_WRONG, 0, 0);
    op_status(s, 1, ATOLL_REPLY_FAILED);
    op_status(s, 2, ATOLL_REPLY_FAILED);
    expect_ask(s, 3, ATOLL_ASK_PLAN, 0, 0);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_finish(s);
}

/* An import while the search goes on is a pool of its own. */
static void imports_join(void **state)
{
    static const double times[] = {4, 3, 0, 1, 5};
    struct atoll_search search = settings();
    struct sim *s = op_start(1, &search, &plain, 1);
    sim_capacity(s, 8);
    op_evaluate(s, times);
    sim_source(s, 0, 0,
               "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", "
               "\"args\": [\"x\", \"y\"]}]} */ /* k3 */");
    for (uint64_t ask = 1; ask < 5; ask++)
        op_status(s, ask, ATOLL_REPLY_FAILED);
    assert_int_equal(op_count(s), 0); /* its verdict is waited for */
    op_evaluate(s, times);
    expect_ask(s, 5, ATOLL_ASK_PLAN, 3, 0);
    expect_ask(s, 7, ATOLL_ASK_PLAN, 1, 1);
    sim_simple(s, ATOLL_EVENT_FINISH);
    op_evaluate(s, times);
    op_finish(s);
}

/* ---- the built-in operator ---- */

static const struct atoll_individual *individual_of(const struct sim *s, const struct atoll_id *id)
{
    uint32_t at = atoll_individuals_find(&s->engine->individuals, 0, id);
    assert_int_not_equal(at, ATOLL_NONE);
    return &s->engine->individuals.items[at];
}

/* Without an operator outside a plan says which parameter varies, then which other template, then nothing. */
static void plans_of_the_tuner(void **state)
{
    static const double times[] = {4, 1, 2};
    struct atoll_search search = settings();
    search.ask_share = 0;
    search.islands = search.beam_width = search.beam_iterations = 1;
    search.beam_plans = 4;
    struct sim *s = op_start(1, &search, &tuned, 1);
    struct atoll_choice member = {0};
    unsigned seen[5] = {0};
    sim_capacity(s, 1);
    while (s->order_count) {
        struct atoll_decision order = sim_take(s, 0);
        double ns = 1e6 * times[op_number(s, 0, &order.candidate)];
        if (order.type == ATOLL_DECIDE_DUEL) {
            sim_duelled(s, &order, ATOLL_V_CORRECT, 0, 1);
            continue;
        }
        if (order.op == ATOLL_OPERATOR_SEED && ns == 1e6)
            member = individual_of(s, &order.candidate)->choice;
        seen[order.answers_ask ? order.answers_ask - 1 : 0]++;
        if (order.answers_ask == 2 || order.answers_ask == 3) { /* its A alone, then its B alone */
            size_t varies = order.answers_ask - 2;
            assert_int_equal(order.choice.count, 2);
            assert_int_not_equal(order.choice.values[varies], member.values[varies]);
            assert_int_equal(order.choice.values[1 - varies], member.values[1 - varies]);
            assert_int_not_equal(order.choice.values[0] * order.choice.values[1], 6);
        }
        if (order.answers_ask == 4)
            assert_int_equal(op_number(s, 0, &order.candidate), 2);
        sim_evaluated(s, &order, ATOLL_V_CORRECT, ns);
    }
    for (unsigned i = 1; i < 5; i++) /* ask 1 was for the plans */
        assert_int_equal(seen[i], 2);
    assert_int_equal(seen[0], 3);
    op_finish(s);
}

/* The values of the one parameter run out: six of A besides the member's are legal, three of U, which is all of its
 * template. */
static void a_plan_runs_out(void **state)
{
    static const struct {
        double times[3];
        uint64_t evaluated;
        uint32_t templates; /* with something left */
    } cases[] = {{{4, 1, 2}, 3 + 6, 2}, {{4, 2, 1}, 3 + 3, 1}};
    for (size_t i = 0; i < 2; i++) {
        struct atoll_search search = settings();
        struct atoll_task_status t;
        search.ask_share = 0;
        search.islands = search.beam_width = search.beam_plans = search.beam_iterations = 1;
        search.beam_attempts = 10;
        struct sim *s = op_start(1, &search, &tuned, 1);
        sim_capacity(s, 64);
        op_evaluate(s, cases[i].times);
        atoll_engine_task_status(s->engine, 0, 0, &t);
        assert_int_equal(t.reason, ATOLL_REASON_EXHAUSTED);
        assert_int_equal(t.evaluated, cases[i].evaluated);
        assert_int_equal(s->engine->tasks[0].template_count, cases[i].templates);
        op_finish(s);
    }
}

/* Half of the members are planned for here, and what is planned here is carried out here. */
static void operators_share(void **state)
{
    struct atoll_search search = settings();
    search.ask_share = 0.5;
    search.beam_iterations = 40;
    search.evaluation_budget = 120;
    struct sim *s = op_start(1, &search, &tuned, 1);
    struct op_moods moods = {.next = 3};
    uint64_t seen = 0, outside = 0, planned[256] = {0};
    sim_capacity(s, 2);
    while (!s->counts[ATOLL_DECIDE_STOP]) {
        for (uint32_t i = 0; i < op_count(s); i++) {
            const struct atoll_ask *ask = op_at(s, i);
            assert_true(ask->number < 256);
            if (ask->number <= seen)
                continue;
            seen = ask->number;
            planned[seen] = ask->kind == ATOLL_ASK_PLAN;
            outside += planned[seen];
            assert_true(planned[seen] || planned[ask->plan]);
        }
        op_advance(s, &moods);
    }
    uint64_t here = 0;
    for (uint32_t i = 0; i < s->engine->individuals.count; i++)
        here += s->engine->individuals.items[i].op == ATOLL_OPERATOR_TUNE;
    assert_in_range(here, 20, 100);
    assert_in_range(outside, 5, 60);
    op_finish(s);
}

/* A member none of whose samples is a plan is planned for, and worked on, here; where one is, it is not. */
static void nobody_plans(void **state)
{
    static const double times[] = {4, 1, 2};
    struct atoll_search search = settings();
    search.islands = search.beam_width = search.beam_iterations = 1;
    for (unsigned plans = 0; plans < 2; plans++) {
        struct sim *s = op_start(1, &search, &tuned, 1);
        sim_capacity(s, 8);
        op_evaluate(s, times);
        assert_int_equal(op_count(s), 2);
        op_plans(s, 1, plans);
        op_status(s, 2, ATOLL_REPLY_FAILED);
        uint32_t here = 0;
        if (plans)
            op_status(s, 3, ATOLL_REPLY_EMPTY);
        op_evaluate(s, times);
        for (uint32_t i = 0; i < s->engine->individuals.count; i++)
            here += s->engine->individuals.items[i].op == ATOLL_OPERATOR_TUNE;
        assert_int_equal(here, plans ? 0 : 4); /* two plans, two attempts at each */
        assert_int_equal(op_count(s), 0);
        op_finish(s);
    }
}

/* ---- whatever happens ---- */

/* The rule told once more, from what can be seen: asks, and candidates with the ask they answer. */
struct oracle {
    uint64_t seen;    /* asks up to here */
    uint32_t first;   /* individual */
    uint32_t members; /* expected of the iteration that is under way */
    uint32_t asked;   /* samples of their plans */
    uint32_t beam[64];
    uint64_t plan_asks[64];
    struct {
        uint64_t ask, plan;
    } writes[4096];
    uint32_t write_count, iterations;
};

static const struct atoll_individual *at(const struct sim *s, uint32_t individual)
{
    return &s->engine->individuals.items[individual];
}

static int by_time(const struct sim *s, const uint32_t *from, uint32_t count, uint32_t *taken)
{
    uint32_t best = ATOLL_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (from[i] != ATOLL_NONE &&
            (best == ATOLL_NONE || at(s, from[i])->time_ns < at(s, from[best])->time_ns)) {
            best = i;
        }
    }
    *taken = best;
    return best != ATOLL_NONE;
}

static void take_fastest(const struct sim *s, uint32_t *from, uint32_t count, uint32_t limit, uint32_t *beam,
                         uint32_t *members)
{
    uint32_t taken;
    while (*members < limit && by_time(s, from, count, &taken)) {
        beam[(*members)++] = from[taken];
        from[taken] = ATOLL_NONE;
    }
}

static uint32_t group_best(const struct sim *s, uint64_t ask, uint32_t first)
{
    uint32_t best = ATOLL_NONE;
    for (uint32_t i = first; i < s->engine->individuals.count; i++) {
        if (at(s, i)->ask == ask && at(s, i)->state == ATOLL_V_CORRECT &&
            (best == ATOLL_NONE || at(s, i)->time_ns < at(s, best)->time_ns)) {
            best = i;
        }
    }
    return best;
}

static void next_iteration(const struct sim *s, struct oracle *o)
{
    static uint32_t pool[8192];
    uint32_t count = 0, old_count = 0, old[64], members = 0, beam[64];
    for (uint32_t i = 0; i < o->write_count; i++)
        pool[count++] = group_best(s, o->writes[i].ask, o->first);
    for (uint32_t i = o->first; i < s->engine->individuals.count; i++) {
        if (!at(s, i)->ask && at(s, i)->state == ATOLL_V_CORRECT &&
            at(s, i)->op != ATOLL_OPERATOR_NULL_CONTROL) {
            pool[count++] = i;
        }
    }
    take_fastest(s, pool, count, s->search.beam_width, beam, &members);
    for (uint32_t i = 0; i < o->members; i++)
        if (at(s, o->beam[i])->state == ATOLL_V_CORRECT)
            old[old_count++] = o->beam[i];
    take_fastest(s, old, old_count, s->search.beam_width, beam, &members);
    memcpy(o->beam, beam, sizeof(beam));
    o->members = members;
    o->asked = o->write_count = 0;
    o->first = s->engine->individuals.count;
    o->iterations++;
}

static void see_plan_ask(const struct sim *s, struct oracle *o, const struct atoll_ask *ask)
{
    if (o->asked == o->members * s->search.beam_plans) {
        for (uint32_t i = 0; i < s->engine->individuals.count; i++) /* nothing of the last one is open */
            assert_int_not_equal(at(s, i)->state, ATOLL_INDIVIDUAL_UNDER_WAY);
        for (uint32_t i = 0; i < op_count(s); i++)
            assert_true(op_at(s, i)->number > o->seen);
        next_iteration(s, o);
    }
    uint32_t member = o->asked / s->search.beam_plans;
    assert_true(member < o->members);
    assert_true(atoll_id_equal(&ask->parent, &at(s, o->beam[member])->id));
    assert_int_equal(ask->island, member % s->search.islands);
    assert_int_equal(ask->count, 1);
    o->plan_asks[o->asked++] = ask->number;
}

static void see_write_ask(const struct sim *s, struct oracle *o, const struct atoll_ask *ask)
{
    uint32_t index = 0, member = 0;
    for (uint32_t i = 0; i < o->write_count; i++)
        index += o->writes[i].plan == ask->plan;
    while (member < o->asked && o->plan_asks[member] != ask->plan)
        member++;
    assert_true(member < o->asked);
    assert_int_equal(ask->plan_index, index);
    assert_int_equal(index, 0);
    assert_int_equal(ask->count, s->search.beam_attempts);
    assert_true(atoll_id_equal(&ask->parent, &at(s, o->beam[member / s->search.beam_plans])->id));
    o->writes[o->write_count].ask = ask->number;
    o->writes[o->write_count++].plan = ask->plan;
}

static void look(const struct sim *s, struct oracle *o)
{
    uint64_t last = o->seen;
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_ask *ask = op_at(s, i);
        if (ask->number <= o->seen)
            continue;
        (ask->kind == ATOLL_ASK_PLAN ? see_plan_ask : see_write_ask)(s, o, ask);
        last = ask->number;
    }
    o->seen = last;
}

/* No ask brings more than was wanted, so no iteration more than its members times plans times attempts. */
static void check_counts(const struct sim *s)
{
    static uint32_t brought[1 << 16];
    assert_true(s->engine->next_ask < 1 << 16);
    memset(brought, 0, s->engine->next_ask * sizeof(*brought));
    for (uint32_t i = 0; i < s->engine->individuals.count; i++)
        if (at(s, i)->ask)
            assert_true(++brought[at(s, i)->ask] <= s->search.beam_attempts);
    uint64_t asks = (uint64_t)s->search.beam_width * (2 * s->search.beam_plans + s->search.beam_plans + 1) *
                    s->search.beam_iterations; /* a sample, its attempts; those of the built-in operator */
    assert_true(s->engine->next_ask - 1 <= asks * s->engine->task_count);
}

static struct atoll_search random_settings(uint64_t seed, double ask_share)
{
    struct atoll_random r = {seed, 0};
    struct atoll_search search = settings();
    search.seed = seed;
    search.ask_share = ask_share;
    search.islands = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 3);
    search.noop_interval = 1;
    search.asks = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 9);
    search.beam_width = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 4);
    search.beam_plans = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 4);
    search.beam_attempts = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 3);
    search.beam_iterations = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 5);
    search.evaluation_budget = atoll_random_next(&r) % 4 ? 0 : 10 + atoll_random_next(&r) % 60;
    return search;
}

static void the_rule_holds_whatever_happens(void **state)
{
    for (uint64_t seed = 1; seed <= RANDOM_CASES(120); seed++) {
        struct atoll_search search = random_settings(seed, 1);
        struct sim *s = op_start(seed, &search, &plain, 1);
        struct op_moods moods = op_random_moods(s, 3);
        static struct oracle o;
        memset(&o, 0, sizeof(o));
        sim_capacity(s, 1 + (uint32_t)sim_below(s, 64));
        for (unsigned i = 0; i < 400 && !s->counts[ATOLL_DECIDE_STOP]; i++) {
            op_happen(s, &moods);
            look(s, &o);
            check_counts(s);
        }
        sim_capacity(s, 4);
        while (!s->counts[ATOLL_DECIDE_STOP]) {
            op_advance(s, &moods);
            look(s, &o);
        }
        assert_true(o.iterations <= search.beam_iterations);
        if (s->last[ATOLL_DECIDE_TASK_DONE].reason == ATOLL_REASON_EXHAUSTED)
            assert_int_equal(o.iterations, search.beam_iterations);
        op_finish(s);
    }
}

static void it_ends_whatever_happens(void **state)
{
    static const double shares[] = {0, 0.5, 1};
    for (uint64_t seed = 1; seed <= RANDOM_CASES(120); seed++) {
        struct atoll_search search = random_settings(seed, shares[seed % 3]);
        struct sim *s = op_start(seed, &search, seed % 2 ? &tuned : &plain, 1 + (uint32_t)(seed % 2));
        struct op_moods moods = op_random_moods(s, 3);
        op_happen_often(s, &moods);
        check_counts(s);
        op_drain(s, &moods);
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
        cmocka_unit_test(a_small_search_by_hand),
        cmocka_unit_test(a_repeated_plan_is_asked_for_again),
        cmocka_unit_test(what_was_refuted_does_not_go_on),
        cmocka_unit_test(a_refuted_beam_begins_again),
        cmocka_unit_test(imports_join),
        cmocka_unit_test(plans_of_the_tuner),
        cmocka_unit_test(a_plan_runs_out),
        cmocka_unit_test(operators_share),
        cmocka_unit_test(nobody_plans),
        cmocka_unit_test(the_rule_holds_whatever_happens),
        cmocka_unit_test(it_ends_whatever_happens),
        cmocka_unit_test(snapshots_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

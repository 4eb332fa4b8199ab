/* Every strategy with everything that is asked of models, killed behind every event: what was answered is never asked
 * again, what was not is asked again as it was, and whatever is answered the search ends. */
#include "tests/support/operator.h"

#include "core/issue.h"

static struct atoll_buffer plain, tuned;

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"k0", NULL, NULL}, {"k1", NULL, NULL}};
    static const struct sim_seed templates[] = {{"k0", NULL, NULL}, {"k1", "\"A\": [1, 2, 3, 4]", NULL}};
    atoll_buffer_init(&plain, 1u << 24);
    atoll_buffer_init(&tuned, 1u << 24);
    sim_task("plain", seeds, 2, 1, &plain);
    sim_task("tuned", templates, 2, 1, &tuned);
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(&plain);
    atoll_buffer_fini(&tuned);
    return 0;
}

static struct atoll_search settings(enum atoll_strategy_kind strategy)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    search.strategy = strategy;
    search.ask_share = 1;
    search.asks = 3;
    search.islands = search.beam_width = search.beam_attempts = search.stage_rounds = 2;
    search.beam_plans = search.beam_iterations = 3;
    search.generation_size = 4;
    search.tree_drafts = 4;
    search.template_count = 2;
    search.evaluation_budget = 45;
    search.staged_runs = 3;
    search.stagnation_limit = 0;
    search.prompt_interval = 1;
    search.judge = ATOLL_JUDGE_ALL;
    return search;
}

/* ---- an operator that answers every kind ---- */

static void fill_items(struct sim *s, const struct atoll_ask *ask, struct atoll_reply *reply)
{
    static const enum atoll_item_kind kinds[ATOLL_ASK_KIND_COUNT] = {
        [ATOLL_ASK_PLAN] = ATOLL_ITEM_PLAN,         [ATOLL_ASK_ANALYSE] = ATOLL_ITEM_ISSUE,
        [ATOLL_ASK_SUMMARISE] = ATOLL_ITEM_REWRITE, [ATOLL_ASK_DISTIL] = ATOLL_ITEM_HINT,
        [ATOLL_ASK_META] = ATOLL_ITEM_EDIT,         [ATOLL_ASK_JUDGE] = ATOLL_ITEM_JUDGEMENT};
    static const char *const steps[] = {"a text", "A text!", "another", "a third"};
    if (ask->kind == ATOLL_ASK_ORDER || ask->kind == ATOLL_ASK_WRITE)
        return;
    reply->item_count = (uint32_t)sim_below(s, 4);
    for (uint32_t i = 0; i < reply->item_count; i++) {
        reply->items[i] = (struct atoll_reply_item){.kind = kinds[ask->kind],
                                                    .issue = (uint8_t)sim_below(s, ATOLL_ISSUE_COUNT + 1),
                                                    .title = "a title",
                                                    .gain_low = ask->kind == ATOLL_ASK_JUDGE ? 0.3 * i : 0,
                                                    .text = steps[sim_below(s, 4)]};
        if (!sim_below(s, 6)) /* of another kind than was asked for */
            reply->items[i].kind = (enum atoll_item_kind)sim_below(s, ATOLL_ITEM_KIND_COUNT);
    }
    atoll_reply_count_items(reply);
}

static void answer(struct sim *s, struct op_moods *moods, const struct atoll_ask *asked)
{
    static struct atoll_reply reply;
    const struct atoll_ask ask = *asked;
    if (sim_percent(s, moods->failed)) {
        op_status(s, ask.number, (enum atoll_reply_status)(1 + sim_below(s, 3)));
        return;
    }
    if (!sim_below(s, 20)) {
        op_status(s, ask.number, ATOLL_REPLY_BUILTIN);
        return;
    }
    if (ask.kind == ATOLL_ASK_WRITE) {
        op_write_some(s, moods, &ask);
        return;
    }
    memset(&reply, 0, sizeof(reply));
    reply.ask = ask.number;
    reply.order_count = (uint32_t)sim_below(s, ATOLL_STAGE_LIMIT + 1);
    for (uint32_t i = 0; i < reply.order_count; i++)
        reply.order[i] = (uint8_t)sim_below(s, 12);
    if (sim_below(s, 2)) /* as a reader says it that knows no items */
        reply.plan_count = (uint32_t)sim_below(s, 3);
    fill_items(s, &ask, &reply);
    op_reply(s, &reply);
}

/* What was given to an ask, and what it called, journaled before its reply. */
static void brief(struct sim *s, uint64_t ask)
{
    struct atoll_event *event = malloc(sizeof(*event));
    assert_non_null(event);
    atoll_event_init(event, ATOLL_EVENT_BRIEFING);
    event->briefing = (struct atoll_briefing){
        .ask = ask,
        .count = 1,
        .briefs = {{.kind = ATOLL_BRIEF_HINT, .title = "t", .text = "x", .score = 1}}};
    sim_step(s, event);
    atoll_event_init(event, ATOLL_EVENT_TOOL);
    event->tool_turn = (struct atoll_tool_turn){
        .ask = ask, .tokens_in = 10, .cost_usd = 0.001, .call_count = 1, .calls = {{.name = "compile"}}};
    sim_step(s, event);
    free(event);
}

/* Two device models, on the first of which what models write is fast: the other is asked for translations of it. */
static void capacity(struct sim *s, int has_two_models)
{
    struct atoll_event event;
    if (!has_two_models) {
        sim_capacity(s, 2);
        return;
    }
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = event.model_count = 2;
    event.models[0] = (struct atoll_capacity){"new", 1, 0, {0}};
    event.models[1] = (struct atoll_capacity){"old", 1, 0, {0}};
    sim_step(s, &event);
}

static void evaluate(struct sim *s, int has_two_models)
{
    if (!has_two_models || s->orders[0].type != ATOLL_DECIDE_EVALUATE || s->orders[0].model != 0 ||
        s->orders[0].op == ATOLL_OPERATOR_SEED) {
        sim_answer(s);
        return;
    }
    struct atoll_decision order = sim_take(s, 0);
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 0.1 * sim_time(&order.candidate));
}

static void advance(struct sim *s, struct op_moods *moods, int has_two_models)
{
    if (op_count(s) && (!s->order_count || sim_below(s, 2))) {
        const struct atoll_ask ask = *op_at(s, (uint32_t)sim_below(s, op_count(s)));
        if (!sim_below(s, 3))
            brief(s, ask.number);
        answer(s, moods, &ask);
    } else {
        evaluate(s, has_two_models);
    }
}

/* ---- who asked what ---- */

#define ASK_LIMIT 4096

struct asked {
    struct atoll_id bytes[ASK_LIMIT]; /* of each ask that was made, by number */
    uint32_t made;
};

static struct atoll_id id_of_ask(const struct atoll_ask *ask)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, 1u << 16);
    atoll_ask_encode(ask, &b);
    struct atoll_id id = atoll_id_of(b.data, b.length);
    atoll_buffer_fini(&b);
    return id;
}

struct resumed {
    const struct sim *of;
    uint32_t count;
};

/* Behind a resume: one that was under way, in order and as it was. */
static void see_repeated(void *context, const struct atoll_decision *d)
{
    struct resumed *r = context;
    if (d->type != ATOLL_DECIDE_ASK)
        return;
    assert_true(r->count < op_count(r->of));
    struct atoll_id made = id_of_ask(&d->ask), was = id_of_ask(op_at(r->of, r->count));
    assert_true(atoll_id_equal(&made, &was));
    r->count++;
}

/* The process is killed here: another one that knows the journal takes over. */
static void kill_here(const struct sim *s)
{
    struct atoll_buffer bytes;
    struct atoll_event event;
    struct resumed r = {.of = s};
    atoll_buffer_init(&bytes, 1u << 26);
    assert_int_equal(atoll_engine_save(s->engine, &bytes, NULL), 0);
    struct atoll_engine *next = atoll_engine_load(bytes.data, bytes.length, NULL);
    assert_non_null(next);
    atoll_event_init(&event, ATOLL_EVENT_RESUME);
    assert_int_equal(atoll_engine_step(next, &event, see_repeated, &r, NULL), 0);
    assert_int_equal(r.count, op_count(s)); /* not more than these; without slots nothing else is asked */
    atoll_engine_destroy(next);
    atoll_buffer_fini(&bytes);
}

/* Every number is asked once, and never what was answered. */
static void note(const struct sim *s, struct asked *asked, uint64_t *seen)
{
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_ask *ask = op_at(s, i);
        struct atoll_id id = id_of_ask(ask);
        assert_true(ask->number < ASK_LIMIT);
        if (ask->number > *seen)
            asked->bytes[ask->number] = id;
        assert_true(atoll_id_equal(&asked->bytes[ask->number], &id));
    }
    if (op_count(s) && op_at(s, op_count(s) - 1)->number > *seen)
        *seen = op_at(s, op_count(s) - 1)->number;
}

/* Of kernels the operator, of others the kind. */
#define WRITES(op) (1u << ATOLL_OPERATOR_##op)
#define ASKS(kind) (1u << (ATOLL_OPERATOR_COUNT + ATOLL_ASK_##kind))

static uint32_t roles_of(const struct sim *s)
{
    uint32_t roles = 0;
    for (uint32_t i = 0; i < op_count(s); i++) {
        const struct atoll_ask *ask = op_at(s, i);
        roles |= 1u << (ask->kind == ATOLL_ASK_WRITE ? (unsigned)ask->op
                                                     : ATOLL_OPERATOR_COUNT + (unsigned)ask->kind);
    }
    return roles;
}

static uint32_t campaign(enum atoll_strategy_kind strategy, uint64_t seed)
{
    struct atoll_search search = settings(strategy);
    search.seed = seed;
    struct sim *s = op_start(seed, &search, seed % 2 ? &plain : &tuned, 1);
    struct asked *asked = calloc(1, sizeof(*asked));
    struct op_moods moods = {.failed = (unsigned)(seed % 3 * 15), .known = 10, .next = 2};
    uint64_t seen = 0;
    uint32_t roles = 0;
    int has_two_models = seed == 3;
    assert_non_null(asked);
    s->infrastructure = s->wrong = 8;
    s->noise = 0.05;
    capacity(s, has_two_models);
    for (unsigned i = 0; !s->counts[ATOLL_DECIDE_STOP]; i++) {
        assert_true(s->order_count + op_count(s) > 0 && i < 20000);
        kill_here(s);
        if (!sim_below(s, 12)) { /* and goes on there */
            sim_reload(s);
            sim_simple(s, ATOLL_EVENT_RESUME);
            capacity(s, has_two_models);
        }
        note(s, asked, &seen);
        roles |= roles_of(s);
        advance(s, &moods, has_two_models);
    }
    op_finish(s);
    free(asked);
    return roles;
}

static void nothing_is_asked_twice(void **state)
{
    static const uint32_t expected[ATOLL_STRATEGY_COUNT] = {
        [ATOLL_STRATEGY_ISLANDS] = WRITES(UNIVERSAL) | WRITES(TRANSLATE) | WRITES(TEMPLATE) | ASKS(ANALYSE) |
                                   ASKS(SUMMARISE) | ASKS(META) | ASKS(DISTIL) | ASKS(JUDGE),
        [ATOLL_STRATEGY_BEAM] = ASKS(PLAN) | WRITES(EXECUTE) | WRITES(TRANSLATE) | WRITES(TEMPLATE) |
                                ASKS(ANALYSE) | ASKS(SUMMARISE) | ASKS(META) | ASKS(DISTIL) | ASKS(JUDGE),
        [ATOLL_STRATEGY_TREE] = WRITES(INITIALISE) | WRITES(UNIVERSAL) | WRITES(TRANSLATE) |
                                WRITES(TEMPLATE) | ASKS(ANALYSE) | ASKS(SUMMARISE) | ASKS(META) |
                                ASKS(DISTIL) | ASKS(JUDGE),
        [ATOLL_STRATEGY_STAGED] = ASKS(ANALYSE) | ASKS(ORDER) | WRITES(STAGED) | WRITES(EXTRACT) |
                                  WRITES(TRANSLATE) | WRITES(TEMPLATE) | ASKS(SUMMARISE) | ASKS(META) |
                                  ASKS(JUDGE),
        [ATOLL_STRATEGY_REPEATED] = WRITES(INITIALISE) | ASKS(JUDGE)};
    for (unsigned strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        uint32_t roles = 0;
        for (uint64_t seed = 1; seed <= RANDOM_CASES(8) || (seed <= 8 && (expected[strategy] & ~roles));
             seed++)
            roles |= campaign((enum atoll_strategy_kind)strategy, seed);
        if (expected[strategy] & ~roles)
            fail_msg("strategy %s: of the roles %x only %x were asked", atoll_strategy_name(strategy),
                     expected[strategy], roles);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_asked_twice),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

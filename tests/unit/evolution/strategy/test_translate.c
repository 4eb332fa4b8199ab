/* Elites of another language or device model are asked to be translated where nothing else is within reach; killed behind every
 * step the search goes on as before. */
#include "tests/support/operator.h"

#include "core/issue.h"

static struct atoll_buffer cuda, plain;

static int set_up(void **state)
{
    static const struct sim_seed seeds[] = {{"k0.cu", NULL, NULL}};
    static const struct sim_seed in_c[] = {{"k0", NULL, NULL}};
    atoll_buffer_init(&cuda, 1u << 24);
    atoll_buffer_init(&plain, 1u << 24);
    sim_task_with("copy", seeds, 1, "baselines:\n  - {name: k0, file: seeds/k0.cu}\n", &cuda);
    sim_task("plain", in_c, 1, 1, &plain);
    return 0;
}

static int tear_down(void **state)
{
    atoll_buffer_fini(&cuda);
    atoll_buffer_fini(&plain);
    return 0;
}

static void reply_with(struct sim *s, uint64_t ask, const char *language, uint32_t number)
{
    char text[1024];
    struct atoll_reply reply = {.ask = ask, .source_count = 1};
    if (strcmp(language, "triton") == 0)
        snprintf(
            text, sizeof(text),
            "# atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"f\", \"grid\": [\"cdiv(N, 256)\"], "
            "\"args\": [\"x\", \"y\", \"i32:N\"]}]}\nimport triton\n\n\n@triton.jit\ndef f(x, y, n):\n    "
            "pass  # k%u\n",
            number);
    else if (strcmp(language, "cuda") == 0)
        snprintf(
            text, sizeof(text),
            "/* atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"f\", \"grid\": [\"cdiv(N, 256)\"], "
            "\"block\": [\"256\"], \"args\": [\"x\", \"y\", \"i32:N\"]}]} */\n"
            "extern \"C\" __global__ void f(const float *x, float *y, int n) { } /* k%u */\n",
            number);
    else
        snprintf(
            text, sizeof(text),
            "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": "
            "[\"x\", \"y\"]}]} */\nvoid f(long a, long b, const float *x, float *y) { } /* k%u */\n",
            number);
    reply.sources[0] = (struct atoll_reply_source){language, text};
    op_reply(s, &reply);
}

static struct atoll_search settings(enum atoll_strategy_kind strategy, enum atoll_language language)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = strategy;
    search.language = language;
    search.ask_share = 1;
    search.asks = 1;
    search.tree_drafts = 2;
    search.generation_size = 4;
    search.evaluation_budget = 30;
    search.noop_interval = 0;
    search.stagnation_limit = 0;
    return search;
}

static const char *language_of(const struct sim *s, const struct atoll_id *candidate)
{
    struct atoll_id source;
    struct atoll_choice choice;
    const char *language, *text;
    assert_int_equal(atoll_engine_candidate(s->engine, 0, candidate, &source, &choice), 0);
    assert_int_equal(atoll_engine_source(s->engine, &source, &language, &text), 0);
    return language;
}

/* The fastest correct kernel of a language on a model. */
static struct atoll_id fastest(const struct sim *s, uint32_t model, const char *language)
{
    struct atoll_candidate_view view;
    struct atoll_id best = {{0}};
    uint32_t cursor = 0;
    double time_ns = INFINITY;
    while (atoll_engine_next_view(s->engine, 0, model, &cursor, &view))
        if (view.is_correct && view.time_ns < time_ns && strcmp(language_of(s, &view.id), language) == 0) {
            best = view.id;
            time_ns = view.time_ns;
        }
    return best;
}

struct counts {
    unsigned asked, tried;
};

/* Kernels in CUDA until a translation is asked for, which is answered in Triton, ten times as slow as anything. */
static struct counts run(struct sim *s)
{
    struct counts counts = {0, 0};
    struct atoll_id last = {{0}};
    uint64_t seen = 0;
    uint32_t number = 1;
    for (unsigned step = 0; step < 400 && !s->counts[ATOLL_DECIDE_STOP]; step++) {
        sim_reload(s);
        if (op_count(s) && op_at(s, 0)->op == ATOLL_OPERATOR_TRANSLATE && op_at(s, 0)->number != seen) {
            struct atoll_id best = fastest(s, 0, "cuda");
            assert_true(atoll_id_equal(&op_at(s, 0)->parent, &best));
            assert_false(atoll_id_equal(&best, &last)); /* once each */
            last = best;
            seen = op_at(s, 0)->number;
            counts.asked++;
        }
        if (s->order_count) {
            struct atoll_decision order = sim_take(s, 0);
            s->now_ns += 10000000;
            if (order.type == ATOLL_DECIDE_DUEL) {
                sim_answer_duel(s, &order);
                continue;
            }
            int is_triton = strcmp(language_of(s, &order.candidate), "triton") == 0;
            assert_int_equal(order.op == ATOLL_OPERATOR_TRANSLATE, is_triton);
            counts.tried += (unsigned)is_triton;
            sim_evaluated(s, &order, ATOLL_V_CORRECT, (is_triton ? 10 : 1) * sim_time(&order.candidate));
            continue;
        }
        if (!op_count(s))
            break;
        struct atoll_ask ask = *op_at(s, 0);
        struct atoll_reply issues = {.ask = ask.number, .issues = (UINT64_C(1) << ATOLL_ISSUE_COUNT) - 1};
        if (ask.kind == ATOLL_ASK_PLAN)
            op_plans(s, ask.number, ask.count);
        else if (ask.kind == ATOLL_ASK_ANALYSE)
            op_reply(s, &issues);
        else if (ask.kind != ATOLL_ASK_WRITE)
            op_status(s, ask.number, ATOLL_REPLY_EMPTY);
        else if (ask.op == ATOLL_OPERATOR_TRANSLATE)
            reply_with(s, ask.number, "triton", number++);
        else
            reply_with(s, ask.number, "cuda", number++);
    }
    return counts;
}

static void the_other_language_gets_what_one_has(void **state)
{
    static const enum atoll_strategy_kind strategies[] = {ATOLL_STRATEGY_ISLANDS, ATOLL_STRATEGY_TREE,
                                                          ATOLL_STRATEGY_BEAM, ATOLL_STRATEGY_STAGED};
    for (size_t i = 0; i < 8; i++) {
        struct sim *s = malloc(sizeof(*s));
        struct atoll_search search = settings(strategies[i % 4], ATOLL_LANGUAGE_CUDA_TRITON);
        search.translate = i < 4;
        sim_start(s, 7, &search);
        sim_add_task(s, 0, &cuda);
        sim_capacity(s, 1);
        struct counts counts = run(s);
        if (search.translate)
            assert_true(counts.asked >= 1 && counts.asked <= 7 && counts.tried >= 1);
        else if (counts.asked)
            fail_msg("strategy %zu", i % 4);
        sim_check_replay(s);
        sim_fini(s);
        free(s);
    }
}

/* A kernel that is fast on one model is shown to the other, whose own are not; never the other way round, and never what is
 * known there. */
static void the_other_model_gets_what_one_has(void **state)
{
    struct sim *s = malloc(sizeof(*s));
    struct atoll_search search = settings(ATOLL_STRATEGY_ISLANDS, ATOLL_LANGUAGE_C);
    struct atoll_event event;
    unsigned asked = 0;
    uint32_t number = 1;
    sim_start(s, 7, &search);
    sim_add_task(s, 0, &plain);
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = 2;
    event.model_count = 2;
    event.models[0] = (struct atoll_capacity){"new", 1, 0, {0}};
    event.models[1] = (struct atoll_capacity){"old", 1, 0, {0}};
    sim_step(s, &event);
    for (unsigned step = 0; step < 400 && !s->counts[ATOLL_DECIDE_STOP] && (s->order_count || op_count(s));
         step++) {
        sim_reload(s);
        if (s->order_count) {
            struct atoll_decision order = sim_take(s, 0);
            int is_fast = order.model == 0 && order.op != ATOLL_OPERATOR_SEED;
            s->now_ns += 10000000;
            if (order.type == ATOLL_DECIDE_DUEL)
                sim_answer_duel(s, &order);
            else
                sim_evaluated(s, &order, ATOLL_V_CORRECT, (is_fast ? 0.1 : 1) * sim_time(&order.candidate));
            continue;
        }
        struct atoll_ask ask = *op_at(s, 0);
        if (ask.op == ATOLL_OPERATOR_TRANSLATE) {
            struct atoll_candidate_view view;
            assert_int_equal(ask.model, 1);
            assert_int_equal(atoll_engine_view(s->engine, 0, 1, &ask.parent, &view), -1);
            assert_int_equal(atoll_engine_view(s->engine, 0, 0, &ask.parent, &view), 0);
            asked++;
        }
        reply_with(s, ask.number, "c", number++);
    }
    assert_in_range(asked, 1, 7);
    sim_check_replay(s);
    sim_fini(s);
    free(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_other_language_gets_what_one_has),
        cmocka_unit_test(the_other_model_gets_what_one_has),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

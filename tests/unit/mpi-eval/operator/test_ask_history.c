#include "tests/support/expect.h"

#include "mpi-eval/operator/ask_history.h"

static struct atoll_ask_history *history;

static int set_up(void **state)
{
    (void)state;
    history = atoll_ask_history_create(NULL);
    return history ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_ask_history_destroy(history);
    return 0;
}

static struct atoll_ask ask_of(uint64_t number, enum atoll_ask_kind kind, enum atoll_operator op,
                               uint8_t stage, uint8_t round)
{
    return (struct atoll_ask){
        .number = number, .kind = kind, .op = op, .stage = stage, .round = round, .count = 1};
}

static void add(const struct atoll_ask *ask)
{
    assert_int_equal(atoll_ask_history_add(history, ask, NULL), 0);
}

static void reply(uint64_t ask, const struct atoll_reply_item *items, uint32_t count, const char *thought)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_REPLY);
    event.reply = (struct atoll_reply){.ask = ask, .item_count = count, .dialogue = {.thought = thought}};
    for (uint32_t i = 0; i < count; i++)
        event.reply.items[i] = items[i];
    assert_int_equal(atoll_ask_history_add_event(history, &event, NULL), 0);
}

static void a_plan_is_found_by_its_index(void **state)
{
    const struct atoll_reply_item items[] = {{.kind = ATOLL_ITEM_PLAN, .title = "a"},
                                             {.kind = ATOLL_ITEM_HINT},
                                             {.kind = ATOLL_ITEM_PLAN, .title = "b"}};
    struct atoll_ask plan = ask_of(3, ATOLL_ASK_PLAN, ATOLL_OPERATOR_PLAN, 0, 0),
                     execute = ask_of(5, ATOLL_ASK_WRITE, ATOLL_OPERATOR_EXECUTE, 0, 0);
    (void)state;
    add(&plan);
    execute.plan = 3;
    execute.plan_index = 1;
    assert_null(atoll_ask_history_step(history, &execute));
    reply(3, items, 3, NULL);
    assert_string_equal(atoll_ask_history_step(history, &execute)->title, "b");
    execute.plan_index = 2;
    assert_null(atoll_ask_history_step(history, &execute));
    execute.plan = 4;
    assert_null(atoll_ask_history_step(history, &execute));
}

static void a_briefing_and_turns_live_until_the_reply(void **state)
{
    struct atoll_event event;
    struct atoll_ask ask = ask_of(1, ATOLL_ASK_WRITE, ATOLL_OPERATOR_UNIVERSAL, 0, 0);
    char text[] = "first";
    (void)state;
    add(&ask);
    atoll_event_init(&event, ATOLL_EVENT_BRIEFING);
    event.briefing = (struct atoll_briefing){.ask = 1, .count = 1, .briefs = {{.title = "t", .text = text}}};
    assert_int_equal(atoll_ask_history_add_event(history, &event, NULL), 0);
    text[0] = 'x'; /* it is a copy */
    event.briefing.count = 0;
    assert_int_equal(atoll_ask_history_add_event(history, &event, NULL),
                     0); /* a second one counts for nothing */
    const struct atoll_ask_record *r = atoll_ask_history_find(history, 1);
    assert_string_equal(r->briefing->briefs[0].text, "first");
    atoll_event_init(&event, ATOLL_EVENT_TOOL);
    for (uint32_t turn = 0; turn < 3; turn++) {
        event.tool_turn = (struct atoll_tool_turn){.ask = 1,
                                                   .turn = turn,
                                                   .said = "s",
                                                   .call_count = 2,
                                                   .calls = {{.result = "r"}, {.result = "q"}}};
        assert_int_equal(atoll_ask_history_add_event(history, &event, NULL), 0);
        assert_int_equal(atoll_ask_history_add_event(history, &event, NULL), 0);
    }
    assert_int_equal(r->turn_count, 3);
    assert_int_equal(r->call_count, 6);
    assert_string_equal(r->turns->next->next->turn.calls[1].result, "q");
    reply(1, NULL, 0, "hm");
    assert_true(r->is_answered);
    assert_null(r->briefing);
    assert_null(r->turns);
    assert_string_equal(r->thought, "hm");
    reply(1, NULL, 0, "again");
    assert_string_equal(r->thought, "hm");
    assert_null(atoll_ask_history_find(history, 2));
}

static void a_stage_has_its_rounds_and_its_analysis(void **state)
{
    const struct atoll_ask_record *rounds[8];
    struct atoll_ask analysis = ask_of(1, ATOLL_ASK_ANALYSE, ATOLL_OPERATOR_STAGED, 0, 0), ask;
    (void)state;
    add(&analysis);
    for (uint64_t i = 0; i < 9; i++) { /* two runs of the stage, another island between */
        ask = ask_of(2 + i, ATOLL_ASK_WRITE, ATOLL_OPERATOR_STAGED, 4, (uint8_t)(i < 3 ? i : i - 3));
        ask.island = i == 6;
        ask.plan = 1;
        add(&ask);
    }
    ask = ask_of(20, ATOLL_ASK_WRITE, ATOLL_OPERATOR_EXTRACT, 4, 5);
    ask.plan = 1;
    assert_null(atoll_ask_history_analysis(history, &ask));
    reply(1, NULL, 0, NULL);
    assert_ptr_equal(atoll_ask_history_analysis(history, &ask), atoll_ask_history_find(history, 1));
    assert_int_equal(atoll_ask_history_rounds(history, &ask, rounds, 8), 5);
    assert_int_equal(rounds[0]->ask.number, 5);
    assert_int_equal(rounds[4]->ask.number, 10);
    assert_int_equal(atoll_ask_history_rounds(history, &ask, rounds, 2), 2);
    assert_int_equal(rounds[0]->ask.number, 9);
    ask.stage = 5;
    assert_int_equal(atoll_ask_history_rounds(history, &ask, rounds, 8), 0);
    ask.plan = 2;
    assert_null(atoll_ask_history_analysis(history, &ask));
}

/* Who carries out a plan knows what its planner was told; an analysis holds no step, whatever is in it. */
static void a_plan_passes_its_analysis_on(void **state)
{
    const struct atoll_reply_item items[] = {{.kind = ATOLL_ITEM_ISSUE, .text = "i"},
                                             {.kind = ATOLL_ITEM_PLAN, .text = "p"}};
    struct atoll_ask analysis = ask_of(1, ATOLL_ASK_ANALYSE, ATOLL_OPERATOR_PLAN, 0, 0);
    struct atoll_ask plan = ask_of(2, ATOLL_ASK_PLAN, ATOLL_OPERATOR_PLAN, 0, 0);
    struct atoll_ask attempt = ask_of(3, ATOLL_ASK_WRITE, ATOLL_OPERATOR_EXECUTE, 0, 0);
    (void)state;
    add(&analysis);
    reply(1, items, 2, NULL);
    plan.plan = 1;
    add(&plan);
    reply(2, items, 2, NULL);
    attempt.plan = 2;
    assert_ptr_equal(atoll_ask_history_analysis(history, &plan), atoll_ask_history_find(history, 1));
    assert_ptr_equal(atoll_ask_history_analysis(history, &attempt), atoll_ask_history_find(history, 1));
    assert_string_equal(atoll_ask_history_step(history, &attempt)->text, "p");
    assert_null(atoll_ask_history_step(history, &plan));
    plan.number = 4;
    plan.plan = 0;
    add(&plan);
    attempt.plan = 4;
    assert_null(atoll_ask_history_analysis(history, &attempt));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_plan_is_found_by_its_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_briefing_and_turns_live_until_the_reply, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plan_passes_its_analysis_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stage_has_its_rounds_and_its_analysis, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

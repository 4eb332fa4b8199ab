#include "tests/support/operator.h"

#include "core/knowledge/pack.h"
#include "mpi-eval/operator/tool_loop.h"

static const struct sim_seed seeds[] = {{"k0", NULL, NULL}};

static void calls_beyond_the_limit_are_refused(void **state)
{
    struct atoll_buffer task;
    struct atoll_search search;
    struct atoll_tool_loop loop;
    struct atoll_tool_result result;
    struct atoll_llm_outcome outcome;
    struct atoll_ask_record record = {.ask = {.number = 9}, .turn_count = 1, .call_count = 1};
    const struct atoll_llm_tool_call calls[] = {{"a", "search_archive", "{\"words\": \"long\"}"},
                                                {"b", "search_archive", "{\"words\": \"long\"}"}};
    struct atoll_arena *arena = atoll_arena_create(1u << 24, NULL);
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(NULL);
    struct atoll_tools *tools = atoll_tools_create(pack, NULL, 0, NULL);
    (void)state;
    assert_non_null(tools);
    atoll_buffer_init(&task, 1u << 24);
    sim_task("copy", seeds, 1, 1, &task);
    atoll_search_defaults(&search);
    struct sim *s = op_start(7, &search, &task, 1);
    const struct atoll_tool_scene scene = {.engine = s->engine, .language = "c"};
    atoll_llm_outcome_init(&outcome);
    assert_int_equal(atoll_llm_outcome_set_calls(&outcome, calls, 2, NULL), 0);
    outcome.status = ATOLL_LLM_TOOL_CALLS;
    outcome.usage.input = 7;
    outcome.cost_usd = -1; /* counts as nothing */
    assert_int_equal(atoll_tool_loop_begin(&loop, tools, &scene, &record, 2, &outcome, arena, 0, NULL), 0);
    assert_int_equal(loop.open, 1);
    assert_int_equal(loop.turn.call_count, 2);
    assert_int_equal(loop.turn.turn, 1);
    assert_true(loop.turn.tokens_in == 7 && loop.turn.cost_usd == 0);
    assert_int_equal(loop.turn.calls[1].status, ATOLL_TOOL_REFUSED);
    assert_non_null(strstr(loop.turn.calls[1].result, "all 2 calls"));
    assert_int_equal(atoll_tools_next(tools, 0, &result), 1);
    uint64_t number = result.call;
    result.call++;
    assert_int_equal(atoll_tool_loop_take(&loop, &result, arena, NULL), 0); /* another's */
    result.call = number;
    assert_int_equal(atoll_tool_loop_take(&loop, &result, arena, NULL), 1);
    assert_int_equal(loop.open, 0);
    assert_true(*loop.turn.calls[0].result);
    assert_int_equal(atoll_tool_loop_begin(&loop, tools, &scene, &record, 3, &outcome, arena, 0, NULL), 0);
    assert_int_equal(loop.open, 2);
    atoll_tool_loop_cancel(&loop, tools);
    assert_int_equal(atoll_tools_next(tools, 0, &result), 0);
    atoll_llm_outcome_fini(&outcome);
    sim_fini(s);
    free(s);
    atoll_tools_destroy(tools);
    atoll_knowledge_pack_destroy(pack);
    atoll_arena_destroy(arena);
    atoll_buffer_fini(&task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_beyond_the_limit_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What people and prompts ask of the engine about single candidates. */
#include "tests/support/operator.h"

static const struct sim_seed seeds[] = {
    {"naive", NULL, NULL},
    {"tiled", "\"A\": [1, 2, 3, 4, 5, 6], \"B\": [1, 2, 3, 4]", NULL},
};

static void candidates_are_told_the_newest_first(void **state)
{
    struct atoll_buffer task;
    struct atoll_search search;
    struct sim *s = malloc(sizeof(*s));
    struct atoll_candidate_view view, same;
    struct atoll_task_status status;
    uint32_t cursor = 0, count = 0, correct = 0, children = 0;
    (void)state;
    assert_non_null(s);
    atoll_buffer_init(&task, 1u << 24);
    sim_task("copy", seeds, 2, 1, &task);
    atoll_search_defaults(&search);
    search.evaluation_budget = 60;
    search.noop_interval = 2; /* null controls are there, and are not told */
    sim_start(s, 7, &search);
    sim_add_task(s, 0, &task);
    sim_capacity(s, 4);
    for (int i = 0; i < 60 && s->order_count; i++)
        sim_answer(s);
    while (atoll_engine_next_view(s->engine, 0, 0, &cursor, &view)) {
        const struct atoll_individual *r =
            &s->engine->individuals.items[s->engine->individuals.count - cursor];
        assert_true(atoll_id_equal(&view.id, &r->id));
        assert_int_equal(atoll_engine_view(s->engine, 0, 0, &view.id, &same), 0);
        assert_true(atoll_id_equal(&view.parent, &same.parent) && view.time_ns == same.time_ns);
        assert_int_not_equal(r->op, ATOLL_OPERATOR_NULL_CONTROL);
        correct += view.is_correct != 0;
        children +=
            !atoll_id_is_zero(&view.parent) && atoll_engine_view(s->engine, 0, 0, &view.parent, &same) == 0;
        if (!view.is_settled)
            assert_false(view.is_correct);
        count++;
    }
    assert_int_equal(atoll_engine_task_status(s->engine, 0, 0, &status), 0);
    assert_true(count > 10 && children > 0);
    assert_true(correct > 0);
    assert_int_equal(atoll_engine_view(s->engine, 0, 0, &status.best, &view), 0);
    assert_true(view.is_correct && view.is_settled && view.time_ns == status.best_ns);
    cursor = 0;
    assert_int_equal(atoll_engine_next_view(s->engine, 1, 0, &cursor, &view), 0);
    assert_int_equal(atoll_engine_view(s->engine, 0, 0, &(struct atoll_id){{1}}, &view), -1);
    assert_int_equal(atoll_engine_view(s->engine, 0, 7, &status.best, &view), -1);
    sim_fini(s);
    free(s);
    atoll_buffer_fini(&task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(candidates_are_told_the_newest_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* engine_scene.h - three small tasks, settings that make every mechanism happen soon, and what holds at every end. */
#ifndef ATOLL_TESTS_UNIT_EVOLUTION_ENGINE_SCENE_H
#define ATOLL_TESTS_UNIT_EVOLUTION_ENGINE_SCENE_H

#include "tests/support/simulation.h"

static const struct sim_seed small_seeds[] = {
    {"naive", NULL, NULL},
    {"tiled", "\"TM\": [1, 2, 4, 8], \"TN\": [1, 2, 4]", "TM * TN <= 16"},
    {"unrolled", "\"U\": [1, 2, 3]", NULL},
    {"plain", NULL, NULL},
};

struct fixture {
    struct atoll_buffer tasks[3];
};

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    for (size_t i = 0; i < 3; i++)
        atoll_buffer_init(&f->tasks[i], 1u << 24);
    sim_task("alpha", small_seeds, 4, 1, &f->tasks[0]);
    sim_task("beta", small_seeds, 2, 1, &f->tasks[1]);
    sim_task("gamma", small_seeds, 3, 1, &f->tasks[2]);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < 3; i++)
        atoll_buffer_fini(&f->tasks[i]);
    free(f);
    return 0;
}

static inline struct atoll_search settings(void)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    search.generation_size = 3;
    search.migration_interval = 1;
    search.noop_interval = 2;
    return search;
}

/* Answers until nothing is under way. */
static inline void drain(struct sim *s)
{
    for (unsigned i = 0; i < 20000 && s->order_count; i++)
        sim_answer(s);
    assert_int_equal(s->order_count, 0);
}

static inline void check_end(struct sim *s)
{
    struct atoll_engine_status status;
    sim_reload(s);
    atoll_engine_status(s->engine, &status);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    assert_true(status.stopped);
    assert_int_equal(status.under_way, 0);
    assert_int_equal(status.reason, s->last[ATOLL_DECIDE_STOP].reason);
    for (uint32_t i = 0; i < atoll_engine_task_count(s->engine); i++) {
        struct atoll_task_status t;
        assert_int_equal(atoll_engine_task_status(s->engine, i, 0, &t), 0);
        assert_true(t.done);
        assert_int_equal(t.under_way, 0);
        assert_true(atoll_id_equal(&t.best, &s->best[i]) || atoll_id_is_zero(&t.best));
        if (t.final_ratio > 0) /* what the finals said last is true, whatever single times were */
            expect_close(t.final_ratio, sim_time(&t.baseline) / sim_time(&t.best), 1e-9);
        if (t.final_ratio > 0 && !atoll_id_equal(&t.best, &t.baseline))
            assert_true(t.final_ratio > 1.01);
    }
}

#endif

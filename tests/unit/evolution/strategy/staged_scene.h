/* staged_scene.h - a staged run on the simulator, answered by a script. */
#ifndef ATOLL_TESTS_UNIT_EVOLUTION_STRATEGY_STAGED_SCENE_H
#define ATOLL_TESTS_UNIT_EVOLUTION_STRATEGY_STAGED_SCENE_H

#include "tests/support/operator.h"

#include "evolution/strategy/strategy_staged.h"

#define BIT(issue)   (UINT64_C(1) << ATOLL_ISSUE_##issue)
#define STAGE(stage) ((uint32_t)1 << ATOLL_ISSUE_STAGE_##stage)
#define ALL_STAGES   ((1u << ATOLL_ISSUE_STAGE_COUNT) - 1)
#define EVERY_ISSUE  ((UINT64_C(1) << ATOLL_ISSUE_COUNT) - 1)

static const struct sim_seed plain_seeds[] = {{"k0", NULL, NULL}, {"k1", NULL, NULL}};
static const struct sim_seed template_seeds[] = {
    {"k0", NULL, NULL},
    {"k1", "\"TM\": [1, 2, 4, 8, 16, 32], \"TN\": [1, 2, 4, 8]", NULL},
    {"k2", "\"U\": [1, 2, 3, 4, 5, 6, 7, 8, 9]", NULL},
};

struct fixture {
    struct atoll_buffer plain, templates;
};

static inline int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    atoll_buffer_init(&f->plain, 1u << 24);
    atoll_buffer_init(&f->templates, 1u << 24);
    sim_task("plain", plain_seeds, 2, 1, &f->plain);
    sim_task("templates", template_seeds, 3, 1, &f->templates);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    atoll_buffer_fini(&f->plain);
    atoll_buffer_fini(&f->templates);
    free(f);
    return 0;
}

static inline struct atoll_search settings(void)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    op_strategy_alone(&search);
    search.strategy = ATOLL_STRATEGY_STAGED;
    search.ask_share = 1;
    search.asks = 8;
    search.islands = 1;
    search.stage_rounds = 2;
    search.noop_interval = 0;
    search.migration_interval = 0;
    search.stagnation_limit = 0;
    return search;
}

static inline const struct atoll_staged *runs_of(const struct sim *s)
{
    return s->engine->tasks[0].strategy;
}

/* One task, its seeds evaluated: kernel n takes times_ms[n]. */
static inline struct sim *start(const struct atoll_search *search, const struct atoll_buffer *task,
                                const double *times_ms)
{
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    sim_start(s, 1, search);
    s->cells = 1;
    sim_add_task(s, 0, task);
    sim_capacity(s, 4);
    op_evaluate(s, times_ms);
    return s;
}

/* The run is over, and so is the campaign. */
static inline void finish(struct sim *s, const double *times_ms)
{
    op_evaluate(s, times_ms);
    assert_int_equal(op_count(s), 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1);
    assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_EXHAUSTED);
    assert_int_equal(runs_of(s)->strays, 0);
    for (uint32_t i = 0; i < runs_of(s)->run_count; i++)
        assert_int_equal(runs_of(s)->runs[i].state, ATOLL_STAGED_OVER);
    sim_reload(s);
    sim_check_replay(s);
    sim_fini(s);
    free(s);
}

/* A template of this body; the same body with other values is another text with some of the same instances. */
static inline void reply_template(struct sim *s, uint64_t ask, uint32_t number, const char *values)
{
    char text[OP_TEXT];
    snprintf(text, sizeof(text),
             "/* atoll-plan {\"version\": 1, \"params\": {\"T\": [%s]}, \"launch\": "
             "[{\"function\": \"f\", \"units\": \"N\", \"args\": [\"x\", \"y\"]}]} */\n/* k%u */",
             values, number);
    op_reply(s, &(struct atoll_reply){.ask = ask, .source_count = 1, .sources = {{"c", text}}});
}

#endif

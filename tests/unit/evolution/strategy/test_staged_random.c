/* Staged runs under any mix of answers end, and never get worse. */
#include "tests/unit/evolution/strategy/staged_scene.h"

static void write_something(struct sim *s, const struct atoll_ask *ask, struct op_moods *m)
{
    static const char *const lists[] = {"1, 2, 3, 4, 5", "1, 2, 3", "2, 1, 6"};
    if (sim_percent(s, 20))
        reply_template(s, ask->number, 10 + (uint32_t)sim_below(s, 4), lists[sim_below(s, 3)]);
    else
        op_write_some(s, m, ask);
}

static void judge_something(struct sim *s, const struct atoll_ask *ask)
{
    struct atoll_reply reply = {.ask = ask->number, .order_count = (uint32_t)sim_below(s, 17)};
    uint64_t half = atoll_random_next(&s->random);
    reply.issues = half & atoll_random_next(&s->random); /* a quarter of them, and some that do not exist */
    for (uint32_t i = 0; i < reply.order_count; i++)
        reply.order[i] = (uint8_t)sim_below(s, ATOLL_ISSUE_STAGE_COUNT + 2);
    op_reply(s, &reply);
}

static void answer_some_ask(struct sim *s, struct op_moods *m)
{
    struct atoll_ask ask = *op_at(s, (uint32_t)sim_below(s, op_count(s)));
    unsigned status = sim_percent(s, m->failed) ? 1 + (unsigned)sim_below(s, 3) : 0;
    if (!sim_below(s, 200))
        status = ATOLL_REPLY_SPENT;
    if (status)
        op_status(s, ask.number, (enum atoll_reply_status)status);
    else if (ask.kind == ATOLL_ASK_WRITE)
        write_something(s, &ask, m);
    else
        judge_something(s, &ask);
    if (sim_percent(s, m->repeated))
        op_status(s, ask.number, ATOLL_REPLY_SPENT); /* too late to say that */
}

static void happen(struct sim *s, struct op_moods *m)
{
    switch (sim_below(s, 24)) {
    case 0:
        sim_simple(s, ATOLL_EVENT_RESUME);
        sim_capacity(s, 1 + (uint32_t)sim_below(s, 5));
        break;
    case 1: op_status(s, 1 + sim_below(s, 1000000), ATOLL_REPLY_FAILED); break;
    case 2: sim_simple(s, ATOLL_EVENT_TICK); break;
    default:
        if (op_count(s) && (!s->order_count || sim_below(s, 2)))
            answer_some_ask(s, m);
        else
            sim_answer(s);
    }
}

/* What every step has to leave as it should: a run changes its kernel for a faster one only, while it has one that is
 * correct, at the end of a round that is then over. */
static void check_step(const struct sim *s, const struct atoll_staged_run *before)
{
    const struct atoll_individual *all = s->engine->individuals.items;
    const struct atoll_staged *staged = runs_of(s);
    assert_int_equal(staged->strays, 0);
    for (uint32_t i = 0; i < staged->run_count; i++) {
        const struct atoll_staged_run *run = &staged->runs[i];
        assert_int_equal(before[i].done & ~run->done, 0);
        assert_int_equal(run->improved & ~run->done, 0);
        int is_trying = run->state == ATOLL_STAGED_TRYING || run->state == ATOLL_STAGED_VERIFYING;
        assert_true(is_trying == (run->left > 0));
        if (run->kernel == before[i].kernel || before[i].kernel == ATOLL_NONE)
            continue;
        const struct atoll_individual *given = &all[before[i].kernel];
        if (given->state != ATOLL_V_CORRECT)
            continue;
        assert_true(all[run->kernel].time_ns * (1 + s->search.margin) < given->time_ns);
        assert_true(all[run->kernel].hi_ns < given->lo_ns);
        assert_true(run->improved & ~before[i].improved);
    }
}

static unsigned improvements;

static void run_random(const struct fixture *f, uint64_t seed)
{
    struct atoll_staged_run before[4];
    struct atoll_random r = {seed, 0};
    struct atoll_search search = settings();
    struct op_moods m = {.next = 20};
    search.seed = seed;
    search.islands = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 3);
    search.staged_runs = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 4);
    search.stage_rounds = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 5);
    search.asks = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 3);
    search.ask_share = atoll_random_next(&r) % 4 ? 1 : 0;
    search.noop_interval = atoll_random_next(&r) % 2 ? 2 : 0;
    search.evaluation_budget = atoll_random_next(&r) % 4 ? 0 : 30;
    int reloads = atoll_random_next(&r) % 4 == 0;
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, seed, &search);
    s->infrastructure = (unsigned)sim_below(s, 30);
    s->wrong = (unsigned)sim_below(s, 50);
    s->wrong_duel = (unsigned)sim_below(s, 20);
    s->unstable_duel = (unsigned)sim_below(s, 20);
    s->noise = 0.3 * sim_unit(s);
    s->spread = sim_below(s, 2) ? 0.05 * sim_unit(s) : 0;
    s->cells = 1 + (uint32_t)sim_below(s, 64);
    m.failed = (unsigned)sim_below(s, 60);
    m.known = (unsigned)sim_below(s, 60);
    m.repeated = (unsigned)sim_below(s, 20);
    sim_add_task(s, 0, sim_below(s, 2) ? &f->templates : &f->plain);
    sim_capacity(s, 1 + (uint32_t)sim_below(s, 4));
    while (!s->counts[ATOLL_DECIDE_STOP]) {
        assert_true(s->order_count + op_count(s) > 0); /* it never waits for nothing */
        memcpy(before, runs_of(s)->runs, runs_of(s)->run_count * sizeof(*before));
        happen(s, &m);
        check_step(s, before);
        if (reloads)
            sim_reload(s);
    }
    for (uint32_t i = 0; i < runs_of(s)->run_count; i++)
        improvements += runs_of(s)->runs[i].improved != 0;
    if (s->last[ATOLL_DECIDE_STOP].reason == ATOLL_REASON_EXHAUSTED)
        for (uint32_t i = 0; i < runs_of(s)->run_count; i++)
            assert_int_equal(runs_of(s)->runs[i].state, ATOLL_STAGED_OVER);
    sim_reload(s);
    sim_check_replay(s); /* also of runs that were loaded after every step */
    sim_fini(s);
    free(s);
}

/* ATOLL_SIMULATION_SEEDS: more than the default, for a long night. */
static void random_runs_end_and_never_get_worse(void **state)
{
    const char *wanted = getenv("ATOLL_SIMULATION_SEEDS");
    unsigned long count = wanted ? strtoul(wanted, NULL, 10) : RANDOM_CASES(160);
    for (uint64_t seed = 1; seed <= count; seed++)
        run_random(*state, seed);
    assert_true(improvements > count / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(random_runs_end_and_never_get_worse),

    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

#include "tests/unit/evolution/engine/engine_scene.h"

static struct atoll_search random_settings(uint64_t seed)
{
    struct atoll_random r = {seed, 0};
    struct atoll_search search = settings();
    search.seed = seed;
    search.islands = 1 + (uint32_t)atoll_random_below(atoll_random_next(&r), 4);
    search.evaluation_budget = atoll_random_next(&r) % 3 ? 0 : 5 + atoll_random_next(&r) % 30;
    search.device_budget_ns = atoll_random_next(&r) % 3 ? 0 : 5e8;
    search.wall_budget_ns = atoll_random_next(&r) % 3 ? 0 : 5e8;
    search.stagnation_limit = (uint32_t)(atoll_random_next(&r) % 2 * 10);
    search.finals_tries = 1 + (uint32_t)(atoll_random_next(&r) % 4);
    search.queue_depth = 1 + (uint32_t)(atoll_random_next(&r) % 3);
    search.fitness_form = atoll_random_next(&r) % 2 ? ATOLL_FITNESS_LOG : ATOLL_FITNESS_CLIPPED;
    search.selection_share[ATOLL_SELECT_CURIOSITY] = (double)(atoll_random_next(&r) % 2);
    search.selection_share[ATOLL_SELECT_ISLAND] = (double)(atoll_random_next(&r) % 2);
    search.error_control = (enum atoll_error_rule)(atoll_random_next(&r) % ATOLL_ERROR_RULE_COUNT);
    return search;
}

static void nonsense(struct sim *s)
{
    struct atoll_decision unknown;
    memset(&unknown, 0, sizeof(unknown));
    unknown.evaluation = 1 + sim_below(s, 2 * s->last_evaluation + 10);
    size_t known = sim_order_at(s, unknown.evaluation);
    if (known < s->order_count)
        return;
    struct atoll_engine_status before, after;
    size_t length = s->decisions.length;
    uint64_t evaluated;
    atoll_engine_status(s->engine, &before);
    evaluated = before.evaluated;
    if (sim_below(s, 2))
        sim_evaluated(s, &unknown, ATOLL_V_CORRECT, 1e6);
    else
        sim_duelled(s, &unknown, ATOLL_V_CORRECT, 1, 2);
    atoll_engine_status(s->engine, &after);
    assert_int_equal(after.ignored, before.ignored + 1);
    assert_int_equal(after.evaluated, evaluated);
    assert_true(s->decisions.length >= length);
}

static void second_start(struct sim *s)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_START);
    event.search = settings();
    sim_step(s, &event);
}

/* One random thing happens to a campaign. */
static void happen(struct sim *s)
{
    static const char *const imports[] = {
        "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"g\", \"units\": \"N\", \"args\": "
        "[\"x\"]}]} */ a",
        "no plan at all",
        "/* atoll-plan {\"version\": 1, \"params\": {\"Q\": [1, 2]}, \"launch\": [{\"function\": \"g\", "
        "\"units\": \"N\", "
        "\"args\": [\"x\"]}]} */ b",
    };
    switch (sim_below(s, 40)) {
    case 0: sim_reload(s); break;
    case 1:
        sim_simple(s, ATOLL_EVENT_RESUME);
        sim_capacity(s, (uint32_t)sim_below(s, 4));
        break;
    case 2: sim_capacity(s, (uint32_t)sim_below(s, 5)); break;
    case 3: nonsense(s); break;
    case 4: sim_simple(s, ATOLL_EVENT_TICK); break;
    case 5:
        sim_source(s, (uint32_t)sim_below(s, 4), (uint32_t)sim_below(s, 9), imports[sim_below(s, 3)]);
        break;
    case 6:
        if (!sim_below(s, 10))
            sim_simple(s, ATOLL_EVENT_FINISH);
        break;
    case 7: second_start(s); break;
    default: sim_answer(s);
    }
}

static void check_budgets(const struct sim *s)
{
    struct atoll_engine_status status;
    atoll_engine_status(s->engine, &status);
    if (status.evaluation_budget)
        assert_true(status.evaluated <= status.evaluation_budget);
    assert_int_equal(status.under_way, s->order_count);
}

static void run_to_the_end(struct sim *s, unsigned events)
{
    for (unsigned i = 0; i < events && !s->counts[ATOLL_DECIDE_STOP]; i++) {
        happen(s);
        check_budgets(s);
    }
    sim_simple(s, ATOLL_EVENT_FINISH);
    drain(s);
    sim_simple(s, ATOLL_EVENT_TICK);
    check_end(s);
}

static void run_random(struct fixture *f, uint64_t seed)
{
    struct atoll_search search = random_settings(seed);
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    sim_start(s, seed, &search);
    s->infrastructure = (unsigned)sim_below(s, 30);
    s->wrong = (unsigned)sim_below(s, 50);
    s->wrong_duel = (unsigned)sim_below(s, 20);
    s->unstable_duel = (unsigned)sim_below(s, 20);
    s->noise = 0.6 * sim_unit(s);
    s->cells = 1 + (uint32_t)sim_below(s, 6);
    s->defender_ns = sim_below(s, 2) ? 1e6 + 4e6 * sim_unit(s) : 0;
    s->broken_index = (unsigned)sim_below(s, 4);
    uint32_t tasks = 1 + (uint32_t)sim_below(s, 3);
    for (uint32_t i = 0; i < tasks; i++)
        sim_add_task(s, i, &f->tasks[i]);
    sim_capacity(s, 1 + (uint32_t)sim_below(s, 4));
    run_to_the_end(s, 60 + (unsigned)sim_below(s, 120));
    for (unsigned times = seed % 4 ? 0 : 1 + (unsigned)sim_below(s, 3); times; times--) {
        struct atoll_extension by = {.wall_ns = 1e9 * sim_unit(s)};
        by.evaluations = sim_below(s, 2) * sim_below(s, 30);
        by.device_ns = (double)sim_below(s, 2) * 5e8 * sim_unit(s);
        sim_extend(s, &by, 1 + (uint32_t)sim_below(s, 4));
        run_to_the_end(s, (unsigned)sim_below(s, 60));
    }
    sim_reload(s);
    sim_check_replay(s);
    sim_fini(s);
    free(s);
}

/* ATOLL_SIMULATION_SEEDS: more than the default, for a long night. */
static void random_campaigns_replay(void **state)
{
    const char *wanted = getenv("ATOLL_SIMULATION_SEEDS");
    unsigned long count = wanted ? strtoul(wanted, NULL, 10) : RANDOM_CASES(1000);
    for (uint64_t seed = 1; seed <= count; seed++)
        run_random(*state, seed);
}

static void exhausted_campaign(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    search.stagnation_limit = 0;
    search.noop_interval = 0; /* every evaluation is counted */
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 1, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_capacity(s, 2);
    assert_int_equal(s->order_count, 1); /* the baseline alone */
    assert_int_equal(s->orders[0].op, ATOLL_OPERATOR_SEED);
    drain(s);
    /* naive, plain, 11 legal of tiled, 3 of unrolled */
    assert_int_equal(s->counts[ATOLL_DECIDE_EVALUATE], 16);
    assert_int_equal(s->counts[ATOLL_DECIDE_BASELINE], 1);
    assert_int_equal(s->counts[ATOLL_DECIDE_TASK_DONE], 1);
    assert_int_equal(s->duels[ATOLL_DUEL_FINAL], 1);
    check_end(s);
    assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_EXHAUSTED);
    struct atoll_task_status t;
    atoll_engine_task_status(s->engine, 0, 0, &t);
    expect_close(t.final_ratio, sim_time(&t.baseline) / sim_time(&t.best), 1e-9);
    assert_int_equal(t.evaluated, 16);
    assert_true(t.best_fitness > 0.5);
    sim_fini(s);
    free(s);
}

static void retries_then_abandon(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 1, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_capacity(s, 1);
    for (unsigned i = 1; i <= 3; i++) {
        sim_infrastructure(s, 0);
        assert_int_equal(s->retries, i);
        assert_int_equal(s->orders[0].evaluation, 1 + i); /* one answer to one number */
        sim_simple(s, ATOLL_EVENT_RESUME);                /* sent again, not charged, the same number */
        assert_int_equal(s->counts[ATOLL_DECIDE_REDISPATCH], i);
        assert_int_equal(s->last[ATOLL_DECIDE_REDISPATCH].evaluation, 1 + i);
        sim_capacity(s, 1);
    }
    assert_int_equal(s->counts[ATOLL_DECIDE_ABANDON], 0);
    sim_infrastructure(s, 0);
    assert_int_equal(s->counts[ATOLL_DECIDE_ABANDON], 1);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 1); /* no baseline, nothing left */
    assert_int_equal(s->last[ATOLL_DECIDE_STOP].reason, ATOLL_REASON_NO_BASELINE);
    sim_fini(s);
    free(s);
}

/* Twenty times, each under its own number, then the task has none. */
static void an_unstable_baseline_is_measured_again(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    search.baseline_rounds = 0; /* as searches of before that setting */
    for (unsigned unstable = 0; unstable <= 21; unstable += 7) {
        struct sim *s = malloc(sizeof(*s));
        sim_start(s, 1, &search);
        sim_add_task(s, 0, &f->tasks[0]);
        sim_capacity(s, 1);
        for (unsigned i = 0; i < unstable; i++) {
            assert_int_equal(s->order_count, 1);
            assert_int_equal(s->orders[0].evaluation, 1 + i);
            sim_fail(s, 0, ATOLL_V_UNSTABLE);
            sim_reload(s);
        }
        assert_int_equal(s->retries, unstable < 20 ? unstable : 20);
        drain(s);
        struct atoll_task_status t;
        atoll_engine_task_status(s->engine, 0, 0, &t);
        assert_int_equal(t.reason, unstable < 21 ? ATOLL_REASON_EXHAUSTED : ATOLL_REASON_NO_BASELINE);
        check_end(s);
        sim_check_replay(s);
        sim_fini(s);
        free(s);
    }
}

static void broken_baseline_ends_the_task(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 1, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_add_task(s, 1, &f->tasks[1]);
    s->broken_index = 1;
    sim_capacity(s, 1);
    drain(s);
    struct atoll_task_status t;
    atoll_engine_task_status(s->engine, 0, 0, &t);
    assert_int_equal(t.reason, ATOLL_REASON_NO_BASELINE);
    assert_int_equal(t.evaluated, 1);
    atoll_engine_task_status(s->engine, 1, 0, &t);
    assert_int_equal(t.reason, ATOLL_REASON_EXHAUSTED);
    check_end(s);
    sim_fini(s);
    free(s);
}

/* One language is evolved; without a baseline in it the first seed is the baseline, and a task that has no seed in it
 * is over at once.  The state comes back with it. */
static void one_language_is_evolved(void **state)
{
    static const struct sim_seed mixed[] = {
        {"naive", NULL, NULL}, {"first.cu", NULL, NULL}, {"second.cu", NULL, NULL}};
    static const enum atoll_language languages[] = {ATOLL_LANGUAGE_C, ATOLL_LANGUAGE_CUDA};
    struct fixture *f = *state;
    struct atoll_buffer task;
    atoll_buffer_init(&task, 1u << 24);
    sim_task("mixed", mixed, 3, 1, &task);
    for (size_t i = 0; i < 2; i++) {
        struct atoll_search search = settings();
        struct atoll_task_status t;
        struct atoll_id source;
        struct atoll_choice choice;
        const char *language, *text;
        struct atoll_engine_status status;
        struct sim *s = malloc(sizeof(*s));
        search.language = languages[i];
        search.noop_interval = 0;
        sim_start(s, 1, &search);
        sim_add_task(s, 0, &task);
        sim_add_task(s, 1, &f->tasks[0]);
        sim_source(s, 0, 0, "/* not in this language */"); /* c */
        sim_capacity(s, 1);
        drain(s);
        atoll_engine_task_status(s->engine, 0, 0, &t);
        assert_int_equal(t.evaluated, 2);
        atoll_engine_status(s->engine, &status);
        assert_int_equal(status.ignored, languages[i] == ATOLL_LANGUAGE_C ? 0 : 1);
        assert_int_equal(atoll_engine_candidate(s->engine, 0, &t.baseline, &source, &choice), 0);
        assert_int_equal(atoll_engine_source(s->engine, &source, &language, &text), 0);
        assert_string_equal(language, atoll_language_name(languages[i]));
        atoll_engine_task_status(s->engine, 1, 0, &t);
        assert_int_equal(t.evaluated > 0, languages[i] == ATOLL_LANGUAGE_C);
        if (languages[i] == ATOLL_LANGUAGE_CUDA)
            assert_int_equal(t.reason, ATOLL_REASON_NO_BASELINE);
        check_end(s);
        sim_reload(s);
        sim_check_replay(s);
        sim_fini(s);
        free(s);
    }
    atoll_buffer_fini(&task);
}

/* Triton beside CUDA: seeds of both, the baseline is CUDA's; alone: its own. */
static void triton_is_evolved_beside_or_alone(void **state)
{
    static const struct sim_seed seeds[] = {
        {"a.cu", NULL, NULL}, {"blocks.py", NULL, NULL}, {"tiles.py", NULL, NULL}};
    static const struct {
        enum atoll_language language;
        uint64_t evaluated, ignored;
        const char *baseline;
    } rows[] = {{ATOLL_LANGUAGE_CUDA, 1, 1, "cuda"},
                {ATOLL_LANGUAGE_CUDA_TRITON, 4, 0, "cuda"},
                {ATOLL_LANGUAGE_TRITON, 3, 0, "triton"}};
    struct atoll_buffer task;
    atoll_buffer_init(&task, 1u << 24);
    sim_task("beside", seeds, 3, 0, &task);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_search search = settings();
        struct atoll_task_status t;
        struct atoll_engine_status status;
        struct atoll_id source;
        struct atoll_choice choice;
        const char *language, *text;
        struct atoll_event event;
        struct sim *s = malloc(sizeof(*s));
        (void)state;
        search.language = rows[i].language;
        search.noop_interval = 0;
        sim_start(s, 1, &search);
        sim_add_task(s, 0, &task);
        atoll_event_init(&event, ATOLL_EVENT_SOURCE);
        event.language = "triton";
        event.origin = "import";
        event.source = "# atoll-plan {\"version\": 1, \"launch\": [{\"kernel\": \"g\", \"grid\": [1], "
                       "\"args\": [\"x\"]}]}\nx = 1\n";
        sim_step(s, &event);
        sim_capacity(s, 1);
        drain(s);
        atoll_engine_task_status(s->engine, 0, 0, &t);
        assert_int_equal(t.evaluated, rows[i].evaluated);
        atoll_engine_status(s->engine, &status);
        assert_int_equal(status.ignored, rows[i].ignored);
        assert_int_equal(atoll_engine_candidate(s->engine, 0, &t.baseline, &source, &choice), 0);
        assert_int_equal(atoll_engine_source(s->engine, &source, &language, &text), 0);
        assert_string_equal(language, rows[i].baseline);
        sim_check_replay(s);
        sim_fini(s);
        free(s);
    }
    atoll_buffer_fini(&task);
}

/* Where devices spend their time is for people, what an ask was given for its prompt: before the start, in the search
 * and behind its end nothing follows from them. */
static void check_not_looked_at(enum atoll_event_type type)
{
    struct atoll_event event;
    struct atoll_engine_status before, after;
    struct atoll_search search = settings();
    struct sim *s = malloc(sizeof(*s));
    struct atoll_engine *early = atoll_engine_create(NULL);
    atoll_event_init(&event, type);
    event.campaign_ns = (int64_t)1e18; /* beyond every budget */
    assert_int_equal(atoll_engine_step(early, &event, NULL, NULL, NULL), 0);
    atoll_engine_status(early, &after);
    assert_int_equal(after.ignored, 0);
    atoll_engine_destroy(early);
    search.wall_budget_ns = 1e15;
    sim_start(s, 1, &search);
    for (int k = 0; k < 2; k++) {
        struct atoll_id digest = atoll_engine_digest(s->engine), same;
        atoll_engine_status(s->engine, &before);
        assert_int_equal(atoll_engine_step(s->engine, &event, NULL, NULL, NULL), 0);
        atoll_engine_status(s->engine, &after);
        same = atoll_engine_digest(s->engine);
        assert_true(atoll_id_equal(&digest, &same));
        assert_true(after.ignored == before.ignored && after.stopped == before.stopped);
        struct atoll_event finish;
        atoll_event_init(&finish, ATOLL_EVENT_FINISH);
        sim_step(s, &finish);
    }
    sim_fini(s);
    free(s);
}

static void device_times_are_not_looked_at(void **state)
{
    check_not_looked_at(ATOLL_EVENT_DEVICE_TIME);
}

static void briefings_are_not_looked_at(void **state)
{
    check_not_looked_at(ATOLL_EVENT_BRIEFING);
}

static void tasks_share_the_device(void **state)
{
    static const struct sim_seed wide[] = {
        {"naive", NULL, NULL},
        {"wide", "\"A\": [1, 2, 3, 4, 5, 6, 7, 8], \"B\": [1, 2, 3, 4, 5, 6, 7, 8]", NULL},
    };
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 1u << 24);
    sim_task("wide", wide, 2, 1, &bytes);
    struct atoll_search search = settings();
    search.evaluation_budget = 60;
    search.stagnation_limit = 0;
    search.sharing = ATOLL_SHARING_EQUAL;
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 3, &search);
    for (uint32_t i = 0; i < 3; i++)
        sim_add_task(s, i, &bytes);
    sim_capacity(s, 2);
    drain(s);
    for (uint32_t i = 0; i < 3; i++) {
        struct atoll_task_status t;
        atoll_engine_task_status(s->engine, i, 0, &t);
        assert_in_range(t.evaluated, 15, 25);
    }
    check_end(s);
    sim_fini(s);
    free(s);
    atoll_buffer_fini(&bytes);
}

/* By what tasks promise, but none has less than 25 evaluations, unless it is so dear that the others would not have them. */
static void no_task_is_forgotten(void **state)
{
    static const struct sim_seed wide[] = {
        {"naive", NULL, NULL},
        {"wide", "\"A\": [1, 2, 3, 4, 5, 6, 7, 8], \"B\": [1, 2, 3, 4, 5, 6, 7, 8]", NULL},
    };
    static const struct {
        double dear; /* the first task's evaluations take so many times as long */
        unsigned least, most;
    } rows[] = {{1, 25, 60}, {4, 25, 30}, {400, 2, 8}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct atoll_buffer bytes;
        struct atoll_task_status t;
        struct atoll_search search = settings();
        struct sim *s = malloc(sizeof(*s));
        atoll_buffer_init(&bytes, 1u << 24);
        sim_task("wide", wide, 2, 1, &bytes);
        search.evaluation_budget = 100;
        search.stagnation_limit = 0;
        search.queue_depth = 1;
        sim_start(s, 3, &search);
        for (uint32_t i = 0; i < 3; i++)
            sim_add_task(s, i, &bytes);
        sim_capacity(s, 1);
        while (s->order_count) {
            s->occupied_ns = 1e7 * (s->orders[0].task == 0 ? rows[row].dear : 1);
            sim_answer(s);
        }
        check_end(s);
        for (uint32_t i = 0; i < 3; i++) {
            atoll_engine_task_status(s->engine, i, 0, &t);
            if (t.evaluated < (i ? 25 : rows[row].least) || (i == 0 && t.evaluated > rows[row].most))
                fail_msg("%gx: task %u had %u evaluations", rows[row].dear, i, (unsigned)t.evaluated);
        }
        sim_fini(s);
        free(s);
        atoll_buffer_fini(&bytes);
    }
}

/* However dear a task is: every baseline, then every seed, before any is tuned. */
static void a_short_run_sees_every_seed(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = malloc(sizeof(*s));
    search.queue_depth = 1;
    sim_start(s, 3, &search);
    for (uint32_t i = 0; i < 3; i++)
        sim_add_task(s, i, &f->tasks[i]); /* 4, 2 and 3 seeds */
    sim_capacity(s, 1);
    static const unsigned seeds[] = {4, 2, 3};
    unsigned seen[3] = {0, 0, 0};
    for (unsigned i = 0; i < 9;) {
        struct atoll_decision order = sim_take(s, 0);
        if (order.type == ATOLL_DECIDE_DUEL) {
            sim_duelled(s, &order, ATOLL_V_CORRECT, 0, 1);
            continue;
        }
        assert_int_equal(order.op, ATOLL_OPERATOR_SEED);
        if (i < 3)
            assert_int_equal(seen[order.task], 0);
        seen[order.task]++;
        i++;
        s->occupied_ns = order.task ? 1e7 : 1e9;
        sim_evaluated(s, &order, ATOLL_V_CORRECT, sim_time(&order.candidate));
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(seen[i], seeds[i]);
    sim_fini(s);
    free(s);
}

static void answer_baseline(struct sim *s)
{
    size_t at = 0;
    while (s->orders[at].baseline_ns > 0)
        at++;
    struct atoll_decision order = sim_take(s, at);
    sim_evaluated(s, &order, ATOLL_V_CORRECT, sim_time(&order.candidate));
}

/* A floor stands until a correct kernel is faster than it, and is unknown from then on, whoever tells it again. */
static void a_beaten_floor_is_unknown(void **state)
{
    static const double times_ns[] = {1e6, 5.1e5, 2e5, 1e6};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = malloc(sizeof(*s));
    struct atoll_task_status t;
    search.queue_depth = 1;
    sim_start(s, 3, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_capacity(s, 1);
    for (size_t i = 0; i < sizeof(times_ns) / sizeof(*times_ns);) {
        struct atoll_decision order = sim_take(s, 0);
        if (order.type == ATOLL_DECIDE_DUEL) {
            sim_duelled(s, &order, ATOLL_V_CORRECT, 0, 1);
            continue;
        }
        sim_evaluated(s, &order, ATOLL_V_CORRECT, times_ns[i]); /* with a floor of 5e5 */
        assert_int_equal(atoll_engine_task_status(s->engine, 0, 0, &t), 0);
        expect_close(t.floor_ns, i < 2 ? 5e5 : 0, 1e-9);
        i++;
    }
    sim_fini(s);
    free(s);
}

/* Proposals end as early as the finals need, within limits. */
static void dear_finals_are_given_time(void **state)
{
    static const struct {
        double share, opening_ns, evaluation_ns, from, to; /* from, to: of the wall budget */
    } cases[] = {{0.1, 1e6, 1e6, 0.89, 0.91},
                 {0.1, 2e10, 1e6, 0.89, 0.91},
                 {0.1, 1.5e8, 1.5e8, 0.69, 0.89},
                 {0.1, 1e6, 2e10, 0.64, 0.66},
                 {0.5, 1e6, 2e10, 0.49, 0.51}};
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_search search = settings();
        struct sim *s = malloc(sizeof(*s));
        search.wall_budget_ns = 1e10;
        search.finals_share = cases[i].share;
        search.stagnation_limit = 0;
        sim_start(s, 3, &search);
        s->occupied_ns = cases[i].opening_ns;
        for (uint32_t k = 0; k < 3; k++)
            sim_add_task(s, k, &f->tasks[k]);
        sim_capacity(s, 1);
        for (unsigned k = 0; k < 3; k++)
            answer_baseline(s);
        s->occupied_ns = cases[i].evaluation_ns;
        sim_answer(s);
        while (!s->counts[ATOLL_DECIDE_TASK_DONE]) {
            s->now_ns += 10000000;
            sim_simple(s, ATOLL_EVENT_TICK);
        }
        double at = (double)s->now_ns / search.wall_budget_ns;
        assert_true(at > cases[i].from && at < cases[i].to);
        assert_int_equal(s->last[ATOLL_DECIDE_TASK_DONE].reason, ATOLL_REASON_WALL_TIME);
        sim_fini(s);
        free(s);
    }
}

/* The same instances through two templates are evaluated once. */
static void equal_instances_are_one_candidate(void **state)
{
    static const char *const templates[] = {
        "/* atoll-plan {\"version\": 1, \"params\": {\"Q\": [1, 2, 3]}, \"launch\": [{\"function\": \"g\", "
        "\"units\": \"N\", \"args\": [\"x\"]}]} */ body",
        "/* atoll-plan {\"version\": 1, \"params\": {\"Q\": [2, 3, 4]}, \"launch\": [{\"function\": \"g\", "
        "\"units\": \"N\", \"args\": [\"x\"]}]} */ body",
    };
    struct fixture *f = *state;
    struct atoll_search search = settings();
    search.noop_interval = 0;
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 1, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_source(s, 0, 0, templates[0]);
    sim_source(s, 0, 1, templates[1]);
    sim_source(s, 0, 1, templates[1]); /* known already */
    sim_capacity(s, 2);
    drain(s);
    assert_int_equal(s->counts[ATOLL_DECIDE_EVALUATE], 16 + 4);
    check_end(s);
    sim_fini(s);
    free(s);
}

static void a_resume_waits_for_capacity(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 1, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_capacity(s, 1);
    sim_answer(s);
    uint64_t sent = s->counts[ATOLL_DECIDE_EVALUATE], held = s->order_count;
    sim_simple(s, ATOLL_EVENT_RESUME);
    assert_int_equal(s->counts[ATOLL_DECIDE_REDISPATCH], held);
    drain(s);
    assert_int_equal(s->counts[ATOLL_DECIDE_EVALUATE], sent);
    sim_capacity(s, 1);
    assert_true(s->counts[ATOLL_DECIDE_EVALUATE] > sent);
    sim_fini(s);
    free(s);
}

/* Alone a task goes on; beside another it yields. */
static void stagnation_yields(void **state)
{
    struct fixture *f = *state;
    for (uint32_t tasks = 1; tasks <= 2; tasks++) {
        struct atoll_search search = settings();
        struct sim *s = malloc(sizeof(*s));
        unsigned stagnated = 0;
        search.stagnation_limit = 1;
        search.islands = 1;
        sim_start(s, 1, &search);
        s->cells = 1;
        for (uint32_t i = 0; i < tasks; i++)
            sim_add_task(s, i, &f->tasks[0]);
        sim_capacity(s, 1);
        drain(s);
        for (uint32_t i = 0; i < tasks; i++) {
            struct atoll_task_status t;
            atoll_engine_task_status(s->engine, i, 0, &t);
            stagnated += t.reason == ATOLL_REASON_STAGNATION;
        }
        assert_int_equal(stagnated, tasks - 1);
        check_end(s);
        sim_fini(s);
        free(s);
    }
}

static void snapshots_are_checked(void **state)
{
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer bytes;
    struct sim *s = malloc(sizeof(*s));
    sim_start(s, 3, &search);
    sim_add_task(s, 0, &f->tasks[0]);
    sim_capacity(s, 2);
    for (unsigned i = 0; i < 8; i++)
        sim_answer(s);
    atoll_buffer_init(&bytes, 1u << 26);
    assert_int_equal(atoll_engine_save(s->engine, &bytes, &err), 0);
    assert_null(atoll_engine_load("nonsense", 8, &err));
    expect_err(&err, ATOLL_E_CORRUPT, "snapshot");
    bytes.data[4] ^= 0xff;
    assert_null(atoll_engine_load(bytes.data, bytes.length, &err));
    expect_err(&err, ATOLL_E_SCHEMA, "version");
    bytes.data[4] ^= 0xff;
    for (size_t length = 0; length < bytes.length; length += 1 + bytes.length / 100)
        assert_null(atoll_engine_load(bytes.data, length, NULL));
    for (size_t at = 0; at < bytes.length; at += 1 + bytes.length / 300) { /* no crash, whatever it says */
        bytes.data[at] ^= 0x55;
        atoll_engine_destroy(atoll_engine_load(bytes.data, bytes.length, NULL));
        bytes.data[at] ^= 0x55;
    }
    atoll_buffer_fini(&bytes);
    sim_fini(s);
    free(s);
}

static void bad_events(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_search search = settings();
    struct atoll_event event;
    struct atoll_engine_status status;
    struct sim *s = malloc(sizeof(*s));
    struct atoll_engine *early = atoll_engine_create(&err);
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    assert_int_equal(atoll_engine_step(early, &event, NULL, NULL, &err), 0); /* before the start */
    atoll_engine_status(early, &status);
    assert_int_equal(status.ignored, 1);
    atoll_engine_destroy(early);
    sim_start(s, 1, &search);
    atoll_event_init(&event, ATOLL_EVENT_TASK);
    event.task_bytes = "junk";
    event.task_length = 4;
    assert_int_equal(atoll_engine_step(s->engine, &event, NULL, NULL, &err), -1);
    assert_int_not_equal(err.code, ATOLL_OK);
    assert_null(atoll_engine_task(s->engine, 0));
    struct atoll_task_status t;
    assert_int_equal(atoll_engine_task_status(s->engine, 0, 0, &t), -1);
    sim_fini(s);
    free(s);
    atoll_engine_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_campaigns_replay),
        cmocka_unit_test(exhausted_campaign),
        cmocka_unit_test(retries_then_abandon),
        cmocka_unit_test(an_unstable_baseline_is_measured_again),
        cmocka_unit_test(broken_baseline_ends_the_task),
        cmocka_unit_test(one_language_is_evolved),
        cmocka_unit_test(triton_is_evolved_beside_or_alone),
        cmocka_unit_test(device_times_are_not_looked_at),
        cmocka_unit_test(briefings_are_not_looked_at),

        cmocka_unit_test(tasks_share_the_device),
        cmocka_unit_test(no_task_is_forgotten),
        cmocka_unit_test(a_short_run_sees_every_seed),
        cmocka_unit_test(a_beaten_floor_is_unknown),
        cmocka_unit_test(dear_finals_are_given_time),
        cmocka_unit_test(equal_instances_are_one_candidate),
        cmocka_unit_test(a_resume_waits_for_capacity),
        cmocka_unit_test(stagnation_yields),
        cmocka_unit_test(snapshots_are_checked),
        cmocka_unit_test(bad_events),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

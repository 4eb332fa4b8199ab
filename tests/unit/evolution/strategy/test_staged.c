#include "tests/unit/evolution/strategy/staged_scene.h"

/* ---- the table ---- */

/* Rows: states; columns: BEGUN ASKED UNORDERED STAGE QUEUED MISSED USED_UP CLOSED FINISHED LOST.  W waiting, a analyse,
 * A analysing, o order, O ordering, w write, R writing, t trying, x extract, X extracting, v verifying, - over, . not
 * listed. */
static void the_table_is_complete(void **state)
{
    static const char letters[] = "WaAoOwRtxXv-";
    static const char *const expected[ATOLL_STAGED_STATE_COUNT] = {
        "a........-", ".A.......-", "..ow....-.", ".O.......-", "...w......", ".R.......-",
        "....twxa-.", ".....wxa-.", ".X.......-", "....v..a-.", ".......a-.", "..........",
    };
    for (unsigned from = 0; from < ATOLL_STAGED_STATE_COUNT; from++) {
        for (unsigned event = 0; event < ATOLL_STAGED_EVENT_COUNT; event++) {
            uint8_t next = 77;
            int listed =
                atoll_staged_step((enum atoll_staged_state)from, (enum atoll_staged_event)event, &next) == 0;
            assert_int_equal(listed ? letters[next] : '.', expected[from][event]);
            if (!listed)
                assert_int_equal(next, 77);
        }
    }
}

static void a_stage_is_worked_on_once_and_in_order(void **state)
{
    struct atoll_staged_run run;
    atoll_staged_init(&run);
    run.issues = EVERY_ISSUE;
    assert_int_equal(atoll_staged_open_issues(&run), EVERY_ISSUE);
    run.done = STAGE(FUSION);
    assert_int_equal(atoll_issue_stages(atoll_staged_open_issues(&run)),
                     STAGE(MEMORY) | STAGE(ADDRESSING) | STAGE(PERSISTENT) | STAGE(DEVICE) | STAGE(TUNING));
    run.done = STAGE(TUNING);
    assert_int_equal(atoll_issue_stages(atoll_staged_open_issues(&run)), STAGE(PERSISTENT));
    run.done |= STAGE(PERSISTENT);
    atoll_staged_arrange(&run, NULL, 0);
    assert_int_equal(run.order_count, 0);
}

static void a_round_ends_as_it_should(void **state)
{
    static const struct {
        unsigned round, rounds;
        uint32_t winner, done;
        enum atoll_staged_event event;
    } cases[] = {
        {0, 2, ATOLL_NONE, 0, ATOLL_STAGED_MISSED},
        {1, 2, ATOLL_NONE, 0, ATOLL_STAGED_CLOSED},
        {0, 2, 9, 0, ATOLL_STAGED_CLOSED},
        {0, 1, ATOLL_NONE, 0, ATOLL_STAGED_CLOSED},
        {254, 255, ATOLL_NONE, 0, ATOLL_STAGED_CLOSED},
        {253, 255, ATOLL_NONE, 0, ATOLL_STAGED_MISSED},
        {0, 2, 9, STAGE(TUNING) | STAGE(PERSISTENT), ATOLL_STAGED_FINISHED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_staged_run run;
        atoll_staged_init(&run);
        run.kernel = 5;
        run.stage = ATOLL_ISSUE_STAGE_MEMORY;
        run.round = (uint8_t)cases[i].round;
        run.winner = cases[i].winner;
        run.done = cases[i].done;
        assert_int_equal(atoll_staged_close_round(&run, cases[i].rounds), cases[i].event);
        assert_int_equal(run.kernel, cases[i].winner == ATOLL_NONE ? 5 : 9);
        assert_int_equal(run.winner, ATOLL_NONE);
        int is_over = cases[i].event != ATOLL_STAGED_MISSED;
        assert_int_equal(run.done, cases[i].done | (is_over ? STAGE(MEMORY) : 0));
        assert_int_equal(run.improved, cases[i].winner == ATOLL_NONE ? 0 : STAGE(MEMORY));
        assert_int_equal(run.round, cases[i].round + !is_over);
    }
}

static void evidence_needs_a_margin_and_an_interval(void **state)
{
    static const struct {
        struct atoll_individual candidate, given;
        int beats;
    } cases[] = {
        {{.time_ns = 90, .lo_ns = 89, .hi_ns = 91}, {.time_ns = 100, .lo_ns = 99, .hi_ns = 101}, 1},
        {{.time_ns = 99.5, .lo_ns = 99.5, .hi_ns = 99.5}, {.time_ns = 100, .lo_ns = 100, .hi_ns = 100}, 0},
        {{.time_ns = 90, .lo_ns = 80, .hi_ns = 99}, {.time_ns = 100, .lo_ns = 99, .hi_ns = 101}, 0},
        {{.time_ns = 90}, {.time_ns = 100, .lo_ns = 99, .hi_ns = 101}, 0}, /* no interval is none */
        {{.time_ns = 90, .lo_ns = 89, .hi_ns = 91, .state = ATOLL_V_WRONG},
         {.time_ns = 100, .lo_ns = 99, .hi_ns = 101},
         0},
        {{.time_ns = 90, .lo_ns = 89, .hi_ns = 91},
         {.time_ns = 100, .lo_ns = 99, .hi_ns = 101, .state = ATOLL_V_WRONG},
         0},
    };
    struct atoll_search search;
    atoll_search_defaults(&search);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(atoll_staged_beats(&search, &cases[i].candidate, &cases[i].given), cases[i].beats);
}

/* ---- a run against a script ---- */

/* The only ask, which has to be of this kind about this kernel. */
static struct atoll_ask expect_ask(const struct sim *s, enum atoll_ask_kind kind, uint32_t kernel)
{
    assert_int_equal(op_count(s), 1);
    struct atoll_ask ask = *op_at(s, 0);
    assert_int_equal(ask.kind, kind);
    assert_int_equal(ask.op, ATOLL_OPERATOR_STAGED);
    assert_int_equal(op_number(s, 0, &ask.parent), kernel);
    return ask;
}

static struct atoll_ask expect_write(const struct sim *s, uint32_t kernel, enum atoll_issue_stage stage,
                                     unsigned round, size_t failures)
{
    struct atoll_ask ask = expect_ask(s, ATOLL_ASK_WRITE, kernel);
    assert_int_equal(ask.stage, stage);
    assert_int_equal(ask.round, round);
    assert_int_equal(ask.failure_count, failures);
    assert_true((ask.issues || ask.plan) && !(ask.issues & ~atoll_issues_of_stage(ask.issues, stage)));
    return ask;
}

/* The last ask of a stage, of what was tried in it. */
static struct atoll_ask expect_extract(const struct sim *s, uint32_t kernel, enum atoll_issue_stage stage,
                                       size_t failures)
{
    assert_int_equal(op_count(s), 1);
    struct atoll_ask ask = *op_at(s, 0);
    assert_int_equal(ask.kind, ATOLL_ASK_WRITE);
    assert_int_equal(ask.op, ATOLL_OPERATOR_EXTRACT);
    assert_int_equal(op_number(s, 0, &ask.parent), kernel);
    assert_int_equal(ask.stage, stage);
    assert_int_equal(ask.failure_count, failures);
    return ask;
}

static void reply_issues(struct sim *s, uint64_t issues)
{
    op_reply(s, &(struct atoll_reply){.ask = op_at(s, 0)->number, .issues = issues});
}

static void reply_order(struct sim *s, const uint8_t *order, uint32_t count)
{
    struct atoll_reply reply = {.ask = op_at(s, 0)->number, .order_count = count};
    for (uint32_t i = 0; i < count; i++)
        reply.order[i] = order[i];
    op_reply(s, &reply);
}

static void reply_kernel(struct sim *s, uint32_t number, const double *times_ms)
{
    op_kernel(s, op_at(s, 0)->number, number);
    op_evaluate(s, times_ms);
}

/* An illegal order is mended; a success ends its stage; issues that are gone are skipped, new ones of later stages are
 * taken up, of earlier ones not. */
static void stages_follow_the_issues(void **state)
{
    static const double times[] = {10, 9, 6, 5, 3};
    static const uint8_t wished[] = {ATOLL_ISSUE_STAGE_DEVICE, 200,
                                     ATOLL_ISSUE_STAGE_FUSION, ATOLL_ISSUE_STAGE_FUSION,
                                     ATOLL_ISSUE_STAGE_TUNING, ATOLL_ISSUE_STAGE_DTYPE};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->plain, times);
    expect_ask(s, ATOLL_ASK_ANALYSE, 1);
    reply_issues(s, BIT(TILE_SIZE) | BIT(DTYPE_FLOAT64) | BIT(UNFUSED_KERNELS) | BIT(FUSION_NOOP) |
                        UINT64_C(1) << 63);
    struct atoll_ask ask = expect_ask(s, ATOLL_ASK_ORDER, 1);
    assert_int_equal(ask.issues,
                     BIT(TILE_SIZE) | BIT(DTYPE_FLOAT64) | BIT(UNFUSED_KERNELS) | BIT(FUSION_NOOP));
    reply_order(s, wished, sizeof(wished));
    ask = expect_write(s, 1, ATOLL_ISSUE_STAGE_DTYPE, 0, 0);
    assert_int_equal(ask.issues, BIT(DTYPE_FLOAT64));
    reply_kernel(s, 2, times);
    expect_ask(s, ATOLL_ASK_ANALYSE, 2);
    reply_issues(s, BIT(TILE_SIZE) | BIT(UNFUSED_KERNELS) | BIT(FUSION_NOOP) | BIT(MISSING_TILES) |
                        BIT(DTYPE_PRECISION));
    ask = expect_write(s, 2, ATOLL_ISSUE_STAGE_FUSION, 0, 0);
    assert_int_equal(ask.issues, BIT(UNFUSED_KERNELS) | BIT(FUSION_NOOP));
    reply_kernel(s, 3, times);
    expect_ask(s, ATOLL_ASK_ANALYSE, 3);
    reply_issues(s, BIT(REDUNDANT_WORK) | BIT(MISSING_TILES)); /* too late for the algorithm */
    expect_write(s, 3, ATOLL_ISSUE_STAGE_MEMORY, 0, 0);
    reply_kernel(s, 4, times);
    expect_ask(s, ATOLL_ASK_ANALYSE, 4);
    reply_issues(s, 0);
    const struct atoll_staged_run *run = &runs_of(s)->runs[0];
    assert_int_equal(run->done, STAGE(DTYPE) | STAGE(FUSION) | STAGE(MEMORY));
    assert_int_equal(run->improved, run->done);
    assert_int_equal(run->idle, 0);
    assert_int_equal(op_number(s, 0, &s->best[0]), 4);
    finish(s, times);
}

/* Wrong, then too slow: both are told; the stage gives back what it was given. */
static void failures_are_told_and_rolled_back(void **state)
{
    static const double times[] = {10, 9, 0, 8.95, 9.5, 0, 12, 8};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct atoll_ask ask;
    search.stage_rounds = 6;
    struct sim *s = start(&search, &f->plain, times);
    reply_issues(s, BIT(MISSING_TILES) | BIT(TILE_SIZE));
    reply_order(s, NULL, 0);
    expect_write(s, 1, ATOLL_ISSUE_STAGE_MEMORY, 0, 0);
    reply_kernel(s, 2, times);
    ask = expect_write(s, 1, ATOLL_ISSUE_STAGE_MEMORY, 1, 1);
    assert_int_equal(op_number(s, 0, &ask.failures[0]), 2);
    for (uint32_t number = 3; number < 7; number++) /* the first of them is faster, but not by the margin */
        reply_kernel(s, number, times);
    ask = expect_write(s, 1, ATOLL_ISSUE_STAGE_MEMORY, 5, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(op_number(s, 0, &ask.failures[i]), 3 + i);
    op_status(s, ask.number, ATOLL_REPLY_EMPTY);
    ask = expect_extract(s, 1, ATOLL_ISSUE_STAGE_MEMORY, 4);
    op_status(s, ask.number, ATOLL_REPLY_FAILED);
    expect_ask(s, ATOLL_ASK_ANALYSE, 1); /* not a worse one */
    reply_issues(s, BIT(TILE_SIZE) | BIT(MISSING_TILES));
    expect_write(s, 1, ATOLL_ISSUE_STAGE_DEVICE, 0, 0); /* failures of another stage are forgotten */
    reply_kernel(s, 7, times);
    expect_ask(s, ATOLL_ASK_ANALYSE, 7);
    reply_issues(s, BIT(TILE_SIZE));
    assert_int_equal(runs_of(s)->runs[0].done, STAGE(MEMORY) | STAGE(DEVICE));
    assert_int_equal(runs_of(s)->runs[0].improved, STAGE(DEVICE));
    finish(s, times);
}

/* What is made of a stage's tries is verified like any round: the kernel only where it is faster. */
static void extracts_are_verified(void **state)
{
    static const double times[] = {10, 9, 12, 0, 8, 9.5};
    static const struct {
        uint32_t made, kernel;
    } rows[] = {{4, 4}, {5, 1}, {3, 1}};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    search.stage_rounds = 1;
    for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
        struct sim *s = start(&search, &f->plain, times);
        reply_issues(s, BIT(MISSING_TILES));
        reply_kernel(s, 2, times);
        struct atoll_ask ask = expect_extract(s, 1, ATOLL_ISSUE_STAGE_MEMORY, 1);
        assert_int_equal(op_number(s, 0, &ask.failures[0]), 2);
        assert_int_equal(ask.issues, BIT(MISSING_TILES));
        sim_reload(s);
        op_kernel(s, ask.number, rows[row].made);
        sim_reload(s);
        op_evaluate(s, times);
        expect_ask(s, ATOLL_ASK_ANALYSE, rows[row].kernel);
        assert_int_equal(runs_of(s)->runs[0].improved, rows[row].kernel == 4 ? STAGE(MEMORY) : 0);
        reply_issues(s, 0);
        finish(s, times);
    }
}

/* A type that its analyser made up opens the stage it names, what is proposed that of discovery; what follows names the analysis that holds its
 * words, and one that failed leaves the last one's. */
static void open_issues_open_their_stage(void **state)
{
    static const double times[] = {10, 9, 8, 7, 6};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    for (int is_proposal = 0; is_proposal < 2; is_proposal++) {
        struct sim *s = start(&search, &f->plain, times);
        struct atoll_reply *reply = calloc(1, sizeof(*reply));
        uint64_t analysis = op_at(s, 0)->number;
        reply->ask = analysis;
        reply->item_count = 2;
        reply->items[0] =
            (struct atoll_reply_item){.kind = is_proposal ? ATOLL_ITEM_PROPOSAL : ATOLL_ITEM_ISSUE,
                                      .issue = ATOLL_ISSUE_COUNT,
                                      .stage = ATOLL_ISSUE_STAGE_MEMORY};
        reply->items[1] = (struct atoll_reply_item){.kind = ATOLL_ITEM_ISSUE, .issue = ATOLL_ISSUE_TILE_SIZE};
        atoll_reply_count_items(reply);
        op_reply(s, reply);
        free(reply);
        struct atoll_ask ask = expect_ask(s, ATOLL_ASK_ORDER, 1);
        assert_int_equal(ask.issues, (is_proposal ? BIT(OPEN_ENDED) : 0) | BIT(TILE_SIZE));
        assert_int_equal(ask.plan, analysis);
        reply_order(s, NULL, 0);
        ask = expect_write(s, 1, is_proposal ? ATOLL_ISSUE_STAGE_DISCOVERY : ATOLL_ISSUE_STAGE_MEMORY, 0, 0);
        assert_int_equal(ask.plan, analysis);
        reply_kernel(s, 2, times);
        ask = expect_ask(s, ATOLL_ASK_ANALYSE, 2);
        assert_int_equal(ask.plan, 0);
        op_status(s, ask.number, ATOLL_REPLY_FAILED);
        /* what the built-in operator sees joins them: discovery, where that is not over */
        ask = expect_write(s, 2, is_proposal ? ATOLL_ISSUE_STAGE_DEVICE : ATOLL_ISSUE_STAGE_DISCOVERY, 0, 0);
        assert_int_equal(ask.plan, analysis);
        reply_kernel(s, 3, times);
        reply_issues(s, 0);
        finish(s, times);
    }
}

/* An evaluation that is under way, of a tuned instance of k1. */
static struct atoll_decision take_instance(struct sim *s)
{
    size_t at = 0;
    while (at < s->order_count && s->orders[at].type != ATOLL_DECIDE_EVALUATE)
        at++;
    assert_true(at < s->order_count);
    assert_int_equal(s->orders[at].op, ATOLL_OPERATOR_TUNE);
    assert_int_equal(op_number(s, 0, &s->orders[at].candidate), 1);
    return sim_take(s, at);
}

/* Of several candidates of a round the fastest wins, when the last is in. */
static void the_fastest_of_a_round_wins(void **state)
{
    static const double times[] = {10, 9, 11};
    static const double instances[] = {12, 8, 0, 7, 5, 0, 5.5, 6, 9, 10, 8, 8};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->templates, times);
    struct atoll_id fastest;
    reply_issues(s, BIT(OPEN_PARAMETERS)); /* one stage needs no order */
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(runs_of(s)->runs[0].left, 12 - i);
        assert_int_equal(op_count(s), 0);
        struct atoll_decision order = take_instance(s);
        if (instances[i] == 5)
            fastest = order.candidate;
        sim_evaluated(s, &order, instances[i] > 0 ? ATOLL_V_CORRECT : ATOLL_V_WRONG, 1e6 * instances[i]);
    }
    struct atoll_ask ask = expect_ask(s, ATOLL_ASK_ANALYSE, 1);
    assert_true(atoll_id_equal(&ask.parent, &fastest));
    reply_issues(s, BIT(OPEN_PARAMETERS));
    finish(s, times);
}

/* Whatever an answer is, it closes its round, and what cannot be known is taken from what is there. */
static void useless_answers_close_their_round(void **state)
{
    static const double times[] = {10, 9, 1e3, 1e3};
    static const enum atoll_reply_status useless[] = {ATOLL_REPLY_EMPTY, ATOLL_REPLY_REFUSED,
                                                      ATOLL_REPLY_FAILED};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    for (size_t i = 0; i < 3; i++) {
        struct sim *s = start(&search, &f->plain, times);
        op_status(s, op_at(s, 0)->number, useless[i]);
        /* 9 ms of 0.5 at the floor is what the engine sees itself */
        struct atoll_ask ask = expect_write(s, 1, ATOLL_ISSUE_STAGE_DISCOVERY, 0, 0);
        assert_int_equal(ask.issues, BIT(FAR_FROM_FLOOR));
        op_status(s, ask.number, useless[i]);
        expect_write(s, 1, ATOLL_ISSUE_STAGE_DISCOVERY, 1, 0);
        op_status(s, op_at(s, 0)->number, useless[i]);
        assert_int_equal(runs_of(s)->runs[0].idle, STAGE(DISCOVERY));
        expect_ask(s, ATOLL_ASK_ANALYSE, 1);
        reply_issues(s, BIT(TILE_SIZE) | BIT(MISSING_TILES));
        expect_write(s, 1, ATOLL_ISSUE_STAGE_MEMORY, 0, 0);
        reply_kernel(s, 2, times);
        op_status(s, op_at(s, 0)->number, ATOLL_REPLY_OK); /* but without a source */
        expect_extract(s, 1, ATOLL_ISSUE_STAGE_MEMORY, 1);
        op_status(s, op_at(s, 0)->number, useless[i]);
        expect_ask(s, ATOLL_ASK_ANALYSE, 1);
        op_status(s, op_at(s, 0)->number, useless[i]); /* the issues stay what they were */
        expect_write(s, 1, ATOLL_ISSUE_STAGE_DEVICE, 0, 0);
        op_kernels(s, op_at(s, 0)->number, (const uint32_t[]){2, 2}, 2); /* known */
        expect_write(s, 1, ATOLL_ISSUE_STAGE_DEVICE, 1, 0);
        reply_kernel(s, 3, times);
        expect_extract(s, 1, ATOLL_ISSUE_STAGE_DEVICE, 1);
        op_kernel(s, op_at(s, 0)->number, 3); /* known */
        reply_issues(s, BIT(TILE_SIZE));
        assert_int_equal(runs_of(s)->runs[0].idle, STAGE(DISCOVERY));
        finish(s, times);
    }
}

static void a_useless_order_is_the_default(void **state)
{
    static const double times[] = {10, 9};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->plain, times);
    reply_issues(s, EVERY_ISSUE);
    op_status(s, op_at(s, 0)->number, ATOLL_REPLY_FAILED);
    for (unsigned stage = 0; stage < ATOLL_ISSUE_STAGE_COUNT; stage++) {
        for (unsigned round = 0; round < 2; round++) {
            expect_write(s, 1, (enum atoll_issue_stage)stage, round, 0);
            sim_reload(s);
            op_status(s, op_at(s, 0)->number, ATOLL_REPLY_EMPTY);
        }
        if (stage + 1 < ATOLL_ISSUE_STAGE_COUNT)
            op_status(s, op_at(s, 0)->number, ATOLL_REPLY_FAILED);
    }
    assert_int_equal(runs_of(s)->runs[0].done, ALL_STAGES); /* nothing can follow: it is not analysed again */
    finish(s, times);
}

/* A new text can be a candidate that was tried already; that too closes its round. */
static void known_candidates_close_their_round(void **state)
{
    static const double times[] = {10, 9, 11};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->plain, times);
    reply_issues(s, BIT(TILE_SIZE));
    reply_template(s, op_at(s, 0)->number, 2, "1, 2");
    op_evaluate(s, times);
    struct atoll_ask ask = expect_write(s, 1, ATOLL_ISSUE_STAGE_DEVICE, 1, 1);
    reply_template(s, ask.number, 2, "1, 3");
    ask = expect_extract(s, 1, ATOLL_ISSUE_STAGE_DEVICE, 1);
    op_status(s, ask.number, ATOLL_REPLY_EMPTY);
    expect_ask(s, ATOLL_ASK_ANALYSE, 1);
    assert_int_equal(runs_of(s)->runs[0].failure_count, 1);
    reply_issues(s, 0);
    finish(s, times);
}

/* What was abandoned closes its round and is no failure to tell. */
static void abandoned_candidates_close_their_round(void **state)
{
    static const double times[] = {10, 9};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->plain, times);
    reply_issues(s, BIT(TILE_SIZE));
    op_kernel(s, op_at(s, 0)->number, 2);
    while (!s->counts[ATOLL_DECIDE_ABANDON])
        sim_infrastructure(s, 0);
    expect_write(s, 1, ATOLL_ISSUE_STAGE_DEVICE, 1, 0);
    op_status(s, op_at(s, 0)->number, ATOLL_REPLY_EMPTY);
    reply_issues(s, 0);
    finish(s, times);
}

/* Runs of different islands are under way at once; one of the same island follows. */
static void runs_live_on_their_islands(void **state)
{
    static const double times[] = {10, 9, 5};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    search.islands = 2;
    search.staged_runs = 3;
    struct sim *s = start(&search, &f->plain, times);
    assert_int_equal(op_count(s), 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(op_at(s, i)->island, i);
        assert_int_equal(op_number(s, 0, &op_at(s, i)->parent), 1);
    }
    uint64_t second = op_at(s, 1)->number;
    reply_issues(s, BIT(TILE_SIZE));
    assert_int_equal(op_at(s, 1)->kind, ATOLL_ASK_WRITE);
    op_kernel(s, op_at(s, 1)->number, 2);
    assert_int_equal(s->orders[0].island, 0);
    op_evaluate(s, times);
    op_reply(s, &(struct atoll_reply){.ask = op_at(s, 1)->number}); /* run 0 is over */
    assert_int_equal(runs_of(s)->runs[0].state, ATOLL_STAGED_OVER);
    assert_int_equal(op_count(s), 2);
    assert_int_equal(op_at(s, 1)->island, 0);
    assert_int_equal(op_number(s, 0, &op_at(s, 1)->parent), 2); /* run 2 begins with the best by then */
    op_reply(s, &(struct atoll_reply){.ask = second});
    assert_int_equal(op_count(s), 1); /* there is no fourth */
    op_reply(s, &(struct atoll_reply){.ask = op_at(s, 0)->number});
    finish(s, times);
}

/* What has open parameters is tuned here, whoever else could be asked. */
static void tuning_is_not_asked_outside(void **state)
{
    static const double times[] = {10, 9, 11};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->templates, times);
    struct atoll_ask ask = expect_ask(s, ATOLL_ASK_ANALYSE, 1);
    reply_issues(s, BIT(OPEN_PARAMETERS));
    assert_int_equal(op_count(s), 0);
    assert_int_equal(runs_of(s)->runs[0].left, 12);
    for (uint32_t i = 0; i < 23; i++) { /* two rounds have tried them all */
        assert_int_equal(op_count(s), 0);
        struct atoll_decision order = take_instance(s);
        assert_true(atoll_id_equal(&order.parent, &ask.parent));
        sim_evaluated(s, &order, ATOLL_V_CORRECT, 1e7);
    }
    expect_ask(s, ATOLL_ASK_ANALYSE, 1); /* none was faster */
    reply_issues(s, 0);
    finish(s, times);
}

/* A kernel that a duel proves wrong gives way to the task's best. */
static void a_disproved_kernel_gives_way(void **state)
{
    static const double times[] = {10, 9, 8};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->plain, times);
    reply_issues(s, BIT(MISSING_TILES) | BIT(TILE_SIZE));
    reply_order(s, NULL, 0);
    op_kernel(s, op_at(s, 0)->number, 2);
    struct atoll_decision order = sim_take(s, 0);
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 8e6);
    expect_ask(s, ATOLL_ASK_ANALYSE, 2);
    while (s->order_count) {
        order = sim_take(s, 0);
        assert_int_equal(order.type, ATOLL_DECIDE_DUEL);
        sim_duelled(s, &order, ATOLL_V_WRONG, 0, 0);
    }
    reply_issues(s, BIT(TILE_SIZE));
    expect_write(s, 1, ATOLL_ISSUE_STAGE_DEVICE, 0, 0);
    for (unsigned round = 0; round < 2; round++)
        op_status(s, op_at(s, 0)->number, ATOLL_REPLY_EMPTY);
    reply_issues(s, 0);
    finish(s, times);
}

/* The built-in analyser sees what the kernel's counters show. */
static void counters_open_a_stage(void **state)
{
    static const double times[] = {10, 9, 8};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->plain, times);
    struct atoll_profile profile;
    atoll_profile_init(&profile);
    profile.counters[ATOLL_COUNTER_FP64] = 95;
    profile.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] = 5;
    reply_issues(s, BIT(MISSING_TILES) | BIT(TILE_SIZE));
    reply_order(s, NULL, 0);
    op_kernel(s, op_at(s, 0)->number, 2);
    struct atoll_decision order = sim_take(s, 0);
    s->profile = &profile;
    sim_evaluated(s, &order, ATOLL_V_CORRECT, 8e6);
    s->profile = NULL;
    struct atoll_ask ask = expect_ask(s, ATOLL_ASK_ANALYSE, 2);
    op_status(s, ask.number, ATOLL_REPLY_BUILTIN);
    assert_true(runs_of(s)->runs[0].issues & BIT(DTYPE_FLOAT64));
    while (op_count(s))
        op_status(s, op_at(s, 0)->number, ATOLL_REPLY_EMPTY);
    finish(s, times);
}

/* Nothing outside answers any more: the built-in operator takes over, and the run ends. */
static void spent_goes_on_without_a_model(void **state)
{
    static const double times[] = {10, 9, 11, 8};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct sim *s = start(&search, &f->plain, times);
    reply_issues(s, BIT(TILE_SIZE) | BIT(MISSING_TILES));
    reply_order(s, NULL, 0);
    op_status(s, op_at(s, 0)->number, ATOLL_REPLY_SPENT);
    assert_int_equal(op_count(s), 0);
    finish(s, times);
}

/* ---- without a model ---- */

/* Analysis, order and stages by the built-in operator: it tunes what it began with, and templates above it. */
static void templates_alone_make_a_run(void **state)
{
    struct fixture *f = *state;
    uint32_t tuned = 0, lifted = 0, improved = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct atoll_search search = settings();
        struct sim *s = malloc(sizeof(*s));
        search.ask_share = 0;
        search.seed = seed;
        search.stage_rounds = 5;
        sim_start(s, seed, &search);
        s->cells = 64;
        sim_add_task(s, 0, &f->templates);
        sim_capacity(s, 2);
        while (!s->counts[ATOLL_DECIDE_STOP])
            sim_answer(s);
        assert_int_equal(s->counts[ATOLL_DECIDE_ASK], 0); /* nobody is told */
        const struct atoll_staged_run *run = &runs_of(s)->runs[0];
        uint32_t tried = run->done & ~run->idle;
        tuned += tried >> ATOLL_ISSUE_STAGE_TUNING & 1;
        lifted += (tried & ~STAGE(TUNING)) != 0;
        improved += run->improved != 0;
        assert_int_equal(tried & (STAGE(DTYPE) | STAGE(ADDRESSING)), 0);
        assert_int_equal(runs_of(s)->strays, 0);
        sim_reload(s);
        sim_check_replay(s);
        sim_fini(s);
        free(s);
    }
    assert_true(tuned > 10 && lifted > 10 && improved > 10);
}

static void snapshots_are_checked(void **state)
{
    static const double times[] = {10, 9, 8};
    struct fixture *f = *state;
    struct atoll_search search = settings();
    struct atoll_buffer bytes;
    search.staged_runs = 3;
    struct sim *s = start(&search, &f->plain, times);
    reply_issues(s, EVERY_ISSUE);
    atoll_buffer_init(&bytes, 1u << 26);
    assert_int_equal(atoll_engine_save(s->engine, &bytes, NULL), 0);
    for (size_t length = 0; length < bytes.length; length += EVERY_BYTE)
        assert_null(atoll_engine_load(bytes.data, length, NULL));
    for (size_t at = 0; at < bytes.length; at += EVERY_BYTE) { /* no crash, whatever it says, now or later */
        bytes.data[at] ^= 0x55;
        struct atoll_engine *e = atoll_engine_load(bytes.data, bytes.length, NULL);
        struct atoll_event event;
        atoll_event_init(&event, ATOLL_EVENT_TICK);
        if (e)
            atoll_engine_step(e, &event, sim_replay_sink, &s->decisions, NULL);
        atoll_engine_destroy(e);
        bytes.data[at] ^= 0x55;
    }
    atoll_buffer_fini(&bytes);
    sim_fini(s);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_complete),
        cmocka_unit_test(a_stage_is_worked_on_once_and_in_order),
        cmocka_unit_test(a_round_ends_as_it_should),
        cmocka_unit_test(evidence_needs_a_margin_and_an_interval),
        cmocka_unit_test(stages_follow_the_issues),
        cmocka_unit_test(failures_are_told_and_rolled_back),
        cmocka_unit_test(extracts_are_verified),
        cmocka_unit_test(open_issues_open_their_stage),
        cmocka_unit_test(the_fastest_of_a_round_wins),
        cmocka_unit_test(useless_answers_close_their_round),
        cmocka_unit_test(a_useless_order_is_the_default),
        cmocka_unit_test(known_candidates_close_their_round),
        cmocka_unit_test(abandoned_candidates_close_their_round),
        cmocka_unit_test(runs_live_on_their_islands),
        cmocka_unit_test(counters_open_a_stage),
        cmocka_unit_test(tuning_is_not_asked_outside),
        cmocka_unit_test(a_disproved_kernel_gives_way),
        cmocka_unit_test(spent_goes_on_without_a_model),

        cmocka_unit_test(templates_alone_make_a_run),
        cmocka_unit_test(snapshots_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* How the best of a task came down: on the sample campaign, and on rows of which some do not count. */
#include "tests/support/expect.h"

#include "archive-h5/report/best_curve.h"
#include "archive-h5/table/project.h"
#include "core/fitness.h"
#include "tests/unit/archive-h5/sample_campaign.h"

static void assert_close(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-12 * fabs(b));
}

static double share_of_floor(const struct atoll_row_evaluation *e)
{
    return atoll_floor_trusted_ns(e->floor_ns, e->time_ns) / e->time_ns;
}

/* In the sample each correct evaluation that is faster than all before becomes the best at once. */
static size_t check_task(const struct atoll_query *q, uint64_t task_row)
{
    const struct atoll_tables *t = atoll_query_tables(q);
    struct atoll_rows rows = atoll_query_task_evaluations(q, task_row);
    struct atoll_row_task task;
    struct atoll_curve curve;
    struct atoll_curve_point p;
    double best_ns = 0;
    uint64_t evaluations = 0;
    size_t points = 0;
    atoll_tables_get(t, ATOLL_TABLE_TASKS, task_row, &task);
    assert_int_equal(atoll_curve_init(&curve, q, task_row, NULL), 0);
    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_evaluation e;
        atoll_tables_get(t, ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        evaluations += e.verdict != ATOLL_V_INFRASTRUCTURE;
        if (e.verdict != ATOLL_V_CORRECT || (best_ns > 0 && e.time_ns >= best_ns))
            continue;
        best_ns = e.time_ns;
        assert_int_equal(atoll_curve_next(&curve, &p), 1);
        assert_true(atoll_id_equal(&p.candidate, &e.candidate));
        assert_int_equal(p.evaluation, e.evaluation);
        assert_int_equal(p.evaluations, evaluations);
        assert_int_equal(p.campaign_ns, e.campaign_ns);
        assert_int_equal(p.tokens, 0);
        assert_int_equal(p.tokens_estimated, 0);
        assert_true(p.best_ns == e.time_ns);
        assert_close(p.floor_share, share_of_floor(&e));
        assert_close(p.seed_ratio, task.baseline_ns / e.time_ns);
        assert_close(p.rival_ratio, task.rival_ns > 0 ? task.rival_ns / e.time_ns : 0);
        assert_true(points++ > 0 || p.maker == ATOLL_MAKER_SEED);
    }
    assert_int_equal(atoll_curve_next(&curve, &p), 0);
    assert_int_equal(evaluations, task.evaluated);
    assert_true(curve.best_ns == task.best_ns);
    atoll_curve_fini(&curve);
    assert_int_equal(p.maker, ATOLL_MAKER_TUNER);
    return points;
}

static void the_sample_has_a_curve_of_each_task(void **state)
{
    char dir[PATH_MAX];
    scratch_make(dir);
    struct atoll_campaign *campaign = sample_campaign_create(dir);
    struct atoll_projection *projection = atoll_projection_of_campaign(campaign, NULL, NULL);
    assert_non_null(projection);
    struct atoll_query *q = atoll_query_create(atoll_projection_tables(projection), NULL);
    assert_non_null(q);
    assert_true(check_task(q, 0) > 3);
    assert_true(check_task(q, 1) > 3);
    atoll_query_destroy(q);
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    scratch_remove(dir);
}

static void put(struct atoll_tables *t, enum atoll_table table, const void *row)
{
    assert_int_equal(atoll_tables_append(t, table, row, NULL), 0);
}

static void only_what_counts_to_this_day_is_a_point(void **state)
{
    static const struct {
        uint32_t task, model;
        double time_ns;
        uint8_t type, verdict; /* the verdict of a duel into which it was sent later */
        int is_discarded, is_told;
    } rows[] = {
        {0, 1, 900, ATOLL_DECIDE_BEST, ATOLL_V_CORRECT, 0, 1},
        {0, 1, 850, ATOLL_DECIDE_ELITE, ATOLL_V_CORRECT, 0, 0}, /* another kind of decision */
        {0, 0, 840, ATOLL_DECIDE_BEST, ATOLL_V_CORRECT, 0, 0},  /* of another device model */
        {2, 1, 830, ATOLL_DECIDE_BEST, ATOLL_V_CORRECT, 0, 0},  /* of another task */
        {0, 1, 100, ATOLL_DECIDE_BEST, ATOLL_V_WRONG, 0, 0},
        {0, 1, 50, ATOLL_DECIDE_BEST, ATOLL_V_CORRECT, 1, 0},
        {0, 1, 800, ATOLL_DECIDE_BEST, ATOLL_V_INFRASTRUCTURE, 0, 1},
        {0, 1, 800, ATOLL_DECIDE_BEST, ATOLL_V_CORRECT, 0, 0}, /* as fast */
        {0, 1, 820, ATOLL_DECIDE_BEST, ATOLL_V_CORRECT, 0, 0}, /* of the finals */
        {0, 1, 400, ATOLL_DECIDE_BEST, ATOLL_V_UNSTABLE, 0, 1},
    };
    static const struct {
        uint32_t task, model;
        int64_t answered_ns;
    } asks[] = {{0, 1, 90}, {0, 1, 91}, {0, 1, 0}, {1, 1, 1}, {0, 0, 1}, {0, 1, 20}};
    static const uint64_t tokens[] = {0, 32 * 33, 33 * 33}; /* of the three points */
    static const char uncounted[] = "a prompt of 27 bytes, or so";
    struct atoll_tables *t = atoll_tables_create(1 << 20, NULL);
    struct atoll_row_campaign c = {.stop_reason = 0};
    struct atoll_row_task task = {.model = 1};
    struct atoll_curve curve;
    struct atoll_curve_point p;
    size_t points = 0;
    assert_non_null(t);
    put(t, ATOLL_TABLE_CAMPAIGN, &c);
    put(t, ATOLL_TABLE_TASKS, &task);
    for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
        struct atoll_row_ask ask = {.number = i + 1,
                                    .task = asks[i].task,
                                    .model = asks[i].model,
                                    .answered_ns = asks[i].answered_ns,
                                    .tokens = 1u << i,
                                    .tool_tokens = 32u << i};
        put(t, ATOLL_TABLE_ASKS, &ask);
    }
    /* One of which nobody counted the tokens: 9 each for its four texts. */
    uint32_t text;
    assert_int_equal(atoll_tables_add_text(t, uncounted, strlen(uncounted), &text, NULL), 0);
    struct atoll_row_ask silent = {.number = 100,
                                   .model = 1,
                                   .answered_ns = 30,
                                   .system = text,
                                   .prompt = text,
                                   .answer = text,
                                   .thought = text};
    put(t, ATOLL_TABLE_ASKS, &silent);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const uint32_t of = rows[i].task, model = rows[i].model;
        struct atoll_row_candidate candidate = {.task = of, .operator_ = ATOLL_OPERATOR_EXECUTE};
        struct atoll_row_decision d = {.event = i + 1,
                                       .type = rows[i].type,
                                       .task = of,
                                       .model = model,
                                       .time_ns = rows[i].time_ns,
                                       .campaign_ns = 10 * (int64_t)i};
        struct atoll_row_duel duel = {
            .event = i + 100, .task = of, .model = model, .verdict = rows[i].verdict};
        candidate.id.bytes[0] = candidate.source_id.bytes[0] = (uint8_t)(i + 1);
        d.candidate = duel.challenger = candidate.id;
        put(t, ATOLL_TABLE_CANDIDATES, &candidate);
        put(t, ATOLL_TABLE_DECISIONS, &d);
        put(t, ATOLL_TABLE_DUELS, &duel);
        struct atoll_row_judgement judgement = {.task = of, .model = model, .discarded = 1};
        judgement.source_id = candidate.source_id;
        if (rows[i].is_discarded)
            put(t, ATOLL_TABLE_JUDGEMENTS, &judgement);
    }
    struct atoll_query *q = atoll_query_create(t, NULL);
    assert_non_null(q);
    assert_int_equal(atoll_curve_init(&curve, q, 0, NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (!rows[i].is_told)
            continue;
        assert_int_equal(atoll_curve_next(&curve, &p), 1);
        assert_int_equal(p.candidate.bytes[0], i + 1);
        assert_true(p.best_ns == rows[i].time_ns);
        assert_int_equal(p.tokens_estimated, tokens[points] + (points ? 36 : 0));
        assert_int_equal(p.tokens, tokens[points++]);
        assert_int_equal(p.maker, ATOLL_MAKER_MODEL);
        /* Nothing is known of its evaluation, of a floor, a seed or a rival. */
        assert_int_equal(p.evaluation, 0);
        assert_true(p.floor_share == 0 && p.seed_ratio == 0 && p.rival_ratio == 0);
    }
    assert_int_equal(atoll_curve_next(&curve, &p), 0);
    atoll_curve_fini(&curve);
    atoll_query_destroy(q);
    atoll_tables_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_sample_has_a_curve_of_each_task),
                                       cmocka_unit_test(only_what_counts_to_this_day_is_a_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* From journaled events and decisions to tables. */
#include "tests/support/expect.h"

#include "archive-h5/table/project.h"
#include "tests/unit/archive-h5/sample_campaign.h"

static char dir[PATH_MAX];
static struct atoll_campaign *campaign;
static struct atoll_projection *projection;
static const struct atoll_tables *tables;

static int set_up(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    projection = atoll_projection_of_campaign(campaign, NULL, &err);
    if (!projection)
        fail_msg("%s", err.text);
    tables = atoll_projection_tables(projection);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    scratch_remove(dir);
    return 0;
}

static void test_counts(void **state)
{
    (void)state;
    static const struct {
        enum atoll_table table;
        uint64_t count;
    } want[] = {{ATOLL_TABLE_CAMPAIGN, 1},     {ATOLL_TABLE_TASKS, 2}, {ATOLL_TABLE_DEVICES, 1},
                {ATOLL_TABLE_EVALUATIONS, 50}, {ATOLL_TABLE_DUELS, 5}, {ATOLL_TABLE_MIGRATIONS, 2}};
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
        assert_int_equal(atoll_tables_count(tables, want[i].table), want[i].count);
    assert_true(atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES) > 10);
    uint64_t timings = atoll_tables_count(tables, ATOLL_TABLE_TIMINGS);
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_SAMPLES), timings * 9);
}

static void test_tasks(void **state)
{
    (void)state;
    struct atoll_row_task t;
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 1, &t);
    assert_string_equal(atoll_tables_text(tables, t.name), "softmax_rows");
    assert_non_null(strstr(atoll_tables_text(tables, t.definition), "name: softmax_rows"));
    assert_non_null(strstr(atoll_tables_text(tables, t.reference), "reference("));
    assert_int_equal(t.evaluated, 24);
    assert_true(t.correct > 15 && t.correct < 24);
    assert_true(t.baseline_ns > t.best_ns && t.best_ns > 0);
    assert_true(t.final_ratio > 1);
    assert_int_equal(t.final_pairs, 16);
    assert_true(t.floor_ns > 100000);
    assert_int_equal(t.done, 1);
    assert_int_equal(t.reason, ATOLL_REASON_STAGNATION);
}

/* Candidates of the seed with paths took the first of them at bench, all others have one way. */
static void test_paths(void **state)
{
    uint64_t taken = 0, timing = 0;
    (void)state;
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_TIMINGS); i++) {
        struct atoll_row_timing t;
        struct atoll_row_evaluation e = {.event = UINT64_MAX};
        struct atoll_row_candidate c = {.event = UINT64_MAX};
        atoll_tables_get(tables, ATOLL_TABLE_TIMINGS, i, &t);
        while (e.event != t.event)
            atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, timing++, &e);
        timing = 0;
        for (uint64_t k = 0; !atoll_id_equal(&c.id, &e.candidate); k++)
            atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, k, &c);
        int has_paths = strstr(atoll_tables_text(tables, c.plan), "\"paths\"") != NULL;
        assert_int_equal(t.path, has_paths ? 1 : 0);
        taken += has_paths ? 1 : 0;
    }
    assert_true(taken > 0 && taken < atoll_tables_count(tables, ATOLL_TABLE_TIMINGS));
}

/* Failures have their class, and a row gives back the diagnosis that was put into it. */
static void test_diagnoses(void **state)
{
    (void)state;
    uint64_t count = atoll_tables_count(tables, ATOLL_TABLE_EVALUATIONS), failed = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct atoll_row_evaluation e, again = {.event = 0};
        struct atoll_diagnosis d, back;
        atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, i, &e);
        assert_int_equal(e.error_class, atoll_error_class_of((enum atoll_verdict)e.verdict,
                                                             atoll_tables_text(tables, e.detail)));
        failed += e.error_class != ATOLL_ERROR_NONE;
        atoll_row_diagnosis_get(&e, &d);
        atoll_row_diagnosis_put(&again, &d);
        atoll_row_diagnosis_get(&again, &back);
        assert_true(back.error == d.error && back.limiter == d.limiter && back.next == d.next);
        assert_true(back.figure == d.figure && back.next_figure == d.next_figure);
        assert_true(back.is_counted == d.is_counted && back.stall == d.stall);
        assert_true(back.stall_share == d.stall_share && back.occupancy_by == d.occupancy_by);
        assert_true(back.unused == d.unused && back.traffic == d.traffic);
        assert_true(back.memory_share == d.memory_share && back.flops_per_s == d.flops_per_s);
        assert_true(back.unit == d.unit && back.unit_share == d.unit_share);
    }
    assert_true(failed > 0 && failed < count);
    for (unsigned how = ATOLL_COUNTED_NOT; how <= ATOLL_COUNTED_LONGER; how++) {
        struct atoll_row_evaluation e = {.event = 0};
        struct atoll_diagnosis d = {.is_counted = (enum atoll_counted)how}, back;
        atoll_row_diagnosis_put(&e, &d);
        atoll_row_diagnosis_get(&e, &back);
        assert_int_equal(back.is_counted, how);
    }
}

/* One word says what limits: the diagnosis', unknown too; the profile's coarse one stands for it in files without diagnoses alone. */
static void test_one_word_of_limiters(void **state)
{
    static const struct {
        uint8_t error, limiter, next, coarse, told;
    } rows[] = {
        {0, ATOLL_LIMITER_DRAM, 0, ATOLL_LIMITER_MEMORY, ATOLL_LIMITER_DRAM},
        {0, ATOLL_LIMITER_UNKNOWN, ATOLL_LIMITER_L2, ATOLL_LIMITER_MEMORY, ATOLL_LIMITER_UNKNOWN},
        {ATOLL_ERROR_NONE + 1, 0, 0, ATOLL_LIMITER_MEMORY, ATOLL_LIMITER_UNKNOWN},
        {0, 0, 0, ATOLL_LIMITER_MEMORY, ATOLL_LIMITER_MEMORY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_row_evaluation e = {
            .error_class = rows[i].error, .limiter = rows[i].limiter, .next_limiter = rows[i].next};
        struct atoll_row_profile p = {.limiter = rows[i].coarse};
        assert_int_equal(atoll_row_limiter(&e, &p), rows[i].told);
        assert_int_equal(atoll_row_limiter(&e, NULL), rows[i].limiter);
    }
}

/* A task keeps the text of its reference.cu beside that of reference.c; others have none. */
static void test_reference_device(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_row_task row;
    struct atoll_buffer bytes;
    struct atoll_event e;
    (void)state;
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/suites/starter/matmul", &err);
    if (!task)
        fail_msg("%s", err.text);
    atoll_buffer_init(&bytes, 8 << 20);
    assert_int_equal(atoll_task_encode(task, &bytes, NULL), 0);
    atoll_event_init(&e, ATOLL_EVENT_TASK);
    e.task = 2;
    e.task_bytes = bytes.data;
    e.task_length = bytes.length;
    assert_int_equal(atoll_projection_event(projection, 1 << 20, &e, NULL), 0);
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 2, &row);
    assert_string_equal(atoll_tables_text(tables, row.reference_device), task->device_source);
    assert_string_equal(atoll_tables_text(tables, row.reference), task->reference_source);
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 1, &row);
    assert_string_equal(atoll_tables_text(tables, row.reference_device), "");
    atoll_buffer_fini(&bytes);
    atoll_task_destroy(task);
}

/* The row says what the journaled profile said, and belongs to the evaluation of its event. */
static void test_profiles(void **state)
{
    (void)state;
    uint64_t count = atoll_tables_count(tables, ATOLL_TABLE_PROFILES), evaluations = 0;
    assert_true(count > 5 && count < atoll_tables_count(tables, ATOLL_TABLE_EVALUATIONS));
    for (uint64_t i = 0; i < count; i++) {
        struct atoll_row_profile p;
        struct atoll_row_evaluation e = {.event = UINT64_MAX};
        atoll_tables_get(tables, ATOLL_TABLE_PROFILES, i, &p);
        while (e.event != p.event)
            atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, evaluations++, &e);
        assert_true(e.evaluation == p.evaluation && e.device == p.device && e.task == p.task);
        assert_true(atoll_id_equal(&e.candidate, &p.candidate));
        uint64_t draw = atoll_id_u64(&p.candidate);
        assert_int_equal(p.tier, ATOLL_TIER_COUNTERS);
        assert_true(p.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] == 20 + (double)(draw / 2 % 64));
        assert_int_equal(p.limiter, p.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] > 60 ? ATOLL_LIMITER_MEMORY
                                                                                   : ATOLL_LIMITER_LATENCY);
        /* The evaluation has the diagnosis of it: with no pipe counted, only a busy memory is claimed. */
        double dram = p.counters[ATOLL_COUNTER_DRAM_THROUGHPUT];
        assert_int_equal(e.error_class, ATOLL_ERROR_NONE);
        assert_int_equal(e.limiter, dram > 60 ? ATOLL_LIMITER_DRAM : ATOLL_LIMITER_UNKNOWN);
        assert_true(dram > 60 ? e.limiter_percent == dram : e.next_percent == dram);
        assert_true(e.is_counted && e.traffic_efficiency == 0 &&
                    e.useful_flops_per_s > 0); /* no writes counted */
        assert_true(p.counters[ATOLL_COUNTER_TENSOR] != p.counters[ATOLL_COUNTER_TENSOR]); /* NaN */
        assert_true(p.wall_ns == 2e8 && p.clock_hz == 1.98e9 && p.theoretical_occupancy == 0.75);
        assert_int_equal(p.registers, 40);
        assert_int_equal(p.mix[ATOLL_MIX_GLOBAL_LOAD], 16);
    }
}

static void test_limits_of_the_device(void **state)
{
    (void)state;
    struct atoll_row_device d;
    atoll_tables_get(tables, ATOLL_TABLE_DEVICES, 0, &d);
    assert_int_equal(d.compute_capability, 90);
    assert_int_equal(d.multiprocessors, 132);
    assert_true(d.memory_bytes == 1.5e11 && d.clock_hz == 1.98e9);
    assert_true(d.tensor_f16_flops == 6e14 && d.tensor_tf32_flops == 3e14);
    assert_string_equal(atoll_tables_text(tables, d.driver), "580.126.09, CUDA 13.0");
    assert_string_equal(atoll_tables_text(tables, d.target), "sm_90a");
    assert_string_equal(atoll_tables_text(tables, d.counters), "open");
}

static void test_infrastructure_and_second_answers(void **state)
{
    (void)state;
    struct atoll_row_evaluation e;
    uint64_t last = atoll_tables_count(tables, ATOLL_TABLE_EVALUATIONS) - 1;
    atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, last - 1, &e);
    assert_int_equal(e.verdict, ATOLL_V_INFRASTRUCTURE);
    uint64_t number = e.evaluation;
    atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, last, &e);
    assert_int_equal(e.evaluation, number); /* the same dispatch, answered; its third answer is not there */
    assert_int_equal(e.verdict, ATOLL_V_CORRECT);
    assert_true(e.time_ns > 1000);
}

static void test_candidates(void **state)
{
    (void)state;
    struct atoll_row_candidate c;
    atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES) - 1,
                     &c);
    assert_string_equal(atoll_tables_text(tables, c.source), SAMPLE_HOSTILE);
    assert_string_equal(atoll_tables_text(tables, c.choice), "0 0"); /* no valid plan: bare numbers */
    assert_string_equal(atoll_tables_text(tables, c.origin), "model <b>\"x\"</b>");
    atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, 3, &c);
    assert_non_null(strchr(atoll_tables_text(tables, c.choice), '='));
    assert_int_equal(c.operator_, ATOLL_OPERATOR_TUNE);
    assert_false(atoll_id_is_zero(&c.parent));
}

/* A null control's source is in no event. */
static void test_mutants(void **state)
{
    (void)state;
    unsigned mutants = 0;
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES); i++) {
        struct atoll_row_candidate c, original;
        atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, i, &c);
        if (c.operator_ != ATOLL_OPERATOR_NULL_CONTROL)
            continue;
        mutants++;
        for (uint64_t k = 0; k < i; k++) {
            atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, k, &original);
            if (atoll_id_equal(&original.id, &c.parent))
                break;
        }
        const char *text = atoll_tables_text(tables, c.source),
                   *first = atoll_tables_text(tables, original.source);
        assert_true(strlen(first) > 0 && strncmp(text, first, strlen(first)) == 0);
        assert_non_null(strstr(text, "no-op mutant of"));
        assert_int_equal(c.language, original.language);
        assert_string_equal(atoll_tables_text(tables, c.origin), "no-op mutant");
    }
    assert_int_equal(mutants, 2);
}

static void test_campaign_row(void **state)
{
    (void)state;
    struct atoll_row_campaign c;
    atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, 0, &c);
    assert_int_equal(c.noop_challenges, 2);
    assert_int_equal(c.noop_promotions, 0);
    assert_int_equal(c.stop_reason, ATOLL_REASON_EXHAUSTED);
    assert_true(c.events > 50);
}

/* A final duel of task 1, ordered and answered. */
static void put_final(uint64_t evaluation, const struct atoll_id *candidate, double ratio)
{
    struct atoll_row_task t;
    struct atoll_event answer;
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 1, &t);
    struct atoll_decision order = {.type = ATOLL_DECIDE_DUEL,
                                   .evaluation = evaluation,
                                   .task = 1,
                                   .candidate = *candidate,
                                   .elite = t.baseline,
                                   .purpose = ATOLL_DUEL_FINAL};
    assert_int_equal(atoll_projection_decision(projection, 1000, &order, NULL), 0);
    atoll_event_init(&answer, ATOLL_EVENT_DUELLED);
    answer.duel = (struct atoll_duel){.evaluation = evaluation,
                                      .purpose = ATOLL_DUEL_FINAL,
                                      .better = ratio > 1.01,
                                      .ratio = ratio,
                                      .p_value = 0.01,
                                      .pair_count = 6,
                                      .elite_ns = 1e6 * ratio,
                                      .challenger_ns = 1e6};
    assert_int_equal(atoll_projection_event(projection, 1001, &answer, NULL), 0);
}

/* Of several finals the row tells of the one that the last BEST names. */
static void test_finals(void **state)
{
    (void)state;
    enum { FIRST, SECOND, BASELINE, UNKNOWN };
    static const struct {
        int best;
        double ratio, p_value;
        uint32_t pairs;
    } cases[] = {{FIRST, 1.5, 0.01, 6}, {SECOND, 0.9, 0.01, 6}, {BASELINE, 1, 1, 0}, {UNKNOWN, 0, 0, 0}};
    struct atoll_row_task t;
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 1, &t);
    const struct atoll_id candidates[] = {sample_id(1), sample_id(2), t.baseline, sample_id(3)};
    put_final(100000, &candidates[FIRST], 1.5);
    put_final(100001, &candidates[SECOND], 0.9);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_decision best = {
            .type = ATOLL_DECIDE_BEST, .task = 1, .candidate = candidates[cases[i].best], .time_ns = 5e5};
        assert_int_equal(atoll_projection_decision(projection, 1001, &best, NULL), 0);
        atoll_tables_get(tables, ATOLL_TABLE_TASKS, 1, &t);
        assert_true(atoll_id_equal(&t.best, &candidates[cases[i].best]));
        assert_true(t.final_ratio == cases[i].ratio && t.final_p == cases[i].p_value);
        assert_int_equal(t.final_pairs, cases[i].pairs);
    }
}

/* What an extension reopens is not done and has no final any more, until the next end says so. */
static void test_extended(void **state)
{
    (void)state;
    struct atoll_row_task t;
    struct atoll_row_campaign c;
    struct atoll_event extend;
    const struct atoll_id winner = sample_id(1);
    const struct atoll_decision done = {.type = ATOLL_DECIDE_TASK_DONE,
                                        .task = 1,
                                        .reason = ATOLL_REASON_WALL_TIME},
                                best = {.type = ATOLL_DECIDE_BEST,
                                        .task = 1,
                                        .candidate = winner,
                                        .time_ns = 5e5};
    put_final(100000, &winner, 1.5);
    assert_int_equal(atoll_projection_decision(projection, 1001, &done, NULL), 0);
    assert_int_equal(atoll_projection_decision(projection, 1001, &best, NULL), 0);
    atoll_event_init(&extend, ATOLL_EVENT_EXTEND);
    extend.extension = (struct atoll_extension){
        .evaluations = 10, .device_ns = 20, .wall_ns = 30, .tokens = 40, .money_usd = 0.5};
    assert_int_equal(atoll_projection_event(projection, 1002, &extend, NULL), 0);
    assert_int_equal(atoll_projection_event(projection, 1002, &extend, NULL), 0);
    atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, 0, &c);
    assert_int_equal(c.stop_reason, ATOLL_REASON_NONE);
    assert_int_equal(c.extensions, 2);
    assert_int_equal(c.extended_evaluations, 20);
    assert_true(c.extended_device_ns == 40 && c.extended_wall_ns == 60);
    assert_int_equal(c.extended_tokens, 80);
    assert_true(c.extended_money_usd == 1);
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_TASKS); i++) {
        atoll_tables_get(tables, ATOLL_TABLE_TASKS, i, &t);
        assert_true(!t.done && t.reason == ATOLL_REASON_NONE && !(t.final_ratio > 0) && !t.final_pairs);
    }
    assert_int_equal(atoll_projection_decision(projection, 1003, &done, NULL), 0);
    assert_int_equal(atoll_projection_decision(projection, 1003, &best, NULL), 0);
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 1, &t);
    assert_true(t.done && t.reason == ATOLL_REASON_WALL_TIME && t.final_ratio == 1.5 && t.final_pairs == 6);
}

static void test_cut(void **state)
{
    (void)state;
    struct atoll_event tick;
    struct atoll_tables *first = atoll_projection_cut(projection, NULL);
    for (size_t t = 0; t < ATOLL_TABLE_COUNT; t++) {
        assert_int_equal(atoll_tables_count(first, (enum atoll_table)t),
                         atoll_tables_count(tables, (enum atoll_table)t));
    }
    sample_tick(&tick, 1);
    assert_int_equal(atoll_projection_event(projection, 1000, &tick, NULL), 0);
    struct atoll_tables *second = atoll_projection_cut(projection, NULL);
    assert_int_equal(atoll_tables_count(second, ATOLL_TABLE_EVALUATIONS), 0);
    assert_int_equal(atoll_tables_count(second, ATOLL_TABLE_TASKS), 2); /* as they stand now */
    assert_true(atoll_tables_text_count(second) < atoll_tables_text_count(first));
    atoll_tables_destroy(first);
    atoll_tables_destroy(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tasks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reference_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_profiles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_diagnoses, set_up, tear_down),
        cmocka_unit_test(test_one_word_of_limiters),
        cmocka_unit_test_setup_teardown(test_limits_of_the_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_infrastructure_and_second_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_candidates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mutants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_campaign_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_finals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_extended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rivals in the tables: what was measured, which is the fastest, the final comparison with it, and the task's own words. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "archive-h5/table/project.h"
#include "tests/unit/archive-h5/sample_campaign.h"

#define EVENT    1000 /* beyond the sample's */
#define TASK_DIR ATOLL_SOURCE_DIR "/tests/fixtures/archive/tasks/softmax_rows"

static char dir[PATH_MAX];
static struct atoll_campaign *campaign;
static struct atoll_projection *projection;
static const struct atoll_tables *tables;
static uint64_t next_event, next_evaluation;

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    projection = atoll_projection_of_campaign(campaign, NULL, NULL);
    assert_non_null(projection);
    tables = atoll_projection_tables(projection);
    next_event = next_evaluation = EVENT;
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

static struct atoll_row_task task_row(uint64_t row)
{
    struct atoll_row_task t;
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, row, &t);
    return t;
}

static const char *text(uint32_t number)
{
    return atoll_tables_text(tables, number);
}

static void test_rows(void **state)
{
    static const char *const names[] = {"eager", "compiled", "tuned"};
    (void)state;
    struct atoll_row_rival r[3];
    struct atoll_row_rival_timing t;
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_RIVALS), 3);
    for (uint64_t i = 0; i < 3; i++) {
        atoll_tables_get(tables, ATOLL_TABLE_RIVALS, i, &r[i]);
        assert_int_equal(r[i].task, 1);
        assert_int_equal(r[i].number, i);
        assert_int_equal(r[i].mode, i); /* of enum atoll_torch_mode, as task.yaml has them */
        assert_string_equal(text(r[i].name), names[i]);
        assert_string_equal(text(r[i].expression), "torch.softmax(x, -1)");
        assert_string_equal(text(r[i].versions), "torch 2.11.0, CUDA 13.0, Triton 3.5");
    }
    assert_int_equal(r[1].verdict, ATOLL_V_CORRECT);
    assert_true(r[1].time_ns >= SAMPLE_RIVAL_NS && r[1].time_ns <= 1.01 * SAMPLE_RIVAL_NS);
    assert_true(r[1].time_lo_ns <= r[1].time_ns && r[1].time_ns <= r[1].time_hi_ns);
    assert_true(fabs(r[1].host_ns - 1.1 * SAMPLE_RIVAL_NS) < 1);
    assert_int_equal(r[2].verdict, ATOLL_V_COMPILE_ERROR);
    assert_true(!(r[2].time_ns > 0) && !(r[2].host_ns > 0));
    assert_non_null(strstr(text(r[2].detail), "needs <Triton>"));
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_RIVAL_TIMINGS), 2);
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_RIVAL_SAMPLES), 18);
    atoll_tables_get(tables, ATOLL_TABLE_RIVAL_TIMINGS, 1, &t);
    assert_string_equal(text(t.variant_name), "bench");
    assert_true(t.event == r[1].event && t.median_ns > 0 && t.sample_count == 9);
}

static void test_task_row(void **state)
{
    (void)state;
    struct atoll_row_rival r[2];
    struct atoll_row_task t = task_row(1), other = task_row(0);
    for (uint64_t i = 0; i < 2; i++)
        atoll_tables_get(tables, ATOLL_TABLE_RIVALS, i, &r[i]);
    assert_string_equal(text(t.rival), "compiled");
    assert_string_equal(text(t.rival_mode), "compile");
    assert_true(fabs(t.rival_ns - r[1].time_ns) < 1e-3 && fabs(t.eager_ns - r[0].time_ns) < 1e-3);
    assert_true(fabs(t.rival_lo_ns - r[1].time_lo_ns) < 1e-3 && fabs(t.rival_hi_ns - r[1].time_hi_ns) < 1e-3);
    assert_true(fabs(t.rival_host_ns - r[1].host_ns) < 1e-3);
    assert_true(t.final_rival_ratio == SAMPLE_RIVAL_RATIO && t.final_rival_pairs == 12);
    assert_true(t.final_rival_lo < t.final_rival_ratio && t.final_rival_ratio < t.final_rival_hi);
    assert_true(t.final_rival_ns == 1e6 * SAMPLE_RIVAL_RATIO && t.final_rival_best_ns == 1e6);
    assert_int_equal(t.final_pairs, 16); /* that over the baseline stands beside it */
    assert_string_equal(text(t.category), "softmax");
    assert_string_equal(text(t.tags), "memory reduction");
    assert_int_equal(t.level, 1);
    assert_string_equal(text(other.rival), "");
    assert_true(!(other.rival_ns > 0) && !(other.final_rival_ratio > 0) && other.level == 0);
    struct atoll_row_duel d;
    atoll_tables_get(tables, ATOLL_TABLE_DUELS, atoll_tables_count(tables, ATOLL_TABLE_DUELS) - 1, &d);
    assert_int_equal(d.purpose, ATOLL_DUEL_RIVAL);
    assert_string_equal(text(d.rival), "compiled");
    assert_true(atoll_id_is_zero(&d.elite) && atoll_id_equal(&d.challenger, &t.best));
    atoll_tables_get(tables, ATOLL_TABLE_DUELS, 0, &d);
    assert_string_equal(text(d.rival), "");
}

/* Measures a rival of a task at its bench variants; ns: one time for each. */
static void measure(uint32_t task, const struct atoll_task *of, uint32_t number, enum atoll_verdict verdict,
                    const double *ns)
{
    struct atoll_decision order = {.type = ATOLL_DECIDE_RIVAL,
                                   .evaluation = ++next_evaluation,
                                   .task = task,
                                   .rival = number,
                                   .purpose = ATOLL_DUEL_RIVAL};
    struct atoll_event e;
    assert_int_equal(atoll_projection_decision(projection, ++next_event, &order, NULL), 0);
    atoll_event_init(&e, ATOLL_EVENT_RIVAL);
    e.rival.evaluation = next_evaluation;
    e.rival.task = task;
    e.rival.number = number;
    e.rival.verdict = verdict;
    for (uint32_t v = 0; verdict == ATOLL_V_CORRECT && v < of->variant_count; v++) {
        if (of->variants[v].kind != ATOLL_VARIANT_BENCH || of->variants[v].backend)
            continue;
        struct atoll_timing *t = &e.rival.timings[e.rival.timing_count];
        t->variant = v;
        t->summary.median = t->summary.lo95 = t->summary.hi95 = *ns++;
        e.rival.host_ns[e.rival.timing_count++] = 2 * t->summary.median;
    }
    assert_int_equal(atoll_projection_event(projection, ++next_event, &e, NULL), 0);
    uint64_t rows = atoll_tables_count(tables, ATOLL_TABLE_RIVALS);
    assert_int_equal(atoll_projection_event(projection, ++next_event, &e, NULL), 0); /* a second answer */
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_RIVALS),
                     rows + (verdict == ATOLL_V_INFRASTRUCTURE));
    e.rival.evaluation = 7777; /* never ordered */
    assert_int_equal(atoll_projection_event(projection, ++next_event, &e, NULL), 0);
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_RIVALS),
                     rows + (verdict == ATOLL_V_INFRASTRUCTURE));
    atoll_event_fini(&e);
}

/* The task of the rivals with a second bench variant, of three times the weight, and one of another backend. */
static struct atoll_task *two_benches(void)
{
    static const char *const files[] = {"reference.c", "seeds/naive.c"};
    static const char bench[] = "  bench: {B: 448, N: 2048}\n";
    struct atoll_err err = ATOLL_ERR_INIT;
    char from[PATH_MAX], to[PATH_MAX], root[PATH_MAX];
    size_t length;
    scratch_join(root, dir, "two");
    assert_int_equal(mkdir(root, 0700), 0);
    assert_int_equal(mkdir(scratch_join(to, root, "seeds"), 0700), 0);
    for (size_t i = 0; i < 2; i++) {
        char *bytes = scratch_read(scratch_join(from, TASK_DIR, files[i]), &length);
        scratch_write(scratch_join(to, root, files[i]), bytes, length);
        free(bytes);
    }
    char *yaml = scratch_read(scratch_join(from, TASK_DIR, "task.yaml"), &length), *at = strstr(yaml, bench);
    struct atoll_buffer more;
    assert_non_null(at);
    atoll_buffer_init(&more, 1 << 20);
    atoll_buffer_put_bytes(&more, yaml, (size_t)(at - yaml));
    atoll_buffer_printf(
        &more, "%s  bench.large: {B: 448, N: 4096, weight: 3}\n  bench.gpu: {B: 8, N: 8, backend: cuda}\n%s",
        bench, at + strlen(bench));
    scratch_write(scratch_join(to, root, "task.yaml"), more.data, more.length);
    atoll_buffer_fini(&more);
    free(yaml);
    struct atoll_task *task = atoll_task_load(root, &err);
    if (!task)
        fail_msg("%s", err.text);
    return task;
}

/* The rival is at each bench variant the fastest, combined by weight; what is wrong is never it. */
static void test_fastest_at_each_variant(void **state)
{
    (void)state;
    struct atoll_task *task = two_benches();
    struct atoll_buffer bytes;
    struct atoll_event e;
    atoll_buffer_init(&bytes, 8 << 20);
    assert_int_equal(atoll_task_encode(task, &bytes, NULL), 0);
    atoll_event_init(&e, ATOLL_EVENT_TASK);
    e.task = 2;
    e.task_bytes = bytes.data;
    e.task_length = bytes.length;
    assert_int_equal(atoll_projection_event(projection, ++next_event, &e, NULL), 0);
    measure(2, task, 0, ATOLL_V_CORRECT, (const double[]){1000, 9000});
    assert_string_equal(text(task_row(2).rival), "eager");
    measure(2, task, 2, ATOLL_V_WRONG, (const double[]){1, 1});
    measure(2, task, 1, ATOLL_V_INFRASTRUCTURE, NULL);
    assert_string_equal(text(task_row(2).rival), "eager");
    measure(2, task, 1, ATOLL_V_CORRECT, (const double[]){2000, 4000});
    struct atoll_row_task t = task_row(2);
    assert_string_equal(text(t.rival), "eager, compiled");
    assert_string_equal(text(t.rival_mode), "eager, compile");
    double want = exp((log(1000) + 3 * log(4000)) / 4);
    assert_true(fabs(t.rival_ns - want) < 1e-6 && fabs(t.rival_host_ns - 2 * want) < 1e-6);
    assert_true(fabs(t.eager_ns - exp((log(1000) + 3 * log(9000)) / 4)) < 1e-6);
    atoll_buffer_fini(&bytes);
    atoll_task_destroy(task);
}

/* The final with the rival follows the best, and an extension takes it away until the next end. */
static void test_finals_follow_the_best(void **state)
{
    (void)state;
    struct atoll_event extend;
    const struct atoll_id winner = task_row(1).best;
    struct atoll_decision best = {
        .type = ATOLL_DECIDE_BEST, .task = 1, .candidate = sample_id(3), .time_ns = 5e5};
    assert_int_equal(atoll_projection_decision(projection, ++next_event, &best, NULL), 0);
    assert_true(!(task_row(1).final_rival_ratio > 0)); /* nobody compared it */
    best.candidate = winner;
    assert_int_equal(atoll_projection_decision(projection, ++next_event, &best, NULL), 0);
    assert_true(task_row(1).final_rival_ratio == SAMPLE_RIVAL_RATIO);
    atoll_event_init(&extend, ATOLL_EVENT_EXTEND);
    extend.extension.evaluations = 10;
    assert_int_equal(atoll_projection_event(projection, ++next_event, &extend, NULL), 0);
    assert_true(!(task_row(1).final_rival_ratio > 0) && task_row(1).final_rival_pairs == 0);
    assert_true(task_row(1).rival_ns > 0); /* what was measured holds */
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(test_rows), CASE(test_task_row),
                                       CASE(test_fastest_at_each_variant), CASE(test_finals_follow_the_best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

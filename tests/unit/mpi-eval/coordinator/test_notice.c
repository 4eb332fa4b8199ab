/* test_notice.c - what a person is told while nothing counts, or nothing of a template compiles. */
#include "tests/support/simulation.h"

#include "mpi-eval/coordinator/notice.h"

static const struct sim_seed seeds[] = {
    {"naive", NULL, NULL},
    {"tiled", "\"TM\": [1, 2, 4, 8], \"TN\": [1, 2, 4]", NULL},
};

static struct sim *start(void)
{
    struct atoll_search search;
    struct atoll_buffer bytes;
    struct sim *s = malloc(sizeof(*s));
    assert_non_null(s);
    atoll_search_defaults(&search);
    search.queue_depth = 1;
    atoll_buffer_init(&bytes, 1u << 24);
    sim_task("alpha", seeds, 2, 1, &bytes);
    sim_start(s, 1, &search);
    sim_add_task(s, 0, &bytes);
    sim_capacity(s, 1);
    atoll_buffer_fini(&bytes);
    return s;
}

static void end(struct sim *s)
{
    sim_fini(s);
    free(s);
}

/* The oldest order ends so, for the engine and for the notice. */
static void answer(struct sim *s, struct atoll_notice *notice, enum atoll_verdict verdict, const char *detail)
{
    struct atoll_evaluation e;
    atoll_evaluation_init(&e);
    e.evaluation = s->orders[0].evaluation;
    e.candidate = s->orders[0].candidate;
    e.verdict = verdict;
    snprintf(e.detail, sizeof(e.detail), "%s", detail);
    if (verdict == ATOLL_V_CORRECT)
        sim_answer(s);
    else
        sim_fail(s, 0, verdict);
    atoll_notice_result(notice, s->engine, 0, &e);
    atoll_evaluation_fini(&e);
}

static void expect_text(const struct atoll_notice *notice, const char *words)
{
    if (!strstr(notice->text, words))
        fail_msg("'%s' instead of '%s'", notice->text, words);
}

static void nothing_compiles(void **state)
{
    struct atoll_notice notice = {.text = ""};
    struct sim *s = start();
    struct atoll_barren barren;
    uint32_t cursor = 0;
    answer(s, &notice, ATOLL_V_CORRECT, "");
    answer(s, &notice, ATOLL_V_COMPILE_ERROR, "candidate:1:1: first");
    assert_string_equal(notice.text, "");
    answer(s, &notice, ATOLL_V_COMPILE_ERROR, "candidate:4:5: error: unknown \"type\" 'T'\n\033[2J");
    expect_text(&notice,
                "alpha: none of the 2 combinations of seed tiled that were tried compiles: candidate:4:5: "
                "error: unknown 'type' 'T'");
    assert_null(strchr(notice.text, 033));
    assert_null(strchr(notice.text, '\n'));
    notice.text[0] = '\0';
    sim_reload(s); /* the engine keeps it */
    answer(s, &notice, ATOLL_V_COMPILE_ERROR, "again");
    assert_string_equal(notice.text, ""); /* once */
    assert_int_equal(atoll_engine_next_barren(s->engine, &cursor, &barren), 1);
    assert_int_equal(barren.tried, 3);
    assert_int_equal(atoll_engine_next_barren(s->engine, &cursor, &barren), 0);
    answer(s, &notice, ATOLL_V_CORRECT, "");
    cursor = 0;
    assert_int_equal(atoll_engine_next_barren(s->engine, &cursor, &barren), 0);
    end(s);
}

static void nothing_comes(void **state)
{
    struct atoll_notice notice = {.text = ""};
    struct sim *s = start();
    struct atoll_notice_facts facts = {
        .engine = s->engine, .attempt_ns = 4e9, .left_ns = 11e9, .evaluators = 3};
    atoll_notice_check(&notice, &facts);
    assert_string_equal(notice.text, "");
    facts.attempt_ns = 5e9;
    facts.left_ns = 10e9;
    atoll_notice_check(&notice, &facts);
    expect_text(&notice, "no evaluation has come back in 5.00 s: 0 of 3 evaluators are ready");
    notice.text[0] = '\0';
    facts.attempt_ns = 6e9;
    facts.ready = 3;
    facts.under_way = 2;
    atoll_notice_check(&notice, &facts);
    assert_string_equal(notice.text, ""); /* not again at once */
    facts.attempt_ns = 10e9;
    facts.left_ns = 0;
    atoll_notice_check(&notice, &facts);
    assert_string_equal(notice.text, ""); /* without an end there is time */
    facts.attempt_ns = 30e9;
    atoll_notice_check(&notice, &facts);
    expect_text(&notice, "no evaluation has come back in 30.0 s: 2 are under way on 3 evaluators");
    end(s);
}

static void nothing_counts(void **state)
{
    struct atoll_notice notice = {.text = ""};
    struct sim *s = start();
    struct atoll_notice_facts facts = {
        .engine = s->engine, .attempt_ns = 20e9, .left_ns = 10e9, .evaluators = 1, .ready = 1};
    answer(s, &notice, ATOLL_V_INFRASTRUCTURE, "no space");
    answer(s, &notice, ATOLL_V_UNSTABLE, "other programs took the cores");
    atoll_notice_check(&notice, &facts);
    expect_text(
        &notice,
        "no evaluation has counted in 20.0 s; 2 came back, the last one unstable of alpha: other programs");
    answer(s, &notice, ATOLL_V_CORRECT, "");
    assert_string_equal(notice.text, ""); /* it is over */
    facts.attempt_ns = 100e9;
    atoll_notice_check(&notice, &facts);
    assert_string_equal(notice.text, "");
    end(s);
}

static void triton_is_missing(void **state)
{
    static const struct {
        const char *backend, *python, *says;
        enum atoll_triton triton;
        uint32_t is_null;
    } rows[] = {{"cuda", "none",
                 "a run without Python (--python none) has no Triton; install it (pip install triton)",
                 ATOLL_TRITON_BESIDE, 0},
                {"cuda", "/no/such/python3",
                 "is no program that can be started; name a Python that has triton", ATOLL_TRITON_ALONE, 0},
                {"cuda", "none", NULL, ATOLL_TRITON_NONE, 0},
                {"cuda", "none", NULL, ATOLL_TRITON_BESIDE, 1},
                {"cpu", "none", NULL, ATOLL_TRITON_BESIDE, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_notice notice = {.text = ""};
        struct atoll_setup setup = {.backend_null = rows[i].is_null};
        snprintf(setup.backend, sizeof(setup.backend), "%s", rows[i].backend);
        snprintf(setup.python, sizeof(setup.python), "%s", rows[i].python);
        assert_int_equal(atoll_notice_triton(&notice, &setup, rows[i].triton), rows[i].says != NULL);
        if (rows[i].says)
            expect_text(&notice, rows[i].says);
        else
            assert_string_equal(notice.text, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_compiles),
        cmocka_unit_test(nothing_comes),
        cmocka_unit_test(nothing_counts),
        cmocka_unit_test(triton_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include "mpi-eval/coordinator/dispatch.h"

static void decide(struct atoll_dispatch *d, enum atoll_decision_type type, uint64_t evaluation)
{
    struct atoll_decision decision = {.type = type, .evaluation = evaluation};
    assert_int_equal(atoll_dispatch_decide(d, &decision, NULL), 0);
}

static uint64_t next(struct atoll_dispatch *d, unsigned peer)
{
    const struct atoll_decision *decision = atoll_dispatch_next(d, peer, 0, 0, 0);
    return decision ? decision->evaluation : UINT64_MAX;
}

static void test_order_of_arrival(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(2, NULL);
    assert_int_equal(next(d, 0), UINT64_MAX);
    decide(d, ATOLL_DECIDE_EVALUATE, 1);
    decide(d, ATOLL_DECIDE_ELITE, 99);
    decide(d, ATOLL_DECIDE_DUEL, 1025);  /* the same bucket as 1 */
    decide(d, ATOLL_DECIDE_EVALUATE, 1); /* said twice */
    assert_int_equal(next(d, 0), 1);
    assert_int_equal(next(d, 1), 1025);
    assert_int_equal(next(d, 1), UINT64_MAX);
    assert_int_equal(atoll_dispatch_sent_count(d, 0), 1);
    assert_int_equal(atoll_dispatch_sent_count(d, 1), 1);
    atoll_dispatch_destroy(d);
}

static void test_when_it_left(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(2, NULL);
    decide(d, ATOLL_DECIDE_EVALUATE, 1);
    decide(d, ATOLL_DECIDE_EVALUATE, 2);
    assert_int_equal(atoll_dispatch_under_way_count(d), 0);
    assert_int_equal(next(d, 0), 1);
    assert_int_equal(next(d, 1), 2);
    atoll_dispatch_stamp(d, 1, 5e9);
    atoll_dispatch_stamp(d, 77, 6e9); /* unknown */
    assert_true(atoll_dispatch_sent_ns(d, 1) == 5e9);
    assert_true(atoll_dispatch_sent_ns(d, 2) == 0 && atoll_dispatch_sent_ns(d, 77) == 0);
    assert_int_equal(atoll_dispatch_under_way_count(d), 2);
    atoll_dispatch_answered(d, 1);
    assert_int_equal(atoll_dispatch_under_way_count(d), 1);
    atoll_dispatch_lose(d, 1);
    assert_int_equal(atoll_dispatch_under_way_count(d), 0);
    atoll_dispatch_destroy(d);
}

/* An order goes to devices of its model only, in the order of arrival among those. */
static void test_models_are_kept_apart(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(2, NULL);
    static const uint32_t models[] = {1, 0, 1};
    for (uint32_t i = 0; i < 3; i++) {
        struct atoll_decision decision = {
            .type = ATOLL_DECIDE_EVALUATE, .evaluation = i + 1, .model = models[i]};
        assert_int_equal(atoll_dispatch_decide(d, &decision, NULL), 0);
    }
    assert_null(atoll_dispatch_next(d, 0, 2, 0, 0));
    assert_int_equal(next(d, 0), 2);
    assert_int_equal(next(d, 0), UINT64_MAX);
    assert_int_equal(atoll_dispatch_next(d, 1, 1, 0, 0)->evaluation, 1);
    atoll_dispatch_lose(d, 1);
    assert_int_equal(atoll_dispatch_next(d, 0, 1, 0, 0)->evaluation, 1);
    assert_int_equal(atoll_dispatch_next(d, 0, 1, 0, 0)->evaluation, 3);
    atoll_dispatch_destroy(d);
}

/* What is about a rival goes to peers with torch, and holds nobody else up. */
static void test_rivals_need_torch(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(2, NULL);
    struct atoll_decision decision = {
        .type = ATOLL_DECIDE_RIVAL, .evaluation = 1, .purpose = ATOLL_DUEL_RIVAL, .rival = 2};
    assert_int_equal(atoll_dispatch_decide(d, &decision, NULL), 0);
    decision.type = ATOLL_DECIDE_DUEL;
    decision.evaluation = 2;
    assert_int_equal(atoll_dispatch_decide(d, &decision, NULL), 0);
    decide(d, ATOLL_DECIDE_EVALUATE, 3);
    assert_int_equal(next(d, 0), 3);
    assert_int_equal(next(d, 0), UINT64_MAX);
    const struct atoll_decision *rival = atoll_dispatch_next(d, 1, 0, 1, 0);
    assert_true(rival->evaluation == 1 && rival->rival == 2);
    atoll_dispatch_lose(d, 1);
    assert_int_equal(next(d, 0), UINT64_MAX);
    assert_int_equal(atoll_dispatch_next(d, 1, 0, 1, 0)->evaluation, 1);
    assert_int_equal(atoll_dispatch_next(d, 1, 0, 1, 0)->evaluation, 2);
    decide(d, ATOLL_DECIDE_ABANDON, 1);
    assert_null(atoll_dispatch_find(d, 1));
    atoll_dispatch_destroy(d);
}

static void test_an_answer_counts_once(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(1, NULL);
    decide(d, ATOLL_DECIDE_EVALUATE, 5);
    next(d, 0);
    assert_non_null(atoll_dispatch_find(d, 5));
    assert_null(atoll_dispatch_find(d, 6));
    atoll_dispatch_answered(d, 5);
    assert_null(atoll_dispatch_find(d, 5));
    assert_int_equal(atoll_dispatch_sent_count(d, 0), 0);
    atoll_dispatch_settle(d, 5);
    atoll_dispatch_settle(d, 5);
    atoll_dispatch_answered(d, 5);
    decide(d, ATOLL_DECIDE_EVALUATE, 5); /* it was forgotten: this is another order */
    assert_int_equal(next(d, 0), 5);
    atoll_dispatch_destroy(d);
}

static void test_sent_again_or_given_up(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(1, NULL);
    decide(d, ATOLL_DECIDE_EVALUATE, 5);
    next(d, 0);
    decide(d, ATOLL_DECIDE_REDISPATCH, 5); /* not answered: somebody has it still */
    assert_int_equal(next(d, 0), UINT64_MAX);
    atoll_dispatch_answered(d, 5);
    decide(d, ATOLL_DECIDE_EVALUATE, 6); /* what failed, under a number of its own */
    atoll_dispatch_settle(d, 5);
    assert_int_equal(next(d, 0), 6);
    atoll_dispatch_answered(d, 6);
    decide(d, ATOLL_DECIDE_ABANDON, 6);
    decide(d, ATOLL_DECIDE_REDISPATCH, 6); /* unknown: nothing */
    assert_int_equal(next(d, 0), UINT64_MAX);
    decide(d, ATOLL_DECIDE_EVALUATE, 6); /* it was forgotten: this is another order */
    assert_int_equal(next(d, 0), 6);
    atoll_dispatch_destroy(d);
}

static void test_a_lost_peers_orders_go_first(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(2, NULL);
    for (uint64_t i = 0; i < 4; i++)
        decide(d, ATOLL_DECIDE_EVALUATE, i);
    next(d, 0);
    next(d, 1);
    next(d, 0);
    atoll_dispatch_lose(d, 0);
    assert_int_equal(atoll_dispatch_sent_count(d, 0), 0);
    assert_int_equal(next(d, 1), 0);
    assert_int_equal(next(d, 1), 2);
    assert_int_equal(next(d, 1), 3);
    assert_int_equal(next(d, 1), UINT64_MAX);
    atoll_dispatch_answered(d, 2); /* the lost one answers late, or the other: the first counts */
    assert_null(atoll_dispatch_find(d, 2));
    assert_int_equal(atoll_dispatch_sent_count(d, 1), 3);
    atoll_dispatch_destroy(d);
}

static uint64_t next_of(struct atoll_dispatch *d, unsigned peer, int is_home_only)
{
    const struct atoll_decision *decision = atoll_dispatch_next(d, peer, 0, 1, is_home_only);
    return decision ? decision->evaluation : UINT64_MAX;
}

static void decide_task(struct atoll_dispatch *d, enum atoll_decision_type type, uint64_t evaluation,
                        uint32_t task)
{
    struct atoll_decision decision = {.type = type, .evaluation = evaluation, .task = task, .rival = 1};
    decision.purpose = type == ATOLL_DECIDE_RIVAL ? ATOLL_DUEL_RIVAL : ATOLL_DUEL_PROMOTION;
    assert_int_equal(atoll_dispatch_decide(d, &decision, NULL), 0);
}

/* The first order of a task finds its home; later ones go there first, to others last, and to any once it is lost. */
static void test_a_task_has_a_home(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(2, NULL);
    decide_task(d, ATOLL_DECIDE_EVALUATE, 1, 0);
    decide_task(d, ATOLL_DECIDE_EVALUATE, 2, 700);
    assert_int_equal(next_of(d, 0, 1), 1); /* nobody's yet */
    assert_int_equal(next_of(d, 1, 1), 2);
    decide_task(d, ATOLL_DECIDE_EVALUATE, 3, 0);
    decide_task(d, ATOLL_DECIDE_DUEL, 4, 700);
    decide_task(d, ATOLL_DECIDE_EVALUATE, 5, 0);
    decide_task(d, ATOLL_DECIDE_EVALUATE, 6, 0);
    assert_int_equal(next_of(d, 1, 0), 4); /* its own before what came earlier */
    assert_int_equal(next_of(d, 1, 1), UINT64_MAX);
    assert_int_equal(next_of(d, 0, 1), 3);
    assert_int_equal(next_of(d, 1, 0), 5); /* that makes it no home */
    assert_int_equal(next_of(d, 1, 1), UINT64_MAX);
    assert_int_equal(next_of(d, 0, 1), 6);
    atoll_dispatch_lose(d, 0);
    assert_int_equal(next_of(d, 1, 1), 1);
    decide_task(d, ATOLL_DECIDE_EVALUATE, 7, 0);
    assert_int_equal(next_of(d, 0, 1), UINT64_MAX);
    assert_int_equal(next_of(d, 1, 1), 3);
    atoll_dispatch_destroy(d);
}

/* What is about rivals goes to anybody, and finds no home. */
static void test_rivals_have_no_home(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(2, NULL);
    decide_task(d, ATOLL_DECIDE_RIVAL, 1, 0);
    assert_int_equal(next_of(d, 0, 1), 1);
    decide_task(d, ATOLL_DECIDE_EVALUATE, 2, 0);
    assert_int_equal(next_of(d, 1, 1), 2);
    decide_task(d, ATOLL_DECIDE_RIVAL, 3, 0);
    assert_int_equal(next_of(d, 0, 1), 3);
    atoll_dispatch_destroy(d);
}

static void test_an_order_lost_with_its_peers(void **state)
{
    struct atoll_dispatch *d = atoll_dispatch_create(1, NULL);
    decide(d, ATOLL_DECIDE_EVALUATE, 9);
    for (int i = 0; i < ATOLL_DISPATCH_LOSS_LIMIT; i++) {
        assert_null(atoll_dispatch_find_lost(d));
        assert_int_equal(next(d, 0), 9);
        atoll_dispatch_lose(d, 0);
    }
    assert_non_null(atoll_dispatch_find_lost(d));
    atoll_dispatch_answered(d, 9);
    assert_null(atoll_dispatch_find_lost(d));
    atoll_dispatch_destroy(d);
}

static void test_destroy_takes_null(void **state)
{
    atoll_dispatch_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_arrival),
        cmocka_unit_test(test_when_it_left),
        cmocka_unit_test(test_models_are_kept_apart),
        cmocka_unit_test(test_rivals_need_torch),
        cmocka_unit_test(test_an_answer_counts_once),
        cmocka_unit_test(test_sent_again_or_given_up),
        cmocka_unit_test(test_a_lost_peers_orders_go_first),
        cmocka_unit_test(test_a_task_has_a_home),
        cmocka_unit_test(test_rivals_have_no_home),
        cmocka_unit_test(test_an_order_lost_with_its_peers),
        cmocka_unit_test(test_destroy_takes_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

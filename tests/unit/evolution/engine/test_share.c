#include "tests/support/expect.h"

#include <math.h>
#include <string.h>

#include "evolution/engine/share.h"

#define COST_NS 1e7

static double promise(const struct atoll_share *s)
{
    return atoll_share_promise(s, COST_NS, 0, 0);
}

/* count evaluations that improve the best time by ratio each, 1: none does. */
static void add(struct atoll_share *s, unsigned count, double ratio)
{
    for (unsigned i = 0; i < count; i++)
        atoll_share_add(s, (s->best_ns > 0 ? s->best_ns : 1e9) / ratio, COST_NS);
}

static void who_improves_promises_more(void **state)
{
    struct atoll_share flat = {0}, improving = {0}, fresh = {0}, failing = {0};
    add(&flat, 40, 1);
    add(&improving, 40, 1.05);
    for (unsigned i = 0; i < 40; i++)
        atoll_share_add(&failing, 0, COST_NS);
    assert_true(promise(&improving) > 2 * promise(&flat));
    assert_true(promise(&fresh) > 2 * promise(&flat));
    expect_close(promise(&failing), promise(&flat), 0.1);
    assert_int_equal(improving.since, 0);
    assert_int_equal(flat.since, 39); /* the first one set the time */
}

/* What stops improving yields, and the longer it lasts the more. */
static void stagnation_yields(void **state)
{
    struct atoll_share s = {0};
    add(&s, 20, 1.1);
    double before = promise(&s);
    for (unsigned i = 0; i < 6; i++) {
        add(&s, 20, 1);
        assert_true(promise(&s) < before);
        before = promise(&s);
    }
    add(&s, 1, 1.5);
    assert_true(promise(&s) > 3 * before);
}

static void cost_way_and_floor_count(void **state)
{
    struct atoll_share s = {0};
    add(&s, 10, 1.05);
    double alone = promise(&s);
    assert_true(atoll_share_promise(&s, COST_NS, 20, 0) < alone);
    assert_true(atoll_share_promise(&s, 10 * COST_NS, 0, 0) < alone);
    expect_close(atoll_share_promise(&s, COST_NS, 0, s.best_ns / 100), alone, 1e-12);
    assert_true(atoll_share_promise(&s, COST_NS, 0, s.best_ns / 1.05) < alone / 4);
    assert_true(atoll_share_promise(&s, COST_NS, 0, s.best_ns) > 0);
    /* a floor that was beaten says nothing about what can be gained */
    expect_close(atoll_share_promise(&s, COST_NS, 0, 6.1 * s.best_ns), alone, 1e-12);
}

static void nonsense_changes_nothing(void **state)
{
    struct atoll_share s = {0}, same;
    add(&s, 3, 1.1);
    same = s;
    atoll_share_add(&s, NAN, NAN);
    assert_true(isfinite(promise(&s)) && s.best_ns == same.best_ns);
    atoll_share_add(&s, -5, -1);
    assert_true(isfinite(promise(&s)) && s.best_ns == same.best_ns);
}

static void it_travels(void **state)
{
    struct atoll_share s = {0}, back = {0};
    struct atoll_buffer bytes;
    struct atoll_reader reader;
    add(&s, 7, 1.2);
    atoll_buffer_init(&bytes, 256);
    struct atoll_codec out = {.out = &bytes};
    atoll_share_codec(&s, &out);
    atoll_reader_init(&reader, bytes.data, bytes.length);
    struct atoll_codec in = {.in = &reader};
    atoll_share_codec(&back, &in);
    assert_false(atoll_codec_failed(&in));
    assert_true(back.gain == s.gain && back.spent_ns == s.spent_ns && back.best_ns == s.best_ns &&
                back.since == s.since);
    double nan = NAN;
    memcpy(bytes.data, &nan, sizeof(nan));
    atoll_reader_init(&reader, bytes.data, bytes.length);
    atoll_share_codec(&back, &in);
    assert_true(atoll_codec_failed(&in));
    atoll_buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_improves_promises_more),
        cmocka_unit_test(stagnation_yields),
        cmocka_unit_test(cost_way_and_floor_count),
        cmocka_unit_test(nonsense_changes_nothing),
        cmocka_unit_test(it_travels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Simulations draw from the counter-based generator: their counts are exact, and the bounds say only what a right
 * implementation may give. */
#include "tests/support/expect.h"

#include <math.h>

#include "core/error_control.h"
#include "base/random.h"

#define ALPHA   0.05
#define STREAMS 2000
#define LENGTH  300

static double unit(struct atoll_random *r)
{
    return atoll_random_unit(atoll_random_next(r));
}

/* The k-th test gets alpha * 6 / (pi^2 k^2), whatever comes of the others and whenever. */
static void test_spending_counts(void **state)
{
    struct atoll_error_control e;
    struct atoll_random random = {1, 0};
    atoll_error_init(&e, ATOLL_ERROR_SPENDING, ALPHA);
    for (unsigned k = 1; k <= 500; k++) {
        double expected = ALPHA * 6 / (M_PI * M_PI * k * k);
        assert_true(fabs(atoll_error_level(&e) / expected - 1) < 1e-12);
        assert_true(fabs(atoll_error_open(&e) / expected - 1) < 1e-12);
        while (e.under_way > 3)
            atoll_error_close(&e, unit(&random), unit(&random) < 0.1);
    }
}

/* What a closed test does to the level of the next: with one value each that costs, and that does not. */
static void test_what_costs(void **state)
{
    static const double wrong[] = {-0.1, 1.1, HUGE_VAL, (double)NAN};
    static const struct {
        enum atoll_error_rule rule;
        double p;
        int is_free;
    } cases[] = {{ATOLL_ERROR_SPENDING, 0, 0},       {ATOLL_ERROR_SPENDING, 1, 0},
                 {ATOLL_ERROR_LORD, 0, 0},           {ATOLL_ERROR_LORD, 1, 0},
                 {ATOLL_ERROR_RECYCLING, 0, 1},      {ATOLL_ERROR_RECYCLING, ATOLL_ERROR_LAMBDA, 1},
                 {ATOLL_ERROR_RECYCLING, 0.1001, 0}, {ATOLL_ERROR_RECYCLING, ATOLL_ERROR_TAU, 0},
                 {ATOLL_ERROR_RECYCLING, 0.5001, 1}, {ATOLL_ERROR_RECYCLING, 1, 1},
                 {ATOLL_ERROR_ADDIS, 0.05, 1},       {ATOLL_ERROR_ADDIS, 0.3, 0},
                 {ATOLL_ERROR_ADDIS, 0.9, 1}};
    struct atoll_error_control e;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        atoll_error_init(&e, cases[i].rule, ALPHA);
        double first = atoll_error_open(&e), second = atoll_error_level(&e);
        assert_true(second < first); /* as long as it is not known */
        atoll_error_close(&e, cases[i].p, 0);
        double after = atoll_error_level(&e);
        if (fabs(after - (cases[i].is_free ? first : second)) > 1e-15)
            fail_msg("case %zu: %g, then %g", i, first, after);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        atoll_error_init(&e, ATOLL_ERROR_RECYCLING, ALPHA);
        double first = atoll_error_open(&e);
        atoll_error_close(&e, wrong[i], 0);
        assert_true(atoll_error_level(&e) < first);
    }
}

static void test_abandoned_ones_were_never_there(void **state)
{
    for (unsigned rule = 0; rule < ATOLL_ERROR_RULE_COUNT; rule++) {
        struct atoll_error_control e;
        atoll_error_init(&e, (enum atoll_error_rule)rule, ALPHA);
        double first = atoll_error_open(&e);
        atoll_error_open(&e);
        atoll_error_abandon(&e);
        atoll_error_abandon(&e);
        expect_close(atoll_error_level(&e), first, 0);
        atoll_error_abandon(&e); /* none is under way */
        atoll_error_close(&e, 0.3, 1);
        assert_true(e.under_way == 0 && e.rejections == 0);
        expect_close(atoll_error_level(&e), first, 0);
    }
}

/* Familywise rules do not care who ends first. */
static void test_order_does_not_matter(void **state)
{
    static const double p[] = {0.001, 0.2, 0.4, 0.7, 1, 0.3};
    for (unsigned rule = ATOLL_ERROR_SPENDING; rule <= ATOLL_ERROR_RECYCLING; rule++) {
        struct atoll_error_control forth, back;
        atoll_error_init(&forth, (enum atoll_error_rule)rule, ALPHA);
        for (size_t i = 0; i < 6; i++)
            atoll_error_open(&forth);
        back = forth;
        for (size_t i = 0; i < 6; i++) {
            atoll_error_close(&forth, p[i], i == 0);
            atoll_error_close(&back, p[5 - i], i == 5);
        }
        expect_close(atoll_error_level(&back), atoll_error_level(&forth), 0);
        assert_true(back.terms[0].age == forth.terms[0].age && back.rejections == 1);
    }
}

/* Only where rejections earn does one raise the level. */
static void test_rejections_earn(void **state)
{
    static const int earns[ATOLL_ERROR_RULE_COUNT] = {0, 0, 1, 1};
    for (unsigned rule = 0; rule < ATOLL_ERROR_RULE_COUNT; rule++) {
        struct atoll_error_control lost, won;
        atoll_error_init(&lost, (enum atoll_error_rule)rule, ALPHA);
        for (unsigned i = 0; i < 5; i++) {
            atoll_error_open(&lost);
            atoll_error_close(&lost, 0.3, 0);
        }
        atoll_error_open(&lost);
        won = lost;
        atoll_error_close(&lost, 0.0001, 0);
        atoll_error_close(&won, 0.0001, 1);
        assert_int_equal(atoll_error_level(&won) > atoll_error_level(&lost), earns[rule]);
    }
}

/* The account that every proof rests on: at any time, the levels of the tests that cost, and of those that still may,
 * are worth at most alpha, or alpha per rejection where those earn. */
struct account {
    struct atoll_error_control e;
    double open[16], spent; /* levels of those under way; of those that cost */
    size_t count;
};

static int costs(enum atoll_error_rule rule, double p)
{
    int discards = rule == ATOLL_ERROR_RECYCLING || rule == ATOLL_ERROR_ADDIS;
    return !discards || (p > ATOLL_ERROR_LAMBDA && p <= ATOLL_ERROR_TAU);
}

static void account_step(struct account *a, struct atoll_random *random)
{
    double what = unit(random), p = unit(random);
    if (a->count < 16 && (a->count == 0 || what < 0.5)) {
        a->open[a->count++] = atoll_error_open(&a->e);
        return;
    }
    size_t ends = (size_t)atoll_random_below(atoll_random_next(random), a->count);
    if (what > 0.95) {
        atoll_error_abandon(&a->e);
    } else {
        a->spent += costs(a->e.rule, p) ? a->open[ends] : 0;
        atoll_error_close(&a->e, p, p < 0.02);
    }
    a->open[ends] = a->open[--a->count];
}

static void test_never_overdrawn(void **state)
{
    for (unsigned rule = 0; rule < ATOLL_ERROR_RULE_COUNT; rule++) {
        int discards = rule == ATOLL_ERROR_RECYCLING || rule == ATOLL_ERROR_ADDIS;
        double share = discards ? ATOLL_ERROR_TAU - ATOLL_ERROR_LAMBDA : 1;
        struct atoll_random random = {rule + 1, 0};
        struct account a = {.count = 0};
        atoll_error_init(&a.e, (enum atoll_error_rule)rule, ALPHA);
        for (unsigned i = 0; i < 20000; i++) {
            account_step(&a, &random);
            double worth = a.spent, allowed = ALPHA;
            for (size_t k = 0; k < a.count; k++)
                worth += a.open[k];
            if (rule >= ATOLL_ERROR_LORD && a.e.rejections > 1)
                allowed *= (double)a.e.rejections;
            if (worth > allowed * share * (1 + 1e-9))
                fail_msg("%s: %g of %g after %u steps", atoll_error_rule_names[rule], worth / share, allowed,
                         i);
        }
        assert_true(a.spent > 0.2 * ALPHA * share); /* it was an account, not a standstill */
    }
}

/* A stream of nulls with uniform p-values and true effects with p = 0; up to four are under way. */
struct outcome {
    double rejected, false_rejected, any_false; /* sums over streams */
};

static void stream_run(enum atoll_error_rule rule, double share_true, atoll_u64 seed, struct outcome *o)
{
    struct atoll_error_control e;
    struct atoll_random random = {seed, 0};
    double levels[4], p[4];
    int failed = 0;
    atoll_error_init(&e, rule, ALPHA);
    for (unsigned made = 0; made < LENGTH; made += 4) {
        for (unsigned i = 0; i < 4; i++) {
            p[i] = unit(&random) < share_true ? -1 : unit(&random);
            levels[i] = atoll_error_open(&e);
        }
        for (unsigned i = 0; i < 4; i++) {
            int rejected = p[i] <= levels[i], is_false = rejected && p[i] >= 0;
            atoll_error_close(&e, fmax(p[i], 0), rejected);
            o->rejected += rejected;
            o->false_rejected += is_false;
            failed |= is_false;
        }
    }
    o->any_false += failed;
}

static struct outcome streams_run(enum atoll_error_rule rule, double share_true)
{
    struct outcome o = {0, 0, 0};
    for (unsigned i = 0; i < STREAMS; i++)
        stream_run(rule, share_true, atoll_random_at(11, i), &o);
    return o;
}

/* Familywise: at most alpha of the streams have a false rejection, within three deviations; and not next to none, for
 * then error would be left unused. */
static void test_familywise(void **state)
{
    static const struct {
        enum atoll_error_rule rule;
        double share_true, least;
    } cases[] = {{ATOLL_ERROR_SPENDING, 0, 0.02},
                 {ATOLL_ERROR_RECYCLING, 0, 0.02},
                 {ATOLL_ERROR_RECYCLING, 0.3, 0.02},
                 {ATOLL_ERROR_RECYCLING, 0.9, 0.01}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double share = streams_run(cases[i].rule, cases[i].share_true).any_false / STREAMS;
        if (share > ALPHA + 3 * sqrt(ALPHA * (1 - ALPHA) / STREAMS) || share < cases[i].least)
            fail_msg("case %zu: %g of the streams have a false rejection", i, share);
    }
}

static void test_false_discovery_rate(void **state)
{
    static const struct {
        enum atoll_error_rule rule;
        double share_true, least;
    } cases[] = {{ATOLL_ERROR_LORD, 0.02, 0.005},
                 {ATOLL_ERROR_LORD, 0.3, 0.005},
                 {ATOLL_ERROR_ADDIS, 0.02, 0.005},
                 {ATOLL_ERROR_ADDIS, 0.3, 0.005}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct outcome o = streams_run(cases[i].rule, cases[i].share_true);
        double rate = o.false_rejected / o.rejected;
        if (rate > ALPHA + 3 * sqrt(ALPHA * (1 - ALPHA) / o.rejected) || rate < cases[i].least)
            fail_msg("case %zu: %g of the rejections are false", i, rate);
    }
}

/* Far more rejections than there are terms: nothing is lost from what was earned, and the level is at most what a list of
 * all of them would give, and not much less. */
static void test_terms_are_bounded(void **state)
{
    static uint64_t earned_at[4000];
    struct atoll_error_control e;
    struct atoll_random random = {5, 0};
    uint64_t costly = 0;
    size_t count = 0;
    atoll_error_init(&e, ATOLL_ERROR_LORD, 1e-4); /* so small that no level is cut off */
    for (unsigned i = 0; i < 20000; i++) {
        int rejected = unit(&random) < 0.15 && count < 4000;
        atoll_error_open(&e);
        atoll_error_close(&e, 0.3, rejected);
        costly++;
        if (rejected)
            earned_at[count++] = costly;
    }
    double exact = 0.5 * pow((double)costly + 1, -1.3), sum = 0;
    for (size_t i = 0; i < count; i++)
        exact += (i ? 1 : 0.5) * pow((double)(costly - earned_at[i]) + 1, -1.3);
    exact *= 1e-4 / 3.931949211809544;
    for (uint32_t i = 0; i < e.term_count; i++)
        sum += e.terms[i].weight;
    assert_int_equal(e.term_count, ATOLL_ERROR_TERM_LIMIT);
    expect_close(sum / ((double)count * 1e-4), 1, 1e-9);
    assert_true(atoll_error_level(&e) <= exact * (1 + 1e-12) && atoll_error_level(&e) > 0.8 * exact);
}

/* Levels stay what a duel takes, however rich the stream is. */
static void test_levels_are_bounded(void **state)
{
    for (unsigned rule = 0; rule < ATOLL_ERROR_RULE_COUNT; rule++) {
        struct atoll_error_control e;
        atoll_error_init(&e, (enum atoll_error_rule)rule, 0.4999);
        for (unsigned i = 0; i < 5000; i++) {
            double level = atoll_error_open(&e);
            assert_true(level > 0 && level < 0.5);
            atoll_error_close(&e, 0, 1);
        }
        assert_true(atoll_error_level(&e) <= (rule >= ATOLL_ERROR_LORD ? 0.01 : 0.31));
    }
}

static struct atoll_error_control busy(enum atoll_error_rule rule)
{
    struct atoll_error_control e;
    struct atoll_random random = {9, 0};
    atoll_error_init(&e, rule, ALPHA);
    for (unsigned i = 0; i < 200; i++) {
        atoll_error_open(&e);
        if (e.under_way > 5)
            atoll_error_close(&e, unit(&random), i % 3 == 0);
    }
    return e;
}

static int decode(const void *bytes, size_t length, struct atoll_error_control *e)
{
    struct atoll_reader r;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_reader_init(&r, bytes, length);
    atoll_error_decode(&r, e);
    return atoll_reader_finish(&r, "error control", &err);
}

static void test_round_trip(void **state)
{
    for (unsigned rule = 0; rule < ATOLL_ERROR_RULE_COUNT; rule++) {
        struct atoll_error_control e = busy((enum atoll_error_rule)rule), fresh, back;
        struct atoll_buffer bytes;
        atoll_buffer_init(&bytes, 4096);
        atoll_error_encode(&e, &bytes);
        atoll_error_init(&fresh, (enum atoll_error_rule)rule, ALPHA);
        back = fresh;
        assert_int_equal(decode(bytes.data, bytes.length, &back), 0);
        assert_memory_equal(&back, &e, sizeof(e));
        for (size_t length = 0; length < bytes.length; length++) {
            back = fresh;
            assert_int_equal(decode(bytes.data, length, &back), -1);
            assert_memory_equal(&back, &fresh, sizeof(fresh));
        }
        atoll_buffer_fini(&bytes);
    }
}

static void richer(struct atoll_error_control *e)
{
    e->terms[0].weight *= 1.01;
}
static void debtor(struct atoll_error_control *e)
{
    e->terms[1].weight += 2 * e->terms[0].weight;
    e->terms[0].weight = -e->terms[0].weight;
}
static void not_a_number(struct atoll_error_control *e)
{
    e->terms[0].weight = (double)NAN;
}
static void unsorted(struct atoll_error_control *e)
{
    e->terms[1].age = e->terms[0].age;
}
static void nothing_earned(struct atoll_error_control *e)
{
    e->rejections = 0;
}
static void none(struct atoll_error_control *e)
{
    e->term_count = 0;
}

/* Bytes that no stream of tests leads to. */
static void test_impossible_states(void **state)
{
    static void (*const spoil[])(struct atoll_error_control *) = {richer,   debtor,         not_a_number,
                                                                  unsorted, nothing_earned, none};
    for (size_t i = 0; i < sizeof(spoil) / sizeof(*spoil); i++) {
        struct atoll_error_control e = busy(ATOLL_ERROR_ADDIS), back;
        struct atoll_buffer bytes;
        assert_true(e.term_count > 1);
        atoll_error_init(&back, ATOLL_ERROR_ADDIS, ALPHA);
        spoil[i](&e);
        atoll_buffer_init(&bytes, 4096);
        atoll_error_encode(&e, &bytes);
        if (decode(bytes.data, bytes.length, &back) == 0)
            fail_msg("case %zu was taken", i);
        assert_true(back.term_count == 1 && back.rejections == 0);
        atoll_buffer_fini(&bytes);
    }
}

/* More terms than there is room for, each of them possible. */
static void test_too_many_terms(void **state)
{
    struct atoll_error_control back;
    struct atoll_buffer bytes;
    atoll_error_init(&back, ATOLL_ERROR_LORD, ALPHA);
    atoll_buffer_init(&bytes, 4096);
    atoll_buffer_put_u64(&bytes, 0);
    atoll_buffer_put_u64(&bytes, ATOLL_ERROR_TERM_LIMIT + 1);
    atoll_buffer_put_u32(&bytes, ATOLL_ERROR_TERM_LIMIT + 1);
    for (uint64_t i = 0; i <= ATOLL_ERROR_TERM_LIMIT; i++) {
        atoll_buffer_put_f64(&bytes, ALPHA);
        atoll_buffer_put_u64(&bytes, 100 - i);
    }
    assert_int_equal(decode(bytes.data, bytes.length, &back), -1);
    assert_int_equal(back.term_count, 1);
    atoll_buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spending_counts),
        cmocka_unit_test(test_what_costs),
        cmocka_unit_test(test_abandoned_ones_were_never_there),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_rejections_earn),
        cmocka_unit_test(test_never_overdrawn),
        cmocka_unit_test(test_familywise),
        cmocka_unit_test(test_false_discovery_rate),
        cmocka_unit_test(test_terms_are_bounded),
        cmocka_unit_test(test_levels_are_bounded),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_impossible_states),
        cmocka_unit_test(test_too_many_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>

#include "core/evaluation.h"
#include "base/random.h"
#include "tests/support/evaluation.h"

static void encode(const struct atoll_evaluation *e, struct atoll_buffer *out)
{
    atoll_buffer_init(out, 1u << 20);
    atoll_evaluation_encode(e, out);
    assert_int_equal(atoll_buffer_check(out, NULL), 0);
}

static void test_round_trip(void **state)
{
    struct atoll_evaluation e, back;
    struct atoll_buffer first, second;
    sample_evaluation(&e);
    encode(&e, &first);
    atoll_evaluation_init(&back);
    assert_int_equal(atoll_evaluation_decode(first.data, first.length, &back, NULL), 0);
    assert_true(back.evaluation == e.evaluation && back.device == e.device &&
                back.started_unix_ns == e.started_unix_ns);
    assert_true(atoll_id_equal(&back.candidate, &e.candidate) && atoll_id_equal(&back.binary, &e.binary));
    assert_int_equal(back.verdict, ATOLL_V_CORRECT);
    assert_int_equal(back.level, 6);
    assert_string_equal(back.detail, e.detail);
    assert_int_equal(back.behaviour.algorithm, 3);
    assert_int_equal(back.timing_count, 2);
    assert_int_equal(back.timings[1].flags, ATOLL_TIMING_AUDIT);
    assert_int_equal(back.timings[0].sample_count, e.timings[0].sample_count);
    assert_memory_equal(back.timings[0].samples_ns, e.timings[0].samples_ns, 9 * sizeof(double));
    assert_memory_equal(back.profile.counters, e.profile.counters, sizeof(e.profile.counters));
    assert_int_equal(back.profile.resources.registers, 48);
    encode(&back, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.data, second.data, first.length);
    /* Decoding again into a value that holds something frees what it held. */
    assert_int_equal(atoll_evaluation_decode(first.data, first.length, &back, NULL), 0);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
    atoll_evaluation_fini(&e);
    atoll_evaluation_fini(&back);
}

static void test_an_empty_one_travels(void **state)
{
    struct atoll_evaluation e, back;
    struct atoll_buffer b;
    atoll_evaluation_init(&e);
    atoll_evaluation_init(&back);
    e.verdict = ATOLL_V_INFRASTRUCTURE;
    encode(&e, &b);
    assert_int_equal(atoll_evaluation_decode(b.data, b.length, &back, NULL), 0);
    assert_int_equal(back.verdict, ATOLL_V_INFRASTRUCTURE);
    atoll_buffer_fini(&b);
    atoll_evaluation_fini(&back);
}

static void expect_refused(const struct atoll_evaluation *e)
{
    struct atoll_evaluation back;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer b;
    encode(e, &b);
    sample_evaluation(&back);
    assert_int_equal(atoll_evaluation_decode(b.data, b.length, &back, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "evaluation: ");
    assert_int_equal(back.timing_count, 0); /* empty, and init'ed */
    assert_null(back.timings[0].samples_ns);
    atoll_buffer_fini(&b);
    atoll_evaluation_fini(&back);
}

static void test_hostile_fields(void **state)
{
    static const double bad_times[] = {-1.0, NAN, HUGE_VAL, -HUGE_VAL, 1e19};
    static const size_t time_fields[] = {
        offsetof(struct atoll_evaluation, compile_ns),
        offsetof(struct atoll_evaluation, check_ns),
        offsetof(struct atoll_evaluation, sampling_ns),
        offsetof(struct atoll_evaluation, occupied_ns),
        offsetof(struct atoll_evaluation, candidate_ns),
        offsetof(struct atoll_evaluation, timings[1].floor_ns),
        offsetof(struct atoll_evaluation, timings[1].resolution_ns),
        offsetof(struct atoll_evaluation, timings[0].summary.median),
        offsetof(struct atoll_evaluation, timings[0].summary.hi95),
    };
    for (size_t i = 0; i < sizeof(time_fields) / sizeof(*time_fields); i++) {
        for (size_t j = 0; j < sizeof(bad_times) / sizeof(*bad_times); j++) {
            struct atoll_evaluation e;
            sample_evaluation(&e);
            memcpy((char *)&e + time_fields[i], &bad_times[j], sizeof(double));
            expect_refused(&e);
            atoll_evaluation_fini(&e);
        }
    }
    for (size_t j = 0; j < sizeof(bad_times) / sizeof(*bad_times); j++) {
        struct atoll_evaluation e;
        sample_evaluation(&e);
        e.timings[0].samples_ns[4] = bad_times[j];
        expect_refused(&e);
        atoll_evaluation_fini(&e);
    }
}

static void break_verdict(struct atoll_evaluation *e)
{
    e->verdict = ATOLL_VERDICT_COUNT;
}
static void break_level(struct atoll_evaluation *e)
{
    e->level = 9;
}
static void break_memory(struct atoll_evaluation *e)
{
    e->behaviour.memory = 4;
}
static void break_coordination(struct atoll_evaluation *e)
{
    e->behaviour.coordination = 255;
}
static void break_start(struct atoll_evaluation *e)
{
    e->started_unix_ns = -1;
}
static void break_error(struct atoll_evaluation *e)
{
    e->worst_error = NAN;
}
static void break_variant(struct atoll_evaluation *e)
{
    e->timings[0].variant = ATOLL_TASK_VARIANT_LIMIT;
}
static void break_variants(struct atoll_evaluation *e)
{
    e->timings[0].variant = e->timings[1].variant;
}
static void break_flags(struct atoll_evaluation *e)
{
    e->timings[0].flags = 64;
}
static void break_order(struct atoll_evaluation *e)
{
    e->timings[0].summary.p10 = e->timings[0].summary.max + 1;
}
static void break_count(struct atoll_evaluation *e)
{
    e->timings[0].summary.count = ATOLL_SAMPLES_LIMIT + 1;
}
static void break_tier(struct atoll_evaluation *e)
{
    e->profile.tier = ATOLL_TIER_COUNT;
}
static void break_limiter(struct atoll_evaluation *e)
{
    e->profile.limiter = ATOLL_LIMITER_COUNT;
}
static void break_width(struct atoll_evaluation *e)
{
    e->timings[0].summary.relative_half_width = NAN;
}

static void test_hostile_enums_and_orders(void **state)
{
    static void (*const breakers[])(struct atoll_evaluation *) = {
        break_verdict, break_level,   break_memory,   break_coordination, break_start,
        break_error,   break_variant, break_variants, break_flags,        break_order,
        break_count,   break_width,   break_tier,     break_limiter,
    };
    for (size_t i = 0; i < sizeof(breakers) / sizeof(*breakers); i++) {
        struct atoll_evaluation e;
        sample_evaluation(&e);
        breakers[i](&e);
        expect_refused(&e);
        atoll_evaluation_fini(&e);
    }
}

static void test_too_many_samples(void **state)
{
    struct atoll_evaluation e;
    sample_evaluation(&e);
    free(e.timings[0].samples_ns);
    e.timings[0].samples_ns = calloc(ATOLL_SAMPLES_LIMIT + 1, sizeof(double));
    e.timings[0].sample_count = ATOLL_SAMPLES_LIMIT + 1;
    expect_refused(&e);
    atoll_evaluation_fini(&e);
}

/* The bytes without the profile, which frame version 1 does not have. */
static size_t older_length(struct atoll_evaluation *e, const struct atoll_buffer *whole)
{
    struct atoll_buffer profile;
    atoll_buffer_init(&profile, 1u << 16);
    atoll_profile_encode(&e->profile, &profile);
    size_t length = whole->length - profile.length;
    atoll_buffer_fini(&profile);
    return length;
}

static void test_an_older_one_has_no_profile(void **state)
{
    struct atoll_evaluation e, back;
    struct atoll_buffer b;
    sample_evaluation(&e);
    sample_evaluation(&back);
    encode(&e, &b);
    assert_int_equal(atoll_evaluation_decode(b.data, older_length(&e, &b), &back, NULL), 0);
    assert_true(atoll_profile_is_empty(&back.profile));
    assert_int_equal(back.timing_count, 2);
    assert_memory_equal(back.timings[1].samples_ns, e.timings[1].samples_ns, 9 * sizeof(double));
    atoll_buffer_fini(&b);
    atoll_evaluation_fini(&e);
    atoll_evaluation_fini(&back);
}

static void test_every_truncation_fails(void **state)
{
    struct atoll_evaluation e, back;
    struct atoll_buffer b;
    sample_evaluation(&e);
    encode(&e, &b);
    atoll_evaluation_init(&back);
    for (size_t length = 0; length < b.length; length++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (length == older_length(&e, &b))
            continue;
        unsigned char *exact = malloc(length ? length : 1); /* so that a sanitizer sees any read behind it */
        memcpy(exact, b.data, length);
        assert_int_equal(atoll_evaluation_decode(exact, length, &back, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "evaluation: ");
        free(exact);
    }
    atoll_buffer_put_u8(&b, 0);
    assert_int_equal(atoll_evaluation_decode(b.data, b.length, &back, NULL), -1);
    atoll_buffer_fini(&b);
    atoll_evaluation_fini(&e);
}

static void test_random_flips_never_crash(void **state)
{
    struct atoll_evaluation e, back;
    struct atoll_buffer b;
    struct atoll_random random = {17, 0};
    int refused = 0;
    sample_evaluation(&e);
    encode(&e, &b);
    unsigned char *bytes = malloc(b.length);
    atoll_evaluation_init(&back);
    for (int i = 0; i < 20000; i++) {
        size_t flips = 1 + atoll_random_below(atoll_random_next(&random), 4);
        memcpy(bytes, b.data, b.length);
        for (size_t j = 0; j < flips; j++) {
            bytes[atoll_random_below(atoll_random_next(&random), b.length)] =
                (unsigned char)atoll_random_next(&random);
        }
        refused += atoll_evaluation_decode(bytes, b.length, &back, NULL) != 0;
        assert_true(back.timing_count <= ATOLL_TASK_VARIANT_LIMIT);
    }
    assert_true(refused > 1000 && refused < 20000);
    free(bytes);
    atoll_buffer_fini(&b);
    atoll_evaluation_fini(&back);
    atoll_evaluation_fini(&e);
}

static void test_geometric_means(void **state)
{
    static struct atoll_task task = {
        .variant_count = 3,
        .variants = {{.name = "bench", .kind = ATOLL_VARIANT_BENCH, .weight = 1},
                     {.name = "check", .kind = ATOLL_VARIANT_CHECK},
                     {.name = "bench.2", .kind = ATOLL_VARIANT_BENCH, .weight = 3}}};
    struct atoll_evaluation e;
    atoll_evaluation_init(&e);
    assert_true(atoll_evaluation_time_ns(&e, &task) <= 0.0);
    e.timing_count = 3;
    e.timings[0] = (struct atoll_timing){.variant = 0, .summary.median = 16, .floor_ns = 1};
    e.timings[1] = (struct atoll_timing){.variant = 2, .summary.median = 256, .floor_ns = 16};
    e.timings[2] = (struct atoll_timing){.variant = 1, .summary.median = 1e9, .floor_ns = 1e9};
    expect_close(atoll_evaluation_time_ns(&e, &task), 128.0, 1e-12);
    expect_close(atoll_evaluation_floor_ns(&e, &task), 8.0, 1e-12);
    e.timings[1].floor_ns = 0; /* not known */
    assert_true(atoll_evaluation_floor_ns(&e, &task) <= 0.0);
    e.timings[1].variant = 15; /* of another task */
    expect_close(atoll_evaluation_time_ns(&e, &task), 16.0, 1e-12);
}

static void test_duels(void **state)
{
    struct atoll_duel d, back;
    struct atoll_buffer b;
    struct atoll_err err = ATOLL_ERR_INIT;
    sample_duel(&d);
    atoll_buffer_init(&b, 1u << 16);
    atoll_duel_encode(&d, &b);
    assert_int_equal(atoll_duel_decode(b.data, b.length, &back, NULL), 0);
    assert_memory_equal(&d, &back, sizeof(d));
    for (size_t length = 0; length < b.length; length++) {
        assert_int_equal(atoll_duel_decode(b.data, length, &back, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "duel: ");
    }
    size_t before = b.length; /* intervals stand behind what an older engine reads and wrote */
    d.ratio_lo = 1.5;
    d.ratio_hi = 1.75;
    d.elite_lo_ns = 100;
    d.elite_hi_ns = 110;
    d.challenger_lo_ns = 60;
    d.challenger_hi_ns = 70;
    atoll_buffer_clear(&b);
    atoll_duel_encode(&d, &b);
    assert_int_equal(b.length, before + 48);
    assert_int_equal(atoll_duel_decode(b.data, b.length, &back, NULL), 0);
    assert_memory_equal(&d, &back, sizeof(d));
    for (size_t length = before + 1; length < b.length; length++)
        assert_int_equal(atoll_duel_decode(b.data, length, &back, &err), -1);
    assert_int_equal(atoll_duel_decode(b.data, before, &back, &err), 0);
    assert_true(back.ratio_hi <= 0);
    struct atoll_random random = {23, 0};
    for (int i = 0; i < 20000; i++) {
        size_t at = atoll_random_below(atoll_random_next(&random), b.length);
        unsigned char kept = b.data[at];
        b.data[at] = (unsigned char)atoll_random_next(&random);
        atoll_duel_decode(b.data, b.length, &back, NULL);
        b.data[at] = kept;
    }
    atoll_buffer_fini(&b);
}

static void spoil_purpose(struct atoll_duel *d)
{
    d->purpose = ATOLL_DUEL_PURPOSE_COUNT;
}
static void spoil_verdict(struct atoll_duel *d)
{
    d->verdict = ATOLL_VERDICT_COUNT;
}
static void spoil_ratio(struct atoll_duel *d)
{
    d->ratio = NAN;
}
static void spoil_p_value(struct atoll_duel *d)
{
    d->p_value = 1.0000001;
}
static void spoil_elite(struct atoll_duel *d)
{
    d->elite_ns = -1;
}
static void spoil_challenger(struct atoll_duel *d)
{
    d->challenger_ns = HUGE_VAL;
}

static void test_hostile_duels(void **state)
{
    static void (*const spoilers[])(struct atoll_duel *) = {spoil_purpose, spoil_verdict, spoil_ratio,
                                                            spoil_p_value, spoil_elite,   spoil_challenger};
    for (size_t i = 0; i < sizeof(spoilers) / sizeof(*spoilers); i++) {
        struct atoll_duel d, back;
        struct atoll_buffer b;
        struct atoll_err err = ATOLL_ERR_INIT;
        sample_duel(&d);
        spoilers[i](&d);
        atoll_buffer_init(&b, 1u << 16);
        atoll_duel_encode(&d, &b);
        assert_int_equal(atoll_duel_decode(b.data, b.length, &back, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "duel: ");
        atoll_buffer_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_an_empty_one_travels),
        cmocka_unit_test(test_hostile_fields),
        cmocka_unit_test(test_hostile_enums_and_orders),
        cmocka_unit_test(test_too_many_samples),
        cmocka_unit_test(test_an_older_one_has_no_profile),
        cmocka_unit_test(test_every_truncation_fails),
        cmocka_unit_test(test_random_flips_never_crash),
        cmocka_unit_test(test_geometric_means),
        cmocka_unit_test(test_duels),
        cmocka_unit_test(test_hostile_duels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "core/rival.h"
#include "tests/support/evaluation.h"

static void sample(struct atoll_rival *r)
{
    atoll_rival_init(r);
    r->evaluation = 0x1122334455667788u;
    r->task = 3;
    r->number = 1;
    snprintf(r->detail, sizeof(r->detail), "compiled in 12 s");
    snprintf(r->versions, sizeof(r->versions), "torch 2.11.0, CUDA 13.0, Triton 3.5");
    r->worst_error = 0.5;
    r->compile_ns = 1.2e10;
    r->occupied_ns = 1.5e10;
    r->device = 99;
    r->started_unix_ns = 1700000000000000000;
    r->timing_count = 2;
    sample_timing(&r->timings[0], 1, 1000.0);
    sample_timing(&r->timings[1], 3, 50000.0);
    r->host_ns[0] = 9000;
    r->host_ns[1] = 60000;
}

static void encode(const struct atoll_rival *r, struct atoll_buffer *out)
{
    atoll_buffer_init(out, 1u << 20);
    atoll_rival_encode(r, out);
    assert_int_equal(atoll_buffer_check(out, NULL), 0);
}

static void test_round_trip(void **state)
{
    struct atoll_rival r, back;
    struct atoll_buffer first, second;
    sample(&r);
    encode(&r, &first);
    atoll_rival_init(&back);
    assert_int_equal(atoll_rival_decode(first.data, first.length, &back, NULL), 0);
    assert_true(back.evaluation == r.evaluation && back.task == 3 && back.number == 1 && back.device == 99);
    assert_true(back.worst_error == 0.5 && back.compile_ns == 1.2e10 && back.occupied_ns == 1.5e10);
    assert_true(back.started_unix_ns == r.started_unix_ns);
    assert_string_equal(back.versions, r.versions);
    assert_string_equal(back.detail, r.detail);
    assert_int_equal(back.timing_count, 2);
    assert_int_equal(back.timings[1].variant, 3);
    assert_memory_equal(back.timings[0].samples_ns, r.timings[0].samples_ns, 9 * sizeof(double));
    assert_true(back.host_ns[0] == 9000 && back.host_ns[1] == 60000 && back.host_ns[2] == 0);
    encode(&back, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.data, second.data, first.length);
    /* Decoding again into a value that holds something frees what it held. */
    assert_int_equal(atoll_rival_decode(first.data, first.length, &back, NULL), 0);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
    atoll_rival_fini(&r);
    atoll_rival_fini(&back);
}

static void expect_refused(const void *bytes, size_t length)
{
    struct atoll_rival back;
    struct atoll_err err = ATOLL_ERR_INIT;
    sample(&back);
    assert_int_equal(atoll_rival_decode(bytes, length, &back, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "rival: ");
    assert_int_equal(back.timing_count, 0); /* empty, and init'ed */
    assert_null(back.timings[0].samples_ns);
    atoll_rival_fini(&back);
}

static void break_number(struct atoll_rival *r)
{
    r->number = ATOLL_TASK_RIVAL_LIMIT;
}
static void break_verdict(struct atoll_rival *r)
{
    r->verdict = ATOLL_VERDICT_COUNT;
}
static void break_error(struct atoll_rival *r)
{
    r->worst_error = NAN;
}
static void break_compile(struct atoll_rival *r)
{
    r->compile_ns = -1;
}
static void break_occupied(struct atoll_rival *r)
{
    r->occupied_ns = HUGE_VAL;
}
static void break_start(struct atoll_rival *r)
{
    r->started_unix_ns = -1;
}
static void break_host(struct atoll_rival *r)
{
    r->host_ns[1] = NAN;
}
static void break_variant(struct atoll_rival *r)
{
    r->timings[0].variant = r->timings[1].variant;
}
static void break_median(struct atoll_rival *r)
{
    r->timings[0].summary.median = -5;
}

static void test_hostile_fields(void **state)
{
    static void (*const breakers[])(struct atoll_rival *) = {break_number,  break_verdict,  break_error,
                                                             break_compile, break_occupied, break_start,
                                                             break_host,    break_variant,  break_median};
    for (size_t i = 0; i < sizeof(breakers) / sizeof(*breakers); i++) {
        struct atoll_rival r;
        struct atoll_buffer b;
        sample(&r);
        breakers[i](&r);
        encode(&r, &b);
        expect_refused(b.data, b.length);
        atoll_buffer_fini(&b);
        atoll_rival_fini(&r);
    }
}

static void test_every_truncation_fails(void **state)
{
    struct atoll_rival r;
    struct atoll_buffer b;
    sample(&r);
    encode(&r, &b);
    for (size_t length = 0; length < b.length; length++) {
        unsigned char *exact = malloc(length ? length : 1);
        memcpy(exact, b.data, length);
        expect_refused(exact, length);
        free(exact);
    }
    atoll_buffer_put_u8(&b, 0);
    expect_refused(b.data, b.length);
    atoll_buffer_fini(&b);
    atoll_rival_fini(&r);
}

static void test_random_flips_never_crash(void **state)
{
    struct atoll_random random = {31, 0};
    struct atoll_rival r;
    struct atoll_buffer b;
    int refused = 0;
    sample(&r);
    encode(&r, &b);
    unsigned char *bytes = malloc(b.length);
    for (int i = 0; i < 3000; i++) {
        struct atoll_rival back;
        atoll_rival_init(&back);
        memcpy(bytes, b.data, b.length);
        for (size_t flips = 1 + (size_t)i % 3; flips; flips--) {
            bytes[atoll_random_below(atoll_random_next(&random), b.length)] =
                (unsigned char)atoll_random_next(&random);
        }
        refused += atoll_rival_decode(bytes, b.length, &back, NULL) != 0;
        assert_true(back.timing_count <= ATOLL_TASK_VARIANT_LIMIT && back.number < ATOLL_TASK_RIVAL_LIMIT);
        atoll_rival_fini(&back);
    }
    assert_true(refused > 100 && refused < 3000);
    free(bytes);
    atoll_buffer_fini(&b);
    atoll_rival_fini(&r);
}

static const struct atoll_task task = {
    .variant_count = 4,
    .variants = {{.kind = ATOLL_VARIANT_CHECK, .weight = 1},
                 {.kind = ATOLL_VARIANT_BENCH, .weight = 1},
                 {.kind = ATOLL_VARIANT_HIDDEN, .weight = 1},
                 {.kind = ATOLL_VARIANT_BENCH, .weight = 3}},
};

static void say(struct atoll_rival_times *times, uint32_t number, enum atoll_verdict verdict, double first_ns,
                double third_ns)
{
    struct atoll_rival r;
    atoll_rival_init(&r);
    r.number = number;
    r.verdict = verdict;
    r.timings[0] = (struct atoll_timing){
        .variant = 1, .summary = {.median = first_ns, .lo95 = first_ns / 2, .hi95 = first_ns * 2}};
    r.timings[1] = (struct atoll_timing){
        .variant = 3, .summary = {.median = third_ns, .lo95 = third_ns / 4, .hi95 = third_ns * 4}};
    r.timing_count = third_ns > 0 ? 2 : 1;
    atoll_rival_times_add(times, &r);
}

static void test_the_fastest(void **state)
{
    struct atoll_rival_times times;
    struct atoll_fastest_rival f;
    memset(&times, 0, sizeof(times));
    assert_true(atoll_rival_times_fastest(&times, &task).time_ns == 0);
    say(&times, 0, ATOLL_V_CORRECT, 16, 1000);
    f = atoll_rival_times_fastest(&times, &task);
    expect_close(f.time_ns / pow(16 * 1e9, 0.25), 1, 1e-12); /* weights 1 and 3 */
    assert_true(f.number == 0 && f.numbers[1] == 0);
    say(&times, 1, ATOLL_V_WRONG, 1, 1); /* its time counts for nothing */
    say(&times, 2, ATOLL_V_CORRECT, 160, 100);
    f = atoll_rival_times_fastest(&times, &task);
    expect_close(f.time_ns / pow(16 * 1e6, 0.25), 1, 1e-12);
    expect_close(f.lo_ns / pow(8 * pow(25, 3), 0.25), 1, 1e-12); /* of those that are the fastest */
    expect_close(f.hi_ns / pow(32 * pow(400, 3), 0.25), 1, 1e-12);
    assert_int_equal(f.number, 2);
    assert_true(f.numbers[0] == 2 && f.numbers[1] == 0 && f.numbers[3] == 2);
    say(&times, 3, ATOLL_V_CORRECT, 16, 100); /* no better anywhere: the lower number stays */
    f = atoll_rival_times_fastest(&times, &task);
    assert_true(f.number == 3 && f.numbers[1] == 0 && f.numbers[3] == 2);
    say(&times, 4, ATOLL_V_CORRECT, NAN, -3);
    expect_close(atoll_rival_times_fastest(&times, &task).time_ns / f.time_ns, 1, 1e-12);
    times.hi_ns[0][1] = 0; /* no whole interval */
    f = atoll_rival_times_fastest(&times, &task);
    assert_true(f.time_ns > 0 && f.lo_ns == 0 && f.hi_ns == 0);
    say(&times, ATOLL_TASK_RIVAL_LIMIT, ATOLL_V_CORRECT, 1, 1); /* no such rival */
    expect_close(atoll_rival_times_fastest(&times, &task).time_ns / f.time_ns, 1, 1e-12);
}

static void test_time(void **state)
{
    struct atoll_rival r;
    sample(&r);
    expect_close(atoll_rival_time_ns(&r, &task) /
                     pow(r.timings[0].summary.median * pow(r.timings[1].summary.median, 3), 0.25),
                 1, 1e-12);
    atoll_rival_fini(&r);
    assert_true(atoll_rival_time_ns(&r, &task) == 0);
    atoll_rival_fini(&r); /* twice is fine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_hostile_fields),
        cmocka_unit_test(test_every_truncation_fails),
        cmocka_unit_test(test_random_flips_never_crash),
        cmocka_unit_test(test_the_fastest),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/profile.h"
#include "core/task/task.h"
#include "base/random.h"
#include "tests/support/evaluation.h"

static void encode(const struct atoll_profile *p, struct atoll_buffer *out)
{
    atoll_buffer_init(out, 1u << 16);
    atoll_profile_encode(p, out);
    assert_int_equal(atoll_buffer_check(out, NULL), 0);
}

/* 0 when exactly these bytes are a profile. */
static int decode(const void *bytes, size_t length, struct atoll_profile *ret, struct atoll_err *err)
{
    struct atoll_reader r;
    atoll_reader_init(&r, bytes, length);
    atoll_profile_decode(&r, ret);
    return atoll_reader_finish(&r, "profile", err);
}

static int same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof(a)) == 0;
}

static void expect_same(const struct atoll_profile *a, const struct atoll_profile *b)
{
    assert_int_equal(a->tier, b->tier);
    assert_int_equal(a->limiter, b->limiter);
    for (size_t c = 0; c < ATOLL_COUNTER_COUNT; c++)
        assert_true(same_number(a->counters[c], b->counters[c]));
    assert_true(same_number(a->intensity_flops_per_byte, b->intensity_flops_per_byte));
    assert_true(same_number(a->wall_ns, b->wall_ns) && same_number(a->clock_hz, b->clock_hz));
    assert_string_equal(a->reason, b->reason);
    assert_true(a->throttle_reasons == b->throttle_reasons);
    assert_int_equal(a->resources.kernel_count, b->resources.kernel_count);
    assert_int_equal(a->resources.registers, b->resources.registers);
    assert_int_equal(a->resources.static_shared_bytes, b->resources.static_shared_bytes);
    assert_int_equal(a->resources.dynamic_shared_bytes, b->resources.dynamic_shared_bytes);
    assert_int_equal(a->resources.stack_bytes, b->resources.stack_bytes);
    assert_int_equal(a->resources.spill_store_bytes, b->resources.spill_store_bytes);
    assert_int_equal(a->resources.spill_load_bytes, b->resources.spill_load_bytes);
    assert_true(same_number(a->resources.occupancy, b->resources.occupancy));
    assert_memory_equal(a->resources.mix, b->resources.mix, sizeof(a->resources.mix));
}

static void test_round_trip(void **state)
{
    struct atoll_profile p, back;
    struct atoll_buffer first, second;
    sample_profile(&p);
    encode(&p, &first);
    assert_int_equal(decode(first.data, first.length, &back, NULL), 0);
    expect_same(&p, &back);
    encode(&back, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.data, second.data, first.length);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
}

static void set_tier(struct atoll_profile *p)
{
    p->tier = ATOLL_TIER_MONITOR;
}
static void set_limiter(struct atoll_profile *p)
{
    p->limiter = ATOLL_LIMITER_LAUNCH;
}
static void set_first_counter(struct atoll_profile *p)
{
    p->counters[0] = 0.0;
}
static void set_last_counter(struct atoll_profile *p)
{
    p->counters[ATOLL_COUNTER_COUNT - 1] = 5.0;
}
static void set_intensity(struct atoll_profile *p)
{
    p->intensity_flops_per_byte = 0.5;
}
static void set_wall(struct atoll_profile *p)
{
    p->wall_ns = 1.0;
}
static void set_reason(struct atoll_profile *p)
{
    memset(p->reason, 'x', sizeof(p->reason) - 1);
}
static void set_clock(struct atoll_profile *p)
{
    p->clock_hz = 1.98e9;
}
static void set_throttle(struct atoll_profile *p)
{
    p->throttle_reasons = UINT64_MAX;
}
static void set_kernels(struct atoll_profile *p)
{
    p->resources.kernel_count = 1;
    p->resources.mix[ATOLL_MIX_COUNT - 1] = UINT32_MAX;
}

/* Each field alone makes a profile that is not empty, and travels. */
static void test_each_field_alone(void **state)
{
    static void (*const setters[])(struct atoll_profile *) = {
        set_tier, set_limiter, set_first_counter, set_last_counter, set_intensity,
        set_wall, set_reason,  set_clock,         set_throttle,     set_kernels,
    };
    struct atoll_profile p, back;
    struct atoll_buffer b;
    atoll_profile_init(&p);
    assert_true(atoll_profile_is_empty(&p));
    encode(&p, &b);
    assert_int_equal(b.length, 1); /* what nobody profiled costs a byte */
    assert_int_equal(decode(b.data, b.length, &back, NULL), 0);
    expect_same(&p, &back);
    atoll_buffer_fini(&b);
    for (size_t i = 0; i < sizeof(setters) / sizeof(*setters); i++) {
        atoll_profile_init(&p);
        setters[i](&p);
        assert_false(atoll_profile_is_empty(&p));
        encode(&p, &b);
        assert_int_equal(decode(b.data, b.length, &back, NULL), 0);
        expect_same(&p, &back);
        atoll_buffer_fini(&b);
    }
}

/* What a faulty counter says is not measured; it never spoils the evaluation it belongs to. */
static void test_implausible_numbers_travel_as_unknown(void **state)
{
    static const double bad[] = {-1.0, HUGE_VAL, -HUGE_VAL, 1e25, NAN};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct atoll_profile p, back;
        struct atoll_buffer b;
        sample_profile(&p);
        p.counters[ATOLL_COUNTER_FMA] = p.counters[ATOLL_COUNTER_DRAM_READ_BYTES] = bad[i];
        p.intensity_flops_per_byte = p.wall_ns = p.clock_hz = p.resources.occupancy = bad[i];
        encode(&p, &b);
        assert_int_equal(decode(b.data, b.length, &back, NULL), 0);
        assert_true(isnan(back.counters[ATOLL_COUNTER_FMA]));
        assert_true(isnan(back.counters[ATOLL_COUNTER_DRAM_READ_BYTES]));
        assert_true(same_number(back.intensity_flops_per_byte, 0.0) && same_number(back.wall_ns, 0.0) &&
                    same_number(back.clock_hz, 0.0) && same_number(back.resources.occupancy, 0.0));
        atoll_buffer_fini(&b);
    }
}

/* Offsets in the bytes of sample_profile: all counters are there, one reason, all mixes. */
enum {
    AT_TIER = 1,
    AT_LIMITER = 2,
    AT_COUNT = 3,
    AT_COUNTERS = 7,
    AT_INTENSITY = AT_COUNTERS + 8 * ATOLL_COUNTER_COUNT,
    AT_WALL = AT_INTENSITY + 8,
    AT_REASON = AT_WALL + 8,
    AT_CLOCK = AT_REASON + 4 + 4,
    AT_RESOURCES = AT_CLOCK + 16,
    AT_OCCUPANCY = AT_RESOURCES + 28,
    AT_MIX = AT_OCCUPANCY + 8
};

static void expect_refused(const struct atoll_buffer *b)
{
    struct atoll_profile back;
    struct atoll_err err = ATOLL_ERR_INIT;
    set_tier(&back);
    assert_int_equal(decode(b->data, b->length, &back, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "profile: ");
    assert_true(atoll_profile_is_empty(&back));
}

static void test_hostile_integers(void **state)
{
    static const struct {
        size_t at;
        unsigned char value;
    } cases[] = {
        {0, 2},
        {AT_TIER, ATOLL_TIER_COUNT},
        {AT_LIMITER, ATOLL_LIMITER_COUNT},
        {AT_COUNT, ATOLL_COUNTER_COUNT + 1},
        {AT_REASON + 4, 0},   /* a NUL in the text */
        {AT_REASON, 96},      /* longer than its array */
        {AT_REASON + 3, 255}, /* longer than the record */
        {AT_MIX, ATOLL_MIX_COUNT + 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_profile p;
        struct atoll_buffer b;
        sample_profile(&p);
        encode(&p, &b);
        assert_int_equal(b.length, AT_MIX + 4 + 4 * ATOLL_MIX_COUNT);
        b.data[cases[i].at] = cases[i].value;
        for (int padding = 0; i == 7 && padding < 4; padding++)
            atoll_buffer_put_u8(&b, 0); /* so that it is the limit that refuses, not the end */
        expect_refused(&b);
        atoll_buffer_fini(&b);
    }
}

static void put_at(struct atoll_buffer *b, size_t at, double value)
{
    struct atoll_buffer bits;
    atoll_buffer_init(&bits, 8);
    atoll_buffer_put_f64(&bits, value);
    memcpy(b->data + at, bits.data, 8);
    atoll_buffer_fini(&bits);
}

static void test_hostile_numbers(void **state)
{
    static const double bad[] = {-1.0, HUGE_VAL, -HUGE_VAL, 1e25, NAN};
    size_t fields[ATOLL_COUNTER_COUNT + 4] = {AT_INTENSITY, AT_WALL, AT_CLOCK, AT_OCCUPANCY};
    for (size_t c = 0; c < ATOLL_COUNTER_COUNT; c++)
        fields[4 + c] = AT_COUNTERS + 8 * c;
    for (size_t f = 0; f < sizeof(fields) / sizeof(*fields); f++) {
        for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
            struct atoll_profile p, back;
            struct atoll_buffer b;
            sample_profile(&p);
            encode(&p, &b);
            put_at(&b, fields[f], bad[i]);
            if (f >= 4 && isnan(bad[i])) { /* a counter alone may be unknown */
                assert_int_equal(decode(b.data, b.length, &back, NULL), 0);
                assert_true(isnan(back.counters[f - 4]));
            } else {
                expect_refused(&b);
            }
            atoll_buffer_fini(&b);
        }
    }
}

static void test_limits_of_numbers(void **state)
{
    static const struct {
        size_t at;
        double holds, refused;
    } cases[] = {
        {AT_COUNTERS + 8 * ATOLL_COUNTER_L1_HIT, 1000.0, 1000.5},
        {AT_COUNTERS + 8 * ATOLL_COUNTER_INSTRUCTIONS, 1e24, 1.1e24},
        {AT_INTENSITY, 1e24, 1.1e24},
        {AT_WALL, 1e18, 1.1e18},
        {AT_CLOCK, 1e24, 1.1e24},
        {AT_OCCUPANCY, 1.0, 1.0001},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_profile p, back;
        struct atoll_buffer b;
        sample_profile(&p);
        encode(&p, &b);
        put_at(&b, cases[i].at, cases[i].holds);
        assert_int_equal(decode(b.data, b.length, &back, NULL), 0);
        put_at(&b, cases[i].at, cases[i].refused);
        expect_refused(&b);
        atoll_buffer_fini(&b);
    }
}

static void test_every_truncation_fails(void **state)
{
    struct atoll_profile p, back;
    struct atoll_buffer b;
    sample_profile(&p);
    encode(&p, &b);
    for (size_t length = 0; length < b.length; length++) {
        unsigned char *exact = malloc(length ? length : 1);
        memcpy(exact, b.data, length);
        assert_int_equal(decode(exact, length, &back, NULL), -1);
        assert_true(atoll_profile_is_empty(&back));
        free(exact);
    }
    atoll_buffer_fini(&b);
}

/* A record written before a counter and a class of instructions were added has shorter lists. */
static void test_shorter_lists(void **state)
{
    struct atoll_profile p, back;
    struct atoll_buffer b;
    atoll_profile_init(&p);
    p.tier = ATOLL_TIER_COUNTERS;
    p.counters[ATOLL_COUNTER_L1_THROUGHPUT] = 12.5;
    p.resources.kernel_count = 1;
    p.resources.mix[ATOLL_MIX_FP64] = 3;
    encode(&p, &b);
    assert_int_equal(b.data[AT_COUNT], ATOLL_COUNTER_L1_THROUGHPUT + 1);
    /* three counters and two classes, and nothing of those behind them; no reason */
    assert_int_equal(b.length,
                     AT_COUNTERS + 3 * 8 + (AT_REASON - AT_INTENSITY) + 4 + (AT_MIX - AT_CLOCK) + 4 + 2 * 4);
    assert_int_equal(decode(b.data, b.length, &back, NULL), 0);
    expect_same(&p, &back);
    atoll_buffer_fini(&b);
}

/* The launch stands behind all else; records from before it end there. */
static void test_launch(void **state)
{
    struct atoll_profile p, back;
    struct atoll_buffer with, without;
    (void)state;
    sample_profile(&p);
    encode(&p, &without);
    p.resources.blocks = 528;
    p.resources.threads_per_block = 256;
    p.resources.resident_blocks = 2;
    p.resources.cluster_blocks = 4;
    p.resources.occupancy_by = ATOLL_OCCUPANCY_SHARED;
    encode(&p, &with);
    assert_int_equal(with.length, without.length + 17);
    assert_memory_equal(with.data, without.data, without.length);
    assert_int_equal(decode(with.data, with.length, &back, NULL), 0);
    assert_memory_equal(&back.resources, &p.resources, sizeof(p.resources));
    assert_int_equal(decode(without.data, without.length, &back, NULL), 0);
    assert_int_equal(back.resources.blocks + back.resources.cluster_blocks + back.resources.occupancy_by, 0);
    for (size_t length = without.length + 1; length < with.length; length++)
        assert_int_equal(decode(with.data, length, &back, NULL), -1);
    with.data[with.length - 1] = ATOLL_OCCUPANCY_COUNT;
    expect_refused(&with);
    assert_string_equal(atoll_occupancy_limit_name(ATOLL_OCCUPANCY_SHARED), "shared memory");
    assert_string_equal(atoll_occupancy_limit_name(ATOLL_OCCUPANCY_COUNT), "unknown");
    atoll_buffer_fini(&with);
    atoll_buffer_fini(&without);
}

static void test_names(void **state)
{
    for (unsigned a = 0; a < ATOLL_COUNTER_COUNT; a++) {
        for (unsigned b = 0; b < a; b++) {
            assert_string_not_equal(atoll_counter_name((enum atoll_counter)a),
                                    atoll_counter_name((enum atoll_counter)b));
        }
        assert_true(strlen(atoll_counter_unit((enum atoll_counter)a)) > 0);
    }
    for (unsigned a = 0; a < ATOLL_MIX_COUNT; a++)
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(atoll_mix_name((enum atoll_mix)a), atoll_mix_name((enum atoll_mix)b));
    assert_string_equal(atoll_counter_name(ATOLL_COUNTER_DRAM_THROUGHPUT), "dram_throughput");
    assert_string_equal(atoll_counter_unit(ATOLL_COUNTER_DRAM_THROUGHPUT), "%");
    assert_string_equal(atoll_counter_unit(ATOLL_COUNTER_DRAM_WRITE_BYTES), "bytes");
    assert_string_equal(atoll_counter_unit(ATOLL_COUNTER_INSTRUCTIONS), "1");
    assert_string_equal(atoll_counter_unit(ATOLL_COUNTER_TIME_NS), "ns");
    assert_string_equal(atoll_mix_name(ATOLL_MIX_TENSOR_F16), "tensor_f16");
    assert_string_equal(atoll_tier_name(ATOLL_TIER_STATIC), "static");
    assert_string_equal(atoll_limiter_name(ATOLL_LIMITER_MEMORY), "memory");
    assert_string_equal(atoll_counter_name(ATOLL_COUNTER_COUNT), "unknown");
    assert_string_equal(atoll_mix_name(ATOLL_MIX_COUNT), "unknown");
    assert_string_equal(atoll_tier_name(ATOLL_TIER_COUNT), "unknown");
    assert_string_equal(atoll_limiter_name(ATOLL_LIMITER_COUNT), "unknown");
}

/* Waits are what is left when no pipe can be the busiest: one that was not counted can, where the binary has instructions
 * for it. */
static void test_limiters_of_few_counters(void **state)
{
    static const struct {
        double fp64, xu;
        uint32_t mix_fp64, mix_xu;
        double dram;
        enum atoll_limiter limiter;
    } cases[] = {
        {NAN, NAN, 0, 0, 20, ATOLL_LIMITER_LATENCY},    {NAN, NAN, 1, 0, 20, ATOLL_LIMITER_UNKNOWN},
        {NAN, NAN, 0, 1, 20, ATOLL_LIMITER_UNKNOWN},    {20, NAN, 1, 0, 20, ATOLL_LIMITER_LATENCY},
        {NAN, 20, 0, 1, 20, ATOLL_LIMITER_LATENCY},     {20, NAN, 1, 1, 20, ATOLL_LIMITER_UNKNOWN},
        {20, 20, 1, 1, 20, ATOLL_LIMITER_LATENCY},      {NAN, NAN, 1, 1, 80, ATOLL_LIMITER_MEMORY},
        {70, NAN, 1, 1, 20, ATOLL_LIMITER_INSTRUCTION},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_profile p;
        atoll_profile_init(&p);
        p.resources.kernel_count = 1;
        p.resources.mix[ATOLL_MIX_FP64] = cases[i].mix_fp64;
        p.resources.mix[ATOLL_MIX_TRANSCENDENTAL] = cases[i].mix_xu;
        p.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] = cases[i].dram;
        p.counters[ATOLL_COUNTER_SM_THROUGHPUT] = 30;
        p.counters[ATOLL_COUNTER_FP64] = cases[i].fp64;
        p.counters[ATOLL_COUNTER_XU] = cases[i].xu;
        if (atoll_limiter_of(&p, 1e6, 4e3) != cases[i].limiter)
            fail_msg("case %zu: %s", i, atoll_limiter_name(atoll_limiter_of(&p, 1e6, 4e3)));
    }
    (void)state;
}

static void test_limiters(void **state)
{
    static const struct {
        double dram, l2, sm, tensor, time_ns, empty_ns;
        enum atoll_limiter limiter;
    } cases[] = {
        {90, 40, 30, 0, 1e6, 4e3, ATOLL_LIMITER_MEMORY},
        {20, 61, 30, 0, 1e6, 4e3, ATOLL_LIMITER_MEMORY},
        {20, 30, 30, 75, 1e6, 4e3, ATOLL_LIMITER_INSTRUCTION},
        {70, 30, 80, 0, 1e6, 4e3, ATOLL_LIMITER_INSTRUCTION}, /* the larger of both */
        {80, 30, 80, 0, 1e6, 4e3, ATOLL_LIMITER_MEMORY},
        {60, 60, 60, 60, 1e6, 4e3, ATOLL_LIMITER_LATENCY}, /* not above */
        {90, 40, 30, 0, 11999, 4e3, ATOLL_LIMITER_LAUNCH},
        {90, 40, 30, 0, 12000, 4e3, ATOLL_LIMITER_MEMORY},
        {90, 40, 30, 0, 0, 4e3, ATOLL_LIMITER_MEMORY}, /* not timed */
        {90, 40, 30, 0, 10, 0, ATOLL_LIMITER_MEMORY},  /* launch not measured */
        {NAN, NAN, NAN, NAN, 1e6, 4e3, ATOLL_LIMITER_UNKNOWN},
        {NAN, NAN, NAN, NAN, 5e3, 4e3, ATOLL_LIMITER_LAUNCH},
        {90, NAN, NAN, NAN, 1e6, 4e3, ATOLL_LIMITER_MEMORY},
        {NAN, NAN, 61, NAN, 1e6, 4e3, ATOLL_LIMITER_INSTRUCTION},
        {10, NAN, NAN, NAN, 1e6, 4e3, ATOLL_LIMITER_UNKNOWN},
        {NAN, NAN, 10, NAN, 1e6, 4e3, ATOLL_LIMITER_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_profile p;
        atoll_profile_init(&p);
        p.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] = cases[i].dram;
        p.counters[ATOLL_COUNTER_L2_THROUGHPUT] = cases[i].l2;
        p.counters[ATOLL_COUNTER_SM_THROUGHPUT] = cases[i].sm;
        p.counters[ATOLL_COUNTER_TENSOR] = cases[i].tensor;
        assert_int_equal(atoll_limiter_of(&p, cases[i].time_ns, cases[i].empty_ns), cases[i].limiter);
    }
}

/* Arithmetic that is less exact than any the task allows. */
static void test_beyond_precisions(void **state)
{
    const unsigned tf32 = 1u << ATOLL_DTYPE_COUNT;
    const struct {
        unsigned precisions;
        enum atoll_dtype stored;
        enum atoll_mix class;
        const char *names;
    } rows[] = {
        {1u << ATOLL_F32, ATOLL_F32, ATOLL_MIX_FP32, ""},
        {1u << ATOLL_F32, ATOLL_F32, ATOLL_MIX_FP64, ""},
        {1u << ATOLL_F32, ATOLL_F32, ATOLL_MIX_FP16, "fp16"},
        {1u << ATOLL_F32, ATOLL_F16, ATOLL_MIX_FP16, ""}, /* conversions */
        {1u << ATOLL_F32, ATOLL_F16, ATOLL_MIX_TENSOR_F16, "tensor_f16"},
        {1u << ATOLL_F32, ATOLL_F32, ATOLL_MIX_TENSOR_F16, "tensor_f16"},
        {1u << ATOLL_F32, ATOLL_F32, ATOLL_MIX_TENSOR_TF32, "tensor_tf32"},
        {1u << ATOLL_F32 | tf32, ATOLL_F32, ATOLL_MIX_TENSOR_TF32, ""},
        {1u << ATOLL_F32 | tf32, ATOLL_F32, ATOLL_MIX_TENSOR_F16, "tensor_f16"},
        {1u << ATOLL_BF16, ATOLL_BF16, ATOLL_MIX_TENSOR_F16, ""},
        {1u << ATOLL_BF16, ATOLL_BF16, ATOLL_MIX_TENSOR_TF32, ""}, /* more exact */
        {1u << ATOLL_BF16, ATOLL_BF16, ATOLL_MIX_TENSOR_F8, "tensor_f8"},
        {1u << ATOLL_F8E5M2, ATOLL_F8E5M2, ATOLL_MIX_TENSOR_F8, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_task *task = calloc(1, sizeof(*task));
        uint32_t mix[ATOLL_MIX_COUNT] = {0};
        char names[64];
        assert_non_null(task);
        task->precisions = rows[i].precisions;
        task->tensor_count = 1;
        task->tensors[0].dtype = rows[i].stored;
        mix[rows[i].class] = 3;
        mix[ATOLL_MIX_INTEGER] = 100;
        assert_string_equal(atoll_mix_names(atoll_mix_beyond(mix, task), names, sizeof(names)),
                            rows[i].names);
        free(task);
    }
    char names[64], few[5];
    assert_string_equal(
        atoll_mix_names(1u << ATOLL_MIX_FP16 | 1u << ATOLL_MIX_TENSOR_F8, names, sizeof(names)),
        "fp16, tensor_f8");
    assert_int_equal(strlen(atoll_mix_names(1u << ATOLL_MIX_TENSOR_F8, few, sizeof(few))), 4);
}

/* What values are rounded to, against a task's precisions and the types of its tensors. */
static void test_conversions_beyond(void **state)
{
    const unsigned tf32 = 1u << ATOLL_DTYPE_COUNT, half = 1u << ATOLL_MIX_FP16;
    const unsigned rounded = 1u << ATOLL_MIX_TENSOR_TF32, eighth = 1u << ATOLL_MIX_TENSOR_F8;
    const unsigned integers = 1u << ATOLL_MIX_TENSOR_OTHER, all = half | rounded | eighth | integers;
    const struct {
        unsigned precisions;
        enum atoll_dtype stored;
        unsigned beyond; /* of all */
    } rows[] = {
        {1u << ATOLL_F32, ATOLL_F32, all},
        {1u << ATOLL_F64, ATOLL_F64, all},
        {1u << ATOLL_F32 | tf32, ATOLL_F32, all & ~rounded},
        {1u << ATOLL_F32, ATOLL_BF16, eighth | integers},
        {1u << ATOLL_F16, ATOLL_F16, eighth | integers},
        {1u << ATOLL_F32, ATOLL_F8E4M3, integers},
        {1u << ATOLL_F32, ATOLL_I8, all & ~integers},
        {1u << ATOLL_F32, ATOLL_I32, all},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_task *task = calloc(1, sizeof(*task));
        assert_non_null(task);
        task->precisions = rows[i].precisions;
        task->tensor_count = 1;
        task->tensors[0].dtype = rows[i].stored;
        assert_int_equal(atoll_conversions_beyond(all, task), rows[i].beyond);
        assert_int_equal(atoll_conversions_beyond(0, task), 0);
        free(task);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beyond_precisions),
        cmocka_unit_test(test_conversions_beyond),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_each_field_alone),
        cmocka_unit_test(test_implausible_numbers_travel_as_unknown),
        cmocka_unit_test(test_hostile_integers),
        cmocka_unit_test(test_hostile_numbers),
        cmocka_unit_test(test_limits_of_numbers),
        cmocka_unit_test(test_every_truncation_fails),
        cmocka_unit_test(test_shorter_lists),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_limiters),
        cmocka_unit_test(test_limiters_of_few_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

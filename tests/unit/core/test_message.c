#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "core/message.h"
#include "base/random.h"

/* One payload type: how a sample of it is encoded, and how bytes are decoded and encoded again. */
struct kind {
    const char *name;
    void (*encode_sample)(struct atoll_buffer *out);
    int (*recode)(const void *bytes, size_t length, struct atoll_buffer *out, struct atoll_err *err);
    size_t newer_bytes[2]; /* at the end, which frame versions 2 and 1 do not have */
};

#define LIMITS_TEXT_BYTES 12 /* of the driver, target and counters below */
#define LIMITS_BYTES      (19 * 4 + 3 * 8 + (ATOLL_DTYPE_COUNT + 1) * 8 + 3 * 4 + LIMITS_TEXT_BYTES)
#define TORCH_BYTES       (4 + 12) /* "torch 2.11.0" below */

static void fill_device(struct atoll_device_info *d)
{
    memset(d, 0, sizeof(*d));
    d->key = 0xfeedfacecafebeefu;
    snprintf(d->backend, sizeof(d->backend), "cpu");
    snprintf(d->model, sizeof(d->model), "A Processor");
    snprintf(d->uuid, sizeof(d->uuid), "cpu-0");
    snprintf(d->node, sizeof(d->node), "n1");
    snprintf(d->toolchain, sizeof(d->toolchain), "cc 1.2 -O3");
    snprintf(d->isolation, sizeof(d->isolation), "seccomp rlimit");
    d->threads = 8;
    d->bandwidth_bytes_per_s = 1e11;
    d->peak_flops[ATOLL_F32] = 1e12;
    d->empty_launch_ns = 1500;
    d->clock_resolution_ns = 20;
    d->last_level_cache_bytes = 32e6;
    d->limits = (struct atoll_device_limits){.compute_capability = 90,
                                             .multiprocessors = 132,
                                             .warp_size = 32,
                                             .threads_per_block = 1024,
                                             .threads_per_multiprocessor = 2048,
                                             .blocks_per_multiprocessor = 32,
                                             .registers_per_multiprocessor = 65536,
                                             .registers_per_block = 65535,
                                             .shared_bytes_per_block = 232448,
                                             .shared_bytes_per_multiprocessor = 233472,
                                             .cluster_blocks = 16,
                                             .cooperative = 1,
                                             .grid = {2147483647, 65535, 65535},
                                             .block = {1024, 1024, 64},
                                             .memory_bytes = 1.5e11,
                                             .clock_hz = 1.98e9,
                                             .memory_clock_hz = 3.2e9,
                                             .driver = "580",
                                             .target = "sm_90a",
                                             .counters = "not",
                                             .host_memory = 1};
    for (size_t t = 0; t < ATOLL_DTYPE_COUNT + 1; t++)
        d->limits.tensor_flops[t] = 1e14 + (double)t;
    snprintf(d->torch, sizeof(d->torch), "torch 2.11.0");
}

static void encode_device(struct atoll_buffer *out)
{
    struct atoll_device_info d;
    fill_device(&d);
    atoll_device_info_encode(&d, out);
}

static int recode_device(const void *bytes, size_t length, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_device_info d;
    if (atoll_device_info_decode(bytes, length, &d, err))
        return -1;
    assert_true(strlen(d.isolation) < sizeof(d.isolation));
    atoll_device_info_encode(&d, out);
    return 0;
}

static void encode_pulse(struct atoll_buffer *out)
{
    const struct atoll_pulse p = {1e9, 8e8, 2e8, 1e8, 1e7, 3, 2, 1};
    atoll_pulse_encode(&p, out);
}

static int recode_pulse(const void *bytes, size_t length, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_pulse p;
    if (atoll_pulse_decode(bytes, length, &p, err))
        return -1;
    atoll_pulse_encode(&p, out);
    return 0;
}

static void fill_setup(struct atoll_setup *s)
{
    memset(s, 0, sizeof(*s));
    memset(s->secret, 0x5a, sizeof(s->secret));
    s->sample_device_ns = 1e9;
    s->sample_wall_ns = 5e9;
    s->sample_min = 7;
    s->interval_target = 0.005;
    s->full_compares = 5;
    s->compile_deadline_ns = 3e10;
    s->compile_memory_bytes = 1u << 30;
    s->sanitize_deadline_ns = 6e10;
    snprintf(s->compiler, sizeof(s->compiler), "cc");
    snprintf(s->compile_flags, sizeof(s->compile_flags), "-O3");
    snprintf(s->backend, sizeof(s->backend), "cuda");
    snprintf(s->include_path, sizeof(s->include_path), "/opt/include");
    snprintf(s->python, sizeof(s->python), "auto");
    s->is_warm = 1;
    s->profile_all = 1;
    s->profile_ratio = 1.5;
    s->profile_budget = 0.1;
    s->wants_triton = 1;
}

static void encode_setup(struct atoll_buffer *out)
{
    struct atoll_setup s;
    fill_setup(&s);
    atoll_setup_encode(&s, out);
}

static int recode_setup(const void *bytes, size_t length, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_setup s;
    if (atoll_setup_decode(bytes, length, &s, err))
        return -1;
    atoll_setup_encode(&s, out);
    return 0;
}

static void fill_order(struct atoll_order *o, int is_duel)
{
    memset(o, 0, sizeof(*o));
    o->evaluation = 12;
    o->task = 1;
    o->kind = is_duel ? ATOLL_ORDER_DUEL : ATOLL_ORDER_EVALUATE;
    o->purpose = is_duel ? ATOLL_DUEL_NULL_CONTROL : ATOLL_DUEL_PROMOTION;
    o->candidate = (struct atoll_order_candidate){atoll_id_of("a", 1), "c", "void f(void) {}", {2, {64, -3}}};
    if (is_duel)
        o->elite = (struct atoll_order_candidate){atoll_id_of("b", 1), "c", "", {0, {0}}};
    o->baseline_ns = 1e6;
    o->incumbent_ns = 9e5;
    o->alpha = is_duel ? 0.01 : 0.0;
    o->margin = is_duel ? log(1.01) : 0.0;
    o->pair_limit = 64;
    o->bars_ns[1] = is_duel ? 0 : 7e5;
    o->bars_ns[15] = is_duel ? 0 : 3e6;
}

static void encode_evaluate(struct atoll_buffer *out)
{
    struct atoll_order o;
    fill_order(&o, 0);
    atoll_order_encode(&o, out);
}

static void encode_duel(struct atoll_buffer *out)
{
    struct atoll_order o;
    fill_order(&o, 1);
    atoll_order_encode(&o, out);
}

static void fill_rival_order(struct atoll_order *o, enum atoll_order_kind kind)
{
    fill_order(o, 1);
    o->kind = kind;
    o->purpose = ATOLL_DUEL_RIVAL;
    o->rival = 2;
    o->rivals[1] = 1;
    o->rivals[15] = ATOLL_TASK_RIVAL_LIMIT - 1;
    o->limit_ns = 3e11;
}

static void encode_rival(struct atoll_buffer *out)
{
    struct atoll_order o;
    fill_rival_order(&o, ATOLL_ORDER_RIVAL);
    atoll_order_encode(&o, out);
}

static void encode_rival_duel(struct atoll_buffer *out)
{
    struct atoll_order o;
    fill_rival_order(&o, ATOLL_ORDER_DUEL);
    atoll_order_encode(&o, out);
}

static int recode_order(const void *bytes, size_t length, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    struct atoll_order o;
    int status = atoll_order_decode(bytes, length, arena, &o, err);
    if (!status) {
        assert_true(o.candidate.choice.count <= ATOLL_PLAN_PARAM_LIMIT);
        assert_non_null(o.elite.source);
        assert_non_null(o.candidate.source);
        assert_true(o.rival < ATOLL_TASK_RIVAL_LIMIT && o.rivals[15] < ATOLL_TASK_RIVAL_LIMIT);
        atoll_order_encode(&o, out);
    }
    atoll_arena_destroy(arena);
    return status;
}

static const struct kind kinds[] = {
    {"device", encode_device, recode_device, {TORCH_BYTES, TORCH_BYTES + LIMITS_BYTES}},
    {"heartbeat", encode_pulse, recode_pulse, {0}},
    {"setup", encode_setup, recode_setup, {0}},
    {"order", encode_evaluate, recode_order, {0}},
    {"order", encode_duel, recode_order, {0}},
    {"order", encode_rival, recode_order, {0}},
    {"order", encode_rival_duel, recode_order, {0}},
};
#define KIND_COUNT (sizeof(kinds) / sizeof(*kinds))

static void test_round_trips(void **state)
{
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct atoll_buffer first, second;
        atoll_buffer_init(&first, 1u << 20);
        atoll_buffer_init(&second, 1u << 20);
        kinds[k].encode_sample(&first);
        assert_int_equal(kinds[k].recode(first.data, first.length, &second, NULL), 0);
        assert_int_equal(first.length, second.length);
        assert_memory_equal(first.data, second.data, first.length);
        atoll_buffer_fini(&first);
        atoll_buffer_fini(&second);
    }
}

static void test_every_truncation_fails(void **state)
{
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct atoll_buffer b, unused;
        atoll_buffer_init(&b, 1u << 20);
        atoll_buffer_init(&unused, 1u << 20);
        kinds[k].encode_sample(&b);
        for (size_t length = 0; length < b.length; length++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            if (length == b.length - kinds[k].newer_bytes[0] || length == b.length - kinds[k].newer_bytes[1])
                continue;
            unsigned char *exact = malloc(length ? length : 1);
            memcpy(exact, b.data, length);
            assert_int_equal(kinds[k].recode(exact, length, &unused, &err), -1);
            expect_err(&err, ATOLL_E_PROTOCOL, kinds[k].name);
            free(exact);
        }
        atoll_buffer_put_u8(&b, 0);
        assert_int_equal(kinds[k].recode(b.data, b.length, &unused, NULL), -1);
        atoll_buffer_fini(&b);
        atoll_buffer_fini(&unused);
    }
}

static void test_random_flips_never_crash(void **state)
{
    struct atoll_random random = {29, 0};
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct atoll_buffer b, again;
        int refused = 0;
        atoll_buffer_init(&b, 1u << 20);
        atoll_buffer_init(&again, 1u << 20);
        kinds[k].encode_sample(&b);
        unsigned char *bytes = malloc(b.length);
        for (int i = 0; i < 5000; i++) {
            memcpy(bytes, b.data, b.length);
            for (size_t flips = 1 + (size_t)i % 3; flips; flips--) {
                bytes[atoll_random_below(atoll_random_next(&random), b.length)] =
                    (unsigned char)atoll_random_next(&random);
            }
            atoll_buffer_clear(&again);
            refused += kinds[k].recode(bytes, b.length, &again, NULL) != 0;
        }
        assert_true(refused > 100 && refused < 5000);
        free(bytes);
        atoll_buffer_fini(&b);
        atoll_buffer_fini(&again);
    }
}

static void expect_order_refused(const struct atoll_order *o)
{
    struct atoll_buffer b, unused;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&b, 1u << 20);
    atoll_buffer_init(&unused, 1u << 20);
    atoll_order_encode(o, &b);
    assert_int_equal(recode_order(b.data, b.length, &unused, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "order: ");
    atoll_buffer_fini(&b);
    atoll_buffer_fini(&unused);
}

static void break_purpose(struct atoll_order *o)
{
    o->purpose = ATOLL_DUEL_PURPOSE_COUNT;
}
static void break_baseline(struct atoll_order *o)
{
    o->baseline_ns = -1;
}
static void break_incumbent(struct atoll_order *o)
{
    o->incumbent_ns = NAN;
}
static void break_alpha(struct atoll_order *o)
{
    o->alpha = 0.6;
}
static void break_kind(struct atoll_order *o)
{
    o->kind = ATOLL_ORDER_KIND_COUNT;
}
static void break_rival(struct atoll_order *o)
{
    fill_rival_order(o, ATOLL_ORDER_RIVAL);
    o->rival = ATOLL_TASK_RIVAL_LIMIT;
}
static void break_rivals(struct atoll_order *o)
{
    fill_rival_order(o, ATOLL_ORDER_DUEL);
    o->rivals[9] = ATOLL_TASK_RIVAL_LIMIT;
}
static void break_bar(struct atoll_order *o)
{
    fill_order(o, 0);
    o->bars_ns[3] = -1;
}
static void break_limit(struct atoll_order *o)
{
    fill_rival_order(o, ATOLL_ORDER_RIVAL);
    o->limit_ns = NAN;
}
static void break_margin(struct atoll_order *o)
{
    o->margin = HUGE_VAL;
}
static void break_language(struct atoll_order *o)
{
    o->candidate.language = "a language with a name of many letters";
}

static void test_hostile_orders(void **state)
{
    static void (*const breakers[])(struct atoll_order *) = {
        break_purpose, break_baseline, break_incumbent, break_alpha, break_margin, break_language,
        break_kind,    break_rival,    break_rivals,    break_limit, break_bar};
    struct atoll_order o;
    for (size_t i = 0; i < sizeof(breakers) / sizeof(*breakers); i++) {
        fill_order(&o, 1);
        breakers[i](&o);
        expect_order_refused(&o);
    }
    char *source = malloc(ATOLL_SOURCE_LIMIT + 2);
    memset(source, 'a', ATOLL_SOURCE_LIMIT + 1);
    source[ATOLL_SOURCE_LIMIT + 1] = '\0';
    fill_order(&o, 0);
    o.candidate.source = source;
    expect_order_refused(&o);
    free(source);
}

/* A rival's order holds no candidate, and one against a rival one only; what a rival is not told by kind or purpose travels
 * with none. */
static void test_orders_about_rivals(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    static const enum atoll_order_kind order_kinds[] = {ATOLL_ORDER_RIVAL, ATOLL_ORDER_DUEL,
                                                        ATOLL_ORDER_EVALUATE};
    for (size_t i = 0; i < 3; i++) {
        struct atoll_order o, back;
        struct atoll_buffer b;
        atoll_buffer_init(&b, 1u << 20);
        fill_rival_order(&o, order_kinds[i]);
        atoll_order_encode(&o, &b);
        assert_int_equal(atoll_order_decode(b.data, b.length, arena, &back, NULL), 0);
        assert_int_equal(back.kind, order_kinds[i]);
        int is_told = order_kinds[i] != ATOLL_ORDER_EVALUATE;
        assert_int_equal(back.rival, is_told ? 2 : 0);
        assert_int_equal(back.rivals[15], is_told ? ATOLL_TASK_RIVAL_LIMIT - 1 : 0);
        assert_true(back.limit_ns == (is_told ? 3e11 : 0.0));
        assert_int_equal(atoll_id_is_zero(&back.candidate.id), order_kinds[i] == ATOLL_ORDER_RIVAL);
        assert_true(atoll_id_is_zero(&back.elite.id));
        assert_string_equal(back.elite.source, "");
        assert_int_equal(atoll_order_has_elite(&back), 0);
        atoll_buffer_fini(&b);
    }
    atoll_arena_destroy(arena);
}

/* What a candidate is held against at each variant travels with its evaluation only. */
static void test_bars(void **state)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    static const enum atoll_order_kind order_kinds[] = {ATOLL_ORDER_EVALUATE, ATOLL_ORDER_DUEL,
                                                        ATOLL_ORDER_RIVAL};
    for (size_t i = 0; i < 3; i++) {
        struct atoll_order o, back;
        struct atoll_buffer b;
        atoll_buffer_init(&b, 1u << 20);
        fill_order(&o, 0);
        o.kind = order_kinds[i];
        atoll_order_encode(&o, &b);
        assert_int_equal(atoll_order_decode(b.data, b.length, arena, &back, NULL), 0);
        for (size_t v = 0; v < ATOLL_TASK_VARIANT_LIMIT; v++)
            assert_true(back.bars_ns[v] == (i ? 0.0 : v == 1 ? 7e5 : v == 15 ? 3e6 : 0.0));
        atoll_buffer_fini(&b);
    }
    atoll_arena_destroy(arena);
}

/* An order with more of something than there is room for, made by hand: the encoder cannot hold it. */
static int recode_counts(uint32_t choices, uint32_t bars)
{
    static const unsigned char id[32];
    struct atoll_buffer b, unused;
    atoll_buffer_init(&b, 1u << 20);
    atoll_buffer_init(&unused, 1u << 20);
    atoll_buffer_put_u64(&b, 1);
    atoll_buffer_put_u32(&b, 0);
    atoll_buffer_put_u32(&b, 0);
    atoll_buffer_put_u32(&b, 0);
    atoll_buffer_put_bytes(&b, id, sizeof(id));
    atoll_buffer_put_text(&b, "c");
    atoll_buffer_put_text(&b, "");
    atoll_buffer_put_u32(&b, choices);
    for (uint32_t i = 0; i < choices; i++)
        atoll_buffer_put_i64(&b, i);
    for (int i = 0; i < 4; i++)
        atoll_buffer_put_f64(&b, 0.0);
    atoll_buffer_put_u32(&b, 0);
    atoll_buffer_put_u32(&b, bars);
    for (uint32_t i = 0; i < bars; i++)
        atoll_buffer_put_f64(&b, 1.0);
    int status = recode_order(b.data, b.length, &unused, NULL);
    atoll_buffer_fini(&b);
    atoll_buffer_fini(&unused);
    return status;
}

static void test_too_many(void **state)
{
    assert_int_equal(recode_counts(ATOLL_PLAN_PARAM_LIMIT, ATOLL_TASK_VARIANT_LIMIT), 0);
    assert_int_equal(recode_counts(ATOLL_PLAN_PARAM_LIMIT + 1, 0), -1);
    assert_int_equal(recode_counts(0, ATOLL_TASK_VARIANT_LIMIT + 1), -1);
}

static void test_orders_need_room(void **state)
{
    struct atoll_arena *tiny = atoll_arena_create(8, NULL);
    struct atoll_buffer b;
    struct atoll_order o;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&b, 1u << 20);
    encode_duel(&b);
    assert_int_equal(atoll_order_decode(b.data, b.length, tiny, &o, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "order: ");
    atoll_buffer_fini(&b);
    atoll_arena_destroy(tiny);
}

static void test_fields_arrive(void **state)
{
    struct atoll_buffer b;
    struct atoll_setup s, s2;
    struct atoll_device_info d, d2;
    atoll_buffer_init(&b, 1u << 20);
    fill_setup(&s);
    atoll_setup_encode(&s, &b);
    assert_int_equal(atoll_setup_decode(b.data, b.length, &s2, NULL), 0);
    assert_memory_equal(&s, &s2, sizeof(s));
    fill_device(&d);
    atoll_buffer_clear(&b);
    atoll_device_info_encode(&d, &b);
    assert_int_equal(atoll_device_info_decode(b.data, b.length, &d2, NULL), 0);
    assert_memory_equal(&d, &d2, sizeof(d));
    /* Written before devices had torch, and before they had limits. */
    assert_int_equal(atoll_device_info_decode(b.data, b.length - TORCH_BYTES, &d2, NULL), 0);
    memset(d.torch, 0, sizeof(d.torch));
    assert_memory_equal(&d, &d2, sizeof(d));
    assert_int_equal(atoll_device_info_decode(b.data, b.length - TORCH_BYTES - LIMITS_BYTES, &d2, NULL), 0);
    memset(&d.limits, 0, sizeof(d.limits));
    assert_memory_equal(&d, &d2, sizeof(d));
    atoll_buffer_fini(&b);
}

/* Each integer of the limits at its most, and one beyond. */
static void test_limits_of_limits(void **state)
{
    static const struct {
        size_t offset;
        uint32_t most;
    } fields[] = {
#define FIELD(member, most) {offsetof(struct atoll_device_info, limits.member), most}
        FIELD(compute_capability, 9999),
        FIELD(multiprocessors, 65536),
        FIELD(warp_size, 1024),
        FIELD(threads_per_block, 65536),
        FIELD(threads_per_multiprocessor, 65536),
        FIELD(blocks_per_multiprocessor, 65536),
        FIELD(registers_per_multiprocessor, 1u << 24),
        FIELD(registers_per_block, 1u << 24),
        FIELD(shared_bytes_per_block, 1u << 30),
        FIELD(shared_bytes_per_multiprocessor, 1u << 30),
        FIELD(cluster_blocks, 65536),
        FIELD(cooperative, 1),
        FIELD(block[0], 65536),
        FIELD(block[1], 65536),
        FIELD(block[2], 65536),
        FIELD(host_memory, 1),
#undef FIELD
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        for (uint32_t beyond = 0; beyond < 2; beyond++) {
            struct atoll_device_info d;
            struct atoll_buffer b;
            uint32_t value = fields[i].most + beyond;
            fill_device(&d);
            memcpy((char *)&d + fields[i].offset, &value, sizeof(value));
            atoll_buffer_init(&b, 1u << 20);
            atoll_device_info_encode(&d, &b);
            assert_int_equal(atoll_device_info_decode(b.data, b.length, &d, NULL), beyond ? -1 : 0);
            atoll_buffer_fini(&b);
        }
    }
}

static void test_hostile_numbers_of_devices(void **state)
{
    static const double bad[] = {-1.0, NAN, HUGE_VAL, 1.1e24};
    static const size_t fields[] = {
        offsetof(struct atoll_device_info, limits.memory_bytes),
        offsetof(struct atoll_device_info, limits.clock_hz),
        offsetof(struct atoll_device_info, limits.memory_clock_hz),
        offsetof(struct atoll_device_info, limits.tensor_flops[0]),
        offsetof(struct atoll_device_info, limits.tensor_flops[ATOLL_DTYPE_COUNT]),
    };
    for (size_t i = 0; i < 4 * sizeof(fields) / sizeof(*fields); i++) {
        struct atoll_device_info d;
        struct atoll_buffer b;
        struct atoll_err err = ATOLL_ERR_INIT;
        fill_device(&d);
        memcpy((char *)&d + fields[i / 4], &bad[i % 4], sizeof(double));
        atoll_buffer_init(&b, 1u << 20);
        atoll_device_info_encode(&d, &b);
        assert_int_equal(atoll_device_info_decode(b.data, b.length, &d, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "device: ");
        atoll_buffer_fini(&b);
    }
}

static void test_hostile_profile_settings(void **state)
{
    static const double bad[] = {-0.5, NAN, 1.1e6};
    struct atoll_buffer b;
    struct atoll_setup s;
    atoll_buffer_init(&b, 1u << 20);
    for (size_t i = 0; i < 3; i++) {
        fill_setup(&s);
        s.profile_ratio = bad[i];
        atoll_buffer_clear(&b);
        atoll_setup_encode(&s, &b);
        assert_int_equal(atoll_setup_decode(b.data, b.length, &s, NULL), -1);
        fill_setup(&s);
        s.profile_budget = bad[i];
        atoll_buffer_clear(&b);
        atoll_setup_encode(&s, &b);
        assert_int_equal(atoll_setup_decode(b.data, b.length, &s, NULL), -1);
    }
    fill_setup(&s);
    atoll_buffer_clear(&b);
    atoll_setup_encode(&s, &b);
    static const size_t flags[] = {4, 24,
                                   28}; /* wants_triton; profile_all, before ratio and budget; is_warm */
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        b.data[b.length - flags[i]] = 2;
        assert_int_equal(atoll_setup_decode(b.data, b.length, &s, NULL), -1);
        b.data[b.length - flags[i]] = 1;
        assert_int_equal(atoll_setup_decode(b.data, b.length, &s, NULL), 0);
    }
    atoll_buffer_fini(&b);
}

static void test_hostile_setup_and_device(void **state)
{
    struct atoll_buffer b;
    struct atoll_setup s;
    struct atoll_device_info d;
    atoll_buffer_init(&b, 1u << 20);
    static const double intervals[] = {-0.1, 1.1, NAN};
    for (size_t i = 0; i < 3; i++) {
        fill_setup(&s);
        s.interval_target = intervals[i];
        atoll_buffer_clear(&b);
        atoll_setup_encode(&s, &b);
        assert_int_equal(atoll_setup_decode(b.data, b.length, &s, NULL), -1);
    }
    fill_device(&d);
    d.peak_flops[ATOLL_F16] = NAN;
    atoll_buffer_clear(&b);
    atoll_device_info_encode(&d, &b);
    assert_int_equal(atoll_device_info_decode(b.data, b.length, &d, NULL), -1);
    fill_device(&d);
    memset(d.model, 'x', sizeof(d.model)); /* no NUL: cut, never read beyond */
    atoll_buffer_clear(&b);
    atoll_device_info_encode(&d, &b);
    assert_int_equal(atoll_device_info_decode(b.data, b.length, &d, NULL), 0);
    assert_int_equal(strlen(d.model), sizeof(d.model) - 1);
    atoll_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_every_truncation_fails),
        cmocka_unit_test(test_random_flips_never_crash),
        cmocka_unit_test(test_hostile_orders),
        cmocka_unit_test(test_orders_about_rivals),
        cmocka_unit_test(test_bars),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_orders_need_room),
        cmocka_unit_test(test_fields_arrive),
        cmocka_unit_test(test_limits_of_limits),
        cmocka_unit_test(test_hostile_numbers_of_devices),
        cmocka_unit_test(test_hostile_profile_settings),
        cmocka_unit_test(test_hostile_setup_and_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

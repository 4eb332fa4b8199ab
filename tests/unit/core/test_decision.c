#include "tests/support/expect.h"

#include <math.h>

#include "core/decision.h"

/* Every field set, so that what a type drops is seen. */
static struct atoll_decision full(enum atoll_decision_type type)
{
    struct atoll_decision d;
    memset(&d, 0, sizeof(d));
    d.type = type;
    d.evaluation = 0x123456789a;
    d.task = 4;
    d.island = 3;
    d.other_island = 2;
    d.cell = (struct atoll_behaviour){1, 2, 3};
    memset(&d.candidate, 0x11, sizeof(d.candidate));
    memset(&d.source, 0x22, sizeof(d.source));
    memset(&d.elite, 0x33, sizeof(d.elite));
    memset(&d.elite_source, 0x44, sizeof(d.elite_source));
    memset(&d.parent, 0x55, sizeof(d.parent));
    d.choice = (struct atoll_choice){.count = 2, .values = {-5, INT64_MAX}};
    d.elite_choice = (struct atoll_choice){.count = 1, .values = {7}};
    d.op = ATOLL_OPERATOR_IMPORT;
    d.purpose = ATOLL_DUEL_FINAL;
    d.generation = 9;
    d.time_ns = 1.5;
    d.fitness = 0.75;
    d.baseline_ns = 3;
    d.incumbent_ns = 2;
    d.alpha = 0.01;
    d.margin = 0.02;
    d.pair_limit = 16;
    d.reason = ATOLL_REASON_ASKED;
    d.rival = 3;
    d.rivals[1] = 2;
    d.rivals[15] = 7;
    d.limit_ns = 4e10;
    if (type == ATOLL_DECIDE_RIVAL)
        d.purpose = ATOLL_DUEL_RIVAL;
    d.ask = (struct atoll_ask){.number = 5,
                               .kind = ATOLL_ASK_WRITE,
                               .op = ATOLL_OPERATOR_UNIVERSAL,
                               .task = 4,
                               .island = 3,
                               .count = 2,
                               .failure_count = 1,
                               .advice_count = 1,
                               .advice = {{.dimension = 2, .level = 1, .sign = -1, .weight = 0.5}}};
    return d;
}

static void every_type_travels(void **state)
{
    for (int type = ATOLL_DECIDE_EVALUATE; type < ATOLL_DECISION_TYPE_COUNT; type++) {
        struct atoll_decision d = full((enum atoll_decision_type)type), back;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer b;
        atoll_buffer_init(&b, 4096);
        atoll_decision_encode(&d, &b);
        if (atoll_decision_decode(b.data, b.length, &back, &err))
            fail_msg("type %d: %s", type, err.text);
        atoll_decision_normalise(&d); /* what was left out is zero */
        assert_memory_equal(&d, &back, sizeof(d));
        for (size_t length = 0; length < b.length; length++)
            assert_int_equal(atoll_decision_decode(b.data, length, &back, NULL), -1);
        atoll_buffer_put_u8(&b, 0);
        assert_int_equal(atoll_decision_decode(b.data, b.length, &back, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "decision");
        atoll_buffer_fini(&b);
    }
}

/* What newer engines add stands at the end: the bytes of older ones are what is left without it. */
static void models_and_asks_are_added_at_the_end(void **state)
{
    struct atoll_decision d = full(ATOLL_DECIDE_EVALUATE), back;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer plain, b;
    atoll_buffer_init(&plain, 4096);
    atoll_buffer_init(&b, 4096);
    atoll_decision_encode(&d, &plain);
    d.model = 2;
    d.answers_ask = 77;
    atoll_decision_encode(&d, &b);
    assert_int_equal(b.length, plain.length + 12);
    assert_memory_equal(b.data, plain.data, plain.length);
    assert_int_equal(atoll_decision_decode(b.data, b.length, &back, &err), 0);
    assert_true(back.model == 2 && back.answers_ask == 77);
    assert_int_equal(atoll_decision_decode(plain.data, plain.length, &back, &err), 0);
    assert_true(back.model == 0 && back.answers_ask == 0);
    for (size_t length = plain.length + 1; length < b.length; length++)
        assert_int_equal(atoll_decision_decode(b.data, length, &back, NULL), -1);
    atoll_buffer_fini(&plain);
    atoll_buffer_fini(&b);
}

static void fields_stay_with_their_types(void **state)
{
    struct atoll_decision d = full(ATOLL_DECIDE_STOP);
    atoll_decision_normalise(&d);
    assert_int_equal(d.reason, ATOLL_REASON_ASKED);
    assert_int_equal(d.evaluation, 0);
    assert_int_equal(d.choice.count, 0);
    d = full(ATOLL_DECIDE_EVALUATE);
    atoll_decision_normalise(&d);
    assert_true(d.baseline_ns > 0 && d.generation == 9 && d.op == ATOLL_OPERATOR_IMPORT);
    assert_true(atoll_id_is_zero(&d.elite) && d.alpha == 0 && d.reason == ATOLL_REASON_NONE);
    d = full(ATOLL_DECIDE_DUEL);
    atoll_decision_normalise(&d);
    assert_true(d.alpha > 0 && d.elite_choice.count == 1 && d.purpose == ATOLL_DUEL_FINAL);
}

/* Of rivals a decision speaks where its purpose says so: a measurement, a duel with one, and both sent again. */
static void rivals_are_told_by_the_purpose(void **state)
{
    static const struct {
        enum atoll_decision_type type;
        int is_order;
    } cases[] = {
        {ATOLL_DECIDE_RIVAL, 1},
        {ATOLL_DECIDE_DUEL, 1},
        {ATOLL_DECIDE_REDISPATCH, 1},
        {ATOLL_DECIDE_NOT_CONFIRMED, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_decision d = full(cases[i].type), back;
        struct atoll_buffer plain, b;
        atoll_buffer_init(&plain, 4096);
        atoll_buffer_init(&b, 4096);
        d.purpose = ATOLL_DUEL_FINAL;
        d.model = 1;
        atoll_decision_encode(&d, &plain);
        assert_int_equal(atoll_decision_decode(plain.data, plain.length, &back, NULL),
                         cases[i].type == ATOLL_DECIDE_RIVAL ? -1 : 0);
        d.purpose = ATOLL_DUEL_RIVAL;
        atoll_decision_encode(&d, &b);
        assert_int_equal(b.length, plain.length + 4 + ATOLL_TASK_VARIANT_LIMIT + 8);
        assert_int_equal(atoll_decision_decode(b.data, b.length, &back, NULL), 0);
        assert_true(back.rival == 3 && back.rivals[1] == 2 && back.rivals[15] == 7 && back.limit_ns == 4e10);
        assert_int_equal(back.model, 1);
        assert_int_equal(atoll_decision_is_about_rival(&back), cases[i].is_order);
        back.purpose = ATOLL_DUEL_FINAL;
        assert_int_equal(atoll_decision_is_about_rival(&back), 0);
        d.rival = ATOLL_TASK_RIVAL_LIMIT;
        atoll_buffer_clear(&b);
        atoll_decision_encode(&d, &b);
        assert_int_equal(atoll_decision_decode(b.data, b.length, &back, NULL), -1);
        d.rival = 0;
        d.rivals[4] = ATOLL_TASK_RIVAL_LIMIT;
        atoll_buffer_clear(&b);
        atoll_decision_encode(&d, &b);
        assert_int_equal(atoll_decision_decode(b.data, b.length, &back, NULL), -1);
        d.rivals[4] = 0;
        d.limit_ns = NAN;
        atoll_buffer_clear(&b);
        atoll_decision_encode(&d, &b);
        assert_int_equal(atoll_decision_decode(b.data, b.length, &back, NULL), -1);
        atoll_buffer_fini(&plain);
        atoll_buffer_fini(&b);
    }
}

static void hostile_values_are_refused(void **state)
{
    struct atoll_decision d = full(ATOLL_DECIDE_ELITE), back;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer b;
    atoll_buffer_init(&b, 4096);
    const unsigned char unknown = ATOLL_DECISION_TYPE_COUNT;
    assert_int_equal(atoll_decision_decode(&unknown, 1, &back, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "unknown type");
    d.time_ns = NAN;
    atoll_decision_encode(&d, &b);
    assert_int_equal(atoll_decision_decode(b.data, b.length, &back, NULL), -1);
    atoll_buffer_clear(&b);
    d.time_ns = 1;
    d.cell.memory = 4;
    atoll_decision_encode(&d, &b);
    assert_int_equal(atoll_decision_decode(b.data, b.length, &back, NULL), -1);
    atoll_buffer_clear(&b);
    d = full(ATOLL_DECIDE_STOP);
    d.reason = ATOLL_REASON_COUNT;
    atoll_decision_encode(&d, &b);
    assert_int_equal(atoll_decision_decode(b.data, b.length, &back, NULL), -1);
    atoll_buffer_fini(&b);
}

static void names(void **state)
{
    for (int i = 0; i < ATOLL_OPERATOR_COUNT; i++)
        assert_string_not_equal(atoll_operator_name((enum atoll_operator)i), "unknown");
    for (int i = 0; i < ATOLL_REASON_COUNT; i++)
        assert_string_not_equal(atoll_reason_name((enum atoll_reason)i), "unknown");
    assert_string_equal(atoll_operator_name(ATOLL_OPERATOR_COUNT), "unknown");
    assert_string_equal(atoll_reason_name(ATOLL_REASON_COUNT), "unknown");
    assert_string_equal(atoll_operator_name(ATOLL_OPERATOR_TUNE), "tune");
    assert_string_equal(atoll_reason_name(ATOLL_REASON_NO_BASELINE), "no_baseline");
    for (unsigned r = ATOLL_REASON_NONE + 1; r < ATOLL_REASON_COUNT;
         r++) { /* a column of the live view is 20 wide */
        const char *text = atoll_reason_text(atoll_reason_name((enum atoll_reason)r));
        assert_in_range(strlen(text), 1, 20);
    }
    assert_string_equal(atoll_reason_text("none"), "");
    assert_string_equal(atoll_reason_text("of a later version"), "of a later version");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_travels),
        cmocka_unit_test(models_and_asks_are_added_at_the_end),
        cmocka_unit_test(fields_stay_with_their_types),
        cmocka_unit_test(rivals_are_told_by_the_purpose),
        cmocka_unit_test(hostile_values_are_refused),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>

#include "core/search.h"

#define OLD_BYTES 121 /* of engines that knew the first rows only, language c; one byte more with another */
#define ROWS_OF_7 29  /* behind the old ones */

static void defaults_travel(void **state)
{
    struct atoll_search s, back;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer a, b;
    atoll_search_defaults(&s);
    s.seed = UINT64_MAX;
    s.fitness_form = ATOLL_FITNESS_CLIPPED;
    s.evaluation_budget = 12345678901;
    s.wall_budget_ns = 1.2e11;
    s.selection_share[ATOLL_SELECT_ISLAND] = 0.125;
    atoll_buffer_init(&a, 4096);
    atoll_buffer_init(&b, 4096);
    atoll_search_encode(&s, &a);
    assert_int_equal(atoll_search_decode(a.data, a.length, &back, &err), 0);
    atoll_search_encode(&back, &b);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.data, b.data, a.length);
    assert_true(back.seed == UINT64_MAX && back.fitness_form == ATOLL_FITNESS_CLIPPED);
    assert_true(back.evaluation_budget == 12345678901 && back.selection_share[ATOLL_SELECT_ISLAND] == 0.125);
    for (size_t length = 0; length < a.length; length++)
        assert_int_equal(atoll_search_decode(a.data, length, &back, NULL), length == OLD_BYTES ? 0 : -1);
    atoll_buffer_fini(&a);
    atoll_buffer_fini(&b);
}

/* Older engines wrote no byte for c and one for another language, and nothing after it. */
static void languages_travel(void **state)
{
    struct atoll_search s, back;
    struct atoll_buffer bytes;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_search_defaults(&s);
    assert_int_equal(s.language, ATOLL_LANGUAGE_C);
    s.language = ATOLL_LANGUAGE_CUDA;
    s.baseline_rounds = s.analyses = 0;
    s.asks = 17;
    atoll_buffer_init(&bytes, 4096);
    atoll_search_encode(&s, &bytes);
    assert_int_equal(atoll_search_decode(bytes.data, bytes.length, &back, &err), 0);
    assert_true(back.language == ATOLL_LANGUAGE_CUDA && back.asks == 17);
    assert_int_equal(atoll_search_decode(bytes.data, OLD_BYTES + 1, &back, &err), 0);
    assert_true(back.language == ATOLL_LANGUAGE_CUDA && back.asks == 2);
    assert_int_equal(atoll_search_decode(bytes.data, OLD_BYTES, &back, &err), 0);
    assert_int_equal(back.language, ATOLL_LANGUAGE_C);
    /* a row that engine 7 did not know is written where it is used, and then comes back */
    assert_int_equal(bytes.data[OLD_BYTES + 1], ROWS_OF_7);
    struct atoll_buffer used;
    atoll_buffer_init(&used, 4096);
    s.triton = ATOLL_TRITON_BESIDE;
    atoll_search_encode(&s, &used);
    assert_true(used.data[OLD_BYTES + 1] == ROWS_OF_7 + 1 && used.length == bytes.length + 1);
    assert_int_equal(atoll_search_decode(used.data, used.length, &back, &err), 0);
    assert_int_equal(back.triton, ATOLL_TRITON_BESIDE);
    /* what comes behind it is told with all rows before it, whatever they are */
    s.triton = ATOLL_TRITON_NONE;
    s.memory_loss = 1.5;
    s.distil = 0;
    atoll_buffer_clear(&used);
    atoll_search_encode(&s, &used);
    assert_int_equal(used.data[OLD_BYTES + 1], ROWS_OF_7 + 12);
    assert_int_equal(atoll_search_decode(used.data, used.length, &back, &err), 0);
    assert_true(back.memory == 1 && back.memory_loss == 1.5 && back.tools == 8 && back.distil == 0);
    s.distil = 1;
    atoll_buffer_clear(&used);
    atoll_search_encode(&s, &used);
    assert_int_equal(used.data[OLD_BYTES + 1], ROWS_OF_7 + 6);
    atoll_buffer_fini(&used);
    static const unsigned char wrong[] = {ATOLL_LANGUAGE_C, ATOLL_LANGUAGE_COUNT, 255};
    for (size_t i = 0; i < sizeof(wrong); i++) {
        bytes.data[OLD_BYTES] = wrong[i];
        atoll_err_clear(&err);
        assert_int_equal(atoll_search_decode(bytes.data, OLD_BYTES + 1, &back, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "language is");
    }
    bytes.data[OLD_BYTES] = ATOLL_LANGUAGE_CUDA;
    bytes.data[OLD_BYTES + 1] = 255;
    atoll_err_clear(&err);
    assert_int_equal(atoll_search_decode(bytes.data, bytes.length, &back, &err), -1);
    expect_err(&err, ATOLL_E_PROTOCOL, "more than this Atoll knows");
    assert_string_equal(atoll_language_name(ATOLL_LANGUAGE_CUDA), "cuda");
    assert_string_equal(atoll_language_name(ATOLL_LANGUAGE_COUNT), "unknown");
    assert_int_equal(atoll_language_of_backend("cuda", ATOLL_TRITON_NONE), ATOLL_LANGUAGE_CUDA);
    assert_int_equal(atoll_language_of_backend("cuda", ATOLL_TRITON_BESIDE), ATOLL_LANGUAGE_CUDA_TRITON);
    assert_int_equal(atoll_language_of_backend("cuda", ATOLL_TRITON_ALONE), ATOLL_LANGUAGE_TRITON);
    assert_int_equal(atoll_language_of_backend("cpu", ATOLL_TRITON_ALONE), ATOLL_LANGUAGE_C);
    assert_int_equal(atoll_language_of_backend("", ATOLL_TRITON_NONE), ATOLL_LANGUAGE_C);
    assert_string_equal(atoll_language_name(ATOLL_LANGUAGE_TRITON), "triton");
    assert_true(atoll_language_takes(ATOLL_LANGUAGE_CUDA_TRITON, "triton") &&
                atoll_language_takes(ATOLL_LANGUAGE_CUDA_TRITON, "cuda"));
    assert_false(atoll_language_takes(ATOLL_LANGUAGE_CUDA, "triton") ||
                 atoll_language_takes(ATOLL_LANGUAGE_TRITON, "cuda") ||
                 atoll_language_takes(ATOLL_LANGUAGE_C, "triton"));
    /* a parent's language stays; without one both have their turns */
    assert_string_equal(atoll_language_of_ask(ATOLL_LANGUAGE_CUDA_TRITON, "triton", 4), "triton");
    assert_string_equal(atoll_language_of_ask(ATOLL_LANGUAGE_CUDA_TRITON, NULL, 4), "cuda");
    assert_string_equal(atoll_language_of_ask(ATOLL_LANGUAGE_CUDA_TRITON, NULL, 5), "triton");
    assert_string_equal(atoll_language_of_ask(ATOLL_LANGUAGE_CUDA, "triton", 5), "cuda");
    assert_string_equal(atoll_language_of_ask(ATOLL_LANGUAGE_C, NULL, 5), "c");
    atoll_buffer_fini(&bytes);
}

/* A search that began without a row goes on without what it brought. */
static void rows_that_are_not_there_change_nothing(void **state)
{
    struct atoll_search s, back, unsaid;
    struct atoll_buffer bytes;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_search_defaults(&s);
    atoll_search_unsaid(&unsaid);
    assert_true(s.baseline_rounds == 5 && unsaid.baseline_rounds == 0);
    assert_true(s.analyses == 16 && unsaid.analyses == 0);
    atoll_buffer_init(&bytes, 4096);
    atoll_search_encode(&unsaid, &bytes);
    assert_int_equal(bytes.data[OLD_BYTES + 1], ROWS_OF_7);
    assert_int_equal(atoll_search_decode(bytes.data, bytes.length, &back, &err), 0);
    assert_int_equal(back.baseline_rounds, 0);
    atoll_buffer_clear(&bytes);
    atoll_search_encode(&s, &bytes);
    assert_int_equal(atoll_search_decode(bytes.data, bytes.length, &back, &err), 0);
    assert_int_equal(back.baseline_rounds, 5);
    atoll_buffer_fini(&bytes);
}

/* As campaign.yaml and the listing say it; the number is read too. */
static void no_limit_has_a_word(void **state)
{
    static const struct {
        const char *name, *word;
    } rows[] = {{"tuners", "all"}, {"beam_iterations", "unlimited"}, {"stagnation_limit", "unlimited"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct atoll_search_field *f = atoll_search_field(rows[i].name);
        const char *const values[] = {"4294967295", rows[i].word};
        for (size_t k = 0; k < 2; k++) {
            struct atoll_search s;
            struct atoll_buffer text;
            struct atoll_err err = ATOLL_ERR_INIT;
            atoll_search_defaults(&s);
            assert_int_equal(atoll_search_set(&s, f, "7", &err), 0);
            assert_int_equal(atoll_search_set(&s, f, values[k], &err), 0);
            atoll_buffer_init(&text, 256);
            atoll_search_print(&s, f, &text);
            atoll_buffer_put_u8(&text, 0);
            assert_string_equal(text.data, rows[i].word);
            assert_int_equal(atoll_search_set(&s, f, "some", &err), -1);
            expect_err(&err, ATOLL_E_INPUT, rows[i].word);
            atoll_buffer_fini(&text);
        }
    }
}

/* Every row is set and printed by its name, and refuses what is beyond its range. */
static void every_field_is_set_by_text(void **state)
{
    size_t count;
    const struct atoll_search_field *fields = atoll_search_fields(&count);
    for (size_t i = 0; i < count; i++) {
        const struct atoll_search_field *f = atoll_search_field(fields[i].name);
        struct atoll_search s, again;
        struct atoll_buffer text, same;
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_ptr_equal(f, &fields[i]);
        assert_true(*f->summary);
        atoll_search_defaults(&s);
        atoll_search_defaults(&again);
        atoll_buffer_init(&text, 256);
        atoll_buffer_init(&same, 256);
        char value[64];
        if (f->kind == ATOLL_SEARCH_NAME)
            snprintf(value, sizeof(value), "%s", f->names[(size_t)f->max]);
        else
            snprintf(value, sizeof(value), "%.17g", f->min > 0 ? f->min : f->max < 1 ? 0.3 : 1.0);
        assert_int_equal(atoll_search_set(&s, f, value, &err), 0);
        atoll_search_print(&s, f, &text);
        atoll_buffer_put_u8(&text, 0);
        assert_int_equal(atoll_search_set(&again, f, (const char *)text.data, &err), 0);
        atoll_search_print(&again, f, &same);
        assert_memory_equal(text.data, same.data, same.length);
        static const char *const wrong[] = {"", "x", "-1", "1x", "nan", " 1"};
        for (size_t k = 0; k < sizeof(wrong) / sizeof(*wrong); k++) {
            atoll_err_clear(&err);
            assert_int_equal(atoll_search_set(&again, f, wrong[k], &err), -1);
            expect_err(&err, ATOLL_E_INPUT, f->name);
        }
        atoll_buffer_fini(&text);
        atoll_buffer_fini(&same);
    }
    assert_null(atoll_search_field("no such thing"));
}

static void set_islands_0(struct atoll_search *s)
{
    s->islands = 0;
}

static void set_islands_17(struct atoll_search *s)
{
    s->islands = ATOLL_ISLAND_LIMIT + 1;
}

static void set_generation(struct atoll_search *s)
{
    s->generation_size = 0;
}

static void set_share(struct atoll_search *s)
{
    s->selection_share[ATOLL_SELECT_FITNESS] = -1;
}

static void set_shares(struct atoll_search *s)
{
    memset(s->selection_share, 0, sizeof(s->selection_share));
}

static void set_device(struct atoll_search *s)
{
    s->device_budget_ns = NAN;
}

static void set_wall(struct atoll_search *s)
{
    s->wall_budget_ns = HUGE_VAL;
}

static void set_finals(struct atoll_search *s)
{
    s->finals_share = 1;
}

static void set_tries(struct atoll_search *s)
{
    s->finals_tries = 17;
}

static void set_queue(struct atoll_search *s)
{
    s->queue_depth = 0;
}

static void set_alpha(struct atoll_search *s)
{
    s->alpha = 0.5;
}

static void set_margin(struct atoll_search *s)
{
    s->margin = -0.01;
}

static void set_pairs(struct atoll_search *s)
{
    s->pair_limit = 3;
}

static void wrong_values_are_named(void **state)
{
    static const struct {
        void (*set)(struct atoll_search *s);
        const char *text;
    } cases[] = {
        {set_islands_0, "islands is 0"},
        {set_islands_17, "islands is 17, must be 1 to 16"},
        {set_generation, "generation_size"},
        {set_share, "share_fitness"},
        {set_shares, "all selection rules"},
        {set_device, "device_budget_ns is"},
        {set_wall, "wall_budget_ns is"},
        {set_finals, "finals_share is 1"},
        {set_tries, "finals_tries is 17, must be 1 to 16"},
        {set_queue, "queue_depth is 0"},
        {set_alpha, "alpha is 0.5"},
        {set_margin, "margin is -0.01"},
        {set_pairs, "pair_limit is 3"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_search s, back = {.seed = 42};
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_buffer b;
        atoll_search_defaults(&s);
        cases[i].set(&s);
        atoll_buffer_init(&b, 4096);
        atoll_search_encode(&s, &b);
        assert_int_equal(atoll_search_decode(b.data, b.length, &back, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, cases[i].text);
        assert_true(back.seed == 42);
        atoll_buffer_fini(&b);
    }
}

static void params_are_left_where_nobody_tunes(void **state)
{
    for (unsigned strategy = 0; strategy < ATOLL_STRATEGY_COUNT; strategy++) {
        struct atoll_search s;
        int is_left = strategy == ATOLL_STRATEGY_BEAM || strategy == ATOLL_STRATEGY_TREE;
        atoll_search_defaults(&s);
        s.strategy = (enum atoll_strategy_kind)strategy;
        assert_int_equal(atoll_search_leaves_params(&s), 0);
        s.ask_share = 1;
        assert_int_equal(atoll_search_leaves_params(&s), is_left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_travel),
        cmocka_unit_test(languages_travel),
        cmocka_unit_test(rows_that_are_not_there_change_nothing),
        cmocka_unit_test(no_limit_has_a_word),
        cmocka_unit_test(every_field_is_set_by_text),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(params_are_left_where_nobody_tunes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

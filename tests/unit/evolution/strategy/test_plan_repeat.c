#include "tests/support/expect.h"

#include "evolution/strategy/plan_repeat.h"

static void words_count_and_nothing_else(void **state)
{
    static const struct {
        const char *a, *b;
        int is_same;
    } rows[] = {
        {"Tile by 8.", "  tile, BY 8", 1},     {"Tile by 8.", "Tile by 16.", 0}, {"Tile by 8", "Tileby 8", 0},
        {"Tile by 8", "by 8 Tile", 0},         {"\xc3\xa4", "\xc3\xb6", 0},      {"a\n\n- b", "a b", 1},
        {"use 2 stages", "use 2 stages 2", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(atoll_plan_words_of(rows[i].a) == atoll_plan_words_of(rows[i].b), rows[i].is_same);
    assert_true(atoll_plan_words_of("") == 0 && atoll_plan_words_of(NULL) == 0 &&
                atoll_plan_words_of("- ,") == 0);
}

static void each_parent_has_its_own(void **state)
{
    struct atoll_plan_repeats repeats = {0}, loaded = {0};
    struct atoll_buffer bytes;
    struct atoll_reader reader = {0};
    atoll_buffer_init(&bytes, 1u << 16);
    assert_int_equal(atoll_plan_repeats_add(&repeats, 3, "Tile.", NULL), 0);
    assert_int_equal(atoll_plan_repeats_add(&repeats, 4, "Tile.", NULL), 0);
    assert_int_equal(atoll_plan_repeats_add(&repeats, 3, "tile", NULL), 1);
    assert_int_equal(atoll_plan_repeats_add(&repeats, 3, "", NULL), 0);
    assert_int_equal(atoll_plan_repeats_add(&repeats, 3, NULL, NULL), 0);
    assert_int_equal(repeats.count, 2);
    assert_int_equal(atoll_plan_repeats_codec(&repeats, 5, &(struct atoll_codec){.out = &bytes}, NULL), 0);
    for (uint32_t individuals = 4; individuals <= 5; individuals++) { /* a parent beyond them is refused */
        atoll_reader_init(&reader, bytes.data, bytes.length);
        assert_int_equal(
            atoll_plan_repeats_codec(&loaded, individuals, &(struct atoll_codec){.in = &reader}, NULL), 0);
        assert_int_equal(reader.failed != 0, individuals == 4);
    }
    assert_int_equal(atoll_plan_repeats_add(&loaded, 4, "TILE", NULL), 1);
    atoll_plan_repeats_fini(&repeats);
    atoll_plan_repeats_fini(&loaded);
    atoll_buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_count_and_nothing_else),
                                       cmocka_unit_test(each_parent_has_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <ctype.h>

#include "base/id.h"

/* BLAKE2b-256 of "" and "abc", as b2sum -l 256 prints them. */
static void test_known_values(void **state)
{
    static const char *const cases[][2] = {
        {"", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
        {"abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"},
    };
    for (size_t i = 0; i < 2; i++) {
        char hex[ATOLL_ID_HEX];
        struct atoll_id id = atoll_id_of(cases[i][0], strlen(cases[i][0]));
        atoll_id_hex(&id, hex);
        assert_string_equal(hex, cases[i][1]);
    }
}

static void test_keys_matter(void **state)
{
    struct atoll_id plain = atoll_id_of("abc", 3);
    struct atoll_id a = atoll_id_keyed("0123456789abcdef", 16, "abc", 3);
    struct atoll_id b = atoll_id_keyed("0123456789abcdeg", 16, "abc", 3);
    struct atoll_id c = atoll_id_keyed("0123456789abcdef", 16, "abd", 3);
    struct atoll_id again = atoll_id_keyed("0123456789abcdef", 16, "abc", 3);
    assert_false(atoll_id_equal(&plain, &a));
    assert_false(atoll_id_equal(&a, &b));
    assert_false(atoll_id_equal(&a, &c));
    assert_true(atoll_id_equal(&a, &again));
}

static void test_hex_round_trip(void **state)
{
    struct atoll_id id = atoll_id_of("x", 1), back = {{0}};
    char hex[ATOLL_ID_HEX];
    assert_true(atoll_id_is_zero(&back));
    assert_false(atoll_id_is_zero(&id));
    atoll_id_hex(&id, hex);
    assert_int_equal(atoll_id_parse(hex, &back, NULL), 0);
    assert_true(atoll_id_equal(&id, &back));
    for (char *c = hex; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    assert_int_equal(atoll_id_parse(hex, &back, NULL), 0);
    assert_true(atoll_id_equal(&id, &back));
}

static void test_parse_refuses(void **state)
{
    static const char *const cases[][2] = {
        {"", "64 hex digits"},
        {"00", "64 hex digits"},
        {"00000000000000000000000000000000000000000000000000000000000000000", "64 hex digits"},
        {"00g0000000000000000000000000000000000000000000000000000000000000", "character 3"},
        {"000000000000000000000000000000000000000000000000000000000000000 ", "character 64"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_id id = {{1}};
        assert_int_equal(atoll_id_parse(cases[i][0], &id, &err), -1);
        expect_err(&err, ATOLL_E_INPUT, cases[i][1]);
        assert_int_equal(id.bytes[0], 1);
    }
}

static void test_u64_is_little_endian(void **state)
{
    struct atoll_id id = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
    assert_true(atoll_id_u64(&id) == 0x0807060504030201u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),         cmocka_unit_test(test_keys_matter),
        cmocka_unit_test(test_hex_round_trip),       cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_u64_is_little_endian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

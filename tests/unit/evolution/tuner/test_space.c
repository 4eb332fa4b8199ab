#include "tests/support/expect.h"

#include <string.h>

#include "evolution/tuner/space.h"

static struct atoll_space grid(size_t count, size_t radix, atoll_space_legal *legal,
                               atoll_space_prefix *prefix)
{
    struct atoll_space s;
    memset(&s, 0, sizeof(s));
    s.count = count;
    s.legal = legal;
    s.prefix = prefix;
    for (size_t i = 0; i < count; i++) {
        s.params[i].value_count = radix;
        for (size_t v = 0; v < radix; v++)
            s.params[i].values[v] = (int64_t)v;
    }
    return s;
}

/* Digits never fall. */
static int rising_prefix(const void *context, const struct atoll_point *point, size_t known)
{
    return known < 2 || point->digits[known - 1] >= point->digits[known - 2];
}

static int rising(const void *context, const struct atoll_point *point)
{
    const size_t *count = context;
    for (size_t i = 2; i <= *count; i++)
        if (!rising_prefix(NULL, point, i))
            return 0;
    return 1;
}

static int nothing(const void *context, const struct atoll_point *point)
{
    return 0;
}

struct seen {
    size_t count, limit;
    struct atoll_point points[100];
};

static int see(void *context, const struct atoll_point *point)
{
    struct seen *s = context;
    s->points[s->count++] = *point;
    return s->count < s->limit;
}

/* 20 of 64 points rise; with the prefix as without. */
static void all_are_listed_in_order(void **state)
{
    const size_t count = 3;
    for (int with_prefix = 0; with_prefix < 2; with_prefix++) {
        struct atoll_space s = grid(count, 4, rising, with_prefix ? rising_prefix : NULL);
        struct seen seen = {.limit = 100};
        s.context = &count;
        assert_int_equal(atoll_legal_list(&s, 1000, see, &seen), 1);
        assert_int_equal(seen.count, 20);
        for (size_t i = 1; i < seen.count; i++)
            assert_true(memcmp(&seen.points[i - 1], &seen.points[i], sizeof(*seen.points)) < 0);
    }
}

static void lists_say_when_they_are_not_complete(void **state)
{
    const size_t count = 3;
    struct atoll_space s = grid(count, 4, rising, rising_prefix), none = grid(3, 4, nothing, NULL),
                       point = grid(0, 0, rising, NULL);
    struct seen seen = {.limit = 5}, few = {.limit = 100}, empty = {.limit = 100}, one = {.limit = 100};
    s.context = point.context = &count;
    assert_int_equal(atoll_legal_list(&s, 1000, see, &seen), 0);
    assert_int_equal(seen.count, 5);
    assert_int_equal(atoll_legal_list(&s, 10, see, &few), 0);
    assert_true(few.count > 0 && few.count < 20);
    assert_int_equal(atoll_legal_list(&none, 1000, see, &empty), 1);
    assert_int_equal(empty.count, 0);
    const size_t no_parameters = 0;
    point.context = &no_parameters;
    assert_int_equal(atoll_legal_list(&point, 1000, see, &one), 1);
    assert_int_equal(one.count, 1);
}

static int accept_rising(const void *context, const struct atoll_point *point)
{
    const struct atoll_space *s = context;
    return s->legal(s->context, point);
}

/* Of 64^16 points one in 10^17 is legal. */
static void rare_points_are_found_without_the_product(void **state)
{
    const size_t count = 16;
    struct atoll_space s = grid(count, 64, rising, rising_prefix);
    struct atoll_random random = {4, 0};
    struct atoll_point point;
    s.context = &count;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(atoll_legal_search(&s, &random, 4096, accept_rising, &s, &point), 1);
        assert_true(rising(&count, &point));
        assert_int_equal(atoll_legal_sample(&s, &random, 8192, accept_rising, &s, &point), 1);
        assert_true(rising(&count, &point));
    }
    s.legal = nothing;
    assert_int_equal(atoll_legal_search(&s, &random, 4096, accept_rising, &s, &point), 0);
    assert_int_equal(atoll_legal_sample(&s, &random, 4096, accept_rising, &s, &point), 0);
}

static double first_digits_share(int sampled)
{
    const size_t count = 4;
    struct atoll_space s = grid(count, 6, rising, rising_prefix);
    struct atoll_random random = {4, 0};
    struct atoll_point point;
    unsigned zero = 0;
    s.context = &count;
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(sampled ? atoll_legal_sample(&s, &random, 4096, accept_rising, &s, &point)
                                 : atoll_legal_search(&s, &random, 4096, accept_rising, &s, &point),
                         1);
        zero += point.digits[0] == 0;
    }
    return zero / 2000.0;
}

/* 56 of the 126 rising points start with 0; a plain search starts with each digit equally often. */
static void samples_are_nearly_uniform(void **state)
{
    double uniform = 56 / 126.0, searched = first_digits_share(0), sampled = first_digits_share(1);
    assert_true(searched < 1 / 6.0 + 0.03);
    assert_true(sampled > uniform - 0.08 && sampled < uniform + 0.08);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_listed_in_order),
        cmocka_unit_test(lists_say_when_they_are_not_complete),
        cmocka_unit_test(rare_points_are_found_without_the_product),
        cmocka_unit_test(samples_are_nearly_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

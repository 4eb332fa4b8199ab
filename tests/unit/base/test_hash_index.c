#include "tests/support/expect.h"

#include <stdlib.h>

#include "base/random.h"
#include "base/array.h"
#include "base/hash_index.h"

#define COUNT 5000

struct wanted {
    const uint64_t *values;
    uint64_t value;
};

static int equal(const void *context, uint32_t position)
{
    const struct wanted *w = context;
    return w->values[position] == w->value;
}

/* Many share a key on purpose. */
static uint64_t key_of(uint64_t value)
{
    return value % 97;
}

static void finds_what_was_added(void **state)
{
    uint64_t *values = malloc(COUNT * sizeof(*values));
    struct atoll_index index = {NULL, 0, 0};
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = atoll_random_at(3, i);
        assert_int_equal(atoll_index_add(&index, key_of(values[i]), i, NULL), 0);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        struct wanted w = {values, values[i]};
        assert_int_equal(atoll_index_find(&index, key_of(values[i]), equal, &w), i);
    }
    struct wanted missing = {values, 1};
    assert_int_equal(atoll_index_find(&index, key_of(1), equal, &missing), ATOLL_NONE);
    atoll_index_fini(&index);
    assert_int_equal(atoll_index_find(&index, key_of(1), equal, &missing), ATOLL_NONE);
    free(values);
}

static void arrays_grow_to_their_limit(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint16_t *items = NULL;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(atoll_array_reserve(&items, &capacity, i + 1, sizeof(*items), &err), 0);
        assert_true(capacity > i && items[i] == 0);
        items[i] = (uint16_t)i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    assert_int_equal(atoll_array_reserve(&items, &capacity, ATOLL_ARRAY_LIMIT + 1, sizeof(*items), &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "elements");
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_added),
        cmocka_unit_test(arrays_grow_to_their_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <stdlib.h>

#include "mpi-eval/evaluator/object_cache.h"

static struct atoll_object *take(struct atoll_object_cache *cache, unsigned number)
{
    struct atoll_id id = atoll_id_of(&number, sizeof(number));
    struct atoll_object *object = atoll_object_cache_take(cache, &id, NULL);
    assert_non_null(object);
    return object;
}

static void make_ready(struct atoll_object *object, size_t length)
{
    object->bytes = malloc(length);
    object->length = length;
    object->state = ATOLL_OBJECT_READY;
}

static void test_found_again(void **state)
{
    struct atoll_object_cache *cache = atoll_object_cache_create(1000, NULL);
    struct atoll_object *a = take(cache, 1);
    assert_int_equal(a->state, ATOLL_OBJECT_NEW);
    assert_ptr_equal(take(cache, 1), a);
    assert_int_equal(a->references, 2);
    make_ready(a, 100);
    atoll_object_cache_release(cache, a);
    atoll_object_cache_release(cache, a);
    assert_int_equal(atoll_object_cache_bytes(cache), 100);
    assert_ptr_equal(take(cache, 1), a);
    atoll_object_cache_release(cache, a);
    atoll_object_cache_release(cache, NULL);
    atoll_object_cache_destroy(cache);
}

static void test_failed_is_not_given_again(void **state)
{
    struct atoll_object_cache *cache = atoll_object_cache_create(1000, NULL);
    struct atoll_object *a = take(cache, 1);
    a->state = ATOLL_OBJECT_FAILED;
    struct atoll_object *b = take(cache, 1);
    assert_ptr_not_equal(a, b);
    atoll_object_cache_release(cache, a);
    atoll_object_cache_release(cache, b); /* never compiled: nothing to keep */
    assert_int_equal(take(cache, 1)->references, 1);
    atoll_object_cache_destroy(cache);
}

static void test_oldest_goes_first(void **state)
{
    struct atoll_object_cache *cache = atoll_object_cache_create(250, NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct atoll_object *object = take(cache, i);
        make_ready(object, 100);
        atoll_object_cache_release(cache, object);
    }
    struct atoll_object *used = take(cache, 0); /* now 1 is the oldest */
    atoll_object_cache_release(cache, used);
    struct atoll_object *third = take(cache, 2);
    make_ready(third, 100);
    atoll_object_cache_release(cache, third);
    assert_int_equal(atoll_object_cache_bytes(cache), 200);
    assert_int_equal(take(cache, 1)->state, ATOLL_OBJECT_NEW);
    assert_int_equal(take(cache, 0)->state, ATOLL_OBJECT_READY);
    atoll_object_cache_destroy(cache);
}

static void test_one_in_use_stays(void **state)
{
    struct atoll_object_cache *cache = atoll_object_cache_create(50, NULL);
    struct atoll_object *a = take(cache, 1), *b = take(cache, 2);
    make_ready(a, 100);
    make_ready(b, 100);
    atoll_object_cache_release(cache, b);
    assert_int_equal(atoll_object_cache_bytes(cache), 100);
    assert_ptr_equal(take(cache, 1), a);
    atoll_object_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_again),
        cmocka_unit_test(test_failed_is_not_given_again),
        cmocka_unit_test(test_oldest_goes_first),
        cmocka_unit_test(test_one_in_use_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

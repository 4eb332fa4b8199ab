/* test_room.c - what fits, what does not and how that is said, what nobody knows. */
#include "tests/support/expect.h"

#include <string.h>

#include "tests/unit/mpi-eval/fixture_candidates.h"

#include "mpi-eval/referee/room.h"

static void test_room(void **state)
{
    static const struct {
        struct atoll_room room;
        double device_bytes;
        const char *says; /* NULL: it fits */
    } rows[] = {
        {{1e9, 1e9, "buffers"}, 0, NULL},
        {{1e15, 0, "buffers"}, 0, NULL},
        {{2.56e10, 3.2e9, "the buffers of one candidate"},
         2.5e10,
         "task 'blend' cannot be run on this device: variant bench needs 25.6 GB for the buffers of one "
         "candidate, tensor x "
         "alone is 16.0 GB, and there are 3.2 GB (the device has 25.0 GB of memory); make the dims of that "
         "variant smaller, or "
         "take a device with more memory"},
        {{2.56e10, 1e9, "buffers"}, 0, "and there are 1.0 GB; make the dims"},
    };
    struct atoll_task *task = fixture_task();
    struct atoll_variant *bench = fixture_large_variant(task);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        int rc = atoll_room_check(&rows[i].room, task, bench, rows[i].device_bytes, &err);
        assert_int_equal(rc, rows[i].says ? -1 : 0);
        assert_int_equal(err.code, rows[i].says ? ATOLL_E_LIMIT : ATOLL_OK);
        if (rows[i].says && !strstr(err.text, rows[i].says))
            fail_msg("%s", err.text);
    }
    atoll_task_destroy(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

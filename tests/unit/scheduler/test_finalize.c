#include "tests/support/expect.h"

#include "archive-h5/lease.h"
#include "core/decision.h"
#include "scheduler/finalize.h"
#include "tests/unit/scheduler/sweep_scene.h"

static int has(const char *name)
{
    char path[PATH_MAX];
    return access(scratch_join(path, scene_dir, name), F_OK) == 0;
}

static void test_open_parts_make_nothing(void **state)
{
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 0);
    for (size_t i = 1; i < SCENE_PARTS; i++)
        scene_part_run(i, atoll_reason_name((enum atoll_reason)0));
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 0);
    assert_false(has("archive.h5") || has("report.html") || has("done.json"));
}

static void test_a_damaged_part_is_no_end(void **state)
{
    for (size_t i = 0; i < SCENE_PARTS; i++)
        scene_part_run(i, atoll_reason_name((enum atoll_reason)0));
    scene_part_damage(2);
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 0);
    assert_false(has("archive.h5") || has("report.html") || has("done.json"));
}

static void test_what_is_done_is_done(void **state)
{
    char path[PATH_MAX];
    scene_part_damage(0);
    scratch_write(scratch_join(path, scene_dir, "done.json"), "{}", 2);
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 1);
}

static void test_the_folder_is_free_afterwards(void **state)
{
    struct atoll_lease_seen seen;
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 0);
    assert_int_equal(atoll_lease_look(scene_dir, NULL, &seen, NULL), 0);
    assert_int_equal(seen.state, ATOLL_LEASE_RELEASED);
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open_parts_make_nothing, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_part_is_no_end, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_done_is_done, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_the_folder_is_free_afterwards, scene_set_up, scene_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

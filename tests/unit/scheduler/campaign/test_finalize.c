#include "tests/support/expect.h"

#include <sys/wait.h>
#include <time.h>

#include "base/lease.h"
#include "core/decision.h"
#include "scheduler/campaign/finalize.h"
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
    scratch_write(scratch_join(path, scene_dir, "archive.h5"), "", 0);
    scratch_write(scratch_join(path, scene_dir, "report.html"), "", 0);
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 1);
    unlink(path); /* the report: then it is looked at again, and a part is damaged */
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 0);
}

static void test_the_folder_is_free_afterwards(void **state)
{
    struct atoll_lease_seen seen;
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 0);
    assert_int_equal(atoll_lease_look(scene_dir, NULL, &seen, NULL), 0);
    assert_int_equal(seen.state, ATOLL_LEASE_RELEASED);
    assert_int_equal(atoll_finalize(scene_sweep, 0, NULL), 0);
}

/* A step whose search has ended and that still writes its files: a process that holds the part's lease. */
static pid_t writer_start(void)
{
    char part[PATH_MAX], path[PATH_MAX];
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const struct timespec a_while = {.tv_nsec = 700000000};
        struct atoll_lease_holder self;
        atoll_sweep_part_path(scene_sweep, 1, part, sizeof(part), NULL);
        atoll_lease_holder_self("12", 0, &self);
        struct atoll_lease *lease = atoll_lease_claim(part, &self, 0, NULL, NULL);
        if (!lease || write(ends[1], "x", 1) != 1)
            _exit(1);
        nanosleep(&a_while, NULL);
        scratch_write(scratch_join(path, scene_dir, "late"), "x", 1);
        atoll_lease_release(lease);
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static void test_nothing_is_merged_while_a_step_writes(void **state)
{
    int status;
    for (size_t i = 0; i < SCENE_PARTS; i++)
        scene_part_run(i, atoll_reason_name((enum atoll_reason)0));
    pid_t pid = writer_start();
    atoll_finalize(scene_sweep, 0, NULL);
    assert_true(has("late"));
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_open_parts_make_nothing, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_part_is_no_end, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_done_is_done, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_the_folder_is_free_afterwards, scene_set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_merged_while_a_step_writes, scene_set_up,
                                        scene_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Files that tasks share: of a suite, of suites beside each other, of the knowledge. */
#include "tests/unit/core/task/task_folder.h"

/* Tasks of one suite share files by links into each other's folders. */
static void test_shared(void **state)
{
    char own[160], seeds[320], reference[320], yaml[320], target[320];
    struct atoll_err err = ATOLL_ERR_INIT;
    write_task(0, NULL);
    memcpy(own, folder, sizeof(own));
    strcat(folder, "-twin");
    assert_int_equal(mkdir(folder, 0700), 0);
    write_task(0, NULL);
    snprintf(seeds, sizeof(seeds), "%s/seeds", folder);
    snprintf(reference, sizeof(reference), "%s/reference.c", folder);
    snprintf(target, sizeof(target), "../%s/seeds", strrchr(own, '/') + 1);
    assert_int_equal(symlink(target, seeds), 0);
    snprintf(target, sizeof(target), "../%s/reference.c", strrchr(own, '/') + 1);
    assert_int_equal(symlink(target, reference), 0);
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_int_equal(task->seed_count, 2);
    atoll_task_destroy(task);
    snprintf(yaml, sizeof(yaml), "%s/task.yaml", own);
    unlink(yaml);
    expect_failure(ATOLL_E_INPUT, "leads out of the task's folder, and into no task beside it");
    snprintf(yaml, sizeof(yaml), "%s/task.yaml", folder);
    unlink(yaml);
    unlink(seeds);
    unlink(reference);
    rmdir(folder);
    memcpy(folder, own, sizeof(own));
}

/* A seed that is an example of the knowledge beside the suites. */
static void test_shared_with_an_example(void **state)
{
    static const char *const made[] = {"-site",
                                       "-site/suites",
                                       "-site/suites/one",
                                       "-site/suites/one/task",
                                       "-site/suites/one/task/seeds",
                                       "-site/knowledge",
                                       "-site/knowledge/examples",
                                       "-site/knowledge/examples/cpu",
                                       "-site/knowledge/examples/cpu/scan"};
    enum { MADE = sizeof(made) / sizeof(*made) };
    static const char *const files[] = {
        "-site/suites/one/task/task.yaml",     "-site/suites/one/task/reference.c",
        "-site/suites/one/task/seeds/naive.c", "-site/suites/one/task/seeds/dev.cu",
        "-site/suites/one/task/seeds/scan.c",  "-site/knowledge/examples/cpu/scan/kernel.c"};
    char own[160], path[320];
    struct atoll_err err = ATOLL_ERR_INIT;
    memcpy(own, folder, sizeof(own));
    for (size_t i = 0; i < MADE; i++) {
        snprintf(path, sizeof(path), "%s%s", own, made[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(folder, sizeof(folder), "%s%s", own, made[MADE - 1]);
    write_text("example.yaml", "version: 1\n");
    write_text("kernel.c", "/* of an example */\n");
    snprintf(folder, sizeof(folder), "%s%s", own, made[3]);
    write_text("reference.c", "/* reference */\n");
    write_text("naive.c", "/* naive */\n");
    write_task(14, "baselines: [{name: naive, file: naive.c}]");
    snprintf(path, sizeof(path), "%s/seeds/scan.c", folder);
    assert_int_equal(symlink("../../../../knowledge/examples/cpu/scan/kernel.c", path), 0);
    struct atoll_task *task = atoll_task_load(folder, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_string_equal(task->seeds[task->seed_count - 1].source, "/* of an example */\n");
    atoll_task_destroy(task);
    snprintf(path, sizeof(path), "%s%s/example.yaml", own, made[MADE - 1]);
    unlink(path);
    expect_failure(ATOLL_E_INPUT, "and into no task beside it");
    snprintf(path, sizeof(path), "%s/naive.c", folder);
    unlink(path);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        snprintf(path, sizeof(path), "%s%s", own, files[i]);
        unlink(path);
    }
    for (size_t i = MADE; i-- > 0;) {
        snprintf(path, sizeof(path), "%s%s", own, made[i]);
        assert_int_equal(rmdir(path), 0);
    }
    memcpy(folder, own, sizeof(own));
}

/* The same between suites that lie beside each other, and no further. */
static void test_shared_between_suites(void **state)
{
    static const char *const made[] = {"-suite", "-suite/member", "-suite/member/seeds",
                                       "-far",   "-far/suite",    "-far/suite/member",
                                       "-other", "-other/task"};
    static const char *const links[] = {"-suite/member", "-far/suite/member"};
    char own[160], path[320], target[320];
    struct atoll_err err = ATOLL_ERR_INIT;
    memcpy(own, folder, sizeof(own));
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
        snprintf(path, sizeof(path), "%s%s", own, made[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    strcat(folder, "-other/task");
    write_task(0, NULL);
    write_text("reference.c", "/* of another suite */\n");
    snprintf(target, sizeof(target), "%s/reference.c", folder);
    for (size_t i = 0; i < 2; i++) {
        snprintf(folder, sizeof(folder), "%s%s", own, links[i]);
        write_text("naive.c", "/* naive */\n");
        write_task(14, "baselines: [{name: naive, file: naive.c}]");
        snprintf(path, sizeof(path), "%s/reference.c", folder);
        assert_int_equal(symlink(target, path), 0);
        if (i == 0) {
            struct atoll_task *task = atoll_task_load(folder, &err);
            if (!task)
                fail_msg("%s", err.text);
            assert_string_equal(task->reference_source, "/* of another suite */\n");
            atoll_task_destroy(task);
        } else {
            expect_failure(ATOLL_E_INPUT, "and into no task beside it");
        }
        unlink(path);
        snprintf(path, sizeof(path), "%s/naive.c", folder);
        unlink(path);
        snprintf(path, sizeof(path), "%s/task.yaml", folder);
        unlink(path);
    }
    unlink(target);
    snprintf(path, sizeof(path), "%s-other/task/task.yaml", own);
    unlink(path);
    for (size_t i = sizeof(made) / sizeof(*made); i-- > 0;) {
        snprintf(path, sizeof(path), "%s%s", own, made[i]);
        assert_int_equal(rmdir(path), 0);
    }
    memcpy(folder, own, sizeof(own));
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_shared_between_suites),
        cmocka_unit_test(test_shared_with_an_example),

    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

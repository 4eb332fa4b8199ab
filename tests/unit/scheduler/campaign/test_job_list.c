#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/campaign/job_list.h"
#include "tests/unit/archive-h5/scratch.h"

static char folder[PATH_MAX], cache[PATH_MAX];

static int make_folder(void **state)
{
    char path[PATH_MAX];
    scratch_make(folder);
    snprintf(cache, sizeof(cache), "%.4000s/.jobs-%d.json", folder, ATOLL_LAUNCHER_LOCAL);
    setenv("ATOLL_QUEUE", folder, 1);
    return setenv("XDG_STATE_HOME", scratch_join(path, folder, "state"), 1);
}

static int remove_folder(void **state)
{
    scratch_remove(folder);
    return 0;
}

/* "@" in the text stands for the time at which it was asked. */
static void keep(const char *text, double asked)
{
    const char *at = strchr(text, '@');
    char filled[4096];
    int length = at ? snprintf(filled, sizeof(filled), "%.*s%f%s", (int)(at - text), text, asked, at + 1)
                    : snprintf(filled, sizeof(filled), "%s", text);
    scratch_write(cache, filled, (size_t)length);
}

#define JOB(id, name, state) "{\"id\":\"" id "\",\"name\":\"" name "\",\"state\":" state "}"
#define LIST(asked, jobs)    "{\"asked_unix_s\":" asked ",\"launcher\":\"kept\",\"jobs\":[" jobs "]}"

static void test_a_young_list_is_told_again(void **state)
{
    struct atoll_job_list list;
    keep(LIST("@", JOB("7", "atoll-a", "4") "," JOB("8", "atoll-b", "1") "," JOB("9", "atoll-a", "7")),
         (double)time(NULL) - 5);
    assert_int_equal(atoll_job_list_get(ATOLL_LAUNCHER_LOCAL, 1, 60, &list, NULL), 0);
    assert_string_equal(list.launcher, "kept");
    assert_int_equal(list.count, 3);
    assert_true(list.age_s >= 4 && list.age_s < 60);
    assert_int_equal(atoll_job_list_live(&list, "atoll-a", NULL), 1);
    assert_int_equal(atoll_job_list_live(&list, "atoll-a", "7"), 0);
    assert_int_equal(atoll_job_list_live(&list, "atoll-", NULL), 0); /* a name is whole or another's */
    atoll_job_list_fini(&list);
}

/* Old, from the future (a clock that was set back), or no list at all. */
static void test_other_lists_are_asked_for_again(void **state)
{
    static const struct {
        const char *text;
        double ago_s;
    } cases[] = {{LIST("@", ""), 61},
                 {LIST("@", ""), -3600},
                 {LIST("0", ""), 0},
                 {LIST("\"@\"", ""), 0},
                 {"{\"asked_unix_s\":@,\"jobs\":{}}", 0},
                 {"[@]", 0},
                 {"{\"asked_unix_s\":@", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_job_list list;
        keep(cases[i].text, (double)time(NULL) - cases[i].ago_s);
        assert_int_equal(atoll_job_list_get(ATOLL_LAUNCHER_LOCAL, 5, 60, &list, NULL), 0);
        assert_string_not_equal(list.launcher, "kept");
        assert_int_equal(list.count, 0);
        atoll_job_list_fini(&list);
    }
}

static void test_jobs_that_are_none_do_no_harm(void **state)
{
    struct atoll_job_list list;
    keep(LIST("@", "3,null,[],{\"id\":4,\"state\":99,\"nodes\":[]}," JOB("1", "atoll-a", "-1")),
         (double)time(NULL));
    assert_int_equal(atoll_job_list_get(ATOLL_LAUNCHER_LOCAL, 1, 60, &list, NULL), 0);
    assert_int_equal(list.count, 5);
    assert_int_equal(list.jobs[3].state, ATOLL_JOB_UNKNOWN);
    assert_int_equal(atoll_job_list_live(&list, "atoll-a", NULL), 1);
    atoll_job_list_fini(&list);
}

static void test_an_older_list_is_better_than_none(void **state)
{
    struct atoll_job_list list;
    struct atoll_err err = ATOLL_ERR_INIT;
    char *state_home = strdup(getenv("XDG_STATE_HOME")), file[PATH_MAX];
    scratch_write(scratch_join(file, folder, "file"), "", 0);
    setenv("XDG_STATE_HOME", file, 1); /* the launcher's own folder cannot be made */
    keep(LIST("@", JOB("7", "atoll-a", "4")), (double)time(NULL) - 1000);
    assert_int_equal(atoll_job_list_get(ATOLL_LAUNCHER_LOCAL, 1, 60, &list, &err), 1);
    assert_true(err.code != ATOLL_OK && list.age_s > 900);
    assert_int_equal(list.count, 1);
    atoll_job_list_fini(&list);
    atoll_job_list_forget(ATOLL_LAUNCHER_LOCAL);
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_job_list_get(ATOLL_LAUNCHER_LOCAL, 1, 60, &list, &err), -1);
    assert_true(err.code != ATOLL_OK);
    setenv("XDG_STATE_HOME", state_home, 1);
    free(state_home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_young_list_is_told_again),
                                       cmocka_unit_test(test_other_lists_are_asked_for_again),
                                       cmocka_unit_test(test_jobs_that_are_none_do_no_harm),
                                       cmocka_unit_test(test_an_older_list_is_better_than_none)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

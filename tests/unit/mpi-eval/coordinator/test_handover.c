/* Two small files: what a run tells of itself, and whom a gate lets in. */
#include "tests/support/expect.h"

#include "mpi-eval/coordinator/handover.h"
#include "tests/unit/archive-h5/scratch.h"

static char folder[PATH_MAX], path[PATH_MAX];

static int make_file(void **state)
{
    scratch_make(folder);
    scratch_join(path, folder, "file");
    return atoll_handover_make(path, NULL);
}

static int remove_file(void **state)
{
    scratch_remove(folder);
    return 0;
}

static void expect_failure(int rc, struct atoll_err *err, enum atoll_code code, const char *part)
{
    assert_int_equal(rc, -1);
    expect_err(err, code, part);
    atoll_err_clear(err);
}

static void put(const char *text)
{
    scratch_write(path, text, strlen(text));
}

static void test_stages(void **state)
{
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_STARTING);
    assert_int_equal(atoll_handover_tell(path, ATOLL_HANDOVER_STANDS_BY, NULL), 0);
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_STANDS_BY);
    assert_int_equal(atoll_handover_tell(path, ATOLL_HANDOVER_ENDING, NULL), 0);
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_ENDING);
    assert_int_equal(atoll_handover_tell(path, ATOLL_HANDOVER_STOPPED, NULL), 0);
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_STOPPED);
    assert_int_equal(atoll_handover_tell(path, ATOLL_HANDOVER_RELEASED, NULL), 0);
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_RELEASED);
    assert_int_equal(atoll_handover_make(path, NULL), 0);
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_STARTING);
    assert_int_equal(atoll_handover_tell(NULL, ATOLL_HANDOVER_RELEASED, NULL), 0);
}

/* Half a line is none; a word that nobody knows is none; a file that is gone is not made again. */
static void test_what_is_no_stage(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    put("released");
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_STARTING);
    put("ending\nrelease\nreleased ");
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_ENDING);
    unlink(path);
    assert_int_equal(atoll_handover_look(path), ATOLL_HANDOVER_STARTING);
    expect_failure(atoll_handover_tell(path, ATOLL_HANDOVER_ENDING, &err), &err, ATOLL_E_NOTFOUND,
                   "cannot write");
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_a_gate(void **state)
{
    char campaign[PATH_MAX] = "";
    uint32_t epoch = 1;
    assert_int_equal(atoll_handover_look_at_gate(path, campaign, sizeof(campaign), &epoch, NULL), 0);
    assert_int_equal(atoll_handover_open_gate(path, "/a folder/parts/0001", 0, NULL), 0);
    assert_int_equal(atoll_handover_look_at_gate(path, campaign, sizeof(campaign), &epoch, NULL), 1);
    assert_string_equal(campaign, "/a folder/parts/0001");
    assert_int_equal(epoch, 0);
    assert_false(atoll_handover_has_devices(path));
    assert_int_equal(atoll_handover_give_devices(path, NULL), 0);
    assert_true(atoll_handover_has_devices(path));
    assert_int_equal(atoll_handover_look_at_gate(path, campaign, sizeof(campaign), &epoch, NULL), 1);
    assert_string_equal(campaign, "/a folder/parts/0001");
    assert_int_equal(atoll_handover_make(path, NULL), 0);
    assert_int_equal(atoll_handover_open_gate(path, "part", 4294967295u, NULL), 0);
    assert_int_equal(atoll_handover_look_at_gate(path, campaign, sizeof(campaign), &epoch, NULL), 1);
    assert_string_equal(campaign, "part");
    assert_int_equal(epoch, 4294967295u);
}

static void test_what_is_no_gate(void **state)
{
    static const struct {
        const char *text;
        int rc;
    } cases[] = {{"7 /half/a/pa", 0}, {"x /campaign\n", -1}, {"7\n", -1}, {"\n", -1}};
    char campaign[16] = "untouched";
    uint32_t epoch = 9;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        put(cases[i].text);
        assert_int_equal(atoll_handover_look_at_gate(path, campaign, sizeof(campaign), &epoch, NULL),
                         cases[i].rc);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    put("7 /campaign\ndevice");
    assert_false(atoll_handover_has_devices(path));
    put("7 /a/path/that/is/too/long\n");
    expect_failure(atoll_handover_look_at_gate(path, campaign, sizeof(campaign), &epoch, &err), &err,
                   ATOLL_E_PROTOCOL, "not the line of a gate");
    expect_failure(atoll_handover_open_gate(path, "two\nlines", 0, &err), &err, ATOLL_E_INPUT,
                   "a line can hold");
    expect_failure(atoll_handover_open_gate(path, "", 0, &err), &err, ATOLL_E_INPUT, "a line can hold");
    unlink(path);
    expect_failure(atoll_handover_open_gate(path, "part", 0, &err), &err, ATOLL_E_NOTFOUND, "cannot write");
    expect_failure(atoll_handover_look_at_gate(path, campaign, sizeof(campaign), &epoch, &err), &err,
                   ATOLL_E_NOTFOUND, "");
    assert_string_equal(campaign, "untouched");
    assert_int_equal(epoch, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stages, make_file, remove_file),
        cmocka_unit_test_setup_teardown(test_what_is_no_stage, make_file, remove_file),
        cmocka_unit_test_setup_teardown(test_a_gate, make_file, remove_file),
        cmocka_unit_test_setup_teardown(test_what_is_no_gate, make_file, remove_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

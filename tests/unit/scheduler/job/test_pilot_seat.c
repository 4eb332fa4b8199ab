/* A seat: what its step is told on the command line and by its gate, and what is left of it. */
#include "tests/support/expect.h"

#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "scheduler/job/pilot_seat.h"
#include "tests/unit/archive-h5/scratch.h"

/* Writes down its words, and ends when told: by its gate's end, or by the file "end". */
static const char program[] =
    "#!/bin/sh\n"
    "cd \"${0%/*}\" && echo \"$@\" > words.new && mv words.new words\n"
    "while [ ! -e end ]; do sleep 0.02; [ -z \"$HAS_GATE\" ] || [ -e *.gate ] || exit 5; done\n"
    "exit 3\n";

static const struct atoll_sweep_part parts[] = {{.name = "0000"}, {.name = "0001"}};
static const char *names[] = {"n1", "n2", NULL}, *bad_names[] = {"n1", "n2", NULL};
static char folder[PATH_MAX];
static struct atoll_site site;
static struct atoll_sweep sweep;
static struct atoll_allocation allocation;
static struct atoll_lease_holder self;
static struct atoll_node_list nodes, bad;
static const char *const eval_words[] = {"--verbose"};
static const struct atoll_pilot_settings settings = {
    .sweep = &sweep, .site = &site, .eval_words = eval_words, .eval_word_count = 1, .lease_time_s = 7};
static struct atoll_seat_job job;

static int make_folder(void **state)
{
    char path[PATH_MAX];
    scratch_make(folder);
    scratch_write(scratch_join(path, folder, "atoll-eval"), program, strlen(program));
    chmod(path, 0700);
    unsetenv("HAS_GATE");
    site = (struct atoll_site){.step = {.start = ATOLL_SITE_DIRECT}};
    sweep = (struct atoll_sweep){.dir = folder, .parts = parts, .part_count = 2, .evaluators_per_node = 1};
    allocation = (struct atoll_allocation){.job = "12", .restarts = 2};
    nodes = (struct atoll_node_list){names, 1};
    bad = (struct atoll_node_list){NULL, 0};
    atoll_lease_holder_self("12", 2, &self);
    job = (struct atoll_seat_job){.settings = &settings,
                                  .allocation = &allocation,
                                  .self = &self,
                                  .nodes = &nodes,
                                  .bad = &bad,
                                  .programs = folder,
                                  .drain_file = "/d",
                                  .paused_file = "/p",
                                  .calibrations = "/c",
                                  .lease_time_s = 7};
    return 0;
}

static int remove_folder(void **state)
{
    scratch_remove(folder);
    return 0;
}

static int is_there(const char *name)
{
    char path[PATH_MAX];
    return access(scratch_join(path, folder, name), F_OK) == 0;
}

/* What the step was told, with FOLDER for the folder. */
static const char *words(void)
{
    static char text[4096];
    char path[PATH_MAX], *at;
    size_t length;
    for (int i = 0; i < 500 && !is_there("words"); i++)
        usleep(20000);
    char *bytes = scratch_read(scratch_join(path, folder, "words"), &length);
    size_t n = 0, skip = strlen(folder);
    for (at = bytes; *at && *at != '\n' && n < sizeof(text) - 8;) {
        int is_folder = strncmp(at, folder, skip) == 0;
        n += (size_t)sprintf(text + n, is_folder ? "FOLDER" : "%c", *at);
        at += is_folder ? skip : 1;
    }
    text[n] = '\0';
    free(bytes);
    unlink(path);
    return text;
}

static const struct atoll_pilot_step_result *wait_end(struct atoll_seat *seat)
{
    const struct atoll_pilot_step_result *result;
    while (!(result = atoll_seat_look(seat)))
        atoll_pilot_step_pause();
    return result;
}

static void end_program(void)
{
    char path[PATH_MAX];
    scratch_write(scratch_join(path, folder, "end"), "", 0);
}

static void test_a_step_on_a_part(void **state)
{
    char path[PATH_MAX];
    struct atoll_seat *seat = atoll_seat_create(&job, 1, 9, 0, HUGE_VAL, 1, NULL);
    assert_non_null(seat);
    assert_string_equal(words(),
                        "--job 12 --restarts 2 --on-signal drain --drain-file /d --drain-file /p "
                        "--keep-calibration /c --stage FOLDER/.step-12.0.stage --lease-time 7 --takeover 9 "
                        "--verbose FOLDER/parts/0001");
    assert_int_equal(atoll_seat_part(seat), 1);
    assert_string_equal(atoll_seat_part_path(seat), scratch_join(path, folder, "parts/0001"));
    assert_int_equal(atoll_seat_stage(seat), ATOLL_HANDOVER_STARTING);
    atoll_handover_tell(scratch_join(path, folder, ".step-12.0.stage"), ATOLL_HANDOVER_ENDING, NULL);
    for (int i = 0; i < 50 && atoll_seat_stage(seat) != ATOLL_HANDOVER_ENDING; i++)
        usleep(10000); /* looked at now and then */
    assert_int_equal(atoll_seat_stage(seat), ATOLL_HANDOVER_ENDING);
    atoll_handover_tell(path, ATOLL_HANDOVER_RELEASED, NULL);
    assert_int_equal(atoll_seat_stage(seat), ATOLL_HANDOVER_RELEASED); /* at once from now on */
    atoll_seat_give_devices(seat);                                     /* which it has */
    assert_false(is_there(".step-12.0.gate"));
    end_program();
    assert_int_equal(wait_end(seat)->status, 3);
    atoll_seat_destroy(seat);
    assert_false(is_there(".step-12.0.stage"));
}

static void test_one_that_stands_by(void **state)
{
    char gate[PATH_MAX], named[PATH_MAX], path[PATH_MAX];
    uint32_t epoch = 0;
    job.calibrations = "";
    setenv("HAS_GATE", "1", 1);
    struct atoll_seat *seat = atoll_seat_create(&job, 0, 0, 1, 1e6, 1, NULL);
    assert_non_null(seat);
    const char *told = words(), *until = strstr(told, "--until ");
    assert_non_null(
        strstr(told, " --stage FOLDER/.step-12.0.stage --gate FOLDER/.step-12.0.gate --lease-time 7"));
    assert_null(strstr(told, "--keep-calibration"));
    assert_null(strstr(told, "--takeover"));
    assert_true(until && fabs(strtod(until + 8, NULL) - (double)time(NULL) - 1e6) < 60);
    scratch_join(gate, folder, ".step-12.0.gate");
    assert_int_equal(atoll_handover_look_at_gate(gate, named, sizeof(named), &epoch, NULL), 0);
    assert_int_equal(atoll_seat_give_part(seat, 1, 4, NULL), 0);
    assert_int_equal(atoll_handover_look_at_gate(gate, named, sizeof(named), &epoch, NULL), 1);
    assert_string_equal(named, scratch_join(path, folder, "parts/0001"));
    assert_int_equal(epoch, 4);
    assert_int_equal(atoll_seat_part(seat), 1);
    assert_false(atoll_handover_has_devices(gate));
    atoll_seat_give_devices(seat);
    assert_true(atoll_handover_has_devices(gate));
    atoll_seat_dismiss(seat);
    assert_false(is_there(".step-12.0.gate") || is_there(".step-12.0.stage"));
    assert_int_equal(job.step_count, 1);
}

static void test_nodes(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    nodes.count = 2;
    bad = (struct atoll_node_list){bad_names, 1};
    struct atoll_seat *seat = atoll_seat_create(&job, 0, 0, 0, HUGE_VAL, 1, &err);
    assert_non_null(seat);
    assert_true(atoll_seat_has_good_nodes(seat));
    bad.count = 2;
    assert_false(atoll_seat_has_good_nodes(seat));
    atoll_seat_destroy(seat);
    assert_null(atoll_seat_create(&job, 0, 0, 0, HUGE_VAL, 1, &err));
    expect_err(&err, ATOLL_E_CHILD, "no node of the job is left that the scheduler calls good");
    assert_false(is_there(".step-12.1.stage"));
    assert_null(atoll_seat_look(NULL));
    atoll_seat_destroy(NULL);
    atoll_seat_dismiss(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_step_on_a_part, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_one_that_stands_by, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_nodes, make_folder, remove_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

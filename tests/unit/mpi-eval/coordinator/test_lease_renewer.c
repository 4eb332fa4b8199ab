/* A lease that a thread renews, with real claims in a real folder; beats are short, and nothing depends on how short. */
#include "tests/support/expect.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/clock.h"
#include "mpi-eval/coordinator/lease_renewer.h"

#define PATIENCE_NS 60e9 /* of a machine that is busy with something else */

static char dir[] = ATOLL_BUILD_DIR "/tests/renewer.XXXXXX";
static struct atoll_lease_holder self;
static struct atoll_lease *lease;

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    return remove(path);
}

static int setup(void **state)
{
    memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
    atoll_lease_holder_self("local", 0, &self);
    if (!mkdtemp(dir))
        return -1;
    lease = atoll_lease_claim(dir, &self, 0, NULL, NULL);
    return lease ? 0 : -1;
}

static int teardown(void **state)
{
    atoll_lease_release(lease);
    return nftw(dir, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static uint64_t beat(void)
{
    struct atoll_lease_seen seen;
    assert_int_equal(atoll_lease_look(dir, NULL, &seen, NULL), 0);
    return seen.beat;
}

static void pause_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static struct atoll_lease_renewer *renewer_of(double time_s, double beat_s, double life_s)
{
    const struct atoll_lease_renewer_settings settings = {time_s, beat_s, life_s};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease_renewer *lease_renewer = atoll_lease_renewer_create(lease, &settings, &err);
    if (!lease_renewer)
        fail_msg("%s", err.text);
    return lease_renewer;
}

static void wait_for_beats(struct atoll_lease_renewer *lease_renewer, uint64_t count)
{
    double until = atoll_clock_mono_ns() + PATIENCE_NS;
    uint64_t want = beat() + count;
    while (beat() < want && atoll_clock_mono_ns() < until) {
        atoll_lease_renewer_show_life(lease_renewer);
        pause_ms(2);
    }
    assert_true(beat() >= want);
}

static void test_none(void **state)
{
    atoll_lease_renewer_show_life(NULL);
    assert_int_equal(atoll_lease_renewer_check(NULL, NULL), 0);
    atoll_lease_renewer_destroy(NULL);
}

static void test_renews(void **state)
{
    struct atoll_lease_renewer *lease_renewer = renewer_of(90, 0.005, 0);
    wait_for_beats(lease_renewer, 5);
    assert_int_equal(atoll_lease_renewer_check(lease_renewer, NULL), 0);
    atoll_lease_renewer_destroy(lease_renewer);
    uint64_t last = beat();
    pause_ms(20);
    assert_int_equal(beat(), last); /* nobody beats any more */
}

static void test_is_lost(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease_renewer *lease_renewer = renewer_of(90, 0.005, 0);
    struct atoll_lease *next = atoll_lease_claim(dir, &self, 1, NULL, NULL);
    double until = atoll_clock_mono_ns() + PATIENCE_NS;
    assert_non_null(next);
    while (atoll_lease_renewer_check(lease_renewer, &err) == 0 && atoll_clock_mono_ns() < until)
        pause_ms(2);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_non_null(strstr(err.text, "was taken over by epoch 2: pid "));
    assert_non_null(strstr(err.text, "writes nothing more"));
    assert_int_equal(atoll_lease_renewer_check(lease_renewer, NULL), -1);
    atoll_lease_renewer_destroy(lease_renewer);
    assert_int_equal(atoll_lease_renew(next, NULL), 0);
    atoll_lease_release(next);
}

/* The last renewal is always too old here: each check has to wait for one of its own. */
static void test_waits_for_a_renewal(void **state)
{
    struct atoll_lease_renewer *lease_renewer = renewer_of(0.5, 3600, 0);
    for (int i = 0; i < 3; i++) {
        uint64_t before = beat();
        pause_ms(450);
        assert_int_equal(atoll_lease_renewer_check(lease_renewer, NULL), 0);
        assert_true(beat() > before);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease *next = atoll_lease_claim(dir, &self, 1, NULL, NULL);
    assert_non_null(next);
    pause_ms(450);
    assert_int_equal(atoll_lease_renewer_check(lease_renewer, &err),
                     -1); /* it would not know without asking */
    assert_int_equal(err.code, ATOLL_E_BUSY);
    atoll_lease_renewer_destroy(lease_renewer);
    atoll_lease_release(next);
}

/* Rank 0 hangs: whoever watches sees the beat stand still.  It comes back: it beats again. */
static void test_hung_main(void **state)
{
    struct atoll_lease_renewer *lease_renewer = renewer_of(90, 0.005, 0.1);
    double until = atoll_clock_mono_ns() + PATIENCE_NS;
    uint64_t last;
    do {
        last = beat();
        pause_ms(200);
    } while (beat() != last && atoll_clock_mono_ns() < until);
    assert_int_equal(beat(), last);
    wait_for_beats(lease_renewer, 3);
    atoll_lease_renewer_destroy(lease_renewer);
}

int main(void)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test_setup_teardown(test_renews, setup, teardown),
        cmocka_unit_test_setup_teardown(test_is_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waits_for_a_renewal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hung_main, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

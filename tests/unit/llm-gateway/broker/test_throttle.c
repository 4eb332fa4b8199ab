#include "tests/support/expect.h"

#include <math.h>

#include "base/random.h"
#include "llm-gateway/broker/endpoint_limits.h"

static unsigned admit_all(struct atoll_throttle *t)
{
    unsigned count = 0;
    while (atoll_throttle_admit(t))
        count++;
    return count;
}

static void test_start_and_ceiling(void **state)
{
    static const struct {
        unsigned start, ceiling, admitted;
    } cases[] = {{8, 64, 8}, {64, 8, 8}, {0, 64, 1}, {1, 0, 1}, {0, 0, 1}, {1, 1, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_throttle t;
        atoll_throttle_init(&t, cases[i].start, cases[i].ceiling);
        assert_int_equal(admit_all(&t), cases[i].admitted);
        assert_int_equal(t.in_flight, cases[i].admitted);
    }
}

static void test_grows_by_one_a_round_trip(void **state)
{
    struct atoll_throttle t;
    atoll_throttle_init(&t, 8, 10);
    double before = t.window;
    admit_all(&t);
    for (int i = 0; i < 8; i++) {
        atoll_throttle_note(&t, ATOLL_LLM_OK, 0, 1);
        atoll_throttle_admit(&t);
    }
    assert_true(t.window > before + 0.9 && t.window <= before + 1.0);
    for (int i = 0; i < 1000; i++) {
        atoll_throttle_note(&t, ATOLL_LLM_TRUNCATED, 0, 1);
        admit_all(&t);
    }
    expect_close(t.window, 10, 0); /* and no further */
    assert_int_equal(t.in_flight, 10);
}

static void test_a_window_that_is_not_used_stays(void **state)
{
    struct atoll_throttle t;
    atoll_throttle_init(&t, 8, 64);
    for (int i = 0; i < 1000; i++) {
        assert_true(atoll_throttle_admit(&t));
        atoll_throttle_note(&t, ATOLL_LLM_OK, 0, 1);
    }
    expect_close(t.window, 8, 0);
}

static void test_halves_once_a_round_trip(void **state)
{
    struct atoll_throttle t;
    atoll_throttle_init(&t, 32, 64);
    admit_all(&t);
    for (int i = 0; i < 32; i++) /* all of one burst, sent at 5, are told so */
        atoll_throttle_note(&t, ATOLL_LLM_RATE, 5, 10 + i);
    expect_close(t.window, 16, 0);
    assert_int_equal(t.in_flight, 0);
    assert_int_equal(admit_all(&t), 16);
    expect_close(t.lowered_ns, 16, 0);
    for (int i = 0; i < 16; i++) /* sent at the instant of the decrease: not after it */
        atoll_throttle_note(&t, ATOLL_LLM_OVERLOADED, 16, 50);
    expect_close(t.window, 16, 0);
    for (int i = 0; i < 5; i++)
        atoll_throttle_note(&t, ATOLL_LLM_TIMEOUT, 45, 60);
    expect_close(t.window, 8, 0);
    for (int i = 0; i < 100; i++)
        atoll_throttle_note(&t, ATOLL_LLM_RATE, 100 + 2 * i, 101 + 2 * i);
    expect_close(t.window, 1, 0);
    assert_int_equal(t.in_flight, 0); /* more ends than starts */
    assert_int_equal(admit_all(&t), 1);
}

/* At most how many rejections an epoch of so many in flight may hold, and that the next epoch starts anew. */
static void test_how_many_are_too_many(void **state)
{
    static const struct {
        unsigned window, in_flight, epoch, rejections;
    } cases[] = {{1, 1, 20, 4},       {20, 20, 20, 4},     {21, 21, 21, 4},   {100, 100, 100, 16},
                 {200, 200, 200, 28}, {512, 512, 512, 64}, {1024, 10, 20, 4}, {1024, 200, 200, 28}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_throttle t;
        atoll_throttle_init(&t, cases[i].window, cases[i].window);
        for (unsigned n = 0; n < cases[i].in_flight; n++)
            assert_true(atoll_throttle_admit(&t));
        for (unsigned n = 0; n < 3 * cases[i].epoch;
             n++) { /* at the end of one epoch, at the start of the next */
            enum atoll_llm_status status =
                n % cases[i].epoch < cases[i].rejections ? ATOLL_LLM_RATE : ATOLL_LLM_OK;
            atoll_throttle_note(&t, status, n, n + 1);
            assert_true(atoll_throttle_admit(&t));
        }
        expect_close(t.window, cases[i].window, 0);
        for (unsigned n = 0; n <= cases[i].rejections; n++) {
            expect_close(t.window, cases[i].window, 0);
            atoll_throttle_note(&t, ATOLL_LLM_RATE, 1e6, 1e6 + 1);
        }
        expect_close(t.window, cases[i].window > 1 ? cases[i].window / 2.0 : 1, 0);
    }
}

static void test_what_counts(void **state)
{
    for (int s = 0; s <= ATOLL_LLM_STATUS_COUNT; s++) {
        struct atoll_throttle t;
        atoll_throttle_init(&t, 4, 64);
        admit_all(&t);
        atoll_throttle_note(&t, (enum atoll_llm_status)s, 1, 2);
        int shrinks = s == ATOLL_LLM_RATE || s == ATOLL_LLM_OVERLOADED || s == ATOLL_LLM_TIMEOUT;
        int grows = s == ATOLL_LLM_OK || s == ATOLL_LLM_TRUNCATED || s == ATOLL_LLM_EMPTY ||
                    s == ATOLL_LLM_REFUSED || s == ATOLL_LLM_TOOL_CALLS;
        expect_close(t.window, grows ? 4.25 : 4, 1e-12);
        assert_int_equal(t.in_flight, 3);
        assert_int_equal(t.answers, shrinks || grows);
        assert_int_equal(t.rejections, shrinks);
        for (int i = 0; i < 4; i++) /* nobody uses it: what it gained above is all */
            atoll_throttle_note(&t, (enum atoll_llm_status)s, 1, 2);
        expect_close(t.window, shrinks ? 2 : grows ? 4.25 : 4, 1e-12);
    }
}

/* What was sent before the window was lowered neither raises it nor counts. */
static void test_old_answers_say_nothing(void **state)
{
    static const enum atoll_llm_status statuses[] = {ATOLL_LLM_OK, ATOLL_LLM_RATE, ATOLL_LLM_TIMEOUT};
    struct atoll_throttle t;
    atoll_throttle_init(&t, 64, 64);
    admit_all(&t);
    for (int i = 0; i < 12; i++)
        atoll_throttle_note(&t, ATOLL_LLM_RATE, 1, 2);
    expect_close(t.window, 32, 0);
    for (int i = 0; i < 45; i++)
        atoll_throttle_note(&t, statuses[i % 3], 1, 3);
    expect_close(t.window, 32, 0);
    assert_int_equal(t.answers, 0);
    assert_int_equal(t.in_flight, 7);
}

/* ---- a server and as many callers as the window admits, in a time of its own ---- */

#define SERVICE_MS 100.0
#define MOST       512u

/* Ends of one kind come in the order of their starts: each takes as long as the others. */
struct lane {
    double takes_ms;
    unsigned first, count;
    double started_ms[MOST];
    enum atoll_llm_status status[MOST];
};

struct world {
    struct atoll_throttle throttle;
    struct atoll_random random;
    struct lane served, rejected;
    unsigned room;      /* calls that the server works at; those beyond are rejected */
    double error_ratio; /* of those it works at, by chance */
    double now_ms, window_sum, window_least, window_most;
    unsigned long calls, answers;
};

static void send_one(struct world *w)
{
    struct lane *lane = w->served.count < w->room ? &w->served : &w->rejected;
    unsigned place = (lane->first + lane->count++) % MOST;
    int is_error = atoll_random_unit(atoll_random_next(&w->random)) < w->error_ratio;
    assert_true(lane->count <= MOST);
    lane->started_ms[place] = w->now_ms;
    lane->status[place] = lane == &w->rejected ? ATOLL_LLM_RATE
                          : is_error           ? ATOLL_LLM_OVERLOADED
                                               : ATOLL_LLM_OK;
}

static double end_ms(const struct lane *lane)
{
    return lane->count ? lane->started_ms[lane->first] + lane->takes_ms : INFINITY;
}

static void end_one(struct world *w)
{
    struct lane *lane = end_ms(&w->served) <= end_ms(&w->rejected) ? &w->served : &w->rejected;
    double started_ms = lane->started_ms[lane->first], before_ms = w->now_ms;
    enum atoll_llm_status status = lane->status[lane->first];
    w->now_ms = end_ms(lane);
    w->window_sum += w->throttle.window * (w->now_ms - before_ms);
    lane->first = (lane->first + 1) % MOST;
    lane->count--;
    w->calls++;
    w->answers += status == ATOLL_LLM_OK;
    atoll_throttle_note(&w->throttle, status, started_ms * 1e6, w->now_ms * 1e6);
    w->window_least = fmin(w->window_least, w->throttle.window);
    w->window_most = fmax(w->window_most, w->throttle.window);
}

/* Calls wait at the door all the time. */
static void live(struct world *w, double round_trips)
{
    double until_ms = w->now_ms + round_trips * SERVICE_MS;
    w->window_sum = 0;
    w->calls = w->answers = 0;
    w->window_least = w->window_most = w->throttle.window;
    while (w->now_ms < until_ms) {
        while (atoll_throttle_admit(&w->throttle))
            send_one(w);
        end_one(w);
    }
}

static void begin(struct world *w, unsigned start, unsigned room, double error_ratio, double rejected_ms)
{
    *w = (struct world){.random = {.key = room + start},
                        .served.takes_ms = SERVICE_MS,
                        .rejected.takes_ms = rejected_ms,
                        .room = room,
                        .error_ratio = error_ratio};
    atoll_throttle_init(&w->throttle, start, MOST);
}

/* From the ceiling down and from one up: near what the server has room for, whether it rejects at once or late, and also
 * where it errs besides.  A window that halves is three quarters of its peak on average. */
static void test_settles_at_a_real_limit(void **state)
{
    static const unsigned rooms[] = {4, 32, 200}, starts[] = {MOST, 1};
    static const double rejections_ms[] = {1, SERVICE_MS}, error_ratios[] = {0, 0.06};
    for (int i = 0; i < 24; i++) {
        struct world w;
        unsigned room = rooms[i % 3];
        begin(&w, starts[i / 3 % 2], room, error_ratios[i / 12], rejections_ms[i / 6 % 2]);
        live(&w, 20);
        assert_true(w.throttle.window < 1.3 * room + 4); /* it comes down fast */
        live(&w, 480);
        live(&w, 1000);
        assert_true(w.window_most < 1.3 * room + 4);
        assert_in_range((uintmax_t)(w.window_sum / 10 / SERVICE_MS / room), 70,
                        145); /* mean, in percent of room */
        assert_true((double)w.answers > 0.7 * 1000 * room);
        assert_true((double)w.calls < 1.5 * (double)w.answers);
    }
}

/* Six in a hundred fail by chance: a full window stays, a small one grows to the ceiling and stays there. */
static void test_random_errors_do_not_close_it(void **state)
{
    static const unsigned starts[] = {MOST, 64, 8, 1};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        struct world w;
        begin(&w, starts[i], MOST, 0.06, 1);
        live(&w, MOST - starts[i] + 200);
        assert_true(w.window_least >= starts[i]);
        expect_close(w.throttle.window, MOST, 0);
        live(&w, 1000);
        expect_close(w.window_least, MOST, 0);
        assert_true((double)w.answers > 0.93 * 1000 * MOST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_and_ceiling),
        cmocka_unit_test(test_grows_by_one_a_round_trip),
        cmocka_unit_test(test_a_window_that_is_not_used_stays),
        cmocka_unit_test(test_halves_once_a_round_trip),
        cmocka_unit_test(test_how_many_are_too_many),
        cmocka_unit_test(test_what_counts),
        cmocka_unit_test(test_old_answers_say_nothing),
        cmocka_unit_test(test_settles_at_a_real_limit),
        cmocka_unit_test(test_random_errors_do_not_close_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Level 7: who is counted, what that may take, and what an evaluation says of it; with a backend's table that counts what it
 * is asked. */
#include "tests/support/expect.h"

#include <math.h>
#include <string.h>

#include "core/task/task.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/referee/counting.h"
#include "mpi-eval/referee/kept_record.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/trial.h"
#include "tests/unit/archive-h5/scratch.h"

#define OFF    ATOLL_COUNTING_OFF
#define KNOWN  ATOLL_COUNTING_KNOWN
#define FAR    ATOLL_COUNTING_FAR
#define SPENT  ATOLL_COUNTING_SPENT
#define SMALL  ATOLL_COUNTING_SMALL
#define FULL   ATOLL_COUNTING_FULL
#define MS     1e6
#define SECOND 1e9
#define NEW    HUGE_VAL /* none of the task was counted before */

/* Sets that are known, by bit. */
#define HAS_SMALL (1u << ATOLL_METRICS_SMALL)
#define HAS_FULL  (1u << ATOLL_METRICS_FULL)

static void who_is_counted(void **state)
{
    static const struct {
        double ratio, budget;
        uint32_t all;
        struct atoll_counting_facts
            facts; /* known, fastest, behind, cost of small and full, device, counting */
        enum atoll_counting choice;
    } rows[] = {
        /* switched off is off for all */
        {0, 0.1, 0, {0, NEW, 0, {1, 1}, SECOND, 0}, OFF},
        {0, 0.1, 1, {HAS_FULL, NEW, 0, {1, 1}, SECOND, 0}, OFF},
        /* a binary is counted once, whoever brings it and wherever it stands */
        {1.5, 0.1, 0, {HAS_FULL, NEW, 0, {1, 1}, SECOND, 0}, KNOWN},
        {1.5, 0.1, 0, {HAS_FULL, 0, 9, {1, 1}, SECOND, 0}, KNOWN},
        {1.5, 0.1, 1, {HAS_FULL, 0, 1, {1, 1}, SECOND, 0}, KNOWN},
        /* with the small set, too, unless the full one is wanted now */
        {1.5, 0.1, 0, {HAS_SMALL, 0, 9, {1, 1}, SECOND, 0}, KNOWN},
        {1.5, 0.1, 0, {HAS_SMALL, 0, 1.2, {1, 1}, SECOND, 0}, KNOWN},
        {1.5, 0.1, 0, {HAS_SMALL, 0, 0.9, {1, 1}, SECOND, 0}, FULL},
        {1.5, 0.1, 0, {HAS_SMALL, 0, 0.9, {1, SECOND}, SECOND, 0}, KNOWN},
        {1.5, 0.1, 0, {HAS_SMALL, NEW, 9, {1, 1}, SECOND, 0}, FULL},
        {1.5, 0.1, 0, {HAS_SMALL, NEW, 9, {1, SECOND}, SECOND, 0}, KNOWN},
        {1.5, 0, 1, {HAS_SMALL, 0, 9, {1, SECOND}, SECOND, 0}, FULL},
        /* where all are wanted: whatever it costs */
        {1.5, 0, 1, {0, 0, 9, {1, SECOND}, SECOND, SECOND}, FULL},
        /* the fastest of its task: both sets up to the budget, beyond it the small one where none was counted or the
         * gain is a tenth */
        {1.5, 0.1, 0, {0, NEW, 0, {SECOND, SECOND}, 0, 0}, SMALL},
        {1.5, 0, 0, {0, NEW, 9, {SECOND, SECOND}, SECOND, SECOND}, SMALL},
        {1.5, 0.1, 0, {0, NEW, 9, {1, 100 * MS}, 900 * MS, 0}, FULL},
        {1.5, 0.1, 0, {0, NEW, 9, {1, 100 * MS}, 899 * MS, 0}, SMALL},
        {1.5, 0.1, 0, {0, 1.05, 9, {20 * MS, 100 * MS}, 980 * MS, 80 * MS}, SMALL},
        {1.5, 0.1, 0, {0, 1.05, 9, {20 * MS, 100 * MS}, 980 * MS, 81 * MS}, SPENT},
        {1.5, 0.1, 0, {0, 1.1, 9, {20 * MS, 100 * MS}, 980 * MS, 300 * MS}, SMALL},
        {1.5, 0.1, 0, {0, 1, 9, {20 * MS, 100 * MS}, 980 * MS, 0}, FAR},
        /* near ends at the ratio */
        {1.5, 1, 0, {0, 0, 1.5, {MS, MS}, SECOND, 0}, SMALL},
        {1.5, 1, 0, {0, 0, 1.51, {MS, MS}, SECOND, 0}, FAR},
        {3, 1, 0, {0, 0, 2.9, {MS, MS}, SECOND, 0}, SMALL},
        /* what may enter a cell has four fifths of it: 80 of 1,000 ms, this counting among them */
        {1.5, 0.1, 0, {0, 0, 0, {1, 80 * MS}, 921 * MS, 0}, FULL},
        {1.5, 0.1, 0, {0, 0, 0.9, {1, 80 * MS}, 919 * MS, 0}, SMALL},
        {1.5, 0.1, 0, {0, 0, 0.9, {1, 50 * MS}, 951 * MS, 30 * MS}, FULL},
        {1.5, 0.1, 0, {0, 0, 0.9, {1, 50 * MS}, 950 * MS, 31 * MS}, SMALL},
        {1.5, 0.1, 0, {0, 0, 0.9, {10 * MS, 50 * MS}, 950 * MS, 79 * MS}, SPENT},
        /* what does not has two fifths of it, for the small set */
        {1.5, 0.1, 0, {0, 0, 1, {40 * MS, 1}, 961 * MS, 0}, SMALL},
        {1.5, 0.1, 0, {0, 0, 1, {40 * MS, 1}, 960 * MS, 1 * MS}, SPENT},
        {1.5, 0.1, 0, {0, 0, 1.2, {40 * MS, 1}, 959 * MS, 0}, SPENT},
        {1.5, 0, 0, {0, 0, 0.5, {1, 1}, SECOND, 0}, SPENT},
        {1.5, 1, 0, {0, 0, 0.5, {SECOND, SECOND}, 5 * SECOND, 3 * SECOND}, FULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_setup setup = {
            .profile_ratio = rows[i].ratio, .profile_budget = rows[i].budget, .profile_all = rows[i].all};
        enum atoll_counting choice = atoll_counting_choose(&setup, &rows[i].facts);
        if (choice != rows[i].choice)
            fail_msg("row %zu: %u", i, choice);
    }
}

/* Thousand candidates of 200 ms, each second of which could enter a cell: a tenth of the time goes to counters. */
static void the_share_is_kept(void **state)
{
    struct atoll_setup setup = {.profile_ratio = 1.5, .profile_budget = 0.1};
    struct atoll_counting_book book = {0};
    unsigned small = 0, full = 0;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        struct atoll_counting_facts facts = {
            .behind = i % 2 ? 0.9 : 1.1,
            .ahead = i == 0 ? NEW : 0,
            .cost_ns = {atoll_counting_cost_ns(&book, ATOLL_METRICS_SMALL, 1 * MS),
                        atoll_counting_cost_ns(&book, ATOLL_METRICS_FULL, 1 * MS)},
            .device_ns = book.device_ns + 200 * MS,
            .counting_ns = book.counting_ns};
        enum atoll_counting choice = atoll_counting_choose(&setup, &facts);
        double wall_ns = choice == FULL ? 125 * MS : choice == SMALL ? 27 * MS : 0;
        if (wall_ns > 0)
            atoll_counting_paid(&book, choice == FULL ? ATOLL_METRICS_FULL : ATOLL_METRICS_SMALL, 1 * MS,
                                wall_ns);
        small += choice == SMALL;
        full += choice == FULL;
        book.device_ns += 200 * MS + wall_ns;
        if (i > 20)
            assert_true(book.counting_ns <= 0.1 * book.device_ns);
    }
    assert_true(book.counting_ns > 0.075 * book.device_ns);
    if (small <= 200 || full <= 5)
        fail_msg("%u small, %u full", small, full);
}

/* Kernels of 300 ms, each a little faster than the one before, at nine runs an evaluation: what leads pays, too. */
static void slow_leaders_keep_the_share(void **state)
{
    struct atoll_setup setup = {.profile_ratio = 1.5, .profile_budget = 0.1};
    struct atoll_counting_book book = {0};
    double counted_ns = 0, time_ns = 300 * MS;
    unsigned counted = 0;
    (void)state;
    for (unsigned i = 0; i < 400; i++, time_ns *= 0.99) {
        struct atoll_counting_facts facts = {
            .behind = 0.99,
            .ahead = counted_ns > 0 ? counted_ns / time_ns : NEW,
            .cost_ns = {atoll_counting_cost_ns(&book, ATOLL_METRICS_SMALL, time_ns),
                        atoll_counting_cost_ns(&book, ATOLL_METRICS_FULL, time_ns)},
            .device_ns = book.device_ns + 9 * time_ns,
            .counting_ns = book.counting_ns};
        enum atoll_counting choice = atoll_counting_choose(&setup, &facts);
        double wall_ns = choice == FULL    ? 125 * MS + 6 * time_ns
                         : choice == SMALL ? 27 * MS + 2 * time_ns
                                           : 0;
        if (wall_ns > 0) {
            atoll_counting_paid(&book, choice == FULL ? ATOLL_METRICS_FULL : ATOLL_METRICS_SMALL, time_ns,
                                wall_ns);
            counted_ns = time_ns;
            counted++;
        }
        book.device_ns += 9 * time_ns + wall_ns;
        if (i > 20)
            assert_true(book.counting_ns <= 0.11 * book.device_ns);
        assert_true(counted_ns / time_ns < 1.1); /* the best is never far from one that was counted */
    }
    assert_in_range(counted, 40, 300);
}

static void the_cost_is_learnt(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ATOLL_METRICS_SET_COUNT; i++) {
        struct atoll_counting_book book = {0};
        enum atoll_metrics_set set = (enum atoll_metrics_set)i;
        double unknown_ns = atoll_counting_cost_ns(&book, set, 0), runs;
        assert_true(unknown_ns > 50 * MS && unknown_ns < 1 * SECOND);
        /* passes of a slow kernel are its own time */
        runs = (atoll_counting_cost_ns(&book, set, 100 * MS) - unknown_ns) / (100 * MS);
        assert_true(runs > 1.9 && runs < 10);
        atoll_counting_paid(&book, set, 0, 500 * MS); /* the profiler was set up */
        for (int k = 0; k < 30; k++)
            atoll_counting_paid(&book, set, 10 * MS, (50 + 10 * runs) * MS);
        assert_true(fabs(atoll_counting_cost_ns(&book, set, 10 * MS) - (50 + 10 * runs) * MS) < 1 * MS);
        assert_true(fabs(atoll_counting_cost_ns(&book, set, 0) - 50 * MS) < 1 * MS);
        assert_true(fabs(book.counting_ns - (500 + 30 * (50 + 10 * runs)) * MS) < 1);
        for (int k = 0; k < 30; k++) /* and so is what takes longer from then on */
            atoll_counting_paid(&book, set, 0, 90 * MS);
        assert_true(fabs(atoll_counting_cost_ns(&book, set, 0) - 90 * MS) < 1 * MS);
        assert_true(atoll_counting_cost_ns(&book, 1 - set, 0) > 90 * MS);
        atoll_counting_paid(&book, set, 1 * SECOND, 1 * MS); /* the profiler was closed */
        assert_true(atoll_counting_cost_ns(&book, set, 0) > 0);
    }
}

static struct atoll_id id(uint64_t number)
{
    struct atoll_id id;
    memset(&id, 0, sizeof(id));
    memcpy(id.bytes, &number, sizeof(number));
    return id;
}

static void the_book_forgets_the_oldest(void **state)
{
    struct atoll_counting_book book = {0};
    struct atoll_id none = {{0}}, first = id(1), second = id(2), last = id(ATOLL_COUNTED_LIMIT + 1),
                    middle = id(500), task3 = id(3), task2 = id(2);
    (void)state;
    atoll_counting_put(&book, &(struct atoll_counted_kernel){.binary = none});
    assert_null(atoll_counting_find(&book, &none, 0, &none));
    for (uint64_t i = 1; i <= ATOLL_COUNTED_LIMIT + 1; i++)
        atoll_counting_put(
            &book, &(struct atoll_counted_kernel){.task = task3, .binary = id(i), .evaluation = 10 * i});
    assert_int_equal(book.count, ATOLL_COUNTED_LIMIT);
    assert_null(atoll_counting_find(&book, &task3, 0, &first));
    assert_int_equal(atoll_counting_find(&book, &task3, 0, &second)->evaluation, 20);
    assert_int_equal(atoll_counting_find(&book, &task3, 0, &last)->evaluation,
                     10 * (ATOLL_COUNTED_LIMIT + 1));
    assert_null(atoll_counting_find(&book, &task2, 0, &last)); /* another task, another variant: other work */
    assert_null(atoll_counting_find(&book, &task3, 1, &last));
    assert_null(atoll_counting_find(&book, &task3, 0, &none));
    /* the full set takes the place of the small one */
    atoll_counting_put(&book,
                       &(struct atoll_counted_kernel){
                           .task = task3, .binary = middle, .evaluation = 5, .set = ATOLL_METRICS_FULL});
    assert_int_equal(atoll_counting_find(&book, &task3, 0, &middle)->evaluation, 5);
    assert_int_equal(atoll_counting_find(&book, &task3, 0, &middle)->set, ATOLL_METRICS_FULL);
    assert_int_equal(atoll_counting_find(&book, &task3, 0, &last)->set, ATOLL_METRICS_SMALL);
    assert_int_equal(atoll_counting_find(&book, &task3, 0, &second)->evaluation, 20);
    atoll_counting_book_fini(&book);
    assert_null(atoll_counting_find(&book, &task3, 0, &second));
}

/* ---- an evaluation ---- */

static unsigned calls, calls_full;
static enum atoll_tier given;

static void counters_read(struct atoll_referee *referee, struct atoll_case *known,
                          struct atoll_loaded_candidate *candidate, uint32_t variant,
                          enum atoll_metrics_set set, struct atoll_profile *ret_profile)
{
    (void)referee;
    (void)known;
    calls++;
    calls_full += set == ATOLL_METRICS_FULL;
    assert_int_equal(variant, 3);
    assert_non_null(candidate);
    if (given != ATOLL_TIER_COUNTERS) {
        snprintf(ret_profile->reason, sizeof(ret_profile->reason), "closed");
        return;
    }
    ret_profile->tier = ATOLL_TIER_COUNTERS;
    ret_profile->counters[ATOLL_COUNTER_DRAM_THROUGHPUT] = 88;
    ret_profile->counters[ATOLL_COUNTER_SM_THROUGHPUT] = 30;
    ret_profile->intensity_flops_per_byte = 2;
}

static const struct atoll_backend with = {.name = "x", .profile = counters_read}, without = {.name = "y"};
static struct atoll_task task;

struct place {
    struct atoll_referee referee;
    struct atoll_case known;
};

static void place_init(struct place *p, const struct atoll_backend *backend, double ratio)
{
    memset(p, 0, sizeof(*p));
    memset(&task, 0, sizeof(task));
    task.variant_count = 5;
    task.variants[3] = (struct atoll_variant){.name = "bench", .kind = ATOLL_VARIANT_BENCH, .weight = 1};
    task.variants[4] = (struct atoll_variant){.name = "bench.2", .kind = ATOLL_VARIANT_BENCH, .weight = 1};
    p->referee.backend = backend;
    p->referee.setup.profile_ratio = ratio;
    p->referee.setup.profile_budget = 0.1;
    p->referee.info.empty_launch_ns = 2000;
    p->known.number = 7;
    p->known.task = &task;
    calls = calls_full = 0;
    given = ATOLL_TIER_COUNTERS;
}

static void timing_add(struct atoll_evaluation *e, uint32_t variant, double time_ns)
{
    e->timings[e->timing_count].variant = variant;
    e->timings[e->timing_count++].summary.median = time_ns;
}

/* number: of the evaluation, and of its binary unless that is given. */
static struct atoll_profile run(struct place *p, uint64_t number, struct atoll_id binary, double incumbent_ns,
                                double time_ns)
{
    struct atoll_loaded_candidate candidate = {.resources = {.kernel_count = 1, .registers = 42}};
    struct atoll_order order = {.evaluation = number, .incumbent_ns = incumbent_ns};
    struct atoll_evaluation e;
    atoll_evaluation_init(&e);
    e.binary = binary;
    timing_add(&e, 3, time_ns);
    atoll_counting_run(&p->referee, &p->known, &candidate, &order, &e);
    struct atoll_profile profile = e.profile;
    atoll_evaluation_fini(&e);
    return profile;
}

static void an_evaluation_says_what_it_is(void **state)
{
    static const struct {
        const struct atoll_backend *backend;
        double ratio, incumbent_ns, clock_hz;
        uint32_t kernels;
        unsigned calls;
        enum atoll_tier tier;
        enum atoll_limiter limiter;
        const char *reason;
    } rows[] = {
        {&with, 1.5, 0, 1e9, 1, 1, ATOLL_TIER_COUNTERS, ATOLL_LIMITER_MEMORY, "the small set of counters"},
        {&with, 1.5, 1e5, 1e9, 1, 0, ATOLL_TIER_STATIC, ATOLL_LIMITER_UNKNOWN,
         "too far behind the elite of its cell"},
        {&with, 1.5, 1.1e6, 1e9, 1, 0, ATOLL_TIER_STATIC, ATOLL_LIMITER_UNKNOWN,
         "counters had used up their share of the device's time"},
        {&with, 0, 0, 1e9, 0, 0, ATOLL_TIER_MONITOR, ATOLL_LIMITER_UNKNOWN, "counters are switched off"},
        {&without, 1.5, 0, 0, 0, 0, ATOLL_TIER_TIMES, ATOLL_LIMITER_UNKNOWN, "this backend has no counters"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct place p;
        struct atoll_loaded_candidate candidate = {
            .resources = {.kernel_count = rows[i].kernels, .registers = 42}};
        struct atoll_order order = {.incumbent_ns = rows[i].incumbent_ns};
        struct atoll_evaluation e;
        place_init(&p, rows[i].backend, rows[i].ratio);
        p.known.counted_ns = rows[i].incumbent_ns > 0 ? 1e3 : 0; /* a faster one was counted */
        atoll_evaluation_init(&e);
        e.profile.clock_hz = rows[i].clock_hz;
        timing_add(&e, 3, 1e6);
        atoll_counting_run(&p.referee, &p.known, &candidate, &order, &e);
        assert_int_equal(calls, rows[i].calls);
        assert_int_equal(e.profile.tier, rows[i].tier);
        assert_int_equal(e.profile.limiter, rows[i].limiter);
        assert_string_equal(e.profile.reason, rows[i].reason);
        assert_int_equal(e.profile.resources.registers, 42);
        assert_true(rows[i].calls ? e.profile.wall_ns > 0 : e.profile.wall_ns == 0);
        assert_true(p.referee.counting.counting_ns == e.profile.wall_ns);
        atoll_evaluation_fini(&e);
        atoll_counting_book_fini(&p.referee.counting);
    }
}

static void a_binary_is_counted_once(void **state)
{
    struct place p;
    (void)state;
    place_init(&p, &with, 1.5);
    run(&p, 17, id(5), 0, 1e6);
    struct atoll_profile again = run(&p, 18, id(5), 1e5, 1.1e6); /* far behind, and for nothing */
    assert_int_equal(calls, 1);
    assert_int_equal(again.tier, ATOLL_TIER_COUNTERS);
    assert_int_equal(again.limiter, ATOLL_LIMITER_MEMORY);
    assert_true(again.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] == 88 && again.intensity_flops_per_byte == 2);
    assert_true(again.wall_ns == 0 && again.resources.registers == 42);
    assert_string_equal(again.reason, "counters of evaluation 17, which has the same binary");
    /* what nobody knows the binary of is counted each time; so is what could not be counted before */
    run(&p, 19, id(0), 0, 0.9e6);
    run(&p, 20, id(0), 0, 0.8e6);
    assert_int_equal(calls, 3);
    given = ATOLL_TIER_TIMES;
    assert_string_equal(run(&p, 21, id(6), 0, 0.7e6).reason, "closed");
    given = ATOLL_TIER_COUNTERS;
    assert_int_equal(run(&p, 22, id(6), 0, 0.6e6).tier, ATOLL_TIER_COUNTERS);
    assert_int_equal(calls, 5);
    atoll_counting_book_fini(&p.referee.counting);
}

/* However little device time there was, and however far it is behind a rival: with a tenth of gain. */
static void the_fastest_of_a_task_is_counted(void **state)
{
    static const struct {
        double incumbent_ns, time_ns;
        unsigned calls;
    } rows[] = {
        {1e5, 9e6, 1},   {0, 9.5e6, 1},    {1e5, 8e6, 2}, {8e6, 8e6, 2},
        {8e6, 7.9e6, 2}, {9e6, 7.95e6, 2}, {0, 1e6, 3},
    };
    struct place p;
    (void)state;
    place_init(&p, &with, 1.5);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        run(&p, i, id(i + 1), rows[i].incumbent_ns, rows[i].time_ns);
        if (calls != rows[i].calls)
            fail_msg("row %zu: %u", i, calls);
    }
    assert_int_equal(calls_full, 0);
    /* with device time there is a share for others, and for the full set */
    p.referee.counting.device_ns = 100 * SECOND;
    assert_string_equal(run(&p, 90, id(90), 9e6, 7.95e6).reason, "");
    assert_string_equal(run(&p, 91, id(91), 7e6, 7.95e6).reason, "the small set of counters");
    assert_string_equal(run(&p, 92, id(92), 9e6, 0.9e6).reason, "");
    assert_int_equal(calls, 6);
    assert_int_equal(calls_full, 2);
    /* what was only near is read in full when it leads */
    run(&p, 93, id(91), 9e6, 7.95e6);
    assert_int_equal(calls_full, 3);
    run(&p, 94, id(91), 9e6, 7.95e6);
    assert_int_equal(calls, 7);
    atoll_counting_book_fini(&p.referee.counting);
}

/* The next part of a job knows what was counted, and goes on with the same share. */
static void a_book_outlives_its_referee(void **state)
{
    struct atoll_device_info info = {.backend = "x", .model = "m", .uuid = "u", .node = "n"}, other = info;
    char folder[PATH_MAX];
    struct place p;
    (void)state;
    snprintf(other.uuid, sizeof(other.uuid), "v");
    scratch_make(folder);
    place_init(&p, &with, 1.5);
    task.id = id(40);
    run(&p, 17, id(5), 0, 1e6);
    p.referee.counting.device_ns = 3 * SECOND;
    double counting_ns = p.referee.counting.counting_ns;
    atoll_counting_keep(&p.referee.counting, &info, 1); /* nobody asked for it */
    setenv(ATOLL_KEPT_RECORD_VARIABLE, folder, 1);
    struct atoll_counting_book book = {0};
    atoll_counting_remember(&book, &info, 2);
    assert_true(book.count == 0 && book.device_ns == 0);
    atoll_counting_keep(&p.referee.counting, &info, 1);
    atoll_counting_remember(&book, &other, 2);
    assert_int_equal(book.count, 0);
    atoll_counting_book_fini(&p.referee.counting);

    place_init(&p, &with, 1.5);
    task.id = id(40);
    p.known.number = 1; /* another number in another part */
    p.known.counted_ns = 1e5;
    atoll_counting_remember(&p.referee.counting, &info, 2);
    assert_true(p.referee.counting.device_ns == 3 * SECOND && p.referee.counting.counting_ns == counting_ns);
    struct atoll_profile again = run(&p, 3, id(5), 1e5, 1.1e6);
    assert_int_equal(calls, 0);
    assert_int_equal(again.tier, ATOLL_TIER_COUNTERS);
    assert_true(again.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] == 88 && again.intensity_flops_per_byte == 2);
    assert_string_equal(again.reason,
                        "counters of evaluation 17 of an earlier run, which has the same binary");
    task.id = id(41); /* the same binary is another task's work */
    run(&p, 4, id(5), 0, 0.1e6);
    assert_int_equal(calls, 1);
    atoll_counting_book_fini(&p.referee.counting);
    unsetenv(ATOLL_KEPT_RECORD_VARIABLE);
    scratch_remove(folder);
}

/* With a bar at each variant they decide; the incumbent then says nothing. */
static void bars_of_variants_decide(void **state)
{
    static const struct {
        double bars[2], incumbent_ns;
        unsigned calls;
    } rows[] = {{{1e6, 1e6}, 1, 1}, {{1e6, 4e5}, 1e9, 0}, {{0, 2e6}, 1, 1}, {{0, 0}, 1, 0}, {{0, 0}, 2e6, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct place p;
        struct atoll_loaded_candidate candidate = {0};
        struct atoll_order order = {.incumbent_ns = rows[i].incumbent_ns,
                                    .bars_ns = {0, 0, 0, rows[i].bars[0], rows[i].bars[1]}};
        struct atoll_evaluation e;
        place_init(&p, &with, 1.5);
        p.known.counted_ns = 1;
        p.referee.counting.device_ns = 100 * SECOND;
        atoll_evaluation_init(&e);
        timing_add(&e, 3, 1e6);
        timing_add(&e, 4, 2e6); /* mean of both over bars of 1 ms: 1.41 */
        atoll_counting_run(&p.referee, &p.known, &candidate, &order, &e);
        if (calls != rows[i].calls)
            fail_msg("row %zu: %u: %s", i, calls, e.profile.reason);
        atoll_evaluation_fini(&e);
        atoll_counting_book_fini(&p.referee.counting);
    }
}

/* By name; no name is the cpu. */
static void backends_are_found(void **state)
{
    (void)state;
    assert_ptr_equal(atoll_backend_find(""), &atoll_backend_cpu);
    assert_ptr_equal(atoll_backend_find("cpu"), &atoll_backend_cpu);
    assert_ptr_equal(atoll_backend_find("cuda"), &atoll_backend_cuda);
    assert_null(atoll_backend_find("cp"));
    assert_null(atoll_backend_find("nonsense"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_counted),
        cmocka_unit_test(the_share_is_kept),
        cmocka_unit_test(slow_leaders_keep_the_share),
        cmocka_unit_test(the_cost_is_learnt),
        cmocka_unit_test(the_book_forgets_the_oldest),
        cmocka_unit_test(an_evaluation_says_what_it_is),
        cmocka_unit_test(a_binary_is_counted_once),
        cmocka_unit_test(the_fastest_of_a_task_is_counted),
        cmocka_unit_test(a_book_outlives_its_referee),
        cmocka_unit_test(bars_of_variants_decide),
        cmocka_unit_test(backends_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

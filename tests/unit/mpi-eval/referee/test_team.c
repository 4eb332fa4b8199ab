/* The threads that share the referee's loops: everything is done once, and says the same with any number of them. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/backend/cpu/measure/expected.h"
#include "mpi-eval/referee/check.h"
#include "mpi-eval/referee/team.h"

enum { TEAMS = 3, ROWS = 500, COLUMNS = 701, COUNT = ROWS * COLUMNS, TENSOR = 2 };

static struct atoll_team *teams[TEAMS]; /* nobody, one thread, several on one core */

static int set_up(void **state)
{
    const int cores[] = {0, 0, 0, 0};
    teams[1] = atoll_team_create(cores, 1, NULL);
    teams[2] = atoll_team_create(cores, 4, NULL);
    return teams[1] && teams[2] ? 0 : -1;
}

static int tear_down(void **state)
{
    for (int i = 0; i < TEAMS; i++)
        atoll_team_destroy(teams[i]);
    return 0;
}

struct counting {
    atomic_uchar done[1000];
    size_t piece, count;
    atomic_int is_odd; /* a piece that is none */
};

static void count_units(void *context, size_t begin, size_t end)
{
    struct counting *c = context;
    if (begin % c->piece != 0 || end <= begin || (end - begin != c->piece && end != c->count))
        atomic_store(&c->is_odd, 1);
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add(&c->done[i], 1);
}

static void each_unit_is_done_once(void **state)
{
    static const size_t counts[] = {0, 1, 7, 8, 9, 1000}, pieces[] = {1, 7, 8, 2000};
    for (int t = 0; t < TEAMS; t++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
            for (size_t k = 0; k < sizeof(pieces) / sizeof(*pieces); k++) {
                struct counting c = {.piece = pieces[k], .count = counts[i]};
                atoll_team_run(teams[t], counts[i], pieces[k], count_units, &c);
                for (size_t u = 0; u < 1000; u++)
                    assert_int_equal(c.done[u], u < counts[i]);
                assert_int_equal(c.is_odd, 0);
            }
}

/* The context of a run is gone when it has returned: nobody may still be at it. */
static void nobody_is_left_behind(void **state)
{
    for (int i = 0; i < 3000; i++) {
        struct counting *c = calloc(1, sizeof(*c));
        assert_non_null(c);
        c->piece = 1;
        c->count = 3;
        atoll_team_run(teams[1 + i % 2], 3, 1, count_units, c);
        assert_int_equal(c->done[0] + c->done[1] + c->done[2], 3);
        memset(c, 0xff, sizeof(*c));
        free(c);
    }
}

/* Short runs leave threads behind that wake up too late for them: each comes and goes before a long one, or a settling, ends. */
static void late_ones_go_back_to_sleep(void **state)
{
    assert_int_equal(atoll_team_settle(NULL), 1);
    for (int i = 0; i < 200; i++) {
        struct counting c = {.piece = 1, .count = 2};
        atoll_team_run(teams[1 + i % 2], 2, 1, count_units, &c);
        int is_settled = i % 3 == 0; /* or not at all */
        for (int k = 0; k < 10000 && !is_settled; k++)
            is_settled = atoll_team_settle(teams[1 + i % 2]);
        assert_int_equal(is_settled, 1);
        assert_int_equal(c.done[0] + c.done[1], 2);
    }
}

static void copies_are_whole(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 300000, 65536};
    enum { RANGES = 5, BYTES = 1 << 19 };
    unsigned char *from = malloc(RANGES * BYTES), *to = malloc(RANGES * BYTES);
    assert_true(from && to);
    for (size_t i = 0; i < RANGES * BYTES; i++)
        from[i] = (unsigned char)atoll_random_at(3, i);
    for (int t = 0; t < TEAMS; t++) {
        struct atoll_team_range ranges[RANGES];
        memset(to, 0, RANGES * BYTES);
        for (size_t i = 0; i < RANGES; i++)
            ranges[i] = (struct atoll_team_range){to + i * BYTES + 3, from + i * BYTES, sizes[i]};
        atoll_team_copy(teams[t], ranges, RANGES, 4096);
        for (size_t i = 0; i < RANGES; i++) {
            assert_memory_equal(ranges[i].to, ranges[i].from, sizes[i]);
            assert_int_equal(to[i * BYTES + 3 + sizes[i]], 0);
        }
    }
    free(from);
    free(to);
}

/* Any byte, in any part, and the order of parts. */
static void hashes_agree(void **state)
{
    enum { BYTES = 3 * (256 << 10) + 77 };
    unsigned char *bytes = calloc(1, BYTES);
    assert_non_null(bytes);
    bytes[5] = 1;
    uint64_t alone = atoll_memory_hash(NULL, 9, bytes, BYTES);
    for (int t = 0; t < TEAMS; t++)
        assert_true(atoll_memory_hash(teams[t], 9, bytes, BYTES) == alone);
    for (size_t at = 0; at < BYTES; at += 9973) {
        bytes[at] ^= 0x40;
        assert_true(atoll_memory_hash(teams[2], 9, bytes, BYTES) != alone);
        bytes[at] ^= 0x40;
    }
    bytes[5] = 0;
    bytes[(256 << 10) + 5] = 1;
    assert_true(atoll_memory_hash(teams[2], 9, bytes, BYTES) != alone);
    free(bytes);
}

static void fills_agree(void **state)
{
    static double stale[COUNT];
    unsigned char *alone = malloc(sizeof(stale)), *shared = malloc(sizeof(stale));
    assert_true(alone && shared);
    for (size_t i = 0; i < COUNT; i++)
        stale[i] = (double)i * 0.25;
    for (uint64_t key = 0; key < 12; key++) {
        struct atoll_fill f;
        enum atoll_dtype dtype = key % 2 ? ATOLL_F32 : ATOLL_F64;
        atoll_fill_init(&f, dtype, COUNT, stale, key);
        memset(alone, 7, sizeof(stale));
        memset(shared, 7, sizeof(stale));
        atoll_fill_write(&f, NULL, alone);
        atoll_fill_write(&f, teams[2], shared);
        assert_memory_equal(alone, shared, sizeof(stale));
        for (size_t i = 0; i < COUNT; i += 997)
            assert_int_equal(atoll_fill_holds(&f, shared, i), 1);
    }
    free(alone);
    free(shared);
}

static struct atoll_finding finding_of(struct atoll_team *team, const struct atoll_task *task,
                                       const float *output, const double *values)
{
    struct atoll_finding f;
    struct atoll_variant variant = task->variants[0];
    variant.dims[0] = ROWS;
    variant.dims[1] = COLUMNS;
    struct atoll_check c = {task, &variant, TENSOR, output, values, NULL, NULL, team};
    assert_int_equal(atoll_check_compare(&c, &f, NULL), 0);
    return f;
}

/* One wrong element, anywhere, is found by all in the same words; a right output by none. */
static void comparisons_agree(void **state)
{
    static double values[COUNT];
    static float output[COUNT];
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", NULL);
    struct atoll_fingerprint print;
    assert_non_null(task);
    for (size_t i = 0; i < COUNT; i++)
        output[i] = (float)(values[i] = 4 * atoll_random_unit(atoll_random_at(5, i)) - 2);
    assert_int_equal(
        atoll_fingerprint_make(&print, teams[2], &task->tolerance, values, NULL, COUNT, 77, NULL), 0);
    for (size_t at = 0; at <= COUNT; at += COUNT / 5) {
        size_t k = at < COUNT ? at : COUNT - 1;
        float before = output[k];
        struct atoll_finding alone = finding_of(NULL, task, output, values);
        assert_int_equal(alone.wrong, 0);
        assert_int_equal(atoll_fingerprint_match(&print, teams[2], ATOLL_F32, output), 1);
        output[k] = before + 3;
        alone = finding_of(NULL, task, output, values);
        assert_int_equal(alone.wrong_count, 1);
        assert_int_equal(alone.worst_index, k);
        for (int t = 0; t < TEAMS; t++) {
            struct atoll_finding f = finding_of(teams[t], task, output, values);
            assert_string_equal(f.detail, alone.detail);
            assert_true(f.worst_error == alone.worst_error);
            assert_int_equal(atoll_fingerprint_match(&print, teams[t], ATOLL_F32, output), 0);
        }
        output[k] = before;
    }
    atoll_fingerprint_fini(&print);
    values[COUNT / 2] = INFINITY; /* found by whoever comes to it */
    assert_int_equal(
        atoll_fingerprint_make(&print, teams[2], &task->tolerance, values, NULL, COUNT, 77, NULL), 0);
    assert_int_equal(print.finite, 0);
    atoll_fingerprint_fini(&print);
    atoll_task_destroy(task);
}

static void inputs_agree(void **state)
{
    static float alone[COUNT], shared[COUNT];
    struct atoll_task *task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", NULL);
    assert_non_null(task);
    struct atoll_input_set set = {.variant = 0, .seed = 4, .distribution = ATOLL_DRAW_BASE};
    assert_int_equal(atoll_oracle_make_input(task, 0, &set, 4, COUNT, NULL, alone, NULL), 0);
    assert_int_equal(atoll_oracle_make_input(task, 0, &set, 4, COUNT, teams[2], shared, NULL), 0);
    assert_memory_equal(alone, shared, sizeof(alone));
    atoll_task_destroy(task);
}

static void a_team_may_be_nobody(void **state)
{
    const int cores[] = {-1};
    struct counting c = {.piece = 2, .count = 9};
    struct atoll_team *team = atoll_team_create(cores, 1, NULL); /* no such core */
    assert_non_null(team);
    atoll_team_run(team, 9, 2, count_units, &c);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(c.done[i], 1);
    atoll_team_destroy(team);
    atoll_team_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_unit_is_done_once),
        cmocka_unit_test(nobody_is_left_behind),
        cmocka_unit_test(late_ones_go_back_to_sleep),
        cmocka_unit_test(copies_are_whole),
        cmocka_unit_test(hashes_agree),
        cmocka_unit_test(fills_agree),
        cmocka_unit_test(comparisons_agree),
        cmocka_unit_test(inputs_agree),
        cmocka_unit_test(a_team_may_be_nobody),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

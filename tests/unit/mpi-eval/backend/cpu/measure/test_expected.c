/* The memory of the referee, with the reference of the fixture task in a real worker. */
#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cpu/compile/compile.h"
#include "mpi-eval/backend/cpu/measure/expected.h"

enum { COUNT = 19 * 37, X = 0, W = 1, Y = 2 };

static const uint8_t secret[32] = {9};
static struct atoll_task *task;
static struct atoll_compiler *compiler;
static struct atoll_memory *memory;
static struct atoll_oracle *oracle;

static int set_up(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler_settings settings = {.command = "cc",
                                               .flags = "-O1",
                                               .slots = 1,
                                               .deadline_ns = 20e9,
                                               .memory_bytes = (uint64_t)2 << 30,
                                               .output_bytes = (uint64_t)16 << 20};
    struct atoll_runner_settings runner = {.worker_path = ATOLL_BUILD_DIR "/atoll-worker", .thread_count = 2};
    (void)state;
    if (!(task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", &err)) ||
        !(compiler = atoll_cc_create(&settings, &err)) ||
        !(memory = atoll_memory_create((size_t)64 << 20, 0, &err)) ||
        !(oracle = atoll_oracle_create(task, compiler, &runner, memory, NULL, 5, &err))) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_oracle_destroy(oracle);
    atoll_memory_destroy(memory);
    atoll_compiler_destroy(compiler);
    atoll_task_destroy(task);
    return 0;
}

static struct atoll_expected *get(struct atoll_expected_cache *expected_cache, uint64_t series,
                                  uint64_t number, int need_full)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_input_set d = atoll_input_set_make(secret, task, 0, series, number);
    struct atoll_expected *a = atoll_expected_cache_get(expected_cache, oracle, task, 0, &d, need_full, &err);
    if (!a)
        fail_msg("%s", err.text);
    return a;
}

static void test_values(void **state)
{
    struct atoll_expected_cache *expected_cache =
        atoll_expected_cache_create((size_t)1 << 20, (size_t)1 << 20, 7, NULL, NULL);
    struct atoll_expected *a = get(expected_cache, 0, 0, 1);
    float x[COUNT], w[37];
    (void)state;
    assert_int_equal(a->truth.counts[Y], COUNT);
    assert_int_equal(atoll_expected_cache_input(expected_cache, a, task, X, x, NULL), 0);
    assert_int_equal(atoll_expected_cache_input(expected_cache, a, task, W, w, NULL), 0);
    for (int k = 0; k < COUNT; k++) {
        int j = k % 37, row = k - j;
        double r = (double)x[k] * w[j] + (double)x[row + (j + 1) % 37];
        assert_true(a->truth.values[Y][k] == r);
    }
    assert_true(a->truth.input_hash[X] == atoll_memory_hash(NULL, 5, x, sizeof(x)));
    assert_null(a->truth.scale[Y]);
    atoll_expected_cache_release(expected_cache, a);
    atoll_expected_cache_destroy(expected_cache);
}

/* Room for two answers: the third pushes the oldest out, its fingerprint stays, and it is asked again when
 * needed. */
static void test_budget(void **state)
{
    struct atoll_expected_cache *expected_cache =
        atoll_expected_cache_create(2 * COUNT * sizeof(double), (size_t)1 << 20, 7, NULL, NULL);
    uint16_t kept[8];
    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        atoll_expected_cache_release(expected_cache, get(expected_cache, 0, i, 1));
    atoll_expected_cache_release(expected_cache, get(expected_cache, 0, 1, 0));
    assert_int_equal(atoll_expected_cache_kept(expected_cache, 0, 0, kept, 8), 2);
    assert_true((kept[0] == 1 && kept[1] == 2) || (kept[0] == 2 && kept[1] == 1));
    struct atoll_expected *a = get(expected_cache, 0, 0, 0);
    assert_int_equal(a->is_full, 0);
    assert_int_equal(a->prints[Y].count, COUNT);
    atoll_expected_cache_release(expected_cache, a);
    a = get(expected_cache, 0, 0, 1);
    assert_int_equal(a->is_full, 1);
    assert_int_equal(atoll_expected_cache_kept(expected_cache, 0, 0, kept, 8), 2);
    atoll_expected_cache_release(expected_cache, a);
    atoll_expected_cache_destroy(expected_cache);
}

/* Held ones are never pushed out; fresh ones are forgotten with their last user. */
static void test_users(void **state)
{
    struct atoll_expected_cache *expected_cache = atoll_expected_cache_create(1, 1, 7, NULL, NULL);
    struct atoll_expected *a = get(expected_cache, 3, 0, 1), *same = get(expected_cache, 3, 0, 1),
                          *b = get(expected_cache, 0, 1, 1);
    uint16_t kept[8];
    (void)state;
    assert_ptr_equal(a, same);
    assert_int_equal(a->is_full && b->is_full, 1);
    struct atoll_expected *other = atoll_expected_cache_other(expected_cache, 0, 0, &a->input_set);
    assert_ptr_equal(other, b);
    assert_null(atoll_expected_cache_other(expected_cache, 1, 0, &a->input_set));
    assert_int_equal(atoll_expected_cache_kept(expected_cache, 0, 0, kept, 8),
                     1); /* the fresh one is no pool input set */
    atoll_expected_cache_release(expected_cache, other);
    atoll_expected_cache_release(expected_cache, same);
    assert_int_equal(a->is_full, 1);
    atoll_expected_cache_release(expected_cache, a);
    assert_int_equal(atoll_expected_cache_kept(expected_cache, 0, 0, kept, 8), 1); /* the fresh one is gone */
    atoll_expected_cache_release(expected_cache, b);
    atoll_expected_cache_release(expected_cache, NULL);
    atoll_expected_cache_destroy(expected_cache);
}

static void test_inputs_again(void **state)
{
    struct atoll_expected_cache *small = atoll_expected_cache_create((size_t)1 << 20, 1, 7, NULL, NULL);
    struct atoll_expected *a = get(small, 0, 4, 1);
    float before[COUNT], after[COUNT];
    (void)state;
    assert_int_equal(atoll_expected_cache_input(small, a, task, X, before, NULL), 0);
    atoll_expected_cache_release(small, a);
    atoll_expected_cache_release(small, get(small, 0, 5, 1)); /* drops the inputs of 4 */
    a = get(small, 0, 4, 0);
    assert_null(a->truth.inputs[X]);
    assert_int_equal(atoll_expected_cache_input(small, a, task, X, after, NULL), 0);
    assert_memory_equal(before, after, sizeof(before));
    assert_non_null(a->truth.inputs[X]);
    atoll_expected_cache_release(small, a);
    atoll_expected_cache_destroy(small);
}

/* One more finds room where nothing has to go for it: neither expected values nor inputs. */
static void test_room(void **state)
{
    static const struct {
        size_t values, inputs;
        int first, second;
    } rows[] = {{16 * COUNT, 1 << 20, 1, 0},
                {16 * COUNT - 1, 1 << 20, 0, 0},
                {24 * COUNT, 1 << 20, 1, 1},
                {1 << 20, 4 * COUNT, 0, 0},
                {1 << 20, 1 << 20, 1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_expected_cache *small =
            atoll_expected_cache_create(rows[i].values, rows[i].inputs, 9, NULL, NULL);
        struct atoll_input_set d = atoll_input_set_make(secret, task, 0, 0, 0);
        assert_int_equal(atoll_expected_cache_has_room(small, task, 0), rows[i].first);
        if (rows[i].first) {
            atoll_expected_cache_release(small,
                                         atoll_expected_cache_get(small, oracle, task, 0, &d, 0, NULL));
            assert_int_equal(atoll_expected_cache_has_room(small, task, 0), rows[i].second);
        }
        atoll_expected_cache_destroy(small);
    }
}

static void test_impact(void **state)
{
    struct atoll_input_set d = atoll_input_set_make(secret, task, 0, 0, 0);
    struct atoll_truth same = {0}, changed = {0};
    (void)state;
    assert_int_equal(atoll_oracle_ask(oracle, &d, -1, &same, NULL), 0);
    assert_int_equal(atoll_oracle_ask(oracle, &d, W, &changed, NULL), 0);
    assert_true(same.input_hash[X] == changed.input_hash[X]);
    assert_true(same.input_hash[W] != changed.input_hash[W]);
    assert_memory_not_equal(same.values[Y], changed.values[Y], COUNT * sizeof(double));
    atoll_truth_fini(&same);
    atoll_truth_fini(&changed);
}

/* A reference that does not compile, or runs out of bounds, says so and names the task. */
static void test_bad_reference(void **state)
{
    static const struct {
        const char *source, *says;
    } cases[] = {
        {"void reference(const struct atoll_reference_args *a, long unit) { nonsense; }", "does not compile"},
        {"void reference(const struct atoll_reference_args *a, long unit) { put_y(a, 703, 1.0); }",
         "writes outside of y"},
        {"void reference(const struct atoll_reference_args *a, long unit) { put_y(a, 1L << 40, 1.0); }",
         "SIGSEGV"},
    };
    struct atoll_runner_settings runner = {.worker_path = ATOLL_BUILD_DIR "/atoll-worker", .thread_count = 1};
    struct atoll_input_set d = atoll_input_set_make(secret, task, 0, 0, 0);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_task copy = *task;
        struct atoll_truth truth = {0};
        copy.reference_source = cases[i].source;
        struct atoll_oracle *o = atoll_oracle_create(&copy, compiler, &runner, memory, NULL, 5, &err);
        if (o)
            assert_int_equal(atoll_oracle_ask(o, &d, -1, &truth, &err), -1);
        if (err.code != ATOLL_E_INPUT || !strstr(err.text, cases[i].says) || !strstr(err.text, "blend"))
            fail_msg("case %zu: %s", i, err.text);
        atoll_truth_fini(&truth);
        atoll_oracle_destroy(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),       cmocka_unit_test(test_budget), cmocka_unit_test(test_users),
        cmocka_unit_test(test_inputs_again), cmocka_unit_test(test_room),   cmocka_unit_test(test_impact),
        cmocka_unit_test(test_bad_reference)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* Fingerprints of the device, by their model on the host: what they let pass and what not; and what the kernels are told. */
#include "tests/support/expect.h"

#include <string.h>

#include "mpi-eval/backend/cuda/measure/fingerprint.h"
#include "mpi-eval/referee/check.h"
#include "tests/support/fingerprint_model.h"

enum { COUNT = 20 * 1024 + 37, Y = 2, PAIRS = COUNT / ATOLL_PRINT_BLOCK + 1 + ATOLL_PRINT_SAMPLES };

static const atoll_u64 keys[2][2] = {{0x0123456789abcdefull, 0xfedcba9876543210ull}, {5, 7}};
static const struct atoll_tolerance tolerance = {.rtol = 1e-2, .atol = 1e-6};
static double values[COUNT], scale[COUNT];
static float right[COUNT], output[COUNT];
static struct model_pair pairs[PAIRS];

/* As far off as may be, in random directions. */
static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        double direction = 2 * atoll_random_unit(atoll_random_at(3, i)) - 1;
        values[i] = 4 * atoll_random_unit(atoll_random_at(1, i)) - 2;
        scale[i] = 1 + atoll_random_unit(atoll_random_at(2, i));
        right[i] = (float)(values[i] + 0.99 * direction * model_bound(&tolerance, values[i], scale[i]));
    }
    memcpy(output, right, sizeof(output));
    return 0;
}

static size_t off_under(const atoll_u64 key[2])
{
    double error2;
    model_make(&tolerance, values, scale, COUNT, key, Y, pairs);
    return model_match(pairs, ATOLL_F32, output, COUNT, key, Y, 1, &error2);
}

static void test_right_outputs_match(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++)
        assert_int_equal(off_under(keys[k]), 0);
    for (size_t i = 0; i < COUNT; i++) /* all at the upper end */
        output[i] = (float)(values[i] + 0.99 * model_bound(&tolerance, values[i], scale[i]));
    assert_int_equal(off_under(keys[0]), 0);
}

/* A block that holds something else, one where an error repeats in all blocks, NaN anywhere, and few wrong elements that the
 * samples meet. */
static void test_wrong_outputs_do_not(void **state)
{
    (void)state;
    for (size_t i = 5 * ATOLL_PRINT_BLOCK; i < 6 * ATOLL_PRINT_BLOCK; i++)
        output[i] = right[i - 1];
    assert_true(off_under(keys[0]) > 0);
    memcpy(output, right, sizeof(output));
    output[COUNT - 1] = NAN;
    assert_true(off_under(keys[0]) > 0);
    memcpy(output, right, sizeof(output));
    for (size_t i = 0; i < COUNT; i += ATOLL_PRINT_BLOCK) /* below what a block's sum sees */
        output[i] += 0.1f;
    assert_true(off_under(keys[0]) > 0);
    memcpy(output, right, sizeof(output));
    memset(&output[COUNT - 37], 0, 37 * sizeof(*output));
    assert_true(off_under(keys[0]) > 0);
}

/* What would cancel in a sum without weights, or under another key's. */
static void test_errors_do_not_cancel(void **state)
{
    size_t block = 9 * ATOLL_PRINT_BLOCK;
    (void)state;
    for (size_t i = 0; i < ATOLL_PRINT_BLOCK; i += 2) {
        double a = model_weight(keys[1], Y, block + i), b = model_weight(keys[1], Y, block + i + 1);
        output[block + i] = (float)(values[block + i] + b);
        output[block + i + 1] = (float)(values[block + i + 1] - a);
    }
    assert_true(off_under(keys[0]) > 0);
    model_make(&tolerance, values, scale, COUNT, keys[1], Y, pairs);
    size_t b = block / ATOLL_PRINT_BLOCK;
    double sum = 0;
    for (size_t i = 0; i < ATOLL_PRINT_BLOCK; i++)
        sum += model_weight(keys[1], Y, block + i) * output[block + i];
    assert_true(fabs(sum - pairs[b].value) <= pairs[b].bound); /* who knows the key gets past the sum */
}

/* Whether an output is let pass under a tolerance that has a norm as well. */
static int passes(double norm, const atoll_u64 key[2])
{
    struct atoll_tolerance t = tolerance;
    double expected2, bound2, error2;
    t.norm = norm;
    model_make(&t, values, scale, COUNT, key, Y, pairs);
    model_squares(&t, values, scale, COUNT, &expected2, &bound2);
    struct atoll_norm_rule rule = atoll_norm_rule_of(&t, expected2, bound2);
    struct atoll_cuda_fingerprint_finding f = {.pair_count = PAIRS};
    f.off_count = model_match(pairs, ATOLL_F32, output, COUNT, key, Y, rule.bound_ratio, &error2);
    f.error2 = error2;
    return atoll_cuda_fingerprint_matches(&f, COUNT, rule.error2_limit);
}

/* Norms of the error over that of the bounds: 1.2 the bounds imply the norm, 0.1 they are far from it. */
static double norm_of_bounds(double times)
{
    double expected2, bound2;
    model_squares(&tolerance, values, scale, COUNT, &expected2, &bound2);
    return times * sqrt(bound2 / expected2);
}

/* Each element within its bound, and the whole beyond the norm: nothing that a sum or a sample without the norm's share shows. */
static void test_bounds_do_not_hide_a_norm(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        assert_true(passes(norm_of_bounds(1.2), keys[k]));
        assert_true(passes(0, keys[k]));
        assert_false(passes(norm_of_bounds(0.1), keys[k]));
    }
    for (size_t i = 0; i < COUNT; i++) /* what honest kernels are off by */
        output[i] = (float)values[i];
    assert_true(passes(norm_of_bounds(0.1), keys[0]));
    for (size_t i = 0; i < COUNT; i++)
        output[i] = (float)(values[i] * (1 + 0.3e-2));
    assert_true(passes(norm_of_bounds(1.2), keys[0]));
    assert_false(passes(norm_of_bounds(0.1), keys[0]));
}

static int is_sampled(const atoll_u64 key[2], size_t at)
{
    size_t i = 0;
    while (i < ATOLL_PRINT_SAMPLES && atoll_print_place(key, Y, i, COUNT) != at)
        i++;
    return i < ATOLL_PRINT_SAMPLES;
}

/* One element of each block off by fifty times its bound, and none of those that are looked at by themselves: no sum shows it, all
 * of them do. */
static void test_sums_show_a_norm(void **state)
{
    (void)state;
    memcpy(output, right, sizeof(output));
    for (size_t b = 0; b < COUNT / ATOLL_PRINT_BLOCK; b++) {
        size_t at = b * ATOLL_PRINT_BLOCK;
        while (is_sampled(keys[0], at))
            at++;
        output[at] = (float)(values[at] + 50 * model_bound(&tolerance, values[at], scale[at]));
    }
    assert_int_equal(off_under(keys[0]), 0);
    assert_true(passes(0, keys[0]));
    assert_false(passes(norm_of_bounds(1.2), keys[0]));
}

static int is_half(size_t count, size_t of)
{
    return (double)count > 0.4 * (double)of && (double)count < 0.6 * (double)of;
}

/* Signs within a group, of a group from block to block, and from chunk to chunk. */
static void test_weights(void **state)
{
    enum { CHUNK = ATOLL_PRINT_CHUNK * ATOLL_PRINT_BLOCK };
    size_t unlike = 0, pairs_seen = 0, by_block = 0, by_chunk = 0;
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        double w = model_weight(keys[0], Y, i);
        assert_true(fabs(w) >= 0.5 && fabs(w) < 1.5);
        assert_true(w != model_weight(keys[0], Y + 1, i) && w != model_weight(keys[1], Y, i));
        if (i >= ATOLL_PRINT_BLOCK)
            by_block += w == -model_weight(keys[0], Y, i - ATOLL_PRINT_BLOCK);
        if (i >= CHUNK)
            by_chunk += w == -model_weight(keys[0], Y, i - CHUNK);
        if (i < ATOLL_PRINT_BLOCK && i % ATOLL_PRINT_GROUP) {
            unlike += w * model_weight(keys[0], Y, i - 1) < 0;
            pairs_seen++;
        }
    }
    assert_true(is_half(unlike, pairs_seen));
    assert_true(is_half(by_block, COUNT - ATOLL_PRINT_BLOCK));
    assert_true(is_half(by_chunk, COUNT - CHUNK));
}

static void test_places(void **state)
{
    size_t halves[2] = {0, 0};
    (void)state;
    for (size_t i = 0; i < ATOLL_PRINT_SAMPLES; i++) {
        assert_int_equal(atoll_print_place(keys[0], Y, i, ATOLL_PRINT_SAMPLES), i); /* all there are */
        atoll_u64 at = atoll_print_place(keys[0], Y, i, COUNT);
        assert_true(at < COUNT);
        halves[at < COUNT / 2]++;
    }
    assert_true(halves[0] > 400 && halves[1] > 400);
    assert_int_not_equal(atoll_print_place(keys[0], Y, 3, COUNT), atoll_print_place(keys[1], Y, 3, COUNT));
}

static void test_bytes(void **state)
{
    static const struct {
        uint64_t count, bytes;
    } rows[] = {
        {1, 32}, {128, 129 * 16}, {129, 131 * 16}, {1024, 1032 * 16}, {1 << 24, (131072 + 1024) * 16}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(atoll_cuda_fingerprint_bytes(rows[i].count), rows[i].bytes);
}

static void test_decides(void **state)
{
    static const struct {
        struct atoll_tolerance tolerance;
        int decides;
    } rows[] = {{{.rtol = 1e-3}, 1},
                {{.atol = 1e-3}, 1},
                {{.rtol = 0}, 1},
                {{.norm = 0.1}, 0},
                {{.rtol = 1e-3, .norm = 0.1}, 1},
                {{.rtol = 1e-3, .norm = 0.1, .cosine = 0.99}, 0},
                {{.cosine = 0.99}, 0},
                {{.rtol = 1e-3, .cosine = 0.99}, 0},
                {{.rtol = 1e-3, .wrong_share = 0.01}, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(atoll_cuda_fingerprint_decides(&rows[i].tolerance), rows[i].decides);
}

/* ---- launches ---- */

static struct atoll_device_command_launch launch_only(struct atoll_command_batch *batch)
{
    static struct atoll_device_command_launch launch;
    struct atoll_device_command command;
    struct atoll_reader reader;
    assert_int_equal(atoll_buffer_check(&batch->bytes, NULL), 0);
    atoll_reader_init(&reader, batch->bytes.data, batch->bytes.length);
    assert_int_equal(atoll_device_command_next(&reader, &command, &launch), 1);
    assert_int_equal(command.kind, ATOLL_DEVICE_COMMAND_LAUNCH);
    assert_int_equal(atoll_device_command_next(&reader, &command, &launch), 0);
    atoll_command_batch_clear(batch);
    return launch;
}

static void test_launches(void **state)
{
    static const struct {
        uint64_t count;
        uint32_t blocks;
    } rows[] = {{1, 1}, {1024, 4}, {131072, 4}, {131073, 5}, {1 << 20, 32}, {(uint64_t)1 << 36, 4224}};
    static const struct atoll_support_key key = {{11, 12}};
    struct atoll_task task = {.tolerance = tolerance};
    struct atoll_command_batch batch;
    struct atoll_print_launch p;
    (void)state;
    task.tensors[Y].dtype = ATOLL_BF16;
    atoll_command_batch_init(&batch);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (int makes = 0; makes < 2; makes++) {
            struct atoll_support_output o = {.tensor = Y,
                                             .address = 4096,
                                             .count = rows[i].count,
                                             .expected = 8192,
                                             .scale = 16384,
                                             .hash = 64,
                                             .hash_key = 99};
            if (makes)
                atoll_cuda_fingerprint_make(&batch, &task, &o, 32768, &key, 3, 128);
            else
                atoll_cuda_fingerprint_match(&batch, &task, &o, 32768, &key, 3, 0.25, 128);
            struct atoll_device_command_launch launch = launch_only(&batch);
            assert_int_equal(launch.function, makes ? ATOLL_KERNEL_print_make : ATOLL_KERNEL_print_match);
            assert_int_equal(launch.grid[0], rows[i].blocks);
            assert_int_equal(launch.param_bytes, sizeof(p));
            memcpy(&p, launch.params, sizeof(p));
            assert_true(p.count == rows[i].count && p.print == 32768 && p.result == 128 && p.salt == 3);
            assert_true(p.key[0] == 11 && p.key[1] == 12 && p.rtol == 1e-2 && p.atol == 1e-6);
            assert_int_equal(p.dtype, ATOLL_BF16);
            assert_true(p.bound_ratio == (makes ? 0 : 0.25));
            assert_true(makes ? p.expected == 8192 && p.scale == 16384 && !p.address && !p.output_hash
                              : !p.expected && !p.scale && p.address == 4096 && p.output_hash == 64 &&
                                    p.output_key == 99);
        }
    atoll_command_batch_fini(&batch);
}

static void test_read(void **state)
{
    unsigned char bytes[ATOLL_CUDA_FINGERPRINT_FINDING_BYTES] = {0};
    struct atoll_print_area area = {.off_count = 1,
                                    .nonfinite_count = 2,
                                    .pair_count = 3,
                                    .hash = 4,
                                    .expected2 = 5,
                                    .bound2 = 6,
                                    .error2 = 7};
    struct atoll_cuda_fingerprint_finding f;
    (void)state;
    memcpy(bytes, &area, sizeof(area));
    atoll_cuda_fingerprint_read(bytes, &f);
    assert_true(f.off_count == 1 && f.nonfinite_count == 2 && f.pair_count == 3 && f.hash == 4 &&
                f.expected2 == 5 && f.bound2 == 6 && f.error2 == 7);
    f = (struct atoll_cuda_fingerprint_finding){.pair_count = 129, .error2 = 7};
    assert_int_equal(atoll_cuda_fingerprint_matches(&f, 128, HUGE_VAL), 1);
    assert_int_equal(atoll_cuda_fingerprint_matches(&f, 128, 7), 1);
    assert_int_equal(atoll_cuda_fingerprint_matches(&f, 128, 6.9), 0);
    assert_int_equal(atoll_cuda_fingerprint_matches(&f, 129, HUGE_VAL), 0);
    f.off_count = 1;
    assert_int_equal(atoll_cuda_fingerprint_matches(&f, 128, HUGE_VAL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_right_outputs_match, set_up),
        cmocka_unit_test_setup(test_wrong_outputs_do_not, set_up),
        cmocka_unit_test_setup(test_errors_do_not_cancel, set_up),
        cmocka_unit_test_setup(test_bounds_do_not_hide_a_norm, set_up),
        cmocka_unit_test_setup(test_sums_show_a_norm, set_up),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_decides),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

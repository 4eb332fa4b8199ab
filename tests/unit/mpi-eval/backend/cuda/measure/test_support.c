/* Our kernels' host side: the keystream's check vectors, fills, launches, texts of findings, the known answer. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mpi-eval/backend/cuda/kernels/cipher.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "mpi-eval/backend/cuda/measure/support.h"

static struct atoll_task *task; /* x [M, N] f32, w [N] f32, y [M, N] f32 out; variant 0: M 19, N 37 */
static const struct atoll_variant *variant;
enum { Y = 2, COUNT = 19 * 37 };

static int set_up(void **state)
{
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", NULL);
    variant = task ? &task->variants[0] : NULL;
    return task ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_task_destroy(task);
    return 0;
}

/* kat_vectors of Random123, threefry2x64 with 13 rounds. */
static void test_threefry(void **state)
{
    static const struct {
        atoll_u64 counter[2], key[2], expected[2];
    } rows[] = {
        {{0, 0}, {0, 0}, {0xf167b032c3b480bdull, 0xe91f9fee4b7a6fb5ull}},
        {{~0ull, ~0ull}, {~0ull, ~0ull}, {0xccdec5c917a874b1ull, 0x4df53abca26ceb01ull}},
        {{0x243f6a8885a308d3ull, 0x13198a2e03707344ull},
         {0xa4093822299f31d0ull, 0x082efa98ec4e6c89ull},
         {0xc3aac71561042993ull, 0x3fe7ae8801aff316ull}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_pair p =
            atoll_threefry(rows[i].key[0], rows[i].key[1], rows[i].counter[0], rows[i].counter[1]);
        assert_int_equal(p.x, rows[i].expected[0]);
        assert_int_equal(p.y, rows[i].expected[1]);
    }
}

/* Every bit of a word, its place and the key change a term. */
static void test_hash_terms(void **state)
{
    for (atoll_u64 i = 0; i < 100; i++) {
        atoll_u64 word = atoll_random_at(1, i), key = atoll_position_key(7, i),
                  term = atoll_hash_term(key, word);
        for (int bit = 0; bit < 64; bit++)
            assert_int_not_equal(atoll_hash_term(key, word ^ 1ull << bit), term);
        assert_int_not_equal(atoll_hash_term(atoll_position_key(7, i + 1), word), term);
        assert_int_not_equal(atoll_hash_term(atoll_position_key(8, i), word), term);
    }
}

/* The smallest frame that covers a candidate's, and none for what is too large. */
static void test_frames(void **state)
{
    static const struct {
        uint32_t bytes, frame, kernel;
    } rows[] = {{0, 1024, ATOLL_KERNEL_local_1k},
                {1024, 1024, ATOLL_KERNEL_local_1k},
                {1025, 2048, ATOLL_KERNEL_local_2k},
                {2048, 2048, ATOLL_KERNEL_local_2k},
                {2049, 4096, ATOLL_KERNEL_local_4k},
                {3072, 4096, ATOLL_KERNEL_local_4k},
                {4096, 4096, ATOLL_KERNEL_local_4k},
                {4104, 8192, ATOLL_KERNEL_local_8k},
                {8192, 8192, ATOLL_KERNEL_local_8k},
                {12288, 16384, ATOLL_KERNEL_local_16k},
                {16384, 16384, ATOLL_KERNEL_local_16k},
                {16385, 0, 0},
                {UINT32_MAX, 0, 0}};
    struct atoll_command_batch batch;
    atoll_command_batch_init(&batch);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_device_command_launch launch;
        struct atoll_device_command command;
        struct atoll_reader reader;
        assert_int_equal(atoll_support_local_frame(rows[i].bytes), rows[i].frame);
        atoll_command_batch_clear(&batch);
        assert_int_equal(atoll_support_local_wipe(&batch, rows[i].bytes, 132, 2048, 1, 0),
                         rows[i].frame ? 0 : -1);
        assert_int_equal(batch.count, rows[i].frame ? 2 : 0);
        atoll_reader_init(&reader, batch.bytes.data, batch.bytes.length);
        while (atoll_device_command_next(&reader, &command, &launch) == 1)
            assert_true(launch.function == rows[i].kernel && launch.grid[0] == 132 * 9 &&
                        launch.block[0] == 256);
    }
    atoll_command_batch_fini(&batch);
    assert_true(atoll_support_local_room(4096, 132, 2048) == (uint64_t)132 * 2048 * 4096 / 8 * 9);
}

static void test_fill_params(void **state)
{
    for (unsigned t = 0; t < ATOLL_DTYPE_COUNT; t++)
        for (unsigned k = 0; k < ATOLL_FILL_COUNT; k++)
            for (double size = 0; size <= 1e300; size = size > 0 ? size * 1e5 : 1e-300) {
                struct atoll_support_fill fill = {(enum atoll_fill_kind)k, (enum atoll_dtype)t, 3, size};
                struct atoll_fill_params p = atoll_support_fill_params(&fill);
                int is_float = atoll_dtype_is_float(fill.dtype);
                assert_int_equal(p.dtype, t);
                if (p.form == ATOLL_FILL_FORM_FLOAT) {
                    assert_true(p.mask <= p.top && isfinite(atoll_dtype_decode(p.dtype, p.top)));
                    assert_int_equal(p.top & p.sign, 0);
                } else if (p.form == ATOLL_FILL_FORM_INTEGER) {
                    assert_true(p.top >= 1 && p.top <= 4000000000u);
                    assert_true(atoll_dtype_decode(p.dtype, p.top) == (double)p.top);
                } else if (k == ATOLL_FILL_POISON && is_float) {
                    assert_true(isnan(atoll_dtype_decode(p.dtype, p.top)));
                } else if (k == ATOLL_FILL_ZERO) {
                    assert_int_equal(p.top, 0);
                } else if (k == ATOLL_FILL_STALE) {
                    assert_true(p.scale > 0);
                }
            }
    struct atoll_support_fill fill = {ATOLL_FILL_RANDOM, ATOLL_F32, 3, 4};
    assert_true(atoll_dtype_decode(ATOLL_F32, atoll_support_fill_params(&fill).top) == 8);
}

static void test_sealed_bytes(void **state)
{
    static const struct {
        uint64_t count, plain, scaled;
    } rows[] = {{1, 16, 32}, {2, 16, 32}, {3, 32, 48}, {4, 32, 48}, {5, 48, 80}, {1000, 8000, 12000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        assert_int_equal(atoll_support_sealed_bytes(rows[i].count, 0), rows[i].plain);
        assert_int_equal(atoll_support_sealed_bytes(rows[i].count, 1), rows[i].scaled);
    }
}

static void test_known_answer(void **state)
{
    uint64_t one = atoll_support_known_answer_expected(1, 5), two = atoll_support_known_answer_expected(2, 5);
    assert_int_not_equal(one, 0);
    assert_int_not_equal(one, two);
    assert_int_not_equal(one, atoll_support_known_answer_expected(1, 6));
    assert_int_equal(two, atoll_support_known_answer_expected(2, 5));
}

/* ---- launches ---- */

/* Takes the batch apart: launches by function, and what the last one was. */
static unsigned count_launches(struct atoll_command_batch *batch, uint32_t function,
                               struct atoll_device_command_launch *ret_last)
{
    struct atoll_reader reader;
    struct atoll_device_command command;
    static struct atoll_device_command_launch launch;
    unsigned count = 0;
    int rc;
    assert_int_equal(atoll_buffer_check(&batch->bytes, NULL), 0);
    atoll_reader_init(&reader, batch->bytes.data, batch->bytes.length);
    while ((rc = atoll_device_command_next(&reader, &command, &launch)) == 1)
        if (command.kind == ATOLL_DEVICE_COMMAND_LAUNCH && launch.function == function) {
            count++;
            *ret_last = launch;
        }
    assert_int_equal(rc, 0);
    return count;
}

static void test_launches(void **state)
{
    static struct atoll_device_command_launch last;
    struct atoll_command_batch s;
    double flops = 0;
    atoll_command_batch_init(&s);
    atoll_support_flush(&s, 4096, 1 << 20, 132, 232448, 1, 64);
    assert_int_equal(count_launches(&s, ATOLL_KERNEL_flush_write, &last), 1);
    assert_int_equal(last.grid[0], 132);
    assert_int_equal(last.shared_bytes, 232448);
    assert_int_equal(count_launches(&s, ATOLL_KERNEL_flush_read, &last), 1);
    atoll_command_batch_clear(&s);
    assert_int_equal(atoll_support_fma(&s, ATOLL_I32, 132, 64, &flops), -1);
    assert_int_equal(atoll_support_tensor(&s, ATOLL_I64, 132, 64, &flops), -1);
    assert_int_equal(s.count, 0);
    assert_int_equal(atoll_support_tensor(&s, ATOLL_DTYPE_COUNT, 132, 64, &flops), 0);
    assert_int_equal(count_launches(&s, ATOLL_KERNEL_tensor_tf32, &last), 1);
    assert_true(flops > 1e11 && flops < 1e13);
    atoll_command_batch_fini(&s);
}

/* Few units are spread over many blocks, many share them, and scratch bounds how many are under way. */
static void test_reference_geometry(void **state)
{
    static const struct {
        int64_t rows;
        uint64_t scratch_bytes;
        uint32_t block, blocks;
    } rows[] = {{1, 0, 1, 1}, {2000, 0, 1, 2000}, {5000, 0, 4, 1250}, {1000001, 0, 64, 15626}};
    static struct atoll_device_command_launch last;
    uint64_t inputs[3] = {4096, 8192, 0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_variant v = *variant;
        struct atoll_support_output output = {.tensor = Y, .count = 10, .expected = 65536};
        struct atoll_command_batch s;
        v.dims[0] = rows[i].rows;
        atoll_command_batch_init(&s);
        assert_int_equal(atoll_cuda_reference_run(&s, 70, task, &v, inputs, &output, 1, NULL, 0,
                                                  rows[i].scratch_bytes, NULL),
                         0);
        assert_int_equal(count_launches(&s, 70, &last), 1);
        assert_int_equal(last.block[0], rows[i].block);
        assert_int_equal(last.grid[0], rows[i].blocks);
        atoll_command_batch_fini(&s);
    }
}

/* Some units take as many threads as they are, and scratch for no more. */
static void test_reference_of_some_units(void **state)
{
    static struct atoll_device_command_launch last;
    const struct atoll_cuda_units rows[] = {
        {0, 1, 1}, {7, UINT64_MAX, UINT64_MAX}, {1000, 3, 3}, {1001, 3, 3}};
    const uint32_t threads[] = {1000, 7, 1000, 1000};
    struct atoll_task with = *task;
    struct atoll_variant v = *variant;
    struct atoll_support_output output = {.tensor = Y, .count = 10, .expected = 65536};
    uint64_t inputs[3] = {4096, 8192, 0};
    with.scratch = task->units;
    v.dims[0] = 1000;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_command_batch s;
        atoll_command_batch_init(&s);
        assert_int_equal(
            atoll_cuda_reference_run(&s, 70, &with, &v, inputs, &output, 1, &rows[i], 64, 8000 * 1000, NULL),
            0);
        assert_int_equal(count_launches(&s, 70, &last), 1);
        assert_int_equal(last.block[0] * last.grid[0], threads[i]);
        atoll_command_batch_fini(&s);
    }
}

/* Words of these values that are set from an address on, before anything is launched. */
static uint64_t words_set(struct atoll_command_batch *batch, uint64_t address, uint32_t value)
{
    struct atoll_reader reader;
    struct atoll_device_command command = {.kind = ATOLL_DEVICE_COMMAND_SET};
    static struct atoll_device_command_launch launch;
    uint64_t words = 0;
    atoll_reader_init(&reader, batch->bytes.data, batch->bytes.length);
    while (command.kind == ATOLL_DEVICE_COMMAND_SET &&
           atoll_device_command_next(&reader, &command, &launch) == 1)
        if (command.kind == ATOLL_DEVICE_COMMAND_SET && command.address == address && command.slot == value)
            words += command.count;
    return words;
}

/* What all units are known to put is not written twice; everything else is NaN, or no scale, before. */
static void test_reference_fills(void **state)
{
    static const struct {
        const char *folder;
        uint64_t units, elements; /* 0: all */
        int has_fill, has_scale_fill;
    } rows[] = {{"suites/starter/bias_gelu", 0, 0, 0, 0}, {"suites/starter/bias_gelu", 5, 0, 1, 1},
                {"suites/starter/bias_gelu", 5, 5, 1, 1}, {"suites/starter/bias_gelu", 0, 6, 1, 1},
                {"suites/starter/transpose", 0, 0, 0, 1}, {"suites/starter/layernorm", 0, 0, 1, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct atoll_cuda_units some = {rows[i].units, 0, 0};
        uint64_t inputs[ATOLL_TASK_TENSOR_LIMIT] = {0};
        char path[4096];
        size_t elements, t = 0;
        struct atoll_command_batch s;
        snprintf(path, sizeof(path), ATOLL_SOURCE_DIR "/%s", rows[i].folder);
        struct atoll_task *of = atoll_task_load(path, NULL);
        assert_non_null(of);
        while (strcmp(of->tensors[t].name, "y") != 0)
            t++;
        assert_int_equal(atoll_task_element_count(of, t, &of->variants[0], &elements, NULL), 0);
        struct atoll_support_output output = {.tensor = t,
                                              .count = rows[i].elements ? rows[i].elements : elements,
                                              .expected = 65536,
                                              .scale = 131072};
        uint64_t words = 2 * output.count;
        atoll_command_batch_init(&s);
        assert_int_equal(atoll_cuda_reference_run(&s, 70, of, &of->variants[0], inputs, &output, 1, &some,
                                                  4096, 1 << 20, NULL),
                         0);
        if (words_set(&s, 65536, 0xffffffffu) != (rows[i].has_fill ? words : 0) ||
            words_set(&s, 131072, 0) != (rows[i].has_scale_fill ? words : 0))
            fail_msg("row %zu", i);
        atoll_command_batch_clear(&s);
        atoll_cuda_tiled_run(&s, 71, of, &of->variants[0], inputs, &output, 1, 132);
        assert_int_equal(words_set(&s, 65536, 0xffffffffu), words);
        assert_int_equal(words_set(&s, 131072, 0), words);
        atoll_command_batch_fini(&s);
        atoll_task_destroy(of);
    }
}

static void test_reference_scratch(void **state)
{
    static struct atoll_device_command_launch last;
    struct atoll_task with = *task;
    struct atoll_variant v = *variant;
    struct atoll_support_output output = {.tensor = Y, .count = 10, .expected = 65536};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_command_batch s;
    uint64_t inputs[3] = {4096, 8192, 0};
    with.scratch = task->units; /* M doubles */
    v.dims[0] = 1000;
    atoll_command_batch_init(&s);
    assert_int_equal(
        atoll_cuda_reference_run(&s, 70, &with, &v, inputs, &output, 1, NULL, 64, 8000 * 100 + 7999, &err),
        0);
    assert_int_equal(count_launches(&s, 70, &last), 1);
    assert_int_equal(last.block[0] * last.grid[0], 100);
    assert_int_equal(atoll_cuda_reference_run(&s, 70, &with, &v, inputs, &output, 1, NULL, 64, 7999, &err),
                     -1);
    assert_string_equal(err.text,
                        "the reference needs 8000 bytes of scratch per unit, there are 7999 for all of "
                        "them; while launching the reference of task 'blend'");
    atoll_command_batch_fini(&s);
}

/* ---- findings ---- */

static int judge(const struct atoll_support_finding *f, const struct atoll_tolerance *tolerance,
                 char *ret_detail)
{
    struct atoll_task copy = *task;
    if (tolerance)
        copy.tolerance = *tolerance;
    return atoll_support_finding_judge(f, &copy, Y, variant, ret_detail, ATOLL_DETAIL_BYTES);
}

static void test_judge(void **state)
{
    static const struct atoll_tolerance share = {.rtol = 1e-3, .wrong_share = 0.01};
    static const struct atoll_tolerance norm = {.norm = 0.01}, cosine = {.cosine = 0.99};
    const struct {
        struct atoll_support_finding f;
        const struct atoll_tolerance *tolerance;
        const char *text; /* "" right */
    } rows[] = {
        {{.count = COUNT, .worst_error = 0.5}, NULL, ""},
        {{.count = COUNT,
          .wrong_count = 7,
          .worst_index = 128,
          .first_wrong = 100,
          .last_wrong = 200,
          .worst_error = 12,
          .worst_expected = 1,
          .worst_got = 2},
         NULL,
         "y: 7 of 703 elements wrong (0.996 %); worst y[3, 17]: expected 1, got 2, error 12 times the "
         "tolerance; "
         "wrong ones lie between y[2, 26] and y[5, 15]"},
        {{.count = COUNT, .wrong_count = 7, .worst_error = 12}, &share, ""},
        {{.count = COUNT, .wrong_count = 8, .worst_error = 12},
         &share,
         "y: 8 of 703 elements wrong (1.14 %); worst y[0, 0]: expected 0, got 0, error 12 times the "
         "tolerance"},
        {{.count = COUNT, .wrong_count = 1, .unwritten_count = 1, .worst_error = 1e30},
         &share,
         "y: 1 of 703 elements wrong (0.142 %); worst y[0, 0]: expected 0, got 0; 1 were never written"},
        {{.count = COUNT, .wrong_count = 1, .nonfinite_count = 1, .worst_error = 1e30, .worst_got = HUGE_VAL},
         &share,
         "y: 1 of 703 elements wrong (0.142 %); worst y[0, 0]: expected 0, got inf; 1 are NaN or Inf where "
         "the "
         "reference is finite"},
        {{.count = COUNT, .difference2 = 0.0001, .expected2 = 4}, &norm, ""},
        {{.count = COUNT, .wrong_count = 90, .worst_error = 3, .difference2 = 0.0001, .expected2 = 4},
         &norm,
         ""},
        {{.count = COUNT,
          .wrong_count = 90,
          .unwritten_count = 2,
          .worst_error = 3,
          .difference2 = 0.0001,
          .expected2 = 4},
         &norm,
         "y: 2 of 703 elements wrong (0.284 %); worst y[0, 0]: expected 0, got 0; 2 were never written"},
        {{.count = COUNT, .wrong_count = 1, .worst_error = 1e30, .expected2 = HUGE_VAL},
         &norm,
         "y: 1 of 703 elements wrong (0.142 %); worst y[0, 0]: expected 0, got 0"},
        {{.count = COUNT, .difference2 = 0.04, .expected2 = 4},
         &norm,
         "y: norm of the error 0.2 is above 0.02"},
        {{.count = COUNT, .difference2 = NAN, .expected2 = 4},
         &norm,
         "y: norm of the error nan is above 0.02"},
        {{.count = COUNT, .expected2 = 4, .got2 = 4, .product = 4}, &cosine, ""},
        {{.count = COUNT, .expected2 = 4, .got2 = 4, .product = 2}, &cosine, "y: cosine 0.5 is below 0.99"},
        {{.count = COUNT, .expected2 = 4, .got2 = 0, .product = 0}, &cosine, "y: cosine -nan is below 0.99"},
        {{.count = COUNT - 1}, NULL, "y: the comparison saw 702 elements, which is not what there is"},
        {{.count = 0}, NULL, "y: the comparison saw 0 elements, which is not what there is"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char detail[ATOLL_DETAIL_BYTES], other[ATOLL_DETAIL_BYTES];
        assert_int_equal(judge(&rows[i].f, rows[i].tolerance, detail), rows[i].text[0] == '\0');
        snprintf(other, sizeof(other), "%s", rows[i].text);
        char *nan = strstr(detail, "-nan"), *wanted = strstr(other, "-nan");
        if (wanted && !nan) /* the sign of a NaN is the library's */
            memmove(wanted, wanted + 1, strlen(wanted));
        assert_string_equal(detail, other);
    }
}

/* A short text buffer is cut, never passed. */
static void test_judge_is_bounded(void **state)
{
    struct atoll_support_finding f = {.count = COUNT, .wrong_count = 7, .last_wrong = 5, .worst_error = 2};
    char detail[32];
    memset(detail, 'x', sizeof(detail));
    assert_int_equal(atoll_support_finding_judge(&f, task, Y, variant, detail, 16), 0);
    assert_string_equal(detail, "y: 7 of 703 ele");
    assert_int_equal(detail[16], 'x');
}

static void test_finding_read(void **state)
{
    unsigned char bytes[ATOLL_SUPPORT_FINDING_BYTES] = {0};
    struct atoll_finding_area area = {.wrong_count = 1,
                                      .nonfinite_count = 2,
                                      .unwritten_count = 3,
                                      .first_wrong = 4,
                                      .last_wrong = 5,
                                      .worst_error = 6,
                                      .worst_index = 7,
                                      .worst_expected = 8,
                                      .worst_got = 9,
                                      .difference2 = 10,
                                      .expected2 = 11,
                                      .got2 = 12,
                                      .product = 13,
                                      .expected_hash = 15,
                                      .count = 16};
    struct atoll_support_finding f;
    memcpy(bytes, &area, sizeof(area));
    atoll_support_finding_read(bytes, &f);
    assert_true(f.wrong_count == 1 && f.nonfinite_count == 2 && f.unwritten_count == 3 && f.first_wrong == 4);
    assert_true(f.last_wrong == 5 && f.worst_error == 6 && f.worst_index == 7 && f.worst_expected == 8);
    assert_true(f.worst_got == 9 && f.difference2 == 10 && f.expected2 == 11 && f.got2 == 12 &&
                f.product == 13);
    assert_true(f.expected_hash == 15 && f.count == 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threefry),
        cmocka_unit_test(test_hash_terms),
        cmocka_unit_test(test_fill_params),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_sealed_bytes),
        cmocka_unit_test(test_known_answer),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_reference_geometry),
        cmocka_unit_test(test_reference_of_some_units),
        cmocka_unit_test(test_reference_scratch),
        cmocka_unit_test(test_reference_fills),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_judge_is_bounded),
        cmocka_unit_test(test_finding_read),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* test_torch_inputs.c - launches of our contents kernel, as a torch process gets them: the same bits as the host fills. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "core/task/init.h"
#include "mpi-eval/backend/cuda/kernels/params.h"
#include "mpi-eval/backend/cuda/measure/torch_inputs.h"
#include "mpi-eval/referee/input_set.h"

#define SEED 99

static const struct atoll_task *task;

/* What the kernel would write. */
static void fills_follow(const json_t *fills, size_t element_bytes, unsigned char *base)
{
    const json_t *fill;
    size_t i;
    json_array_foreach(fills, i, fill)
    {
        struct atoll_contents_launch launch;
        const char *hex = atoll_json_member(fill, "params");
        unsigned char *bytes = (unsigned char *)&launch;
        assert_int_equal(strlen(hex), 2 * sizeof(launch));
        for (size_t k = 0; k < sizeof(launch); k++) {
            unsigned value = 0;
            assert_int_equal(sscanf(hex + 2 * k, "%2x", &value), 1);
            bytes[k] = (unsigned char)value;
        }
        const struct atoll_region *r = &launch.regions[0];
        assert_true(r->address == 0 && r->kind == ATOLL_REGION_INIT && launch.tiles == r->tile_end);
        assert_true(json_integer_value(json_object_get(fill, "blocks")) > 0);
        size_t at = (size_t)json_integer_value(json_object_get(fill, "at"));
        for (size_t k = 0; k < r->count; k++) {
            atoll_u64 bits = atoll_init_bits(&r->of.init, k);
            memcpy(base + at + k * element_bytes, &bits, element_bytes);
        }
    }
}

static void test_same_bits(void **state)
{
    const struct atoll_variant *v = &task->variants[0];
    for (long changed = -1; changed < 2; changed++) {
        json_t *inputs = atoll_cuda_torch_inputs(task, v, SEED, ATOLL_DRAW_BASE, changed, NULL);
        assert_non_null(inputs);
        assert_int_equal(json_object_size(inputs), 2);
        for (size_t i = 0; i < 2; i++) {
            size_t count = 0;
            assert_int_equal(atoll_task_element_count(task, i, v, &count, NULL), 0);
            unsigned char *want = calloc(count, 4), *got = calloc(count, 4);
            const json_t *fills = json_object_get(json_object_get(inputs, task->tensors[i].name), "fills");
            assert_int_equal(json_array_size(fills), atoll_init_part_count(&task->tensors[i]));
            assert_int_equal(atoll_init_fill(task, i, v,
                                             (long)i == changed ? SEED ^ ATOLL_INPUT_SET_CHANGED : SEED,
                                             ATOLL_DRAW_BASE, 0, count, want, NULL),
                             0);
            fills_follow(fills, 4, got);
            assert_memory_equal(got, want, count * 4);
            free(want);
            free(got);
        }
        json_decref(inputs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits)};
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_task *loaded = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/packed", &err);
    if (!loaded) {
        printf("%s\n", err.text);
        return 1;
    }
    task = loaded;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    atoll_task_destroy(loaded);
    return failed;
}

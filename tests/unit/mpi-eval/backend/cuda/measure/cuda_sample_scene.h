/* cuda_sample_scene.h - a sample of a candidate of two kernels, and its batches decoded. */
#ifndef ATOLL_TESTS_UNIT_MPI_EVAL_BACKEND_CUDA_MEASURE_CUDA_SAMPLE_SCENE_H
#define ATOLL_TESTS_UNIT_MPI_EVAL_BACKEND_CUDA_MEASURE_CUDA_SAMPLE_SCENE_H

#include "tests/support/expect.h"

#include <stdlib.h>

#include "mpi-eval/backend/cuda/measure/launch.h"
#include "mpi-eval/backend/cuda/measure/sample.h"
#include "mpi-eval/backend/cuda/measure/support.h"
#include "tests/unit/mpi-eval/fixture_cuda.h"

#define SOURCE                                                                                               \
    CUDA_PLAN(                                                                                               \
        "{\"kernel\": \"k\", \"grid\": [\"M\"], \"block\": [128], \"args\": [\"x\", \"w\", \"s\"]}, "        \
        "{\"kernel\": \"l\", \"grid\": [\"M\"], \"block\": [32], \"args\": [\"s\", \"y\", \"i32:N\"]}")
#define ARENA  0x7f0000000000ull
#define PLAIN  0x7e0000000000ull
#define SEALED 0x7d0000000000ull
#define FLUSH  0x7c0000000000ull
#define RESULT 0x7b0000000000ull
#define STEPS  256
#define PRINT  (SEALED + (1 << 20) + 512) /* of y */

static struct cuda_candidate candidate;
static struct atoll_cuda_loaded_candidate image;
static struct atoll_loaded_candidate loaded;
static struct atoll_cuda_oracle oracle;
static struct atoll_input_set input_set;
static struct atoll_sealed seal;
static struct atoll_cuda_sample *sample;
static struct atoll_command_batch batch;
static struct atoll_device_command list[STEPS];
static struct atoll_device_command_launch launches[STEPS];
static size_t count;

static inline int set_up(void **state)
{
    uint64_t bytes[ATOLL_LAYOUT_BUFFER_LIMIT];
    size_t buffers;
    struct atoll_span arena = {ARENA, (uint64_t)64 << 20};
    (void)state;
    cuda_candidate_open(&candidate, SOURCE);
    memset(&image, 0, sizeof(image));
    image.slot = 3;
    memset(&oracle, 0, sizeof(oracle));
    oracle.magnitude[2] = 2.5;
    loaded = (struct atoll_loaded_candidate){
        .prepared = &candidate.prepared, .object = "cubin", .object_length = 5, .runner = &image};
    input_set = (struct atoll_input_set){.variant = 0, .seed = 1234, .distribution = ATOLL_DRAW_BASE};
    seal = (struct atoll_sealed){.is_sealed = 1,
                                 .offset = 4096,
                                 .key = {{0x1122334455667788ull, 0x99aabbccddeeff01ull}},
                                 .print = {.is_sealed = 1,
                                           .offset = 1 << 20,
                                           .array_offset = {[2] = 512},
                                           .key = {{0x2233445566778899ull, 0xaabbccddeeff0112ull}}}};
    sample = calloc(1, sizeof(*sample));
    assert_non_null(sample);
    static struct atoll_device_command_launch steps[ATOLL_PLAN_LAUNCH_LIMIT];
    sample->launches = steps;
    sample->task = candidate.task;
    sample->variant = &candidate.task->variants[0];
    sample->input_set = &input_set;
    sample->candidate = &loaded;
    sample->oracle = &oracle;
    sample->placement = 77;
    sample->hash_key = 78;
    sample->flush = (struct atoll_span){FLUSH, (uint64_t)1 << 20};
    sample->result = RESULT;
    sample->sealed = SEALED;
    sample->multiprocessors = 132;
    sample->shared_bytes = 232448;
    sample->hashes_late = 1;
    assert_int_equal(atoll_cuda_buffer_bytes(&candidate.prepared, sample->variant, bytes, &buffers, NULL), 0);
    assert_int_equal(atoll_layout_make(&arena, bytes, buffers, 77, -1, &sample->layout, NULL), 0);
    assert_int_equal(atoll_cuda_plain_plan(candidate.task, sample->variant, 132, PLAIN, &sample->plain, NULL),
                     0);
    assert_int_equal(atoll_cuda_sample_set(sample, NULL), 0);
    atoll_command_batch_init(&batch);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    atoll_command_batch_fini(&batch);
    free(sample);
    cuda_candidate_close(&candidate);
    return 0;
}

static inline void decode(void)
{
    struct atoll_reader reader;
    int more = 1;
    assert_int_equal(atoll_buffer_check(&batch.bytes, NULL), 0);
    atoll_reader_init(&reader, batch.bytes.data, batch.bytes.length);
    for (count = 0; more == 1; count += more == 1) {
        assert_true(count < STEPS);
        more = atoll_device_command_next(&reader, &list[count], &launches[count]);
    }
    assert_int_equal(more, 0);
    assert_int_equal(count, batch.count);
}

static inline int has_words(uint64_t word)
{
    for (size_t i = 0; i + 8 <= batch.bytes.length; i++)
        if (memcmp(batch.bytes.data + i, &word, 8) == 0)
            return 1;
    return 0;
}

static inline int is_launch_of(size_t command, uint32_t function)
{
    return list[command].kind == ATOLL_DEVICE_COMMAND_LAUNCH && launches[command].function == function;
}

static inline size_t launches_between(uint32_t low, uint32_t high)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += list[i].kind == ATOLL_DEVICE_COMMAND_LAUNCH && launches[i].function >= low &&
             launches[i].function < high;
    return n;
}

static inline size_t candidate_launches(void)
{
    uint32_t first = atoll_cuda_loaded_candidate_function(&loaded, 0);
    return launches_between(first, first + ATOLL_PLAN_LAUNCH_LIMIT);
}

static inline size_t kinds(enum atoll_device_command_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += list[i].kind == kind;
    return n;
}

/* Regions of the n-th launch of contents: the one at this address; NULL when it has none. */
static inline const struct atoll_region *region_at(size_t n, uint64_t address)
{
    static struct atoll_contents_launch launch;
    for (size_t i = 0; i < count; i++) {
        if (!is_launch_of(i, ATOLL_KERNEL_contents) || n-- != 0)
            continue;
        memcpy(&launch, launches[i].params, sizeof(launch));
        for (size_t k = 0; k < ATOLL_REGION_LIMIT; k++)
            if (launch.regions[k].address == address && launch.regions[k].tile_end)
                return &launch.regions[k];
    }
    return NULL;
}

/* The n-th launch of a kernel of ours, its parameters copied; its command, count when there is none. */
static inline size_t own_launch(uint32_t kernel, size_t n, void *ret_params, size_t bytes)
{
    memset(ret_params, 0, bytes);
    for (size_t i = 0; i < count; i++)
        if (is_launch_of(i, kernel) && n-- == 0) {
            memcpy(ret_params, launches[i].params, bytes);
            return i;
        }
    return count;
}

static inline size_t launch_at(uint32_t kernel, size_t n)
{
    size_t i = 0;
    while (i < count && !(is_launch_of(i, kernel) && n-- == 0))
        i++;
    return i;
}

static inline const struct atoll_zone *zone_at(size_t n, uint64_t address)
{
    static struct atoll_inspect_launch launch;
    for (size_t i = 0; i < count; i++) {
        if (!is_launch_of(i, ATOLL_KERNEL_inspect) || n-- != 0)
            continue;
        memcpy(&launch, launches[i].params, sizeof(launch));
        for (size_t k = 0; k < ATOLL_ZONE_LIMIT; k++)
            if (launch.zones[k].address == address && launch.zones[k].tile_end)
                return &launch.zones[k];
    }
    return NULL;
}

/* The 8 bytes that a batch sets at an address, the n-th time; 0: it does not. */
static inline uint64_t word_set_at(uint64_t address, size_t n)
{
    uint64_t low = 0, high = 0;
    size_t seen[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind != ATOLL_DEVICE_COMMAND_SET || list[i].count != 1)
            continue;
        if (list[i].address == address && seen[0]++ == n)
            low = list[i].slot;
        if (list[i].address == address + 4 && seen[1]++ == n)
            high = list[i].slot;
    }
    return high << 32 | low;
}

/* Number of the command that wipes the plain area, count when none does. */
static inline size_t wipe(void)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == ATOLL_DEVICE_COMMAND_SET && list[i].address == PLAIN && list[i].slot == 0 &&
            list[i].count * 4 == sample->plain.need)
            return i;
    return count;
}

#endif

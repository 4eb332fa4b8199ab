/* The batches of a sample, decoded: what is in them, in which order, and above all what is not. */
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

static int set_up(void **state)
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

static int tear_down(void **state)
{
    (void)state;
    atoll_command_batch_fini(&batch);
    free(sample);
    cuda_candidate_close(&candidate);
    return 0;
}

static void decode(void)
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

static int has_words(uint64_t word)
{
    for (size_t i = 0; i + 8 <= batch.bytes.length; i++)
        if (memcmp(batch.bytes.data + i, &word, 8) == 0)
            return 1;
    return 0;
}

static int is_launch_of(size_t command, uint32_t function)
{
    return list[command].kind == ATOLL_DEVICE_COMMAND_LAUNCH && launches[command].function == function;
}

static size_t launches_between(uint32_t low, uint32_t high)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += list[i].kind == ATOLL_DEVICE_COMMAND_LAUNCH && launches[i].function >= low &&
             launches[i].function < high;
    return n;
}

static size_t candidate_launches(void)
{
    uint32_t first = atoll_cuda_loaded_candidate_function(&loaded, 0);
    return launches_between(first, first + ATOLL_PLAN_LAUNCH_LIMIT);
}

static size_t kinds(enum atoll_device_command_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += list[i].kind == kind;
    return n;
}

/* Number of the command that wipes the plain area, count when none does. */
static size_t wipe(void)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == ATOLL_DEVICE_COMMAND_SET && list[i].address == PLAIN && list[i].slot == 0 &&
            list[i].count * 4 == sample->plain.need)
            return i;
    return count;
}

static void test_run(void **state)
{
    size_t start = 0, stop = 0;
    (void)state;
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    for (size_t i = 0; i < count; i++) {
        start = list[i].kind == ATOLL_DEVICE_COMMAND_EVENT && list[i].slot == ATOLL_SAMPLE_START ? i : start;
        stop = list[i].kind == ATOLL_DEVICE_COMMAND_EVENT && list[i].slot == ATOLL_SAMPLE_STOP ? i : stop;
        assert_int_not_equal(list[i].kind, ATOLL_DEVICE_COMMAND_SYNC); /* nothing waits before the launches */
        assert_int_not_equal(list[i].kind, ATOLL_DEVICE_COMMAND_READ);
    }
    size_t gate = count;
    for (size_t i = 0; i < count; i++)
        gate = list[i].kind == ATOLL_DEVICE_COMMAND_GATE ? i : gate;
    assert_int_equal(kinds(ATOLL_DEVICE_COMMAND_GATE),
                     1); /* after the contents, before the flush, which is timed */
    assert_true(gate < start);
    assert_int_equal(list[gate].slot, ATOLL_KERNEL_gate);
    assert_int_equal(list[gate + 1].kind, ATOLL_DEVICE_COMMAND_EVENT);
    assert_int_equal(list[gate + 1].slot, ATOLL_SAMPLE_FILLED);
    assert_true(is_launch_of(gate + 2, ATOLL_KERNEL_clock));
    assert_true(is_launch_of(gate + 3, ATOLL_KERNEL_flush_write));
    assert_true(is_launch_of(gate + 4, ATOLL_KERNEL_flush_read));
    assert_int_equal(gate + 5, start);
    assert_int_equal(stop, start + 3); /* the two launches and nothing else */
    assert_int_equal(sample->first_launch, start + 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(atoll_cuda_sample_launch_of(sample, (uint32_t)i),
                         i > start && i < stop ? (long)(i - start - 1) : -1);
    assert_true(is_launch_of(start + 1, atoll_cuda_loaded_candidate_function(&loaded, 0)));
    assert_true(is_launch_of(start + 2, atoll_cuda_loaded_candidate_function(&loaded, 1)));
    assert_int_equal(candidate_launches(), 2);
    assert_int_equal(launches_between(atoll_cuda_oracle_function(&oracle), UINT32_MAX), 0);
    assert_int_equal(kinds(ATOLL_DEVICE_COMMAND_CACHE_RESET), 1);
    assert_int_equal(kinds(ATOLL_DEVICE_COMMAND_MODULE_LOAD), 0);
    assert_false(has_words(seal.key.words[0]) || has_words(seal.key.words[1]));
    assert_false(has_words(seal.print.key.words[0]) || has_words(seal.print.key.words[1]));
    assert_false(has_words(PLAIN) || has_words(SEALED) || has_words(SEALED + seal.offset) ||
                 has_words(PRINT));
}

static void test_run_restores_globals(void **state)
{
    (void)state;
    image.cubin.state_bytes = 8;
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    assert_int_equal(list[0].kind, ATOLL_DEVICE_COMMAND_MODULE_LOAD);
    assert_int_equal(list[0].slot, ATOLL_SUPPORT_MODULE_END + 3);
    assert_int_equal(list[1].kind, ATOLL_DEVICE_COMMAND_FUNCTION);
    assert_int_equal(list[2].kind, ATOLL_DEVICE_COMMAND_FUNCTION);
    assert_true(is_launch_of(sample->first_launch, atoll_cuda_loaded_candidate_function(&loaded, 0)));
}

/* Regions of the n-th launch of contents: the one at this address; NULL when it has none. */
static const struct atoll_region *region_at(size_t n, uint64_t address)
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

static const struct atoll_zone *zone_at(size_t n, uint64_t address)
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

/* The n-th launch of a kernel of ours, its parameters copied; its command, count when there is none. */
static size_t own_launch(uint32_t kernel, size_t n, void *ret_params, size_t bytes)
{
    memset(ret_params, 0, bytes);
    for (size_t i = 0; i < count; i++)
        if (is_launch_of(i, kernel) && n-- == 0) {
            memcpy(ret_params, launches[i].params, bytes);
            return i;
        }
    return count;
}

static size_t launch_at(uint32_t kernel, size_t n)
{
    size_t i = 0;
    while (i < count && !(is_launch_of(i, kernel) && n-- == 0))
        i++;
    return i;
}

static size_t step_of_event(uint32_t event)
{
    size_t i = 0;
    while (i < count && (list[i].kind != ATOLL_DEVICE_COMMAND_EVENT || list[i].slot != event))
        i++;
    return i;
}

/* The launches once before, on other contents at the same addresses; then the sample's own contents, and no flush. */
static void test_warm_run(void **state)
{
    struct atoll_area_launch p;
    struct atoll_contents_launch launch;
    uint32_t first = atoll_cuda_loaded_candidate_function(&loaded, 0);
    (void)state;
    sample->is_warm = 1;
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    size_t warming = sample->first_warming, start = step_of_event(ATOLL_SAMPLE_START);
    assert_int_equal(candidate_launches(), 4);
    assert_true(is_launch_of(warming, first) && is_launch_of(warming + 1, first + 1));
    assert_true(is_launch_of(start + 1, first) && is_launch_of(start + 2, first + 1));
    assert_int_equal(step_of_event(ATOLL_SAMPLE_STOP), start + 3);
    assert_int_equal(sample->first_launch, start + 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(atoll_cuda_sample_launch_of(sample, (uint32_t)i), is_launch_of(i, first)       ? 0
                                                                           : is_launch_of(i, first + 1) ? 1
                                                                                                        : -1);
    size_t filled = own_launch(ATOLL_KERNEL_contents, 1, &launch, sizeof(launch));
    assert_true(own_launch(ATOLL_KERNEL_contents, 0, &launch, sizeof(launch)) < warming);
    assert_true(filled > warming + 1 && filled < start);
    assert_int_equal(own_launch(ATOLL_KERNEL_contents, 2, &launch, sizeof(launch)), count);
    for (size_t i = 0; i < sample->layout.count;
         i++) { /* inputs x and w are others, fills of y and s are not */
        const struct atoll_region *r = region_at(0, sample->layout.buffers[i].address);
        assert_non_null(r);
        struct atoll_region before = *r;
        r = region_at(1, sample->layout.buffers[i].address);
        assert_non_null(r);
        assert_int_equal(memcmp(&before.of, &r->of, sizeof(r->of)) == 0, i >= 2);
    }
    for (size_t i = 0; i <= sample->layout.count; i++) {
        /* a pattern for the untimed launches, looked at behind them, and another one for the timed ones */
        const struct atoll_region *r = region_at(0, sample->layout.guards[i].address);
        assert_non_null(r);
        uint64_t key = r->of.key;
        r = region_at(1, sample->layout.guards[i].address);
        assert_true(r && r->of.key != key);
        const struct atoll_zone *z = zone_at(0, sample->layout.guards[i].address);
        assert_true(z && z->is_guard && z->key == key && z->bytes == sample->layout.guards[i].bytes);
    }
    size_t looked = launch_at(ATOLL_KERNEL_inspect, 0);
    assert_true(looked > warming + 1 && looked < filled);
    assert_int_equal(kinds(ATOLL_DEVICE_COMMAND_READ), 1 + 4); /* of guards, and the tails */
    for (size_t i = 0; i < count; i++)
        assert_true(list[i].kind != ATOLL_DEVICE_COMMAND_READ || (i > looked && i < filled));
    for (size_t i = 0; i < 2; i++) {
        size_t touched = own_launch(ATOLL_KERNEL_flush_read, i, &p, sizeof(p));
        assert_true(touched > filled && touched < step_of_event(ATOLL_SAMPLE_FILLED));
        assert_true(p.address == sample->layout.buffers[i].address &&
                    p.bytes == sample->layout.buffers[i].bytes);
    }
    assert_int_equal(own_launch(ATOLL_KERNEL_flush_read, 2, &p, sizeof(p)), count);
    size_t wiped = own_launch(ATOLL_KERNEL_flush_write, 0, &p, sizeof(p));
    assert_true(wiped > warming + 1 && wiped < start && p.bytes == 0);
    assert_int_equal(launches[wiped].shared_bytes, sample->shared_bytes);
    assert_int_equal(own_launch(ATOLL_KERNEL_flush_write, 1, &p, sizeof(p)), count);
    assert_false(has_words(FLUSH));
    assert_int_equal(step_of_event(ATOLL_SAMPLE_FILLED), start - 2); /* and the clock probe */
    assert_int_equal(list[start - 3].kind, ATOLL_DEVICE_COMMAND_GATE);
    assert_int_equal(kinds(ATOLL_DEVICE_COMMAND_SYNC) + kinds(ATOLL_DEVICE_COMMAND_MODULE_LOAD), 0);
    assert_false(has_words(seal.key.words[0]) || has_words(PLAIN) || has_words(SEALED + seal.offset));
}

/* What a candidate has of local memory is overwritten before a sample and between the untimed and the timed launches; one
 * that has none costs nothing. */
static void test_local_memory_is_overwritten(void **state)
{
    static const struct {
        uint32_t local_bytes, kernel;
        int is_warm;
        size_t launches; /* two for each time */
    } rows[] = {{0, ATOLL_KERNEL_local_1k, 0, 0},    {0, ATOLL_KERNEL_local_1k, 1, 0},
                {16, ATOLL_KERNEL_local_1k, 0, 2},   {16, ATOLL_KERNEL_local_1k, 1, 4},
                {1040, ATOLL_KERNEL_local_2k, 1, 4}, {5000, ATOLL_KERNEL_local_2k, 0, 2}};
    (void)state;
    sample->threads_per_multiprocessor = 2048;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        image.cubin.kernel_count = 2;
        image.cubin.kernels[1].local_bytes = rows[i].local_bytes;
        sample->is_warm = rows[i].is_warm;
        atoll_command_batch_clear(&batch);
        assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
        decode();
        assert_int_equal(launches_between(ATOLL_KERNEL_local_1k, ATOLL_KERNEL_local_2k + 1),
                         rows[i].launches);
        assert_int_equal(launches_between(rows[i].kernel, rows[i].kernel + 1), rows[i].launches);
        size_t first = launch_at(rows[i].kernel, 0), between = launch_at(rows[i].kernel, 2);
        assert_true(!rows[i].local_bytes || first < sample->first_launch);
        if (rows[i].local_bytes && rows[i].is_warm)
            assert_true(first < sample->first_warming && between > sample->first_warming + 1 &&
                        between < sample->first_launch);
    }
    image.cubin.kernels[1].local_bytes = 0;
}

static void test_warm_run_restores_globals(void **state)
{
    size_t loads = 0;
    (void)state;
    sample->is_warm = 1;
    image.cubin.state_bytes = 8;
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    for (size_t i = 0; i < count; i++) {
        loads += list[i].kind == ATOLL_DEVICE_COMMAND_MODULE_LOAD;
        if (list[i].kind == ATOLL_DEVICE_COMMAND_MODULE_LOAD && loads == 2) {
            assert_int_equal(list[i - 1].kind, ATOLL_DEVICE_COMMAND_SYNC);
            assert_true(i > sample->first_warming + 1 && i < sample->first_launch);
        }
    }
    assert_int_equal(loads, 2);
}

/* Fills follow the key alone; different keys give all kinds. */
static void test_fills(void **state)
{
    unsigned seen = 0;
    (void)state;
    for (uint64_t key = 0; key < 64; key++) {
        sample->placement = key;
        assert_int_equal(atoll_cuda_sample_set(sample, NULL), 0);
        enum atoll_fill_kind kind = sample->fills[2].kind;
        seen |= 1u << kind;
        assert_true(sample->fills[2].magnitude == 2.5);
        assert_int_equal(atoll_cuda_sample_set(sample, NULL), 0);
        assert_int_equal(sample->fills[2].kind, kind);
        assert_int_not_equal(sample->fills[2].key, sample->fills[3].key);
    }
    assert_int_equal(seen, (1u << ATOLL_FILL_COUNT) - 1);
}

static void test_answer(void **state)
{
    (void)state;
    assert_int_equal(atoll_cuda_sample_expected(sample, &batch, &seal, ATOLL_SAMPLE_VALUES, NULL), 0);
    decode();
    size_t wiped = wipe(), read = 0;
    assert_int_equal(candidate_launches(), 0);
    assert_int_equal(launches_between(atoll_cuda_oracle_function(&oracle), UINT32_MAX), 1);
    assert_true(has_words(seal.key.words[0]) && has_words(SEALED + seal.offset));
    assert_true(wiped < count);
    for (size_t i = 0; i < count; i++) {
        if (is_launch_of(i, atoll_cuda_oracle_function(&oracle)))
            assert_true(i < wiped);
        read = list[i].kind == ATOLL_DEVICE_COMMAND_READ ? i : read;
    }
    assert_true(read > wiped);
    assert_int_equal(list[count - 1].kind, ATOLL_DEVICE_COMMAND_SET); /* findings quote expected values */
    assert_true(list[count - 1].address > RESULT && count - 1 > read);
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_expected(sample, &batch, NULL, 0, NULL), 0); /* hashes alone */
    decode();
    assert_int_equal(launches_between(ATOLL_SUPPORT_FUNCTION_END, UINT32_MAX), 0);
    assert_int_equal(wipe(), count);
}

static void test_check(void **state)
{
    (void)state;
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL), 0);
    decode();
    assert_int_equal(launches_between(ATOLL_SUPPORT_FUNCTION_END, UINT32_MAX),
                     0); /* neither candidate nor reference */
    assert_true(has_words(seal.key.words[0]) && has_words(SEALED + seal.offset));
    assert_int_equal(list[count - 1].kind, ATOLL_DEVICE_COMMAND_SET);
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL), 0);
    decode();
    assert_int_equal(candidate_launches(), 0);
    assert_int_equal(launches_between(atoll_cuda_oracle_function(&oracle), UINT32_MAX), 1);
    assert_true(wipe() < count && wipe() > 0);
    assert_false(has_words(SEALED + seal.offset));
}

/* Where reference.cu was proved it answers, and reference.c does not; in the same place, with the same wipe. */
static void test_tiled(void **state)
{
    const uint32_t plain = atoll_cuda_oracle_function(&oracle),
                   tiled = atoll_cuda_oracle_tiled_function(&oracle);
    (void)state;
    oracle.is_tiled[1] = 1; /* another variant */
    assert_int_equal(atoll_cuda_sample_expected(sample, &batch, &seal, ATOLL_SAMPLE_VALUES, NULL), 0);
    decode();
    assert_int_equal(launches_between(tiled, tiled + 1), 0);
    oracle.is_tiled[0] = 1;
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_expected(sample, &batch, &seal, ATOLL_SAMPLE_VALUES, NULL), 0);
    decode();
    assert_int_equal(launches_between(plain, plain + 1), 0);
    assert_int_equal(launches_between(tiled, tiled + 1), 3); /* phases */
    for (size_t i = 0; i < count; i++)
        if (is_launch_of(i, tiled))
            assert_true(i < wipe() && launches[i].block[0] == 256);
    atoll_command_batch_clear(&batch);
    oracle.tiled_stack_bytes = 300;
    assert_int_equal(atoll_cuda_sample_expected(sample, &batch, &seal, ATOLL_SAMPLE_VALUES, NULL), 0);
    decode();
    size_t last = 0;
    for (size_t i = 0; i < count; i++)
        last = is_launch_of(i, tiled) ? i : last;
    assert_true(is_launch_of(last + 1, ATOLL_KERNEL_flush_write)); /* what it left in shared memory ... */
    assert_int_equal(launches[last + 1].shared_bytes, sample->shared_bytes);
    assert_true(is_launch_of(last + 2, ATOLL_KERNEL_local_1k)); /* ... and in local memory */
    assert_true(is_launch_of(last + 3, ATOLL_KERNEL_local_1k));
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL), 0);
    decode();
    assert_int_equal(launches_between(plain, UINT32_MAX), 3);
    assert_true(wipe() < count && wipe() > 0);
    struct atoll_input_set made = *sample->input_set;
    made.variant = ATOLL_TASK_VARIANT_LIMIT; /* of no variant of the task: nobody proved it there */
    sample->input_set = &made;
    oracle.stack_bytes = UINT32_MAX;
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL), 0);
    decode();
    assert_int_equal(launches_between(plain, plain + 1), 1);
    assert_int_equal(launches_between(tiled, tiled + 1), 0);
}

/* Steps from `from` on that overwrite local memory, both of a pair; count: there are none. */
static size_t local_wipes(size_t from, uint32_t kernel)
{
    for (size_t i = from; i + 1 < count; i++)
        if (is_launch_of(i, kernel) && is_launch_of(i + 1, kernel))
            return i;
    return count;
}

static size_t last_launch(uint32_t first, uint32_t end)
{
    size_t last = count;
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == ATOLL_DEVICE_COMMAND_LAUNCH && launches[i].function >= first &&
            launches[i].function < end)
            last = i;
    return last;
}

/* What a compiler spilled of expected values, keys and inputs lies in no local memory when a candidate runs. */
static void test_spills_are_overwritten(void **state)
{
    const uint32_t reference = atoll_cuda_oracle_function(&oracle);
    (void)state;
    for (int with_spills = 0; with_spills < 2; with_spills++) {
        sample->stack_bytes = with_spills ? 40 : 0;
        atoll_command_batch_clear(&batch);
        assert_int_equal(
            atoll_cuda_sample_expected(sample, &batch, &seal, ATOLL_SAMPLE_VALUES | ATOLL_SAMPLE_PRINT, NULL),
            0);
        decode();
        assert_int_equal(local_wipes(last_launch(ATOLL_KERNEL_compare, ATOLL_KERNEL_compare + 1),
                                     ATOLL_KERNEL_local_1k) < count,
                         with_spills);
        assert_int_equal(local_wipes(last_launch(ATOLL_KERNEL_print_make, ATOLL_KERNEL_print_make + 1),
                                     ATOLL_KERNEL_local_1k) < count,
                         with_spills);
        atoll_command_batch_clear(&batch);
        assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL), 0);
        decode();
        assert_int_equal(local_wipes(last_launch(ATOLL_KERNEL_compare, ATOLL_KERNEL_compare + 1),
                                     ATOLL_KERNEL_local_1k) < count,
                         with_spills);
        atoll_command_batch_clear(&batch);
        atoll_cuda_sample_check_print(sample, &batch, &seal);
        decode();
        assert_int_equal(local_wipes(last_launch(ATOLL_KERNEL_print_match, ATOLL_KERNEL_print_match + 1),
                                     ATOLL_KERNEL_local_1k) < count,
                         with_spills);
    }
    sample->stack_bytes = 0;
    oracle.stack_bytes = 1500;
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL), 0);
    decode();
    size_t last = last_launch(reference, reference + 1);
    assert_int_equal(local_wipes(last, ATOLL_KERNEL_local_2k), last + 1);
    oracle.stack_bytes = 0;
}

static void test_agreement(void **state)
{
    const struct atoll_cuda_units units = {.count = 7, .first = 5, .stride = 3};
    const uint32_t order[] = {atoll_cuda_oracle_function(&oracle),
                              ATOLL_KERNEL_collect,
                              atoll_cuda_oracle_tiled_function(&oracle),
                              atoll_cuda_oracle_tiled_function(&oracle),
                              atoll_cuda_oracle_tiled_function(&oracle),
                              ATOLL_KERNEL_flush_write,
                              ATOLL_KERNEL_gather};
    size_t next = 0, read = 0, cleared = 0;
    (void)state;
    assert_int_equal(atoll_cuda_sample_agreement(sample, &batch, 2, &units, NULL), 0);
    decode();
    for (size_t i = 0; i < count; i++) {
        if (list[i].kind == ATOLL_DEVICE_COMMAND_LAUNCH && launches[i].function != ATOLL_KERNEL_contents) {
            assert_true(next < sizeof(order) / sizeof(*order));
            assert_int_equal(launches[i].function, order[next++]);
        }
        read = list[i].kind == ATOLL_DEVICE_COMMAND_READ ? i : read;
        if (list[i].kind == ATOLL_DEVICE_COMMAND_SET && read && list[i].address == list[read].address)
            cleared = list[i].count * 4 == list[read].count ? i : cleared;
    }
    assert_int_equal(next, sizeof(order) / sizeof(*order));
    assert_int_equal(kinds(ATOLL_DEVICE_COMMAND_READ), 1);
    assert_true(list[read].address > RESULT + 65536);
    assert_true(list[read].address + list[read].count <= RESULT + ATOLL_CUDA_RESULT_BYTES);
    assert_true(cleared > read && wipe() > read && wipe() < count);
}

/* ---- what our kernels are told ---- */

/* Outputs that no candidate made: written over the fill, inputs beside them, nothing of a candidate. */
static void test_put(void **state)
{
    static float y[19 * 37];
    const void *data[ATOLL_TASK_TENSOR_LIMIT] = {NULL, NULL, y};
    const struct atoll_span *out = &sample->layout.buffers[2];
    struct atoll_contents_launch contents;
    (void)state;
    y[5] = 42;
    assert_int_equal(atoll_cuda_sample_put(sample, &batch, data, NULL), 0);
    decode();
    size_t written = count;
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == ATOLL_DEVICE_COMMAND_WRITE)
            written = i;
    assert_true(written < count);
    assert_int_equal(kinds(ATOLL_DEVICE_COMMAND_WRITE), 1);
    assert_true(list[written].address == out->address && list[written].length == sizeof(y));
    assert_memory_equal(list[written].bytes, y, sizeof(y));
    assert_true(own_launch(ATOLL_KERNEL_contents, 0, &contents, sizeof(contents)) < written);
    assert_int_equal(candidate_launches(), 0);
    assert_int_equal(launches_between(0, UINT32_MAX), 1);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(region_at(0, sample->layout.buffers[i].address));
    atoll_command_batch_clear(&batch);
    data[2] = NULL; /* the fill stays */
    assert_int_equal(atoll_cuda_sample_put(sample, &batch, data, NULL), 0);
    decode();
    assert_int_equal(kinds(ATOLL_DEVICE_COMMAND_WRITE), 0);
}

/* Every zone gets its pattern, in the launch that makes all else, and is looked at under the same key afterwards. */
static void test_guards(void **state)
{
    uint64_t keys[ATOLL_LAYOUT_BUFFER_LIMIT + 1];
    size_t zones = sample->layout.count + 1;
    (void)state;
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    assert_int_equal(launches_between(ATOLL_KERNEL_contents, ATOLL_KERNEL_contents + 1), 1);
    for (size_t i = 0; i < zones; i++) {
        const struct atoll_region *r = region_at(0, sample->layout.guards[i].address);
        assert_non_null(r);
        assert_true(r->kind == ATOLL_REGION_GUARD && r->count * 8 == sample->layout.guards[i].bytes);
        keys[i] = r->of.key;
    }
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL), 0);
    decode();
    assert_int_equal(launches_between(ATOLL_KERNEL_inspect, ATOLL_KERNEL_inspect + 1), 1);
    for (size_t i = 0; i < zones; i++) {
        const struct atoll_zone *z = zone_at(0, sample->layout.guards[i].address);
        assert_non_null(z);
        assert_true(z->is_guard && z->bytes == sample->layout.guards[i].bytes && z->key == keys[i]);
        assert_true(z->result == z->result / 8 * 8 && z->result > RESULT);
    }
}

/* The 8 bytes that a batch sets at an address, the n-th time; 0: it does not. */
static uint64_t word_set_at(uint64_t address, size_t n)
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

/* Bytes between the end of a buffer and the next whole word: keyed, of tensors and scratch, others for each buffer, run and
 * stage; who sees one cannot compute another (atoll_random_at could be turned back: these are no words of it). */
static void test_tails(void **state)
{
    uint64_t seen[64];
    size_t tails = 0;
    (void)state;
    for (uint64_t run = 0; run < 2; run++)
        for (int warm = 0; warm < 2; warm++) {
            sample->placement = 77 + run;
            sample->is_warm = warm;
            atoll_command_batch_clear(&batch);
            assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
            decode();
            for (size_t b = 0; b < sample->layout.count; b++)
                for (size_t n = 0; n <= (size_t)warm; n++) {
                    const struct atoll_span *buffer = &sample->layout.buffers[b];
                    uint64_t word = word_set_at(buffer->address + buffer->bytes / 8 * 8, n);
                    assert_true((word != 0) == (buffer->bytes % 8 != 0));
                    for (uint64_t c = 0; word && c < 64; c++)
                        assert_true(word != atoll_random_at(sample->placement, c));
                    if (word && !(warm && n == 1)) /* the timed ones of both are the same */
                        seen[tails++] = word;
                }
        }
    assert_int_equal(tails, 2 * 2 * 4);
    for (size_t i = 0; i < tails; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(seen[i] != seen[k]);
}

/* Inputs are hashed in the check; outputs right after the stop, and in the check by the pass that looks at them, under the same
 * key, at different places of the results. */
static void test_hashes(void **state)
{
    const struct atoll_span *out = &sample->layout.buffers[2];
    struct atoll_compare_launch compared;
    struct atoll_print_launch matched;
    (void)state;
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL), 0);
    decode();
    for (size_t i = 0; i < 2; i++) {
        const struct atoll_zone *z = zone_at(0, sample->layout.buffers[i].address);
        assert_non_null(z);
        assert_true(!z->is_guard && z->bytes == sample->layout.buffers[i].bytes);
    }
    assert_null(zone_at(0, out->address));
    assert_null(zone_at(0, sample->layout.buffers[3].address)); /* scratch is anybody's */
    own_launch(ATOLL_KERNEL_compare, 0, &compared, sizeof(compared));
    assert_true(compared.address == out->address && compared.output_hash > RESULT);
    atoll_command_batch_clear(&batch);
    atoll_cuda_sample_check_print(sample, &batch, &seal);
    decode();
    assert_non_null(zone_at(0, sample->layout.buffers[0].address));
    assert_null(zone_at(0, out->address));
    own_launch(ATOLL_KERNEL_print_match, 0, &matched, sizeof(matched));
    assert_true(compared.output_hash == matched.output_hash && compared.output_key == matched.output_key);
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    const struct atoll_zone *z = zone_at(0, out->address);
    assert_non_null(z);
    assert_true(!z->is_guard && z->bytes == out->bytes);
    assert_true(z->key == compared.output_key && z->result != compared.output_hash);
    for (size_t i = 0; i < 2; i++)
        assert_null(zone_at(0, sample->layout.buffers[i].address)); /* no input is looked at in time */
}

/* Nobody asks for hashes of outputs; or the pass that looks at them cannot make them. */
static void test_hashes_elsewhere(void **state)
{
    const struct atoll_zone *z;
    struct atoll_print_launch matched;
    struct atoll_compare_launch compared;
    const uint64_t out = sample->layout.buffers[2].address;
    (void)state;
    sample->hashes_late = 0;
    atoll_cuda_sample_check_print(sample, &batch, &seal);
    decode();
    assert_null(zone_at(0, out));
    own_launch(ATOLL_KERNEL_print_match, 0, &matched, sizeof(matched));
    assert_int_equal(matched.output_hash, 0);
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    assert_null(zone_at(0, out));
    sample->hashes_late = 1;
    candidate.task->tensors[2].dtype = ATOLL_I32;
    for (int by_print = 0; by_print < 2; by_print++) {
        atoll_command_batch_clear(&batch);
        if (by_print)
            atoll_cuda_sample_check_print(sample, &batch, &seal);
        else
            assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL), 0);
        decode();
        z = zone_at(0, out);
        assert_non_null(z);
        assert_true(!z->is_guard && z->bytes == sample->layout.buffers[2].bytes);
        assert_true(z->key == sample->hash_key + 2 && z->result > RESULT);
        own_launch(ATOLL_KERNEL_print_match, 0, &matched, sizeof(matched));
        own_launch(ATOLL_KERNEL_compare, 0, &compared, sizeof(compared));
        assert_true(matched.output_hash == 0 && compared.output_hash == 0);
    }
    candidate.task->tensors[2].dtype = ATOLL_F32;
}

/* The fingerprint is made of plain values, with or without sealed ones, before the wipe; matched without either, under its own
 * key at its own place. */
static void test_print(void **state)
{
    struct atoll_print_launch made, matched;
    struct atoll_seal_launch sealed;
    struct atoll_compare_launch compared;
    (void)state;
    for (unsigned values = 0; values <= ATOLL_SAMPLE_VALUES; values++) {
        atoll_command_batch_clear(&batch);
        assert_int_equal(atoll_cuda_sample_expected(sample, &batch, &seal, values | ATOLL_SAMPLE_PRINT, NULL),
                         0);
        decode();
        size_t at = own_launch(ATOLL_KERNEL_print_make, 0, &made, sizeof(made));
        assert_true(at < wipe() && wipe() < count);
        assert_true(is_launch_of(at - 1 - values, atoll_cuda_oracle_function(&oracle)));
        assert_true(made.expected == PLAIN && made.count == 19 * 37 && made.print == PRINT);
        assert_true(made.key[0] == seal.print.key.words[0] && made.key[1] == seal.print.key.words[1]);
        assert_int_equal(own_launch(ATOLL_KERNEL_print_make, 1, &made, 0), count);
        assert_int_equal(own_launch(ATOLL_KERNEL_seal, 0, &sealed, sizeof(sealed)) < count, values);
        assert_int_equal(own_launch(ATOLL_KERNEL_compare, 0, &compared, sizeof(compared)) < count, values);
        assert_int_equal(has_words(seal.key.words[0]), values);
        assert_int_equal(list[count - 1].kind, ATOLL_DEVICE_COMMAND_SET);
    }
    own_launch(ATOLL_KERNEL_print_make, 0, &made, sizeof(made));
    atoll_command_batch_clear(&batch);
    atoll_cuda_sample_check_print(sample, &batch, &seal);
    decode();
    assert_int_equal(launches_between(ATOLL_SUPPORT_FUNCTION_END, UINT32_MAX), 0);
    assert_int_equal(wipe(), count);
    assert_true(own_launch(ATOLL_KERNEL_print_match, 0, &matched, sizeof(matched)) < count);
    assert_true(matched.print == made.print && matched.salt == made.salt && matched.result == made.result);
    assert_true(matched.key[0] == made.key[0] && matched.key[1] == made.key[1] &&
                matched.count == made.count);
    assert_true(matched.address == sample->layout.buffers[2].address && !matched.expected);
    assert_false(has_words(seal.key.words[0]) || has_words(SEALED + seal.offset));
    assert_int_equal(own_launch(ATOLL_KERNEL_compare, 0, &compared, sizeof(compared)), count);
    for (size_t i = 0; i < sample->layout.count + 1; i++)
        assert_true(zone_at(0, sample->layout.guards[i].address) &&
                    zone_at(0, sample->layout.guards[i].address)->is_guard);
    assert_int_equal(list[count - 1].kind, ATOLL_DEVICE_COMMAND_SET);
}

/* By tiles, whole values and the fingerprint are made of the same plain ones: behind the wipes of what tiles left in shared and
 * local memory, before that of the plain values.  A check by it runs neither reference and knows no place of whole values. */
static void test_tiled_print(void **state)
{
    const uint32_t plain = atoll_cuda_oracle_function(&oracle),
                   tiled = atoll_cuda_oracle_tiled_function(&oracle);
    struct atoll_print_launch made;
    struct atoll_seal_launch sealed;
    size_t last = 0;
    (void)state;
    oracle.is_tiled[0] = 1;
    oracle.tiled_stack_bytes = 300;
    assert_int_equal(
        atoll_cuda_sample_expected(sample, &batch, &seal, ATOLL_SAMPLE_VALUES | ATOLL_SAMPLE_PRINT, NULL), 0);
    decode();
    for (size_t i = 0; i < count; i++)
        last = is_launch_of(i, tiled) ? i : last;
    assert_int_equal(launches_between(plain, plain + 1), 0);
    assert_true(last > 0 && is_launch_of(last + 1, ATOLL_KERNEL_flush_write));
    assert_true(is_launch_of(last + 2, ATOLL_KERNEL_local_1k) &&
                is_launch_of(last + 3, ATOLL_KERNEL_local_1k));
    size_t values = own_launch(ATOLL_KERNEL_seal, 0, &sealed, sizeof(sealed)),
           print = own_launch(ATOLL_KERNEL_print_make, 0, &made, sizeof(made));
    assert_true(values > last + 3 && print > values && wipe() > print && wipe() < count);
    assert_true(sealed.expected == PLAIN && made.expected == PLAIN);
    assert_int_equal(own_launch(ATOLL_KERNEL_print_make, 1, &made, 0), count);
    atoll_command_batch_clear(&batch);
    atoll_cuda_sample_check_print(sample, &batch, &seal);
    decode();
    assert_int_equal(launches_between(ATOLL_SUPPORT_FUNCTION_END, UINT32_MAX), 0);
    assert_int_equal(launches_between(ATOLL_KERNEL_seal, ATOLL_KERNEL_seal + 1), 0);
    assert_false(has_words(seal.key.words[0]) || has_words(PLAIN) || has_words(SEALED + seal.offset));
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    assert_int_equal(launches_between(tiled, tiled + 1), 0);
    assert_false(has_words(seal.print.key.words[0]) || has_words(seal.key.words[0]) || has_words(PRINT));
}

/* Sealed and compared: the same place, key and stream, one per tensor; no value is NaN until the reference puts one. */
static void test_seal(void **state)
{
    struct atoll_seal_launch made;
    struct atoll_compare_launch p;
    size_t poison = 0;
    (void)state;
    seal.array_offset[2] = 768;
    assert_int_equal(atoll_cuda_sample_expected(sample, &batch, &seal, ATOLL_SAMPLE_VALUES, NULL), 0);
    decode();
    size_t sealed = own_launch(ATOLL_KERNEL_seal, 0, &made, sizeof(made));
    assert_true(sealed < count);
    assert_true(made.sealed == SEALED + 4096 + 768 && made.expected == PLAIN && made.count == 19 * 37);
    assert_true(made.key[0] == seal.key.words[0] && made.key[1] == seal.key.words[1] && made.salt == 2);
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == ATOLL_DEVICE_COMMAND_SET && list[i].address == PLAIN &&
            list[i].slot == 0xffffffffu) {
            assert_int_equal(list[i].count, 2 * 19 * 37);
            poison = i;
        }
    assert_true(poison && is_launch_of(poison + 1, atoll_cuda_oracle_function(&oracle)));
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL), 0);
    decode();
    assert_true(own_launch(ATOLL_KERNEL_compare, 0, &p, sizeof(p)) < count);
    assert_true(p.expected == made.sealed && p.is_sealed && p.salt == made.salt && p.key[1] == made.key[1]);
    assert_true(p.address == sample->layout.buffers[2].address && p.count == 19 * 37 && p.has_fill);
    assert_true(p.fill.key == sample->fills[2].key);
    assert_int_equal(own_launch(ATOLL_KERNEL_compare, 1, &p, sizeof(p)), count);
}

/* inout: an output as well, of its own stream; what it was is made again where the candidate has not been. */
static void test_inout(void **state)
{
    struct atoll_compare_launch c;
    struct atoll_cuda_plain *plain = &sample->plain;
    (void)state;
    candidate.task->tensors[0].role = ATOLL_ROLE_INOUT;
    assert_int_equal(atoll_cuda_plain_plan(candidate.task, sample->variant, 132, PLAIN, plain, NULL), 0);
    assert_true(plain->expected[0] == PLAIN && plain->spare[0] > PLAIN && plain->spare[2] == 0);
    assert_true(plain->sealed_offset[2] >= atoll_support_sealed_bytes(plain->counts[0], 0));
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL), 0);
    decode();
    assert_non_null(region_at(0, plain->spare[0]));
    assert_true(own_launch(ATOLL_KERNEL_compare, 0, &c, sizeof(c)) < count);
    assert_true(c.salt == 0 && !c.has_fill && !c.is_sealed);
    assert_true(own_launch(ATOLL_KERNEL_compare, 1, &c, sizeof(c)) < count);
    assert_true(c.salt == 2 && c.has_fill);
    assert_true(wipe() < count);
}

static void test_plain_plan(void **state)
{
    const struct atoll_cuda_plain *p = &sample->plain;
    (void)state;
    assert_int_equal(p->counts[2], 19 * 37);
    assert_int_equal(p->expected[0], 0);
    assert_int_equal(p->expected[2], PLAIN);
    assert_int_equal(p->scale[2], 0);
    assert_true(p->need >= 19 * 37 * 8 && p->need % 256 == 0);
    assert_true(p->sealed_bytes >= atoll_support_sealed_bytes(19 * 37, 0) && p->sealed_bytes % 256 == 0);
    assert_true(p->print_bytes >= atoll_cuda_fingerprint_bytes(19 * 37) && p->print_bytes % 256 == 0);
}

static uint64_t tail_sent[8]; /* what a reply says of tails, in their order */

/* A reply as the device process would send it. */
static void reply_put(struct atoll_command_batch_reply *reply, const unsigned char *results, size_t length,
                      int tails)
{
    static const uint64_t none = 0;
    atoll_buffer_put_blob(&reply->results, results, length);
    for (int i = 0; i < tails; i++)
        atoll_buffer_put_blob(&reply->results, i < 8 ? (const void *)&tail_sent[i] : &none, 8);
    atoll_reader_init(&reply->reader, reply->results.data, reply->results.length);
}

static void test_read(void **state)
{
    struct atoll_cuda_sample_results *r = calloc(1, sizeof(*r));
    struct atoll_command_batch_reply *reply = calloc(1, sizeof(*reply));
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t length = 0;
    int tails = 0;
    (void)state;
    assert_true(r && reply);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL), 0);
    decode();
    for (size_t i = 0; i < count; i++)
        if (list[i].kind == ATOLL_DEVICE_COMMAND_READ) {
            tails += length != 0;
            length = length ? length : list[i].count;
        }
    assert_int_equal(tails, 4); /* 19 * 37 floats do not fill words, neither do 37 */
    unsigned char *results = calloc(1, length);
    assert_non_null(results);
    atoll_command_batch_reply_init(reply);
    reply_put(reply, results, length, tails);
    assert_int_equal(atoll_cuda_sample_read(sample, reply, r, &err), 0);
    assert_true(
        atoll_cuda_sample_tail_touched(sample, ATOLL_SAMPLE_TIMED, &r->around, 0)); /* none was written */
    atoll_command_batch_reply_fini(reply);
    atoll_command_batch_reply_init(reply);
    reply_put(reply, results, length - 8, tails);
    assert_int_equal(atoll_cuda_sample_read(sample, reply, r, &err), -1);
    assert_int_equal(err.code, ATOLL_E_PROTOCOL);
    atoll_command_batch_reply_fini(reply);
    atoll_command_batch_reply_init(reply);
    reply_put(reply, results, length, tails - 1);
    assert_int_equal(atoll_cuda_sample_read(sample, reply, r, NULL), -1);
    atoll_command_batch_reply_fini(reply);
    free(results);
    free(reply);
    free(r);
}

/* Tails and guards as they were written are in order, at both stages; the least change to one is not. */
static void test_surroundings(void **state)
{
    struct atoll_command_batch_reply *reply = calloc(1, sizeof(*reply));
    struct atoll_cuda_surroundings *around = calloc(1, sizeof(*around));
    const size_t length = 16 * (ATOLL_LAYOUT_BUFFER_LIMIT + 1);
    unsigned char zones[16 * (ATOLL_LAYOUT_BUFFER_LIMIT + 1)] = {0};
    (void)state;
    assert_true(reply && around);
    sample->is_warm = 1;
    assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
    decode();
    for (int stage = ATOLL_SAMPLE_WARMING; stage <= ATOLL_SAMPLE_TIMED; stage++)
        for (int touched = -1; touched < 4; touched++) {
            size_t sent = 0;
            for (size_t b = 0; b < sample->layout.count; b++)
                if (sample->layout.buffers[b].bytes % 8)
                    tail_sent[sent++] = word_set_at(sample->layout.buffers[b].address +
                                                        sample->layout.buffers[b].bytes / 8 * 8,
                                                    (size_t)stage);
            assert_int_equal(sent, 4);
            for (size_t i = 0; i < sent; i++) /* the buffer's own bytes are its own */
                tail_sent[i] ^= 0x5a;
            if (touched >= 0)
                tail_sent[touched] ^= (uint64_t)1 << 63;
            zones[16 * 2] = 3;
            zones[16 * 2 + 8] = 9;
            atoll_command_batch_reply_init(reply);
            reply_put(reply, zones, length, 4);
            assert_int_equal(atoll_cuda_sample_read_warming(sample, reply, around, NULL), 0);
            atoll_command_batch_reply_fini(reply);
            assert_true(around->guards[2].changed == 3 && around->guards[2].first == 9);
            for (size_t b = 0, i = 0; b < sample->layout.count; b++) {
                int has_tail = sample->layout.buffers[b].bytes % 8 != 0;
                assert_int_equal(
                    atoll_cuda_sample_tail_touched(sample, (enum atoll_sample_stage)stage, around, b),
                    has_tail && (int)i == touched);
                i += (size_t)has_tail;
            }
        }
    /* with the functions of a module that is loaded before each of the two runs */
    image.cubin.state_bytes = 8;
    for (int loads = 1; loads <= 2; loads++) {
        atoll_command_batch_reply_init(reply);
        for (int k = 0; k < 2; k++)
            atoll_buffer_put_blob(&reply->results, "function", 8);
        reply_put(reply, zones, length, 4);
        for (int k = 0; k < 2 && loads == 2; k++)
            atoll_buffer_put_blob(&reply->results, "function", 8);
        atoll_reader_init(&reply->reader, reply->results.data, reply->results.length);
        memset(around, 0, sizeof(*around));
        assert_int_equal(atoll_cuda_sample_read_warming(sample, reply, around, NULL), loads == 2 ? 0 : -1);
        assert_true(around->guards[2].changed == 3 && around->guards[2].first == 9);
        atoll_command_batch_reply_fini(reply);
    }
    image.cubin.state_bytes = 0;
    atoll_command_batch_reply_init(reply);
    reply_put(reply, zones, length - 16, 4);
    assert_int_equal(atoll_cuda_sample_read_warming(sample, reply, around, NULL), -1);
    atoll_command_batch_reply_fini(reply);
    memset(tail_sent, 0, sizeof(tail_sent));
    free(reply);
    free(around);
}

/* What PyTorch says was written to the plain area before: it is sealed or compared, and wiped, and nothing puts other values or
 * NaN over it. */
static void test_torch(void **state)
{
    static const struct atoll_torch_reference torch = {.source = "", .file = "problem.py", .entry = "Model"};
    struct atoll_task task = *candidate.task;
    (void)state;
    task.torch = &torch;
    sample->task = &task;
    for (int with_seal = 0; with_seal < 2; with_seal++) {
        atoll_command_batch_clear(&batch);
        assert_int_equal(with_seal
                             ? atoll_cuda_sample_expected(sample, &batch, &seal, ATOLL_SAMPLE_VALUES, NULL)
                             : atoll_cuda_sample_check(sample, &batch, NULL, NULL),
                         0);
        decode();
        assert_int_equal(launches_between(atoll_cuda_oracle_function(&oracle), UINT32_MAX), 0);
        for (size_t i = 0; i < wipe(); i++)
            assert_false(list[i].kind == ATOLL_DEVICE_COMMAND_SET && list[i].address >= PLAIN &&
                         list[i].address < PLAIN + sample->plain.need);
        assert_int_equal(launches_between(ATOLL_KERNEL_seal, ATOLL_KERNEL_seal + 1), (size_t)with_seal);
        assert_true(wipe() < count);
    }
    sample->task = candidate.task;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_run_restores_globals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_warm_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_warm_run_restores_globals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fills, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_check, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tiled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spills_are_overwritten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_agreement, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_put, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_guards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_surroundings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_local_memory_is_overwritten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hashes_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_print, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tiled_print, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_seal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plain_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

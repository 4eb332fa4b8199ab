/* Launches that make contents and look at them: which tile is whose, how many, and that nothing is lost between launches. */
#include "tests/support/expect.h"

#include <string.h>

#include "mpi-eval/backend/cuda/measure/contents.h"

static struct atoll_task *task; /* x [M, N] f32, w [N] f32, y [M, N] f32 out; variant 0: M 19, N 37 */
static struct atoll_command_batch batch;

static int set_up(void **state)
{
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/referee", NULL);
    atoll_command_batch_init(&batch);
    return task ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_command_batch_fini(&batch);
    atoll_task_destroy(task);
    return 0;
}

/* Launches of one kernel in the batch, the first `limit` kept; the batch is empty afterwards. */
static size_t take(uint32_t kernel, struct atoll_device_command_launch *ret, size_t limit)
{
    struct atoll_reader reader;
    struct atoll_device_command command;
    static struct atoll_device_command_launch launch;
    size_t count = 0;
    int rc;
    assert_int_equal(atoll_buffer_check(&batch.bytes, NULL), 0);
    atoll_reader_init(&reader, batch.bytes.data, batch.bytes.length);
    while ((rc = atoll_device_command_next(&reader, &command, &launch)) == 1)
        if (command.kind == ATOLL_DEVICE_COMMAND_LAUNCH && launch.function == kernel && count < limit)
            ret[count++] = launch;
    assert_int_equal(rc, 0);
    atoll_command_batch_clear(&batch);
    return count;
}

static struct atoll_device_command_launch taken[4];

/* Every tile of a launch belongs to one region, and the tiles of a region hold all of it. */
static void test_tiles(void **state)
{
    static const uint64_t counts[] = {
        1, 4095, 8192, 8193, (uint64_t)1 << 20, (uint64_t)1 << 30, (uint64_t)1 << 38};
    const struct atoll_support_fill fill = {ATOLL_FILL_ZERO, ATOLL_F16, 5, 1};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        struct atoll_contents c;
        struct atoll_contents_launch launch;
        atoll_contents_begin(&c, &batch);
        atoll_contents_fill(&c, &fill, 4096, counts[i]);
        atoll_contents_fill(&c, &fill, 0, 0);
        atoll_contents_guard(&c, 8, 24, 9);
        assert_int_equal(atoll_contents_input(&c, task, 1, &task->variants[0], 1, ATOLL_DRAW_BASE, 64, NULL),
                         0);
        atoll_contents_end(&c);
        assert_int_equal(take(ATOLL_KERNEL_contents, taken, 4), 1);
        assert_int_equal(taken[0].param_bytes, sizeof(launch));
        memcpy(&launch, taken[0].params, sizeof(launch));
        uint64_t tile = launch.tile_chunks, first = launch.regions[0].tile_end;
        assert_true(first * tile * 8 >= counts[i] && (first - 1) * tile * 8 < counts[i]);
        assert_true(tile >= 512 && tile <= 4096);
        assert_int_equal(launch.regions[1].tile_end, first);
        assert_true(launch.regions[2].tile_end == first + 1 && launch.regions[2].count == 3);
        assert_true(launch.regions[3].tile_end == first + 2 && launch.tiles == first + 2);
        assert_true(launch.regions[3].address == 64 && launch.regions[3].count == 37);
        assert_int_equal(taken[0].grid[0], launch.tiles < 4224 ? launch.tiles : 4224);
        assert_int_equal(taken[0].block[0], ATOLL_SUPPORT_BLOCK);
    }
}

/* One region or zone more than a launch takes is in another launch; nothing at all is none. */
static void test_limits(void **state)
{
    struct atoll_contents c;
    struct atoll_inspection look;
    atoll_contents_begin(&c, &batch);
    atoll_contents_end(&c);
    atoll_inspection_begin(&look, &batch);
    atoll_inspection_end(&look);
    assert_int_equal(batch.count, 0);
    atoll_contents_begin(&c, &batch);
    for (uint64_t i = 0; i <= ATOLL_REGION_LIMIT; i++)
        atoll_contents_guard(&c, 4096 * i, 64, i);
    atoll_contents_end(&c);
    assert_int_equal(take(ATOLL_KERNEL_contents, taken, 4), 2);
    struct atoll_contents_launch launch;
    memcpy(&launch, taken[1].params, sizeof(launch));
    assert_true(launch.tiles == 1 && launch.regions[0].address == 4096 * ATOLL_REGION_LIMIT);
    assert_true(launch.regions[1].address == 0 && launch.regions[1].tile_end == 0);
    atoll_inspection_begin(&look, &batch);
    for (uint64_t i = 0; i <= ATOLL_ZONE_LIMIT; i++)
        atoll_inspection_hash(&look, 4096 * i, i + 1, i, 8);
    atoll_inspection_guard(&look, 7, 4096, 3, 16);
    atoll_inspection_end(&look);
    assert_int_equal(take(ATOLL_KERNEL_inspect, taken, 4), 2);
    struct atoll_inspect_launch zones;
    memcpy(&zones, taken[0].params, sizeof(zones));
    assert_int_equal(zones.tiles, ATOLL_ZONE_LIMIT); /* also of those with less than a word */
    memcpy(&zones, taken[1].params, sizeof(zones));
    assert_true(zones.tiles == 2 && zones.zones[0].bytes == ATOLL_ZONE_LIMIT + 1 && !zones.zones[0].is_guard);
    assert_true(zones.zones[1].is_guard && zones.zones[1].address == 7 && zones.zones[1].result == 16);
}

/* Right values of another input set are made as an input is; no such thing is left to a fill. */
static void test_stale_is_a_normal(void **state)
{
    for (unsigned t = 0; t < ATOLL_DTYPE_COUNT; t++) {
        const struct atoll_support_fill fill = {ATOLL_FILL_STALE, (enum atoll_dtype)t, 77, 10};
        struct atoll_contents c;
        double sum = 0, squares = 0;
        atoll_contents_begin(&c, &batch);
        atoll_contents_fill(&c, &fill, 4096, 1000);
        const struct atoll_region r = c.launch.regions[0];
        assert_true(r.kind == ATOLL_REGION_INIT && r.of.init.key == 77 && r.of.init.dtype == (int)t);
        for (size_t i = 0; i < 1000; i++) {
            double v = atoll_dtype_decode((int)t, atoll_init_bits(&r.of.init, i));
            sum += v / 1000;
            squares += v * v / 1000;
        }
        if (t != ATOLL_U8)
            assert_true(sum > -1.5 && sum < 1.5 && squares > 85 && squares < 115);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_stale_is_a_normal),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

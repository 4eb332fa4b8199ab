/* Batches and replies: what is put is what is read, and what is cut, too long or out of range is refused. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/task/dtype.h"
#include "mpi-eval/backend/cuda/process/command_batch.h"

static struct atoll_device_command_launch sent, got;

static void launch_set(void)
{
    uint64_t pointer = 0x7f0012345678ull;
    memset(&sent, 0, sizeof(sent));
    sent.function = 511;
    for (uint32_t i = 0; i < 3; i++) {
        sent.grid[i] = 100 + i;
        sent.block[i] = 200 + i;
        sent.cluster[i] = 1 + i;
    }
    sent.shared_bytes = 232448;
    sent.cooperative = 1;
    assert_int_equal(atoll_device_command_param(&sent, &pointer, 8), 0);
    assert_int_equal(atoll_device_command_param(&sent, NULL, 128), 8);
    sent.map_count = 1;
    sent.maps[0] = (struct atoll_device_command_map){.offset = 8,
                                                     .dtype = ATOLL_BF16,
                                                     .rank = 5,
                                                     .swizzle_bytes = 128,
                                                     .l2_bytes = 256,
                                                     .address = pointer,
                                                     .extent = {1, 2, 3, 4, 5},
                                                     .stride_bytes = {16, 32, 48, 64},
                                                     .box = {6, 7, 8, 9, 10}};
}

static const unsigned char handle[ATOLL_DEVICE_COMMAND_HANDLE_BYTES] = {1, 2, [63] = 64};

static void all_put(struct atoll_command_batch *batch)
{
    static const char *const names[] = {"sm__throughput", "dram__bytes.sum"};
    atoll_command_batch_module_load(batch, 3, "cubin", 5);
    atoll_command_batch_module_unload(batch, 4);
    atoll_command_batch_function(batch, 7, 3, "kernel");
    atoll_command_batch_alloc(batch, 2, (uint64_t)1 << 37);
    atoll_command_batch_free(batch, 2);
    atoll_command_batch_launch(batch, &sent);
    atoll_command_batch_write(batch, 1000, "bytes", 6);
    atoll_command_batch_read(batch, 2000, 77);
    atoll_command_batch_set(batch, 3000, 0xdeadbeefu, 88);
    atoll_command_batch_event(batch, 31);
    atoll_command_batch_cache_reset(batch);
    atoll_command_batch_sync(batch);
    atoll_command_batch_gate(batch, 9);
    atoll_command_batch_counters_open(batch, 1, names, 2);
    atoll_command_batch_counters_begin(batch, 3);
    atoll_command_batch_counters_start(batch);
    atoll_command_batch_counters_end(batch);
    atoll_command_batch_foreign_open(batch, handle, (uint64_t)1 << 33);
    atoll_command_batch_foreign_copy(batch, 4000, (uint64_t)1 << 32, 99);
    atoll_command_batch_foreign_close(batch);
    atoll_command_batch_share(batch, 5);
    atoll_command_batch_attach(batch, 6, handle, (uint64_t)1 << 34);
    atoll_command_batch_copy(batch, 7, 8, (uint64_t)1 << 35);
}

static void expect_map(const struct atoll_device_command_map *a, const struct atoll_device_command_map *b)
{
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->swizzle_bytes, b->swizzle_bytes);
    assert_int_equal(a->l2_bytes, b->l2_bytes);
    assert_int_equal(a->address, b->address);
    assert_memory_equal(a->extent, b->extent, sizeof(a->extent));
    assert_memory_equal(a->stride_bytes, b->stride_bytes, sizeof(a->stride_bytes));
    assert_memory_equal(a->box, b->box, sizeof(a->box));
}

static void batch_round_trip(void **state)
{
    static const struct {
        enum atoll_device_command_kind kind;
        uint32_t slot, other;
        uint64_t address, count;
        size_t length, name_length;
    } rows[] = {
        {ATOLL_DEVICE_COMMAND_MODULE_LOAD, 3, 0, 0, 0, 5, 0},
        {ATOLL_DEVICE_COMMAND_MODULE_UNLOAD, 4, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_FUNCTION, 7, 3, 0, 0, 0, 6},
        {ATOLL_DEVICE_COMMAND_ALLOC, 2, 0, 0, (uint64_t)1 << 37, 0, 0},
        {ATOLL_DEVICE_COMMAND_FREE, 2, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_LAUNCH, 511, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_WRITE, 0, 0, 1000, 6, 6, 0},
        {ATOLL_DEVICE_COMMAND_READ, 0, 0, 2000, 77, 0, 0},
        {ATOLL_DEVICE_COMMAND_SET, 0xdeadbeefu, 0, 3000, 88, 0, 0},
        {ATOLL_DEVICE_COMMAND_EVENT, 31, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_CACHE_RESET, 0, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_SYNC, 0, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_GATE, 9, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_COUNTERS_OPEN, 1, 0, 0, 2, 4 + 14 + 4 + 15, 0},
        {ATOLL_DEVICE_COMMAND_COUNTERS_BEGIN, 3, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_COUNTERS_START, 0, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_COUNTERS_END, 0, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_FOREIGN_OPEN, 0, 0, 0, (uint64_t)1 << 33, sizeof(handle), 0},
        {ATOLL_DEVICE_COMMAND_FOREIGN_COPY, 0, 0, 4000, 99, 0, 0},
        {ATOLL_DEVICE_COMMAND_FOREIGN_CLOSE, 0, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_SHARE, 5, 0, 0, 0, 0, 0},
        {ATOLL_DEVICE_COMMAND_ATTACH, 6, 0, 0, (uint64_t)1 << 34, sizeof(handle), 0},
        {ATOLL_DEVICE_COMMAND_COPY, 7, 8, 0, (uint64_t)1 << 35, 0, 0},
    };
    struct atoll_command_batch s;
    struct atoll_reader reader;
    struct atoll_device_command command;
    (void)state;
    launch_set();
    atoll_command_batch_init(&s);
    all_put(&s);
    assert_int_equal(atoll_buffer_check(&s.bytes, NULL), 0);
    assert_int_equal(s.count, sizeof(rows) / sizeof(*rows));
    assert_int_equal(s.count, ATOLL_DEVICE_COMMAND_KIND_COUNT - 1); /* one of each kind */
    atoll_reader_init(&reader, s.bytes.data, s.bytes.length);
    for (size_t i = 0; i < s.count; i++) {
        assert_int_equal(atoll_device_command_next(&reader, &command, &got), 1);
        if (command.kind != rows[i].kind || command.slot != rows[i].slot || command.other != rows[i].other ||
            command.address != rows[i].address || command.count != rows[i].count ||
            command.length != rows[i].length || command.name_length != rows[i].name_length ||
            command.offset != (rows[i].kind == ATOLL_DEVICE_COMMAND_FOREIGN_COPY ? (uint64_t)1 << 32 : 0))
            fail_msg("step %zu came out as kind %d, slot %u", i, (int)command.kind, command.slot);
        if (command.length == sizeof(handle))
            assert_memory_equal(command.bytes, handle, sizeof(handle));
    }
    assert_int_equal(atoll_device_command_next(&reader, &command, &got), 0);
    assert_int_equal(got.param_bytes, 136);
    assert_memory_equal(got.params, sent.params, 136);
    assert_int_equal(got.param_count, 2);
    assert_int_equal(got.param_offset[1], 8);
    expect_map(&got.maps[0], &sent.maps[0]);
    assert_memory_equal(got.grid, sent.grid, 9 * sizeof(*sent.grid));
    assert_int_equal(got.shared_bytes, 232448);
    assert_int_equal(got.cooperative, 1);
    atoll_command_batch_clear(&s);
    assert_int_equal(s.count, 0);
    atoll_command_batch_fini(&s);
}

/* Commands until the batch ends: 0 in order, -1 broken. */
static int walk(const unsigned char *bytes, size_t length)
{
    struct atoll_reader reader;
    struct atoll_device_command command;
    int more;
    atoll_reader_init(&reader, bytes, length);
    while ((more = atoll_device_command_next(&reader, &command, &got)) == 1)
        continue;
    return more;
}

/* A batch that is cut anywhere but between two commands is broken. */
static void batch_cut(void **state)
{
    struct atoll_command_batch s;
    size_t whole = 0;
    (void)state;
    launch_set();
    atoll_command_batch_init(&s);
    all_put(&s);
    for (size_t cut = 0; cut <= s.bytes.length; cut++) {
        unsigned char *copy = malloc(cut + 1);
        memcpy(copy, s.bytes.data, cut);
        whole += walk(copy, cut) == 0;
        free(copy);
    }
    assert_int_equal(whole, s.count + 1);
    s.bytes.data[0] = 0;
    assert_int_equal(walk(s.bytes.data, s.bytes.length), -1);
    s.bytes.data[0] = ATOLL_DEVICE_COMMAND_KIND_COUNT;
    assert_int_equal(walk(s.bytes.data, s.bytes.length), -1);
    atoll_command_batch_fini(&s);
}

/* Launches that would make the device process write beside its parameters. */
static void launch_hostile(void **state)
{
    struct atoll_command_batch s;
    (void)state;
    for (int i = 0; i < 9; i++) {
        launch_set();
        switch (i) {
        case 0: break;
        case 1: sent.maps[0].offset = 136 - 120; break;
        case 2: sent.maps[0].offset = 7; break;
        case 3: sent.maps[0].offset = 0xfffffff8u; break;
        case 4: sent.maps[0].rank = 6; break;
        case 5: sent.maps[0].rank = 0; break;
        case 6: sent.param_offset[1] = 136; break;
        case 7: sent.map_count = ATOLL_DEVICE_COMMAND_MAP_LIMIT + 1; break;
        default: sent.cooperative = 2; break;
        }
        atoll_command_batch_init(&s);
        atoll_command_batch_launch(&s, &sent);
        if (walk(s.bytes.data, s.bytes.length) != (i ? -1 : 0))
            fail_msg("launch %d", i);
        atoll_command_batch_fini(&s);
    }
}

/* A handle is as long as the driver reads it. */
static void handle_hostile(void **state)
{
    struct atoll_command_batch s;
    (void)state;
    for (size_t length = sizeof(handle) - 1; length <= sizeof(handle) + 1; length++) {
        static const unsigned char bytes[sizeof(handle) + 1];
        atoll_command_batch_init(&s);
        atoll_command_batch_foreign_open(&s, handle, 1);
        s.bytes.length -= 4 + sizeof(handle);
        atoll_buffer_put_blob(&s.bytes, bytes, length);
        assert_int_equal(walk(s.bytes.data, s.bytes.length), length == sizeof(handle) ? 0 : -1);
        atoll_command_batch_fini(&s);
    }
}

static void params(void **state)
{
    struct atoll_device_command_launch *l = calloc(1, sizeof(*l));
    uint64_t value = ~(uint64_t)0;
    (void)state;
    assert_int_equal(atoll_device_command_param(l, &value, 4), 0);
    assert_int_equal(atoll_device_command_param(l, &value, 8), 8);
    assert_int_equal(l->params[4], 0); /* padding is zero */
    assert_int_equal(atoll_device_command_param(l, &value, 1), 16);
    assert_int_equal(atoll_device_command_param(l, &value, 2), 24);
    assert_int_equal(l->param_count, 4);
    assert_int_equal(l->param_offset[3], 24);
    l->param_bytes = ATOLL_DEVICE_COMMAND_PARAM_BYTES - 8;
    assert_int_equal(atoll_device_command_param(l, &value, 8), ATOLL_DEVICE_COMMAND_PARAM_BYTES - 8);
    assert_int_equal(atoll_device_command_param(l, &value, 1), -1);
    assert_int_equal(atoll_device_command_param(l, NULL, 128), -1);
    assert_int_equal(l->param_bytes, ATOLL_DEVICE_COMMAND_PARAM_BYTES);
    l->param_bytes = l->param_count = 0;
    for (int i = 0; i < ATOLL_DEVICE_COMMAND_PARAM_LIMIT; i++)
        assert_int_equal(atoll_device_command_param(l, &value, 4), 8 * i);
    assert_int_equal(atoll_device_command_param(l, &value, 4), -1);
    free(l);
}

static void reply_round_trip(void **state)
{
    struct atoll_command_batch_reply from, to;
    struct atoll_buffer wire;
    struct atoll_device_command_function function;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t length = 0;
    (void)state;
    atoll_command_batch_reply_init(&from);
    atoll_command_batch_reply_init(&to);
    assert_true(isnan(from.opened_ns) && isnan(from.seen_ns[31]) && isnan(from.event_ns[0]));
    atoll_buffer_init(&wire, 1 << 16);
    from.status = ATOLL_COMMAND_BATCH_FAULT;
    from.command = 12;
    from.code = -700;
    strcpy(from.text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    from.wall_ns = 1e6;
    from.opened_ns = 2e5;
    from.event_count = 3;
    from.event_ns[0] = 0;
    from.event_ns[2] = 5e5;
    from.seen_ns[1] = 6e5;
    atoll_buffer_put_u32(&from.results, 8);
    atoll_buffer_put_u64(&from.results, 0x1122334455667788ull);
    atoll_buffer_put_blob(&from.results, "hello", 5);
    atoll_command_batch_reply_encode(&from, &wire);
    assert_int_equal(atoll_command_batch_reply_decode(wire.data, wire.length, &to, &err), 0);
    assert_int_equal(to.status, ATOLL_COMMAND_BATCH_FAULT);
    assert_int_equal(to.command, 12);
    assert_int_equal(to.code, -700);
    assert_string_equal(to.text, from.text);
    assert_true(to.wall_ns == 1e6 && to.opened_ns == 2e5 && to.event_ns[2] == 5e5 && to.seen_ns[1] == 6e5);
    assert_true(isnan(to.event_ns[1]) && isnan(to.seen_ns[2]) && isnan(to.seen_ns[5]));
    assert_true(atoll_command_batch_take_u64(&to) == 0x1122334455667788ull);
    assert_memory_equal(atoll_command_batch_take_bytes(&to, &length), "hello", 5);
    assert_int_equal(length, 5);
    assert_int_equal(atoll_reader_finish(&to.reader, "results", NULL), 0);
    atoll_command_batch_take_function(&to, &function); /* there is none left */
    assert_int_equal(atoll_reader_finish(&to.reader, "results", NULL), -1);
    for (size_t cut = 0; cut < wire.length; cut++)
        assert_int_equal(atoll_command_batch_reply_decode(wire.data, cut, &to, NULL), -1);
    atoll_command_batch_reply_fini(&from);
    atoll_command_batch_reply_fini(&to);
    atoll_buffer_fini(&wire);
}

static void reply_hostile(void **state)
{
    static const struct {
        size_t at;
        unsigned char value;
    } rows[] = {
        {0, ATOLL_COMMAND_BATCH_LOST + 1},         /* status */
        {12, 1},                                   /* code, above 32 bits */
        {36, ATOLL_DEVICE_COMMAND_EVENT_LIMIT + 1} /* events, behind an empty text and two times */
    };
    struct atoll_command_batch_reply from, to;
    struct atoll_buffer wire;
    struct atoll_err err = ATOLL_ERR_INIT;
    (void)state;
    atoll_command_batch_reply_init(&from);
    atoll_command_batch_reply_init(&to);
    atoll_buffer_init(&wire, 1 << 16);
    atoll_command_batch_reply_encode(&from, &wire);
    assert_int_equal(atoll_command_batch_reply_decode(wire.data, wire.length, &to, NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned char old = wire.data[rows[i].at];
        wire.data[rows[i].at] = rows[i].value;
        atoll_err_clear(&err);
        if (atoll_command_batch_reply_decode(wire.data, wire.length, &to, &err) != -1)
            fail_msg("row %zu is accepted", i);
        assert_int_equal(err.code, ATOLL_E_PROTOCOL);
        assert_non_null(strstr(err.text, "reply of the device process"));
        wire.data[rows[i].at] = old;
    }
    atoll_command_batch_reply_fini(&from);
    atoll_command_batch_reply_fini(&to);
    atoll_buffer_fini(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_round_trip), cmocka_unit_test(batch_cut), cmocka_unit_test(launch_hostile),
        cmocka_unit_test(handle_hostile),   cmocka_unit_test(params),    cmocka_unit_test(reply_round_trip),
        cmocka_unit_test(reply_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

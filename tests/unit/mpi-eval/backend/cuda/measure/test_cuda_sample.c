/* The batches of a sample, decoded: what is in them, in which order, and above all what is not. */
#include "tests/unit/mpi-eval/backend/cuda/measure/cuda_sample_scene.h"

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
        size_t launches;        /* two for each time */
        uint32_t process_bytes; /* that the process overwrites */
    } rows[] = {{0, ATOLL_KERNEL_local_1k, 0, 0, 0},
                {0, ATOLL_KERNEL_local_1k, 1, 0, 8192},
                {16, ATOLL_KERNEL_local_1k, 0, 2, 0},
                {16, ATOLL_KERNEL_local_1k, 1, 4, 8192},
                {1040, ATOLL_KERNEL_local_2k, 1, 4, 0},
                {5000, ATOLL_KERNEL_local_2k, 0, 2, 0},
                {5000, ATOLL_KERNEL_local_2k, 0, 2, 2048},
                {3072, ATOLL_KERNEL_local_4k, 0, 2, 4096},
                {3072, ATOLL_KERNEL_local_4k, 1, 4, 16384},
                {5000, ATOLL_KERNEL_local_8k, 1, 4, 8192},
                {12288, ATOLL_KERNEL_local_16k, 1, 4, 16384},
                {12288, ATOLL_KERNEL_local_4k, 0, 2, 4096}}; /* as far as it goes: no other kernel is there */
    (void)state;
    sample->threads_per_multiprocessor = 2048;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        image.cubin.kernel_count = 2;
        image.cubin.kernels[1].local_bytes = rows[i].local_bytes;
        sample->is_warm = rows[i].is_warm;
        sample->local_bytes = rows[i].process_bytes;
        atoll_command_batch_clear(&batch);
        assert_int_equal(atoll_cuda_sample_run(sample, &batch, NULL), 0);
        decode();
        assert_int_equal(launches_between(ATOLL_KERNEL_local_1k, ATOLL_KERNEL_local_2k + 1) +
                             launches_between(ATOLL_KERNEL_local_4k, ATOLL_KERNEL_local_16k + 1),
                         rows[i].launches);
        assert_int_equal(launches_between(rows[i].kernel, rows[i].kernel + 1), rows[i].launches);
        size_t first = launch_at(rows[i].kernel, 0), between = launch_at(rows[i].kernel, 2);
        assert_true(!rows[i].local_bytes || first < sample->first_launch);
        if (rows[i].local_bytes && rows[i].is_warm)
            assert_true(first < sample->first_warming && between > sample->first_warming + 1 &&
                        between < sample->first_launch);
    }
    image.cubin.kernels[1].local_bytes = 0;
    sample->local_bytes = 0;
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
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL, NULL), 0);
    decode();
    assert_int_equal(launches_between(ATOLL_SUPPORT_FUNCTION_END, UINT32_MAX),
                     0); /* neither candidate nor reference */
    assert_true(has_words(seal.key.words[0]) && has_words(SEALED + seal.offset));
    assert_int_equal(list[count - 1].kind, ATOLL_DEVICE_COMMAND_SET);
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL, NULL), 0);
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
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL, NULL), 0);
    decode();
    assert_int_equal(launches_between(plain, UINT32_MAX), 3);
    assert_true(wipe() < count && wipe() > 0);
    struct atoll_input_set made = *sample->input_set;
    made.variant = ATOLL_TASK_VARIANT_LIMIT; /* of no variant of the task: nobody proved it there */
    sample->input_set = &made;
    oracle.stack_bytes = UINT32_MAX;
    atoll_command_batch_clear(&batch);
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL, NULL), 0);
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
        assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL, NULL), 0);
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
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL, NULL), 0);
    decode();
    size_t last = last_launch(reference, reference + 1);
    assert_int_equal(local_wipes(last, ATOLL_KERNEL_local_2k), last + 1);
    oracle.stack_bytes = 0;
}

/* A pass of counters finds the caches as a sample does, and counts the plan's launches alone. */
static void test_counted(void **state)
{
    (void)state;
    for (int is_warm = 0; is_warm < 2; is_warm++) {
        size_t begin = 0, start = 0;
        sample->is_warm = is_warm;
        atoll_command_batch_clear(&batch);
        assert_int_equal(atoll_cuda_sample_count(sample, &batch, 1, NULL), 0);
        decode();
        for (size_t i = 0; i < count; i++) {
            begin = list[i].kind == ATOLL_DEVICE_COMMAND_COUNTERS_BEGIN ? i : begin;
            start = list[i].kind == ATOLL_DEVICE_COMMAND_COUNTERS_START ? i : start;
        }
        assert_int_equal(start - begin, is_warm ? 1 : 3);
        if (!is_warm)
            assert_true(is_launch_of(begin + 1, ATOLL_KERNEL_flush_write) &&
                        is_launch_of(begin + 2, ATOLL_KERNEL_flush_read));
        assert_int_equal(list[count - 1].kind, ATOLL_DEVICE_COMMAND_COUNTERS_END);
        for (size_t i = start + 1; i < count - 1; i++)
            assert_true(list[i].kind == ATOLL_DEVICE_COMMAND_LAUNCH &&
                        launches[i].function >= ATOLL_SUPPORT_FUNCTION_END);
    }
    sample->is_warm = 0;
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

/* ---- what comes back ---- */

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
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, NULL, NULL), 0);
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
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL, NULL), 0);
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
                             : atoll_cuda_sample_check(sample, &batch, NULL, NULL, NULL),
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
        cmocka_unit_test_setup_teardown(test_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_agreement, set_up, tear_down),

        cmocka_unit_test_setup_teardown(test_surroundings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_local_memory_is_overwritten, set_up, tear_down),

        cmocka_unit_test_setup_teardown(test_inout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plain_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

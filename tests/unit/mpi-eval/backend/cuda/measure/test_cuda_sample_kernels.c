/* What the kernels of ours in a sample's batches are told: contents, guards, tails, hashes, fingerprints. */
#include "tests/unit/mpi-eval/backend/cuda/measure/cuda_sample_scene.h"

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
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL, NULL), 0);
    decode();
    assert_int_equal(launches_between(ATOLL_KERNEL_inspect, ATOLL_KERNEL_inspect + 1), 1);
    for (size_t i = 0; i < zones; i++) {
        const struct atoll_zone *z = zone_at(0, sample->layout.guards[i].address);
        assert_non_null(z);
        assert_true(z->is_guard && z->bytes == sample->layout.guards[i].bytes && z->key == keys[i]);
        assert_true(z->result == z->result / 8 * 8 && z->result > RESULT);
    }
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
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL, NULL), 0);
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
            assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL, NULL), 0);
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
    seal.print.norm[2].bound_ratio = 0.25;
    atoll_cuda_sample_check_print(sample, &batch, &seal);
    decode();
    assert_int_equal(launches_between(ATOLL_SUPPORT_FUNCTION_END, UINT32_MAX), 0);
    assert_int_equal(wipe(), count);
    assert_true(own_launch(ATOLL_KERNEL_print_match, 0, &matched, sizeof(matched)) < count);
    assert_true(matched.print == made.print && matched.salt == made.salt && matched.result == made.result);
    assert_true(matched.key[0] == made.key[0] && matched.key[1] == made.key[1] &&
                matched.count == made.count);
    assert_true(matched.address == sample->layout.buffers[2].address && !matched.expected);
    assert_true(matched.bound_ratio == 0.25);
    assert_false(has_words(seal.key.words[0]) || has_words(SEALED + seal.offset));
    assert_int_equal(own_launch(ATOLL_KERNEL_compare, 0, &compared, sizeof(compared)), count);
    for (size_t i = 0; i < sample->layout.count + 1; i++)
        assert_true(zone_at(0, sample->layout.guards[i].address) &&
                    zone_at(0, sample->layout.guards[i].address)->is_guard);
    assert_int_equal(list[count - 1].kind, ATOLL_DEVICE_COMMAND_SET);
}

/* On the way of a comparison with the reference: of the values that it compares with, before the wipe; of sealed ones never. */
static void test_print_on_the_way(void **state)
{
    struct atoll_print_launch made;
    struct atoll_compare_launch compared;
    (void)state;
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, NULL, &seal, NULL), 0);
    decode();
    size_t print = own_launch(ATOLL_KERNEL_print_make, 0, &made, sizeof(made)),
           compare = own_launch(ATOLL_KERNEL_compare, 0, &compared, sizeof(compared));
    assert_true(print < wipe() && compare < wipe() && wipe() < count);
    assert_true(launch_at(atoll_cuda_oracle_function(&oracle), 0) < compare);
    assert_true(made.expected == compared.expected && made.expected == PLAIN && made.print == PRINT);
    assert_true(made.key[0] == seal.print.key.words[0] && made.result > compared.result);
    assert_int_equal(own_launch(ATOLL_KERNEL_print_make, 1, &made, 0), count);
    assert_false(has_words(seal.key.words[0]) || has_words(SEALED + seal.offset));
    for (int is_sealed = 0; is_sealed < 2; is_sealed++) {
        atoll_command_batch_clear(&batch);
        assert_int_equal(
            atoll_cuda_sample_check(sample, &batch, is_sealed ? &seal : NULL, is_sealed ? &seal : NULL, NULL),
            0);
        decode();
        assert_int_equal(own_launch(ATOLL_KERNEL_print_make, 0, &made, 0), count);
        assert_false(has_words(seal.print.key.words[0]));
    }
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
    assert_int_equal(atoll_cuda_sample_check(sample, &batch, &seal, NULL, NULL), 0);
    decode();
    assert_true(own_launch(ATOLL_KERNEL_compare, 0, &p, sizeof(p)) < count);
    assert_true(p.expected == made.sealed && p.is_sealed && p.salt == made.salt && p.key[1] == made.key[1]);
    assert_true(p.address == sample->layout.buffers[2].address && p.count == 19 * 37 && p.has_fill);
    assert_true(p.fill.key == sample->fills[2].key);
    assert_int_equal(own_launch(ATOLL_KERNEL_compare, 1, &p, sizeof(p)), count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test_setup_teardown(test_put, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_guards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tails, set_up, tear_down),

        cmocka_unit_test_setup_teardown(test_hashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hashes_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_print, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_print_on_the_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tiled_print, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_seal, set_up, tear_down),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

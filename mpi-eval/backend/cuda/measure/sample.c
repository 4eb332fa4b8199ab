#include "mpi-eval/backend/cuda/measure/sample.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/backend/cuda/measure/contents.h"
#include "mpi-eval/backend/cuda/measure/launch.h"

/* The result area.  What the run batch writes comes first; the check batch clears the rest before it writes there. */
enum {
    AT_PROBES = 0,     /* 2 x 16 */
    AT_STOP_HASH = 64, /* 8 each */
    AT_FLUSH = 512,    /* sinks of reads */
    AT_INPUT_HASH = 1024,
    AT_END_HASH = AT_INPUT_HASH + 8 * ATOLL_TASK_TENSOR_LIMIT,
    AT_GUARDS = AT_END_HASH + 8 * ATOLL_TASK_TENSOR_LIMIT, /* 16 each */
    AT_FINDINGS = 2560,
    AT_PRINTS = AT_FINDINGS + ATOLL_TASK_TENSOR_LIMIT * ATOLL_SUPPORT_FINDING_BYTES,
    AT_END = AT_PRINTS + ATOLL_TASK_TENSOR_LIMIT * ATOLL_CUDA_FINGERPRINT_FINDING_BYTES,
    AT_WARMING = AT_END, /* guards after the untimed launches: of the run batch */
    AT_WARMING_END = AT_WARMING + 16 * (ATOLL_LAYOUT_BUFFER_LIMIT + 1)
};
_Static_assert(AT_STOP_HASH + 8 * ATOLL_TASK_TENSOR_LIMIT <= AT_FLUSH, "hashes have room");
_Static_assert(AT_GUARDS + 16 * (ATOLL_LAYOUT_BUFFER_LIMIT + 1) <= AT_FINDINGS, "guards have room");
_Static_assert(AT_WARMING_END <= ATOLL_CUDA_RESULT_BYTES, "results have room");

/* Far behind the results: what two references put. */
#define AT_AGREEMENT    (ATOLL_CUDA_RESULT_BYTES / 2)
#define AGREEMENT_BYTES (16 + ATOLL_CUDA_AGREEMENT_LIMIT * sizeof(struct atoll_agreement_entry))
_Static_assert(AT_WARMING_END <= AT_AGREEMENT && AT_AGREEMENT + AGREEMENT_BYTES <= ATOLL_CUDA_RESULT_BYTES,
               "two references have room");

static uint64_t key_of(const struct atoll_cuda_sample *s, uint64_t purpose, uint64_t index)
{
    return atoll_random_at(s->placement ^ purpose * 0x9e3779b97f4a7c15ull, index);
}

/* Guards and tails of the untimed launches have nothing in common with those of the timed ones: a kernel that saw the first
 * knows nothing of the second.  Their words come of a cipher under these keys (base/random.h), which none of them tells. */
static uint64_t guard_key(const struct atoll_cuda_sample *s, enum atoll_sample_stage stage, size_t zone)
{
    return key_of(s, stage == ATOLL_SAMPLE_WARMING ? 6 : 2, zone);
}

static struct atoll_words tail_words(const struct atoll_cuda_sample *s, enum atoll_sample_stage stage,
                                     size_t buffer)
{
    return atoll_philox(key_of(s, 5, 0), buffer, (atoll_u64)stage + 2);
}

static int is_input(const struct atoll_task *task, size_t tensor)
{
    return task->tensors[tensor].role == ATOLL_ROLE_IN || task->tensors[tensor].role == ATOLL_ROLE_CONSTANT;
}

static struct atoll_support_output output_of(const struct atoll_cuda_sample *s, size_t tensor)
{
    struct atoll_support_output o = {.tensor = tensor,
                                     .address = s->layout.buffers[tensor].address,
                                     .count = s->plain.counts[tensor],
                                     .expected = s->plain.expected[tensor],
                                     .scale = s->plain.scale[tensor],
                                     .fill = s->fills[tensor],
                                     .has_fill = s->task->tensors[tensor].role == ATOLL_ROLE_OUT};
    return o;
}

int atoll_cuda_sample_set(struct atoll_cuda_sample *s, struct atoll_err *err)
{
    const struct atoll_plan *plan = s->candidate->prepared->plan;
    size_t path = 0;
    if (atoll_plan_path_at(s->task, plan, s->variant, &path, err) != 0)
        return -1;
    s->plan_launch = plan->paths[path].first;
    s->launch_count = plan->paths[path].count;
    for (size_t k = 0; k < s->launch_count; k++) {
        if (atoll_cuda_launch_make(s->candidate->prepared, s->variant, s->plan_launch + k, &s->layout,
                                   &s->launches[k], err) != 0)
            return -1;
        s->launches[k].function = atoll_cuda_loaded_candidate_function(s->candidate, s->launches[k].function);
    }
    for (size_t i = 0; i < s->layout.count; i++) {
        int is_tensor = i < s->task->tensor_count;
        uint64_t key = key_of(s, 1, i);
        s->fills[i] =
            (struct atoll_support_fill){.kind = (enum atoll_fill_kind)(atoll_mix64(key) % ATOLL_FILL_COUNT),
                                        .dtype = is_tensor ? s->task->tensors[i].dtype : ATOLL_F32,
                                        .key = key,
                                        .magnitude = is_tensor && s->oracle ? s->oracle->magnitude[i] : 0};
    }
    return 0;
}

static int inputs_make(const struct atoll_cuda_sample *s, struct atoll_contents *contents, uint64_t seed,
                       struct atoll_err *err)
{
    for (size_t i = 0; i < s->task->tensor_count; i++)
        if (s->task->tensors[i].role != ATOLL_ROLE_OUT &&
            atoll_contents_input(contents, s->task, i, s->variant, seed, s->input_set->distribution,
                                 s->layout.buffers[i].address, err) != 0)
            return -1;
    return 0;
}

static void inputs_hash(const struct atoll_cuda_sample *s, struct atoll_inspection *inspection)
{
    for (size_t i = 0; i < s->task->tensor_count; i++)
        if (is_input(s->task, i))
            atoll_inspection_hash(inspection, s->layout.buffers[i].address, s->layout.buffers[i].bytes,
                                  s->hash_key + i, s->result + AT_INPUT_HASH + 8 * i);
}

static void output_hash(const struct atoll_cuda_sample *s, struct atoll_inspection *inspection, size_t tensor,
                        uint64_t at)
{
    atoll_inspection_hash(inspection, s->layout.buffers[tensor].address, s->layout.buffers[tensor].bytes,
                          s->hash_key + tensor, s->result + at + 8 * tensor);
}

static void outputs_hash(const struct atoll_cuda_sample *s, struct atoll_inspection *inspection)
{
    for (size_t i = 0; i < s->task->tensor_count; i++)
        if (atoll_cuda_is_output(s->task, i))
            output_hash(s, inspection, i, AT_STOP_HASH);
}

/* An output that is looked at; its hash on the way where somebody asks and the pass can make it: the same as that after the
 * stop. */
static struct atoll_support_output output_left(const struct atoll_cuda_sample *s, size_t tensor)
{
    struct atoll_support_output o = output_of(s, tensor);
    o.hash_key = s->hash_key + tensor;
    if (s->hashes_late && atoll_support_hashes_along(s->task, &o))
        o.hash = s->result + AT_END_HASH + 8 * tensor;
    return o;
}

/* The hashes that no such pass makes. */
static void outputs_hash_rest(const struct atoll_cuda_sample *s, struct atoll_inspection *inspection)
{
    for (size_t i = 0; s->hashes_late && i < s->task->tensor_count; i++)
        if (atoll_cuda_is_output(s->task, i) && !output_left(s, i).hash)
            output_hash(s, inspection, i, AT_END_HASH);
}

static void results_clear(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    atoll_command_batch_set(batch, s->result + AT_INPUT_HASH, 0, (AT_END - AT_INPUT_HASH) / 4);
}

static uint64_t guards_result(const struct atoll_cuda_sample *s, enum atoll_sample_stage stage)
{
    return s->result + (stage == ATOLL_SAMPLE_WARMING ? AT_WARMING : AT_GUARDS);
}

/* A zone's first changed word is the least of those found. */
static void guards_clear(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                         enum atoll_sample_stage stage)
{
    uint64_t none[2 * (ATOLL_LAYOUT_BUFFER_LIMIT + 1)];
    for (size_t i = 0; i <= s->layout.count; i++) {
        none[2 * i] = 0;
        none[2 * i + 1] = UINT64_MAX;
    }
    atoll_command_batch_write(batch, guards_result(s, stage), none, 16 * (s->layout.count + 1));
}

static void guards_check(const struct atoll_cuda_sample *s, struct atoll_inspection *inspection,
                         enum atoll_sample_stage stage)
{
    for (size_t i = 0; i <= s->layout.count; i++)
        atoll_inspection_guard(inspection, s->layout.guards[i].address, s->layout.guards[i].bytes,
                               guard_key(s, stage, i), guards_result(s, stage) + 16 * i);
}

/* Everything plain that a batch may have written. */
static void plain_wipe(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    uint64_t begin = UINT64_MAX;
    for (size_t i = 0; i < s->task->tensor_count; i++)
        if (s->plain.expected[i] && s->plain.expected[i] < begin)
            begin = s->plain.expected[i];
    if (s->plain.need)
        atoll_command_batch_set(batch, begin, 0, s->plain.need / 4);
}

/* What threads with a frame of so many bytes left, as far as it can be overwritten. */
static void local_wipe(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                       uint32_t frame_bytes, uint32_t most)
{
    uint32_t bytes = frame_bytes < most ? frame_bytes : most;
    if (bytes)
        atoll_support_local_wipe(batch, bytes, s->multiprocessors, s->threads_per_multiprocessor,
                                 key_of(s, 3, 3), s->result + AT_FLUSH);
}

/* The candidate's frames. */
static void candidate_wipe(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    uint32_t most = s->local_bytes > ATOLL_SUPPORT_LOCAL_BYTES ? s->local_bytes : ATOLL_SUPPORT_LOCAL_BYTES;
    local_wipe(s, batch, atoll_cuda_loaded_candidate_local_bytes(s->candidate), most);
}

/* Inputs as they were: in and constant where the candidate had them (their hashes tell), inout made again.  some: of
 * reference.c; NULL: all, by whichever reference answers at this variant. */
static int reference_run_by(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                            int is_tiled, const struct atoll_cuda_units *some, struct atoll_err *err)
{
    uint64_t inputs[ATOLL_TASK_TENSOR_LIMIT] = {0};
    struct atoll_support_output outputs[ATOLL_TASK_TENSOR_LIMIT];
    struct atoll_contents contents;
    size_t count = 0;
    atoll_contents_begin(&contents, batch);
    for (size_t i = 0; i < s->task->tensor_count; i++) {
        if (is_input(s->task, i))
            inputs[i] = s->layout.buffers[i].address;
        if (s->task->tensors[i].role == ATOLL_ROLE_INOUT) {
            inputs[i] = s->plain.spare[i];
            if (atoll_contents_input(&contents, s->task, i, s->variant, s->input_set->seed,
                                     s->input_set->distribution, inputs[i], err) != 0)
                return -1;
        }
        if (atoll_cuda_is_output(s->task, i))
            outputs[count++] = output_of(s, i);
    }
    atoll_contents_end(&contents);
    if (is_tiled) {
        atoll_cuda_tiled_run(batch, atoll_cuda_oracle_tiled_function(s->oracle), s->task, s->variant, inputs,
                             outputs, count, s->multiprocessors);
        /* Blocks leave tiles in shared and in local memory; a candidate finds neither. */
        atoll_support_shared_wipe(batch, s->multiprocessors, s->shared_bytes, key_of(s, 3, 2));
        local_wipe(s, batch, s->oracle->tiled_stack_bytes, ATOLL_SUPPORT_LOCAL_BYTES);
        return 0;
    }
    if (atoll_cuda_reference_run(batch, atoll_cuda_oracle_function(s->oracle), s->task, s->variant, inputs,
                                 outputs, count, some, s->plain.scratch, s->plain.scratch_bytes, err) != 0)
        return -1;
    local_wipe(s, batch, s->oracle->stack_bytes, ATOLL_SUPPORT_LOCAL_BYTES);
    return 0;
}

static int reference_run(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                         struct atoll_err *err)
{
    if (s->task->torch) /* torch_answer.c wrote them */
        return 0;
    return reference_run_by(s, batch, s->oracle->is_tiled[s->input_set->variant], NULL, err);
}

static void output_compare(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                           const struct atoll_support_output *o, const struct atoll_sealed *seal)
{
    uint64_t result = s->result + AT_FINDINGS + ATOLL_SUPPORT_FINDING_BYTES * o->tensor;
    atoll_support_compare_clear(batch, result);
    atoll_support_compare(batch, s->task, o,
                          seal ? s->sealed + seal->offset + seal->array_offset[o->tensor] : 0,
                          seal ? &seal->key : NULL, o->tensor, result);
}

static uint64_t print_address(const struct atoll_cuda_sample *s, const struct atoll_sealed *seal,
                              size_t tensor)
{
    return s->sealed + seal->print.offset + seal->print.array_offset[tensor];
}

static uint64_t print_result(const struct atoll_cuda_sample *s, size_t tensor)
{
    return s->result + AT_PRINTS + ATOLL_CUDA_FINGERPRINT_FINDING_BYTES * tensor;
}

static int has_tail(const struct atoll_cuda_sample *s, size_t buffer)
{
    return s->layout.buffers[buffer].bytes % 8 != 0;
}

static uint64_t tail_address(const struct atoll_cuda_sample *s, size_t buffer)
{
    return s->layout.buffers[buffer].address + s->layout.buffers[buffer].bytes / 8 * 8;
}

static void tails_fetch(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    for (size_t i = 0; i < s->layout.count; i++)
        if (has_tail(s, i))
            atoll_command_batch_read(batch, tail_address(s, i), 8);
}

/* The end of every batch that seals or compares. */
static void results_fetch(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    local_wipe(s, batch, s->stack_bytes, ATOLL_SUPPORT_LOCAL_BYTES);
    atoll_command_batch_read(batch, s->result, AT_END);
    tails_fetch(s, batch);
    results_clear(s, batch); /* findings quote expected values */
}

static void expected_seal(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch, size_t tensor,
                          const struct atoll_sealed *seal, unsigned parts)
{
    struct atoll_support_output o = output_of(s, tensor);
    if (parts & ATOLL_SAMPLE_VALUES)
        atoll_support_seal(batch, &o, s->sealed + seal->offset + seal->array_offset[tensor], &seal->key,
                           tensor);
    if (parts & ATOLL_SAMPLE_PRINT)
        atoll_cuda_fingerprint_make(batch, s->task, &o, print_address(s, seal, tensor), &seal->print.key,
                                    tensor, print_result(s, tensor));
}

int atoll_cuda_sample_expected(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                               const struct atoll_sealed *seal, unsigned parts, struct atoll_err *err)
{
    struct atoll_contents contents;
    struct atoll_inspection inspection;
    results_clear(s, batch);
    atoll_contents_begin(&contents, batch);
    if (inputs_make(s, &contents, s->input_set->seed, err) != 0)
        return -1;
    atoll_contents_end(&contents);
    atoll_inspection_begin(&inspection, batch);
    inputs_hash(s, &inspection);
    atoll_inspection_end(&inspection);
    if (parts && reference_run(s, batch, err) != 0)
        return -1;
    for (size_t i = 0; parts && i < s->task->tensor_count; i++)
        if (atoll_cuda_is_output(s->task, i))
            expected_seal(s, batch, i, seal, parts);
    if (parts)
        plain_wipe(s, batch);
    for (size_t i = 0; parts & ATOLL_SAMPLE_VALUES && i < s->task->tensor_count; i++) {
        struct atoll_support_output o = output_of(s, i);
        if (atoll_cuda_is_output(s->task, i)) /* for the hash of what is sealed */
            output_compare(s, batch, &o, seal);
    }
    results_fetch(s, batch);
    return 0;
}

/* Where a buffer ends within a word, the whole word; contents then take the buffer's bytes back. */
static void tails_make(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                       enum atoll_sample_stage stage)
{
    for (size_t i = 0; i < s->layout.count; i++) {
        struct atoll_words w = tail_words(s, stage, i);
        if (!has_tail(s, i))
            continue;
        atoll_command_batch_set(batch, tail_address(s, i), w.a, 1);
        atoll_command_batch_set(batch, tail_address(s, i) + 4, w.b, 1);
    }
}

/* Inputs and fills, and what lies between them. */
static int contents_make(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch, uint64_t seed,
                         enum atoll_sample_stage stage, struct atoll_err *err)
{
    struct atoll_contents contents;
    tails_make(s, batch, stage);
    atoll_contents_begin(&contents, batch);
    if (inputs_make(s, &contents, seed, err) != 0)
        return -1;
    for (size_t i = 0; i < s->layout.count; i++) {
        int is_tensor = i < s->task->tensor_count;
        if (!is_tensor || s->task->tensors[i].role == ATOLL_ROLE_OUT)
            atoll_contents_fill(&contents, &s->fills[i], s->layout.buffers[i].address,
                                is_tensor ? s->plain.counts[i] : s->layout.buffers[i].bytes / 4);
    }
    for (size_t i = 0; i <= s->layout.count; i++)
        atoll_contents_guard(&contents, s->layout.guards[i].address, s->layout.guards[i].bytes,
                             guard_key(s, stage, i));
    atoll_contents_end(&contents);
    return 0;
}

/* Number of the first one's command. */
static uint32_t launches_add(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    uint32_t first = batch->count;
    for (size_t k = 0; k < s->launch_count; k++)
        atoll_command_batch_launch(batch, &s->launches[k]);
    return first;
}

long atoll_cuda_sample_launch_of(const struct atoll_cuda_sample *s, uint32_t command)
{
    if (command >= s->first_launch && command - s->first_launch < s->launch_count)
        return (long)(command - s->first_launch);
    if (s->is_warm && command >= s->first_warming && command - s->first_warming < s->launch_count)
        return (long)(command - s->first_warming);
    return -1;
}

/* On contents of another input set: what a candidate keeps of them is of no use in the timed launch.  What it could keep
 * besides, a table that no input changes, finds no place: everything it can write to is written again or loaded again before
 * that launch (docs/threat-model.md). */
static int warming_add(struct atoll_cuda_sample *s, struct atoll_command_batch *batch, struct atoll_err *err)
{
    struct atoll_inspection inspection;
    if (contents_make(s, batch, key_of(s, 4, 0), ATOLL_SAMPLE_WARMING, err) != 0)
        return -1;
    guards_clear(s, batch, ATOLL_SAMPLE_WARMING);
    s->first_warming = launches_add(s, batch);
    atoll_inspection_begin(&inspection, batch);
    guards_check(s, &inspection, ATOLL_SAMPLE_WARMING);
    atoll_inspection_end(&inspection);
    atoll_command_batch_read(batch, s->result + AT_WARMING, AT_WARMING_END - AT_WARMING);
    tails_fetch(s, batch);
    candidate_wipe(s, batch);
    if (atoll_cuda_loaded_candidate_of(s->candidate)->cubin.state_bytes) {
        atoll_command_batch_sync(batch); /* a module goes when its kernels have ended */
        atoll_cuda_loaded_candidate_append_load(batch, s->candidate);
    }
    atoll_support_shared_wipe(batch, s->multiprocessors, s->shared_bytes, key_of(s, 3, 0));
    return 0;
}

static void flush_add(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    uint64_t half = s->flush.bytes / 2 / 4096 * 4096;
    atoll_support_flush(batch, s->flush.address, half, s->multiprocessors, s->shared_bytes, key_of(s, 3, 0),
                        s->result + AT_FLUSH);
}

int atoll_cuda_sample_run(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                          struct atoll_err *err)
{
    if (atoll_cuda_loaded_candidate_of(s->candidate)->cubin.state_bytes)
        atoll_cuda_loaded_candidate_append_load(batch, s->candidate);
    atoll_command_batch_cache_reset(batch);
    candidate_wipe(s, batch);
    atoll_command_batch_event(batch, ATOLL_SAMPLE_BEGUN);
    if ((s->is_warm && warming_add(s, batch, err) != 0) ||
        contents_make(s, batch, s->input_set->seed, ATOLL_SAMPLE_TIMED, err) != 0)
        return -1;
    if (s->is_warm) {
        /* Reads end it, as they end a flush: a candidate does not pay for dirty lines of ours where they do not fit. */
        for (size_t i = 0; i < s->task->tensor_count; i++)
            if (s->task->tensors[i].role != ATOLL_ROLE_OUT)
                atoll_support_touch(batch, s->layout.buffers[i].address, s->layout.buffers[i].bytes,
                                    key_of(s, 3, 1), s->result + AT_FLUSH);
    }
    atoll_support_gate(batch); /* what follows hides the rest of the way to the first launch */
    atoll_command_batch_event(batch, ATOLL_SAMPLE_FILLED);
    atoll_support_clock_probe(batch, s->result + AT_PROBES);
    if (!s->is_warm)
        flush_add(s, batch);
    atoll_command_batch_event(batch, ATOLL_SAMPLE_START);
    s->first_launch = launches_add(s, batch);
    atoll_command_batch_event(batch, ATOLL_SAMPLE_STOP);
    if (s->hashes_late) {
        struct atoll_inspection inspection;
        atoll_command_batch_set(batch, s->result + AT_STOP_HASH, 0, 2 * ATOLL_TASK_TENSOR_LIMIT);
        atoll_inspection_begin(&inspection, batch);
        outputs_hash(s, &inspection);
        atoll_inspection_end(&inspection);
    }
    atoll_support_clock_probe(batch, s->result + AT_PROBES + 16);
    return 0;
}

int atoll_cuda_sample_put(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                          const void *const *data, struct atoll_err *err)
{
    if (contents_make(s, batch, s->input_set->seed, ATOLL_SAMPLE_TIMED, err) != 0)
        return -1;
    for (size_t i = 0; i < s->task->tensor_count; i++)
        if (atoll_cuda_is_output(s->task, i) && data[i])
            atoll_command_batch_write(batch, s->layout.buffers[i].address, data[i],
                                      s->layout.buffers[i].bytes);
    return 0;
}

int atoll_cuda_sample_count(struct atoll_cuda_sample *s, struct atoll_command_batch *batch, uint32_t slot,
                            struct atoll_err *err)
{
    if (contents_make(s, batch, s->input_set->seed, ATOLL_SAMPLE_TIMED, err) != 0)
        return -1;
    atoll_command_batch_counters_begin(batch, slot);
    if (!s->is_warm) /* each pass finds the caches as a sample does */
        flush_add(s, batch);
    atoll_command_batch_counters_start(batch);
    launches_add(s, batch);
    atoll_command_batch_counters_end(batch);
    return 0;
}

/* Guards, inputs, and the hashes that no later pass makes. */
static void untouched_check(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    struct atoll_inspection inspection;
    results_clear(s, batch);
    guards_clear(s, batch, ATOLL_SAMPLE_TIMED);
    atoll_command_batch_event(batch, ATOLL_SAMPLE_BEGUN);
    atoll_inspection_begin(&inspection, batch);
    inputs_hash(s, &inspection);
    guards_check(s, &inspection, ATOLL_SAMPLE_TIMED);
    outputs_hash_rest(s, &inspection);
    atoll_inspection_end(&inspection);
    atoll_command_batch_event(batch, ATOLL_SAMPLE_FILLED);
}

int atoll_cuda_sample_check(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                            const struct atoll_sealed *seal, const struct atoll_sealed *print,
                            struct atoll_err *err)
{
    untouched_check(s, batch);
    if (!seal && reference_run(s, batch, err) != 0)
        return -1;
    for (size_t i = 0; i < s->task->tensor_count; i++) {
        if (!atoll_cuda_is_output(s->task, i))
            continue;
        struct atoll_support_output o = output_left(s, i);
        output_compare(s, batch, &o, seal);
        if (print && !seal)
            expected_seal(s, batch, i, print, ATOLL_SAMPLE_PRINT);
    }
    if (!seal)
        plain_wipe(s, batch);
    results_fetch(s, batch);
    return 0;
}

void atoll_cuda_sample_check_print(struct atoll_cuda_sample *s, struct atoll_command_batch *batch,
                                   const struct atoll_sealed *seal)
{
    untouched_check(s, batch);
    for (size_t i = 0; i < s->task->tensor_count; i++) {
        if (!atoll_cuda_is_output(s->task, i))
            continue;
        struct atoll_support_output o = output_left(s, i);
        atoll_cuda_fingerprint_match(batch, s->task, &o, print_address(s, seal, i), &seal->print.key, i,
                                     seal->print.norm[i].bound_ratio, print_result(s, i));
    }
    results_fetch(s, batch);
}

int atoll_cuda_sample_evidence(struct atoll_cuda_sample *s, struct atoll_command_batch *batch, size_t tensor,
                               struct atoll_err *err)
{
    if (reference_run(s, batch, err) != 0)
        return -1;
    atoll_command_batch_read(batch, s->layout.buffers[tensor].address, s->layout.buffers[tensor].bytes);
    atoll_command_batch_read(batch, s->plain.expected[tensor], s->plain.counts[tensor] * 8);
    if (s->plain.scale[tensor])
        atoll_command_batch_read(batch, s->plain.scale[tensor], s->plain.counts[tensor] * 8);
    plain_wipe(s, batch);
    return 0;
}

int atoll_cuda_sample_agreement(struct atoll_cuda_sample *s, struct atoll_command_batch *batch, size_t tensor,
                                const struct atoll_cuda_units *units, struct atoll_err *err)
{
    const struct atoll_support_output output = output_of(s, tensor);
    const uint64_t area = s->result + AT_AGREEMENT;
    struct atoll_contents contents;
    atoll_command_batch_set(batch, area, 0, AGREEMENT_BYTES / 4);
    atoll_contents_begin(&contents, batch);
    if (inputs_make(s, &contents, s->input_set->seed, err) != 0)
        return -1;
    atoll_contents_end(&contents);
    if (reference_run_by(s, batch, 0, units, err) != 0)
        return -1;
    atoll_support_collect(batch, &output, area, ATOLL_CUDA_AGREEMENT_LIMIT);
    if (reference_run_by(s, batch, 1, NULL, err) != 0)
        return -1;
    atoll_support_gather(batch, &output, area, ATOLL_CUDA_AGREEMENT_LIMIT);
    atoll_command_batch_read(batch, area, AGREEMENT_BYTES);
    atoll_command_batch_set(batch, area, 0, AGREEMENT_BYTES / 4);
    plain_wipe(s, batch);
    return 0;
}

/* ---- reading ---- */

static uint64_t u64_at(const unsigned char *bytes, size_t at)
{
    uint64_t value;
    memcpy(&value, bytes + at, 8);
    return value;
}

static void guards_take(const unsigned char *bytes, struct atoll_cuda_surroundings *ret)
{
    for (size_t i = 0; i <= ATOLL_LAYOUT_BUFFER_LIMIT; i++) {
        ret->guards[i].changed = u64_at(bytes, 16 * i);
        ret->guards[i].first = u64_at(bytes, 16 * i + 8);
    }
}

static int tails_take(const struct atoll_cuda_sample *s, struct atoll_command_batch_reply *reply,
                      struct atoll_cuda_surroundings *ret, struct atoll_err *err)
{
    for (size_t i = 0; i < s->layout.count; i++) {
        size_t length = 0;
        if (!has_tail(s, i))
            continue;
        const void *bytes = atoll_command_batch_take_bytes(reply, &length);
        if (length != 8)
            return atoll_err_set(err, ATOLL_E_PROTOCOL,
                                 "results of a sample: the end of buffer %zu is missing", i);
        memcpy(ret->tails[i], bytes, 8);
    }
    return 0;
}

static void results_take(const unsigned char *bytes, struct atoll_cuda_sample_results *r)
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        r->input_hash[i] = u64_at(bytes, AT_INPUT_HASH + 8 * i);
        r->stop_hash[i] = u64_at(bytes, AT_STOP_HASH + 8 * i);
        r->end_hash[i] = u64_at(bytes, AT_END_HASH + 8 * i);
        atoll_support_finding_read(bytes + AT_FINDINGS + ATOLL_SUPPORT_FINDING_BYTES * i, &r->findings[i]);
        atoll_cuda_fingerprint_read(bytes + AT_PRINTS + ATOLL_CUDA_FINGERPRINT_FINDING_BYTES * i,
                                    &r->prints[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        r->probes[i].cycles = u64_at(bytes, AT_PROBES + 16 * i);
        r->probes[i].ns = u64_at(bytes, AT_PROBES + 16 * i + 8);
    }
    guards_take(bytes + AT_GUARDS, &r->around);
}

int atoll_cuda_sample_read(const struct atoll_cuda_sample *s, struct atoll_command_batch_reply *reply,
                           struct atoll_cuda_sample_results *ret, struct atoll_err *err)
{
    size_t length = 0;
    const void *bytes = atoll_command_batch_take_bytes(reply, &length);
    if (length != AT_END)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "results of a sample: %zu bytes, not %d", length, AT_END);
    results_take(bytes, ret);
    return tails_take(s, reply, &ret->around, err) == 0
               ? atoll_reader_finish(&reply->reader, "results of a sample", err)
               : -1;
}

/* Each loading of a module tells of its functions. */
static void loading_skip(const struct atoll_cuda_sample *s, struct atoll_command_batch_reply *reply)
{
    size_t length;
    if (atoll_cuda_loaded_candidate_of(s->candidate)->cubin.state_bytes)
        for (size_t k = 0; k < atoll_cuda_function_count(s->candidate->prepared); k++)
            atoll_command_batch_take_bytes(reply, &length);
}

int atoll_cuda_sample_read_warming(const struct atoll_cuda_sample *s, struct atoll_command_batch_reply *reply,
                                   struct atoll_cuda_surroundings *ret, struct atoll_err *err)
{
    size_t length = 0;
    loading_skip(s, reply); /* before the untimed launches */
    const void *bytes = atoll_command_batch_take_bytes(reply, &length);
    if (length != AT_WARMING_END - AT_WARMING)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "guards of an untimed launch: %zu bytes, not %d", length,
                             AT_WARMING_END - AT_WARMING);
    guards_take(bytes, ret);
    if (tails_take(s, reply, ret, err) != 0)
        return -1;
    loading_skip(s, reply); /* before the timed ones */
    return atoll_reader_finish(&reply->reader, "guards of an untimed launch", err);
}

int atoll_cuda_sample_tail_touched(const struct atoll_cuda_sample *s, enum atoll_sample_stage stage,
                                   const struct atoll_cuda_surroundings *around, size_t buffer)
{
    struct atoll_words w = tail_words(s, stage, buffer);
    const uint32_t pattern[2] = {w.a, w.b};
    size_t used = s->layout.buffers[buffer].bytes % 8;
    return used && memcmp(around->tails[buffer] + used, (const unsigned char *)pattern + used, 8 - used) != 0;
}

/* ---- what a sample took ---- */

/* Looks at two events are each late by about a microsecond; the rest is for a host that stumbles, and for clocks that
 * run apart (below 100 parts in a million). */
#define APART_NS    10e3
#define APART_SHARE 0.001
#define FLUSH_SHARE 0.25 /* by which a flush may be longer than usual: clocks of the memory change */

int atoll_clocks_late(const struct atoll_clocks *c)
{
    return !(c->start_seen_ns > c->opened_ns);
}

static double larger_of(double best, double other, double tolerance, int *doubted)
{
    if (!(other > best + tolerance))
        return best;
    *doubted = 1;
    return other;
}

double atoll_clocks_span(const struct atoll_clocks *c, int *ret_doubted)
{
    double seen = c->stop_seen_ns - c->start_seen_ns, tolerance = APART_NS + APART_SHARE * fmax(seen, 0);
    double best = c->span_ns > 0 && isfinite(c->span_ns) ? c->span_ns : 0;
    int doubted = best == 0;
    best = larger_of(best, seen, tolerance, &doubted);
    if (best == 0 && seen > 0)
        best = seen;
    if (atoll_clocks_late(c) && c->flush_usual_ns > 0)
        best = larger_of(best, c->span_ns + c->flush_ns - (1 + FLUSH_SHARE) * c->flush_usual_ns, tolerance,
                         &doubted);
    *ret_doubted = doubted;
    return best > 0 && isfinite(best) ? best : (double)NAN;
}

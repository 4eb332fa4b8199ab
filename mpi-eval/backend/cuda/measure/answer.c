/* answer.c - one batch per answer: reference or PyTorch, seal, fingerprint, hashes of the inputs.  Memory for it is reserved first;
 * what could not be finished is forgotten. */
#include "mpi-eval/backend/cuda/measure/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "mpi-eval/backend/cuda/measure/sample.h"
#include "mpi-eval/backend/cuda/measure/torch_answer.h"

/* ---- what is learned from it ---- */

void atoll_cuda_answer_magnitudes(struct atoll_cuda_trial_state *s)
{
    struct atoll_cuda_oracle *o = s->known->oracle;
    for (size_t i = 0; i < s->known->task->tensor_count; i++) {
        const struct atoll_support_finding *f = &s->results.findings[i];
        double expected2 = f->count ? f->expected2 : s->results.prints[i].expected2;
        double size = sqrt(expected2 / fmax((double)s->stage.sample.plain.counts[i], 1));
        if (atoll_cuda_is_output(s->known->task, i) && isfinite(size) && size > 0)
            o->magnitude[i] = size;
    }
}

void atoll_cuda_answer_hashes(struct atoll_cuda_trial_state *s, enum atoll_expected_kind kind)
{
    for (size_t i = 0; i < s->known->task->tensor_count; i++)
        s->sealed->expected_hash[i] = s->results.findings[i].expected_hash;
    s->sealed->has_expected = kind;
}

/* ---- an answer ---- */

/* A key per input set and sealing; it leaves the referee in batches without candidates only. */
static struct atoll_support_key key_make(const struct atoll_cuda_trial_state *s)
{
    struct {
        char purpose[8];
        struct atoll_id task;
        struct atoll_input_set input_set;
        uint64_t salt, count;
    } of;
    struct atoll_support_key key;
    memset(&of, 0, sizeof(of));
    memcpy(of.purpose, "seal", 4);
    of.task = s->known->task->id;
    of.input_set.variant = s->sealed->input_set.variant;
    of.input_set.series = s->sealed->input_set.series;
    of.input_set.number = s->sealed->input_set.number;
    of.input_set.seed = s->sealed->input_set.seed;
    of.salt = s->referee->salt;
    of.count = ++s->device->clock;
    struct atoll_id id =
        atoll_id_keyed(s->referee->setup.secret, sizeof(s->referee->setup.secret), &of, sizeof(of));
    memcpy(key.words, id.bytes, sizeof(key.words));
    return key;
}

static unsigned parts_wanted(const struct atoll_cuda_trial_state *s)
{
    const struct atoll_cuda_oracle *o = s->known->oracle;
    uint32_t variant = s->order->input_set->variant;
    struct atoll_keeping keeping = {.tolerance = &s->known->task->tolerance,
                                    .kind = s->variant->kind,
                                    .has_nonfinite = o->has_nonfinite[variant],
                                    .bytes = s->stage.sample.plain.sealed_bytes,
                                    .pool_size = s->known->pool_size[variant],
                                    .full_compares = s->referee->setup.full_compares,
                                    .comparing = s->order->comparing};
    return atoll_keeping_wanted(&keeping, s->device->expected_store, s->sealed);
}

/* The parts for which there is memory. */
static unsigned parts_reserve(struct atoll_cuda_trial_state *s, unsigned parts)
{
    const struct atoll_cuda_plain *plain = &s->stage.sample.plain;
    struct atoll_expected_store *store = s->device->expected_store;
    struct atoll_sealed *a = s->sealed;
    if (parts & ATOLL_SAMPLE_PRINT && atoll_expected_store_reserve_print(store, a, plain->print_bytes) != 0)
        parts &= ~ATOLL_SAMPLE_PRINT; /* before the values, which are spare beside it */
    if (parts & ATOLL_SAMPLE_VALUES && atoll_expected_store_reserve(store, a, plain->sealed_bytes) != 0)
        parts &= ~ATOLL_SAMPLE_VALUES;
    if (parts & ATOLL_SAMPLE_VALUES) {
        memcpy(a->array_offset, plain->sealed_offset, sizeof(a->array_offset));
        a->key = key_make(s);
    }
    if (parts & ATOLL_SAMPLE_PRINT) {
        memcpy(a->print.array_offset, plain->print_offset, sizeof(a->print.array_offset));
        a->print.key = key_make(s);
    }
    return parts;
}

static void parts_forget(struct atoll_cuda_trial_state *s, unsigned parts)
{
    if (parts & ATOLL_SAMPLE_VALUES)
        atoll_expected_store_unseal(s->device->expected_store, s->sealed);
    if (parts & ATOLL_SAMPLE_PRINT)
        atoll_expected_store_unseal_print(s->device->expected_store, s->sealed);
}

static void print_learn(struct atoll_cuda_trial_state *s)
{
    struct atoll_cuda_oracle *o = s->known->oracle;
    uint32_t variant = s->order->input_set->variant;
    for (size_t i = 0; i < s->known->task->tensor_count; i++) {
        const struct atoll_cuda_fingerprint_finding *made = &s->results.prints[i];
        s->sealed->print.hash[i] = made->hash;
        s->sealed->print.norm[i] =
            atoll_norm_rule_of(&s->known->task->tolerance, made->expected2, made->bound2);
        if (made->nonfinite_count)
            o->has_nonfinite[variant] = 1;
    }
    if (o->has_nonfinite[variant])
        parts_forget(s, ATOLL_SAMPLE_PRINT);
}

static void parts_learn(struct atoll_cuda_trial_state *s, unsigned parts)
{
    if (parts & ATOLL_SAMPLE_VALUES)
        atoll_cuda_answer_hashes(s, ATOLL_EXPECTED_SEALED);
    if (parts & ATOLL_SAMPLE_PRINT)
        print_learn(s);
    if (parts)
        atoll_cuda_answer_magnitudes(s);
}

/* The first sight of an input set defines its inputs; whatever differs later is the device's fault. */
static int hashes_learn(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    struct atoll_sealed *a = s->sealed;
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; a->has_hashes && i < task->tensor_count; i++)
        if (a->input_hash[i] != s->results.input_hash[i]) {
            atoll_cuda_device_drop_all(s->device);
            atoll_err_set(err, ATOLL_E_CHILD, "the device makes other values of input %s of the same draw",
                          task->tensors[i].name);
            return TRIAL_AGAIN;
        }
    memcpy(a->input_hash, s->results.input_hash, sizeof(a->input_hash));
    a->has_hashes = 1;
    a->generation = s->device->generation;
    return 0;
}

static void answer_account(struct atoll_cuda_trial_state *s, double ns)
{
    struct atoll_answer_counts *n = &s->known->answers;
    unsigned again = s->sealed->was_answered != 0;
    s->sealed->was_answered = 1;
    n->made[again]++;
    n->made_ns[again] += ns;
    atoll_expected_store_cost(s->device->expected_store, s->sealed, ns, s->stage.sample.plain.sealed_bytes);
}

static int expected_run(struct atoll_cuda_trial_state *s, unsigned parts, struct atoll_err *err)
{
    struct atoll_cuda_device *d = s->device;
    double begin = atoll_referee_now_ns();
    int rc = parts ? atoll_cuda_torch_answer(&s->stage, err) : 0;
    atoll_command_batch_clear(&d->batch);
    if (rc == 0)
        rc = atoll_cuda_sample_expected(&s->stage.sample, &d->batch, s->sealed, parts, err);
    if (rc == 0)
        rc = atoll_cuda_device_run_own(d, "answer to a draw", err);
    if (rc == 0)
        rc = atoll_cuda_sample_read(&s->stage.sample, &d->reply, &s->results, err);
    if (rc == 0)
        rc = hashes_learn(s, err);
    if (rc == 0)
        parts_learn(s, parts);
    if (rc < 0) /* plain values may stand somewhere */
        atoll_cuda_device_drop(d);
    if (rc == 0 && parts)
        answer_account(s, atoll_referee_now_ns() - begin);
    s->trial->reference_ns += parts ? atoll_referee_now_ns() - begin : 0;
    return rc;
}

int atoll_cuda_answer_inputs(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    return s->sealed->generation == s->device->generation ? 0 : expected_run(s, 0, err);
}

int atoll_cuda_answer_have(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    const struct atoll_sealed *a = s->sealed;
    unsigned parts = parts_reserve(s, parts_wanted(s));
    int rc = 0;
    s->is_print_later = atoll_keeping_is_later(a, parts, s->order->comparing);
    if (s->is_print_later)
        parts = 0;
    if (parts || !a->has_hashes)
        rc = expected_run(s, parts, err);
    if (rc != 0)
        parts_forget(s, parts);
    s->by = s->is_print_later ? ATOLL_LOOKING_REFERENCE : atoll_keeping_looking(a, s->order->comparing);
    return rc;
}

void atoll_cuda_answer_later(struct atoll_cuda_trial_state *s)
{
    if (!s->is_print_later)
        return;
    s->is_print_later = 0;
    s->sealed->was_answered = 1;
    print_learn(s);
}

void atoll_cuda_answer_never(struct atoll_cuda_trial_state *s)
{
    if (s->is_print_later)
        parts_forget(s, ATOLL_SAMPLE_PRINT);
    s->is_print_later = 0;
}

/* ---- ahead ---- */

/* Of what is wanted, what finds a gap: nothing but spare values gives way for a draw that nobody has asked for. */
static unsigned parts_ahead(const struct atoll_cuda_trial_state *s)
{
    const struct atoll_cuda_plain *plain = &s->stage.sample.plain;
    const struct atoll_expected_store *store = s->device->expected_store;
    unsigned parts = parts_wanted(s);
    uint64_t print = parts & ATOLL_SAMPLE_PRINT ? plain->print_bytes : 0;
    if (!atoll_expected_store_has_gap(store, plain->sealed_bytes + print))
        parts &= ~ATOLL_SAMPLE_VALUES;
    if (!atoll_expected_store_has_print_gap(store, print))
        parts &= ~ATOLL_SAMPLE_PRINT;
    return parts;
}

/* 1 sealed, 0 there is no room for it, -1. */
static int answer_seal(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    int rc = TRIAL_AGAIN;
    for (int i = 0; rc == TRIAL_AGAIN && i < ATOLL_CUDA_LOST_LIMIT; i++) {
        atoll_err_clear(err);
        rc = atoll_cuda_stage_set(&s->stage, err);
        unsigned parts = rc == 0 ? parts_reserve(s, parts_ahead(s)) : 0;
        if (rc == 0 && !parts)
            return 0;
        if (rc == 0)
            rc = expected_run(s, parts, err);
        if (rc != 0)
            parts_forget(s, parts);
    }
    if (rc == TRIAL_AGAIN)
        atoll_err_set(err, ATOLL_E_CHILD, "the device process was lost %d times", ATOLL_CUDA_LOST_LIMIT);
    return rc == 0 ? 1 : -1;
}

/* Cheap: it is asked for draw after draw. */
static int is_answered(const struct atoll_cuda_trial_state *s)
{
    return s->sealed->is_sealed || s->sealed->print.is_sealed ||
           (s->device->areas[ATOLL_AREA_SEALED].bytes && !parts_ahead(s));
}

/* A trial that nobody stands in. */
struct answering {
    struct atoll_cuda_trial_state trial;
    struct atoll_trial outcome;
    struct atoll_trial_order order;
    struct atoll_plan plan;
    struct atoll_prepared prepared;
    struct atoll_loaded_candidate nobody;
};

int atoll_cuda_answer(struct atoll_referee *referee, struct atoll_case *known,
                      const struct atoll_input_set *input_set, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct answering *a = calloc(1, sizeof(*a));
    struct atoll_sealed *sealed =
        a ? atoll_expected_store_take(d->expected_store, known->number, input_set) : NULL;
    if (!sealed) {
        free(a);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an answer to a draw");
    }
    a->prepared = (struct atoll_prepared){.task = known->task, .plan = &a->plan};
    a->nobody = (struct atoll_loaded_candidate){.prepared = &a->prepared};
    a->order = (struct atoll_trial_order){.input_set = input_set,
                                          .comparing = ATOLL_COMPARING_PRINT,
                                          .placement = atoll_referee_placement(referee)};
    a->trial = (struct atoll_cuda_trial_state){.referee = referee,
                                               .device = d,
                                               .known = known,
                                               .candidate = &a->nobody,
                                               .order = &a->order,
                                               .variant = &known->task->variants[input_set->variant],
                                               .sealed = sealed,
                                               .trial = &a->outcome,
                                               .stage = {.referee = referee,
                                                         .device = d,
                                                         .known = known,
                                                         .candidate = &a->nobody,
                                                         .input_set = input_set,
                                                         .placement = a->order.placement}};
    int rc =
        !atoll_cuda_stage_fits(&a->trial.stage) || is_answered(&a->trial) ? 0 : answer_seal(&a->trial, &own);
    if (rc < 0 && err)
        *err = own;
    atoll_expected_store_give(d->expected_store, sealed);
    free(a);
    return rc;
}

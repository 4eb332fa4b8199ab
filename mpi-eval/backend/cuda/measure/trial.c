/* One sample: expected values (when they are not known), run, check.  A lost device process starts it again; a fault
 * while the candidate ran is the candidate's. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/backend/cuda/measure/answer.h"
#include "mpi-eval/backend/cuda/measure/backend.h"
#include "mpi-eval/backend/cuda/measure/clearing.h"
#include "mpi-eval/backend/cuda/measure/launch.h"
#include "mpi-eval/backend/cuda/measure/local_memory.h"
#include "mpi-eval/backend/cuda/measure/monitor.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "mpi-eval/backend/cuda/measure/sample.h"
#include "mpi-eval/backend/cuda/measure/torch_answer.h"
#include "mpi-eval/referee/check.h"

#define DAMAGE_LIMIT      2
#define EVIDENCE_ELEMENTS ((uint64_t)1 << 20)

/* ---- verdicts ---- */

/* "variant v: ..."; returns JUDGED. */
static int trial_judge(struct atoll_cuda_trial_state *s, enum atoll_verdict verdict, unsigned level,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
static int trial_judge(struct atoll_cuda_trial_state *s, enum atoll_verdict verdict, unsigned level,
                       const char *format, ...)
{
    struct atoll_trial *t = s->trial;
    size_t n = (size_t)snprintf(t->detail, sizeof(t->detail), "variant %.64s: ", s->variant->name);
    va_list args;
    va_start(args, format);
    vsnprintf(t->detail + n, sizeof(t->detail) - n, format, args);
    va_end(args);
    t->verdict = verdict;
    t->level = level;
    return TRIAL_JUDGED;
}

/* ---- why an output is wrong, looked at on the host where it is small enough (referee/check.h) ---- */

/* A copy with the alignment of doubles; NULL when it is not what was asked for. */
static void *take_copy(struct atoll_command_batch_reply *reply, uint64_t bytes)
{
    size_t length = 0;
    const void *from = atoll_command_batch_take_bytes(reply, &length);
    void *copy = length == bytes ? malloc(length + 1) : NULL;
    if (copy)
        memcpy(copy, from, length);
    return copy;
}

/* Unwritten elements are the device's finding: the fill is known there. */
static void evidence_add(struct atoll_cuda_stage *stage, size_t tensor,
                         const struct atoll_support_finding *finding, char *detail)
{
    struct atoll_cuda_device *d = stage->device;
    struct atoll_cuda_sample *s = &stage->sample;
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t count = s->plain.counts[tensor];
    if (finding->unwritten_count || count > EVIDENCE_ELEMENTS)
        return;
    int rc = atoll_cuda_torch_answer(stage, &err);
    atoll_command_batch_clear(&d->batch);
    if (rc == 0)
        rc = atoll_cuda_sample_evidence(s, &d->batch, tensor, &err);
    if (rc == 0)
        rc = atoll_cuda_device_run_own(d, "evidence", &err);
    if (rc < 0) /* plain values may stand somewhere */
        atoll_cuda_device_drop(d);
    if (rc != 0)
        return;
    void *data = take_copy(&d->reply, s->layout.buffers[tensor].bytes);
    double *values = take_copy(&d->reply, count * 8);
    double *scale = s->plain.scale[tensor] ? take_copy(&d->reply, count * 8) : NULL;
    if (data && values && (scale || !s->plain.scale[tensor])) {
        struct atoll_finding *f = malloc(sizeof(*f));
        struct atoll_check check = {.task = s->task,
                                    .variant = s->variant,
                                    .tensor = tensor,
                                    .data = data,
                                    .values = values,
                                    .scale = scale};
        if (f && atoll_check_compare(&check, f, NULL) == 0 && f->wrong && f->detail[0])
            snprintf(detail, ATOLL_DETAIL_BYTES, "%s", f->detail);
        free(f);
    }
    free(data);
    free(values);
    free(scale);
}

/* ---- what the check batch found ---- */

static int guards_judge(struct atoll_cuda_trial_state *s, enum atoll_sample_stage stage,
                        const struct atoll_cuda_surroundings *around)
{
    const char *when = stage == ATOLL_SAMPLE_WARMING ? ", in the untimed run before a sample" : "";
    const struct atoll_layout *l = &s->stage.sample.layout;
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; i <= l->count; i++) {
        int64_t distance = 0;
        size_t b = i;
        if (i < l->count && atoll_cuda_sample_tail_touched(&s->stage.sample, stage, around, i))
            distance = 0;
        else if (around->guards[i].changed)
            b = atoll_layout_trespass(l, i, around->guards[i].first, &distance);
        else
            continue;
        const char *name = b < task->tensor_count ? task->tensors[b].name
                           : b - task->tensor_count < s->candidate->prepared->plan->scratch_count
                               ? s->candidate->prepared->plan->scratch[b - task->tensor_count].name
                               : "Triton's own scratch";
        atoll_cuda_device_drop(s->device); /* who knows what else it wrote to */
        if (distance < 0)
            return trial_judge(s, ATOLL_V_WRONG, 5,
                               "wrote out of bounds: %lld bytes before the start of %s%s",
                               (long long)-distance, name, when);
        return trial_judge(s, ATOLL_V_WRONG, 5,
                           "wrote out of bounds: %lld bytes past the end of %s (%llu bytes)%s",
                           (long long)distance, name, (unsigned long long)l->buffers[b].bytes, when);
    }
    return 0;
}

/* A process that has not made this draw's inputs before is asked whether it makes the same ones when it matters only. */
static int inputs_judge(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; i < task->tensor_count; i++) {
        enum atoll_role role = task->tensors[i].role;
        if ((role != ATOLL_ROLE_IN && role != ATOLL_ROLE_CONSTANT) ||
            s->results.input_hash[i] == s->sealed->input_hash[i])
            continue;
        int rc = atoll_cuda_answer_inputs(s, err);
        return rc != 0 ? rc
                       : trial_judge(s, ATOLL_V_WRONG, 5,
                                     "changed the input %s; tensors of role %s must stay as they are",
                                     task->tensors[i].name, role == ATOLL_ROLE_IN ? "in" : "constant");
    }
    s->sealed->generation = s->device->generation;
    return 0;
}

/* Once may be the device, twice under one candidate is the candidate. */
static int damage_judge(struct atoll_cuda_trial_state *s)
{
    struct atoll_sealed *a = s->sealed;
    enum atoll_expected_kind kind =
        s->by == ATOLL_LOOKING_VALUES ? ATOLL_EXPECTED_SEALED : ATOLL_EXPECTED_PLAIN;
    if (s->by != ATOLL_LOOKING_PRINT && a->has_expected != kind) {
        atoll_cuda_answer_hashes(s, kind);
        return 0;
    }
    for (size_t i = 0; i < s->known->task->tensor_count; i++) {
        int is_same = s->by == ATOLL_LOOKING_PRINT
                          ? s->results.prints[i].hash == a->print.hash[i]
                          : s->results.findings[i].expected_hash == a->expected_hash[i];
        if (!atoll_cuda_is_output(s->known->task, i) || is_same)
            continue;
        atoll_expected_store_unseal(s->device->expected_store, a);
        atoll_expected_store_unseal_print(s->device->expected_store, a);
        a->has_expected = ATOLL_EXPECTED_UNKNOWN;
        /* with what the candidate may have kept of this input set's first run, and all that is sealed: who knows what else was
         * written to */
        atoll_cuda_device_drop_all(s->device);
        if (++atoll_cuda_loaded_candidate_of(s->candidate)->damages < DAMAGE_LIMIT)
            return TRIAL_AGAIN;
        return trial_judge(s, ATOLL_V_WRONG, 5,
                           "memory that is not the kernel's own changed while it ran, twice");
    }
    return 0;
}

static int prints_match(const struct atoll_cuda_trial_state *s)
{
    for (size_t i = 0; i < s->known->task->tensor_count; i++)
        if (atoll_cuda_is_output(s->known->task, i) &&
            !atoll_cuda_fingerprint_matches(&s->results.prints[i], s->stage.sample.plain.counts[i],
                                            s->sealed->print.norm[i].error2_limit))
            return 0;
    return 1;
}

static int findings_judge(struct atoll_cuda_trial_state *s)
{
    const struct atoll_task *task = s->known->task;
    char detail[ATOLL_DETAIL_BYTES];
    atoll_cuda_answer_magnitudes(s);
    s->trial->compared_fully = 1;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_support_finding *f = &s->results.findings[i];
        if (!atoll_cuda_is_output(task, i))
            continue;
        if (atoll_check_has_element_bound(&task->tolerance))
            s->trial->worst_error = fmax(s->trial->worst_error, f->worst_error);
        if (atoll_support_finding_judge(f, task, i, s->variant, detail, sizeof(detail)))
            continue;
        evidence_add(&s->stage, i, f, detail);
        s->trial->verdict = ATOLL_V_WRONG;
        s->trial->level = 5;
        snprintf(s->trial->detail, sizeof(s->trial->detail), "variant %.64s, %.1800s", s->variant->name,
                 detail);
        return TRIAL_JUDGED;
    }
    return 0;
}

static int check_run(struct atoll_cuda_trial_state *s, struct atoll_err *err);

static int outputs_judge(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    int rc = damage_judge(s);
    for (size_t i = 0; s->order->hash_outputs && i < s->known->task->tensor_count; i++)
        if (atoll_cuda_is_output(s->known->task, i)) /* the run's key: a finding's is the seal's */
            s->trial->output_hash = atoll_random_at(s->trial->output_hash ^ s->results.end_hash[i], i);
    if (rc == 0 && s->by == ATOLL_LOOKING_PRINT) {
        if (prints_match(s))
            return 0;
        s->by = s->sealed->is_sealed ? ATOLL_LOOKING_VALUES : ATOLL_LOOKING_REFERENCE;
        rc = check_run(s, err);
        if (rc == 0)
            rc = damage_judge(s);
    }
    if (rc != 0)
        return rc;
    atoll_cuda_answer_later(s); /* of inputs and values that are in no doubt */
    return findings_judge(s);
}

/* Guard zones, late writes, inputs, outputs, in this order. */
static int trial_conclude(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    int rc;
    if ((rc = guards_judge(s, ATOLL_SAMPLE_TIMED, &s->results.around)) != 0)
        return rc;
    for (size_t i = 0; s->stage.sample.hashes_late && i < s->known->task->tensor_count; i++)
        if (atoll_cuda_is_output(s->known->task, i) && s->results.stop_hash[i] != s->results.end_hash[i])
            return trial_judge(s, ATOLL_V_WRONG, 6,
                               "outputs were written after the sample had said that it was done");
    if ((rc = inputs_judge(s, err)) != 0)
        return rc;
    rc = outputs_judge(s, err);
    if (rc == 0 && s->doubted) {
        snprintf(s->trial->detail, sizeof(s->trial->detail),
                 "the device's clock said %.0f ns, the host saw %.0f ns: the longer one counts", s->device_ns,
                 s->trial->ns);
        return 0;
    }
    const struct atoll_cuda_oracle *o = s->known->oracle;
    if (rc == 0)
        atoll_trial_note_precision(s->trial, o->precision, o->is_on_host ? " on the host" : "");
    if (rc == 0 && !s->trial->detail[0] && s->stage.sample.layout.places < 2)
        snprintf(s->trial->detail, sizeof(s->trial->detail),
                 "buffers have one place on the device and only shift, guard zones of %llu KiB",
                 (unsigned long long)s->stage.sample.layout.guards[0].bytes >> 10);
    return rc;
}

/* ---- the sample ---- */

static void trial_mark(struct atoll_cuda_trial_state *s, enum atoll_phase phase)
{
    double now = atoll_referee_now_ns();
    s->referee->phases.ns[phase] += now - s->mark_ns;
    s->mark_ns = now;
}

/* What a plan asks for and cannot have is the candidate's doing. */
static int trial_prepare(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    int is_lost = !s->device->worker; /* a run before this one took it along */
    int rc = is_lost ? atoll_cuda_device_ready(s->device, &why) : 0;
    if (is_lost)
        trial_mark(s, ATOLL_PHASE_START);
    if (rc == 0)
        rc = atoll_cuda_stage_set(&s->stage, &why);
    if (rc >= 0)
        return rc;
    if (why.code == ATOLL_E_INPUT || why.code == ATOLL_E_LIMIT)
        return trial_judge(s, ATOLL_V_LAUNCH_ERROR, 4, "%.1000s", why.text);
    if (err)
        *err = why;
    return TRIAL_FAILED;
}

/* ---- the candidate ---- */

/* Errors that a kernel cannot bring about: the machine's (CUDA driver API, CUresult). */
static int is_hardware(int32_t code)
{
    static const int32_t codes[] = {46 /* device unavailable */,
                                    214 /* ECC */,
                                    220 /* NVLink */,
                                    226,
                                    721 /* contained */,
                                    800,
                                    802,
                                    803,
                                    810};
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (codes[i] == code)
            return 1;
    return 0;
}

/* The process is gone: whose doing was it? */
static int run_lost(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    const struct atoll_command_batch_reply *r = &s->device->reply;
    if (r->status == ATOLL_COMMAND_BATCH_TIMEOUT) {
        s->candidate->candidate_ns += s->order->deadline_ns;
        return trial_judge(s, ATOLL_V_TIMEOUT, 4, "not finished after %.3g s", s->order->deadline_ns / 1e9);
    }
    if (r->status == ATOLL_COMMAND_BATCH_FAULT && !is_hardware(r->code))
        return trial_judge(s, ATOLL_V_CRASH, 4, "%s", r->text);
    atoll_err_set(err, ATOLL_E_CHILD, "the device process was lost: %s", r->text);
    atoll_cuda_device_drop_all(s->device); /* memory that is broken may be what is sealed */
    return TRIAL_AGAIN;
}

/* Of tensors that a batch makes. */
static uint64_t bytes_run(const struct atoll_cuda_trial_state *s)
{
    return (s->stage.sample.is_warm ? 2 : 1) * s->stage.total_bytes;
}

/* Whether the batch does what others do not: it loads the candidate's image again, however large that is, or local memory is
 * overwritten, or grows, for larger frames. */
static int is_longer(const struct atoll_cuda_trial_state *s)
{
    return atoll_cuda_loaded_candidate_of(s->candidate)->cubin.state_bytes != 0 ||
           atoll_cuda_loaded_candidate_local_bytes(s->candidate) > ATOLL_SUPPORT_LOCAL_BYTES;
}

/* Where the time of the batch went: the flush by the device's clock, the rest by the process's. */
static void run_account(struct atoll_cuda_trial_state *s)
{
    const struct atoll_command_batch_reply *r = &s->device->reply;
    double *ns = s->referee->phases.ns, now = atoll_referee_now_ns(), wall = now - s->mark_ns;
    if (!is_longer(s))
        atoll_own_time_add(&s->device->own_time, fmax(wall - s->trial->ns, 0), bytes_run(s));
    double flush = -r->event_ns[ATOLL_SAMPLE_FILLED], start = r->seen_ns[ATOLL_SAMPLE_START],
           span = s->trial->ns;
    s->mark_ns = now;
    if (!(flush >= 0) || !(start >= flush)) {
        ns[ATOLL_PHASE_INPUTS] += wall;
        return;
    }
    ns[ATOLL_PHASE_INPUTS] += start - flush;
    ns[ATOLL_PHASE_FLUSH] += flush;
    ns[ATOLL_PHASE_SPAN] += span;
    ns[ATOLL_PHASE_FORK] += fmax(wall - start - span, 0); /* the way there and back, and hashes */
}

/* What the sample took; without any clock it is no sample. */
static int run_time(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    struct atoll_cuda_device *d = s->device;
    const struct atoll_command_batch_reply *r = &d->reply;
    struct atoll_clocks clocks = {.span_ns = r->event_ns[ATOLL_SAMPLE_STOP],
                                  .flush_ns = -r->event_ns[ATOLL_SAMPLE_FILLED],
                                  .flush_usual_ns = d->flush_usual_ns,
                                  .start_seen_ns = r->seen_ns[ATOLL_SAMPLE_START],
                                  .stop_seen_ns = r->seen_ns[ATOLL_SAMPLE_STOP],
                                  .opened_ns = r->opened_ns};
    s->trial->ns = atoll_clocks_span(&clocks, &s->doubted);
    if (isnan(s->trial->ns)) {
        s->trial->ns = 0;
        atoll_err_set(err, ATOLL_E_CHILD, "neither the device's clock nor the host's says how long it took");
        atoll_cuda_device_drop(d);
        return TRIAL_AGAIN;
    }
    if (!s->doubted && !atoll_clocks_late(&clocks) && clocks.flush_ns > 0 &&
        (!(d->flush_usual_ns > 0) || clocks.flush_ns < d->flush_usual_ns))
        d->flush_usual_ns = clocks.flush_ns;
    s->device_ns = clocks.span_ns;
    s->candidate->candidate_ns += s->trial->ns;
    return 0;
}

/* What it wrote around its buffers in the untimed run. */
static int warming_judge(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    if (atoll_cuda_sample_read_warming(&s->stage.sample, &s->device->reply, &s->results.around, err) == 0)
        return guards_judge(s, ATOLL_SAMPLE_WARMING, &s->results.around);
    atoll_cuda_device_drop(s->device);
    return TRIAL_FAILED;
}

static int local_judge(struct atoll_cuda_trial_state *s, uint32_t most)
{
    return trial_judge(s, ATOLL_V_LAUNCH_ERROR, 4,
                       "its threads have %u bytes of local memory; warm timing clears %u between the "
                       "untimed and the timed run: use less, shared memory or scratch",
                       atoll_cuda_loaded_candidate_local_bytes(s->candidate), most);
}

/* What it leaves in local memory is overwritten before its next run, or the process is replaced. */
static int local_prepare(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    struct atoll_cuda_device *d = s->device;
    int is_reached = 0, rc = atoll_cuda_local_have(d, s->candidate, &is_reached, err);
    trial_mark(s, ATOLL_PHASE_START);
    if (rc != 0)
        return rc > 0 ? TRIAL_AGAIN : TRIAL_FAILED;
    if (!is_reached && s->referee->setup.is_warm)
        return local_judge(s, d->local_bytes);
    d->has_unreached |= !is_reached;
    s->stage.sample.local_bytes = d->local_bytes;
    return 0;
}

static int sampled_run(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    struct atoll_cuda_device *d = s->device;
    double deadline = (s->stage.sample.is_warm ? 2 : 1) * s->order->deadline_ns +
                      atoll_own_time_limit_ns(is_longer(s) ? NULL : &d->own_time, bytes_run(s));
    int is_disturbed = 0;
    atoll_cuda_device_settle(d);
    trial_mark(s, ATOLL_PHASE_START);
    int rc = s->variant->kind == ATOLL_VARIANT_BENCH ? atoll_cuda_clearing_wait(d, err) : 0;
    trial_mark(s, ATOLL_PHASE_CLEARING);
    if (rc != 0)
        return rc > 0 ? TRIAL_AGAIN : TRIAL_FAILED;
    atoll_command_batch_clear(&d->batch);
    if (atoll_cuda_sample_run(&s->stage.sample, &d->batch, err) != 0)
        return TRIAL_FAILED;
    rc = atoll_cuda_device_run_doubtful(
        d, deadline,
        atoll_own_time_silence_ns(s->variant->kind == ATOLL_VARIANT_BENCH || is_longer(s), bytes_run(s)),
        &is_disturbed, err);
    s->trial->disturbed |= is_disturbed;
    if (rc != 0)
        return rc > 0 ? run_lost(s, err) : TRIAL_FAILED;
    if (d->reply.status == ATOLL_COMMAND_BATCH_REFUSED) {
        const struct atoll_command_batch_reply *r = &s->device->reply;
        char text[256];
        long k = atoll_cuda_sample_launch_of(&s->stage.sample, r->command);
        if (k < 0) {
            atoll_err_set(err, ATOLL_E_CHILD, "command %u of a sample was refused: %s", r->command, r->text);
            d->local_refusals +=
                d->local_bytes > ATOLL_SUPPORT_LOCAL_BYTES; /* a driver that had given memory back */
            atoll_cuda_device_drop(s->device);
            return TRIAL_AGAIN;
        }
        return trial_judge(
            s, ATOLL_V_LAUNCH_ERROR, 4, "kernel %s, %s: %s",
            s->candidate->prepared->plan->launches[s->stage.sample.plan_launch + (size_t)k].symbol,
            atoll_cuda_launch_text(&s->stage.sample.launches[k], text, sizeof(text)), r->text);
    }
    rc = run_time(s, err);
    if (rc == 0)
        run_account(s);
    return rc == 0 && s->stage.sample.is_warm ? warming_judge(s, err) : rc;
}

/* ---- the check ---- */

static int check_run(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    struct atoll_cuda_device *d = s->device;
    double begin = atoll_referee_now_ns();
    int rc = s->by == ATOLL_LOOKING_REFERENCE ? atoll_cuda_torch_answer(&s->stage, err) : 0;
    trial_mark(s, ATOLL_PHASE_EXPECTED);
    atoll_command_batch_clear(&d->batch);
    if (s->by == ATOLL_LOOKING_PRINT)
        atoll_cuda_sample_check_print(&s->stage.sample, &d->batch, s->sealed);
    else if (rc == 0)
        rc = atoll_cuda_sample_check(&s->stage.sample, &d->batch,
                                     s->by == ATOLL_LOOKING_VALUES ? s->sealed : NULL,
                                     s->is_print_later ? s->sealed : NULL, err);
    if (rc == 0)
        rc = atoll_cuda_device_run_own(d, "check of a sample", err);
    if (rc == 0)
        rc = atoll_cuda_sample_read(&s->stage.sample, &d->reply, &s->results, err);
    if (rc < 0)
        atoll_cuda_device_drop(d);
    if (rc != 0)
        return rc;
    const struct atoll_command_batch_reply *r = &s->device->reply;
    double now = atoll_referee_now_ns(), wall = now - s->mark_ns, first = r->seen_ns[ATOLL_SAMPLE_FILLED];
    first = first >= 0 && first <= wall ? first : 0;
    s->referee->phases.ns[ATOLL_PHASE_UNTOUCHED] += first;
    s->referee->phases.ns[ATOLL_PHASE_OUTPUTS] += wall - first;
    s->mark_ns = now;
    s->known->answers.looked[s->by]++;
    s->known->answers.looked_ns[s->by] += now - begin;
    if (s->by ==
        ATOLL_LOOKING_REFERENCE) /* asked again, where its values have no room: no candidate's time */
        s->trial->reference_ns += now - begin;
    return 0;
}

static int trial_check(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    int rc = check_run(s, err);
    if (rc != 0)
        return rc;
    double hz = 0;
    int count = 0;
    for (int i = 0; i < 2; i++)
        if (s->results.probes[i].ns > 0 && s->results.probes[i].cycles > 0) {
            hz += 1e9 * (double)s->results.probes[i].cycles / (double)s->results.probes[i].ns;
            count++;
        }
    s->trial->clock_hz = count ? hz / count : 0;
    return trial_conclude(s, err);
}

/* ---- the whole ---- */

static int hand_over(struct atoll_cuda_trial_state *s, uint64_t candidate, uint32_t stack_bytes,
                     struct atoll_err *err)
{
    double begin = atoll_referee_now_ns();
    int rc = atoll_cuda_device_hand_over(s->device, candidate, stack_bytes, ~s->order->placement, err);
    s->known->answers.hand_over_ns += atoll_referee_now_ns() - begin;
    return rc;
}

static int trial_once(struct atoll_cuda_trial_state *s, struct atoll_err *err)
{
    const struct atoll_cuda_loaded_candidate *loaded = atoll_cuda_loaded_candidate_of(s->candidate);
    uint32_t local_bytes = atoll_cuda_local_reach(s->candidate);
    s->mark_ns = atoll_referee_now_ns();
    if (local_bytes == ATOLL_CUDA_LOCAL_UNREACHED && s->referee->setup.is_warm)
        return local_judge(s, atoll_cuda_local_most(s->candidate));
    atoll_cuda_local_begin(s->device, s->candidate);
    int rc = trial_prepare(s, err);
    if (rc == 0)
        rc = hand_over(s, loaded->number, local_bytes, err);
    trial_mark(s, ATOLL_PHASE_INPUTS);
    if (rc == 0)
        rc = atoll_cuda_answer_have(s, err);
    trial_mark(s, ATOLL_PHASE_EXPECTED);
    if (rc == 0)
        rc = local_prepare(s, err);
    if (rc == 0)
        rc = sampled_run(s, err);
    if (rc == 0)
        rc = trial_check(s, err);
    atoll_cuda_answer_never(s); /* unless the check made it */
    s->referee->phases.trial_count += rc == 0 || rc == TRIAL_JUDGED;
    return rc;
}

static void trial_run(struct atoll_cuda_trial_state *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    int rc = TRIAL_AGAIN;
    for (int i = 0; rc == TRIAL_AGAIN && i < ATOLL_CUDA_LOST_LIMIT; i++) {
        struct atoll_trial fresh = {.verdict = ATOLL_V_CORRECT, .reference_ns = s->trial->reference_ns};
        *s->trial = fresh;
        atoll_err_clear(&err);
        rc = trial_once(s, &err);
    }
    if (rc == 0 || rc == TRIAL_JUDGED) {
        if (atoll_watch_record(&s->device->watch, s->mark_ns, s->trial))
            atoll_cuda_device_drop_all(s->device);
        return;
    }
    s->trial->verdict = ATOLL_V_INFRASTRUCTURE;
    s->trial->level = 0;
    snprintf(s->trial->detail, sizeof(s->trial->detail), "%s",
             err.text[0]                ? err.text
             : s->device->reply.text[0] ? s->device->reply.text
                                        : "the device was lost");
}

void atoll_cuda_trial(struct atoll_referee *referee, struct atoll_case *known,
                      struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                      struct atoll_trial *ret_trial)
{
    struct atoll_cuda_trial_state *s = calloc(1, sizeof(*s));
    struct atoll_cuda_device *d = atoll_cuda_device_of(referee);
    struct atoll_sealed *sealed =
        s ? atoll_expected_store_take(d->expected_store, known->number, order->input_set) : NULL;
    *ret_trial = (struct atoll_trial){.verdict = ATOLL_V_CORRECT};
    if (!sealed) {
        ret_trial->verdict = ATOLL_V_INFRASTRUCTURE;
        snprintf(ret_trial->detail, sizeof(ret_trial->detail), "no memory for a sample");
        free(s);
        return;
    }
    s->referee = referee;
    s->device = d;
    s->known = known;
    s->candidate = candidate;
    s->order = order;
    s->variant = &known->task->variants[order->input_set->variant];
    s->sealed = sealed;
    s->trial = ret_trial;
    s->stage = (struct atoll_cuda_stage){.referee = referee,
                                         .device = d,
                                         .known = known,
                                         .candidate = candidate,
                                         .input_set = order->input_set,
                                         .placement = order->placement,
                                         .hashes_late = order->comparing != ATOLL_COMPARING_PRINT ||
                                                        order->hash_outputs};
    trial_run(s);
    atoll_expected_store_give(d->expected_store, sealed);
    free(s);
}

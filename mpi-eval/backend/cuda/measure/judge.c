/* What the check batch found becomes a verdict. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/random.h"
#include "mpi-eval/backend/cuda/measure/evidence.h"
#include "mpi-eval/backend/cuda/measure/trial.h"

#define DAMAGE_LIMIT 2

int atoll_cuda_trial_judge(struct atoll_cuda_trial *s, enum atoll_verdict verdict, unsigned level,
                           const char *format, ...)
{
    struct atoll_trial *t = s->trial;
    size_t n = (size_t)snprintf(t->detail, sizeof t->detail, "variant %.64s: ", s->variant->name);
    va_list args;
    va_start(args, format);
    vsnprintf(t->detail + n, sizeof t->detail - n, format, args);
    va_end(args);
    t->verdict = verdict;
    t->level = level;
    return ATOLL_CUDA_TRIAL_JUDGED;
}

void atoll_cuda_trial_magnitudes(struct atoll_cuda_trial *s)
{
    struct atoll_cuda_oracle *o = s->known->oracle;
    for (size_t i = 0; i < s->known->task->tensor_count; i++) {
        const struct atoll_support_finding *f = &s->results.findings[i];
        double size = f->count ? sqrt(f->expected2 / (double)f->count) : 0;
        if (atoll_cuda_is_output(s->known->task, i) && isfinite(size) && size > 0)
            o->magnitude[i] = size;
    }
}

/* What is expected, as hashed by the first look at it: a change means damage. */
void atoll_cuda_trial_expect(struct atoll_cuda_trial *s)
{
    for (size_t i = 0; i < s->known->task->tensor_count; i++)
        s->answer->expected_hash[i] = s->results.findings[i].expected_hash;
    s->answer->has_expected = s->is_kept ? ATOLL_EXPECTED_SEALED : ATOLL_EXPECTED_PLAIN;
}

static int guards_judge(struct atoll_cuda_trial *s)
{
    const struct atoll_layout *l = &s->stage.sample.layout;
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; i <= l->count; i++) {
        int64_t distance = 0;
        size_t b = i;
        if (i < l->count && atoll_cuda_sample_tail_touched(&s->stage.sample, &s->results, i))
            distance = 0;
        else if (s->results.guards[i].changed)
            b = atoll_layout_trespass(l, i, s->results.guards[i].first, &distance);
        else
            continue;
        const char *name = b < task->tensor_count
                               ? task->tensors[b].name
                               : s->candidate->prepared->plan->scratch[b - task->tensor_count].name;
        atoll_cuda_device_drop(s->device); /* who knows what else it wrote to */
        if (distance < 0)
            return atoll_cuda_trial_judge(s, ATOLL_V_WRONG, 5,
                                          "wrote out of bounds: %lld bytes before the start of %s",
                                          (long long)-distance, name);
        return atoll_cuda_trial_judge(s, ATOLL_V_WRONG, 5,
                                      "wrote out of bounds: %lld bytes past the end of %s (%llu bytes)",
                                      (long long)distance, name, (unsigned long long)l->buffers[b].bytes);
    }
    return 0;
}

static int late_judge(struct atoll_cuda_trial *s)
{
    for (size_t i = 0; s->stage.sample.hashes_late && i < s->known->task->tensor_count; i++)
        if (atoll_cuda_is_output(s->known->task, i) && s->results.stop_hash[i] != s->results.end_hash[i])
            return atoll_cuda_trial_judge(s, ATOLL_V_WRONG, 6,
                                          "outputs were written after the sample had said that it was done");
    return 0;
}

static int inputs_judge(struct atoll_cuda_trial *s)
{
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; i < task->tensor_count; i++) {
        enum atoll_role role = task->tensors[i].role;
        if ((role == ATOLL_ROLE_IN || role == ATOLL_ROLE_CONSTANT) &&
            s->results.input_hash[i] != s->answer->input_hash[i])
            return atoll_cuda_trial_judge(s, ATOLL_V_WRONG, 5,
                                          "changed the input %s; tensors of role %s must stay as they are",
                                          task->tensors[i].name, role == ATOLL_ROLE_IN ? "in" : "constant");
    }
    return 0;
}

/* Once may be the device, twice under one candidate is the candidate. */
static int damage_judge(struct atoll_cuda_trial *s)
{
    struct atoll_sealed *a = s->answer;
    enum atoll_expected_kind kind = s->is_kept ? ATOLL_EXPECTED_SEALED : ATOLL_EXPECTED_PLAIN;
    if (a->has_expected != kind) {
        atoll_cuda_trial_expect(s);
        return 0;
    }
    for (size_t i = 0; i < s->known->task->tensor_count; i++) {
        if (!atoll_cuda_is_output(s->known->task, i) ||
            s->results.findings[i].expected_hash == a->expected_hash[i])
            continue;
        atoll_answer_unseal(s->device->answers, a);
        a->has_expected = ATOLL_EXPECTED_UNKNOWN;
        atoll_cuda_device_drop(
            s->device); /* with what the candidate may have kept of this draw's first run */
        if (++atoll_cuda_loaded_candidate_of(s->candidate)->damages < DAMAGE_LIMIT)
            return ATOLL_CUDA_TRIAL_AGAIN;
        return atoll_cuda_trial_judge(s, ATOLL_V_WRONG, 5,
                                      "memory that is not the kernel's own changed while it ran, twice");
    }
    return 0;
}

static int outputs_judge(struct atoll_cuda_trial *s, struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    char detail[ATOLL_DETAIL_BYTES];
    int rc = damage_judge(s);
    if (rc != 0)
        return rc;
    atoll_cuda_trial_magnitudes(s);
    s->trial->compared_fully = 1;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_support_finding *f = &s->results.findings[i];
        if (!atoll_cuda_is_output(task, i))
            continue;
        s->trial->worst_error = fmax(s->trial->worst_error, f->worst_error);
        if (s->order->hash_outputs) /* the run's key: a finding's is the seal's */
            s->trial->output_hash = atoll_random_at(s->trial->output_hash ^ s->results.end_hash[i], i);
        if (atoll_support_finding_judge(f, task, i, s->variant, detail, sizeof detail))
            continue;
        atoll_cuda_evidence(s->device, &s->stage.sample, i, f, detail);
        s->trial->verdict = ATOLL_V_WRONG;
        s->trial->level = 5;
        snprintf(s->trial->detail, sizeof s->trial->detail, "variant %.64s, %.1800s", s->variant->name,
                 detail);
        return ATOLL_CUDA_TRIAL_JUDGED;
    }
    return 0;
}

int atoll_cuda_trial_conclude(struct atoll_cuda_trial *s, struct atoll_err *err)
{
    int rc;
    if ((rc = guards_judge(s)) != 0 || (rc = late_judge(s)) != 0 || (rc = inputs_judge(s)) != 0)
        return rc;
    rc = outputs_judge(s, err);
    if (rc == 0 && s->doubted) {
        snprintf(s->trial->detail, sizeof s->trial->detail,
                 "the device's clock said %.0f ns, the host saw %.0f ns: the longer one counts", s->device_ns,
                 s->trial->ns);
        return 0;
    }
    if (rc == 0 && s->stage.sample.layout.places < 2)
        snprintf(s->trial->detail, sizeof s->trial->detail,
                 "buffers have one place on the device and only shift, guard zones of %llu KiB",
                 (unsigned long long)s->stage.sample.layout.guards[0].bytes >> 10);
    return rc;
}

/* First everything that needs the torch process: built, samples taken, an answer kept, variant by variant.  Then the answers
 * are checked: the device's own process may need the memory that theirs gives back.  A large answer that stays on the device is
 * taken and checked at once; theirs rests as soon as it was copied. */
#include "mpi-eval/referee/rival.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/rival_session.h"
#include "mpi-eval/referee/sampling.h"

#define QUESTION_NS   0.5e9 /* of samples in one question: what is cancelled ends soon */
#define QUESTION_MOST 32

struct rival_run {
    struct atoll_rival_session session;
    struct atoll_rival *rival;
    unsigned bench_count;
    unsigned late, samples; /* of all variants */
    size_t output_count;
    struct atoll_rival_outputs outputs[ATOLL_TASK_VARIANT_LIMIT];
};

static int is_bench(const struct rival_run *m, size_t variant)
{
    const struct atoll_variant *v = &m->session.known->task->variants[variant];
    return v->kind == ATOLL_VARIANT_BENCH && atoll_variant_is_here(m->session.referee->backend, v);
}

/* Its answer to one input set, of what is built and, where it is timed, was timed already: checked where it lies, or kept for the
 * check.  Ours takes its memory for that; theirs may be lost by it and is built again. */
static int variant_answer(struct rival_run *m, uint32_t variant, uint64_t handle)
{
    struct atoll_rival_session *s = &m->session;
    struct atoll_input_set set = atoll_case_input_set(s->referee, s->known, variant, 0);
    struct atoll_torch_built built;
    double worst = 0;
    int is_checked = atoll_rival_session_examine_shown(s, handle, &set, &worst);
    m->rival->worst_error = fmax(m->rival->worst_error, worst);
    if (is_checked != 0)
        return is_checked < 0 ? -1 : 0;
    if (atoll_rival_session_build(s, m->rival->number, variant, &built) != 0 ||
        atoll_rival_session_output(s, built.handle, &set, &m->outputs[m->output_count]) != 0)
        return -1;
    m->output_count++;
    return 0;
}

static int variant_build(struct rival_run *m, uint32_t variant, struct atoll_torch_built *ret_built)
{
    if (atoll_rival_session_build(&m->session, m->rival->number, variant, ret_built) != 0)
        return -1;
    m->rival->compile_ns += ret_built->compile_ns;
    return 0;
}

/* ---- samples ---- */

static size_t question_size(const struct rival_run *m, const struct atoll_sampling *sampling,
                            uint32_t variant, double each_ns)
{
    size_t most = atoll_rival_session_most(&m->session, variant), wanted = sampling->rules.sample_min;
    size_t all = sampling->count + sampling->discarded;
    if (all >= wanted)
        wanted = (size_t)fmin(fmax(QUESTION_NS / fmax(each_ns, 1), 1), QUESTION_MOST);
    else
        wanted -= all;
    wanted = wanted < most ? wanted : most;
    return wanted < 1 ? 1 : wanted > QUESTION_MOST ? QUESTION_MOST : wanted;
}

/* One question's samples; the state after them. */
static int samples_take(struct rival_run *m, struct atoll_sampling *sampling, uint64_t handle,
                        uint32_t variant, size_t count, double begin_ns, enum atoll_sampling_state *state)
{
    struct atoll_rival_session *s = &m->session;
    struct atoll_input_set sets[QUESTION_MOST];
    struct atoll_torch_sample samples[QUESTION_MOST];
    double *host = sampling->count + sampling->discarded ? NULL : &m->rival->host_ns[m->rival->timing_count];
    for (size_t i = 0; i < count; i++)
        sets[i] =
            atoll_case_fresh_input_set(s->referee, s->known, variant, s->order->evaluation, s->input_sets++);
    if (atoll_rival_session_sample(s, handle, sets, count, samples, host) != 0)
        return -1;
    int is_slowed = s->referee->backend->is_slowed && s->referee->backend->is_slowed(s->referee);
    for (size_t i = 0; i < count && *state == ATOLL_SAMPLING_MORE; i++) {
        struct atoll_sampling_sample sample = {
            .ns = samples[i].ns, .lost_ns = samples[i].lost_ns, .is_slowed = is_slowed};
        m->samples++;
        m->late += samples[i].is_late ? 1 : 0;
        *state = atoll_sampling_take(sampling, &sample, atoll_referee_now_ns() - begin_ns);
    }
    return 0;
}

static int timing_store(struct rival_run *m, uint32_t variant, const struct atoll_sampling *sampling,
                        enum atoll_sampling_state state)
{
    struct atoll_rival_session *s = &m->session;
    struct atoll_timing *t = &m->rival->timings[m->rival->timing_count];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_work work;
    if (atoll_task_work(s->known->task, &s->known->task->variants[variant], &work, &err) != 0)
        return atoll_rival_session_fail(s, &err);
    if (atoll_sampling_timing(sampling, variant, state, t, &err) != 0)
        return atoll_rival_session_fail(s, &err);
    m->rival->timing_count++;
    struct atoll_floor floor =
        atoll_floor_of(&work, s->known->task->precisions, &s->referee->info, s->referee->setup.is_warm != 0);
    atoll_floor_put(&floor, !s->known->floor_is_wrong[variant], t);
    return 0;
}

static int variant_measure(struct rival_run *m, uint32_t variant)
{
    struct atoll_rival_session *s = &m->session;
    const struct atoll_setup *setup = &s->referee->setup;
    const char *name = s->known->task->variants[variant].name;
    struct atoll_torch_built built;
    struct atoll_sampling sampling;
    struct atoll_err err = ATOLL_ERR_INIT;
    enum atoll_sampling_state state = ATOLL_SAMPLING_MORE;
    struct atoll_sampling_rules rules = {.interval_target = setup->interval_target,
                                         .device_limit_ns = setup->sample_device_ns / m->bench_count,
                                         .wall_limit_ns = setup->sample_wall_ns / m->bench_count,
                                         .sample_min = setup->sample_min,
                                         .resolution_ns =
                                             s->referee->info.clock_resolution_ns + s->referee->jitter_ns};
    if (variant_build(m, variant, &built) != 0)
        return -1;
    if (atoll_sampling_init(&sampling, &rules, &err) != 0)
        return atoll_rival_session_fail(s, &err);
    double begin = atoll_referee_now_ns();
    int failed = 0;
    while (!failed && state == ATOLL_SAMPLING_MORE) {
        size_t all = sampling.count + sampling.discarded;
        double each = all ? (atoll_referee_now_ns() - begin) / (double)all : built.call_ns;
        failed = samples_take(m, &sampling, built.handle, variant, question_size(m, &sampling, variant, each),
                              begin, &state);
    }
    if (!failed && state == ATOLL_SAMPLING_UNSTABLE)
        failed = atoll_rival_session_end(
            s, ATOLL_V_UNSTABLE, "variant %s: %zu of %zu samples were disturbed by %s", name,
            sampling.discarded, sampling.discarded + sampling.count,
            2 * sampling.slowed > sampling.discarded ? "a device that was slower than usual (heat, power)"
                                                     : "other programs");
    if (!failed)
        failed = timing_store(m, variant, &sampling, state);
    atoll_sampling_fini(&sampling);
    return failed ? failed : variant_answer(m, variant, built.handle);
}

/* ---- the whole ---- */

static int rival_measure(struct rival_run *m)
{
    const struct atoll_task *task = m->session.known->task;
    struct atoll_torch_built built;
    int failed = 0, is_checked = task->rivals[m->rival->number].mode != ATOLL_TORCH_EAGER;
    for (size_t i = 0; i < task->variant_count; i++)
        m->bench_count += is_bench(m, i) ? 1 : 0;
    for (size_t i = 0; !failed && i < task->variant_count; i++) {
        if (is_bench(m, i)) {
            failed = variant_measure(m, (uint32_t)i);
        } else if (task->variants[i].kind == ATOLL_VARIANT_CHECK && !is_checked &&
                   atoll_variant_is_here(m->session.referee->backend, &task->variants[i])) {
            is_checked = 1;
            failed = variant_build(m, (uint32_t)i, &built);
            if (!failed)
                failed = variant_answer(m, (uint32_t)i, built.handle);
        }
    }
    return failed;
}

static int rival_examine(struct rival_run *m)
{
    for (size_t i = 0; i < m->output_count; i++) {
        double worst = 0;
        if (atoll_rival_session_examine(&m->session, &m->outputs[i], &worst) != 0)
            return -1;
        m->rival->worst_error = fmax(m->rival->worst_error, worst);
    }
    return 0;
}

/* How it was measured, in a sentence. */
static void detail_write(struct rival_run *m)
{
    size_t n = 0, room = sizeof(m->rival->detail);
    const struct atoll_task *task = m->session.known->task;
    for (size_t i = 0; i < m->rival->timing_count && n < room; i++) {
        const struct atoll_timing *t = &m->rival->timings[i];
        n += (size_t)snprintf(m->rival->detail + n, room - n, "%svariant %s: %.6g us of %zu samples",
                              i ? ", " : "", task->variants[t->variant].name, t->summary.median / 1e3,
                              t->sample_count);
        if (m->rival->host_ns[i] > 0 && n < room)
            n += (size_t)snprintf(m->rival->detail + n, room - n, " (a call alone %.6g us)",
                                  m->rival->host_ns[i] / 1e3);
    }
    if (m->late && n < room)
        snprintf(
            m->rival->detail + n, room - n,
            "; %u of %u calls could not be queued ahead: they wait for the device, or the host is slower "
            "than it, and their times hold the host's",
            m->late, m->samples);
}

void atoll_referee_rival(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                         struct atoll_rival *ret_rival)
{
    double begin = atoll_referee_now_ns();
    struct rival_run *m = calloc(1, sizeof(*m));
    ret_rival->evaluation = order->evaluation;
    ret_rival->task = task;
    ret_rival->number = order->rival;
    ret_rival->device = referee->info.key;
    ret_rival->started_unix_ns = atoll_clock_unix_ns();
    ret_rival->verdict = ATOLL_V_INFRASTRUCTURE;
    if (!m) {
        snprintf(ret_rival->detail, sizeof(ret_rival->detail), "no memory for a rival");
        return;
    }
    m->rival = ret_rival;
    int failed = atoll_rival_session_open(&m->session, referee, atoll_referee_case(referee, task), order,
                                          ret_rival->detail);
    if (!failed && order->rival >= m->session.known->task->rival_count)
        failed = atoll_rival_session_end(&m->session, ATOLL_V_INFRASTRUCTURE, "task '%s' has no rival %u",
                                         m->session.known->task->name, order->rival);
    if (!failed)
        failed = rival_measure(m);
    if (m->session.torch)
        snprintf(ret_rival->versions, sizeof(ret_rival->versions), "%.127s",
                 atoll_torch_rival_versions(m->session.torch));
    atoll_rival_session_close(&m->session);
    if (!failed)
        failed = rival_examine(m);
    if (!failed)
        detail_write(m);
    ret_rival->verdict = m->session.verdict;
    if (failed) { /* times of a wrong answer are none */
        atoll_timings_fini(ret_rival->timings);
        memset(ret_rival->timings, 0, sizeof(ret_rival->timings));
        memset(ret_rival->host_ns, 0, sizeof(ret_rival->host_ns));
        ret_rival->timing_count = 0;
    }
    for (size_t i = 0; i < m->output_count; i++)
        atoll_rival_outputs_fini(&m->outputs[i]);
    free(m);
    ret_rival->occupied_ns = atoll_referee_now_ns() - begin;
    referee->counting.device_ns += ret_rival->occupied_ns;
}

enum atoll_verdict atoll_referee_rival_look(struct atoll_referee *referee, struct atoll_case *known,
                                            uint32_t number, uint32_t variant, int *ret_is_built,
                                            char *ret_detail)
{
    const struct atoll_order order = {.rival = number};
    struct atoll_rival rival;
    struct atoll_torch_built built = {0};
    struct rival_run *m = calloc(1, sizeof(*m));
    *ret_is_built = 0;
    if (!m) {
        snprintf(ret_detail, ATOLL_DETAIL_BYTES, "no memory for a rival");
        return ATOLL_V_INFRASTRUCTURE;
    }
    atoll_rival_init(&rival);
    rival.number = number;
    m->rival = &rival;
    int failed = atoll_rival_session_open(&m->session, referee, known, &order, ret_detail);
    if (!failed)
        failed = variant_build(m, variant, &built);
    *ret_is_built = !failed;
    if (!failed)
        failed = variant_answer(m, variant, built.handle);
    atoll_rival_session_close(&m->session);
    if (!failed)
        rival_examine(m);
    enum atoll_verdict verdict = m->session.verdict;
    for (size_t i = 0; i < m->output_count; i++)
        atoll_rival_outputs_fini(&m->outputs[i]);
    atoll_rival_fini(&rival);
    free(m);
    return verdict;
}

/* sample_campaign.h - a small campaign on disk: two real tasks, seeds and tuned instances, duels, elites, a
 * hostile source. Every number follows from a fixed seed, so two samples are equal. */
#ifndef ATOLL_TEST_ARCHIVE_SAMPLE_CAMPAIGN_H
#define ATOLL_TEST_ARCHIVE_SAMPLE_CAMPAIGN_H

#include <math.h>

#include "archive-h5/campaign/campaign.h"
#include "base/arena.h"
#include "core/candidate.h"
#include "base/random.h"
#include "tests/unit/archive-h5/scratch.h"

#define SAMPLE_HOSTILE                                                                                       \
    "/* </pre><script>alert(1)</script> & \"quotes\" 'too' \xff\x01 */\nint x = 1 < 2 && 3 > 2;\n"

/* Task 1 has three rivals, eager, compiled and tuned: two are correct, of which the second is faster.  Its time, and its time over that of the best in their final comparison. */
#define SAMPLE_RIVAL_NS    1.2e6
#define SAMPLE_RIVAL_RATIO 1.25

struct sample_campaign {
    struct atoll_journal *journal;
    struct atoll_arena *arena;
    struct atoll_random random;
    uint64_t next_evaluation, event;
    int64_t campaign_ns;
    struct atoll_decision decisions[8], best; /* of the last task */
    size_t decision_count;
};

/* The decisions collected since the last event, for it. */
static void sample_flush(struct sample_campaign *s)
{
    assert_int_equal(
        atoll_journal_append_decisions(s->journal, s->event, s->decisions, s->decision_count, NULL), 0);
    s->decision_count = 0;
}

static void sample_put(struct sample_campaign *s, struct atoll_event *e)
{
    if (s->campaign_ns)
        sample_flush(s);
    s->campaign_ns += 40000000;
    e->campaign_ns = s->campaign_ns;
    e->unix_ns = 1700000000000000000 + s->campaign_ns;
    assert_int_equal(atoll_journal_append_event(s->journal, e, &s->event, NULL), 0);
    atoll_event_fini(e);
}

static void sample_decide(struct sample_campaign *s, enum atoll_decision_type type,
                          const struct atoll_decision *d)
{
    assert_true(s->decision_count < 8);
    s->decisions[s->decision_count] = *d;
    s->decisions[s->decision_count++].type = type;
}

static struct atoll_decision sample_candidate(struct sample_campaign *s, const struct atoll_task *task,
                                              uint32_t number, const struct atoll_seed *seed,
                                              unsigned variation)
{
    struct atoll_decision d;
    const char *body = seed->source;
    memset(&d, 0, sizeof(d));
    const struct atoll_plan *plan =
        atoll_plan_parse(s->arena, task, seed->language, seed->source, &body, NULL);
    if (plan) {
        atoll_plan_first_choice(plan, &d.choice);
        for (size_t i = 0; i < plan->param_count; i++)
            d.choice.values[i] = plan->params[i].values[variation % plan->params[i].value_count];
        d.candidate = atoll_candidate_id(task, seed->language, plan, body, &d.choice);
    } else {
        d.candidate = sample_id(900 + number);
    }
    d.source = atoll_source_id(seed->language, seed->source);
    d.task = number;
    d.island = variation % 2;
    d.generation = variation / 8;
    d.op = variation ? ATOLL_OPERATOR_TUNE : ATOLL_OPERATOR_SEED;
    d.evaluation = ++s->next_evaluation;
    return d;
}

static void sample_timing(struct sample_campaign *s, struct atoll_timing *t, uint32_t variant, double ns)
{
    double scratch[32];
    t->variant = variant;
    t->sample_count = 9;
    t->samples_ns = calloc(9, sizeof(double));
    for (size_t i = 0; i < 9; i++)
        t->samples_ns[i] = ns * (1 + 0.01 * atoll_random_unit(atoll_random_next(&s->random)));
    atoll_summary_of(t->samples_ns, 9, scratch, &t->summary);
    t->floor_ns = 120000;
    t->resolution_ns = 20;
}

/* What counters may say of a kernel that takes so long; every other candidate has some. */
static void sample_counters(struct atoll_profile *p, const struct atoll_id *candidate, double ns)
{
    uint64_t draw = atoll_id_u64(candidate);
    if (draw % 2) {
        snprintf(p->reason, sizeof(p->reason), "this backend has no counters"); /* and no row */
        return;
    }
    p->tier = ATOLL_TIER_COUNTERS;
    p->counters[ATOLL_COUNTER_DRAM_THROUGHPUT] = 20 + (double)(draw / 2 % 64);
    p->counters[ATOLL_COUNTER_SM_THROUGHPUT] = 40;
    p->counters[ATOLL_COUNTER_DRAM_READ_BYTES] = 3e6;
    p->counters[ATOLL_COUNTER_STALL_LONG_SCOREBOARD] = 2.5;
    p->intensity_flops_per_byte = 0.5 + (double)(draw / 128 % 8);
    p->limiter = atoll_limiter_of(p, ns, 900);
    p->wall_ns = 2e8;
    p->clock_hz = 1.98e9;
    p->resources = (struct atoll_resources){
        .kernel_count = 1, .registers = 40, .static_shared_bytes = 4096, .occupancy = 0.75};
    p->resources.mix[ATOLL_MIX_FP32] = 120;
    p->resources.mix[ATOLL_MIX_GLOBAL_LOAD] = 16;
}

/* The result of d; the decisions that follow from it are collected by the caller. */
static double sample_evaluated(struct sample_campaign *s, const struct atoll_task *task,
                               const struct atoll_decision *d, enum atoll_verdict verdict, double ns)
{
    struct atoll_event e;
    atoll_event_init(&e, ATOLL_EVENT_EVALUATED);
    struct atoll_evaluation *v = &e.evaluation;
    v->evaluation = d->evaluation;
    v->candidate = d->candidate;
    v->verdict = verdict;
    v->level = verdict == ATOLL_V_CORRECT ? 7 : 5;
    snprintf(v->detail, sizeof(v->detail), "%s",
             verdict == ATOLL_V_CORRECT ? "" : "element [3, 7]: expected 0.5, got 0.75 <b>");
    v->behaviour.memory = (unsigned char)(atoll_id_u64(&d->candidate) % 4);
    v->behaviour.algorithm = (unsigned char)(atoll_id_u64(&d->candidate) / 4 % 4);
    v->device = 77;
    v->started_unix_ns = 1700000000000000000 + s->campaign_ns;
    v->compile_ns = 9e6;
    v->check_ns = 4e6;
    v->sampling_ns = 2e7;
    v->occupied_ns = 2.5e7;
    v->candidate_ns = 1.1e7;
    v->worst_error = 0.25;
    for (uint32_t i = 0; verdict == ATOLL_V_CORRECT && i < task->variant_count; i++)
        if (task->variants[i].kind == ATOLL_VARIANT_BENCH)
            sample_timing(s, &v->timings[v->timing_count++], i, ns);
    double time_ns = atoll_evaluation_time_ns(v, task);
    if (verdict == ATOLL_V_CORRECT)
        sample_counters(&v->profile, &v->candidate, time_ns);
    sample_put(s, &e);
    return time_ns;
}

/* A rival of task 1 is ordered and measured: verdict and time; what queues nothing ahead takes a tenth more. */
static void sample_rival(struct sample_campaign *s, const struct atoll_task *task, uint32_t rival,
                         enum atoll_verdict verdict, double ns)
{
    struct atoll_event e;
    struct atoll_decision d = {.type = ATOLL_DECIDE_RIVAL, .task = 1, .rival = rival};
    d.purpose = ATOLL_DUEL_RIVAL;
    d.evaluation = ++s->next_evaluation;
    sample_decide(s, ATOLL_DECIDE_RIVAL, &d);
    atoll_event_init(&e, ATOLL_EVENT_RIVAL);
    struct atoll_rival *r = &e.rival;
    r->evaluation = d.evaluation;
    r->task = d.task;
    r->number = rival;
    r->verdict = verdict;
    r->device = 77;
    r->started_unix_ns = 1700000000000000000 + s->campaign_ns;
    r->worst_error = 0.125;
    r->compile_ns = 3e9;
    r->occupied_ns = 5e7;
    snprintf(r->versions, sizeof(r->versions), "torch 2.11.0, CUDA 13.0, Triton 3.5");
    if (verdict != ATOLL_V_CORRECT)
        snprintf(r->detail, sizeof(r->detail), "unsupported: torch.compile needs <Triton>");
    for (uint32_t i = 0; verdict == ATOLL_V_CORRECT && i < task->variant_count; i++) {
        if (task->variants[i].kind != ATOLL_VARIANT_BENCH)
            continue;
        sample_timing(s, &r->timings[r->timing_count], i, ns);
        r->host_ns[r->timing_count++] = 1.1 * ns;
    }
    sample_put(s, &e);
}

/* The best beside the fastest rival: ratio is the rival's time over the best's. */
static void sample_rival_final(struct sample_campaign *s, const struct atoll_decision *best, uint8_t rival,
                               double ratio)
{
    struct atoll_event e;
    struct atoll_decision d = *best;
    d.evaluation = ++s->next_evaluation;
    d.purpose = ATOLL_DUEL_RIVAL;
    d.rival = rival;
    memset(d.rivals, rival, sizeof(d.rivals));
    memset(&d.elite, 0, sizeof(d.elite));
    sample_decide(s, ATOLL_DECIDE_DUEL, &d);
    atoll_event_init(&e, ATOLL_EVENT_DUELLED);
    e.duel = (struct atoll_duel){.evaluation = d.evaluation,
                                 .purpose = ATOLL_DUEL_RIVAL,
                                 .better = ratio > 1,
                                 .ratio = ratio,
                                 .ratio_lo = ratio * 0.98,
                                 .ratio_hi = ratio * 1.02,
                                 .p_value = 0.0003,
                                 .pair_count = 12,
                                 .elite_ns = 1e6 * ratio,
                                 .elite_lo_ns = 0.99e6 * ratio,
                                 .elite_hi_ns = 1.01e6 * ratio,
                                 .challenger_ns = 1e6,
                                 .challenger_lo_ns = 0.99e6,
                                 .challenger_hi_ns = 1.01e6,
                                 .occupied_ns = 6e7,
                                 .candidate_ns = 4e7,
                                 .device = 77,
                                 .detail = "alternating blocks in two processes, 1980 MHz in both"};
    sample_put(s, &e);
}

static void sample_final(struct sample_campaign *s, const struct atoll_decision *best,
                         const struct atoll_decision *baseline, double ratio)
{
    struct atoll_event e;
    struct atoll_decision d = *best;
    d.evaluation = ++s->next_evaluation;
    d.elite = baseline->candidate;
    d.purpose = ATOLL_DUEL_FINAL;
    sample_decide(s, ATOLL_DECIDE_DUEL, &d);
    atoll_event_init(&e, ATOLL_EVENT_DUELLED);
    e.duel = (struct atoll_duel){.evaluation = d.evaluation,
                                 .purpose = ATOLL_DUEL_FINAL,
                                 .better = 1,
                                 .ratio = ratio,
                                 .p_value = 0.00001,
                                 .pair_count = 16,
                                 .elite_ns = 1e6 * ratio,
                                 .challenger_ns = 1e6,
                                 .occupied_ns = 6e7,
                                 .candidate_ns = 4e7,
                                 .device = 77};
    sample_put(s, &e);
    d.reason = ATOLL_REASON_STAGNATION;
    sample_decide(s, ATOLL_DECIDE_TASK_DONE, &d);
}

/* The best's null control is sent, and then compared with it. */
static struct atoll_decision sample_mutant(struct sample_campaign *s, const struct atoll_task *task,
                                           const struct atoll_decision *best)
{
    struct atoll_decision d = *best;
    struct atoll_buffer text;
    const struct atoll_seed *seed = task->seeds;
    for (struct atoll_id id = atoll_source_id(seed->language, seed->source);
         !atoll_id_equal(&id, &best->source); id = atoll_source_id(seed->language, seed->source)) {
        seed++;
    }
    atoll_buffer_init(&text, 1u << 20);
    atoll_null_control_source("c", seed->source, &best->candidate, &text);
    d.source = atoll_source_id(seed->language, (const char *)text.data);
    d.candidate = sample_id(800 + d.task);
    atoll_buffer_fini(&text);
    d.parent = best->candidate;
    d.op = ATOLL_OPERATOR_NULL_CONTROL;
    d.evaluation = ++s->next_evaluation;
    sample_decide(s, ATOLL_DECIDE_EVALUATE, &d);
    return d;
}

static void sample_no_op(struct sample_campaign *s, const struct atoll_task *task,
                         const struct atoll_decision *best)
{
    struct atoll_event e;
    struct atoll_decision d = sample_mutant(s, task, best);
    d.evaluation = ++s->next_evaluation;
    d.elite = best->candidate;
    d.purpose = ATOLL_DUEL_NULL_CONTROL;
    sample_decide(s, ATOLL_DECIDE_DUEL, &d);
    d.candidate = best->candidate;
    d.other_island = 1;
    sample_decide(s, ATOLL_DECIDE_MIGRATE, &d);
    atoll_event_init(&e, ATOLL_EVENT_DUELLED);
    e.duel = (struct atoll_duel){.evaluation = d.evaluation,
                                 .purpose = ATOLL_DUEL_NULL_CONTROL,
                                 .ratio = 1.001,
                                 .p_value = 0.6,
                                 .pair_count = 8,
                                 .elite_ns = 1e6,
                                 .challenger_ns = 1e6,
                                 .device = 77};
    sample_put(s, &e);
}

/* One task: its seeds, then instances of the last seed, each derived from the best so far. */
static void sample_task(struct sample_campaign *s, const struct atoll_task *task, uint32_t number)
{
    struct atoll_decision baseline = {.type = ATOLL_DECIDE_EVALUATE}, best = baseline;
    double best_ns = 0, baseline_ns = 0;
    for (unsigned i = 0; i < 24; i++) {
        const struct atoll_seed *seed = &task->seeds[i < task->seed_count ? i : task->seed_count - 1];
        struct atoll_decision d = sample_candidate(s, task, number, seed, i < task->seed_count ? 0 : i);
        if (i >= task->seed_count)
            d.parent = best.candidate;
        sample_decide(s, ATOLL_DECIDE_EVALUATE, &d);
        enum atoll_verdict verdict = i > 3 && i % 5 == 4 ? ATOLL_V_WRONG : ATOLL_V_CORRECT;
        double ns =
            2e6 *
            (i == 0 ? 1 : pow(0.93, i) * (0.8 + 0.5 * atoll_random_unit(atoll_random_next(&s->random))));
        d.time_ns = sample_evaluated(s, task, &d, verdict, ns);
        d.cell.memory = (unsigned char)(atoll_id_u64(&d.candidate) % 4);
        d.cell.algorithm = (unsigned char)(atoll_id_u64(&d.candidate) / 4 % 4);
        if (i == 0) {
            baseline = d;
            baseline_ns = d.time_ns;
            sample_decide(s, ATOLL_DECIDE_BASELINE, &d);
        }
        d.fitness = atoll_fitness(ATOLL_FITNESS_LOG, verdict, d.time_ns, baseline_ns, 120000);
        if (verdict == ATOLL_V_CORRECT)
            sample_decide(s, ATOLL_DECIDE_ELITE, &d);
        if (verdict == ATOLL_V_CORRECT && (best_ns <= 0 || d.time_ns < best_ns)) {
            best = d;
            best_ns = d.time_ns;
            sample_decide(s, ATOLL_DECIDE_BEST, &d);
        }
    }
    struct atoll_event tick;
    sample_tick(&tick, 0);
    sample_put(s, &tick);
    sample_no_op(s, task, &best);
    sample_final(s, &best, &baseline, baseline_ns / best_ns);
    s->best = best;
}

/* Twice, as it is cumulative: what is said last stands. */
static void sample_device_time(struct sample_campaign *s)
{
    static const uint32_t tasks[] = {0, 1, ATOLL_TIME_OF_NO_TASK};
    for (int k = 1; k <= 2; k++) {
        struct atoll_event e;
        atoll_event_init(&e, ATOLL_EVENT_DEVICE_TIME);
        e.device_times.device = 77;
        e.device_times.count = 3;
        e.device_times.times = calloc(3, sizeof(*e.device_times.times));
        for (size_t i = 0; i < 3; i++)
            e.device_times.times[i].task = tasks[i];
        e.device_times.times[0].time.ns[ATOLL_TIME_CANDIDATES] = 4e8 * k;
        e.device_times.times[0].time.ns[ATOLL_TIME_CHECKS] = 2e8 * k;
        e.device_times.times[1].time.ns[ATOLL_TIME_CANDIDATES] = 1e8 * k;
        e.device_times.times[1].time.ns[ATOLL_TIME_ANSWERS] = 6e8 * k;
        e.device_times.times[2].time.ns[ATOLL_TIME_START] = 3e8 * k;
        e.device_times.times[2].time.ns[ATOLL_TIME_IDLE] = 4e8 * k;
        sample_put(s, &e);
    }
}

/* A source from outside that tries to break the report; its plan is none. */
static void sample_hostile(struct sample_campaign *s, struct atoll_task *const *tasks)
{
    struct atoll_event e;
    const struct atoll_seed seed = {"hostile", "c", SAMPLE_HOSTILE, 0};
    struct atoll_decision d = sample_candidate(s, tasks[0], 0, &seed, 1);
    atoll_event_init(&e, ATOLL_EVENT_SOURCE);
    e.language = "c";
    e.source = SAMPLE_HOSTILE;
    e.origin = "model <b>\"x\"</b>";
    sample_put(s, &e);
    d.choice.count = 2;
    sample_decide(s, ATOLL_DECIDE_EVALUATE, &d);
    d.time_ns = sample_evaluated(s, tasks[0], &d, ATOLL_V_INFRASTRUCTURE, 0); /* tried again below */
    d.time_ns = sample_evaluated(s, tasks[0], &d, ATOLL_V_CORRECT, 200000);
    d.fitness = 0.97;
    sample_decide(s, ATOLL_DECIDE_BEST, &d);
    sample_decide(s, ATOLL_DECIDE_ELITE, &d);
    sample_evaluated(s, tasks[0], &d, ATOLL_V_CORRECT, 1); /* a second answer: ignored */
    /* Behind the results, so that events up to here have the numbers of archives of before rivals. */
    sample_rival(s, tasks[1], 0, ATOLL_V_CORRECT, 1.5e6);
    sample_rival(s, tasks[1], 1, ATOLL_V_CORRECT, SAMPLE_RIVAL_NS);
    sample_rival(s, tasks[1], 2, ATOLL_V_COMPILE_ERROR, 0);
    sample_rival_final(s, &s->best, 1, SAMPLE_RIVAL_RATIO);
    sample_device_time(s);
    d.reason = ATOLL_REASON_EXHAUSTED;
    atoll_event_init(&e, ATOLL_EVENT_FINISH);
    sample_put(s, &e);
    sample_decide(s, ATOLL_DECIDE_STOP, &d);
}

static void sample_begin(struct sample_campaign *s, const struct atoll_config *config,
                         struct atoll_task *const *tasks, uint32_t count)
{
    struct atoll_device_info device = {.key = 77,
                                       .backend = "cpu",
                                       .model = "Example Processor 9000",
                                       .uuid = "host-1",
                                       .node = "node1",
                                       .toolchain = "gcc 12.2.0 -O3 -march=native",
                                       .threads = 1,
                                       .bandwidth_bytes_per_s = 1.3e10,
                                       .empty_launch_ns = 900,
                                       .clock_resolution_ns = 25,
                                       .last_level_cache_bytes = 36 * 1048576.0,
                                       .isolation = "seccomp landlock-7"};
    struct atoll_event e;
    device.peak_flops[ATOLL_F32] = 9.1e10;
    device.limits = (struct atoll_device_limits){.compute_capability = 90,
                                                 .multiprocessors = 132,
                                                 .memory_bytes = 1.5e11,
                                                 .clock_hz = 1.98e9,
                                                 .driver = "580.126.09, CUDA 13.0",
                                                 .target = "sm_90a",
                                                 .counters = "open"};
    device.limits.tensor_flops[ATOLL_F16] = 6e14;
    device.limits.tensor_flops[ATOLL_DTYPE_COUNT] = 3e14;
    atoll_event_init(&e, ATOLL_EVENT_START);
    e.search = config->search;
    sample_put(s, &e);
    for (uint32_t i = 0; i < count; i++) {
        struct atoll_buffer bytes;
        atoll_buffer_init(&bytes, 8 << 20);
        assert_int_equal(atoll_task_encode(tasks[i], &bytes, NULL), 0);
        atoll_event_init(&e, ATOLL_EVENT_TASK);
        e.task = i;
        e.task_bytes = bytes.data;
        e.task_length = bytes.length;
        sample_put(s, &e);
        atoll_buffer_fini(&bytes);
    }
    assert_int_equal(atoll_journal_append_device(s->journal, 1, &device, NULL), 0);
}

/* Makes DIR/campaign and returns it open and locked. */
static inline struct atoll_campaign *sample_campaign_create(const char *dir)
{
    static const char *const names[2] = {"matmul", "softmax_rows"};
    struct atoll_task *tasks[2];
    struct atoll_campaign_task told[2];
    struct sample_campaign s = {.random = {7, 0}};
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX], dirs[2][PATH_MAX];
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(dirs[i], PATH_MAX, "%s/tests/fixtures/archive/tasks/%s", ATOLL_SOURCE_DIR, names[i]);
        if (!(tasks[i] = atoll_task_load(dirs[i], &err)))
            fail_msg("%s", err.text);
        told[i] = (struct atoll_campaign_task){tasks[i]->name, dirs[i], tasks[i]->id};
    }
    struct atoll_config config = {.engine_version = 1,
                                  .atoll_version = "0.1.0",
                                  .created_unix_ns = 1700000000000000000,
                                  .task_count = 2,
                                  .tasks = told};
    config.id = sample_id(4711);
    atoll_search_defaults(&config.search);
    struct atoll_campaign *c =
        atoll_campaign_create(scratch_join(path, dir, "campaign"), &config, NULL, &err);
    if (!c)
        fail_msg("%s", err.text);
    s.arena = atoll_arena_create((size_t)64 << 20, NULL);
    s.journal = atoll_campaign_start_attempt(c, "local", 1, config.created_unix_ns, NULL, &err);
    if (!s.journal)
        fail_msg("%s", err.text);
    sample_begin(&s, &config, tasks, 2);
    for (uint32_t i = 0; i < 2; i++)
        sample_task(&s, tasks[i], i);
    sample_hostile(&s, tasks);
    sample_flush(&s);
    assert_int_equal(atoll_journal_append_close(s.journal, 2, "exhausted", NULL), 0);
    assert_int_equal(atoll_journal_sync(s.journal, NULL), 0);
    atoll_journal_destroy(s.journal);
    atoll_arena_destroy(s.arena);
    for (uint32_t i = 0; i < 2; i++)
        atoll_task_destroy(tasks[i]);
    return c;
}

#endif

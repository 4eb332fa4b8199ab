/* simulation.h - a campaign without a device: a scripted evaluator answers the engine's decisions from a
 * made-up landscape, late, out of order, twice, or not at all; every event and decision is kept as bytes for
 * a replay. Uses cmocka's asserts for what must always hold. */
#ifndef ATOLL_TESTS_SUPPORT_SIMULATION_H
#define ATOLL_TESTS_SUPPORT_SIMULATION_H

#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/random.h"
#include "evolution/engine/engine.h"

#define SIM_ORDERS 4096
#define SIM_TASKS  16

/* ---- tasks ---- */

struct sim_seed {
    const char *name;
    const char *params;  /* inside of "params": {...}; NULL: none */
    const char *require; /* an expression, or NULL */
};

static inline void sim_write(const char *dir, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Names that end in .cu are kernels of the cuda language. */
static inline int sim_is_cuda(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".cu") == 0;
}

static inline int sim_is_triton(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".py") == 0;
}

static inline void sim_write_seed(const char *dir, const struct sim_seed *seed)
{
    char text[2048], name[64], require[256] = "";
    if (seed->require)
        snprintf(require, sizeof(require), "\"require\": [\"%s\"],", seed->require);
    if (sim_is_triton(seed->name)) {
        snprintf(text, sizeof(text),
                 "# atoll-plan {\"version\": 1, \"params\": {%s}, %s\n"
                 "# \"launch\": [{\"kernel\": \"f\", \"grid\": [\"cdiv(N, 256)\"], \"args\": [\"x\", \"y\", "
                 "\"i32:N\"]}]}\n"
                 "import triton\n\n\n@triton.jit\ndef f(x, y, n):\n    pass  # %s\n",
                 seed->params ? seed->params : "", require, seed->name);
        snprintf(name, sizeof(name), "seeds/%s", seed->name);
        sim_write(dir, name, text);
        return;
    }
    snprintf(text, sizeof(text),
             sim_is_cuda(seed->name)
                 ? "/* atoll-plan {\"version\": 1, \"params\": {%s}, %s\n"
                   "\"launch\": [{\"kernel\": \"f\", \"grid\": [\"cdiv(N, 256)\"], \"block\": [\"256\"], "
                   "\"args\": [\"x\", \"y\", \"i32:N\"]}]} */\n"
                   "extern \"C\" __global__ void f(const float *x, float *y, int n) /* %s */\n"
                   "{ int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = x[i]; }\n"
                 : "/* atoll-plan {\"version\": 1, \"params\": {%s}, %s\n"
                   "\"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": [\"x\", \"y\"]}]} */\n"
                   "void f(long begin, long end, const float *x, float *y) /* %s */\n"
                   "{ for (long i = begin; i < end; i++) y[i] = x[i]; }\n",
             seed->params ? seed->params : "", require, seed->name);
    snprintf(name, sizeof(name), "seeds/%s%s", seed->name, sim_is_cuda(seed->name) ? "" : ".c");
    sim_write(dir, name, text);
}

/* A whole task, as bytes; line: further ones of its task.yaml. */
static inline void sim_task_with(const char *name, const struct sim_seed *seeds, size_t count,
                                 const char *line, struct atoll_buffer *out)
{
    char dir[256], path[512], yaml[1536];
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(dir, sizeof(dir), "%s/simulation-XXXXXX", ATOLL_BUILD_DIR);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/seeds", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(yaml, sizeof(yaml),
             "version: 1\nname: %s\nsummary: a copy\ndims: [N]\ntensors:\n"
             "  - {name: x, dtype: f32, shape: [N], role: in, init: {normal: {mean: 0, std: 1}}}\n"
             "  - {name: y, dtype: f32, shape: [N], role: out}\n"
             "reference: {file: reference.c, units: \"N\"}\nwork: {flops: \"N\"}\nprecisions: [f32]\n"
             "tolerance: {rtol: 1.0e-5, atol: 1.0e-9}\nvariants:\n  check: {N: 37}\n  bench: {N: 4096}\n%s",
             name, line);
    sim_write(dir, "task.yaml", yaml);
    sim_write(dir, "reference.c",
              "void reference(const struct atoll_reference_args *a, long unit)\n{ put_y(a, unit, get_x(a, "
              "unit)); }\n");
    for (size_t i = 0; i < count; i++)
        sim_write_seed(dir, &seeds[i]);
    struct atoll_task *task = atoll_task_load(dir, &err);
    if (!task)
        fail_msg("%s", err.text);
    assert_int_equal(atoll_task_encode(task, out, &err), 0);
    atoll_task_destroy(task);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/seeds/%s%s", dir, seeds[i].name,
                 sim_is_cuda(seeds[i].name) || sim_is_triton(seeds[i].name) ? "" : ".c");
        unlink(path);
    }
    const char *const rest[] = {"/task.yaml", "/reference.c", "/seeds", ""};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s%s", dir, rest[i]);
        assert_int_equal(remove(path), 0);
    }
}

/* The first seed is the baseline (baseline 0: none is). */
static inline void sim_task(const char *name, const struct sim_seed *seeds, size_t count, int baseline,
                            struct atoll_buffer *out)
{
    char line[128] = "";
    if (baseline)
        snprintf(line, sizeof(line), "baselines: [{name: %s, file: seeds/%s.c}]\n", seeds[0].name,
                 seeds[0].name);
    sim_task_with(name, seeds, count, line, out);
}

/* ---- the campaign ---- */

struct sim_bytes {
    unsigned char *bytes;
    size_t length;
};

struct sim {
    struct atoll_engine *engine;
    struct atoll_random random;
    int64_t now_ns;
    /* what the evaluators hold */
    struct atoll_decision orders[SIM_ORDERS];
    size_t order_count;
    /* what was abandoned: an extension has it sent again where a stop did it */
    struct atoll_decision abandoned[SIM_ORDERS];
    size_t abandoned_count;
    /* kept for the replay */
    struct sim_bytes *events;
    size_t event_count, event_capacity;
    struct atoll_buffer decisions;
    /* what was seen */
    uint64_t counts[ATOLL_DECISION_TYPE_COUNT], duels[ATOLL_DUEL_PURPOSE_COUNT];
    uint64_t last_evaluation, retries;
    struct atoll_decision
        failed; /* what was just answered with a failure that is nobody's, type 0: nothing */
    struct sim_candidate {
        uint32_t task;
        struct atoll_id id, source;
        double time_ns; /* as last evaluated */
        int is_finalist, is_noop;
    } *candidates;
    size_t candidate_count, candidate_capacity;
    struct atoll_decision last[ATOLL_DECISION_TYPE_COUNT];
    struct atoll_id best[SIM_TASKS]; /* of each task, as decided last */
    struct atoll_search search;
    double spent; /* levels of the answered challenges that cost something (core/error_control.h) */
    uint64_t won; /* challenges */
    /* how evaluators behave, in percent */
    unsigned infrastructure, wrong, unstable_duel, wrong_duel;
    double occupied_ns;                  /* by one evaluation */
    double defender_ns;                  /* time of defenders in duels; 0: as it was alone */
    double noise;                        /* of single evaluations: time is up to so much larger or smaller */
    double spread;                       /* half-width of the intervals they state */
    const struct atoll_profile *profile; /* of every result from now on; NULL none */
    uint32_t cells;                      /* how many cells candidates spread over, 1..64 */
    unsigned broken_index; /* evaluations of this 1-based EVALUATE always fail with wrong; 0 = none */
};

static inline uint64_t sim_below(struct sim *s, uint64_t bound)
{
    return atoll_random_below(atoll_random_next(&s->random), bound);
}

static inline double sim_unit(struct sim *s)
{
    return atoll_random_unit(atoll_random_next(&s->random));
}

/* The landscape: every candidate has one true time, and one cell. */
static inline double sim_time(const struct atoll_id *id)
{
    return 1e6 * (1 + 9 * atoll_random_unit(atoll_mix64(atoll_id_u64(id))));
}

static inline struct atoll_behaviour sim_cell(const struct sim *s, const struct atoll_id *id)
{
    unsigned cell = (unsigned)(atoll_mix64(atoll_id_u64(id) + 1) % s->cells);
    return (struct atoll_behaviour){(unsigned char)(cell / 16), (unsigned char)(cell / 4 % 4),
                                    (unsigned char)(cell % 4)};
}

static inline size_t sim_order_at(const struct sim *s, uint64_t evaluation)
{
    size_t at = 0;
    while (at < s->order_count && s->orders[at].evaluation != evaluation)
        at++;
    return at;
}

/* A task on one device model. */
static inline uint32_t sim_population(const struct atoll_decision *d)
{
    return d->task + d->model * SIM_TASKS;
}

static inline void sim_new_candidate(struct sim *s, const struct atoll_decision *d)
{
    for (size_t i = 0; i < s->candidate_count; i++)
        assert_false(s->candidates[i].task == sim_population(d) && /* no candidate is evaluated twice */
                     atoll_id_equal(&s->candidates[i].id, &d->candidate));
    if (s->candidate_count == s->candidate_capacity) {
        s->candidate_capacity = s->candidate_capacity ? 2 * s->candidate_capacity : 64;
        s->candidates = realloc(s->candidates, s->candidate_capacity * sizeof(*s->candidates));
        assert_non_null(s->candidates);
    }
    s->candidates[s->candidate_count++] =
        (struct sim_candidate){.task = sim_population(d),
                               .id = d->candidate,
                               .source = d->source,
                               .is_noop = d->op == ATOLL_OPERATOR_NULL_CONTROL};
}

static inline struct sim_candidate *sim_candidate(const struct sim *s, const struct atoll_decision *d)
{
    for (size_t i = 0; i < s->candidate_count; i++)
        if (s->candidates[i].task == sim_population(d) && atoll_id_equal(&s->candidates[i].id, &d->candidate))
            return &s->candidates[i];
    return NULL;
}

static inline int sim_recycles(const struct sim *s)
{
    return s->search.error_control == ATOLL_ERROR_RECYCLING || s->search.error_control == ATOLL_ERROR_ADDIS;
}

static inline void sim_spend(struct sim *s, const struct atoll_decision *order, enum atoll_verdict verdict,
                             double p)
{
    if (order->purpose != ATOLL_DUEL_PROMOTION || verdict == ATOLL_V_INFRASTRUCTURE)
        return;
    s->won += verdict == ATOLL_V_CORRECT && p <= order->alpha;
    p = verdict == ATOLL_V_CORRECT ? p : 1;
    if (!sim_recycles(s) || (p > ATOLL_ERROR_LAMBDA && p <= ATOLL_ERROR_TAU))
        s->spent += order->alpha;
}

/* What a challenge must satisfy: faster by the margin, and with those that cost or still may, the run's error is not
 * overdrawn. */
static inline void sim_check_challenge(const struct sim *s, const struct atoll_decision *d)
{
    double share = sim_recycles(s) ? ATOLL_ERROR_TAU - ATOLL_ERROR_LAMBDA : 1, worth = s->spent + d->alpha;
    uint64_t earned = s->search.error_control >= ATOLL_ERROR_LORD && s->won ? s->won : 1;
    for (size_t i = 0; i < s->order_count; i++)
        if (s->orders[i].type == ATOLL_DECIDE_DUEL && s->orders[i].purpose == ATOLL_DUEL_PROMOTION)
            worth += s->orders[i].alpha;
    assert_true(worth <= s->search.alpha * share * (double)earned * (1 + 1e-9));
    expect_close(d->margin, log(1 + s->search.margin), 1e-12);
    assert_true(sim_candidate(s, d)->time_ns * (1 + s->search.margin) < d->incumbent_ns);
}

/* One duel over the cell, and one over the task's best. */
static inline void sim_check_place(const struct sim *s, const struct atoll_decision *d)
{
    unsigned open = 0;
    for (size_t i = 0; i < s->order_count; i++) {
        const struct atoll_decision *o = &s->orders[i];
        open += o->type == ATOLL_DECIDE_DUEL && o->purpose == ATOLL_DUEL_PROMOTION &&
                sim_population(o) == sim_population(d) && o->island == d->island &&
                atoll_behaviour_cell(o->cell) == atoll_behaviour_cell(d->cell);
    }
    assert_true(open < 2);
}

static inline void sim_new_duel(struct sim *s, const struct atoll_decision *d)
{
    s->duels[d->purpose]++;
    assert_true(d->alpha > 0);
    assert_false(atoll_id_equal(&d->candidate, &d->elite));
    assert_int_equal(sim_candidate(s, d)->is_noop, d->purpose == ATOLL_DUEL_NULL_CONTROL);
    if (d->purpose == ATOLL_DUEL_NULL_CONTROL) {
        assert_false(atoll_id_equal(&d->source, &d->elite_source));
        return;
    }
    if (d->purpose == ATOLL_DUEL_FINAL) {
        struct sim_candidate *finalist = sim_candidate(s, d);
        assert_false(finalist->is_finalist);
        finalist->is_finalist = 1;
        return;
    }
    if (d->purpose == ATOLL_DUEL_RIVAL) {
        assert_true(atoll_id_is_zero(&d->elite) && d->incumbent_ns > 0);
        return;
    }
    sim_check_challenge(s, d);
    sim_check_place(s, d);
}

/* What failed goes out as it was, under a number of its own. */
static inline int sim_is_retry(struct sim *s, const struct atoll_decision *d)
{
    struct atoll_decision same = s->failed;
    struct atoll_buffer bytes[2];
    if (d->type != same.type)
        return 0;
    same.evaluation = d->evaluation;
    for (size_t i = 0; i < 2; i++) {
        atoll_buffer_init(&bytes[i], 4096);
        atoll_decision_encode(i ? d : &same, &bytes[i]);
    }
    int is_same =
        bytes[0].length == bytes[1].length && memcmp(bytes[0].data, bytes[1].data, bytes[0].length) == 0;
    for (size_t i = 0; i < 2; i++)
        atoll_buffer_fini(&bytes[i]);
    if (is_same)
        s->failed.type = (enum atoll_decision_type)0;
    return is_same;
}

/* A null control holds no place, has no children and is no template. */
static inline void sim_check_noops(const struct sim *s, const struct atoll_decision *d)
{
    int is_other = d->type == ATOLL_DECIDE_EVALUATE && d->op != ATOLL_OPERATOR_NULL_CONTROL;
    for (size_t i = 0; is_other && i < s->candidate_count; i++)
        assert_false(s->candidates[i].is_noop && atoll_id_equal(&s->candidates[i].source, &d->source));
    static const int places[ATOLL_DECISION_TYPE_COUNT] = {
        [ATOLL_DECIDE_ELITE] = 1, [ATOLL_DECIDE_MIGRATE] = 1, [ATOLL_DECIDE_BEST] = 1};
    struct atoll_decision parent = {.task = d->task, .model = d->model, .candidate = d->parent};
    if (places[d->type])
        assert_false(sim_candidate(s, d)->is_noop);
    if (d->type == ATOLL_DECIDE_EVALUATE && !atoll_id_is_zero(&d->parent))
        assert_false(sim_candidate(s, &parent)->is_noop);
}

static inline void sim_check_decision(struct sim *s, const struct atoll_decision *d)
{
    sim_check_noops(s, d);
    assert_int_equal(s->counts[ATOLL_DECIDE_STOP], 0); /* nothing follows a stop */
    if (d->type == ATOLL_DECIDE_EVALUATE || d->type == ATOLL_DECIDE_DUEL || d->type == ATOLL_DECIDE_RIVAL) {
        assert_true(d->evaluation > s->last_evaluation);
        s->last_evaluation = d->evaluation;
    }
    if (s->failed.type && sim_is_retry(s, d)) {
        s->retries++;
        return;
    }
    if (d->type == ATOLL_DECIDE_EVALUATE)
        sim_new_candidate(s, d);
    if (d->type == ATOLL_DECIDE_DUEL)
        sim_new_duel(s, d);
    if (d->type == ATOLL_DECIDE_BEST)
        s->best[sim_population(d) % SIM_TASKS] = d->candidate;
    s->counts[d->type]++;
    s->last[d->type] = *d;
}

static inline void sim_sink(void *context, const struct atoll_decision *d)
{
    struct sim *s = context;
    atoll_decision_encode(d, &s->decisions);
    sim_check_decision(s, d);
    size_t at = sim_order_at(s, d->evaluation);
    switch (d->type) {
    case ATOLL_DECIDE_EVALUATE:
    case ATOLL_DECIDE_RIVAL:
    case ATOLL_DECIDE_DUEL:
        assert_true(s->order_count < SIM_ORDERS);
        s->orders[s->order_count++] = *d;
        break;
    case ATOLL_DECIDE_REDISPATCH:
        for (size_t i = 0; at == s->order_count && i < s->abandoned_count && i < SIM_ORDERS; i++)
            if (s->abandoned[i].evaluation == d->evaluation)
                s->orders[s->order_count++] = s->abandoned[i];
        assert_true(at < s->order_count);
        break;
    case ATOLL_DECIDE_ABANDON:
        assert_true(at < s->order_count);
        s->abandoned[s->abandoned_count++ % SIM_ORDERS] = s->orders[at];
        s->orders[at] = s->orders[--s->order_count];
        break;
    default: break;
    }
}

/* Keeps the event as bytes, and gives the engine what was decoded from them. */
static inline void sim_step(struct sim *s, struct atoll_event *event)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer bytes;
    event->campaign_ns = s->now_ns;
    atoll_buffer_init(&bytes, 1u << 26);
    atoll_event_encode(event, &bytes);
    assert_int_equal(bytes.failed, 0);
    if (s->event_count == s->event_capacity) {
        s->event_capacity = s->event_capacity ? 2 * s->event_capacity : 256;
        s->events = realloc(s->events, s->event_capacity * sizeof(*s->events));
        assert_non_null(s->events);
    }
    s->events[s->event_count++] = (struct sim_bytes){bytes.data, bytes.length};
    if (atoll_engine_step(s->engine, event, sim_sink, s, &err))
        fail_msg("%s", err.text);
}

static inline void sim_simple(struct sim *s, enum atoll_event_type type)
{
    struct atoll_event event;
    atoll_event_init(&event, type);
    sim_step(s, &event);
}

static inline void sim_capacity(struct sim *s, uint32_t slots)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = slots;
    sim_step(s, &event);
}

/* More budget, as a resume gives it: a new attempt takes over. */
static inline void sim_extend(struct sim *s, const struct atoll_extension *by, uint32_t slots)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_EXTEND);
    event.extension = *by;
    s->counts[ATOLL_DECIDE_STOP] = 0;
    sim_step(s, &event);
    sim_simple(s, ATOLL_EVENT_RESUME);
    sim_capacity(s, slots);
}

static inline void sim_add_task(struct sim *s, uint32_t number, const struct atoll_buffer *bytes)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_TASK);
    event.task = number;
    event.task_bytes = bytes->data;
    event.task_length = bytes->length;
    sim_step(s, &event);
}

static inline void sim_source(struct sim *s, uint32_t task, uint32_t island, const char *text)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_SOURCE);
    event.task = task;
    event.island = island;
    event.language = "c";
    event.origin = "import";
    event.source = text;
    sim_step(s, &event);
}

static inline void sim_start(struct sim *s, uint64_t seed, const struct atoll_search *search)
{
    struct atoll_event event;
    memset(s, 0, sizeof(*s));
    s->engine = atoll_engine_create(NULL);
    assert_non_null(s->engine);
    s->random = (struct atoll_random){atoll_random_at(seed, 77), 0};
    s->cells = 8;
    s->occupied_ns = 2e7;
    s->search = *search;
    atoll_buffer_init(&s->decisions, 1u << 30);
    atoll_event_init(&event, ATOLL_EVENT_START);
    event.search = *search;
    sim_step(s, &event);
}

static inline void sim_fini(struct sim *s)
{
    atoll_engine_destroy(s->engine);
    for (size_t i = 0; i < s->event_count; i++)
        free(s->events[i].bytes);
    free(s->events);
    free(s->candidates);
    atoll_buffer_fini(&s->decisions);
}

/* ---- answers ---- */

static inline void sim_fill_timing(struct atoll_evaluation *e, double time_ns, double spread)
{
    struct atoll_timing *t = &e->timings[0];
    e->timing_count = 1;
    memset(t, 0, sizeof(*t));
    t->variant = 1; /* bench */
    t->floor_ns = 5e5;
    double lo = time_ns * (1 - spread), hi = time_ns * (1 + spread);
    t->summary = (struct atoll_summary){
        .count = 7, .min = lo, .p10 = lo, .median = time_ns, .p90 = hi, .max = hi, .lo95 = lo, .hi95 = hi};
}

static inline void sim_evaluated(struct sim *s, const struct atoll_decision *order,
                                 enum atoll_verdict verdict, double time_ns)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    struct atoll_evaluation *e = &event.evaluation;
    e->evaluation = order->evaluation;
    e->candidate = order->candidate;
    e->verdict = verdict;
    e->level = verdict == ATOLL_V_INFRASTRUCTURE ? 0 : verdict == ATOLL_V_CORRECT ? 6 : 5;
    e->behaviour = sim_cell(s, &order->candidate);
    e->occupied_ns = s->occupied_ns;
    e->candidate_ns = 1e7;
    if (verdict == ATOLL_V_CORRECT)
        sim_fill_timing(e, time_ns, s->spread);
    if (s->profile)
        e->profile = *s->profile;
    struct sim_candidate *known = sim_candidate(s, order);
    if (known)
        known->time_ns = time_ns;
    sim_step(s, &event);
    atoll_event_fini(&event);
}

static inline void sim_duelled(struct sim *s, const struct atoll_decision *order, enum atoll_verdict verdict,
                               int better, double ratio)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_DUELLED);
    double p = better ? order->alpha / 2 : atoll_random_unit(atoll_mix64(order->evaluation));
    event.duel = (struct atoll_duel){.evaluation = order->evaluation,
                                     .purpose = order->purpose,
                                     .verdict = verdict,
                                     .better = better,
                                     .ratio = ratio,
                                     .p_value = p,
                                     .pair_count = verdict == ATOLL_V_CORRECT ? 8 : 0,
                                     .elite_ns = s->defender_ns > 0 ? s->defender_ns : order->incumbent_ns,
                                     .challenger_ns = ratio > 0 ? order->incumbent_ns / ratio : 0,
                                     .occupied_ns = 2 * s->occupied_ns,
                                     .candidate_ns = 3e7};
    struct sim_candidate *known = sim_candidate(s, order);
    if (known && verdict == ATOLL_V_UNSTABLE)
        known->is_finalist = 0; /* it may try again */
    sim_spend(s, order, verdict, p);
    sim_step(s, &event);
}

/* timed_ns: of its one bench variant. */
static inline void sim_rivalled(struct sim *s, const struct atoll_decision *order, enum atoll_verdict verdict,
                                double time_ns)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_RIVAL);
    struct atoll_rival *r = &event.rival;
    r->evaluation = order->evaluation;
    r->task = order->task;
    r->number = order->rival;
    r->verdict = verdict;
    r->occupied_ns = 10 * s->occupied_ns;
    r->timing_count = verdict == ATOLL_V_CORRECT;
    r->timings[0].variant = 1; /* bench */
    struct atoll_summary *t = &r->timings[0].summary;
    t->min = t->p10 = t->median = t->p90 = t->max = t->lo95 = t->hi95 = time_ns;
    sim_step(s, &event);
    atoll_event_fini(&event);
}

static inline int sim_percent(struct sim *s, unsigned percent)
{
    return sim_below(s, 100) < percent;
}

/* Takes an order out of what evaluators hold. */
static inline struct atoll_decision sim_take(struct sim *s, size_t at)
{
    struct atoll_decision order = s->orders[at];
    s->orders[at] = s->orders[--s->order_count];
    return order;
}

static inline void sim_fail(struct sim *s, size_t at, enum atoll_verdict verdict)
{
    struct atoll_decision order = s->orders[at];
    s->failed = order;
    if (order.type == ATOLL_DECIDE_EVALUATE)
        sim_evaluated(s, &order, verdict, 0);
    else if (order.type == ATOLL_DECIDE_RIVAL)
        sim_rivalled(s, &order, verdict, 0);
    else
        sim_duelled(s, &order, verdict, 0, 0);
    s->failed.type = (enum atoll_decision_type)0;
    at = sim_order_at(s, order.evaluation);
    if (at < s->order_count) /* answered, and not abandoned */
        sim_take(s, at);
}

static inline void sim_infrastructure(struct sim *s, size_t at)
{
    sim_fail(s, at, ATOLL_V_INFRASTRUCTURE);
}

static inline void sim_answer_evaluate(struct sim *s, const struct atoll_decision *order)
{
    double time_ns = sim_time(&order->candidate) * (1 + s->noise * (2 * sim_unit(s) - 1));
    int is_wrong =
        atoll_mix64(atoll_id_u64(&order->candidate) + 2) % 100 < s->wrong && order->op != ATOLL_OPERATOR_SEED;
    is_wrong = is_wrong || order->evaluation == s->broken_index;
    sim_evaluated(s, order, is_wrong ? ATOLL_V_WRONG : ATOLL_V_CORRECT, time_ns);
}

static inline void sim_answer_duel(struct sim *s, const struct atoll_decision *order)
{
    double elite_ns = order->purpose == ATOLL_DUEL_RIVAL ? order->incumbent_ns : sim_time(&order->elite);
    double ratio = elite_ns / sim_time(&order->candidate);
    if (sim_percent(s, s->wrong_duel) && order->purpose != ATOLL_DUEL_NULL_CONTROL)
        sim_duelled(s, order, ATOLL_V_WRONG, 0, 0);
    else if (sim_percent(s, s->unstable_duel))
        sim_duelled(s, order, ATOLL_V_UNSTABLE, 0, ratio);
    else
        sim_duelled(s, order, ATOLL_V_CORRECT, ratio > 1.01, ratio);
}

/* One evaluator answers one thing. */
static inline void sim_answer(struct sim *s)
{
    if (!s->order_count)
        return;
    size_t at = sim_below(s, s->order_count);
    s->now_ns += 10000000;
    if (sim_percent(s, s->infrastructure)) {
        sim_infrastructure(s, at);
        return;
    }
    struct atoll_decision order = sim_take(s, at);
    if (order.type == ATOLL_DECIDE_EVALUATE)
        sim_answer_evaluate(s, &order);
    else if (order.type == ATOLL_DECIDE_RIVAL)
        sim_rivalled(s, &order, ATOLL_V_CORRECT, 4e6 - 5e5 * order.rival);
    else
        sim_answer_duel(s, &order);
}

/* ---- what must hold of every campaign ---- */

static inline void sim_replay_sink(void *context, const struct atoll_decision *d)
{
    atoll_decision_encode(d, context);
}

/* A fresh engine makes the same decisions of the same bytes, and ends in the same state. */
static inline void sim_check_replay(const struct sim *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_engine *engine = atoll_engine_create(&err);
    struct atoll_arena *arena = atoll_arena_create(1u << 26, &err);
    struct atoll_buffer decisions;
    atoll_buffer_init(&decisions, 1u << 30);
    for (size_t i = 0; i < s->event_count; i++) {
        struct atoll_event event;
        if (atoll_event_decode(s->events[i].bytes, s->events[i].length, arena, &event, &err) ||
            atoll_engine_step(engine, &event, sim_replay_sink, &decisions, &err))
            fail_msg("event %zu: %s", i, err.text);
        atoll_event_fini(&event);
        atoll_arena_reset(arena);
    }
    assert_int_equal(decisions.length, s->decisions.length);
    assert_memory_equal(decisions.data, s->decisions.data, decisions.length);
    struct atoll_id a = atoll_engine_digest(engine), b = atoll_engine_digest(s->engine);
    assert_false(atoll_id_is_zero(&a));
    assert_true(atoll_id_equal(&a, &b));
    atoll_buffer_fini(&decisions);
    atoll_arena_destroy(arena);
    atoll_engine_destroy(engine);
}

/* save(load(save(x))) == save(x); goes on with the loaded engine. */
static inline void sim_reload(struct sim *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer first, second;
    atoll_buffer_init(&first, 1u << 30);
    atoll_buffer_init(&second, 1u << 30);
    assert_int_equal(atoll_engine_save(s->engine, &first, &err), 0);
    struct atoll_engine *loaded = atoll_engine_load(first.data, first.length, &err);
    if (!loaded)
        fail_msg("%s", err.text);
    assert_int_equal(atoll_engine_save(loaded, &second, &err), 0);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.data, second.data, first.length);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
    atoll_engine_destroy(s->engine);
    s->engine = loaded;
}

#endif

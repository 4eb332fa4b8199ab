#include "mpi-eval/referee/trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/referee/check.h"
#include "mpi-eval/referee/sampling.h"
#include "mpi-eval/backend/cpu/compile/instructions.h"
#include "mpi-eval/backend/cpu/measure/state.h"

#define BLOCK_LIMIT   (ATOLL_TASK_TENSOR_LIMIT + ATOLL_PLAN_SCRATCH_LIMIT)
#define LOST_LIMIT    3
#define SCRATCH_TIMES 64
#define SCRATCH_FREE  ((size_t)256 << 20)
#define BUSY_WEIGHT   0.1
#define BUSY_SHARE    0.1
#define WARMING_SEED  0x7761726d696e67ull

enum atoll_verdict atoll_cpu_loaded_candidate_open(struct atoll_referee *referee,
                                                   const struct atoll_prepared *prepared, const void *object,
                                                   size_t object_length,
                                                   struct atoll_loaded_candidate *ret_candidate,
                                                   char *ret_detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_runner *runner = NULL;
    for (int i = 0; i < LOST_LIMIT && !runner && err.code != ATOLL_E_INPUT && err.code != ATOLL_E_TIMEOUT;
         i++) {
        atoll_err_clear(&err);
        runner = atoll_runner_create(&atoll_cpu_of(referee)->runner, object, object_length,
                                     prepared->task->allow_mutable_globals, prepared->symbols,
                                     prepared->symbol_count, &err);
    }
    *ret_candidate = (struct atoll_loaded_candidate){
        .prepared = prepared, .object = object, .object_length = object_length, .runner = runner};
    if (runner) {
        ret_candidate->resources.kernel_count = (uint32_t)prepared->plan->launch_count;
        atoll_instructions_count(object, object_length, ret_candidate->resources.mix);
    }
    if (runner)
        return ATOLL_V_CORRECT;
    snprintf(ret_detail, ATOLL_DETAIL_BYTES, "%s", err.text);
    return err.code == ATOLL_E_INPUT     ? ATOLL_V_FORBIDDEN
           : err.code == ATOLL_E_TIMEOUT ? ATOLL_V_TIMEOUT
                                         : ATOLL_V_INFRASTRUCTURE;
}

void atoll_cpu_loaded_candidate_close(struct atoll_referee *referee, struct atoll_loaded_candidate *candidate)
{
    struct atoll_cpu *cpu = atoll_cpu_of(referee);
    if (cpu->moving == candidate->runner)
        cpu->moving = NULL;
    atoll_runner_destroy(candidate->runner);
    candidate->runner = NULL;
}

void atoll_cpu_settle(struct atoll_referee *referee)
{
    struct atoll_cpu *cpu = atoll_cpu_of(referee);
    atoll_runner_settle(cpu->moving);
    cpu->moving = NULL;
}

/* Everything one trial owns while it runs.  Blocks: tensors by number, then the plan's scratch. */
struct stage {
    struct atoll_referee *referee;
    struct atoll_cpu *cpu;
    struct atoll_case *known;
    struct atoll_loaded_candidate *candidate;
    const struct atoll_trial_order *order;
    const struct atoll_variant *variant;
    size_t path; /* of the plan, the one taken there */
    struct atoll_expected *expected, *stale;
    struct atoll_block blocks[BLOCK_LIMIT];
    size_t block_count;
    struct atoll_fill fills[ATOLL_TASK_TENSOR_LIMIT], scratch_fill;
    struct atoll_run_request request;
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT];
    size_t binding_count;
    double mark_ns; /* end of the phase before */
};

static void stage_mark(struct stage *s, enum atoll_phase phase)
{
    double now = atoll_referee_now_ns();
    s->referee->phases.ns[phase] += now - s->mark_ns;
    s->mark_ns = now;
}

static int stage_open_block(struct stage *s, size_t bytes, int read_only, struct atoll_err *err)
{
    size_t i = s->block_count;
    if (atoll_block_open(s->cpu->memory, bytes, atoll_random_at(s->order->placement, i), &s->blocks[i],
                         err) != 0)
        return -1;
    s->request.buffers[i] = (struct atoll_run_buffer){s->blocks[i].fd, s->blocks[i].file_bytes, read_only};
    s->request.buffer_count = ++s->block_count;
    return 0;
}

/* warming: inputs of another input set, which nobody asks the reference about. */
static int stage_fill_tensor(struct stage *s, size_t tensor, int warming, struct atoll_err *err)
{
    const struct atoll_task *task = s->known->task;
    const struct atoll_tensor *t = &task->tensors[tensor];
    void *data = atoll_block_data(&s->blocks[tensor]);
    if (t->role != ATOLL_ROLE_OUT && warming)
        return atoll_oracle_make_input(task, tensor, s->order->input_set,
                                       atoll_random_at(s->order->placement, WARMING_SEED),
                                       s->expected->truth.counts[tensor], s->cpu->team, data, err);
    if (t->role != ATOLL_ROLE_OUT)
        return atoll_expected_cache_input(s->cpu->expected_cache, s->expected, task, tensor, data, err);
    const double *stale = s->stale ? s->stale->truth.values[tensor] : NULL;
    atoll_fill_init(&s->fills[tensor], t->dtype, s->expected->truth.counts[tensor], stale,
                    atoll_random_at(~s->order->placement, tensor));
    atoll_fill_write(&s->fills[tensor], s->cpu->team, data);
    return 0;
}

/* Contents of every block; a sample's child may be set up meanwhile. */
static int stage_fill(struct stage *s, int warming, struct atoll_err *err)
{
    for (size_t i = 0; i < s->known->task->tensor_count; i++)
        if (stage_fill_tensor(s, i, warming, err) != 0)
            return -1;
    for (size_t i = 0; i < s->candidate->prepared->plan->scratch_count; i++) {
        const struct atoll_block *b = &s->blocks[s->known->task->tensor_count + i];
        atoll_fill_init(&s->scratch_fill, ATOLL_F32, b->bytes / 4, NULL,
                        atoll_random_at(s->order->placement ^ 0x73637261ull, i));
        atoll_fill_write(&s->scratch_fill, s->cpu->team, atoll_block_data(b));
        memset((char *)atoll_block_data(b) + b->bytes / 4 * 4, 0x5a, b->bytes % 4);
    }
    return 0;
}

static int stage_argument(struct stage *s, const struct atoll_arg *a, struct atoll_run_argument *ret,
                          struct atoll_err *err)
{
    size_t block = a->index + (a->kind == ATOLL_ARG_SCRATCH ? s->known->task->tensor_count : 0);
    *ret = (struct atoll_run_argument){.buffer = -1};
    switch (a->kind) {
    case ATOLL_ARG_TENSOR:
    case ATOLL_ARG_SCRATCH:
        ret->buffer = (int)block;
        ret->offset = s->blocks[block].offset;
        return 0;
    case ATOLL_ARG_INTEGER:
        return atoll_expression_eval(a->value, s->bindings, s->binding_count, &ret->value.i64, err);
    case ATOLL_ARG_FLOAT: ret->value.f64 = a->number; return 0;
    case ATOLL_ARG_TENSORMAP: break;
    }
    return atoll_err_set(err, ATOLL_E_INPUT, "argument \"%s\": not on the cpu backend", a->text);
}

static int stage_launches(struct stage *s, struct atoll_err *err)
{
    const struct atoll_plan *plan = s->candidate->prepared->plan;
    const struct atoll_path *path = &plan->paths[s->path];
    s->request.launch_count = path->count;
    for (size_t k = 0; k < path->count; k++) {
        const struct atoll_launch *l = &plan->launches[path->first + k];
        struct atoll_run_launch *r = &s->request.launches[k];
        r->symbol = path->first + k;
        r->argument_count = l->arg_count;
        if (atoll_expression_eval(l->units, s->bindings, s->binding_count, &r->units, err) != 0)
            return -1;
        if (r->units < 0)
            return atoll_err_set(err, ATOLL_E_INPUT, "launch %zu has %lld units at variant %s", k,
                                 (long long)r->units, s->variant->name);
        for (size_t i = 0; i < l->arg_count; i++)
            if (stage_argument(s, &l->args[i], &r->arguments[i], err) != 0)
                return -1;
    }
    return 0;
}

/* Where a late write would show: secret words of the outputs, all of them where there are few. */
static void stage_watch(struct stage *s)
{
    const struct atoll_task *task = s->known->task;
    size_t words[ATOLL_TASK_TENSOR_LIMIT] = {0}, total = 0;
    for (size_t i = 0; i < task->tensor_count; i++) {
        if (task->tensors[i].role == ATOLL_ROLE_OUT || task->tensors[i].role == ATOLL_ROLE_INOUT)
            words[i] = (s->blocks[i].bytes + 7) / 8;
        total += words[i];
    }
    size_t count = total < ATOLL_RUN_WATCH_LIMIT ? total : ATOLL_RUN_WATCH_LIMIT;
    for (size_t k = 0; k < count; k++) {
        uint64_t bits = atoll_random_at(s->order->placement ^ 0x7761746368ull, k);
        size_t at = total == count ? k : (size_t)atoll_random_below(bits, total), tensor = 0;
        while (at >= words[tensor])
            at -= words[tensor++];
        s->request.watch[k] = (const volatile uint64_t *)atoll_block_data(&s->blocks[tensor]) + at;
    }
    s->request.watch_count = count;
}

static void window_begin(void *compiler)
{
    atoll_compiler_pause(compiler);
}

static void window_end(void *compiler)
{
    atoll_compiler_resume(compiler);
}

/* Every sample's scratch is filled, which is the candidate's doing and in no span: what it may ask for is bounded by what the
 * task itself handles. */
static int scratch_check(const struct stage *s, size_t tensor_bytes, size_t scratch_bytes,
                         struct atoll_err *err)
{
    size_t limit = SCRATCH_TIMES * tensor_bytes > SCRATCH_FREE ? SCRATCH_TIMES * tensor_bytes : SCRATCH_FREE;
    if (scratch_bytes <= limit)
        return 0;
    return atoll_err_set(
        err, ATOLL_E_LIMIT,
        "scratch buffers of %zu bytes at variant %s are more than %zu, which is %d times its tensors or "
        "256 MiB",
        scratch_bytes, s->variant->name, limit, SCRATCH_TIMES);
}

static int stage_set(struct stage *s, struct atoll_err *err)
{
    size_t tensor_bytes = 0, scratch_bytes = 0;
    const struct atoll_prepared *p = s->candidate->prepared;
    const struct atoll_task *task = s->known->task;
    s->binding_count = atoll_plan_bindings(task, s->variant, p->plan, &p->choice, s->bindings);
    if (atoll_plan_path_at(task, p->plan, s->variant, &s->path, err) != 0)
        return -1;
    for (size_t i = 0; i < task->tensor_count; i++)
        if (stage_open_block(s, s->expected->truth.counts[i] * atoll_dtype_bytes(task->tensors[i].dtype), 0,
                             err) != 0)
            return -1;
    for (size_t i = 0; i < task->tensor_count; i++)
        tensor_bytes += s->blocks[i].bytes;
    for (size_t i = 0; i < p->plan->scratch_count; i++) {
        int64_t bytes = 0;
        if (atoll_plan_path_uses(p->plan, s->path, i) &&
            atoll_expression_eval(p->plan->scratch[i].bytes, s->bindings, s->binding_count, &bytes, err) != 0)
            return -1;
        if (bytes < 0)
            return atoll_err_set(err, ATOLL_E_INPUT, "scratch \"%s\" is %lld bytes at variant %s",
                                 p->plan->scratch[i].name, (long long)bytes, s->variant->name);
        scratch_bytes += (size_t)bytes;
        if (scratch_check(s, tensor_bytes, scratch_bytes, err) != 0 ||
            stage_open_block(s, (size_t)bytes, 0, err) != 0) {
            return -1;
        }
    }
    s->request.kind = ATOLL_RUN_CANDIDATE;
    s->request.deadline_ns = s->order->deadline_ns;
    s->request.touch = s->referee->setup.is_warm != 0;
    s->request.flush = !s->referee->setup.is_warm;
    s->request.window_begin = window_begin;
    s->request.window_end = window_end;
    s->request.context = s->referee->compiler;
    stage_watch(s);
    return stage_launches(s, err);
}

/* The child is forked while the outputs of the sample before are checked and its own buffers are filled, and its threads wake up
 * while caches are flushed, or on a busy machine after that, so that the kernel's time slice is not spent before the sample begins; a
 * warm sample has no flush, but a run before it, in another child over the same memory, on contents of another input set: whatever a
 * candidate leaves there is gone or of no use. */
static int stage_run_once(struct stage *s, int warming, struct atoll_run_result *result,
                          struct atoll_err *err)
{
    struct atoll_runner *runner = s->candidate->runner;
    if (atoll_runner_start(runner, &s->request, err) != 0)
        return -1;
    int failed = stage_fill(s, warming, err);
    atoll_team_settle(s->cpu->team);
    stage_mark(s, ATOLL_PHASE_INPUTS);
    if (s->cpu->moving != runner)
        atoll_cpu_settle(s->referee);
    s->cpu->moving = NULL; /* its own child stands before it is armed */
    int is_busy = s->cpu->busy > BUSY_SHARE;
    if (!is_busy)
        atoll_runner_arm(runner);
    stage_mark(s, ATOLL_PHASE_FORK);
    if (!s->referee->setup.is_warm)
        atoll_memory_flush(s->cpu->memory, s->blocks, s->block_count);
    stage_mark(s, ATOLL_PHASE_FLUSH);
    if (failed) { /* nothing to run: the child goes with its worker */
        atoll_cpu_loaded_candidate_close(s->referee, s->candidate);
        return -1;
    }
    atoll_oracle_settle(s->known->oracle);
    atoll_runner_finish(runner, &s->request, result);
    s->cpu->moving = runner;
    double now = atoll_referee_now_ns(), *ns = s->referee->phases.ns;
    ns[ATOLL_PHASE_SPAN] += result->ns;
    ns[ATOLL_PHASE_DEATH] += result->stop_ns;
    ns[ATOLL_PHASE_FORK] += now - s->mark_ns - result->ns - result->stop_ns;
    s->mark_ns = now;
    return 0;
}

static void trial_set(struct atoll_trial *t, enum atoll_verdict verdict, unsigned level, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));
static void trial_set(struct atoll_trial *t, enum atoll_verdict verdict, unsigned level, const char *format,
                      ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->detail, sizeof(t->detail), format, args);
    va_end(args);
    t->verdict = verdict;
    t->level = level;
}

static const char *block_name(const struct stage *s, size_t block)
{
    size_t tensors = s->known->task->tensor_count;
    return block < tensors ? s->known->task->tensors[block].name
                           : s->candidate->prepared->plan->scratch[block - tensors].name;
}

static int guards_hold(const struct stage *s, struct atoll_trial *t)
{
    int64_t where;
    for (size_t i = 0; i < s->block_count; i++) {
        const struct atoll_block *b = &s->blocks[i];
        if (atoll_block_guards_intact(b, &where))
            continue;
        if (where < 0)
            trial_set(t, ATOLL_V_WRONG, 5,
                      "variant %s: wrote out of bounds: %lld bytes before the start of %s", s->variant->name,
                      (long long)-where, block_name(s, i));
        else
            trial_set(t, ATOLL_V_WRONG, 5,
                      "variant %s: wrote out of bounds: %lld bytes past the end of %s (%zu bytes)",
                      s->variant->name, (long long)(where - (int64_t)b->bytes), block_name(s, i), b->bytes);
        return 0;
    }
    return 1;
}

/* Runs until the worker survives; a lost worker is never the candidate's fault.  Whatever a candidate can reach is
 * written anew between two runs: contents by stage_fill, guards here.  1: the untimed run left its bounds. */
static int stage_run(struct stage *s, struct atoll_trial *t, struct atoll_run_result *result,
                     struct atoll_err *err)
{
    for (int i = 0; i < LOST_LIMIT; i++) {
        for (int warming = s->referee->setup.is_warm != 0; warming >= 0; warming--) {
            struct atoll_loaded_candidate *u = s->candidate;
            if (!u->runner)
                u->runner = atoll_runner_create(&s->cpu->runner, u->object, u->object_length,
                                                s->known->task->allow_mutable_globals, u->prepared->symbols,
                                                u->prepared->symbol_count, err);
            if (!u->runner || stage_run_once(s, warming, result, err) != 0)
                return -1;
            if (result->status != ATOLL_RUN_DONE)
                break; /* of the candidate, or of the worker: no sample follows */
            if (warming && !guards_hold(s, t))
                return 1;
            for (size_t b = 0; warming && b < s->block_count; b++)
                atoll_block_guard(s->cpu->memory, &s->blocks[b]);
        }
        if (result->status != ATOLL_RUN_LOST)
            return 0;
        atoll_cpu_loaded_candidate_close(s->referee, s->candidate);
    }
    return atoll_err_set(err, ATOLL_E_CHILD, "the worker was lost %d times: %s", LOST_LIMIT, result->detail);
}

/* How a run that did not finish is judged. */
static void judge_end(const struct stage *s, const struct atoll_run_result *r, struct atoll_trial *t)
{
    static const enum atoll_verdict verdicts[] = {
        [ATOLL_RUN_DONE] = ATOLL_V_CORRECT,    [ATOLL_RUN_CRASHED] = ATOLL_V_CRASH,
        [ATOLL_RUN_FORBIDDEN] = ATOLL_V_CRASH, [ATOLL_RUN_EXITED] = ATOLL_V_CRASH,
        [ATOLL_RUN_TIMEOUT] = ATOLL_V_TIMEOUT, [ATOLL_RUN_LOST] = ATOLL_V_INFRASTRUCTURE};
    if (r->status == ATOLL_RUN_TIMEOUT)
        trial_set(t, ATOLL_V_TIMEOUT, 4, "variant %s: not finished after %.3g s", s->variant->name,
                  s->order->deadline_ns / 1e9);
    else
        trial_set(t, verdicts[r->status], 4, "variant %s: %s", s->variant->name, r->detail);
}

static int inputs_hold(const struct stage *s, struct atoll_trial *t)
{
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_block *b = &s->blocks[i];
        if (task->tensors[i].role != ATOLL_ROLE_IN && task->tensors[i].role != ATOLL_ROLE_CONSTANT)
            continue;
        if (atoll_memory_hash(s->cpu->team, s->referee->salt, atoll_block_data(b), b->bytes) ==
            s->expected->truth.input_hash[i])
            continue;
        trial_set(t, ATOLL_V_WRONG, 5,
                  "variant %s: changed the input %s; tensors of role %s must stay as they are",
                  s->variant->name, task->tensors[i].name,
                  task->tensors[i].role == ATOLL_ROLE_IN ? "in" : "constant");
        return 0;
    }
    return 1;
}

int atoll_outputs_check(const struct atoll_cpu *cpu, const struct atoll_case *known,
                        const struct atoll_expected *expected, const void *const *data,
                        const struct atoll_fill *const *fills, double *ret_worst, char *ret_detail,
                        struct atoll_err *err)
{
    struct atoll_finding *f = malloc(sizeof(*f));
    int right = f ? 1 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a comparison");
    *ret_worst = 0;
    for (size_t i = 0; right == 1 && i < known->task->tensor_count; i++) {
        struct atoll_check check = {.task = known->task,
                                    .variant = &known->task->variants[expected->input_set.variant],
                                    .tensor = i,
                                    .data = data[i],
                                    .values = expected->truth.values[i],
                                    .scale = expected->truth.scale[i],
                                    .fill = fills ? fills[i] : NULL,
                                    .team = cpu->team};
        if (!check.values)
            continue;
        if (atoll_check_compare(&check, f, err) != 0) {
            right = -1;
            break;
        }
        *ret_worst = f->worst_error > *ret_worst ? f->worst_error : *ret_worst;
        if (f->wrong) {
            snprintf(ret_detail, ATOLL_DETAIL_BYTES, "%s", f->detail);
            right = 0;
        }
    }
    free(f);
    return right;
}

static int prints_match(const struct stage *s)
{
    const struct atoll_task *task = s->known->task;
    for (size_t i = 0; i < task->tensor_count; i++)
        if (s->expected->prints[i].count &&
            !atoll_fingerprint_match(&s->expected->prints[i], s->cpu->team, task->tensors[i].dtype,
                                     atoll_block_data(&s->blocks[i])))
            return 0;
    return 1;
}

struct atoll_expected *atoll_cpu_expected(struct atoll_cpu *cpu, struct atoll_case *known,
                                          const struct atoll_input_set *input_set, int need_full,
                                          struct atoll_err *err)
{
    struct atoll_expected_cache *cache = cpu->expected_cache;
    unsigned again = atoll_expected_cache_has(cache, known->number, input_set) != 0;
    unsigned long asked = atoll_expected_cache_asked(cache);
    double begin = atoll_referee_now_ns();
    struct atoll_expected *expected =
        atoll_expected_cache_get(cache, known->oracle, known->task, known->number, input_set, need_full, err);
    if (atoll_expected_cache_asked(cache) != asked) {
        known->answers.made[again]++;
        known->answers.made_ns[again] += atoll_referee_now_ns() - begin;
    }
    return expected;
}

static int expected_get(struct stage *s, int need_full, struct atoll_trial *t, struct atoll_err *err)
{
    double begin = atoll_referee_now_ns();
    int is_new = !atoll_expected_cache_has(s->cpu->expected_cache, s->known->number, s->order->input_set);
    struct atoll_expected *a = atoll_cpu_expected(s->cpu, s->known, s->order->input_set, need_full, err);
    t->reference_ns += is_new ? atoll_referee_now_ns() - begin : 0;
    if (!a)
        return -1;
    if (s->expected)
        atoll_expected_cache_release(s->cpu->expected_cache, s->expected);
    s->expected = a;
    return 0;
}

/* A right output matches its fingerprint; what does not match, and what has none, is compared in full. */
static int judge_outputs(struct stage *s, struct atoll_trial *t, struct atoll_err *err)
{
    const struct atoll_tolerance *tolerance = &s->known->task->tolerance;
    const void *data[ATOLL_TASK_TENSOR_LIMIT];
    const struct atoll_fill *fills[ATOLL_TASK_TENSOR_LIMIT];
    enum atoll_comparing how = s->order->comparing;
    int by_print = s->expected->has_prints && atoll_check_has_element_bound(tolerance) &&
                   (how == ATOLL_COMPARING_PRINT || (how == ATOLL_COMPARING_HELD && !s->expected->is_full));
    if (by_print && !(tolerance->cosine > 0) && prints_match(s)) {
        s->known->answers.looked[ATOLL_LOOKING_PRINT]++;
        return 0;
    }
    s->known->answers.looked[ATOLL_LOOKING_VALUES]++;
    if (expected_get(s, 1, t, err) != 0)
        return -1;
    for (size_t i = 0; i < s->known->task->tensor_count; i++) {
        data[i] = atoll_block_data(&s->blocks[i]);
        fills[i] = s->known->task->tensors[i].role == ATOLL_ROLE_OUT ? &s->fills[i] : NULL;
    }
    char detail[ATOLL_DETAIL_BYTES];
    int right = atoll_outputs_check(s->cpu, s->known, s->expected, data, fills, &t->worst_error, detail, err);
    t->compared_fully = 1;
    if (right == 0)
        trial_set(t, ATOLL_V_WRONG, 5, "variant %s, %.1800s", s->variant->name, detail);
    return right < 0 ? -1 : 0;
}

static uint64_t outputs_hash(const struct stage *s)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < s->known->task->tensor_count; i++)
        if (s->known->task->tensors[i].role == ATOLL_ROLE_OUT ||
            s->known->task->tensors[i].role == ATOLL_ROLE_INOUT)
            hash = atoll_memory_hash(s->cpu->team, s->referee->salt ^ hash, atoll_block_data(&s->blocks[i]),
                                     s->blocks[i].bytes);
    return hash;
}

static int trial_do(struct stage *s, struct atoll_trial *t, struct atoll_err *err)
{
    struct atoll_run_result result;
    s->mark_ns = atoll_referee_now_ns();
    if (expected_get(s, s->order->comparing == ATOLL_COMPARING_FULL, t, err) != 0)
        return -1;
    stage_mark(s, ATOLL_PHASE_EXPECTED);
    s->stale = atoll_expected_cache_other(s->cpu->expected_cache, s->known->number,
                                          s->order->input_set->variant, s->order->input_set);
    if (stage_set(s, err) != 0) {
        /* A plan that asks for more than there is, or evaluates to nonsense at this variant. */
        if (err->code != ATOLL_E_INPUT && err->code != ATOLL_E_LIMIT)
            return -1;
        trial_set(t, ATOLL_V_LAUNCH_ERROR, 4, "variant %s: %.1000s", s->variant->name, err->text);
        return 0;
    }
    stage_mark(s, ATOLL_PHASE_INPUTS);
    int left_bounds = stage_run(s, t, &result, err);
    if (left_bounds)
        return left_bounds < 0 ? -1 : 0;
    s->candidate->candidate_ns += result.ns;
    t->ns = result.ns;
    t->stop_ns = result.stop_ns;
    struct atoll_sampling_sample unseen = {.ns = result.ns, .lost_ns = result.blind_ns};
    t->lost_ns = result.lost_ns < 0 ? -1 : result.lost_ns + result.blind_ns;
    t->own_ns = atoll_sampling_disturbed(&unseen) ? -1 : result.own_ns; /* it went on until it was seen */
    double paces[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (result.probe_ns[i] > 0)
            paces[i] = atoll_probes_pace(&s->cpu->probes[i], result.probe_ns[i]);
    t->pace = paces[0] > 0 && paces[1] > 0 ? sqrt(paces[0] * paces[1]) : fmax(paces[0], paces[1]);
    unseen.lost_ns = t->lost_ns;
    s->cpu->busy += BUSY_WEIGHT * ((atoll_sampling_disturbed(&unseen) ? 1 : 0) - s->cpu->busy);
    if (result.status != ATOLL_RUN_DONE) {
        judge_end(s, &result, t);
        return 0;
    }
    if (s->order->hash_outputs)
        t->output_hash = outputs_hash(s);
    if (result.late_count) {
        trial_set(t, ATOLL_V_WRONG, 6,
                  "variant %s: outputs were written after the sample had said that it was done",
                  s->variant->name);
        return 0;
    }
    if (!guards_hold(s, t) || !inputs_hold(s, t))
        return 0;
    stage_mark(s, ATOLL_PHASE_UNTOUCHED);
    int failed = judge_outputs(s, t, err);
    stage_mark(s, ATOLL_PHASE_OUTPUTS);
    s->referee->phases.trial_count++;
    return failed;
}

void atoll_cpu_trial(struct atoll_referee *referee, struct atoll_case *known,
                     struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                     struct atoll_trial *ret_trial)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct stage *s = calloc(1, sizeof(*s));
    *ret_trial = (struct atoll_trial){.verdict = ATOLL_V_CORRECT};
    if (!s) {
        trial_set(ret_trial, ATOLL_V_INFRASTRUCTURE, 0, "no memory for a sample");
        return;
    }
    s->referee = referee;
    s->cpu = atoll_cpu_of(referee);
    s->known = known;
    s->candidate = candidate;
    s->order = order;
    s->variant = &known->task->variants[order->input_set->variant];
    if (trial_do(s, ret_trial, &err) != 0)
        trial_set(ret_trial, ATOLL_V_INFRASTRUCTURE, 0, "%s", err.text);
    if (s->expected && ret_trial->verdict == ATOLL_V_CORRECT && !ret_trial->detail[0])
        atoll_trial_note_precision(ret_trial, s->expected->truth.precision, "");
    for (size_t i = 0; i < s->block_count; i++)
        atoll_block_close(s->cpu->memory, &s->blocks[i]);
    s->block_count = 0;
    atoll_expected_cache_release(s->cpu->expected_cache, s->stale);
    atoll_expected_cache_release(s->cpu->expected_cache, s->expected);
    free(s);
}

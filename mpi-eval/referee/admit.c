/* The admission battery (MEASUREMENT.md 7).  Degenerate answers are made in memory and put through the check
 * that candidates get; each must be found wrong.  Then the reference itself: does it react, spread, agree
 * with itself; then the seeds. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/check.h"
#include "mpi-eval/backend/cpu/measure/state.h"
#include "mpi-eval/referee/fakes.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/sampling.h"
#include "mpi-eval/referee/shape.h"

#define AGREEMENT   0.05 /* of the tolerance, by which two runs of the reference may differ */
#define BENCH_DRAWS 5
#define DEADLINE_NS 10e9
#define SERIES      ((uint64_t)1 << 62)

struct admission {
    struct atoll_referee *referee;
    const struct atoll_task *task;
    struct atoll_case *known;
    atoll_admission_row *row;
    void *context;
    int failed;
    uint32_t variant; /* check variant of the battery */
    struct atoll_answer *answer, *previous;
    struct atoll_referee *device; /* NULL: the host alone */
    struct atoll_case *device_known;
};

static void report(struct admission *a, const char *test, int passed, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void report(struct admission *a, const char *test, int passed, const char *format, ...)
{
    char detail[ATOLL_DETAIL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    a->failed |= !passed;
    a->row(a->context, test, passed, detail);
}

static struct atoll_fakes_source fakes_of(const struct admission *a)
{
    return (struct atoll_fakes_source){.task = a->task,
                                       .variant = a->variant,
                                       .draw = &a->answer->draw,
                                       .counts = a->answer->truth.counts,
                                       .right = a->answer->truth.values,
                                       .previous = a->previous->truth.values};
}

/* 1 the check accepts the outputs, 0 refuses them, -1 err. */
typedef int admission_examine(const struct admission *a, const void *const *data, struct atoll_err *err);

static int examine_here(const struct admission *a, const void *const *data, struct atoll_err *err)
{
    char detail[ATOLL_DETAIL_BYTES];
    double worst;
    return atoll_outputs_check(a->known, a->answer, data, NULL, &worst, detail, err);
}

static void admit_fake(struct admission *a, size_t fake, const char *where, admission_examine *examine)
{
    struct atoll_fakes_source source = fakes_of(a);
    const struct atoll_fakes_row *row = atoll_fakes_row(fake);
    struct atoll_err err = ATOLL_ERR_INIT;
    void *data[ATOLL_TASK_TENSOR_LIMIT];
    char test[96];
    snprintf(test, sizeof test, "%s%s", where, row->test);
    if (!atoll_fakes_make(fake, &source, data)) {
        report(a, test, 1, "does not apply: no tensor of that size");
        return;
    }
    int accepted = examine(a, (const void *const *)data, &err);
    atoll_fakes_free(data);
    if (accepted < 0)
        report(a, test, 0, "%s", err.text);
    else if (accepted == row->is_right)
        report(a, test, 1, "%s", "");
    else
        report(a, test, 0,
               accepted
                   ? "the check accepts it as an answer; change the inputs' distribution or the tolerance"
                   : "the expected values, rounded to the output's type, are outside of the tolerance; "
                     "widen it");
}

/* Largest difference between two truths, in units of the tolerance. */
static double truth_distance(const struct atoll_task *task, const struct atoll_truth *x,
                             const struct atoll_truth *y)
{
    const struct atoll_tolerance *t = &task->tolerance;
    double worst = 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        for (size_t k = 0; x->values[i] && k < x->counts[i]; k++) {
            double r = x->values[i][k], s = y->values[i][k], scale = x->scale[i] ? x->scale[i][k] : 0;
            double bound = t->atol + t->rtol * fmax(fabs(r), scale) + 1e-15 * fabs(r) + 1e-300;
            double distance = r == s || (isnan(r) && isnan(s)) ? 0 : fabs(r - s) / bound;
            if (!(distance <= worst))
                worst = isnan(distance) ? HUGE_VAL : distance;
        }
    return worst;
}

static int init_is_fixed(const struct atoll_tensor *t)
{
    return t->init.kind == ATOLL_INIT_CONSTANT || t->init.kind == ATOLL_INIT_INDEX;
}

static void admit_impact(struct admission *a)
{
    for (size_t i = 0; i < a->task->tensor_count; i++) {
        const struct atoll_tensor *t = &a->task->tensors[i];
        struct atoll_truth changed = {0};
        struct atoll_err err = ATOLL_ERR_INIT;
        char test[96];
        if (t->role == ATOLL_ROLE_OUT || init_is_fixed(t))
            continue;
        snprintf(test, sizeof test, "reacts to %s", t->name);
        if (atoll_oracle_ask(a->known->oracle, &a->answer->draw, (long)i, &changed, &err) != 0) {
            report(a, test, 0, "%s", err.text);
            continue;
        }
        double distance = truth_distance(a->task, &a->answer->truth, &changed);
        report(a, test, distance > 1,
               distance > 1 ? "%s" : "other values of this input give the same output%s", "");
        atoll_truth_fini(&changed);
    }
}

static void admit_spread(struct admission *a)
{
    for (size_t i = 0; i < a->task->tensor_count; i++) {
        const double *values = a->answer->truth.values[i];
        double low = HUGE_VAL, high = -HUGE_VAL;
        size_t count = a->answer->truth.counts[i], unset = 0;
        char test[96];
        if (!values)
            continue;
        for (size_t k = 0; k < count; k++) {
            unset += isnan(values[k]) ? 1 : 0;
            low = fmin(low, values[k]);
            high = fmax(high, values[k]);
        }
        snprintf(test, sizeof test, "defines %s", a->task->tensors[i].name);
        report(a, test, !unset, "%zu of %zu elements are never set, or NaN", unset, count);
        snprintf(test, sizeof test, "spread of %s", a->task->tensors[i].name);
        double bound = a->task->tolerance.atol + a->task->tolerance.rtol * fmax(fabs(low), fabs(high));
        report(a, test, count == 1 || high - low > 10 * bound, "values from %.6g to %.6g", low, high);
    }
}

/* The same question to another build or another number of threads. */
static void admit_agreement(struct admission *a, const char *test, struct atoll_compiler *compiler,
                            unsigned threads)
{
    struct atoll_runner_settings settings = atoll_cpu_of(a->referee)->runner;
    struct atoll_truth truth = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    settings.thread_count = threads;
    settings.cores = NULL;
    settings.spin = 0;
    struct atoll_oracle *o = atoll_oracle_create(
        a->task, compiler, &settings, atoll_cpu_of(a->referee)->oracle_memory, a->referee->salt, &err);
    if (!o || atoll_oracle_ask(o, &a->answer->draw, -1, &truth, &err) != 0)
        report(a, test, 0, "%s", err.text);
    else {
        double distance = truth_distance(a->task, &a->answer->truth, &truth);
        report(a, test, distance <= AGREEMENT, "largest difference %.3g of the tolerance", distance);
    }
    atoll_truth_fini(&truth);
    atoll_oracle_destroy(o);
}

static void admit_builds(struct admission *a)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_compiler_settings settings = {.command = a->referee->setup.compiler,
                                               .flags = "-O0",
                                               .slots = 1,
                                               .deadline_ns = a->referee->setup.compile_deadline_ns,
                                               .memory_bytes = a->referee->setup.compile_memory_bytes,
                                               .output_bytes = (uint64_t)64 << 20};
    struct atoll_compiler *plain = atoll_cc_create(&settings, &err);
    admit_agreement(a, "reference agrees on 1 thread", a->referee->compiler, 1);
    admit_agreement(a, "reference agrees on 3 threads", a->referee->compiler, 3);
    if (plain)
        admit_agreement(a, "reference agrees without optimisation", plain, 1);
    else
        report(a, "reference agrees without optimisation", 0, "%s", err.text);
    atoll_compiler_destroy(plain);
}

static int blocks_fit(struct atoll_memory *memory, const struct atoll_task *task,
                      const struct atoll_variant *v, struct atoll_err *err)
{
    struct atoll_block blocks[2 * ATOLL_TASK_TENSOR_LIMIT] = {{0}};
    size_t n = 0, count;
    int failed = 0;
    for (size_t i = 0; !failed && i < task->tensor_count; i++) {
        enum atoll_role role = task->tensors[i].role;
        failed = atoll_task_element_count(task, i, v, &count, err);
        if (!failed)
            failed = atoll_block_open(memory, count * atoll_dtype_bytes(task->tensors[i].dtype), n,
                                      &blocks[n], err);
        n += failed ? 0 : 1;
        if (!failed && (role == ATOLL_ROLE_OUT || role == ATOLL_ROLE_INOUT))
            failed = atoll_block_open(memory, count * sizeof(double), n, &blocks[n], err);
        n += failed ? 0 : 1;
    }
    for (size_t i = 0; i < 2 * ATOLL_TASK_TENSOR_LIMIT; i++)
        atoll_block_close(memory, &blocks[i]);
    return failed;
}

static void admit_variants(struct admission *a)
{
    for (size_t i = 0; i < a->task->variant_count; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const struct atoll_variant *v = &a->task->variants[i];
        char test[96];
        if (!atoll_variant_is_here(a->referee->backend, v))
            continue;
        snprintf(test, sizeof test, "variant %s fits", v->name);
        int failed = blocks_fit(atoll_cpu_of(a->referee)->memory, a->task, v, &err);
        report(a, test, !failed, "%s", failed ? err.text : "");
    }
}

/* One seed at one variant: right, and how fast. */
static int seed_variant(struct admission *a, struct atoll_loaded_candidate *candidate, uint32_t variant,
                        char *detail, double *ret_ns)
{
    int bench = a->task->variants[variant].kind == ATOLL_VARIANT_BENCH;
    double ns[BENCH_DRAWS], scratch[BENCH_DRAWS];
    struct atoll_summary summary;
    size_t draws = bench ? BENCH_DRAWS : 2;
    for (size_t k = 0; k < draws; k++) {
        struct atoll_input_set draw = atoll_case_input_set(a->referee, a->known, variant, k);
        struct atoll_trial_order order = {&draw, ATOLL_COMPARING_FULL, DEADLINE_NS,
                                          atoll_referee_placement(a->referee), 0};
        struct atoll_trial trial;
        a->referee->backend->trial(a->referee, a->known, candidate, &order, &trial);
        if (trial.verdict != ATOLL_V_CORRECT) {
            snprintf(detail, ATOLL_DETAIL_BYTES, "%s: %.1900s", atoll_verdict_name(trial.verdict),
                     trial.detail);
            return -1;
        }
        ns[k] = trial.ns;
    }
    atoll_summary_of(ns, draws, scratch, &summary);
    *ret_ns = summary.median;
    return 0;
}

static int seed_run(struct admission *a, struct atoll_loaded_candidate *candidate, char *detail,
                    double *ret_bench_ns)
{
    for (size_t i = 0; i < a->task->variant_count; i++) {
        double ns;
        if (!atoll_variant_is_here(a->referee->backend, &a->task->variants[i]))
            continue;
        if (seed_variant(a, candidate, (uint32_t)i, detail, &ns) != 0)
            return -1;
        if (a->task->variants[i].kind == ATOLL_VARIANT_BENCH)
            *ret_bench_ns = *ret_bench_ns > 0 ? fmin(*ret_bench_ns, ns) : ns;
    }
    return 0;
}

/* Prepares and compiles a seed with its first choice; -1 with the reason in detail. */
static int seed_build(struct admission *a, const struct atoll_seed *seed,
                      struct atoll_prepared **ret_prepared, struct atoll_compiled *ret_compiled, char *detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order_candidate candidate = {.language = seed->language, .source = seed->source};
    struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, &err);
    const char *body;
    const struct atoll_plan *plan =
        arena ? atoll_plan_parse(arena, a->task, seed->language, seed->source, &body, &err) : NULL;
    if (plan)
        atoll_plan_first_choice(plan, &candidate.choice);
    struct atoll_prepared *p =
        plan ? atoll_prepared_create(a->task, a->referee->backend, &candidate, &a->referee->info, &err)
             : NULL;
    atoll_arena_destroy(arena);
    *ret_prepared = p;
    if (p && p->verdict != ATOLL_V_CORRECT) {
        snprintf(detail, ATOLL_DETAIL_BYTES, "%s: %.1900s", atoll_verdict_name(p->verdict), p->detail);
        return -1;
    }
    if (!p || atoll_compiler_run(a->referee->compiler, a->referee->backend->unit_name, p->unit_text,
                                 p->unit_length, NULL, 0, ret_compiled, &err) != 0) {
        snprintf(detail, ATOLL_DETAIL_BYTES, "%s", err.text);
        return -1;
    }
    if (ret_compiled->status == ATOLL_COMPILE_OK)
        return 0;
    snprintf(detail, ATOLL_DETAIL_BYTES, "does not compile: %s", ret_compiled->diagnostics);
    return -1;
}

static void admit_seed(struct admission *a, const struct atoll_seed *seed)
{
    struct atoll_prepared *prepared = NULL;
    struct atoll_compiled compiled = {0};
    struct atoll_loaded_candidate candidate = {0};
    char test[160], detail[ATOLL_DETAIL_BYTES] = "";
    double bench_ns = 0;
    snprintf(test, sizeof test, "%s %s is right", seed->is_baseline ? "baseline" : "seed", seed->name);
    int failed = seed_build(a, seed, &prepared, &compiled, detail);
    if (!failed)
        failed =
            a->referee->backend->subject_open(a->referee, prepared, compiled.object, compiled.object_length,
                                              &candidate, detail) != ATOLL_V_CORRECT ||
            seed_run(a, &candidate, detail, &bench_ns) != 0;
    if (!failed)
        snprintf(detail, sizeof detail, "%.4g ms%s", bench_ns / 1e6,
                 bench_ns > 0 && bench_ns < ATOLL_SAMPLING_SHORT_NS
                     ? "; warning: a bench variant below 20 us, clock and launch dominate; make it larger"
                     : "");
    report(a, test, !failed, "%s", detail);
    if (candidate.prepared)
        a->referee->backend->subject_close(a->referee, &candidate);
    atoll_compiled_fini(&compiled);
    atoll_prepared_destroy(prepared);
}

static void admit_seeds(struct admission *a)
{
    for (size_t i = 0; i < a->task->seed_count; i++)
        if (strcmp(a->task->seeds[i].language, a->referee->backend->language) == 0)
            admit_seed(a, &a->task->seeds[i]);
}

/* ---- the same on a device ---- */

static int examine_there(const struct admission *a, const void *const *data, struct atoll_err *err)
{
    char detail[ATOLL_DETAIL_BYTES];
    return a->device->backend->examine(a->device, a->device_known, &a->answer->draw, data, detail, err);
}

static void admit_device_reference(struct admission *a, const char *where)
{
    struct atoll_truth truth = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    char test[96];
    snprintf(test, sizeof test, "%sreference agrees with the host's", where);
    memcpy(truth.counts, a->answer->truth.counts, sizeof truth.counts);
    if (a->device->backend->expect(a->device, a->device_known, &a->answer->draw, truth.values, &err) != 0) {
        report(a, test, 0, "%s", err.text);
        return;
    }
    double distance = truth_distance(a->task, &a->answer->truth, &truth);
    report(a, test, distance <= AGREEMENT, "largest difference %.3g of the tolerance", distance);
    atoll_truth_fini(&truth);
}

/* Seeds are looked at as on the host, by the device's referee and for its backend. */
static void admit_device_seeds(const struct admission *host)
{
    struct admission a = *host;
    a.referee = host->device;
    a.known = host->device_known;
    admit_seeds(&a);
}

static void admit_device(struct admission *a)
{
    char where[32];
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(where, sizeof where, "%s ", a->device->backend->name);
    a->device_known = atoll_case_create(a->device, UINT32_MAX - a->device->admissions++, a->task, &err);
    if (!a->device_known) {
        report(a, "reference compiles for the device", 0, "%s", err.text);
        return;
    }
    admit_device_reference(a, where);
    for (size_t i = 0; i < atoll_fakes_count(); i++)
        admit_fake(a, i, where, examine_there);
    admit_device_seeds(a);
    atoll_case_destroy(a->device, a->device_known);
}

static void admit_all(struct admission *a)
{
    admit_variants(a);
    admit_spread(a);
    for (size_t i = 0; i < atoll_fakes_count(); i++)
        admit_fake(a, i, "", examine_here);
    admit_impact(a);
    admit_builds(a);
    admit_seeds(a);
    if (a->device)
        admit_device(a);
}

/* The battery runs at the first check variant that this backend measures. */
static int battery_variant(const struct atoll_task *task, uint32_t *ret_variant, struct atoll_err *err)
{
    for (size_t i = 0; i < task->variant_count; i++) {
        if (task->variants[i].kind != ATOLL_VARIANT_CHECK ||
            !atoll_variant_is_here(&atoll_backend_cpu, &task->variants[i]))
            continue;
        *ret_variant = (uint32_t)i;
        return 0;
    }
    return atoll_err_set(err, ATOLL_E_INPUT, "%s: no check variant for the cpu backend; add one", task->file);
}

static struct atoll_answer *ask(struct admission *a, uint64_t number, struct atoll_err *err)
{
    struct atoll_input_set d =
        atoll_input_set_make(a->referee->setup.secret, a->task, a->variant, SERIES, number);
    d.distribution = ATOLL_DRAW_BASE;
    return atoll_answers_get(atoll_cpu_of(a->referee)->answers, a->known->oracle, a->task, a->known->number,
                             &d, 1, err);
}

int atoll_referee_admit(struct atoll_referee *referee, struct atoll_referee *device,
                        const struct atoll_task *task, atoll_admission_row *row, void *context,
                        struct atoll_err *err)
{
    struct admission a = {.referee = referee, .device = device, .task = task, .row = row, .context = context};
    struct atoll_err why = ATOLL_ERR_INIT;
    if (referee->backend != &atoll_backend_cpu)
        return atoll_err_set(err, ATOLL_E_INPUT, "the admission battery runs on the cpu backend, not on %s",
                             referee->backend->name);
    if (device && !device->backend->examine)
        return atoll_err_set(err, ATOLL_E_INPUT, "the backend %s has no battery of its own",
                             device->backend->name);
    if (battery_variant(task, &a.variant, err) != 0)
        return -1;
    a.known = atoll_case_create(referee, UINT32_MAX - referee->admissions++, task, &why);
    report(&a, "reference compiles", a.known != NULL, "%s", why.text);
    if (!a.known)
        return why.code == ATOLL_E_INPUT ? 1 : atoll_err_set(err, why.code, "%s", why.text);
    a.answer = ask(&a, 0, &why);
    a.previous = a.answer ? ask(&a, 1, &why) : NULL;
    report(&a, "reference runs", a.previous != NULL, "%s", why.text);
    if (a.previous)
        admit_all(&a);
    atoll_answers_release(atoll_cpu_of(referee)->answers, a.answer);
    atoll_answers_release(atoll_cpu_of(referee)->answers, a.previous);
    atoll_case_destroy(referee, a.known);
    return a.failed ? 1 : 0;
}

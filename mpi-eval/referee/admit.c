/* The admission battery (MEASUREMENT.md 7).  degenerate outputs are made in memory and put through the check
 * that candidates get; each must be found wrong.  Then the reference itself: does it react, spread, agree
 * with itself; then the seeds. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_choices.h"
#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/path_check.h"
#include "mpi-eval/referee/check.h"
#include "mpi-eval/referee/fakes.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/rival.h"
#include "mpi-eval/referee/sampling.h"
#include "mpi-eval/referee/trial.h"

#define AGREEMENT        0.05 /* of the tolerance, by which two runs of the reference may differ */
#define BENCH_INPUT_SETS 5
#define DEADLINE_NS      10e9
#define SERIES           ((uint64_t)1 << 62)

struct admission {
    int lacks_compiler; /* what was built last is of another language, which is not compiled here */
    struct atoll_referee *referee;
    const struct atoll_task *task;
    struct atoll_case *known;
    atoll_admission_row *row;
    void *context;
    unsigned combinations;
    int failed;
    uint32_t variant;                        /* check variant of the battery */
    struct atoll_input_set input_sets[2];    /* of the battery, and another one */
    struct atoll_reference_values values[2]; /* what the reference says of them */
    void *held[2];                           /* so that the backend need not ask again */
    struct atoll_referee *device;            /* NULL: the host alone */
    struct atoll_case *device_known;
};

static void report(struct admission *a, const char *test, int passed, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void report(struct admission *a, const char *test, int passed, const char *format, ...)
{
    char detail[ATOLL_DETAIL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    a->failed |= !passed;
    a->row(a->context, test, passed, detail);
}

/* One degenerate output, to be refused by the check of `where`, a referee that knows the task. */
static void admit_fake(struct admission *a, size_t fake, const char *prefix, struct atoll_referee *where,
                       struct atoll_case *known)
{
    const struct atoll_fakes_source source = {.task = a->task,
                                              .variant = a->variant,
                                              .input_set = &a->input_sets[0],
                                              .counts = a->values[0].counts,
                                              .right = a->values[0].values,
                                              .previous = a->values[1].values};
    const struct atoll_fakes_row *row = atoll_fakes_row(fake);
    struct atoll_err err = ATOLL_ERR_INIT;
    void *data[ATOLL_TASK_TENSOR_LIMIT];
    char test[96], detail[ATOLL_DETAIL_BYTES];
    snprintf(test, sizeof(test), "%s%s", prefix, row->test);
    if (!atoll_fakes_make(fake, &source, data)) {
        report(a, test, 1, "does not apply: no tensor of that size");
        return;
    }
    int accepted = where->backend->examine(where, known, &a->input_sets[0], (const void *const *)data, NULL,
                                           detail, &err);
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

/* Largest difference between what two references say, in units of the tolerance. */
static double distance_of(const struct atoll_task *task, const struct atoll_reference_values *x,
                          const struct atoll_reference_values *y)
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

static void values_fini(struct atoll_reference_values *values)
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        free(values->values[i]);
        free(values->scale[i]);
    }
    *values = (struct atoll_reference_values){0};
}

/* How far what the reference says to another question is from these values, the battery's; negative: it could not be had, and that
 * is reported. */
static double distance_ask(struct admission *a, const char *test, struct atoll_referee *where,
                           struct atoll_case *known, const struct atoll_reference_question *question,
                           const struct atoll_reference_values *values)
{
    struct atoll_reference_values other = {0};
    struct atoll_err err = ATOLL_ERR_INIT;
    if (where->backend->expect(where, known, question, &other, &err) != 0) {
        report(a, test, 0, "%s", err.text);
        return -1;
    }
    double distance = distance_of(a->task, values, &other);
    values_fini(&other);
    return distance;
}

/* Whether the task asks for the gradient of a tensor: it need not depend on that one, as with a bias. */
static int is_differentiated(const struct atoll_task *task, const struct atoll_tensor *of)
{
    for (size_t i = 0; i < task->tensor_count; i++) {
        const struct atoll_tensor *t = &task->tensors[i];
        if (t->role == ATOLL_ROLE_OUT && t->of && strcmp(t->of, of->name) == 0)
            return 1;
    }
    return 0;
}

static void admit_impact(struct admission *a)
{
    for (size_t i = 0; i < a->task->tensor_count; i++) {
        const struct atoll_tensor *t = &a->task->tensors[i];
        const struct atoll_reference_question question = {.input_set = &a->input_sets[0],
                                                          .changed_tensor = (long)i};
        char test[96];
        if (t->role == ATOLL_ROLE_OUT || t->init.kind == ATOLL_INIT_CONSTANT ||
            t->init.kind == ATOLL_INIT_INDEX || is_differentiated(a->task, t))
            continue;
        snprintf(test, sizeof(test), "reacts to %s", t->name);
        double distance = distance_ask(a, test, a->referee, a->known, &question, &a->values[0]);
        if (distance >= 0 && distance <= 1) { /* a sum of many may be near by chance */
            const struct atoll_reference_question again = {.input_set = &a->input_sets[1],
                                                           .changed_tensor = (long)i};
            distance = distance_ask(a, test, a->referee, a->known, &again, &a->values[1]);
        }
        if (distance >= 0)
            report(a, test, distance > 1,
                   distance > 1 ? "%s" : "other values of this input give the same output%s", "");
    }
}

/* Whether one value for each line along an axis, the middle of what stands there, would pass.  counts: elements before the axis, along
 * it, behind it. */
static int is_flat_along(const struct atoll_tolerance *t, const double *values, const size_t counts[3])
{
    for (size_t i = 0; i < counts[0]; i++)
        for (size_t k = 0; k < counts[2]; k++) {
            const double *line = values + i * counts[1] * counts[2] + k;
            double low = HUGE_VAL, high = -HUGE_VAL, least = HUGE_VAL;
            for (size_t j = 0; j < counts[1]; j++) {
                double v = line[j * counts[2]];
                low = fmin(low, v);
                high = fmax(high, v);
                least = fmin(least, fabs(v));
            }
            if ((high - low) / 2 > t->atol + t->rtol * least)
                return 0;
        }
    return 1;
}

/* KernelBench's flaw that robust-kbench filters by (arXiv 2509.14279): an output that is the same along an axis. */
static void admit_axes(struct admission *a, size_t tensor)
{
    const struct atoll_tensor *t = &a->task->tensors[tensor];
    const struct atoll_variant *v = &a->task->variants[a->variant];
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t binding_count = atoll_task_bindings(a->task, v, bindings), before = 1;
    for (size_t axis = 0; axis < t->rank; axis++) {
        int64_t extent;
        if (atoll_expression_eval(t->shape[axis], bindings, binding_count, &extent, NULL) != 0)
            return;
        const size_t counts[3] = {before, (size_t)extent,
                                  a->values[0].counts[tensor] / before / (size_t)extent};
        before *= (size_t)extent;
        if (extent < 2 || counts[0] * counts[2] < 2)
            continue;
        char test[96];
        snprintf(test, sizeof(test), "%s differs along axis %zu", t->name, axis);
        int is_flat = is_flat_along(&a->task->tolerance, a->values[0].values[tensor], counts);
        report(a, test, !is_flat, "%s",
               is_flat ? "one value for all of the axis passes; change the inputs or the tolerance" : "");
    }
}

static void admit_spread(struct admission *a)
{
    for (size_t i = 0; i < a->task->tensor_count; i++) {
        const double *values = a->values[0].values[i];
        double low = HUGE_VAL, high = -HUGE_VAL;
        size_t count = a->values[0].counts[i], unset = 0;
        char test[96];
        if (!values)
            continue;
        for (size_t k = 0; k < count; k++) {
            unset += isnan(values[k]) ? 1 : 0;
            low = fmin(low, values[k]);
            high = fmax(high, values[k]);
        }
        snprintf(test, sizeof(test), "defines %s", a->task->tensors[i].name);
        report(a, test, !unset, "%zu of %zu elements are never set, or NaN", unset, count);
        snprintf(test, sizeof(test), "spread of %s", a->task->tensors[i].name);
        double bound = a->task->tolerance.atol + a->task->tolerance.rtol * fmax(fabs(low), fabs(high));
        report(a, test, count == 1 || high - low > 10 * bound, "values from %.6g to %.6g", low, high);
        admit_axes(a, i);
    }
}

/* The same question to another reference, number of threads, or build. */
static void admit_agreement(struct admission *a, const char *test, struct atoll_referee *where,
                            struct atoll_case *known, unsigned threads, int is_unoptimised)
{
    const struct atoll_reference_question question = {.input_set = &a->input_sets[0],
                                                      .changed_tensor = -1,
                                                      .threads = threads,
                                                      .is_unoptimised = is_unoptimised};
    double distance = distance_ask(a, test, where, known, &question, &a->values[0]);
    if (distance >= 0)
        report(a, test, distance <= AGREEMENT, "largest difference %.3g of the tolerance", distance);
}

/* What PyTorch says is made by nobody's compiler, and each process takes seconds to start: one other asks for both. */
static void admit_agreements(struct admission *a)
{
    if (a->task->torch) {
        admit_agreement(a, "reference agrees in another process on 1 thread", a->referee, a->known, 1, 0);
        return;
    }
    admit_agreement(a, "reference agrees on 1 thread", a->referee, a->known, 1, 0);
    admit_agreement(a, "reference agrees on 3 threads", a->referee, a->known, 3, 0);
    admit_agreement(a, "reference agrees without optimisation", a->referee, a->known, 1, 1);
}

static void admit_variants(struct admission *a)
{
    for (size_t i = 0; i < a->task->variant_count; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const struct atoll_variant *v = &a->task->variants[i];
        char test[96];
        if (!atoll_variant_is_here(a->referee->backend, v))
            continue;
        snprintf(test, sizeof(test), "variant %s fits", v->name);
        int failed = a->referee->backend->variant_fits(a->referee, a->task, v, &err);
        report(a, test, !failed, "%s", failed ? err.text : "");
    }
}

/* One seed at one variant: right, and how fast. */
static int seed_variant(struct admission *a, struct atoll_loaded_candidate *candidate, uint32_t variant,
                        char *detail, double *ret_ns)
{
    int bench = a->task->variants[variant].kind == ATOLL_VARIANT_BENCH;
    double ns[BENCH_INPUT_SETS], scratch[BENCH_INPUT_SETS];
    struct atoll_summary summary;
    size_t input_sets = bench ? BENCH_INPUT_SETS : 2;
    for (size_t k = 0; k < input_sets; k++) {
        struct atoll_input_set input_set = atoll_case_input_set(a->referee, a->known, variant, k);
        struct atoll_trial_order order = {&input_set, ATOLL_COMPARING_FULL, DEADLINE_NS,
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
    atoll_summary_of(ns, input_sets, scratch, &summary);
    *ret_ns = summary.median;
    return 0;
}

/* One run of a seed at a shape that its paths need. */
struct made_run {
    struct admission *a;
    struct atoll_loaded_candidate *candidate;
    char *detail;
};

static int seed_made(void *context, const struct atoll_input_set *input_set)
{
    struct made_run *run = context;
    struct atoll_referee *r = run->a->referee;
    struct atoll_trial_order order = {input_set, ATOLL_COMPARING_FULL, DEADLINE_NS,
                                      atoll_referee_placement(r), 0};
    struct atoll_trial trial;
    r->backend->trial(r, run->a->known, run->candidate, &order, &trial);
    if (trial.verdict == ATOLL_V_CORRECT)
        return 0;
    snprintf(run->detail, ATOLL_DETAIL_BYTES, "%s: %.1700s", atoll_verdict_name(trial.verdict), trial.detail);
    atoll_path_check_say(run->a->known, run->detail, ATOLL_DETAIL_BYTES);
    return -1;
}

static int seed_paths(struct admission *a, struct atoll_loaded_candidate *candidate,
                      enum atoll_variant_kind kind, char *detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct made_run run = {a, candidate, detail};
    int rc =
        atoll_path_check(a->referee, a->known, candidate->prepared, kind, SERIES, 1, seed_made, &run, &err);
    if (rc != 0 && err.code != ATOLL_OK)
        snprintf(detail, ATOLL_DETAIL_BYTES, "%s", err.text);
    return rc;
}

/* ret_bench_ns: the fastest bench variant; NULL: only the check variants. */
static int seed_run(struct admission *a, struct atoll_loaded_candidate *candidate, char *detail,
                    double *ret_bench_ns)
{
    for (size_t i = 0; i < a->task->variant_count; i++) {
        double ns;
        const struct atoll_variant *v = &a->task->variants[i];
        if (!atoll_variant_is_here(a->referee->backend, v) ||
            (!ret_bench_ns && v->kind != ATOLL_VARIANT_CHECK))
            continue;
        if (seed_variant(a, candidate, (uint32_t)i, detail, &ns) != 0)
            return -1;
        if (ret_bench_ns && v->kind == ATOLL_VARIANT_BENCH)
            *ret_bench_ns = *ret_bench_ns > 0 ? fmin(*ret_bench_ns, ns) : ns;
    }
    if (seed_paths(a, candidate, ATOLL_VARIANT_CHECK, detail) != 0)
        return -1;
    return ret_bench_ns ? seed_paths(a, candidate, ATOLL_VARIANT_HIDDEN, detail) : 0;
}

static int is_other(const struct atoll_backend *b, const struct atoll_seed *seed)
{
    return b->other_language && strcmp(seed->language, b->other_language) == 0;
}

/* Prepares and compiles a seed with a choice; -1 with the reason in detail. */
static int seed_build(struct admission *a, const struct atoll_seed *seed, const struct atoll_choice *choice,
                      struct atoll_prepared **ret_prepared, struct atoll_compiled *ret_compiled, char *detail)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_order_candidate candidate = {
        .language = seed->language, .source = seed->source, .choice = *choice};
    struct atoll_prepared *p =
        atoll_prepared_create(a->task, a->referee->backend, &candidate, &a->referee->info, &err);
    *ret_prepared = p;
    if (p && p->verdict != ATOLL_V_CORRECT) {
        snprintf(detail, ATOLL_DETAIL_BYTES, "%s: %.1900s", atoll_verdict_name(p->verdict), p->detail);
        return -1;
    }
    if (!p || atoll_prepared_compile(p, a->referee->compiler, ret_compiled, &err) != 0) {
        snprintf(detail, ATOLL_DETAIL_BYTES, "%s", err.text);
        return -1;
    }
    if (ret_compiled->status == ATOLL_COMPILE_OK)
        return 0;
    a->lacks_compiler = ret_compiled->status == ATOLL_COMPILE_BROKEN && is_other(a->referee->backend, seed);
    snprintf(detail, ATOLL_DETAIL_BYTES, "%s: %s",
             ret_compiled->status == ATOLL_COMPILE_FORBIDDEN ? "forbidden"
             : ret_compiled->status == ATOLL_COMPILE_PLAN    ? "bad_plan"
                                                             : "does not compile",
             ret_compiled->diagnostics);
    return -1;
}

/* One choice of a seed, built and run; 0, or -1 with the reason in detail.  ret_bench_ns as in seed_run. */
static int seed_try(struct admission *a, const struct atoll_seed *seed, const struct atoll_choice *choice,
                    char *detail, double *ret_bench_ns)
{
    struct atoll_prepared *prepared = NULL;
    struct atoll_compiled compiled = {0};
    struct atoll_loaded_candidate candidate = {0};
    int failed = seed_build(a, seed, choice, &prepared, &compiled, detail);
    if (!failed)
        failed =
            a->referee->backend->candidate_open(a->referee, prepared, compiled.object, compiled.object_length,
                                                &candidate, detail) != ATOLL_V_CORRECT ||
            seed_run(a, &candidate, detail, ret_bench_ns) != 0;
    if (candidate.prepared)
        a->referee->backend->candidate_close(a->referee, &candidate);
    atoll_compiled_fini(&compiled);
    atoll_prepared_destroy(prepared);
    return failed ? -1 : 0;
}

/* ---- combinations of a template ---- */

struct choices {
    const struct atoll_plan *plan;
    struct atoll_plan_choices of;
};

static void admit_combinations(struct admission *a, const struct atoll_seed *seed, const struct choices *c)
{
    char test[160], detail[ATOLL_DETAIL_BYTES] = "", first[ATOLL_DETAIL_BYTES] = "", choice[256];
    size_t failed = 0;
    for (size_t i = 1; i < c->of.count; i++) {
        if (seed_try(a, seed, &c->of.choices[i], detail, NULL) == 0 || failed++ > 0)
            continue;
        atoll_choice_text(c->plan, &c->of.choices[i], choice, sizeof(choice));
        snprintf(first, sizeof(first), "%s: %.1700s", choice, detail);
    }
    snprintf(test, sizeof(test), "%s %s holds", seed->is_baseline ? "baseline" : "seed", seed->name);
    if (failed > 0)
        report(a, test, 0, "%zu of %zu combinations fail; %s", failed, c->of.count - 1, first);
    else
        report(a, test, 1, "with %zu more combinations, every parameter's extremes among them",
               c->of.count - 1);
}

static void admit_seed(struct admission *a, const struct atoll_seed *seed)
{
    char test[160], detail[ATOLL_DETAIL_BYTES] = "";
    double bench_ns = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct choices *c = calloc(1, sizeof(*c));
    struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, &err);
    const char *body;
    int failed = !c || !arena;
    snprintf(test, sizeof(test), "%s %s%s is right", seed->is_baseline ? "baseline" : "seed", seed->name,
             is_other(a->referee->backend, seed) ? " (Triton)" : "");
    if (!failed) {
        c->plan = atoll_plan_parse(arena, a->task, seed->language, seed->source, &body, &err);
        failed = !c->plan;
    }
    if (failed) {
        snprintf(detail, sizeof(detail), "%s", err.text);
    } else {
        struct atoll_choice choice;
        atoll_plan_first_choice(c->plan, &choice);
        a->lacks_compiler = 0;
        failed = seed_try(a, seed, &choice, detail, &bench_ns) != 0;
    }
    if (failed && a->lacks_compiler) { /* of a language that this node need not have */
        report(a, test, 1, "not looked at: %.900s", detail);
        atoll_arena_destroy(arena);
        free(c);
        return;
    }
    if (!failed)
        snprintf(detail, sizeof(detail), "%.4g ms%s", bench_ns / 1e6,
                 bench_ns > 0 && bench_ns < ATOLL_SAMPLING_SHORT_NS
                     ? "; warning: a bench variant below 20 us, clock and launch dominate; make it larger"
                     : "");
    report(a, test, !failed, "%s", detail);
    if (!failed && a->combinations > 0 && c->plan->param_count > 0) {
        atoll_plan_choices_extremes(a->task, c->plan, a->combinations, &c->of);
        admit_combinations(a, seed, c);
    }
    atoll_arena_destroy(arena);
    free(c);
}

static void admit_seeds(struct admission *a)
{
    const struct atoll_backend *b = a->referee->backend;
    for (size_t i = 0; i < a->task->seed_count; i++)
        if (strcmp(a->task->seeds[i].language, b->language) == 0 || is_other(b, &a->task->seeds[i]))
            admit_seed(a, &a->task->seeds[i]);
}

/* ---- rivals ---- */

/* What a torch says of a text that a newer one, or one for another device, runs. */
static int is_of_torch(const char *detail)
{
    static const char *const words[] = {"unsupported: ", "has no attribute", "not implemented for",
                                        "unexpected keyword argument", "compiling PyTorch with"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strstr(detail, words[i]))
            return 1;
    return 0;
}

/* Texts of torch baselines, at the battery's variant and in eager mode: what a compiler makes of one takes minutes.  The module of a
 * reference is looked at as that.  Values beyond the tolerance may be this torch's and this device's own rounding. */
static void admit_rivals(struct admission *a, struct atoll_referee *where, struct atoll_case *known)
{
    for (uint32_t i = 0; i < a->task->rival_count; i++) {
        const struct atoll_rival_spec *r = &a->task->rivals[i];
        char test[160], detail[ATOLL_DETAIL_BYTES] = "";
        int is_built;
        if (r->mode != ATOLL_TORCH_EAGER || !r->expression)
            continue;
        snprintf(test, sizeof(test), "rival %s is right", r->name);
        enum atoll_verdict v = atoll_referee_rival_look(where, known, i, a->variant, &is_built, detail);
        if (v == ATOLL_V_INFRASTRUCTURE || (v == ATOLL_V_COMPILE_ERROR && is_of_torch(detail)))
            report(a, test, 1, "not looked at: %.1800s", detail);
        else if (v == ATOLL_V_WRONG && is_built)
            report(a, test, ATOLL_ADMISSION_NOTED, "not here, and it would count for nothing: %.1800s",
                   detail);
        else
            report(a, test, v == ATOLL_V_CORRECT, "%.1900s", detail);
        if (v == ATOLL_V_INFRASTRUCTURE) /* the others would say it, too */
            break;
    }
}

/* ---- the same on a device ---- */

static void admit_device(struct admission *a)
{
    char prefix[32], test[96];
    struct atoll_err err = ATOLL_ERR_INIT;
    snprintf(prefix, sizeof(prefix), "%s ", a->device->backend->name);
    snprintf(test, sizeof(test), "%sreference agrees with the host's", prefix);
    a->device_known = atoll_case_create(a->device, UINT32_MAX - a->device->admissions++, a->task, &err);
    if (!a->device_known) {
        report(a, "reference compiles for the device", 0, "%s", err.text);
        return;
    }
    const char *refusal =
        a->device->backend->device_reference ? a->device->backend->device_reference(a->device_known) : NULL;
    if (refusal)
        report(a, "reference.cu agrees with reference.c", !refusal[0], "%s", refusal);
    admit_agreement(a, test, a->device, a->device_known, 0, 0);
    for (size_t i = 0; i < atoll_fakes_count(); i++)
        admit_fake(a, i, prefix, a->device, a->device_known);
    struct admission on_device =
        *a; /* seeds are looked at as on the host, by the device's referee and for its backend */
    on_device.referee = a->device;
    on_device.known = a->device_known;
    admit_seeds(&on_device);
    admit_rivals(a, a->device, a->device_known);
    atoll_case_destroy(a->device, a->device_known);
}

/* The battery runs at the first check variant that this backend measures. */
static int battery_variant(const struct atoll_backend *backend, const struct atoll_task *task,
                           uint32_t *ret_variant, struct atoll_err *err)
{
    for (size_t i = 0; i < task->variant_count; i++) {
        if (task->variants[i].kind != ATOLL_VARIANT_CHECK ||
            !atoll_variant_is_here(backend, &task->variants[i]))
            continue;
        *ret_variant = (uint32_t)i;
        return 0;
    }
    return atoll_err_set(err, ATOLL_E_INPUT, "%s: no check variant for the %s backend; add one", task->file,
                         backend->name);
}

/* What the reference says of one of the battery's inputs; held by the backend until the end. */
static int ask(struct admission *a, unsigned number, struct atoll_err *err)
{
    struct atoll_input_set *d = &a->input_sets[number];
    const struct atoll_reference_question question = {.input_set = d, .changed_tensor = -1};
    *d = atoll_input_set_make(a->referee->setup.secret, a->task, a->variant, SERIES, number);
    d->distribution = ATOLL_DRAW_BASE;
    a->held[number] = a->referee->backend->hold(a->referee, a->known, d, 1, err);
    return a->held[number]
               ? a->referee->backend->expect(a->referee, a->known, &question, &a->values[number], err)
               : -1;
}

int atoll_referee_admit(struct atoll_referee *referee, struct atoll_referee *device,
                        const struct atoll_task *task, unsigned combinations, atoll_admission_row *row,
                        void *context, struct atoll_err *err)
{
    struct admission a = {.referee = referee,
                          .device = device,
                          .task = task,
                          .combinations = combinations,
                          .row = row,
                          .context = context};
    struct atoll_err why = ATOLL_ERR_INIT;
    if (!referee->backend->leads_admission)
        return atoll_err_set(err, ATOLL_E_INPUT, "the admission battery runs on the cpu backend, not on %s",
                             referee->backend->name);
    if (device && !device->backend->examine)
        return atoll_err_set(err, ATOLL_E_INPUT, "the backend %s has no battery of its own",
                             device->backend->name);
    if (battery_variant(referee->backend, task, &a.variant, err) != 0)
        return -1;
    a.known = atoll_case_create(referee, UINT32_MAX - referee->admissions++, task, &why);
    report(&a, "reference compiles", a.known != NULL, "%s", why.text);
    if (!a.known)
        return why.code == ATOLL_E_INPUT ? 1 : atoll_err_set(err, why.code, "%s", why.text);
    int runs = ask(&a, 0, &why) == 0 && ask(&a, 1, &why) == 0;
    const char *precision = runs ? a.values[0].precision : "";
    int is_exact = !precision[0] || strcmp(precision, "f64") == 0;
    report(&a, "reference runs", runs, "%s%s%s", why.text,
           is_exact ? "" : "not in double precision, which its module cannot: in ",
           is_exact ? "" : precision);
    if (runs) {
        admit_variants(&a);
        admit_spread(&a);
        for (size_t i = 0; i < atoll_fakes_count(); i++)
            admit_fake(&a, i, "", referee, a.known);
        admit_impact(&a);
        admit_agreements(&a);
        admit_seeds(&a);
        if (!device)
            admit_rivals(&a, referee, a.known);
        if (device)
            admit_device(&a);
    }
    for (unsigned i = 0; i < 2; i++) {
        values_fini(&a.values[i]);
        referee->backend->release(referee, a.held[i]);
    }
    atoll_case_destroy(referee, a.known);
    return a.failed ? 1 : 0;
}

/* referee.c - what all parts of the referee share: input sets and placements of a task, accounts of time, and how long a
 * candidate may run before it is killed (atoll_referee_deadline_ns; the verdict is TIMEOUT). */
#include "mpi-eval/referee/referee.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/random.h"
#include "base/clock.h"
#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/state.h"
#include "mpi-eval/referee/time_account.h"
#include "mpi-eval/referee/trial.h"
#include "mpi-eval/torch/torch_rival.h"

#define CASE_LIMIT  4096
#define WHOLE_SHARE 0.25 /* of a run's deadline: five times the baseline */

const char *atoll_phase_name(enum atoll_phase phase)
{
    static const char *const names[ATOLL_PHASE_COUNT] = {
        "answer", "inputs", "flush", "fork", "span", "death", "untouched", "outputs", "start", "clearing"};
    return (unsigned)phase < ATOLL_PHASE_COUNT ? names[phase] : "unknown";
}

double atoll_referee_now_ns(void)
{
    return atoll_clock_raw_ns();
}

double atoll_referee_deadline_ns(double baseline_ns)
{
    if (!(baseline_ns > 0))
        return 10e9;
    return fmin(fmax(20 * baseline_ns, 0.2e9), 10e9);
}

double atoll_referee_whole_deadline_ns(const struct atoll_setup *setup, unsigned run_count,
                                       double baseline_ns)
{
    double run = atoll_referee_deadline_ns(baseline_ns) * (baseline_ns > 0 ? WHOLE_SHARE : 1);
    return setup->compile_deadline_ns + setup->sample_wall_ns + run_count * run;
}

int atoll_variant_is_here(const struct atoll_backend *backend, const struct atoll_variant *variant)
{
    return !variant->backend || strcmp(variant->backend, backend->name) == 0;
}

struct atoll_input_set atoll_case_input_set(const struct atoll_referee *referee,
                                            const struct atoll_case *known, uint32_t variant, uint64_t number)
{
    struct atoll_input_set d = atoll_input_set_make(referee->setup.secret, known->task, variant, 0, number);
    if (known->task->variants[variant].kind == ATOLL_VARIANT_CHECK)
        d.distribution = atoll_input_set_nth_distribution(known->task, (unsigned)number);
    return d;
}

struct atoll_input_set atoll_case_fresh_input_set(const struct atoll_referee *referee,
                                                  const struct atoll_case *known, uint32_t variant,
                                                  uint64_t evaluation, uint64_t number)
{
    return atoll_input_set_make(referee->setup.secret, known->task, variant,
                                atoll_input_set_series(evaluation), number);
}

uint64_t atoll_referee_placement(struct atoll_referee *referee)
{
    return atoll_random_at(referee->salt, ++referee->launches);
}

struct atoll_referee *atoll_referee_create(const struct atoll_backend *backend,
                                           const struct atoll_setup *setup, struct atoll_compiler *compiler,
                                           struct atoll_err *err)
{
    if (!backend) {
        atoll_err_set(err, ATOLL_E_INPUT, "this program has no backend \"%.15s\"", setup->backend);
        return NULL;
    }
    struct atoll_referee *r = calloc(1, sizeof(*r));
    if (!r) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the referee");
        return NULL;
    }
    r->setup = *setup;
    r->backend = backend;
    r->compiler = compiler;
    if (getrandom(&r->salt, sizeof(r->salt), 0) != (ssize_t)sizeof(r->salt))
        atoll_err_errno(err, errno, "no random numbers from the system");
    else if (backend->open(r, err) == 0) {
        atoll_counting_remember(&r->counting, &r->info, atoll_clock_unix_ns());
        return r;
    }
    atoll_referee_destroy(r);
    return NULL;
}

void atoll_referee_destroy(struct atoll_referee *referee)
{
    if (!referee)
        return;
    atoll_torch_rival_destroy(referee->rivals);
    for (size_t i = 0; i < referee->case_count; i++)
        atoll_case_destroy(referee, referee->cases[i]);
    free(referee->cases);
    atoll_counting_keep(&referee->counting, &referee->info, atoll_clock_unix_ns());
    atoll_counting_book_fini(&referee->counting);
    referee->backend->close(referee);
    free(referee);
}

const char *atoll_referee_pci(const struct atoll_referee *referee)
{
    return referee->pci;
}

const struct atoll_device_info *atoll_referee_device(const struct atoll_referee *referee)
{
    return &referee->info;
}

const struct atoll_phases *atoll_referee_phases(const struct atoll_referee *referee)
{
    return &referee->phases;
}

static void answers_add(struct atoll_answer_counts *sum, const struct atoll_answer_counts *more)
{
    for (unsigned i = 0; i < 2; i++) {
        sum->made[i] += more->made[i];
        sum->made_ns[i] += more->made_ns[i];
    }
    for (unsigned i = 0; i < ATOLL_LOOKING_COUNT; i++) {
        sum->looked[i] += more->looked[i];
        sum->looked_ns[i] += more->looked_ns[i];
    }
    sum->hand_over_ns += more->hand_over_ns;
}

struct atoll_answer_counts atoll_referee_answers(const struct atoll_referee *referee, uint32_t task)
{
    struct atoll_answer_counts sum;
    memset(&sum, 0, sizeof(sum));
    for (size_t i = 0; i < referee->case_count; i++)
        if (task == ATOLL_ANSWERS_OF_ALL || referee->cases[i]->number == task)
            answers_add(&sum, &referee->cases[i]->answers);
    return sum;
}

void atoll_referee_set_account(struct atoll_referee *referee, struct atoll_time_account *account)
{
    referee->account = account;
}

/* No default: a new phase has to say what it is. */
static enum atoll_time_part part_of(enum atoll_phase phase)
{
    switch (phase) {
    case ATOLL_PHASE_CLEARING: /* mostly what an answer gave back */
    case ATOLL_PHASE_EXPECTED: return ATOLL_TIME_ANSWERS;
    case ATOLL_PHASE_INPUTS: return ATOLL_TIME_INPUTS;
    case ATOLL_PHASE_FLUSH: return ATOLL_TIME_FLUSH;
    case ATOLL_PHASE_SPAN: return ATOLL_TIME_CANDIDATES;
    case ATOLL_PHASE_FORK:
    case ATOLL_PHASE_DEATH: return ATOLL_TIME_PROCESSES;
    case ATOLL_PHASE_UNTOUCHED:
    case ATOLL_PHASE_OUTPUTS: return ATOLL_TIME_CHECKS;
    case ATOLL_PHASE_START: return ATOLL_TIME_START;
    case ATOLL_PHASE_COUNT: break;
    }
    return ATOLL_TIME_OTHER;
}

void atoll_referee_trial(struct atoll_referee *referee, struct atoll_case *known,
                         struct atoll_loaded_candidate *candidate, const struct atoll_trial_order *order,
                         struct atoll_trial *ret_trial)
{
    struct atoll_phases before = referee->phases;
    struct atoll_device_time parts = {{0}};
    double candidate_ns = candidate->candidate_ns;
    atoll_time_account_sample_begin(referee->account);
    referee->backend->trial(referee, known, candidate, order, ret_trial);
    for (int k = 0; k < ATOLL_PHASE_COUNT; k++)
        parts.ns[part_of((enum atoll_phase)k)] += referee->phases.ns[k] - before.ns[k];
    /* One that hangs has no span. */
    parts.ns[ATOLL_TIME_CANDIDATES] =
        fmax(parts.ns[ATOLL_TIME_CANDIDATES], candidate->candidate_ns - candidate_ns);
    atoll_time_account_sample_end(referee->account, &parts);
}

enum atoll_verdict atoll_referee_load(struct atoll_referee *referee, const struct atoll_prepared *prepared,
                                      const void *object, size_t object_length,
                                      struct atoll_loaded_candidate *ret_candidate, char *ret_detail)
{
    enum atoll_time_part before = atoll_time_account_enter(referee->account, ATOLL_TIME_COMPILING);
    enum atoll_verdict verdict =
        referee->backend->candidate_open(referee, prepared, object, object_length, ret_candidate, ret_detail);
    atoll_time_account_enter(referee->account, before);
    return verdict;
}

void atoll_referee_unload(struct atoll_referee *referee, struct atoll_loaded_candidate *candidate)
{
    enum atoll_time_part before = atoll_time_account_enter(referee->account, ATOLL_TIME_PROCESSES);
    referee->backend->candidate_close(referee, candidate);
    atoll_time_account_enter(referee->account, before);
}

enum atoll_verdict atoll_referee_sanitize(struct atoll_referee *referee, struct atoll_case *known,
                                          struct atoll_loaded_candidate *candidate, char *ret_detail)
{
    enum atoll_time_part before = atoll_time_account_enter(referee->account, ATOLL_TIME_CHECKS);
    enum atoll_verdict verdict = referee->backend->sanitize(referee, known, candidate, ret_detail);
    atoll_time_account_enter(referee->account, before);
    return verdict;
}

/* What one candidate sees at least. */
static size_t least_open_count(const struct atoll_setup *setup)
{
    if (setup->sample_min < 1)
        return 1;
    return setup->sample_min < ATOLL_INPUT_SET_POOL_MIN ? setup->sample_min : ATOLL_INPUT_SET_POOL_MIN;
}

void atoll_case_open_next(struct atoll_case *known, uint32_t variant)
{
    if (known->open_count[variant] < ATOLL_INPUT_SET_POOL_MIN)
        known->open_count[variant]++;
}

struct atoll_case *atoll_case_create(struct atoll_referee *referee, uint32_t number,
                                     const struct atoll_task *task, struct atoll_err *err)
{
    struct atoll_case *c = calloc(1, sizeof(*c));
    if (!c) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
        return NULL;
    }
    c->number = number;
    c->own = *task;
    c->task = &c->own;
    for (size_t i = 0; i <= ATOLL_TASK_VARIANT_LIMIT; i++)
        c->pool_size[i] = ATOLL_INPUT_SET_POOL_MIN;
    for (size_t i = 0; i < ATOLL_TASK_VARIANT_LIMIT; i++)
        c->open_count[i] = least_open_count(&referee->setup);
    if (referee->backend->case_open(referee, c, err) == 0)
        return c;
    free(c);
    return NULL;
}

void atoll_case_destroy(struct atoll_referee *referee, struct atoll_case *known)
{
    if (!known)
        return;
    referee->backend->case_close(referee, known);
    free(known);
}

struct atoll_case *atoll_referee_case(struct atoll_referee *referee, uint32_t number)
{
    for (size_t i = 0; i < referee->case_count; i++)
        if (referee->cases[i]->number == number)
            return referee->cases[i];
    return NULL;
}

int atoll_referee_add_task(struct atoll_referee *referee, uint32_t number, const struct atoll_task *task,
                           struct atoll_err *err)
{
    if (atoll_referee_case(referee, number))
        return atoll_err_set(err, ATOLL_E_EXISTS, "task number %u is known already", number);
    if (referee->case_count >= CASE_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d tasks", CASE_LIMIT);
    for (size_t i = 0; i < task->variant_count && referee->backend->variant_fits; i++)
        if (atoll_variant_is_here(referee->backend, &task->variants[i]) &&
            referee->backend->variant_fits(referee, task, &task->variants[i], err) != 0)
            return -1;
    struct atoll_case **cases = realloc(referee->cases, (referee->case_count + 1) * sizeof(*cases));
    if (!cases)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
    referee->cases = cases;
    struct atoll_case *c = atoll_case_create(referee, number, task, err);
    if (!c)
        return -1;
    referee->cases[referee->case_count++] = c;
    return 0;
}

int atoll_referee_add_compiled_task(struct atoll_referee *referee, uint32_t number,
                                    const struct atoll_task *task, const void *object, size_t length,
                                    struct atoll_err *err)
{
    referee->reference = object;
    referee->reference_length = length;
    int rc = atoll_referee_add_task(referee, number, task, err);
    referee->reference = NULL;
    referee->reference_length = 0;
    return rc;
}

int atoll_referee_requalify(struct atoll_referee *referee, struct atoll_err *err)
{
    if (referee->setup.backend_null || atomic_load(&referee->cancelled))
        return 0;
    return referee->backend->qualify(referee, err);
}

void atoll_referee_cancel(struct atoll_referee *referee)
{
    atomic_store(&referee->cancelled, 1);
}

void atoll_trial_note_precision(struct atoll_trial *trial, const char *precision, const char *where)
{
    int is_exact = !precision[0] || strcmp(precision, "f64") == 0;
    if (!is_exact || where[0])
        snprintf(trial->detail, sizeof(trial->detail), "expected values are PyTorch's in %s%s%s", precision,
                 where, is_exact ? "" : ", for its module does not run in double precision");
}

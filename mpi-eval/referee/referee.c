#include "mpi-eval/referee/referee.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "mpi-eval/referee/state.h"

#define CASE_LIMIT 4096

double atoll_referee_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double atoll_referee_deadline_ns(double baseline_ns)
{
    if (!(baseline_ns > 0))
        return 10e9;
    return fmin(fmax(20 * baseline_ns, 0.2e9), 10e9);
}

int atoll_variant_is_here(const struct atoll_variant *variant)
{
    return !variant->backend || strcmp(variant->backend, "cpu") == 0;
}

struct atoll_draw atoll_case_draw(const struct atoll_referee *referee, const struct atoll_case *known,
                                  uint32_t variant, uint64_t number)
{
    struct atoll_draw d = atoll_draw_make(referee->setup.secret, known->task, variant, 0, number);
    if (known->task->variants[variant].kind == ATOLL_VARIANT_CHECK)
        d.distribution = atoll_draw_nth_distribution(known->task, (unsigned)number);
    return d;
}

struct atoll_draw atoll_case_fresh_draw(const struct atoll_referee *referee, const struct atoll_case *known,
                                        uint32_t variant, uint64_t evaluation, uint64_t number)
{
    return atoll_draw_make(referee->setup.secret, known->task, variant, atoll_draw_series(evaluation),
                           number);
}

uint64_t atoll_referee_placement(struct atoll_referee *referee)
{
    return atoll_random_at(referee->salt, ++referee->launches);
}

/* A share of the machine's memory, as large as the device's share of its processors, within bounds. */
static size_t memory_share(const struct atoll_referee *r, double divisor, double least_mib, double most_mib)
{
    double cores = (double)CPU_COUNT(&r->device.affinity) / (double)sysconf(_SC_NPROCESSORS_ONLN);
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double mib = bytes * fmin(cores, 1) / divisor / 1048576;
    return (size_t)fmin(fmax(mib, least_mib), most_mib) << 20;
}

int atoll_referee_measure(struct atoll_referee *referee, struct atoll_err *err)
{
    return atoll_calibration_measure(referee->calibration, &referee->info, &referee->jitter_ns, err);
}

static void oracle_runner_set(struct atoll_referee *r)
{
    unsigned count = 0;
    for (size_t i = 0; i < CPU_SETSIZE && count < ATOLL_DEVICE_CORE_LIMIT; i++)
        if (CPU_ISSET(i, &r->device.affinity))
            r->oracle_cores[count++] = (int)i;
    r->oracle_runner = r->runner;
    r->oracle_runner.spin = 0;
    r->oracle_runner.cores = r->oracle_cores;
    r->oracle_runner.thread_count = count;
}

static int referee_open(struct atoll_referee *r, struct atoll_err *err)
{
    if (getrandom(&r->salt, sizeof r->salt, 0) != (ssize_t)sizeof r->salt)
        return atoll_err_errno(err, errno, "no random numbers from the system");
    if (atoll_device_open(r->setup.threads, &r->device, err) != 0)
        return -1;
    r->runner = atoll_device_runner(&r->device);
    oracle_runner_set(r);
    atoll_device_describe(&r->device, r->compiler ? atoll_compiler_version(r->compiler) : "", &r->info);
    size_t cache = (size_t)r->info.last_level_cache_bytes;
    if (!(r->memory = atoll_memory_create(memory_share(r, 8, 256, 4096), cache, err)) ||
        !(r->oracle_memory = atoll_memory_create(memory_share(r, 8, 256, 4096), cache, err)) ||
        !(r->answers = atoll_answers_create(memory_share(r, 10, 512, 4096), memory_share(r, 10, 128, 4096),
                                            r->salt ^ 0x7072696e74ull, err)))
        return -1;
    if (r->setup.backend_null)
        return 0;
    r->calibration = atoll_calibration_create(r->compiler, &r->runner, err);
    if (!r->calibration)
        return -1;
    atoll_device_pin(&r->device);
    return atoll_calibration_qualify(r->calibration, err) != 0 ? -1 : atoll_referee_measure(r, err);
}

struct atoll_referee *atoll_referee_create(const struct atoll_setup *setup, struct atoll_compiler *compiler,
                                           struct atoll_err *err)
{
    struct atoll_referee *r = calloc(1, sizeof *r);
    if (!r) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the referee");
        return NULL;
    }
    r->setup = *setup;
    r->compiler = compiler;
    if (referee_open(r, err) == 0)
        return r;
    atoll_referee_destroy(r);
    return NULL;
}

void atoll_referee_destroy(struct atoll_referee *referee)
{
    if (!referee)
        return;
    for (size_t i = 0; i < referee->case_count; i++)
        atoll_case_destroy(referee->cases[i]);
    free(referee->cases);
    atoll_calibration_destroy(referee->calibration);
    atoll_answers_destroy(referee->answers);
    atoll_memory_destroy(referee->memory);
    atoll_memory_destroy(referee->oracle_memory);
    if (referee->device.core_count && !referee->setup.backend_null)
        atoll_device_unpin(&referee->device);
    free(referee);
}

const struct atoll_device_info *atoll_referee_device(const struct atoll_referee *referee)
{
    return &referee->info;
}

const struct atoll_phases *atoll_referee_phases(const struct atoll_referee *referee)
{
    return &referee->phases;
}

struct atoll_case *atoll_case_create(struct atoll_referee *referee, uint32_t number,
                                     const struct atoll_task *task, struct atoll_err *err)
{
    struct atoll_case *c = calloc(1, sizeof *c);
    if (!c) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
        return NULL;
    }
    c->number = number;
    c->task = task;
    for (size_t i = 0; i < ATOLL_TASK_VARIANT_LIMIT; i++)
        c->pool_size[i] = ATOLL_DRAW_POOL_MIN;
    c->oracle = atoll_oracle_create(task, referee->compiler, &referee->oracle_runner, referee->oracle_memory,
                                    referee->salt, err);
    if (c->oracle)
        return c;
    atoll_case_destroy(c);
    return NULL;
}

void atoll_case_destroy(struct atoll_case *known)
{
    if (!known)
        return;
    atoll_oracle_destroy(known->oracle);
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
    struct atoll_case **cases = realloc(referee->cases, (referee->case_count + 1) * sizeof *cases);
    if (!cases)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
    referee->cases = cases;
    struct atoll_case *c = atoll_case_create(referee, number, task, err);
    if (!c)
        return -1;
    referee->cases[referee->case_count++] = c;
    return 0;
}

int atoll_referee_requalify(struct atoll_referee *referee, struct atoll_err *err)
{
    return referee->calibration ? atoll_calibration_qualify(referee->calibration, err) : 0;
}

void atoll_referee_cancel(struct atoll_referee *referee)
{
    atomic_store(&referee->cancelled, 1);
}

/* bench_counters.c - what hardware counters cost: milliseconds per kernel for the twelve of the small set and for all of
 * them.  bench_counters [--repeats N] [--json FILE] [TASK_DIR...]   (20; three tasks of suites/starter)
 * Both sets count the seeds of the tasks at their bench variants, first each in a device process of its own, which is set up
 * once (printed apart), then in one process, where a counting with the other set stands between two of them ("turns").  The
 * time holds inputs and fills of the counted run, too. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/place.h"
#include "bench/report.h"
#include "bench/solo.h"
#include "mpi-eval/backend/backends.h"
#include "mpi-eval/backend/cuda/measure/backend.h"
#include "mpi-eval/backend/cuda/measure/stage.h"
#include "base/clock.h"

#define DEADLINE_NS  30e9
#define REPEAT_LIMIT 10000
#define SERIES       ((uint64_t)1 << 60) /* input sets of their own */

struct options {
    const char *json;
    unsigned repeats;
    char **dirs;
    int dir_count;
};

/* One kernel under one set. */
struct counting {
    struct atoll_solo solo;
    struct atoll_metrics metrics[ATOLL_METRICS_SET_COUNT];
    enum atoll_metrics_set set;
    int takes_turns;
    struct atoll_case *known;
    struct atoll_loaded_candidate candidate;
    uint32_t variant;
    FILE *json;
    int rows;
};

static int device_said(struct atoll_cuda_device *d, int rc, struct atoll_err *err)
{
    if (rc < 0)
        return -1;
    if (rc > 0 || d->reply.status != ATOLL_COMMAND_BATCH_DONE)
        return atoll_err_set(err, ATOLL_E_CHILD, "the device process: %.300s",
                             d->reply.text[0] ? d->reply.text : "it ended");
    return 0;
}

static int metrics_open(struct counting *c, enum atoll_metrics_set set, struct atoll_err *err)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(c->solo.device.referee);
    if (d->counters_generation[set] == d->generation)
        return 0;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_counters_open(&d->batch, set, c->metrics[set].names, (uint32_t)c->metrics[set].count);
    if (device_said(d, atoll_cuda_device_run(d, DEADLINE_NS, err), err) != 0)
        return -1;
    d->counters_generation[set] = d->generation;
    return 0;
}

static int count_once(struct counting *c, enum atoll_metrics_set set, uint64_t number, struct atoll_err *err)
{
    struct atoll_referee *r = c->solo.device.referee;
    struct atoll_cuda_device *d = atoll_cuda_device_of(r);
    struct atoll_input_set input_set =
        atoll_input_set_make(r->setup.secret, c->known->task, c->variant, SERIES, number);
    struct atoll_cuda_stage stage = {.referee = r,
                                     .device = d,
                                     .known = c->known,
                                     .candidate = &c->candidate,
                                     .input_set = &input_set,
                                     .placement = atoll_referee_placement(r)};
    int rc = atoll_cuda_stage_set(&stage, err);
    if (rc != 0)
        return rc > 0 ? atoll_err_set(err, ATOLL_E_CHILD, "the device process was lost") : -1;
    if (metrics_open(c, set, err) != 0)
        return -1;
    atoll_command_batch_clear(&d->batch);
    if (atoll_cuda_sample_count(&stage.sample, &d->batch, set, err) != 0)
        return -1;
    return device_said(d, atoll_cuda_device_run(d, DEADLINE_NS, err), err);
}

static uint32_t bench_variant(const struct atoll_task *task)
{
    for (uint32_t i = 0; i < task->variant_count; i++)
        if (task->variants[i].kind == ATOLL_VARIANT_BENCH &&
            atoll_variant_is_here(&atoll_backend_cuda, &task->variants[i]))
            return i;
    return 0;
}

/* The first run apart: it makes memory and loads modules. */
static int series_count(struct counting *c, unsigned repeats, double *ret_ns, double *ret_first_ns,
                        struct atoll_err *err)
{
    for (unsigned i = 0; i <= repeats; i++) {
        if (c->takes_turns && count_once(c, 1 - c->set, i + repeats + 1, err) != 0)
            return -1;
        double begin = atoll_clock_mono_ns();
        if (count_once(c, c->set, i, err) != 0)
            return -1;
        if (i == 0)
            *ret_first_ns = atoll_clock_mono_ns() - begin;
        else
            ret_ns[i - 1] = atoll_clock_mono_ns() - begin;
    }
    return 0;
}

static void row_print(struct counting *c, const char *set, const char *seed, double kernel_ns,
                      double first_ns, const struct atoll_spread *s)
{
    printf("%-12s %8zu %-16s %-12s %10.1f %10.2f %10.2f %10.2f %10.2f\n", set, c->metrics[c->set].count,
           c->known->task->name, seed, kernel_ns / 1e3, s->median / 1e6, s->p90 / 1e6, s->mean / 1e6,
           first_ns / 1e6);
    fflush(stdout);
    if (c->json)
        fprintf(c->json,
                "%s  {\"set\": \"%s\", \"metrics\": %zu, \"task\": \"%s\", \"seed\": \"%s\", \"kernel_ns\": "
                "%.0f, "
                "\"median_ns\": %.0f, \"p90_ns\": %.0f, \"mean_ns\": %.0f, \"first_ns\": %.0f}",
                c->rows ? ",\n" : "", set, c->metrics[c->set].count, c->known->task->name, seed, kernel_ns,
                s->median, s->p90, s->mean, first_ns);
    c->rows++;
}

static int kernel_count(struct counting *c, const char *set, uint32_t task, const struct atoll_kernel *kernel,
                        const char *seed, unsigned repeats, struct atoll_err *err)
{
    struct atoll_referee *r = c->solo.device.referee;
    struct atoll_evaluation e;
    struct atoll_spread spread;
    char detail[ATOLL_DETAIL_BYTES];
    double first_ns = 0, kernel_ns, *ns = calloc(repeats, sizeof(*ns));
    if (!ns)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for times");
    atoll_evaluation_init(&e);
    int rc = atoll_kernel_evaluate(&c->solo, task, kernel, task + 1, &e, err);
    kernel_ns = rc == 0 ? e.timings[0].summary.median : 0;
    atoll_evaluation_fini(&e);
    memset(&c->candidate, 0, sizeof(c->candidate));
    if (rc == 0 && atoll_cuda_loaded_candidate_open(r, kernel->prepared, kernel->compiled.object,
                                                    kernel->compiled.object_length, &c->candidate,
                                                    detail) != ATOLL_V_CORRECT)
        rc = atoll_err_set(err, ATOLL_E_MISMATCH, "%.1000s", detail);
    if (rc == 0) {
        rc = series_count(c, repeats, ns, &first_ns, err);
        atoll_cuda_loaded_candidate_close(r, &c->candidate);
    }
    if (rc == 0) {
        atoll_spread_of(ns, repeats, &spread);
        row_print(c, set, seed, kernel_ns, first_ns, &spread);
    }
    free(ns);
    return rc;
}

static int task_count(struct counting *c, const char *set, const struct atoll_task *task, uint32_t number,
                      unsigned repeats, struct atoll_err *err)
{
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    size_t count = atoll_solo_seeds(task, "cuda", seeds);
    int rc = atoll_referee_add_task(c->solo.device.referee, number, task, err);
    c->known = atoll_referee_case(c->solo.device.referee, number);
    c->variant = bench_variant(task);
    for (size_t i = 0; rc == 0 && i < count && i < 2; i++) {
        struct atoll_kernel kernel;
        rc = atoll_kernel_build(&c->solo, task, seeds[i], ATOLL_MUTANT_COMMENT, 0, &kernel, err);
        if (rc != 0)
            break;
        rc = kernel_count(c, set, number, &kernel, task->seeds[seeds[i]].name, repeats, err);
        atoll_kernel_fini(&kernel);
    }
    return rc;
}

/* A device process of its own: the profiler is set up once in each. */
static int set_count(struct counting *c, enum atoll_metrics_set set, struct atoll_task *const *tasks,
                     uint32_t task_total, unsigned repeats, struct atoll_err *err)
{
    char name[32];
    int rc = atoll_solo_open(&c->solo, "cuda", err);
    snprintf(name, sizeof(name), "%s%s", set == ATOLL_METRICS_SMALL ? "small" : "full",
             c->takes_turns ? ".turns" : "");
    c->set = set;
    if (rc == 0) {
        struct atoll_referee *r = c->solo.device.referee;
        double begin = atoll_clock_mono_ns();
        for (unsigned i = 0; i < ATOLL_METRICS_SET_COUNT; i++)
            atoll_metrics_select((enum atoll_metrics_set)i, r->info.limits.compute_capability,
                                 &c->metrics[i]);
        rc = metrics_open(c, set, err);
        if (rc == 0)
            printf("%-12s %8zu set up in %.2f ms, %llu passes\n", name, c->metrics[set].count,
                   (atoll_clock_mono_ns() - begin) / 1e6,
                   (unsigned long long)atoll_command_batch_take_u64(&atoll_cuda_device_of(r)->reply));
        for (uint32_t i = 0; rc == 0 && i < task_total; i++)
            rc = task_count(c, name, tasks[i], i, repeats, err);
    }
    atoll_solo_close(&c->solo);
    return rc;
}

static int sets_count(struct counting *c, struct atoll_task *const *tasks, uint32_t count, unsigned repeats,
                      struct atoll_err *err)
{
    int rc = 0;
    printf("%-12s %8s %-16s %-12s %10s %10s %10s %10s %10s\n", "set", "metrics", "task", "seed", "kernel us",
           "median ms", "p90 ms", "mean ms", "first ms");
    for (c->takes_turns = 0; rc == 0 && c->takes_turns < 2; c->takes_turns++)
        for (unsigned set = 0; rc == 0 && set < ATOLL_METRICS_SET_COUNT; set++)
            rc = set_count(c, (enum atoll_metrics_set)set, tasks, count, repeats, err);
    return rc;
}

static int measure(const struct options *o, struct atoll_err *err)
{
    static struct counting c;
    struct atoll_task **tasks = calloc((size_t)o->dir_count + 1, sizeof(struct atoll_task *));
    uint32_t count = 0;
    int rc = tasks ? atoll_place_scratch(err) : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for tasks");
    for (int i = 0; rc == 0 && i < o->dir_count; i++) {
        tasks[count] = atoll_task_load(o->dirs[i], err);
        rc = tasks[count] ? 0 : -1;
        count += tasks[count] != NULL;
    }
    if (rc == 0 && o->json && !(c.json = fopen(o->json, "w")))
        rc = atoll_err_errno(err, errno, "cannot write %s", o->json);
    if (c.json)
        fprintf(c.json, "{\"rows\": [\n");
    if (rc == 0)
        rc = sets_count(&c, tasks, count, o->repeats, err);
    if (c.json && (fputs("]}\n", c.json) < 0 || fclose(c.json) != 0) && rc == 0)
        rc = atoll_err_errno(err, errno, "cannot write %s", o->json);
    for (uint32_t i = 0; i < count; i++)
        atoll_task_destroy(tasks[i]);
    free(tasks);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"repeats", required_argument, NULL, 'n'},
                                          {"json", required_argument, NULL, 'j'},
                                          {NULL, 0, NULL, 0}};
    char usual[][64] = {"suites/starter/row_reduce", "suites/starter/softmax_rows", "suites/starter/rmsnorm"};
    char *usual_dirs[] = {usual[0], usual[1], usual[2]};
    struct options o = {.repeats = 20};
    struct atoll_err err = ATOLL_ERR_INIT;
    int key;
    while ((key = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (key == 'n')
            o.repeats = (unsigned)strtoul(optarg, NULL, 10);
        else if (key == 'j')
            o.json = optarg;
        else
            return 2;
    if (o.repeats < 1 || o.repeats > REPEAT_LIMIT) {
        fprintf(stderr, "bench_counters: 1 to %d repeats\n", REPEAT_LIMIT);
        return 2;
    }
    o.dirs = optind < argc ? argv + optind : usual_dirs;
    o.dir_count = optind < argc ? argc - optind : 3;
    if (measure(&o, &err) == 0)
        return 0;
    fprintf(stderr, "bench_counters: %s\n", err.text);
    return 1;
}

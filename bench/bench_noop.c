/* bench_noop.c - are kernels promoted that are none better?  Mutants of a kernel with the same meaning (another comment,
 * a parameter under another name) challenge it one after the other, each with the error rate that the search would give to
 * that challenge.  None should win.
 * bench_noop [--backend cuda|cpu] [--count N] [--seconds S] [--json FILE] [--task DIR | TASK_DIR...]
 * (300, no limit, four tasks of suites/starter) */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/place.h"
#include "bench/report.h"
#include "bench/solo.h"
#include "core/search.h"
#include "base/clock.h"

#define CASE_LIMIT 64

/* A kernel that is challenged. */
struct original {
    struct atoll_task *task; /* owned by the first of its seeds */
    int owns_task;
    uint32_t number; /* of the task */
    size_t seed;
    struct atoll_kernel kernel;
    double time_ns;
    /* of its duels */
    unsigned duels, promoted, failed, pairs;
    double log_sum, log_squares, wall_ns;
};

struct session {
    const char *backend, *json;
    unsigned count;
    double seconds; /* no new challenges after that; 0 none */
    struct atoll_solo solo;
    struct atoll_search search;
    struct atoll_error_control error;
    struct original originals[CASE_LIMIT];
    size_t original_count;
};

static int original_open(struct session *s, struct atoll_task *task, uint32_t number, size_t seed,
                         struct atoll_err *err)
{
    struct original *o = &s->originals[s->original_count];
    struct atoll_evaluation e;
    *o = (struct original){.task = task, .number = number, .seed = seed};
    if (atoll_kernel_build(&s->solo, task, seed, ATOLL_MUTANT_COMMENT, 0, &o->kernel, err) != 0)
        return -1;
    s->original_count++;
    atoll_evaluation_init(&e);
    int rc = atoll_kernel_evaluate(&s->solo, number, &o->kernel, s->original_count, &e, err);
    o->time_ns = rc == 0 ? atoll_evaluation_time_ns(&e, task) : 0;
    atoll_evaluation_fini(&e);
    return rc;
}

/* The first two seeds of a task. */
static int task_open(struct session *s, const char *dir, uint32_t number, struct atoll_err *err)
{
    size_t seeds[ATOLL_TASK_SEED_LIMIT], first = s->original_count;
    struct atoll_task *task = atoll_task_load(dir, err);
    if (!task)
        return -1;
    size_t count = atoll_solo_seeds(task, s->backend, seeds);
    int rc = atoll_referee_add_task(s->solo.device.referee, number, task, err);
    for (size_t i = 0; rc == 0 && i < count && i < 2 && s->original_count < CASE_LIMIT; i++)
        rc = original_open(s, task, number, seeds[i], err);
    if (s->original_count > first)
        s->originals[first].owns_task = 1;
    return rc;
}

/* The k-th challenge of the run, k from 1. */
static int challenge(struct session *s, struct original *o, unsigned k, struct atoll_err *err)
{
    struct atoll_kernel mutant;
    struct atoll_duel duel;
    enum atoll_mutant kind =
        strcmp(s->backend, "cuda") == 0 && k % 2 == 0 ? ATOLL_MUTANT_RENAME : ATOLL_MUTANT_COMMENT;
    if (atoll_kernel_build(&s->solo, o->task, o->seed, kind, k, &mutant, err) != 0)
        return -1;
    struct atoll_order order = {.evaluation = CASE_LIMIT + k,
                                .task = o->number,
                                .kind = ATOLL_ORDER_DUEL,
                                .purpose = ATOLL_DUEL_PROMOTION,
                                .candidate = mutant.candidate,
                                .elite = o->kernel.candidate,
                                .baseline_ns = o->time_ns,
                                .incumbent_ns = o->time_ns,
                                .alpha = atoll_error_open(&s->error),
                                .margin = atoll_search_log_margin(&s->search),
                                .pair_limit = s->search.pair_limit};
    double begin = atoll_clock_mono_ns();
    atoll_referee_duel(s->solo.device.referee, o->number, &order, o->kernel.prepared,
                       o->kernel.compiled.object, o->kernel.compiled.object_length, mutant.prepared,
                       mutant.compiled.object, mutant.compiled.object_length, &duel);
    atoll_error_close(&s->error, duel.verdict == ATOLL_V_CORRECT ? duel.p_value : 1, duel.better);
    atoll_kernel_fini(&mutant);
    o->wall_ns += atoll_clock_mono_ns() - begin;
    if (duel.verdict != ATOLL_V_CORRECT || duel.better)
        printf("challenge %u, %s/%s, %s: %s%s, %.300s\n", k, o->task->name, o->task->seeds[o->seed].name,
               atoll_mutant_name(kind), atoll_verdict_name(duel.verdict), duel.better ? ", PROMOTED" : "",
               duel.detail);
    o->duels++;
    o->promoted += duel.better != 0;
    o->failed += duel.verdict != ATOLL_V_CORRECT;
    if (duel.verdict == ATOLL_V_CORRECT && duel.pair_count) {
        o->pairs += duel.pair_count;
        o->log_sum += log(duel.ratio);
        o->log_squares += log(duel.ratio) * log(duel.ratio);
    }
    return 0;
}

/* ---- what came of it ---- */

static void add(struct original *sum, const struct original *o)
{
    sum->duels += o->duels;
    sum->promoted += o->promoted;
    sum->failed += o->failed;
    sum->pairs += o->pairs;
    sum->log_sum += o->log_sum;
    sum->log_squares += o->log_squares;
    sum->wall_ns += o->wall_ns;
}

static double mean_of(const struct original *o)
{
    unsigned n = o->duels - o->failed;
    return n ? o->log_sum / n : 0;
}

static double deviation_of(const struct original *o)
{
    unsigned n = o->duels - o->failed;
    double mean = mean_of(o);
    return n > 1 ? sqrt(fmax(0, (o->log_squares - n * mean * mean) / (n - 1))) : 0;
}

static void row_print(const char *task, const char *seed, const struct original *o)
{
    printf("%-16s %-12s %12.1f %6u %9u %7u %12.5f %10.4f %8.1f %10.1f\n", task, seed, o->time_ns / 1e3,
           o->duels, o->promoted, o->failed, exp(mean_of(o)), 100 * deviation_of(o),
           (double)o->pairs / fmax(1, o->duels - o->failed), o->wall_ns / 1e6 / fmax(1, o->duels));
}

static void row_json(FILE *out, const char *task, const char *seed, const struct original *o)
{
    fprintf(out,
            "{\"task\": \"%s\", \"seed\": \"%s\", \"time_ns\": %.0f, \"duels\": %u, \"promoted\": %u, "
            "\"failed\": "
            "%u, \"mean_ratio\": %.6f, \"log_deviation\": %.6f, \"pairs\": %u, \"ms_per_duel\": %.3f}",
            task, seed, o->time_ns, o->duels, o->promoted, o->failed, exp(mean_of(o)), deviation_of(o),
            o->pairs, o->wall_ns / 1e6 / fmax(1, o->duels));
}

static int conclude(const struct session *s, struct atoll_err *err)
{
    struct original all = {0};
    FILE *json = s->json ? fopen(s->json, "w") : NULL;
    if (s->json && !json)
        return atoll_err_errno(err, errno, "cannot write %s", s->json);
    printf("%-16s %-12s %12s %6s %9s %7s %12s %10s %8s %10s\n", "task", "seed", "us", "duels", "promoted",
           "failed", "mean ratio", "dev. %", "pairs", "ms each");
    if (json)
        fprintf(json, "{\"originals\": [\n");
    for (size_t i = 0; i < s->original_count; i++) {
        const struct original *o = &s->originals[i];
        row_print(o->task->name, o->task->seeds[o->seed].name, o);
        if (json) {
            fputs(i ? ",\n  " : "  ", json);
            row_json(json, o->task->name, o->task->seeds[o->seed].name, o);
        }
        add(&all, o);
    }
    row_print("all", "", &all);
    printf("%u of %u no-op mutants promoted (aim: 0 of 300)\n", all.promoted, all.duels);
    if (json) {
        fprintf(json, "],\n \"all\": ");
        row_json(json, "all", "", &all);
        if (fputs("}\n", json) < 0 || fclose(json) != 0)
            return atoll_err_errno(err, errno, "cannot write %s", s->json);
    }
    return 0;
}

static int measure(struct session *s, char **dirs, int dir_count, struct atoll_err *err)
{
    atoll_search_defaults(&s->search);
    atoll_error_init(&s->error, s->search.error_control, s->search.alpha);
    if (atoll_place_scratch(err) != 0 || atoll_solo_open(&s->solo, s->backend, err) != 0)
        return -1;
    for (int i = 0; i < dir_count; i++)
        if (task_open(s, dirs[i], (uint32_t)i, err) != 0)
            return -1;
    if (s->original_count == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "no task has a seed for %s", s->backend);
    double begin = atoll_clock_mono_ns();
    for (unsigned k = 1;
         k <= s->count && (s->seconds <= 0 || atoll_clock_mono_ns() - begin < s->seconds * 1e9); k++)
        if (challenge(s, &s->originals[k % s->original_count], k, err) != 0)
            return -1;
    return conclude(s, err);
}

static void session_close(struct session *s)
{
    for (size_t i = 0; i < s->original_count; i++)
        atoll_kernel_fini(&s->originals[i].kernel);
    atoll_solo_close(&s->solo);
    for (size_t i = 0; i < s->original_count; i++)
        if (s->originals[i].owns_task)
            atoll_task_destroy(s->originals[i].task);
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"backend", required_argument, NULL, 'b'}, {"count", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'}, {"json", required_argument, NULL, 'j'},
        {"task", required_argument, NULL, 't'},    {NULL, 0, NULL, 0}};
    static struct session s = {.backend = "cuda", .count = 300};
    char usual[][64] = {"suites/starter/matmul", "suites/starter/softmax_rows", "suites/starter/transpose",
                        "suites/starter/row_reduce"};
    char *usual_dirs[] = {usual[0], usual[1], usual[2], usual[3]}, *task = NULL;
    struct atoll_err err = ATOLL_ERR_INIT;
    int key;
    while ((key = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (key == 'b')
            s.backend = optarg;
        else if (key == 'c')
            s.count = (unsigned)strtoul(optarg, NULL, 10);
        else if (key == 's')
            s.seconds = strtod(optarg, NULL);
        else if (key == 'j')
            s.json = optarg;
        else if (key == 't')
            task = optarg;
        else
            return 2;
    char **dirs = task ? &task : optind < argc ? argv + optind : usual_dirs;
    int rc = measure(&s, dirs, task ? 1 : optind < argc ? argc - optind : 4, &err);
    if (rc != 0)
        fprintf(stderr, "bench_noop: %s\n", err.text);
    session_close(&s);
    return rc != 0;
}

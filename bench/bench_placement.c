/* bench_placement.c - what makes two samples of one kernel on one GPU differ: inputs, addresses, physical pages, time?
 *     build/bench/bench_placement [--seconds S] [--json FILE] [TASK_DIR...]       (S: 100; suites/starter/softmax_rows)
 * Prints a table per kernel (the first two seeds of each task, as in bench_repeat); FILE gets every shot.
 *
 * One shot is the batch of a timed sample, with four spans of the same launches in it: as a sample is timed, once more
 * behind another flush, once more behind a flush and 200 us of idling, and right after that one (warm).  A series
 * repeats shots while one factor goes through its levels in turn and the others stand still; how much of the variance
 * lies between levels says whether that factor matters, what is left within levels is noise of its own. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/solo.h"
#include "base/random.h"
#include "core/stats.h"
#include "mpi-eval/backend/cuda/measure/stage.h"

#define SHOT_LIMIT  4000
#define LEVEL_LIMIT 32
#define BLOCKS      10
#define DRAWS       64
#define SEEDS       2
#define IDLE_PROBES 10 /* of 20 us each */
#define FIRST_EVENT (ATOLL_SAMPLE_FILLED + 1)
#define PAGES_SLOT  60u /* of memory: what is allocated before the arena */
#define PAGES_STEP  ((uint64_t)1733 << 20)
#define DEADLINE_NS 20e9

enum span { SPAN_SAMPLE, SPAN_AGAIN, SPAN_RESTED, SPAN_WARM, SPAN_COUNT };
static const char *const span_names[SPAN_COUNT] = {"sample", "again", "rested", "warm"};

/* How a part of a shot goes from one shot to the next. */
enum course { FIXED, TURN /* by level */, FREE /* as in a measurement */ };

/* share: of the time that a kernel gets.  levels 0: as many as the task has distributions. */
static const struct series {
    const char *name;
    enum course distribution, input_set, address, pages;
    unsigned levels;
    double share;
} all_series[] = {
    {"nothing varies", FIXED, FIXED, FIXED, FIXED, 1, 0.1},
    {"distributions", TURN, FIXED, FIXED, FIXED, 0, 0.15},
    {"draws of one distribution", FIXED, TURN, FIXED, FIXED, 16, 0.1},
    {"addresses", FIXED, FIXED, TURN, FIXED, 24, 0.15},
    {"physical pages", FIXED, FIXED, FIXED, TURN, 6, 0.2},
    {"all, as in a measurement", FREE, FREE, FREE, FIXED, 1, 0.15},
    {"all, distributions in turn", TURN, FREE, FREE, FIXED, 0, 0.15},
};
#define SERIES_COUNT (sizeof(all_series) / sizeof(*all_series))

struct shot {
    unsigned level, place;
    uint64_t first_address;
    int64_t distance; /* of the second buffer */
    double ns[SPAN_COUNT], began_s;
};

struct rig {
    struct atoll_solo solo;
    const struct atoll_task *task;
    struct atoll_case *known;
    struct atoll_kernel kernel;
    struct atoll_loaded_candidate candidate;
    uint32_t variant;
    double begin_s;
    struct shot shots[SHOT_LIMIT];
    size_t count;
};

static double now_s(void)
{
    return atoll_referee_now_ns() * 1e-9;
}

/* ---- one shot ---- */

static void span_add(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch, enum span span)
{
    atoll_command_batch_event(batch, FIRST_EVENT + 2 * (uint32_t)span);
    for (size_t k = 0; k < s->launch_count; k++)
        atoll_command_batch_launch(batch, &s->launches[k]);
    atoll_command_batch_event(batch, FIRST_EVENT + 2 * (uint32_t)span + 1);
}

static void flush_add(const struct atoll_cuda_sample *s, struct atoll_command_batch *batch)
{
    atoll_support_flush(batch, s->flush.address, s->flush.bytes / 2 / 4096 * 4096, s->multiprocessors,
                        s->shared_bytes, s->placement, s->result + 512);
}

static int shot_compose(struct atoll_cuda_sample *s, struct atoll_command_batch *batch, struct atoll_err *err)
{
    atoll_command_batch_clear(batch);
    if (atoll_cuda_sample_run(s, batch, err) != 0)
        return -1;
    flush_add(s, batch);
    span_add(s, batch, SPAN_AGAIN);
    flush_add(s, batch);
    for (int i = 0; i < IDLE_PROBES; i++)
        atoll_support_clock_probe(batch, s->result);
    span_add(s, batch, SPAN_RESTED);
    span_add(s, batch, SPAN_WARM);
    return 0;
}

static int shot_take(struct rig *g, const struct atoll_input_set *input_set, uint64_t key, unsigned level,
                     struct atoll_err *err)
{
    struct atoll_referee *r = g->solo.device.referee;
    struct atoll_cuda_device *d = atoll_cuda_device_of(r);
    struct atoll_cuda_stage stage = {.referee = r,
                                     .device = d,
                                     .known = g->known,
                                     .candidate = &g->candidate,
                                     .input_set = input_set,
                                     .placement = key};
    struct shot *shot = &g->shots[g->count];
    *shot = (struct shot){.level = level, .began_s = now_s() - g->begin_s};
    if (atoll_cuda_stage_set(&stage, err) != 0 || shot_compose(&stage.sample, &d->batch, err) != 0)
        return -1;
    if (atoll_cuda_device_run(d, DEADLINE_NS, err) != 0 || d->reply.status != ATOLL_COMMAND_BATCH_DONE)
        return atoll_err_set(err, ATOLL_E_CHILD, "a shot failed: %s", d->reply.text);
    const struct atoll_layout *l = &stage.sample.layout;
    shot->place = l->place;
    shot->first_address = l->buffers[0].address;
    shot->distance = l->count > 1 ? (int64_t)(l->buffers[1].address - l->buffers[0].address) : 0;
    const double *events = d->reply.event_ns;
    shot->ns[SPAN_SAMPLE] = events[ATOLL_SAMPLE_STOP];
    for (uint32_t i = SPAN_AGAIN; i < SPAN_COUNT; i++)
        shot->ns[i] = events[FIRST_EVENT + 2 * i + 1] - events[FIRST_EVENT + 2 * i];
    g->count++;
    return 0;
}

/* ---- series ---- */

/* Another process and, before its arena, something else: other pages under the same or other addresses. */
static int pages_move(struct rig *g, unsigned level, struct atoll_err *err)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(g->solo.device.referee);
    atoll_cuda_device_drop(d);
    d->wanted[ATOLL_AREA_ARENA] = 0;
    if (atoll_cuda_device_ready(d, err) != 0)
        return -1;
    if (level == 0)
        return 0;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_alloc(&d->batch, PAGES_SLOT, level * PAGES_STEP);
    return atoll_cuda_device_run_own(d, "memory before the arena", err);
}

static unsigned distribution_count(const struct atoll_task *task)
{
    unsigned count = 1;
    while (atoll_input_set_nth_distribution(task, count) != atoll_input_set_nth_distribution(task, 0))
        count++;
    return count;
}

static unsigned level_count(const struct rig *g, const struct series *s)
{
    return s->levels ? s->levels : distribution_count(g->task);
}

/* The number-th shot of a series at a level. */
static int series_shot(struct rig *g, const struct series *s, uint64_t number, unsigned level,
                       struct atoll_err *err)
{
    const struct atoll_referee *r = g->solo.device.referee;
    uint64_t draw_number = s->input_set == FREE ? number % DRAWS : s->input_set == TURN ? level : 0;
    struct atoll_input_set input_set = atoll_case_input_set(r, g->known, g->variant, draw_number);
    if (s->distribution != FREE)
        input_set.distribution =
            atoll_input_set_nth_distribution(g->task, s->distribution == TURN ? level : 0);
    uint64_t address = s->address == FREE ? LEVEL_LIMIT + number : s->address == TURN ? level : 0;
    return shot_take(g, &input_set, atoll_random_at(r->salt, address), level, err);
}

/* Levels take turns; pages, which take long to move, one level after the other. */
static int series_take(struct rig *g, const struct series *s, double seconds, struct atoll_err *err)
{
    unsigned levels = level_count(g, s), blocks = s->pages == TURN ? levels : 1;
    uint64_t number = 0;
    g->count = 0;
    for (unsigned b = 0; b < blocks; b++) {
        if (s->pages == TURN && pages_move(g, b, err) != 0)
            return -1;
        double until = now_s() + seconds / blocks;
        size_t limit = SHOT_LIMIT / blocks * (b + 1), least = g->count + 2 * (size_t)levels;
        for (; g->count < limit && (now_s() < until || g->count < least); number++)
            if (series_shot(g, s, number, s->pages == TURN ? b : (unsigned)(number % levels), err) != 0)
                return -1;
    }
    return 0;
}

/* ---- what came of it ---- */

static size_t values_of(const struct rig *g, enum span span, int level, double *ret_values)
{
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++)
        if (level < 0 || g->shots[i].level == (unsigned)level)
            ret_values[n++] = g->shots[i].ns[span];
    return n;
}

static double median_of(const double *values, size_t count)
{
    static double scratch[SHOT_LIMIT];
    struct atoll_summary s;
    atoll_summary_of(values, count, scratch, &s);
    return s.median;
}

struct level_spread {
    double least, most, explained; /* medians of levels; share of the variance between levels */
};

/* The few slowest and fastest count as much as the 2nd and 98th percentile. */
static void levels_compare(const struct rig *g, enum span span, unsigned levels, double low, double high,
                           struct level_spread *ret)
{
    static double values[SHOT_LIMIT];
    double all = 0, within = 0, grand = 0;
    size_t total = values_of(g, span, -1, values);
    for (size_t i = 0; i < total; i++)
        grand += fmin(fmax(values[i], low), high) / (double)total;
    *ret = (struct level_spread){.least = HUGE_VAL};
    for (unsigned l = 0; l < levels; l++) {
        size_t n = values_of(g, span, (int)l, values);
        double median = median_of(values, n), mean = 0;
        ret->least = fmin(ret->least, median);
        ret->most = fmax(ret->most, median);
        for (size_t i = 0; i < n; i++)
            mean += fmin(fmax(values[i], low), high) / (double)n;
        for (size_t i = 0; i < n; i++) {
            double v = fmin(fmax(values[i], low), high);
            within += (v - mean) * (v - mean);
            all += (v - grand) * (v - grand);
        }
    }
    ret->explained = all > 0 ? 1 - within / all : 0;
}

static int is_less(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* (max - min) / median of the medians of ten runs of shots that follow each other: what ten measurements would say. */
static double blocks_range(const double *values, size_t count, double median)
{
    double least = HUGE_VAL, most = 0;
    size_t each = count / BLOCKS;
    for (size_t i = 0; each && i < BLOCKS; i++) {
        double m = median_of(values + i * each, each);
        least = fmin(least, m);
        most = fmax(most, m);
    }
    return each ? (most - least) / median : NAN;
}

static void span_print(const struct rig *g, enum span span, unsigned levels)
{
    static double values[SHOT_LIMIT];
    struct level_spread spread;
    size_t n = values_of(g, span, -1, values);
    double median = median_of(values, n), range = blocks_range(values, n, median);
    qsort(values, n, sizeof(*values), is_less);
    levels_compare(g, span, levels, values[n / 50], values[n - 1 - n / 50], &spread);
    printf("    %-7s median %11.0f ns  p10 %+6.2f %%  p90 %+6.2f %%  ten blocks of %4zu: %5.2f %%  levels "
           "%5.2f %% "
           "apart, they explain %3.0f %%\n",
           span_names[span], median, 100 * (values[n / 10] / median - 1),
           100 * (values[n - 1 - n / 10] / median - 1), n / BLOCKS, 100 * range,
           100 * (spread.most - spread.least) / median, 100 * spread.explained);
}

static void level_print(const struct rig *g, const struct series *s, unsigned level)
{
    static double values[SHOT_LIMIT];
    const struct shot *shot = NULL;
    size_t n = 0;
    for (size_t i = 0; !shot && i < g->count; i++)
        shot = g->shots[i].level == level ? &g->shots[i] : NULL;
    printf("      level %2u", level);
    for (int span = 0; span < SPAN_COUNT; span++) {
        n = values_of(g, (enum span)span, (int)level, values);
        printf("  %s %11.0f", span_names[span], median_of(values, n));
    }
    printf("  of %zu", n);
    if (s->distribution == TURN)
        printf("  distribution %u", atoll_input_set_nth_distribution(g->task, level));
    if (shot && (s->address == TURN || s->pages == TURN))
        printf("  place %u address %llx distance %lld MiB + %lld", shot->place,
               (unsigned long long)shot->first_address, (long long)(shot->distance >> 20),
               (long long)(shot->distance & ((1 << 20) - 1)));
    printf("\n");
}

static void series_print(const struct rig *g, const struct series *s)
{
    static double values[SHOT_LIMIT];
    unsigned levels = level_count(g, s);
    size_t n = values_of(g, SPAN_SAMPLE, -1, values), fifth = n / 5;
    double median = median_of(values, n);
    printf("  %s: %zu shots, %u levels; medians of fifths of the time:", s->name, n, levels);
    for (size_t i = 0; fifth && i < 5; i++)
        printf(" %+.2f %%", 100 * (median_of(values + i * fifth, fifth) / median - 1));
    printf("\n");
    for (int span = 0; span < SPAN_COUNT; span++)
        span_print(g, (enum span)span, levels);
    for (unsigned l = 0; levels > 1 && l < levels; l++)
        level_print(g, s, l);
    fflush(stdout);
}

static void series_json(const struct rig *g, const struct series *s, const char *seed, FILE *out)
{
    for (size_t i = 0; out && i < g->count; i++) {
        const struct shot *x = &g->shots[i];
        fprintf(
            out,
            "{\"task\": \"%s\", \"seed\": \"%s\", \"series\": \"%s\", \"level\": %u, \"place\": %u, "
            "\"address\": %llu, \"distance\": %lld, \"began_s\": %.6f, \"ns\": [%.0f, %.0f, %.0f, %.0f]}\n",
            g->task->name, seed, s->name, x->level, x->place, (unsigned long long)x->first_address,
            (long long)x->distance, x->began_s, x->ns[0], x->ns[1], x->ns[2], x->ns[3]);
    }
}

/* ---- kernels ---- */

static int kernel_measure(struct rig *g, size_t seed, double seconds, FILE *json, struct atoll_err *err)
{
    struct atoll_referee *r = g->solo.device.referee;
    char detail[ATOLL_DETAIL_BYTES] = "";
    const char *name = g->task->seeds[seed].name;
    int rc = 0;
    if (atoll_kernel_build(&g->solo, g->task, seed, ATOLL_MUTANT_COMMENT, 0, &g->kernel, err) != 0)
        return -1;
    if (r->backend->candidate_open(r, g->kernel.prepared, g->kernel.compiled.object,
                                   g->kernel.compiled.object_length, &g->candidate,
                                   detail) != ATOLL_V_CORRECT)
        rc = atoll_err_set(err, ATOLL_E_MISMATCH, "%s: %.900s", name, detail);
    printf("%s %s\n", g->task->name, name);
    for (size_t i = 0; rc == 0 && i < SERIES_COUNT; i++) {
        rc = series_take(g, &all_series[i], seconds * all_series[i].share, err);
        if (rc == 0) {
            series_print(g, &all_series[i]);
            series_json(g, &all_series[i], name, json);
        }
    }
    if (g->candidate.prepared)
        r->backend->candidate_close(r, &g->candidate);
    g->candidate = (struct atoll_loaded_candidate){0};
    atoll_kernel_fini(&g->kernel);
    return rc;
}

static uint32_t bench_variant(const struct rig *g)
{
    uint32_t v = 0;
    while (v + 1 < g->task->variant_count && (g->task->variants[v].kind != ATOLL_VARIANT_BENCH ||
                                              !atoll_variant_is_here(g->solo.backend, &g->task->variants[v])))
        v++;
    return v;
}

static int task_measure(struct rig *g, uint32_t number, const char *dir, double seconds, FILE *json,
                        struct atoll_err *err)
{
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    struct atoll_task *task = atoll_task_load(dir, err);
    if (!task || atoll_referee_add_task(g->solo.device.referee, number, task, err) != 0) {
        atoll_task_destroy(task);
        return -1;
    }
    g->task = task; /* the referee has it until it goes */
    g->known = atoll_referee_case(g->solo.device.referee, number);
    g->variant = bench_variant(g);
    size_t count = atoll_solo_seeds(task, "cuda", seeds);
    for (size_t i = 0; i < count && i < SEEDS; i++)
        if (kernel_measure(g, seeds[i], seconds, json, err) != 0)
            return -1;
    return 0;
}

static int measure(char **dirs, int count, double seconds, const char *path, struct atoll_err *err)
{
    static struct rig g;
    FILE *json = path ? fopen(path, "w") : NULL;
    if (path && !json)
        return atoll_err_errno(err, errno, "cannot write %s", path);
    int rc = atoll_solo_open(&g.solo, "cuda", err);
    g.begin_s = now_s();
    for (int i = 0; rc == 0 && i < count; i++)
        rc = task_measure(&g, (uint32_t)i, dirs[i], seconds / count / SEEDS, json, err);
    atoll_solo_close(&g.solo);
    if (json && fclose(json) != 0 && rc == 0)
        rc = atoll_err_errno(err, errno, "cannot write %s", path);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"seconds", required_argument, NULL, 's'},
                                          {"json", required_argument, NULL, 'j'},
                                          {NULL, 0, NULL, 0}};
    char softmax[] = "suites/starter/softmax_rows";
    char *usual[] = {softmax};
    const char *json = NULL;
    double seconds = 100;
    struct atoll_err err = ATOLL_ERR_INIT;
    int key;
    while ((key = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (key == 's')
            seconds = strtod(optarg, NULL);
        else if (key == 'j')
            json = optarg;
        else
            return 2;
    int count = optind < argc ? argc - optind : 1;
    if (measure(optind < argc ? argv + optind : usual, count, seconds, json, &err) == 0)
        return 0;
    fprintf(stderr, "bench_placement: %s\n", err.text);
    return 1;
}

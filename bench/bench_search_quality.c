/* bench_search_quality.c - how good the tuner's search is: on recorded spaces, where the truth is known and an
 * evaluation costs nothing, against random search and against what bench/search_quality.py recorded of other tuners.
 * The score is explained in curve.h.  --help lists the options; bench/search-quality runs it all. */
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bench/contest.h"
#include "bench/known_space.h"
#include "bench/replay.h"
#include "evolution/tuner/tune.h"

#define COMPARE_LIMIT 64
#define JOB_LIMIT     64

static const struct option names[] = {
    {"seeds", required_argument, NULL, 's'},
    {"budget", required_argument, NULL, 'b'},
    {"noise", required_argument, NULL, 'n'},
    {"pending", required_argument, NULL, 'p'},
    {"compare", required_argument, NULL, 'c'},
    {"json", required_argument, NULL, 'j'},
    {"jobs", required_argument, NULL, 'J'},
    {"parts", no_argument, NULL, 'P'},
    {"shapes", required_argument, NULL, 'S'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct options {
    size_t seeds, budget, pending, jobs, shapes;
    int is_raw, with_parts;
    const char *json, *compare[COMPARE_LIMIT];
    size_t compare_count;
};

static void usage(FILE *out)
{
    fputs(
        "usage: bench_search_quality [OPTION...] FILE...   (T4 files of recorded spaces, .json or .json.gz)\n"
        "  --seeds N         searches of a space (100)\n"
        "  --budget N        evaluations of a search (200)\n"
        "  --noise WHICH     none: an answer is the recorded time; raw: one of the recorded runs (none)\n"
        "  --pending N       proposals that wait for their answers (1)\n"
        "  --compare FILE    result of search_quality.py for one of the spaces; may be repeated\n"
        "  --shapes N        the tuner with N first trials from device and shapes beside it, 1 to 12, where "
        "the\n"
        "                    file's space is known; evaluations to within 5 % of the best, with and without\n"
        "  --json FILE       write the curves there\n"
        "  --jobs N          threads (1)\n",
        out);
}

/* ---- searches ---- */

typedef int search_fn(const struct atoll_replay *, uint64_t, struct atoll_curves *, size_t,
                      struct atoll_err *);

struct series {
    char name[32];
    enum atoll_side side;
    struct atoll_replay replay;
    search_fn *search;
    struct atoll_curves curves;
    double seconds; /* processor time of all threads */
    atomic_size_t next;
    atomic_int failed;
    struct atoll_err err; /* of the first that failed */
};

static void *series_work(void *data)
{
    struct series *s = data;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t run;
    while ((run = atomic_fetch_add(&s->next, 1)) < s->curves.runs && !atomic_load(&s->failed))
        if (s->search(&s->replay, run, &s->curves, run, &err) != 0 && atomic_exchange(&s->failed, 1) == 0)
            s->err = err;
    return NULL;
}

static int series_run(struct series *s, const struct options *o, struct atoll_err *err)
{
    pthread_t threads[JOB_LIMIT];
    size_t started = 0;
    double start = 1e-9 * atoll_clock_cpu_ns();
    if (atoll_curves_init(&s->curves, o->seeds, o->budget, err) != 0)
        return -1;
    while (started + 1 < o->jobs && pthread_create(&threads[started], NULL, series_work, s) == 0)
        started++;
    series_work(s);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    s->seconds = 1e-9 * atoll_clock_cpu_ns() - start;
    if (!atomic_load(&s->failed))
        return 0;
    *err = s->err;
    return -1;
}

/* The tuner, random search, and with parts the tuner's strategies. */
#define SERIES_LIMIT (3 + ATOLL_TUNE_STRATEGIES)

static size_t series_list(const struct options *o, const struct atoll_t4 *t4, struct series *list)
{
    size_t count = 2 + (o->with_parts ? ATOLL_TUNE_STRATEGIES : 0);
    for (size_t i = 0; i < count; i++) {
        list[i] = (struct series){.side = i ? ATOLL_SIDE_PART : ATOLL_SIDE_OURS,
                                  .replay = {t4, o->pending, o->is_raw, i < 2 ? 0 : 1u << (i - 2), 0},
                                  .search = i == 1 ? atoll_replay_random : atoll_replay_tuner,
                                  .err = ATOLL_ERR_INIT};
        snprintf(list[i].name, sizeof(list[i].name), "atoll%s%s", i < 2 ? "" : "/",
                 i < 2 ? "" : atoll_tune_strategy_name((unsigned)i - 2));
    }
    strcpy(list[1].name, "random");
    if (!o->shapes)
        return count;
    list[count] = (struct series){.name = "atoll+shapes",
                                  .side = ATOLL_SIDE_PART,
                                  .replay = {t4, o->pending, o->is_raw, 0, o->shapes},
                                  .search = atoll_replay_tuner,
                                  .err = ATOLL_ERR_INIT};
    return count + 1;
}

static void series_add(const struct series *s, const struct options *o, struct atoll_contest *contest)
{
    atoll_contest_add(contest, &(struct atoll_contestant){.name = s->name,
                                                          .note = "",
                                                          .curves = &s->curves,
                                                          .least_evaluations = o->budget,
                                                          .seconds = s->seconds,
                                                          .side = s->side});
}

/* ---- rivals ---- */

/* The first file that is about this space; *ret_rivals stays NULL when there is none. */
static int rivals_find(const struct options *o, const struct atoll_t4 *t4,
                       struct atoll_tuner_rivals **ret_rivals, struct atoll_err *err)
{
    for (size_t i = 0; i < o->compare_count; i++) {
        struct atoll_tuner_rivals *rivals =
            atoll_tuner_rivals_load(o->compare[i], t4->unit_ns, o->budget, err);
        if (!rivals)
            return -1;
        if (strcmp(rivals->space, t4->name) == 0) {
            *ret_rivals = rivals;
            return 0;
        }
        atoll_tuner_rivals_destroy(rivals);
    }
    return 0;
}

static void rivals_add(const struct atoll_tuner_rivals *rivals, struct atoll_contest *contest)
{
    for (size_t i = 0; rivals && i < rivals->count; i++)
        atoll_contest_add(contest,
                          &(struct atoll_contestant){.name = rivals->list[i].name,
                                                     .note = rivals->list[i].note,
                                                     .curves = &rivals->list[i].curves,
                                                     .least_evaluations = rivals->list[i].least_evaluations,
                                                     .seconds = rivals->list[i].seconds,
                                                     .side = ATOLL_SIDE_RIVAL});
}

/* ---- spaces ---- */

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Runs that did not get there count as budget + 1. */
static void show_within(const struct series *s, double best_ns)
{
    size_t *needed = calloc(s->curves.runs, sizeof(*needed)), reached = 0;
    double sum = 0;
    for (size_t run = 0; needed && run < s->curves.runs; run++) {
        const double *curve = &s->curves.best[run * s->curves.budget];
        while (needed[run] < s->curves.budget && curve[needed[run]] > best_ns * 1.05)
            needed[run]++;
        reached += needed[run]++ < s->curves.budget;
        sum += (double)needed[run];
    }
    if (needed) {
        size_t n = s->curves.runs;
        qsort(needed, n, sizeof(*needed), compare_sizes);
        printf(
            "  %-14s %5zu median %5zu to %zu in the middle half %8.1f mean %5.0f %% of the runs got there\n",
            s->name, needed[n / 2], needed[n / 4], needed[3 * n / 4], sum / (double)n,
            100.0 * (double)reached / (double)n);
    }
    free(needed);
}

static void shapes_show(const struct atoll_t4 *t4, const struct series *list, size_t count)
{
    double best_ns = INFINITY;
    for (size_t i = 0; i < t4->count; i++)
        if (t4->entries[i].status == ATOLL_T4_CORRECT)
            best_ns = fmin(best_ns, t4->entries[i].time_ns);
    printf("%s: evaluations to within 5 %% of the best:\n", t4->name);
    for (size_t i = 0; i < count; i++)
        show_within(&list[i], best_ns);
}

static void contest_show(const struct options *o, const struct atoll_contest *contest,
                         const struct series *ours, const struct atoll_tuner_rivals *rivals, FILE *json)
{
    atoll_contest_print(contest);
    printf("%.0f us of processor time per proposal%s%s\n",
           1e6 * ours->seconds / (double)(o->seeds * o->budget), rivals ? "; rivals: " : "",
           rivals ? rivals->versions : "");
    if (json)
        atoll_contest_json(contest, json);
}

static int contest_run(const struct options *o, const struct atoll_t4 *t4, struct atoll_contest *contest,
                       FILE *json, struct atoll_err *err)
{
    struct series list[SERIES_LIMIT];
    struct atoll_tuner_rivals *rivals = NULL;
    size_t count = series_list(o, t4, list);
    int rc = rivals_find(o, t4, &rivals, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = series_run(&list[i], o, err);
        series_add(&list[i], o, contest);
    }
    rivals_add(rivals, contest);
    if (rc == 0)
        rc = atoll_contest_score(contest, err);
    if (rc == 0)
        contest_show(o, contest, &list[0], rivals, json);
    if (rc == 0 && o->shapes)
        shapes_show(t4, list, count);
    for (size_t i = 0; i < count; i++)
        atoll_curves_fini(&list[i].curves);
    atoll_tuner_rivals_destroy(rivals);
    return rc;
}

static int space_run(const struct options *o, const char *path, FILE *json, struct atoll_err *err)
{
    struct atoll_t4 *t4 = atoll_t4_load(path, err);
    struct atoll_contest contest = {0};
    int rc = -1;
    if (t4 && atoll_contest_init(&contest, t4, o->budget, err) == 0)
        rc = contest_run(o, t4, &contest, json, err);
    atoll_contest_fini(&contest);
    atoll_t4_destroy(t4);
    return rc;
}

/* ---- options ---- */

static int size_read(const char *text, size_t most, size_t *ret_size)
{
    char *end = NULL;
    unsigned long size = strtoul(text, &end, 10);
    if (end == text || *end || size < 1 || size > most) {
        fprintf(stderr, "bench_search_quality: '%s' is not a number from 1 to %zu\n", text, most);
        return -1;
    }
    *ret_size = size;
    return 0;
}

static int compare_add(struct options *o, const char *path)
{
    if (o->compare_count == COMPARE_LIMIT)
        return -1;
    o->compare[o->compare_count++] = path;
    return 0;
}

static int noise_read(const char *text, int *ret_is_raw)
{
    *ret_is_raw = strcmp(text, "raw") == 0;
    return *ret_is_raw || strcmp(text, "none") == 0 ? 0 : -1;
}

static int option_read(struct options *o, int key, const char *value)
{
    switch (key) {
    case 's': return size_read(value, 10000, &o->seeds);
    case 'b': return size_read(value, 100000, &o->budget);
    case 'p': return size_read(value, ATOLL_REPLAY_PENDING_LIMIT, &o->pending);
    case 'J': return size_read(value, JOB_LIMIT, &o->jobs);
    case 'n': return noise_read(value, &o->is_raw);
    case 'c': return compare_add(o, value);
    case 'j': o->json = value; return 0;
    case 'S': return size_read(value, ATOLL_SHAPE_LIMIT, &o->shapes);
    case 'P': o->with_parts = 1; return 0;
    default: return -1;
    }
}

int main(int argc, char **argv)
{
    struct options o = {.seeds = 100, .budget = 200, .pending = 1, .jobs = 1};
    struct atoll_err err = ATOLL_ERR_INIT;
    int key, failed = 0;
    while ((key = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (key == 'h' || option_read(&o, key, optarg) != 0) {
            usage(key == 'h' ? stdout : stderr);
            return key == 'h' ? 0 : 2;
        }
    FILE *json = o.json ? fopen(o.json, "we") : NULL;
    if (optind == argc || (o.json && !json)) {
        usage(stderr);
        return 2;
    }
    if (json)
        fprintf(json, "{\"seeds\": %zu, \"budget\": %zu, \"noise\": \"%s\", \"pending\": %zu, \"spaces\": [",
                o.seeds, o.budget, o.is_raw ? "raw" : "none", o.pending);
    for (int i = optind; i < argc; i++) {
        if (json && i > optind)
            fprintf(json, ",\n");
        if (space_run(&o, argv[i], json, &err) != 0) {
            fprintf(stderr, "bench_search_quality: %s\n", err.text);
            failed = 1;
            break;
        }
        fflush(stdout);
    }
    if (json) {
        fprintf(json, "]}\n");
        failed |= fclose(json) != 0;
    }
    return failed;
}

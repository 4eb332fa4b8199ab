/* bench_throughput.c - candidates per GPU-hour (docs/benchmarks/gpu.md).
 * An evaluator in this process works off a fixed mix of candidates, or with --yardstick many right ones of two tasks
 * whose time with another harness is known.  --help lists the options. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bench/dry.h"
#include "bench/place.h"
#include "bench/report.h"
#include "mpi-eval/clock.h"
#include "mpi-eval/gpus.h"
#include "mpi-eval/setup.h"

#define COUNT_LIMIT 100000

struct options {
    size_t count, each;
    const char *task, *counters, *json, *gpu, *target, *barrier;
    double seconds;
    unsigned slots, warm;
    uint64_t seed;
    int yardstick, compile_only;
    char **dirs;
    int dir_count;
};

/* What a session of measurements has. */
struct session {
    struct options options;
    struct atoll_mix_tasks tasks;
    struct atoll_setup setup;
    struct atoll_drive drive;
    FILE *json;
};

static const struct option names[] = {
    {"count", required_argument, NULL, 'c'},   {"each", required_argument, NULL, 'e'},
    {"task", required_argument, NULL, 't'},    {"counters", required_argument, NULL, 'p'},
    {"seconds", required_argument, NULL, 's'}, {"json", required_argument, NULL, 'j'},
    {"gpu", required_argument, NULL, 'g'},     {"slots", required_argument, NULL, 'l'},
    {"warm", required_argument, NULL, 'w'},    {"seed", required_argument, NULL, 'r'},
    {"yardstick", no_argument, NULL, 'y'},     {"compile-only", no_argument, NULL, 'd'},
    {"target", required_argument, NULL, 'a'},  {"barrier", required_argument, NULL, 'b'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
};

static void usage(FILE *out)
{
    fputs("usage: bench_throughput [OPTION...] [SUITE...]   (suites/starter and bench/tasks)\n"
          "  --count N           candidates of the mix (200)\n"
          "  --task NAME         of this task only\n"
          "  --counters WHICH    none, near or all correct ones (near; none with --yardstick)\n"
          "  --seconds S         no new candidates after that\n"
          "  --json FILE         write the numbers there, too\n"
          "  --gpu N             number or UUID of the device\n"
          "  --slots N           compile children (all cores but two, at most 16)\n"
          "  --warm N            evaluations of every seed before the measurement (2)\n"
          "  --seed N            of the mix (1)\n"
          "  --yardstick         matmul and relu_huge alone, candidates that stay in the race\n"
          "  --each N            candidates per seed of the yardstick (20)\n"
          "  --compile-only      no device: plan, rules and compilation of the mix\n"
          "  --target ARCH       of --compile-only (sm_90a)\n"
          "  --barrier DIR       after warming up, make DIR/ready.<gpu> and wait for DIR/go\n",
          out);
}

static int number_read(const char *text, double least, double most, double *ret_number)
{
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= least && number <= most)) {
        fprintf(stderr, "bench_throughput: '%s' is not a number from %g to %g\n", text, least, most);
        return -1;
    }
    *ret_number = number;
    return 0;
}

static int option_take(struct options *o, int key, const char *text)
{
    double number = 0;
    int rc = 0;
    switch (key) {
    case 'c': rc = number_read(text, 1, COUNT_LIMIT, &number), o->count = (size_t)number; break;
    case 'e': rc = number_read(text, 1, COUNT_LIMIT, &number), o->each = (size_t)number; break;
    case 's': rc = number_read(text, 0, 1e6, &number), o->seconds = number; break;
    case 'l': rc = number_read(text, 1, 16, &number), o->slots = (unsigned)number; break;
    case 'w': rc = number_read(text, 1, 100, &number), o->warm = (unsigned)number; break;
    case 'r': rc = number_read(text, 0, 1e15, &number), o->seed = (uint64_t)number; break;
    case 't': o->task = text; break;
    case 'p': o->counters = text; break;
    case 'j': o->json = text; break;
    case 'g': o->gpu = text; break;
    case 'a': o->target = text; break;
    case 'b': o->barrier = text; break;
    case 'y': o->yardstick = 1; break;
    case 'd': o->compile_only = 1; break;
    default: rc = -1;
    }
    return rc;
}

static int options_read(struct options *o, int argc, char **argv)
{
    static char starter[] = "suites/starter", own[] = "bench/tasks", *usual[] = {starter, own};
    int key;
    *o = (struct options){.count = 200, .each = 20, .warm = 2, .seed = 1, .target = "sm_90a"};
    while ((key = getopt_long(argc, argv, "h", names, NULL)) != -1) {
        if (key == 'h') {
            usage(stdout);
            exit(0);
        }
        if (option_take(o, key, optarg) != 0)
            return -1;
    }
    o->dirs = optind < argc ? argv + optind : usual;
    o->dir_count = optind < argc ? argc - optind : 2;
    if (!o->counters)
        o->counters = o->yardstick ? "none" : "near";
    return 0;
}

/* ---- start ---- */

static int setup_make(struct session *s, struct atoll_err *err)
{
    atoll_setup_defaults(&s->setup);
    if (atoll_setup_option(&s->setup, "backend", "cuda", err) < 0 ||
        atoll_setup_option(&s->setup, "counters", s->options.counters, err) < 0)
        return -1;
    if (getrandom(s->setup.secret, sizeof s->setup.secret, 0) != (ssize_t)sizeof s->setup.secret)
        return atoll_err_errno(err, errno, "no random bytes for the draws");
    return 0;
}

static int tasks_load(struct session *s, struct atoll_err *err)
{
    for (int i = 0; i < s->options.dir_count; i++)
        if (atoll_mix_tasks_add(&s->tasks, s->options.dirs[i], s->options.task, err) != 0)
            return -1;
    return s->tasks.count ? 0 : atoll_err_set(err, ATOLL_E_INPUT, "no task with CUDA seeds");
}

static int device_open(struct session *s, struct atoll_err *err)
{
    if (atoll_drive_open(&s->drive, &s->setup, s->options.slots, err) != 0 ||
        atoll_drive_add_tasks(&s->drive, &s->tasks, err) != 0)
        return -1;
    const struct atoll_device_info *device = atoll_drive_device(&s->drive);
    printf("%s, %s, %s; copy %.0f GB/s; %u compile children\nstart and calibration: %.2f s\n", device->model,
           device->limits.driver, device->toolchain, device->bandwidth_bytes_per_s / 1e9, s->drive.slots,
           s->drive.open_ns / 1e9);
    if (s->json) {
        fprintf(s->json, "{\"device\": ");
        atoll_report_json_text(s->json, device->model);
        fprintf(s->json, ", \"uuid\": ");
        atoll_report_json_text(s->json, device->uuid);
        fprintf(s->json, ", \"driver\": ");
        atoll_report_json_text(s->json, device->limits.driver);
        fprintf(s->json, ", \"toolchain\": ");
        atoll_report_json_text(s->json, device->toolchain);
        fprintf(s->json, ",\n \"bandwidth_bytes_per_s\": %.0f, \"slots\": %u, \"open_ns\": %.0f",
                device->bandwidth_bytes_per_s, s->drive.slots, s->drive.open_ns);
    }
    fflush(stdout);
    return 0;
}

/* ---- warming up ---- */

/* `count` candidates of one seed with the first choice of its params.  ret_median_ns: of the last correct one, 0 none. */
static int seed_run(struct session *s, uint32_t task, size_t seed, unsigned number, size_t count,
                    double incumbent_ns, struct atoll_drive_record *records,
                    struct atoll_drive_series *ret_series, struct atoll_err *err)
{
    struct atoll_mix_candidate *candidates = calloc(count, sizeof *candidates);
    int rc = candidates ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for %zu candidates", count);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = atoll_mix_candidate_make(&s->tasks, task, seed, ATOLL_MUTANT_COMMENT, number + (unsigned)i, 0,
                                      &candidates[i], err);
    *ret_series = (struct atoll_drive_series){.candidates = candidates,
                                              .count = count,
                                              .incumbent_ns = incumbent_ns,
                                              .limit_ns = s->options.seconds * 1e9,
                                              .records = records};
    if (rc == 0)
        rc = atoll_drive_run(&s->drive, &s->tasks, ret_series, err);
    ret_series->candidates = NULL;
    if (candidates)
        atoll_mix_fini(candidates, count);
    return rc;
}

/* Every seed of a task, one evaluation at a time: what is measured later finds answers, baseline and elites there. */
static int task_warm(struct session *s, uint32_t task, double *ret_medians, struct atoll_err *err)
{
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    size_t count = atoll_mix_seeds(s->tasks.tasks[task], seeds);
    double wall_ns = 0;
    printf("  %-16s", s->tasks.tasks[task]->name);
    for (size_t i = 0; i < count; i++) {
        ret_medians[i] = 0;
        for (unsigned k = 0; k < s->options.warm; k++) {
            struct atoll_drive_record record;
            struct atoll_drive_series series;
            if (seed_run(s, task, seeds[i], 1000000 + k, 1, 0, &record, &series, err) != 0)
                return -1;
            wall_ns += series.wall_ns;
            printf("  %s %.0f ms", s->tasks.tasks[task]->seeds[seeds[i]].name, series.wall_ns / 1e6);
            if (record.verdict == ATOLL_V_CORRECT)
                ret_medians[i] = record.median_ns;
            else
                printf(" (%s: %.100s)", atoll_verdict_name(record.verdict), record.detail);
        }
    }
    printf("\n");
    fflush(stdout);
    if (s->json)
        fprintf(s->json, "%s\"%s\": %.0f", task ? ", " : "", s->tasks.tasks[task]->name, wall_ns);
    return 0;
}

static int warm(struct session *s, double (*ret_medians)[ATOLL_TASK_SEED_LIMIT], struct atoll_err *err)
{
    double begin = atoll_clock_mono_ns();
    printf("warming up, wall time of single evaluations:\n");
    if (s->json)
        fprintf(s->json, ",\n \"warm_tasks_ns\": {");
    for (uint32_t t = 0; t < s->tasks.count; t++)
        if (task_warm(s, t, ret_medians[t], err) != 0)
            return -1;
    double wall_ns = atoll_clock_mono_ns() - begin;
    printf("warm after %.2f s\n", wall_ns / 1e9);
    fflush(stdout);
    if (s->json)
        fprintf(s->json, "}, \"warm_ns\": %.0f", wall_ns);
    return 0;
}

/* Waits for the others of a measurement on several devices. */
static int barrier_wait(const struct options *o, struct atoll_err *err)
{
    char path[4096];
    if (!o->barrier)
        return 0;
    snprintf(path, sizeof path, "%.4000s/ready.%.64s", o->barrier, o->gpu ? o->gpu : "0");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot make %s", path);
    close(fd);
    snprintf(path, sizeof path, "%.4000s/go", o->barrier);
    while (access(path, F_OK) != 0)
        usleep(1000);
    return 0;
}

/* ---- the mix ---- */

static void phases_minus(struct atoll_phases *a, const struct atoll_phases *b)
{
    for (unsigned i = 0; i < ATOLL_PHASE_COUNT; i++)
        a->ns[i] -= b->ns[i];
    a->trial_count -= b->trial_count;
}

static int mix_measure(struct session *s, const struct atoll_mix_candidate *candidates,
                       struct atoll_drive_record *records, struct atoll_err *err)
{
    struct atoll_phases before = *atoll_drive_phases(&s->drive);
    struct atoll_drive_series series = {.candidates = candidates,
                                        .count = s->options.count,
                                        .limit_ns = s->options.seconds * 1e9,
                                        .records = records};
    if (atoll_drive_run(&s->drive, &s->tasks, &series, err) != 0)
        return -1;
    struct atoll_report report = {.tasks = &s->tasks,
                                  .records = records,
                                  .count = series.answered,
                                  .wall_ns = series.wall_ns,
                                  .phases = *atoll_drive_phases(&s->drive)};
    phases_minus(&report.phases, &before);
    atoll_report_make(&report);
    atoll_report_print(&report);
    if (s->json) {
        fprintf(s->json, ",\n \"counters_option\": \"%s\", \"mix\": {\n", s->options.counters);
        atoll_report_json(&report, s->json);
        fprintf(s->json, "}");
    }
    /* for throughput.sh */
    printf("total %zu %.3f %.5f %.5f\n", report.count, report.wall_ns / 1e9, report.occupied_share,
           report.candidate_share);
    return 0;
}

static int mix_run(struct session *s, struct atoll_err *err)
{
    static double medians[ATOLL_MIX_TASK_LIMIT][ATOLL_TASK_SEED_LIMIT];
    struct atoll_mix_candidate *candidates = NULL;
    struct atoll_drive_record *records = calloc(s->options.count, sizeof *records);
    int rc = records ? atoll_mix_make(&s->tasks, s->options.count, s->options.seed, &candidates, err)
                     : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the results");
    if (rc == 0 && s->options.compile_only) {
        rc = atoll_dry_run(&s->tasks, candidates, s->options.count, s->options.target, s->options.slots, err);
    } else if (rc == 0) {
        rc = device_open(s, err) != 0 || warm(s, medians, err) != 0 || barrier_wait(&s->options, err) != 0 ||
                     mix_measure(s, candidates, records, err) != 0
                 ? -1
                 : 0;
    }
    atoll_mix_fini(candidates, s->options.count);
    free(records);
    return rc;
}

/* ---- the yardstick ---- */

/* Seconds per candidate of KernelBench's own harness on an H200 (5 correctness trials, 100 timed), issue 3. */
static const struct {
    const char *task;
    double seconds;
} yardsticks[] = {{"matmul", 24}, {"relu_huge", 80}};

static double yardstick_of(const char *task)
{
    for (size_t i = 0; i < sizeof yardsticks / sizeof yardsticks[0]; i++)
        if (strcmp(yardsticks[i].task, task) == 0)
            return yardsticks[i].seconds;
    return 0;
}

struct standing {
    size_t correct, dropped, wide;
    double draws, compared, samples, width, median_ns;
};

static void standing_make(const struct session *s, const struct atoll_drive_record *records, size_t count,
                          struct standing *ret_standing)
{
    double *widths = calloc(2 * count + 1, sizeof *widths);
    struct atoll_spread width, median;
    memset(ret_standing, 0, sizeof *ret_standing);
    for (size_t i = 0; widths && i < count; i++) {
        const struct atoll_drive_record *e = &records[i];
        if (e->verdict != ATOLL_V_CORRECT)
            continue;
        widths[ret_standing->correct] = e->half_width;
        widths[count + ret_standing->correct++] = e->median_ns;
        ret_standing->dropped += (e->flags & ATOLL_TIMING_DROPPED_EARLY) != 0;
        ret_standing->wide += e->half_width > s->setup.interval_target;
        ret_standing->draws += e->draws;
        ret_standing->compared += e->compared;
        ret_standing->samples += e->samples;
    }
    if (widths && ret_standing->correct) {
        double n = (double)ret_standing->correct;
        atoll_spread_of(widths, ret_standing->correct, &width);
        atoll_spread_of(widths + count, ret_standing->correct, &median);
        ret_standing->width = width.median;
        ret_standing->median_ns = median.median;
        ret_standing->draws /= n;
        ret_standing->compared /= n;
        ret_standing->samples /= n;
    }
    free(widths);
}

static void yardstick_print(struct session *s, const char *task, const char *seed,
                            const struct atoll_drive_series *series, const struct standing *st)
{
    double seconds = series->wall_ns / 1e9 / (double)series->answered, other = yardstick_of(task);
    double occupied_ns = 0;
    for (size_t i = 0; i < series->answered; i++)
        occupied_ns += series->records[i].occupied_ns;
    printf("%-10s %-10s %5zu %7zu %7zu %9.4f %9.1f %6.1f %8.1f %7.1f %9.1f %8.3f %5zu %7.1f\n", task, seed,
           series->answered, st->correct, st->dropped, seconds, other / seconds, st->draws, st->compared,
           st->samples, st->median_ns / 1e3, 100 * st->width, st->wide, 100 * occupied_ns / series->wall_ns);
    fflush(stdout);
    if (s->json)
        fprintf(s->json,
                "  {\"task\": \"%s\", \"seed\": \"%s\", \"count\": %zu, \"correct\": %zu, \"dropped\": %zu, "
                "\"s_per_candidate\": %.5f, \"ratio\": %.2f, \"draws\": %.2f, \"compared\": %.2f, "
                "\"samples\": %.2f, \"median_ns\": %.0f, \"half_width\": %.6f, \"wider_than_target\": %zu}",
                task, seed, series->answered, st->correct, st->dropped, seconds, other / seconds, st->draws,
                st->compared, st->samples, st->median_ns, st->width < 1 ? st->width : -1.0, st->wide);
}

/* All seeds of one task; their own time is the incumbent, so none falls behind. */
static int task_measure(struct session *s, uint32_t task, const double *medians, struct atoll_err *err)
{
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    size_t count = atoll_mix_seeds(s->tasks.tasks[task], seeds);
    struct atoll_drive_record *records = calloc(s->options.each, sizeof *records);
    int rc = records ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the results");
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct atoll_drive_series series;
        struct standing st;
        rc = seed_run(s, task, seeds[i], (unsigned)(i * s->options.each), s->options.each, medians[i],
                      records, &series, err);
        if (rc != 0)
            break;
        standing_make(s, records, series.answered, &st);
        if (s->json)
            fputs(task || i ? ",\n" : "", s->json);
        yardstick_print(s, s->tasks.tasks[task]->name, s->tasks.tasks[task]->seeds[seeds[i]].name, &series,
                        &st);
    }
    free(records);
    return rc;
}

/* Keeps the two tasks. */
static void tasks_reduce(struct atoll_mix_tasks *tasks)
{
    size_t kept = 0;
    for (size_t i = 0; i < tasks->count; i++) {
        if (yardstick_of(tasks->tasks[i]->name) > 0)
            tasks->tasks[kept++] = tasks->tasks[i];
        else
            atoll_task_destroy(tasks->tasks[i]);
    }
    tasks->count = kept;
}

static int yardstick_run(struct session *s, struct atoll_err *err)
{
    static double medians[ATOLL_MIX_TASK_LIMIT][ATOLL_TASK_SEED_LIMIT];
    tasks_reduce(&s->tasks);
    if (s->tasks.count == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "neither matmul nor relu_huge is among the tasks");
    if (device_open(s, err) != 0 || warm(s, medians, err) != 0)
        return -1;
    printf("\n%-10s %-10s %5s %7s %7s %9s %9s %6s %8s %7s %9s %8s %5s %7s\n", "task", "seed", "count",
           "correct", "dropped", "s each", "times", "draws", "in full", "samples", "median us", "width %",
           "wide", "busy %");
    if (s->json)
        fprintf(s->json, ",\n \"counters_option\": \"%s\", \"yardstick\": [\n", s->options.counters);
    for (uint32_t t = 0; t < s->tasks.count; t++)
        if (task_measure(s, t, medians[t], err) != 0)
            return -1;
    if (s->json)
        fprintf(s->json, "]");
    printf("times: KernelBench's %.0f s (matmul) and %.0f s (elementwise) over s each; wide: medians not "
           "known to "
           "%.1f %%\n",
           yardsticks[0].seconds, yardsticks[1].seconds, 100 * s->setup.interval_target);
    return 0;
}

/* ---- main ---- */

static int run(struct session *s, struct atoll_err *err)
{
    const struct options *o = &s->options;
    atoll_place_programs();
    if (o->gpu)
        setenv(ATOLL_GPU_VARIABLE, o->gpu, 1);
    if (atoll_place_scratch(err) != 0 || setup_make(s, err) != 0 || tasks_load(s, err) != 0)
        return -1;
    s->json = o->json && !o->compile_only ? fopen(o->json, "w") : NULL;
    if (o->json && !o->compile_only && !s->json)
        return atoll_err_errno(err, errno, "cannot write %s", o->json);
    int rc = o->yardstick && !o->compile_only ? yardstick_run(s, err) : mix_run(s, err);
    if (s->json && (fputs("}\n", s->json) < 0 || fclose(s->json) != 0) && rc == 0)
        rc = atoll_err_errno(err, errno, "cannot write %s", o->json);
    return rc;
}

int main(int argc, char **argv)
{
    static struct session s;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (options_read(&s.options, argc, argv) != 0) {
        usage(stderr);
        return 2;
    }
    int rc = run(&s, &err);
    if (rc < 0)
        fprintf(stderr, "bench_throughput: %s\n", err.text);
    if (s.drive.examiner && atoll_drive_close(&s.drive) != 0) {
        fprintf(stderr, "bench_throughput: the referee did not stop\n");
        fflush(stdout);
        _exit(3);
    }
    atoll_mix_tasks_fini(&s.tasks);
    return rc != 0;
}

/* bench_throughput.c - candidates per GPU-hour (docs/benchmarks/gpu.md).
 * An evaluator in this process works off a fixed mix of candidates, or with --yardstick many right ones of two tasks
 * whose time with another harness is known.  --help lists the options. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/dry.h"
#include "bench/place.h"
#include "bench/report.h"
#include "bench/session.h"
#include "mpi-eval/node/gpus.h"

#define COUNT_LIMIT 100000

static const struct option names[] = {
    {"count", required_argument, NULL, 'c'},
    {"each", required_argument, NULL, 'e'},
    {"task", required_argument, NULL, 't'},
    {"counters", required_argument, NULL, 'p'},
    {"seconds", required_argument, NULL, 's'},
    {"json", required_argument, NULL, 'j'},
    {"gpu", required_argument, NULL, 'g'},
    {"slots", required_argument, NULL, 'l'},
    {"warm", required_argument, NULL, 'w'},
    {"seed", required_argument, NULL, 'r'},
    {"yardstick", no_argument, NULL, 'y'},
    {"compile-only", no_argument, NULL, 'd'},
    {"target", required_argument, NULL, 'a'},
    {"barrier", required_argument, NULL, 'b'},
    {"triton", no_argument, NULL, 'n'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
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
          "  --triton            half of the right candidates are Triton sources (ATOLL_PYTHON has Triton)\n"
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

static int option_take(struct atoll_session_options *o, int key, const char *text)
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
    case 'n': o->has_triton = 1; break;
    default: rc = -1;
    }
    return rc;
}

static int options_read(struct atoll_session_options *o, int argc, char **argv)
{
    static char starter[] = "suites/starter", own[] = "bench/tasks", *usual[] = {starter, own};
    int key;
    *o = (struct atoll_session_options){.count = 200, .each = 20, .warm = 2, .seed = 1, .target = "sm_90a"};
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

/* Waits for the others of a measurement on several devices. */
static int barrier_wait(const struct atoll_session_options *o, struct atoll_err *err)
{
    char path[4096];
    if (!o->barrier)
        return 0;
    snprintf(path, sizeof(path), "%.4000s/ready.%.64s", o->barrier, o->gpu ? o->gpu : "0");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot make %s", path);
    close(fd);
    snprintf(path, sizeof(path), "%.4000s/go", o->barrier);
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

static void answers_minus(struct atoll_answer_counts *a, const struct atoll_answer_counts *b)
{
    for (unsigned i = 0; i < 2; i++) {
        a->made[i] -= b->made[i];
        a->made_ns[i] -= b->made_ns[i];
    }
    for (unsigned i = 0; i < 3; i++) {
        a->looked[i] -= b->looked[i];
        a->looked_ns[i] -= b->looked_ns[i];
    }
    a->hand_over_ns -= b->hand_over_ns;
}

static void tasks_look(struct atoll_session *s, struct atoll_report *r)
{
    atoll_drive_task_times(&s->drive, r->task_times, ATOLL_MIX_TASK_LIMIT);
    for (uint32_t t = 0; t < ATOLL_MIX_TASK_LIMIT; t++)
        r->answers[t] = atoll_drive_answers(&s->drive, t);
}

static void tasks_minus(struct atoll_report *a, const struct atoll_report *b)
{
    for (uint32_t t = 0; t < ATOLL_MIX_TASK_LIMIT; t++) {
        answers_minus(&a->answers[t], &b->answers[t]);
        for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
            a->task_times[t].ns[k] -= b->task_times[t].ns[k];
    }
}

static int mix_measure(struct atoll_session *s, const struct atoll_mix_candidate *candidates,
                       struct atoll_drive_record *records, struct atoll_err *err)
{
    static struct atoll_report report_before;
    tasks_look(s, &report_before);
    struct atoll_phases before = *atoll_drive_phases(&s->drive);
    struct atoll_device_time times_before = atoll_drive_times(&s->drive);
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
                                  .phases = *atoll_drive_phases(&s->drive),
                                  .times = atoll_drive_times(&s->drive)};
    phases_minus(&report.phases, &before);
    tasks_look(s, &report);
    tasks_minus(&report, &report_before);
    for (unsigned k = 0; k < ATOLL_TIME_PART_COUNT; k++)
        report.times.ns[k] -= times_before.ns[k];
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

static int mix_run(struct atoll_session *s, struct atoll_err *err)
{
    static double medians[ATOLL_MIX_TASK_LIMIT][ATOLL_TASK_SEED_LIMIT];
    struct atoll_mix_candidate *candidates = NULL;
    struct atoll_drive_record *records = calloc(s->options.count, sizeof(*records));
    int rc = records ? atoll_mix_make(&s->tasks, s->options.count, s->options.seed, &candidates, err)
                     : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the results");
    if (rc == 0 && s->options.compile_only) {
        rc = atoll_dry_run(&s->tasks, candidates, s->options.count, s->options.target, s->options.slots, err);
    } else if (rc == 0) {
        rc = atoll_session_open(s, err) != 0 || atoll_session_warm(s, medians, err) != 0 ||
                     barrier_wait(&s->options, err) != 0 || mix_measure(s, candidates, records, err) != 0
                 ? -1
                 : 0;
    }
    atoll_mix_fini(candidates, s->options.count);
    free(records);
    return rc;
}

/* ---- main ---- */

static int run(struct atoll_session *s, struct atoll_err *err)
{
    const struct atoll_session_options *o = &s->options;
    if (o->gpu)
        setenv(ATOLL_GPU_VARIABLE, o->gpu, 1);
    if (atoll_place_scratch(err) != 0 || atoll_session_setup(s, err) != 0 || atoll_session_tasks(s, err) != 0)
        return -1;
    s->json = o->json && !o->compile_only ? fopen(o->json, "w") : NULL;
    if (o->json && !o->compile_only && !s->json)
        return atoll_err_errno(err, errno, "cannot write %s", o->json);
    int rc = o->yardstick && !o->compile_only ? atoll_yardstick_run(s, err) : mix_run(s, err);
    if (s->json && (fputs("}\n", s->json) < 0 || fclose(s->json) != 0) && rc == 0)
        rc = atoll_err_errno(err, errno, "cannot write %s", o->json);
    return rc;
}

int main(int argc, char **argv)
{
    static struct atoll_session s;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (options_read(&s.options, argc, argv) != 0) {
        usage(stderr);
        return 2;
    }
    int rc = run(&s, &err);
    if (rc < 0)
        fprintf(stderr, "bench_throughput: %s\n", err.text);
    if (s.drive.referee_thread && atoll_drive_close(&s.drive) != 0) {
        fprintf(stderr, "bench_throughput: the referee did not stop\n");
        fflush(stdout);
        _exit(3);
    }
    atoll_mix_tasks_fini(&s.tasks);
    return rc != 0;
}

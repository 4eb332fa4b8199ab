/* bench_repeat.c - does a fixed kernel have the same median in every process?
 * [ATOLL_BENCH_SETUP=interval=0.001,sample-wall=30] bench_repeat [--backend cuda|cpu] [--processes N] [--json FILE] [TASK_DIR...]
 * Each process opens the device, calibrates and evaluates the kernel once, with a secret and draws of its own.  The
 * first two seeds of each task are taken (suites/starter/matmul, suites/starter/softmax_rows): the plain one, and one with
 * the first choice of its params. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/report.h"
#include "bench/solo.h"

#define PROCESS_LIMIT 1000
#define AIM           0.003 /* of the spread, issue 3 */

/* What one process says. */
struct told {
    double median_ns, half_width, clock_hz;
    unsigned samples;
};

/* ---- a process of its own ---- */

static int tell(const char *backend, const char *dir, size_t place, struct atoll_err *err)
{
    struct atoll_solo solo;
    struct atoll_kernel kernel;
    struct atoll_evaluation e;
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    struct atoll_task *task = atoll_task_load(dir, err);
    if (!task || atoll_solo_open(&solo, backend, err) != 0)
        return -1;
    if (place >= atoll_solo_seeds(task, backend, seeds))
        return atoll_err_set(err, ATOLL_E_INPUT, "%s has no seed %zu for %s", dir, place, backend);
    atoll_evaluation_init(&e);
    if (atoll_kernel_build(&solo, task, seeds[place], ATOLL_MUTANT_COMMENT, 0, &kernel, err) != 0 ||
        atoll_referee_add_task(solo.device.referee, 0, task, err) != 0 ||
        atoll_kernel_evaluate(&solo, 0, &kernel, 1, &e, err) != 0)
        return -1;
    const struct atoll_timing *t = &e.timings[0];
    printf("told %.3f %.6f %zu %.0f\n", t->summary.median, fmin(t->summary.relative_half_width, 1),
           t->sample_count, e.profile.clock_hz);
    atoll_evaluation_fini(&e);
    atoll_kernel_fini(&kernel);
    atoll_solo_close(&solo);
    atoll_task_destroy(task);
    return 0;
}

/* ---- all of them ---- */

struct options {
    const char *backend, *json;
    unsigned processes;
    char **dirs;
    int dir_count;
};

/* Starts this program again and takes what it says; it inherits the environment and the error stream. */
static int ask(const char *backend, const char *dir, size_t place, struct told *ret_told,
               struct atoll_err *err)
{
    char self[4096], line[256], number[32];
    int found = 0, ends[2];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0 || pipe(ends) != 0)
        return atoll_err_errno(err, errno, "cannot start another process");
    self[length] = '\0';
    snprintf(number, sizeof(number), "%zu", place);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(self, self, "--backend", backend, "--tell", number, dir, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    while (in && fgets(line, sizeof(line), in))
        found |= sscanf(line, "told %lf %lf %u %lf", &ret_told->median_ns, &ret_told->half_width,
                        &ret_told->samples, &ret_told->clock_hz) == 4;
    if (in)
        fclose(in);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return found ? 0 : atoll_err_set(err, ATOLL_E_CHILD, "a process of its own had no result for %s", dir);
}

static void kernel_print(const struct options *o, const char *name, const char *seed, const struct told *all,
                         FILE *json, int is_first)
{
    double medians[PROCESS_LIMIT], widths[PROCESS_LIMIT];
    struct atoll_spread spread, width;
    for (unsigned i = 0; i < o->processes; i++) {
        medians[i] = all[i].median_ns;
        widths[i] = all[i].half_width;
    }
    atoll_spread_of(medians, o->processes, &spread); /* sorts */
    atoll_spread_of(widths, o->processes, &width);
    double range = (medians[o->processes - 1] - medians[0]) / spread.median;
    printf("%-16s %-12s median %12.0f ns  (max - min)/median %7.3f %%  half-width %6.3f %%  %s\n", name, seed,
           spread.median, 100 * range, 100 * width.median, range <= AIM ? "within 0.3 %" : "beyond 0.3 %");
    fflush(stdout);
    if (!json)
        return;
    fprintf(
        json,
        "%s  {\"task\": \"%s\", \"seed\": \"%s\", \"median_ns\": %.3f, \"range\": %.6f, \"medians_ns\": [",
        is_first ? "" : ",\n", name, seed, spread.median, range);
    for (unsigned i = 0; i < o->processes; i++)
        fprintf(json, "%s%.3f", i ? ", " : "", all[i].median_ns);
    fprintf(json, "]}");
}

static int task_measure(const struct options *o, const char *dir, FILE *json, int *is_first,
                        struct atoll_err *err)
{
    static struct told all[PROCESS_LIMIT];
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    struct atoll_task *task = atoll_task_load(dir, err);
    size_t count = task ? atoll_solo_seeds(task, o->backend, seeds) : 0;
    int rc = task ? 0 : -1;
    for (size_t place = 0; rc == 0 && place < count && place < 2; place++) {
        for (unsigned i = 0; rc == 0 && i < o->processes; i++) {
            rc = ask(o->backend, dir, place, &all[i], err);
            if (rc == 0)
                printf("%-16s %-12s %3u  %12.0f ns  half-width %6.3f %%  samples %4u  clock %5.0f MHz\n",
                       task->name, task->seeds[seeds[place]].name, i, all[i].median_ns,
                       100 * all[i].half_width, all[i].samples, all[i].clock_hz / 1e6);
            fflush(stdout);
        }
        if (rc == 0)
            kernel_print(o, task->name, task->seeds[seeds[place]].name, all, json, *is_first);
        *is_first = 0;
    }
    atoll_task_destroy(task);
    return rc;
}

static int measure(const struct options *o, struct atoll_err *err)
{
    FILE *json = o->json ? fopen(o->json, "w") : NULL;
    int rc = 0, is_first = 1;
    if (o->json && !json)
        return atoll_err_errno(err, errno, "cannot write %s", o->json);
    if (json)
        fprintf(json, "{\"processes\": %u, \"kernels\": [\n", o->processes);
    for (int i = 0; rc == 0 && i < o->dir_count; i++)
        rc = task_measure(o, o->dirs[i], json, &is_first, err);
    if (json && (fputs("]}\n", json) < 0 || fclose(json) != 0) && rc == 0)
        rc = atoll_err_errno(err, errno, "cannot write %s", o->json);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"backend", required_argument, NULL, 'b'},
                                          {"processes", required_argument, NULL, 'n'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"tell", required_argument, NULL, 't'},
                                          {NULL, 0, NULL, 0}};
    char matmul[] = "suites/starter/matmul", softmax[] = "suites/starter/softmax_rows";
    char *usual[] = {matmul, softmax};
    struct options o = {.backend = "cuda", .processes = 10};
    struct atoll_err err = ATOLL_ERR_INIT;
    long told = -1;
    int key, rc;
    while ((key = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (key == 'b')
            o.backend = optarg;
        else if (key == 'n')
            o.processes = (unsigned)strtoul(optarg, NULL, 10);
        else if (key == 'j')
            o.json = optarg;
        else if (key == 't')
            told = strtol(optarg, NULL, 10);
        else
            return 2;
    if (o.processes < 1 || o.processes > PROCESS_LIMIT) {
        fprintf(stderr, "bench_repeat: 1 to %d processes\n", PROCESS_LIMIT);
        return 2;
    }
    o.dirs = optind < argc ? argv + optind : usual;
    o.dir_count = optind < argc ? argc - optind : 2;
    rc = told >= 0 ? tell(o.backend, o.dirs[0], (size_t)told, &err) : measure(&o, &err);
    if (rc != 0)
        fprintf(stderr, "bench_repeat: %s\n", err.text);
    return rc != 0;
}

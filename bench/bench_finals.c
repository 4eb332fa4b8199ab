/* bench_finals.c - whether finals on a busy machine say what they say on a quiet one: bench_finals TASK_DIR [FINALS [-v]]
 * Compares the first two seeds of a task, the slower one first (bench/tasks/finals: below two milliseconds), in FINALS finals (default 20) on the machine as it
 * is, with as many busy processes as it has cores, and with twice as many; prints a line for each.  Exit status 1 when a
 * quiet machine decides fewer than 19 of 20, one with every core busy fewer than 15 of 20 or another ratio by more than
 * 10 %, or any of them calls the slower kernel the better one. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/candidate.h"
#include "mpi-eval/backend/backends.h"
#include "scheduler/doctor/calibrate_device.h"

#define FINALS_LIMIT 1000
#define RATIO_APART  0.10
#define BUSY_LIMIT   256
#define SIDES        2

struct kernel {
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled;
};

struct bench {
    struct atoll_bench_device device;
    struct atoll_task *task;
    struct kernel kernels[SIDES]; /* the slower one first */
    uint64_t evaluation;
};

/* What a series of finals says. */
struct series {
    unsigned finals, decided, wrong, apart;
    double median, least, most; /* of decided ratios */
    double pairs, seconds;
};

static int kernel_build(struct bench *b, const struct atoll_seed *seed, struct kernel *ret,
                        struct atoll_err *err)
{
    const struct atoll_backend *backend = atoll_backend_find(b->device.setup.backend);
    struct atoll_order_candidate candidate = {.language = seed->language, .source = seed->source};
    ret->prepared =
        atoll_prepared_create(b->task, backend, &candidate, atoll_referee_device(b->device.referee), err);
    if (!ret->prepared)
        return -1;
    if (ret->prepared->verdict != ATOLL_V_CORRECT)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: %s", seed->name, ret->prepared->detail);
    if (atoll_prepared_compile(ret->prepared, b->device.compiler, &ret->compiled, err) != 0)
        return -1;
    if (ret->compiled.status != ATOLL_COMPILE_OK)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: %s", seed->name, ret->compiled.diagnostics);
    return 0;
}

static int bench_open(struct bench *b, const char *dir, struct atoll_err *err)
{
    if (!(b->task = atoll_task_load(dir, err)) || atoll_bench_setup(&b->device.setup, err) != 0 ||
        atoll_bench_device_open(&b->device, err) != 0 ||
        atoll_referee_add_task(b->device.referee, 0, b->task, err) != 0)
        return -1;
    if (b->task->seed_count < SIDES)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s has fewer than two seeds", dir);
    for (size_t i = 0; i < SIDES; i++)
        if (kernel_build(b, &b->task->seeds[i], &b->kernels[i], err) != 0)
            return -1;
    return 0;
}

static void bench_close(struct bench *b)
{
    for (int i = 0; i < SIDES; i++) {
        atoll_prepared_destroy(b->kernels[i].prepared);
        atoll_compiled_fini(&b->kernels[i].compiled);
    }
    atoll_bench_device_close(&b->device);
    atoll_task_destroy(b->task);
}

static void final(struct bench *b, struct atoll_duel *ret)
{
    struct atoll_order order = {.evaluation = ++b->evaluation,
                                .kind = ATOLL_ORDER_DUEL,
                                .purpose = ATOLL_DUEL_FINAL,
                                .alpha = 0.01,
                                .margin = log(1.01),
                                .pair_limit = 16};
    const struct kernel *slow = &b->kernels[0], *fast = &b->kernels[1];
    atoll_referee_duel(b->device.referee, 0, &order, slow->prepared, slow->compiled.object,
                       slow->compiled.object_length, fast->prepared, fast->compiled.object,
                       fast->compiled.object_length, ret);
}

/* Processes that only count: others that want the cores. */
static void busy_begin(pid_t *pids, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile unsigned long k = 0;; k++)
                ;
        }
    }
}

static void busy_end(const pid_t *pids, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (pids[i] > 0) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
}

static struct series play(struct bench *b, unsigned finals, double quiet_ratio, int is_verbose)
{
    static double ratios[FINALS_LIMIT], scratch[FINALS_LIMIT];
    struct series s = {.finals = finals};
    struct atoll_summary summary;
    double begin = atoll_clock_mono_s();
    for (unsigned i = 0; i < finals; i++) {
        struct atoll_duel d;
        final(b, &d);
        if (is_verbose)
            printf("    %s: %s\n", atoll_verdict_name(d.verdict), d.detail);
        if (d.verdict != ATOLL_V_CORRECT)
            continue;
        s.pairs += d.pair_count;
        ratios[s.decided++] = d.ratio;
        s.wrong += !d.better;
        s.apart += quiet_ratio > 0 && fabs(d.ratio / quiet_ratio - 1) > RATIO_APART;
    }
    atoll_summary_of(ratios, s.decided, scratch, &summary);
    s.median = summary.median;
    s.least = summary.min;
    s.most = summary.max;
    s.seconds = atoll_clock_mono_s() - begin;
    return s;
}

static void print_series(const char *name, const struct series *s)
{
    printf("%-16s %2u of %2u finals decided, %u wrong, %u more than 10 %% from the quiet ratio; ratio %.3f "
           "(%.3f to %.3f); "
           "%.1f pairs, %.1f s\n",
           name, s->decided, s->finals, s->wrong, s->apart, s->median, s->least, s->most,
           s->decided ? s->pairs / s->decided : 0, s->seconds);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    static struct bench b;
    unsigned finals = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
    int is_verbose = argc > 3 && strcmp(argv[3], "-v") == 0, failed = 0;
    unsigned cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    double quiet_ratio = 0;
    if (argc < 2 || finals < 1 || finals > FINALS_LIMIT) {
        fprintf(stderr, "usage: bench_finals TASK_DIR [FINALS [-v]]; at most %d finals\n", FINALS_LIMIT);
        return 2;
    }
    if (bench_open(&b, argv[1], &err) != 0) {
        fprintf(stderr, "bench_finals: %s\n", err.text);
        return 1;
    }
    for (unsigned load = 0; load <= 2; load++) {
        pid_t pids[BUSY_LIMIT];
        char name[32] = "quiet:";
        unsigned busy = load * cores < BUSY_LIMIT ? load * cores : BUSY_LIMIT;
        if (busy)
            snprintf(name, sizeof(name), "%u busy threads:", busy);
        busy_begin(pids, busy);
        struct series s = play(&b, finals, quiet_ratio, is_verbose);
        busy_end(pids, busy);
        print_series(name, &s);
        quiet_ratio = load ? quiet_ratio : s.median;
        double least = load == 0 ? 19.0 / 20 : load == 1 ? 15.0 / 20 : 0;
        failed |= s.wrong > 0 || (double)s.decided < least * finals || (load == 1 && s.apart > 0);
    }
    bench_close(&b);
    return failed;
}

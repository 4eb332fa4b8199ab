/* bench_noise.c - how well this machine knows the time of a fixed kernel: bench_noise TASK_DIR [REPEATS]
 * Evaluates the task's baseline REPEATS times (default 20) in one process and prints, per repeat, median,
 * relative half-width and samples, then the spread of the medians and what an evaluation costs besides the
 * candidate's own time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "core/candidate.h"
#include "mpi-eval/backend/backends.h"
#include "scheduler/doctor/calibrate_device.h"

static int fail(const struct atoll_err *err)
{
    fprintf(stderr, "bench_noise: %s\n", err->text);
    return 1;
}

static void print_phases(const struct atoll_phases *phases)
{
    double trials = (double)phases->trial_count;

    printf("per trial (us):");
    for (unsigned i = 0; i < ATOLL_PHASE_COUNT; i++)
        printf(" %s %.0f", atoll_phase_name((enum atoll_phase)i), phases->ns[i] / trials / 1e3);
    printf(", of %.0f trials\n", trials);
}

static int measure(struct atoll_bench_device *device, const struct atoll_task *task, unsigned repeats,
                   struct atoll_err *err)
{
    const struct atoll_backend *backend = atoll_backend_find(device->setup.backend);
    struct atoll_order order;
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled = {0};
    double *medians = calloc(2 * (size_t)repeats, sizeof(*medians)), candidate = 0, wall = 0;
    struct atoll_summary spread;

    memset(&order, 0, sizeof(order));
    order.candidate.language = task->seeds[0].language;
    order.candidate.source = task->seeds[0].source;
    prepared =
        atoll_prepared_create(task, backend, &order.candidate, atoll_referee_device(device->referee), err);
    if (!medians || !prepared || prepared->verdict != ATOLL_V_CORRECT ||
        atoll_prepared_compile(prepared, device->compiler, &compiled, err) != 0 ||
        compiled.status != ATOLL_COMPILE_OK || atoll_referee_add_task(device->referee, 0, task, err) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < repeats; i++) {
        struct atoll_evaluation e;
        double start = atoll_clock_mono_ns();

        atoll_evaluation_init(&e);
        atoll_referee_evaluate(device->referee, 0, &order, prepared, compiled.object, compiled.object_length,
                               &e);
        int unstable = e.verdict == ATOLL_V_UNSTABLE;
        if ((e.verdict != ATOLL_V_CORRECT && !unstable) || !e.timing_count) {
            return atoll_err_set(err, ATOLL_E_MISMATCH, "baseline: %s %s", atoll_verdict_name(e.verdict),
                                 e.detail);
        }
        medians[i] = e.timings[0].summary.median;
        candidate += e.candidate_ns;
        wall += atoll_clock_mono_ns() - start;
        printf(
            "%3u  median %12.0f ns  half-width %6.3f %%  samples %4zu  discarded %3u  resolution %6.0f ns  "
            "wall %8.1f ms  share %4.1f %%%s\n",
            i, medians[i], 100 * e.timings[0].summary.relative_half_width, e.timings[0].sample_count,
            e.timings[0].discarded_count, e.timings[0].resolution_ns, (atoll_clock_mono_ns() - start) / 1e6,
            100 * e.candidate_ns / (atoll_clock_mono_ns() - start), unstable ? "  unstable" : "");
        atoll_evaluation_fini(&e);
    }
    atoll_summary_of(medians, repeats, medians + repeats, &spread);
    printf("medians of %u: median %.0f ns, p10..p90 %.3f %%, 95 %% interval %.3f %%; candidate share of wall "
           "%.1f %%\n",
           repeats, spread.median, 100 * (spread.p90 - spread.p10) / spread.median,
           100 * (spread.hi95 - spread.lo95) / spread.median, 100 * candidate / wall);
    print_phases(atoll_referee_phases(device->referee));
    free(medians);
    atoll_compiled_fini(&compiled);
    atoll_prepared_destroy(prepared);
    return 0;
}

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_bench_device device;
    struct atoll_task *task = argc > 1 ? atoll_task_load(argv[1], &err) : NULL;
    unsigned repeats = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;

    if (!task) {
        fprintf(stderr, "usage: bench_noise TASK_DIR [REPEATS]; %s\n", err.text);
        return 2;
    }
    if (atoll_bench_setup(&device.setup, &err) != 0 || atoll_bench_device_open(&device, &err) != 0)
        return fail(&err);
    if (measure(&device, task, repeats ? repeats : 1, &err) != 0)
        return fail(&err);
    atoll_bench_device_close(&device);
    atoll_task_destroy(task);
    return 0;
}

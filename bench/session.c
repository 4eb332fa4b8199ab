#include "bench/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bench/report.h"
#include "base/clock.h"
#include "mpi-eval/coordinator/setup.h"

/* ---- start ---- */

int atoll_session_setup(struct atoll_session *s, struct atoll_err *err)
{
    s->tasks.has_triton = s->options.has_triton;
    atoll_setup_defaults(&s->setup);
    if (atoll_setup_option(&s->setup, "backend", "cuda", err) < 0 ||
        atoll_setup_option(&s->setup, "counters", s->options.counters, err) < 0 ||
        (s->options.has_triton && atoll_setup_option(&s->setup, "python", "auto", err) < 0))
        return -1;
    if (getrandom(s->setup.secret, sizeof(s->setup.secret), 0) != (ssize_t)sizeof(s->setup.secret))
        return atoll_err_errno(err, errno, "no random bytes for the draws");
    return 0;
}

int atoll_session_tasks(struct atoll_session *s, struct atoll_err *err)
{
    for (int i = 0; i < s->options.dir_count; i++)
        if (atoll_mix_tasks_add(&s->tasks, s->options.dirs[i], s->options.task, err) != 0)
            return -1;
    return s->tasks.count ? 0 : atoll_err_set(err, ATOLL_E_INPUT, "no task with CUDA seeds");
}

int atoll_session_open(struct atoll_session *s, struct atoll_err *err)
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
int atoll_session_seed_run(struct atoll_session *s, uint32_t task, size_t seed, unsigned number, size_t count,
                           double incumbent_ns, struct atoll_drive_record *records,
                           struct atoll_drive_series *ret_series, struct atoll_err *err)
{
    struct atoll_mix_candidate *candidates = calloc(count, sizeof(*candidates));
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
static int task_warm(struct atoll_session *s, uint32_t task, double *ret_medians, struct atoll_err *err)
{
    size_t seeds[ATOLL_TASK_SEED_LIMIT];
    size_t count = atoll_mix_seeds(s->tasks.tasks[task], seeds);
    size_t triton = atoll_mix_triton_seed(s->tasks.tasks[task]);
    double wall_ns = 0;
    if (s->options.has_triton && triton < s->tasks.tasks[task]->seed_count)
        seeds[count++] = triton;
    printf("  %-16s", s->tasks.tasks[task]->name);
    for (size_t i = 0; i < count; i++) {
        ret_medians[i] = 0;
        for (unsigned k = 0; k < s->options.warm; k++) {
            struct atoll_drive_record record;
            struct atoll_drive_series series;
            if (atoll_session_seed_run(s, task, seeds[i], 1000000 + k, 1, 0, &record, &series, err) != 0)
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

int atoll_session_warm(struct atoll_session *s, double (*ret_medians)[ATOLL_TASK_SEED_LIMIT],
                       struct atoll_err *err)
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

#include "bench/dry.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/report.h"
#include "mpi-eval/backend/cuda/compile/compile.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"
#include "mpi-eval/backend/cuda/triton/triton.h"
#include "base/clock.h"
#include "mpi-eval/backend/backends.h"

struct dry {
    const struct atoll_mix_tasks *tasks;
    const struct atoll_mix_candidate *candidates;
    size_t count, done, unmeant;
    struct atoll_compiler *compiler;
    struct atoll_prepared **prepared; /* of each candidate; NULL when it came to nothing */
    double *ns[2];                    /* compile times: that failed, that went well */
    size_t ns_count[2];
};

static struct atoll_compiler *compiler_open(const char *target, unsigned slots, struct atoll_err *err)
{
    struct atoll_nvrtc_settings settings = {.compiler = {.command = "nvrtc",
                                                         .flags = "",
                                                         .target = target,
                                                         .slots = slots ? slots : 2,
                                                         .deadline_ns = 60e9,
                                                         .memory_bytes = (uint64_t)4 << 30,
                                                         .output_bytes = (uint64_t)64 << 20},
                                            .cache = ""};
    struct atoll_triton_settings triton = {.compiler = settings.compiler, .python = "auto", .cache = ""};
    struct atoll_compiler *cuda = atoll_nvrtc_create(&settings, err);
    return cuda ? atoll_cuda_compiler_by_language_create(cuda, atoll_triton_create(&triton, err), err) : NULL;
}

/* A broken one is to stop at the compiler, every other one has to come past the image. */
static void conclude(struct dry *d, size_t place, enum atoll_verdict verdict, const char *detail)
{
    const struct atoll_mix_candidate *c = &d->candidates[place];
    const struct atoll_task *task = d->tasks->tasks[c->task];
    enum atoll_verdict meant = c->mutant == ATOLL_MUTANT_BROKEN ? ATOLL_V_COMPILE_ERROR : ATOLL_V_CORRECT;
    d->done++;
    if (verdict == meant)
        return;
    d->unmeant++;
    printf("not as meant: %s/%s, %s: %s, %.300s\n", task->name, task->seeds[c->seed].name,
           atoll_mutant_name(c->mutant), atoll_verdict_name(verdict), detail);
}

static int submit(struct dry *d, size_t place, struct atoll_err *err)
{
    const struct atoll_mix_candidate *c = &d->candidates[place];
    struct atoll_order order;
    atoll_mix_order(c, place + 1, &order);
    struct atoll_prepared *p =
        atoll_prepared_create(d->tasks->tasks[c->task], &atoll_backend_cuda, &order.candidate, NULL, err);
    if (!p)
        return -1;
    d->prepared[place] = p;
    if (p->verdict != ATOLL_V_CORRECT) {
        conclude(d, place, p->verdict, p->detail);
        return 0;
    }
    return atoll_compiler_submit(d->compiler, place, p->unit_name, p->unit_text, p->unit_length, NULL, 0,
                                 err);
}

static void judge(struct dry *d, const struct atoll_compiled *compiled)
{
    struct atoll_cubin cubin;
    char detail[ATOLL_DETAIL_BYTES] = "";
    int good = compiled->status == ATOLL_COMPILE_OK;
    d->ns[good][d->ns_count[good]++] = compiled->wall_ns;
    if (!good) {
        conclude(d, compiled->job, ATOLL_V_COMPILE_ERROR, compiled->diagnostics);
        return;
    }
    enum atoll_verdict verdict =
        atoll_cuda_image_check(d->prepared[compiled->job], compiled->object, compiled->object_length,
                               compiled->report ? compiled->report : "", &cubin, detail);
    conclude(d, compiled->job, verdict, detail);
}

static void collect(struct dry *d)
{
    struct atoll_compiled compiled;
    struct pollfd fds[64];
    while (d->done < d->count) {
        while (atoll_compiler_collect(d->compiler, &compiled) == 1) {
            judge(d, &compiled);
            atoll_compiled_fini(&compiled);
        }
        if (d->done < d->count)
            poll(fds, (nfds_t)atoll_compiler_pollfds(d->compiler, fds, sizeof(fds) / sizeof(fds[0])), 100);
    }
}

static void print(struct dry *d, double wall_ns)
{
    static const char *const names[] = {"compile errors", "compiled"};
    printf("%zu candidates in %.2f s, %.0f per hour of compiling alone\n", d->count, wall_ns / 1e9,
           (double)d->count / wall_ns * 3600e9);
    for (int good = 0; good < 2; good++) {
        struct atoll_spread s;
        atoll_spread_of(d->ns[good], d->ns_count[good], &s);
        printf("%-16s %4zu  median %8.2f ms  p90 %8.2f ms  mean %8.2f ms\n", names[good], s.count,
               s.median / 1e6, s.p90 / 1e6, s.mean / 1e6);
    }
    printf("%zu of %zu not as meant\n", d->unmeant, d->count);
}

int atoll_dry_run(const struct atoll_mix_tasks *tasks, const struct atoll_mix_candidate *candidates,
                  size_t count, const char *target, unsigned slots, struct atoll_err *err)
{
    struct dry d = {.tasks = tasks, .candidates = candidates, .count = count};
    double begin = 0;
    d.prepared = calloc(count + 1, sizeof(struct atoll_prepared *));
    d.ns[0] = calloc(count + 1, sizeof(double));
    d.ns[1] = calloc(count + 1, sizeof(double));
    int rc = d.prepared && d.ns[0] && d.ns[1] ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory");
    if (rc == 0 && !(d.compiler = compiler_open(target, slots, err)))
        rc = -1;
    begin = atoll_clock_mono_ns();
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = submit(&d, i, err);
    if (rc == 0) {
        collect(&d);
        print(&d, atoll_clock_mono_ns() - begin);
    }
    for (size_t i = 0; d.prepared && i < count; i++)
        atoll_prepared_destroy(d.prepared[i]);
    atoll_compiler_destroy(d.compiler);
    free(d.prepared);
    free(d.ns[0]);
    free(d.ns[1]);
    return rc != 0 ? -1 : d.unmeant != 0;
}

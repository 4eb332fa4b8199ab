#include "scheduler/cli/recheck.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "mpi-eval/backend/backends.h"

struct side {
    struct atoll_order_candidate candidate;
    struct atoll_prepared *prepared;
    struct atoll_compiled compiled;
};

static void side_fini(struct side *side)
{
    atoll_prepared_destroy(side->prepared);
    atoll_compiled_fini(&side->compiled);
}

static int side_compile(struct side *side, struct atoll_bench_device *device, const struct atoll_task *task,
                        const char *name, const struct atoll_recheck_side *given, struct atoll_err *err)
{
    const struct atoll_backend *backend = atoll_backend_find(device->setup.backend);

    side->candidate.language = given->language;
    side->candidate.source = given->source;
    side->candidate.choice = given->choice;
    side->prepared =
        atoll_prepared_create(task, backend, &side->candidate, atoll_referee_device(device->referee), err);
    if (!side->prepared) {
        return -1;
    }
    if (side->prepared->verdict != ATOLL_V_CORRECT) {
        return atoll_err_set(err, ATOLL_E_MISMATCH, "%s: the %s is %s now: %s", task->name, name,
                             atoll_verdict_name(side->prepared->verdict), side->prepared->detail);
    }
    side->candidate.id = side->prepared->id;
    if (atoll_compiler_run(device->compiler, backend->unit_name, side->prepared->unit_text,
                           side->prepared->unit_length, NULL, 0, &side->compiled, err) != 0) {
        return -1;
    }
    if (side->compiled.status != ATOLL_COMPILE_OK) {
        return atoll_err_set(err, ATOLL_E_MISMATCH, "%s: the %s does not compile here: %s", task->name, name,
                             side->compiled.diagnostics);
    }
    side->prepared->report = side->compiled.report;
    return 0;
}

int atoll_recheck(struct atoll_bench_device *device, uint32_t task_number, const struct atoll_task *task,
                  const struct atoll_recheck_side *baseline, const struct atoll_recheck_side *best,
                  struct atoll_duel *ret_duel, struct atoll_err *err)
{
    struct side sides[2];
    struct atoll_order order;
    struct atoll_search search;
    int status;

    memset(sides, 0, sizeof(sides));
    memset(&order, 0, sizeof(order));
    atoll_search_defaults(&search);
    status = side_compile(&sides[0], device, task, "baseline", baseline, err);
    status = status == 0 ? side_compile(&sides[1], device, task, "best kernel", best, err) : status;
    status = status == 0 ? atoll_referee_add_task(device->referee, task_number, task, err) : status;
    if (status == 0) {
        order.task = task_number;
        order.is_duel = 1;
        order.purpose = ATOLL_DUEL_FINAL;
        order.elite = sides[0].candidate;
        order.candidate = sides[1].candidate;
        order.alpha = 0.01;
        order.margin = atoll_search_log_margin(&search);
        order.pair_limit = search.pair_limit;
        atoll_referee_duel(device->referee, task_number, &order, sides[0].prepared, sides[0].compiled.object,
                           sides[0].compiled.object_length, sides[1].prepared, sides[1].compiled.object,
                           sides[1].compiled.object_length, ret_duel);
    }
    side_fini(&sides[0]);
    side_fini(&sides[1]);
    return status;
}

/* prepare.h - levels 1 and 2 of the cascade (MEASUREMENT.md 1) and what level 3 needs: from an order to a
 * translation unit. Layer: mpi-eval.  Lifetime: create/destroy; owns copies of everything. */
#ifndef ATOLL_MPI_EVAL_REFEREE_PREPARE_H
#define ATOLL_MPI_EVAL_REFEREE_PREPARE_H

#include "core/message.h"
#include "core/task.h"

struct atoll_prepared {
    struct atoll_id id;
    const struct atoll_task *task; /* borrowed */
    struct atoll_arena *arena;     /* owns what follows */
    const char *language;
    const struct atoll_plan *plan; /* NULL when verdict is BAD_PLAN */
    const char *body;
    struct atoll_choice choice;
    struct atoll_behaviour behaviour;
    enum atoll_verdict verdict; /* CORRECT = go on to compile; BAD_PLAN, FORBIDDEN = that is the verdict */
    char detail[ATOLL_DETAIL_BYTES];
    char *unit_text; /* C: params as #define lines, #line, body, one shim per launch: atoll_shim_<k> */
    size_t unit_length;
    const char *symbols[ATOLL_PLAN_LAUNCH_LIMIT];
    size_t symbol_count;
};

struct atoll_prepared *atoll_prepared_create(const struct atoll_task *task,
                                             const struct atoll_order_candidate *candidate,
                                             struct atoll_err *err);
void atoll_prepared_destroy(struct atoll_prepared *prepared);

#endif

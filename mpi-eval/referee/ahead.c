/* ahead.c - draws answered while the device would wait: first those that the next evaluation is sure to need. */
#include "mpi-eval/referee/backend.h"
#include "mpi-eval/referee/referee.h"
#include "mpi-eval/referee/state.h"

#define PATIENCE_NS 1e9 /* of whoever may come while nothing is ordered */

/* The first of so many draws that is not answered. */
static int answer_first(struct atoll_referee *referee, struct atoll_case *known, uint32_t variant,
                        size_t count, struct atoll_err *err)
{
    int rc = 0;
    for (size_t number = 0; rc == 0 && number < count; number++) {
        struct atoll_input_set d = atoll_case_input_set(referee, known, variant, number);
        double begin = atoll_referee_now_ns();
        rc = referee->backend->answer(referee, known, &d, err);
        double took_ns = atoll_referee_now_ns() - begin;
        if (rc != 0) {
            known->answer_ns[variant] = took_ns;
            referee->phases.ns[ATOLL_PHASE_EXPECTED] += took_ns;
        }
    }
    return rc;
}

int atoll_referee_answer_ahead(struct atoll_referee *referee, uint32_t task, int is_ordered,
                               struct atoll_err *err)
{
    enum { SEEN, CHECKED, POOL };
    struct atoll_case *known = atoll_referee_case(referee, task);
    int rc = 0;
    if (!known || !referee->backend->answer || known->task->torch || referee->setup.backend_null ||
        atomic_load(&referee->cancelled))
        return 0;
    for (int round = SEEN; rc == 0 && round <= (is_ordered ? CHECKED : POOL); round++)
        for (uint32_t v = 0; rc == 0 && v < known->task->variant_count; v++) {
            const struct atoll_variant *variant = &known->task->variants[v];
            enum atoll_variant_kind kind = round == CHECKED ? ATOLL_VARIANT_CHECK : ATOLL_VARIANT_BENCH;
            size_t count = round == SEEN      ? known->open_count[v]
                           : round == CHECKED ? ATOLL_INPUT_SET_CHECK_POOL
                                              : ATOLL_INPUT_SET_POOL_MIN;
            if (variant->kind == kind && atoll_variant_is_here(referee->backend, variant) &&
                (is_ordered || known->answer_ns[v] < PATIENCE_NS))
                rc = answer_first(referee, known, v, count, err);
        }
    return rc;
}

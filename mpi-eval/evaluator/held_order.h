/* held_order.h - an order in hand, from arrival to result; what a model asked for is one, too.
 * Layer: mpi-eval, part of the evaluator's pipeline, which owns it and walks it through its states. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_HELD_ORDER_H
#define ATOLL_MPI_EVAL_EVALUATOR_HELD_ORDER_H

#include "core/message.h"
#include "core/tool.h"
#include "mpi-eval/evaluator/object_cache.h"
#include "mpi-eval/evaluator/referee_thread.h"

enum atoll_held_order_state {
    ATOLL_HELD_WAITS_TASK,
    ATOLL_HELD_COMPILES,
    ATOLL_HELD_MEASURED,
    ATOLL_HELD_DONE
};

enum { ATOLL_HELD_CANDIDATE, ATOLL_HELD_ELITE, ATOLL_HELD_SIDES };

/* An order in hand. */
struct atoll_held_order {
    enum atoll_held_order_state state;
    struct atoll_arena *arena;
    struct atoll_order order;
    int64_t arrived_unix_ns;
    struct atoll_prepared *prepared[ATOLL_HELD_SIDES];
    struct atoll_object *objects[ATOLL_HELD_SIDES];
    struct atoll_referee_request request; /* also holds the result */
    int is_tool;                          /* a model asked for it; order: as if it were to be evaluated */
    struct atoll_tool_order tool;
    double arrived_ns;
    struct atoll_buffer report; /* of what was compiled */
    struct atoll_held_order *next;
};

/* Objects that it needs: of a candidate, of an elite beside it, of a rival none. */
static inline int atoll_held_order_side_count(const struct atoll_held_order *work)
{
    return work->order.kind == ATOLL_ORDER_RIVAL ? 0
           : atoll_order_has_elite(&work->order) ? ATOLL_HELD_SIDES
                                                 : 1;
}
/* Empty; its arrival is now.  NULL: no memory. */
struct atoll_held_order *atoll_held_order_create(struct atoll_err *err);
/* What was decided before the referee: level 1 to 3, or 0 for trouble of ours.  device: NULL before it is open. */
void atoll_held_order_conclude(struct atoll_held_order *work, const struct atoll_device_info *device,
                               enum atoll_verdict verdict, unsigned level, const char *detail);
enum atoll_referee_request_kind atoll_held_order_request_kind(const struct atoll_held_order *work);
/* The message of a result; returns its type. */
uint16_t atoll_held_order_encode(struct atoll_held_order *work, struct atoll_buffer *out);
/* Whether the rivals that an order names are the task's; one that names none is fine. */
int atoll_order_has_rivals(const struct atoll_task *task, const struct atoll_order *order);

#endif

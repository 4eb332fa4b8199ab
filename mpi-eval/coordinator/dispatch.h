/* dispatch.h - orders under way: what the engine wants measured, who has it, and what is to be sent next.
 * Layer: mpi-eval, pure.  Lifetime: create/destroy.
 *
 * An order is WAITING (to be sent), SENT (a peer has it) or ANSWERED (its result is journaled, the engine has
 * not seen it yet).  A lost peer's orders wait again, ahead of the others; the first result that arrives
 * counts, from whomever.
 *
 * A task has a home: the peer that was sent its first order, until it is lost.  Its device has the answers to the task's draws, which
 * are dear where PyTorch gives them, and any other has to make them anew. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_DISPATCH_H
#define ATOLL_MPI_EVAL_COORDINATOR_DISPATCH_H

#include "core/decision.h"

/* A peer that had an order when it was lost may have been lost because of it: after so many losses the order
 * is answered as INFRASTRUCTURE and the engine decides. */
#define ATOLL_DISPATCH_LOSS_LIMIT 3

struct atoll_dispatch;

struct atoll_dispatch *atoll_dispatch_create(unsigned peer_count, struct atoll_err *err);
void atoll_dispatch_destroy(struct atoll_dispatch *dispatch);
/* EVALUATE, DUEL and RIVAL become orders, ABANDON removes one.  Other decisions are ignored, REDISPATCH too: whoever creates a
 * dispatch adds all orders that are under way. */
int atoll_dispatch_decide(struct atoll_dispatch *dispatch, const struct atoll_decision *decision,
                          struct atoll_err *err);
/* The next order for a peer whose device is of this model, marked SENT; NULL when none waits.  has_torch: it can take orders
 * about rivals.  Those of tasks that have another home come last, and with is_home_only not at all; what is about rivals has
 * none.  Borrowed until the order is forgotten. */
const struct atoll_decision *atoll_dispatch_next(struct atoll_dispatch *dispatch, unsigned peer,
                                                 uint32_t model, int has_torch, int is_home_only);
/* It left now. */
void atoll_dispatch_stamp(struct atoll_dispatch *dispatch, uint64_t evaluation, double now_ns);
/* When it left for the last time; 0 never, or not known. */
double atoll_dispatch_sent_ns(const struct atoll_dispatch *dispatch, uint64_t evaluation);
/* The order of an evaluation number that is not answered yet; NULL when there is none (unknown, or answered
 * before). */
const struct atoll_decision *atoll_dispatch_find(const struct atoll_dispatch *dispatch, uint64_t evaluation);
/* Of an order that the engine has not settled; UINT32_MAX without one. */
uint32_t atoll_dispatch_task(const struct atoll_dispatch *dispatch, uint64_t evaluation);
/* Its result is journaled. */
void atoll_dispatch_answered(struct atoll_dispatch *dispatch, uint64_t evaluation);
/* The engine saw the result: the order is forgotten. */
void atoll_dispatch_settle(struct atoll_dispatch *dispatch, uint64_t evaluation);
/* The peer is lost: its orders wait again. */
void atoll_dispatch_lose(struct atoll_dispatch *dispatch, unsigned peer);
/* One order that too many peers were lost with; NULL when none. */
const struct atoll_decision *atoll_dispatch_find_lost(const struct atoll_dispatch *dispatch);
unsigned atoll_dispatch_sent_count(const struct atoll_dispatch *dispatch, unsigned peer);
size_t atoll_dispatch_under_way_count(const struct atoll_dispatch *dispatch); /* sent, to all */

#endif

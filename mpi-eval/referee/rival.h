/* rival.h - what kernels are compared with: PyTorch's own times for a task, by the rules of a candidate (MEASUREMENT.md 6).
 * Layer: mpi-eval, referee.  The owner thread of the referee; blocking, ended by atoll_referee_cancel.
 *
 * A rival runs in a torch process of its own, which is stopped while candidates are timed.  It sees fresh inputs at new
 * addresses with cold caches; its outputs are checked like a candidate's at every bench variant, in eager mode also at one
 * check variant (what a compiler makes of another shape is another program).  Its samples are taken until a candidate's would
 * be enough. */
#ifndef ATOLL_MPI_EVAL_REFEREE_RIVAL_H
#define ATOLL_MPI_EVAL_REFEREE_RIVAL_H

#include "core/message.h"
#include "core/rival.h"
#include "mpi-eval/referee/prepare.h"

struct atoll_case;
struct atoll_referee;

/* Measures one rival.  Never fails: what went wrong is the verdict.  ret_rival: init'ed by the caller; all is filled. */
void atoll_referee_rival(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                         struct atoll_rival *ret_rival);

/* Whether a rival's answer at a check variant is right; nothing is timed.  known: borrowed.  ret_detail: ATOLL_DETAIL_BYTES, why
 * not; "" it is.  ret_is_built: its answer is one to the task, right or not.  INFRASTRUCTURE: there is no Python with torch, or
 * something of ours. */
enum atoll_verdict atoll_referee_rival_look(struct atoll_referee *referee, struct atoll_case *known,
                                            uint32_t number, uint32_t variant, int *ret_is_built,
                                            char *ret_detail);

/* The final comparison with the fastest rivals, in alternating blocks (rival_blocks.h); the candidate is checked at the
 * hidden variants, too.  order->rivals: the rival at each bench variant.  Ratio: the rivals' time by the candidate's. */
void atoll_referee_rival_duel(struct atoll_referee *referee, uint32_t task, const struct atoll_order *order,
                              const struct atoll_prepared *candidate, const void *object, size_t length,
                              struct atoll_duel *ret_duel);

#endif

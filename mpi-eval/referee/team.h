/* team.h - threads on a device's cores that share the referee's own loops over large arrays while nothing is timed: inputs and
 * fills are made, hashed and compared by all cores, and not by the referee's alone (docs/adr/0033).
 * Layer: mpi-eval, referee.  Lifetime: create/destroy.  One owner thread, which works with them; NULL is a team of the owner
 * alone.  Between two runs its threads sleep. */
#ifndef ATOLL_MPI_EVAL_REFEREE_TEAM_H
#define ATOLL_MPI_EVAL_REFEREE_TEAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATOLL_TEAM_LIMIT 15 /* threads beside the owner: more of them wait for memory, not for cores */

struct atoll_team;

/* Units [begin, end).  Called from several threads at once. */
typedef void atoll_team_work(void *context, size_t begin, size_t end);

/* A thread on each of the cores, at most ATOLL_TEAM_LIMIT; fewer where the system gives no more. */
struct atoll_team *atoll_team_create(const int *cores, size_t count, struct atoll_err *err);
void atoll_team_destroy(struct atoll_team *team); /* NULL is fine */

/* Does units [0, count) in pieces of `piece`, which whoever is free takes; done when it returns, and no thread of the team is at
 * it any more.  The pieces do not depend on how many threads there are.  Up to one piece is the caller's alone. */
void atoll_team_run(struct atoll_team *team, size_t count, size_t piece, atoll_team_work *work,
                    void *context);

/* Waits until no thread is on its way from the last run back to sleep, on a core that something else needs for itself now.  Not
 * for ever: 0 when a millisecond was not enough. */
int atoll_team_settle(const struct atoll_team *team);

/* atoll_wide_copy of several ranges.  piece_bytes: ATOLL_TEAM_FRESH_BYTES where nobody has written to `to` yet, or two threads
 * would each clear the same page; else ATOLL_TEAM_PIECE_BYTES. */
#define ATOLL_TEAM_FRESH_BYTES ((size_t)2 << 20) /* a huge page */
#define ATOLL_TEAM_PIECE_BYTES ((size_t)256 << 10)
struct atoll_team_range {
    void *to;
    const void *from;
    size_t bytes;
};
void atoll_team_copy(struct atoll_team *team, const struct atoll_team_range *ranges, size_t count,
                     size_t piece_bytes);

#endif

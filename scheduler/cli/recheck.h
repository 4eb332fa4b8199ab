/* recheck.h - measures the results of a campaign again in this process, with a fresh secret and draws nobody has seen, and holds
 * them against the record.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_RECHECK_H
#define ATOLL_SCHEDULER_CLI_RECHECK_H

#include "base/err.h"

struct atoll_recheck {
    const char *task; /* only this one; NULL = all */
    double minimum;   /* a task below this speedup fails */
    int json;         /* a JSON object a task instead of lines */
};

/* Prints as it goes.  0: everything holds; 1: a task failed; -1: it could not be measured (NOTFOUND for a task that is not there,
 * MISMATCH where a source is refused now, and what opening campaign and device gives). */
int atoll_recheck(const char *dir, const struct atoll_recheck *settings, struct atoll_err *err);

#endif

/* finish.h - what is made of a campaign's journals when a run ends: archive.h5, report.html, the table.
 * Layer: scheduler.  Idempotent. */
#ifndef ATOLL_SCHEDULER_CLI_FINISH_H
#define ATOLL_SCHEDULER_CLI_FINISH_H

#include <stdio.h>

#include "base/err.h"

/* json: the table as JSON.  Fails with ATOLL_E_INPUT when no task got a correct baseline (the table says
 * why). */
int atoll_finish_campaign(const char *dir, int json, FILE *out, struct atoll_err *err);

#endif

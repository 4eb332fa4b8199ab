/* continue.h - lets a submitted campaign go on, whatever stopped it.  Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_CONTINUE_H
#define ATOLL_SCHEDULER_CLI_CONTINUE_H

#include <stdio.h>

#include "scheduler/campaign/sweep.h"

/* Removes the marks of pause and cancel; where every part has ended makes archive and report, else puts the campaign into
 * the queue and submits what it wants.  Says on out what it did.  Errors: those of atoll_finalize and atoll_job_submitter. */
int atoll_continue_campaign(const struct atoll_sweep *sweep, double timeout_s, FILE *out,
                            struct atoll_err *err);

#endif

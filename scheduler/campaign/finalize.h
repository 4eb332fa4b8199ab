/* finalize.h - the end of a submitted campaign: one archive, one report, one word that it is done.
 * Layer: scheduler.  Whoever comes last does it, twice does no harm: the parts' journals are the truth, and everything here
 * is made of them and replaced in one step. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_FINALIZE_H
#define ATOLL_SCHEDULER_CAMPAIGN_FINALIZE_H

#include "scheduler/campaign/sweep.h"

/* Merges the parts' archives (made again where they are older than their journals) into DIR/archive.h5, writes
 * DIR/report.html, and, when every part has ended, DIR/done.json.  is_partial: also while parts are open, then without the
 * last.  1 done now or before (what was deleted
 * since is made again), 0 parts are open (nothing was written unless is_partial), -1 error.  Waits while another process is
 * at it.  A part that is damaged is open, and its results are left out of what is made meanwhile.  Errors: those of reading and writing archives. */
int atoll_finalize(const struct atoll_sweep *sweep, int is_partial, struct atoll_err *err);

#endif

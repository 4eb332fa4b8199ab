/* learned.h - what parts of a submitted campaign have learned, for those that begin behind them (docs/spec/experience.md).
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_LEARNED_H
#define ATOLL_SCHEDULER_CAMPAIGN_LEARNED_H

#include "archive-h5/table/table.h"
#include "core/experience/hint_file.h"
#include "scheduler/campaign/sweep.h"

/* Merges the hints of all campaigns of an archive, with what came of them there alone; those that nobody was told only where is_all
 * says so, or where a model wrote them.  Errors: LIMIT, MEMORY. */
int atoll_learned_add_tables(const struct atoll_tables *tables, int is_all, struct atoll_hint_file *sum,
                             struct atoll_err *err);

/* Gives a part that nobody has begun what ended parts learned, as its learned.yaml (archive-h5/campaign/learned.h); where models are told
 * no hints, samples must not know of each other, or it has one already, nothing is done.  A part that cannot be read is passed over.
 * ret_hints, ret_parts: how many hints of how many parts; 0: nothing was given.  Errors: IO, LIMIT, MEMORY, those of reading the part. */
int atoll_learned_give(const struct atoll_sweep *sweep, size_t part, size_t *ret_hints, size_t *ret_parts,
                       struct atoll_err *err);

#endif

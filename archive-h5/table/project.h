/* project.h - turns journaled events and decisions, in order, into the tables of an archive.
 * Layer: archive-h5, pure.  Lifetime: create/destroy; single owner. */
#ifndef ATOLL_ARCHIVE_H5_TABLE_PROJECT_H
#define ATOLL_ARCHIVE_H5_TABLE_PROJECT_H

#include "archive-h5/campaign/campaign.h"
#include "archive-h5/table/table.h"

#define ATOLL_TABLES_LIMIT_BYTES ((size_t)16 << 30)

struct atoll_projection;

struct atoll_projection *atoll_projection_create(const struct atoll_config *config, struct atoll_err *err);
void atoll_projection_destroy(struct atoll_projection *projection); /* NULL is fine */

/* A result whose evaluation has its result already is ignored, as the engine ignores it.  Errors: MEMORY,
 * LIMIT. */
int atoll_projection_device(struct atoll_projection *p, const struct atoll_device_info *device,
                            struct atoll_err *err);
int atoll_projection_event(struct atoll_projection *p, uint64_t number, const struct atoll_event *event,
                           struct atoll_err *err);
/* event: number of the event that was decided about; decisions of one event come in order. */
int atoll_projection_decision(struct atoll_projection *p, uint64_t event,
                              const struct atoll_decision *decision, struct atoll_err *err);
/* Any record of a journal; decodes it. */
int atoll_projection_record(struct atoll_projection *p, const struct atoll_record *record,
                            struct atoll_err *err);
/* task.yaml of a task, for the record. */
int atoll_projection_definition(struct atoll_projection *p, uint32_t task, const char *yaml, size_t length,
                                struct atoll_err *err);

/* What models are told of, and its hints, before the first record; where the file is not at hand, only those hints are known that asks
 * were told. */
int atoll_projection_knowledge(struct atoll_projection *p, const struct atoll_campaign *campaign,
                               struct atoll_err *err);

/* All rows so far; borrowed until the next call. */
const struct atoll_tables *atoll_projection_tables(const struct atoll_projection *p);
/* A copy of what is new since the last cut, complete in itself (campaign, tasks and texts it needs): one
 * segment.  Rows that changed (tasks, campaign) are in it again.  The result is owned by the caller. */
struct atoll_tables *atoll_projection_cut(struct atoll_projection *p, struct atoll_err *err);
/* Like a cut whose copy is not wanted: what is there now is not new to the next one. */
void atoll_projection_mark(struct atoll_projection *p);
/* 1: a cut would have all rows, as there was none and no mark. */
int atoll_projection_is_whole(const struct atoll_projection *p);

/* The same with the place of the record in an error's text: for replays. */
int atoll_projection_visit(struct atoll_projection *p, const struct atoll_attempt *attempt,
                           const struct atoll_record *record, struct atoll_err *err);
/* The definitions of all tasks, which are in the campaign's folder and not in its journals. */
int atoll_projection_definitions(struct atoll_projection *p, const struct atoll_config *config,
                                 struct atoll_err *err);
/* A projection of everything a campaign's journals hold, up to now. */
struct atoll_projection *atoll_projection_of_campaign(const struct atoll_campaign *campaign,
                                                      struct atoll_replay_report *ret_report,
                                                      struct atoll_err *err);

#endif

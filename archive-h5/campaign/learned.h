/* learned.h - what a part of a submitted campaign was given of parts before it: hints with what came of them there
 * (docs/spec/experience.md).
 * Layer: archive-h5.  DIR/learned.yaml is made whole, before the part's first attempt, and is never changed: its first line is a
 * comment with the BLAKE2b of all that follows. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_LEARNED_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_LEARNED_H

#include "core/experience/hint_file.h"

#define ATOLL_LEARNED_FILE "learned.yaml"

/* Of the folder of a campaign.  1 and ret_file, to be fini'ed; 0: there is none, and ret_file is empty; -1: CORRUPT (it is not as it was
 * made), LIMIT, MEMORY. */
int atoll_campaign_learned_read(const char *dir, struct atoll_hint_file *ret_file, struct atoll_err *err);
/* 1: it is made, and durable; 0: one is there already, which stays.  Errors: IO, LIMIT, MEMORY. */
int atoll_campaign_learned_write(const char *dir, const struct atoll_hint_file *file, struct atoll_err *err);

#endif

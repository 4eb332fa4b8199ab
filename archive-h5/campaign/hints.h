/* hints.h - the hints that a campaign began with (docs/spec/experience.md): hints.yaml of its knowledge (knowledge.h), or, of one
 * that an earlier version made, DIR/hints.yaml, whose BLAKE2b the option `hints` in campaign.yaml is; and of a part those that parts
 * before it learned (learned.h).
 * Layer: archive-h5. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_HINTS_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_HINTS_H

#include "archive-h5/campaign/campaign.h"
#include "core/experience/hint_file.h"

#define ATOLL_HINTS_FILE   "hints.yaml"
#define ATOLL_HINTS_OPTION "hints"

/* Of an open campaign, to be fini'ed; one without has none.  ATOLL_E_CORRUPT when the file is missing or is not the one that
 * the campaign was made with. */
int atoll_campaign_hints_read(const struct atoll_campaign *campaign, struct atoll_hint_file *ret_file,
                              struct atoll_err *err);

#endif

/* archive.h - archive.h5 and segments of a campaign, made of its journals.
 * Layer: archive-h5.  A file says in its attribute `made_of` which journal, up to which byte, it was made of.
 */
#ifndef ATOLL_ARCHIVE_H5_HDF5_ARCHIVE_H
#define ATOLL_ARCHIVE_H5_HDF5_ARCHIVE_H

#include "archive-h5/campaign/campaign.h"

/* Everything the journals hold, into one file; needs no segments.  ops, ret_report: may be NULL.  Errors:
 * those of atoll_campaign_replay and atoll_segment_write. */
int atoll_archive_build(const struct atoll_campaign *campaign, const char *out,
                        const struct atoll_file_ops *ops, struct atoll_replay_report *ret_report,
                        struct atoll_err *err);

/* The same, unless `out` says that it was made, by this version of Atoll, of the journals as they are now:
 * that costs one pass over their bytes.  1 = it was up to date, 0 = made, -1 = error. */
int atoll_archive_refresh(const struct atoll_campaign *campaign, const char *out,
                          const struct atoll_file_ops *ops, struct atoll_err *err);

/* The end of an attempt, from one pass over the journals: DIR/archive.h5, and ATTEMPT_DIR/segment-NNNN.h5
 * with what no earlier segment holds, so that the segments of a campaign hold everything even when attempts
 * between them were killed. */
int atoll_archive_seal(const struct atoll_campaign *campaign, const char *attempt_dir,
                       const struct atoll_file_ops *ops, struct atoll_err *err);

#endif

/* write_archive.h - what people read, made from the journals when an attempt has ended: a segment beside its journal,
 * and the campaign's archive.h5.  Nothing in them is the truth; both can be made again at any time. Layer:
 * mpi-eval. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_WRITE_ARCHIVE_H
#define ATOLL_MPI_EVAL_COORDINATOR_WRITE_ARCHIVE_H

#include "archive-h5/campaign/campaign.h"

/* attempt_dir: NULL = only archive.h5, and only when it is not up to date. */
int atoll_write_archive(const struct atoll_campaign *campaign, const char *attempt_dir,
                        struct atoll_err *err);

/* How long the last one took, in ns, from the times of the files that it left; 0 when there is none. */
double atoll_write_archive_last_ns(const struct atoll_campaign *campaign);

#endif

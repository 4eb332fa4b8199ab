/* lease_folder.h - the claim files below DIR/lease: names, the newest, what may be removed.
 * Layer: base, private to the lease.
 *
 *   lease/000007                       the claim of epoch 7
 *   lease/.claim+PID+START+BOOT+TOKEN  prepared by a claimer, linked to its number, then unlinked */
#ifndef ATOLL_BASE_LEASE_FOLDER_H
#define ATOLL_BASE_LEASE_FOLDER_H

#include "base/lease_record.h"

#define ATOLL_LEASE_FOLDER "lease"

/* Paths below folder (which is DIR/lease).  LIMIT when they are too long. */
int atoll_lease_folder_claim(const char *folder, uint32_t epoch, char *ret_path, size_t bytes,
                             struct atoll_err *err);
int atoll_lease_folder_prepared(const char *folder, const struct atoll_lease_record *record, char *ret_path,
                                size_t bytes, struct atoll_err *err);

/* The highest number.  1 found, 0 none (also no folder), -1 error. */
int atoll_lease_folder_newest(const char *folder, uint32_t *ret_epoch, struct atoll_err *err);
/* The newest claim, read.  1, 0, -1 alike. */
int atoll_lease_folder_read(const char *folder, struct atoll_lease_record *ret_record, struct atoll_err *err);

/* Removes claims below `newest`, the lowest first and none above one that stays: whoever finds its predecessor in place
 * knows that its own number was never taken.  And prepared files of processes that are gone, as self sees it, or that are
 * older than `newest` by ten minutes of the file system's clock.  What cannot be removed stays for the next time. */
void atoll_lease_folder_sweep(const char *folder, uint32_t newest, const struct atoll_lease_holder *self,
                              const struct atoll_file_ops *ops);

#endif

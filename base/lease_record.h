/* lease_record.h - one claim file, and whether the process that wrote it is gone.
 * Layer: base, private to the lease.
 *
 * Two lines of fixed length, each with the CRC-32C (hex) of what follows it.  The first says who claims what and never
 * changes; the second is the beat, rewritten in place by a write that no sector boundary cuts, so that a torn one leaves the
 * name of its holder readable. */
#ifndef ATOLL_BASE_LEASE_RECORD_H
#define ATOLL_BASE_LEASE_RECORD_H

#include "base/lease.h"

#define ATOLL_LEASE_HEAD_BYTES   448u
#define ATOLL_LEASE_BEAT_BYTES   64u
#define ATOLL_LEASE_RECORD_BYTES (ATOLL_LEASE_HEAD_BYTES + ATOLL_LEASE_BEAT_BYTES)

struct atoll_lease_record {
    uint32_t epoch;
    struct atoll_lease_holder holder;
    uint64_t token; /* random: tells two claims of one number apart */
    uint64_t beat;
    int is_released;
    int is_head_good, is_beat_good;    /* checksums hold; 0: the fields of that line are zero */
    char head[ATOLL_LEASE_HEAD_BYTES]; /* as read or encoded */
};

/* Both lines; fills record->head. */
void atoll_lease_record_encode(struct atoll_lease_record *record, char ret_bytes[ATOLL_LEASE_RECORD_BYTES]);
/* The second line alone, which stands behind the first. */
void atoll_lease_record_encode_beat(const struct atoll_lease_record *record,
                                    char ret_bytes[ATOLL_LEASE_BEAT_BYTES]);
/* Never fails; a beat that is torn gets a value of its own, so that a watcher sees a change. */
void atoll_lease_record_decode(const char *bytes, size_t length, struct atoll_lease_record *ret_record);
/* Opens the file anew: that is when NFS asks its server.  Errors: NOTFOUND, DENIED, IO. */
int atoll_lease_record_read(const char *path, struct atoll_lease_record *ret_record, struct atoll_err *err);

/* Provably gone, as seen from self: same kernel and no such process, same host that was started again since, or same job with
 * fewer restarts. */
int atoll_lease_holder_is_dead(const struct atoll_lease_holder *holder,
                               const struct atoll_lease_holder *self);

#endif

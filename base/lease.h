/* lease.h - who owns a folder: claims numbered by epoch, on any shared file system.
 * Layer: base.  No clock inside: times are given, monotonic and the caller's own.
 *
 * DIR/lease/000007 is the claim of epoch 7; the highest number is the one that holds.  A claim is made by link(2) of a
 * prepared file, which one caller alone wins on POSIX and NFS alike; no flock, no fcntl lock, no comparison of clocks of
 * two machines.  The holder rewrites a counter in its file (its beat); whoever has watched a beat stand still for the
 * lease's time on its own clock may claim the next epoch.  What the old holder writes later must be
 * fenced by the files it writes to: the epoch goes into them, and a reader takes nothing from an older one. */
#ifndef ATOLL_BASE_LEASE_H
#define ATOLL_BASE_LEASE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/err.h"

#define ATOLL_LEASE_TIME_S 90.0 /* a beat that stands still for so long is one of a lost holder */
#define ATOLL_LEASE_BEAT_S 10.0 /* the holder renews so often */

/* Who claims. */
struct atoll_lease_holder {
    char job[64];      /* "local", a scheduler's job id */
    uint32_t restarts; /* of that job under the same id (SLURM_RESTART_COUNT) */
    char host[64];
    char boot[40]; /* of the host's running kernel and pid namespace */
    int64_t pid;
    uint64_t pid_start; /* start of that process in clock ticks since boot, 0 not known */
};
/* Of this process; job and restarts are the caller's. */
void atoll_lease_holder_self(const char *job, uint32_t restarts, struct atoll_lease_holder *ret_holder);

enum atoll_lease_state {
    ATOLL_LEASE_FREE, /* never claimed */
    ATOLL_LEASE_HELD,
    ATOLL_LEASE_RELEASED, /* its holder left in order */
    ATOLL_LEASE_DEAD /* its holder is provably gone: same kernel and no such process, the same host under a later kernel, or
                             the same job with a lower count of restarts */
};
struct atoll_lease_seen {
    enum atoll_lease_state state;
    uint32_t epoch; /* 0: never claimed */
    uint64_t beat;
    struct atoll_lease_holder holder;
};
/* The newest claim below DIR, judged from self's place (may be NULL: then nothing is DEAD).  A file torn by its writer counts
 * as HELD with a beat of its own.  Errors: IO, DENIED. */
int atoll_lease_look(const char *dir, const struct atoll_lease_holder *self,
                     struct atoll_lease_seen *ret_seen, struct atoll_err *err);

/* Watches one folder's lease: how long the beat has stood still, as far as this watcher saw. */
struct atoll_lease_watch {
    uint32_t epoch;
    uint64_t beat;
    double since_ns;
    int is_started;
};
/* Returns for how many seconds nothing has changed. */
double atoll_lease_watch_note(struct atoll_lease_watch *watch, const struct atoll_lease_seen *seen,
                              double now_ns);

struct atoll_lease;
/* Claims the epoch after the newest one where that is FREE, RELEASED or DEAD, or where its epoch is silent_epoch (which the
 * caller has watched for ATOLL_LEASE_TIME_S; 0 none).  ops: NULL = the real calls; borrowed.  Errors: BUSY names job, host
 * and pid of the holder (also when somebody else was faster), DENIED, FULL, IO. */
struct atoll_lease *atoll_lease_claim(const char *dir, const struct atoll_lease_holder *self,
                                      uint32_t silent_epoch, const struct atoll_file_ops *ops,
                                      struct atoll_err *err);
/* The same, and the epoch is above `after` in any case: the number that writers have come to without leases. */
struct atoll_lease *atoll_lease_claim_after(const char *dir, const struct atoll_lease_holder *self,
                                            uint32_t silent_epoch, uint32_t after,
                                            const struct atoll_file_ops *ops, struct atoll_err *err);
/* The next beat.  BUSY: a newer claim exists, this one is lost for good: write nothing more.  Others: worth repeating. */
int atoll_lease_renew(struct atoll_lease *lease, struct atoll_err *err);
uint32_t atoll_lease_epoch(const struct atoll_lease *lease);
/* The claim that this one followed, as it was judged: HELD when it was taken over by its silence. */
struct atoll_lease_seen atoll_lease_before(const struct atoll_lease *lease);
/* Marks it released unless it is lost, and frees it; NULL is fine. */
void atoll_lease_release(struct atoll_lease *lease);

#endif

/* spool_lease.h - what one server knows of leases: its own, and those of others that it watches.
 * Layer: llm-gateway, private.
 *
 * A lease is a file NAME.lease-N of one line.  Who creates N, exclusively, has it until somebody creates N+1: so a lease that
 * is taken over needs no removal of the old one, and of two who take over one is first.  Its holder writes it anew, with a
 * count; it is stale for a looker who has seen the same bytes for lease_s by a clock of its own.  Clocks of nodes are never
 * compared; the time in the line is for people. */
#ifndef ATOLL_LLM_GATEWAY_SPOOL_SPOOL_LEASE_H
#define ATOLL_LLM_GATEWAY_SPOOL_SPOOL_LEASE_H

#include "llm-gateway/spool/spool_folder.h"

#define SPOOL_HOLDER_BYTES 64
#define SPOOL_NOTE_LIMIT   65536 /* of one folder */

struct atoll_spool_note {
    char name[ATOLL_SPOOL_NAME_BYTES];
    int is_held; /* by us */
    unsigned epoch;
    uint64_t count;       /* held: how often it was written */
    uint64_t fingerprint; /* watched: of its bytes */
    double since_ns;      /* held: last written; watched: since when the bytes are the same */
    double read_ns;       /* watched */
};

/* The notes of one folder. */
struct atoll_spool_shelf {
    struct atoll_spool_note *notes; /* owned, in no order */
    size_t count, capacity;
};

struct atoll_spool_holder {
    const char *root; /* borrowed */
    char name[SPOOL_HOLDER_BYTES], tag[17];
    double lease_ns;
};

void atoll_spool_shelf_fini(struct atoll_spool_shelf *shelf);
struct atoll_spool_note *atoll_spool_shelf_find(const struct atoll_spool_shelf *shelf, const char *name);
void atoll_spool_shelf_remove(struct atoll_spool_shelf *shelf, struct atoll_spool_note *note);
/* Forgets watched leases that are in folder no more. */
void atoll_spool_shelf_prune(struct atoll_spool_shelf *shelf, const struct atoll_spool_folder *folder);

/* Takes the lease of a request without a reply if it is free: 1 and a note that is held; 0: another has it; -1. */
int atoll_spool_lease_take(const struct atoll_spool_holder *holder, struct atoll_spool_shelf *shelf,
                           const struct atoll_spool_entry *entry, double now_ns,
                           struct atoll_spool_note **ret_note, struct atoll_err *err);
/* Writes a held lease anew when a third of its time is over: 1; 0: it is lost; -1. */
int atoll_spool_lease_renew(const struct atoll_spool_holder *holder, struct atoll_spool_note *note,
                            double now_ns, struct atoll_err *err);
/* Removes the files of a held lease and the note. */
void atoll_spool_lease_end(const struct atoll_spool_holder *holder, struct atoll_spool_shelf *shelf,
                           struct atoll_spool_note *note);

/* The holder and tag that a lease's line names; -1: it is none.  Any bytes. */
int atoll_spool_lease_parse(const char *line, size_t length, char ret_name[SPOOL_HOLDER_BYTES],
                            char ret_tag[17]);

#endif

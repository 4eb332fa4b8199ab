/* prior.h - what a campaign starts with beside its tasks: SOURCE and HINT events taken over from earlier campaigns,
 * frozen in DIR/prior.atl so that neither start nor replay needs those campaigns again (docs/spec/archive.md).
 * Layer: archive-h5.  The file is a sequence of blobs (u32 length, atoll_event_encode); the option `prior` in
 * campaign.yaml is the BLAKE2b of its bytes. */
#ifndef ATOLL_ARCHIVE_H5_CAMPAIGN_PRIOR_H
#define ATOLL_ARCHIVE_H5_CAMPAIGN_PRIOR_H

#include "archive-h5/campaign/campaign.h"
#include "core/event.h"

#define ATOLL_PRIOR_FILE        "prior.atl"
#define ATOLL_PRIOR_OPTION      "prior"
#define ATOLL_PRIOR_LIMIT_BYTES ((size_t)256 << 20)

struct atoll_prior {
    void *bytes; /* owned; NULL: the campaign has none */
    size_t length;
    uint64_t count; /* of events */
};

/* Appends an event, which must be a SOURCE or HINT. */
void atoll_prior_put(struct atoll_buffer *out, const struct atoll_event *event);
/* Of an open campaign; one without has count 0.  ATOLL_E_CORRUPT when the file is missing or is not the one that the
 * campaign was made with, PROTOCOL when it does not decode. */
int atoll_prior_read(const struct atoll_campaign *campaign, struct atoll_prior *ret_prior,
                     struct atoll_err *err);
void atoll_prior_fini(struct atoll_prior *prior);
/* The next event: *cursor starts at 0.  1, 0 after the last, -1.  Texts are copied into arena. */
int atoll_prior_next(const struct atoll_prior *prior, size_t *cursor, struct atoll_arena *arena,
                     struct atoll_event *ret_event, struct atoll_err *err);

#endif

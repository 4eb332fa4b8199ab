/* reply.h - one HTTP reply of the fault server: its bytes, and how they go out.
 * Layer: tests.  Lifetime: init/fini. */
#ifndef ATOLL_TESTS_PROVIDER_REPLY_H
#define ATOLL_TESTS_PROVIDER_REPLY_H

#include "base/buffer.h"
#include "tests/provider/scenario.h"
#include "tests/provider/tally.h"

struct reply {
    struct atoll_buffer bytes;       /* head and body */
    size_t repeat_at, repeat_length; /* this part goes out repeat_count times more */
    uint64_t repeat_count;
    uint64_t break_at; /* UINT64_MAX: it is whole */
    enum scenario_break break_kind;
    size_t step_bytes; /* 0: as they fit */
    double slow_ms, delay_ms;
    int is_closed; /* the connection ends with it */
    /* ---- for the tally ---- */
    int is_counted;
    enum tally_end end; /* when all of it has gone out */
    char id[TALLY_ID_BYTES];
    double input, output;
};

void reply_init(struct reply *reply);
void reply_fini(struct reply *reply);
uint64_t reply_length(const struct reply *reply);
/* The bytes at an offset: a run of at least one where offset < length. */
const unsigned char *reply_at(const struct reply *reply, uint64_t offset, size_t *ret_length);
/* Status line and the headers that every reply has; the caller puts more, then reply_body. */
void reply_head(struct reply *reply, int status, const char *type);
/* Content-Length and all of a body. */
void reply_body(struct reply *reply, const void *bytes, size_t length);
void reply_json(struct reply *reply, int status, const struct atoll_buffer *body);
void reply_say(struct reply *reply, int status, const char *message);

#endif

/* tally.h - what the fault server was asked and what it answered, by the id in the prompt.
 * Layer: tests.  Lifetime: init/fini. */
#ifndef ATOLL_TESTS_PROVIDER_TALLY_H
#define ATOLL_TESTS_PROVIDER_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define TALLY_ID_BYTES 96

struct tally_row {
    char id[TALLY_ID_BYTES];
    unsigned seen, answered, refused,
        broken;             /* refused: a whole reply that is no answer; broken: not a whole reply */
    uint64_t input, output; /* tokens of whole answers */
    uint64_t broken_input,
        broken_output; /* of answers that were broken off: a provider may count these too */
};

struct tally {
    struct tally_row **rows; /* open addressing; rows stay where they are */
    size_t capacity, count;
    struct tally_row sum;
    uint64_t connections, open, requests;
};

void tally_init(struct tally *tally);
void tally_fini(struct tally *tally); /* also before starting anew */
/* Never NULL: aborts without memory. */
struct tally_row *tally_row(struct tally *tally, const char *id);
enum tally_end { TALLY_ANSWERED, TALLY_REFUSED, TALLY_BROKEN };
void tally_note(struct tally *tally, const char *id, enum tally_end end, double input, double output);
void tally_print(const struct tally *tally, int has_ids, struct atoll_buffer *out);

#endif

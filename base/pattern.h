/* pattern.h - regular expressions from strangers: no pattern and no text makes matching slow, for it goes through all ways at
 * once and never back (Thompson, "Regular Expression Search Algorithm", 1968).
 * Layer: base, pure.  Plain values.
 *
 * Letters match in either case.  . any byte, [a-z] [^a-z], \w \d \s \b, * + ?, ( ) and |, ^ and $; any other character stands
 * for itself, behind a backslash every one. */
#ifndef ATOLL_BASE_PATTERN_H
#define ATOLL_BASE_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATOLL_PATTERN_LIMIT 128 /* bytes of one */
#define ATOLL_PATTERN_STEPS 384 /* that one may come to */

struct atoll_pattern {
    uint32_t count;
    struct atoll_pattern_step {
        uint8_t kind;
        int16_t next, other; /* how far away what may follow is */
        uint8_t bytes[32];   /* that it takes, a bit each */
    } steps[ATOLL_PATTERN_STEPS];
};

/* Errors: INPUT, with the place. */
int atoll_pattern_parse(const char *text, struct atoll_pattern *ret_pattern, struct atoll_err *err);
/* 1: it matches somewhere in the text (one line of it); 0 not, or what it takes is beyond *work.  work: steps that may still
 * be taken, lessened by those that were. */
int atoll_pattern_matches(const struct atoll_pattern *pattern, const char *text, size_t length,
                          uint64_t *work);

#endif

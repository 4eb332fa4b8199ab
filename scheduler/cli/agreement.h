/* agreement.h - whether a ratio that was measured again agrees with the recorded one: their intervals meet.  Layer: scheduler.  Pure. */
#ifndef ATOLL_SCHEDULER_CLI_AGREEMENT_H
#define ATOLL_SCHEDULER_CLI_AGREEMENT_H

#include <stddef.h>

/* A speedup with its interval of 95 %.  ratio 0: there is none; hi 0: it has no interval (journals from before there were any). */
struct atoll_ratio {
    double ratio, lo, hi;
};

enum atoll_agreement_kind {
    ATOLL_AGREEMENT_UNRECORDED, /* the campaign made no such comparison */
    ATOLL_AGREEMENT_UNMEASURED, /* measured again, and nothing came of it: its verdict says why */
    ATOLL_AGREEMENT_AGREES,
    ATOLL_AGREEMENT_DISAGREES
};

struct atoll_agreement {
    enum atoll_agreement_kind kind;
    struct atoll_ratio recorded, measured; /* one without an interval is as long as its ratio */
    double
        times_apart; /* how many times the intervals are apart; 1 when they meet, 0 when there is nothing to compare */
};

struct atoll_agreement atoll_agreement_of(struct atoll_ratio recorded, struct atoll_ratio measured);
/* One line without an end.  Returns ret_text. */
const char *atoll_agreement_text(const struct atoll_agreement *agreement, char *ret_text, size_t bytes);

#endif

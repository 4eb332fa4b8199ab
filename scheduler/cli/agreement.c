/* agreement.c - the two intervals. */
#include "scheduler/cli/agreement.h"

#include <stdio.h>

#include "core/stats.h"

static struct atoll_ratio with_interval(struct atoll_ratio r)
{
    return r.ratio > 0 && !(r.hi > 0) ? (struct atoll_ratio){r.ratio, r.ratio, r.ratio} : r;
}

struct atoll_agreement atoll_agreement_of(struct atoll_ratio recorded, struct atoll_ratio measured)
{
    struct atoll_agreement a = {ATOLL_AGREEMENT_UNRECORDED, with_interval(recorded), with_interval(measured),
                                0};

    if (!(recorded.ratio > 0))
        return a;
    a.kind = ATOLL_AGREEMENT_UNMEASURED;
    if (!(measured.ratio > 0))
        return a;
    a.times_apart = atoll_interval_gap(a.measured.lo, a.measured.hi, a.recorded.lo, a.recorded.hi);
    a.kind = a.times_apart > 1 ? ATOLL_AGREEMENT_DISAGREES : ATOLL_AGREEMENT_AGREES;
    return a;
}

const char *atoll_agreement_text(const struct atoll_agreement *a, char *ret_text, size_t bytes)
{
    int length;

    if (a->kind == ATOLL_AGREEMENT_UNRECORDED) {
        snprintf(ret_text, bytes, "the campaign made no final comparison to hold this against");
        return ret_text;
    }
    length = snprintf(ret_text, bytes, "recorded %.2fx (%.2f to %.2f), ", a->recorded.ratio, a->recorded.lo,
                      a->recorded.hi);
    if (length < 0 || (size_t)length >= bytes)
        return ret_text;
    if (a->kind == ATOLL_AGREEMENT_UNMEASURED) {
        snprintf(ret_text + length, bytes - (size_t)length, "not measured again");
        return ret_text;
    }
    length += snprintf(ret_text + length, bytes - (size_t)length,
                       "measured %.2fx (%.2f to %.2f): ", a->measured.ratio, a->measured.lo, a->measured.hi);
    if ((size_t)length >= bytes)
        return ret_text;
    if (a->kind == ATOLL_AGREEMENT_DISAGREES) {
        snprintf(ret_text + length, bytes - (size_t)length,
                 "they disagree, %.2f times the record; the intervals are %.2f times apart",
                 a->measured.ratio / a->recorded.ratio, a->times_apart);
    } else {
        snprintf(ret_text + length, bytes - (size_t)length, "they agree");
    }
    return ret_text;
}

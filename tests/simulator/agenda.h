/* agenda.h - virtual time: what is to happen when, the earliest first, equal times in the order of their entry.
 * Layer: tests.  Lifetime: zero-initialised/fini. */
#ifndef ATOLL_TESTS_SIMULATOR_AGENDA_H
#define ATOLL_TESTS_SIMULATOR_AGENDA_H

#include <stdint.h>

#include "base/err.h"

struct atoll_agenda_entry {
    int64_t when_ns;
    uint64_t turn; /* set by add */
    uint32_t what, which;
    uint64_t number, attempt;
};

struct atoll_agenda {
    struct atoll_agenda_entry *entries; /* a binary heap */
    uint32_t count, capacity;
    uint64_t turns;
};

void atoll_agenda_fini(struct atoll_agenda *agenda);
int atoll_agenda_add(struct atoll_agenda *agenda, const struct atoll_agenda_entry *entry,
                     struct atoll_err *err);
/* 1, or 0 when nothing is to happen any more. */
int atoll_agenda_take(struct atoll_agenda *agenda, struct atoll_agenda_entry *ret_entry);

#endif

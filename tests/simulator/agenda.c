#include "tests/simulator/agenda.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void atoll_agenda_fini(struct atoll_agenda *agenda)
{
    free(agenda->entries);
    memset(agenda, 0, sizeof(*agenda));
}

static int before(const struct atoll_agenda_entry *a, const struct atoll_agenda_entry *b)
{
    return a->when_ns != b->when_ns ? a->when_ns < b->when_ns : a->turn < b->turn;
}

int atoll_agenda_add(struct atoll_agenda *agenda, const struct atoll_agenda_entry *entry,
                     struct atoll_err *err)
{
    if (atoll_array_reserve(&agenda->entries, &agenda->capacity, agenda->count + 1, sizeof(*entry), err))
        return -1;
    struct atoll_agenda_entry added = *entry;
    added.turn = agenda->turns++;
    uint32_t at = agenda->count++;
    for (; at && before(&added, &agenda->entries[(at - 1) / 2]); at = (at - 1) / 2)
        agenda->entries[at] = agenda->entries[(at - 1) / 2];
    agenda->entries[at] = added;
    return 0;
}

int atoll_agenda_take(struct atoll_agenda *agenda, struct atoll_agenda_entry *ret_entry)
{
    if (!agenda->count)
        return 0;
    struct atoll_agenda_entry *entries = agenda->entries, last = entries[--agenda->count];
    *ret_entry = entries[0];
    uint32_t at = 0, child;
    for (; (child = 2 * at + 1) < agenda->count; at = child) {
        child += child + 1 < agenda->count && before(&entries[child + 1], &entries[child]);
        if (!before(&entries[child], &last))
            break;
        entries[at] = entries[child];
    }
    entries[at] = last;
    return 1;
}

#include "scheduler/knowledge/finding.h"

#include <stdio.h>

#define PLACE_BYTES 320

const char *atoll_finding_result_name(enum atoll_finding_result result)
{
    static const char *const names[ATOLL_FINDING_COUNT] = {"ok", "failed", "skipped", "note"};
    return (unsigned)result < ATOLL_FINDING_COUNT ? names[result] : "unknown";
}

void atoll_finding_tell(atoll_finding_row *row, void *context, enum atoll_finding_result result,
                        const struct atoll_knowledge_entry *entry, const char *what, const char *text)
{
    char place[PLACE_BYTES];
    snprintf(place, sizeof(place), "%s:%u", entry->path, entry->line);
    const struct atoll_finding f = {
        .result = result, .place = place, .id = entry->id, .what = what, .text = text};
    row(context, &f);
}

/* finding.h - what a look at knowledge came to, told one by one.
 * Layer: scheduler.  Plain values. */
#ifndef ATOLL_SCHEDULER_KNOWLEDGE_FINDING_H
#define ATOLL_SCHEDULER_KNOWLEDGE_FINDING_H

#include "core/knowledge/entry.h"

enum atoll_finding_result {
    ATOLL_FINDING_OK,
    ATOLL_FINDING_FAILED,
    ATOLL_FINDING_SKIPPED, /* nobody here can tell */
    ATOLL_FINDING_NOTE,    /* no fault, but worth knowing */
    ATOLL_FINDING_COUNT
};
const char *
atoll_finding_result_name(enum atoll_finding_result result); /* "ok", "failed", "skipped", "note" */

/* Texts are borrowed during the call. */
struct atoll_finding {
    enum atoll_finding_result result;
    const char *place; /* "constraints/a.yaml:3", "hints.yaml"; "" where text begins with it */
    const char *id;    /* of the entry, "" none */
    const char *what;  /* "wrong", "right with clang" ... */
    const char *text;  /* sentence, "" none */
};
typedef void atoll_finding_row(void *context, const struct atoll_finding *finding);

/* Of an entry, with its place. */
void atoll_finding_tell(atoll_finding_row *row, void *context, enum atoll_finding_result result,
                        const struct atoll_knowledge_entry *entry, const char *what, const char *text);

#endif

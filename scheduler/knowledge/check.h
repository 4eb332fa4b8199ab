/* check.h - whether what knowledge says is so (`atoll knowledge check`): files parse, references resolve, code compiles or fails as it
 * is told.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_KNOWLEDGE_CHECK_H
#define ATOLL_SCHEDULER_KNOWLEDGE_CHECK_H

#include "core/knowledge/knowledge_base.h"

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

struct atoll_knowledge_check_settings {
    const char *only; /* entries alone whose id has this in it; NULL or "": all, and what is no entry */
};

/* Tells row of everything that was looked at.  -1: a failure of ours. */
int atoll_knowledge_check(const struct atoll_knowledge_pack *pack,
                          const struct atoll_knowledge_check_settings *settings, atoll_finding_row *row,
                          void *context, struct atoll_err *err);

#endif

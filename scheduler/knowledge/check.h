/* check.h - whether what knowledge says is so (`atoll knowledge check`): files parse, references resolve, code compiles or fails as it
 * is told.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_KNOWLEDGE_CHECK_H
#define ATOLL_SCHEDULER_KNOWLEDGE_CHECK_H

#include "core/knowledge/pack.h"
#include "scheduler/knowledge/finding.h"

struct atoll_knowledge_check_settings {
    const char *only;   /* entries alone whose id has this in it; NULL or "": all, and what is no entry */
    int compiles;       /* code, too */
    int cache;          /* what compilers said in earlier checks is used */
    unsigned choices;   /* of a template that must compile, besides the first one */
    const char *python; /* of Triton: a path, "auto" or "none" */
};

/* Tells row of everything that was looked at.  -1: a failure of ours. */
int atoll_knowledge_check(const struct atoll_knowledge_pack *pack,
                          const struct atoll_knowledge_check_settings *settings, atoll_finding_row *row,
                          void *context, struct atoll_err *err);

#endif

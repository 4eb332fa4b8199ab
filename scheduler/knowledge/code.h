/* code.h - whether code of knowledge does what its entry says: compiled as candidates are, or refused with the message that is named.
 * Layer: scheduler.  Lifetime: create/destroy.  Single owner. */
#ifndef ATOLL_SCHEDULER_KNOWLEDGE_CODE_H
#define ATOLL_SCHEDULER_KNOWLEDGE_CODE_H

#include "core/knowledge/knowledge_base.h"
#include "scheduler/knowledge/finding.h"

struct atoll_check_code;

/* base, python (of Triton, as a setup says it): borrowed.  cache: verdicts of earlier checks are used.  choices: of a template that
 * must compile, so many at most besides the first. */
struct atoll_check_code *atoll_check_code_create(const struct atoll_knowledge_base *base, const char *python,
                                                 int cache, unsigned choices, struct atoll_err *err);
void atoll_check_code_destroy(struct atoll_check_code *code); /* NULL is fine */
/* Queues an entry's code.  task: what its plans are of (borrowed until finish); NULL: the check's own. */
int atoll_check_code_add(struct atoll_check_code *code, const struct atoll_knowledge_entry *entry,
                         const struct atoll_task *task, struct atoll_err *err);
/* Waits for all and tells of each.  Errors: MEMORY. */
int atoll_check_code_finish(struct atoll_check_code *code, atoll_finding_row *row, void *context,
                            struct atoll_err *err);

#endif

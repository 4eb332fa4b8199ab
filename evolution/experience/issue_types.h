/* issue_types.h - types of issues that an analyser made up and that were worth something: a kernel that worked on the stage which
 * was opened for one became faster.  From then on every analyser of the campaign is offered them (docs/adr/0044).
 * Layer: evolution, pure.  Lifetime: create/destroy; single owner; built again from events. */
#ifndef ATOLL_EVOLUTION_EXPERIENCE_ISSUE_TYPES_H
#define ATOLL_EVOLUTION_EXPERIENCE_ISSUE_TYPES_H

#include "core/ask.h"
#include "core/briefing.h"

#define ATOLL_ISSUE_TYPE_LIMIT 64 /* of a campaign; what comes later is not kept */
#define ATOLL_ISSUE_TYPES_TOLD 12

struct atoll_issue_types;

struct atoll_issue_types *atoll_issue_types_create(struct atoll_err *err);
void atoll_issue_types_destroy(struct atoll_issue_types *types); /* NULL is fine */
/* A kernel became gain times as fast by working on the stage of these items (of an analysis): those among them that are issues of
 * this stage, of a type that core/issue.h has not, have won once more. */
void atoll_issue_types_won(struct atoll_issue_types *types, const struct atoll_reply_item *items,
                           uint32_t count, uint8_t stage, double gain);
/* Those with the most wins first, the older first among equals; texts are borrowed until the next has won. */
size_t atoll_issue_types_list(struct atoll_issue_types *types, size_t limit, struct atoll_brief *ret_briefs);

#endif

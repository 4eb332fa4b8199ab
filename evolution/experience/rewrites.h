/* rewrites.h - the optimization memory: for every task and device model the last rewrites that a model made of slow and fast
 * kernels, the newest first (papers/004 2.3).
 * Layer: evolution, pure.  Lifetime: create/destroy; single owner; built again from REPLY events. */
#ifndef ATOLL_EVOLUTION_EXPERIENCE_REWRITES_H
#define ATOLL_EVOLUTION_EXPERIENCE_REWRITES_H

#include "core/ask.h"
#include "core/briefing.h"

struct atoll_rewrites;

/* size: rewrites that each queue holds, 1..ATOLL_BRIEF_LIMIT. */
struct atoll_rewrites *atoll_rewrites_create(uint32_t size, struct atoll_err *err);
void atoll_rewrites_destroy(struct atoll_rewrites *rewrites); /* NULL is fine */
/* The rewrites among a reply's items, in their order.  MEMORY. */
int atoll_rewrites_add(struct atoll_rewrites *rewrites, uint32_t task, uint32_t model,
                       const struct atoll_reply *reply, struct atoll_err *err);
/* Newest first; texts are borrowed until the next is added. */
size_t atoll_rewrites_list(const struct atoll_rewrites *rewrites, uint32_t task, uint32_t model, size_t limit,
                           struct atoll_brief *ret_briefs);

#endif

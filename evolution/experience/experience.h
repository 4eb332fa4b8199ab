/* experience.h - the experience library: hints that are told where a diagnosis calls for them, credited by what followed, and told no
 * more when they lose (papers/001 3.3.2, 3.4).
 * Layer: evolution, pure.  Lifetime: create/destroy; single owner.  Nothing of it is saved: it is built again from the hints that a
 * campaign froze and from its events, and the same calls give the same library.  One library serves all tasks of a campaign.
 * What came of hints: core/experience/hint_ledger.h.
 */
#ifndef ATOLL_EVOLUTION_EXPERIENCE_EXPERIENCE_H
#define ATOLL_EVOLUTION_EXPERIENCE_EXPERIENCE_H

#include "core/ask.h"
#include "core/briefing.h"
#include "core/experience/hint.h"

#define ATOLL_EXPERIENCE_HINT_LIMIT 2048 /* of a library: what a file may hold, and as many distilled ones */
#define ATOLL_EXPERIENCE_TOLD       6    /* of one ask */

struct atoll_experience;
struct atoll_experience *atoll_experience_create(struct atoll_err *err);
void atoll_experience_destroy(struct atoll_experience *experience); /* NULL is fine */

/* Copies a hint; one that is there already is left as it is. ret_id: may be NULL.  Errors: INPUT, LIMIT, MEMORY. */
int atoll_experience_add_hint(struct atoll_experience *experience, const struct atoll_experience_hint *hint,
                              struct atoll_id *ret_id, struct atoll_err *err);
/* What a model distilled: hostile text, made to fit. 1; 0: nothing that a diagnosis could call for, or no room; -1: MEMORY. */
int atoll_experience_add_item(struct atoll_experience *experience, const struct atoll_reply_item *item,
                              const char *language, const char *device, struct atoll_err *err);

/* What a prompt is about. */
struct atoll_experience_query {
    const struct atoll_diagnosis *diagnosis;  /* of the parent; NULL: there is none yet */
    const char *language, *device, *category; /* device: a family; "" unknown */
    uint8_t
        role; /* enum atoll_island_role; COUNT: none. An island is told hints of its role and of none; of others where there
                     are none of these, and of all when the parent is wrong */
    uint64_t ask; /* equals go round by it */
};
/* The best first; at most limit and ATOLL_EXPERIENCE_TOLD.  Texts live until the next call or change. */
size_t atoll_experience_retrieve(struct atoll_experience *experience,
                                 const struct atoll_experience_query *query, size_t limit,
                                 struct atoll_brief *ret_briefs);

/* An ask was told these (briefs of other kinds and unknown hints are passed over); also one that was told none. */
int atoll_experience_used(struct atoll_experience *experience, const struct atoll_diagnosis *diagnosis,
                          const struct atoll_briefing *briefing, struct atoll_err *err);
/* A kernel that answers the ask was measured; an ask that is not known is passed over, and so are failures that are not the
 * kernel's.  parent_ns: 0 where the parent is wrong or there is none. */
void atoll_experience_credit(struct atoll_experience *experience, uint64_t ask, double parent_ns,
                             enum atoll_verdict verdict, double child_ns);

/* ---- as it stands ---- */

struct atoll_experience_standing {
    const struct atoll_experience_hint *hint; /* borrowed */
    struct atoll_id id;
    struct atoll_hint_statistics own; /* of this campaign */
    double confidence, lift;          /* with what earlier ones said */
    int is_dropped;
};
size_t atoll_experience_count(const struct atoll_experience *experience);
void atoll_experience_standing(const struct atoll_experience *experience, size_t index,
                               struct atoll_experience_standing *ret_standing);

#endif

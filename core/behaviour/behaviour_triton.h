/* behaviour_triton.h - the classifier's part for language "triton" (behaviour.h).
 * Layer: core, private to behaviour*.c.  Pure; hostile input. */
#ifndef ATOLL_CORE_BEHAVIOUR_BEHAVIOUR_TRITON_H
#define ATOLL_CORE_BEHAVIOUR_BEHAVIOUR_TRITON_H

#include "core/behaviour/behaviour.h"

/* plan and choice may be NULL. */
struct atoll_behaviour atoll_behaviour_triton(const char *body, const struct atoll_plan *plan,
                                              const struct atoll_choice *choice);

#endif

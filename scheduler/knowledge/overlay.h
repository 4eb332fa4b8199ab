/* overlay.h - the folders of knowledge as a run that begins now would read them: what is installed, the site's (ATOLL_SITE), the
 * user's, those given.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_KNOWLEDGE_OVERLAY_H
#define ATOLL_SCHEDULER_KNOWLEDGE_OVERLAY_H

#include "core/knowledge/pack.h"

/* Errors: those of atoll_knowledge_pack_load and of atoll_site_load. */
struct atoll_knowledge_pack *atoll_knowledge_overlay_load(const char *const *given, size_t count,
                                                          struct atoll_err *err);

#endif

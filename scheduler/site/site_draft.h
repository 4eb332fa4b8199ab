/* site_draft.h - a profile while its file is read.
 * Layer: scheduler, private to site*.c.  Lives in the profile's arena. */
#ifndef ATOLL_SCHEDULER_SITE_SITE_DRAFT_H
#define ATOLL_SCHEDULER_SITE_SITE_DRAFT_H

#include "base/yaml.h"
#include "scheduler/site/site.h"

#define ATOLL_SITE_ARENA_BYTES ((size_t)8 << 20)

struct atoll_site_draft {
    struct atoll_site site; /* first: destroy gets its address */
    struct atoll_arena *arena;
    const char *text;
    size_t text_length;
    struct atoll_site_variable environment[ATOLL_SITE_WORD_LIMIT];
};

/* site_keys.c: reads the whole map into the draft's profile, defaults first, and checks what keys say together. */
int atoll_site_read_keys(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *root);

#endif

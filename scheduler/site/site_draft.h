/* site_draft.h - a profile while its file is read, and the readers of its values.
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

/* Names of enumerated words, in the order of their values. */
struct atoll_site_choice {
    const char *what;
    const char *const *names;
    size_t count;
};
/* Index of the scalar among the names into *ret_index. */
int atoll_site_choose(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                      const struct atoll_site_choice *choice, size_t *ret_index);

/* site_value.c; walk->owner is the draft. */
atoll_yaml_reader atoll_site_read_name;     /* const char *: letters, digits, . _ - */
atoll_yaml_reader atoll_site_read_word;     /* const char *: printable, no blank, no leading dash */
atoll_yaml_reader atoll_site_read_words;    /* struct atoll_site_words: list of texts */
atoll_yaml_reader atoll_site_read_setup;    /* the same: lines of shell */
atoll_yaml_reader atoll_site_read_scratch;  /* const char *: path with variables, nothing that runs */
atoll_yaml_reader atoll_site_read_signal;   /* const char *: TERM, INT, HUP, QUIT, USR2 */
atoll_yaml_reader atoll_site_read_limit;    /* double, seconds, above 0 */
atoll_yaml_reader atoll_site_read_positive; /* unsigned, at least 1 */
atoll_yaml_reader atoll_site_read_environment;

/* site_keys.c: reads the whole map into the draft's profile, defaults first, and checks what keys say together. */
int atoll_site_read_keys(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *root);

#endif

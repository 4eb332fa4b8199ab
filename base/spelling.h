/* spelling.h - the known word nearest to an unknown one, for messages.  Layer: base, pure. */
#ifndef ATOLL_BASE_SPELLING_H
#define ATOLL_BASE_SPELLING_H

#include <stddef.h>

/* Optimal string alignment distance (insert, delete, replace, swap of neighbours), at most a third of the
 * word.  NULL when nothing is near; ties go to the first. */
const char *atoll_spelling_nearest(const char *word, const char *const *known, size_t count);

#endif

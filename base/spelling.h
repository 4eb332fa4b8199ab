/* spelling.h - the known word nearest to an unknown one, for messages: the one place that suggests names of commands, options,
 * settings, tasks, tables, sites, models, files.  Layer: base. */
#ifndef ATOLL_BASE_SPELLING_H
#define ATOLL_BASE_SPELLING_H

#include <stddef.h>

#define ATOLL_SPELLING_HINT_BYTES 512

/* Optimal string alignment distance (insert, delete, replace, swap of neighbours), at most a third of the
 * word; where none is so near, the first that begins with the word (3 letters or more).  NULL when nothing is near; ties go to
 * the first.  Pure. */
const char *atoll_spelling_nearest(const char *word, const char *const *known, size_t count);

/* What follows a message about an unknown word: "did you mean 'NAME'?", or otherwise where none is near.  Returns ret_hint. */
const char *atoll_spelling_hint(const char *word, const char *const *known, size_t count,
                                const char *otherwise, char ret_hint[ATOLL_SPELLING_HINT_BYTES]);
/* The same for names in one text, with blanks, commas or '|' between them. */
const char *atoll_spelling_hint_in(const char *word, const char *names, const char *otherwise,
                                   char ret_hint[ATOLL_SPELLING_HINT_BYTES]);
/* The name nearest to the first part of a path that is not there, among those that lie beside it; 1 and the path up to it, 0: none.
 * ending: what the names there end with (".yaml") and the path does not; "" nothing. */
int atoll_spelling_near_path(const char *path, const char *ending, char *ret_path, size_t bytes);
/* As a hint. */
const char *atoll_spelling_hint_path(const char *path, const char *otherwise,
                                     char ret_hint[ATOLL_SPELLING_HINT_BYTES]);

#endif

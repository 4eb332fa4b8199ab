/* word_list.h - a text that names several things, "a,b": whether it names one of them, and each of them in turn.
 * Layer: base, pure. */
#ifndef ATOLL_BASE_WORD_LIST_H
#define ATOLL_BASE_WORD_LIST_H

#include <stddef.h>

/* list: words with commas or blanks between them; NULL: none. */
int atoll_word_is_in(const char *list, const char *word);
/* The word that *at begins with, behind commas and blanks: *at is where it stands then, the length is returned; 0: there is none. */
size_t atoll_word_at(const char **at);

#endif

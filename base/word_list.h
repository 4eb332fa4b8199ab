/* word_list.h - a text that names several things, "a,b": whether it names one of them.
 * Layer: base, pure. */
#ifndef ATOLL_BASE_WORD_LIST_H
#define ATOLL_BASE_WORD_LIST_H

/* list: words with commas or blanks between them; NULL: none. */
int atoll_word_is_in(const char *list, const char *word);

#endif

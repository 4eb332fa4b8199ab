/* prompt_change.h - another kernel as far as it matters: what it changed, or the lines that a compiler complains of.
 * Layer: evolution, private to prompt*.c. */
#ifndef ATOLL_EVOLUTION_PROMPT_PROMPT_CHANGE_H
#define ATOLL_EVOLUTION_PROMPT_PROMPT_CHANGE_H

#include "evolution/prompt/prompt_text.h"

/* What `to` changed of `from` as a diff; the whole of it where that is hardly longer, or from is NULL.  cap: as of
 * atoll_prompt_put_code. */
void atoll_prompt_put_change(struct atoll_prompt_text *t, const char *language, const char *from,
                             const char *to, size_t cap);
/* The diff alone; 0: nothing is put, for it is hardly shorter than `to`.  from and to differ. */
int atoll_prompt_put_diff(struct atoll_prompt_text *t, const char *from, const char *to, size_t cap);
/* The same in one line: how many lines came and went, and the first that came. */
void atoll_prompt_put_change_line(struct atoll_prompt_text *t, const char *from, const char *to);
/* The lines of source that a compiler's message quotes, each with those around it; 0: it quotes none. */
int atoll_prompt_put_quoted_lines(struct atoll_prompt_text *t, const char *language, const char *source,
                                  const char *message);

#endif

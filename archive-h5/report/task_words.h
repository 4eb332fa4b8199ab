/* task_words.h - single words of a task's archived text (task.yaml), for views that tell them.
 * Layer: archive-h5. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_TASK_WORDS_H
#define ATOLL_ARCHIVE_H5_REPORT_TASK_WORDS_H

#include <stddef.h>

#include "archive-h5/table/table.h"

/* The word under key, or where `inner` is not NULL under that key of it: ("work", "flops"), ("unseeded", NULL).
 * ret_word: zero-terminated, cut at `bytes`; "" where the text has none or is no YAML.  1: there is one, 0: there is none. */
int atoll_task_word(const struct atoll_tables *tables, const struct atoll_row_task *task, const char *key,
                    const char *inner, char *ret_word, size_t bytes);

#endif

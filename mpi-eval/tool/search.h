/* search.h - a search by words, by a pattern or by both, as the text that answers a model's call.
 * Layer: mpi-eval, pure. */
#ifndef ATOLL_MPI_EVAL_TOOL_SEARCH_H
#define ATOLL_MPI_EVAL_TOOL_SEARCH_H

#include "base/text_excerpt.h"
#include "core/tool.h"

struct atoll_searched {
    char title[256];
    const char *text; /* borrowed until the next */
    size_t length;
};
/* The text at a position of the index; -1: there is none to be shown. */
typedef int atoll_searched_text(void *context, uint32_t position, struct atoll_searched *ret_text);

/* Words rank the texts; of a pattern, a line must match.  order: all positions in the order in which they are shown where there
 * are no words; NULL: as they are.  what: "texts of knowledge".  -1 with INPUT: the pattern is wrong. */
int atoll_search(const struct atoll_text_index *index, const uint32_t *order,
                 const struct atoll_tool_arguments *arguments, atoll_searched_text *text_at, void *context,
                 const char *what, struct atoll_buffer *out, struct atoll_err *err);

#endif

/* line_diff.h - how two texts differ, line by line, in the unified format of diff and patch.  Layer: base, pure. */
#ifndef ATOLL_BASE_LINE_DIFF_H
#define ATOLL_BASE_LINE_DIFF_H

#include "base/buffer.h"

/* Appends "--- a_name", "+++ b_name" and the hunks, with so many equal lines around each; nothing when the texts are equal.  The
 * shortest script (longest common subsequence of lines); texts whose differing middles have more than 4096 x 4096 lines are
 * shown as replaced there.  1 they differ, 0 they are equal, -1 with MEMORY, or LIMIT of the buffer. */
int atoll_line_diff(const char *a_name, const char *a, const char *b_name, const char *b, size_t context,
                    struct atoll_buffer *out, struct atoll_err *err);

#endif

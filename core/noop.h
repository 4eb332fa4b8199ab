/* noop.h - the source of a no-op mutant: another text than its original's, another identity, the same program.
 * Layer: core, pure. */
#ifndef ATOLL_CORE_NOOP_H
#define ATOLL_CORE_NOOP_H

#include "core/buffer.h"
#include "core/id.h"

/* Appends to out the original's text with a comment at its end that names the original (id: of the candidate), and a
 * NUL; every language here has comments as C has them.  One candidate has one mutant. */
void atoll_noop_source(const char *source, const struct atoll_id *original, struct atoll_buffer *out);

#endif

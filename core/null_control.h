/* null_control.h - the source of a null control: another text than its original's, another identity, the same program.
 * Layer: core, pure. */
#ifndef ATOLL_CORE_NULL_CONTROL_H
#define ATOLL_CORE_NULL_CONTROL_H

#include "base/buffer.h"
#include "base/id.h"

/* Appends to out the original's text with a comment at its end that names the original (id: of the candidate), and a
 * NUL; every language here has comments as C has them.  One candidate has one mutant. */
void atoll_null_control_source(const char *source, const struct atoll_id *original, struct atoll_buffer *out);

#endif

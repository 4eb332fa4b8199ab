/* probe.h - asks something that may hang or crash (a driver) in a child process, with a deadline.
 * Layer: base.  The caller must be single-threaded. */
#ifndef ATOLL_BASE_PROBE_H
#define ATOLL_BASE_PROBE_H

#include <jansson.h>

#include "base/err.h"

#define ATOLL_PROBE_BYTES_LIMIT ((size_t)1 << 20) /* of an answer as text */

/* Runs in the child; its answer is an owned object, NULL when it has none. */
typedef json_t *atoll_probe_function(void *context);

/* The answer, owned by the caller.  The child is a process group of its own and is killed at the deadline.  what: names
 * the asked in errors ("the CUDA driver").  NULL: ATOLL_E_TIMEOUT, ATOLL_E_CHILD (killed by a signal, or no answer),
 * ATOLL_E_LIMIT, or why there is no child. */
json_t *atoll_probe(atoll_probe_function *function, void *context, const char *what, double deadline_s,
                    struct atoll_err *err);

#endif

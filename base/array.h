/* array.h - growing arrays, born with a limit.
 * Layer: base. */
#ifndef ATOLL_BASE_ARRAY_H
#define ATOLL_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATOLL_ARRAY_LIMIT (1u << 26) /* elements */
#define ATOLL_NONE        UINT32_MAX /* no element */

/* Makes room for at least count elements in *items (NULL at first; owned by the caller, released with free);
 * doubles, so that pushing is linear. New elements are zeroed.  LIMIT or MEMORY. */
int atoll_array_reserve(void *items, uint32_t *capacity, uint32_t count, size_t element_bytes,
                        struct atoll_err *err);

#endif

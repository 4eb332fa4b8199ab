/* facts.h - a device in words: what a prompt or a report says about it.
 * Layer: core, pure. */
#ifndef ATOLL_CORE_FACTS_H
#define ATOLL_CORE_FACTS_H

#include <stddef.h>

#include "core/message.h"

#define ATOLL_FACTS_BYTES 2048 /* room for every fact */

/* Writes sentences of plain English into ret_text (at most bytes, always ended; NULL-safe for bytes 0) and returns it.
 * The same device gives the same bytes; what is not known (0, "") is left out; texts of the device are cut to printable
 * ASCII.  No uuid, node or key: they say nothing about speed. */
const char *atoll_device_facts(const struct atoll_device_info *device, char *ret_text, size_t bytes);

#endif

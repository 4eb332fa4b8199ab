/* parent.h - the folders above a file that a gateway is about to make.  Layer: llm-gateway. */
#ifndef ATOLL_LLM_GATEWAY_PARENT_H
#define ATOLL_LLM_GATEWAY_PARENT_H

#include "core/err.h"

/* Makes what is missing of them, as `mkdir -p "$(dirname PATH)"` does; path itself is left alone.  LIMIT, DENIED, IO ... */
int atoll_parent_make(const char *path, struct atoll_err *err);

#endif

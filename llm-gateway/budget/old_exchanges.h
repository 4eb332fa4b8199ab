/* old_exchanges.h - exchanges.atl, the recordings of earlier versions: read once, to be converted.
 * Layer: llm-gateway. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_OLD_EXCHANGES_H
#define ATOLL_LLM_GATEWAY_BUDGET_OLD_EXCHANGES_H

#include <stddef.h>

#include "base/err.h"

/* from: exchanges.atl, left as it is; to: a recording, made when it is not there, else added to.  ret_left_bytes: at the end of
 * from, not whole; a kill left them.  After -1 nothing was added. */
int atoll_old_exchanges_convert(const char *from, const char *to, size_t *ret_count, size_t *ret_left_bytes,
                                struct atoll_err *err);

#endif

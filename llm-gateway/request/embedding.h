/* embedding.h - the vectors of an answer to a request of the operation EMBED.
 * Layer: llm-gateway, pure. */
#ifndef ATOLL_LLM_GATEWAY_REQUEST_EMBEDDING_H
#define ATOLL_LLM_GATEWAY_REQUEST_EMBEDDING_H

#include "llm-gateway/request/outcome.h"

#define ATOLL_LLM_EMBEDDING_LENGTH 16384 /* numbers of one vector, at most */

/* One vector for each of the request's `count` texts, in their order, one behind the other, for free(); hostile input.  NULL: INPUT
 * (another count, a text without one, vectors of different lengths, numbers that are none), MEMORY. */
float *atoll_llm_embedding_read(const struct atoll_llm_outcome *outcome, size_t count, size_t *ret_length,
                                struct atoll_err *err);

#endif

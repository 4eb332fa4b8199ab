/* http_server.h - OpenAI-compatible HTTP on loopback, a Unix socket or an address given explicitly (libmicrohttpd).
 * Layer: llm-gateway.  Lifetime: create/destroy.  On the loop's thread.
 *
 *   POST /v1/chat/completions, /v1/embeddings   GET /v1/models   GET /healthz (no token)   GET /metrics
 * A caller that leaves cancels its call. */
#ifndef ATOLL_LLM_GATEWAY_SERVER_HTTP_SERVER_H
#define ATOLL_LLM_GATEWAY_SERVER_HTTP_SERVER_H

#include "llm-gateway/broker/broker.h"
#include "llm-gateway/http/loop.h"
#include "llm-gateway/server/metrics.h"

struct atoll_http_server;
/* token: NULL only on loopback or a Unix socket (mode 0600).  Errors: INPUT (address), BUSY (port), DENIED. */
struct atoll_http_server *atoll_http_server_create(struct atoll_loop *loop, struct atoll_broker *broker,
                                                   const struct atoll_gateway_config *config,
                                                   const struct atoll_secret *token,
                                                   struct atoll_metrics *metrics, struct atoll_err *err);
/* Open requests end with 503. */
void atoll_http_server_destroy(struct atoll_http_server *server);
const char *atoll_http_server_url(const struct atoll_http_server *server); /* with the port it got */

#endif

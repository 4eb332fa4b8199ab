/* http_request.h - one request to the HTTP server, from its headers to the last byte of its response.
 * Layer: llm-gateway, private to http_*.c.
 *
 *   READING -> ASKING -> READY -> SENT           a question to the broker
 *   READING -> SENT                              what the server knows itself, or refuses
 *   ASKING -> LEFT                               the caller is gone: its call is cancelled
 *
 * What is refused is read to its end (within a bound) and thrown away, for a client that is still sending would lose the
 * response in a reset. */
#ifndef ATOLL_LLM_GATEWAY_SERVER_HTTP_REQUEST_H
#define ATOLL_LLM_GATEWAY_SERVER_HTTP_REQUEST_H

#include "llm-gateway/server/http_connection.h"

/* The daemon's callbacks. */
enum MHD_Result atoll_http_request_access(void *server, struct MHD_Connection *connection, const char *url,
                                          const char *method, const char *version, const char *upload,
                                          size_t *upload_length, void **context);
void atoll_http_request_completed(void *server, struct MHD_Connection *connection, void **context,
                                  enum MHD_RequestTerminationCode why);
/* Ends all with 503, as far as that can be done still. */
void atoll_http_requests_close(struct atoll_http_server *server);

#endif

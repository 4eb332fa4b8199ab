/* http_response.h - what the HTTP server answers: completions, lists, errors in OpenAI's form.
 * Layer: llm-gateway, private to http_*.c.  Lifetime: init/fini. */
#ifndef ATOLL_LLM_GATEWAY_SERVER_HTTP_RESPONSE_H
#define ATOLL_LLM_GATEWAY_SERVER_HTTP_RESPONSE_H

#include <microhttpd.h>

#include "llm-gateway/config/config.h"
#include "llm-gateway/request/outcome.h"

struct atoll_http_response {
    int http_status;
    const char *type;        /* content */
    struct atoll_buffer out; /* taken by MHD's response */
    const char *allow;       /* 405: methods */
    unsigned retry_after_s;  /* 0: unsaid */
};
void atoll_http_response_init(struct atoll_http_response *response);
void atoll_http_response_fini(struct atoll_http_response *response);
/* An OpenAI error object: of type server_error from 500 on, else invalid_request_error; code may be NULL. */
void atoll_http_response_refuse(struct atoll_http_response *response, int http_status, const char *code,
                                const char *format, ...) __attribute__((format(printf, 4, 5)));
/* An outcome as JSON; its status after the table in docs/spec/gateway.md. */
void atoll_http_response_outcome(struct atoll_http_response *response,
                                 const struct atoll_llm_outcome *outcome);
void atoll_http_response_models(struct atoll_http_response *response,
                                const struct atoll_gateway_config *config);
/* NULL: no memory; the response's bytes are MHD's from then on. */
struct MHD_Response *atoll_http_response_finish(struct atoll_http_response *response);

#endif

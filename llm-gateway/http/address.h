/* address.h - where a server listens: "127.0.0.1:0", "[::1]:8080", "localhost:0", "unix:PATH".
 * Layer: llm-gateway, pure.  Plain value.  Addresses are numbers: no name is looked up. */
#ifndef ATOLL_LLM_GATEWAY_HTTP_ADDRESS_H
#define ATOLL_LLM_GATEWAY_HTTP_ADDRESS_H

#include <sys/socket.h>

#include "base/err.h"

struct atoll_address {
    struct sockaddr_storage socket;
    socklen_t length;
    int is_unix;
    int is_local; /* loopback or a Unix socket: reachable from this machine alone */
};

/* Errors: INPUT, which shows the forms. */
int atoll_address_parse(const char *text, struct atoll_address *ret_address, struct atoll_err *err);
/* A host as in a URL or a Host header, perhaps with a port or a path behind it: 1 when it names this machine by a number or
 * as localhost.  A name that only begins so, such as localhost.example, is somebody else's. */
int atoll_address_is_here(const char *host);

#endif

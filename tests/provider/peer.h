/* peer.h - one connection to the fault server, plain or TLS: requests are read, replies go out as their scenario says.
 * Layer: tests.  Frees itself when the connection ends. */
#ifndef ATOLL_TESTS_PROVIDER_PEER_H
#define ATOLL_TESTS_PROVIDER_PEER_H

#include <openssl/ssl.h>

#include "llm-gateway/http/loop.h"
#include "tests/provider/service.h"

/* Takes fd, which does not block.  tls: NULL = plain. */
void peer_start(struct atoll_loop *loop, struct service *service, SSL_CTX *tls, int fd);

#endif

/* http_server_state.h - what http_server.c (opens and closes), http_request.c (requests and responses) and
 * http_connection.c (deadlines, the daemon's turns) share; each calls only those behind it.  Private to them.
 * Layer: llm-gateway.
 *
 * libmicrohttpd runs on the loop's thread: its epoll descriptor is watched, MHD_run is called when it is readable and when
 * its timeout says so.  Who sends a byte now and then keeps a connection alive for libmicrohttpd, but not for us. */
#ifndef ATOLL_LLM_GATEWAY_SERVER_HTTP_SERVER_STATE_H
#define ATOLL_LLM_GATEWAY_SERVER_HTTP_SERVER_STATE_H

#include <microhttpd.h>
#include <sys/types.h>

#include "llm-gateway/server/http_server.h"

#define ATOLL_HTTP_PATIENCE_S 60.0 /* for a whole request, or for a response to be taken */

struct atoll_http_request;

/* One TCP or Unix connection. */
struct atoll_http_connection {
    struct atoll_http_server *server;
    int fd;
    int is_reading; /* a request is being read or awaited for the first time, and nothing else is under way */
    double deadline_ns; /* what the client must have done by then; listed while it is set */
    struct atoll_http_connection *next, *previous; /* by deadline: all have the same patience */
    int is_listed;
};

struct atoll_http_server {
    struct atoll_loop *loop;
    struct atoll_broker *broker;
    const struct atoll_gateway_config *config;
    const struct atoll_secret *token; /* NULL: whoever reaches the address may use it */
    struct atoll_metrics *metrics;
    struct MHD_Daemon *daemon;
    int epoll_fd;    /* of the daemon */
    uint64_t runner; /* timer of its next run */
    char url[160];
    char path[108]; /* of the Unix socket, "" none; removed at the end if it is still ours */
    dev_t device;
    ino_t inode;
    int is_unix;
    unsigned connection_count, connection_limit;
    struct atoll_http_connection *first, *last;
    uint64_t patience; /* timer of the first deadline */
    struct atoll_http_request *requests;
    size_t held_bytes; /* of all bodies that are being read */
    int is_closing;
};

/* ---- http_request.c ---- */
/* The daemon's callbacks. */
enum MHD_Result atoll_http_request_access(void *server, struct MHD_Connection *connection, const char *url,
                                          const char *method, const char *version, const char *upload,
                                          size_t *upload_length, void **context);
void atoll_http_request_completed(void *server, struct MHD_Connection *connection, void **context,
                                  enum MHD_RequestTerminationCode why);
/* Ends all with 503, as far as that can be done still. */
void atoll_http_requests_close(struct atoll_http_server *server);

/* ---- http_connection.c ---- */
/* The daemon's callback for connections that begin and end. */
void atoll_http_connection_notify(void *server, struct MHD_Connection *connection, void **context,
                                  enum MHD_ConnectionNotificationCode what);
/* The client has patience_s from now for its next step; 0: it waits for us.  NULL: nothing. */
void atoll_http_connection_expect(struct atoll_http_connection *connection, double patience_s);
/* Runs the daemon now, or with the loop's next turn.  server: an atoll_http_server. */
void atoll_http_daemon_run(void *server);
void atoll_http_daemon_wake(struct atoll_http_server *server);

#endif

/* http_server_state.h - the door's inside: connections with deadlines for what clients must do, visits from a request's first
 * line to its answer's last byte.
 * Layer: llm-gateway, private to server*.c.
 *
 * libmicrohttpd runs on the loop's thread: its epoll descriptor is watched, MHD_run is called when it is readable and when
 * its timeout says so.  A connection that waits for the broker is suspended; meanwhile its descriptor is watched here, for
 * libmicrohttpd does not see callers leave that it does not read from. */
#ifndef ATOLL_LLM_GATEWAY_SERVER_HTTP_SERVER_STATE_H
#define ATOLL_LLM_GATEWAY_SERVER_HTTP_SERVER_STATE_H

#include <microhttpd.h>
#include <sys/types.h>

#include "llm-gateway/http/address.h"
#include "llm-gateway/server/http_server.h"

#define ATOLL_DOOR_BODY_BYTES  ((size_t)8 << 20)    /* of one request */
#define ATOLL_DOOR_HELD_BYTES  ((size_t)256 << 20)  /* of all requests that are being read */
#define ATOLL_DOOR_DRAIN_BYTES ((uint64_t)64 << 20) /* of a refused request, so that its answer can be read */
#define ATOLL_DOOR_PATIENCE_S  60.0                 /* for a whole request, or for an answer to be taken */
#define ATOLL_DOOR_TICK_S      10.0                 /* comments of a waiting stream */

struct atoll_visit;

/* One TCP or Unix connection. */
struct atoll_door_connection {
    struct atoll_server *server;
    int fd;
    int is_used;               /* a request was answered on it */
    struct atoll_visit *visit; /* the one under way */
    double deadline_ns;        /* what the client must have done by then; listed while it is set */
    struct atoll_door_connection *next, *previous; /* by deadline: all have the same patience */
    int is_listed;
};

struct atoll_server {
    struct atoll_loop *loop;
    struct atoll_broker *broker;
    const struct atoll_gateway_config *config;
    const struct atoll_secret *token; /* NULL: whoever reaches the door may use it */
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
    struct atoll_door_connection *first, *last;
    uint64_t patience; /* timer of the first deadline */
    struct atoll_visit *visits;
    size_t held_bytes;
    int is_closing;
};

/* server_listen.c: a socket that listens, and the door's URL; -1. */
int atoll_door_listen(struct atoll_server *server, const char *address, struct atoll_err *err);
void atoll_door_unlink(struct atoll_server *server);

/* server_connection.c */
void atoll_door_notify(void *server, struct MHD_Connection *connection, void **context,
                       enum MHD_ConnectionNotificationCode what);
/* The client has patience_s from now for its next step; 0: it waits for us. */
void atoll_door_expect(struct atoll_door_connection *connection, double patience_s);

/* server.c: lets the daemon run soon. */
void atoll_door_wake(struct atoll_server *server);

/* server_visit.c: the daemon's callbacks. */
enum MHD_Result atoll_door_access(void *server, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_length, void **context);
void atoll_door_completed(void *server, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode why);
/* Ends it with 503 as far as that can be done still. */
void atoll_visit_close(struct atoll_visit *visit);
int atoll_visit_is_reading(const struct atoll_visit *visit);
struct atoll_visit *atoll_visit_next(struct atoll_visit *visit);

/* ---- server_answer.c: texts of answers ---- */
struct atoll_answer {
    int http_status;
    const char *type;        /* content */
    struct atoll_buffer out; /* taken by the response */
    const char *allow;       /* 405: methods */
    unsigned retry_after_s;  /* 0: unsaid */
};
void atoll_answer_init(struct atoll_answer *answer);
void atoll_answer_fini(struct atoll_answer *answer);
/* An OpenAI error object. kind: "invalid_request_error" ...; code may be NULL. */
void atoll_answer_refuse(struct atoll_answer *answer, int http_status, const char *kind, const char *code,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
/* An outcome as JSON; its status after the table. */
void atoll_answer_outcome(struct atoll_answer *answer, const struct atoll_llm_outcome *outcome);
/* The same as server-sent events, appended; what failed becomes an event too. */
void atoll_answer_events(struct atoll_answer *answer, const struct atoll_llm_outcome *outcome,
                         int wants_usage);
/* 1: an outcome of that status is an error and not a completion. */
int atoll_answer_is_error(enum atoll_llm_status status);
void atoll_answer_models(struct atoll_answer *answer, const struct atoll_gateway_config *config);
/* NULL: no memory; the answer's bytes are the response's from then on. */
struct MHD_Response *atoll_answer_response(struct atoll_answer *answer);

#endif

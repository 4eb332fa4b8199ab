/* http_request.h - one request at the door, from its headers to the last byte of its answer.
 * Layer: llm-gateway, private to server*.c.
 *
 *   READING -> ASKING -> READY -> SENT           a question to the broker
 *   READING -> ASKING -> STREAMING               server-sent events that began before the answer was there
 *   READING -> READY -> SENT                     what the door knows itself, or refuses
 *   ASKING, STREAMING -> LEFT                    the caller is gone: its call is cancelled
 *
 * What is refused is read to its end (within a bound) and thrown away, for a client that is still sending would lose the
 * answer in a reset.  An event stream begins with its first comment, a tick after the question, or with the answer:
 * failures that come sooner still have their HTTP status. */
#ifndef ATOLL_LLM_GATEWAY_SERVER_HTTP_REQUEST_H
#define ATOLL_LLM_GATEWAY_SERVER_HTTP_REQUEST_H

#include "llm-gateway/server/http_server_state.h"

enum atoll_visit_state {
    ATOLL_VISIT_READING,
    ATOLL_VISIT_ASKING,
    ATOLL_VISIT_READY,
    ATOLL_VISIT_STREAMING,
    ATOLL_VISIT_SENT,
    ATOLL_VISIT_LEFT
};

enum atoll_door_path {
    ATOLL_DOOR_CHAT,
    ATOLL_DOOR_EMBEDDINGS,
    ATOLL_DOOR_MODELS,
    ATOLL_DOOR_HEALTH,
    ATOLL_DOOR_METRICS,
    ATOLL_DOOR_PATH_COUNT
};

struct atoll_visit {
    struct atoll_server *server;
    struct MHD_Connection *connection;
    struct atoll_door_connection *door; /* may be NULL: no memory for one */
    enum atoll_visit_state state;
    enum atoll_door_path path;
    int is_refused, is_suspended, is_watched;
    uint64_t received;
    struct atoll_buffer body;
    struct atoll_door_ask *ask; /* at the broker */
    uint64_t tick;
    int is_streamed, wants_usage;
    struct atoll_answer answer;
    size_t streamed; /* of the answer's bytes */
    int is_over;     /* no more comes into the stream */
    struct atoll_visit *next, *previous;
};

/* server_judge.c: checks before a byte of the body is kept. */
void atoll_visit_judge(struct atoll_visit *visit, const char *url, const char *method);
void atoll_visit_refuse(struct atoll_visit *visit, int http_status, const char *code, const char *text);
const char *atoll_visit_header(const struct atoll_visit *visit, const char *name); /* "" none */
void atoll_visit_release_body(struct atoll_visit *visit);

/* server_ask.c: 0: the broker has the question, and the visit waits for it; -1: the answer is there. */
int atoll_visit_ask(struct atoll_visit *visit);
/* Nobody wants the call any more. */
void atoll_visit_drop_ask(struct atoll_visit *visit);
/* Between suspend and resume the visit is looked after here and not by the daemon. */
void atoll_visit_suspend(struct atoll_visit *visit);
void atoll_visit_resume(struct atoll_visit *visit);

#endif

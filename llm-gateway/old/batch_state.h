/* batch_state.h - what the sources behind batch.h share.  Private to them.
 * Layer: llm-gateway.
 *
 *   item   one request: its id, and who waits for it, if anybody does in this life
 *   batch  items that were handed in together; its steps: UPLOAD -> CREATE -> LOOK ... LOOK -> FETCH (-> FETCH) */
#ifndef ATOLL_LLM_GATEWAY_OLD_BATCH_STATE_H
#define ATOLL_LLM_GATEWAY_OLD_BATCH_STATE_H

#include <jansson.h>

#include "llm-gateway/old/batch.h"

#define ATOLL_BATCH_ID_BYTES 65 /* of an item: both providers take 64 characters */
#define ATOLL_BATCH_NAME     129
#define ATOLL_BATCH_URL      1024
#define ATOLL_BATCH_ROWS     4096

enum atoll_batch_step {
    ATOLL_BATCH_COLLECT,
    ATOLL_BATCH_UPLOAD, /* the file with the requests */
    ATOLL_BATCH_CREATE,
    ATOLL_BATCH_LOOK,
    ATOLL_BATCH_FETCH,
    ATOLL_BATCH_ENDED /* what is not fetched yet is when somebody asks for it */
};

struct atoll_batch;

struct atoll_batch_item {
    char id[ATOLL_BATCH_ID_BYTES];
    struct atoll_batch *batch;
    char *body;                                                           /* JSON, until it is handed in */
    void (*done)(void *context, const struct atoll_llm_outcome *outcome); /* NULL: nobody waits */
    void *context;
    struct atoll_batch_item *next;        /* of its batch */
    struct atoll_batch_item *next_in_row; /* of the table */
};

struct atoll_batch {
    struct atoll_batches *owner;
    enum atoll_batch_step step;
    char number[ATOLL_BATCH_NAME]; /* the provider's name of it; "" none yet */
    char file[ATOLL_BATCH_NAME];   /* of its requests */
    char fetches[2][ATOLL_BATCH_URL];
    unsigned fetch, tries;
    struct atoll_batch_item *items;
    size_t item_count, waiting_count, body_bytes;
    uint64_t timer, transfer;
    struct atoll_buffer reply; /* of a step; of a fetch: the line that is not whole yet */
    int http_status;
    int is_wrong;                      /* a line was no result */
    struct atoll_batch_errand *errand; /* of the transfer that is under way */
    struct atoll_batch *next;
};

/* A transfer may end after its batch. */
struct atoll_batch_errand {
    struct atoll_batch *batch; /* NULL: it is gone */
};

/* What differs between providers. */
struct atoll_batch_row {
    enum atoll_batch_step first;
    /* Method, path or URL, content type and body of a step. */
    int (*compose)(const struct atoll_batch *batch, enum atoll_batch_step step, char ret_url[ATOLL_BATCH_URL],
                   struct atoll_buffer *body, struct atoll_err *err);
    /* A reply to UPLOAD, CREATE or LOOK: 0 go on (LOOK: it is under way), 1 LOOK: it ended; -1 with err. */
    int (*read)(struct atoll_batch *batch, enum atoll_batch_step step, const json_t *reply,
                struct atoll_err *err);
    /* One line of results: its id and HTTP status, and the body to read; NULL: ret_why says why there is none. */
    const json_t *(*line)(const json_t *line, const char **ret_id, int *ret_http_status,
                          const char **ret_why);
};
extern const struct atoll_batch_row atoll_batch_openai, atoll_batch_anthropic;

#define ATOLL_BATCH_BOUNDARY "atoll-batch-7f3c1d9e5b2a4860"

struct atoll_batches {
    struct atoll_loop *loop;
    struct atoll_transfers *transfers;
    struct atoll_batch_settings settings;
    const struct atoll_batch_row *row;
    struct atoll_batch *batches, *collecting;
    struct atoll_batch_item *rows[ATOLL_BATCH_ROWS];
};

/* ---- batch.c ---- */
/* Nothing is added to it any more. */
void atoll_batch_hand_in(struct atoll_batch *batch);
struct atoll_batch *atoll_batch_create(struct atoll_batches *batches, struct atoll_err *err);
void atoll_batch_destroy(struct atoll_batch *batch);
struct atoll_batch_item *atoll_batch_add_item(struct atoll_batch *batch, const char *id,
                                              struct atoll_err *err);
struct atoll_batch_item *atoll_batch_item(struct atoll_batches *batches, const char *id);
/* Calls who waits, if anybody does, and forgets the item. */
void atoll_batch_item_end(struct atoll_batch_item *item, const struct atoll_llm_outcome *outcome);

/* ---- batch_step.c ---- */
void atoll_batch_step(struct atoll_batch *batch); /* does the step that is due */
/* After wait_s; earlier where it was set before. */
void atoll_batch_step_after(struct atoll_batch *batch, double wait_s);

/* ---- batch_file.c ---- */
int atoll_batch_save(const struct atoll_batch *batch, struct atoll_err *err);
void atoll_batch_remove(const struct atoll_batch *batch);
int atoll_batches_load(struct atoll_batches *batches, struct atoll_err *err);
/* A name that may stand in a path: letters, digits, '-', '_' and '.', not first. */
int atoll_batch_is_name(const char *name);

/* ---- batch_result.c ---- */
/* A piece of the results; lines that are whole are answered.  Not 0: stop. */
int atoll_batch_take_results(struct atoll_batch *batch, const void *bytes, size_t length);

#endif

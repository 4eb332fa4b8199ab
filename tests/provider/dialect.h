/* dialect.h - what the fault server says, in the words of three providers.
 * Layer: tests.  Writes bodies only; http.h frames them. */
#ifndef ATOLL_TESTS_PROVIDER_DIALECT_H
#define ATOLL_TESTS_PROVIDER_DIALECT_H

#include "base/buffer.h"
#include "tests/provider/scenario.h"

struct answer {
    const struct scenario *scenario;
    const char *model; /* as it was asked for */
    const char *text;  /* what the scenario lets it say; bytes, perhaps no UTF-8 */
    const char *reasoning;
    const char *call_name;   /* the tool it calls; NULL: none */
    char call_arguments[64]; /* JSON of an object */
    unsigned long number;    /* of the reply, for its id */
    int has_usage_in_stream; /* asked for (Chat Completions) */
};

/* One server-sent event; the caller frames it.  event NULL: no event line. */
typedef void dialect_emit(void *context, const char *event, const char *data, size_t length);

struct dialect {
    const char *path;
    void (*stream)(const struct answer *answer, dialect_emit *emit, void *context);
    void (*whole)(const struct answer *answer, struct atoll_buffer *out);
    void (*error)(int status, int is_quota, struct atoll_buffer *out); /* error object of an HTTP status */
};

extern const struct dialect dialect_chat, dialect_responses, dialect_anthropic, dialect_embeddings;

/* A JSON string; bytes beyond ASCII go out as they are, also what is no UTF-8. */
void dialect_put_text(struct atoll_buffer *out, const char *text, size_t length);
/* A number of tokens as the scenario falsifies it: 12, -12, "12", 1e300. */
void dialect_put_count(struct atoll_buffer *out, const struct scenario *scenario, double count);
/* The next piece of a text, a word with the blank behind it; 0 at the end. */
size_t dialect_piece(const char *text);
const char *dialect_error_type(int status);

/* Events are built in one buffer and handed over. */
struct dialect_writer {
    struct atoll_buffer data;
    dialect_emit *emit;
    void *context;
};
void dialect_send(struct dialect_writer *writer, const char *event);

#endif

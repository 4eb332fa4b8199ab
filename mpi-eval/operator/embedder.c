/* embedder.c - texts are the kernels, in the order of the retrieval, and behind them the tasks; each batch of them is one request.  One that
 * fails is the end of all: a ranking by some of the vectors would be none. */
#include "mpi-eval/operator/embedder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "llm-gateway/request/embedding.h"

#define BATCH       16u
#define BATCH_LIMIT 256u
#define TEXT_BYTES  6000 /* of each; what is longer is cut */

struct batch {
    struct atoll_embedder *embedder;
    uint64_t call;
    size_t first, count;
};

struct atoll_embedder {
    struct atoll_embedder_settings settings;
    struct batch batches[BATCH_LIMIT];
    size_t batch_count, open, kernel_count, text_count, length;
    float *vectors; /* of all texts; NULL: none came yet */
    int has_begun, has_failed;
    double begun_ns;
    uint64_t tokens;
    double cost_usd;
};

struct atoll_embedder *atoll_embedder_create(const struct atoll_embedder_settings *settings,
                                             struct atoll_err *err)
{
    struct atoll_embedder *e = calloc(1, sizeof(*e));
    if (!e) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for embeddings");
        return NULL;
    }
    e->settings = *settings;
    return e;
}

void atoll_embedder_destroy(struct atoll_embedder *e)
{
    if (!e)
        return;
    atoll_retrieval_set_vectors(e->settings.retrieval, NULL, NULL, 0);
    free(e->vectors);
    free(e);
}

static void fail(struct atoll_embedder *e, const char *why)
{
    if (!e->has_failed)
        atoll_log(ATOLL_LOG_WARNING, "eval.embed.failed", "model %s: %s", e->settings.model, why);
    e->has_failed = 1;
}

static void take(struct atoll_embedder *e, const struct batch *b, const struct atoll_llm_outcome *outcome)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t length = 0;
    float *vectors = atoll_llm_embedding_read(outcome, b->count, &length, &err);
    if (vectors && !e->vectors && (e->vectors = calloc(e->text_count, length * sizeof(*e->vectors))) != NULL)
        e->length = length;
    if (vectors && e->vectors && length == e->length)
        memcpy(e->vectors + b->first * length, vectors, b->count * length * sizeof(*vectors));
    else
        fail(e, vectors ? "vectors of different lengths, or no memory for them" : err.text);
    atoll_err_clear(&err);
    free(vectors);
}

static void on_outcome(void *context, const struct atoll_llm_outcome *outcome)
{
    struct batch *b = context;
    struct atoll_embedder *e = b->embedder;
    e->open--;
    e->tokens += outcome->usage.input + outcome->usage.output;
    e->cost_usd += outcome->cost_usd;
    if (outcome->status == ATOLL_LLM_OK)
        take(e, b, outcome);
    else if (outcome->status != ATOLL_LLM_CANCELLED)
        fail(e, outcome->detail);
    else
        e->has_failed = 1;
}

static void put_text(const struct atoll_embedder *e, const struct atoll_engine *engine, size_t at, char *text)
{
    if (at < e->kernel_count)
        atoll_retrieval_kernel_words(e->settings.retrieval, (uint32_t)at, text, TEXT_BYTES);
    else
        atoll_retrieval_task_words(atoll_engine_task(engine, (uint32_t)(at - e->kernel_count)), text,
                                   TEXT_BYTES);
}

static int send_batch(struct atoll_embedder *e, const struct atoll_engine *engine, struct batch *b,
                      char *texts, struct atoll_err *err)
{
    struct atoll_llm_request request;
    char key[128];
    atoll_llm_request_init(&request);
    snprintf(key, sizeof(key), "%.32s.embed.%zu", e->settings.campaign, b->first);
    request.operation = ATOLL_LLM_EMBED;
    request.model = e->settings.model;
    request.key = key;
    request.campaign = e->settings.account ? e->settings.account : e->settings.campaign;
    request.purpose = "embedder";
    request.deadline_s = ATOLL_EMBEDDER_DEADLINE_S;
    request.message_count = b->count;
    for (size_t i = 0; i < b->count; i++) {
        put_text(e, engine, b->first + i, texts + i * TEXT_BYTES);
        request.messages[i] =
            (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = texts + i * TEXT_BYTES};
    }
    return atoll_client_ask(e->settings.client, &request, on_outcome, b, &b->call, err);
}

static void begin(struct atoll_embedder *e, const struct atoll_engine *engine)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char *texts = malloc((size_t)BATCH * TEXT_BYTES);
    e->has_begun = 1;
    e->kernel_count = atoll_retrieval_kernel_count(e->settings.retrieval);
    e->text_count = e->kernel_count + atoll_engine_task_count(engine);
    if (!texts || e->kernel_count == 0 || e->text_count > (size_t)BATCH * BATCH_LIMIT)
        e->has_failed = 1; /* nothing to rank, or too much */
    for (size_t first = 0; !e->has_failed && first < e->text_count; first += BATCH) {
        struct batch *b = &e->batches[e->batch_count++];
        size_t left = e->text_count - first;
        *b = (struct batch){.embedder = e, .first = first, .count = left < BATCH ? left : BATCH};
        if (send_batch(e, engine, b, texts, &err) == 0)
            e->open++;
        else
            fail(e, err.text);
    }
    atoll_err_clear(&err);
    free(texts);
}

static void give_up(struct atoll_embedder *e)
{
    fail(e, "no answer in time");
    for (size_t i = 0; i < e->batch_count; i++)
        if (e->batches[i].call)
            atoll_client_cancel(e->settings.client, e->batches[i].call);
}

int atoll_embedder_ready(struct atoll_embedder *e, const struct atoll_engine *engine, uint32_t task,
                         double now_ns)
{
    struct atoll_retrieval *r = e->settings.retrieval;
    if (!e->has_begun) {
        e->begun_ns = now_ns;
        begin(e, engine);
    }
    if (!e->has_failed && e->open > 0 && now_ns > e->begun_ns + 1e9 * ATOLL_EMBEDDER_DEADLINE_S)
        give_up(e);
    if (!e->has_failed && e->open > 0)
        return 0;
    size_t at = e->kernel_count + task;
    if (e->has_failed || !e->vectors || at >= e->text_count)
        atoll_retrieval_set_vectors(r, NULL, NULL, 0);
    else
        atoll_retrieval_set_vectors(r, e->vectors, e->vectors + at * e->length, e->length);
    return 1;
}

void atoll_embedder_cost(const struct atoll_embedder *e, uint64_t *ret_tokens, double *ret_usd)
{
    *ret_tokens = e->tokens;
    *ret_usd = e->cost_usd;
}

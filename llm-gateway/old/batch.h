/* batch.h - batch APIs of OpenAI and Anthropic, at half price: requests that can wait are collected, handed in together,
 * looked after, and answered one by one.  A batch outlives the gateway: its number is kept in the ledger's folder, and a
 * restarted gateway collects what came meanwhile.
 * Layer: llm-gateway.  Lifetime: create/destroy.  On the loop's thread, used by the broker alone. */
#ifndef ATOLL_LLM_GATEWAY_OLD_BATCH_H
#define ATOLL_LLM_GATEWAY_OLD_BATCH_H

#include "llm-gateway/config/config.h"
#include "llm-gateway/request/request.h"

struct atoll_batches;

struct atoll_batch_settings {
    const struct atoll_endpoint *endpoint; /* borrowed */
    const char *key;                       /* borrowed secret, may be NULL */
    const char *folder;                    /* where the state is kept: ledger/batches */
    double collect_s; /* so long requests are collected before a batch is handed in; 0: default 5 */
    double poll_s;
    size_t request_limit; /* per batch, default 10000 */
};

/* Also takes up batches of earlier lives: their outcomes come for the custom ids the broker adds again. */
struct atoll_batches *atoll_batches_create(struct atoll_loop *loop, struct atoll_transfers *transfers,
                                           const struct atoll_batch_settings *settings,
                                           struct atoll_err *err);
void atoll_batches_destroy(struct atoll_batches *batches);

/* id: unique, stable over restarts (the request's key or id in hex).  done: once; outcome without cost.  A request whose
 * batch of an earlier life is still under way is joined to it, not sent again. */
int atoll_batches_add(struct atoll_batches *batches, const char *id, const struct atoll_llm_request *request,
                      const struct atoll_provider_model *model,
                      void (*done)(void *context, const struct atoll_llm_outcome *outcome), void *context,
                      struct atoll_err *err);
void atoll_batches_forget(struct atoll_batches *batches, const char *id); /* nobody waits; no callback */

#endif

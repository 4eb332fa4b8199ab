/* metrics.h - counts of a gateway, as Prometheus text (exposition format 0.0.4).
 * Layer: llm-gateway.  Lifetime: create/destroy.  One thread. */
#ifndef ATOLL_LLM_GATEWAY_SERVER_METRICS_H
#define ATOLL_LLM_GATEWAY_SERVER_METRICS_H

#include "base/buffer.h"
#include "llm-gateway/request/outcome.h"

struct atoll_metrics;
struct atoll_metrics *atoll_metrics_create(struct atoll_err *err);
void atoll_metrics_destroy(struct atoll_metrics *metrics);
/* model: the configuration's name; at most 256 different ones are told apart. */
void atoll_metrics_outcome(struct atoll_metrics *metrics, const char *model,
                           const struct atoll_llm_outcome *outcome);
void atoll_metrics_try(struct atoll_metrics *metrics, const char *endpoint, int http_status);
void atoll_metrics_gauge(struct atoll_metrics *metrics, const char *name, double value); /* "in_flight" ... */
void atoll_metrics_write(const struct atoll_metrics *metrics, struct atoll_buffer *out);

#endif

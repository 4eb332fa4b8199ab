/* price.h - what models cost: a table in a file, with date and source.
 * Layer: llm-gateway.  Lifetime: create/destroy; immutable between. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_PRICE_H
#define ATOLL_LLM_GATEWAY_BUDGET_PRICE_H

#include "llm-gateway/request/outcome.h"

/* US dollars per million tokens. */
struct atoll_price {
    double input, cached_input, cache_write, output;
    double above_input_tokens; /* long contexts: from so many input tokens on ... */
    double above_ratio;        /* ... all prices times this; 0 none */
};

struct atoll_prices;
/* YAML, docs/spec/gateway.md: date, source, and a row per model.  Errors: INPUT with file and line (a negative price, no
 * date, no source, a model twice), NOTFOUND. */
struct atoll_prices *atoll_prices_load(const char *path, struct atoll_err *err);
void atoll_prices_destroy(struct atoll_prices *prices);
/* By the row's name; NULL when there is none. */
const struct atoll_price *atoll_prices_find(const struct atoll_prices *prices, const char *name);

/* Money in whole nanodollars, rounded up: sums are exact and never too low. */
typedef uint64_t atoll_nanousd;
atoll_nanousd atoll_price_cost(const struct atoll_price *price, const struct atoll_llm_usage *usage);
/* The most a call can cost: every input token at the dearest of the input prices, every output token used. */
atoll_nanousd atoll_price_worst(const struct atoll_price *price, uint64_t input_bound, uint64_t output_limit);

#endif

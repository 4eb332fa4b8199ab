/* config.h - gateway.yaml: endpoints, models, ensembles, limits, where clients come in (docs/spec/gateway.md).
 * Layer: llm-gateway.  Lifetime: create/destroy; immutable between; texts are owned by it. */
#ifndef ATOLL_LLM_GATEWAY_CONFIG_CONFIG_H
#define ATOLL_LLM_GATEWAY_CONFIG_CONFIG_H

#include "core/model_role.h"
#include "llm-gateway/provider/provider.h"
#include "llm-gateway/http/retry.h"
#include "llm-gateway/http/secret.h"
#include "llm-gateway/budget/price.h"
#include "llm-gateway/budget/spending.h"
#include "llm-gateway/http/transfer.h"

#define ATOLL_CONFIG_NAMES_MOST      320 /* models and ensembles */
#define ATOLL_CONFIG_CANDIDATES_MOST 64  /* of one ask */

struct atoll_endpoint {
    const char *name;
    enum atoll_provider provider;
    const char *url; /* "https://api.openai.com/v1", without a slash at the end */
    struct atoll_transfer_site site;
    const char *key_file, *key_env;                /* at most one; both NULL: no key */
    double requests_per_minute, tokens_per_minute; /* 0: unknown */
    unsigned concurrency;                          /* most in flight, default 64 */
};

struct atoll_gateway_model {
    const char *name;  /* what clients call it */
    unsigned endpoint; /* index */
    struct atoll_provider_model traits;
    uint32_t context_tokens;         /* 0 unknown */
    const struct atoll_price *price; /* NULL: costs nothing (a server of one's own) */
};

/* Several models under one name. */
#define ATOLL_ENSEMBLE_MEMBER_LIMIT 16

struct atoll_ensemble_member {
    unsigned model;                             /* index into the configuration's models */
    double weight;                              /* >= 0 */
    uint32_t from_generation, until_generation; /* [from, until) */
};
struct atoll_ensemble {
    const char *name;
    size_t member_count;
    struct atoll_ensemble_member members[ATOLL_ENSEMBLE_MEMBER_LIMIT];
};

enum atoll_exchange_mode {
    ATOLL_EXCHANGE_LIVE,             /* always asked, not kept */
    ATOLL_EXCHANGE_RECORD,           /* always asked, kept */
    ATOLL_EXCHANGE_REPLAY,           /* never asked: what is not there is a MISS */
    ATOLL_EXCHANGE_REPLAY_THEN_LIVE, /* default where there is a file */
    ATOLL_EXCHANGE_MODE_COUNT
};

/* What requests of a role (their purpose) get where they say nothing themselves. */
#define ATOLL_GATEWAY_ROLE_COUNT                                                                             \
    (ATOLL_MODEL_ROLE_COUNT + 1) /* the last: "*", every purpose that is not named */
struct atoll_gateway_role {
    int is_said;
    const char *model;         /* or ensemble, for requests that name none; NULL: unsaid */
    double temperature, top_p; /* NaN: unsaid */
    enum atoll_llm_effort effort;
    uint32_t max_tokens; /* of an answer; 0: unsaid */
    uint32_t candidates; /* of one ask, for who asks; 0: unsaid */
};

struct atoll_gateway_config {
    size_t endpoint_count, model_count, ensemble_count, limit_count;
    const struct atoll_endpoint *endpoints;
    const struct atoll_gateway_model *models;
    const struct atoll_ensemble *ensembles;
    const struct atoll_spending_limit *limits;
    struct atoll_gateway_role roles[ATOLL_GATEWAY_ROLE_COUNT]; /* by enum atoll_model_role */
    const struct atoll_prices *prices;                         /* NULL: none */
    const char *file;      /* budget and exchanges; NULL: nothing is counted or kept */
    int is_permanent_host; /* it lies on a disk that this host keeps over restarts of jobs and of itself */
    enum atoll_exchange_mode mode;
    struct atoll_retry_settings retry;
    double deadline_s;        /* of a call without one of its own, default 600 */
    unsigned in_flight_limit; /* calls held at once, default 4096; beyond: refused */
    const char *listen;       /* "127.0.0.1:0", "[::1]:8080", "unix:PATH"; NULL none */
    const char *token_file, *token_env;
    const char *spool; /* folder; NULL none */
};

/* Paths in it are relative to its folder.  Errors: INPUT "file:line: ..." for every wrong or unknown key, a name used twice,
 * a model with limits on money and no price, a key in the file itself, a remote address without a token. */
struct atoll_gateway_config *atoll_gateway_config_load(const char *path, struct atoll_err *err);
void atoll_gateway_config_destroy(struct atoll_gateway_config *config);

/* What clients may call models, ensembles first; how many.  Borrowed. */
size_t atoll_gateway_config_names(const struct atoll_gateway_config *config,
                                  const char *ret_names[ATOLL_CONFIG_NAMES_MOST]);

/* The role of a request's purpose, or "*"; NULL: the configuration has neither. */
const struct atoll_gateway_role *atoll_gateway_role_of(const struct atoll_gateway_config *config,
                                                       const char *purpose);

/* The model for a request: drawn by weight among the members of its generation, or, where none is scheduled for it, among
 * all.  The draw follows from the request's id alone, so that a repeated request gets the same model.  -1: no members. */
int atoll_ensemble_choose(const struct atoll_ensemble *ensemble, uint32_t generation,
                          const struct atoll_id *request);

#endif

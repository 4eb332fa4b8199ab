/* offer.h - what a gateway tells those who ask it: its models, what their contexts hold, and what its roles say.  The JSON of GET
 * /v1/models, and of the file "offer" in a spool, where a person may write it too (docs/spec/gateway.md).
 * Layer: llm-gateway, pure.  Plain value. */
#ifndef ATOLL_LLM_GATEWAY_CONFIG_OFFER_H
#define ATOLL_LLM_GATEWAY_CONFIG_OFFER_H

#include "llm-gateway/config/config.h"

#define ATOLL_OFFER_NAME_BYTES 64
#define ATOLL_OFFER_BYTES      ((size_t)1 << 20) /* of its JSON */

struct atoll_offer_model {
    char name[ATOLL_OFFER_NAME_BYTES]; /* of a model or an ensemble */
    uint32_t context_tokens;           /* of an ensemble the least of its members; 0 unknown */
    int has_no_tools;                  /* of an ensemble: one of its members */
};

struct atoll_offer_role {
    char model[ATOLL_OFFER_NAME_BYTES]; /* "": the request's own */
    uint32_t candidates, max_tokens;    /* 0: unsaid */
};

struct atoll_offer {
    size_t model_count;
    struct atoll_offer_model models[ATOLL_CONFIG_NAMES_MOST];
    struct atoll_offer_role
        roles[ATOLL_GATEWAY_ROLE_COUNT]; /* each with what "*" says, where it is not named */
};

int atoll_offer_json(const struct atoll_gateway_config *config, struct atoll_buffer *out,
                     struct atoll_err *err);
/* Hostile input: what is not understood is as unsaid.  Errors: PROTOCOL, MEMORY. */
int atoll_offer_parse(const void *bytes, size_t length, struct atoll_offer *ret_offer, struct atoll_err *err);
/* NULL: it has no model or ensemble of that name. */
const struct atoll_offer_model *atoll_offer_find(const struct atoll_offer *offer, const char *name);

#endif

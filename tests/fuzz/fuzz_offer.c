/* fuzz_offer.c - any bytes as what a gateway offers: names that fit and end, counts within their bounds, and every model found. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/config/offer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct atoll_offer offer;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_offer_parse(data, size, &offer, &err))
        return err.code == ATOLL_E_PROTOCOL ? 0 : (abort(), 0);
    if (offer.model_count > ATOLL_CONFIG_NAMES_MOST)
        abort();
    for (size_t i = 0; i < offer.model_count; i++)
        if (!memchr(offer.models[i].name, 0, sizeof(offer.models[i].name)) ||
            !atoll_offer_find(&offer, offer.models[i].name))
            abort();
    for (size_t i = 0; i < ATOLL_GATEWAY_ROLE_COUNT; i++)
        if (offer.roles[i].candidates > ATOLL_CONFIG_CANDIDATES_MOST ||
            !memchr(offer.roles[i].model, 0, sizeof(offer.roles[i].model)))
            abort();
    return 0;
}

/* client_replay.c - answers from a store; what it does not hold is a MISS.  There is no gateway. */
#include <string.h>

#include "llm-gateway/client/client_transport.h"
#include "llm-gateway/budget/store.h"

static void *create(const char *where, const char *token_file, const struct atoll_client_clock *clock,
                    struct atoll_err *err)
{
    return atoll_store_open(where, ATOLL_STORE_READ, err);
}

static void destroy(void *transport)
{
    atoll_store_close(transport);
}

static int start(void *transport, struct atoll_client_call *call, const struct atoll_llm_request *request,
                 struct atoll_err *err)
{
    call->id = atoll_llm_request_id(request);
    int found = atoll_store_find(transport, request, &call->outcome, err);
    if (found < 0)
        return -1;
    if (!found) {
        char hex[ATOLL_ID_HEX];
        atoll_id_hex(&call->id, hex);
        atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_MISS,
                              "the recording does not hold request %.16s of model %.64s", hex,
                              request->model);
    }
    call->outcome.is_from_store = found;
    atoll_client_conclude(call);
    return 0;
}

static void stop(void *transport, struct atoll_client_call *call)
{
}

static int turn(void *transport, struct atoll_client_call *const *calls, size_t count, struct atoll_err *err)
{
    return 0;
}

const struct atoll_client_transport atoll_client_replay = {
    .prefix = "replay:",
    .create = create,
    .destroy = destroy,
    .start = start,
    .stop = stop,
    .turn = turn,
};

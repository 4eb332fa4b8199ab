/* fuzz_llm_request.c - any bytes as a client's request and as a spool's reply.  A request that is read is written, read again
 * and is the same; whatever it says, each dialect can say it or says why not. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/provider/provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT ((size_t)1 << 26)

static void use_bodies(const struct atoll_llm_request *request)
{
    static const struct atoll_provider_model models[] = {
        {.model = "m", .max_output_tokens = 1024},
        {.model = "m", .max_output_tokens = 9000, .has_old_limit = 1, .effort = ATOLL_LLM_EFFORT_HIGH},
        {.model = "m", .max_output_tokens = 1, .has_no_sampling = 1, .has_no_tools = 1}};
    for (size_t i = 0; i < 3 * ATOLL_PROVIDER_COUNT; i++) {
        struct atoll_buffer out;
        struct atoll_err err = ATOLL_ERR_INIT;
        atoll_buffer_init(&out, LIMIT);
        if (atoll_provider_body((enum atoll_provider)(i / 3), request, &models[i % 3], &out, &err) &&
            err.code != ATOLL_E_INPUT)
            abort();
        atoll_buffer_fini(&out);
    }
}

/* The copy is the same request, of its own bytes. */
static void use_copy(const struct atoll_llm_request *request)
{
    struct atoll_llm_request copy;
    void *room = malloc(atoll_llm_request_copy_bytes(request));
    if (!room)
        abort();
    atoll_llm_request_copy(request, room, &copy);
    struct atoll_id a = atoll_llm_request_conversation(request), b = atoll_llm_request_conversation(&copy);
    if (!atoll_id_equal(&a, &b))
        abort();
    free(room);
}

static void use_request(const struct atoll_llm_request *request, struct atoll_arena *arena)
{
    struct atoll_buffer first, second;
    struct atoll_llm_request again;
    atoll_buffer_init(&first, LIMIT);
    atoll_buffer_init(&second, LIMIT);
    if (atoll_llm_request_encode(request, &first, NULL) ||
        atoll_llm_request_decode(first.data, first.length, arena, &again, NULL) ||
        atoll_llm_request_encode(&again, &second, NULL))
        abort();
    struct atoll_id a = atoll_llm_request_id(request), b = atoll_llm_request_id(&again);
    if (!atoll_id_equal(&a, &b) || first.length != second.length ||
        memcmp(first.data, second.data, first.length) != 0)
        abort();
    if (atoll_llm_request_input_bound(request) < atoll_llm_request_input_estimate(request))
        abort();
    use_copy(request);
    use_bodies(request);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
}

/* What parses is written as JSON and parses to the same status and text. */
static void use_reply(const uint8_t *data, size_t size)
{
    struct atoll_llm_outcome o, again;
    struct atoll_buffer json;
    atoll_llm_outcome_init(&o);
    atoll_llm_outcome_init(&again);
    atoll_buffer_init(&json, LIMIT);
    if (!atoll_reply_parse(data, size, &o, NULL)) {
        if (atoll_llm_outcome_json(&o, &json, NULL) ||
            atoll_reply_parse(json.data, json.length, &again, NULL))
            abort();
        if (again.status != o.status || again.text.length != o.text.length ||
            again.tool_call_count != o.tool_call_count ||
            (o.text.length && memcmp(again.text.data, o.text.data, o.text.length) != 0))
            abort();
    }
    atoll_buffer_fini(&json);
    atoll_llm_outcome_fini(&o);
    atoll_llm_outcome_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    struct atoll_arena *arena = atoll_arena_create(LIMIT, NULL);
    if (!arena)
        abort();
    if (!atoll_llm_request_decode(data, size, arena, &request, NULL))
        use_request(&request, arena);
    use_reply(data, size);
    atoll_llm_outcome_init(&outcome);
    if (!atoll_llm_outcome_decode(data, size, &outcome, NULL))
        atoll_llm_outcome_fini(&outcome);
    atoll_arena_destroy(arena);
    return 0;
}

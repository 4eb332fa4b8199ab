/* client.c - calls and their ends; how they travel is the transports'.
 *
 * A call is open until a transport concludes it, its deadline passes or it is cancelled; then it is concluded, and the next
 * turn delivers it, once, and forgets it.  What a spool must remove when the caller has settled is kept by its number. */
#include "llm-gateway/client/client.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "llm-gateway/budget/exchange_store.h"
#include "llm-gateway/client/client_transport.h"

#define NS_PER_S         1e9
#define DEFAULT_S        900.0
#define CALL_LIMIT       65536u
#define SETTLEMENT_LIMIT 65536u
#define BODY_BYTES       (6 * ATOLL_LLM_TEXT_BYTES)
#define REPLY_BYTES      ((size_t)96 << 20)

/* A delivered answer that its caller has not yet made durable. */
struct settlement {
    uint64_t number;
    char name[ATOLL_SPOOL_NAME_BYTES];
};

struct atoll_client {
    const struct atoll_client_transport *transport;
    void *handle; /* the transport's */
    struct atoll_client_clock clock;
    struct atoll_client_call **calls; /* by number; NULL: delivered in this turn */
    uint32_t count, capacity;
    struct settlement *settlements; /* by number */
    uint32_t settlement_count, settlement_capacity;
    uint64_t last_number;
    double next_deadline_ns; /* not after the first one */
    int is_turning, has_concluded;
};

/* ---- answers from a recording; what it does not hold is a MISS, for there is no gateway ---- */

static void *replay_create(const char *where, const char *token_file, const struct atoll_client_clock *clock,
                           struct atoll_err *err)
{
    return atoll_store_open(where, ATOLL_STORE_READ, err);
}

static void replay_destroy(void *transport)
{
    atoll_store_close(transport);
}

static int replay_start(void *transport, struct atoll_client_call *call,
                        const struct atoll_llm_request *request, struct atoll_err *err)
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
    call->is_concluded = 1;
    return 0;
}

static void replay_stop(void *transport, struct atoll_client_call *call)
{
}

static int replay_turn(void *transport, struct atoll_client_call *const *calls, size_t count,
                       struct atoll_err *err)
{
    return 0;
}

static const struct atoll_client_transport replay = {
    .prefix = "replay:",
    .create = replay_create,
    .destroy = replay_destroy,
    .start = replay_start,
    .stop = replay_stop,
    .turn = replay_turn,
};

/* ---- */

static const struct atoll_client_transport *const transports[] = {
    &atoll_client_http, &atoll_client_https, &atoll_client_unix, &atoll_client_spool, &replay};

static double monotonic_ns(void *context)
{
    return atoll_clock_mono_ns();
}

static double now_of(const struct atoll_client *client)
{
    return client->clock.now_ns(client->clock.context);
}

struct atoll_client *atoll_client_create_at(const char *where, const char *token_file,
                                            const struct atoll_client_clock *clock, struct atoll_err *err)
{
    const struct atoll_client_transport *transport = NULL;
    for (size_t i = 0; where && !transport && i < sizeof(transports) / sizeof(*transports); i++) {
        size_t length = strlen(transports[i]->prefix);
        if (strncmp(where, transports[i]->prefix, length) == 0 && where[length])
            transport = transports[i];
    }
    if (!transport) {
        atoll_err_set(
            err, ATOLL_E_USAGE,
            "gateway '%.80s': http://HOST:PORT, https://HOST:PORT, unix:PATH, spool:DIR or replay:FILE is "
            "expected",
            where ? where : "");
        return NULL;
    }
    struct atoll_client *client = calloc(1, sizeof(*client));
    if (!client) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a client of the gateway");
        return NULL;
    }
    client->transport = transport;
    client->clock = *clock;
    client->next_deadline_ns = INFINITY;
    client->handle = transport->create(where + strlen(transport->prefix), token_file, clock, err);
    if (client->handle)
        return client;
    free(client);
    return NULL;
}

struct atoll_client *atoll_client_create(const char *where, const char *token_file, struct atoll_err *err)
{
    static const struct atoll_client_clock clock = {monotonic_ns, NULL};
    return atoll_client_create_at(where, token_file, &clock, err);
}

static void free_call(struct atoll_client_call *call)
{
    atoll_buffer_fini(&call->body);
    atoll_buffer_fini(&call->reply);
    atoll_llm_outcome_fini(&call->outcome);
    free(call);
}

/* ---- ends ---- */

/* Ended from this side: the transport stops, and its last trouble is part of the text. */
static void give_up(struct atoll_client *client, struct atoll_client_call *call, enum atoll_llm_status status,
                    const char *why)
{
    char last[sizeof(call->outcome.detail)];
    memcpy(last, call->outcome.detail, sizeof(last));
    client->transport->stop(client->handle, call);
    call->name[0] = '\0'; /* nothing to settle */
    atoll_llm_outcome_fini(&call->outcome);
    atoll_llm_outcome_set(&call->outcome, status, "%s%s%s", why, *last ? "; last: " : "", last);
    call->is_concluded = 1;
    client->has_concluded = 1;
}

/* After everything that may bring the next turn nearer. */
static void arm(struct atoll_client *client)
{
    if (client->transport->arm && !client->is_turning)
        client->transport->arm(client->handle, client->has_concluded ? 0.0 : client->next_deadline_ns);
}

static void remember_settlement(struct atoll_client *client, const struct atoll_client_call *call)
{
    if (!client->transport->settle || !*call->name)
        return;
    if (client->settlement_count ==
        SETTLEMENT_LIMIT) { /* nobody settles: what is oldest stays for the cleaning */
        memmove(client->settlements, client->settlements + 1,
                (SETTLEMENT_LIMIT - 1) * sizeof(*client->settlements));
        client->settlement_count--;
    }
    if (atoll_array_reserve(&client->settlements, &client->settlement_capacity, client->settlement_count + 1,
                            sizeof(*client->settlements), NULL))
        return; /* the spool's cleaning removes it */
    struct settlement *s = &client->settlements[client->settlement_count++];
    s->number = call->number;
    memcpy(s->name, call->name, sizeof(s->name));
}

/* The callback may ask, cancel and settle: calls move then, but stay where they are in memory. */
static void deliver(struct atoll_client *client, size_t index)
{
    struct atoll_client_call *call = client->calls[index];
    client->calls[index] = NULL;
    if (atoll_id_is_zero(&call->outcome.request))
        call->outcome.request = call->id;
    if (!call->may_call) /* whoever wrote the reply */
        atoll_llm_outcome_drop_calls(&call->outcome);
    remember_settlement(client, call);
    call->done(call->context, &call->outcome);
    free_call(call);
}

static void deliver_all(struct atoll_client *client)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < client->count; i++)
        if (client->calls[i] && client->calls[i]->is_concluded)
            deliver(client, i);
    for (size_t i = 0; i < client->count; i++)
        if (client->calls[i])
            client->calls[kept++] = client->calls[i];
    client->count = kept;
}

static void expire(struct atoll_client *client)
{
    double now_ns = now_of(client);
    if (now_ns < client->next_deadline_ns)
        return;
    client->next_deadline_ns = INFINITY;
    for (size_t i = 0; i < client->count; i++) {
        struct atoll_client_call *call = client->calls[i];
        if (!call->is_concluded && now_ns >= call->deadline_ns)
            give_up(client, call, ATOLL_LLM_TIMEOUT, "no answer from the gateway before the deadline");
        else if (!call->is_concluded)
            client->next_deadline_ns = fmin(client->next_deadline_ns, call->deadline_ns);
    }
}

int atoll_client_turn(struct atoll_client *client, struct atoll_err *err)
{
    if (client->is_turning)
        return 0; /* from inside a callback */
    client->is_turning = 1;
    int failed = client->transport->turn(client->handle, client->calls, client->count, err);
    expire(client);
    deliver_all(client);
    client->has_concluded = 0;
    for (size_t i = 0; i < client->count && !client->has_concluded; i++)
        client->has_concluded = client->calls[i]->is_concluded; /* asked or cancelled in a callback */
    client->is_turning = 0;
    arm(client);
    return failed;
}

void atoll_client_destroy(struct atoll_client *client)
{
    if (!client)
        return;
    client->is_turning = 1;
    for (size_t i = 0; i < client->count; i++) {
        struct atoll_client_call *call = client->calls[i];
        if (!call->is_concluded) {
            atoll_llm_outcome_fini(&call->outcome);
            atoll_llm_outcome_set(&call->outcome, ATOLL_LLM_CANCELLED,
                                  "the client of the gateway was closed");
            call->is_concluded = 1;
        }
    }
    client->transport->destroy(client->handle);
    client->handle = NULL; /* nothing can be asked any more */
    deliver_all(client);
    free(client->calls);
    free(client->settlements);
    free(client);
}

/* ---- calls ---- */

int atoll_client_ask(struct atoll_client *client, const struct atoll_llm_request *request,
                     atoll_client_done *done, void *context, uint64_t *ret_call, struct atoll_err *err)
{
    double deadline_s = request->deadline_s > 0.0 ? request->deadline_s : DEFAULT_S;
    if (!client->handle)
        return atoll_err_set(err, ATOLL_E_USAGE, "the client of the gateway is being closed");
    if (client->count == CALL_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "%u calls of the gateway are open: wait for some of them",
                             CALL_LIMIT);
    }
    if (atoll_array_reserve(&client->calls, &client->capacity, client->count + 1, sizeof(*client->calls),
                            err))
        return atoll_err_add(err, "calls of the gateway");
    struct atoll_client_call *call = calloc(1, sizeof(*call));
    if (!call)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a call of the gateway");
    call->number = client->last_number + 1;
    call->done = done;
    call->context = context;
    call->deadline_ns = now_of(client) + deadline_s * NS_PER_S;
    call->operation = request->operation;
    call->may_call = atoll_llm_request_may_call(request);
    call->transport = client->handle;
    atoll_buffer_init(&call->body, BODY_BYTES);
    atoll_buffer_init(&call->reply, REPLY_BYTES);
    atoll_llm_outcome_init(&call->outcome);
    if (client->transport->start(client->handle, call, request, err) != 0) {
        free_call(call);
        return -1;
    }
    client->calls[client->count++] = call;
    client->last_number = call->number;
    client->next_deadline_ns = fmin(client->next_deadline_ns, call->deadline_ns);
    client->has_concluded |= call->is_concluded;
    *ret_call = call->number;
    arm(client);
    return 0;
}

void atoll_client_cancel(struct atoll_client *client, uint64_t number)
{
    for (size_t i = 0; i < client->count; i++) {
        struct atoll_client_call *call = client->calls[i];
        if (call && call->number == number && !call->is_concluded)
            give_up(client, call, ATOLL_LLM_CANCELLED, "cancelled");
    }
    arm(client);
}

void atoll_client_settled(struct atoll_client *client, uint64_t number)
{
    for (size_t i = 0; i < client->settlement_count; i++) {
        if (client->settlements[i].number != number)
            continue;
        client->transport->settle(client->handle, client->settlements[i].name);
        client->settlement_count--;
        memmove(&client->settlements[i], &client->settlements[i + 1],
                (client->settlement_count - i) * sizeof(*client->settlements));
        return;
    }
}

int atoll_client_fd(const struct atoll_client *client)
{
    return client->transport->fd ? client->transport->fd(client->handle) : -1;
}

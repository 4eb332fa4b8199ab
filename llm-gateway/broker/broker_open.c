/* broker_open.c - from a configuration to lanes and pools, ledger, store and keys; and their end. */
#include "llm-gateway/broker/broker_state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/log.h"

#define HEADER_BYTES (2 * (size_t)ATOLL_SECRET_LIMIT_BYTES)
#define BODY_BYTES   ((size_t)64 << 20)

int64_t atoll_broker_unix_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Headers with a key never move: the room for them is there before. */
static int open_buffers(struct atoll_broker *broker, struct atoll_err *err)
{
    static const char room[HEADER_BYTES];
    atoll_buffer_init(&broker->body, BODY_BYTES);
    atoll_buffer_init(&broker->headers, HEADER_BYTES);
    atoll_buffer_put_bytes(&broker->headers, room, sizeof room);
    if (atoll_buffer_check(&broker->headers, err))
        return -1;
    atoll_buffer_clear(&broker->headers);
    return 0;
}

static void say_lost(const struct atoll_spending *spending)
{
    atoll_nanousd money;
    uint64_t tokens;
    atoll_spending_lost(spending, &money, &tokens);
    if (money || tokens)
        atoll_log(
            ATOLL_LOG_WARNING, "gateway.ledger.lost",
            "the machine this gateway ran on was started anew, or it is another one: what may have gone "
            "out last and is told nowhere counts as unknown, %.9f USD and %llu tokens",
            (double)money * 1e-9, (unsigned long long)tokens);
}

static int open_ledger(struct atoll_broker *broker, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = broker->config;
    if (!config->ledger || config->mode == ATOLL_EXCHANGE_REPLAY)
        return 0;
    const struct atoll_spending_settings settings = {.folder = config->ledger,
                                                     .holder = config->holder,
                                                     .limits = config->limits,
                                                     .limit_count = config->limit_count};
    broker->spending = atoll_spending_open(&settings, atoll_broker_unix_ns(), err);
    if (!broker->spending)
        return -1;
    say_lost(broker->spending);
    return 0;
}

static int open_store(struct atoll_broker *broker, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = broker->config;
    int is_replay = config->mode == ATOLL_EXCHANGE_REPLAY;
    if (config->mode == ATOLL_EXCHANGE_LIVE)
        return 0;
    if (!config->store)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "gateway: recording and replaying need a store: name a file");
    broker->store = atoll_store_open(config->store, is_replay ? ATOLL_STORE_READ : ATOLL_STORE_WRITE, err);
    return broker->store ? 0 : -1;
}

/* Reading a variable takes it out of the environment: endpoints that name the same one share its key. */
static struct atoll_secret *shared_key(const struct atoll_lane *lane)
{
    const struct atoll_lane *first = lane->broker->lanes;
    for (; lane->endpoint->key_env && first < lane; first++) {
        if (first->key && first->endpoint->key_env &&
            strcmp(first->endpoint->key_env, lane->endpoint->key_env) == 0)
            return first->key;
    }
    return NULL;
}

static int open_key(struct atoll_lane *lane, struct atoll_err *err)
{
    const struct atoll_endpoint *endpoint = lane->endpoint;
    if (!endpoint->key_file && !endpoint->key_env)
        return 0;
    lane->key = shared_key(lane);
    if (!lane->key)
        lane->key = endpoint->key_file ? atoll_secret_of_file(endpoint->key_file, err)
                                       : atoll_secret_of_environment(endpoint->key_env, err);
    return lane->key ? 0
                     : atoll_err_add(err, "the key of endpoint %s; remove what you have no key for",
                                     endpoint->name);
}

static int open_lanes(struct atoll_broker *broker, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = broker->config;
    double now_ns = atoll_loop_now_ns(broker->loop);
    broker->lanes = calloc(config->endpoint_count + 1, sizeof *broker->lanes);
    if (!broker->lanes)
        return atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for its endpoints");
    for (size_t i = 0; i < config->endpoint_count; i++) {
        struct atoll_lane *lane = &broker->lanes[i];
        lane->broker = broker;
        lane->endpoint = &config->endpoints[i];
        atoll_breaker_init(&lane->breaker);
        atoll_throttle_init(&lane->throttle, lane->endpoint->concurrency, lane->endpoint->concurrency);
        atoll_bucket_init(&lane->requests, lane->endpoint->requests_per_minute, now_ns);
        atoll_bucket_init(&lane->tokens, lane->endpoint->tokens_per_minute, now_ns);
        if (config->mode != ATOLL_EXCHANGE_REPLAY && open_key(lane, err))
            return -1;
    }
    return 0;
}

static unsigned find_pool(const struct atoll_gateway_config *config, unsigned model)
{
    for (unsigned i = 0; i < model; i++) {
        if (config->models[i].endpoint == config->models[model].endpoint &&
            strcmp(config->models[i].traits.model, config->models[model].traits.model) == 0)
            return i;
    }
    return model;
}

static int open_pools(struct atoll_broker *broker, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = broker->config;
    double now_ns = atoll_loop_now_ns(broker->loop);
    broker->pools = calloc(config->model_count + 1, sizeof *broker->pools);
    broker->pool_of = calloc(config->model_count + 1, sizeof *broker->pool_of);
    if (!broker->pools || !broker->pool_of)
        return atoll_err_set(err, ATOLL_E_MEMORY, "gateway: no memory for its models");
    for (unsigned i = 0; i < config->model_count; i++) {
        atoll_bucket_init(&broker->pools[i].requests, 0, now_ns);
        atoll_bucket_init(&broker->pools[i].tokens, 0, now_ns);
        broker->pool_of[i] = find_pool(config, i);
    }
    return 0;
}

int atoll_broker_open(struct atoll_broker *broker, struct atoll_err *err)
{
    if (open_buffers(broker, err) ||
        atoll_broker_index_init(&broker->index, broker->config->in_flight_limit, err) ||
        open_lanes(broker, err) || open_pools(broker, err) || open_store(broker, err) ||
        open_ledger(broker, err) || atoll_broker_open_syncer(broker, err))
        return -1;
    broker->transfers = atoll_transfers_create(broker->loop, 0, err);
    if (!broker->transfers)
        return -1;
    return atoll_bookings_recover(broker, err);
}

/* The last lane first: who shares a key asks those before it. */
static void lane_close(struct atoll_lane *lane)
{
    if (lane->timer)
        atoll_loop_cancel(lane->broker->loop, lane->timer);
    if (lane->key && lane->key != shared_key(lane))
        atoll_secret_destroy(lane->key);
}

/* Half-open is fine. */
void atoll_broker_close(struct atoll_broker *broker)
{
    if (broker->transfers)
        atoll_transfers_destroy(broker->transfers);
    for (size_t i = broker->lanes ? broker->config->endpoint_count : 0; i-- > 0;)
        lane_close(&broker->lanes[i]);
    for (size_t i = 0; broker->pools && i < broker->config->model_count; i++)
        free(broker->pools[i].heap);
    free(broker->lanes);
    free(broker->pools);
    free(broker->pool_of);
    if (broker->store)
        atoll_store_close(broker->store);
    if (broker->spending)
        atoll_spending_close(broker->spending);
    atoll_broker_close_syncer(broker);
    atoll_broker_index_fini(&broker->index);
    if (broker->headers.data)
        sodium_memzero(broker->headers.data, broker->headers.capacity);
    atoll_buffer_fini(&broker->headers);
    atoll_buffer_fini(&broker->body);
}

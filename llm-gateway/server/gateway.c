/* gateway.c - loop, broker, HTTP server and spool in one thread.
 * The end: nothing new is taken, what is under way is given its time, then the server closes before the broker, which calls
 * back all that is left, and the spool after it. */
#include "llm-gateway/server/gateway.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "llm-gateway/broker/broker.h"
#include "base/file.h"
#include "llm-gateway/server/http_server.h"
#include "llm-gateway/spool/spool_service.h"

#define LOOK_MS 200  /* how often the flag is looked at */
#define LOG_NS  60e9 /* how often a full disk is logged */

#define LARGE_BYTES (128 << 10) /* the libraries' own threshold, before they raise it */
/* Of a call at its endpoint: curl's two buffers and its handle, the server's connection; measured, and what lies between. */
#define EXCHANGE_BYTES (96 << 10)
#define READY_LIMIT    (64 << 20) /* of memory that is made ready */

struct gateway {
    const struct atoll_gateway_config *config;
    struct atoll_loop *loop;
    struct atoll_metrics *metrics;
    struct atoll_broker *broker;
    struct atoll_secret *token;
    struct atoll_http_server *server;
    struct atoll_spool_service *spool;
    double full_ns; /* when it was last logged that the disk is full */
};

/* A large reply's memory goes back to the system when it is over.  Left alone, glibc learns from the first one to keep such
 * blocks in its heap, where a small one behind them holds all of it for days.  What calls in flight take is small blocks: the
 * heap has room for as many as the endpoints take from the start, so that it does not grow each time that more of them than
 * ever meet, and keeps it. */
static void keep_memory_flat(const struct atoll_gateway_config *config)
{
#ifdef __GLIBC__
    struct block {
        struct block *next;
    } *first = NULL;
    size_t calls = 0;
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    mallopt(M_TRIM_THRESHOLD, 2 * READY_LIMIT);
    for (size_t i = 0; i < config->endpoint_count; i++)
        calls += config->endpoints[i].concurrency;
    if (config->in_flight_limit && calls > config->in_flight_limit)
        calls = config->in_flight_limit;
    size_t bytes = calls < READY_LIMIT / EXCHANGE_BYTES ? calls * EXCHANGE_BYTES : READY_LIMIT;
    /* Blocks that lie side by side become one again, at the heap's end, where calls will be cut from it. */
    bytes = config->mode == ATOLL_EXCHANGE_REPLAY ? 0 : bytes;
    for (size_t size = LARGE_BYTES / 2, made = 0; made < bytes; made += size) {
        struct block *block = malloc(size);
        if (!block)
            break;
        memset(block, 1, size);
        block->next = first;
        first = block;
    }
    while (first) {
        struct block *next = first->next;
        free(first);
        first = next;
    }
#endif
}

static int gateway_open(struct gateway *gateway, struct atoll_err *err)
{
    const struct atoll_gateway_config *config = gateway->config;
    const char *socket =
        config->listen && strncmp(config->listen, "unix:", 5) == 0 ? config->listen + 5 : NULL;
    const char *const paths[] = {config->file, config->spool, socket};
    struct atoll_err why = ATOLL_ERR_INIT;
    if (!config->listen && !config->spool) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "gateway: nobody could reach it: give it an address (listen) or a spool");
    }
    keep_memory_flat(config);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths);
         i++) { /* they may name folders that are not there yet */
        if (paths[i] && *paths[i] && atoll_folder_make_parents(paths[i], err) != 0)
            return -1;
    }
    if (atoll_secret_harden(&why) != 0)
        atoll_log_err(ATOLL_LOG_WARNING, "gateway.harden", &why);
    if (config->token_file || config->token_env) {
        gateway->token = config->token_file ? atoll_secret_of_file(config->token_file, err)
                                            : atoll_secret_of_environment(config->token_env, err);
        if (!gateway->token)
            return atoll_err_add(err, "the token of this gateway's clients");
    }
    if (!(gateway->loop = atoll_loop_create(NULL, NULL, err)) ||
        !(gateway->metrics = atoll_metrics_create(err)) ||
        !(gateway->broker = atoll_broker_create(gateway->loop, config, gateway->metrics, err)) ||
        (config->listen &&
         !(gateway->server = atoll_http_server_create(gateway->loop, gateway->broker, config, gateway->token,
                                                      gateway->metrics, err))) ||
        (config->spool &&
         !(gateway->spool = atoll_spool_service_create(gateway->loop, gateway->broker, config, err)))) {
        return -1;
    }
    return 0;
}

static int turn(struct gateway *gateway, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_loop_run(gateway->loop, LOOK_MS, err) != 0 ||
        atoll_spool_service_state(gateway->spool, err) != 0) {
        return -1;
    }
    if (atoll_broker_turn(gateway->broker, &why) == 0)
        return 0;
    if (why.code != ATOLL_E_FULL)
        return atoll_err_set(err, why.code, "%s", why.text);
    /* A full disk stops answers, not the gateway: it goes on once there is space. */
    double now_ns = atoll_loop_now_ns(gateway->loop);
    if (gateway->full_ns <= 0 || now_ns - gateway->full_ns >= LOG_NS) {
        gateway->full_ns = now_ns;
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.full", &why);
    }
    return 0;
}

int atoll_gateway_run(const struct atoll_gateway_config *config,
                      void (*opened)(void *context, const char *url), void *context,
                      const volatile sig_atomic_t *stop, double stop_s, struct atoll_err *err)
{
    struct gateway gateway = {.config = config};
    int result = gateway_open(&gateway, err);
    if (result == 0 && opened && gateway.server)
        opened(context, atoll_http_server_url(gateway.server));
    while (result == 0 && !*stop)
        result = turn(&gateway, err);
    if (result == 0) {
        /* Calls in flight have until then; an error ends it as well. */
        double until_ns = atoll_loop_now_ns(gateway.loop) + stop_s * 1e9;
        atoll_spool_service_stop(gateway.spool);
        atoll_broker_stop(gateway.broker);
        while (result == 0 && atoll_broker_count(gateway.broker) > 0 &&
               atoll_loop_now_ns(gateway.loop) < until_ns) {
            result = turn(&gateway, err);
        }
        result = result ? result : turn(&gateway, err); /* the last answers go out */
    }
    atoll_http_server_destroy(gateway.server);
    atoll_broker_destroy(gateway.broker);
    atoll_spool_service_destroy(gateway.spool);
    atoll_secret_destroy(gateway.token);
    atoll_metrics_destroy(gateway.metrics);
    atoll_loop_destroy(gateway.loop);
    return result;
}

/* transfer.c - exchanges over one curl multi handle, driven by the loop.
 * curl says which sockets it waits for and when it wants to be called; the loop calls it for the one socket that is ready, so
 * the cost of an exchange does not grow with the number in flight.  Each exchange has one timer of its own: at its deadline,
 * when it has been silent too long, and at once where something waits that cannot be done inside curl's callbacks (an
 * exchange started there, one cancelled).  finish alone delivers the end; it runs from the loop and from destroy. */
#include "llm-gateway/http/exchange.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <sys/epoll.h>

#include <sodium.h>

#include "base/array.h"

#define EXCHANGE_LIMIT     ((uint32_t)1 << 16)
#define CONNECTION_DEFAULT 1024
#define IDLE_CONNECTIONS   512 /* kept open for reuse */
#define FRONT_BYTES        16  /* keeps the alignment of malloc */

/* ---- one exchange ---- */

static void look(void *context);

/* A timer's slot is free after the cancel, so that setting one again cannot fail. */
static int look_at(struct atoll_exchange *exchange, double when_ns, struct atoll_err *err)
{
    atoll_loop_cancel(exchange->transfers->loop, exchange->timer);
    exchange->timer = 0;
    return atoll_loop_at(exchange->transfers->loop, when_ns, look, exchange, &exchange->timer, err);
}

static double connected_s(CURL *easy)
{
    double tcp = 0, tls = 0;
    curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME, &tcp);
    curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME, &tls);
    return tls > tcp ? tls : tcp;
}

static void end_fill(const struct atoll_exchange *exchange, struct atoll_transfer_end *ret_end)
{
    long connects = 0, upload = 0;
    curl_off_t ready_us = 0; /* 0, and nothing of the body taken: what was sent is what a proxy was asked */
    double now_ns = atoll_loop_now_ns(exchange->transfers->loop);
    curl_easy_getinfo(exchange->easy, CURLINFO_NUM_CONNECTS, &connects);
    curl_easy_getinfo(exchange->easy, CURLINFO_REQUEST_SIZE, &upload);
    curl_easy_getinfo(exchange->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    int is_sent = upload > 0 && (ready_us > 0 || exchange->body_sent > 0);
    *ret_end = (struct atoll_transfer_end){.status = exchange->status,
                                           .http_status = exchange->http_status,
                                           .connected_s = connected_s(exchange->easy),
                                           .elapsed_s = (now_ns - exchange->started_ns) / 1e9,
                                           .is_reused = connects == 0 && is_sent,
                                           .is_sent = is_sent};
    if (exchange->first_byte_ns > 0)
        ret_end->first_byte_s = (exchange->first_byte_ns - exchange->started_ns) / 1e9;
    memcpy(ret_end->detail, exchange->detail, sizeof(ret_end->detail));
}

/* Wipes headers, frees what belongs to one exchange, and leaves the handle as new (its connection stays with the multi). */
static void exchange_idle(struct atoll_exchange *exchange)
{
    struct atoll_transfers *transfers = exchange->transfers;
    atoll_loop_cancel(transfers->loop, exchange->timer);
    transfers->is_inside++;
    if (exchange->is_in_multi)
        curl_multi_remove_handle(transfers->multi, exchange->easy);
    transfers->is_inside--;
    curl_easy_reset(exchange->easy);
    curl_slist_free_all(exchange->headers);
    free(exchange->body);
    *exchange = (struct atoll_exchange){
        .transfers = transfers, .easy = exchange->easy, .place = exchange->place, .next = transfers->idle};
    transfers->idle = exchange;
}

static void finish(struct atoll_exchange *exchange)
{
    struct atoll_transfer_end end;
    void (*on_done)(void *context, const struct atoll_transfer_end *end) = exchange->on_done;
    void *context = exchange->context;
    end_fill(exchange, &end);
    exchange->transfers->count--;
    exchange_idle(exchange);
    on_done(context, &end);
}

static void exchange_add(struct atoll_exchange *exchange)
{
    struct atoll_transfers *transfers = exchange->transfers;
    transfers->is_inside++;
    CURLMcode code = curl_multi_add_handle(transfers->multi, exchange->easy);
    transfers->is_inside--;
    exchange->is_in_multi = code == CURLM_OK;
    if (code)
        atoll_exchange_decide(exchange, ATOLL_LLM_NETWORK, "libcurl does not take it: %s",
                              curl_multi_strerror(code));
}

/* Since when nothing has come: bytes of the reply, of the request going out, or the connection itself. */
static double silent_since_ns(struct atoll_exchange *exchange, double now_ns)
{
    curl_off_t uploaded = 0, ready_us = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
    curl_easy_getinfo(exchange->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    if (uploaded > exchange->uploaded && exchange->first_byte_ns <= 0 && exchange->uploaded > 0)
        exchange->heard_ns = now_ns;
    exchange->uploaded = uploaded;
    if (exchange->heard_ns > 0)
        return exchange->heard_ns;
    /* Until there is a connection its own limit counts; it is looked at again soon. */
    return ready_us > 0 ? exchange->started_ns + (double)ready_us * 1e3
                        : now_ns - exchange->silence_ns * 7 / 8;
}

static void look(void *context)
{
    struct atoll_exchange *exchange = context;
    double now_ns = atoll_loop_now_ns(exchange->transfers->loop);
    exchange->timer = 0;
    if (now_ns >= exchange->deadline_ns)
        atoll_exchange_decide(exchange, ATOLL_LLM_TIMEOUT, "not done by its deadline, after %.3g s",
                              (now_ns - exchange->started_ns) / 1e9);
    if (!exchange->is_ended && !exchange->is_in_multi)
        exchange_add(exchange);
    double silent_ns = silent_since_ns(exchange, now_ns);
    if (now_ns - silent_ns >= exchange->silence_ns)
        atoll_exchange_decide(exchange, ATOLL_LLM_NETWORK, "the server was silent for %.3g s",
                              (now_ns - silent_ns) / 1e9);
    if (exchange->is_ended)
        finish(exchange);
    else
        look_at(exchange, fmin(exchange->deadline_ns, silent_ns + exchange->silence_ns), NULL);
}

/* ---- curl and the loop ---- */

static void take_ended(struct atoll_transfers *transfers)
{
    int left;
    for (CURLMsg *message = curl_multi_info_read(transfers->multi, &left); message;
         message = curl_multi_info_read(transfers->multi, &left)) {
        char *private = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        struct atoll_exchange *exchange = (struct atoll_exchange *)(void *)private;
        if (code)
            atoll_exchange_explain(exchange, code);
        else if (!exchange
                      ->is_head_done) /* between two header lines an end looks like the head's end to curl */
            atoll_exchange_decide(exchange, ATOLL_LLM_NETWORK,
                                  "the connection ended within the reply's head");
        finish(exchange);
    }
}

static void act(struct atoll_transfers *transfers, curl_socket_t fd, int events)
{
    int running;
    transfers->is_inside++;
    curl_multi_socket_action(transfers->multi, fd, events, &running);
    transfers->is_inside--;
    take_ended(transfers);
}

static void on_ready(void *context, int fd, uint32_t epoll_events)
{
    int events = (epoll_events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                 (epoll_events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                 (epoll_events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    act(context, fd, events);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket)
{
    static const uint32_t events[] = {[CURL_POLL_NONE] = 0,
                                      [CURL_POLL_IN] = EPOLLIN,
                                      [CURL_POLL_OUT] = EPOLLOUT,
                                      [CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT,
                                      [CURL_POLL_REMOVE] = 0};
    struct atoll_transfers *transfers = context;
    return atoll_loop_watch(transfers->loop, fd, events[what], on_ready, transfers, NULL);
}

static void on_curl_due(void *context)
{
    struct atoll_transfers *transfers = context;
    transfers->timer = 0;
    act(transfers, CURL_SOCKET_TIMEOUT, 0);
}

static int on_timer(CURLM *multi, long wait_ms, void *context)
{
    struct atoll_transfers *transfers = context;
    atoll_loop_cancel(transfers->loop, transfers->timer);
    transfers->timer = 0;
    if (wait_ms < 0)
        return 0;
    double when_ns = atoll_loop_now_ns(transfers->loop) + (double)wait_ms * 1e6;
    return atoll_loop_at(transfers->loop, when_ns, on_curl_due, transfers, &transfers->timer, NULL);
}

/* ---- memory for libcurl that is wiped when it is freed ----
 * curl copies every request header into buffers of its own and frees them as they are; a key would stay in the heap.  Each
 * block has its size in front of it, so that all of it can be wiped. */

static void *block_make(size_t size)
{
    if (size > SIZE_MAX - FRONT_BYTES)
        return NULL;
    unsigned char *front = malloc(size + FRONT_BYTES);
    if (!front)
        return NULL;
    memcpy(front, &size, sizeof(size));
    return front + FRONT_BYTES;
}

static size_t block_size(const void *block)
{
    size_t size;
    memcpy(&size, (const unsigned char *)block - FRONT_BYTES, sizeof(size));
    return size;
}

static void block_free(void *block)
{
    if (!block)
        return;
    sodium_memzero(block, block_size(block));
    free((unsigned char *)block - FRONT_BYTES);
}

static void *block_resize(void *block, size_t size)
{
    if (!block)
        return block_make(size);
    size_t old = block_size(block);
    void *fresh = block_make(size);
    if (!fresh)
        return NULL;
    memcpy(fresh, block, old < size ? old : size);
    block_free(block);
    return fresh;
}

static char *block_text(const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = block_make(length);
    return copy ? memcpy(copy, text, length) : NULL;
}

static void *block_zero(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *block = block_make(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

/* ---- all of them ---- */

struct atoll_transfers *atoll_transfers_create(struct atoll_loop *loop, unsigned connection_limit,
                                               struct atoll_err *err)
{
    struct atoll_transfers *transfers = calloc(1, sizeof(*transfers));
    if (!transfers || curl_global_init_mem(CURL_GLOBAL_DEFAULT, block_make, block_free, block_resize,
                                           block_text, block_zero)) {
        atoll_err_set(err, ATOLL_E_MEMORY, "transfer: libcurl does not start");
        free(transfers);
        return NULL;
    }
    /* A write to a connection that the peer closed would kill the process: NOSIGNAL makes curl leave that to us. */
    struct sigaction now;
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
    transfers->loop = loop;
    transfers->multi = curl_multi_init();
    CURLM *multi = transfers->multi;
    long limit = connection_limit ? (long)connection_limit : CONNECTION_DEFAULT;
    if (!multi || curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket) ||
        curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, transfers) ||
        curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer) ||
        curl_multi_setopt(multi, CURLMOPT_TIMERDATA, transfers) ||
        curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX) ||
        curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limit) ||
        curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, limit < IDLE_CONNECTIONS ? limit : IDLE_CONNECTIONS)) {
        atoll_err_set(err, ATOLL_E_MEMORY, "transfer: libcurl gives no multi handle");
        atoll_transfers_destroy(transfers);
        return NULL;
    }
    return transfers;
}

void atoll_transfers_destroy(struct atoll_transfers *transfers)
{
    if (!transfers)
        return;
    transfers->is_closing = 1;
    for (uint32_t i = 0; i < transfers->all_count; i++) {
        if (transfers->all[i]->number) {
            atoll_exchange_decide(transfers->all[i], ATOLL_LLM_CANCELLED, "the gateway ends");
            finish(transfers->all[i]);
        }
    }
    for (uint32_t i = 0; i < transfers->all_count; i++) {
        curl_easy_cleanup(transfers->all[i]->easy);
        free(transfers->all[i]);
    }
    if (transfers->multi)
        curl_multi_cleanup(transfers->multi);
    atoll_loop_cancel(transfers->loop, transfers->timer);
    free(transfers->all);
    free(transfers);
    curl_global_cleanup();
}

static struct atoll_exchange *exchange_take(struct atoll_transfers *transfers, struct atoll_err *err)
{
    struct atoll_exchange *exchange = transfers->idle;
    if (exchange) {
        transfers->idle = exchange->next;
        return exchange;
    }
    if (transfers->all_count == EXCHANGE_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "transfer: more than %u exchanges at once", EXCHANGE_LIMIT);
        return NULL;
    }
    if (atoll_array_reserve(&transfers->all, &transfers->all_capacity, transfers->all_count + 1,
                            sizeof(*transfers->all), err))
        return NULL;
    exchange = calloc(1, sizeof(*exchange));
    if (exchange)
        exchange->easy = curl_easy_init();
    if (!exchange || !exchange->easy) {
        free(exchange);
        atoll_err_set(err, ATOLL_E_MEMORY, "transfer: no memory for an exchange");
        return NULL;
    }
    exchange->transfers = transfers;
    exchange->place = transfers->all_count;
    transfers->all[transfers->all_count++] = exchange;
    return exchange;
}

int atoll_transfers_start(struct atoll_transfers *transfers, const struct atoll_transfer *transfer,
                          uint64_t *ret_number, struct atoll_err *err)
{
    if (transfers->is_closing)
        return atoll_err_set(err, ATOLL_E_BUSY, "transfer: the gateway ends");
    struct atoll_exchange *exchange = exchange_take(transfers, err);
    if (!exchange)
        return -1;
    double now_ns = exchange->started_ns = atoll_loop_now_ns(transfers->loop);
    if (atoll_exchange_prepare(exchange, transfer, err) ||
        look_at(exchange,
                transfers->is_inside ? now_ns : fmin(exchange->deadline_ns, now_ns + exchange->silence_ns),
                err)) {
        exchange_idle(exchange);
        return -1;
    }
    exchange->number = (uint64_t)++transfers->generation << 32 | (exchange->place + 1);
    transfers->count++;
    if (!transfers->is_inside)
        exchange_add(exchange);
    if (exchange->is_ended)
        look_at(exchange, now_ns, NULL);
    if (ret_number)
        *ret_number = exchange->number;
    return 0;
}

void atoll_transfers_cancel(struct atoll_transfers *transfers, uint64_t number)
{
    uint64_t place = (number & 0xffffffffu) - 1;
    if (number == 0 || place >= transfers->all_count || transfers->all[place]->number != number)
        return;
    struct atoll_exchange *exchange = transfers->all[place];
    atoll_exchange_decide(exchange, ATOLL_LLM_CANCELLED, "cancelled");
    look_at(exchange, atoll_loop_now_ns(transfers->loop), NULL);
}

unsigned atoll_transfers_count(const struct atoll_transfers *transfers)
{
    return transfers->count;
}

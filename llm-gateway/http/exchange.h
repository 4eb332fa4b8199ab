/* exchange.h - one exchange over libcurl, and what is in flight.
 * Layer: llm-gateway, private to transfer.c and exchange.c. */
#ifndef ATOLL_LLM_GATEWAY_HTTP_EXCHANGE_H
#define ATOLL_LLM_GATEWAY_HTTP_EXCHANGE_H

#include <curl/curl.h>

#include "llm-gateway/http/transfer.h"

/* One exchange, or an idle one kept with its easy handle: thousands of exchanges use as many handles as were ever in
 * flight at once. */
struct atoll_exchange {
    struct atoll_transfers *transfers;
    CURL *easy;
    uint64_t number;            /* 0: idle */
    uint32_t place;             /* in the table of all */
    struct curl_slist *headers; /* wiped when freed */
    unsigned char *body;
    size_t body_length, body_sent;
    char error[CURL_ERROR_SIZE];
    int is_in_multi;
    /* ---- times, of the loop's clock ---- */
    uint64_t timer; /* the next look at deadline and silence, or at once where there is something to do */
    double deadline_ns, silence_ns, started_ns, first_byte_ns,
        heard_ns;        /* heard: last sign of life; 0 none */
    curl_off_t uploaded; /* when it was last looked at */
    /* ---- the reply ---- */
    int http_status, is_head_done;
    size_t head_bytes, reply_bytes, reply_limit_bytes;
    /* ---- the end, once something of ours decided it ---- */
    int is_ended;
    enum atoll_llm_status status;
    char detail[256];
    struct atoll_exchange *next; /* idle ones */
    void (*on_header)(void *context, const char *name, const char *value);
    int (*on_data)(void *context, int http_status, const void *bytes, size_t length);
    void (*on_done)(void *context, const struct atoll_transfer_end *end);
    void *context;
};

struct atoll_transfers {
    struct atoll_loop *loop; /* borrowed */
    CURLM *multi;
    uint64_t timer;              /* curl's own */
    unsigned count;              /* in flight */
    int is_inside;               /* curl is on the stack: it does not take handles now */
    int is_closing;              /* nothing new is taken */
    struct atoll_exchange **all; /* owned, at their places */
    struct atoll_exchange *idle;
    uint32_t all_count, all_capacity, generation;
};

/* Takes over all that transfer says.  Errors: INPUT, MEMORY. */
int atoll_exchange_prepare(struct atoll_exchange *exchange, const struct atoll_transfer *transfer,
                           struct atoll_err *err);
/* How it ended; the first cause stays. */
void atoll_exchange_decide(struct atoll_exchange *exchange, enum atoll_llm_status status, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));
/* The same for a code of curl: what it means, and what helps. */
void atoll_exchange_explain(struct atoll_exchange *exchange, CURLcode code);

#endif

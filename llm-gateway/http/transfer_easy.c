/* transfer_easy.c - one exchange as options of a curl easy handle.
 * A body is handed over by a callback that cannot be rewound: where a connection that was used before breaks before the
 * first byte of a reply, curl would send a request again by itself if it could, and the request would be asked (and paid)
 * twice without anybody knowing.  So it fails instead, and whoever keeps the books decides. */
#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "llm-gateway/http/transfer_state.h"

#define URL_LIMIT_BYTES     ((size_t)8 << 10)
#define HEADER_LIMIT        64
#define REPLY_DEFAULT_BYTES ((size_t)64 << 20)

static const struct {
    CURLoption option;
    long value;
} fixed_options[] = {
    {CURLOPT_NOSIGNAL, 1},
    {CURLOPT_FOLLOWLOCATION, 0},
    {CURLOPT_SSL_VERIFYPEER, 1},
    {CURLOPT_SSL_VERIFYHOST, 2},
    {CURLOPT_PROXY_SSL_VERIFYPEER, 1},
    {CURLOPT_PROXY_SSL_VERIFYHOST, 2},
    {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
    {CURLOPT_HTTP09_ALLOWED, 0},
    {CURLOPT_NETRC, CURL_NETRC_IGNORED},
    {CURLOPT_DISALLOW_USERNAME_IN_URL, 1},
    {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
    {CURLOPT_TCP_KEEPALIVE, 1},
    {CURLOPT_NOPROGRESS, 1},
    {CURLOPT_TIMEOUT_MS, 0}, /* the deadline is kept by the loop's clock */
    /* Per exchange in flight, and the smallest there is.  The other buffer keeps its default: a handle that still has one
     * from an exchange over HTTP/2 takes no other size. */
    {CURLOPT_UPLOAD_BUFFERSIZE, 16 << 10},
#if LIBCURL_VERSION_NUM >= 0x075700
    {CURLOPT_QUICK_EXIT,
     1}, /* ending an exchange whose name is being looked up does not wait for the resolver */
#endif
};

static size_t body_read(char *into, size_t size, size_t count, void *context)
{
    struct atoll_exchange *exchange = context;
    size_t left = exchange->body_length - exchange->body_sent, room = size * count;
    size_t length = left < room ? left : room;
    if (length)
        memcpy(into, exchange->body + exchange->body_sent, length);
    exchange->body_sent += length;
    return length;
}

/* 0 only where nothing was read yet. */
static int body_seek(void *context, curl_off_t offset, int origin)
{
    const struct atoll_exchange *exchange = context;
    return exchange->body_sent == 0 && offset == 0 && origin == SEEK_SET ? CURL_SEEKFUNC_OK
                                                                         : CURL_SEEKFUNC_FAIL;
}

#if LIBCURL_VERSION_NUM >= 0x075000
/* Before a request goes out on a connection: one whose body was handed over before is a second sending, which curl begins
 * without rewinding where it believes that nothing of the body had left. */
static int request_begins(void *context, char *to, char *from, int to_port, int from_port)
{
    const struct atoll_exchange *exchange = context;
    return exchange->body_sent ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}
#endif

/* No child inherits a connection. */
static curl_socket_t socket_open(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void set_text(CURL *easy, CURLoption option, const char *text, CURLcode *ret_bad)
{
    CURLcode code = curl_easy_setopt(easy, option, text);
    if (code)
        *ret_bad = code;
}

static void set_long(CURL *easy, CURLoption option, long value, CURLcode *ret_bad)
{
    CURLcode code = curl_easy_setopt(easy, option, value);
    if (code)
        *ret_bad = code;
}

/* ---- what transfer says ---- */

static int url_check(const char *url, struct atoll_err *err)
{
    size_t scheme = url && strncasecmp(url, "https://", 8) == 0  ? 8
                    : url && strncasecmp(url, "http://", 7) == 0 ? 7
                                                                 : 0;
    if (scheme == 0 || !url[scheme] || strlen(url) > URL_LIMIT_BYTES)
        return atoll_err_set(err, ATOLL_E_INPUT, "transfer: '%.100s' is no url of http:// or https://",
                             url ? url : "");
    for (const char *c = url; *c; c++) {
        if (*c <= ' ' || *c > '~')
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "transfer: the url has a blank or a byte beyond ASCII at offset %td",
                                 c - url);
    }
    size_t authority = strcspn(url + scheme, "/?#");
    if (memchr(url + scheme, '@', authority))
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "transfer: the url holds a user name or password; keys belong in a key file");
    return 0;
}

/* The value is never shown: it may be a key. */
static int header_check(const char *line, struct atoll_err *err)
{
    size_t name = strcspn(line, ":");
    for (size_t i = 0; line[i]; i++) {
        if (line[i] == '\r' || line[i] == '\n' || (i < name && !isgraph((unsigned char)line[i])))
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "transfer: a header of the request has a line end or blank");
    }
    if (name == 0 || line[name] != ':')
        return atoll_err_set(err, ATOLL_E_INPUT, "transfer: a header of the request has no name");
    return 0;
}

static int headers_add(struct atoll_exchange *exchange, const char *line, struct atoll_err *err)
{
    struct curl_slist *longer = curl_slist_append(exchange->headers, line);
    if (!longer)
        return atoll_err_set(err, ATOLL_E_MEMORY, "transfer: no memory for headers");
    exchange->headers = longer;
    return 0;
}

static int headers_prepare(struct atoll_exchange *exchange, const struct atoll_transfer *transfer,
                           struct atoll_err *err)
{
    int has_type = transfer->body_length == 0;
    if (transfer->header_count > HEADER_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "transfer: more than %d headers", HEADER_LIMIT);
    for (size_t i = 0; i < transfer->header_count; i++) {
        const char *line = transfer->headers[i];
        has_type |= strncasecmp(line, "content-type:", 13) == 0;
        if (header_check(line, err) || headers_add(exchange, line, err))
            return -1;
    }
    /* Without these curl would ask for permission to send a large body, and call it a form. */
    if (headers_add(exchange, "Expect:", err))
        return -1;
    return has_type ? 0 : headers_add(exchange, "Content-Type: application/json", err);
}

static int body_prepare(struct atoll_exchange *exchange, const struct atoll_transfer *transfer,
                        struct atoll_err *err)
{
    exchange->body_length = transfer->body_length;
    exchange->body_sent = 0;
    if (transfer->body_length == 0)
        return 0;
    exchange->body = malloc(transfer->body_length);
    if (!exchange->body)
        return atoll_err_set(err, ATOLL_E_MEMORY, "transfer: no memory for a body of %zu bytes",
                             transfer->body_length);
    memcpy(exchange->body, transfer->body, transfer->body_length);
    return 0;
}

static int method_prepare(struct atoll_exchange *exchange, const char *method, CURLcode *ret_bad,
                          struct atoll_err *err)
{
    CURL *easy = exchange->easy;
    size_t length = method ? strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
    if (length == 0 || length > 16 || method[length])
        return atoll_err_set(err, ATOLL_E_INPUT, "transfer: '%.20s' is no method", method ? method : "");
    int is_post = strcmp(method, "POST") == 0;
    set_long(easy, is_post || exchange->body_length ? CURLOPT_POST : CURLOPT_HTTPGET, 1, ret_bad);
    if (!is_post && (exchange->body_length || strcmp(method, "GET") != 0))
        set_text(easy, CURLOPT_CUSTOMREQUEST, method, ret_bad);
    if (exchange->body_length) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->body_length);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, body_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, exchange);
        curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, body_seek);
        curl_easy_setopt(easy, CURLOPT_SEEKDATA, exchange);
    } else if (is_post) {
        set_text(easy, CURLOPT_COPYPOSTFIELDS, "", ret_bad);
    }
    return 0;
}

static double or_default(double value, double fallback)
{
    return value > 0 ? value : fallback;
}

static void site_prepare(struct atoll_exchange *exchange, const struct atoll_transfer_site *site,
                         CURLcode *ret_bad)
{
    static const struct atoll_transfer_site none;
    CURL *easy = exchange->easy;
    if (!site)
        site = &none;
    if (site->unix_socket) {
        set_text(easy, CURLOPT_UNIX_SOCKET_PATH, site->unix_socket, ret_bad);
        set_text(easy, CURLOPT_PROXY, "", ret_bad);
    } else if (site->proxy) {
        set_text(easy, CURLOPT_PROXY, site->proxy, ret_bad);
    }
    if (site->ca_file) {
        set_text(easy, CURLOPT_CAINFO, site->ca_file, ret_bad);
        set_text(easy, CURLOPT_PROXY_CAINFO, site->ca_file, ret_bad);
    }
    double connect_ms = fmin(or_default(site->connect_s, 10) * 1e3, 1e9);
    set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)ceil(connect_ms), ret_bad);
    exchange->silence_ns = or_default(site->silence_s, 300) * 1e9;
}

/* With libcurl 7.88 and many exchanges at once, one in a hundred over HTTP/2 ended as a stream error of curl's own making
 * (or was sent twice, where curl could rewind); none did over HTTP/1.1.  That code was written anew in the 8 series. */
static long http_version(void)
{
    return curl_version_info(CURLVERSION_NOW)->version_num >= 0x080700 ? CURL_HTTP_VERSION_2TLS
                                                                       : CURL_HTTP_VERSION_1_1;
}

static void fixed_prepare(struct atoll_exchange *exchange, CURLcode *ret_bad)
{
    CURL *easy = exchange->easy;
    for (size_t i = 0; i < sizeof fixed_options / sizeof fixed_options[0]; i++)
        set_long(easy, fixed_options[i].option, fixed_options[i].value, ret_bad);
    set_long(easy, CURLOPT_HTTP_VERSION, http_version(), ret_bad);
#if LIBCURL_VERSION_NUM >= 0x075500
    set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https", ret_bad);
    set_text(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https", ret_bad);
#else
    set_long(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS, ret_bad);
    set_long(easy, CURLOPT_REDIR_PROTOCOLS, 0, ret_bad);
#endif
    exchange->error[0] = '\0';
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange->error);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, exchange);
#if LIBCURL_VERSION_NUM >= 0x075000
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, request_begins);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, exchange);
#endif
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, socket_open);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, atoll_exchange_head);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, atoll_exchange_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
}

int atoll_exchange_prepare(struct atoll_exchange *exchange, const struct atoll_transfer *transfer,
                           struct atoll_err *err)
{
    CURLcode bad = CURLE_OK;
    if (!transfer->on_done || isnan(transfer->deadline_ns))
        return atoll_err_set(err, ATOLL_E_INTERNAL, "transfer: no on_done, or no deadline");
    fixed_prepare(exchange, &bad);
    if (url_check(transfer->url, err) || headers_prepare(exchange, transfer, err) ||
        body_prepare(exchange, transfer, err) || method_prepare(exchange, transfer->method, &bad, err))
        return -1;
    site_prepare(exchange, transfer->site, &bad);
    set_text(exchange->easy, CURLOPT_URL, transfer->url, &bad);
    curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, exchange->headers);
    if (bad)
        return atoll_err_set(err, bad == CURLE_OUT_OF_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_INPUT,
                             "transfer: libcurl refuses an option: %s", curl_easy_strerror(bad));
    exchange->reply_limit_bytes =
        transfer->body_limit_bytes ? transfer->body_limit_bytes : REPLY_DEFAULT_BYTES;
    curl_easy_setopt(exchange->easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)exchange->reply_limit_bytes);
    exchange->deadline_ns = transfer->deadline_ns;
    exchange->on_header = transfer->on_header;
    exchange->on_data = transfer->on_data;
    exchange->on_done = transfer->on_done;
    exchange->context = transfer->context;
    return 0;
}

void atoll_exchange_clear(struct atoll_exchange *exchange)
{
    curl_easy_reset(exchange->easy);
    curl_slist_free_all(exchange->headers);
    free(exchange->body);
    *exchange = (struct atoll_exchange){.transfers = exchange->transfers,
                                        .easy = exchange->easy,
                                        .place = exchange->place,
                                        .next = exchange->next};
}

/* exchange.c - one exchange: options of a curl easy handle, the reply piece by piece, and what a failure means.
 *
 * A body is handed over by a callback that cannot be rewound: where a connection that was used before breaks before the
 * first byte of a reply, curl would send a request again by itself if it could, and the request would be asked (and paid)
 * twice without anybody knowing.  So it fails instead, and whoever keeps the books decides.
 *
 * A head is a status line, header lines and an empty line; 1xx heads come before the one that counts, trailers after the
 * body: neither is passed on.  Returning another count than was given makes curl end the exchange.
 *
 * Certificates are told apart by the words of the TLS library (OpenSSL, GnuTLS and others say them differently): what no row
 * knows is passed on as it is. */
#include "llm-gateway/http/exchange.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define HEAD_LIMIT_BYTES    ((size_t)256 << 10)
#define LINE_LIMIT_BYTES    ((size_t)16 << 10)
#define URL_LIMIT_BYTES     ((size_t)8 << 10)
#define HEADER_LIMIT        64
#define REPLY_DEFAULT_BYTES ((size_t)64 << 20)

/* ---- what comes ---- */

void atoll_exchange_decide(struct atoll_exchange *exchange, enum atoll_llm_status status, const char *format,
                           ...)
{
    if (exchange->is_ended)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(exchange->detail, sizeof(exchange->detail), format, args);
    va_end(args);
    for (char *c = exchange->detail; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    exchange->status = status;
    exchange->is_ended = 1;
}

static void heard(struct atoll_exchange *exchange)
{
    exchange->heard_ns = atoll_loop_now_ns(exchange->transfers->loop);
    if (exchange->first_byte_ns <= 0)
        exchange->first_byte_ns = exchange->heard_ns;
}

static int is_redirect(int status)
{
    return status >= 300 && status < 400 && status != 304;
}

/* Lower-case name and value without blanks around it, in the copy. */
static int line_split(char *line, char **ret_name, char **ret_value)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return -1;
    for (char *c = line; c < colon; c++)
        *c = (char)tolower((unsigned char)*c);
    *colon = '\0';
    char *value = colon + 1, *end = value + strlen(value);
    while (*value == ' ' || *value == '\t')
        value++;
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    *ret_name = line;
    *ret_value = value;
    return 0;
}

static void header_line(struct atoll_exchange *exchange, const char *bytes, size_t length)
{
    char line[LINE_LIMIT_BYTES] = "", *name, *value;
    if (length >= sizeof(line)) {
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL, "a header line of the reply has %zu bytes",
                              length);
        return;
    }
    memcpy(line, bytes, length);
    line[length] = '\0';
    if (line_split(line, &name, &value))
        return;
    if (is_redirect(exchange->http_status) && strcmp(name, "location") == 0) {
        atoll_exchange_decide(
            exchange, ATOLL_LLM_PROTOCOL,
            "HTTP %d: a redirect to '%.120s', which is never followed: give the endpoint's final "
            "url",
            exchange->http_status, value);
    } else if (exchange->on_header) {
        exchange->on_header(exchange->context, name, value);
    }
}

static size_t take_head(char *line, size_t size, size_t count, void *context)
{
    struct atoll_exchange *exchange = context;
    size_t length = size * count;
    int status;
    heard(exchange);
    exchange->head_bytes += length;
    if (exchange->head_bytes > HEAD_LIMIT_BYTES)
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL, "the reply's headers are larger than %zu bytes",
                              HEAD_LIMIT_BYTES);
    else if (exchange->is_head_done)
        return exchange->is_ended ? 0 : length; /* a trailer */
    else if (length > 5 && memcmp(line, "HTTP/", 5) == 0) {
        char text[32];
        snprintf(text, sizeof(text), "%.*s", (int)(length < 31 ? length : 31), line);
        exchange->http_status = sscanf(text, "HTTP/%*[0-9.] %d", &status) == 1 ? status : 0;
    } else if (length > 0 && (line[0] == '\r' || line[0] == '\n')) {
        exchange->is_head_done = exchange->http_status >= 200;
        if (is_redirect(exchange->http_status))
            atoll_exchange_decide(
                exchange, ATOLL_LLM_PROTOCOL,
                "HTTP %d: a redirect, which is never followed: give the endpoint's final url",
                exchange->http_status);
    } else if (exchange->http_status >= 200)
        header_line(exchange, line, length);
    return exchange->is_ended ? 0 : length;
}

static size_t take_data(char *bytes, size_t size, size_t count, void *context)
{
    struct atoll_exchange *exchange = context;
    size_t length = size * count;
    heard(exchange);
    if (exchange->is_ended)
        return 0;
    if (length > exchange->reply_limit_bytes - exchange->reply_bytes) {
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL, "the reply is larger than %zu bytes",
                              exchange->reply_limit_bytes);
        return 0;
    }
    exchange->reply_bytes += length;
    if (exchange->on_data && exchange->on_data(exchange->context, exchange->http_status, bytes, length))
        atoll_exchange_decide(exchange, ATOLL_LLM_PROTOCOL, "the reply was given up while it came");
    return exchange->is_ended ? 0 : length;
}

/* ---- how it fails ---- */

struct failure {
    CURLcode code;
    enum atoll_llm_status status;
    const char *what; /* the words of curl follow in brackets */
};

static const struct failure failures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, ATOLL_LLM_NETWORK,
     "the host's name has no address: is the url right, is there a network, is a proxy needed?"},
    {CURLE_COULDNT_RESOLVE_PROXY, ATOLL_LLM_NETWORK, "the proxy's name has no address: see proxy"},
    {CURLE_COULDNT_CONNECT, ATOLL_LLM_NETWORK,
     "no connection: does a server listen there, is a proxy needed?"},
    {CURLE_PROXY, ATOLL_LLM_NETWORK, "the proxy did not do what was asked of it: see proxy"},
    {CURLE_OPERATION_TIMEDOUT, ATOLL_LLM_NETWORK, "no connection in time: see connect_s, proxy"},
    {CURLE_SSL_CONNECT_ERROR, ATOLL_LLM_NETWORK,
     "TLS could not be agreed on: is it a TLS port, does a proxy break TLS open?"},
    {CURLE_SSL_CACERT_BADFILE, ATOLL_LLM_NETWORK,
     "the CA certificates cannot be read: see ca_file (a PEM file)"},
    {CURLE_GOT_NOTHING, ATOLL_LLM_NETWORK, "the connection ended before a reply"},
    {CURLE_PARTIAL_FILE, ATOLL_LLM_NETWORK, "the connection ended within the reply"},
    {CURLE_RECV_ERROR, ATOLL_LLM_NETWORK, "the connection broke while a reply was awaited"},
    {CURLE_SEND_ERROR, ATOLL_LLM_NETWORK, "the connection broke while the request was sent"},
    {CURLE_SEND_FAIL_REWIND, ATOLL_LLM_NETWORK,
     "a connection that was used before broke; the request may have arrived"},
    {CURLE_ABORTED_BY_CALLBACK, ATOLL_LLM_NETWORK,
     "a connection that was used before broke; the request may have arrived"},
    {CURLE_HTTP2, ATOLL_LLM_NETWORK, "the HTTP/2 connection failed"},
    {CURLE_HTTP2_STREAM, ATOLL_LLM_NETWORK, "the HTTP/2 stream was ended by the server"},
    {CURLE_UNSUPPORTED_PROTOCOL, ATOLL_LLM_PROTOCOL, "not a url of http or https that can be spoken here"},
    {CURLE_URL_MALFORMAT, ATOLL_LLM_PROTOCOL, "the url is wrong"},
    {CURLE_WEIRD_SERVER_REPLY, ATOLL_LLM_PROTOCOL, "the reply is not HTTP"},
    {CURLE_BAD_CONTENT_ENCODING, ATOLL_LLM_PROTOCOL, "the reply's encoding is broken"},
    {CURLE_FILESIZE_EXCEEDED, ATOLL_LLM_PROTOCOL, "the reply says that it is larger than is allowed"},
};

struct certificate {
    const char *words[3]; /* any of them, in lower case */
    const char *text;
};

static const struct certificate certificates[] = {
    {{"has expired", "expired", NULL},
     "the server's certificate has expired: its owner must renew it (or this machine's clock is wrong)"},
    {{"not yet valid", "not activated", NULL},
     "the server's certificate is not valid yet: is this machine's clock right?"},
    {{"no alternative certificate subject name", "does not match", "hostname"},
     "the server's certificate is for another host: use the name it was made for in the url"},
    {{"self-signed", "self signed", NULL},
     "the server's certificate is signed by itself or by an unknown CA: if you trust it, name it in ca_file "
     "(PEM)"},
    {{"issuer", "unable to verify", "unknown ca"},
     "the server's certificate is signed by an unknown CA: name the site's CA certificate in ca_file (PEM)"},
};

void atoll_exchange_explain(struct atoll_exchange *exchange, CURLcode code)
{
    const char *said = exchange->error[0] ? exchange->error : curl_easy_strerror(code);
    const struct failure *failure = NULL;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        failure = failures[i].code == code ? &failures[i] : failure;
    if (code == CURLE_PEER_FAILED_VERIFICATION) {
        const char *text = NULL;
        for (size_t i = 0; !text && i < sizeof(certificates) / sizeof(certificates[0]); i++)
            for (size_t w = 0; w < 3 && certificates[i].words[w]; w++)
                text = strcasestr(said, certificates[i].words[w]) ? certificates[i].text : text;
        atoll_exchange_decide(exchange, ATOLL_LLM_NETWORK, "%s (%.120s)",
                              text ? text : "the server's certificate was not accepted: see ca_file", said);
    } else if (code == CURLE_RECV_ERROR && strstr(said, "CONNECT")) {
        atoll_exchange_decide(
            exchange, ATOLL_LLM_NETWORK,
            "the proxy opens no way to the host: may it be reached through it? see proxy (%.120s)", said);
    } else if (failure) {
        atoll_exchange_decide(exchange, failure->status, "%s (%.120s)", failure->what, said);
    } else {
        atoll_exchange_decide(exchange, ATOLL_LLM_NETWORK, "%.200s (curl %d)", said, (int)code);
    }
}

/* ---- what goes out ---- */

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
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c > '~')
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "transfer: the url has a blank or a byte beyond ASCII at offset %td",
                                 c - url);
    size_t authority = strcspn(url + scheme, "/?#");
    if (memchr(url + scheme, '@', authority))
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "transfer: the url holds a user name or password; keys belong in a key file");
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
        size_t name = strcspn(line, ":");
        has_type |= strncasecmp(line, "content-type:", 13) == 0;
        for (size_t k = 0; line[k]; k++) { /* the value is never shown: it may be a key */
            if (line[k] == '\r' || line[k] == '\n' || (k < name && !isgraph((unsigned char)line[k]))) {
                return atoll_err_set(err, ATOLL_E_INPUT,
                                     "transfer: a header of the request has a line end or blank");
            }
        }
        if (name == 0 || line[name] != ':')
            return atoll_err_set(err, ATOLL_E_INPUT, "transfer: a header of the request has no name");
        if (headers_add(exchange, line, err) != 0)
            return -1;
    }
    /* Without these curl would ask for permission to send a large body, and call it a form. */
    if (headers_add(exchange, "Expect:", err))
        return -1;
    return has_type ? 0 : headers_add(exchange, "Content-Type: application/json", err);
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

static void fixed_prepare(struct atoll_exchange *exchange, CURLcode *ret_bad)
{
    CURL *easy = exchange->easy;
    for (size_t i = 0; i < sizeof(fixed_options) / sizeof(fixed_options[0]); i++)
        set_long(easy, fixed_options[i].option, fixed_options[i].value, ret_bad);
    /* With libcurl 7.88 and many exchanges at once, one in a hundred over HTTP/2 ended as a stream error of curl's own making
     * (or was sent twice, where curl could rewind); none did over HTTP/1.1.  That code was written anew in the 8 series. */
    int has_http2 = curl_version_info(CURLVERSION_NOW)->version_num >= 0x080700;
    set_long(easy, CURLOPT_HTTP_VERSION, has_http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1, ret_bad);
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
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_head);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
}

int atoll_exchange_prepare(struct atoll_exchange *exchange, const struct atoll_transfer *transfer,
                           struct atoll_err *err)
{
    CURLcode bad = CURLE_OK;
    if (!transfer->on_done || isnan(transfer->deadline_ns))
        return atoll_err_set(err, ATOLL_E_INTERNAL, "transfer: no on_done, or no deadline");
    fixed_prepare(exchange, &bad);
    if (url_check(transfer->url, err) || headers_prepare(exchange, transfer, err))
        return -1;
    exchange->body_length = transfer->body_length;
    exchange->body = transfer->body_length ? malloc(transfer->body_length) : NULL;
    if (transfer->body_length && !exchange->body)
        return atoll_err_set(err, ATOLL_E_MEMORY, "transfer: no memory for a body of %zu bytes",
                             transfer->body_length);
    if (exchange->body)
        memcpy(exchange->body, transfer->body, transfer->body_length);
    if (method_prepare(exchange, transfer->method, &bad, err))
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

/* check_network.c - the steps below HTTP: who is asked for the way, what the host's name means, whose word counts, and
 * whether there is a connection.  Names are looked up here only to say what they mean: libcurl looks again. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "llm-gateway/check/check_run.h"

#define HOST_BYTES 256

/* "https://[::1]:8080/x" into "::1"; "" where it has none. */
static void host_of(const char *url, char ret_host[HOST_BYTES])
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    size_t length = strcspn(host, "/?#"), at = 0;
    for (size_t i = 0; i < length; i++)
        if (host[i] == '@')
            at = i + 1;
    host += at;
    length = host[0] == '[' ? strcspn(++host, "]") : strcspn(host, ":/?#");
    snprintf(ret_host, HOST_BYTES, "%.*s", length < HOST_BYTES ? (int)length : HOST_BYTES - 1, host);
}

static int is_address(const char *host)
{
    struct in6_addr out;
    return inet_pton(AF_INET, host, &out) == 1 || inet_pton(AF_INET6, host, &out) == 1;
}

/* As libcurl reads NO_PROXY: "*", or a name and all below it. */
static int is_excepted(const char *host, const char *list)
{
    size_t host_length = strlen(host);
    while (list && *list) {
        list += strspn(list, ", ");
        list += *list == '.';
        size_t length = strcspn(list, ", ");
        if (length == 1 && *list == '*')
            return 1;
        if (length && length <= host_length && strncasecmp(host + host_length - length, list, length) == 0 &&
            (length == host_length || host[host_length - length - 1] == '.'))
            return 1;
        list += length;
    }
    return 0;
}

static const char *environment(const char *low, const char *high)
{
    const char *value = getenv(low);
    return value && *value ? value : high ? getenv(high) : NULL;
}

/* NULL: none is used. */
static const char *proxy_of(const struct atoll_check_run *run, const char *host)
{
    if (run->site->unix_socket)
        return NULL;
    if (run->site->proxy)
        return run->site->proxy[0] ? run->site->proxy : NULL;
    if (is_excepted(host, environment("no_proxy", "NO_PROXY")))
        return NULL;
    const char *proxy = strncmp(run->url, "https:", 6) == 0 ? environment("https_proxy", "HTTPS_PROXY")
                                                            : environment("http_proxy", NULL);
    if (!proxy || !*proxy)
        proxy = environment("all_proxy", "ALL_PROXY");
    return proxy && *proxy ? proxy : NULL;
}

static int look_up(struct atoll_check_run *run, const char *step, const char *host, const char *remedy)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char address[INET6_ADDRSTRLEN] = "";
    atoll_check_begin(run);
    int rc = getaddrinfo(host, NULL, &hints, &found);
    if (rc) {
        atoll_check_tell(run, step, "", ATOLL_CHECK_FAILED, "'%s' has no address (%s); %s", host,
                         rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc), remedy);
        return -1;
    }
    getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST);
    freeaddrinfo(found);
    atoll_check_tell(run, step, "", ATOLL_CHECK_OK, "'%s' is %s", host, address);
    return 0;
}

static int check_proxy(struct atoll_check_run *run, const char *proxy)
{
    char host[HOST_BYTES];
    if (!proxy) {
        atoll_check_tell(run, "proxy", "", ATOLL_CHECK_SKIPPED,
                         run->site->unix_socket ? "a Unix socket needs none" : "none is used");
        return 0;
    }
    host_of(proxy, host);
    return look_up(run, "proxy", host, "see proxy of the endpoint, or HTTPS_PROXY");
}

static int check_dns(struct atoll_check_run *run, const char *host, const char *proxy)
{
    if (proxy || run->site->unix_socket || is_address(host)) {
        atoll_check_tell(run, "dns", "", ATOLL_CHECK_SKIPPED, "%s",
                         proxy                    ? "the proxy looks the name up"
                         : run->site->unix_socket ? "a Unix socket has no name to look up"
                                                  : "the url has an address");
        return 0;
    }
    return look_up(run, "dns", host,
                   "is the url right? A node without a network needs a proxy, or a gateway "
                   "elsewhere (url or spool)");
}

static int check_ca(struct atoll_check_run *run)
{
    char line[128];
    const char *path = run->site->ca_file;
    int has_certificate = 0;
    int is_tls = strncmp(run->url, "https:", 6) == 0;
    if (!is_tls || !path) {
        atoll_check_tell(run, "ca", "", ATOLL_CHECK_SKIPPED, "%s",
                         is_tls ? "the system's" : "http needs none");
        return 0;
    }
    atoll_check_begin(run);
    FILE *stream = fopen(path, "re");
    while (stream && !has_certificate && fgets(line, sizeof line, stream))
        has_certificate = strstr(line, "-----BEGIN CERTIFICATE-----") ||
                          strstr(line, "-----BEGIN TRUSTED CERTIFICATE-----");
    if (stream)
        fclose(stream);
    if (has_certificate)
        atoll_check_tell(run, "ca", "", ATOLL_CHECK_OK, "%s", path);
    else
        atoll_check_tell(run, "ca", "", ATOLL_CHECK_FAILED, "%s %s; name a PEM file in ca_file", path,
                         stream ? "holds no certificate" : strerror(errno));
    return has_certificate ? 0 : -1;
}

int atoll_check_network(struct atoll_check_run *run)
{
    char host[HOST_BYTES];
    host_of(run->url, host);
    const char *proxy = proxy_of(run, host);
    int failed = check_proxy(run, proxy) != 0;
    failed |= check_dns(run, host, proxy) != 0;
    failed |= check_ca(run) != 0;
    return failed ? -1 : 0;
}

/* libcurl tells no time of a connection whose TLS failed: the words of the failure do. */
static int is_of_tls(const char *detail)
{
    return strstr(detail, "certificate") || strstr(detail, "TLS") || strstr(detail, "SSL");
}

int atoll_check_connected(struct atoll_check_run *run, const struct atoll_check_reply *reply)
{
    int is_tls = strncmp(run->url, "https:", 6) == 0, is_answered = reply->end.http_status > 0;
    int is_connected = is_answered || reply->end.connected_s > 0 || (is_tls && is_of_tls(reply->end.detail));
    if (!is_connected) {
        if (run->site->unix_socket)
            atoll_check_tell(run, "connect", "", ATOLL_CHECK_FAILED,
                             "nobody listens at the socket %s; does the gateway run on this node?",
                             run->site->unix_socket);
        else
            atoll_check_tell(run, "connect", "", ATOLL_CHECK_FAILED, "%s", reply->end.detail);
        atoll_check_tell(run, "tls", "", ATOLL_CHECK_SKIPPED, "no connection");
        return -1;
    }
    atoll_check_tell(run, "connect", "", is_answered || is_tls ? ATOLL_CHECK_OK : ATOLL_CHECK_FAILED, "%s",
                     !(is_answered || is_tls) ? reply->end.detail
                     : run->site->unix_socket ? run->site->unix_socket
                                              : run->url);
    if (!is_tls)
        atoll_check_tell(run, "tls", "", ATOLL_CHECK_SKIPPED, "http has none");
    else
        atoll_check_tell(run, "tls", "", is_answered ? ATOLL_CHECK_OK : ATOLL_CHECK_FAILED, "%s",
                         is_answered ? "the certificate is accepted" : reply->end.detail);
    return is_answered ? 0 : -1;
}

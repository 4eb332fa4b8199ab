#include "llm-gateway/http/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#define HOST_BYTES 64

/* "HOST:PORT" or "[HOST]:PORT" into host and port; -1 when it is neither. */
static int split(const char *text, char host[HOST_BYTES], unsigned long *ret_port)
{
    int is_bracketed = text[0] == '[';
    const char *begin = text + is_bracketed;
    const char *stop = is_bracketed ? strstr(begin, "]:") : strrchr(begin, ':');
    if (!stop || (size_t)(stop - begin) >= HOST_BYTES)
        return -1;
    const char *digits = stop + 1 + is_bracketed;
    char *end = NULL;
    *ret_port = strtoul(digits, &end, 10);
    if (!digits[0] || *end || strspn(digits, "0123456789") != strlen(digits) || *ret_port > 65535)
        return -1;
    memcpy(host, begin, (size_t)(stop - begin));
    host[stop - begin] = 0;
    return !is_bracketed && strchr(host, ':') ? -1 : 0;
}

int atoll_address_parse(const char *text, struct atoll_address *ret_address, struct atoll_err *err)
{
    struct atoll_address a = {.is_unix = 0};
    struct sockaddr_un *un = (struct sockaddr_un *)&a.socket;
    struct sockaddr_in *in = (struct sockaddr_in *)&a.socket;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&a.socket;
    const char *path = strncmp(text, "unix:", 5) == 0 ? text + 5 : NULL;
    char host[HOST_BYTES];
    unsigned long port;
    if (path) {
        if (!path[0] || strlen(path) >= sizeof(un->sun_path)) {
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "socket path '%.160s' must have 1 to %zu characters; use a shorter one",
                                 path, sizeof(un->sun_path) - 1);
        }
        un->sun_family = AF_UNIX;
        memcpy(un->sun_path, path, strlen(path) + 1);
        a.length = sizeof(*un);
        a.is_unix = a.is_local = 1;
    } else if (split(text, host, &port) == 0 && text[0] == '[' &&
               inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((unsigned short)port);
        a.length = sizeof(*in6);
        a.is_local = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    } else if (split(text, host, &port) == 0 && text[0] != '[' &&
               inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &in->sin_addr) == 1) {
        in->sin_family = AF_INET;
        in->sin_port = htons((unsigned short)port);
        a.length = sizeof(*in);
        a.is_local = ntohl(in->sin_addr.s_addr) >> 24 == 127;
    } else {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "'%.80s' is no address to listen at; write 127.0.0.1:0, [::1]:8080 or unix:PATH",
                             text);
    }
    *ret_address = a;
    return 0;
}

int atoll_address_is_here(const char *host)
{
    size_t length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
    const char *behind = host + length;
    char name[HOST_BYTES];
    struct in_addr in;
    if (length >= sizeof(name) || (host[0] == '[' && !strchr(host, ']')))
        return 0;
    memcpy(name, host, length);
    name[length] = '\0';
    if (*behind == ':')
        behind += 1 + strspn(behind + 1, "0123456789");
    if (*behind && !strchr("/?#", *behind))
        return 0;
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0 ||
           (inet_pton(AF_INET, name, &in) == 1 && ntohl(in.s_addr) >> 24 == 127);
}

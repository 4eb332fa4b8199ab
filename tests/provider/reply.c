#include "tests/provider/reply.h"

#include <string.h>

void reply_init(struct reply *reply)
{
    *reply = (struct reply){.break_at = UINT64_MAX};
    atoll_buffer_init(&reply->bytes, (size_t)256 << 20);
}

void reply_fini(struct reply *reply)
{
    atoll_buffer_fini(&reply->bytes);
}

uint64_t reply_length(const struct reply *reply)
{
    return reply->bytes.length + reply->repeat_count * reply->repeat_length;
}

const unsigned char *reply_at(const struct reply *reply, uint64_t offset, size_t *ret_length)
{
    uint64_t repeated = reply->repeat_count * reply->repeat_length;
    uint64_t real = offset;
    size_t end = reply->bytes.length;
    if (repeated && offset >= reply->repeat_at && offset < reply->repeat_at + repeated) {
        real = reply->repeat_at + (offset - reply->repeat_at) % reply->repeat_length;
        end = reply->repeat_at + reply->repeat_length;
    } else if (repeated && offset >= reply->repeat_at + repeated) {
        real = offset - repeated;
    } else if (repeated) {
        end = reply->repeat_at;
    }
    *ret_length = end - (size_t)real;
    return reply->bytes.data + real;
}

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {{200, "OK"},          {301, "Moved Permanently"},  {302, "Found"},
                   {400, "Bad Request"}, {401, "Unauthorized"},       {403, "Forbidden"},
                   {404, "Not Found"},   {429, "Too Many Requests"},  {500, "Internal Server Error"},
                   {502, "Bad Gateway"}, {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "As Asked";
}

void reply_head(struct reply *reply, int status, const char *type)
{
    atoll_buffer_printf(&reply->bytes, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n%s", status, reason(status),
                        type, reply->is_closed ? "Connection: close\r\n" : "");
}

void reply_body(struct reply *reply, const void *bytes, size_t length)
{
    atoll_buffer_printf(&reply->bytes, "Content-Length: %llu\r\n\r\n",
                        (unsigned long long)(length + reply->repeat_count * reply->repeat_length));
    atoll_buffer_put_bytes(&reply->bytes, bytes, length);
}

void reply_json(struct reply *reply, int status, const struct atoll_buffer *body)
{
    reply_head(reply, status, "application/json");
    reply_body(reply, body->data, body->length);
}

void reply_say(struct reply *reply, int status, const char *message)
{
    struct atoll_buffer body;
    atoll_buffer_init(&body, 4096);
    atoll_buffer_printf(&body,
                        "{\"error\":{\"message\":\"%s\",\"type\":\"invalid_request_error\",\"param\":null,"
                        "\"code\":null}}",
                        message);
    reply_json(reply, status, &body);
    atoll_buffer_fini(&body);
}

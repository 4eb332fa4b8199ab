/* json.c - jansson's scanner goes on when a text or number of it could not grow, and what is cut then looks whole.
 * So its allocations are watched: a document during whose reading one was refused is no document. */
#include "base/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static _Thread_local int was_refused;

static void *watched_malloc(size_t bytes)
{
    void *p = malloc(bytes);
    was_refused |= !p;
    return p;
}

/* Memory of either side may be freed by the other. */
static void watch(void)
{
    json_set_alloc_funcs(watched_malloc, free);
}

/* Every value but the first stands behind one of these. */
static size_t value_bound(const char *text, size_t length)
{
    size_t count = 1;
    int is_inside = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (is_inside && c == '\\')
            i++;
        else if (c == '"')
            is_inside = !is_inside;
        else if (!is_inside && (c == ',' || c == '[' || c == '{'))
            count++;
    }
    return count;
}

json_t *atoll_json_load(const void *bytes, size_t length, size_t value_limit, size_t flags,
                        struct atoll_err *err)
{
    if (value_bound(bytes, length) > value_limit) {
        atoll_err_set(err, ATOLL_E_LIMIT, "JSON with more than %zu values", value_limit);
        return NULL;
    }
    json_error_t e = {.line = 0};
    pthread_once(&watch_once, watch);
    was_refused = 0;
    json_t *document = json_loadb(length ? bytes : "", length, flags, &e);
    if (!document && !was_refused && json_error_code(&e) == json_error_numeric_overflow)
        document = json_loadb(bytes, length, flags | JSON_DECODE_INT_AS_REAL, &e);
    if (was_refused) {
        json_decref(document);
        document = NULL;
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to read %zu bytes of JSON", length);
    } else if (!document) {
        atoll_err_set(err, ATOLL_E_INPUT, "no JSON at line %d, column %d: %s", e.line, e.column, e.text);
    }
    return document;
}

static int put(const char *text, size_t length, void *context)
{
    struct atoll_buffer *out = context;
    atoll_buffer_put_bytes(out, text, length);
    return out->failed ? -1 : 0;
}

int atoll_json_put(struct atoll_buffer *out, const json_t *document, struct atoll_err *err)
{
    int failed = !document || json_dump_callback(document, put, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0;
    if (atoll_buffer_check(out, err))
        return -1;
    return failed ? atoll_err_set(err, ATOLL_E_MEMORY, "no memory to write JSON") : 0;
}

const char *atoll_json_member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

json_t *atoll_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char *utf8 = malloc(2 * strlen(text) + 1), *to = utf8;
    if (!utf8)
        return NULL;
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at < 0x80) {
            *to++ = (char)*at;
        } else {
            *to++ = (char)(0xc0 | *at >> 6);
            *to++ = (char)(0x80 | (*at & 0x3f));
        }
    }
    *to = '\0';
    string = json_string(utf8);
    free(utf8);
    return string;
}

void atoll_json_print_text(const char *text, FILE *out)
{
    for (const char *at = text; *at;) {
        const unsigned char *p = (const unsigned char *)at;
        size_t length = *at == '\n' ? 1 : atoll_utf8_printable_bytes(at);
        if (length) {
            fwrite(at, 1, length, out);
            at += length;
            continue;
        }
        length = atoll_utf8_character_bytes(at, 4); /* all of four bytes are printable */
        fprintf(out, "\\u%04x",
                length == 3   ? (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu)
                : length == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                : length == 1 ? p[0]
                              : 0xfffdu);
        at += length ? length : 1;
    }
}

int atoll_json_write(const json_t *document, size_t flags, FILE *out)
{
    char *text = json_dumps(document, flags);
    if (!text)
        return -1;
    atoll_json_print_text(text, out);
    free(text);
    return 0;
}

void atoll_json_print(json_t *document, size_t flags, FILE *out)
{
    atoll_json_write(document, flags, out);
    fputc('\n', out);
    json_decref(document);
}

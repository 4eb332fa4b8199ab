/* buffer.c - every put and take goes through one bounds check (reserve, take), so a failure sticks in one
 * place. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define FIRST_CAPACITY 256u

void atoll_buffer_init(struct atoll_buffer *b, size_t limit_bytes)
{
    *b = (struct atoll_buffer){.limit_bytes = limit_bytes};
}

void atoll_buffer_fini(struct atoll_buffer *b)
{
    free(b->data);
    *b = (struct atoll_buffer){.limit_bytes = b->limit_bytes};
}

void atoll_buffer_clear(struct atoll_buffer *b)
{
    b->length = 0;
    b->failed = 0;
}

/* Room for length bytes at the end, counted into the length; NULL once failed. */
static unsigned char *reserve(struct atoll_buffer *b, size_t length)
{
    if (b->failed)
        return NULL;
    if (length > b->limit_bytes - b->length) {
        b->failed = ATOLL_E_LIMIT;
        return NULL;
    }
    size_t needed = b->length + length;
    if (needed > b->capacity) {
        size_t capacity = b->capacity ? b->capacity : FIRST_CAPACITY;
        while (capacity < needed && capacity <= b->limit_bytes / 2)
            capacity *= 2;
        if (capacity < needed || capacity > b->limit_bytes)
            capacity = b->limit_bytes;
        unsigned char *data = realloc(b->data, capacity);
        if (!data) {
            b->failed = ATOLL_E_MEMORY;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity;
    }
    unsigned char *start = b->data + b->length;
    b->length = needed;
    return start;
}

void atoll_buffer_put_bytes(struct atoll_buffer *b, const void *bytes, size_t length)
{
    if (!length)
        return;
    unsigned char *start = reserve(b, length);
    if (start)
        memcpy(start, bytes, length);
}

static void put_little_endian(struct atoll_buffer *b, uint64_t v, size_t bytes)
{
    unsigned char *start = reserve(b, bytes);
    for (size_t i = 0; start && i < bytes; i++)
        start[i] = (unsigned char)(v >> (8 * i));
}

void atoll_buffer_put_u8(struct atoll_buffer *b, uint8_t v)
{
    put_little_endian(b, v, 1);
}

void atoll_buffer_put_u16(struct atoll_buffer *b, uint16_t v)
{
    put_little_endian(b, v, 2);
}

void atoll_buffer_put_u32(struct atoll_buffer *b, uint32_t v)
{
    put_little_endian(b, v, 4);
}

void atoll_buffer_put_u64(struct atoll_buffer *b, uint64_t v)
{
    put_little_endian(b, v, 8);
}

void atoll_buffer_put_i64(struct atoll_buffer *b, int64_t v)
{
    put_little_endian(b, (uint64_t)v, 8);
}

void atoll_buffer_put_f64(struct atoll_buffer *b, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_little_endian(b, bits, 8);
}

void atoll_buffer_put_blob(struct atoll_buffer *b, const void *bytes, size_t length)
{
    if (length > UINT32_MAX) {
        b->failed = b->failed ? b->failed : ATOLL_E_LIMIT;
        return;
    }
    atoll_buffer_put_u32(b, (uint32_t)length);
    atoll_buffer_put_bytes(b, bytes, length);
}

void atoll_buffer_put_text(struct atoll_buffer *b, const char *text)
{
    atoll_buffer_put_blob(b, text, text ? strlen(text) : 0);
}

void atoll_buffer_printf(struct atoll_buffer *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    /* vsnprintf writes a NUL behind the text: reserved with it, then taken back. */
    unsigned char *start = length < 0 ? NULL : reserve(b, (size_t)length + 1);
    if (start) {
        vsnprintf((char *)start, (size_t)length + 1, format, again);
        b->length--;
    }
    va_end(again);
    va_end(args);
}

int atoll_buffer_check(const struct atoll_buffer *b, struct atoll_err *err)
{
    if (!b->failed)
        return 0;
    if (b->failed == ATOLL_E_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "encoding would pass the limit of %zu bytes",
                             b->limit_bytes);
    }
    return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to encode more than %zu bytes", b->length);
}

void atoll_reader_init(struct atoll_reader *r, const void *data, size_t length)
{
    *r = (struct atoll_reader){.data = data, .length = length};
}

/* The next length bytes, or NULL and failed. */
static const unsigned char *take(struct atoll_reader *r, size_t length)
{
    if (r->failed || length > r->length - r->offset) {
        r->failed = r->failed ? r->failed : ATOLL_E_PROTOCOL;
        return NULL;
    }
    const unsigned char *start = r->data + r->offset;
    r->offset += length;
    return start;
}

static uint64_t take_little_endian(struct atoll_reader *r, size_t bytes)
{
    const unsigned char *start = take(r, bytes);
    uint64_t v = 0;
    for (size_t i = 0; start && i < bytes; i++)
        v |= (uint64_t)start[i] << (8 * i);
    return v;
}

uint8_t atoll_reader_u8(struct atoll_reader *r)
{
    return (uint8_t)take_little_endian(r, 1);
}

uint32_t atoll_reader_u32(struct atoll_reader *r)
{
    return (uint32_t)take_little_endian(r, 4);
}

uint64_t atoll_reader_u64(struct atoll_reader *r)
{
    return take_little_endian(r, 8);
}

int64_t atoll_reader_i64(struct atoll_reader *r)
{
    return (int64_t)take_little_endian(r, 8);
}

double atoll_reader_f64(struct atoll_reader *r)
{
    uint64_t bits = take_little_endian(r, 8);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

uint32_t atoll_reader_count(struct atoll_reader *r, size_t element_bytes)
{
    uint32_t count = atoll_reader_u32(r);
    if (!r->failed && element_bytes && count > (r->length - r->offset) / element_bytes)
        r->failed = ATOLL_E_PROTOCOL;
    return r->failed ? 0 : count;
}

uint32_t atoll_reader_u32_in(struct atoll_reader *r, uint32_t low, uint32_t high)
{
    uint32_t v = atoll_reader_u32(r);
    if (!r->failed && (v < low || v > high))
        r->failed = ATOLL_E_PROTOCOL;
    return r->failed ? low : v;
}

double atoll_reader_f64_in(struct atoll_reader *r, double low, double high)
{
    double v = atoll_reader_f64(r);
    if (!r->failed && !(v >= low && v <= high))
        r->failed = ATOLL_E_PROTOCOL;
    return r->failed ? low : v;
}

void atoll_reader_bytes(struct atoll_reader *r, void *ret_bytes, size_t length)
{
    const unsigned char *start = take(r, length);
    if (start && length)
        memcpy(ret_bytes, start, length);
    else if (length)
        memset(ret_bytes, 0, length);
}

const void *atoll_reader_blob(struct atoll_reader *r, size_t *ret_length)
{
    size_t length = atoll_reader_count(r, 1);
    const void *start = take(r, length);
    *ret_length = start ? length : 0;
    return start ? start : "";
}

const char *atoll_reader_text(struct atoll_reader *r, struct atoll_arena *arena)
{
    size_t length;
    const char *blob = atoll_reader_blob(r, &length);
    if (r->failed)
        return "";
    if (memchr(blob, '\0', length)) {
        r->failed = ATOLL_E_PROTOCOL;
        return "";
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *text = atoll_arena_text(arena, blob, length, &err);
    if (!text) {
        r->failed = (int)err.code;
        return "";
    }
    return text;
}

void atoll_reader_fixed_text(struct atoll_reader *r, char *ret_text, size_t text_bytes)
{
    size_t length;
    const char *blob = atoll_reader_blob(r, &length);
    if (!r->failed && (length >= text_bytes || memchr(blob, '\0', length)))
        r->failed = ATOLL_E_PROTOCOL;
    length = r->failed ? 0 : length;
    memcpy(ret_text, blob, length);
    ret_text[length] = '\0';
}

int atoll_reader_finish(const struct atoll_reader *r, const char *what, struct atoll_err *err)
{
    if (r->failed == ATOLL_E_MEMORY || r->failed == ATOLL_E_LIMIT) {
        return atoll_err_set(err, (enum atoll_code)r->failed, "%s: no room to decode %zu bytes", what,
                             r->length);
    }
    if (r->failed) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "%s: malformed or cut at byte %zu of %zu", what,
                             r->offset, r->length);
    }
    if (r->offset != r->length) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "%s: %zu bytes too many behind byte %zu", what,
                             r->length - r->offset, r->offset);
    }
    return 0;
}

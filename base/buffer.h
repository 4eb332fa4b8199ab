/* buffer.h - little-endian encoder (growing, born with a limit) and bounds-checked decoder: the one way
 * bytes are laid out in messages, journal records and digests.
 * Layer: base.  Lifetime: init/fini.  Failures are sticky: put or take freely, check once at the end. */
#ifndef ATOLL_BASE_BUFFER_H
#define ATOLL_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct atoll_buffer {
    unsigned char *data; /* owned */
    size_t length, capacity, limit_bytes;
    int failed; /* an enum atoll_code: LIMIT or MEMORY; 0 while all is well */
};

void atoll_buffer_init(struct atoll_buffer *b, size_t limit_bytes);
void atoll_buffer_fini(struct atoll_buffer *b);
void atoll_buffer_clear(struct atoll_buffer *b); /* length 0, not failed, memory kept */
/* raw, no length prefix */
void atoll_buffer_put_bytes(struct atoll_buffer *b, const void *bytes, size_t length);
void atoll_buffer_put_u8(struct atoll_buffer *b, uint8_t v);
void atoll_buffer_put_u16(struct atoll_buffer *b, uint16_t v);
void atoll_buffer_put_u32(struct atoll_buffer *b, uint32_t v);
void atoll_buffer_put_u64(struct atoll_buffer *b, uint64_t v);
void atoll_buffer_put_i64(struct atoll_buffer *b, int64_t v);
void atoll_buffer_put_f64(struct atoll_buffer *b, double v);                          /* the IEEE bits */
void atoll_buffer_put_blob(struct atoll_buffer *b, const void *bytes, size_t length); /* u32 length, bytes */
/* blob without the NUL; NULL = "" */
void atoll_buffer_put_text(struct atoll_buffer *b, const char *text);
void atoll_buffer_printf(struct atoll_buffer *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 0, or -1 with LIMIT or MEMORY in err. */
int atoll_buffer_check(const struct atoll_buffer *b, struct atoll_err *err);

struct atoll_reader {
    const unsigned char *data; /* borrowed */
    size_t length, offset;
    /* 0, else an enum atoll_code: PROTOCOL once a read passed the end, MEMORY or LIMIT when an arena said
     * no; all later reads give 0 / "" */
    int failed;
};

void atoll_reader_init(struct atoll_reader *r, const void *data, size_t length);
uint8_t atoll_reader_u8(struct atoll_reader *r);
uint32_t atoll_reader_u32(struct atoll_reader *r);
uint64_t atoll_reader_u64(struct atoll_reader *r);
int64_t atoll_reader_i64(struct atoll_reader *r);
double atoll_reader_f64(struct atoll_reader *r);
/* A u32 that counts things that follow, each of at least element_bytes: fails when they cannot fit in what
 * is left. */
uint32_t atoll_reader_count(struct atoll_reader *r, size_t element_bytes);
/* A value outside low..high, or NaN, is a failure; what failed reads as low. */
uint32_t atoll_reader_u32_in(struct atoll_reader *r, uint32_t low, uint32_t high);
double atoll_reader_f64_in(struct atoll_reader *r, double low, double high);
/* A blob as NUL-terminated text into the caller's array; too long, or with a NUL inside, is a failure and
 * gives "". */
void atoll_reader_fixed_text(struct atoll_reader *r, char *ret_text, size_t text_bytes);
void atoll_reader_bytes(struct atoll_reader *r, void *ret_bytes, size_t length); /* zeroes on failure */
const void *atoll_reader_blob(struct atoll_reader *r, size_t *ret_length);       /* borrowed from data */
/* Copies a blob as NUL-terminated text into the arena; a NUL inside the blob is a failure; "" on failure. */
struct atoll_arena;
const char *atoll_reader_text(struct atoll_reader *r, struct atoll_arena *arena);
/* 0 when all was read and nothing failed, else -1 with ATOLL_E_PROTOCOL (or what an arena said) "<what>:
 * ..." in err. */
int atoll_reader_finish(const struct atoll_reader *r, const char *what, struct atoll_err *err);

#endif

/* frame.c - CRC-32C by SSE4.2, ARMv8 or slicing-by-8 tables (Kounavis, Berry 2008), and the frame around a
 * payload. The header's checksum is looked at before any of its fields, so a torn header is never taken for a
 * newer version. */
#include "base/frame.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

#define POLYNOMIAL    0x82F63B78u
#define CHECKED_BYTES 20u /* of the header, before its own checksum */

static const unsigned char magic[4] = {'A', 'T', 'L', 'F'};

typedef uint32_t crc_function(uint32_t crc, const unsigned char *bytes, size_t length);

static uint32_t table[8][256];
static crc_function *chosen;
static pthread_once_t choose_once = PTHREAD_ONCE_INIT;

static uint32_t load_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint16_t load_u16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static void fill_table(void)
{
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t crc = n;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        table[0][n] = crc;
    }
    for (size_t slice = 1; slice < 8; slice++) {
        for (size_t n = 0; n < 256; n++) {
            uint32_t crc = table[slice - 1][n];
            table[slice][n] = crc >> 8 ^ table[0][crc & 255];
        }
    }
}

static uint32_t crc_by_table(uint32_t crc, const unsigned char *p, size_t length)
{
    for (; length >= 8; length -= 8, p += 8) {
        uint32_t low = crc ^ load_u32(p), high = load_u32(p + 4);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^
              table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    for (; length; length--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_sse42(uint32_t crc, const unsigned char *p,
                                                               size_t length)
{
    uint64_t wide = crc;
    for (; length >= 8; length -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof(word));
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; length; length--, p++)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
static uint32_t crc_by_armv8(uint32_t crc, const unsigned char *p, size_t length)
{
    for (; length >= 8; length -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof(word));
        crc = __crc32cd(crc, word);
    }
    for (; length; length--, p++)
        crc = __crc32cb(crc, *p);
    return crc;
}

#endif

static void choose(void)
{
    fill_table();
    chosen = crc_by_table;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        chosen = crc_by_sse42;
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
    chosen = crc_by_armv8;
#endif
}

uint32_t atoll_crc32c(uint32_t crc, const void *bytes, size_t length)
{
    pthread_once(&choose_once, choose);
    return ~chosen(~crc, bytes, length);
}

uint32_t atoll_crc32c_portable(uint32_t crc, const void *bytes, size_t length)
{
    pthread_once(&choose_once, choose);
    return ~crc_by_table(~crc, bytes, length);
}

int atoll_frame_encode(struct atoll_buffer *out, uint16_t type, const void *payload, size_t length,
                       struct atoll_err *err)
{
    if (length > ATOLL_FRAME_PAYLOAD_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "a frame's payload of %zu bytes passes the limit of %u",
                             length, ATOLL_FRAME_PAYLOAD_LIMIT);
    }
    size_t start = out->length;
    atoll_buffer_put_bytes(out, magic, sizeof(magic));
    atoll_buffer_put_u16(out, ATOLL_FRAME_VERSION);
    atoll_buffer_put_u16(out, type);
    atoll_buffer_put_u32(out, (uint32_t)length);
    atoll_buffer_put_u32(out, atoll_crc32c(0, payload, length));
    atoll_buffer_put_u32(out, 0);
    if (!out->failed)
        atoll_buffer_put_u32(out, atoll_crc32c(0, out->data + start, CHECKED_BYTES));
    atoll_buffer_put_bytes(out, payload, length);
    return atoll_buffer_check(out, err);
}

static int check_header(const unsigned char *header, struct atoll_err *err)
{
    uint16_t version = load_u16(header + 4);
    uint32_t length = load_u32(header + 8);
    if (load_u32(header + 20) != atoll_crc32c(0, header, CHECKED_BYTES))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "frame: checksum of the header does not hold");
    if (version > ATOLL_FRAME_VERSION) {
        return atoll_err_set(err, ATOLL_E_SCHEMA,
                             "frame: version %u is newer than %u, the last this program knows", version,
                             ATOLL_FRAME_VERSION);
    }
    if (version == 0 || load_u32(header + 16) != 0)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "frame: version 0 or reserved bits set");
    if (length > ATOLL_FRAME_PAYLOAD_LIMIT) {
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "frame: payload of %u bytes passes the limit of %u",
                             length, ATOLL_FRAME_PAYLOAD_LIMIT);
    }
    return 0;
}

int atoll_frame_peek(const void *bytes, size_t length, uint16_t *ret_type, size_t *ret_payload_length,
                     struct atoll_err *err)
{
    const unsigned char *p = bytes;
    size_t known = length < sizeof(magic) ? length : sizeof(magic);
    if (known && memcmp(p, magic, known) != 0)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "frame: does not start with \"ATLF\"");
    if (length < ATOLL_FRAME_HEADER_BYTES)
        return 0;
    if (check_header(p, err))
        return -1;
    *ret_type = load_u16(p + 6);
    *ret_payload_length = load_u32(p + 8);
    return 1;
}

int atoll_frame_decode(const void *bytes, size_t length, struct atoll_frame *ret_frame, size_t *ret_consumed,
                       struct atoll_err *err)
{
    const unsigned char *p = bytes;
    uint16_t type;
    size_t payload_length;
    int got = atoll_frame_peek(bytes, length, &type, &payload_length, err);
    if (got != 1)
        return got;
    if (length - ATOLL_FRAME_HEADER_BYTES < payload_length)
        return 0;
    const unsigned char *payload = p + ATOLL_FRAME_HEADER_BYTES;
    if (load_u32(p + 12) != atoll_crc32c(0, payload, payload_length))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "frame: checksum of the payload does not hold");
    *ret_frame = (struct atoll_frame){.type = type, .payload = payload, .length = payload_length};
    *ret_consumed = ATOLL_FRAME_HEADER_BYTES + payload_length;
    return 1;
}

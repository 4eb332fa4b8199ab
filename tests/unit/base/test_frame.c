#include "tests/support/expect.h"

#include <stdlib.h>

#include "base/frame.h"
#include "base/random.h"

/* RFC 3720 B.4, and the check value of the catalogue of CRCs. */
static void test_crc32c_known_values(void **state)
{
    unsigned char zeros[32] = {0}, ones[32], up[32], down[32];
    memset(ones, 0xff, sizeof(ones));
    for (size_t i = 0; i < 32; i++) {
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    const struct {
        const void *bytes;
        size_t length;
        uint32_t crc;
    } cases[] = {{zeros, 32, 0x8a9136aau}, {ones, 32, 0x62a8ab43u},       {up, 32, 0x46dd794eu},
                 {down, 32, 0x113fdb5cu},  {"123456789", 9, 0xe3069283u}, {"", 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(atoll_crc32c(0, cases[i].bytes, cases[i].length), cases[i].crc);
        assert_int_equal(atoll_crc32c_portable(0, cases[i].bytes, cases[i].length), cases[i].crc);
    }
}

static void test_crc32c_is_the_same_everywhere_and_goes_on(void **state)
{
    unsigned char bytes[300];
    struct atoll_random random = {7, 0};
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)atoll_random_next(&random);
    for (size_t start = 0; start < 9; start++) {
        for (size_t length = 0; start + length <= sizeof(bytes); length += 1 + length / 7) {
            uint32_t crc = atoll_crc32c(0, bytes + start, length);
            size_t half = length / 3;
            assert_int_equal(crc, atoll_crc32c_portable(0, bytes + start, length));
            assert_int_equal(
                crc, atoll_crc32c(atoll_crc32c(0, bytes + start, half), bytes + start + half, length - half));
        }
    }
}

static void test_round_trip_of_several(void **state)
{
    static const char *const payloads[] = {"one", "", "a longer payload of some bytes"};
    struct atoll_buffer b;
    size_t at = 0;
    atoll_buffer_init(&b, 1000);
    for (uint16_t i = 0; i < 3; i++)
        assert_int_equal(atoll_frame_encode(&b, i, payloads[i], strlen(payloads[i]), NULL), 0);
    for (uint16_t i = 0; i < 3; i++) {
        struct atoll_frame frame;
        size_t consumed;
        assert_int_equal(atoll_frame_decode(b.data + at, b.length - at, &frame, &consumed, NULL), 1);
        assert_int_equal(frame.type, i);
        assert_int_equal(frame.length, strlen(payloads[i]));
        assert_memory_equal(frame.payload, payloads[i], frame.length);
        at += consumed;
    }
    assert_int_equal(at, b.length);
    atoll_buffer_fini(&b);
}

static void test_asks_for_more_until_whole(void **state)
{
    struct atoll_buffer b;
    struct atoll_frame frame = {0};
    size_t consumed = 77;
    atoll_buffer_init(&b, 1000);
    atoll_frame_encode(&b, 5, "payload", 7, NULL);
    for (size_t length = 0; length < b.length; length++)
        assert_int_equal(atoll_frame_decode(b.data, length, &frame, &consumed, NULL), 0);
    assert_int_equal(consumed, 77);
    assert_int_equal(atoll_frame_decode(b.data, b.length, &frame, &consumed, NULL), 1);
    atoll_buffer_fini(&b);
}

/* Of the header alone: it is all that is asked for, and all that is looked at. */
static void test_peek(void **state)
{
    (void)state;
    struct atoll_buffer b;
    struct atoll_err err = ATOLL_ERR_INIT;
    uint16_t type = 0;
    size_t length = 0;
    atoll_buffer_init(&b, 1 << 10);
    assert_int_equal(atoll_frame_encode(&b, 130, "payload", 7, NULL), 0);
    for (size_t have = 0; have < ATOLL_FRAME_HEADER_BYTES; have++)
        assert_int_equal(atoll_frame_peek(b.data, have, &type, &length, NULL), 0);
    b.data[ATOLL_FRAME_HEADER_BYTES] ^= 1;
    assert_int_equal(atoll_frame_peek(b.data, ATOLL_FRAME_HEADER_BYTES, &type, &length, NULL), 1);
    assert_int_equal(type, 130);
    assert_int_equal(length, 7);
    for (size_t i = 0; i < ATOLL_FRAME_HEADER_BYTES; i++) {
        b.data[i] ^= 1;
        assert_int_equal(atoll_frame_peek(b.data, b.length, &type, &length, &err), -1);
        assert_int_equal(err.code, ATOLL_E_PROTOCOL);
        b.data[i] ^= 1;
    }
    atoll_buffer_fini(&b);
}

static void test_no_flipped_bit_passes(void **state)
{
    struct atoll_buffer b;
    atoll_buffer_init(&b, 1000);
    atoll_frame_encode(&b, 5, "payload", 7, NULL);
    for (size_t bit = 0; bit < 8 * b.length; bit++) {
        struct atoll_frame frame;
        struct atoll_err err = ATOLL_ERR_INIT;
        size_t consumed;
        b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(atoll_frame_decode(b.data, b.length, &frame, &consumed, &err), -1);
        expect_err(&err, ATOLL_E_PROTOCOL, "frame: ");
        b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    atoll_buffer_fini(&b);
}

/* A header whose checksum holds, with one field changed. */
static int decode_with_field(size_t offset, uint32_t value, size_t bytes, struct atoll_err *err)
{
    struct atoll_buffer b, header;
    struct atoll_frame frame;
    size_t consumed;
    atoll_buffer_init(&b, 1000);
    atoll_buffer_init(&header, 1000);
    atoll_frame_encode(&b, 5, "payload", 7, NULL);
    for (size_t i = 0; i < bytes; i++)
        b.data[offset + i] = (unsigned char)(value >> 8 * i);
    atoll_buffer_put_u32(&header, atoll_crc32c(0, b.data, 20));
    memcpy(b.data + 20, header.data, 4);
    int status = atoll_frame_decode(b.data, b.length, &frame, &consumed, err);
    atoll_buffer_fini(&header);
    atoll_buffer_fini(&b);
    return status;
}

static void test_header_fields_are_checked(void **state)
{
    static const struct {
        size_t offset, bytes;
        uint32_t value;
        enum atoll_code code;
        const char *text;
    } cases[] = {
        {0, 1, 'B', ATOLL_E_PROTOCOL, "does not start"},
        {4, 2, 0, ATOLL_E_PROTOCOL, "version 0"},
        {4, 2, ATOLL_FRAME_VERSION + 1, ATOLL_E_SCHEMA, "is newer than"},
        {8, 4, ATOLL_FRAME_PAYLOAD_LIMIT + 1, ATOLL_E_PROTOCOL, "limit"},
        {12, 4, 1, ATOLL_E_PROTOCOL, "checksum of the payload"},
        {16, 4, 1, ATOLL_E_PROTOCOL, "reserved"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_int_equal(decode_with_field(cases[i].offset, cases[i].value, cases[i].bytes, &err), -1);
        expect_err(&err, cases[i].code, cases[i].text);
    }
}

static void test_encode_refuses_too_much(void **state)
{
    struct atoll_buffer b;
    struct atoll_err err = ATOLL_ERR_INIT;
    atoll_buffer_init(&b, 25);
    assert_int_equal(atoll_frame_encode(&b, 1, "ab", 2, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "limit of 25");
    atoll_buffer_clear(&b);
    assert_int_equal(atoll_frame_encode(&b, 1, "ab", (size_t)ATOLL_FRAME_PAYLOAD_LIMIT + 1, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "payload");
    assert_int_equal(b.length, 0);
    atoll_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc32c_known_values),
        cmocka_unit_test(test_crc32c_is_the_same_everywhere_and_goes_on),
        cmocka_unit_test(test_round_trip_of_several),
        cmocka_unit_test(test_asks_for_more_until_whole),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_no_flipped_bit_passes),
        cmocka_unit_test(test_header_fields_are_checked),
        cmocka_unit_test(test_encode_refuses_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

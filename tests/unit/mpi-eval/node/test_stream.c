#include "tests/support/expect.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mpi-eval/node/stream.h"

struct pair {
    struct atoll_stream *stream;
    int far; /* the raw other end */
};

static struct pair pair_open(size_t queue_bytes)
{
    int fds[2];
    struct pair p;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    p.stream = atoll_stream_create(fds[0], queue_bytes, NULL);
    assert_non_null(p.stream);
    p.far = fds[1];
    return p;
}

static void pair_close(struct pair *p)
{
    atoll_stream_destroy(p->stream);
    if (p->far >= 0)
        close(p->far);
}

static void frame_make(struct atoll_buffer *out, uint16_t type, const char *text)
{
    assert_int_equal(atoll_frame_encode(out, type, text, strlen(text), NULL), 0);
}

static void expect(struct pair *p, uint16_t type, const char *text)
{
    struct atoll_frame frame;
    assert_int_equal(atoll_stream_receive(p->stream, &frame, NULL), 1);
    assert_int_equal(frame.type, type);
    assert_int_equal(frame.length, strlen(text));
    assert_memory_equal(frame.payload, text, frame.length);
}

static void expect_end(struct pair *p, enum atoll_code code)
{
    struct atoll_frame frame;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_stream_receive(p->stream, &frame, &err), -1);
    assert_int_equal(err.code, code);
    assert_true(err.text[0] != '\0');
}

static void test_byte_at_a_time(void **state)
{
    struct pair p = pair_open(0);
    struct atoll_buffer bytes;
    struct atoll_frame frame;
    atoll_buffer_init(&bytes, 4096);
    frame_make(&bytes, 7, "hello");
    frame_make(&bytes, 8, "");
    for (size_t i = 0; i < bytes.length; i++) {
        assert_int_equal(write(p.far, bytes.data + i, 1), 1);
        int rc = atoll_stream_receive(p.stream, &frame, NULL);
        int is_end = i + 1 == bytes.length || i + 1 == ATOLL_FRAME_HEADER_BYTES + 5;
        assert_int_equal(rc, is_end);
        if (rc == 1)
            assert_int_equal(frame.type, i + 1 == bytes.length ? 8 : 7);
    }
    atoll_buffer_fini(&bytes);
    pair_close(&p);
}

static void test_several_in_one_read_then_end(void **state)
{
    struct pair p = pair_open(0);
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 4096);
    frame_make(&bytes, 1, "one");
    frame_make(&bytes, 2, "two");
    assert_int_equal(write(p.far, bytes.data, bytes.length), (ssize_t)bytes.length);
    close(p.far);
    p.far = -1;
    expect(&p, 1, "one");
    expect(&p, 2, "two");
    expect_end(&p, ATOLL_E_CHILD);
    expect_end(&p, ATOLL_E_CHILD);
    atoll_buffer_fini(&bytes);
    pair_close(&p);
}

static void test_end_inside_a_frame(void **state)
{
    struct pair p = pair_open(0);
    struct atoll_buffer bytes;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_frame frame;
    atoll_buffer_init(&bytes, 4096);
    frame_make(&bytes, 1, "one");
    assert_int_equal(write(p.far, bytes.data, bytes.length - 1), (ssize_t)bytes.length - 1);
    close(p.far);
    p.far = -1;
    assert_int_equal(atoll_stream_receive(p.stream, &frame, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CHILD);
    assert_non_null(strstr(err.text, "middle"));
    atoll_buffer_fini(&bytes);
    pair_close(&p);
}

/* Every single byte of a frame, damaged, ends the stream. */
static void test_garbage(void **state)
{
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 4096);
    frame_make(&bytes, 3, "payload");
    for (size_t i = 0; i < bytes.length; i++) {
        struct pair p = pair_open(0);
        struct atoll_frame frame;
        struct atoll_err err = ATOLL_ERR_INIT;
        bytes.data[i] ^= 0x41;
        assert_int_equal(write(p.far, bytes.data, bytes.length), (ssize_t)bytes.length);
        bytes.data[i] ^= 0x41;
        assert_int_equal(atoll_stream_receive(p.stream, &frame, &err), -1);
        assert_true(err.code == ATOLL_E_PROTOCOL || err.code == ATOLL_E_SCHEMA);
        expect_end(&p, ATOLL_E_CHILD);
        pair_close(&p);
    }
    atoll_buffer_fini(&bytes);
}

/* A header that promises more than a frame may hold is refused before any of it is taken. */
static void test_oversized(void **state)
{
    struct pair p = pair_open(0);
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 4096);
    atoll_buffer_put_bytes(&bytes, "ATLF", 4);
    atoll_buffer_put_u16(&bytes, ATOLL_FRAME_VERSION);
    atoll_buffer_put_u16(&bytes, 1);
    atoll_buffer_put_u32(&bytes, ATOLL_FRAME_PAYLOAD_LIMIT + 1);
    atoll_buffer_put_u32(&bytes, 0);
    atoll_buffer_put_u32(&bytes, 0);
    atoll_buffer_put_u32(&bytes, atoll_crc32c(0, bytes.data, 20));
    assert_int_equal(write(p.far, bytes.data, bytes.length), (ssize_t)bytes.length);
    expect_end(&p, ATOLL_E_PROTOCOL);
    atoll_buffer_fini(&bytes);
    pair_close(&p);
}

static void test_send_beyond_the_limits(void **state)
{
    struct pair p = pair_open(100 << 10);
    struct atoll_err err = ATOLL_ERR_INIT;
    char *block = calloc(1, 32 << 10);
    int rc = 0, sent = 0;
    assert_non_null(block);
    assert_int_equal(atoll_stream_send(p.stream, 1, block, (size_t)ATOLL_FRAME_PAYLOAD_LIMIT + 1, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    for (; sent < 1000 && rc == 0; sent++)
        rc = atoll_stream_send(p.stream, 1, block, 32 << 10, &err);
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_true(atoll_stream_waiting_bytes(p.stream) > 0);
    assert_true((atoll_stream_events(p.stream) & POLLOUT) != 0);
    free(block);
    pair_close(&p);
}

/* What could not be queued left nothing behind: the reader sees whole frames only. */
static void test_full_queue_keeps_frames_whole(void **state)
{
    int fds[2];
    struct atoll_frame frame;
    char *block = calloc(1, 32 << 10);
    size_t sent = 0, got = 0;
    assert_non_null(block);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct atoll_stream *from = atoll_stream_create(fds[0], 70 << 10, NULL);
    struct atoll_stream *to = atoll_stream_create(fds[1], 0, NULL);
    for (int round = 0; round < 50; round++) {
        while (atoll_stream_send(from, 5, block, 32 << 10, NULL) == 0)
            sent++;
        while (atoll_stream_receive(to, &frame, NULL) == 1) {
            assert_int_equal(frame.length, 32 << 10);
            got++;
        }
        assert_int_equal(atoll_stream_flush(from, NULL), 0);
    }
    while (atoll_stream_waiting_bytes(from) > 0 || got < sent) {
        assert_int_equal(atoll_stream_flush(from, NULL), 0);
        got += atoll_stream_receive(to, &frame, NULL) == 1;
    }
    assert_int_equal(got, sent);
    atoll_stream_destroy(from);
    atoll_stream_destroy(to);
    free(block);
}

static void test_peer_gone_on_send(void **state)
{
    struct pair p = pair_open(0);
    struct atoll_err err = ATOLL_ERR_INIT;
    close(p.far);
    p.far = -1;
    assert_int_equal(atoll_stream_send(p.stream, 1, "x", 1, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CHILD);
    pair_close(&p);
}

static void test_bad_descriptor(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_stream_create(-1, 0, &err));
    assert_int_equal(err.code, ATOLL_E_IO);
    atoll_stream_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_byte_at_a_time),
        cmocka_unit_test(test_several_in_one_read_then_end),
        cmocka_unit_test(test_end_inside_a_frame),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_oversized),
        cmocka_unit_test(test_send_beyond_the_limits),
        cmocka_unit_test(test_full_queue_keeps_frames_whole),
        cmocka_unit_test(test_peer_gone_on_send),
        cmocka_unit_test(test_bad_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <stdio.h>

#include "llm-gateway/provider/sse.h"

struct seen {
    char text[512]; /* "event=data|" of each */
    int stop_after;
};

static int note(void *context, const char *event, const char *data, size_t length)
{
    struct seen *seen = context;
    size_t at = strlen(seen->text);
    assert_int_equal(data[length], 0);
    snprintf(seen->text + at, sizeof(seen->text) - at, "%s=%s|", event, data);
    return seen->stop_after && --seen->stop_after == 0;
}

/* The events of the standard (WHATWG HTML 9.2.6), its examples among them. */
static const struct {
    const char *stream, *events;
    int is_left; /* something stands without its empty line */
} cases[] = {
    {"", "", 0},
    {"\n\n\n", "", 0},
    {"data: a\n\n", "=a|", 0},
    {"data:a\n\n", "=a|", 0},
    {"data:  a\n\n", "= a|", 0},
    {"data: a\r\n\r\n", "=a|", 0},
    {"data: a\r\r", "=a|", 0},
    {"data: a\r\ndata: b\r\n\r\n", "=a\nb|", 0},
    {"data: a\rdata: b\n\r\n", "=a\nb|", 0},
    {"data: YHOO\ndata: +2\ndata: 10\n\n", "=YHOO\n+2\n10|", 0},
    {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
     "=first event|=second event|", 1},
    {"data\n\ndata\ndata\n\ndata:", "=|=\n|", 1},
    {"data:test\n\ndata: test\n\n", "=test|=test|", 0},
    {"event: add\ndata: 1\n\ndata: 2\n\n", "add=1|=2|", 0},
    {"event: add\n\ndata: 2\n\n", "=2|", 0},
    {"event: a\nevent: b\ndata: 1\n\n", "b=1|", 0},
    {"\xef\xbb\xbf"
     "data: a\n\n",
     "=a|", 0},
    {"\xef\xbb\xbf\n\xef\xbb\xbf"
     "data: a\n\n",
     "", 0},
    {"retry: 10\nid: 4\nnovelty: x\ndata: a\nDATA: b\ndatax: c\n dat: d\n\n", "=a|", 0},
    {"data: a: b\n\n", "=a: b|", 0},
    {":\n:\n:data: a\n\n", "", 0},
    {"data: a\n", "", 1},
    {"data: a", "", 1},
    {"data: a\n\ndata: b\r", "=a|", 1},
    {"event: 0123456789012345678901234567890123456789012345678901234567890123456789\ndata: a\n\n",
     "012345678901234567890123456789012345678901234567890123456789012=a|", 0},
};

/* step 0: pieces of 1, 2, 3, 1, 2, 3 ... bytes */
static void expect_events(const char *stream, const char *events, int is_left, size_t step)
{
    struct atoll_sse sse;
    struct seen seen = {.stop_after = 0};
    size_t length = strlen(stream), at = 0, turn = 0;
    atoll_sse_init(&sse, 256);
    while (at < length) {
        size_t piece = step ? step : 1 + turn++ % 3;
        piece = piece < length - at ? piece : length - at;
        assert_int_equal(atoll_sse_feed(&sse, stream + at, piece, note, &seen), 0);
        at += piece;
    }
    assert_string_equal(seen.text, events);
    assert_int_equal(sse.line.length || sse.has_data, is_left); /* dropped, as the standard says */
    atoll_sse_fini(&sse);
}

static void test_streams(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (size_t step = 0; step < 12; step++)
            expect_events(cases[i].stream, cases[i].events, cases[i].is_left, step);
        expect_events(cases[i].stream, cases[i].events, cases[i].is_left, 1000);
    }
}

static void test_stop(void **state)
{
    struct atoll_sse sse;
    struct seen seen = {.stop_after = 2};
    atoll_sse_init(&sse, 256);
    assert_int_equal(atoll_sse_feed(&sse, "data: a\n\ndata: b\n\ndata: c\n\n", 27, note, &seen), -1);
    assert_string_equal(seen.text, "=a|=b|");
    assert_int_equal(atoll_sse_feed(&sse, "data: d\n\n", 9, note, &seen), -1);
    assert_string_equal(seen.text, "=a|=b|");
    atoll_sse_fini(&sse);
}

/* Lines and events of 16 bytes at most, with the NUL behind the data. */
static void test_limit(void **state)
{
    static const struct {
        const char *stream;
        int status;
    } limits[] = {{"data: 0123456789abcde\n\n", 0},
                  {"data: 0123456789abcdef\n\n", -1},
                  {"data: 0123456\ndata: 7890123\n\n", 0},
                  {"data: 0123456\ndata: 78901234\n\n", -1}};
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        struct atoll_sse sse;
        struct seen seen = {.stop_after = 0};
        atoll_sse_init(&sse, 16);
        assert_int_equal(atoll_sse_feed(&sse, limits[i].stream, strlen(limits[i].stream), note, &seen),
                         limits[i].status);
        assert_int_equal(sse.failed, limits[i].status ? ATOLL_E_LIMIT : 0);
        assert_int_equal(seen.text[0] == 0, limits[i].status != 0);
        atoll_sse_fini(&sse);
    }
}

static void test_line_in_pieces_beyond_the_limit(void **state)
{
    struct atoll_sse sse;
    struct seen seen = {.stop_after = 0};
    atoll_sse_init(&sse, 16);
    for (int i = 0; i < 16; i++)
        assert_int_equal(atoll_sse_feed(&sse, ":", 1, note, &seen), 0);
    assert_int_equal(atoll_sse_feed(&sse, ":", 1, note, &seen), -1);
    assert_int_equal(sse.failed, ATOLL_E_LIMIT);
    assert_int_equal(atoll_sse_feed(&sse, "\n\ndata: a\n\n", 11, note, &seen), -1);
    assert_string_equal(seen.text, "");
    atoll_sse_fini(&sse);
}

/* Any number of bytes may pass, as long as each event is within the limit. */
static void test_endless_stream(void **state)
{
    struct atoll_sse sse;
    struct seen seen = {.stop_after = 0};
    atoll_sse_init(&sse, 256);
    for (int i = 0; i < 10000; i++) {
        seen.text[0] = 0;
        assert_int_equal(atoll_sse_feed(&sse, "event: e\ndata: 0123456789\n\n", 27, note, &seen), 0);
        assert_string_equal(seen.text, "e=0123456789|");
    }
    assert_true(sse.data.capacity <= 256 && sse.line.capacity <= 256);
    atoll_sse_fini(&sse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_limit),          cmocka_unit_test(test_line_in_pieces_beyond_the_limit),
        cmocka_unit_test(test_endless_stream),
    };
    return cmocka_run_group_tests_name("llm-gateway.sse", tests, NULL, NULL);
}

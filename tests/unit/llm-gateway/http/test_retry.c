#include "tests/support/expect.h"

#include <math.h>

#include "llm-gateway/http/retry.h"

#define NOW 784111777.0 /* Sun, 06 Nov 1994 08:49:37 GMT */

static void expect_same(double value, double expected, const char *what)
{
    if (isnan(expected) ? !isnan(value) : !(fabs(value - expected) <= 1e-9 * fmax(1.0, fabs(expected))))
        fail_msg("%s: %g, expected %g", what, value, expected);
}

static void test_retry_after(void **state)
{
    static const struct {
        const char *name, *value;
        double wait_s;
    } cases[] = {
        {"retry-after", "120", 120},
        {"retry-after", "1.5", 1.5},
        {"retry-after", "0", 0},
        {"retry-after", "Sun, 06 Nov 1994 08:50:07 GMT", 30},
        {"retry-after", "Sunday, 06-Nov-94 08:50:07 GMT", 30},
        {"retry-after", "Sun Nov  6 08:50:07 1994", 30},
        {"retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", 0}, /* it has passed */
        {"retry-after", "1000000000", 1000000000 - NOW},     /* a date, as some write it */
        {"retry-after", "999999999", 999999999},
        {"retry-after", "", NAN},
        {"retry-after", "-5", NAN},
        {"retry-after", "soon", NAN},
        {"retry-after", "nan", NAN},
        {"retry-after", "inf", NAN},
        {"retry-after", "0x10", NAN},
        {"retry-after", "1e3", NAN},
        {"retry-after", "5 s", NAN},
        {"retry-after-ms", "250", 0.25},
        {"retry-after-ms", "1234.5", 1.2345},
        {"retry-after-ms", "-1", NAN},
        {"retry-after-ms", "Sun, 06 Nov 1994 08:50:07 GMT", NAN},
        {"x-retry-after", "5", NAN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_reply_headers h;
        atoll_reply_headers_init(&h);
        atoll_reply_headers_read(&h, cases[i].name, cases[i].value, NOW);
        expect_same(h.retry_after_s, cases[i].wait_s, cases[i].value);
    }
}

static void test_milliseconds_are_stronger_in_any_order(void **state)
{
    for (int first = 0; first < 2; first++) {
        struct atoll_reply_headers h;
        atoll_reply_headers_init(&h);
        for (int i = 0; i < 2; i++) {
            int is_ms = (i == 0) == (first == 0);
            atoll_reply_headers_read(&h, is_ms ? "retry-after-ms" : "retry-after", is_ms ? "250" : "7", NOW);
        }
        expect_same(h.retry_after_s, 0.25, "both said");
        atoll_reply_headers_read(&h, "retry-after-ms", "nonsense", NOW);
        expect_same(h.retry_after_s, 0.25, "nonsense is as unsaid");
    }
}

static void test_should_retry_is_read(void **state)
{
    static const struct {
        const char *value;
        int expected;
    } cases[] = {{"true", 1}, {"True", 1}, {"false", 0}, {"", -1}, {"1", -1}, {"yes", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_reply_headers h;
        atoll_reply_headers_init(&h);
        atoll_reply_headers_read(&h, "x-should-retry", cases[i].value, NOW);
        assert_int_equal(h.should_retry, cases[i].expected);
    }
}

struct said {
    const char *name, *value;
};

static void read_all(struct atoll_reply_headers *h, const struct said *said, double unix_s)
{
    atoll_reply_headers_init(h);
    for (; said->name; said++)
        atoll_reply_headers_read(h, said->name, said->value, unix_s);
}

static void test_limits_of_openai(void **state)
{
    static const struct said said[] = {
        {"x-ratelimit-limit-requests", "10000"},
        {"x-ratelimit-remaining-requests", "9999"},
        {"x-ratelimit-reset-requests", "6m0s"},
        {"x-ratelimit-limit-tokens", "200000"},
        {"x-ratelimit-remaining-tokens", "199980"},
        {"x-ratelimit-reset-tokens", "20ms"},
        {"x-ratelimit-limit-project-tokens", "5000"},
        {"content-type", "application/json"},
        {NULL, NULL},
    };
    struct atoll_reply_headers h;
    read_all(&h, said, NOW);
    expect_same(h.request_limit, 10000, "request limit");
    expect_same(h.request_left, 9999, "requests left");
    expect_same(h.request_reset_s, 360, "requests reset");
    expect_same(h.token_limit, 5000, "the tightest: the project's");
    expect_same(h.token_left, NAN, "which did not say more");
    expect_same(h.retry_after_s, NAN, "retry-after");
    atoll_reply_headers_read(&h, "x-ratelimit-remaining-tokens", "0", NOW);
    expect_same(h.token_limit, 200000, "now the other is tighter");
    expect_same(h.token_left, 0, "tokens left");
    expect_same(h.token_reset_s, 0.02, "tokens reset");
}

static void test_limits_of_anthropic(void **state)
{
    static const struct said said[] = {
        {"anthropic-ratelimit-requests-limit", "50"},
        {"anthropic-ratelimit-requests-remaining", "49"},
        {"anthropic-ratelimit-requests-reset", "1994-11-06T08:49:38Z"},
        {"anthropic-ratelimit-input-tokens-limit", "40000"},
        {"anthropic-ratelimit-input-tokens-remaining", "39000"},
        {"anthropic-ratelimit-input-tokens-reset", "1994-11-06T08:49:39Z"},
        {"anthropic-ratelimit-output-tokens-limit", "8000"},
        {"anthropic-ratelimit-output-tokens-remaining", "7000"},
        {"anthropic-ratelimit-output-tokens-reset", "1994-11-06T08:49:45+00:00"},
        {"anthropic-ratelimit-tokens-limit", "48000"},
        {"anthropic-ratelimit-tokens-remaining", "46000"},
        {"anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:45Z"},
        {NULL, NULL},
    };
    struct atoll_reply_headers h;
    read_all(&h, said, NOW);
    expect_same(h.request_left, 49, "requests left");
    expect_same(h.request_reset_s, 1, "requests reset");
    expect_same(h.token_limit, 8000, "output is the tightest");
    expect_same(h.token_left, 7000, "tokens left");
    expect_same(h.token_reset_s, 8, "tokens reset");
}

static void test_resets_in_all_forms(void **state)
{
    static const struct {
        const char *value;
        double reset_s;
    } cases[] = {{"20ms", 0.02},
                 {"6m0s", 360},
                 {"1s", 1},
                 {"2m59.56s", 179.56},
                 {"1h2m3s", 3723},
                 {"60", 60},
                 {"0", 0},
                 {"0s", 0},
                 {"1994-11-06T08:49:47Z", 10},
                 {"1994-11-06T08:00:00Z", 0},
                 {"1000000000", 1000000000 - NOW},
                 {"-1", NAN},
                 {"", NAN},
                 {"tomorrow", NAN},
                 {"1:30", NAN},
                 {"1-12", NAN}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_reply_headers h;
        atoll_reply_headers_init(&h);
        atoll_reply_headers_read(&h, "x-ratelimit-reset-requests", cases[i].value, NOW);
        expect_same(h.request_reset_s, cases[i].reset_s, cases[i].value);
    }
    static const char *const wrong[] = {"-1", "", "many", "5 requests", "1e5"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct atoll_reply_headers h;
        atoll_reply_headers_init(&h);
        atoll_reply_headers_read(&h, "x-ratelimit-limit-tokens", wrong[i], NOW);
        expect_same(h.token_limit, NAN, wrong[i]);
    }
}

/* What is tried again without a header, with x-should-retry false and true. */
static const struct {
    enum atoll_llm_status status;
    int http_status, plain, if_false, if_true;
} verdicts[] = {
    {ATOLL_LLM_OK, 200, 0, 0, 0},         {ATOLL_LLM_TRUNCATED, 200, 0, 0, 0},
    {ATOLL_LLM_EMPTY, 200, 0, 0, 0},      {ATOLL_LLM_REFUSED, 200, 0, 0, 0},
    {ATOLL_LLM_INVALID, 400, 0, 0, 1},    {ATOLL_LLM_INVALID, 422, 0, 0, 1},
    {ATOLL_LLM_DENIED, 401, 0, 0, 1},     {ATOLL_LLM_DENIED, 403, 0, 0, 1},
    {ATOLL_LLM_NOTFOUND, 404, 0, 0, 1},   {ATOLL_LLM_TOO_LARGE, 413, 0, 0, 1},
    {ATOLL_LLM_QUOTA, 429, 0, 0, 0},      {ATOLL_LLM_QUOTA, 402, 0, 0, 0},
    {ATOLL_LLM_RATE, 429, 1, 0, 1},       {ATOLL_LLM_OVERLOADED, 408, 1, 0, 1},
    {ATOLL_LLM_OVERLOADED, 409, 1, 0, 1}, {ATOLL_LLM_OVERLOADED, 500, 1, 0, 1},
    {ATOLL_LLM_OVERLOADED, 503, 1, 0, 1}, {ATOLL_LLM_OVERLOADED, 529, 1, 0, 1},
    {ATOLL_LLM_STREAM, 200, 1, 0, 1},     {ATOLL_LLM_NETWORK, 0, 1, 1, 1},
    {ATOLL_LLM_PROTOCOL, 200, 0, 0, 1},   {ATOLL_LLM_PROTOCOL, 302, 0, 0, 1},
    {ATOLL_LLM_TIMEOUT, 0, 1, 1, 1},      {ATOLL_LLM_CANCELLED, 200, 0, 0, 0},
    {ATOLL_LLM_BUDGET, 0, 0, 0, 0},       {ATOLL_LLM_MISS, 0, 0, 0, 0},
    {ATOLL_LLM_UNKNOWN, 0, 0, 0, 0},      {ATOLL_LLM_TOOL_CALLS, 200, 0, 0, 0},
    {ATOLL_LLM_STATUS_COUNT, 0, 0, 0, 0},
};

static void test_verdicts(void **state)
{
    struct atoll_retry_settings settings;
    atoll_retry_defaults(&settings);
    unsigned seen = 0;
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(*verdicts); i++) {
        struct atoll_llm_outcome outcome = {.status = verdicts[i].status,
                                            .http_status = verdicts[i].http_status};
        const int expected[] = {verdicts[i].plain, verdicts[i].if_false, verdicts[i].if_true};
        for (int should = -1; should <= 1; should++) {
            struct atoll_reply_headers h;
            atoll_reply_headers_init(&h);
            h.should_retry = should;
            double wait_s = 77;
            int is_tried = atoll_retry_decide(&settings, &outcome, &h, 1, 100, 0.5, &wait_s);
            if (is_tried != expected[should + 1])
                fail_msg("row %zu, x-should-retry %d: %d", i, should, is_tried);
            expect_same(wait_s, is_tried ? 0.25 : 77, "wait");
        }
        double wait_s = 77;
        assert_int_equal(atoll_retry_decide(&settings, &outcome, NULL, 1, 100, 0.5, &wait_s),
                         verdicts[i].plain);
        seen |= 1u << verdicts[i].status;
    }
    assert_int_equal(seen, (1u << (ATOLL_LLM_STATUS_COUNT + 1)) - 1); /* every status has a row */
}

static void test_backoff(void **state)
{
    static const struct {
        unsigned tries;
        double unit, header_s, left_s;
        int is_tried;
        double wait_s;
    } cases[] = {
        {1, 1.0, NAN, 100, 1, 0.5},   {2, 1.0, NAN, 100, 1, 1},
        {5, 1.0, NAN, 100, 1, 8},     {5, 0.0, NAN, 100, 1, 0},
        {2, 0.25, NAN, 100, 1, 0.25}, {2, 0.5, 20, 100, 1, 20.5}, /* on top of the header */
        {2, 0.5, 100, 100, 0, 0},                                 /* beyond the deadline */
        {1, 1.0, NAN, 0.5, 0, 0},                                 /* at the deadline */
        {1, 1.0, NAN, 0.501, 1, 0.5}, {1, 0.0, NAN, 0.0, 0, 0},
        {1, 0.0, NAN, -5, 0, 0},      {6, 0.5, NAN, 100, 0, 0}, /* tries are used up */
        {7, 0.5, NAN, 100, 0, 0},     {0, 0.5, NAN, 100, 0, 0},
    };
    struct atoll_retry_settings settings;
    atoll_retry_defaults(&settings);
    assert_int_equal(settings.try_limit, 6);
    struct atoll_llm_outcome outcome = {.status = ATOLL_LLM_RATE, .http_status = 429};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_reply_headers h;
        atoll_reply_headers_init(&h);
        h.retry_after_s = cases[i].header_s;
        double wait_s = 0;
        if (atoll_retry_decide(&settings, &outcome, &h, cases[i].tries, cases[i].left_s, cases[i].unit,
                               &wait_s) != cases[i].is_tried)
            fail_msg("case %zu", i);
        expect_same(wait_s, cases[i].wait_s, "wait");
    }
}

static void test_backoff_has_a_longest(void **state)
{
    struct atoll_retry_settings settings = {UINT32_MAX, 0.5, 30.0};
    struct atoll_llm_outcome outcome = {.status = ATOLL_LLM_NETWORK};
    static const unsigned tries[] = {7, 8, 100, 5000, UINT32_MAX - 1};
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        double wait_s = 0;
        assert_int_equal(atoll_retry_decide(&settings, &outcome, NULL, tries[i], 100, 1.0, &wait_s), 1);
        expect_same(wait_s, 30, "wait");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_milliseconds_are_stronger_in_any_order),
        cmocka_unit_test(test_should_retry_is_read),
        cmocka_unit_test(test_limits_of_openai),
        cmocka_unit_test(test_limits_of_anthropic),
        cmocka_unit_test(test_resets_in_all_forms),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_backoff_has_a_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

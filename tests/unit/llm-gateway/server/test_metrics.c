/* test_metrics.c - what is counted and how it is written. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/server/metrics.h"

static const char *written(const struct atoll_metrics *metrics, struct atoll_buffer *out)
{
    atoll_buffer_clear(out);
    atoll_metrics_write(metrics, out);
    atoll_buffer_put_u8(out, 0);
    assert_int_equal(atoll_buffer_check(out, NULL), 0);
    return (const char *)out->data;
}

static void expect_line(const char *text, const char *line)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "\n%s\n", line);
    if (!strstr(text, whole))
        fail_msg("'%s' is not in\n%s", line, text);
}

static void count(struct atoll_metrics *metrics, const char *model, enum atoll_llm_status status,
                  double elapsed_s, int is_from_store)
{
    struct atoll_llm_outcome outcome;
    atoll_llm_outcome_init(&outcome);
    outcome.status = status;
    outcome.elapsed_s = elapsed_s;
    outcome.first_byte_s = elapsed_s / 2;
    outcome.cost_usd = 0.25;
    outcome.is_from_store = is_from_store;
    outcome.usage = (struct atoll_llm_usage){
        .input = 100, .cached_input = 40, .cache_write = 10, .output = 20, .reasoning = 5};
    atoll_metrics_outcome(metrics, model, &outcome);
    atoll_llm_outcome_fini(&outcome);
}

static void test_counts(void **state)
{
    struct atoll_buffer out;
    struct atoll_metrics *metrics = atoll_metrics_create(NULL);
    assert_non_null(metrics);
    atoll_buffer_init(&out, 1 << 20);
    expect_line(written(metrics, &out), "atoll_gateway_uncounted_total 0");
    count(metrics, "strong", ATOLL_LLM_OK, 0.1, 0);
    count(metrics, "strong", ATOLL_LLM_OK, 0.2, 0);
    count(metrics, "strong", ATOLL_LLM_TIMEOUT, 9999, 0);
    count(metrics, "strong", ATOLL_LLM_OK, 5, 1); /* from the store: no tokens, no money, no time */
    count(metrics, "a\"b\\c\nd", ATOLL_LLM_OK, NAN, 0);
    atoll_metrics_try(metrics, "openai", 200);
    atoll_metrics_try(metrics, "openai", 200);
    atoll_metrics_try(metrics, "openai", 429);
    atoll_metrics_try(metrics, "other-one", 0);
    atoll_metrics_gauge(metrics, "in_flight", 3);
    atoll_metrics_gauge(metrics, "in_flight", 4);
    atoll_metrics_gauge(metrics, "left_usd", INFINITY);
    atoll_metrics_gauge(metrics, "Bad name", 1);
    static const char *const lines[] = {
        "atoll_gateway_outcomes_total{model=\"strong\",status=\"ok\"} 3",
        "atoll_gateway_outcomes_total{model=\"strong\",status=\"timeout\"} 1",
        "atoll_gateway_outcomes_total{model=\"a_b_c_d\",status=\"ok\"} 1",
        "atoll_gateway_from_store_total{model=\"strong\"} 1",
        "atoll_gateway_tokens_total{model=\"strong\",kind=\"input\"} 300",
        "atoll_gateway_tokens_total{model=\"strong\",kind=\"reasoning\"} 15",
        "atoll_gateway_cost_usd_total{model=\"strong\"} 0.75",
        "atoll_gateway_call_seconds_bucket{model=\"strong\",le=\"0.1\"} 1",
        "atoll_gateway_call_seconds_bucket{model=\"strong\",le=\"0.3\"} 2",
        "atoll_gateway_call_seconds_bucket{model=\"strong\",le=\"1800\"} 2",
        "atoll_gateway_call_seconds_bucket{model=\"strong\",le=\"+Inf\"} 3",
        "atoll_gateway_call_seconds_count{model=\"strong\"} 3",
        "atoll_gateway_call_seconds_sum{model=\"a_b_c_d\"} 0",
        "atoll_gateway_first_byte_seconds_count{model=\"strong\"} 3",
        "atoll_gateway_tries_total{endpoint=\"openai\",http_status=\"200\"} 2",
        "atoll_gateway_tries_total{endpoint=\"openai\",http_status=\"429\"} 1",
        "atoll_gateway_tries_total{endpoint=\"other-one\",http_status=\"0\"} 1",
        "# TYPE atoll_gateway_in_flight gauge",
        "atoll_gateway_in_flight 4",
        "atoll_gateway_left_usd +Inf",
        "atoll_gateway_uncounted_total 1",
    };
    const char *text = written(metrics, &out);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        expect_line(text, lines[i]);
    atoll_buffer_fini(&out);
    atoll_metrics_destroy(metrics);
    atoll_metrics_destroy(NULL);
}

/* Names that never end cost no memory that never ends. */
static void test_limits(void **state)
{
    char name[32];
    struct atoll_buffer out;
    struct atoll_metrics *metrics = atoll_metrics_create(NULL);
    assert_non_null(metrics);
    atoll_buffer_init(&out, 4 << 20);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "m%d", i);
        count(metrics, name, ATOLL_LLM_OK, 1, 0);
        atoll_metrics_try(metrics, name, 200);
        atoll_metrics_gauge(metrics, name, 1);
    }
    const char *text = written(metrics, &out);
    expect_line(text, "atoll_gateway_outcomes_total{model=\"m254\",status=\"ok\"} 1");
    expect_line(text, "atoll_gateway_outcomes_total{model=\"other\",status=\"ok\"} 1745");
    expect_line(text, "atoll_gateway_tries_total{endpoint=\"m1022\",http_status=\"200\"} 1");
    expect_line(text, "atoll_gateway_tries_total{endpoint=\"other\",http_status=\"0\"} 977");
    expect_line(text, "atoll_gateway_uncounted_total 1936"); /* gauges beyond 64 */
    assert_null(strstr(text, "model=\"m255\""));
    atoll_buffer_fini(&out);
    atoll_metrics_destroy(metrics);
}

/* Every sample line is name{labels} value, and belongs to a family that was typed before. */
static void test_format(void **state)
{
    char family[64] = "", text[32768];
    struct atoll_buffer out;
    struct atoll_metrics *metrics = atoll_metrics_create(NULL);
    atoll_buffer_init(&out, 1 << 20);
    count(metrics, "m", ATOLL_LLM_OK, 1, 0);
    atoll_metrics_try(metrics, "e", 200);
    atoll_metrics_gauge(metrics, "g", -1.5);
    snprintf(text, sizeof(text), "%s", written(metrics, &out));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (sscanf(line, "# TYPE %63s", family) == 1 || line[0] == '#')
            continue;
        char *end, *value = strrchr(line, ' ');
        assert_non_null(value);
        strtod(value + 1, &end);
        assert_true(value[1] && !*end);
        if (strncmp(line, family, strlen(family)) != 0)
            fail_msg("'%s' does not belong to %s", line, family);
    }
    atoll_buffer_fini(&out);
    atoll_metrics_destroy(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_format)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

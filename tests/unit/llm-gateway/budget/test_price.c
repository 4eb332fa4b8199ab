/* test_price.c - price tables and exact money. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llm-gateway/budget/price.h"

#define HEAD "version: 1\ndate: 2026-11-06\nsource: a page\nmodels:\n"

static struct atoll_prices *load_text(const char *text, struct atoll_err *err)
{
    char path[] = "/tmp/atoll-price-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    struct atoll_prices *prices = atoll_prices_load(path, err);
    unlink(path);
    return prices;
}

static void test_table(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_prices *prices = load_text(
        HEAD "  - {name: a, input: 2, cached_input: 0.1, cache_write: 2.5, output: 10}\n"
             "  - {name: b/c-1.5, input: 3, output: 15, above_input_tokens: 1000, above_ratio: 2}\n",
        &err);
    assert_non_null(prices);
    const struct atoll_price *a = atoll_prices_find(prices, "a"), *b = atoll_prices_find(prices, "b/c-1.5");
    assert_true(a && a->cached_input == 0.1 && a->cache_write == 2.5);
    /* what is not said is never cheaper than what is */
    assert_true(b && b->cached_input == 3 && b->cache_write == 3 && b->above_ratio == 2);
    assert_null(atoll_prices_find(prices, "b"));
    atoll_prices_destroy(prices);
    atoll_prices_destroy(NULL);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {HEAD "  - {name: a, input: -1, output: 1}\n", ":5: '-1' must not be negative"},
        {HEAD "  - {name: a, input: 1}\n", ":5: key 'output' is missing"},
        {HEAD "  - {name: a, input: 1, output: 1}\n  - {name: a, input: 1, output: 1}\n",
         ":6: model 'a' stands here twice"},
        {HEAD "  - {name: a, input: 2000000, output: 1}\n", "is no price"},
        {HEAD "  - {name: a, input: 1, output: 1, batch_ratio: 0.5}\n", "batch_ratio: was removed"},
        {HEAD "  - {name: a, input: 1, output: 1, above_ratio: 2}\n", "go together"},
        {HEAD "  - {name: a, input: 1, output: 1, above_input_tokens: 5, above_ratio: 0.5}\n",
         "between 1 and 1000"},
        {"version: 1\nsource: x\nmodels: []\n", ":1: key 'date' is missing"},
        {"version: 1\ndate: 2026-11-06\nmodels: []\n", "key 'source' is missing"},
        {"version: 1\ndate: yesterday\nsource: x\nmodels: []\n", ":2: date 'yesterday' is none"},
        {"version: 1\ndate: 2026-11-06\nsource: x\nmodels: {}\n", "a list of models is expected"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        assert_null(load_text(rows[i].text, &err));
        if (err.code != ATOLL_E_INPUT || !strstr(err.text, rows[i].words))
            fail_msg("row %zu says '%s'", i, err.text);
    }
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_prices_load("/nonexistent/prices.yaml", &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
}

static const struct atoll_price plain = {.input = 2, .cached_input = 0.1, .cache_write = 2.5, .output = 10};
static const struct atoll_price stepped = {.input = 2,
                                           .cached_input = 0.1,
                                           .cache_write = 2.5,
                                           .output = 10,
                                           .above_input_tokens = 1000,
                                           .above_ratio = 2};
static const struct atoll_price tiny = {
    .input = 0.000001, .cached_input = 0.000001, .cache_write = 0.000001, .output = 0.0000001};

static const struct atoll_price absurd = {.input = 1e15, .output = 1e12};

static void test_cost(void **state)
{
    static const struct {
        const struct atoll_price *price;
        uint64_t input, cached, written, output;
        atoll_nanousd cost;
    } rows[] = {
        {&plain, 0, 0, 0, 0, 0},
        {&plain, 1, 0, 0, 0, 2000},
        {&plain, 1000000, 0, 0, 1000000, 12000000000u},
        {&plain, 1000, 400, 100, 10, 500 * 2000 + 400 * 100 + 100 * 2500 + 10 * 10000},
        {&plain, 10, 400, 0, 0, 400 * 100}, /* parts above the whole are paid */
        {&stepped, 999, 0, 0, 1, 999 * 2000 + 10000},
        {&stepped, 1000, 0, 0, 1, 1000 * 4000 + 20000},
        {&tiny, 1, 0, 0, 0, 1}, /* a thousandth of a nanodollar is one */
        {&tiny, 1000, 0, 0, 0, 1},
        {&tiny, 1001, 0, 0, 0, 2},
        {&tiny, 0, 0, 0, 1, 1},                    /* a price below a picodollar a token is one picodollar */
        {&plain, UINT64_MAX, 0, 0, 0, UINT64_MAX}, /* no wrapping */
        {&plain, (uint64_t)1 << 62, (uint64_t)1 << 61, 0, (uint64_t)1 << 62, UINT64_MAX},
        {&absurd, 1, 0, 0, 0, UINT64_MAX},
        {&absurd, 0, 0, 0, UINT64_MAX, UINT64_MAX},
        {&absurd, 0, 0, 0, 1, 1000000000000000u},
        {NULL, 1000, 0, 0, 1000, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_llm_usage usage = {.input = rows[i].input,
                                        .cached_input = rows[i].cached,
                                        .cache_write = rows[i].written,
                                        .output = rows[i].output};
        atoll_nanousd cost = atoll_price_cost(rows[i].price, &usage);
        if (cost != rows[i].cost)
            fail_msg("row %zu costs %llu, not %llu", i, (unsigned long long)cost,
                     (unsigned long long)rows[i].cost);
    }
}

static uint64_t step(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Whatever a call of at most these tokens uses, its cost is within the worst case. */
static void test_worst(void **state)
{
    uint64_t random = 5;
    assert_true(atoll_price_worst(&plain, 1000, 100) == 1000 * 2500 + 100 * 10000);
    assert_true(atoll_price_worst(&stepped, 1000, 100) == 2 * (1000 * 2500 + 100 * 10000));
    assert_true(atoll_price_worst(NULL, 1000, 100) == 0);
    for (int i = 0; i < 20000; i++) {
        struct atoll_price price = {.input = (double)(step(&random) % 1000000) / 9973,
                                    .cached_input = (double)(step(&random) % 1000000) / 9973,
                                    .cache_write = (double)(step(&random) % 1000000) / 9973,
                                    .output = (double)(step(&random) % 1000000) / 997,
                                    .above_input_tokens = (double)(step(&random) % 5000),
                                    .above_ratio = 1 + (double)(step(&random) % 3)};
        uint64_t bound = step(&random) % 10000, limit = step(&random) % 10000;
        struct atoll_llm_usage usage = {.input = step(&random) % (bound + 1),
                                        .output = step(&random) % (limit + 1)};
        usage.cached_input = step(&random) % (usage.input + 1);
        usage.cache_write = step(&random) % (usage.input - usage.cached_input + 1);
        if (atoll_price_cost(&price, &usage) > atoll_price_worst(&price, bound, limit))
            fail_msg("call %d costs more than its worst case", i);
    }
}

/* The table that comes with Atoll. */
static void test_bundled(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_prices *prices = atoll_prices_load(ATOLL_SOURCE_DIR "/knowledge/prices.yaml", &err);
    if (!prices)
        fail_msg("%s", err.text);
    assert_non_null(atoll_prices_find(prices, "claude-opus-5-5"));
    assert_non_null(atoll_prices_find(prices, "gpt-6-luna"));
    atoll_prices_destroy(prices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_refused), cmocka_unit_test(test_cost),
        cmocka_unit_test(test_worst), cmocka_unit_test(test_bundled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

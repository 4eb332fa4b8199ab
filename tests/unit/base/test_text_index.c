/* The index of texts: what is found, in which order, and what it may hold. */
#include "tests/support/allocation.h"
#include "tests/support/expect.h"

#include <stdio.h>

#include "base/text_index.h"

static const char *const texts[] = {
    "Shared memory has 32 banks; a stride of 32 words makes every access of a warp hit one bank.",
    "wgmma.mma_async reads its operands from shared memory; wgmma_fence orders registers.",
    "A reduction of rows: each warp sums, then shuffles. Rows, rows, rows.",
    "Nothing of interest",
    "Nothing of interest",
};
#define TEXTS (sizeof(texts) / sizeof(*texts))

static struct atoll_text_index *index_of_texts(struct atoll_err *err)
{
    struct atoll_text_index *index = atoll_text_index_create(1000, err);
    for (size_t i = 0; index && i < TEXTS; i++) {
        if (atoll_text_index_add(index, texts[i], strlen(texts[i]), err) != 0) {
            atoll_text_index_destroy(index);
            return NULL;
        }
    }
    return index;
}

static void test_what_is_found(void **state)
{
    static const struct {
        const char *words;
        size_t count;
        uint32_t first, second;
    } rows[] = {
        {"bank conflicts", 1, 0, 0}, {"shared memory", 2, 1, 0}, /* of two with both words the shorter one */
        {"FENCE", 1, 1, 0},                                      /* a part of a word, in either case */
        {"wgmma_fence", 1, 1, 0},    {"rows warp", 2, 2, 0},     /* the more often, the better */
        {"nothing", 2, 3, 4},                                    /* equal ones in their order */
        {"absent", 0, 0, 0},         {"", 0, 0, 0},
        {"-- !! \x01", 0, 0, 0},
    };
    struct atoll_text_index *index = index_of_texts(NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_text_query query;
        struct atoll_text_hit hits[TEXTS];
        atoll_text_query_init(&query, rows[i].words, strlen(rows[i].words));
        size_t count = atoll_text_index_find(index, &query, hits, TEXTS);
        if (count != rows[i].count || (count > 0 && hits[0].text != rows[i].first) ||
            (count > 1 && hits[1].text != rows[i].second))
            fail_msg("'%s': %zu, first %u", rows[i].words, count, count ? hits[0].text : 99);
        assert_int_equal(atoll_text_index_find(index, &query, hits, 1), count ? 1 : 0);
        if (count)
            assert_int_equal(hits[0].text, rows[i].first);
    }
    assert_int_equal(atoll_text_index_count(index), TEXTS);
    atoll_text_index_destroy(index);
}

static void test_query_counts_words_once(void **state)
{
    struct atoll_text_query query;
    char many[1000] = "";
    atoll_text_query_init(&query, "warp WARP warp_sum", 18);
    assert_int_equal(query.count, 3); /* warp, warp_sum, sum */
    assert_int_equal(atoll_text_query_count(&query, "a warp, a warp", 14), 1);
    assert_int_equal(atoll_text_query_count(&query, "warp_sum(x)", 11), 3);
    assert_int_equal(atoll_text_query_count(&query, "", 0), 0);
    for (int i = 0; i < 100; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "w%d ", i);
    atoll_text_query_init(&query, many, strlen(many));
    assert_int_equal(query.count, ATOLL_TEXT_QUERY_LIMIT);
    assert_int_equal(atoll_text_query_count(&query, many, strlen(many)), ATOLL_TEXT_QUERY_LIMIT);
}

static void test_limit(void **state)
{
    struct atoll_text_index *index = atoll_text_index_create(3, NULL);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_text_query query;
    struct atoll_text_hit hit;
    assert_int_equal(atoll_text_index_add(index, "one two", 7, NULL), 0);
    assert_int_equal(atoll_text_index_add(index, "one two", 7, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "full");
    assert_int_equal(atoll_text_index_count(index), 2);
    atoll_text_query_init(&query, "two", 3);
    assert_int_equal(atoll_text_index_find(index, &query, &hit, 1), 1);
    assert_int_equal(hit.text, 0);
    atoll_text_index_destroy(index);
    atoll_text_index_destroy(NULL);
}

#ifndef ALLOCATION_SKIP_REASON
static int run_all(struct atoll_err *err)
{
    struct atoll_text_index *index = index_of_texts(err);
    atoll_text_index_destroy(index);
    return index ? 0 : -1;
}
#endif

static void test_allocations(void **state)
{
#ifdef ALLOCATION_SKIP_REASON
    puts("skipped: " ALLOCATION_SKIP_REASON);
    skip();
#else
    allocation_each_fails("texts", run_all);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_found),
        cmocka_unit_test(test_query_counts_words_once),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_exchange_store.c - what is found again, recordings, and recordings of earlier versions. */
#include "tests/support/expect.h"

#include "llm-gateway/budget/database.h"
#include "llm-gateway/budget/exchange_store.h"
#include "tests/unit/llm-gateway/scratch_folder.h"

static char folder[PATH_MAX], path[PATH_MAX + 16];

static int set_up(void **state)
{
    scratch_make(folder);
    snprintf(path, sizeof(path), "%s/x.sqlite", folder);
    return 0;
}

static int tear_down(void **state)
{
    scratch_remove(folder);
    return 0;
}

static struct atoll_store *must_open(enum atoll_store_mode mode)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_store *store = atoll_store_open(path, mode, &err);
    if (!store)
        fail_msg("%s", err.text);
    return store;
}

static struct atoll_llm_request ask(const char *prompt, const char *key)
{
    struct atoll_llm_request request;
    atoll_llm_request_init(&request);
    request.model = "m";
    request.key = key;
    request.message_count = 1;
    request.messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = prompt};
    return request;
}

static void must_put(struct atoll_store *store, const char *prompt, const char *key,
                     enum atoll_llm_status status, const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_outcome outcome;
    const struct atoll_llm_request request = ask(prompt, key);
    atoll_llm_outcome_init(&outcome);
    atoll_llm_outcome_set(&outcome, status, "%s", status == ATOLL_LLM_OK ? "" : "why");
    outcome.usage = (struct atoll_llm_usage){.input = 7, .output = 3};
    outcome.cost_usd = 0.125;
    atoll_buffer_put_bytes(&outcome.text, text, strlen(text) + 1);
    outcome.text.length = strlen(text);
    atoll_buffer_put_bytes(&outcome.raw, "\0raw\xff", 5);
    if (atoll_store_put(store, &request, &outcome, 0, &err))
        fail_msg("%s", err.text);
    atoll_llm_outcome_fini(&outcome);
}

/* "" where there is none. */
static void expect_found(struct atoll_store *store, const char *prompt, const char *key, const char *text)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_outcome outcome;
    const struct atoll_llm_request request = ask(prompt, key);
    atoll_llm_outcome_init(&outcome);
    int found = atoll_store_find(store, &request, &outcome, &err);
    assert_int_equal(found, *text ? 1 : 0);
    if (*text) {
        assert_string_equal((const char *)outcome.text.data, text);
        assert_true(outcome.is_from_store && outcome.usage.input == 7 && outcome.cost_usd == 0.125);
        assert_int_equal(outcome.raw.length, 5);
        assert_memory_equal(outcome.raw.data, "\0raw\xff", 5);
    }
    atoll_llm_outcome_fini(&outcome);
}

static void the_newest_answer_is_found(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_store *store = must_open(ATOLL_STORE_RECORD);
    must_put(store, "a", "", ATOLL_LLM_OK, "first");
    must_put(store, "a", "k", ATOLL_LLM_OK, "second");
    must_put(store, "a", "", ATOLL_LLM_RATE, "no answer");
    must_put(store, "b", "", ATOLL_LLM_NETWORK, "no answer");
    must_put(store, "c", "k2", ATOLL_LLM_REFUSED, "refused");
    expect_found(store, "a", "", "second");
    assert_int_equal(atoll_store_finish(store, &err), 0);
    atoll_store_close(store);
    store = must_open(ATOLL_STORE_READ);
    assert_int_equal(atoll_store_count(store, &err), 5);
    expect_found(store, "a", "", "second");
    expect_found(store, "a", "unknown", "second"); /* by its id, then */
    expect_found(store, "another text", "k", "second");
    expect_found(store, "c", "", "refused");
    expect_found(store, "b", "", "");
    expect_found(store, "never asked", "", "");
    atoll_store_close(store);
    atoll_store_close(NULL);
}

static void an_unfinished_recording_holds_nothing(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_store *store = must_open(ATOLL_STORE_RECORD);
    must_put(store, "a", "", ATOLL_LLM_OK, "first");
    atoll_store_close(store);
    store = must_open(ATOLL_STORE_READ);
    assert_int_equal(atoll_store_count(store, &err), 0);
    struct atoll_llm_outcome outcome;
    const struct atoll_llm_request request = ask("x", "");
    atoll_llm_outcome_init(&outcome);
    assert_int_equal(atoll_store_put(store, &request, &outcome, 0, &err), -1);
    expect_err(&err, ATOLL_E_DENIED, path);
    atoll_store_close(store);
}

static void what_is_too_large_is_not_kept(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_outcome outcome;
    const struct atoll_llm_request request = ask("x", "");
    struct atoll_store *store = must_open(ATOLL_STORE_RECORD);
    char *large = calloc(1, ATOLL_EXCHANGE_BYTES);
    atoll_llm_outcome_init(&outcome);
    atoll_buffer_fini(&outcome.raw);
    atoll_buffer_init(&outcome.raw, 2 * ATOLL_EXCHANGE_BYTES);
    atoll_buffer_put_bytes(&outcome.raw, large, ATOLL_EXCHANGE_BYTES);
    assert_int_equal(atoll_store_put(store, &request, &outcome, 0, &err), -1);
    expect_err(&err, ATOLL_E_LIMIT, "while an exchange was kept");
    free(large);
    atoll_llm_outcome_fini(&outcome);
    must_put(store, "a", "", ATOLL_LLM_OK, "small");
    expect_found(store, "a", "", "small");
    atoll_store_close(store);
}

/* ---- exchanges.atl ---- */

static const char old[] = ATOLL_SOURCE_DIR "/tests/fixtures/old_exchanges/exchanges.atl";

static void an_old_recording_is_converted(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char part[PATH_MAX + 32];
    size_t count = 0, left = 0;
    assert_int_equal(atoll_old_exchanges_convert(old, path, &count, &left, &err), 0);
    assert_true(count == 2 && left == 0);
    struct atoll_store *store = must_open(ATOLL_STORE_READ);
    assert_int_equal(atoll_store_count(store, &err), 2);
    atoll_store_close(store);
    /* the last record torn, as by a kill: it was never acknowledged; into a file that is there */
    FILE *whole = fopen(old, "rb");
    static char bytes[200000];
    size_t length = fread(bytes, 1, sizeof(bytes), whole);
    fclose(whole);
    snprintf(part, sizeof(part), "%s/part.atl", folder);
    scratch_write(part, bytes, length - 1);
    assert_int_equal(atoll_old_exchanges_convert(part, path, &count, &left, &err), 0);
    assert_true(count == 1 && left > 0);
    /* a changed byte is noticed by the frame's sum: everything from there on is left out */
    bytes[100] ^= 1;
    scratch_write(part, bytes, length);
    assert_int_equal(atoll_old_exchanges_convert(part, path, &count, &left, &err), 0);
    assert_true(count == 0 && left > 1000);
    scratch_write(part, "SQLite format 3", 15);
    assert_int_equal(atoll_old_exchanges_convert(part, path, &count, &left, &err), -1);
    expect_err(&err, ATOLL_E_INPUT, "no exchanges.atl");
    atoll_err_clear(&err);
    assert_int_equal(atoll_old_exchanges_convert("/no/such", path, &count, &left, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, "/no/such");
    store = must_open(ATOLL_STORE_READ);
    assert_int_equal(atoll_store_count(store, &err), 3);
    atoll_store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_newest_answer_is_found),
        TEST(an_unfinished_recording_holds_nothing),
        TEST(what_is_too_large_is_not_kept),
        TEST(an_old_recording_is_converted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

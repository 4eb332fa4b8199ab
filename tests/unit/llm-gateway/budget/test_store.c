/* test_store.c - exchanges kept, found, torn, damaged; and every call that fails once. */
#include "tests/support/expect.h"

#include "tests/unit/llm-gateway/failing_disk.h"
#include "llm-gateway/budget/store.h"

static char folder[PATH_MAX], path[PATH_MAX + 16];

static int set_up(void **state)
{
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/store.atl", folder);
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
    struct atoll_store *store = atoll_store_open_through(path, mode, calm_ops(), &err);
    if (!store)
        fail_msg("%s", err.text);
    return store;
}

static void ask(struct atoll_llm_request *request, const char *text, const char *key)
{
    atoll_llm_request_init(request);
    request->model = "m";
    request->message_count = 1;
    request->messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = text};
    request->key = key;
}

static int append(struct atoll_store *store, const char *text, const char *key, enum atoll_llm_status status,
                  const char *answer, uint64_t reservation, struct atoll_err *err)
{
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    ask(&request, text, key);
    atoll_llm_outcome_init(&outcome);
    outcome.status = status;
    atoll_buffer_put_bytes(&outcome.text, answer, strlen(answer) + 1);
    outcome.text.length--;
    atoll_buffer_put_bytes(&outcome.raw, "ATLF\0raw", 8);
    outcome.request = atoll_llm_request_id(&request);
    outcome.cost_usd = 0.25;
    int rc = atoll_store_append(store, &request, &outcome, reservation, err);
    atoll_llm_outcome_fini(&outcome);
    return rc;
}

static void must_append(struct atoll_store *store, const char *text, const char *key,
                        enum atoll_llm_status status, const char *answer, uint64_t reservation)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (append(store, text, key, status, answer, reservation, &err) != 0)
        fail_msg("%s", err.text);
}

/* "" where nothing is found. */
static void expect_found(struct atoll_store *store, const char *text, const char *key, const char *answer)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    ask(&request, text, key);
    atoll_llm_outcome_init(&outcome);
    int rc = atoll_store_find(store, &request, &outcome, &err);
    if (rc < 0)
        fail_msg("%s", err.text);
    assert_int_equal(rc, *answer != '\0');
    if (rc == 1) {
        assert_string_equal((const char *)outcome.text.data, answer);
        assert_int_equal(outcome.is_from_store, 1);
        assert_int_equal(outcome.raw.length, 8);
        assert_memory_equal(outcome.raw.data, "ATLF\0raw", 8);
    }
    atoll_llm_outcome_fini(&outcome);
}

static void check_contents(struct atoll_store *store)
{
    struct atoll_store_entry entry;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer text;
    struct atoll_llm_outcome outcome;
    size_t index;
    assert_int_equal(atoll_store_count(store), 5);
    expect_found(store, "one", "", "1b"); /* the newest */
    expect_found(store, "two", "", "");   /* no answer: it may be asked again */
    expect_found(store, "three", "k3", "3");
    expect_found(store, "another text", "k3", "3"); /* the same key is the same request */
    expect_found(store, "three", "no such key", "3");
    expect_found(store, "four", "", "no"); /* a refusal would only be repeated */
    expect_found(store, "five", "", "");
    atoll_store_at(store, 3, &entry);
    assert_string_equal(entry.key, "k3");
    assert_int_equal(entry.reservation, 13);
    struct atoll_llm_request request;
    ask(&request, "three", "k3");
    struct atoll_id id = atoll_llm_request_id(&request);
    assert_true(atoll_id_equal(&entry.request, &id));
    atoll_store_at(store, 0, &entry);
    assert_string_equal(entry.key, "");
    assert_int_equal(atoll_store_find_reservation(store, 12, &index), 1);
    assert_int_equal(index, 2);
    assert_int_equal(atoll_store_find_reservation(store, 99, &index), 0);
    assert_int_equal(atoll_store_find_reservation(store, 0, &index), 0);
    atoll_buffer_init(&text, 1 << 20);
    atoll_llm_outcome_init(&outcome);
    assert_int_equal(atoll_store_read(store, 2, &text, &outcome, &err), 0);
    assert_int_equal(outcome.status, ATOLL_LLM_RATE);
    atoll_buffer_put_u8(&text, 0);
    assert_non_null(strstr((const char *)text.data, "\"two\""));
    atoll_llm_outcome_fini(&outcome);
    atoll_buffer_fini(&text);
}

static void fill(struct atoll_store *store)
{
    must_append(store, "one", "", ATOLL_LLM_OK, "1", 10);
    must_append(store, "one", "", ATOLL_LLM_TRUNCATED, "1b", 11);
    must_append(store, "two", "", ATOLL_LLM_RATE, "", 12);
    must_append(store, "three", "k3", ATOLL_LLM_OK, "3", 13);
    must_append(store, "four", "", ATOLL_LLM_REFUSED, "no", 0);
}

static void what_is_kept_is_found(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_store *store = must_open(ATOLL_STORE_WRITE);
    expect_found(store, "one", "", "");
    fill(store);
    assert_true(atoll_store_is_dirty(store));
    check_contents(store); /* from memory */
    assert_int_equal(atoll_store_sync(store, &err), 0);
    assert_false(atoll_store_is_dirty(store));
    check_contents(store); /* from the file */
    struct atoll_store *reader = must_open(ATOLL_STORE_READ);
    check_contents(reader);
    assert_int_equal(append(reader, "x", "", ATOLL_LLM_OK, "x", 0, &err), -1);
    assert_int_equal(err.code, ATOLL_E_USAGE);
    atoll_store_close(reader);
    atoll_store_close(store);
    store = must_open(ATOLL_STORE_WRITE);
    check_contents(store);
    atoll_store_close(store);
    atoll_store_close(NULL);
}

static void a_long_key_and_many_exchanges(void **state)
{
    char key[250], text[32];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    struct atoll_store *store = must_open(ATOLL_STORE_WRITE);
    struct atoll_store_entry entry;
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "text %u", i);
        snprintf(key + 240, sizeof key - 240, "%u", i);
        must_append(store, text, key, ATOLL_LLM_OK, text, i + 1);
        if (i == 500)
            assert_int_equal(atoll_store_sync(store, NULL), 0);
    }
    for (unsigned i = 0; i < 1000; i++) {
        size_t index;
        snprintf(text, sizeof text, "text %u", i);
        snprintf(key + 240, sizeof key - 240, "%u", i);
        expect_found(store, "other", key, text);
        expect_found(store, text, "", text);
        atoll_store_at(store, i, &entry);
        assert_string_equal(entry.key, key);
        assert_int_equal(atoll_store_find_reservation(store, i + 1, &index), 1);
        assert_int_equal(index, i);
    }
    atoll_store_close(store);
}

static void opening_says_what_is_wrong(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(atoll_store_open(path, ATOLL_STORE_READ, &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    struct atoll_store *store = must_open(ATOLL_STORE_WRITE);
    assert_null(atoll_store_open(path, ATOLL_STORE_WRITE, &err));
    assert_int_equal(err.code, ATOLL_E_BUSY);
    assert_non_null(strstr(err.text, "another gateway"));
    atoll_store_close(store);
    scratch_write(path, "dear diary, today", 17);
    assert_null(atoll_store_open(path, ATOLL_STORE_WRITE, &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
    size_t length;
    unsigned char *bytes = scratch_read(path, &length);
    assert_int_equal(length, 17); /* somebody's file is left as it is */
    free(bytes);
    assert_null(atoll_store_open(folder, ATOLL_STORE_READ, &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
}

/* A file of frames, but of another kind. */
static void a_file_of_another_kind_is_refused(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer payload;
    struct atoll_frame_file *file = atoll_frame_file_open(path, ATOLL_FRAME_FILE_WRITE, calm_ops(), &err);
    atoll_buffer_init(&payload, 100);
    atoll_buffer_put_u32(&payload, 1);
    assert_int_equal(atoll_frame_file_append(file, 152, &payload, NULL, &err), 0);
    assert_int_equal(atoll_frame_file_sync(file, &err), 0);
    atoll_frame_file_close(file);
    atoll_buffer_fini(&payload);
    assert_null(atoll_store_open(path, ATOLL_STORE_READ, &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
    assert_non_null(strstr(err.text, "is not a store"));
}

static void a_store_torn_at_any_byte_is_cut(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_store *store = must_open(ATOLL_STORE_WRITE);
    for (int i = 0; i < 3; i++) {
        must_append(store, i == 0 ? "a" : i == 1 ? "b" : "c", "", ATOLL_LLM_OK, "x", 0);
        assert_int_equal(atoll_store_sync(store, &err), 0);
    }
    atoll_store_close(store);
    size_t length, last = 0;
    unsigned char *bytes = scratch_read(path, &length);
    for (size_t cut = 0; cut <= length; cut++) {
        scratch_write(path, bytes, cut);
        struct atoll_store *reader = must_open(ATOLL_STORE_READ);
        size_t count = atoll_store_count(reader), after;
        assert_true(count >= last && count <= last + 1);
        last = count;
        atoll_store_close(reader);
        store = must_open(ATOLL_STORE_WRITE);
        assert_int_equal(atoll_store_count(store), count);
        must_append(store, "new", "", ATOLL_LLM_OK, "y", 0);
        assert_int_equal(atoll_store_sync(store, &err), 0);
        atoll_store_close(store);
        reader = must_open(ATOLL_STORE_READ);
        after = atoll_store_count(reader);
        assert_int_equal(after, count + 1);
        expect_found(reader, "new", "", "y");
        atoll_store_close(reader);
    }
    assert_int_equal(last, 3);
    free(bytes);
}

static void damage_is_told_with_its_place(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_store *store = must_open(ATOLL_STORE_WRITE);
    size_t ends[3];
    for (int i = 0; i < 3; i++) {
        size_t length;
        must_append(store, i == 0 ? "a" : i == 1 ? "b" : "c", "", ATOLL_LLM_OK, "x", 0);
        assert_int_equal(atoll_store_sync(store, &err), 0);
        free(scratch_read(path, &length));
        ends[i] = length;
    }
    atoll_store_close(store);
    size_t length;
    unsigned char *bytes = scratch_read(path, &length);
    for (int mode = 0; mode < 2; mode++)
        for (size_t at = ends[0]; at < ends[1]; at++) {
            char place[32];
            bytes[at] ^= 1;
            scratch_write(path, bytes, length);
            bytes[at] ^= 1;
            assert_null(atoll_store_open_through(path, mode ? ATOLL_STORE_WRITE : ATOLL_STORE_READ,
                                                 calm_ops(), &err));
            assert_int_equal(err.code, ATOLL_E_CORRUPT);
            snprintf(place, sizeof place, "offset %zu", ends[0]);
            assert_non_null(strstr(err.text, place));
            assert_non_null(strstr(err.text, "restore"));
        }
    for (size_t at = ends[1]; at < ends[2]; at++) { /* the last one: nothing says that it was durable */
        bytes[at] ^= 1;
        scratch_write(path, bytes, length);
        bytes[at] ^= 1;
        store = must_open(ATOLL_STORE_READ);
        assert_int_equal(atoll_store_count(store), 2);
        atoll_store_close(store);
    }
    free(bytes);
}

static void every_call_fails_once(void **state)
{
    for (int failure = FAILS_SHORT; failure < FAILURE_COUNT; failure++) {
        int is_beyond = 0;
        long step = 0;
        for (; !is_beyond; step++) {
            struct failing_disk disk;
            struct atoll_err err = ATOLL_ERR_INIT;
            int kept = 0;
            struct atoll_store *store = atoll_store_open_through(
                path, ATOLL_STORE_WRITE, failing_init(&disk, (enum failure)failure, step), &err);
            if (store) {
                must_append(store, "a", "", ATOLL_LLM_OK, "x", 0);
                kept = atoll_store_sync(store, &err) == 0;
                expect_found(store, "a", "", "x"); /* also when it could not be synced */
                if (!kept && failure != FAILS_DEAD)
                    assert_int_equal(atoll_store_sync(store, &err), 0);
                kept |= failure != FAILS_DEAD;
                must_append(store, "b", "", ATOLL_LLM_OK, "y", 0);
                if (atoll_store_sync(store, &err) == 0)
                    kept = 2;
            }
            is_beyond = disk.calls <= step;
            atoll_store_close(store);
            store = must_open(ATOLL_STORE_WRITE);
            assert_true(atoll_store_count(store) >= (size_t)kept);
            if (kept)
                expect_found(store, "a", "", "x");
            atoll_store_close(store);
            tear_down(state);
            set_up(state);
        }
        assert_true(step > 5);
    }
}

/* What a provider wrote into its reply is no record, however much it looks like one. */
static void a_reply_cannot_pose_as_a_record(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_buffer fake, payload;
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    atoll_buffer_init(&fake, 1000);
    atoll_buffer_init(&payload, 1000);
    atoll_buffer_put_u64(&payload, 1 << 20); /* "more was durable" */
    atoll_buffer_put_u64(&payload, 42);
    assert_int_equal(atoll_frame_encode(&fake, 161, payload.data, payload.length, &err), 0);
    struct atoll_store *store = must_open(ATOLL_STORE_WRITE);
    ask(&request, "a", "");
    atoll_llm_outcome_init(&outcome);
    atoll_buffer_put_bytes(&outcome.raw, fake.data, fake.length);
    atoll_buffer_put_bytes(&outcome.raw, fake.data, fake.length);
    assert_int_equal(atoll_store_append(store, &request, &outcome, 0, &err), 0);
    assert_int_equal(atoll_store_sync(store, &err), 0);
    atoll_store_close(store);
    size_t length;
    unsigned char *bytes = scratch_read(path, &length);
    for (size_t cut = length - 4; cut > length - 60; cut--) { /* torn behind the fake */
        scratch_write(path, bytes, cut);
        store = must_open(ATOLL_STORE_WRITE);
        assert_int_equal(atoll_store_count(store), 0);
        atoll_store_close(store);
    }
    free(bytes);
    atoll_llm_outcome_fini(&outcome);
    atoll_buffer_fini(&fake);
    atoll_buffer_fini(&payload);
}

static void what_is_too_large_is_refused_whole(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    struct atoll_store *store = must_open(ATOLL_STORE_WRITE);
    ask(&request, "large", "");
    atoll_llm_outcome_init(&outcome);
    atoll_buffer_fini(&outcome.raw);
    atoll_buffer_init(&outcome.raw, (size_t)128 << 20);
    void *zeros = calloc(1, (size_t)65 << 20);
    assert_non_null(zeros);
    atoll_buffer_put_bytes(&outcome.raw, zeros, (size_t)65 << 20);
    free(zeros);
    assert_int_equal(outcome.raw.failed, 0);
    assert_int_equal(atoll_store_append(store, &request, &outcome, 1, &err), -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_int_equal(atoll_store_count(store), 0);
    assert_false(atoll_store_is_dirty(store));
    fill(store);
    check_contents(store);
    atoll_llm_outcome_fini(&outcome);
    atoll_store_close(store);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_is_kept_is_found),
        CASE(a_long_key_and_many_exchanges),
        CASE(opening_says_what_is_wrong),
        CASE(a_file_of_another_kind_is_refused),
        CASE(a_store_torn_at_any_byte_is_cut),
        CASE(damage_is_told_with_its_place),
        CASE(every_call_fails_once),
        CASE(a_reply_cannot_pose_as_a_record),
        CASE(what_is_too_large_is_refused_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

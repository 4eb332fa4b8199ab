/* exchange_store.c - exchanges as rows: what is looked up and what people ask for in columns of their own, the whole outcome
 * with the raw reply as one blob. */
#include "llm-gateway/budget/exchange_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/frame.h"
#include "llm-gateway/budget/database.h"

#define KEPT_BYTES   ((size_t)1 << 20) /* a buffer keeps no more between exchanges */
#define PREFIX_BYTES 16
#define ARENA_BYTES  ((size_t)256 << 20)

enum { RECORD_HEADER = 160, RECORD_EXCHANGE };

struct atoll_store {
    struct atoll_database *database;
    int is_own; /* the database is closed with it */
    sqlite3_stmt *put, *by_key, *by_request;
    struct atoll_buffer request, outcome;
};

struct atoll_store *atoll_store_of(struct atoll_database *database, struct atoll_err *err)
{
    static const char find[] =
        "SELECT outcome FROM exchanges WHERE %s AND is_final ORDER BY number DESC LIMIT 1";
    struct atoll_store *store = calloc(1, sizeof(*store));
    if (!store) {
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory for its exchanges", atoll_database_path(database));
        return NULL;
    }
    char by_key[160], by_request[160];
    snprintf(by_key, sizeof(by_key), find, "key = ?1 AND key <> ''");
    snprintf(by_request, sizeof(by_request), find, "request_id = ?1");
    store->database = database;
    atoll_buffer_init(&store->request, ATOLL_EXCHANGE_BYTES);
    atoll_buffer_init(&store->outcome, ATOLL_EXCHANGE_BYTES);
    store->put = atoll_database_prepare(
        database,
        "INSERT OR REPLACE INTO exchanges(request_id, key, status, is_final, reservation, model, "
        "campaign, task, unix_ns, "
        "input_tokens, output_tokens, cost_usd, request, text, outcome) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        err);
    store->by_key = atoll_database_prepare(database, by_key, err);
    store->by_request = atoll_database_prepare(database, by_request, err);
    if (store->put && store->by_key && store->by_request)
        return store;
    atoll_store_close(store);
    return NULL;
}

struct atoll_store *atoll_store_open(const char *path, enum atoll_store_mode mode, struct atoll_err *err)
{
    const struct atoll_database_settings settings = {
        .path = path, .mode = mode == ATOLL_STORE_READ ? ATOLL_DATABASE_READ : ATOLL_DATABASE_RECORD};
    struct atoll_database *database = atoll_database_open(&settings, err);
    struct atoll_store *store = database ? atoll_store_of(database, err) : NULL;
    if (store && (mode == ATOLL_STORE_READ || atoll_database_begin(database, err) == 0)) {
        store->is_own = 1;
        return store;
    }
    atoll_store_close(store);
    atoll_database_close(database);
    return NULL;
}

int atoll_store_finish(struct atoll_store *store, struct atoll_err *err)
{
    return atoll_database_commit(store->database, err);
}

void atoll_store_close(struct atoll_store *store)
{
    if (!store)
        return;
    sqlite3_finalize(store->put);
    sqlite3_finalize(store->by_key);
    sqlite3_finalize(store->by_request);
    atoll_buffer_fini(&store->request);
    atoll_buffer_fini(&store->outcome);
    if (store->is_own) {
        atoll_database_rollback(store->database);
        atoll_database_close(store->database);
    }
    free(store);
}

/* Borrowed until the statement is reset, which is before the buffers change. */
static void bind(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text ? text : "", -1, SQLITE_STATIC);
}

static void empty(struct atoll_buffer *buffer)
{
    if (buffer->capacity > KEPT_BYTES)
        atoll_buffer_fini(buffer);
    atoll_buffer_clear(buffer);
}

int atoll_store_put(struct atoll_store *store, const struct atoll_llm_request *request,
                    const struct atoll_llm_outcome *outcome, uint64_t reservation, struct atoll_err *err)
{
    const struct atoll_id id = atoll_llm_request_id(request);
    sqlite3_stmt *put = store->put;
    atoll_buffer_clear(&store->request);
    atoll_buffer_clear(&store->outcome);
    atoll_llm_outcome_encode(outcome, &store->outcome);
    int result = atoll_llm_request_encode(request, &store->request, err);
    if (result == 0)
        result = atoll_buffer_check(&store->outcome, err);
    if (result == 0 && store->request.length + store->outcome.length > ATOLL_EXCHANGE_BYTES) {
        result =
            atoll_err_set(err, ATOLL_E_LIMIT, "an exchange of %zu bytes is more than the %zu that are kept",
                          store->request.length + store->outcome.length, ATOLL_EXCHANGE_BYTES);
    }
    if (result == 0) {
        sqlite3_bind_blob(put, 1, id.bytes, sizeof(id.bytes), SQLITE_STATIC);
        bind(put, 2, request->key);
        bind(put, 3, atoll_llm_status_name(outcome->status));
        sqlite3_bind_int(put, 4, atoll_llm_status_is_final(outcome->status));
        sqlite3_bind_int64(put, 5, (sqlite3_int64)reservation);
        bind(put, 6, outcome->name);
        bind(put, 7, request->campaign);
        bind(put, 8, request->task);
        sqlite3_bind_int64(put, 9, outcome->started_unix_ns);
        sqlite3_bind_int64(put, 10, (sqlite3_int64)outcome->usage.input);
        sqlite3_bind_int64(put, 11, (sqlite3_int64)outcome->usage.output);
        sqlite3_bind_double(put, 12, outcome->cost_usd);
        sqlite3_bind_text64(put, 13, (const char *)store->request.data, store->request.length, SQLITE_STATIC,
                            SQLITE_UTF8);
        sqlite3_bind_text64(put, 14, outcome->text.data ? (const char *)outcome->text.data : "",
                            outcome->text.length, SQLITE_STATIC, SQLITE_UTF8);
        sqlite3_bind_blob64(put, 15, store->outcome.data, store->outcome.length, SQLITE_STATIC);
        result = atoll_database_step(store->database, put, err);
    }
    empty(&store->request);
    empty(&store->outcome);
    return result ? atoll_err_add(err, "while an exchange was kept") : 0;
}

static int read_row(struct atoll_store *store, sqlite3_stmt *find, struct atoll_llm_outcome *ret_outcome,
                    struct atoll_err *err)
{
    int got = atoll_database_step(store->database, find, err);
    if (got == 1) {
        const void *bytes = sqlite3_column_blob(find, 0);
        if (atoll_llm_outcome_decode(bytes, (size_t)sqlite3_column_bytes(find, 0), ret_outcome, err))
            got = -1;
    }
    sqlite3_reset(find);
    sqlite3_clear_bindings(find);
    return got;
}

int atoll_store_find(struct atoll_store *store, const struct atoll_llm_request *request,
                     struct atoll_llm_outcome *ret_outcome, struct atoll_err *err)
{
    int got = 0;
    if (request->key && *request->key) {
        bind(store->by_key, 1, request->key);
        got = read_row(store, store->by_key, ret_outcome, err);
    }
    if (got == 0) {
        const struct atoll_id id = atoll_llm_request_id(request);
        sqlite3_bind_blob(store->by_request, 1, id.bytes, sizeof(id.bytes), SQLITE_STATIC);
        got = read_row(store, store->by_request, ret_outcome, err);
    }
    if (got == 1)
        ret_outcome->is_from_store = 1;
    return got;
}

long atoll_store_count(struct atoll_store *store, struct atoll_err *err)
{
    sqlite3_stmt *count = atoll_database_prepare(store->database, "SELECT count(*) FROM exchanges", err);
    int got = count ? atoll_database_step(store->database, count, err) : -1;
    long result = got == 1 ? (long)sqlite3_column_int64(count, 0) : -1;
    sqlite3_finalize(count);
    return result;
}

/* ---- recordings of earlier versions: a file of frames (base/frame.h).  Every payload begins with 16 bytes of the file's own; a header record (160:
 * u32 schema) comes first, then one record for each exchange (161: u64 reservation, id of the request, u32 status, blob key, blob
 * request as JSON, blob outcome). ---- */

static int add_exchange(struct atoll_store *store, const struct atoll_frame *frame, const char *from,
                        struct atoll_err *err)
{
    struct atoll_llm_request request;
    struct atoll_llm_outcome outcome;
    struct atoll_reader in;
    struct atoll_id id, own;
    size_t key_length, request_length, outcome_length;
    struct atoll_arena *arena = atoll_arena_create(ARENA_BYTES, err);
    if (!arena)
        return -1;
    atoll_llm_outcome_init(&outcome);
    atoll_reader_init(&in, frame->payload + PREFIX_BYTES, frame->length - PREFIX_BYTES);
    atoll_reader_u64(&in); /* its reservation, of a ledger that is not converted */
    atoll_reader_bytes(&in, id.bytes, sizeof(id.bytes));
    atoll_reader_u32(&in); /* the outcome says it, too */
    atoll_reader_blob(&in, &key_length);
    const void *request_bytes = atoll_reader_blob(&in, &request_length);
    const void *outcome_bytes = atoll_reader_blob(&in, &outcome_length);
    int result = atoll_reader_finish(&in, from, err);
    if (result == 0)
        result = atoll_llm_request_decode(request_bytes, request_length, arena, &request, err);
    if (result == 0)
        result = atoll_llm_outcome_decode(outcome_bytes, outcome_length, &outcome, err);
    if (result == 0) {
        own = atoll_llm_request_id(&request);
        result =
            atoll_id_equal(&own, &id)
                ? atoll_store_put(store, &request, &outcome, 0, err)
                : atoll_err_set(err, ATOLL_E_CORRUPT, "%s: an exchange whose request has another id", from);
    }
    atoll_llm_outcome_fini(&outcome);
    atoll_arena_destroy(arena);
    return result;
}

static int add_all(struct atoll_store *store, const unsigned char *bytes, size_t length, const char *from,
                   size_t *ret_count, size_t *ret_left_bytes, struct atoll_err *err)
{
    struct atoll_frame frame;
    size_t at = 0, used, count = 0;
    while (at < length && atoll_frame_decode(bytes + at, length - at, &frame, &used, NULL) == 1 &&
           frame.length >= PREFIX_BYTES) {
        if (at == 0 && frame.type != RECORD_HEADER)
            break;
        if (at > 0 && frame.type != RECORD_EXCHANGE) {
            return atoll_err_set(err, ATOLL_E_SCHEMA,
                                 "%s: at %zu: a record of type %u, which no version wrote", from, at,
                                 frame.type);
        }
        if (at > 0 && add_exchange(store, &frame, from, err))
            return atoll_err_add(err, "at %zu of %s", at, from);
        count += at > 0;
        at += used;
    }
    if (at == 0) {
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: is no exchanges.atl of an earlier version; name one",
                             from);
    }
    *ret_count = count;
    *ret_left_bytes = length - at;
    return 0;
}

int atoll_old_exchanges_convert(const char *from, const char *to, size_t *ret_count, size_t *ret_left_bytes,
                                struct atoll_err *err)
{
    struct stat st;
    int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st)) {
        int system = errno;
        if (fd >= 0)
            close(fd);
        return atoll_err_errno(err, system, "%s: cannot be read", from);
    }
    void *bytes = st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (bytes == MAP_FAILED)
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: is empty or cannot be read as a file", from);
    struct atoll_store *store = atoll_store_open(to, ATOLL_STORE_RECORD, err);
    int result = store ? add_all(store, bytes, (size_t)st.st_size, from, ret_count, ret_left_bytes, err) : -1;
    if (result == 0)
        result = atoll_store_finish(store, err);
    atoll_store_close(store);
    munmap(bytes, (size_t)st.st_size);
    return result;
}

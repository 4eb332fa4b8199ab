/* store.c - exchanges as records of a file of frames.
 * A record's head (reservation, request, status, key) stands before its texts, so that a walk over all of them reads little.
 * What is appended is in the index at once and read back from memory until it is written; a failed write keeps it there. */
#include "llm-gateway/budget/store.h"

#include <stdlib.h>
#include <string.h>

#include "llm-gateway/budget/frame_file.h"
#include "llm-gateway/budget/store_index.h"

#define STORE_SCHEMA 1
#define HEAD_BYTES   (8 + ATOLL_ID_BYTES + 4 + 4) /* reservation, request, status, length of the key */
#define KEPT_BYTES   ((size_t)1 << 20)
#define READ_TRIES   3 /* of a reader that saw damage where a writer may just be writing */

enum { RECORD_HEADER = 160, RECORD_EXCHANGE };

struct atoll_store {
    struct atoll_frame_file *file;
    struct atoll_store_index index;
    struct atoll_buffer record, bytes; /* being built; being read */
    struct atoll_buffer *key;          /* of the last at(); beside the store, which at() does not change */
    int is_writer, has_header;
};

struct head {
    uint64_t reservation;
    struct atoll_id request;
    enum atoll_llm_status status;
    const char *key; /* not NUL-ended */
    size_t key_length;
};

/* The 64 bits a key is looked up by; never 0. */
static uint64_t hash_of_key(const char *key, size_t length)
{
    struct atoll_id id = atoll_id_of(key, length);
    uint64_t hash = atoll_id_u64(&id);
    return length == 0 ? 0 : hash ? hash : 1;
}

/* What asking again would only repeat. */
static int is_final(enum atoll_llm_status status)
{
    return atoll_llm_status_is_answer(status) || status == ATOLL_LLM_REFUSED || status == ATOLL_LLM_EMPTY;
}

static void take_head(struct atoll_reader *in, struct head *ret_head)
{
    ret_head->reservation = atoll_reader_u64(in);
    atoll_reader_bytes(in, ret_head->request.bytes, sizeof ret_head->request.bytes);
    ret_head->status = (enum atoll_llm_status)atoll_reader_u32_in(in, 0, ATOLL_LLM_STATUS_COUNT - 1);
    ret_head->key = atoll_reader_blob(in, &ret_head->key_length);
}

static int index_exchange(struct atoll_store *store, uint64_t offset, const struct head *head,
                          struct atoll_err *err)
{
    struct atoll_store_place place = {
        .offset = offset,
        .reservation = head->reservation,
        .request_hash = atoll_id_u64(&head->request),
        .key_hash = hash_of_key(head->key, head->key_length),
    };
    return atoll_store_index_add(&store->index, &place, is_final(head->status), err);
}

static int read_header(struct atoll_store *store, struct atoll_reader *in, struct atoll_err *err)
{
    uint32_t schema = atoll_reader_u32(in);
    if (!in->failed && schema > STORE_SCHEMA)
        return atoll_err_set(err, ATOLL_E_SCHEMA, "%s: schema %lu is newer than %d: use a newer Atoll",
                             atoll_frame_file_path(store->file), (unsigned long)schema, STORE_SCHEMA);
    store->has_header = 1;
    return in->failed ? atoll_err_set(err, ATOLL_E_CORRUPT, "%s: its header is too short",
                                      atoll_frame_file_path(store->file))
                      : 0;
}

static int on_record(void *context, uint64_t offset, const struct atoll_frame *record, struct atoll_err *err)
{
    struct atoll_store *store = context;
    const char *path = atoll_frame_file_path(store->file);
    struct atoll_reader in;
    struct head head;
    atoll_reader_init(&in, record->payload, record->length);
    if (!store->has_header)
        return record->type == RECORD_HEADER
                   ? read_header(store, &in, err)
                   : atoll_err_set(err, ATOLL_E_INPUT, "%s: is not a store of exchanges; name another file",
                                   path);
    if (record->type != RECORD_EXCHANGE)
        return atoll_err_set(err, ATOLL_E_SCHEMA,
                             "%s: at offset %llu: a record of type %u: use a newer Atoll", path,
                             (unsigned long long)offset, record->type);
    take_head(&in, &head);
    if (in.failed)
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: at offset %llu: an exchange without its head", path,
                             (unsigned long long)offset);
    return index_exchange(store, offset, &head, err);
}

static int begin(struct atoll_store *store, struct atoll_err *err)
{
    atoll_buffer_clear(&store->record);
    atoll_buffer_put_u32(&store->record, STORE_SCHEMA);
    if (atoll_frame_file_append(store->file, RECORD_HEADER, &store->record, NULL, err) != 0)
        return -1;
    store->has_header = 1;
    return atoll_frame_file_sync(store->file, err);
}

static int open_writer(struct atoll_store *store, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_frame_file_lock(store->file, 0, &why) != 0)
        return why.code == ATOLL_E_BUSY
                   ? atoll_err_set(err, ATOLL_E_BUSY,
                                   "%s: another gateway writes to this store; stop it, or name another file",
                                   atoll_frame_file_path(store->file))
                   : atoll_err_set(err, why.code, "%s", why.text);
    if (atoll_frame_file_scan(store->file, 0, on_record, store, err) != 0 ||
        atoll_frame_file_cut(store->file, err) != 0)
        return -1;
    return store->has_header ? 0 : begin(store, err);
}

/* A writer may be at work: what looked like damage may be whole when it is looked at again. */
static int open_reader(struct atoll_store *store, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    for (int i = 0; i < READ_TRIES; i++) {
        uint64_t before = atoll_frame_file_end(store->file);
        atoll_err_clear(&why);
        if (atoll_frame_file_scan(store->file, 0, on_record, store, &why) == 0)
            return 0;
        if (why.code != ATOLL_E_CORRUPT || (i > 0 && atoll_frame_file_end(store->file) == before))
            break;
    }
    return atoll_err_set(err, why.code, "%s", why.text);
}

struct atoll_store *atoll_store_open_through(const char *path, enum atoll_store_mode mode,
                                             const struct atoll_frame_file_ops *ops, struct atoll_err *err)
{
    struct atoll_store *store = calloc(1, sizeof *store);
    struct atoll_buffer *key = calloc(1, sizeof *key);
    if (!store || !key) {
        free(store);
        free(key);
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to open the store", path);
        return NULL;
    }
    store->key = key;
    atoll_buffer_init(key, ATOLL_FRAME_PAYLOAD_LIMIT);
    store->is_writer = mode == ATOLL_STORE_WRITE;
    atoll_buffer_init(&store->record, ATOLL_FRAME_PAYLOAD_LIMIT - ATOLL_FRAME_FILE_PREFIX_BYTES);
    atoll_buffer_init(&store->bytes, (size_t)ATOLL_FRAME_PAYLOAD_LIMIT + ATOLL_FRAME_HEADER_BYTES);
    store->file = atoll_frame_file_open(
        path, store->is_writer ? ATOLL_FRAME_FILE_WRITE : ATOLL_FRAME_FILE_READ, ops, err);
    if (store->file && (store->is_writer ? open_writer(store, err) : open_reader(store, err)) == 0)
        return store;
    atoll_store_close(store);
    return NULL;
}

struct atoll_store *atoll_store_open(const char *path, enum atoll_store_mode mode, struct atoll_err *err)
{
    return atoll_store_open_through(path, mode, NULL, err);
}

void atoll_store_close(struct atoll_store *store)
{
    if (!store)
        return;
    atoll_frame_file_close(store->file);
    atoll_store_index_fini(&store->index);
    atoll_buffer_fini(&store->record);
    atoll_buffer_fini(&store->bytes);
    if (store->key)
        atoll_buffer_fini(store->key);
    free(store->key);
    free(store);
}

/* A blob whose length is known only behind it: put, then written over. */
static size_t begin_blob(struct atoll_buffer *out)
{
    atoll_buffer_put_u32(out, 0);
    return out->length;
}

static void end_blob(struct atoll_buffer *out, size_t start)
{
    size_t length = out->length - start;
    for (size_t i = 0; !out->failed && i < 4; i++)
        out->data[start - 4 + i] = (unsigned char)(length >> 8 * i);
}

static int put_exchange(struct atoll_buffer *out, const struct head *head,
                        const struct atoll_llm_request *request, const struct atoll_llm_outcome *outcome,
                        struct atoll_err *err)
{
    atoll_buffer_clear(out);
    atoll_buffer_put_u64(out, head->reservation);
    atoll_buffer_put_bytes(out, head->request.bytes, sizeof head->request.bytes);
    atoll_buffer_put_u32(out, (uint32_t)head->status);
    atoll_buffer_put_blob(out, head->key, head->key_length);
    size_t start = begin_blob(out);
    if (atoll_llm_request_encode(request, out, err) != 0)
        return -1;
    end_blob(out, start);
    start = begin_blob(out);
    atoll_llm_outcome_encode(outcome, out);
    end_blob(out, start);
    return atoll_buffer_check(out, err);
}

int atoll_store_append(struct atoll_store *store, const struct atoll_llm_request *request,
                       const struct atoll_llm_outcome *outcome, uint64_t reservation, struct atoll_err *err)
{
    const char *key = request->key ? request->key : "";
    struct head head = {.reservation = reservation,
                        .request = atoll_llm_request_id(request),
                        .status = outcome->status,
                        .key = key,
                        .key_length = strlen(key)};
    uint64_t offset;
    if (!store->is_writer)
        return atoll_err_set(err, ATOLL_E_USAGE, "%s: is open for reading only",
                             atoll_frame_file_path(store->file));
    if (put_exchange(&store->record, &head, request, outcome, err) != 0 ||
        atoll_frame_file_append(store->file, RECORD_EXCHANGE, &store->record, &offset, err) != 0)
        return atoll_err_add(err, "while an exchange was kept");
    if (store->record.capacity > KEPT_BYTES)
        atoll_buffer_fini(&store->record);
    if (index_exchange(store, offset, &head, err) == 0)
        return 0;
    atoll_frame_file_take_back(store->file, offset);
    return -1;
}

int atoll_store_sync(struct atoll_store *store, struct atoll_err *err)
{
    return atoll_frame_file_sync(store->file, err);
}

int atoll_store_write(struct atoll_store *store, struct atoll_err *err)
{
    return atoll_frame_file_write(store->file, err);
}

int atoll_store_sync_begin(struct atoll_store *store, struct atoll_syncer *syncer, struct atoll_err *err)
{
    return atoll_frame_file_sync_begin(store->file, syncer, err);
}

int atoll_store_sync_end(struct atoll_store *store)
{
    return atoll_frame_file_sync_end(store->file) != ATOLL_SYNC_RUNS;
}

int atoll_store_is_synced(const struct atoll_store *store)
{
    return atoll_frame_file_is_synced(store->file);
}

int atoll_store_is_dirty(const struct atoll_store *store)
{
    return atoll_frame_file_is_dirty(store->file);
}

/* The record at a place, into store->bytes: its head, and a reader that stands behind it. */
static int read_place(struct atoll_store *store, size_t index, struct head *ret_head,
                      struct atoll_reader *ret_in, struct atoll_err *err)
{
    struct atoll_frame record;
    if (atoll_frame_file_read(store->file, store->index.places[index].offset, &store->bytes, &record, err) !=
        0)
        return -1;
    atoll_reader_init(ret_in, record.payload, record.length);
    take_head(ret_in, ret_head);
    if (!ret_in->failed)
        return 0;
    return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: at offset %llu: an exchange without its head",
                         atoll_frame_file_path(store->file),
                         (unsigned long long)store->index.places[index].offset);
}

static int take_outcome(struct atoll_store *store, struct atoll_reader *in,
                        struct atoll_llm_outcome *ret_outcome, struct atoll_err *err)
{
    size_t length;
    const void *bytes = atoll_reader_blob(in, &length);
    if (atoll_reader_finish(in, atoll_frame_file_path(store->file), err) != 0)
        return -1;
    return atoll_llm_outcome_decode(bytes, length, ret_outcome, err);
}

static void give_back_memory(struct atoll_store *store)
{
    if (store->bytes.capacity > KEPT_BYTES)
        atoll_buffer_fini(&store->bytes);
}

/* 1: the exchange at index is that of key (where there is one) or of request; its outcome is filled. */
static int look_at(struct atoll_store *store, long index, const char *key, const struct atoll_id *request,
                   struct atoll_llm_outcome *ret_outcome, struct atoll_err *err)
{
    struct atoll_reader in;
    struct head head;
    size_t length;
    if (index < 0)
        return 0;
    int rc = read_place(store, (size_t)index, &head, &in, err);
    if (rc == 0) {
        int is_it = key ? head.key_length == strlen(key) && memcmp(head.key, key, head.key_length) == 0
                        : atoll_id_equal(&head.request, request);
        atoll_reader_blob(&in, &length); /* the request's text */
        rc = !is_it ? 0 : take_outcome(store, &in, ret_outcome, err) == 0 ? 1 : -1;
    }
    give_back_memory(store);
    return rc;
}

int atoll_store_find(struct atoll_store *store, const struct atoll_llm_request *request,
                     struct atoll_llm_outcome *ret_outcome, struct atoll_err *err)
{
    int rc = 0;
    if (request->key && *request->key)
        rc = look_at(store,
                     atoll_store_index_by_key(&store->index, hash_of_key(request->key, strlen(request->key))),
                     request->key, NULL, ret_outcome, err);
    if (rc == 0) {
        struct atoll_id id = atoll_llm_request_id(request);
        rc = look_at(store, atoll_store_index_by_request(&store->index, atoll_id_u64(&id)), NULL, &id,
                     ret_outcome, err);
    }
    if (rc == 1)
        ret_outcome->is_from_store = 1;
    return rc;
}

size_t atoll_store_count(const struct atoll_store *store)
{
    return store->index.count;
}

/* Reads the head alone: HEAD_BYTES, and a key that is usually among the first bytes behind. */
static int peek_head(const struct atoll_store *store, uint64_t offset, struct atoll_store_entry *entry)
{
    unsigned char first[HEAD_BYTES + 128];
    struct atoll_reader in;
    size_t have;
    if (atoll_frame_file_peek(store->file, offset, first, sizeof first, &have, NULL) != 0)
        return -1;
    atoll_reader_init(&in, first, have);
    atoll_reader_u64(&in);
    atoll_reader_bytes(&in, entry->request.bytes, sizeof entry->request.bytes);
    atoll_reader_u32(&in);
    size_t length = atoll_reader_u32(&in);
    atoll_buffer_clear(store->key);
    if (in.failed)
        return -1;
    if (length <= have - HEAD_BYTES)
        atoll_buffer_put_bytes(store->key, first + HEAD_BYTES, length);
    else if (length < ATOLL_FRAME_PAYLOAD_LIMIT) {
        unsigned char *all = malloc(HEAD_BYTES + length);
        if (all && atoll_frame_file_peek(store->file, offset, all, HEAD_BYTES + length, &have, NULL) == 0 &&
            have == HEAD_BYTES + length)
            atoll_buffer_put_bytes(store->key, all + HEAD_BYTES, length);
        free(all);
    }
    atoll_buffer_put_u8(store->key, 0);
    return store->key->failed ? -1 : 0;
}

void atoll_store_at(const struct atoll_store *store, size_t index, struct atoll_store_entry *ret_entry)
{
    const struct atoll_store_place *place = &store->index.places[index];
    *ret_entry =
        (struct atoll_store_entry){.offset = place->offset, .reservation = place->reservation, .key = ""};
    if (peek_head(store, place->offset, ret_entry) == 0)
        ret_entry->key = (const char *)store->key->data;
    else
        memset(&ret_entry->request, 0, sizeof ret_entry->request);
}

int atoll_store_read(struct atoll_store *store, size_t index, struct atoll_buffer *ret_request,
                     struct atoll_llm_outcome *ret_outcome, struct atoll_err *err)
{
    struct atoll_reader in;
    struct head head;
    size_t length;
    if (read_place(store, index, &head, &in, err) != 0)
        return -1;
    const void *request = atoll_reader_blob(&in, &length);
    int rc = take_outcome(store, &in, ret_outcome, err);
    if (rc == 0) {
        atoll_buffer_clear(ret_request);
        atoll_buffer_put_bytes(ret_request, request, length);
        rc = atoll_buffer_check(ret_request, err);
    }
    give_back_memory(store);
    return rc;
}

int atoll_store_find_reservation(const struct atoll_store *store, uint64_t reservation, size_t *ret_index)
{
    long index = reservation ? atoll_store_index_by_reservation(&store->index, reservation) : -1;
    if (index < 0)
        return 0;
    *ret_index = (size_t)index;
    return 1;
}

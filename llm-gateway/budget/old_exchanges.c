/* old_exchanges.c - a file of frames (base/frame.h).  Every payload begins with 16 bytes of the file's own; a header record (160:
 * u32 schema) comes first, then one record for each exchange (161: u64 reservation, id of the request, u32 status, blob key, blob
 * request as JSON, blob outcome). */
#include "llm-gateway/budget/old_exchanges.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/frame.h"
#include "llm-gateway/budget/exchange_store.h"

#define PREFIX_BYTES 16
#define ARENA_BYTES  ((size_t)256 << 20)

enum { RECORD_HEADER = 160, RECORD_EXCHANGE };

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
    int fd = open(from, O_RDONLY | O_CLOEXEC);
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

/* Files of a spool: what a script, a person or another program may put under the names of requests and replies; and the names
 * themselves.  The first byte says which. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "llm-gateway/provider/provider.h"
#include "llm-gateway/spool/spool_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_request(const uint8_t *data, size_t size)
{
    struct atoll_arena *arena = atoll_arena_create((size_t)4 << 20, NULL);
    struct atoll_llm_request request, again;
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, (size_t)16 << 20);
    if (arena && atoll_llm_request_decode(data, size, arena, &request, NULL) == 0) {
        char name[ATOLL_SPOOL_NAME_BYTES];
        atoll_spool_name_of(&request, name);
        if (!atoll_spool_name_is_valid(name))
            abort();
        /* What it is written as is read as the same question. */
        if (atoll_llm_request_encode(&request, &bytes, NULL) == 0) {
            struct atoll_id id = atoll_llm_request_id(&request), other;
            if (atoll_llm_request_decode(bytes.data, bytes.length, arena, &again, NULL) != 0)
                abort();
            other = atoll_llm_request_id(&again);
            if (!atoll_id_equal(&id, &other))
                abort();
        }
    }
    atoll_buffer_fini(&bytes);
    atoll_arena_destroy(arena);
}

static void read_reply(const uint8_t *data, size_t size)
{
    struct atoll_llm_outcome outcome;
    struct atoll_buffer bytes;
    atoll_llm_outcome_init(&outcome);
    atoll_buffer_init(&bytes, (size_t)64 << 20);
    if (atoll_reply_parse_file(data, size, &outcome, NULL) == 0 &&
        atoll_llm_outcome_json(&outcome, &bytes, NULL) != 0)
        abort(); /* what was read can be said */
    atoll_buffer_fini(&bytes);
    atoll_llm_outcome_fini(&outcome);
}

static void read_name(const uint8_t *data, size_t size)
{
    char file[300], name[ATOLL_SPOOL_NAME_BYTES], path[PATH_MAX];
    enum atoll_spool_kind kind;
    size_t length = size < sizeof(file) ? size : sizeof(file) - 1;
    memcpy(file, data, length);
    file[length] = '\0';
    if (!atoll_spool_name_parse(file, name, &kind))
        return;
    if (!atoll_spool_name_is_valid(name) || atoll_spool_name_folder(name) >= SPOOL_FOLDER_COUNT)
        abort();
    atoll_spool_path("", name, kind, path);
    if (strcmp(path + 4, file) != 0 || strncmp(path + 1, name, 2) != 0) /* "/ab/" */
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *, size_t) = {read_request, read_reply, read_name};
    if (size > 0)
        readers[data[0] % 3](data + 1, size - 1);
    return 0;
}

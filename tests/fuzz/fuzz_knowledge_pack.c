/* fuzz_knowledge_pack.c - any bytes as frozen knowledge: a pack whose own frozen form reads back as the same bytes, and whose list of
 * languages can be read or is refused. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/knowledge/pack.h"
#include "evolution/prompt/prompt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_read_back(const struct atoll_knowledge_pack *pack)
{
    struct atoll_buffer first, second;
    atoll_buffer_init(&first, ATOLL_KNOWLEDGE_JSON_BYTES);
    atoll_buffer_init(&second, ATOLL_KNOWLEDGE_JSON_BYTES);
    if (atoll_knowledge_pack_to_json(pack, &first, NULL) != 0)
        abort();
    struct atoll_knowledge_pack *back =
        atoll_knowledge_pack_from_json("back", first.data, first.length, NULL);
    if (!back || back->count != pack->count || back->bytes != pack->bytes ||
        atoll_knowledge_pack_to_json(back, &second, NULL) != 0 || second.length != first.length ||
        memcmp(first.data, second.data, first.length) != 0)
        abort();
    atoll_knowledge_pack_destroy(back);
    atoll_buffer_fini(&first);
    atoll_buffer_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_from_json("fuzzed", data, size, &err);
    if (!pack && (!err.code || !*err.text))
        abort();
    for (uint32_t i = 0; pack && i < pack->count; i++) {
        const char *path = pack->files[i].path;
        if (strstr(path, "..") == path || *path == '/' ||
            (i > 0 && strcmp(pack->files[i - 1].path, path) >= 0) ||
            strlen(pack->files[i].text) != pack->files[i].length)
            abort();
    }
    if (pack) {
        must_read_back(pack);
        (void)atoll_prompt_texts_check(pack, NULL);
    }
    atoll_knowledge_pack_destroy(pack);
    return 0;
}

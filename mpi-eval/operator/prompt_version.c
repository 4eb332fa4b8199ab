#include "mpi-eval/operator/prompt_version.h"

#include <stdio.h>
#include <string.h>

#include "core/knowledge/region.h"

#define CHAIN_LIMIT 1024u /* edits of edits; each is an answer of a model that was paid for */

static int apply(const char *text, const struct atoll_reply_item *items, uint32_t count, uint8_t *fits,
                 struct atoll_arena *arena, const char **ret_text, struct atoll_err *err)
{
    struct atoll_buffer out;
    atoll_buffer_init(&out, strlen(text) + (size_t)ATOLL_REGION_COUNT * ATOLL_REGION_LIMIT + 1);
    int rc = atoll_regions_apply(text, items, count, &out, fits, err) < 0 ? -1 : 0;
    if (rc == 0 && ret_text) {
        *ret_text = atoll_arena_text(arena, (const char *)out.data, out.length - 1, err);
        rc = *ret_text ? 0 : -1;
    }
    atoll_buffer_fini(&out);
    return rc;
}

int atoll_prompt_version_text(const struct atoll_knowledge_pack *pack, const struct atoll_ask_history *asks,
                              const char *language, uint32_t version, struct atoll_arena *arena,
                              const char **ret_text, struct atoll_err *err)
{
    const struct atoll_ask_record *chain[CHAIN_LIMIT];
    char path[64];
    uint32_t count = 0;
    snprintf(path, sizeof(path), "prompts/%.32s.md", language);
    const struct atoll_knowledge_file *file = atoll_knowledge_pack_find(pack, path);
    const char *text = file && !atoll_regions_check(file->text, NULL) ? file->text : NULL;
    for (uint32_t at = version; text && at;) {
        const struct atoll_ask_record *record = atoll_ask_history_find(asks, at);
        if (!record || record->ask.kind != ATOLL_ASK_META || !record->is_answered ||
            record->ask.prompt >= at || count == CHAIN_LIMIT)
            return atoll_err_set(err, ATOLL_E_INTERNAL, "no answer that made version %u of a prompt is known",
                                 at);
        chain[count++] = record;
        at = record->ask.prompt;
    }
    while (count--)
        if (apply(text, chain[count]->items, chain[count]->item_count, NULL, arena, &text, err) != 0)
            return -1;
    *ret_text = text;
    return 0;
}

int atoll_prompt_version_judge(const struct atoll_knowledge_pack *pack, const struct atoll_ask_history *asks,
                               const char *language, const struct atoll_ask *ask, struct atoll_arena *arena,
                               struct atoll_reply *reply, struct atoll_err *err)
{
    uint8_t fits[ATOLL_REPLY_ITEM_LIMIT] = {0};
    uint32_t kept = 0;
    const char *text;
    if (atoll_prompt_version_text(pack, asks, language, ask->prompt, arena, &text, err) != 0 ||
        (text && apply(text, reply->items, reply->item_count, fits, arena, NULL, err) != 0))
        return -1;
    for (uint32_t i = 0; i < reply->item_count; i++)
        if (fits[i])
            reply->items[kept++] = reply->items[i];
    reply->item_count = kept;
    if (!kept)
        reply->status = ATOLL_REPLY_EMPTY;
    return 0;
}

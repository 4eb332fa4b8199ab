#include "core/knowledge/entry_reader.h"

#include <string.h>

#include "base/array.h"

int atoll_knowledge_reading_failed(struct atoll_knowledge_reading *r, const struct atoll_err *problem,
                                   struct atoll_err *err)
{
    if (r->problem && problem->code != ATOLL_E_MEMORY && problem->code != ATOLL_E_LIMIT) {
        r->problem(r->context, problem);
        return 0;
    }
    return atoll_err_set(err, problem->code, "%s", problem->text);
}

int atoll_knowledge_reading_add(struct atoll_knowledge_reading *r, const struct atoll_knowledge_entry *entry,
                                struct atoll_err *err)
{
    struct atoll_knowledge_base *base = r->base;
    for (size_t i = 0; i < base->count; i++) {
        struct atoll_knowledge_entry *other = &base->entries[i];
        if (strcmp(other->id, entry->id) != 0)
            continue;
        if (entry->replaces == other->replaces)
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "%s:%u: id '%s' is that of %s:%u as well; rename one, or write 'replaces: "
                                 "true' into the one that shall take the other's place",
                                 entry->path, entry->line, entry->id, other->path, other->line);
        if (entry->replaces)
            *other = *entry;
        return 0;
    }
    if (base->count == ATOLL_KNOWLEDGE_ENTRY_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s:%u: more than %d entries of knowledge; leave some out",
                             entry->path, entry->line, ATOLL_KNOWLEDGE_ENTRY_LIMIT);
    if (atoll_array_reserve(&base->entries, &r->capacity, (uint32_t)base->count + 1, sizeof(*base->entries),
                            err) != 0) {
        return -1;
    }
    base->entries[base->count++] = *entry;
    return 0;
}

static const char *const *one_word(struct atoll_arena *arena, const char *word, struct atoll_err *err)
{
    const char **list = atoll_arena_alloc_array(arena, 2, sizeof(*list), err);
    if (list)
        list[0] = word;
    return list;
}

int atoll_knowledge_reading_device(struct atoll_knowledge_reading *r, const char *name, size_t length,
                                   struct atoll_knowledge_entry *entry, struct atoll_err *err)
{
    char word[64] = "";
    const struct atoll_knowledge_index *index = &r->base->index;
    if (length < sizeof(word))
        memcpy(word, name, length);
    const struct atoll_knowledge_device *device = atoll_knowledge_device_find(index, word),
                                        *feature = atoll_knowledge_feature_find(index, word);
    if (!device && !feature)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "%s:1: folder '%.*s' is called like no device and no feature of "
                             "index.yaml; rename it, or add a row there",
                             r->file->path, (int)length, name);
    if (feature && !(entry->features = one_word(r->base->arena, feature->name, err)))
        return -1;
    entry->devices = one_word(r->base->arena, device ? device->name : feature->device, err);
    return entry->devices ? 0 : -1;
}

/* Which file of a pack is read how. */
#include "core/knowledge/knowledge_base.h"

#include <stdlib.h>
#include <string.h>

#include "core/knowledge/entry_reader.h"

#define ARENA_BYTES ((size_t)128 << 20)
#define COUNT(a)    (sizeof(a) / sizeof(*(a)))

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static const struct {
    const char *folder, *ending;
    int (*read)(struct atoll_knowledge_reading *reading, struct atoll_err *err);
} kinds[] = {
    {"constraints/", ".yaml", atoll_knowledge_read_constraints},
    {"patterns/", ".yaml", atoll_knowledge_read_patterns},
    {"examples/", "/example.yaml", atoll_knowledge_read_example},
    {"hardware/", ".md", atoll_knowledge_read_passages},
};

static int read_file(struct atoll_knowledge_reading *r, size_t kind, struct atoll_err *err)
{
    struct atoll_err mine = ATOLL_ERR_INIT;
    if (strncmp(r->file->path, kinds[kind].folder, strlen(kinds[kind].folder)) != 0 ||
        !ends_with(r->file->path, kinds[kind].ending) || kinds[kind].read(r, &mine) == 0) {
        return 0;
    }
    return atoll_knowledge_reading_failed(r, &mine, err);
}

/* index.yaml comes first, then what sites lay beside it: index-*.yaml. */
static int is_index(const char *path, int is_first)
{
    return is_first ? strcmp(path, "index.yaml") == 0
                    : strncmp(path, "index-", 6) == 0 && ends_with(path, ".yaml") && !strchr(path, '/');
}

static int read_index(struct atoll_knowledge_reading *r, const struct atoll_knowledge_file *file,
                      struct atoll_err *err)
{
    struct atoll_err mine = ATOLL_ERR_INIT;
    if (atoll_knowledge_index_parse(file->path, file->text, file->length, r->base->arena, &r->base->index,
                                    &mine) == 0)
        return 0;
    return atoll_knowledge_reading_failed(r, &mine, err);
}

static int read_pack(struct atoll_knowledge_reading *r, struct atoll_err *err)
{
    for (int is_first = 1; is_first >= 0; is_first--)
        for (uint32_t i = 0; i < r->pack->count; i++)
            if (is_index(r->pack->files[i].path, is_first) && read_index(r, &r->pack->files[i], err) != 0)
                return -1;
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (uint32_t i = 0; i < r->pack->count; i++) {
            r->file = &r->pack->files[i];
            if (read_file(r, kind, err) != 0)
                return -1;
        }
    return 0;
}

struct atoll_knowledge_base *atoll_knowledge_base_parse(const struct atoll_knowledge_pack *pack,
                                                        atoll_knowledge_problem *problem, void *context,
                                                        struct atoll_err *err)
{
    struct atoll_knowledge_base *base = calloc(1, sizeof(*base));
    struct atoll_knowledge_reading reading = {
        .pack = pack, .base = base, .problem = problem, .context = context};
    if (!base) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for entries of knowledge");
        return NULL;
    }
    base->arena = atoll_arena_create(ARENA_BYTES, err);
    if (base->arena && read_pack(&reading, err) == 0)
        return base;
    atoll_knowledge_base_destroy(base);
    return NULL;
}

void atoll_knowledge_base_destroy(struct atoll_knowledge_base *base)
{
    if (!base)
        return;
    free(base->entries);
    atoll_arena_destroy(base->arena);
    free(base);
}

const struct atoll_knowledge_entry *atoll_knowledge_base_find(const struct atoll_knowledge_base *base,
                                                              const char *id)
{
    for (size_t i = 0; i < base->count; i++)
        if (strcmp(base->entries[i].id, id) == 0)
            return &base->entries[i];
    return NULL;
}

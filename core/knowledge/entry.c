/* entry.c - which file of a pack is read how, and what holds between entries: an id is there once. */
#include "core/knowledge/entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "core/knowledge/entry_reader.h"

#define ARENA_BYTES ((size_t)128 << 20)
#define COUNT(a)    (sizeof(a) / sizeof(*(a)))

/* ---- names ---- */

static const char *name_of(const char *const *names, size_t count, unsigned index)
{
    return index < count ? names[index] : "unknown";
}

const char *atoll_knowledge_kind_name(enum atoll_knowledge_kind kind)
{
    static const char *const names[] = {"constraint", "pattern", "example", "hardware", "hint", "kernel"};
    return name_of(names, COUNT(names), kind);
}

const char *atoll_knowledge_severity_name(enum atoll_knowledge_severity severity)
{
    static const char *const names[] = {"critical", "warning", "info"};
    return name_of(names, COUNT(names), severity);
}

const char *atoll_knowledge_failure_name(enum atoll_knowledge_failure failure)
{
    static const char *const names[] = {"compile", "rules", "plan", "result"};
    return name_of(names, COUNT(names), failure);
}

int atoll_knowledge_has(const char *const *list, const char *word)
{
    for (size_t i = 0; list && list[i]; i++)
        if (strcmp(list[i], word) == 0)
            return 1;
    return list == NULL;
}

int atoll_knowledge_is_proven(const struct atoll_knowledge_entry *example)
{
    unsigned seen = 0;
    for (size_t i = 0; i < example->measured_count; i++) {
        const struct atoll_knowledge_measurement *m = &example->measured[i];
        if (!(m->rival_us >= ATOLL_KNOWLEDGE_PROVEN_SHARE * m->time_us))
            return 0;
        seen |= m->is_held_out ? 2u : 1u;
    }
    return seen == 3u;
}

/* ---- what is read ---- */

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

/* ---- files ---- */

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
    for (uint32_t i = 0; i < 2 * r->pack->count; i++) {
        const struct atoll_knowledge_file *file = &r->pack->files[i % r->pack->count];
        if (is_index(file->path, i < r->pack->count) && read_index(r, file, err) != 0)
            return -1;
    }
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

#include "evolution/prompt/prompt_language.h"

#include <stdio.h>
#include <string.h>

#include "base/spelling.h"
#include "base/yaml.h"
#include "core/experience/hint.h"

#define LIST      "prompts"
#define ROW_LIMIT 1024u
#define EVERY_GPU "cuda" /* as core/experience/hint.h has it */

struct reading {
    const struct atoll_knowledge_pack *pack;
    struct atoll_prompt_languages *languages;
};

static int read_file(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct reading *reading = walk->owner;
    const char *path = atoll_yaml_scalar(node);
    const struct atoll_knowledge_file *file = path ? atoll_knowledge_pack_find(reading->pack, path) : NULL;
    if (!file)
        return atoll_yaml_fail(walk, node, "there is no text '%.200s' in the folder of knowledge",
                               path ? path : "");
    *(const struct atoll_knowledge_file **)target = file;
    return 0;
}

static int read_device(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_prompt_language_row *row = target;
    return atoll_yaml_read_text(walk, node, &row->devices[row->device_count]) == 0 ? (row->device_count++, 0)
                                                                                   : -1;
}

static int read_devices(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_PROMPT_LANGUAGE_DEVICE_LIMIT, "devices", read_device, target);
}

static const struct atoll_yaml_row keys[] = {
    {"language", ATOLL_YAML_REQUIRED, atoll_yaml_read_text,
     offsetof(struct atoll_prompt_language_row, language)},
    {"text", ATOLL_YAML_OPTIONAL, read_file, offsetof(struct atoll_prompt_language_row, text)},
    {"example", ATOLL_YAML_OPTIONAL, read_file, offsetof(struct atoll_prompt_language_row, example)},
    {"devices", ATOLL_YAML_OPTIONAL, read_devices, 0},
};
static const struct atoll_yaml_section section = {keys, sizeof(keys) / sizeof(*keys)};

static int read_row(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct reading *reading = walk->owner;
    struct atoll_prompt_languages *l = reading->languages;
    struct atoll_prompt_language_row row = {0};
    (void)target;
    if (atoll_yaml_map(walk, &section, node, &row) != 0)
        return -1;
    if (!row.text == !row.example)
        return atoll_yaml_fail(walk, node,
                               "one of text and example is wanted here: what is told, or a kernel "
                               "that is shown");
    if (l->count == ROW_LIMIT)
        return atoll_yaml_fail(walk, node, "more than %u texts of languages; put some of them together",
                               ROW_LIMIT);
    l->rows[l->count++] = row;
    return 0;
}

static int read_index(const struct atoll_knowledge_file *file, struct reading *reading,
                      struct atoll_arena *arena, struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_parse(file->path, file->text, file->length, err);
    struct atoll_yaml_walk walk = {yaml, arena, reading, err};
    const struct atoll_yaml_node *list = yaml ? atoll_yaml_find(atoll_yaml_root(yaml), LIST) : NULL;
    int rc = !yaml ? -1 : list ? atoll_yaml_list(&walk, list, ROW_LIMIT, LIST, read_row, NULL) : 0;
    atoll_yaml_destroy(yaml);
    return rc;
}

static int is_index(const char *path)
{
    size_t length = strlen(path);
    return strncmp(path, "index-", 6) == 0 && !strchr(path, '/') && length > 11 &&
           strcmp(path + length - 5, ".yaml") == 0;
}

int atoll_prompt_languages_read(const struct atoll_knowledge_pack *pack, struct atoll_arena *arena,
                                struct atoll_prompt_languages *ret_languages, struct atoll_err *err)
{
    const struct atoll_knowledge_file *first = atoll_knowledge_pack_find(pack, "index.yaml");
    struct atoll_prompt_languages languages = {
        .rows = atoll_arena_alloc_array(arena, ROW_LIMIT, sizeof(*languages.rows), err)};
    struct reading reading = {pack, &languages};
    int rc = !languages.rows ? -1 : first ? read_index(first, &reading, arena, err) : 0;
    for (uint32_t i = 0; rc == 0 && i < pack->count; i++)
        if (is_index(pack->files[i].path) && &pack->files[i] != first)
            rc = read_index(&pack->files[i], &reading, arena, err);
    if (rc == 0)
        *ret_languages = languages;
    return rc;
}

int atoll_prompt_languages_check_devices(const struct atoll_prompt_languages *languages,
                                         const struct atoll_knowledge_index *index, struct atoll_err *err)
{
    const char *names[ATOLL_KNOWLEDGE_DEVICE_LIMIT];
    for (size_t i = 0; i < index->device_count; i++)
        names[i] = index->devices[i].name;
    for (uint32_t i = 0; i < languages->count; i++) {
        const struct atoll_prompt_language_row *row = &languages->rows[i];
        for (uint32_t d = 0; d < row->device_count; d++) {
            char hint[ATOLL_SPELLING_HINT_BYTES];
            if (strcmp(row->devices[d], EVERY_GPU) == 0 ||
                atoll_knowledge_device_find(index, row->devices[d]))
                continue;
            atoll_spelling_hint(row->devices[d], names, index->device_count,
                                "atoll knowledge list names them", hint);
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "%s, list " LIST " of index.yaml: there is no family of devices '%.60s'; %s",
                                 row->text ? row->text->path : row->example->path, row->devices[d], hint);
        }
    }
    return 0;
}

int atoll_prompt_language_holds(const struct atoll_prompt_language_row *row, const char *language,
                                const char *family)
{
    uint32_t i = 0;
    if (strcmp(row->language, language) != 0)
        return 0;
    while (i < row->device_count && !atoll_device_family_holds(row->devices[i], family))
        i++;
    return row->device_count == 0 || (*family && i < row->device_count);
}

/* Whether an earlier row names this one's language. */
static int is_again(const struct atoll_prompt_languages *languages, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(languages->rows[k].language, languages->rows[i].language) == 0)
            return 1;
    return 0;
}

int atoll_prompt_languages_check(const struct atoll_prompt_languages *languages, const char *language,
                                 struct atoll_err *err)
{
    char known[256] = "none";
    size_t length = 0;
    for (uint32_t i = 0; i < languages->count; i++) {
        if (strcmp(languages->rows[i].language, language) == 0)
            return 0;
        if (length < sizeof(known) && !is_again(languages, i)) {
            int more = snprintf(known + length, sizeof(known) - length, "%s%s", length ? ", " : "",
                                languages->rows[i].language);
            length += more > 0 ? (size_t)more : 0;
        }
    }
    return atoll_err_set(err, ATOLL_E_INPUT,
                         "no prompt texts for language '%.32s'; the list " LIST
                         " of knowledge/index.yaml has "
                         "texts for %s",
                         language, known);
}

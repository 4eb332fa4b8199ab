#include "core/knowledge/index.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define DEVICE(m) offsetof(struct atoll_knowledge_device, m)
#define FAMILY(m) offsetof(struct atoll_knowledge_family, m)
#define COUNT(a)  (sizeof(a) / sizeof(*(a)))

static const char *const languages[ATOLL_KNOWLEDGE_LANGUAGES] = {"c", "cuda", "triton", "opencl"};

const char *atoll_knowledge_language(size_t index)
{
    return index < COUNT(languages) ? languages[index] : NULL;
}

/* ---- readers ---- */

int atoll_knowledge_read_line(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text)
        return atoll_yaml_fail(walk, node, "a text is expected here");
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    if (length == 0)
        return atoll_yaml_fail(walk, node, "a text of blanks; write what is meant or take the key out");
    char *copy = atoll_arena_text(walk->arena, text, length, walk->err);
    if (!copy)
        return -1;
    for (char *c = copy; *c; c++) {
        if (*c == '\n')
            *c = ' ';
        if (*c < 0x20 || *c > 0x7e)
            return atoll_yaml_fail(walk, node, "a character in '%.40s' that is not plain ASCII; replace it",
                                   copy);
    }
    *(const char **)target = copy;
    return 0;
}

struct words {
    const char **words;
    size_t count;
};

static int read_word(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct words *list = target;
    return atoll_knowledge_read_line(walk, node, &list->words[list->count++]);
}

int atoll_knowledge_read_words(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    size_t count = atoll_yaml_scalar(node) ? 1 : atoll_yaml_count(node);
    if (count == 0 || count > ATOLL_KNOWLEDGE_WORD_LIMIT)
        return atoll_yaml_fail(walk, node,
                               "one word or a list of 1 to %d is expected here; without any, "
                               "take the key out",
                               ATOLL_KNOWLEDGE_WORD_LIMIT);
    struct words list = {atoll_arena_alloc_array(walk->arena, count + 1, sizeof(*list.words), walk->err), 0};
    if (!list.words)
        return -1;
    int failed = atoll_yaml_scalar(node)
                     ? read_word(walk, node, &list)
                     : atoll_yaml_list(walk, node, ATOLL_KNOWLEDGE_WORD_LIMIT, "words", read_word, &list);
    if (failed)
        return -1;
    *(const char *const **)target = list.words;
    return 0;
}

static int read_name(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    size_t length = text ? strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") : 0;
    if (!text || text[length] || length > 40)
        return atoll_yaml_fail(walk, node, "a name of at most 40 of a-z 0-9 - _ is expected here");
    return atoll_knowledge_read_line(walk, node, target);
}

/* Flags of compilers reach a command line: those alone that choose a machine or a dialect. */
static int read_compile_flags(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const char *const allowed[] = {"-m", "--target=", "-std=", "-cl-std=", "-ffreestanding", "sm_"};
    if (atoll_knowledge_read_line(walk, node, target))
        return -1;
    for (const char *at = *(const char **)target; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " "), i = 0;
        while (i < COUNT(allowed) && strncmp(at, allowed[i], strlen(allowed[i])) != 0)
            i++;
        if (i == COUNT(allowed))
            return atoll_yaml_fail(
                walk, node,
                "'%.*s' is no flag that the check gives a compiler; there are sm_.., -m.., "
                "--target=.., -std=.., -cl-std=.. and -ffreestanding",
                (int)length, at);
        at += length;
    }
    return 0;
}

static const struct atoll_yaml_row compile_rows[] = {
    {"c", ATOLL_YAML_OPTIONAL, read_compile_flags, 0 * sizeof(char *)},
    {"cuda", ATOLL_YAML_OPTIONAL, read_compile_flags, 1 * sizeof(char *)},
    {"triton", ATOLL_YAML_OPTIONAL, read_compile_flags, 2 * sizeof(char *)},
    {"opencl", ATOLL_YAML_OPTIONAL, read_compile_flags, 3 * sizeof(char *)},
};
static const struct atoll_yaml_section compile_section = {compile_rows, COUNT(compile_rows)};

static int read_compile(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_map(walk, &compile_section, node, target);
}

/* ---- sections ---- */

static const struct atoll_knowledge_device *find(const struct atoll_knowledge_device *devices, size_t count,
                                                 const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(devices[i].name, name) == 0)
            return &devices[i];
    return NULL;
}

const struct atoll_knowledge_device *atoll_knowledge_device_find(const struct atoll_knowledge_index *index,
                                                                 const char *name)
{
    return find(index->devices, index->device_count, name);
}

const struct atoll_knowledge_device *atoll_knowledge_feature_find(const struct atoll_knowledge_index *index,
                                                                  const char *name)
{
    return find(index->features, index->feature_count, name);
}

static int add_device(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                      const struct atoll_yaml_section *section, struct atoll_knowledge_device *into,
                      size_t limit, size_t *count)
{
    struct atoll_knowledge_index *index = walk->owner;
    struct atoll_knowledge_device d = {0};
    if (atoll_yaml_map(walk, section, node, &d))
        return -1;
    if (atoll_knowledge_device_find(index, d.name) || atoll_knowledge_feature_find(index, d.name))
        return atoll_yaml_fail(walk, node, "'%s' stands here twice, as a device or a feature; remove one",
                               d.name);
    if (d.device && !atoll_knowledge_device_find(index, d.device))
        return atoll_yaml_fail(walk, node,
                               "feature '%s' is of device '%.40s', which is not among the devices above; "
                               "add that first",
                               d.name, d.device);
    if (*count == limit)
        return atoll_yaml_fail(walk, node, "more than %zu rows of this kind; take some out", limit);
    into[(*count)++] = d;
    return 0;
}

static const struct atoll_yaml_row device_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_name, DEVICE(name)},
    {"vendor", ATOLL_YAML_REQUIRED, read_name, DEVICE(vendor)},
    {"what", ATOLL_YAML_REQUIRED, atoll_knowledge_read_line, DEVICE(what)},
    {"compile", ATOLL_YAML_OPTIONAL, read_compile, DEVICE(compile)},
};
static const struct atoll_yaml_section device_section = {device_rows, COUNT(device_rows)};

static int read_device(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_knowledge_index *index = walk->owner;
    (void)target;
    return add_device(walk, node, &device_section, index->devices, ATOLL_KNOWLEDGE_DEVICE_LIMIT,
                      &index->device_count);
}

static int read_types(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    enum atoll_dtype type;
    if (atoll_knowledge_read_words(walk, node, target))
        return -1;
    for (const char *const *name = *(const char *const **)target; *name; name++)
        if (atoll_dtype_parse(*name, &type) != 0)
            return atoll_yaml_fail(walk, node, "there is no type '%.40s'; there are %s", *name,
                                   atoll_dtype_names());
    return 0;
}

static const struct atoll_yaml_row feature_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_name, DEVICE(name)},
    {"device", ATOLL_YAML_REQUIRED, read_name, DEVICE(device)},
    {"what", ATOLL_YAML_REQUIRED, atoll_knowledge_read_line, DEVICE(what)},
    {"types", ATOLL_YAML_OPTIONAL, read_types, DEVICE(types)},
    {"compile", ATOLL_YAML_OPTIONAL, read_compile, DEVICE(compile)},
};
static const struct atoll_yaml_section feature_section = {feature_rows, COUNT(feature_rows)};

static int read_feature(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_knowledge_index *index = walk->owner;
    (void)target;
    return add_device(walk, node, &feature_section, index->features, ATOLL_KNOWLEDGE_FEATURE_LIMIT,
                      &index->feature_count);
}

static const struct atoll_yaml_row family_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, read_name, FAMILY(name)},
    {"what", ATOLL_YAML_OPTIONAL, atoll_knowledge_read_line, FAMILY(what)},
    {"categories", ATOLL_YAML_OPTIONAL, atoll_knowledge_read_words, FAMILY(categories)},
    {"words", ATOLL_YAML_OPTIONAL, atoll_knowledge_read_words, FAMILY(words)},
};
static const struct atoll_yaml_section family_section = {family_rows, COUNT(family_rows)};

static int read_family(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_knowledge_index *index = walk->owner;
    struct atoll_knowledge_family f = {0};
    (void)target;
    if (atoll_yaml_map(walk, &family_section, node, &f))
        return -1;
    for (size_t i = 0; i < index->family_count; i++)
        if (strcmp(index->families[i].name, f.name) == 0)
            return atoll_yaml_fail(walk, node, "family '%s' stands here twice; remove one", f.name);
    if (!f.categories && !f.words)
        return atoll_yaml_fail(walk, node,
                               "family '%s' has neither categories nor words: no task is ever of it", f.name);
    if (index->family_count == ATOLL_KNOWLEDGE_FAMILY_LIMIT)
        return atoll_yaml_fail(walk, node, "more than %d families; take some out",
                               ATOLL_KNOWLEDGE_FAMILY_LIMIT);
    index->families[index->family_count++] = f;
    return 0;
}

static int read_devices(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    (void)target;
    return atoll_yaml_list(walk, node, ATOLL_KNOWLEDGE_DEVICE_LIMIT, "devices", read_device, NULL);
}

static int read_features(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    (void)target;
    return atoll_yaml_list(walk, node, ATOLL_KNOWLEDGE_FEATURE_LIMIT, "features", read_feature, NULL);
}

static int read_families(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    (void)target;
    return atoll_yaml_list(walk, node, ATOLL_KNOWLEDGE_FAMILY_LIMIT, "families", read_family, NULL);
}

/* Whose reader is elsewhere (docs/spec/knowledge.md). */
static int read_elsewhere(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    (void)walk, (void)node, (void)target;
    return 0;
}

static const struct atoll_yaml_row index_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"devices", ATOLL_YAML_OPTIONAL, read_devices, 0},
    {"features", ATOLL_YAML_OPTIONAL, read_features, 0},
    {"families", ATOLL_YAML_OPTIONAL, read_families, 0},
    {"prompts", ATOLL_YAML_OPTIONAL, read_elsewhere, 0},
};
static const struct atoll_yaml_section index_section = {index_rows, COUNT(index_rows)};

int atoll_knowledge_index_parse(const char *file, const char *text, size_t length, struct atoll_arena *arena,
                                struct atoll_knowledge_index *index, struct atoll_err *err)
{
    struct atoll_knowledge_index *more = atoll_arena_alloc(arena, sizeof(*more), err);
    struct atoll_yaml *yaml = more ? atoll_yaml_parse(file, text, length, err) : NULL;
    if (!yaml)
        return -1;
    *more = *index;
    struct atoll_yaml_walk walk = {.yaml = yaml, .arena = arena, .owner = more, .err = err};
    int rc = atoll_yaml_map(&walk, &index_section, atoll_yaml_root(yaml), NULL);
    atoll_yaml_destroy(yaml);
    if (rc == 0)
        *index = *more;
    return rc;
}

/* ---- families of a task ---- */

/* Whether a text has a word between characters that are no letters: digits and _ divide, so that "gemm" is in gemm_bf16. */
static int has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; *at; at++)
        if ((at == text || !isalpha((unsigned char)at[-1])) && strncasecmp(at, word, length) == 0 &&
            !isalpha((unsigned char)at[length])) {
            return 1;
        }
    return 0;
}

int atoll_knowledge_names_any(const char *text, const char *const *words)
{
    for (size_t i = 0; words && words[i]; i++)
        if (has_word(text, words[i]))
            return 1;
    return 0;
}

size_t atoll_knowledge_families_of(const struct atoll_knowledge_index *index, const char *category,
                                   const char *words, const char **ret_families, size_t limit)
{
    size_t count = 0;
    for (size_t i = 0; i < index->family_count && count < limit; i++) {
        const struct atoll_knowledge_family *f = &index->families[i];
        int is_of = 0;
        for (size_t k = 0; f->categories && f->categories[k]; k++)
            is_of |= strcmp(f->categories[k], category) == 0;
        if (is_of || atoll_knowledge_names_any(words, f->words))
            ret_families[count++] = f->name;
    }
    return count;
}

size_t atoll_knowledge_families(const struct atoll_knowledge_index *index, const struct atoll_task *task,
                                const char **ret_families, size_t limit)
{
    char words[1024];
    snprintf(words, sizeof(words), "%s %s", task->name, task->summary ? task->summary : "");
    return atoll_knowledge_families_of(index, task->category ? task->category : "", words, ret_families,
                                       limit);
}

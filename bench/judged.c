#include "bench/judged.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/random.h"
#include "base/yaml.h"

#define ARENA_BYTES  ((size_t)4 << 20)
#define SOURCE_BYTES ((size_t)1 << 18)
#define PATH_BYTES   1024

static const struct atoll_yaml_row pair_rows[] = {
    {"name", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, offsetof(struct atoll_judged_pair, name)},
    {"task", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, offsetof(struct atoll_judged_pair, task)},
    {"language", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, offsetof(struct atoll_judged_pair, language)},
    {"kind", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, offsetof(struct atoll_judged_pair, kind)},
    {"honest", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, offsetof(struct atoll_judged_pair, why[0])},
    {"cheat", ATOLL_YAML_REQUIRED, atoll_yaml_read_text, offsetof(struct atoll_judged_pair, why[1])},
};
static const struct atoll_yaml_section pair_section = {pair_rows, sizeof(pair_rows) / sizeof(*pair_rows)};

static int read_pair(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_judged *corpus = target;
    return atoll_yaml_map(walk, &pair_section, node, &corpus->pairs[corpus->count++]);
}

static int read_pairs(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return atoll_yaml_list(walk, node, ATOLL_JUDGED_LIMIT, "pairs", read_pair, target);
}

static const struct atoll_yaml_row file_rows[] = {
    {"version", ATOLL_YAML_REQUIRED, atoll_yaml_read_version1, 0},
    {"pairs", ATOLL_YAML_REQUIRED, read_pairs, 0},
};
static const struct atoll_yaml_section file_section = {file_rows, sizeof(file_rows) / sizeof(*file_rows)};

int atoll_judged_load(struct atoll_judged *corpus, const char *root, struct atoll_err *err)
{
    char path[PATH_BYTES];
    memset(corpus, 0, sizeof(*corpus));
    corpus->root = root;
    snprintf(path, sizeof(path), "%s/tests/fixtures/judge/corpus.yaml", root);
    corpus->arena = atoll_arena_create(ARENA_BYTES, err);
    struct atoll_yaml *yaml = corpus->arena ? atoll_yaml_load(path, err) : NULL;
    if (!yaml)
        return -1;
    struct atoll_yaml_walk walk = {.yaml = yaml, .arena = corpus->arena, .err = err};
    int rc = atoll_yaml_map(&walk, &file_section, atoll_yaml_root(yaml), corpus);
    atoll_yaml_destroy(yaml);
    return rc;
}

void atoll_judged_fini(struct atoll_judged *corpus)
{
    atoll_arena_destroy(corpus->arena);
    corpus->arena = NULL;
}

char *atoll_judged_source(const struct atoll_judged *corpus, const struct atoll_judged_item *item,
                          struct atoll_err *err)
{
    char path[PATH_BYTES];
    const char *language = item->pair->language;
    snprintf(path, sizeof(path), "%s/tests/fixtures/judge/%s/%s.%s", corpus->root, item->pair->name,
             item->is_cheat ? "cheat" : "honest",
             strcmp(language, "cuda") == 0     ? "cu"
             : strcmp(language, "triton") == 0 ? "py"
                                               : "c");
    size_t length;
    return atoll_file_read(path, SOURCE_BYTES, &length, err);
}

void atoll_judged_shuffle(const struct atoll_judged *corpus, uint64_t seed,
                          struct atoll_judged_item *ret_items)
{
    struct atoll_random random = {seed, 0};
    for (size_t i = 0; i < 2 * corpus->count; i++)
        ret_items[i] = (struct atoll_judged_item){&corpus->pairs[i / 2], (int)(i % 2)};
    for (size_t i = 2 * corpus->count; i > 1; i--) {
        size_t k = (size_t)atoll_random_below(atoll_random_next(&random), i);
        struct atoll_judged_item last = ret_items[i - 1];
        ret_items[i - 1] = ret_items[k];
        ret_items[k] = last;
    }
}

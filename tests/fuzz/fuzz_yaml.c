/* fuzz_yaml.c - any bytes as a file of settings: a tree within its bounds or an error with file and line; every value goes
 * through every reader. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_item(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target);

static int read_any(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static atoll_yaml_reader *const readers[] = {
        atoll_yaml_read_text,  atoll_yaml_read_flag,  atoll_yaml_read_number,  atoll_yaml_read_positive,
        atoll_yaml_read_share, atoll_yaml_read_count, atoll_yaml_read_count64, atoll_yaml_read_duration,
    };
    union {
        uint64_t bits;
        const char *text;
    } value;
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
        readers[i](walk, node, &value);
    return atoll_yaml_list(walk, node, 1000, "things", read_item, NULL) && read_item(walk, node, NULL) && 0;
}

/* Maps below maps: bounded by the tree's own depth. */
static int read_item(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    static const struct atoll_yaml_row rows[] = {
        {"version", ATOLL_YAML_OPTIONAL, atoll_yaml_read_version1, 0},
        {"a", ATOLL_YAML_OPTIONAL, read_any, 0},
        {"b", ATOLL_YAML_REQUIRED, read_any, 0},
        {"secret", ATOLL_YAML_HIDDEN, read_any, 0}};
    static const struct atoll_yaml_section section = {rows, sizeof(rows) / sizeof(*rows)};
    return atoll_yaml_map(walk, &section, node, walk->owner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char target[64];
    struct atoll_yaml *yaml = atoll_yaml_parse("f", (const char *)data, size, &err);
    if (!yaml) {
        if (err.code != ATOLL_E_LIMIT && (err.code != ATOLL_E_INPUT || strncmp(err.text, "f:", 2) != 0))
            abort();
        return 0;
    }
    struct atoll_arena *arena = atoll_arena_create((size_t)16 << 20, NULL);
    struct atoll_yaml_walk walk = {yaml, arena, target, &err};
    if (arena)
        read_any(&walk, atoll_yaml_root(yaml), target);
    atoll_arena_destroy(arena);
    atoll_yaml_destroy(yaml);
    return 0;
}

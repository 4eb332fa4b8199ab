/* index.h - index.yaml of knowledge, and index-*.yaml beside it: the words that entries of knowledge are filed under (docs/spec/knowledge.md).  A new device, feature
 * of a device or family of operators is a new row there.
 * Layer: core, pure.  Plain values; texts are in the arena they were read into. */
#ifndef ATOLL_CORE_KNOWLEDGE_INDEX_H
#define ATOLL_CORE_KNOWLEDGE_INDEX_H

#include "base/yaml.h"
#include "core/task/task.h"

#define ATOLL_KNOWLEDGE_LANGUAGES     4 /* of candidates */
#define ATOLL_KNOWLEDGE_DEVICE_LIMIT  64
#define ATOLL_KNOWLEDGE_FEATURE_LIMIT 64
#define ATOLL_KNOWLEDGE_FAMILY_LIMIT  64
#define ATOLL_KNOWLEDGE_WORD_LIMIT    64 /* of one list */
#define ATOLL_KNOWLEDGE_ANY           "*"

/* "c", "cuda", "triton", "opencl"; NULL beyond. */
const char *atoll_knowledge_language(size_t index);

/* A family of devices, or a feature that some devices of a family have. */
struct atoll_knowledge_device {
    const char *name, *what;
    const char *vendor; /* of a family; NULL else */
    const char *device; /* of a feature: the family that may have it */
    /* Of a feature: types of elements that it computes with; NULL: it is for all.  End with NULL. */
    const char *const *types;
    /* By language: how the check compiles for it: a target ("sm_90a") or flags; NULL: it cannot. */
    const char *compile[ATOLL_KNOWLEDGE_LANGUAGES];
};

/* A family of operators: the tasks of one of the categories, and those that are called by one of the words. */
struct atoll_knowledge_family {
    const char *name, *what;
    const char *const *categories; /* end with NULL; NULL none */
    const char *const *words;
};

struct atoll_knowledge_index {
    struct atoll_knowledge_device devices[ATOLL_KNOWLEDGE_DEVICE_LIMIT];
    struct atoll_knowledge_device features[ATOLL_KNOWLEDGE_FEATURE_LIMIT];
    struct atoll_knowledge_family families[ATOLL_KNOWLEDGE_FAMILY_LIMIT];
    size_t device_count, feature_count, family_count;
};

/* Adds the rows of one file, "index.yaml" or another index*.yaml of an overlay, to an index that is zeroed at first.  arena: of what
 * is read.  Errors: INPUT ("index.yaml:line: ..."), LIMIT, MEMORY. */
int atoll_knowledge_index_parse(const char *file, const char *text, size_t length, struct atoll_arena *arena,
                                struct atoll_knowledge_index *index, struct atoll_err *err);

/* NULL: there is none. */
const struct atoll_knowledge_device *atoll_knowledge_device_find(const struct atoll_knowledge_index *index,
                                                                 const char *name);
const struct atoll_knowledge_device *atoll_knowledge_feature_find(const struct atoll_knowledge_index *index,
                                                                  const char *name);

/* The families that a task is of, in the order of the index; at most limit.  Returns how many. */
size_t atoll_knowledge_families(const struct atoll_knowledge_index *index, const struct atoll_task *task,
                                const char **ret_families, size_t limit);
/* The same of a category and of words (a name, a summary); either may be "". */
size_t atoll_knowledge_families_of(const struct atoll_knowledge_index *index, const char *category,
                                   const char *words, const char **ret_families, size_t limit);

/* Whether one of some words, which end with NULL, stands in a text; letters alone belong to a word, so that "gemm" stands in
 * "gemm_bf16"; case does not matter.  words: NULL is none. */
int atoll_knowledge_names_any(const char *text, const char *const *words);

/* ---- what files of knowledge are read with ---- */

/* const char *: one line of printable ASCII; ends of lines become blanks. */
int atoll_knowledge_read_line(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target);
/* const char *const *: one word or a list of them, not empty; ends with NULL. */
int atoll_knowledge_read_words(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                               void *target);

#endif

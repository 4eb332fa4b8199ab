/* task_document.h - walks the document tree of a task.yaml: maps by tables of keys, lists, failures that
 * name file and line.  libyaml is used through its document tree alone.
 * Layer: core, private to task_*.c.  Lifetime: a document lives on the stack of one atoll_task_build. */
#ifndef ATOLL_CORE_TASK_TASK_DOCUMENT_H
#define ATOLL_CORE_TASK_TASK_DOCUMENT_H

#include <yaml.h>

#include "core/task/task_build.h"

struct atoll_task_document {
    struct atoll_task_owner *owner;
    struct atoll_task *task;   /* of the owner */
    struct atoll_arena *arena; /* of the owner */
    yaml_document_t yaml;
    const struct atoll_task_store *store;
    /* where checks between keys point to */
    const yaml_node_t *variant_nodes[ATOLL_TASK_VARIANT_LIMIT], *tensor_nodes[ATOLL_TASK_TENSOR_LIMIT];
    const yaml_node_t *work_node, *reference_node, *distribution_node;
    struct atoll_err *err;
};

/* Reads one value into target; 0, or -1 with the err of the document. */
typedef int atoll_document_reader(struct atoll_task_document *d, const yaml_node_t *node, void *target);

/* A key that may stand in a map, and who reads it. */
struct atoll_document_row {
    const char *key;
    int required;
    atoll_document_reader *read;
    size_t offset; /* of what is read inside the map's target */
};

struct atoll_document_section {
    /* At most 64; read in this order, so that what later keys refer to is known. */
    const struct atoll_document_row *rows;
    size_t row_count;
};

/* ATOLL_E_INPUT "file:line: text"; always -1. */
int atoll_document_fail(struct atoll_task_document *d, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Passes an error of another part on under the node's place; what: "" or a word before it. */
int atoll_document_pass(struct atoll_task_document *d, const yaml_node_t *node, const struct atoll_err *inner,
                        const char *what);
const yaml_node_t *atoll_document_node(struct atoll_task_document *d, int index);
/* Text of a scalar, borrowed; NULL when the node is none, is empty or holds a NUL. */
const char *atoll_document_scalar(const yaml_node_t *node);
/* A copy in the arena. */
int atoll_document_copy(struct atoll_task_document *d, const char *text, const char **ret);
/* Text of a file of the task, remembered for encode; path must live as long as the arena.  NULL and err. */
const char *atoll_document_take(struct atoll_task_document *d, const yaml_node_t *node, const char *path,
                                size_t limit);
/* Reads a map's keys; unknown, double and missing ones are failures. */
int atoll_document_map(struct atoll_task_document *d, const struct atoll_document_section *section,
                       const yaml_node_t *map, void *target);
/* Value of a key of a map that atoll_document_map has read; NULL when it is not there. */
const yaml_node_t *atoll_document_find(struct atoll_task_document *d, const yaml_node_t *map,
                                       const char *key);
/* Calls item for every element of a list of at most limit. */
int atoll_document_list(struct atoll_task_document *d, const yaml_node_t *list, size_t limit,
                        const char *what, atoll_document_reader *item, void *target);

#endif

/* task_parse.h - a task while it is read: texts in, checked struct out.  The folder and the bytes share it, so that a task
 * from the wire passes the same checks as one from a disk.
 * Layer: core, private to task_*.c. */
#ifndef ATOLL_CORE_TASK_TASK_PARSE_H
#define ATOLL_CORE_TASK_TASK_PARSE_H

#include "base/yaml.h"
#include "core/task/task.h"

#define ATOLL_DIM_MAX    ((int64_t)1 << 40)
#define ATOLL_NAME_LIMIT 31

/* A file of the task's folder that the struct was made from. */
struct atoll_task_text {
    const char *path; /* relative: "reference.c", "seeds/naive.c" */
    const char *text;
};

struct atoll_task_owner {
    struct atoll_task task; /* first: destroy gets its address */
    struct atoll_arena *arena;
    const char *yaml; /* text of task.yaml */
    int is_draft;     /* its tolerance may be missing */
    size_t text_count;
    struct atoll_task_text texts[ATOLL_TASK_TEXT_LIMIT];
};

/* Where the texts of a task come from. */
struct atoll_task_store {
    /* Text of a relative path, in the arena; NULL and err (without file and line) when there is none. */
    const char *(*read)(void *context, struct atoll_arena *arena, const char *path, size_t limit,
                        struct atoll_err *err);
    void *context;
    size_t seed_count;
    const char *const *seeds; /* paths of all files of seeds/, in name order */
};

/* Lives on the stack of one atoll_task_parse. */
struct atoll_task_parse {
    struct atoll_yaml_walk walk; /* its owner is this */
    struct atoll_task_owner *owner;
    struct atoll_task *task; /* of the owner */
    const struct atoll_task_store *store;
    /* where checks between keys point to */
    const struct atoll_yaml_node *tensor_nodes[ATOLL_TASK_TENSOR_LIMIT];
    const struct atoll_yaml_node *work_node, *reference_node, *distribution_node;
};

/* ---- between task_*.c ---- */

struct atoll_task_parse *atoll_task_parse_of(const struct atoll_yaml_walk *w);
struct atoll_task *atoll_task_of(const struct atoll_yaml_walk *w);
/* An error of another part under the node's place. */
int atoll_task_pass(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node,
                    const struct atoll_err *inner);
/* A copy in the arena. */
int atoll_task_copy(struct atoll_yaml_walk *w, const char *text, const char **ret);
/* 0, or -1 when text is not a decimal integer of 64 bits. */
int atoll_task_parse_integer(const char *text, int64_t *ret);
int atoll_task_is_dim(const struct atoll_task *task, const char *name);
/* Readers of values: an expression over dims, an identifier, the same with hyphens. */
atoll_yaml_reader atoll_task_read_expression, atoll_task_read_name, atoll_task_read_word;
/* Readers of keys. */
atoll_yaml_reader atoll_task_read_dims, atoll_task_read_tensors, atoll_task_read_reference,
    atoll_task_read_baselines;
int atoll_task_add_rival(struct atoll_yaml_walk *w, const struct atoll_yaml_node *node, const char *name,
                         const char *expression, enum atoll_torch_mode mode);
/* After everything is read: the rivals of a torch reference that names none. */
int atoll_task_settle_rivals(struct atoll_task_parse *parse, const struct atoll_yaml_node *root);
/* Every file of seeds/ that is not yet a baseline; task.yaml has no line for one, so errors name none. */
int atoll_task_add_seeds(struct atoll_yaml_walk *w);

/* Parses yaml (in the owner's arena) and everything it names; file is for messages. */
int atoll_task_parse(struct atoll_task_owner *owner, const char *file, const char *yaml,
                     const struct atoll_task_store *store, struct atoll_err *err);
/* After everything is read: what must hold between the keys.  root: where failures point to that belong to no single key. */
int atoll_task_check(struct atoll_task_parse *parse, const struct atoll_yaml_node *root);

#endif

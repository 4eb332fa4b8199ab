/* task_build.h - the inside of a task: texts in, checked struct out.  Shared by the folder loader and the
 * decoder, so that a task from the wire passes the same checks as one from a disk.
 * Layer: core, private to task*.c. */
#ifndef ATOLL_CORE_TASK_TASK_BUILD_H
#define ATOLL_CORE_TASK_TASK_BUILD_H

#include "core/task/task.h"

#define ATOLL_TASK_PATH_LIMIT 255

/* A file of the task's folder that the struct was made from. */
struct atoll_task_text {
    const char *path; /* relative: "reference.c", "seeds/naive.c" */
    const char *text;
};

struct atoll_task_owner {
    struct atoll_task task; /* first: destroy gets its address */
    struct atoll_arena *arena;
    const char *yaml; /* text of task.yaml */
    size_t text_count;
    struct atoll_task_text texts[ATOLL_TASK_SEED_LIMIT + 1];
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

struct atoll_task_owner *atoll_task_owner_create(struct atoll_err *err);
/* Parses yaml (in the owner's arena) and everything it names; file is for messages. */
int atoll_task_build(struct atoll_task_owner *owner, const char *file, const char *yaml,
                     const struct atoll_task_store *store, struct atoll_err *err);
/* Whether a path may be named inside a task: relative, plain characters, no empty, "." or ".." part. */
int atoll_task_path_ok(const char *path);
/* Greatest integer a dtype holds exactly together with all below it. */
int64_t atoll_task_exact_limit(enum atoll_dtype dtype);

#endif

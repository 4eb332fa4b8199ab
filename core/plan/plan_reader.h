/* plan_reader.h - what the files that read a plan's JSON share: where they are, how they fail, which names there are.
 * Layer: core, private to plan_*.c.  Every function that can fail returns -1 with ATOLL_E_INPUT (or MEMORY) and the
 * field's path in the reader's err. */
#ifndef ATOLL_CORE_PLAN_PLAN_READER_H
#define ATOLL_CORE_PLAN_PLAN_READER_H

#include <jansson.h>

#include "core/plan/plan.h"

#define ATOLL_PLAN_BYTES        (32u << 10) /* of JSON */
#define ATOLL_PLAN_NAME_LIMIT   31
#define ATOLL_PLAN_SYMBOL_LIMIT 63
#define ATOLL_PLAN_PATH_BYTES   160
#define ATOLL_PLAN_NAMES_LIMIT                                                                               \
    (ATOLL_TASK_DIM_LIMIT + ATOLL_PLAN_PARAM_LIMIT + ATOLL_TASK_TENSOR_LIMIT + ATOLL_PLAN_SCRATCH_LIMIT)

struct atoll_plan_reader {
    struct atoll_arena *arena;
    const struct atoll_task *task;
    const char *language;
    struct atoll_plan *plan;
    struct atoll_path *path;     /* the one being read */
    struct atoll_launch *launch; /* the one being read */
    size_t path_total;           /* entries of "paths" */
    struct atoll_err *err;
};

/* Fills err with "plan: field '<path>': <text>"; always -1. */
int atoll_plan_fail(struct atoll_plan_reader *p, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *atoll_plan_copy(struct atoll_plan_reader *p, const char *text);

int atoll_plan_is_name(const char *text, size_t limit); /* a C identifier of 1 to limit characters */
/* A keyword of the language, or a name of ours. */
int atoll_plan_is_reserved(const struct atoll_plan_reader *p, const char *text);
/* Dims and params, tensors and scratch; room for ATOLL_PLAN_NAMES_LIMIT. */
size_t atoll_plan_number_names(const struct atoll_plan_reader *p, const char **ret_names);
size_t atoll_plan_buffer_names(const struct atoll_plan_reader *p, const char **ret_names);
int atoll_plan_find_name(const char *const *names, size_t count, const char *name); /* index or -1 */
/* Fails with the nearest name, or with what is known. */
int atoll_plan_unknown_name(struct atoll_plan_reader *p, const char *path, const char *name,
                            const char *const *names, size_t count, const char *known);
/* A free name for a param or scratch. */
int atoll_plan_new_name(struct atoll_plan_reader *p, const char *path, const char *name);

/* An expression over dims and params; the second takes a JSON text or integer. */
int atoll_plan_expression(struct atoll_plan_reader *p, const char *path, const char *text,
                          const struct atoll_expression **ret);
int atoll_plan_json_expression(struct atoll_plan_reader *p, const char *path, json_t *value,
                               const struct atoll_expression **ret);

/* "tensormap(...)"; sets arg->text to its canonical form. */
int atoll_plan_read_tensormap(struct atoll_plan_reader *p, const char *path, const char *text,
                              struct atoll_arg *arg);

#endif

/* yaml.h - YAML files that hold tables of settings: a small tree with file and line, read by tables of keys.
 * Layer: base.  Lifetime: create/destroy; immutable between, nodes live as long.  Anchors, aliases, tags, a key twice and a
 * second document are refused; a file is at most 1 MiB, 32 levels deep and 65536 nodes.  libyaml gives the events, nothing
 * of it is seen outside. */
#ifndef ATOLL_BASE_YAML_H
#define ATOLL_BASE_YAML_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

#define ATOLL_YAML_FILE_BYTES  ((size_t)1 << 20)
#define ATOLL_YAML_DEPTH_LIMIT 32
#define ATOLL_YAML_NODE_LIMIT  65536
#define ATOLL_YAML_KEY_LIMIT   1024 /* of one map: each is compared with all before it */
#define ATOLL_YAML_ROW_LIMIT   64   /* keys of one section */

struct atoll_yaml;
struct atoll_yaml_node;

/* Errors: what open says (NOTFOUND, DENIED, IO), LIMIT (size), INPUT (no regular file, or "path:line: ..."). */
struct atoll_yaml *atoll_yaml_load(const char *path, struct atoll_err *err);
/* file: for messages, copied. */
struct atoll_yaml *atoll_yaml_parse(const char *file, const char *text, size_t length, struct atoll_err *err);
void atoll_yaml_destroy(struct atoll_yaml *yaml);
const struct atoll_yaml_node *atoll_yaml_root(const struct atoll_yaml *yaml);

/* What a walk over the tree carries along. */
struct atoll_yaml_walk {
    const struct atoll_yaml *yaml;
    struct atoll_arena *arena; /* of what is read: texts are copied into it */
    void *owner;               /* the caller's own */
    struct atoll_err *err;
};

/* Reads one value into target; 0, or -1 with the walk's err. */
typedef int atoll_yaml_reader(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target);

enum atoll_yaml_need {
    ATOLL_YAML_OPTIONAL,
    ATOLL_YAML_REQUIRED,
    ATOLL_YAML_HIDDEN /* its reader explains why it may not stand there; no message offers it */
};
/* A key that may stand in a map, and who reads it. */
struct atoll_yaml_row {
    const char *key;
    enum atoll_yaml_need need;
    atoll_yaml_reader *read;
    size_t offset; /* of what is read inside the map's target */
};
struct atoll_yaml_section {
    const struct atoll_yaml_row *rows; /* read in this order, so that what later keys refer to is known */
    size_t row_count;                  /* at most ATOLL_YAML_ROW_LIMIT */
};

/* ATOLL_E_INPUT "file:line: text", "file: text" where node is NULL; always -1. */
int atoll_yaml_fail(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, where the key of a map's value stands. */
int atoll_yaml_fail_key(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *value, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));
/* Passes an error of another part on under the node's place, or the file alone where it is NULL (INPUT; MEMORY and LIMIT as they are). */
int atoll_yaml_pass(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                    const struct atoll_err *inner);
/* Text of a scalar, borrowed from the tree; NULL when the node is none or is empty. */
const char *atoll_yaml_scalar(const struct atoll_yaml_node *node);
/* Reads a map's keys; unknown and missing ones are failures that name the nearest or all known. */
int atoll_yaml_map(struct atoll_yaml_walk *walk, const struct atoll_yaml_section *section,
                   const struct atoll_yaml_node *map, void *target);
/* Value of a map's key; NULL when it is not there or the node is no map. */
const struct atoll_yaml_node *atoll_yaml_find(const struct atoll_yaml_node *map, const char *key);
/* Where it begins in its file, from 1 on. */
size_t atoll_yaml_line(const struct atoll_yaml_node *node);
/* Elements of a list, pairs of a map, else 0. */
size_t atoll_yaml_count(const struct atoll_yaml_node *node);
/* Calls item for every element of a list of at most limit. what: "endpoints". */
int atoll_yaml_list(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *list, size_t limit,
                    const char *what, atoll_yaml_reader *item, void *target);
/* Calls item for the value of every pair of a map of at most limit whose keys are the user's own (names of variables);
 * atoll_yaml_key says which. */
int atoll_yaml_pairs(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *map, size_t limit,
                     const char *what, atoll_yaml_reader *item, void *target);
/* Key of a value inside a map, borrowed from the tree; NULL elsewhere. */
const char *atoll_yaml_key(const struct atoll_yaml_node *value);

/* ---- readers of single values (yaml_value.c) ---- */
int atoll_yaml_read_text(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                         void *target); /* const char *, in the arena, not empty, printable */
int atoll_yaml_read_flag(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                         void *target); /* int: true or false */
int atoll_yaml_read_number(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                           void *target); /* double: finite, not negative */
int atoll_yaml_read_signed(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                           void *target); /* double: finite */
int atoll_yaml_read_positive(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                             void *target); /* double: finite, above 0 */
int atoll_yaml_read_share(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                          void *target); /* double in [0, 1] */
int atoll_yaml_read_count(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                          void *target); /* uint32_t */
int atoll_yaml_read_count64(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                            void *target); /* uint64_t: also "2.5M", decimal thousands: k M G T */
int atoll_yaml_read_duration(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                             void *target); /* double, seconds: what atoll_duration_parse reads */
int atoll_yaml_read_version1(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node,
                             void *target); /* nothing: it must be 1 */
/* The index of the scalar among the names; another word is told the nearest one, or all of them.  what: "scheduler". */
int atoll_yaml_choose(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, const char *what,
                      const char *const *names, size_t count, size_t *ret_index);

#endif

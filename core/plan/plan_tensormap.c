/* plan_tensormap.c - "tensormap(a, [K, M], [BK, BM], swizzle=128)": cut at the commas outside of brackets, then read
 * part by part; the canonical form is written from what was read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan_reader.h"
#include "base/spelling.h"

#define TEXT_LIMIT 1024
#define PART_LIMIT 8

/* Parts between commas, blanks around them cut off; they point into text. */
struct parts {
    char text[TEXT_LIMIT + 1];
    size_t count;
    char *part[PART_LIMIT];
};

struct option {
    const char *key;
    int (*read)(struct atoll_plan_reader *p, const char *path, const char *value,
                struct atoll_tensormap *map);
};

static char *trim(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1]))
        text[--n] = 0;
    return text;
}

/* Cuts parts->text; -1 when brackets do not match or there are too many parts. */
static int cut(struct parts *parts)
{
    int depth = 0;
    char *begin = parts->text;
    for (char *c = parts->text;; c++) {
        depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
        if (depth < 0 || (!*c && depth))
            return -1;
        if (*c && (*c != ',' || depth))
            continue;
        if (parts->count == PART_LIMIT)
            return -1;
        int last = !*c;
        *c = 0;
        parts->part[parts->count++] = trim(begin);
        begin = c + 1;
        if (last)
            return 0;
    }
}

/* "[a, b]" -> expressions; ret_count of at most limit. */
static int read_list(struct atoll_plan_reader *p, const char *path, const char *what, const char *text,
                     size_t limit, const struct atoll_expression **ret, size_t *ret_count)
{
    struct parts inner = {.count = 0};
    size_t n = strlen(text);
    if (n < 3 || text[0] != '[' || text[n - 1] != ']') {
        return atoll_plan_fail(p, path, "tensormap: %s must be a list like [K, M], the fastest axis first",
                               what);
    }
    memcpy(inner.text, text + 1, n - 2);
    inner.text[n - 2] = 0;
    if (cut(&inner) || inner.count > limit)
        return atoll_plan_fail(p, path, "tensormap: %s must be a list of 1 to %zu expressions", what, limit);
    for (size_t i = 0; i < inner.count; i++)
        if (atoll_plan_expression(p, path, inner.part[i], &ret[i]))
            return -1;
    *ret_count = inner.count;
    return 0;
}

/* One of a few numbers, 0 among them. */
static int read_choice(struct atoll_plan_reader *p, const char *path, const char *key, const char *value,
                       const unsigned *known, size_t count, unsigned *ret)
{
    for (size_t i = 0; i < count; i++) {
        char digits[8];
        snprintf(digits, sizeof(digits), "%u", known[i]);
        if (strcmp(digits, value) == 0) {
            *ret = known[i];
            return 0;
        }
    }
    return atoll_plan_fail(p, path, "tensormap: %s=%.20s; it is one of %u, %u, %u, %u (bytes)", key, value,
                           known[0], known[1], known[2], known[3]);
}

static int read_swizzle(struct atoll_plan_reader *p, const char *path, const char *value,
                        struct atoll_tensormap *map)
{
    static const unsigned known[] = {0, 32, 64, 128};
    return read_choice(p, path, "swizzle", value, known, 4, &map->swizzle);
}

static int read_l2(struct atoll_plan_reader *p, const char *path, const char *value,
                   struct atoll_tensormap *map)
{
    static const unsigned known[] = {0, 64, 128, 256};
    return read_choice(p, path, "l2", value, known, 4, &map->l2);
}

static int read_stride(struct atoll_plan_reader *p, const char *path, const char *value,
                       struct atoll_tensormap *map)
{
    size_t count = 0;
    if (map->rank < 2)
        return atoll_plan_fail(p, path, "tensormap: one axis has no stride; leave stride= out");
    if (read_list(p, path, "stride", value, map->rank - 1, map->stride_bytes, &count))
        return -1;
    if (count != map->rank - 1) {
        return atoll_plan_fail(
            p, path, "tensormap: %zu strides for %zu axes; give the bytes of axis 1 and up, %zu of them",
            count, map->rank, map->rank - 1);
    }
    return 0;
}

static int read_dtype(struct atoll_plan_reader *p, const char *path, const char *value,
                      struct atoll_tensormap *map)
{
    if (atoll_dtype_parse(value, &map->dtype)) {
        return atoll_plan_fail(p, path, "tensormap: unknown dtype '%.20s'; known are %s", value,
                               atoll_dtype_names());
    }
    return 0;
}

static const struct option options[] = {
    {"swizzle", read_swizzle}, {"l2", read_l2}, {"stride", read_stride}, {"dtype", read_dtype}};
#define OPTION_COUNT (sizeof(options) / sizeof(*options))

/* "key=value"; seen: one bit per option. */
static int read_option(struct atoll_plan_reader *p, const char *path, char *text, struct atoll_tensormap *map,
                       unsigned *seen)
{
    const char *keys[OPTION_COUNT];
    char *equals = strchr(text, '=');
    if (!equals)
        return atoll_plan_fail(p, path, "tensormap: '%.40s' is no option; write key=value", text);
    *equals = 0;
    const char *key = trim(text), *value = trim(equals + 1);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        keys[i] = options[i].key;
        if (strcmp(key, keys[i]) != 0)
            continue;
        if (*seen >> i & 1)
            return atoll_plan_fail(p, path, "tensormap: %s stands there twice; remove one", key);
        *seen |= 1u << i;
        return options[i].read(p, path, value, map);
    }
    const char *near = atoll_spelling_nearest(key, keys, OPTION_COUNT);
    return atoll_plan_fail(p, path, "tensormap: unknown option '%.20s'; %s%s%s", key,
                           near ? "did you mean '" : "known are swizzle, l2, stride, dtype", near ? near : "",
                           near ? "'?" : "");
}

/* The type of scratch stays open: only the plan can say it. */
static int read_buffer(struct atoll_plan_reader *p, const char *path, const char *name, struct atoll_arg *arg,
                       struct atoll_tensormap *map)
{
    const char *names[ATOLL_PLAN_NAMES_LIMIT];
    size_t tensors = p->task->tensor_count, count = atoll_plan_buffer_names(p, names);
    int found = atoll_plan_find_name(names, count, name);
    if (found < 0)
        return atoll_plan_unknown_name(p, path, name, names, count, "tensors and scratch");
    map->is_scratch = (size_t)found >= tensors;
    arg->index = map->is_scratch ? (size_t)found - tensors : (size_t)found;
    map->dtype = map->is_scratch ? ATOLL_DTYPE_COUNT : p->task->tensors[found].dtype;
    return 0;
}

static int read_parts(struct atoll_plan_reader *p, const char *path, struct parts *parts,
                      struct atoll_arg *arg, struct atoll_tensormap *map)
{
    size_t boxes = 0;
    unsigned seen = 0;
    if (read_buffer(p, path, parts->part[0], arg, map) ||
        read_list(p, path, "extents", parts->part[1], ATOLL_TENSORMAP_RANK_LIMIT, map->extent, &map->rank) ||
        read_list(p, path, "box", parts->part[2], ATOLL_TENSORMAP_RANK_LIMIT, map->box, &boxes)) {
        return -1;
    }
    if (boxes != map->rank) {
        return atoll_plan_fail(p, path, "tensormap: %zu extents and a box of %zu; they must be as many",
                               map->rank, boxes);
    }
    for (size_t i = 3; i < parts->count; i++)
        if (read_option(p, path, parts->part[i], map, &seen))
            return -1;
    if (map->dtype == ATOLL_DTYPE_COUNT) {
        return atoll_plan_fail(p, path,
                               "tensormap: scratch has no type of its own; add dtype=f32 or another");
    }
    return 0;
}

/* ---- canonical form: one blank after commas, options in the order of the table, defaults left out ---- */

struct writer {
    char *text;
    size_t bytes, used;
};

static void put(struct writer *w, const char *text)
{
    int n = snprintf(w->text + w->used, w->bytes - w->used, "%s", text);
    w->used += (size_t)n < w->bytes - w->used ? (size_t)n : w->bytes - w->used - 1;
}

static void put_number(struct writer *w, const char *key, unsigned value)
{
    char text[32];
    snprintf(text, sizeof(text), ", %s=%u", key, value);
    put(w, value ? text : "");
}

static void put_list(struct writer *w, const char *before, const struct atoll_expression *const *list,
                     size_t count)
{
    put(w, before);
    for (size_t i = 0; i < count; i++) {
        put(w, i ? ", " : "[");
        put(w, atoll_expression_text(list[i]));
    }
    put(w, "]");
}

static const char *canonical(struct atoll_plan_reader *p, const char *name, const struct atoll_arg *arg,
                             const struct atoll_tensormap *map)
{
    char text[2 * TEXT_LIMIT];
    struct writer w = {text, sizeof(text), 0};
    put(&w, "tensormap(");
    put(&w, name);
    put_list(&w, ", ", map->extent, map->rank);
    put_list(&w, ", ", map->box, map->rank);
    put_number(&w, "swizzle", map->swizzle);
    put_number(&w, "l2", map->l2);
    if (map->stride_bytes[0])
        put_list(&w, ", stride=", map->stride_bytes, map->rank - 1);
    if (map->is_scratch || map->dtype != p->task->tensors[arg->index].dtype) {
        put(&w, ", dtype=");
        put(&w, atoll_dtype_name(map->dtype));
    }
    put(&w, ")");
    return atoll_plan_copy(p, text);
}

int atoll_plan_read_tensormap(struct atoll_plan_reader *p, const char *path, const char *text,
                              struct atoll_arg *arg)
{
    struct parts parts = {.count = 0};
    size_t n = strlen(text);
    if (strcmp(p->language, "cuda") != 0)
        return atoll_plan_fail(p, path, "tensormap arguments are not available for language %s", p->language);
    if (n > TEXT_LIMIT)
        return atoll_plan_fail(p, path, "tensormap: %zu characters, at most %d are allowed", n, TEXT_LIMIT);
    memcpy(parts.text, text + 10, n - 10 + 1); /* after "tensormap(" */
    char *close = strrchr(parts.text, ')');
    if (!close || *trim(close + 1))
        return atoll_plan_fail(p, path, "tensormap: the closing ')' is missing");
    *close = 0;
    if (cut(&parts) || parts.count < 3) {
        return atoll_plan_fail(p, path,
                               "tensormap: write it as \"tensormap(NAME, [EXTENTS], [BOX], swizzle=128)\"");
    }
    struct atoll_tensormap *map = atoll_arena_alloc(p->arena, sizeof(*map), p->err);
    if (!map || read_parts(p, path, &parts, arg, map))
        return -1;
    arg->kind = ATOLL_ARG_TENSORMAP;
    arg->map = map;
    arg->text = canonical(p, parts.part[0], arg, map);
    return arg->text ? 0 : -1;
}

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/spelling.h"
#include "base/yaml.h"

/* "" where there is none: messages print it. */
static const char *shown(const struct atoll_yaml_node *node)
{
    const char *text = atoll_yaml_scalar(node);
    return text ? text : "";
}

int atoll_yaml_read_text(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = atoll_yaml_scalar(node);
    if (!text)
        return atoll_yaml_fail(walk, node, "a text is expected here");
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return atoll_yaml_fail(walk, node, "a line break or control character in a text; remove it");
    const char *copy = atoll_arena_text(walk->arena, text, strlen(text), walk->err);
    if (!copy)
        return -1;
    *(const char **)target = copy;
    return 0;
}

int atoll_yaml_read_flag(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = shown(node);
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return atoll_yaml_fail(walk, node, "'%.32s' is neither true nor false; write one of them", text);
    *(int *)target = text[0] == 't';
    return 0;
}

static int read_double(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, double low,
                       double high, const char *what, void *target)
{
    const char *text = shown(node);
    char *end = NULL;
    double value = strtod(text, &end);
    if (!text[0] || *end || !isfinite(value) || strspn(text, "0123456789+-.eE") != strlen(text))
        return atoll_yaml_fail(walk, node, "'%.40s' is not a finite number; write one like 1.5", text);
    if (value < low || value > high)
        return atoll_yaml_fail(walk, node, "'%.40s' must %s", text, what);
    *(double *)target = value;
    return 0;
}

int atoll_yaml_read_number(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return read_double(walk, node, 0, HUGE_VAL, "not be negative", target);
}

int atoll_yaml_read_signed(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return read_double(walk, node, -HUGE_VAL, HUGE_VAL, "be finite", target);
}

int atoll_yaml_read_positive(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return read_double(walk, node, 1e-300, HUGE_VAL, "be greater than 0", target);
}

int atoll_yaml_read_share(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    return read_double(walk, node, 0, 1, "lie between 0 and 1", target);
}

int atoll_yaml_read_count(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = shown(node);
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (!text[0] || *end || errno || strspn(text, "0123456789") != strlen(text) || value > UINT32_MAX)
        return atoll_yaml_fail(walk, node, "'%.40s' is not a whole number from 0 to 2^32-1", text);
    *(uint32_t *)target = (uint32_t)value;
    return 0;
}

static double thousands(const char *suffix)
{
    static const char letters[] = "kMGT";
    const char *at = suffix[0] && !suffix[1] ? strchr(letters, suffix[0]) : NULL;
    if (!suffix[0])
        return 1;
    return at ? pow(1000, (double)(at - letters + 1)) : 0;
}

int atoll_yaml_read_count64(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = shown(node);
    char *end = NULL;
    double value = strtod(text, &end), unit = thousands(end);
    if (end == text || unit == 0 || strspn(text, "0123456789.") < (size_t)(end - text) ||
        value * unit > 0x1p53 || rint(value * unit) != value * unit) {
        return atoll_yaml_fail(walk, node,
                               "'%.40s' is not a whole number up to 2^53; write one like 500000 or "
                               "2.5M",
                               text);
    }
    *(uint64_t *)target = (uint64_t)(value * unit);
    return 0;
}

int atoll_yaml_read_duration(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    double seconds;
    const char *text = atoll_yaml_scalar(node);
    if (!text)
        return atoll_yaml_fail(walk, node, "a duration is expected here, like 90s or 10m");
    if (atoll_duration_parse(text, &seconds, &inner))
        return atoll_yaml_pass(walk, node, &inner);
    *(double *)target = seconds;
    return 0;
}

int atoll_yaml_read_version1(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *text = shown(node);
    return strcmp(text, "1") == 0
               ? 0
               : atoll_yaml_fail(walk, node, "version '%.32s' is not known; this program reads version 1",
                                 text);
}

int atoll_yaml_choose(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, const char *what,
                      const char *const *names, size_t count, size_t *ret_index)
{
    char list[256] = "";
    const char *text = atoll_yaml_scalar(node);
    for (size_t i = 0; i < count; i++) {
        if (text && strcmp(text, names[i]) == 0) {
            *ret_index = i;
            return 0;
        }
        size_t used = strlen(list);
        if (names[i][0] && used + strlen(names[i]) + 3 < sizeof(list))
            snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", names[i]);
    }
    const char *near = text ? atoll_spelling_nearest(text, names, count) : NULL;
    if (near)
        return atoll_yaml_fail(walk, node, "unknown %s '%.64s'; did you mean '%s'?", what, text, near);
    return atoll_yaml_fail(walk, node, "unknown %s '%.64s'; known: %s", what, text ? text : "", list);
}

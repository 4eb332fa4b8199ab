/* node_list.c - splits at commas outside of brackets, then expands one bracket after the other. */
#include "scheduler/site/node_list.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 256

struct expansion {
    struct atoll_node_list *list;
    const char *text; /* the whole list, for messages */
    struct atoll_err *err;
};

static int wrong(const struct expansion *x)
{
    return atoll_err_set(x->err, ATOLL_E_INPUT, "'%.120s' is no list of nodes", x->text);
}

static int name_add(struct expansion *x, const char *name)
{
    struct atoll_node_list *list = x->list;
    const char **grown;

    if (list->count >= ATOLL_NODE_LIST_LIMIT)
        return atoll_err_set(x->err, ATOLL_E_LIMIT, "more than %d nodes in a list", ATOLL_NODE_LIST_LIMIT);
    grown = realloc(list->names, (list->count + 2) * sizeof(*grown));
    if (grown) {
        list->names = grown;
        grown[list->count] = strdup(name);
    }
    if (!grown || !grown[list->count])
        return atoll_err_set(x->err, ATOLL_E_MEMORY, "no memory for a list of nodes");
    grown[++list->count] = NULL;
    return 0;
}

static int expand(struct expansion *x, const char *done, const char *rest);

/* "3", "3-5", "01-12" of a bracket, then what follows the bracket. */
static int expand_range(struct expansion *x, const char *done, const char *range, size_t length,
                        const char *rest)
{
    char word[64], name[NAME_BYTES];
    unsigned long first, last;
    char *end;
    int width;

    if (length == 0 || length >= sizeof(word) || !isdigit((unsigned char)*range))
        return wrong(x);
    snprintf(word, sizeof(word), "%.*s", (int)length, range);
    first = last = strtoul(word, &end, 10);
    width = (int)(end - word);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        last = strtoul(end + 1, &end, 10);
    if (*end || last < first || last - first > ATOLL_NODE_LIST_LIMIT)
        return wrong(x);
    for (unsigned long i = first; i <= last; i++) {
        if (snprintf(name, sizeof(name), "%s%0*lu", done, width, i) >= (int)sizeof(name))
            return wrong(x);
        if (expand(x, name, rest) != 0)
            return -1;
    }
    return 0;
}

static int expand_bracket(struct expansion *x, const char *done, const char *open)
{
    const char *close = strchr(open, ']');

    if (!close)
        return wrong(x);
    for (const char *range = open + 1; range <= close;) {
        size_t length = strcspn(range, ",]");

        if (expand_range(x, done, range, length, close + 1) != 0)
            return -1;
        range += length + 1;
    }
    return 0;
}

/* done: what is in front of rest already, brackets expanded. */
static int expand(struct expansion *x, const char *done, const char *rest)
{
    size_t plain = strcspn(rest, "[");
    char name[NAME_BYTES];

    if (snprintf(name, sizeof(name), "%s%.*s", done, (int)plain, rest) >= (int)sizeof(name) ||
        strchr(name, ']')) {
        return wrong(x);
    }
    if (rest[plain])
        return expand_bracket(x, name, rest + plain);
    return *name ? name_add(x, name) : wrong(x);
}

/* Length up to the next comma outside of brackets. */
static size_t item_length(const char *text)
{
    size_t length = 0;

    for (int depth = 0; text[length] && (depth > 0 || text[length] != ','); length++) {
        depth += text[length] == '[';
        depth -= text[length] == ']';
    }
    return length;
}

int atoll_node_list_parse(const char *text, struct atoll_node_list *ret_list, struct atoll_err *err)
{
    struct atoll_node_list list = {0};
    struct expansion x = {&list, text, err};
    const char *at = text;
    int status = strpbrk(text, " \t\n") ? wrong(&x) : 0;

    while (status == 0 && *at) {
        size_t length = item_length(at);
        char *item = strndup(at, length);

        status =
            item ? expand(&x, "", item) : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a list of nodes");
        free(item);
        at += length;
        if (status == 0 && *at == ',' && *++at == '\0')
            status = wrong(&x);
    }
    if (status != 0) {
        atoll_node_list_fini(&list);
        return -1;
    }
    *ret_list = list;
    return 0;
}

void atoll_node_list_fini(struct atoll_node_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free((char *)(uintptr_t)list->names[i]);
    free(list->names);
    *list = (struct atoll_node_list){0};
}

int atoll_node_list_has(const struct atoll_node_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return 1;
    return 0;
}

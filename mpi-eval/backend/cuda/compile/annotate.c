#include "mpi-eval/backend/cuda/compile/annotate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/source/source_token.h"

static const char annotation[] = "__device__ ";

/* Lines on which a declaration of file scope begins, ascending; room for one per token. */
static size_t lines_find(const struct atoll_token_list *list, uint32_t *lines)
{
    static const char *const types[] = {"struct", "union", "enum", "typedef", "__device__"};
    size_t count = 0, depth = 0;
    int begins = 1;
    for (size_t i = 0; i < list->count; i++) {
        const struct atoll_token *t = &list->tokens[i];
        if (t->directive)
            continue;
        int is_type = 0;
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            is_type |= atoll_token_is(t, types[k]);
        if (begins && t->first && t->kind == ATOLL_TOKEN_NAME && !is_type)
            lines[count++] = t->line;
        depth += atoll_token_is(t, "{") || atoll_token_is(t, "(");
        depth -= depth > 0 && (atoll_token_is(t, "}") || atoll_token_is(t, ")"));
        begins = depth == 0 && (atoll_token_is(t, ";") || atoll_token_is(t, "}"));
    }
    return count;
}

static char *lines_annotate(const char *source, const uint32_t *lines, size_t count)
{
    char *text = malloc(strlen(source) + count * (sizeof annotation - 1) + 1), *to = text;
    uint32_t line = 1;
    size_t next = 0;
    if (!text)
        return NULL;
    for (const char *p = source; *p; p++) {
        if (next < count && lines[next] == line && *p != ' ' && *p != '\t') {
            memcpy(to, annotation, sizeof annotation - 1);
            to += sizeof annotation - 1;
            next++;
        }
        *to++ = *p;
        line += *p == '\n';
    }
    *to = '\0';
    return text;
}

char *atoll_reference_annotate(const char *source, struct atoll_err *err)
{
    struct atoll_token_list list;
    if (atoll_token_list_init(&list, source, err) != 0)
        return NULL;
    uint32_t *lines = calloc(list.count + 1, sizeof *lines);
    char *text = lines ? lines_annotate(source, lines, lines_find(&list, lines)) : NULL;
    if (!text)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a reference");
    free(lines);
    atoll_token_list_fini(&list);
    return text;
}

#include "core/task/reference_elements.h"

#include <stdio.h>
#include <string.h>

#include "core/source/source_token.h"

static int is_one_of(const struct atoll_token *token, const char *const *texts, size_t count)
{
    size_t i = 0;
    while (i < count && !atoll_token_is(token, texts[i]))
        i++;
    return i < count;
}
#define IS_ONE_OF(token, texts) is_one_of(token, texts, sizeof(texts) / sizeof(*(texts)))

/* Whether these tokens stand there. */
static int stands_at(const struct atoll_token_list *list, size_t at, const char *const *texts, size_t count)
{
    if (count > list->count || at > list->count - count)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (!atoll_token_is(&list->tokens[at + i], texts[i]))
            return 0;
    return 1;
}
#define STANDS_AT(list, at, texts) stands_at(list, at, texts, sizeof(texts) / sizeof(*(texts)))

/* What another reader could take for something else, and ways past a statement. */
static int is_plain(const char *source, const struct atoll_token_list *list)
{
    static const char *const banned[] = {"goto", "asm", "__asm", "__asm__", "__trap"};
    if (strstr(source, "<%") || strstr(source, "??")) /* other braces */
        return 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->tokens[i].directive || list->tokens[i].kind == ATOLL_TOKEN_ODD ||
            IS_ONE_OF(&list->tokens[i], banned))
            return 0;
    return 1;
}

/* The first token behind the function's opening brace; 0: it is not written as task.md says. */
static size_t body_begin(const struct atoll_token_list *list)
{
    static const char *const head[] = {"void", "reference", "(", "const", "struct", "atoll_reference_args",
                                       "*",    "a",         ",", "long",  "unit",   ")",
                                       "{"};
    for (size_t i = 0; i < list->count; i++)
        if (STANDS_AT(list, i, head))
            return i + sizeof(head) / sizeof(*head);
    return 0;
}

/* Whether an argument may be another one, or stand for something else, from here on. */
static int is_changed(const struct atoll_token_list *list, size_t at)
{
    static const char *const before[] = {"++", "--", "&"}, *const after[] = {"=",   "+=",  "-=", "*=", "/=",
                                                                             "%=",  "&=",  "|=", "^=", "++",
                                                                             "<<=", ">>=", "--"};
    size_t next = at + 1;
    while (next < list->count && atoll_token_is(&list->tokens[next], ")"))
        next++;
    return list->tokens[at - 1].kind == ATOLL_TOKEN_NAME || IS_ONE_OF(&list->tokens[at - 1], before) ||
           (next < list->count && IS_ONE_OF(&list->tokens[next], after));
}

static int puts_each(const struct atoll_token_list *list, const char *accessor)
{
    static const char *const begins[] = {";", "{", "}"}, *const arguments[] = {"(", "a", ",", "unit", ","};
    size_t first = body_begin(list);
    int depth = 1, parentheses = 0, found = 0;
    for (size_t i = first; first && i < list->count && depth; i++) {
        const struct atoll_token *t = &list->tokens[i];
        if (atoll_token_is(t, "return") ||
            ((atoll_token_is(t, "a") || atoll_token_is(t, "unit")) && is_changed(list, i)) ||
            (atoll_token_is(t, accessor) && !STANDS_AT(list, i + 1, arguments)))
            return 0;
        found |= depth == 1 && parentheses == 0 && atoll_token_is(t, accessor) &&
                 IS_ONE_OF(&list->tokens[i - 1], begins);
        depth += atoll_token_is(t, "{");
        depth -= atoll_token_is(t, "}");
        parentheses += atoll_token_is(t, "(");
        parentheses -= atoll_token_is(t, ")");
    }
    return found && depth == 0;
}

int atoll_reference_puts_each(const struct atoll_task *task, size_t tensor, int is_scale)
{
    char accessor[128];
    struct atoll_token_list list;
    snprintf(accessor, sizeof(accessor), "%s_%s", is_scale ? "scale" : "put", task->tensors[tensor].name);
    if (!task->reference_source || atoll_token_list_init(&list, task->reference_source, NULL) != 0)
        return 0;
    int puts = is_plain(task->reference_source, &list) && puts_each(&list, accessor);
    atoll_token_list_fini(&list);
    return puts;
}

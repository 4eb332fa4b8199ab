/* source_strip.c - what lies between two tokens is blanks and comments: of it the end of a line and the indentation stay. */
#include "core/source/source_strip.h"

#include <string.h>

#include "core/source/source_python.h"
#include "core/source/source_token.h"

/* What a list's text has between two places; blanks before `end` back to the start of its line, or none of them. */
static size_t indentation(const char *begin, const char *end)
{
    size_t n = 0;
    while (end - n > begin && (end[-1 - (long)n] == ' ' || end[-1 - (long)n] == '\t'))
        n++;
    return end - n == begin || end[-1 - (long)n] == '\n' || end[-1 - (long)n] == '\1' ? n : 0;
}

static unsigned lines_between(const char *begin, const char *end)
{
    unsigned lines = 0;
    for (; begin < end; begin++)
        lines += *begin == '\n';
    return lines;
}

/* Of Python: a text that is a whole statement says nothing to the interpreter. */
static int is_remark(const struct atoll_token_list *list, size_t i)
{
    const struct atoll_token *t = &list->tokens[i];
    return t->kind == ATOLL_TOKEN_STRING && t->first && (i + 1 == list->count || list->tokens[i + 1].first);
}

static void put_token(const struct atoll_token *t, struct atoll_buffer *out)
{
    for (uint32_t i = 0; i < t->length; i++) {
        unsigned char c = (unsigned char)t->text[i];
        atoll_buffer_put_u8(out, (c < ' ' && c != '\n' && c != '\t') || c > '~' ? '?' : c);
    }
}

static void put_tokens(const struct atoll_token_list *list, int is_python, struct atoll_buffer *out)
{
    const char *at = list->text;
    int is_any = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct atoll_token *t = &list->tokens[i];
        if (t->dead || (is_python && is_remark(list, i)))
            continue;
        unsigned lines = lines_between(at, t->text);
        size_t blanks = indentation(at, t->text);
        for (unsigned k = 0; is_any && k < lines && k < 2; k++)
            atoll_buffer_put_u8(out, '\n');
        if (lines || !is_any)
            atoll_buffer_put_bytes(out, t->text - blanks, blanks);
        else if (t->text > at)
            atoll_buffer_put_u8(out, ' ');
        put_token(t, out);
        at = t->text + t->length;
        is_any = 1;
    }
    if (is_any)
        atoll_buffer_put_u8(out, '\n');
}

int atoll_source_strip(const char *language, const char *source, struct atoll_buffer *out,
                       struct atoll_err *err)
{
    struct atoll_token_list list;
    int is_python = strcmp(language, "triton") == 0;
    if ((is_python ? atoll_python_token_list_init : atoll_token_list_init)(&list, source, err))
        return -1;
    put_tokens(&list, is_python, out);
    atoll_token_list_fini(&list);
    return atoll_buffer_check(out, err);
}

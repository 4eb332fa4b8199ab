#include "bench/mutant.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAM_LIMIT 32

/* What is put at the start of a kernel's body. */
static const struct {
    const char *name, *head;
} kinds[ATOLL_MUTANT_COUNT] = {
    [ATOLL_MUTANT_COMMENT] = {"comment", NULL},
    [ATOLL_MUTANT_RENAME] = {"rename", NULL},
    [ATOLL_MUTANT_BROKEN] = {"broken", NULL},
    [ATOLL_MUTANT_SKIPS_FIRST] = {"skips_first", "    if (blockIdx.x == 0)\n        return;\n"},
    [ATOLL_MUTANT_SKIPS_LAST] = {"skips_last", "    if (blockIdx.x == gridDim.x - 1)\n        return;\n"},
    [ATOLL_MUTANT_SKIPS_LATE] = {"skips_late",
                                 "    if (gridDim.x > 48 && blockIdx.x == gridDim.x - 1)\n        return;\n"},
    [ATOLL_MUTANT_HANGS] = {"hangs", "    volatile int stays = 1;\n    while (stays)\n        stays = 1;\n"},
    [ATOLL_MUTANT_FAULTS] = {"faults", "    *(volatile int *)((size_t)1 << 44) = 1;\n"},
};

const char *atoll_mutant_name(enum atoll_mutant kind)
{
    return kinds[kind].name;
}

/* The first kernel: from its keyword over its parameters to its body. */
struct kernel {
    const char *start, *open, *close, *body, *end; /* parentheses; braces; end is past the last one */
};

static const char *matching(const char *at, char open, char close)
{
    int depth = 0;
    for (; *at; at++) {
        depth += *at == open;
        depth -= *at == close;
        if (depth == 0)
            return at;
    }
    return NULL;
}

static int kernel_find(const char *source, struct kernel *k)
{
    memset(k, 0, sizeof(*k));
    k->start = strstr(source, "__global__");
    k->body = k->start ? strchr(k->start, '{') : NULL;
    if (!k->body)
        return -1;
    for (const char *at = k->start; (at = strchr(at, '(')) != NULL && at < k->body; at = k->close) {
        k->open = at;
        k->close = matching(at, '(', ')');
        if (!k->close)
            return -1;
    }
    const char *last = matching(k->body, '{', '}');
    k->end = last ? last + 1 : NULL;
    return k->open && k->end ? 0 : -1;
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

struct word {
    const char *text;
    size_t length;
};

/* The names of the parameters: the last word before a comma or the end. */
static size_t params_of(const struct kernel *k, struct word *ret_names)
{
    size_t count = 0;
    for (const char *at = k->open + 1; at <= k->close && count < PARAM_LIMIT; at++) {
        if (*at != ',' && at != k->close)
            continue;
        const char *end = at;
        while (end > k->open && !is_word(end[-1]))
            end--;
        const char *begin = end;
        while (begin > k->open && is_word(begin[-1]))
            begin--;
        if (end > begin)
            ret_names[count++] = (struct word){begin, (size_t)(end - begin)};
    }
    return count;
}

static int is_member(const char *source, const char *at)
{
    return at > source && (at[-1] == '.' || (at[-1] == '>' && at - source > 1 && at[-2] == '-'));
}

/* Writes [from, to) with every use of a name changed. */
static void rename_in(FILE *out, const char *from, const char *to, const struct word *name, unsigned number)
{
    for (const char *at = from; at < to;) {
        const char *end = at;
        while (end < to && is_word(*end))
            end++;
        size_t length = (size_t)(end - at);
        if (length == 0) {
            fputc(*at++, out);
            continue;
        }
        fwrite(at, 1, length, out);
        if (length == name->length && memcmp(at, name->text, length) == 0 && !is_member(from, at))
            fprintf(out, "_%u", number);
        at = end;
    }
}

static int kernel_write(FILE *out, const char *source, enum atoll_mutant kind, unsigned number,
                        struct atoll_err *err)
{
    struct kernel k;
    struct word names[PARAM_LIMIT];
    if (kernel_find(source, &k) != 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "the source has no kernel with a body");
    if (kind != ATOLL_MUTANT_RENAME) {
        fwrite(source, 1, (size_t)(k.body + 1 - source), out);
        fprintf(out, "\n%s", kinds[kind].head);
        fputs(k.body + 1, out);
        return 0;
    }
    size_t count = params_of(&k, names);
    if (count == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "the kernel has no parameter to rename");
    fwrite(source, 1, (size_t)(k.open - source), out);
    rename_in(out, k.open, k.end, &names[number % count], number);
    fputs(k.end, out);
    return 0;
}

char *atoll_mutant_make(const char *source, enum atoll_mutant kind, unsigned number, struct atoll_err *err)
{
    char *text = NULL;
    size_t length = 0;
    int rc = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a source");
        return NULL;
    }
    if (kind == ATOLL_MUTANT_RENAME || kinds[kind].head)
        rc = kernel_write(out, source, kind, number, err);
    else
        fputs(source, out);
    fprintf(out, "\n/* candidate %u */\n", number);
    if (kind == ATOLL_MUTANT_BROKEN)
        fprintf(out, "static __device__ int broken(void)\n{\n    return not_declared_%u;\n}\n", number);
    if (fclose(out) != 0 && rc == 0)
        rc = atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a source");
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

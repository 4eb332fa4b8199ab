/* assembly.c - a loop is what stands between a label and a jump back to it.  A loop that
 * ends later and begins before has the other inside. */
#include "mpi-eval/backend/cpu/compile/assembly.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_LIMIT 4096u             /* of one text; later ones are passed over */
#define WORK_LIMIT  ((size_t)1 << 22) /* comparisons of names */

struct label {
    const char *at; /* its line, which begins with its name */
    size_t length;  /* of that */
    size_t floats;  /* arithmetic before it, in the whole text */
};

struct loop {
    const char *begin, *end; /* end: behind the jump */
    size_t floats;
};

static size_t name_length(const char *at)
{
    return strspn(at, ".LBB_0123456789abcdefghijklmnopqrstuvwxyz");
}

/* addps, vfmadd231ps, mulsd ... */
static int is_arithmetic(const char *at)
{
    static const char *const names[] = {"fmadd", "fnmadd", "fmsub", "fnmsub", "add", "sub",
                                        "mul",   "div",    "max",   "min",    "sqrt"};
    size_t length = strcspn(at, " \t\n");
    at += *at == 'v';
    length -= at[-1] == 'v' && length > 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(at, names[i], strlen(names[i])) == 0 && length >= 5 &&
            (at[length - 2] == 'p' || at[length - 2] == 's') &&
            (at[length - 1] == 's' || at[length - 1] == 'd'))
            return 1;
    return 0;
}

/* The label that a jump goes to; NULL: it is none, or goes elsewhere, or *work, in comparisons, is spent. */
static const struct label *find_target(const char *line, const struct label *labels, size_t count,
                                       size_t *work)
{
    if (line[0] != '\t' || line[1] != 'j')
        return NULL;
    const char *target = line + 1 + strcspn(line + 1, " \t\n");
    target += strspn(target, " \t");
    size_t length = name_length(target);
    for (size_t i = count; i > 0 && length > 0 && *work > 0; i--, (*work)--)
        if (labels[i - 1].length == length && strncmp(labels[i - 1].at, target, length) == 0)
            return &labels[i - 1];
    return NULL;
}

static void put_loop(const struct loop *loop, char *ret_loop, size_t bytes)
{
    size_t used = 0;
    ret_loop[0] = '\0';
    for (const char *line = loop->begin; line < loop->end;) {
        size_t length = strcspn(line, "\n");
        if (used + length + 2 > bytes)
            return;
        if (!(line[0] == '\t' && line[1] == '.')) {
            memcpy(ret_loop + used, line, length);
            used += length;
            ret_loop[used++] = '\n';
            ret_loop[used] = '\0';
        }
        line += length + (line[length] == '\n');
    }
}

size_t atoll_assembly_hot_loop(const char *text, char *ret_loop, size_t bytes)
{
    struct label *labels = calloc(LABEL_LIMIT, sizeof(*labels));
    struct loop best = {0};
    const char *last_begin = text; /* of all loops so far: one that begins before it has a loop inside */
    size_t label_count = 0, floats = 0, count = 0, work = WORK_LIMIT;
    if (bytes)
        ret_loop[0] = '\0';
    for (const char *line = text; labels && *line;) {
        size_t length = strcspn(line, "\n"), name = name_length(line);
        const struct label *target = find_target(line, labels, label_count, &work);
        if (line[0] == '.' && line[name] == ':' && label_count < LABEL_LIMIT)
            labels[label_count++] = (struct label){line, name, floats};
        floats += line[0] == '\t' && is_arithmetic(line + 1);
        if (target) {
            struct loop loop = {target->at, line + length, floats - target->floats};
            count++;
            if (target->at >= last_begin) {
                last_begin = target->at;
                if (!best.begin || loop.floats > best.floats)
                    best = loop;
            }
        }
        line += length + (line[length] == '\n');
    }
    if (best.begin && bytes)
        put_loop(&best, ret_loop, bytes);
    free(labels);
    return count;
}

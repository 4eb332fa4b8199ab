/* printed.c - lines are looked at one by one; nothing of them is understood but the words that compilers begin a cause with. */
#include "mpi-eval/backend/cuda/triton/printed.h"

#include <string.h>

static int has(const char *line, size_t length, const char *words)
{
    size_t n = strlen(words);
    for (size_t i = 0; i + n <= length; i++)
        if (memcmp(line + i, words, n) == 0)
            return 1;
    return 0;
}

static int has_one_of(const char *line, size_t length, const char *const *words)
{
    for (; *words; words++)
        if (has(line, length, *words))
            return 1;
    return 0;
}

static size_t line_length(const char *text, size_t length)
{
    const char *end = memchr(text, '\n', length);
    return end ? (size_t)(end - text) : length;
}

/* The line is there already: compilers repeat themselves for each caller on the way up. */
static int is_known(const char *known, size_t length, const char *line, size_t line_bytes)
{
    for (size_t at = 0, n; at < length; at += n + 1) {
        n = line_length(known + at, length - at);
        if (n == line_bytes && memcmp(known + at, line, n) == 0)
            return 1;
    }
    return 0;
}

size_t atoll_triton_printed_cause(const char *text, size_t length, char *ret_cause, size_t cause_bytes)
{
    static const char *const causes[] = {"error:",           "LLVM ERROR", "Assertion `",
                                         "terminate called", "what():",    NULL};
    size_t used = 0;
    for (size_t at = 0, n; at < length; at += n + 1) {
        n = line_length(text + at, length - at);
        if (used + n + 1 >= cause_bytes || !has_one_of(text + at, n, causes) ||
            is_known(ret_cause, used, text + at, n))
            continue;
        memcpy(ret_cause + used, text + at, n);
        used += n;
        ret_cause[used++] = '\n';
    }
    if (used > 0)
        used--;
    else if (cause_bytes > 1 && length > 0) {
        used = length < cause_bytes - 1 ? length : cause_bytes - 1;
        memcpy(ret_cause, text, used);
    }
    ret_cause[used] = '\0';
    return used;
}

int atoll_triton_printed_no_memory(const char *text, size_t length)
{
    static const char *const words[] = {"LLVM ERROR: out of memory", "std::bad_alloc", NULL};
    return has_one_of(text, length, words);
}

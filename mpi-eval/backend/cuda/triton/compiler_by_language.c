/* compiler_by_language.c - two compilers behind one interface: a job goes to one of them by the name of its file. */
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/triton/triton.h"

struct by_language {
    struct atoll_compiler base;
    struct atoll_compiler *cuda, *triton;
};

static struct by_language *of(struct atoll_compiler *compiler)
{
    return (struct by_language *)compiler;
}

static const struct by_language *of_const(const struct atoll_compiler *compiler)
{
    return (const struct by_language *)compiler;
}

static void by_language_destroy(struct atoll_compiler *compiler)
{
    atoll_compiler_destroy(of(compiler)->triton);
    atoll_compiler_destroy(of(compiler)->cuda);
    free(compiler);
}

static const char *by_language_version(const struct atoll_compiler *compiler)
{
    return atoll_compiler_version(of_const(compiler)->cuda);
}

static int by_language_submit(struct atoll_compiler *compiler, uint64_t job, const char *file_name,
                              const char *text, size_t length, const char *const *defines,
                              size_t define_count, struct atoll_err *err)
{
    size_t n = strlen(file_name);
    int is_python = n > 3 && strcmp(file_name + n - 3, ".py") == 0;
    struct atoll_compiler *one = is_python ? of(compiler)->triton : of(compiler)->cuda;
    /* Not by atoll_compiler_submit: it refuses the number that atoll_compiler_run gives a job of its own. */
    return one->kind->submit(one, job, file_name, text, length, defines, define_count, err);
}

static size_t by_language_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit)
{
    size_t count = atoll_compiler_pollfds(of_const(compiler)->triton, ret_fds, limit);
    return count + atoll_compiler_pollfds(of_const(compiler)->cuda, ret_fds + count, limit - count);
}

static int by_language_timeout_ms(const struct atoll_compiler *compiler)
{
    int a = atoll_compiler_timeout_ms(of_const(compiler)->cuda),
        b = atoll_compiler_timeout_ms(of_const(compiler)->triton);
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int by_language_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled)
{
    return atoll_compiler_collect(of(compiler)->cuda, ret_compiled) == 1 ||
           atoll_compiler_collect(of(compiler)->triton, ret_compiled) == 1;
}

/* Those of both share the same cores. */
static unsigned by_language_idle_count(struct atoll_compiler *compiler)
{
    unsigned a = atoll_compiler_idle_count(of(compiler)->cuda),
             b = atoll_compiler_idle_count(of(compiler)->triton);
    return a < b ? a : b;
}

static void by_language_pause(struct atoll_compiler *compiler)
{
    atoll_compiler_pause(of(compiler)->cuda);
    atoll_compiler_pause(of(compiler)->triton);
}

static void by_language_resume(struct atoll_compiler *compiler)
{
    atoll_compiler_resume(of(compiler)->cuda);
    atoll_compiler_resume(of(compiler)->triton);
}

static const struct atoll_compiler_kind by_language_kind = {
    by_language_destroy,    by_language_version,    by_language_submit,
    by_language_pollfds,    by_language_timeout_ms, by_language_collect,
    by_language_idle_count, by_language_pause,      by_language_resume};

struct atoll_compiler *atoll_cuda_compiler_by_language_create(struct atoll_compiler *cuda,
                                                              struct atoll_compiler *triton,
                                                              struct atoll_err *err)
{
    struct by_language *l = calloc(1, sizeof(*l));
    if (!l || !cuda || !triton) {
        if (cuda && triton)
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compiler");
        atoll_compiler_destroy(cuda);
        atoll_compiler_destroy(triton);
        free(l);
        return NULL;
    }
    l->base.kind = &by_language_kind;
    l->cuda = cuda;
    l->triton = triton;
    return &l->base;
}

/* Calls go to the implementation.  What is common to all of them: a wait for one job among others, whose results are
 * kept for their collector. */
#include "mpi-eval/evaluator/compiler.h"

#include <stdlib.h>
#include <string.h>

#define RUN_JOB  UINT64_MAX /* number of the job that atoll_compiler_run waits for */
#define FD_LIMIT 256
#define LOOK_MS  20 /* deadlines are looked at this often */

void atoll_compiled_fini(struct atoll_compiled *compiled)
{
    free(compiled->object);
    free(compiled->diagnostics);
    free(compiled->report);
    compiled->object = NULL;
    compiled->diagnostics = compiled->report = NULL;
}

void atoll_compiler_destroy(struct atoll_compiler *compiler)
{
    if (!compiler)
        return;
    for (size_t i = 0; i < compiler->kept_count; i++)
        atoll_compiled_fini(&compiler->kept[i]);
    free(compiler->kept);
    compiler->kept = NULL;
    compiler->kind->destroy(compiler);
}

const char *atoll_compiler_version(const struct atoll_compiler *compiler)
{
    return compiler->kind->version(compiler);
}

int atoll_compiler_submit(struct atoll_compiler *compiler, uint64_t job, const char *file_name,
                          const char *text, size_t length, const char *const *defines, size_t define_count,
                          struct atoll_err *err)
{
    if (job == RUN_JOB)
        return atoll_err_set(err, ATOLL_E_INTERNAL, "compile job number %llu is taken",
                             (unsigned long long)job);
    return compiler->kind->submit(compiler, job, file_name, text, length, defines, define_count, err);
}

size_t atoll_compiler_pollfds(const struct atoll_compiler *compiler, struct pollfd *ret_fds, size_t limit)
{
    return compiler->kind->pollfds(compiler, ret_fds, limit);
}

int atoll_compiler_timeout_ms(const struct atoll_compiler *compiler)
{
    return compiler->kept_count > 0 ? 0 : compiler->kind->timeout_ms(compiler);
}

int atoll_compiler_collect(struct atoll_compiler *compiler, struct atoll_compiled *ret_compiled)
{
    if (compiler->kept_count == 0)
        return compiler->kind->collect(compiler, ret_compiled);
    *ret_compiled = compiler->kept[0];
    compiler->kept_count--;
    memmove(compiler->kept, compiler->kept + 1, compiler->kept_count * sizeof(compiler->kept[0]));
    return 1;
}

unsigned atoll_compiler_idle_count(struct atoll_compiler *compiler)
{
    return compiler->kind->idle_count(compiler);
}

void atoll_compiler_pause(struct atoll_compiler *compiler)
{
    compiler->kind->pause(compiler);
}

void atoll_compiler_resume(struct atoll_compiler *compiler)
{
    compiler->kind->resume(compiler);
}

static int make_room(struct atoll_compiler *compiler, struct atoll_err *err)
{
    void *grown = realloc(compiler->kept, (compiler->kept_count + 1) * sizeof(compiler->kept[0]));
    if (!grown)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for compile results");
    compiler->kept = grown;
    return 0;
}

/* 1: it has come already, while another one was waited for. */
static int kept_take(struct atoll_compiler *compiler, uint64_t job, struct atoll_compiled *ret_compiled)
{
    for (size_t i = 0; i < compiler->kept_count; i++) {
        struct atoll_compiled *at = &compiler->kept[i];
        if (at->job != job)
            continue;
        *ret_compiled = *at;
        memmove(at, at + 1, (--compiler->kept_count - i) * sizeof(*at));
        return 1;
    }
    return 0;
}

int atoll_compiler_wait(struct atoll_compiler *compiler, uint64_t job, struct atoll_compiled *ret_compiled,
                        struct atoll_err *err)
{
    if (kept_take(compiler, job, ret_compiled))
        return 0;
    if (make_room(compiler, err) != 0)
        return -1;
    for (;;) {
        struct atoll_compiled found;
        struct pollfd fds[FD_LIMIT];
        if (!compiler->kind->collect(compiler, &found)) {
            size_t count = compiler->kind->pollfds(compiler, fds, FD_LIMIT);
            poll(fds, (nfds_t)count, LOOK_MS);
        } else if (found.job == job) {
            *ret_compiled = found;
            return 0;
        } else {
            compiler->kept[compiler->kept_count++] = found;
            if (make_room(compiler, err) != 0)
                return -1;
        }
    }
}

int atoll_compiler_run(struct atoll_compiler *compiler, const char *file_name, const char *text,
                       size_t length, const char *const *defines, size_t define_count,
                       struct atoll_compiled *ret_compiled, struct atoll_err *err)
{
    if (compiler->kind->submit(compiler, RUN_JOB, file_name, text, length, defines, define_count, err) != 0 ||
        atoll_compiler_wait(compiler, RUN_JOB, ret_compiled, err) != 0)
        return -1;
    ret_compiled->job = 0;
    return 0;
}

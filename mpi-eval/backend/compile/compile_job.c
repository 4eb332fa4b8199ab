#include "mpi-eval/backend/compile/compile_job.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"

void atoll_compile_job_destroy(struct atoll_compile_job *job)
{
    if (!job)
        return;
    for (size_t i = 0; i < job->define_count; i++)
        free(job->defines[i]);
    atoll_compiled_fini(&job->result);
    free(job->defines);
    free(job->text);
    free(job);
}

double atoll_compile_job_deadline_ns(const struct atoll_compile_job *job, double deadline_ns)
{
    int is_hostile = strncmp(job->file_name, ATOLL_COMPILE_CANDIDATE, strlen(ATOLL_COMPILE_CANDIDATE)) == 0;
    return is_hostile ? deadline_ns : fmax(deadline_ns, ATOLL_COMPILE_OWN_NS);
}

static int copy_in(struct atoll_compile_job *job, const char *text, size_t length, const char *const *defines,
                   size_t define_count)
{
    job->text = malloc(length + 1);
    job->defines = calloc(define_count + 1, sizeof(job->defines[0]));
    if (!job->text || !job->defines)
        return -1;
    if (length > 0)
        memcpy(job->text, text, length);
    job->text[length] = '\0';
    job->length = length;
    for (; job->define_count < define_count; job->define_count++)
        if (asprintf(&job->defines[job->define_count], "-D%s", defines[job->define_count]) < 0)
            return -1;
    return 0;
}

struct atoll_compile_job *atoll_compile_job_create(uint64_t number, const char *file_name, const char *suffix,
                                                   const char *text, size_t length,
                                                   const char *const *defines, size_t define_count,
                                                   struct atoll_err *err)
{
    /* Diagnostics and command lines show this name. */
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t name_length = strlen(file_name), tail = strlen(suffix);
    if (name_length <= tail || name_length >= ATOLL_COMPILE_NAME_BYTES ||
        strspn(file_name, allowed) != name_length || file_name[0] == '-' || file_name[0] == '.' ||
        strcmp(file_name + name_length - tail, suffix) != 0) {
        atoll_err_set(err, ATOLL_E_INTERNAL, "\"%s\" is no name for a translation unit", file_name);
        return NULL;
    }
    if (length > ATOLL_COMPILE_TEXT_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "the translation unit has %zu bytes; %zu are possible", length,
                      ATOLL_COMPILE_TEXT_LIMIT);
        return NULL;
    }
    struct atoll_compile_job *job = calloc(1, sizeof(*job));
    if (!job || copy_in(job, text, length, defines, define_count) != 0) {
        atoll_compile_job_destroy(job);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a compile job");
        return NULL;
    }
    job->since_ns = atoll_clock_mono_ns();
    snprintf(job->file_name, sizeof(job->file_name), "%s", file_name);
    job->result.job = number;
    return job;
}

void atoll_compile_job_finish(struct atoll_compile_job *job, enum atoll_compile_status status,
                              const char *diagnostics, const char *report, double wall_ns)
{
    job->result.status = status;
    free(job->result.diagnostics);
    free(job->result.report);
    job->result.diagnostics = strdup(diagnostics);
    job->result.report = strdup(report);
    job->result.wall_ns = job->result.processor_ns = wall_ns;
}

void atoll_compile_queue_put(struct atoll_compile_queue *queue, struct atoll_compile_job *job)
{
    job->next = NULL;
    if (queue->last)
        queue->last->next = job;
    else
        queue->first = job;
    queue->last = job;
}

struct atoll_compile_job *atoll_compile_queue_take(struct atoll_compile_queue *queue)
{
    struct atoll_compile_job *job = queue->first;
    if (!job)
        return NULL;
    queue->first = job->next;
    if (!queue->first)
        queue->last = NULL;
    job->next = NULL;
    return job;
}

int atoll_compile_queue_collect(struct atoll_compile_queue *queue, struct atoll_compiled *ret_compiled)
{
    struct atoll_compile_job *job = atoll_compile_queue_take(queue);
    if (!job)
        return 0;
    *ret_compiled = job->result;
    job->result = (struct atoll_compiled){0};
    atoll_compile_job_destroy(job);
    return 1;
}

void atoll_compile_queue_fini(struct atoll_compile_queue *queue)
{
    for (struct atoll_compile_job *job; (job = atoll_compile_queue_take(queue));)
        atoll_compile_job_destroy(job);
}

/* Which words in the output of the tools mean what. */
static const struct sign {
    const char *words;
    enum atoll_compile_status status;
} signs[] = {
    {"out of memory", ATOLL_COMPILE_MEMORY},
    {"virtual memory exhausted", ATOLL_COMPILE_MEMORY},
    {"memory exhausted", ATOLL_COMPILE_MEMORY},
    {"annot allocate memory", ATOLL_COMPILE_MEMORY},
    {"std::bad_alloc", ATOLL_COMPILE_MEMORY},
    {"Memory allocation failure", ATOLL_COMPILE_MEMORY},
    {"Killed signal terminated", ATOLL_COMPILE_MEMORY},
    {"CPU time limit exceeded", ATOLL_COMPILE_TIMEOUT},
};

/* Words of tools that cannot work here.  A candidate can make the assembler say them, so they decide nothing. */
static const char *const machine_words[] = {"No space left on device", "Disk quota exceeded",
                                            "Input/output error",      "Stale file handle",
                                            "cannot execute",          "Read-only file system"};

/* Words count in lines of the tools themselves only: a candidate can put any words into "file:line: error:
 * ..." lines and the source lines under them. */
static const char *find_words(const char *output, const char *name, const char *words)
{
    for (const char *line = output; *line;) {
        size_t length = strcspn(line, "\n");
        int of_tool = line[0] != ' ' && strncmp(line, name, strlen(name)) != 0;
        if (of_tool && memmem(line, length, words, strlen(words)))
            return line;
        line += length + (line[length] == '\n');
    }
    return NULL;
}

int atoll_compile_blames_machine(const char *output)
{
    for (size_t i = 0; i < sizeof(machine_words) / sizeof(machine_words[0]); i++)
        if (strstr(output, machine_words[i]))
            return 1;
    return 0;
}

enum atoll_compile_status atoll_compile_judge(const char *output, const char *file_name, int wait_status)
{
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return ATOLL_COMPILE_OK;
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (find_words(output, file_name, signs[i].words))
            return signs[i].status;
    return WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL ? ATOLL_COMPILE_BROKEN
                                                                        : ATOLL_COMPILE_ERROR;
}

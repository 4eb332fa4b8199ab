/* pipeline.c - orders in hand.
 * The compiler has one owner: this thread, except while an process is out that uses it (`lent`). */
#include "mpi-eval/evaluator/pipeline.h"

#include <stdlib.h>

#include "mpi-eval/evaluator/pipeline_state.h"

#define TASK_LIMIT  4096u
#define CACHE_BYTES (256u << 20)

struct atoll_pipeline *atoll_pipeline_create(const struct atoll_backend *backend,
                                             struct atoll_compiler *compiler,
                                             struct atoll_referee_thread *referee_thread,
                                             struct atoll_err *err)
{
    struct atoll_pipeline *p = calloc(1, sizeof *p);
    if (!p) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the orders in hand");
        return NULL;
    }
    p->cache = atoll_cache_create(CACHE_BYTES, err);
    if (!p->cache) {
        free(p);
        return NULL;
    }
    p->backend = backend;
    p->compiler = compiler;
    p->referee_thread = referee_thread;
    p->end = &p->first;
    atoll_pipeline_setup_post(p, ATOLL_PROCESS_OPEN, 0);
    return p;
}

void atoll_pipeline_destroy(struct atoll_pipeline *p)
{
    if (!p)
        return;
    for (struct work *work = p->first, *next; work; work = next) {
        next = work->next;
        atoll_pipeline_work_destroy(p, work);
    }
    for (uint32_t i = 0; i < p->task_count; i++) {
        atoll_cache_release(p->cache, p->tasks[i].reference);
        atoll_task_destroy(p->tasks[i].task);
        free(p->tasks[i].refusal);
    }
    free(p->tasks);
    atoll_cache_destroy(p->cache);
    free(p);
}

int atoll_pipeline_add_task(struct atoll_pipeline *p, uint32_t number, struct atoll_task *task,
                            struct atoll_err *err)
{
    if (number != p->task_count || number >= TASK_LIMIT) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "task %u came where task %u was expected", number,
                             p->task_count);
    }
    struct task_place *grown = realloc(p->tasks, (number + 1) * sizeof *grown);
    if (!grown) {
        atoll_task_destroy(task);
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a task");
    }
    p->tasks = grown;
    p->tasks[number] = (struct task_place){.task = task};
    p->task_count++;
    return 0;
}

int atoll_pipeline_is_open(const struct atoll_pipeline *p)
{
    return p->open;
}

int atoll_pipeline_owns_compiler(const struct atoll_pipeline *p)
{
    return !p->lent;
}

static int errands_collect(struct atoll_pipeline *p, struct atoll_err *err)
{
    struct atoll_process *process;
    while ((process = atoll_referee_thread_collect(p->referee_thread)) != NULL) {
        if (process == &p->setup && atoll_pipeline_setup_collect(p, err) != 0)
            return -1;
        for (struct work *work = p->first; work; work = work->next) {
            if (process == &work->process && atoll_pipeline_examined_collect(p, work, err) != 0)
                return -1;
        }
    }
    return 0;
}

int atoll_pipeline_advance(struct atoll_pipeline *p, struct atoll_err *err)
{
    if (errands_collect(p, err) != 0)
        return -1;
    atoll_pipeline_compiles_collect(p);
    if (p->open && !p->backend->case_unit)
        atoll_pipeline_tasks_advance_lending(p);
    else if (p->open && atoll_pipeline_tasks_advance(p, err) != 0)
        return -1;
    for (struct work *work = p->first; work && p->open; work = work->next)
        atoll_pipeline_work_advance(p, work);
    return 0;
}

void atoll_pipeline_pulse(const struct atoll_pipeline *p, struct atoll_pulse *pulse)
{
    pulse->occupied_ns += p->pulse.occupied_ns;
    pulse->candidate_ns += p->pulse.candidate_ns;
    pulse->compile_ns += p->pulse.compile_ns;
    pulse->queued += p->work_count;
    pulse->compiling += p->job_count;
}

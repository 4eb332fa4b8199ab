/* pipeline_task.c - tasks on their way to the referee.
 * Where the backend gives a unit for a task's reference, it is compiled here beside the candidates, and the TASK
 * process comes with the object.  Else that process uses the compiler: before it is posted no new compile is started
 * until all running ones have come back. */
#include <stdio.h>
#include <string.h>

#include "mpi-eval/evaluator/pipeline_state.h"

#define REFERENCE_BYTES (4u << 20)

void atoll_pipeline_setup_post(struct atoll_pipeline *p, enum atoll_process_kind kind, uint32_t number)
{
    p->setup = (struct atoll_process){.kind = kind, .task_number = number};
    if (kind == ATOLL_PROCESS_TASK) {
        p->setup.task = p->tasks[number].task;
        p->setup.reference = p->tasks[number].reference;
    }
    p->busy = 1;
    p->lent = !p->setup.reference;
    atoll_referee_thread_post_first(p->referee_thread, &p->setup);
}

static int task_refuse(struct task_place *task, const char *why, struct atoll_err *err)
{
    task->refusal = strdup(why);
    return task->refusal ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a refusal");
}

static void reference_give(struct atoll_pipeline *p, struct task_place *task)
{
    atoll_cache_release(p->cache, task->reference);
    task->reference = NULL;
}

int atoll_pipeline_setup_collect(struct atoll_pipeline *p, struct atoll_err *err)
{
    p->busy = p->lent = 0;
    if (p->setup.kind == ATOLL_PROCESS_TASK)
        reference_give(p, &p->tasks[p->setup.task_number]);
    if (p->setup.rc != 0 && p->setup.kind == ATOLL_PROCESS_TASK && p->setup.err.code == ATOLL_E_INPUT)
        return task_refuse(&p->tasks[p->setup.task_number], p->setup.err.text, err);
    if (p->setup.rc != 0) {
        if (err)
            *err = p->setup.err;
        return p->setup.kind == ATOLL_PROCESS_OPEN
                   ? -1
                   : atoll_err_add(err, "in task '%s'", p->tasks[p->setup.task_number].task->name);
    }
    if (p->setup.kind == ATOLL_PROCESS_OPEN)
        p->open = 1;
    else
        p->tasks[p->setup.task_number].known = 1;
    return 0;
}

/* The task of the oldest order whose task the referee does not know; task_count when there is none. */
static uint32_t task_wanted(const struct atoll_pipeline *p)
{
    for (const struct work *work = p->first; work; work = work->next) {
        const struct task_place *task = &p->tasks[work->order.task];
        if (work->state == WORK_WAITS_TASK && !task->known && !task->refusal)
            return work->order.task;
    }
    return p->task_count;
}

/* Through the compiler of the referee's thread. */
void atoll_pipeline_tasks_advance_lending(struct atoll_pipeline *p)
{
    uint32_t wanted = task_wanted(p);
    if (wanted < p->task_count && !p->lent && p->job_count == 0)
        atoll_pipeline_setup_post(p, ATOLL_PROCESS_TASK, wanted);
    p->draining = wanted < p->task_count;
}

static int reference_start(struct atoll_pipeline *p, struct task_place *task, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_id id = atoll_id_of(task->task->id.bytes, sizeof task->task->id.bytes);
    const char *name;
    struct atoll_buffer unit;
    atoll_buffer_init(&unit, REFERENCE_BYTES);
    int rc = p->backend->case_unit(task->task, &name, &unit, &why);
    if (rc == 0) {
        task->reference = atoll_cache_take(p->cache, &id, &why);
        rc = !task->reference ||
                     (task->reference->state == ATOLL_OBJECT_NEW &&
                      atoll_pipeline_compile_start(p, task->reference, NULL, name, (const char *)unit.data,
                                                   unit.length, &why) != 0)
                 ? -1
                 : 0;
    }
    atoll_buffer_fini(&unit);
    if (rc != 0 && why.code == ATOLL_E_INPUT)
        return task_refuse(task, why.text, err);
    if (rc != 0 && err)
        *err = why;
    return rc;
}

static int reference_failed(struct atoll_pipeline *p, struct task_place *task, struct atoll_err *err)
{
    char text[1024];
    int is_wrong = task->reference->verdict == ATOLL_V_COMPILE_ERROR;
    snprintf(text, sizeof text, "the reference of task '%s' does not compile for the device: %.800s",
             task->task->name, task->reference->diagnostics ? task->reference->diagnostics : "");
    reference_give(p, task);
    return is_wrong ? task_refuse(task, text, err) : atoll_err_set(err, ATOLL_E_CHILD, "%s", text);
}

static int task_advance(struct atoll_pipeline *p, uint32_t number, struct atoll_err *err)
{
    struct task_place *task = &p->tasks[number];
    if (task->known || task->refusal || (p->busy && p->setup.task_number == number))
        return 0;
    if (!task->reference)
        return p->lent ? 0 : reference_start(p, task, err);
    if (task->reference->state == ATOLL_OBJECT_FAILED)
        return reference_failed(p, task, err);
    if (task->reference->state == ATOLL_OBJECT_READY && !p->busy)
        atoll_pipeline_setup_post(p, ATOLL_PROCESS_TASK, number);
    return 0;
}

/* References of all tasks that orders wait for are compiled at once. */
int atoll_pipeline_tasks_advance(struct atoll_pipeline *p, struct atoll_err *err)
{
    for (struct work *work = p->first; work; work = work->next)
        if (work->state == WORK_WAITS_TASK && task_advance(p, work->order.task, err) != 0)
            return -1;
    return 0;
}

/* pipeline_work.c - an order from its arrival (levels 1 and 2) by way of its objects to the referee thread. */
#include <stdlib.h>

#include "base/clock.h"
#include "mpi-eval/evaluator/pipeline_state.h"

#define ORDER_ARENA_BYTES (4u << 20)

void atoll_pipeline_work_destroy(struct atoll_pipeline *p, struct work *work)
{
    for (int side = 0; side < SIDES; side++) {
        atoll_prepared_destroy(work->prepared[side]);
        atoll_cache_release(p->cache, work->objects[side]);
    }
    atoll_evaluation_fini(&work->process.evaluation);
    atoll_arena_destroy(work->arena);
    free(work);
}

static void work_prepare(struct atoll_pipeline *p, struct work *work)
{
    const struct atoll_order_candidate *sides[SIDES] = {&work->order.candidate, &work->order.elite};
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int side = 0; side < (work->order.is_duel ? SIDES : 1); side++) {
        struct atoll_prepared *prepared = atoll_prepared_create(
            p->tasks[work->order.task].task, p->backend, sides[side], atoll_pipeline_device_info(p), &err);
        work->prepared[side] = prepared;
        if (!prepared) {
            atoll_pipeline_work_conclude(p, work, ATOLL_V_INFRASTRUCTURE, 0, err.text);
            return;
        }
        if (prepared->verdict == ATOLL_V_CORRECT)
            continue;
        enum atoll_verdict verdict = side == ELITE ? ATOLL_V_INFRASTRUCTURE : prepared->verdict;
        atoll_pipeline_work_conclude(p, work, verdict, prepared->verdict == ATOLL_V_BAD_PLAN ? 1 : 2,
                                     prepared->detail);
        return;
    }
}

static struct work *work_create(struct atoll_err *err)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an order");
        return NULL;
    }
    work->arena = atoll_arena_create(ORDER_ARENA_BYTES, err);
    if (!work->arena) {
        free(work);
        return NULL;
    }
    atoll_evaluation_init(&work->process.evaluation);
    work->arrived_unix_ns = atoll_clock_unix_ns();
    return work;
}

int atoll_pipeline_order(struct atoll_pipeline *p, const void *payload, size_t length, struct atoll_err *err)
{
    if (p->work_count >= ATOLL_PIPELINE_ORDER_LIMIT)
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "more than %d orders at a time",
                             ATOLL_PIPELINE_ORDER_LIMIT);
    struct work *work = work_create(err);
    if (!work)
        return -1;
    if (atoll_order_decode(payload, length, work->arena, &work->order, err) != 0) {
        atoll_pipeline_work_destroy(p, work);
        return -1;
    }
    if (work->order.task >= p->task_count) {
        uint32_t task = work->order.task;
        atoll_pipeline_work_destroy(p, work);
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "an order for task %u, which was never sent", task);
    }
    *p->end = work;
    p->end = &work->next;
    p->work_count++;
    work_prepare(p, work);
    return 0;
}

static void work_fetch_objects(struct atoll_pipeline *p, struct work *work)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int side = 0; side < (work->order.is_duel ? SIDES : 1); side++) {
        if (work->objects[side])
            continue;
        const struct atoll_prepared *prepared = work->prepared[side];
        struct atoll_object *object = atoll_cache_take(p->cache, &prepared->id, &err);
        work->objects[side] = object;
        if (!object ||
            (object->state == ATOLL_OBJECT_NEW &&
             atoll_pipeline_compile_start(p, object, prepared, p->backend->unit_name, prepared->unit_text,
                                          prepared->unit_length, &err) != 0)) {
            atoll_pipeline_work_conclude(p, work, ATOLL_V_INFRASTRUCTURE, 0, err.text);
            return;
        }
    }
}

static void work_post(struct atoll_pipeline *p, struct work *work)
{
    struct atoll_process *process = &work->process;
    for (int side = 0; side < SIDES; side++)
        if (work->prepared[side])
            work->prepared[side]->report = work->objects[side]->report;
    process->kind = work->order.is_duel ? ATOLL_PROCESS_DUEL : ATOLL_PROCESS_EVALUATE;
    process->task_number = work->order.task;
    process->order = &work->order;
    process->candidate = work->prepared[CANDIDATE];
    process->elite = work->prepared[ELITE];
    process->candidate_object = work->objects[CANDIDATE];
    process->elite_object = work->objects[ELITE];
    work->state = WORK_MEASURED;
    atoll_referee_thread_post(p->referee_thread, process);
}

/* 1 when a side failed to compile: concluded. */
static int work_compile_failed(struct atoll_pipeline *p, struct work *work)
{
    for (int side = 0; side < SIDES; side++) {
        const struct atoll_object *object = work->objects[side];
        if (!object || object->state != ATOLL_OBJECT_FAILED)
            continue;
        int is_charged = side == CANDIDATE && object->verdict != ATOLL_V_INFRASTRUCTURE;
        atoll_pipeline_work_conclude(p, work, is_charged ? object->verdict : ATOLL_V_INFRASTRUCTURE,
                                     is_charged ? 3 : 0, object->diagnostics ? object->diagnostics : "");
        return 1;
    }
    return 0;
}

static int work_is_compiled(const struct work *work)
{
    for (int side = 0; side < (work->order.is_duel ? SIDES : 1); side++) {
        if (!work->objects[side] || work->objects[side]->state != ATOLL_OBJECT_READY)
            return 0;
    }
    return 1;
}

/* A task whose reference is wrong costs its own orders, not the evaluator. */
static int work_task_refused(struct atoll_pipeline *p, struct work *work)
{
    const char *refusal = p->tasks[work->order.task].refusal;
    if (work->state != WORK_WAITS_TASK || !refusal)
        return 0;
    atoll_pipeline_work_conclude(p, work, ATOLL_V_COMPILE_ERROR, 3, refusal);
    return 1;
}

void atoll_pipeline_work_advance(struct atoll_pipeline *p, struct work *work)
{
    if (work_task_refused(p, work))
        return;
    if (work->state == WORK_WAITS_TASK && p->tasks[work->order.task].known)
        work->state = WORK_COMPILES;
    if (work->state != WORK_COMPILES && work->state != WORK_WAITS_TASK)
        return;
    if (!p->lent && !p->draining)
        work_fetch_objects(p, work);
    if (work->state == WORK_ANSWERED || work_compile_failed(p, work))
        return;
    if (work->state == WORK_COMPILES && work_is_compiled(work))
        work_post(p, work);
}

int atoll_pipeline_examined_collect(struct atoll_pipeline *p, struct work *work, struct atoll_err *err)
{
    const struct atoll_process *process = &work->process;
    int is_duel = process->kind == ATOLL_PROCESS_DUEL;
    p->pulse.occupied_ns += is_duel ? process->duel.occupied_ns : process->evaluation.occupied_ns;
    p->pulse.candidate_ns += is_duel ? process->duel.candidate_ns : process->evaluation.candidate_ns;
    work->state = WORK_ANSWERED;
    if (process->rc == 0)
        return 0;
    if (err)
        *err = process->err;
    return -1;
}

/* pipeline_answer.c - what is sent back for an order. */
#include <stdio.h>

#include "mpi-eval/evaluator/pipeline_state.h"

const struct atoll_device_info *atoll_pipeline_device_info(const struct atoll_pipeline *p)
{
    return p->open ? atoll_referee_thread_device(p->referee_thread) : NULL;
}

static uint64_t device_key(const struct atoll_pipeline *p)
{
    const struct atoll_device_info *device = atoll_pipeline_device_info(p);
    return device ? device->key : 0;
}

void atoll_pipeline_work_conclude(struct atoll_pipeline *p, struct work *work, enum atoll_verdict verdict,
                                  unsigned level, const char *detail)
{
    if (work->order.is_duel) {
        struct atoll_duel *duel = &work->process.duel;
        *duel =
            (struct atoll_duel){.purpose = work->order.purpose, .verdict = verdict, .device = device_key(p)};
        snprintf(duel->detail, sizeof duel->detail, "%s", detail);
    } else {
        struct atoll_evaluation *e = &work->process.evaluation;
        e->verdict = verdict;
        e->level = level;
        e->device = device_key(p);
        snprintf(e->detail, sizeof e->detail, "%s", detail);
    }
    work->state = WORK_ANSWERED;
}

static void evaluation_complete(struct work *work)
{
    struct atoll_evaluation *e = &work->process.evaluation;
    const struct atoll_object *object = work->objects[CANDIDATE];
    e->evaluation = work->order.evaluation;
    e->candidate = work->order.candidate.id;
    if (e->started_unix_ns == 0)
        e->started_unix_ns = work->arrived_unix_ns;
    if (work->prepared[CANDIDATE])
        e->behaviour = work->prepared[CANDIDATE]->behaviour;
    if (object) {
        e->compile_ns = object->compile_ns;
        e->binary = object->binary;
    }
}

static struct work *work_take_answered(struct atoll_pipeline *p)
{
    for (struct work **place = &p->first; *place; place = &(*place)->next) {
        struct work *work = *place;
        if (work->state != WORK_ANSWERED)
            continue;
        *place = work->next;
        if (!*place)
            p->end = place;
        p->work_count--;
        return work;
    }
    return NULL;
}

int atoll_pipeline_answer(struct atoll_pipeline *p, uint16_t *ret_type, struct atoll_buffer *out)
{
    struct work *work = work_take_answered(p);
    if (!work)
        return 0;
    if (work->order.is_duel) {
        work->process.duel.evaluation = work->order.evaluation;
        work->process.duel.purpose = work->order.purpose;
        atoll_duel_encode(&work->process.duel, out);
        *ret_type = ATOLL_MSG_DUELLED;
    } else {
        evaluation_complete(work);
        atoll_evaluation_encode(&work->process.evaluation, out);
        *ret_type = ATOLL_MSG_EVALUATED;
    }
    atoll_pipeline_work_destroy(p, work);
    return 1;
}

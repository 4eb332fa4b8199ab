#include "mpi-eval/evaluator/held_order.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "mpi-eval/evaluator/tool_report.h"

#define REPORT_BYTES ((size_t)1 << 20) /* of a text before it is cut */

struct atoll_held_order *atoll_held_order_create(struct atoll_err *err)
{
    struct atoll_held_order *work = calloc(1, sizeof(*work));
    if (!work) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an order");
        return NULL;
    }
    atoll_evaluation_init(&work->request.evaluation);
    atoll_rival_init(&work->request.rival);
    atoll_buffer_init(&work->report, REPORT_BYTES);
    work->arrived_unix_ns = atoll_clock_unix_ns();
    work->arrived_ns = atoll_clock_mono_ns();
    return work;
}

void atoll_held_order_conclude(struct atoll_held_order *work, const struct atoll_device_info *device,
                               enum atoll_verdict verdict, unsigned level, const char *detail)
{
    uint64_t key = device ? device->key : 0;
    if (work->order.kind == ATOLL_ORDER_DUEL) {
        struct atoll_duel *duel = &work->request.duel;
        *duel = (struct atoll_duel){.purpose = work->order.purpose, .verdict = verdict, .device = key};
        snprintf(duel->detail, sizeof(duel->detail), "%s", detail);
    } else if (work->order.kind == ATOLL_ORDER_RIVAL) {
        struct atoll_rival *rival = &work->request.rival;
        rival->verdict = verdict;
        rival->device = key;
        snprintf(rival->detail, sizeof(rival->detail), "%s", detail);
    } else {
        struct atoll_evaluation *e = &work->request.evaluation;
        e->verdict = verdict;
        e->level = level;
        e->device = key;
        snprintf(e->detail, sizeof(e->detail), "%s", detail);
    }
    work->state = ATOLL_HELD_DONE;
}

int atoll_order_has_rivals(const struct atoll_task *task, const struct atoll_order *order)
{
    int is_duel = order->kind == ATOLL_ORDER_DUEL && order->purpose == ATOLL_DUEL_RIVAL;
    if ((is_duel || order->kind == ATOLL_ORDER_RIVAL) && order->rival >= task->rival_count)
        return 0;
    for (size_t v = 0; is_duel && v < task->variant_count; v++)
        if (task->variants[v].kind == ATOLL_VARIANT_BENCH && order->rivals[v] >= task->rival_count)
            return 0;
    return 1;
}

enum atoll_referee_request_kind atoll_held_order_request_kind(const struct atoll_held_order *work)
{
    const struct atoll_order *order = &work->order;
    if (work->is_tool)
        return ATOLL_REFEREE_REQUEST_CHECK;
    switch (order->kind) {
    case ATOLL_ORDER_RIVAL: return ATOLL_REFEREE_REQUEST_RIVAL;
    case ATOLL_ORDER_DUEL:
        return atoll_order_has_elite(order) ? ATOLL_REFEREE_REQUEST_DUEL : ATOLL_REFEREE_REQUEST_RIVAL_DUEL;
    default: return ATOLL_REFEREE_REQUEST_EVALUATE;
    }
}

static void tool_result(struct atoll_held_order *work, struct atoll_buffer *out)
{
    char text[ATOLL_TOOL_RESULT_LIMIT + 1];
    struct atoll_tool_answer answer = {work->tool.call, ATOLL_TOOL_OK, text};
    if (!work->report.length)
        answer.status = atoll_tool_report_verdict(work->tool.tool, &work->request.evaluation,
                                                  work->prepared[ATOLL_HELD_CANDIDATE], &work->report);
    atoll_tool_result_cut((const char *)work->report.data, work->report.length, text);
    atoll_tool_answer_encode(&answer, out);
}

uint16_t atoll_held_order_encode(struct atoll_held_order *work, struct atoll_buffer *out)
{
    uint16_t type;
    if (work->is_tool) {
        tool_result(work, out);
        return ATOLL_MSG_TOOLED;
    }
    if (work->order.kind == ATOLL_ORDER_DUEL) {
        work->request.duel.evaluation = work->order.evaluation;
        work->request.duel.purpose = work->order.purpose;
        atoll_duel_encode(&work->request.duel, out);
        type = ATOLL_MSG_DUELLED;
    } else if (work->order.kind == ATOLL_ORDER_RIVAL) {
        struct atoll_rival *rival = &work->request.rival;
        rival->evaluation = work->order.evaluation;
        rival->task = work->order.task;
        rival->number = work->order.rival;
        if (rival->started_unix_ns == 0)
            rival->started_unix_ns = work->arrived_unix_ns;
        atoll_rival_encode(rival, out);
        type = ATOLL_MSG_RIVALLED;
    } else {
        struct atoll_evaluation *e = &work->request.evaluation;
        const struct atoll_object *object = work->objects[ATOLL_HELD_CANDIDATE];
        e->evaluation = work->order.evaluation;
        e->candidate = work->order.candidate.id;
        if (e->started_unix_ns == 0)
            e->started_unix_ns = work->arrived_unix_ns;
        if (work->prepared[ATOLL_HELD_CANDIDATE])
            e->behaviour = work->prepared[ATOLL_HELD_CANDIDATE]->behaviour;
        if (object) {
            e->compile_ns = object->compile_ns;
            e->binary = object->binary;
        }
        atoll_evaluation_encode(e, out);
        type = ATOLL_MSG_EVALUATED;
    }
    return type;
}

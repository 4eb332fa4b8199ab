#include "mpi-eval/tool/tools.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/tool/kernels.h"
#include "mpi-eval/tool/knowledge.h"

#define CALL_ARENA_BYTES ((size_t)4 << 20)
#define FOUND_BYTES      ((size_t)8 << 20) /* of a result before it is cut */

enum call_state { CALL_WAITING, CALL_SENT, CALL_DONE };

struct call {
    struct call *next;
    enum call_state state;
    struct atoll_arena *arena; /* of the order's texts */
    struct atoll_tool_order order;
    uint32_t model;
    unsigned peer;
    double started_ns;
    enum atoll_tool_status status;
    char text[ATOLL_TOOL_RESULT_LIMIT + 1];
};

struct atoll_tools {
    struct atoll_knowledge_tool *knowledge;
    struct atoll_kernels *kernels;
    struct call *first, **end; /* the oldest first */
    struct call *given;        /* by next; kept for its text */
    size_t open_count;
    uint64_t number; /* of the last call */
    double deadline_ns;
};

static void call_destroy(struct call *call)
{
    if (!call)
        return;
    atoll_arena_destroy(call->arena);
    free(call);
}

struct atoll_tools *atoll_tools_create(const struct atoll_knowledge_pack *knowledge, const char *except,
                                       double deadline_ns, struct atoll_err *err)
{
    struct atoll_tools *tools = calloc(1, sizeof(*tools));
    if (!tools) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the calls of models");
        return NULL;
    }
    tools->end = &tools->first;
    tools->deadline_ns = deadline_ns > 0 ? deadline_ns : ATOLL_TOOLS_DEADLINE_NS;
    tools->knowledge = atoll_knowledge_tool_create(knowledge, except, err);
    tools->kernels = tools->knowledge ? atoll_kernels_create(err) : NULL;
    if (tools->kernels)
        return tools;
    atoll_tools_destroy(tools);
    return NULL;
}

void atoll_tools_destroy(struct atoll_tools *tools)
{
    if (!tools)
        return;
    while (tools->first) {
        struct call *call = tools->first;
        tools->first = call->next;
        call_destroy(call);
    }
    call_destroy(tools->given);
    atoll_kernels_destroy(tools->kernels);
    atoll_knowledge_tool_destroy(tools->knowledge);
    free(tools);
}

size_t atoll_tools_open_count(const struct atoll_tools *tools)
{
    return tools->open_count;
}

static void finish(struct atoll_tools *tools, struct call *call, enum atoll_tool_status status,
                   const char *text, size_t length)
{
    tools->open_count -= call->state != CALL_DONE;
    call->state = CALL_DONE;
    call->status = status;
    atoll_tool_result_cut(text, length, call->text);
}

static void fail(struct atoll_tools *tools, struct call *call, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void fail(struct atoll_tools *tools, struct call *call, const char *format, ...)
{
    char text[ATOLL_ERR_TEXT_BYTES + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    finish(tools, call, ATOLL_TOOL_ERROR, text, strlen(text));
}

/* ---- calls of models ---- */

static void fail_unknown(struct atoll_tools *tools, struct call *call, const char *name)
{
    char names[256] = "";
    for (int i = 0; i < ATOLL_TOOL_COUNT; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof(names) - n, "%s%s", i ? ", " : "", atoll_tool_name((enum atoll_tool)i));
    }
    fail(tools, call, "there is no tool '%.64s'; these are there: %s", name, names);
}

/* What is done here and now. */
static int look_up(struct atoll_tools *tools, struct call *call, const struct atoll_tool_scene *scene,
                   enum atoll_tool tool, const struct atoll_tool_arguments *arguments, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_buffer found;
    int rc;
    atoll_buffer_init(&found, FOUND_BYTES);
    switch (tool) {
    case ATOLL_TOOL_SEARCH_KNOWLEDGE:
        rc = atoll_knowledge_tool_search(
            tools->knowledge,
            &(struct atoll_knowledge_reader){scene->language, scene->device, scene->features}, arguments,
            &found, &why);
        break;
    case ATOLL_TOOL_SEARCH_ARCHIVE:
        rc = atoll_kernels_search(tools->kernels, scene->engine, scene->task, scene->model, arguments, &found,
                                  &why);
        break;
    default: rc = atoll_knowledge_tool_read(tools->knowledge, arguments, &found, &why);
    }
    if (rc == 0)
        rc = atoll_buffer_check(&found, &why);
    if (rc == 0)
        finish(tools, call, ATOLL_TOOL_OK, (const char *)found.data, found.length);
    else if (why.code != ATOLL_E_MEMORY)
        fail(tools, call, "%s", why.text);
    atoll_buffer_fini(&found);
    return rc != 0 && why.code == ATOLL_E_MEMORY ? atoll_err_set(err, why.code, "%s", why.text) : 0;
}

/* -1: MEMORY. */
static int begin(struct atoll_tools *tools, struct call *call, const struct atoll_tool_scene *scene,
                 const char *name, const char *json, struct atoll_err *err)
{
    struct atoll_tool_arguments arguments;
    struct atoll_err why = ATOLL_ERR_INIT;
    enum atoll_tool tool = atoll_tool_find(name);
    if (tool == ATOLL_TOOL_COUNT) {
        fail_unknown(tools, call, name);
        return 0;
    }
    if (atoll_tool_arguments_read(tool, json, call->arena, &arguments, &why) != 0) {
        if (why.code == ATOLL_E_MEMORY)
            return atoll_err_set(err, why.code, "%s", why.text);
        fail(tools, call, "%s", why.text);
        return 0;
    }
    if (tool != ATOLL_TOOL_COMPILE && tool != ATOLL_TOOL_CHECK)
        return look_up(tools, call, scene, tool, &arguments, err);
    if (tools->open_count > ATOLL_TOOLS_CALL_LIMIT) {
        fail(tools, call, "too many calls wait for a device; answer without this one");
        return 0;
    }
    call->model = scene->model;
    call->order = (struct atoll_tool_order){.call = call->order.call,
                                            .task = scene->task,
                                            .tool = tool,
                                            .source = arguments.source,
                                            .pattern = arguments.pattern};
    call->order.language = atoll_arena_text(call->arena, scene->language, strlen(scene->language), err);
    return call->order.language ? 0 : -1;
}

int atoll_tools_start(struct atoll_tools *tools, const struct atoll_tool_scene *scene, const char *name,
                      const char *arguments, double now_ns, uint64_t *ret_call, struct atoll_err *err)
{
    struct call *call = calloc(1, sizeof(*call));
    if (!call)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a call of a model");
    call->arena = atoll_arena_create(CALL_ARENA_BYTES, err);
    call->order.call = tools->number + 1;
    call->started_ns = now_ns;
    tools->open_count++;
    if (!call->arena || begin(tools, call, scene, name, arguments, err) != 0) {
        tools->open_count--;
        call_destroy(call);
        return -1;
    }
    *tools->end = call;
    tools->end = &call->next;
    *ret_call = ++tools->number;
    return 0;
}

static void detach(struct atoll_tools *tools, struct call **at)
{
    struct call *call = *at;
    *at = call->next;
    if (!*at)
        tools->end = at;
    call->next = NULL;
}

int atoll_tools_next(struct atoll_tools *tools, double now_ns, struct atoll_tool_result *ret_result)
{
    struct call **at = &tools->first;
    call_destroy(tools->given);
    tools->given = NULL;
    for (; *at; at = &(*at)->next) {
        struct call *call = *at;
        if (call->state != CALL_DONE && now_ns - call->started_ns > tools->deadline_ns) {
            fail(tools, call, "%s within %.0f s; go on without it",
                 call->state == CALL_WAITING ? "no device was free" : "no result came",
                 tools->deadline_ns / 1e9);
        }
        if (call->state == CALL_DONE)
            break;
    }
    if (!*at)
        return 0;
    tools->given = *at;
    detach(tools, at);
    *ret_result = (struct atoll_tool_result){.call = tools->given->order.call,
                                             .status = tools->given->status,
                                             .text = tools->given->text,
                                             .elapsed_s = (now_ns - tools->given->started_ns) / 1e9};
    return 1;
}

void atoll_tools_cancel(struct atoll_tools *tools, uint64_t number)
{
    for (struct call **at = &tools->first; *at; at = &(*at)->next) {
        struct call *call = *at;
        if (call->order.call != number)
            continue;
        tools->open_count -= call->state != CALL_DONE;
        detach(tools, at);
        call_destroy(call);
        return;
    }
}

/* ---- evaluators ---- */

const struct atoll_tool_order *atoll_tools_next_order(struct atoll_tools *tools, unsigned peer,
                                                      uint32_t model)
{
    struct call *waiting = NULL;
    unsigned sent = 0;
    for (struct call *call = tools->first; call; call = call->next) {
        sent += call->state == CALL_SENT && call->peer == peer;
        if (!waiting && call->state == CALL_WAITING && call->model == model)
            waiting = call;
    }
    if (!waiting || sent >= ATOLL_TOOLS_PEER_LIMIT)
        return NULL;
    waiting->state = CALL_SENT;
    waiting->peer = peer;
    return &waiting->order;
}

int atoll_tools_take(struct atoll_tools *tools, unsigned peer, const void *payload, size_t length,
                     struct atoll_err *err)
{
    struct atoll_tool_answer answer;
    struct atoll_arena *arena = atoll_arena_create(2 * ATOLL_TOOL_RESULT_LIMIT, err);
    int rc = arena ? atoll_tool_answer_decode(payload, length, arena, &answer, err) : -1;
    for (struct call *call = tools->first; call && rc == 0; call = call->next)
        if (call->order.call == answer.call && call->state == CALL_SENT && call->peer == peer)
            finish(tools, call, answer.status, answer.text, strlen(answer.text));
    atoll_arena_destroy(arena);
    return rc;
}

void atoll_tools_lose(struct atoll_tools *tools, unsigned peer)
{
    for (struct call *call = tools->first; call; call = call->next)
        if (call->state == CALL_SENT && call->peer == peer)
            fail(tools, call, "the evaluator that worked on it was lost; nothing is known of this source");
}

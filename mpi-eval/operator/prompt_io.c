#include "mpi-eval/operator/prompt_io.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "core/tool.h"
#include "evolution/reply/reply.h"
#include "evolution/prompt/prompt.h"

/* Beyond them a journal keeps the beginning only. */
#define ANSWER_KEPT_BYTES  ((size_t)1 << 20)
#define THOUGHT_KEPT_BYTES ((size_t)256 << 10)

/* Where the kernels of one prompt are looked up. */
struct kernels {
    const struct atoll_prompt_io *io;
    const struct atoll_ask *ask;
    const struct atoll_task *task;
    const char *model;    /* of the devices */
    const char *language; /* of the prompt */
    struct atoll_arena *arena;
};

const char *atoll_prompt_io_language(const struct atoll_engine *engine, const char *backend,
                                     const struct atoll_ask *ask)
{
    enum atoll_language language = atoll_language_of_backend(backend, atoll_engine_triton(engine));
    struct atoll_id source;
    struct atoll_choice choice;
    const char *parent = NULL, *text;
    if (atoll_id_is_zero(&ask->parent) ||
        atoll_engine_candidate(engine, ask->task, &ask->parent, &source, &choice) != 0 ||
        atoll_engine_source(engine, &source, &parent, &text) != 0)
        parent = NULL;
    return atoll_language_of_ask(language, parent, ask->number);
}

static int find_evaluation(const struct kernels *k, const struct atoll_id *candidate,
                           struct atoll_prompt_kernel *kernel, struct atoll_err *err)
{
    struct atoll_evaluation found, *kept;
    int got = atoll_prompt_context_find(k->io->context, candidate, k->model, &found, err);
    if (got <= 0)
        return got;
    kept = atoll_arena_alloc(k->arena, sizeof(*kept), err);
    if (!kept) {
        atoll_evaluation_fini(&found);
        return -1;
    }
    *kept = found; /* it owns nothing: a prompt context keeps no samples */
    kernel->evaluation = kept;
    kernel->time_ns = atoll_evaluation_time_ns(kept, k->task);
    if (kernel->time_ns > 0 && k->ask->baseline_ns > 0)
        kernel->speedup = k->ask->baseline_ns / kernel->time_ns;
    return 0;
}

/* 1: the kernel is known; 0: it is not, and the prompt leaves it out. */
static int find_kernel(const struct kernels *k, const struct atoll_id *candidate,
                       struct atoll_prompt_kernel *ret_kernel, struct atoll_err *err)
{
    const struct atoll_engine *engine = k->io->engine;
    struct atoll_choice *choice = atoll_arena_alloc(k->arena, sizeof(*choice), err);
    struct atoll_id source;
    const char *language;
    if (!choice)
        return -1;
    *ret_kernel = (struct atoll_prompt_kernel){.choice = choice};
    if (atoll_engine_candidate(engine, k->ask->task, candidate, &source, choice) != 0 ||
        atoll_engine_source(engine, &source, &language, &ret_kernel->source) != 0 ||
        strcmp(language, k->language) != 0) { /* a prompt speaks of one language */
        return 0;
    }
    return find_evaluation(k, candidate, ret_kernel, err) == 0 ? 1 : -1;
}

static int find_kernels(const struct kernels *k, const struct atoll_id *candidates, size_t count,
                        struct atoll_prompt_kernel *ret_kernels, size_t *ret_count, struct atoll_err *err)
{
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        int got = find_kernel(k, &candidates[i], &ret_kernels[*ret_count], err);
        if (got < 0)
            return -1;
        *ret_count += (size_t)got;
    }
    return 0;
}

const char *atoll_prompt_io_keep(struct atoll_arena *arena, const void *bytes, size_t length, size_t limit,
                                 struct atoll_err *err)
{
    size_t kept = !bytes ? 0 : length <= limit ? length : atoll_utf8_cut(bytes, limit);
    char *text = atoll_arena_text(arena, bytes ? bytes : "", kept, err);
    for (size_t i = 0; text && i < kept; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return text;
}

static int write_prompt(const struct atoll_prompt_input *input, struct atoll_arena *arena,
                        struct atoll_llm_request *request, struct atoll_err *err)
{
    struct atoll_prompt prompt;
    atoll_prompt_init(&prompt);
    int rc = atoll_prompt_write(input, &prompt, err);
    if (rc == 0) {
        const char *system =
            atoll_prompt_io_keep(arena, prompt.system.data, prompt.system.length, SIZE_MAX, err);
        const char *user =
            system ? atoll_prompt_io_keep(arena, prompt.user.data, prompt.user.length, SIZE_MAX, err) : NULL;
        rc = user ? 0 : -1;
        request->messages[0] =
            (struct atoll_llm_message){.role = ATOLL_LLM_SYSTEM, .text = system, .is_cacheable = 1};
        request->messages[1] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = user};
        request->message_count = 2;
    }
    atoll_prompt_fini(&prompt);
    return rc;
}

/* Nobody who only orders or sums up has anything to try. */
unsigned atoll_prompt_io_tool_limit(const struct atoll_prompt_io *io, const struct atoll_ask *ask)
{
    switch (ask->kind) {
    case ATOLL_ASK_WRITE:
    case ATOLL_ASK_PLAN:
    case ATOLL_ASK_ANALYSE: return io->tool_limit;
    default: return 0;
    }
}

/* What a model said in a turn, and what its calls gave. */
static int add_turn(const struct atoll_tool_turn *turn, struct atoll_arena *arena,
                    struct atoll_llm_request *request, struct atoll_err *err)
{
    struct atoll_llm_tool_call *calls = atoll_arena_alloc_array(arena, turn->call_count, sizeof(*calls), err);
    if (!calls)
        return -1;
    if (request->message_count + 1 + turn->call_count > ATOLL_LLM_MESSAGE_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "ask %llu has too many turns",
                             (unsigned long long)turn->ask);
    request->messages[request->message_count++] =
        (struct atoll_llm_message){.role = ATOLL_LLM_ASSISTANT,
                                   .text = turn->said,
                                   .tool_call_count = turn->call_count,
                                   .tool_calls = calls};
    for (uint32_t i = 0; i < turn->call_count; i++) {
        const struct atoll_tool_call *call = &turn->calls[i];
        calls[i] = (struct atoll_llm_tool_call){call->id, call->name, call->arguments};
        request->messages[request->message_count++] =
            (struct atoll_llm_message){.role = ATOLL_LLM_TOOL,
                                       .text = call->result,
                                       .tool_call_id = call->id,
                                       .is_error = call->status != ATOLL_TOOL_OK};
    }
    return 0;
}

/* What may be called, and the turns so far. */
static int add_tools(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                     const struct atoll_ask_record *record, struct atoll_arena *arena,
                     struct atoll_llm_request *request, struct atoll_err *err)
{
    unsigned limit = atoll_prompt_io_tool_limit(io, ask);
    for (unsigned tool = 0; limit && tool < ATOLL_TOOL_COUNT; tool++) {
        request->tools[request->tool_count++] =
            (struct atoll_llm_tool){.name = atoll_tool_name((enum atoll_tool)tool),
                                    .description = atoll_tool_description((enum atoll_tool)tool),
                                    .schema = atoll_tool_schema((enum atoll_tool)tool)};
    }
    request->is_tool_free = limit && record && record->call_count >= limit;
    for (const struct atoll_ask_turn *t = record ? record->turns : NULL; t; t = t->next)
        if (add_turn(&t->turn, arena, request, err) != 0)
            return -1;
    return 0;
}

int atoll_prompt_io_request(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                            struct atoll_arena *arena, struct atoll_llm_request *ret_request,
                            struct atoll_err *err)
{
    struct atoll_prompt_kernel parent, inspirations[ATOLL_ASK_INSPIRATION_LIMIT],
        failures[ATOLL_ASK_FAILURE_LIMIT];
    struct kernels k = {io,
                        ask,
                        atoll_engine_task(io->engine, ask->task),
                        atoll_engine_model(io->engine, ask->model),
                        atoll_prompt_io_language(io->engine, io->backend, ask),
                        arena};
    struct atoll_prompt_input input = {.ask = ask,
                                       .task = k.task,
                                       .language = k.language,
                                       .backend = io->backend,
                                       .device = atoll_prompt_context_device(io->context, k.model),
                                       .baseline_ns = ask->baseline_ns,
                                       .best_ns = ask->best_ns,
                                       .floor_ns = ask->floor_ns,
                                       .inspirations = inspirations,
                                       .failures = failures};
    if (!k.task) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "ask %llu is about task %u, which is not there",
                             (unsigned long long)ask->number, ask->task);
    }
    if (input.device)
        input.threads = input.device->threads;
    int has_parent = atoll_id_is_zero(&ask->parent) ? 0 : find_kernel(&k, &ask->parent, &parent, err);
    if (has_parent < 0 ||
        find_kernels(&k, ask->inspirations, ask->inspiration_count, inspirations, &input.inspiration_count,
                     err) != 0 ||
        find_kernels(&k, ask->failures, ask->failure_count, failures, &input.failure_count, err) != 0) {
        return -1;
    }
    input.parent = has_parent ? &parent : NULL;
    input.user_limit_bytes = atoll_roles_prompt_bytes(io->roles, atoll_model_role_of_ask(ask));
    atoll_llm_request_init(ret_request);
    if (write_prompt(&input, arena, ret_request, err) != 0)
        return -1;
    const struct atoll_ask_record *record =
        atoll_ask_history_find(atoll_prompt_context_asks(io->context), ask->number);
    char key[128];
    int length = snprintf(key, sizeof(key), "%.32s.%llu", io->campaign, (unsigned long long)ask->number);
    if (record && record->turn_count)
        length += snprintf(key + length, sizeof(key) - (size_t)length, ".%u", record->turn_count);
    if (add_tools(io, ask, record, arena, ret_request, err) != 0)
        return -1;
    ret_request->key = atoll_arena_text(arena, key, (size_t)length, err);
    ret_request->campaign = io->account ? io->account : io->campaign;
    ret_request->task = k.task->name;
    atoll_roles_apply(io->roles, atoll_model_role_of_ask(ask), ret_request);
    ret_request->generation = ask->generation;
    ret_request->deadline_s = io->deadline_s;
    ret_request->sample = ask->number; /* asks of one prompt are independent samples */
    return ret_request->key ? 0 : -1;
}

static enum atoll_reply_status status_of(enum atoll_llm_status status)
{
    switch (status) {
    case ATOLL_LLM_OK:
    case ATOLL_LLM_TRUNCATED: return ATOLL_REPLY_OK;
    case ATOLL_LLM_EMPTY: return ATOLL_REPLY_EMPTY;
    case ATOLL_LLM_REFUSED: return ATOLL_REPLY_REFUSED;
    case ATOLL_LLM_BUDGET: return ATOLL_REPLY_TASK_SPENT;
    default: return ATOLL_REPLY_FAILED;
    }
}

static int keep_dialogue(const struct atoll_llm_request *request, const struct atoll_llm_outcome *outcome,
                         struct atoll_arena *arena, struct atoll_dialogue *d, struct atoll_err *err)
{
    d->request = outcome->request;
    if (atoll_id_is_zero(&d->request))
        d->request = atoll_llm_request_id(request);
    d->system = request->messages[0].text;
    d->prompt = request->messages[1].text;
    d->answer = atoll_prompt_io_keep(arena, outcome->text.data, outcome->text.length, ANSWER_KEPT_BYTES, err);
    d->thought = atoll_prompt_io_keep(arena, outcome->reasoning.data, outcome->reasoning.length,
                                      THOUGHT_KEPT_BYTES, err);
    d->detail = atoll_prompt_io_keep(arena, outcome->detail, strlen(outcome->detail), SIZE_MAX, err);
    d->input_tokens = outcome->usage.input;
    d->cached_tokens = outcome->usage.cached_input;
    d->output_tokens = outcome->usage.output;
    d->reasoning_tokens = outcome->usage.reasoning;
    d->elapsed_s = outcome->elapsed_s >= 0 && outcome->elapsed_s < 1e9 ? outcome->elapsed_s : 0;
    d->is_from_store = outcome->is_from_store != 0;
    return d->answer && d->thought && d->detail ? 0 : -1;
}

/* The source that the answer may edit; NULL: none is known. */
static const char *parent_text(const struct atoll_prompt_io *io, const struct atoll_ask *ask)
{
    struct atoll_id source;
    struct atoll_choice choice;
    const char *language, *text;
    if (atoll_id_is_zero(&ask->parent) ||
        atoll_engine_candidate(io->engine, ask->task, &ask->parent, &source, &choice) != 0 ||
        atoll_engine_source(io->engine, &source, &language, &text) != 0) {
        return NULL;
    }
    return text;
}

int atoll_prompt_io_reply(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                          const struct atoll_llm_request *request, const struct atoll_llm_outcome *outcome,
                          struct atoll_arena *arena, struct atoll_reply *ret_reply, struct atoll_err *err)
{
    const char *language = atoll_prompt_io_language(io->engine, io->backend, ask);
    const char *who = *outcome->model ? outcome->model : *outcome->name ? outcome->name : request->model;
    struct atoll_reply reply = {.ask = ask->number,
                                .status = status_of(outcome->status),
                                .tokens = outcome->usage.input + outcome->usage.output,
                                .cost_usd = outcome->cost_usd};
    int is_usable = 0;
    if (!(reply.cost_usd >= 0) || !isfinite(reply.cost_usd))
        reply.cost_usd = 0;
    reply.origin = atoll_prompt_io_keep(arena, who, strlen(who), SIZE_MAX, err);
    if (!reply.origin || keep_dialogue(request, outcome, arena, &reply.dialogue, err) != 0)
        return -1;
    /* What is read is the text that the journal will hold: a replay has no more. */
    const char *answer = reply.dialogue.answer;
    if (atoll_llm_status_is_answer(outcome->status) &&
        atoll_reply_read(answer, strlen(answer), language, parent_text(io, ask), ask->count, arena, &reply,
                         &is_usable, err) != 0) {
        return -1;
    }
    *ret_reply = reply;
    return 0;
}

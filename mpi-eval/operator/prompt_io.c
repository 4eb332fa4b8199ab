#include "mpi-eval/operator/prompt_io.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "core/issue.h"
#include "core/tool.h"
#include "evolution/reply/reply.h"
#include "evolution/reply/reply_items.h"
#include "evolution/prompt/prompt.h"
#include "mpi-eval/operator/prompt_version.h"

/* Beyond them a journal keeps the beginning only. */
#define ANSWER_KEPT_BYTES  ((size_t)1 << 20)
#define THOUGHT_KEPT_BYTES ((size_t)256 << 10)
#define ANCESTORS          12u
#define ROUNDS             8u
#define TURN_LEAST         ((size_t)2 << 10) /* bytes that a turn of tools is worth asking for */
#define LEFT_BYTES         48u               /* of the note how many calls are left */

/* Where the kernels of one prompt are looked up. */
struct kernels {
    const struct atoll_prompt_io *io;
    const struct atoll_ask *ask;
    const struct atoll_task *task;
    const char *model;    /* of the devices */
    const char *language; /* of the prompt */
    struct atoll_arena *arena;
};

/* Which device model's population holds what is translated; the ask's own says that another language is wanted. */
static uint32_t model_of_parent(const struct atoll_engine *engine, const struct atoll_ask *ask)
{
    struct atoll_candidate_view view;
    uint32_t count = atoll_engine_model_count(engine);
    if (atoll_engine_view(engine, ask->task, ask->model, &ask->parent, &view) == 0)
        return ask->model;
    for (uint32_t model = 0; model < count; model++)
        if (atoll_engine_view(engine, ask->task, model, &ask->parent, &view) == 0)
            return model;
    return ask->model;
}

static const char *other_language(const char *language)
{
    return strcmp(language, "triton") == 0 ? "cuda" : "triton";
}

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
    if (parent && ask->op == ATOLL_OPERATOR_TRANSLATE && language == ATOLL_LANGUAGE_CUDA_TRITON &&
        model_of_parent(engine, ask) == ask->model)
        parent = other_language(parent);
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

/* What is translated may be in another language and measured on another device; 0: it is not known. */
static int find_elite(const struct kernels *k, struct atoll_prompt_kernel *ret_kernel,
                      struct atoll_prompt_input *input, struct atoll_err *err)
{
    struct kernels there = *k;
    const struct atoll_engine *engine = k->io->engine;
    uint32_t model = model_of_parent(engine, k->ask);
    struct atoll_id source;
    struct atoll_choice choice;
    const char *text;
    if (atoll_engine_candidate(engine, k->ask->task, &k->ask->parent, &source, &choice) != 0 ||
        atoll_engine_source(engine, &source, &there.language, &text) != 0)
        return 0;
    there.model = atoll_engine_model(engine, model);
    input->parent_language = there.language;
    if (model != k->ask->model)
        input->parent_device = atoll_prompt_context_device(k->io->context, there.model);
    int got = find_kernel(&there, &k->ask->parent, ret_kernel, err);
    if (model != k->ask->model)
        ret_kernel->speedup = 0; /* baselines are of their devices */
    return got;
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

static void put_sections(const struct atoll_prompt *prompt, struct atoll_prompt_question *question)
{
    for (unsigned i = 0; i < ATOLL_PROMPT_SECTION_COUNT; i++)
        if (prompt->section_bytes[i] || prompt->cut_bytes[i])
            question->sections[question->section_count++] =
                (struct atoll_dialogue_section){atoll_prompt_section_name((enum atoll_prompt_section)i),
                                                prompt->section_bytes[i], prompt->cut_bytes[i]};
}

static int write_prompt(const struct atoll_prompt_input *input, struct atoll_arena *arena,
                        struct atoll_prompt_question *question, struct atoll_err *err)
{
    struct atoll_prompt prompt;
    struct atoll_llm_request *request = &question->request;
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
        put_sections(&prompt, question);
        memcpy(question->brief_cut_bytes, prompt.brief_cut_bytes, sizeof(question->brief_cut_bytes));
    }
    atoll_prompt_fini(&prompt);
    return rc;
}

unsigned atoll_prompt_io_tool_limit(const struct atoll_prompt_io *io, const struct atoll_ask *ask)
{
    return atoll_roles_tool_limit(io->roles, atoll_model_role_of_ask(ask), io->tool_limit);
}

/* A result in what room is left for it; whole where that is enough. */
static const char *fit_result(const char *result, size_t room, struct atoll_arena *arena,
                              struct atoll_err *err)
{
    size_t length = strlen(result), limit = room > ATOLL_TOOL_CUT_LEAST ? room : ATOLL_TOOL_CUT_LEAST;
    char *cut = length > limit ? atoll_arena_alloc(arena, limit + 1, err) : NULL;
    if (length <= limit)
        return result;
    if (cut)
        atoll_tool_text_cut(result, length, limit, cut);
    return cut;
}

/* Behind the last result of a turn: how many calls are left. */
static const char *add_left(const char *result, unsigned left, struct atoll_arena *arena,
                            struct atoll_err *err)
{
    char note[LEFT_BYTES];
    int noted =
        left ? snprintf(note, sizeof(note), "\n[%u more call%s may be made.]", left, left == 1 ? "" : "s")
             : snprintf(note, sizeof(note), "\n[No more calls may be made: answer now.]");
    size_t length = strlen(result);
    char *text = atoll_arena_alloc(arena, length + (size_t)noted + 1, err);
    if (text)
        snprintf(text, length + (size_t)noted + 1, "%s%s", result, note);
    return text;
}

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

/* What a model said, thought and called in a turn, which all goes back to it: of thoughts that its provider sealed the tokens
 * tell. */
static size_t answer_bytes(const struct atoll_tool_turn *turn)
{
    size_t texts = length_of(turn->said) + length_of(turn->thought);
    for (uint32_t i = 0; i < turn->call_count; i++)
        texts += length_of(turn->calls[i].arguments);
    size_t tokens = atoll_roles_token_bytes(turn->tokens_out);
    return texts > tokens ? texts : tokens;
}

/* What a model said in a turn, and what its calls gave.  left: calls that may be made after it.  room: bytes that are left for
 * this turn and those after it, which has what it took taken off; a turn before is told as it was, so that the request of each
 * is the beginning of the next. */
static int add_turn(const struct atoll_tool_turn *turn, unsigned left, size_t *room,
                    struct atoll_arena *arena, struct atoll_prompt_question *question, struct atoll_err *err)
{
    struct atoll_llm_request *request = &question->request;
    size_t used = answer_bytes(turn) + LEFT_BYTES;
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
        size_t free_bytes = *room > used ? *room - used : 0;
        const char *result = fit_result(call->result, free_bytes / (turn->call_count - i), arena, err);
        if (!result)
            return -1;
        question->is_short_of_room |= result != call->result;
        used += strlen(result);
        if (i + 1 == turn->call_count && call->status != ATOLL_TOOL_REFUSED)
            result = add_left(result, left, arena, err);
        if (!result)
            return -1;
        calls[i] = (struct atoll_llm_tool_call){call->id, call->name, call->arguments};
        request->messages[request->message_count++] =
            (struct atoll_llm_message){.role = ATOLL_LLM_TOOL,
                                       .text = result,
                                       .tool_call_id = call->id,
                                       .is_error = call->status != ATOLL_TOOL_OK};
    }
    *room -= used < *room ? used : *room;
    return 0;
}

/* Of the room of a prompt what its turns have for sure; they have what the prompt leaves besides. */
static size_t turns_bytes(const struct atoll_prompt_io *io, const struct atoll_ask *ask)
{
    size_t all = atoll_roles_prompt_bytes(io->roles, atoll_model_role_of_ask(ask));
    return atoll_prompt_io_tool_limit(io, ask) ? all / 4 : 0;
}

/* What may be called, and the turns so far; nothing any more where one more turn would find no room. */
static int add_tools(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                     const struct atoll_ask_record *record, struct atoll_arena *arena,
                     struct atoll_prompt_question *question, struct atoll_err *err)
{
    struct atoll_llm_request *request = &question->request;
    unsigned limit = atoll_prompt_io_tool_limit(io, ask);
    const char *language = atoll_prompt_io_language(io->engine, io->backend, ask);
    for (unsigned tool = 0; limit && tool < ATOLL_TOOL_COUNT; tool++) {
        request->tools[request->tool_count++] =
            (struct atoll_llm_tool){.name = atoll_tool_name((enum atoll_tool)tool),
                                    .description = atoll_tool_description((enum atoll_tool)tool, language),
                                    .schema = atoll_tool_schema((enum atoll_tool)tool)};
    }
    size_t all = atoll_roles_prompt_bytes(io->roles, atoll_model_role_of_ask(ask));
    size_t prompt = strlen(request->messages[1].text);
    size_t room = all == 0 ? SIZE_MAX : all > prompt ? all - prompt : 0;
    unsigned called = 0;
    for (const struct atoll_ask_turn *t = record ? record->turns : NULL; t; t = t->next) {
        called += t->turn.call_count;
        if (add_turn(&t->turn, called < limit ? limit - called : 0, &room, arena, question, err) != 0)
            return -1;
    }
    int is_full = limit && record && record->turns && room < TURN_LEAST;
    question->is_short_of_room |= is_full;
    request->is_tool_free = is_full || (limit && record && record->call_count >= limit);
    return 0;
}

/* ---- what a prompt tells ---- */

/* Room for what input points to. */
struct told {
    struct atoll_prompt_kernel parent, best, inspirations[ATOLL_ASK_INSPIRATION_LIMIT],
        failures[ATOLL_ASK_FAILURE_LIMIT + ATOLL_BRIEF_LIMIT], ancestors[ANCESTORS],
        siblings[ATOLL_BRIEF_LIMIT], slower[ATOLL_BRIEF_LIMIT];
    struct atoll_prompt_combination table[ATOLL_BRIEF_LIMIT];
    struct atoll_brief briefs[ATOLL_BRIEF_LIMIT];
    struct atoll_reply_item issues[ATOLL_REPLY_ITEM_LIMIT];
    struct atoll_prompt_round rounds[ROUNDS];
};

/* From the parent's parent upwards, at most the nearest ANCESTORS; told from the oldest on. */
static int tell_ancestors(const struct kernels *k, struct told *t, struct atoll_prompt_input *input,
                          struct atoll_err *err)
{
    struct atoll_candidate_view view;
    struct atoll_id at = k->ask->parent;
    struct atoll_prompt_kernel found[ANCESTORS];
    size_t count = 0;
    for (unsigned i = 0; i < ANCESTORS; i++) {
        if (atoll_engine_view(k->io->engine, k->ask->task, k->ask->model, &at, &view) != 0 ||
            atoll_id_is_zero(&view.parent))
            break;
        at = view.parent;
        int got = find_kernel(k, &at, &found[count], err);
        if (got < 0)
            return -1;
        count += (size_t)got;
    }
    for (size_t i = 0; i < count; i++)
        t->ancestors[i] = found[count - 1 - i];
    input->ancestors = t->ancestors;
    input->ancestor_count = count;
    return 0;
}

static int is_result(enum atoll_brief_kind kind)
{
    return kind == ATOLL_BRIEF_SIBLING || kind == ATOLL_BRIEF_SLOWER || kind == ATOLL_BRIEF_BEST ||
           kind == ATOLL_BRIEF_COMBINATION || kind == ATOLL_BRIEF_FAILURE;
}

/* A result that the briefing names. */
static int tell_result(const struct kernels *k, const struct atoll_brief *brief, struct told *t,
                       struct atoll_prompt_input *input, struct atoll_err *err)
{
    struct atoll_prompt_kernel kernel;
    if (brief->kind == ATOLL_BRIEF_COMBINATION && atoll_id_is_zero(&brief->id)) { /* of all */
        sscanf(brief->text, "%9zu %9zu", &input->tried_count, &input->correct_count);
        return 0;
    }
    int got = find_kernel(k, &brief->id, &kernel, err);
    if (got <= 0)
        return got;
    switch (brief->kind) {
    case ATOLL_BRIEF_SIBLING: t->siblings[input->sibling_count++] = kernel; break;
    case ATOLL_BRIEF_SLOWER: t->slower[input->slower_count++] = kernel; break;
    case ATOLL_BRIEF_FAILURE: t->failures[input->failure_count++] = kernel; break;
    case ATOLL_BRIEF_BEST:
        t->best = kernel;
        input->best = &t->best;
        break;
    default:
        if (kernel.evaluation)
            t->table[input->combination_count++] =
                (struct atoll_prompt_combination){kernel.choice, kernel.time_ns, kernel.evaluation->verdict};
    }
    return 0;
}

static int tell_briefing(const struct kernels *k, const struct atoll_briefing *briefing, struct told *t,
                         struct atoll_prompt_input *input, struct atoll_err *err)
{
    input->siblings = t->siblings;
    input->slower = t->slower;
    input->table = t->table;
    input->briefs = t->briefs;
    for (uint32_t i = 0; i < briefing->count; i++) {
        const struct atoll_brief *brief = &briefing->briefs[i];
        if (!is_result(brief->kind))
            t->briefs[input->brief_count++] = *brief;
        else if (tell_result(k, brief, t, input, err) != 0)
            return -1;
    }
    return 0;
}

/* A stage works on its own; others see all that was found in the kernel they start from. */
static void tell_issues(const struct kernels *k, struct told *t, struct atoll_prompt_input *input)
{
    const struct atoll_ask_record *analysis =
        atoll_ask_history_analysis(atoll_prompt_context_asks(k->io->context), k->ask);
    int is_stage = k->ask->op == ATOLL_OPERATOR_EXTRACT ||
                   (k->ask->op == ATOLL_OPERATOR_STAGED && k->ask->kind == ATOLL_ASK_WRITE);
    input->issues = t->issues;
    input->has_other_params = analysis && !atoll_id_equal(&analysis->ask.parent, &k->ask->parent);
    for (uint32_t i = 0; analysis && i < analysis->item_count; i++) {
        const struct atoll_reply_item *item = &analysis->items[i];
        int is_open = item->kind == ATOLL_ITEM_PROPOSAL || item->issue == ATOLL_ISSUE_COUNT;
        int is_of_stage =
            item->stage == k->ask->stage || (is_open && k->ask->stage == ATOLL_ISSUE_STAGE_DISCOVERY);
        if ((item->kind == ATOLL_ITEM_ISSUE || item->kind == ATOLL_ITEM_PROPOSAL) &&
            (!is_stage || is_of_stage)) {
            t->issues[input->issue_count++] = *item;
        }
    }
}

/* Those that brought a kernel. */
static int tell_rounds(const struct kernels *k, struct told *t, struct atoll_prompt_input *input,
                       struct atoll_err *err)
{
    const struct atoll_ask_record *records[ROUNDS];
    size_t count =
        atoll_ask_history_rounds(atoll_prompt_context_asks(k->io->context), k->ask, records, ROUNDS);
    input->rounds = t->rounds;
    for (size_t i = 0; i < count; i++) {
        struct atoll_candidate_view view = {.ask = 0};
        struct atoll_prompt_round *round = &t->rounds[input->round_count];
        uint32_t cursor = 0;
        while (view.ask != records[i]->ask.number &&
               atoll_engine_next_view(k->io->engine, k->ask->task, k->ask->model, &cursor, &view))
            continue;
        int got = view.ask == records[i]->ask.number ? find_kernel(k, &view.id, &round->kernel, err) : 0;
        if (got < 0)
            return -1;
        round->thought = records[i]->thought;
        input->round_count += (size_t)got;
    }
    return 0;
}

static int tell(const struct kernels *k, const struct atoll_ask_record *record, struct told *t,
                struct atoll_prompt_input *input, struct atoll_err *err)
{
    const struct atoll_ask *ask = k->ask;
    int has_parent = atoll_id_is_zero(&ask->parent)        ? 0
                     : ask->op == ATOLL_OPERATOR_TRANSLATE ? find_elite(k, &t->parent, input, err)
                                                           : find_kernel(k, &ask->parent, &t->parent, err);
    input->inspirations = t->inspirations;
    input->failures = t->failures;
    if (has_parent < 0 ||
        find_kernels(k, ask->inspirations, ask->inspiration_count, t->inspirations, &input->inspiration_count,
                     err) != 0 ||
        find_kernels(k, ask->failures, ask->failure_count, t->failures, &input->failure_count, err) != 0) {
        return -1;
    }
    input->parent = has_parent ? &t->parent : NULL;
    input->step = atoll_ask_history_step(atoll_prompt_context_asks(k->io->context), ask);
    tell_issues(k, t, input);
    if (k->io->has_trajectory && has_parent && tell_ancestors(k, t, input, err) != 0)
        return -1;
    if (ask->op == ATOLL_OPERATOR_STAGED || ask->op == ATOLL_OPERATOR_EXTRACT)
        if (tell_rounds(k, t, input, err) != 0)
            return -1;
    return record && record->briefing ? tell_briefing(k, record->briefing, t, input, err) : 0;
}

static int say_whose(const struct atoll_prompt_io *io, const struct atoll_ask *ask, unsigned turn,
                     struct atoll_arena *arena, struct atoll_llm_request *request, struct atoll_err *err)
{
    char key[128];
    int length = snprintf(key, sizeof(key), "%.32s.%llu", io->campaign, (unsigned long long)ask->number);
    if (turn)
        length += snprintf(key + length, sizeof(key) - (size_t)length, ".%u", turn);
    request->key = atoll_arena_text(arena, key, (size_t)length, err);
    request->campaign = io->account ? io->account : io->campaign;
    request->task = atoll_engine_task(io->engine, ask->task)->name;
    request->generation = ask->generation;
    request->deadline_s = io->deadline_s;
    request->sample = ask->number; /* asks of one prompt are independent samples */
    atoll_roles_apply(io->roles, atoll_model_role_of_ask(ask), ask->island, request);
    return request->key ? 0 : -1;
}

/* The first two messages.  record: NULL: nothing is known of the ask. */
static int word(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                const struct atoll_ask_record *record, struct atoll_arena *arena,
                struct atoll_prompt_question *ret_question, struct atoll_err *err)
{
    const struct atoll_search *search = atoll_engine_search(io->engine);
    struct kernels k = {io,
                        ask,
                        atoll_engine_task(io->engine, ask->task),
                        atoll_engine_model(io->engine, ask->model),
                        atoll_prompt_io_language(io->engine, io->backend, ask),
                        arena};
    struct atoll_prompt_input input = {
        .texts = io->texts,
        .ask = ask,
        .task = k.task,
        .language = k.language,
        .backend = io->backend,
        .device = atoll_prompt_context_device(io->context, k.model),
        .baseline_ns = ask->baseline_ns,
        .best_ns = ask->best_ns,
        .floor_ns = ask->floor_ns,
        .leaves_params = ask->op != ATOLL_OPERATOR_TEMPLATE && atoll_search_leaves_params(search),
        .round_limit = search->stage_rounds,
        .alternatives = search->strategy == ATOLL_STRATEGY_BEAM ? search->beam_plans : 1,
        .tool_limit = atoll_prompt_io_tool_limit(io, ask),
        .user_limit_bytes =
            atoll_roles_prompt_bytes(io->roles, atoll_model_role_of_ask(ask)) - turns_bytes(io, ask)};
    struct told *told = atoll_arena_alloc(arena, sizeof(*told), err);
    if (!told)
        return -1;
    if (!k.task) {
        return atoll_err_set(err, ATOLL_E_INTERNAL, "ask %llu is about task %u, which is not there",
                             (unsigned long long)ask->number, ask->task);
    }
    if (input.device)
        input.threads = input.device->threads;
    memset(ret_question, 0, sizeof(*ret_question));
    atoll_llm_request_init(&ret_question->request);
    if ((ask->prompt || ask->kind == ATOLL_ASK_META) &&
        atoll_prompt_version_text(io->texts, atoll_prompt_context_asks(io->context), k.language, ask->prompt,
                                  arena, &input.language_text, err) != 0)
        return -1;
    return tell(&k, record, told, &input, err) == 0 ? write_prompt(&input, arena, ret_question, err) : -1;
}

void atoll_prompt_io_count_cuts(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                                struct atoll_briefing *briefing, struct atoll_arena *arena)
{
    const struct atoll_ask_record *known =
        atoll_ask_history_find(atoll_prompt_context_asks(io->context), ask->number);
    struct atoll_ask_record record = known ? *known : (struct atoll_ask_record){.ask = *ask};
    struct atoll_prompt_question *question = atoll_arena_alloc(arena, sizeof(*question), NULL);
    record.briefing = briefing;
    int is_written = question && word(io, ask, &record, arena, question, NULL) == 0;
    for (uint32_t i = 0, text = 0; i < briefing->count; i++) {
        struct atoll_brief *b = &briefing->briefs[i];
        if (!is_result(b->kind))
            b->cut_bytes = is_written ? question->brief_cut_bytes[text++] : (uint32_t)strlen(b->text);
    }
}

int atoll_prompt_io_request(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                            struct atoll_arena *arena, struct atoll_prompt_question *ret_question,
                            struct atoll_err *err)
{
    const struct atoll_ask_record *record =
        atoll_ask_history_find(atoll_prompt_context_asks(io->context), ask->number);
    if (word(io, ask, record, arena, ret_question, err) != 0 ||
        add_tools(io, ask, record, arena, ret_question, err) != 0)
        return -1;
    return say_whose(io, ask, record ? record->turn_count : 0, arena, &ret_question->request, err);
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

static int keep_dialogue(const struct atoll_prompt_question *question,
                         const struct atoll_llm_outcome *outcome, struct atoll_arena *arena,
                         struct atoll_dialogue *d, struct atoll_err *err)
{
    const struct atoll_llm_request *request = &question->request;
    d->model = request->model;
    d->section_count = question->section_count;
    memcpy(d->sections, question->sections, sizeof(d->sections));
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

/* The source that the answer may edit; NULL: none is known, or it is written anew. */
static const char *parent_text(const struct atoll_prompt_io *io, const struct atoll_ask *ask)
{
    struct atoll_id source;
    struct atoll_choice choice;
    const char *language, *text;
    if (atoll_id_is_zero(&ask->parent) || ask->op == ATOLL_OPERATOR_TRANSLATE ||
        atoll_engine_candidate(io->engine, ask->task, &ask->parent, &source, &choice) != 0 ||
        atoll_engine_source(io->engine, &source, &language, &text) != 0) {
        return NULL;
    }
    return text;
}

/* What is read is the text that the journal will hold: a replay has no more. */
static int read_answer(const struct atoll_prompt_io *io, const struct atoll_ask *ask, const char *answer,
                       struct atoll_arena *arena, struct atoll_reply *reply, struct atoll_err *err)
{
    const char *language = atoll_prompt_io_language(io->engine, io->backend, ask);
    size_t length = strlen(answer);
    int is_usable = 0;
    if (ask->kind == ATOLL_ASK_WRITE)
        return atoll_reply_read(answer, length, language, parent_text(io, ask), ask->count, arena, reply,
                                &is_usable, err);
    if (atoll_reply_read_items(ask->kind, answer, length, arena, reply, &is_usable, err) != 0)
        return -1;
    if (!is_usable)
        reply->status = ATOLL_REPLY_EMPTY;
    if (ask->kind == ATOLL_ASK_META && is_usable)
        return atoll_prompt_version_judge(io->texts, atoll_prompt_context_asks(io->context), language, ask,
                                          arena, reply, err);
    return 0;
}

int atoll_prompt_io_reply(const struct atoll_prompt_io *io, const struct atoll_ask *ask,
                          const struct atoll_prompt_question *question,
                          const struct atoll_llm_outcome *outcome, struct atoll_arena *arena,
                          struct atoll_reply *ret_reply, struct atoll_err *err)
{
    const char *who = *outcome->model  ? outcome->model
                      : *outcome->name ? outcome->name
                                       : question->request.model;
    struct atoll_reply reply = {.ask = ask->number,
                                .status = status_of(outcome->status),
                                .tokens = outcome->usage.input + outcome->usage.output,
                                .cost_usd = outcome->cost_usd};
    if (!(reply.cost_usd >= 0) || !isfinite(reply.cost_usd))
        reply.cost_usd = 0;
    reply.origin = atoll_prompt_io_keep(arena, who, strlen(who), SIZE_MAX, err);
    if (!reply.origin || keep_dialogue(question, outcome, arena, &reply.dialogue, err) != 0)
        return -1;
    if (reply.status == ATOLL_REPLY_OK &&
        read_answer(io, ask, reply.dialogue.answer, arena, &reply, err) != 0)
        return -1;
    *ret_reply = reply;
    return 0;
}

#include "mpi-eval/operator/briefer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/behaviour/behaviour.h"
#include "core/diagnosis.h"
#include "core/model_role.h"
#include "evolution/experience/experience.h"
#include "evolution/experience/issue_types.h"
#include "evolution/experience/rewrites.h"
#include "mpi-eval/operator/knowledge_briefs.h"
#include "mpi-eval/operator/prompt_io.h"

#define SIBLINGS     3u
#define SLOWER       3u
#define COMBINATIONS 8u /* that are correct, the fastest */
#define BROKEN       4u /* that are not, the newest */
#define CELL_BYTES   24
#define DIMENSIONS   3u /* of a behaviour */
#define DEPTH_MOST   4u /* improvements that are counted */
#define OUTCOMES     16u
#define FAILURES     8u /* that are older than those an ask names */
#define PLANS        12u
#define STEP_BYTES   600u /* of each */
#define PLAN_BYTES   ((size_t)64 << 10)

/* What each role is told. */
static const struct told {
    unsigned neighbours : 1;   /* siblings, slower tries, the best of all */
    unsigned combinations : 1; /* of the parent's template */
    unsigned memory : 1;       /* rewrites */
    unsigned hints : 1;
    unsigned knowledge : 1;
    unsigned types : 1;    /* of issues, that analysers made up */
    unsigned failures : 1; /* older ones */
    unsigned plans : 1;    /* that the parent has already */
} told[ATOLL_MODEL_ROLE_COUNT] = {
    [ATOLL_MODEL_ROLE_WRITER] =
        {.neighbours = 1, .combinations = 1, .memory = 1, .hints = 1, .knowledge = 1, .failures = 1},
    [ATOLL_MODEL_ROLE_DRAFTER] =
        {.neighbours = 1, .combinations = 1, .memory = 1, .hints = 1, .knowledge = 1, .failures = 1},
    [ATOLL_MODEL_ROLE_PLANNER] = {.neighbours = 1,
                                  .combinations = 1,
                                  .memory = 1,
                                  .hints = 1,
                                  .knowledge = 1,
                                  .failures = 1,
                                  .plans = 1},
    [ATOLL_MODEL_ROLE_EXECUTOR] = {.combinations = 1, .knowledge = 1},
    [ATOLL_MODEL_ROLE_ANALYSER] = {.knowledge = 1, .types = 1, .failures = 1},
    [ATOLL_MODEL_ROLE_REFINER] = {.combinations = 1, .hints = 1, .knowledge = 1},
    [ATOLL_MODEL_ROLE_EXTRACTOR] = {.knowledge = 1},
    [ATOLL_MODEL_ROLE_TEMPLATER] = {.combinations = 1, .knowledge = 1},
};

struct atoll_briefer {
    const struct atoll_search *search;
    const char *backend;
    const struct atoll_prompt_context *context;
    struct atoll_experience *experience;
    struct atoll_rewrites *rewrites;
    struct atoll_issue_types *types;
    struct atoll_knowledge_briefs *knowledge; /* NULL: nothing of it is told */
    struct atoll_buffer outcomes;             /* the last ones that were told */
    char counts[24];                          /* of combinations, the same */
    struct atoll_arena *steps;                /* of plans, the same */
};

struct atoll_briefer *atoll_briefer_create(const struct atoll_search *search, const char *backend,
                                           const struct atoll_prompt_context *context, struct atoll_err *err)
{
    struct atoll_briefer *b = calloc(1, sizeof(*b));
    if (!b) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what prompts are told");
        return NULL;
    }
    b->search = search;
    b->backend = backend;
    b->context = context;
    atoll_buffer_init(&b->outcomes, ATOLL_BRIEF_TEXT_LIMIT);
    b->experience = atoll_experience_create(err);
    b->rewrites = b->experience ? atoll_rewrites_create(search->memory_size, err) : NULL;
    b->types = b->rewrites ? atoll_issue_types_create(err) : NULL;
    b->steps = b->types ? atoll_arena_create(PLAN_BYTES, err) : NULL;
    if (b->steps)
        return b;
    atoll_briefer_destroy(b);
    return NULL;
}

void atoll_briefer_destroy(struct atoll_briefer *b)
{
    if (!b)
        return;
    atoll_experience_destroy(b->experience);
    atoll_rewrites_destroy(b->rewrites);
    atoll_issue_types_destroy(b->types);
    atoll_arena_destroy(b->steps);
    atoll_buffer_fini(&b->outcomes);
    free(b);
}

void atoll_briefer_set_knowledge(struct atoll_briefer *b, struct atoll_knowledge_briefs *knowledge)
{
    b->knowledge = knowledge;
}

int atoll_briefer_add_hint(struct atoll_briefer *b, const struct atoll_experience_hint *hint,
                           struct atoll_err *err)
{
    return atoll_experience_add_hint(b->experience, hint, NULL, err);
}

/* ---- what is known of a candidate ---- */

struct result {
    enum atoll_verdict verdict;
    double time_ns; /* 0: none */
    struct atoll_diagnosis diagnosis;
    char detail[ATOLL_DETAIL_BYTES]; /* of a verdict */
    struct atoll_behaviour behaviour;
};

/* 1; 0: it was not measured yet; -1. */
static int find_result(const struct atoll_briefer *b, const struct atoll_engine *engine,
                       const struct atoll_ask *ask, const struct atoll_id *candidate,
                       struct result *ret_result, struct atoll_err *err)
{
    const char *model = atoll_engine_model(engine, ask->model);
    const struct atoll_task *task = atoll_engine_task(engine, ask->task);
    struct atoll_evaluation evaluation;
    if (!task || atoll_id_is_zero(candidate))
        return 0;
    int got = atoll_prompt_context_find(b->context, candidate, model, &evaluation, err);
    if (got <= 0)
        return got;
    ret_result->verdict = evaluation.verdict;
    ret_result->time_ns =
        evaluation.verdict == ATOLL_V_CORRECT ? atoll_evaluation_time_ns(&evaluation, task) : 0;
    atoll_diagnose_evaluation(&evaluation, task, atoll_prompt_context_device(b->context, model),
                              &ret_result->diagnosis);
    memcpy(ret_result->detail, evaluation.detail, sizeof(ret_result->detail));
    ret_result->detail[sizeof(ret_result->detail) - 1] = 0;
    ret_result->behaviour = evaluation.behaviour;
    atoll_evaluation_fini(&evaluation);
    return 1;
}

/* ---- what is learnt from events ---- */

static const struct atoll_ask *find_ask(const struct atoll_briefer *b, uint64_t number)
{
    const struct atoll_ask_record *record =
        number ? atoll_ask_history_find(atoll_prompt_context_asks(b->context), number) : NULL;
    return record ? &record->ask : NULL;
}

static int add_briefing(struct atoll_briefer *b, const struct atoll_engine *engine,
                        const struct atoll_briefing *briefing, struct atoll_err *err)
{
    const struct atoll_ask *ask = find_ask(b, briefing->ask);
    struct result parent;
    int known = ask ? find_result(b, engine, ask, &ask->parent, &parent, err) : 0;
    if (!ask || known < 0)
        return known;
    const struct atoll_diagnosis *diagnosis = known ? &parent.diagnosis : NULL;
    if (b->knowledge &&
        atoll_retrieval_used(atoll_knowledge_briefs_retrieval(b->knowledge), diagnosis, briefing, err) != 0)
        return -1;
    return atoll_experience_used(b->experience, diagnosis, briefing, err);
}

/* A stage's kernel that is faster than what the stage was given. */
static void credit_types(struct atoll_briefer *b, const struct atoll_ask *ask, double parent_ns,
                         double child_ns)
{
    const struct atoll_ask_record *analysis =
        atoll_ask_history_analysis(atoll_prompt_context_asks(b->context), ask);
    int is_of_stage = ask->op == ATOLL_OPERATOR_STAGED || ask->op == ATOLL_OPERATOR_EXTRACT;
    if (analysis && is_of_stage && child_ns > 0 && parent_ns > child_ns * (1 + b->search->margin))
        atoll_issue_types_won(b->types, analysis->items, analysis->item_count, ask->stage,
                              parent_ns / child_ns);
}

/* A kernel that answers an ask. */
static int add_evaluation(struct atoll_briefer *b, const struct atoll_engine *engine,
                          const struct atoll_evaluation *evaluation, struct atoll_err *err)
{
    struct atoll_candidate_view view;
    struct result child, parent;
    for (uint32_t task = 0; task < atoll_engine_task_count(engine); task++) {
        for (uint32_t model = 0; model == 0 || model < atoll_engine_model_count(engine); model++) {
            if (atoll_engine_view(engine, task, model, &evaluation->candidate, &view) != 0 ||
                !view.is_settled)
                continue; /* of another task that has the same candidate, and its result is to come */
            const struct atoll_ask *ask = find_ask(b, view.ask);
            if (!ask || ask->task != task || ask->model != model)
                continue;
            int known = find_result(b, engine, ask, &view.id, &child, err);
            int has_parent = known > 0 ? find_result(b, engine, ask, &ask->parent, &parent, err) : 0;
            if (known < 0 || has_parent < 0)
                return -1;
            double parent_ns = has_parent ? parent.time_ns : 0;
            if (known)
                credit_types(b, ask, parent_ns, child.time_ns);
            if (known)
                atoll_experience_credit(b->experience, ask->number, parent_ns, child.verdict, child.time_ns);
            if (known && b->knowledge)
                atoll_retrieval_credit(atoll_knowledge_briefs_retrieval(b->knowledge), ask->number, parent_ns,
                                       child.verdict, child.time_ns);
        }
    }
    return 0;
}

static int add_reply(struct atoll_briefer *b, const struct atoll_engine *engine,
                     const struct atoll_reply *reply, struct atoll_err *err)
{
    const struct atoll_ask *ask = find_ask(b, reply->ask);
    if (!ask || reply->status != ATOLL_REPLY_OK)
        return 0;
    if (ask->kind == ATOLL_ASK_SUMMARISE)
        return atoll_rewrites_add(b->rewrites, ask->task, ask->model, reply, err);
    const struct atoll_device_info *device =
        atoll_prompt_context_device(b->context, atoll_engine_model(engine, ask->model));
    for (uint32_t i = 0; ask->kind == ATOLL_ASK_DISTIL && i < reply->item_count; i++) {
        if (reply->items[i].kind == ATOLL_ITEM_HINT &&
            atoll_experience_add_item(b->experience, &reply->items[i],
                                      atoll_prompt_io_language(engine, b->backend, ask),
                                      device ? atoll_device_family(device) : "", err) < 0) {
            return -1;
        }
    }
    return 0;
}

int atoll_briefer_add_event(struct atoll_briefer *b, const struct atoll_engine *engine,
                            const struct atoll_event *event, struct atoll_err *err)
{
    switch (event->type) {
    case ATOLL_EVENT_BRIEFING: return add_briefing(b, engine, &event->briefing, err);
    case ATOLL_EVENT_EVALUATED: return add_evaluation(b, engine, &event->evaluation, err);
    case ATOLL_EVENT_REPLY: return add_reply(b, engine, &event->reply, err);
    default: return 0;
    }
}

/* ---- results near the parent ---- */

/* The first ones by time, or as they came. */
struct choice {
    struct atoll_brief items[COMBINATIONS];
    size_t count, limit;
};

static void choose(struct choice *c, enum atoll_brief_kind kind, const struct atoll_candidate_view *view,
                   int by_time)
{
    size_t at = c->count;
    while (by_time && at > 0 && view->time_ns < c->items[at - 1].score)
        at--;
    if (at == c->limit)
        return;
    c->count += c->count < c->limit;
    memmove(&c->items[at + 1], &c->items[at], (c->count - 1 - at) * sizeof(*c->items));
    c->items[at] = (struct atoll_brief){
        .kind = kind, .id = view->id, .title = "", .text = "", .score = view->is_correct ? view->time_ns : 0};
}

static void tell(struct atoll_briefing *briefing, const struct choice *c)
{
    for (size_t i = 0; i < c->count && briefing->count < ATOLL_BRIEF_LIMIT; i++)
        briefing->briefs[briefing->count++] = c->items[i];
}

/* What the ask shows anyway. */
static int is_named(const struct atoll_ask *ask, const struct atoll_id *candidate)
{
    int is_there = atoll_id_equal(&ask->parent, candidate);
    for (size_t i = 0; i < ask->inspiration_count; i++)
        is_there |= atoll_id_equal(&ask->inspirations[i], candidate);
    for (size_t i = 0; i < ask->failure_count; i++)
        is_there |= atoll_id_equal(&ask->failures[i], candidate);
    return is_there;
}

/* Children of the parent, then of its own parent: those that are faster than it, the fastest first, and those that are
 * not, the newest first. */
static void tell_neighbours(const struct atoll_engine *engine, const struct atoll_ask *ask,
                            const struct atoll_candidate_view *parent, struct atoll_briefing *briefing)
{
    struct choice faster = {.limit = SIBLINGS}, slower = {.limit = SLOWER};
    const struct atoll_id *origins[] = {&parent->id, &parent->parent};
    for (size_t i = 0; i < 2 && !atoll_id_is_zero(origins[i]); i++) {
        struct atoll_candidate_view view;
        struct choice own = {.limit = SIBLINGS - faster.count};
        uint32_t cursor = 0;
        while (atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view)) {
            if (!view.is_correct || !atoll_id_equal(&view.parent, origins[i]) ||
                atoll_id_equal(&view.source, &parent->source) || is_named(ask, &view.id)) {
                continue;
            }
            if (!parent->is_correct || view.time_ns < parent->time_ns)
                choose(&own, ATOLL_BRIEF_SIBLING, &view, 1);
            else
                choose(&slower, ATOLL_BRIEF_SLOWER, &view, 0);
        }
        memcpy(faster.items + faster.count, own.items, own.count * sizeof(*own.items));
        faster.count += own.count;
    }
    tell(briefing, &faster);
    tell(briefing, &slower);
}

static void tell_best(const struct atoll_engine *engine, const struct atoll_ask *ask,
                      struct atoll_briefing *briefing)
{
    struct atoll_task_status status;
    struct atoll_candidate_view view;
    struct choice best = {.limit = 1};
    if (atoll_engine_task_status(engine, ask->task, ask->model, &status) != 0 ||
        atoll_id_is_zero(&status.best) || is_named(ask, &status.best) ||
        atoll_engine_view(engine, ask->task, ask->model, &status.best, &view) != 0) {
        return;
    }
    for (uint32_t i = 0; i < briefing->count; i++)
        if (atoll_id_equal(&briefing->briefs[i].id, &status.best))
            return;
    choose(&best, ATOLL_BRIEF_BEST, &view, 0);
    tell(briefing, &best);
}

/* The parent itself is one of them. */
static void tell_combinations(struct atoll_briefer *b, const struct atoll_engine *engine,
                              const struct atoll_ask *ask, const struct atoll_candidate_view *parent,
                              struct atoll_briefing *briefing)
{
    struct choice correct = {.limit = COMBINATIONS}, broken = {.limit = BROKEN};
    struct atoll_candidate_view view;
    uint32_t cursor = 0, tried_count = 0, correct_count = 0;
    while (atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view)) {
        if (!view.is_settled || !atoll_id_equal(&view.source, &parent->source))
            continue;
        tried_count++;
        correct_count += view.is_correct != 0;
        if (view.is_correct)
            choose(&correct, ATOLL_BRIEF_COMBINATION, &view, 1);
        else
            choose(&broken, ATOLL_BRIEF_COMBINATION, &view, 0);
    }
    if (correct.count + broken.count < 2)
        return; /* no template, or nothing beside the parent */
    snprintf(b->counts, sizeof(b->counts), "%u %u", tried_count, correct_count);
    if (briefing->count < ATOLL_BRIEF_LIMIT)
        briefing->briefs[briefing->count++] =
            (struct atoll_brief){.kind = ATOLL_BRIEF_COMBINATION, .title = "", .text = b->counts};
    tell(briefing, &correct);
    tell(briefing, &broken);
}

/* Those of the parent's own template are in its table. */
static void tell_failures(const struct atoll_engine *engine, const struct atoll_ask *ask,
                          const struct atoll_candidate_view *parent, struct atoll_briefing *briefing)
{
    struct choice failed = {.limit = FAILURES};
    struct atoll_candidate_view view;
    uint32_t cursor = 0;
    while (failed.count < FAILURES && atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view))
        if (view.is_settled && !view.is_correct && !is_named(ask, &view.id) &&
            !(parent && atoll_id_equal(&view.source, &parent->source)))
            choose(&failed, ATOLL_BRIEF_FAILURE, &view, 0);
    tell(briefing, &failed);
}

/* ---- plans ---- */

/* What came of the attempts at one plan; 0: none is measured yet, below 0: none was correct. */
static double best_attempt_ns(const struct atoll_briefer *b, const struct atoll_engine *engine,
                              const struct atoll_ask *ask, uint64_t plan, uint32_t plan_index)
{
    struct atoll_candidate_view view;
    uint32_t cursor = 0;
    double best_ns = 0;
    while (atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view)) {
        const struct atoll_ask *attempt = find_ask(b, view.ask);
        if (!attempt || attempt->plan != plan || attempt->plan_index != plan_index || !view.is_settled)
            continue;
        if (view.is_correct && view.time_ns > 0 && (best_ns <= 0 || view.time_ns < best_ns))
            best_ns = view.time_ns;
        else if (best_ns >= 0 && best_ns <= 0)
            best_ns = -1;
    }
    return best_ns;
}

/* "At best 1.2 times as fast as the parent. Give tile_b a second buffer; ..." */
static void tell_plan(struct atoll_briefer *b, const struct atoll_reply_item *step, double best_ns,
                      double parent_ns, struct atoll_briefing *briefing)
{
    char text[STEP_BYTES + 128];
    int used;
    if (best_ns > 0 && parent_ns > 0)
        used =
            snprintf(text, sizeof(text), "At best %.3g times as fast as the parent. ", parent_ns / best_ns);
    else
        used = snprintf(text, sizeof(text), "%s",
                        best_ns < 0 ? "No attempt was correct. " : "Nothing has come of it yet. ");
    size_t length = strlen(step->text),
           kept = length <= STEP_BYTES ? length : atoll_utf8_cut((const void *)step->text, STEP_BYTES);
    used += snprintf(text + used, sizeof(text) - (size_t)used, "%.*s", (int)kept, step->text);
    const char *told_text = atoll_arena_text(b->steps, text, (size_t)used, NULL);
    if (told_text && briefing->count < ATOLL_BRIEF_LIMIT) /* else no memory: it goes untold */
        briefing->briefs[briefing->count++] =
            (struct atoll_brief){.kind = ATOLL_BRIEF_PLAN, .title = step->title, .text = told_text};
}

static void tell_plans(struct atoll_briefer *b, const struct atoll_engine *engine,
                       const struct atoll_ask *ask, const struct atoll_candidate_view *parent,
                       struct atoll_briefing *briefing)
{
    const struct atoll_ask_record *plans[PLANS];
    size_t count = atoll_ask_history_plans(atoll_prompt_context_asks(b->context), ask, plans, PLANS);
    atoll_arena_reset(b->steps);
    for (size_t i = 0; i < count; i++) {
        const struct atoll_reply_item *step;
        for (uint32_t at = 0; at < ATOLL_REPLY_ITEM_LIMIT &&
                              (step = atoll_items_plan(plans[i]->items, plans[i]->item_count, at)) != NULL;
             at++)
            tell_plan(b, step, best_attempt_ns(b, engine, ask, plans[i]->ask.number, at), parent->time_ns,
                      briefing);
    }
}

/* ---- what was learnt ---- */

static int tell_hints(struct atoll_briefer *b, const struct atoll_engine *engine, const struct atoll_ask *ask,
                      struct atoll_briefing *briefing, struct atoll_err *err)
{
    const struct atoll_task *task = atoll_engine_task(engine, ask->task);
    const struct atoll_device_info *device =
        atoll_prompt_context_device(b->context, atoll_engine_model(engine, ask->model));
    struct result parent;
    int known = find_result(b, engine, ask, &ask->parent, &parent, err);
    if (known < 0)
        return -1;
    const struct atoll_experience_query query = {.diagnosis = known ? &parent.diagnosis : NULL,
                                                 .language =
                                                     atoll_prompt_io_language(engine, b->backend, ask),
                                                 .device = device ? atoll_device_family(device) : "",
                                                 .category = task && task->category ? task->category : "",
                                                 .role = ask->role,
                                                 .ask = ask->number};
    size_t room = ATOLL_BRIEF_LIMIT - briefing->count;
    size_t limit = room < ATOLL_EXPERIENCE_TOLD ? room : ATOLL_EXPERIENCE_TOLD;
    briefing->count +=
        (uint32_t)atoll_experience_retrieve(b->experience, &query, limit, &briefing->briefs[briefing->count]);
    return 0;
}

/* How often it was improved on the way to the parent, as far as that matters. */
static unsigned depth_of(const struct atoll_engine *engine, const struct atoll_ask *ask)
{
    struct atoll_candidate_view view;
    struct atoll_id at = ask->parent;
    unsigned depth = 0;
    while (depth < DEPTH_MOST && atoll_engine_view(engine, ask->task, ask->model, &at, &view) == 0 &&
           !atoll_id_is_zero(&view.parent)) {
        depth += view.ask != 0;
        if (atoll_id_equal(&at, &view.parent))
            break;
        at = view.parent;
    }
    return depth;
}

/* The step that is to be carried out, in its planner's words. */
static const char *step_of(const struct atoll_briefer *b, const struct atoll_ask *ask)
{
    const struct atoll_reply_item *step = atoll_ask_history_step(atoll_prompt_context_asks(b->context), ask);
    return step ? step->title : NULL;
}

/* Correct kernels of the task that models wrote in the ask's language, one a source, at most ATOLL_BRIEFER_FIRST. */
static unsigned count_written(const struct atoll_briefer *b, const struct atoll_engine *engine,
                              const struct atoll_ask *ask)
{
    const char *language = atoll_prompt_io_language(engine, b->backend, ask), *own, *text;
    struct atoll_id seen[ATOLL_BRIEFER_FIRST];
    struct atoll_candidate_view view;
    uint32_t cursor = 0;
    unsigned count = 0;
    while (count < ATOLL_BRIEFER_FIRST &&
           atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view)) {
        const struct atoll_ask_record *asked =
            view.is_correct && view.ask
                ? atoll_ask_history_find(atoll_prompt_context_asks(b->context), view.ask)
                : NULL;
        if (!asked || asked->status == ATOLL_REPLY_BUILTIN ||
            atoll_engine_source(engine, &view.source, &own, &text) != 0 || strcmp(own, language) != 0)
            continue;
        unsigned i = 0;
        while (i < count && !atoll_id_equal(&seen[i], &view.source))
            i++;
        seen[i] = view.source;
        count += i == count;
    }
    return count;
}

int atoll_briefer_wants_kernels(const struct atoll_briefer *b, const struct atoll_engine *engine,
                                const struct atoll_ask *ask)
{
    int is_whole = ask->kind == ATOLL_ASK_WRITE &&
                   (ask->op == ATOLL_OPERATOR_UNIVERSAL || ask->op == ATOLL_OPERATOR_INITIALISE ||
                    ask->op == ATOLL_OPERATOR_TRANSLATE);
    if (b->search->strategy == ATOLL_STRATEGY_REPEATED)
        return is_whole && atoll_id_is_zero(&ask->parent);
    return is_whole && count_written(b, engine, ask) < ATOLL_BRIEFER_FIRST;
}

/* "memory 2" and so on, as patterns name cells. */
static void put_cells(const struct atoll_behaviour *b, char room[DIMENSIONS][CELL_BYTES],
                      const char **ret_cells)
{
    const unsigned levels[DIMENSIONS] = {b->memory, b->algorithm, b->coordination};
    for (unsigned d = 0; d < DIMENSIONS; d++) {
        snprintf(room[d], CELL_BYTES, "%s %u", atoll_behaviour_dimension_name(d), levels[d]);
        ret_cells[d] = room[d];
    }
    ret_cells[DIMENSIONS] = NULL;
}

/* NULL: there is none. */
static const char *source_of(const struct atoll_engine *engine, const struct atoll_ask *ask)
{
    struct atoll_id source;
    struct atoll_choice choice;
    const char *language, *text;
    return !atoll_id_is_zero(&ask->parent) &&
                   atoll_engine_candidate(engine, ask->task, &ask->parent, &source, &choice) == 0 &&
                   atoll_engine_source(engine, &source, &language, &text) == 0
               ? text
               : NULL;
}

static int tell_knowledge(struct atoll_briefer *b, const struct atoll_engine *engine,
                          const struct atoll_ask *ask, struct atoll_briefing *briefing, struct atoll_err *err)
{
    const struct atoll_device_info *device =
        atoll_prompt_context_device(b->context, atoll_engine_model(engine, ask->model));
    struct result parent;
    int known = find_result(b, engine, ask, &ask->parent, &parent, err);
    char room[DIMENSIONS][CELL_BYTES];
    const char *cells[DIMENSIONS + 1];
    if (known > 0)
        put_cells(&parent.behaviour, room, cells);
    int is_first = atoll_briefer_wants_kernels(b, engine, ask);
    const struct atoll_retrieval_query query = {.task = atoll_engine_task(engine, ask->task),
                                                .is_first_draft = is_first,
                                                .is_narrow = ask->op == ATOLL_OPERATOR_EXECUTE,
                                                .cells = known > 0 ? cells : NULL,
                                                .language = atoll_prompt_io_language(engine, b->backend, ask),
                                                .device = device ? atoll_device_family(device) : "",
                                                .features = atoll_knowledge_features(b->backend),
                                                .diagnosis = known > 0 ? &parent.diagnosis : NULL,
                                                .message = known > 0 ? parent.detail : NULL,
                                                .source = source_of(engine, ask),
                                                .words = step_of(b, ask),
                                                .stage = ask->op == ATOLL_OPERATOR_STAGED ||
                                                                 ask->op == ATOLL_OPERATOR_EXTRACT
                                                             ? ask->stage
                                                             : (uint8_t)ATOLL_ISSUE_STAGE_COUNT,
                                                .depth = depth_of(engine, ask)};
    return known < 0 ? -1
                     : atoll_knowledge_briefs_make(b->knowledge, &query, is_first && b->search->knowledge > 1,
                                                   briefing, err);
}

static void tell_memory(const struct atoll_briefer *b, const struct atoll_ask *ask,
                        struct atoll_briefing *briefing)
{
    size_t room = ATOLL_BRIEF_LIMIT - briefing->count;
    size_t limit = room < b->search->memory_size ? room : b->search->memory_size;
    briefing->count += (uint32_t)atoll_rewrites_list(b->rewrites, ask->task, ask->model, limit,
                                                     &briefing->briefs[briefing->count]);
}

/* ---- what became of a version of the prompt ---- */

/* "correct, 1.31 times as fast as its parent; written as executor"; "compile error; written as writer". */
static int put_outcome(const struct atoll_briefer *b, const struct atoll_engine *engine,
                       const struct atoll_ask *asked, const struct atoll_candidate_view *view,
                       struct atoll_buffer *out, struct atoll_err *err)
{
    struct result own, parent;
    int known = find_result(b, engine, asked, &view->id, &own, err);
    int has_parent = known > 0 ? find_result(b, engine, asked, &view->parent, &parent, err) : 0;
    if (known <= 0 || has_parent < 0)
        return known < 0 || has_parent < 0 ? -1 : 0;
    enum atoll_error_class error = own.diagnosis.error;
    atoll_buffer_printf(out, "- %s", atoll_verdict_name(own.verdict));
    if (error != ATOLL_ERROR_NONE)
        atoll_buffer_printf(out, " (%s)", atoll_error_class_name(error));
    if (own.time_ns > 0 && has_parent && parent.time_ns > 0)
        atoll_buffer_printf(out, ", %.3g times as fast as its parent", parent.time_ns / own.time_ns);
    atoll_buffer_printf(out, "; written as %s\n", atoll_model_role_name(atoll_model_role_of_ask(asked)));
    return 0;
}

/* The newest kernels of the task that were written with the version which the ask is to edit. */
static int tell_outcomes(struct atoll_briefer *b, const struct atoll_engine *engine,
                         const struct atoll_ask *ask, struct atoll_briefing *briefing, struct atoll_err *err)
{
    struct atoll_candidate_view view;
    const char *language = atoll_prompt_io_language(engine, b->backend, ask);
    uint32_t cursor = 0, told_count = 0;
    atoll_buffer_clear(&b->outcomes);
    while (told_count < OUTCOMES && atoll_engine_next_view(engine, ask->task, ask->model, &cursor, &view)) {
        const struct atoll_ask *asked = find_ask(b, view.ask);
        const char *own, *text;
        if (!asked || !view.is_settled || asked->kind != ATOLL_ASK_WRITE || asked->prompt != ask->prompt ||
            atoll_engine_source(engine, &view.source, &own, &text) != 0 || strcmp(own, language) != 0)
            continue;
        if (put_outcome(b, engine, asked, &view, &b->outcomes, err) != 0)
            return -1;
        told_count++;
    }
    atoll_buffer_put_u8(&b->outcomes, 0);
    if (told_count && briefing->count < ATOLL_BRIEF_LIMIT)
        briefing->briefs[briefing->count++] = (struct atoll_brief){
            .kind = ATOLL_BRIEF_PROMPT, .title = "The newest first:", .text = (const char *)b->outcomes.data};
    return atoll_buffer_check(&b->outcomes, err);
}

int atoll_briefer_make(struct atoll_briefer *b, const struct atoll_engine *engine,
                       const struct atoll_ask *ask, struct atoll_briefing *ret_briefing,
                       struct atoll_err *err)
{
    const struct told *wanted = &told[atoll_model_role_of_ask(ask)];
    struct atoll_candidate_view parent;
    int has_parent = !atoll_id_is_zero(&ask->parent) &&
                     atoll_engine_view(engine, ask->task, ask->model, &ask->parent, &parent) == 0;
    *ret_briefing = (struct atoll_briefing){.ask = ask->number};
    if (b->knowledge && b->search->knowledge && wanted->knowledge &&
        tell_knowledge(b, engine, ask, ret_briefing, err) != 0)
        return -1;
    if (b->search->strategy == ATOLL_STRATEGY_REPEATED)
        return 0; /* its asks are independent of each other */
    if (ask->kind == ATOLL_ASK_META)
        return tell_outcomes(b, engine, ask, ret_briefing, err);
    if (wanted->types) {
        size_t room = ATOLL_BRIEF_LIMIT - ret_briefing->count;
        ret_briefing->count += (uint32_t)atoll_issue_types_list(
            b->types, room < ATOLL_ISSUE_TYPES_TOLD ? room : ATOLL_ISSUE_TYPES_TOLD,
            &ret_briefing->briefs[ret_briefing->count]);
    }
    if (b->search->trajectory && wanted->neighbours) {
        if (has_parent)
            tell_neighbours(engine, ask, &parent, ret_briefing);
        tell_best(engine, ask, ret_briefing);
    }
    if (b->search->trajectory && wanted->combinations && has_parent)
        tell_combinations(b, engine, ask, &parent, ret_briefing);
    if (b->search->trajectory && wanted->failures)
        tell_failures(engine, ask, has_parent ? &parent : NULL, ret_briefing);
    if (b->search->trajectory && wanted->plans && has_parent)
        tell_plans(b, engine, ask, &parent, ret_briefing);
    if (b->search->memory && wanted->memory)
        tell_memory(b, ask, ret_briefing);
    return b->search->hints && wanted->hints ? tell_hints(b, engine, ask, ret_briefing, err) : 0;
}

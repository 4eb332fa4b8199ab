/* save.c - the whole state as bytes and back.  Layout: magic, version, search settings, numbers of the run, the tasks'
 * own bytes, sources with their tuners, individuals, the tasks' state, what is under way.  What can be derived
 * (plans, enumerated combinations, indexes) is not written. */
#include <math.h>
#include <string.h>

#include "core/fitness.h"
#include "evolution/population/baseline.h"
#include "evolution/population/device_models.h"
#include "evolution/population/judge.h"
#include "evolution/strategy/analysis.h"
#include "evolution/strategy/lesson.h"
#include "evolution/strategy/prompts.h"
#include "evolution/strategy/strategy.h"
#include "evolution/strategy/template_phase.h"

#define MAGIC      UINT32_C(0x454c5441) /* "ATLE" */
#define SAVE_LIMIT ((size_t)1 << 40)

static void bounded_codec(struct atoll_codec *c, uint8_t *v, unsigned limit)
{
    atoll_codec_u8(c, v);
    if (c->in && *v >= limit) {
        *v = 0;
        c->in->failed = 1;
    }
}

static void position_codec(struct atoll_codec *c, uint32_t *v, uint32_t count, int may_be_none)
{
    atoll_codec_u32(c, v);
    if (c->in && *v >= count && !(may_be_none && *v == ATOLL_NONE)) {
        *v = may_be_none ? ATOLL_NONE : 0;
        c->in->failed = 1;
    }
}

static int head_codec(struct atoll_codec *c, struct atoll_err *err)
{
    uint32_t magic = MAGIC, version = ATOLL_ENGINE_VERSION;
    atoll_codec_u32(c, &magic);
    atoll_codec_u32(c, &version);
    if (c->out || c->in->failed)
        return 0;
    if (magic != MAGIC)
        return atoll_err_set(err, ATOLL_E_CORRUPT, "the snapshot is none of a search");
    if (version != ATOLL_ENGINE_VERSION) {
        return atoll_err_set(err, ATOLL_E_SCHEMA,
                             "the snapshot is of engine version %u, this is %u; replay the journal", version,
                             ATOLL_ENGINE_VERSION);
    }
    return 0;
}

static int search_codec(struct atoll_codec *c, struct atoll_search *search, struct atoll_err *err)
{
    if (c->in) {
        size_t length;
        const void *bytes = atoll_reader_blob(c->in, &length);
        return c->in->failed ? 0 : atoll_search_decode(bytes, length, search, err);
    }
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 4096);
    atoll_search_encode(search, &bytes);
    atoll_buffer_put_blob(c->out, bytes.data, bytes.length);
    int failed = atoll_buffer_check(&bytes, err);
    atoll_buffer_fini(&bytes);
    return failed;
}

static void models_codec(struct atoll_codec *c, struct atoll_engine *e)
{
    atoll_codec_u32(c, &e->model_count);
    if (c->in && e->model_count > ATOLL_MODEL_LIMIT) {
        e->model_count = 0;
        c->in->failed = 1;
    }
    for (uint32_t i = 0; i < e->model_count; i++) {
        struct atoll_model_state *m = &e->models[i];
        if (c->out)
            atoll_buffer_put_text(c->out, m->name);
        else
            atoll_reader_fixed_text(c->in, m->name, sizeof(m->name));
        atoll_codec_u32(c, &m->slots);
        atoll_codec_u32(c, &m->torch_slots);
        atoll_codec_i64(c, &m->seen_ns);
        if (atoll_models_use_shapes(e) && c->out)
            atoll_device_shape_encode(&m->shape, c->out);
        else if (atoll_models_use_shapes(e))
            atoll_device_shape_decode(c->in, &m->shape);
    }
}

static int run_codec(struct atoll_codec *c, struct atoll_engine *e, struct atoll_err *err)
{
    bounded_codec(c, &e->started, 2);
    if (e->started && search_codec(c, &e->search, err))
        return -1;
    bounded_codec(c, &e->finishing, 2);
    bounded_codec(c, &e->stopped, 2);
    bounded_codec(c, &e->reason, ATOLL_REASON_COUNT);
    atoll_codec_i64(c, &e->campaign_ns);
    atoll_codec_f64(c, &e->wall_from_ns);
    atoll_codec_f64(c, &e->device_from_ns);
    atoll_codec_u32(c, &e->slots);
    models_codec(c, e);
    atoll_codec_u32(c, &e->number_count);
    atoll_codec_u64(c, &e->next_evaluation);
    atoll_codec_u64(c, &e->next_ask);
    atoll_codec_u64(c, &e->tokens);
    atoll_codec_f64(c, &e->cost_usd);
    bounded_codec(c, &e->asks_spent, 2);
    atoll_codec_u64(c, &e->evaluated);
    atoll_codec_u64(c, &e->ignored);
    atoll_codec_u64(c, &e->challenges);
    atoll_codec_u64(c, &e->promotions);
    if (e->started && c->out) {
        atoll_error_encode(&e->error, c->out);
    } else if (e->started) {
        atoll_error_init(&e->error, e->search.error_control, e->search.alpha);
        atoll_error_decode(c->in, &e->error);
    }
    atoll_codec_f64(c, &e->device_ns);
    /* Written although they follow from the tasks: floating sums depend on their order. */
    atoll_codec_f64(c, &e->opening_ns);
    atoll_codec_f64(c, &e->duels_ns);
    atoll_codec_u64(c, &e->answers);
    atoll_codec_u64(c, &e->opening_answers);
    atoll_codec_u64(c, &e->duels);
    for (unsigned mode = 0; mode < ATOLL_TORCH_MODE_COUNT; mode++) {
        atoll_codec_u64(c, &e->rivals[mode]);
        atoll_codec_f64(c, &e->rivals_ns[mode]);
    }
    return 0;
}

static int load_task(struct atoll_codec *c, struct atoll_engine *e, struct atoll_err *err)
{
    size_t length;
    const void *bytes = atoll_reader_blob(c->in, &length);
    if (c->in->failed || !e->started) {
        c->in->failed = 1;
        return 0;
    }
    if (atoll_array_reserve(&e->tasks, &e->task_capacity, e->task_count + 1, sizeof(*e->tasks), err))
        return -1;
    struct atoll_task *task = atoll_task_decode(bytes, length, err);
    if (!task || atoll_task_state_init(&e->tasks[e->task_count], e, task, bytes, length, err))
        return -1;
    e->task_count++;
    return 0;
}

static int load_source(struct atoll_codec *c, struct atoll_engine *e, struct atoll_err *err)
{
    uint32_t task = 0, position = e->sources.count;
    uint8_t op = 0;
    position_codec(c, &task, e->task_count, 0);
    bounded_codec(c, &op, ATOLL_OPERATOR_COUNT);
    struct atoll_arena *texts = atoll_arena_create((size_t)4 * ATOLL_TASK_FILE_LIMIT, err);
    if (!texts)
        return -1;
    const char *language = atoll_reader_text(c->in, texts);
    const char *text = atoll_reader_text(c->in, texts);
    int failed = c->in->failed
                     ? 0
                     : atoll_sources_add(&e->sources, task, e->tasks[task].task, e->tasks[task].arena,
                                         language, text, (enum atoll_operator)op, &position, err);
    atoll_arena_destroy(texts);
    if (!failed && position + 1 != e->sources.count)
        c->in->failed = 1;
    return failed;
}

static int sources_codec(struct atoll_codec *c, struct atoll_engine *e, struct atoll_err *err)
{
    uint32_t count = e->sources.count;
    atoll_codec_count(c, &count, 13);
    for (uint32_t i = 0; i < count && !atoll_codec_failed(c); i++) {
        if (c->out) {
            struct atoll_source *saved = &e->sources.items[i];
            atoll_codec_u32(c, &saved->task);
            atoll_codec_u8(c, &saved->op);
            atoll_buffer_put_text(c->out, saved->language);
            atoll_buffer_put_text(c->out, saved->text);
        } else if (load_source(c, e, err)) {
            return -1;
        }
        if (atoll_codec_failed(c))
            break;
        struct atoll_source *s = &e->sources.items[i];
        atoll_codec_u32(c, &s->best);
        atoll_codec_f64(c, &s->best_ns);
        atoll_codec_u32(c, &s->tried);
        atoll_codec_u32(c, &s->uncompiled);
        bounded_codec(c, &s->judged, ATOLL_JUDGED_COUNT);
        atoll_codec_u64(c, &s->judge);
        bounded_codec(c, &s->analysed, ATOLL_ANALYSED_COUNT);
        atoll_codec_u64(c, &s->analysis);
        if (c->in &&
            (s->analysis >= e->next_ask || (s->analysed != ATOLL_ANALYSED_NOT) != (s->analysis != 0)))
            c->in->failed = 1;
        if (s->tune && atoll_tune_codec(s->tune, c, err))
            return -1;
    }
    return 0;
}

static int queues_codec(struct atoll_codec *c, struct atoll_engine *e, struct atoll_task_state *t,
                        struct atoll_err *err)
{
    uint32_t waiting = t->pending_count - t->pending_next;
    atoll_codec_count(c, &waiting, 26);
    if (c->in && atoll_array_reserve(&t->pending, &t->pending_capacity, waiting, sizeof(*t->pending), err))
        return -1;
    if (c->in)
        t->pending_count = waiting;
    for (uint32_t i = t->pending_next; i < t->pending_count; i++) {
        struct atoll_pending *p = &t->pending[i];
        position_codec(c, &p->source, e->sources.count, 0);
        position_codec(c, &p->island, e->search.islands, 1);
        position_codec(c, &p->parent, e->individuals.count, 1);
        atoll_codec_u64(c, &p->ask);
        atoll_codec_u32(c, &p->prompt);
        bounded_codec(c, &p->op, ATOLL_OPERATOR_COUNT);
        bounded_codec(c, &p->has_choice, 2);
        if (p->has_choice)
            atoll_codec_choice(c, &p->choice);
    }
    atoll_codec_count(c, &t->template_count, 4);
    if (c->in && atoll_array_reserve(&t->templates, &t->template_capacity, t->template_count,
                                     sizeof(*t->templates), err)) {
        return -1;
    }
    for (uint32_t i = 0; i < t->template_count; i++) {
        position_codec(c, &t->templates[i], e->sources.count, 0);
        if (c->in && !c->in->failed && !e->sources.items[t->templates[i]].tune)
            c->in->failed = 1;
    }
    return 0;
}

static void counters_codec(struct atoll_codec *c, struct atoll_task_state *t)
{
    uint64_t *const counters[] = {&t->evaluated,   &t->correct,    &t->under_way,       &t->answers,
                                  &t->challenges,  &t->promotions, &t->noop_challenges, &t->noop_promotions,
                                  &t->since_elite, &t->duels,      &t->opening_answers, &t->samples,
                                  &t->fruitless};
    double *const numbers[] = {&t->device_ns,         &t->baseline_ns, &t->floor_ns,          &t->final_ratio,
                               &t->duels_ns,          &t->opening_ns,  &t->final_baseline_ns, &t->final_alpha,
                               &t->final_alpha_spent, &t->yardstick_ns};
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
        atoll_codec_u64(c, counters[i]);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        atoll_codec_f64(c, numbers[i]);
}

static void failures_codec(struct atoll_codec *c, struct atoll_failures *f, uint32_t individual_count)
{
    atoll_codec_u32(c, &f->count);
    atoll_codec_u32(c, &f->next);
    if (c->in && (f->count > ATOLL_FAILURE_LIMIT || f->next >= ATOLL_FAILURE_LIMIT)) {
        f->count = f->next = 0;
        c->in->failed = 1;
    }
    for (uint32_t i = 0; i < f->count; i++)
        position_codec(c, &f->items[i], individual_count, 0);
}

/* Of a rival that is correct its times too. */
static void rivals_codec(struct atoll_codec *c, struct atoll_engine *e, struct atoll_task_state *t)
{
    struct atoll_rivals *r = &t->rivals;
    for (size_t n = 0; n < t->task->rival_count; n++) {
        bounded_codec(c, &r->states[n], ATOLL_RIVAL_STATE_COUNT);
        for (size_t v = 0; v < ATOLL_TASK_VARIANT_LIMIT && r->states[n] == ATOLL_RIVAL_CORRECT; v++) {
            atoll_codec_f64(c, &r->times.ns[n][v]);
            if (c->in && !(isfinite(r->times.ns[n][v]) && r->times.ns[n][v] >= 0))
                c->in->failed = 1;
        }
    }
    atoll_codec_f64(c, &r->device_ns);
    atoll_codec_u32(c, &r->duels);
    position_codec(c, &r->finalist, e->individuals.count, 1);
    atoll_codec_f64(c, &r->ratio);
    if (!c->in || c->in->failed)
        return;
    r->fastest = atoll_rival_times_fastest(&r->times, t->task);
    for (size_t n = 0; n < t->task->rival_count; n++)
        r->under_way += r->states[n] == ATOLL_RIVAL_UNDER_WAY;
    e->models[t->model].rivals += r->under_way;
}

static int task_codec(struct atoll_codec *c, struct atoll_engine *e, struct atoll_task_state *t,
                      struct atoll_err *err)
{
    atoll_codec_u32(c, &t->number);
    position_codec(c, &t->model, e->model_count ? e->model_count : 1, 0);
    atoll_codec_u32(c, &t->asks);
    bounded_codec(c, &t->asks_spent, 2);
    atoll_codec_random(c, &t->random);
    bounded_codec(c, &t->stage, ATOLL_STAGE_COUNT);
    bounded_codec(c, &t->final, ATOLL_FINAL_COUNT);
    bounded_codec(c, &t->done, 2);
    bounded_codec(c, &t->reason, ATOLL_REASON_COUNT);
    position_codec(c, &t->baseline_source, e->sources.count, 1);
    position_codec(c, &t->next_island, e->search.islands, 0);
    position_codec(c, &t->baseline, e->individuals.count, 1);
    position_codec(c, &t->best, e->individuals.count, 1);
    position_codec(c, &t->best_waiting, e->individuals.count, 1);
    position_codec(c, &t->best_refused, e->individuals.count, 1);
    position_codec(c, &t->finalist, e->individuals.count, 1);
    position_codec(c, &t->translated, e->individuals.count, 1);
    atoll_codec_u64(c, &t->translated_at);
    atoll_codec_u32(c, &t->best_duels);
    atoll_codec_u64(c, &t->best_duel);
    atoll_codec_u32(c, &t->finals);
    atoll_codec_u32(c, &t->finals_compared);
    atoll_codec_u32(c, &t->finals_failed);
    counters_codec(c, t);
    atoll_transitions_codec(&t->transitions, c);
    failures_codec(c, &t->failures, e->individuals.count);
    atoll_share_codec(&t->share, c);
    for (uint32_t i = 0; i < e->search.islands; i++)
        atoll_island_codec(&t->islands[i], e->individuals.count, c);
    rivals_codec(c, e, t);
    if (c->in &&
        ((t->stage == ATOLL_STAGE_OPEN && t->baseline == ATOLL_NONE && !(t->rivals.fastest.time_ns > 0)) ||
         (t->baseline_source == ATOLL_NONE && !t->done && !t->task->rival_count))) {
        c->in->failed = 1;
    }
    if (c->in)
        e->open_count += !t->done;
    atoll_baseline_codec(e, t, c);
    const struct atoll_strategy *strategy = atoll_strategy_of(e);
    if (queues_codec(c, e, t, err))
        return -1;
    if (atoll_codec_failed(c))
        return 0;
    atoll_template_phase_codec(e, &t->phase, c);
    atoll_analyses_codec(e, t, c);
    if (atoll_lessons_codec(e, t, c, err) || atoll_judging_codec(e, t, c, err) ||
        atoll_prompts_codec(e, t, c, err))
        return -1;
    return strategy->codec && !atoll_codec_failed(c) ? strategy->codec(e, t, c, err) : 0;
}

static int engine_codec(struct atoll_codec *c, struct atoll_engine *e, struct atoll_err *err)
{
    if (head_codec(c, err) || run_codec(c, e, err))
        return -1;
    uint32_t count = e->task_count;
    atoll_codec_count(c, &count, 4);
    for (uint32_t i = 0; i < count && !atoll_codec_failed(c); i++)
        if (c->out)
            atoll_buffer_put_blob(c->out, e->tasks[i].bytes, e->tasks[i].length);
        else if (load_task(c, e, err))
            return -1;
    if (sources_codec(c, e, err) || atoll_individuals_codec(&e->individuals, e->sources.count, c, err))
        return -1;
    /* The templates' best instances can be checked only once the individuals are there. */
    for (uint32_t i = 0; c->in && i < e->sources.count; i++) {
        const struct atoll_source *s = &e->sources.items[i];
        if ((s->best != ATOLL_NONE && s->best >= e->individuals.count) || !isfinite(s->best_ns))
            c->in->failed = 1;
    }
    for (uint32_t i = 0; c->in && i < e->individuals.count; i++)
        if (e->individuals.items[i].task != e->sources.items[e->individuals.items[i].source].task)
            c->in->failed = 1;
    for (uint32_t i = 0; i < e->task_count && !atoll_codec_failed(c); i++)
        if (task_codec(c, e, &e->tasks[i], err))
            return -1;
    if (!atoll_codec_failed(c) &&
        atoll_proposals_codec(&e->proposals, e->task_count, e->individuals.count, c, err))
        return -1;
    return atoll_codec_failed(c) ? 0 : atoll_asks_codec(e, c, err);
}

int atoll_engine_save(const struct atoll_engine *engine, struct atoll_buffer *out, struct atoll_err *err)
{
    struct atoll_codec codec = {.out = out};
    struct atoll_engine *reading; /* a saving codec changes nothing */
    memcpy(&reading, &engine, sizeof(reading));
    return engine_codec(&codec, reading, err) || atoll_buffer_check(out, err) ? -1 : 0;
}

/* Of one candidate's task, or of a rival that is under way. */
static int is_of_its_task(const struct atoll_engine *e, const struct atoll_proposal *p)
{
    const struct atoll_task_state *t = &e->tasks[p->task];
    if (p->individual != ATOLL_NONE)
        return e->individuals.items[p->individual].task == p->task;
    return p->decision.rival < t->task->rival_count &&
           t->rivals.states[p->decision.rival] == ATOLL_RIVAL_UNDER_WAY;
}

/* What is under way must be of tasks and islands that exist, every open test one of the challenges, every rival that is
 * under way one of the orders. */
static int check_proposals(const struct atoll_engine *e)
{
    uint64_t challenges = 0, rivals = 0, ordered = 0;
    for (uint32_t i = 0; i < e->proposals.count; i++) {
        const struct atoll_decision *d = &e->proposals.items[i].decision;
        if (d->task >= e->task_count || d->island >= e->search.islands ||
            d->evaluation >= e->next_evaluation || !is_of_its_task(e, &e->proposals.items[i]))
            return -1;
        challenges += d->type == ATOLL_DECIDE_DUEL && d->purpose == ATOLL_DUEL_PROMOTION;
        ordered += d->type == ATOLL_DECIDE_RIVAL;
    }
    for (uint32_t i = 0; i < e->task_count; i++)
        rivals += e->tasks[i].rivals.under_way;
    return challenges == e->error.under_way && rivals == ordered ? 0 : -1;
}

struct atoll_engine *atoll_engine_load(const void *bytes, size_t length, struct atoll_err *err)
{
    struct atoll_reader reader;
    atoll_reader_init(&reader, bytes, length);
    struct atoll_codec codec = {.in = &reader};
    struct atoll_engine *e = atoll_engine_create(err);
    if (!e)
        return NULL;
    int failed = engine_codec(&codec, e, err);
    if (!failed)
        failed = atoll_reader_finish(&reader, "snapshot of the search", err);
    if (!failed && check_proposals(e)) {
        failed =
            atoll_err_set(err, ATOLL_E_CORRUPT, "the snapshot of the search names what it does not hold");
    }
    if (!failed)
        return e;
    atoll_engine_destroy(e);
    return NULL;
}

struct atoll_id atoll_engine_digest(const struct atoll_engine *engine)
{
    struct atoll_buffer bytes;
    struct atoll_id id;
    memset(&id, 0, sizeof(id));
    atoll_buffer_init(&bytes, SAVE_LIMIT);
    if (!atoll_engine_save(engine, &bytes, NULL))
        id = atoll_id_of(bytes.data, bytes.length);
    atoll_buffer_fini(&bytes);
    return id;
}

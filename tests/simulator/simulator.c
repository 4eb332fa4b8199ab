/* The sink keeps what follows from a decision in order: it runs inside of a step.  Ranks free up when they are done, their
 * answers arrive a while later; whatever was begun in an earlier attempt of the campaign, or by a rank that vanished, is
 * dropped when it arrives, or comes late and must be ignored. */
#include "tests/simulator/simulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulator/agenda.h"
#include "tests/simulator/history.h"
#include "tests/simulator/orders.h"
#include "tests/simulator/witness.h"

#define HOUR_NS     3.6e12
#define TASK_BYTES  ((size_t)1 << 24)
#define TEXT_BYTES  ((size_t)1 << 22)
#define STATE_BYTES ((size_t)1 << 34)

enum happening { RANK_DONE, ANSWER, REPLY, VANISH, COME_BACK, NEW_ATTEMPT };

struct atoll_simulator {
    struct atoll_simulator_settings settings;
    struct atoll_engine *engine;
    struct atoll_random random;
    struct atoll_agenda agenda;
    struct atoll_orders orders;
    struct atoll_witness witness;
    struct atoll_history history;
    struct atoll_buffer texts, scratch;
    struct atoll_ask *questions; /* not answered */
    uint32_t question_count, question_capacity;
    struct atoll_rank ranks[ATOLL_SIMULATOR_RANKS];
    uint32_t there, free_count;
    double optimum_ns[ATOLL_SIMULATOR_TASKS];
    int64_t now_ns;
    uint64_t attempt;
    int stopped;
    struct atoll_err *err; /* of the step that runs */
    int failed;            /* during it */
    struct atoll_simulator_outcome outcome;
};

void atoll_simulator_defaults(struct atoll_simulator_settings *ret_settings)
{
    struct atoll_simulator_settings *s = ret_settings;
    memset(s, 0, sizeof(*s));
    s->seed = 1;
    atoll_search_defaults(&s->search);
    s->search.ask_share = 1;
    s->search.asks = 8;
    s->search.stagnation_limit = 0;
    s->search.evaluation_budget = 1000;
    s->task_count = 1;
    s->landscapes[0] = (struct atoll_landscape){ATOLL_LANDSCAPE_SMOOTH, 1, 1};
    s->rank_count = 1;
    atoll_simulated_defaults(&s->referee);
    atoll_author_defaults(&s->author);
    s->latency_ns = 1e6;
    s->reply_ns = 2e9;
}

static double unit(struct atoll_simulator *s)
{
    return atoll_random_unit(atoll_random_next(&s->random));
}

static int64_t exponential_ns(struct atoll_simulator *s, double mean_ns)
{
    return (int64_t)(-mean_ns * log(1 - unit(s)));
}

static int plan_for(struct atoll_simulator *s, int64_t after_ns, enum happening what, uint32_t which,
                    uint64_t number, struct atoll_err *err)
{
    struct atoll_agenda_entry entry = {.when_ns = s->now_ns + after_ns,
                                       .what = what,
                                       .which = which,
                                       .number = number,
                                       .attempt = s->attempt};
    return atoll_agenda_add(&s->agenda, &entry, err);
}

static int point_of(const struct atoll_simulator *s, const struct atoll_id *source,
                    const struct atoll_choice *choice, struct atoll_landscape_point *ret_point)
{
    const char *language, *text;
    return atoll_engine_source(s->engine, source, &language, &text) ||
           atoll_landscape_parse(text, choice, ret_point);
}

/* ---- what was decided ---- */

static void see_best(struct atoll_simulator *s, const struct atoll_decision *d)
{
    struct atoll_landscape_point point;
    const struct atoll_landscape *l = &s->settings.landscapes[d->task];
    struct atoll_simulator_task *t = &s->outcome.tasks[d->task];
    if (point_of(s, &d->source, &d->choice, &point))
        return;
    t->best_ns = atoll_landscape_time_ns(l, &point);
    if (!t->reached && t->best_ns <= ATOLL_SIMULATOR_GOAL * s->optimum_ns[d->task]) {
        t->reached = s->outcome.evaluated ? s->outcome.evaluated : 1;
        t->reached_device_ns = s->outcome.device_ns;
    }
}

static uint32_t question_at(const struct atoll_simulator *s, uint64_t number)
{
    uint32_t i = 0;
    while (i < s->question_count && s->questions[i].number != number)
        i++;
    return i;
}

static int see_ask(struct atoll_simulator *s, const struct atoll_ask *ask)
{
    uint32_t at = question_at(s, ask->number);
    if (at == s->question_count) {
        if (atoll_array_reserve(&s->questions, &s->question_capacity, at + 1, sizeof(*s->questions), s->err))
            return -1;
        s->questions[s->question_count++] = *ask;
    }
    return plan_for(s, exponential_ns(s, s->settings.reply_ns), REPLY, 0, ask->number, s->err);
}

static void give_up(struct atoll_simulator *s, const struct atoll_decision *d)
{
    struct atoll_order *order = atoll_orders_find(&s->orders, d->evaluation);
    if (order)
        atoll_orders_remove(&s->orders, order);
}

static void add_to_digest(struct atoll_simulator *s, const struct atoll_decision *d)
{
    if (!s->settings.is_recorded && !s->settings.is_witnessed)
        return;
    atoll_buffer_clear(&s->scratch);
    atoll_decision_encode(d, &s->scratch);
    uint64_t digest = s->outcome.digest;
    for (size_t i = 0; i < s->scratch.length; i++)
        digest = (digest ^ s->scratch.data[i]) * 0x100000001b3u;
    s->outcome.digest = atoll_mix64(digest);
}

static int carry_out(struct atoll_simulator *s, const struct atoll_decision *d)
{
    switch (d->type) {
    case ATOLL_DECIDE_EVALUATE:
    case ATOLL_DECIDE_RIVAL:
    case ATOLL_DECIDE_DUEL: return atoll_orders_add(&s->orders, d, s->err);
    case ATOLL_DECIDE_ABANDON: give_up(s, d); return 0;
    case ATOLL_DECIDE_ASK: return see_ask(s, &d->ask);
    case ATOLL_DECIDE_BEST: see_best(s, d); return 0;
    case ATOLL_DECIDE_MIGRATE: s->outcome.migrations++; return 0;
    case ATOLL_DECIDE_STOP: s->stopped = 1; return 0;
    default: return 0;
    }
}

static void sink(void *context, const struct atoll_decision *d)
{
    struct atoll_simulator *s = context;
    s->outcome.decisions++;
    add_to_digest(s, d);
    if (s->failed)
        return;
    if (s->settings.is_witnessed &&
        atoll_witness_decision(&s->witness, &s->settings.search, &s->orders, d, s->err)) {
        s->failed = 1;
    } else if (carry_out(s, d)) {
        s->failed = 1;
    }
}

/* ---- what happened ---- */

static int step(struct atoll_simulator *s, struct atoll_event *event, struct atoll_err *err)
{
    event->campaign_ns = s->now_ns;
    s->outcome.events++;
    if (s->settings.is_recorded && atoll_history_add(&s->history, event, err))
        return -1;
    s->err = err;
    s->failed = 0;
    if (atoll_engine_step(s->engine, event, sink, s, err) || s->failed)
        return -1;
    if (s->settings.briefer.see)
        s->settings.briefer.see(s->settings.briefer.context, s->engine, event);
    if (s->settings.is_witnessed && !s->stopped &&
        atoll_witness_state(&s->witness, &s->settings.search, &s->orders, s->engine, err)) {
        return -1;
    }
    return s->stopped && s->settings.is_witnessed ? atoll_witness_end(s->engine, err) : 0;
}

static int send_capacity(struct atoll_simulator *s, struct atoll_err *err)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = s->there;
    if (s->settings.referee.rivals) { /* only devices that have a name may have torch */
        event.model_count = 1;
        event.models[0] = (struct atoll_capacity){"simulated", s->there, s->there, {0}};
    }
    return step(s, &event, err);
}

static uint64_t ignored(const struct atoll_simulator *s)
{
    struct atoll_engine_status status;
    atoll_engine_status(s->engine, &status);
    return status.ignored;
}

/* What comes twice, or too late, changes nothing. */
static int step_ignored(struct atoll_simulator *s, struct atoll_event *event, struct atoll_err *err)
{
    uint64_t before = ignored(s);
    if (step(s, event, err))
        return -1;
    s->outcome.ignored++;
    if (ignored(s) == before + 1)
        return 0;
    return atoll_err_set(err, ATOLL_E_INTERNAL, "event %llu was to be ignored",
                         (unsigned long long)s->outcome.events);
}

static int step_perhaps_twice(struct atoll_simulator *s, struct atoll_event *event, struct atoll_err *err)
{
    if (step(s, event, err))
        return -1;
    return s->settings.twice > 0 && unit(s) < s->settings.twice ? step_ignored(s, event, err) : 0;
}

/* All chance is of the number: the same answer whenever it is made. */
static void make_event(struct atoll_simulator *s, const struct atoll_decision *order, struct atoll_rank *rank,
                       int is_lost, struct atoll_event *event)
{
    struct atoll_simulated_settings referee = s->settings.referee;
    struct atoll_random random = {atoll_random_at(s->settings.seed, 4), order->evaluation << 16};
    const struct atoll_landscape *l = &s->settings.landscapes[order->task];
    struct atoll_landscape_point candidate, elite;
    double speed = atoll_rank_speed(&referee, rank, s->now_ns, &s->random);
    int is_bad = point_of(s, &order->source, &order->choice, &candidate);
    int has_elite = order->purpose != ATOLL_DUEL_RIVAL;
    if (is_lost)
        referee.infrastructure = 1;
    if (order->type == ATOLL_DECIDE_RIVAL) {
        atoll_event_init(event, ATOLL_EVENT_RIVAL);
        atoll_simulated_rival(&referee, l, order, speed, &random, &event->rival);
        return;
    }
    if (order->type == ATOLL_DECIDE_EVALUATE) {
        atoll_event_init(event, ATOLL_EVENT_EVALUATED);
        atoll_simulated_evaluate(&referee, l, order, is_bad ? NULL : &candidate, speed, &random,
                                 &event->evaluation);
        return;
    }
    atoll_event_init(event, ATOLL_EVENT_DUELLED);
    if (is_bad || (has_elite && point_of(s, &order->elite_source, &order->elite_choice, &elite)))
        referee.infrastructure = 1;
    atoll_simulated_duel(&referee, l, order, &candidate, has_elite ? &elite : NULL, speed, &random,
                         &event->duel);
}

static int is_failure(const struct atoll_event *event)
{
    return (event->type == ATOLL_EVENT_EVALUATED ? event->evaluation.verdict
            : event->type == ATOLL_EVENT_RIVAL   ? event->rival.verdict
                                                 : event->duel.verdict) == ATOLL_V_INFRASTRUCTURE;
}

static double occupied_ns(const struct atoll_event *event)
{
    return event->type == ATOLL_EVENT_EVALUATED ? event->evaluation.occupied_ns
           : event->type == ATOLL_EVENT_RIVAL   ? event->rival.occupied_ns
                                                : event->duel.occupied_ns;
}

static void count_answer(struct atoll_simulator *s, const struct atoll_decision *order,
                         const struct atoll_event *event)
{
    struct atoll_landscape_point point;
    struct atoll_simulator_task *t = &s->outcome.tasks[order->task];
    s->outcome.device_ns += occupied_ns(event);
    s->outcome.retries += (uint64_t)is_failure(event);
    s->outcome.duels += event->type == ATOLL_EVENT_DUELLED;
    s->outcome.rivals += event->type == ATOLL_EVENT_RIVAL && !is_failure(event);
    if (event->type != ATOLL_EVENT_EVALUATED)
        return;
    s->outcome.evaluated += !is_failure(event);
    if (event->evaluation.verdict == ATOLL_V_CORRECT &&
        !point_of(s, &order->source, &order->choice, &point)) {
        t->found_ns =
            fmin(t->found_ns, atoll_landscape_time_ns(&s->settings.landscapes[order->task], &point));
    }
}

/* Takes the order from whoever holds it and gives the result to the engine. */
static int answer(struct atoll_simulator *s, struct atoll_order *order, struct atoll_event *event,
                  struct atoll_err *err)
{
    struct atoll_decision d = order->decision;
    atoll_orders_remove(&s->orders, order);
    count_answer(s, &d, event);
    if (is_failure(event))
        s->witness.failing = d;
    int failed = step_perhaps_twice(s, event, err);
    s->witness.failing.type = (enum atoll_decision_type)0;
    return failed;
}

/* ---- ranks ---- */

static int begin(struct atoll_simulator *s, uint32_t number, struct atoll_order *order, struct atoll_err *err)
{
    struct atoll_rank *rank = &s->ranks[number];
    struct atoll_event event;
    make_event(s, &order->decision, rank, 0, &event);
    double busy_ns = occupied_ns(&event);
    atoll_event_fini(&event);
    order->rank = number;
    rank->busy = order->decision.evaluation;
    s->free_count--;
    int64_t done_ns = (int64_t)busy_ns;
    if (plan_for(s, done_ns, RANK_DONE, number, rank->busy, err))
        return -1;
    return plan_for(s, done_ns + exponential_ns(s, s->settings.latency_ns), ANSWER, number, rank->busy, err);
}

static int dispatch(struct atoll_simulator *s, struct atoll_err *err)
{
    struct atoll_order *order;
    for (uint32_t i = 0; i < s->settings.rank_count && s->free_count; i++) {
        if (!s->ranks[i].is_there || s->ranks[i].busy)
            continue;
        order = atoll_orders_next(&s->orders);
        if (!order)
            break;
        if (begin(s, i, order, err))
            return -1;
    }
    return 0;
}

static void set_free(struct atoll_simulator *s, uint32_t number)
{
    s->free_count += s->ranks[number].busy != 0;
    s->ranks[number].busy = 0;
}

static int on_rank_done(struct atoll_simulator *s, const struct atoll_agenda_entry *entry,
                        struct atoll_err *err)
{
    if (s->ranks[entry->which].busy == entry->number && s->ranks[entry->which].is_there)
        set_free(s, entry->which);
    return 0;
}

/* Of a number that is answered or given up: dropped on the way, or late. */
static int arrive_late(struct atoll_simulator *s, uint64_t number, struct atoll_err *err)
{
    struct atoll_event event;
    if (!(s->settings.late > 0) || unit(s) >= s->settings.late)
        return 0;
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    event.evaluation.evaluation = number;
    int failed = step_ignored(s, &event, err);
    atoll_event_fini(&event);
    return failed;
}

static int on_answer(struct atoll_simulator *s, const struct atoll_agenda_entry *entry, struct atoll_err *err)
{
    struct atoll_order *order = atoll_orders_find(&s->orders, entry->number);
    struct atoll_event event;
    if (!order)
        return arrive_late(s, entry->number, err);
    if (order->rank != entry->which || entry->attempt != s->attempt)
        return 0;
    make_event(s, &order->decision, &s->ranks[entry->which], 0, &event);
    int failed = answer(s, order, &event, err);
    atoll_event_fini(&event);
    return failed;
}

static int lose(struct atoll_simulator *s, uint32_t number, struct atoll_order *order, struct atoll_err *err)
{
    struct atoll_event event;
    make_event(s, &order->decision, &s->ranks[number], 1, &event);
    int failed = answer(s, order, &event, err);
    atoll_event_fini(&event);
    return failed;
}

static int plan_life(struct atoll_simulator *s, uint32_t number, struct atoll_err *err)
{
    if (!(s->settings.vanish_per_hour > 0))
        return 0;
    return plan_for(s, exponential_ns(s, HOUR_NS / s->settings.vanish_per_hour), VANISH, number, 0, err);
}

static int on_vanish(struct atoll_simulator *s, const struct atoll_agenda_entry *entry, struct atoll_err *err)
{
    struct atoll_rank *rank = &s->ranks[entry->which];
    struct atoll_order *order = rank->busy ? atoll_orders_find(&s->orders, rank->busy) : NULL;
    if (entry->attempt != s->attempt || !rank->is_there)
        return 0;
    set_free(s, entry->which);
    rank->is_there = 0;
    s->there--;
    s->free_count--;
    if (plan_for(s, exponential_ns(s, s->settings.away_ns), COME_BACK, entry->which, 0, err) ||
        send_capacity(s, err)) {
        return -1;
    }
    return order && !s->stopped && order->rank == entry->which ? lose(s, entry->which, order, err) : 0;
}

static void arrive(struct atoll_simulator *s, uint32_t number)
{
    struct atoll_rank *rank = &s->ranks[number];
    rank->is_there = 1;
    rank->busy = 0;
    s->there++;
    s->free_count++;
}

static int on_come_back(struct atoll_simulator *s, const struct atoll_agenda_entry *entry,
                        struct atoll_err *err)
{
    if (entry->attempt != s->attempt || s->ranks[entry->which].is_there)
        return 0;
    arrive(s, entry->which);
    return plan_life(s, entry->which, err) || send_capacity(s, err) ? -1 : 0;
}

static int plan_attempt(struct atoll_simulator *s, struct atoll_err *err)
{
    if (!(s->settings.resume_per_hour > 0))
        return 0;
    return plan_for(s, exponential_ns(s, HOUR_NS / s->settings.resume_per_hour), NEW_ATTEMPT, 0, 0, err);
}

static int begin_attempt(struct atoll_simulator *s, struct atoll_err *err)
{
    s->attempt++;
    s->there = s->free_count = 0;
    atoll_orders_recall(&s->orders);
    for (uint32_t i = 0; i < s->settings.rank_count; i++) {
        arrive(s, i);
        if (plan_life(s, i, err))
            return -1;
    }
    return plan_attempt(s, err);
}

static int on_new_attempt(struct atoll_simulator *s, const struct atoll_agenda_entry *entry,
                          struct atoll_err *err)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_RESUME);
    if (begin_attempt(s, err) || step(s, &event, err))
        return -1;
    return s->stopped ? 0 : send_capacity(s, err);
}

static int on_reply(struct atoll_simulator *s, const struct atoll_agenda_entry *entry, struct atoll_err *err)
{
    struct atoll_event event;
    uint32_t at = question_at(s, entry->number);
    if (entry->attempt != s->attempt || at == s->question_count)
        return 0;
    struct atoll_ask ask = s->questions[at];
    s->questions[at] = s->questions[--s->question_count];
    struct atoll_author_told told = {0};
    if (s->settings.briefer.tell)
        s->settings.briefer.tell(s->settings.briefer.context, s->engine, &ask, &told);
    atoll_event_init(&event, ATOLL_EVENT_REPLY);
    atoll_author_answer(&s->settings.author, s->settings.seed, &s->settings.landscapes[ask.task], s->engine,
                        &ask, &told, &s->texts, &event.reply);
    if (ask.kind == ATOLL_ASK_META && s->settings.briefer.edit && event.reply.status == ATOLL_REPLY_OK)
        s->settings.briefer.edit(s->settings.briefer.context, &ask, &event.reply);
    s->outcome.replies++;
    return step_perhaps_twice(s, &event, err);
}

typedef int happen(struct atoll_simulator *s, const struct atoll_agenda_entry *entry, struct atoll_err *err);

static happen *const happenings[] = {
    [RANK_DONE] = on_rank_done, [ANSWER] = on_answer,       [REPLY] = on_reply,
    [VANISH] = on_vanish,       [COME_BACK] = on_come_back, [NEW_ATTEMPT] = on_new_attempt,
};

int atoll_simulator_run(struct atoll_simulator *s, uint64_t events, struct atoll_err *err)
{
    uint64_t last = events ? s->outcome.events + events : UINT64_MAX;
    while (!s->stopped && s->outcome.events < last) {
        struct atoll_agenda_entry entry;
        if (dispatch(s, err))
            return -1;
        if (!atoll_agenda_take(&s->agenda, &entry))
            return atoll_err_set(err, ATOLL_E_INTERNAL, "nothing is under way and the campaign is not over");
        s->now_ns = entry.when_ns;
        if (happenings[entry.what](s, &entry, err))
            return -1;
        if (s->settings.reload > 0 && unit(s) < s->settings.reload && atoll_simulator_reload(s, err))
            return -1;
    }
    return s->stopped;
}

int atoll_simulator_finish(struct atoll_simulator *s, struct atoll_err *err)
{
    struct atoll_event event;
    if (s->stopped)
        return 0;
    atoll_event_init(&event, ATOLL_EVENT_FINISH);
    return step(s, &event, err);
}

/* ---- the same again ---- */

static int same_bytes(const struct atoll_engine *a, const struct atoll_engine *b, const char *what,
                      struct atoll_err *err)
{
    struct atoll_buffer bytes[2];
    const struct atoll_engine *const engines[2] = {a, b};
    int failed = 0;
    for (unsigned i = 0; i < 2; i++) {
        atoll_buffer_init(&bytes[i], STATE_BYTES);
        failed = failed || atoll_engine_save(engines[i], &bytes[i], err);
    }
    if (!failed &&
        (bytes[0].length != bytes[1].length || memcmp(bytes[0].data, bytes[1].data, bytes[0].length) != 0)) {
        failed = atoll_err_set(err, ATOLL_E_MISMATCH, "the engine is not the same after a %s", what);
    }
    for (unsigned i = 0; i < 2; i++)
        atoll_buffer_fini(&bytes[i]);
    return failed ? -1 : 0;
}

int atoll_simulator_reload(struct atoll_simulator *s, struct atoll_err *err)
{
    struct atoll_buffer bytes;
    struct atoll_engine *loaded = NULL;
    atoll_buffer_init(&bytes, STATE_BYTES);
    if (!atoll_engine_save(s->engine, &bytes, err))
        loaded = atoll_engine_load(bytes.data, bytes.length, err);
    atoll_buffer_fini(&bytes);
    if (!loaded || same_bytes(s->engine, loaded, "reload", err)) {
        atoll_engine_destroy(loaded);
        return -1;
    }
    atoll_engine_destroy(s->engine);
    s->engine = loaded;
    s->outcome.reloads++;
    return 0;
}

struct again {
    struct atoll_buffer scratch;
    uint64_t digest, decisions;
};

static void sink_again(void *context, const struct atoll_decision *d)
{
    struct again *again = context;
    uint64_t digest = again->digest;
    atoll_buffer_clear(&again->scratch);
    atoll_decision_encode(d, &again->scratch);
    for (size_t i = 0; i < again->scratch.length; i++)
        digest = (digest ^ again->scratch.data[i]) * 0x100000001b3u;
    again->digest = atoll_mix64(digest);
    again->decisions++;
}

int atoll_simulator_replay(const struct atoll_simulator *s, struct atoll_err *err)
{
    struct again again = {.digest = 0};
    atoll_buffer_init(&again.scratch, TEXT_BYTES);
    struct atoll_engine *engine = atoll_history_replay(&s->history, sink_again, &again, err);
    atoll_buffer_fini(&again.scratch);
    int failed = engine ? same_bytes(s->engine, engine, "replay", err) : -1;
    if (!failed && (again.digest != s->outcome.digest || again.decisions != s->outcome.decisions))
        failed = atoll_err_set(err, ATOLL_E_MISMATCH, "a replay decides otherwise");
    atoll_engine_destroy(engine);
    return failed;
}

/* ---- begin and end ---- */

static int add_task(struct atoll_simulator *s, uint32_t number, struct atoll_err *err)
{
    const struct atoll_landscape *l = &s->settings.landscapes[number];
    struct atoll_task *task =
        atoll_task_load(l->kind == ATOLL_LANDSCAPE_TEMPLATE ? ATOLL_SIMULATOR_DIR "/template"
                        : s->settings.referee.rivals        ? ATOLL_SIMULATOR_DIR "/rivals"
                                                            : ATOLL_SIMULATOR_DIR "/point",
                        err);
    struct atoll_buffer bytes;
    struct atoll_event event;
    atoll_buffer_init(&bytes, TASK_BYTES);
    atoll_event_init(&event, ATOLL_EVENT_TASK);
    event.task = number;
    int failed = !task || atoll_task_encode(task, &bytes, err);
    event.task_bytes = bytes.data;
    event.task_length = bytes.length;
    failed = failed || step(s, &event, err);
    struct atoll_landscape_point origin = {{0}, {0}, 0};
    s->optimum_ns[number] = atoll_landscape_optimum_ns(l);
    s->outcome.tasks[number].best_ns = s->outcome.tasks[number].found_ns =
        atoll_landscape_time_ns(l, &origin);
    atoll_task_destroy(task);
    atoll_buffer_fini(&bytes);
    return failed ? -1 : 0;
}

static int start(struct atoll_simulator *s, struct atoll_err *err)
{
    struct atoll_event event;
    s->engine = atoll_engine_create(err);
    if (!s->engine)
        return -1;
    atoll_event_init(&event, ATOLL_EVENT_START);
    event.search = s->settings.search;
    if (step(s, &event, err))
        return -1;
    for (uint32_t i = 0; i < s->settings.task_count; i++)
        if (add_task(s, i, err))
            return -1;
    for (uint32_t i = 0; i < s->settings.rank_count; i++) {
        double u = 2 * unit(s) - 1;
        s->ranks[i].speed = exp(s->settings.referee.spread * u);
    }
    return begin_attempt(s, err) || send_capacity(s, err) ? -1 : 0;
}

struct atoll_simulator *atoll_simulator_create(const struct atoll_simulator_settings *settings,
                                               struct atoll_err *err)
{
    struct atoll_simulator *s = calloc(1, sizeof(*s));
    if (!s) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a simulator");
        return NULL;
    }
    s->settings = *settings;
    s->settings.referee.racing = settings->search.racing != 0;
    s->random = (struct atoll_random){atoll_random_at(settings->seed, 3), 0};
    atoll_history_init(&s->history);
    atoll_buffer_init(&s->texts, TEXT_BYTES);
    atoll_buffer_init(&s->scratch, TEXT_BYTES);
    if (!start(s, err))
        return s;
    atoll_simulator_destroy(s);
    return NULL;
}

void atoll_simulator_destroy(struct atoll_simulator *s)
{
    if (!s)
        return;
    atoll_engine_destroy(s->engine);
    atoll_agenda_fini(&s->agenda);
    atoll_orders_fini(&s->orders);
    atoll_witness_fini(&s->witness);
    atoll_history_fini(&s->history);
    atoll_buffer_fini(&s->texts);
    atoll_buffer_fini(&s->scratch);
    free(s->questions);
    free(s);
}

const struct atoll_engine *atoll_simulator_engine(const struct atoll_simulator *s)
{
    return s->engine;
}

void atoll_simulator_outcome(const struct atoll_simulator *s, struct atoll_simulator_outcome *ret_outcome)
{
    *ret_outcome = s->outcome;
    ret_outcome->virtual_ns = (double)s->now_ns;
}

/* engine.h - the search as a pure function: (state, event) -> (state, decisions).
 * Layer: evolution.  No I/O, no clock, no threads; its random numbers are inside its state.  The same events
 * give the same decisions and the same saved bytes, on the same engine version and instruction set. Lifetime:
 * create/destroy.  Single owner. */
#ifndef ATOLL_EVOLUTION_ENGINE_ENGINE_H
#define ATOLL_EVOLUTION_ENGINE_ENGINE_H

#include "core/decision.h"
#include "core/event.h"

#define ATOLL_ENGINE_VERSION 14

struct atoll_engine;

struct atoll_engine *atoll_engine_create(struct atoll_err *err);
void atoll_engine_destroy(struct atoll_engine *engine);

/* Called once for every decision, in order, during a step.  The decision is borrowed for the call. */
typedef void atoll_decision_sink(void *context, const struct atoll_decision *decision);

/* One step.  An event that does not fit the state (an unknown evaluation number, a result given twice) is no
 * error: it is ignored and counted (atoll_engine_status.ignored).  -1 only for MEMORY, LIMIT, or a task that
 * does not decode. */
int atoll_engine_step(struct atoll_engine *engine, const struct atoll_event *event, atoll_decision_sink *sink,
                      void *context, struct atoll_err *err);

/* The whole state as bytes (snapshot), and back.  save(load(save(x))) == save(x). */
int atoll_engine_save(const struct atoll_engine *engine, struct atoll_buffer *out, struct atoll_err *err);
struct atoll_engine *atoll_engine_load(const void *bytes, size_t length, struct atoll_err *err);
struct atoll_id atoll_engine_digest(const struct atoll_engine *engine); /* of the saved bytes */

/* What people and the coordinator ask. All pointers are borrowed until the next step. */
const struct atoll_task *atoll_engine_task(const struct atoll_engine *engine,
                                           uint32_t task); /* NULL beyond */
uint32_t atoll_engine_task_count(const struct atoll_engine *engine);
const struct atoll_search *
atoll_engine_search(const struct atoll_engine *engine);                   /* its settings; borrowed */
enum atoll_triton atoll_engine_triton(const struct atoll_engine *engine); /* as its settings say */
/* Text and language of a source; -1 when unknown. */
int atoll_engine_source(const struct atoll_engine *engine, const struct atoll_id *source,
                        const char **ret_language, const char **ret_text);

/* Source and parameters of a candidate of a task; -1 when unknown. */
int atoll_engine_candidate(const struct atoll_engine *engine, uint32_t task, const struct atoll_id *candidate,
                           struct atoll_id *ret_source, struct atoll_choice *ret_choice);

/* A candidate as the search knows it now. */
struct atoll_candidate_view {
    struct atoll_id id, source, parent; /* parent: zero: none */
    struct atoll_choice choice;
    uint64_t ask;   /* whose answer it is, 0: nobody's */
    int is_settled; /* it has a verdict */
    int is_correct; /* as far as is known */
    double time_ns; /* measured alone, raised by lost duels; 0 unknown */
};
/* Of a task on a device model; -1 when unknown. */
int atoll_engine_view(const struct atoll_engine *engine, uint32_t task, uint32_t model,
                      const struct atoll_id *candidate, struct atoll_candidate_view *ret_view);
/* Steps through them, the newest first, without null controls: *cursor starts at 0.  1 and ret_view, 0 after the last. */
int atoll_engine_next_view(const struct atoll_engine *engine, uint32_t task, uint32_t model, uint32_t *cursor,
                           struct atoll_candidate_view *ret_view);

/* A template of which no combination that was tried compiles. */
struct atoll_barren {
    uint32_t task;
    struct atoll_id source;
    uint32_t tried;
};
/* Steps through them: *cursor starts at 0.  1 and ret_barren, 0 after the last. */
int atoll_engine_next_barren(const struct atoll_engine *engine, uint32_t *cursor,
                             struct atoll_barren *ret_barren);

/* A source as the search knows it. */
struct atoll_engine_kernel {
    uint32_t task, model;
    enum atoll_operator op; /* how its first instance came about */
    const char *language, *text;
    struct atoll_id best; /* its best correct instance; zero: there is none */
    double best_ns;       /* that one's time */
    const char *state;    /* without one: "under way", "untried", or the verdict of its first instance */
    uint32_t tried;       /* instances with a verdict */
};
/* By position, from 0 in the order in which they came; a position never changes.  -1 beyond the last. */
int atoll_engine_kernel(const struct atoll_engine *engine, uint32_t position,
                        struct atoll_engine_kernel *ret_kernel);

struct atoll_task_status {
    uint64_t evaluated, correct, under_way, challenges, promotions, noop_challenges, noop_promotions;
    double baseline_ns, best_ns, floor_ns, best_fitness; /* 0 while unknown */
    /* 95 % intervals of these two times, 0 where they are not known */
    double baseline_lo_ns, baseline_hi_ns, best_lo_ns, best_hi_ns;
    double final_ratio; /* baseline / best from the final duel, 0 before it */
    double rival_ns; /* at every bench variant the fastest rival, combined by weight; 0: none was measured */
    double rival_lo_ns,
        rival_hi_ns;    /* its interval; 0 where it is not known, as in an engine that was loaded */
    double rival_ratio; /* rival / best from their duel, 0 before it */
    uint32_t rival;     /* the fastest over all variants, into task->rivals; counts where rival_ns does */
    struct atoll_id baseline, best; /* zero: there is none */
    /* While the baseline's times are unstable: rounds in which it was tried again, of so many at most; limit 0: they are not. */
    uint32_t unstable_rounds, unstable_limit;
    int done;
    enum atoll_reason reason;
};
/* Of a task on one device model, 0 for the first (or only) one; -1 when there is no such population. */
int atoll_engine_task_status(const struct atoll_engine *engine, uint32_t task, uint32_t model,
                             struct atoll_task_status *ret_status);
/* Device models in the order of their appearance; 0 until one was named. */
uint32_t atoll_engine_model_count(const struct atoll_engine *engine);
const char *atoll_engine_model(const struct atoll_engine *engine, uint32_t model); /* NULL beyond */

struct atoll_engine_status {
    uint64_t evaluated, under_way, ignored;
    uint64_t evaluation_budget;       /* 0: none */
    double wall_budget_ns, device_ns; /* budget in campaign time, 0: none; device time so far */
    double device_budget_ns;          /* 0: none */
    uint64_t tokens, token_budget;    /* spent; budget, 0: none */
    double cost_usd, money_budget_usd;
    int finishing, stopped;
    enum atoll_reason reason;
};
void atoll_engine_status(const struct atoll_engine *engine, struct atoll_engine_status *ret_status);

/* What the candidate of an EVALUATE is held against at each variant, as known now: of a seed that has an incumbent, the time
 * of the fastest rival there.  0: nothing is known; of all others 0 everywhere. */
void atoll_engine_bars(const struct atoll_engine *engine, const struct atoll_decision *decision,
                       double ret_bars_ns[ATOLL_TASK_VARIANT_LIMIT]);

/* Calls sink with an EVALUATE, DUEL or RIVAL decision for everything still under way (to dispatch again after a
 * resume). */
void atoll_engine_under_way(const struct atoll_engine *engine, atoll_decision_sink *sink, void *context);

#endif

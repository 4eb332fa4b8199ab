/* simulator.h - whole campaigns in one process and in virtual time: the engine, evaluators of made-up landscapes and a
 * scripted operator, with what disturbs real ones.
 * Layer: tests; needs no test framework.  Lifetime: create/destroy.  Single owner; different simulators may run in
 * different threads.  Everything that happens follows from the settings: the same settings, the same campaign. */
#ifndef ATOLL_TESTS_SIMULATOR_SIMULATOR_H
#define ATOLL_TESTS_SIMULATOR_SIMULATOR_H

#include "tests/simulator/author.h"
#include "tests/simulator/landscape.h"
#include "tests/simulator/referee.h"

#define ATOLL_SIMULATOR_TASKS 128
#define ATOLL_SIMULATOR_RANKS 256

/* Who tells the author more than its asks say, and learns from what happens: what a coordinator's briefer is. */
struct atoll_simulator_briefer {
    /* Before an ask is answered. */
    void (*tell)(void *context, const struct atoll_engine *engine, const struct atoll_ask *ask,
                 struct atoll_author_told *ret_told);
    /* Behind every step of the engine. */
    void (*see)(void *context, const struct atoll_engine *engine, const struct atoll_event *event);
    void *context; /* borrowed until destroy */
    /* Fills in the answer to an ask for edits (META); texts are borrowed until the next one.  NULL: it says nothing. */
    void (*edit)(void *context, const struct atoll_ask *ask, struct atoll_reply *ret_reply);
};

struct atoll_simulator_settings {
    uint64_t seed; /* of everything but the search, whose seed is its own */
    struct atoll_search search;
    uint32_t task_count; /* 1..ATOLL_SIMULATOR_TASKS */
    struct atoll_landscape landscapes[ATOLL_SIMULATOR_TASKS];
    uint32_t rank_count; /* 1..ATOLL_SIMULATOR_RANKS */
    struct atoll_simulated_settings referee;
    struct atoll_author_settings author;
    double latency_ns; /* mean of an answer's way, exponential: answers overtake each other; 1e6 */
    double reply_ns;   /* mean of the operator's, exponential; 2e9 */
    double vanish_per_hour, away_ns; /* a rank's life and absence, exponential; 0 = they stay */
    double resume_per_hour;          /* attempts of the campaign; 0 = one */
    double late;      /* share of answers of ranks that vanished which come all the same, too late */
    double twice;     /* share of answers and replies that come twice */
    double reload;    /* chance per event that the engine is saved, loaded and goes on */
    int is_recorded;  /* events are kept, for a replay */
    int is_witnessed; /* every decision is checked */
    struct atoll_simulator_briefer briefer; /* NULL functions: nobody */
};

/* One rank, nothing disturbs, landscape smooth, search by default with all proposals asked; recorded neither. */
void atoll_simulator_defaults(struct atoll_simulator_settings *ret_settings);

struct atoll_simulator;

/* Copies the settings.  The tasks are read from ATOLL_SIMULATOR_DIR.  Errors: as atoll_task_load, MEMORY. */
struct atoll_simulator *atoll_simulator_create(const struct atoll_simulator_settings *settings,
                                               struct atoll_err *err);
void atoll_simulator_destroy(struct atoll_simulator *simulator);
/* Goes on for at most so many events, 0 = to the end.  1 the campaign is over, 0 it is not, -1 with ATOLL_E_INTERNAL when
 * something does not hold that must (witness.h, an engine that does not come back as it was saved, one that waits for
 * nothing), or as atoll_engine_step. */
int atoll_simulator_run(struct atoll_simulator *simulator, uint64_t events, struct atoll_err *err);
/* Asks for an orderly end. */
int atoll_simulator_finish(struct atoll_simulator *simulator, struct atoll_err *err);
/* The engine, saved and loaded, is the same bytes, and goes on in place of the old one. */
int atoll_simulator_reload(struct atoll_simulator *simulator, struct atoll_err *err);
/* Replays what was recorded: the same decisions, the same bytes; -1 with ATOLL_E_MISMATCH. */
int atoll_simulator_replay(const struct atoll_simulator *simulator, struct atoll_err *err);

const struct atoll_engine *atoll_simulator_engine(const struct atoll_simulator *simulator);

struct atoll_simulator_task {
    double best_ns;   /* true time of the best that was announced last; of the origin before that */
    double found_ns;  /* true time of the fastest that was evaluated and right */
    uint64_t reached; /* evaluations of the campaign when the announced best came within goal; 0: never */
    double reached_device_ns; /* device time then */
};

struct atoll_simulator_outcome {
    uint64_t events, evaluated, duels, rivals, replies, decisions, ignored, migrations, reloads, retries;
    double device_ns, virtual_ns;
    uint64_t digest; /* of all decisions; only where something is recorded or witnessed */
    struct atoll_simulator_task tasks[ATOLL_SIMULATOR_TASKS];
};
/* Within 5 % of the optimum. */
#define ATOLL_SIMULATOR_GOAL 1.05
void atoll_simulator_outcome(const struct atoll_simulator *simulator,
                             struct atoll_simulator_outcome *ret_outcome);

#endif

/* strategy_staged.h - the runs of a task under staged optimisation: where each stands, and the table of what may happen to
 * it (ALGORITHMS.md 9, papers/002 IV-A and IV-B).
 * Layer: evolution.  Plain values, owned by the task (t->strategy); kernels are positions in individuals. */
#ifndef ATOLL_EVOLUTION_STRATEGY_STRATEGY_STAGED_H
#define ATOLL_EVOLUTION_STRATEGY_STRATEGY_STAGED_H

#include "core/ask.h"
#include "core/issue.h"
#include "evolution/engine/codec.h"
#include "evolution/engine/state.h"

enum atoll_staged_state {
    ATOLL_STAGED_WAITING,   /* not begun */
    ATOLL_STAGED_ANALYSE,   /* has a kernel and wants its issues */
    ATOLL_STAGED_ANALYSING, /* has asked for them */
    ATOLL_STAGED_ORDER,     /* has issues of several stages and wants an order */
    ATOLL_STAGED_ORDERING,
    ATOLL_STAGED_WRITE, /* is at a stage and wants a candidate */
    ATOLL_STAGED_WRITING,
    ATOLL_STAGED_TRYING,  /* candidates of a round are queued or under way */
    ATOLL_STAGED_EXTRACT, /* no round won, and it wants the best that can be made of them */
    ATOLL_STAGED_EXTRACTING,
    ATOLL_STAGED_VERIFYING, /* what was made of them is queued or under way */
    ATOLL_STAGED_OVER,
    ATOLL_STAGED_STATE_COUNT
};

enum atoll_staged_event {
    ATOLL_STAGED_BEGUN,
    ATOLL_STAGED_ASKED,     /* an ask was made */
    ATOLL_STAGED_UNORDERED, /* the first analysis found issues of several stages */
    ATOLL_STAGED_STAGE,     /* the next stage begins */
    ATOLL_STAGED_QUEUED,    /* a round has candidates */
    ATOLL_STAGED_MISSED,    /* a round brought nothing, and another may follow */
    ATOLL_STAGED_USED_UP,   /* no round is left, and there are tries to make something of */
    ATOLL_STAGED_CLOSED,    /* a stage is over: it brought something, or its rounds are used up */
    ATOLL_STAGED_FINISHED,  /* no stage is left */
    ATOLL_STAGED_LOST,      /* the kernel turned out to be wrong, and there is none to go on with */
    ATOLL_STAGED_EVENT_COUNT
};

/* 0 and the next state; -1 when the table does not list the pair, and *ret_state is untouched. */
int atoll_staged_step(enum atoll_staged_state state, enum atoll_staged_event event, uint8_t *ret_state);

struct atoll_staged_run {
    uint8_t state;                          /* enum atoll_staged_state */
    uint8_t stage;                          /* the one it is at */
    uint8_t round;                          /* from 0 */
    uint8_t order[ATOLL_ISSUE_STAGE_COUNT]; /* what follows it, the next first */
    uint8_t order_count;
    uint8_t failure_count;
    uint32_t kernel; /* what the stage was given, ATOLL_NONE before the run begins */
    uint32_t winner; /* of the round, ATOLL_NONE */
    uint32_t failures[ATOLL_ASK_FAILURE_LIMIT]; /* the stage's last failed attempts, the oldest first */
    uint32_t left;                              /* candidates of the round that have no verdict yet */
    uint64_t ask;                               /* the last one */
    uint64_t analysis; /* the last ask for issues that was answered, 0: the built-in operator analysed */
    uint64_t issues;   /* as last analysed */
    uint32_t named;    /* bit per stage that an analyser named for an issue of a type of its own */
    uint32_t done, improved,
        idle; /* bit per stage: is over; gave a faster kernel; nobody had a candidate for it */
};

void atoll_staged_init(struct atoll_staged_run *run);

/* The issues that stages may still work on: a stage is worked on once, and not when one that it precedes is over. */
uint64_t atoll_staged_open_issues(const struct atoll_staged_run *run);
/* Bit per stage that has one of these, or one that an analyser named. */
uint32_t atoll_staged_open_stages(const struct atoll_staged_run *run);
/* Puts what is open into a legal order (core/issue.h). */
void atoll_staged_arrange(struct atoll_staged_run *run, const uint8_t *wished, size_t count);
/* The round is over; the stage too when it has a winner, which becomes the kernel, or rounds are used up.  Returns what
 * happens next: MISSED, CLOSED, or FINISHED when no stage could follow whatever an analysis says. */
enum atoll_staged_event atoll_staged_close_round(struct atoll_staged_run *run, unsigned rounds);

/* Run k lives on island k % islands and begins when run k - islands is over. */
struct atoll_staged {
    uint32_t run_count;   /* search.staged_runs */
    uint32_t next;        /* whose turn it is */
    uint64_t strays;      /* replies and verdicts that no run waited for */
    uint64_t translation; /* the ask for one, which is not settled; 0: none */
    uint32_t left;        /* of its candidates, ATOLL_NONE: it is not answered */
    struct atoll_staged_run runs[];
};

/* Whether a candidate is faster than what its stage was given: it is correct, its time is less by the promised ratio,
 * and its 95 % interval ends below the other's.  Both were measured alone, so an error costs the rest of a run, never
 * the task's best, which only duels and finals decide. */
int atoll_staged_beats(const struct atoll_search *search, const struct atoll_individual *candidate,
                       const struct atoll_individual *given);

#endif

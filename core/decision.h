/* decision.h - everything the engine decides, as data: journaled, so that a replay can be compared
 * (DESIGN.md 3).
 * Layer: core.  Plain values, fixed size.  docs/spec/journal.md is the contract. */
#ifndef ATOLL_CORE_DECISION_H
#define ATOLL_CORE_DECISION_H

#include "core/ask.h"
#include "core/behaviour/behaviour.h"
#include "core/evaluation.h"
#include "base/id.h"
#include "core/plan/plan.h"

enum atoll_decision_type {
    ATOLL_DECIDE_EVALUATE = 1,  /* send candidate for evaluation */
    ATOLL_DECIDE_DUEL,          /* compare candidate with elite, or with the task's fastest rival */
    ATOLL_DECIDE_ELITE,         /* candidate is now the elite of (task, island, cell) */
    ATOLL_DECIDE_NOT_CONFIRMED, /* candidate lost its challenge */
    ATOLL_DECIDE_MIGRATE,       /* candidate is a migrant from island to other_island */
    ATOLL_DECIDE_BASELINE,      /* candidate is the task's baseline, time_ns its time */
    ATOLL_DECIDE_BEST,          /* candidate is the task's best so far */
    ATOLL_DECIDE_REDISPATCH,    /* evaluation was not answered and is sent again after a resume */
    ATOLL_DECIDE_ABANDON,       /* evaluation is given up (infrastructure failed too often) */
    ATOLL_DECIDE_TASK_DONE,     /* no more proposals for task; reason */
    ATOLL_DECIDE_STOP,          /* the run is over; reason */
    ATOLL_DECIDE_ASK,           /* an operator outside the engine is asked for something */
    ATOLL_DECIDE_RIVAL,         /* measure a rival of the task */
    ATOLL_DECIDE_DISCARD, /* a judge says that candidate cheats: it is correct no more; answers_ask: the ask about it */
    ATOLL_DECISION_TYPE_COUNT
};

enum atoll_reason {
    ATOLL_REASON_NONE,
    ATOLL_REASON_EVALUATIONS,
    ATOLL_REASON_DEVICE_TIME,
    ATOLL_REASON_WALL_TIME,
    ATOLL_REASON_EXHAUSTED,
    ATOLL_REASON_STAGNATION,
    ATOLL_REASON_ASKED,
    ATOLL_REASON_NO_BASELINE,
    ATOLL_REASON_TOKENS,
    ATOLL_REASON_MONEY,
    ATOLL_REASON_FLOOR,     /* the share of the floor that was asked for is reached */
    ATOLL_REASON_NO_DEVICE, /* no device of the model is left */
    ATOLL_REASON_SAMPLES,   /* the task had as many candidates as it may have */
    ATOLL_REASON_COUNT
};
const char *atoll_reason_name(enum atoll_reason r);
/* For people, at most 20 characters: "time is over".  By its name, as files and progress lines have it; "" for "none", the name
 * itself where it is none of these. */
const char *atoll_reason_text(const char *name);
/* While a task waits: "baseline unstable, tried again in 2 of 5 rounds"; "" where limit is 0. */
const char *atoll_unstable_text(uint64_t rounds, uint64_t limit, char *ret_text, size_t bytes);

struct atoll_decision {
    enum atoll_decision_type type;
    uint64_t evaluation; /* EVALUATE, DUEL, RIVAL, REDISPATCH, ABANDON */
    uint32_t task, island, other_island;
    uint32_t model; /* device model whose population it concerns, from 0 in the order of their appearance */
    uint64_t answers_ask; /* EVALUATE: the ask this candidate answers, 0 = none; DISCARD: that judges it */
    struct atoll_behaviour cell; /* ELITE, DUEL, MIGRATE, NOT_CONFIRMED, DISCARD */
    struct atoll_id candidate;   /* its id */
    struct atoll_id source;      /* of the candidate (atoll_source_id) */
    struct atoll_choice choice;  /* of the candidate */
    /* DUEL: the defender; ELITE: whom it replaced, zero if the cell was empty */
    struct atoll_id elite;
    struct atoll_id elite_source; /* DUEL */
    struct atoll_choice elite_choice;
    struct atoll_id parent;           /* EVALUATE: candidate it was derived from, zero = none */
    enum atoll_operator op;           /* EVALUATE */
    enum atoll_duel_purpose purpose;  /* DUEL; RIVAL: always purpose RIVAL */
    uint32_t generation;              /* of the island, EVALUATE */
    double time_ns, fitness;          /* ELITE, BASELINE, BEST */
    double baseline_ns, incumbent_ns; /* EVALUATE, DUEL: handed to the referee */
    double alpha, margin;             /* DUEL; margin: natural logarithm */
    uint32_t pair_limit;              /* DUEL */
    enum atoll_reason reason;
    struct atoll_ask ask; /* ASK */
    uint32_t rival; /* RIVAL: its number in the task; DUEL of purpose RIVAL: the fastest over all variants */
    uint8_t rivals[ATOLL_TASK_VARIANT_LIMIT]; /* DUEL of purpose RIVAL: the fastest at each bench variant */
    double limit_ns; /* RIVAL: how long it may take, compiling included; 0 = no limit */
};

/* A RIVAL, a duel with a rival, or one of these sent again (a REDISPATCH of a RIVAL has no candidate): only an evaluator
 * that has torch can do it. */
int atoll_decision_is_about_rival(const struct atoll_decision *d);

/* Zeroes the fields that the type does not use: what encoding and decoding would leave. */
void atoll_decision_normalise(struct atoll_decision *d);
void atoll_decision_encode(const struct atoll_decision *d, struct atoll_buffer *out);
int atoll_decision_decode(const void *bytes, size_t length, struct atoll_decision *ret_decision,
                          struct atoll_err *err);

#endif

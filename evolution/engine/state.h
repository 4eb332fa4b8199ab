/* state.h - everything the engine remembers.  Private to evolution/.
 * Layer: evolution.  Owned by struct atoll_engine (engine.h); whatever is added here is added to save.c. */
#ifndef ATOLL_EVOLUTION_ENGINE_STATE_H
#define ATOLL_EVOLUTION_ENGINE_STATE_H

#include "base/random.h"
#include "base/array.h"
#include "evolution/engine/engine.h"
#include "evolution/population/gradient.h"
#include "evolution/population/population.h"
#include "core/prompt_archive.h"
#include "evolution/engine/proposal.h"
#include "evolution/engine/individual.h"
#include "evolution/engine/share.h"
#include "evolution/engine/source.h"

/* A candidate that was not tried yet, and the island that gets it. */
struct atoll_pending {
    uint32_t source, island; /* island ATOLL_NONE: the next in turn */
    uint32_t parent;         /* individual, ATOLL_NONE: none */
    uint64_t ask;            /* it answers, 0: none */
    uint32_t prompt;         /* atoll_wording_mark of the ask */
    uint8_t op;              /* enum atoll_operator */
    uint8_t has_choice;      /* 0: the first instance of its source */
    struct atoll_choice choice;
};

/* An ask that was made and not answered. */
struct atoll_asked {
    struct atoll_ask ask;
    uint32_t task;   /* position of its task */
    uint32_t parent; /* individual, ATOLL_NONE */
    uint8_t is_here; /* it is being answered by the built-in operator; of none that is under way */
};

#define ATOLL_FAILURE_LIMIT 16 /* the last ones of a task */

/* Individuals that failed; a ring, the oldest goes first. */
struct atoll_failures {
    uint32_t items[ATOLL_FAILURE_LIMIT];
    uint32_t count, next;
};

/* In the order of their numbers. */
struct atoll_asks {
    struct atoll_asked *items;
    uint32_t count, capacity;
};

/* Until the baseline, or a rival in its place, is measured nothing else of a task is proposed. */
enum atoll_stage {
    ATOLL_STAGE_BASELINE,
    ATOLL_STAGE_BASELINE_UNDER_WAY,
    ATOLL_STAGE_OPEN,
    ATOLL_STAGE_RIVAL, /* there is no correct baseline: rivals are measured until one can take its place */
    ATOLL_STAGE_BASELINE_WAITS, /* it was unstable, and is tried again later */
    ATOLL_STAGE_COUNT
};
enum atoll_final { ATOLL_FINAL_NONE, ATOLL_FINAL_UNDER_WAY, ATOLL_FINAL_OVER, ATOLL_FINAL_COUNT };

enum atoll_rival_state {
    ATOLL_RIVAL_UNTRIED,
    ATOLL_RIVAL_UNDER_WAY,
    ATOLL_RIVAL_CORRECT,
    ATOLL_RIVAL_FAILED,
    ATOLL_RIVAL_STATE_COUNT
};

/* The rivals of a task, by their numbers. */
struct atoll_rivals {
    uint8_t states[ATOLL_TASK_RIVAL_LIMIT]; /* enum atoll_rival_state */
    struct atoll_rival_times times;
    struct atoll_fastest_rival fastest; /* follows from times */
    uint32_t under_way;                 /* follows from states */
    double device_ns;                   /* of the task's */
    uint32_t duels;                     /* with the fastest, since the search began or was extended */
    uint32_t finalist;                  /* individual of the last one that was carried out, ATOLL_NONE */
    double ratio;                       /* of that duel, the rival's time over its time */
};

#define ATOLL_LESSON_LIMIT 64 /* of search.memory_top */

/* The candidates of one ask, while they have no verdicts (evolution/strategy/lesson.h). */
struct atoll_lesson_group {
    uint64_t ask, plan;
    uint32_t plan_index, island;
    uint32_t left;                     /* candidates that are not settled */
    uint32_t parent, fastest, slowest; /* individuals; of the correct ones, ATOLL_NONE */
};

/* A slower and a faster kernel: of them the ask of what was tried is remembered. */
struct atoll_lesson {
    uint32_t slow, fast; /* individuals */
    uint64_t plan;
    uint32_t plan_index, island;
    double ratio;
};

struct atoll_lessons {
    struct atoll_lesson_group *groups; /* in the order of their replies */
    uint32_t group_count, group_capacity;
    uint32_t gain_count, loss_count, chosen_count, chosen_next;
    struct atoll_lesson gains[ATOLL_LESSON_LIMIT], losses[ATOLL_LESSON_LIMIT]; /* the strongest first */
    struct atoll_lesson chosen[ATOLL_LESSON_LIMIT];                            /* are asked about */
    uint32_t distil, distilled; /* individuals: is asked about; was the last one; ATOLL_NONE */
    uint32_t generation;        /* of the task, whose end was the last one */
};

#define ATOLL_PROMPT_LANGUAGES ATOLL_LANGUAGE_CUDA_TRITON /* c, cuda, triton */

/* An ask for plans or issues, and the version of the prompt text it was worded with. */
struct atoll_prompt_author {
    uint64_t ask;
    uint32_t version;
};

/* Prompts that evolve (evolution/strategy/prompts.h): what asks were told, and what this task gives. */
struct atoll_prompts {
    struct atoll_prompt_author *authors; /* owned, in the order of their asks */
    uint32_t author_count, author_capacity;
    struct atoll_prompt_level levels[ATOLL_PROMPT_LANGUAGES];
    uint64_t outcomes[ATOLL_PROMPT_LANGUAGES]; /* answers since its last ask for edits */
    /* of the pool; where it is shared, of the model's first task alone */
    struct atoll_prompt_archive archives[ATOLL_PROMPT_LANGUAGES];
    uint64_t evaluated, generation; /* generation: of the last ask for edits */
    uint64_t ask;                   /* for edits, not answered yet; 0: none */
};

enum atoll_phase_state {
    ATOLL_PHASE_NONE, /* not begun */
    ATOLL_PHASE_ASK,  /* wants templates */
    ATOLL_PHASE_ASKED,
    ATOLL_PHASE_TRYING, /* they are queued or under way */
    ATOLL_PHASE_TUNING,
    ATOLL_PHASE_OVER,
    ATOLL_PHASE_STATE_COUNT
};

/* The end of a task's search (evolution/strategy/template_phase.h). */
struct atoll_template_phase {
    uint8_t state; /* enum atoll_phase_state */
    uint32_t rounds;
    uint64_t ask;        /* the last one */
    uint32_t left;       /* of its candidates are not settled */
    uint64_t tuned_from; /* the task's evaluations when the last new best was seen */
    uint32_t best;       /* individual, ATOLL_NONE */
};

/* Candidates that would be elites, and wait for what a judge says of their sources (evolution/population/judge.h). */
struct atoll_judging_entry {
    uint32_t individual, island, defeated; /* defeated: ATOLL_NONE: nobody */
};
struct atoll_judging {
    struct atoll_judging_entry *items; /* in the order of their coming */
    uint32_t count, capacity;
};

/* A baseline whose times were unstable (evolution/population/baseline.h). */
struct atoll_unstable_baseline {
    uint32_t individual; /* ATOLL_NONE: it never was */
    uint32_t rounds;     /* that were begun after the first one */
    int64_t due_ns;      /* campaign time of the next one */
};

/* A task on one device model: what is bred on one model is never assumed good on another (DESIGN.md 7). */
struct atoll_task_state {
    uint32_t number;               /* of the task in events and decisions */
    uint32_t model;                /* device model */
    const struct atoll_task *task; /* owned, decoded from bytes */
    unsigned char *bytes;          /* owned; for the snapshot */
    size_t length;
    struct atoll_arena *arena;  /* plans of its sources */
    struct atoll_random random; /* its own stream: one task's timing never changes another task's choices */
    uint8_t stage;              /* enum atoll_stage */
    uint8_t final;              /* enum atoll_final */
    uint8_t done;
    uint8_t reason; /* enum atoll_reason */
    uint32_t baseline_source;
    struct atoll_pending *pending; /* a queue; the baseline is not in it */
    uint32_t pending_count, pending_capacity, pending_next;
    uint32_t *templates; /* sources whose tuner has something left */
    uint32_t template_count, template_capacity;
    struct atoll_island *islands; /* search.islands of them */
    uint32_t next_island;
    void *strategy;       /* state of the strategy, owned; NULL: it has none */
    uint32_t asks;        /* under way */
    uint32_t lesson_asks; /* of these, for lessons alone; follows from them */
    struct atoll_lessons lessons;
    struct atoll_prompts prompts;
    struct atoll_template_phase phase;
    struct atoll_judging judging;
    uint64_t analysis; /* for a report that is under way (evolution/strategy/analysis.h), 0: none */
    uint32_t analyses; /* such asks so far */
    uint32_t analysed; /* individual: the last that one was about, ATOLL_NONE */
    uint32_t lead;     /* individual: the fastest of a beam or a tree, ATOLL_NONE */
    struct atoll_transitions transitions;
    struct atoll_failures failures;
    struct atoll_share share;
    uint32_t baseline, best; /* individuals */
    double
        best_before_ns; /* time of the best before the evaluation that is being used; not saved: no event outlives it */
    struct atoll_unstable_baseline unstable;
    /* the fastest that waits for a duel with the best; the last that the best beat */
    uint32_t best_waiting, best_refused;
    uint32_t best_duels; /* duels over the best so far */
    uint64_t best_duel;  /* evaluation number of the one under way; 0 = none */
    uint32_t finals, finals_compared,
        finals_failed; /* duels sent; carried out; proved the finalist wrong; all
                                                        since the search began or was extended */
    double final_alpha,
        final_alpha_spent; /* error that these finals may spend; that all of the task's have spent */
    uint32_t finalist;     /* the best that its final duel confirmed */
    uint64_t evaluated, correct, under_way, answers; /* answers: evaluations and duels, for the mean cost */
    uint64_t challenges, promotions, noop_challenges, noop_promotions;
    uint64_t since_elite; /* evaluations since the last new elite */
    uint64_t samples;     /* candidates beside its seeds that were sent, and asks that brought none */
    uint64_t fruitless;   /* answers to asks for candidates since the last one that was new */
    uint64_t duels;       /* answered, carried out */
    double device_ns;     /* occupied by it */
    double duels_ns;      /* what finals of those would take */
    double opening_ns;    /* of device_ns until the baseline was measured, and the answers until then */
    uint64_t opening_answers;
    double
        final_baseline_ns; /* the baseline's time, or less where a final duel measured less; 0 before one did */
    double baseline_ns, final_ratio;
    double
        yardstick_ns; /* what fitness and deadlines count from: baseline_ns, or the rival's time when the task was opened */
    struct atoll_rivals rivals;
    uint32_t translated;    /* individual that was asked to be translated last, ATOLL_NONE */
    uint64_t translated_at; /* the task's evaluations then */
    double floor_ns;        /* 0 not told; below 0: a correct kernel beat it, it is unknown for good */
    uint8_t asks_spent;     /* operators outside answer no more for this task */
};

/* Device models, in the order of their appearance. */
struct atoll_model_state {
    char name[96];
    uint32_t slots, torch_slots;     /* of these, with what measures rivals */
    uint32_t rivals;                 /* under way, of all tasks; follows from those */
    struct atoll_device_shape shape; /* the first that was said; saved where search.shapes uses it */
    int64_t seen_ns;                 /* campaign time when its last slot went; 0 before one did */
};

struct atoll_engine {
    struct atoll_search search;
    uint8_t started, finishing, stopped;
    uint8_t reason; /* enum atoll_reason of finishing */
    int64_t campaign_ns;
    double wall_from_ns, device_from_ns; /* where the budgets of both times were last extended */
    uint32_t slots;                      /* of all models */
    uint32_t model_count;
    struct atoll_model_state models[ATOLL_MODEL_LIMIT];
    uint64_t next_evaluation, next_ask; /* from 1 */
    uint64_t tokens;                    /* spent */
    double cost_usd;
    uint8_t asks_spent; /* operators outside answer no more */
    uint64_t evaluated, ignored;
    uint64_t challenges, promotions;  /* of the whole run */
    struct atoll_error_control error; /* a test per challenge */
    double device_ns;
    /* sums over all tasks of what is above, so that nothing is summed per proposal */
    double opening_ns, duels_ns;
    uint64_t answers, opening_answers, duels;
    double rivals_ns
        [ATOLL_TORCH_MODE_COUNT]; /* device time of the rivals that were answered, and how many these are */
    uint64_t rivals[ATOLL_TORCH_MODE_COUNT];
    struct atoll_task_state *tasks; /* every task on every model */
    uint32_t task_count, task_capacity;
    uint32_t number_count; /* tasks, each on all models */
    uint32_t open_count;   /* tasks that are not done */
    struct atoll_sources sources;
    struct atoll_individuals individuals;
    struct atoll_proposals proposals;
    struct atoll_asks asks;
    /* during a step only */
    atoll_decision_sink *sink;
    void *context;
};

/* Position of a task that is in the engine: the number in individuals, sources and asks. */
static inline uint32_t atoll_task_position(const struct atoll_engine *e, const struct atoll_task_state *t)
{
    return (uint32_t)(t - e->tasks);
}

/* Empty state for a task; takes task over (also on failure). */
int atoll_task_state_init(struct atoll_task_state *t, struct atoll_engine *e, struct atoll_task *task,
                          const void *bytes, size_t length, struct atoll_err *err);
void atoll_task_state_fini(const struct atoll_engine *e, struct atoll_task_state *t);

#endif

/* ask.h - what a search strategy asks of an operator, and what comes back, as data (ALGORITHMS.md 6, 7, 9): a model
 * behind a gateway, a script, or the tuner that is built in can answer.
 * Layer: core.  Plain values; encode/decode for the journal (docs/spec/events.md). */
#ifndef ATOLL_CORE_ASK_H
#define ATOLL_CORE_ASK_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/id.h"

#define ATOLL_ASK_INSPIRATION_LIMIT 4
#define ATOLL_ASK_FAILURE_LIMIT     4
#define ATOLL_ASK_ADVICE_LIMIT      3
#define ATOLL_ASK_COUNT_LIMIT       64 /* candidates or plans of one ask */

/* Who writes candidates (ALGORITHMS.md 7).  The order is the order in journals and archives: new ones go before COUNT. */
enum atoll_operator {
    ATOLL_OPERATOR_SEED,         /* the task's own */
    ATOLL_OPERATOR_TUNE,         /* parameters of a template, by the built-in tuner */
    ATOLL_OPERATOR_IMPORT,       /* from outside, unasked */
    ATOLL_OPERATOR_UNIVERSAL,    /* one prompt with everything known */
    ATOLL_OPERATOR_PLAN,         /* planner: plans of one step */
    ATOLL_OPERATOR_EXECUTE,      /* executor: attempts at a plan */
    ATOLL_OPERATOR_STAGED,       /* analyser, planner and refine rounds of a stage */
    ATOLL_OPERATOR_TEMPLATE,     /* a templated version of the best kernel */
    ATOLL_OPERATOR_INITIALISE,   /* a first draft, from the task and similar kernels */
    ATOLL_OPERATOR_TRANSLATE,    /* from an elite of another device or language */
    ATOLL_OPERATOR_NULL_CONTROL, /* another text of the same program, for the false-promotion rate */
    ATOLL_OPERATOR_EXTRACT, /* the best kernel of a stage's refine rounds, none of which won (papers/002 IV-C) */
    ATOLL_OPERATOR_COUNT
};
const char *atoll_operator_name(enum atoll_operator op);

/* What is wanted. */
enum atoll_ask_kind {
    ATOLL_ASK_WRITE, /* candidates: sources that improve, repair or replace the parent */
    ATOLL_ASK_PLAN, /* plans of one step each for the parent: texts that later asks of kind WRITE carry out */
    ATOLL_ASK_ANALYSE, /* the parent's issues (core/issue.h) */
    ATOLL_ASK_ORDER,   /* in which order the stages that have issues are worked on */
    /* what made the difference: parent is the slower kernel, the first inspiration the faster one, plan and plan_index
     * what was tried (papers/004) */
    ATOLL_ASK_SUMMARISE,
    ATOLL_ASK_DISTIL, /* what is to be learnt: parent is the improved kernel, inspirations its ancestors, the oldest first */
    ATOLL_ASK_META, /* edits of the marked regions of a prompt text, from what became of the kernels written with it */
    ATOLL_ASK_JUDGE, /* how likely the parent cheats, held against the task's reference */
    ATOLL_ASK_KIND_COUNT
};
const char *atoll_ask_kind_name(enum atoll_ask_kind kind); /* "write" ... */

/* A direction in behaviour space: from `level` of a dimension upwards or downwards; weight > 0 says how strongly the
 * gradients point there.  Its sentence: evolution/population/advice.h. */
struct atoll_advice {
    uint8_t dimension; /* 0 memory, 1 algorithm, 2 coordination */
    uint8_t level;     /* of the parent, 0..3 */
    int8_t sign;       /* +1, -1 */
    double weight;
};

struct atoll_ask {
    uint64_t number; /* from 1, of the run */
    enum atoll_ask_kind kind;
    enum atoll_operator op;
    uint32_t task, model, island, generation;
    uint8_t role;           /* enum atoll_island_role of the island, ATOLL_ISLAND_ROLE_COUNT: none */
    uint8_t stage, round;   /* staged: enum atoll_issue_stage, and which attempt, from 0 */
    uint64_t issues;        /* staged: bit per enum atoll_issue */
    uint32_t count;         /* candidates or plans wanted, 1..ATOLL_ASK_COUNT_LIMIT */
    uint64_t plan;          /* the ask whose reply holds the plan to carry out, 0 = none */
    uint32_t plan_index;    /* which of its plans */
    struct atoll_id parent; /* candidate, zero: none */
    size_t inspiration_count, failure_count, advice_count;
    struct atoll_id inspirations[ATOLL_ASK_INSPIRATION_LIMIT]; /* elites of other cells */
    struct atoll_id failures[ATOLL_ASK_FAILURE_LIMIT];  /* the last ones, whose verdicts should be told */
    struct atoll_advice advice[ATOLL_ASK_ADVICE_LIMIT]; /* the strongest first */
    /* Of the task on this device model when it was asked, 0 unknown: with them a prompt follows from the ask and from
     * results that do not change any more, so that a resumed run words it in the same way. */
    double baseline_ns, best_ns, floor_ns;
    uint32_t
        prompt; /* version of the prompt text that it is worded with; META: that is to be edited; 0: as it came */
};

enum atoll_reply_status {
    ATOLL_REPLY_OK,
    ATOLL_REPLY_EMPTY,      /* answered, but nothing usable is in it */
    ATOLL_REPLY_REFUSED,    /* by the operator */
    ATOLL_REPLY_FAILED,     /* infrastructure: no answer in time, no connection */
    ATOLL_REPLY_SPENT,      /* no budget is left for it: nothing outside will answer any more */
    ATOLL_REPLY_TASK_SPENT, /* the same for the ask's task alone, on its device model */
    ATOLL_REPLY_BUILTIN,    /* nobody outside answers asks of this kind: the engine's own operator does */
    ATOLL_REPLY_STATUS_COUNT
};
const char *atoll_reply_status_name(enum atoll_reply_status status);

#define ATOLL_REPLY_SOURCE_LIMIT 64
#define ATOLL_REPLY_ITEM_LIMIT   64
#define ATOLL_STAGE_LIMIT        16 /* of an order */
#define ATOLL_BYTES_PER_TOKEN                                                                                \
    3u /* of a prompt, where nobody counted: what budgets reserve, more than it is */
#define ATOLL_ITEM_TEXT_LIMIT                                                                                \
    (16u << 10) /* bytes of each text of an item; what is longer is cut when it is encoded */
#define ATOLL_ITEM_SEVERITY_LIMIT 5

/* What a reply can hold beside sources.  The order is the order in journals and archives: new ones go before COUNT. */
enum atoll_item_kind {
    ATOLL_ITEM_PLAN,  /* one step: title, text what is done, why; before: the code it is about, "" */
    ATOLL_ITEM_ISSUE, /* title, text what is wrong, after the fix */
    ATOLL_ITEM_PROPOSAL, /* beyond the known types: text what changes, why it is valid, before and after a sketch */
    ATOLL_ITEM_REWRITE, /* of the optimization memory: title, text, before, after */
    ATOLL_ITEM_HINT, /* title the trigger (an error class or a limiter), text the advice, why its context */
    ATOLL_ITEM_EDIT, /* title the region, before what stands there, after what takes its place, why */
    ATOLL_ITEM_JUDGEMENT, /* gain_low the likelihood of a cheat, 0..1; text the reason */
    ATOLL_ITEM_KIND_COUNT
};
const char *atoll_item_kind_name(enum atoll_item_kind kind); /* "plan" ... */

/* Texts are borrowed; NULL reads back as "". */
struct atoll_reply_item {
    enum atoll_item_kind kind;
    uint8_t issue; /* ISSUE: enum atoll_issue; ATOLL_ISSUE_COUNT: a type of its own, which the title names */
    uint8_t stage; /* ISSUE, PROPOSAL: enum atoll_issue_stage */
    uint8_t severity;           /* ISSUE: 1..ATOLL_ITEM_SEVERITY_LIMIT, 0 unsaid */
    double gain_low, gain_high; /* expected speedup, 1.1 and 1.4; 0 unsaid */
    const char *title, *text, *why, *before, *after;
};

struct atoll_reply_source {
    const char *language, *text;
};

#define ATOLL_DIALOGUE_SECTION_LIMIT 32

/* A section of a prompt. */
struct atoll_dialogue_section {
    const char *name;
    uint32_t bytes, cut_bytes; /* cut: what did not fit */
};

/* What was said and answered, where a language model did. Texts are borrowed; NULL reads back as "". */
struct atoll_dialogue {
    struct atoll_id request;      /* identity of the request at the gateway; zero: there was none */
    const char *system, *prompt;  /* the two texts it was asked with */
    const char *answer, *thought; /* its text; what came in the reasoning channel */
    const char *detail;           /* why it is not OK; "" */
    uint64_t input_tokens, cached_tokens, output_tokens,
        reasoning_tokens; /* cached of input, reasoning of output */
    double elapsed_s;
    uint32_t is_from_store; /* 1: not asked again, a recording answered */
    const char *model;      /* who was asked, as the gateway calls it */
    uint32_t section_count; /* of the prompt, in its order */
    struct atoll_dialogue_section sections[ATOLL_DIALOGUE_SECTION_LIMIT];
};

/* Texts are borrowed. */
struct atoll_reply {
    uint64_t ask;
    enum atoll_reply_status status;
    const char *origin; /* who answered: a model's name, "script" */
    uint64_t tokens;    /* spent, in and out together */
    double cost_usd;
    uint32_t source_count;
    struct atoll_reply_source sources[ATOLL_REPLY_SOURCE_LIMIT];
    uint32_t plan_count;  /* PLAN: how many plans it holds; where it has items of that kind, so many */
    uint64_t issues;      /* ANALYSE: bit per enum atoll_issue; of its items those of a known type */
    uint32_t order_count; /* ORDER: stages, the first first */
    uint8_t order[ATOLL_STAGE_LIMIT];
    uint32_t item_count;
    struct atoll_reply_item items[ATOLL_REPLY_ITEM_LIMIT];
    struct atoll_dialogue dialogue;
};

/* Says plan_count and issues by the items, where there are any of the kind: who fills in items calls it last. */
void atoll_reply_count_items(struct atoll_reply *reply);
/* The index-th item of kind PLAN, as plan_index of an ask names it; NULL when there is none. */
const struct atoll_reply_item *atoll_items_plan(const struct atoll_reply_item *items, uint32_t count,
                                                uint32_t index);

void atoll_ask_encode(const struct atoll_ask *ask, struct atoll_buffer *out);
/* Hostile input: enums, counts and numbers are checked, trouble is the reader's sticky failure. */
void atoll_ask_decode(struct atoll_reader *reader, struct atoll_ask *ret_ask);
void atoll_reply_encode(const struct atoll_reply *reply, struct atoll_buffer *out);
/* Texts are copied into arena. */
void atoll_reply_decode(struct atoll_reader *reader, struct atoll_arena *arena,
                        struct atoll_reply *ret_reply);

#endif

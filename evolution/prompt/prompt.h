/* prompt.h - what a model is told: for each kind of ask a text of everything that is known and matters for it, retrieved
 * for this state, in one prompt (ALGORITHMS.md 7 to 9; papers/000 3.4 for templates, papers/001 3.3 for advice, islands
 * and hints, papers/002 IV-B and IV-C for stages, papers/003 3.1 and 3.2 for the operator and its context, papers/004 2 for
 * planner, executor and summarizer).
 * Layer: evolution, pure: the same input gives the same bytes.
 *
 * A prompt is a system text (what counts, rules and idioms of the language, plan format, worked example, then the part that the
 * model plays and its island's school: the same for every ask of a language, kind and island, so that prompt caches hold
 * it) and a user text made of sections, each with a budget in bytes; a section that does not fit is cut by its rule, and what
 * was cut is counted.  Which sections a kind of ask has is said in prompt_form.c; what is given beyond them is left out. */
#ifndef ATOLL_EVOLUTION_PROMPT_PROMPT_H
#define ATOLL_EVOLUTION_PROMPT_PROMPT_H

#include "base/buffer.h"
#include "core/ask.h"
#include "core/briefing.h"
#include "core/evaluation.h"
#include "core/knowledge/pack.h"
#include "core/message.h"
#include "core/task/task.h"

/* Raised with every change of what the program says in prompts: a replay compares prompts of its own version only.  The texts of
 * knowledge/prompts are the campaign's own, frozen. */
#define ATOLL_PROMPT_VERSION 10

/* A kernel as a prompt shows it.  All borrowed. */
struct atoll_prompt_kernel {
    const char *source;
    const struct atoll_choice *choice;         /* of its template, NULL none */
    const struct atoll_evaluation *evaluation; /* verdict, detail, timings, profile; NULL: not measured yet */
    double time_ns, speedup; /* weighted over bench variants, against the baseline; 0 unknown */
};

/* One attempt of a refine loop. */
struct atoll_prompt_round {
    const char *thought; /* what the model wrote beside its kernel; NULL or "": nothing is known */
    struct atoll_prompt_kernel kernel;
};

/* One combination of the parent's params that was measured. */
struct atoll_prompt_combination {
    const struct atoll_choice *choice;
    double time_ns; /* of a correct one */
    enum atoll_verdict verdict;
};

/* In the order of the user text. */
enum atoll_prompt_section {
    ATOLL_PROMPT_TASK, /* summary, tensors, dims and shapes of check and bench variants, tolerance, precisions; never
                               hidden variants, never seeds of draws */
    ATOLL_PROMPT_INSTRUCTIONS, /* the user's own words in task.yaml */
    ATOLL_PROMPT_REFERENCE,    /* reference.c or problem.py, and what PyTorch would run instead */
    ATOLL_PROMPT_DEVICE,
    ATOLL_PROMPT_SHAPES,  /* sizes that fit the timed shapes and the device, in figures */
    ATOLL_PROMPT_STATE,   /* baseline, best so far, the floor; what is wanted */
    ATOLL_PROMPT_REGIONS, /* of the language's text, that are to be edited */
    ATOLL_PROMPT_PARENT,
    ATOLL_PROMPT_TEMPLATE_TABLE, /* combinations of the parent's params with their times, and which failed */
    ATOLL_PROMPT_DIAGNOSIS, /* the verdict and its evidence in plain sentences: an error class with what to do, or a limiter */
    ATOLL_PROMPT_TRAJECTORY,     /* the parent's ancestors with their times, and what each changed */
    ATOLL_PROMPT_SIBLINGS,       /* what was made from the parent already: correct kernels, slower tries */
    ATOLL_PROMPT_PLANS,          /* steps that were planned for the parent already */
    ATOLL_PROMPT_DEMONSTRATIONS, /* kernels of similar tasks */
    ATOLL_PROMPT_INSPIRATION,    /* the best so far, and elites of other cells */
    ATOLL_PROMPT_MEMORY,         /* rewrites of the optimization memory */
    ATOLL_PROMPT_HINTS,          /* of the experience library */
    ATOLL_PROMPT_KNOWLEDGE, /* entries of the knowledge base: critical constraints, then what was looked up */
    ATOLL_PROMPT_ADVICE,    /* directions in behaviour space */
    ATOLL_PROMPT_ISSUES, /* of a stage, all that are to be ordered, or what an analyser found in the parent */
    ATOLL_PROMPT_ROUNDS, /* a stage's attempts so far */
    ATOLL_PROMPT_FAILURES,
    ATOLL_PROMPT_OUTCOMES, /* of kernels that were written with these regions */
    ATOLL_PROMPT_PLAN,     /* the step to carry out, where there is one */
    ATOLL_PROMPT_TOOLS,
    ATOLL_PROMPT_ANSWER, /* the answer's form, last */
    ATOLL_PROMPT_SECTION_COUNT
};
const char *atoll_prompt_section_name(enum atoll_prompt_section section); /* "task" ..., "unknown" */

struct atoll_prompt_input {
    const struct atoll_knowledge_pack *texts; /* index.yaml and prompts/ of it are told */
    const struct atoll_ask *ask;
    const struct atoll_task *task;
    const char *language, *backend;         /* "c" on "cpu", "cuda" on "cuda" */
    const struct atoll_device_info *device; /* NULL unknown */
    uint32_t threads;                       /* of a candidate on cpu, 0 unknown */
    double baseline_ns, best_ns, floor_ns;  /* 0 unknown */
    const struct atoll_prompt_kernel
        *parent; /* NULL: a first draft is wanted; SUMMARISE: the slow kernel; DISTIL: the improved one */
    /* TRANSLATE: language of the parent, and the device it was measured on where that is another; NULL: the prompt's own */
    const char *parent_language;
    const struct atoll_device_info *parent_device;
    /* inspirations: SUMMARISE: the fast kernel; DISTIL: the ancestors, oldest first.  failures: the last ones, newest first; of those
     * beyond ATOLL_ASK_FAILURE_LIMIT a line each is told. */
    const struct atoll_prompt_kernel *inspirations, *failures;
    size_t inspiration_count, failure_count;
    /* ancestors: oldest first, without the parent; siblings: correct children of the parent, the fastest first; slower: its correct
     * children that lost, newest first; best: of the task, where it is not the parent. */
    const struct atoll_prompt_kernel *ancestors, *siblings, *slower, *best;
    size_t ancestor_count, sibling_count, slower_count;
    const struct atoll_prompt_combination *table; /* of the parent's template, in any order */
    size_t combination_count;
    size_t tried_count, correct_count; /* of all, of which the table has some; 0: those are all */
    const struct atoll_brief
        *briefs; /* HINT, MEMORY and those of the knowledge base are told, in their order */
    size_t brief_count;
    const struct atoll_reply_item *step; /* the PLAN item to carry out; SUMMARISE: what was tried */
    const char *plan;                    /* the same as a text, NULL none */
    /* ISSUE and PROPOSAL, of the stage or (others than stages) of the whole analysis, in any order: the severest are told first */
    const struct atoll_reply_item *issues;
    size_t issue_count;
    int has_other_params; /* the parent has other values of its params than the kernel that was analysed */
    const struct atoll_prompt_round *rounds; /* oldest first */
    size_t round_count;
    /* of the version that the ask names, in the place of the pack's prompts/LANGUAGE.md; NULL: that one.  META: what is edited */
    const char *language_text;
    int leaves_params; /* of templates only the first combination is measured, before the search turns to templates at its end */
    uint32_t round_limit;  /* staged: attempts of a stage, 0 unknown */
    uint32_t alternatives; /* PLAN: so many are asked for a plan for the same parent; 0 or 1: one alone */
    unsigned tool_limit;   /* > 0: so many calls of tools, whose schemas come beside the prompt */
    size_t
        user_limit_bytes; /* of the user text, from what the model's context leaves; 0: 48 KiB, beside kernels of similar
                             tasks; at least 4 KiB; what is ours is never cut, some KiB */
};

struct atoll_prompt {
    struct atoll_buffer system, user;                   /* owned */
    uint32_t section_bytes[ATOLL_PROMPT_SECTION_COUNT]; /* of the user text, with their titles */
    uint32_t cut_bytes[ATOLL_PROMPT_SECTION_COUNT];     /* what did not fit */
    uint32_t brief_cut_bytes[ATOLL_BRIEF_LIMIT];        /* of each brief of the input (core/briefing.h) */
};
void atoll_prompt_init(struct atoll_prompt *prompt);
void atoll_prompt_fini(struct atoll_prompt *prompt);
/* Whether what a pack lists of languages can be read, and names families of devices that there are.  INPUT "index.yaml:line: ...". */
int atoll_prompt_texts_check(const struct atoll_knowledge_pack *texts, struct atoll_err *err);
/* Errors: INPUT (a language without texts, a pack without one of them), INTERNAL (what every prompt needs is not there), MEMORY. */
int atoll_prompt_write(const struct atoll_prompt_input *input, struct atoll_prompt *prompt,
                       struct atoll_err *err);

#endif

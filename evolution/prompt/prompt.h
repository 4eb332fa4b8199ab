/* prompt.h - what the `universal` operator sends to a model: everything known, retrieved for this state, in one prompt
 * (ALGORITHMS.md 7 and 8; papers/003 3.1 for the operator, papers/000 for advice and islands, papers/001 3.3.2 for
 * diagnosis).
 * Layer: evolution, pure: the same input gives the same bytes.
 *
 * A prompt is a system text (role, rules, idioms of the language, plan format, worked example, answer format: the same for
 * every ask of a language, so that prompt caches hold it) and a user text made of sections, each with a budget in bytes; a
 * section that does not fit is cut by its rule, and what was cut is counted. */
#ifndef ATOLL_EVOLUTION_PROMPT_PROMPT_H
#define ATOLL_EVOLUTION_PROMPT_PROMPT_H

#include "core/ask.h"
#include "base/buffer.h"
#include "core/evaluation.h"
#include "core/message.h"
#include "core/task/task.h"

/* Raised with every change of what prompts say, texts under knowledge/prompts included: a replay compares prompts of its
 * own version only. */
#define ATOLL_PROMPT_VERSION 3

/* A kernel as a prompt shows it.  All borrowed. */
struct atoll_prompt_kernel {
    const char *source;
    const struct atoll_choice *choice;         /* of its template, NULL none */
    const struct atoll_evaluation *evaluation; /* verdict, detail, timings, profile; NULL: not measured yet */
    double time_ns, speedup; /* weighted over bench variants, against the baseline; 0 unknown */
};

enum atoll_prompt_section {
    ATOLL_PROMPT_TASK, /* summary, tensors, dims and shapes of check and bench variants, tolerance, precisions; never
                               hidden variants, never seeds of draws */
    ATOLL_PROMPT_INSTRUCTIONS, /* the user's own words in task.yaml */
    ATOLL_PROMPT_REFERENCE,    /* reference.c or problem.py, and what PyTorch would run instead */
    ATOLL_PROMPT_DEVICE,
    ATOLL_PROMPT_STATE, /* baseline, best so far, the floor; what is wanted */
    ATOLL_PROMPT_PARENT,
    ATOLL_PROMPT_DIAGNOSIS, /* the verdict and its evidence in plain sentences: an error class with what to do, or a limiter */
    ATOLL_PROMPT_INSPIRATION,
    ATOLL_PROMPT_ADVICE,
    ATOLL_PROMPT_FAILURES,
    ATOLL_PROMPT_PLAN,   /* the step to carry out, where there is one */
    ATOLL_PROMPT_ANSWER, /* the answer's form, last */
    ATOLL_PROMPT_SECTION_COUNT
};

struct atoll_prompt_input {
    const struct atoll_ask *ask;
    const struct atoll_task *task;
    const char *language, *backend;           /* "c" on "cpu", "cuda" on "cuda" */
    const struct atoll_device_info *device;   /* NULL unknown */
    uint32_t threads;                         /* of a candidate on cpu, 0 unknown */
    double baseline_ns, best_ns, floor_ns;    /* 0 unknown */
    const struct atoll_prompt_kernel *parent; /* NULL: a first draft is wanted */
    const struct atoll_prompt_kernel *inspirations, *failures;
    size_t inspiration_count, failure_count;
    const char *plan; /* NULL none */
    size_t
        user_limit_bytes; /* of the user text; 0: 48 KiB, at least 4 KiB; what is ours is never cut, some KiB */
};

struct atoll_prompt {
    struct atoll_buffer system, user;               /* owned */
    uint32_t cut_bytes[ATOLL_PROMPT_SECTION_COUNT]; /* what did not fit */
};
void atoll_prompt_init(struct atoll_prompt *prompt);
void atoll_prompt_fini(struct atoll_prompt *prompt);
/* Errors: INPUT (a language without texts), MEMORY. */
int atoll_prompt_write(const struct atoll_prompt_input *input, struct atoll_prompt *prompt,
                       struct atoll_err *err);

#endif

/* entry.h - one piece of knowledge that a model may be told: a constraint, a pattern, an example or a passage on hardware
 * (docs/spec/knowledge.md).
 * Layer: core, pure.  Plain values; texts are borrowed (knowledge_base.h: of the base). */
#ifndef ATOLL_CORE_KNOWLEDGE_ENTRY_H
#define ATOLL_CORE_KNOWLEDGE_ENTRY_H

#include "core/issue.h"
#include "core/task/task.h"

#define ATOLL_KNOWLEDGE_ENTRY_LIMIT    4096
#define ATOLL_KNOWLEDGE_ID_LEAST       3
#define ATOLL_KNOWLEDGE_ID_BYTES       64   /* of a constraint, a pattern, an example; without the NUL */
#define ATOLL_KNOWLEDGE_LINE_BYTES     1024 /* of a sentence */
#define ATOLL_KNOWLEDGE_CODE_BYTES     4096 /* of wrong and right */
#define ATOLL_KNOWLEDGE_PATTERN_BYTES  3072 /* of before and after */
#define ATOLL_KNOWLEDGE_PASSAGE_BYTES  4096
#define ATOLL_KNOWLEDGE_MEASURED_LIMIT 64
#define ATOLL_KNOWLEDGE_HELD_OUT_LIMIT 16
#define ATOLL_KNOWLEDGE_PROVEN_SHARE   0.85 /* of a rival's speed, in every row of a proven example */

enum atoll_knowledge_kind {
    ATOLL_KNOWLEDGE_CONSTRAINT,
    ATOLL_KNOWLEDGE_PATTERN,
    ATOLL_KNOWLEDGE_EXAMPLE,
    ATOLL_KNOWLEDGE_HARDWARE, /* a section of a text */
    ATOLL_KNOWLEDGE_HINT,     /* retrieval only: no entry of a base is one */
    ATOLL_KNOWLEDGE_KERNEL,   /* the same */
    ATOLL_KNOWLEDGE_KIND_COUNT
};

enum atoll_knowledge_severity {
    ATOLL_KNOWLEDGE_CRITICAL, /* told wherever language and device fit */
    ATOLL_KNOWLEDGE_WARNING,
    ATOLL_KNOWLEDGE_INFO,
    ATOLL_KNOWLEDGE_SEVERITY_COUNT
};

/* Who says what is wrong with a wrong example. */
enum atoll_knowledge_failure {
    ATOLL_KNOWLEDGE_FAILS_COMPILE, /* the compiler */
    ATOLL_KNOWLEDGE_FAILS_RULES,   /* the static rules (core/rules) */
    ATOLL_KNOWLEDGE_FAILS_PLAN,    /* who reads the plan */
    ATOLL_KNOWLEDGE_FAILS_RESULT,  /* nobody before it runs */
    ATOLL_KNOWLEDGE_FAILURE_COUNT
};

/* Words with a number each: dims of a shape, a choice of params. */
struct atoll_knowledge_numbers {
    size_t count;
    const char *names[ATOLL_TASK_DIM_LIMIT];
    uint64_t values[ATOLL_TASK_DIM_LIMIT];
};

/* How fast an example was, at one shape. */
struct atoll_knowledge_measurement {
    const char *variant, *device, *rival, *date; /* variant: of the task, or "held_out ..."; NULL */
    struct atoll_knowledge_numbers dims, choice; /* choice: of the kernel's params; none: the first */
    double time_us, rival_us;
    double floor_share; /* 0..1; 0 not known */
    int is_held_out;    /* nobody looked at it while the kernel was written */
};

/* Lists end with NULL.  NULL instead of a list: any; of triggers (errors ... cells): none. */
struct atoll_knowledge_entry {
    enum atoll_knowledge_kind kind;
    const char *id, *path; /* path: of its file in the pack */
    unsigned line;         /* where it begins there */
    const char *what;      /* its title */
    const char *source;    /* who says so */
    int replaces;          /* the entry of the same id that was there before */
    const char *const *languages, *const *devices, *const *families, *const *features;
    const char *const *about; /* words of tasks that it is for above all */
    const char *const *errors, *const *limiters, *const *stalls, *const *unused, *const *cells;
    const char *task; /* "suites/gpu/gemm_bf16": what its plan, or its kernel, is of; NULL */

    enum atoll_knowledge_severity severity; /* of a constraint */
    enum atoll_knowledge_failure fails;
    const char *wrong, *right, *message; /* message: a part of what is said, or an error class */

    enum atoll_issue_stage stage; /* of a pattern */
    const char *before, *after, *why, *applies;
    double expected[2]; /* times as fast, from and to; 0: not said */

    const char *kernel_path, *kernel; /* of an example: whole source with plan */
    const struct atoll_knowledge_measurement *measured;
    size_t measured_count;
    const struct atoll_knowledge_numbers *held_out; /* shapes to measure that nobody looks at before */
    size_t held_out_count;
    const char *const *learn;

    const char *text; /* of a passage */
};

const char *atoll_knowledge_kind_name(enum atoll_knowledge_kind kind); /* "constraint" ... "kernel" */
const char *atoll_knowledge_severity_name(enum atoll_knowledge_severity severity);
const char *atoll_knowledge_failure_name(enum atoll_knowledge_failure failure);
/* Whether a word is in a list of an entry, or the list is NULL. */
int atoll_knowledge_has(const char *const *list, const char *word);
/* Whether an example may be shown and started from: measured at shapes of its task and at one that was held out, and nowhere slower
 * than its rival by more than the share. */
int atoll_knowledge_is_proven(const struct atoll_knowledge_entry *example);
/* Whether a source of a task is the kernel of an example: the same text, perhaps with the task's definitions put in. */
int atoll_knowledge_is_kernel_of(const struct atoll_knowledge_entry *example, const char *source);

#endif

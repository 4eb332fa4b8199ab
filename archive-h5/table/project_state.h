/* project_state.h - the inside of a projection, shared by project*.c only.
 * Layer: archive-h5, private.  What the finders return is borrowed until the next thing of its kind is added.
 */
#ifndef ATOLL_ARCHIVE_H5_TABLE_PROJECT_STATE_H
#define ATOLL_ARCHIVE_H5_TABLE_PROJECT_STATE_H

#include "archive-h5/table/project.h"
#include "base/hash_index.h"
#include "base/arena.h"
#include "core/experience/hint_ledger.h"
#include "core/prompt_archive.h"
#include "core/rival.h"
#include "core/tool_turn.h"

#define ATOLL_PROJECTION_NONE UINT64_MAX

struct atoll_projection_source {
    struct atoll_id id;
    uint32_t language, text, origin; /* texts */
    /* The plan for `task`, kept because a template has thousands of instances; NULL = none that is valid.
     * Holds while `parsed_in` is the projection's plan_round. */
    const struct atoll_plan *plan;
    uint32_t task, plan_text;
    uint64_t parsed_in;
};

/* What was ordered under an evaluation number. */
struct atoll_projection_dispatch {
    uint64_t evaluation;
    uint32_t task, model, island;
    struct atoll_id candidate, elite;
    uint64_t
        ask; /* that it answers: tasks may have a candidate in common, whose row names one ask; 0: none */
    uint8_t rivals[ATOLL_TASK_VARIANT_LIMIT]; /* of a duel of purpose RIVAL */
    int answered;
};

struct atoll_projection_task {
    struct atoll_task *task; /* owned; NULL when it did not decode */
    /* in tasks; ATOLL_PROJECTION_NONE until the model's population is heard of, the first at once */
    uint64_t rows[ATOLL_MODEL_LIMIT];
    uint32_t rivals[ATOLL_MODEL_LIMIT]; /* number of its element of rivals, from 1; 0 = none was measured */
};

/* What is known of the correct rivals of a task on a model: times, single calls. */
struct atoll_projection_rivals {
    struct atoll_rival_times times;
    double host[ATOLL_TASK_RIVAL_LIMIT][ATOLL_TASK_VARIANT_LIMIT];
};

/* The first result that was neither unstable nor a failure of infrastructure: what prompts say of a candidate. */
struct atoll_projection_first {
    uint8_t is_known, verdict, error, limiter;
    double time_ns;
};

/* What was told and credited: hints, or the knowledge base. */
struct atoll_projection_books {
    enum atoll_table rows, uses;     /* struct atoll_row_hint, struct atoll_row_hint_use */
    struct atoll_hint_ledger ledger; /* an account per row */
};
enum { ATOLL_PROJECTION_HINTS, ATOLL_PROJECTION_KNOWLEDGE, ATOLL_PROJECTION_BOOK_COUNT };

struct atoll_projection_list {
    void *items; /* owned */
    size_t count, capacity;
};

/* Versions of prompt texts, as the search's settings want them. */
struct atoll_projection_prompts {
    int is_on, is_shared;
    uint32_t limit;
    enum atoll_language language;
    struct atoll_projection_list pools, levels; /* struct pool, struct level of project_prompt.c */
};

/* Of an ask: which rows of uses are its own in each of the books, and the faster one of a pair. */
struct atoll_projection_told {
    struct atoll_id fast;
    uint64_t first_use[ATOLL_PROJECTION_BOOK_COUNT];
    uint32_t use_count[ATOLL_PROJECTION_BOOK_COUNT];
    int is_briefed;
};

/* Of a candidate, by device model. */
struct atoll_projection_floor {
    struct atoll_projection_first first[ATOLL_MODEL_LIMIT];
    double ns[ATOLL_MODEL_LIMIT];
    uint8_t model[ATOLL_MODEL_LIMIT]; /* enum atoll_floor_model */
    uint32_t beyond;                  /* atoll_mix_beyond of its image */
};

struct atoll_projection {
    struct atoll_tables *tables;
    struct atoll_arena *arena; /* of one event */
    struct atoll_arena *plans; /* of sources; emptied when it is full */
    uint64_t plan_round;       /* counts how often plans was emptied, from 1 */
    enum atoll_fitness_form form;
    double judge_limit;                                              /* of the search */
    struct atoll_projection_list sources, dispatches, tasks, floors; /* floors: one per candidate row */
    struct atoll_projection_list rivals, devices; /* devices: struct atoll_device_info, as told last */
    struct atoll_projection_list told;            /* one per ask row */
    struct atoll_projection_books books[ATOLL_PROJECTION_BOOK_COUNT];
    struct atoll_projection_prompts prompts;
    struct atoll_index source_index, dispatch_index, candidate_index, ask_index, device_time_index;
    uint32_t models[ATOLL_MODEL_LIMIT]; /* names, texts, in the order of their appearance */
    uint32_t model_count;
    uint64_t event; /* being projected */
    int64_t campaign_ns;
    uint32_t ordinal;
    uint32_t attempt, job; /* whose records come; job: a text */
    int64_t began_unix_ns;
    int is_marked; /* marks mean something */
    uint64_t marks[ATOLL_TABLE_COUNT];
};

/* A zeroed new element at the end; NULL without memory. */
void *atoll_projection_list_add(struct atoll_projection_list *l, size_t element, struct atoll_err *err);
int atoll_projection_put_text(struct atoll_projection *p, const char *text, uint32_t *ret_text,
                              struct atoll_err *err);

struct atoll_projection_source *atoll_projection_find_source(const struct atoll_projection *p,
                                                             const struct atoll_id *id);
int atoll_projection_add_source(struct atoll_projection *p, const char *language, const char *text,
                                const char *origin, struct atoll_err *err);
struct atoll_projection_task *atoll_projection_find_task(const struct atoll_projection *p, uint32_t number);
/* Row in tasks of a task on a model, made where there is none yet: 1; 0 when there is no such task; -1. */
int atoll_projection_task_row(struct atoll_projection *p, uint32_t task, uint32_t model, uint64_t *ret_row,
                              struct atoll_err *err);
const struct atoll_device_info *atoll_projection_find_device(const struct atoll_projection *p, uint64_t key);
struct atoll_projection_dispatch *atoll_projection_find_dispatch(const struct atoll_projection *p,
                                                                 uint64_t evaluation);
int atoll_projection_add_dispatch(struct atoll_projection *p, const struct atoll_decision *d,
                                  struct atoll_err *err);
int64_t atoll_projection_find_candidate(const struct atoll_projection *p,
                                        const struct atoll_id *id); /* row, -1 */
int atoll_projection_add_candidate(struct atoll_projection *p, const struct atoll_decision *d,
                                   struct atoll_err *err);
/* Which path of a candidate's plan a variant takes, from 1; 0: its plan has one way, or is not known. */
int atoll_projection_path(struct atoll_projection *p, const struct atoll_id *candidate, uint32_t task,
                          uint32_t variant, uint8_t *ret_path, struct atoll_err *err);
/* One that was not ordered, or has its result, is ignored. */
int atoll_projection_add_rival(struct atoll_projection *p, const struct atoll_rival *r,
                               struct atoll_err *err);
/* Of a duel of purpose RIVAL: the names of what stands in the elite's place. */
int atoll_projection_put_rival_names(struct atoll_projection *p,
                                     const struct atoll_projection_dispatch *order,
                                     struct atoll_row_duel *row, struct atoll_err *err);
/* The final comparison with the rival into a row of tasks; all zero: there is none. */
void atoll_projection_put_rival_final(struct atoll_row_task *row, const struct atoll_row_duel *d);
/* Where a device's time went, into rows of the attempt at hand. */
int atoll_projection_put_device_times(struct atoll_projection *p, int64_t unix_ns,
                                      const struct atoll_device_times *times, struct atoll_err *err);
/* 1 and its row; 0: there is no such ask. */
int atoll_projection_find_ask(const struct atoll_projection *p, uint64_t number, uint32_t *ret_row);
/* Behind the row of a new ask. */
int atoll_projection_add_told(struct atoll_projection *p, const struct atoll_ask *ask, struct atoll_err *err);
/* Of an ask that is not known, or has its briefing: ignored. */
int atoll_projection_put_briefing(struct atoll_projection *p, const struct atoll_briefing *briefing,
                                  struct atoll_err *err);
/* What followed what the ask was told that the evaluation answers, by the candidate's first result on a model. */
int atoll_projection_credit(struct atoll_projection *p, uint64_t ask, const struct atoll_row_evaluation *e,
                            struct atoll_err *err);
/* Versions of prompt texts: who is asked with which, what answers are worth, what edits make of one.  parent_ns: what the kernel is held
 * against; best_ns: the task's best before it, 0 none. */
void atoll_projection_prompts_init(struct atoll_projection_prompts *prompts,
                                   const struct atoll_search *search);
void atoll_projection_prompts_fini(struct atoll_projection_prompts *prompts);
int atoll_projection_prompt_asked(struct atoll_projection *p, const struct atoll_ask *ask,
                                  struct atoll_err *err);
int atoll_projection_prompt_edited(struct atoll_projection *p, const struct atoll_row_ask *ask,
                                   const struct atoll_reply *reply, struct atoll_err *err);
int atoll_projection_prompt_credit(struct atoll_projection *p, const struct atoll_row_ask *ask,
                                   const struct atoll_row_evaluation *e, double parent_ns, double best_ns,
                                   struct atoll_err *err);
/* Rewrites and hints of a reply. */
/* Of a reply that is taken: its items, and the sections of its prompt. */
int atoll_projection_put_items(struct atoll_projection *p, const struct atoll_reply *reply,
                               struct atoll_err *err);
/* Of a reply that is taken: what a judge said; of other asks nothing. */
int atoll_projection_put_judgement(struct atoll_projection *p, const struct atoll_row_ask *ask,
                                   const struct atoll_reply *reply, struct atoll_err *err);
int atoll_projection_discard(struct atoll_projection *p, const struct atoll_decision *d,
                             struct atoll_err *err);
/* The candidate is the best of its task from here on: the ask that it, or its template, answers has that to its credit. before_ns: of
 * the best before, 0 none. */
void atoll_projection_credit_ask(struct atoll_projection *p, uint64_t candidate, double before_ns,
                                 double after_ns);
int atoll_projection_put_learned(struct atoll_projection *p, uint32_t ask_row,
                                 const struct atoll_reply *reply, struct atoll_err *err);
/* Rows of its calls; its tokens and price into the campaign's. */
int atoll_projection_put_tool_turn(struct atoll_projection *p, const struct atoll_tool_turn *turn,
                                   struct atoll_err *err);
/* Category, level, tags, instructions, origin and kind of reference. */
int atoll_projection_put_task_words(struct atoll_projection *p, const struct atoll_task *task,
                                    struct atoll_row_task *row, struct atoll_err *err);

#endif

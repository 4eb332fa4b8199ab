/* query.h - what `atoll best`, `atoll show` and the report ask of an archive.
 * Layer: archive-h5, pure.  Lifetime: create/destroy; the tables are borrowed and must not change meanwhile.
 */
#ifndef ATOLL_ARCHIVE_H5_REPORT_QUERY_H
#define ATOLL_ARCHIVE_H5_REPORT_QUERY_H

#include "archive-h5/table/table.h"
#include "core/verdict.h"

struct atoll_query;

struct atoll_query *atoll_query_create(const struct atoll_tables *tables, struct atoll_err *err);
void atoll_query_destroy(struct atoll_query *query); /* NULL is fine */
const struct atoll_tables *atoll_query_tables(const struct atoll_query *query);

/* Row of the candidate with this id; -1 when there is none. */
int64_t atoll_query_candidate(const struct atoll_query *query, uint32_t campaign, const struct atoll_id *id);
/* Row of the candidate whose id starts with these hex digits (4 or more).  Errors: INPUT (no hex, or
 * ambiguous: the text names two), NOTFOUND. */
int atoll_query_candidate_prefix(const struct atoll_query *query, const char *prefix, uint64_t *ret_row,
                                 struct atoll_err *err);

/* Row of a candidate by what a person types: TASK means its best kernel and TASK/baseline what that is compared with (on the
 * first of its device models), anything else the start of an id.  Errors: those of atoll_query_candidate_prefix; NOTFOUND for a
 * task without such a kernel, and with the nearest task's name where neither is meant. */
int atoll_query_find(const struct atoll_query *query, const char *word, uint64_t *ret_row,
                     struct atoll_err *err);
/* How many hexadecimal digits tell all candidates of the archive apart, 7 at least: ids are printed that long.  64 without
 * memory to compare them. */
int atoll_query_id_digits(const struct atoll_query *query);

/* Rows of a table that belong to something, in order, as a borrowed array of row numbers. */
struct atoll_rows {
    const uint32_t *rows;
    size_t count;
};
struct atoll_rows atoll_query_evaluations(const struct atoll_query *query, uint64_t candidate_row);
struct atoll_rows atoll_query_timings(const struct atoll_query *query, uint64_t evaluation_row);
struct atoll_rows atoll_query_samples(const struct atoll_query *query, uint64_t evaluation_row);
/* Row in profiles of an evaluation; -1 when nothing is known of its binary and counters. */
int64_t atoll_query_profile(const struct atoll_query *query, uint64_t evaluation_row);
#define ATOLL_QUERY_ANY_MODEL UINT32_MAX
/* The profile that says most of a candidate on a device model: the highest tier, of its fastest evaluation; -1 when
 * there is none. ret_evaluation: the evaluation it is of. */
int64_t atoll_query_candidate_profile(const struct atoll_query *query, uint64_t candidate_row, uint32_t model,
                                      uint64_t *ret_evaluation);
/* The evaluation that counts on a device model: correct before others, the fastest of them; -1 when there is none. */
int64_t atoll_query_best_evaluation(const struct atoll_query *query, uint64_t candidate_row, uint32_t model);

/* From the candidate through its parents to the first; at most limit rows.  Cycles end it. */
size_t atoll_query_lineage(const struct atoll_query *query, uint64_t candidate_row, uint64_t *ret_rows,
                           size_t limit);

/* Row in tasks of the task with this name or number, the first of its device models; -1. */
int64_t atoll_query_task(const struct atoll_query *query, const char *name);
/* The same; -1 with NOTFOUND, which names the nearest one. */
int64_t atoll_query_task_named(const struct atoll_query *query, const char *name, struct atoll_err *err);

/* Who made a kernel: what a search added to the seeds it was given. */
enum atoll_maker {
    ATOLL_MAKER_NONE,
    ATOLL_MAKER_SEED,    /* a seed as it was, parameters of a template as they came first */
    ATOLL_MAKER_TUNER,   /* parameters of a seed chosen by the tuner */
    ATOLL_MAKER_MODEL,   /* a language model's source, its parameters tuned or not */
    ATOLL_MAKER_MIGRANT, /* a source of an earlier campaign or another device, its parameters tuned or not */
    ATOLL_MAKER_COUNT
};
const char *atoll_maker_name(enum atoll_maker maker); /* "none", "seed", "tuner", "model", "migrant" */
enum atoll_maker atoll_query_maker(const struct atoll_query *query, uint64_t candidate_row);

/* What a report shows of one task. */
struct atoll_task_summary {
    uint64_t row; /* in tasks */
    const char *name;
    const char
        *model; /* of the devices; "" where the archive's tasks are all of one model, or none was named */
    double baseline_ns, best_ns,
        floor_ns;   /* times of the final comparison where there is one, as lone best times are lucky */
    double speedup; /* final ratio where there is one, else baseline / best; 0 = unknown */
    int speedup_is_final;
    /* 95 % intervals: of the times in the final comparison or of the evaluations, of the final ratio; 0 = not known */
    double baseline_lo_ns, baseline_hi_ns, best_lo_ns, best_hi_ns, speedup_lo, speedup_hi;
    uint32_t pair_count;  /* of the final comparison, 0 = none: then there is no p-value */
    int is_baseline_best; /* nothing was to be compared with it */
    double p_value;       /* of the final comparison */
    double floor_share;   /* floor / best, 0 = unknown, or floors_differ */
    int floors_differ;    /* from those of another archive in the table: of another model, or told by none */
    const char *floor_model;    /* of floor_ns, atoll_floor_model_name */
    unsigned beyond_precisions; /* of the best kernel: bits of enum atoll_mix, 0 none or not known */
    uint64_t evaluated, correct;
    uint64_t
        verdicts[ATOLL_VERDICT_COUNT]; /* of the evaluations; noise (unstable) says nothing of a kernel */
    double correct_share;              /* of what was judged: neither unstable nor infrastructure */
    enum atoll_maker made_by;          /* the best */
    const char *origin;                /* of its source: a seed's name, import, a model; "" */
    double seed_ns;                    /* fastest evaluation of a seed as it was, 0 = none is correct */
    double gain_over_seeds; /* that over the best's time in its own evaluation; 1 for a seed; 0 = unknown */
};
void atoll_query_task_summary(const struct atoll_query *query, uint64_t task_row,
                              struct atoll_task_summary *ret_summary);

/* The newest evaluations of a task that were neither correct nor unstable nor infrastructure, rows in evaluations,
 * newest first; how many, at most limit. */
size_t atoll_query_failures(const struct atoll_query *query, uint64_t task_row, uint64_t *ret_rows,
                            size_t limit);
/* Templates (sources of a task with at least two combinations judged) of which none compiled or was accepted. */
struct atoll_dead_template {
    uint64_t candidate, evaluation; /* rows of the newest of its combinations and of what became of it */
    uint64_t combinations;
};
size_t atoll_query_dead_templates(const struct atoll_query *query, uint64_t task_row,
                                  struct atoll_dead_template *ret_templates, size_t limit);

/* Over all tasks of the archive. */
struct atoll_archive_summary {
    uint64_t task_count, timed_count;    /* timed: with baseline and best */
    uint64_t evaluated, correct, judged; /* judged: neither unstable nor infrastructure */
    double geometric_mean;               /* of speedups, 0 = none */
    double fast_share
        [5]; /* fast_p: share of tasks with a correct kernel more than 1, 1.5, 2, 3, 5 times as fast */
    uint64_t noop_challenges, noop_promotions;
    uint64_t asks, tokens;
    double cost_usd;
    double occupied_ns, candidate_ns; /* of all evaluations and duels */
    double wall_ns;                   /* campaign time, all campaigns */
    double device_wall_ns;            /* campaign time times devices */
};
extern const double atoll_fast_thresholds[5];
void atoll_query_summary(const struct atoll_query *query, struct atoll_archive_summary *ret_summary);

#endif

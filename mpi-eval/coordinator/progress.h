/* progress.h - what a run is doing: JSON lines on a descriptor for a front end (`atoll run`), one about every half second
 * and a last one, and progress.json of the campaign (archive-h5/campaign/campaign_progress.h) every ten seconds.
 * Layer: mpi-eval, part of the coordinator.  Lifetime: init/fini.  A reader of the lines that does not keep up misses
 * lines; it never slows the run.  The file is a hint: what fails is logged once and ignored.
 *
 * {"type":"progress"|"summary","elapsed_s":..,"budget_s":..,"evaluated":..,"rate":..,"under_way":..,"evaluators":..,
 *  ["asks":{"open":..,"answered":..,"failed":..,"tokens":..,"cost_usd":..,"over":0|1},]
 *  "busy":0..1,"candidate_share":0..1,"disk_full":0|1,"finishing":0|1,"stopped":0|1,"reason":"..","tasks":[{"name":"..",["model":"..",]["rival":"..",]["unstable_rounds":..,"unstable_limit":..,]"evaluated":..,
 *  "correct":..,"baseline_ns":..,"best_ns":..,"floor_ns":..,"best_fitness":..,"final_ratio":..,"rival_ns":..,"rival_ratio":..,
 *  "baseline_lo_ns":..,"baseline_hi_ns":..,"best_lo_ns":..,"best_hi_ns":..,"final_lo":..,"final_hi":..,"rival_lo":..,"rival_hi":..,"rival_lo_ns":..,"rival_hi_ns":..,"final_pairs":..,"rival_pairs":..,"promotions":..,"done":0|1}]}
 */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_PROGRESS_H
#define ATOLL_MPI_EVAL_COORDINATOR_PROGRESS_H

#include "archive-h5/campaign/campaign.h"
#include "evolution/engine/engine.h"
#include "mpi-eval/coordinator/time_ledger.h"
#include "mpi-eval/operator/llm_queue.h"

struct atoll_progress_facts {
    const struct atoll_engine *engine;
    double elapsed_ns, budget_ns; /* campaign time; budget 0 = none */
    double attempt_ns;            /* since this attempt's start */
    double busy, candidate_share; /* of the evaluators' time */
    unsigned evaluators;          /* ready */
    int is_disk_full;             /* 1: nothing goes on until the journal can be written */
    const char *message;          /* of ours, without quotes or backslashes; NULL = none */
    int has_model;                /* 1: a language model is asked, and this is how that goes */
    struct atoll_llm_queue_counts asks;
    const struct atoll_time_ledger *times; /* NULL = nobody keeps it */
};

/* What the engine keeps of a measurement without its interval: of this attempt, or told by the last progress.json. */
enum atoll_progress_value_kind {
    ATOLL_PROGRESS_FINAL,       /* ratio of a final comparison with the baseline */
    ATOLL_PROGRESS_RIVAL_FINAL, /* with the rival */
    ATOLL_PROGRESS_RIVAL_TIME /* ns of the fastest rival; an engine that was loaded knows no interval of it */
};
struct atoll_progress_value {
    enum atoll_progress_value_kind kind;
    double value, lo, hi;
    uint64_t pair_count; /* of a comparison; 0: not known */
};

struct atoll_progress {
    int fd; /* -1 = no lines */
    struct atoll_buffer line;
    double line_ns;          /* when the last line was written */
    uint64_t line_evaluated; /* evaluations in it */
    /* The file; campaign NULL: none is kept. */
    const struct atoll_campaign *campaign; /* borrowed */
    const char *attempt_dir;               /* borrowed */
    uint64_t evaluated, duelled;           /* in the journals, up to journal_bytes of this attempt's */
    uint64_t journal_bytes;
    struct atoll_progress_value *values; /* owned */
    uint32_t value_count, value_capacity;
    double file_ns; /* when it was written last */
    int has_complained;
};

void atoll_progress_init(struct atoll_progress *progress, int fd, double now_ns);
void atoll_progress_fini(struct atoll_progress *progress);
/* Counts what the campaign's journals hold; the attempt has begun and its journal holds journal_bytes durable bytes. */
void atoll_progress_begin_file(struct atoll_progress *progress, const struct atoll_campaign *campaign,
                               const char *attempt_dir, uint64_t journal_bytes);
/* A round became durable: the journal holds journal_bytes now. */
void atoll_progress_count(struct atoll_progress *progress, const struct atoll_event *events, size_t count,
                          uint64_t journal_bytes);
int atoll_progress_line_is_due(const struct atoll_progress *progress, double now_ns);
int atoll_progress_file_is_due(const struct atoll_progress *progress, double now_ns);
/* One write that does not block; is_last: waits for the reader at most a second. */
void atoll_progress_write_line(struct atoll_progress *progress, const struct atoll_progress_facts *facts,
                               double now_ns, int is_last);
void atoll_progress_write_file(struct atoll_progress *progress, const struct atoll_progress_facts *facts,
                               double now_ns);

#endif

/* evaluation.h - what a referee reports of one candidate or one comparison; travels in messages, journal
 * and archive.
 * Layer: core.  Lifetime: init/fini (samples are owned); encode/decode for wire and journal
 * (docs/spec/wire.md). */
#ifndef ATOLL_CORE_EVALUATION_H
#define ATOLL_CORE_EVALUATION_H

#include <stddef.h>
#include <stdint.h>

#include "core/behaviour/behaviour.h"
#include "base/buffer.h"
#include "base/id.h"
#include "core/profile.h"
#include "core/task/task.h"
#include "core/timing.h"
#include "core/verdict.h"

#define ATOLL_DETAIL_BYTES 2048

struct atoll_evaluation {
    uint64_t evaluation; /* the number rank 0 gave this dispatch; unique in a campaign */
    struct atoll_id candidate;
    enum atoll_verdict verdict;
    unsigned level; /* of the cascade that decided, 1..8; 0 for infrastructure */
    /* evidence in sentences: the field and limit, the diagnostics, the worst element ... */
    char detail[ATOLL_DETAIL_BYTES];
    struct atoll_behaviour behaviour;
    struct atoll_id binary; /* hash of the compiled object and the plan; zero when not compiled */
    uint64_t device;        /* referee's device number (atoll_device_info.key) */
    int64_t started_unix_ns;
    double compile_ns, check_ns, sampling_ns, occupied_ns, candidate_ns; /* MEASUREMENT.md 9 */
    uint32_t code_bytes, draw_count, fully_compared_count;
    double worst_error; /* of the compared elements, in units of the tolerance; < 1 is right */
    size_t timing_count;
    struct atoll_timing timings[ATOLL_TASK_VARIANT_LIMIT]; /* bench variants */
    struct atoll_profile profile;
};

void atoll_evaluation_init(struct atoll_evaluation *e);
void atoll_evaluation_fini(struct atoll_evaluation *e);
void atoll_evaluation_encode(const struct atoll_evaluation *e, struct atoll_buffer *out);
/* Decodes exactly length bytes; e must be init'ed; error leaves it init'ed and empty.  Hostile input: every
 * enum, count and number (NaN, negative times) is checked. */
int atoll_evaluation_decode(const void *bytes, size_t length, struct atoll_evaluation *e,
                            struct atoll_err *err);
/* Weighted geometric means over bench variants; 0 when there are no timings. */
double atoll_evaluation_time_ns(const struct atoll_evaluation *e, const struct atoll_task *task);
double atoll_evaluation_floor_ns(const struct atoll_evaluation *e, const struct atoll_task *task);
/* Of all its timings; UNTOLD where they differ. */
enum atoll_floor_model atoll_evaluation_floor_model(const struct atoll_evaluation *e);
/* The same means of the ends of the medians' 95 % intervals. */
void atoll_evaluation_interval_ns(const struct atoll_evaluation *e, const struct atoll_task *task,
                                  double *ret_lo, double *ret_hi);

/* Why two candidates are compared. */
enum atoll_duel_purpose {
    ATOLL_DUEL_PROMOTION,    /* challenger against the elite of its cell */
    ATOLL_DUEL_NULL_CONTROL, /* a null control against its original: the run's false-promotion rate */
    ATOLL_DUEL_FINAL,        /* a task's best against its baseline, hidden variants checked too */
    /* a task's best against its fastest rival, in blocks that alternate between two processes; the rival stands where the
     * elite stands elsewhere */
    ATOLL_DUEL_RIVAL,
    ATOLL_DUEL_PURPOSE_COUNT
};

/* Half of the 95 % interval of a final's ratio, as a share of it: two finals of one pair of kernels are then within a tenth
 * (docs/adr/0064). */
#define ATOLL_DUEL_TOLD_WITHIN 0.04

/* Interleaved ABBA comparison of two candidates on one device, fresh draws (MEASUREMENT.md 5). */
struct atoll_duel {
    uint64_t evaluation;
    enum atoll_duel_purpose purpose;
    /* CORRECT when the comparison was carried out and both were correct; else what the challenger did
     * (WRONG on hidden shapes ...), or INFRASTRUCTURE */
    enum atoll_verdict verdict;
    int better;   /* 1 confirmed: better by the margin at the error rate asked for */
    double ratio; /* elite time / challenger time */
    double p_value;
    uint32_t pair_count;
    double elite_ns, challenger_ns; /* medians of the interleaved samples, weighted over variants */
    /* 95 % intervals of the three; all 0 where none was made, or an engine before them wrote it */
    double ratio_lo, ratio_hi, elite_lo_ns, elite_hi_ns, challenger_lo_ns, challenger_hi_ns;
    double occupied_ns, candidate_ns;
    uint64_t device;
    char detail[ATOLL_DETAIL_BYTES];
};

void atoll_duel_encode(const struct atoll_duel *d, struct atoll_buffer *out);
int atoll_duel_decode(const void *bytes, size_t length, struct atoll_duel *ret_duel, struct atoll_err *err);

#endif

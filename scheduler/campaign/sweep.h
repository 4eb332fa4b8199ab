/* sweep.h - a submitted campaign: a folder of parts on which jobs work (docs/spec/sweep.md).
 * Layer: scheduler.  Lifetime: open/close; immutable between.  sweep.yaml is the commit: it is there with everything or not
 * at all, because the whole folder is made under another name and renamed into place. */
#ifndef ATOLL_SCHEDULER_CAMPAIGN_SWEEP_H
#define ATOLL_SCHEDULER_CAMPAIGN_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"

#define ATOLL_SWEEP_FILE       "sweep.yaml"
#define ATOLL_SWEEP_SCRIPT     "job.sh"
#define ATOLL_SWEEP_HISTORY    "history.jsonl"
#define ATOLL_SWEEP_PART_LIMIT 4096
#define ATOLL_SWEEP_NAME_BYTES 32

/* A part: parts/<name>/ is a campaign folder of its own. */
struct atoll_sweep_part {
    const char *name; /* "0000" */
    uint32_t task_count;
};

/* What sweep.yaml says; texts may be empty, never NULL after open. */
struct atoll_sweep {
    const char *dir; /* absolute */
    const char *id;  /* hexadecimal */
    const char *atoll_version, *backend;
    double created_unix_s;
    uint32_t jobs;  /* wanted at once */
    uint32_t nodes; /* of each job */
    uint32_t time_min, gpus_per_node;
    uint32_t evaluators_per_node;
    uint32_t
        max_queued; /* most jobs of the user in the queue when one of these is submitted; 0 = what the site says */
    const char *partition, *account, *qos, *constraint;
    double priority, share;   /* among the user's campaigns, when it was submitted */
    const char *const *after; /* folders of campaigns that must be done before */
    size_t after_count;
    const struct atoll_sweep_part *parts;
    size_t part_count;
    struct atoll_arena *arena; /* owner of all texts */
};

/* Whether dir holds one: 1, 0. */
int atoll_sweep_is(const char *dir);
/* 1: dir holds one; 0: it does not; -1: that cannot be seen from here (a file system that is not mounted, no permission). */
int atoll_sweep_look(const char *dir);
/* The first of these folders whose campaign is not done and may be there still; NULL when nothing is waited for. */
const char *atoll_sweep_waits_for(const char *const *after, size_t count);
/* Errors: NOTFOUND (no sweep.yaml, with the remedy), INPUT "file:line: ...", IO, MEMORY. */
struct atoll_sweep *atoll_sweep_open(const char *dir, struct atoll_err *err);
void atoll_sweep_close(struct atoll_sweep *sweep); /* NULL is fine */

/* Whether a text can stand in sweep.yaml: UTF-8 without control characters. */
int atoll_sweep_can_hold(const char *text);
/* Writes DIR/sweep.yaml; sweep->dir and arena are not read. */
int atoll_sweep_write(const struct atoll_sweep *sweep, const char *dir, struct atoll_err *err);

/* "DIR/<name>" and "DIR/parts/<part>"; LIMIT when it does not fit. */
int atoll_sweep_path(const struct atoll_sweep *sweep, const char *name, char *ret_path, size_t bytes,
                     struct atoll_err *err);
int atoll_sweep_part_path(const struct atoll_sweep *sweep, size_t part, char *ret_path, size_t bytes,
                          struct atoll_err *err);
/* Whether a part that could not be read for this reason is damaged: another try says the same. */
int atoll_sweep_is_damage(enum atoll_code code);
/* What its jobs are called: "atoll-" and the first digits of the id. */
void atoll_sweep_job_name(const struct atoll_sweep *sweep, char ret_name[ATOLL_SWEEP_NAME_BYTES]);

/* Marks that stand in the folder as empty files: set (1), clear (0), look. */
enum atoll_sweep_mark { ATOLL_SWEEP_PAUSED, ATOLL_SWEEP_CANCELLED, ATOLL_SWEEP_MARK_COUNT };
int atoll_sweep_mark(const char *dir, enum atoll_sweep_mark mark, int is_set, struct atoll_err *err);
int atoll_sweep_is_marked(const char *dir, enum atoll_sweep_mark mark);
/* Every part has ended and the finalizer wrote its word. */
int atoll_sweep_is_done(const char *dir);

/* Appends a line to history.jsonl, which `atoll status` shows: what happened to the campaign, in order.  job: whose; what: a
 * word for programs ("submitted", "lost"); text: for people.  Best effort. */
void atoll_sweep_record(const char *dir, const char *job, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif

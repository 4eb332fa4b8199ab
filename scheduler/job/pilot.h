/* pilot.h - what a job does: one part after the other, until all have ended or its time is over.
 * Layer: scheduler.  docs/spec/sweep.md, "Job". */
#ifndef ATOLL_SCHEDULER_JOB_PILOT_H
#define ATOLL_SCHEDULER_JOB_PILOT_H

#include <signal.h>

#include "base/lease.h"
#include "scheduler/site/node_list.h"
#include "scheduler/site/site.h"
#include "scheduler/campaign/sweep.h"

struct atoll_pilot_settings {
    const struct atoll_sweep *sweep;
    const struct atoll_site *site;
    const char *const *eval_words; /* further words for atoll-eval */
    size_t eval_word_count;
    const volatile sig_atomic_t *interrupts; /* not 0: drain and leave */
    double call_timeout_s;                   /* of each call to a scheduler; 0 = 30 */
    double lease_time_s; /* 0 = ATOLL_LEASE_TIME_S; all who work on a campaign must agree */
};

/* Why it left. */
enum atoll_pilot_end {
    ATOLL_PILOT_DONE,      /* every part has ended; archive and report are there */
    ATOLL_PILOT_CONTINUES, /* time was over: the job is queued again, or its successor is */
    ATOLL_PILOT_NO_WORK,   /* every open part has another job, or was given up */
    ATOLL_PILOT_PAUSED,    /* paused or cancelled by the user */
    ATOLL_PILOT_LEFT       /* asked to go by a signal, or time was over and nobody continues */
};
/* Errors: those of reading the campaign; CHILD when parts were given up because their steps failed. */
int atoll_pilot_run(const struct atoll_pilot_settings *settings, enum atoll_pilot_end *ret_end,
                    struct atoll_err *err);

/* ---- which part a job takes next (pilot_choice.c) ----
 * Follows from what is on disk and how long it has stood still.  create/destroy; one pilot.  No clock inside: times are given,
 * monotonic. */

enum atoll_offer {
    ATOLL_OFFER_PART, /* a part is free */
    ATOLL_OFFER_WAIT, /* some lease may belong to a lost job: look again in a few seconds */
    ATOLL_OFFER_NONE, /* every open part has a job that lives, or was given up here */
    ATOLL_OFFER_ENDED /* every part has ended */
};

struct atoll_pilot_choice;
/* self, sweep: borrowed.  first: the part it begins with, so that jobs that start together take different ones.  lease_time_s: of
 * the parts' leases. */
struct atoll_pilot_choice *atoll_pilot_choice_create(const struct atoll_sweep *sweep,
                                                     const struct atoll_lease_holder *self, size_t first,
                                                     double lease_time_s, struct atoll_err *err);
void atoll_pilot_choice_destroy(struct atoll_pilot_choice *choice);
/* Looks at all open parts.  For PART: its number and, when its holder is lost, the epoch that stood still (else 0).  A part
 * that is damaged (NOTFOUND, INPUT, CORRUPT, SCHEMA at three looks) is given up.  Errors: others of reading the parts. */
int atoll_pilot_choose(struct atoll_pilot_choice *choice, double now_ns, enum atoll_offer *ret_choice,
                       size_t *ret_part, uint32_t *ret_silent_epoch, struct atoll_err *err);
/* Whether every part has ended, as their journals say now; one that cannot be read has not. */
int atoll_pilot_choice_all_ended(struct atoll_pilot_choice *choice);
/* How a step on the part went: evaluated more than before or not.  After three steps in a row without anything the part is
 * given up by this job. */
void atoll_pilot_choice_record(struct atoll_pilot_choice *choice, size_t part, int has_progress);
size_t atoll_pilot_choice_given_up(const struct atoll_pilot_choice *choice);

/* ---- one step: started, watched, ended (pilot_step.c) ----
 * start/destroy.  One started without a part stands by, until take() says which part it works on.
 * How it went is read off the part's journals by the caller; an exit status alone proves nothing (a step on a lost node may end
 * with 0). */

struct atoll_pilot_step_settings {
    const char *const *words; /* the command, NULL at the end; borrowed as all that follows */
    const char *part;         /* folder whose lease the step renews; NULL: it stands by */
    const struct atoll_lease_holder *self;
    const char *drain_file;                  /* made when somebody asks the step to drain */
    const volatile sig_atomic_t *interrupts; /* not 0: it is asked to drain */
    double end_mono_ns;                      /* the step is ended by then; HUGE_VAL never */
    double lease_time_s;                     /* of the part's lease */
    double start_limit_s; /* until its first beat; 0 = 600; a 40th once srun says that a rank is lost */
    void (*look)(void *context); /* called every 15 s while it runs; NULL none */
    void *context;
};

enum atoll_pilot_step_end {
    ATOLL_STEP_EXITED, /* by itself */
    ATOLL_STEP_SILENT, /* its lease stood still or was never taken: it was killed */
    ATOLL_STEP_LATE    /* it was still there at the end: killed */
};
struct atoll_pilot_step_result {
    enum atoll_pilot_step_end end;
    int status; /* exit status, 128 + signal */
    /* Where standard error is a file: its last line about an error while the step ran, else its last line; and the file. */
    char reason[512], log[512];
};

struct atoll_pilot_step;
/* A program that is not there shows as a step that has ended.  Errors: those of reading the lease; MEMORY. */
struct atoll_pilot_step *atoll_pilot_step_start(const struct atoll_pilot_step_settings *settings,
                                                struct atoll_err *err);
/* The one that stood by works on the part (borrowed) from now on. */
int atoll_pilot_step_take(struct atoll_pilot_step *step, const char *part, struct atoll_err *err);
/* It has let go of its devices: it is no longer asked to drain, and look is not called for it. */
void atoll_pilot_step_let_leave(struct atoll_pilot_step *step);
/* Does what is due.  NULL: it runs; else how it ended, the step's. */
const struct atoll_pilot_step_result *atoll_pilot_step_look(struct atoll_pilot_step *step);
void atoll_pilot_step_pause(void); /* between two looks */
/* Ends it where it runs; NULL is fine. */
void atoll_pilot_step_destroy(struct atoll_pilot_step *step);

/* ---- the command line of a step (step.c) ----
 * How this site starts MPI ranks on its nodes; all but atoll_step_programs_copy is pure.
 *
 * Rank 0 shares the first node with that node's evaluators.  Layouts:
 *   exact    every node gets as many evaluators, the first node one rank more: nodes * evaluators + 1 ranks.  srun deals them
 *            out in turn (--distribution=cyclic), so that the one left over falls on the first node; mpirun is told the
 *            slots of each host
 *   uniform  every node gets as many ranks as the first, nodes * (evaluators + 1), where the launcher cannot tell nodes apart.
 *            A rank without a device of its own stays idle */

#define ATOLL_STEP_WORD_LIMIT 4096

struct atoll_step_request {
    const char *const *nodes; /* that take part, in the scheduler's order: rank 0 runs on the first */
    size_t node_count;
    const char *const *left_out; /* the allocation's other nodes */
    size_t left_out_count;
    unsigned evaluators_per_node; /* at least 1 */
    unsigned gpus_per_node;       /* of the job's request; 0 none */
    const char *program; /* atoll-eval; where the profile names container.program, that one is started */
    const char *const *arguments; /* NULL at the end */
    const char *host_file;        /* file with atoll_step_hosts' text, where the caller wrote it; NULL */
};

/* What a step needs for its host file: mpiexec to leave nodes out, mpirun where a list would be too long. */
int atoll_step_hosts(const struct atoll_site *site, const struct atoll_step_request *request,
                     struct atoll_buffer *out, struct atoll_err *err);

/* The words, NULL at the end, in the arena or borrowed from site and request; the first is looked for in PATH.
 * Errors: INPUT where the site's launcher cannot do what is asked (ibrun: leave nodes out; direct: several nodes), with what
 * can. */
int atoll_step_command(const struct atoll_site *site, const struct atoll_step_request *request,
                       struct atoll_arena *arena, const char *const **ret_words, struct atoll_err *err);

/* The command that puts source, a program, at target on every node of the step (target's folder is made where the site
 * copies; sbcast wants it there).  ret_words NULL: the site wants no broadcast.  Both paths absolute. */
int atoll_step_broadcast(const struct atoll_site *site, const struct atoll_step_request *request,
                         const char *source, const char *target, struct atoll_arena *arena,
                         const char *const **ret_words, struct atoll_err *err);

/* Copies atoll-eval and what it starts to every node below the site's scratch folder.  from: folder of the programs,
 * absolute.  ret_folder: where they are now; `from` itself where the site wants no copies or there is one node.  Errors:
 * what the commands said; then everything can be started from `from`. */
int atoll_step_programs_copy(const struct atoll_site *site, const struct atoll_node_list *nodes,
                             const char *job, const char *from, char *ret_folder, size_t bytes,
                             struct atoll_err *err);

#endif

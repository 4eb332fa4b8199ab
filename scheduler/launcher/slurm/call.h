/* call.h - one call of Slurm's library, made in a child process with a deadline.  Layer: scheduler.
 *
 * The child opens the plugin, makes the call and writes one answer.  Both sides are the same image, so structs are passed as
 * they are.  Whatever the library does - wait, exit, abort - ends with the child. */
#ifndef ATOLL_SCHEDULER_LAUNCHER_SLURM_CALL_H
#define ATOLL_SCHEDULER_LAUNCHER_SLURM_CALL_H

#include "base/buffer.h"
#include "base/process.h"
#include "scheduler/launcher/slurm/plugin.h"

struct atoll_slurm_call;
/* Runs in the child; what it puts into call->answer reaches the asker.  0, or -1 with call->words. */
typedef int atoll_slurm_call_function(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call);

struct atoll_slurm_call {
    const char *path; /* of the plugin */
    atoll_slurm_call_function
        *function;  /* NULL: only start; the answer is the version that the plugin was built for */
    const char *id; /* or list of nodes; borrowed, as all of these */
    int number;
    const struct atoll_slurm_submission *submission;
    struct atoll_slurm_words words;
    struct atoll_buffer answer; /* used in the child alone */
};

/* The answer is data..data+length, inside result: fini it after 0.  Errors: TIMEOUT, what the words of a refusal stand for,
 * MISSING when the plugin does not load, CHILD when the library ended the process without a word.  what: "submitting a job" */
struct atoll_slurm_answer {
    struct atoll_process_result result;
    const unsigned char *data;
    size_t length;
};
int atoll_slurm_call_run(struct atoll_slurm_call *call, const char *what, double timeout_s,
                         struct atoll_slurm_answer *ret_answer, struct atoll_err *err);
void atoll_slurm_answer_fini(struct atoll_slurm_answer *answer);

/* What a child can be sent for.  Answers: */
int atoll_slurm_do_ping(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call);
int atoll_slurm_do_submit(const struct atoll_slurm_plugin *plugin,
                          struct atoll_slurm_call *call); /* uint32_t */
int atoll_slurm_do_list(const struct atoll_slurm_plugin *plugin,
                        struct atoll_slurm_call *call); /* atoll_slurm_job ... */
int atoll_slurm_do_load(const struct atoll_slurm_plugin *plugin,
                        struct atoll_slurm_call *call); /* the same */
int atoll_slurm_do_cancel(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call);
int atoll_slurm_do_requeue(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call);
int atoll_slurm_do_bad_nodes(const struct atoll_slurm_plugin *plugin,
                             struct atoll_slurm_call *call); /* text */
int atoll_slurm_do_cluster(const struct atoll_slurm_plugin *plugin,
                           struct atoll_slurm_call *call); /* atoll_cluster */

#endif

/* step.h - the command line of one step inside an allocation: how this site starts MPI ranks on its nodes.
 * Layer: scheduler; all but atoll_step_programs_copy is pure.
 *
 * Rank 0 shares the first node with that node's evaluators.  Layouts:
 *   exact    every node gets as many evaluators, the first node one rank more: nodes * evaluators + 1 ranks.  srun deals them
 *            out in turn (--distribution=cyclic), so that the one left over falls on the first node; mpirun is told the
 *            slots of each host
 *   uniform  every node gets as many ranks as the first, nodes * (evaluators + 1), where the launcher cannot tell nodes apart.
 *            A rank without a device of its own stays idle */
#ifndef ATOLL_SCHEDULER_JOB_STEP_H
#define ATOLL_SCHEDULER_JOB_STEP_H

#include "scheduler/site/node_list.h"
#include "scheduler/site/site.h"

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

/* site.h - a site profile: how one cluster wants its jobs and steps, as a data file (docs/spec/site.md).
 * Layer: scheduler.  Lifetime: load/destroy; immutable between; texts are owned by it.
 *
 * Texts are NULL, counts 0 where the profile leaves a thing to the site. */
#ifndef ATOLL_SCHEDULER_SITE_SITE_H
#define ATOLL_SCHEDULER_SITE_SITE_H

#include "base/arena.h"
#include "scheduler/launcher/launcher.h"

#define ATOLL_SITE_DEFAULT    "generic-slurm"
#define ATOLL_SITE_WORD_LIMIT 64          /* of each list of words, lines, modules, variables */
#define ATOLL_SITE_FILE       "site.yaml" /* name of the copy inside a campaign */

enum atoll_site_scheduler { ATOLL_SITE_SLURM, ATOLL_SITE_PBS, ATOLL_SITE_LOCAL, ATOLL_SITE_SCHEDULER_COUNT };
enum atoll_site_gpus {
    ATOLL_SITE_GPUS_PER_NODE,
    ATOLL_SITE_GPUS_GRES,
    ATOLL_SITE_GPUS_NONE,
    ATOLL_SITE_GPUS_COUNT
};
enum atoll_site_visible {
    ATOLL_SITE_VISIBLE_ALL, /* each rank sees all GPUs of its node */
    ATOLL_SITE_VISIBLE_ONE, /* each rank sees one */
    ATOLL_SITE_VISIBLE_COUNT
};
enum atoll_site_start {
    ATOLL_SITE_SRUN,
    ATOLL_SITE_MPIRUN,  /* Open MPI's words */
    ATOLL_SITE_MPIEXEC, /* -n, --ppn, --hostfile: PALS, MPICH, Intel MPI */
    ATOLL_SITE_IBRUN,   /* takes everything from the job's own request */
    ATOLL_SITE_DIRECT,  /* the program itself, one process, no MPI */
    ATOLL_SITE_START_COUNT
};
enum atoll_site_continue {
    ATOLL_SITE_REQUEUE,   /* the same job again */
    ATOLL_SITE_SUCCESSOR, /* the job submits its successor */
    ATOLL_SITE_END,       /* the user submits again */
    ATOLL_SITE_CONTINUE_COUNT
};
enum atoll_site_broadcast {
    ATOLL_SITE_BROADCAST_NONE,
    ATOLL_SITE_BROADCAST_SBCAST,
    ATOLL_SITE_BROADCAST_COPY, /* one rank of each node copies */
    ATOLL_SITE_BROADCAST_COUNT
};
enum atoll_site_device {
    ATOLL_SITE_DEVICE_NONE,
    ATOLL_SITE_DEVICE_NV,
    ATOLL_SITE_DEVICE_ROCM,
    ATOLL_SITE_DEVICE_COUNT
};
enum atoll_site_place {
    ATOLL_SITE_GATEWAY_JOB, /* nodes reach the endpoints, perhaps through the proxy: a gateway inside the job */
    ATOLL_SITE_GATEWAY_LOGIN, /* nodes reach a login node: a gateway there, over a port */
    ATOLL_SITE_GATEWAY_SPOOL, /* nodes reach nothing: a gateway elsewhere, over files */
    ATOLL_SITE_PLACE_COUNT
};

struct atoll_site_words {
    const char *const *items; /* NULL after the last; never NULL itself */
    size_t count;
};
struct atoll_site_variable {
    const char *name, *value; /* value may be "" */
};

struct atoll_site {
    const char *path; /* where it was read */
    const char *name, *summary, *notes;
    enum atoll_site_scheduler scheduler;
    enum atoll_launcher_kind launcher;
    struct {
        enum atoll_site_start start;
        const char *mpi; /* srun --mpi=; NULL: the site's default */
        int is_uniform;  /* every node gets as many ranks as the first */
        int has_overlap; /* srun knows --overlap (Slurm 20.11 and later) */
        struct atoll_site_words extra;
    } step;
    struct {
        enum atoll_site_gpus ask;
        const char *gres; /* "gpu", "gpu:h100" */
        unsigned per_node;
        enum atoll_site_visible visible;
    } gpus;
    struct {
        const char *partition, *account, *qos, *constraint, *reservation;
        struct atoll_site_words directives; /* further words behind #SBATCH */
        int is_exclusive, has_no_kill;
        unsigned cpus_per_rank;
    } job;
    struct {
        unsigned queued, eligible, running; /* jobs of one user */
        unsigned array_size;                /* elements of an array */
        int has_arrays, counts_elements;    /* each element is a job to the limits above */
        double time_s;                      /* of a job; HUGE_VAL none */
        unsigned nodes_min, nodes_max;      /* of a job */
        double poll_s;                      /* least time between two questions to the scheduler */
    } limits;
    struct {
        const char *signal; /* "TERM", to the batch shell */
        double before_s;    /* so long before the end */
        enum atoll_site_continue go_on;
        double grace_s; /* between preemption's signal and its kill; 0 none */
    } end;
    struct {
        const char *scratch; /* shell word with variables: "${SLURM_TMPDIR:-/tmp}" */
        enum atoll_site_broadcast broadcast;
    } files;
    struct atoll_site_words modules, setup; /* names; shell lines */
    const char *python;    /* with torch: an absolute path on the nodes, or "none"; NULL: each node looks */
    const char *knowledge; /* a folder beside Atoll's own, read where campaigns are submitted; NULL none */
    const struct atoll_site_variable *environment;
    size_t environment_count;
    struct {
        const char *image; /* NULL: no container */
        const char *runtime, *program;
        struct atoll_site_words binds, extra;
        enum atoll_site_device device;
    } container;
    struct {
        const char *proxy, *no_proxy;
        enum atoll_site_place gateway;
    } network;
};

/* name_or_path: with a slash or the ending .yaml a file, else NAME.yaml in the folders of ATOLL_SITES (separated by
 * colons), ".", $XDG_CONFIG_HOME/atoll/sites, jobscripts/sites as installed with the program.  NULL: ATOLL_SITE of the environment, else generic-slurm.
 * Errors: INPUT "file:line: ..." with the nearest known word; NOTFOUND with all places that were looked at. */
struct atoll_site *atoll_site_load(const char *name_or_path, struct atoll_err *err);
/* That of ATOLL_SITE, for commands that run without one as well.  0: ret_site is it, NULL when none is named. */
int atoll_site_named(struct atoll_site **ret_site, struct atoll_err *err);
/* path: for messages, copied; as are the texts. */
struct atoll_site *atoll_site_parse(const char *path, const char *text, size_t length, struct atoll_err *err);
void atoll_site_destroy(struct atoll_site *site);

/* The file's own bytes, comments and all: what a campaign keeps; borrowed. */
const char *atoll_site_text(const struct atoll_site *site, size_t *ret_length);

/* Ranks that a job asks for on each node, rank 0's place included. */
unsigned atoll_site_ranks_per_node(unsigned evaluators_per_node);
/* Fills what the profile says about a job: partition ... constraint, GPUs, ranks, exclusive, no_kill, requeue, signal,
 * directives.  evaluators_per_node and gpus_per_node: 0 takes the profile's gpus.per_node, else 1 and none.  What the user
 * asked for stands already in the request and stays, where it is no NULL or 0; texts live in the arena or the profile.
 * Errors: INPUT for more nodes or time than the profile's limits allow, with the limit. */
int atoll_site_request(const struct atoll_site *site, unsigned evaluators_per_node, unsigned gpus_per_node,
                       struct atoll_arena *arena, struct atoll_job_request *request, struct atoll_err *err);

#endif

/* compile_job.h - translation units that wait for a compile child, and results that wait for their collector.
 * Layer: mpi-eval, backend/compile.  Lifetime: jobs create/destroy, queues init/fini; a queue owns what is in it. */
#ifndef ATOLL_MPI_EVAL_BACKEND_COMPILE_COMPILE_JOB_H
#define ATOLL_MPI_EVAL_BACKEND_COMPILE_COMPILE_JOB_H

#include "mpi-eval/evaluator/compiler.h"

#define ATOLL_COMPILE_NAME_BYTES 64
#define ATOLL_COMPILE_TEXT_LIMIT ((size_t)16 << 20) /* bytes of a translation unit */

struct atoll_compile_job {
    struct atoll_compile_job *next;
    char file_name[ATOLL_COMPILE_NAME_BYTES];
    char *text;
    size_t length;
    char **defines; /* "-DNAME=VALUE" */
    size_t define_count;
    size_t header;                /* of the parsed ones, that it takes first; 0: none */
    int is_header;                /* it is this header itself, to be parsed */
    char header_path[64];         /* as the compiler is told */
    double since_ns;              /* when it was made */
    double waits_until_ns;        /* for another process that compiles the same; 0: it does not */
    struct atoll_compiled result; /* .job from the start */
};

/* All is copied.  suffix: what file_name must end with (".c").  ATOLL_E_INTERNAL for a name that is more than letters,
 * digits, . _ - or starts with a dot or dash; ATOLL_E_LIMIT for a text that is too long; ATOLL_E_MEMORY. */
struct atoll_compile_job *atoll_compile_job_create(uint64_t number, const char *file_name, const char *suffix,
                                                   const char *text, size_t length,
                                                   const char *const *defines, size_t define_count,
                                                   struct atoll_err *err);
void atoll_compile_job_destroy(struct atoll_compile_job *job); /* NULL is fine */
#define ATOLL_COMPILE_OWN_NS 180e9                             /* that another unit may take, at least */
/* Nanoseconds of a processor that a job may have: of a candidate's unit, which is hostile, those of the settings.  Every other one is of ours or of
 * the task (probes, support, calibration, references), trusted and needed in any case: one that did not end on a busy machine would
 * end all. */
double atoll_compile_job_deadline_ns(const struct atoll_compile_job *job, double deadline_ns);
/* Fills the result; diagnostics and report: copied.  Its processor time is wall_ns until who knows it writes it there. */
void atoll_compile_job_finish(struct atoll_compile_job *job, enum atoll_compile_status status,
                              const char *diagnostics, const char *report, double wall_ns);

struct atoll_compile_queue {
    struct atoll_compile_job *first, *last;
};
void atoll_compile_queue_put(struct atoll_compile_queue *queue, struct atoll_compile_job *job);
struct atoll_compile_job *atoll_compile_queue_take(struct atoll_compile_queue *queue); /* NULL: empty */
/* Moves the result of the first job to the caller and ends the job.  1, or 0: empty. */
int atoll_compile_queue_collect(struct atoll_compile_queue *queue, struct atoll_compiled *ret_compiled);
void atoll_compile_queue_fini(struct atoll_compile_queue *queue);

/* What the end of a compile child and its words mean: OK, the candidate's error, a limit; BROKEN only for a child that was
 * killed, never for words.  Pure.
 * output: NUL-terminated words of cc, as, ld, cicc, ptxas ...  file_name: of the source; lines that start with it are the
 * candidate's, whatever they say.  wait_status: of wait(2). */
enum atoll_compile_status atoll_compile_judge(const char *output, const char *file_name, int wait_status);

/* 1: the words say that this machine is at fault (no space, no compiler).  Whether it is, a program that is known to
 * compile shows.  Pure. */
int atoll_compile_blames_machine(const char *output);

#endif

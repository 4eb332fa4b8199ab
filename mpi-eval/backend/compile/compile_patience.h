/* compile_patience.h - how long a compiler is waited for: a deadline of its processor time, so that a busy machine costs no candidate
 * its verdict, and a multiple of it in running time for one that hangs.  Layer: mpi-eval, backend/compile. */
#ifndef ATOLL_MPI_EVAL_BACKEND_COMPILE_COMPILE_PATIENCE_H
#define ATOLL_MPI_EVAL_BACKEND_COMPILE_COMPILE_PATIENCE_H

#include <stddef.h>
#include <sys/types.h>

/* Compilers run at niceness 10: beside three busy threads on two processors they get a fifteenth of one. */
#define ATOLL_COMPILE_PATIENCE 5 /* running time is at most so many deadlines */

/* Of one job; all zero at its start.  Times are nanoseconds; running time is wall time without pauses. */
struct atoll_compile_patience {
    double look_ns;      /* running time at which to look again; 0: at the deadline */
    double processor_ns; /* what it had when it was last looked at */
};

/* Running time until the job is late, >= 0.  Pure. */
double atoll_compile_patience_left_ns(const struct atoll_compile_patience *patience, double running_ns,
                                      double deadline_ns);

/* 1: it is time to look at the job.  Pure. */
int atoll_compile_patience_is_late(const struct atoll_compile_patience *patience, double running_ns,
                                   double deadline_ns);
/* A job that is late: 1: it is to be ended; 0: it goes on.  processor_ns: what it has had; below 0: not to be read, and then
 * running time alone counts.  Pure. */
int atoll_compile_patience_ends(struct atoll_compile_patience *patience, double running_ns,
                                double deadline_ns, double processor_ns);

/* "the compiler was not done after 20 s of processor time", or how little it had in all its running time. */
void atoll_compile_patience_tell(const struct atoll_compile_patience *patience, double deadline_ns,
                                 char *ret_text, size_t bytes);

/* Processor time of all living processes of a group and of the children that they have waited for, in steps of a clock tick (10 ms);
 * -1 when /proc does not tell.  Reads the status of every process of the machine. */
double atoll_compile_group_processor_ns(pid_t group);
/* Of one process with its threads; -1 when there is none. */
double atoll_compile_process_processor_ns(pid_t pid);

/* Of the thread that calls. */
double atoll_compile_thread_processor_ns(void);

#endif

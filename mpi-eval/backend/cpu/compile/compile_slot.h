/* compile_slot.h - the place of one compile child: a private folder, a Landlock ruleset that makes this folder the only
 * one to write to, and at most one process group at work on one job.
 * Layer: mpi-eval, backend/cpu.  Lifetime: init/fini. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_COMPILE_SLOT_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_COMPILE_SLOT_H

#include "mpi-eval/backend/cpu/compile/compile_job.h"
#include "mpi-eval/backend/cpu/process/spawn.h"

struct atoll_compile_slot {
    char *folder;
    int folder_fd, ruleset, pipe;
    pid_t pid;
    struct atoll_compile_job *job; /* that runs, owned; NULL: free */
    char *output;                  /* of the group, NUL-terminated by reap */
    size_t output_length;
    double ran_ns, since_ns; /* running time up to the last pause; start of the present stretch */
    int timed_out;
};

/* Makes the folder base/index.  paths: what the child may read. */
int atoll_compile_slot_init(struct atoll_compile_slot *slot, const char *base, unsigned index,
                            const struct atoll_landlock_path *paths, size_t path_count,
                            struct atoll_err *err);
void atoll_compile_slot_fini(struct atoll_compile_slot *slot); /* kills what runs */
/* Writes the job's source and starts the program of `spawn` on it (folder, ruleset and descriptors are the slot's). */
int atoll_compile_slot_start(struct atoll_compile_slot *slot, struct atoll_spawn *spawn,
                             struct atoll_err *err);
void atoll_compile_slot_kill(struct atoll_compile_slot *slot); /* the group; reap comes after */
/* Reads what the group wrote; never blocks. */
void atoll_compile_slot_drain(struct atoll_compile_slot *slot);
/* 1: the leader has ended and nothing of its group is left; its status is in ret_wait_status. */
int atoll_compile_slot_reap(struct atoll_compile_slot *slot, int *ret_wait_status);
/* The object that was left, into the job's result; -1: none of 1 to `limit` bytes. */
int atoll_compile_slot_read_object(struct atoll_compile_slot *slot, const char *name, uint64_t limit);
/* Takes the job out and empties the folder. */
struct atoll_compile_job *atoll_compile_slot_release(struct atoll_compile_slot *slot);

#endif

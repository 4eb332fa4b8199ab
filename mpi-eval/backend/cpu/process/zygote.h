/* zygote.h - the worker's state after loading, and the loop that serves runs.
 * Layer: mpi-eval, backend/cpu (inside atoll-worker).  No candidate code runs in the zygote. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_ZYGOTE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_ZYGOTE_H

#include "mpi-eval/backend/cpu/process/control.h"
#include "mpi-eval/backend/cpu/process/flush.h"
#include "mpi-eval/backend/sandbox/sandbox.h"

#define ATOLL_ZYGOTE_RANGE_LIMIT 32

struct atoll_zygote_range {
    char *begin;
    size_t bytes;
    int is_object; /* 0: of what it calls */
};

struct atoll_zygote {
    struct atoll_control_page *page;
    void *symbols[ATOLL_CONTROL_SYMBOL_LIMIT];
    struct atoll_control_setup setup;
    struct atoll_filter own_filter, sample_filter;
    struct atoll_zygote_range ranges[ATOLL_ZYGOTE_RANGE_LIMIT]; /* pages of the object and of what it calls */
    size_t range_count;
    unsigned calls; /* enum atoll_object_call */
    enum atoll_flush flush;
    int has_tiles; /* candidates may use those of AMX */
    pid_t pid;
};

/* Receives SETUP, drops what it may, loads the object and resolves its symbols.  0, or -1 with the reason in
 * err: then the caller sends REFUSED. */
int atoll_zygote_load(struct atoll_zygote *zygote, struct atoll_err *err);
/* Forks a child for one run after the other until the referee hangs up.  Returns the exit status. */
int atoll_zygote_serve(const struct atoll_zygote *zygote);

#endif

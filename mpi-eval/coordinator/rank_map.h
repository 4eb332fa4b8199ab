/* rank_map.h - which rank has which device, cores and compile children: a table for the log and a file for programs.
 * Layer: mpi-eval.  Pure. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_RANK_MAP_H
#define ATOLL_MPI_EVAL_COORDINATOR_RANK_MAP_H

#include "core/place.h"

#define ATOLL_RANK_MAP_FILE    "ranks.json" /* in an attempt's folder */
#define ATOLL_RANK_MAP_VERSION 1

struct atoll_rank_map_row {
    int rank;           /* of MPI; -1: a process of rank 0's machine */
    unsigned evaluator; /* as the log numbers them */
    const char *state; /* "ready", "starting", "surplus", "silent", "failed", "lost"; borrowed, as all here */
    const char *model, *uuid;
    const struct atoll_place *place;
};

/* One line of the table, without its end. */
void atoll_rank_map_line(const struct atoll_rank_map_row *row, struct atoll_buffer *out);
/* "5 of 6 evaluators work, on 2 nodes; 1 is surplus". */
void atoll_rank_map_summary(const struct atoll_rank_map_row *rows, unsigned count, struct atoll_buffer *out);
/* The file: one JSON object (docs/spec/ranks.md).  unix_ns: now. */
void atoll_rank_map_json(const struct atoll_rank_map_row *rows, unsigned count, int64_t unix_ns,
                         struct atoll_buffer *out);

#endif

/* rank_map.h - which rank has which device, cores and compile children: logged once as a table, and kept as ranks.json in
 * the attempt's folder for programs (docs/spec/ranks.md).  Layer: mpi-eval. */
#ifndef ATOLL_MPI_EVAL_COORDINATOR_RANK_MAP_H
#define ATOLL_MPI_EVAL_COORDINATOR_RANK_MAP_H

#include "mpi-eval/coordinator/peer_table.h"

#define ATOLL_RANK_MAP_FILE    "ranks.json" /* in an attempt's folder */
#define ATOLL_RANK_MAP_VERSION 1

struct atoll_rank_map_row {
    int rank;           /* of MPI; -1: a process of rank 0's machine */
    unsigned evaluator; /* as the log numbers them */
    const char *state;  /* atoll_peer_state_name; borrowed, as all here */
    const char *model, *uuid;
    const struct atoll_evaluator_location *place;
};

/* What was logged and written of it; all zero at first. */
struct atoll_rank_map {
    double first_ns, looked_ns; /* first: somebody sent its place; 0 nobody did */
    int is_logged;
    uint32_t digest; /* of the file as it was written last */
};

/* Logs the map once, when all have sent their place or 10 s after the first, and writes the file whenever the map has changed;
 * looks at most twice a second unless is_last. */
void atoll_rank_map_update(struct atoll_rank_map *map, const struct atoll_peer_table *peers,
                           const char *attempt_dir, double now_ns, int is_last);

/* One line of the table, without its end. */
void atoll_rank_map_line(const struct atoll_rank_map_row *row, struct atoll_buffer *out);
/* "5 of 6 evaluators work, on 2 nodes; 1 is surplus". */
void atoll_rank_map_summary(const struct atoll_rank_map_row *rows, unsigned count, struct atoll_buffer *out);
/* Each row, the summary, and a warning where evaluators are absent. */
void atoll_rank_map_log(const struct atoll_rank_map_row *rows, unsigned count);
/* The file: one JSON object (docs/spec/ranks.md).  unix_ns: now. */
void atoll_rank_map_json(const struct atoll_rank_map_row *rows, unsigned count, int64_t unix_ns,
                         struct atoll_buffer *out);

#endif

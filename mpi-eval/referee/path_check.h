/* path_check.h - a candidate at the shapes that its own plan needs beside the task's (core/plan/plan_cover.h): each stands in the
 * spare place of the case's task while it is looked at.
 * Layer: mpi-eval, referee.  The referee's thread. */
#ifndef ATOLL_MPI_EVAL_REFEREE_PATH_CHECK_H
#define ATOLL_MPI_EVAL_REFEREE_PATH_CHECK_H

#include "mpi-eval/referee/trial.h"

/* input_set: fresh, of the order's evaluation; another one with each call.  Not 0 ends it. */
typedef int atoll_path_check_visit(void *context, const struct atoll_input_set *input_set);

/* Shows `draws` input sets of each variant made of a kind; hidden ones have shapes that only this referee's secret tells.
 * Returns what visit returned, 0 at the end; -1 with err where there are none (a plan that was prepared has them). */
int atoll_path_check(struct atoll_referee *referee, struct atoll_case *known,
                     const struct atoll_prepared *prepared, enum atoll_variant_kind kind, uint64_t evaluation,
                     unsigned draws, atoll_path_check_visit *visit, void *context, struct atoll_err *err);
/* How many variants of a kind a plan has made for it. */
unsigned atoll_path_check_count(const struct atoll_prepared *prepared, enum atoll_variant_kind kind);
/* "; made for paths[1]: M=127, N=120" of the variant in the spare place, at the end of a text. */
void atoll_path_check_say(const struct atoll_case *known, char *text, size_t bytes);

#endif

/* confinement.h - what a Python process of ours gets of the file system, and the filter that it installs itself.
 * Layer: mpi-eval, torch.  Lifetime: places make/fini. */
#ifndef ATOLL_MPI_EVAL_TORCH_CONFINEMENT_H
#define ATOLL_MPI_EVAL_TORCH_CONFINEMENT_H

#include <jansson.h>

#include "mpi-eval/backend/sandbox/sandbox.h"

#define ATOLL_PYTHON_PLACE_LIMIT 256

struct atoll_python_places {
    struct atoll_landlock_path paths[ATOLL_PYTHON_PLACE_LIMIT]; /* texts owned */
    size_t count;
};

/* p is zeroed.  interpreter: as atoll_torch_examine answers; script: in whose folder Python's part of Atoll lies; folder: the one
 * to write to, NULL none.  has_gpu: a driver's nodes; starts_programs: what compilers need. */
void atoll_python_places_make(struct atoll_python_places *p, const json_t *interpreter, const char *script,
                              const char *folder, int has_gpu, int starts_programs);
void atoll_python_places_fini(struct atoll_python_places *p);

/* A seccomp filter as a memory file, which Python installs once everything that it needs is imported; the caller's. */
int atoll_python_filter_file(enum atoll_filter_kind kind, struct atoll_err *err);

#endif

/* torch_window.h - large results of a torch process on its GPU, shown stretch by stretch: a piece of device memory that the
 * referee's device process may open for a moment (python/window.py).
 * Layer: mpi-eval, torch.  Plain values; what is behind a handle changes with the next show, and is wiped by close. */
#ifndef ATOLL_MPI_EVAL_TORCH_TORCH_WINDOW_H
#define ATOLL_MPI_EVAL_TORCH_TORCH_WINDOW_H

#include <stdint.h>

#include <jansson.h>

#include "core/task/task.h"

#define ATOLL_TORCH_HANDLE_BYTES 64                  /* CUipcMemHandle */
#define ATOLL_TORCH_WINDOW_BYTES ((uint64_t)1 << 30) /* shown at once, at most */
#define ATOLL_TORCH_WINDOW_LEAST                                                                             \
    ((uint64_t)16 << 20) /* of results: less than this is soon there by way of the host */

/* Results one after the other, by tensor: offset and bytes of each (0: none), and of all of them.  stretch: bytes that are shown at
 * once, but the last time filled up with anything. */
struct atoll_torch_window {
    uint64_t offsets[ATOLL_TASK_TENSOR_LIMIT], sizes[ATOLL_TASK_TENSOR_LIMIT], bytes, stretch;
    void *context;
    /* Asks for the stretch from begin on; with begin 0 the results are made.  Errors: those of
     * the process; MISSING: its device shows no memory. */
    int (*show)(void *context, uint64_t begin, unsigned char *ret_handle, struct atoll_err *err);
    /* It is wiped and its memory given back; a process that does not say so is ended.  0, or -1 when it had to be. */
    int (*close)(void *context);
};

/* Lays a task's results at a variant one after the other.  element_bytes: of each element; 0: as their dtypes have it. */
int atoll_torch_window_lay(const struct atoll_task *task, const struct atoll_variant *variant,
                           uint64_t element_bytes, struct atoll_torch_window *ret_window,
                           struct atoll_err *err);

/* Whether results are large enough for it; ATOLL_TORCH_WINDOW=none of the environment: never. */
int atoll_torch_window_is_wanted(const struct atoll_torch_window *window);
/* The handle that a reply has under a name: ATOLL_E_PROTOCOL where it is none. */
int atoll_torch_window_handle(const json_t *reply, const char *name, unsigned char *ret_handle,
                              struct atoll_err *err);

#endif

/* shared_memory.h - a memory file that this process and a torch process map: what goes to and fro beside the requests.
 * Layer: mpi-eval, torch.  Lifetime: init (all zero but fd -1)/fini. */
#ifndef ATOLL_MPI_EVAL_TORCH_SHARED_MEMORY_H
#define ATOLL_MPI_EVAL_TORCH_SHARED_MEMORY_H

#include <stddef.h>

#include "base/err.h"

#define ATOLL_SHARED_ALIGN ((size_t)256) /* of each thing in it */

struct atoll_shared_memory {
    int fd;
    unsigned char *base;
    size_t bytes;
};

void atoll_shared_memory_init(struct atoll_shared_memory *memory);
void atoll_shared_memory_fini(struct atoll_shared_memory *memory);
/* At least so many bytes; what lay there is gone when it grows. */
int atoll_shared_memory_reserve(struct atoll_shared_memory *memory, size_t bytes, struct atoll_err *err);
/* Room for one thing behind what *at says is taken already: where it lies. */
size_t atoll_shared_memory_take(size_t *at, size_t bytes);

#endif

#include "mpi-eval/torch/shared_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

void atoll_shared_memory_init(struct atoll_shared_memory *memory)
{
    *memory = (struct atoll_shared_memory){.fd = -1};
}

void atoll_shared_memory_fini(struct atoll_shared_memory *memory)
{
    if (memory->base)
        munmap(memory->base, memory->bytes);
    if (memory->fd >= 0)
        close(memory->fd);
    atoll_shared_memory_init(memory);
}

int atoll_shared_memory_reserve(struct atoll_shared_memory *memory, size_t bytes, struct atoll_err *err)
{
    if (bytes <= memory->bytes)
        return 0;
    atoll_shared_memory_fini(memory);
    memory->fd = memfd_create("torch", MFD_CLOEXEC);
    void *base = MAP_FAILED;
    if (memory->fd >= 0 && ftruncate(memory->fd, (off_t)bytes) == 0)
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
    if (base == MAP_FAILED) {
        atoll_err_errno(err, errno, "no memory of %zu bytes to share with PyTorch", bytes);
        atoll_shared_memory_fini(memory);
        return -1;
    }
    memory->base = base;
    memory->bytes = bytes;
    return 0;
}

size_t atoll_shared_memory_take(size_t *at, size_t bytes)
{
    size_t here = *at;
    *at += (bytes + ATOLL_SHARED_ALIGN - 1) / ATOLL_SHARED_ALIGN * ATOLL_SHARED_ALIGN;
    return here;
}

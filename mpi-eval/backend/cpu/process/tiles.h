/* tiles.h - the tile registers of AMX, for which a process has to ask the kernel (Linux, Documentation/arch/x86/xstate.rst).
 * Layer: mpi-eval, backend/cpu (inside atoll-worker).  Pure but for the system call. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_TILES_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_TILES_H

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>

#define ATOLL_TILES_REQUEST 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define ATOLL_TILES_FEATURE 18     /* XFEATURE_XTILEDATA */

/* Asks for this process and its children; whether they have it now.  Before a filter of system calls stands. */
static inline int atoll_tiles_permit(void)
{
    return syscall(SYS_arch_prctl, ATOLL_TILES_REQUEST, ATOLL_TILES_FEATURE) == 0;
}

struct atoll_tiles_config {
    _Alignas(64) unsigned char palette;
    unsigned char start_row, reserved[14];
    unsigned short row_bytes[16];
    unsigned char rows[16];
};

/* A thread's first use traps into the kernel, which then makes room for its tiles: not in a candidate's time.  They are released
 * again, so that a candidate finds them as a new thread has them.  gcc's _tile_loadconfig names 8 of the 64 bytes it reads. */
static inline void atoll_tiles_touch(void)
{
    static const struct atoll_tiles_config config = {.palette = 1, .row_bytes = {64}, .rows = {16}};
    __asm__ volatile("ldtilecfg %0\n\ttilezero %%tmm0\n\ttilerelease" : : "m"(config));
}
#else
static inline int atoll_tiles_permit(void)
{
    return 0;
}

static inline void atoll_tiles_touch(void)
{
}
#endif

#endif

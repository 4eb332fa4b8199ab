/* tiles.h - the tile registers of AMX, for which a process has to ask the kernel (Linux, Documentation/arch/x86/xstate.rst).
 * Layer: mpi-eval, backend/cpu.  Header-only; pure but for the system calls. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_TILES_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_TILES_H

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATOLL_TILES_SUPPORTED 0x1021 /* ARCH_GET_XCOMP_SUPP */
#define ATOLL_TILES_REQUEST   0x1023 /* ARCH_REQ_XCOMP_PERM */
#define ATOLL_TILES_FEATURE   18     /* XFEATURE_XTILEDATA */

#define ATOLL_TILES_EDX (1u << 22 | 1u << 24 | 1u << 25) /* amx_bf16, amx_tile, amx_int8 */

/* Whether the processor has tiles, products of bf16 and of 8-bit integers in them, and a kernel that gives them to those who
 * ask. */
static inline int atoll_tiles_known(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    unsigned long given = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & ATOLL_TILES_EDX) == ATOLL_TILES_EDX &&
           syscall(SYS_arch_prctl, ATOLL_TILES_SUPPORTED, &given) == 0 && (given >> ATOLL_TILES_FEATURE & 1);
}

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
static inline int atoll_tiles_known(void)
{
    return 0;
}

static inline int atoll_tiles_permit(void)
{
    return 0;
}

static inline void atoll_tiles_touch(void)
{
}
#endif

#endif

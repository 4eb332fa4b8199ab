/* flush.h - lines of memory put out of every cache, clean, by instruction: buffers by the referee, an object's own pages by
 * a sample's child.
 * Layer: mpi-eval, backend/cpu.  Header-only.  Only x86 has it. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_FLUSH_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_PROCESS_FLUSH_H

#include <stddef.h>

#define ATOLL_FLUSH_LINE_BYTES ((size_t)64)

enum atoll_flush { ATOLL_FLUSH_NONE, ATOLL_FLUSH_CLFLUSH, ATOLL_FLUSH_CLFLUSHOPT };

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

/* What this processor has; asked once, for a virtual machine answers slowly. */
static inline enum atoll_flush atoll_flush_known(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 23 & 1) ? ATOLL_FLUSH_CLFLUSHOPT
                                                                    : ATOLL_FLUSH_CLFLUSH;
}

__attribute__((target("clflushopt"))) static inline void atoll_flush_lines_opt(const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += ATOLL_FLUSH_LINE_BYTES)
        _mm_clflushopt((void *)(unsigned long)(p + i));
}

/* p: at a line.  NONE does nothing. */
static inline void atoll_flush_lines(enum atoll_flush how, const void *p, size_t bytes)
{
    _mm_mfence();
    if (how == ATOLL_FLUSH_CLFLUSHOPT)
        atoll_flush_lines_opt(p, bytes);
    for (size_t i = 0; how == ATOLL_FLUSH_CLFLUSH && i < bytes; i += ATOLL_FLUSH_LINE_BYTES)
        _mm_clflush((const char *)p + i);
    _mm_mfence();
}

#else

static inline enum atoll_flush atoll_flush_known(void)
{
    return ATOLL_FLUSH_NONE;
}

static inline void atoll_flush_lines(enum atoll_flush how, const void *p, size_t bytes)
{
    (void)how, (void)p, (void)bytes;
}

#endif

#endif

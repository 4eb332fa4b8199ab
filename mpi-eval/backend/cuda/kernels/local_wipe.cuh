/* The timer, and local memory overwritten: stands before the units that ask for one of them. */

ATOLL_INLINE atoll_u64 nanoseconds()
{
    atoll_u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

/* Local memory of every thread that the device can hold: all of them stay for a while, so that each place of every
 * multiprocessor has had one.  A frame larger than the candidate's covers it, whichever way the driver lays threads out: as far apart as
 * the largest frame so far asks, or as each kernel's own does; then the wipe's part of a multiprocessor begins where the candidate's
 * does and is longer.  The store keeps the frame alive; it happens once in 2^32 keys. */
template <int WORDS> static __device__ void local_wipe(const atoll_area_launch &p)
{
    volatile unsigned frame[WORDS];
    atoll_u64 begin = nanoseconds();
    unsigned key = (unsigned)p.key + (unsigned)thread_index() * 0x9e3779b1u;
#pragma unroll 1 /* at most 32 registers: then no thread of a multiprocessor is left out */
    for (unsigned i = 0; i < WORDS; i++)
        frame[i] = key + i;
    while (nanoseconds() - begin < 20000)
        ;
    if (frame[key % WORDS] == 0x5bd1e995u)
        *(unsigned *)p.result = key;
}

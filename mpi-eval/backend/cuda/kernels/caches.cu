/* The cache flush, wipes, the clock probe, the gate. */

/* One block per multiprocessor: its dynamic shared memory is all that a block can have. */
ATOLL_KERNEL __launch_bounds__(1024) atoll_flush_write_kernel(atoll_area_launch p)
{
    extern __shared__ unsigned garbage[];
    unsigned shared_words;
    asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_words));
    shared_words /= 4;
    for (unsigned i = threadIdx.x; i < shared_words; i += blockDim.x)
        ((volatile unsigned *)garbage)[i] = (unsigned)p.key + (i + blockIdx.x) * 0x9e3779b1u;
    ulonglong2 *to = (ulonglong2 *)p.address;
    for (atoll_u64 i = thread_index(); i < p.bytes / 16; i += thread_count())
        to[i] = make_ulonglong2(p.key + i, p.key ^ i);
}

/* The store keeps the loads alive; it happens once in 2^64 keys. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_flush_read_kernel(atoll_area_launch p)
{
    const ulonglong2 *from = (const ulonglong2 *)p.address;
    atoll_u64 sum = p.key;
#pragma unroll 4
    for (atoll_u64 i = thread_index(); i < p.bytes / 16; i += thread_count()) {
        ulonglong2 v = from[i];
        sum += v.x ^ v.y;
    }
    if (sum == 0x5bd1e9955bd1e995ull)
        *(atoll_u64 *)p.result = sum;
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_local_1k_kernel(atoll_area_launch p)
{
    local_wipe<256>(p);
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_local_2k_kernel(atoll_area_launch p)
{
    local_wipe<512>(p);
}

/* From one tick of the timer to another one at least 20 us later. */
ATOLL_KERNEL atoll_clock_kernel(atoll_area_launch p)
{
    atoll_u64 t0 = nanoseconds(), t1;
    do
        t1 = nanoseconds();
    while (t1 == t0);
    long long c1 = clock64();
    atoll_u64 t2;
    do
        t2 = nanoseconds();
    while (t2 - t1 < 20000);
    ((atoll_u64 *)p.result)[0] = (atoll_u64)(clock64() - c1);
    ((atoll_u64 *)p.result)[1] = t2 - t1;
}

/* One thread waits for the host; it gives up by itself, since the host may have to wait for the device. */
ATOLL_KERNEL atoll_gate_kernel(atoll_gate_launch p)
{
    volatile unsigned *word = (volatile unsigned *)p.word;
    atoll_u64 begin = nanoseconds();
    while (*word == 0 && nanoseconds() - begin < p.limit_ns)
        ;
}

/* What the device can do at most: nothing, copies, reads, chains of fused products. */

ATOLL_KERNEL atoll_empty_kernel()
{
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_copy_kernel(atoll_area_launch p)
{
    const ulonglong2 *from = (const ulonglong2 *)p.from;
    ulonglong2 *to = (ulonglong2 *)p.address;
    atoll_u64 command = thread_count(), count = p.bytes / 16, i = thread_index();
    for (; i + 3 * command < count; i += 4 * command) {
        ulonglong2 a = from[i], b = from[i + command], c = from[i + 2 * command], d = from[i + 3 * command];
        to[i] = a;
        to[i + command] = b;
        to[i + 2 * command] = c;
        to[i + 3 * command] = d;
    }
    for (; i < count; i += command)
        to[i] = from[i];
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_read_kernel(atoll_area_launch p)
{
    const ulonglong2 *from = (const ulonglong2 *)p.from;
    atoll_u64 command = thread_count(), count = p.bytes / 16, i = thread_index(), sum = p.key;
    for (; i + 3 * command < count; i += 4 * command) {
        ulonglong2 a = from[i], b = from[i + command], c = from[i + 2 * command], d = from[i + 3 * command];
        sum += (a.x ^ a.y) + (b.x ^ b.y) + (c.x ^ c.y) + (d.x ^ d.y);
    }
    for (; i < count; i += command)
        sum += from[i].x ^ from[i].y;
    if (sum == 0x5bd1e9955bd1e995ull)
        *(atoll_u64 *)p.result = sum;
}

/* Eight chains per thread hide the latency; the store, of the sum that cannot be, keeps them alive. */
#define CHAINS 8

#define FMA_KERNEL(name, type, start, command, is_strange)                                                   \
    ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) name(atoll_probe_launch p)                                   \
    {                                                                                                        \
        type x[CHAINS], y = start;                                                                           \
        for (int k = 0; k < CHAINS; k++)                                                                     \
            x[k] = (type)(start + (type)(threadIdx.x + k));                                                  \
        for (unsigned round = 0; round < (unsigned)p.rounds; round++) {                                      \
            _Pragma("unroll") for (int again = 0; again < 8; again++)                                        \
                _Pragma("unroll") for (int k = 0; k < CHAINS; k++) command;                                  \
        }                                                                                                    \
        for (int k = 1; k < CHAINS; k++)                                                                     \
            x[0] = (type)(x[0] + x[k]);                                                                      \
        if (is_strange)                                                                                      \
            *(atoll_u64 *)p.result = 2;                                                                      \
        else if (thread_index() == 0)                                                                        \
            *(atoll_u64 *)p.result = 1;                                                                      \
    }

FMA_KERNEL(atoll_fma_f64_kernel, double, 0.5, x[k] = __fma_rn(x[k], y, y), x[0] == -1.0)
FMA_KERNEL(atoll_fma_f32_kernel, float, 0.5f, x[k] = __fmaf_rn(x[k], y, y), x[0] == -1.0f)

/* Packed halves: 0x3800 is 0.5 in f16, 0x3f00 in bf16. */
FMA_KERNEL(atoll_fma_f16_kernel, unsigned, 0x38003800u,
           asm volatile("fma.rn.f16x2 %0, %0, %1, %1;"
                        : "+r"(x[k])
                        : "r"(y)),
           x[0] == 0xdeadbeefu)
#if __CUDA_ARCH__ >= 800
FMA_KERNEL(atoll_fma_bf16_kernel, unsigned, 0x3f003f00u,
           asm volatile("fma.rn.bf16x2 %0, %0, %1, %1;"
                        : "+r"(x[k])
                        : "r"(y)),
           x[0] == 0xdeadbeefu)
#else
ATOLL_KERNEL atoll_fma_bf16_kernel(atoll_probe_launch p)
{
}
#endif

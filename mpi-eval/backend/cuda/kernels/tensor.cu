/* Peaks of the tensor units, on zeros.  A block of 8 warps does in each round what two warp groups of compute
 * capability 9.0a do with one wgmma each of the largest tile: 2 * 64 * 256 * k products (f64: 8 * 8 * 2048).  Where the units lack a type,
 * its kernel leaves the result as it was. */
#define TENSOR_KERNEL(type) ATOLL_KERNEL __launch_bounds__(256) atoll_tensor_##type##_kernel(atoll_probe_launch p)

#define MISSING_KERNEL(type)                                                                                 \
    TENSOR_KERNEL(type)                                                                                      \
    {                                                                                                        \
    }

ATOLL_INLINE void tensor_done(const atoll_probe_launch &p, bool is_strange)
{
    if (is_strange)
        *(atoll_u64 *)p.result = 2;
    else if (thread_index() == 0)
        *(atoll_u64 *)p.result = 1;
}

/* mma.sync: a warp makes 8 tiles of 16 x 8 at once, `turns` times per round. */
#define WARP_KERNEL(type, accumulator, number, letter, shape, turns)                                         \
    TENSOR_KERNEL(type)                                                                                      \
    {                                                                                                        \
        accumulator c[8][4] = {};                                                                            \
        unsigned a = p.rounds > 0xffffffffull, b = a;                                                        \
        for (unsigned round = 0; round < (unsigned)p.rounds; round++) {                                      \
            _Pragma("unroll 1") for (int turn = 0; turn < (turns); turn++)                                   \
                _Pragma("unroll") for (int k = 0; k < 8; k++)                                                \
                    asm volatile("mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, "  \
                                 "{%0, %1, %2, %3};"                                                          \
                                 : "+" letter(c[k][0]), "+" letter(c[k][1]), "+" letter(c[k][2]),             \
                                   "+" letter(c[k][3])                                                        \
                                 : "r"(a), "r"(b));                                                           \
        }                                                                                                    \
        number sum = 0;                                                                                      \
        for (int k = 0; k < 8; k++)                                                                          \
            sum += c[k][0] + c[k][1] + c[k][2] + c[k][3];                                                    \
        tensor_done(p, sum != 0);                                                                            \
    }

/* Double precision: 8 warps make 8 * 2048 products each per round, as eight turns of m8n8k4 ... */
#define WARP_F64_KERNEL                                                                                      \
    TENSOR_KERNEL(f64)                                                                                       \
    {                                                                                                        \
        double c[8][2] = {}, a = p.rounds > 0xffffffffull;                                                   \
        for (unsigned round = 0; round < (unsigned)p.rounds; round++) {                                      \
            _Pragma("unroll 1") for (int turn = 0; turn < 8; turn++)                                        \
                _Pragma("unroll") for (int k = 0; k < 8; k++)                                                \
                    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%2}, "    \
                                 "{%0, %1};"                                                                 \
                                 : "+d"(c[k][0]), "+d"(c[k][1])                                              \
                                 : "d"(a));                                                                  \
        }                                                                                                    \
        double sum = 0;                                                                                      \
        for (int k = 0; k < 8; k++)                                                                          \
            sum += c[k][0] + c[k][1];                                                                        \
        tensor_done(p, sum != 0);                                                                            \
    }

/* ... or as one of m16n8k16, which compute capability 9.0 has. */
#define WIDE_F64_KERNEL                                                                                      \
    TENSOR_KERNEL(f64)                                                                                       \
    {                                                                                                        \
        double c[8][4] = {}, a = p.rounds > 0xffffffffull;                                                   \
        for (unsigned round = 0; round < (unsigned)p.rounds; round++) {                                      \
            _Pragma("unroll") for (int k = 0; k < 8; k++)                                                    \
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "          \
                             "{%4, %4, %4, %4, %4, %4, %4, %4}, {%4, %4, %4, %4}, {%0, %1, %2, %3};"         \
                             : "+d"(c[k][0]), "+d"(c[k][1]), "+d"(c[k][2]), "+d"(c[k][3])                    \
                             : "d"(a));                                                                      \
        }                                                                                                    \
        double sum = 0;                                                                                      \
        for (int k = 0; k < 8; k++)                                                                          \
            sum += c[k][0] + c[k][1] + c[k][2] + c[k][3];                                                    \
        tensor_done(p, sum != 0);                                                                            \
    }

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* d0 .. d127: the accumulators of a thread, declared within the assembly. */
#define TEN(t) "d" t "0,d" t "1,d" t "2,d" t "3,d" t "4,d" t "5,d" t "6,d" t "7,d" t "8,d" t "9,"
#define ACCUMULATORS                                                                                         \
    "{" TEN("") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") TEN("6") TEN("7") TEN("8") TEN("9") TEN("10")    \
        TEN("11") "d120,d121,d122,d123,d124,d125,d126,d127}"

/* Matrix descriptor without swizzle: address / 16, strides of 128 and 256 bytes between core matrices (PTX ISA,
 * "matrix descriptor"). */
ATOLL_INLINE atoll_u64 tile_descriptor(const void *shared)
{
    atoll_u64 address = (atoll_u64)__cvta_generic_to_shared(shared);
    return (address & 0x3ffff) >> 4 | (atoll_u64)(128 >> 4) << 16 | (atoll_u64)(256 >> 4) << 32;
}

/* One product before the loop overwrites the accumulators; the loop makes four at a time. */
#define GROUP_KERNEL(type, bits, sum_text, instruction, flags)                                               \
    TENSOR_KERNEL(type)                                                                                      \
    {                                                                                                        \
        __shared__ __align__(128) unsigned tiles[(2048 + 8192) / 4];                                         \
        for (unsigned i = threadIdx.x; i < (2048 + 8192) / 4; i += blockDim.x)                               \
            tiles[i] = p.rounds > 0xffffffffull;                                                             \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                         \
        __syncthreads();                                                                                     \
        atoll_u64 a = tile_descriptor(tiles), b = tile_descriptor(tiles + 512);                              \
        unsigned sum;                                                                                        \
        asm volatile("{\n.reg " bits " d<128>;\n.reg .b32 n;\n.reg .pred more, add;\n"                       \
                     "mov.u32 n, 0;\n"                                                                       \
                     "setp.ne.u32 add, n, 0;\n"                                                              \
                     "wgmma.fence.sync.aligned;\n"                                                           \
                     PRODUCT(instruction, flags)                                                             \
                     "wgmma.commit_group.sync.aligned;\n"                                                    \
                     "wgmma.wait_group.sync.aligned 0;\n"                                                    \
                     "REPEAT:\n"                                                                             \
                     "add.u32 n, n, 4;\n"                                                                    \
                     "setp.ne.u32 add, n, 0;\n"                                                              \
                     "wgmma.fence.sync.aligned;\n"                                                           \
                     PRODUCT(instruction, flags) PRODUCT(instruction, flags)                                 \
                     PRODUCT(instruction, flags) PRODUCT(instruction, flags)                                 \
                     "wgmma.commit_group.sync.aligned;\n"                                                    \
                     "wgmma.wait_group.sync.aligned 0;\n"                                                    \
                     "setp.lt.u32 more, n, %3;\n"                                                            \
                     "@more bra REPEAT;\n"                                                                   \
                     sum_text                                                                                \
                     "}"                                                                                     \
                     : "=r"(sum)                                                                             \
                     : "l"(a), "l"(b), "r"((unsigned)p.rounds)                                               \
                     : "memory");                                                                            \
        tensor_done(p, sum != 0);                                                                            \
    }
#define PRODUCT(instruction, flags) instruction " " ACCUMULATORS ", %1, %2, add" flags ";\n"
#define FLOAT_SUM "add.f32 d0, d0, d127;\nmov.b32 %0, d0;\n"
#define INT_SUM   "add.s32 d0, d0, d127;\nmov.b32 %0, d0;\n"

GROUP_KERNEL(f16, ".f32", FLOAT_SUM, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", ", 1, 1, 0, 0")
GROUP_KERNEL(bf16, ".f32", FLOAT_SUM, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0")
GROUP_KERNEL(tf32, ".f32", FLOAT_SUM, "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32", ", 1, 1")
GROUP_KERNEL(f8e4m3, ".f32", FLOAT_SUM, "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3", ", 1, 1")
GROUP_KERNEL(f8e5m2, ".f32", FLOAT_SUM, "wgmma.mma_async.sync.aligned.m64n256k32.f32.e5m2.e5m2", ", 1, 1")
GROUP_KERNEL(i8, ".s32", INT_SUM, "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8", "")
WIDE_F64_KERNEL

#else

#if __CUDA_ARCH__ >= 800
WARP_KERNEL(f16, float, float, "f", "m16n8k16.row.col.f32.f16.f16.f32", 4)
WARP_KERNEL(bf16, float, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32", 4)
WARP_KERNEL(tf32, float, float, "f", "m16n8k8.row.col.f32.tf32.tf32.f32", 4)
WARP_KERNEL(i8, int, int, "r", "m16n8k32.row.col.s32.s8.s8.s32", 4)
#else
MISSING_KERNEL(f16)
MISSING_KERNEL(bf16)
MISSING_KERNEL(tf32)
MISSING_KERNEL(i8)
#endif
#if __CUDA_ARCH__ >= 890
WARP_KERNEL(f8e4m3, float, float, "f", "m16n8k32.row.col.f32.e4m3.e4m3.f32", 4)
WARP_KERNEL(f8e5m2, float, float, "f", "m16n8k32.row.col.f32.e5m2.e5m2.f32", 4)
#else
MISSING_KERNEL(f8e4m3)
MISSING_KERNEL(f8e5m2)
#endif
#if __CUDA_ARCH__ >= 900
WIDE_F64_KERNEL
#elif __CUDA_ARCH__ >= 800
WARP_F64_KERNEL
#else
MISSING_KERNEL(f64)
#endif

#endif

/* Sealed fingerprints (fingerprint.h): made of expected values, and outputs held against them in one pass.  A warp takes four
 * chunks of eight blocks one after the other, a thread of it one group of each block; then each thread has the sum of one of
 * the 32 blocks, and its pair. */
#define PRINT_TURNS (32 / ATOLL_PRINT_CHUNK)

struct print_weights {
    double group[ATOLL_PRINT_GROUP];
    atoll_u64 sign_key;
};

ATOLL_INLINE print_weights print_weights_of(const atoll_print_launch &p)
{
    print_weights w;
    unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned k = 0; k < ATOLL_PRINT_GROUP; k += 2) {
        atoll_pair word = atoll_print_word(p.key, p.salt, ATOLL_PRINT_WEIGHTS, (ATOLL_PRINT_GROUP * lane + k) / 2);
        w.group[k] = atoll_print_weight(word.x);
        w.group[k + 1] = atoll_print_weight(word.y);
    }
    w.sign_key = atoll_print_sign_key(p.key, p.salt);
    return w;
}

/* Eight sums over a warp by nine exchanges; the thread gets that of block chunk_block() of the chunk. */
ATOLL_INLINE double chunk_sum(double v[ATOLL_PRINT_CHUNK])
{
#pragma unroll
    for (unsigned half = ATOLL_PRINT_CHUNK / 2; half; half /= 2) {
        unsigned bit = ATOLL_PRINT_CHUNK / 2 / half;
        bool is_upper = threadIdx.x & bit;
#pragma unroll
        for (unsigned k = 0; k < half; k++) {
            double send = is_upper ? v[k] : v[k + half], keep = is_upper ? v[k + half] : v[k];
            v[k] = keep + __shfl_xor_sync(0xffffffffu, send, bit);
        }
    }
    double sum = v[0];
    sum += __shfl_xor_sync(0xffffffffu, sum, 8);
    return sum + __shfl_xor_sync(0xffffffffu, sum, 16);
}

ATOLL_INLINE unsigned chunk_block()
{
    return (threadIdx.x & 1) * 4 + (threadIdx.x & 2) + (threadIdx.x >> 2 & 1);
}

/* What one thread has seen. */
struct print_seen {
    unsigned off, nonfinite;
    atoll_u64 hash, output_hash;
    double expected2, bound2, error2;
};

ATOLL_INLINE void pair_hash(print_seen &s, const atoll_pair &stream, atoll_u64 value, atoll_u64 bound)
{
    s.hash += atoll_hash_term(stream.x, value) + atoll_hash_term(stream.y, bound);
}

ATOLL_INLINE void pair_put(print_seen &s, const atoll_print_launch &p, atoll_u64 index, double value, double bound)
{
    atoll_pair stream = atoll_print_word(p.key, p.salt, ATOLL_PRINT_PAIRS, index);
    atoll_u64 x = atoll_bits_of(value), y = atoll_bits_of(bound);
    pair_hash(s, stream, x, y);
    s.nonfinite += !is_finite(value) || !is_finite(bound);
    ((ulonglong2 *)p.print)[index] = make_ulonglong2(x ^ stream.x, y ^ stream.y);
}

/* NaN is off, on either side.  Returns by how much it is. */
ATOLL_INLINE double pair_match(print_seen &s, const atoll_print_launch &p, atoll_u64 index, double got)
{
    ulonglong2 sealed = ((const ulonglong2 *)p.print)[index];
    atoll_pair stream = atoll_print_word(p.key, p.salt, ATOLL_PRINT_PAIRS, index);
    atoll_u64 x = sealed.x ^ stream.x, y = sealed.y ^ stream.y;
    pair_hash(s, stream, x, y);
    double off = fabs(got - atoll_double_of(x));
    s.off += !(off <= p.bound_ratio * atoll_double_of(y));
    return off;
}

/* One thread of a block at a time; all of a warp must come here before. */
ATOLL_INLINE void print_end(const print_seen &s, const atoll_print_launch &p)
{
    atoll_print_area *area = (atoll_print_area *)p.result;
    atoll_u64 hash = block_sum(s.hash), off = block_sum((atoll_u64)s.off), output_hash = block_sum(s.output_hash);
    if (threadIdx.x == 0) {
        atomicAdd(&area->hash, hash);
        if (off)
            atomicAdd(&area->off_count, off);
        if (p.output_hash)
            atomicAdd((atoll_u64 *)p.output_hash, output_hash);
    }
    if (thread_index() == 0)
        atomicAdd(&area->pair_count, atoll_print_blocks(p.count) + atoll_print_samples(p.count));
}

/* ---- making ---- */

ATOLL_INLINE double print_bound(const atoll_print_launch &p, atoll_u64 i, double r)
{
    double scale = p.scale ? atoll_widen(scale_up(((const double *)p.scale)[i])) : 0;
    return p.atol + p.rtol * fmax(fabs(r), scale);
}

ATOLL_INLINE void chunk_expect(print_seen &s, const atoll_print_launch &p, const print_weights &w, atoll_u64 chunk,
                               double sums[ATOLL_PRINT_CHUNK], double bounds[ATOLL_PRINT_CHUNK])
{
    const double *expected = (const double *)p.expected;
    const unsigned lane = threadIdx.x % 32, signs = atoll_print_signs(w.sign_key, chunk, lane);
#pragma unroll
    for (unsigned j = 0; j < ATOLL_PRINT_CHUNK; j++) {
        atoll_u64 first = (chunk * ATOLL_PRINT_CHUNK + j) * ATOLL_PRINT_BLOCK + ATOLL_PRINT_GROUP * lane;
        double sum = 0, bound = 0;
#pragma unroll
        for (unsigned k = 0; k < ATOLL_PRINT_GROUP; k++)
            if (first + k < p.count) {
                double r = expected[first + k], product = w.group[k] * r, own = print_bound(p, first + k, r);
                sum += product;
                bound += fabs(w.group[k]) * own + ATOLL_PRINT_SLACK * fabs(product);
                s.expected2 += r * r;
                s.bound2 += own * own;
            }
        sums[j] = signs >> j & 1 ? -sum : sum;
        bounds[j] = bound;
    }
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK, 2) atoll_print_make_kernel(const __grid_constant__ atoll_print_launch p)
{
    const double *expected = (const double *)p.expected;
    const atoll_u64 blocks = atoll_print_blocks(p.count), samples = atoll_print_samples(p.count);
    const unsigned lane = threadIdx.x % 32;
    print_weights w = print_weights_of(p);
    print_seen s = {};
    for (atoll_u64 i = thread_index(); i < samples; i += thread_count()) {
        atoll_u64 at = atoll_print_place(p.key, p.salt, i, p.count);
        pair_put(s, p, blocks + i, expected[at], print_bound(p, at, expected[at]));
    }
    for (atoll_u64 first = thread_index() / 32 * 32; first < blocks; first += thread_count()) {
        double sum = 0, bound = 0;
#pragma unroll 1
        for (unsigned turn = 0; turn < PRINT_TURNS && first + turn * ATOLL_PRINT_CHUNK < blocks; turn++) {
            double sums[ATOLL_PRINT_CHUNK], bounds[ATOLL_PRINT_CHUNK];
            chunk_expect(s, p, w, first / ATOLL_PRINT_CHUNK + turn, sums, bounds);
            double chunk = chunk_sum(sums), chunk_bound = chunk_sum(bounds);
            sum = lane / ATOLL_PRINT_CHUNK == turn ? chunk : sum;
            bound = lane / ATOLL_PRINT_CHUNK == turn ? chunk_bound : bound;
        }
        atoll_u64 b = first + lane / ATOLL_PRINT_CHUNK * ATOLL_PRINT_CHUNK + chunk_block();
        if (b < blocks)
            pair_put(s, p, b, sum, bound);
    }
    atoll_print_area *area = (atoll_print_area *)p.result;
    atoll_u64 nonfinite = block_sum((atoll_u64)s.nonfinite);
    double expected2 = block_sum(s.expected2), bound2 = block_sum(s.bound2);
    if (threadIdx.x == 0) {
        atomicAdd(&area->nonfinite_count, nonfinite);
        atomicAdd(&area->expected2, expected2);
        atomicAdd(&area->bound2, bound2);
    }
    print_end(s, p);
}

/* ---- matching ---- */

/* The words of a group of four elements: two of f32, one of bf16 or f16; what is beyond the end is 0. */
template <int size> static __device__ __forceinline__ void group_get(const atoll_print_launch &p, atoll_u64 first, atoll_u64 *words)
{
    if (size == 32) {
        ulonglong2 v = ((const ulonglong2 *)p.address)[first / ATOLL_PRINT_GROUP];
        words[0] = v.x;
        words[size / 32] = v.y;
    } else {
        words[0] = ((const atoll_u64 *)p.address)[first / ATOLL_PRINT_GROUP];
    }
}

template <int size> static __device__ __forceinline__ void group_get_end(const atoll_print_launch &p, atoll_u64 first, atoll_u64 *words)
{
    words[0] = words[size / 32] = 0;
#pragma unroll
    for (unsigned k = 0; k < ATOLL_PRINT_GROUP; k++)
        if (first + k < p.count)
            words[k * size / 64] |= element_get(p.address, first + k, size / 8) << k * size % 64;
}

template <int size>
static __device__ __forceinline__ double chunk_look(print_seen &s, const atoll_print_launch &p, const print_weights &w, atoll_u64 chunk)
{
    const unsigned words = size / 16, lane = threadIdx.x % 32, signs = atoll_print_signs(w.sign_key, chunk, lane);
    const atoll_u64 first = chunk * ATOLL_PRINT_CHUNK * ATOLL_PRINT_BLOCK + ATOLL_PRINT_GROUP * lane;
    atoll_u64 got[ATOLL_PRINT_CHUNK][words];
    double sums[ATOLL_PRINT_CHUNK];
    if ((chunk + 1) * ATOLL_PRINT_CHUNK * ATOLL_PRINT_BLOCK <= p.count) {
#pragma unroll
        for (unsigned j = 0; j < ATOLL_PRINT_CHUNK; j++)
            group_get<size>(p, first + j * ATOLL_PRINT_BLOCK, got[j]);
    } else {
#pragma unroll
        for (unsigned j = 0; j < ATOLL_PRINT_CHUNK; j++)
            group_get_end<size>(p, first + j * ATOLL_PRINT_BLOCK, got[j]);
    }
#pragma unroll
    for (unsigned j = 0; j < ATOLL_PRINT_CHUNK; j++) {
        double sum = 0;
#pragma unroll
        for (unsigned k = 0; k < ATOLL_PRINT_GROUP; k++)
            sum += w.group[k] * element_value<size>(p.dtype, got[j][k * size / 64] >> k * size % 64);
        sums[j] = signs >> j & 1 ? -sum : sum;
    }
    if (p.output_hash) {
        atoll_u64 bytes = p.count * (size / 8);
#pragma unroll
        for (unsigned j = 0; j < ATOLL_PRINT_CHUNK; j++)
#pragma unroll
            for (unsigned k = 0; k < words; k++) {
                atoll_u64 at = (first + j * ATOLL_PRINT_BLOCK) / ATOLL_PRINT_GROUP * words + k;
                if (at * 8 < bytes)
                    s.output_hash += atoll_hash_term(atoll_position_key(p.output_key, at), got[j][k]);
            }
    }
    return chunk_sum(sums);
}

/* Out of line: long, and in no path that is in a hurry. */
static __device__ __noinline__ double value_any(atoll_u64 address, atoll_u64 index, int dtype)
{
    return atoll_dtype_decode(dtype, element_get(address, index, element_bytes(dtype)));
}

/* Types without a form of their own, and addresses that are not aligned: one by one, a block at a time, and no hash of the
 * output. */
template <>
__device__ __forceinline__ double chunk_look<0>(print_seen &s, const atoll_print_launch &p, const print_weights &w, atoll_u64 chunk)
{
    const unsigned lane = threadIdx.x % 32, signs = atoll_print_signs(w.sign_key, chunk, lane);
    double own = 0;
#pragma unroll 1
    for (unsigned j = 0; j < ATOLL_PRINT_CHUNK; j++) {
        atoll_u64 first = (chunk * ATOLL_PRINT_CHUNK + j) * ATOLL_PRINT_BLOCK + ATOLL_PRINT_GROUP * lane;
        double sum = 0;
#pragma unroll
        for (unsigned k = 0; k < ATOLL_PRINT_GROUP; k++)
            if (first + k < p.count)
                sum += w.group[k] * value_any(p.address, first + k, p.dtype);
        sum = signs >> j & 1 ? -sum : sum;
        for (unsigned bit = 16; bit; bit /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, bit);
        own = chunk_block() == j ? sum : own;
    }
    return own;
}

template <int size> static __device__ __forceinline__ void blocks_match(print_seen &s, const atoll_print_launch &p, const print_weights &w)
{
    const unsigned lane = threadIdx.x % 32;
    const atoll_u64 blocks = atoll_print_blocks(p.count);
    for (atoll_u64 first = thread_index() / 32 * 32; first < blocks; first += thread_count()) {
        double sum = 0;
#pragma unroll 1
        for (unsigned turn = 0; turn < PRINT_TURNS && first + turn * ATOLL_PRINT_CHUNK < blocks; turn++) {
            double chunk = chunk_look<size>(s, p, w, first / ATOLL_PRINT_CHUNK + turn);
            sum = lane / ATOLL_PRINT_CHUNK == turn ? chunk : sum;
        }
        atoll_u64 b = first + lane / ATOLL_PRINT_CHUNK * ATOLL_PRINT_CHUNK + chunk_block();
        if (b < blocks) {
            double off = pair_match(s, p, b, sum);
            s.error2 += off * off;
        }
    }
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK, 2) atoll_print_match_kernel(const __grid_constant__ atoll_print_launch p)
{
    const atoll_u64 samples = atoll_print_samples(p.count);
    const unsigned bytes = element_bytes(p.dtype);
    print_weights w = print_weights_of(p);
    print_seen s = {};
    for (atoll_u64 i = thread_index(); i < samples; i += thread_count()) {
        atoll_u64 at = atoll_print_place(p.key, p.salt, i, p.count);
        pair_match(s, p, atoll_print_blocks(p.count) + i, value_any(p.address, at, p.dtype));
    }
    if (!is_number(p.dtype) || p.address % 16)
        blocks_match<0>(s, p, w);
    else if (bytes == 4)
        blocks_match<32>(s, p, w);
    else
        blocks_match<16>(s, p, w);
    atoll_print_area *area = (atoll_print_area *)p.result;
    double error2 = block_sum(s.error2);
    if (threadIdx.x == 0)
        atomicAdd(&area->error2, error2);
    print_end(s, p);
}

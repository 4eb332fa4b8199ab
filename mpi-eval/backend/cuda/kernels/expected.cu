/* Sealed expected values and their comparison with outputs.  An expected value is in the clear in registers alone. */

ATOLL_INLINE float scale_up(double scale)
{
    float up;
    asm("cvt.rp.f32.f64 %0, %1;" : "=f"(up) : "d"(scale));
    return up;
}

/* Two expected values are one block of the keystream, four scales another one. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_seal_kernel(atoll_seal_launch p)
{
    const atoll_u64 *expected = (const atoll_u64 *)p.expected;
    const double *scale = (const double *)p.scale;
    for (atoll_u64 i = thread_index(); i < (p.count + 1) / 2; i += thread_count()) {
        atoll_pair stream = atoll_threefry(p.key[0], p.key[1], i, 2 * p.salt);
        atoll_u64 second = 2 * i + 1 < p.count ? expected[2 * i + 1] : 0;
        ((ulonglong2 *)p.sealed)[i] = make_ulonglong2(expected[2 * i] ^ stream.x, second ^ stream.y);
    }
    for (atoll_u64 i = thread_index(); scale && i < (p.count + 3) / 4; i += thread_count()) {
        atoll_pair stream = atoll_threefry(p.key[0], p.key[1], i, 2 * p.salt + 1);
        unsigned bits[4];
        for (unsigned k = 0; k < 4; k++)
            bits[k] = 4 * i + k < p.count ? __float_as_uint(scale_up(scale[4 * i + k])) : 0;
        ((uint4 *)p.sealed_scale)[i] =
            make_uint4(bits[0] ^ (unsigned)stream.x, bits[1] ^ (unsigned)(stream.x >> 32),
                       bits[2] ^ (unsigned)stream.y, bits[3] ^ (unsigned)(stream.y >> 32));
    }
}

/* What one thread has seen.  The worst error is kept as difference and bound, since a division costs more than the rest.
 * A thread sees less than 2^32 of the at most 2^40 elements. */
struct seen {
    unsigned wrong, nonfinite, unwritten;
    atoll_u64 first, last, worst_index, expected_hash, output_hash;
    double worst, bound;
    double difference2, expected2, got2, product;
};

ATOLL_INLINE double expected_at(const atoll_compare_launch &p, atoll_u64 i)
{
    atoll_u64 bits = ((const atoll_u64 *)p.expected)[i];
    if (p.is_sealed) {
        atoll_pair stream = atoll_threefry(p.key[0], p.key[1], i / 2, 2 * p.salt);
        bits ^= i & 1 ? stream.y : stream.x;
    }
    return atoll_double_of(bits);
}

ATOLL_INLINE bool is_finite(double x)
{
    return (__double2hiint(x) & 0x7ff00000) != 0x7ff00000;
}

/* Out of line: rare, and long. */
static __device__ __noinline__ atoll_u64 fill_bits_of(atoll_u64 key, atoll_u64 top, atoll_u64 mask, atoll_u64 sign,
                                                      double scale, int form, int dtype, atoll_u64 index)
{
    atoll_fill_params f = {key, top, mask, sign, scale, form, dtype};
    return fill_bits(f, index);
}

/* What is not finite or not within its bound; returns the error to be kept. */
ATOLL_INLINE double see_doubtful(seen &s, const atoll_compare_launch &p, atoll_u64 i, atoll_u64 bits, double r, double y,
                                 double d, double &bound)
{
    bool same = (r != r && y != y) || y == r;
    bool right = is_finite(r) ? d <= bound && is_finite(y) : same;
    if (right)
        return is_finite(r) ? d : 0;
    s.nonfinite += is_finite(r) && !is_finite(y);
    s.unwritten += p.has_fill && bits == fill_bits_of(p.fill.key, p.fill.top, p.fill.mask, p.fill.sign, p.fill.scale,
                                                      p.fill.form, p.fill.dtype, i);
    s.wrong++;
    s.first = i < s.first ? i : s.first;
    s.last = i > s.last ? i : s.last;
    if (is_finite(r) && is_finite(y) && bound > 0 && d < ATOLL_FINDING_WORST * bound)
        return d;
    bound = 1;
    return ATOLL_FINDING_WORST;
}

/* key: secret, of this position; the difference of two finite numbers is finite but where doubles end. */
template <bool is_scaled>
static __device__ __forceinline__ void visitor(seen &s, const atoll_compare_launch &p, atoll_u64 i, atoll_u64 bits, double y,
                                           atoll_u64 expected, float scale, atoll_u64 key)
{
    double r = atoll_double_of(expected), d = fabs(y - r);
    double bound = p.atol + p.rtol * (is_scaled ? fmax(fabs(r), atoll_widen(scale)) : fabs(r));
    s.expected_hash += atoll_hash_term(key, expected);
    if (is_scaled)
        s.expected_hash += (atoll_u64)__float_as_uint(scale) * ((unsigned)(key >> 16) | 1);
    s.expected2 += r * r;
    if (p.has_sums) {
        s.difference2 += d * d;
        s.got2 += y * y;
        s.product += y * r;
    }
    if (!(d <= bound) || !is_finite(d))
        d = see_doubtful(s, p, i, bits, r, y, d, bound);
    if (d * s.bound > s.worst * bound) {
        s.worst = d;
        s.bound = bound;
        s.worst_index = i;
    }
}

/* Of two equal errors the one at the lower index.  Without the lock as well: the index is written before its error and read behind
 * it, so that whoever sees half of a change is let in and looks again, or is not the worst any more. */
ATOLL_INLINE bool is_worst(const volatile atoll_finding_area *area, double error, atoll_u64 index)
{
    double known = area->worst_error;
    __threadfence();
    return error > known || (error == known && index < area->worst_index);
}

/* One thread of a block, for the whole grid.  Where many blocks have the same error (values of few bits), nearly all of them leave
 * without the lock, which is theirs one after the other. */
ATOLL_INLINE void keep_worst(atoll_finding_area *area, double error, const seen &s, const atoll_compare_launch &p)
{
    atoll_u64 bits = atoll_bits_of(error);
    if (!(error > 0) || atomicMax(&area->worst_bits, bits) > bits)
        return;
    volatile atoll_finding_area *a = area;
    while (is_worst(a, error, s.worst_index)) {
        if (atomicCAS(&area->lock, 0u, 1u)) {
            __nanosleep(100);
            continue;
        }
        __threadfence();
        if (is_worst(a, error, s.worst_index)) {
            a->worst_index = s.worst_index;
            __threadfence();
            a->worst_error = error;
            a->worst_expected = expected_at(p, s.worst_index);
            a->worst_got = atoll_dtype_decode(p.dtype, element_get(p.address, s.worst_index, element_bytes(p.dtype)));
        }
        __threadfence();
        atomicExch(&area->lock, 0u);
    }
}

/* The thread of the block with the largest error, the lowest index among equals. */
ATOLL_INLINE void block_worst(atoll_finding_area *area, const seen &s, const atoll_compare_launch &p)
{
    __shared__ atoll_u64 worst, index;
    double error = s.worst > 0 ? fmin(s.worst / s.bound, ATOLL_FINDING_WORST) : 0;
    atoll_u64 bits = atoll_bits_of(error);
    if (threadIdx.x == 0) {
        worst = 0;
        index = ~0ull;
    }
    __syncthreads();
    if (bits)
        atomicMax(&worst, bits);
    __syncthreads();
    if (bits && bits == worst)
        atomicMin(&index, s.worst_index);
    __syncthreads();
    if (bits && bits == worst && index == s.worst_index)
        keep_worst(area, error, s, p);
}

/* Sums of the block go to the area by one thread; the count of wrong elements is almost always 0. */
ATOLL_INLINE void block_add(atoll_finding_area *area, const seen &s, const atoll_compare_launch &p)
{
    atoll_u64 expected_hash = block_sum(s.expected_hash);
    double expected2 = block_sum(s.expected2);
    if (threadIdx.x == 0) {
        atomicAdd(&area->expected_hash, expected_hash);
        atomicAdd(&area->expected2, expected2);
    }
    if (p.output_hash) {
        atoll_u64 output_hash = block_sum(s.output_hash);
        if (threadIdx.x == 0)
            atomicAdd((atoll_u64 *)p.output_hash, output_hash);
    }
    if (p.has_sums) {
        double difference2 = block_sum(s.difference2), got2 = block_sum(s.got2), product = block_sum(s.product);
        if (threadIdx.x == 0) {
            atomicAdd(&area->difference2, difference2);
            atomicAdd(&area->got2, got2);
            atomicAdd(&area->product, product);
        }
    }
    if (!__syncthreads_or(s.wrong != 0))
        return;
    atoll_u64 wrong = block_sum((atoll_u64)s.wrong), nonfinite = block_sum((atoll_u64)s.nonfinite),
              unwritten = block_sum((atoll_u64)s.unwritten);
    if (threadIdx.x == 0) {
        atomicAdd(&area->wrong_count, wrong);
        atomicAdd(&area->nonfinite_count, nonfinite);
        atomicAdd(&area->unwritten_count, unwritten);
    }
    if (s.wrong) {
        atomicMin(&area->first_wrong, s.first);
        atomicMax(&area->last_wrong, s.last);
    }
}

/* Elements 2 * i and 2 * i + 1; the second one is 0 where there is none.  size 32: f32; 16: bf16 or f16; 0: any type. */
template <int size>
static __device__ __forceinline__ void elements_get(const atoll_compare_launch &p, atoll_u64 i, bool two, atoll_u64 bits[2])
{
    if (size == 32) {
        uint2 v = make_uint2(0, 0);
        if (two)
            v = ((const uint2 *)p.address)[i];
        else
            v.x = ((const unsigned *)p.address)[2 * i];
        bits[0] = v.x;
        bits[1] = v.y;
    } else if (size == 16) {
        unsigned v = two ? ((const unsigned *)p.address)[i] : ((const unsigned short *)p.address)[2 * i];
        bits[0] = v & 0xffff;
        bits[1] = v >> 16;
    } else {
        unsigned bytes = element_bytes(p.dtype);
        bits[0] = element_get(p.address, 2 * i, bytes);
        bits[1] = two ? element_get(p.address, 2 * i + 1, bytes) : 0;
    }
}

ATOLL_INLINE float half_widen(atoll_u64 bits)
{
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"((unsigned short)bits));
    return wide;
}

template <int size> static __device__ __forceinline__ double element_value(int dtype, atoll_u64 bits)
{
    if (size == 32)
        return atoll_widen(__uint_as_float((unsigned)bits));
    if (size == 16)
        return atoll_widen(dtype == ATOLL_BF16 ? __uint_as_float((unsigned)bits << 16) : half_widen(bits));
    return atoll_dtype_decode(dtype, bits);
}

struct expected_pair {
    atoll_u64 bits[2], keys[2];
    float scales[2];
};

/* A block of the keystream is two values and the keys of their hash terms; one of the scales' serves four, so that it is
 * made twice. */
template <bool is_scaled>
static __device__ __forceinline__ expected_pair sealed_get(const atoll_compare_launch &p, atoll_u64 i)
{
    ulonglong2 v = ((const ulonglong2 *)p.expected)[i];
    atoll_pair stream = atoll_threefry(p.key[0], p.key[1], i, 2 * p.salt);
    expected_pair e = {{v.x ^ stream.x, v.y ^ stream.y}, {stream.x, stream.y}, {0, 0}};
    if (is_scaled) {
        uint2 u = ((const uint2 *)p.scale)[i];
        stream = atoll_threefry(p.key[0], p.key[1], i / 2, 2 * p.salt + 1);
        atoll_u64 half = i & 1 ? stream.y : stream.x;
        e.scales[0] = __uint_as_float(u.x ^ (unsigned)half);
        e.scales[1] = __uint_as_float(u.y ^ (unsigned)(half >> 32));
    }
    return e;
}

/* Plain values were made after the candidate had gone: no secret keys are needed. */
template <bool is_scaled>
static __device__ __forceinline__ expected_pair plain_get(const atoll_compare_launch &p, atoll_u64 i, bool two)
{
    const atoll_u64 *values = (const atoll_u64 *)p.expected;
    atoll_u64 key = p.hash_key + 2 * i * 0x9e3779b97f4a7c15ull;
    expected_pair e = {{0, 0}, {key, key + 0x9e3779b97f4a7c15ull}, {0, 0}};
    if (two) {
        ulonglong2 v = ((const ulonglong2 *)p.expected)[i];
        e.bits[0] = v.x;
        e.bits[1] = v.y;
    } else {
        e.bits[0] = values[2 * i];
    }
    if (is_scaled) {
        e.scales[0] = scale_up(((const double *)p.scale)[2 * i]);
        e.scales[1] = two ? scale_up(((const double *)p.scale)[2 * i + 1]) : 0;
    }
    return e;
}

/* A word of 8 bytes of the output at a time, where the type has a form of its own: then it is hashed as well. */
template <bool is_sealed, bool is_scaled, int size>
static __device__ __forceinline__ void see_all(seen &s, const atoll_compare_launch &p)
{
    const unsigned pairs = size == 16 ? 2 : 1;
    for (atoll_u64 g = thread_index(); g < (p.count + 2 * pairs - 1) / (2 * pairs); g += thread_count()) {
        atoll_u64 word = 0;
#pragma unroll
        for (unsigned k = 0; k < pairs; k++) {
            atoll_u64 i = g * pairs + k, bits[2];
            bool two = 2 * i + 1 < p.count;
            if (2 * i >= p.count)
                break;
            elements_get<size>(p, i, two, bits);
            expected_pair e = is_sealed ? sealed_get<is_scaled>(p, i) : plain_get<is_scaled>(p, i, two);
            visitor<is_scaled>(s, p, 2 * i, bits[0], element_value<size>(p.dtype, bits[0]), e.bits[0], e.scales[0], e.keys[0]);
            if (two)
                visitor<is_scaled>(s, p, 2 * i + 1, bits[1], element_value<size>(p.dtype, bits[1]), e.bits[1], e.scales[1],
                                   e.keys[1]);
            word |= (bits[0] | bits[1] << (size ? size : 32)) << 32 * k;
        }
        if (size && p.output_hash)
            s.output_hash += atoll_hash_term(atoll_position_key(p.output_key, g), word);
    }
}

template <bool is_sealed, bool is_scaled> static __device__ __forceinline__ void see_typed(seen &s, const atoll_compare_launch &p)
{
    unsigned bytes = element_bytes(p.dtype);
    if (!is_number(p.dtype) || p.address % (2 * bytes))
        see_all<is_sealed, is_scaled, 0>(s, p);
    else if (bytes == 4)
        see_all<is_sealed, is_scaled, 32>(s, p);
    else
        see_all<is_sealed, is_scaled, 16>(s, p);
}

/* As many blocks as leave registers for everything: what is spilled lies in local memory. */
#if __CUDA_ARCH__ >= 1000
#define COMPARE_BLOCKS 2
#else
#define COMPARE_BLOCKS 3
#endif

/* Two elements at a time; expected values and scales are 16-byte aligned. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK, COMPARE_BLOCKS) atoll_compare_kernel(const __grid_constant__ atoll_compare_launch p)
{
    atoll_finding_area *area = (atoll_finding_area *)p.result;
    seen s = {};
    s.first = ~0ull;
    s.bound = 1;
    if (p.is_sealed && p.scale)
        see_typed<true, true>(s, p);
    else if (p.is_sealed)
        see_typed<true, false>(s, p);
    else if (p.scale)
        see_typed<false, true>(s, p);
    else
        see_typed<false, false>(s, p);
    block_add(area, s, p);
    block_worst(area, s, p);
    if (thread_index() == 0)
        atomicAdd(&area->count, p.count);
}

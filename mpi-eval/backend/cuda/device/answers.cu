/* Sealed answers and their comparison with outputs.  An expected value is in the clear in registers alone. */

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
    atoll_u64 first, last, worst_index, output_hash, expected_hash;
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

ATOLL_INLINE void see(seen &s, const atoll_compare_launch &p, atoll_u64 i, atoll_u64 bits, double r, float scale)
{
    double y = atoll_dtype_decode(p.dtype, bits), d = fabs(y - r);
    double bound = p.atol + p.rtol * fmax(fabs(r), atoll_widen(scale));
    atoll_u64 key = atoll_position_key(p.hash_key, i);
    s.output_hash += atoll_hash_term(key, bits);
    s.expected_hash += atoll_hash_term(key, atoll_bits_of(r)) + (atoll_u64)__float_as_uint(scale) * (unsigned)(key | 1);
    s.difference2 += d * d;
    s.expected2 += r * r;
    s.got2 += y * y;
    s.product += y * r;
    bool right = d <= bound; /* false for every NaN */
    if (!right || !is_finite(r) || !is_finite(y)) {
        bool same = (r != r && y != y) || y == r;
        right = is_finite(r) ? right && is_finite(y) : same;
        if (right) {
            d = 0;
        } else {
            s.nonfinite += is_finite(r) && !is_finite(y);
            s.unwritten += p.has_fill && bits == fill_bits(p.fill, i);
            s.wrong++;
            s.first = i < s.first ? i : s.first;
            s.last = i > s.last ? i : s.last;
            if (!is_finite(r) || !is_finite(y) || !(bound > 0) || !(d < ATOLL_FINDING_WORST * bound)) {
                d = ATOLL_FINDING_WORST;
                bound = 1;
            }
        }
    }
    if (d * s.bound > s.worst * bound) {
        s.worst = d;
        s.bound = bound;
        s.worst_index = i;
    }
}

/* One thread of a block, for the whole grid: few blocks get as far as the lock, since most are not worse than what is
 * there already. */
ATOLL_INLINE void keep_worst(atoll_finding_area *area, double error, const seen &s, const atoll_compare_launch &p)
{
    atoll_u64 bits = atoll_bits_of(error);
    if (!(error > 0) || atomicMax(&area->worst_bits, bits) > bits)
        return;
    while (atomicCAS(&area->lock, 0u, 1u))
        __nanosleep(100);
    __threadfence();
    volatile atoll_finding_area *a = area;
    if (error > a->worst_error || (error == a->worst_error && s.worst_index < a->worst_index)) {
        a->worst_error = error;
        a->worst_index = s.worst_index;
        a->worst_expected = expected_at(p, s.worst_index);
        a->worst_got = atoll_dtype_decode(p.dtype, element_get(p.address, s.worst_index, element_bytes(p.dtype)));
    }
    __threadfence();
    atomicExch(&area->lock, 0u);
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
ATOLL_INLINE void block_add(atoll_finding_area *area, const seen &s)
{
    atoll_u64 output_hash = block_sum(s.output_hash), expected_hash = block_sum(s.expected_hash);
    double difference2 = block_sum(s.difference2), expected2 = block_sum(s.expected2), got2 = block_sum(s.got2),
           product = block_sum(s.product);
    if (threadIdx.x == 0) {
        atomicAdd(&area->output_hash, output_hash);
        atomicAdd(&area->expected_hash, expected_hash);
        atomicAdd(&area->difference2, difference2);
        atomicAdd(&area->expected2, expected2);
        atomicAdd(&area->got2, got2);
        atomicAdd(&area->product, product);
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

/* A thread takes two elements: one block of the keystream.  The block of the scales serves four, so that it is made
 * twice. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK, 4) atoll_compare_kernel(atoll_compare_launch p)
{
    unsigned bytes = element_bytes(p.dtype);
    atoll_finding_area *area = (atoll_finding_area *)p.result;
    seen s = {};
    s.first = ~0ull;
    s.bound = 1;
    for (atoll_u64 i = thread_index(); i < (p.count + 1) / 2; i += thread_count()) {
        bool two = 2 * i + 1 < p.count;
        atoll_u64 bits0 = element_get(p.address, 2 * i, bytes);
        atoll_u64 bits1 = two ? element_get(p.address, 2 * i + 1, bytes) : 0;
        atoll_u64 r0, r1;
        float scale0 = 0, scale1 = 0;
        if (p.is_sealed) {
            ulonglong2 v = ((const ulonglong2 *)p.expected)[i];
            atoll_pair stream = atoll_threefry(p.key[0], p.key[1], i, 2 * p.salt);
            r0 = v.x ^ stream.x;
            r1 = v.y ^ stream.y;
            if (p.scale) {
                uint2 u = ((const uint2 *)p.scale)[i];
                stream = atoll_threefry(p.key[0], p.key[1], i / 2, 2 * p.salt + 1);
                atoll_u64 half = i & 1 ? stream.y : stream.x;
                scale0 = __uint_as_float(u.x ^ (unsigned)half);
                scale1 = __uint_as_float(u.y ^ (unsigned)(half >> 32));
            }
        } else {
            r0 = ((const atoll_u64 *)p.expected)[2 * i];
            r1 = two ? ((const atoll_u64 *)p.expected)[2 * i + 1] : 0;
            if (p.scale) {
                scale0 = scale_up(((const double *)p.scale)[2 * i]);
                scale1 = two ? scale_up(((const double *)p.scale)[2 * i + 1]) : 0;
            }
        }
        see(s, p, 2 * i, bits0, atoll_double_of(r0), scale0);
        if (two)
            see(s, p, 2 * i + 1, bits1, atoll_double_of(r1), scale1);
    }
    block_add(area, s);
    block_worst(area, s, p);
    if (thread_index() == 0)
        atomicAdd(&area->count, p.count);
}

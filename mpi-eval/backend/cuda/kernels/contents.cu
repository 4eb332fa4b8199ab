/* Contents of tensors: inputs of an input set, fills, guards. */

/* Rounded to odd first (toward zero, the last bit set where that was not exact), then to nearest even: one rounding by
 * hardware gives what atoll_small_encode gives (Boldo and Melquiond, "When double rounding is odd", IMACS 2005). */
ATOLL_INLINE unsigned odd_float(double v)
{
    float f;
    asm("cvt.rz.f32.f64 %0, %1;" : "=f"(f) : "d"(v));
    return __float_as_uint(f) | (atoll_widen(f) != v);
}

/* bits 32: f32; 16: bf16 or f16. */
template <int bits> static __device__ __forceinline__ unsigned number_bits(int dtype, double v)
{
    if (bits == 32)
        return __float_as_uint(atoll_narrow(v));
    unsigned odd = odd_float(v), sign = odd >> 16 & 0x8000;
    if (dtype == ATOLL_BF16)
        return v == v ? (odd + 0x7fff + (odd >> 16 & 1)) >> 16 : sign | 0x7fc0;
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__uint_as_float(odd)));
    return v == v ? half : sign | 0x7e00;
}

ATOLL_INLINE bool is_number(int dtype)
{
    return dtype == ATOLL_F32 || dtype == ATOLL_BF16 || dtype == ATOLL_F16;
}

/* Forms that one loop makes: the input set is the same, what becomes of it is found in a few instructions. */
enum init_family { INIT_NORMAL, INIT_NORMAL_SIGNED, INIT_UNIFORM, INIT_UNIFORM_SIGNED, INIT_OTHER };

ATOLL_INLINE init_family family_of(int form)
{
    switch (form) {
    case ATOLL_VALUE_NORMAL:
    case ATOLL_VALUE_NORMAL_TIES:
    case ATOLL_VALUE_NORMAL_SPARSE: return INIT_NORMAL;
    case ATOLL_VALUE_NORMAL_SIGNED: return INIT_NORMAL_SIGNED;
    case ATOLL_VALUE_UNIFORM:
    case ATOLL_VALUE_UNIFORM_TIES:
    case ATOLL_VALUE_UNIFORM_SPARSE: return INIT_UNIFORM;
    case ATOLL_VALUE_UNIFORM_SIGNED: return INIT_UNIFORM_SIGNED;
    default: return INIT_OTHER;
    }
}

#define IS_SIGNED(family) ((family) == INIT_NORMAL_SIGNED || (family) == INIT_UNIFORM_SIGNED)

template <int family>
static __device__ __forceinline__ double init_number(const atoll_init_params &p, atoll_u64 index, double sign)
{
    if (family == INIT_NORMAL || family == INIT_NORMAL_SIGNED) {
        int sum = atoll_value_bell(p.key, index);
        if (family == INIT_NORMAL_SIGNED)
            return atoll_value_signed(atoll_value_normal(&p, sum), sign);
        return p.form == ATOLL_VALUE_NORMAL        ? atoll_value_normal(&p, sum)
               : p.form == ATOLL_VALUE_NORMAL_TIES ? atoll_value_normal_ties(&p, sum)
                                                   : atoll_value_normal_sparse(&p, sum);
    }
    atoll_u64 bits = atoll_random_at(p.key, index);
    if (family == INIT_UNIFORM_SIGNED)
        return atoll_value_signed(atoll_value_uniform(&p, bits), sign);
    return p.form == ATOLL_VALUE_UNIFORM        ? atoll_value_uniform(&p, bits)
           : p.form == ATOLL_VALUE_UNIFORM_TIES ? atoll_value_uniform_ties(&p, bits)
                                                : atoll_value_uniform_sparse(&p, bits);
}

ATOLL_INLINE atoll_u64 row_of(const atoll_init_params &p, atoll_u64 index)
{
    return (index | p.row) >> 32 ? index / p.row : (unsigned)index / (unsigned)p.row;
}

/* 16 bytes at a time; a sign holds for a row.  Returns how many elements that were. */
template <int family, int bits> static __device__ __forceinline__ atoll_u64 init_numbers(const atoll_init_launch &p)
{
    const unsigned per = 128 / bits;
    atoll_u64 chunks = p.count / per;
    for (atoll_u64 c = thread_index(); c < chunks; c += thread_count()) {
        unsigned words[4] = {0, 0, 0, 0};
        atoll_u64 first = c * per, row = 0, row_end = 0;
        double sign = 1;
        if (IS_SIGNED(family)) {
            row = row_of(p.init, first);
            row_end = (row + 1) * p.init.row;
            sign = atoll_value_sign(&p.init, row);
        }
#pragma unroll
        for (unsigned k = 0; k < per; k++) {
            if (IS_SIGNED(family) && first + k == row_end) {
                row_end += p.init.row;
                sign = atoll_value_sign(&p.init, ++row);
            }
            words[k * bits / 32] |= number_bits<bits>(p.init.dtype, init_number<family>(p.init, first + k, sign))
                                    << k * bits % 32;
        }
        ((uint4 *)p.address)[c] = make_uint4(words[0], words[1], words[2], words[3]);
    }
    return chunks * per;
}

template <int bits> static __device__ __forceinline__ atoll_u64 init_sized(const atoll_init_launch &p)
{
    switch (family_of(p.init.form)) {
    case INIT_NORMAL: return init_numbers<INIT_NORMAL, bits>(p);
    case INIT_NORMAL_SIGNED: return init_numbers<INIT_NORMAL_SIGNED, bits>(p);
    case INIT_UNIFORM: return init_numbers<INIT_UNIFORM, bits>(p);
    case INIT_UNIFORM_SIGNED: return init_numbers<INIT_UNIFORM_SIGNED, bits>(p);
    default: return 0;
    }
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_init_kernel(const __grid_constant__ atoll_init_launch p)
{
    unsigned bytes = element_bytes(p.init.dtype);
    atoll_u64 done = 0;
    if ((p.address & 15) == 0 && is_number(p.init.dtype))
        done = bytes == 4 ? init_sized<32>(p) : init_sized<16>(p);
    for (atoll_u64 i = done + thread_index(); i < p.count; i += thread_count())
        element_put(p.address, i, bytes, atoll_init_bits(&p.init, i));
}

ATOLL_INLINE unsigned short_mix(atoll_u64 key, atoll_u64 index)
{
    unsigned x = ((unsigned)index ^ (unsigned)(index >> 32) ^ (unsigned)key) * 0x9e3779b1u + (unsigned)(key >> 32);
    x ^= x >> 15;
    x *= 0x85ebca77u;
    return x ^ x >> 13;
}

ATOLL_INLINE double fill_normal_value(const atoll_fill_params &f, atoll_u64 index)
{
    int sum = atoll_value_lanes(atoll_mix64(f.key + index * 0x9e3779b97f4a7c15ull)) - 131070;
    return (double)sum * f.scale;
}

/* Element `index` of a fill. */
ATOLL_INLINE atoll_u64 fill_bits(const atoll_fill_params &f, atoll_u64 index)
{
    if (f.form == ATOLL_FILL_FORM_BITS)
        return f.top;
    if (f.form == ATOLL_FILL_FORM_NORMAL)
        return atoll_dtype_encode(f.dtype, fill_normal_value(f, index));
    unsigned random = short_mix(f.key, index);
    if (f.form == ATOLL_FILL_FORM_INTEGER)
        return (atoll_u64)random * f.top >> 32;
    atoll_u64 wide = f.dtype == ATOLL_F64 ? (atoll_u64)random << 22 | random : random;
    return (f.top - (wide & f.mask)) | (random >> 31 ? f.sign : 0);
}

/* Chunks of 16 bytes; form and size of an element are known when this is compiled. */
template <int form, int bytes>
static __device__ __forceinline__ void fill_chunks(const atoll_fill_launch &p, atoll_u64 head, atoll_u64 chunks)
{
    const unsigned per = 16 / bytes;
    atoll_fill_params f = p.fill;
    f.form = form;
    for (atoll_u64 c = thread_index(); c < chunks; c += thread_count()) {
        atoll_u64 first = head + c * per, words[2] = {0, 0};
#pragma unroll
        for (unsigned k = 0; k < per; k++)
            words[k * 2 / per] |= fill_bits(f, first + k) << 8 * bytes * (k % (per / 2));
        ((ulonglong2 *)(p.address + head * bytes))[c] = make_ulonglong2(words[0], words[1]);
    }
}

template <int bits>
static __device__ __forceinline__ void fill_normal(const atoll_fill_launch &p, atoll_u64 head, atoll_u64 chunks)
{
    const unsigned per = 128 / bits;
    for (atoll_u64 c = thread_index(); c < chunks; c += thread_count()) {
        unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
        for (unsigned k = 0; k < per; k++)
            words[k * bits / 32] |= number_bits<bits>(p.fill.dtype, fill_normal_value(p.fill, head + c * per + k))
                                    << k * bits % 32;
        ((uint4 *)(p.address + head * (bits / 8)))[c] = make_uint4(words[0], words[1], words[2], words[3]);
    }
}

/* Types without hardware of their own: one by one. */
ATOLL_INLINE void fill_normal_any(const atoll_fill_launch &p, atoll_u64 head, atoll_u64 count)
{
    unsigned bytes = element_bytes(p.fill.dtype);
    for (atoll_u64 i = head + thread_index(); i < head + count; i += thread_count())
        element_put(p.address, i, bytes, atoll_dtype_encode(p.fill.dtype, fill_normal_value(p.fill, i)));
}

template <int bytes>
static __device__ __forceinline__ void fill_sized(const atoll_fill_launch &p, atoll_u64 head, atoll_u64 chunks)
{
    switch (p.fill.form) {
    case ATOLL_FILL_FORM_BITS: fill_chunks<ATOLL_FILL_FORM_BITS, bytes>(p, head, chunks); break;
    case ATOLL_FILL_FORM_FLOAT: fill_chunks<ATOLL_FILL_FORM_FLOAT, bytes>(p, head, chunks); break;
    case ATOLL_FILL_FORM_INTEGER: fill_chunks<ATOLL_FILL_FORM_INTEGER, bytes>(p, head, chunks); break;
    }
}

ATOLL_INLINE void fill_normals(const atoll_fill_launch &p, atoll_u64 head, atoll_u64 chunks)
{
    if (p.fill.dtype == ATOLL_F32)
        fill_normal<32>(p, head, chunks);
    else if (is_number(p.fill.dtype))
        fill_normal<16>(p, head, chunks);
    else
        fill_normal_any(p, head, chunks * (16 / element_bytes(p.fill.dtype)));
}

/* Elements up to a 16-byte boundary and after the last one one by one, 16 bytes at a time between. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_fill_kernel(const __grid_constant__ atoll_fill_launch p)
{
    unsigned bytes = element_bytes(p.fill.dtype), per = 16 / bytes;
    atoll_u64 head = (16 - (p.address & 15)) % 16 / bytes;
    if (head > p.count)
        head = p.count;
    atoll_u64 chunks = (p.count - head) / per, tail = p.count - head - chunks * per;
    for (atoll_u64 i = thread_index(); i < head + tail; i += thread_count()) {
        atoll_u64 index = i < head ? i : i + chunks * per;
        element_put(p.address, index, bytes, fill_bits(p.fill, index));
    }
    if (p.fill.form == ATOLL_FILL_FORM_NORMAL)
        fill_normals(p, head, chunks);
    else if (bytes == 8)
        fill_sized<8>(p, head, chunks);
    else if (bytes == 4)
        fill_sized<4>(p, head, chunks);
    else if (bytes == 2)
        fill_sized<2>(p, head, chunks);
    else
        fill_sized<1>(p, head, chunks);
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_guard_kernel(atoll_area_launch p)
{
    for (atoll_u64 i = thread_index(); i < p.bytes / 8; i += thread_count())
        word_put(p.address, i, atoll_random_at(p.key, i));
}

/* Changed words are rare: no reduction. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_guard_check_kernel(atoll_area_launch p)
{
    atoll_u64 *result = (atoll_u64 *)p.result;
    for (atoll_u64 i = thread_index(); i < p.bytes / 8; i += thread_count())
        if (word_get(p.address, i) != atoll_random_at(p.key, i)) {
            atomicAdd(&result[0], 1ull);
            atomicMin(&result[1], i);
        }
}

/* Contents of a sample's memory: inputs, fills and guards, all of them by one launch.  What bounds it is the issue of
 * integer instructions, not the memory, so a chunk of 16 bytes is made in registers from whole blocks of the stream. */

ATOLL_INLINE bool is_number(int dtype)
{
    return dtype == ATOLL_F32 || dtype == ATOLL_BF16 || dtype == ATOLL_F16;
}

/* ---- elements of a chunk ---- */

/* What becomes of a number does not depend on how it was made.  No value is NaN here. */
ATOLL_INLINE unsigned bf16_pair(float low, float high)
{
#if __CUDA_ARCH__ >= 800
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    unsigned x = __float_as_uint(low), y = __float_as_uint(high);
    return (x + 0x7fff + (x >> 16 & 1)) >> 16 | ((y + 0x7fff + (y >> 16 & 1)) & 0xffff0000u);
#endif
}

ATOLL_INLINE unsigned f16_pair(float low, float high)
{
#if __CUDA_ARCH__ >= 800
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    unsigned short x, y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(low));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(high));
    return x | (unsigned)y << 16;
#endif
}

#if __CUDA_ARCH__ >= 890
#define HAS_F8 true
ATOLL_INLINE unsigned f8_pair(int dtype, float low, float high)
{
    unsigned short pair;
    if (dtype == ATOLL_F8E4M3)
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    else
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
    return pair;
}
#else
#define HAS_F8 false
ATOLL_INLINE unsigned f8_pair(int, float, float)
{
    return 0;
}
#endif

template <int bits> static __device__ __forceinline__ uint4 floats_pack(int dtype, const float v[128 / bits])
{
    unsigned words[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (bits == 32)
            words[i] = __float_as_uint(v[i]);
        else if (bits == 16)
            words[i] = dtype == ATOLL_BF16 ? bf16_pair(v[2 * i], v[2 * i + 1]) : f16_pair(v[2 * i], v[2 * i + 1]);
        else
            words[i] = f8_pair(dtype, v[4 * i], v[4 * i + 1]) | f8_pair(dtype, v[4 * i + 2], v[4 * i + 3]) << 16;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

template <int bits> static __device__ __forceinline__ uint4 integers_pack(const unsigned v[128 / bits])
{
    unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 128 / bits; i++)
        words[i * bits / 32] |= bits == 32 ? v[i] : (v[i] & ((1u << bits % 32) - 1)) << i * bits % 32;
    return make_uint4(words[0], words[1], words[2], words[3]);
}

#define IS_NORMAL(form) ((form) <= ATOLL_VALUE_NORMAL_SIGNED)

/* The signs of rows are put later. */
template <int form, bool is_bent> static __device__ __forceinline__ float normal_single(const atoll_init_params &p, int sum)
{
    if (form == ATOLL_VALUE_NORMAL_TIES)
        return atoll_single_normal_ties(&p, sum);
    if (form == ATOLL_VALUE_NORMAL_SPARSE)
        return is_bent ? atoll_single_bent_sparse(&p, sum) : atoll_single_normal_sparse(&p, sum);
    return is_bent ? atoll_single_bent(&p, sum) : atoll_single_normal(&p, sum);
}

/* Of one word. */
template <int form> static __device__ __forceinline__ float word_single(const atoll_init_params &p, unsigned word)
{
    if (IS_NORMAL(form))
        return normal_single<form, true>(p, atoll_value_bell4(word));
    return form == ATOLL_VALUE_UNIFORM_TIES     ? atoll_single_uniform_ties(&p, word)
           : form == ATOLL_VALUE_UNIFORM_SPARSE ? atoll_single_uniform_sparse(&p, word)
                                                : atoll_single_uniform(&p, word);
}

template <int form, int bits>
static __device__ __forceinline__ void singles_make(const atoll_init_params &p, atoll_u64 chunk, float v[128 / bits])
{
    const int words = IS_NORMAL(form) && bits == 32 ? 2 : 1, blocks = 128 / bits * words / 4;
#pragma unroll
    for (int i = 0; i < blocks; i++) {
        atoll_words w = atoll_value_words(&p, chunk * blocks + i);
        if (words == 2) {
            v[2 * i] = normal_single<form, false>(p, atoll_value_bell8(w.a, w.b));
            v[2 * i + 1] = normal_single<form, false>(p, atoll_value_bell8(w.c, w.d));
        } else {
            v[4 * i] = word_single<form>(p, w.a);
            v[4 * i + 1] = word_single<form>(p, w.b);
            v[4 * i + 2] = word_single<form>(p, w.c);
            v[4 * i + 3] = word_single<form>(p, w.d);
        }
    }
}

template <int form> static __device__ __forceinline__ double pair_double(const atoll_init_params &p, unsigned low, unsigned high)
{
    atoll_u64 bits = (atoll_u64)high << 32 | low;
    int sum = IS_NORMAL(form) ? atoll_value_bell8(low, high) : 0;
    switch (form) {
    case ATOLL_VALUE_NORMAL_TIES: return atoll_value_normal_ties(&p, sum);
    case ATOLL_VALUE_NORMAL_SPARSE: return atoll_value_normal_sparse(&p, sum);
    case ATOLL_VALUE_UNIFORM_TIES: return atoll_value_uniform_ties(&p, bits);
    case ATOLL_VALUE_UNIFORM_SPARSE: return atoll_value_uniform_sparse(&p, bits);
    default: return IS_NORMAL(form) ? atoll_value_normal(&p, sum) : atoll_value_uniform(&p, bits);
    }
}

/* ---- signs of rows ---- */

/* The row that a thread is in; most chunks lie within the one before. */
struct row_sign {
    atoll_u64 row, begin, end;
    unsigned bit; /* of a float */
};

static __device__ __noinline__ row_sign row_at(const atoll_u64 key, atoll_u64 extent, atoll_u64 index)
{
    atoll_init_params p = {};
    row_sign r;
    p.key = key;
    r.row = (index | extent) >> 32 ? index / extent : (unsigned)index / (unsigned)extent;
    r.begin = r.row * extent;
    r.end = r.begin + extent;
    r.bit = atoll_value_sign(&p, r.row) < 0 ? 0x80000000u : 0;
    return r;
}

/* Bit k: of element first + k.  Out of line: few chunks have a row's end in them. */
static __device__ __noinline__ unsigned signs_across(atoll_u64 key, atoll_u64 extent, atoll_u64 first, unsigned count)
{
    row_sign r = row_at(key, extent, first);
    unsigned signs = 0;
    for (unsigned k = 0; k < count; k++) {
        if (first + k == r.end)
            r = row_at(key, extent, first + k);
        signs |= (r.bit >> 31) << k;
    }
    return signs;
}

/* Of elements first .. first + count - 1; asked for before they are made, since a call keeps nothing of them in registers. */
ATOLL_INLINE unsigned signs_get(row_sign &r, const atoll_init_params &p, atoll_u64 first, unsigned count)
{
    if (first < r.begin || first >= r.end)
        r = row_at(p.key, p.row, first);
    return first + count <= r.end ? 0 - (r.bit >> 31) : signs_across(p.key, p.row, first, count);
}

ATOLL_INLINE unsigned sign_put(unsigned bits, unsigned signs, unsigned k)
{
    return (bits & 0x7fffffffu) | (signs << (31 - k) & 0x80000000u);
}

/* ---- chunks ---- */

/* A tile: chunks begin .. begin + count - 1 of a region, of which the first `whole` are stored as 16 bytes. */
struct chunk_range {
    atoll_u64 begin;
    unsigned count, whole;
};

#define EACH_CHUNK(i, range) for (unsigned i = threadIdx.x; i < (range).count; i += blockDim.x)

/* A chunk that is not whole or not aligned, element by element.  Out of line: rare, and long where it is unrolled. */
static __device__ __noinline__ void chunk_split(atoll_u64 address, atoll_u64 count, atoll_u64 chunk, unsigned bytes, uint4 words)
{
    atoll_u64 low = (atoll_u64)words.y << 32 | words.x, high = (atoll_u64)words.w << 32 | words.z;
    for (atoll_u64 i = chunk * (16 / bytes); i < (chunk + 1) * (16 / bytes) && i < count; i++) {
        if (bytes == 8) {
            word_put(address, i, low);
            low = high;
        } else {
            element_put(address, i, bytes, low);
            low = low >> 8 * bytes | high << (64 - 8 * bytes);
            high >>= 8 * bytes;
        }
    }
}

/* Chunk i of the range. */
template <int bits>
static __device__ __forceinline__ void chunk_put(const atoll_region &g, const chunk_range &range, unsigned i, uint4 words)
{
    if (i < range.whole)
        ((uint4 *)g.address)[range.begin + i] = words;
    else
        chunk_split(g.address, g.count, range.begin + i, bits / 8, words);
}

template <int form, int bits> static __device__ __forceinline__ void singles_tile(const atoll_region &g, chunk_range range)
{
    const int per = 128 / bits;
    const atoll_init_params p = g.of.init;
    row_sign sign = {0, 0, 0, 0};
    EACH_CHUNK(i, range)
    {
        const atoll_u64 c = range.begin + i;
        const unsigned signs = atoll_value_is_signed(form) ? signs_get(sign, p, c * per, per) : 0;
        float v[per];
        singles_make<form, bits>(p, c, v);
        if (atoll_value_is_signed(form)) {
#pragma unroll
            for (int k = 0; k < per; k++)
                v[k] = __uint_as_float(sign_put(__float_as_uint(v[k]), signs, k));
        }
        chunk_put<bits>(g, range, i, floats_pack<bits>(p.dtype, v));
    }
}

template <int form> static __device__ __forceinline__ void doubles_tile(const atoll_region &g, chunk_range range)
{
    const atoll_init_params p = g.of.init;
    row_sign sign = {0, 0, 0, 0};
    EACH_CHUNK(i, range)
    {
        const atoll_u64 c = range.begin + i;
        const unsigned signs = atoll_value_is_signed(form) ? signs_get(sign, p, 2 * c, 2) : 0;
        atoll_words w = atoll_value_words(&p, c);
        atoll_u64 first = atoll_bits_of(pair_double<form>(p, w.a, w.b)), second = atoll_bits_of(pair_double<form>(p, w.c, w.d));
        unsigned upper[2] = {(unsigned)(first >> 32), (unsigned)(second >> 32)};
        if (atoll_value_is_signed(form)) {
            upper[0] = sign_put(upper[0], signs, 0);
            upper[1] = sign_put(upper[1], signs, 1);
        }
        chunk_put<64>(g, range, i, make_uint4((unsigned)first, upper[0], (unsigned)second, upper[1]));
    }
}

/* Where every value is a number of the dtype, and of single precision where it is a float. */
template <int bits> static __device__ __forceinline__ void integers_tile(const atoll_region &g, chunk_range range)
{
    const int per = 128 / bits, blocks = per / 4;
    const atoll_init_params p = g.of.init;
    const unsigned span = (unsigned)p.span;
    const int low = (int)p.low;
    EACH_CHUNK(i, range)
    {
        const atoll_u64 c = range.begin + i;
        unsigned v[per];
        float f[per];
#pragma unroll
        for (int k = 0; k < blocks; k++) {
            atoll_words w = atoll_value_words(&p, c * blocks + k);
            v[4 * k] = low + __umulhi(w.a, span);
            v[4 * k + 1] = low + __umulhi(w.b, span);
            v[4 * k + 2] = low + __umulhi(w.c, span);
            v[4 * k + 3] = low + __umulhi(w.d, span);
        }
        if (bits == 8 || !ATOLL_VALUE_IS_SINGLE(p.dtype)) {
            chunk_put<bits>(g, range, i, integers_pack<bits>(v));
        } else {
#pragma unroll
            for (int k = 0; k < per; k++)
                f[k] = (float)(int)v[k];
            chunk_put<bits>(g, range, i, floats_pack<bits>(p.dtype, f));
        }
    }
}

/* Two elements are half a block. */
ATOLL_INLINE void wide_integers_tile(const atoll_region &g, chunk_range range)
{
    const atoll_init_params p = g.of.init;
    EACH_CHUNK(i, range)
    {
        const atoll_u64 c = range.begin + i;
        atoll_words w = atoll_value_words(&p, c / 2);
        atoll_u64 low = p.low + __umulhi(c & 1 ? w.c : w.a, (unsigned)p.span),
                  high = p.low + __umulhi(c & 1 ? w.d : w.b, (unsigned)p.span);
        chunk_put<64>(g, range, i, make_uint4((unsigned)low, (unsigned)(low >> 32), (unsigned)high, (unsigned)(high >> 32)));
    }
}

/* Normals as integers of 32 bits: stale fills of such outputs. */
template <int form> static __device__ __forceinline__ void rounded_tile(const atoll_region &g, chunk_range range)
{
    const atoll_init_params p = g.of.init;
    EACH_CHUNK(i, range)
    {
        const atoll_u64 c = range.begin + i;
        unsigned v[4];
#pragma unroll
        for (int k = 0; k < 2; k++) {
            atoll_words w = atoll_value_words(&p, 2 * c + k);
            v[2 * k] = (unsigned)atoll_dtype_encode(ATOLL_I32, pair_double<form>(p, w.a, w.b));
            v[2 * k + 1] = (unsigned)atoll_dtype_encode(ATOLL_I32, pair_double<form>(p, w.c, w.d));
        }
        chunk_put<32>(g, range, i, make_uint4(v[0], v[1], v[2], v[3]));
    }
}

/* Every element is the first one. */
ATOLL_INLINE void constant_tile(const atoll_region &g, chunk_range range)
{
    const unsigned bytes = element_bytes(g.of.init.dtype);
    atoll_u64 bits = atoll_init_bits(&g.of.init, 0);
    for (unsigned shift = 8 * bytes; shift < 64; shift *= 2)
        bits = (bits & ((1ull << shift) - 1)) | bits << shift;
    const unsigned low = (unsigned)bits, high = (unsigned)(bits >> 32);
    EACH_CHUNK(i, range)
    {
        if (i < range.whole)
            ((uint4 *)g.address)[range.begin + i] = make_uint4(low, high, low, high);
        else
            chunk_split(g.address, g.count, range.begin + i, bytes, make_uint4(low, high, low, high));
    }
}

/* Forms and types that are rare, or parameters that need care. */
static __device__ __noinline__ void elements_tile(const atoll_region &g, chunk_range range)
{
    const atoll_init_params &p = g.of.init;
    unsigned bytes = element_bytes(p.dtype);
    atoll_u64 end = (range.begin + range.count) * (16 / bytes);
    end = end < g.count ? end : g.count;
    for (atoll_u64 i = range.begin * (16 / bytes) + threadIdx.x; i < end; i += blockDim.x)
        element_put(g.address, i, bytes, atoll_init_bits(&p, i));
}

/* ---- which loop makes a region ---- */

template <int bits> static __device__ __forceinline__ void singles_choose(const atoll_region &g, chunk_range range)
{
    switch (g.of.init.form) {
    case ATOLL_VALUE_NORMAL: singles_tile<ATOLL_VALUE_NORMAL, bits>(g, range); break;
    case ATOLL_VALUE_NORMAL_SIGNED: singles_tile<ATOLL_VALUE_NORMAL_SIGNED, bits>(g, range); break;
    case ATOLL_VALUE_NORMAL_TIES: singles_tile<ATOLL_VALUE_NORMAL_TIES, bits>(g, range); break;
    case ATOLL_VALUE_NORMAL_SPARSE: singles_tile<ATOLL_VALUE_NORMAL_SPARSE, bits>(g, range); break;
    case ATOLL_VALUE_UNIFORM: singles_tile<ATOLL_VALUE_UNIFORM, bits>(g, range); break;
    case ATOLL_VALUE_UNIFORM_SIGNED: singles_tile<ATOLL_VALUE_UNIFORM_SIGNED, bits>(g, range); break;
    case ATOLL_VALUE_UNIFORM_TIES: singles_tile<ATOLL_VALUE_UNIFORM_TIES, bits>(g, range); break;
    case ATOLL_VALUE_UNIFORM_SPARSE: singles_tile<ATOLL_VALUE_UNIFORM_SPARSE, bits>(g, range); break;
    }
}

ATOLL_INLINE void doubles_choose(const atoll_region &g, chunk_range range)
{
    switch (g.of.init.form) {
    case ATOLL_VALUE_NORMAL: doubles_tile<ATOLL_VALUE_NORMAL>(g, range); break;
    case ATOLL_VALUE_NORMAL_SIGNED: doubles_tile<ATOLL_VALUE_NORMAL_SIGNED>(g, range); break;
    case ATOLL_VALUE_NORMAL_TIES: doubles_tile<ATOLL_VALUE_NORMAL_TIES>(g, range); break;
    case ATOLL_VALUE_NORMAL_SPARSE: doubles_tile<ATOLL_VALUE_NORMAL_SPARSE>(g, range); break;
    case ATOLL_VALUE_UNIFORM: doubles_tile<ATOLL_VALUE_UNIFORM>(g, range); break;
    case ATOLL_VALUE_UNIFORM_SIGNED: doubles_tile<ATOLL_VALUE_UNIFORM_SIGNED>(g, range); break;
    case ATOLL_VALUE_UNIFORM_TIES: doubles_tile<ATOLL_VALUE_UNIFORM_TIES>(g, range); break;
    case ATOLL_VALUE_UNIFORM_SPARSE: doubles_tile<ATOLL_VALUE_UNIFORM_SPARSE>(g, range); break;
    }
}

/* Nothing overflows on the way, so nothing is NaN; written so that NaN is not tame. */
ATOLL_INLINE bool is_tame(const atoll_init_params &p)
{
    return fabsf(p.a_single) + fabsf(p.step_single) * 0x1p20f + fabsf(p.bend) * 0x1p60f < 0x1p126f;
}

/* Values low .. low + span - 1 are the dtype's, and of single precision where it is a float. */
ATOLL_INLINE bool is_plain(const atoll_init_params &p)
{
    const int dtype = p.dtype;
    long long least = dtype == ATOLL_I32   ? -0x80000000ll
                      : dtype == ATOLL_I16 ? -0x8000
                      : dtype == ATOLL_I8  ? -0x80
                      : dtype == ATOLL_U8  ? 0
                                           : -0x1000000;
    long long most = dtype == ATOLL_U8 ? 0xff : dtype == ATOLL_I32 || dtype == ATOLL_I16 || dtype == ATOLL_I8 ? -1 - least : -least;
    return p.words == 1 && p.low >= least && p.low <= most && p.span - 1 <= most - p.low;
}

ATOLL_INLINE bool integers_choose(const atoll_region &g, chunk_range range)
{
    unsigned bytes = element_bytes(g.of.init.dtype);
    if (g.of.init.dtype == ATOLL_I64 && g.of.init.words == 1 && llabs(g.of.init.low) <= 1ll << 52)
        wide_integers_tile(g, range);
    else if (bytes == 8 || !is_plain(g.of.init))
        return false;
    else if (bytes == 4)
        integers_tile<32>(g, range);
    else if (bytes == 2)
        integers_tile<16>(g, range);
    else
        integers_tile<8>(g, range);
    return true;
}

ATOLL_INLINE void init_tile(const atoll_region &g, chunk_range range)
{
    const int form = g.of.init.form, dtype = g.of.init.dtype;
    const bool is_f8 = dtype == ATOLL_F8E4M3 || dtype == ATOLL_F8E5M2;
    if (form == ATOLL_VALUE_INTEGER && !is_f8 && integers_choose(g, range))
        return;
    if (form == ATOLL_VALUE_CONSTANT)
        constant_tile(g, range);
    else if (form == ATOLL_VALUE_NORMAL && dtype == ATOLL_I32 && g.of.init.words == 2)
        rounded_tile<ATOLL_VALUE_NORMAL>(g, range);
    else if (form > ATOLL_VALUE_UNIFORM_SIGNED || (is_f8 && !HAS_F8) || (dtype != ATOLL_F64 && !(ATOLL_VALUE_IS_SINGLE(dtype) && is_tame(g.of.init))))
        elements_tile(g, range);
    else if (dtype == ATOLL_F64)
        doubles_choose(g, range);
    else if (dtype == ATOLL_F32)
        singles_choose<32>(g, range);
    else if (!is_f8)
        singles_choose<16>(g, range);
    else if (HAS_F8)
        singles_choose<8>(g, range);
}

/* ---- fills ---- */

/* A chunk of a fill is a block of a stream of its own, bit for bit; an element is made of the bits in its place. */
ATOLL_INLINE atoll_words fill_words(const atoll_fill_params &f, atoll_u64 chunk)
{
    return atoll_philox(f.key, chunk, 2);
}

/* random: as many bits as an element has. */
ATOLL_INLINE atoll_u64 fill_element(const atoll_fill_params &f, unsigned bits, atoll_u64 random)
{
    if (f.form == ATOLL_FILL_FORM_FLOAT)
        return (f.top - (random & f.mask)) | (random & f.sign);
    return bits < 32 ? random * f.top >> bits : (atoll_u64)(unsigned)random * f.top >> 32;
}

/* Element `index` of a fill. */
ATOLL_INLINE atoll_u64 fill_bits(const atoll_fill_params &f, atoll_u64 index)
{
    if (f.form == ATOLL_FILL_FORM_BITS)
        return f.top;
    if (f.form == ATOLL_FILL_FORM_NORMAL) {
        atoll_init_params p = {};
        p.key = f.key;
        p.dtype = f.dtype;
        atoll_value_normal_settle(&p, f.scale);
        return atoll_init_bits(&p, index);
    }
    const unsigned bytes = element_bytes(f.dtype), at = (unsigned)(index * bytes) & 15;
    const atoll_words w = fill_words(f, index * bytes / 16);
    const atoll_u64 half = at & 8 ? (atoll_u64)w.d << 32 | w.c : (atoll_u64)w.b << 32 | w.a;
    return fill_element(f, 8 * bytes, half >> 8 * (at & 7) & ~0ull >> (64 - 8 * bytes));
}

/* Form and size of an element are known when this is compiled.  Elements of a word do not borrow from each other, since what
 * is taken away is never more than what is there. */
template <int form, int bits> static __device__ __forceinline__ void fill_tile(const atoll_region &g, chunk_range range)
{
    const int per_word = bits < 32 ? 32 / bits : 1;
    const unsigned each = bits == 8 ? 0x01010101u : bits == 16 ? 0x00010001u : 1;
    atoll_fill_params f = g.of.fill;
    const unsigned top = (unsigned)f.top * each, mask = (unsigned)f.mask * each, sign = (unsigned)f.sign * each;
    f.form = form;
    EACH_CHUNK(i, range)
    {
        unsigned words[4] = {top, top, top, top};
        if (form == ATOLL_FILL_FORM_BITS) {
            if (bits == 64)
                words[1] = words[3] = (unsigned)(f.top >> 32);
            chunk_put<bits>(g, range, i, make_uint4(words[0], words[1], words[2], words[3]));
            continue;
        }
        const atoll_words w = fill_words(f, range.begin + i);
        const unsigned random[4] = {w.a, w.b, w.c, w.d};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (bits == 64) {
                if (k % 2)
                    continue;
                atoll_u64 v = fill_element(f, 64, (atoll_u64)random[k + 1 & 3] << 32 | random[k]);
                words[k] = (unsigned)v;
                words[k + 1 & 3] = (unsigned)(v >> 32);
            } else if (form == ATOLL_FILL_FORM_FLOAT) {
                words[k] = (top - (random[k] & mask)) | (random[k] & sign);
            } else {
                words[k] = 0;
#pragma unroll
                for (int e = 0; e < per_word; e++)
                    words[k] |= (unsigned)fill_element(f, bits, random[k] >> e * bits % 32 & ~0u >> (32 - bits) % 32) << e * bits % 32;
            }
        }
        chunk_put<bits>(g, range, i, make_uint4(words[0], words[1], words[2], words[3]));
    }
}

template <int bits> static __device__ __forceinline__ void fill_choose(const atoll_region &g, chunk_range range)
{
    switch (g.of.fill.form) {
    case ATOLL_FILL_FORM_BITS: fill_tile<ATOLL_FILL_FORM_BITS, bits>(g, range); break;
    case ATOLL_FILL_FORM_FLOAT: fill_tile<ATOLL_FILL_FORM_FLOAT, bits>(g, range); break;
    case ATOLL_FILL_FORM_INTEGER: fill_tile<ATOLL_FILL_FORM_INTEGER, bits>(g, range); break;
    }
}

ATOLL_INLINE void fill_any(const atoll_region &g, chunk_range range)
{
    unsigned bytes = element_bytes(g.of.fill.dtype);
    if (bytes == 8)
        fill_choose<64>(g, range);
    else if (bytes == 4)
        fill_choose<32>(g, range);
    else if (bytes == 2)
        fill_choose<16>(g, range);
    else
        fill_choose<8>(g, range);
}

/* ---- guards ---- */

/* Words 2 * chunk and 2 * chunk + 1 of a guard zone. */
ATOLL_INLINE uint4 guard_chunk(atoll_u64 key, atoll_u64 chunk)
{
    atoll_words w = atoll_philox(key, chunk, 1);
    return make_uint4(w.a, w.b, w.c, w.d);
}

ATOLL_INLINE void guard_tile(const atoll_region &g, chunk_range range)
{
    EACH_CHUNK(i, range) chunk_put<64>(g, range, i, guard_chunk(g.of.key, range.begin + i));
}

/* ---- all of a sample ---- */

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK, 4) atoll_contents_kernel(const __grid_constant__ atoll_contents_launch p)
{
    unsigned region = 0, begun = 0; /* first tile of the region */
    for (unsigned tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        for (; tile >= p.regions[region].tile_end; region++)
            begun = p.regions[region].tile_end;
        const atoll_region &g = p.regions[region];
        const unsigned bytes = g.kind == ATOLL_REGION_GUARD  ? 8
                               : g.kind == ATOLL_REGION_FILL ? element_bytes(g.of.fill.dtype)
                                                             : element_bytes(g.of.init.dtype);
        const atoll_u64 first = (atoll_u64)(tile - begun) * p.tile_chunks, all = g.count * bytes;
        const atoll_u64 left = (all + 15) / 16 - first, whole = g.address & 15 || all / 16 < first ? 0 : all / 16 - first;
        chunk_range range = {first, left < p.tile_chunks ? (unsigned)left : p.tile_chunks,
                             whole < p.tile_chunks ? (unsigned)whole : p.tile_chunks};
        if (g.kind == ATOLL_REGION_GUARD)
            guard_tile(g, range);
        else if (g.kind == ATOLL_REGION_FILL)
            fill_any(g, range);
        else
            init_tile(g, range);
    }
}

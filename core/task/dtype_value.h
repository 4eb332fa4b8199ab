/* dtype_value.h - one element of a dtype as bits and as a number, the same on hosts and devices.
 * Layer: core.  Header-only in the common subset of C11 and CUDA C++ (random.h says how); dtype.c is the fast form of
 * the same for whole arrays.  Small floats are rounded once, from double, to nearest even, by integer arithmetic. */
#ifndef ATOLL_CORE_TASK_DTYPE_VALUE_H
#define ATOLL_CORE_TASK_DTYPE_VALUE_H

#include "core/task/dtype.h"
#include "base/random.h"

#ifdef __CUDACC__
ATOLL_INLINE atoll_u64 atoll_bits_of(double v)
{
    return (atoll_u64)__double_as_longlong(v);
}
ATOLL_INLINE double atoll_double_of(atoll_u64 bits)
{
    return __longlong_as_double((long long)bits);
}
ATOLL_INLINE unsigned atoll_float_bits(float v)
{
    return __float_as_uint(v);
}
ATOLL_INLINE float atoll_float_of(unsigned bits)
{
    return __uint_as_float(bits);
}
/* By instruction, so that no option of the compiler flushes what is subnormal. */
ATOLL_INLINE double atoll_widen(float v)
{
    double wide;
    asm("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(v));
    return wide;
}
ATOLL_INLINE float atoll_narrow(double v)
{
    float narrow;
    asm("cvt.rn.f32.f64 %0, %1;" : "=f"(narrow) : "d"(v));
    return narrow;
}
/* Never contracted into one rounding. */
#define ATOLL_MUL(x, y)        __dmul_rn(x, y)
#define ATOLL_ADD(x, y)        __dadd_rn(x, y)
#define ATOLL_MUL_SINGLE(x, y) __fmul_rn(x, y)
#define ATOLL_ADD_SINGLE(x, y) __fadd_rn(x, y)
#define ATOLL_RINT(x)          rint(x)
#else
ATOLL_INLINE atoll_u64 atoll_bits_of(double v)
{
    union {
        double value;
        atoll_u64 bits;
    } u = {v};
    return u.bits;
}
ATOLL_INLINE double atoll_double_of(atoll_u64 bits)
{
    union {
        atoll_u64 bits;
        double value;
    } u = {bits};
    return u.value;
}
ATOLL_INLINE unsigned atoll_float_bits(float v)
{
    union {
        float value;
        unsigned bits;
    } u = {v};
    return u.bits;
}
ATOLL_INLINE float atoll_float_of(unsigned bits)
{
    union {
        unsigned bits;
        float value;
    } u = {bits};
    return u.value;
}
ATOLL_INLINE double atoll_widen(float v)
{
    return (double)v;
}
ATOLL_INLINE float atoll_narrow(double v)
{
    return (float)v;
}
#define ATOLL_MUL(x, y)        ((x) * (y)) /* the project is built with -ffp-contract=off */
#define ATOLL_ADD(x, y)        ((x) + (y))
#define ATOLL_MUL_SINGLE(x, y) ((x) * (y))
#define ATOLL_ADD_SINGLE(x, y) ((x) + (y))
#define ATOLL_RINT(x)          __builtin_rint(x)
#endif

/* A float of `mantissa` bits of fraction; infinity: what overflows becomes; largest: the largest finite one. */
ATOLL_INLINE unsigned atoll_small_encode(double value, int mantissa, int bias, unsigned infinity,
                                         unsigned largest, unsigned nan, unsigned sign_bit)
{
    atoll_u64 bits = atoll_bits_of(value), magnitude = bits & 0x7fffffffffffffffull;
    unsigned sign = bits >> 63 ? sign_bit : 0u;
    int exponent = (int)(magnitude >> 52) - 1023, least = 1 - bias;
    if (magnitude > 0x7ff0000000000000ull)
        return sign | nan;
    if (exponent > bias + 1)
        return sign | infinity;
    int drop = 52 - mantissa + (exponent < least ? least - exponent : 0);
    if (drop > 54)
        return sign;
    atoll_u64 whole = (magnitude & 0xfffffffffffffull) | 0x10000000000000ull, unit = 1ull << drop;
    atoll_u64 units = whole >> drop, rest = whole & (unit - 1);
    units += rest + (units & 1) > unit >> 1;
    /* A carry into the next exponent is what the plain sum gives; a subnormal has no implicit bit to take away. */
    unsigned code = ((unsigned)((exponent < least ? least : exponent) - least) << mantissa) + (unsigned)units;
    return sign | (code > largest ? infinity : code);
}

/* Nearest even, saturated; NaN becomes 0. */
ATOLL_INLINE long long atoll_integer_of(double value, double low, double high)
{
    double rounded = ATOLL_RINT(value);
    rounded = rounded < low ? low : rounded;
    rounded = rounded > high ? high : rounded;
    return rounded == rounded ? (long long)rounded : 0;
}

ATOLL_INLINE long long atoll_i64_of(double value)
{
    double rounded = ATOLL_RINT(value);
    if (rounded >= 9223372036854775808.0)
        return 0x7fffffffffffffffll;
    if (!(rounded >= -9223372036854775808.0))
        return rounded == rounded ? -0x7fffffffffffffffll - 1 : 0;
    return (long long)rounded;
}

/* The element's bits, in the low bits of the word. */
ATOLL_INLINE atoll_u64 atoll_dtype_encode(int t, double v)
{
    switch (t) {
    case ATOLL_F64: return atoll_bits_of(v);
    case ATOLL_F32: return atoll_float_bits(atoll_narrow(v));
    case ATOLL_F16: return atoll_small_encode(v, 10, 15, 0x7c00, 0x7bff, 0x7e00, 0x8000);
    case ATOLL_BF16: return atoll_small_encode(v, 7, 127, 0x7f80, 0x7f7f, 0x7fc0, 0x8000);
    case ATOLL_F8E4M3: return atoll_small_encode(v, 3, 7, 0x7e, 0x7e, 0x7f, 0x80);
    case ATOLL_F8E5M2: return atoll_small_encode(v, 2, 15, 0x7b, 0x7b, 0x7e, 0x80);
    case ATOLL_I64: return (atoll_u64)atoll_i64_of(v);
    case ATOLL_I32: return (atoll_u64)atoll_integer_of(v, -2147483648.0, 2147483647.0) & 0xffffffffull;
    case ATOLL_I16: return (atoll_u64)atoll_integer_of(v, -32768.0, 32767.0) & 0xffff;
    case ATOLL_I8: return (atoll_u64)atoll_integer_of(v, -128.0, 127.0) & 0xff;
    case ATOLL_U8: return (atoll_u64)atoll_integer_of(v, 0.0, 255.0);
    default: return 0;
    }
}

ATOLL_INLINE double atoll_half_value(unsigned bits)
{
    unsigned magnitude = bits & 0x7fffu, wide = magnitude << 13, sign = (bits & 0x8000u) << 16;
    if (magnitude >= 0x7c00u)
        return atoll_widen(atoll_float_of(sign | wide | 0x7f800000u));
    return atoll_widen(atoll_float_of(sign | wide)) * 5192296858534827628530496329220096.0; /* 2^112 */
}

ATOLL_INLINE double atoll_e4m3_value(unsigned bits)
{
    double value = atoll_half_value((bits & 0x80u) << 8 | (bits & 0x7fu) << 7) * 256.0;
    return (bits & 0x7fu) == 0x7fu ? atoll_double_of(0x7ff8000000000000ull) : value;
}

/* The number that the element's bits are; bits above the element's are ignored. */
ATOLL_INLINE double atoll_dtype_decode(int t, atoll_u64 bits)
{
    switch (t) {
    case ATOLL_F64: return atoll_double_of(bits);
    case ATOLL_F32: return atoll_widen(atoll_float_of((unsigned)(bits & 0xffffffffull)));
    case ATOLL_F16: return atoll_half_value((unsigned)(bits & 0xffffu));
    case ATOLL_BF16: return atoll_widen(atoll_float_of((unsigned)(bits & 0xffffu) << 16));
    case ATOLL_F8E4M3: return atoll_e4m3_value((unsigned)(bits & 0xffu));
    case ATOLL_F8E5M2: return atoll_half_value((unsigned)(bits & 0xffu) << 8);
    case ATOLL_I64: return (double)(long long)bits;
    case ATOLL_I32: return (double)(int)(unsigned)(bits & 0xffffffffull);
    case ATOLL_I16: return (double)(short)(unsigned short)(bits & 0xffffu);
    case ATOLL_I8: return (double)(signed char)(unsigned char)(bits & 0xffu);
    case ATOLL_U8: return (double)(unsigned)(bits & 0xffu);
    default: return 0;
    }
}

#endif

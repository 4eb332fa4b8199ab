/* dtype.c - conversions by bits, so that every machine gives the same: small floats are rounded once, from
 * double, to nearest even.  F8E4M3 and F8E5M2 follow the OCP 8-bit floating point specification 1.0 in its
 * saturating mode. */
#include "core/task/dtype.h"

#include <math.h>
#include <string.h>

#include "base/wide.h"

struct small_float {
    int mantissa_bits, exponent_bias;
    uint32_t infinity; /* bits of it, or of the first NaN pattern above the largest number */
    uint32_t largest;  /* bits of the largest finite number */
    uint32_t nan, sign;
    int saturates;
};

static const struct small_float half = {10, 15, 0x7c00, 0x7bff, 0x7e00, 0x8000, 0};
static const struct small_float brain = {7, 127, 0x7f80, 0x7f7f, 0x7fc0, 0x8000, 0};
static const struct small_float e4m3 = {3, 7, 0x7f, 0x7e, 0x7f, 0x80, 1};
static const struct small_float e5m2 = {2, 15, 0x7c, 0x7b, 0x7e, 0x80, 1};

static const struct {
    const char *name, *c_type;
    size_t bytes;
    int is_float;
} types[ATOLL_DTYPE_COUNT] = {
    [ATOLL_F64] = {"f64", "double", 8, 1},        [ATOLL_F32] = {"f32", "float", 4, 1},
    [ATOLL_F16] = {"f16", "uint16_t", 2, 1},      [ATOLL_BF16] = {"bf16", "uint16_t", 2, 1},
    [ATOLL_F8E4M3] = {"f8e4m3", "uint8_t", 1, 1}, [ATOLL_F8E5M2] = {"f8e5m2", "uint8_t", 1, 1},
    [ATOLL_I64] = {"i64", "int64_t", 8, 0},       [ATOLL_I32] = {"i32", "int32_t", 4, 0},
    [ATOLL_I16] = {"i16", "int16_t", 2, 0},       [ATOLL_I8] = {"i8", "int8_t", 1, 0},
    [ATOLL_U8] = {"u8", "uint8_t", 1, 0},
};

const char *atoll_dtype_name(enum atoll_dtype t)
{
    return (unsigned)t < ATOLL_DTYPE_COUNT ? types[t].name : "unknown";
}

int atoll_dtype_parse(const char *name, enum atoll_dtype *ret_dtype)
{
    for (unsigned t = 0; t < ATOLL_DTYPE_COUNT; t++) {
        if (strcmp(types[t].name, name) == 0) {
            *ret_dtype = (enum atoll_dtype)t;
            return 0;
        }
    }
    return -1;
}

const char *atoll_dtype_names(void)
{
    return "f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8";
}

size_t atoll_dtype_bytes(enum atoll_dtype t)
{
    return (unsigned)t < ATOLL_DTYPE_COUNT ? types[t].bytes : 0;
}

int atoll_dtype_is_float(enum atoll_dtype t)
{
    return (unsigned)t < ATOLL_DTYPE_COUNT ? types[t].is_float : 0;
}

const char *atoll_dtype_c_type(enum atoll_dtype t)
{
    return (unsigned)t < ATOLL_DTYPE_COUNT ? types[t].c_type : "void";
}

static inline uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* Exponent 2^e as a double, -1022 <= e <= 1023. */
static inline double power_of_two(int e)
{
    return double_of((uint64_t)(e + 1023) << 52);
}

static inline double decode(const struct small_float *f, uint32_t bits)
{
    uint32_t magnitude = bits & (f->sign - 1);
    double sign = bits & f->sign ? -1.0 : 1.0;
    if (magnitude >= f->infinity)
        return sign * (magnitude == f->infinity && f->infinity != f->nan ? HUGE_VAL : (double)NAN);
    int exponent = (int)(magnitude >> f->mantissa_bits);
    uint32_t fraction = magnitude & ((1u << f->mantissa_bits) - 1);
    if (exponent == 0)
        return sign * (double)fraction * power_of_two(1 - f->exponent_bias - f->mantissa_bits);
    fraction |= 1u << f->mantissa_bits;
    return sign * (double)fraction * power_of_two(exponent - f->exponent_bias - f->mantissa_bits);
}

static inline uint32_t encode(const struct small_float *f, double value)
{
    uint64_t bits = bits_of(value);
    uint32_t sign = bits >> 63 ? f->sign : 0;
    double magnitude = double_of(bits & INT64_MAX);
    if (!(magnitude <= HUGE_VAL))
        return sign | f->nan;
    uint32_t overflow = f->saturates ? f->largest : f->infinity;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023, smallest = 1 - f->exponent_bias;
    if (exponent > f->exponent_bias + 1)
        return sign | overflow;
    exponent = exponent < smallest ? smallest : exponent;
    /* Adding and taking away 2^52 units in the last place leaves a whole number of them, rounded to nearest
     * even. */
    double shift = power_of_two(exponent - f->mantissa_bits + 52);
    double units = ((magnitude + shift) - shift) * power_of_two(f->mantissa_bits - exponent);
    /* A carry into the next exponent is what the plain sum gives; a subnormal has no implicit bit to take
     * away. */
    uint32_t code = (uint32_t)((exponent - smallest) << f->mantissa_bits) + (uint32_t)units;
    return sign | (code > f->largest ? overflow : code);
}

/* Nearest even, saturated to [low, high]; NaN becomes 0. */
static inline double integer_of(double value, double low, double high)
{
    double rounded = rint(value);
    rounded = rounded < low ? low : rounded;
    rounded = rounded > high ? high : rounded;
    return rounded == rounded ? rounded : 0.0;
}

static inline int64_t i64_of(double value)
{
    double rounded = rint(value);
    if (rounded >= 9223372036854775808.0)
        return INT64_MAX;
    if (!(rounded >= -9223372036854775808.0))
        return rounded == rounded ? INT64_MIN : 0;
    return (int64_t)rounded;
}

/* One row per type: how element i of p is read, and what v becomes in it. */
#define EACH_TYPE(CASE)                                                                                      \
    CASE(ATOLL_F64, double, p[i], v)                                                                         \
    CASE(ATOLL_F32, float, (double)p[i], (float)v)                                                           \
    CASE(ATOLL_F16, uint16_t, decode(&half, p[i]), (uint16_t)encode(&half, v))                               \
    CASE(ATOLL_BF16, uint16_t, decode(&brain, p[i]), (uint16_t)encode(&brain, v))                            \
    CASE(ATOLL_F8E4M3, uint8_t, decode(&e4m3, p[i]), (uint8_t)encode(&e4m3, v))                              \
    CASE(ATOLL_F8E5M2, uint8_t, decode(&e5m2, p[i]), (uint8_t)encode(&e5m2, v))                              \
    CASE(ATOLL_I64, int64_t, (double)p[i], i64_of(v))                                                        \
    CASE(ATOLL_I32, int32_t, (double)p[i], (int32_t)integer_of(v, INT32_MIN, INT32_MAX))                     \
    CASE(ATOLL_I16, int16_t, (double)p[i], (int16_t)integer_of(v, INT16_MIN, INT16_MAX))                     \
    CASE(ATOLL_I8, int8_t, (double)p[i], (int8_t)integer_of(v, INT8_MIN, INT8_MAX))                          \
    CASE(ATOLL_U8, uint8_t, (double)p[i], (uint8_t)integer_of(v, 0, UINT8_MAX))

#define LOAD_CASE(t, c_type, load, store)                                                                    \
    case t: {                                                                                                \
        const c_type *p = base;                                                                              \
        for (size_t i = 0; i < count; i++) {                                                                 \
            ret_values[i] = load;                                                                            \
        }                                                                                                    \
        break;                                                                                               \
    }

#define STORE_CASE(t, c_type, load, store)                                                                   \
    case t: {                                                                                                \
        c_type *p = base;                                                                                    \
        for (size_t i = 0; i < count; i++) {                                                                 \
            double v = values[i];                                                                            \
            p[i] = store;                                                                                    \
        }                                                                                                    \
        break;                                                                                               \
    }

/* The one that most tensors have. */
ATOLL_WIDE_BODY void load_f32_body(const float *p, size_t count, double *ret_values)
{
    for (size_t i = 0; i < count; i++)
        ret_values[i] = (double)p[i];
}
ATOLL_WIDE_FUNCTION(void, load_f32, (const float *p, size_t count, double *ret_values),
                    (p, count, ret_values))

ATOLL_WIDE_BODY void store_f32_body(float *p, size_t count, const double *values)
{
    for (size_t i = 0; i < count; i++)
        p[i] = (float)values[i];
}
ATOLL_WIDE_FUNCTION(void, store_f32, (float *p, size_t count, const double *values), (p, count, values))

void atoll_dtype_load_array(enum atoll_dtype t, const void *base, size_t count, double *ret_values)
{
    if (t == ATOLL_F32 && count > 1) {
        load_f32(base, count, ret_values);
        return;
    }
    switch (t) {
        EACH_TYPE(LOAD_CASE)
    case ATOLL_DTYPE_COUNT: break;
    }
}

void atoll_dtype_store_array(enum atoll_dtype t, void *base, size_t count, const double *values)
{
    if (t == ATOLL_F32 && count > 1) {
        store_f32(base, count, values);
        return;
    }
    switch (t) {
        EACH_TYPE(STORE_CASE)
    case ATOLL_DTYPE_COUNT: break;
    }
}

double atoll_dtype_load(enum atoll_dtype t, const void *base, size_t index)
{
    double value = 0.0;
    atoll_dtype_load_array(t, (const char *)base + index * atoll_dtype_bytes(t), 1, &value);
    return value;
}

void atoll_dtype_store(enum atoll_dtype t, void *base, size_t index, double value)
{
    atoll_dtype_store_array(t, (char *)base + index * atoll_dtype_bytes(t), 1, &value);
}

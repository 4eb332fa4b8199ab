"""What turns numbers of 16 bits into floats and back in a seed, by language."""

HELPERS = {
    "cuda": {
        "from_bf16": """static __device__ float from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}
""",
        "to_bf16": """static __device__ unsigned short to_bf16(float v)
{
    unsigned u = __float_as_uint(v);
    if (v != v)
        return 0x7fff;
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}
""",
        "from_f16": """static __device__ float from_f16(unsigned short bits)
{
    return __half2float(__ushort_as_half(bits));
}
""",
        "to_f16": """static __device__ unsigned short to_f16(float v)
{
    return __half_as_ushort(__float2half_rn(v));
}
"""},
    "c": {
        "from_bf16": """static float from_bf16(unsigned short bits)
{
    union {
        unsigned u;
        float f;
    } both = {(unsigned)bits << 16};
    return both.f;
}
""",
        "to_bf16": """static unsigned short to_bf16(float v)
{
    union {
        float f;
        unsigned u;
    } both = {v};
    if (v != v)
        return 0x7fff;
    return (unsigned short)((both.u + 0x7fffu + (both.u >> 16 & 1u)) >> 16);
}
""",
        "from_f16": """static float from_f16(unsigned short bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float v = exponent == 31 ? (fraction ? NAN : INFINITY)
                             : ldexpf((float)(exponent ? fraction + 1024 : fraction), (exponent ? exponent : 1) - 25);
    return bits >> 15 ? -v : v;
}
""",
        "to_f16": """static unsigned short to_f16(float v)
{
    unsigned sign = signbit(v) ? 0x8000u : 0u;
    int exponent;
    float size = fabsf(v);
    if (v != v)
        return 0x7fff;
    if (size >= 65520.0f)
        return (unsigned short)(sign | 0x7c00u);
    if (size < 6.103515625e-05f)
        return (unsigned short)(sign | (unsigned)rintf(size * 16777216.0f));
    size = frexpf(size, &exponent);
    return (unsigned short)(sign | (unsigned)((exponent + 13) * 1024 + (int)rintf(size * 2048.0f)));
}
"""}}

/* Three quarters of a parsed <immintrin.h> are for AVX-512 and AMX.  A unit compiles to the same without them where it uses no name of
 * theirs.  If it uses one nevertheless, it does not compile, and is compiled again by itself; so the words below save time, but for
 * macros, which an #if may ask for.  What would compile either way is a unit that declares such a name itself. */
#include "mpi-eval/backend/cpu/compile/vector_headers.h"

#include <stddef.h>
#include <string.h>

/* Beginnings of their macros and of most of what else they declare; of what writes names in parts; and targets of one's own. */
static const char *const wide_words[] = {
    "##",
    "target",
    "__target__",
    "__mmask",
    "_mm_mask_",
    "_mm_maskz_",
    "_mm_mask3_",
    "_mm256_mask_",
    "_mm256_maskz_",
    "_mm256_mask3_",
    "_k",
    "_cvtmask",
    "_cvtu",
    "_tile_",
    "__tile",
    "_MM_CMPINT",
    "_MM_MANT",
    "_MM_PERM",
    "_MM_TERNLOG",
    "_mm_cmul",
    "_mm256_cmul",
    "_mm_mul_pch",
    "_mm_mul_sch",
    "_mm_mul_round",
    "_mm256_mul_pch",
    "_mm_cmp_ph",
    "_mm256_cmp_ph",
    "_mm_dpb",
    "_mm_dpw",
    "_mm256_dpb",
    "_mm256_dpw",
    "_mm256_permutexvar",
    "_mm_rcp28",
    "_mm_rsqrt28",
    "_mm_gf2p8",
    "_mm256_gf2p8",
    "_mm256_aes",
    "_mm256_clmul",
    NULL,
};

/* Units often name these where __AVX512F__ is defined, which it is not; without a target of one's own they do not compile otherwise. */
static const char *const asked_words[] = {"_mm512", "_MM512", "__m512", NULL};

/* The guards of these headers in gcc 12 to 14.  What is missing here makes the rest fail to parse, or is parsed as before.  Without
 * optimization functions are macros, of which #if may ask. */
static const char without_wide[] =
    "#if defined(__AVX512F__) || defined(__AMX_TILE__) || !defined(__OPTIMIZE__)\n"
    "#error all of it\n"
    "#endif\n"
    "#define _AMXBF16INTRIN_H_INCLUDED\n"
    "#define _AMXCOMPLEXINTRIN_H_INCLUDED\n"
    "#define _AMXFP16INTRIN_H_INCLUDED\n"
    "#define _AMXINT8INTRIN_H_INCLUDED\n"
    "#define _AMXTILEINTRIN_H_INCLUDED\n"
    "#define _AVX5124FMAPSINTRIN_H_INCLUDED\n"
    "#define _AVX5124VNNIWINTRIN_H_INCLUDED\n"
    "#define _AVX512BF16INTRIN_H_INCLUDED\n"
    "#define _AVX512BF16VLINTRIN_H_INCLUDED\n"
    "#define _AVX512BITALGINTRIN_H_INCLUDED\n"
    "#define _AVX512BITALGVLINTRIN_H_INCLUDED\n"
    "#define _AVX512BWINTRIN_H_INCLUDED\n"
    "#define _AVX512CDINTRIN_H_INCLUDED\n"
    "#define _AVX512DQINTRIN_H_INCLUDED\n"
    "#define _AVX512ERINTRIN_H_INCLUDED\n"
    "#define _AVX512FINTRIN_H_INCLUDED\n"
    "#define __AVX512FP16INTRIN_H_INCLUDED\n"
    "#define __AVX512FP16VLINTRIN_H_INCLUDED\n"
    "#define _AVX512IFMAINTRIN_H_INCLUDED\n"
    "#define _AVX512IFMAVLINTRIN_H_INCLUDED\n"
    "#define _AVX512PFINTRIN_H_INCLUDED\n"
    "#define __AVX512VBMI2INTRIN_H_INCLUDED\n"
    "#define _AVX512VBMI2VLINTRIN_H_INCLUDED\n"
    "#define _AVX512VBMIINTRIN_H_INCLUDED\n"
    "#define _AVX512VBMIVLINTRIN_H_INCLUDED\n"
    "#define _AVX512VLINTRIN_H_INCLUDED\n"
    "#define _AVX512VLBWINTRIN_H_INCLUDED\n"
    "#define _AVX512VLDQINTRIN_H_INCLUDED\n"
    "#define __AVX512VNNIINTRIN_H_INCLUDED\n"
    "#define _AVX512VNNIVLINTRIN_H_INCLUDED\n"
    "#define _AVX512VP2INTERSECTINTRIN_H_INCLUDED\n"
    "#define _AVX512VP2INTERSECTVLINTRIN_H_INCLUDED\n"
    "#define _AVX512VPOPCNTDQINTRIN_H_INCLUDED\n"
    "#define _AVX512VPOPCNTDQVLINTRIN_H_INCLUDED\n"
    "#define _GFNIINTRIN_H_INCLUDED\n" /* these have vectors of 64 bytes as well */
    "#define __VAESINTRIN_H_INCLUDED\n"
    "#define _VPCLMULQDQINTRIN_H_INCLUDED\n";

const struct atoll_parsed_header atoll_vector_headers[] = {
    {"immintrin.h", "narrow-immintrin.h", without_wide, wide_words, asked_words, atoll_vector_headers_suit},
    {"x86intrin.h", "narrow-x86intrin.h", without_wide, wide_words, asked_words, atoll_vector_headers_suit},
    {"immintrin.h", "immintrin.h", NULL, NULL, NULL, NULL},
    {"x86intrin.h", "x86intrin.h", NULL, NULL, NULL, NULL},
    {"arm_neon.h", "arm_neon.h", NULL, NULL, NULL, NULL},
    {0},
};

int atoll_vector_headers_suit(const char *preprocessed)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    static const char *const begins[] = {"_mm",     "_MM",     "_tile",   "_store",  "_load", "_k",   "_cvt",
                                         "__v1",    "__v2",    "__v3",    "__v4",    "__v6",  "__v8", "__bf",
                                         "__m128b", "__m128h", "__m256b", "__m256h", "__m512"};
    long depth = 0;
    for (const char *at = preprocessed; *at; at++) {
        if (*at == '"' || *at == '\'') {
            for (char quote = *at++; *at && *at != quote && *at != '\n'; at++)
                at += *at == '\\' && at[1];
            if (!*at)
                break;
            continue;
        }
        depth += (*at == '{') - (*at == '}');
        size_t length = strspn(at, letters);
        if (!length)
            continue;
        for (size_t i = 0; depth <= 0 && i < sizeof(begins) / sizeof(*begins); i++)
            if (strncmp(at, begins[i], strlen(begins[i])) == 0)
                return 0;
        at += length - 1;
    }
    return 1;
}

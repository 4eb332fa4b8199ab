#include "core/behaviour_sign.h"

#include <string.h>
#include <strings.h>

enum match { EXACT, PREFIX, INSIDE };

/* Names whose presence is the sign. */
static const struct {
    enum match match;
    const char *text;
    enum atoll_sign category;
} names[] = {
    {PREFIX, "_mm256_", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "_mm512_", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "_mm_load", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "_mm_store", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "__m128", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "__m256", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "__m512", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "vld1", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "vst1", ATOLL_SIGN_VECTOR_TYPES},
    {PREFIX, "float32x", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "vector_size", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "ext_vector_type", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "simd", ATOLL_SIGN_SIMD_HINT},
    {EXACT, "ivdep", ATOLL_SIGN_SIMD_HINT},
    {EXACT, "vectorize", ATOLL_SIGN_SIMD_HINT},
    {EXACT, "__builtin_assume_aligned", ATOLL_SIGN_ALIGNED},
    {EXACT, "aligned", ATOLL_SIGN_ALIGNED},
    {EXACT, "alignas", ATOLL_SIGN_ALIGNED},
    {EXACT, "_Alignas", ATOLL_SIGN_ALIGNED},
    {EXACT, "__builtin_prefetch", ATOLL_SIGN_PREFETCH},
    {EXACT, "_mm_prefetch", ATOLL_SIGN_PREFETCH},
    {INSIDE, "strassen", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "winograd", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "twiddle", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "butterfly", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "karatsuba", ATOLL_SIGN_NAMED_METHOD},
    {EXACT, "reduction", ATOLL_SIGN_REDUCE_CLAUSE},
    {PREFIX, "_mm512_reduce_", ATOLL_SIGN_HORIZONTAL},
    {PREFIX, "_mm256_hadd", ATOLL_SIGN_HORIZONTAL},
    {PREFIX, "_mm_hadd", ATOLL_SIGN_HORIZONTAL},
    {PREFIX, "vaddvq", ATOLL_SIGN_HORIZONTAL},
    {PREFIX, "vmaxvq", ATOLL_SIGN_HORIZONTAL},
    {PREFIX, "__builtin_reduce_", ATOLL_SIGN_HORIZONTAL},
    {EXACT, "_mm256_extractf128_ps", ATOLL_SIGN_HORIZONTAL},
    {PREFIX, "__atomic_", ATOLL_SIGN_ATOMIC},
    {PREFIX, "__sync_", ATOLL_SIGN_ATOMIC},
    {EXACT, "_Atomic", ATOLL_SIGN_ATOMIC},
};

static int matches(const struct atoll_token *t, enum match match, const char *text)
{
    size_t n = strlen(text);
    if (match == EXACT)
        return atoll_token_is(t, text);
    if (match == PREFIX)
        return atoll_token_starts(t, text);
    for (size_t i = 0; i + n <= t->length; i++)
        if (strncasecmp(t->text + i, text, n) == 0)
            return 1;
    return 0;
}

static void see_listed(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->token_count; i++)
        for (size_t k = 0; l->tokens[i].kind == ATOLL_TOKEN_NAME && k < sizeof names / sizeof *names; k++)
            if (matches(&l->tokens[i], names[k].match, names[k].text))
                atoll_sign_mark(b, names[k].category);
}

/* Elementary functions of one's own are built around log2(e), ln 2 or 2 / pi. */
static void see_approximations(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    static const char *const constants[] = {"1.4426950", "0.6931471",  "0.69314718",
                                            "1.442695",  "0.63661977", "0x1.715476"};
    for (size_t i = 0; i < l->token_count; i++)
        for (size_t k = 0;
             l->tokens[i].kind == ATOLL_TOKEN_NUMBER && k < sizeof constants / sizeof *constants; k++)
            if (atoll_token_starts(&l->tokens[i], constants[k]))
                atoll_sign_mark(b, ATOLL_SIGN_APPROXIMATE);
}

/* A function that calls itself. */
static void see_recursion(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    const struct atoll_token *function = NULL, *name = NULL;
    int depth = 0;
    for (size_t i = 0; i < l->token_count; i++) {
        if (depth == 0 && l->tokens[i].kind == ATOLL_TOKEN_NAME && atoll_sign_is(l, i + 1, "(") &&
            !atoll_sign_is(l, i, "__attribute__"))
            name = &l->tokens[i];
        if (atoll_sign_is(l, i, "{") && depth++ == 0)
            function = name;
        if (atoll_sign_is(l, i, "}") && depth > 0)
            depth--;
        if (depth > 0 && function && atoll_sign_is(l, i + 1, "(") &&
            atoll_token_same(&l->tokens[i], function))
            atoll_sign_mark(b, ATOLL_SIGN_RECURSION);
    }
}

void atoll_sign_see_names(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    see_listed(l, b);
    see_approximations(l, b);
    see_recursion(l, b);
}

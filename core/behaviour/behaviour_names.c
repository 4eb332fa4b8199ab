#include "core/behaviour/behaviour_sign.h"

#include <string.h>
#include <strings.h>

enum match { EXACT, PREFIX, INSIDE, TEXT };

/* Names whose presence is the sign. */
struct name {
    enum match match;
    const char *text;
    enum atoll_sign category;
};

static const struct name c_names[] = {
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

/* TEXT: inside of a text, that is of inline assembly. */
static const struct name device_names[] = {
    {EXACT, "float4", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "float2", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "int4", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "int2", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "uint4", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "uint2", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "double2", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "double4", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "longlong2", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "ulonglong2", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "short4", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "ushort4", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "char4", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "uchar4", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "half2", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "__half2", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "__nv_bfloat162", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "bfloat162", ATOLL_SIGN_VECTOR_TYPES},
    {TEXT, ".v4.", ATOLL_SIGN_VECTOR_TYPES},
    {TEXT, ".v2.", ATOLL_SIGN_VECTOR_TYPES},
    {EXACT, "__align__", ATOLL_SIGN_ALIGNED},
    {EXACT, "alignas", ATOLL_SIGN_ALIGNED},
    {EXACT, "__builtin_assume_aligned", ATOLL_SIGN_ALIGNED},
    {EXACT, "__ldg", ATOLL_SIGN_CACHE_LOAD},
    {EXACT, "__ldcs", ATOLL_SIGN_CACHE_LOAD},
    {EXACT, "__ldcg", ATOLL_SIGN_CACHE_LOAD},
    {EXACT, "__ldca", ATOLL_SIGN_CACHE_LOAD},
    {EXACT, "__stcs", ATOLL_SIGN_CACHE_LOAD},
    {EXACT, "__stcg", ATOLL_SIGN_CACHE_LOAD},
    {EXACT, "make_smem_ptr", ATOLL_SIGN_SHARED_TILE},
    {TEXT, "ldmatrix", ATOLL_SIGN_SHARED_TILE},
    {TEXT, "wgmma.mma_async", ATOLL_SIGN_SHARED_TILE},
    {EXACT, "wmma", ATOLL_SIGN_FRAGMENT},
    {EXACT, "mma_sync", ATOLL_SIGN_FRAGMENT},
    {EXACT, "make_tiled_mma", ATOLL_SIGN_FRAGMENT},
    {EXACT, "TiledMMA", ATOLL_SIGN_FRAGMENT},
    {TEXT, "mma.sync", ATOLL_SIGN_FRAGMENT},
    {TEXT, "wgmma.mma_async", ATOLL_SIGN_FRAGMENT},
    {PREFIX, "memcpy_async", ATOLL_SIGN_ASYNC_COPY},
    {PREFIX, "__pipeline_memcpy", ATOLL_SIGN_ASYNC_COPY},
    {PREFIX, "cp_async", ATOLL_SIGN_ASYNC_COPY},
    {EXACT, "pipeline", ATOLL_SIGN_ASYNC_COPY},
    {EXACT, "pipeline_shared_state", ATOLL_SIGN_ASYNC_COPY},
    {EXACT, "barrier_arrive_tx", ATOLL_SIGN_ASYNC_COPY},
    {EXACT, "make_tma_copy", ATOLL_SIGN_ASYNC_COPY},
    {TEXT, "cp.async", ATOLL_SIGN_ASYNC_COPY},
    {TEXT, "mbarrier.", ATOLL_SIGN_ASYNC_COPY},
    {EXACT, "prefetch", ATOLL_SIGN_PREFETCH},
    {TEXT, "prefetch.", ATOLL_SIGN_PREFETCH},
    {INSIDE, "strassen", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "winograd", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "twiddle", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "karatsuba", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "split_k", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "splitk", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "stream_k", ATOLL_SIGN_NAMED_METHOD},
    {INSIDE, "streamk", ATOLL_SIGN_NAMED_METHOD},
    {PREFIX, "fft", ATOLL_SIGN_NAMED_METHOD},
    {EXACT, "__syncthreads", ATOLL_SIGN_BARRIER},
    {EXACT, "__syncthreads_and", ATOLL_SIGN_BARRIER},
    {EXACT, "__syncthreads_or", ATOLL_SIGN_BARRIER},
    {EXACT, "__syncthreads_count", ATOLL_SIGN_BARRIER},
    {EXACT, "__syncwarp", ATOLL_SIGN_BARRIER},
    {EXACT, "this_thread_block", ATOLL_SIGN_BARRIER},
    {TEXT, "bar.sync", ATOLL_SIGN_BARRIER},
    {TEXT, "barrier.sync", ATOLL_SIGN_BARRIER},
    {PREFIX, "__shfl", ATOLL_SIGN_SHUFFLE},
    {PREFIX, "__reduce_", ATOLL_SIGN_SHUFFLE},
    {PREFIX, "__ballot", ATOLL_SIGN_SHUFFLE},
    {PREFIX, "__any_sync", ATOLL_SIGN_SHUFFLE},
    {PREFIX, "__all_sync", ATOLL_SIGN_SHUFFLE},
    {PREFIX, "__match_", ATOLL_SIGN_SHUFFLE},
    {PREFIX, "tiled_partition", ATOLL_SIGN_SHUFFLE},
    {EXACT, "coalesced_threads", ATOLL_SIGN_SHUFFLE},
    {EXACT, "WarpReduce", ATOLL_SIGN_SHUFFLE},
    {EXACT, "WarpScan", ATOLL_SIGN_SHUFFLE},
    {EXACT, "BlockReduce", ATOLL_SIGN_SHUFFLE},
    {EXACT, "BlockScan", ATOLL_SIGN_SHUFFLE},
    {TEXT, "shfl.sync", ATOLL_SIGN_SHUFFLE},
    {TEXT, "redux.sync", ATOLL_SIGN_SHUFFLE},
    {TEXT, "vote.sync", ATOLL_SIGN_SHUFFLE},
    {EXACT, "this_grid", ATOLL_SIGN_GRID_SYNC},
    {EXACT, "grid_group", ATOLL_SIGN_GRID_SYNC},
    {EXACT, "this_cluster", ATOLL_SIGN_CLUSTER},
    {EXACT, "cluster_group", ATOLL_SIGN_CLUSTER},
    {EXACT, "map_shared_rank", ATOLL_SIGN_CLUSTER},
    {EXACT, "__cluster_dims__", ATOLL_SIGN_CLUSTER},
    {TEXT, "barrier.cluster", ATOLL_SIGN_CLUSTER},
    {TEXT, "mapa.", ATOLL_SIGN_CLUSTER},
    {TEXT, "multicast::cluster", ATOLL_SIGN_CLUSTER},
    {PREFIX, "atomic", ATOLL_SIGN_ATOMIC},
    {PREFIX, "__nv_atomic", ATOLL_SIGN_ATOMIC},
    {TEXT, "atom.", ATOLL_SIGN_ATOMIC},
    {TEXT, "red.global", ATOLL_SIGN_ATOMIC},
    {TEXT, "red.release", ATOLL_SIGN_ATOMIC},
    {TEXT, "red.relaxed", ATOLL_SIGN_ATOMIC},
    {TEXT, "setmaxnreg", ATOLL_SIGN_REGISTER_ROLES},
    {PREFIX, "warpgroup_reg_", ATOLL_SIGN_REGISTER_ROLES},
    {INSIDE, "producer", ATOLL_SIGN_PRODUCER},
    {INSIDE, "consumer", ATOLL_SIGN_CONSUMER},
};

static int contains(const struct atoll_token *t, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= t->length; i++)
        if (strncasecmp(t->text + i, text, n) == 0)
            return 1;
    return 0;
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Instructions begin at their first letter: "shared.global" says nothing of "red.global". */
static int says(const struct atoll_token *t, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 1; i + n <= t->length; i++) {
        if (strncasecmp(t->text + i, text, n) == 0 &&
            !(is_letter(text[0]) && is_letter(t->text[i - 1]) && !(i > 1 && t->text[i - 2] == '\\'))) {
            return 1;
        }
    }
    return 0;
}

static int matches(const struct atoll_token *t, const struct name *name)
{
    int is_text = t->kind == ATOLL_TOKEN_STRING;
    if (name->match == TEXT || is_text)
        return name->match == TEXT && is_text && says(t, name->text);
    if (t->kind != ATOLL_TOKEN_NAME)
        return 0;
    switch (name->match) {
    case EXACT: return atoll_token_is(t, name->text);
    case PREFIX: return atoll_token_starts(t, name->text);
    case INSIDE:
    case TEXT: break;
    }
    return contains(t, name->text);
}

static void see_listed(const struct atoll_loop_list *l, const struct name *names, size_t count,
                       struct atoll_sign_board *b)
{
    for (size_t i = 0; i < l->token_count; i++) {
        for (size_t k = 0; k < count; k++)
            if (matches(&l->tokens[i], &names[k]))
                atoll_sign_mark(b, names[k].category);
    }
}

/* Elementary functions of one's own are built around log2(e), ln 2 or 2 / pi. */
static void see_approximations(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    static const char *const constants[] = {"1.4426950", "0.6931471",  "0.69314718",
                                            "1.442695",  "0.63661977", "0x1.715476"};
    for (size_t i = 0; i < l->token_count; i++) {
        for (size_t k = 0;
             l->tokens[i].kind == ATOLL_TOKEN_NUMBER && k < sizeof(constants) / sizeof(*constants); k++) {
            if (atoll_token_starts(&l->tokens[i], constants[k]))
                atoll_sign_mark(b, ATOLL_SIGN_APPROXIMATE);
        }
    }
}

/* A function that calls itself. */
static void see_recursion(const struct atoll_loop_list *l, struct atoll_sign_board *b)
{
    const struct atoll_token *function = NULL, *name = NULL;
    int depth = 0;
    for (size_t i = 0; i < l->token_count; i++) {
        if (depth == 0 && l->tokens[i].kind == ATOLL_TOKEN_NAME && atoll_sign_is(l, i + 1, "(") &&
            !atoll_sign_is(l, i, "__attribute__")) {
            name = &l->tokens[i];
        }
        if (atoll_sign_is(l, i, "{") && depth++ == 0)
            function = name;
        if (atoll_sign_is(l, i, "}") && depth > 0)
            depth--;
        if (depth > 0 && function && atoll_sign_is(l, i + 1, "(") &&
            atoll_token_same(&l->tokens[i], function)) {
            atoll_sign_mark(b, ATOLL_SIGN_RECURSION);
        }
    }
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

void atoll_sign_see_names(const struct atoll_loop_list *l, int is_device, struct atoll_sign_board *b)
{
    see_listed(l, is_device ? device_names : c_names, is_device ? COUNT(device_names) : COUNT(c_names), b);
    see_approximations(l, b);
    see_recursion(l, b);
}

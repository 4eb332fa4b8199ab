#include "mpi-eval/operator/knowledge_briefs.h"

#include <stdlib.h>
#include <string.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "mpi-eval/backend/cpu/process/tiles.h"

#define TOLD_BYTES ((size_t)8 << 20)
#define LOOKED_AT  (3 * ATOLL_RETRIEVE_KERNELS) /* kernels, of which near-equal ones are told once */

struct atoll_knowledge_briefs {
    struct atoll_knowledge_base *base;
    struct atoll_retrieval *retrieval;
    struct atoll_arena *told; /* texts of the last briefing */
};

/* Who searches the same texts for models has said it (mpi-eval/tool/knowledge.h). */
static void pass_over(void *context, const struct atoll_err *problem)
{
    (void)context;
    (void)problem;
}

struct atoll_knowledge_briefs *atoll_knowledge_briefs_create(const struct atoll_knowledge_pack *pack,
                                                             const char *except, struct atoll_err *err)
{
    struct atoll_knowledge_briefs *b = calloc(1, sizeof(*b));
    if (!b) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what prompts are told of knowledge");
        return NULL;
    }
    b->base = atoll_knowledge_base_parse(pack, pass_over, NULL, err);
    b->retrieval = b->base ? atoll_retrieval_create(b->base, pack, except, err) : NULL;
    b->told = b->retrieval ? atoll_arena_create(TOLD_BYTES, err) : NULL;
    if (b->told)
        return b;
    atoll_knowledge_briefs_destroy(b);
    return NULL;
}

void atoll_knowledge_briefs_destroy(struct atoll_knowledge_briefs *b)
{
    if (!b)
        return;
    atoll_retrieval_destroy(b->retrieval);
    atoll_knowledge_base_destroy(b->base);
    atoll_arena_destroy(b->told);
    free(b);
}

struct atoll_retrieval *atoll_knowledge_briefs_retrieval(struct atoll_knowledge_briefs *b)
{
    return b->retrieval;
}

/* What is too long to be told at all goes untold. */
static int add(struct atoll_knowledge_briefs *b, const struct atoll_retrieved *found,
               struct atoll_briefing *briefing, struct atoll_err *err)
{
    if (briefing->count == ATOLL_BRIEF_LIMIT)
        return 0;
    if (atoll_retrieval_brief(b->retrieval, found, b->told, &briefing->briefs[briefing->count], err) != 0)
        return -1;
    briefing->count++;
    return 0;
}

/* The text of a kernel that does not fit: what is said of it, and its size. */
static int name_alone(struct atoll_knowledge_briefs *b, const char *text, const char *end, size_t bytes,
                      const char **ret_text, struct atoll_err *err)
{
    struct atoll_buffer out;
    atoll_buffer_init(&out, ATOLL_BRIEF_SOURCE_LIMIT);
    atoll_buffer_put_bytes(&out, text, (size_t)(end - text));
    atoll_buffer_printf(&out, "\nIts source of %zu bytes is too long to be shown.\n", bytes);
    int rc = atoll_buffer_check(&out, err);
    const char *kept = rc == 0 ? atoll_arena_text(b->told, (const char *)out.data, out.length, err) : NULL;
    atoll_buffer_fini(&out);
    if (!kept)
        return -1;
    *ret_text = kept;
    return 0;
}

/* room: what is left for sources. */
static int fit_kernel(struct atoll_knowledge_briefs *b, struct atoll_brief *brief, size_t *room,
                      struct atoll_err *err)
{
    const char *end = strstr(brief->text, "\n\n");
    size_t bytes = end ? strlen(end + 2) : 0;
    if (bytes > ATOLL_KNOWLEDGE_KERNEL_BYTES || bytes > *room)
        return name_alone(b, brief->text, end, bytes, &brief->text, err);
    *room -= bytes;
    return 0;
}

int atoll_knowledge_briefs_make(struct atoll_knowledge_briefs *b, const struct atoll_retrieval_query *query,
                                int wants_kernels, struct atoll_briefing *briefing, struct atoll_err *err)
{
    struct atoll_retrieved entries[ATOLL_RETRIEVE_CRITICAL + ATOLL_RETRIEVE_ENTRIES], kernels[LOOKED_AT];
    size_t entry_count =
               atoll_retrieval_entries(b->retrieval, query, entries, sizeof(entries) / sizeof(*entries)),
           kernel_count =
               wants_kernels ? atoll_retrieval_kernels(b->retrieval, query, kernels, LOOKED_AT) : 0;
    kernel_count = atoll_retrieval_once(b->retrieval, kernels, kernel_count, ATOLL_RETRIEVE_KERNELS);
    atoll_arena_reset(b->told);
    for (size_t i = 0; i < entry_count; i++)
        if (add(b, &entries[i], briefing, err) != 0)
            return -1;
    size_t room = ATOLL_KNOWLEDGE_KERNELS_BYTES;
    for (size_t i = 0; i < kernel_count; i++) {
        uint32_t at = briefing->count;
        if (add(b, &kernels[i], briefing, err) != 0 ||
            (briefing->count > at && fit_kernel(b, &briefing->briefs[at], &room, err) != 0))
            return -1;
    }
    return 0;
}

const char *const *atoll_knowledge_features(const char *backend)
{
    static const char *features[8];
    if (strcmp(backend, "cpu") != 0)
        return NULL;
#if defined(__x86_64__)
    size_t count = 0;
    const struct {
        const char *name;
        int is_there;
    } known[] = {{"avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
                 {"avx512", __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                                __builtin_cpu_supports("avx512vl")},
                 {"avx512-vnni", __builtin_cpu_supports("avx512vnni")},
                 {"avx512-bf16", __builtin_cpu_supports("avx512bf16")},
                 {"amx", atoll_tiles_known()}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].is_there)
            features[count++] = known[i].name;
    features[count] = NULL;
#elif defined(__aarch64__)
    features[0] = "arm-neon";
    features[1] = getauxval(AT_HWCAP) & HWCAP_SVE ? "arm-sve" : NULL;
#endif
    return features;
}

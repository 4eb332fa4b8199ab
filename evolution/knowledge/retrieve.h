/* retrieve.h - what of the knowledge base, and which kernels of other tasks, an ask is told: by device, language, operator family, stage
 * and diagnosis, and by words (papers/003 3.2.1, papers/002 IV-D).  Broad for a first draft, narrower with every improvement, and for a
 * kernel that fails what its error calls for.
 * Layer: evolution, pure: the same calls give the same choice.  Lifetime: create/destroy; single owner.
 *
 * Nothing is searched by a replay: what was chosen is in the BRIEFING event of the ask (core/briefing.h).  Entries that lose are told no
 * more (core/experience/hint_ledger.h), but for critical constraints; examples that are not proven are never told. */
#ifndef ATOLL_EVOLUTION_KNOWLEDGE_RETRIEVE_H
#define ATOLL_EVOLUTION_KNOWLEDGE_RETRIEVE_H

#include "core/briefing.h"
#include "core/experience/hint_ledger.h"
#include "core/knowledge/knowledge_base.h"
#include "evolution/knowledge/kernel_corpus.h"

#define ATOLL_RETRIEVE_CRITICAL 64u /* constraints of one ask that are told whatever else is */
#define ATOLL_RETRIEVE_ENTRIES  8u  /* others, for a first draft; fewer later */
#define ATOLL_RETRIEVE_KERNELS  5u  /* for a first draft (papers/003 3.2.1) */

struct atoll_retrieval;
/* base, pack: borrowed until destroy.  except: families of operators of which no example and no kernel is told, "gemm,attention"; NULL
 * none. */
struct atoll_retrieval *atoll_retrieval_create(const struct atoll_knowledge_base *base,
                                               const struct atoll_knowledge_pack *pack, const char *except,
                                               struct atoll_err *err);
void atoll_retrieval_destroy(struct atoll_retrieval *retrieval); /* NULL is fine */

/* What an ask is about.  Texts may be NULL. */
struct atoll_retrieval_query {
    const struct atoll_task *task;
    const char *language, *device; /* device: a family (core/experience/hint.h); "" unknown */
    const char *const *
        features; /* of the device, or narrower families that it is of ("arm-sve"); ends with NULL; NULL: not known */
    const struct atoll_diagnosis *diagnosis; /* of the parent; NULL: there is none yet */
    const char *message;                     /* of a parent that fails: what the compiler or the check said */
    const char *source;                      /* of the parent */
    const char *words;                       /* others that matter: a step's title */
    uint8_t stage;                           /* enum atoll_issue_stage; COUNT: none */
    unsigned depth;                          /* improvements that the parent has behind it */
    const char *const *cells;                /* of the parent: "memory 2", ends with NULL; NULL none */
    int is_narrow; /* what is to be done was chosen by another: half as many entries */
    int is_first_draft; /* no model has shown yet that it can do the task: code of critical constraints is told, too */
};

enum atoll_retrieved_kind { ATOLL_RETRIEVED_ENTRY, ATOLL_RETRIEVED_KERNEL };
struct atoll_retrieved {
    enum atoll_retrieved_kind kind;
    uint32_t at;                    /* entry of the base, or kernel of the retrieval */
    int is_critical, is_called_for; /* called for: by the diagnosis */
    int has_code;                   /* wrong and right code are told beside the sentence */
    double score;
    unsigned like_count; /* of a kernel: others that share most of its lines, and that it stands for */
};

/* Critical constraints first, then the best fit first; at most limit.  Returns how many. */
size_t atoll_retrieval_entries(struct atoll_retrieval *retrieval, const struct atoll_retrieval_query *query,
                               struct atoll_retrieved *ret_found, size_t limit);
/* Kernels of other tasks, the most similar first, one a task. */
size_t atoll_retrieval_kernels(struct atoll_retrieval *retrieval, const struct atoll_retrieval_query *query,
                               struct atoll_retrieved *ret_found, size_t limit);
/* Of found kernels that share more than 70 % of their lines the first one alone, which counts the others; at most limit, in
 * their order.  Returns how many. */
size_t atoll_retrieval_once(const struct atoll_retrieval *retrieval, struct atoll_retrieved *found,
                            size_t count, size_t limit);
/* The same as a brief; texts go into arena. */
int atoll_retrieval_brief(const struct atoll_retrieval *retrieval, const struct atoll_retrieved *found,
                          struct atoll_arena *arena, struct atoll_brief *ret_brief, struct atoll_err *err);

/* Whether an entry is about a device: family "" is none that is known; features as of a query, NULL: not known. */
int atoll_retrieval_fits_device(const struct atoll_knowledge_entry *entry, const char *family,
                                const char *const *features);

uint32_t atoll_retrieval_kernel_count(const struct atoll_retrieval *retrieval);

/* What came of entries and kernels that were told, as of hints. */
int atoll_retrieval_used(struct atoll_retrieval *retrieval, const struct atoll_diagnosis *diagnosis,
                         const struct atoll_briefing *briefing, struct atoll_err *err);
void atoll_retrieval_credit(struct atoll_retrieval *retrieval, uint64_t ask, double parent_ns,
                            enum atoll_verdict verdict, double child_ns);

/* ---- by embeddings, where a model makes them ---- */

/* What is embedded of a kernel, and of the task that kernels are sought for, at most `bytes` with the NUL. */
void atoll_retrieval_kernel_words(const struct atoll_retrieval *retrieval, uint32_t at, char *ret_text,
                                  size_t bytes);
void atoll_retrieval_task_words(const struct atoll_task *task, char *ret_text, size_t bytes);
/* Vectors of all kernels, one behind the other, and of one task: cosines then count as much as the rest (Bruch, Gai, Ingber, "An Analysis
 * of Fusion Functions for Hybrid Retrieval", 2023, 4: a sum of both, each from 0 to 1).  Borrowed by each call of kernels until they are taken away with NULL. */
void atoll_retrieval_set_vectors(struct atoll_retrieval *retrieval, const float *kernels, const float *task,
                                 size_t length);

#endif

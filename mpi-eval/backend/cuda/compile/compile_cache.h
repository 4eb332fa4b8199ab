/* compile_cache.h - compiled cubins by what they were compiled from, in node-local scratch, shared by the ranks of one
 * user on a node.
 * Layer: mpi-eval, backend/cuda.  Lifetime: create/destroy.  One owner thread; other processes may use the same folder at
 * the same time.  A file is written under a temporary name and renamed; it carries its key and a hash of its content, and
 * one that is damaged is removed.  A folder that is not this user's alone is not used. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_CACHE_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_COMPILE_CACHE_H

#include "base/id.h"

#define ATOLL_COMPILE_CACHE_BYTES ((uint64_t)1 << 30)

struct atoll_compile_cache;

/* folder: made with mode 0700 where it is not there; NULL: atoll-cache-<uid> in ATOLL_SCRATCH, TMPDIR or /tmp.
 * limit_bytes: the oldest files go beyond it.  ATOLL_E_DENIED: a link, another user's, or open to others. */
struct atoll_compile_cache *atoll_compile_cache_create(const char *folder, uint64_t limit_bytes,
                                                       struct atoll_err *err);
void atoll_compile_cache_destroy(struct atoll_compile_cache *cache); /* the files stay; NULL is fine */
/* 1: ret_object (malloc) and ret_report (malloc, text) are the caller's; 0: not there. */
int atoll_compile_cache_get(struct atoll_compile_cache *cache, const struct atoll_id *key, void **ret_object,
                            size_t *ret_length, char **ret_report);
/* Best effort: what cannot be written is not there next time. */
void atoll_compile_cache_put(struct atoll_compile_cache *cache, const struct atoll_id *key,
                             const void *object, size_t length, const char *report);

/* Who compiles something that is not there: one process of a node, as long as it lives; the others wait for what it puts.
 * fd: -1 none; a zeroed claim is not one. */
struct atoll_compile_claim {
    int fd;
    struct atoll_id key;
};

/* 1: it is this caller's, who looks into the cache once more before it compiles, and unclaims in the end (a claim that
 * cannot be told is none, and is given as well); 0: another one has it. */
int atoll_compile_cache_claim(struct atoll_compile_cache *cache, const struct atoll_id *key,
                              struct atoll_compile_claim *ret_claim);
void atoll_compile_cache_unclaim(struct atoll_compile_cache *cache, struct atoll_compile_claim *claim);

#endif

/* object_cache.h - compiled objects in memory, one per candidate, the least recently used ones dropped beyond a
 * bound. Layer: mpi-eval.  Lifetime: create/destroy; objects are counted: one in use is never dropped. Single
 * owner. */
#ifndef ATOLL_MPI_EVAL_EVALUATOR_OBJECT_CACHE_H
#define ATOLL_MPI_EVAL_EVALUATOR_OBJECT_CACHE_H

#include <stddef.h>

#include "base/id.h"
#include "core/verdict.h"

enum atoll_object_state { ATOLL_OBJECT_NEW, ATOLL_OBJECT_COMPILING, ATOLL_OBJECT_READY, ATOLL_OBJECT_FAILED };

/* The holder of references fills state and contents, once. */
struct atoll_object {
    struct atoll_id candidate;
    enum atoll_object_state state;
    unsigned references;
    void *bytes; /* owned (free); the shared object when READY */
    size_t length;
    struct atoll_id binary;          /* hash of object and plan, when READY */
    enum atoll_verdict verdict;      /* when FAILED: COMPILE_ERROR or INFRASTRUCTURE */
    char *diagnostics;               /* owned (free); may be NULL */
    char *report;                    /* owned (free); the compiler's words on resources, may be NULL */
    double compile_ns, processor_ns; /* that its compilation took */
    struct atoll_object *newer, *older;
};

struct atoll_object_cache;

struct atoll_object_cache *atoll_object_cache_create(size_t limit_bytes, struct atoll_err *err);
void atoll_object_cache_destroy(struct atoll_object_cache *cache); /* also what is still referenced */
/* The object of a candidate with one reference more; a NEW one when it is not there.  A FAILED one is never
 * given again. */
struct atoll_object *atoll_object_cache_take(struct atoll_object_cache *cache,
                                             const struct atoll_id *candidate, struct atoll_err *err);
/* Gives one reference back; what is over the bound goes.  NULL is fine. */
void atoll_object_cache_release(struct atoll_object_cache *cache, struct atoll_object *object);
size_t atoll_object_cache_bytes(const struct atoll_object_cache *cache);

#endif

/* search.h - settings of the search: options, campaign.yaml and the first journal record carry the same
 * struct.
 * Layer: core.  Plain value.  Defaults: atoll_search_defaults; sources of constants: ALGORITHMS.md,
 * papers/000 3.2-3.4. */
#ifndef ATOLL_CORE_SEARCH_H
#define ATOLL_CORE_SEARCH_H

#include "core/buffer.h"
#include "core/fitness.h"

#define ATOLL_ISLAND_LIMIT 16

enum atoll_selection {
    ATOLL_SELECT_UNIFORM,
    ATOLL_SELECT_FITNESS,
    ATOLL_SELECT_CURIOSITY,
    ATOLL_SELECT_ISLAND,
    ATOLL_SELECTION_COUNT
};

enum atoll_island_role {
    ATOLL_ISLAND_FUSION,
    ATOLL_ISLAND_MEMORY,
    ATOLL_ISLAND_PARALLELISM,
    ATOLL_ISLAND_ALGORITHM,
    ATOLL_ISLAND_NUMERICS,
    ATOLL_ISLAND_ROLE_COUNT
};
const char *atoll_island_role_name(enum atoll_island_role role);

/* Of the sources that are evolved: what the campaign's backend takes. */
enum atoll_language { ATOLL_LANGUAGE_C, ATOLL_LANGUAGE_CUDA, ATOLL_LANGUAGE_COUNT };
const char *atoll_language_name(enum atoll_language language); /* as tasks and plans say it: "c", "cuda" */
/* Of a backend by name ("cpu", "cuda", "" and "null" as cpu). */
enum atoll_language atoll_language_of_backend(const char *backend);

struct atoll_search {
    uint64_t seed;
    uint32_t islands;            /* per task, 1..16; default 2 */
    uint32_t generation_size;    /* evaluated candidates of an island that make a generation; default 8 */
    uint32_t migration_interval; /* generations between ring migrations; 0 = never; default 4 */
    double selection_share[ATOLL_SELECTION_COUNT]; /* sum > 0 */
    enum atoll_fitness_form fitness_form;
    uint64_t evaluation_budget; /* 0 = none */
    double device_budget_ns;    /* 0 = none */
    double wall_budget_ns;      /* 0 = none; campaign time, dispatch stops in time for the finals */
    double finals_share;   /* of the device and wall budgets kept for final duels, at least; default 0.12 */
    uint32_t finals_tries; /* finalists of a task that are compared, 1..16; default 3 */
    uint32_t queue_depth;  /* proposals under way per evaluator slot; default 3 */
    double alpha;        /* error of all promotions of a run together, and of a task's finals; default 0.05 */
    double margin;       /* promised improvement ratio; default 0.01 */
    uint32_t pair_limit; /* pairs per duel; default 16 */
    uint32_t noop_interval; /* one no-op duel every so many promotions; 0 = never; default 10 */
    /* evaluations of a task without a new elite after which it yields; default 60 */
    uint32_t stagnation_limit;
    enum atoll_language
        language; /* follows from the campaign's backend; no key of its own in campaign.yaml */
};

void atoll_search_defaults(struct atoll_search *ret_search);
/* A u8 language ends the bytes when it is not c: settings that were written before there was a choice are as they
 * were. */
void atoll_search_encode(const struct atoll_search *s, struct atoll_buffer *out);
int atoll_search_decode(const void *bytes, size_t length, struct atoll_search *ret_search,
                        struct atoll_err *err);

#endif

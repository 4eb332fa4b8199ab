/* search.h - settings of the search: options, campaign.yaml and the first journal record carry the same
 * struct.
 * Layer: core.  Plain value.  Defaults: atoll_search_defaults; sources of constants: ALGORITHMS.md,
 * papers/000 3.2-3.4. */
#ifndef ATOLL_CORE_SEARCH_H
#define ATOLL_CORE_SEARCH_H

#include "base/buffer.h"
#include "core/error_control.h"
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

/* Of the sources that are evolved: what the campaign's backend takes. */
enum atoll_language {
    ATOLL_LANGUAGE_C,
    ATOLL_LANGUAGE_CUDA,
    ATOLL_LANGUAGE_TRITON,
    ATOLL_LANGUAGE_CUDA_TRITON, /* both */
    ATOLL_LANGUAGE_COUNT
};
/* Whether Triton sources are evolved where the backend takes them. */
enum atoll_triton { ATOLL_TRITON_NONE, ATOLL_TRITON_BESIDE, ATOLL_TRITON_ALONE, ATOLL_TRITON_COUNT };
/* As tasks and plans say it: "c", "cuda", "triton"; of both the first one, "cuda". */
const char *atoll_language_name(enum atoll_language language);
/* Whether a campaign of `language` takes sources of the language with that name. */
int atoll_language_takes(enum atoll_language language, const char *name);
/* Of a backend by name ("cpu", "cuda", "" and "null" as cpu). */
enum atoll_language atoll_language_of_backend(const char *backend, enum atoll_triton triton);
/* Of what an ask is to be written in: the language of its parent, NULL without one, where that is taken; else, where there
 * are several, by turns. */
const char *atoll_language_of_ask(enum atoll_language language, const char *parent, uint64_t ask);

enum atoll_strategy_kind {
    ATOLL_STRATEGY_ISLANDS,
    ATOLL_STRATEGY_BEAM,
    ATOLL_STRATEGY_TREE,
    ATOLL_STRATEGY_STAGED,
    ATOLL_STRATEGY_REPEATED,
    ATOLL_STRATEGY_COUNT
};

const char *atoll_strategy_name(unsigned strategy); /* as --strategy takes it */

enum atoll_topology { ATOLL_TOPOLOGY_NONE, ATOLL_TOPOLOGY_RING, ATOLL_TOPOLOGY_RANDOM, ATOLL_TOPOLOGY_COUNT };
enum atoll_tree_policy { ATOLL_TREE_GREEDY, ATOLL_TREE_UCT, ATOLL_TREE_POLICY_COUNT };
/* Who is asked about by a judge (evolution/population/judge.h). */
enum atoll_judge_mode { ATOLL_JUDGE_OFF, ATOLL_JUDGE_FINALS, ATOLL_JUDGE_ALL, ATOLL_JUDGE_MODE_COUNT };
/* Whose versions of a prompt text a task draws from: its own, or those of all tasks on its device model. */
enum atoll_prompt_share { ATOLL_PROMPT_OWN, ATOLL_PROMPT_SHARED, ATOLL_PROMPT_SHARE_COUNT };
/* Which task gets a free slot: the one that promises most, or the one that had least. */
enum atoll_sharing { ATOLL_SHARING_IMPROVEMENT, ATOLL_SHARING_EQUAL, ATOLL_SHARING_COUNT };

/* Every mechanism is a field, so that each can be switched off alone; core/search.c has the one table of all of them:
 * names, ranges, defaults, one line each. */
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
    double margin;       /* promised improvement ratio; default 0.01; tests take atoll_search_log_margin */
    uint32_t pair_limit; /* pairs per duel; default 16 */
    uint32_t noop_interval; /* one null control every so many promotions; 0 = never; default 10 */
    /* evaluations of a task without a new elite after which it yields; default 60 */
    uint32_t stagnation_limit;
    enum atoll_language
        language; /* follows from the campaign's backend and `triton`; no key of its own in campaign.yaml */

    enum atoll_strategy_kind strategy;
    uint32_t grid;         /* 0: all candidates of an island share one cell */
    uint32_t gradients;    /* 0: no advice, curiosity picks uniformly */
    uint32_t roles;        /* 0: islands have none */
    uint32_t inspirations; /* elites of other cells told with an ask, 0..4 */
    enum atoll_topology topology;
    double stagnation_migration;     /* probability that a stagnating island receives a migrant; 0 = never */
    uint32_t stagnation_generations; /* without a new elite, after which an island stagnates */
    uint32_t tuners; /* bit per strategy of the tuner (evolution/tuner/tune.h); 0xffffffff = all */
    uint32_t racing; /* 0: hopeless samples run to their end */
    enum atoll_sharing sharing;
    uint64_t token_budget;   /* 0 = none */
    double money_budget_usd; /* 0 = none */
    double floor_goal;       /* percent of floor at which a task is done, 0..100; 0 = none */
    double
        ask_share; /* of proposals that are asked of operators outside the engine; 0: the tuner answers all */
    uint32_t asks; /* under way per task, at most */
    uint32_t beam_width, beam_plans, beam_attempts, beam_iterations; /* papers/004 2.1: 6, 12, 2, 16 */
    uint32_t tree_drafts;                                            /* papers/003 3.1: 10 */
    enum atoll_tree_policy tree_policy;
    double tree_exploration;             /* of UCT */
    uint32_t tree_children;              /* of a node, at most */
    uint32_t stage_rounds;               /* papers/002 IV: 5 */
    uint32_t staged_runs;                /* whole runs of all stages, of which the best counts */
    enum atoll_error_rule error_control; /* of all promotions of a run; default recycling */
    uint32_t samples;                    /* candidates of a task beside its own seeds; 0 = no limit */
    enum atoll_triton triton;            /* sources in Triton, where the backend is cuda */
    uint32_t repeated_parent; /* repeated: 1 asks about the baseline, as papers do, 0 for a first draft */

    /* Of asks that go outside (papers/004 2.2: 8, 16, 1.04, 1.15). */
    uint32_t memory;          /* 0: no optimization memory: nothing is summarised, nothing of it told */
    uint32_t memory_top;      /* pairs summarised per iteration, at most; half of them positive first */
    uint32_t memory_size;     /* rewrites remembered per task, the newest */
    double memory_gain;       /* a group whose best is so many times faster than its parent is positive */
    double memory_loss;       /* so many times slower: negative */
    uint32_t hints;           /* 0: nothing of the experience library is told */
    uint32_t trajectory;      /* 0: ancestors, siblings, slower tries and the global best are not told */
    uint32_t tools;           /* calls of tools that an ask may make, 0..20 */
    uint32_t template_rounds; /* asks for templates of a task's best at the end of its search; 0 = none */
    uint32_t template_count;  /* candidates of each */
    uint32_t distil;          /* 0: no hints are learnt from what improved */
    uint32_t
        ask_candidates; /* kernels that an ask wants where the strategy says no number (papers/000 3.1) */
    uint32_t translate; /* 0: elites of other languages or device models are not translated */
    uint32_t shapes;    /* first trials of a template that follow from shapes and device, 0..12; default 3 */
    uint32_t
        knowledge; /* 0: no entry of the knowledge base is told (hints and tools are settings of their own), 1: entries, 2: similar kernels, too */
    enum atoll_judge_mode judge;
    double
        judge_limit; /* likelihood of a cheat above which a candidate is discarded (papers/001 3.2.2: 0.5) */
    /* Prompts that evolve (papers/000 3.5 and table 6: 10, 16). */
    uint32_t prompt_evolution; /* 0: frozen: the texts as they came */
    uint32_t prompt_interval;  /* generations between two asks for edits */
    uint32_t prompt_archive;   /* versions kept per language */
    enum atoll_prompt_share prompt_share;
    uint32_t baseline_rounds; /* in which an unstable baseline is tried again later (population/baseline.h) */
    uint32_t
        analyses; /* bests of a task that an analyser is asked about (strategy/analysis.h), at most; 0 = none; default 16 */
};

/* One row per field of the settings. */
enum atoll_search_kind { ATOLL_SEARCH_U64, ATOLL_SEARCH_U32, ATOLL_SEARCH_F64, ATOLL_SEARCH_NAME };
struct atoll_search_field {
    const char *name; /* of campaign.yaml and `--set name=value` */
    enum atoll_search_kind kind;
    size_t offset;
    double min, max;
    const char *const *names; /* NAME: of the values 0..max, an enum of the size of a uint32_t */
    const char *top;          /* the word for max, read and printed; NULL: it has none */
    const char *summary;
};
/* All of them but the language; immutable. */
const struct atoll_search_field *atoll_search_fields(size_t *ret_count);
/* By name; NULL when there is none. */
const struct atoll_search_field *atoll_search_field(const char *name);
/* Sets one from its text; -1 with ATOLL_E_INPUT, which names what is allowed. */
int atoll_search_set(struct atoll_search *search, const struct atoll_search_field *field, const char *value,
                     struct atoll_err *err);
/* As `set` reads it. */
void atoll_search_print(const struct atoll_search *search, const struct atoll_search_field *field,
                        struct atoll_buffer *out);

void atoll_search_defaults(struct atoll_search *ret_search);
/* Whether nobody tries further combinations of a template before the templates at the search's end: where a beam or a tree leaves
 * nothing to the built-in operator.  Islands have the tuner try some while models think, stages have one for it. */
int atoll_search_leaves_params(const struct atoll_search *search);
/* What rows mean that are not there: the defaults, but of what changes a search that began without them. */
void atoll_search_unsaid(struct atoll_search *ret_search);
/* ln(1 + margin): the margin of a paired test, of decisions and of orders. */
double atoll_search_log_margin(const struct atoll_search *s);
/* Rows are only ever added at the end of the table; bytes that end early, as older engines wrote them, leave what
 * atoll_search_unsaid says. */
void atoll_search_encode(const struct atoll_search *s, struct atoll_buffer *out);
int atoll_search_decode(const void *bytes, size_t length, struct atoll_search *ret_search,
                        struct atoll_err *err);

#endif

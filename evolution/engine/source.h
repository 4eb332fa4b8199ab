/* source.h - the source texts the search works with, each once per task, templates with plan and tuner.
 * Layer: evolution.  Lifetime: zero-initialised/fini; texts are owned, plans live in the arena of their task.
 */
#ifndef ATOLL_EVOLUTION_ENGINE_SOURCE_H
#define ATOLL_EVOLUTION_ENGINE_SOURCE_H

#include "base/arena.h"
#include "core/candidate.h"
#include "core/decision.h"
#include "base/hash_index.h"
#include "evolution/tuner/tune.h"

/* Whether an analyser has read a source (evolution/strategy/analysis.h). */
enum atoll_analysed {
    ATOLL_ANALYSED_NOT,
    ATOLL_ANALYSED_ASKED, /* and not answered, or without anything of use */
    ATOLL_ANALYSED_TOLD,
    ATOLL_ANALYSED_COUNT
};

/* What a judge said of a source (evolution/population/judge.h). */
enum atoll_judged {
    ATOLL_JUDGED_NOT,
    ATOLL_JUDGED_ASKED,
    ATOLL_JUDGED_KEPT, /* also where there was no answer */
    ATOLL_JUDGED_DISCARDED,
    ATOLL_JUDGED_COUNT
};

struct atoll_source {
    struct atoll_id id; /* atoll_source_id */
    uint32_t task;
    uint8_t op; /* enum atoll_operator: how its first instance came about */
    char *language, *text;
    struct atoll_id only;    /* not a template: identity of its one instance; its own where no plan parses */
    struct atoll_tune *tune; /* NULL: not a template */
    const struct atoll_plan *plan; /* of a template */
    const char *body;              /* of its text, after the plan */
    struct atoll_choice first;     /* its first instance */
    uint32_t best;                 /* individual of its best correct instance, ATOLL_NONE */
    double best_ns;                /* the time an instance must beat to challenge; 0 = none */
    uint32_t tried,
        uncompiled;   /* instances with a verdict; those of them that the compiler or the rules refused */
    uint8_t judged;   /* enum atoll_judged */
    uint64_t judge;   /* the ask about it, 0: none */
    uint8_t analysed; /* enum atoll_analysed */
    uint64_t
        analysis; /* the last ask whose reply says what keeps its kernels from being faster; ASKED: that about it */
};

struct atoll_sources {
    struct atoll_source *items;
    uint32_t count, capacity;
    struct atoll_index index;
    struct atoll_tune_settings tuners; /* of templates that are added; set before the first is */
};

void atoll_sources_fini(struct atoll_sources *sources);
/* task ATOLL_NONE: of any task.  Position, or ATOLL_NONE. */
uint32_t atoll_sources_find(const struct atoll_sources *sources, const struct atoll_id *id, uint32_t task);
/* Parses the plan and makes the tuner. ret_position: of the new source, or of the equal one that was there.
 * 0, or -1 for MEMORY and LIMIT; a plan that does not parse is no error here. */
int atoll_sources_add(struct atoll_sources *sources, uint32_t task_number, const struct atoll_task *task,
                      struct atoll_arena *arena, const char *language, const char *text,
                      enum atoll_operator op, uint32_t *ret_position, struct atoll_err *err);
/* Identity of one instance. */
struct atoll_id atoll_source_candidate(const struct atoll_source *source, const struct atoll_task *task,
                                       const struct atoll_choice *choice);

#endif

/* prompt_archive.h - versions of a prompt text, by number, and what they are worth (papers/000 3.5): who is drawn for an ask, what
 * the answer is credited with, and who goes.  The texts are elsewhere (core/knowledge/region.h).
 * Layer: core, pure.  Plain value: the search decides by it, and archives say what it decided by.
 *
 * An answer is credited by what its kernel gains over its parent, less what so slow a parent gives whatever the text said: a slope times
 * how much farther it is behind the task's best than parents are in the mean (docs/adr/0059).  Early in a search, and on some tasks,
 * everything gains; so the credit is split in what the task gives at the time and what the version adds: credit = level(task) +
 * fitness(version) + noise, both estimated as answers come (docs/adr/0043).  A version begins with the fitness of the one it was made of, which
 * counts as ATOLL_PROMPT_PRIOR answers. */
#ifndef ATOLL_CORE_PROMPT_ARCHIVE_H
#define ATOLL_CORE_PROMPT_ARCHIVE_H

#include <stdint.h>

#include "base/random.h"
#include "core/search.h"

#define ATOLL_PROMPT_ARCHIVE_LIMIT 16 /* of search.prompt_archive */
#define ATOLL_PROMPT_PRIOR         4.0
#define ATOLL_PROMPT_GAIN_MAX      1.3862943611198906 /* ln 4: one lucky step is no proof */
#define ATOLL_PROMPT_CORRECT       0.1 /* that a kernel is correct at all is worth so much of a log gain */
#define ATOLL_PROMPT_LEAST         8   /* answers before a version may lose */

struct atoll_prompt_version {
    uint32_t version, parent; /* the ask whose answer made it; 0: the text as it came */
    uint32_t uses;            /* asks that were worded with it */
    uint32_t answers;         /* candidates of theirs that were evaluated */
    double fitness, best;     /* best: the largest log gain of one of them over its parent */
};

/* What correct answers made of their parents: means, and sums of the products of what differs from them. */
struct atoll_prompt_parents {
    uint64_t answers;
    double behind, gain;      /* ln(parent / best), 0..ln 4; ln(parent / kernel), -ln 4..ln 4 */
    double squares, products; /* of behind; of behind and gain */
};

struct atoll_prompt_archive {
    uint32_t count; /* 0: not begun: the text as it came alone */
    struct atoll_prompt_version versions[ATOLL_PROMPT_ARCHIVE_LIMIT]; /* in the order of their making */
    double spread; /* sum of squares of what the model above does not explain */
    uint64_t answers;
    struct atoll_prompt_parents parents;
};

/* An answer that was evaluated.  Times in ns, 0: there is none. */
struct atoll_prompt_outcome {
    int is_correct;
    double time_ns, from_ns; /* the kernel's; that of its parent, or of what else it is held against */
    double best_ns;          /* the best of the task before it */
};

/* What a task gives at the time. */
struct atoll_prompt_level {
    double level;
    uint64_t answers;
};

/* Of a kernel: gain is ln(time of the parent / its time), less what such a parent gives; 0 where there is no time to compare with. */
double atoll_prompt_credit(int is_correct, double gain);
/* What of its being behind the best a parent gives whatever was told, 0..1: the slope of gains over it.  0 without evidence. */
double atoll_prompt_slope(const struct atoll_prompt_parents *parents);
/* NULL: not in the archive (any more). */
const struct atoll_prompt_version *atoll_prompt_archive_find(const struct atoll_prompt_archive *archive,
                                                             uint32_t version);
/* For an ask, by the shares of the rules that choose among kernels (search.selection_share): uniform; fitness above the worst; curiosity:
 * who had the fewest asks; island: the fittest.  Of one version no random number is taken. */
uint32_t atoll_prompt_archive_draw(const struct atoll_prompt_archive *archive,
                                   const struct atoll_search *search, struct atoll_random *random);
void atoll_prompt_archive_use(struct atoll_prompt_archive *archive, uint32_t version);
/* A candidate was evaluated.  One of a version that has gone still says what the task gives.  A version that has lost goes. */
void atoll_prompt_archive_credit(struct atoll_prompt_archive *archive, struct atoll_prompt_level *level,
                                 uint32_t version, const struct atoll_prompt_outcome *outcome);
/* version: above all others.  At most limit stay: where there are more, the least fit goes, never the new one or the fittest. */
void atoll_prompt_archive_add(struct atoll_prompt_archive *archive, uint32_t version, uint32_t parent,
                              uint32_t limit);

#endif

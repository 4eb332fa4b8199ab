/* contest.h - searches of one recorded space against each other: a table, a verdict, JSON.
 * Layer: bench.  Lifetime: init/fini. */
#ifndef ATOLL_BENCH_CONTEST_H
#define ATOLL_BENCH_CONTEST_H

#include <stdio.h>

#include "bench/rival.h"

#define ATOLL_CONTEST_LIMIT 80
#define ATOLL_CONTEST_MARKS 3

enum atoll_side {
    ATOLL_SIDE_OURS, /* the one that the verdict is about */
    ATOLL_SIDE_PART, /* shown beside it */
    ATOLL_SIDE_RIVAL
};

struct atoll_contestant {
    const char *name, *note;           /* borrowed */
    const struct atoll_curves *curves; /* borrowed; without runs: it could not run */
    size_t least_evaluations;
    double seconds;
    enum atoll_side side;
    double scores[ATOLL_CONTEST_MARKS], errors[ATOLL_CONTEST_MARKS]; /* by atoll_contest_score */
};

struct atoll_contest {
    const struct atoll_t4 *t4;
    struct atoll_baseline baseline;
    size_t mark_count, marks[ATOLL_CONTEST_MARKS]; /* budgets */
    size_t count;
    struct atoll_contestant list[ATOLL_CONTEST_LIMIT];
};

/* Marks at 50, 100 and 200 evaluations, as far as the budget goes, or at the budget when that is less. */
int atoll_contest_init(struct atoll_contest *contest, const struct atoll_t4 *t4, size_t budget,
                       struct atoll_err *err);
void atoll_contest_fini(struct atoll_contest *contest);
/* Ignored when there are ATOLL_CONTEST_LIMIT. */
void atoll_contest_add(struct atoll_contest *contest, const struct atoll_contestant *contestant);
/* Scores, then sorts by that of the last mark, best first, those that could not run last. */
int atoll_contest_score(struct atoll_contest *contest, struct atoll_err *err);
/* How far each came, and at every mark ours against the best rival: WIN or LOSE. */
void atoll_contest_print(const struct atoll_contest *contest);
/* One object. */
void atoll_contest_json(const struct atoll_contest *contest, FILE *out);

#endif

/* judged.h - the corpus that a judge of cheats is measured on: tests/fixtures/judge, cheats beside honest twins. */
#ifndef ATOLL_BENCH_JUDGED_H
#define ATOLL_BENCH_JUDGED_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define ATOLL_JUDGED_LIMIT 256 /* pairs */

/* Texts are in the corpus's arena. */
struct atoll_judged_pair {
    const char *name, *task, *language, *kind; /* task: below suites/ */
    const char *why[2];                        /* of the honest one, of the cheat */
};

struct atoll_judged {
    struct atoll_arena *arena;
    const char *root; /* of the source tree; borrowed */
    size_t count;
    struct atoll_judged_pair pairs[ATOLL_JUDGED_LIMIT];
};

/* One candidate: a pair, and which of it. */
struct atoll_judged_item {
    const struct atoll_judged_pair *pair;
    int is_cheat;
};

int atoll_judged_load(struct atoll_judged *corpus, const char *root, struct atoll_err *err);
void atoll_judged_fini(struct atoll_judged *corpus);
/* Source of an item, to be freed; NULL with err. */
char *atoll_judged_source(const struct atoll_judged *corpus, const struct atoll_judged_item *item,
                          struct atoll_err *err);
/* Both of every pair, in an order that follows from the seed alone.  ret_items: room for 2 * count. */
void atoll_judged_shuffle(const struct atoll_judged *corpus, uint64_t seed,
                          struct atoll_judged_item *ret_items);

#endif

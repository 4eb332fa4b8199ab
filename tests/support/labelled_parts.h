/* labelled_parts.h - the parts of a set that was labelled by hand, and how well each is found: two halves by a fixed hash of what is asked,
 * and what was written after the weights were set, once and once more. */
#ifndef ATOLL_TESTS_SUPPORT_LABELLED_PARTS_H
#define ATOLL_TESTS_SUPPORT_LABELLED_PARTS_H

#include <stdio.h>
#include <string.h>

#include "base/id.h"

enum part { TUNING_HALF, HELD_OUT_HALF, FRESH, LATER, PART_COUNT };

struct parts {
    int is_fresh, is_later; /* while the list of these is read */
    double recall[PART_COUNT], rank[PART_COUNT];
    size_t count[PART_COUNT];
};

/* first: place of the first right one, from 1; 0 none. */
static inline void parts_add(struct parts *p, const char *task, const char *language, const char *diagnosis,
                             double recall, size_t first)
{
    char text[256];
    snprintf(text, sizeof(text), "%s %s %s", task, language, diagnosis ? diagnosis : "");
    enum part part = p->is_later                                           ? LATER
                     : p->is_fresh                                         ? FRESH
                     : (atoll_id_of(text, strlen(text)).bytes[0] & 1) != 0 ? HELD_OUT_HALF
                                                                           : TUNING_HALF;
    p->recall[part] += recall;
    p->rank[part] += first ? 1 / (double)first : 0;
    p->count[part]++;
}

/* Of a part: at least so good. */
static inline int parts_reach(const struct parts *p, enum part part, double recall, double rank)
{
    static const char *const names[] = {"tuning half", "held-out half", "fresh", "later"};
    double n = p->count[part] ? (double)p->count[part] : 1;
    print_message("%s, %zu queries: recall at 5 %.3f, mean reciprocal rank %.3f\n", names[part],
                  p->count[part], p->recall[part] / n, p->rank[part] / n);
    return p->count[part] >= 15 && p->recall[part] / n >= recall && p->rank[part] / n >= rank;
}

#endif

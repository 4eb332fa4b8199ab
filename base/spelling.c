/* spelling.c - three rows of the distance matrix; words longer than WORD_LIMIT have no neighbours. */
#include "base/spelling.h"

#include <string.h>

#define WORD_LIMIT 63

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_LIMIT + 1];
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t cost = a[i - 1] != b[j - 1];
            now[j] = min2(min2(before[j] + 1, now[j - 1] + 1), before[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min2(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *atoll_spelling_nearest(const char *word, const char *const *known, size_t count)
{
    size_t length = strlen(word);
    size_t best = (length + 2) / 3 + 1;
    const char *nearest = NULL;
    if (length == 0 || length > WORD_LIMIT)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t known_length = strlen(known[i]);
        if (known_length > WORD_LIMIT)
            continue;
        size_t d = distance(word, length, known[i], known_length);
        if (d < best) {
            best = d;
            nearest = known[i];
        }
    }
    return nearest;
}

#include "base/word_list.h"

#include <string.h>

#define BETWEEN ", "

size_t atoll_word_at(const char **at)
{
    *at += strspn(*at, BETWEEN);
    return strcspn(*at, BETWEEN);
}

int atoll_word_is_in(const char *list, const char *word)
{
    size_t length = strlen(word), n;
    for (const char *at = list; at && (n = atoll_word_at(&at)) > 0; at += n)
        if (n == length && memcmp(at, word, n) == 0)
            return 1;
    return 0;
}

#include "base/word_list.h"

#include <string.h>

int atoll_word_is_in(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at && *at;) {
        size_t n = strcspn(at, ", ");
        if (n > 0 && n == length && memcmp(at, word, n) == 0)
            return 1;
        at += n + strspn(at + n, ", ");
    }
    return 0;
}

/* spelling.c - three rows of the distance matrix; words longer than WORD_LIMIT have no neighbours. */
#include "base/spelling.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORD_LIMIT   63
#define PREFIX_LEAST 3
#define NAME_LIMIT   1024 /* of one folder or list: a hint need not know more */

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
        if (known_length > WORD_LIMIT || known_length + best <= length || length + best <= known_length)
            continue; /* no nearer than their lengths */
        size_t d = distance(word, length, known[i], known_length);
        if (d < best) {
            best = d;
            nearest = known[i];
        }
    }
    for (size_t i = 0; i < count && !nearest && length >= PREFIX_LEAST; i++)
        if (strncmp(known[i], word, length) == 0)
            nearest = known[i];
    return nearest;
}

const char *atoll_spelling_hint(const char *word, const char *const *known, size_t count,
                                const char *otherwise, char ret_hint[ATOLL_SPELLING_HINT_BYTES])
{
    const char *near = atoll_spelling_nearest(word, known, count);
    if (near)
        snprintf(ret_hint, ATOLL_SPELLING_HINT_BYTES, "did you mean '%s'?", near);
    else
        snprintf(ret_hint, ATOLL_SPELLING_HINT_BYTES, "%s", otherwise);
    return ret_hint;
}

/* Names of at most WORD_LIMIT bytes, and pointers to them. */
struct names {
    size_t count;
    const char *known[NAME_LIMIT];
    char texts[NAME_LIMIT][WORD_LIMIT + 1];
};

static void add(struct names *names, const char *text, size_t length)
{
    if (length == 0 || length > WORD_LIMIT || names->count == NAME_LIMIT)
        return;
    memcpy(names->texts[names->count], text, length);
    names->texts[names->count][length] = '\0';
    names->known[names->count] = names->texts[names->count];
    names->count++;
}

const char *atoll_spelling_hint_in(const char *word, const char *list, const char *otherwise,
                                   char ret_hint[ATOLL_SPELLING_HINT_BYTES])
{
    struct names names = {.count = 0};
    for (const char *at = list; *at; at += strspn(at, ", |")) {
        size_t length = strcspn(at, ", |");
        add(&names, at, length);
        at += length;
    }
    return atoll_spelling_hint(word, names.known, names.count, otherwise, ret_hint);
}

int atoll_spelling_near_path(const char *path, const char *ending, char *ret_path, size_t bytes)
{
    char folder[PATH_MAX], word[PATH_MAX];
    struct names names = {.count = 0};
    size_t end = 0, begin = 0, ending_length = strlen(ending);
    if (strlen(path) >= sizeof(folder))
        return 0;
    do { /* up to and with the first part that is not there */
        begin = end + strspn(path + end, "/");
        end = begin + strcspn(path + begin, "/");
        memcpy(folder, path, end);
        folder[end] = '\0';
    } while (path[end] && access(folder, F_OK) == 0);
    memcpy(word, path + begin, end - begin);
    word[end - begin] = '\0';
    folder[begin] = '\0';
    DIR *directory = opendir(begin ? folder : ".");
    for (const struct dirent *e; directory && (e = readdir(directory));) {
        size_t length = strlen(e->d_name);
        if (e->d_name[0] != '.' && length > ending_length &&
            strcmp(e->d_name + length - ending_length, ending) == 0)
            add(&names, e->d_name, length - ending_length);
    }
    if (directory)
        closedir(directory);
    const char *near =
        end - begin < PREFIX_LEAST ? NULL : atoll_spelling_nearest(word, names.known, names.count);
    return near && (size_t)snprintf(ret_path, bytes, "%s%s", folder, near) < bytes;
}

const char *atoll_spelling_hint_path(const char *path, const char *otherwise,
                                     char ret_hint[ATOLL_SPELLING_HINT_BYTES])
{
    char near[ATOLL_SPELLING_HINT_BYTES - 32];
    if (atoll_spelling_near_path(path, "", near, sizeof(near)))
        snprintf(ret_hint, ATOLL_SPELLING_HINT_BYTES, "did you mean '%s'?", near);
    else
        snprintf(ret_hint, ATOLL_SPELLING_HINT_BYTES, "%s", otherwise);
    return ret_hint;
}

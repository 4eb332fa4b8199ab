/* attempt.c - the attempts of a campaign: their files, the list of them, and which of them count: the newest and those it goes
 * back to through header.previous. */
#include "archive-h5/campaign/campaign_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"

int atoll_campaign_journal_path(const struct atoll_campaign *c, char *ret_path, size_t bytes,
                                const char *attempt, struct atoll_err *err)
{
    char name[ATOLL_ATTEMPT_NAME_BYTES + 32];
    snprintf(name, sizeof(name), "jobs/%.63s/%s", attempt, ATOLL_JOURNAL_FILE);
    return atoll_campaign_path(c, ret_path, bytes, name, err);
}

int atoll_campaign_digest(const char *path, uint64_t length, struct atoll_id *ret_digest,
                          struct atoll_err *err)
{
    uint64_t size;
    int fd = atoll_file_open(path, &size, err);
    if (fd < 0)
        return -1;
    if (size < length || length == 0) {
        close(fd);
        return atoll_err_set(err, ATOLL_E_CORRUPT,
                             "%s: has %llu bytes, its successor sealed %llu; restore the file from a copy",
                             path, (unsigned long long)size, (unsigned long long)length);
    }
    void *map = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, fd, 0);
    int failed = errno;
    close(fd);
    if (map == MAP_FAILED)
        return atoll_err_errno(err, failed, "%s: cannot map the journal", path);
    *ret_digest = atoll_id_of(map, (size_t)length);
    munmap(map, (size_t)length);
    return 0;
}

int atoll_campaign_has_segment(const struct atoll_campaign *c, const char *attempt)
{
    char name[ATOLL_ATTEMPT_NAME_BYTES + 32], path[PATH_MAX];
    snprintf(name, sizeof(name), "jobs/%s/segment-0000.h5", attempt);
    return atoll_campaign_path(c, path, sizeof(path), name, NULL) == 0 && access(path, F_OK) == 0;
}

/* Reads the header of one attempt; an attempt without a readable journal was killed before it began. */
static int read_attempt(const struct atoll_campaign *c, const char *name, struct atoll_attempt *ret_attempt,
                        struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_err local = ATOLL_ERR_INIT;
    const struct atoll_record *record;
    memset(ret_attempt, 0, sizeof(*ret_attempt));
    snprintf(ret_attempt->name, sizeof(ret_attempt->name), "%.63s", name);
    if (atoll_campaign_journal_path(c, path, sizeof(path), name, err) != 0)
        return -1;
    struct atoll_journal_reader *reader = atoll_journal_reader_open(path, &local);
    int got = reader ? atoll_journal_reader_next(reader, &record, &local) : -1;
    if (!reader && local.code == ATOLL_E_NOTFOUND)
        got = 0;
    if (got == 1) {
        ret_attempt->has_journal = 1;
        ret_attempt->header = record->header;
    }
    atoll_journal_reader_close(reader);
    if (got < 0 && err)
        *err = local;
    if (got == 0 && atoll_campaign_has_segment(c, name)) {
        return atoll_err_set(
            err, ATOLL_E_CORRUPT,
            "%s: is missing or empty although the segment beside it was made of it; restore it from a copy",
            path);
    }
    return got < 0 ? -1 : 0;
}

static int by_number(const void *a, const void *b)
{
    const struct atoll_attempt *x = a, *y = b;
    if (x->has_journal != y->has_journal)
        return x->has_journal ? -1 : 1;
    if (x->header.attempt != y->header.attempt)
        return x->header.attempt < y->header.attempt ? -1 : 1;
    return strcmp(x->name, y->name);
}

int atoll_campaign_attempts(const struct atoll_campaign *c, struct atoll_attempt **ret_attempts,
                            size_t *ret_count, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_attempt *attempts = malloc(sizeof(*attempts));
    size_t count = 0;
    int failed = !attempts ? atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of attempts")
                           : atoll_campaign_path(c, path, sizeof(path), "jobs", err);
    DIR *d = failed ? NULL : opendir(path);
    if (!failed && !d && errno != ENOENT)
        failed = atoll_err_errno(err, errno, "%s: cannot list the attempts", path);
    for (struct dirent *e; !failed && d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || strlen(e->d_name) >= ATOLL_ATTEMPT_NAME_BYTES)
            continue;
        struct atoll_attempt *grown = realloc(attempts, (count + 1) * sizeof(*grown));
        failed = !grown ? atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of attempts") : 0;
        attempts = grown ? grown : attempts;
        if (!failed)
            failed = read_attempt(c, e->d_name, &attempts[count++], err);
    }
    if (d)
        closedir(d);
    if (failed) {
        free(attempts);
        return -1;
    }
    qsort(attempts, count, sizeof(*attempts), by_number);
    *ret_attempts = attempts;
    *ret_count = count;
    return 0;
}

int atoll_campaign_corrupt(const struct atoll_campaign *c, const char *attempt, const char *what,
                           struct atoll_err *err)
{
    return atoll_err_set(err, ATOLL_E_CORRUPT, "%s/jobs/%s/%s: %s; restore the campaign from a copy", c->dir,
                         attempt, ATOLL_JOURNAL_FILE, what);
}

/* Index of the predecessor in attempts, -1 none; -2 error. */
static long predecessor(const struct atoll_campaign *c, const struct atoll_attempt *attempts, size_t count,
                        size_t of, struct atoll_err *err)
{
    const struct atoll_journal_header *h = &attempts[of].header;
    if (!h->previous[0])
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(attempts[i].name, h->previous)) {
            if (attempts[i].has_journal && attempts[i].header.attempt < h->attempt)
                return (long)i;
            break;
        }
    }
    atoll_campaign_corrupt(c, attempts[of].name, "the journal it continues is missing", err);
    return -2;
}

int atoll_campaign_chain(const struct atoll_campaign *c, const struct atoll_attempt *attempts, size_t count,
                         long *chain, long *ret_length, struct atoll_err *err)
{
    long at = -1, length = 0;
    for (size_t i = 0; i < count; i++)
        if (attempts[i].has_journal)
            at = (long)i;
    while (at >= 0) {
        chain[length++] = at;
        at = predecessor(c, attempts, count, (size_t)at, err);
    }
    *ret_length = length;
    return at == -2 ? -1 : 0;
}

int atoll_campaign_own(const struct atoll_campaign *c, const struct atoll_attempt *a, struct atoll_err *err)
{
    if (!atoll_id_equal(&a->header.campaign, &c->config.id))
        return atoll_campaign_corrupt(c, a->name, "belongs to another campaign", err);
    if (strcmp(a->header.name, a->name) != 0)
        return atoll_campaign_corrupt(c, a->name, "was written in a folder of another name", err);
    return 0;
}

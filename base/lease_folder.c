/* lease_folder.c - listing and sweeping. */
#include "base/lease_folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PREPARED           ".claim+"
#define PREPARED_OLD_S     600
#define VANISHED_LIMIT     1000
#define SWEEP_LIMIT        4096 /* claims in one sweep; those beyond wait for the next */
#define EPOCH_DIGITS_LIMIT 10

int atoll_lease_folder_claim(const char *folder, uint32_t epoch, char *ret_path, size_t bytes,
                             struct atoll_err *err)
{
    if ((size_t)snprintf(ret_path, bytes, "%s/%06u", folder, epoch) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", folder);
    return 0;
}

int atoll_lease_folder_prepared(const char *folder, const struct atoll_lease_record *r, char *ret_path,
                                size_t bytes, struct atoll_err *err)
{
    if ((size_t)snprintf(ret_path, bytes, "%s/" PREPARED "%lld+%llu+%s+%016llx", folder,
                         (long long)r->holder.pid, (unsigned long long)r->holder.pid_start,
                         *r->holder.boot ? r->holder.boot : "-", (unsigned long long)r->token) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", folder);
    return 0;
}

/* 1 when the name is a claim's. */
static int is_claim(const char *name, uint32_t *ret_epoch)
{
    size_t length = strspn(name, "0123456789");
    unsigned long long epoch = strtoull(name, NULL, 10);
    if (length < 6 || length > EPOCH_DIGITS_LIMIT || name[length] || epoch > UINT32_MAX)
        return 0;
    *ret_epoch = (uint32_t)epoch;
    return 1;
}

int atoll_lease_folder_newest(const char *folder, uint32_t *ret_epoch, struct atoll_err *err)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    uint32_t epoch;
    int found = 0;
    if (!d)
        return errno == ENOENT ? 0 : atoll_err_errno(err, errno, "%s: cannot list the claims", folder);
    errno = 0;
    for (; (e = readdir(d)); errno = 0)
        if (is_claim(e->d_name, &epoch) && (!found || epoch > *ret_epoch)) {
            *ret_epoch = epoch;
            found = 1;
        }
    int failed = errno;
    closedir(d);
    return failed ? atoll_err_errno(err, failed, "%s: cannot list the claims", folder) : found;
}

int atoll_lease_folder_read(const char *folder, struct atoll_lease_record *ret_record, struct atoll_err *err)
{
    char path[PATH_MAX];
    for (int i = 0; i < VANISHED_LIMIT; i++) { /* a newer claim's holder removes what was listed */
        struct atoll_err own = ATOLL_ERR_INIT;
        uint32_t epoch = 0;
        int found = atoll_lease_folder_newest(folder, &epoch, err);
        if (found <= 0)
            return found;
        if (atoll_lease_folder_claim(folder, epoch, path, sizeof path, err) != 0)
            return -1;
        if (atoll_lease_record_read(path, ret_record, &own) == 0) {
            ret_record->epoch = epoch;
            return 1;
        }
        if (own.code != ATOLL_E_NOTFOUND) {
            if (err)
                *err = own;
            return -1;
        }
    }
    return atoll_err_set(err, ATOLL_E_IO, "%s: the newest claim is listed and cannot be found; look again",
                         folder);
}

static int by_epoch(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* In order, up to the first that stays. */
static void claims_remove(const char *folder, uint32_t *epochs, size_t count,
                          const struct atoll_file_ops *ops)
{
    char path[PATH_MAX];
    qsort(epochs, count, sizeof *epochs, by_epoch);
    for (size_t i = 0; i < count; i++) {
        if (atoll_lease_folder_claim(folder, epochs[i], path, sizeof path, NULL) != 0 ||
            (ops->unlink(ops->context, path) != 0 && errno != ENOENT))
            return;
    }
}

static int prepared_is_old(const char *path, const struct timespec *now)
{
    struct stat st;
    return stat(path, &st) == 0 && now->tv_sec - st.st_mtim.tv_sec > PREPARED_OLD_S;
}

static void prepared_sweep(const char *folder, const char *name, const struct timespec *now,
                           const struct atoll_lease_holder *self, const struct atoll_file_ops *ops)
{
    struct atoll_lease_holder of = {.pid = 0};
    char path[PATH_MAX];
    long long pid = 0;
    unsigned long long start = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return;
    if (sscanf(name, PREPARED "%lld+%llu+%39[^+]", &pid, &start, of.boot) == 3) {
        of.pid = pid;
        of.pid_start = start;
    }
    if (atoll_lease_holder_is_dead(&of, self) || prepared_is_old(path, now))
        ops->unlink(ops->context, path);
}

void atoll_lease_folder_sweep(const char *folder, uint32_t newest, const struct atoll_lease_holder *self,
                              const struct atoll_file_ops *ops)
{
    uint32_t epochs[SWEEP_LIMIT], epoch;
    size_t count = 0, seen = 0;
    char path[PATH_MAX];
    struct stat st;
    DIR *d = opendir(folder);
    if (!d)
        return;
    int has_now =
        atoll_lease_folder_claim(folder, newest, path, sizeof path, NULL) == 0 && stat(path, &st) == 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (has_now && strncmp(e->d_name, PREPARED, strlen(PREPARED)) == 0)
            prepared_sweep(folder, e->d_name, &st.st_mtim, self, ops);
        if (!is_claim(e->d_name, &epoch) || epoch >= newest)
            continue;
        seen++;
        if (count < SWEEP_LIMIT)
            epochs[count++] = epoch;
    }
    closedir(d);
    if (seen == count) /* else the lowest may be among those that were not kept */
        claims_remove(folder, epochs, count, ops);
}

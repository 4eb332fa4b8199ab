/* write_archive.c - HDF5 files at the end of an attempt. */
#include "mpi-eval/coordinator/write_archive.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "archive-h5/hdf5/archive.h"

#define SEAL_LONGEST_NS 1800e9

int atoll_write_archive(const struct atoll_campaign *campaign, const char *attempt_dir, struct atoll_err *err)
{
    char path[PATH_MAX];
    if (attempt_dir)
        return atoll_archive_seal(campaign, attempt_dir, NULL, err);
    int length = snprintf(path, sizeof(path), "%s/archive.h5", atoll_campaign_dir(campaign));
    if (length < 0 || (size_t)length >= sizeof(path))
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of the campaign is too long");
    return atoll_archive_refresh(campaign, path, NULL, err) < 0 ? -1 : 0;
}

/* From the last record of its journal to its segment; archive.h5 takes as long again.  Times of files are what a copy may
 * have made of them: none beyond SEAL_LONGEST_NS is believed. */
static double seal_ns_of(const struct atoll_campaign *campaign, const char *attempt)
{
    char path[PATH_MAX];
    struct stat journal, segment;
    const char *dir = atoll_campaign_dir(campaign);
    if ((size_t)snprintf(path, sizeof(path), "%s/jobs/%s/" ATOLL_JOURNAL_FILE, dir, attempt) >=
            sizeof(path) ||
        stat(path, &journal) != 0) {
        return 0;
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/jobs/%s/segment-0000.h5", dir, attempt) >= sizeof(path) ||
        stat(path, &segment) != 0) {
        return 0;
    }
    double ns = 2e9 * (double)(segment.st_mtim.tv_sec - journal.st_mtim.tv_sec) +
                2.0 * (double)(segment.st_mtim.tv_nsec - journal.st_mtim.tv_nsec);
    return ns > 0 && ns < SEAL_LONGEST_NS ? ns : 0;
}

double atoll_write_archive_last_ns(const struct atoll_campaign *campaign)
{
    struct atoll_attempt *attempts;
    size_t count;
    double ns = 0;
    if (atoll_campaign_attempts(campaign, &attempts, &count, NULL) != 0)
        return 0;
    for (size_t i = count; i > 0 && ns <= 0; i--)
        ns = seal_ns_of(campaign, attempts[i - 1].name);
    free(attempts);
    return ns;
}

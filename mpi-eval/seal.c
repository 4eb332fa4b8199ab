/* seal.c - HDF5 files at the end of an attempt. */
#include "mpi-eval/seal.h"

#include <limits.h>
#include <stdio.h>

#include "archive-h5/archive.h"

int atoll_seal(const struct atoll_campaign *campaign, const char *attempt_dir, struct atoll_err *err)
{
    char path[PATH_MAX];
    if (attempt_dir)
        return atoll_archive_seal(campaign, attempt_dir, NULL, err);
    int length = snprintf(path, sizeof path, "%s/archive.h5", atoll_campaign_dir(campaign));
    if (length < 0 || (size_t)length >= sizeof path)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of the campaign is too long");
    return atoll_archive_refresh(campaign, path, NULL, err) < 0 ? -1 : 0;
}

/* seal.c - HDF5 files at the end of an attempt. */
#include "mpi-eval/seal.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "archive-h5/merge.h"
#include "archive-h5/project.h"
#include "archive-h5/segment.h"

static int segment_make(const struct atoll_campaign *campaign, const char *attempt_dir, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_projection *projection = atoll_projection_of_campaign(campaign, NULL, err);
    struct atoll_tables *tables = projection ? atoll_projection_cut(projection, err) : NULL;
    int rc = tables ? atoll_segment_name(attempt_dir, path, sizeof path, err) : -1;
    if (rc == 0)
        rc = atoll_segment_write(path, tables, NULL, err);
    atoll_tables_destroy(tables);
    atoll_projection_destroy(projection);
    return rc;
}

int atoll_seal(const struct atoll_campaign *campaign, const char *attempt_dir, struct atoll_err *err)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/archive.h5", atoll_campaign_dir(campaign));
    if (length < 0 || (size_t)length >= sizeof path)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of the campaign is too long");
    if (!attempt_dir && access(path, R_OK) == 0)
        return 0;
    if (attempt_dir && segment_make(campaign, attempt_dir, err) != 0)
        return -1;
    return atoll_archive_build(campaign, path, NULL, NULL, err);
}

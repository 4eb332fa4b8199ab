#include "scheduler/cli/archive_view.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "archive-h5/hdf5/merge.h"
#include "archive-h5/hdf5/segment.h"
#include "scheduler/campaign/sweep.h"

static int open_campaign(const char *path, struct atoll_archive_view *view, struct atoll_err *err)
{
    view->campaign = atoll_campaign_open(path, NULL, err);
    view->projection = view->campaign ? atoll_projection_of_campaign(view->campaign, NULL, err) : NULL;
    if (!view->projection) {
        return -1;
    }
    view->tables = atoll_projection_tables(view->projection);
    return 0;
}

static int part_add(const struct atoll_sweep *sweep, size_t part, struct atoll_merge *merge,
                    struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_campaign *campaign = atoll_sweep_part_path(sweep, part, path, sizeof(path), err) == 0
                                          ? atoll_campaign_open(path, NULL, err)
                                          : NULL;
    struct atoll_projection *projection = campaign ? atoll_projection_of_campaign(campaign, NULL, err) : NULL;
    int status = projection ? atoll_merge_add(merge, atoll_projection_tables(projection), err) : -1;

    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    return status;
}

/* All parts in one set of tables. */
static int open_sweep(const char *path, struct atoll_archive_view *view, struct atoll_err *err)
{
    struct atoll_sweep *sweep = atoll_sweep_open(path, err);
    struct atoll_merge *merge = sweep ? atoll_merge_create(ATOLL_TABLES_LIMIT_BYTES, err) : NULL;
    int status = merge ? 0 : -1;

    for (size_t i = 0; status == 0 && i < sweep->part_count; i++) {
        status = part_add(sweep, i, merge, err);
    }
    if (status == 0) {
        view->own = atoll_merge_take(merge);
        view->tables = view->own;
    }
    atoll_merge_destroy(merge);
    atoll_sweep_close(sweep);
    return status;
}

static int open_file(const char *path, struct atoll_archive_view *view, struct atoll_err *err)
{
    view->own = atoll_segment_read(path, err);
    view->tables = view->own;
    return view->own ? 0 : -1;
}

int atoll_archive_view_open(const char *path, struct atoll_archive_view *ret_view, struct atoll_err *err)
{
    struct atoll_archive_view view;
    struct stat st;
    int status;

    memset(&view, 0, sizeof(view));
    if (stat(path, &st) != 0) {
        return atoll_err_errno(err, errno, "%s: name a campaign's folder or an .h5 archive", path);
    }
    view.is_folder = S_ISDIR(st.st_mode);
    status = !view.is_folder        ? open_file(path, &view, err)
             : atoll_sweep_is(path) ? open_sweep(path, &view, err)
                                    : open_campaign(path, &view, err);
    view.query = status == 0 ? atoll_query_create(view.tables, err) : NULL;
    if (!view.query) {
        atoll_archive_view_close(&view);
        return -1;
    }
    *ret_view = view;
    return 0;
}

void atoll_archive_view_close(struct atoll_archive_view *view)
{
    atoll_query_destroy(view->query);
    atoll_projection_destroy(view->projection);
    atoll_campaign_close(view->campaign);
    atoll_tables_destroy(view->own);
    memset(view, 0, sizeof(*view));
}

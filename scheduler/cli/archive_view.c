#include "scheduler/cli/archive_view.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "archive-h5/hdf5/merge.h"
#include "archive-h5/hdf5/segment.h"
#include "base/spelling.h"
#include "scheduler/campaign/sweep.h"

/* All parts in one set of tables. */
static void open_sweep(const char *path, struct atoll_archive_view *view, struct atoll_err *err)
{
    struct atoll_sweep *sweep = atoll_sweep_open(path, err);
    struct atoll_merge *merge = sweep ? atoll_merge_create(ATOLL_TABLES_LIMIT_BYTES, err) : NULL;
    int status = merge ? 0 : -1;

    for (size_t i = 0; status == 0 && i < sweep->part_count; i++) {
        char part[PATH_MAX];
        struct atoll_campaign *campaign = atoll_sweep_part_path(sweep, i, part, sizeof(part), err) == 0
                                              ? atoll_campaign_open(part, NULL, err)
                                              : NULL;
        struct atoll_projection *projection =
            campaign ? atoll_projection_of_campaign(campaign, NULL, err) : NULL;

        status = projection ? atoll_merge_add(merge, atoll_projection_tables(projection), err) : -1;
        atoll_projection_destroy(projection);
        atoll_campaign_close(campaign);
    }
    if (status == 0) {
        view->own = atoll_merge_take(merge);
        view->tables = view->own;
    }
    atoll_merge_destroy(merge);
    atoll_sweep_close(sweep);
}

int atoll_archive_view_open(const char *path, struct atoll_archive_view *ret_view, struct atoll_err *err)
{
    struct atoll_archive_view view;
    struct stat st;

    memset(&view, 0, sizeof(view));
    if (stat(path, &st) != 0) {
        int system = errno;
        char hint[ATOLL_SPELLING_HINT_BYTES];

        atoll_err_errno(err, system, "%s: name a campaign's folder or an .h5 archive", path);
        return system == ENOENT && *atoll_spelling_hint_path(path, "", hint) ? atoll_err_add(err, "%s", hint)
                                                                             : -1;
    }
    view.is_folder = S_ISDIR(st.st_mode);
    if (!view.is_folder) {
        view.own = atoll_segment_read_foreign(path, err);
        view.tables = view.own;
    } else if (atoll_sweep_is(path)) {
        open_sweep(path, &view, err);
    } else {
        view.campaign = atoll_campaign_open(path, NULL, err);
        view.projection = view.campaign ? atoll_projection_of_campaign(view.campaign, NULL, err) : NULL;
        view.tables = view.projection ? atoll_projection_tables(view.projection) : NULL;
    }
    view.query = view.tables ? atoll_query_create(view.tables, err) : NULL;
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

int atoll_archive_each_part(const char *path,
                            int (*one)(const char *path, const void *settings, struct atoll_err *err),
                            const void *settings, struct atoll_err *err)
{
    struct atoll_sweep *sweep;
    int status = 0;

    if (!atoll_sweep_is(path))
        return one(path, settings, err);
    sweep = atoll_sweep_open(path, err);
    if (!sweep)
        return -1;
    for (size_t i = 0; i < sweep->part_count && status == 0; i++) {
        char part[PATH_MAX];

        status =
            atoll_sweep_part_path(sweep, i, part, sizeof(part), err) == 0 ? one(part, settings, err) : -1;
    }
    atoll_sweep_close(sweep);
    return status;
}

int atoll_archive_check_output(const char *path, struct atoll_err *err)
{
    struct stat st;

    if (lstat(path, &st) != 0 || S_ISREG(st.st_mode))
        return 0;
    return atoll_err_set(err, ATOLL_E_INPUT, "%s: is there and is not a regular file; name another file",
                         path);
}

#include "scheduler/archive_view.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "archive-h5/segment.h"

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
    status = S_ISDIR(st.st_mode) ? open_campaign(path, &view, err) : open_file(path, &view, err);
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

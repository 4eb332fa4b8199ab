/* archive_view.h - what a command reads: a campaign folder (from its journals, so always current; of a submitted
 * campaign those of all parts) or an .h5 file. Layer: scheduler.  Lifetime: open/close. */
#ifndef ATOLL_SCHEDULER_CLI_ARCHIVE_VIEW_H
#define ATOLL_SCHEDULER_CLI_ARCHIVE_VIEW_H

#include "archive-h5/campaign/campaign.h"
#include "archive-h5/table/project.h"
#include "archive-h5/report/query.h"

struct atoll_archive_view {
    const struct atoll_tables *tables; /* borrowed from one of the owners below */
    struct atoll_query *query;
    struct atoll_campaign *campaign;     /* NULL for an .h5 file and for a submitted campaign */
    struct atoll_projection *projection; /* owner of tables for a campaign */
    struct atoll_tables *own;            /* owner of tables for a file, and of those of all parts together */
    int is_folder;                       /* path is a campaign's */
};

/* Errors: NOTFOUND (neither a campaign nor a file), and those of reading. */
int atoll_archive_view_open(const char *path, struct atoll_archive_view *ret_view, struct atoll_err *err);
void atoll_archive_view_close(struct atoll_archive_view *view);

/* Calls one for each part of a submitted campaign, for anything else with the path itself.  Ends with the first that is not 0,
 * which it returns. */
int atoll_archive_each_part(const char *path,
                            int (*one)(const char *path, const void *settings, struct atoll_err *err),
                            const void *settings, struct atoll_err *err);

/* ATOLL_E_INPUT when path is there and no regular file: what is replaced in one step is renamed over, and a device or a link
 * would be gone. */
int atoll_archive_check_output(const char *path, struct atoll_err *err);

#endif

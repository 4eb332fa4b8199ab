#include "scheduler/cli/finish.h"

#include "archive-h5/hdf5/archive.h"
#include "archive-h5/report/report.h"
#include "scheduler/cli/archive_view.h"
#include "base/json.h"
#include "scheduler/cli/task_table.h"

static void print_json(const struct atoll_archive_view *view, const char *archive, const char *report,
                       FILE *out)
{
    json_t *object = json_pack("{s:o, s:o, s:o}", "tasks", atoll_task_table_json(view->query, NULL),
                               "archive", atoll_json_text(archive), "report", atoll_json_text(report));

    json_dumpf(object, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(object);
}

int atoll_finish_campaign(const char *dir, int json, FILE *out, struct atoll_err *err)
{
    char archive[4096], report[4096];
    struct atoll_archive_view view;
    struct atoll_archive_summary summary;
    int status;

    snprintf(archive, sizeof(archive), "%s/archive.h5", dir);
    snprintf(report, sizeof(report), "%s/report.html", dir);
    if (atoll_archive_view_open(dir, &view, err) != 0) {
        return -1;
    }
    status = atoll_archive_refresh(view.campaign, archive, NULL, err) < 0 ? -1 : 0;
    status = status == 0 ? atoll_report_write(view.tables, report, NULL, err) : status;
    if (status == 0) {
        if (json) {
            print_json(&view, archive, report, out);
        } else {
            atoll_task_table_print(view.query, NULL, out);
            fprintf(out, "archive: %s\nreport:  %s\n", archive, report);
        }
        atoll_query_summary(view.query, &summary);
        if (summary.timed_count == 0) {
            char failure[512] = "";

            if (summary.task_count) {
                atoll_task_table_failure(view.query, 0, failure, sizeof(failure));
            }
            status = atoll_err_set(err, ATOLL_E_INPUT, "no task has a correct baseline: %s",
                                   *failure ? failure : "no evaluation finished in time");
        }
    }
    atoll_archive_view_close(&view);
    return status;
}

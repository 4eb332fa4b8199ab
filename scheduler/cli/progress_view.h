/* progress_view.h - shows a run's progress lines: bars on a terminal, plain lines elsewhere; each redraw is one write.
 * Layer: scheduler.  Lifetime: create/destroy.  Input: one JSON object a line, docs/spec/progress.md. */
#ifndef ATOLL_SCHEDULER_CLI_PROGRESS_VIEW_H
#define ATOLL_SCHEDULER_CLI_PROGRESS_VIEW_H

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

struct atoll_progress_view;

enum atoll_progress_mode {
    ATOLL_PROGRESS_AUTO,
    ATOLL_PROGRESS_BARS,
    ATOLL_PROGRESS_PLAIN,
    ATOLL_PROGRESS_JSON,
    ATOLL_PROGRESS_NONE
};

/* out: borrowed.  AUTO: bars when out is a terminal with TERM other than dumb, plain lines otherwise. */
struct atoll_progress_view *atoll_progress_view_create(FILE *out, enum atoll_progress_mode mode,
                                                       struct atoll_err *err);
void atoll_progress_view_destroy(struct atoll_progress_view *view); /* leaves the cursor below the bars */
/* Bytes as they come from the pipe; lines may be split anywhere.  A line that is no JSON object is skipped.
 */
void atoll_progress_view_feed(struct atoll_progress_view *view, const char *bytes, size_t length);
/* "atoll: <message>" on a line of its own, above the bars. */
void atoll_progress_view_message(struct atoll_progress_view *view, const char *message);

#endif

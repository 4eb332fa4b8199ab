/* kernel_file.h - a candidate as a source file that compiles by itself: who it is in a comment, its parameters as #defines.
 * Layer: scheduler. */
#ifndef ATOLL_SCHEDULER_CLI_KERNEL_FILE_H
#define ATOLL_SCHEDULER_CLI_KERNEL_FILE_H

#include <jansson.h>

#include "base/buffer.h"
#include "scheduler/cli/archive_view.h"

/* candidate: a row of candidates.  The comment has the task, the candidate's id, its launch, the shapes, its times and where they
 * were measured; what others wrote stands in it without control characters and without an end of a comment.  Errors: LIMIT,
 * MEMORY. */
int atoll_kernel_file_write(const struct atoll_archive_view *view, uint64_t candidate,
                            struct atoll_buffer *out, struct atoll_err *err);

/* {"task", "candidate", "language", "parameters": {NAME: VALUE}, "plan": {...}, "shapes": {variant: {DIM: VALUE}}, "times":
 * [{"variant", "median_ns", "lo95_ns", "hi95_ns", "samples"}], "device", "toolchain", "source"}; source: the file's text.  New
 * reference; NULL with err. */
json_t *atoll_kernel_file_json(const struct atoll_archive_view *view, uint64_t candidate,
                               struct atoll_err *err);

/* {NAME: VALUE} of a choice as the archive has it ("BLOCK=256 LANES=32"); what is no C name with a number is left out. */
json_t *atoll_kernel_parameters(const char *choice);
/* [{"variant", "median_ns", "lo95_ns", "hi95_ns", "samples"}] of an evaluation, a row of evaluations; [] for -1. */
json_t *atoll_kernel_times(const struct atoll_archive_view *view, int64_t evaluation);

#endif

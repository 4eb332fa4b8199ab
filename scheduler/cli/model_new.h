/* model_new.h - a kernel of an archive as a Python file that KernelBench's own harness takes: a ModelNew with the problem's
 * constructor and parameters that launches our image by its plan.
 * Layer: scheduler.  What the archive holds is hostile: it stands in the file as data, and the problem's text, which is its
 * user's own, is executed by nobody but who runs the file. */
#ifndef ATOLL_SCHEDULER_CLI_MODEL_NEW_H
#define ATOLL_SCHEDULER_CLI_MODEL_NEW_H

#include <jansson.h>

#include "base/buffer.h"
#include "scheduler/cli/archive_view.h"

#define ATOLL_MODEL_NEW_REASON_BYTES 300

struct atoll_model_new {
    char path[160];                            /* of the file in the output's folder: "level1/19_ReLU.py" */
    char reason[ATOLL_MODEL_NEW_REASON_BYTES]; /* why there is none; "" when there is one */
    char note
        [ATOLL_MODEL_NEW_REASON_BYTES]; /* why it holds no image and compiles when it is loaded; "" else */
};

/* task: a row of tasks.  frame: text that every file ends with (share/atoll/torch/model_new.py).  Compiles the best kernel for
 * the device it was measured on, where there is NVRTC.  ret: what came of it; a task that is not KernelBench's, or has no
 * correct kernel for a GPU, is no error.  Errors: LIMIT, MEMORY. */
int atoll_model_new_write(const struct atoll_archive_view *view, uint64_t task, const char *frame,
                          struct atoll_buffer *out, struct atoll_model_new *ret, struct atoll_err *err);

/* The file's text.  kernel: an object with what the frame calls KERNEL, numbers and texts and lists of them, {"task",
 * "candidate", "made_on", "times" ...}; problem, source: texts; image: may be NULL. */
int atoll_model_new_text(json_t *kernel, const char *problem, const char *source, const void *image,
                         size_t image_length, const char *frame, struct atoll_buffer *out,
                         struct atoll_err *err);

/* What of a task.yaml the frame needs, added to kernel: "tensors", "entry", "suite", "problem".  -1 with INPUT where it is no
 * task that PyTorch defines by a module. */
int atoll_model_new_read_task(const char *definition, json_t *kernel, struct atoll_err *err);

#endif

#include "mpi-eval/backend/cuda/measure/window.h"

#include "base/log.h"

int atoll_cuda_window_is_open(const struct atoll_cuda_device *d, const struct atoll_torch_window *window)
{
    return d->window >= 0 && d->facts.compute_mode == 0 && atoll_torch_window_is_wanted(window);
}

void atoll_cuda_window_shut(struct atoll_cuda_device *d, const char *why)
{
    d->window = -1;
    atoll_log(ATOLL_LOG_INFO, "eval.torch.window",
              "device %s: large results of PyTorch go by way of the host from now on: %.300s", d->uuid, why);
}

/* One stretch; results as atoll_cuda_window_take. */
static int stretch_take(struct atoll_cuda_device *d, const struct atoll_torch_window *w, uint64_t begin,
                        const unsigned char *handle, const uint64_t *addresses, struct atoll_err *err)
{
    uint64_t bytes = w->stretch, end = begin + bytes;
    atoll_command_batch_clear(&d->batch);
    atoll_command_batch_foreign_open(&d->batch, handle, bytes);
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        uint64_t low = w->offsets[i] > begin ? w->offsets[i] : begin, last = w->offsets[i] + w->sizes[i],
                 high = last < end ? last : end;
        if (low < high)
            atoll_command_batch_foreign_copy(&d->batch, addresses[i] + (low - w->offsets[i]), low - begin,
                                             high - low);
    }
    atoll_command_batch_foreign_close(&d->batch);
    int rc = atoll_cuda_device_run(d, ATOLL_CUDA_OWN_DEADLINE_NS, err);
    if (rc > 0) { /* a driver that does not bear it would be lost each time */
        atoll_cuda_window_shut(d, d->reply.text);
        return ATOLL_CUDA_WINDOW_LOST;
    }
    if (rc < 0 || d->reply.status == ATOLL_COMMAND_BATCH_DONE)
        return rc;
    if (d->reply.command == 0) { /* not opened, or closed again at once: nothing was copied */
        atoll_cuda_window_shut(d, d->reply.text);
        return ATOLL_CUDA_WINDOW_SHUT;
    }
    atoll_err_set(err, ATOLL_E_CHILD, "copying results of PyTorch: command %u was refused: %s",
                  d->reply.command, d->reply.text);
    atoll_cuda_device_drop(d);
    return -1;
}

int atoll_cuda_window_take(struct atoll_cuda_device *d, const struct atoll_torch_window *w,
                           const uint64_t *addresses, struct atoll_err *err)
{
    unsigned char handle[ATOLL_TORCH_HANDLE_BYTES];
    int rc = 0;
    for (uint64_t begin = 0; rc == 0 && begin < w->bytes; begin += w->stretch) {
        rc = w->show(w->context, begin, handle, err);
        if (rc == 0)
            rc = stretch_take(d, w, begin, handle, addresses, err);
    }
    w->close(w->context); /* one that does not answer is ended, and its memory with it */
    if (rc == 0 && d->window == 0) {
        d->window = 1;
        atoll_log(ATOLL_LOG_INFO, "eval.torch.window",
                  "device %s: large results of PyTorch are copied on the device", d->uuid);
    }
    return rc;
}

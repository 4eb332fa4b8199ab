#include "mpi-eval/backend/cuda/measure/local_memory.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"

#define REFUSALS                                                                                             \
    2 /* then it is not asked for any more: the first may be for the memory that is there until it has grown */

static int calls(const struct atoll_loaded_candidate *candidate)
{
    const struct atoll_cubin *cubin = &atoll_cuda_loaded_candidate_of(candidate)->cubin;
    for (size_t k = 0; k < cubin->kernel_count; k++)
        if (cubin->kernels[k].local_bytes > cubin->kernels[k].stack_bytes)
            return 1;
    return 0;
}

uint32_t atoll_cuda_local_most(const struct atoll_loaded_candidate *candidate)
{
    return calls(candidate) ? ATOLL_SUPPORT_LOCAL_BYTES : ATOLL_SUPPORT_LOCAL_WIDEST;
}

uint32_t atoll_cuda_local_reach(const struct atoll_loaded_candidate *candidate)
{
    uint32_t bytes = atoll_cuda_loaded_candidate_local_bytes(candidate);
    return bytes <= atoll_cuda_local_most(candidate) ? bytes : ATOLL_CUDA_LOCAL_UNREACHED;
}

void atoll_cuda_local_begin(struct atoll_cuda_device *d, const struct atoll_loaded_candidate *candidate)
{
    int is_wide = d->local_bytes > ATOLL_SUPPORT_LOCAL_BYTES;
    if (d->worker && (d->has_unreached || (is_wide && calls(candidate))))
        atoll_cuda_device_replace(d);
}

/* 0, 1 dropped, -1. */
static int widen(struct atoll_cuda_device *d, uint32_t frame_bytes, struct atoll_err *err)
{
    double begin = atoll_clock_raw_ns();
    atoll_command_batch_clear(&d->batch);
    if (d->local_bytes <= ATOLL_SUPPORT_LOCAL_BYTES)
        atoll_support_wide_frames_load(&d->batch, d->wide_frames.bytes, d->wide_frames.length);
    atoll_support_local_wipe(
        &d->batch, frame_bytes, d->facts.limits.multiprocessors, d->facts.limits.threads_per_multiprocessor,
        atoll_random_at(d->referee->salt ^ 0x77696465ull, ++d->clock), atoll_cuda_result(d, 0));
    int rc = atoll_cuda_device_run(d, ATOLL_CUDA_OWN_DEADLINE_NS, err);
    if (rc < 0)
        return rc;
    if (rc == 0 && d->reply.status == ATOLL_COMMAND_BATCH_DONE) {
        d->local_bytes = frame_bytes;
        atoll_log(ATOLL_LOG_INFO, "eval.device.local",
                  "device process %u overwrites %u bytes of local memory a thread, about %.1f GB more, after "
                  "%.0f ms",
                  d->generation, frame_bytes, (double)atoll_cuda_device_local_room(d, frame_bytes) / 1e9,
                  (atoll_clock_raw_ns() - begin) / 1e6);
        return 0;
    }
    d->local_refusals++;
    atoll_log(ATOLL_LOG_INFO, "eval.device.local", "no %u bytes of local memory a thread: %s; %s",
              frame_bytes, d->reply.text,
              d->local_refusals < REFUSALS ? "once more in a new process"
                                           : "candidates with so much get a new process for each sample");
    atoll_cuda_device_replace(d); /* what it has by now is not known */
    return 1;
}

int atoll_cuda_local_have(struct atoll_cuda_device *d, const struct atoll_loaded_candidate *candidate,
                          int *ret_reached, struct atoll_err *err)
{
    uint32_t bytes = atoll_cuda_local_reach(candidate);
    int is_calling = calls(candidate);
    *ret_reached = bytes <= d->local_bytes && !(is_calling && d->local_bytes > ATOLL_SUPPORT_LOCAL_BYTES);
    if (*ret_reached || is_calling || bytes == ATOLL_CUDA_LOCAL_UNREACHED || d->local_refusals >= REFUSALS)
        return 0;
    uint32_t frame = atoll_support_local_frame(bytes);
    if (atoll_cuda_device_local_room(d, frame) > atoll_cuda_device_free_bytes(d))
        return 0;
    int rc = widen(d, frame, err);
    *ret_reached = rc == 0;
    return rc;
}

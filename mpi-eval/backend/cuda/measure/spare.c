#include "mpi-eval/backend/cuda/measure/spare.h"

#include "base/log.h"

static void shut(struct atoll_cuda_spare *s, const struct atoll_err *why)
{
    s->is_shut = 1;
    atoll_cuda_spare_fini(s);
    atoll_log(ATOLL_LOG_INFO, "eval.device.spare",
              "no device process stands ready beside another one from now on: %.300s", why->text);
}

int atoll_cuda_spare_begin(struct atoll_cuda_spare *s, const struct atoll_cuda_worker_settings *settings)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (s->worker || s->is_shut)
        return 0;
    s->worker = atoll_cuda_worker_begin(settings, &err);
    if (!s->worker)
        shut(s, &err);
    return s->worker != NULL;
}

void atoll_cuda_spare_settle(struct atoll_cuda_spare *s)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (!s->worker || s->is_ready)
        return;
    s->is_ready = atoll_cuda_worker_ready(s->worker, &err) == 0;
    if (!s->is_ready)
        shut(s, &err);
}

struct atoll_cuda_worker *atoll_cuda_spare_take(struct atoll_cuda_spare *s)
{
    atoll_cuda_spare_settle(s);
    struct atoll_cuda_worker *worker = s->worker;
    s->worker = NULL;
    s->is_ready = 0;
    return worker;
}

void atoll_cuda_spare_fini(struct atoll_cuda_spare *s)
{
    atoll_cuda_worker_destroy(s->worker);
    *s = (struct atoll_cuda_spare){.is_shut = s->is_shut};
}

#include "mpi-eval/backend/cuda/measure/sealed_memory.h"

#include <string.h>

#include "base/log.h"

#define SLOTS       2u   /* the other one is for what it grows into */
#define DEADLINE_NS 10e9 /* of a batch */

void atoll_cuda_sealed_memory_fini(struct atoll_cuda_sealed_memory *s)
{
    atoll_cuda_worker_destroy(s->worker);
    *s = (struct atoll_cuda_sealed_memory){.is_shut = s->is_shut};
}

void atoll_cuda_sealed_memory_shut(struct atoll_cuda_sealed_memory *s, const char *why)
{
    s->is_shut = 1;
    atoll_cuda_sealed_memory_fini(s);
    atoll_log(ATOLL_LOG_INFO, "eval.answers.own",
              "answers are lost with each device process from now on: no process can keep them: %.300s", why);
}

/* Takes memory and learns its handle.  is_grown: larger than what there is, which goes when all of it has been copied; else it goes
 * before.  1: the driver refused, and there is what was there before. */
static int memory_take(struct atoll_cuda_sealed_memory *s, uint64_t bytes, int is_grown,
                       struct atoll_err *err)
{
    struct atoll_command_batch batch;
    struct atoll_command_batch_reply reply;
    size_t length = 0;
    uint32_t slot = is_grown ? (s->slot + 1) % SLOTS : s->slot;
    atoll_command_batch_init(&batch);
    atoll_command_batch_reply_init(&reply);
    if (!is_grown) /* of an attempt to grow */
        atoll_command_batch_free(&batch, (slot + 1) % SLOTS);
    atoll_command_batch_alloc(&batch, slot, bytes);
    atoll_command_batch_share(&batch, slot);
    if (is_grown) {
        atoll_command_batch_copy(&batch, slot, s->slot, s->bytes);
        atoll_command_batch_sync(&batch);
        atoll_command_batch_free(&batch, s->slot);
    }
    int rc = atoll_cuda_worker_run(s->worker, &batch, DEADLINE_NS, &reply, err);
    int is_refused = is_grown && reply.status == ATOLL_COMMAND_BATCH_REFUSED;
    if (rc == 0 && reply.status != ATOLL_COMMAND_BATCH_DONE)
        rc = atoll_err_set(err, ATOLL_E_CHILD, "command %u: %s", reply.command, reply.text);
    if (rc == 0) {
        atoll_command_batch_take_u64(&reply); /* where it lies there */
        const void *handle = atoll_command_batch_take_bytes(&reply, &length);
        if (length == sizeof(s->handle))
            memcpy(s->handle, handle, sizeof(s->handle));
        else
            rc = atoll_err_set(err, ATOLL_E_PROTOCOL, "a handle of %zu bytes", length);
    }
    s->bytes = rc == 0 ? bytes : 0;
    s->slot = rc == 0 ? slot : s->slot;
    atoll_command_batch_reply_fini(&reply);
    atoll_command_batch_fini(&batch);
    return is_refused ? 1 : rc;
}

int atoll_cuda_sealed_memory_have(struct atoll_cuda_sealed_memory *s,
                                  const struct atoll_cuda_worker_settings *settings, uint64_t bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (s->is_shut)
        return -1;
    if (s->worker && s->bytes == bytes)
        return 1;
    int rc = s->worker && s->bytes && s->bytes < bytes ? memory_take(s, bytes, 1, &err) : 1;
    if (rc == 0)
        return 1;
    atoll_err_clear(&err);
    if (rc > 0 && s->worker && memory_take(s, bytes, 0, &err) == 0)
        return 0;
    atoll_cuda_sealed_memory_fini(s); /* it has ended, or cannot have so much */
    atoll_err_clear(&err);
    s->worker = atoll_cuda_worker_create(settings, &err);
    if (s->worker && atoll_cuda_worker_facts(s->worker)->compute_mode != 0) {
        atoll_err_set(&err, ATOLL_E_DENIED, "the device's compute mode allows one process");
    } else if (s->worker && memory_take(s, bytes, 0, &err) == 0) {
        atoll_log(ATOLL_LOG_INFO, "eval.answers.own",
                  "answers outlive device processes: process %d has the %.1f GB where they lie sealed",
                  (int)atoll_cuda_worker_pid(s->worker), (double)bytes / 1e9);
        return 0;
    }
    atoll_cuda_sealed_memory_shut(s, err.text);
    return -1;
}

#include "mpi-eval/backend/cuda/measure/stage.h"

#include "base/random.h"
#include "mpi-eval/backend/cuda/measure/launch.h"

#define PLACES_WANTED 2

static int plain_set(struct atoll_cuda_stage *s, uint64_t base, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_cuda_plain_plan(s->known->task, s->variant, s->device->facts.limits.multiprocessors, base,
                              &s->sample.plain, &why) == 0)
        return 0;
    return atoll_err_set(err, ATOLL_E_CHILD, "reference: %.900s", why.text);
}

static int memory_set(struct atoll_cuda_stage *s, struct atoll_err *err)
{
    struct atoll_cuda_device *d = s->device;
    if (atoll_cuda_buffer_bytes(s->candidate->prepared, s->variant, s->bytes, &s->count, err) != 0 ||
        plain_set(s, 0, err) != 0)
        return -1;
    int rc = atoll_cuda_device_reserve(d, atoll_layout_need(s->bytes, s->count, 0),
                                       atoll_layout_need(s->bytes, s->count, PLACES_WANTED),
                                       s->sample.plain.need, err);
    if (rc != 0)
        return rc;
    s->total_bytes = 0;
    for (size_t i = 0; i < s->count; i++)
        s->total_bytes += s->bytes[i];
    if (plain_set(s, d->areas[ATOLL_AREA_PLAIN].address, err) != 0)
        return -1;
    return atoll_cuda_device_place(d, s->bytes, s->count, s->placement, &s->sample.layout, err);
}

int atoll_cuda_stage_fits(struct atoll_cuda_stage *s)
{
    struct atoll_cuda_device *d = s->device;
    s->variant = &s->known->task->variants[s->input_set->variant];
    return d->worker &&
           atoll_cuda_buffer_bytes(s->candidate->prepared, s->variant, s->bytes, &s->count, NULL) == 0 &&
           plain_set(s, 0, NULL) == 0 &&
           atoll_cuda_device_has_room(d, atoll_layout_need(s->bytes, s->count, PLACES_WANTED),
                                      s->sample.plain.need);
}

static void sample_begin(struct atoll_cuda_stage *s)
{
    struct atoll_cuda_device *d = s->device;
    struct atoll_cuda_sample *m = &s->sample;
    m->launches = d->launches;
    m->task = s->known->task;
    m->variant = s->variant;
    m->input_set = s->input_set;
    m->candidate = s->candidate;
    m->oracle = s->known->oracle;
    m->placement = s->placement;
    m->hash_key = atoll_random_at(s->referee->salt, 0x68617368ull);
    m->flush = d->areas[ATOLL_AREA_FLUSH];
    m->result = d->areas[ATOLL_AREA_RESULT].address;
    m->sealed = d->areas[ATOLL_AREA_SEALED].address;
    m->multiprocessors = d->facts.limits.multiprocessors;
    m->shared_bytes = d->facts.limits.shared_bytes_per_block;
    m->threads_per_multiprocessor = d->facts.limits.threads_per_multiprocessor;
    m->stack_bytes = d->support_stack_bytes;
    m->is_warm = s->referee->setup.is_warm != 0;
    m->hashes_late = s->hashes_late;
}

int atoll_cuda_stage_set(struct atoll_cuda_stage *s, struct atoll_err *err)
{
    s->variant = &s->known->task->variants[s->input_set->variant];
    if (atoll_cuda_device_ready(s->device, err) != 0)
        return -1;
    int rc = memory_set(s, err);
    if (rc == 0)
        rc = atoll_cuda_oracle_load(s->device, s->known, err);
    if (rc == 0 && s->candidate->runner)
        rc = atoll_cuda_loaded_candidate_load(s->device, s->candidate, err);
    if (rc != 0)
        return rc;
    sample_begin(s);
    return atoll_cuda_sample_set(&s->sample, err);
}

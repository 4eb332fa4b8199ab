/* The cuda backend's table: one GPU, compile children with NVRTC, a device process that carries out batches. */
#include "mpi-eval/backend/cuda/measure/backend.h"

#include <string.h>

#include "mpi-eval/backend/cuda/compile/compile.h"
#include "mpi-eval/backend/cuda/measure/examine.h"
#include "mpi-eval/backend/cuda/measure/oracle.h"
#include "mpi-eval/backend/cuda/sanitize/sanitize.h"
#include "mpi-eval/backend/cuda/measure/loaded_candidate.h"

#define OBJECT_BYTES ((uint64_t)64 << 20)

/* The architecture to compile for is the device's own: a process says it and goes. */
static int target_find(char *ret_target, size_t bytes, struct atoll_err *err)
{
    struct atoll_cuda_worker_settings settings;
    atoll_cuda_device_choose(&settings);
    struct atoll_cuda_worker *worker = atoll_cuda_worker_create(&settings, err);
    if (!worker)
        return -1;
    atoll_cuda_target(atoll_cuda_worker_facts(worker)->limits.compute_capability, ret_target, bytes);
    atoll_cuda_worker_destroy(worker);
    return 0;
}

static struct atoll_compiler *compiler_create(const struct atoll_setup *setup, unsigned slots,
                                              struct atoll_err *err)
{
    char target[16];
    if (target_find(target, sizeof target, err) != 0)
        return NULL;
    int is_default = !setup->compiler[0] || strcmp(setup->compiler, "cc") == 0;
    struct atoll_nvrtc_settings settings = {.compiler = {.command = is_default ? "nvrtc" : setup->compiler,
                                                         .flags = is_default ? "" : setup->compile_flags,
                                                         .target = target,
                                                         .slots = slots,
                                                         .deadline_ns = setup->compile_deadline_ns,
                                                         .memory_bytes = setup->compile_memory_bytes,
                                                         .output_bytes = OBJECT_BYTES},
                                            .include_path = setup->include_path};
    return atoll_nvrtc_create(&settings, err);
}

static int backend_open(struct atoll_referee *r, struct atoll_err *err)
{
    if (atoll_cuda_device_open(r, err) != 0)
        return -1;
    return r->setup.backend_null ? 0 : atoll_cuda_measure(r, err);
}

/* Also tells, by its error, that the device is in quarantine. */
static int qualify(struct atoll_referee *r, struct atoll_err *err)
{
    struct atoll_cuda_device *d = atoll_cuda_device_of(r);
    struct atoll_err why = ATOLL_ERR_INIT;
    if (atoll_cuda_device_ready(d, err) != 0)
        return -1;
    if (atoll_cuda_device_qualify(d, &why) == 0)
        return 0;
    atoll_cuda_device_drop(d); /* once more on another process */
    return atoll_cuda_device_ready(d, err);
}

static size_t kept(struct atoll_referee *r, struct atoll_case *known, uint32_t variant, uint16_t *ret_numbers,
                   size_t limit)
{
    return atoll_answer_kept(atoll_cuda_device_of(r)->answers, known->number, variant, ret_numbers, limit);
}

/* Every sample is compared in full: the answer is made by the first one that needs it. */
static void *hold(struct atoll_referee *r, struct atoll_case *known, const struct atoll_input_set *draw,
                  int need_full, struct atoll_err *err)
{
    struct atoll_sealed *a = atoll_answer_take(atoll_cuda_device_of(r)->answers, known->number, draw);
    (void)need_full;
    if (!a)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an answer");
    return a;
}

static void release(struct atoll_referee *r, void *held)
{
    atoll_answer_give(atoll_cuda_device_of(r)->answers, held);
}

const struct atoll_backend atoll_backend_cuda = {
    .name = "cuda",
    .language = "cuda",
    .unit_name = "candidate.cu",
    .compiles_beside = 1,
    .prepare = atoll_cuda_prepare,
    .compiler_create = compiler_create,
    .open = backend_open,
    .close = atoll_cuda_device_close,
    .qualify = qualify,
    .measure = atoll_cuda_measure,
    .case_unit = atoll_cuda_case_unit,
    .case_open = atoll_cuda_case_open,
    .case_close = atoll_cuda_case_close,
    .subject_open = atoll_cuda_loaded_candidate_open,
    .subject_close = atoll_cuda_loaded_candidate_close,
    .trial = atoll_cuda_trial,
    .kept = kept,
    .hold = hold,
    .release = release,
    .profile = atoll_cuda_profile,
    .examine = atoll_cuda_examine,
    .expect = atoll_cuda_expect,
    .sanitize = atoll_cuda_sanitize,
};

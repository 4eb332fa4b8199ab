#include "mpi-eval/backend/cuda/measure/tiles.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "mpi-eval/backend/cuda/compile/cubin.h"
#include "mpi-eval/referee/shape.h"

int atoll_cuda_tiles_stack(const void *image, size_t length, uint32_t *ret_bytes, struct atoll_err *err)
{
    static const char *const kernel = ATOLL_CUDA_TILED_KERNEL;
    uint32_t bytes;
    if (atoll_cubin_stack(image, length, &kernel, 1, &bytes, err) != 0)
        return -1;
    if (bytes > ATOLL_SUPPORT_LOCAL_BYTES)
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "a thread of reference.cu has %u bytes of local memory, %u can be overwritten; use less", bytes,
            ATOLL_SUPPORT_LOCAL_BYTES);
    *ret_bytes = bytes;
    return 0;
}

int atoll_cuda_tiles_units(const struct atoll_task *task, const struct atoll_variant *variant,
                           uint64_t elements, uint64_t secret, struct atoll_cuda_units *ret_units,
                           struct atoll_err *err)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    size_t count = atoll_task_bindings(task, variant, bindings);
    int64_t units;
    if (atoll_expression_eval(task->units, bindings, count, &units, err) != 0)
        return -1;
    *ret_units = (struct atoll_cuda_units){0};
    if (elements <= ATOLL_CUDA_AGREEMENT_LIMIT)
        return 0;
    uint64_t each = (elements + (uint64_t)units - 1) / (uint64_t)units;
    *ret_units = (struct atoll_cuda_units){
        .count = ATOLL_CUDA_AGREEMENT_LIMIT / each > 0 ? ATOLL_CUDA_AGREEMENT_LIMIT / each : 1,
        .first = atoll_random_at(secret, 0) >> 1,
        .stride = atoll_random_at(secret, 1) >> 1,
    };
    return 0;
}

/* How far b is from a, in units of what is allowed; NaN agrees with NaN alone. */
static double distance_of(double a, double b, double scale)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    double distance = fabs(a - b) / (ATOLL_CUDA_TILES_AGREE * fmax(fabs(a), scale) + 1e-300);
    return isnan(distance) ? HUGE_VAL : distance;
}

static int is_same(const struct atoll_agreement_entry *e)
{
    return distance_of(e->expected, e->tiled, fabs(e->scale)) <= 1 &&
           distance_of(e->scale, e->tiled_scale, 0) <= 1;
}

int atoll_cuda_tiles_judge(const void *bytes, size_t length, const struct atoll_task *task, size_t tensor,
                           const struct atoll_variant *variant, char *ret_text, size_t text_bytes)
{
    const char *name = task->tensors[tensor].name;
    struct atoll_agreement_area head = {0};
    struct atoll_agreement_entry first = {0};
    struct atoll_shape shape;
    uint64_t wrong = 0;
    char place[160];
    const size_t begin = offsetof(struct atoll_agreement_area, entries);
    memcpy(&head, bytes, length < sizeof(head) ? length : sizeof(head));
    size_t room = length > begin ? (length - begin) / sizeof(first) : 0;
    uint64_t count = head.put_count < room ? head.put_count : room;
    if (atoll_shape_of(task, tensor, variant, &shape, NULL) != 0 || count == 0) {
        snprintf(ret_text, text_bytes, "reference.c puts no element of %s at variant %s", name,
                 variant->name);
        return 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct atoll_agreement_entry e;
        memcpy(&e, (const char *)bytes + begin + i * sizeof(e), sizeof(e));
        if (is_same(&e))
            continue;
        if (wrong++ == 0 || e.index < first.index)
            first = e;
    }
    if (wrong > 0) {
        atoll_shape_index_text(&shape, name, first.index, place, sizeof(place));
        snprintf(ret_text, text_bytes,
                 "at variant %s, %llu of %llu elements looked at differ; first %s: %.17g (scale %.9g) by "
                 "reference.c, %.17g (scale %.9g) by reference.cu",
                 variant->name, (unsigned long long)wrong, (unsigned long long)count, place, first.expected,
                 first.scale, first.tiled, first.tiled_scale);
        return 0;
    }
    if (head.unset_count > 0) {
        snprintf(ret_text, text_bytes,
                 "at variant %s, reference.cu leaves %llu elements of %s without a value", variant->name,
                 (unsigned long long)head.unset_count, name);
        return 0;
    }
    return 1;
}

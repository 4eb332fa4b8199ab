/* known_space.c - kernels by the first part of a name, devices by the second: "convolution-A4000".  Extents are those that
 * the benchmark hub ran its kernels with; facts of devices from their vendors' data sheets. */
#include "bench/known_space.h"

#include <string.h>

static const struct {
    const char *name;
    struct atoll_shape_problem problem;
} kernels[] = {
    /* 4096 x 4096 results, each of 15 x 15 neighbours */
    {"convolution",
     {.family = ATOLL_SHAPE_GRID,
      .is_device = 1,
      .m = 4096,
      .n = 4096,
      .k = 1,
      .batch = 1,
      .element_bytes = 4,
      .radius = 7}},
    /* 24400 samples of 2048 measures, each a sum over channels without neighbours */
    {"dedispersion",
     {.family = ATOLL_SHAPE_GRID,
      .is_device = 1,
      .m = 2048,
      .n = 24400,
      .k = 1,
      .batch = 1,
      .element_bytes = 4,
      .radius = 0}},
};

static const struct {
    const char *name;
    struct atoll_device_shape shape;
} devices[] = {
    {"A4000", {86, 48, 32, 1024, 1536, 16, 65536, 101376, 102400, 0}},
    {"W6600", {0, 28, 32, 1024, 1024, 16, 131072, 65536, 65536, 0}},
};

struct known {
    const struct atoll_t4 *t4;
    const struct atoll_shape_problem *problem;
    const struct atoll_device_shape *device;
    enum atoll_shape_role roles[ATOLL_PLAN_PARAM_LIMIT];
};

static double cost(void *context, const struct atoll_point *point)
{
    const struct known *known = context;
    struct atoll_choice choice = atoll_space_choice(&known->t4->space, point);
    struct atoll_shape shape = {.cost = 0};
    for (size_t i = 0; i < choice.count; i++)
        if (known->roles[i] != ATOLL_SHAPE_NONE)
            shape.values[known->roles[i]] = choice.values[i];
    return atoll_shape_rate(known->problem, known->device, &shape) ? shape.cost : 0;
}

int atoll_known_space_trials(const struct atoll_t4 *t4, size_t limit,
                             struct atoll_choice ret_choices[ATOLL_SHAPE_LIMIT], size_t *ret_count,
                             struct atoll_err *err)
{
    struct known known = {.t4 = t4};
    struct atoll_point points[ATOLL_SHAPE_LIMIT];
    *ret_count = 0;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
        if (strncmp(t4->name, kernels[i].name, strlen(kernels[i].name)) == 0)
            known.problem = &kernels[i].problem;
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
        if (strstr(t4->name, devices[i].name))
            known.device = &devices[i].shape;
    if (!known.problem || !known.device)
        return 0;
    for (size_t i = 0; i < t4->space.count; i++)
        known.roles[i] = atoll_shape_role_of(known.problem, t4->space.params[i].name);
    if (atoll_shape_trials(&t4->space, known.roles, cost, &known, limit, points, ret_count, err))
        return -1;
    for (size_t i = 0; i < *ret_count; i++)
        ret_choices[i] = atoll_space_choice(&t4->space, &points[i]);
    return 0;
}

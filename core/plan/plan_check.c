/* plan_check.c - every expression of a plan at every variant of its backend, for one choice. */
#include <stdio.h>
#include <string.h>

#include "core/plan/plan_place.h"

#define SCRATCH_BYTES ((int64_t)1 << 40)
#define UNIT_LIMIT    ((int64_t)1 << 40)
#define SHARED_LIMIT  ((int64_t)1 << 24)
#define EXTENT_LIMIT  ((int64_t)1 << 32) /* of a tensor map's axis */
#define BOX_LIMIT     256
#define STRIDE_LIMIT  (((int64_t)1 << 40) - 1)

int atoll_plan_concerns(const struct atoll_plan *plan, const struct atoll_variant *variant)
{
    return !variant->backend || strcmp(variant->backend, plan->backend) == 0;
}

void atoll_plan_place_init(struct atoll_plan_place *place, const struct atoll_task *task,
                           const struct atoll_plan *plan, const struct atoll_choice *choice,
                           const struct atoll_variant *variant, struct atoll_err *err)
{
    place->task = task;
    place->plan = plan;
    place->variant = variant;
    place->err = err;
    place->binding_count = atoll_plan_bindings(task, variant, plan, choice, place->bindings);
}

int atoll_plan_place_value(const struct atoll_plan_place *place, const struct atoll_expression *e,
                           int64_t low, int64_t high, const char *field, int64_t *ret_value)
{
    struct atoll_err inner = ATOLL_ERR_INIT;
    int64_t value = 0;
    if (!e) {
        return 0;
    }
    if (atoll_expression_eval(e, place->bindings, place->binding_count, &value, &inner)) {
        return atoll_err_set(place->err, ATOLL_E_INPUT, "plan: field '%s' at variant '%s': %s", field,
                             place->variant->name, inner.text);
    }
    if (value < low || value > high) {
        return atoll_err_set(place->err, ATOLL_E_INPUT,
                             "plan: field '%s': '%s' is %lld at variant '%s', must lie between %lld and %lld",
                             field, atoll_expression_text(e), (long long)value, place->variant->name,
                             (long long)low, (long long)high);
    }
    if (ret_value) {
        *ret_value = value;
    }
    return 0;
}

static int check_extents(const struct atoll_plan_place *p, size_t launch, const char *key,
                         const struct atoll_expression *const extents[3])
{
    char field[ATOLL_PLAN_FIELD_BYTES];
    for (size_t i = 0; i < 3; i++) {
        snprintf(field, sizeof(field), "launch[%zu].%s[%zu]", launch, key, i);
        if (atoll_plan_place_value(p, extents[i], 1, INT32_MAX, field, NULL)) {
            return -1;
        }
    }
    return 0;
}

static int check_map(const struct atoll_plan_place *p, const struct atoll_tensormap *m, const char *field)
{
    char part[ATOLL_PLAN_FIELD_BYTES];
    for (size_t i = 0; i < m->rank; i++) {
        snprintf(part, sizeof(part), "%.60s.extent[%zu]", field, i);
        if (atoll_plan_place_value(p, m->extent[i], 1, EXTENT_LIMIT, part, NULL)) {
            return -1;
        }
        snprintf(part, sizeof(part), "%.60s.box[%zu]", field, i);
        if (atoll_plan_place_value(p, m->box[i], 1, BOX_LIMIT, part, NULL)) {
            return -1;
        }
        snprintf(part, sizeof(part), "%.60s.stride[%zu]", field, i);
        if (i + 1 < m->rank && atoll_plan_place_value(p, m->stride_bytes[i], 16, STRIDE_LIMIT, part, NULL)) {
            return -1;
        }
    }
    return 0;
}

static int check_arg(const struct atoll_plan_place *p, const struct atoll_arg *a, const char *field)
{
    int narrow = a->width == ATOLL_I32;
    if (a->kind == ATOLL_ARG_TENSORMAP) {
        return check_map(p, a->map, field);
    }
    if (a->kind != ATOLL_ARG_INTEGER) {
        return 0;
    }
    return atoll_plan_place_value(p, a->value, narrow ? INT32_MIN : INT64_MIN, narrow ? INT32_MAX : INT64_MAX,
                                  field, NULL);
}

static int check_launch(const struct atoll_plan_place *p, size_t index)
{
    const struct atoll_launch *l = &p->plan->launches[index];
    char field[ATOLL_PLAN_FIELD_BYTES];
    snprintf(field, sizeof(field), "launch[%zu].units", index);
    if (atoll_plan_place_value(p, l->units, 1, UNIT_LIMIT, field, NULL)) {
        return -1;
    }
    if (check_extents(p, index, "grid", l->grid) || check_extents(p, index, "block", l->block) ||
        check_extents(p, index, "cluster", l->cluster)) {
        return -1;
    }
    snprintf(field, sizeof(field), "launch[%zu].shared_bytes", index);
    if (atoll_plan_place_value(p, l->shared_bytes, 0, SHARED_LIMIT, field, NULL)) {
        return -1;
    }
    for (size_t i = 0; i < l->arg_count; i++) {
        snprintf(field, sizeof(field), "launch[%zu].args[%zu]", index, i);
        if (check_arg(p, &l->args[i], field)) {
            return -1;
        }
    }
    return 0;
}

static int check_at_variant(const struct atoll_plan_place *p)
{
    char field[ATOLL_PLAN_FIELD_BYTES];
    for (size_t i = 0; i < p->plan->scratch_count; i++) {
        snprintf(field, sizeof(field), "scratch.%s", p->plan->scratch[i].name);
        if (atoll_plan_place_value(p, p->plan->scratch[i].bytes, 0, SCRATCH_BYTES, field, NULL)) {
            return -1;
        }
    }
    for (size_t i = 0; i < p->plan->launch_count; i++) {
        if (check_launch(p, i)) {
            return -1;
        }
    }
    return 0;
}

int atoll_plan_choice_check(const struct atoll_task *task, const struct atoll_plan *plan,
                            const struct atoll_choice *choice, struct atoll_err *err)
{
    struct atoll_plan_place place;
    if (choice->count != plan->param_count) {
        return atoll_err_set(err, ATOLL_E_INPUT, "plan: %zu values chosen for %zu params", choice->count,
                             plan->param_count);
    }
    for (size_t i = 0; i < task->variant_count; i++) {
        if (!atoll_plan_concerns(plan, &task->variants[i])) {
            continue;
        }
        atoll_plan_place_init(&place, task, plan, choice, &task->variants[i], err);
        if (check_at_variant(&place)) {
            return -1;
        }
    }
    return 0;
}

/* plan_cover.c - from a bench variant to a small shape on the same path.  Extents are halved, together and one by one, for as long
 * as they are larger than those of the task's own small variants and everything holds; then each is made less even, so
 * that tails are met where the path has any. */
#include "core/plan/plan_cover.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/task/task_shape.h"

#define PAIR_DIMS     8 /* more of them are not halved two by two */
#define SALTED_TRIES  16
#define NEAR_DISTANCE 64
#define TRY_LIMIT     3000 /* shapes held against a path: a plan may ask for very many evaluations at each */

static const char *const made_names[2][ATOLL_PLAN_PATH_LIMIT] = {
    {"check.path[0]", "check.path[1]", "check.path[2]", "check.path[3]", "check.path[4]", "check.path[5]",
     "check.path[6]", "check.path[7]"},
    {"hidden.path[0]", "hidden.path[1]", "hidden.path[2]", "hidden.path[3]", "hidden.path[4]",
     "hidden.path[5]", "hidden.path[6]", "hidden.path[7]"}};

/* One path while shapes for it are looked for. */
struct maker {
    const struct atoll_task *task;
    const struct atoll_plan *plan;
    const struct atoll_choice *choice;
    struct atoll_task_shape shape;
    size_t path;
    const struct atoll_variant *bench;
    unsigned tries_left;                 /* of one search */
    int64_t floor[ATOLL_TASK_DIM_LIMIT]; /* extents at most so large are small */
};

static int takes(const struct maker *m, const struct atoll_variant *v)
{
    size_t path = 0;
    return atoll_plan_path_at(m->task, m->plan, v, &path, NULL) == 0 && path == m->path;
}

static int fits(struct maker *m, const struct atoll_variant *v)
{
    if (!m->tries_left)
        return 0;
    m->tries_left--;
    return takes(m, v) && atoll_task_shape_allows(m->task, &m->shape, v) &&
           atoll_plan_sound_at(m->task, m->plan, m->choice, v, NULL) == 0;
}

static double bytes_of(const struct atoll_task *task, const struct atoll_variant *v)
{
    double bytes = 0;
    size_t count = 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        if (atoll_task_element_count(task, i, v, &count, NULL) == 0)
            bytes += (double)count * (double)atoll_dtype_bytes(task->tensors[i].dtype);
    return bytes;
}

/* ---- smaller ---- */

/* Half of every dim of the set that is not small yet, as a multiple of `grain`; 0 when nothing changes. */
static int halve(const struct maker *m, const struct atoll_variant *from, uint32_t set, int64_t grain,
                 struct atoll_variant *ret)
{
    int changed = 0;
    *ret = *from;
    for (size_t d = 0; d < m->task->dim_count; d++) {
        int64_t half = from->dims[d] / 2 / grain * grain;
        if (!(set >> d & 1) || from->dims[d] <= m->floor[d] || half < 1)
            continue;
        ret->dims[d] = half;
        changed = 1;
    }
    return changed;
}

static int shrink(struct maker *m, struct atoll_variant *v, uint32_t set)
{
    static const int64_t grains[] = {1, 64, 16, 8, 4, 2, 3, 5};
    for (size_t i = 0; i < sizeof(grains) / sizeof(*grains); i++) {
        struct atoll_variant half;
        if (halve(m, v, set, grains[i], &half) && fits(m, &half)) {
            *v = half;
            return 1;
        }
    }
    return 0;
}

/* Every step halves a dim at least: the loop ends. */
static void shrink_all(struct maker *m, struct atoll_variant *v)
{
    size_t n = m->task->dim_count;
    for (int more = 1; more;) {
        more = shrink(m, v, UINT32_MAX);
        for (size_t i = 0; i < n; i++)
            more |= shrink(m, v, 1u << i);
        for (size_t i = 0; i < n && n <= PAIR_DIMS && !more; i++)
            for (size_t j = i + 1; j < n; j++)
                more |= shrink(m, v, 1u << i | 1u << j);
    }
}

/* ---- less even ---- */

static int shorten(struct maker *m, struct atoll_variant *v, size_t dim, int64_t by)
{
    struct atoll_variant other = *v;
    other.dims[dim] -= by;
    if (other.dims[dim] < 1 || !fits(m, &other))
        return 0;
    *v = other;
    return 1;
}

static void roughen(struct maker *m, struct atoll_variant *v)
{
    static const int64_t steps[] = {1, 3, 5, 2, 8, 16, 24, 4};
    for (size_t d = 0; d < m->task->dim_count; d++)
        for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
            if (shorten(m, v, d, steps[i]))
                break;
}

static void roughen_by(struct maker *m, struct atoll_variant *v, uint64_t salt)
{
    for (size_t d = 0; d < m->task->dim_count; d++)
        for (uint64_t k = 0; k < SALTED_TRIES; k++) {
            uint64_t range = (uint64_t)v->dims[d] / 2 + 1;
            int64_t by = 1 + (int64_t)atoll_random_below(atoll_random_at(salt, d * SALTED_TRIES + k), range);
            if (shorten(m, v, d, k % 2 ? (by + 7) / 8 * 8 : by))
                break;
        }
}

/* ---- one that is not among others ---- */

static int same_shape(const struct atoll_task *task, const struct atoll_variant *a,
                      const struct atoll_variant *b)
{
    return memcmp(a->dims, b->dims, task->dim_count * sizeof(*a->dims)) == 0;
}

/* Whether a candidate's author may know a shape: it is shown, or made for all to see. */
static int is_known(const struct maker *m, const struct atoll_plan_cover *cover,
                    const struct atoll_variant *v)
{
    for (size_t i = 0; i < m->task->variant_count; i++)
        if (m->task->variants[i].kind != ATOLL_VARIANT_HIDDEN &&
            same_shape(m->task, &m->task->variants[i], v))
            return 1;
    for (size_t i = 0; i < cover->count; i++)
        if (cover->variants[i].kind != ATOLL_VARIANT_HIDDEN && same_shape(m->task, &cover->variants[i], v))
            return 1;
    return 0;
}

/* The nearest shape that is not known, one dim away; 0 when there is none. */
static int step_aside(struct maker *m, const struct atoll_plan_cover *cover, struct atoll_variant *v)
{
    for (int64_t by = 1; by <= NEAR_DISTANCE; by++)
        for (size_t d = 0; d < m->task->dim_count; d++)
            for (int sign = 1; sign >= -1; sign -= 2) {
                struct atoll_variant other = *v;
                if (shorten(m, &other, d, sign * by) && !is_known(m, cover, &other)) {
                    *v = other;
                    return 1;
                }
            }
    return 0;
}

static int is_smaller(const struct maker *m, const struct atoll_variant *v)
{
    return 2 * bytes_of(m->task, v) <= bytes_of(m->task, m->bench);
}

/* ---- one path ---- */

static void floor_set(struct maker *m, enum atoll_variant_kind kind)
{
    int found = 0;
    memset(m->floor, 0, sizeof(m->floor));
    for (size_t i = 0; i < m->task->variant_count; i++) {
        const struct atoll_variant *v = &m->task->variants[i];
        if (v->kind != kind)
            continue;
        found = 1;
        for (size_t d = 0; d < m->task->dim_count; d++)
            m->floor[d] = v->dims[d] > m->floor[d] ? v->dims[d] : m->floor[d];
    }
    if (!found && kind != ATOLL_VARIANT_CHECK)
        floor_set(m, ATOLL_VARIANT_CHECK);
}

static int is_covered(const struct maker *m, enum atoll_variant_kind kind)
{
    for (size_t i = 0; i < m->task->variant_count; i++) {
        const struct atoll_variant *v = &m->task->variants[i];
        if (v->kind == kind && atoll_plan_concerns(m->plan, v) && takes(m, v))
            return 1;
    }
    return 0;
}

static void add(const struct maker *m, struct atoll_plan_cover *cover, struct atoll_variant *v,
                enum atoll_variant_kind kind)
{
    v->kind = kind;
    v->name = made_names[kind == ATOLL_VARIANT_HIDDEN][m->path];
    v->weight = 0;
    v->backend = m->plan->backend;
    cover->paths[cover->count] = (unsigned char)m->path;
    cover->variants[cover->count++] = *v;
}

static int make_check(struct maker *m, struct atoll_plan_cover *cover, struct atoll_err *err)
{
    struct atoll_variant v = *m->bench;
    m->tries_left = TRY_LIMIT;
    if (is_covered(m, ATOLL_VARIANT_CHECK))
        return 0;
    floor_set(m, ATOLL_VARIANT_CHECK);
    shrink_all(m, &v);
    roughen(m, &v);
    if (!is_smaller(m, &v))
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "plan: field 'paths[%zu]': variant '%s' takes it, no check variant does, and no shape "
            "of at most half the size that the task allows; it cannot be checked: widen its "
            "condition, or move its launches to a path that smaller shapes take",
            m->path, m->bench->name);
    add(m, cover, &v, ATOLL_VARIANT_CHECK);
    return 0;
}

static int make_hidden(struct maker *m, struct atoll_plan_cover *cover, uint64_t salt, struct atoll_err *err)
{
    struct atoll_variant small = *m->bench, v;
    m->tries_left = TRY_LIMIT;
    if (is_covered(m, ATOLL_VARIANT_HIDDEN))
        return 0;
    floor_set(m, ATOLL_VARIANT_HIDDEN);
    shrink_all(m, &small);
    v = small;
    roughen_by(m, &v, atoll_random_at(salt, m->path));
    if (is_known(m, cover, &v)) {
        v = small;
        if (is_known(m, cover, &v) && !step_aside(m, cover, &v))
            v = *m->bench;
    }
    if (!is_smaller(m, &v))
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "plan: field 'paths[%zu]': variant '%s' takes it, and no smaller shape that the task "
            "allows but those that are listed; it cannot be checked at one that nobody knows: "
            "widen its condition",
            m->path, m->bench->name);
    add(m, cover, &v, ATOLL_VARIANT_HIDDEN);
    return 0;
}

/* The smallest bench variant of this backend on a path; NULL: none takes it. */
static const struct atoll_variant *bench_of(const struct maker *m)
{
    const struct atoll_variant *best = NULL;
    for (size_t i = 0; i < m->task->variant_count; i++) {
        const struct atoll_variant *v = &m->task->variants[i];
        if (v->kind == ATOLL_VARIANT_BENCH && atoll_plan_concerns(m->plan, v) && takes(m, v) &&
            (!best || bytes_of(m->task, v) < bytes_of(m->task, best)))
            best = v;
    }
    return best;
}

/* A condition must have a value wherever it may be asked. */
static int conditions_hold(const struct maker *m, struct atoll_err *err)
{
    size_t path = 0;
    for (size_t i = 0; i < m->task->variant_count; i++)
        if (atoll_plan_concerns(m->plan, &m->task->variants[i]) &&
            atoll_plan_path_at(m->task, m->plan, &m->task->variants[i], &path, err) != 0)
            return -1;
    return 0;
}

int atoll_plan_cover(const struct atoll_task *task, const struct atoll_plan *plan,
                     const struct atoll_choice *choice, uint64_t salt, struct atoll_plan_cover *ret_cover,
                     struct atoll_err *err)
{
    ret_cover->count = 0;
    if (plan->path_count < 2)
        return 0;
    struct maker *m = malloc(sizeof(*m));
    if (!m)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the shapes of a plan's paths");
    *m = (struct maker){.task = task, .plan = plan, .choice = choice};
    atoll_task_shape_find(task, &m->shape);
    int failed = conditions_hold(m, err);
    for (m->path = 0; !failed && m->path < plan->path_count; m->path++) {
        m->bench = bench_of(m);
        if (m->bench)
            failed = make_check(m, ret_cover, err) || make_hidden(m, ret_cover, salt, err) ? -1 : 0;
    }
    if (failed)
        ret_cover->count = 0;
    free(m);
    return failed;
}

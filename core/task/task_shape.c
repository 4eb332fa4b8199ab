/* task_shape.c - what all variants of a task have in common, and whether another shape shares it. */
#include "core/task/task_shape.h"

#include <string.h>

#include "core/task/init.h"

#define PAIR_VARIANTS   3 /* two points lie on a line whatever they are */
#define TRIPLE_VARIANTS 4

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* 1 when a * b == c * d, exactly; 0 too when a product is beyond every integer. */
static int same_product(int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t left, right;
    return !__builtin_mul_overflow(a, b, &left) && !__builtin_mul_overflow(c, d, &right) && left == right;
}

static int holds(const struct atoll_task_shape_rule *r, const int64_t *dims)
{
    int64_t i = dims[r->i], j = dims[r->j], k = dims[r->k];
    switch (r->kind) {
    case ATOLL_SHAPE_AT_MOST: return i <= j;
    case ATOLL_SHAPE_MULTIPLE: return i % j == 0;
    case ATOLL_SHAPE_LINE: return same_product(i - r->a, r->d, j - r->b, r->c);
    case ATOLL_SHAPE_PRODUCT: return same_product(i, 1, j, k);
    case ATOLL_SHAPE_SUM: return i - j - k == r->a;
    case ATOLL_SHAPE_DIFFERENCE: return i - j + k == r->a;
    }
    return 0;
}

static void rule_try(const struct atoll_task *task, struct atoll_task_shape *s,
                     const struct atoll_task_shape_rule *rule)
{
    for (size_t v = 0; v < task->variant_count; v++)
        if (!holds(rule, task->variants[v].dims))
            return;
    if (s->rule_count < ATOLL_TASK_SHAPE_RULE_LIMIT)
        s->rules[s->rule_count++] = *rule;
}

static int varies(const struct atoll_task_shape *s, size_t dim)
{
    return s->least[dim] != s->most[dim];
}

static size_t count_of_values(const struct atoll_task *task, size_t dim)
{
    size_t count = 0;
    for (size_t v = 0; v < task->variant_count; v++) {
        size_t earlier = 0;
        while (task->variants[earlier].dims[dim] != task->variants[v].dims[dim])
            earlier++;
        count += earlier == v;
    }
    return count;
}

static void pairs_find(const struct atoll_task *task, struct atoll_task_shape *s, size_t i, size_t j)
{
    const int64_t *first = task->variants[0].dims;
    rule_try(task, s,
             &(struct atoll_task_shape_rule){ATOLL_SHAPE_AT_MOST, (unsigned char)i, (unsigned char)j, 0, 0, 0,
                                             0, 0});
    if (varies(s, j))
        rule_try(task, s,
                 &(struct atoll_task_shape_rule){ATOLL_SHAPE_MULTIPLE, (unsigned char)i, (unsigned char)j, 0,
                                                 0, 0, 0, 0});
    if (i > j || !varies(s, i) || count_of_values(task, j) < PAIR_VARIANTS)
        return;
    size_t other = 1;
    while (task->variants[other].dims[j] == first[j])
        other++;
    struct atoll_task_shape_rule line = {ATOLL_SHAPE_LINE,
                                         (unsigned char)i,
                                         (unsigned char)j,
                                         0,
                                         first[i],
                                         first[j],
                                         task->variants[other].dims[i] - first[i],
                                         task->variants[other].dims[j] - first[j]};
    rule_try(task, s, &line);
}

static void triples_find(const struct atoll_task *task, struct atoll_task_shape *s, size_t i, size_t j,
                         size_t k)
{
    const int64_t *first = task->variants[0].dims;
    struct atoll_task_shape_rule r = {
        ATOLL_SHAPE_PRODUCT, (unsigned char)i, (unsigned char)j, (unsigned char)k, 0, 0, 0, 0};
    if (j < k)
        rule_try(task, s, &r);
    r.kind = ATOLL_SHAPE_SUM;
    r.a = first[i] - first[j] - first[k];
    if (j < k)
        rule_try(task, s, &r);
    r.kind = ATOLL_SHAPE_DIFFERENCE;
    r.a = first[i] - first[j] + first[k];
    rule_try(task, s, &r);
}

void atoll_task_shape_find(const struct atoll_task *task, struct atoll_task_shape *s)
{
    size_t n = task->dim_count;
    memset(s, 0, sizeof(*s));
    for (size_t d = 0; d < n; d++) {
        s->least[d] = s->most[d] = task->variants[0].dims[d];
        for (size_t v = 0; v < task->variant_count; v++) {
            int64_t value = task->variants[v].dims[d];
            s->least[d] = value < s->least[d] ? value : s->least[d];
            s->most[d] = value > s->most[d] ? value : s->most[d];
            s->divisor[d] = common_divisor(s->divisor[d], value);
        }
        /* 1000 and 4000 have much in common by chance; of few values the power of two is believed. */
        if (count_of_values(task, d) < PAIR_VARIANTS && varies(s, d))
            s->divisor[d] &= -s->divisor[d];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                pairs_find(task, s, i, j);
    for (size_t i = 0; i < n && task->variant_count >= TRIPLE_VARIANTS; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                if (i != j && i != k && j != k && varies(s, i) && varies(s, j) && varies(s, k))
                    triples_find(task, s, i, j, k);
}

static int is_between(const struct atoll_expression *e, const struct atoll_binding *bindings, size_t count,
                      int64_t low)
{
    int64_t value = 0;
    return !e || (!atoll_expression_eval(e, bindings, count, &value, NULL) && value >= low);
}

static int tensor_is_made(const struct atoll_task *task, size_t tensor, const struct atoll_variant *variant)
{
    const struct atoll_tensor *t = &task->tensors[tensor];
    struct atoll_init_part part = {0};
    size_t count = 0;
    if (atoll_task_element_count(task, tensor, variant, &count, NULL))
        return 0;
    for (size_t i = 0; t->role != ATOLL_ROLE_OUT && i < atoll_init_part_count(t); i++)
        if (atoll_init_settle(task, tensor, i, variant, 0, ATOLL_DRAW_BASE, &part, NULL))
            return 0;
    return !t->segment_count || part.begin + part.count == count;
}

int atoll_task_shape_allows(const struct atoll_task *task, const struct atoll_task_shape *s,
                            const struct atoll_variant *variant)
{
    struct atoll_binding bindings[ATOLL_TASK_DIM_LIMIT];
    struct atoll_work work;
    for (size_t d = 0; d < task->dim_count; d++)
        if (variant->dims[d] < s->least[d] || variant->dims[d] > s->most[d] ||
            variant->dims[d] % s->divisor[d])
            return 0;
    for (size_t i = 0; i < s->rule_count; i++)
        if (!holds(&s->rules[i], variant->dims))
            return 0;
    size_t count = atoll_task_bindings(task, variant, bindings);
    if (!is_between(task->units, bindings, count, 1) || !is_between(task->scratch, bindings, count, 0))
        return 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        if (!tensor_is_made(task, i, variant))
            return 0;
    return atoll_task_work(task, variant, &work, NULL) == 0;
}

#include "mpi-eval/referee/fakes.h"

#include <stdlib.h>
#include <string.h>

#include "core/task/dtype.h"
#include "core/task/init.h"

/* One fake output tensor, written as doubles; returns 0 when this fake does not apply to the task. */
typedef int fake_fill(const struct atoll_fakes_source *s, size_t tensor, double *values, size_t count);

static int fake_right(const struct atoll_fakes_source *s, size_t tensor, double *values, size_t count)
{
    memcpy(values, s->right[tensor], count * sizeof(*values));
    return 1;
}

static int fake_zeros(const struct atoll_fakes_source *s, size_t tensor, double *values, size_t count)
{
    (void)s, (void)tensor;
    memset(values, 0, count * sizeof(*values));
    return 1;
}

static int fake_ones(const struct atoll_fakes_source *s, size_t tensor, double *values, size_t count)
{
    (void)s, (void)tensor;
    for (size_t i = 0; i < count; i++)
        values[i] = 1;
    return 1;
}

static int fake_mean(const struct atoll_fakes_source *s, size_t tensor, double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += s->right[tensor][i];
    for (size_t i = 0; i < count; i++)
        values[i] = sum / (double)count;
    return count > 1; /* of one element the mean is right */
}

static int fake_previous(const struct atoll_fakes_source *s, size_t tensor, double *values, size_t count)
{
    memcpy(values, s->previous[tensor], count * sizeof(*values));
    return 1;
}

static int fake_prefix(const struct atoll_fakes_source *s, size_t tensor, double *values, size_t count)
{
    memcpy(values, s->right[tensor], count * sizeof(*values));
    memset(values + count / 2, 0, (count - count / 2) * sizeof(*values));
    return count > 1;
}

static int fake_copy(const struct atoll_fakes_source *s, size_t tensor, double *values, size_t count)
{
    const struct atoll_variant *v = &s->task->variants[s->variant];
    for (size_t i = 0; i < s->task->tensor_count; i++) {
        const struct atoll_tensor *t = &s->task->tensors[i];
        if (t->role == ATOLL_ROLE_OUT || s->counts[i] != count ||
            (t->role == ATOLL_ROLE_INOUT && i != tensor))
            continue;
        void *raw = calloc(count, 8);
        int filled = raw && atoll_init_fill(s->task, i, v, s->input_set->seed, s->input_set->distribution, 0,
                                            count, raw, NULL) == 0;
        if (filled)
            atoll_dtype_load_array(t->dtype, raw, count, values);
        free(raw);
        return filled;
    }
    return 0;
}

static const struct fake {
    struct atoll_fakes_row row;
    fake_fill *fill;
} fakes[] = {{{"accepts the reference", 1}, fake_right},
             {{"rejects zeros", 0}, fake_zeros},
             {{"rejects ones", 0}, fake_ones},
             {{"rejects the mean", 0}, fake_mean},
             {{"rejects a copy of an input", 0}, fake_copy},
             {{"rejects the previous output", 0}, fake_previous},
             {{"rejects a prefix", 0}, fake_prefix}};

size_t atoll_fakes_count(void)
{
    return sizeof(fakes) / sizeof(*fakes);
}

const struct atoll_fakes_row *atoll_fakes_row(size_t fake)
{
    return &fakes[fake].row;
}

void atoll_fakes_free(void *data[ATOLL_TASK_TENSOR_LIMIT])
{
    for (size_t i = 0; i < ATOLL_TASK_TENSOR_LIMIT; i++) {
        free(data[i]);
        data[i] = NULL;
    }
}

int atoll_fakes_make(size_t fake, const struct atoll_fakes_source *s, void *ret_data[ATOLL_TASK_TENSOR_LIMIT])
{
    int made = 1;
    memset(ret_data, 0, ATOLL_TASK_TENSOR_LIMIT * sizeof(*ret_data));
    for (size_t i = 0; i < s->task->tensor_count && made; i++) {
        size_t count = s->counts[i];
        if (!s->right[i])
            continue;
        double *values = malloc(count * sizeof(*values) + 1);
        ret_data[i] = malloc(count * 8 + 1);
        made = values && ret_data[i] && fakes[fake].fill(s, i, values, count);
        if (made)
            atoll_dtype_store_array(s->task->tensors[i].dtype, ret_data[i], count, values);
        free(values);
    }
    if (!made)
        atoll_fakes_free(ret_data);
    return made;
}

#include "mpi-eval/tool/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/tool/search.h"

#define ENTRY_LIMIT (16u << 20)

struct atoll_kernels {
    struct atoll_text_index *index; /* positions are the engine's */
};

struct atoll_kernels *atoll_kernels_create(struct atoll_err *err)
{
    struct atoll_kernels *k = calloc(1, sizeof(*k));
    if (!k) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for an index of kernels");
        return NULL;
    }
    k->index = atoll_text_index_create(ENTRY_LIMIT, err);
    if (k->index)
        return k;
    free(k);
    return NULL;
}

void atoll_kernels_destroy(struct atoll_kernels *k)
{
    if (!k)
        return;
    atoll_text_index_destroy(k->index);
    free(k);
}

/* Those that came since the last time. */
static int index_new(struct atoll_kernels *k, const struct atoll_engine *engine, struct atoll_err *err)
{
    struct atoll_engine_kernel kernel;
    uint32_t position;
    while (atoll_engine_kernel(engine, position = atoll_text_index_count(k->index), &kernel) == 0) {
        int rc = atoll_text_index_add(k->index, kernel.text, strlen(kernel.text), err);
        if (rc != 0 && atoll_text_index_count(k->index) == position)
            return -1;
        if (rc != 0)
            atoll_err_clear(err);
    }
    return 0;
}

struct found {
    const struct atoll_engine *engine;
    uint32_t task, model;
};

/* A null control is the text of another. */
static int text_at(void *context, uint32_t position, struct atoll_searched *ret_text)
{
    const struct found *f = context;
    struct atoll_engine_kernel kernel;
    struct atoll_task_status status;
    char id[ATOLL_ID_HEX], how[128];
    if (atoll_engine_kernel(f->engine, position, &kernel) != 0 || kernel.op == ATOLL_OPERATOR_NULL_CONTROL)
        return -1;
    const char *model = kernel.model == f->model ? NULL : atoll_engine_model(f->engine, kernel.model);
    *ret_text = (struct atoll_searched){.text = kernel.text, .length = strlen(kernel.text)};
    snprintf(how, sizeof(how), "%.60s", kernel.state);
    if (kernel.best_ns > 0) {
        atoll_id_hex(&kernel.best, id);
        int n = snprintf(how, sizeof(how), "candidate %.12s, %.3f us", id, kernel.best_ns / 1e3);
        if (atoll_engine_task_status(f->engine, kernel.task, kernel.model, &status) == 0 &&
            status.baseline_ns > 0)
            snprintf(how + n, sizeof(how) - (size_t)n, ", %.2fx the baseline's speed",
                     status.baseline_ns / kernel.best_ns);
    }
    snprintf(ret_text->title, sizeof(ret_text->title), "task %.64s: %s (%s, by %s)%s%.40s",
             atoll_engine_task(f->engine, kernel.task)->name, how, kernel.language,
             atoll_operator_name(kernel.op), model ? " on " : "", model ? model : "");
    return 0;
}

struct ranked {
    uint32_t position;
    int is_elsewhere, is_wrong; /* of another task or device model; nothing correct came of it */
    double best_ns;
};

static int by_use(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->is_elsewhere != y->is_elsewhere)
        return x->is_elsewhere - y->is_elsewhere;
    if (x->is_wrong != y->is_wrong)
        return x->is_wrong - y->is_wrong;
    if (x->best_ns != y->best_ns)
        return x->best_ns < y->best_ns ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* The fastest of the own task first.  NULL: there is no memory. */
static uint32_t *order_of(const struct found *f, uint32_t count)
{
    struct ranked *ranked = calloc(count ? count : 1, sizeof(*ranked));
    uint32_t *order = calloc(count ? count : 1, sizeof(*order));
    for (uint32_t i = 0; ranked && i < count; i++) {
        struct atoll_engine_kernel kernel = {0};
        atoll_engine_kernel(f->engine, i, &kernel);
        ranked[i] = (struct ranked){i, kernel.task != f->task || kernel.model != f->model,
                                    !(kernel.best_ns > 0), kernel.best_ns};
    }
    if (ranked && order)
        qsort(ranked, count, sizeof(*ranked), by_use);
    for (uint32_t i = 0; ranked && order && i < count; i++)
        order[i] = ranked[i].position;
    if (!ranked) {
        free(order);
        order = NULL;
    }
    free(ranked);
    return order;
}

int atoll_kernels_search(struct atoll_kernels *k, const struct atoll_engine *engine, uint32_t task,
                         uint32_t model, const struct atoll_tool_arguments *arguments,
                         struct atoll_buffer *out, struct atoll_err *err)
{
    struct found found = {engine, task, model};
    struct atoll_err why = ATOLL_ERR_INIT;
    if (index_new(k, engine, &why) != 0)
        return atoll_err_set(err, ATOLL_E_MEMORY, "%s", why.text);
    uint32_t *order = *arguments->words ? NULL : order_of(&found, atoll_text_index_count(k->index));
    int rc = atoll_search(k->index, order, arguments, text_at, &found, "kernels of this campaign", out, err);
    free(order);
    return rc;
}

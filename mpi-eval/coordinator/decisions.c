#include "mpi-eval/coordinator/decisions.h"

#include <stdlib.h>

#include "base/array.h"

void atoll_decisions_sink(void *context, const struct atoll_decision *decision)
{
    struct atoll_decisions *list = context;
    if (atoll_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof(*list->items), NULL) != 0)
        list->failed = 1;
    else
        list->items[list->count++] = *decision;
}

void atoll_decisions_clear(struct atoll_decisions *list)
{
    list->count = 0;
    list->failed = 0;
}

void atoll_decisions_fini(struct atoll_decisions *list)
{
    free(list->items);
    *list = (struct atoll_decisions){NULL, 0, 0, 0};
}

int atoll_decisions_check(const struct atoll_decisions *list, struct atoll_err *err)
{
    return list->failed ? atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the decisions of a step") : 0;
}

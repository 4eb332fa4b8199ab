/* path_check.c - made variants one by one.  Their input sets are fresh and have numbers that their extents make, so nothing that is
 * kept of one of them is ever taken for another's that stands in the same place later. */
#include "mpi-eval/referee/path_check.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"

#define NUMBER_BIT ((uint64_t)1 << 63) /* no counted number has it */
#define PLACE      ATOLL_TASK_VARIANT_LIMIT

unsigned atoll_path_check_count(const struct atoll_prepared *prepared, enum atoll_variant_kind kind)
{
    unsigned count = 0;
    for (size_t i = 0; i < prepared->cover.count; i++)
        count += prepared->cover.variants[i].kind == kind;
    return count;
}

static uint64_t number_of(const struct atoll_task *task, const struct atoll_variant *v, unsigned draw)
{
    uint64_t number = atoll_random_at((uint64_t)v->kind, draw);
    for (size_t d = 0; d < task->dim_count; d++)
        number = atoll_random_at(number, (uint64_t)v->dims[d]);
    return number | NUMBER_BIT;
}

/* Hidden shapes of a campaign are its secret's. */
static int cover_make(struct atoll_referee *referee, const struct atoll_prepared *p,
                      enum atoll_variant_kind kind, struct atoll_plan_cover *ret_cover, struct atoll_err *err)
{
    *ret_cover = p->cover;
    if (kind != ATOLL_VARIANT_HIDDEN || !p->cover.count)
        return 0;
    struct atoll_input_set of = atoll_input_set_make(referee->setup.secret, p->task, PLACE, 0, NUMBER_BIT);
    return atoll_plan_cover(p->task, p->plan, &p->choice, of.seed, ret_cover, err);
}

int atoll_path_check(struct atoll_referee *referee, struct atoll_case *known,
                     const struct atoll_prepared *prepared, enum atoll_variant_kind kind, uint64_t evaluation,
                     unsigned draws, atoll_path_check_visit *visit, void *context, struct atoll_err *err)
{
    struct atoll_plan_cover cover;
    int rc = cover_make(referee, prepared, kind, &cover, err);
    for (size_t i = 0; rc == 0 && i < cover.count; i++) {
        if (cover.variants[i].kind != kind)
            continue;
        known->own.variants[PLACE] = cover.variants[i];
        for (unsigned k = 0; rc == 0 && k < draws; k++) {
            struct atoll_input_set set = atoll_case_fresh_input_set(
                referee, known, PLACE, evaluation, number_of(known->task, &cover.variants[i], k));
            set.distribution = atoll_input_set_nth_distribution(known->task, (unsigned)set.seed % 8 + k);
            rc = visit(context, &set);
        }
    }
    return rc;
}

void atoll_path_check_say(const struct atoll_case *known, char *text, size_t bytes)
{
    const struct atoll_variant *v = &known->task->variants[PLACE];
    const char *path = strchr(v->name, '['), *before = "";
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, bytes - n, "; made for paths%s:", path ? path : "");
    for (size_t d = 0; d < known->task->dim_count && n < bytes; d++, before = ",")
        n += (size_t)snprintf(text + n, bytes - n, "%s %s=%lld", before, known->task->dims[d],
                              (long long)v->dims[d]);
}

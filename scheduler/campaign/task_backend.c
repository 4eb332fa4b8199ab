#include "scheduler/campaign/task_backend.h"

#include <stdio.h>
#include <string.h>

#include "core/search.h"

static int has_seed(const struct atoll_task *task, const char *language)
{
    for (size_t i = 0; i < task->seed_count; i++) {
        if (strcmp(task->seeds[i].language, language) == 0) {
            return 1;
        }
    }
    return 0;
}

static int has_variant(const struct atoll_task *task, const char *backend, enum atoll_variant_kind kind)
{
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];

        if (v->kind == kind && (!v->backend || strcmp(v->backend, backend) == 0)) {
            return 1;
        }
    }
    return 0;
}

int atoll_task_fits_backend(const struct atoll_task *task, const char *backend, char *ret_why,
                            size_t why_bytes)
{
    const char *language = atoll_language_name(atoll_language_of_backend(backend));

    if (!has_seed(task, language)) {
        snprintf(ret_why, why_bytes, "no seed in the language %s; add one as seeds/NAME.%s", language,
                 strcmp(language, "cuda") == 0 ? "cu" : language);
        return 0;
    }
    if (!has_variant(task, backend, ATOLL_VARIANT_CHECK) ||
        !has_variant(task, backend, ATOLL_VARIANT_BENCH)) {
        snprintf(ret_why, why_bytes, "no check or no bench variant for the backend %s; add one to task.yaml",
                 backend);
        return 0;
    }
    return 1;
}

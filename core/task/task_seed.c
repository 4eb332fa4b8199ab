#include "core/task/task_seed.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "core/plan/plan.h"
#include "core/task/task_value.h"

static const char *language_of(const char *path)
{
    static const char *const known[][2] = {{".c", "c"}, {".cu", "cuda"}, {".cl", "opencl"}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < 3; i++) {
        if (strcmp(dot, known[i][0]) == 0) {
            return known[i][1];
        }
    }
    return NULL;
}

static int add_seed(struct atoll_task_document *d, const yaml_node_t *node, const char *name,
                    const char *path, int is_baseline)
{
    struct atoll_task *task = d->task;
    const char *language = language_of(path);
    if (!language) {
        return atoll_document_fail(
            d, node, "'%.80s': seeds and baselines end in .c, .cu or .cl; rename or remove it", path);
    }
    for (size_t i = 0; i < task->seed_count; i++) {
        if (strcmp(task->seeds[i].name, name) == 0 && strcmp(task->seeds[i].language, language) == 0) {
            return atoll_document_fail(d, node, "two %s seeds are called '%s'; rename one", language, name);
        }
    }
    if (task->seed_count == ATOLL_TASK_SEED_LIMIT) {
        return atoll_document_fail(d, node, "more than %d baselines and seeds; remove some",
                                   ATOLL_TASK_SEED_LIMIT);
    }
    const char *source = atoll_document_take(d, node, path, ATOLL_SOURCE_LIMIT);
    if (!source) {
        return -1;
    }
    task->seeds[task->seed_count++] = (struct atoll_seed){name, language, source, is_baseline};
    return 0;
}

struct baseline {
    const char *name, *file;
};

static const struct atoll_document_row baseline_rows[] = {
    {"name", 1, atoll_value_name, offsetof(struct baseline, name)},
    {"file", 1, atoll_value_path, offsetof(struct baseline, file)},
};
static const struct atoll_document_section baseline = {baseline_rows,
                                                       sizeof(baseline_rows) / sizeof(*baseline_rows)};

static int read_baseline(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    struct baseline b = {NULL, NULL};
    if (atoll_document_map(d, &baseline, node, &b)) {
        return -1;
    }
    return add_seed(d, node, b.name, b.file, 1);
}

int atoll_task_read_baselines(struct atoll_task_document *d, const yaml_node_t *node, void *target)
{
    return atoll_document_list(d, node, ATOLL_TASK_SEED_LIMIT, "baselines", read_baseline, NULL);
}

static int is_taken(const struct atoll_task_document *d, const char *path)
{
    for (size_t i = 0; i < d->owner->text_count; i++) {
        if (strcmp(d->owner->texts[i].path, path) == 0) {
            return 1;
        }
    }
    return 0;
}

int atoll_task_add_seeds(struct atoll_task_document *d, const yaml_node_t *root)
{
    for (size_t i = 0; i < d->store->seed_count; i++) {
        const char *path = d->store->seeds[i], *base = strrchr(path, '/');
        base = base ? base + 1 : path;
        if (is_taken(d, path)) {
            continue;
        }
        const char *name = atoll_arena_text(d->arena, base, strcspn(base, "."), d->err);
        if (!name || add_seed(d, root, name, path, 0)) {
            return -1;
        }
    }
    return 0;
}

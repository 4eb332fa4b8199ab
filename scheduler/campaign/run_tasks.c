#include "scheduler/campaign/run_tasks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
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

void atoll_run_tasks_fini(struct atoll_run_tasks *list)
{
    for (size_t i = 0; i < list->count; i++) {
        atoll_task_destroy(list->tasks[i]);
        free(list->dirs[i]);
    }
    free(list->tasks);
    free(list->dirs);
}

/* "null" stands in for the cpu. */
static const char *measuring_backend(const char *backend)
{
    return strcmp(backend, "null") == 0 ? "cpu" : backend;
}

static int wanted(const struct atoll_option_list *only, const char *name)
{
    for (size_t i = 0; i < only->count; i++) {
        if (strcmp(only->items[i], name) == 0) {
            return 1;
        }
    }
    return only->count == 0;
}

/* 0: the task is left out with a warning; -1: it was asked for by name. */
static int suits(struct atoll_run_tasks *list, const char *dir, const struct atoll_task *task,
                 struct atoll_err *err)
{
    char why[256];

    if (atoll_task_fits_backend(task, measuring_backend(list->backend), why, sizeof(why))) {
        return 1;
    }
    if (list->only->count) {
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: %s", dir, why);
    }
    list->skipped++;
    fprintf(stderr, "atoll: warning: %s is left out: %s\n", dir, why);
    return 0;
}

static int reserve(struct atoll_run_tasks *list, struct atoll_err *err)
{
    size_t capacity = list->capacity ? 2 * list->capacity : 16;
    struct atoll_task **tasks;
    char **dirs;

    if (list->count < list->capacity) {
        return 0;
    }
    tasks = realloc(list->tasks, capacity * sizeof(*tasks));
    if (!tasks) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the task list");
    }
    list->tasks = tasks;
    dirs = realloc(list->dirs, capacity * sizeof(*dirs));
    if (!dirs) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the task list");
    }
    list->dirs = dirs;
    list->capacity = capacity;
    return 0;
}

static int add(void *context, const char *dir, struct atoll_err *err)
{
    struct atoll_run_tasks *list = context;
    struct atoll_task *task = atoll_task_load(dir, err);

    if (!task) {
        return -1;
    }
    if (!wanted(list->only, task->name)) {
        atoll_task_destroy(task);
        return 0;
    }
    int suitable = suits(list, dir, task, err);
    if (suitable != 1) {
        atoll_task_destroy(task);
        return suitable;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->tasks[i]->name, task->name) == 0) {
            atoll_err_set(err, ATOLL_E_INPUT,
                          "%s: a task named %s is already in %s; rename one or use --only", dir, task->name,
                          list->dirs[i]);
            atoll_task_destroy(task);
            return -1;
        }
    }
    if (reserve(list, err) != 0) {
        atoll_task_destroy(task);
        return -1;
    }
    list->dirs[list->count] = strdup(dir);
    list->tasks[list->count] = task;
    return list->dirs[list->count++] ? 0 : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the task list");
}

int atoll_run_tasks_find_suite(const char *name, char *ret_dir, size_t bytes, struct atoll_err *err)
{
    char relative[PATH_MAX], found[PATH_MAX], whole[PATH_MAX];

    for (size_t i = 0; i < 2 && name[0] != '/' && access(name, F_OK) != 0; i++) {
        int length = snprintf(relative, sizeof(relative), "%s%s", i == 0 ? "" : "suites/", name);

        if (length > 0 && (size_t)length < sizeof(relative) &&
            atoll_program_data(relative, found, sizeof(found), NULL) == 0 && realpath(found, whole)) {
            name = whole;
        }
    }
    if (strlen(name) >= bytes) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of a suite is too long: %.200s", name);
    }
    memcpy(ret_dir, name, strlen(name) + 1);
    return 0;
}

int atoll_run_tasks_collect(struct atoll_run_tasks *ret_tasks, const char *const *suites, size_t suite_count,
                            const struct atoll_option_list *only, const char *backend, struct atoll_err *err)
{
    struct atoll_run_tasks *list = ret_tasks;

    *list = (struct atoll_run_tasks){.backend = backend, .only = only};
    for (size_t i = 0; i < suite_count; i++) {
        char dir[PATH_MAX];

        if (atoll_run_tasks_find_suite(suites[i], dir, sizeof(dir), err) != 0 ||
            atoll_suite_visit(dir, add, list, err) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < only->count; i++) {
        size_t k = 0;

        while (k < list->count && strcmp(list->tasks[k]->name, only->items[i]) != 0) {
            k++;
        }
        if (k == list->count) {
            return atoll_err_set(err, ATOLL_E_NOTFOUND, "--only %s: no such task in %s", only->items[i],
                                 suites[0]);
        }
    }
    if (list->count) {
        return 0;
    }
    return list->skipped
               ? atoll_err_set(err, ATOLL_E_INPUT,
                               "no task of %s has what the backend %s needs; add seeds in its language or "
                               "choose another one with --backend",
                               suites[0], backend)
               : atoll_err_set(err, ATOLL_E_NOTFOUND, "%s holds no task", suites[0]);
}

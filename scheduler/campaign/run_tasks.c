#include "scheduler/campaign/run_tasks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/print.h"
#include "base/program.h"
#include "base/spelling.h"
#include "core/search.h"

static int has_seed(const struct atoll_task *task, enum atoll_language language)
{
    for (size_t i = 0; i < task->seed_count; i++)
        if (atoll_language_takes(language, task->seeds[i].language))
            return 1;
    return 0;
}

static int has_variant(const struct atoll_task *task, const char *backend, enum atoll_variant_kind kind)
{
    for (size_t i = 0; i < task->variant_count; i++) {
        const struct atoll_variant *v = &task->variants[i];

        if (v->kind == kind && (!v->backend || strcmp(v->backend, backend) == 0))
            return 1;
    }
    return 0;
}

int atoll_task_fits_backend(const struct atoll_task *task, const char *backend, enum atoll_triton triton,
                            int are_written, char *ret_why, size_t why_bytes)
{
    static const char *const suffixes[ATOLL_LANGUAGE_COUNT] = {[ATOLL_LANGUAGE_C] = "c",
                                                               [ATOLL_LANGUAGE_CUDA] = "cu",
                                                               [ATOLL_LANGUAGE_TRITON] = "py",
                                                               [ATOLL_LANGUAGE_CUDA_TRITON] = "cu"};
    enum atoll_language language = atoll_language_of_backend(backend, triton);

    if (!has_seed(task, language) && !(task->rival_count && are_written)) {
        int is_triton = language == ATOLL_LANGUAGE_CUDA && has_seed(task, ATOLL_LANGUAGE_TRITON);
        snprintf(ret_why, why_bytes, "no seed in the language %s; add one as seeds/NAME.%s%s%s",
                 atoll_language_name(language), suffixes[language],
                 is_triton ? ", or search those in Triton with --set triton=alone" : "",
                 task->rival_count ? ", or ask a model for the first kernel (--model)" : "");
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
    for (size_t i = 0; i < list->name_count; i++)
        free(list->names[i]);
    free(list->tasks);
    free(list->dirs);
}

/* Whether an item of --only, one name or several with commas between them, names the task. */
static int names_task(const char *item, const char *name)
{
    for (size_t length; *item; item += length + (item[length] == ',')) {
        length = strcspn(item, ",");
        if (length == strlen(name) && strncmp(item, name, length) == 0)
            return 1;
    }
    return 0;
}

/* Room for one more; MEMORY. */
static int list_reserve(struct atoll_run_tasks *list, struct atoll_err *err)
{
    uint32_t count = (uint32_t)list->count + 1, capacity = list->capacity; /* both arrays have the same */
    return atoll_array_reserve(&list->tasks, &capacity, count, sizeof(*list->tasks), err) != 0 ||
                   atoll_array_reserve(&list->dirs, &list->capacity, count, sizeof(*list->dirs), err) != 0
               ? -1
               : 0;
}

/* Takes a folder's task into the list, where it is wanted and the backend can evolve it. */
static int add(void *context, const char *dir, struct atoll_err *err)
{
    struct atoll_run_tasks *list = context;
    const char *backend =
        strcmp(list->backend, "null") == 0 ? "cpu" : list->backend; /* whose stand-in it is */
    struct atoll_task *task = atoll_task_load(dir, err);
    int is_wanted = list->only->count == 0, status = -1;
    char why[256];

    if (!task)
        return -1;
    for (size_t i = 0; i < list->only->count; i++)
        is_wanted |= names_task(list->only->items[i], task->name);
    if (!is_wanted) {
        if (list->name_count < sizeof(list->names) / sizeof(list->names[0]))
            list->names[list->name_count++] = strdup(task->name);
        status = list->name_count && !list->names[list->name_count - 1]
                     ? atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the task list")
                     : 0;
        goto leave_out;
    }
    if (!atoll_task_fits_backend(task, backend, list->triton, list->are_written, why, sizeof(why))) {
        if (list->only->count) { /* it was asked for by name */
            atoll_err_set(err, ATOLL_E_INPUT, "%s: %s", dir, why);
            goto leave_out;
        }
        list->skipped++;
        atoll_print(stderr, "atoll: warning: %s is left out: %s\n", dir, why);
        status = 0;
        goto leave_out;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->tasks[i]->name, task->name) == 0) {
            atoll_err_set(err, ATOLL_E_INPUT,
                          "%s: a task named %s is already in %s; rename one, or leave one out", dir,
                          task->name, list->dirs[i]);
            goto leave_out;
        }
    }
    if (list_reserve(list, err) != 0)
        goto leave_out;
    list->dirs[list->count] = strdup(dir);
    if (!list->dirs[list->count]) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the task list");
        goto leave_out;
    }
    list->tasks[list->count++] = task;
    return 0;
leave_out:
    atoll_task_destroy(task);
    return status;
}

int atoll_run_tasks_find_suite(const char *name, char *ret_dir, size_t bytes, struct atoll_err *err)
{
    char relative[PATH_MAX], found[PATH_MAX], whole[PATH_MAX];

    if (!*name) /* an unset variable, and not all suites that came with the program */
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "the name of a suite is empty; name a suite or a task's folder");
    for (size_t i = 0; i < 2 && name[0] != '/' && access(name, F_OK) != 0; i++) {
        int length = snprintf(relative, sizeof(relative), "%s%s", i == 0 ? "" : "suites/", name);

        if (length > 0 && (size_t)length < sizeof(relative) &&
            atoll_program_data(relative, found, sizeof(found), NULL) == 0 && realpath(found, whole)) {
            name = whole;
        }
    }
    if (!strchr(name, '/') && access(name, F_OK) != 0 &&
        !atoll_spelling_near_path(name, "", whole, sizeof(whole)) &&
        atoll_program_data("suites", found, sizeof(found), NULL) == 0 &&
        snprintf(relative, sizeof(relative), "%s/%s", found, name) < (int)sizeof(relative) &&
        atoll_spelling_near_path(relative, "", whole, sizeof(whole))) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "no suite '%s'; did you mean '%s'?", name,
                             strrchr(whole, '/') + 1);
    }
    if (strlen(name) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of a suite is too long: %.200s", name);
    memcpy(ret_dir, name, strlen(name) + 1);
    return 0;
}

/* NOTFOUND, with the nearest one, where a name of --only is that of no task. */
static int check_only(const struct atoll_run_tasks *list, const char *item, const char *suite,
                      struct atoll_err *err)
{
    for (size_t length; *item; item += length + (item[length] == ',')) {
        char name[256], hint[ATOLL_SPELLING_HINT_BYTES];
        size_t k = 0;

        length = strcspn(item, ",");
        snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name) - 1), item);
        while (k < list->count && strcmp(list->tasks[k]->name, name) != 0)
            k++;
        if (k < list->count || !*name)
            continue;
        atoll_spelling_hint(name, (const char *const *)list->names, list->name_count,
                            "its folders are its tasks", hint);
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "--only %s: no such task in %s; %s", name, suite, hint);
    }
    return 0;
}

int atoll_run_tasks_collect(struct atoll_run_tasks *ret_tasks, const char *const *suites, size_t suite_count,
                            const struct atoll_option_list *only, const char *backend,
                            enum atoll_triton triton, int are_written, struct atoll_err *err)
{
    struct atoll_run_tasks *list = ret_tasks;

    *list = (struct atoll_run_tasks){
        .backend = backend, .triton = triton, .are_written = are_written, .only = only};
    for (size_t i = 0; i < suite_count; i++) {
        char dir[PATH_MAX];

        if (atoll_run_tasks_find_suite(suites[i], dir, sizeof(dir), err) != 0 ||
            atoll_suite_visit(dir, add, list, err) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < only->count; i++)
        if (check_only(list, only->items[i], suites[0], err) != 0)
            return -1;
    if (list->count)
        return 0;
    return list->skipped
               ? atoll_err_set(err, ATOLL_E_INPUT,
                               "no task of %s has what the backend %s needs; add seeds in its language or "
                               "choose another one with --backend",
                               suites[0], backend)
           : only->count
               ? atoll_err_set(err, ATOLL_E_USAGE,
                               "--only names no task; name some, as %s has them, or leave it out", suites[0])
               : atoll_err_set(err, ATOLL_E_NOTFOUND, "%s holds no task", suites[0]);
}

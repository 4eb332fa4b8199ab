/* problem_list.c - one row per format: how its problems lie in a checkout.  Folders are read without following what they say. */
#include "scheduler/import/problem_list.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LEVEL_LIMIT   9
#define DEPTH_LIMIT   6
#define ENTRY_LIMIT   100000
#define LEVELS_123    0x0eu
#define LEVEL(number) (1u << (number))

struct format {
    const char *name;
    int (*list)(struct atoll_problem_list *list, struct atoll_err *err);
};

static int is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), of_end = strlen(end);
    return length >= of_end && strcmp(text + length - of_end, end) == 0;
}

/* [a-z][a-z0-9_]*, at most 63 characters, out of any text. */
static void plain_name(const char *text, char *ret_name, size_t bytes)
{
    size_t length = 0;
    for (; *text && length + 2 < bytes; text++) {
        unsigned char c = (unsigned char)*text;
        int is_word = c < 0x80 && isalnum(c);
        if (length == 0 && !(is_word && isalpha(c))) {
            if (is_word)
                ret_name[length++] = 'p';
            else
                continue;
        }
        if (is_word)
            ret_name[length++] = (char)tolower(c);
        else if (ret_name[length - 1] != '_')
            ret_name[length++] = '_';
    }
    while (length > 0 && ret_name[length - 1] == '_')
        length--;
    ret_name[length] = '\0';
    if (length == 0)
        snprintf(ret_name, bytes, "problem");
}

/* A new problem at the list's end, named; its task's name is made of level, number and name, and is the list's only one. */
static struct atoll_problem *add(struct atoll_problem_list *list, unsigned level, const char *name,
                                 struct atoll_err *err)
{
    if (list->count == ATOLL_PROBLEM_LIMIT) {
        atoll_err_set(err, ATOLL_E_LIMIT, "%s: more than %d problems; name a folder of fewer", list->path,
                      ATOLL_PROBLEM_LIMIT);
        return NULL;
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct atoll_problem *problems = realloc(list->problems, capacity * sizeof(*problems));
        if (!problems) {
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of problems");
            return NULL;
        }
        list->problems = problems;
        list->capacity = capacity;
    }
    struct atoll_problem *problem = &list->problems[list->count];
    *problem = (struct atoll_problem){.level = level};
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    char *end;
    unsigned long number = strtoul(base, &end, 10);
    snprintf(problem->name, sizeof(problem->name), "%s", name);
    if (isdigit((unsigned char)*base) && number < 100000) {
        problem->number = (unsigned)number;
        base = *end ? end : base;
    }
    int used = level ? snprintf(problem->task, sizeof(problem->task), "l%u_%03u_", level, problem->number)
               : problem->number ? snprintf(problem->task, sizeof(problem->task), "p%03u_", problem->number)
                                 : 0;
    plain_name(base, problem->task + used, sizeof(problem->task) - (size_t)used);
    list->count++;
    return problem;
}

static int add_file(struct atoll_problem *problem, const char *label, const char *path, struct atoll_err *err)
{
    char *copy = strdup(path);
    if (!copy)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a path");
    problem->files[problem->file_count].label = label;
    problem->files[problem->file_count++].path = copy;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct atoll_problem *x = a, *y = b;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Calls visit for each entry of a folder that is not hidden; a folder that is not there has none. */
static int each_entry(const char *folder,
                      int (*visit)(struct atoll_problem_list *list, const char *path, const char *name,
                                   unsigned level, struct atoll_err *err),
                      struct atoll_problem_list *list, unsigned level, struct atoll_err *err)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : atoll_err_errno(err, errno, "cannot read the folder %s", folder);
    int status = 0;
    size_t seen = 0;
    for (struct dirent *entry; status == 0 && (entry = readdir(dir)) && seen++ < ENTRY_LIMIT;) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int)sizeof(path))
            continue;
        status = visit(list, path, entry->d_name, level, err);
    }
    closedir(dir);
    return status;
}

/* ---- kernelbench: [KernelBench/]levelN/NUMBER_NAME.py, a folder of such files, or one file ---- */

static int visit_module(struct atoll_problem_list *list, const char *path, const char *name, unsigned level,
                        struct atoll_err *err)
{
    char named[ATOLL_PROBLEM_NAME_BYTES];
    if (!ends_with(name, ".py") || !is_file(path))
        return 0;
    int length = (int)strlen(name) - 3;
    if (level)
        snprintf(named, sizeof(named), "level%u/%.*s", level, length, name);
    else
        snprintf(named, sizeof(named), "%.*s", length, name);
    struct atoll_problem *problem = add(list, level, named, err);
    return problem ? add_file(problem, "source", path, err) : -1;
}

static int list_kernelbench(struct atoll_problem_list *list, struct atoll_err *err)
{
    char root[PATH_MAX], folder[PATH_MAX + 16];
    unsigned levels = list->levels ? list->levels : LEVELS_123;
    if (is_file(list->path)) {
        const char *name = strrchr(list->path, '/') ? strrchr(list->path, '/') + 1 : list->path;
        return visit_module(list, list->path, name, 0, err);
    }
    snprintf(root, sizeof(root), "%s/KernelBench", list->path);
    if (!is_folder(root))
        snprintf(root, sizeof(root), "%s", list->path);
    for (unsigned level = 1; level <= LEVEL_LIMIT; level++) {
        snprintf(folder, sizeof(folder), "%s/level%u", root, level);
        if (levels & LEVEL(level) && each_entry(folder, visit_module, list, level, err) != 0)
            return -1;
    }
    if (list->count > 0 || list->levels)
        return 0;
    const char *name = strrchr(root, '/') ? strrchr(root, '/') + 1 : root;
    unsigned level = strncmp(name, "level", 5) == 0 && isdigit((unsigned char)name[5]) && !name[6]
                         ? (unsigned)(name[5] - '0')
                         : 0;
    return each_entry(root, visit_module, list, level, err);
}

/* ---- robust-kbench: tasks/NAME/func_forward.py and config_forward.json, the same of backward; its copies of KernelBench lie in
 * tasks/kernelbench/level_N/task_M ---- */

static int add_pass(struct atoll_problem_list *list, const char *folder, const char *name, unsigned level,
                    const char *pass, struct atoll_err *err)
{
    char source[PATH_MAX], config[PATH_MAX], named[ATOLL_PROBLEM_NAME_BYTES];
    snprintf(source, sizeof(source), "%s/func_%s.py", folder, pass);
    snprintf(config, sizeof(config), "%s/config_%s.json", folder, pass);
    if (!is_file(source) || !is_file(config))
        return 0;
    if (level)
        snprintf(named, sizeof(named), "level%u/%s_%s", level,
                 strncmp(name, "task_", 5) == 0 ? name + 5 : name, pass);
    else
        snprintf(named, sizeof(named), "%s_%s", name, pass);
    struct atoll_problem *problem = add(list, level, named, err);
    if (!problem)
        return -1;
    problem->is_backward = strcmp(pass, "backward") == 0;
    return add_file(problem, "source", source, err) != 0 ? -1 : add_file(problem, "config", config, err);
}

static int visit_robust(struct atoll_problem_list *list, const char *path, const char *name, unsigned level,
                        struct atoll_err *err)
{
    return add_pass(list, path, name, level, "forward", err) != 0
               ? -1
               : add_pass(list, path, name, level, "backward", err);
}

static int list_robust(struct atoll_problem_list *list, struct atoll_err *err)
{
    char root[PATH_MAX], folder[PATH_MAX + 32];
    snprintf(root, sizeof(root), "%s/tasks", list->path);
    if (!is_folder(root))
        snprintf(root, sizeof(root), "%s", list->path);
    if (!list->levels)
        return each_entry(root, visit_robust, list, 0, err);
    for (unsigned level = 1; level <= LEVEL_LIMIT; level++) {
        snprintf(folder, sizeof(folder), "%s/kernelbench/level_%u", root, level);
        if (list->levels & LEVEL(level) && each_entry(folder, visit_robust, list, level, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- ai-bench: problems/specs/KernelBench/levelN/NAME.yaml beside a checkout of KernelBench in third_party ---- */

static int visit_spec(struct atoll_problem_list *list, const char *path, const char *name, unsigned level,
                      struct atoll_err *err)
{
    static const char *const places[] = {"third_party/KernelBench/KernelBench",
                                         "problems/third_party/KernelBench/KernelBench", "KernelBench"};
    char named[ATOLL_PROBLEM_NAME_BYTES], source[PATH_MAX + 512];
    if (!ends_with(name, ".yaml") || !is_file(path))
        return 0;
    int length = (int)strlen(name) - 5;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        snprintf(source, sizeof(source), "%s/%s/level%u/%.*s.py", list->path, places[i], level, length, name);
        if (is_file(source))
            break;
    }
    if (!is_file(source))
        return atoll_err_set(
            err, ATOLL_E_NOTFOUND,
            "%s: its specifications are for modules of KernelBench, and %s is not there; `git submodule "
            "update --init` in the checkout, or put KernelBench into third_party",
            list->path, source);
    snprintf(named, sizeof(named), "level%u/%.*s", level, length, name);
    struct atoll_problem *problem = add(list, level, named, err);
    return !problem || add_file(problem, "source", source, err) != 0 ? -1
                                                                     : add_file(problem, "spec", path, err);
}

static int list_ai_bench(struct atoll_problem_list *list, struct atoll_err *err)
{
    char folder[PATH_MAX];
    unsigned levels = list->levels ? list->levels : LEVELS_123;
    for (unsigned level = 1; level <= LEVEL_LIMIT; level++) {
        snprintf(folder, sizeof(folder), "%s/problems/specs/KernelBench/level%u", list->path, level);
        if (levels & LEVEL(level) && each_entry(folder, visit_spec, list, level, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- sol-execbench, flashinfer: NAME/definition.json with workload.jsonl beside, or definitions/KIND/NAME.json with
 * workloads/KIND/NAME.jsonl ---- */

static int add_definition(struct atoll_problem_list *list, const char *path, const char *name,
                          struct atoll_err *err)
{
    char workload[PATH_MAX], named[ATOLL_PROBLEM_NAME_BYTES], *place;
    snprintf(workload, sizeof(workload), "%s", path);
    if (strcmp(name, "definition.json") == 0) {
        char *last = strrchr(workload, '/');
        *last = '\0';
        const char *folder = strrchr(workload, '/') ? strrchr(workload, '/') + 1 : workload;
        snprintf(named, sizeof(named), "%.*s", ATOLL_PROBLEM_NAME_BYTES - 1, folder);
        snprintf(last, sizeof(workload) - (size_t)(last - workload), "/workload.jsonl");
    } else {
        snprintf(named, sizeof(named), "%.*s", (int)strlen(name) - 5, name);
        place = strstr(workload, "/definitions/");
        if (!place)
            return 0;
        snprintf(workload, sizeof(workload), "%.*s/workloads/%sl", (int)(place - workload), path,
                 path + (place - workload) + strlen("/definitions/"));
    }
    if (!is_file(workload))
        return 0;
    struct atoll_problem *problem = add(list, 0, named, err);
    return !problem || add_file(problem, "definition", path, err) != 0
               ? -1
               : add_file(problem, "workload", workload, err);
}

static int visit_definition(struct atoll_problem_list *list, const char *path, const char *name,
                            unsigned depth, struct atoll_err *err)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return depth == DEPTH_LIMIT ? 0 : each_entry(path, visit_definition, list, depth + 1, err);
    return ends_with(name, ".json") && is_file(path) ? add_definition(list, path, name, err) : 0;
}

static int list_definitions(struct atoll_problem_list *list, struct atoll_err *err)
{
    return each_entry(list->path, visit_definition, list, 0, err);
}

static int list_t4(struct atoll_problem_list *list, struct atoll_err *err)
{
    return atoll_err_set(
        err, ATOLL_E_USAGE,
        "%s: a T4 file records times of a kernel's parameters, and neither the kernel nor what it computes: "
        "there is no task to make of it. bench/ replays such spaces to compare tuners",
        list->path);
}

static const struct format formats[] = {
    {"kernelbench", list_kernelbench},   {"robust-kbench", list_robust},   {"ai-bench", list_ai_bench},
    {"sol-execbench", list_definitions}, {"flashinfer", list_definitions}, {"t4", list_t4}};
#define FORMAT_COUNT (sizeof(formats) / sizeof(*formats))

const char *atoll_problem_formats(void)
{
    return "kernelbench, robust-kbench, ai-bench, sol-execbench, flashinfer";
}

/* Folders of one name in different places: "cuda/rmsnorm", "triton/rmsnorm".  Sorted, they lie side by side. */
static void name_places(struct atoll_problem_list *list)
{
    size_t root = strlen(list->path);
    for (size_t i = 0, end; i < list->count; i = end) {
        char name[ATOLL_PROBLEM_NAME_BYTES];
        snprintf(name, sizeof(name), "%s", list->problems[i].name);
        for (end = i + 1; end < list->count && strcmp(list->problems[end].name, name) == 0;)
            end++;
        for (size_t k = i; end - i > 1 && k < end; k++) {
            const char *place = list->problems[k].files[0].path + root;
            place += strspn(place, "/");
            size_t cut = strlen(ends_with(place, "/definition.json") ? "/definition.json" : ".json");
            snprintf(list->problems[k].name, sizeof(list->problems[k].name), "%.*s",
                     (int)(strlen(place) - cut), place);
        }
    }
}

/* Two problems may give one name once it is shortened. */
static void tell_apart(struct atoll_problem_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        unsigned number = 1;
        for (size_t k = 0; k < i; k++) {
            if (strcmp(list->problems[i].task, list->problems[k].task) != 0)
                continue;
            char *task = list->problems[i].task, suffix[16];
            int length = snprintf(suffix, sizeof(suffix), "_%u", ++number);
            size_t room = sizeof(list->problems[i].task) - 1 - (size_t)length, at = strlen(task);
            memcpy(task + (at < room ? at : room), suffix, (size_t)length + 1);
            k = (size_t)-1; /* from the beginning with the new name */
        }
    }
}

int atoll_problem_list_collect(struct atoll_problem_list *list, struct atoll_err *err)
{
    const struct format *format = NULL;
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i].name, list->format) == 0)
            format = &formats[i];
    if (!format)
        return atoll_err_set(err, ATOLL_E_USAGE, "atoll task import: there is no format '%s'; known: %s",
                             list->format, atoll_problem_formats());
    if (!is_folder(list->path) && !is_file(list->path))
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "%s is not there; name the checkout of %s", list->path,
                             list->format);
    if (format->list(list, err) != 0)
        return -1;
    if (list->count == 0)
        return atoll_err_set(err, ATOLL_E_NOTFOUND,
                             "%s holds no problem of the format %s; name the folder of its checkout",
                             list->path, list->format);
    qsort(list->problems, list->count, sizeof(*list->problems), by_number);
    name_places(list);
    qsort(list->problems, list->count, sizeof(*list->problems), by_number);
    tell_apart(list);
    return 0;
}

void atoll_problem_list_fini(struct atoll_problem_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->problems[i].file_count; k++)
            free(list->problems[i].files[k].path);
    free(list->problems);
    list->problems = NULL;
    list->count = list->capacity = 0;
}

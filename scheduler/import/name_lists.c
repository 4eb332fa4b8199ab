/* Subsets of benchmarks that papers report on.  Problems of KernelBench by level and number, which held through its versions.
 *
 * robust-kbench: 111 problems, 80 of level 1 and 31 of level 2, that none of robust-kbench's criteria catches: derived from the
 * verdicts in its tasks/kernelbench/level_N/task_M/filter_results.json (SakanaAI/robust-kbench 078f5ba, arXiv 2509.14279); the
 * count is that of KernelFoundry, section 4.
 * robust-tasks: robust-kbench's own tasks, forward and backward, as its folder tasks/ has them (078f5ba: 11; the paper counts 12).
 * kernelfoundry: 20 of each level, KernelFoundry, appendix F.2, table 8.
 * metr: METR's filtered KernelBench ("Measuring Automated Kernel Engineering", metr.org, 14 February 2025): the problems that are in
 * tasks/level_1 to level_3 of KernelBenchFiltered, of its first commit (9507be4), read in the public copy
 * pavanyellow/KernelBenchFiltered 67a4e2b, as METR's own is not to be had any more: 91, 80 and 37.  Level 1's 101 is none of
 * KernelBench's today, and its level 5 is METR's own. */
#include "scheduler/import/problem_list.h"

#include <stdio.h>
#include <string.h>

#include "base/spelling.h"

#define LEVELS 3

struct numbers {
    size_t count;
    const unsigned char *numbers;
};

struct atoll_name_list {
    const char *name;
    struct numbers levels[LEVELS];
    const char *const *names; /* of tasks without a number, to NULL; a pass follows each */
};

static const unsigned char robust_1[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 16, 17, 19, 20, 21,
                                         22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 40, 41, 42,
                                         43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 59,
                                         60, 61, 62, 63, 64, 65, 66, 67, 68, 70, 71, 72, 73, 74, 75, 76,
                                         77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 89, 90, 93, 95, 99, 100};
static const unsigned char robust_2[] = {1,  3,  5,  11, 16, 17, 19, 21, 24, 30, 32, 35, 37, 45, 46, 47,
                                         50, 55, 56, 59, 61, 65, 67, 70, 73, 82, 85, 97, 98, 99, 100};
static const unsigned char foundry_1[] = {20, 21, 25, 30, 33, 44, 48, 4,  53, 5,
                                          64, 67, 72, 76, 7,  82, 86, 87, 89, 99};
static const unsigned char foundry_2[] = {16, 17, 1, 21, 24, 32, 35, 37, 46, 47,
                                          50, 59, 5, 67, 70, 73, 82, 85, 97, 99};

static const unsigned char metr_1[] = {
    1,  2,  3,  4,  5,  6,  7,  9,  10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 24,  25, 26,
    27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 38, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49,  51, 52,
    53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73,  74, 75,
    76, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 91, 92, 93, 94, 96, 98, 99, 100, 101};
static const unsigned char metr_2[] = {1,  2,  3,  4,  5,  6,  7,  8,  10, 11, 12, 14, 15, 16, 17, 18,
                                       19, 20, 21, 22, 24, 25, 26, 28, 29, 30, 31, 32, 33, 34, 35, 37,
                                       39, 40, 42, 43, 46, 47, 48, 50, 51, 52, 53, 54, 55, 56, 57, 59,
                                       60, 61, 62, 63, 64, 65, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76,
                                       78, 79, 81, 82, 85, 86, 87, 88, 90, 92, 94, 95, 97, 98, 99, 100};
static const unsigned char metr_3[] = {1,  2,  4,  6,  8,  9,  10, 13, 14, 15, 16, 17, 19,
                                       20, 21, 22, 23, 24, 25, 26, 27, 29, 30, 31, 33, 36,
                                       37, 38, 39, 40, 41, 42, 43, 44, 48, 49, 50};
static const char *const robust_names[] = {
    "layernorm",           "llama_ffw",         "llama_rmsnorm", "mnist_conv_relu_pool",
    "mnist_cross_entropy", "mnist_linear_relu", "mnist_linear",  "mnist_pool",
    "resnet_block",        "unet_conv2d",       "unet_linear",   NULL};

#define NUMBERS(array)                                                                                       \
    {                                                                                                        \
        sizeof(array), array                                                                                 \
    }

static const struct atoll_name_list lists[] = {
    {"metr", {NUMBERS(metr_1), NUMBERS(metr_2), NUMBERS(metr_3)}, NULL},
    {"robust-kbench", {NUMBERS(robust_1), NUMBERS(robust_2), {0, NULL}}, NULL},
    {"robust-tasks", {{0, NULL}}, robust_names},
    {"kernelfoundry", {NUMBERS(foundry_1), NUMBERS(foundry_2), {0, NULL}}, NULL},
};
#define LIST_COUNT (sizeof(lists) / sizeof(*lists))

const char *atoll_name_lists(void)
{
    return "metr, robust-kbench, robust-tasks, kernelfoundry";
}

const struct atoll_name_list *atoll_name_list_find(const char *name, struct atoll_err *err)
{
    char hint[ATOLL_SPELLING_HINT_BYTES], known[128];
    for (size_t i = 0; i < LIST_COUNT; i++)
        if (strcmp(lists[i].name, name) == 0)
            return &lists[i];
    snprintf(known, sizeof(known), "known: %s", atoll_name_lists());
    atoll_err_set(err, ATOLL_E_USAGE, "atoll task import: there is no list '%s'; %s", name,
                  atoll_spelling_hint_in(name, atoll_name_lists(), known, hint));
    return NULL;
}

/* "llama_ffw_forward" is a pass of "llama_ffw". */
static int is_pass_of(const char *problem, const char *name)
{
    size_t length = strlen(name);
    return strncmp(problem, name, length) == 0 &&
           (strcmp(problem + length, "_forward") == 0 || strcmp(problem + length, "_backward") == 0);
}

int atoll_name_list_has(const struct atoll_name_list *list, const struct atoll_problem *problem)
{
    for (const char *const *name = list->names; !problem->level && name && *name; name++)
        if (is_pass_of(problem->name, *name))
            return 1;
    if (problem->level < 1 || problem->level > LEVELS)
        return 0;
    const struct numbers *level = &list->levels[problem->level - 1];
    return problem->number < 256 && level->count > 0 &&
           memchr(level->numbers, (int)problem->number, level->count) != NULL;
}

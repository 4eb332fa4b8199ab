/* Subsets of KernelBench that papers report on, by level and number (the numbers held through its versions).
 *
 * filtered: 111 problems, 80 of level 1 and 31 of level 2, that none of robust-kbench's criteria catches: derived from the
 * verdicts in its tasks/kernelbench/level_N/task_M/filter_results.json (SakanaAI/robust-kbench 078f5ba, arXiv 2509.14279); the
 * count is that of KernelFoundry, section 4.
 * representative: 20 of each level, KernelFoundry, appendix F.2, table 8. */
#include "scheduler/import/problem_list.h"

static const unsigned char filtered_1[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 16, 17, 19, 20, 21,
                                           22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 40, 41, 42,
                                           43, 44, 45, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 59,
                                           60, 61, 62, 63, 64, 65, 66, 67, 68, 70, 71, 72, 73, 74, 75, 76,
                                           77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 89, 90, 93, 95, 99, 100};
static const unsigned char filtered_2[] = {1,  3,  5,  11, 16, 17, 19, 21, 24, 30, 32, 35, 37, 45, 46, 47,
                                           50, 55, 56, 59, 61, 65, 67, 70, 73, 82, 85, 97, 98, 99, 100};
static const unsigned char representative_1[] = {20, 21, 25, 30, 33, 44, 48, 4,  53, 5,
                                                 64, 67, 72, 76, 7,  82, 86, 87, 89, 99};
static const unsigned char representative_2[] = {16, 17, 1, 21, 24, 32, 35, 37, 46, 47,
                                                 50, 59, 5, 67, 70, 73, 82, 85, 97, 99};

static int has(const unsigned char *numbers, size_t count, unsigned number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return 1;
    return 0;
}

int atoll_name_list_has(enum atoll_name_list list, unsigned level, unsigned number)
{
    if (list == ATOLL_NAMES_ALL)
        return 1;
    if (level != 1 && level != 2)
        return 0;
    if (list == ATOLL_NAMES_FILTERED)
        return level == 1 ? has(filtered_1, sizeof(filtered_1), number)
                          : has(filtered_2, sizeof(filtered_2), number);
    return level == 1 ? has(representative_1, sizeof(representative_1), number)
                      : has(representative_2, sizeof(representative_2), number);
}

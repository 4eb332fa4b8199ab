#include "archive-h5/report/query_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"

const char *atoll_query_task_name(const struct atoll_query *q, uint32_t campaign, uint32_t task)
{
    struct atoll_row_task row;
    int64_t at = atoll_query_task_row(q, campaign, task, 0);
    if (at < 0)
        return "";
    atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_TASKS, (uint64_t)at, &row);
    return atoll_tables_text(atoll_query_tables(q), row.name);
}

int64_t atoll_query_task(const struct atoll_query *q, const char *name)
{
    struct atoll_row_task row;
    char number[16];
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_TASKS); i++) {
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_TASKS, i, &row);
        snprintf(number, sizeof(number), "%u", row.task);
        if (!strcmp(atoll_tables_text(atoll_query_tables(q), row.name), name) || !strcmp(number, name))
            return (int64_t)i;
    }
    return -1;
}

int atoll_query_candidate_prefix(const struct atoll_query *q, const char *prefix, uint64_t *ret_row,
                                 struct atoll_err *err)
{
    const struct atoll_id *ids =
        atoll_tables_column_named(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES, "id");
    size_t length = strlen(prefix);
    int64_t found = -1;
    if (length < 4 || length > 64 || strspn(prefix, "0123456789abcdef") != length) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "'%.70s' is not the start of a candidate's id; give 4 to 64 of 0-9a-f", prefix);
    }
    for (uint64_t i = 0; i < atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES); i++) {
        char hex[ATOLL_ID_HEX];
        atoll_id_hex(&ids[i], hex);
        if (strncmp(hex, prefix, length) != 0)
            continue;
        if (found >= 0 && !atoll_id_equal(&ids[found], &ids[i])) {
            char first[ATOLL_ID_HEX];
            atoll_id_hex(&ids[found], first);
            return atoll_err_set(err, ATOLL_E_INPUT, "candidate %s could be %.16s or %.16s; give more digits",
                                 prefix, first, hex);
        }
        if (found < 0)
            found = (int64_t)i;
    }
    if (found < 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND,
                             "no candidate %s in this archive; atoll best lists the best ones", prefix);
    }
    *ret_row = (uint64_t)found;
    return 0;
}

static const char *task_hint(const struct atoll_query *q, const char *word,
                             char ret_hint[ATOLL_SPELLING_HINT_BYTES])
{
    size_t count = 0, task_count = (size_t)atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_TASKS);
    const char **names = calloc(task_count + 1, sizeof(*names));
    struct atoll_row_task task;
    for (; names && count < task_count; count++) {
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_TASKS, count, &task);
        names[count] = atoll_tables_text(atoll_query_tables(q), task.name);
    }
    if (task_count > 0)
        atoll_spelling_hint(word, names, count, "atoll best and atoll list print both", ret_hint);
    else /* of a campaign that was only made */
        snprintf(ret_hint, ATOLL_SPELLING_HINT_BYTES,
                 "there is no task yet, for nothing was begun: atoll resume begins");
    free(names);
    return ret_hint;
}

int64_t atoll_query_task_named(const struct atoll_query *q, const char *name, struct atoll_err *err)
{
    int64_t row = atoll_query_task(q, name);
    char hint[ATOLL_SPELLING_HINT_BYTES];
    return row < 0 ? atoll_err_set(err, ATOLL_E_NOTFOUND, "no task '%.70s' in the archive; %s", name,
                                   task_hint(q, name, hint))
                   : row;
}

int atoll_query_kernel_of_task(const struct atoll_query *q, const struct atoll_row_task *task,
                               int is_baseline, uint64_t *ret_row, struct atoll_err *err)
{
    int64_t row = atoll_query_candidate(q, task->campaign, is_baseline ? &task->baseline : &task->best);
    const char *name = atoll_tables_text(atoll_query_tables(q), task->name);
    if (row < 0) {
        return atoll_err_set(
            err, ATOLL_E_NOTFOUND,
            "task %s has no correct %s; what was tried, and how it ended: atoll list --task %s", name,
            is_baseline ? "baseline" : "kernel", name);
    }
    *ret_row = (uint64_t)row;
    return 0;
}

int atoll_query_find(const struct atoll_query *q, const char *word, uint64_t *ret_row, struct atoll_err *err)
{
    size_t length = strlen(word);
    uint64_t task_count = atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_TASKS);
    char hint[ATOLL_SPELLING_HINT_BYTES];
    struct atoll_row_task task;
    for (uint64_t i = 0; i < task_count; i++) {
        atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_TASKS, i, &task);
        const char *name = atoll_tables_text(atoll_query_tables(q), task.name), *rest;
        size_t name_length = strlen(name);
        if (strncmp(name, word, name_length) != 0)
            continue;
        rest = word + name_length;
        if (*rest && strcmp(rest, "/baseline") != 0)
            continue;
        return atoll_query_kernel_of_task(q, &task, *rest != 0, ret_row, err);
    }
    if (length >= 4 && length <= 64 && strspn(word, "0123456789abcdef") == length)
        return atoll_query_candidate_prefix(q, word, ret_row, err);
    return atoll_err_set(
        err, ATOLL_E_NOTFOUND,
        "'%.70s' is neither a task nor the start of a candidate's id (4 to 64 of 0-9a-f); %s", word,
        task_hint(q, word, hint));
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct atoll_id));
}

int atoll_query_id_digits(const struct atoll_query *q)
{
    uint64_t count = atoll_tables_count(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES);
    struct atoll_id *ids = malloc((size_t)(count + 1) * sizeof(*ids));
    size_t shared = ATOLL_QUERY_ID_DIGITS - 1;
    if (!ids)
        return ATOLL_ID_HEX - 1;
    if (count)
        memcpy(ids, atoll_tables_column_named(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES, "id"),
               (size_t)count * sizeof(*ids));
    qsort(ids, (size_t)count, sizeof(*ids), compare_ids);
    for (uint64_t i = 1; i < count; i++) {
        char one[ATOLL_ID_HEX], other[ATOLL_ID_HEX];
        size_t same = 0;
        if (atoll_id_equal(&ids[i - 1], &ids[i])) /* of two parts of a campaign, or on two device models */
            continue;
        atoll_id_hex(&ids[i - 1], one);
        atoll_id_hex(&ids[i], other);
        while (one[same] == other[same])
            same++;
        shared = same > shared ? same : shared;
    }
    free(ids);
    return (int)shared + 1;
}

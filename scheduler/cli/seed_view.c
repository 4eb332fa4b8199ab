#include "scheduler/cli/seed_view.h"

#include <stdio.h>
#include <string.h>

#include "archive-h5/table/table.h"
#include "base/yaml.h"
#include "core/ask.h"

#define NOTHING_SAID "the task has none in a language of this campaign"

void atoll_seed_view_none(const struct atoll_query *query, uint64_t task_row, char *ret_text, size_t bytes)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    struct atoll_row_candidate candidate;
    struct atoll_row_task task;
    int is_begun;

    *ret_text = '\0';
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, task_row, &task);
    is_begun = task.done;
    for (uint64_t i = 0; i < atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES); i++) {
        atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, i, &candidate);
        if (candidate.campaign != task.campaign || candidate.task != task.task)
            continue;
        if (candidate.operator_ == ATOLL_OPERATOR_SEED)
            return;
        is_begun = 1;
    }
    if (!is_begun)
        return;

    struct atoll_err ignored = ATOLL_ERR_INIT;
    const char *definition = atoll_tables_text(tables, task.definition);
    struct atoll_yaml *yaml = atoll_yaml_parse("task.yaml", definition, strlen(definition), &ignored);
    const struct atoll_yaml_node *node = yaml ? atoll_yaml_find(atoll_yaml_root(yaml), "unseeded") : NULL;
    const char *why = node ? atoll_yaml_scalar(node) : NULL;
    snprintf(ret_text, bytes, "none: %s", why ? why : NOTHING_SAID);
    atoll_yaml_destroy(yaml);
}

#include "archive-h5/report/task_words.h"

#include <stdio.h>
#include <string.h>

#include "base/yaml.h"

int atoll_task_word(const struct atoll_tables *tables, const struct atoll_row_task *task, const char *key,
                    const char *inner, char *ret_word, size_t bytes)
{
    const char *definition = atoll_tables_text(tables, task->definition);
    struct atoll_err ignored = ATOLL_ERR_INIT;
    snprintf(ret_word, bytes, "%s", "");
    if (!strstr(definition, inner ? inner : key)) /* most tasks: no need to look closer */
        return 0;
    struct atoll_yaml *yaml = atoll_yaml_parse("task.yaml", definition, strlen(definition), &ignored);
    const struct atoll_yaml_node *node = yaml ? atoll_yaml_find(atoll_yaml_root(yaml), key) : NULL;
    node = node && inner ? atoll_yaml_find(node, inner) : node;
    const char *word = node ? atoll_yaml_scalar(node) : NULL;
    if (word)
        snprintf(ret_word, bytes, "%s", word);
    atoll_yaml_destroy(yaml);
    return word != NULL;
}

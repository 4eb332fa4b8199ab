#include "scheduler/import/problem_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/yaml.h"
#include "core/task/task.h"

static int yaml_to_json(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, json_t **ret_value);

static int put_pair(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    json_t *value;
    return yaml_to_json(walk, node, &value) != 0 ? -1
                                                 : json_object_set_new(target, atoll_yaml_key(node), value);
}

static int put_item(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    json_t *value;
    return yaml_to_json(walk, node, &value) != 0 ? -1 : json_array_append_new(target, value);
}

/* Scalars stay texts. */
static int yaml_to_json(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, json_t **ret_value)
{
    const char *scalar = atoll_yaml_scalar(node);
    size_t count = atoll_yaml_count(node);
    if (scalar || count == 0) {
        *ret_value = atoll_json_text(scalar ? scalar : "");
        return *ret_value ? 0 : -1;
    }
    *ret_value = json_object();
    if (atoll_yaml_pairs(walk, node, ATOLL_YAML_KEY_LIMIT, "keys", put_pair, *ret_value) == 0)
        return 0;
    json_decref(*ret_value);
    atoll_err_clear(walk->err);
    *ret_value = json_array();
    if (atoll_yaml_list(walk, node, ATOLL_YAML_KEY_LIMIT, "items", put_item, *ret_value) == 0)
        return 0;
    json_decref(*ret_value);
    return -1;
}

/* A specification in YAML as text of JSON, which is what Python reads. */
static char *spec_text(const char *path, struct atoll_err *err)
{
    struct atoll_yaml *yaml = atoll_yaml_load(path, err);
    struct atoll_arena *arena = yaml ? atoll_arena_create((size_t)1 << 20, err) : NULL;
    struct atoll_yaml_walk walk = {.yaml = yaml, .arena = arena, .err = err};
    char *text = NULL;
    json_t *value;
    if (arena && yaml_to_json(&walk, atoll_yaml_root(yaml), &value) == 0) {
        text = json_dumps(value, 0);
        json_decref(value);
    }
    atoll_arena_destroy(arena);
    atoll_yaml_destroy(yaml);
    return text;
}

int atoll_problem_request(const char *format, const struct atoll_problem *problem, json_t **ret_request,
                          char *ret_hash, struct atoll_err *err)
{
    struct atoll_buffer all;
    json_t *files = json_object(), *names = json_object();
    int failed = 0;
    atoll_buffer_init(&all, (size_t)4 << 20);
    for (size_t i = 0; i < problem->file_count && !failed; i++) {
        const char *label = problem->files[i].label, *path = problem->files[i].path;
        size_t length;
        char *text = atoll_file_read(path, ATOLL_TASK_FILE_LIMIT, &length, err);
        json_object_set_new(names, label,
                            atoll_json_text(strrchr(path, '/') ? strrchr(path, '/') + 1 : path));
        failed = !text;
        if (text)
            atoll_buffer_put_bytes(&all, text, length);
        if (text && strcmp(label, "spec") == 0) {
            free(text);
            text = spec_text(path, err);
            failed = !text;
        }
        if (text)
            json_object_set_new(files, label, atoll_json_text(text));
        free(text);
    }
    if (!failed)
        failed = atoll_buffer_check(&all, err);
    struct atoll_id id = atoll_id_of(all.data, all.length);
    atoll_id_hex(&id, ret_hash);
    atoll_buffer_fini(&all);
    *ret_request =
        failed ? NULL
               : json_pack("{s:s, s:s, s:s, s:i, s:b, s:O, s:O}", "op", "inspect", "format", format, "title",
                           strrchr(problem->name, '/') ? strrchr(problem->name, '/') + 1 : problem->name,
                           "level", (int)problem->level, "backward", problem->is_backward, "files", files,
                           "names", names);
    json_decref(files);
    json_decref(names);
    if (!failed && !*ret_request)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the problem %s", problem->name);
    return failed ? -1 : 0;
}

/* suite_writer.c - task.yaml is YAML made of JSON, line by line; the folder is written beside the suite's others under a hidden
 * name, loaded as any task is, and renamed. */
#include "scheduler/import/suite_writer.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/utf8.h"
#include "core/task/task.h"

#define HIDDEN         ".import-"
#define UNSEEDED_BYTES 301 /* of its reason */
#define TEXT_FLAGS     (JSON_ENSURE_ASCII | JSON_ENCODE_ANY)

static const char *const seed_names[] = {"naive.cu", "naive.c"};
#define SEED_COUNT (sizeof(seed_names) / sizeof(*seed_names))

/* ---- task.yaml ---- */

static void put_value(struct atoll_buffer *out, const json_t *value)
{
    char *text = json_dumps(value, TEXT_FLAGS);
    if (!text)
        out->failed = out->failed ? out->failed : ATOLL_E_MEMORY;
    else
        atoll_buffer_put_bytes(out, text, strlen(text));
    free(text);
}

static void put_key(struct atoll_buffer *out, const char *key, const json_t *value)
{
    if (!value || (json_is_array(value) && json_array_size(value) == 0) ||
        (json_is_string(value) && json_string_length(value) == 0))
        return;
    atoll_buffer_printf(out, "%s: ", key);
    put_value(out, value);
    atoll_buffer_put_bytes(out, "\n", 1);
}

static void put_text(struct atoll_buffer *out, const char *key, const char *text)
{
    json_t *value = json_string(text);
    put_key(out, key, value);
    json_decref(value);
}

static void put_unseeded(struct atoll_buffer *out, const char *why)
{
    char text[UNSEEDED_BYTES];
    size_t length = strlen(why);
    if (length >= sizeof(text))
        length = atoll_utf8_cut(why, sizeof(text) - 1);
    atoll_utf8_line(text, sizeof(text), why, length);
    put_text(out, "unseeded", text);
}

static void put_variants(struct atoll_buffer *out, const json_t *variants)
{
    const json_t *variant;
    size_t i;
    atoll_buffer_printf(out, "variants:\n");
    json_array_foreach(variants, i, variant)
    {
        const char *name = json_string_value(json_object_get(variant, "name"));
        atoll_buffer_printf(out, "  ");
        put_key(out,
                name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.") == strlen(name) ? name
                                                                                               : "unnamed",
                json_object_get(variant, "dims"));
    }
}

static void put_tensors(struct atoll_buffer *out, const json_t *tensors)
{
    const json_t *tensor;
    size_t i;
    atoll_buffer_printf(out, "tensors:\n");
    json_array_foreach(tensors, i, tensor)
    {
        atoll_buffer_printf(out, "  - ");
        put_value(out, tensor);
        atoll_buffer_put_bytes(out, "\n", 1);
    }
}

static void put_baselines(struct atoll_buffer *out, const json_t *seeds)
{
    size_t count = 0;
    for (size_t i = 0; i < SEED_COUNT; i++)
        if (json_is_string(json_object_get(seeds, seed_names[i])))
            atoll_buffer_printf(out, "%s{name: naive, file: seeds/%s}", count++ ? ", " : "baselines: [",
                                seed_names[i]);
    if (count > 0)
        atoll_buffer_printf(out, "]\n");
}

static void put_origin(struct atoll_buffer *out, const struct atoll_suite_task *of)
{
    json_t *origin =
        json_pack("{s:s, s:s, s:s}", "suite", of->origin, "problem", of->problem->name, "hash", of->hash);
    put_key(out, "source", origin);
    json_decref(origin);
}

static void put_task(struct atoll_buffer *out, const struct atoll_suite_task *of, const json_t *task,
                     const json_t *seeds)
{
    static const char *const lines[] = {"reference", "work", "precisions", "tolerance", "distributions"};
    atoll_buffer_printf(out, "# Written by `atoll task import`.\nversion: 1\nname: %s\n", of->problem->task);
    put_key(out, "summary", json_object_get(task, "summary"));
    put_key(out, "category", json_object_get(task, "category"));
    if (of->problem->level > 0)
        atoll_buffer_printf(out, "level: %u\n", of->problem->level);
    put_key(out, "tags", json_object_get(task, "tags"));
    put_origin(out, of);
    put_key(out, "dims", json_object_get(task, "dims"));
    put_tensors(out, json_object_get(task, "tensors"));
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        put_key(out, lines[i], json_object_get(task, lines[i]));
    put_variants(out, json_object_get(task, "variants"));
    put_baselines(out, seeds);
    put_text(out, "instructions", json_string_value(json_object_get(task, "instructions")));
    put_unseeded(out, of->no_seed);
}

/* ---- its folder ---- */

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"task.yaml", "problem.py", "seeds/naive.cu", "seeds/naive.c"};
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/seeds", folder);
    rmdir(path);
    rmdir(folder);
}

void atoll_suite_sweep(const char *suite)
{
    DIR *dir = opendir(suite);
    char path[PATH_MAX];
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, HIDDEN, strlen(HIDDEN)) == 0 &&
            snprintf(path, sizeof(path), "%s/%s", suite, entry->d_name) < (int)sizeof(path))
            remove_folder(path);
    closedir(dir);
}

static int write_text(const char *folder, const char *name, const void *text, size_t length,
                      struct atoll_err *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: the path is too long", folder);
    return atoll_file_write(atoll_file_ops_real(), path, text, length, err);
}

static int write_seeds(const char *folder, const json_t *seeds, struct atoll_err *err)
{
    char path[PATH_MAX + 8];
    for (size_t i = 0; i < SEED_COUNT; i++) {
        const json_t *seed = json_object_get(seeds, seed_names[i]);
        if (!json_is_string(seed))
            continue;
        snprintf(path, sizeof(path), "%s/seeds", folder);
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return atoll_err_errno(err, errno, "cannot make %s", path);
        if (write_text(path, seed_names[i], json_string_value(seed), json_string_length(seed), err) != 0)
            return -1;
    }
    return 0;
}

/* All files into a folder that is not there yet, then what loading it says. */
static int fill_folder(const char *folder, const struct atoll_suite_task *of, const json_t *answer,
                       const json_t *seeds, struct atoll_err *err)
{
    const json_t *source = json_object_get(answer, "source"), *task = json_object_get(answer, "task");
    struct atoll_buffer yaml;
    int failed;
    if (!json_is_string(source) || !json_is_object(task))
        return atoll_err_set(err, ATOLL_E_PROTOCOL, "the inspection of %s answered no task",
                             of->problem->name);
    if (mkdir(folder, 0755) != 0)
        return atoll_err_errno(err, errno, "cannot make %s", folder);
    atoll_buffer_init(&yaml, ATOLL_TASK_FILE_LIMIT);
    put_task(&yaml, of, task, seeds);
    failed =
        atoll_buffer_check(&yaml, err) != 0 ||
        write_text(folder, "task.yaml", yaml.data, yaml.length, err) != 0 ||
        write_text(folder, "problem.py", json_string_value(source), json_string_length(source), err) != 0 ||
        write_seeds(folder, seeds, err) != 0;
    atoll_buffer_fini(&yaml);
    if (failed)
        return -1;
    struct atoll_task *loaded = atoll_task_load(folder, err);
    atoll_task_destroy(loaded);
    return loaded ? 0 : -1;
}

int atoll_suite_write_task(const struct atoll_suite_task *of, const json_t *answer, int *ret_seeded,
                           struct atoll_err *err)
{
    char folder[PATH_MAX], place[PATH_MAX];
    const json_t *seeds = json_object_get(answer, "seeds");
    if (snprintf(folder, sizeof(folder), "%s/" HIDDEN "%s", of->suite, of->problem->task) >=
        (int)sizeof(folder))
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: the path is too long", of->suite);
    snprintf(place, sizeof(place), "%s/%s", of->suite, of->problem->task);
    remove_folder(folder);
    if (fill_folder(folder, of, answer, seeds, err) != 0) {
        remove_folder(folder);
        return -1;
    }
    remove_folder(
        place); /* of another text of the problem: files of ours alone, so that what is not ours makes the next step fail */
    if (rename(folder, place) != 0) {
        atoll_err_errno(err, errno, "cannot put %s in its place; remove what is there", place);
        remove_folder(folder);
        return -1;
    }
    *ret_seeded = json_is_string(json_object_get(seeds, seed_names[0]));
    return atoll_file_sync_directory(atoll_file_ops_real(), of->suite, err);
}

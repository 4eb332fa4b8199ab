/* task_import.c - `atoll task import`: a public benchmark's problems as a suite of tasks.  Each problem is looked at by a process
 * of its own, in a sandbox; SUITE/import.json says what came of it and is replaced after each, so that a killed import goes on
 * where it was. */
#include "scheduler/cli/command.h"

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/print.h"
#include "base/yaml.h"
#include "core/task/task.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/process.h"
#include "scheduler/import/problem_list.h"
#include "scheduler/import/suite_writer.h"

#define RECORD       "import.json"
#define RECORD_BYTES ((size_t)16 << 20)
#define VALUE_LIMIT  2000000
#define REASON_BYTES 1000

struct import_settings {
    const char *levels, *suite, *python, *gpu, *names;
    double deadline_s;
    unsigned long long memory_bytes;
    int is_filtered, is_representative, is_all, is_json;
};

#define FIELD(name) offsetof(struct import_settings, name)

static const struct atoll_option import_options[] = {
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(suite), "SUITE", NULL, 0, 0, NULL,
     "The suite's folder; it is made, and an import that is there already is continued. Needed."},
    {"level", 0, ATOLL_OPT_TEXT, FIELD(levels), "N,...", NULL, 0, 0, NULL,
     "Levels of KernelBench; 1,2,3 without it. Of robust-kbench: its copies of these levels instead of its "
     "own tasks."},
    {"filtered", 0, ATOLL_OPT_FLAG, FIELD(is_filtered), NULL, NULL, 0, 0, NULL,
     "Only the 111 problems of KernelBench that pass all of robust-kbench's filters."},
    {"representative", 0, ATOLL_OPT_FLAG, FIELD(is_representative), NULL, NULL, 0, 0, NULL,
     "Only the 20 of level 1 and 20 of level 2 that KernelFoundry reports on."},
    {"names", 0, ATOLL_OPT_TEXT, FIELD(names), "FILE", NULL, 0, 0, NULL,
     "Only the problems named in this file, one a line, as the import prints them (level1/19_ReLU) or by "
     "their task's name."},
    {"all", 0, ATOLL_OPT_FLAG, FIELD(is_all), NULL, NULL, 0, 0, NULL,
     "Degenerate problems as well: those that an answer passes which does not do the work."},
    {"python", 0, ATOLL_OPT_TEXT, FIELD(python), "FILE", "auto", 0, 0, NULL,
     "A Python with torch; auto: ATOLL_PYTHON, else python3."},
    {"gpu", 0, ATOLL_OPT_TEXT, FIELD(gpu), "ID", NULL, 0, 0, NULL,
     "A GPU (its number or UUID): numbers are taken there, and at the benchmark's own shapes as well. "
     "Without it the host looks "
     "at scaled shapes."},
    {"deadline", 0, ATOLL_OPT_DURATION, FIELD(deadline_s), "TIME", "10min", 1, 86400, NULL,
     "For each problem."},
    {"memory", 0, ATOLL_OPT_BYTES, FIELD(memory_bytes), "SIZE", "0", 0, 0, NULL,
     "That a problem may have on the host; 0: half of the machine's."},
    {"json", 0, ATOLL_OPT_FLAG, FIELD(is_json), NULL, NULL, 0, 0, NULL,
     "One JSON object a problem, and one with the counts at the end."},
    {0}};

static const struct atoll_command import_command = {
    "task import",
    "FORMAT PATH -o SUITE",
    "make a suite of a public benchmark's problems",
    "Reads the problems in a checkout of a benchmark and writes a task for each that can be one. FORMAT: "
    "kernelbench (also any file "
    "or folder of modules of that form), robust-kbench, ai-bench, sol-execbench, flashinfer.\n\n"
    "The suite holds the problem's text, and a hash of it. PyTorch (--python) is asked in a sandbox for "
    "shapes, initial values and "
    "operations; check and hidden variants are smaller shapes at which the problem was run, the tolerance is "
    "four times the error of "
    "PyTorch's own answer against double precision, and at least the benchmark's. Where a plain CUDA kernel "
    "can be written, it is the "
    "task's first seed.\n\n"
    "Told apart: problems read, checked against double precision, expressible as a task, with a seed, "
    "degenerate, failed. SUITE/" RECORD " says of each why. What is there already is not looked at again, "
    "unless its text changed or it failed. Exit status 1 when a "
    "problem failed.",
    "atoll task import kernelbench ~/KernelBench --level 1,2 -o kernelbench\natoll task import kernelbench "
    "my_module.py -o mine\n"
    "atoll task check kernelbench",
    import_options,
    NULL};

struct import {
    const struct import_settings *settings;
    struct atoll_problem_list list;
    char python[PATH_MAX];
    json_t *record, *problems; /* the whole file, and its member */
    json_t *wanted;            /* names of --names; NULL: all */
};

/* ---- which problems ---- */

static int read_levels(const char *text, unsigned *ret_levels, struct atoll_err *err)
{
    unsigned levels = 0;
    for (const char *at = text; at && *at;) {
        char *end;
        long level = strtol(at, &end, 10);
        if (end == at || level < 1 || level > 9 || (*end && *end != ','))
            return atoll_err_set(err, ATOLL_E_USAGE,
                                 "atoll task import: --level %s: levels are 1 to 9, like 1,2,3", text);
        levels |= 1u << level;
        at = *end ? end + 1 : end;
    }
    *ret_levels = levels;
    return 0;
}

static int read_names(struct import *import, const char *path, struct atoll_err *err)
{
    size_t length;
    char *text = atoll_file_read(path, RECORD_BYTES, &length, err), *rest = text;
    if (!text)
        return -1;
    import->wanted = json_object();
    for (char *line; (line = strsep(&rest, "\n"));) {
        size_t end = strcspn(line, "#\r");
        while (end > 0 && isspace((unsigned char)line[end - 1]))
            end--;
        line[end] = '\0';
        if (*line)
            json_object_set_new(import->wanted, line, json_false());
    }
    free(text);
    return 0;
}

static int is_wanted(struct import *import, const struct atoll_problem *problem)
{
    const struct import_settings *s = import->settings;
    if (s->is_filtered && !atoll_name_list_has(ATOLL_NAMES_FILTERED, problem->level, problem->number))
        return 0;
    if (s->is_representative &&
        !atoll_name_list_has(ATOLL_NAMES_REPRESENTATIVE, problem->level, problem->number))
        return 0;
    if (!import->wanted)
        return 1;
    const char *name = json_object_get(import->wanted, problem->name) ? problem->name : problem->task;
    if (!json_object_get(import->wanted, name))
        return 0;
    json_object_set_new(import->wanted, name, json_true());
    return 1;
}

static int check_names(const struct import *import, struct atoll_err *err)
{
    const char *name;
    json_t *found;
    json_object_foreach(import->wanted, name, found)
    {
        if (!json_is_true(found))
            return atoll_err_set(err, ATOLL_E_NOTFOUND, "%s: there is no problem '%s' in %s",
                                 import->settings->names, name, import->list.path);
    }
    return 0;
}

/* ---- the record ---- */

static int load_record(struct import *import, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct stat status;
    size_t length;
    snprintf(path, sizeof(path), "%s/" RECORD, import->settings->suite);
    if (stat(path, &status) != 0) {
        import->record =
            json_pack("{s:i, s:s, s:{}}", "version", 1, "format", import->list.format, "problems");
    } else {
        char *text = atoll_file_read(path, RECORD_BYTES, &length, err);
        if (!text)
            return -1;
        import->record = atoll_json_load(text, length, VALUE_LIMIT, 0, err);
        free(text);
        if (!import->record)
            return atoll_err_add(err, "; while reading %s: remove it, and all problems are looked at again",
                                 path);
    }
    import->problems = json_object_get(import->record, "problems");
    const char *format = json_string_value(json_object_get(import->record, "format"));
    if (!json_is_object(import->problems) || !format || strcmp(format, import->list.format) != 0)
        return atoll_err_set(err, ATOLL_E_EXISTS, "%s is of an import of %s; name another suite", path,
                             format ? format : "something else");
    return 0;
}

static int save_record(const struct import *import, struct atoll_err *err)
{
    char path[PATH_MAX], *text = json_dumps(import->record, JSON_INDENT(1));
    int failed;
    if (!text)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the record of the import");
    snprintf(path, sizeof(path), "%s/" RECORD, import->settings->suite);
    failed = atoll_file_replace(NULL, path, text, strlen(text), err);
    free(text);
    return failed;
}

static const char *status_of(const json_t *entry)
{
    return atoll_json_member(entry, "status");
}

/* Whether what is known of a problem still holds. */
static int is_known(const struct import *import, const json_t *entry, const struct atoll_problem *problem,
                    const char *hash)
{
    char path[PATH_MAX];
    if (!entry || strcmp(atoll_json_member(entry, "hash"), hash) != 0 ||
        strcmp(status_of(entry), "failed") == 0)
        return 0;
    if (strcmp(status_of(entry), "degenerate") == 0)
        return !import->settings->is_all;
    if (strcmp(status_of(entry), "imported") != 0)
        return 1;
    snprintf(path, sizeof(path), "%s/%s/task.yaml", import->settings->suite, problem->task);
    return access(path, F_OK) == 0;
}

/* ---- one problem ---- */

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

/* The request, and the hash of all texts of the problem; -1: they cannot be read. */
static int read_problem(const struct import *import, const struct atoll_problem *problem,
                        json_t **ret_request, char *ret_hash, struct atoll_err *err)
{
    struct atoll_buffer all;
    json_t *files = json_object();
    int failed = 0;
    atoll_buffer_init(&all, (size_t)4 << 20);
    for (size_t i = 0; i < problem->file_count && !failed; i++) {
        const char *label = problem->files[i].label;
        size_t length;
        char *text = atoll_file_read(problem->files[i].path, ATOLL_TASK_FILE_LIMIT, &length, err);
        failed = !text;
        if (text)
            atoll_buffer_put_bytes(&all, text, length);
        if (text && strcmp(label, "spec") == 0) {
            free(text);
            text = spec_text(problem->files[i].path, err);
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
               : json_pack("{s:s, s:s, s:s, s:i, s:b, s:O}", "op", "inspect", "format", import->list.format,
                           "title",
                           strrchr(problem->name, '/') ? strrchr(problem->name, '/') + 1 : problem->name,
                           "level", (int)problem->level, "backward", problem->is_backward, "files", files);
    json_decref(files);
    if (!failed && !*ret_request)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the problem %s", problem->name);
    return failed ? -1 : 0;
}

/* Asks one process about one problem; takes the request.  NULL with err: nothing is known of it. */
static json_t *ask(const struct import *import, json_t *request, struct atoll_err *err)
{
    const struct import_settings *s = import->settings;
    const struct atoll_torch_settings settings = {
        .python = import->python, .role = "inspect", .gpu = s->gpu, .memory_bytes = s->memory_bytes};
    struct atoll_torch *torch = atoll_torch_start(&settings, err);
    json_t *answer = NULL;
    if (!torch)
        json_decref(request);
    else if (atoll_torch_call(torch, request, -1, s->deadline_s * 1e9, &answer, err) != 0)
        answer = NULL;
    atoll_torch_stop(torch);
    return answer;
}

static int has_reached(const json_t *answer, const char *stage)
{
    const json_t *item;
    size_t i;
    json_array_foreach(json_object_get(answer, "reached"), i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), stage) == 0)
            return 1;
    }
    return 0;
}

/* Flaws that make a task worthless; a wasteful baseline alone is told, as the comparison stays fair (KernelFoundry, appendix D). */
static int is_degenerate(const json_t *answer, char *ret_reason, size_t bytes)
{
    const json_t *flaw;
    size_t i, count = 0;
    ret_reason[0] = '\0';
    json_array_foreach(json_object_get(answer, "flaws"), i, flaw)
    {
        size_t used = strlen(ret_reason);
        if (strcmp(atoll_json_member(flaw, "criterion"), "baseline") != 0)
            snprintf(ret_reason + used, bytes - used, "%s%s", count++ ? "; " : "",
                     atoll_json_member(flaw, "reason"));
    }
    return count > 0;
}

/* What came of an answer: a task's folder, or a reason why there is none. */
static json_t *settle(const struct import *import, const struct atoll_problem *problem, const char *hash,
                      const json_t *answer, struct atoll_err *err)
{
    static const char *const kept[] = {"flaws",     "public",  "notes",    "worst_error",
                                       "precision", "no_seed", "operators"};
    const char *status = "imported", *refused = json_string_value(json_object_get(answer, "refused"));
    char reason[REASON_BYTES];
    int seeded = 0, degenerate = is_degenerate(answer, reason, sizeof(reason));
    if (refused) {
        const char *kind = atoll_json_member(answer, "kind");
        status = strcmp(kind, "unsupported") == 0 ? "unsupported" : "failed";
        snprintf(reason, sizeof(reason), "%s", refused);
    } else if (degenerate && !import->settings->is_all) {
        status = "degenerate";
    } else {
        const struct atoll_suite_task task = {import->settings->suite, import->list.format, hash, problem};
        struct atoll_err why = ATOLL_ERR_INIT;
        if (atoll_suite_write_task(&task, answer, &seeded, &why) != 0) {
            if (why.code != ATOLL_E_INPUT && why.code != ATOLL_E_PROTOCOL) {
                atoll_err_set(err, why.code, "%s", why.text);
                return NULL;
            }
            status = "unsupported";
            snprintf(reason, sizeof(reason), "%s", why.text);
        }
    }
    json_t *entry =
        json_pack("{s:s, s:s, s:s, s:o, s:b, s:b, s:b, s:b, s:b}", "task", problem->task, "hash", hash,
                  "status", status, "reason", atoll_json_text(reason), "read", has_reached(answer, "read"),
                  "checked", has_reached(answer, "checked"), "expressible",
                  has_reached(answer, "expressible") && strcmp(status, "unsupported") != 0, "seeded",
                  seeded || json_is_string(json_object_get(json_object_get(answer, "seeds"), "naive.cu")),
                  "degenerate", degenerate);
    for (size_t i = 0; entry && i < sizeof(kept) / sizeof(*kept); i++)
        if (json_object_get(answer, kept[i]))
            json_object_set(entry, kept[i], json_object_get(answer, kept[i]));
    return entry;
}

static json_t *failed_entry(const struct atoll_problem *problem, const char *hash, const char *reason)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:b, s:b, s:b, s:b, s:b}", "task", problem->task, "hash", hash,
                     "status", "failed", "reason", atoll_json_text(reason), "read", 0, "checked", 0,
                     "expressible", 0, "seeded", 0, "degenerate", 0);
}

/* Errors that the next problem would meet, too. */
static int is_ours(enum atoll_code code)
{
    return code == ATOLL_E_MISSING || code == ATOLL_E_MEMORY || code == ATOLL_E_FULL ||
           code == ATOLL_E_DENIED || code == ATOLL_E_IO;
}

static void print_entry(const struct import *import, const struct atoll_problem *problem, json_t *entry,
                        double seconds)
{
    if (import->settings->is_json) {
        json_t *row = json_object();
        json_object_update(row, entry);
        json_object_set_new(row, "problem", atoll_json_text(problem->name));
        json_object_set_new(row, "seconds", json_real(seconds));
        atoll_json_print(row, JSON_COMPACT, stdout);
    } else {
        const char *reason = atoll_json_member(entry, "reason");
        atoll_print(stdout, "%-11s %s%s%s%s\n", status_of(entry), problem->name, *reason ? ": " : "", reason,
                    seconds < 0 ? "  (as before)" : "");
    }
    fflush(stdout);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int import_problem(struct import *import, const struct atoll_problem *problem, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    char hash[ATOLL_ID_HEX] = "";
    json_t *request, *answer = NULL, *entry;
    double begin = now_s();
    int unread = read_problem(import, problem, &request, hash, &why);
    json_t *known = json_object_get(import->problems, problem->name);
    if (!unread && is_known(import, known, problem, hash)) {
        json_decref(request);
        print_entry(import, problem, known, -1);
        return 0;
    }
    if (!unread)
        answer = ask(import, request, &why);
    if (!answer && !unread && is_ours(why.code))
        return atoll_err_set(err, why.code, "%s", why.text);
    entry = answer ? settle(import, problem, hash, answer, err) : failed_entry(problem, hash, why.text);
    json_decref(answer);
    if (!entry)
        return -1;
    json_object_set_new(import->problems, problem->name, entry);
    if (save_record(import, err) != 0)
        return -1;
    print_entry(import, problem, entry, now_s() - begin);
    return 0;
}

/* ---- all of them ---- */

struct counts {
    unsigned listed, read, checked, expressible, seeded, degenerate, imported, failed;
};

static void count(struct counts *counts, const json_t *entry)
{
    counts->listed++;
    counts->read += (unsigned)json_is_true(json_object_get(entry, "read"));
    counts->checked += (unsigned)json_is_true(json_object_get(entry, "checked"));
    counts->expressible += (unsigned)json_is_true(json_object_get(entry, "expressible"));
    counts->seeded += (unsigned)json_is_true(json_object_get(entry, "seeded"));
    counts->degenerate += (unsigned)json_is_true(json_object_get(entry, "degenerate"));
    counts->imported += strcmp(status_of(entry), "imported") == 0;
    counts->failed += strcmp(status_of(entry), "failed") == 0;
}

static void print_counts(const struct import *import, const struct counts *c)
{
    if (import->settings->is_json) {
        atoll_json_print(json_pack("{s:{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}}", "counts", "problems",
                                   c->listed, "read", c->read, "checked", c->checked, "expressible",
                                   c->expressible, "seeded", c->seeded, "degenerate", c->degenerate,
                                   "imported", c->imported, "failed", c->failed),
                         JSON_COMPACT, stdout);
        return;
    }
    printf(
        "%u problems: %u read, %u checked, %u expressible, %u seeded; %u degenerate%s, %u failed; %u tasks\n",
        c->listed, c->read, c->checked, c->expressible, c->seeded, c->degenerate,
        c->degenerate && !import->settings->is_all ? " (left out)" : "", c->failed, c->imported);
    if (c->imported > 0)
        atoll_print(stdout, "next: atoll task check %s\n", import->settings->suite);
}

static int find_python(struct import *import, struct atoll_err *err)
{
    int found = atoll_torch_find(import->settings->python, import->python, sizeof(import->python), err);
    return found == 1
               ? atoll_err_set(
                     err, ATOLL_E_MISSING,
                     "an import needs a Python with torch, and there is none; name one with --python or in "
                     "ATOLL_PYTHON")
               : found;
}

static int import_all(struct import *import, struct counts *counts, struct atoll_err *err)
{
    for (size_t i = 0; i < import->list.count; i++) {
        const struct atoll_problem *problem = &import->list.problems[i];
        if (!is_wanted(import, problem))
            continue;
        if (import_problem(import, problem, err) != 0)
            return -1;
        count(counts, json_object_get(import->problems, problem->name));
    }
    return check_names(import, err);
}

static int run_import(void *given, const char *const *arguments, size_t argument_count, struct atoll_err *err)
{
    const struct import_settings *settings = given;
    struct import import = {.settings = settings, .list = {.format = arguments[0], .path = arguments[1]}};
    struct counts counts = {0};
    char lock[PATH_MAX];
    int fd = -1, status;
    if (!settings->suite)
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll task import: name the suite to make with -o, for example -o my-suite");
    if (read_levels(settings->levels, &import.list.levels, err) != 0)
        return -1;
    snprintf(lock, sizeof(lock), "%s/.import.lock", settings->suite);
    status = atoll_problem_list_collect(&import.list, err) != 0 ||
             (settings->names && read_names(&import, settings->names, err) != 0) ||
             find_python(&import, err) != 0 || atoll_folder_make(settings->suite, err) != 0 ||
             atoll_lock_take(lock, &fd, err) != 0;
    if (!status) {
        atoll_suite_sweep(settings->suite);
        status = load_record(&import, err) != 0 || import_all(&import, &counts, err) != 0;
    }
    if (!status)
        print_counts(&import, &counts);
    atoll_lock_release(fd);
    json_decref(import.record);
    json_decref(import.wanted);
    atoll_problem_list_fini(&import.list);
    return status ? -1 : counts.failed > 0;
}

const struct atoll_subcommand atoll_command_task_import = {
    .command = &import_command,
    .settings_bytes = sizeof(struct import_settings),
    .least = 2,
    .most = 2,
    .missing = "name a format and the folder of its checkout, for example kernelbench ~/KernelBench",
    .run = run_import};

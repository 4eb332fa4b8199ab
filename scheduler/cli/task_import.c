/* task_import.c - `atoll task import`: a public benchmark's problems as a suite of tasks.  Each problem is looked at by a process
 * of its own, in a sandbox; SUITE/import.json says what came of it and is replaced after each, so that a killed import goes on
 * where it was.
 *
 * Jobs are threads, and a torch process dies with the thread that started it.  A job holds the lock of the import in all that it
 * does but waiting for its process: everything here but ask() runs alone. */
#include "scheduler/cli/command.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/print.h"
#include "base/utf8.h"
#include "mpi-eval/torch/interpreter.h"
#include "mpi-eval/torch/process.h"
#include "scheduler/cli/local_run.h"
#include "scheduler/import/import_counts.h"
#include "scheduler/import/problem_list.h"
#include "scheduler/import/problem_request.h"
#include "scheduler/import/suite_writer.h"

#define RECORD       "import.json"
#define RECORD_BYTES ((size_t)16 << 20)
#define VALUE_LIMIT  2000000
#define REASON_BYTES 1000
#define JOB_LIMIT    64
#define LIST_LIMIT   3
#define USUAL_JOBS   8                             /* at most, where nobody asks for more */
#define USUAL_MEMORY ((unsigned long long)8 << 30) /* that each of them has at least */
#define ERASE        "\r\033[K"
#define LINE_COLUMNS 79 /* of a terminal: behind the last one some begin a new line */

struct import_settings {
    const char *levels, *suite, *python, *gpu, *names, *list;
    double deadline_s;
    unsigned long long memory_bytes;
    long long jobs;
    int is_filtered, is_representative, is_all, is_json;
};

#define FIELD(name) offsetof(struct import_settings, name)

static const struct atoll_option import_options[] = {
    {"output", 'o', ATOLL_OPT_TEXT, FIELD(suite), "SUITE", NULL, 0, 0, NULL,
     "The suite's folder; it is made, and an import that is there already is continued. Needed."},
    {"level", 0, ATOLL_OPT_TEXT, FIELD(levels), "N,...", NULL, 0, 0, NULL,
     "Levels of KernelBench; 1,2,3 without it. Of robust-kbench: its copies of these levels instead of its "
     "own tasks."},
    {"list", 0, ATOLL_OPT_TEXT, FIELD(list), "NAME", NULL, 0, 0, NULL,
     "Only the problems of a list that papers report on: metr (METR's filtered KernelBench, levels 1 to 3), "
     "robust-kbench (the 111 of KernelBench that pass all of its filters), robust-tasks (its own tasks), "
     "kernelfoundry (20 of level 1 and 20 of level 2)."},
    {"filtered", 0, ATOLL_OPT_FLAG, FIELD(is_filtered), NULL, NULL, 0, 0, NULL,
     "The same as --list robust-kbench."},
    {"representative", 0, ATOLL_OPT_FLAG, FIELD(is_representative), NULL, NULL, 0, 0, NULL,
     "The same as --list kernelfoundry."},
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
    {"jobs", 'j', ATOLL_OPT_INT, FIELD(jobs), "N", "0", 0, JOB_LIMIT, NULL,
     "Problems looked at side by side; 0: half as many as there are cores, at most 8, and each with 8 GiB of "
     "memory or more. On a GPU one at a time computes, and the others meanwhile find shapes, draw and "
     "compare on the host; what each keeps on the GPU is its context and its weights."},
    {"memory", 0, ATOLL_OPT_BYTES, FIELD(memory_bytes), "SIZE", "0", 0, 0, NULL,
     "That a problem may have on the host; 0: its share of the machine's, at most half. That of all jobs "
     "must not be more than the machine has."},
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

/* A problem that is wanted. */
struct step {
    const struct atoll_problem *problem;
    double seconds; /* below 0: it was known */
    int is_done;
};

struct import {
    const struct import_settings *settings;
    struct atoll_problem_list list;
    char python[PATH_MAX];
    json_t *record, *problems; /* the whole file, and its member */
    json_t *wanted;            /* names of --names; NULL: all */
    const struct atoll_name_list *name_lists[LIST_LIMIT];
    size_t name_list_count;
    int is_watched;                     /* somebody reads along: the lines are as wide as a terminal */
    const struct atoll_problem *latest; /* that was begun */
    unsigned jobs;
    unsigned long long memory_bytes; /* of each */
    int turns;                       /* a file whose lock is the GPU's; -1: nobody shares it */
    struct step *steps;              /* in the list's order */
    size_t step_count, next, printed;
    pthread_mutex_t lock;
    atomic_int stopped; /* by the first error */
    struct atoll_err err;
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
    for (size_t i = 0; i < import->name_list_count; i++)
        if (!atoll_name_list_has(import->name_lists[i], problem))
            return 0;
    if (!import->wanted)
        return 1;
    const char *name = json_object_get(import->wanted, problem->name) ? problem->name : problem->task;
    if (!json_object_get(import->wanted, name))
        return 0;
    json_object_set_new(import->wanted, name, json_true());
    return 1;
}

/* Several lists: what is in all of them. */
static int find_lists(struct import *import, struct atoll_err *err)
{
    const struct import_settings *s = import->settings;
    const char *const names[LIST_LIMIT] = {s->list, s->is_filtered ? "robust-kbench" : NULL,
                                           s->is_representative ? "kernelfoundry" : NULL};
    for (size_t i = 0; i < LIST_LIMIT; i++) {
        const struct atoll_name_list *list = names[i] ? atoll_name_list_find(names[i], err) : NULL;
        if (names[i] && !list)
            return -1;
        if (list)
            import->name_lists[import->name_list_count++] = list;
    }
    return 0;
}

static int check_names(const struct import *import, struct atoll_err *err)
{
    if (import->step_count == 0 && import->name_list_count > 0)
        return atoll_err_set(err, ATOLL_E_NOTFOUND,
                             "%s: no problem of %s there is in the list that is asked for", import->list.path,
                             import->list.format);
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
            return atoll_err_add(err, "while reading %s: remove it, and all problems are looked at again",
                                 path);
    }
    import->problems = json_object_get(import->record, "problems");
    const char *format = json_string_value(json_object_get(import->record, "format"));
    if (!json_is_object(import->problems) || !format || strcmp(format, import->list.format) != 0)
        return atoll_err_set(err, ATOLL_E_EXISTS, "%s is of an import of %s; name another suite", path,
                             format ? format : "something else");
    return 0;
}

/* The problems in the list's order, whichever came first; those of other lists keep theirs, in front. */
static void sort_record(struct import *import)
{
    for (size_t i = 0; i < import->list.count; i++) {
        const char *name = import->list.problems[i].name;
        json_t *entry = json_incref(json_object_get(import->problems, name));
        if (!entry)
            continue;
        json_object_del(import->problems, name);
        json_object_set_new(import->problems, name, entry);
    }
}

static int save_record(struct import *import, struct atoll_err *err)
{
    char path[PATH_MAX], *text;
    int failed;
    sort_record(import);
    text = json_dumps(import->record, JSON_INDENT(1));
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

/* Whether what is known of a problem still holds: a GPU may do what the host could not, and judges at the benchmark's own shape. */
static int is_known(const struct import *import, const json_t *entry, const struct atoll_problem *problem,
                    const char *hash)
{
    char path[PATH_MAX];
    if (!entry || strcmp(atoll_json_member(entry, "hash"), hash) != 0 ||
        strcmp(status_of(entry), "failed") == 0)
        return 0;
    if (strcmp(status_of(entry), "imported") != 0 && import->settings->gpu &&
        !json_is_true(json_object_get(entry, "gpu")))
        return 0;
    if (strcmp(status_of(entry), "degenerate") == 0)
        return !import->settings->is_all;
    if (strcmp(status_of(entry), "imported") != 0)
        return 1;
    snprintf(path, sizeof(path), "%s/%s/task.yaml", import->settings->suite, problem->task);
    return access(path, F_OK) == 0;
}

/* ---- one problem ---- */

/* One of those that look at problems side by side. */
struct job {
    struct import *import;
    struct atoll_torch *server; /* NULL: not started, or goes_without */
    int goes_without;           /* it cannot be: each process imports torch anew */
};

static struct atoll_torch *fork_one(struct job *job, const struct atoll_torch_settings *settings)
{
    struct atoll_torch_settings own = *settings;
    struct atoll_torch *torch = NULL;
    struct atoll_err why = ATOLL_ERR_INIT;
    own.role = ATOLL_TORCH_FORK_SERVER;
    if (!job->goes_without && !job->server)
        job->server = atoll_torch_start(&own, &why);
    if (job->server)
        torch = atoll_torch_fork(job->server, settings, &why);
    if (torch || job->goes_without)
        return torch;
    job->goes_without = 1;
    atoll_torch_stop(job->server);
    job->server = NULL;
    if (!atomic_load(&job->import->stopped))
        atoll_log(ATOLL_LOG_WARNING, "import.fork", "torch is imported anew for each problem: %.900s",
                  why.text);
    return NULL;
}

/* Asks one process about one problem; takes the request.  NULL with err: nothing is known of it.  Others work meanwhile. */
static json_t *ask(struct job *job, json_t *request, struct atoll_err *err)
{
    struct import *import = job->import;
    const struct import_settings *s = import->settings;
    const struct atoll_torch_settings settings = {.python = import->python,
                                                  .role = "inspect",
                                                  .gpu = s->gpu,
                                                  .memory_bytes = import->memory_bytes,
                                                  .cancelled = &import->stopped};
    pthread_mutex_unlock(&import->lock);
    struct atoll_torch *torch = fork_one(job, &settings);
    json_t *answer = NULL;
    if (!torch)
        torch = atoll_torch_start(&settings, err);
    if (!torch)
        json_decref(request);
    else if (atoll_torch_call(torch, request, import->turns, s->deadline_s * 1e9, &answer, err) != 0)
        answer = NULL;
    atoll_torch_stop(torch);
    pthread_mutex_lock(&import->lock);
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
static int is_degenerate(const json_t *answer, char *ret_reason, size_t bytes, const char **ret_cause)
{
    const json_t *flaw;
    size_t i, count = 0;
    ret_reason[0] = '\0';
    *ret_cause = "";
    json_array_foreach(json_object_get(answer, "flaws"), i, flaw)
    {
        size_t used = strlen(ret_reason);
        if (strcmp(atoll_json_member(flaw, "criterion"), "baseline") == 0)
            continue;
        *ret_cause = count ? *ret_cause : atoll_json_member(flaw, "criterion");
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
    const char *status = "imported", *refused = json_string_value(json_object_get(answer, "refused")), *cause;
    char reason[REASON_BYTES];
    int seeded = 0, degenerate = is_degenerate(answer, reason, sizeof(reason), &cause);
    if (refused) {
        const char *kind = atoll_json_member(answer, "kind");
        status = strcmp(kind, "unsupported") == 0 ? "unsupported" : "failed";
        cause = atoll_json_member(answer, "cause");
        snprintf(reason, sizeof(reason), "%s", refused);
    } else if (degenerate && !import->settings->is_all) {
        status = "degenerate";
    } else {
        const struct atoll_suite_task task = {import->settings->suite, import->list.format, hash,
                                              atoll_json_member(answer, "no_seed"), problem};
        struct atoll_err why = ATOLL_ERR_INIT;
        if (atoll_suite_write_task(&task, answer, &seeded, &why) != 0) {
            if (why.code != ATOLL_E_INPUT && why.code != ATOLL_E_PROTOCOL) {
                atoll_err_set(err, why.code, "%s", why.text);
                return NULL;
            }
            status = "unsupported";
            cause = "task";
            snprintf(reason, sizeof(reason), "%s", why.text);
        }
    }
    json_t *entry =
        json_pack("{s:s, s:s, s:b, s:s, s:o, s:o, s:b, s:b, s:b, s:b, s:b}", "task", problem->task, "hash",
                  hash, "gpu", import->settings->gpu != NULL, "status", status, "reason",
                  atoll_json_text(reason), "cause", atoll_json_text(cause), "read",
                  has_reached(answer, "read"), "checked", has_reached(answer, "checked"), "expressible",
                  has_reached(answer, "expressible") && strcmp(status, "unsupported") != 0, "seeded",
                  seeded || json_is_string(json_object_get(json_object_get(answer, "seeds"), "naive.cu")),
                  "degenerate", degenerate);
    for (size_t i = 0; entry && i < sizeof(kept) / sizeof(*kept); i++)
        if (json_object_get(answer, kept[i]))
            json_object_set(entry, kept[i], json_object_get(answer, kept[i]));
    return entry;
}

static json_t *failed_entry(const struct atoll_problem *problem, const char *hash, int is_unread,
                            const struct atoll_err *why)
{
    const char *cause = is_unread                      ? "files"
                        : why->code == ATOLL_E_LIMIT   ? "memory"
                        : why->code == ATOLL_E_TIMEOUT ? "deadline"
                                                       : "process";
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:b, s:b, s:b, s:b, s:b}", "task", problem->task, "hash",
                     hash, "status", "failed", "reason", atoll_json_text(why->text), "cause", cause, "read",
                     0, "checked", 0, "expressible", 0, "seeded", 0, "degenerate", 0);
}

/* Errors that the next problem would meet, too. */
static int is_ours(enum atoll_code code)
{
    return code == ATOLL_E_MISSING || code == ATOLL_E_MEMORY || code == ATOLL_E_FULL ||
           code == ATOLL_E_DENIED || code == ATOLL_E_IO;
}

/* A line of a terminal; what does not fit stands in the record.  No character has more columns than bytes. */
static void print_line(const char *line)
{
    char text[LINE_COLUMNS + 4], rest[] = "...";
    size_t length = strlen(line);
    if (length <= LINE_COLUMNS)
        rest[0] = '\0';
    else
        length = atoll_utf8_cut(line, LINE_COLUMNS - strlen(rest));
    atoll_utf8_line(text, sizeof(text), line, length);
    printf("%s%s", text, rest);
}

/* How far it is, until the next line is written over it. */
static void print_now(const struct import *import)
{
    char line[PATH_MAX];
    if (!import->is_watched || !import->latest || import->printed == import->step_count)
        return;
    snprintf(line, sizeof(line), "%zu of %zu, looking at %s%s", import->printed, import->step_count,
             import->latest->name, import->jobs > 1 ? " and others" : "");
    fputs(ERASE, stdout);
    print_line(line);
    fflush(stdout);
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
        char line[PATH_MAX + REASON_BYTES];
        const char *reason = atoll_json_member(entry, "reason");
        snprintf(line, sizeof(line), "%-11s %s%s%s%s", status_of(entry), problem->name,
                 seconds < 0 ? " (as before)" : "", *reason ? ": " : "", reason);
        if (import->is_watched) {
            fputs(ERASE, stdout);
            print_line(line);
        } else {
            atoll_print(stdout, "%s", line);
        }
        putchar('\n');
    }
    fflush(stdout);
}

/* What is done of the list's beginning, each once. */
static void print_done(struct import *import)
{
    for (; import->printed < import->step_count && import->steps[import->printed].is_done;
         import->printed++) {
        const struct step *step = &import->steps[import->printed];
        print_entry(import, step->problem, json_object_get(import->problems, step->problem->name),
                    step->seconds);
    }
}

static void finish(struct import *import, struct step *step, double seconds)
{
    step->seconds = seconds;
    step->is_done = 1;
    print_done(import);
    print_now(import);
}

static int import_problem(struct job *job, struct step *step, struct atoll_err *err)
{
    struct import *import = job->import;
    const struct atoll_problem *problem = step->problem;
    struct atoll_err why = ATOLL_ERR_INIT;
    char hash[ATOLL_ID_HEX] = "";
    json_t *request, *answer = NULL, *entry;
    double begin = atoll_clock_mono_s();
    int unread = atoll_problem_request(import->list.format, problem, &request, hash, &why);
    if (!unread && is_known(import, json_object_get(import->problems, problem->name), problem, hash)) {
        json_decref(request);
        finish(import, step, -1);
        return 0;
    }
    if (!unread) {
        import->latest = problem;
        print_now(import);
        answer = ask(job, request, &why);
    }
    if (atomic_load(&import->stopped)) { /* by another job's error: nothing is known of this one */
        json_decref(answer);
        return 0;
    }
    if (!answer && !unread && is_ours(why.code))
        return atoll_err_set(err, why.code, "%s", why.text);
    if (!answer && why.code == ATOLL_E_LIMIT && import->jobs > 2 && !import->settings->memory_bytes)
        atoll_err_add(&why, "with --jobs 1 it may have half of the machine's");
    entry = answer ? settle(import, problem, hash, answer, err) : failed_entry(problem, hash, unread, &why);
    json_decref(answer);
    if (!entry)
        return -1;
    json_object_set_new(import->problems, problem->name, entry);
    if (save_record(import, err) != 0)
        return -1;
    finish(import, step, atoll_clock_mono_s() - begin);
    return 0;
}

/* ---- all of them ---- */

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

/* How many side by side, with how much memory each. */
static int settle_jobs(struct import *import, struct atoll_err *err)
{
    const struct import_settings *s = import->settings;
    unsigned long long machine =
        (unsigned long long)sysconf(_SC_PHYS_PAGES) * (unsigned long long)sysconf(_SC_PAGESIZE);
    unsigned long long fit = machine / (s->memory_bytes ? s->memory_bytes : USUAL_MEMORY);
    unsigned long long jobs = (unsigned long long)s->jobs;
    if (jobs == 0) {
        jobs = atoll_local_run_cores() / 2;
        jobs = jobs > USUAL_JOBS ? USUAL_JOBS : jobs;
        jobs = jobs > fit ? fit : jobs;
    }
    jobs = jobs > import->step_count ? import->step_count : jobs;
    if (jobs > 1 && s->memory_bytes && jobs > fit)
        return atoll_err_set(
            err, ATOLL_E_LIMIT,
            "%llu jobs with %.1f GB of memory each are more than the %.1f GB of this machine: give a lower "
            "--jobs or a lower --memory",
            jobs, (double)s->memory_bytes / 1e9, (double)machine / 1e9);
    import->jobs = jobs > 0 ? (unsigned)jobs : 1;
    import->memory_bytes = s->memory_bytes ? s->memory_bytes : machine / (jobs > 2 ? jobs : 2);
    if (!s->gpu || import->jobs == 1)
        return 0;
    import->turns = memfd_create("turns", MFD_CLOEXEC);
    return import->turns >= 0 ? 0
                              : atoll_err_errno(err, errno, "cannot make a memory file for the GPU's lock");
}

static int settle_steps(struct import *import, struct atoll_err *err)
{
    import->steps = calloc(import->list.count, sizeof(*import->steps));
    if (!import->steps)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of problems");
    for (size_t i = 0; i < import->list.count; i++)
        if (is_wanted(import, &import->list.problems[i]))
            import->steps[import->step_count++].problem = &import->list.problems[i];
    return check_names(import, err);
}

static void *work(void *context)
{
    struct import *import = context;
    struct job job = {import, NULL, 0};
    struct atoll_err err = ATOLL_ERR_INIT;
    pthread_mutex_lock(&import->lock);
    while (!atomic_load(&import->stopped) && import->next < import->step_count)
        if (import_problem(&job, &import->steps[import->next++], &err) != 0) {
            import->err = err;
            atomic_store(&import->stopped, 1);
        }
    pthread_mutex_unlock(&import->lock);
    atoll_torch_stop(job.server);
    return NULL;
}

static int import_all(struct import *import, struct atoll_import_counts *counts, struct atoll_err *err)
{
    pthread_t others[JOB_LIMIT];
    unsigned other_count = 0;
    while (other_count + 1 < import->jobs && pthread_create(&others[other_count], NULL, work, import) == 0)
        other_count++;
    work(import);
    while (other_count > 0)
        pthread_join(others[--other_count], NULL);
    if (atomic_load(&import->stopped)) {
        *err = import->err;
        return -1;
    }
    for (size_t i = 0; i < import->step_count; i++)
        atoll_import_count(counts, import->steps[i].problem->name,
                           json_object_get(import->problems, import->steps[i].problem->name));
    return 0;
}

static int run_import(void *given, const char *const *arguments, size_t argument_count, struct atoll_err *err)
{
    const struct import_settings *settings = given;
    const char *term = getenv("TERM");
    struct import import = {.settings = settings,
                            .list = {.format = arguments[0], .path = arguments[1]},
                            .turns = -1,
                            .lock = PTHREAD_MUTEX_INITIALIZER};
    struct atoll_import_counts counts = {0};
    char lock[PATH_MAX];
    int fd = -1, status, has_failed;
    import.is_watched = !settings->is_json && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
    if (!settings->suite)
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "atoll task import: name the suite to make with -o, for example -o my-suite");
    if (read_levels(settings->levels, &import.list.levels, err) != 0)
        return -1;
    snprintf(lock, sizeof(lock), "%s/.import.lock", settings->suite);
    status = atoll_problem_list_collect(&import.list, err) != 0 || find_lists(&import, err) != 0 ||
             (settings->names && read_names(&import, settings->names, err) != 0) ||
             settle_steps(&import, err) != 0 || settle_jobs(&import, err) != 0 ||
             find_python(&import, err) != 0 || atoll_folder_make(settings->suite, err) != 0 ||
             atoll_lock_take(lock, &fd, err) != 0;
    if (!status) {
        atoll_suite_sweep(settings->suite);
        status = load_record(&import, err) != 0 || import_all(&import, &counts, err) != 0;
    }
    if (status && import.is_watched && import.latest) { /* the error is no part of the line */
        fputs(ERASE, stdout);
        fflush(stdout);
    }
    if (!status)
        atoll_import_counts_print(&counts, settings->is_json, settings->is_all);
    if (!status && !settings->is_json && counts.imported > 0)
        atoll_print(stdout, "next: atoll task check %s\n", settings->suite);
    has_failed = counts.failed > 0;
    atoll_import_counts_fini(&counts);
    atoll_lock_release(fd);
    if (import.turns >= 0)
        close(import.turns);
    free(import.steps);
    json_decref(import.record);
    json_decref(import.wanted);
    atoll_problem_list_fini(&import.list);
    return status ? -1 : has_failed;
}

const struct atoll_subcommand atoll_command_task_import = {
    .command = &import_command,
    .settings_bytes = sizeof(struct import_settings),
    .least = 2,
    .most = 2,
    .missing = "name a format and the folder of its checkout, for example kernelbench ~/KernelBench",
    .run = run_import};

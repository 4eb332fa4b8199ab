/* local_jobs.c - a folder without its job.json is no job: the record is written last, and replaced in one step. */
#include "scheduler/launcher/local/local_jobs.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"

#define ENVIRONMENT_BYTES ((size_t)4 << 20)
#define NUMBER_DIGITS     24

int atoll_local_root(char ret_root[PATH_MAX], struct atoll_err *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char host[256] = "localhost";
    int length;

    gethostname(host, sizeof(host) - 1);
    if (state && *state == '/') {
        length = snprintf(ret_root, PATH_MAX, "%s/atoll/jobs/%s", state, host);
    } else if (home && *home == '/') {
        length = snprintf(ret_root, PATH_MAX, "%s/.local/state/atoll/jobs/%s", home, host);
    } else {
        return atoll_err_set(err, ATOLL_E_MISSING,
                             "neither HOME nor XDG_STATE_HOME says where jobs can be kept");
    }
    if (length >= PATH_MAX - 2 * NUMBER_DIGITS) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of this machine's jobs is too long: %.100s ...",
                             ret_root);
    }
    return atoll_folder_make(ret_root, err);
}

void atoll_local_path(const char *root, unsigned long number, const char *file, char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%.*s/%lu%s%s", PATH_MAX - 2 * NUMBER_DIGITS, root, number, *file ? "/" : "",
             file);
}

/* ---- all jobs ---- */

static int by_number(const void *a, const void *b)
{
    const unsigned long *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int atoll_local_numbers(const char *root, unsigned long **ret_numbers, size_t *ret_count,
                        struct atoll_err *err)
{
    DIR *dir = opendir(root);
    unsigned long *numbers = NULL;
    size_t count = 0, capacity = 0;

    if (!dir)
        return atoll_err_errno(err, errno, "%s: cannot read this machine's jobs", root);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char *end;
        unsigned long number = strtoul(entry->d_name, &end, 10);

        if (number == 0 || *end)
            continue;
        if (count == capacity) {
            unsigned long *more = realloc(numbers, (2 * capacity + 16) * sizeof(*numbers));

            if (!more) {
                free(numbers);
                closedir(dir);
                return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the list of this machine's jobs");
            }
            numbers = more;
            capacity = 2 * capacity + 16;
        }
        numbers[count++] = number;
    }
    closedir(dir);
    if (count)
        qsort(numbers, count, sizeof(*numbers), by_number);
    *ret_numbers = numbers;
    *ret_count = count;
    return 0;
}

void atoll_local_forget(const char *root, int64_t before_unix_s)
{
    static const char *const files[] = {"job.json", "cancel", "requeue", "script", "environment", ""};
    unsigned long *numbers = NULL;
    size_t count = 0;

    if (atoll_local_numbers(root, &numbers, &count, NULL) != 0)
        return;
    for (size_t i = 0; i + 1 < count; i++) {
        struct atoll_local_job job;
        char path[PATH_MAX];

        if (atoll_local_job_read(root, numbers[i], &job, NULL) != 0 || !atoll_job_has_ended(job.state) ||
            job.end_unix_s >= before_unix_s) {
            continue;
        }
        for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
            atoll_local_path(root, job.number, files[k], path);
            remove(path);
        }
    }
    free(numbers);
}

/* ---- one job ---- */

static void fill_in(const char *pattern, unsigned long number, char ret_path[PATH_MAX])
{
    size_t length = 0;

    for (; *pattern && length < PATH_MAX - NUMBER_DIGITS; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'j') {
            length += (size_t)snprintf(ret_path + length, NUMBER_DIGITS, "%lu", number);
            pattern++;
        } else {
            pattern += pattern[0] == '%' && pattern[1] == '%';
            ret_path[length++] = *pattern;
        }
    }
    ret_path[length] = '\0';
}

static int file_write(const char *root, unsigned long number, const char *file, const void *bytes,
                      size_t length, struct atoll_err *err)
{
    char path[PATH_MAX];

    atoll_local_path(root, number, file, path);
    return atoll_file_replace(atoll_file_ops_real(), path, bytes, length, err);
}

static int environment_write(const char *root, unsigned long number, struct atoll_err *err)
{
    struct atoll_buffer text;
    int status;

    atoll_buffer_init(&text, ENVIRONMENT_BYTES);
    for (char **variable = environ; *variable; variable++)
        atoll_buffer_put_bytes(&text, *variable, strlen(*variable) + 1);
    status = atoll_buffer_check(&text, err);
    status = status == 0 ? file_write(root, number, "environment", text.data, text.length, err) : status;
    atoll_buffer_fini(&text);
    return status;
}

int atoll_local_job_create(const char *root, struct atoll_local_job *job, const char *script,
                           struct atoll_err *err)
{
    unsigned long *numbers = NULL;
    size_t count = 0;
    char path[PATH_MAX], pattern[PATH_MAX];

    if (atoll_local_numbers(root, &numbers, &count, err) != 0)
        return -1;
    job->number = count ? numbers[count - 1] : 0;
    free(numbers);
    do { /* two that submit at once get two numbers; nobody else reads what is in the folder */
        atoll_local_path(root, ++job->number, "", path);
    } while (mkdir(path, 0700) != 0 && errno == EEXIST);
    memcpy(pattern, job->log_path, sizeof(pattern));
    fill_in(pattern, job->number, job->log_path);
    return file_write(root, job->number, "script", script, strlen(script), err) != 0 ||
                   environment_write(root, job->number, err) != 0
               ? -1
               : atoll_local_job_write(root, job, err);
}

int atoll_local_job_write(const char *root, const struct atoll_local_job *job, struct atoll_err *err)
{
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:f, s:f, s:i, s:s, s:o, s:I, s:i, s:I, s:I, s:I}", "name",
        atoll_json_text(job->name), "work_dir", atoll_json_text(job->work_dir), "log_path",
        atoll_json_text(job->log_path), "time_limit_s", job->time_limit_s, "signal_before_s",
        job->signal_before_s, "signal_number", job->signal_number, "state", atoll_job_state_name(job->state),
        "reason", atoll_json_text(job->reason), "restart_count", (json_int_t)job->restart_count,
        "exit_status", job->exit_status, "submit_unix_s", (json_int_t)job->submit_unix_s, "start_unix_s",
        (json_int_t)job->start_unix_s, "end_unix_s", (json_int_t)job->end_unix_s);
    char *text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    int status = text
                     ? file_write(root, job->number, "job.json", text, strlen(text), err)
                     : atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the record of job %lu", job->number);

    free(text);
    json_decref(object);
    return status;
}

static void text_get(const json_t *object, const char *key, char *ret_text, size_t bytes)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(ret_text, bytes, "%s", text ? text : "");
}

static json_int_t number_get(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

int atoll_local_job_read(const char *root, unsigned long number, struct atoll_local_job *ret_job,
                         struct atoll_err *err)
{
    char path[PATH_MAX], state[32];
    struct stat wish;
    json_error_t why;
    json_t *object;

    atoll_local_path(root, number, "job.json", path);
    if (access(path, F_OK) != 0) {
        return atoll_err_set(err, ATOLL_E_NOTFOUND, "no job %lu on this machine; it may have ended long ago",
                             number);
    }
    object = json_load_file(path, 0, &why);
    if (!object) {
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s:%d: %s; remove the folder if nothing needs it", path,
                             why.line, why.text);
    }
    *ret_job = (struct atoll_local_job){
        .number = number,
        .time_limit_s = json_number_value(json_object_get(object, "time_limit_s")),
        .signal_before_s = json_number_value(json_object_get(object, "signal_before_s")),
        .signal_number = (int)number_get(object, "signal_number"),
        .restart_count = (unsigned)number_get(object, "restart_count"),
        .exit_status = (int)number_get(object, "exit_status"),
        .submit_unix_s = number_get(object, "submit_unix_s"),
        .start_unix_s = number_get(object, "start_unix_s"),
        .end_unix_s = number_get(object, "end_unix_s")};
    text_get(object, "name", ret_job->name, sizeof(ret_job->name));
    text_get(object, "work_dir", ret_job->work_dir, sizeof(ret_job->work_dir));
    text_get(object, "log_path", ret_job->log_path, sizeof(ret_job->log_path));
    text_get(object, "reason", ret_job->reason, sizeof(ret_job->reason));
    text_get(object, "state", state, sizeof(state));
    json_decref(object);
    for (int i = 0; i < ATOLL_JOB_STATE_COUNT; i++)
        if (strcmp(state, atoll_job_state_name((enum atoll_job_state)i)) == 0)
            ret_job->state = (enum atoll_job_state)i; /* UNKNOWN for a word that is none */
    atoll_local_path(root, number, "cancel", path);
    if (!atoll_job_has_ended(ret_job->state) && stat(path, &wish) == 0) {
        int has_begun = ret_job->state == ATOLL_JOB_RUNNING || ret_job->state == ATOLL_JOB_COMPLETING;

        ret_job->state = has_begun ? ATOLL_JOB_COMPLETING : ATOLL_JOB_CANCELLED;
        ret_job->end_unix_s = has_begun ? ret_job->end_unix_s : wish.st_mtim.tv_sec;
    }
    return 0;
}

#include "scheduler/launcher/local/job_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "base/json.h"

#define NUMBER_TRIES 10000
#define LOST_STATUS  (128 + 9)

static int make_folders(char *path, struct atoll_err *err)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash) {
            *slash = '\0';
        }
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            return atoll_err_errno(err, errno, "%s: cannot make the folder of this machine's jobs", path);
        }
        if (!slash) {
            return 0;
        }
        *slash = '/';
    }
}

int atoll_local_root(char ret_root[PATH_MAX], struct atoll_err *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char host[256] = "localhost", path[PATH_MAX];
    int length;

    gethostname(host, sizeof(host) - 1);
    if (state && *state == '/') {
        length = snprintf(path, sizeof(path), "%s/atoll/jobs/%s", state, host);
    } else if (home && *home == '/') {
        length = snprintf(path, sizeof(path), "%s/.local/state/atoll/jobs/%s", home, host);
    } else {
        return atoll_err_set(err, ATOLL_E_MISSING,
                             "neither HOME nor XDG_STATE_HOME says where jobs can be kept");
    }
    if (length >= PATH_MAX - 2 * ATOLL_JOB_ID_BYTES) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of this machine's jobs is too long: %.100s ...",
                             path);
    }
    if (make_folders(path, err) != 0) {
        return -1;
    }
    memcpy(ret_root, path, (size_t)length + 1);
    return 0;
}

int atoll_local_path(const char *root, const char *id, const char *file, char ret_path[PATH_MAX],
                     struct atoll_err *err)
{
    if (snprintf(ret_path, PATH_MAX, "%s/%s%s%s", root, id, *file ? "/" : "", file) >= PATH_MAX) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of job %s is too long", id);
    }
    return 0;
}

/* --- files ------------------------------------------------------------------------------------------------------------ */

/* Whole or not at all: a new file that takes the place of the old one. */
static int replace(const char *path, const char *text, mode_t mode, struct atoll_err *err)
{
    char aside[PATH_MAX + 32];
    int fd;

    snprintf(aside, sizeof(aside), "%s.%ld", path, (long)getpid());
    fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) {
        return atoll_err_errno(err, errno, "%s: cannot write", aside);
    }
    if (atoll_process_write(fd, text, strlen(text)) != 0 || fsync(fd) != 0) {
        int failed = errno;

        close(fd);
        unlink(aside);
        return atoll_err_errno(err, failed, "%s: cannot write", aside);
    }
    close(fd);
    if (rename(aside, path) != 0) {
        int failed = errno;

        unlink(aside);
        return atoll_err_errno(err, failed, "%s: cannot write", path);
    }
    return 0;
}

static int write_json(const char *root, const char *id, const char *file, json_t *object,
                      struct atoll_err *err)
{
    char path[PATH_MAX];
    char *text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    int status = -1;

    if (!text) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the record of job %s", id);
    } else if (atoll_local_path(root, id, file, path, err) == 0) {
        status = replace(path, text, 0600, err);
    }
    free(text);
    json_decref(object);
    return status;
}

static json_t *read_json(const char *root, const char *id, const char *file, struct atoll_err *err)
{
    char path[PATH_MAX];
    json_error_t why;
    json_t *object;

    if (atoll_local_path(root, id, file, path, err) != 0) {
        return NULL;
    }
    if (access(path, F_OK) != 0) {
        atoll_err_set(err, ATOLL_E_NOTFOUND, "no job %s on this machine", id);
        return NULL;
    }
    object = json_load_file(path, 0, &why);
    if (!object) {
        atoll_err_set(err, ATOLL_E_CORRUPT, "%s:%d: %s; remove the folder if nothing needs it", path,
                      why.line, why.text);
    }
    return object;
}

static void get_text(const json_t *object, const char *key, char *ret_text, size_t bytes)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(ret_text, bytes, "%s", text ? text : "");
}

static json_int_t get_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* --- numbers ---------------------------------------------------------------------------------------------------------- */

/* Folders "12", "12_3": the number before the line; 0 for other names. */
static unsigned long number_of(const char *name, long *ret_index)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);

    *ret_index = -1;
    if (end == name || (*end && *end != '_')) {
        return 0;
    }
    if (*end == '_') {
        *ret_index = strtol(end + 1, &end, 10);
    }
    return *end ? 0 : number;
}

static int each_folder(const char *root, int (*function)(void *context, const char *name), void *context,
                       struct atoll_err *err)
{
    DIR *dir = opendir(root);
    struct dirent *entry;
    int status = 0;

    if (!dir) {
        return atoll_err_errno(err, errno, "%s: cannot read this machine's jobs", root);
    }
    while (status == 0 && (entry = readdir(dir)) != NULL) {
        long index;

        if (number_of(entry->d_name, &index) > 0) {
            status = function(context, entry->d_name);
        }
    }
    closedir(dir);
    return status;
}

static int note_highest(void *context, const char *name)
{
    unsigned long *highest = context;
    long index;
    unsigned long number = number_of(name, &index);

    *highest = number > *highest ? number : *highest;
    return 0;
}

int atoll_local_number(const char *root, unsigned long *ret_number, struct atoll_err *err)
{
    unsigned long number = 0;
    char path[PATH_MAX + 32];

    if (each_folder(root, note_highest, &number, err) != 0) {
        return -1;
    }
    for (int i = 0; i < NUMBER_TRIES; i++) {
        number++;
        snprintf(path, sizeof(path), "%s/%lu", root, number);
        if (mkdir(path, 0700) == 0) {
            *ret_number = number;
            return 0;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return atoll_err_errno(err, errno, "%s: cannot make the folder of a job", path);
}

struct ids {
    const char *root, *base;
    char (*items)[ATOLL_JOB_ID_BYTES];
    size_t count, capacity;
};

static int keep_id(void *context, const char *name)
{
    struct ids *ids = context;
    size_t length = ids->base ? strlen(ids->base) : 0;
    char path[PATH_MAX];

    if (strlen(name) >= ATOLL_JOB_ID_BYTES ||
        (ids->base && (strncmp(name, ids->base, length) != 0 || name[length] != '_'))) {
        return 0;
    }
    if (atoll_local_path(ids->root, name, "job.json", path, NULL) != 0 || access(path, F_OK) != 0) {
        return 0; /* the common folder of an array's elements */
    }
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity ? 2 * ids->capacity : 16;
        void *more = realloc(ids->items, capacity * sizeof(*ids->items));

        if (!more) {
            return -1;
        }
        ids->items = more;
        ids->capacity = capacity;
    }
    memcpy(ids->items[ids->count++], name, strlen(name) + 1);
    return 0;
}

static int by_number(const void *a, const void *b)
{
    long index_a, index_b;
    unsigned long x = number_of(a, &index_a), y = number_of(b, &index_b);

    if (x != y) {
        return x < y ? -1 : 1;
    }
    return (index_a > index_b) - (index_a < index_b);
}

int atoll_local_ids(const char *root, const char *base, char (**ret_ids)[ATOLL_JOB_ID_BYTES],
                    size_t *ret_count, struct atoll_err *err)
{
    struct ids ids = {.root = root, .base = base};
    struct atoll_err why = ATOLL_ERR_INIT;

    if (each_folder(root, keep_id, &ids, &why) != 0) {
        free(ids.items);
        if (!why.code) {
            atoll_err_set(&why, ATOLL_E_MEMORY, "no memory for the list of this machine's jobs");
        }
        if (err) {
            *err = why;
        }
        return -1;
    }
    if (ids.count) {
        qsort(ids.items, ids.count, sizeof(*ids.items), by_number);
    }
    *ret_ids = ids.items;
    *ret_count = ids.count;
    return 0;
}

/* --- records ---------------------------------------------------------------------------------------------------------- */

int atoll_local_job_write(const char *root, const struct atoll_local_job *job, const char *script,
                          struct atoll_err *err)
{
    char path[PATH_MAX];

    if (atoll_local_path(root, job->id, "", path, err) != 0) {
        return -1;
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return atoll_err_errno(err, errno, "%s: cannot make the folder of a job", path);
    }
    if (atoll_local_path(root, job->id, "script", path, err) != 0 || replace(path, script, 0700, err) != 0) {
        return -1;
    }
    return write_json(root, job->id, "job.json",
                      json_pack("{s:o, s:o, s:o, s:o, s:f, s:i, s:f, s:i, s:I, s:I}", "name",
                                atoll_json_text(job->name), "work_dir", atoll_json_text(job->work_dir),
                                "log_path", atoll_json_text(job->log_path), "dependency",
                                atoll_json_text(job->dependency), "time_limit_s", job->time_limit_s,
                                "signal_number", job->signal_number, "signal_before_s", job->signal_before_s,
                                "array_index", job->array_index, "at_once", (json_int_t)job->at_once,
                                "submit_unix_s", (json_int_t)job->submit_unix_s),
                      err);
}

int atoll_local_job_read(const char *root, const char *id, struct atoll_local_job *ret_job,
                         struct atoll_err *err)
{
    json_t *object = read_json(root, id, "job.json", err);
    struct atoll_local_job job = {0};

    if (!object) {
        return -1;
    }
    snprintf(job.id, sizeof(job.id), "%s", id);
    get_text(object, "name", job.name, sizeof(job.name));
    get_text(object, "work_dir", job.work_dir, sizeof(job.work_dir));
    get_text(object, "log_path", job.log_path, sizeof(job.log_path));
    get_text(object, "dependency", job.dependency, sizeof(job.dependency));
    job.time_limit_s = json_number_value(json_object_get(object, "time_limit_s"));
    job.signal_number = (int)get_number(object, "signal_number");
    job.signal_before_s = json_number_value(json_object_get(object, "signal_before_s"));
    job.array_index = (int)get_number(object, "array_index");
    job.at_once = (unsigned)get_number(object, "at_once");
    job.submit_unix_s = get_number(object, "submit_unix_s");
    json_decref(object);
    *ret_job = job;
    return 0;
}

static json_t *process_json(const struct atoll_process_id *process)
{
    return json_pack("{s:I, s:I, s:s}", "pid", (json_int_t)process->pid, "start_ticks",
                     (json_int_t)process->start_ticks, "boot_id", process->boot_id);
}

static void process_read(const json_t *object, struct atoll_process_id *process)
{
    process->pid = (pid_t)get_number(object, "pid");
    process->start_ticks = (unsigned long long)get_number(object, "start_ticks");
    get_text(object, "boot_id", process->boot_id, sizeof(process->boot_id));
}

int atoll_local_state_write(const char *root, const char *id, const struct atoll_local_state *state,
                            struct atoll_err *err)
{
    return write_json(root, id, "state.json",
                      json_pack("{s:s, s:o, s:I, s:i, s:I, s:I, s:o, s:o}", "state",
                                atoll_job_state_name(state->state), "reason", atoll_json_text(state->reason),
                                "restart_count", (json_int_t)state->restart_count, "exit_status",
                                state->exit_status, "start_unix_s", (json_int_t)state->start_unix_s,
                                "end_unix_s", (json_int_t)state->end_unix_s, "supervisor",
                                process_json(&state->supervisor), "shell", process_json(&state->shell)),
                      err);
}

int atoll_local_state_read(const char *root, const char *id, struct atoll_local_state *ret_state,
                           struct atoll_err *err)
{
    json_t *object = read_json(root, id, "state.json", err);
    struct atoll_local_state state = {0};
    char name[32];

    if (!object) {
        return -1;
    }
    get_text(object, "state", name, sizeof(name));
    while (state.state < ATOLL_JOB_STATE_COUNT && strcmp(name, atoll_job_state_name(state.state)) != 0) {
        state.state++;
    }
    state.state = state.state == ATOLL_JOB_STATE_COUNT ? ATOLL_JOB_UNKNOWN : state.state;
    get_text(object, "reason", state.reason, sizeof(state.reason));
    state.restart_count = (unsigned)get_number(object, "restart_count");
    state.exit_status = (int)get_number(object, "exit_status");
    state.start_unix_s = get_number(object, "start_unix_s");
    state.end_unix_s = get_number(object, "end_unix_s");
    process_read(json_object_get(object, "supervisor"), &state.supervisor);
    process_read(json_object_get(object, "shell"), &state.shell);
    json_decref(object);
    *ret_state = state;
    return 0;
}

static int is_lost(const struct atoll_local_state *state)
{
    return !atoll_job_has_ended(state->state) && state->state != ATOLL_JOB_UNKNOWN &&
           !atoll_process_id_is_alive(&state->supervisor);
}

int atoll_local_state_judge(const char *root, const char *id, struct atoll_local_state *ret_state,
                            struct atoll_err *err)
{
    struct atoll_local_state state;

    if (atoll_local_state_read(root, id, &state, err) != 0) {
        return -1;
    }
    /* It may have ended in between: what a supervisor writes last is there once the supervisor is not. */
    if (is_lost(&state) && atoll_local_state_read(root, id, &state, err) != 0) {
        return -1;
    }
    if (is_lost(&state)) {
        const struct atoll_process_id self = atoll_process_id_self();

        state.state = ATOLL_JOB_FAILED;
        state.exit_status = LOST_STATUS;
        snprintf(state.reason, sizeof(state.reason), "%s",
                 strcmp(state.supervisor.boot_id, self.boot_id) == 0 ? "its supervisor was killed"
                                                                     : "the machine was restarted");
    }
    *ret_state = state;
    return 0;
}

/* --- wishes ------------------------------------------------------------------------------------------------------------ */

int atoll_local_wish(const char *root, const char *id, const char *wish, int64_t value, struct atoll_err *err)
{
    char path[PATH_MAX], text[32];

    snprintf(text, sizeof(text), "%lld\n", (long long)value);
    return atoll_local_path(root, id, wish, path, err) != 0 ? -1 : replace(path, text, 0600, err);
}

int atoll_local_wish_read(const char *root, const char *id, const char *wish, int64_t *ret_value)
{
    char path[PATH_MAX];
    long long value = 0;
    FILE *file = atoll_local_path(root, id, wish, path, NULL) == 0 ? fopen(path, "re") : NULL;

    if (!file) {
        return 0;
    }
    if (fscanf(file, "%lld", &value) != 1) {
        value = 0;
    }
    fclose(file);
    if (ret_value) {
        *ret_value = value;
    }
    return 1;
}

int atoll_local_wish_take(const char *root, const char *id, const char *wish)
{
    char path[PATH_MAX];

    return atoll_local_path(root, id, wish, path, NULL) == 0 && unlink(path) == 0;
}

/* --- forgetting --------------------------------------------------------------------------------------------------------- */

static void remove_job(const char *root, const char *id)
{
    static const char *const files[] = {"hold",   "begin",    "cancel",     "requeue",
                                        "script", "job.json", "state.json", ""};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (atoll_local_path(root, id, files[i], path, NULL) == 0 && remove(path) != 0 && errno != ENOENT) {
            return;
        }
    }
}

void atoll_local_forget(const char *root, int64_t before_unix_s)
{
    char(*ids)[ATOLL_JOB_ID_BYTES] = NULL;
    size_t count = 0;

    if (atoll_local_ids(root, NULL, &ids, &count, NULL) != 0) {
        return;
    }
    /* The newest stays, so that no number comes twice. */
    for (size_t i = 0; i + 1 < count; i++) {
        struct atoll_local_state state;

        if (atoll_local_state_read(root, ids[i], &state, NULL) == 0 && atoll_job_has_ended(state.state) &&
            state.end_unix_s < before_unix_s) {
            remove_job(root, ids[i]);
        }
    }
    free(ids);
}

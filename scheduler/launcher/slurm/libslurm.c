/* libslurm.c - Slurm through its own library, one child process for each call.
 *
 * libslurm may block, exit or abort, and its structs change with every major version: a child opens the plugin that was built for
 * the version that is here (plugin.h), makes one call and ends. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/process.h"
#include "base/program.h"
#include "scheduler/launcher/launcher_ops.h"
#include "scheduler/launcher/slurm/commands.h"
#include "scheduler/launcher/slurm/environment.h"
#include "scheduler/launcher/slurm/plugin.h"
#include "scheduler/launcher/slurm/refusal.h"
#include "scheduler/launcher/slurm/state.h"

#define OUT_BYTES ((size_t)256 << 20)
#define NO_PLUGIN 3 /* exit status: dlopen's words are on standard error */

#define SCRIPT_BYTES  ((size_t)4 << 20)
#define PING_S        5.0
#define PLUGIN_LIMIT  32
#define PLUGIN_PREFIX "atoll-slurm-"

/* ---- one call of the library, made in a child with a deadline ----
 *
 * The child opens the plugin, makes the call and writes a head and what the call gave.  Both sides are the same image, so structs
 * are passed as they are.  Whatever the library does - wait, exit, abort - ends with the child. */

struct call {
    const char *path; /* of the plugin */
    /* Runs in the child; what it puts into call->out reaches the parent.  0, or -1 with call->refusal.  NULL: the plugin is only
     * started, and out is the version that it was built for. */
    int (*function)(const struct atoll_slurm_plugin *plugin, struct call *call);
    const char *id; /* or list of nodes; borrowed, as the submission */
    int number;
    const struct atoll_slurm_submission *submission;
    struct atoll_slurm_refusal refusal;
    struct atoll_buffer out; /* used in the child alone */
};

struct reply {
    struct atoll_process_result result; /* fini it after 0 */
    const unsigned char *data;          /* in it */
    size_t length;
};

struct head {
    int is_refused;
    struct atoll_slurm_refusal refusal;
};

static const struct atoll_slurm_plugin *open_plugin(const char *path)
{
    /* Slurm's own plugins, which its library opens, look for its symbols in the whole process. */
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    const struct atoll_slurm_plugin *plugin = object ? dlsym(object, ATOLL_SLURM_PLUGIN_SYMBOL) : NULL;

    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    if (plugin->interface != ATOLL_SLURM_PLUGIN_INTERFACE ||
        plugin->job_bytes != sizeof(struct atoll_slurm_job) ||
        plugin->cluster_bytes != sizeof(struct atoll_cluster) ||
        plugin->request_bytes != sizeof(struct atoll_job_request)) {
        fprintf(stderr, "%s is of another build of atoll\n", path);
        return NULL;
    }
    return plugin;
}

static int in_child(void *context, int out_fd)
{
    struct call *call = context;
    const struct atoll_slurm_plugin *plugin = open_plugin(call->path);
    struct head head = {0};

    if (!plugin)
        return NO_PLUGIN;
    plugin->start();
    if (call->function) {
        head.is_refused = call->function(plugin, call) != 0;
    } else {
        atoll_buffer_printf(&call->out, "%u.%02u.%u", plugin->version >> 16, plugin->version >> 8 & 0xff,
                            plugin->version & 0xff);
    }
    head.refusal = call->refusal;
    return call->out.failed || atoll_write_all(out_fd, &head, sizeof(head)) != 0 ||
           atoll_write_all(out_fd, call->out.data, call->out.length) != 0;
}

static int keep_job(void *context, const struct atoll_slurm_job *job)
{
    struct call *call = context;

    atoll_buffer_put_bytes(&call->out, job, sizeof(*job));
    return call->out.failed ? -1 : 0;
}

/* what: "submitting a job".  Errors: TIMEOUT, what the words of a refusal stand for, MISSING when the plugin does not load, CHILD
 * when the library ended the process without a word. */
static int run_call(struct call *call, const char *what, double timeout_s, struct reply *ret_reply,
                    struct atoll_err *err)
{
    const struct atoll_process process = {.what = what,
                                          .function = in_child,
                                          .context = call,
                                          .hopeless = ATOLL_SLURM_NO_CONFIGURATION,
                                          .deadline_s = timeout_s};
    struct atoll_process_result *result = &ret_reply->result;
    struct head head;

    atoll_buffer_init(&call->out, OUT_BYTES);
    if (atoll_process_run(&process, OUT_BYTES, result, err) != 0)
        return -1;
    if (result->status == 0 && result->out.length >= sizeof(head)) {
        memcpy(&head, result->out.data, sizeof(head));
        if (!head.is_refused) {
            ret_reply->data = result->out.data + sizeof(head);
            ret_reply->length = result->out.length - sizeof(head);
            return 0;
        }
        atoll_slurm_refuse(what, head.refusal.text, ATOLL_E_INPUT, err);
    } else if (result->status == NO_PLUGIN) {
        atoll_err_set(err, ATOLL_E_MISSING, "%s", result->words);
    } else if (*result->words) { /* what a library that ends its process prints last says why */
        atoll_slurm_refuse(what, result->words, ATOLL_E_CHILD, err);
    } else {
        atoll_err_set(err, ATOLL_E_CHILD, "%s: Slurm's library ended the process that called it (status %d)",
                      what, result->status);
    }
    atoll_process_result_fini(result);
    return -1;
}

/* What a child can be sent for. */

static int do_ping(const struct atoll_slurm_plugin *plugin, struct call *call)
{
    return plugin->ping(&call->refusal);
}

/* Gives a uint32_t. */
static int do_submit(const struct atoll_slurm_plugin *plugin, struct call *call)
{
    uint32_t id = 0;
    int status = plugin->submit(call->submission, &id, &call->refusal);

    atoll_buffer_put_bytes(&call->out, &id, sizeof(id));
    return status;
}

/* Gives atoll_slurm_job ... */
static int do_list(const struct atoll_slurm_plugin *plugin, struct call *call)
{
    return plugin->list((uint32_t)getuid(), keep_job, call, &call->refusal);
}

static int do_load(const struct atoll_slurm_plugin *plugin, struct call *call)
{
    return plugin->load((uint32_t)strtoul(call->id, NULL, 10), keep_job, call, &call->refusal);
}

static int do_cancel(const struct atoll_slurm_plugin *plugin, struct call *call)
{
    return plugin->cancel(call->id, &call->refusal);
}

static int do_requeue(const struct atoll_slurm_plugin *plugin, struct call *call)
{
    return plugin->requeue(call->id, &call->refusal);
}

/* number: bytes that the caller has room for. */
static int do_bad_nodes(const struct atoll_slurm_plugin *plugin, struct call *call)
{
    char *names = calloc(1, (size_t)call->number);
    int status = names ? plugin->bad_nodes(call->id, names, (size_t)call->number, &call->refusal) : -1;

    if (status == 0)
        atoll_buffer_put_bytes(&call->out, names, strlen(names) + 1);
    free(names);
    return status;
}

static int do_cluster(const struct atoll_slurm_plugin *plugin, struct call *call)
{
    struct atoll_cluster cluster = {0};
    int status = plugin->cluster(&cluster, &call->refusal);

    atoll_buffer_put_bytes(&call->out, &cluster, sizeof(cluster));
    return status;
}

/* ---- which plugin ---- */

struct candidates {
    char paths[PLUGIN_LIMIT][PATH_MAX];
    size_t count;
};

static int newest_first(const void *a, const void *b)
{
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

    return strcmp(y ? y : b, x ? x : a);
}

static void add_folder(struct candidates *candidates, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL && candidates->count < PLUGIN_LIMIT) {
        const char *end = strrchr(entry->d_name, '.');

        if (strncmp(entry->d_name, PLUGIN_PREFIX, strlen(PLUGIN_PREFIX)) == 0 && end &&
            strcmp(end, ".so") == 0) {
            int length =
                snprintf(candidates->paths[candidates->count], PATH_MAX, "%s%s", folder, entry->d_name);

            candidates->count += length > 0 && length < PATH_MAX ? 1 : 0;
        }
    }
    if (dir)
        closedir(dir);
}

/* Beside the program, as it is built; ../lib/atoll, as it is installed; or the one that the user names. */
static void find_candidates(struct candidates *candidates)
{
    const char *named = getenv("ATOLL_SLURM_PLUGIN");
    static const char *const folders[] = {"", "../lib/atoll/"};
    char folder[PATH_MAX];

    candidates->count = 0;
    if (named && strcmp(named, "none") == 0)
        return;
    if (named && *named) {
        snprintf(candidates->paths[candidates->count++], PATH_MAX, "%s", named);
        return;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (atoll_program_beside(folders[i], folder, sizeof(folder), NULL) == 0)
            add_folder(candidates, folder);
    qsort(candidates->paths, candidates->count, sizeof(candidates->paths[0]), newest_first);
}

/* The plugin that works here: that loads, whose library is here, and whose library finds a cluster; the newest version first.
 * ret_version: that it was built for.  MISSING with what was tried and why not. */
static int find_plugin(double timeout_s, char *ret_path, size_t path_bytes, char *ret_version,
                       size_t version_bytes, struct atoll_err *err)
{
    struct candidates *candidates = malloc(sizeof(*candidates));
    struct atoll_err why = ATOLL_ERR_INIT;
    int status = -1;

    if (!candidates)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to look for plugins");
    find_candidates(candidates);
    for (size_t i = 0; i < candidates->count && status != 0; i++) {
        struct call call = {.path = candidates->paths[i]};
        struct reply reply;

        status = run_call(&call, "starting Slurm's library", timeout_s, &reply, &why);
        if (status == 0) {
            snprintf(ret_version, version_bytes, "%.*s", (int)reply.length, (const char *)reply.data);
            snprintf(ret_path, path_bytes, "%s", candidates->paths[i]);
            atoll_process_result_fini(&reply.result);
        }
    }
    if (status != 0 && candidates->count == 0) {
        atoll_err_set(
            err, ATOLL_E_MISSING,
            "no plugin for Slurm's library (atoll-slurm-<version>.so beside atoll or in "
            "../lib/atoll); build atoll where slurm/slurm.h is, or name one with ATOLL_SLURM_PLUGIN");
    } else if (status != 0) {
        atoll_err_set(err, ATOLL_E_MISSING,
                      "none of %zu plugins for Slurm's library works here; %.300s: %.500s", candidates->count,
                      candidates->paths[candidates->count - 1], why.text);
    }
    free(candidates);
    return status;
}

/* ---- the launcher ---- */

struct libslurm {
    struct atoll_launcher base;
    char path[PATH_MAX];
    int was_silent; /* the controller, when it was asked last */
};

/* The library waits up to 18 s for a controller that is down, in every call; a ping says it at once.  It costs a request, so
 * only a controller that was silent is pinged. */
static int ask_slurm(struct atoll_launcher *launcher, struct call *call, const char *what,
                     struct reply *ret_reply, struct atoll_err *err)
{
    struct libslurm *libslurm = (struct libslurm *)launcher;
    struct call ping = {.path = libslurm->path, .function = do_ping};
    double ping_s = launcher->timeout_s < PING_S ? launcher->timeout_s : PING_S;
    struct atoll_err why = ATOLL_ERR_INIT;
    struct reply pinged;
    int status = 0;

    if (libslurm->was_silent) {
        status = run_call(&ping, "pinging Slurm's controller", ping_s, &pinged, &why);
        if (status == 0)
            atoll_process_result_fini(&pinged.result);
    }
    call->path = libslurm->path;
    status = status == 0 ? run_call(call, what, launcher->timeout_s, ret_reply, &why) : status;
    libslurm->was_silent = why.code == ATOLL_E_TIMEOUT;
    if (status != 0 && err)
        *err = why;
    return status;
}

/* A call that gives nothing. */
static int ask_nothing(struct atoll_launcher *launcher, struct call *call, const char *what,
                       struct atoll_err *err)
{
    struct reply reply;

    if (ask_slurm(launcher, call, what, &reply, err) != 0)
        return -1;
    atoll_process_result_fini(&reply.result);
    return 0;
}

/* What sbatch adds for the script and its srun. */
static int add_sbatch_variables(const struct atoll_job_request *request,
                                struct atoll_slurm_environment *environment, struct atoll_err *err)
{
    const struct {
        const char *name;
        unsigned value;
    } numbers[] = {{"SLURM_NTASKS_PER_NODE", request->tasks_per_node},
                   {"SLURM_CPUS_PER_TASK", request->cpus_per_task},
                   {"SLURM_GPUS_PER_NODE", request->gpus_per_node}};
    char host[256] = "";
    int status;

    gethostname(host, sizeof(host) - 1);
    status = atoll_slurm_environment_add(environment, err, "SLURM_SUBMIT_DIR=%s", request->work_dir) != 0 ||
             atoll_slurm_environment_add(environment, err, "SLURM_SUBMIT_HOST=%s", host) != 0 ||
             atoll_slurm_environment_add(environment, err, "SLURM_JOB_NAME=%s", request->name) != 0 ||
             atoll_slurm_environment_add(environment, err, "SLURM_PRIO_PROCESS=0") != 0;
    if (!status && request->log_path)
        status = atoll_slurm_environment_add(environment, err, "SLURM_OPEN_MODE=a") != 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !status; i++) {
        if (numbers[i].value) {
            status = atoll_slurm_environment_add(environment, err, "%s=%u", numbers[i].name,
                                                 numbers[i].value) != 0;
        }
    }
    return status ? -1 : 0;
}

/* Options of the site that only sbatch understands are left to sbatch. */
static int submit(struct atoll_launcher *launcher, const struct atoll_job_request *request,
                  char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    struct atoll_job_request whole = *request;
    struct atoll_slurm_environment environment = {0};
    struct atoll_buffer script;
    int status = -1;

    if (request->extra && request->extra[0])
        return atoll_slurm_sbatch(request, launcher->timeout_s, ret_id, err);
    atoll_slurm_request_complete(&whole);
    atoll_buffer_init(&script, SCRIPT_BYTES);
    if (atoll_job_script(&whole, &script, err) != 0 ||
        atoll_slurm_environment_create(&whole, &environment, err) != 0 ||
        add_sbatch_variables(&whole, &environment, err) != 0) {
        goto done;
    }
    atoll_buffer_put_u8(&script, 0);
    if (atoll_buffer_check(&script, err) == 0) {
        const struct atoll_slurm_submission submission = {
            .request = &whole,
            .script = (const char *)script.data,
            .environment = environment.items,
            .environment_count = (uint32_t)environment.count,
            .signal_number = whole.signal_name ? atoll_signal_number(whole.signal_name) : 0};

        struct call call = {.function = do_submit, .submission = &submission};
        struct reply reply;
        uint32_t id = 0;

        status = ask_slurm(launcher, &call, "submitting a job", &reply, err);
        if (status == 0) {
            memcpy(&id, reply.data, reply.length < sizeof(id) ? reply.length : sizeof(id));
            snprintf(ret_id, ATOLL_JOB_ID_BYTES, "%u", id);
            atoll_process_result_fini(&reply.result);
        }
    }
done:
    atoll_slurm_environment_destroy(&environment);
    atoll_buffer_fini(&script);
    return status;
}

static int take_jobs(const struct reply *reply, struct atoll_job **ret_jobs, size_t *ret_count,
                     struct atoll_err *err)
{
    struct atoll_job *jobs = NULL;
    struct atoll_slurm_job record;
    size_t count = 0;

    for (size_t at = 0; at + sizeof(record) <= reply->length; at += sizeof(record)) {
        struct atoll_job *job = atoll_job_append(&jobs, &count);

        if (!job) {
            free(jobs);
            return atoll_err_set(err, ATOLL_E_LIMIT, "Slurm listed more than %zu jobs", ATOLL_JOB_LIMIT);
        }
        memcpy(&record, reply->data + at, sizeof(record));
        *job = record.job;
        job->state = atoll_slurm_state(record.word, job->reason, job->restart_count);
        job->exit_status =
            atoll_job_has_ended(job->state) ? atoll_slurm_exit_status((unsigned)job->exit_status) : 0;
    }
    *ret_jobs = jobs;
    *ret_count = count;
    return 0;
}

static int list(struct atoll_launcher *launcher, struct atoll_job **ret_jobs, size_t *ret_count,
                struct atoll_err *err)
{
    struct call call = {.function = do_list};
    struct reply reply;
    int status;

    if (ask_slurm(launcher, &call, "listing jobs", &reply, err) != 0)
        return -1;
    status = take_jobs(&reply, ret_jobs, ret_count, err);
    atoll_process_result_fini(&reply.result);
    return status;
}

static int ask(struct atoll_launcher *launcher, const char *id, struct atoll_job **ret_jobs,
               size_t *ret_count, struct atoll_err *err)
{
    struct call call = {.function = do_load, .id = id};
    struct atoll_err why = ATOLL_ERR_INIT;
    struct reply reply;
    size_t kept = 0;
    int status;

    if (ask_slurm(launcher, &call, "asking after a job", &reply, &why) != 0) {
        if (why.code == ATOLL_E_NOTFOUND) {
            *ret_jobs = NULL;
            *ret_count = 0;
            return 0;
        }
        if (err)
            *err = why;
        return -1;
    }
    status = take_jobs(&reply, ret_jobs, ret_count, err);
    atoll_process_result_fini(&reply.result);
    for (size_t i = 0; status == 0 && strchr(id, '_') && i < *ret_count; i++)
        if (strcmp((*ret_jobs)[i].id, id) == 0) /* of an array Slurm gives all elements, and one is meant */
            (*ret_jobs)[kept++] = (*ret_jobs)[i];
    if (status == 0 && strchr(id, '_'))
        *ret_count = kept;
    return status;
}

static int cancel(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    struct call call = {.function = do_cancel, .id = id};
    struct atoll_err why = ATOLL_ERR_INIT;

    if (ask_nothing(launcher, &call, "cancelling a job", &why) == 0 || atoll_slurm_has_ended(why.text))
        return 0;
    if (err)
        *err = why;
    return -1;
}

static int requeue(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    struct call call = {.function = do_requeue, .id = id};

    return ask_nothing(launcher, &call, "requeueing a job", err);
}

static int bad_nodes(struct atoll_launcher *launcher, const char *nodes, char *ret_names, size_t bytes,
                     struct atoll_err *err)
{
    struct call call = {
        .function = do_bad_nodes, .id = nodes, .number = bytes < INT_MAX ? (int)bytes : INT_MAX};
    struct reply reply;

    if (ask_slurm(launcher, &call, "asking after nodes", &reply, err) != 0)
        return -1;
    snprintf(ret_names, bytes, "%.*s", (int)reply.length, (const char *)reply.data);
    atoll_process_result_fini(&reply.result);
    return 0;
}

static int cluster(struct atoll_launcher *launcher, struct atoll_cluster *ret_cluster, struct atoll_err *err)
{
    struct call call = {.function = do_cluster};
    struct atoll_cluster found = {0};
    struct reply reply;

    if (ask_slurm(launcher, &call, "asking after the cluster", &reply, err) != 0)
        return -1;
    memcpy(&found, reply.data, reply.length < sizeof(found) ? reply.length : sizeof(found));
    atoll_process_result_fini(&reply.result);
    atoll_slurm_mpi_types(launcher->timeout_s, found.mpi_types, sizeof(found.mpi_types));
    *ret_cluster = found;
    return 0;
}

static void destroy(struct atoll_launcher *launcher)
{
    free(launcher);
}

static const struct atoll_launcher_ops ops = {
    .is_slurm = 1,
    .destroy = destroy,
    .submit = submit,
    .list = list,
    .ask = ask,
    .cancel = cancel,
    .requeue = requeue,
    .bad_nodes = bad_nodes,
    .cluster = cluster,
};

struct atoll_launcher *atoll_launcher_libslurm(double timeout_s, struct atoll_err *err)
{
    struct libslurm *libslurm = calloc(1, sizeof(*libslurm));
    char version[32];

    if (!libslurm) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a launcher");
        return NULL;
    }
    libslurm->base.ops = &ops;
    libslurm->base.timeout_s = timeout_s;
    if (find_plugin(timeout_s, libslurm->path, sizeof(libslurm->path), version, sizeof(version), err) != 0) {
        free(libslurm);
        return NULL;
    }
    snprintf(libslurm->base.name, sizeof(libslurm->base.name), "libslurm %s (plugin %.500s)", version,
             libslurm->path);
    return &libslurm->base;
}

/* plugin.c - the one source that includes Slurm's headers: our calls as the library's.  See plugin.h; nothing is freed, because
 * the process ends after one call. */
#include "scheduler/launcher/slurm/plugin.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* ---- what differs among versions of Slurm's library, from its headers: all of it, and nowhere else ----
 *
 *   23.11  lists of hosts are passed by pointer; GPUs are asked for as gres/gpu, before as gres:gpu
 *   24.05  the text of a reason comes from another function
 *   25.11  the reply to a submission holds the job's id inside a step id
 *   26.05  one job is loaded by its step id
 */

#define ATOLL_SLURM_AT_LEAST(major, minor) (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

#if ATOLL_SLURM_AT_LEAST(23, 11)
typedef hostlist_t *host_list;
#define ATOLL_SLURM_GRES "gres/"
#else
typedef hostlist_t host_list;
#define ATOLL_SLURM_GRES "gres:"
#endif

/* Exported by the library, declared in none of its headers; weak, so that a library without it still loads. */
#if ATOLL_SLURM_AT_LEAST(24, 5)
extern const char *slurm_job_state_reason_string(enum job_state_reason reason) __attribute__((weak));
#define ATOLL_SLURM_REASON slurm_job_state_reason_string
#else
extern char *slurm_job_reason_string(enum job_state_reason reason) __attribute__((weak));
#define ATOLL_SLURM_REASON slurm_job_reason_string
#endif

#if ATOLL_SLURM_AT_LEAST(25, 11)
#define ATOLL_SLURM_SUBMITTED(answer) ((answer)->step_id.job_id)
#else
#define ATOLL_SLURM_SUBMITTED(answer) ((answer)->job_id)
#endif

static inline int load_job(job_info_msg_t **ret_jobs, uint32_t job_id, uint16_t flags)
{
#if ATOLL_SLURM_AT_LEAST(26, 5)
    slurm_step_id_t whole_job = SLURM_STEP_ID_INITIALIZER;

    whole_job.job_id = job_id;
    return slurm_load_job(ret_jobs, whole_job, flags);
#else
    return slurm_load_job(ret_jobs, job_id, flags);
#endif
}

/* ---- the controller, and what changes one job ---- */

/* A copy that ends where the array ends; NULL is "". */
static void copy_text(char *to, size_t bytes, const char *text)
{
    snprintf(to, bytes, "%s", text ? text : "");
}

/* What Slurm says for an error number of its own; -1. */
static int refuse(struct atoll_slurm_refusal *refusal, int number)
{
    refusal->number = number;
    copy_text(refusal->text, sizeof(refusal->text), slurm_strerror(number));
    return -1;
}

static void start(void)
{
    setenv("SLURM_BITSTR_LEN", "0", 1); /* lists of array elements are not shortened */
    slurm_init(NULL);
}

/* The controller or its first backup. */
static int ping(struct atoll_slurm_refusal *refusal)
{
    int failed;

    if (slurm_ping(0) == SLURM_SUCCESS)
        return 0;
    failed = errno;
    return slurm_ping(1) == SLURM_SUCCESS ? 0 : refuse(refusal, failed);
}

static int cancel(const char *id, struct atoll_slurm_refusal *refusal)
{
    return slurm_kill_job2(id, SIGKILL, 0, NULL) == SLURM_SUCCESS ? 0 : refuse(refusal, errno);
}

static int requeue(const char *id, struct atoll_slurm_refusal *refusal)
{
    job_array_resp_msg_t *answer = NULL;
    char copy[ATOLL_JOB_ID_BYTES];

    copy_text(copy, sizeof(copy), id);
    if (slurm_requeue2(copy, 0, &answer) != SLURM_SUCCESS)
        return refuse(refusal, errno);
    for (uint32_t i = 0; answer && i < answer->job_array_count; i++) /* each element of an array */
        if (answer->error_code[i])
            return refuse(refusal, (int)answer->error_code[i]);
    return 0;
}

/* ---- submitting: a request as Slurm's description of a job, which is what sbatch makes of its #SBATCH lines ---- */

#define TRES_BYTES 256

/* The description wants texts it may change; it is never freed. */
static char *own(const char *text)
{
    return text && *text ? strdup(text) : NULL;
}

static void describe_texts(job_desc_msg_t *job, const struct atoll_job_request *request)
{
    char gpus[TRES_BYTES] = "";

    job->name = own(request->name);
    job->work_dir = own(request->work_dir);
    job->partition = own(request->partition);
    job->account = own(request->account);
    job->qos = own(request->qos);
    job->features = own(request->constraint);
    job->reservation = own(request->reservation);
    if (request->gpus_by_gres && *request->gpus_by_gres)
        snprintf(gpus, sizeof(gpus), ATOLL_SLURM_GRES "%s", request->gpus_by_gres);
    else if (request->gpus_per_node)
        snprintf(gpus, sizeof(gpus), ATOLL_SLURM_GRES "gpu:%u", request->gpus_per_node);
    job->tres_per_node = own(gpus);
    if (request->array_count) {
        char range[64];

        snprintf(range, sizeof(range), "0-%u", request->array_count - 1);
        job->array_inx = strdup(range);
    }
    job->std_in = strdup("/dev/null");
    if (request->log_path && *request->log_path) {
        job->std_out = own(request->log_path);
        job->open_mode = OPEN_MODE_APPEND;
    }
}

/* min_cpus: without it the controller gives one CPU however many tasks are asked for. */
static void describe_size(job_desc_msg_t *job, const struct atoll_job_request *request)
{
    unsigned nodes = request->nodes ? request->nodes : 1;
    unsigned tasks = nodes * (request->tasks_per_node ? request->tasks_per_node : 1);
    unsigned cpus = request->cpus_per_task ? request->cpus_per_task : 1;

    job->min_nodes = nodes;
    if (request->nodes)
        job->max_nodes = nodes;
    job->num_tasks = tasks;
    job->min_cpus = tasks * cpus;
    if (request->tasks_per_node)
        job->ntasks_per_node = (uint16_t)request->tasks_per_node;
    if (request->cpus_per_task)
        job->cpus_per_task = (uint16_t)cpus;
    if (request->time_min)
        job->time_limit = request->time_min;
}

static void describe_manner(job_desc_msg_t *job, const struct atoll_slurm_submission *submission)
{
    const struct atoll_job_request *request = submission->request;

    if (request->no_kill)
        job->kill_on_node_fail = 0;
    if (request->requeue)
        job->requeue = 1;
    if (request->exclusive)
        job->shared = JOB_SHARED_NONE;
    if (submission->signal_number > 0) {
        job->warn_flags = KILL_JOB_BATCH;
        job->warn_signal = (uint16_t)submission->signal_number;
        job->warn_time = (uint16_t)(request->signal_before_s ? request->signal_before_s : 60);
    }
}

static int call_submit(const struct atoll_slurm_submission *submission, uint32_t *ret_id,
                       struct atoll_slurm_refusal *refusal)
{
    submit_response_msg_t *answer = NULL;
    job_desc_msg_t job;

    slurm_init_job_desc_msg(&job);
    describe_texts(&job, submission->request);
    describe_size(&job, submission->request);
    describe_manner(&job, submission);
    job.script = strdup(submission->script);
    job.environment = (char **)(uintptr_t)submission->environment;
    job.env_size = submission->environment_count;
    job.user_id = (uint32_t)getuid();
    job.group_id = (uint32_t)getgid();
    if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS)
        return refuse(refusal, errno);
    *ret_id = ATOLL_SLURM_SUBMITTED(answer);
    return 0;
}

/* ---- jobs: one record of waiting array elements becomes one job for each ---- */

#define UNLIMITED_MIN (364u * 24u * 60u) /* Slurm keeps "no limit" of a running job as a year */

static const char *const base_words[] = {
    [JOB_PENDING] = "PENDING",     [JOB_RUNNING] = "RUNNING",     [JOB_SUSPENDED] = "SUSPENDED",
    [JOB_COMPLETE] = "COMPLETED",  [JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
    [JOB_TIMEOUT] = "TIMEOUT",     [JOB_NODE_FAIL] = "NODE_FAIL", [JOB_PREEMPTED] = "PREEMPTED",
    [JOB_BOOT_FAIL] = "BOOT_FAIL", [JOB_DEADLINE] = "DEADLINE",   [JOB_OOM] = "OUT_OF_MEMORY",
};

/* A flag says more than what lies below it; the first one that is set speaks. */
static const struct {
    uint32_t flag;
    const char *word;
} flag_words[] = {
    {JOB_COMPLETING, "COMPLETING"},
    {JOB_STAGE_OUT, "STAGE_OUT"},
    {JOB_CONFIGURING, "CONFIGURING"},
    {JOB_RESIZING, "RESIZING"},
    {JOB_REQUEUE, "REQUEUED"},
    {JOB_REQUEUE_FED, "REQUEUE_FED"},
    {JOB_REQUEUE_HOLD, "REQUEUE_HOLD"},
    {JOB_SPECIAL_EXIT, "SPECIAL_EXIT"},
    {JOB_STOPPED, "STOPPED"},
    {JOB_REVOKED, "REVOKED"},
    {JOB_RESV_DEL_HOLD, "RESV_DEL_HOLD"},
    {JOB_SIGNALING, "SIGNALING"},
};

static int64_t unix_s_of(time_t moment)
{
    return moment > 0 && (uint64_t)moment < (uint64_t)INFINITE - 1 ? (int64_t)moment : 0;
}

static void translate(const slurm_job_info_t *info, struct atoll_slurm_job *out)
{
    uint32_t base = info->job_state & JOB_STATE_BASE;
    int is_over = base != JOB_PENDING && base != JOB_RUNNING && base != JOB_SUSPENDED;
    int has_limit = info->time_limit != INFINITE && info->time_limit < UNLIMITED_MIN;
    const char *word = base < sizeof(base_words) / sizeof(base_words[0]) ? base_words[base] : NULL;
    struct atoll_job *job = &out->job;

    for (size_t i = sizeof(flag_words) / sizeof(flag_words[0]); i-- > 0;) /* the first one wins */
        word = info->job_state & flag_words[i].flag ? flag_words[i].word : word;
    memset(out, 0, sizeof(*out));
    copy_text(out->word, sizeof(out->word), word);
    copy_text(job->name, sizeof(job->name), info->name);
    copy_text(job->partition, sizeof(job->partition), info->partition);
    copy_text(job->nodes, sizeof(job->nodes), info->nodes);
    if (info->state_desc && *info->state_desc) {
        copy_text(job->reason, sizeof(job->reason), info->state_desc);
    } else if (info->state_reason == WAIT_HELD || info->state_reason == WAIT_HELD_USER) {
        copy_text(job->reason, sizeof(job->reason),
                  info->state_reason == WAIT_HELD ? "JobHeldAdmin" : "JobHeldUser");
    } else if (ATOLL_SLURM_REASON && info->state_reason) {
        copy_text(job->reason, sizeof(job->reason),
                  ATOLL_SLURM_REASON((enum job_state_reason)info->state_reason));
    }
    job->submit_unix_s = unix_s_of(info->submit_time);
    job->start_unix_s = unix_s_of(info->start_time);
    job->end_unix_s = is_over || (base != JOB_PENDING && has_limit) ? unix_s_of(info->end_time) : 0;
    job->node_count = info->num_nodes;
    job->restart_count = info->restart_cnt;
    job->exit_status = (int)info->exit_code; /* as wait() gave it */
}

/* "5-9,12%4" and "0-98:2": one job for each number. */
static int give_elements(const slurm_job_info_t *info, struct atoll_slurm_job *job,
                         atoll_slurm_job_sink *sink, void *context)
{
    const char *at = info->array_task_str;

    while (at && *at >= '0' && *at <= '9') {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first, step = 1;

        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (*end == ':')
            step = strtoul(end + 1, &end, 10);
        for (unsigned long i = first; step && i <= last; i += step) {
            snprintf(job->job.id, sizeof(job->job.id), "%u_%lu", info->array_job_id, i);
            if (sink(context, job) != 0)
                return -1;
        }
        at = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

static int give_all(int status, const job_info_msg_t *jobs, atoll_slurm_job_sink *sink, void *context,
                    struct atoll_slurm_refusal *refusal)
{
    if (status != SLURM_SUCCESS)
        return refuse(refusal, errno);
    for (uint32_t i = 0; i < jobs->record_count; i++) {
        const slurm_job_info_t *info = &jobs->job_array[i];
        struct atoll_slurm_job job;

        translate(info, &job);
        if (info->array_task_str && *info->array_task_str) {
            status = give_elements(info, &job, sink, context);
        } else {
            if (info->array_job_id && info->array_task_id != NO_VAL)
                snprintf(job.job.id, sizeof(job.job.id), "%u_%u", info->array_job_id, info->array_task_id);
            else
                snprintf(job.job.id, sizeof(job.job.id), "%u", info->job_id);
            status = sink(context, &job);
        }
        if (status != 0)
            return refuse(refusal, ENOMEM);
    }
    return 0;
}

static int call_list(uint32_t user_id, atoll_slurm_job_sink *sink, void *context,
                     struct atoll_slurm_refusal *refusal)
{
    job_info_msg_t *jobs = NULL;
    int status = slurm_load_job_user(&jobs, user_id, SHOW_ALL | SHOW_LOCAL);

    return give_all(status, jobs, sink, context, refusal);
}

static int call_load(uint32_t job_id, atoll_slurm_job_sink *sink, void *context,
                     struct atoll_slurm_refusal *refusal)
{
    job_info_msg_t *jobs = NULL;
    int status = load_job(&jobs, job_id, SHOW_ALL | SHOW_LOCAL);

    return give_all(status, jobs, sink, context, refusal);
}

/* ---- nodes, partitions and limits ---- */

static int is_bad(uint32_t state)
{
    uint32_t base = state & NODE_STATE_BASE;

    return base == NODE_STATE_DOWN || base == NODE_STATE_ERROR ||
           (state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND));
}

static int call_bad_nodes(const char *nodes, char *ret_names, size_t bytes,
                          struct atoll_slurm_refusal *refusal)
{
    node_info_msg_t *all = NULL;
    host_list wanted = slurm_hostlist_create(nodes);
    size_t length = 0;

    *ret_names = '\0';
    if (!wanted)
        return refuse(refusal, ESLURM_INVALID_NODE_NAME);
    if (slurm_load_node(0, &all, SHOW_ALL) != SLURM_SUCCESS)
        return refuse(refusal, errno);
    for (uint32_t i = 0; i < all->record_count; i++) {
        const node_info_t *node = &all->node_array[i];

        if (!node->name || !is_bad(node->node_state) || slurm_hostlist_find(wanted, node->name) < 0)
            continue;
        length += (size_t)snprintf(ret_names + length, bytes - length, "%s%s", length ? "," : "", node->name);
        if (length >= bytes) /* a caller would use what it does not hear of */
            return refuse(refusal, ENOMEM);
    }
    return 0;
}

/* node_inx: pairs of first and last index, ended by -1. */
static void count_nodes(const partition_info_t *info, const node_info_msg_t *nodes,
                        struct atoll_partition *out)
{
    for (const int32_t *pair = info->node_inx; pair && pair[0] >= 0; pair += 2) {
        for (int32_t i = pair[0]; i <= pair[1] && (uint32_t)i < nodes->record_count; i++) {
            const node_info_t *node = &nodes->node_array[i];

            if ((node->node_state & NODE_STATE_BASE) == NODE_STATE_IDLE && !is_bad(node->node_state) &&
                !(node->node_state & NODE_STATE_COMPLETING)) {
                out->idle_nodes++;
            }
            out->cpus_per_node = node->cpus > out->cpus_per_node ? node->cpus : out->cpus_per_node;
            if (!*out->gres)
                copy_text(out->gres, sizeof(out->gres), node->gres);
        }
    }
}

static int put_limits(struct atoll_cluster *cluster, struct atoll_slurm_refusal *refusal)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return refuse(refusal, errno);
    copy_text(cluster->version, sizeof(cluster->version), conf->version);
    copy_text(cluster->name, sizeof(cluster->name), conf->cluster_name);
    if (conf->control_cnt && conf->control_machine)
        copy_text(cluster->controller, sizeof(cluster->controller), conf->control_machine[0]);
    cluster->array_limit = conf->max_array_sz;
    cluster->job_limit = conf->max_job_cnt;
    return 0;
}

static int call_cluster(struct atoll_cluster *ret_cluster, struct atoll_slurm_refusal *refusal)
{
    const size_t limit = sizeof(ret_cluster->partitions) / sizeof(ret_cluster->partitions[0]);
    partition_info_msg_t *partitions = NULL;
    node_info_msg_t *nodes = NULL;
    double begin_s = atoll_clock_mono_s();

    if (slurm_ping(0) == SLURM_SUCCESS)
        ret_cluster->answer_s = atoll_clock_mono_s() - begin_s;
    if (put_limits(ret_cluster, refusal) != 0)
        return -1;
    if (slurm_load_partitions(0, &partitions, SHOW_ALL) != SLURM_SUCCESS ||
        slurm_load_node(0, &nodes, SHOW_ALL) != SLURM_SUCCESS) {
        return refuse(refusal, errno);
    }
    for (uint32_t i = 0; i < partitions->record_count && ret_cluster->partition_count < limit; i++) {
        const partition_info_t *info = &partitions->partition_array[i];
        struct atoll_partition *out = &ret_cluster->partitions[ret_cluster->partition_count++];

        copy_text(out->name, sizeof(out->name), info->name);
        copy_text(out->state, sizeof(out->state), info->state_up == PARTITION_UP ? "up" : "down");
        out->nodes = info->total_nodes;
        out->time_limit_min =
            info->max_time == INFINITE || info->max_time == NO_VAL ? HUGE_VAL : info->max_time;
        out->default_min =
            info->default_time == INFINITE || info->default_time == NO_VAL ? HUGE_VAL : info->default_time;
        out->is_default = (info->flags & PART_FLAG_DEFAULT) != 0;
        count_nodes(info, nodes, out);
    }
    return 0;
}

/* ---- the table that atoll looks up ---- */

extern const struct atoll_slurm_plugin atoll_slurm_plugin;
const struct atoll_slurm_plugin atoll_slurm_plugin = {
    .interface = ATOLL_SLURM_PLUGIN_INTERFACE,
    .job_bytes = sizeof(struct atoll_slurm_job),
    .cluster_bytes = sizeof(struct atoll_cluster),
    .request_bytes = sizeof(struct atoll_job_request),
    .version = SLURM_VERSION_NUMBER,
    .start = start,
    .ping = ping,
    .submit = call_submit,
    .list = call_list,
    .load = call_load,
    .cancel = cancel,
    .requeue = requeue,
    .bad_nodes = call_bad_nodes,
    .cluster = call_cluster,
};

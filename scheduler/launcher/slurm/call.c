/* call.c - see call.h.  The answer is a head, then jobs, names or a cluster. */
#include "scheduler/launcher/slurm/call.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/launcher/slurm/refusal.h"

#define OUT_BYTES ((size_t)256 << 20)
#define NO_PLUGIN 3 /* exit status: dlopen's words are on standard error */

struct head {
    int is_refused;
    struct atoll_slurm_words words;
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
    struct atoll_slurm_call *call = context;
    const struct atoll_slurm_plugin *plugin = open_plugin(call->path);
    struct head head = {0};

    if (!plugin) {
        return NO_PLUGIN;
    }
    plugin->start();
    if (call->function) {
        head.is_refused = call->function(plugin, call) != 0;
    } else {
        atoll_buffer_printf(&call->answer, "%u.%02u.%u", plugin->version >> 16, plugin->version >> 8 & 0xff,
                            plugin->version & 0xff);
    }
    head.words = call->words;
    return call->answer.failed || atoll_process_write(out_fd, &head, sizeof(head)) != 0 ||
           atoll_process_write(out_fd, call->answer.data, call->answer.length) != 0;
}

static int keep_job(void *context, const struct atoll_slurm_job *job)
{
    struct atoll_slurm_call *call = context;

    atoll_buffer_put_bytes(&call->answer, job, sizeof(*job));
    return call->answer.failed ? -1 : 0;
}

int atoll_slurm_do_ping(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call)
{
    return plugin->ping(&call->words);
}

int atoll_slurm_do_submit(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call)
{
    uint32_t id = 0;
    int status = plugin->submit(call->submission, &id, &call->words);

    atoll_buffer_put_bytes(&call->answer, &id, sizeof(id));
    return status;
}

int atoll_slurm_do_list(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call)
{
    return plugin->list((uint32_t)getuid(), keep_job, call, &call->words);
}

int atoll_slurm_do_load(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call)
{
    return plugin->load((uint32_t)strtoul(call->id, NULL, 10), keep_job, call, &call->words);
}

int atoll_slurm_do_cancel(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call)
{
    return plugin->cancel(call->id, &call->words);
}

int atoll_slurm_do_requeue(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call)
{
    return plugin->requeue(call->id, &call->words);
}

/* number: bytes that the caller has room for. */
int atoll_slurm_do_bad_nodes(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call)
{
    char *names = calloc(1, (size_t)call->number);
    int status = names ? plugin->bad_nodes(call->id, names, (size_t)call->number, &call->words) : -1;

    if (status == 0) {
        atoll_buffer_put_bytes(&call->answer, names, strlen(names) + 1);
    }
    free(names);
    return status;
}

int atoll_slurm_do_cluster(const struct atoll_slurm_plugin *plugin, struct atoll_slurm_call *call)
{
    struct atoll_cluster cluster = {0};
    int status = plugin->cluster(&cluster, &call->words);

    atoll_buffer_put_bytes(&call->answer, &cluster, sizeof(cluster));
    return status;
}

/* What a library that ends its process says comes last and says why. */
static void describe_end(const struct atoll_process_result *result, const char *what, struct atoll_err *err)
{
    if (result->status == NO_PLUGIN) {
        atoll_err_set(err, ATOLL_E_MISSING, "%s", result->words);
    } else if (*result->words) {
        atoll_slurm_refuse(what, result->words, ATOLL_E_CHILD, err);
    } else {
        atoll_err_set(err, ATOLL_E_CHILD, "%s: Slurm's library ended the process that called it (status %d)",
                      what, result->status);
    }
}

static int open_answer(const char *what, struct atoll_slurm_answer *answer, struct atoll_err *err)
{
    const struct atoll_process_result *result = &answer->result;
    struct head head;

    if (result->status != 0 || result->out.length < sizeof(head)) {
        describe_end(result, what, err);
        return -1;
    }
    memcpy(&head, result->out.data, sizeof(head));
    answer->data = result->out.data + sizeof(head);
    answer->length = result->out.length - sizeof(head);
    return head.is_refused ? atoll_slurm_refuse(what, head.words.text, ATOLL_E_INPUT, err) : 0;
}

int atoll_slurm_call_run(struct atoll_slurm_call *call, const char *what, double timeout_s,
                         struct atoll_slurm_answer *ret_answer, struct atoll_err *err)
{
    const struct atoll_process process = {.what = what,
                                          .function = in_child,
                                          .context = call,
                                          .hopeless = ATOLL_SLURM_NO_CONFIGURATION,
                                          .deadline_s = timeout_s};

    atoll_buffer_init(&call->answer, OUT_BYTES);
    if (atoll_process_run(&process, OUT_BYTES, &ret_answer->result, err) != 0) {
        return -1;
    }
    if (open_answer(what, ret_answer, err) != 0) {
        atoll_slurm_answer_fini(ret_answer);
        return -1;
    }
    return 0;
}

void atoll_slurm_answer_fini(struct atoll_slurm_answer *answer)
{
    atoll_process_result_fini(&answer->result);
}

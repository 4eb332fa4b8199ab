/* plugin.c - the table that atoll looks up, and the calls that change one job.  See plugin.h. */
#include "scheduler/launcher/slurm/plugin.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/launcher/slurm/plugin_call.h"
#include "scheduler/launcher/slurm/version.h"

void atoll_slurm_text_copy(char *to, size_t bytes, const char *text)
{
    snprintf(to, bytes, "%s", text ? text : "");
}

int atoll_slurm_words_set(struct atoll_slurm_words *words, int number)
{
    words->number = number;
    atoll_slurm_text_copy(words->text, sizeof(words->text), slurm_strerror(number));
    return -1;
}

static void start(void)
{
    setenv("SLURM_BITSTR_LEN", "0", 1); /* lists of array elements are not shortened */
    slurm_init(NULL);
}

/* The controller or its first backup. */
static int ping(struct atoll_slurm_words *words)
{
    int failed;

    if (slurm_ping(0) == SLURM_SUCCESS) {
        return 0;
    }
    failed = errno;
    return slurm_ping(1) == SLURM_SUCCESS ? 0 : atoll_slurm_words_set(words, failed);
}

/* A request for an array is answered for each of its elements. */
static int elements(int status, const job_array_resp_msg_t *answer, struct atoll_slurm_words *words)
{
    if (status != SLURM_SUCCESS) {
        return atoll_slurm_words_set(words, errno);
    }
    for (uint32_t i = 0; answer && i < answer->job_array_count; i++) {
        if (answer->error_code[i]) {
            return atoll_slurm_words_set(words, (int)answer->error_code[i]);
        }
    }
    return 0;
}

static int cancel(const char *id, struct atoll_slurm_words *words)
{
    return slurm_kill_job2(id, SIGKILL, 0, NULL) == SLURM_SUCCESS ? 0 : atoll_slurm_words_set(words, errno);
}

static int requeue(const char *id, struct atoll_slurm_words *words)
{
    job_array_resp_msg_t *answer = NULL;
    char copy[ATOLL_JOB_ID_BYTES];
    int status;

    atoll_slurm_text_copy(copy, sizeof(copy), id);
    status = slurm_requeue2(copy, 0, &answer);
    return elements(status, answer, words);
}

extern const struct atoll_slurm_plugin atoll_slurm_plugin;
const struct atoll_slurm_plugin atoll_slurm_plugin = {
    .interface = ATOLL_SLURM_PLUGIN_INTERFACE,
    .job_bytes = sizeof(struct atoll_slurm_job),
    .cluster_bytes = sizeof(struct atoll_cluster),
    .request_bytes = sizeof(struct atoll_job_request),
    .version = SLURM_VERSION_NUMBER,
    .start = start,
    .ping = ping,
    .submit = atoll_slurm_call_submit,
    .list = atoll_slurm_call_list,
    .load = atoll_slurm_call_load,
    .cancel = cancel,
    .requeue = requeue,
    .bad_nodes = atoll_slurm_call_bad_nodes,
    .cluster = atoll_slurm_call_cluster,
};

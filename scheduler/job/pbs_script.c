/* pbs_script.c - PBS Professional reference guide: qsub, "Requesting resources"; select=N:ncpus=C:mpiprocs=M:ngpus=G. */
#include "scheduler/job/pbs_script.h"

#include <stdlib.h>
#include <string.h>

struct pbs {
    const struct atoll_job_request *request;
    struct atoll_buffer *out;
    struct atoll_err *err;
};

/* One word of a directive. */
static int check_word(const struct pbs *pbs, const char *what, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++) {
        if ((unsigned char)*c <= 0x20 || *c == 0x7f || strchr("'\"\\`", *c)) {
            return atoll_err_set(pbs->err, ATOLL_E_INPUT,
                                 "%s '%.120s' of a PBS job must be one word without blanks or quotes", what,
                                 text);
        }
    }
    return 0;
}

static int put_option(const struct pbs *pbs, const char *what, const char *option, const char *text)
{
    if (!text || !*text) {
        return 0;
    }
    if (check_word(pbs, what, text) != 0) {
        return -1;
    }
    atoll_buffer_printf(pbs->out, "#PBS %s%s%s\n", option, option[strlen(option) - 1] == '=' ? "" : " ",
                        text);
    return 0;
}

static unsigned gpu_count(const struct atoll_job_request *request)
{
    const char *colon = request->gpus_by_gres ? strrchr(request->gpus_by_gres, ':') : NULL;

    return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : request->gpus_per_node;
}

static int put_select(const struct pbs *pbs)
{
    const struct atoll_job_request *r = pbs->request;
    unsigned ranks = r->tasks_per_node ? r->tasks_per_node : 1,
             cpus = r->cpus_per_task ? r->cpus_per_task : 1;
    unsigned gpus = gpu_count(r);

    if (check_word(pbs, "constraint", r->constraint) != 0) {
        return -1;
    }
    atoll_buffer_printf(pbs->out, "#PBS -l select=%u:ncpus=%u:mpiprocs=%u", r->nodes ? r->nodes : 1,
                        ranks * cpus, ranks);
    if (gpus) {
        atoll_buffer_printf(pbs->out, ":ngpus=%u", gpus);
    }
    if (r->constraint && *r->constraint) {
        atoll_buffer_printf(pbs->out, ":%s", r->constraint);
    }
    atoll_buffer_printf(pbs->out, "\n#PBS -l place=scatter%s\n", r->exclusive ? ":excl" : "");
    if (r->time_min) {
        atoll_buffer_printf(pbs->out, "#PBS -l walltime=%02u:%02u:00\n", r->time_min / 60, r->time_min % 60);
    }
    return 0;
}

static int put_log(const struct pbs *pbs)
{
    const char *path = pbs->request->log_path, *slash, *percent;

    if (!path || !*path) {
        return 0;
    }
    if (check_word(pbs, "log path", path) != 0) {
        return -1;
    }
    percent = strchr(path, '%');
    slash = strrchr(path, '/');
    if (percent && (!slash || percent < slash)) {
        return atoll_err_set(pbs->err, ATOLL_E_INPUT,
                             "log path '%.200s': PBS has no %% in folders; use it in the file's name", path);
    }
    atoll_buffer_printf(pbs->out, "#PBS -j oe\n#PBS -o %.*s\n",
                        percent ? (int)(slash + 1 - path) : (int)strlen(path), path);
    return 0;
}

static int put_array(const struct pbs *pbs)
{
    const struct atoll_job_request *r = pbs->request;

    if (r->array_count == 1) {
        return atoll_err_set(pbs->err, ATOLL_E_INPUT,
                             "PBS refuses an array of one element; submit a single job");
    }
    if (r->array_count) {
        atoll_buffer_printf(pbs->out, "#PBS -J 0-%u", r->array_count - 1);
        if (r->array_at_once) {
            atoll_buffer_printf(pbs->out, "%%%u", r->array_at_once);
        }
        atoll_buffer_printf(pbs->out, "\n");
    }
    return 0;
}

/* Words of a site may hold blanks ("-l filesystems=home:eagle"), but no line break. */
static int put_extra(const struct pbs *pbs)
{
    const char *const *word = pbs->request->extra;

    for (; word && *word; word++) {
        if (strpbrk(*word, "\n\r")) {
            return atoll_err_set(pbs->err, ATOLL_E_INPUT, "a line break in directive '%.120s'; write two",
                                 *word);
        }
        atoll_buffer_printf(pbs->out, "#PBS %s\n", *word);
    }
    return 0;
}

static int refuse_unknown(const struct pbs *pbs)
{
    if (pbs->request->exclude && *pbs->request->exclude) {
        return atoll_err_set(
            pbs->err, ATOLL_E_INPUT,
            "PBS cannot exclude nodes (%.120s); leave --exclude out: the pilot avoids bad nodes itself",
            pbs->request->exclude);
    }
    if (pbs->request->qos && *pbs->request->qos) {
        return atoll_err_set(pbs->err, ATOLL_E_INPUT, "PBS has no qos (%.64s); choose a queue with partition",
                             pbs->request->qos);
    }
    return 0;
}

static int put_directives(const struct pbs *pbs)
{
    const struct atoll_job_request *r = pbs->request;
    const char *queue =
        r->reservation && *r->reservation ? r->reservation : r->partition; /* a reservation is a queue */

    if (refuse_unknown(pbs) != 0 || put_option(pbs, "name", "-N", r->name) != 0 ||
        put_option(pbs, "queue", "-q", queue) != 0 || put_option(pbs, "account", "-A", r->account) != 0 ||
        put_select(pbs) != 0 || put_log(pbs) != 0 || put_array(pbs) != 0 ||
        put_option(pbs, "dependency", "-W depend=", r->dependency) != 0) {
        return -1;
    }
    atoll_buffer_printf(pbs->out, "#PBS -r %c\n", r->requeue ? 'y' : 'n');
    return put_extra(pbs);
}

int atoll_job_script_pbs(const struct atoll_job_request *request, struct atoll_buffer *out,
                         struct atoll_err *err)
{
    struct pbs pbs = {request, out, err};
    const char *newline = request->script ? strchr(request->script, '\n') : NULL;

    if (!newline || strncmp(request->script, "#!", 2) != 0) {
        return atoll_err_set(err, ATOLL_E_INPUT, "a batch script must start with #! and an interpreter");
    }
    atoll_buffer_put_bytes(out, request->script, (size_t)(newline + 1 - request->script));
    if (put_directives(&pbs) != 0) {
        return -1;
    }
    atoll_buffer_put_bytes(out, newline + 1, strlen(newline + 1));
    return atoll_buffer_check(out, err);
}

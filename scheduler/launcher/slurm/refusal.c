#include "scheduler/launcher/slurm/refusal.h"

#include <string.h>

#define ENDED      "already completing or completed"
#define TEXT_LIMIT 600u

/* The first row that occurs decides, so what is special stands above what is general. */
static const struct {
    const char *words;
    enum atoll_code code;
    const char *remedy;
} rows[] = {
    {"Unable to contact slurm controller", ATOLL_E_TIMEOUT,
     "try again later; `scontrol ping` shows the controller"},
    {"Socket timed out", ATOLL_E_TIMEOUT, "the controller is busy or away; try again later"},
    {"Zero Bytes were transmitted", ATOLL_E_TIMEOUT, "the controller broke off; try again later"},
    {"Connection timed out", ATOLL_E_TIMEOUT, "the controller is busy or away; try again later"},
    {"endpoint is not connected", ATOLL_E_TIMEOUT, "the controller broke off; try again later"},
    {"Connection reset", ATOLL_E_TIMEOUT, "the controller broke off; try again later"},
    {"in standby mode", ATOLL_E_TIMEOUT, "a backup controller is taking over; try again later"},
    {"Slurmctld(s) not responding", ATOLL_E_TIMEOUT, "try again later"},
    {"quiesce", ATOLL_E_TIMEOUT, "the controller is starting; try again later"},
    {ATOLL_SLURM_QUEUE_FULL, ATOLL_E_LIMIT, "the queue is full; submit again when jobs have ended"},
    {"Resource temporarily unavailable", ATOLL_E_LIMIT,
     "the queue is full; submit again when jobs have ended"},
    {"Unable to create job record", ATOLL_E_LIMIT, "the queue is full; submit again when jobs have ended"},
    {"MaxSubmit", ATOLL_E_LIMIT,
     "you have as many jobs as the site allows; submit again when some have ended"},
    {"GrpSubmit", ATOLL_E_LIMIT,
     "your group has as many jobs as the site allows; submit again when some have ended"},
    {"MaxJobs", ATOLL_E_LIMIT, "you have as many jobs as the site allows; submit again when some have ended"},
    {"Job violates accounting/QOS policy", ATOLL_E_LIMIT,
     "a limit of your account or QOS: submit again when jobs have ended, or ask for less (`sacctmgr show "
     "qos`)"},
    {"Invalid partition", ATOLL_E_INPUT, "`sinfo -s` lists the partitions; name one with --partition"},
    {"No partition specified", ATOLL_E_INPUT,
     "this site has no default partition; name one with --partition"},
    {"Invalid account", ATOLL_E_INPUT,
     "`sacctmgr show associations user=$USER` lists yours; name one with --account"},
    {"Invalid qos", ATOLL_E_INPUT,
     "`sacctmgr show associations user=$USER format=qos` lists yours; name one with --qos"},
    {"Requested time limit", ATOLL_E_INPUT,
     "`sinfo -o '%P %l'` lists the partitions' limits; ask for less time"},
    {"Time limit specification required", ATOLL_E_INPUT, "this site wants a time limit; give --time"},
    {"Requested node configuration", ATOLL_E_INPUT,
     "no node has so many CPUs, tasks or GPUs; `sinfo -o '%P %c %m %G'`"},
    {"partition configuration not available", ATOLL_E_INPUT,
     "the partition takes no such job now; `scontrol show partition`"},
    {"Node count specification", ATOLL_E_INPUT,
     "the partition allows fewer nodes; `sinfo -s` lists their numbers"},
    {"More processors requested", ATOLL_E_INPUT, "ask for fewer tasks or CPUs"},
    {"CPU count per node", ATOLL_E_INPUT, "no node has so many CPUs; `sinfo -o '%P %c'`"},
    {"Invalid generic resource", ATOLL_E_INPUT,
     "this site does not know such GPUs by gres; `sinfo -o '%P %G'`"},
    {"Invalid GRES", ATOLL_E_INPUT, "`sinfo -o '%P %G'` lists the GPUs of each partition"},
    {"Invalid Trackable", ATOLL_E_INPUT, "`sinfo -o '%P %G'` lists the GPUs of each partition"},
    {"Invalid feature", ATOLL_E_INPUT, "`sinfo -o '%P %f'` lists the features that --constraint may name"},
    {"Invalid node name", ATOLL_E_INPUT, "`sinfo -N` lists the nodes"},
    {"eservation", ATOLL_E_INPUT, "`scontrol show reservation` lists them"},
    {"ependency", ATOLL_E_INPUT, "check the ids of the jobs it waits for"},
    {"Invalid job array", ATOLL_E_INPUT, "the site's MaxArraySize may be lower; `scontrol show config`"},
    {"group not permitted", ATOLL_E_DENIED,
     "this partition is not for your group; name another with --partition"},
    {"Access/permission denied", ATOLL_E_DENIED, "the job may be another user's, or not yours to change"},
    {"Invalid user id", ATOLL_E_DENIED, "the controller does not know you; ask the site"},
    {"Operation not permitted", ATOLL_E_DENIED, "ask the site"},
    {"authentication", ATOLL_E_DENIED, "is munge running on this node, with the cluster's key?"},
    {"Munge", ATOLL_E_DENIED, "is munge running on this node, with the cluster's key?"},
    {"Incompatible versions", ATOLL_E_MISSING, "load the Slurm module that fits the cluster"},
    {"can not be altered now", ATOLL_E_BUSY, "the job is between two states, or does not run"},
    {"Invalid job id", ATOLL_E_NOTFOUND, "it may have ended long ago: the queue forgets"},
    {"No such job", ATOLL_E_NOTFOUND, "it may have ended long ago: the queue forgets"},
    {ENDED, ATOLL_E_INPUT, "it has ended"},
    {"pending execution", ATOLL_E_INPUT, "it waits and does not run"},
    {"Job is no longer pending", ATOLL_E_INPUT, "it has started"},
    {"Requested operation is presently disabled", ATOLL_E_INPUT,
     "the job's state or its --no-requeue does not allow it"},
};

int atoll_slurm_refuse(const char *what, const char *words, enum atoll_code otherwise, struct atoll_err *err)
{
    const char *text = words;
    size_t length = strlen(what);

    if (strncmp(text, what, length) == 0 && text[length] == ':') /* "sbatch: error: ..." of sbatch */
        text += length + 1 + strspn(text + length + 1, " ");
    text += strncmp(text, "error: ", 7) == 0 ? 7 : 0;
    length = strlen(text);

    while (length && (text[length - 1] == '\n' || text[length - 1] == ' '))
        length--;
    length = length < TEXT_LIMIT ? length : TEXT_LIMIT;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strstr(words, rows[i].words))
            return atoll_err_set(err, rows[i].code, "%s: %.*s; %s", what, (int)length, text, rows[i].remedy);
    return length ? atoll_err_set(err, otherwise, "%s: %.*s", what, (int)length, text)
                  : atoll_err_set(err, otherwise, "%s was refused without a word", what);
}

int atoll_slurm_has_ended(const char *words)
{
    return strstr(words, ENDED) != NULL;
}

/* commands.c - Slurm through sbatch, squeue, scancel, scontrol and sinfo: for sites whose library no plugin fits.
 *
 * Each command is a child with a deadline whose process group is killed; a hanging command costs the deadline and nothing
 * else.  One command is one request to the controller. */
#include "scheduler/launcher/slurm/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "scheduler/launcher/launcher_ops.h"
#include "scheduler/launcher/slurm/environment.h"
#include "scheduler/launcher/slurm/refusal.h"

#define OUT_BYTES    ((size_t)128 << 20)
#define SCRIPT_BYTES ((size_t)4 << 20)
#define PING_S       5.0

struct commands {
    struct atoll_launcher base;
    struct atoll_slurm_environment environment; /* of all commands but sbatch */
    int was_silent;                             /* the controller, when it was asked last */
};

/* Runs one and keeps its output; -1 with the refusal that its words stand for. */
static int run_plain(const char *const *argv, char *const *environment, double timeout_s,
                     struct atoll_process_result *ret_result, struct atoll_err *err)
{
    const struct atoll_process process = {
        .what = argv[0], .argv = argv, .environment = environment, .deadline_s = timeout_s};

    if (atoll_process_run(&process, OUT_BYTES, ret_result, err) != 0)
        return -1;
    if (ret_result->status == 0)
        return 0;
    atoll_slurm_refuse(argv[0], *ret_result->words ? ret_result->words : (const char *)ret_result->out.data,
                       ATOLL_E_INPUT, err);
    atoll_process_result_fini(ret_result);
    return -1;
}

/* A controller that was silent is pinged before anything else: commands wait up to 18 s for it, each of them. */
static int check_controller(struct commands *commands, struct atoll_err *err)
{
    static const char *const argv[] = {"scontrol", "ping", NULL};
    const struct atoll_process process = {
        .what = "scontrol ping",
        .argv = argv,
        .environment = commands->environment.items,
        .deadline_s = commands->base.timeout_s < PING_S ? commands->base.timeout_s : PING_S};
    struct atoll_process_result result;

    if (!commands->was_silent)
        return 0;
    if (atoll_process_run(&process, OUT_BYTES, &result, err) != 0)
        return -1;
    commands->was_silent = strstr((const char *)result.out.data, " is UP") == NULL;
    atoll_process_result_fini(&result);
    return commands->was_silent ? atoll_err_set(err, ATOLL_E_TIMEOUT,
                                                "Slurm's controller is down (scontrol ping); try again later")
                                : 0;
}

static int pass_on(const struct atoll_err *why, struct atoll_err *err)
{
    if (err)
        *err = *why;
    return -1;
}

static int run(struct atoll_launcher *launcher, const char *const *argv,
               struct atoll_process_result *ret_result, struct atoll_err *err)
{
    struct commands *commands = (struct commands *)launcher;
    struct atoll_err why = ATOLL_ERR_INIT;

    if (check_controller(commands, &why) == 0 &&
        run_plain(argv, commands->environment.items, launcher->timeout_s, ret_result, &why) == 0) {
        return 0;
    }
    commands->was_silent = why.code == ATOLL_E_TIMEOUT;
    return pass_on(&why, err);
}

/* The same for a command whose output says nothing. */
static int run_silently(struct atoll_launcher *launcher, const char *const *argv, struct atoll_err *err)
{
    struct atoll_process_result result;

    if (run(launcher, argv, &result, err) != 0)
        return -1;
    atoll_process_result_fini(&result);
    return 0;
}

int atoll_slurm_sbatch(const struct atoll_job_request *request, double timeout_s,
                       char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    static const char *const argv[] = {"sbatch", "--parsable", NULL};
    struct atoll_slurm_environment environment = {0};
    struct atoll_process_result result;
    struct atoll_buffer script;
    int status = -1;

    atoll_buffer_init(&script, SCRIPT_BYTES);
    if (atoll_job_script(request, &script, err) != 0 ||
        atoll_slurm_environment_create(request, &environment, err) != 0) {
        goto done;
    }
    atoll_buffer_put_u8(&script, 0);
    const struct atoll_process process = {.what = "sbatch",
                                          .argv = argv,
                                          .environment = environment.items,
                                          .input = (const char *)script.data,
                                          .hopeless = ATOLL_SLURM_QUEUE_FULL,
                                          .deadline_s = timeout_s};

    if (atoll_buffer_check(&script, err) != 0 || atoll_process_run(&process, SCRIPT_BYTES, &result, err) != 0)
        goto done;
    status = result.status == 0 ? atoll_slurm_submitted_read((const char *)result.out.data, ret_id, err)
                                : atoll_slurm_refuse("sbatch", result.words, ATOLL_E_INPUT, err);
    atoll_process_result_fini(&result);
done:
    atoll_slurm_environment_destroy(&environment);
    atoll_buffer_fini(&script);
    return status;
}

static int submit(struct atoll_launcher *launcher, const struct atoll_job_request *request,
                  char ret_id[ATOLL_JOB_ID_BYTES], struct atoll_err *err)
{
    struct commands *commands = (struct commands *)launcher;
    struct atoll_err why = ATOLL_ERR_INIT;

    if (check_controller(commands, &why) == 0 &&
        atoll_slurm_sbatch(request, launcher->timeout_s, ret_id, &why) == 0) {
        return 0;
    }
    commands->was_silent = why.code == ATOLL_E_TIMEOUT;
    return pass_on(&why, err);
}

/* which: "-u" or "-j" with its value. */
static int squeue(struct atoll_launcher *launcher, const char *which, const char *value,
                  struct atoll_job **ret_jobs, size_t *ret_count, struct atoll_err *err)
{
    const char *const argv[] = {
        "squeue", "--local", "-h", "-a", "-r", "-t", "all", which, value, "-O", atoll_slurm_job_format(),
        NULL};
    struct atoll_process_result result;
    struct atoll_job *jobs = NULL;
    size_t count = 0;

    if (run(launcher, argv, &result, err) != 0)
        return -1;
    if (atoll_slurm_jobs_read((const char *)result.out.data, &jobs, &count, err) != 0) {
        free(jobs);
        atoll_process_result_fini(&result);
        return -1;
    }
    atoll_process_result_fini(&result);
    *ret_jobs = jobs;
    *ret_count = count;
    return 0;
}

static int list(struct atoll_launcher *launcher, struct atoll_job **ret_jobs, size_t *ret_count,
                struct atoll_err *err)
{
    char user[32];

    snprintf(user, sizeof(user), "%lu", (unsigned long)getuid());
    return squeue(launcher, "-u", user, ret_jobs, ret_count, err);
}

static int ask(struct atoll_launcher *launcher, const char *id, struct atoll_job **ret_jobs,
               size_t *ret_count, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;

    if (squeue(launcher, "-j", id, ret_jobs, ret_count, &why) == 0)
        return 0;
    if (why.code == ATOLL_E_NOTFOUND) {
        *ret_jobs = NULL;
        *ret_count = 0;
        return 0;
    }
    return pass_on(&why, err);
}

/* Only a talkative scancel says that it does not know a job, and even then its exit status is 0. */
static int cancel(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    const char *const argv[] = {"scancel", "--verbose", id, NULL};
    struct atoll_process_result result;
    struct atoll_err why = ATOLL_ERR_INIT;

    if (run(launcher, argv, &result, &why) == 0) {
        const char *error = strstr(result.words, "error: ");

        if (error)
            atoll_slurm_refuse("scancel", error, ATOLL_E_INPUT, &why);
        atoll_process_result_fini(&result);
    }
    return !why.code || atoll_slurm_has_ended(why.text) ? 0 : pass_on(&why, err);
}

static int requeue(struct atoll_launcher *launcher, const char *id, struct atoll_err *err)
{
    const char *const argv[] = {"scontrol", "requeue", id, NULL};

    return run_silently(launcher, argv, err);
}

static int bad_nodes(struct atoll_launcher *launcher, const char *nodes, char *ret_names, size_t bytes,
                     struct atoll_err *err)
{
    const char *const argv[] = {"sinfo", "-h", "-a", "-N", "-n", nodes, "-o", ATOLL_SLURM_NODE_FORMAT, NULL};
    struct atoll_process_result result;
    int status;

    if (run(launcher, argv, &result, err) != 0)
        return -1;
    status = atoll_slurm_bad_nodes_read((const char *)result.out.data, ret_names, bytes, err);
    atoll_process_result_fini(&result);
    return status;
}

void atoll_slurm_mpi_types(double timeout_s, char *ret_types, size_t bytes)
{
    static const char *const argv[] = {"srun", "--mpi=list", NULL};
    struct atoll_process_result result;

    *ret_types = '\0';
    if (run_plain(argv, NULL, timeout_s, &result, NULL) == 0) {
        atoll_slurm_mpi_types_read(result.out.length ? (const char *)result.out.data : result.words,
                                   ret_types, bytes);
        atoll_process_result_fini(&result);
    }
}

static int read_limits(struct atoll_launcher *launcher, struct atoll_cluster *cluster, struct atoll_err *err)
{
    static const char *const argv[] = {"scontrol", "show", "config", NULL};
    struct atoll_process_result result;
    char text[32];

    if (run(launcher, argv, &result, err) != 0)
        return -1;
    const char *config = (const char *)result.out.data;

    atoll_slurm_setting_read(config, "SLURM_VERSION", cluster->version, sizeof(cluster->version));
    atoll_slurm_setting_read(config, "ClusterName", cluster->name, sizeof(cluster->name));
    atoll_slurm_setting_read(config, "SlurmctldHost[0]", cluster->controller, sizeof(cluster->controller));
    cluster->controller[strcspn(cluster->controller, "(")] = '\0'; /* "host(address)" */
    atoll_slurm_setting_read(config, "MaxArraySize", text, sizeof(text));
    cluster->array_limit = (unsigned)strtoul(text, NULL, 10);
    atoll_slurm_setting_read(config, "MaxJobCount", text, sizeof(text));
    cluster->job_limit = (unsigned)strtoul(text, NULL, 10);
    atoll_process_result_fini(&result);
    return 0;
}

static int cluster(struct atoll_launcher *launcher, struct atoll_cluster *ret_cluster, struct atoll_err *err)
{
    static const char *const partitions[] = {"sinfo", "-h", "-a", "-o", ATOLL_SLURM_PARTITION_FORMAT, NULL};
    static const char *const ping[] = {"scontrol", "ping", NULL};
    struct atoll_cluster found = {0};
    struct atoll_process_result result;
    double begin_s = atoll_clock_mono_s();
    int status;

    if (run_silently(launcher, ping, err) != 0)
        return -1;
    found.answer_s = atoll_clock_mono_s() - begin_s;
    if (read_limits(launcher, &found, err) != 0 || run(launcher, partitions, &result, err) != 0)
        return -1;
    status = atoll_slurm_partitions_read((const char *)result.out.data, &found, err);
    atoll_process_result_fini(&result);
    if (status == 0) {
        atoll_slurm_mpi_types(launcher->timeout_s, found.mpi_types, sizeof(found.mpi_types));
        *ret_cluster = found;
    }
    return status;
}

static void destroy(struct atoll_launcher *launcher)
{
    atoll_slurm_environment_destroy(&((struct commands *)launcher)->environment);
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

/* "slurm 22.05.8"; -1 where sbatch is missing or finds no configuration of a cluster. */
static int find_version(double timeout_s, char *ret_version, size_t bytes, struct atoll_err *err)
{
    static const char *const argv[] = {"sbatch", "--version", NULL};
    struct atoll_process_result result;
    const char *blank;

    if (atoll_process_run(&(struct atoll_process){.what = "sbatch",
                                                  .argv = argv,
                                                  .hopeless = ATOLL_SLURM_NO_CONFIGURATION,
                                                  .deadline_s = timeout_s},
                          OUT_BYTES, &result, err) != 0) {
        return -1;
    }
    blank = strchr((const char *)result.out.data, ' ');
    if (result.status != 0 || !blank) {
        atoll_err_set(err, ATOLL_E_MISSING,
                      "sbatch is here and finds no cluster: %.300s; SLURM_CONF names the configuration",
                      result.words);
        atoll_process_result_fini(&result);
        return -1;
    }
    snprintf(ret_version, bytes, "%.*s", (int)strcspn(blank + 1, "\n"), blank + 1);
    atoll_process_result_fini(&result);
    return 0;
}

struct atoll_launcher *atoll_launcher_commands(double timeout_s, struct atoll_err *err)
{
    struct commands *commands;
    char version[64];

    if (find_version(timeout_s, version, sizeof(version), err) != 0)
        return NULL;
    commands = calloc(1, sizeof(*commands));
    if (!commands) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a launcher");
        return NULL;
    }
    if (atoll_slurm_environment_ask(&commands->environment, err) != 0) {
        free(commands);
        return NULL;
    }
    commands->base.ops = &ops;
    commands->base.timeout_s = timeout_s;
    snprintf(commands->base.name, sizeof(commands->base.name), "commands of slurm %s", version);
    return &commands->base;
}

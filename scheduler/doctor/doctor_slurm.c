/* doctor_slurm.c - asks every launcher whether it works and the best of them what the cluster is. */
#include "scheduler/doctor/doctor_slurm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/json.h"
#include "scheduler/launcher/launcher.h"

#define TIMEOUT_S 20.0

static const struct {
    const char *name;
    enum atoll_launcher_kind kind;
} kinds[] = {{"libslurm", ATOLL_LAUNCHER_LIBSLURM},
             {"commands", ATOLL_LAUNCHER_COMMANDS},
             {"local", ATOLL_LAUNCHER_LOCAL}};

/* No limit is null. */
static json_t *minutes_json(double minutes)
{
    return isfinite(minutes) ? json_real(minutes) : json_null();
}

static void ask_cluster(struct atoll_launcher *launcher, json_t *slurm)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cluster *cluster = malloc(sizeof(*cluster));
    json_t *partitions = json_array();

    if (!cluster || atoll_launcher_cluster(launcher, cluster, &err) != 0) {
        json_object_set_new(slurm, "ok", json_false());
        json_object_set_new(slurm, "text", atoll_json_text(cluster ? err.text : "no memory"));
        json_decref(partitions);
        free(cluster);
        return;
    }
    json_object_set_new(
        slurm, "cluster",
        json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:f}", "version", atoll_json_text(cluster->version), "name",
                  atoll_json_text(cluster->name), "controller", atoll_json_text(cluster->controller),
                  "mpi_types", atoll_json_text(cluster->mpi_types), "array_limit", (int)cluster->array_limit,
                  "job_limit", (int)cluster->job_limit, "answer_s", cluster->answer_s));
    for (size_t i = 0; i < cluster->partition_count; i++) {
        const struct atoll_partition *p = &cluster->partitions[i];

        json_array_append_new(partitions,
                              json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:b}", "name",
                                        atoll_json_text(p->name), "state", atoll_json_text(p->state), "nodes",
                                        (int)p->nodes, "idle_nodes", (int)p->idle_nodes, "cpus_per_node",
                                        (int)p->cpus_per_node, "gres", atoll_json_text(p->gres),
                                        "time_limit_min", minutes_json(p->time_limit_min), "default_min",
                                        minutes_json(p->default_min), "is_default", p->is_default));
    }
    json_object_set_new(slurm, "partitions", partitions);
    free(cluster);
}

/* What the queue says of the job that this runs in; without an answer what the environment says. */
static void ask_job(struct atoll_launcher *launcher, const char *id, json_t *slurm)
{
    const char *nodes = getenv("SLURM_JOB_NODELIST"), *count = getenv("SLURM_JOB_NUM_NODES");
    struct atoll_err err = ATOLL_ERR_INIT;
    double left_s = 0;
    json_t *job = json_pack("{s:o, s:o, s:i}", "id", atoll_json_text(id), "nodes",
                            atoll_json_text(nodes ? nodes : ""), "node_count", count ? atoi(count) : 1);

    if (atoll_launcher_remaining(launcher, id, &left_s, &err) != 0)
        json_object_set_new(job, "problem", atoll_json_text(err.text));
    else
        json_object_set_new(job, "remaining_s", isfinite(left_s) ? json_real(left_s) : json_null());
    json_object_set_new(slurm, "job", job);
}

json_t *atoll_doctor_slurm(void)
{
    json_t *slurm = json_object(), *why = json_object();
    struct atoll_launcher *launcher = NULL;
    const char *id = getenv("SLURM_JOB_ID"), *name;

    /* The first that works; of those before it the reasons. */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !launcher; i++) {
        struct atoll_err err = ATOLL_ERR_INIT;

        launcher = atoll_launcher_create(kinds[i].kind, TIMEOUT_S, &err);
        if (!launcher)
            json_object_set_new(why, kinds[i].name, atoll_json_text(err.text));
    }
    name = launcher ? atoll_launcher_name(launcher) : "";
    json_object_set_new(slurm, "ok", json_boolean(launcher != NULL));
    json_object_set_new(slurm, "launcher", atoll_json_text(name));
    json_object_set_new(slurm, "text", atoll_json_text(launcher ? name : "no launcher works"));
    json_object_set_new(slurm, "why", why);
    if (launcher && atoll_launcher_is_slurm(launcher)) {
        ask_cluster(launcher, slurm);
        if (id && *id)
            ask_job(launcher, id, slurm);
    } else if (launcher) {
        json_object_set_new(slurm, "text",
                            json_string("no Slurm here: jobs run on this machine, one after another"));
    }
    atoll_launcher_destroy(launcher);
    return slurm;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static int number_of(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

void atoll_doctor_slurm_print(const json_t *slurm, FILE *out)
{
    const json_t *cluster = json_object_get(slurm, "cluster"), *job = json_object_get(slurm, "job");
    const char *kind;
    json_t *why, *partition;
    char time[32];
    size_t i;

    json_object_foreach(json_object_get(slurm, "why"), kind, why)
    {
        fprintf(out, "     %-18s %s\n", kind, json_string_value(why));
    }
    if (cluster) {
        fprintf(out, "     %-18s %s, Slurm %s, controller %s answered in %s\n", "cluster",
                text_of(cluster, "name"), text_of(cluster, "version"), text_of(cluster, "controller"),
                atoll_duration_text(json_real_value(json_object_get(cluster, "answer_s")) * 1e9, time,
                                    sizeof(time)));
        fprintf(out, "     %-18s MaxJobCount %d, MaxArraySize %d\n", "limits",
                number_of(cluster, "job_limit"), number_of(cluster, "array_limit"));
        fprintf(out, "     %-18s %s\n", "mpi",
                *text_of(cluster, "mpi_types") ? text_of(cluster, "mpi_types")
                                               : "srun does not say which kinds it starts");
    }
    json_array_foreach(json_object_get(slurm, "partitions"), i, partition)
    {
        const json_t *limit = json_object_get(partition, "time_limit_min");

        snprintf(time, sizeof(time), "no limit");
        if (json_is_real(limit))
            atoll_duration_text(json_real_value(limit) * 60e9, time, sizeof(time));
        fprintf(out, "     %-18s %d nodes (%d idle), %d CPUs each%s%s, time %s, %s\n",
                text_of(partition, "name"), number_of(partition, "nodes"), number_of(partition, "idle_nodes"),
                number_of(partition, "cpus_per_node"), *text_of(partition, "gres") ? ", " : "",
                text_of(partition, "gres"), time,
                json_is_true(json_object_get(partition, "is_default")) ? "the default"
                                                                       : text_of(partition, "state"));
    }
    if (job) {
        const json_t *left = json_object_get(job, "remaining_s");

        snprintf(time, sizeof(time), "without a limit");
        if (json_is_real(left))
            atoll_duration_text(json_real_value(left) * 1e9, time, sizeof(time));
        fprintf(out, "     %-18s job %s of %d nodes (%s), time left: %s\n", "here", text_of(job, "id"),
                number_of(job, "node_count"), text_of(job, "nodes"),
                json_object_get(job, "problem") ? text_of(job, "problem") : time);
    }
}

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

/* The first that works; of those before it the reasons. */
static struct atoll_launcher *find_launcher(json_t *why)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_launcher *launcher = atoll_launcher_create(kinds[i].kind, TIMEOUT_S, &err);

        if (launcher) {
            return launcher;
        }
        json_object_set_new(why, kinds[i].name, atoll_json_text(err.text));
    }
    return NULL;
}

/* No limit is null. */
static json_t *minutes_json(double minutes)
{
    return isfinite(minutes) ? json_real(minutes) : json_null();
}

static json_t *partitions_json(const struct atoll_cluster *cluster)
{
    json_t *array = json_array();

    for (size_t i = 0; i < cluster->partition_count; i++) {
        const struct atoll_partition *p = &cluster->partitions[i];

        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:b}", "name",
                                        atoll_json_text(p->name), "state", atoll_json_text(p->state), "nodes",
                                        (int)p->nodes, "idle_nodes", (int)p->idle_nodes, "cpus_per_node",
                                        (int)p->cpus_per_node, "gres", atoll_json_text(p->gres),
                                        "time_limit_min", minutes_json(p->time_limit_min), "default_min",
                                        minutes_json(p->default_min), "is_default", p->is_default));
    }
    return array;
}

static json_t *cluster_json(const struct atoll_cluster *cluster)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:i, s:f}", "version", atoll_json_text(cluster->version),
                     "name", atoll_json_text(cluster->name), "controller",
                     atoll_json_text(cluster->controller), "mpi_types", atoll_json_text(cluster->mpi_types),
                     "array_limit", (int)cluster->array_limit, "job_limit", (int)cluster->job_limit,
                     "answer_s", cluster->answer_s);
}

/* What the queue says of the job that this runs in; without an answer what the environment says. */
static json_t *job_json(struct atoll_launcher *launcher, const char *id)
{
    const char *nodes = getenv("SLURM_JOB_NODELIST"), *count = getenv("SLURM_JOB_NUM_NODES");
    struct atoll_err err = ATOLL_ERR_INIT;
    double left_s = 0;
    json_t *job = json_pack("{s:o, s:o, s:i}", "id", atoll_json_text(id), "nodes",
                            atoll_json_text(nodes ? nodes : ""), "node_count", count ? atoi(count) : 1);

    if (atoll_launcher_remaining(launcher, id, &left_s, &err) != 0) {
        json_object_set_new(job, "problem", atoll_json_text(err.text));
    } else {
        json_object_set_new(job, "remaining_s", isfinite(left_s) ? json_real(left_s) : json_null());
    }
    return job;
}

static void ask_cluster(struct atoll_launcher *launcher, json_t *slurm)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_cluster *cluster = malloc(sizeof(*cluster));

    if (!cluster || atoll_launcher_cluster(launcher, cluster, &err) != 0) {
        json_object_set_new(slurm, "ok", json_false());
        json_object_set_new(slurm, "text", atoll_json_text(cluster ? err.text : "no memory"));
    } else {
        json_object_set_new(slurm, "cluster", cluster_json(cluster));
        json_object_set_new(slurm, "partitions", partitions_json(cluster));
    }
    free(cluster);
}

json_t *atoll_doctor_slurm(void)
{
    json_t *slurm = json_object(), *why = json_object();
    struct atoll_launcher *launcher = find_launcher(why);
    const char *id = getenv("SLURM_JOB_ID");

    json_object_set_new(slurm, "ok", json_boolean(launcher != NULL));
    json_object_set_new(slurm, "launcher", atoll_json_text(launcher ? atoll_launcher_name(launcher) : ""));
    json_object_set_new(slurm, "text",
                        atoll_json_text(launcher ? atoll_launcher_name(launcher) : "no launcher works"));
    json_object_set_new(slurm, "why", why);
    if (launcher && atoll_launcher_is_slurm(launcher)) {
        ask_cluster(launcher, slurm);
        if (id && *id) {
            json_object_set_new(slurm, "job", job_json(launcher, id));
        }
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

static void print_partition(const json_t *partition, FILE *out)
{
    const json_t *limit = json_object_get(partition, "time_limit_min");
    char time[32] = "no limit";

    if (json_is_real(limit)) {
        atoll_duration_text(json_real_value(limit) * 60e9, time, sizeof(time));
    }
    fprintf(out, "     %-18s %d nodes (%d idle), %d CPUs each%s%s, time %s, %s\n", text_of(partition, "name"),
            number_of(partition, "nodes"), number_of(partition, "idle_nodes"),
            number_of(partition, "cpus_per_node"), *text_of(partition, "gres") ? ", " : "",
            text_of(partition, "gres"), time,
            json_is_true(json_object_get(partition, "is_default")) ? "the default"
                                                                   : text_of(partition, "state"));
}

static void print_cluster(const json_t *cluster, FILE *out)
{
    char time[32];

    fprintf(
        out, "     %-18s %s, Slurm %s, controller %s answered in %s\n", "cluster", text_of(cluster, "name"),
        text_of(cluster, "version"), text_of(cluster, "controller"),
        atoll_duration_text(json_real_value(json_object_get(cluster, "answer_s")) * 1e9, time, sizeof(time)));
    fprintf(out, "     %-18s MaxJobCount %d, MaxArraySize %d\n", "limits", number_of(cluster, "job_limit"),
            number_of(cluster, "array_limit"));
    fprintf(out, "     %-18s %s\n", "mpi",
            *text_of(cluster, "mpi_types") ? text_of(cluster, "mpi_types")
                                           : "srun does not say which kinds it starts");
}

static void print_job(const json_t *job, FILE *out)
{
    const json_t *left = json_object_get(job, "remaining_s");
    char time[32] = "without a limit";

    if (json_is_real(left)) {
        atoll_duration_text(json_real_value(left) * 1e9, time, sizeof(time));
    }
    fprintf(out, "     %-18s job %s of %d nodes (%s), time left: %s\n", "here", text_of(job, "id"),
            number_of(job, "node_count"), text_of(job, "nodes"),
            json_object_get(job, "problem") ? text_of(job, "problem") : time);
}

void atoll_doctor_slurm_print(const json_t *slurm, FILE *out)
{
    const json_t *cluster = json_object_get(slurm, "cluster"), *job = json_object_get(slurm, "job");
    const char *kind;
    json_t *why, *partition;
    size_t i;

    json_object_foreach(json_object_get(slurm, "why"), kind, why)
    {
        fprintf(out, "     %-18s %s\n", kind, json_string_value(why));
    }
    if (cluster) {
        print_cluster(cluster, out);
    }
    json_array_foreach(json_object_get(slurm, "partitions"), i, partition)
    {
        print_partition(partition, out);
    }
    if (job) {
        print_job(job, out);
    }
}

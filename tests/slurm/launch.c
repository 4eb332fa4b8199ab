/* launch.c - a launcher at the end of a pipe, for tests in Python: one JSON object a line in ({"do": "ask", "id": "12"}), one
 * out ({"ok": true, ...} or {"ok": false, "code": "timeout", "text": "..."}). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/launcher/launcher.h"

#define LINE_BYTES ((size_t)1 << 20)

static const char *text_of(const json_t *order, const char *key)
{
    return json_string_value(json_object_get(order, key));
}

static unsigned number_of(const json_t *order, const char *key)
{
    return (unsigned)json_integer_value(json_object_get(order, key));
}

static int flag_of(const json_t *order, const char *key)
{
    return json_is_true(json_object_get(order, key));
}

static json_t *failure(const struct atoll_err *err)
{
    return json_pack("{s:b, s:s, s:s}", "ok", 0, "code", atoll_code_name(err->code), "text", err->text);
}

static json_t *plain(int status, const struct atoll_err *err)
{
    return status == 0 ? json_pack("{s:b}", "ok", 1) : failure(err);
}

static json_t *job_json(const struct atoll_job *job)
{
    return json_pack("{s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:I, s:I, s:I}", "ok", 1, "id",
                     job->id, "name", job->name, "state", atoll_job_state_name(job->state), "reason",
                     job->reason, "partition", job->partition, "nodes", job->nodes, "node_count",
                     (int)job->node_count, "restart_count", (int)job->restart_count, "exit_status",
                     job->exit_status, "submit", (json_int_t)job->submit_unix_s, "start",
                     (json_int_t)job->start_unix_s, "end", (json_int_t)job->end_unix_s);
}

static struct atoll_job_request request_of(const json_t *order, const char *extra[], size_t extra_count)
{
    json_t *words = json_object_get(order, "extra");

    for (size_t i = 0; i < json_array_size(words) && i + 1 < extra_count; i++)
        extra[i] = json_string_value(json_array_get(words, i));
    return (struct atoll_job_request){
        .name = text_of(order, "name"),
        .script = text_of(order, "script"),
        .work_dir = text_of(order, "work_dir"),
        .log_path = text_of(order, "log_path"),
        .partition = text_of(order, "partition"),
        .account = text_of(order, "account"),
        .qos = text_of(order, "qos"),
        .constraint = text_of(order, "constraint"),
        .reservation = text_of(order, "reservation"),
        .gpus_by_gres = text_of(order, "gres"),
        .gpus_per_node = number_of(order, "gpus"),
        .nodes = number_of(order, "nodes"),
        .tasks_per_node = number_of(order, "tasks"),
        .cpus_per_task = number_of(order, "cpus"),
        .time_min = number_of(order, "time"),
        .array_count = number_of(order, "array"),
        .signal_name = text_of(order, "signal"),
        .signal_before_s = number_of(order, "before"),
        .no_kill = flag_of(order, "no_kill"),
        .requeue = flag_of(order, "requeue"),
        .exclusive = flag_of(order, "exclusive"),
        .extra = words ? extra : NULL,
    };
}

static json_t *do_submit(struct atoll_launcher *launcher, const json_t *order, struct atoll_err *err)
{
    const char *extra[8] = {0};
    struct atoll_job_request request = request_of(order, extra, 8);
    char id[ATOLL_JOB_ID_BYTES];

    return atoll_launcher_submit(launcher, &request, id, err) == 0
               ? json_pack("{s:b, s:s}", "ok", 1, "id", id)
               : failure(err);
}

static json_t *do_list(struct atoll_launcher *launcher, const json_t *order, struct atoll_err *err)
{
    struct atoll_job *jobs;
    size_t count;
    json_t *array;

    if (atoll_launcher_list(launcher, text_of(order, "prefix"), &jobs, &count, err) != 0)
        return failure(err);
    array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, job_json(&jobs[i]));
    free(jobs);
    return json_pack("{s:b, s:o}", "ok", 1, "jobs", array);
}

static json_t *do_ask(struct atoll_launcher *launcher, const json_t *order, struct atoll_err *err)
{
    struct atoll_job job;

    return atoll_launcher_ask(launcher, text_of(order, "id"), &job, err) == 0 ? job_json(&job) : failure(err);
}

static json_t *do_remaining(struct atoll_launcher *launcher, const json_t *order, struct atoll_err *err)
{
    double seconds;

    if (atoll_launcher_remaining(launcher, text_of(order, "id"), &seconds, err) != 0)
        return failure(err);
    return json_pack("{s:b, s:f}", "ok", 1, "seconds", seconds > 1e30 ? 1e30 : seconds);
}

static json_t *do_bad_nodes(struct atoll_launcher *launcher, const json_t *order, struct atoll_err *err)
{
    char names[4096];

    return atoll_launcher_bad_nodes(launcher, text_of(order, "nodes"), names, sizeof(names), err) == 0
               ? json_pack("{s:b, s:s}", "ok", 1, "names", names)
               : failure(err);
}

static json_t *do_cluster(struct atoll_launcher *launcher, struct atoll_err *err)
{
    struct atoll_cluster cluster;
    json_t *array;

    if (atoll_launcher_cluster(launcher, &cluster, err) != 0)
        return failure(err);
    array = json_array();
    for (size_t i = 0; i < cluster.partition_count; i++) {
        const struct atoll_partition *p = &cluster.partitions[i];

        json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:b}", "name", p->name,
                                               "state", p->state, "gres", p->gres, "nodes", (int)p->nodes,
                                               "idle", (int)p->idle_nodes, "cpus", (int)p->cpus_per_node,
                                               "limit", p->time_limit_min > 1e30 ? 1e30 : p->time_limit_min,
                                               "default", p->is_default));
    }
    return json_pack("{s:b, s:s, s:s, s:s, s:s, s:i, s:i, s:f, s:o}", "ok", 1, "version", cluster.version,
                     "name", cluster.name, "controller", cluster.controller, "mpi", cluster.mpi_types,
                     "array_limit", (int)cluster.array_limit, "job_limit", (int)cluster.job_limit, "answer_s",
                     cluster.answer_s, "partitions", array);
}

static json_t *obey(struct atoll_launcher *launcher, const json_t *order, struct atoll_err *err)
{
    const char *verb = text_of(order, "do"), *id = text_of(order, "id");

    if (strcmp(verb, "name") == 0) {
        return json_pack("{s:b, s:s, s:b}", "ok", 1, "name", atoll_launcher_name(launcher), "is_slurm",
                         atoll_launcher_is_slurm(launcher));
    }
    if (strcmp(verb, "submit") == 0)
        return do_submit(launcher, order, err);
    if (strcmp(verb, "list") == 0)
        return do_list(launcher, order, err);
    if (strcmp(verb, "ask") == 0)
        return do_ask(launcher, order, err);
    if (strcmp(verb, "remaining") == 0)
        return do_remaining(launcher, order, err);
    if (strcmp(verb, "bad_nodes") == 0)
        return do_bad_nodes(launcher, order, err);
    if (strcmp(verb, "cluster") == 0)
        return do_cluster(launcher, err);
    if (strcmp(verb, "cancel") == 0)
        return plain(atoll_launcher_cancel(launcher, id, err), err);
    if (strcmp(verb, "requeue") == 0)
        return plain(atoll_launcher_requeue(launcher, id, err), err);
    return json_pack("{s:b, s:s, s:s}", "ok", 0, "code", "usage", "text", verb);
}

static void answer(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(object);
}

int main(int argc, char **argv)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    static const char *const kinds[] = {"auto", "libslurm", "commands", "local"}; /* as the enum has them */
    size_t kind = 0;
    struct atoll_launcher *launcher;
    char *line = malloc(LINE_BYTES);

    while (argc >= 2 && kind < 4 && strcmp(argv[1], kinds[kind]) != 0)
        kind++;
    if (argc < 2 || kind == 4 || !line) {
        fputs("usage: launch auto|libslurm|commands|local [TIMEOUT_S]\n", stderr);
        return 2;
    }
    launcher =
        atoll_launcher_create((enum atoll_launcher_kind)kind, argc > 2 ? strtod(argv[2], NULL) : 0, &err);
    if (!launcher) {
        answer(failure(&err));
        free(line);
        return 1;
    }
    answer(json_pack("{s:b}", "ok", 1));
    while (fgets(line, (int)LINE_BYTES, stdin)) {
        json_t *order = json_loads(line, 0, NULL);

        atoll_err_clear(&err);
        if (order)
            answer(obey(launcher, order, &err));
        json_decref(order);
    }
    atoll_launcher_destroy(launcher);
    free(line);
    return 0;
}

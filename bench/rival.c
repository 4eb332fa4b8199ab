#include "bench/rival.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/json_file.h"

#define RUN_LIMIT 100000

/* A run is a list of [evaluation, time], ascending in the first and descending in the second. */
static int run_read(struct atoll_curves *curves, size_t run, json_t *improvements, double unit_ns,
                    struct atoll_err *err)
{
    size_t last = 0;
    if (!json_is_array(improvements))
        return atoll_err_set(err, ATOLL_E_INPUT, "rivals: run %zu is no list", run);
    for (size_t i = 0; i < json_array_size(improvements); i++) {
        json_t *one = json_array_get(improvements, i);
        json_int_t at = json_integer_value(json_array_get(one, 0));
        double time_ns = json_number_value(json_array_get(one, 1)) * unit_ns;
        if (at <= (json_int_t)last || !isfinite(time_ns) || !(time_ns > 0))
            return atoll_err_set(err, ATOLL_E_INPUT, "rivals: run %zu: improvement %zu makes no sense", run,
                                 i);
        last = (size_t)at;
        atoll_curves_set(curves, run, last, time_ns);
    }
    return 0;
}

static int rival_read(struct atoll_tuner_rival *rival, const char *name, json_t *value, double unit_ns,
                      size_t budget, struct atoll_err *err)
{
    json_t *runs = json_object_get(value, "runs"), *evaluations = json_object_get(value, "evaluations");
    const char *error = json_string_value(json_object_get(value, "error"));
    size_t count = json_array_size(runs);
    if (!json_is_array(runs) || count > RUN_LIMIT || json_array_size(evaluations) != count)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "rivals: '%.48s': fields 'runs' and 'evaluations' do not fit", name);
    snprintf(rival->name, sizeof(rival->name), "%s", name);
    snprintf(rival->note, sizeof(rival->note), "%s", error ? error : "");
    rival->seconds = json_number_value(json_object_get(value, "seconds"));
    rival->least_evaluations = budget;
    if (atoll_curves_init(&rival->curves, count, budget, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        json_int_t asked = json_integer_value(json_array_get(evaluations, i));
        if (asked >= 0 && (size_t)asked < rival->least_evaluations)
            rival->least_evaluations = (size_t)asked;
        if (run_read(&rival->curves, i, json_array_get(runs, i), unit_ns, err) != 0)
            return -1;
    }
    return 0;
}

static void versions_read(struct atoll_tuner_rivals *rivals, json_t *versions)
{
    const char *name;
    json_t *value;
    json_object_foreach(versions, name, value)
    {
        size_t used = strlen(rivals->versions);
        snprintf(rivals->versions + used, sizeof(rivals->versions) - used, "%s%s %s", used ? ", " : "", name,
                 json_is_string(value) ? json_string_value(value) : "?");
    }
}

static int root_read(struct atoll_tuner_rivals *rivals, json_t *root, double unit_ns, size_t budget,
                     struct atoll_err *err)
{
    json_t *strategies = json_object_get(root, "strategies"), *value;
    const char *name, *space = json_string_value(json_object_get(root, "space"));
    if (!space || json_object_size(strategies) > ATOLL_RIVAL_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT, "rivals: no 'space', or more than %d strategies",
                             ATOLL_RIVAL_LIMIT);
    if (json_integer_value(json_object_get(root, "budget")) < (json_int_t)budget)
        return atoll_err_set(err, ATOLL_E_INPUT, "rivals: recorded for less than %zu evaluations", budget);
    snprintf(rivals->space, sizeof(rivals->space), "%s", space);
    versions_read(rivals, json_object_get(root, "versions"));
    json_object_foreach(strategies, name, value)
    {
        if (rival_read(&rivals->list[rivals->count++], name, value, unit_ns, budget, err) != 0)
            return -1;
    }
    return 0;
}

struct atoll_tuner_rivals *atoll_tuner_rivals_load(const char *path, double unit_ns, size_t budget,
                                                   struct atoll_err *err)
{
    struct atoll_tuner_rivals *rivals = calloc(1, sizeof(*rivals));
    json_t *root = rivals ? atoll_json_file_load(path, err) : NULL;
    int rc = -1;
    if (!rivals)
        atoll_err_set(err, ATOLL_E_MEMORY, "rivals: out of memory");
    if (root)
        rc = root_read(rivals, root, unit_ns, budget, err);
    json_decref(root);
    if (rc == 0)
        return rivals;
    atoll_tuner_rivals_destroy(rivals);
    return NULL;
}

void atoll_tuner_rivals_destroy(struct atoll_tuner_rivals *rivals)
{
    for (size_t i = 0; rivals && i < rivals->count; i++)
        atoll_curves_fini(&rivals->list[i].curves);
    free(rivals);
}

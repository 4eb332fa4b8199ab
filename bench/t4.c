#include "bench/t4.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/json_file.h"

/* ---- parameters ---- */

/* What a parameter's digits stand for, besides the integers of atoll_param: its values as JSON, sorted. */
struct column {
    json_t *values[ATOLL_PLAN_VALUE_LIMIT + 1];
    size_t count;
};

struct reader {
    struct atoll_t4 *t4;
    json_t *results;
    struct column columns[ATOLL_SPACE_BYTES];
    size_t run_room;
};

static int value_compare(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    if (json_is_number(x) != json_is_number(y))
        return json_is_number(x) ? -1 : 1;
    if (json_is_integer(x) && json_is_integer(y))
        return (json_integer_value(x) > json_integer_value(y)) -
               (json_integer_value(x) < json_integer_value(y));
    if (json_is_number(x))
        return (json_number_value(x) > json_number_value(y)) - (json_number_value(x) < json_number_value(y));
    if (json_is_string(x) && json_is_string(y))
        return strcmp(json_string_value(x), json_string_value(y));
    return (int)json_typeof(x) - (int)json_typeof(y);
}

static int column_add(struct column *column, const char *name, json_t *value, struct atoll_err *err)
{
    if (!json_is_number(value) && !json_is_string(value) && !json_is_boolean(value))
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "t4: parameter '%.64s': a value is no number, text or truth value", name);
    for (size_t i = 0; i < column->count; i++)
        if (value_compare(&column->values[i], &value) == 0)
            return 0;
    if (column->count == ATOLL_PLAN_VALUE_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT, "t4: parameter '%.64s' has more than %d values", name,
                             ATOLL_PLAN_VALUE_LIMIT);
    column->values[column->count++] = value;
    return 0;
}

static void column_finish(struct column *column, struct atoll_param *param)
{
    int is_integer = 1;
    qsort(column->values, column->count, sizeof(*column->values), value_compare);
    for (size_t i = 0; i < column->count; i++)
        is_integer = is_integer && json_is_integer(column->values[i]);
    for (size_t i = 0; i < column->count; i++)
        param->values[i] = is_integer ? (int64_t)json_integer_value(column->values[i]) : (int64_t)i;
    param->value_count = column->count;
}

static int params_name(struct reader *r, json_t *configuration, struct atoll_err *err)
{
    const char *name;
    json_t *value;
    if (json_object_size(configuration) > ATOLL_SPACE_BYTES)
        return atoll_err_set(err, ATOLL_E_INPUT, "t4: %zu parameters, at most %d are possible",
                             json_object_size(configuration), ATOLL_SPACE_BYTES);
    json_object_foreach(configuration, name, value)
    {
        struct atoll_param *param = &r->t4->space.params[r->t4->space.count++];
        param->name = strdup(name);
        if (!param->name)
            return atoll_err_set(err, ATOLL_E_MEMORY, "t4: out of memory");
    }
    return 0;
}

static int params_collect(struct reader *r, json_t *configuration, size_t at, struct atoll_err *err)
{
    struct atoll_space *space = &r->t4->space;
    if (!json_is_object(configuration))
        return atoll_err_set(err, ATOLL_E_INPUT, "t4: result %zu: field 'configuration' is no object", at);
    if (space->count == 0 && params_name(r, configuration, err) != 0)
        return -1;
    if (json_object_size(configuration) != space->count)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "t4: result %zu: configuration: %zu parameters, others have %zu", at,
                             json_object_size(configuration), space->count);
    for (size_t i = 0; i < space->count; i++) {
        const char *name = space->params[i].name;
        json_t *value = json_object_get(configuration, name);
        if (!value)
            return atoll_err_set(err, ATOLL_E_INPUT, "t4: result %zu: configuration: '%.64s' is missing", at,
                                 name);
        if (column_add(&r->columns[i], name, value, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- entries ---- */

static const char *const status_names[ATOLL_T4_STATUS_COUNT] = {"correct", "compile", "runtime", "incorrect"};

/* The value of the first objective; 0 when there is none above 0. */
static double objective_of(json_t *result)
{
    const char *name = json_string_value(json_array_get(json_object_get(result, "objectives"), 0));
    json_t *measurements = json_object_get(result, "measurements");
    for (size_t i = 0; name && i < json_array_size(measurements); i++) {
        json_t *one = json_array_get(measurements, i);
        const char *other = json_string_value(json_object_get(one, "name"));
        double value = json_number_value(json_object_get(one, "value"));
        if (other && strcmp(name, other) == 0)
            return isfinite(value) && value > 0 ? value : 0;
    }
    return 0;
}

static enum atoll_t4_status status_of(json_t *result, const char *invalidity, double objective)
{
    json_t *correctness = json_object_get(result, "correctness");
    int is_wrong =
        json_is_false(correctness) || (json_is_number(correctness) && !(json_number_value(correctness) > 0));
    for (int s = ATOLL_T4_COMPILE; s < ATOLL_T4_STATUS_COUNT; s++)
        if (strcmp(invalidity, status_names[s]) == 0)
            return (enum atoll_t4_status)s;
    return strcmp(invalidity, "correct") == 0 && !is_wrong && objective > 0 ? ATOLL_T4_CORRECT
                                                                            : ATOLL_T4_INCORRECT;
}

static int runs_add(struct reader *r, struct atoll_t4_entry *entry, json_t *times, struct atoll_err *err)
{
    struct atoll_t4 *t4 = r->t4;
    json_t *runs = json_object_get(times, "runtimes");
    size_t used = entry->first, more = json_array_size(runs);
    if (used + more > r->run_room) {
        r->run_room = 2 * (used + more);
        double *room = realloc(t4->runs_ns, r->run_room * sizeof(*room));
        if (!room)
            return atoll_err_set(err, ATOLL_E_MEMORY, "t4: out of memory");
        t4->runs_ns = room;
    }
    for (size_t i = 0; i < more; i++) {
        double value = json_number_value(json_array_get(runs, i));
        if (isfinite(value) && value > 0)
            t4->runs_ns[entry->first + entry->run_count++] = value * t4->unit_ns;
    }
    return 0;
}

static void point_of(const struct reader *r, json_t *configuration, struct atoll_point *ret_point)
{
    memset(ret_point, 0, sizeof(*ret_point));
    for (size_t i = 0; i < r->t4->space.count; i++) {
        json_t *value = json_object_get(configuration, r->t4->space.params[i].name);
        size_t digit = 0;
        while (digit + 1 < r->columns[i].count && value_compare(&r->columns[i].values[digit], &value) != 0)
            digit++;
        ret_point->digits[i] = (uint8_t)digit;
    }
}

static int entry_add(struct reader *r, json_t *result, struct atoll_err *err)
{
    struct atoll_t4 *t4 = r->t4;
    struct atoll_t4_entry *entry = &t4->entries[t4->count];
    const struct atoll_t4_entry *last = t4->count ? entry - 1 : NULL;
    json_t *times = json_object_get(result, "times");
    double objective = objective_of(result),
           compile = json_number_value(json_object_get(times, "compilation"));
    memset(entry, 0, sizeof(*entry));
    point_of(r, json_object_get(result, "configuration"), &entry->point);
    entry->status = status_of(result, json_string_value(json_object_get(result, "invalidity")), objective);
    entry->compile_ns = isfinite(compile) && compile > 0 ? compile * t4->unit_ns : 0;
    entry->first = last ? last->first + last->run_count : 0;
    t4->count++;
    if (entry->status != ATOLL_T4_CORRECT)
        return 0;
    entry->time_ns = objective * t4->unit_ns;
    return runs_add(r, entry, times, err);
}

/* ---- lookup ---- */

static int entry_compare(const void *a, const void *b)
{
    const struct atoll_t4_entry *x = a, *y = b;
    return memcmp(&x->point, &y->point, sizeof(x->point));
}

const struct atoll_t4_entry *atoll_t4_find(const struct atoll_t4 *t4, const struct atoll_point *point)
{
    const struct atoll_t4_entry key = {.point = *point};
    return bsearch(&key, t4->entries, t4->count, sizeof(key), entry_compare);
}

static int table_legal(const void *context, const struct atoll_point *point)
{
    return atoll_t4_find(context, point) != NULL;
}

static int table_prefix(const void *context, const struct atoll_point *point, size_t known)
{
    const struct atoll_t4 *t4 = context;
    size_t low = 0, high = t4->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(&t4->entries[middle].point, point, known);
        if (order == 0)
            return 1;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* ---- load ---- */

static int unit_read(json_t *root, double *ret_unit_ns, struct atoll_err *err)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"seconds", 1e9},
                 {"milliseconds", 1e6},
                 {"miliseconds", 1e6}, /* as the files spell it */
                 {"microseconds", 1e3},
                 {"nanoseconds", 1}};
    const char *name = json_string_value(json_object_get(json_object_get(root, "metadata"), "timeunit"));
    if (!name)
        return atoll_err_set(err, ATOLL_E_INPUT, "t4: field 'metadata.timeunit' is missing");
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(name, units[i].name) == 0) {
            *ret_unit_ns = units[i].ns;
            return 0;
        }
    return atoll_err_set(err, ATOLL_E_INPUT, "t4: field 'metadata.timeunit': '%.64s' is no unit of time",
                         name);
}

static void name_read(struct atoll_t4 *t4, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(t4->name, sizeof(t4->name), "%s", slash ? slash + 1 : path);
    t4->name[strcspn(t4->name, ".")] = '\0';
    size_t length = strlen(t4->name);
    if (length > 3 && strcmp(t4->name + length - 3, "_T4") == 0)
        t4->name[length - 3] = '\0';
}

/* Names, values and legal results; drops those that a constraint excludes. */
static int results_collect(struct reader *r, json_t *root, struct atoll_err *err)
{
    json_t *all = json_object_get(root, "results");
    if (!json_is_array(all) || json_array_size(all) > ATOLL_T4_ENTRY_LIMIT)
        return atoll_err_set(err, ATOLL_E_INPUT, "t4: field 'results' is no list of at most %d results",
                             ATOLL_T4_ENTRY_LIMIT);
    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *result = json_array_get(all, i);
        const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
        if (!invalidity)
            return atoll_err_set(err, ATOLL_E_INPUT, "t4: result %zu: field 'invalidity' is no text", i);
        if (strcmp(invalidity, "constraints") == 0) {
            r->t4->constraint_count++;
            continue;
        }
        if (params_collect(r, json_object_get(result, "configuration"), i, err) != 0)
            return -1;
        if (json_array_append(r->results, result) != 0)
            return atoll_err_set(err, ATOLL_E_MEMORY, "t4: out of memory");
    }
    if (json_array_size(r->results) == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "t4: no result is legal");
    return 0;
}

static int table_make(struct reader *r, struct atoll_err *err)
{
    struct atoll_t4 *t4 = r->t4;
    size_t count = json_array_size(r->results), correct = 0;
    for (size_t i = 0; i < t4->space.count; i++)
        column_finish(&r->columns[i], &t4->space.params[i]);
    t4->entries = calloc(count, sizeof(*t4->entries));
    if (!t4->entries)
        return atoll_err_set(err, ATOLL_E_MEMORY, "t4: out of memory");
    for (size_t i = 0; i < count; i++) {
        if (entry_add(r, json_array_get(r->results, i), err) != 0)
            return -1;
        correct += t4->entries[i].status == ATOLL_T4_CORRECT;
    }
    if (correct == 0)
        return atoll_err_set(err, ATOLL_E_INPUT, "t4: no result is correct");
    qsort(t4->entries, count, sizeof(*t4->entries), entry_compare);
    for (size_t i = 1; i < count; i++)
        if (entry_compare(&t4->entries[i - 1], &t4->entries[i]) == 0)
            return atoll_err_set(err, ATOLL_E_INPUT, "t4: a configuration stands there twice");
    return 0;
}

struct atoll_t4 *atoll_t4_load(const char *path, struct atoll_err *err)
{
    struct atoll_t4 *t4 = calloc(1, sizeof(*t4));
    struct reader *r = calloc(1, sizeof(*r));
    json_t *root = t4 && r ? atoll_json_file_load(path, err) : NULL;
    int rc = -1;
    if (!t4 || !r)
        atoll_err_set(err, ATOLL_E_MEMORY, "t4: out of memory");
    if (root) {
        name_read(t4, path);
        t4->space.legal = table_legal;
        t4->space.prefix = table_prefix;
        t4->space.context = t4;
        r->t4 = t4;
        r->results = json_array();
        rc = unit_read(root, &t4->unit_ns, err) == 0 && results_collect(r, root, err) == 0
                 ? table_make(r, err)
                 : -1;
        json_decref(r->results);
        json_decref(root);
    }
    free(r);
    if (rc == 0)
        return t4;
    atoll_t4_destroy(t4);
    return NULL;
}

void atoll_t4_destroy(struct atoll_t4 *t4)
{
    if (!t4)
        return;
    for (size_t i = 0; i < t4->space.count; i++)
        free((void *)(uintptr_t)t4->space.params[i].name);
    free(t4->entries);
    free(t4->runs_ns);
    free(t4);
}

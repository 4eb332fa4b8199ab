#include "scheduler/cli/kernel_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "core/ask.h"
#include "core/task/task.h"
#include "core/verdict.h"

#define FILE_BYTES ((size_t)4 << 20)
#define TEXT_BYTES 4096

/* What the archive has on the candidate. */
struct kernel {
    const struct atoll_archive_view *view;
    struct atoll_row_candidate candidate;
    char id[ATOLL_ID_HEX];
    int64_t task_row; /* -1: none */
    struct atoll_row_task task;
    int64_t evaluation; /* -1: none */
    struct atoll_row_evaluation of;
    int has_device;
    struct atoll_row_device device;
    json_t *plan;       /* owned; NULL where the text is no JSON */
    json_t *parameters; /* owned; {NAME: VALUE} */
    json_t *shapes;     /* owned; {variant: {DIM: VALUE}}, of the kernel's backend */
};

static const char *text_of(const struct kernel *k, uint32_t text)
{
    return atoll_tables_text(k->view->tables, text);
}

json_t *atoll_kernel_parameters(const char *choice)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    json_t *object = json_object();

    while (*choice) {
        size_t length = strspn(choice, letters), word = strcspn(choice, " ");
        char name[64], *end = NULL;

        if (length > 0 && length < sizeof(name) && choice[length] == '=' &&
            !(*choice >= '0' && *choice <= '9')) {
            long long value = strtoll(choice + length + 1, &end, 10);

            snprintf(name, sizeof(name), "%.*s", (int)length, choice);
            if (end == choice + word)
                json_object_set_new(object, name, json_integer(value));
        }
        choice += word + strspn(choice + word, " ");
    }
    return object;
}

static int read_dim(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const char *name = atoll_yaml_key(node), *text = atoll_yaml_scalar(node);
    char *end = NULL;
    long long value = text ? strtoll(text, &end, 10) : 0;

    (void)walk;
    if (name && strcmp(name, "weight") != 0 && end && *end == '\0' && end > text)
        json_object_set_new(target, name, json_integer(value));
    return 0;
}

static int read_variant(struct atoll_yaml_walk *walk, const struct atoll_yaml_node *node, void *target)
{
    const struct atoll_yaml_node *wanted = atoll_yaml_find(node, "backend");
    const char *name = atoll_yaml_key(node), *backend = wanted ? atoll_yaml_scalar(wanted) : NULL;
    const char *mine = walk->owner;
    json_t *dims;

    if (!name || (backend && strcmp(backend, mine) != 0))
        return 0;
    dims = json_object();
    atoll_yaml_pairs(walk, node, ATOLL_TASK_DIM_LIMIT, "dims", read_dim, dims);
    json_object_set_new(target, name, dims);
    return 0;
}

/* Of the task's own text; {} where the archive has none. */
static json_t *shapes_read(const struct kernel *k)
{
    const char *definition = k->task_row >= 0 ? text_of(k, k->task.definition) : "";
    struct atoll_err ignored = ATOLL_ERR_INIT;
    struct atoll_yaml *yaml = atoll_yaml_parse("task.yaml", definition, strlen(definition), &ignored);
    json_t *shapes = json_object();
    char backend[8];

    snprintf(backend, sizeof(backend), "%s",
             strcmp(text_of(k, k->candidate.language), "c") == 0 ? "cpu" : "cuda");
    if (yaml) {
        struct atoll_yaml_walk walk = {.yaml = yaml, .owner = backend, .err = &ignored};
        const struct atoll_yaml_node *variants = atoll_yaml_find(atoll_yaml_root(yaml), "variants");

        if (variants)
            atoll_yaml_pairs(&walk, variants, ATOLL_TASK_VARIANT_LIMIT, "variants", read_variant, shapes);
    }
    atoll_yaml_destroy(yaml);
    return shapes;
}

static void kernel_find(const struct atoll_archive_view *view, uint64_t row, struct kernel *ret)
{
    *ret = (struct kernel){.view = view, .task_row = -1};
    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, row, &ret->candidate);
    atoll_id_hex(&ret->candidate.id, ret->id);
    ret->evaluation = atoll_query_best_evaluation(view->query, row, ATOLL_QUERY_ANY_MODEL);
    if (ret->evaluation >= 0)
        atoll_tables_get(view->tables, ATOLL_TABLE_EVALUATIONS, (uint64_t)ret->evaluation, &ret->of);
    for (uint64_t i = 0; i < atoll_tables_count(view->tables, ATOLL_TABLE_TASKS); i++) {
        struct atoll_row_task task;

        atoll_tables_get(view->tables, ATOLL_TABLE_TASKS, i, &task);
        if (task.campaign == ret->candidate.campaign && task.task == ret->candidate.task &&
            (ret->task_row < 0 || task.model == ret->of.model)) {
            ret->task = task;
            ret->task_row = (int64_t)i;
        }
    }
    for (uint64_t i = 0; ret->evaluation >= 0 && i < atoll_tables_count(view->tables, ATOLL_TABLE_DEVICES);
         i++) {
        atoll_tables_get(view->tables, ATOLL_TABLE_DEVICES, i, &ret->device);
        if (ret->device.campaign == ret->of.campaign && ret->device.key == ret->of.device) {
            ret->has_device = 1;
            break;
        }
    }
    ret->plan = json_loads(text_of(ret, ret->candidate.plan), 0, NULL);
    ret->parameters = atoll_kernel_parameters(text_of(ret, ret->candidate.choice));
    ret->shapes = shapes_read(ret);
}

static void kernel_fini(struct kernel *k)
{
    json_decref(k->plan);
    json_decref(k->parameters);
    json_decref(k->shapes);
}

/* ---- the file ---- */

/* One line of the comment.  A text of others ends no comment and moves no cursor. */
static void put(struct atoll_buffer *out, const char *name, const char *text)
{
    char line[TEXT_BYTES];

    atoll_utf8_line(line, sizeof(line), text, strlen(text));
    for (char *at = line; (at = strchr(at, '*')) != NULL; at++)
        if (at[1] == '/')
            at[1] = '|';
    atoll_buffer_printf(out, " * %-11s %s\n", name, line);
}

/* One way through the plan: a shape takes the first whose condition holds. */
static void put_path(struct atoll_buffer *out, size_t number, const json_t *path)
{
    const char *when = atoll_json_member(path, "when");
    const json_t *launch;
    char name[32], line[TEXT_BYTES];
    size_t i;

    snprintf(name, sizeof(name), "path %zu", number + 1);
    snprintf(line, sizeof(line), "%s%.1000s", *when ? "where " : "else", when);
    put(out, name, line);
    json_array_foreach(json_object_get(path, "launch"), i, launch)
    {
        char *text = json_dumps(launch, JSON_COMPACT);

        put(out, i ? "" : "  launch", text ? text : "");
        free(text);
    }
}

static void put_launches(struct atoll_buffer *out, const struct kernel *k)
{
    const json_t *scratch = json_object_get(k->plan, "scratch"), *launch, *path;
    char *text;
    size_t i;

    json_array_foreach(json_object_get(k->plan, "launch"), i, launch)
    {
        text = json_dumps(launch, JSON_COMPACT);
        put(out, i ? "" : "launch", text ? text : "");
        free(text);
    }
    json_array_foreach(json_object_get(k->plan, "paths"), i, path)
    {
        put_path(out, i, path);
    }
    text = scratch ? json_dumps(scratch, JSON_COMPACT) : NULL;
    if (text)
        put(out, "scratch", text);
    free(text);
}

static void put_shapes(struct atoll_buffer *out, const struct kernel *k)
{
    const char *variant, *dim;
    json_t *dims, *value;
    int is_first = 1;

    json_object_foreach(k->shapes, variant, dims)
    {
        char line[512];
        int length = snprintf(line, sizeof(line), "%s:", variant);

        json_object_foreach(dims, dim, value)
        {
            if (length < (int)sizeof(line))
                length += snprintf(line + length, sizeof(line) - (size_t)length, " %s=%lld", dim,
                                   (long long)json_integer_value(value));
        }
        put(out, is_first ? "shapes" : "", line);
        is_first = 0;
    }
}

/* A time with its 95 % interval, where that is known. */
static const char *time_text(double ns, double lo, double hi, char *ret_text, size_t bytes)
{
    char time[32], low[32], high[32];

    atoll_duration_text(ns, time, sizeof(time));
    if (hi > 0)
        snprintf(ret_text, bytes, "%s (%s to %s)", time, atoll_duration_text(lo, low, sizeof(low)),
                 atoll_duration_text(hi, high, sizeof(high)));
    else
        snprintf(ret_text, bytes, "%s", time);
    return ret_text;
}

/* " (95 % interval 2.20 to 2.45)", "" where it is not known. */
static const char *ratio_interval_text(double lo, double hi, char *ret_text, size_t bytes)
{
    *ret_text = '\0';
    if (hi > 0)
        snprintf(ret_text, bytes, " (95 %% interval %.4g to %.4g)", lo, hi);
    return ret_text;
}

/* Of the task's best: over the rival first, over the baseline seed second; what was compared stands below. */
static void put_finals(struct atoll_buffer *out, const struct kernel *k)
{
    const struct atoll_row_task *t = &k->task;
    char line[512], interval[64], best[112], other[112];

    if (k->task_row < 0 || !atoll_id_equal(&t->best, &k->candidate.id))
        return;
    if (t->final_rival_ratio > 0) {
        snprintf(line, sizeof(line),
                 "%.4gx%s over the rival %.100s of PyTorch, alternating blocks on fresh data, %u pairs:",
                 t->final_rival_ratio,
                 ratio_interval_text(t->final_rival_lo, t->final_rival_hi, interval, sizeof(interval)),
                 text_of(k, t->rival), t->final_rival_pairs);
        put(out, "final", line);
        snprintf(
            line, sizeof(line), "%s against %s",
            time_text(t->final_rival_best_ns, t->final_rival_best_lo_ns, t->final_rival_best_hi_ns, best,
                      sizeof(best)),
            time_text(t->final_rival_ns, t->final_rival_lo_ns, t->final_rival_hi_ns, other, sizeof(other)));
        put(out, "", line);
    }
    if (t->final_ratio > 0) {
        snprintf(line, sizeof(line),
                 "%.4gx%s over the baseline seed, side by side on fresh data, %u pairs:", t->final_ratio,
                 ratio_interval_text(t->final_lo, t->final_hi, interval, sizeof(interval)), t->final_pairs);
        put(out, t->final_rival_ratio > 0 ? "" : "final", line);
        snprintf(line, sizeof(line), "%s against %s",
                 time_text(t->final_best_ns, t->final_best_lo_ns, t->final_best_hi_ns, best, sizeof(best)),
                 time_text(t->final_baseline_ns, t->final_baseline_lo_ns, t->final_baseline_hi_ns, other,
                           sizeof(other)));
        put(out, "", line);
    }
}

static void put_times(struct atoll_buffer *out, const struct kernel *k)
{
    struct atoll_rows rows = k->evaluation >= 0 ? atoll_query_timings(k->view->query, (uint64_t)k->evaluation)
                                                : (struct atoll_rows){NULL, 0};
    char line[512], median[32], low[32], high[32], path[32] = "";

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_timing t;

        atoll_tables_get(k->view->tables, ATOLL_TABLE_TIMINGS, rows.rows[i], &t);
        if (t.path)
            snprintf(path, sizeof(path), ", path %u", t.path);
        snprintf(line, sizeof(line), "%.64s: median %s, 95 %% interval %s to %s, %u samples%s",
                 text_of(k, t.variant_name), atoll_duration_text(t.median_ns, median, sizeof(median)),
                 atoll_duration_text(t.lo95_ns, low, sizeof(low)),
                 atoll_duration_text(t.hi95_ns, high, sizeof(high)), t.sample_count, path);
        put(out, i ? "" : "times", line);
    }
    put_finals(out, k);
}

static void put_comment(struct atoll_buffer *out, const struct kernel *k)
{
    char line[TEXT_BYTES], campaign[ATOLL_ID_HEX];
    struct atoll_row_campaign row;

    atoll_buffer_printf(out, "/* Written by `atoll best --source`: compiles by itself.\n");
    snprintf(line, sizeof(line), "%.64s: %.900s", k->task_row >= 0 ? text_of(k, k->task.name) : "unknown",
             k->task_row >= 0 ? text_of(k, k->task.summary) : "");
    put(out, "task", line);
    put(out, "kernel", k->id);
    atoll_tables_get(k->view->tables, ATOLL_TABLE_CAMPAIGN, k->candidate.campaign, &row);
    atoll_id_hex(&row.id, campaign);
    put(out, "campaign", campaign);
    snprintf(line, sizeof(line), "%s of %.200s",
             atoll_operator_name((enum atoll_operator)k->candidate.operator_),
             text_of(k, k->candidate.origin));
    put(out, "made by", line);
    if (*text_of(k, k->candidate.choice))
        put(out, "parameters", text_of(k, k->candidate.choice));
    put_launches(out, k);
    put_shapes(out, k);
    put_times(out, k);
    if (k->has_device) {
        snprintf(line, sizeof(line), "%.200s, node %.100s, %s caches", text_of(k, k->device.model),
                 text_of(k, k->device.node), row.timing ? "warm" : "cold");
        put(out, "measured on", line);
        put(out, "compiled by", text_of(k, k->device.toolchain));
    }
    atoll_buffer_printf(out, " */\n");
}

/* The same in Python: its comments, and the parameters as a dictionary for whoever calls the kernels. */
static void put_python(struct atoll_buffer *out, const struct kernel *k)
{
    struct atoll_buffer comment;
    char *parameters = json_dumps(k->parameters, 0);

    atoll_buffer_init(&comment, FILE_BYTES);
    put_comment(&comment, k);
    atoll_buffer_put_u8(&comment, 0);
    for (const char *at = comment.failed ? "" : (const char *)comment.data; *at;) {
        size_t length = strcspn(at, "\n"), skip = strncmp(at, " */", 3) == 0 ? length : strspn(at, "/* ");

        if (length > skip)
            atoll_buffer_printf(out, "# %.*s\n", (int)(length - skip), at + skip);
        at += length + (at[length] == '\n');
    }
    atoll_buffer_printf(out, "# Python runs what stands below when this file is read: look at it first.\n");
    if (json_object_size(k->parameters) > 0)
        atoll_buffer_printf(out, "PARAMETERS = %s\n", parameters ? parameters : "{}");
    free(parameters);
    atoll_buffer_fini(&comment);
}

static int file_write(const struct kernel *k, struct atoll_buffer *out, struct atoll_err *err)
{
    const char *source = text_of(k, k->candidate.source), *name;
    size_t length = strlen(source);
    int is_python = strcmp(text_of(k, k->candidate.language), "triton") == 0;
    json_t *value;

    if (is_python)
        put_python(out, k);
    else
        put_comment(out, k);
    json_object_foreach(is_python ? NULL : k->parameters, name, value)
    {
        atoll_buffer_printf(out, "#ifndef %s\n#define %s %lld\n#endif\n", name, name,
                            (long long)json_integer_value(value));
    }
    atoll_buffer_put_bytes(out, source, length);
    if (length && source[length - 1] != '\n')
        atoll_buffer_put_u8(out, '\n');
    return atoll_buffer_check(out, err);
}

int atoll_kernel_file_write(const struct atoll_archive_view *view, uint64_t candidate,
                            struct atoll_buffer *out, struct atoll_err *err)
{
    struct kernel k;
    int status;

    kernel_find(view, candidate, &k);
    status = file_write(&k, out, err);
    kernel_fini(&k);
    return status;
}

/* ---- JSON ---- */

json_t *atoll_kernel_times(const struct atoll_archive_view *view, int64_t evaluation)
{
    struct atoll_rows rows = evaluation >= 0 ? atoll_query_timings(view->query, (uint64_t)evaluation)
                                             : (struct atoll_rows){NULL, 0};
    json_t *times = json_array();

    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_timing t;

        atoll_tables_get(view->tables, ATOLL_TABLE_TIMINGS, rows.rows[i], &t);
        json_t *time = json_pack("{s:o, s:f, s:f, s:f, s:i}", "variant",
                                 atoll_json_text(atoll_tables_text(view->tables, t.variant_name)),
                                 "median_ns", t.median_ns, "lo95_ns", t.lo95_ns, "hi95_ns", t.hi95_ns,
                                 "samples", (int)t.sample_count);
        if (t.path)
            json_object_set_new(time, "path", json_integer(t.path));
        json_array_append_new(times, time);
    }
    return times;
}

json_t *atoll_kernel_file_json(const struct atoll_archive_view *view, uint64_t candidate,
                               struct atoll_err *err)
{
    struct atoll_buffer out;
    struct kernel k;
    json_t *object = NULL;

    atoll_buffer_init(&out, FILE_BYTES);
    kernel_find(view, candidate, &k);
    if (file_write(&k, &out, err) == 0) {
        atoll_buffer_put_u8(&out, 0);
        object = json_pack("{s:o, s:s, s:o, s:O, s:O?, s:O, s:o, s:o, s:o, s:o}", "task",
                           atoll_json_text(k.task_row >= 0 ? text_of(&k, k.task.name) : ""), "candidate",
                           k.id, "language", atoll_json_text(text_of(&k, k.candidate.language)), "parameters",
                           k.parameters, "plan", k.plan, "shapes", k.shapes, "times",
                           atoll_kernel_times(view, k.evaluation), "device",
                           atoll_json_text(k.has_device ? text_of(&k, k.device.model) : ""), "toolchain",
                           atoll_json_text(k.has_device ? text_of(&k, k.device.toolchain) : ""), "source",
                           atoll_json_text((char *)out.data));
        if (!object)
            atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the kernel as JSON");
    }
    kernel_fini(&k);
    atoll_buffer_fini(&out);
    return object;
}

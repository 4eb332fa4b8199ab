#include "scheduler/cli/curve_view.h"

#include <string.h>

#include "archive-h5/report/best_curve.h"
#include "archive-h5/report/export.h"
#include "base/json.h"

static const char *const columns[] = {"campaign",    "task",          "model",        "evaluation",
                                      "evaluations", "seconds",       "tokens",       "tokens_estimated",
                                      "best_ns",     "floor_percent", "speedup_seed", "speedup_rival",
                                      "made_by",     "origin",        "candidate"};
#define COLUMN_COUNT (sizeof(columns) / sizeof(*columns))

/* A number that is above 0 where it is known. */
static json_t *known(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *point_json(const struct atoll_query *query, const struct atoll_row_task *task,
                          const struct atoll_curve_point *p)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    char candidate[ATOLL_ID_HEX];
    json_t *object = json_object();

    atoll_id_hex(&p->candidate, candidate);
    json_t *values[] = {json_integer(task->campaign),
                        atoll_json_text(atoll_tables_text(t, task->name)),
                        atoll_json_text(atoll_tables_text(t, task->model_name)),
                        p->evaluation ? json_integer((json_int_t)p->evaluation) : json_null(),
                        json_integer((json_int_t)p->evaluations),
                        known((double)p->campaign_ns * 1e-9),
                        json_integer((json_int_t)p->tokens),
                        json_integer((json_int_t)p->tokens_estimated),
                        json_real(p->best_ns),
                        known(100 * p->floor_share),
                        known(p->seed_ratio),
                        known(p->rival_ratio),
                        json_string(atoll_maker_name(p->maker)),
                        atoll_json_text(p->origin),
                        json_string(candidate)};
    _Static_assert(sizeof(values) / sizeof(*values) == COLUMN_COUNT, "a value for each column");
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        json_object_set_new(object, columns[i], values[i]);
    return object;
}

json_t *atoll_curve_view_json(const struct atoll_query *query, const char *only, struct atoll_err *err)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    json_t *rows = json_array();

    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_TASKS); i++) {
        struct atoll_curve curve;
        struct atoll_curve_point point;
        struct atoll_row_task task;

        atoll_tables_get(t, ATOLL_TABLE_TASKS, i, &task);
        if (only && strcmp(only, atoll_tables_text(t, task.name)) != 0)
            continue;
        if (atoll_curve_init(&curve, query, i, err) != 0) {
            json_decref(rows);
            return NULL;
        }
        while (atoll_curve_next(&curve, &point))
            json_array_append_new(rows, point_json(query, &task, &point));
        atoll_curve_fini(&curve);
    }
    return rows;
}

static void put_value(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        atoll_export_csv_field(out, json_string_value(value), 0);
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.12g", json_real_value(value));
}

int atoll_curve_view_csv(const struct atoll_query *query, const char *only, FILE *out, struct atoll_err *err)
{
    json_t *rows = atoll_curve_view_json(query, only, err);
    size_t i;
    json_t *row;

    if (!rows)
        return -1;
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        fprintf(out, "%s%s", columns[c], c + 1 < COLUMN_COUNT ? "," : "\r\n");
    json_array_foreach(rows, i, row)
    {
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            put_value(out, json_object_get(row, columns[c]));
            fputs(c + 1 < COLUMN_COUNT ? "," : "\r\n", out);
        }
    }
    json_decref(rows);
    return 0;
}

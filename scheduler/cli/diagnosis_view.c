#include "scheduler/cli/diagnosis_view.h"

#include "base/json.h"

static json_t *number(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

/* 0: nothing is known. */
static int find(const struct atoll_query *query, uint64_t row, struct atoll_diagnosis *ret)
{
    struct atoll_row_evaluation e;

    atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_EVALUATIONS, row, &e);
    atoll_query_diagnosis(query, row, ret);
    return atoll_row_is_diagnosed(&e);
}

json_t *atoll_diagnosis_view_json(const struct atoll_query *query, int64_t evaluation_row)
{
    struct atoll_diagnosis d;
    char text[ATOLL_DIAGNOSIS_BYTES];

    if (evaluation_row < 0 || !find(query, (uint64_t)evaluation_row, &d))
        return json_null();
    json_t *unused = json_array();
    for (unsigned i = 0; i < ATOLL_UNUSED_COUNT; i++)
        if (d.unused >> i & 1)
            json_array_append_new(unused, json_string(atoll_unused_name((enum atoll_unused)i)));
    return json_pack("{s:s, s:s, s:o, s:s, s:o, s:b, s:s, s:o, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, "
                     "s:s, s:o, s:s}",
                     "error_class", atoll_error_class_name(d.error), "limiter", atoll_limiter_name(d.limiter),
                     "percent", number(d.figure), "next", atoll_limiter_name(d.next), "next_percent",
                     number(d.next_figure), "counted", d.is_counted != ATOLL_COUNTED_NOT, "stall",
                     atoll_stall_name(d.stall), "stall_percent", number(d.stall_share), "next_stall",
                     atoll_stall_name(d.next_stall), "next_stall_percent", number(d.next_stall_share),
                     "blocks", number(d.blocks), "wave_blocks", number(d.wave_blocks), "occupancy_limit",
                     atoll_occupancy_limit_name(d.occupancy_by), "unused", unused, "traffic_efficiency",
                     number(d.traffic), "memory_percent", number(d.memory_share), "useful_flops_per_s",
                     number(d.flops_per_s), "arithmetic", atoll_mix_name(d.unit), "arithmetic_percent",
                     number(d.unit_share), "text", atoll_diagnosis_text(&d, text, sizeof(text)));
}

const char *atoll_diagnosis_view_text(const struct atoll_query *query, uint64_t evaluation_row,
                                      char *ret_text, size_t bytes)
{
    struct atoll_diagnosis d;

    ret_text[0] = '\0';
    return find(query, evaluation_row, &d) ? atoll_diagnosis_text(&d, ret_text, bytes) : ret_text;
}

const char *atoll_diagnosis_view_label(const struct atoll_row_evaluation *e, char *ret_text, size_t bytes)
{
    struct atoll_diagnosis d;

    atoll_row_diagnosis_get(e, &d);
    return atoll_diagnosis_label(&d, ret_text, bytes);
}

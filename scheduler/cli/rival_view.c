#include "scheduler/cli/rival_view.h"

#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "core/verdict.h"

#define TIME_BYTES 192

/* "6.37 ms (6.30 ms to 6.44 ms), one call from Python 6.51 ms" */
static const char *time_text(double ns, double lo, double hi, double host_ns, char ret_text[TIME_BYTES])
{
    char time[32], low[32], high[32], host[32];

    atoll_duration_text(host_ns, host, sizeof(host));
    snprintf(ret_text, TIME_BYTES, "%s (%s to %s)%s%s", atoll_duration_text(ns, time, sizeof(time)),
             atoll_duration_text(lo, low, sizeof(low)), atoll_duration_text(hi, high, sizeof(high)),
             host_ns > 0 ? ", one call from Python " : "", host_ns > 0 ? host : "");
    return ret_text;
}

static void print_variants(const struct atoll_query *query, uint64_t row, FILE *out)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    uint64_t timings[ATOLL_TASK_VARIANT_LIMIT];
    size_t count = atoll_query_rival_timings(query, row, timings);

    for (size_t i = 0; count > 1 && i < count; i++) {
        struct atoll_row_rival_timing t;
        char time[TIME_BYTES];

        atoll_tables_get(tables, ATOLL_TABLE_RIVAL_TIMINGS, timings[i], &t);
        atoll_print_line(out, 15, "  %-12s %s", atoll_tables_text(tables, t.variant_name),
                         time_text(t.median_ns, t.lo95_ns, t.hi95_ns, t.host_ns, time));
    }
}

static void print_failure(const struct atoll_tables *tables, const struct atoll_row_rival *r, FILE *out)
{
    atoll_print(out, "rival %s: %s: %.300s\n", atoll_tables_text(tables, r->name),
                atoll_verdict_name((enum atoll_verdict)r->verdict), atoll_tables_text(tables, r->detail));
}

void atoll_rival_view_print(const struct atoll_query *query, uint64_t task_row, FILE *out)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    uint64_t rows[ATOLL_TASK_RIVAL_LIMIT];
    size_t count = atoll_query_rivals(query, task_row, rows);

    if (count == 0)
        fputs("no rival measured\n", out);
    for (size_t i = 0; i < count; i++) {
        struct atoll_row_rival r;
        char time[TIME_BYTES];

        atoll_tables_get(tables, ATOLL_TABLE_RIVALS, rows[i], &r);
        if (r.verdict != ATOLL_V_CORRECT) {
            print_failure(tables, &r, out);
            continue;
        }
        atoll_print_line(out, 6, "rival %s: %s; %s%s%s", atoll_tables_text(tables, r.name),
                         time_text(r.time_ns, r.time_lo_ns, r.time_hi_ns, r.host_ns, time),
                         atoll_torch_mode_name((enum atoll_torch_mode)r.mode), r.versions ? ", " : "",
                         atoll_tables_text(tables, r.versions));
        print_variants(query, rows[i], out);
    }
}

void atoll_rival_view_print_failed(const struct atoll_query *query, uint64_t task_row, FILE *out)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    uint64_t rows[ATOLL_TASK_RIVAL_LIMIT];
    size_t count = atoll_query_rivals(query, task_row, rows);

    for (size_t i = 0; i < count; i++) {
        struct atoll_row_rival r;

        atoll_tables_get(tables, ATOLL_TABLE_RIVALS, rows[i], &r);
        if (r.verdict != ATOLL_V_CORRECT) {
            fputs("    ", out);
            print_failure(tables, &r, out);
        }
    }
}

static json_t *times_json(const struct atoll_query *query, uint64_t row)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    uint64_t timings[ATOLL_TASK_VARIANT_LIMIT];
    size_t count = atoll_query_rival_timings(query, row, timings);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        struct atoll_row_rival_timing t;

        atoll_tables_get(tables, ATOLL_TABLE_RIVAL_TIMINGS, timings[i], &t);
        json_array_append_new(list,
                              json_pack("{s:o, s:f, s:f, s:f, s:f, s:i}", "variant",
                                        atoll_json_text(atoll_tables_text(tables, t.variant_name)),
                                        "median_ns", t.median_ns, "lo95_ns", t.lo95_ns, "hi95_ns", t.hi95_ns,
                                        "host_ns", t.host_ns, "samples", (int)t.sample_count));
    }
    return list;
}

json_t *atoll_rival_view_json(const struct atoll_query *query, uint64_t task_row)
{
    const struct atoll_tables *tables = atoll_query_tables(query);
    uint64_t rows[ATOLL_TASK_RIVAL_LIMIT];
    size_t count = atoll_query_rivals(query, task_row, rows);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        struct atoll_row_rival r;

        atoll_tables_get(tables, ATOLL_TABLE_RIVALS, rows[i], &r);
        json_array_append_new(
            list, json_pack("{s:o, s:s, s:o, s:s, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "name",
                            atoll_json_text(atoll_tables_text(tables, r.name)), "mode",
                            atoll_torch_mode_name((enum atoll_torch_mode)r.mode), "expression",
                            atoll_json_text(atoll_tables_text(tables, r.expression)), "verdict",
                            atoll_verdict_name((enum atoll_verdict)r.verdict), "detail",
                            atoll_json_text(atoll_tables_text(tables, r.detail)), "time_ns", r.time_ns,
                            "lo_ns", r.time_lo_ns, "hi_ns", r.time_hi_ns, "host_ns", r.host_ns, "compile_ns",
                            r.compile_ns, "versions", atoll_json_text(atoll_tables_text(tables, r.versions)),
                            "times", times_json(query, rows[i])));
    }
    return list;
}

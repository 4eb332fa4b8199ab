#include "scheduler/cli/show_campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive-h5/report/ask_summary.h"
#include "archive-h5/report/budget_text.h"
#include "archive-h5/report/time_split.h"
#include "base/json.h"
#include "base/print.h"
#include "base/units.h"
#include "core/decision.h"
#include "core/stats.h"
#include "scheduler/campaign/device_time_json.h"
#include "scheduler/cli/task_json.h"
#include "scheduler/cli/time_view.h"

/* Lines of a text, the first behind its name. */
static void print_indented(const char *name, const char *lines)
{
    while (*lines) {
        size_t length = strcspn(lines, "\n");

        if (length > 2 && memcmp(lines + length - 2, ": ", 2) != 0) { /* one without a value says nothing */
            atoll_print_line(stdout, 16, "%-13s %.*s", name, (int)length, lines);
            name = "";
        }
        lines += length + (lines[length] != '\0');
    }
}

/* {"name": "value", ...} from lines "name: value". */
static json_t *lines_json(const char *lines)
{
    json_t *object = json_object();

    while (*lines) {
        size_t length = strcspn(lines, "\n");
        char *line = strndup(lines, length), *value = line ? strstr(line, ": ") : NULL;

        if (value) {
            *value = '\0';
            json_object_set_new(object, line, atoll_json_text(value + 2));
        }
        free(line);
        lines += length + (lines[length] != '\0');
    }
    return object;
}

/* What extensions added to the budgets, and what is used of them all. */
static void print_used(const struct atoll_archive_view *view, uint64_t campaign,
                       const struct atoll_row_campaign *c)
{
    const struct atoll_tables *t = view->tables;
    unsigned long long evaluated = 0;
    struct atoll_device_time time;
    char text[32], budget[ATOLL_BUDGET_TEXT_BYTES];

    if (*atoll_budget_extended_text(c, budget))
        atoll_print_line(stdout, 14, "extended      %s", budget);
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_TASKS); i++) {
        struct atoll_row_task task;

        atoll_tables_get(t, ATOLL_TABLE_TASKS, i, &task);
        evaluated += task.campaign == campaign ? task.evaluated : 0;
    }
    printf("used          %s of clock, ", atoll_duration_text((double)c->campaign_ns, text, sizeof(text)));
    if (atoll_query_campaign_time(view->query, (uint32_t)campaign, &time))
        printf("%s of devices, ",
               atoll_duration_text(atoll_device_time_occupied_ns(&time), text, sizeof(text)));
    printf("%llu evaluations", evaluated);
    if (c->tokens)
        printf(", %llu tokens, $%.2f", (unsigned long long)c->tokens, c->cost_usd);
    putchar('\n');
}

/* How many kernels of models were correct at once; nothing where no model wrote any. */
static void print_first_tries(const struct atoll_archive_view *view)
{
    struct atoll_role_sum roles[ATOLL_MODEL_ROLE_COUNT], s;
    double lo, hi;

    atoll_query_role_sums(view->query, roles, &s);
    if (!s.first_tries)
        return;
    atoll_share_interval(s.first_correct, s.first_tries, &lo, &hi);
    atoll_print(stdout,
                "first tries   %llu of %llu kernels of models were correct at once: %.0f %%, 95 %% interval "
                "%.0f to %.0f %%\n",
                (unsigned long long)s.first_correct, (unsigned long long)s.first_tries,
                100 * (double)s.first_correct / (double)s.first_tries, 100 * lo, 100 * hi);
}

static json_t *first_tries_json(const struct atoll_archive_view *view)
{
    struct atoll_role_sum roles[ATOLL_MODEL_ROLE_COUNT], whole;

    atoll_query_role_sums(view->query, roles, &whole);
    return atoll_first_tries_json(&whole);
}

void atoll_show_campaign_print(const struct atoll_archive_view *view)
{
    const struct atoll_tables *t = view->tables;

    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_CAMPAIGN); i++) {
        struct atoll_row_campaign c;
        char id[ATOLL_ID_HEX], ran[32], date[32] = "", budget[ATOLL_BUDGET_TEXT_BYTES];
        time_t seconds;
        struct tm utc;

        atoll_tables_get(t, ATOLL_TABLE_CAMPAIGN, i, &c);
        atoll_id_hex(&c.id, id);
        seconds = (time_t)(c.created_unix_ns / 1000000000);
        if (gmtime_r(&seconds, &utc))
            strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &utc);
        atoll_print_line(stdout, 14,
                         "campaign      %s\nstarted       %s by Atoll %s, engine %u; ran %s, %s%s", id, date,
                         atoll_tables_text(t, c.atoll_version), c.engine_version,
                         atoll_duration_text((double)c.campaign_ns, ran, sizeof(ran)),
                         c.stop_reason ? "ended: " : "not ended",
                         atoll_reason_text(atoll_reason_name((enum atoll_reason)c.stop_reason)));
        atoll_print_line(stdout, 14, "suites        %s\ncommand       %s", atoll_tables_text(t, c.suite),
                         atoll_tables_text(t, c.command_line));
        atoll_print(stdout, "strategy      %s, seed %llu\n", atoll_strategy_name(c.strategy),
                    (unsigned long long)c.seed);
        atoll_print_line(stdout, 14, "budget        %s", atoll_budget_text(&c, budget));
        print_used(view, i, &c);
        print_indented("options", atoll_tables_text(t, c.options));
    }
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++) {
        struct atoll_row_device d;

        atoll_tables_get(t, ATOLL_TABLE_DEVICES, i, &d);
        atoll_print(stdout, "device        %s on %s (%s), %u thread%s, %.1f GB/s\n",
                    atoll_tables_text(t, d.model), atoll_tables_text(t, d.node),
                    atoll_tables_text(t, d.backend), d.threads, d.threads == 1 ? "" : "s",
                    d.bandwidth_bytes_per_s * 1e-9);
        atoll_print_line(stdout, 14, "toolchain     %s", atoll_tables_text(t, d.toolchain));
    }
    print_first_tries(view);
    atoll_time_view_print(view->query, stdout);
    atoll_time_view_print_tasks(view->query, stdout);
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_CAMPAIGN); i++) {
        struct atoll_row_campaign c;

        atoll_tables_get(t, ATOLL_TABLE_CAMPAIGN, i, &c);
        print_indented("settings", atoll_tables_text(t, c.settings));
    }
}

json_t *atoll_show_campaign_json(const struct atoll_archive_view *view)
{
    const struct atoll_tables *t = view->tables;
    json_t *campaigns = json_array(), *devices = json_array();

    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_CAMPAIGN); i++) {
        struct atoll_row_campaign c;
        char id[ATOLL_ID_HEX];

        atoll_tables_get(t, ATOLL_TABLE_CAMPAIGN, i, &c);
        atoll_id_hex(&c.id, id);
        json_array_append_new(
            campaigns,
            json_pack("{s:s, s:I, s:o, s:i, s:I, s:s, s:o, s:o, s:s, s:I, s:f, s:f, s:I, s:i, s:f, s:f, s:I, "
                      "s:o, s:o, s:I, s:f, s:I, s:f}",
                      "campaign", id, "created_unix_ns", (json_int_t)c.created_unix_ns, "atoll_version",
                      atoll_json_text(atoll_tables_text(t, c.atoll_version)), "engine_version",
                      (int)c.engine_version, "campaign_ns", (json_int_t)c.campaign_ns, "stop_reason",
                      atoll_reason_name((enum atoll_reason)c.stop_reason), "suite",
                      atoll_json_text(atoll_tables_text(t, c.suite)), "command_line",
                      atoll_json_text(atoll_tables_text(t, c.command_line)), "strategy",
                      atoll_strategy_name(c.strategy), "seed", (json_int_t)c.seed, "wall_budget_ns",
                      c.wall_budget_ns, "device_budget_ns", c.device_budget_ns, "evaluation_budget",
                      (json_int_t)c.evaluation_budget, "extensions", (int)c.extensions, "extended_wall_ns",
                      c.extended_wall_ns, "extended_device_ns", c.extended_device_ns, "extended_evaluations",
                      (json_int_t)c.extended_evaluations, "options",
                      lines_json(atoll_tables_text(t, c.options)), "settings",
                      lines_json(atoll_tables_text(t, c.settings)), "token_budget",
                      (json_int_t)c.token_budget, "money_budget_usd", c.money_budget_usd, "extended_tokens",
                      (json_int_t)c.extended_tokens, "extended_money_usd", c.extended_money_usd));
    }
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_DEVICES); i++) {
        struct atoll_row_device d;

        atoll_tables_get(t, ATOLL_TABLE_DEVICES, i, &d);
        struct atoll_device_time time;
        int is_told = atoll_query_device_time(view->query, i, &time);

        json_array_append_new(
            devices, json_pack("{s:o, s:o, s:o, s:i, s:o, s:o, s:f}", "model",
                               atoll_json_text(atoll_tables_text(t, d.model)), "node",
                               atoll_json_text(atoll_tables_text(t, d.node)), "backend",
                               atoll_json_text(atoll_tables_text(t, d.backend)), "threads", (int)d.threads,
                               "toolchain", atoll_json_text(atoll_tables_text(t, d.toolchain)), "time",
                               atoll_device_time_json(is_told ? &time : NULL), "between_parts_s",
                               atoll_query_device_gaps_ns(view->query, i) / 1e9));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "campaigns", campaigns, "devices", devices, "first_tries",
                     first_tries_json(view), "task_times", atoll_time_view_tasks_json(view->query),
                     "device_time", atoll_time_view_rows_json(view->query));
}

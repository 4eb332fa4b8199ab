#include "scheduler/cli/show_ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/print.h"
#include "core/ask.h"
#include "core/briefing.h"
#include "core/issue.h"
#include "core/model_role.h"
#include "core/tool_turn.h"

static int64_t ask_row(const struct atoll_archive_view *view, uint32_t campaign, uint64_t number)
{
    for (uint64_t i = 0; i < atoll_tables_count(view->tables, ATOLL_TABLE_ASKS); i++) {
        struct atoll_row_ask ask;

        atoll_tables_get(view->tables, ATOLL_TABLE_ASKS, i, &ask);
        if (ask.campaign == campaign && ask.number == number && !atoll_id_is_zero(&ask.request))
            return (int64_t)i;
    }
    return -1;
}

int64_t atoll_show_ask_find(const struct atoll_archive_view *view, uint64_t candidate)
{
    struct atoll_row_candidate wanted, other;
    int64_t found = -1;

    atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, candidate, &wanted);
    if (wanted.ask)
        return ask_row(view, wanted.campaign, wanted.ask);
    for (uint64_t i = 0; i < atoll_tables_count(view->tables, ATOLL_TABLE_CANDIDATES) && found < 0; i++) {
        atoll_tables_get(view->tables, ATOLL_TABLE_CANDIDATES, i, &other);
        if (other.ask && other.campaign == wanted.campaign && other.task == wanted.task &&
            atoll_id_equal(&other.source_id, &wanted.source_id)) {
            found = ask_row(view, other.campaign, other.ask);
        }
    }
    return found;
}

int64_t atoll_show_ask_named(const struct atoll_archive_view *view, const char *name, struct atoll_err *err)
{
    struct atoll_row_ask ask;
    char *end;

    if (strncmp(name, "ask:", 4) != 0)
        return -1;
    unsigned long long number = strtoull(name + 4, &end, 10);
    for (uint64_t i = 0; *end == '\0' && i < atoll_tables_count(view->tables, ATOLL_TABLE_ASKS); i++) {
        atoll_tables_get(view->tables, ATOLL_TABLE_ASKS, i, &ask);
        if (ask.number == number)
            return (int64_t)i;
    }
    return atoll_err_set(err, ATOLL_E_NOTFOUND,
                         "there is no ask '%s': `atoll export ... --csv asks` has their numbers", name + 4);
}

/* ---- what belongs to an ask ---- */

/* The next row of a table that is of the ask: row is filled. 0: there is none left. */
static int next_of(const struct atoll_archive_view *view, enum atoll_table table,
                   const struct atoll_row_ask *ask, uint64_t *cursor, void *row)
{
    const uint32_t *owners = atoll_tables_column_named(view->tables, table, "campaign");
    const uint64_t *asks = atoll_tables_column_named(view->tables, table, "ask");

    for (; *cursor < atoll_tables_count(view->tables, table); (*cursor)++) {
        if (owners[*cursor] == ask->campaign && asks[*cursor] == ask->number) {
            atoll_tables_get(view->tables, table, (*cursor)++, row);
            return 1;
        }
    }
    return 0;
}

static const char *text_of(const struct atoll_archive_view *view, uint32_t text)
{
    return atoll_tables_text(view->tables, text);
}

static void print_sections(const struct atoll_archive_view *view, const struct atoll_row_ask *ask)
{
    struct atoll_row_section row;
    uint64_t cursor = 0;

    while (next_of(view, ATOLL_TABLE_SECTIONS, ask, &cursor, &row)) {
        atoll_print(stdout, "  %-16s %8u bytes", text_of(view, row.name), row.bytes);
        if (row.cut_bytes)
            atoll_print(stdout, ", %u cut", row.cut_bytes);
        atoll_print(stdout, "\n");
    }
}

static void print_briefs(const struct atoll_archive_view *view, const struct atoll_row_ask *ask)
{
    struct atoll_row_brief row;
    uint64_t cursor = 0;

    while (next_of(view, ATOLL_TABLE_BRIEFS, ask, &cursor, &row)) {
        char id[ATOLL_ID_HEX] = "";

        if (!atoll_id_is_zero(&row.id))
            atoll_id_hex(&row.id, id);
        atoll_print(stdout, "  told %-11s %.12s %s\n", atoll_brief_kind_name((enum atoll_brief_kind)row.kind),
                    id, text_of(view, row.title));
    }
}

static void print_calls(const struct atoll_archive_view *view, const struct atoll_row_ask *ask)
{
    struct atoll_row_tool_call row;
    uint64_t cursor = 0;

    while (next_of(view, ATOLL_TABLE_TOOL_CALLS, ask, &cursor, &row)) {
        if (*text_of(view, row.said))
            atoll_print(stdout, "==== turn %u ====\n%s\n", row.turn, text_of(view, row.said));
        atoll_print(stdout, "==== turn %u: %s, %s, %.1f s ====\n%s\n---- gave ----\n%s\n", row.turn,
                    text_of(view, row.name), atoll_tool_status_name((enum atoll_tool_status)row.status),
                    row.elapsed_s, text_of(view, row.arguments), text_of(view, row.result));
    }
}

static void print_items(const struct atoll_archive_view *view, const struct atoll_row_ask *ask)
{
    struct atoll_row_item row;
    uint64_t cursor = 0;

    while (next_of(view, ATOLL_TABLE_ITEMS, ask, &cursor, &row)) {
        const char *const texts[][2] = {{"", text_of(view, row.text)},
                                        {"why: ", text_of(view, row.why)},
                                        {"before: ", text_of(view, row.before)},
                                        {"after: ", text_of(view, row.after)}};
        atoll_print(stdout, "==== %s %u: %s%s%s", atoll_item_kind_name((enum atoll_item_kind)row.kind),
                    row.ordinal, text_of(view, row.issue), *text_of(view, row.issue) ? " " : "",
                    text_of(view, row.title));
        if (row.severity)
            atoll_print(stdout, ", severity %u", row.severity);
        if (row.gain_high > 0)
            atoll_print(stdout, ", %.2f to %.2f times as fast", row.gain_low, row.gain_high);
        atoll_print(stdout, " ====\n");
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
            if (*texts[i][1])
                atoll_print(stdout, "%s%s\n", texts[i][0], texts[i][1]);
    }
}

static json_t *sections_json(const struct atoll_archive_view *view, const struct atoll_row_ask *ask)
{
    json_t *list = json_array();
    struct atoll_row_section row;
    uint64_t cursor = 0;

    while (next_of(view, ATOLL_TABLE_SECTIONS, ask, &cursor, &row)) {
        json_array_append_new(list, json_pack("{s:o, s:I, s:I}", "name",
                                              atoll_json_text(text_of(view, row.name)), "bytes",
                                              (json_int_t)row.bytes, "cut_bytes", (json_int_t)row.cut_bytes));
    }
    return list;
}

static json_t *briefs_json(const struct atoll_archive_view *view, const struct atoll_row_ask *ask)
{
    json_t *list = json_array();
    struct atoll_row_brief row;
    uint64_t cursor = 0;

    while (next_of(view, ATOLL_TABLE_BRIEFS, ask, &cursor, &row)) {
        char id[ATOLL_ID_HEX] = "";

        if (!atoll_id_is_zero(&row.id))
            atoll_id_hex(&row.id, id);
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o, s:f}", "kind",
                                              atoll_brief_kind_name((enum atoll_brief_kind)row.kind), "id",
                                              id, "title", atoll_json_text(text_of(view, row.title)), "text",
                                              atoll_json_text(text_of(view, row.text)), "score", row.score));
    }
    return list;
}

static json_t *calls_json(const struct atoll_archive_view *view, const struct atoll_row_ask *ask)
{
    json_t *list = json_array();
    struct atoll_row_tool_call row;
    uint64_t cursor = 0;

    while (next_of(view, ATOLL_TABLE_TOOL_CALLS, ask, &cursor, &row)) {
        json_array_append_new(list,
                              json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:f}", "turn", (json_int_t)row.turn,
                                        "said", atoll_json_text(text_of(view, row.said)), "name",
                                        atoll_json_text(text_of(view, row.name)), "arguments",
                                        atoll_json_text(text_of(view, row.arguments)), "result",
                                        atoll_json_text(text_of(view, row.result)), "status",
                                        atoll_tool_status_name((enum atoll_tool_status)row.status),
                                        "elapsed_s", row.elapsed_s));
    }
    return list;
}

static json_t *items_json(const struct atoll_archive_view *view, const struct atoll_row_ask *ask)
{
    json_t *list = json_array();
    struct atoll_row_item row;
    uint64_t cursor = 0;

    while (next_of(view, ATOLL_TABLE_ITEMS, ask, &cursor, &row)) {
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:s, s:i, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "kind",
                                        atoll_item_kind_name((enum atoll_item_kind)row.kind), "issue",
                                        atoll_json_text(text_of(view, row.issue)), "stage",
                                        atoll_stage_name((enum atoll_issue_stage)row.stage), "severity",
                                        (int)row.severity, "gain_low", row.gain_low, "gain_high",
                                        row.gain_high, "title", atoll_json_text(text_of(view, row.title)),
                                        "text", atoll_json_text(text_of(view, row.text)), "why",
                                        atoll_json_text(text_of(view, row.why)), "before",
                                        atoll_json_text(text_of(view, row.before)), "after",
                                        atoll_json_text(text_of(view, row.after))));
    }
    return list;
}

/* ---- the ask ---- */

static void print_text(const struct atoll_archive_view *view, const char *what, uint32_t text)
{
    atoll_print(stdout, "==== %s ====\n%s\n", what, atoll_tables_text(view->tables, text));
}

static const char *status_name(uint8_t status)
{
    return status ? atoll_reply_status_name((enum atoll_reply_status)(status - 1)) : "open";
}

void atoll_show_ask_print(const struct atoll_archive_view *view, uint64_t row)
{
    struct atoll_row_ask ask;
    char request[ATOLL_ID_HEX];

    atoll_tables_get(view->tables, ATOLL_TABLE_ASKS, row, &ask);
    atoll_id_hex(&ask.request, request);
    atoll_print(stdout,
                "ask %llu of %s, request %s: %s%s%s\n%s: %llu tokens in (%llu cached), %llu out (%llu "
                "reasoning), $%.6f, "
                "%.1f s%s\n",
                (unsigned long long)ask.number, atoll_operator_name((enum atoll_operator)ask.operator_),
                request, status_name(ask.status), *atoll_tables_text(view->tables, ask.detail) ? ": " : "",
                atoll_tables_text(view->tables, ask.detail), atoll_tables_text(view->tables, ask.origin),
                (unsigned long long)ask.input_tokens, (unsigned long long)ask.cached_tokens,
                (unsigned long long)ask.output_tokens, (unsigned long long)ask.reasoning_tokens, ask.cost_usd,
                ask.elapsed_s, ask.from_store ? ", from a recording" : "");
    atoll_print(stdout, "asked as %s: %s", atoll_model_role_name((enum atoll_model_role)ask.role),
                text_of(view, ask.asked));
    if (ask.tool_calls)
        atoll_print(stdout, "; %u calls of tools before it, %llu tokens, $%.6f", ask.tool_calls,
                    (unsigned long long)ask.tool_tokens, ask.tool_cost_usd);
    if (ask.improvements)
        atoll_print(stdout, "; made the best of its task faster %u times, %.2f times in all",
                    ask.improvements, ask.gain);
    atoll_print(stdout, "\n");
    print_sections(view, &ask);
    print_briefs(view, &ask);
    print_text(view, "system", ask.system);
    print_text(view, "prompt", ask.prompt);
    print_calls(view, &ask);
    if (*atoll_tables_text(view->tables, ask.thought))
        print_text(view, "reasoning", ask.thought);
    print_text(view, "answer", ask.answer);
    print_items(view, &ask);
}

json_t *atoll_show_ask_json(const struct atoll_archive_view *view, uint64_t row)
{
    struct atoll_row_ask ask;
    char request[ATOLL_ID_HEX];

    atoll_tables_get(view->tables, ATOLL_TABLE_ASKS, row, &ask);
    atoll_id_hex(&ask.request, request);
    json_t *object = json_pack(
        "{s:I, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:f, s:f, s:b, s:o, s:o, s:o, s:o}", "ask",
        (json_int_t)ask.number, "operator", atoll_operator_name((enum atoll_operator)ask.operator_),
        "request", request, "status", status_name(ask.status), "detail",
        atoll_json_text(atoll_tables_text(view->tables, ask.detail)), "model",
        atoll_json_text(atoll_tables_text(view->tables, ask.origin)), "input_tokens",
        (json_int_t)ask.input_tokens, "cached_tokens", (json_int_t)ask.cached_tokens, "output_tokens",
        (json_int_t)ask.output_tokens, "reasoning_tokens", (json_int_t)ask.reasoning_tokens, "cost_usd",
        ask.cost_usd, "elapsed_s", ask.elapsed_s, "from_store", (int)ask.from_store, "system",
        atoll_json_text(atoll_tables_text(view->tables, ask.system)), "prompt",
        atoll_json_text(atoll_tables_text(view->tables, ask.prompt)), "reasoning",
        atoll_json_text(atoll_tables_text(view->tables, ask.thought)), "answer",
        atoll_json_text(atoll_tables_text(view->tables, ask.answer)));
    json_t *more =
        json_pack("{s:s, s:s, s:o, s:I, s:f, s:I, s:f, s:o, s:o, s:o, s:o}", "kind",
                  atoll_ask_kind_name((enum atoll_ask_kind)ask.kind), "role",
                  atoll_model_role_name((enum atoll_model_role)ask.role), "asked",
                  atoll_json_text(text_of(view, ask.asked)), "tool_tokens", (json_int_t)ask.tool_tokens,
                  "tool_cost_usd", ask.tool_cost_usd, "improvements", (json_int_t)ask.improvements, "gain",
                  ask.gain, "sections", sections_json(view, &ask), "briefs", briefs_json(view, &ask), "calls",
                  calls_json(view, &ask), "items", items_json(view, &ask));

    if (object && more)
        json_object_update(object, more);
    json_decref(more);
    return object;
}

/* ---- the analysis of a candidate ---- */

/* 1 and the ask; 0: there is none. */
static int find_analysis(const struct atoll_archive_view *view, const struct atoll_row_candidate *c,
                         struct atoll_row_ask *ret_ask)
{
    for (uint64_t i = atoll_tables_count(view->tables, ATOLL_TABLE_ASKS); i-- > 0;) {
        atoll_tables_get(view->tables, ATOLL_TABLE_ASKS, i, ret_ask);
        if (ret_ask->kind == ATOLL_ASK_ANALYSE && ret_ask->status == 1 + ATOLL_REPLY_OK && ret_ask->items &&
            ret_ask->campaign == c->campaign && ret_ask->task == c->task && ret_ask->model == c->model &&
            atoll_id_equal(&ret_ask->parent, &c->id))
            return 1;
    }
    return 0;
}

void atoll_show_analysis_print(const struct atoll_archive_view *view,
                               const struct atoll_row_candidate *candidate)
{
    struct atoll_row_ask ask;
    struct atoll_row_item row;
    uint64_t cursor = 0;

    if (!find_analysis(view, candidate, &ask))
        return;
    atoll_print(stdout, "analysis by %s (ask:%llu tells the whole)\n", text_of(view, ask.origin),
                (unsigned long long)ask.number);
    while (next_of(view, ATOLL_TABLE_ITEMS, &ask, &cursor, &row)) {
        char severity[24] = "";
        if (row.severity)
            snprintf(severity, sizeof(severity), ", severity %u", row.severity);
        atoll_print_line(stdout, 4, "  - %s%s: %s",
                         *text_of(view, row.issue) ? text_of(view, row.issue) : text_of(view, row.title),
                         severity, text_of(view, row.text));
    }
}

json_t *atoll_show_analysis_json(const struct atoll_archive_view *view,
                                 const struct atoll_row_candidate *candidate)
{
    struct atoll_row_ask ask;

    return find_analysis(view, candidate, &ask)
               ? json_pack("{s:I, s:o}", "ask", (json_int_t)ask.number, "items", items_json(view, &ask))
               : json_null();
}

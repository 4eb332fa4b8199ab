#include "scheduler/cli/show_ask.h"

#include <stdio.h>

#include "base/json.h"
#include "base/print.h"
#include "core/ask.h"

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
    print_text(view, "system", ask.system);
    print_text(view, "prompt", ask.prompt);
    if (*atoll_tables_text(view->tables, ask.thought))
        print_text(view, "reasoning", ask.thought);
    print_text(view, "answer", ask.answer);
}

json_t *atoll_show_ask_json(const struct atoll_archive_view *view, uint64_t row)
{
    struct atoll_row_ask ask;
    char request[ATOLL_ID_HEX];

    atoll_tables_get(view->tables, ATOLL_TABLE_ASKS, row, &ask);
    atoll_id_hex(&ask.request, request);
    return json_pack(
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
}

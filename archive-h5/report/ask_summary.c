#include "archive-h5/report/ask_summary.h"

#include <string.h>

#include "core/ask.h"

static void add_ask(struct atoll_role_sum *s, const struct atoll_row_ask *ask)
{
    s->asks++;
    s->answered += ask->status == 1 + ATOLL_REPLY_OK;
    s->input_tokens += ask->input_tokens;
    s->cached_tokens += ask->cached_tokens;
    s->output_tokens += ask->output_tokens;
    s->reasoning_tokens += ask->reasoning_tokens;
    s->tokens += ask->tokens + ask->tool_tokens;
    s->tool_calls += ask->tool_calls;
    s->cost_usd += ask->cost_usd + ask->tool_cost_usd;
    s->improvements += ask->improvements;
    s->gain *= ask->gain > 0 ? ask->gain : 1;
}

void atoll_query_role_sums(const struct atoll_query *query, struct atoll_role_sum *ret_roles,
                           struct atoll_role_sum *ret_whole)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    memset(ret_roles, 0, ATOLL_MODEL_ROLE_COUNT * sizeof(*ret_roles));
    *ret_whole = (struct atoll_role_sum){.gain = 1};
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++)
        ret_roles[i].gain = 1;
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_ASKS); i++) {
        struct atoll_row_ask ask;
        atoll_tables_get(t, ATOLL_TABLE_ASKS, i, &ask);
        if (atoll_id_is_zero(&ask.request) || ask.role >= ATOLL_MODEL_ROLE_COUNT)
            continue;
        add_ask(&ret_roles[ask.role], &ask);
        add_ask(ret_whole, &ask);
    }
}

size_t atoll_query_section_sums(const struct atoll_query *query, struct atoll_section_sum *ret_sections,
                                size_t limit)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    size_t count = 0;
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_SECTIONS); i++) {
        struct atoll_row_section row;
        size_t at = 0;
        atoll_tables_get(t, ATOLL_TABLE_SECTIONS, i, &row);
        const char *name = atoll_tables_text(t, row.name);
        while (at < count && strcmp(ret_sections[at].name, name) != 0)
            at++;
        if (at == limit)
            continue;
        if (at == count)
            ret_sections[count++] = (struct atoll_section_sum){.name = name};
        ret_sections[at].prompts++;
        ret_sections[at].bytes += row.bytes;
        ret_sections[at].cut_bytes += row.cut_bytes;
    }
    return count;
}

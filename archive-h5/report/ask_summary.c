#include "archive-h5/report/ask_summary.h"

#include <stdio.h>
#include <string.h>

#include "base/hash_index.h"
#include "base/utf8.h"
#include "core/ask.h"
#include "core/verdict.h"

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

static int is_of_model(const struct atoll_row_ask *ask)
{
    return !atoll_id_is_zero(&ask->request) && ask->role < ATOLL_MODEL_ROLE_COUNT;
}

/* Asks by campaign and number. */
struct lookup {
    const uint32_t *campaigns;
    const uint64_t *numbers;
    struct atoll_index index;
};

struct wanted {
    const struct lookup *lookup;
    uint32_t campaign;
    uint64_t number;
};

static int is_wanted(const void *context, uint32_t row)
{
    const struct wanted *w = context;
    return w->lookup->campaigns[row] == w->campaign && w->lookup->numbers[row] == w->number;
}

static int lookup_init(struct lookup *l, const struct atoll_tables *t)
{
    *l = (struct lookup){.campaigns = atoll_tables_column_named(t, ATOLL_TABLE_ASKS, "campaign"),
                         .numbers = atoll_tables_column_named(t, ATOLL_TABLE_ASKS, "number")};
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_ASKS); i++)
        if (atoll_index_add(&l->index, l->numbers[i], (uint32_t)i, NULL) != 0)
            return -1;
    return 0;
}

/* Row of an ask in asks; ATOLL_NONE. */
static uint32_t find_ask(const struct lookup *l, uint32_t campaign, uint64_t number)
{
    struct wanted wanted = {l, campaign, number};
    return atoll_index_find(&l->index, number, is_wanted, &wanted);
}

/* The first result of a candidate that counts, on whatever model: 1 correct, 0 not, -1 there is none. */
static int first_result(const struct atoll_query *query, uint64_t candidate)
{
    struct atoll_rows rows = atoll_query_evaluations(query, candidate);
    for (size_t i = 0; i < rows.count; i++) {
        struct atoll_row_evaluation e;
        atoll_tables_get(atoll_query_tables(query), ATOLL_TABLE_EVALUATIONS, rows.rows[i], &e);
        if (e.verdict != ATOLL_V_UNSTABLE && e.verdict != ATOLL_V_INFRASTRUCTURE)
            return e.verdict == ATOLL_V_CORRECT;
    }
    return -1;
}

static void add_first_tries(const struct atoll_query *query, struct atoll_role_sum *roles,
                            struct atoll_role_sum *whole)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct lookup lookup;
    int rc = lookup_init(&lookup, t);
    for (uint64_t i = 0; rc == 0 && i < atoll_tables_count(t, ATOLL_TABLE_CANDIDATES); i++) {
        struct atoll_row_candidate candidate;
        struct atoll_row_ask ask;
        atoll_tables_get(t, ATOLL_TABLE_CANDIDATES, i, &candidate);
        uint32_t at = candidate.ask ? find_ask(&lookup, candidate.campaign, candidate.ask) : ATOLL_NONE;
        int result = at == ATOLL_NONE ? -1 : first_result(query, i);
        if (result < 0)
            continue;
        atoll_tables_get(t, ATOLL_TABLE_ASKS, at, &ask);
        if (!is_of_model(&ask))
            continue;
        roles[ask.role].first_tries++;
        roles[ask.role].first_correct += (uint64_t)result;
        whole->first_tries++;
        whole->first_correct += (uint64_t)result;
    }
    atoll_index_fini(&lookup.index);
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
        if (!is_of_model(&ask))
            continue;
        add_ask(&ret_roles[ask.role], &ask);
        add_ask(ret_whole, &ask);
    }
    add_first_tries(query, ret_roles, ret_whole);
}

static void add_section(struct atoll_section_sum *sums, size_t *count, size_t limit,
                        const struct atoll_section_sum *section)
{
    size_t at = 0;
    while (at < *count && (sums[at].role != section->role || strcmp(sums[at].name, section->name) != 0))
        at++;
    if (at == limit)
        return;
    if (at == *count) {
        sums[*count] = (struct atoll_section_sum){.role = section->role};
        memcpy(sums[(*count)++].name, section->name, sizeof(section->name));
    }
    sums[at].prompts++;
    sums[at].bytes += section->bytes;
    sums[at].cut_bytes += section->cut_bytes;
    sums[at].tokens = sums[at].bytes / ATOLL_BYTES_PER_TOKEN;
}

static void name_section(struct atoll_section_sum *section, const char *before, const char *name,
                         size_t length)
{
    size_t room = sizeof(section->name) - 1 - strlen(before);
    length = length <= room ? length : atoll_utf8_cut(name, room);
    snprintf(section->name, sizeof(section->name), "%s%.*s", before, (int)length, name);
    section->bytes = 0;
}

static void add_system_text(struct atoll_section_sum *sums, size_t *count, size_t limit,
                            enum atoll_model_role role, const char *text)
{
    struct atoll_section_sum section = {.role = role};
    int is_code = 0;
    name_section(&section, "system", "", 0);
    for (const char *line = text, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        is_code ^= strncmp(line, "```", 3) == 0;
        if (!is_code && strncmp(line, "# ", 2) == 0) {
            if (section.bytes)
                add_section(sums, count, limit, &section);
            name_section(&section, "system: ", line + 2, length - 2);
        }
        section.bytes += (uint64_t)(next - line);
    }
    if (section.bytes)
        add_section(sums, count, limit, &section);
}

size_t atoll_query_section_sums(const struct atoll_query *query, struct atoll_section_sum *ret_sections,
                                size_t limit)
{
    const struct atoll_tables *t = atoll_query_tables(query);
    struct lookup lookup;
    size_t count = 0;
    int rc = lookup_init(&lookup, t);
    for (uint64_t i = 0; rc == 0 && i < atoll_tables_count(t, ATOLL_TABLE_SECTIONS); i++) {
        struct atoll_row_section row;
        struct atoll_row_ask ask;
        atoll_tables_get(t, ATOLL_TABLE_SECTIONS, i, &row);
        uint32_t at = find_ask(&lookup, row.campaign, row.ask);
        if (at == ATOLL_NONE)
            continue;
        atoll_tables_get(t, ATOLL_TABLE_ASKS, at, &ask);
        struct atoll_section_sum section = {.role = (enum atoll_model_role)ask.role,
                                            .cut_bytes = row.cut_bytes};
        name_section(&section, "", atoll_tables_text(t, row.name), strlen(atoll_tables_text(t, row.name)));
        section.bytes = row.bytes;
        add_section(ret_sections, &count, limit, &section);
    }
    for (uint64_t i = 0; rc == 0 && i < atoll_tables_count(t, ATOLL_TABLE_ASKS); i++) {
        struct atoll_row_ask ask;
        atoll_tables_get(t, ATOLL_TABLE_ASKS, i, &ask);
        if (is_of_model(&ask))
            add_system_text(ret_sections, &count, limit, (enum atoll_model_role)ask.role,
                            atoll_tables_text(t, ask.system));
    }
    atoll_index_fini(&lookup.index);
    return count;
}

/* report_asks.c - what asks of models cost and brought: a table by role, and one of the sections of their prompts. */
#include "archive-h5/report/report_page.h"

#include "archive-h5/report/ask_summary.h"
#include "core/stats.h"

/* Two cells: how many of the first tries were correct, and the share with its interval. */
static void put_first_tries(struct atoll_buffer *out, const struct atoll_role_sum *s)
{
    double lo, hi;
    if (!s->first_tries) {
        atoll_buffer_printf(out, "<td></td><td></td>");
        return;
    }
    atoll_share_interval(s->first_correct, s->first_tries, &lo, &hi);
    atoll_buffer_printf(out, "<td>%llu of %llu</td><td>%.0f %% (%.0f to %.0f)</td>",
                        (unsigned long long)s->first_correct, (unsigned long long)s->first_tries,
                        100 * (double)s->first_correct / (double)s->first_tries, 100 * lo, 100 * hi);
}

static void put_role(struct atoll_buffer *out, const char *name, const struct atoll_role_sum *s)
{
    atoll_buffer_printf(out, "<tr><td class=\"l\">%s</td><td>%llu</td><td>%llu</td>", name,
                        (unsigned long long)s->asks, (unsigned long long)s->answered);
    put_first_tries(out, s);
    atoll_buffer_printf(out, "<td>%llu</td><td>%llu</td><td>%llu</td><td>$%.4f</td><td>%llu</td>",
                        (unsigned long long)s->input_tokens, (unsigned long long)s->output_tokens,
                        (unsigned long long)s->tool_calls, s->cost_usd, (unsigned long long)s->improvements);
    if (s->improvements)
        atoll_buffer_printf(out, "<td>%.2f&#215;</td><td>%.0f</td><td>$%.4f</td></tr>\n", s->gain,
                            (double)s->tokens / (double)s->improvements,
                            s->cost_usd / (double)s->improvements);
    else
        atoll_buffer_printf(out, "<td></td><td></td><td></td></tr>\n");
}

static void put_sections(struct atoll_buffer *out, const struct atoll_query *query)
{
    struct atoll_section_sum sections[ATOLL_SECTION_SUM_LIMIT];
    size_t count = atoll_query_section_sums(query, sections, ATOLL_SECTION_SUM_LIMIT);
    if (!count)
        return;
    atoll_buffer_printf(out,
                        "<div class=\"card scroll\"><table><tr><th class=\"l\">role</th><th "
                        "class=\"l\">section</th><th>prompts</th>"
                        "<th>bytes</th><th>a prompt</th><th>cut</th><th>tokens, bytes / %u</th></tr>\n",
                        ATOLL_BYTES_PER_TOKEN);
    for (size_t i = 0; i < count; i++) {
        atoll_buffer_printf(out, "<tr><td class=\"l\">%s</td><td class=\"l\">",
                            atoll_model_role_name(sections[i].role));
        atoll_html_text(out, sections[i].name);
        atoll_buffer_printf(
            out, "</td><td>%llu</td><td>%llu</td><td>%llu</td><td>%llu</td><td>%llu</td></tr>\n",
            (unsigned long long)sections[i].prompts, (unsigned long long)sections[i].bytes,
            (unsigned long long)(sections[i].bytes / sections[i].prompts),
            (unsigned long long)sections[i].cut_bytes, (unsigned long long)sections[i].tokens);
    }
    atoll_buffer_printf(out, "</table></div>\n");
}

void atoll_html_asks(struct atoll_buffer *out, const struct atoll_query *query)
{
    struct atoll_role_sum roles[ATOLL_MODEL_ROLE_COUNT], whole;
    atoll_query_role_sums(query, roles, &whole);
    if (!whole.asks)
        return;
    atoll_buffer_printf(
        out, "<h2>Asks of models</h2>\n<div class=\"card scroll\"><table><tr><th class=\"l\">role</th>"
             "<th>asks</th><th>answered</th><th>first tries correct</th><th>share (95 %%)</th><th>tokens "
             "in</th><th>out</th><th>calls</th>"
             "<th>cost</th><th>improvements</th><th>together</th><th>tokens each</th>"
             "<th>cost each</th></tr>\n");
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++)
        if (roles[i].asks)
            put_role(out, atoll_model_role_name((enum atoll_model_role)i), &roles[i]);
    put_role(out, "all", &whole);
    atoll_buffer_printf(out, "</table></div>\n");
    put_sections(out, query);
}

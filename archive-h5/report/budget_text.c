#include "archive-h5/report/budget_text.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "core/event.h"

/* Appends each of the budgets that is not 0, with commas between them. */
static void put(const struct atoll_extension *by, char *text, size_t bytes)
{
    char parts[5][48] = {""}, duration[32];
    size_t length = strlen(text);
    const char *between = "";
    if (by->wall_ns > 0)
        snprintf(parts[0], sizeof(parts[0]), "%s of clock",
                 atoll_duration_text(by->wall_ns, duration, sizeof(duration)));
    if (by->device_ns > 0)
        snprintf(parts[1], sizeof(parts[1]), "%s of devices",
                 atoll_duration_text(by->device_ns, duration, sizeof(duration)));
    if (by->evaluations)
        snprintf(parts[2], sizeof(parts[2]), "%llu evaluations", (unsigned long long)by->evaluations);
    if (by->tokens)
        snprintf(parts[3], sizeof(parts[3]), "%llu tokens", (unsigned long long)by->tokens);
    if (by->money_usd > 0)
        snprintf(parts[4], sizeof(parts[4]), "$%.2f", by->money_usd);
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (!*parts[i] || length >= bytes)
            continue;
        length += (size_t)snprintf(text + length, bytes - length, "%s%s", between, parts[i]);
        between = ", ";
    }
}

const char *atoll_budget_text(const struct atoll_row_campaign *c, char ret_text[ATOLL_BUDGET_TEXT_BYTES])
{
    const struct atoll_extension budget = {.wall_ns = c->wall_budget_ns,
                                           .device_ns = c->device_budget_ns,
                                           .evaluations = c->evaluation_budget,
                                           .tokens = c->token_budget,
                                           .money_usd = c->money_budget_usd};
    *ret_text = '\0';
    put(&budget, ret_text, ATOLL_BUDGET_TEXT_BYTES);
    if (!*ret_text)
        snprintf(ret_text, ATOLL_BUDGET_TEXT_BYTES, "not limited");
    return ret_text;
}

const char *atoll_budget_extended_text(const struct atoll_row_campaign *c,
                                       char ret_text[ATOLL_BUDGET_TEXT_BYTES])
{
    const struct atoll_extension by = {.wall_ns = c->extended_wall_ns,
                                       .device_ns = c->extended_device_ns,
                                       .evaluations = c->extended_evaluations,
                                       .tokens = c->extended_tokens,
                                       .money_usd = c->extended_money_usd};
    *ret_text = '\0';
    if (!c->extensions)
        return ret_text;
    snprintf(ret_text, ATOLL_BUDGET_TEXT_BYTES, "%u time%s, by ", c->extensions,
             c->extensions == 1 ? "" : "s");
    put(&by, ret_text, ATOLL_BUDGET_TEXT_BYTES);
    return ret_text;
}

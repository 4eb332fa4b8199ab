#include "llm-gateway/budget/spend_summary.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "llm-gateway/budget/database.h"

#define PATH_BYTES    4096
#define SUMMARY_BYTES ((size_t)64 << 20)

static int summary_path(const char *path, char ret_path[PATH_BYTES], struct atoll_err *err)
{
    return (size_t)snprintf(ret_path, PATH_BYTES, "%s.summary", path) < PATH_BYTES
               ? 0
               : atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", path);
}

static json_t *money_json(uint64_t nanousd)
{
    return nanousd == UINT64_MAX ? json_null() : json_real((double)nanousd / 1e9);
}

static json_t *tokens_json(uint64_t tokens)
{
    return tokens == UINT64_MAX ? json_null() : json_integer((json_int_t)tokens);
}

static json_t *account_json(const struct atoll_spending_account *a)
{
    struct atoll_spending_amount left = atoll_spending_left(a);
    return json_pack("{s:s, s:o, s:o, s:{s:o, s:o, s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:o, s:o}}", "scope",
                     atoll_spending_scope_name(a->scope), "name", atoll_json_text(a->name), "task",
                     atoll_json_text(a->task), "money_usd", "limit", money_json(a->limit.money), "spent",
                     money_json(a->spent.money), "reserved", money_json(a->reserved.money), "unknown",
                     money_json(a->unknown.money), "left", money_json(left.money), "tokens", "limit",
                     tokens_json(a->limit.tokens), "spent", tokens_json(a->spent.tokens), "reserved",
                     tokens_json(a->reserved.tokens), "unknown", tokens_json(a->unknown.tokens), "left",
                     tokens_json(left.tokens));
}

/* A limit of something that was never asked for is worth a row, too. */
static void add_unmet_limits(json_t *accounts, const struct atoll_spending_account *known, size_t count,
                             enum atoll_spending_scope scope, const struct atoll_spending_limit *limits,
                             size_t limit_count)
{
    for (size_t i = 0; i < limit_count; i++) {
        const struct atoll_spending_limit *limit = &limits[i];
        int is_met = limit->scope != scope || !*limit->name;
        for (size_t k = 0; k < count && !is_met; k++) {
            is_met = known[k].scope == scope &&
                     strcmp(scope == ATOLL_SCOPE_TASK ? known[k].task : known[k].name, limit->name) == 0;
        }
        if (!is_met) {
            struct atoll_spending_account row = {.scope = scope, .limit = {limit->money, limit->tokens}};
            snprintf(scope == ATOLL_SCOPE_TASK ? row.task : row.name, sizeof(row.name), "%s", limit->name);
            json_array_append_new(accounts, account_json(&row));
        }
    }
}

static json_t *summary_of(const struct atoll_spending *spending, const char *path)
{
    struct atoll_spending_account sum;
    size_t count, limit_count;
    const struct atoll_spending_account *known = atoll_spending_accounts(spending, &count);
    const struct atoll_spending_limit *limits = atoll_spending_limits(spending, &limit_count);
    json_t *accounts = json_array();
    for (int scope = 0; scope < ATOLL_SCOPE_COUNT; scope++) {
        for (size_t i = 0; i < count; i++)
            if (known[i].scope == (enum atoll_spending_scope)scope)
                json_array_append_new(accounts, account_json(&known[i]));
        add_unmet_limits(accounts, known, count, (enum atoll_spending_scope)scope, limits, limit_count);
    }
    atoll_spending_sum(spending, &sum);
    return json_pack("{s:o, s:I, s:I, s:I, s:o, s:o}", "file", atoll_json_text(path), "unix_ns",
                     (json_int_t)atoll_clock_unix_ns(), "calls", (json_int_t)sum.calls, "unknown_calls",
                     (json_int_t)sum.unknown_calls, "excess_usd", money_json(sum.excess.money), "accounts",
                     accounts);
}

int atoll_spend_summary_write(const struct atoll_spending *spending, const char *path, struct atoll_err *err)
{
    char summary[PATH_BYTES];
    struct atoll_buffer text;
    json_t *document = summary_of(spending, path);
    atoll_buffer_init(&text, SUMMARY_BYTES);
    int result = atoll_json_put(&text, document, err);
    if (result == 0 && (result = summary_path(path, summary, err)) == 0)
        result = atoll_file_replace(atoll_file_ops_real(), summary, text.data, text.length, err);
    atoll_buffer_fini(&text);
    json_decref(document);
    return result;
}

static json_t *read_owned(const char *path, struct atoll_err *err)
{
    char summary[PATH_BYTES];
    json_error_t why;
    if (summary_path(path, summary, err))
        return NULL;
    json_t *document = json_load_file(summary, 0, &why);
    if (!document) {
        atoll_err_set(err, ATOLL_E_BUSY,
                      "%s: the gateway that owns %s has not written it yet (%s); try again in a second",
                      summary, path, why.text);
    }
    return document;
}

static json_t *read_free(const char *path, const struct atoll_spending_limit *limits, size_t limit_count,
                         struct atoll_err *err)
{
    const struct atoll_database_settings settings = {.path = path, .mode = ATOLL_DATABASE_OWN};
    struct atoll_database *database = atoll_database_open(&settings, err);
    struct atoll_spending *spending =
        database ? atoll_spending_open(database, limits, limit_count, err) : NULL;
    json_t *document = spending ? summary_of(spending, path) : NULL;
    if (spending)
        atoll_spend_summary_write(spending, path, NULL);
    atoll_spending_close(spending);
    atoll_database_close(database);
    return document;
}

json_t *atoll_spend_summary_read(const char *path, const struct atoll_spending_limit *limits,
                                 size_t limit_count, struct atoll_err *err)
{
    static const char *const states[] = {[ATOLL_LEASE_FREE] = "never owned",
                                         [ATOLL_LEASE_HELD] = "running",
                                         [ATOLL_LEASE_RELEASED] = "ended",
                                         [ATOLL_LEASE_DEAD] = "killed"};
    struct atoll_lease_seen seen;
    if (access(path, F_OK)) {
        atoll_err_set(err, ATOLL_E_NOTFOUND, "%s is not there", path);
        return NULL;
    }
    if (atoll_database_owner(path, &seen, err))
        return NULL;
    json_t *document =
        seen.state == ATOLL_LEASE_HELD ? read_owned(path, err) : read_free(path, limits, limit_count, err);
    if (document) {
        json_object_set_new(document, "owner",
                            json_pack("{s:s, s:o, s:I, s:o, s:I}", "state", states[seen.state], "host",
                                      atoll_json_text(seen.holder.host), "pid", (json_int_t)seen.holder.pid,
                                      "job", atoll_json_text(seen.holder.job), "epoch",
                                      (json_int_t)seen.epoch));
    }
    return document;
}

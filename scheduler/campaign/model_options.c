#include "scheduler/campaign/model_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "llm-gateway/check/check.h"
#include "llm-gateway/client/client.h"
#include "mpi-eval/operator/roles.h"

#define PATH_BYTES    8192u
#define ROLES_BYTES   16384u
#define OFFER_S       2.0   /* a gateway is asked for so long what it offers */
#define CONTEXT_LEAST 1000u /* tokens: of less a prompt would be nothing (--role) */

/* Prefixes of `where` behind which a path follows. */
static const char *const path_forms[] = {"spool:", "replay:", "unix:"};

/* An owned copy of prefix and path, the path absolute; shells leave the tilde of "spool:~/x" to us. */
static char *absolute(const char *prefix, const char *path, struct atoll_err *err)
{
    const char *home = getenv("HOME");
    int is_home = strncmp(path, "~/", 2) == 0 && home && *home == '/';
    char *base = is_home ? strdup(home) : *path == '/' ? strdup("") : getcwd(NULL, 0);
    struct atoll_buffer text;
    if (!base) {
        atoll_err_errno(err, errno, "cannot name the working directory");
        return NULL;
    }
    atoll_buffer_init(&text, PATH_BYTES);
    atoll_buffer_printf(&text, "%s%s%s%s", prefix, base, *base ? "/" : "", is_home ? path + 2 : path);
    atoll_buffer_put_u8(&text, 0);
    free(base);
    if (atoll_buffer_check(&text, err) != 0) {
        atoll_buffer_fini(&text);
        return NULL;
    }
    return (char *)text.data;
}

char *atoll_model_where(const char *gateway, struct atoll_err *err)
{
    for (size_t i = 0; i < sizeof(path_forms) / sizeof(*path_forms); i++) {
        size_t length = strlen(path_forms[i]);
        if (strncmp(gateway, path_forms[i], length) == 0)
            return absolute(path_forms[i], gateway + length, err);
    }
    char *copy = strdup(gateway);
    if (!copy)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the gateway's address");
    return copy;
}

/* What a campaign could not begin with is said before it is made. */
static int where_check(const struct atoll_model_options *options, struct atoll_err *err)
{
    struct atoll_client *client = atoll_client_create(options->where, options->token, err);
    atoll_client_destroy(client);
    return client ? 0 : atoll_err_add(err, "in --gateway %s", options->where);
}

static int paths_complete(struct atoll_model_options *options, const char *gateway, struct atoll_err *err)
{
    options->where = gateway ? atoll_model_where(gateway, err) : NULL;
    if (gateway && !options->where)
        return -1;
    options->token = options->token_file ? absolute("", options->token_file, err) : NULL;
    return options->token_file && !options->token ? -1 : 0;
}

/* Of the models that a role asks, as the gateway says: the smallest context in tokens (0: it says none), and whether one of them
 * can call no tools. */
static uint32_t context_of(const struct atoll_offer *offer, const struct atoll_roles *roles, unsigned role,
                           int *ret_has_no_tools)
{
    const char *own = roles->of[role].model;
    int is_by_role = !*own || strcmp(own, ATOLL_LLM_BY_ROLE) == 0;
    const struct atoll_offer_model *model =
        atoll_offer_find(offer, is_by_role ? offer->roles[role].model : own);
    uint32_t context = model ? model->context_tokens : 0;
    *ret_has_no_tools = model && model->has_no_tools;
    for (uint32_t island = 0; island < roles->island_count; island++) { /* what fits all of them */
        const struct atoll_role_island *entry = &roles->islands[island];
        const struct atoll_offer_model *there = atoll_offer_find(offer, entry->model);
        if (!there || (entry->role != (enum atoll_model_role)role && entry->role != ATOLL_MODEL_ROLE_COUNT &&
                       entry->role != atoll_model_role_base((enum atoll_model_role)role)))
            continue;
        context = !context || (there->context_tokens && there->context_tokens < context)
                      ? there->context_tokens
                      : context;
        *ret_has_no_tools |= there->has_no_tools;
    }
    return context;
}

/* What the gateway says of context and candidates where the campaign does not: kept with the campaign, because prompts follow from
 * it.  A gateway that is not there yet, or a person with a spool, says nothing. */
static void put_offer(const struct atoll_model_options *options, struct atoll_buffer *text)
{
    struct atoll_roles roles;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_offer *offer = malloc(sizeof(*offer));
    if (!offer || atoll_roles_parse(options->model, NULL, &roles, &err) != 0 ||
        atoll_check_offer(options->where, options->token, OFFER_S, offer, &err) != 0) {
        free(offer);
        return;
    }
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++) {
        const char *name = atoll_model_role_name((enum atoll_model_role)i);
        int has_no_tools;
        uint32_t context = context_of(offer, &roles, i, &has_no_tools);
        uint32_t candidates = offer->roles[i].candidates;
        if (context >= CONTEXT_LEAST)
            atoll_buffer_printf(text, "%s:context=%u;", name, context);
        if (has_no_tools)
            atoll_buffer_printf(text, "%s:tools=0;", name);
        if (candidates && atoll_model_role_has_candidates((enum atoll_model_role)i))
            atoll_buffer_printf(text, "%s:candidates=%u;", name,
                                candidates < ATOLL_ASK_COUNT_LIMIT ? candidates
                                                                   : (uint32_t)ATOLL_ASK_COUNT_LIMIT);
    }
    free(offer);
}

/* Of what is given about roles: the text that a campaign keeps, and what the search asks for. */
static int roles_complete(struct atoll_model_options *options, const struct atoll_search_options *given,
                          struct atoll_search *search, struct atoll_err *err)
{
    struct atoll_roles roles;
    struct atoll_search wished = *search;
    struct atoll_buffer text;
    atoll_buffer_init(&text, ROLES_BYTES);
    put_offer(options, &text); /* what is said here stands behind it, and holds */
    for (size_t i = 0; i < options->role.count; i++)
        atoll_buffer_printf(&text, "%s%s", i ? ";" : "", options->role.items[i]);
    atoll_buffer_put_u8(&text, 0);
    if (atoll_buffer_check(&text, err) != 0 ||
        atoll_roles_parse(options->model, (const char *)text.data, &roles, err) != 0 ||
        atoll_roles_check_islands(&roles, search->islands, err) != 0) {
        atoll_buffer_fini(&text);
        return -1;
    }
    options->roles = (char *)text.data;
    atoll_roles_candidates(&roles, &wished);
    static const char *const names[] = {"beam_plans", "beam_attempts", "template_count", "ask_candidates"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t offset = atoll_search_field(names[i])->offset;
        if (!atoll_search_options_has(given, names[i]))
            memcpy((char *)search + offset, (const char *)&wished + offset, sizeof(uint32_t));
    }
    return 0;
}

int atoll_model_options_complete(struct atoll_model_options *options, struct atoll_err *err)
{
    struct atoll_roles roles;
    if (paths_complete(options, options->gateway, err) != 0 ||
        (options->model && atoll_roles_parse(options->model, NULL, &roles, err) != 0)) {
        return -1;
    }
    return options->where && strcmp(options->where, "none") != 0 ? where_check(options, err) : 0;
}

int atoll_model_options_resume_roles(struct atoll_model_options *options, const struct atoll_model_kept *kept,
                                     struct atoll_err *err)
{
    struct atoll_roles before, now;
    struct atoll_buffer text;
    if (options->role.count == 0)
        return 0;
    atoll_buffer_init(&text, ROLES_BYTES);
    if (kept->roles && *kept->roles)
        atoll_buffer_printf(&text, "%s%s", kept->roles,
                            kept->roles[strlen(kept->roles) - 1] == ';' ? "" : ";");
    for (size_t i = 0; i < options->role.count; i++)
        atoll_buffer_printf(&text, "%s%s", i ? ";" : "", options->role.items[i]);
    atoll_buffer_put_u8(&text, 0);
    int rc = atoll_buffer_check(&text, err);
    rc = rc == 0 ? atoll_roles_parse(NULL, kept->roles, &before, err) : rc;
    rc = rc == 0 ? atoll_roles_parse(NULL, (const char *)text.data, &now, err) : rc;
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT && rc == 0; i++) {
        const char *what = atoll_roles_frozen(&before.of[i], &now.of[i]);
        if (what)
            rc = atoll_err_set(err, ATOLL_E_USAGE,
                               "--role: %s of the %s cannot be changed any more: this campaign's prompts and "
                               "search follow from it; temperature, top-p and effort can, or start a new "
                               "campaign with --reuse",
                               what, atoll_model_role_name((enum atoll_model_role)i));
    }
    if (rc != 0) {
        atoll_buffer_fini(&text);
        return -1;
    }
    options->roles = (char *)text.data;
    return 0;
}

int atoll_model_options_fit(const struct atoll_model_options *options, const struct atoll_model_kept *kept,
                            struct atoll_err *err)
{
    struct atoll_roles before, now;
    const char *model = options->model ? options->model : kept->model;
    const char *where = options->where ? options->where : kept->gateway;
    struct atoll_offer *offer = malloc(sizeof(*offer));
    int rc = 0, has_no_tools;
    if (!offer)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for what a gateway offers");
    if (model && where && strcmp(where, "none") != 0 &&
        atoll_roles_parse(model, kept->roles, &before, NULL) == 0 &&
        atoll_roles_parse(model, NULL, &now, NULL) == 0 &&
        atoll_check_offer(where, options->token ? options->token : kept->token, OFFER_S, offer, NULL) == 0) {
        for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT && rc == 0; i++) {
            uint32_t context = context_of(offer, &now, i, &has_no_tools);
            if (has_no_tools && atoll_roles_tool_limit(&before, (enum atoll_model_role)i, kept->tools)) {
                rc = atoll_err_set(
                    err, ATOLL_E_USAGE,
                    "the model of role %s can call no tools at %s, and this campaign's prompts offer some, "
                    "for "
                    "as long as it lives: name a model that can, or start a new campaign with --reuse",
                    atoll_model_role_name((enum atoll_model_role)i), where);
            } else if (context && context < before.of[i].context_tokens) {
                rc = atoll_err_set(
                    err, ATOLL_E_USAGE,
                    "the model of role %s has a context of %u tokens at %s, and this campaign's prompts are "
                    "made for %u, for as long as it lives: name a model with as much, or start a new "
                    "campaign "
                    "with --reuse",
                    atoll_model_role_name((enum atoll_model_role)i), context, where,
                    before.of[i].context_tokens);
            }
        }
    }
    free(offer);
    return rc;
}

int atoll_model_options_apply(struct atoll_model_options *options, const struct atoll_search_options *given,
                              struct atoll_search *search, struct atoll_err *err)
{
    const char *gateway = options->gateway ? options->gateway : getenv("ATOLL_GATEWAY");
    if (options->model && !gateway) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "--model %s needs a gateway: --gateway URL, unix:PATH, spool:DIR or replay:FILE "
                             "(atoll gateway serve starts one)",
                             options->model);
    }
    if (!options->model && options->gateway) {
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "--gateway needs --model NAME: a model or an ensemble, as the gateway calls it");
    }
    if (!options->model && options->role.count > 0)
        return atoll_err_set(err, ATOLL_E_USAGE, "--role needs --model: without one nobody is asked");
    if (!options->model)
        return 0;
    if (paths_complete(options, gateway, err) != 0 || roles_complete(options, given, search, err) != 0)
        return -1;
    if (!atoll_search_options_has(given, "ask_share"))
        search->ask_share = ATOLL_MODEL_ASK_SHARE;
    return where_check(options, err);
}

void atoll_model_options_fini(struct atoll_model_options *options)
{
    free(options->where);
    free(options->token);
    free(options->roles);
    options->where = options->token = options->roles = NULL;
}

size_t atoll_model_options_arguments(const struct atoll_model_options *options, const char **ret_arguments)
{
    const char *const pairs[][2] = {{"--gateway", options->where},
                                    {"--model", options->model},
                                    {"--gateway-token", options->token},
                                    {"--role", options->roles}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        if (pairs[i][1]) {
            ret_arguments[count++] = pairs[i][0];
            ret_arguments[count++] = pairs[i][1];
        }
    }
    return count;
}

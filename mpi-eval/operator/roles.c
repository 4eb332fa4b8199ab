#include "mpi-eval/operator/roles.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"

/* Upper bound of tokens of the system text and of what a provider adds, and bytes of a token: code has about three, a margin
 * of a third is kept. */
#define SYSTEM_TOKENS   8000u
#define ANSWER_TOKENS   16000u /* where max-tokens is unsaid */
#define BYTES_PER_TOKEN 2u
#define PROMPT_LEAST    ((size_t)4 << 10)
#define PROMPT_MOST     ((size_t)1 << 20)

/* A part of a text: length bytes, no NUL behind. */
struct part {
    const char *text;
    size_t length;
};

/* The next part before the separator; 0 when there is none left. */
static int next_part(const char **text, char separator, struct part *ret_part)
{
    while (**text == ' ' || **text == separator)
        (*text)++;
    if (!**text)
        return 0;
    const char *end = strchr(*text, separator);
    size_t length = end ? (size_t)(end - *text) : strlen(*text);
    const char *begin = *text;
    *text += length;
    while (length && begin[length - 1] == ' ')
        length--;
    *ret_part = (struct part){begin, length};
    return 1;
}

/* Splits at the first separator. */
static int split(struct part whole, char separator, struct part *ret_name, struct part *ret_value)
{
    const char *at = memchr(whole.text, separator, whole.length);
    if (!at)
        return -1;
    size_t name = (size_t)(at - whole.text);
    *ret_name = (struct part){whole.text, name};
    *ret_value = (struct part){at + 1, whole.length - name - 1};
    return 0;
}

static void names_put(char *out, size_t bytes)
{
    size_t used = 0;
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? ", " : "",
                                 atoll_model_role_name((enum atoll_model_role)i));
}

static int unknown_role(const char *option, struct part name, struct atoll_err *err)
{
    char names[256], word[64], hint[ATOLL_SPELLING_HINT_BYTES];
    names_put(names, sizeof(names));
    snprintf(word, sizeof(word), "%.*s", (int)(name.length < 64 ? name.length : 64), name.text);
    atoll_spelling_hint_in(word, names, "", hint);
    return atoll_err_set(err, ATOLL_E_USAGE, "%s: no role is called '%s'; there are %s and *%s%s", option,
                         word, names, *hint ? "; " : "", hint);
}

static int is_all(struct part name)
{
    return name.length == 1 && *name.text == '*';
}

static int put_model(struct atoll_role_settings *s, struct part model, struct atoll_err *err)
{
    if (model.length == 0 || model.length >= sizeof(s->model))
        return atoll_err_set(err, ATOLL_E_USAGE, "--model: '%.*s' is no name of a model",
                             (int)(model.length < 200 ? model.length : 200), model.text);
    memcpy(s->model, model.text, model.length);
    s->model[model.length] = '\0';
    return 0;
}

static enum atoll_model_role role_of(struct part name)
{
    return atoll_model_role_find(name.text, name.length);
}

/* "writer@0", "@0" or "*@0", behind whose sign `island` stands. */
static int put_island(struct atoll_roles *roles, struct part name, struct part island, struct part model,
                      struct atoll_err *err)
{
    struct atoll_role_settings kept;
    enum atoll_model_role role = name.length ? role_of(name) : ATOLL_MODEL_ROLE_COUNT;
    char text[16], *end = text;
    snprintf(text, sizeof(text), "%.*s", (int)island.length, island.text);
    unsigned long number = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : ATOLL_ISLAND_LIMIT;
    if (name.length && role == ATOLL_MODEL_ROLE_COUNT && !is_all(name))
        return unknown_role("--model", name, err);
    if (end == text || *end || number >= ATOLL_ISLAND_LIMIT)
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "--model: '@%s' is no island; they are numbered from 0 to %d", text,
                             ATOLL_ISLAND_LIMIT - 1);
    for (uint32_t i = 0; i < roles->island_count; i++)
        if (roles->islands[i].role == role && roles->islands[i].island == number)
            return atoll_err_set(err, ATOLL_E_USAGE, "--model: '%.*s@%lu' has two models", (int)name.length,
                                 name.text, number);
    if (roles->island_count == ATOLL_ROLES_ISLAND_LIMIT)
        return atoll_err_set(err, ATOLL_E_USAGE, "--model: more than %d models of islands",
                             ATOLL_ROLES_ISLAND_LIMIT);
    if (put_model(&kept, model, err) != 0)
        return -1;
    struct atoll_role_island *entry = &roles->islands[roles->island_count++];
    entry->role = role;
    entry->island = (uint32_t)number;
    memcpy(entry->model, kept.model, sizeof(entry->model));
    return 0;
}

static int parse_models(const char *text, struct atoll_roles *roles, struct atoll_err *err)
{
    struct part part, name, model, plain, island, rest = {NULL, 0};
    int is_named[ATOLL_MODEL_ROLE_COUNT] = {0};
    while (next_part(&text, ',', &part)) {
        if (split(part, '=', &name, &model) != 0)
            name = (struct part){"*", 1}, model = part;
        if (split(name, '@', &plain, &island) == 0) {
            if (put_island(roles, plain, island, model, err) != 0)
                return -1;
            continue;
        }
        enum atoll_model_role role = atoll_model_role_find(name.text, name.length);
        if (role == ATOLL_MODEL_ROLE_COUNT && !is_all(name))
            return unknown_role("--model", name, err);
        if (is_all(name) ? rest.text != NULL : is_named[role])
            return atoll_err_set(err, ATOLL_E_USAGE, "--model: '%.*s' has two models", (int)name.length,
                                 name.text);
        if (is_all(name))
            rest = model;
        else if (put_model(&roles->of[role], model, err) != 0)
            return -1;
        else
            is_named[role] = 1;
    }
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++) { /* a base comes before whose it is */
        enum atoll_model_role base = atoll_model_role_base((enum atoll_model_role)i);
        if (base < ATOLL_MODEL_ROLE_COUNT && !is_named[i] && is_named[base]) {
            memcpy(roles->of[i].model, roles->of[base].model, sizeof(roles->of[i].model));
            is_named[i] = 1;
        }
    }
    for (unsigned i = 0; rest.text && i < ATOLL_MODEL_ROLE_COUNT; i++)
        if (!is_named[i] && put_model(&roles->of[i], rest, err) != 0)
            return -1;
    return 0;
}

/* ---- parameters ---- */

enum parameter_kind { REAL, COUNT, EFFORT };

static const struct parameter {
    const char *name;
    enum parameter_kind kind;
    size_t offset;
    double least, most;
} parameters[] = {
    /* prompts and search follow from all that are counts */
    {"temperature", REAL, offsetof(struct atoll_role_settings, temperature), 0, 2},
    {"top-p", REAL, offsetof(struct atoll_role_settings, top_p), 0, 1},
    {"effort", EFFORT, offsetof(struct atoll_role_settings, effort), 0, 0},
    {"max-tokens", COUNT, offsetof(struct atoll_role_settings, max_tokens), 1, 1e7},
    {"candidates", COUNT, offsetof(struct atoll_role_settings, candidates), 1, ATOLL_ASK_COUNT_LIMIT},
    {"context", COUNT, offsetof(struct atoll_role_settings, context_tokens), 1000, 1e8},
    {"tools", COUNT, offsetof(struct atoll_role_settings, tools), 0, ATOLL_TOOL_CALL_LIMIT},
};
#define PARAMETERS (sizeof(parameters) / sizeof(*parameters))

static int read_effort(const char *text, enum atoll_llm_effort *ret_effort)
{
    for (unsigned i = 1; i < ATOLL_LLM_EFFORT_COUNT; i++) {
        if (strcmp(atoll_llm_effort_name((enum atoll_llm_effort)i), text) == 0) {
            *ret_effort = (enum atoll_llm_effort)i;
            return 0;
        }
    }
    return -1;
}

/* "" where none is near. */
static const char *effort_hint(const char *text, char ret_hint[ATOLL_SPELLING_HINT_BYTES])
{
    const char *known[ATOLL_LLM_EFFORT_COUNT];
    for (unsigned i = 1; i < ATOLL_LLM_EFFORT_COUNT; i++)
        known[i - 1] = atoll_llm_effort_name((enum atoll_llm_effort)i);
    return atoll_spelling_hint(text, known, ATOLL_LLM_EFFORT_COUNT - 1, "", ret_hint);
}

static int put_parameter(struct atoll_role_settings *s, const struct parameter *p, struct part value,
                         struct atoll_err *err)
{
    char text[32];
    char *end = text;
    snprintf(text, sizeof(text), "%.*s", (int)value.length, value.text);
    void *field = (char *)s + p->offset;
    if (p->kind == EFFORT) {
        if (read_effort(text, field) == 0)
            return 0;
        char hint[ATOLL_SPELLING_HINT_BYTES];
        const char *near = effort_hint(text, hint);
        return atoll_err_set(err, ATOLL_E_USAGE,
                             "--role: effort is minimal, low, medium or high, not '%s'%s%s", text,
                             *near ? "; " : "", near);
    }
    double number = value.length && value.length < sizeof(text) ? strtod(text, &end) : NAN;
    int is_whole = p->kind == REAL || number == floor(number);
    if (end == text || *end || !(number >= p->least && number <= p->most) || !is_whole) {
        return atoll_err_set(err, ATOLL_E_USAGE, "--role: %s is a %snumber from %g to %g, not '%s'", p->name,
                             p->kind == COUNT ? "whole " : "", p->least, p->most, text);
    }
    if (p->kind == REAL)
        *(double *)field = number;
    else
        *(uint32_t *)field = (uint32_t)number;
    return 0;
}

/* said: of each role the parameters that were given to it by its name. */
static int put_parameters(struct atoll_roles *roles, struct part name, struct part values, uint32_t *said,
                          struct atoll_err *err)
{
    enum atoll_model_role role = role_of(name);
    struct part pair, key, value;
    char list[512];
    const char *text = list;
    if (role == ATOLL_MODEL_ROLE_COUNT && !is_all(name))
        return unknown_role("--role", name, err);
    if (values.length >= sizeof(list))
        return atoll_err_set(err, ATOLL_E_USAGE, "--role %.*s: too much is said of it", (int)name.length,
                             name.text);
    memcpy(list, values.text, values.length);
    list[values.length] = '\0';
    while (next_part(&text, ',', &pair)) {
        size_t at = 0;
        if (split(pair, '=', &key, &value) != 0)
            key = pair, value = (struct part){"", 0};
        while (at < PARAMETERS && (strlen(parameters[at].name) != key.length ||
                                   memcmp(parameters[at].name, key.text, key.length) != 0))
            at++;
        if (at == PARAMETERS) {
            char word[64], hint[ATOLL_SPELLING_HINT_BYTES];
            snprintf(word, sizeof(word), "%.*s", (int)(key.length < 64 ? key.length : 64), key.text);
            return atoll_err_set(
                err, ATOLL_E_USAGE, "--role: '%s' is not known; %s", word,
                atoll_spelling_hint_in(word, "temperature top-p effort max-tokens candidates context tools",
                                       "a role has temperature, top-p, effort, max-tokens, candidates, "
                                       "context and tools",
                                       hint));
        }
        if (parameters[at].offset == offsetof(struct atoll_role_settings, candidates) && !is_all(name) &&
            !atoll_model_role_has_candidates(role)) {
            return atoll_err_set(err, ATOLL_E_USAGE,
                                 "--role %s:candidates has no effect: its answer is one; writer, planner, "
                                 "executor, refiner and templater take candidates",
                                 atoll_model_role_name(role));
        }
        for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++) {
            int is_base = atoll_model_role_base((enum atoll_model_role)i) == role && !(said[i] >> at & 1);
            if ((is_all(name) || i == (unsigned)role || (role < ATOLL_MODEL_ROLE_COUNT && is_base)) &&
                put_parameter(&roles->of[i], &parameters[at], value, err) != 0)
                return -1;
        }
        if (role < ATOLL_MODEL_ROLE_COUNT)
            said[role] |= (uint32_t)1 << at;
    }
    return 0;
}

static int parse_parameters(const char *text, struct atoll_roles *roles, struct atoll_err *err)
{
    struct part part, name, values;
    uint32_t said[ATOLL_MODEL_ROLE_COUNT] = {0};
    while (next_part(&text, ';', &part)) {
        if (split(part, ':', &name, &values) != 0) {
            return atoll_err_set(err, ATOLL_E_USAGE,
                                 "--role %.*s: say it as planner:temperature=0.3,effort=high",
                                 (int)part.length, part.text);
        }
        if (put_parameters(roles, name, values, said, err) != 0)
            return -1;
    }
    return 0;
}

int atoll_roles_parse(const char *models, const char *parameters_text, struct atoll_roles *ret_roles,
                      struct atoll_err *err)
{
    struct atoll_roles roles;
    memset(&roles, 0, sizeof(roles));
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++) {
        strcpy(roles.of[i].model, ATOLL_ROLES_BY_GATEWAY);
        roles.of[i].temperature = roles.of[i].top_p = NAN;
        roles.of[i].tools = UINT32_MAX;
    }
    if (parse_models(models ? models : "", &roles, err) != 0 ||
        parse_parameters(parameters_text ? parameters_text : "", &roles, err) != 0)
        return -1;
    *ret_roles = roles;
    return 0;
}

const char *atoll_roles_model(const struct atoll_roles *roles, enum atoll_model_role role, uint32_t island)
{
    const char *model = roles->of[role].model;
    enum atoll_model_role base = atoll_model_role_base(role);
    unsigned best = 0; /* how narrow what was found is: the island, the role's base there, the role there */
    for (uint32_t i = 0; i < roles->island_count; i++) {
        const struct atoll_role_island *entry = &roles->islands[i];
        unsigned fit = entry->island != island                 ? 0
                       : entry->role == role                   ? 3
                       : entry->role == ATOLL_MODEL_ROLE_COUNT ? 1
                       : entry->role == base                   ? 2
                                                               : 0;
        if (fit > best) {
            best = fit;
            model = entry->model;
        }
    }
    return model;
}

int atoll_roles_check_islands(const struct atoll_roles *roles, uint32_t islands, struct atoll_err *err)
{
    for (uint32_t i = 0; i < roles->island_count; i++)
        if (roles->islands[i].island >= islands)
            return atoll_err_set(err, ATOLL_E_USAGE,
                                 "--model: there is no island %u: the search has %u, numbered from 0 (--set "
                                 "islands)",
                                 roles->islands[i].island, islands);
    return 0;
}

void atoll_roles_apply(const struct atoll_roles *roles, enum atoll_model_role role, uint32_t island,
                       struct atoll_llm_request *request)
{
    const struct atoll_role_settings *s = &roles->of[role];
    request->model = atoll_roles_model(roles, role, island);
    request->purpose = atoll_model_role_name(role);
    request->temperature = s->temperature;
    request->top_p = s->top_p;
    request->effort = s->effort;
    request->max_output_tokens = s->max_tokens;
}

unsigned atoll_roles_tool_limit(const struct atoll_roles *roles, enum atoll_model_role role, unsigned limit)
{
    uint32_t own = roles->of[role].tools;
    if (!limit || !atoll_model_role_has_tools(role))
        return 0;
    return own <= ATOLL_TOOL_CALL_LIMIT ? own : limit;
}

size_t atoll_roles_token_bytes(uint64_t tokens)
{
    return tokens < PROMPT_MOST ? (size_t)tokens * BYTES_PER_TOKEN : PROMPT_MOST * BYTES_PER_TOKEN;
}

size_t atoll_roles_prompt_bytes(const struct atoll_roles *roles, enum atoll_model_role role)
{
    const struct atoll_role_settings *s = &roles->of[role];
    uint64_t kept = SYSTEM_TOKENS + (s->max_tokens ? s->max_tokens : ANSWER_TOKENS);
    if (!s->context_tokens)
        return 0;
    size_t bytes = s->context_tokens > kept ? (size_t)(s->context_tokens - kept) * BYTES_PER_TOKEN : 0;
    return bytes < PROMPT_LEAST ? PROMPT_LEAST : bytes > PROMPT_MOST ? PROMPT_MOST : bytes;
}

const char *atoll_roles_frozen(const struct atoll_role_settings *before,
                               const struct atoll_role_settings *now)
{
    const char *const a = (const char *)before, *const b = (const char *)now;
    for (size_t i = 0; i < PARAMETERS; i++)
        if (parameters[i].kind == COUNT &&
            memcmp(a + parameters[i].offset, b + parameters[i].offset, sizeof(uint32_t)) != 0)
            return parameters[i].name;
    return NULL;
}

void atoll_roles_candidates(const struct atoll_roles *roles, struct atoll_search *search)
{
    const struct {
        enum atoll_model_role role;
        uint32_t *setting;
    } rows[] = {
        {ATOLL_MODEL_ROLE_PLANNER, &search->beam_plans},
        {ATOLL_MODEL_ROLE_EXECUTOR, &search->beam_attempts},
        {ATOLL_MODEL_ROLE_TEMPLATER, &search->template_count},
        {search->strategy == ATOLL_STRATEGY_STAGED ? ATOLL_MODEL_ROLE_REFINER : ATOLL_MODEL_ROLE_WRITER,
         &search->ask_candidates},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (roles->of[rows[i].role].candidates)
            *rows[i].setting = roles->of[rows[i].role].candidates;
}

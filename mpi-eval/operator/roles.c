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

static int parse_models(const char *text, struct atoll_roles *roles, struct atoll_err *err)
{
    struct part part, name, model, rest = {NULL, 0};
    int is_named[ATOLL_MODEL_ROLE_COUNT] = {0};
    while (next_part(&text, ',', &part)) {
        if (split(part, '=', &name, &model) != 0)
            name = (struct part){"*", 1}, model = part;
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
        return atoll_err_set(err, ATOLL_E_USAGE, "--role: effort is minimal, low, medium or high, not '%s'",
                             text);
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

static int put_parameters(struct atoll_roles *roles, struct part name, struct part values,
                          struct atoll_err *err)
{
    enum atoll_model_role role = atoll_model_role_find(name.text, name.length);
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
        for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++)
            if ((is_all(name) || i == (unsigned)role) &&
                put_parameter(&roles->of[i], &parameters[at], value, err) != 0)
                return -1;
    }
    return 0;
}

static int parse_parameters(const char *text, struct atoll_roles *roles, struct atoll_err *err)
{
    struct part part, name, values;
    while (next_part(&text, ';', &part)) {
        if (split(part, ':', &name, &values) != 0) {
            return atoll_err_set(err, ATOLL_E_USAGE,
                                 "--role %.*s: say it as planner:temperature=0.3,effort=high",
                                 (int)part.length, part.text);
        }
        if (put_parameters(roles, name, values, err) != 0)
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

void atoll_roles_apply(const struct atoll_roles *roles, enum atoll_model_role role,
                       struct atoll_llm_request *request)
{
    const struct atoll_role_settings *s = &roles->of[role];
    request->model = s->model;
    request->purpose = atoll_model_role_name(role);
    request->temperature = s->temperature;
    request->top_p = s->top_p;
    request->effort = s->effort;
    request->max_output_tokens = s->max_tokens;
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

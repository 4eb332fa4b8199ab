#include "llm-gateway/config/offer.h"

#include <math.h>
#include <string.h>

#include "base/json.h"

#define VALUE_LIMIT 20000 /* JSON values of an offer */

/* ---- what is told ---- */

static json_t *model_json(const char *name, const char *owner, uint32_t context_tokens, int has_no_tools)
{
    json_t *one = json_pack("{s:s,s:s,s:i,s:s,s:{s:b}}", "id", name, "object", "model", "created", 0,
                            "owned_by", owner, "atoll", "tools", !has_no_tools);
    if (context_tokens && json_object_set_new(json_object_get(one, "atoll"), "context_tokens",
                                              json_integer((json_int_t)context_tokens))) {
        json_decref(one);
        return NULL;
    }
    return one;
}

static json_t *ensemble_json(const struct atoll_gateway_config *config, const struct atoll_ensemble *ensemble)
{
    uint32_t least = UINT32_MAX;
    int has_no_tools = 0;
    for (size_t i = 0; i < ensemble->member_count; i++) {
        const struct atoll_gateway_model *model = &config->models[ensemble->members[i].model];
        least = model->context_tokens < least ? model->context_tokens : least;
        has_no_tools |= model->traits.has_no_tools;
    }
    return model_json(ensemble->name, "ensemble", least, has_no_tools);
}

static json_t *role_json(const struct atoll_gateway_role *role)
{
    json_t *one = json_object();
    int failed = !one || (role->model && json_object_set_new(one, "model", json_string(role->model))) ||
                 (!isnan(role->temperature) &&
                  json_object_set_new(one, "temperature", json_real(role->temperature))) ||
                 (!isnan(role->top_p) && json_object_set_new(one, "top_p", json_real(role->top_p))) ||
                 (role->effort &&
                  json_object_set_new(one, "effort", json_string(atoll_llm_effort_name(role->effort)))) ||
                 (role->max_tokens &&
                  json_object_set_new(one, "max_tokens", json_integer((json_int_t)role->max_tokens))) ||
                 (role->candidates &&
                  json_object_set_new(one, "candidates", json_integer((json_int_t)role->candidates)));
    if (failed) {
        json_decref(one);
        return NULL;
    }
    return one;
}

static const char *role_name(size_t role)
{
    return role < ATOLL_MODEL_ROLE_COUNT ? atoll_model_role_name((enum atoll_model_role)role) : "*";
}

int atoll_offer_json(const struct atoll_gateway_config *config, struct atoll_buffer *out,
                     struct atoll_err *err)
{
    json_t *list = json_array(), *roles = json_object();
    int failed = !list || !roles, has_model = 0;
    for (size_t i = 0; i < config->ensemble_count && !failed; i++)
        failed = json_array_append_new(list, ensemble_json(config, &config->ensembles[i]));
    for (size_t i = 0; i < config->model_count && !failed; i++) {
        const struct atoll_gateway_model *m = &config->models[i];
        failed = json_array_append_new(list, model_json(m->name, config->endpoints[m->endpoint].name,
                                                        m->context_tokens, m->traits.has_no_tools));
    }
    for (size_t i = 0; i < ATOLL_GATEWAY_ROLE_COUNT && !failed; i++) {
        has_model |= config->roles[i].is_said && config->roles[i].model;
        if (config->roles[i].is_said)
            failed = json_object_set_new(roles, role_name(i), role_json(&config->roles[i]));
    }
    if (has_model && !failed) /* it may be asked for like a model */
        failed = json_array_append_new(list, model_json(ATOLL_LLM_BY_ROLE, "roles", 0, 0));
    json_t *document =
        failed ? NULL
               : json_pack("{s:s,s:O,s:{s:O}}", "object", "list", "data", list, "atoll", "roles", roles);
    int status = atoll_json_put(out, document, err);
    json_decref(list);
    json_decref(roles);
    json_decref(document);
    return status;
}

/* ---- what is heard ---- */

static uint32_t count_of(const json_t *object, const char *key, uint32_t most)
{
    const json_t *value = json_object_get(object, key);
    json_int_t v = json_is_integer(value) ? json_integer_value(value) : 0;
    return v > 0 && v <= (json_int_t)most ? (uint32_t)v : 0;
}

static int take_name(char ret_name[ATOLL_OFFER_NAME_BYTES], const json_t *object, const char *key)
{
    const char *text = atoll_json_member(object, key);
    size_t length = strlen(text);
    if (!length || length >= ATOLL_OFFER_NAME_BYTES)
        return 0;
    memcpy(ret_name, text, length + 1);
    return 1;
}

static void take_role(const json_t *object, struct atoll_offer_role *role)
{
    uint32_t candidates = count_of(object, "candidates", ATOLL_CONFIG_CANDIDATES_MOST),
             max_tokens = count_of(object, "max_tokens", UINT32_MAX);
    *role = (struct atoll_offer_role){.candidates = candidates, .max_tokens = max_tokens};
    take_name(role->model, object, "model");
}

int atoll_offer_parse(const void *bytes, size_t length, struct atoll_offer *ret_offer, struct atoll_err *err)
{
    size_t i;
    json_t *one;
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_offer *offer = ret_offer;
    json_t *document = atoll_json_load(bytes, length, VALUE_LIMIT, JSON_REJECT_DUPLICATES, &why);
    const json_t *data = json_object_get(document, "data");
    const json_t *roles = json_object_get(json_object_get(document, "atoll"), "roles");
    if (!json_is_array(data)) {
        json_decref(document);
        return atoll_err_set(err, why.code == ATOLL_E_MEMORY ? ATOLL_E_MEMORY : ATOLL_E_PROTOCOL,
                             "what the gateway offers: %s", document ? "no list 'data'" : why.text);
    }
    memset(offer, 0, sizeof(*offer));
    json_array_foreach(data, i, one)
    {
        const json_t *about = json_object_get(one, "atoll");
        struct atoll_offer_model *model = &offer->models[offer->model_count];
        if (offer->model_count == ATOLL_CONFIG_NAMES_MOST || !take_name(model->name, one, "id"))
            continue;
        model->context_tokens = count_of(about, "context_tokens", UINT32_MAX);
        model->has_no_tools = json_is_false(json_object_get(about, "tools"));
        offer->model_count++;
    }
    for (i = 0; i < ATOLL_GATEWAY_ROLE_COUNT; i++) {
        const json_t *role = json_object_get(roles, role_name(i));
        enum atoll_model_role base = atoll_model_role_base((enum atoll_model_role)i);
        if (!json_is_object(role) && base < ATOLL_MODEL_ROLE_COUNT)
            role = json_object_get(roles, role_name(base));
        take_role(json_is_object(role) ? role : json_object_get(roles, "*"), &offer->roles[i]);
    }
    json_decref(document);
    return 0;
}

const struct atoll_offer_model *atoll_offer_find(const struct atoll_offer *offer, const char *name)
{
    for (size_t i = 0; i < offer->model_count; i++)
        if (strcmp(offer->models[i].name, name) == 0)
            return &offer->models[i];
    return NULL;
}

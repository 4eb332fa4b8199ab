/* test_config.c - gateway.yaml: what is read, what is refused and with which words. */
#include "tests/support/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llm-gateway/config/config.h"

static char folder[] = "/tmp/atoll-config-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static struct atoll_gateway_config *load_text(const char *text, struct atoll_err *err)
{
    char path[256];
    write_file("gateway.yaml", text);
    snprintf(path, sizeof(path), "%s/gateway.yaml", folder);
    return atoll_gateway_config_load(path, err);
}

static int setup(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    write_file("prices.yaml", "version: 1\ndate: 2026-11-06\nsource: a page\nmodels:\n"
                              "  - {name: big, input: 5, output: 25}\n");
    return 0;
}

static int teardown(void **state)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/gateway.yaml", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/prices.yaml", folder);
    unlink(path);
    return rmdir(folder);
}

static void expect_path(const char *path, const char *name)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "%s/%s", folder, name);
    assert_string_equal(path, whole);
}

#define ENDPOINT "endpoints: [{name: e, provider: chat, url: 'https://h/v1'}]\n"
#define MODEL    "models: [{name: m, endpoint: e, price: free}]\n"
#define BASE     "version: 1\n" ENDPOINT MODEL

static void test_defaults(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_gateway_config *c = load_text(BASE, &err);
    if (!c)
        fail_msg("%s", err.text);
    assert_int_equal(c->endpoint_count, 1);
    const struct atoll_endpoint *e = c->endpoints;
    assert_string_equal(e->url, "https://h/v1");
    assert_null(e->site.proxy);
    assert_null(e->key_file);
    assert_true(e->site.connect_s == 10 && e->site.silence_s == 300);
    assert_true(e->concurrency == 64 && e->requests_per_minute == 0);
    const struct atoll_gateway_model *m = c->models;
    assert_string_equal(m->traits.model, "m");
    assert_true(m->traits.max_output_tokens == 16384 && !m->traits.has_no_sampling && !m->price);
    assert_int_equal(m->traits.effort, ATOLL_LLM_EFFORT_UNSAID);
    assert_int_equal(c->mode, ATOLL_EXCHANGE_LIVE);
    assert_true(c->deadline_s == 600 && c->in_flight_limit == 4096);
    assert_true(c->retry.try_limit == 6 && c->retry.first_s == 0.5 && c->retry.longest_s == 30);
    assert_null(c->listen);
    assert_null(c->file);
    assert_null(c->prices);
    atoll_gateway_config_destroy(c);
    atoll_gateway_config_destroy(NULL);
}

/* Every key, in an order that is not the order of reading. */
static const char whole[] =
    "version: 1\n"
    "spool: sp\n"
    "listen: {address: 'unix:door', token_env: TOK}\n"
    "calls: {deadline: 90s, in_flight: 7, tries: 3, first_backoff: 250ms, longest_backoff: 10s}\n"
    "budget:\n"
    "  file: led\n"
    "  mode: record\n"
    "  permanent_host: true\n"
    "  limits:\n"
    "    - {scope: campaign, money: 1.5}\n"
    "    - {scope: task, name: softmax, tokens: 2M}\n"
    "    - {scope: model, name: a/b, money: 0.000000001}\n"
    "    - {scope: day, money: 0.1, tokens: 5}\n"
    "    - {scope: campaign, name: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef, tokens: "
    "1}\n"
    "ensembles:\n"
    "  - {name: mix, members: [{model: a/b, weight: 0.5, until: 3}, {model: c, from: 3}]}\n"
    "models:\n"
    "  - {name: a/b, endpoint: two, model: big, max_output_tokens: 100, context_tokens: 1000, effort: low, "
    "sampling: false, tools: no}\n"
    "  - {name: c, endpoint: one, old_limit: true, price: big, temperature: 0.25, top_p: 0.5}\n"
    "endpoints:\n"
    "  - {name: one, provider: responses, url: 'http://127.0.0.1:8/v1//', key_file: k, proxy: none, "
    "concurrency: 2}\n"
    "  - {name: two, provider: anthropic, url: 'https://x', key_env: KEY_2, ca_file: /ca, unix_socket: s, "
    "connect: 1s,\n"
    "     silence: 2m, requests_per_minute: 5.5, tokens_per_minute: 100}\n"
    "prices: prices.yaml\n"
    "roles:\n"
    "  planner: {model: mix, effort: high, max_tokens: 800, candidates: 4}\n"
    "  executor: {model: c, temperature: 0, top_p: 1}\n"
    "  '*': {model: a/b, max_tokens: 1000}\n";

/* A role that is not named is everybody's. */
static void check_whole_roles(const struct atoll_gateway_config *c)
{
    const struct atoll_gateway_role *planner = atoll_gateway_role_of(c, "planner"),
                                    *executor = atoll_gateway_role_of(c, "executor"),
                                    *rest = atoll_gateway_role_of(c, "writer");
    assert_string_equal(planner->model, "mix");
    assert_true(isnan(planner->temperature) && isnan(planner->top_p) && planner->max_tokens == 800 &&
                planner->candidates == 4 && planner->effort == ATOLL_LLM_EFFORT_HIGH);
    assert_true(executor->temperature == 0 && executor->top_p == 1 && !executor->candidates);
    assert_string_equal(rest->model, "a/b");
    assert_ptr_equal(rest, atoll_gateway_role_of(c, "universal"));
    assert_ptr_equal(rest, atoll_gateway_role_of(c, ""));
    /* the rows of the file are the names of the roles, in their order */
    for (unsigned i = 0; i < ATOLL_MODEL_ROLE_COUNT; i++) {
        char text[256];
        struct atoll_err err = ATOLL_ERR_INIT;
        const char *name = atoll_model_role_name((enum atoll_model_role)i);
        snprintf(text, sizeof(text), "%sroles: {%s: {max_tokens: 700}}\n", BASE, name);
        struct atoll_gateway_config *one = load_text(text, &err);
        if (!one)
            fail_msg("%s", err.text);
        for (unsigned k = 0; k <= ATOLL_MODEL_ROLE_COUNT; k++)
            assert_int_equal(one->roles[k].is_said, k == i);
        assert_non_null(atoll_gateway_role_of(one, name));
        assert_null(atoll_gateway_role_of(one, "universal"));
        assert_null(one->roles[i].model);
        atoll_gateway_config_destroy(one);
    }
}

static void check_whole_endpoints(const struct atoll_gateway_config *c)
{
    const struct atoll_endpoint *one = &c->endpoints[0], *two = &c->endpoints[1];
    assert_int_equal(c->endpoint_count, 2);
    assert_string_equal(one->url, "http://127.0.0.1:8/v1");
    assert_string_equal(one->site.proxy, "");
    expect_path(one->key_file, "k");
    assert_int_equal(one->provider, ATOLL_PROVIDER_RESPONSES);
    assert_int_equal(two->provider, ATOLL_PROVIDER_ANTHROPIC);
    assert_string_equal(two->key_env, "KEY_2");
    assert_string_equal(two->site.ca_file, "/ca");
    expect_path(two->site.unix_socket, "s");
    assert_true(two->site.connect_s == 1 && two->site.silence_s == 120);
    assert_true(two->requests_per_minute == 5.5 && two->tokens_per_minute == 100);
    const struct atoll_gateway_model *a = &c->models[0];
    assert_true(a->endpoint == 1 && a->context_tokens == 1000 && a->price && a->price->output == 25);
    assert_string_equal(a->traits.model, "big");
    assert_true(a->traits.has_no_sampling && a->traits.effort == ATOLL_LLM_EFFORT_LOW);
    assert_true(a->traits.has_no_tools && !c->models[1].traits.has_no_tools);
    const struct atoll_provider_model *b = &c->models[1].traits;
    assert_true(b->has_temperature && b->temperature == 0.25 && b->has_top_p && b->top_p == 0.5);
    assert_false(a->traits.has_temperature || a->traits.has_top_p);
    assert_true(c->models[1].traits.has_old_limit && c->models[1].price == a->price);
}

static void check_whole_limits(const struct atoll_gateway_config *c)
{
    assert_int_equal(c->limit_count, 5);
    assert_true(c->limits[0].money == 1500000000 && c->limits[0].tokens == UINT64_MAX);
    assert_string_equal(c->limits[0].name, "");
    assert_true(c->limits[1].money == UINT64_MAX && c->limits[1].tokens == 2000000);
    assert_string_equal(c->limits[1].name, "softmax");
    assert_true(c->limits[2].money == 1 && c->limits[2].scope == ATOLL_SCOPE_MODEL);
    assert_true(c->limits[3].money == 100000000 && c->limits[3].scope == ATOLL_SCOPE_DAY);
    assert_int_equal(strlen(c->limits[4].name), ATOLL_ID_HEX - 1); /* as campaigns are called */
    expect_path(c->file, "led");
    assert_true(c->is_permanent_host);
}

static void test_whole(void **state)
{
    char address[300];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_gateway_config *c = load_text(whole, &err);
    if (!c)
        fail_msg("%s", err.text);
    check_whole_endpoints(c);
    check_whole_limits(c);
    check_whole_roles(c);
    const struct atoll_ensemble *mix = c->ensembles;
    assert_true(c->ensemble_count == 1 && mix->member_count == 2);
    assert_true(mix->members[0].model == 0 && mix->members[0].weight == 0.5 &&
                mix->members[0].until_generation == 3);
    assert_true(mix->members[1].from_generation == 3 && mix->members[1].until_generation == UINT32_MAX);
    assert_int_equal(c->mode, ATOLL_EXCHANGE_RECORD);
    assert_true(c->deadline_s == 90 && c->in_flight_limit == 7);
    assert_true(c->retry.try_limit == 3 && c->retry.first_s == 0.25 && c->retry.longest_s == 10);
    snprintf(address, sizeof(address), "unix:%s/door", folder);
    assert_string_equal(c->listen, address);
    assert_string_equal(c->token_env, "TOK");
    expect_path(c->spool, "sp");
    atoll_gateway_config_destroy(c);
}

static const struct {
    const char *text, *words;
} refused[] = {
    {"endpoints: []\n", ":1: key 'version' is missing"},
    {"version: 2\n", ":1: version '2' is not known"},
    {"version: 1\n", ":1: no models"},
    {BASE "endpoint: 3\n", ":4: unknown key 'endpoint'; did you mean 'endpoints'?"},
    /* secrets */
    {BASE "api_key: abc\n", ":4: keys never stand in this file"},
    {"version: 1\nendpoints:\n  - name: e\n    provider: chat\n    url: https://h\n    key: abc\n",
     ":6: keys never stand in this file"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://user:pw@h/v1'}]\n", "keys never stand"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h', proxy: 'http://u:p@x:1'}]\n",
     "keys never stand"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h', key_env: sk-abc}]\n",
     "keys never stand"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h', key_file: sk-abc}]\n",
     "keys never stand"},
    {BASE "listen: {address: '127.0.0.1:0', token: abc}\n", "keys never stand"},
    /* endpoints */
    {"version: 1\nendpoints: [{name: e, provider: gpt, url: 'https://h'}]\n",
     ":2: unknown provider 'gpt'; known: chat, responses, anthropic"},
    {"version: 1\nendpoints: [{name: e, provider: chta, url: 'https://h'}]\n", "did you mean 'chat'?"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'ftp://h'}]\n", "url 'ftp://h' is none"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://'}]\n", "is none"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h/?a=b'}]\n", "has a query"},
    {"version: 1\nendpoints: [{name: 'e e', provider: chat, url: 'https://h'}]\n", "name 'e e' must be"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h'}, {name: e, provider: chat, url: "
     "'https://h'}]\n",
     "endpoint 'e' stands here twice"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h', key_env: A, key_file: b}]\n",
     "both key_file and key_env"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'http://h/v1', key_env: A}]\n", "in plain text"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'http://127.0.0.1.evil/v1', key_env: A}]\n",
     "in plain text"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h', key_env: $A}]\n",
     "name of an environment variable"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h', concurrency: 0}]\n",
     "0 is too few"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h', connect: 0s}]\n",
     "must be longer than 0"},
    {"version: 1\nendpoints: [{name: e, provider: chat, url: 'https://h', proxy: here}]\n",
     "proxy 'here' is none"},
    /* models */
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: other}]\n",
     ":3: unknown endpoint 'other'; known: e"},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e}, {name: m, endpoint: e}]\n",
     "model 'm' stands here twice"},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e, effort: some}]\n",
     "unknown effort 'some'; known: minimal, low, medium, high"},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e, tools: few}]\n",
     ":3: 'few' is neither true nor false"},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e, price: big}]\n",
     "price 'big' has no row in a price table (key prices)"},
    {"version: 1\nprices: prices.yaml\n" ENDPOINT "models: [{name: m, endpoint: e, price: small}]\n",
     ":4: price 'small' has no row in the price table"},
    {"version: 1\nprices: none.yaml\n" ENDPOINT MODEL, ":2: "},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e, max_output_tokens: 0}]\n", "0 is too few"},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e, max_output_tokens: 9, context_tokens: 8}]\n",
     "above its context_tokens"},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e, temperature: 2.5}]\n",
     ":3: '2.5' must lie between 0 and 2"},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e, top_p: 0.5, sampling: false}]\n",
     ":3: model 'm' says temperature or top_p, and sampling: false"},
    {"version: 1\n" ENDPOINT "models: [{name: roles, endpoint: e}]\n", ":3: 'roles' stands for the model of"},
    {BASE "ensembles: [{name: roles, members: [{model: m}]}]\n", ":4: 'roles' stands for the model of"},
    /* roles */
    {BASE "roles: {planer: {}}\n", ":4: unknown key 'planer'; did you mean 'planner'?"},
    {BASE "roles: [planner]\n", ":4: "},
    {BASE "roles:\n  planner:\n    temprature: 1\n",
     ":6: unknown key 'temprature'; did you mean 'temperature'?"},
    {BASE "roles:\n  planner:\n    model: M\n", ":6: unknown model 'M'"},
    {BASE "roles: {planner: {temperature: 2.1}}\n", ":4: '2.1' must lie between 0 and 2"},
    {BASE "roles: {planner: {temperature: warm}}\n", ":4: 'warm' is not a finite number"},
    {BASE "roles: {planner: {top_p: 1.5}}\n", ":4: '1.5' must lie between 0 and 1"},
    {BASE "roles: {planner: {effort: max}}\n", ":4: unknown effort 'max'"},
    {BASE "roles: {planner: {max_tokens: 0}}\n", "0 is too few"},
    {BASE "roles: {planner: {candidates: 65}}\n", ":4: 65 candidates of one ask are more than 64"},
    {BASE "roles: {judge: {candidates: 2}}\n", ":4: candidates of a role whose answer is one have no effect"},
    {BASE "roles: {planner: {}, planner: {}}\n", ":4: "},
    {"version: 1\n" ENDPOINT
     "models: [{name: m, endpoint: e, sampling: false}]\nroles:\n  planner:\n    model: m\n    top_p: 1\n",
     ":7: model 'm' takes none (sampling: false)"},
    {"version: 1\n" ENDPOINT "models: [{name: m, endpoint: e, max_output_tokens: 5, context_tokens: "
     "9}]\nensembles: [{name: x, members: "
     "[{model: m}]}]\nroles: {'*': {model: x, max_tokens: 10}}\n",
     ":5: more than the context_tokens of model 'm'"},
    /* ensembles */
    {BASE "ensembles: [{name: m, members: [{model: m}]}]\n", "'m' is the name of a model already"},
    {BASE "ensembles: [{name: x, members: [{model: m}]}, {name: x, members: [{model: m}]}]\n",
     "ensemble 'x' stands here twice"},
    {BASE "ensembles: [{name: x, members: [{model: other}]}]\n", ":4: unknown model 'other'; known: m"},
    {BASE "ensembles: [{name: x, members: []}]\n", "no member with a weight above 0"},
    {BASE "ensembles: [{name: x, members: [{model: m, weight: 0}]}]\n", "no member with a weight above 0"},
    {BASE "ensembles: [{name: x, members: [{model: m, weight: -1}]}]\n", "must not be negative"},
    {BASE "ensembles: [{name: x, members: [{model: m, from: 3, until: 3}]}]\n", "from must lie below until"},
    {BASE "ensembles: [{name: x, members: [{model: m}], fallbacks: [m]}]\n",
     ":4: batch, batch_poll, hedge and fallbacks were removed"},
    {BASE "batch_poll: 60s\n", ":4: batch, batch_poll, hedge and fallbacks were removed"},
    {BASE "calls: {hedge: 30s}\n", "were removed, with what they did; delete this key"},
    /* budget */
    {BASE "budget: {limits: [{scope: day, tokens: 1}]}\n", ":4: key 'file' is missing"},
    {BASE "budget: {file: l, limits: [{scope: day}]}\n", "this limits nothing"},
    {BASE "budget: {file: l, limits: [{scope: day, name: x, tokens: 1}]}\n", "a day has no name"},
    {BASE "budget: {file: l, limits: [{scope: week, tokens: 1}]}\n",
     "unknown scope 'week'; known: campaign, task, model, day"},
    {BASE "budget: {file: l, limits: [{scope: model, tokens: 1}]}\n",
     "a limit of a model names one of the models"},
    {BASE "budget: {file: l, limits: [{scope: day, tokens: 1}, {scope: day, money: 1}]}\n",
     "have a limit already"},
    {BASE "budget: {file: l, limits: [{scope: day, money: -1}]}\n", "must not be negative"},
    {BASE "budget: {file: l, holder: one}\n", ":4: ledger, holder and store are one file now"},
    {BASE "budget: {ledger: l}\n", "gateway convert exchanges.atl gateway/gateway.sqlite"},
    {BASE "store: {file: x}\n", ":4: ledger, holder and store are one file now"},
    {"version: 1\n" ENDPOINT
     "models:\n  - {name: m, endpoint: e}\nbudget: {file: l, limits: [{scope: day, money: 1}]}\n",
     ":4: money is limited, and this model has no price"},
    /* the rest */
    {BASE "budget: {file: x, mode: reply}\n", "unknown mode 'reply'; did you mean 'replay'?"},
    {BASE "calls: {first_backoff: 5s, longest_backoff: 1s}\n", "first_backoff is longer"},
    {BASE "calls: {in_flight: 0}\n", "0 is too few"},
    {BASE "listen: {address: '0.0.0.0:80'}\n",
     ":4: others than this machine could use '0.0.0.0:80'; add token_file"},
    {BASE "listen: {address: '[::]:80'}\n", "others than this machine"},
    {BASE "listen: {address: '10.0.0.1:80'}\n", "others than this machine"},
    {BASE "listen: {address: 'host:80'}\n", "is no address to listen at"},
    {BASE "listen: {address: '127.0.0.1'}\n", "is no address to listen at"},
    {BASE "listen: {address: '127.0.0.1:65536'}\n", "is no address to listen at"},
    {BASE "listen: {address: '::1:80'}\n", "is no address to listen at"},
    {BASE "listen: {address: 'unix:'}\n", "must have 1 to 107 characters"},
    {BASE "listen: {address: '127.0.0.1:0', token_file: a, token_env: B}\n", "both token_file and token_env"},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (load_text(refused[i].text, &err))
            fail_msg("row %zu was read: %s", i, refused[i].text);
        if (err.code != ATOLL_E_INPUT || !strstr(err.text, refused[i].words) ||
            !strstr(err.text, "gateway.yaml:"))
            fail_msg("row %zu says '%s'", i, err.text);
        if (strstr(err.text, "sk-abc") || strstr(err.text, "pw@") || strstr(err.text, "u:p"))
            fail_msg("row %zu shows a secret: '%s'", i, err.text);
    }
}

/* What is allowed although it looks like something above. */
static void test_allowed(void **state)
{
    static const char *const texts[] = {
        "version: 1\nendpoints: [{name: e, provider: chat, url: 'http://localhost:8000/v1', key_env: "
        "A}]\n" MODEL,
        "version: 1\nendpoints: [{name: e, provider: chat, url: 'http://[::1]:8000', key_env: A}]\n" MODEL,
        "version: 1\nendpoints: [{name: e, provider: chat, url: 'http://h', key_env: A, unix_socket: "
        "s}]\n" MODEL,
        "version: 1\nendpoints: [{name: e, provider: chat, url: 'http://h', key_env: A, key_over_http: "
        "true}]\n" MODEL,
        "version: 1\nbudget: {file: x, mode: replay}\n",
        "version: 1\nspool: x\n",
        BASE "listen: {address: '0.0.0.0:80', token_file: t}\n",
        BASE "listen: {address: '[::1]:0'}\n",
        BASE "listen: {address: '127.3.2.1:0'}\n",
        BASE "budget: {file: l, limits: [{scope: day, money: 0}]}\n",
        BASE "budget: {file: ~/x}\n",
    };
    assert_int_equal(setenv("HOME", "/home/somebody", 1), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_gateway_config *c = load_text(texts[i], &err);
        if (!c)
            fail_msg("row %zu: %s", i, err.text);
        if (strstr(texts[i], "~/")) {
            assert_string_equal(c->file, "/home/somebody/x");
            assert_int_equal(c->mode, ATOLL_EXCHANGE_REPLAY_THEN_LIVE);
        }
        if (strstr(texts[i], "mode: replay"))
            assert_int_equal(c->mode, ATOLL_EXCHANGE_REPLAY);
        atoll_gateway_config_destroy(c);
    }
}

static void test_example(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_gateway_config *c =
        atoll_gateway_config_load(ATOLL_SOURCE_DIR "/jobscripts/gateway.yaml", &err);
    if (!c)
        fail_msg("%s", err.text);
    assert_true(c->endpoint_count == 3 && c->model_count == 3 && c->ensemble_count == 1 &&
                c->limit_count == 4);
    assert_true(c->models[0].price && c->models[1].price && !c->models[2].price);
    assert_string_equal(c->listen, "127.0.0.1:0");
    atoll_gateway_config_destroy(c);
    assert_null(atoll_gateway_config_load("/nonexistent/gateway.yaml", &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_whole),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allowed),  cmocka_unit_test(test_example),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

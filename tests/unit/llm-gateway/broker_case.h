/* broker_case.h - for tests: a configuration in memory that points at the fault server, a broker on a loop of its own,
 * requests with ids, and what the server and the file counted. */
#ifndef ATOLL_TESTS_UNIT_BROKER_CASE_H
#define ATOLL_TESTS_UNIT_BROKER_CASE_H

#include "tests/provider/launch.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "llm-gateway/broker/broker.h"
#include "llm-gateway/budget/database.h"
#include "llm-gateway/budget/spending.h"

#define CASE_MODELS  8
#define CASE_ANSWERS 512
#define CASE_TURNS                                                                                           \
    20000 /* of at most 10 ms: a guard against what hangs, longer than any deadline used here */

struct answer {
    int count; /* callbacks */
    unsigned order;
    enum atoll_llm_status status;
    int http_status, is_from_store;
    unsigned tries;
    double cost_usd;
    struct atoll_llm_usage usage;
    char text[256], detail[512], name[64], endpoint[64];
    char call_id[128], call_name[65], call_arguments[64], provider_state[256]; /* of its first call */
};

struct broker_case {
    struct provider provider;
    char folder[64], file[80], url[300], prompt[128];
    struct atoll_endpoint endpoints[2];
    struct atoll_gateway_model models[CASE_MODELS];
    struct atoll_ensemble ensemble;
    struct atoll_spending_limit limits[2];
    struct atoll_price price;
    struct atoll_gateway_config config;
    struct atoll_loop *loop;
    struct atoll_broker *broker;
    struct answer answers[CASE_ANSWERS];
    unsigned done;
};

/* $1 per million tokens in, $2 out: a token in costs 1000 nanodollars. */
static inline void case_models(struct broker_case *c)
{
    static const char *const names[CASE_MODELS] = {"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7"};
    c->price = (struct atoll_price){.input = 1, .cached_input = 0.5, .cache_write = 1, .output = 2};
    for (unsigned i = 0; i < CASE_MODELS; i++)
        c->models[i] = (struct atoll_gateway_model){
            .name = names[i], .traits = {.model = "ok", .max_output_tokens = 100}, .price = &c->price};
}

static inline void case_begin(struct broker_case *c)
{
    memset(c, 0, sizeof(*c));
    provider_start(&c->provider, NULL, NULL);
    strcpy(c->folder,
           access("/dev/shm", W_OK) == 0 ? "/dev/shm/atoll-broker-XXXXXX" : "/tmp/atoll-broker-XXXXXX");
    assert_non_null(mkdtemp(c->folder));
    snprintf(c->file, sizeof(c->file), "%s/gateway.sqlite", c->folder);
    snprintf(c->url, sizeof(c->url), "%s/v1", c->provider.url);
    case_models(c);
    for (int i = 0; i < 2; i++)
        c->endpoints[i] = (struct atoll_endpoint){.name = i ? "second" : "first",
                                                  .provider = ATOLL_PROVIDER_CHAT,
                                                  .url = c->url,
                                                  .site = {.proxy = "", .connect_s = 5, .silence_s = 30},
                                                  .concurrency = 64};
    c->config = (struct atoll_gateway_config){.endpoint_count = 2,
                                              .model_count = CASE_MODELS,
                                              .endpoints = c->endpoints,
                                              .models = c->models,
                                              .ensembles = &c->ensemble,
                                              .limits = c->limits,
                                              .file = c->file,
                                              .mode = ATOLL_EXCHANGE_REPLAY_THEN_LIVE,
                                              .retry = {.try_limit = 4, .first_s = 0.005, .longest_s = 0.05},
                                              .deadline_s = 30,
                                              .in_flight_limit = CASE_ANSWERS};
}

static inline void case_open(struct broker_case *c)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    c->loop = atoll_loop_create(NULL, NULL, &err);
    assert_non_null(c->loop);
    c->broker = atoll_broker_create(c->loop, &c->config, NULL, &err);
    if (!c->broker)
        fail_msg("%s", err.text);
}

static inline void case_close(struct broker_case *c)
{
    atoll_broker_destroy(c->broker);
    atoll_loop_destroy(c->loop);
    c->broker = NULL;
    c->loop = NULL;
}

static inline void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    char inner[512];
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int length = snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (length > 0 && (size_t)length < sizeof(inner) && unlink(inner))
            remove_folder(inner);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

static inline void case_end(struct broker_case *c)
{
    if (c->broker)
        case_close(c);
    provider_stop(&c->provider);
    remove_folder(c->folder);
}

static inline void case_done(void *context, const struct atoll_llm_outcome *outcome);

struct answer_place {
    struct broker_case *c;
    unsigned at;
};
static struct answer_place answer_places[CASE_ANSWERS];

static inline void case_done(void *context, const struct atoll_llm_outcome *outcome)
{
    struct answer_place *place = context;
    struct answer *answer = &place->c->answers[place->at];
    answer->count++;
    answer->order = place->c->done++;
    answer->status = outcome->status;
    answer->http_status = outcome->http_status;
    answer->is_from_store = outcome->is_from_store;
    answer->tries = outcome->tries;
    answer->cost_usd = outcome->cost_usd;
    answer->usage = outcome->usage;
    snprintf(answer->text, sizeof(answer->text), "%.*s", (int)outcome->text.length,
             outcome->text.data ? (const char *)outcome->text.data : "");
    const struct atoll_llm_tool_call none = {"", "", ""},
                                     *call = outcome->tool_call_count ? outcome->tool_calls : &none;
    snprintf(answer->call_id, sizeof(answer->call_id), "%s", call->id);
    snprintf(answer->call_name, sizeof(answer->call_name), "%s", call->name);
    snprintf(answer->call_arguments, sizeof(answer->call_arguments), "%s", call->arguments);
    snprintf(answer->provider_state, sizeof(answer->provider_state), "%s",
             outcome->provider_state.data ? (const char *)outcome->provider_state.data : "");
    snprintf(answer->detail, sizeof(answer->detail), "%s", outcome->detail);
    snprintf(answer->name, sizeof(answer->name), "%s", outcome->name);
    snprintf(answer->endpoint, sizeof(answer->endpoint), "%s", outcome->endpoint);
}

/* A request for a model whose prompt carries id. */
static inline struct atoll_llm_request case_request(struct broker_case *c, const char *model, const char *id)
{
    struct atoll_llm_request request;
    atoll_llm_request_init(&request);
    snprintf(c->prompt, sizeof(c->prompt), "say something id=%s", id);
    request.model = model;
    request.message_count = 1;
    request.messages[0] = (struct atoll_llm_message){.role = ATOLL_LLM_USER, .text = c->prompt};
    return request;
}

static inline uint64_t case_submit(struct broker_case *c, unsigned at,
                                   const struct atoll_llm_request *request)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    uint64_t number = 0;
    answer_places[at] = (struct answer_place){c, at};
    c->answers[at] = (struct answer){0};
    if (atoll_broker_submit(c->broker, request, case_done, &answer_places[at], &number, &err))
        fail_msg("%s", err.text);
    assert_int_equal(c->answers[at].count, 0); /* never inside submit */
    return number;
}

static inline uint64_t case_ask(struct broker_case *c, unsigned at, const char *model, const char *id)
{
    const struct atoll_llm_request request = case_request(c, model, id);
    return case_submit(c, at, &request);
}

static inline void case_turn(struct broker_case *c)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_loop_run(c->loop, 10, &err) || (atoll_broker_turn(c->broker, &err) && err.code != ATOLL_E_FULL))
        fail_msg("%s", err.text); /* a full disk is waited for */
}

/* Until nobody waits any more. */
static inline void case_finish(struct broker_case *c)
{
    for (int turn = 0; atoll_broker_count(c->broker) > 0; turn++) {
        if (turn == CASE_TURNS)
            fail_msg("%u calls never ended", atoll_broker_count(c->broker));
        case_turn(c);
    }
}

static inline const struct answer *case_answer(struct broker_case *c, const char *model, const char *id)
{
    case_ask(c, 0, model, id);
    case_finish(c);
    assert_int_equal(c->answers[0].count, 1);
    return &c->answers[0];
}

/* ---- what the server counted ---- */

/* The body, once all of it is there; NULL before. */
static inline const char *case_body(const char *text, size_t length)
{
    const char *body = strstr(text, "\r\n\r\n"), *field = strcasestr(text, "content-length:");
    if (!body || !field || (size_t)(body + 4 - text) + strtoul(field + 15, NULL, 10) > length)
        return NULL;
    return body + 4;
}

static inline json_t *case_stats(struct broker_case *c, const char *path)
{
    char text[1 << 16], ask[128];
    size_t length = 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    address.sin_port = htons((uint16_t)atoi(strrchr(c->provider.url, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    snprintf(ask, sizeof(ask), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    assert_int_equal(write(fd, ask, strlen(ask)), strlen(ask));
    text[0] = '\0';
    while (!case_body(text, length)) {
        ssize_t count = read(fd, text + length, sizeof(text) - 1 - length);
        assert_true(count > 0);
        length += (size_t)count;
        text[length] = '\0';
    }
    close(fd);
    json_t *json = json_loads(case_body(text, length), JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(json);
    return json;
}

static inline long case_counted(struct broker_case *c, const char *name)
{
    json_t *stats = case_stats(c, "/__stats?sum");
    const json_t *value = json_object_get(stats, name);
    if (!value)
        value = json_object_get(json_object_get(stats, "sum"), name);
    if (!json_is_number(value))
        fail_msg("no %s in the server's counts", name);
    long number = (long)json_number_value(value);
    json_decref(stats);
    return number;
}

/* ---- the file, with the broker closed ---- */

static inline struct atoll_spending_account case_spent(struct broker_case *c)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_spending_account sum;
    const struct atoll_database_settings settings = {.path = c->file, .mode = ATOLL_DATABASE_OWN};
    struct atoll_database *database = atoll_database_open(&settings, &err);
    struct atoll_spending *spending = database ? atoll_spending_open(database, NULL, 0, &err) : NULL;
    if (!spending)
        fail_msg("%s", err.text);
    atoll_spending_sum(spending, &sum);
    atoll_spending_close(spending);
    atoll_database_close(database);
    return sum;
}

/* A number that a query of it yields. */
static inline long long case_query(struct broker_case *c, const char *sql)
{
    sqlite3 *sqlite = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open_v2(c->file, &sqlite, SQLITE_OPEN_READWRITE, "unix-none"), SQLITE_OK);
    if (sqlite3_prepare_v2(sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(sqlite));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    long long value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(sqlite);
    return value;
}

#endif

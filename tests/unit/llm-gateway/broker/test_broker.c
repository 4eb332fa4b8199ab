/* test_broker.c - the broker against the fault server, over real sockets. */
#include "tests/unit/llm-gateway/broker/broker_bench.h"

/* ---- one try, or several ---- */

enum bill { NOTHING, USAGE, WORST };

static const struct {
    const char *scenario;
    enum atoll_llm_status status;
    unsigned tries;
    enum bill bill; /* of the last try; those before cost nothing unless said */
    unsigned worst_before;
} ends[] = {
    {"ok", ATOLL_LLM_OK, 1, USAGE, 0},
    {"ok-tokens-7-3", ATOLL_LLM_OK, 1, USAGE, 0},
    {"interim-bytes-1", ATOLL_LLM_OK, 1, USAGE, 0},
    {"usage-missing", ATOLL_LLM_OK, 1, WORST, 0},
    {"usage-negative", ATOLL_LLM_OK, 1, WORST, 0},
    {"length", ATOLL_LLM_TRUNCATED, 1, USAGE, 0},
    {"uninvited", ATOLL_LLM_EMPTY, 1, USAGE, 0},
    {"uninvited-echo", ATOLL_LLM_OK, 1, USAGE, 0},
    {"empty", ATOLL_LLM_EMPTY, 1, USAGE, 0},
    {"refusal", ATOLL_LLM_REFUSED, 1, USAGE, 0},
    {"status-400", ATOLL_LLM_INVALID, 1, NOTHING, 0},
    {"status-401", ATOLL_LLM_DENIED, 1, NOTHING, 0},
    {"status-403", ATOLL_LLM_DENIED, 1, NOTHING, 0},
    {"status-404", ATOLL_LLM_NOTFOUND, 1, NOTHING, 0},
    {"status-413", ATOLL_LLM_TOO_LARGE, 1, NOTHING, 0},
    {"quota", ATOLL_LLM_QUOTA, 1, NOTHING, 0},
    {"redirect-307", ATOLL_LLM_PROTOCOL, 1, NOTHING, 0},
    {"html", ATOLL_LLM_PROTOCOL, 1, WORST, 0},
    {"bad-json", ATOLL_LLM_PROTOCOL, 1, WORST, 0},
    {"status-429-retry-after-ms-1", ATOLL_LLM_RATE, 4, NOTHING, 0},
    {"status-429-retry-after-ms-1-fails-2", ATOLL_LLM_OK, 3, USAGE, 0},
    {"status-500-fails-1", ATOLL_LLM_OK, 2, USAGE, 0},
    {"status-503-should-not-retry", ATOLL_LLM_OVERLOADED, 1, NOTHING, 0},
    {"overloaded-fails-3", ATOLL_LLM_OK, 4, USAGE, 0},
    {"status-408", ATOLL_LLM_OVERLOADED, 4, NOTHING, 0},
    {"error-event-fails-1", ATOLL_LLM_OK, 2, USAGE, 1},
    {"no-end-fails-1", ATOLL_LLM_OK, 2, USAGE, 1},
    {"reset-0-fails-1", ATOLL_LLM_OK, 2, USAGE, 1},
    {"reset-300-fails-2", ATOLL_LLM_OK, 3, USAGE, 2},
    {"huge-8", ATOLL_LLM_PROTOCOL, 1, WORST, 0},
    {"cut-300", ATOLL_LLM_STREAM, 4, WORST, 3},
};

static void expect_bill(size_t at, const struct answer *answer, const char *id,
                        const struct atoll_spending_account *before,
                        const struct atoll_spending_account *after)
{
    uint64_t money = after->spent.money - before->spent.money,
             tokens = after->spent.tokens - before->spent.tokens;
    uint64_t wanted_money = ends[at].worst_before * worst_money(&bench, id);
    uint64_t wanted_tokens = ends[at].worst_before * worst_tokens(&bench, id);
    const struct atoll_llm_usage *usage = &answer->usage;
    assert_int_equal(usage->is_estimated, ends[at].bill == WORST);
    assert_int_equal(usage->input > 0, ends[at].bill != NOTHING);
    wanted_tokens += usage->input + usage->output;
    wanted_money += usage->input * 1000 + usage->output * 2000;
    if (ends[at].bill == WORST)
        assert_int_equal(usage->input + usage->output, worst_tokens(&bench, id));
    assert_int_equal(tokens, wanted_tokens);
    assert_int_equal(money, wanted_money);
    expect_close(answer->cost_usd * 1e9, (double)money, 1e-12);
    assert_int_equal(after->reserved.money + after->unknown.money, 0);
}

static void every_end_has_its_outcome_tries_and_price(void **state)
{
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        char id[16];
        struct atoll_spending_account before = case_spent(&bench), after;
        snprintf(id, sizeof(id), "end%zu", i);
        bench.models[0].traits.model = ends[i].scenario;
        long seen = case_counted(&bench, "seen");
        case_open(&bench);
        struct answer answer = *case_answer(&bench, "m0", id);
        case_close(&bench);
        if (answer.status != ends[i].status || answer.tries != ends[i].tries)
            fail_msg("%s: %s after %u tries: %s", ends[i].scenario, atoll_llm_status_name(answer.status),
                     answer.tries, answer.detail);
        assert_int_equal(case_counted(&bench, "seen") - seen, ends[i].tries);
        after = case_spent(&bench);
        expect_bill(i, &answer, id, &before, &after);
        assert_string_equal(answer.name, "m0");
        assert_string_equal(answer.endpoint, "first");
    }
}

/* Requests that name no model get that of their role; what they leave unsaid is the role's, then the model's. */
static void a_role_gives_model_and_parameters(void **state)
{
    struct atoll_gateway_role *planner = &bench.config.roles[ATOLL_MODEL_ROLE_PLANNER],
                              *rest = &bench.config.roles[ATOLL_MODEL_ROLE_COUNT];
    static const struct {
        const char *model, *purpose;
        double asked_temperature;
        uint32_t asked_tokens;
        const char *name, *said; /* said: what the provider was told */
    } cases[] = {
        {"", "planner", NAN, 0, "m1", "max 77 t 0.25 p 0.75 e high"},
        {"", "planner", 1, 5, "m1", "max 5 t 1 p 0.75 e high"},
        {"m2", "planner", NAN, 0, "m2", "max 77 t 0.25 p 0.75 e high"},
        {"", "executor", NAN, 0, "m3", "max 100 t 0.5"},
        {"", "universal", NAN, 0, "m3", "max 100 t 0.5"},
        {"roles", "planner", NAN, 0, "m1", "max 77 t 0.25 p 0.75 e high"},
        {"m2", "", NAN, 0, "m2", "max 100"},
    };
    for (unsigned i = 0; i < CASE_MODELS; i++)
        bench.models[i].traits.model = "parameters";
    bench.models[3].traits.temperature = 0.5;
    bench.models[3].traits.has_temperature = 1;
    *planner = (struct atoll_gateway_role){.is_said = 1,
                                           .model = "m1",
                                           .temperature = 0.25,
                                           .top_p = 0.75,
                                           .effort = ATOLL_LLM_EFFORT_HIGH,
                                           .max_tokens = 77};
    *rest = (struct atoll_gateway_role){.is_said = 1, .model = "m3", .temperature = NAN, .top_p = NAN};
    case_open(&bench);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char id[16];
        snprintf(id, sizeof(id), "role%u", i);
        struct atoll_llm_request request = case_request(&bench, cases[i].model, id);
        request.purpose = cases[i].purpose;
        request.temperature = cases[i].asked_temperature;
        request.max_output_tokens = cases[i].asked_tokens;
        case_submit(&bench, 0, &request);
        case_finish(&bench);
        const struct answer *answer = &bench.answers[0];
        if (answer->status != ATOLL_LLM_OK || strcmp(answer->name, cases[i].name) != 0 ||
            strcmp(answer->text, cases[i].said) != 0)
            fail_msg("case %u: %s: %s: '%s' %s", i, atoll_llm_status_name(answer->status), answer->name,
                     answer->text, answer->detail);
        case_submit(&bench, 0, &request); /* the store knows it as it was asked */
        case_finish(&bench);
        assert_true(bench.answers[0].is_from_store);
    }
    rest->is_said = 0;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_llm_request request = case_request(&bench, "", "none");
    request.purpose = "writer";
    assert_int_equal(atoll_broker_submit(bench.broker, &request, case_done, NULL, NULL, &err), -1);
    expect_err(&err, ATOLL_E_INPUT,
               "the request names none, and this gateway has none for its purpose 'writer'");
    case_close(&bench);
}

/* A loop of calls: each turn goes to the member that began it, is asked once, paid, and found again. */
static void tools_are_called_in_turns(void **state)
{
    static const char *const providers[ATOLL_PROVIDER_COUNT] = {"chat", "responses", "anthropic"};
    bench.ensemble = (struct atoll_ensemble){.name = "mix", .member_count = 4};
    bench.config.ensemble_count = 1;
    for (unsigned i = 0; i < 4; i++) {
        bench.ensemble.members[i] = (struct atoll_ensemble_member){i, 1, 0, UINT32_MAX};
        bench.models[i].traits.model = "tools-3";
        bench.models[i].traits.effort = ATOLL_LLM_EFFORT_HIGH;
    }
    for (int p = 0; p < ATOLL_PROVIDER_COUNT; p++) {
        struct atoll_llm_tool_call calls[3];
        char ids[3][128], arguments[3][64], states[3][256], first[64] = "", key[64], id[32];
        bench.endpoints[0].provider = (enum atoll_provider)p;
        case_open(&bench);
        snprintf(id, sizeof(id), "loop-%s", providers[p]);
        struct atoll_llm_request request = case_request(&bench, "mix", id);
        request.tool_count = 1;
        request.tools[0] = (struct atoll_llm_tool){"compile", "Compiles.", "{\"type\":\"object\"}"};
        for (unsigned turn = 0; turn <= 3; turn++) {
            snprintf(key, sizeof(key), "%s.%u", id, turn);
            request.key = key;
            for (int again = 0; again < 2; again++) { /* the second time from the store */
                case_submit(&bench, 0, &request);
                case_finish(&bench);
                const struct answer *a = &bench.answers[0];
                if (a->status != (turn < 3 ? ATOLL_LLM_TOOL_CALLS : ATOLL_LLM_OK) ||
                    a->is_from_store != again)
                    fail_msg("%s turn %u: %s %s", providers[p], turn, atoll_llm_status_name(a->status),
                             a->detail);
            }
            const struct answer *a = &bench.answers[0];
            if (turn)
                assert_string_equal(a->name, first);
            snprintf(first, sizeof(first), "%s", a->name);
            if (turn == 3)
                break;
            assert_string_equal(a->call_name, "compile");
            snprintf(ids[turn], sizeof(ids[turn]), "%s", a->call_id);
            snprintf(arguments[turn], sizeof(arguments[turn]), "%s", a->call_arguments);
            snprintf(states[turn], sizeof(states[turn]), "%s", a->provider_state);
            assert_non_null(strstr(arguments[turn], "\"turn\""));
            calls[turn] = (struct atoll_llm_tool_call){ids[turn], "compile", arguments[turn]};
            request.messages[request.message_count++] =
                (struct atoll_llm_message){.role = ATOLL_LLM_ASSISTANT,
                                           .text = "",
                                           .tool_call_count = 1,
                                           .tool_calls = &calls[turn],
                                           .provider_state = states[turn]};
            request.messages[request.message_count++] =
                (struct atoll_llm_message){.role = ATOLL_LLM_TOOL, .text = "fine", .tool_call_id = ids[turn]};
        }
        case_close(&bench);
        assert_int_equal(case_query(&bench, "SELECT count(*) FROM exchanges WHERE status = 'tool_calls' AND "
                                            "is_final"),
                         3 * (p + 1));
    }
    assert_int_equal(case_counted(&bench, "seen"), 4 * ATOLL_PROVIDER_COUNT);
}

/* Who asks was killed and has the calls alone: what the provider wants back with them comes from the store, where there is one. */
static void what_a_provider_wants_back_is_found_again(void **state)
{
    for (int i = 0; i < CASE_MODELS; i++)
        bench.models[i].traits = (struct atoll_provider_model){
            .model = "tools-1-words-2", .max_output_tokens = 100, .effort = ATOLL_LLM_EFFORT_HIGH};
    for (int has_store = 0; has_store < 2; has_store++) {
        bench.config.mode = has_store ? ATOLL_EXCHANGE_REPLAY_THEN_LIVE : ATOLL_EXCHANGE_LIVE;
        case_open(&bench);
        struct atoll_llm_request request = case_request(&bench, "m0", has_store ? "kept" : "lost");
        request.tool_count = 1;
        request.tools[0] = (struct atoll_llm_tool){"compile", "Compiles.", "{}"};
        request.key = has_store ? "kept.0" : "lost.0";
        case_submit(&bench, 0, &request);
        case_finish(&bench);
        assert_int_equal(bench.answers[0].status, ATOLL_LLM_TOOL_CALLS);
        const struct answer first = bench.answers[0];
        const struct atoll_llm_tool_call call = {first.call_id, first.call_name, first.call_arguments};
        request.messages[1] = (struct atoll_llm_message){
            .role = ATOLL_LLM_ASSISTANT, .text = "", .tool_call_count = 1, .tool_calls = &call};
        request.messages[2] =
            (struct atoll_llm_message){.role = ATOLL_LLM_TOOL, .text = "fine", .tool_call_id = call.id};
        request.message_count = 3;
        request.is_tool_free = 1;
        request.key = has_store ? "kept.1" : "lost.1";
        case_submit(&bench, 0, &request);
        case_finish(&bench);
        /* this provider refuses to go on without its thoughts */
        if (bench.answers[0].status != (has_store ? ATOLL_LLM_OK : ATOLL_LLM_INVALID))
            fail_msg("%s: %s", atoll_llm_status_name(bench.answers[0].status), bench.answers[0].detail);
        case_close(&bench);
    }
}

static void a_refused_connection_costs_nothing(void **state)
{
    bench.endpoints[0].url = "http://127.0.0.1:1/v1";
    case_open(&bench);
    const struct answer *answer = case_answer(&bench, "m0", "a");
    assert_int_equal(answer->status, ATOLL_LLM_NETWORK);
    assert_int_equal(answer->tries, 4);
    assert_int_equal(answer->usage.input, 0);
    case_close(&bench);
    assert_int_equal(case_spent(&bench).spent.money, 0);
}

/* A hundred calls with faults: the file and the server agree to the token. */
static void the_books_agree_with_the_server(void **state)
{
    uint64_t worst = 0;
    bench.models[0].traits.model = "mix-30-tokens-11-5";
    case_open(&bench);
    for (unsigned i = 0; i < 100; i++) {
        char id[16];
        snprintf(id, sizeof(id), "mix%u", i);
        case_ask(&bench, i, "m0", id);
    }
    case_finish(&bench);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(bench.answers[i].status, ATOLL_LLM_OK);
    case_close(&bench);
    const struct atoll_spending_account sum = case_spent(&bench);
    json_t *stats = case_stats(&bench, "/__stats"), *row;
    const char *id;
    json_object_foreach(json_object_get(stats, "ids"), id, row) worst +=
        (uint64_t)json_integer_value(json_object_get(row, "broken")) * worst_tokens(&bench, id);
    json_decref(stats);
    assert_int_equal(case_counted(&bench, "answered"), 100);
    assert_int_equal(case_counted(&bench, "distinct"), 100);
    assert_true(case_counted(&bench, "seen") > 110);
    assert_int_equal(sum.spent.tokens, (uint64_t)case_counted(&bench, "input") +
                                           (uint64_t)case_counted(&bench, "output") + worst);
    assert_int_equal(sum.excess.money + sum.reserved.money + sum.unknown.money, 0);
}

/* ---- which model ---- */

static void an_ensemble_draws_its_member(void **state)
{
    bench.ensemble = (struct atoll_ensemble){
        .name = "role", .member_count = 2, .members = {{0, 1, 0, 5}, {1, 1, 5, UINT32_MAX}}};
    bench.config.ensemble_count = 1;
    bench.models[1].endpoint = 1;
    case_open(&bench);
    for (uint32_t generation = 4; generation < 6; generation++) {
        char id[16];
        snprintf(id, sizeof(id), "draw%u", generation);
        struct atoll_llm_request request = case_request(&bench, "role", id);
        request.generation = generation;
        case_submit(&bench, 0, &request);
        case_finish(&bench);
        assert_int_equal(bench.answers[0].status, ATOLL_LLM_OK);
        assert_string_equal(bench.answers[0].name, generation == 4 ? "m0" : "m1");
    }
}

static void those_who_came_first_go_first(void **state)
{
    bench.endpoints[0].concurrency = 1;
    bench.models[1].traits.model = "ok-words-3";
    case_open(&bench);
    for (unsigned i = 0; i < 10; i++) {
        char id[16];
        snprintf(id, sizeof(id), "order%u", i);
        case_ask(&bench, i, i % 2 ? "m1" : "m0", id);
    }
    case_finish(&bench);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(bench.answers[i].order, i);
    assert_int_equal(case_counted(&bench, "connections") <= 3, 1);
}

/* ---- budget ---- */

static void take_limit(atoll_nanousd money)
{
    bench.limits[0] =
        (struct atoll_spending_limit){.scope = ATOLL_SCOPE_MODEL, .money = money, .tokens = UINT64_MAX};
    strcpy(bench.limits[0].name, "m0");
    bench.config.limit_count = 1;
}

static void the_budget_is_kept_to_the_nanodollar(void **state)
{
    bench.models[0].traits.model = "ok-tokens-10-5";
    const atoll_nanousd price = 10 * 1000 + 5 * 2000, worst = worst_money(&bench, "bud0");
    for (int missing = 1; missing >= 0;
         missing--) { /* room for one; for two, one nanodollar short of it first */
        take_limit(worst + price - (atoll_nanousd)missing);
        case_open(&bench);
        const struct answer *answer = case_answer(&bench, "m0", missing ? "bud0" : "bud1");
        assert_int_equal(answer->status, ATOLL_LLM_OK);
        if (missing) {
            answer = case_answer(&bench, "m0", "bud2");
            assert_int_equal(answer->status, ATOLL_LLM_BUDGET);
            assert_int_equal(answer->tries, 0);
            assert_non_null(strstr(answer->detail, "m0"));
        }
        case_close(&bench);
        assert_int_equal(case_spent(&bench).spent.money, missing ? price : 2 * price);
    }
    assert_int_equal(case_counted(&bench, "seen"), 2);
}

/* Many at once: what all may cost together never exceeds the limit, and who has to wait gets what others leave. */
static void many_calls_share_a_budget(void **state)
{
    unsigned answered = 0, refused = 0;
    bench.models[0].traits.model = "ok-tokens-10-5";
    take_limit(worst_money(&bench, "many00") + 39 * 20000);
    case_open(&bench);
    for (unsigned i = 0; i < 60; i++) {
        char id[16];
        snprintf(id, sizeof(id), "many%02u", i);
        case_ask(&bench, i, "m0", id);
    }
    case_finish(&bench);
    case_close(&bench);
    for (unsigned i = 0; i < 60; i++) {
        answered += bench.answers[i].status == ATOLL_LLM_OK;
        refused += bench.answers[i].status == ATOLL_LLM_BUDGET && bench.answers[i].tries == 0;
    }
    assert_int_equal(answered, 40);
    assert_int_equal(refused, 20);
    assert_int_equal(case_spent(&bench).spent.money, 40 * 20000);
    assert_int_equal(case_counted(&bench, "seen"), 40);
}

/* A try that may have been billed needs a reservation of its own for the next one. */
static void another_try_needs_money_of_its_own(void **state)
{
    bench.models[0].traits.model = "error-event";
    take_limit(2 * worst_money(&bench, "own") + 5);
    case_open(&bench);
    const struct answer *answer = case_answer(&bench, "m0", "own");
    assert_int_equal(answer->status, ATOLL_LLM_BUDGET);
    assert_int_equal(answer->tries, 2);
    if (!strstr(answer->detail, "ended as overloaded"))
        fail_msg("%s", answer->detail);
    case_close(&bench);
    assert_int_equal(case_spent(&bench).spent.money, 2 * worst_money(&bench, "own"));
}

/* ---- store ---- */

static void what_was_answered_is_not_asked_again(void **state)
{
    char text[256];
    case_open(&bench);
    strcpy(text, case_answer(&bench, "m0", "again")->text);
    const struct answer *answer = case_answer(&bench, "m0", "again");
    assert_int_equal(answer->is_from_store, 1);
    assert_string_equal(answer->text, text);
    case_close(&bench);
    bench.config.mode = ATOLL_EXCHANGE_REPLAY;
    case_open(&bench);
    answer = case_answer(&bench, "m0", "again");
    assert_int_equal(answer->status, ATOLL_LLM_OK);
    assert_string_equal(answer->text, text);
    answer = case_answer(&bench, "m0", "never");
    assert_int_equal(answer->status, ATOLL_LLM_MISS);
    assert_non_null(strstr(answer->detail, bench.file));
    case_close(&bench);
    bench.config.mode = ATOLL_EXCHANGE_RECORD;
    case_open(&bench);
    assert_int_equal(case_answer(&bench, "m0", "again")->is_from_store, 0);
    case_close(&bench);
    bench.config.mode = ATOLL_EXCHANGE_LIVE;
    bench.config.file = NULL;
    case_open(&bench);
    assert_int_equal(case_answer(&bench, "m0", "again")->is_from_store, 0);
    assert_int_equal(case_counted(&bench, "seen"), 3);
}

static void one_question_has_one_call(void **state)
{
    uint64_t numbers[3];
    bench.models[0].traits.model = "ok-delay-50";
    case_open(&bench);
    for (unsigned i = 0; i < 3; i++)
        numbers[i] = case_ask(&bench, i, "m0", "joined");
    atoll_broker_cancel(bench.broker, numbers[1]);
    assert_int_equal(bench.answers[1].count, 0);
    case_finish(&bench);
    assert_int_equal(bench.answers[0].status, ATOLL_LLM_OK);
    assert_int_equal(bench.answers[1].status, ATOLL_LLM_CANCELLED);
    assert_int_equal(bench.answers[2].status, ATOLL_LLM_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(bench.answers[i].count, 1);
    assert_int_equal(case_counted(&bench, "seen"), 1);
    atoll_broker_cancel(bench.broker, numbers[0]); /* over: nothing */
    case_close(&bench);
    bench.config.mode = ATOLL_EXCHANGE_RECORD; /* by the key alone */
    case_open(&bench);
    struct atoll_llm_request request = case_request(&bench, "m0", "keyed");
    request.key = "k1";
    case_submit(&bench, 0, &request);
    case_submit(&bench, 1, &request);
    request.key = "k2";
    case_submit(&bench, 2, &request);
    case_finish(&bench);
    assert_int_equal(case_counted(&bench, "seen"), 3);
}

/* ---- deadlines and cancelling ---- */

static void silence_ends_at_the_deadline(void **state)
{
    static const char *const scenarios[] = {"silent", "silent-after-400"};
    for (unsigned i = 0; i < 2; i++) {
        char id[16];
        snprintf(id, sizeof(id), "mute%u", i);
        bench.models[0].traits.model = scenarios[i];
        struct atoll_spending_account before = case_spent(&bench), after;
        case_open(&bench);
        struct atoll_llm_request request = case_request(&bench, "m0", id);
        request.deadline_s = 0.2;
        double began_ns = atoll_loop_now_ns(bench.loop);
        case_submit(&bench, 0, &request);
        case_finish(&bench);
        assert_true(atoll_loop_now_ns(bench.loop) - began_ns >= 0.2e9);
        assert_int_equal(bench.answers[0].status, ATOLL_LLM_TIMEOUT);
        assert_int_equal(bench.answers[0].tries, 1);
        case_close(&bench);
        after = case_spent(&bench);
        assert_int_equal(after.spent.money - before.spent.money, worst_money(&bench, id));
    }
}

/* Whoever waits in a queue has a deadline too, and those who joined keep theirs. */
static void every_waiter_has_a_deadline(void **state)
{
    bench.models[0].traits.model = "ok-delay-300";
    bench.endpoints[0].concurrency = 1;
    case_open(&bench);
    case_ask(&bench, 0, "m0", "long");
    struct atoll_llm_request request = case_request(&bench, "m0", "long");
    request.deadline_s = 0.1;
    case_submit(&bench, 1, &request);
    request = case_request(&bench, "m0", "queued");
    request.deadline_s = 0.1;
    case_submit(&bench, 2, &request);
    case_finish(&bench);
    assert_int_equal(bench.answers[0].status, ATOLL_LLM_OK);
    assert_int_equal(bench.answers[1].status, ATOLL_LLM_TIMEOUT);
    assert_int_equal(bench.answers[2].status, ATOLL_LLM_TIMEOUT);
    assert_int_equal(bench.answers[2].tries, 0);
    assert_int_equal(case_counted(&bench, "seen"), 1);
    case_close(&bench);
    assert_int_equal(case_spent(&bench).spent.tokens, 30); /* 20 in, 10 out */
}

static void a_cancelled_call_counts_as_billed(void **state)
{
    bench.models[0].traits.model = "silent";
    bench.endpoints[0].concurrency = 1; /* whose place is free again each time */
    case_open(&bench);
    uint64_t number = case_ask(&bench, 0, "m0", "gone");
    until_it_is_seen(1);
    atoll_broker_cancel(bench.broker, number);
    atoll_broker_cancel(bench.broker, number);
    case_finish(&bench);
    assert_int_equal(bench.answers[0].count, 1);
    assert_int_equal(bench.answers[0].status, ATOLL_LLM_CANCELLED);
    number = case_ask(&bench, 1, "m0", "unsent"); /* cancelled before it was sent */
    atoll_broker_cancel(bench.broker, number);
    case_finish(&bench);
    assert_int_equal(bench.answers[1].status, ATOLL_LLM_CANCELLED);
    assert_int_equal(case_answer(&bench, "m1", "next")->status, ATOLL_LLM_OK);
    case_close(&bench);
    assert_int_equal(case_spent(&bench).spent.money, worst_money(&bench, "gone") + 20 * 1000 + 10 * 2000);
    assert_int_equal(case_counted(&bench, "seen"), 2);
}

static void destroying_answers_everybody(void **state)
{
    bench.models[0].traits.model = "silent";
    case_open(&bench);
    case_ask(&bench, 0, "m0", "one");
    case_ask(&bench, 1, "m0", "one");
    until_it_is_seen(1);
    case_ask(&bench, 2, "m0", "two");
    case_close(&bench);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(bench.answers[i].count, 1);
        assert_int_equal(bench.answers[i].status, ATOLL_LLM_CANCELLED);
    }
    const struct atoll_spending_account sum = case_spent(&bench);
    assert_int_equal(sum.spent.money, worst_money(&bench, "one"));
    assert_int_equal(sum.unknown.money, 0);
}

/* ---- after a kill ---- */

/* A broker that vanishes while n calls are in flight. */
static void die_with(unsigned count)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        case_open(&bench);
        for (unsigned i = 0; i < count; i++) {
            char id[16];
            snprintf(id, sizeof(id), "dead%u", i);
            case_ask(&bench, i, "m0", id);
        }
        until_it_is_seen(count);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static void what_was_in_flight_is_unknown_and_tried_once_more(void **state)
{
    bench.models[0].traits.model = "silent-fails-1";
    die_with(3);
    assert_int_equal(case_spent(&bench).unknown_calls, 3);
    assert_int_equal(case_spent(&bench).unknown.money, 3 * worst_money(&bench, "dead0"));
    case_open(&bench);
    for (unsigned i = 0; i < 3; i++) {
        char id[16];
        snprintf(id, sizeof(id), "dead%u", i);
        assert_int_equal(case_answer(&bench, "m0", id)->status, ATOLL_LLM_OK);
    }
    case_close(&bench);
    const struct atoll_spending_account sum = case_spent(&bench);
    assert_int_equal(sum.spent.tokens, 3 * 30);
    assert_int_equal(sum.unknown.money, 3 * worst_money(&bench, "dead0"));
    assert_int_equal(case_counted(&bench, "seen"), 6);
}

static void unknown_calls_leave_no_room(void **state)
{
    bench.models[0].traits.model = "silent-fails-1";
    take_limit(2 * worst_money(&bench, "dead0") - 1);
    die_with(1);
    case_open(&bench);
    assert_int_equal(case_answer(&bench, "m0", "dead0")->status, ATOLL_LLM_BUDGET);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_role_gives_model_and_parameters),
        TEST(tools_are_called_in_turns),
        TEST(what_a_provider_wants_back_is_found_again),
        TEST(every_end_has_its_outcome_tries_and_price),
        TEST(a_refused_connection_costs_nothing),
        TEST(the_books_agree_with_the_server),
        TEST(an_ensemble_draws_its_member),
        TEST(those_who_came_first_go_first),
        TEST(the_budget_is_kept_to_the_nanodollar),
        TEST(many_calls_share_a_budget),
        TEST(another_try_needs_money_of_its_own),
        TEST(what_was_answered_is_not_asked_again),
        TEST(one_question_has_one_call),
        TEST(silence_ends_at_the_deadline),
        TEST(every_waiter_has_a_deadline),
        TEST(a_cancelled_call_counts_as_billed),
        TEST(destroying_answers_everybody),
        TEST(what_was_in_flight_is_unknown_and_tried_once_more),
        TEST(unknown_calls_leave_no_room),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

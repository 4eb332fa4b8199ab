/* Device models and asks: what CAPACITY, ASK and REPLY leave in the tables, and that populations do not mix. */
#include "tests/support/expect.h"

#include "archive-h5/table/project.h"
#include "archive-h5/report/task_summary.h"
#include "archive-h5/report/report.h"
#include "tests/unit/archive-h5/sample_campaign.h"

#define EVENT   1000 /* beyond the sample's */
#define MODEL_A "Example Processor 9000"
#define MODEL_B "Other <Processor>"

static char dir[PATH_MAX];
static struct atoll_campaign *campaign;
static struct atoll_projection *projection;
static const struct atoll_tables *tables;
static uint64_t next_event;

static int set_up(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    projection = atoll_projection_of_campaign(campaign, NULL, &err);
    if (!projection)
        fail_msg("%s", err.text);
    tables = atoll_projection_tables(projection);
    next_event = EVENT;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    scratch_remove(dir);
    return 0;
}

static void put_event(struct atoll_event *e)
{
    e->campaign_ns = 7000000000;
    assert_int_equal(atoll_projection_event(projection, next_event++, e, NULL), 0);
}

static void put_decision(struct atoll_decision d)
{
    assert_int_equal(atoll_projection_decision(projection, next_event - 1, &d, NULL), 0);
}

static void put_capacity(const char *first, const char *second)
{
    struct atoll_event e;
    atoll_event_init(&e, ATOLL_EVENT_CAPACITY);
    e.model_count = second ? 2 : 1;
    snprintf(e.models[0].model, sizeof(e.models[0].model), "%s", first);
    snprintf(e.models[1].model, sizeof(e.models[1].model), "%s", second ? second : "");
    put_event(&e);
}

static void get_task(uint64_t row, struct atoll_row_task *ret)
{
    assert_true(row < atoll_tables_count(tables, ATOLL_TABLE_TASKS));
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, row, ret);
}

/* A correct evaluation of 2 ms on the second model of the candidate that is the best of task 0 on the first. */
static struct atoll_id evaluate_on_second(uint64_t evaluation)
{
    struct atoll_row_task first;
    struct atoll_event e;
    double sample = 2e6;
    get_task(0, &first);
    put_decision((struct atoll_decision){
        .type = ATOLL_DECIDE_EVALUATE, .evaluation = evaluation, .model = 1, .candidate = first.best});
    atoll_event_init(&e, ATOLL_EVENT_EVALUATED);
    e.evaluation.evaluation = evaluation;
    e.evaluation.candidate = first.best;
    e.evaluation.verdict = ATOLL_V_CORRECT;
    e.evaluation.timing_count = 1;
    e.evaluation.timings[0] =
        (struct atoll_timing){.summary = {.min = 2e6, .median = 2e6, .lo95 = 2e6, .hi95 = 2e6},
                              .floor_ns = 5e5,
                              .sample_count = 1,
                              .samples_ns = &sample};
    put_event(&e);
    put_decision((struct atoll_decision){
        .type = ATOLL_DECIDE_BASELINE, .model = 1, .candidate = first.best, .time_ns = 2e6});
    put_decision((struct atoll_decision){
        .type = ATOLL_DECIDE_BEST, .model = 1, .candidate = first.best, .time_ns = 2e6, .fitness = 0.5});
    put_decision((struct atoll_decision){
        .type = ATOLL_DECIDE_ELITE, .model = 1, .candidate = first.best, .time_ns = 2e6, .fitness = 0.5});
    return first.best;
}

static void test_models_do_not_mix(void **state)
{
    (void)state;
    struct atoll_row_task before, after, second;
    struct atoll_row_evaluation evaluation;
    struct atoll_row_elite elite;
    get_task(0, &before);
    uint64_t candidates = atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES);
    put_capacity(MODEL_A, MODEL_B);
    struct atoll_id candidate = evaluate_on_second(200000);
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_TASKS), 3);
    get_task(0, &after);
    assert_string_equal(atoll_tables_text(tables, after.model_name), MODEL_A);
    after.model_name = before.model_name;
    assert_memory_equal(&after, &before, sizeof(after));
    get_task(2, &second);
    assert_int_equal(second.task, 0);
    assert_int_equal(second.model, 1);
    assert_string_equal(atoll_tables_text(tables, second.model_name), MODEL_B);
    assert_int_equal(second.name, before.name);
    assert_int_equal(second.definition, before.definition);
    assert_true(second.baseline_ns == 2e6 && second.best_ns == 2e6);
    assert_int_equal(second.evaluated, 1);
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES), candidates);
    atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, atoll_tables_count(tables, ATOLL_TABLE_EVALUATIONS) - 1,
                     &evaluation);
    assert_true(evaluation.model == 1 && evaluation.evaluation == 200000);
    assert_true(second.floor_ns == evaluation.floor_ns && second.floor_ns != before.floor_ns);
    atoll_tables_get(tables, ATOLL_TABLE_ELITES, atoll_tables_count(tables, ATOLL_TABLE_ELITES) - 1, &elite);
    assert_true(elite.model == 1 && atoll_id_equal(&elite.candidate, &candidate));
}

/* The best of a task is looked up among the results of its model. */
static void test_queries_by_model(void **state)
{
    (void)state;
    struct atoll_row_evaluation e;
    struct atoll_task_summary summary;
    put_capacity(MODEL_A, NULL);
    put_capacity(MODEL_B, NULL); /* the first is gone; it stays the first */
    struct atoll_id candidate = evaluate_on_second(200000);
    struct atoll_query *query = atoll_query_create(tables, NULL);
    uint64_t row = (uint64_t)atoll_query_candidate(query, 0, &candidate);
    for (uint32_t model = 0; model < 2; model++) {
        int64_t at = atoll_query_best_evaluation(query, row, model);
        assert_true(at >= 0);
        atoll_tables_get(tables, ATOLL_TABLE_EVALUATIONS, (uint64_t)at, &e);
        assert_int_equal(e.model, model);
    }
    assert_true(atoll_query_best_evaluation(query, row, 2) < 0);
    atoll_query_task_summary(query, 0, &summary);
    assert_string_equal(summary.model, MODEL_A);
    atoll_query_task_summary(query, 2, &summary);
    assert_string_equal(summary.model, MODEL_B);
    atoll_query_destroy(query);
}

/* One model is not worth telling. */
static void test_one_model_is_not_told(void **state)
{
    (void)state;
    struct atoll_task_summary summary;
    put_capacity(MODEL_A, NULL);
    struct atoll_query *query = atoll_query_create(tables, NULL);
    atoll_query_task_summary(query, 0, &summary);
    assert_string_equal(summary.model, "");
    atoll_query_destroy(query);
}

static void test_model_beyond_the_limit(void **state)
{
    (void)state;
    put_decision(
        (struct atoll_decision){.type = ATOLL_DECIDE_BASELINE, .model = ATOLL_MODEL_LIMIT, .time_ns = 1});
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_TASKS), 2);
}

static struct atoll_decision asking(uint64_t number)
{
    struct atoll_row_task task;
    get_task(1, &task);
    return (struct atoll_decision){.type = ATOLL_DECIDE_ASK,
                                   .task = 1,
                                   .ask = {.number = number,
                                           .kind = ATOLL_ASK_WRITE,
                                           .op = ATOLL_OPERATOR_TUNE,
                                           .task = 1,
                                           .island = 1,
                                           .generation = 3,
                                           .stage = 2,
                                           .round = 4,
                                           .issues = 5,
                                           .count = 2,
                                           .parent = task.best}};
}

static void put_reply(uint64_t ask, enum atoll_reply_status status)
{
    struct atoll_event e;
    atoll_event_init(&e, ATOLL_EVENT_REPLY);
    e.reply = (struct atoll_reply){.ask = ask,
                                   .status = status,
                                   .origin = "a model",
                                   .tokens = 1200,
                                   .cost_usd = 0.25,
                                   .source_count = 1,
                                   .sources = {{"c", SAMPLE_HOSTILE "/* answered */"}},
                                   .dialogue = {.request = sample_id(9),
                                                .system = "be exact",
                                                .prompt = "make it faster",
                                                .answer = "```c ...```",
                                                .thought = "hm",
                                                .detail = "cut",
                                                .input_tokens = 1000,
                                                .cached_tokens = 600,
                                                .output_tokens = 200,
                                                .reasoning_tokens = 50,
                                                .elapsed_s = 2.5,
                                                .is_from_store = 1}};
    put_event(&e);
}

static void get_ask(uint64_t row, struct atoll_row_ask *ret)
{
    assert_true(row < atoll_tables_count(tables, ATOLL_TABLE_ASKS));
    atoll_tables_get(tables, ATOLL_TABLE_ASKS, row, ret);
}

static void test_ask_and_reply(void **state)
{
    (void)state;
    struct atoll_row_ask ask;
    struct atoll_row_candidate candidate;
    put_capacity(MODEL_A, NULL);
    put_decision(asking(1));
    get_ask(0, &ask);
    assert_true(ask.number == 1 && ask.status == 0 && ask.answered_ns == 0);
    assert_true(ask.task == 1 && ask.island == 1 && ask.generation == 3 && ask.stage == 2 && ask.round == 4 &&
                ask.issues == 5 && ask.count == 2 && ask.kind == ATOLL_ASK_WRITE);
    put_decision(asking(1)); /* again, after a resume */
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_ASKS), 1);

    put_reply(1, ATOLL_REPLY_OK);
    struct atoll_decision answer = {.type = ATOLL_DECIDE_EVALUATE,
                                    .evaluation = 300000,
                                    .task = 1,
                                    .answers_ask = 1,
                                    .candidate = sample_id(300),
                                    .source = atoll_source_id("c", SAMPLE_HOSTILE "/* answered */")};
    put_decision(answer);
    put_reply(1, ATOLL_REPLY_OK);     /* a second answer counts no second time */
    put_reply(77, ATOLL_REPLY_EMPTY); /* nobody asked */
    get_ask(0, &ask);
    assert_int_equal(ask.status, 1 + ATOLL_REPLY_OK);
    assert_true(ask.tokens == 1200 && ask.cost_usd == 0.25 && ask.sources == 1 && ask.accepted == 1);
    assert_true(ask.answered_ns == 7000000000);
    assert_string_equal(atoll_tables_text(tables, ask.origin), "a model");

    struct atoll_row_campaign row;
    atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, 0, &row);
    assert_true(row.tokens == 1200 && row.cost_usd == 0.25);
    atoll_tables_get(tables, ATOLL_TABLE_CANDIDATES, atoll_tables_count(tables, ATOLL_TABLE_CANDIDATES) - 1,
                     &candidate);
    assert_int_equal(candidate.ask, 1);
    assert_string_equal(atoll_tables_text(tables, candidate.source), SAMPLE_HOSTILE "/* answered */");
    assert_string_equal(atoll_tables_text(tables, candidate.origin), "a model");
}

/* In the row that is made now and in the one of a later segment. */
static void expect_dialogue(const struct atoll_tables *t)
{
    struct atoll_row_ask ask;
    struct atoll_id request = sample_id(9);
    atoll_tables_get(t, ATOLL_TABLE_ASKS, 0, &ask);
    assert_string_equal(atoll_tables_text(t, ask.system), "be exact");
    assert_string_equal(atoll_tables_text(t, ask.prompt), "make it faster");
    assert_string_equal(atoll_tables_text(t, ask.answer), "```c ...```");
    assert_string_equal(atoll_tables_text(t, ask.thought), "hm");
    assert_string_equal(atoll_tables_text(t, ask.detail), "cut");
    assert_true(ask.input_tokens == 1000 && ask.cached_tokens == 600 && ask.output_tokens == 200 &&
                ask.reasoning_tokens == 50 && ask.elapsed_s == 2.5 && ask.from_store == 1);
    assert_true(atoll_id_equal(&ask.request, &request));
}

static void test_dialogue(void **state)
{
    (void)state;
    put_capacity(MODEL_A, NULL);
    put_decision(asking(1));
    atoll_tables_destroy(atoll_projection_cut(projection, NULL));
    put_reply(1, ATOLL_REPLY_OK);
    expect_dialogue(tables);
    struct atoll_tables *cut = atoll_projection_cut(projection, NULL);
    expect_dialogue(cut);
    atoll_tables_destroy(cut);
}

/* Every status has its name in the archive. */
static void test_statuses(void **state)
{
    (void)state;
    const struct atoll_table_schema *schema = atoll_table_schema(ATOLL_TABLE_ASKS);
    for (uint64_t i = 0; i < ATOLL_REPLY_STATUS_COUNT; i++) {
        struct atoll_row_ask ask;
        put_capacity(MODEL_A, NULL);
        put_decision(asking(i + 1));
        put_reply(i + 1, (enum atoll_reply_status)i);
        get_ask(i, &ask);
        for (size_t c = 0; c < schema->column_count; c++) {
            if (strcmp(schema->columns[c].name, "status") == 0) {
                assert_string_equal(schema->columns[c].value_name(ask.status),
                                    atoll_reply_status_name((enum atoll_reply_status)i));
            }
        }
    }
}

/* An ask is told as it stands now: a later segment has it whole. */
static void test_segments_carry_asks_whole(void **state)
{
    (void)state;
    struct atoll_row_ask ask;
    put_capacity(MODEL_A, NULL);
    put_decision(asking(1));
    atoll_tables_destroy(atoll_projection_cut(projection, NULL));
    put_reply(1, ATOLL_REPLY_REFUSED);
    struct atoll_tables *cut = atoll_projection_cut(projection, NULL);
    assert_int_equal(atoll_tables_count(cut, ATOLL_TABLE_ASKS), 1);
    atoll_tables_get(cut, ATOLL_TABLE_ASKS, 0, &ask);
    assert_int_equal(ask.status, 1 + ATOLL_REPLY_REFUSED);
    atoll_tables_destroy(cut);
}

static void test_report(void **state)
{
    (void)state;
    struct atoll_buffer page;
    put_capacity(MODEL_A, MODEL_B);
    evaluate_on_second(200000);
    put_decision(asking(1));
    put_reply(1, ATOLL_REPLY_OK);
    atoll_buffer_init(&page, (size_t)64 << 20);
    assert_int_equal(atoll_report_render(tables, &page, NULL), 0);
    atoll_buffer_put_u8(&page, 0);
    const char *text = (const char *)page.data;
    assert_non_null(strstr(text, "1200 tokens"));
    assert_non_null(strstr(text, "$0.25"));
    assert_non_null(strstr(text, "matmul, Other &#60;Processor&#62;"));
    assert_null(strstr(text, MODEL_B));
    atoll_buffer_fini(&page);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_models_do_not_mix),
        CASE(test_queries_by_model),
        CASE(test_one_model_is_not_told),
        CASE(test_model_beyond_the_limit),
        CASE(test_ask_and_reply),
        CASE(test_statuses),
        CASE(test_dialogue),
        CASE(test_segments_carry_asks_whole),
        CASE(test_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What BRIEFING and TOOL events, and rewrites and hints in replies, leave in the tables, and what a later result makes of them. */
#include "tests/support/expect.h"

#include "archive-h5/table/project.h"
#include "core/experience/hint.h"
#include "tests/unit/archive-h5/sample_campaign.h"

#define MODEL    "Example Processor 9000"
#define ASK      UINT64_C(41)
#define VARIANTS 8 /* timed: those for the bench are among them */

static char dir[PATH_MAX];
static struct atoll_campaign *campaign;
static struct atoll_projection *projection;
static const struct atoll_tables *tables;
static uint64_t next_event, next_evaluation = 400000;
static struct atoll_row_task task;

static void put_event(struct atoll_event *e)
{
    assert_int_equal(atoll_projection_event(projection, next_event++, e, NULL), 0);
}

static void put_decision(const struct atoll_decision *d)
{
    assert_int_equal(atoll_projection_decision(projection, next_event - 1, d, NULL), 0);
}

static int set_up(void **state)
{
    struct atoll_event e;
    (void)state;
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    projection = atoll_projection_of_campaign(campaign, NULL, NULL);
    assert_non_null(projection);
    tables = atoll_projection_tables(projection);
    next_event = 1000;
    atoll_event_init(&e, ATOLL_EVENT_CAPACITY);
    e.model_count = 1;
    snprintf(e.models[0].model, sizeof(e.models[0].model), MODEL);
    put_event(&e);
    atoll_tables_get(tables, ATOLL_TABLE_TASKS, 1, &task);
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

/* ---- asks about the baseline of task 1, and what answers them; the best has a wrong first result ---- */

static void ask(uint64_t number, enum atoll_ask_kind kind)
{
    const struct atoll_decision d = {.type = ATOLL_DECIDE_ASK,
                                     .task = 1,
                                     .ask = {.number = number,
                                             .kind = kind,
                                             .op = ATOLL_OPERATOR_UNIVERSAL,
                                             .task = 1,
                                             .count = 1,
                                             .parent = task.baseline,
                                             .inspiration_count = 1,
                                             .inspirations = {sample_id(650)}}};
    put_decision(&d);
}

static void brief(uint64_t number)
{
    struct atoll_event e;
    atoll_event_init(&e, ATOLL_EVENT_BRIEFING);
    e.briefing =
        (struct atoll_briefing){.ask = number,
                                .count = 4,
                                .briefs = {{ATOLL_BRIEF_HINT, sample_id(501), "first", "Do this.", 1.5, 3},
                                           {ATOLL_BRIEF_MEMORY, sample_id(502), "a rewrite", "It was.", 0, 0},
                                           {ATOLL_BRIEF_HINT, sample_id(503), "second", "Do that.", 1.25, 0},
                                           {ATOLL_BRIEF_HINT, sample_id(504), "third", "No room.", 1, 8}}};
    put_event(&e);
}

static void answer(uint64_t number, unsigned candidate, enum atoll_verdict verdict, double ns)
{
    const struct atoll_decision d = {.type = ATOLL_DECIDE_EVALUATE,
                                     .evaluation = next_evaluation++,
                                     .task = 1,
                                     .answers_ask = number,
                                     .parent = task.baseline,
                                     .candidate = sample_id(candidate)};
    struct atoll_event e;
    double sample = ns;
    put_decision(&d);
    atoll_event_init(&e, ATOLL_EVENT_EVALUATED);
    e.evaluation.evaluation = d.evaluation;
    e.evaluation.candidate = d.candidate;
    e.evaluation.verdict = verdict;
    e.evaluation.device = 77;
    e.evaluation.timing_count = ns > 0 ? VARIANTS : 0;
    for (uint32_t v = 0; v < VARIANTS; v++)
        e.evaluation.timings[v] = (struct atoll_timing){
            .variant = v, .summary = {.min = ns, .median = ns}, .sample_count = 1, .samples_ns = &sample};
    put_event(&e);
}

static struct atoll_row_hint hint_named(const struct atoll_tables *t, const char *name)
{
    struct atoll_row_hint row = {.campaign = 0};
    for (uint64_t i = 0; i < atoll_tables_count(t, ATOLL_TABLE_HINTS); i++) {
        atoll_tables_get(t, ATOLL_TABLE_HINTS, i, &row);
        if (strcmp(atoll_tables_text(t, row.name), name) == 0)
            return row;
    }
    fail_msg("no hint '%s'", name);
    return row;
}

static struct atoll_row_hint_use use_at(const struct atoll_tables *t, uint64_t at)
{
    struct atoll_row_hint_use row;
    assert_true(at < atoll_tables_count(t, ATOLL_TABLE_HINT_USES));
    atoll_tables_get(t, ATOLL_TABLE_HINT_USES, at, &row);
    return row;
}

static void test_briefing(void **state)
{
    (void)state;
    struct atoll_row_brief row;
    ask(ASK, ATOLL_ASK_WRITE);
    brief(ASK);
    brief(ASK);     /* told again after a resume */
    brief(ASK + 1); /* nobody asked */
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_BRIEFS), 4);
    /* What the prompt had no room for is in the archive, and gets no credit. */
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_HINT_USES), 2);
    for (uint64_t i = 0; i < 4; i++) {
        atoll_tables_get(tables, ATOLL_TABLE_BRIEFS, i, &row);
        assert_int_equal(row.cut_bytes, i == 0 ? 3 : i == 3 ? 8 : 0);
    }
    atoll_tables_get(tables, ATOLL_TABLE_BRIEFS, 1, &row);
    assert_true(row.ask == ASK && row.kind == ATOLL_BRIEF_MEMORY && row.ordinal == 1);
    assert_string_equal(atoll_tables_text(tables, row.title), "a rewrite");
    assert_string_equal(atoll_tables_text(tables, row.text), "It was.");
    struct atoll_row_hint_use use = use_at(tables, 1);
    assert_true(use.ask == ASK && use.task == 1 && use.score == 1.25 && use.outcome == 0);
    assert_string_equal(atoll_tables_text(tables, use.name), "second");
    expect_close(use.parent_ns, task.baseline_ns, 1e-9);
    assert_true(hint_named(tables, "first").uses == 1 && hint_named(tables, "first").outcomes == 0);
}

/* The best of what answered counts; a later segment has the rows as they are then. */
static void test_outcome(void **state)
{
    (void)state;
    static const struct {
        enum atoll_verdict verdict;
        double share; /* of the parent's time; 0: not timed */
        uint8_t outcome;
        unsigned best;
        double wins;
    } rows[] = {{ATOLL_V_WRONG, 0, 1, 600, 0},
                {ATOLL_V_CORRECT, 2, 1, 601, 0},
                {ATOLL_V_CORRECT, 0.5, 2, 602, 1},
                {ATOLL_V_CORRECT, 0.7, 2, 602, 1},
                {ATOLL_V_UNSTABLE, 0.1, 2, 602, 1}};
    ask(ASK, ATOLL_ASK_WRITE);
    brief(ASK);
    atoll_tables_destroy(atoll_projection_cut(projection, NULL));
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        answer(ASK, 600 + i, rows[i].verdict, rows[i].share * task.baseline_ns);
        struct atoll_tables *cut = atoll_projection_cut(projection, NULL);
        const struct atoll_tables *both[] = {tables, cut};
        struct atoll_id best = sample_id(rows[i].best);
        for (size_t b = 0; b < 2; b++) {
            struct atoll_row_hint_use use = use_at(both[b], 0);
            struct atoll_row_hint hint = hint_named(both[b], "second");
            if (use.outcome != rows[i].outcome || !atoll_id_equal(&use.candidate, &best))
                fail_msg("row %u: outcome %u", i, use.outcome);
            assert_true(hint.outcomes == 1 && hint.wins == rows[i].wins && hint.expected == 0.25);
        }
        atoll_tables_destroy(cut);
    }
    expect_close(hint_named(tables, "first").mean_gain, 2, 1e-9);
    answer(ASK + 1, 700, ATOLL_V_CORRECT, 1); /* of an ask that is not known */
    assert_true(hint_named(tables, "first").outcomes == 1);
    /* Another ask, of another task perhaps, is answered by the same candidate: its row names the first one. */
    ask(ASK + 2, ATOLL_ASK_WRITE);
    brief(ASK + 2);
    answer(ASK + 2, 602, ATOLL_V_CORRECT, 0.9 * task.baseline_ns);
    assert_true(hint_named(tables, "first").outcomes == 2 && hint_named(tables, "first").wins == 2);
    assert_true(use_at(tables, 2).outcome == 2 && use_at(tables, 2).ask == ASK + 2);
}

/* Entries of the knowledge base have books of their own: they are credited as hints are, and no hint is among them. */
static void test_knowledge(void **state)
{
    (void)state;
    struct atoll_event e;
    struct atoll_row_hint row;
    struct atoll_row_hint_use use;
    ask(ASK, ATOLL_ASK_WRITE);
    atoll_event_init(&e, ATOLL_EVENT_BRIEFING);
    e.briefing = (struct atoll_briefing){
        .ask = ASK,
        .count = 4,
        .briefs = {{ATOLL_BRIEF_HINT, sample_id(501), "first", "Do this.", 1, 0},
                   {ATOLL_BRIEF_CONSTRAINT, sample_id(511), "constraint c-one", "Never that.", 9, 0},
                   {ATOLL_BRIEF_KNOWLEDGE, sample_id(512), "pattern c-two", "Rather this.", 2, 0},
                   {ATOLL_BRIEF_DEMONSTRATION, sample_id(513), "kernel a/b/c.c", "One.\n\nint x;", 1, 0}}};
    put_event(&e);
    atoll_tables_destroy(atoll_projection_cut(projection, NULL));
    answer(ASK, 600, ATOLL_V_CORRECT, 0.5 * task.baseline_ns);
    struct atoll_tables *cut = atoll_projection_cut(projection, NULL);
    const struct atoll_tables *both[] = {tables, cut};
    for (size_t b = 0; b < 2; b++) {
        static const char *const names[] = {"c-one", "c-two", "a/b/c.c"}, *const kinds[] = {"constraint",
                                                                                            "pattern",
                                                                                            "kernel"};
        assert_int_equal(atoll_tables_count(both[b], ATOLL_TABLE_KNOWLEDGE_ENTRIES), 3);
        assert_int_equal(atoll_tables_count(both[b], ATOLL_TABLE_KNOWLEDGE_USES), 3);
        assert_int_equal(atoll_tables_count(both[b], ATOLL_TABLE_HINT_USES), 1);
        for (uint64_t i = 0; i < 3; i++) {
            atoll_tables_get(both[b], ATOLL_TABLE_KNOWLEDGE_ENTRIES, i, &row);
            assert_string_equal(atoll_tables_text(both[b], row.name), names[i]);
            assert_string_equal(atoll_tables_text(both[b], row.trigger), kinds[i]);
            assert_true(row.uses == 1 && row.outcomes == 1 && row.wins == 1);
            expect_close(row.mean_gain, 2, 1e-9);
            atoll_tables_get(both[b], ATOLL_TABLE_KNOWLEDGE_USES, i, &use);
            assert_true(use.ask == ASK && use.outcome == 2 && atoll_id_equal(&use.hint, &row.id));
        }
    }
    atoll_tables_destroy(cut);
    assert_true(hint_named(tables, "first").wins == 1);
}

static void test_learned(void **state)
{
    (void)state;
    struct atoll_event e;
    struct atoll_row_memory row;
    atoll_event_init(&e, ATOLL_EVENT_REPLY);
    e.reply = (struct atoll_reply){
        .ask = ASK,
        .item_count = 3,
        .items = {
            {.kind = ATOLL_ITEM_REWRITE, .title = "Vectors", .text = "Wider.", .before = "x", .after = "y"},
            {.kind = ATOLL_ITEM_HINT, .title = "dram", .text = "Use vectors.", .why = "rows"},
            {.kind = ATOLL_ITEM_HINT, .title = "the weather", .text = "Wait."}}};
    const struct atoll_id fast = sample_id(650);
    answer(0, 650, ATOLL_V_CORRECT, 1000); /* it answers nobody */
    ask(ASK, ATOLL_ASK_SUMMARISE);
    put_event(&e);
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_MEMORY), 1);
    atoll_tables_get(tables, ATOLL_TABLE_MEMORY, 0, &row);
    assert_true(row.ask == ASK && row.task == 1 && atoll_id_equal(&row.slow, &task.baseline) &&
                atoll_id_equal(&row.fast, &fast));
    expect_close(row.slow_ns, task.baseline_ns, 1e-9);
    expect_close(row.fast_ns, 1000, 1e-9);
    assert_string_equal(atoll_tables_text(tables, row.title), "Vectors");
    assert_string_equal(atoll_tables_text(tables, row.before), "x");
    assert_string_equal(atoll_tables_text(tables, row.after), "y");
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_HINTS), 1);
    struct atoll_row_hint hint;
    atoll_tables_get(tables, ATOLL_TABLE_HINTS, 0, &hint);
    assert_string_equal(atoll_tables_text(tables, hint.trigger), "limiter dram");
    assert_string_equal(atoll_tables_text(tables, hint.language), "c");
    assert_string_equal(atoll_tables_text(tables, hint.device), "hopper"); /* as the sample's device says */
    assert_true(hint.origin == ATOLL_HINT_DISTILLED && hint.uses == 0);
}

static void test_tools(void **state)
{
    (void)state;
    struct atoll_event e;
    struct atoll_row_tool_call row;
    struct atoll_row_campaign before, after;
    atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, 0, &before);
    atoll_event_init(&e, ATOLL_EVENT_TOOL);
    e.tool_turn = (struct atoll_tool_turn){.ask = ASK,
                                           .turn = 2,
                                           .said = "Let me look.",
                                           .tokens_in = 100,
                                           .tokens_out = 20,
                                           .cost_usd = 0.5,
                                           .call_count = 2,
                                           .calls = {{"c1", "compile", "{}", "ok", ATOLL_TOOL_OK, 1.5},
                                                     {"c2", "check", "{}", "no", ATOLL_TOOL_REFUSED, 0}}};
    put_event(&e); /* nobody asked */
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_TOOL_CALLS), 0);
    ask(ASK, ATOLL_ASK_WRITE);
    put_event(&e);
    assert_int_equal(atoll_tables_count(tables, ATOLL_TABLE_TOOL_CALLS), 2);
    atoll_tables_get(tables, ATOLL_TABLE_TOOL_CALLS, 0, &row);
    assert_true(row.ask == ASK && row.turn == 2 && row.elapsed_s == 1.5 && row.input_tokens == 100);
    assert_string_equal(atoll_tables_text(tables, row.said), "Let me look.");
    assert_string_equal(atoll_tables_text(tables, row.name), "compile");
    atoll_tables_get(tables, ATOLL_TABLE_TOOL_CALLS, 1, &row);
    assert_true(row.status == ATOLL_TOOL_REFUSED && row.input_tokens == 0 && row.said == 0 &&
                row.ordinal == 1);
    atoll_tables_get(tables, ATOLL_TABLE_CAMPAIGN, 0, &after);
    assert_true(after.tokens == before.tokens + 120 && after.cost_usd == before.cost_usd + 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_briefing, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_outcome, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_knowledge, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_learned, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_tools, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

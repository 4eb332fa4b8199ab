/* What an ask is told beside what it names, on an engine whose evaluators and operators are played (tests/support). */
#include "tests/support/operator.h"

#include "core/issue.h"
#include "mpi-eval/operator/briefer.h"
#include "mpi-eval/operator/knowledge_briefs.h"

static const struct sim_seed plain[] = {{"k0", NULL, NULL}};
static const struct sim_seed tuned[] = {{"k0", NULL, NULL},
                                        {"k1", "\"A\": [1, 2, 3, 4, 5, 6], \"B\": [1, 2]", NULL}};

struct stand {
    struct sim *sim;
    struct atoll_search told; /* what the briefer goes by */
    struct atoll_prompt_context *context;
    struct atoll_briefer *briefer;
    size_t fed;
};

static void set_up(struct stand *s, const struct sim_seed *seeds, size_t count)
{
    struct atoll_buffer task;
    struct atoll_search search;
    const struct atoll_device_info device = {.model = "processor", .backend = "cpu", .threads = 4};
    atoll_buffer_init(&task, 1u << 24);
    sim_task("copy", seeds, count, 1, &task);
    atoll_search_defaults(&search);
    s->told = search;
    search.strategy = ATOLL_STRATEGY_REPEATED; /* every ask is about the baseline */
    search.repeated_parent = 1;
    search.ask_share = count == 1;
    search.noop_interval = 0;
    search.stagnation_limit = 0;
    s->sim = op_start(7, &search, &task, 1);
    sim_capacity(s->sim, 4);
    s->fed = 0;
    s->context = atoll_prompt_context_create(0, NULL);
    assert_int_equal(atoll_prompt_context_add_device(s->context, &device, NULL), 0);
    s->briefer = atoll_briefer_create(&s->told, "cpu", s->context, NULL);
    assert_non_null(s->briefer);
    atoll_buffer_fini(&task);
}

static void tear_down(struct stand *s)
{
    atoll_briefer_destroy(s->briefer);
    atoll_prompt_context_destroy(s->context);
    sim_fini(s->sim);
    free(s->sim);
}

static void see(struct stand *s, const struct atoll_event *event)
{
    assert_int_equal(atoll_prompt_context_add_event(s->context, event, NULL), 0);
    assert_int_equal(atoll_briefer_add_event(s->briefer, s->sim->engine, event, NULL), 0);
}

static void feed(struct stand *s)
{
    struct atoll_arena *arena = atoll_arena_create(1u << 26, NULL);
    for (; s->fed < s->sim->event_count; s->fed++) {
        struct atoll_event event;
        const struct sim_bytes *bytes = &s->sim->events[s->fed];
        assert_int_equal(atoll_event_decode(bytes->bytes, bytes->length, arena, &event, NULL), 0);
        see(s, &event);
        atoll_event_fini(&event);
        atoll_arena_reset(arena);
    }
    atoll_arena_destroy(arena);
}

static struct atoll_briefing brief(struct stand *s, const struct atoll_ask *ask)
{
    struct atoll_briefing briefing;
    assert_int_equal(atoll_briefer_make(s->briefer, s->sim->engine, ask, &briefing, NULL), 0);
    assert_int_equal(briefing.ask, ask->number);
    return briefing;
}

static uint32_t count_of(const struct atoll_briefing *b, enum atoll_brief_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->count; i++)
        count += b->briefs[i].kind == kind;
    return count;
}

static void expect(const struct stand *s, const struct atoll_briefing *b, uint32_t at,
                   enum atoll_brief_kind kind, uint32_t kernel)
{
    assert_true(at < b->count);
    assert_int_equal(b->briefs[at].kind, kind);
    assert_int_equal(op_number(s->sim, 0, &b->briefs[at].id), kernel);
}

static void neighbours_are_told(void **state)
{
    static const double times_ms[16] = {
        [0] = 10, [1] = 8, [2] = 20, [3] = 0, [4] = 5, [5] = 30, [6] = 6, [7] = 7};
    struct stand s;
    struct atoll_briefing b;
    (void)state;
    set_up(&s, plain, 1);
    op_evaluate(s.sim, times_ms);
    for (uint32_t kernel = 1; kernel <= 7; kernel++) {
        op_kernel(s.sim, op_at(s.sim, 0)->number, kernel);
        op_evaluate(s.sim, times_ms);
    }
    feed(&s);
    s.told.hints = 0;
    struct atoll_ask ask = *op_at(s.sim, 0);
    b = brief(&s, &ask);
    assert_int_equal(b.count, 6); /* the best is the fastest sibling */
    expect(&s, &b, 0, ATOLL_BRIEF_SIBLING, 4);
    expect(&s, &b, 1, ATOLL_BRIEF_SIBLING, 6);
    expect(&s, &b, 2, ATOLL_BRIEF_SIBLING, 7);
    expect(&s, &b, 3, ATOLL_BRIEF_SLOWER, 5); /* the newest first */
    expect(&s, &b, 4, ATOLL_BRIEF_SLOWER, 2);
    expect(&s, &b, 5, ATOLL_BRIEF_FAILURE, 3);
    assert_true(b.briefs[0].score > 4.9e6 && b.briefs[0].score < 5.1e6);
    /* what is named is not told twice */
    ask.inspirations[ask.inspiration_count++] = b.briefs[0].id;
    b = brief(&s, &ask);
    expect(&s, &b, 0, ATOLL_BRIEF_SIBLING, 6);
    assert_int_equal(count_of(&b, ATOLL_BRIEF_BEST), 0);
    ask.failures[ask.failure_count++] = b.briefs[b.count - 1].id;
    b = brief(&s, &ask);
    assert_int_equal(count_of(&b, ATOLL_BRIEF_FAILURE), 0);
    /* of a child: the other children of its parent, and the best */
    ask.inspiration_count = 0;
    ask.parent = b.briefs[0].id;
    b = brief(&s, &ask);
    expect(&s, &b, 0, ATOLL_BRIEF_SIBLING, 4);
    expect(&s, &b, 1, ATOLL_BRIEF_SLOWER, 7);
    ask.kind = ATOLL_ASK_ORDER;
    assert_int_equal(brief(&s, &ask).count, 0);
    ask.kind = ATOLL_ASK_PLAN;
    s.told.trajectory = 0;
    assert_int_equal(brief(&s, &ask).count, 0);
    s.told.trajectory = 1;
    assert_true(brief(&s, &ask).count > 0);
    s.told.strategy = ATOLL_STRATEGY_REPEATED;
    assert_int_equal(brief(&s, &ask).count, 0);
    tear_down(&s);
}

static void combinations_are_told_the_fastest_first(void **state)
{
    struct stand s;
    struct atoll_candidate_view view;
    struct atoll_ask ask = {.number = 1, .kind = ATOLL_ASK_WRITE, .op = ATOLL_OPERATOR_EXECUTE, .count = 1};
    uint32_t cursor = 0, correct = 0, broken = 0;
    char counts[24];
    (void)state;
    set_up(&s, tuned, 2);
    s.sim->wrong = 30;
    for (int i = 0; i < 40 && s.sim->order_count; i++)
        sim_answer(s.sim);
    feed(&s);
    while (atoll_engine_next_view(s.sim->engine, 0, 0, &cursor, &view)) {
        if (op_number(s.sim, 0, &view.id) == 1 && view.is_settled) {
            correct += view.is_correct != 0;
            broken += !view.is_correct;
            ask.parent = view.id;
        }
    }
    assert_true(correct >= 3 && broken >= 1);
    struct atoll_briefing b = brief(&s, &ask);
    assert_int_equal(b.count, 1 + (correct < 8 ? correct : 8) + (broken < 4 ? broken : 4));
    assert_true(b.count < 1 + correct + broken); /* the table is cut, and the counts are those of all */
    assert_true(b.briefs[0].kind == ATOLL_BRIEF_COMBINATION && atoll_id_is_zero(&b.briefs[0].id));
    snprintf(counts, sizeof(counts), "%u %u", correct + broken, correct);
    assert_string_equal(b.briefs[0].text, counts);
    for (uint32_t i = 1; i < b.count; i++) {
        assert_int_equal(b.briefs[i].kind, ATOLL_BRIEF_COMBINATION);
        assert_int_equal(op_number(s.sim, 0, &b.briefs[i].id), 1);
        if (i > 1 && b.briefs[i].score > 0)
            assert_true(b.briefs[i].score >= b.briefs[i - 1].score);
    }
    tear_down(&s);
}

/* Of knowledge: critical constraints whoever writes, also where asks are independent of each other; kernels to who writes a first
 * draft; nothing where the settings say so. */
static void knowledge_is_told(void **state)
{
    static const struct {
        const char *path, *text;
    } files[] = {{"index.yaml", "version: 1\ndevices: [{name: cpu, vendor: x86, what: one}]\nfamilies: "
                                "[{name: copies, words: [copy]}]\n"},
                 {"constraints/c.yaml", "version: 1\nconstraints:\n  - {id: c-one, severity: critical, "
                                        "language: [c], devices: \"*\", what: One., wrong: a, right: "
                                        "b, fails: compile, message: m, source: s}\n"},
                 {"kernels/a/other/k.c", "task: other_copy\nsummary: it copies\n\nint x;\n"}};
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(NULL);
    struct stand s;
    struct atoll_briefing b;
    static const double times_ms[16] = {[0] = 10, [1] = 5, [3] = 5, [4] = 6, [5] = 7};
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        assert_int_equal(
            atoll_knowledge_pack_put(pack, files[i].path, files[i].text, strlen(files[i].text), NULL), 0);
    struct atoll_knowledge_briefs *all = atoll_knowledge_briefs_create(pack, NULL, NULL),
                                  *some = atoll_knowledge_briefs_create(pack, "copies", NULL);
    set_up(&s, plain, 1);
    op_evaluate(s.sim, times_ms);
    feed(&s);
    s.told.trajectory = s.told.hints = 0;
    struct atoll_ask ask = *op_at(s.sim, 0);
    assert_int_equal(brief(&s, &ask).count, 0);
    atoll_briefer_set_knowledge(s.briefer, all);
    /* Models have shown nothing yet: kernels, and the code of what is critical; then four of theirs are correct. */
    b = brief(&s, &ask);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.briefs[0].kind, ATOLL_BRIEF_CONSTRAINT);
    assert_string_equal(b.briefs[0].text,
                        "One.\nWrong:\na\nwhich is answered with: m\nRight:\nb\nSource: s\n");
    assert_int_equal(b.briefs[1].kind, ATOLL_BRIEF_DEMONSTRATION);
    ask.op = ATOLL_OPERATOR_EXECUTE;
    assert_int_equal(brief(&s, &ask).count, 1);
    ask.op = ATOLL_OPERATOR_UNIVERSAL;
    for (uint32_t kernel = 1; kernel <= 5; kernel++) { /* the second is wrong */
        const struct atoll_ask asked = *op_at(s.sim, 0);
        assert_int_equal(atoll_prompt_context_add_ask(s.context, &asked, NULL), 0);
        assert_int_equal(brief(&s, &ask).count, 2);
        op_kernel(s.sim, asked.number, kernel);
        op_evaluate(s.sim, times_ms);
        feed(&s);
    }
    b = brief(&s, &ask);
    assert_int_equal(b.count, 1);
    assert_string_equal(b.briefs[0].text, "One.\nSource: s\n");
    s.told.strategy = ATOLL_STRATEGY_REPEATED;
    assert_int_equal(brief(&s, &ask).count, 1);
    memset(&ask.parent, 0, sizeof(ask.parent));
    b = brief(&s, &ask);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.briefs[1].kind, ATOLL_BRIEF_DEMONSTRATION);
    assert_string_equal(b.briefs[1].title, "kernel a/other/k.c");
    assert_string_equal(b.briefs[1].text, "Of task other_copy, in c.\nThe task: it copies\n\nint x;\n");
    s.told.knowledge = 1;
    assert_int_equal(brief(&s, &ask).count, 1);
    s.told.knowledge = 0;
    assert_int_equal(brief(&s, &ask).count, 0);
    s.told.knowledge = 2;
    atoll_briefer_set_knowledge(s.briefer, some);
    assert_int_equal(brief(&s, &ask).count, 1);
    ask.kind = ATOLL_ASK_ORDER;
    assert_int_equal(brief(&s, &ask).count, 0);
    tear_down(&s);
    atoll_knowledge_briefs_destroy(all);
    atoll_knowledge_briefs_destroy(some);
    atoll_knowledge_pack_destroy(pack);
}

/* Sources of 64 KiB at most, and of 96 KiB together; of the others the size is told. */
static void kernels_are_shown_whole(void **state)
{
    static const size_t bytes[] = {60000, 70000, 40000, 30000};
    static const int is_shown[] = {1, 0, 0, 1};
    static char text[80000];
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(NULL);
    static const char index[] = "version: 1\ndevices: [{name: cpu, vendor: x86, what: one}]\nfamilies: "
                                "[{name: copies, words: [copy]}]\n";
    struct stand s;
    struct atoll_briefing b;
    (void)state;
    assert_int_equal(atoll_knowledge_pack_put(pack, "index.yaml", index, strlen(index), NULL), 0);
    for (size_t i = 0; i < 4; i++) { /* the faster the earlier */
        char path[64];
        int head =
            snprintf(text, sizeof(text), "task: copy_%zu\nsummary: copy\ngain: %u\n\n", i, 4 - (unsigned)i);
        memset(text + head, 'a' + (int)i, bytes[i]);
        snprintf(path, sizeof(path), "kernels/a/t%zu/k.c", i);
        assert_int_equal(atoll_knowledge_pack_put(pack, path, text, (size_t)head + bytes[i], NULL), 0);
    }
    struct atoll_knowledge_briefs *knowledge = atoll_knowledge_briefs_create(pack, NULL, NULL);
    set_up(&s, plain, 1);
    op_evaluate(s.sim, (const double[16]){[0] = 10});
    feed(&s);
    s.told.trajectory = s.told.hints = 0;
    atoll_briefer_set_knowledge(s.briefer, knowledge);
    b = brief(&s, op_at(s.sim, 0));
    assert_int_equal(count_of(&b, ATOLL_BRIEF_DEMONSTRATION), 4);
    for (uint32_t i = 0; i < 4; i++) {
        char title[64], size[64];
        snprintf(title, sizeof(title), "kernel a/t%u/k.c", i);
        snprintf(size, sizeof(size), "Its source of %zu bytes is too long to be shown.\n", bytes[i]);
        assert_string_equal(b.briefs[i].title, title);
        assert_int_equal(strlen(b.briefs[i].text) >= bytes[i], is_shown[i]);
        assert_int_equal(strstr(b.briefs[i].text, size) == NULL, is_shown[i]);
        assert_true(strlen(b.briefs[i].text) < ATOLL_BRIEF_SOURCE_LIMIT);
    }
    tear_down(&s);
    atoll_knowledge_briefs_destroy(knowledge);
    atoll_knowledge_pack_destroy(pack);
}

/* Of kernels that differ in a few lines the most similar one speaks for the others; one that shares half of them stays. */
static void near_equal_kernels_are_told_once(void **state)
{
    static const unsigned other_lines[] = {0, 5, 12, 2}; /* of 20: how many are a kernel's own */
    struct atoll_knowledge_pack *pack = atoll_knowledge_pack_create(NULL);
    static const char index[] = "version: 1\ndevices: [{name: cpu, vendor: x86, what: one}]\nfamilies: "
                                "[{name: copies, words: [copy]}]\n";
    struct stand s;
    struct atoll_briefing b;
    (void)state;
    assert_int_equal(atoll_knowledge_pack_put(pack, "index.yaml", index, strlen(index), NULL), 0);
    for (unsigned i = 0; i < 4; i++) { /* the faster the earlier */
        char path[64], text[2048];
        int at = snprintf(text, sizeof(text), "task: copy_%u\nsummary: copy\ngain: %u\n\n", i, 4 - i);
        for (unsigned line = 0; line < 20; line++)
            at += snprintf(text + at, sizeof(text) - (size_t)at, "%*sint of_%u_%u;\n", (int)i, "",
                           line < other_lines[i] ? i : 0, line);
        snprintf(path, sizeof(path), "kernels/a/t%u/k.c", i);
        assert_int_equal(atoll_knowledge_pack_put(pack, path, text, (size_t)at, NULL), 0);
    }
    struct atoll_knowledge_briefs *knowledge = atoll_knowledge_briefs_create(pack, NULL, NULL);
    set_up(&s, plain, 1);
    op_evaluate(s.sim, (const double[16]){[0] = 10});
    feed(&s);
    s.told.trajectory = s.told.hints = 0;
    atoll_briefer_set_knowledge(s.briefer, knowledge);
    b = brief(&s, op_at(s.sim, 0));
    assert_int_equal(count_of(&b, ATOLL_BRIEF_DEMONSTRATION), 2);
    assert_string_equal(b.briefs[0].title, "kernel a/t0/k.c");
    assert_non_null(
        strstr(b.briefs[0].text, "\n2 more like it, of other tasks, are not shown.\n\nint of_0_0;\n"));
    assert_string_equal(b.briefs[1].title, "kernel a/t2/k.c");
    assert_null(strstr(b.briefs[1].text, "more like it"));
    tear_down(&s);
    atoll_knowledge_briefs_destroy(knowledge);
    atoll_knowledge_pack_destroy(pack);
}

static void event_of_reply(struct atoll_event *event, uint64_t ask, enum atoll_item_kind kind,
                           const char *title)
{
    atoll_event_init(event, ATOLL_EVENT_REPLY);
    event->reply = (struct atoll_reply){.ask = ask, .item_count = 1};
    event->reply.items[0] = (struct atoll_reply_item){.kind = kind,
                                                      .title = title,
                                                      .text = "Keep it in registers.",
                                                      .why = "",
                                                      .before = "a",
                                                      .after = "b"};
}

/* Rewrites and hints that models have made are told from then on, and what follows is credited. */
static void what_was_learnt_is_told(void **state)
{
    static const double times_ms[16] = {[0] = 10, [1] = 5};
    struct stand s;
    struct atoll_event event;
    struct atoll_briefing b;
    (void)state;
    set_up(&s, plain, 1);
    op_evaluate(s.sim, times_ms);
    feed(&s);
    s.told.trajectory = 0;
    const struct atoll_ask ask = *op_at(s.sim, 0);
    assert_int_equal(brief(&s, &ask).count, 0);
    const struct atoll_ask summary = {.number = 1000, .kind = ATOLL_ASK_SUMMARISE, .op = ATOLL_OPERATOR_PLAN},
                           lesson = {.number = 1001, .kind = ATOLL_ASK_DISTIL, .op = ATOLL_OPERATOR_PLAN};
    assert_int_equal(atoll_prompt_context_add_ask(s.context, &summary, NULL), 0);
    assert_int_equal(atoll_prompt_context_add_ask(s.context, &lesson, NULL), 0);
    assert_int_equal(atoll_prompt_context_add_ask(s.context, &ask, NULL), 0);
    event_of_reply(&event, 1000, ATOLL_ITEM_REWRITE, "tile the loop");
    see(&s, &event);
    event_of_reply(&event, 1001, ATOLL_ITEM_HINT, "unknown");
    see(&s, &event);
    b = brief(&s, &ask);
    assert_int_equal(count_of(&b, ATOLL_BRIEF_MEMORY), 1);
    assert_string_equal(b.briefs[0].title, "tile the loop");
    assert_int_equal(count_of(&b, ATOLL_BRIEF_HINT), 1);
    assert_non_null(strstr(b.briefs[1].text, "registers"));
    s.told.hints = 0;
    assert_int_equal(count_of(&(struct atoll_briefing[]){brief(&s, &ask)}[0], ATOLL_BRIEF_HINT), 0);
    s.told.memory = 0;
    assert_int_equal(brief(&s, &ask).count, 0);
    atoll_event_init(&event, ATOLL_EVENT_BRIEFING);
    event.briefing = b;
    see(&s, &event);
    op_kernel(s.sim, ask.number, 1);
    op_evaluate(s.sim, times_ms);
    feed(&s);
    tear_down(&s);
}

/* A type that an analyser made up is told to analysers once a kernel of its stage was faster than its parent. */
static void types_that_won_are_told(void **state)
{
    static const double times_ms[16] = {[0] = 10, [1] = 10.05, [2] = 8};
    struct stand s;
    struct atoll_event event;
    (void)state;
    set_up(&s, plain, 1);
    op_evaluate(s.sim, times_ms);
    feed(&s);
    s.told.trajectory = s.told.hints = 0;
    const struct atoll_ask analysis = {
        .number = 1000, .kind = ATOLL_ASK_ANALYSE, .op = ATOLL_OPERATOR_STAGED};
    assert_int_equal(atoll_prompt_context_add_ask(s.context, &analysis, NULL), 0);
    event_of_reply(&event, 1000, ATOLL_ITEM_ISSUE, "l2_set_conflicts");
    event.reply.items[0].issue = ATOLL_ISSUE_COUNT;
    event.reply.items[0].stage = ATOLL_ISSUE_STAGE_MEMORY;
    see(&s, &event);
    for (uint32_t kernel = 1; kernel <= 2; kernel++) {
        struct atoll_ask ask = *op_at(s.sim, 0);
        assert_int_equal(brief(&s, &analysis).count, 0);
        ask.op = ATOLL_OPERATOR_STAGED;
        ask.plan = 1000;
        ask.stage = ATOLL_ISSUE_STAGE_MEMORY;
        assert_int_equal(atoll_prompt_context_add_ask(s.context, &ask, NULL), 0);
        op_kernel(s.sim, ask.number, kernel);
        op_evaluate(s.sim, times_ms);
        feed(&s);
    }
    struct atoll_briefing b = brief(&s, &analysis);
    assert_int_equal(b.count, 1);
    assert_int_equal(b.briefs[0].kind, ATOLL_BRIEF_ISSUE_TYPE);
    assert_string_equal(b.briefs[0].title, "l2_set_conflicts");
    assert_string_equal(b.briefs[0].text,
                        "Stage memory; 1 faster kernel so far, the best 1.25 times as fast as "
                        "before. Keep it in registers.");
    assert_int_equal(brief(&s, op_at(s.sim, 0)).count, 0); /* who writes is not told */
    tear_down(&s);
}

/* A planner is told which steps the parent had, the newest first, and what came of them; nobody else is. */
static void earlier_plans_are_told(void **state)
{
    static const double times_ms[16] = {[0] = 10, [1] = 8, [2] = 20, [3] = 0};
    static const char *const steps[] = {"Tile.", "Unroll.", "Fuse.", "Pad."};
    struct stand s;
    struct atoll_event event;
    (void)state;
    set_up(&s, plain, 1);
    op_evaluate(s.sim, times_ms);
    feed(&s);
    s.told.hints = 0;
    struct atoll_ask plan = *op_at(s.sim, 0);
    plan.kind = ATOLL_ASK_PLAN;
    for (uint64_t i = 0; i < 4; i++) {
        plan.number = 1000 + i;
        assert_int_equal(atoll_prompt_context_add_ask(s.context, &plan, NULL), 0);
        event_of_reply(&event, plan.number, ATOLL_ITEM_PLAN, "A step");
        event.reply.items[0].text = steps[i];
        see(&s, &event);
    }
    for (uint32_t kernel = 1; kernel <= 3; kernel++) {
        struct atoll_ask attempt = *op_at(s.sim, 0);
        attempt.op = ATOLL_OPERATOR_EXECUTE;
        attempt.plan = 1000 + (kernel + 1) / 2; /* two at the second, one at the third */
        assert_int_equal(atoll_prompt_context_add_ask(s.context, &attempt, NULL), 0);
        op_kernel(s.sim, attempt.number, kernel);
        op_evaluate(s.sim, times_ms);
        feed(&s);
    }
    plan.number = 2000;
    struct atoll_briefing b = brief(&s, &plan);
    assert_int_equal(count_of(&b, ATOLL_BRIEF_PLAN), 4);
    uint32_t at = 0;
    while (b.briefs[at].kind != ATOLL_BRIEF_PLAN)
        at++;
    assert_string_equal(b.briefs[at].text, "Nothing has come of it yet. Pad.");
    assert_string_equal(b.briefs[at + 1].text, "No attempt was correct. Fuse.");
    assert_string_equal(b.briefs[at + 2].text, "At best 1.25 times as fast as the parent. Unroll.");
    assert_string_equal(b.briefs[at + 3].text, "Nothing has come of it yet. Tile.");
    plan.kind = ATOLL_ASK_WRITE;
    b = brief(&s, &plan);
    assert_int_equal(count_of(&b, ATOLL_BRIEF_PLAN), 0);
    tear_down(&s);
}

/* As Linux names them; what a processor has without the kernel giving it is not told. */
static void features_are_the_processors(void **state)
{
    static const struct {
        const char *name, *flag;
    } known[] = {{"avx2", " avx2 "},
                 {"avx512", " avx512bw "},
                 {"avx512-vnni", " avx512_vnni "},
                 {"amx", " amx_bf16 "}};
    static char text[8192];
    const char *const *features = atoll_knowledge_features("cpu");
    FILE *f = fopen("/proc/cpuinfo", "r");
    (void)state;
    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    for (size_t i = 0; strstr(text, "flags") && i < sizeof(known) / sizeof(*known); i++) {
        int is_told = 0;
        for (size_t k = 0; features[k]; k++)
            is_told |= strcmp(features[k], known[i].name) == 0;
        print_message("%s: %d\n", known[i].name, is_told);
        assert_int_equal(is_told, strstr(text, known[i].flag) != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_told),
        cmocka_unit_test(combinations_are_told_the_fastest_first),
        cmocka_unit_test(what_was_learnt_is_told),
        cmocka_unit_test(knowledge_is_told),
        cmocka_unit_test(types_that_won_are_told),
        cmocka_unit_test(kernels_are_shown_whole),
        cmocka_unit_test(near_equal_kernels_are_told_once),
        cmocka_unit_test(earlier_plans_are_told),
        cmocka_unit_test(features_are_the_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What prompts tell of changes, of much and of nothing; that system texts and their examples are what readers take. */
#include "tests/unit/evolution/prompt/prompt_form_scene.h"

#include "core/knowledge/region.h"
#include "evolution/reply/reply_items.h"

/* A diff where little changed, the whole where much did, a sentence where nothing did; sources too long to compare are shown. */
static void changes_are_shown_shortly(void **state)
{
    static struct scene s;
    size_t bytes = 200000, used[2] = {0, 0};
    char *texts[2] = {malloc(bytes + 100), malloc(bytes + 100)};
    for (size_t i = 0; i < 2; i++)
        while (used[i] < bytes)
            used[i] += (size_t)sprintf(texts[i] + used[i], "line %zu of %zu;\n", used[i] / (i ? 1 : 3), i);
    scene_init(&s);
    as_universal(&s);
    s.kernels[SIBLING].source = s.kernels[PARENT].source;
    assert_non_null(
        strstr(written(&s), "parent's speed; ~dram 79 %:\n\nThe same source, with other params.\n"));
    s.kernels[PARENT].source = texts[0];
    s.kernels[SIBLING].source = texts[1];
    s.input.user_limit_bytes = 100000;
    const char *text =
        strstr(written(&s), "# What was made from the parent, or from its own parent, already");
    assert_non_null(text);
    assert_non_null(strstr(text, "~dram 79 %:\n\n```c\nline 0 of 1;\n"));
    free(texts[0]);
    free(texts[1]);
    scene_fini(&s);
}

/* Of a large table the fastest and the slowest rows, and how many lie between; the same whatever order they came in. */
static void large_tables_are_cut(void **state)
{
    static struct scene s;
    static struct atoll_choice choices[100];
    static struct atoll_prompt_combination table[100];
    static char before[20000];
    for (unsigned turn = 0; turn < 2; turn++) {
        scene_init(&s);
        as_template(&s);
        for (size_t i = 0; i < 100; i++) {
            size_t k = turn ? 99 - i : i;
            choices[i] = (struct atoll_choice){.count = 3, .values = {16, 4, (int64_t)k}};
            table[i] =
                (struct atoll_prompt_combination){&choices[i], k < 80 ? 400000 + 1000.0 * (double)k : 0,
                                                  k < 80 ? ATOLL_V_CORRECT : ATOLL_V_COMPILE_ERROR};
        }
        s.input.table = table;
        s.input.combination_count = 100;
        const char *text =
            strstr(written(&s), "100 combinations of its params were measured: 80 correct, 20 failed. The "
                                "best time among them with each value");
        assert_non_null(text);
        assert_non_null(
            strstr(text, "| 16 | 4 | 15 | 415 us |\n| ... 60 between||| |\n| 16 | 4 | 76 | 476 us |\n"));
        assert_non_null(strstr(text, "AHEAD=91 (compile_error); and 8 more.\n"));
        if (turn)
            assert_string_equal(text, before);
        assert_true(strlen(text) < sizeof(before));
        strcpy(before, text);
        scene_fini(&s);
    }
}

/* Which values a template should try first: those of the fastest combination, not those that the parent happens to have. */
static void the_fastest_values_come_first(void **state)
{
    static const double times_ns[] = {416000, 0, 390000, 400000};
    static struct scene s;
    static struct atoll_choice choices[4];
    static struct atoll_prompt_combination table[4];
    for (size_t own = 0; own < 2; own++) {
        scene_init(&s);
        as_template(&s);
        for (size_t i = 0; i < 4; i++) {
            choices[i] = (struct atoll_choice){.count = 3, .values = {16, 4, (int64_t)i}};
            table[i] = (struct atoll_prompt_combination){&choices[i], times_ns[i],
                                                         i == 1 ? ATOLL_V_COMPILE_ERROR : ATOLL_V_CORRECT};
        }
        if (own)
            table[0].time_ns = 380000;
        s.input.table = table;
        s.input.combination_count = 4;
        const char *text = written(&s);
        assert_int_equal(strstr(text,
                                "measured with VW=16 U=4 AHEAD=0. The fastest of its combinations was VW=16 "
                                "U=4 AHEAD=2. A template of yours with these params should try the fastest "
                                "one's values first.\n") != NULL,
                         !own);
        assert_int_equal(strstr(text,
                                "measured with VW=16 U=4 AHEAD=0. A template of yours with these params "
                                "should try these values first.\n") != NULL,
                         own);
        scene_fini(&s);
    }
}

/* A table that was cut before it came says how many there are of all, and what is shown of them. */
static void counts_are_those_of_all(void **state)
{
    static const struct {
        size_t tried, correct;
        const char *counts, *more;
    } rows[] = {
        {6, 4, "6 combinations of its params were measured: 5 correct, 1 failed. The best time among them",
         NULL},
        {90, 60,
         "90 combinations of its params were measured: 60 correct, 30 failed. Shown are 6, the 5 fastest and "
         "1 "
         "that failed. The best time among those shown",
         "| ... 55 more, slower than the 5 first"},
        {3, 900, "6 combinations of its params were measured: 5 correct, 1 failed. The", NULL}, /* hostile */
    };
    static struct scene s;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scene_init(&s);
        as_template(&s);
        s.input.tried_count = rows[i].tried;
        s.input.correct_count = rows[i].correct;
        const char *text = written(&s);
        assert_non_null(strstr(text, rows[i].counts));
        assert_int_equal(strstr(text, "more, slower than") != NULL, rows[i].more != NULL);
        assert_int_equal(strstr(text, "; and 29 more.") != NULL, rows[i].more != NULL);
        assert_true(!rows[i].more || strstr(text, rows[i].more));
        scene_fini(&s);
    }
}

/* Where only the built-in plans, there is no text of a step, and nothing may speak of one. */
static void an_executor_without_a_step_is_a_writer(void **state)
{
    static struct scene s;
    scene_init(&s);
    as_execute(&s);
    s.input.step = NULL;
    const char *text = written(&s);
    assert_null(strstr(text, "step"));
    assert_non_null(strstr((const char *)s.prompt.system.data, "# Your part: writer"));
    s.input.plan = "Unroll.";
    text = written(&s);
    assert_non_null(strstr(text, "# Step to carry out"));
    assert_non_null(strstr((const char *)s.prompt.system.data, "# Your part: executor"));
    scene_fini(&s);
}

/* As many as an answer may hold, on all stages: each is told, and so is what follows. */
static void many_issues_are_told(void **state)
{
    static struct scene s;
    static struct atoll_reply_item items[ATOLL_REPLY_ITEM_LIMIT];
    scene_init(&s);
    as_order(&s);
    for (size_t i = 0; i < ATOLL_REPLY_ITEM_LIMIT; i++) {
        items[i] = s.items[1];
        items[i].stage = (uint8_t)(i % ATOLL_ISSUE_STAGE_COUNT);
    }
    s.input.issues = items;
    s.input.issue_count = ATOLL_REPLY_ITEM_LIMIT;
    const char *text = written(&s);
    size_t count = 0;
    for (const char *at = strstr(text, "a type of its own"); at; at = strstr(at + 1, "a type of its own"))
        count++;
    assert_int_equal(count, ATOLL_REPLY_ITEM_LIMIT);
    assert_int_equal(s.prompt.cut_bytes[ATOLL_PROMPT_ISSUES], 0);
    assert_non_null(
        strstr(text, "algorithm, discovery, dtype, fusion, memory, addressing, persistent, device, tuning."));
    scene_fini(&s);
}

/* Beside a proposal nobody says that there is none. */
static void a_proposal_is_what_nobody_else_named(void **state)
{
    static struct scene s;
    for (size_t count = 0; count < 2; count++) {
        scene_init(&s);
        as_refine(&s);
        s.ask.stage = ATOLL_ISSUE_STAGE_DISCOVERY;
        s.ask.issues = UINT64_C(1) << ATOLL_ISSUE_OPEN_ENDED;
        s.input.issues = &s.items[2];
        s.input.issue_count = count;
        const char *text = written(&s);
        assert_int_equal(strstr(text, "- A proposal") != NULL, count);
        assert_int_equal(strstr(text, "nobody named one: look for it yourself") != NULL, !count);
        scene_fini(&s);
    }
}

/* Who analyses has counters by what they speak of, a planner all in no order; whatever is counted is told. */
static void counters_are_in_groups(void **state)
{
    static struct scene s;
    static const char *const titles[] = {"\nCounters of memory: dram_throughput ",
                                         "\nCounters of computing: sm_throughput ",
                                         "\nCounters of waiting: occupancy "};
    for (unsigned is_plan = 0; is_plan < 2; is_plan++) {
        scene_init(&s);
        as_plan(&s); /* with all that can be counted */
        if (!is_plan)
            as_analyse(&s);
        s.evaluations[PARENT].profile.resources.kernel_count = 2;
        s.evaluations[PARENT].profile.resources.spill_store_bytes = is_plan;
        s.evaluations[PARENT].profile.resources.spill_load_bytes = 0;
        const char *text = written(&s), *before = text;
        for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
            const char *at = strstr(before, titles[i]);
            if ((at != NULL) == is_plan)
                fail_msg("%s%s", titles[i], at ? "stands before a planner" : "is not there");
            before = at ? at : before;
        }
        for (unsigned i = 0; i < ATOLL_COUNTER_COUNT; i++)
            if (i != ATOLL_COUNTER_TIME_NS && !strstr(text, atoll_counter_name((enum atoll_counter)i)))
                fail_msg("%s is not told", atoll_counter_name((enum atoll_counter)i));
        assert_int_equal(strstr(text, "of all launches together") != NULL, !is_plan);
        assert_int_equal(strstr(text, "bytes of stack (local memory without a spill") != NULL, !is_plan);
        scene_fini(&s);
    }
}

/* The severest of what an analyser found, and how many others there are; of a kernel with other params it says so. */
static void a_report_is_short(void **state)
{
    static struct scene s;
    static struct atoll_reply_item items[ATOLL_REPLY_ITEM_LIMIT];
    scene_init(&s);
    as_universal(&s);
    for (size_t i = 0; i < ATOLL_REPLY_ITEM_LIMIT; i++) {
        items[i] = s.items[1];
        items[i].severity = (uint8_t)(1 + i % 5);
        items[i].text = i % 5 == 4 ? "It is severe." : "It is none.";
    }
    s.input.issues = items;
    s.input.issue_count = ATOLL_REPLY_ITEM_LIMIT;
    const char *text = written(&s);
    size_t count = 0;
    for (const char *at = strstr(text, "It is severe."); at; at = strstr(at + 1, "It is severe."))
        count++;
    assert_int_equal(count, 8);
    assert_null(strstr(text, "It is none."));
    assert_non_null(strstr(text, "\n56 more, of less weight.\n"));
    assert_non_null(strstr(text, "has read the parent, its verdict"));
    s.input.has_other_params = 1;
    assert_non_null(strstr(written(&s), "has read the parent, with other values of its params, its verdict"));
    s.input.issue_count = 0;
    assert_null(strstr(written(&s), "What was found in the parent"));
    scene_fini(&s);
}

/* Shapes, examples and names of the system texts are those that the readers take. */
static void system_texts_name_what_is_read(void **state)
{
    static struct scene s;
    scene_init(&s);
    as_analyse(&s);
    written(&s);
    for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++)
        if (atoll_issues_of_language(s.input.language) >> i & 1)
            assert_non_null(
                strstr((const char *)s.prompt.system.data, atoll_issue_row((enum atoll_issue)i)->meaning));
    scene_fini(&s);
    scene_init(&s);
    as_distil(&s);
    written(&s);
    assert_non_null(strstr((const char *)s.prompt.system.data, "\n- limiter bank_conflicts\n"));
    assert_non_null(strstr((const char *)s.prompt.system.data, "\n- error tail\n"));
    scene_fini(&s);
}

/* The worked example of each part is what its reader takes, with every text of its items. */
static void examples_are_read(void **state)
{
    static const struct {
        const char *part;
        enum atoll_ask_kind kind;
        uint32_t items, order;
        const char *title; /* of the first item */
    } rows[] = {
        {"part/planner.md", ATOLL_ASK_PLAN, 1, 0, "Load the next tile of B while this one is used"},
        {"part/analyser.md", ATOLL_ASK_ANALYSE, 2, 0, "missing_prefetch"},
        {"part/order.md", ATOLL_ASK_ORDER, 0, 3, NULL},
        {"part/summarizer.md", ATOLL_ASK_SUMMARISE, 1, 0,
         "Keep a row in registers between two passes over it"},
        {"part/distiller.md", ATOLL_ASK_DISTIL, 1, 0, "stall short_scoreboard"},
        {"part/judge.md", ATOLL_ASK_JUDGE, 1, 0, ""},
        {"part/prompter.md", ATOLL_ASK_META, 1, 0, "pitfalls"},
    };
    struct atoll_arena *arena = atoll_arena_create((size_t)1 << 20, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        static struct atoll_reply reply;
        struct atoll_err err = ATOLL_ERR_INIT;
        const char *text = source_text(rows[i].part);
        int is_usable = 0;
        assert_non_null(text);
        if (atoll_reply_read_items(rows[i].kind, text, strlen(text), arena, &reply, &is_usable, &err))
            fail_msg("%s", err.text);
        assert_int_equal(is_usable, 1);
        assert_int_equal(reply.item_count, rows[i].items);
        assert_int_equal(reply.order_count, rows[i].order);
        for (uint32_t k = 0; k < reply.item_count && rows[i].kind != ATOLL_ASK_META; k++) {
            int is_judgement = rows[i].kind == ATOLL_ASK_JUDGE;
            assert_true((reply.items[k].title[0] || is_judgement) && reply.items[k].text[0]);
            assert_true(reply.items[k].gain_high > 1 || rows[i].kind == ATOLL_ASK_SUMMARISE || is_judgement);
        }
        if (rows[i].title)
            assert_string_equal(reply.items[0].title, rows[i].title);
        if (rows[i].kind == ATOLL_ASK_META) { /* and its edit fits what it speaks of */
            struct atoll_buffer out;
            atoll_buffer_init(&out, 1u << 16);
            assert_int_equal(atoll_regions_apply(source_text("c.md"), reply.items, 1, &out, NULL, NULL), 1);
            assert_true(reply.items[0].why[0]);
            atoll_buffer_fini(&out);
        }
    }
    atoll_arena_destroy(arena);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_shown_shortly),
        cmocka_unit_test(large_tables_are_cut),
        cmocka_unit_test(the_fastest_values_come_first),
        cmocka_unit_test(counts_are_those_of_all),
        cmocka_unit_test(an_executor_without_a_step_is_a_writer),
        cmocka_unit_test(many_issues_are_told),
        cmocka_unit_test(system_texts_name_what_is_read),
        cmocka_unit_test(examples_are_read),
        cmocka_unit_test(a_report_is_short),
        cmocka_unit_test(a_proposal_is_what_nobody_else_named),
        cmocka_unit_test(counters_are_in_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

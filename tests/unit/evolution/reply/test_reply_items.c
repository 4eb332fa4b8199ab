#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/issue.h"
#include "evolution/reply/reply_items.h"
#include "evolution/reply/reply_prose.h"

/* What is read, in one line: kind:title:text:why:before:after:stage:severity:gain, orders as names. */
struct items_case {
    const char *name;
    enum atoll_ask_kind kind;
    const char *answer, *read; /* "": nothing usable, "none": it says that there is nothing */
};

#define FENCE(text) "I looked at it.\n\n```json\n" text "\n```\nThat is all.\n"
#define ONE         "{\"plans\": [{\"title\": \"T\", \"step\": \"S\", \"why\": \"W\", \"gain\": [1.1, 1.4]}]}"
#define ONE_READ    "plan:T:S:W:::0:0:1.1-1.4;"

static const struct items_case cases[] = {
    /* where it stands */
    {"in a fence", ATOLL_ASK_PLAN, FENCE(ONE), ONE_READ},
    {"in a fence without a word", ATOLL_ASK_PLAN, "```\n" ONE "\n```", ONE_READ},
    {"in prose", ATOLL_ASK_PLAN, "My {plan} for [it]: " ONE " I hope it helps.", ONE_READ},
    {"behind a thought", ATOLL_ASK_PLAN,
     "<think>\n```json\n{\"plans\": [{\"step\": \"no\"}]}\n</think>\n" ONE, ONE_READ},
    {"the last that fits", ATOLL_ASK_PLAN, FENCE("{\"step\": \"draft\"}") FENCE(ONE) FENCE("{\"a\": 1}"),
     ONE_READ},
    {"a fence around code in it", ATOLL_ASK_PLAN,
     "```json\n{\"plans\": [{\"step\": \"S\", \"where\": \"\n```c\na;\n```\n\"}]}\n```",
     "plan::S::```c\na;\n```::0:0:0-0;"},
    {"behind code", ATOLL_ASK_PLAN, FENCE(ONE) "```c\nint a[] = {1, 2};\n```\n", ONE_READ},
    /* how it is written */
    {"commas too many", ATOLL_ASK_PLAN, "{\"plans\": [{\"step\": \"S\",\n}, ] , }", "plan::S::::0:0:0-0;"},
    {"comments", ATOLL_ASK_PLAN, "{ // one\n\"plans\": [{\"step\": \"S\"} /* { */]}", "plan::S::::0:0:0-0;"},
    {"line ends and tabs in a string", ATOLL_ASK_PLAN, "{\"step\": \"a\n\tb\"}", "plan::a\n\tb::::0:0:0-0;"},
    {"escapes of no kind", ATOLL_ASK_PLAN, "{\"step\": \"a\\d \\u12 \\ud800 \\u0000 \\u001b\"}",
     "plan::a\\d \\u12 ? ? ?::::0:0:0-0;"},
    {"quotes in a string", ATOLL_ASK_PLAN, "{\"step\": \"use \"float4\" here\"}",
     "plan::use \"float4\" here::::0:0:0-0;"},
    {"broken off", ATOLL_ASK_ANALYSE,
     "```json\n{\"issues\": [{\"type\": \"tile_size\", \"fix\": \"F\"}, {\"type\": \"no_sw",
     "issue:tile_size::::F:device:0:0-0;"},
    {"broken off too early", ATOLL_ASK_PLAN, "{\"plans\": [{\"step\": \"S", ""},
    {"brackets that do not fit", ATOLL_ASK_PLAN, "{\"plans\": [{\"step\": \"S\"]}}", ""},
    {"too deep", ATOLL_ASK_PLAN, "[[[[[[[[[[[[[[[[[{\"step\": \"S\"}]]]]]]]]]]]]]]]]]",
     "plan::S::::0:0:0-0;"},
    /* plans */
    {"an array", ATOLL_ASK_PLAN, "[{\"step\": \"A\"}, {\"step\": \"B\"}, {\"step\": \"A\"}]",
     "plan::A::::0:0:0-0;plan::B::::0:0:0-0;"},
    {"one object", ATOLL_ASK_PLAN, "{\"plan\": {\"step\": \"A\"}}", "plan::A::::0:0:0-0;"},
    {"a step by its other name", ATOLL_ASK_PLAN, "{\"plan\": \"A\", \"reason\": \"B\"}",
     "plan::A:B:::0:0:0-0;"},
    {"lines as an array", ATOLL_ASK_PLAN, "{\"step\": [\"A\", \"B\", 3]}", "plan::A\nB::::0:0:0-0;"},
    {"a gain in words", ATOLL_ASK_PLAN, "{\"step\": \"A\", \"gain\": \"10-30 %\"}",
     "plan::A::::0:0:1.1-1.3;"},
    {"a gain as a number", ATOLL_ASK_PLAN, "{\"step\": \"A\", \"gain\": 1.5}", "plan::A::::0:0:1.5-1.5;"},
    {"gains the wrong way round", ATOLL_ASK_PLAN, "{\"step\": \"A\", \"gain\": [2, 1.5]}",
     "plan::A::::0:0:1.5-2;"},
    {"no gain that is one", ATOLL_ASK_PLAN, "{\"step\": \"A\", \"gain\": [-1, 1e99]}", "plan::A::::0:0:0-0;"},
    {"no step", ATOLL_ASK_PLAN, "{\"plans\": [{\"title\": \"A\"}, 3, null]}", ""},
    {"no JSON", ATOLL_ASK_PLAN, "I would tile it.", ""},
    {"nothing", ATOLL_ASK_PLAN, "", ""},
    /* edits */
    {"an edit", ATOLL_ASK_META,
     FENCE("{\"edits\": [{\"region\": \"Pitfalls\", \"search\": \"- a\\n- b\", \"replace\": \"- c\", "
           "\"why\": \"W\"}]}"),
     "edit:pitfalls::W:- a\n- b:- c:0:0:0-0;"},
    {"an edit that appends, other names", ATOLL_ASK_META,
     "{\"region\": \"analysis\", \"after\": \"- c\", \"reason\": \"W\"}", "edit:analysis::W::- c:0:0:0-0;"},
    {"an edit that deletes", ATOLL_ASK_META,
     "[{\"region\": \"strategies\", \"search\": [\"- a\", \"- b\"], \"replace\": \"\"}]",
     "edit:strategies:::- a\n- b::0:0:0-0;"},
    {"no edits", ATOLL_ASK_META, "{\"edits\": []}", "none"},
    {"an edit of nothing", ATOLL_ASK_META, "{\"edits\": [{\"region\": \"analysis\"}]}", ""},
    {"an edit of nowhere", ATOLL_ASK_META, "{\"edits\": [{\"search\": \"a\", \"replace\": \"b\"}]}", ""},
    /* judgements */
    {"a judgement", ATOLL_ASK_JUDGE, FENCE("{\"judgement\": {\"likelihood\": 0.9, \"reason\": \"R\"}}"),
     "judgement::R::::0:0:0.9-0.9;"},
    {"a judgement of zero", ATOLL_ASK_JUDGE, "{\"judgement\": {\"likelihood\": 0}}",
     "judgement::::::0:0:0-0;"},
    {"certainty", ATOLL_ASK_JUDGE, "{\"judgement\": {\"likelihood\": 1}}", "judgement::::::0:0:1-1;"},
    {"in percent", ATOLL_ASK_JUDGE, "{\"likelihood\": 85, \"why\": \"R\"}", "judgement::R::::0:0:0.85-0.85;"},
    {"in percent, as a text", ATOLL_ASK_JUDGE, "{\"judgment\": {\"probability\": \"1 %\"}}",
     "judgement::::::0:0:0.01-0.01;"},
    {"the last document, its first judgement", ATOLL_ASK_JUDGE,
     FENCE("{\"judgement\": {\"likelihood\": 0.1}}") FENCE("[{\"likelihood\": 0.7}, {\"likelihood\": 0.2}]"),
     "judgement::::::0:0:0.7-0.7;"},
    {"no likelihood", ATOLL_ASK_JUDGE, "{\"judgement\": {\"likelihood\": \"high\", \"reason\": \"R\"}}", ""},
    {"a likelihood of nothing", ATOLL_ASK_JUDGE, "{\"judgement\": {\"likelihood\": -0.2}}", ""},
    {"beyond certainty", ATOLL_ASK_JUDGE, "{\"judgement\": {\"likelihood\": 1000}}", ""},
    /* issues */
    {"issues and proposals", ATOLL_ASK_ANALYSE,
     FENCE("{\"issues\": [{\"type\": \"Missing Tiles\", \"severity\": 4, \"description\": \"D\", \"fix\": "
           "\"F\", \"gain\": [1.2, 2]}],"
           " \"proposals\": [{\"title\": \"T\", \"change\": \"C\", \"valid\": \"V\", \"before\": \"B\", "
           "\"after\": \"A\", \"gain\": 3}]}"),
     "issue:missing_tiles:D:::F:memory:4:1.2-2;proposal:T:C:V:B:A:discovery:0:3-3;"},
    {"a type of its own", ATOLL_ASK_ANALYSE,
     "{\"issues\": [{\"type\": \"L2 set conflicts!\", \"stage\": \"memory\", \"severity\": \"9\", "
     "\"description\": \"D\"}]}",
     "issue:l2_set_conflicts:D::::memory:5:0-0;"},
    {"an own type without a stage", ATOLL_ASK_ANALYSE,
     "[{\"type\": \"odd\", \"stage\": \"nowhere\", \"description\": \"D\"}]",
     "issue:odd:D::::discovery:0:0-0;"},
    {"a known type's stage stays", ATOLL_ASK_ANALYSE, "[{\"type\": \"tile_size\", \"stage\": \"memory\"}]",
     "issue:tile_size:::::device:0:0-0;"},
    {"no issues", ATOLL_ASK_ANALYSE, "{\"issues\": []}", "none"},
    {"issues without types", ATOLL_ASK_ANALYSE, "{\"found\": [{\"description\": \"D\"}]}", ""},
    /* orders */
    {"an order", ATOLL_ASK_ORDER,
     FENCE("{\"order\": [\"memory\", \"Device\", \"nowhere\", \"memory\"], \"why\": \"W\"}"),
     "memory device "},
    {"an array of stages", ATOLL_ASK_ORDER, "[\"fusion\", {\"stage\": \"dtype\"}]", "fusion dtype "},
    {"by its other name", ATOLL_ASK_ORDER, "{\"stages\": [\"tuning\"]}", "tuning "},
    {"no stage", ATOLL_ASK_ORDER, "{\"order\": [\"speed\"]}", ""},
    /* rewrites */
    {"a rewrite", ATOLL_ASK_SUMMARISE,
     FENCE(
         "{\"rewrite\": {\"title\": \"T\", \"text\": \"X\", \"before\": [\"a\", \"b\"], \"after\": \"c\"}}"),
     "rewrite:T:X::a\nb:c:0:0:0-0;"},
    {"no rewrite", ATOLL_ASK_SUMMARISE, "{\"rewrite\": null}", "none"},
    {"the papers' words", ATOLL_ASK_SUMMARISE, "**No optimization found**.", "none"},
    {"nothing of a rewrite", ATOLL_ASK_SUMMARISE, "It is faster now.", ""},
    /* hints */
    {"hints", ATOLL_ASK_DISTIL,
     FENCE("{\"hints\": [{\"trigger\": \"DRAM\", \"context\": \"C\", \"advice\": \"A\"},"
           " {\"trigger\": \"my mood\", \"advice\": \"B\"}, {\"trigger\": \"Stall: long scoreboard\", "
           "\"advice\": \"E\"}]}"),
     "hint:limiter dram:A:C:::0:0:0-0;hint:stall long_scoreboard:E::::0:0:0-0;"},
    {"a trigger with a blank", ATOLL_ASK_DISTIL,
     "[{\"trigger\": \"occupancy shared memory\", \"advice\": \"A\"}]",
     "hint:occupancy shared memory:A::::0:0:0-0;"},
    {"no hints", ATOLL_ASK_DISTIL, "{\"hints\": []}", "none"},
    {"no trigger", ATOLL_ASK_DISTIL, "{\"hints\": [{\"trigger\": \"x\", \"advice\": \"B\"}]}", ""},
};

static void render(const struct atoll_reply *reply, int is_usable, char *out, size_t bytes)
{
    static const char *const kinds[] = {"plan", "issue", "proposal", "rewrite", "hint", "edit", "judgement"};
    size_t used = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < reply->item_count; i++) {
        const struct atoll_reply_item *item = &reply->items[i];
        int staged = item->kind == ATOLL_ITEM_ISSUE || item->kind == ATOLL_ITEM_PROPOSAL;
        used +=
            (size_t)snprintf(out + used, bytes - used, "%s:%s:%s:%s:%s:%s:%s:%u:%g-%g;", kinds[item->kind],
                             item->title, item->text, item->why, item->before, item->after,
                             staged ? atoll_stage_name((enum atoll_issue_stage)item->stage) : "0",
                             item->severity, item->gain_low, item->gain_high);
    }
    for (uint32_t i = 0; i < reply->order_count; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s ",
                                 atoll_stage_name((enum atoll_issue_stage)reply->order[i]));
    if (!used && is_usable)
        snprintf(out, bytes, "none");
}

static struct atoll_arena *arena;

static void read_answer(enum atoll_ask_kind kind, const char *answer, size_t length,
                        struct atoll_reply *reply, int *is_usable)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    *reply = (struct atoll_reply){0};
    if (atoll_reply_read_items(kind, answer, length, arena, reply, is_usable, &err))
        fail_msg("%s", err.text);
}

static void answers_are_read(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static struct atoll_reply reply;
        char text[8192];
        int is_usable;
        read_answer(cases[i].kind, cases[i].answer, strlen(cases[i].answer), &reply, &is_usable);
        render(&reply, is_usable, text, sizeof(text));
        if (strcmp(text, cases[i].read) != 0)
            fail_msg("%s: read '%s', not '%s'", cases[i].name, text, cases[i].read);
        assert_int_equal(is_usable, cases[i].read[0] != 0);
    }
}

/* Every type that there is, and a mask and a count that follow from the items. */
static void every_type_is_known(void **state)
{
    static struct atoll_reply reply;
    char *text = calloc(1, 20000);
    int is_usable;
    size_t used = (size_t)sprintf(text, "{\"issues\": [");
    for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++)
        used +=
            (size_t)sprintf(text + used, "{\"type\": \"%s\"},", atoll_issue_row((enum atoll_issue)i)->name);
    sprintf(text + used, "]}");
    read_answer(ATOLL_ASK_ANALYSE, text, strlen(text), &reply, &is_usable);
    assert_int_equal(reply.item_count, ATOLL_ISSUE_COUNT);
    assert_true(reply.issues == (UINT64_C(1) << ATOLL_ISSUE_COUNT) - 1);
    read_answer(ATOLL_ASK_PLAN, ONE, strlen(ONE), &reply, &is_usable);
    assert_int_equal(reply.plan_count, 1);
    free(text);
}

static void texts_and_counts_are_bounded(void **state)
{
    static struct atoll_reply reply;
    size_t bytes = (size_t)6 << 20, used;
    char *text = malloc(bytes);
    int is_usable;
    assert_non_null(text);
    used = (size_t)sprintf(text, "{\"plans\": [{\"title\": \"");
    memset(text + used, 'a', 1000);
    used += 1000;
    used += (size_t)sprintf(text + used, "\", \"step\": \"");
    for (size_t i = 0; i < 5000; i++, used += 2)
        memcpy(text + used, "\xc3\xa9", 2);
    sprintf(text + used, "\"}]}");
    read_answer(ATOLL_ASK_PLAN, text, strlen(text), &reply, &is_usable);
    assert_int_equal(reply.item_count, 1);
    assert_int_equal(strlen(reply.items[0].title), ATOLL_REPLY_TITLE_BYTES);
    assert_in_range(strlen(reply.items[0].text), ATOLL_REPLY_ITEM_TEXT_BYTES - 1,
                    ATOLL_REPLY_ITEM_TEXT_BYTES);
    used = (size_t)sprintf(text, "[");
    for (size_t i = 0; i < 200; i++)
        used += (size_t)sprintf(text + used, "{\"step\": \"%zu\"},", i);
    sprintf(text + used, "]");
    read_answer(ATOLL_ASK_PLAN, text, strlen(text), &reply, &is_usable);
    assert_int_equal(reply.item_count, ATOLL_REPLY_ITEM_LIMIT);
    assert_string_equal(reply.items[0].text, "0");
    for (size_t i = 0; i < bytes; i++) /* brackets without end, in many places */
        text[i] = "{\"a\": [[[\""[i % 10];
    read_answer(ATOLL_ASK_PLAN, text, bytes, &reply, &is_usable);
    assert_int_equal(is_usable, 0);
    free(text);
}

static void only_items_are_touched(void **state)
{
    static struct atoll_reply reply;
    struct atoll_err err = ATOLL_ERR_INIT;
    int is_usable = 7;
    reply = (struct atoll_reply){.ask = 5, .source_count = 2, .tokens = 9, .origin = "x"};
    assert_int_equal(atoll_reply_read_items(ATOLL_ASK_WRITE, "", 0, arena, &reply, &is_usable, &err), -1);
    expect_err(&err, ATOLL_E_INTERNAL, "an answer to 'write' has no items");
    assert_int_equal(is_usable, 7);
    assert_int_equal(
        atoll_reply_read_items(ATOLL_ASK_PLAN, ONE, strlen(ONE), arena, &reply, &is_usable, &err), 0);
    assert_int_equal(reply.ask, 5);
    assert_int_equal(reply.source_count, 2);
    assert_int_equal(reply.tokens, 9);
    assert_string_equal(reply.origin, "x");
}

/* What a refine loop tells again. */
static void prose_is_what_is_no_code(void **state)
{
    static const struct {
        const char *answer, *prose;
    } rows[] = {
        {"I tile it.\n\n\n\n```c\nint a;\n```\nIt fits.\n", "I tile it.\n\nIt fits."},
        {"<think>\nno\n</think>\n  Yes.  \n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\nDone.",
         "Yes.\nDone."},
        {"```c\nint a;\n```\n", ""},
        {"", ""},
        {"```c\nint a;", ""},
        {"caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9", "caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *prose = atoll_reply_prose(rows[i].answer, strlen(rows[i].answer), 22, arena, NULL);
        assert_non_null(prose);
        assert_string_equal(prose, rows[i].prose);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_read),
        cmocka_unit_test(every_type_is_known),
        cmocka_unit_test(texts_and_counts_are_bounded),
        cmocka_unit_test(only_items_are_touched),
        cmocka_unit_test(prose_is_what_is_no_code),
    };
    arena = atoll_arena_create((size_t)64 << 20, NULL);
    int failed = arena ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    atoll_arena_destroy(arena);
    return failed;
}

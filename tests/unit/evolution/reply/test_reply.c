#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/plan/plan.h"
#include "evolution/reply/reply.h"

#define PLAN                                                                                                 \
    "/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": [\"x\", " \
    "\"y\", \"i64:N\"]}]} */\n"
#define JSON                                                                                                 \
    "{\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": [\"x\", \"y\", "        \
    "\"i64:N\"]}]}"
#define BODY(text)                                                                                           \
    "#include <math.h>\n\nvoid f(long begin, long end, const float *x, float *y, int64_t n)\n{\n"            \
    "    for (long i = begin; i < end; i++) {\n        y[i] = " text ";\n    }\n}\n"
#define SOURCE(text) PLAN BODY(text)

static const char parent[] = SOURCE("x[i]");

enum { PARENT = 1, MANY = 2 }; /* flags: there is a parent; up to three kernels are wanted */

struct reply_case {
    const char *name, *answer;
    int flags;
    const char *sources[4]; /* what is read; none: the complaint */
    const char *complaint;
};

#define EDIT(search, replace) "<<<<<<< SEARCH\n" search "=======\n" replace ">>>>>>> REPLACE\n"
#define LINE(text)            "        y[i] = " text ";\n"

static const struct reply_case cases[] = {
    /* whole sources */
    {"one block", "```c\n" SOURCE("2") "```\n", 0, {SOURCE("2")}, NULL},
    {"prose around it",
     "I tile it.\n\n```c\n" SOURCE("2") "```\nIt will be `fast`.\n",
     0,
     {SOURCE("2")},
     NULL},
    {"no info word", "```\n" SOURCE("2") "```", 0, {SOURCE("2")}, NULL},
    {"tildes", "~~~c\n" SOURCE("2") "~~~\n", 0, {SOURCE("2")}, NULL},
    {"longer fence", "````c\n" SOURCE("2") "````\n", 0, {SOURCE("2")}, NULL},
    {"indented fence", "1. This:\n   ```c\n" SOURCE("2") "   ```\n", 0, {SOURCE("2")}, NULL},
    {"no fence at all", SOURCE("2"), 0, {SOURCE("2")}, NULL},
    {"no fence, prose around it", "Here it is.\n\n" SOURCE("2") "\nIt is fast.\n", 0, {SOURCE("2")}, NULL},
    {"unclosed fence", "```c\n" SOURCE("2"), 0, {SOURCE("2")}, NULL},
    {"closed by another info word",
     "```c\n" SOURCE("2") "```c\n" SOURCE("3") "```\n",
     MANY,
     {SOURCE("2"), SOURCE("3")},
     NULL},
    {"a fence in a fence of markdown",
     "```markdown\nMy kernel:\n```c\n" SOURCE("2") "```\n```\n",
     0,
     {SOURCE("2")},
     NULL},
    {"a fence in a longer fence", "````markdown\n```c\n" SOURCE("2") "```\n````\n", 0, {SOURCE("2")}, NULL},
    {"ends of lines of DOS",
     "```c\r\n/* atoll-plan {} */\r\nvoid f(void);\r\n```\r\n",
     0,
     {"/* atoll-plan {} */\nvoid f(void);\n"},
     NULL},
    {"ends of lines of old",
     "```c\r/* atoll-plan {} */\rvoid f(void);\r```\r",
     0,
     {"/* atoll-plan {} */\nvoid f(void);\n"},
     NULL},
    {"byte order mark", "\xef\xbb\xbf```c\n" SOURCE("2") "```\n", 0, {SOURCE("2")}, NULL},
    {"broken UTF-8", "```c\n" PLAN "/* \xff\xc3 */\n```\n", 0, {PLAN "/* ?? */\n"}, NULL},
    {"good UTF-8", "```c\n" PLAN "/* \xc3\xa9 */\n```\n", 0, {PLAN "/* \xc3\xa9 */\n"}, NULL},
    {"something in front of the plan",
     "```c\n// fast\n#include <math.h>\n" PLAN "int a;\n```\n",
     0,
     {"/* atoll-plan {\"version\": 1, \"launch\": [{\"function\": \"f\", \"units\": \"N\", \"args\": [\"x\", "
      "\"y\", "
      "\"i64:N\"]}]} */\n// fast\n#include <math.h>\nint a;\n"},
     NULL},
    /* plan and source apart */
    {"plan as JSON before", "```json\n" JSON "\n```\n```c\n" BODY("2") "```\n", 0, {SOURCE("2")}, NULL},
    {"plan as JSON behind", "```c\n" BODY("2") "```\nand\n```json\n" JSON "\n```\n", 0, {SOURCE("2")}, NULL},
    {"plan as a comment in a fence of its own",
     "```json\n" PLAN "```\n```c\n" BODY("2") "```\n",
     0,
     {SOURCE("2")},
     NULL},
    {"plan with its word in a fence of its own",
     "```\natoll-plan " JSON "\n```\n```c\n" BODY("2") "```\n",
     0,
     {SOURCE("2")},
     NULL},
    {"plan as a comment in prose", PLAN "\n```c\n" BODY("2") "```\n", 0, {SOURCE("2")}, NULL},
    {"the parent's plan fits", "```c\n" BODY("2") "```\n", PARENT, {SOURCE("2")}, NULL},
    {"the parent's plan fits code without fences", "So:\n" BODY("2"), PARENT, {SOURCE("2")}, NULL},
    {"the parent's plan does not fit: types",
     "```c\nvoid f(long b, long e, const double *x, float *y, int64_t n)\n{\n    y[b] = 1;\n}\n```\n",
     PARENT,
     {NULL},
     "a kernel has no plan, and the parent's does not fit it"},
    {"the parent's plan does not fit: number",
     "```c\nvoid f(long b, long e, float *y)\n{\n    y[b] = 1;\n}\n```\n",
     PARENT,
     {NULL},
     "a kernel has no plan, and the parent's does not fit it"},
    {"no plan, no parent",
     "```c\n" BODY("2") "```\n",
     0,
     {NULL},
     "a kernel has no plan; put its comment in front"},
    /* several */
    {"two blocks, one wanted: the last",
     "```c\n" SOURCE("2") "```\nBetter:\n```c\n" SOURCE("3") "```\n",
     0,
     {SOURCE("3")},
     NULL},
    {"two blocks, three wanted",
     "```c\n" SOURCE("2") "```\nAnd:\n```c\n" SOURCE("3") "```\n",
     MANY,
     {SOURCE("2"), SOURCE("3")},
     NULL},
    {"four blocks, three wanted: the last three",
     "```c\n" SOURCE("2") "```\n```c\n" SOURCE("3") "```\n```c\n" SOURCE("4") "```\n```c\n" SOURCE(
         "5") "```\n",
     MANY,
     {SOURCE("3"), SOURCE("4"), SOURCE("5")},
     NULL},
    {"equal ones once", "```c\n" SOURCE("2") "```\n```c\n" SOURCE("2") "\n```\n", MANY, {SOURCE("2")}, NULL},
    {"the last is cut off",
     "```c\n" SOURCE("2") "```\n```c\n" PLAN "void f(void)\n{\n    if (",
     0,
     {SOURCE("2")},
     NULL},
    {"under headings, edits and whole",
     "### Kernel 1\n" EDIT(LINE("x[i]"), LINE("2")) "### Kernel 2: whole\n```c\n" SOURCE(
         "3") "```\n**Kernel 3**\n" EDIT(LINE("x[i]"), LINE("4")),
     PARENT | MANY,
     {SOURCE("2"), SOURCE("3"), SOURCE("4")},
     NULL},
    {"a block of something else",
     "```bash\nmake {a;b;}(c)\n```\n```c\n" SOURCE("2") "```\n```text\n(a {b};)\n```\n",
     PARENT,
     {SOURCE("2")},
     NULL},
    {"a snippet beside the whole",
     "The loop\n```c\nfor (;;) { y[i] = (2); }\n```\nin\n```c\n" SOURCE("2") "```\n",
     PARENT,
     {SOURCE("2")},
     NULL},
    /* thoughts */
    {"a thought",
     "<think>\n```c\n" SOURCE("9") "```\n</think>\n```c\n" SOURCE("2") "```\n",
     MANY,
     {SOURCE("2")},
     NULL},
    {"a thought whose beginning is missing",
     "```c\n" SOURCE("9") "```\n</think>\n```c\n" SOURCE("2") "```\n",
     MANY,
     {SOURCE("2")},
     NULL},
    {"a thought that never ends", "<think>\n```c\n" SOURCE("9") "```\n", MANY, {NULL}, "the answer is empty"},
    {"no thought inside of a line",
     "```c\n" PLAN "/* see <think> */\n```\n",
     0,
     {PLAN "/* see <think> */\n"},
     NULL},
    /* edits */
    {"an edit", EDIT(LINE("x[i]"), LINE("2")), PARENT, {SOURCE("2")}, NULL},
    {"an edit in a fence", "```c\n" EDIT(LINE("x[i]"), LINE("2")) "```\n", PARENT, {SOURCE("2")}, NULL},
    {"an edit with fences inside",
     "<<<<<<< SEARCH\n```c\n" LINE("x[i]") "```\n=======\n```c\n" LINE("2") "```\n>>>>>>> REPLACE\n",
     PARENT,
     {SOURCE("2")},
     NULL},
    {"five signs, blanks, small letters",
     "  <<<<< search\n" LINE("x[i]") "  =====\n" LINE("2") "  >>>>> replace\n",
     PARENT,
     {SOURCE("2")},
     NULL},
    {"nine signs, no last word",
     "<<<<<<<<< SEARCH\n" LINE("x[i]") "=========\n" LINE("2") ">>>>>>>>>\n",
     PARENT,
     {SOURCE("2")},
     NULL},
    {"edits in order",
     EDIT(LINE("x[i]"), LINE("2")) "then\n" EDIT(LINE("2"), LINE("3")),
     PARENT,
     {SOURCE("3")},
     NULL},
    {"blanks at ends of lines", EDIT("        y[i] = x[i];  \t\n", LINE("2")), PARENT, {SOURCE("2")}, NULL},
    {"other indentation", EDIT("y[i] = x[i];\n", "y[i] = 2;\n"), PARENT, {SOURCE("2")}, NULL},
    {"more indentation",
     EDIT("            y[i] = x[i];\n        }\n", "            y[i] = 2;\n        }\n"),
     PARENT,
     {SOURCE("2")},
     NULL},
    {"blank lines around", EDIT("\ny[i] = x[i];\n\n", "y[i] = 2;\n"), PARENT, {SOURCE("2")}, NULL},
    {"inside of a line", EDIT("= x[i]\n", "= 2\n"), PARENT, {SOURCE("2")}, NULL},
    {"an edit that takes lines away",
     EDIT("#include <math.h>\n\n", ""),
     PARENT,
     {PLAN "void f(long begin, long end, const float *x, float *y, int64_t n)\n{\n    for (long i = begin; i "
           "< end; i++) {\n"
           "        y[i] = x[i];\n    }\n}\n"},
     NULL},
    {"an edit of the plan",
     EDIT(PLAN, "/* atoll-plan {\"version\": 2} */\n"),
     PARENT,
     {"/* atoll-plan {\"version\": 2} */\n" BODY("x[i]")},
     NULL},
    {"edits and a plan",
     EDIT(LINE("x[i]"), LINE("2")) "```json\n{\"launch\": 3}\n```\n",
     PARENT,
     {"/* atoll-plan {\"launch\": 3} */\n" BODY("2")},
     NULL},
    {"an edit that fits nothing",
     EDIT(LINE("x[i]"), LINE("2")) EDIT(LINE("z[i]"), LINE("2")),
     PARENT,
     {NULL},
     "edit 2: its SEARCH text is not in the kernel; copy its lines exactly"},
    {"an edit that fits twice",
     EDIT("    }\n", "") EDIT("long\n", "int\n"),
     PARENT,
     {NULL},
     "edit 2: its SEARCH text is in the kernel more than once; add lines around it"},
    {"an empty search",
     EDIT("", LINE("2")),
     PARENT,
     {NULL},
     "edit 1: its SEARCH text is empty; give the lines that are replaced"},
    {"an edit that is cut off",
     "<<<<<<< SEARCH\n" LINE("x[i]") "=======\n" LINE("2"),
     PARENT,
     {NULL},
     "edit 1: it has no '>>>>>>> REPLACE' at its end; was the answer cut off?"},
    {"an edit without a divider",
     "<<<<<<< SEARCH\n" LINE("x[i]") ">>>>>>> REPLACE\n",
     PARENT,
     {NULL},
     "edit 1: it has no '=======' behind its SEARCH text; was the answer cut off?"},
    {"a bad edit and the whole",
     EDIT(LINE("z"), LINE("2")) "```c\n" SOURCE("2") "```\n",
     PARENT,
     {SOURCE("2")},
     NULL},
    {"edits without a parent",
     EDIT(LINE("x[i]"), LINE("2")),
     0,
     {NULL},
     "it holds edits, but there is no kernel to edit; write the whole kernel"},
    {"edits that change nothing",
     EDIT(LINE("x[i]"), LINE("x[i]")),
     PARENT,
     {NULL},
     "the kernel is the parent, unchanged"},
    /* nothing */
    {"nothing", "", 0, {NULL}, "the answer is empty"},
    {"a refusal", "I cannot help with that.", PARENT, {NULL}, "no kernel is in it"},
    {"a plan alone", "```json\n" JSON "\n```\n", 0, {NULL}, "no kernel is in it"},
    {"the parent", "```c\n" SOURCE("x[i]") "```\n", PARENT, {NULL}, "the kernel is the parent, unchanged"},
    {"cut off",
     "```c\n" PLAN "void f(void)\n{\n    if (",
     PARENT,
     {NULL},
     "the answer ends in the middle of a kernel; was it cut off?"},
    {"cut off in a comment",
     "```c\n" PLAN "/* and now",
     PARENT,
     {NULL},
     "the answer ends in the middle of a kernel; was it cut off?"},
};

struct outcome {
    struct atoll_arena *arena;
    struct atoll_reply reply;
    int usable;
};

static int read_answer(struct outcome *o, const char *text, size_t length, int flags)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    memset(&o->reply, 0, sizeof(o->reply));
    o->arena = atoll_arena_create((size_t)64 << 20, NULL);
    assert_non_null(o->arena);
    return atoll_reply_read(text, length, "c", flags & PARENT ? parent : NULL, flags & MANY ? 3 : 1, o->arena,
                            &o->reply, &o->usable, &err);
}

/* What cannot be used is a source that names why and that no plan parser takes. */
static void expect_complaint(const struct outcome *o, const char *complaint)
{
    char expected[256];
    snprintf(expected, sizeof(expected), "%s%s */\n", ATOLL_REPLY_UNUSABLE, complaint);
    assert_int_equal(o->usable, 0);
    assert_int_equal(o->reply.source_count, 1);
    assert_memory_equal(o->reply.sources[0].text, expected, strlen(expected));
    static const struct atoll_task task = {.name = "t"};
    struct atoll_err err = ATOLL_ERR_INIT;
    const char *body;
    assert_null(atoll_plan_parse(o->arena, &task, "c", o->reply.sources[0].text, &body, &err));
    expect_err(&err, ATOLL_E_INPUT, "first comment");
}

static void answers_as_they_occur(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct reply_case *c = &cases[i];
        struct outcome o;
        size_t count = 0;
        print_message("%s\n", c->name);
        assert_int_equal(read_answer(&o, c->answer, strlen(c->answer), c->flags), 0);
        while (count < 4 && c->sources[count])
            count++;
        if (count == 0)
            expect_complaint(&o, c->complaint);
        for (size_t k = 0; k < count && k < o.reply.source_count; k++) {
            assert_string_equal(o.reply.sources[k].text, c->sources[k]);
            assert_string_equal(o.reply.sources[k].language, "c");
        }
        assert_int_equal(o.reply.source_count, count ? count : 1);
        assert_int_equal(o.usable, count > 0);
        atoll_arena_destroy(o.arena);
    }
}

static void nul_bytes_are_no_end(void **state)
{
    static const char answer[] = "a\0b\n```c\n" PLAN "/* \0 */\n```\n";
    struct outcome o;
    assert_int_equal(read_answer(&o, answer, sizeof(answer) - 1, 0), 0);
    assert_string_equal(o.reply.sources[0].text, PLAN "/* ? */\n");
    atoll_arena_destroy(o.arena);
}

/* Every answer is bounded in work and in what it leaves; the clock of the test's guard is the only one. */
static void noise_is_bounded(void **state)
{
    static const char *const patterns[] = {"```\n",
                                           "```c\n",
                                           "/* ",
                                           "/* atoll-plan ",
                                           "<think>\n",
                                           "{(;",
                                           "\xff",
                                           "f(f(",
                                           "### Kernel 1\n",
                                           "\n",
                                           "<<<<<<< SEARCH\n",
                                           "</think>\n",
                                           "<<<<<<< SEARCH\n\nx\n=======\n>>>>>>> REPLACE\n",
                                           "```c\nvoid f(){;}\n```\n",
                                           "```c\n/* atoll-plan {} */\n```\n",
                                           "```json\n{\"launch\":1}\n```\n```c\nf(){;}\n```\n"};
    size_t length = ATOLL_REPLY_LIMIT_BYTES + 1000;
    char *text = malloc(length);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
        struct outcome o;
        size_t n = strlen(patterns[i]);
        length = i == 0 ? ATOLL_REPLY_LIMIT_BYTES + 1000 : ATOLL_REPLY_LIMIT_BYTES / 8;
        for (size_t at = 0; at < length; at++)
            text[at] = patterns[i][at % n];
        for (int flags = 0; flags < 4; flags += PARENT | MANY) {
            assert_int_equal(read_answer(&o, text, length, flags), 0);
            assert_in_range(o.reply.source_count, 1, 3);
            for (uint32_t k = 0; k < o.reply.source_count; k++)
                assert_true(strlen(o.reply.sources[k].text) <= ATOLL_SOURCE_LIMIT);
            atoll_arena_destroy(o.arena);
        }
    }
    free(text);
}

/* Long blank searches over a long blank parent would compare for minutes. */
static void edits_are_bounded(void **state)
{
    enum { LINES = 60000 };
    struct atoll_err err = ATOLL_ERR_INIT;
    char *blank = malloc(2 * LINES + 4), *answer = malloc(4 * LINES + 100);
    struct atoll_arena *arena = atoll_arena_create((size_t)8 << 20, NULL);
    struct atoll_reply reply = {0};
    int usable = 1;
    assert_true(blank && answer && arena);
    for (size_t i = 0; i < LINES; i++)
        memcpy(blank + 2 * i, "a\n", 3);
    int n = sprintf(answer, "<<<<<<< SEARCH\n%.*sb\n=======\n>>>>>>> REPLACE\n", LINES, blank);
    assert_int_equal(atoll_reply_read(answer, (size_t)n, "c", blank, 1, arena, &reply, &usable, &err), 0);
    assert_int_equal(usable, 0);
    assert_non_null(strstr(reply.sources[0].text, "edit 1: the edits are too long; write the whole kernel"));
    atoll_arena_destroy(arena);
    free(blank);
    free(answer);
}

static void bad_arguments_and_full_arenas(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_reply reply = {.source_count = 7};
    struct atoll_arena *arena = atoll_arena_create(64, NULL);
    int usable = 5;
    const char *answer = cases[0].answer;
    assert_int_equal(atoll_reply_read(answer, strlen(answer), "c", NULL, 0, arena, &reply, &usable, &err),
                     -1);
    expect_err(&err, ATOLL_E_INTERNAL, "0 kernels");
    assert_int_equal(atoll_reply_read(answer, strlen(answer), "c", NULL, 65, arena, &reply, &usable, &err),
                     -1);
    expect_err(&err, ATOLL_E_INTERNAL, "65 kernels");
    assert_int_equal(atoll_reply_read(answer, strlen(answer), "c", NULL, 1, arena, &reply, &usable, &err),
                     -1);
    assert_int_equal(err.code, ATOLL_E_LIMIT);
    assert_int_equal(reply.source_count, 7);
    assert_int_equal(usable, 5);
    atoll_arena_destroy(arena);
}

static void a_long_kernel_is_refused(void **state)
{
    size_t length = ATOLL_SOURCE_LIMIT + 100;
    char *text = malloc(length + 200);
    struct outcome o;
    assert_non_null(text);
    int head = sprintf(text, "```c\n%s", PLAN);
    memset(text + head, 'a', length);
    strcpy(text + (size_t)head + length, "\n```\n");
    assert_int_equal(read_answer(&o, text, strlen(text), 0), 0);
    expect_complaint(&o, "the kernel is longer than a source may be (262144 bytes)");
    assert_true(strlen(o.reply.sources[0].text) < 8192);
    atoll_arena_destroy(o.arena);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_they_occur),
        cmocka_unit_test(nul_bytes_are_no_end),
        cmocka_unit_test(noise_is_bounded),
        cmocka_unit_test(edits_are_bounded),
        cmocka_unit_test(bad_arguments_and_full_arenas),
        cmocka_unit_test(a_long_kernel_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_reply_triton.c - kernels of Triton in answers: whole, apart from their plan, as edits, without fences. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "evolution/reply/reply.h"

#define PLAN                                                                                                 \
    "# atoll-plan {\"version\": 1,\n#   \"launch\": [{\"kernel\": \"f\", \"grid\": [1], \"args\": "          \
    "[\"x\"]}]\n# }\n"
#define JSON "{\"version\": 1,\n  \"launch\": [{\"kernel\": \"f\", \"grid\": [1], \"args\": [\"x\"]}]\n}\n"
#define BODY(text)                                                                                           \
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(x, B: tl.constexpr):\n    "         \
    "tl.store(x, " text ")\n"
#define SOURCE(text)          PLAN BODY(text)
#define EDIT(search, replace) "<<<<<<< SEARCH\n" search "=======\n" replace ">>>>>>> REPLACE\n"

static const char parent[] = SOURCE("0.0");

static const struct {
    const char *what, *answer, *source; /* NULL: none */
} cases[] = {
    {"one block", "I think.\n```python\n" SOURCE("1.0") "```\n", SOURCE("1.0")},
    {"info py", "```py\n" SOURCE("1.0") "```\n", SOURCE("1.0")},
    {"no info", "```\n" SOURCE("1.0") "```\n", SOURCE("1.0")},
    {"plan apart", "```json\n" JSON "```\n```python\n" BODY("1.0") "```\n", SOURCE("1.0")},
    {"plan behind, with signs", "```python\n" BODY("1.0") "```\n```python\n" PLAN "```\n", SOURCE("1.0")},
    {"imports before the plan",
     "```python\nimport triton\nimport triton.language as tl\n" PLAN "x = 1\n```\n",
     PLAN "import triton\nimport triton.language as tl\nx = 1\n"},
    {"the parent's plan", "```python\n" BODY("2.0") "```\n", SOURCE("2.0")},
    {"the parent's plan does not fit",
     "```python\nimport triton\n@triton.jit\ndef f(x, y, B: tl.constexpr):\n    pass\n```\n", NULL},
    {"another kernel", "```python\nimport triton\n@triton.jit\ndef g(x, B: tl.constexpr):\n    pass\n```\n",
     NULL},
    {"edit", EDIT("    tl.store(x, 0.0)\n", "    tl.store(x, 3.0)\n"), SOURCE("3.0")},
    {"edit of the plan", EDIT("# }\n", "# }\n# later\n"),
     "# atoll-plan {\"version\": 1,\n#   \"launch\": [{\"kernel\": \"f\", \"grid\": [1], \"args\": "
     "[\"x\"]}]\n# }\n# later\n" BODY("0.0")},
    {"no fence", SOURCE("1.0"), SOURCE("1.0")},
    {"unclosed fence", "```python\n" SOURCE("1.0"), SOURCE("1.0")},
    {"cut off", "```python\n" PLAN "@triton.jit\ndef f(x, B: tl.constexpr):\n    tl.store(x, tl.load(\n",
     NULL},
    {"shell", "```bash\npip install triton\n```\n", NULL},
    {"prose about it", "Use tl.dot and define f(x).\n", NULL},
};

static void test_cases(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_arena *arena = atoll_arena_create((size_t)16 << 20, NULL);
        struct atoll_reply reply = {.ask = 1};
        struct atoll_err err = ATOLL_ERR_INIT;
        int usable = 0;
        if (atoll_reply_read(cases[i].answer, strlen(cases[i].answer), "triton", parent, 1, arena, &reply,
                             &usable, &err) != 0)
            fail_msg("%s: %s", cases[i].what, err.text);
        if (!cases[i].source) {
            if (usable)
                fail_msg("%s: read as %s", cases[i].what, reply.sources[0].text);
        } else {
            if (!usable)
                fail_msg("%s: nothing is read", cases[i].what);
            assert_string_equal(reply.sources[0].text, cases[i].source);
            assert_string_equal(reply.sources[0].language, "triton");
        }
        atoll_arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

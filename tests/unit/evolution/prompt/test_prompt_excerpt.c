/* Of what is too long the part is shown that is worth it, and texts end with a sentence. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "evolution/prompt/prompt_excerpt.h"

#define FILL  "    x += 1.0f; /* ................................................................ */\n"
#define FILL8 FILL FILL FILL FILL FILL FILL FILL FILL

static const char source[] =
    "/* atoll-plan {\"paths\": [{\"when\": \"N % 8 == 0\", \"launch\": [{\"kernel\": \"pack\", \"grid\": "
    "[\"N\"]}, {\"kernel\": "
    "\"fast\"}]},\n"
    "  {\"launch\": [{\"kernel\": \"plain\"}]}]} */\n"
    "#include <cuda_fp16.h>\n"
    "\n"
    "struct pair {\n    int a, b;\n};\n"
    "\n"
    "/* plain(x) is called by nobody, unused(x) too. */\n"
    "static __device__ void unused(float *x)\n{\n" FILL8 FILL8 "}\n"
    "\n"
    "static __device__ __forceinline__ void load(float *x)\n{\n    x[0] = 2;\n}\n"
    "\n"
    "extern \"C\" __global__ void pack(float *x)\n{\n    x[1] = 3;\n}\n"
    "\n"
    "/* It goes: {first}, second. */\nextern \"C\" __global__ void __launch_bounds__(384, 1)\n    fast(float "
    "*x)\n{\n    int set_up = "
    "0;\n" FILL "    for (int k = 0; k < 9; k++)\n        x[k] = 0;\n    for (int i = 0; i < 9; i++)\n       "
    " load(x + i +\n             1);\n" FILL8 "}\n"
    "\n"
    "extern \"C\" __global__ void plain(float *x)\n{\n" FILL8 FILL8 "}\n";

static const char *excerpt_of(const char *text, size_t keep, struct atoll_buffer *out, size_t *ret_cut)
{
    atoll_buffer_init(out, 1 << 20);
    *ret_cut = atoll_prompt_excerpt(text, strlen(text), keep, out);
    if (*ret_cut)
        assert_in_range(out->length, keep / 2, keep + 64);
    atoll_buffer_put_u8(out, 0);
    return (const char *)out->data;
}

static void has(const char *text, const char *words, int is_wanted)
{
    if ((strstr(text, words) != NULL) != is_wanted)
        fail_msg("'%s' is%s in:\n%s", words, is_wanted ? " not" : "", text);
}

/* Fallback and helpers of nobody go first; the order stays. */
static void the_fast_path_is_kept(void **state)
{
    struct atoll_buffer out;
    size_t cut;
    const char *text = excerpt_of(source, 1900, &out, &cut);
    (void)state;
    static const char *const kept[] = {"fast(float *x)\n{", "load(x + i +", "void load(",
                                       "void pack(",        "atoll-plan",   "struct pair"},
                             *const left[] = {"void plain(", "void unused("};
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        has(text, kept[i], 1);
    for (size_t i = 0; i < 2; i++)
        has(text, left[i], 0);
    assert_true(strstr(text, "atoll-plan") < strstr(text, "void load(") &&
                strstr(text, "void load(") < strstr(text, "void pack("));
    assert_true(cut > 2000 && cut < strlen(source));
    size_t marks = 0, marked = 0;
    for (const char *at = text; (at = strstr(at, "/* ... ")) != NULL; at++, marks++) {
        size_t bytes = 0;
        assert_int_equal(sscanf(at, "/* ... %zu bytes are left out here", &bytes), 1);
        marked += bytes;
    }
    assert_int_equal(marks, 2);
    assert_int_equal(marked, cut);
    atoll_buffer_fini(&out);
}

/* What does not fit whole is shown from its loop on, behind its signature. */
static void a_long_kernel_keeps_its_loop(void **state)
{
    struct atoll_buffer out;
    size_t cut;
    const char *text = excerpt_of(source, 500, &out, &cut);
    (void)state;
    has(text, "    fast(float *x)\n{\n/* ...", 1);
    has(text, "for (int i = 0", 1);
    has(text, "set_up", 0);
    has(text, "for (int k", 0);
    has(text, "atoll-plan", 0);
    atoll_buffer_fini(&out);
}

/* Of two helpers that do not both fit the one that is called. */
static void helpers_of_the_fast_path_come_first(void **state)
{
    static const char text[] = "/* {\"launch\": [{\"function\": \"f\"}]} */\n"
                               "static void idle(float *x)\n{\n" FILL8 "}\n\n\n"
                               "static void idle_too(float *x)\n{\n" FILL8 "}\n\n\n"
                               "template <int N> static void helper(float *x)\n{\n" FILL8 "}\n\n\n"
                               "void f(float *x)\n{\n    helper<3>(x);\n}\n";
    struct atoll_buffer out;
    size_t cut;
    const char *shown = excerpt_of(text, strlen(text) - 900, &out, &cut);
    (void)state;
    has(shown, "void helper(", 1);
    has(shown, "void idle(", 0);
    has(shown, "}\n\n\nvoid f(", 1);
    const char *mark = strstr(shown, "/* ... "); /* one for both, and not for the empty lines between them */
    assert_non_null(mark);
    assert_null(strstr(mark + 1, "/* ... "));
    atoll_buffer_fini(&out);
}

static void a_diff_keeps_its_largest_hunks(void **state)
{
    static const char diff[] = "@@ -3,5 +3,5 @@\n-  \"block\": [\"320\"]\n+  \"block\": [\"256\"]\n"
                               "@@ -90,5 +90,9 @@\n" FILL8 "@@ -200,5 +208,5 @@\n" FILL8 FILL;
    struct atoll_buffer out;
    size_t cut;
    const char *text = excerpt_of(diff, 1000, &out, &cut);
    (void)state;
    has(text, "@@ -200", 1);
    has(text, "@@ -3,5", 1);
    has(text, "@@ -90", 0);
    atoll_buffer_fini(&out);
}

/* A script of Triton: functions begin in the first column. */
static void functions_of_python_are_found(void **state)
{
    static const char script[] =
        "# atoll-plan {\n#   \"launch\": [{\"kernel\": \"f\"}]\n# }\nimport triton\n\n"
        "@triton.jit\ndef g(x):\n" FILL8 "\n"
        "@triton.jit\ndef f(x,\n      y):\n    here = 1\n" FILL FILL "\n";
    struct atoll_buffer out;
    size_t cut;
    const char *text = excerpt_of(script, 500, &out, &cut);
    (void)state;
    has(text, "@triton.jit\ndef f(x,", 1);
    has(text, "here = 1", 1);
    has(text, "def g(", 0);
    atoll_buffer_fini(&out);
}

/* Nothing to choose from, or choosing would leave most of the room empty. */
static void other_texts_are_left_to_their_caller(void **state)
{
    static const char *const texts[] = {
        "",
        "/*",
        "no plan\n" FILL8,
        "/* {\"launch\": [{\"kernel\": \"f\"}]} */\nint f(void)\n{\n}\n\nint x[] = " FILL8 FILL8,
        "/* {\"launch\": [{\"kernel\": \"",
        "@@ one hunk\n" FILL8};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct atoll_buffer out;
        size_t cut;
        excerpt_of(texts[i], 400, &out, &cut);
        assert_int_equal(cut, 0);
        assert_int_equal(out.length, 1);
        atoll_buffer_fini(&out);
    }
}

static void texts_end_with_a_sentence(void **state)
{
    static const char text[] = "The first one is here. The second is 1.5 times as long; it ends. The third";
    (void)state;
    assert_int_equal(atoll_prompt_sentence_end(text, strlen(text), 70),
                     (size_t)(strstr(text, " The third") - text));
    assert_int_equal(atoll_prompt_sentence_end(text, strlen(text), 62),
                     (size_t)(strstr(text, " it ends") - text));
    assert_int_equal(atoll_prompt_sentence_end(text, strlen(text), 20), 20); /* none in half of it */
    assert_int_equal(atoll_prompt_sentence_end(text, strlen(text), 40), 22);
    assert_int_equal(atoll_prompt_sentence_end(text, strlen(text), strlen(text)), strlen(text));
    assert_int_equal(atoll_prompt_sentence_end("", 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fast_path_is_kept),
        cmocka_unit_test(a_long_kernel_keeps_its_loop),
        cmocka_unit_test(helpers_of_the_fast_path_come_first),
        cmocka_unit_test(a_diff_keeps_its_largest_hunks),
        cmocka_unit_test(functions_of_python_are_found),
        cmocka_unit_test(other_texts_are_left_to_their_caller),
        cmocka_unit_test(texts_end_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

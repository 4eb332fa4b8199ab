/* test_plan_triton.c - plans of Triton sources: the comment they stand in, their keys, their limits, their identity. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <string.h>

#include "core/candidate.h"
#include "core/message.h"

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static struct atoll_task *task; /* rowsum: check B=3 N=17, bench.large B=128 N=4096, hidden B=5 N=129 */
static struct atoll_arena *arena;

static int set_up(void **state)
{
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/rowsum", NULL);
    arena = atoll_arena_create(64u << 20, NULL);
    return task && arena ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_task_destroy(task);
    atoll_arena_destroy(arena);
    return 0;
}

static const struct atoll_plan *parse_text(const char *source, const char **ret_body, struct atoll_err *err)
{
    *ret_body = NULL;
    return atoll_plan_parse(arena, task, "triton", source, ret_body, err);
}

/* rest: what stands beside kernel, grid and args. */
static const struct atoll_plan *parse(const char *args, const char *rest, struct atoll_err *err)
{
    char source[2048];
    const char *body;
    snprintf(source, sizeof(source),
             "# atoll-plan {\"version\": 1, \"params\": {\"BLOCK\": [64, 128], \"W\": [4, 3]},\n"
             "#  \"scratch\": {\"part\": \"4 * B\"},\n"
             "#  \"launch\": [{\"kernel\": \"k\", \"grid\": [\"B\"], \"args\": [%s]%s}]}\nbody\n",
             args, rest);
    return parse_text(source, &body, err);
}

static void test_comment(void **state)
{
#define LAUNCH "\"launch\": [{\"kernel\": \"k\", \"grid\": [1], \"args\": [\"x\"]}]"
    static const struct {
        const char *source, *body, *says; /* says: NULL where body is what follows */
    } rows[] = {
        {"# atoll-plan {\"version\": 1,\n#  " LAUNCH "}\nimport triton\n", "import triton\n", NULL},
        {"\n  # atoll-plan {\"version\": 1, " LAUNCH "}\n  # and a remark\nx\n", "x\n", NULL},
        {"# atoll-plan {\"version\": 1, " LAUNCH "}", "", NULL},
        {"# atoll-plan\n# {\"version\": 1,\n\t# " LAUNCH "\n# }\n\n# later\n", "\n# later\n", NULL},
        {"#atoll-plan {\"version\": 1, " LAUNCH "}\r\nx", "x", NULL},
        {"import triton\n", NULL, "must start with a comment of lines \"# ...\""},
        {"/* atoll-plan {} */", NULL, "must start with a comment of lines"},
        {"# a remark\n", NULL, "must start with 'atoll-plan'"},
        {"# atoll-plan {\"version\": 1,\n# \"launch\" 3}\n", NULL, "line 2: not valid JSON"},
        {"# atoll-plan {\"version\": 1,\nimport triton\n", NULL, "not valid JSON"},
        {"# atoll-plan [1]\n", NULL, "must be an object"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const char *body;
        const struct atoll_plan *p = parse_text(rows[i].source, &body, &err);
        if (rows[i].says) {
            assert_null(p);
            assert_has(err.text, rows[i].says);
            continue;
        }
        if (!p)
            fail_msg("row %zu: %s", i, err.text);
        assert_string_equal(body, rows[i].body);
        assert_string_equal(p->backend, "cuda");
    }
}

static void test_keys(void **state)
{
    static const struct {
        const char *args, *rest, *says;
    } rows[] = {
        {"\"x\", \"i32:N\"", "", NULL},
        {"\"x\", \"*f32:part\", \"part\", \"f32:0.5\"", ", \"num_warps\": \"W\", \"num_stages\": 2", NULL},
        {"\"x\"", ", \"constexprs\": {\"SIZE\": \"BLOCK * 2\", \"CAUSAL\": 1}", NULL},
        {"\"x\"", ", \"block\": [32]", "launch[0].block': unknown key"},
        {"\"x\"", ", \"shared_bytes\": 64", "unknown key"},
        {"\"x\"", ", \"cluster\": [2]", "unknown key"},
        {"\"x\"", ", \"num_warp\": 4", "did you mean 'num_warps'"},
        {"\"x\"", ", \"num_warps\": \"N\"", "'N' is a dim, which is not known when a kernel is compiled"},
        {"\"x\"", ", \"constexprs\": {\"SIZE\": \"N\"}", "'N' is a dim"},
        {"\"x\"", ", \"constexprs\": {\"a b\": 1}", "is no name of a parameter"},
        {"\"x\"", ", \"constexprs\": [1]", "an object is expected"},
        {"\"*f32:x\"", "", "'x' is a tensor, whose type the task says; write \"x\""},
        {"\"*f31:part\"", "", "a pointer into scratch is written like"},
        {"\"*f32:parts\"", "", "did you mean 'part'"},
        {"\"tensormap(x, [N, B], [32, 1])\"", "", "makes its descriptors itself, on the device"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        const struct atoll_plan *p = parse(rows[i].args, rows[i].rest, &err);
        if (rows[i].says) {
            assert_null(p);
            assert_has(err.text, rows[i].says);
        } else if (!p) {
            fail_msg("row %zu: %s", i, err.text);
        }
    }
    const struct atoll_plan *p =
        parse("\"x\", \"part\", \"*bf16:part\"", ", \"constexprs\": {\"S\": 3}", NULL);
    assert_non_null(p);
    assert_int_equal(p->launches[0].args[1].points_to, ATOLL_U8);
    assert_int_equal(p->launches[0].args[2].points_to, ATOLL_BF16);
    assert_int_equal(p->launches[0].constexpr_count, 1);
    assert_string_equal(p->launches[0].constexprs[0].name, "S");
    assert_null(p->launches[0].block[0]);
    assert_has(p->canonical, "\"constexprs\":{\"S\":3}");
}

static void test_limits(void **state)
{
    static const struct {
        const char *rest;
        int64_t w;
        const char *says;
    } rows[] = {
        {", \"num_warps\": \"W\"", 4, NULL},
        {", \"num_warps\": \"W\"", 3, "launch[0].num_warps': 3 is no power of two"},
        {", \"num_warps\": 64", 4, "must lie between 1 and 32"},
        {", \"num_stages\": 17", 4, "must lie between 1 and 16"},
        {", \"constexprs\": {\"S\": \"BLOCK * 2147483647\"}", 4, "launch[0].constexprs.S'"},
    };
    static const struct atoll_device_limits unknown;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT, same = ATOLL_ERR_INIT;
        const struct atoll_plan *p = parse("\"x\"", rows[i].rest, &err);
        struct atoll_choice choice = {2, {64, rows[i].w}};
        assert_non_null(p);
        int failed = atoll_plan_choice_check(task, p, &choice, &err);
        assert_int_equal(failed, rows[i].says ? -1 : 0);
        assert_int_equal(atoll_plan_limits_check(task, p, &choice, ATOLL_PLAN_KIND_ALL, &unknown, &same),
                         failed);
        if (rows[i].says)
            assert_has(err.text, rows[i].says);
    }
}

/* What a kernel is compiled with makes another candidate; a null control is a remark of Python's. */
static void test_identity(void **state)
{
    static const char *const rests[] = {"", ", \"num_warps\": 8", ", \"num_stages\": 2",
                                        ", \"constexprs\": {\"S\": 1}", ", \"constexprs\": {\"S\": 2}"};
    struct atoll_id ids[5];
    struct atoll_choice choice = {2, {64, 4}};
    struct atoll_buffer text;
    const char *body;
    for (size_t i = 0; i < 5; i++) {
        const struct atoll_plan *p = parse("\"x\"", rests[i], NULL);
        assert_non_null(p);
        ids[i] = atoll_candidate_id(task, "triton", p, "body", &choice);
        for (size_t k = 0; k < i; k++)
            assert_false(atoll_id_equal(&ids[i], &ids[k]));
    }
    atoll_buffer_init(&text, 4096);
    atoll_null_control_source("triton", "# atoll-plan {\"version\": 1, " LAUNCH "}\nx = 1", &ids[0], &text);
    assert_non_null(parse_text((const char *)text.data, &body, NULL));
    assert_int_equal(strncmp(body, "x = 1\n# no-op mutant of ", 24), 0);
    atoll_buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comment), cmocka_unit_test(test_keys),
                                       cmocka_unit_test(test_limits), cmocka_unit_test(test_identity)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

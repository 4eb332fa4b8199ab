/* test_plan_tensormap.c - tensor maps in plans: what they say, their canonical form, every refusal. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/candidate.h"
#include "core/plan/plan.h"
#include "base/random.h"

static struct atoll_task *task; /* rowsum: dims B N, tensors x (f16) total (f32) count (i32) */
static struct atoll_arena *arena;

static int set_up(void **state)
{
    task = atoll_task_load(ATOLL_SOURCE_DIR "/tests/fixtures/tasks/rowsum", NULL);
    arena = atoll_arena_create(256u << 20, NULL);
    return task && arena ? 0 : -1;
}

static int tear_down(void **state)
{
    atoll_task_destroy(task);
    atoll_arena_destroy(arena);
    return 0;
}

static const struct atoll_plan *parse(struct atoll_arena *in, const char *language, const char *arg,
                                      struct atoll_err *err)
{
    char source[8192];
    const char *body = NULL;
    snprintf(
        source, sizeof(source),
        "/* atoll-plan {\"version\": 1, \"params\": {\"TM\": [64, 0], \"TN\": [32]}, \"scratch\": {\"s\": "
        "4096},"
        "\"launch\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [128], \"args\": [\"x\", \"%s\"]}]} */",
        arg);
    return atoll_plan_parse(in, task, language, source, &body, err);
}

static const struct atoll_plan *parsed(const char *arg)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_plan *p = parse(arena, "cuda", arg, &err);
    if (!p)
        fail_msg("%s", err.text);
    return p;
}

static void test_full(void **state)
{
    const struct atoll_arg *a = &parsed("tensormap( x ,[N, max(B, TM)], [ TN,TM], l2 = 256,swizzle=64, "
                                        "stride=[2 * N], dtype=bf16 )")
                                     ->launches[0]
                                     .args[1];
    assert_int_equal(a->kind, ATOLL_ARG_TENSORMAP);
    assert_int_equal(a->index, 0);
    const struct atoll_tensormap *m = a->map;
    assert_int_equal(m->rank, 2);
    assert_string_equal(atoll_expression_text(m->extent[1]), "max(B, TM)");
    assert_string_equal(atoll_expression_text(m->box[0]), "TN");
    assert_string_equal(atoll_expression_text(m->stride_bytes[0]), "2 * N");
    assert_int_equal(m->swizzle, 64);
    assert_int_equal(m->l2, 256);
    assert_int_equal(m->is_scratch, 0);
    assert_int_equal(m->dtype, ATOLL_BF16);
    assert_string_equal(
        a->text, "tensormap(x, [N, max(B, TM)], [TN, TM], swizzle=64, l2=256, stride=[2 * N], dtype=bf16)");
}

static void test_defaults(void **state)
{
    const struct atoll_tensormap *m = parsed("tensormap(total, [B], [TN])")->launches[0].args[1].map;
    assert_int_equal(m->rank, 1);
    assert_int_equal(m->dtype, ATOLL_F32);
    assert_true(m->swizzle == 0 && m->l2 == 0 && !m->stride_bytes[0]);
    const struct atoll_arg *s = &parsed("tensormap(s, [32, 32], [32, 1], dtype=f32)")->launches[0].args[1];
    assert_true(s->map->is_scratch == 1 && s->index == 0 && s->map->dtype == ATOLL_F32);
    assert_string_equal(s->text, "tensormap(s, [32, 32], [32, 1], dtype=f32)");
    assert_int_equal(parsed("tensormap(x,[1,2,3,4,5],[1,1,1,1,1])")->launches[0].args[1].map->rank, 5);
}

/* Blanks and defaults that are written out change neither the canonical form nor the identity. */
static void test_canonical(void **state)
{
    static const char *const same[] = {"tensormap(x, [N, B], [TN, TM], swizzle=64)",
                                       "tensormap(x,[N,B],[TN,TM],swizzle=64)",
                                       "tensormap( x, [ N , B ] , [TN, TM], l2=0, dtype=f16, swizzle= 64 ) "};
    const struct atoll_plan *first = parsed(same[0]);
    struct atoll_choice choice;
    atoll_plan_first_choice(first, &choice);
    struct atoll_id id = atoll_candidate_id(task, "cuda", first, "", &choice);
    for (size_t i = 1; i < sizeof(same) / sizeof(*same); i++) {
        const struct atoll_plan *p = parsed(same[i]);
        assert_string_equal(p->canonical, first->canonical);
        struct atoll_id other = atoll_candidate_id(task, "cuda", p, "", &choice);
        assert_true(atoll_id_equal(&id, &other));
    }
    const struct atoll_plan *wider = parsed("tensormap(x, [N, B], [TN, TM], swizzle=128)");
    struct atoll_id other = atoll_candidate_id(task, "cuda", wider, "", &choice);
    assert_false(atoll_id_equal(&id, &other));
    assert_non_null(
        strstr(first->canonical, "\"args\":[\"x\",\"tensormap(x, [N, B], [TN, TM], swizzle=64)\"]"));
}

static const struct {
    const char *arg, *says;
} refused[] = {
    {"tensormap(x, [N, B], [TN, TM]", "the closing ')' is missing"},
    {"tensormap(x, [N, B], [TN, TM]) y", "the closing ')' is missing"},
    {"tensormap(", "the closing ')' is missing"},
    {"tensormap()", "write it as"},
    {"tensormap(x)", "write it as"},
    {"tensormap(x, [N, B])", "write it as"},
    {"tensormap(x, [N, B, [TN, TM])", "write it as"},
    {"tensormap(x, N, B], [TN, TM])", "write it as"},
    {"tensormap(x, [N], [TN], a=1, b=2, c=3, d=4, e=5, f=6)", "write it as"},
    {"tensormap(q, [N], [TN])", "unknown name 'q'"},
    {"tensormap(totl, [N], [TN])", "did you mean 'total'?"},
    {"tensormap(N, [N], [TN])", "unknown name 'N'"},
    {"tensormap(x, N, [TN])", "extents must be a list"},
    {"tensormap(x, [], [TN])", "extents must be a list"},
    {"tensormap(x, [N], TN)", "box must be a list"},
    {"tensormap(x, [N, N, N, N, N, N], [TN])", "extents must be a list of 1 to 5 expressions"},
    {"tensormap(x, [N, B], [TN])", "2 extents and a box of 1"},
    {"tensormap(x, [N, Q], [TN, 1])", "unknown name 'Q'"},
    {"tensormap(x, [N, B *], [TN, 1])", "args[1]'"},
    {"tensormap(x, [N, ], [TN, 1])", "args[1]'"},
    {"tensormap(x, [N], [TN], 128)", "'128' is no option; write key=value"},
    {"tensormap(x, [N], [TN], swizle=128)", "unknown option 'swizle'; did you mean 'swizzle'?"},
    {"tensormap(x, [N], [TN], wwwwwwwwwww=128)", "unknown option 'wwwwwwwwwww'; known are swizzle"},
    {"tensormap(x, [N], [TN], swizzle=48)", "swizzle=48; it is one of 0, 32, 64, 128"},
    {"tensormap(x, [N], [TN], swizzle=)", "swizzle=; it is one of"},
    {"tensormap(x, [N], [TN], swizzle=64, swizzle=64)", "swizzle stands there twice"},
    {"tensormap(x, [N], [TN], l2=32)", "l2=32; it is one of 0, 64, 128, 256"},
    {"tensormap(x, [N], [TN], stride=[16])", "one axis has no stride"},
    {"tensormap(x, [N, B], [TN, 1], stride=16)", "stride must be a list"},
    {"tensormap(x, [N, B], [TN, 1], stride=[16, 32])", "stride must be a list of 1 to 1 expressions"},
    {"tensormap(x, [N, B, 1], [TN, 1, 1], stride=[16])", "1 strides for 3 axes"},
    {"tensormap(x, [N], [TN], dtype=tf32)", "unknown dtype 'tf32'"},
    {"tensormap(s, [N], [TN])", "scratch has no type of its own; add dtype="},
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        if (parse(arena, "cuda", refused[i].arg, &err))
            fail_msg("parsed: %s", refused[i].arg);
        if (!strstr(err.text, refused[i].says) ||
            strncmp(err.text, "plan: field 'launch[0].args[1]': ", 33) != 0)
            fail_msg("%s gave '%s', expected '%s'", refused[i].arg, err.text, refused[i].says);
        assert_int_equal(err.code, ATOLL_E_INPUT);
    }
}

static void test_languages(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(parse(arena, "opencl", "tensormap(x, [N], [TN])", &err));
    assert_non_null(strstr(err.text, "not available for language opencl"));
}

static void test_length(void **state)
{
    char text[2000] = "tensormap(x, [N";
    struct atoll_err err = ATOLL_ERR_INIT;
    memset(text + 15, '+', 1200);
    assert_null(parse(arena, "cuda", text, &err));
    assert_non_null(strstr(err.text, "at most 1024 are allowed"));
}

static void test_choice_check(void **state)
{
    static const struct {
        const char *arg, *says; /* NULL: fine */
        int64_t tm;
    } rows[] = {
        {"tensormap(x, [N, B], [TN, TM])", NULL, 64},
        {"tensormap(x, [N, B], [TN, TM])",
         "field 'launch[0].args[1].box[1]': 'TM' is 0 at variant 'check', must lie between 1 and 256", 0},
        {"tensormap(x, [N, B], [N * 8, TM])", "args[1].box[0]': 'N * 8' is 32768 at variant 'bench.large'",
         64},
        {"tensormap(x, [N, B - 3], [TN, TM])", "args[1].extent[1]': 'B - 3' is 0", 64},
        {"tensormap(x, [N, B], [TN, 1], stride=[N / TM])", "args[1].stride[0]' at variant 'check'", 0},
        {"tensormap(x, [N, B], [TN, 1], stride=[8])", "args[1].stride[0]': '8' is 8", 64},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_choice choice = {2, {rows[i].tm, 32}};
        int rc = atoll_plan_choice_check(task, parsed(rows[i].arg), &choice, &err);
        if (rc != (rows[i].says ? -1 : 0) || (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("%s gave %d '%s'", rows[i].arg, rc, err.text);
    }
}

static void test_mutations(void **state)
{
    struct atoll_random r = {9, 0};
    static const char bytes[] = "[](),= *xNs12:";
    for (int round = 0; round < 3000; round++) {
        char arg[] = "tensormap(s, [N, B], [TN, TM], swizzle=64, l2=128, stride=[2 * N], dtype=bf16)";
        for (int k = 0; k < 2; k++)
            arg[10 + atoll_random_below(atoll_random_next(&r), sizeof(arg) - 11)] =
                bytes[atoll_random_below(atoll_random_next(&r), sizeof(bytes) - 1)];
        struct atoll_arena *own = atoll_arena_create(1u << 20, NULL);
        assert_non_null(own);
        struct atoll_choice choice = {2, {64, 32}};
        const struct atoll_plan *p = parse(own, "cuda", arg, NULL);
        if (p)
            atoll_plan_choice_check(task, p, &choice, NULL);
        atoll_arena_destroy(own);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),         cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_canonical),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_languages),    cmocka_unit_test(test_length),
        cmocka_unit_test(test_choice_check), cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

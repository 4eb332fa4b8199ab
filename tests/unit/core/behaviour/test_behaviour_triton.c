/* test_behaviour_triton.c - cells of Triton sources: each level by what speaks for it. */
#include "tests/support/expect.h"

#include "core/behaviour/behaviour.h"

static const struct {
    const char *body;
    unsigned char memory, algorithm, coordination;
} rows[] = {
    {"def k(x, y):\n    i = tl.program_id(0)\n    tl.store(y + i, tl.load(x + i))\n", 0, 0, 0},
    {"def k(x, y):\n    i = tl.arange(0, B)\n    tl.store(y + i, tl.load(x + i))\n", 1, 0, 0},
    {"def k(x, y):\n    i = tl.arange(0, B)\n    tl.store(y, tl.sum(tl.load(x + i), 0))\n", 1, 0, 1},
    {"i = tl.arange(0, B)\nv = tl.load(x)\ne = tl.exp(v - tl.max(v, 0))\ntl.store(y, e / tl.sum(e, 0))\n", 1,
     1, 1},
    {"for n in range(0, N, B):\n    v = tl.load(x + i[:, None])\ntl.store(y, v)\n", 2, 0, 0},
    {"for k in range(0, K, B):\n    acc = tl.dot(a, b, acc)\n", 3, 0, 1},
    {"for n in range(N):\n    m = tl.maximum(m, v)\n    p = tl.exp(v - m)\n", 0, 2, 0},
    {"for n in range(N):\n    m = tl.maximum(m, v)\n    p = tl.exp(v - m)\n    acc = tl.dot(p, v, acc)\n", 3,
     3, 1},
    {"m = tl.maximum(a, b)\nfor n in range(N):\n    x = 1\np = tl.exp(m)\n", 0, 0, 0},
    {"tl.atomic_add(y, x)\n", 0, 0, 3},
    {"for t in range(p, T, tl.num_programs(0)):\n    x = 1\n", 0, 0, 3},
    {"d = tl.make_tensor_descriptor(x, [N], [1], [B])\n", 3, 0, 0},
    {"s = tl.associative_scan(x, 0, f)\n", 0, 2, 2},
    {"# tl.atomic_add tl.dot\nx = 'tl.atomic_add'\n", 0, 0, 0},
    {"x = 'open", 0, 0, 0},
};

static void test_cells(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_behaviour b = atoll_behaviour_classify("triton", rows[i].body, NULL, NULL);
        if (i != 5 && i != 7) /* without a plan nobody says that loads run ahead */
            assert_int_equal(b.memory, rows[i].memory);
        else
            assert_int_equal(b.memory, 2);
        assert_int_equal(b.algorithm, rows[i].algorithm);
        assert_int_equal(b.coordination, rows[i].coordination);
    }
}

/* Stages come from the plan, by what is chosen; several launches work together. */
static void test_plan(void **state)
{
    static const char dot[] = "for k in range(0, K, B):\n    acc = tl.dot(a, b, acc)\n";
    struct atoll_arena *arena = atoll_arena_create(1u << 20, NULL);
    struct atoll_launch launches[2] = {{.num_stages = atoll_expression_parse(arena, "S", NULL)},
                                       {.num_stages = atoll_expression_parse(arena, "1", NULL)}};
    struct atoll_plan plan = {.param_count = 1,
                              .params = {{.name = "S"}},
                              .launch_count = 1,
                              .launches = launches,
                              .path_count = 1,
                              .paths = {{.count = 1}}};
    struct atoll_choice one = {1, {1}}, two = {1, {2}};
    assert_int_equal(atoll_behaviour_classify("triton", dot, &plan, &one).memory, 2);
    assert_int_equal(atoll_behaviour_classify("triton", dot, &plan, &two).memory, 3);
    assert_int_equal(atoll_behaviour_classify("triton", dot, &plan, &two).coordination, 1);
    launches[0].num_stages = NULL; /* Triton's own is 3 */
    plan.launch_count = plan.paths[0].count = 2;
    assert_int_equal(atoll_behaviour_classify("triton", dot, &plan, &one).memory, 3);
    assert_int_equal(atoll_behaviour_classify("triton", dot, &plan, &one).coordination, 3);
    plan.path_count = 2; /* one launch each */
    plan.paths[0].count = plan.paths[1].count = plan.paths[1].first = 1;
    assert_int_equal(atoll_behaviour_classify("triton", dot, &plan, &one).coordination, 1);
    assert_string_equal(atoll_behaviour_level_text_of("triton", 0, 1), "contiguous blocks, each loaded once");
    atoll_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cells), cmocka_unit_test(test_plan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_source_loop.c - loops, their nesting and variables, and assignments. */
#include "tests/support/expect.h"

#include <string.h>

#include "core/source/source_loop.h"

static struct atoll_token_list tokens;
static struct atoll_loop_list loops;

static void find(const char *source)
{
    atoll_token_list_fini(&tokens);
    assert_int_equal(atoll_token_list_init(&tokens, source, NULL), 0);
    atoll_loop_list_find(&loops, tokens.tokens, tokens.count);
}

static int tear_down(void **state)
{
    atoll_token_list_fini(&tokens);
    return 0;
}

static void test_nest(void **state)
{
    find("void f(void) { for (int i = 0; i < n; i++) { for (j = 0; j < n; j += 8) x[j] = i; y = 1; }\n"
         "for (;;) for (k = 9; k >= 0; --k) if (k) { z += k; } else w = 2; }");
    static const struct {
        int parent, innermost, unit;
        const char *variable;
    } rows[] = {{-1, 0, 1, "i"}, {0, 1, 0, "j"}, {-1, 0, 0, NULL}, {2, 1, 1, "k"}};
    assert_int_equal(loops.loop_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(loops.loops[i].parent, rows[i].parent);
        assert_int_equal(loops.loops[i].is_innermost, rows[i].innermost);
        assert_int_equal(loops.loops[i].unit_step, rows[i].unit);
        assert_int_equal(!loops.loops[i].variable, !rows[i].variable);
        if (rows[i].variable)
            assert_true(atoll_token_is(loops.loops[i].variable, rows[i].variable));
    }
    static const struct {
        const char *base;
        int loop, is_element;
    } written[] = {{"x", 1, 1}, {"y", 0, 0}, {"z", 3, 0}, {"w", 3, 0}};
    assert_int_equal(loops.assignment_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(atoll_token_is(loops.assignments[i].base, written[i].base));
        assert_int_equal(loops.assignments[i].loop, written[i].loop);
        assert_int_equal(loops.assignments[i].is_element, written[i].is_element);
    }
}

static void test_left_sides(void **state)
{
    static const struct {
        const char *source, *base;
        int is_element;
    } rows[] = {{"float s = 0;", "s", 0},      {"a[i][j] += 1;", "a", 1},
                {"*p++ = 2;", "p", 1},         {"if (x == 1) y[2] = 3;", "y", 1},
                {"while (a) b *= 2;", "b", 0}, {"for (i = 0; i < 3; i++) *q = 1;", "q", 1},
                {"s.x = 1;", "x", 0},          {"p->v[i + 1] -= w;", "v", 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        find(rows[i].source);
        if (loops.assignment_count != 1 || !atoll_token_is(loops.assignments[0].base, rows[i].base) ||
            loops.assignments[0].is_element != rows[i].is_element)
            fail_msg("%s", rows[i].source);
    }
}

static void test_declarators(void **state)
{
    find("long a = f(1, 2), b = x[3] + c, d; float v[2] = {1, 2}, w = 3;");
    static const char *const bases[] = {"a", "b", "v", "w"};
    assert_int_equal(loops.assignment_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(atoll_token_is(loops.assignments[i].base, bases[i]));
    assert_true(
        atoll_loop_mentions(&loops, loops.assignments[1].op, loops.assignments[1].end, &tokens.tokens[17]));
}

static void test_broken_nesting(void **state)
{
    static const char *const sources[] = {
        "for (",      "for (i",           "for (;;", "for (;;) {",
        "for (;;) }", "for for (;;) for", "= = = ;", "} ) ] for (i = 0; i < 2; ++",
        "x =",        "if (for (a = b"};
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        find(sources[i]);
        for (size_t k = 0; k < loops.loop_count; k++)
            assert_true(loops.loops[k].body_end <= tokens.count &&
                        loops.loops[k].header_begin <= tokens.count);
        for (size_t k = 0; k < loops.assignment_count; k++)
            assert_true(loops.assignments[k].end <= tokens.count);
    }
}

static void test_limits(void **state)
{
    static char many[20 * (ATOLL_LOOP_LIMIT + ATOLL_ASSIGNMENT_LIMIT)];
    size_t used = 0;
    for (int i = 0; i < ATOLL_LOOP_LIMIT + 10; i++)
        memcpy(many + 9 * i, "for(;;)a;", 9), used += 9;
    for (int i = 0; i < ATOLL_ASSIGNMENT_LIMIT + 10; i++)
        memcpy(many + used, "a=1;", 4), used += 4;
    find(many);
    assert_int_equal(loops.loop_count, ATOLL_LOOP_LIMIT);
    assert_int_equal(loops.assignment_count, ATOLL_ASSIGNMENT_LIMIT);
}

static void test_mentions(void **state)
{
    find("a + b * a1");
    assert_true(atoll_loop_mentions(&loops, 0, 5, &tokens.tokens[2]));
    assert_false(atoll_loop_mentions(&loops, 3, 100, &tokens.tokens[0]));
    assert_false(atoll_token_same(&tokens.tokens[0], &tokens.tokens[4]));
    assert_false(atoll_token_same(NULL, &tokens.tokens[4]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nest),           cmocka_unit_test(test_left_sides),
        cmocka_unit_test(test_broken_nesting), cmocka_unit_test(test_declarators),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_mentions)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}

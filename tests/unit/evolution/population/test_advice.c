#include "tests/support/expect.h"

#include <math.h>

#include "evolution/population/advice.h"

#define CELL(memory, algorithm, coordination) ((memory)*16 + (algorithm)*4 + (coordination))

static const char *const languages[] = {"c", "cuda", "triton", "opencl"};
#define LANGUAGES (sizeof(languages) / sizeof(*languages))

static const char *text_of(size_t language, unsigned dimension, int sign, unsigned level)
{
    struct atoll_advice advice = {
        .dimension = (uint8_t)dimension, .level = (uint8_t)level, .sign = (int8_t)sign, .weight = 1};
    return atoll_advice_text(languages[language], &advice);
}

static void check_sentence(const char *text)
{
    size_t length = strlen(text);
    assert_in_range(length, 60, 400);
    assert_true(text[0] >= 'A' && text[0] <= 'Z');
    assert_int_equal(text[length - 1], '.');
    assert_null(strpbrk(text, "\n\t"));
    assert_null(strstr(text, "  "));
}

/* Every direction has a sentence or leads beyond the levels, and no two sentences are equal. */
static void every_direction_has_a_sentence(void **state)
{
    const char *seen[LANGUAGES * ATOLL_DIMENSIONS * 2 * ATOLL_BEHAVIOUR_LEVELS];
    size_t count = 0;
    for (size_t language = 0; language < LANGUAGES; language++) {
        for (unsigned d = 0; d < ATOLL_DIMENSIONS; d++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                for (unsigned level = 0; level < ATOLL_BEHAVIOUR_LEVELS; level++) {
                    const char *text = text_of(language, d, sign, level);
                    assert_int_equal(text != NULL, sign > 0 ? level < 3 : level > 0);
                    if (!text)
                        continue;
                    check_sentence(text);
                    for (size_t i = 0; i < count; i++)
                        assert_string_not_equal(seen[i], text);
                    seen[count++] = text;
                }
            }
        }
    }
    assert_int_equal(count, LANGUAGES * ATOLL_DIMENSIONS * 6);
}

/* A sentence speaks of the level it leads to, in words of the language. */
static void sentences_stand_at_their_level(void **state)
{
    static const struct {
        size_t language;
        unsigned dimension;
        int sign;
        unsigned level;
        const char *part;
    } cases[] = {
        {0, 0, 1, 1, "Block for the caches"},
        {0, 0, -1, 2, "Take the cache blocking out"},
        {0, 2, 1, 2, "atomic operations"},
        {0, 2, -1, 3, "Remove the atomic operations"},
        {1, 0, 1, 0, "threadIdx.x"},
        {1, 0, 1, 1, "Stage tiles of the inputs in shared memory"},
        {1, 0, -1, 2, "Take the shared tiles out"},
        {1, 0, 1, 2, "cp.async"},
        {1, 1, 1, 0, "Fuse"},
        {1, 1, 1, 1, "online softmax"},
        {1, 2, 1, 1, "__shfl_down_sync"},
        {1, 2, -1, 1, "Remove the barriers"},
        {2, 0, 1, 2, "num_stages"},
        {2, 1, -1, 2, "Go back from the running form"},
        {2, 2, -1, 3, "Finish every result inside one program"},
        {3, 0, 1, 1, "__local"},
        {3, 2, 1, 1, "sub_group_reduce_add"},
        {3, 2, -1, 3, "one work-group"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_non_null(strstr(text_of(cases[i].language, cases[i].dimension, cases[i].sign, cases[i].level),
                               cases[i].part));
    }
}

static void nothing_is_said_of_what_is_unknown(void **state)
{
    struct atoll_advice advice = {.dimension = 0, .level = 1, .sign = 1, .weight = 1};
    assert_null(atoll_advice_text("fortran", &advice));
    advice.dimension = ATOLL_DIMENSIONS;
    assert_null(atoll_advice_text("c", &advice));
    advice = (struct atoll_advice){.dimension = 0, .level = ATOLL_BEHAVIOUR_LEVELS, .sign = -1};
    assert_null(atoll_advice_text("c", &advice));
}

struct wanted {
    int dimension, sign;
};

static void the_strongest_directions_come_first(void **state)
{
    static const struct {
        double combined[ATOLL_DIMENSIONS];
        unsigned cell;
        size_t limit, count;
        struct wanted wanted[ATOLL_DIMENSIONS];
    } cases[] = {
        {{0.1, 0.2, -0.3}, CELL(1, 1, 1), 3, 3, {{2, -1}, {1, 1}, {0, 1}}},
        {{0.1, 0.2, -0.3}, CELL(1, 1, 1), 2, 2, {{2, -1}, {1, 1}}},
        {{0.1, 0.2, -0.3}, CELL(1, 1, 1), 0, 0, {{0, 0}}},
        {{0.1, 0.2, -0.3}, CELL(1, 1, 0), 3, 2, {{1, 1}, {0, 1}}},  /* nothing is below 0 */
        {{0.1, 0.2, -0.3}, CELL(3, 1, 1), 3, 2, {{2, -1}, {1, 1}}}, /* nor above 3 */
        {{-0.1, 0.2, 0.3}, CELL(3, 0, 2), 3, 3, {{2, 1}, {1, 1}, {0, -1}}},
        {{0.1, -0.1, 0.1}, CELL(1, 1, 1), 3, 3, {{0, 1}, {1, -1}, {2, 1}}}, /* ties */
        {{0, 0, 0}, CELL(1, 1, 1), 3, 0, {{0, 0}}},
        {{0.0039, -0.0039, 0.0041}, CELL(1, 1, 1), 3, 1, {{2, 1}}}, /* the threshold */
        {{NAN, INFINITY, -0.1}, CELL(1, 1, 1), 3, 1, {{2, -1}}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_gradient g;
        struct atoll_advice advice[ATOLL_DIMENSIONS];
        memset(&g, 0, sizeof(g));
        memcpy(g.combined, cases[i].combined, sizeof(g.combined));
        size_t count = atoll_advice_of(&g, cases[i].cell, cases[i].limit, advice);
        assert_int_equal(count, cases[i].count);
        for (size_t k = 0; k < count; k++) {
            int d = cases[i].wanted[k].dimension;
            const int levels[] = {(int)cases[i].cell / 16, (int)cases[i].cell / 4 % 4,
                                  (int)cases[i].cell % 4};
            assert_int_equal(advice[k].dimension, d);
            assert_int_equal(advice[k].sign, cases[i].wanted[k].sign);
            assert_int_equal(advice[k].level, levels[d]);
            expect_close(advice[k].weight, fabs(cases[i].combined[d]), 1e-15);
            assert_non_null(atoll_advice_text("cuda", &advice[k]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_direction_has_a_sentence),
        cmocka_unit_test(sentences_stand_at_their_level),
        cmocka_unit_test(nothing_is_said_of_what_is_unknown),
        cmocka_unit_test(the_strongest_directions_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

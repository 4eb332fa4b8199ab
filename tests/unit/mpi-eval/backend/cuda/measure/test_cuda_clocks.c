/* What a sample took by two clocks: honest ones, late looks, forged records. */
#include "tests/support/expect.h"

#include <math.h>

#include "mpi-eval/backend/cuda/measure/sample.h"

#define OPENED 500e3 /* of a sample that was watched: opened, flush, start */
#define START  600e3
#define FLUSH  110e3

static void test_span(void **state)
{
    static const struct {
        const char *what;
        struct atoll_clocks clocks;
        double ns;
        int doubted, late;
    } rows[] = {
        {"both agree", {136608, FLUSH, FLUSH, START, START + 137000, OPENED}, 136608, 0, 0},
        {"a stumble of less than the tolerance",
         {100e3, FLUSH, FLUSH, START, START + 110e3, OPENED},
         100e3,
         0,
         0},
        {"a long sample, clocks apart by parts in ten thousand",
         {1e9, FLUSH, FLUSH, START, START + 1.0005e9, OPENED},
         1e9,
         0,
         0},
        {"the host stumbled, or the start is forged",
         {51889, FLUSH, FLUSH, START, START + 136608, OPENED},
         136608,
         1,
         0},
        {"a little more than the tolerance",
         {100e3, FLUSH, FLUSH, START, START + 111e3, OPENED},
         111e3,
         1,
         0},
        {"two in a hundred forged", {9.8e6, FLUSH, FLUSH, START, START + 10e6, OPENED}, 10e6, 1, 0},
        {"the start was forged to be after the stop",
         {-5e3, FLUSH, FLUSH, START, START + 90e3, OPENED},
         90e3,
         1,
         0},
        {"a short one forged to nothing", {0, FLUSH, FLUSH, START, START + 4e3, OPENED}, 4e3, 1, 0},
        {"a record that cannot be read", {NAN, NAN, FLUSH, START, START + 90e3, OPENED}, 90e3, 1, 0},
        {"a device time that is too long costs the candidate alone",
         {300e3, FLUSH, FLUSH, START, START + 90e3, OPENED},
         300e3,
         0,
         0},
        {"a late look says little", {136608, FLUSH, FLUSH, START, START + 51889, START}, 136608, 0, 1},
        {"no gate is a late look", {136608, FLUSH, 0, START, START + 51889, NAN}, 136608, 0, 1},
        {"a late look and a slower flush", {136608, 125e3, FLUSH, START, START + 51889, START}, 136608, 0, 1},
        {"a late look and a forged start: the flush looks longer",
         {36e3, FLUSH + 100e3, FLUSH, START, START + 30e3, START},
         146e3 - 1.25 * 110e3 + 100e3,
         1,
         1},
        {"the same, but the flush is not known", {36e3, 210e3, 0, START, START + 30e3, START}, 36e3, 0, 1},
        {"late, forged, and seen to be longer", {36e3, FLUSH, FLUSH, START, START + 70e3, START}, 70e3, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int doubted = -1;
        double ns = atoll_clocks_span(&rows[i].clocks, &doubted);
        if (!(fabs(ns - rows[i].ns) < 1) || doubted != rows[i].doubted ||
            atoll_clocks_late(&rows[i].clocks) != rows[i].late)
            fail_msg("%s: %.0f ns, doubted %d, late %d", rows[i].what, ns, doubted,
                     atoll_clocks_late(&rows[i].clocks));
    }
}

static void test_nothing(void **state)
{
    static const struct atoll_clocks rows[] = {
        {NAN, NAN, FLUSH, NAN, NAN, NAN},
        {0, FLUSH, FLUSH, START, START, OPENED},
        {-1e9, FLUSH, 0, START, START, NAN},
        {INFINITY, FLUSH, FLUSH, START, NAN, OPENED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int doubted = 0;
        if (!isnan(atoll_clocks_span(&rows[i], &doubted)) || !doubted)
            fail_msg("row %zu says a time", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_span),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include <math.h>

#include "scheduler/cli/agreement.h"

static const struct row {
    const char *name;
    struct atoll_ratio recorded, measured;
    enum atoll_agreement_kind kind;
    double apart;
    const char *text;
} rows[] = {
    {"meet",
     {2, 1.9, 2.1},
     {2.15, 2.05, 2.3},
     ATOLL_AGREEMENT_AGREES,
     1,
     "recorded 2.00x (1.90 to 2.10), measured 2.15x (2.05 to 2.30): they agree"},
    {"touch",
     {2, 1.9, 2.1},
     {2.2, 2.1, 2.3},
     ATOLL_AGREEMENT_AGREES,
     1,
     "recorded 2.00x (1.90 to 2.10), measured 2.20x (2.10 to 2.30): they agree"},
    {"one holds the other",
     {2, 1, 4},
     {2.2, 2.1, 2.3},
     ATOLL_AGREEMENT_AGREES,
     1,
     "recorded 2.00x (1.00 to 4.00), measured 2.20x (2.10 to 2.30): they agree"},
    {"faster than the record",
     {33, 31, 35},
     {110, 100, 121},
     ATOLL_AGREEMENT_DISAGREES,
     100.0 / 35,
     "recorded 33.00x (31.00 to 35.00), measured 110.00x (100.00 to 121.00): they disagree, 3.33 times the "
     "record; "
     "the intervals are 2.86 times apart"},
    {"slower than the record",
     {8, 7.5, 8.5},
     {2, 1.9, 2.5},
     ATOLL_AGREEMENT_DISAGREES,
     3,
     "recorded 8.00x (7.50 to 8.50), measured 2.00x (1.90 to 2.50): they disagree, 0.25 times the record; "
     "the intervals are 3.00 times apart"},
    {"a record without an interval, within",
     {2, 0, 0},
     {2.05, 1.9, 2.2},
     ATOLL_AGREEMENT_AGREES,
     1,
     "recorded 2.00x (2.00 to 2.00), measured 2.05x (1.90 to 2.20): they agree"},
    {"a record without an interval, beside",
     {2, 0, 0},
     {5, 4, 6},
     ATOLL_AGREEMENT_DISAGREES,
     2,
     "recorded 2.00x (2.00 to 2.00), measured 5.00x (4.00 to 6.00): they disagree, 2.50 times the record; "
     "the intervals are 2.00 times apart"},
    {"no record",
     {0, 0, 0},
     {5, 4, 6},
     ATOLL_AGREEMENT_UNRECORDED,
     0,
     "the campaign made no final comparison to hold this against"},
    {"nothing measured",
     {2, 1.9, 2.1},
     {0, 0, 0},
     ATOLL_AGREEMENT_UNMEASURED,
     0,
     "recorded 2.00x (1.90 to 2.10), not measured again"},
};

static void the_intervals_decide(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct atoll_agreement a = atoll_agreement_of(row->recorded, row->measured);
        char text[256], little[20];

        if (a.kind != row->kind || fabs(a.times_apart - row->apart) > 1e-9)
            fail_msg("%s: kind %d, %g times apart", row->name, (int)a.kind, a.times_apart);
        assert_string_equal(atoll_agreement_text(&a, text, sizeof(text)), row->text);
        atoll_agreement_text(&a, little, sizeof(little)); /* cut, not overrun */
        assert_memory_equal(little, row->text, sizeof(little) - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_intervals_decide)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

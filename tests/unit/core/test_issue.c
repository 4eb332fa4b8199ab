#include "tests/support/expect.h"

#include "core/diagnosis.h"
#include "core/issue.h"
#include "base/random.h"

#define STAGES     ATOLL_ISSUE_STAGE_COUNT
#define BIT(issue) (UINT64_C(1) << ATOLL_ISSUE_##issue)

/* An issue of every stage. */
static const enum atoll_issue one_of[STAGES] = {
    [ATOLL_ISSUE_STAGE_ALGORITHM] = ATOLL_ISSUE_REDUNDANT_WORK,
    [ATOLL_ISSUE_STAGE_DISCOVERY] = ATOLL_ISSUE_OPEN_ENDED,
    [ATOLL_ISSUE_STAGE_DTYPE] = ATOLL_ISSUE_DTYPE_FLOAT64,
    [ATOLL_ISSUE_STAGE_FUSION] = ATOLL_ISSUE_UNFUSED_KERNELS,
    [ATOLL_ISSUE_STAGE_MEMORY] = ATOLL_ISSUE_MISSING_TILES,
    [ATOLL_ISSUE_STAGE_ADDRESSING] = ATOLL_ISSUE_MANUAL_ADDRESSING,
    [ATOLL_ISSUE_STAGE_PERSISTENT] = ATOLL_ISSUE_MISSING_PERSISTENT,
    [ATOLL_ISSUE_STAGE_DEVICE] = ATOLL_ISSUE_TILE_SIZE,
    [ATOLL_ISSUE_STAGE_TUNING] = ATOLL_ISSUE_FIXED_PARAMETERS,
};

static uint64_t issues_of(uint32_t stages)
{
    uint64_t issues = 0;
    for (unsigned stage = 0; stage < STAGES; stage++)
        if (stages >> stage & 1)
            issues |= UINT64_C(1) << one_of[stage];
    return issues;
}

/* Every arrow of the paper, and what follows from two of them. */
static const struct {
    enum atoll_issue_stage first, second;
} arrows[] = {
    {ATOLL_ISSUE_STAGE_ALGORITHM, ATOLL_ISSUE_STAGE_DTYPE},
    {ATOLL_ISSUE_STAGE_ALGORITHM, ATOLL_ISSUE_STAGE_FUSION},
    {ATOLL_ISSUE_STAGE_DISCOVERY, ATOLL_ISSUE_STAGE_DTYPE},
    {ATOLL_ISSUE_STAGE_DISCOVERY, ATOLL_ISSUE_STAGE_FUSION},
    {ATOLL_ISSUE_STAGE_DTYPE, ATOLL_ISSUE_STAGE_FUSION},
    {ATOLL_ISSUE_STAGE_MEMORY, ATOLL_ISSUE_STAGE_ADDRESSING},
    {ATOLL_ISSUE_STAGE_FUSION, ATOLL_ISSUE_STAGE_DEVICE},
    {ATOLL_ISSUE_STAGE_ADDRESSING, ATOLL_ISSUE_STAGE_DEVICE},
    {ATOLL_ISSUE_STAGE_DEVICE, ATOLL_ISSUE_STAGE_TUNING},
    {ATOLL_ISSUE_STAGE_ALGORITHM, ATOLL_ISSUE_STAGE_DEVICE},
    {ATOLL_ISSUE_STAGE_DISCOVERY, ATOLL_ISSUE_STAGE_DEVICE},
    {ATOLL_ISSUE_STAGE_DTYPE, ATOLL_ISSUE_STAGE_DEVICE},
    {ATOLL_ISSUE_STAGE_MEMORY, ATOLL_ISSUE_STAGE_DEVICE},
    {ATOLL_ISSUE_STAGE_ALGORITHM, ATOLL_ISSUE_STAGE_TUNING},
    {ATOLL_ISSUE_STAGE_DISCOVERY, ATOLL_ISSUE_STAGE_TUNING},
    {ATOLL_ISSUE_STAGE_DTYPE, ATOLL_ISSUE_STAGE_TUNING},
    {ATOLL_ISSUE_STAGE_FUSION, ATOLL_ISSUE_STAGE_TUNING},
    {ATOLL_ISSUE_STAGE_MEMORY, ATOLL_ISSUE_STAGE_TUNING},
    {ATOLL_ISSUE_STAGE_ADDRESSING, ATOLL_ISSUE_STAGE_TUNING},
};
#define ARROWS (sizeof(arrows) / sizeof(*arrows))

static void every_issue_has_a_row(void **state)
{
    assert_in_range(ATOLL_ISSUE_COUNT, 30, 64);
    for (unsigned i = 0; i < ATOLL_ISSUE_COUNT; i++) {
        const struct atoll_issue_row *row = atoll_issue_row((enum atoll_issue)i);
        unsigned stages = 0;
        assert_non_null(row->name);
        assert_true(strlen(row->meaning) > 10 && !strchr(row->meaning, '\n'));
        assert_in_range(row->severity, 1, ATOLL_ISSUE_SEVERITY_LIMIT);
        for (unsigned other = 0; other < i; other++)
            assert_string_not_equal(row->name, atoll_issue_row((enum atoll_issue)other)->name);
        for (unsigned stage = 0; stage < STAGES; stage++)
            stages += atoll_issues_of_stage(UINT64_C(1) << i, (enum atoll_issue_stage)stage) != 0;
        assert_int_equal(stages, 1);
        assert_int_equal(atoll_issue_stages(UINT64_C(1) << i), 1u << row->stage);
    }
    assert_null(atoll_issue_row(ATOLL_ISSUE_COUNT));
    assert_null(atoll_issue_row((enum atoll_issue) - 1));
    assert_int_equal(atoll_issue_stages(UINT64_C(1) << ATOLL_ISSUE_COUNT), 0);
}

static void every_stage_has_a_name_and_an_issue(void **state)
{
    for (unsigned stage = 0; stage < STAGES; stage++) {
        for (unsigned other = 0; other < stage; other++) {
            assert_string_not_equal(atoll_stage_name((enum atoll_issue_stage)stage),
                                    atoll_stage_name((enum atoll_issue_stage)other));
        }
        assert_int_equal(atoll_issue_row(one_of[stage])->stage, stage);
    }
    assert_string_equal(atoll_stage_name(ATOLL_ISSUE_STAGE_COUNT), "unknown");
}

static void precedences_are_the_paper_s(void **state)
{
    unsigned count = 0;
    for (unsigned a = 0; a < STAGES; a++)
        for (unsigned b = 0; b < STAGES; b++)
            count += atoll_stage_precedes((enum atoll_issue_stage)a, (enum atoll_issue_stage)b) != 0;
    assert_int_equal(count, ARROWS);
    for (size_t i = 0; i < ARROWS; i++)
        assert_true(atoll_stage_precedes(arrows[i].first, arrows[i].second));
    assert_false(atoll_stage_precedes(ATOLL_ISSUE_STAGE_COUNT, ATOLL_ISSUE_STAGE_TUNING));
    assert_false(atoll_stage_precedes(ATOLL_ISSUE_STAGE_TUNING, ATOLL_ISSUE_STAGE_COUNT));
}

static void a_violated_precedence_is_mended(void **state)
{
    for (size_t i = 0; i < ARROWS; i++) {
        uint8_t wished[2] = {(uint8_t)arrows[i].second, (uint8_t)arrows[i].first}, order[STAGES];
        uint64_t issues = issues_of(1u << arrows[i].first | 1u << arrows[i].second);
        assert_int_equal(atoll_stage_order_complete(atoll_issue_stages(issues), wished, 2, order), 2);
        assert_int_equal(order[0], arrows[i].first);
        assert_int_equal(order[1], arrows[i].second);
    }
}

static void check_legal(uint32_t stages, const uint8_t *order, size_t count)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(order[i] < STAGES);
        assert_false(seen >> order[i] & 1);
        for (size_t k = 0; k < ARROWS; k++)
            if (arrows[k].second == order[i] && (stages >> arrows[k].first & 1))
                assert_true(seen >> arrows[k].first & 1);
        seen |= 1u << order[i];
    }
    assert_int_equal(seen, stages);
}

/* A stage that comes although one that was wished before it was not over has an order that asked for it: something
 * before that one was still missing. */
static void check_wishes(const uint8_t *wished, size_t wished_count, uint32_t stages, const uint8_t *order,
                         size_t count)
{
    uint32_t left = stages;
    for (size_t i = 0; i < count; i++) {
        for (size_t w = 0; w < wished_count && wished[w] != order[i]; w++) {
            unsigned blocked = 0;
            if (wished[w] >= STAGES || !(left >> wished[w] & 1))
                continue;
            for (size_t k = 0; k < ARROWS; k++)
                blocked |= arrows[k].second == wished[w] && (left >> arrows[k].first & 1);
            assert_true(blocked);
        }
        left &= ~(1u << order[i]);
    }
}

static void every_set_of_stages_in_any_wished_order(void **state)
{
    struct atoll_random r = {7, 0};
    for (uint32_t stages = 0; stages < 1u << STAGES; stages++)
        for (unsigned trial = 0; trial < 100; trial++) {
            uint8_t wished[20], order[STAGES], again[STAGES];
            size_t wished_count = atoll_random_below(atoll_random_next(&r), 21);
            for (size_t i = 0; i < wished_count; i++) /* twice, beyond, without an issue, not at all */
                wished[i] = (uint8_t)atoll_random_below(atoll_random_next(&r), STAGES + 2);
            if (trial == 1 && wished_count)
                wished[0] = 255;
            size_t count = atoll_stage_order_complete(stages, wished, wished_count, order);
            check_legal(stages, order, count);
            check_wishes(wished, wished_count, stages, order, count);
            assert_int_equal(atoll_stage_order_complete(stages, wished, wished_count, again), count);
            assert_memory_equal(order, again, count);
        }
}

static void without_wishes_the_order_is_the_enum_s(void **state)
{
    uint8_t order[STAGES];
    assert_int_equal(atoll_stage_order_complete(~UINT32_C(0), NULL, 0, order), STAGES);
    for (unsigned stage = 0; stage < STAGES; stage++)
        assert_int_equal(order[stage], stage);
    assert_int_equal(atoll_stage_order_complete(0, (const uint8_t[]){1, 2}, 2, order), 0);
}

static void a_legal_wish_is_kept(void **state)
{
    static const uint8_t wished[] = {
        ATOLL_ISSUE_STAGE_PERSISTENT, ATOLL_ISSUE_STAGE_MEMORY,    ATOLL_ISSUE_STAGE_ADDRESSING,
        ATOLL_ISSUE_STAGE_DISCOVERY,  ATOLL_ISSUE_STAGE_ALGORITHM, ATOLL_ISSUE_STAGE_DTYPE,
        ATOLL_ISSUE_STAGE_FUSION,     ATOLL_ISSUE_STAGE_DEVICE,    ATOLL_ISSUE_STAGE_TUNING};
    uint8_t order[STAGES];
    assert_int_equal(atoll_stage_order_complete(~UINT32_C(0), wished, STAGES, order), STAGES);
    assert_memory_equal(order, wished, STAGES);
}

static void evidence_says_no_more_than_it_knows(void **state)
{
    static const struct {
        struct atoll_issue_evidence evidence;
        uint64_t issues;
    } cases[] = {
        {{.cell = 0, .time_ns = 100}, 0},
        {{.cell = 0, .time_ns = 100, .floor_ns = 100, .higher = 7, .has_open_parameters = 1}, 0},
        {{.cell = 0, .time_ns = 100.9, .floor_ns = 100, .higher = 7}, 0},
        {{.cell = 0, .time_ns = 102, .floor_ns = 100, .has_open_parameters = 1}, BIT(OPEN_PARAMETERS)},
        {{.cell = 0, .time_ns = 16, .floor_ns = 100, .has_open_parameters = 1},
         BIT(OPEN_PARAMETERS)}, /* no floor */
        {{.cell = 0, .time_ns = 200, .floor_ns = 100}, 0},
        {{.cell = 0, .time_ns = 201, .floor_ns = 100}, BIT(FAR_FROM_FLOOR)},
        {{.cell = 0, .time_ns = 100, .higher = 7},
         BIT(UNCOALESCED_ACCESS) | BIT(UNFUSED_ELEMENTWISE) | BIT(NO_COOPERATION)},
        {{.cell = 16 + 4 + 1, .time_ns = 100, .higher = 7},
         BIT(MISSING_TILES) | BIT(DIRECT_FORMULATION) | BIT(SUBGROUPS_UNUSED)},
        {{.cell = 32 + 8 + 2, .time_ns = 100, .higher = 7},
         BIT(MISSING_REGISTER_BLOCKING) | BIT(OPEN_ENDED) | BIT(MISSING_PERSISTENT)},
        {{.cell = 32 + 8 + 2, .time_ns = 100, .higher = 1}, BIT(MISSING_REGISTER_BLOCKING)},
        {{.cell = 32 + 8 + 2, .time_ns = 100, .higher = 2}, BIT(OPEN_ENDED)},
        {{.cell = 32 + 8 + 2, .time_ns = 100, .higher = 4}, BIT(MISSING_PERSISTENT)},
        {{.cell = 63, .time_ns = 100, .higher = 7}, 0}, /* nothing is above the top */
        {{.cell = 63, .time_ns = 100, .shown = BIT(BANK_CONFLICTS)}, BIT(BANK_CONFLICTS)},
        {{.cell = 63, .time_ns = 100, .floor_ns = 100, .shown = BIT(BANK_CONFLICTS)}, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(atoll_issues_of(&cases[i].evidence), cases[i].issues);
}

static void diagnoses_show_issues(void **state)
{
    static const struct {
        struct atoll_diagnosis d;
        uint64_t issues;
    } rows[] = {
        {{.limiter = ATOLL_LIMITER_UNKNOWN}, 0},
        {{.limiter = ATOLL_LIMITER_DRAM, .traffic = 0.9}, 0},
        {{.limiter = ATOLL_LIMITER_DRAM, .traffic = 0.3}, BIT(MISSING_TILES)},
        {{.limiter = ATOLL_LIMITER_BANK_CONFLICTS}, BIT(BANK_CONFLICTS)},
        {{.limiter = ATOLL_LIMITER_TAIL}, BIT(UNEVEN_WAVES)},
        {{.limiter = ATOLL_LIMITER_LATENCY, .stall = ATOLL_STALL_BARRIER}, BIT(EXCESS_BARRIERS)},
        {{.limiter = ATOLL_LIMITER_L2, .stall = ATOLL_STALL_BARRIER, .unused = 1u << ATOLL_UNUSED_WARPGROUP},
         BIT(TILE_SIZE) | BIT(NO_SWIZZLING) | BIT(MATRIX_UNITS_UNUSED)},
        {{.limiter = ATOLL_LIMITER_OCCUPANCY, .occupancy_by = ATOLL_OCCUPANCY_REGISTERS},
         BIT(LOW_OCCUPANCY) | BIT(REGISTER_PRESSURE)},
        {{.error = ATOLL_ERROR_TAIL, .limiter = ATOLL_LIMITER_TAIL}, 0},
        {{.limiter = ATOLL_LIMITER_COUNT, .stall = ATOLL_STALL_COUNT}, 0},
    };
    const struct atoll_resources spills = {.kernel_count = 2, .spill_load_bytes = 8};
    const struct atoll_diagnosis launch = {.limiter = ATOLL_LIMITER_LAUNCH};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(atoll_issues_of_diagnosis(&rows[i].d, NULL), rows[i].issues);
    assert_int_equal(atoll_issues_of_diagnosis(&launch, &spills),
                     BIT(LAUNCH_BOUND) | BIT(UNFUSED_KERNELS) | BIT(REGISTER_PRESSURE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagnoses_show_issues),
        cmocka_unit_test(every_issue_has_a_row),
        cmocka_unit_test(every_stage_has_a_name_and_an_issue),
        cmocka_unit_test(precedences_are_the_paper_s),
        cmocka_unit_test(a_violated_precedence_is_mended),
        cmocka_unit_test(every_set_of_stages_in_any_wished_order),
        cmocka_unit_test(without_wishes_the_order_is_the_enum_s),
        cmocka_unit_test(a_legal_wish_is_kept),
        cmocka_unit_test(evidence_says_no_more_than_it_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

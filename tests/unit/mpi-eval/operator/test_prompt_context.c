#include "tests/support/expect.h"

#include "mpi-eval/operator/prompt_context.h"
#include "tests/support/evaluation.h"

static struct atoll_device_info device_of(uint64_t key, const char *model)
{
    struct atoll_device_info device;
    memset(&device, 0, sizeof(device));
    device.key = key;
    snprintf(device.model, sizeof(device.model), "%s", model);
    return device;
}

static struct atoll_id id_of(unsigned number)
{
    return atoll_id_of(&number, sizeof(number));
}

static void add(struct atoll_prompt_context *d, struct atoll_id candidate, uint64_t device,
                enum atoll_verdict verdict, const char *detail)
{
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
    sample_evaluation(&event.evaluation);
    event.evaluation.candidate = candidate;
    event.evaluation.device = device;
    event.evaluation.verdict = verdict;
    snprintf(event.evaluation.detail, sizeof(event.evaluation.detail), "%s", detail);
    assert_int_equal(atoll_prompt_context_add_event(d, &event, NULL), 0);
    atoll_event_fini(&event);
}

static void expect_detail(const struct atoll_prompt_context *d, struct atoll_id candidate, const char *model,
                          const char *detail)
{
    struct atoll_evaluation found;
    int got = atoll_prompt_context_find(d, &candidate, model, &found, NULL);
    if (!detail) {
        assert_int_equal(got, 0);
        return;
    }
    assert_int_equal(got, 1);
    assert_string_equal(found.detail, detail);
    atoll_evaluation_fini(&found);
}

static struct atoll_prompt_context *create_limited(size_t limit_bytes)
{
    struct atoll_prompt_context *d = atoll_prompt_context_create(limit_bytes, NULL);
    const struct atoll_device_info devices[] = {device_of(1, "H200"), device_of(2, "A100"),
                                                device_of(3, "H200")};
    assert_non_null(d);
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
        assert_int_equal(atoll_prompt_context_add_device(d, &devices[i], NULL), 0);
    return d;
}

static struct atoll_prompt_context *create(void)
{
    return create_limited(0);
}

/* Everything but the samples. */
static void results_are_kept(void **state)
{
    struct atoll_prompt_context *d = create();
    struct atoll_evaluation e, found;
    struct atoll_id candidate = id_of(7);
    sample_evaluation(&e);
    add(d, candidate, 1, e.verdict, e.detail);
    assert_int_equal(atoll_prompt_context_find(d, &candidate, "H200", &found, NULL), 1);
    assert_int_equal(found.timing_count, e.timing_count);
    assert_int_equal(found.timings[0].sample_count, 0);
    assert_null(found.timings[0].samples_ns);
    assert_true(found.timings[0].summary.median == e.timings[0].summary.median);
    assert_true(found.profile.counters[ATOLL_COUNTER_DRAM_THROUGHPUT] == 88.25);
    assert_string_equal(found.detail, e.detail);
    atoll_evaluation_fini(&found);
    atoll_evaluation_fini(&e);
    atoll_prompt_context_destroy(d);
}

/* What was said of a candidate stays: the first result of each model that was not a failure of ours. */
static void the_first_result_of_a_model_counts(void **state)
{
    struct atoll_prompt_context *d = create();
    add(d, id_of(1), 1, ATOLL_V_INFRASTRUCTURE, "worker lost");
    expect_detail(d, id_of(1), "H200", NULL);
    add(d, id_of(1), 1, ATOLL_V_CORRECT, "first");
    add(d, id_of(1), 3, ATOLL_V_CORRECT, "second");
    add(d, id_of(1), 2, ATOLL_V_WRONG, "elsewhere");
    expect_detail(d, id_of(1), "H200", "first");
    expect_detail(d, id_of(1), "A100", "elsewhere");
    expect_detail(d, id_of(1), NULL, "first");
    expect_detail(d, id_of(1), "B200", "first");
    expect_detail(d, id_of(2), "H200", NULL);
    add(d, id_of(2), 2, ATOLL_V_CORRECT, "there alone");
    expect_detail(d, id_of(2), "H200", "there alone");
    atoll_prompt_context_destroy(d);
}

/* A baseline whose times were unstable is measured again, and is correct to all prompts then. */
static void an_unstable_result_gives_way(void **state)
{
    struct atoll_prompt_context *d = create();
    add(d, id_of(1), 1, ATOLL_V_UNSTABLE, "shaky");
    expect_detail(d, id_of(1), "H200", "shaky");
    add(d, id_of(1), 1, ATOLL_V_INFRASTRUCTURE, "worker lost");
    expect_detail(d, id_of(1), "H200", "shaky");
    add(d, id_of(1), 3, ATOLL_V_CORRECT, "measured");
    add(d, id_of(1), 1, ATOLL_V_CORRECT, "again");
    expect_detail(d, id_of(1), "H200", "measured");
    atoll_prompt_context_destroy(d);
}

/* What finds no room is not told, and stops nothing. */
static void a_full_one_says_less(void **state)
{
    struct atoll_prompt_context *d = create_limited(16384);
    for (unsigned i = 0; i < 100; i++)
        add(d, id_of(i), 1, ATOLL_V_CORRECT, "kept");
    expect_detail(d, id_of(0), "H200", "kept");
    expect_detail(d, id_of(99), "H200", NULL);
    atoll_prompt_context_destroy(d);
}

static void many_are_found(void **state)
{
    struct atoll_prompt_context *d = create();
    char detail[32];
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(detail, sizeof(detail), "number %u", i);
        add(d, id_of(i), 1 + i % 3, ATOLL_V_CORRECT, detail);
    }
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(detail, sizeof(detail), "number %u", i);
        expect_detail(d, id_of(i), NULL, detail);
    }
    atoll_prompt_context_destroy(d);
}

static void devices_stand_for_their_models(void **state)
{
    struct atoll_prompt_context *d = atoll_prompt_context_create(0, NULL), *none = d;
    assert_null(atoll_prompt_context_device(none, "H200"));
    atoll_prompt_context_destroy(none);
    d = create();
    assert_int_equal(atoll_prompt_context_device(d, "A100")->key, 2);
    assert_int_equal(atoll_prompt_context_device(d, "H200")->key, 1);
    assert_int_equal(atoll_prompt_context_device(d, "B200")->key, 1);
    assert_int_equal(atoll_prompt_context_device(d, NULL)->key, 1);
    atoll_prompt_context_destroy(d);
    atoll_prompt_context_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_kept),
        cmocka_unit_test(the_first_result_of_a_model_counts),
        cmocka_unit_test(an_unstable_result_gives_way),
        cmocka_unit_test(a_full_one_says_less),
        cmocka_unit_test(many_are_found),
        cmocka_unit_test(devices_stand_for_their_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/support/expect.h"

#include "core/decision.h"
#include "scheduler/job/pilot.h"
#include "tests/unit/scheduler/sweep_scene.h"

#define LEASE_S 90.0

static struct atoll_lease_holder self, other;
static double now_ns;

static int set_up(void **state)
{
    atoll_lease_holder_self("12", 0, &self);
    other = self;
    snprintf(other.job, sizeof(other.job), "13");
    snprintf(other.host, sizeof(other.host), "elsewhere"); /* so that nobody can say that it is dead */
    snprintf(other.boot, sizeof(other.boot), "another");
    now_ns = 1e12;
    return scene_set_up(state);
}

static struct atoll_pilot_choice *choice_create(size_t first)
{
    struct atoll_pilot_choice *choice = atoll_pilot_choice_create(scene_sweep, &self, first, LEASE_S, NULL);
    assert_non_null(choice);
    return choice;
}

/* What is offered after so many seconds; the part, or 99. */
static size_t part_after(struct atoll_pilot_choice *choice, double seconds, enum atoll_offer expected,
                         uint32_t epoch)
{
    enum atoll_offer offer;
    size_t part = 99;
    uint32_t silent = 0;
    now_ns += seconds * 1e9;
    assert_int_equal(atoll_pilot_choose(choice, now_ns, &offer, &part, &silent, NULL), 0);
    assert_int_equal(offer, expected);
    if (offer == ATOLL_OFFER_PART)
        assert_int_equal(silent, epoch);
    return part;
}

static struct atoll_lease *take(size_t part, const struct atoll_lease_holder *holder)
{
    char path[PATH_MAX];
    assert_int_equal(atoll_sweep_part_path(scene_sweep, part, path, sizeof(path), NULL), 0);
    struct atoll_lease *lease = atoll_lease_claim(path, holder, 0, NULL, NULL);
    assert_non_null(lease);
    return lease;
}

static const char *ended(void)
{
    return atoll_reason_name((enum atoll_reason)0);
}

static void test_jobs_begin_with_different_parts(void **state)
{
    for (size_t first = 0; first < 2 * SCENE_PARTS; first++) {
        struct atoll_pilot_choice *choice = choice_create(first);
        assert_int_equal(part_after(choice, 0, ATOLL_OFFER_PART, 0), first % SCENE_PARTS);
        atoll_pilot_choice_destroy(choice);
    }
    atoll_pilot_choice_destroy(NULL);
}

static void test_ended_parts_are_passed_over(void **state)
{
    struct atoll_pilot_choice *choice = choice_create(0);
    scene_part_run(0, ended());
    scene_part_run(1, NULL); /* killed: open */
    assert_int_equal(part_after(choice, 0, ATOLL_OFFER_PART, 0), 1);
    for (size_t i = 1; i < SCENE_PARTS; i++)
        scene_part_run(i, ended());
    part_after(choice, 0, ATOLL_OFFER_ENDED, 0);
    atoll_pilot_choice_destroy(choice);
}

static void test_a_holder_that_beats_is_left_alone_and_a_silent_one_is_not(void **state)
{
    struct atoll_pilot_choice *choice = choice_create(0);
    struct atoll_lease *lease = take(0, &other);
    for (size_t i = 1; i < SCENE_PARTS; i++)
        scene_part_run(i, ended());
    part_after(choice, 0, ATOLL_OFFER_WAIT, 0); /* nobody knows yet whether it lives */
    part_after(choice, 10, ATOLL_OFFER_WAIT, 0);
    assert_int_equal(atoll_lease_renew(lease, NULL), 0);
    part_after(choice, 2, ATOLL_OFFER_NONE, 0); /* it lives */
    part_after(choice, 40, ATOLL_OFFER_WAIT, 0);
    part_after(choice, 49, ATOLL_OFFER_WAIT, 0);
    assert_int_equal(part_after(choice, 1, ATOLL_OFFER_PART, 1), 0); /* 90 s: its epoch stood still */
    atoll_lease_release(lease);
    assert_int_equal(part_after(choice, 1, ATOLL_OFFER_PART, 0), 0); /* it left in order */
    atoll_pilot_choice_destroy(choice);
}

static void test_a_new_epoch_is_watched_anew(void **state)
{
    struct atoll_pilot_choice *choice = choice_create(0);
    for (size_t i = 1; i < SCENE_PARTS; i++)
        scene_part_run(i, ended());
    struct atoll_lease *lease = take(0, &other);
    part_after(choice, 0, ATOLL_OFFER_WAIT, 0);
    atoll_lease_release(lease);
    lease = take(0, &other);
    part_after(choice, 89, ATOLL_OFFER_WAIT, 0);
    part_after(choice, 89, ATOLL_OFFER_WAIT, 0);
    assert_int_equal(part_after(choice, 2, ATOLL_OFFER_PART, 2), 0);
    atoll_lease_release(lease);
    atoll_pilot_choice_destroy(choice);
}

static void test_three_steps_without_a_result_give_a_part_up(void **state)
{
    struct atoll_pilot_choice *choice = choice_create(0);
    for (int i = 0; i < 2; i++)
        atoll_pilot_choice_record(choice, 0, 0);
    atoll_pilot_choice_record(choice, 0, 1); /* one result, and it counts from the beginning */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(part_after(choice, 0, ATOLL_OFFER_PART, 0), 0);
        atoll_pilot_choice_record(choice, 0, 0);
    }
    assert_int_equal(atoll_pilot_choice_given_up(choice), 1);
    assert_int_equal(part_after(choice, 0, ATOLL_OFFER_PART, 0), 1);
    for (size_t i = 1; i < SCENE_PARTS; i++)
        scene_part_run(i, ended());
    part_after(choice, 0, ATOLL_OFFER_NONE, 0); /* not ENDED: nobody may finish it */
    atoll_pilot_choice_destroy(choice);
}

static void test_a_damaged_part_costs_itself_only(void **state)
{
    struct atoll_pilot_choice *choice = choice_create(0);
    char path[PATH_MAX];
    scene_part_damage(0);
    scene_part_path(1, "campaign.yaml", path);
    unlink(path);
    assert_int_equal(part_after(choice, 0, ATOLL_OFFER_PART, 0), 2);
    scene_part_run(2, ended());
    scene_part_run(3, ended());
    part_after(choice, 2, ATOLL_OFFER_WAIT, 0); /* perhaps it was seen in pieces */
    part_after(choice, 2, ATOLL_OFFER_NONE, 0);
    assert_int_equal(atoll_pilot_choice_given_up(choice), 2);
    atoll_pilot_choice_destroy(choice);
}

static void test_a_part_that_is_whole_again_is_taken(void **state)
{
    struct atoll_pilot_choice *choice = choice_create(0);
    char path[PATH_MAX];
    size_t length;
    scene_part_path(0, "campaign.yaml", path);
    char *text = scratch_read(path, &length);
    for (int i = 0; i < 3; i++) {
        scene_part_damage(0);
        assert_int_equal(part_after(choice, 0, ATOLL_OFFER_PART, 0), 1);
        assert_int_equal(part_after(choice, 0, ATOLL_OFFER_PART, 0), 1);
        scratch_write(path, text, length);
        assert_int_equal(part_after(choice, 0, ATOLL_OFFER_PART, 0), 0);
    }
    free(text);
    atoll_pilot_choice_destroy(choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_jobs_begin_with_different_parts, set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_ended_parts_are_passed_over, set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_a_holder_that_beats_is_left_alone_and_a_silent_one_is_not,
                                        set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_a_new_epoch_is_watched_anew, set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_three_steps_without_a_result_give_a_part_up, set_up,
                                        scene_tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_part_costs_itself_only, set_up, scene_tear_down),
        cmocka_unit_test_setup_teardown(test_a_part_that_is_whole_again_is_taken, set_up, scene_tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A part that begins is given what ended parts learned: parts are copies of a campaign that a distiller took part in
 * (tests/fixtures/cassettes). */
#include "tests/support/expect.h"

#include "archive-h5/campaign/campaign.h"
#include "archive-h5/campaign/hints.h"
#include "archive-h5/campaign/learned.h"
#include "scheduler/campaign/learned.h"
#include "tests/unit/archive-h5/scratch.h"

#define CASSETTES ATOLL_SOURCE_DIR "/tests/fixtures/cassettes"
#define PARTS     3

static char dir[PATH_MAX];
static struct atoll_sweep *sweep;

/* With the folder of a part behind it. */
static void run(const char *command, size_t part)
{
    char line[2 * PATH_MAX];
    assert_true(snprintf(line, sizeof(line), "%s '%s/parts/000%zu'", command, dir, part) < (int)sizeof(line));
    assert_int_equal(system(line), 0);
}

/* Each another campaign; what it did is in it where it ended. */
static void part_make(size_t part, int has_ended)
{
    static const char *const copies[PARTS][2] = {
        {"cp " CASSETTES "/roles-islands/campaign/*.*", "cp -r " CASSETTES "/roles-islands/campaign/jobs"},
        {"cp " CASSETTES "/engine10-islands/campaign/*.*",
         "cp -r " CASSETTES "/engine10-islands/campaign/jobs"},
        {"cp " CASSETTES "/roles-beam/campaign/*.*", "cp -r " CASSETTES "/roles-beam/campaign/jobs"}};
    run("mkdir -p", part);
    run(copies[part][0], part);
    if (has_ended)
        run(copies[part][1], part);
}

static int set_up(void **state)
{
    static const struct atoll_sweep_part parts[PARTS] = {{"0000", 1}, {"0001", 1}, {"0002", 1}};
    static char id[] = "9452ab1ac5e09ac82c5c8894845c3da1cd7a7416af43bed614d6b49ae3fa4fa6";
    const struct atoll_sweep made = {.id = id,
                                     .atoll_version = "0.1.0",
                                     .backend = "null",
                                     .jobs = 1,
                                     .nodes = 1,
                                     .evaluators_per_node = 1,
                                     .time_min = 5,
                                     .share = 1,
                                     .parts = parts,
                                     .part_count = PARTS};
    (void)state;
    scratch_make(dir);
    assert_int_equal(atoll_sweep_write(&made, dir, NULL), 0);
    for (size_t i = 0; i < PARTS; i++)
        part_make(i, i == 0);
    size_t length;
    char path[PATH_MAX], *knowledge = scratch_read(CASSETTES "/knowledge.json", &length);
    scratch_write(scratch_join(path, dir, "knowledge.json"), knowledge, length);
    free(knowledge);
    sweep = atoll_sweep_open(dir, NULL);
    assert_non_null(sweep);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_sweep_close(sweep);
    scratch_remove(dir);
    return 0;
}

static void give(size_t part, size_t *ret_hints, size_t *ret_parts)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    if (atoll_learned_give(sweep, part, ret_hints, ret_parts, &err) != 0)
        fail_msg("%s", err.text);
}

/* Of its hints: all that the campaign has, and those of the distiller. */
static size_t hints_of(size_t part, size_t *ret_distilled, double *ret_uses)
{
    char path[PATH_MAX];
    struct atoll_hint_file file;
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_int_equal(atoll_sweep_part_path(sweep, part, path, sizeof(path), NULL), 0);
    struct atoll_campaign *c = atoll_campaign_open(path, NULL, &err);
    if (!c || atoll_campaign_hints_read(c, &file, &err) != 0)
        fail_msg("%s", err.text);
    *ret_distilled = 0;
    *ret_uses = 0;
    for (size_t i = 0; i < file.hint_count; i++) {
        *ret_distilled += file.hints[i].origin == ATOLL_HINT_DISTILLED;
        *ret_uses += file.hints[i].prior.uses;
    }
    size_t count = file.hint_count;
    atoll_hint_file_fini(&file);
    atoll_campaign_close(c);
    return count;
}

static void a_part_begins_with_what_others_learned(void **state)
{
    size_t hints, parts, distilled, before = 0;
    double uses, more;
    (void)state;
    before = hints_of(1, &distilled, &uses);
    assert_true(before > 40 && distilled == 0 && uses == 0);
    give(0, &hints, &parts); /* it has ended */
    assert_int_equal(hints, 0);
    give(1, &hints, &parts);
    assert_true(hints > 1 && parts == 1);
    size_t all = hints_of(1, &distilled, &uses);
    assert_int_equal(all, before + distilled);
    assert_true(distilled > 0 && uses > 0);
    give(1, &hints, &parts); /* once */
    assert_int_equal(hints, 0);
    part_make(1, 1); /* it ends */
    give(2, &hints, &parts);
    assert_int_equal(parts, 2);
    all = hints_of(2, &distilled, &more);
    assert_true(all == before + distilled && more > uses);
    /* from the parts themselves it is the same: what is in the file of another is not counted twice */
    char path[PATH_MAX];
    double again;
    assert_int_equal(unlink(scratch_join(path, dir, "parts/0001/" ATOLL_LEARNED_FILE)), 0);
    assert_int_equal(unlink(scratch_join(path, dir, "parts/0002/" ATOLL_LEARNED_FILE)), 0);
    give(1, &hints, &parts); /* it has begun without */
    assert_int_equal(hints, 0);
    give(2, &hints, &parts);
    assert_int_equal(parts, 2);
    assert_int_equal(hints_of(2, &distilled, &again), all);
    assert_true(again >= more && again <= more);
}

/* Whose model is told no hints, and whose samples must not know of each other. */
static void not_everybody_is_given_any(void **state)
{
    static const char *const edits[] = {
        "f() { sed -i 's/^  hints: 1/  hints: 0/' \"$1/campaign.yaml\"; }; f",
        "f() { sed -i 's/^  strategy: .*/  strategy: repeated/' \"$1/campaign.yaml\"; }; f"};
    size_t hints, parts;
    (void)state;
    for (size_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
        char path[PATH_MAX];
        part_make(1, 0);
        run(edits[i], 1);
        give(1, &hints, &parts);
        assert_int_equal(hints, 0);
        assert_int_equal(access(scratch_join(path, dir, "parts/0001/" ATOLL_LEARNED_FILE), F_OK), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_part_begins_with_what_others_learned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_everybody_is_given_any, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

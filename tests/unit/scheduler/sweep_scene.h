/* sweep_scene.h - a submitted campaign of some parts on disk, whose parts a test ends and damages. */
#ifndef ATOLL_TEST_SWEEP_SCENE_H
#define ATOLL_TEST_SWEEP_SCENE_H

#include "archive-h5/campaign/campaign.h"
#include "scheduler/campaign/sweep.h"
#include "tests/unit/archive-h5/scratch.h"

#define SCENE_PARTS 4
#define SCENE_ID    "9452ab1ac5e09ac82c5c8894845c3da1cd7a7416af43bed614d6b49ae3fa4fa6"

static char scene_dir[PATH_MAX];
static struct atoll_sweep *scene_sweep;

static inline void scene_part_path(size_t part, const char *name, char ret_path[PATH_MAX])
{
    char dir[PATH_MAX];
    assert_int_equal(atoll_sweep_part_path(scene_sweep, part, dir, sizeof(dir), NULL), 0);
    scratch_join(ret_path, dir, name);
}

static inline void scene_part_make(size_t part)
{
    char suite[PATH_MAX], path[PATH_MAX];
    struct atoll_campaign_task task = {"softmax", scratch_join(suite, scene_dir, "suite"), sample_id(1)};
    struct atoll_config config = {
        .engine_version = 1, .atoll_version = "0.1.0", .task_count = 1, .tasks = &task};
    config.id = sample_id(part);
    atoll_search_defaults(&config.search);
    assert_int_equal(atoll_sweep_part_path(scene_sweep, part, path, sizeof(path), NULL), 0);
    struct atoll_campaign *campaign = atoll_campaign_create(path, &config, NULL, NULL);
    assert_non_null(campaign);
    atoll_campaign_close(campaign);
}

/* An attempt with one result; reason: of its end, NULL for a killed one. */
static inline void scene_part_run(size_t part, const char *reason)
{
    char path[PATH_MAX];
    const char *attempt;
    uint64_t number;
    struct atoll_lease_holder self;
    struct atoll_event event;
    struct atoll_decision decision = sample_evaluate(1, 0);
    assert_int_equal(atoll_sweep_part_path(scene_sweep, part, path, sizeof(path), NULL), 0);
    struct atoll_campaign *campaign = atoll_campaign_open(path, NULL, NULL);
    atoll_lease_holder_self("local", 0, &self);
    assert_int_equal(atoll_campaign_claim(campaign, &self, 0, NULL, NULL), 0);
    struct atoll_journal *journal = atoll_campaign_start_attempt(campaign, "local", 1, 5, &attempt, NULL);
    assert_non_null(journal);
    sample_tick(&event, 1);
    assert_int_equal(atoll_journal_append_event(journal, &event, &number, NULL), 0);
    assert_int_equal(atoll_journal_append_decisions(journal, number, &decision, 1, NULL), 0);
    atoll_event_fini(&event);
    if (reason)
        assert_int_equal(atoll_journal_append_close(journal, 7, reason, NULL), 0);
    assert_int_equal(atoll_journal_sync(journal, NULL), 0);
    atoll_journal_destroy(journal);
    atoll_campaign_close(campaign);
}

static inline void scene_part_damage(size_t part)
{
    char path[PATH_MAX];
    scene_part_path(part, "campaign.yaml", path);
    scratch_write(path, "version: [", 10);
}

static inline int scene_set_up(void **state)
{
    static const struct atoll_sweep_part parts[SCENE_PARTS] = {
        {"0000", 1}, {"0001", 1}, {"0002", 1}, {"0003", 1}};
    const struct atoll_sweep sweep = {.id = SCENE_ID,
                                      .atoll_version = "0.1.0",
                                      .backend = "null",
                                      .jobs = 2,
                                      .nodes = 1,
                                      .evaluators_per_node = 1,
                                      .time_min = 5,
                                      .share = 1,
                                      .parts = parts,
                                      .part_count = SCENE_PARTS};
    char path[PATH_MAX];
    (void)state;
    scratch_make(scene_dir);
    mkdir(scratch_join(path, scene_dir, "suite"), 0777);
    scratch_write(scratch_join(path, scene_dir, "suite/task.yaml"), "name: a\n", 8);
    mkdir(scratch_join(path, scene_dir, "parts"), 0777);
    assert_int_equal(atoll_sweep_write(&sweep, scene_dir, NULL), 0);
    scene_sweep = atoll_sweep_open(scene_dir, NULL);
    assert_non_null(scene_sweep);
    for (size_t i = 0; i < SCENE_PARTS; i++)
        scene_part_make(i);
    return 0;
}

static inline int scene_tear_down(void **state)
{
    (void)state;
    atoll_sweep_close(scene_sweep);
    scratch_remove(scene_dir);
    return 0;
}

#endif

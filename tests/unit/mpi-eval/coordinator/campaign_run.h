/* campaign_run.h - a whole campaign of two starter tasks in a folder of its own, run against the evaluators of fake_peers.h. */
#ifndef ATOLL_TESTS_UNIT_MPI_EVAL_COORDINATOR_CAMPAIGN_RUN_H
#define ATOLL_TESTS_UNIT_MPI_EVAL_COORDINATOR_CAMPAIGN_RUN_H

#include "tests/unit/mpi-eval/coordinator/fake_peers.h"

static inline int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    return remove(path);
}

static inline int dir_make(void **state)
{
    static char dir[] = ATOLL_BUILD_DIR "/tests/coordinator.XXXXXX";
    static char path[sizeof(dir)];
    memcpy(path, dir, sizeof(dir));
    *state = mkdtemp(path);
    return *state ? 0 : -1;
}

static inline int dir_remove(void **state)
{
    return nftw(*state, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *path_of(void **state, const char *name)
{
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", (const char *)*state, name);
    return path;
}

static inline void campaign_make_with(void **state, const struct atoll_search *search)
{
    static const char *const names[] = {"softmax_rows", "transpose"};
    static char dirs[2][512];
    struct atoll_campaign_task told[2];
    struct atoll_task *tasks[2];
    struct atoll_config config = {.engine_version = ATOLL_ENGINE_VERSION, .task_count = 2, .tasks = told};
    for (int i = 0; i < 2; i++) {
        snprintf(dirs[i], sizeof(dirs[i]), "%s/suites/starter/%s", ATOLL_SOURCE_DIR, names[i]);
        tasks[i] = atoll_task_load(dirs[i], NULL);
        assert_non_null(tasks[i]);
        told[i] = (struct atoll_campaign_task){tasks[i]->name, dirs[i], tasks[i]->id};
    }
    snprintf(config.atoll_version, sizeof(config.atoll_version), "%s", ATOLL_VERSION);
    config.id = atoll_id_of("test", 4);
    config.search = *search;
    struct atoll_campaign *campaign = atoll_campaign_create(path_of(state, "c"), &config, NULL, NULL);
    assert_non_null(campaign);
    atoll_campaign_close(campaign);
    atoll_task_destroy(tasks[0]);
    atoll_task_destroy(tasks[1]);
}

static inline struct atoll_search search_of(void)
{
    struct atoll_search search;
    atoll_search_defaults(&search);
    search.seed = 7;
    search.evaluation_budget = BUDGET;
    return search;
}

static inline void campaign_make(void **state)
{
    struct atoll_search search = search_of();
    campaign_make_with(state, &search);
}

static inline void fake_stage(void *context, enum atoll_handover_stage stage)
{
    struct peers *p = context;
    assert_true(p->told_count < 4);
    p->told[p->told_count++] =
        (struct told){stage, p->stops, p->results, access(path_of(p->state, "c/archive.h5"), F_OK) == 0};
}

/* Evaluators were told to stop, and the attempt's archive is not there yet. */
static inline void fake_life(void *context)
{
    struct peers *p = context;
    assert_true(p->stops > 0);
    if (p->lives++ == 0 && !p->had_archive)
        assert_int_not_equal(access(path_of(p->state, "c/archive.h5"), F_OK), 0);
}

static inline int fake_devices(void *context)
{
    struct peers *p = context;
    if (p->devices_after > 0) {
        for (unsigned i = 0; i < PEERS; i++)
            assert_int_equal(p->setups[i], 0);
        enqueue_pulse(p, p->devices_after % PEERS);
        return --p->devices_after == 0;
    }
    return 1;
}

static inline int campaign_run_with(void **state, struct peers *p, sig_atomic_t interrupts,
                                    struct atoll_coordinator_result *ret_result, struct atoll_err *err)
{
    struct atoll_setup setup;
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, err);
    assert_non_null(campaign);
    assert_int_equal(atoll_campaign_lock(campaign, err), 0);
    assert_int_equal(atoll_setup_of_campaign(campaign, 1, &setup, err), 0);
    int progress = open(path_of(state, "progress"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    p->had_archive = access(path_of(state, "c/archive.h5"), F_OK) == 0;
    const struct atoll_coordinator_settings settings = {
        .peers = {p, PEERS, 0, fake_send, fake_receive, fake_wait, fake_pollfds, fake_drop, fake_waiting},
        .campaign = campaign,
        .setup = &setup,
        .job = "test",
        .ack_log = path_of(state, "acks"),
        .progress_fd = progress,
        .heartbeat_timeout_ns = p->mischief == HANGS ? 15e9 : 1e12,
        .now_ns = has_own_clock(p) ? fake_now : NULL,
        .interrupts = &p->asked,
        .drains_on_interrupt = p->drains,
        .until_ns = p->until_ns,
        .is_to_finish = p->finishes,
        .extension = p->extension,
        .on_stage = fake_stage,
        .on_life = fake_life,
        .has_devices = p->waits_for_devices ? fake_devices : NULL,
        .stage_context = p};
    p->state = state;
    p->asked = interrupts;
    int rc = atoll_coordinator_run(&settings, ret_result, err);
    close(progress);
    atoll_campaign_close(campaign);
    return rc;
}

static inline int campaign_run(void **state, enum mischief mischief, sig_atomic_t interrupts,
                               struct atoll_coordinator_result *ret_result, struct atoll_err *err)
{
    struct peers *p = peers_create(mischief);
    int rc = campaign_run_with(state, p, interrupts, ret_result, err);
    peers_destroy(p);
    return rc;
}

#endif

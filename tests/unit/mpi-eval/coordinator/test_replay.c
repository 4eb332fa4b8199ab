/* A search driven by hand, killed, and started again: from its last snapshot it is what it is from its first
 * event. */
#include "tests/support/expect.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "mpi-eval/coordinator/replay.h"
#include "mpi-eval/coordinator/resume.h"
#include "mpi-eval/evaluator/synthetic.h"

#define ORDERS 512

static const struct atoll_file_ops *counted_ops; /* NULL = the real ones */

/* What the engine wants, as orders; the first in the list is answered next. */
struct drive {
    struct atoll_campaign *campaign;
    struct atoll_resumed resumed;
    struct atoll_decision orders[ORDERS];
    size_t count;
};

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    return remove(path);
}

static int dir_make(void **state)
{
    static char path[] = ATOLL_BUILD_DIR "/tests/replay.XXXXXX";
    memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
    *state = mkdtemp(path);
    return *state ? 0 : -1;
}

static int dir_remove(void **state)
{
    return nftw(*state, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(void **state, const char *name)
{
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", (const char *)*state, name);
    return path;
}

static void campaign_make(void **state)
{
    static const char dir[] = ATOLL_SOURCE_DIR "/suites/starter/softmax_rows";
    struct atoll_task *task = atoll_task_load(dir, NULL);
    assert_non_null(task);
    struct atoll_campaign_task listed = {task->name, dir, task->id};
    struct atoll_config config = {.engine_version = ATOLL_ENGINE_VERSION, .task_count = 1, .tasks = &listed};
    config.id = atoll_id_of("replay", 6);
    atoll_search_defaults(&config.search);
    config.search.seed = 11;
    config.search.queue_depth = 16;
    config.search.evaluation_budget = 100000;
    config.search.wall_budget_ns = 0;
    struct atoll_campaign *campaign = atoll_campaign_create(path_of(state, "c"), &config, NULL, NULL);
    assert_non_null(campaign);
    atoll_campaign_close(campaign);
    atoll_task_destroy(task);
}

static void order_add(struct drive *d, const struct atoll_decision *decision)
{
    if (decision->type != ATOLL_DECIDE_EVALUATE && decision->type != ATOLL_DECIDE_DUEL)
        return;
    for (size_t i = 0; i < d->count; i++)
        if (d->orders[i].evaluation == decision->evaluation)
            return;
    assert_true(d->count < ORDERS);
    d->orders[d->count++] = *decision;
}

/* The round becomes durable, and what the engine decides on it becomes orders. */
static int round_commit(struct drive *d, struct atoll_err *err)
{
    struct atoll_commit_step step;
    int got = atoll_commit_sync(d->resumed.commit, err) == 0 ? 1 : -1;
    while (got == 1 && (got = atoll_commit_step(d->resumed.commit, &step, err)) == 1)
        for (size_t i = 0; i < step.decision_count; i++)
            order_add(d, &step.decisions[i]);
    return got;
}

static void under_way_add(void *context, const struct atoll_decision *decision)
{
    order_add(context, decision);
}

static void drive_start(struct drive *d, void **state, uint64_t snapshot_events)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    memset(d, 0, sizeof(*d));
    d->campaign = atoll_campaign_open(path_of(state, "c"), counted_ops, &err);
    assert_non_null(d->campaign);
    assert_int_equal(atoll_campaign_lock(d->campaign, &err), 0);
    const struct atoll_resume_settings settings = {
        .campaign = d->campaign, .job = "test", .now_unix_ns = 1000, .snapshot_events = snapshot_events};
    if (atoll_resume(&settings, &d->resumed, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < d->resumed.decisions.count; i++)
        order_add(d, &d->resumed.decisions.items[i]);
    atoll_decisions_fini(&d->resumed.decisions);
    struct atoll_event event;
    atoll_event_init(&event, ATOLL_EVENT_CAPACITY);
    event.slots = 4;
    event.campaign_ns = d->resumed.campaign_ns;
    assert_int_equal(atoll_commit_add(d->resumed.commit, &event, &err), 0);
    assert_int_equal(round_commit(d, &err), 0);
    atoll_engine_under_way(atoll_commit_engine(d->resumed.commit), under_way_add, d);
}

/* The result of the oldest order, as the null backend gives it. */
static void answer_add(struct drive *d)
{
    struct atoll_event event;
    assert_true(d->count > 0);
    const struct atoll_decision *decision = &d->orders[0];
    struct atoll_order order = {.evaluation = decision->evaluation,
                                .task = decision->task,
                                .purpose = decision->purpose,
                                .candidate = {.id = decision->candidate, .choice = decision->choice},
                                .elite = {.id = decision->elite},
                                .margin = decision->margin,
                                .pair_limit = decision->pair_limit};
    if (decision->type == ATOLL_DECIDE_DUEL) {
        atoll_event_init(&event, ATOLL_EVENT_DUELLED);
        atoll_synthetic_duel(&order, &event.duel);
    } else {
        const struct atoll_task *task =
            atoll_engine_task(atoll_commit_engine(d->resumed.commit), decision->task);
        atoll_event_init(&event, ATOLL_EVENT_EVALUATED);
        assert_int_equal(atoll_engine_source(atoll_commit_engine(d->resumed.commit), &decision->source,
                                             &order.candidate.language, &order.candidate.source),
                         0);
        assert_int_equal(atoll_synthetic_evaluate(task, &order, &event.evaluation, NULL), 0);
        memset(event.evaluation.detail, 'x', 1600); /* as long as real evidence */
    }
    event.campaign_ns = d->resumed.campaign_ns += 1000000;
    assert_int_equal(atoll_commit_add(d->resumed.commit, &event, NULL), 0);
    memmove(d->orders, d->orders + 1, --d->count * sizeof(d->orders[0]));
}

/* Rounds of up to eight results. */
static void drive_answer(struct drive *d, unsigned results)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    while (results > 0) {
        assert_true(d->count > 0);
        for (unsigned i = 0; i < 8 && results > 0 && d->count > 0; i++, results--)
            answer_add(d);
        if (round_commit(d, &err) != 0)
            fail_msg("%s", err.text);
    }
}

/* The decisions and the snapshot of the last round are lost with the process. */
static void drive_kill(struct drive *d)
{
    atoll_commit_destroy(d->resumed.commit);
    atoll_campaign_close(d->campaign);
}

static void attempt_run(void **state, unsigned results, uint64_t snapshot_events)
{
    static struct drive drive;
    drive_start(&drive, state, snapshot_events);
    drive_answer(&drive, results);
    drive_kill(&drive);
}

/* Both ways of replaying; gives how many events the short one stepped. */
static uint64_t latest_equals_whole(void **state, uint64_t *ret_events)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replayed latest, whole;
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, &err);
    assert_non_null(campaign);
    if (atoll_replay_campaign(campaign, NULL, &whole, &err) != 0 ||
        atoll_replay_latest(campaign, &latest, &err) != 0)
        fail_msg("%s", err.text);
    struct atoll_id a = atoll_engine_digest(latest.engine), b = atoll_engine_digest(whole.engine);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_int_equal(latest.campaign_ns, whole.campaign_ns);
    assert_int_equal(latest.undecided_count, whole.undecided_count);
    for (size_t i = 0; i < latest.undecided_count; i++) {
        assert_int_equal(latest.undecided[i].event, whole.undecided[i].event);
        assert_int_equal(latest.undecided[i].count, whole.undecided[i].count);
    }
    assert_memory_equal(&latest.age, &whole.age, sizeof(latest.age));
    assert_int_equal(whole.stepped_count, whole.report.event_count);
    uint64_t stepped = latest.stepped_count;
    *ret_events = whole.report.event_count;
    atoll_replayed_fini(&latest);
    atoll_replayed_fini(&whole);
    atoll_campaign_close(campaign);
    return stepped;
}

static void test_resume_from_snapshot(void **state)
{
    uint64_t events;
    campaign_make(state);
    attempt_run(state, 40, 1000);
    uint64_t stepped = latest_equals_whole(state, &events);
    assert_int_equal(stepped, events); /* no snapshot yet */
    for (unsigned attempt = 0; attempt < 4; attempt++) {
        attempt_run(state, 20 + 7 * attempt, 30);
        stepped = latest_equals_whole(state, &events);
        assert_true(stepped < events);
    }
    assert_true(stepped < events / 2);
}

/* Wherever the journal ends. */
static void test_torn_anywhere(void **state)
{
    struct stat st;
    const char *path = path_of(state, "c/jobs/test.0/journal.atl");
    char kept[512];
    uint64_t events;
    unsigned shorter = 0;
    snprintf(kept, sizeof(kept), "%s", path);
    campaign_make(state);
    attempt_run(state, 80, 20);
    assert_int_equal(stat(kept, &st), 0);
    for (off_t length = st.st_size; length > st.st_size / 4; length -= st.st_size / 61) {
        assert_int_equal(truncate(kept, length), 0);
        shorter += latest_equals_whole(state, &events) < events;
    }
    assert_true(shorter > 3);
}

/* ---- snapshots that are none ---- */

enum fault { GARBAGE, EMPTY, FOREIGN_VERSION, CUT_SHORT, STALE };

/* A snapshot of the state as it is, spoiled, and three more results behind it. */
static void bad_snapshot_write(void **state, enum fault fault)
{
    static struct drive drive;
    struct atoll_buffer bytes;
    atoll_buffer_init(&bytes, 16 << 20);
    drive_start(&drive, state, 1000);
    struct atoll_journal *journal = atoll_commit_journal(drive.resumed.commit);
    assert_int_equal(atoll_engine_save(atoll_commit_engine(drive.resumed.commit), &bytes, NULL), 0);
    if (fault == STALE)
        drive_answer(&drive, 6);
    if (fault == FOREIGN_VERSION)
        bytes.data[4]++;
    if (fault == GARBAGE)
        memset(bytes.data, 'x', bytes.length);
    size_t length = fault == EMPTY ? 0 : fault == CUT_SHORT ? bytes.length / 2 : bytes.length;
    assert_int_equal(atoll_journal_append_snapshot(journal, atoll_journal_next_event(journal) - 1, bytes.data,
                                                   length, NULL),
                     0);
    drive_answer(&drive, 9);
    drive_kill(&drive);
    atoll_buffer_fini(&bytes);
}

static struct atoll_id digest_of(void **state, uint64_t *ret_stepped)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replayed replayed;
    struct atoll_campaign *campaign = atoll_campaign_open(path_of(state, "c"), NULL, &err);
    if (atoll_replay_latest(campaign, &replayed, &err) != 0)
        fail_msg("%s", err.text);
    struct atoll_id digest = atoll_engine_digest(replayed.engine);
    *ret_stepped = replayed.stepped_count;
    assert_int_equal(*ret_stepped, replayed.report.event_count);
    atoll_replayed_fini(&replayed);
    atoll_campaign_close(campaign);
    return digest;
}

static void test_bad_snapshots(void **state)
{
    static const enum fault faults[] = {GARBAGE, EMPTY, FOREIGN_VERSION, CUT_SHORT, STALE};
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        uint64_t stepped;
        campaign_make(state);
        attempt_run(state, 12, 1000);
        bad_snapshot_write(state, faults[i]);
        digest_of(state, &stepped); /* from the first event */
        assert_int_equal(atoll_replay(path_of(state, "c"), NULL, NULL, NULL, NULL, NULL, &err), -1);
        assert_int_equal(err.code, ATOLL_E_MISMATCH);
        assert_non_null(strstr(err.text, "attempt test.1: the snapshot after event "));
        attempt_run(state, 12, 1000); /* and the run goes on */
        digest_of(state, &stepped);
        assert_int_equal(dir_remove(state), 0);
        assert_int_equal(dir_make(state), 0);
    }
}

/* ---- group commit ---- */

static unsigned sync_count;

static int counted_fdatasync(void *context, int fd)
{
    sync_count++;
    return atoll_file_ops_real()->fdatasync(context, fd);
}

/* However many results arrive together, one sync makes them durable, with the decisions of the round before.
 */
static void test_one_sync_a_round(void **state)
{
    static struct drive drive;
    struct atoll_file_ops ops = *atoll_file_ops_real();
    ops.fdatasync = counted_fdatasync;
    counted_ops = &ops;
    campaign_make(state);
    drive_start(&drive, state, 1000);
    for (unsigned round = 1; round <= 5; round++) {
        uint64_t durable = atoll_journal_durable_bytes(atoll_commit_journal(drive.resumed.commit));
        sync_count = 0;
        drive_answer(&drive, round);
        assert_int_equal(sync_count, 1);
        assert_true(atoll_journal_durable_bytes(atoll_commit_journal(drive.resumed.commit)) > durable);
        assert_int_equal(round_commit(&drive, NULL), 0); /* nothing arrived */
        assert_int_equal(sync_count, 1);
    }
    drive_kill(&drive);
    counted_ops = NULL;
}

static int is_disk_full;

static ssize_t full_write_at(void *context, int fd, const void *bytes, size_t length, off_t offset)
{
    errno = ENOSPC;
    return is_disk_full ? -1 : atoll_file_ops_real()->write_at(context, fd, bytes, length, offset);
}

/* A full disk loses nothing: the round stays, the engine has not seen it, and goes on once there is space. */
static void test_a_full_disk_keeps_the_round(void **state)
{
    static struct drive drive;
    struct atoll_file_ops ops = *atoll_file_ops_real();
    struct atoll_err err = ATOLL_ERR_INIT;
    ops.write_at = full_write_at;
    counted_ops = &ops;
    campaign_make(state);
    drive_start(&drive, state, 1000);
    drive_answer(&drive, 8);
    struct atoll_id before = atoll_engine_digest(atoll_commit_engine(drive.resumed.commit));
    is_disk_full = 1;
    answer_add(&drive);
    answer_add(&drive);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atoll_commit_sync(drive.resumed.commit, &err), -1);
        assert_int_equal(err.code, ATOLL_E_FULL);
        atoll_err_clear(&err);
        assert_int_equal(atoll_commit_round_count(drive.resumed.commit), 2);
    }
    struct atoll_id waiting = atoll_engine_digest(atoll_commit_engine(drive.resumed.commit));
    assert_memory_equal(&before, &waiting, sizeof(before));
    is_disk_full = 0;
    assert_int_equal(round_commit(&drive, &err), 0);
    assert_int_equal(atoll_commit_round_count(drive.resumed.commit), 0);
    drive_answer(&drive, 8);
    drive_kill(&drive);
    counted_ops = NULL;
    uint64_t events;
    latest_equals_whole(state, &events);
}

static void test_when_a_snapshot_is_due(void **state)
{
    static const struct {
        struct atoll_snapshot_age age;
        int want;
    } cases[] = {
        {{0, 0, 0}, 0},
        {{1999, ATOLL_SNAPSHOT_BYTES - 1, 0}, 0},
        {{2000, 1, 0}, 1},
        {{1, ATOLL_SNAPSHOT_BYTES, 0}, 1},
        {{1, ATOLL_SNAPSHOT_BYTES, ATOLL_SNAPSHOT_BYTES}, 0},
        {{1, ATOLL_SNAPSHOT_BYTES * ATOLL_SNAPSHOT_SHARE, ATOLL_SNAPSHOT_BYTES}, 1},
        {{5000, 399, 100}, 0},
        {{5000, 400, 100}, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (atoll_snapshot_is_due(&cases[i].age, ATOLL_SNAPSHOT_EVENTS) != cases[i].want)
            fail_msg("case %zu", i);
}

int main(void)
{
    atoll_log_setup(-1, ATOLL_LOG_ERROR, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_resume_from_snapshot, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_torn_anywhere, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_bad_snapshots, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_one_sync_a_round, dir_make, dir_remove),
        cmocka_unit_test_setup_teardown(test_a_full_disk_keeps_the_round, dir_make, dir_remove),
        cmocka_unit_test(test_when_a_snapshot_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

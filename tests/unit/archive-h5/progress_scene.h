/* progress_scene.h - a campaign whose writer can stop anywhere, and what a replay of everything says of it: shared by the
 * tests of campaign progress. */
#ifndef ATOLL_TEST_CAMPAIGN_PROGRESS_SCENE_H
#define ATOLL_TEST_CAMPAIGN_PROGRESS_SCENE_H

#include "archive-h5/campaign/campaign.h"
#include "archive-h5/campaign/campaign_progress.h"
#include "base/arena.h"
#include "tests/unit/archive-h5/scratch.h"

static char dir[PATH_MAX], suite[PATH_MAX], target[PATH_MAX], hint_path[PATH_MAX];
static struct atoll_campaign_task tasks[2];

static struct writer {
    struct atoll_journal *journal;
    char attempt[ATOLL_ATTEMPT_NAME_BYTES];
    uint64_t evaluated, duelled; /* of the campaign */
} writer;

static inline int set_up(void **state)
{
    char path[PATH_MAX];
    (void)state;
    memset(&writer, 0, sizeof(writer));
    scratch_make(dir);
    scratch_join(suite, dir, "suite");
    scratch_join(target, dir, "campaign");
    scratch_join(hint_path, target, ATOLL_CAMPAIGN_PROGRESS_FILE);
    mkdir(suite, 0777);
    scratch_write(scratch_join(path, dir, "suite/task.yaml"), "name: a\n", 8);
    tasks[0] = (struct atoll_campaign_task){"softmax", suite, sample_id(1)};
    tasks[1] = (struct atoll_campaign_task){"matmul", suite, sample_id(2)};
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static inline struct atoll_campaign *create(void)
{
    struct atoll_config c = {.engine_version = 1,
                             .atoll_version = "0.1.0",
                             .created_unix_ns = 1700000000123456789,
                             .task_count = 2,
                             .tasks = tasks};
    c.id = sample_id(42);
    atoll_search_defaults(&c.search);
    c.search.evaluation_budget = 500;
    struct atoll_campaign *campaign = atoll_campaign_create(target, &c, NULL, NULL);
    assert_non_null(campaign);
    return campaign;
}

/* ---- a writer ---- */

static inline void job_start(struct atoll_campaign *c, const char *job)
{
    const char *attempt_dir;
    atoll_journal_destroy(writer.journal);
    writer.journal = atoll_campaign_start_attempt(c, job, 1, 5, &attempt_dir, NULL);
    assert_non_null(writer.journal);
    snprintf(writer.attempt, sizeof(writer.attempt), "%.63s", strrchr(attempt_dir, '/') + 1);
}

static inline void attempt_start(struct atoll_campaign *c)
{
    job_start(c, "local");
}

static inline void event_append(enum atoll_event_type type)
{
    struct atoll_event e;
    struct atoll_decision d = sample_evaluate(1, 0);
    uint64_t number;
    atoll_event_init(&e, type);
    e.campaign_ns = (int64_t)(1000 * ++writer.evaluated);
    writer.evaluated -= type != ATOLL_EVENT_EVALUATED;
    writer.duelled += type == ATOLL_EVENT_DUELLED;
    assert_int_equal(atoll_journal_append_event(writer.journal, &e, &number, NULL), 0);
    assert_int_equal(atoll_journal_append_decisions(writer.journal, number, &d, 1, NULL), 0);
    atoll_event_fini(&e);
}

static inline void group_write(void)
{
    event_append(ATOLL_EVENT_EVALUATED);
    event_append(ATOLL_EVENT_TICK);
    event_append(ATOLL_EVENT_DUELLED);
    event_append(ATOLL_EVENT_EVALUATED);
    assert_int_equal(atoll_journal_sync(writer.journal, NULL), 0);
}

static inline struct atoll_progress_json sample_hint(struct atoll_campaign_progress_task rows[2])
{
    rows[0] = (struct atoll_campaign_progress_task){.name = "softmax",
                                                    .evaluated = 7,
                                                    .correct = 5,
                                                    .baseline_ns = 4e6,
                                                    .best_ns = 1e6,
                                                    .baseline_lo_ns = 3.5e6,
                                                    .baseline_hi_ns = 4.5e6,
                                                    .best_lo_ns = 0.875e6,
                                                    .best_hi_ns = 1.125e6,
                                                    .final_ratio = 3.5,
                                                    .final_lo = 3.25,
                                                    .final_hi = 3.75,
                                                    .rival_lo = 1.25,
                                                    .rival_hi = 1.75,
                                                    .rival_ns = 1.5e6,
                                                    .rival_lo_ns = 1.375e6,
                                                    .rival_hi_ns = 1.625e6,
                                                    .final_pairs = 16,
                                                    .rival_pairs = 24,
                                                    .is_done = 1};
    rows[1] = (struct atoll_campaign_progress_task){.name = "matmul", .model = "a device \"X\""};
    static struct atoll_campaign_progress_device device = {
        .key = "00000000000000ff",
        .node = "n7",
        .model = "Example",
        .part_s = {[ATOLL_TIME_CANDIDATES] = 1.5, [ATOLL_TIME_CHECKS] = 0.75, [ATOLL_TIME_IDLE] = 0.25}};
    struct atoll_progress_json hint = {.campaign = sample_id(42),
                                       .journal_bytes = atoll_journal_durable_bytes(writer.journal),
                                       .evaluated = writer.evaluated,
                                       .duelled = writer.duelled,
                                       .correct = 5,
                                       .written_unix_ns = 1700000001000000000,
                                       .campaign_s = 12.5,
                                       .elapsed_s = 2.5,
                                       .device_s = 10,
                                       .busy = 0.875,
                                       .candidate_share = 0.5,
                                       .evaluators = 3,
                                       .evaluation_budget = 500,
                                       .wall_budget_s = 120.5,
                                       .device_budget_s = 60.25,
                                       .token_budget = 9000,
                                       .money_budget_usd = 5.5,
                                       .tokens = 4500,
                                       .cost_usd = 0.75,
                                       .reason = "none",
                                       .has_asks = 1,
                                       .asks = {1, 2, 3, 4000, 0.25},
                                       .task_count = 2,
                                       .tasks = rows,
                                       .device_count = 1,
                                       .devices = &device};
    memcpy(hint.attempt, writer.attempt, sizeof(hint.attempt));
    return hint;
}

static inline void hint_write(void)
{
    struct atoll_campaign_progress_task rows[2];
    struct atoll_progress_json hint = sample_hint(rows);
    assert_int_equal(atoll_progress_json_write(target, &hint, NULL, NULL), 0);
}

static inline void journal_close(const char *reason)
{
    assert_int_equal(atoll_journal_append_close(writer.journal, 7, reason, NULL), 0);
    assert_int_equal(atoll_journal_sync(writer.journal, NULL), 0);
}

static inline void write_end(struct atoll_campaign *c)
{
    atoll_journal_destroy(writer.journal);
    memset(&writer, 0, sizeof(writer));
    atoll_campaign_close(c);
}

/* ---- the oracle ---- */

struct counts {
    uint64_t evaluated, duelled;
    struct atoll_arena *arena;
};

static inline int count_record(void *context, const struct atoll_attempt *attempt,
                               const struct atoll_record *record, struct atoll_err *err)
{
    struct counts *c = context;
    struct atoll_event e;
    (void)attempt;
    if (record->type != ATOLL_RECORD_EVENT)
        return 0;
    atoll_arena_reset(c->arena);
    assert_int_equal(atoll_event_decode(record->bytes, record->length, c->arena, &e, err), 0);
    c->evaluated += e.type == ATOLL_EVENT_EVALUATED;
    c->duelled += e.type == ATOLL_EVENT_DUELLED;
    atoll_event_fini(&e);
    return 0;
}

/* Reads the progress, compares it with a replay; the caller fini's it. */
static inline struct atoll_campaign_progress progress_checked(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replay_report report;
    struct atoll_campaign_progress s;
    struct counts counts = {.arena = atoll_arena_create(1 << 20, NULL)};
    struct atoll_campaign *c = atoll_campaign_open(target, NULL, NULL);
    assert_int_equal(atoll_campaign_replay(c, count_record, &counts, &report, NULL), 0);
    if (atoll_campaign_progress_read(target, &s, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(s.evaluated, counts.evaluated);
    assert_int_equal(s.duelled, counts.duelled);
    assert_string_equal(s.attempt, report.last);
    assert_int_equal(s.phase, !report.last[0] ? ATOLL_CAMPAIGN_PROGRESS_FRESH
                              : atoll_journal_is_final(report.ending, report.reason)
                                  ? ATOLL_CAMPAIGN_PROGRESS_ENDED
                                  : ATOLL_CAMPAIGN_PROGRESS_OPEN);
    assert_int_equal(s.hint.task_count, 2);
    assert_string_equal(s.hint.tasks[1].name, "matmul");
    atoll_campaign_close(c);
    atoll_arena_destroy(counts.arena);
    return s;
}

/* The same where only has_hint matters. */
static inline int has_hint(void)
{
    struct atoll_campaign_progress s = progress_checked();
    int has = s.has_hint;
    atoll_campaign_progress_fini(&s);
    return has;
}

static inline void journal_path(char ret_path[PATH_MAX], const char *attempt)
{
    char name[128];
    snprintf(name, sizeof(name), "jobs/%s/" ATOLL_JOURNAL_FILE, attempt);
    scratch_join(ret_path, target, name);
}

#endif

/* How far a campaign is: at each step of its writer the answer is what a replay of everything gives, whatever became of
 * progress.json. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "archive-h5/campaign.h"
#include "archive-h5/standing.h"
#include "core/arena.h"
#include "tests/unit/archive-h5/faulty_ops.h"
#include "tests/unit/archive-h5/scratch.h"

static char dir[PATH_MAX], suite[PATH_MAX], target[PATH_MAX], hint_path[PATH_MAX];
static struct atoll_campaign_task tasks[2];

static int set_up(void **state)
{
    char path[PATH_MAX];
    (void)state;
    scratch_make(dir);
    scratch_join(suite, dir, "suite");
    scratch_join(target, dir, "campaign");
    scratch_join(hint_path, target, ATOLL_STANDING_FILE);
    mkdir(suite, 0777);
    scratch_write(scratch_join(path, dir, "suite/task.yaml"), "name: a\n", 8);
    tasks[0] = (struct atoll_campaign_task){"softmax", suite, sample_id(1)};
    tasks[1] = (struct atoll_campaign_task){"matmul", suite, sample_id(2)};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(dir);
    return 0;
}

static struct atoll_campaign *create(void)
{
    struct atoll_campaign_config c = {.engine_version = 1,
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

static struct writer {
    struct atoll_journal *journal;
    char attempt[ATOLL_ATTEMPT_NAME_BYTES];
    uint64_t evaluated, duelled; /* of the campaign */
} writer;

static void job_start(struct atoll_campaign *c, const char *job)
{
    const char *attempt_dir;
    atoll_journal_destroy(writer.journal);
    writer.journal = atoll_campaign_start_attempt(c, job, 1, 5, &attempt_dir, NULL);
    assert_non_null(writer.journal);
    snprintf(writer.attempt, sizeof writer.attempt, "%.63s", strrchr(attempt_dir, '/') + 1);
}

static void attempt_start(struct atoll_campaign *c)
{
    job_start(c, "local");
}

static void event_append(enum atoll_event_type type)
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

static void group_write(void)
{
    event_append(ATOLL_EVENT_EVALUATED);
    event_append(ATOLL_EVENT_TICK);
    event_append(ATOLL_EVENT_DUELLED);
    event_append(ATOLL_EVENT_EVALUATED);
    assert_int_equal(atoll_journal_sync(writer.journal, NULL), 0);
}

static struct atoll_standing_hint sample_hint(struct atoll_standing_task rows[2])
{
    rows[0] = (struct atoll_standing_task){.name = "softmax",
                                           .evaluated = 7,
                                           .correct = 5,
                                           .baseline_ns = 4e6,
                                           .best_ns = 1e6,
                                           .final_ratio = 3.5,
                                           .is_done = 1};
    rows[1] = (struct atoll_standing_task){.name = "matmul", .model = "a device \"X\""};
    struct atoll_standing_hint hint = {.campaign = sample_id(42),
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
                                       .reason = "none",
                                       .has_asks = 1,
                                       .asks = {1, 2, 3, 4000, 0.25},
                                       .task_count = 2,
                                       .tasks = rows};
    memcpy(hint.attempt, writer.attempt, sizeof hint.attempt);
    return hint;
}

static void hint_write(void)
{
    struct atoll_standing_task rows[2];
    struct atoll_standing_hint hint = sample_hint(rows);
    assert_int_equal(atoll_standing_hint_write(target, &hint, NULL, NULL), 0);
}

static void journal_close(const char *reason)
{
    assert_int_equal(atoll_journal_append_close(writer.journal, 7, reason, NULL), 0);
    assert_int_equal(atoll_journal_sync(writer.journal, NULL), 0);
}

static void write_end(struct atoll_campaign *c)
{
    atoll_journal_destroy(writer.journal);
    memset(&writer, 0, sizeof writer);
    atoll_campaign_close(c);
}

/* ---- the oracle ---- */

struct counts {
    uint64_t evaluated, duelled;
    struct atoll_arena *arena;
};

static int count_record(void *context, const struct atoll_attempt *attempt, const struct atoll_record *record,
                        struct atoll_err *err)
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

/* Reads the standing, compares it with a replay; the caller fini's it. */
static struct atoll_standing standing_checked(void)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replay_report report;
    struct atoll_standing s;
    struct counts counts = {.arena = atoll_arena_create(1 << 20, NULL)};
    struct atoll_campaign *c = atoll_campaign_open(target, NULL, NULL);
    assert_int_equal(atoll_campaign_replay(c, count_record, &counts, &report, NULL), 0);
    if (atoll_standing_read(target, &s, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(s.evaluated, counts.evaluated);
    assert_int_equal(s.duelled, counts.duelled);
    assert_string_equal(s.attempt, report.last);
    assert_int_equal(s.phase, !report.last[0]                                        ? ATOLL_STANDING_FRESH
                              : atoll_journal_is_final(report.ending, report.reason) ? ATOLL_STANDING_ENDED
                                                                                     : ATOLL_STANDING_OPEN);
    assert_int_equal(s.hint.task_count, 2);
    assert_string_equal(s.hint.tasks[1].name, "matmul");
    atoll_campaign_close(c);
    atoll_arena_destroy(counts.arena);
    return s;
}

/* The same where only has_hint matters. */
static int has_hint(void)
{
    struct atoll_standing s = standing_checked();
    int has = s.has_hint;
    atoll_standing_fini(&s);
    return has;
}

static void journal_path(char ret_path[PATH_MAX], const char *attempt)
{
    char name[128];
    snprintf(name, sizeof name, "jobs/%s/" ATOLL_JOURNAL_FILE, attempt);
    scratch_join(ret_path, target, name);
}

/* ---- tests ---- */

static void test_fresh(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    struct atoll_standing s;
    assert_int_equal(atoll_standing_read(target, &s, &err), -1);
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    struct atoll_campaign *c = create();
    assert_false(has_hint());
    mkdir(scratch_join(path, target, "jobs/local.0"), 0777); /* killed before its journal */
    s = standing_checked();
    assert_int_equal(s.phase, ATOLL_STANDING_FRESH);
    assert_int_equal(s.attempt_count, 0);
    assert_int_equal(s.evaluation_budget, 500);
    assert_string_equal(s.hint.tasks[0].name, "softmax");
    atoll_standing_fini(&s);
    attempt_start(c);
    group_write();
    hint_write();
    journal_path(path, writer.attempt);
    unlink(path);
    assert_false(has_hint()); /* of an attempt that is gone */
    write_end(c);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    attempt_start(c);
    group_write();
    hint_write();
    struct atoll_standing s = standing_checked();
    assert_true(s.has_hint);
    assert_int_equal(s.walked_bytes, 0);
    assert_int_equal(s.attempt_count, 1);
    assert_int_equal(s.evaluated, 2);
    assert_int_equal(s.duelled, 1);
    assert_true(s.campaign_s == 12.5);
    assert_int_equal(s.last_unix_ns, 1700000001000000000);
    assert_true(s.hint.busy == 0.875 && s.hint.device_s == 10 && s.hint.evaluators == 3);
    assert_true(s.hint.has_asks && s.hint.asks.tokens == 4000 && s.hint.asks.cost_usd == 0.25);
    assert_true(s.hint.tasks[0].final_ratio == 3.5 && s.hint.tasks[0].is_done);
    assert_string_equal(s.hint.tasks[1].model, "a device \"X\"");
    atoll_standing_fini(&s);
    group_write();
    s = standing_checked();
    assert_int_equal(s.evaluated, 4);
    assert_true(s.walked_bytes > 0 && s.walked_bytes < atoll_journal_durable_bytes(writer.journal));
    assert_true(s.campaign_s < 1); /* the events' word, not the hint's */
    atoll_standing_fini(&s);
    write_end(c);
}

/* The journal is cut at every byte, with a hint of each earlier moment: a kill, a loss of power, and a copy that has less
 * than the hint says. */
static void test_killed_anywhere(void **state)
{
    (void)state;
    enum { GROUPS = 3 };
    struct atoll_campaign *c = create();
    char path[PATH_MAX], *hints[GROUPS + 1];
    size_t lengths[GROUPS + 1], length;
    uint64_t bytes_at[GROUPS + 1];
    attempt_start(c);
    journal_path(path, writer.attempt);
    for (int g = 0; g <= GROUPS; g++) {
        if (g > 0)
            group_write();
        hint_write();
        hints[g] = scratch_read(hint_path, &lengths[g]);
        bytes_at[g] = atoll_journal_durable_bytes(writer.journal);
    }
    char *journal = scratch_read(path, &length);
    for (int g = 0; g <= GROUPS; g++) {
        scratch_write(hint_path, hints[g], lengths[g]);
        for (size_t cut = bytes_at[0]; cut <= length; cut += cut + 40 < length ? 7 : 1) {
            scratch_write(path, journal, cut);
            int has = has_hint();
            if (cut < bytes_at[g])
                assert_false(has);
            if (cut == bytes_at[g])
                assert_true(has);
        }
        free(hints[g]);
    }
    free(journal);
    write_end(c);
}

static void test_torn_hint(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    size_t length;
    attempt_start(c);
    group_write();
    hint_write();
    group_write();
    char *text = scratch_read(hint_path, &length);
    for (size_t cut = 0; cut <= length; cut += cut + 40 < length ? 11 : 1) {
        scratch_write(hint_path, text, cut);
        assert_int_equal(has_hint(), cut == length);
    }
    unlink(hint_path);
    assert_false(has_hint());
    mkdir(hint_path, 0777);
    assert_false(has_hint());
    free(text);
    write_end(c);
}

static void test_older_attempts(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    char path[PATH_MAX];
    size_t first_length, length;
    attempt_start(c);
    group_write();
    hint_write();
    char *first = scratch_read(hint_path, &first_length);
    group_write();
    for (int i = 0; i < 3; i++) {
        attempt_start(c); /* and its first hint is not there yet */
        assert_true(has_hint());
        group_write();
        assert_true(has_hint());
    }
    hint_write();
    group_write();
    assert_true(has_hint());
    scratch_write(hint_path, first, first_length); /* the first owner wakes up */
    assert_true(has_hint());
    /* and has written behind its seal, which nobody counts */
    journal_path(path, "local.0");
    char *journal = scratch_read(path, &length), *more = malloc(2 * length);
    assert_non_null(more);
    memcpy(more, journal, length);
    memcpy(more + length, journal + length / 2, length - length / 2);
    scratch_write(path, more, 2 * length - length / 2);
    assert_true(has_hint());
    char wish[64], *changed = malloc(first_length + 64);
    assert_non_null(changed);
    const char *at = strstr(first, "\"journal_bytes\":"), *rest = strchr(at, ',');
    snprintf(wish, sizeof wish, "\"journal_bytes\":%zu", length + 1);
    int changed_length =
        snprintf(changed, first_length + 64, "%.*s%s%s", (int)(at - first), first, wish, rest);
    scratch_write(hint_path, changed, (size_t)changed_length);
    assert_false(has_hint());
    free(changed);
    free(more);
    free(journal);
    free(first);
    write_end(c);
}

/* Two attempts continue the same one: the one whose chain is newer counts, and a hint of the other is none. */
static void test_quarantined_attempt(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    char lost[PATH_MAX], aside[PATH_MAX];
    attempt_start(c);
    group_write();
    attempt_start(c);
    group_write();
    hint_write();
    assert_true(has_hint());
    assert_int_equal(rename(scratch_join(lost, target, "jobs/local.1"), scratch_join(aside, dir, "aside")),
                     0);
    writer.evaluated -= 2;
    writer.duelled -= 1;
    atoll_campaign_close(c);
    c = atoll_campaign_open(target, NULL, NULL);
    assert_int_equal(atoll_campaign_lock(c, NULL), 0);
    job_start(c, "later");
    job_start(c, "later");
    group_write();
    assert_int_equal(rename(aside, lost), 0);
    struct atoll_standing s = standing_checked();
    assert_false(s.has_hint);
    assert_int_equal(s.evaluated, 4);
    assert_int_equal(s.attempt_count, 4);
    assert_string_equal(s.attempt, "later.1");
    atoll_standing_fini(&s);
    hint_write();
    assert_true(has_hint());
    write_end(c);
}

static void test_endings(void **state)
{
    (void)state;
    static const char *const open_reasons[] = {ATOLL_CLOSE_DRAINED, "stopped", "", "evaluations "};
    struct atoll_campaign *c = create();
    for (unsigned i = 0; i < ATOLL_REASON_COUNT + 4; i++) {
        int is_final = i < ATOLL_REASON_COUNT;
        const char *reason =
            is_final ? atoll_reason_name((enum atoll_reason)i) : open_reasons[i - ATOLL_REASON_COUNT];
        attempt_start(c);
        group_write();
        hint_write();
        journal_close(reason);
        struct atoll_standing s = standing_checked();
        assert_int_equal(s.phase, is_final ? ATOLL_STANDING_ENDED : ATOLL_STANDING_OPEN);
        assert_string_equal(s.reason, reason);
        assert_true(s.has_hint);
        atoll_standing_fini(&s);
    }
    attempt_start(c);
    struct atoll_standing s = standing_checked();
    assert_int_equal(s.phase, ATOLL_STANDING_OPEN);
    assert_string_equal(s.reason, "");
    atoll_standing_fini(&s);
    write_end(c);
}

/* A hint that lies behind the CLOSE record hides it; the segment tells. */
static void test_segment(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_standing s;
    char name[128], segment[PATH_MAX], path[PATH_MAX];
    size_t length;
    struct atoll_campaign *c = create();
    attempt_start(c);
    group_write();
    uint64_t before = atoll_journal_durable_bytes(writer.journal);
    journal_close("asked");
    hint_write();
    snprintf(name, sizeof name, "jobs/%s/segment-0000.h5", writer.attempt);
    scratch_write(scratch_join(segment, target, name), "", 0);
    s = standing_checked();
    assert_int_equal(s.phase, ATOLL_STANDING_ENDED);
    assert_false(s.has_hint);
    atoll_standing_fini(&s);
    journal_path(path, writer.attempt);
    char *journal = scratch_read(path, &length);
    scratch_write(path, journal, before);
    assert_int_equal(atoll_standing_read(target, &s, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "segment"));
    free(journal);
    write_end(c);
}

static void test_damage(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_standing s;
    char path[PATH_MAX];
    size_t length;
    struct atoll_campaign *c = create();
    attempt_start(c);
    group_write();
    attempt_start(c);
    group_write();
    hint_write();
    journal_path(path, "local.0");
    char *journal = scratch_read(path, &length);
    scratch_write(path, journal, length / 2); /* shorter than its seal, but the hint has it counted */
    assert_int_equal(atoll_standing_read(target, &s, NULL), 0);
    assert_int_equal(s.evaluated, 4);
    atoll_standing_fini(&s);
    unlink(hint_path);
    assert_int_equal(atoll_standing_read(target, &s, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "sealed"));
    unlink(path);
    err = (struct atoll_err)ATOLL_ERR_INIT;
    assert_int_equal(atoll_standing_read(target, &s, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "missing"));
    free(journal);
    write_end(c);
}

static const struct {
    const char *find, *replace;
} hostile_cases[] = {
    {"\"schema\":1", "\"schema\":2"},
    {"\"schema\":1", "\"schema\":\"1\""},
    {"\"campaign\":\"", "\"campaign\":\"0"},
    {"\"campaign\":\"", "\"campaine\":\""},
    {"\"attempt\":\"local.0\"", "\"attempt\":\"../../x\""},
    {"\"attempt\":\"local.0\"", "\"attempt\":\"local.1\""},
    {"\"attempt\":\"local.0\"", "\"attempt\":7"},
    {"\"journal_bytes\":", "\"journal_bytes\":-"},
    {"\"journal_bytes\":", "\"journal_bytes\":9"},
    {"\"journal_bytes\":", "\"journal_bytes\":1e3,\"x\":"},
    {"\"journal_bytes\":", "\"journal_bytes\":0,\"x\":"},
    {"\"journal_bytes\":", "\"journal_bytes\":9007199254740993,\"x\":"},
    {"\"evaluated\":2", "\"evaluated\":-2"},
    {"\"evaluated\":2", "\"evaluated\":18446744073709551616"},
    {"\"evaluated\":2", "\"evaluated\":null"},
    {"\"campaign_s\":12.5", "\"campaign_s\":1e19"},
    {"\"campaign_s\":12.5", "\"campaign_s\":NaN"},
    {"\"campaign_s\":12.5", "\"campaign_s\":-1"},
    {"\"busy\":0.875", "\"busy\":1.5"},
    {"\"finishing\":0", "\"finishing\":2"},
    {"\"finishing\":0", "\"finishing\":false"},
    {"\"reason\":\"none\"", "\"reason\":\"a\\u0007b\""},
    {"\"reason\":\"none\"", "\"reason\":\"a\\u0000b\""},
    {"\"reason\":\"none\"", "\"reason\":\"0123456789012345678901234567890123456789\""},
    {"\"asks\":{", "\"asks\":[],\"x\":{"},
    {"\"asks\":{\"open\":1", "\"asks\":{\"open\":\"1\""},
    {"\"tasks\":[", "\"tasks\":{},\"x\":["},
    {"\"tasks\":[", "\"tasks\":[1,"},
    {"\"name\":\"softmax\"", "\"name\":\"soft\\u001b[2Jmax\""},
    {"\"name\":\"softmax\"", "\"name\":\"another\""},
    {"\"best_ns\":1000000.0", "\"best_ns\":[1]"},
    {"\"best_ns\":1000000.0", "\"best_ns\":1e999"},
    {"\"evaluated\":7", "\"evaluated\":7,\"evaluated\":7"},
};

static void test_hostile_hint(void **state)
{
    (void)state;
    struct atoll_campaign *c = create();
    size_t length;
    attempt_start(c);
    group_write();
    hint_write();
    group_write();
    char *good = scratch_read(hint_path, &length);
    for (size_t i = 0; i < sizeof hostile_cases / sizeof *hostile_cases; i++) {
        const char *at = strstr(good, hostile_cases[i].find);
        char *bad = malloc(length + 200);
        assert_non_null(bad);
        if (!at)
            fail_msg("%s is not in %s", hostile_cases[i].find, good);
        int bad_length = snprintf(bad, length + 200, "%.*s%s%s", (int)(at - good), good,
                                  hostile_cases[i].replace, at + strlen(hostile_cases[i].find));
        scratch_write(hint_path, bad, (size_t)bad_length);
        if (has_hint())
            fail_msg("case %zu was believed: %s", i, bad);
        free(bad);
    }
    scratch_write(hint_path, good, length);
    assert_true(has_hint());
    free(good);
    write_end(c);
}

/* After a write that failed in any way the file is what it was, and nothing is left beside it. */
static void test_every_call_fails_once(void **state)
{
    (void)state;
    static const enum fault faults[] = {FAULT_SHORT, FAULT_INTERRUPT, FAULT_FULL, FAULT_IO,
                                        FAULT_PARTIAL_THEN_FULL};
    struct atoll_standing_task rows[2];
    struct atoll_campaign *c = create();
    char name[128], temporary[PATH_MAX];
    size_t length, now_length;
    int failures = 0;
    attempt_start(c);
    group_write();
    hint_write();
    char *before = scratch_read(hint_path, &length);
    struct atoll_standing_hint hint = sample_hint(rows);
    hint.evaluators = 99;
    snprintf(name, sizeof name, "jobs/%s/" ATOLL_STANDING_FILE ".tmp", writer.attempt);
    scratch_join(temporary, target, name);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (long n = 0; n < 5; n++) {
            struct atoll_err err = ATOLL_ERR_INIT;
            struct faulty faulty;
            faulty_init(&faulty, faults[f], n);
            scratch_write(hint_path, before, length);
            int rc = atoll_standing_hint_write(target, &hint, &faulty.ops, &err);
            char *now = scratch_read(hint_path, &now_length);
            assert_int_equal(rc == 0, strstr(now, "\"evaluators\":99") != NULL);
            if (rc != 0) {
                failures++;
                assert_string_equal(now, before);
                assert_non_null(strstr(err.text, ATOLL_STANDING_FILE));
            }
            if (access(temporary, F_OK) == 0)
                fail_msg("call %ld, fault %d: the temporary file stays", n, (int)faults[f]);
            free(now);
        }
    assert_true(failures >= 9); /* open, write, rename with each of three */
    hint.busy = 0.0 / 0.0;
    assert_int_equal(atoll_standing_hint_write(target, &hint, NULL, NULL), -1);
    free(before);
    write_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fresh, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torn_hint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_older_attempts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_quarantined_attempt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_endings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_hint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_call_fails_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

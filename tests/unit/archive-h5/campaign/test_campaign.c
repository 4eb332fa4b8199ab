/* The campaign directory: creation, lock, attempts, seals, replay, and what is left when the power goes at
 * any step. */
#include "tests/support/expect.h"

#include <signal.h>
#include <sys/wait.h>

#include "archive-h5/campaign/campaign.h"
#include "tests/unit/archive-h5/faulty_ops.h"
#include "tests/unit/archive-h5/scratch.h"
#include "tests/unit/archive-h5/volatile_disk.h"

static char dir[PATH_MAX], suite[PATH_MAX], target[PATH_MAX];
static struct atoll_campaign_task tasks[2];
static const struct atoll_config_option options[] = {{"ranks", "2"}, {"compiler", "cc \"quoted\" \\ \t tab"}};

static int set_up(void **state)
{
    char path[PATH_MAX];
    (void)state;
    scratch_make(dir);
    scratch_join(suite, dir, "suite");
    scratch_join(target, dir, "campaign");
    mkdir(suite, 0777);
    mkdir(scratch_join(path, dir, "suite/seeds"), 0777);
    scratch_write(scratch_join(path, dir, "suite/task.yaml"), "name: a\n", 8);
    scratch_write(scratch_join(path, dir, "suite/seeds/naive.c"), "/* seed */\n", 11);
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

static struct atoll_config sample_config(void)
{
    struct atoll_config c = {.engine_version = 1,
                             .atoll_version = "0.1.0",
                             .created_unix_ns = 1700000000123456789,
                             .option_count = 2,
                             .options = options,
                             .task_count = 2,
                             .tasks = tasks};
    c.id = sample_id(42);
    atoll_search_defaults(&c.search);
    c.search.seed = UINT64_MAX;
    c.search.margin = 0.1 + 0.2;
    c.search.fitness_form = ATOLL_FITNESS_CLIPPED;
    return c;
}

static struct atoll_campaign *create(struct atoll_err *err)
{
    struct atoll_config c = sample_config();
    return atoll_campaign_create(target, &c, NULL, err);
}

static void test_create_and_open(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_config want = sample_config();
    char path[PATH_MAX];
    size_t length;
    struct atoll_campaign *c = create(&err);
    if (!c)
        fail_msg("%s", err.text);
    atoll_campaign_close(c);
    c = atoll_campaign_open(target, NULL, &err);
    if (!c)
        fail_msg("%s", err.text);
    const struct atoll_config *got = atoll_campaign_config(c);
    assert_memory_equal(&got->id, &want.id, sizeof(want.id));
    assert_int_equal(got->created_unix_ns, want.created_unix_ns);
    assert_int_equal(got->search.seed, UINT64_MAX);
    assert_true(got->search.margin == want.search.margin); /* doubles come back bit for bit */
    assert_int_equal(got->search.fitness_form, ATOLL_FITNESS_CLIPPED);
    assert_int_equal(got->task_count, 2);
    assert_string_equal(got->tasks[1].name, "matmul");
    assert_memory_equal(&got->tasks[1].id, &tasks[1].id, sizeof(tasks[1].id));
    assert_string_equal(atoll_campaign_option(c, "compiler"), options[1].value);
    assert_null(atoll_campaign_option(c, "nothing"));
    scratch_join(path, got->tasks[0].dir, "seeds/naive.c");
    char *text = scratch_read(path, &length);
    assert_string_equal(text, "/* seed */\n");
    free(text);
    atoll_campaign_close(c);
    atoll_campaign_close(NULL);
}

static void test_create_refuses(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    struct atoll_config config = sample_config();
    assert_null(atoll_campaign_open(target, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    assert_non_null(strstr(err.text, "atoll run"));
    struct atoll_campaign *c = create(NULL);
    assert_null(create(&err));
    assert_int_equal(err.code, ATOLL_E_EXISTS);
    assert_non_null(strstr(err.text, "atoll resume"));
    atoll_campaign_close(c);
    assert_null(atoll_campaign_create(suite, &config, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_EXISTS);
    assert_non_null(strstr(err.text, "not empty"));
    tasks[1].name = "softmax";
    scratch_join(path, dir, "other");
    assert_null(atoll_campaign_create(path, &config, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
    assert_non_null(strstr(err.text, "two tasks"));
    tasks[1].name = "matmul";
    config.task_count = 0;
    assert_null(atoll_campaign_create(path, &config, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_LIMIT);
}

struct line_case {
    const char *find, *replace, *text;
    enum atoll_code code;
};

static const struct line_case line_cases[] = {
    {"schema: 1", "schema: 2", "use the newer Atoll", ATOLL_E_SCHEMA},
    {"engine_version: 1", "engine_version: -1", "campaign.yaml:4: number out of range", ATOLL_E_INPUT},
    {"islands: ", "islands: x", "no whole number", ATOLL_E_INPUT},
    {"  seed:", "  sead:", "unknown field 'sead'", ATOLL_E_INPUT},
    {"fitness_form: clipped", "fitness_form: what", "none of: log, clipped", ATOLL_E_INPUT},
    {"name: matmul", "name: ../etc", "bad task name", ATOLL_E_INPUT},
    {"ranks: \"2\"", "ranks: \"2", "bad text", ATOLL_E_INPUT},
    {"options:", "opinions:", "unknown field", ATOLL_E_INPUT},
    {"id: ", "id: zz", "bad id", ATOLL_E_INPUT},
    {"margin: ", "margin: nan", "no number of 0 to 1", ATOLL_E_INPUT},
};

static void test_damaged_config(void **state)
{
    (void)state;
    char path[PATH_MAX];
    size_t length;
    atoll_campaign_close(create(NULL));
    scratch_join(path, target, "campaign.yaml");
    char *text = scratch_read(path, &length);
    for (size_t i = 0; i < sizeof(line_cases) / sizeof(*line_cases); i++) {
        const struct line_case *k = &line_cases[i];
        struct atoll_err err = ATOLL_ERR_INIT;
        char changed[8192];
        char *at = strstr(text, k->find);
        assert_non_null(at);
        snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, k->replace,
                 at + strlen(k->find));
        scratch_write(path, changed, strlen(changed));
        assert_null(atoll_campaign_open(target, NULL, &err));
        if (err.code != k->code || !strstr(err.text, k->text))
            fail_msg("%s: %s", k->replace, err.text);
    }
    for (size_t cut = 0; cut < length - 200; cut += 7) { /* never a crash; missing fields are named */
        scratch_write(path, text, cut);
        atoll_campaign_close(atoll_campaign_open(target, NULL, NULL));
    }
    free(text);
}

static void test_lock(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char pid[32];
    int ready[2];
    atoll_campaign_close(create(NULL));
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct atoll_campaign *mine = atoll_campaign_open(target, NULL, NULL);
        char ok = mine && atoll_campaign_lock(mine, NULL) == 0;
        ok = (char)(write(ready[1], &ok, 1) == 1);
        pause();
        _exit(0);
    }
    char ok = 0;
    assert_int_equal(read(ready[0], &ok, 1), 1);
    assert_int_equal(ok, 1);
    struct atoll_campaign *c = atoll_campaign_open(target, NULL, NULL);
    assert_int_equal(atoll_campaign_lock(c, &err), -1);
    assert_int_equal(err.code, ATOLL_E_BUSY);
    snprintf(pid, sizeof(pid), "pid %ld on host ", (long)child);
    assert_non_null(strstr(err.text, pid));
    assert_null(atoll_campaign_start_attempt(c, "local", 1, 0, NULL, &err));
    assert_int_equal(err.code, ATOLL_E_INTERNAL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(atoll_campaign_lock(c, NULL), 0);
    assert_int_equal(atoll_campaign_lock(c, NULL), 0);
    atoll_campaign_close(c);
    close(ready[0]);
    close(ready[1]);
}

static void write_events(struct atoll_journal *j, unsigned count, int decide_last)
{
    for (unsigned i = 0; i < count; i++) {
        struct atoll_event e;
        struct atoll_decision d = sample_evaluate(i, 0);
        uint64_t number;
        sample_tick(&e, (int64_t)atoll_journal_next_event(j));
        assert_int_equal(atoll_journal_append_event(j, &e, &number, NULL), 0);
        if (i + 1 < count || decide_last)
            assert_int_equal(atoll_journal_append_decisions(j, number, &d, 1, NULL), 0);
    }
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
}

static void append_garbage(const char *path, const char *bytes, size_t length)
{
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    fwrite(bytes, 1, length, f);
    fclose(f);
}

static int collect_event(void *context, const struct atoll_attempt *attempt,
                         const struct atoll_record *record, struct atoll_err *err)
{
    uint64_t *next = context;
    (void)attempt;
    (void)err;
    if (record->type == ATOLL_RECORD_EVENT)
        assert_int_equal(record->event, (*next)++);
    return 0;
}

static void test_attempts_and_replay(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replay_report report;
    struct atoll_attempt *attempts;
    size_t count;
    const char *attempt_dir;
    char first[2 * PATH_MAX], path[PATH_MAX];
    uint64_t seen = 0;
    struct atoll_campaign *c = create(NULL);
    struct atoll_journal *j = atoll_campaign_start_attempt(c, "local", 1, 11, &attempt_dir, &err);
    if (!j)
        fail_msg("%s", err.text);
    assert_non_null(strstr(attempt_dir, "jobs/local.0"));
    snprintf(first, sizeof(first), "%s/%s", attempt_dir, ATOLL_JOURNAL_FILE);
    write_events(j, 3, 0); /* killed before the decisions of event 2 were journaled, with a torn tail */
    append_garbage(first, "ATLF\1", 5);

    assert_int_equal(atoll_campaign_replay(c, NULL, NULL, &report, &err), 0);
    assert_int_equal(report.event_count, 3);
    assert_int_equal(report.decided_count, 2);
    assert_int_equal(report.torn_bytes, 5);
    assert_int_equal(report.ending, ATOLL_JOURNAL_TORN);

    struct atoll_journal *k = atoll_campaign_start_attempt(c, "17", 1, 12, &attempt_dir, &err);
    assert_non_null(k);
    assert_int_equal(atoll_journal_next_event(k), 3);
    struct atoll_decision d = sample_evaluate(2, 0);
    assert_int_equal(atoll_journal_append_decisions(k, 2, &d, 1, &err), 0);
    write_events(k, 2, 1);
    assert_int_equal(atoll_journal_append_close(k, 5, "stopped", NULL), 0);
    assert_int_equal(atoll_journal_sync(k, NULL), 0);
    atoll_journal_destroy(k);

    write_events(j, 4, 1); /* the stalled owner wakes up: past its seal, quarantined */
    atoll_journal_destroy(j);
    mkdir(scratch_join(path, target, "jobs/local.1"), 0777); /* killed before its journal was there */

    assert_int_equal(atoll_campaign_replay(c, collect_event, &seen, &report, &err), 0);
    assert_int_equal(seen, 5);
    assert_int_equal(report.event_count, 5);
    assert_int_equal(report.decided_count, 5);
    assert_int_equal(report.attempt_count, 2);
    assert_int_equal(report.stillborn_count, 1);
    assert_int_equal(report.quarantined_records, 8);
    assert_int_equal(report.ending, ATOLL_JOURNAL_CLOSED);
    assert_string_equal(report.reason, "stopped");

    k = atoll_campaign_start_attempt(c, "local", 1, 13, &attempt_dir, &err);
    assert_non_null(k);
    assert_non_null(strstr(attempt_dir, "jobs/local.2"));
    atoll_journal_destroy(k);
    assert_int_equal(atoll_campaign_attempts(c, &attempts, &count, &err), 0);
    assert_int_equal(count, 4);
    assert_string_equal(attempts[0].name, "local.0");
    assert_string_equal(attempts[1].name, "17.0");
    assert_string_equal(attempts[2].name, "local.2");
    assert_string_equal(attempts[2].header.previous, "17.0");
    assert_int_equal(attempts[3].has_journal, 0);
    free(attempts);
    atoll_campaign_close(c);
}

static void test_changed_or_missing_predecessor(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    size_t length;
    struct atoll_campaign *c = create(NULL);
    struct atoll_journal *j = atoll_campaign_start_attempt(c, "local", 1, 11, NULL, NULL);
    write_events(j, 3, 1);
    atoll_journal_destroy(j);
    atoll_journal_destroy(atoll_campaign_start_attempt(c, "local", 1, 12, NULL, NULL));
    scratch_join(path, target, "jobs/local.0/journal.atl");
    char *bytes = scratch_read(path, &length);
    bytes[length - 1] ^= 1;
    scratch_write(path, bytes, length);
    assert_int_equal(atoll_campaign_replay(c, NULL, NULL, NULL, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "changed after"));
    scratch_write(path, bytes, length - 1);
    assert_int_equal(atoll_campaign_replay(c, NULL, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "successor sealed"));
    unlink(path);
    assert_int_equal(atoll_campaign_replay(c, NULL, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "missing"));
    free(bytes);
    atoll_campaign_close(c);
}

static void test_snapshot(void **state)
{
    (void)state;
    struct atoll_buffer out;
    uint64_t event = 0;
    atoll_buffer_init(&out, 1 << 20);
    struct atoll_campaign *c = create(NULL);
    struct atoll_journal *j = atoll_campaign_start_attempt(c, "local", 7, 11, NULL, NULL);
    assert_int_equal(atoll_campaign_last_snapshot(c, 7, &event, &out, NULL), 0);
    write_events(j, 3, 1);
    atoll_journal_append_snapshot(j, 1, "old", 3, NULL);
    atoll_journal_append_snapshot(j, 2, "newer", 5, NULL);
    atoll_journal_sync(j, NULL);
    atoll_journal_destroy(j);
    assert_int_equal(atoll_campaign_last_snapshot(c, 8, &event, &out, NULL),
                     0); /* another engine version's is no use */
    assert_int_equal(atoll_campaign_last_snapshot(c, 7, &event, &out, NULL), 1);
    assert_int_equal(event, 2);
    assert_int_equal(out.length, 5);
    assert_memory_equal(out.data, "newer", 5);
    atoll_buffer_fini(&out);
    atoll_campaign_close(c);
}

/* Every file call of a create and a first attempt fails once: an error with a text, and afterwards the same
 * call works. */
static void test_every_call_fails_once(void **state)
{
    (void)state;
    struct atoll_config config = sample_config();
    for (long at = 0;; at++) {
        struct faulty f;
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_journal *j = NULL;
        const struct atoll_file_ops *ops = faulty_init(&f, FAULT_FULL, at);
        struct atoll_campaign *c = atoll_campaign_create(target, &config, ops, &err);
        if (c)
            j = atoll_campaign_start_attempt(c, "local", 1, 1, NULL, &err);
        int hit = !c || !j;
        if (hit) {
            assert_int_equal(err.code, ATOLL_E_FULL);
            assert_non_null(strstr(err.text, "free space"));
            assert_null(strstr(err.text, "; ;"));
        }
        atoll_journal_destroy(j);
        atoll_campaign_close(c);
        if (!hit) {
            assert_true(at > 30);
            break;
        }
        c = atoll_campaign_open(target, NULL, NULL);
        if (!c && access(target, F_OK) == 0)
            fail_msg("failing call %ld left something that is no campaign", at);
        if (!c)
            c = atoll_campaign_create(target, &config, NULL, &err);
        if (!c)
            fail_msg("after failing call %ld: %s", at, err.text);
        assert_int_equal(atoll_campaign_lock(c, NULL), 0);
        j = atoll_campaign_start_attempt(c, "local", 1, 1, NULL, &err);
        if (!j)
            fail_msg("attempt after failing call %ld: %s", at, err.text);
        atoll_journal_destroy(j);
        atoll_campaign_close(c);
        scratch_remove(target);
    }
}

/* The power goes after any number of calls: the campaign is there whole, or can be created; acknowledged
 * events are there. */
static void test_power_loss_at_every_step(void **state)
{
    (void)state;
    struct atoll_config config = sample_config();
    int finished = 0;
    for (long stop = 0; !finished; stop++) {
        char root[PATH_MAX], after[PATH_MAX], inner[PATH_MAX];
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_replay_report report = {.event_count = 0};
        uint64_t acknowledged = 0;
        int created = 0;
        scratch_join(root, dir, "root");
        scratch_join(after, dir, "after");
        scratch_join(inner, root, "campaign");
        mkdir(root, 0777);
        struct volatile_disk *disk = disk_create(root, stop);
        struct atoll_campaign *c = atoll_campaign_create(inner, &config, &disk->ops, NULL);
        created = c != NULL;
        for (unsigned attempt = 0; c && attempt < 2; attempt++) {
            struct atoll_journal *j = atoll_campaign_start_attempt(c, "local", 1, 1, NULL, NULL);
            struct atoll_event e;
            sample_tick(&e, 1);
            if (j && atoll_journal_append_event(j, &e, NULL, NULL) == 0 && atoll_journal_sync(j, NULL) == 0) {
                acknowledged++;
                finished = attempt == 1;
            }
            if (j && !attempt) /* killed with records in the page cache that were never synced */
                atoll_journal_append_event(j, &e, NULL, NULL);
            atoll_journal_destroy(j);
        }
        disk_power_loss(disk, after);
        atoll_campaign_close(c);
        disk_destroy(disk);
        scratch_join(inner, after, "campaign");
        c = atoll_campaign_open(inner, NULL, &err);
        if (created && !c)
            fail_msg("step %ld: a created campaign is lost: %s", stop, err.text);
        if (!c)
            c = atoll_campaign_create(inner, &config, NULL, &err);
        if (!c || atoll_campaign_replay(c, NULL, NULL, &report, &err) != 0)
            fail_msg("step %ld: %s", stop, err.text);
        assert_true(report.event_count >= acknowledged);
        assert_int_equal(access(scratch_join(root, inner, "tasks/matmul/seeds/naive.c"), F_OK), 0);
        atoll_campaign_close(c);
        scratch_remove(scratch_join(root, dir, "root"));
        scratch_remove(after);
    }
}

/* Killed after any number of calls (the page cache lives on), taken over by the next process, then the power
 * goes: what the successor sealed must be durable too. */
static void test_power_loss_after_takeover(void **state)
{
    (void)state;
    struct atoll_config config = sample_config();
    for (long stop = 30; stop < 64; stop++) {
        char root[PATH_MAX], after[PATH_MAX], inner[PATH_MAX];
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_replay_report report, promised;
        scratch_join(root, dir, "root");
        scratch_join(after, dir, "after");
        scratch_join(inner, root, "campaign");
        mkdir(root, 0777);
        struct volatile_disk *disk = disk_create(root, stop);
        struct atoll_campaign *c = atoll_campaign_create(inner, &config, &disk->ops, NULL);
        struct atoll_journal *j = c ? atoll_campaign_start_attempt(c, "local", 1, 1, NULL, NULL) : NULL;
        for (int i = 0; j && i < 5; i++) {
            struct atoll_event e;
            sample_tick(&e, i);
            atoll_journal_append_event(j, &e, NULL, NULL);
            atoll_journal_sync(j, NULL);
        }
        atoll_journal_destroy(j);
        atoll_campaign_close(c);
        disk->stop_at = -1;
        c = atoll_campaign_open(inner, &disk->ops, NULL);
        if (!c)
            c = atoll_campaign_create(inner, &config, &disk->ops, &err);
        if (!c || atoll_campaign_lock(c, &err) != 0 ||
            atoll_campaign_replay(c, NULL, NULL, &promised, &err) != 0 ||
            !(j = atoll_campaign_start_attempt(c, "local", 1, 1, NULL, &err))) {
            fail_msg("step %ld: %s", stop, err.text);
        }
        write_events(j, 1, 1);
        disk_power_loss(disk, after);
        atoll_journal_destroy(j);
        atoll_campaign_close(c);
        disk_destroy(disk);
        scratch_join(inner, after, "campaign");
        c = atoll_campaign_open(inner, NULL, &err);
        if (!c || atoll_campaign_replay(c, NULL, NULL, &report, &err) != 0)
            fail_msg("step %ld: %s", stop, err.text);
        assert_int_equal(report.event_count, promised.event_count + 1);
        atoll_campaign_close(c);
        scratch_remove(root);
        scratch_remove(after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_create_and_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_create_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_config, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attempts_and_replay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changed_or_missing_predecessor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_snapshot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_call_fails_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_power_loss_at_every_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_power_loss_after_takeover, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

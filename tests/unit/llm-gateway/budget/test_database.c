/* test_database.c - one owner at a time, transactions that last or never were, copies. */
#include "tests/support/expect.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "llm-gateway/budget/database.h"
#include "tests/unit/llm-gateway/failing_vfs.h"

static char folder[PATH_MAX], path[PATH_MAX + 16];

static int set_up(void **state)
{
    scratch_make(folder);
    snprintf(path, sizeof(path), "%s/g.sqlite", folder);
    return 0;
}

static int tear_down(void **state)
{
    scratch_remove(folder);
    return 0;
}

static struct atoll_database *try_open(enum atoll_database_mode mode, struct atoll_err *err)
{
    const struct atoll_database_settings settings = {.path = path, .mode = mode};
    atoll_err_clear(err);
    return atoll_database_open(&settings, err);
}

static struct atoll_database *must_open(enum atoll_database_mode mode)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_database *database = try_open(mode, &err);
    if (!database)
        fail_msg("%s", err.text);
    return database;
}

/* One row in a transaction of its own. */
static int put(struct atoll_database *database, int number, struct atoll_err *err)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO spend VALUES('day', 'd%d', '', 1, 2, 0, 0, 1)",
             number);
    if (atoll_database_begin(database, err))
        return -1;
    if (atoll_database_run(database, sql, err)) {
        atoll_database_rollback(database);
        return -1;
    }
    return atoll_database_commit(database, err);
}

static long long read_number(const char *file, const char *sql)
{
    sqlite3 *sqlite = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open_v2(file, &sqlite, SQLITE_OPEN_READWRITE, "unix-none"), SQLITE_OK);
    if (sqlite3_prepare_v2(sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(sqlite));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    long long value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(sqlite);
    return value;
}

static long long rows(void)
{
    return read_number(path, "SELECT count(*) FROM spend");
}

static void what_was_committed_is_there_again(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    for (int life = 0; life < 3; life++) {
        struct atoll_database *database = must_open(ATOLL_DATABASE_OWN);
        assert_int_equal(atoll_database_epoch(database), life + 1);
        assert_int_equal(put(database, life, &err), 0);
        assert_int_equal(atoll_database_begin(database, &err), 0);
        assert_int_equal(atoll_database_run(database, "DELETE FROM spend", &err), 0);
        atoll_database_rollback(database);
        assert_int_equal(atoll_database_turn(database, &err), 0);
        atoll_database_close(database);
    }
    assert_int_equal(rows(), 3);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600); /* what was said is its owner's to read */
    atoll_database_close(must_open(ATOLL_DATABASE_READ));
    atoll_database_close(NULL);
}

static void a_second_owner_is_told_who_has_it(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char pid[32];
    snprintf(pid, sizeof(pid), "pid %ld", (long)getpid());
    struct atoll_database *first = must_open(ATOLL_DATABASE_OWN);
    assert_null(try_open(ATOLL_DATABASE_OWN, &err));
    expect_err(&err, ATOLL_E_BUSY, pid);
    assert_non_null(strstr(err.text, "file of its own"));
    assert_null(try_open(ATOLL_DATABASE_READ, &err)); /* nobody reads it either */
    expect_err(&err, ATOLL_E_BUSY, "--copy");
    assert_int_equal(put(first, 1, &err), 0);
    atoll_database_close(first);
    atoll_database_close(must_open(ATOLL_DATABASE_OWN));
}

/* A process that stood still until another one took the file: nothing it does reaches the file any more. */
static void a_former_owner_writes_nothing(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_lease_holder self;
    char owner[PATH_MAX + 32];
    struct atoll_database *stale = must_open(ATOLL_DATABASE_OWN);
    assert_int_equal(put(stale, 1, &err), 0);
    snprintf(owner, sizeof(owner), "%s.owner", path);
    atoll_lease_holder_self("77", 0, &self);
    struct atoll_lease *lease = atoll_lease_claim(owner, &self, 1, NULL, &err);
    assert_non_null(lease);
    read_number(path, "UPDATE meta SET value = 2 WHERE name = 'epoch' RETURNING 1");
    assert_int_equal(put(stale, 2, &err), -1);
    expect_err(&err, ATOLL_E_BUSY, "job 77, epoch 2");
    atoll_database_close(stale);
    assert_int_equal(rows(), 1);
    atoll_lease_release(lease);
}

/* Moved, or put back from a copy: the lease beside it knows of no such epochs. */
static void a_restored_file_goes_on(void **state)
{
    char owner[PATH_MAX + 32];
    for (int life = 0; life < 3; life++)
        atoll_database_close(must_open(ATOLL_DATABASE_OWN));
    snprintf(owner, sizeof(owner), "%s.owner", path);
    scratch_remove(owner);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_database *database = must_open(ATOLL_DATABASE_OWN);
    assert_int_equal(atoll_database_epoch(database), 4);
    assert_int_equal(put(database, 1, &err), 0);
    assert_null(try_open(ATOLL_DATABASE_OWN, &err));
    expect_err(&err, ATOLL_E_BUSY, "is owned by another gateway");
    atoll_database_close(database);
}

static void what_is_no_file_of_ours_is_refused(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    assert_null(try_open(ATOLL_DATABASE_READ, &err));
    expect_err(&err, ATOLL_E_NOTFOUND, path);
    static const char old[] = "ATLF: what an exchanges.atl begins with, and more of it than a header takes: "
                              "0123456789 0123456789 0123456789";
    scratch_write(path, old, sizeof(old));
    assert_null(try_open(ATOLL_DATABASE_READ, &err));
    expect_err(&err, ATOLL_E_INPUT, "gateway convert");
    assert_null(try_open(ATOLL_DATABASE_OWN, &err));
    expect_err(&err, ATOLL_E_INPUT, "gateway convert");
    unlink(path);
    sqlite3 *foreign;
    sqlite3_open(path, &foreign);
    sqlite3_exec(foreign, "CREATE TABLE t(x)", NULL, NULL, NULL);
    sqlite3_close(foreign);
    assert_null(try_open(ATOLL_DATABASE_OWN, &err));
    expect_err(&err, ATOLL_E_INPUT, "is not a gateway's file");
    unlink(path);
    atoll_database_close(must_open(ATOLL_DATABASE_RECORD));
    read_number(path, "UPDATE meta SET value = 9 WHERE name = 'schema' RETURNING 1");
    assert_null(try_open(ATOLL_DATABASE_READ, &err));
    expect_err(&err, ATOLL_E_SCHEMA, "use a newer Atoll");
}

/* ---- every call that changes files fails once ---- */

/* How many rows were acknowledged: three transactions, each tried twice, and the end. */
static int play(enum failure failure, long fail_at, int *ret_opened)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    const struct atoll_database_settings settings = {
        .path = path, .mode = ATOLL_DATABASE_OWN, .vfs = failing_vfs_name(failure, fail_at)};
    struct atoll_database *database = atoll_database_open(&settings, &err);
    int acknowledged = 0;
    *ret_opened = database != NULL;
    for (int i = 0; i < 3 && database; i++) {
        atoll_err_clear(&err);
        if (put(database, i, &err) == 0) {
            acknowledged |= 1 << i;
            continue;
        }
        if (!failing.is_dead && err.code != ATOLL_E_FULL && err.code != ATOLL_E_IO)
            fail_msg("failure %d of call %ld: %s", failure, fail_at, err.text);
        if (failure == FAILS_FULL)
            assert_int_equal(err.code, ATOLL_E_FULL);
        if (put(database, i, &err) == 0) /* the same again */
            acknowledged |= 1 << i;
        else
            assert_true(failing.is_dead);
    }
    atoll_database_close(database);
    return acknowledged;
}

static void whatever_fails_nothing_acknowledged_is_lost(void **state)
{
    for (int failure = FAILS_FULL; failure < FAILURE_COUNT; failure++) {
        int was_hit = 1;
        for (long fail_at = 0; was_hit; fail_at++) {
            int was_opened;
            int acknowledged = play((enum failure)failure, fail_at, &was_opened);
            was_hit = failing.calls > fail_at;
            struct atoll_database *database = must_open(ATOLL_DATABASE_OWN);
            atoll_database_close(database);
            assert_int_equal(
                read_number(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
                1);
            for (int i = 0; i < 3; i++) {
                char sql[96];
                snprintf(sql, sizeof(sql), "SELECT count(*) FROM spend WHERE name = 'd%d'", i);
                long long there = read_number(path, sql);
                if (acknowledged >> i & 1 && !there)
                    fail_msg("failure %d of call %ld: row %d is lost", failure, fail_at, i);
            }
            if (!was_hit)
                assert_int_equal(acknowledged, 7);
            tear_down(NULL);
            set_up(NULL);
        }
    }
}

/* ---- copies ---- */

static void anybody_gets_a_copy(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char target[PATH_MAX + 32];
    snprintf(target, sizeof(target), "%s/copy.sqlite", folder);
    assert_int_equal(atoll_database_copy(path, target, 1, &err), -1);
    expect_err(&err, ATOLL_E_NOTFOUND, path);
    atoll_err_clear(&err);
    struct atoll_database *database = must_open(ATOLL_DATABASE_OWN);
    assert_int_equal(put(database, 1, &err), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (atoll_database_copy(path, target, 30, &err)) {
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
        _exit(0);
    }
    int status = -1;
    for (int i = 2; waitpid(pid, &status, WNOHANG) == 0; i++) { /* goes on while it is copied */
        assert_int_equal(atoll_database_turn(database, &err), 0);
        assert_int_equal(put(database, i, &err), 0);
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    assert_int_equal(status, 0);
    assert_int_equal(
        read_number(target, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
    assert_true(read_number(target, "SELECT count(*) FROM spend") >= 1);
    assert_int_equal(atoll_database_copy(path, target, 1, &err), -1);
    expect_err(&err, ATOLL_E_EXISTS, "copy.sqlite");
    unlink(target);
    atoll_err_clear(&err);
    assert_int_equal(atoll_database_copy(path, target, 0.2, &err), -1); /* nobody turns */
    expect_err(&err, ATOLL_E_TIMEOUT, "no copy within");
    atoll_database_close(database);
    assert_int_equal(atoll_database_copy(path, target, 1, &err), 0);
    assert_int_equal(read_number(target, "SELECT count(*) FROM spend"), rows());
}

/* A WAL where the user says that the disk stays; and back. */
static void a_permanent_host_may_have_a_wal(void **state)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char wal[PATH_MAX + 32];
    struct atoll_database_settings settings = {
        .path = path, .mode = ATOLL_DATABASE_OWN, .is_permanent_host = 1};
    struct stat st;
    snprintf(wal, sizeof(wal), "%s-wal", path);
    pid_t pid = fork();
    if (pid == 0) { /* killed */
        struct atoll_database *database = atoll_database_open(&settings, &err);
        _exit(database && put(database, 1, &err) == 0 && stat(wal, &st) == 0 && st.st_size > 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_null(try_open(ATOLL_DATABASE_READ, &err));
    expect_err(&err, ATOLL_E_BUSY, "was killed");
    struct atoll_database *database = must_open(ATOLL_DATABASE_OWN);
    assert_int_equal(put(database, 2, &err), 0);
    atoll_database_close(database);
    assert_int_not_equal(stat(wal, &st), 0);
    assert_int_equal(rows(), 2);
    atoll_database_close(must_open(ATOLL_DATABASE_READ));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_committed_is_there_again),
        TEST(a_second_owner_is_told_who_has_it),
        TEST(a_former_owner_writes_nothing),
        TEST(a_restored_file_goes_on),
        TEST(what_is_no_file_of_ours_is_refused),
        TEST(whatever_fails_nothing_acknowledged_is_lost),
        TEST(anybody_gets_a_copy),
        TEST(a_permanent_host_may_have_a_wal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

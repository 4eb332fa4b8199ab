/* database.c - opening a gateway's file, owning it, and transactions that only the owner can make.
 *
 * Who owns the file holds the newest claim of the lease beside it, and has written the claim's epoch into `meta`.  A
 * transaction begins by comparing that epoch with its own, so a former owner that comes back to life writes nothing; and it is
 * refused when the lease was not renewed for FENCE_S, which is less than anybody waits before taking the file over. */
#include "llm-gateway/budget/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#define SCHEMA         1
#define APPLICATION_ID "0x41544c47" /* "ATLG" */
#define FENCE_S        60.0         /* < ATOLL_LEASE_TIME_S */
#define NEAR_LOOKS     20           /* at an owner on this host, 0.1 s apart: it may be ending */
#define COPY_LOOK_S    1.0          /* how often the owner looks for somebody who wants a copy */
#define COPY_PAGES     2000         /* in one turn */
#define PATH_BYTES     4096

struct atoll_database {
    sqlite3 *sqlite;
    char *path;
    enum atoll_database_mode mode;
    struct atoll_lease *lease;
    double renewed_s, tried_s, looked_s; /* lease renewed, tried to; looked for a wanted copy */
    sqlite3_stmt *epoch_check;
    sqlite3 *copy;
    sqlite3_backup *backup; /* of a copy that is being made */
};

static const char schema_sql[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE limits(scope TEXT NOT NULL, name TEXT NOT NULL, money INTEGER, tokens INTEGER,"
    " PRIMARY KEY(scope, name)) WITHOUT ROWID;"
    "CREATE TABLE reservations(number INTEGER PRIMARY KEY, state TEXT NOT NULL, request BLOB NOT NULL,"
    " campaign TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, day TEXT NOT NULL,"
    " money INTEGER NOT NULL, tokens INTEGER NOT NULL, spent_money INTEGER, spent_tokens INTEGER,"
    " epoch INTEGER NOT NULL, unix_ns INTEGER NOT NULL);"
    "CREATE INDEX reservations_not_settled ON reservations(state) WHERE state <> 'settled';"
    "CREATE TABLE spend(scope TEXT NOT NULL, name TEXT NOT NULL, task TEXT NOT NULL, money INTEGER NOT NULL,"
    " tokens INTEGER NOT NULL, excess_money INTEGER NOT NULL, excess_tokens INTEGER NOT NULL,"
    " calls INTEGER NOT NULL, PRIMARY KEY(scope, name, task)) WITHOUT ROWID;"
    "CREATE TABLE exchanges(number INTEGER PRIMARY KEY, request_id BLOB NOT NULL, key TEXT NOT NULL,"
    " status TEXT NOT NULL, is_final INTEGER NOT NULL, reservation INTEGER NOT NULL, model TEXT NOT NULL,"
    " campaign TEXT NOT NULL, task TEXT NOT NULL, unix_ns INTEGER NOT NULL, input_tokens INTEGER NOT NULL,"
    " output_tokens INTEGER NOT NULL, cost_usd REAL NOT NULL, request TEXT NOT NULL, text TEXT NOT NULL,"
    " outcome BLOB NOT NULL);"
    "CREATE UNIQUE INDEX exchanges_by_reservation ON exchanges(reservation) WHERE reservation > 0;"
    "CREATE INDEX exchanges_by_request ON exchanges(request_id) WHERE is_final;"
    "CREATE INDEX exchanges_by_key ON exchanges(key) WHERE is_final AND key <> '';"
    "INSERT INTO meta VALUES('schema', 1), ('epoch', 0);"
    "PRAGMA application_id = " APPLICATION_ID ";";

/* ---- errors ---- */

static int failed(sqlite3 *sqlite, const char *path, struct atoll_err *err)
{
    int code = sqlite3_extended_errcode(sqlite), system = sqlite3_system_errno(sqlite);
    const char *text = sqlite3_errmsg(sqlite);
    switch (code & 0xff) {
    case SQLITE_FULL:
        return atoll_err_set(err, ATOLL_E_FULL, "%s: no space is left to write it; free some", path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        if (system == EFBIG || system == ENOSPC || system == EDQUOT) {
            return atoll_err_set(err, ATOLL_E_FULL, "%s: no space is left to write it (%s); free some", path,
                                 strerror(system));
        }
        if (system && (code & 0xff) == SQLITE_CANTOPEN)
            return atoll_err_errno(err, system, "%s: %s", path, text);
        return atoll_err_set(err, ATOLL_E_IO, "%s: %s (%s)", path, text, strerror(system));
    case SQLITE_NOMEM: return atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory", path);
    case SQLITE_NOTADB:
        return atoll_err_set(
            err, ATOLL_E_INPUT,
            "%s: is not a gateway's file; name another, or, where it is an exchanges.atl of an "
            "earlier version, convert it: atoll gateway convert %s NEW",
            path, path);
    case SQLITE_CORRUPT:
        return atoll_err_set(err, ATOLL_E_CORRUPT, "%s: damaged (%s); restore it from a copy", path, text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return atoll_err_set(err, ATOLL_E_DENIED, "%s: may not be written; check its permissions", path);
    default: return atoll_err_set(err, ATOLL_E_INTERNAL, "%s: SQLite says %d: %s", path, code, text);
    }
}

/* ---- statements ---- */

sqlite3_stmt *atoll_database_prepare(struct atoll_database *database, const char *sql, struct atoll_err *err)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(database->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) ==
        SQLITE_OK) {
        return statement;
    }
    failed(database->sqlite, database->path, err);
    return NULL;
}

int atoll_database_step(struct atoll_database *database, sqlite3_stmt *statement, struct atoll_err *err)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        return 1;
    int result = code == SQLITE_DONE ? 0 : failed(database->sqlite, database->path, err);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return result;
}

int atoll_database_run(struct atoll_database *database, const char *sql, struct atoll_err *err)
{
    return sqlite3_exec(database->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : failed(database->sqlite, database->path, err);
}

/* One integer of a pragma or a row; fallback where there is none. */
static int read_integer(struct atoll_database *database, const char *sql, long long fallback,
                        long long *ret_value, struct atoll_err *err)
{
    sqlite3_stmt *statement = atoll_database_prepare(database, sql, err);
    int got = statement ? atoll_database_step(database, statement, err) : -1;
    *ret_value = got == 1 ? sqlite3_column_int64(statement, 0) : fallback;
    sqlite3_finalize(statement);
    return got < 0 ? -1 : 0;
}

/* ---- the owner ---- */

static double now_s(void)
{
    return (double)atoll_clock_read_ns(CLOCK_BOOTTIME) *
           1e-9; /* a suspended machine's lease grows old, too */
}

static int beside(const char *path, const char *end, char ret_path[PATH_BYTES], struct atoll_err *err)
{
    return (size_t)snprintf(ret_path, PATH_BYTES, "%s%s", path, end) < PATH_BYTES
               ? 0
               : atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", path);
}

static void describe_self(struct atoll_lease_holder *ret_self)
{
    const char *job = getenv("SLURM_JOB_ID"), *restarts = getenv("SLURM_RESTART_COUNT");
    atoll_lease_holder_self(job ? job : "local", restarts ? (uint32_t)strtoul(restarts, NULL, 10) : 0,
                            ret_self);
}

int atoll_database_owner(const char *path, struct atoll_lease_seen *ret_seen, struct atoll_err *err)
{
    char folder[PATH_BYTES];
    struct atoll_lease_holder self;
    describe_self(&self);
    return beside(path, ".owner", folder, err) ? -1 : atoll_lease_look(folder, &self, ret_seen, err);
}

static int is_owned_by(const char *path, const struct atoll_lease_seen *seen, struct atoll_err *err)
{
    const struct atoll_lease_holder *h = &seen->holder;
    return atoll_err_set(
        err, ATOLL_E_BUSY,
        "%s is owned by another gateway: pid %lld on host %s, job %s, epoch %u; ask that one, stop it "
        "first, or give this one a file of its own",
        path, (long long)h->pid, *h->host ? h->host : "?", *h->job ? h->job : "?", seen->epoch);
}

/* An owner on this boot of this host lives or is dead, and the lease says which.  Of one elsewhere only the beat tells: one
 * that stands still for the lease's time is followed. */
static struct atoll_lease *claim(const struct atoll_database_settings *settings, uint32_t after,
                                 struct atoll_err *err)
{
    char folder[PATH_BYTES];
    struct atoll_lease_holder self;
    struct atoll_lease_watch watch = {0};
    uint64_t first_beat = 0;
    uint32_t silent = 0;
    describe_self(&self);
    if (beside(settings->path, ".owner", folder, err))
        return NULL;
    if (mkdir(folder, 0777) && errno != EEXIST) {
        atoll_err_errno(err, errno, "%s: cannot be made", folder);
        return NULL;
    }
    for (int looks = 0;; looks++) {
        struct atoll_lease_seen seen;
        if (atoll_lease_look(folder, &self, &seen, err))
            return NULL;
        if (seen.state != ATOLL_LEASE_HELD)
            break;
        double silent_s = atoll_lease_watch_note(&watch, &seen, now_s() * 1e9);
        if (looks == 0)
            first_beat = seen.beat;
        int is_near = self.boot[0] && strcmp(seen.holder.boot, self.boot) == 0;
        if (!settings->is_patient || seen.beat != first_beat || (is_near && looks == NEAR_LOOKS)) {
            is_owned_by(settings->path, &seen, err);
            return NULL;
        }
        if (silent_s > ATOLL_LEASE_TIME_S) {
            silent = seen.epoch;
            break;
        }
        if (looks == 0 && !is_near) {
            atoll_log(ATOLL_LOG_INFO, "gateway.owner.wait",
                      "%s was last owned by pid %lld on host %s, which does not say that it ended; waiting "
                      "up to %.0f s "
                      "to see whether it still lives",
                      settings->path, (long long)seen.holder.pid, seen.holder.host, ATOLL_LEASE_TIME_S);
        }
        nanosleep(&(struct timespec){.tv_sec = !is_near, .tv_nsec = is_near * 100 * 1000 * 1000}, NULL);
    }
    struct atoll_err why = ATOLL_ERR_INIT;
    struct atoll_lease *lease = atoll_lease_claim_after(folder, &self, silent, after, NULL, &why);
    struct atoll_lease_seen seen;
    if (lease)
        return lease;
    if (why.code == ATOLL_E_BUSY && atoll_lease_look(folder, &self, &seen, NULL) == 0)
        is_owned_by(settings->path, &seen, err);
    else
        atoll_err_set(err, why.code, "%s", why.text);
    return NULL;
}

static int is_lost(struct atoll_database *database, struct atoll_err *err)
{
    struct atoll_lease_seen seen;
    return atoll_database_owner(database->path, &seen, err) ? -1 : is_owned_by(database->path, &seen, err);
}

static int renew(struct atoll_database *database, struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    double began_s = now_s();
    database->tried_s = began_s;
    if (atoll_lease_renew(database->lease, &why) == 0) {
        database->renewed_s = began_s;
        return 0;
    }
    return why.code == ATOLL_E_BUSY ? is_lost(database, err) : atoll_err_set(err, why.code, "%s", why.text);
}

/* ---- transactions ---- */

int atoll_database_begin(struct atoll_database *database, struct atoll_err *err)
{
    if (database->lease && now_s() - database->renewed_s > FENCE_S && renew(database, err))
        return -1;
    if (atoll_database_run(database, "BEGIN IMMEDIATE", err))
        return -1;
    if (!database->epoch_check)
        return 0;
    int got = atoll_database_step(database, database->epoch_check, err);
    int is_ours =
        got == 1 && sqlite3_column_int64(database->epoch_check, 0) == atoll_lease_epoch(database->lease);
    sqlite3_reset(database->epoch_check);
    if (is_ours)
        return 0;
    atoll_database_rollback(database);
    return got < 0 ? -1 : is_lost(database, err);
}

void atoll_database_rollback(struct atoll_database *database)
{
    if (!sqlite3_get_autocommit(database->sqlite)) /* some errors have rolled back already */
        sqlite3_exec(database->sqlite, "ROLLBACK", NULL, NULL, NULL);
}

int atoll_database_commit(struct atoll_database *database, struct atoll_err *err)
{
    int result = 0;
    if (database->lease && now_s() - database->renewed_s > FENCE_S)
        result = renew(database, err);
    if (result == 0)
        result = atoll_database_run(database, "COMMIT", err);
    if (result)
        atoll_database_rollback(database);
    return result;
}

/* ---- opening ---- */

static int check_schema(struct atoll_database *database, struct atoll_err *err)
{
    long long tables, application, schema;
    if (read_integer(database, "SELECT count(*) FROM sqlite_master", 0, &tables, err) ||
        read_integer(database, "PRAGMA application_id", 0, &application, err)) {
        return -1;
    }
    if (tables == 0 && database->mode != ATOLL_DATABASE_READ) {
        return atoll_database_run(database, "BEGIN IMMEDIATE", err) ||
                       atoll_database_run(database, schema_sql, err) ||
                       atoll_database_run(database, "COMMIT", err) ||
                       atoll_file_sync_parent(atoll_file_ops_real(), database->path, err)
                   ? -1
                   : 0;
    }
    if (application != strtoll(APPLICATION_ID, NULL, 16))
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: is not a gateway's file; name another", database->path);
    if (read_integer(database, "SELECT value FROM meta WHERE name = 'schema'", 0, &schema, err))
        return -1;
    return schema > SCHEMA
               ? atoll_err_set(err, ATOLL_E_SCHEMA, "%s: schema %lld is newer than %d: use a newer Atoll",
                               database->path, schema, SCHEMA)
               : 0;
}

/* From here on transactions of earlier owners fail.  A file that was put back from a copy may know of later epochs than the
 * lease beside it: then the lease goes on from there. */
static int take_over(struct atoll_database *database, const struct atoll_database_settings *settings,
                     struct atoll_err *err)
{
    long long before;
    char sql[160];
    if (read_integer(database, "SELECT value FROM meta WHERE name = 'epoch'", 0, &before, err))
        return -1;
    if (before >= atoll_lease_epoch(database->lease)) {
        atoll_lease_release(database->lease);
        database->lease = claim(settings, (uint32_t)before, err);
        if (!database->lease)
            return -1;
    }
    snprintf(sql, sizeof(sql), "UPDATE meta SET value = %u WHERE name = 'epoch'",
             atoll_lease_epoch(database->lease));
    if (atoll_database_run(database, "BEGIN IMMEDIATE", err) || atoll_database_run(database, sql, err) ||
        atoll_database_run(database, "COMMIT", err)) {
        return -1;
    }
    database->epoch_check =
        atoll_database_prepare(database, "SELECT value FROM meta WHERE name = 'epoch'", err);
    return database->epoch_check ? 0 : -1;
}

/* What a kill left beside a file is part of it, and a reader may not mend it. */
static int check_quiet(const char *path, struct atoll_err *err)
{
    static const char *const ends[] = {"-journal", "-wal"};
    struct atoll_lease_seen seen;
    char other[PATH_BYTES];
    struct stat st;
    if (stat(path, &st))
        return atoll_err_errno(err, errno, "%s: cannot be read", path);
    if (atoll_database_owner(path, &seen, err))
        return -1;
    if (seen.state == ATOLL_LEASE_HELD) {
        is_owned_by(path, &seen, err);
        return atoll_err_add(err, "or read a copy: atoll gateway spend --copy FILE");
    }
    for (size_t i = 0; i < 2; i++) {
        if (beside(path, ends[i], other, err))
            return -1;
        if (stat(other, &st) == 0 && st.st_size > 0) {
            return atoll_err_set(
                err, ATOLL_E_BUSY,
                "%s: the gateway that wrote it was killed; let `atoll gateway spend` tidy it up, or start "
                "the gateway again",
                path);
        }
    }
    return 0;
}

/* As a URI, in which ?, # and % of a path would mean something. */
static int uri_of(const char *path, char ret_uri[PATH_BYTES], struct atoll_err *err)
{
    size_t used = (size_t)snprintf(ret_uri, PATH_BYTES, "file:");
    for (; *path && used + 32 < PATH_BYTES; path++) {
        used += (size_t)snprintf(ret_uri + used, PATH_BYTES - used, strchr("?#%", *path) ? "%%%02X" : "%c",
                                 (unsigned)(unsigned char)*path);
    }
    snprintf(ret_uri + used, PATH_BYTES - used, "?immutable=1");
    return *path ? atoll_err_set(err, ATOLL_E_LIMIT, "path too long: ...%.80s", path) : 0;
}

/* What was said is its owner's to read; SQLite's journals have the mode of their file. */
static int make_private(const char *path, struct atoll_err *err)
{
    int fd = atoll_file_open_to_write(path, O_RDWR | O_CREAT, 0600, err);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

static int open_file(struct atoll_database *database, const struct atoll_database_settings *settings,
                     struct atoll_err *err)
{
    int is_reader = settings->mode == ATOLL_DATABASE_READ;
    int flags =
        is_reader ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    char uri[PATH_BYTES];
    if (is_reader ? check_quiet(settings->path, err) || uri_of(settings->path, uri, err)
                  : make_private(settings->path, err)) {
        return -1;
    }
    if (sqlite3_open_v2(is_reader ? uri : settings->path, &database->sqlite, flags | SQLITE_OPEN_NOMUTEX,
                        settings->vfs ? settings->vfs : "unix-none") != SQLITE_OK) {
        return failed(database->sqlite, settings->path, err);
    }
    sqlite3_extended_result_codes(database->sqlite, 1);
    sqlite3_db_config(database->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    /* What a kill left in a journal or a WAL is undone or done by this; a WAL without locks is one process's. */
    if (!is_reader &&
        (atoll_database_run(database, "PRAGMA locking_mode = EXCLUSIVE", err) ||
         atoll_database_run(database,
                            settings->is_permanent_host
                                ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"
                                : "PRAGMA journal_mode = PERSIST; PRAGMA synchronous = EXTRA;"
                                  "PRAGMA journal_size_limit = 4194304; PRAGMA locking_mode = NORMAL;"
                                  "SELECT count(*) FROM sqlite_master",
                            err))) {
        return -1;
    }
    return check_schema(database, err);
}

struct atoll_database *atoll_database_open(const struct atoll_database_settings *settings,
                                           struct atoll_err *err)
{
    struct atoll_database *database = calloc(1, sizeof(*database));
    if (database)
        database->path = strdup(settings->path);
    if (!database || !database->path) {
        free(database);
        atoll_err_set(err, ATOLL_E_MEMORY, "%s: no memory to open it", settings->path);
        return NULL;
    }
    database->mode = settings->mode;
    if (settings->mode == ATOLL_DATABASE_OWN) {
        database->lease = claim(settings, 0, err);
        database->renewed_s = database->tried_s = now_s();
        if (!database->lease)
            goto fail;
    }
    if (open_file(database, settings, err) || (database->lease && take_over(database, settings, err)))
        goto fail;
    return database;
fail:
    atoll_database_close(database);
    return NULL;
}

static void end_copy(struct atoll_database *database)
{
    sqlite3_backup_finish(database->backup);
    sqlite3_close(database->copy);
    database->backup = NULL;
    database->copy = NULL;
}

void atoll_database_close(struct atoll_database *database)
{
    sqlite3_stmt *statement;
    if (!database)
        return;
    end_copy(database);
    while (database->sqlite && (statement = sqlite3_next_stmt(database->sqlite, NULL)) != NULL)
        sqlite3_finalize(statement);
    if (database->sqlite && database->mode != ATOLL_DATABASE_READ) /* one file, and none beside it */
        sqlite3_exec(database->sqlite, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    sqlite3_close(database->sqlite);
    atoll_lease_release(database->lease);
    free(database->path);
    free(database);
}

uint32_t atoll_database_epoch(const struct atoll_database *database)
{
    return database->lease ? atoll_lease_epoch(database->lease) : 0;
}

const char *atoll_database_path(const struct atoll_database *database)
{
    return database->path;
}

/* ---- copies ---- */

/* Who wants a copy of an owned file makes FILE.copy-wanted; the owner makes FILE.copy and removes it. */
#define WANTED ".copy-wanted"
#define COPY   ".copy"
#define PART   ".copy-part"

static int begin_copy(struct atoll_database *database, const char *target, struct atoll_err *err)
{
    unlink(target);
    if (make_private(target, err))
        return -1;
    if (sqlite3_open_v2(target, &database->copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "unix-none") ==
        SQLITE_OK) {
        database->backup = sqlite3_backup_init(database->copy, "main", database->sqlite, "main");
    }
    if (database->backup)
        return 0;
    failed(database->copy, target, err);
    end_copy(database);
    return -1;
}

/* 1: there is more to do.  A copy of a file in WAL mode is made an ordinary one, which needs no second file. */
static int step_copy(struct atoll_database *database, int pages, const char *target, struct atoll_err *err)
{
    int code = sqlite3_backup_step(database->backup, pages);
    if (code == SQLITE_OK)
        return 1;
    sqlite3_backup_finish(database->backup);
    database->backup = NULL;
    int result = code == SQLITE_DONE && sqlite3_exec(database->copy,
                                                     "PRAGMA locking_mode = EXCLUSIVE;"
                                                     "PRAGMA journal_mode = DELETE",
                                                     NULL, NULL, NULL) == SQLITE_OK
                     ? 0
                     : failed(database->copy, target, err);
    end_copy(database);
    return result;
}

static void serve_copy(struct atoll_database *database)
{
    char wanted[PATH_BYTES], part[PATH_BYTES], copy[PATH_BYTES];
    struct atoll_err err = ATOLL_ERR_INIT;
    if (beside(database->path, WANTED, wanted, &err) || beside(database->path, PART, part, &err) ||
        beside(database->path, COPY, copy, &err)) {
        return;
    }
    if (!database->backup) {
        if (now_s() - database->looked_s < COPY_LOOK_S)
            return;
        database->looked_s = now_s();
        if (access(wanted, F_OK))
            return;
        unlink(copy);
        if (begin_copy(database, part, &err))
            goto done;
    }
    int more = step_copy(database, COPY_PAGES, part, &err);
    if (more > 0)
        return;
    if (more == 0 && rename(part, copy))
        atoll_err_errno(&err, errno, "%s: cannot be renamed", part);
done:
    if (err.code) {
        atoll_log_err(ATOLL_LOG_ERROR, "gateway.copy", &err);
        unlink(part);
    }
    unlink(wanted);
}

int atoll_database_turn(struct atoll_database *database, struct atoll_err *err)
{
    double now = now_s();
    if (!database->lease)
        return 0;
    if (now - database->renewed_s >= ATOLL_LEASE_BEAT_S && now - database->tried_s >= 1.0) {
        struct atoll_err why = ATOLL_ERR_INIT;
        if (renew(database, &why)) {
            if (why.code == ATOLL_E_BUSY)
                return atoll_err_set(err, why.code, "%s", why.text);
            atoll_log_err(ATOLL_LOG_WARNING, "gateway.owner.renew", &why); /* the next turns try again */
        }
    }
    serve_copy(database);
    return 0;
}

/* To another file system. */
static int move_file(const char *from, const char *to, struct atoll_err *err)
{
    char block[1 << 16];
    ssize_t got = 0;
    int source = atoll_file_open(from, NULL, NULL),
        target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int is_good = source >= 0 && target >= 0;
    while (is_good && (got = read(source, block, sizeof(block))) > 0)
        is_good = write(target, block, (size_t)got) == got;
    int system = errno;
    is_good = is_good && got == 0 && fsync(target) == 0;
    close(source);
    close(target);
    if (!is_good) {
        if (target >= 0)
            unlink(to);
        return atoll_err_errno(err, system, "%s: the copy cannot be moved to %s", from, to);
    }
    unlink(from);
    return 0;
}

static int ask_for_copy(const char *path, const char *target, double wait_s, struct atoll_err *err)
{
    char wanted[PATH_BYTES], copy[PATH_BYTES];
    double until_s = now_s() + wait_s;
    if (beside(path, WANTED, wanted, err) || beside(path, COPY, copy, err))
        return -1;
    unlink(copy);
    int fd = atoll_file_open_to_write(wanted, O_WRONLY | O_CREAT, 0600, err);
    if (fd < 0)
        return atoll_err_add(err, "the owner of the database cannot be asked for a copy");
    close(fd);
    while (access(wanted, F_OK) == 0) {
        if (now_s() > until_s) {
            unlink(wanted);
            return atoll_err_set(
                err, ATOLL_E_TIMEOUT,
                "%s: the gateway that owns it made no copy within %.0f s; is it stopped or very busy?", path,
                wait_s);
        }
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    }
    if (rename(copy, target) == 0)
        return 0;
    if (errno == EXDEV)
        return move_file(copy, target, err);
    if (errno == ENOENT) {
        return atoll_err_set(err, ATOLL_E_IO,
                             "%s: the gateway that owns it could not make a copy; its log says why", path);
    }
    return atoll_err_errno(err, errno, "%s: the copy is at %s, and cannot be moved to %s", path, copy,
                           target);
}

int atoll_database_copy(const char *path, const char *target, double wait_s, struct atoll_err *err)
{
    struct atoll_database_settings settings = {.path = path, .mode = ATOLL_DATABASE_OWN};
    struct atoll_lease_seen seen;
    if (access(path, F_OK))
        return atoll_err_errno(err, errno, "%s: there is nothing to copy", path);
    if (access(target, F_OK) == 0)
        return atoll_err_set(err, ATOLL_E_EXISTS, "%s is there already; name another file", target);
    if (atoll_database_owner(path, &seen, err))
        return -1;
    if (seen.state == ATOLL_LEASE_HELD)
        return ask_for_copy(path, target, wait_s, err);
    struct atoll_database *database = atoll_database_open(&settings, err);
    int result = database ? begin_copy(database, target, err) : -1;
    while (result == 0 && database->backup)
        result = step_copy(database, -1, target, err) < 0 ? -1 : 0;
    atoll_database_close(database);
    if (result && database)
        unlink(target);
    return result;
}

/* database.h - the one SQLite file of a gateway: what it spent, what it reserved, what was said.
 * Layer: llm-gateway.  Lifetime: open/close.  One thread.  docs/spec/gateway-database.md is the contract, docs/adr/0017 says why.
 *
 * One process owns a file at a time, by the lease FILE.owner (base/lease.h) and not by SQLite's locks, which many shared file
 * systems do not carry between nodes.  Every transaction checks that the file's epoch is the owner's, and that its lease was
 * renewed lately; where that fails nothing is written any more. */
#ifndef ATOLL_LLM_GATEWAY_BUDGET_DATABASE_H
#define ATOLL_LLM_GATEWAY_BUDGET_DATABASE_H

#include "base/err.h"
#include "base/lease.h"

enum atoll_database_mode {
    ATOLL_DATABASE_READ,   /* a recording that nobody writes: opened as it lies there; it must be there */
    ATOLL_DATABASE_OWN,    /* a gateway's: made when it is not there */
    ATOLL_DATABASE_RECORD, /* a recording being made: nobody else knows of it, no lease is taken */
};

struct atoll_database_settings {
    const char *path;
    enum atoll_database_mode mode;
    int is_permanent_host; /* the file lies on a disk that this host keeps: WAL, which is faster */
    int is_patient;  /* OWN: watches an owner on another host whose lease stands still, and follows it */
    const char *vfs; /* NULL: SQLite's own without locks; tests bring others */
};

struct sqlite3_stmt; /* of sqlite3.h, which only llm-gateway includes */
struct atoll_database;
/* Errors: BUSY names the owner and says how to go on; NOTFOUND, INPUT (not a gateway's file), SCHEMA (newer), CORRUPT, IO,
 * FULL, DENIED. */
struct atoll_database *atoll_database_open(const struct atoll_database_settings *settings,
                                           struct atoll_err *err);
void atoll_database_close(struct atoll_database *database);

/* The owner's epoch; 0 in the other modes. */
uint32_t atoll_database_epoch(const struct atoll_database *database);
const char *atoll_database_path(const struct atoll_database *database);
/* Renews the lease when that is due, and goes on with a copy that somebody asked for; call it a few times a second.  BUSY:
 * somebody else owns the file now (named): write and spend nothing more. */
int atoll_database_turn(struct atoll_database *database, struct atoll_err *err);

/* A transaction: everything between lasts when commit returned 0.  After -1 it has to be made again, by statements that may run
 * twice: where the last sync failed nobody can say whether it lasts.  FULL (worth waiting), IO, BUSY (another owner), ... */
int atoll_database_begin(struct atoll_database *database, struct atoll_err *err);
int atoll_database_commit(struct atoll_database *database, struct atoll_err *err);
void atoll_database_rollback(struct atoll_database *database);

/* A statement, kept until close; NULL. */
struct sqlite3_stmt *atoll_database_prepare(struct atoll_database *database, const char *sql,
                                            struct atoll_err *err);
/* 1 a row, 0 done, -1; after 0 and -1 it is reset and its values are dropped. */
int atoll_database_step(struct atoll_database *database, struct sqlite3_stmt *statement,
                        struct atoll_err *err);
/* Several statements without values. */
int atoll_database_run(struct atoll_database *database, const char *sql, struct atoll_err *err);

/* Who owns a file: state and claim of its lease. */
int atoll_database_owner(const char *path, struct atoll_lease_seen *ret_seen, struct atoll_err *err);
/* A consistent copy for anybody's sqlite3.  While the file is owned the owner is asked to make it, through a file beside it,
 * and waited for (TIMEOUT after wait_s); else it is taken for that long.  EXISTS: the target is there. */
int atoll_database_copy(const char *path, const char *target, double wait_s, struct atoll_err *err);

#endif

/* failing_vfs.h - SQLite's file system without locks, of which one call that changes files fails, or from which on all of them
 * do, as if the process had been killed there. */
#ifndef ATOLL_TEST_GATEWAY_FAILING_VFS_H
#define ATOLL_TEST_GATEWAY_FAILING_VFS_H

#include <sqlite3.h>

#include "tests/unit/llm-gateway/scratch_folder.h"

enum failure { FAILS_NOT, FAILS_FULL, FAILS_IO, FAILS_SHORT, FAILS_DEAD, FAILURE_COUNT };

static struct failing_vfs {
    sqlite3_vfs vfs, *real;
    sqlite3_io_methods methods;
    long calls;   /* so far */
    long fail_at; /* the call that fails, from 0; -1 none */
    enum failure failure;
    int is_dead;
} failing;

struct failing_file {
    sqlite3_file base;
    sqlite3_file *real; /* behind it */
};

static inline sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct failing_file *)file)->real;
}

/* SQLITE_OK: go on. */
static inline int failing_hit(int io_code)
{
    if (!failing.is_dead && failing.calls++ != failing.fail_at)
        return SQLITE_OK;
    failing.is_dead = failing.is_dead || failing.failure == FAILS_DEAD;
    return failing.failure == FAILS_FULL ? SQLITE_FULL : io_code;
}

static inline int failing_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}
static inline int failing_read(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xRead(real_of(file), bytes, length, offset);
}
static inline int failing_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset)
{
    int was_dead = failing.is_dead, code = failing_hit(SQLITE_IOERR_WRITE);
    if (code && !was_dead && (failing.failure == FAILS_SHORT || failing.failure == FAILS_DEAD))
        real_of(file)->pMethods->xWrite(real_of(file), bytes, length / 2, offset);
    return code ? code : real_of(file)->pMethods->xWrite(real_of(file), bytes, length, offset);
}
static inline int failing_truncate(sqlite3_file *file, sqlite3_int64 length)
{
    int code = failing_hit(SQLITE_IOERR_TRUNCATE);
    return code ? code : real_of(file)->pMethods->xTruncate(real_of(file), length);
}
static inline int failing_sync(sqlite3_file *file, int flags)
{
    int code = failing_hit(SQLITE_IOERR_FSYNC);
    return code ? code : real_of(file)->pMethods->xSync(real_of(file), flags);
}
static inline int failing_size(sqlite3_file *file, sqlite3_int64 *length)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), length);
}
static inline int failing_lock(sqlite3_file *file, int kind)
{
    return real_of(file)->pMethods->xLock(real_of(file), kind);
}
static inline int failing_unlock(sqlite3_file *file, int kind)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), kind);
}
static inline int failing_check(sqlite3_file *file, int *held)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), held);
}
static inline int failing_control(sqlite3_file *file, int what, void *with)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), what, with);
}
static inline int failing_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}
static inline int failing_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static inline int failing_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                               int *ret_flags)
{
    struct failing_file *it = (struct failing_file *)file;
    file->pMethods = NULL;
    it->real = (sqlite3_file *)(it + 1);
    int code = failing.is_dead && (flags & SQLITE_OPEN_CREATE) ? SQLITE_CANTOPEN : SQLITE_OK;
    if (code == SQLITE_OK)
        code = failing.real->xOpen(failing.real, path, it->real, flags, ret_flags);
    if (code == SQLITE_OK)
        file->pMethods = &failing.methods;
    return code;
}

static inline int failing_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
    int code = failing_hit(SQLITE_IOERR_DELETE);
    return code ? code : failing.real->xDelete(failing.real, path, sync);
}

/* Its name, for settings. */
static inline const char *failing_vfs_name(enum failure failure, long fail_at)
{
    if (!failing.real) {
        failing.real = sqlite3_vfs_find("unix-none");
        failing.vfs = *failing.real;
        failing.vfs.zName = "failing";
        failing.vfs.pNext = NULL;
        failing.vfs.szOsFile = (int)sizeof(struct failing_file) + failing.real->szOsFile;
        failing.vfs.xOpen = failing_open;
        failing.vfs.xDelete = failing_delete;
        failing.methods = (sqlite3_io_methods){.iVersion = 1,
                                               .xClose = failing_close,
                                               .xRead = failing_read,
                                               .xWrite = failing_write,
                                               .xTruncate = failing_truncate,
                                               .xSync = failing_sync,
                                               .xFileSize = failing_size,
                                               .xLock = failing_lock,
                                               .xUnlock = failing_unlock,
                                               .xCheckReservedLock = failing_check,
                                               .xFileControl = failing_control,
                                               .xSectorSize = failing_sector,
                                               .xDeviceCharacteristics = failing_traits};
        sqlite3_vfs_register(&failing.vfs, 0);
    }
    failing.calls = 0;
    failing.fail_at = fail_at;
    failing.failure = failure;
    failing.is_dead = 0;
    return "failing";
}

#endif

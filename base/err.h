/* err.h - the one error object: filled once by the first function that knows, logged once by the top.
 * Layer: base.  Functions return 0/-1 (or a handle/NULL) and take `struct atoll_err *err` last; err may be
 * NULL. Outputs are untouched on failure, err is untouched on success.  Retry on the code, never on the
 * text. */
#ifndef ATOLL_BASE_ERR_H
#define ATOLL_BASE_ERR_H

enum atoll_code {
    ATOLL_OK = 0,
    ATOLL_E_USAGE,    /* the command line is wrong */
    ATOLL_E_INPUT,    /* a file or message that a person wrote is wrong; text names file and line */
    ATOLL_E_LIMIT,    /* a bound of ours was reached */
    ATOLL_E_MEMORY,   /* the allocator said no */
    ATOLL_E_IO,       /* a system call failed; sys_errno says why */
    ATOLL_E_FULL,     /* no space left where we write */
    ATOLL_E_DENIED,   /* no permission, or a read-only file system */
    ATOLL_E_BUSY,     /* another process works on it */
    ATOLL_E_EXISTS,   /* it is there already and would be overwritten */
    ATOLL_E_NOTFOUND, /* a named thing is not there */
    ATOLL_E_MISSING,  /* a tool or library this machine lacks */
    ATOLL_E_SCHEMA,   /* written by a newer version of Atoll */
    ATOLL_E_CORRUPT,  /* checksums or invariants of a file of ours do not hold */
    ATOLL_E_PROTOCOL, /* a peer process sent what it must not */
    ATOLL_E_TIMEOUT,  /* a deadline of ours passed */
    ATOLL_E_CHILD,    /* a child process failed or vanished */
    ATOLL_E_MISMATCH, /* a replay or re-check disagrees with the record */
    ATOLL_E_INTERNAL, /* our own bug */
    ATOLL_CODE_COUNT
};

#define ATOLL_ERR_TEXT_BYTES 1024

struct atoll_err {
    enum atoll_code code;
    int sys_errno;    /* 0 when no system call was involved */
    const char *file; /* source place that filled it, static storage */
    int line;
    char text[ATOLL_ERR_TEXT_BYTES]; /* what happened and the remedy, one line, no newline at the end */
};

#define ATOLL_ERR_INIT                                                                                       \
    {                                                                                                        \
        ATOLL_OK, 0, (const char *)0, 0, ""                                                                  \
    }

/* Fills err (if not NULL) and returns -1.  Text is cut at ATOLL_ERR_TEXT_BYTES - 1 bytes. */
#define atoll_err_set(err, code, ...)                                                                        \
    atoll_err_failure(atoll_err_fill((err), (code), 0, __FILE__, __LINE__, __VA_ARGS__))
/* The same for a failed system call: the code is chosen from errno (ENOSPC, EDQUOT -> FULL, EACCES, EPERM,
 * EROFS -> DENIED, ENOENT -> NOTFOUND, EEXIST -> EXISTS, ENOMEM -> MEMORY, else IO) and ": strerror" is
 * appended. */
#define atoll_err_errno(err, sys_errno, ...)                                                                 \
    atoll_err_failure(atoll_err_fill((err), ATOLL_E_IO, (sys_errno), __FILE__, __LINE__, __VA_ARGS__))

int atoll_err_fill(struct atoll_err *err, enum atoll_code code, int sys_errno, const char *file, int line,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Appends one clause ("; while ...") to a filled err; returns -1 so that it can end a return statement. */
int atoll_err_add(struct atoll_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
void atoll_err_clear(struct atoll_err *err);
/* Shows compilers and analysers of the caller that the value is always -1. */
static inline int atoll_err_failure(int filled)
{
    (void)filled;
    return -1;
}

/* "input", "limit" ...; "unknown" beyond the table */
const char *atoll_code_name(enum atoll_code code);
/* 0 for OK, 2 for USAGE, sysexits-like others; in the man page */
int atoll_code_exit_status(enum atoll_code code);

#endif

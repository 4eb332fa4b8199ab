/* err.c - one table gives code, name and exit status; texts are built aside, so that a caller may pass
 * err->text. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_status; /* as in sysexits.h where it has a word for it */
} codes[ATOLL_CODE_COUNT] = {
    [ATOLL_OK] = {"ok", 0},
    [ATOLL_E_USAGE] = {"usage", 2},
    [ATOLL_E_INPUT] = {"input", 65},
    [ATOLL_E_LIMIT] = {"limit", 72},
    [ATOLL_E_MEMORY] = {"memory", 71},
    [ATOLL_E_IO] = {"io", 74},
    [ATOLL_E_FULL] = {"full", 79},
    [ATOLL_E_DENIED] = {"denied", 77},
    [ATOLL_E_BUSY] = {"busy", 75},
    [ATOLL_E_EXISTS] = {"exists", 73},
    [ATOLL_E_NOTFOUND] = {"notfound", 66},
    [ATOLL_E_MISSING] = {"missing", 69},
    [ATOLL_E_SCHEMA] = {"schema", 78},
    [ATOLL_E_CORRUPT] = {"corrupt", 80},
    [ATOLL_E_PROTOCOL] = {"protocol", 76},
    [ATOLL_E_TIMEOUT] = {"timeout", 81},
    [ATOLL_E_CHILD] = {"child", 82},
    [ATOLL_E_MISMATCH] = {"mismatch", 1},
    [ATOLL_E_INTERNAL] = {"internal", 70},
};

static const struct {
    int sys_errno;
    enum atoll_code code;
} system_codes[] = {
    {ENOSPC, ATOLL_E_FULL},  {EDQUOT, ATOLL_E_FULL},     {EACCES, ATOLL_E_DENIED}, {EPERM, ATOLL_E_DENIED},
    {EROFS, ATOLL_E_DENIED}, {ENOENT, ATOLL_E_NOTFOUND}, {EEXIST, ATOLL_E_EXISTS}, {ENOMEM, ATOLL_E_MEMORY},
};

static enum atoll_code code_of_errno(int sys_errno)
{
    for (size_t i = 0; i < sizeof(system_codes) / sizeof(*system_codes); i++)
        if (system_codes[i].sys_errno == sys_errno)
            return system_codes[i].code;
    return ATOLL_E_IO;
}

/* One line: whatever would break it becomes a space, and none stays at the end. */
static void make_one_line(char *text)
{
    size_t length = 0;
    for (; text[length]; length++)
        if (text[length] == '\n' || text[length] == '\r')
            text[length] = ' ';
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
}

int atoll_err_fill(struct atoll_err *err, enum atoll_code code, int sys_errno, const char *file, int line,
                   const char *format, ...)
{
    if (!err)
        return -1;
    char text[ATOLL_ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (sys_errno) {
        char reason[128];
        size_t length = strlen(text);
        snprintf(text + length, sizeof(text) - length, ": %s", strerror_r(sys_errno, reason, sizeof(reason)));
        code = code_of_errno(sys_errno);
    }
    make_one_line(text);
    err->code = code;
    err->sys_errno = sys_errno;
    err->file = file;
    err->line = line;
    memcpy(err->text, text, sizeof(text));
    return -1;
}

int atoll_err_add(struct atoll_err *err, const char *format, ...)
{
    if (!err)
        return -1;
    char clause[ATOLL_ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(clause, sizeof(clause), format, args);
    va_end(args);
    size_t length = strnlen(err->text, sizeof(err->text) - 1);
    snprintf(err->text + length, sizeof(err->text) - length, "%s%s", length ? "; " : "", clause);
    make_one_line(err->text);
    return -1;
}

void atoll_err_clear(struct atoll_err *err)
{
    if (err)
        *err = (struct atoll_err)ATOLL_ERR_INIT;
}

const char *atoll_code_name(enum atoll_code code)
{
    return (unsigned)code < ATOLL_CODE_COUNT ? codes[code].name : "unknown";
}

int atoll_code_exit_status(enum atoll_code code)
{
    return (unsigned)code < ATOLL_CODE_COUNT ? codes[code].exit_status : codes[ATOLL_E_INTERNAL].exit_status;
}

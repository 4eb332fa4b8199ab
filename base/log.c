/* log.c - "2026-01-31T12:00:00.000Z warning eval.worker.lost [rank 3] text", built aside and written by one
 * call, so that lines of several threads and processes never mix. */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/utf8.h"

#define LINE_BYTES   2048u
#define PREFIX_BYTES 32u

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int fd;
    enum atoll_log_level level;
    char prefix[PREFIX_BYTES];
} settings = {STDERR_FILENO, ATOLL_LOG_INFO, ""};

void atoll_log_setup(int fd, enum atoll_log_level level, const char *prefix)
{
    pthread_mutex_lock(&lock);
    settings.fd = fd;
    settings.level = level;
    snprintf(settings.prefix, sizeof(settings.prefix), "%s", prefix ? prefix : "");
    pthread_mutex_unlock(&lock);
}

static size_t put_head(char *line, enum atoll_log_level level, const char *id)
{
    int64_t now_ns = atoll_clock_unix_ns();
    time_t now_s = (time_t)(now_ns / 1000000000);
    struct tm utc;
    char date[32];
    gmtime_r(&now_s, &utc);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
    const char *open = settings.prefix[0] ? " [" : "", *close = settings.prefix[0] ? "]" : "";
    int length =
        snprintf(line, LINE_BYTES, "%s.%03dZ %-7s %.128s%s%s%s ", date, (int)(now_ns / 1000000 % 1000),
                 level_names[level], id, open, settings.prefix, close);
    return length < 0 ? 0 : (size_t)length;
}

void atoll_log(enum atoll_log_level level, const char *id, const char *format, ...)
{
    int saved_errno = errno;
    char line[LINE_BYTES + 1], clean[LINE_BYTES + 2];
    pthread_mutex_lock(&lock);
    if (settings.fd >= 0 && (unsigned)level <= ATOLL_LOG_DEBUG && level <= settings.level) {
        size_t length = put_head(line, level, id);
        va_list args;
        va_start(args, format);
        vsnprintf(line + length, LINE_BYTES - length, format, args);
        va_end(args);
        /* Nothing from outside forges a line or steers a terminal. */
        atoll_utf8_line(clean, sizeof(clean) - 1, line, strlen(line));
        length = strlen(clean);
        clean[length++] = '\n';
        atoll_write_all(settings.fd, clean, length);
    }
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
}

void atoll_log_err(enum atoll_log_level level, const char *id, const struct atoll_err *err)
{
    if (!err)
        return;
    pthread_mutex_lock(&lock);
    int with_place = settings.level >= ATOLL_LOG_DEBUG && err->file;
    pthread_mutex_unlock(&lock);
    if (with_place) {
        atoll_log(level, id, "%s (%s, at %s:%d)", err->text, atoll_code_name(err->code), err->file,
                  err->line);
    } else {
        atoll_log(level, id, "%s (%s)", err->text, atoll_code_name(err->code));
    }
}

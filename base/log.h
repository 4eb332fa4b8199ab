/* log.h - log lines with stable ids: time, level, id, text.  Layer: base.  Thread-safe (one write call a
 * line). An id is a dotted literal ("eval.worker.lost") that never changes its meaning;
 * docs/spec/log-ids.md lists all and a test compares it with the sources. */
#ifndef ATOLL_BASE_LOG_H
#define ATOLL_BASE_LOG_H

enum atoll_log_level { ATOLL_LOG_ERROR, ATOLL_LOG_WARNING, ATOLL_LOG_INFO, ATOLL_LOG_DEBUG };

/* Where lines go: a file descriptor (borrowed; -1 = nowhere; default standard error), from which level on,
 * and a prefix such as "rank 3" ("" for none; copied, 31 bytes). */
void atoll_log_setup(int fd, enum atoll_log_level level, const char *prefix);
void atoll_log(enum atoll_log_level level, const char *id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Logs a filled error: its text, its code, and at debug level its source place. */
struct atoll_err;
void atoll_log_err(enum atoll_log_level level, const char *id, const struct atoll_err *err);

#endif

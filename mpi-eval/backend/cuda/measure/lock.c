#include "mpi-eval/backend/cuda/measure/lock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define CMD_BYTES 240

static int path_set(const char *folder, const char *uuid, char *ret_path, size_t bytes, struct atoll_err *err)
{
    for (const char *p = uuid; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-')
            return atoll_err_set(err, ATOLL_E_INPUT, "a device is called \"%.80s\", which is no UUID", uuid);
    const char *tmp = getenv("TMPDIR");
    if (!folder)
        folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : tmp && tmp[0] ? tmp : "/tmp";
    int n = snprintf(ret_path, bytes, "%s/atoll-gpu-%s.lock", folder, uuid);
    if (!uuid[0] || n < 0 || (size_t)n >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of the lock of device \"%.80s\" is too long",
                             uuid);
    return 0;
}

/* What a lock says of its holder, a line each: pid, host, command that runs its campaign.  Anybody may write there:
 * nothing of it is believed, and only what can be printed is. */
struct holder {
    char pid[24], host[72], command[CMD_BYTES];
};

/* The text up to the end of the line, as far as it is of such characters; past the line. */
static const char *line_read(const char *at, int (*is_such)(int), char *ret_text, size_t bytes)
{
    size_t n = 0;
    while (n + 1 < bytes && at[n] && at[n] != '\n' && is_such((unsigned char)at[n]))
        n++;
    memcpy(ret_text, at, n);
    ret_text[n] = 0;
    at += strcspn(at, "\n");
    return *at ? at + 1 : at;
}

static int refuse(int fd, const char *uuid, const char *path, struct atoll_err *err)
{
    struct holder h;
    char text[sizeof(h) + 4] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = 0;
    const char *at = line_read(text, isdigit, h.pid, sizeof(h.pid));
    at = line_read(at, isgraph, h.host, sizeof(h.host));
    line_read(at, isprint, h.command, sizeof(h.command));
    return atoll_err_set(
        err, ATOLL_E_BUSY,
        "device %s is measured already by process %s on %s, started by \"%s\" (%s); give every evaluator "
        "a device of its own",
        uuid, h.pid[0] ? h.pid : "(unknown)", h.host[0] ? h.host : "an unknown host", h.command, path);
}

int atoll_cuda_lock(const char *folder, const char *uuid, struct atoll_err *err)
{
    char path[512];
    struct stat st;
    if (path_set(folder, uuid, path, sizeof(path), err) != 0)
        return -1;
    /* A sticky folder may forbid to open another user's file for writing with O_CREAT: then it is there. */
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EACCES)
        fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        (void)!fchmod(fd, 0666); /* against the umask; only the owner may, and once is enough */
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot open the lock %s of the device", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return atoll_err_set(err, ATOLL_E_DENIED, "the lock %s of the device is no file", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int why = errno;
        int rc = why == EWOULDBLOCK ? refuse(fd, uuid, path, err)
                                    : atoll_err_errno(err, why, "cannot lock %s", path);
        close(fd);
        return rc;
    }
    struct holder me = {.host = ""};
    char text[sizeof(me) + 4];
    if (gethostname(me.host, sizeof(me.host) - 1) != 0)
        me.host[0] = 0;
    /* Of the process that started this one: an evaluator is told its campaign, its command line does not say it. */
    char name[40];
    snprintf(name, sizeof(name), "/proc/%ld/cmdline", (long)getppid());
    int cmdline = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t length = cmdline >= 0 ? read(cmdline, me.command, (sizeof(me.command)) - 1) : 0;
    if (cmdline >= 0)
        close(cmdline);
    length = length > 0 ? length : 0;
    for (ssize_t i = 0; i < length; i++)
        me.command[i] = isprint((unsigned char)me.command[i]) ? me.command[i] : ' ';
    while (length > 0 && me.command[length - 1] == ' ')
        length--;
    me.command[length] = 0;
    int n = snprintf(text, sizeof(text), "%ld\n%s\n%s\n", (long)getpid(), me.host, me.command);
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, text, (size_t)n, 0); /* of another user's file: nobody's pid */
    return fd;
}

void atoll_cuda_unlock(int fd)
{
    if (fd < 0)
        return;
    (void)!ftruncate(fd, 0);
    close(fd);
}

#include "mpi-eval/backend/cuda/lock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder_default(void)
{
    const char *tmp = getenv("TMPDIR");
    if (access("/dev/shm", W_OK) == 0)
        return "/dev/shm";
    return tmp && tmp[0] ? tmp : "/tmp";
}

static int path_set(const char *folder, const char *uuid, char *ret_path, size_t bytes, struct atoll_err *err)
{
    for (const char *p = uuid; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-')
            return atoll_err_set(err, ATOLL_E_INPUT, "a device is called \"%.80s\", which is no UUID", uuid);
    int n = snprintf(ret_path, bytes, "%s/atoll-gpu-%s.lock", folder ? folder : folder_default(), uuid);
    if (!uuid[0] || n < 0 || (size_t)n >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of the lock of device \"%.80s\" is too long",
                             uuid);
    return 0;
}

/* A sticky folder may forbid to open another user's file for writing with O_CREAT: then it is there. */
static int file_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EACCES)
        fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        (void)!fchmod(fd, 0666); /* against the umask; only the owner may, and once is enough */
    return fd;
}

static void holder_read(int fd, char *ret_text, size_t bytes)
{
    ssize_t n = pread(fd, ret_text, bytes - 1, 0);
    size_t digits = 0;
    while (n > 0 && digits < (size_t)n && isdigit((unsigned char)ret_text[digits]))
        digits++;
    ret_text[digits] = 0;
}

int atoll_cuda_lock(const char *folder, const char *uuid, struct atoll_err *err)
{
    char path[512], holder[24];
    struct stat st;
    if (path_set(folder, uuid, path, sizeof path, err) != 0)
        return -1;
    int fd = file_open(path);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot open the lock %s of the device", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return atoll_err_set(err, ATOLL_E_DENIED, "the lock %s of the device is no file", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int why = errno;
        holder_read(fd, holder, sizeof holder);
        close(fd);
        if (why != EWOULDBLOCK)
            return atoll_err_errno(err, why, "cannot lock %s", path);
        return atoll_err_set(
            err, ATOLL_E_BUSY,
            "device %s is measured by process %s already (%s); give every evaluator a device of its own",
            uuid, holder[0] ? holder : "(unknown)", path);
    }
    int n = snprintf(holder, sizeof holder, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, holder, (size_t)n, 0); /* of another user's file: nobody's pid */
    return fd;
}

void atoll_cuda_unlock(int fd)
{
    if (fd < 0)
        return;
    (void)!ftruncate(fd, 0);
    close(fd);
}

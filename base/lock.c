/* lock.c - the kernel drops the lock when its holder dies, so nothing stale can remain; the text only
 * informs. */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static int busy(const char *path, int fd, struct atoll_err *err)
{
    char holder[160] = "";
    ssize_t n = pread(fd, holder, sizeof(holder) - 1, 0);
    holder[n > 0 ? n : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    return atoll_err_set(
        err, ATOLL_E_BUSY,
        "%s: in use by another process: %s; wait for it or stop it, or choose another folder", path,
        *holder ? holder : "(not said which)");
}

static void sign(int fd)
{
    char host[128] = "", text[160];
    gethostname(host, sizeof(host) - 1);
    int length = snprintf(text, sizeof(text), "pid %ld on host %.64s\n", (long)getpid(), host);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)length, 0) != length) {
        return; /* a full disk: the lock holds without its text */
    }
}

int atoll_lock_take(const char *path, int *ret_fd, struct atoll_err *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        return atoll_file_write_failed(path, "open the lock file", errno, err);
    }
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
        sign(fd);
        *ret_fd = fd;
        return 0;
    }
    int failed = errno;
    if (failed == EAGAIN || failed == EACCES) {
        busy(path, fd, err);
    } else {
        atoll_err_errno(err, failed, "%s: cannot lock", path);
        atoll_err_add(err, "this file system seems to have no locks: choose a folder on one that has");
    }
    close(fd);
    return -1;
}

void atoll_lock_release(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

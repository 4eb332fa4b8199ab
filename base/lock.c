/* lock.c - the kernel drops the lock when its holder dies, so nothing stale can remain; the text only
 * informs. */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

int atoll_lock_take(const char *path, int *ret_fd, struct atoll_err *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char host[128] = "", text[160] = "";
    int fd = atoll_file_open_to_write(path, O_RDWR | O_CREAT, 0666, err);
    if (fd < 0)
        return -1;
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
        gethostname(host, sizeof(host) - 1);
        int length = snprintf(text, sizeof(text), "pid %ld on host %.64s\n", (long)getpid(), host);
        if (ftruncate(fd, 0) == 0) /* on a full disk the lock holds without its text */
            (void)!pwrite(fd, text, (size_t)length, 0);
        *ret_fd = fd;
        return 0;
    }
    int failed = errno;
    if (failed == EAGAIN || failed == EACCES) {
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        text[strcspn(text, "\n")] = '\0';
        atoll_err_set(err, ATOLL_E_BUSY,
                      "%s: in use by another process: %s; wait for it or stop it, or choose another folder",
                      path, *text ? text : "(not said which)");
    } else {
        atoll_err_errno(err, failed, "%s: cannot lock", path);
        atoll_err_add(err, "this file system seems to have no locks: choose a folder on one that has");
    }
    close(fd);
    return -1;
}

void atoll_lock_release(int fd)
{
    if (fd >= 0)
        close(fd);
}

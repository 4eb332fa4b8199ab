#include "mpi-eval/backend/compile/compile_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *read_all(int fd, uint64_t limit, size_t *ret_length)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > limit)
        return NULL;
    size_t length = (size_t)st.st_size, done = 0;
    void *bytes = malloc(length);
    for (ssize_t got = 1; bytes && done < length && got > 0; done += got > 0 ? (size_t)got : 0)
        got = read(fd, (char *)bytes + done, length - done);
    if (bytes && done == length) {
        *ret_length = length;
        return bytes;
    }
    free(bytes);
    return NULL;
}

void *atoll_compile_folder_read(int folder_fd, const char *name, uint64_t limit, size_t *ret_length)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *bytes = read_all(fd, limit, ret_length);
    close(fd);
    return bytes;
}

char *atoll_compile_folder_saved(int folder_fd, const char *ending, uint64_t limit)
{
    char *text = NULL;
    size_t length = 0, found = 0;
    int copy = dup(folder_fd);
    DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
    if (!folder && copy >= 0)
        close(copy);
    if (folder)
        rewinddir(folder); /* it shares its place with folder_fd */
    for (struct dirent *e; folder && (e = readdir(folder));) {
        size_t n = strlen(e->d_name);
        if (n < 3 || strcmp(e->d_name + n - 2, ending) != 0)
            continue;
        int fd = openat(folder_fd, e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && found++ == 0)
            text = read_all(fd, limit, &length);
        if (fd >= 0)
            close(fd);
    }
    if (folder) {
        rewinddir(folder);
        closedir(folder);
    }
    char *ended = text && found == 1 ? realloc(text, length + 1) : NULL;
    if (!ended) {
        free(text);
        return NULL;
    }
    ended[length] = '\0';
    return ended;
}

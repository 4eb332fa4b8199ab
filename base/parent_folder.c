#include "base/parent_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

int atoll_parent_make(const char *path, struct atoll_err *err)
{
    char folder[PATH_BYTES];
    if (!*path || (size_t)snprintf(folder, sizeof folder, "%s", path) >= sizeof folder)
        return atoll_err_set(err, ATOLL_E_LIMIT, "a path of 1 to %d bytes is expected: '%.80s'",
                             PATH_BYTES - 1, path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
            int number = errno;
            struct stat status;
            if (stat(folder, &status) != 0) /* a read-only file system says so before it looks */
                return atoll_err_errno(err, number, "cannot make the folder %s for %s", folder, path);
        }
        *slash = '/';
    }
    return 0;
}

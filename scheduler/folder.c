#include "scheduler/folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int atoll_folder_make_parents(const char *path, struct atoll_err *err)
{
    char parent[PATH_MAX];

    if ((size_t)snprintf(parent, sizeof(parent), "%s", path) >= sizeof(parent)) {
        return atoll_err_set(err, ATOLL_E_USAGE, "the path %.80s... is longer than %zu bytes", path,
                             sizeof(parent) - 1);
    }
    for (char *slash = *parent ? strchr(parent + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(parent, 0777) != 0 && errno != EEXIST) {
            return atoll_err_errno(err, errno, "cannot make the folder %s", parent);
        }
        *slash = '/';
    }
    return 0;
}

int atoll_folder_make(const char *path, struct atoll_err *err)
{
    if (atoll_folder_make_parents(path, err) != 0) {
        return -1;
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? 0
               : atoll_err_errno(err, errno, "cannot make the folder %s", path);
}

int atoll_folder_absolute(const char *path, char *ret_path, size_t bytes, struct atoll_err *err)
{
    char copy[PATH_MAX], real[PATH_MAX];
    const char *name;
    char *slash;
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    if (length == 0 || length >= sizeof(copy)) {
        return atoll_err_set(err, ATOLL_E_USAGE, "'%.80s' is no path of a folder", path);
    }
    snprintf(copy, sizeof(copy), "%.*s", (int)length, path);
    if (realpath(copy, real)) {
        return snprintf(ret_path, bytes, "%s", real) < (int)bytes
                   ? 0
                   : atoll_err_set(err, ATOLL_E_LIMIT, "path too long");
    }
    slash = strrchr(copy, '/');
    name = slash ? slash + 1 : copy;
    if (slash == copy) {
        return snprintf(ret_path, bytes, "%s", copy) < (int)bytes
                   ? 0
                   : atoll_err_set(err, ATOLL_E_LIMIT, "path too long");
    }
    if (slash) {
        *slash = '\0';
    }
    if (!realpath(slash ? copy : ".", real)) {
        return atoll_err_errno(err, errno, "%s: cannot open the folder", slash ? copy : ".");
    }
    if (snprintf(ret_path, bytes, "%s/%s", real, name) >= (int)bytes) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s/...", real);
    }
    return 0;
}

#include "base/folder.h"

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
    struct stat st;

    if (atoll_folder_make_parents(path, err) != 0) {
        return -1;
    }
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
        return 0;
    }
    return atoll_err_errno(err, errno, "cannot make the folder %s", path);
}

/* Appends names that are not there; "." is nothing, and what ".." would mean nobody knows. */
static int rest_append(const char *rest, char *ret_path, size_t bytes, struct atoll_err *err)
{
    size_t length = strlen(ret_path);

    while (*rest) {
        size_t name = strcspn(rest, "/");

        if (name == 2 && strncmp(rest, "..", 2) == 0) {
            return atoll_err_set(err, ATOLL_E_USAGE, "%.200s/..: the folder is not there", ret_path);
        }
        if (name > 0 && !(name == 1 && *rest == '.')) {
            int more = snprintf(ret_path + length, bytes - length, "%s%.*s",
                                length && ret_path[length - 1] == '/' ? "" : "/", (int)name, rest);

            if (more < 0 || (size_t)more >= bytes - length) {
                return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s/...", ret_path);
            }
            length += (size_t)more;
        }
        rest += name + (rest[name] == '/');
    }
    return 0;
}

int atoll_folder_absolute(const char *path, char *ret_path, size_t bytes, struct atoll_err *err)
{
    char there[PATH_MAX], real[PATH_MAX];
    size_t length = strlen(path);

    if (length == 0 || length >= sizeof(there)) {
        return atoll_err_set(err, ATOLL_E_USAGE, "'%.80s' is no path of a folder", path);
    }
    for (;;) {
        snprintf(there, sizeof(there), "%.*s", (int)length, path);
        if (realpath(length ? there : *path == '/' ? "/" : ".", real)) {
            break;
        }
        if (errno != ENOENT || length == 0) {
            return atoll_err_errno(err, errno, "%s: cannot open the folder", length ? there : ".");
        }
        while (length > 0 && path[length - 1] == '/') {
            length--;
        }
        while (length > 0 && path[length - 1] != '/') {
            length--;
        }
    }
    if ((size_t)snprintf(ret_path, bytes, "%s", real) >= bytes) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", real);
    }
    return rest_append(path + length, ret_path, bytes, err);
}

#include "base/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int atoll_program_path(char *ret_path, size_t bytes, struct atoll_err *err)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self));

    if (length <= 0)
        return atoll_err_errno(err, errno, "cannot tell where the running program lies (/proc/self/exe)");
    if ((size_t)length >= sizeof(self) || (size_t)length >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of the running program is too long");
    memcpy(ret_path, self, (size_t)length);
    ret_path[length] = '\0';
    return 0;
}

int atoll_program_beside(const char *name, char *ret_path, size_t bytes, struct atoll_err *err)
{
    char self[PATH_MAX];
    size_t folder, length = strlen(name);

    if (atoll_program_path(self, sizeof(self), err) != 0)
        return -1;
    folder = (size_t)(strrchr(self, '/') - self) + 1;
    if (folder + length >= bytes) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of %s beside the running program is too long",
                             name);
    }
    memcpy(ret_path, self, folder);
    memcpy(ret_path + folder, name, length + 1);
    return 0;
}

int atoll_program_data(const char *name, char *ret_path, size_t bytes, struct atoll_err *err)
{
    static const char *const folders[] = {"../share/atoll", "share/atoll"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char relative[PATH_MAX], path[PATH_MAX];
        int length = snprintf(relative, sizeof(relative), "%s/%s", folders[i], name);

        if (length < 0 || (size_t)length >= sizeof(relative)) {
            return atoll_err_set(err, ATOLL_E_LIMIT, "the name of a file of Atoll's is too long: %.200s",
                                 name);
        }
        if (atoll_program_beside(relative, path, sizeof(path), err) != 0)
            return -1;
        if (access(path, F_OK) == 0) {
            if (strlen(path) >= bytes)
                return atoll_err_set(err, ATOLL_E_LIMIT, "the path of %.200s is too long", name);
            memcpy(ret_path, path, strlen(path) + 1);
            return 0;
        }
    }
    return atoll_err_set(err, ATOLL_E_NOTFOUND, "no %.300s is installed with Atoll", name);
}

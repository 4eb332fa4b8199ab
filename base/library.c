/* library.c - a file that lacks a function is closed again and the next one is tried. */
#include "base/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPLAINT_BYTES 512

/* 1 when the file at path serves; else 0 and the complaint tells why. */
static int try_one(const struct atoll_library *library, const char *path, void *functions, char *complaint)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        snprintf(complaint, COMPLAINT_BYTES, "%s", reason ? reason : "unknown trouble of the dynamic loader");
        return 0;
    }
    for (size_t i = 0; i < library->function_count; i++) {
        const struct atoll_library_function *function = &library->functions[i];
        void *symbol = dlsym(handle, function->symbol);
        if (!symbol && function->older)
            symbol = dlsym(handle, function->older);
        if (!symbol && !function->optional) {
            snprintf(complaint, COMPLAINT_BYTES, "%s is too old: it has no %s", path, function->symbol);
            dlclose(handle);
            return 0;
        }
        memcpy((char *)functions + function->offset, &symbol, sizeof(symbol));
    }
    return 1;
}

static int try_toolkits(const struct atoll_library *library, void *functions, char *complaint)
{
    for (const char *const *root = library->roots; root && *root; root++) {
        const char *path = **root == '/' ? *root : getenv(*root);
        for (const char *const *folder = library->folders; path && path[0] && *folder; folder++) {
            for (const char *const *name = library->names; *name; name++) {
                char file[PATH_MAX];
                int length = snprintf(file, sizeof(file), "%s/%s/%s", path, *folder, *name);
                if (length > 0 && (size_t)length < sizeof(file) &&
                    try_one(library, file, functions, complaint)) {
                    return 1;
                }
            }
        }
    }
    return 0;
}

int atoll_library_open(const struct atoll_library *library, void *ret_functions, struct atoll_err *err)
{
    const char *chosen = library->environment ? getenv(library->environment) : NULL;
    char complaint[COMPLAINT_BYTES] = "";
    int found = 0;
    if (chosen && chosen[0]) {
        found = try_one(library, chosen, ret_functions, complaint);
    } else {
        for (const char *const *name = library->names; *name && !found; name++)
            found = try_one(library, *name, ret_functions, complaint);
        found = found || try_toolkits(library, ret_functions, complaint);
    }
    return found ? 0
                 : atoll_err_set(err, ATOLL_E_MISSING, "%s cannot be used (%s): %s", library->title,
                                 complaint, library->remedy);
}

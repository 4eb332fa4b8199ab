/* library.c - a candidate that lacks a function is closed again and the next one is tried. */
#include "base/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPLAINT_BYTES 512

static void *symbol_of(void *handle, const struct atoll_library_function *function)
{
    void *symbol = dlsym(handle, function->symbol);
    return symbol || !function->older ? symbol : dlsym(handle, function->older);
}

/* The name of the first function that is missing, or NULL: all are looked up. */
static const char *look_up(const struct atoll_library *library, void *handle, void *functions)
{
    for (size_t i = 0; i < library->function_count; i++) {
        const struct atoll_library_function *function = &library->functions[i];
        void *symbol = symbol_of(handle, function);
        if (!symbol && !function->optional) {
            return function->symbol;
        }
        memcpy((char *)functions + function->offset, &symbol, sizeof(symbol));
    }
    return NULL;
}

/* 1 when the file at path serves; else 0 and the complaint tells why. */
static int try_one(const struct atoll_library *library, const char *path, void *functions, char *complaint)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        snprintf(complaint, COMPLAINT_BYTES, "%s", reason ? reason : "unknown trouble of the dynamic loader");
        return 0;
    }
    const char *missing = look_up(library, handle, functions);
    if (!missing) {
        return 1;
    }
    snprintf(complaint, COMPLAINT_BYTES, "%s is too old: it has no %s", path, missing);
    dlclose(handle);
    return 0;
}

static int try_folder(const struct atoll_library *library, const char *root, const char *folder,
                      void *functions, char *complaint)
{
    for (const char *const *name = library->names; *name; name++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof(path), "%s/%s/%s", root, folder, *name);
        if (length > 0 && (size_t)length < sizeof(path) && try_one(library, path, functions, complaint)) {
            return 1;
        }
    }
    return 0;
}

static int try_toolkits(const struct atoll_library *library, void *functions, char *complaint)
{
    const char *roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
        for (const char *const *folder = library->folders; roots[i] && roots[i][0] && *folder; folder++) {
            if (try_folder(library, roots[i], *folder, functions, complaint)) {
                return 1;
            }
        }
    }
    return 0;
}

static int search(const struct atoll_library *library, void *functions, char *complaint)
{
    const char *chosen = library->environment ? getenv(library->environment) : NULL;
    if (chosen && chosen[0]) {
        return try_one(library, chosen, functions, complaint);
    }
    for (const char *const *name = library->names; *name; name++) {
        if (try_one(library, *name, functions, complaint)) {
            return 1;
        }
    }
    return library->folders && try_toolkits(library, functions, complaint);
}

int atoll_library_open(const struct atoll_library *library, void *ret_functions, struct atoll_err *err)
{
    char complaint[COMPLAINT_BYTES] = "";
    if (search(library, ret_functions, complaint)) {
        return 0;
    }
    return atoll_err_set(err, ATOLL_E_MISSING, "%s cannot be used (%s): %s", library->title, complaint,
                         library->remedy);
}

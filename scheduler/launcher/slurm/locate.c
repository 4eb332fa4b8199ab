#include "scheduler/launcher/slurm/locate.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "scheduler/launcher/slurm/call.h"

#define PLUGIN_LIMIT  32
#define PLUGIN_PREFIX "atoll-slurm-"

struct candidates {
    char paths[PLUGIN_LIMIT][PATH_MAX];
    size_t count;
};

static int newest_first(const void *a, const void *b)
{
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');

    return strcmp(y ? y : b, x ? x : a);
}

static void add_folder(struct candidates *candidates, const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL && candidates->count < PLUGIN_LIMIT) {
        const char *end = strrchr(entry->d_name, '.');

        if (strncmp(entry->d_name, PLUGIN_PREFIX, strlen(PLUGIN_PREFIX)) == 0 && end &&
            strcmp(end, ".so") == 0) {
            int length =
                snprintf(candidates->paths[candidates->count], PATH_MAX, "%s%s", folder, entry->d_name);

            candidates->count += length > 0 && length < PATH_MAX ? 1 : 0;
        }
    }
    if (dir) {
        closedir(dir);
    }
}

/* Beside the program, as it is built; ../lib/atoll, as it is installed; or the one that the user names. */
static void find_candidates(struct candidates *candidates)
{
    const char *named = getenv("ATOLL_SLURM_PLUGIN");
    static const char *const folders[] = {"", "../lib/atoll/"};
    char folder[PATH_MAX];

    candidates->count = 0;
    if (named && strcmp(named, "none") == 0) {
        return;
    }
    if (named && *named) {
        snprintf(candidates->paths[candidates->count++], PATH_MAX, "%s", named);
        return;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (atoll_program_beside(folders[i], folder, sizeof(folder), NULL) == 0) {
            add_folder(candidates, folder);
        }
    }
    qsort(candidates->paths, candidates->count, sizeof(candidates->paths[0]), newest_first);
}

static int try_plugin(const char *path, double timeout_s, char *ret_version, size_t bytes,
                      struct atoll_err *err)
{
    struct atoll_slurm_call call = {.path = path};
    struct atoll_slurm_answer answer;

    if (atoll_slurm_call_run(&call, "starting Slurm's library", timeout_s, &answer, err) != 0) {
        return -1;
    }
    snprintf(ret_version, bytes, "%.*s", (int)answer.length, (const char *)answer.data);
    atoll_slurm_answer_fini(&answer);
    return 0;
}

static int describe_none(const struct candidates *candidates, const struct atoll_err *why,
                         struct atoll_err *err)
{
    if (candidates->count == 0) {
        return atoll_err_set(
            err, ATOLL_E_MISSING,
            "no plugin for Slurm's library (atoll-slurm-<version>.so beside atoll or in ../lib/atoll); "
            "build atoll where slurm/slurm.h is, or name one with ATOLL_SLURM_PLUGIN");
    }
    return atoll_err_set(err, ATOLL_E_MISSING,
                         "none of %zu plugins for Slurm's library works here; %.300s: %.500s",
                         candidates->count, candidates->paths[candidates->count - 1], why->text);
}

int atoll_slurm_locate(double timeout_s, char *ret_path, size_t path_bytes, char *ret_version,
                       size_t version_bytes, struct atoll_err *err)
{
    struct candidates *candidates = malloc(sizeof(*candidates));
    struct atoll_err why = ATOLL_ERR_INIT;
    int status = -1;

    if (!candidates) {
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory to look for plugins");
    }
    find_candidates(candidates);
    for (size_t i = 0; i < candidates->count && status != 0; i++) {
        status = try_plugin(candidates->paths[i], timeout_s, ret_version, version_bytes, &why);
        if (status == 0) {
            snprintf(ret_path, path_bytes, "%s", candidates->paths[i]);
        }
    }
    if (status != 0) {
        describe_none(candidates, &why, err);
    }
    free(candidates);
    return status;
}

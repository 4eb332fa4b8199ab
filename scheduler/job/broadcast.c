#include "scheduler/job/broadcast.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "scheduler/job/step.h"

#define ARENA_BYTES ((size_t)8 << 20)
#define COPY_S      120.0

static const char *const programs[] = {"atoll-eval", "atoll-worker", "atoll-worker-cuda",
                                       "atoll-compile-cuda"};

static int program_copy(const struct atoll_site *site, const struct atoll_step_request *request,
                        const char *from, const char *to, struct atoll_arena *arena, struct atoll_err *err)
{
    struct atoll_process process = {.what = "broadcast", .deadline_s = COPY_S};
    struct atoll_process_result result;
    int status;

    if (atoll_step_broadcast(site, request, from, to, arena, &process.argv, err) != 0) {
        return -1;
    }
    if (!process.argv) {
        return 0;
    }
    process.what = process.argv[0];
    if (atoll_process_run(&process, 1 << 16, &result, err) != 0) {
        return -1;
    }
    status = result.status == 0
                 ? 0
                 : atoll_err_set(err, ATOLL_E_CHILD, "%s: %.400s", process.argv[0], result.words);
    atoll_process_result_fini(&result);
    return status;
}

/* The site's word with its variables, as a shell reads it. */
static int scratch_find(const struct atoll_site *site, const char *job, char *ret_path, size_t bytes,
                        struct atoll_err *err)
{
    char command[PATH_MAX];
    const char *const words[] = {"/bin/sh", "-c", command, NULL};
    const struct atoll_process process = {.what = "files.scratch", .argv = words, .deadline_s = 10};
    struct atoll_process_result result;
    int length;

    snprintf(command, sizeof(command), "printf %%s \"%.4000s\"",
             site->files.scratch ? site->files.scratch : "/tmp");
    if (atoll_process_run(&process, PATH_MAX, &result, err) != 0) {
        return -1;
    }
    length = snprintf(ret_path, bytes, "%.*s/atoll-%.60s", (int)result.out.length,
                      (const char *)result.out.data, job);
    atoll_process_result_fini(&result);
    if (ret_path[0] != '/' || length < 0 || (size_t)length >= bytes) {
        return atoll_err_set(err, ATOLL_E_INPUT, "%s: files.scratch is no absolute path here: %.200s",
                             site->path, ret_path);
    }
    return 0;
}

/* Scratch is often everybody's, and the numbers of jobs are no secret: a folder that another user made holds his programs. */
static int folder_own(const char *path, struct atoll_err *err)
{
    struct stat st;

    if (mkdir(path, 0700) == 0) {
        return 0;
    }
    if (errno != EEXIST || lstat(path, &st) != 0) {
        return atoll_err_errno(err, errno, "cannot make %s", path);
    }
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0
               ? 0
               : atoll_err_set(
                     err, ATOLL_E_DENIED,
                     "%s is there and is not a folder that is yours alone; nothing is started from it", path);
}

static int programs_copy(const struct atoll_site *site, const struct atoll_step_request *request,
                         const char *from, const char *to, struct atoll_arena *arena, struct atoll_err *err)
{
    if (folder_own(to, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        char source[PATH_MAX], target[PATH_MAX];

        snprintf(source, sizeof(source), "%.4000s/%s", from, programs[i]);
        snprintf(target, sizeof(target), "%.4000s/%s", to, programs[i]);
        if (access(source, X_OK) == 0 && program_copy(site, request, source, target, arena, err) != 0) {
            return -1;
        }
    }
    return 0;
}

int atoll_broadcast(const struct atoll_site *site, const struct atoll_node_list *nodes, const char *job,
                    const char *from, char *ret_folder, size_t bytes, struct atoll_err *err)
{
    const struct atoll_step_request request = {
        .nodes = nodes->names, .node_count = nodes->count, .evaluators_per_node = 1, .program = "atoll-eval"};
    char to[PATH_MAX];
    struct atoll_arena *arena;
    int status;

    snprintf(ret_folder, bytes, "%s", from);
    if (site->files.broadcast == ATOLL_SITE_BROADCAST_NONE || nodes->count < 2) {
        return 0;
    }
    arena = atoll_arena_create(ARENA_BYTES, err);
    status = !arena || scratch_find(site, job, to, sizeof(to), err) != 0
                 ? -1
                 : programs_copy(site, &request, from, to, arena, err);
    atoll_arena_destroy(arena);
    if (status == 0) {
        snprintf(ret_folder, bytes, "%s", to);
    }
    return status;
}

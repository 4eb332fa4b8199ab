#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/compile/toolkit.h"

#define PROGRAM     "compute-sanitizer"
#define PRINT_LIMIT "8" /* findings; the first one is quoted */
#define PADDING_BYTES                                                                                        \
    "65536" /* behind every buffer, so that its neighbour does not hide an access past its end */

const char *atoll_sanitizer_name(enum atoll_sanitizer_tool tool)
{
    static const char *const names[ATOLL_SANITIZER_TOOL_COUNT] = {
        [ATOLL_SANITIZER_MEMCHECK] = "memcheck",
        [ATOLL_SANITIZER_INITCHECK] = "initcheck",
        [ATOLL_SANITIZER_RACECHECK] = "racecheck",
        [ATOLL_SANITIZER_SYNCCHECK] = "synccheck",
    };
    return tool < ATOLL_SANITIZER_TOOL_COUNT ? names[tool] : "unknown";
}

char *atoll_sanitizer_find(struct atoll_err *err)
{
    const char *wanted = getenv(ATOLL_SANITIZER_VARIABLE);
    char *path;
    if (wanted && wanted[0]) {
        path = strchr(wanted, '/') ? atoll_toolkit_find_program(wanted) : NULL;
        if (!path)
            atoll_err_set(err, ATOLL_E_MISSING, ATOLL_SANITIZER_VARIABLE " names no program: %.300s", wanted);
        return path;
    }
    path = atoll_toolkit_find_program(PROGRAM);
    if (!path)
        atoll_err_set(err, ATOLL_E_MISSING,
                      "no " PROGRAM " in PATH, CUDA_HOME or /usr/local/cuda; it belongs to the CUDA toolkit");
    return path;
}

void atoll_sanitizer_arguments(const char *program, enum atoll_sanitizer_tool tool, const char *report,
                               const char *ret_arguments[ATOLL_SANITIZER_ARGUMENT_LIMIT])
{
    const char *const all[] = {program,
                               "--tool",
                               NULL,
                               "--log-file",
                               report,
                               "--target-processes",
                               "application-only",
                               "--show-backtrace",
                               "device",
                               "--print-limit",
                               PRINT_LIMIT};
    /* Calls that fail are ours, and the executor's way to ask. */
    static const char *const of_memcheck[] = {"--report-api-errors", "no", "--padding", PADDING_BYTES};
    size_t count = sizeof(all) / sizeof(*all), more = tool == ATOLL_SANITIZER_MEMCHECK ? 4 : 0;
    _Static_assert(sizeof(all) / sizeof(*all) + 4 < ATOLL_SANITIZER_ARGUMENT_LIMIT,
                   "all arguments have room");
    memcpy(ret_arguments, all, sizeof(all));
    memcpy(ret_arguments + count, of_memcheck, more * sizeof(*of_memcheck));
    ret_arguments[2] = atoll_sanitizer_name(tool);
    ret_arguments[count + more] = NULL;
}

static int has_clusters_or_maps(const struct atoll_plan *plan)
{
    for (size_t k = 0; k < plan->launch_count; k++) {
        const struct atoll_launch *l = &plan->launches[k];
        if (l->cluster[0])
            return 1;
        for (size_t i = 0; i < l->arg_count; i++)
            if (l->args[i].kind == ATOLL_ARG_TENSORMAP)
                return 1;
    }
    return 0;
}

/* Behind the comment that begins here; `at` itself where none does. */
static const char *behind_comment(const char *at)
{
    const char *end = strncmp(at, "/*", 2) == 0 ? strstr(at + 2, "*/") : NULL;
    if (end)
        return end + 2;
    return strncmp(at, "//", 2) == 0 || strncmp(at, "/*", 2) == 0 ? at + strcspn(at, "\n") : at;
}

static int has_mark(const char *at)
{
    static const char *const marks[] = {"mbarrier",        "bar.sync",       "bar.arrive",    "bar.red",
                                        "barrier.sync",    "barrier.arrive", "barrier.red",   "barrier.cta",
                                        "barrier.cluster", "cp.async",       "wgmma",         "tcgen05",
                                        "cuda/barrier",    "cuda/ptx",       "cuda/pipeline", "cuda_pipeline",
                                        "cuda_awbarrier",  "memcpy_async",   "cutlass/",      "cute/"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
        if (strncmp(at, marks[i], strlen(marks[i])) == 0)
            return 1;
    return 0;
}

int atoll_sanitizer_is_believed(enum atoll_sanitizer_tool tool, const struct atoll_plan *plan,
                                const char *source)
{
    if (tool == ATOLL_SANITIZER_MEMCHECK)
        return 1;
    for (const char *at = source; *at;) {
        const char *behind = behind_comment(at);
        if (has_mark(at))
            return 0;
        at = behind > at ? behind : at + 1;
    }
    return !has_clusters_or_maps(plan);
}

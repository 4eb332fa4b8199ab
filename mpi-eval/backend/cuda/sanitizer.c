#include "mpi-eval/backend/cuda/sanitizer.h"

#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/toolkit.h"

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
    size_t count = sizeof all / sizeof *all, more = tool == ATOLL_SANITIZER_MEMCHECK ? 4 : 0;
    _Static_assert(sizeof all / sizeof *all + 4 < ATOLL_SANITIZER_ARGUMENT_LIMIT, "all arguments have room");
    memcpy(ret_arguments, all, sizeof all);
    memcpy(ret_arguments + count, of_memcheck, more * sizeof *of_memcheck);
    ret_arguments[2] = atoll_sanitizer_name(tool);
    ret_arguments[count + more] = NULL;
}

static int has_tensor_maps(const struct atoll_plan *plan)
{
    for (size_t k = 0; k < plan->launch_count; k++)
        for (size_t i = 0; i < plan->launches[k].arg_count; i++)
            if (plan->launches[k].args[i].kind == ATOLL_ARG_TENSORMAP)
                return 1;
    return 0;
}

int atoll_sanitizer_is_believed(enum atoll_sanitizer_tool tool, const struct atoll_plan *plan,
                                const char *source)
{
    static const char *const marks[] = {"mbarrier",       "bar.sync",     "bar.arrive",    "bar.red",
                                        "barrier.",       "cp.async",     "wgmma",         "tcgen05",
                                        "cuda/barrier",   "cuda/ptx",     "cuda/pipeline", "cuda_pipeline",
                                        "cuda_awbarrier", "memcpy_async", "cutlass/",      "cute/"};
    if (tool == ATOLL_SANITIZER_MEMCHECK)
        return 1;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(source, marks[i]))
            return 0;
    return !has_tensor_maps(plan);
}

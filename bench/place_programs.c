/* place_programs.c - before main the environment names worker, device process and compile child of the build tree (one or two
 * folders up from this program), where it does not name others: no measurement program can forget it.  bench/CMakeLists.txt links
 * this into each. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int program_name(const char *variable, const char *folder, const char *up, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s/%s", folder, up, name);
    return length > 0 && (size_t)length < sizeof(path) && access(path, X_OK) == 0 &&
           setenv(variable, path, 0) == 0;
}

__attribute__((constructor)) static void place_programs(void)
{
    static const char *const programs[][2] = {{"ATOLL_WORKER", "atoll-worker"},
                                              {"ATOLL_WORKER_CUDA", "atoll-worker-cuda"},
                                              {"ATOLL_COMPILE_CUDA", "atoll-compile-cuda"}};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;
    if (!slash)
        return;
    *slash = '\0';
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
        if (!program_name(programs[i][0], self, "..", programs[i][1]))
            program_name(programs[i][0], self, "../..", programs[i][1]);
}

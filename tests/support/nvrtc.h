/* nvrtc.h - compiles a text with NVRTC in the test's own process. */
#ifndef ATOLL_TESTS_SUPPORT_NVRTC_H
#define ATOLL_TESTS_SUPPORT_NVRTC_H

#include <stdio.h>
#include <stdlib.h>

#include "mpi-eval/backend/cuda/compile/nvrtc.h"

/* The option for texts of which only matters that they compile: a quarter of the time; NULL where NVRTC is older than 13. */
static inline const char *test_nvrtc_quick(const struct atoll_nvrtc_library *nvrtc)
{
    int major = 0, minor = 0;
    return nvrtc->nvrtcVersion(&major, &minor) == 0 && major >= 13 ? "--Ofast-compile=max" : NULL;
}

/* A cubin that the caller frees, NULL when the text does not compile; ret_log: what the compiler said, owned too. */
static inline void *test_nvrtc_compile(const struct atoll_nvrtc_library *nvrtc, const char *text,
                                       const char *arch, const char *option, size_t *ret_length,
                                       char **ret_log)
{
    struct _nvrtcProgram *program = NULL;
    char target[64];
    const char *options[] = {target, option};
    void *cubin = NULL;
    size_t length = 0;
    snprintf(target, sizeof(target), "--gpu-architecture=%s", arch);
    *ret_log = NULL;
    if (nvrtc->nvrtcCreateProgram(&program, text, "unit.cu", 0, NULL, NULL))
        return NULL;
    unsigned rc = nvrtc->nvrtcCompileProgram(program, option ? 2 : 1, options);
    if (!nvrtc->nvrtcGetProgramLogSize(program, &length) && (*ret_log = calloc(1, length + 1)))
        nvrtc->nvrtcGetProgramLog(program, *ret_log);
    if (!rc && !nvrtc->nvrtcGetCUBINSize(program, &length) && (cubin = malloc(length + 1))) {
        nvrtc->nvrtcGetCUBIN(program, cubin);
        *ret_length = length;
    }
    nvrtc->nvrtcDestroyProgram(&program);
    return cubin;
}

#endif

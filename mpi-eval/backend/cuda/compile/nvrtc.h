/* nvrtc.h - NVRTC, the run-time compiler, opened at run time.
 * Layer: mpi-eval, backend/cuda.  No toolkit header is needed; a test compares everything with the toolkit's <nvrtc.h>,
 * with which this header can be included together.  Members carry the library's names; results are nvrtcResult.
 * Source: NVRTC user guide. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_NVRTC_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_NVRTC_H

#include <stddef.h>

#include "base/err.h"
#include "base/library.h"

struct _nvrtcProgram;

/* Constants are the toolkit's with ATOLL_ before the name. */
#define ATOLL_NVRTC_CONSTANTS(X)                                                                             \
    X(NVRTC_SUCCESS, 0)                                                                                      \
    X(NVRTC_ERROR_OUT_OF_MEMORY, 1)                                                                          \
    X(NVRTC_ERROR_PROGRAM_CREATION_FAILURE, 2)                                                               \
    X(NVRTC_ERROR_INVALID_INPUT, 3)                                                                          \
    X(NVRTC_ERROR_INVALID_PROGRAM, 4)                                                                        \
    X(NVRTC_ERROR_INVALID_OPTION, 5)                                                                         \
    X(NVRTC_ERROR_COMPILATION, 6)                                                                            \
    X(NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7)                                                              \
    X(NVRTC_ERROR_INTERNAL_ERROR, 11)

#define ATOLL_NVRTC_CONSTANT(name, value) ATOLL_##name = value,
enum atoll_nvrtc_constant { ATOLL_NVRTC_CONSTANTS(ATOLL_NVRTC_CONSTANT) };
#undef ATOLL_NVRTC_CONSTANT

/* X(optional, member, symbol, older symbol, result, parameters).  None is optional. */
#define ATOLL_NVRTC_FUNCTIONS(X)                                                                             \
    X(0, nvrtcVersion, "nvrtcVersion", NULL, unsigned int, (int *ret_major, int *ret_minor))                 \
    X(0, nvrtcGetErrorString, "nvrtcGetErrorString", NULL, const char *, (unsigned int result))              \
    X(0, nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs", NULL, unsigned int, (int *ret_count))       \
    X(0, nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs", NULL, unsigned int, (int *ret_archs))             \
    X(0, nvrtcCreateProgram, "nvrtcCreateProgram", NULL, unsigned int,                                       \
      (struct _nvrtcProgram * *ret_program, const char *text, const char *name, int header_count,            \
       const char *const *headers, const char *const *include_names))                                        \
    X(0, nvrtcDestroyProgram, "nvrtcDestroyProgram", NULL, unsigned int, (struct _nvrtcProgram * *program))  \
    X(0, nvrtcCompileProgram, "nvrtcCompileProgram", NULL, unsigned int,                                     \
      (struct _nvrtcProgram * program, int option_count, const char *const *options))                        \
    X(0, nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", NULL, unsigned int,                               \
      (struct _nvrtcProgram * program, size_t * ret_bytes)) /* with the final 0 */                           \
    X(0, nvrtcGetProgramLog, "nvrtcGetProgramLog", NULL, unsigned int,                                       \
      (struct _nvrtcProgram * program, char *ret_log))                                                       \
    X(0, nvrtcGetCUBINSize, "nvrtcGetCUBINSize", NULL, unsigned int,                                         \
      (struct _nvrtcProgram * program, size_t * ret_bytes))                                                  \
    X(0, nvrtcGetCUBIN, "nvrtcGetCUBIN", NULL, unsigned int,                                                 \
      (struct _nvrtcProgram * program, char *ret_cubin))                                                     \
    X(0, nvrtcGetPTXSize, "nvrtcGetPTXSize", NULL, unsigned int,                                             \
      (struct _nvrtcProgram * program, size_t * ret_bytes)) /* with the final 0 */                           \
    X(0, nvrtcGetPTX, "nvrtcGetPTX", NULL, unsigned int, (struct _nvrtcProgram * program, char *ret_ptx))

struct atoll_nvrtc_library {
    ATOLL_NVRTC_FUNCTIONS(ATOLL_LIBRARY_MEMBER)
};

/* The one table of the process; any thread.  Looked for: the path in ATOLL_NVRTC, else libnvrtc.so, .so.13, .so.12 as
 * the dynamic loader finds them and in lib64 of $CUDA_HOME, $CUDA_PATH, /usr/local/cuda.  NULL: ATOLL_E_MISSING with the
 * remedy, the same each time. */
const struct atoll_nvrtc_library *atoll_nvrtc_library_open(struct atoll_err *err);

#endif

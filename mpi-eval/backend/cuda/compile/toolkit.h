/* toolkit.h - what of the CUDA toolkit compile children need: NVRTC, its version, and the folders of the headers that
 * belong to it.
 * Layer: mpi-eval, backend/cuda.  Lifetime: init/fini.  Runs the compile child once without any candidate text. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_TOOLKIT_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_COMPILE_TOOLKIT_H

#include <stddef.h>

#include "base/err.h"
#include "mpi-eval/evaluator/compiler.h"
#include "mpi-eval/backend/compile/compiler_driver.h"

#define ATOLL_TOOLKIT_FOLDER_LIMIT 16

struct atoll_toolkit {
    char *program;    /* owned; of the compile child, absolute */
    char *nvrtc;      /* owned; the library, resolved */
    char version[32]; /* "13.0" */
    char *library;    /* owned; folder of NVRTC */
    /* Owned, absolute, given with -I in this order: the toolkit's headers, then those of include_path. */
    char *includes[ATOLL_TOOLKIT_FOLDER_LIMIT];
    size_t include_count,
        toolkit_include_count; /* all; the toolkit's own (0: kernels without includes only) */
};

/* program: of the compile child; NULL: ATOLL_COMPILE_CUDA, else atoll-compile-cuda beside this program or one folder
 * up.  include_path: folders with ':' between them, "" or NULL none; of each its include/ and tools/util/include too.
 * ATOLL_E_MISSING: no such program or no NVRTC; ATOLL_E_INPUT: a folder of include_path that does not exist. */
int atoll_toolkit_init(struct atoll_toolkit *t, const char *program, const char *include_path,
                       struct atoll_err *err);
void atoll_toolkit_fini(struct atoll_toolkit *t);

/* Looks for the toolkit's headers from a library's path (adds to includes); for atoll_toolkit_init and tests. */
void atoll_toolkit_find_headers(struct atoll_toolkit *t, const char *library_path);

/* Adds the folders of an include_path; for those who have no NVRTC. */
int atoll_toolkit_add_folders(struct atoll_toolkit *t, const char *include_path, struct atoll_err *err);

/* A program of the toolkit ("nvcc") as a path: of the name or path `command`; from PATH, then bin of $CUDA_HOME,
 * $CUDA_PATH, /usr/local/cuda.  NULL: none; the caller frees. */
char *atoll_toolkit_find_program(const char *command);

/* The options of every NVRTC job of a compiler: target, headers, and what the user may ask for.  Lifetime: init/fini. */
#define ATOLL_COMPILE_OPTION_LIMIT 64

struct atoll_compile_options {
    char *texts[ATOLL_COMPILE_OPTION_LIMIT]; /* owned */
    size_t count;
};

/* C++17 unless the flags say otherwise; --Ofast-compile is left out where NVRTC is older than 13.  ATOLL_E_INPUT names a flag
 * that reads files or is unknown.  After a failure fini is due as well. */
int atoll_compile_options_init(struct atoll_compile_options *o,
                               const struct atoll_compiler_settings *settings,
                               const struct atoll_toolkit *toolkit, struct atoll_err *err);
void atoll_compile_options_fini(struct atoll_compile_options *o);

/* ---- nvcc.c: nvcc as the compiler, a process per job, slower than NVRTC by a factor of ten and more, for nodes that have
 * no NVRTC; and what ptxas says of resources, in the output of either. ---- */

/* path: of nvcc.  includes: folders for -I; borrowed until the compiler is destroyed.  Other errors as atoll_cc_create. */
struct atoll_compiler *atoll_nvcc_create(const char *path, const struct atoll_compiler_settings *settings,
                                         char *const *includes, size_t include_count, struct atoll_err *err);

/* Moves the lines of ptxas that are no errors out of output (NUL-terminated) into ret_report; how long it took is left
 * out, so that equal compilations have equal reports. */
void atoll_compile_report_split(char *output, char ret_report[ATOLL_COMPILE_REPORT_BYTES]);

#endif

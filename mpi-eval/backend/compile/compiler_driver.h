/* compiler_driver.h - a compiler that runs a compiler driver (cc, nvcc) as a confined process per job, with deadline and
 * memory limit.  The interface is compiler.h.
 * Layer: mpi-eval, backend/compile.  Output lies in node-local scratch (ATOLL_SCRATCH, else TMPDIR, else /tmp; a private
 * 0700 folder removed on destroy), never in the campaign directory. */
#ifndef ATOLL_MPI_EVAL_BACKEND_COMPILE_COMPILER_DRIVER_H
#define ATOLL_MPI_EVAL_BACKEND_COMPILE_COMPILER_DRIVER_H

#include "mpi-eval/backend/compile/parsed_headers.h"
#include "mpi-eval/evaluator/compiler.h"

#define ATOLL_COMPILE_REPORT_BYTES 8192 /* of atoll_compiled.report, with the NUL */

/* How a compiler driver is called and what it leaves.  Copied, but what it points to is borrowed for the compiler's
 * lifetime. */
struct atoll_compiler_style {
    const char *const *flags; /* before the user's; NULL ends */
    const char *const *tail;  /* after the source; NULL ends */
    const char *suffix;       /* of sources: ".c" */
    const char *object_name;  /* in the child's folder */
    /* Folders to read besides the compiler's own; NULL ends; borrowed until create returns. */
    const char *const *folders;
    /* Large headers that the judged unit may include, at most ATOLL_PARSED_HEADERS_LIMIT; NULL: none. */
    const struct atoll_parsed_header *headers;
    /* Takes what is a report on resources out of the output; NULL: nothing is. */
    void (*report)(char *output, char ret_report[ATOLL_COMPILE_REPORT_BYTES]);
    /* Tried once at create; check: 0 when the object is what Atoll can use. */
    const char *probe_name, *probe_text;
    int (*check)(const void *object, size_t length, struct atoll_err *err);
    /* The unit whose preprocessed text, which the flags leave beside the object, is judged; NULL: none.  judge: 0, or -1
     * with the rule that it breaks. */
    const char *judged_name;
    int (*judge)(const char *preprocessed, struct atoll_err *err);
    /* Takes a report out of the assembler text of that unit, which the flags leave as well; NULL: nobody wants one. */
    void (*look)(const char *assembly, char ret_report[ATOLL_COMPILE_REPORT_BYTES]);
    const char *kind, *remedy; /* "shared object"; what to install */
};

/* ATOLL_E_MISSING with the remedy when there is no such driver, or what it makes cannot be used. */
struct atoll_compiler *atoll_compiler_driver_create(const struct atoll_compiler_style *style,
                                                    const struct atoll_compiler_settings *settings,
                                                    struct atoll_err *err);

#endif

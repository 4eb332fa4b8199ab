/* compile.h - compile children that run a compiler driver (cc, and others of its manners) on one translation unit,
 * sandboxed, with deadline and memory limit.  The interface is compiler.h.
 * Layer: mpi-eval, backend/cpu.  Output lies in node-local scratch (ATOLL_SCRATCH, else TMPDIR, else /tmp; a private
 * 0700 folder removed on destroy), never in the campaign directory. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_COMPILE_H
#define ATOLL_MPI_EVAL_BACKEND_CPU_COMPILE_COMPILE_H

#include "mpi-eval/evaluator/compiler.h"

#define ATOLL_COMPILE_REPORT_BYTES 8192 /* of atoll_compiled.report, with the NUL */

/* How a compiler driver is called and what it leaves.  Copied, but what it points to is borrowed for the compiler's
 * lifetime. */
struct atoll_cc_style {
    const char *const *flags; /* before the user's; NULL ends */
    const char *const *tail;  /* after the source; NULL ends */
    const char *suffix;       /* of sources: ".c" */
    const char *object_name;  /* in the child's folder */
    /* Folders to read besides the compiler's own; NULL ends; borrowed until create returns. */
    const char *const *folders;
    /* Takes what is a report on resources out of the output; NULL: nothing is. */
    void (*report)(char *output, char ret_report[ATOLL_COMPILE_REPORT_BYTES]);
    /* Tried once at create; check: 0 when the object is what Atoll can use. */
    const char *probe_name, *probe_text;
    int (*check)(const void *object, size_t length, struct atoll_err *err);
    const char *kind, *remedy; /* "shared object"; what to install */
};

/* cc.  Errors: ATOLL_E_MISSING with the remedy when there is no compiler that makes a working shared object. */
struct atoll_compiler *atoll_cc_create(const struct atoll_compiler_settings *settings, struct atoll_err *err);
struct atoll_compiler *atoll_cc_create_styled(const struct atoll_cc_style *style,
                                              const struct atoll_compiler_settings *settings,
                                              struct atoll_err *err);

#endif

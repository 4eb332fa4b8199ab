/* diagnostics.h - what a compiler printed, trimmed to what helps: the first errors with the source lines they
 * name. Layer: mpi-eval, backend/compile.  Pure. */
#ifndef ATOLL_MPI_EVAL_BACKEND_COMPILE_DIAGNOSTICS_H
#define ATOLL_MPI_EVAL_BACKEND_COMPILE_DIAGNOSTICS_H

#include <stddef.h>

#define ATOLL_DIAGNOSTICS_BYTES 2048 /* with the NUL */

/* text: NUL-terminated output of cc or ld.  folder: path of ours that must not show ("" for none).  Control
 * characters go, and so do warnings, notes and names of temporary files.  Returns the length written. */
size_t atoll_diagnostics_trim(const char *text, const char *folder, char ret_text[ATOLL_DIAGNOSTICS_BYTES]);

#endif

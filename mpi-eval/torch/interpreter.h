/* interpreter.h - which Python with torch is used, and what of the file system it needs.
 * Layer: mpi-eval, torch.  Thread-safe.  Cheap: the interpreter is started, torch is not imported, and who asks again within a
 * minute gets the same answer while file and environment are the same. */
#ifndef ATOLL_MPI_EVAL_TORCH_INTERPRETER_H
#define ATOLL_MPI_EVAL_TORCH_INTERPRETER_H

#include <stddef.h>

#include <jansson.h>

#include "base/err.h"

#define ATOLL_TORCH_NONE     "none" /* asked for: no torch, whatever is there */
#define ATOLL_TORCH_AUTO     "auto" /* asked for: whatever is found */
#define ATOLL_TORCH_VARIABLE "ATOLL_PYTHON"

/* asked: a command or path, "none" or "" for none, "auto" (NULL is the same) for ATOLL_PYTHON, else the python3 of PATH where that has
 * torch.  0: found, its absolute path in ret_python.  1: none is wanted, or nobody named one and python3 has no torch.  -1: the one
 * that was named is not there, does not run or has no torch (MISSING, with the remedy). */
int atoll_torch_find(const char *asked, char *ret_python, size_t bytes, struct atoll_err *err);

/* The same for another module: "torch" or "triton". */
int atoll_python_find(const char *asked, const char *module, char *ret_python, size_t bytes,
                      struct atoll_err *err);

/* Of Triton, which must be there: -1 also where nobody named a Python that has it, with what to do (MISSING). */
int atoll_triton_find(const char *asked, char *ret_python, size_t bytes, struct atoll_err *err);

/* What an interpreter says of itself, the caller's to json_decref: {"executable", "python", "torch", "cuda", "triton": versions as
 * their files tell them, "" none, "path": folders that modules are looked for in, "folders": all that it reads of its own}.  ATOLL_E_MISSING where it does not
 * run. */
json_t *atoll_torch_examine(const char *python, struct atoll_err *err);
/* "torch 2.11.0, CUDA 13.0, Triton 3.5"; "" without torch. */
void atoll_torch_describe(const json_t *answer, char *ret_text, size_t bytes);
/* What a device may say that it has: "" where there is none, also of one that was named and
 * does not work. */
void atoll_torch_versions(const char *asked, int needs_cuda, char *ret_text, size_t bytes);
/* 1: a version of torch that Atoll was tried with (1.13 to 2.11); 0: a later one, or no version; -1: too old. */
int atoll_torch_is_tried(const char *version);

#endif

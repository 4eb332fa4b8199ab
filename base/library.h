/* library.h - a vendor's shared library, opened at run time behind declarations of our own.
 * Layer: base.  Nothing here is ever closed: the functions stay valid to the end of the process. */
#ifndef ATOLL_BASE_LIBRARY_H
#define ATOLL_BASE_LIBRARY_H

#include <stddef.h>

#include "base/err.h"

/* One row of a table of functions: where in the caller's struct of pointers which symbol goes. */
struct atoll_library_function {
    const char *symbol;
    const char *older; /* what earlier versions call the same prototype, or NULL */
    size_t offset;
    int optional; /* may be missing: the pointer is NULL then */
};

struct atoll_library {
    const char *title;        /* "the C library" */
    const char *environment;  /* variable with a path that is taken instead of any search, or NULL */
    const char *const *names; /* for the dynamic loader, in order, NULL at the end */
    const char *const
        *roots; /* of a toolkit it is part of: variables that hold one, or paths; NULL at the end, or NULL */
    const char *const *folders; /* below a root, NULL at the end */
    const char *remedy;         /* one clause without a full stop */
    const struct atoll_library_function *functions;
    size_t function_count;
};

/* Takes the first file that loads and has every function that is not optional: the path in `environment`; else
 * `names` as the dynamic loader finds them; else `names` in `folders` of `roots`.
 * ret_functions: a struct of function pointers, zeroed.  ATOLL_E_MISSING with what was tried last and the remedy. */
int atoll_library_open(const struct atoll_library *library, void *ret_functions, struct atoll_err *err);

/* For tables of functions that are listed once, as X(optional, member, symbol, older, result, (parameters)). */
#define ATOLL_LIBRARY_MEMBER(optional, member, symbol, older, result, parameters) result(*member) parameters;

#endif

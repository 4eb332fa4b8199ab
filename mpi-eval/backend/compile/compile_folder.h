/* compile_folder.h - what a compiler left in its folder, which is hostile: only regular files are read, and no link is followed.
 * Layer: mpi-eval, backend/compile. */
#ifndef ATOLL_MPI_EVAL_BACKEND_COMPILE_COMPILE_FOLDER_H
#define ATOLL_MPI_EVAL_BACKEND_COMPILE_COMPILE_FOLDER_H

#include <stddef.h>
#include <stdint.h>

/* A file's bytes, for free(); NULL: there is none, it is empty or longer than limit, or there is no memory. */
void *atoll_compile_folder_read(int folder_fd, const char *name, uint64_t limit, size_t *ret_length);
/* The text of the one file whose name ends so (two characters, ".i"), terminated, for free(); NULL: none or several, or not to be
 * read. */
char *atoll_compile_folder_saved(int folder_fd, const char *ending, uint64_t limit);

#endif

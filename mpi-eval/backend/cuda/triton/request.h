/* request.h - a Triton candidate as its compiler gets it (torch/python/triton_kernel.py), and what the compiler answers.
 * Layer: mpi-eval, backend/cuda.  Pure.  An answer is hostile input. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_REQUEST_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_REQUEST_H

#include "mpi-eval/backend/cuda/triton/images.h"

#define ATOLL_TRITON_PTX_BYTES  ((size_t)4 << 20) /* of all images of a candidate */
#define ATOLL_TRITON_PART_LIMIT 8 /* children that compile a candidate's images side by side */

/* Appends the translation unit: JSON of the source and of the classes of its launches over all variants, hidden ones too, which
 * show as classes only.  ATOLL_E_INPUT: the plan cannot be compiled. */
int atoll_triton_request_write(const struct atoll_prepared *prepared, const char *source,
                               struct atoll_buffer *out, struct atoll_err *err);

enum atoll_triton_answer_kind {
    ATOLL_TRITON_ANSWER_PTX,    /* ret_images and ret_ptx */
    ATOLL_TRITON_ANSWER_PLAN,   /* ret_words: what of the plan cannot be */
    ATOLL_TRITON_ANSWER_SOURCE, /* ret_words: what is wrong with the source */
    ATOLL_TRITON_ANSWER_MEMORY  /* ret_words: what failed for want of memory */
};

/* What one child answered. */
struct atoll_triton_answer {
    const void *bytes;
    size_t length;
};

/* How many classes of arguments a request has, which are at least its images; 0: it is none. */
size_t atoll_triton_request_classes(const char *request);

/* Answers: of the children that had a part each, in their order; the first that is no PTX is what comes of all.  request: as it was
 * written, ours.  ret_ptx, ret_words: owned (free), NULL where the other one is.  -1 with ATOLL_E_INPUT: nonsense, or more
 * than can be; MISSING: what the launcher cannot feed; MEMORY. */
int atoll_triton_answer_read(const struct atoll_triton_answer *answers, unsigned count, const char *request,
                             enum atoll_triton_answer_kind *ret_kind, struct atoll_triton_images *ret_images,
                             char **ret_ptx, char **ret_words, struct atoll_err *err);

#endif

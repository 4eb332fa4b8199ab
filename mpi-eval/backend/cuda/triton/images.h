/* images.h - what was compiled of a Triton source and how it is launched: one entry of the cubin per class of arguments.
 * Layer: mpi-eval, backend/cuda.  Pure; plain values.  The words travel in front of the compiler's report (compiler.h), so that
 * they come with the object from wherever it comes, and prepared->report has them.
 *
 * A class has a letter for each argument of a launch, as Triton's own launcher sees it: 'D' a pointer or an integer that is a
 * multiple of 16, '1' the integer 1, '-' anything else. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_IMAGES_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_TRITON_IMAGES_H

#include <string.h>

#include "base/buffer.h"
#include "mpi-eval/evaluator/compiler.h"
#include "mpi-eval/referee/prepare.h"

#define ATOLL_TRITON_LANGUAGE    "triton"
#define ATOLL_TRITON_UNIT        ATOLL_COMPILE_CANDIDATE "py"
#define ATOLL_TRITON_IMAGE_LIMIT 24
#define ATOLL_TRITON_CLASS_LIMIT 64
#define ATOLL_TRITON_ALIGN_LIMIT 256u /* of scratch: what a device allocation has */

struct atoll_triton_image {
    char symbol[128]; /* of the cubin */
    uint32_t threads, shared_bytes;
    uint64_t scratch_bytes; /* of one block */
    uint64_t passed; /* bit i: argument i of the launch is a parameter; two pointers to scratch follow */
};

struct atoll_triton_images {
    size_t image_count, class_count;
    struct atoll_triton_image images[ATOLL_TRITON_IMAGE_LIMIT];
    struct {
        uint32_t launch, image;
        char letters[ATOLL_PLAN_ARG_LIMIT + 1];
    } classes[ATOLL_TRITON_CLASS_LIMIT];
};

static inline int atoll_triton_is(const struct atoll_prepared *prepared)
{
    return prepared->language && strcmp(prepared->language, ATOLL_TRITON_LANGUAGE) == 0;
}

/* The class of a launch's arguments at a variant.  ATOLL_E_INPUT with the argument that cannot be evaluated. */
int atoll_triton_letters(const struct atoll_prepared *prepared, const struct atoll_variant *variant,
                         size_t launch, char ret_letters[ATOLL_PLAN_ARG_LIMIT + 1], struct atoll_err *err);

/* Lines of a report, and back: 0, or -1 where it has none, or some that are wrong. */
void atoll_triton_images_print(const struct atoll_triton_images *images, struct atoll_buffer *out);
int atoll_triton_images_read(const char *report, struct atoll_triton_images *ret_images);
/* Index of the image of a class, else of one that assumes less of its arguments; -1 none. */
int atoll_triton_images_find(const struct atoll_triton_images *images, size_t launch, const char *letters);

#endif

/* reference.h - the text that a task's reference.c is compiled with: types, typed accessors, atoll_* maths.
 * Layer: core.  docs/spec/task.md section "reference" is the contract for authors of tasks.
 *
 * What reference.c may use (common subset of C11 and C++17; it has no includes):
 *   void reference(const struct atoll_reference_args *a, long unit)    defined by it; computes one unit
 *   long dim_<D>(a)                                 value of dim D
 *   double get_<t>(a, long i)                       element i of tensor t (in, inout, constant), before the call
 *   void put_<t>(a, long i, double v)               expected value of element i of tensor t (out, inout)
 *   void scale_<t>(a, long i, double s)             optional: magnitude that rtol multiplies (sum of |a||b| ...)
 *   double *scratch(a)                              this unit's scratch (reference: {scratch: "N"} doubles)
 *   atoll_exp atoll_exp2 atoll_expm1 atoll_log atoll_log2 atoll_log1p atoll_sqrt atoll_rsqrt atoll_tanh atoll_erf
 *   atoll_sin atoll_cos atoll_pow atoll_fabs atoll_floor atoll_ceil atoll_round atoll_fmin atoll_fmax atoll_fma
 *   ATOLL_INFINITY                                  double in, double out
 * Integers travel as doubles, exact to 2^53. */
#ifndef ATOLL_CORE_TASK_REFERENCE_H
#define ATOLL_CORE_TASK_REFERENCE_H

#include "base/buffer.h"
#include "core/task/task.h"

/* The binary interface between the compiled reference and the harness.  All arrays are indexed by tensor
 * number. */
struct atoll_reference_args {
    const long long *dims;
    const void *const *inputs; /* raw tensors in their dtype; NULL for role out */
    double *const *expected;   /* element count doubles for out and inout, else NULL */
    double *const *scale;      /* the same, zeroed; NULL where the reference does not call scale_<t> */
    double *scratch;           /* of the calling thread */
};

/* Appends the complete translation unit: prelude, accessors of this task, #line 1 "reference.c", the
 * author's text, and   void atoll_reference_range(const struct atoll_reference_args *a, long unit_begin,
 * long unit_end) */
int atoll_reference_translation_unit(const struct atoll_task *task, struct atoll_buffer *out,
                                     struct atoll_err *err);
/* Appends, behind that unit where it is C++: what else reference.cu may use (accessors of this task, then `tiles`, the text
 * of tile.cuh), #line 1 "reference.cu" and the author's text, in namespace atoll_tiled:
 *   long reference_blocks(const struct atoll_reference_args *a, int phase)
 *   void reference_block(const struct atoll_reference_args *a, int phase, long block) */
#define ATOLL_REFERENCE_PHASES 3
int atoll_reference_device_unit(const struct atoll_task *task, const char *tiles, struct atoll_buffer *out,
                                struct atoll_err *err);
/* Whether the reference calls scale_<tensor>. */
int atoll_reference_has_scale(const struct atoll_task *task, size_t tensor);

#define ATOLL_REFERENCE_QUOTE_BYTES 200

/* What a compiler's errors blame: "; line 14 of reference.c says: ...", "" where they blame no line of it.  source:
 * the author's text. */
void atoll_reference_quote(const char *source, const char *diagnostics,
                           char ret_quote[ATOLL_REFERENCE_QUOTE_BYTES]);

#endif

/* dtype.h - element types: names, sizes, conversion to and from double with IEEE round-to-nearest-even.
 * Layer: core. */
#ifndef ATOLL_CORE_TASK_DTYPE_H
#define ATOLL_CORE_TASK_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum atoll_dtype {
    ATOLL_F64,
    ATOLL_F32,
    ATOLL_F16,
    ATOLL_BF16,
    ATOLL_F8E4M3,
    ATOLL_F8E5M2,
    ATOLL_I64,
    ATOLL_I32,
    ATOLL_I16,
    ATOLL_I8,
    ATOLL_U8,
    ATOLL_DTYPE_COUNT
};

#ifndef __CUDACC__                                                    /* device code takes the enum alone */
const char *atoll_dtype_name(enum atoll_dtype t);                     /* "f32" ... */
int atoll_dtype_parse(const char *name, enum atoll_dtype *ret_dtype); /* -1 when unknown */
const char *atoll_dtype_names(void);                                  /* "f64, f32, ..." for error texts */
size_t atoll_dtype_bytes(enum atoll_dtype t);
int atoll_dtype_is_float(enum atoll_dtype t);
/* the C type candidates see: double, float, uint16_t (f16, bf16), uint8_t (f8) ... */
const char *atoll_dtype_c_type(enum atoll_dtype t);
double atoll_dtype_load(enum atoll_dtype t, const void *base, size_t index);
/* rounds; saturates integers and f8 */
void atoll_dtype_store(enum atoll_dtype t, void *base, size_t index, double value);
/* Whole arrays, fast: the two above in a loop the compiler can vectorise. */
void atoll_dtype_load_array(enum atoll_dtype t, const void *base, size_t count, double *ret_values);
void atoll_dtype_store_array(enum atoll_dtype t, void *base, size_t count, const double *values);
#endif

#endif

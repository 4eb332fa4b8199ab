/* params.h - what kernels of ours are given by value, one struct each; the host fills it, device/x.cu reads it.
 * Layer: mpi-eval, backend/cuda.  Common subset of C11 and CUDA C++; addresses are of the device. */
#ifndef ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_PARAMS_H
#define ATOLL_MPI_EVAL_BACKEND_CUDA_KERNELS_PARAMS_H

#include "core/task/init_value.h"

enum atoll_fill_form {
    ATOLL_FILL_FORM_BITS, /* every element is `top` */
    ATOLL_FILL_FORM_FLOAT, /* sign | (top - (random & mask)): magnitudes below that of top, evenly in octaves */
    ATOLL_FILL_FORM_INTEGER, /* 0 .. top-1 */
    ATOLL_FILL_FORM_NORMAL   /* a normal of deviation `scale`, as an input has it */
};

struct atoll_fill_params {
    atoll_u64 key;
    atoll_u64 top;  /* bits of an element */
    atoll_u64 mask; /* of what is taken away from top */
    atoll_u64 sign; /* sign bit of the dtype, 0: none */
    double scale;
    int form, dtype; /* enum atoll_fill_form, enum atoll_dtype */
};

/* A launch over several regions goes by tiles of 16-byte chunks: tile t belongs to the first region whose tile_end is above
 * t. */

enum atoll_region_kind {
    ATOLL_REGION_INIT, /* count: elements */
    ATOLL_REGION_FILL, /* the same */
    ATOLL_REGION_GUARD /* words of 8 bytes, at any address */
};

struct atoll_region {
    atoll_u64 address, count;
    unsigned kind, tile_end;
    union {
        struct atoll_init_params init;
        struct atoll_fill_params fill;
        atoll_u64 key;
    } of;
};
#define ATOLL_REGION_LIMIT 16

struct atoll_contents_launch {
    struct atoll_region regions[ATOLL_REGION_LIMIT]; /* first: fill.py writes the address of region 0 */
    unsigned tiles, tile_chunks;
};

/* hash: adds to the u64 at result; guard: to its number of changed words and to the least of them. */
struct atoll_zone {
    atoll_u64 address, bytes, key, result;
    unsigned is_guard, tile_end;
};
#define ATOLL_ZONE_LIMIT 32

struct atoll_inspect_launch {
    struct atoll_zone zones[ATOLL_ZONE_LIMIT];
    unsigned tiles, tile_chunks;
};

/* Flushes, copies, reads. */
struct atoll_area_launch {
    atoll_u64 address, bytes, key, result, from;
};

struct atoll_probe_launch {
    atoll_u64 area, key, result;
    atoll_u64 rounds;
};

/* The gate waits while the word (u32) is 0, and no longer than this. */
struct atoll_gate_launch {
    atoll_u64 word, limit_ns;
};
#define ATOLL_GATE_LIMIT_NS 5000000

struct atoll_seal_launch {
    atoll_u64 expected, scale, count; /* scale 0: none */
    atoll_u64 sealed, sealed_scale;   /* 16-byte aligned */
    atoll_u64 key[2], salt;
};

struct atoll_compare_launch {
    atoll_u64 address, count, result;
    atoll_u64 expected, scale; /* plain doubles; sealed: what atoll_support_seal made of them */
    atoll_u64 key[2], salt, hash_key;
    double atol, rtol;
    int dtype, is_sealed, has_fill;
    int has_sums; /* difference2, got2 and product are wanted */
    struct atoll_fill_params fill;
    atoll_u64 output_hash, output_key; /* where the output's own hash goes, 0: nobody asks */
};

struct atoll_print_launch {
    atoll_u64 count;
    atoll_u64 expected, scale; /* making: plain doubles; scale 0: none */
    atoll_u64 address;         /* matching: the output */
    atoll_u64 print, result;   /* pairs of blocks, then of samples, 16-byte aligned; atoll_print_area */
    atoll_u64 output_hash, output_key;
    atoll_u64 key[2], salt;
    double atol, rtol;
    double bound_ratio; /* matching: of each bound so much counts */
    int dtype;
};

/* What compare adds to; 0 except where another start is named. */
struct atoll_finding_area {
    atoll_u64 wrong_count, nonfinite_count, unwritten_count;
    atoll_u64 first_wrong; /* all ones */
    atoll_u64 last_wrong;
    atoll_u64 worst_bits; /* of the largest error seen, a double >= 0: its bits order like it does */
    double worst_error;   /* the next four belong together, under the lock */
    atoll_u64 worst_index;
    double worst_expected, worst_got;
    double difference2, expected2, got2, product;
    atoll_u64 expected_hash, count;
    unsigned lock, reserved;
};

/* What fingerprints add to, from 0. */
struct atoll_print_area {
    atoll_u64 off_count;       /* matching: sums and samples that are not within their bound */
    atoll_u64 nonfinite_count; /* making: pairs that can say nothing */
    atoll_u64 pair_count, hash;
    double expected2; /* making: sums of squares of the values, */
    double bound2;    /* and of the elements' bounds */
    double error2;    /* matching: of what the blocks' sums are off */
};

/* An element that two references put (agreement.cu). */
struct atoll_agreement_entry {
    atoll_u64 index;
    double expected, scale, tiled, tiled_scale;
};

struct atoll_agreement_area {
    atoll_u64 put_count;   /* by the first one; entries are the first of them that came */
    atoll_u64 unset_count; /* elements that the second one left out */
    struct atoll_agreement_entry entries[1];
};

struct atoll_agreement_launch {
    atoll_u64 expected, scale, count; /* doubles; scale 0: none */
    atoll_u64 result, room;           /* entries */
};

#define ATOLL_FINDING_WORST 1e30 /* an error that no number of tolerances describes */

#endif

#include "mpi-eval/backend/cuda/measure/keeping.h"

#include "mpi-eval/backend/cuda/measure/fingerprint.h"

/* Of draws of the pool. */
static int prints_decide(const struct atoll_keeping *k)
{
    return k->kind == ATOLL_VARIANT_BENCH && k->bytes > ATOLL_KEEPING_SMALL_BYTES &&
           atoll_cuda_fingerprint_decides(k->tolerance) && !k->has_nonfinite;
}

/* Of the pool, draws that have their whole values where fingerprints decide. */
static uint64_t whole_count(const struct atoll_keeping *k)
{
    uint64_t whole = k->full_compares + ATOLL_KEEPING_SPARE;
    return whole < k->pool_size ? whole : k->pool_size;
}

uint64_t atoll_keeping_demand(const struct atoll_keeping *k, uint64_t print_bytes, uint64_t most)
{
    uint64_t whole = k->pool_size, prints = 0;
    if (prints_decide(k)) {
        whole = whole_count(k);
        prints = k->pool_size * print_bytes;
    }
    return (whole * k->bytes <= most ? whole * k->bytes : 0) + prints;
}

/* A fresh draw whose whole values have no room: the side of a comparison that comes first meets the reference, the other one the
 * fingerprint that this leaves, unless both must be compared in full. */
static int is_for_the_other(const struct atoll_keeping *k, const struct atoll_sealed *a)
{
    return a->input_set.series != 0 && !a->is_whole_wanted && !a->print.is_sealed && prints_decide(k) &&
           k->comparing == ATOLL_COMPARING_HELD;
}

unsigned atoll_keeping_wanted(const struct atoll_keeping *k, const struct atoll_expected_store *store,
                              const struct atoll_sealed *a)
{
    int is_full = k->comparing == ATOLL_COMPARING_FULL;
    if (a->input_set.series != 0 || !prints_decide(k)) {
        size_t others = a->input_set.series ? 1 : k->pool_size; /* a fresh one comes alone */
        if (a->is_sealed)
            return 0;
        if (atoll_expected_store_is_kept(store, k->bytes, others))
            return ATOLL_SAMPLE_VALUES;
        return is_for_the_other(k, a) ? ATOLL_SAMPLE_PRINT : 0;
    }
    unsigned parts = a->print.is_sealed ? 0 : ATOLL_SAMPLE_PRINT;
    size_t most = is_full ? SIZE_MAX : k->full_compares + ATOLL_KEEPING_SPARE;
    if (!a->is_sealed && (is_full || parts) &&
        atoll_expected_store_is_kept(store, k->bytes, (size_t)whole_count(k)) &&
        atoll_expected_store_has_room(store, a, k->bytes, most))
        parts |= ATOLL_SAMPLE_VALUES;
    return parts;
}

int atoll_keeping_is_later(const struct atoll_sealed *a, unsigned parts, enum atoll_comparing comparing)
{
    return parts == ATOLL_SAMPLE_PRINT &&
           (a->input_set.series != 0 || atoll_keeping_looking(a, comparing) == ATOLL_LOOKING_REFERENCE);
}

enum atoll_looking atoll_keeping_looking(const struct atoll_sealed *a, enum atoll_comparing comparing)
{
    int by_print = comparing == ATOLL_COMPARING_PRINT || (comparing == ATOLL_COMPARING_HELD && !a->is_sealed);
    return by_print && a->print.is_sealed ? ATOLL_LOOKING_PRINT
           : a->is_sealed                 ? ATOLL_LOOKING_VALUES
                                          : ATOLL_LOOKING_REFERENCE;
}

/* diagnosis_row.c - a diagnosis in the columns of evaluations, and back. */
#include <string.h>

#include "archive-h5/table/table.h"

void atoll_row_diagnosis_put(struct atoll_row_evaluation *row, const struct atoll_diagnosis *d)
{
    row->error_class = (uint8_t)d->error;
    row->limiter = (uint8_t)d->limiter;
    row->limiter_percent = d->figure;
    row->next_limiter = (uint8_t)d->next;
    row->next_percent = d->next_figure;
    row->is_counted = (uint8_t)d->is_counted;
    row->stall = (uint8_t)d->stall;
    row->stall_percent = d->stall_share;
    row->occupancy_limit = (uint8_t)d->occupancy_by;
    row->unused = d->unused;
    row->traffic_efficiency = d->traffic;
    row->memory_percent = d->memory_share;
    row->useful_flops_per_s = d->flops_per_s;
    row->arithmetic = d->unit < ATOLL_MIX_COUNT ? (uint8_t)(d->unit + 1) : 0;
    row->arithmetic_percent = d->unit_share;
}

void atoll_row_diagnosis_get(const struct atoll_row_evaluation *row, struct atoll_diagnosis *ret)
{
    *ret = (struct atoll_diagnosis){
        .error = (enum atoll_error_class)row->error_class,
        .limiter = (enum atoll_limiter)row->limiter,
        .figure = row->limiter_percent,
        .next = (enum atoll_limiter)row->next_limiter,
        .next_figure = row->next_percent,
        .is_counted = (enum atoll_counted)row->is_counted,
        .stall = (enum atoll_stall)row->stall,
        .stall_share = row->stall_percent,
        .occupancy_by = (enum atoll_occupancy_limit)row->occupancy_limit,
        .unused = row->unused,
        .traffic = row->traffic_efficiency,
        .memory_share = row->memory_percent,
        .flops_per_s = row->useful_flops_per_s,
        .unit = row->arithmetic ? (enum atoll_mix)(row->arithmetic - 1) : ATOLL_MIX_COUNT,
        .unit_share = row->arithmetic_percent,
    };
}

int atoll_row_is_diagnosed(const struct atoll_row_evaluation *row)
{
    return row->error_class != ATOLL_ERROR_NONE || row->limiter != ATOLL_LIMITER_UNKNOWN ||
           row->next_limiter != ATOLL_LIMITER_UNKNOWN;
}

enum atoll_limiter atoll_row_limiter(const struct atoll_row_evaluation *row,
                                     const struct atoll_row_profile *profile)
{
    if (profile && !atoll_row_is_diagnosed(row))
        return (enum atoll_limiter)profile->limiter;
    return (enum atoll_limiter)row->limiter;
}

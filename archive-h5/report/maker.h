/* maker.h - who made a kernel.  Layer: archive-h5, pure. */
#ifndef ATOLL_ARCHIVE_H5_REPORT_MAKER_H
#define ATOLL_ARCHIVE_H5_REPORT_MAKER_H

#include "archive-h5/report/query.h"

/* What a search added to the seeds it was given. */
enum atoll_maker {
    ATOLL_MAKER_NONE,
    ATOLL_MAKER_SEED,    /* a seed as it was, parameters of a template as they came first */
    ATOLL_MAKER_TUNER,   /* parameters of a seed chosen by the tuner */
    ATOLL_MAKER_MODEL,   /* a language model's source, its parameters tuned or not */
    ATOLL_MAKER_MIGRANT, /* a source of an earlier campaign or another device, its parameters tuned or not */
    ATOLL_MAKER_COUNT
};
const char *atoll_maker_name(enum atoll_maker maker); /* "none", "seed", "tuner", "model", "migrant" */
enum atoll_maker atoll_query_maker(const struct atoll_query *query, uint64_t candidate_row);

#endif

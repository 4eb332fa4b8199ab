#include "archive-h5/report/maker.h"

#include "core/ask.h"

const char *atoll_maker_name(enum atoll_maker maker)
{
    static const char *const names[ATOLL_MAKER_COUNT] = {"none", "seed", "tuner", "model", "migrant"};
    return maker < ATOLL_MAKER_COUNT ? names[maker] : "unknown";
}

static enum atoll_maker maker_of_operator(unsigned op)
{
    switch (op) {
    case ATOLL_OPERATOR_SEED: return ATOLL_MAKER_SEED;
    case ATOLL_OPERATOR_TUNE: return ATOLL_MAKER_TUNER;
    case ATOLL_OPERATOR_IMPORT:
    case ATOLL_OPERATOR_TRANSLATE: return ATOLL_MAKER_MIGRANT;
    case ATOLL_OPERATOR_NULL_CONTROL: return ATOLL_MAKER_NONE;
    default: return ATOLL_MAKER_MODEL;
    }
}

/* An instance of a template is made by who wrote the template, the tuner where that was a seed. */
enum atoll_maker atoll_query_maker(const struct atoll_query *q, uint64_t candidate_row)
{
    struct atoll_row_candidate c, other;
    atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES, candidate_row, &c);
    enum atoll_maker maker = maker_of_operator(c.operator_);
    int64_t writer = maker == ATOLL_MAKER_TUNER ? atoll_query_writer(q, c.campaign, &c.source_id) : -1;
    if (writer < 0 || (uint64_t)writer > candidate_row)
        return maker;
    atoll_tables_get(atoll_query_tables(q), ATOLL_TABLE_CANDIDATES, (uint64_t)writer, &other);
    maker = maker_of_operator(other.operator_);
    return maker == ATOLL_MAKER_SEED ? ATOLL_MAKER_TUNER : maker;
}

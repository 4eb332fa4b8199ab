/* schema_columns.h - how the sources of the schema say a column, and what each has for the table of all.
 * Layer: archive-h5; for archive-h5/table/schema*.c alone. */
#ifndef ATOLL_ARCHIVE_H5_TABLE_SCHEMA_COLUMNS_H
#define ATOLL_ARCHIVE_H5_TABLE_SCHEMA_COLUMNS_H

#include <stddef.h>

#include "archive-h5/table/table.h"
#include "core/diagnosis.h"
#include "core/model_role.h"
#include "core/verdict.h"

#define FIELD(row, field) offsetof(struct atoll_row_##row, field)
#define COLUMN(row, field, kind, in, text)                                                                   \
    .name = #field, .type = ATOLL_COLUMN_##kind, .offset = FIELD(row, field), .unit = in, .description = text
#define COL(row, field, kind, in, text)                                                                      \
    {                                                                                                        \
        COLUMN(row, field, kind, in, text)                                                                   \
    }
#define KEY(row, field, kind, in, text)                                                                      \
    {                                                                                                        \
        COLUMN(row, field, kind, in, text), .is_key = 1                                                      \
    }
#define NEW(row, field, kind, in, text)                                                                      \
    {                                                                                                        \
        COLUMN(row, field, kind, in, text), .since = 2                                                       \
    }
#define ADDED(row, field, kind, in, text, schema)                                                            \
    {                                                                                                        \
        COLUMN(row, field, kind, in, text), .since = schema                                                  \
    }
#define ENUM(row, field, names, count, text)                                                                 \
    {                                                                                                        \
        COLUMN(row, field, U8, "", text), .value_name = names, .value_count = count                          \
    }
#define ADDED_ENUM(row, field, names, count, text)                                                           \
    {                                                                                                        \
        COLUMN(row, field, U8, "", text), .value_name = names, .value_count = count, .since = 6              \
    }
#define OWNER(row) KEY(row, campaign, CAMPAIGN, "", "row of the table campaign it belongs to")
#define EVENT(row) KEY(row, event, U64, "", "number of the journaled event it comes from")

#define TABLE6(noun, name, text)                                                                             \
    {                                                                                                        \
        name, text, sizeof(struct atoll_row_##noun), sizeof(noun##_columns) / sizeof(*noun##_columns),       \
            noun##_columns, 6                                                                                \
    }
#define TABLE(noun, name, text)                                                                              \
    {                                                                                                        \
        name, text, sizeof(struct atoll_row_##noun), sizeof(noun##_columns) / sizeof(*noun##_columns),       \
            noun##_columns, 0                                                                                \
    }

#define PROFILE_FACTS              21 /* columns before the counters */
#define PROFILE_LAUNCH             5  /* and behind the mix */
#define ATOLL_PROFILE_COLUMN_COUNT (PROFILE_FACTS + ATOLL_COUNTER_COUNT + ATOLL_MIX_COUNT + PROFILE_LAUNCH)

extern const struct atoll_column atoll_profile_columns[ATOLL_PROFILE_COLUMN_COUNT];
/* Of what models were told and what came of it: hints and all tables behind them. */
extern const struct atoll_table_schema atoll_model_tables[ATOLL_TABLE_COUNT - ATOLL_TABLE_HINTS];

/* Names that several sources need. */
static inline const char *limiter_name(unsigned v)
{
    return atoll_limiter_name((enum atoll_limiter)v);
}

static inline const char *error_class_name(unsigned v)
{
    return atoll_error_class_name((enum atoll_error_class)v);
}

static inline const char *occupancy_limit_name(unsigned v)
{
    return atoll_occupancy_limit_name((enum atoll_occupancy_limit)v);
}

static inline const char *verdict_name(unsigned v)
{
    return atoll_verdict_name((enum atoll_verdict)v);
}

static inline const char *reply_name(unsigned v)
{
    return v ? atoll_reply_status_name((enum atoll_reply_status)(v - 1)) : "open";
}

#endif

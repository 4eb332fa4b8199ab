/* schema_column.h - how schema*.c write down a column: its name is the field's of the row struct.
 * Layer: archive-h5, private to schema*.c. */
#ifndef ATOLL_ARCHIVE_H5_TABLE_SCHEMA_COLUMN_H
#define ATOLL_ARCHIVE_H5_TABLE_SCHEMA_COLUMN_H

#include <stddef.h>

#include "archive-h5/table/table.h"

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
#define OWNER(row) KEY(row, campaign, CAMPAIGN, "", "row of the table campaign it belongs to")
#define EVENT(row) KEY(row, event, U64, "", "number of the journaled event it comes from")

#define ATOLL_PROFILE_FACTS        21 /* columns before the counters */
#define ATOLL_PROFILE_COLUMN_COUNT (ATOLL_PROFILE_FACTS + ATOLL_COUNTER_COUNT + ATOLL_MIX_COUNT)
extern const struct atoll_column atoll_profile_columns[ATOLL_PROFILE_COLUMN_COUNT]; /* schema_profile.c */

#endif

/* table.h - the tables of an archive: one schema for memory, HDF5, CSV and the documentation, and rows in
 * columns. Layer: archive-h5, pure (no file, no HDF5).  Lifetime of struct atoll_tables: create/destroy;
 * single owner. docs/spec/archive.md is the contract; a test compares it with the schema. */
#ifndef ATOLL_ARCHIVE_H5_TABLE_TABLE_H
#define ATOLL_ARCHIVE_H5_TABLE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "archive-h5/table/rows.h"
#include "base/err.h"

#define ATOLL_ARCHIVE_SCHEMA 5
#define ATOLL_COLUMN_LIMIT   80

enum atoll_table {
    ATOLL_TABLE_CAMPAIGN,
    ATOLL_TABLE_TASKS,
    ATOLL_TABLE_DEVICES,
    ATOLL_TABLE_ASKS,
    ATOLL_TABLE_CANDIDATES,
    ATOLL_TABLE_EVALUATIONS,
    ATOLL_TABLE_TIMINGS,
    ATOLL_TABLE_SAMPLES,
    ATOLL_TABLE_PROFILES,
    ATOLL_TABLE_DUELS,
    ATOLL_TABLE_ELITES,
    ATOLL_TABLE_MIGRATIONS,
    ATOLL_TABLE_DECISIONS,
    ATOLL_TABLE_COUNT
};

enum atoll_column_type {
    ATOLL_COLUMN_U8,
    ATOLL_COLUMN_U32,
    ATOLL_COLUMN_U64,
    ATOLL_COLUMN_I64,
    ATOLL_COLUMN_F64,
    ATOLL_COLUMN_ID,       /* 32 bytes */
    ATOLL_COLUMN_TEXT,     /* u32: row of the table texts */
    ATOLL_COLUMN_CAMPAIGN, /* u32: row of the table campaign */
    ATOLL_COLUMN_TYPE_COUNT
};
size_t atoll_column_bytes(enum atoll_column_type type);
const char *atoll_column_type_name(enum atoll_column_type type); /* "u8" ... */

struct atoll_column {
    const char *name;
    enum atoll_column_type type;
    int is_key;       /* rows equal in all keys are the same row; on merge the later one wins */
    size_t offset;    /* in the row struct */
    const char *unit; /* "" for none */
    const char *description;
    const char *(*value_name)(unsigned value); /* U8 that counts an enum; else NULL */
    unsigned value_count;
    uint32_t since; /* schema that added it; files of an earlier one have zeros there; 0 = the first */
    int may_be_nan; /* F64: NaN where it was not measured */
};

struct atoll_table_schema {
    const char *name, *description;
    size_t row_bytes; /* of the row struct */
    size_t column_count;
    const struct atoll_column *columns;
    uint32_t since; /* schema that added it; files of an earlier one have no rows of it; 0 = the first */
};
const struct atoll_table_schema *atoll_table_schema(enum atoll_table table); /* static storage */
int atoll_table_find(const char *name, enum atoll_table *ret_table);         /* -1 when unknown */
const char *atoll_table_names(void); /* "campaign, tasks, ..." for error texts */

struct atoll_tables;

/* limit_bytes: the most that rows and texts together may take. */
struct atoll_tables *atoll_tables_create(size_t limit_bytes, struct atoll_err *err);
void atoll_tables_destroy(struct atoll_tables *tables); /* NULL is fine */

uint64_t atoll_tables_count(const struct atoll_tables *tables, enum atoll_table table);
/* row: the table's struct of rows.h, copied column by column. */
int atoll_tables_append(struct atoll_tables *tables, enum atoll_table table, const void *row,
                        struct atoll_err *err);
void atoll_tables_get(const struct atoll_tables *tables, enum atoll_table table, uint64_t index,
                      void *ret_row);
void atoll_tables_set(struct atoll_tables *tables, enum atoll_table table, uint64_t index, const void *row);
/* The cells of a column, contiguous; borrowed until the next append to the table. */
const void *atoll_tables_column(const struct atoll_tables *tables, enum atoll_table table, size_t column);
/* Adds count rows and gives the columns to fill (room for ATOLL_COLUMN_LIMIT pointers). */
int atoll_tables_extend(struct atoll_tables *tables, enum atoll_table table, uint64_t count,
                        void **ret_columns, struct atoll_err *err);

/* Texts, each stored once.  Text 0 is "".  A text holds no NUL; one is kept behind it. */
int atoll_tables_add_text(struct atoll_tables *tables, const char *text, size_t length, uint32_t *ret_text,
                          struct atoll_err *err);
uint64_t atoll_tables_text_count(const struct atoll_tables *tables);
/* Borrowed until the next text is added; a number beyond the table gives "". */
const char *atoll_tables_text(const struct atoll_tables *tables, uint32_t text);
size_t atoll_tables_text_length(const struct atoll_tables *tables, uint32_t text);
/* For writers: the heap (every text followed by a NUL) and the three columns. */
struct atoll_text_columns {
    const char *heap;
    uint64_t heap_bytes, count;
    const uint64_t *offset, *length;
    const struct atoll_id *hash;
};
void atoll_tables_texts(const struct atoll_tables *tables, struct atoll_text_columns *ret_columns);

#endif

/* merge.c - one index per table over the hash of the key columns; a row whose key is there replaces the older
 * one. */
#include "archive-h5/hdf5/merge.h"

#include <stdlib.h>
#include <string.h>

#include "archive-h5/table/copy_rows.h"
#include "archive-h5/table/project.h"
#include "base/hash_index.h"
#include "archive-h5/hdf5/segment.h"
#include "base/random.h"

struct atoll_merge {
    size_t limit_bytes;
    struct atoll_tables *tables;
    struct atoll_index index[ATOLL_TABLE_COUNT];
};

struct atoll_merge *atoll_merge_create(size_t limit_bytes, struct atoll_err *err)
{
    struct atoll_merge *m = calloc(1, sizeof(*m));
    if (!m) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a merge");
        return NULL;
    }
    m->limit_bytes = limit_bytes;
    if (!(m->tables = atoll_tables_create(limit_bytes, err))) {
        free(m);
        return NULL;
    }
    return m;
}

void atoll_merge_destroy(struct atoll_merge *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++)
        atoll_index_fini(&m->index[i]);
    atoll_tables_destroy(m->tables);
    free(m);
}

struct atoll_tables *atoll_merge_take(struct atoll_merge *m)
{
    struct atoll_tables *tables = m->tables;
    m->tables = atoll_tables_create(m->limit_bytes, NULL);
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++)
        atoll_index_fini(&m->index[i]);
    return tables;
}

static uint64_t hash_key(const struct atoll_table_schema *schema, const void *row)
{
    uint64_t hash = 0;
    for (size_t c = 0; c < schema->column_count; c++) {
        const struct atoll_column *column = &schema->columns[c];
        size_t bytes = atoll_column_bytes(column->type);
        for (size_t at = 0; column->is_key && at < bytes; at += 8) {
            uint64_t word = 0;
            memcpy(&word, (const char *)row + column->offset + at, bytes - at < 8 ? bytes - at : 8);
            hash = atoll_mix64(hash ^ word) + c;
        }
    }
    return hash;
}

struct row_key {
    const struct atoll_tables *tables;
    enum atoll_table table;
    const void *row;
};

static int row_matches(const void *context, uint32_t index)
{
    const struct row_key *key = context;
    const struct atoll_table_schema *schema = atoll_table_schema(key->table);
    for (size_t c = 0; c < schema->column_count; c++) {
        size_t bytes = atoll_column_bytes(schema->columns[c].type);
        const char *cells = atoll_tables_column(key->tables, key->table, c);
        if (schema->columns[c].is_key &&
            memcmp(cells + index * bytes, (const char *)key->row + schema->columns[c].offset, bytes) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Puts a row whose texts and campaign are those of the merge; ret_row: where it is. */
static int put_row(struct atoll_merge *m, enum atoll_table table, const void *row, uint64_t *ret_row,
                   struct atoll_err *err)
{
    struct row_key key = {m->tables, table, row};
    uint64_t hash = hash_key(atoll_table_schema(table), row);
    uint32_t known = atoll_index_find(&m->index[table], hash, row_matches, &key);
    if (known != ATOLL_NONE) {
        *ret_row = known;
        atoll_tables_set(m->tables, table, *ret_row, row);
        return 0;
    }
    *ret_row = atoll_tables_count(m->tables, table);
    if (atoll_tables_append(m->tables, table, row, err) != 0)
        return -1;
    return atoll_index_add(&m->index[table], hash, (uint32_t)*ret_row, err);
}

static int add_table(struct atoll_merge *m, struct atoll_row_copier *copier, enum atoll_table table,
                     uint32_t *ret_rows, struct atoll_err *err)
{
    union atoll_any_row row;
    uint64_t at, count = atoll_tables_count(copier->from, table);
    for (uint64_t i = 0; i < count; i++) {
        if (atoll_row_copier_get(copier, table, i, &row, err) != 0 || put_row(m, table, &row, &at, err) != 0)
            return -1;
        if (ret_rows)
            ret_rows[i] = (uint32_t)at;
    }
    return 0;
}

int atoll_merge_add(struct atoll_merge *m, const struct atoll_tables *from, struct atoll_err *err)
{
    struct atoll_row_copier copier;
    uint64_t campaign_count = atoll_tables_count(from, ATOLL_TABLE_CAMPAIGN);
    uint32_t *campaigns = calloc((size_t)campaign_count + 1, sizeof(*campaigns));
    if (!campaigns)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a merge");
    if (atoll_row_copier_init(&copier, m->tables, from, err) != 0) {
        free(campaigns);
        return -1;
    }
    int failed = add_table(m, &copier, ATOLL_TABLE_CAMPAIGN, campaigns, err);
    copier.campaigns = campaigns;
    copier.campaign_count = (size_t)campaign_count;
    for (size_t t = 0; !failed && t < ATOLL_TABLE_COUNT; t++)
        if (t != ATOLL_TABLE_CAMPAIGN)
            failed = add_table(m, &copier, (enum atoll_table)t, NULL, err);
    atoll_row_copier_fini(&copier);
    free(campaigns);
    return failed;
}

int atoll_merge_files(const char *const *paths, size_t count, const char *out,
                      const struct atoll_file_ops *ops, struct atoll_err *err)
{
    struct atoll_merge *m = atoll_merge_create(ATOLL_TABLES_LIMIT_BYTES, err);
    int failed = !m;
    for (size_t i = 0; !failed && i < count; i++) {
        struct atoll_tables *from = atoll_segment_read_foreign(paths[i], err);
        failed = !from || atoll_merge_add(m, from, err) != 0;
        atoll_tables_destroy(from);
    }
    /* Once more, with the texts in the order in which rows use them and unused ones left out: so merging what is merged gives
     * the same bytes. */
    struct atoll_merge *again = failed ? NULL : atoll_merge_create(ATOLL_TABLES_LIMIT_BYTES, err);
    failed = !again || atoll_merge_add(again, m->tables, err) != 0 ||
             atoll_segment_write(out, again->tables, NULL, ops, err) != 0;
    atoll_merge_destroy(again);
    atoll_merge_destroy(m);
    return failed ? -1 : 0;
}

/* table.c - rows in columns, texts in one heap. */
#include "archive-h5/table/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash_index.h"

#define FIRST_CAPACITY 32u
#define TEXT_LIMIT     UINT32_MAX

struct rows {
    uint64_t count, capacity;
    unsigned char *columns[ATOLL_COLUMN_LIMIT]; /* owned */
};

struct texts {
    char *heap; /* owned, like the columns below */
    uint64_t heap_bytes, heap_capacity, count, capacity;
    uint64_t *offset, *length;
    struct atoll_id *hash;
    struct atoll_index index;
};

struct atoll_tables {
    size_t limit_bytes, used_bytes;
    struct rows rows[ATOLL_TABLE_COUNT];
    struct texts texts;
};

struct atoll_tables *atoll_tables_create(size_t limit_bytes, struct atoll_err *err)
{
    uint32_t empty;
    struct atoll_tables *t = calloc(1, sizeof(*t));
    if (!t) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the archive's tables");
        return NULL;
    }
    t->limit_bytes = limit_bytes;
    if (atoll_tables_add_text(t, "", 0, &empty, err) != 0) {
        atoll_tables_destroy(t);
        return NULL;
    }
    return t;
}

void atoll_tables_destroy(struct atoll_tables *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++)
        for (size_t c = 0; c < ATOLL_COLUMN_LIMIT; c++)
            free(t->rows[i].columns[c]);
    free(t->texts.heap);
    free(t->texts.offset);
    free(t->texts.length);
    free(t->texts.hash);
    atoll_index_fini(&t->texts.index);
    free(t);
}

/* Grows one array; the limit counts what is allocated. */
static int grow_array(struct atoll_tables *t, void *array, uint64_t old_count, uint64_t count, size_t element,
                      struct atoll_err *err)
{
    void **at = array;
    uint64_t extra = (count - old_count) * element;
    if (count > SIZE_MAX / element || extra > t->limit_bytes - t->used_bytes) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "the archive's tables pass their limit of %zu bytes",
                             t->limit_bytes);
    }
    void *grown = realloc(*at, (size_t)count * element);
    if (!grown)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the archive's tables");
    *at = grown;
    t->used_bytes += (size_t)extra;
    return 0;
}

static uint64_t next_capacity(uint64_t capacity, uint64_t needed)
{
    capacity = capacity ? capacity + capacity / 2 : FIRST_CAPACITY;
    return capacity < needed ? needed : capacity;
}

static int reserve_rows(struct atoll_tables *t, enum atoll_table table, uint64_t needed,
                        struct atoll_err *err)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    struct rows *rows = &t->rows[table];
    if (needed <= rows->capacity)
        return 0;
    if (needed > UINT32_MAX)
        return atoll_err_set(err, ATOLL_E_LIMIT, "table %s: more than 2^32 rows", schema->name);
    uint64_t capacity = next_capacity(rows->capacity, needed);
    for (size_t c = 0; c < schema->column_count; c++) {
        if (grow_array(t, &rows->columns[c], rows->capacity, capacity,
                       atoll_column_bytes(schema->columns[c].type), err) != 0) {
            return -1;
        }
    }
    rows->capacity = capacity;
    return 0;
}

uint64_t atoll_tables_count(const struct atoll_tables *t, enum atoll_table table)
{
    return t->rows[table].count;
}

void atoll_tables_set(struct atoll_tables *t, enum atoll_table table, uint64_t index, const void *row)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    for (size_t c = 0; c < schema->column_count; c++) {
        size_t bytes = atoll_column_bytes(schema->columns[c].type);
        memcpy(t->rows[table].columns[c] + index * bytes, (const char *)row + schema->columns[c].offset,
               bytes);
    }
}

void atoll_tables_get(const struct atoll_tables *t, enum atoll_table table, uint64_t index, void *ret_row)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    memset(ret_row, 0, schema->row_bytes);
    for (size_t c = 0; c < schema->column_count; c++) {
        size_t bytes = atoll_column_bytes(schema->columns[c].type);
        memcpy((char *)ret_row + schema->columns[c].offset, t->rows[table].columns[c] + index * bytes, bytes);
    }
}

int atoll_tables_append(struct atoll_tables *t, enum atoll_table table, const void *row,
                        struct atoll_err *err)
{
    struct rows *rows = &t->rows[table];
    if (reserve_rows(t, table, rows->count + 1, err) != 0)
        return -1;
    atoll_tables_set(t, table, rows->count++, row);
    return 0;
}

const void *atoll_tables_column(const struct atoll_tables *t, enum atoll_table table, size_t column)
{
    return t->rows[table].columns[column];
}

const void *atoll_tables_column_named(const struct atoll_tables *t, enum atoll_table table, const char *name)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    for (size_t c = 0; c < schema->column_count; c++)
        if (!strcmp(schema->columns[c].name, name))
            return atoll_tables_column(t, table, c);
    return NULL;
}

int atoll_tables_is_known(const struct atoll_tables *t, enum atoll_table table, size_t column, uint64_t row)
{
    static const unsigned char zero[sizeof(struct atoll_id)];
    const struct atoll_column *c = &atoll_table_schema(table)->columns[column];
    size_t bytes = atoll_column_bytes(c->type);
    struct atoll_row_profile profile;
    if (c->known == ATOLL_KNOWN_ALWAYS)
        return 1;
    if (c->known == ATOLL_KNOWN_UNLESS_ZERO)
        return memcmp((const char *)atoll_tables_column(t, table, column) + row * bytes, zero, bytes) != 0;
    atoll_tables_get(t, ATOLL_TABLE_PROFILES, row, &profile);
    return c->known == ATOLL_KNOWN_OF_GPU ? profile.registers > 0
                                          : !profile.registers && profile.mix[ATOLL_MIX_OTHER] > 0;
}

int atoll_tables_extend(struct atoll_tables *t, enum atoll_table table, uint64_t count, void **ret_columns,
                        struct atoll_err *err)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    struct rows *rows = &t->rows[table];
    if (count > UINT32_MAX || reserve_rows(t, table, rows->count + count, err) != 0) {
        return count > UINT32_MAX
                   ? atoll_err_set(err, ATOLL_E_LIMIT, "table %s: more than 2^32 rows", schema->name)
                   : -1;
    }
    for (size_t c = 0; c < schema->column_count; c++) {
        ret_columns[c] = rows->columns[c]
                             ? rows->columns[c] + rows->count * atoll_column_bytes(schema->columns[c].type)
                             : NULL;
    }
    rows->count += count;
    return 0;
}

struct text_key {
    const struct texts *texts;
    struct atoll_id hash;
};

static int text_matches(const void *context, uint32_t row)
{
    const struct text_key *key = context;
    return atoll_id_equal(&key->texts->hash[row], &key->hash);
}

static int reserve_text(struct atoll_tables *t, size_t length, struct atoll_err *err)
{
    struct texts *x = &t->texts;
    if (x->count == TEXT_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than 2^32 texts");
    if (x->count == x->capacity) {
        uint64_t capacity = next_capacity(x->capacity, x->count + 1);
        if (grow_array(t, &x->offset, x->capacity, capacity, sizeof(*x->offset), err) != 0 ||
            grow_array(t, &x->length, x->capacity, capacity, sizeof(*x->length), err) != 0 ||
            grow_array(t, &x->hash, x->capacity, capacity, sizeof(*x->hash), err) != 0) {
            return -1;
        }
        x->capacity = capacity;
    }
    if (x->heap_capacity - x->heap_bytes <= length) {
        uint64_t capacity = next_capacity(x->heap_capacity, x->heap_bytes + length + 1);
        if (grow_array(t, &x->heap, x->heap_capacity, capacity, 1, err) != 0)
            return -1;
        x->heap_capacity = capacity;
    }
    return 0;
}

int atoll_tables_add_text(struct atoll_tables *t, const char *text, size_t length, uint32_t *ret_text,
                          struct atoll_err *err)
{
    struct texts *x = &t->texts;
    struct text_key key = {x, atoll_id_of(text, length)};
    uint32_t row = atoll_index_find(&x->index, atoll_id_u64(&key.hash), text_matches, &key);
    if (row != ATOLL_NONE) {
        *ret_text = row;
        return 0;
    }
    if (reserve_text(t, length, err) != 0 ||
        atoll_index_add(&x->index, atoll_id_u64(&key.hash), (uint32_t)x->count, err) != 0) {
        return -1;
    }
    if (length)
        memcpy(x->heap + x->heap_bytes, text, length);
    x->heap[x->heap_bytes + length] = '\0';
    x->offset[x->count] = x->heap_bytes;
    x->length[x->count] = length;
    x->hash[x->count] = key.hash;
    x->heap_bytes += length + 1;
    *ret_text = (uint32_t)x->count++;
    return 0;
}

uint64_t atoll_tables_text_count(const struct atoll_tables *t)
{
    return t->texts.count;
}

const char *atoll_tables_text(const struct atoll_tables *t, uint32_t text)
{
    return text < t->texts.count ? t->texts.heap + t->texts.offset[text] : "";
}

size_t atoll_tables_text_length(const struct atoll_tables *t, uint32_t text)
{
    return text < t->texts.count ? (size_t)t->texts.length[text] : 0;
}

void atoll_tables_texts(const struct atoll_tables *t, struct atoll_text_columns *ret)
{
    const struct texts *x = &t->texts;
    *ret = (struct atoll_text_columns){x->heap, x->heap_bytes, x->count, x->offset, x->length, x->hash};
}

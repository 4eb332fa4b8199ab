/* segment_write.c - tables to an HDF5 file: built in memory by HDF5's core driver and written by us, so that a full disk is an error
 * of our own write, and the library is never left with dirty pages it cannot flush. */
#include "archive-h5/hdf5/segment.h"

#include <errno.h>
#include <hdf5.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive-h5/hdf5/segment_library.h"
#include "base/file.h"
#include "base/frame.h"

#define CHUNK_BYTES     ((hsize_t)64 << 10)
#define CORE_GROW_BYTES ((size_t)1 << 20)
#define DEFLATE_LEVEL   1
#define CHUNK_TREE_RANK 8 /* nodes of half a KiB instead of 2: most columns of a segment are one chunk */

static int put_text_attribute(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    int failed = attribute < 0 || H5Awrite(attribute, type, text) < 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    return failed ? -1 : 0;
}

static int put_number_attribute(hid_t object, const char *name, uint32_t value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, H5T_STD_U32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    int failed = attribute < 0 || H5Awrite(attribute, H5T_NATIVE_UINT32, &value) < 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return failed ? -1 : 0;
}

/* Chunked, shuffled, deflated; without rows plain, because a chunk may not be larger than its dataset. */
static hid_t layout_of(int rank, const hsize_t *dims, size_t element_bytes)
{
    hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(layout, 0);
    if (dims[0] == 0)
        return layout;
    hsize_t chunk[2] = {CHUNK_BYTES / element_bytes / (rank == 2 ? dims[1] : 1), dims[1]};
    if (chunk[0] > dims[0])
        chunk[0] = dims[0];
    H5Pset_chunk(layout, rank, chunk);
    H5Pset_shuffle(layout);
    H5Pset_deflate(layout, DEFLATE_LEVEL);
    return layout;
}

/* The open dataset, or -1. */
static hid_t put_dataset(hid_t group, const char *name, enum atoll_column_type type, uint64_t count,
                         const void *cells)
{
    int rank = type == ATOLL_COLUMN_ID ? 2 : 1;
    hsize_t dims[2] = {count, ATOLL_ID_BYTES};
    size_t bytes = atoll_column_bytes(type);
    hid_t space = H5Screate_simple(rank, dims, NULL), layout = layout_of(rank, dims, rank == 2 ? 1 : bytes);
    hid_t set =
        H5Dcreate2(group, name, atoll_segment_file_type(type), space, H5P_DEFAULT, layout, H5P_DEFAULT);
    int failed =
        set < 0 ||
        (count && H5Dwrite(set, atoll_segment_file_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, cells) < 0) ||
        put_number_attribute(set, "crc32c", count ? atoll_crc32c(0, cells, (size_t)count * bytes) : 0) != 0;
    if (failed && set >= 0) {
        H5Dclose(set);
        set = -1;
    }
    H5Pclose(layout);
    H5Sclose(space);
    return set;
}

static int put_column(hid_t group, const struct atoll_column *column, uint64_t count, const void *cells)
{
    char values[1024] = ""; /* "0 correct, 1 bad_plan, ..." */
    size_t at = 0;
    for (unsigned v = 0; column->value_name && v < column->value_count && at < sizeof(values); v++) {
        int n =
            snprintf(values + at, sizeof(values) - at, "%s%u %s", v ? ", " : "", v, column->value_name(v));
        at += n > 0 ? (size_t)n : 0;
    }
    hid_t set = put_dataset(group, column->name, column->type, count, cells);
    if (set < 0)
        return -1;
    int failed = put_text_attribute(set, "description", column->description) != 0 ||
                 put_text_attribute(set, "type", atoll_column_type_name(column->type)) != 0 ||
                 (*column->unit && put_text_attribute(set, "unit", column->unit) != 0) ||
                 (column->value_name && put_text_attribute(set, "values", values) != 0);
    H5Dclose(set);
    return failed ? -1 : 0;
}

static int put_table(hid_t file, const struct atoll_tables *t, enum atoll_table table)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    hid_t group = H5Gcreate2(file, schema->name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int failed = group < 0 || put_text_attribute(group, "description", schema->description) != 0;
    for (size_t c = 0; !failed && c < schema->column_count; c++) {
        failed = put_column(group, &schema->columns[c], atoll_tables_count(t, table),
                            atoll_tables_column(t, table, c));
    }
    if (group >= 0)
        H5Gclose(group);
    return failed ? -1 : 0;
}

static int put_texts(hid_t file, const struct atoll_tables *t)
{
    struct atoll_text_columns x;
    atoll_tables_texts(t, &x);
    hid_t group = H5Gcreate2(file, "texts", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return -1;
    const struct {
        const char *name;
        enum atoll_column_type type;
        uint64_t count;
        const void *cells;
    } sets[] = {{"heap", ATOLL_COLUMN_U8, x.heap_bytes, x.heap},
                {"offset", ATOLL_COLUMN_U64, x.count, x.offset},
                {"length", ATOLL_COLUMN_U64, x.count, x.length},
                {"hash", ATOLL_COLUMN_ID, x.count, x.hash}};
    int failed =
        put_text_attribute(group, "description", "every text once: heap[offset : offset + length], UTF-8");
    for (size_t i = 0; !failed && i < sizeof(sets) / sizeof(*sets); i++) {
        hid_t set = put_dataset(group, sets[i].name, sets[i].type, sets[i].count, sets[i].cells);
        failed = set < 0;
        if (set >= 0)
            H5Dclose(set);
    }
    H5Gclose(group);
    return failed ? -1 : 0;
}

static int put_root(hid_t file, const struct atoll_tables *t, const char *made_of)
{
    struct atoll_row_campaign campaign;
    char hex[ATOLL_ID_HEX] = "";
    if (atoll_tables_count(t, ATOLL_TABLE_CAMPAIGN) == 1) {
        atoll_tables_get(t, ATOLL_TABLE_CAMPAIGN, 0, &campaign);
        atoll_id_hex(&campaign.id, hex);
        if (put_number_attribute(file, "engine_version", campaign.engine_version) != 0)
            return -1;
    }
    return put_number_attribute(file, "schema", ATOLL_ARCHIVE_SCHEMA) != 0 ||
                   put_text_attribute(file, "atoll_version", ATOLL_VERSION) != 0 ||
                   put_text_attribute(file, "campaign", hex) != 0 ||
                   (made_of && put_text_attribute(file, "made_of", made_of) != 0)
               ? -1
               : 0;
}

/* The whole file as bytes, owned. */
static void *build_image(const char *path, const struct atoll_tables *t, const char *made_of,
                         size_t *ret_length, struct atoll_err *err)
{
    void *image = NULL;
    ssize_t length = -1;
    atoll_segment_silence();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_istore_k(creation, CHUNK_TREE_RANK);
    H5Pset_fapl_core(access, CORE_GROW_BYTES, 0);
    hid_t file = H5Fcreate("atoll", H5F_ACC_TRUNC, creation, access);
    int failed = file < 0 || put_root(file, t, made_of) != 0 || put_texts(file, t) != 0;
    for (size_t i = 0; !failed && i < ATOLL_TABLE_COUNT; i++)
        failed = put_table(file, t, (enum atoll_table)i);
    if (!failed && H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0)
        length = H5Fget_file_image(file, NULL, 0);
    if (length > 0 && (image = malloc((size_t)length)) &&
        H5Fget_file_image(file, image, (size_t)length) != length) {
        free(image);
        image = NULL;
    }
    if (!image)
        atoll_segment_library_failed(ATOLL_E_MEMORY, path, "cannot build the archive file", err);
    else
        *ret_length = (size_t)length;
    if (file >= 0)
        H5Fclose(file);
    H5Pclose(creation);
    H5Pclose(access);
    return image;
}

static int same_table(const struct atoll_tables *a, const struct atoll_tables *b, enum atoll_table table)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    uint64_t count = atoll_tables_count(a, table);
    if (count != atoll_tables_count(b, table))
        return 0;
    for (size_t c = 0; count && c < schema->column_count; c++) {
        if (memcmp(atoll_tables_column(a, table, c), atoll_tables_column(b, table, c),
                   (size_t)count * atoll_column_bytes(schema->columns[c].type)) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Reads the file back and compares every cell and text. */
static int verify(const char *path, const struct atoll_tables *t, struct atoll_err *err)
{
    struct atoll_text_columns x, y;
    struct atoll_tables *again = atoll_segment_read(path, err);
    if (!again)
        return atoll_err_add(err, "while reading back what was just written");
    atoll_tables_texts(t, &x);
    atoll_tables_texts(again, &y);
    int same = x.count == y.count && x.heap_bytes == y.heap_bytes &&
               memcmp(x.heap, y.heap, (size_t)x.heap_bytes) == 0;
    for (size_t i = 0; same && i < ATOLL_TABLE_COUNT; i++)
        same = same_table(t, again, (enum atoll_table)i);
    atoll_tables_destroy(again);
    return same ? 0
                : atoll_err_set(err, ATOLL_E_CORRUPT, "%s: what was read back differs from what was written",
                                path);
}

/* The bytes, which are known to be an archive, once more in a file of their own. */
static int verify_copy(const char *path, const void *image, size_t length, struct atoll_err *err)
{
    size_t read_bytes;
    char *again = atoll_file_read(path, length, &read_bytes, err);
    if (!again)
        return atoll_err_add(err, "while reading back what was just written");
    int is_same = read_bytes == length && memcmp(again, image, length) == 0;
    free(again);
    return is_same ? 0
                   : atoll_err_set(err, ATOLL_E_CORRUPT,
                                   "%s: what was read back differs from what was written", path);
}

/* tables: NULL when a file of the same bytes was compared with them. */
static int put_image(const char *path, const void *image, size_t length, const struct atoll_tables *tables,
                     const struct atoll_file_ops *ops, struct atoll_err *err)
{
    char temporary[PATH_MAX];
    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", path);
    if (atoll_file_write(ops, temporary, image, length, err) != 0)
        return -1;
    if ((tables ? verify(temporary, tables, err) : verify_copy(temporary, image, length, err)) != 0) {
        ops->unlink(ops->context, temporary);
        return -1;
    }
    return atoll_file_put_in_place(ops, temporary, path, err) != 0 ? -1
                                                                   : atoll_file_sync_parent(ops, path, err);
}

int atoll_segment_write_twice(const char *path, const char *copy, const struct atoll_tables *tables,
                              const char *made_of, const struct atoll_file_ops *ops, struct atoll_err *err)
{
    size_t length;
    if (!ops)
        ops = atoll_file_ops_real();
    void *image = build_image(path, tables, made_of, &length, err);
    if (!image)
        return -1;
    int failed = put_image(path, image, length, tables, ops, err) != 0 ||
                 (copy && put_image(copy, image, length, NULL, ops, err) != 0);
    free(image);
    return failed ? -1 : 0;
}

int atoll_segment_write(const char *path, const struct atoll_tables *tables, const char *made_of,
                        const struct atoll_file_ops *ops, struct atoll_err *err)
{
    return atoll_segment_write_twice(path, NULL, tables, made_of, ops, err);
}

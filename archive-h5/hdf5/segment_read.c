/* segment_read.c - reads a file that may come from anywhere: only hard links, plain storage, the two filters
 * every HDF5 has, exact types, equal lengths, texts with their hashes.  Memory is bounded by the file's size
 * (deflate gives at most 1032:1). */
#include "archive-h5/hdf5/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive-h5/hdf5/h5.h"
#include "archive-h5/table/project.h"
#include "base/frame.h"

#define DEFLATE_RATIO    1100u
#define BASE_LIMIT_BYTES ((size_t)64 << 20)

struct input {
    const char *path;
    hid_t file;
    uint32_t schema;
    size_t limit_bytes;
    struct atoll_tables *tables;
    struct atoll_err *err;
};

static int damaged(struct input *in, const char *table, const char *column, const char *what)
{
    H5Eclear2(H5E_DEFAULT);
    return atoll_err_set(in->err, ATOLL_E_CORRUPT,
                         "%s: /%s%s%s %s; the file is damaged or not an archive of Atoll", in->path, table,
                         column ? "/" : "", column ? column : "", what);
}

static int is_hard_link(hid_t at, const char *name)
{
    H5L_info_t info;
    return H5Lexists(at, name, H5P_DEFAULT) > 0 && H5Lget_info(at, name, &info, H5P_DEFAULT) >= 0 &&
           info.type == H5L_TYPE_HARD;
}

static hid_t open_group(hid_t at, const char *name)
{
    H5O_info_t info;
    if (!is_hard_link(at, name) || H5Oget_info_by_name(at, name, &info, H5P_DEFAULT) < 0 ||
        info.type != H5O_TYPE_GROUP)
        return -1;
    return H5Gopen2(at, name, H5P_DEFAULT);
}

static hid_t open_dataset(hid_t at, const char *name)
{
    H5O_info_t info;
    if (!is_hard_link(at, name) || H5Oget_info_by_name(at, name, &info, H5P_DEFAULT) < 0 ||
        info.type != H5O_TYPE_DATASET)
        return -1;
    return H5Dopen2(at, name, H5P_DEFAULT);
}

/* No external files, no virtual datasets, no filters that would load a plugin. */
static int is_plain_storage(hid_t set)
{
    hid_t layout = H5Dget_create_plist(set);
    H5D_layout_t kind = H5Pget_layout(layout);
    int plain = (kind == H5D_CONTIGUOUS || kind == H5D_CHUNKED || kind == H5D_COMPACT) &&
                H5Pget_external_count(layout) == 0;
    int filters = kind == H5D_CHUNKED ? H5Pget_nfilters(layout) : 0;
    for (int i = 0; plain && i < filters; i++) {
        unsigned flags;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(layout, (unsigned)i, &flags, &values, NULL, 0, NULL, NULL);
        plain = filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE;
    }
    H5Pclose(layout);
    return plain;
}

static int has_type(hid_t set, enum atoll_column_type type)
{
    hid_t have = H5Dget_type(set);
    int same = H5Tequal(have, atoll_h5_type(type)) > 0;
    H5Tclose(have);
    return same;
}

static int count_of(hid_t set, enum atoll_column_type type, uint64_t *ret_count)
{
    hsize_t dims[2] = {0, 0};
    hid_t space = H5Dget_space(set);
    int rank = H5Sget_simple_extent_ndims(space), want = type == ATOLL_COLUMN_ID ? 2 : 1;
    int fits = rank == want && H5Sget_simple_extent_dims(space, dims, NULL) == want &&
               (want == 1 || dims[1] == ATOLL_ID_BYTES) && dims[0] <= UINT32_MAX * 64ull;
    H5Sclose(space);
    *ret_count = dims[0];
    return fits ? 0 : -1;
}

static int number_attribute(hid_t object, const char *name, uint32_t *ret_value)
{
    if (H5Aexists(object, name) <= 0)
        return -1;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute),
          space = H5Aget_space(attribute);
    int failed = H5Tequal(type, H5T_STD_U32LE) <= 0 || H5Sget_simple_extent_npoints(space) != 1 ||
                 H5Aread(attribute, H5T_NATIVE_UINT32, ret_value) < 0;
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return failed ? -1 : 0;
}

/* Opens, checks and measures one dataset; the caller closes it. */
static hid_t admit(struct input *in, hid_t group, const char *table, const char *name,
                   enum atoll_column_type type, uint64_t *ret_count)
{
    hid_t set = open_dataset(group, name);
    if (set < 0) {
        damaged(in, table, name, "is missing");
        return -1;
    }
    const char *what = !has_type(set, type)                  ? "has the wrong type"
                       : count_of(set, type, ret_count) != 0 ? "has the wrong shape"
                       : !is_plain_storage(set)              ? "is stored in a way that is not allowed"
                       : *ret_count * atoll_column_bytes(type) > in->limit_bytes
                           ? "claims more data than the file can hold"
                           : NULL;
    if (what) {
        damaged(in, table, name, what);
        H5Dclose(set);
        return -1;
    }
    return set;
}

static int read_cells(struct input *in, hid_t set, const char *table, const char *name,
                      enum atoll_column_type type, uint64_t count, void *ret_cells)
{
    uint32_t checksum;
    if (count && H5Dread(set, atoll_h5_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, ret_cells) < 0)
        return damaged(in, table, name, "cannot be read");
    if (number_attribute(set, "crc32c", &checksum) != 0 ||
        checksum != (count ? atoll_crc32c(0, ret_cells, (size_t)count * atoll_column_bytes(type)) : 0))
        return damaged(in, table, name, "does not match its checksum");
    return 0;
}

/* One dataset of texts, into owned memory. */
static void *read_text_set(struct input *in, hid_t group, const char *name, enum atoll_column_type type,
                           uint64_t *ret_count)
{
    hid_t set = admit(in, group, "texts", name, type, ret_count);
    if (set < 0)
        return NULL;
    void *cells = malloc((size_t)*ret_count * atoll_column_bytes(type) + 1);
    if (!cells)
        atoll_err_set(in->err, ATOLL_E_MEMORY, "%s: no memory for its texts", in->path);
    else if (read_cells(in, set, "texts", name, type, *ret_count, cells) != 0) {
        free(cells);
        cells = NULL;
    }
    H5Dclose(set);
    return cells;
}

static int add_texts(struct input *in, const char *heap, uint64_t heap_bytes, const uint64_t *offset,
                     const uint64_t *length, const struct atoll_id *hash, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint32_t text;
        if (offset[i] >= heap_bytes || length[i] >= heap_bytes - offset[i] ||
            heap[offset[i] + length[i]] != '\0' || memchr(heap + offset[i], 0, (size_t)length[i]))
            return damaged(in, "texts", NULL, "has a text outside its heap");
        if (atoll_tables_add_text(in->tables, heap + offset[i], (size_t)length[i], &text, in->err) != 0)
            return -1;
        struct atoll_id want = atoll_id_of(heap + offset[i], (size_t)length[i]);
        if (text != i || !atoll_id_equal(&hash[i], &want))
            return damaged(in, "texts", NULL, "has a text that is not what its hash says, or is there twice");
    }
    return 0;
}

static int read_texts(struct input *in)
{
    uint64_t heap_bytes, offsets, lengths, hashes;
    hid_t group = open_group(in->file, "texts");
    if (group < 0)
        return damaged(in, "texts", NULL, "is missing");
    char *heap = read_text_set(in, group, "heap", ATOLL_COLUMN_U8, &heap_bytes);
    uint64_t *offset = heap ? read_text_set(in, group, "offset", ATOLL_COLUMN_U64, &offsets) : NULL;
    uint64_t *length = offset ? read_text_set(in, group, "length", ATOLL_COLUMN_U64, &lengths) : NULL;
    struct atoll_id *hash = length ? read_text_set(in, group, "hash", ATOLL_COLUMN_ID, &hashes) : NULL;
    int failed = !hash ? -1
                 : offsets != lengths || offsets != hashes
                     ? damaged(in, "texts", NULL, "has columns of different lengths")
                     : add_texts(in, heap, heap_bytes, offset, length, hash, offsets);
    free(heap);
    free(offset);
    free(length);
    free(hash);
    H5Gclose(group);
    return failed;
}

/* Numbers that count rows of another table must be below its count. */
static int check_references(struct input *in, const char *table, const struct atoll_column *column,
                            const uint32_t *cells, uint64_t count)
{
    uint64_t limit = column->type == ATOLL_COLUMN_TEXT ? atoll_tables_text_count(in->tables)
                     : column->type == ATOLL_COLUMN_CAMPAIGN
                         ? atoll_tables_count(in->tables, ATOLL_TABLE_CAMPAIGN)
                         : UINT64_MAX;
    for (uint64_t i = 0; limit != UINT64_MAX && i < count; i++)
        if (cells[i] >= limit)
            return damaged(in, table, column->name, "refers to a row that is not there");
    return 0;
}

static int read_columns(struct input *in, hid_t group, enum atoll_table table)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    void *cells[ATOLL_COLUMN_LIMIT] = {NULL};
    uint64_t count = 0, have;
    for (size_t c = 0; c < schema->column_count; c++) {
        const struct atoll_column *column = &schema->columns[c];
        if (column->since > in->schema) { /* never the first column */
            if (count)
                memset(cells[c], 0, (size_t)count * atoll_column_bytes(column->type));
            continue;
        }
        hid_t set = admit(in, group, schema->name, column->name, column->type, &have);
        if (set < 0)
            return -1;
        int failed = c > 0 && have != count
                         ? damaged(in, schema->name, column->name, "has not as many rows as the others")
                         : 0;
        if (!failed && c == 0)
            failed = atoll_tables_extend(in->tables, table, count = have, cells, in->err);
        if (!failed)
            failed = read_cells(in, set, schema->name, column->name, column->type, count, cells[c]);
        if (!failed)
            failed = check_references(in, schema->name, column, cells[c], count);
        H5Dclose(set);
        if (failed)
            return -1;
    }
    return 0;
}

static int read_table(struct input *in, enum atoll_table table)
{
    if (atoll_table_schema(table)->since > in->schema)
        return 0;
    hid_t group = open_group(in->file, atoll_table_schema(table)->name);
    if (group < 0)
        return damaged(in, atoll_table_schema(table)->name, NULL, "is missing");
    int failed = read_columns(in, group, table);
    H5Gclose(group);
    return failed;
}

static int read_file(struct input *in)
{
    if (number_attribute(in->file, "schema", &in->schema) != 0 || in->schema == 0)
        return damaged(in, "", NULL, "has no schema version");
    if (in->schema > ATOLL_ARCHIVE_SCHEMA)
        return atoll_err_set(in->err, ATOLL_E_SCHEMA,
                             "%s: archive schema %u, this Atoll (" ATOLL_VERSION
                             ") knows up to %u; use the newer Atoll that wrote it",
                             in->path, in->schema, ATOLL_ARCHIVE_SCHEMA);
    if (read_texts(in) != 0)
        return -1;
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++)
        if (read_table(in, (enum atoll_table)i) != 0)
            return -1;
    return 0;
}

static size_t limit_for(uint64_t file_bytes)
{
    uint64_t most = ATOLL_TABLES_LIMIT_BYTES;
    return file_bytes < most / DEFLATE_RATIO ? BASE_LIMIT_BYTES + (size_t)file_bytes * DEFLATE_RATIO
                                             : (size_t)most;
}

static hid_t open_file(const char *path)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(access, 0, 1); /* the file never changes; some file systems have no locks */
#endif
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

struct atoll_tables *atoll_segment_read(const char *path, struct atoll_err *err)
{
    struct input in = {.path = path, .err = err};
    struct stat st;
    if (stat(path, &st) != 0) {
        atoll_err_errno(err, errno, "%s: cannot open the archive", path);
        return NULL;
    }
    atoll_h5_silence();
    if ((in.file = open_file(path)) < 0) {
        atoll_h5_failed(ATOLL_E_CORRUPT, path, "is not an HDF5 file or is damaged", err);
        return NULL;
    }
    in.limit_bytes = limit_for((uint64_t)st.st_size);
    in.tables = atoll_tables_create(in.limit_bytes, err);
    if (in.tables && read_file(&in) != 0) {
        atoll_tables_destroy(in.tables);
        in.tables = NULL;
    }
    H5Fclose(in.file);
    return in.tables;
}

/* A text attribute of at most bytes - 1 bytes. */
static int text_attribute(hid_t object, const char *name, char *ret_text, size_t bytes)
{
    if (H5Aexists(object, name) <= 0)
        return -1;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = H5Aget_type(attribute),
          space = H5Aget_space(attribute);
    int failed = H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
                 H5Tget_size(type) >= bytes || H5Sget_simple_extent_npoints(space) != 1;
    if (!failed) {
        memset(ret_text, 0, bytes);
        failed = H5Aread(attribute, type, ret_text) < 0;
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return failed ? -1 : 0;
}

int atoll_segment_made_of(const char *path, const struct atoll_id *campaign, char *ret_text)
{
    char want[ATOLL_ID_HEX], have[ATOLL_MADE_OF_BYTES], origin[ATOLL_MADE_OF_BYTES];
    uint32_t schema;
    atoll_h5_silence();
    hid_t file = open_file(path);
    if (file < 0)
        return -1;
    atoll_id_hex(campaign, want);
    int failed = number_attribute(file, "schema", &schema) != 0 || schema != ATOLL_ARCHIVE_SCHEMA ||
                 text_attribute(file, "campaign", have, sizeof have) != 0 || strcmp(want, have) != 0 ||
                 text_attribute(file, "made_of", origin, sizeof origin) != 0;
    H5Fclose(file);
    H5Eclear2(H5E_DEFAULT);
    if (!failed)
        memcpy(ret_text, origin, sizeof origin);
    return failed ? -1 : 0;
}

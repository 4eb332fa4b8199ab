/* segment.c - tables of an HDF5 file.
 *
 * A file that is read may come from anywhere: only hard links, plain storage, the two filters every HDF5 has, exact types, equal
 * lengths, texts with their hashes.  Memory is bounded by the file's size (deflate gives at most 1032:1). */
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
#include "archive-h5/table/project.h"
#include "base/confine.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/process.h"

#define DEFLATE_RATIO      1100u
#define BASE_LIMIT_BYTES   ((size_t)64 << 20)
#define CHILD_CPU_SECONDS  600u
#define CHILD_MEMORY_BYTES ((uint64_t)1 << 30)
#define CHILD_NOT_CONFINED 99

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

/* A group or dataset behind a hard link, -1. */
static hid_t open_object(hid_t at, const char *name, H5O_type_t type)
{
    H5O_info_t info;
    if (!is_hard_link(at, name) || H5Oget_info_by_name(at, name, &info, H5P_DEFAULT) < 0 || info.type != type)
        return -1;
    return H5Oopen(at, name, H5P_DEFAULT);
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
    hid_t set = open_object(group, name, H5O_TYPE_DATASET);
    if (set < 0) {
        damaged(in, table, name, "is missing");
        return -1;
    }
    hid_t have = H5Dget_type(set);
    int is_same_type = H5Tequal(have, atoll_segment_file_type(type)) > 0;
    H5Tclose(have);
    const char *what = !is_same_type                         ? "has the wrong type"
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
    if (count && H5Dread(set, atoll_segment_file_type(type), H5S_ALL, H5S_ALL, H5P_DEFAULT, ret_cells) < 0)
        return damaged(in, table, name, "cannot be read");
    if (number_attribute(set, "crc32c", &checksum) != 0 ||
        checksum != (count ? atoll_crc32c(0, ret_cells, (size_t)count * atoll_column_bytes(type)) : 0)) {
        return damaged(in, table, name, "does not match its checksum");
    }
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
    if (!cells) {
        atoll_err_set(in->err, ATOLL_E_MEMORY, "%s: no memory for its texts", in->path);
    } else if (read_cells(in, set, "texts", name, type, *ret_count, cells) != 0) {
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
            heap[offset[i] + length[i]] != '\0' || memchr(heap + offset[i], 0, (size_t)length[i])) {
            return damaged(in, "texts", NULL, "has a text outside its heap");
        }
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
    hid_t group = open_object(in->file, "texts", H5O_TYPE_GROUP);
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

static int read_file(struct input *in)
{
    if (number_attribute(in->file, "schema", &in->schema) != 0 || in->schema == 0)
        return damaged(in, "", NULL, "has no schema version");
    if (in->schema > ATOLL_ARCHIVE_SCHEMA) {
        return atoll_err_set(in->err, ATOLL_E_SCHEMA,
                             "%s: archive schema %u, this Atoll (" ATOLL_VERSION
                             ") knows up to %u; use the newer Atoll that wrote it",
                             in->path, in->schema, ATOLL_ARCHIVE_SCHEMA);
    }
    if (read_texts(in) != 0)
        return -1;
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++) {
        const struct atoll_table_schema *schema = atoll_table_schema((enum atoll_table)i);
        if (schema->since > in->schema)
            continue;
        hid_t group = open_object(in->file, schema->name, H5O_TYPE_GROUP);
        if (group < 0)
            return damaged(in, schema->name, NULL, "is missing");
        int failed = read_columns(in, group, (enum atoll_table)i);
        H5Gclose(group);
        if (failed)
            return -1;
    }
    return 0;
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

/* The most that tables and texts of a file of so many bytes may take. */
static size_t limit_of(uint64_t bytes)
{
    uint64_t most = ATOLL_TABLES_LIMIT_BYTES;
    return bytes < most / DEFLATE_RATIO ? BASE_LIMIT_BYTES + (size_t)bytes * DEFLATE_RATIO : (size_t)most;
}

struct atoll_tables *atoll_segment_read(const char *path, struct atoll_err *err)
{
    struct input in = {.path = path, .err = err};
    uint64_t bytes;
    int fd = atoll_file_open(path, &bytes, err);
    if (fd < 0)
        return NULL;
    close(fd);
    atoll_segment_silence();
    if ((in.file = open_file(path)) < 0) {
        atoll_segment_library_failed(ATOLL_E_CORRUPT, path, "is not an HDF5 file or is damaged", err);
        return NULL;
    }
    in.limit_bytes = limit_of(bytes);
    in.tables = atoll_tables_create(in.limit_bytes, err);
    if (in.tables && read_file(&in) != 0) {
        atoll_tables_destroy(in.tables);
        in.tables = NULL;
    }
    H5Fclose(in.file);
    return in.tables;
}

/* ---- files of others, read by a child ---- */

struct errand {
    const char *path;
    uint64_t memory_bytes;
};

static int answer_tables(int fd, const struct atoll_tables *t)
{
    struct atoll_text_columns x;
    atoll_tables_texts(t, &x);
    const struct {
        const void *bytes;
        size_t length;
    } parts[] = {{&x.count, sizeof(x.count)},
                 {&x.heap_bytes, sizeof(x.heap_bytes)},
                 {x.heap, (size_t)x.heap_bytes},
                 {x.offset, (size_t)x.count * sizeof(*x.offset)},
                 {x.length, (size_t)x.count * sizeof(*x.length)},
                 {x.hash, (size_t)x.count * sizeof(*x.hash)}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (atoll_write_all(fd, parts[i].bytes, parts[i].length) != 0)
            return -1;
    for (size_t i = 0; i < ATOLL_TABLE_COUNT; i++) {
        const struct atoll_table_schema *schema = atoll_table_schema((enum atoll_table)i);
        uint64_t count = atoll_tables_count(t, (enum atoll_table)i);
        if (atoll_write_all(fd, &count, sizeof(count)) != 0)
            return -1;
        for (size_t c = 0; c < schema->column_count; c++)
            if (atoll_write_all(fd, atoll_tables_column(t, (enum atoll_table)i, c),
                                (size_t)count * atoll_column_bytes(schema->columns[c].type)) != 0)
                return -1;
    }
    return 0;
}

/* In the child: a u32 with the code of the error and its text, or 0 and the tables. */
static int read_and_answer(void *context, int fd)
{
    const struct errand *errand = context;
    struct atoll_err err = ATOLL_ERR_INIT;
    if (H5open() < 0 || atoll_confine_reader(errand->memory_bytes, CHILD_CPU_SECONDS) != 0)
        return CHILD_NOT_CONFINED;
    struct atoll_tables *t = atoll_segment_read(errand->path, &err);
    uint32_t code = t ? ATOLL_OK : err.code;
    int failed = atoll_write_all(fd, &code, sizeof(code)) != 0 ||
                 (t ? answer_tables(fd, t) : atoll_write_all(fd, err.text, strlen(err.text))) != 0;
    return failed;
}

struct answer {
    const unsigned char *bytes;
    size_t left;
};

/* count things of so many bytes; NULL when the answer ends before. */
static const void *take(struct answer *a, uint64_t count, size_t bytes)
{
    if (count > a->left / bytes)
        return NULL;
    const unsigned char *at = a->bytes;
    a->bytes += (size_t)count * bytes;
    a->left -= (size_t)count * bytes;
    return at;
}

/* An owned copy, aligned. */
static void *take_copy(struct answer *a, uint64_t count, size_t bytes)
{
    const void *at = take(a, count, bytes);
    void *copy = at ? malloc((size_t)count * bytes + 1) : NULL;
    if (copy)
        memcpy(copy, at, (size_t)count * bytes);
    return copy;
}

static int take_texts(struct input *in, struct answer *a)
{
    uint64_t count = 0, heap_bytes = 0;
    const void *counts[] = {take(a, 1, sizeof(count)), take(a, 1, sizeof(heap_bytes))};
    if (!counts[0] || !counts[1])
        return damaged(in, "texts", NULL, "was not told whole");
    memcpy(&count, counts[0], sizeof(count));
    memcpy(&heap_bytes, counts[1], sizeof(heap_bytes));
    const char *heap = take(a, heap_bytes, 1);
    uint64_t *offset = heap ? take_copy(a, count, sizeof(*offset)) : NULL,
             *length = offset ? take_copy(a, count, sizeof(*length)) : NULL;
    struct atoll_id *hash = length ? take_copy(a, count, sizeof(*hash)) : NULL;
    int failed = hash ? add_texts(in, heap, heap_bytes, offset, length, hash, count)
                      : damaged(in, "texts", NULL, "was not told whole");
    free(offset);
    free(length);
    free(hash);
    return failed;
}

static int take_table(struct input *in, struct answer *a, enum atoll_table table)
{
    const struct atoll_table_schema *schema = atoll_table_schema(table);
    void *cells[ATOLL_COLUMN_LIMIT] = {NULL};
    uint64_t count = 0;
    const void *told = take(a, 1, sizeof(count));
    if (told)
        memcpy(&count, told, sizeof(count));
    if (!told || count > a->left)
        return damaged(in, schema->name, NULL, "was not told whole");
    if (count && atoll_tables_extend(in->tables, table, count, cells, in->err) != 0)
        return -1;
    for (size_t c = 0; count && c < schema->column_count; c++) {
        const struct atoll_column *column = &schema->columns[c];
        const void *from = take(a, count, atoll_column_bytes(column->type));
        if (!from)
            return damaged(in, schema->name, column->name, "was not told whole");
        memcpy(cells[c], from, (size_t)count * atoll_column_bytes(column->type));
        if (check_references(in, schema->name, column, cells[c], count) != 0)
            return -1;
    }
    return 0;
}

static int take_answer(struct input *in, struct answer a)
{
    uint32_t code;
    const void *told = take(&a, 1, sizeof(code));
    if (!told)
        return damaged(in, "", NULL, "was not read to its end");
    memcpy(&code, told, sizeof(code));
    if (code != ATOLL_OK) {
        return atoll_err_set(in->err, code < ATOLL_CODE_COUNT ? (enum atoll_code)code : ATOLL_E_CORRUPT,
                             "%.*s", (int)(a.left < 480 ? a.left : 480), (const char *)a.bytes);
    }
    int failed = take_texts(in, &a);
    for (size_t i = 0; !failed && i < ATOLL_TABLE_COUNT; i++)
        failed = take_table(in, &a, (enum atoll_table)i);
    return failed;
}

struct atoll_tables *atoll_segment_read_foreign(const char *path, struct atoll_err *err)
{
    struct input in = {.path = path, .err = err};
    struct atoll_process_result result;
    uint64_t bytes;
    int fd = atoll_file_open(path, &bytes, err);
    if (fd < 0)
        return NULL;
    close(fd);
    in.limit_bytes = limit_of(bytes);
    struct errand errand = {path, 3 * (uint64_t)in.limit_bytes + CHILD_MEMORY_BYTES};
    struct atoll_process child = {.what = "reading an archive",
                                  .function = read_and_answer,
                                  .context = &errand,
                                  .deadline_s = CHILD_CPU_SECONDS};
    if (atoll_process_run(&child, in.limit_bytes + BASE_LIMIT_BYTES, &result, err) != 0)
        return NULL;
    if (result.status == CHILD_NOT_CONFINED) {
        atoll_err_set(err, ATOLL_E_DENIED,
                      "%s: this kernel does not confine the process that reads a file of others (seccomp)",
                      path);
    } else if (result.status != 0) {
        atoll_err_set(
            err, ATOLL_E_CORRUPT,
            "%s: the process that read it ended with status %d; the file is damaged, or made to do harm",
            path, result.status);
    } else if ((in.tables = atoll_tables_create(in.limit_bytes, err)) != NULL &&
               take_answer(&in, (struct answer){result.out.data, result.out.length}) != 0) {
        atoll_tables_destroy(in.tables);
        in.tables = NULL;
    }
    atoll_process_result_fini(&result);
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
    atoll_segment_silence();
    hid_t file = open_file(path);
    if (file < 0)
        return -1;
    atoll_id_hex(campaign, want);
    int failed = number_attribute(file, "schema", &schema) != 0 || schema != ATOLL_ARCHIVE_SCHEMA ||
                 text_attribute(file, "campaign", have, sizeof(have)) != 0 || strcmp(want, have) != 0 ||
                 text_attribute(file, "made_of", origin, sizeof(origin)) != 0;
    H5Fclose(file);
    H5Eclear2(H5E_DEFAULT);
    if (!failed)
        memcpy(ret_text, origin, sizeof(origin));
    return failed ? -1 : 0;
}

int atoll_segment_name(const char *dir, char *ret_path, size_t bytes, struct atoll_err *err)
{
    for (unsigned n = 0; n < 10000; n++) {
        if ((size_t)snprintf(ret_path, bytes, "%s/segment-%04u.h5", dir, n) >= bytes)
            return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", dir);
        if (access(ret_path, F_OK) != 0)
            return 0;
    }
    return atoll_err_set(err, ATOLL_E_LIMIT, "%s: more than 10,000 segments", dir);
}

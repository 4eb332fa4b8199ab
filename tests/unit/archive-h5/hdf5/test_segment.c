/* HDF5 files: round trip, protocol, hostile and newer files, the golden files, merge, the
 * documented example. */
#include "tests/support/expect.h"

#include <sys/stat.h>

#include "archive-h5/hdf5/archive.h"
#include "archive-h5/hdf5/merge.h"
#include "archive-h5/table/project.h"
#include "archive-h5/hdf5/segment.h"
#include "archive-h5/hdf5/verify_file.h"
#include "tests/unit/archive-h5/faulty_ops.h"
#include "tests/unit/archive-h5/sample_campaign.h"
#include "tests/unit/archive-h5/volatile_disk.h"

#ifdef ATOLL_SANITIZED
/* A damaged file makes the HDF5 library ask for absurd amounts; it copes with NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* It reads a few bytes beside a header of a damaged object, without harm to what it then says. */
const char *__asan_default_suppressions(void);
const char *__asan_default_suppressions(void)
{
    return "interceptor_via_lib:libhdf5_serial";
}

/* The library leaks a little when it refuses a damaged file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5_serial";
}
#endif

static char dir[PATH_MAX], path[PATH_MAX];
static struct atoll_campaign *campaign;
static struct atoll_projection *projection;
static const struct atoll_tables *tables;

static int set_up(void **state)
{
    (void)state;
    scratch_make(dir);
    campaign = sample_campaign_create(dir);
    projection = atoll_projection_of_campaign(campaign, NULL, NULL);
    assert_non_null(projection);
    tables = atoll_projection_tables(projection);
    scratch_join(path, dir, "a.h5");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    atoll_projection_destroy(projection);
    atoll_campaign_close(campaign);
    scratch_remove(dir);
    return 0;
}

static int has_h5py(void)
{
    static int known = -1;
    if (known < 0)
        known = system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") == 0;
    if (!known)
        print_message("skipped: /usr/bin/python3 has no h5py\n");
    return known;
}

static int same_tables(const struct atoll_tables *a, const struct atoll_tables *b)
{
    struct atoll_text_columns x, y;
    atoll_tables_texts(a, &x);
    atoll_tables_texts(b, &y);
    if (x.count != y.count || x.heap_bytes != y.heap_bytes ||
        memcmp(x.heap, y.heap, (size_t)x.heap_bytes) != 0) {
        return 0;
    }
    for (size_t t = 0; t < ATOLL_TABLE_COUNT; t++) {
        const struct atoll_table_schema *s = atoll_table_schema((enum atoll_table)t);
        uint64_t count = atoll_tables_count(a, (enum atoll_table)t);
        if (count != atoll_tables_count(b, (enum atoll_table)t))
            return 0;
        for (size_t c = 0; count && c < s->column_count; c++) {
            if (memcmp(atoll_tables_column(a, (enum atoll_table)t, c),
                       atoll_tables_column(b, (enum atoll_table)t, c),
                       (size_t)count * atoll_column_bytes(s->columns[c].type)) != 0) {
                return 0;
            }
        }
    }
    return 1;
}

static void test_round_trip(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    size_t first, second;
    if (atoll_segment_write(path, tables, NULL, NULL, &err) != 0)
        fail_msg("%s", err.text);
    struct atoll_tables *again = atoll_segment_read(path, &err);
    if (!again)
        fail_msg("%s", err.text);
    assert_true(same_tables(tables, again));
    char *a = scratch_read(path, &first);
    assert_int_equal(atoll_segment_write(path, again, NULL, NULL, &err), 0);
    char *b = scratch_read(path, &second);
    assert_int_equal(first, second);
    assert_memory_equal(a, b, first); /* the same tables give the same bytes */
    free(a);
    free(b);
    atoll_tables_destroy(again);
}

static void test_empty(void **state)
{
    (void)state;
    struct atoll_tables *empty = atoll_tables_create(1 << 20, NULL);
    assert_int_equal(atoll_segment_write(path, empty, NULL, NULL, NULL), 0);
    struct atoll_tables *again = atoll_segment_read(path, NULL);
    assert_non_null(again);
    assert_true(same_tables(empty, again));
    atoll_tables_destroy(empty);
    atoll_tables_destroy(again);
}

static void test_names(void **state)
{
    (void)state;
    char name[PATH_MAX];
    assert_int_equal(atoll_segment_name(dir, name, sizeof(name), NULL), 0);
    assert_non_null(strstr(name, "/segment-0000.h5"));
    scratch_write(name, "", 0);
    assert_int_equal(atoll_segment_name(dir, name, sizeof(name), NULL), 0);
    assert_non_null(strstr(name, "/segment-0001.h5"));
}

/* Bytes flipped one at a time: an error or the same content, never a crash, never other content. */
static void test_damaged(void **state)
{
    (void)state;
    size_t length;
    assert_int_equal(atoll_segment_write(path, tables, NULL, NULL, NULL), 0);
    char *bytes = scratch_read(path, &length);
    unsigned refused = 0;
    for (size_t at = 0; at < length; at += length / RANDOM_CASES(90) + 1) {
        struct atoll_err err = ATOLL_ERR_INIT;
        bytes[at] = (char)(bytes[at] ^ 0x55);
        scratch_write(path, bytes, length);
        struct atoll_tables *got = atoll_segment_read(path, &err);
        refused += !got;
        if (got && !same_tables(got, tables))
            fail_msg("byte %zu changed the content unnoticed", at);
        if (!got && !strstr(err.text, "a.h5"))
            fail_msg("byte %zu: %s", at, err.text);
        atoll_tables_destroy(got);
        bytes[at] = (char)(bytes[at] ^ 0x55);
    }
    assert_true(refused > RANDOM_CASES(10));
    for (size_t cut = 0; cut < length; cut += length / RANDOM_CASES(24) + 1) {
        scratch_write(path, bytes, cut);
        assert_null(atoll_segment_read(path, NULL));
    }
    free(bytes);
}

static void test_missing_and_newer(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char command[3 * PATH_MAX];
    assert_null(atoll_segment_read(path, &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    scratch_write(path, "not HDF5 at all", 15);
    assert_null(atoll_segment_read(path, &err));
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    if (!has_h5py())
        return;
    assert_int_equal(atoll_segment_write(path, tables, NULL, NULL, NULL), 0);
    snprintf(command, sizeof(command),
             "/usr/bin/python3 -c 'import h5py,numpy; f=h5py.File(\"%.2000s\",\"r+\"); "
             "f.attrs.modify(\"schema\",numpy.uint32(%d))'",
             path, ATOLL_ARCHIVE_SCHEMA + 1);
    assert_int_equal(system(command), 0);
    assert_null(atoll_segment_read(path, &err));
    assert_int_equal(err.code, ATOLL_E_SCHEMA);
    assert_non_null(strstr(err.text, "use the newer Atoll"));
}

/* Links out of the file, wrong types and shapes, made with h5py. */
static void test_hostile_files(void **state)
{
    (void)state;
    static const struct {
        const char *change, *text;
    } cases[] = {
        {"del f['tasks']", "/tasks is missing"},
        {"del f['tasks/name']", "/tasks/name is missing"},
        {"del f['tasks']; f['tasks']=h5py.ExternalLink('/nowhere.h5','/x')", "/tasks is missing"},
        {"del f['tasks/name']; f['tasks/name']=h5py.SoftLink('/texts/offset')", "/tasks/name is missing"},
        {"del f['tasks/name']; f['tasks/name']=numpy.zeros(2,'f4')", "wrong type"},
        {"del f['tasks/name']; f['tasks/name']=numpy.zeros((2,2),'u4')", "wrong shape"},
        {"del f['tasks/name']; d=f.create_dataset('tasks/name',data=numpy.zeros(9,'u4'))",
         "not as many rows"},
        {"del f['samples/campaign']; "
         "f.create_dataset('samples/campaign',shape=(1<<37,),dtype='u4',chunks=(1024,))",
         "more data than the file"},
        {"f['tasks/name'][0]=1", "checksum"},
        {"x=numpy.zeros(2,'u4'); x[0]=4000000000; del f['tasks/name']; f['tasks/name']=x; import zlib",
         "checksum"},
        {"del f['texts/hash']; f['texts/hash']=numpy.zeros((3,32),'u1')", "checksum"},
        {"put('tasks/name', numpy.array([1, 4000000000], 'u4'))",
         "/tasks/name refers to a row that is not there"},
        {"put('samples/campaign', f['samples/campaign'][:] + 1)",
         "/samples/campaign refers to a row that is not there"},
        {"put('texts/offset', f['texts/offset'][:] + (1 << 40))", "outside its heap"},
        {"put('texts/length', f['texts/length'][:] + 1)", "outside its heap"},
        {"x = f['texts/heap'][:]; x[1] ^= 1; put('texts/heap', x)", "not what its hash says"},
        {"put('texts/length', f['texts/length'][:-1])", "columns of different lengths"},
        {"del f['tasks/name']; p=h5py.h5p.create(h5py.h5p.DATASET_CREATE); "
         "p.set_external(b'/nowhere',0,8); "
         "h5py.h5d.create(f.id,b'tasks/name',h5py.h5t.STD_U32LE,h5py.h5s.create_simple((2,)),p)",
         "not allowed"},
    };
    struct atoll_err err = ATOLL_ERR_INIT;
    char name[PATH_MAX], command[3 * PATH_MAX];
    if (!has_h5py())
        skip();
    assert_int_equal(atoll_segment_write(path, tables, NULL, NULL, NULL), 0);
    FILE *script = fopen(scratch_join(name, dir, "hostile.py"), "wb");
    assert_non_null(script);
    fprintf(script, "import h5py, numpy, shutil\n"
                    "def crc(b):\n  c = 0xffffffff\n  for x in b:\n    c ^= x\n    for _ in range(8): c = c "
                    ">> 1 ^ (0x82F63B78 & -(c & 1))\n"
                    "  return c ^ 0xffffffff\n"
                    "def put(n, v):\n  del f[n]; d = f.create_dataset(n, data=v); d.attrs['crc32c'] = "
                    "numpy.uint32(crc(v.tobytes()))\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fprintf(script, "shutil.copy('a.h5', '%zu.h5'); f = h5py.File('%zu.h5', 'r+'); %s; f.close()\n", i, i,
                cases[i].change);
    }
    fclose(script);
    snprintf(command, sizeof(command), "cd '%.2000s' && /usr/bin/python3 hostile.py", dir);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(name, sizeof(name), "%.2000s/%zu.h5", dir, i);
        struct atoll_tables *got = atoll_segment_read(name, &err);
        if (got || err.code != ATOLL_E_CORRUPT || !strstr(err.text, cases[i].text))
            fail_msg("%s: %s", cases[i].change, got ? "was read" : err.text);
    }
}

static void test_every_call_fails_once(void **state)
{
    (void)state;
    size_t length;
    assert_int_equal(atoll_segment_write(path, tables, NULL, NULL, NULL), 0);
    char *before = scratch_read(path, &length);
    struct atoll_tables *empty = atoll_tables_create(1 << 20, NULL);
    for (long at = 0; at < 8; at++) {
        struct faulty f;
        struct atoll_err err = ATOLL_ERR_INIT;
        char temporary[PATH_MAX];
        size_t now;
        int failed = atoll_segment_write(path, empty, NULL, faulty_init(&f, FAULT_FULL, at), &err) != 0;
        assert_int_equal(failed, at < f.calls && err.code != ATOLL_OK);
        if (failed && err.code != ATOLL_E_FULL)
            fail_msg("call %ld: %s", at, err.text);
        assert_int_equal(access(scratch_join(temporary, dir, "a.h5.tmp"), F_OK), -1);
        char *after = scratch_read(path, &now);
        if (failed && at < 4) {
            assert_true(now == length &&
                        !memcmp(before, after, length)); /* the old file is untouched until the rename */
        }
        free(after);
    }
    atoll_tables_destroy(empty);
    free(before);
}

/* A disk that keeps another byte than it was given, in the n-th file that is written. */
struct wrong_disk {
    struct faulty real;
    int files, wrong;
};

static int wrong_open(void *context, const char *name, int flags, mode_t mode)
{
    struct wrong_disk *disk = context;
    disk->files += (flags & O_CREAT) != 0;
    return atoll_file_ops_real()->open(NULL, name, flags, mode);
}

static ssize_t wrong_write_at(void *context, int fd, const void *bytes, size_t length, off_t offset)
{
    const struct wrong_disk *disk = context;
    ssize_t done = pwrite(fd, bytes, length, offset);
    unsigned char last = done > 0 ? ((const unsigned char *)bytes)[done - 1] ^ 1u : 0;
    if (disk->files == disk->wrong && done > 0)
        pwrite(fd, &last, 1, offset + done - 1);
    return done;
}

/* Both files are whole and the same, or what is wrong is not there. */
static void test_two_files(void **state)
{
    (void)state;
    char copy[PATH_MAX], temporary[PATH_MAX];
    size_t length, copy_length;
    scratch_join(copy, dir, "copy.h5");
    scratch_join(temporary, dir, "copy.h5.tmp");
    struct faulty one;
    assert_int_equal(atoll_segment_write(path, tables, "x", faulty_init(&one, FAULT_NONE, -1), NULL), 0);
    for (long at = one.calls; at <= 2 * one.calls;
         at++) { /* the first file's are those of test_every_call_fails_once */
        struct faulty f;
        struct atoll_err err = ATOLL_ERR_INIT;
        int failed =
            atoll_segment_write_twice(path, copy, tables, "x", faulty_init(&f, FAULT_FULL, at), &err) != 0;
        assert_int_equal(failed, at < 2 * one.calls);
        assert_int_equal(err.code, failed ? ATOLL_E_FULL : ATOLL_OK);
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(access(temporary, F_OK), -1);
        if (at < one.calls + 4) /* until the rename */
            assert_int_equal(access(copy, F_OK), -1);
    }
    char *a = scratch_read(path, &length), *b = scratch_read(copy, &copy_length);
    assert_int_equal(length, copy_length);
    assert_memory_equal(a, b, length);
    free(a);
    free(b);
    unlink(copy);
    struct wrong_disk disk = {.wrong = 2};
    struct atoll_err err = ATOLL_ERR_INIT;
    faulty_init(&disk.real, FAULT_NONE, -1);
    struct atoll_file_ops ops = disk.real.ops;
    ops.context = &disk;
    ops.open = wrong_open;
    ops.write_at = wrong_write_at;
    ops.fsync = atoll_file_ops_real()->fsync;
    ops.fdatasync = atoll_file_ops_real()->fdatasync;
    ops.rename = atoll_file_ops_real()->rename;
    assert_int_equal(atoll_segment_write_twice(path, copy, tables, "x", &ops, &err), -1);
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "copy.h5.tmp: what was read back differs from what was written"));
    assert_int_equal(access(copy, F_OK), -1);
    assert_int_equal(access(temporary, F_OK), -1);
}

/* Killed at any call and the power lost: the old file or the new one, whole. */
static void test_power_loss_at_every_step(void **state)
{
    (void)state;
    struct atoll_tables *empty = atoll_tables_create(1 << 20, NULL);
    int old_seen = 0, new_seen = 0;
    for (long stop = 0; stop < 10; stop++) {
        char root[PATH_MAX], after[PATH_MAX], file[PATH_MAX];
        scratch_join(root, dir, "root");
        scratch_join(after, dir, "after");
        mkdir(root, 0777);
        struct volatile_disk *disk = disk_create(root, -1);
        scratch_join(file, root, "a.h5");
        assert_int_equal(atoll_segment_write(file, empty, NULL, &disk->ops, NULL), 0);
        disk->steps = 0;
        disk->stop_at = stop;
        int done = atoll_segment_write(file, tables, NULL, &disk->ops, NULL) == 0;
        disk_power_loss(disk, after);
        disk_destroy(disk);
        struct atoll_tables *got = atoll_segment_read(scratch_join(file, after, "a.h5"), NULL);
        assert_non_null(got);
        int is_new = atoll_tables_count(got, ATOLL_TABLE_TASKS) == 2;
        assert_true(is_new || !done);
        new_seen += is_new;
        old_seen += !is_new;
        atoll_tables_destroy(got);
        scratch_remove(root);
        scratch_remove(after);
    }
    assert_true(old_seen > 2 && new_seen > 2);
    atoll_tables_destroy(empty);
}

static void test_merge(void **state)
{
    (void)state;
    char b[PATH_MAX], out[PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_verify_report report = {.problems = 0};
    scratch_join(b, dir, "b.h5");
    scratch_join(out, dir, "archive.h5");
    assert_int_equal(atoll_segment_write(path, tables, NULL, NULL, NULL), 0);
    struct atoll_projection *other = atoll_projection_create(atoll_campaign_config(campaign), NULL);
    struct atoll_device_info device = {.key = 5, .backend = "cpu", .model = "another"};
    assert_int_equal(atoll_projection_device(other, &device, NULL), 0);
    assert_int_equal(atoll_segment_write(b, atoll_projection_tables(other), NULL, NULL, NULL), 0);
    atoll_projection_destroy(other);
    const char *files[] = {b, path};
    if (atoll_merge_files(files, 2, out, NULL, &err) != 0)
        fail_msg("%s", err.text);
    struct atoll_tables *merged = atoll_segment_read(out, NULL);
    assert_int_equal(atoll_tables_count(merged, ATOLL_TABLE_CAMPAIGN), 1); /* the same campaign */
    assert_int_equal(atoll_tables_count(merged, ATOLL_TABLE_DEVICES), 2);
    for (size_t t = ATOLL_TABLE_CANDIDATES; t < ATOLL_TABLE_COUNT; t++) {
        assert_int_equal(atoll_tables_count(merged, (enum atoll_table)t),
                         atoll_tables_count(tables, (enum atoll_table)t));
    }
    assert_int_equal(atoll_verify_path(out, NULL, NULL, &report, NULL), 0);
    assert_string_equal(report.first_problem, "");
    const char *again[] = {out, out, path};
    assert_int_equal(atoll_merge_files(again, 3, out, NULL, &err),
                     0); /* merging what is there changes nothing */
    struct atoll_tables *twice = atoll_segment_read(out, NULL);
    assert_true(same_tables(merged, twice));
    atoll_tables_destroy(twice);
    atoll_tables_destroy(merged);
}

static void test_merge_of_two_campaigns(void **state)
{
    (void)state;
    struct atoll_config config = *atoll_campaign_config(campaign);
    config.id = sample_id(999);
    struct atoll_merge *m = atoll_merge_create((size_t)1 << 28, NULL);
    struct atoll_projection *other = atoll_projection_create(&config, NULL);
    struct atoll_device_info device = {.key = 77, .backend = "cpu", .model = "the same number"};
    assert_int_equal(atoll_projection_device(other, &device, NULL), 0);
    assert_int_equal(atoll_merge_add(m, atoll_projection_tables(other), NULL), 0);
    assert_int_equal(atoll_merge_add(m, tables, NULL), 0);
    struct atoll_tables *got = atoll_merge_take(m);
    struct atoll_row_evaluation e;
    assert_int_equal(atoll_tables_count(got, ATOLL_TABLE_CAMPAIGN), 2);
    assert_int_equal(atoll_tables_count(got, ATOLL_TABLE_DEVICES), 2);
    atoll_tables_get(got, ATOLL_TABLE_EVALUATIONS, 0, &e);
    assert_int_equal(e.campaign, 1); /* moved with its campaign */
    atoll_tables_destroy(got);
    atoll_projection_destroy(other);
    atoll_merge_destroy(m);
    atoll_merge_destroy(NULL);
}

static void test_build_from_campaign(void **state)
{
    (void)state;
    struct atoll_replay_report report;
    char out[PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    scratch_join(out, atoll_campaign_dir(campaign), "archive.h5");
    if (atoll_archive_build(campaign, out, NULL, &report, &err) != 0)
        fail_msg("%s", err.text);
    struct atoll_tables *got = atoll_segment_read(out, NULL);
    assert_true(same_tables(got, tables));
    atoll_tables_destroy(got);
}

/* ATOLL_WRITE_GOLDEN=1 keeps the sample's journal as the golden one of this schema. */
static void keep_journal(void)
{
    const char *golden = ATOLL_SOURCE_DIR "/tests/fixtures/archive/journal-2.atl";
    char from[PATH_MAX];
    size_t length;
    if (!getenv("ATOLL_WRITE_GOLDEN") || access(golden, F_OK) == 0)
        return;
    char *bytes =
        scratch_read(scratch_join(from, atoll_campaign_dir(campaign), "jobs/local.0/journal.atl"), &length);
    scratch_write(golden, bytes, length);
    free(bytes);
}

static uint64_t count_profiles(const struct atoll_tables *t)
{
    return atoll_tables_count(t, ATOLL_TABLE_PROFILES);
}

/* What a child reads is what this process reads; a file that makes the library crash costs the child. */
static void test_foreign(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    char missing[PATH_MAX];
    assert_int_equal(atoll_segment_write(path, tables, NULL, NULL, NULL), 0);
    struct atoll_tables *got = atoll_segment_read_foreign(path, &err);
    if (!got)
        fail_msg("%s", err.text);
    assert_true(same_tables(got, tables));
    atoll_tables_destroy(got);
    got = atoll_segment_read_foreign(ATOLL_SOURCE_DIR "/tests/fixtures/foreign/attr_overflow.h5", &err);
    if (!got)
        assert_int_equal(err.code, ATOLL_E_CORRUPT);
    atoll_tables_destroy(got);
    atoll_err_clear(&err);
    scratch_write(path, "no HDF5", 7);
    assert_null(atoll_segment_read_foreign(path, &err));
    assert_int_equal(err.code, ATOLL_E_CORRUPT);
    assert_non_null(strstr(err.text, "is not an HDF5 file"));
    atoll_err_clear(&err);
    assert_null(atoll_segment_read_foreign(scratch_join(missing, dir, "none.h5"), &err));
    assert_int_equal(err.code, ATOLL_E_NOTFOUND);
    atoll_err_clear(&err);
    assert_int_equal(mkfifo(missing, 0600), 0);
    assert_null(atoll_segment_read_foreign(missing, &err));
    assert_int_equal(err.code, ATOLL_E_INPUT);
}

/* Files of released schema versions stay readable.  ATOLL_WRITE_GOLDEN=1 makes a missing one of this version. */
static void test_golden(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        uint64_t profiles, rivals, times; /* 22: of the sample before one of its tasks had rivals */
    } cases[] = {{"schema-1.h5", 0, 0, 0},  {"schema-2.h5", 22, 0, 0}, {"schema-3.h5", 22, 0, 0},
                 {"schema-4.h5", 22, 0, 0}, {"schema-5.h5", 22, 0, 0}, {"schema-6.h5", 23, 3, 3},
                 {"schema-7.h5", 23, 3, 3}};
    keep_journal();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct atoll_err err = ATOLL_ERR_INIT;
        struct atoll_verify_report report = {.problems = 0};
        struct atoll_row_device device;
        char golden[PATH_MAX];
        snprintf(golden, sizeof(golden), "%s/tests/fixtures/archive/%s", ATOLL_SOURCE_DIR, cases[i].file);
        if (getenv("ATOLL_WRITE_GOLDEN") && access(golden, F_OK) != 0)
            assert_int_equal(atoll_segment_write(golden, tables, NULL, NULL, NULL), 0);
        struct atoll_tables *got = atoll_segment_read(golden, &err);
        if (!got)
            fail_msg("%s", err.text);
        assert_int_equal(atoll_tables_count(got, ATOLL_TABLE_TASKS), 2);
        assert_int_equal(atoll_tables_count(got, ATOLL_TABLE_EVALUATIONS), 50);
        assert_int_equal(count_profiles(got), cases[i].profiles);
        assert_int_equal(atoll_tables_count(got, ATOLL_TABLE_RIVALS), cases[i].rivals);
        assert_int_equal(atoll_tables_count(got, ATOLL_TABLE_DEVICE_TIME), cases[i].times);
        struct atoll_row_task task;
        atoll_tables_get(got, ATOLL_TABLE_TASKS, 1, &task);
        assert_string_equal(atoll_tables_text(got, task.rival), cases[i].rivals ? "compiled" : "");
        assert_int_equal(task.rival_ns > 0, cases[i].rivals > 0);
        atoll_tables_get(got, ATOLL_TABLE_DEVICES, 0, &device);
        assert_string_equal(atoll_tables_text(got, device.model), "Example Processor 9000");
        assert_int_equal(device.multiprocessors, cases[i].profiles ? 132 : 0);
        assert_string_equal(atoll_tables_text(got, device.driver),
                            cases[i].profiles ? "580.126.09, CUDA 13.0" : "");
        assert_int_equal(atoll_verify_path(golden, NULL, NULL, &report, NULL), 0);
        assert_string_equal(report.first_problem, "");
        atoll_tables_destroy(got);
    }
}

/* An archive of the first schema and one of this: the same campaign, the later file wins and adds its profiles. */
static void test_merge_with_older(void **state)
{
    (void)state;
    const char *const paths[] = {ATOLL_SOURCE_DIR "/tests/fixtures/archive/schema-1.h5", path};
    char out[PATH_MAX];
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_verify_report report = {.problems = 0};
    assert_true(count_profiles(tables) > 5);
    assert_true(count_profiles(tables) < atoll_tables_count(tables, ATOLL_TABLE_EVALUATIONS));
    assert_int_equal(atoll_segment_write(path, tables, NULL, NULL, NULL), 0);
    if (atoll_merge_files(paths, 2, scratch_join(out, dir, "merged.h5"), NULL, &err) != 0)
        fail_msg("%s", err.text);
    struct atoll_tables *got = atoll_segment_read(out, &err);
    assert_non_null(got);
    assert_int_equal(atoll_tables_count(got, ATOLL_TABLE_EVALUATIONS), 50);
    assert_int_equal(count_profiles(got), count_profiles(tables));
    assert_int_equal(atoll_verify_path(out, NULL, NULL, &report, NULL), 0);
    assert_string_equal(report.first_problem, "");
    atoll_tables_destroy(got);
}

/* A campaign begun before there were profiles: its journal is archived, sealed and followed by one of this schema. */
static void test_older_journal(void **state)
{
    (void)state;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_replay_report report;
    char to[PATH_MAX];
    size_t length;
    char *bytes = scratch_read(ATOLL_SOURCE_DIR "/tests/fixtures/archive/journal-1.atl", &length);
    scratch_write(scratch_join(to, atoll_campaign_dir(campaign), "jobs/local.0/journal.atl"), bytes, length);
    free(bytes);
    struct atoll_projection *older = atoll_projection_of_campaign(campaign, NULL, &err);
    if (!older)
        fail_msg("%s", err.text);
    assert_int_equal(atoll_tables_count(atoll_projection_tables(older), ATOLL_TABLE_EVALUATIONS), 50);
    assert_int_equal(count_profiles(atoll_projection_tables(older)), 0);
    atoll_projection_destroy(older);

    struct atoll_journal *j = atoll_campaign_start_attempt(campaign, "local", 1, 12, NULL, &err);
    if (!j)
        fail_msg("%s", err.text);
    uint64_t events = atoll_journal_next_event(j);
    struct atoll_event e;
    sample_tick(&e, INT64_MAX / 4000); /* late; its time in ns still fits */
    assert_int_equal(atoll_journal_append_event(j, &e, NULL, NULL), 0);
    assert_int_equal(atoll_journal_append_decisions(j, events, NULL, 0, NULL), 0);
    assert_int_equal(atoll_journal_append_close(j, 5, "stopped", NULL), 0);
    assert_int_equal(atoll_journal_sync(j, NULL), 0);
    atoll_journal_destroy(j);
    if (atoll_campaign_replay(campaign, NULL, NULL, &report, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(report.event_count, events + 1);
    assert_int_equal(report.attempt_count, 2);
    assert_int_equal(report.quarantined_records, 0);
}

/* The example of docs/spec/archive.md, run as it stands there. */
static void test_documented_example(void **state)
{
    (void)state;
    char script[PATH_MAX], command[3 * PATH_MAX];
    size_t length;
    if (!has_h5py())
        skip();
    char *doc = scratch_read(ATOLL_SOURCE_DIR "/docs/spec/archive.md", &length);
    char *begin = strstr(doc, "```python\n");
    assert_non_null(begin);
    begin += strlen("```python\n");
    char *end = strstr(begin, "```");
    assert_non_null(end);
    scratch_write(scratch_join(script, dir, "example.py"), begin, (size_t)(end - begin));
    unsigned lines = 0;
    for (char *c = begin; c < end; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 3);
    assert_int_equal(atoll_segment_write(scratch_join(path, dir, "archive.h5"), tables, NULL, NULL, NULL), 0);
    snprintf(command, sizeof(command), "cd '%.2000s' && /usr/bin/python3 example.py > out.txt", dir);
    assert_int_equal(system(command), 0);
    char *out = scratch_read(scratch_join(script, dir, "out.txt"), &length);
    assert_non_null(strstr(out, "softmax_rows"));
    free(out);
    free(doc);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_round_trip),
        CASE(test_empty),
        CASE(test_names),
        CASE(test_damaged),
        CASE(test_missing_and_newer),
        CASE(test_hostile_files),
        CASE(test_every_call_fails_once),
        CASE(test_two_files),
        CASE(test_power_loss_at_every_step),
        CASE(test_merge),
        CASE(test_merge_of_two_campaigns),
        CASE(test_build_from_campaign),
        CASE(test_foreign),
        CASE(test_golden),
        CASE(test_merge_with_older),
        CASE(test_older_journal),
        CASE(test_documented_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A file: magic, key, id of the rest, unix time, numbers.  Its name is the key's hex. */
#include "mpi-eval/backend/kept_calibration.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/id.h"
#include "base/lease.h"

#define MAGIC      0x31626c6163ull /* "calb1" */
#define KEY_BYTES  (16u << 10)
#define FILE_BYTES 4096u
#define RATE_MAX   1e24
#define TIME_MAX   1e15
/* Two probes of one device differ by less than the first, and by the second only when it was throttled or shared. */
#define MORE_RATIO 1.03
#define LESS_RATIO 0.6

/* The folder's descriptor; -1: nothing is kept here. */
static int folder_open(void)
{
    struct stat st;
    const char *path = getenv(ATOLL_KEPT_CALIBRATION_VARIABLE);
    int fd = path && *path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0 || (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0))
        return fd;
    close(fd);
    return -1;
}

/* Of all that the numbers follow from; 0: the key is not known, and nothing is kept. */
static int key_make(const struct atoll_device_info *info, const char *how, struct atoll_id *ret_key)
{
    struct atoll_lease_holder self;
    struct atoll_buffer key;
    struct stat program;
    atoll_lease_holder_self("", 0, &self); /* knows the boot */
    if (!self.boot[0] || stat("/proc/self/exe", &program) != 0)
        return 0;
    atoll_buffer_init(&key, KEY_BYTES);
    atoll_buffer_put_text(&key, self.boot);
    atoll_buffer_put_text(&key, info->node);
    atoll_buffer_put_text(&key, info->backend);
    atoll_buffer_put_text(&key, info->model);
    atoll_buffer_put_text(&key, info->uuid);
    atoll_buffer_put_text(&key, info->limits.driver);
    atoll_buffer_put_text(&key, info->toolchain);
    atoll_buffer_put_text(&key, info->isolation);
    atoll_buffer_put_u32(&key, info->threads);
    atoll_buffer_put_i64(&key, program.st_size);
    atoll_buffer_put_i64(&key, program.st_mtim.tv_sec);
    atoll_buffer_put_i64(&key, program.st_mtim.tv_nsec);
    atoll_buffer_put_text(&key, how);
    int is_whole = !key.failed;
    if (is_whole)
        *ret_key = atoll_id_of(key.data, key.length);
    atoll_buffer_fini(&key);
    return is_whole;
}

static void numbers_put(const struct atoll_device_info *info, double jitter_ns, struct atoll_buffer *out)
{
    atoll_buffer_put_f64(out, info->bandwidth_bytes_per_s);
    atoll_buffer_put_f64(out, info->empty_launch_ns);
    atoll_buffer_put_f64(out, info->clock_resolution_ns);
    atoll_buffer_put_f64(out, jitter_ns);
    for (size_t i = 0; i < ATOLL_DTYPE_COUNT; i++)
        atoll_buffer_put_f64(out, info->peak_flops[i]);
    for (size_t i = 0; i <= ATOLL_DTYPE_COUNT; i++)
        atoll_buffer_put_f64(out, info->limits.tensor_flops[i]);
}

static int numbers_take(struct atoll_reader *r, struct atoll_device_info *info, double *ret_jitter_ns)
{
    info->bandwidth_bytes_per_s = atoll_reader_f64_in(r, 1, RATE_MAX);
    info->empty_launch_ns = atoll_reader_f64_in(r, 0, TIME_MAX);
    info->clock_resolution_ns = atoll_reader_f64_in(r, 0, TIME_MAX);
    *ret_jitter_ns = atoll_reader_f64_in(r, 0, TIME_MAX);
    for (size_t i = 0; i < ATOLL_DTYPE_COUNT; i++)
        info->peak_flops[i] = atoll_reader_f64_in(r, 0, RATE_MAX);
    for (size_t i = 0; i <= ATOLL_DTYPE_COUNT; i++)
        info->limits.tensor_flops[i] = atoll_reader_f64_in(r, 0, RATE_MAX);
    return atoll_reader_finish(r, "kept calibration", NULL) == 0;
}

static int decode(const unsigned char *bytes, size_t length, const struct atoll_id *key, int64_t now_unix_ns,
                  struct atoll_device_info *info, double *ret_jitter_ns)
{
    struct atoll_device_info found = *info;
    struct atoll_reader r;
    struct atoll_id its, id;
    double jitter_ns;
    atoll_reader_init(&r, bytes, length);
    uint64_t mark = atoll_reader_u64(&r);
    atoll_reader_bytes(&r, its.bytes, sizeof(its.bytes));
    atoll_reader_bytes(&r, id.bytes, sizeof(id.bytes));
    if (r.failed || mark != MAGIC || !atoll_id_equal(&its, key))
        return 0;
    struct atoll_id real = atoll_id_of(bytes + r.offset, length - r.offset);
    double age_s = 1e-9 * (double)(now_unix_ns - atoll_reader_i64(&r));
    if (!atoll_id_equal(&id, &real) || !(age_s >= 0 && age_s <= ATOLL_KEPT_CALIBRATION_S) ||
        !numbers_take(&r, &found, &jitter_ns)) {
        return 0;
    }
    *info = found;
    *ret_jitter_ns = jitter_ns;
    return 1;
}

int atoll_kept_calibration_read(struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                                double *ret_jitter_ns)
{
    unsigned char bytes[FILE_BYTES];
    char name[ATOLL_ID_HEX];
    struct atoll_id key;
    struct stat st;
    int folder = folder_open(), fd = -1, is_there = 0;
    if (folder >= 0 && key_make(info, how, &key)) {
        atoll_id_hex(&key, name);
        fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }
    ssize_t length = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()
                         ? read(fd, bytes, sizeof(bytes))
                         : 0;
    if (length > 0)
        is_there = decode(bytes, (size_t)length, &key, now_unix_ns, info, ret_jitter_ns);
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    return is_there;
}

/* Records that count no more, and what a killed writer left. */
static void old_remove(int folder, int64_t now_unix_ns)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct stat st;
    if (!dir && fd >= 0)
        close(fd);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            (double)st.st_mtim.tv_sec + 2 * ATOLL_KEPT_CALIBRATION_S < 1e-9 * (double)now_unix_ns) {
            unlinkat(folder, e->d_name, 0);
        }
    if (dir)
        closedir(dir);
}

static void encode(const struct atoll_id *key, const struct atoll_device_info *info, int64_t now_unix_ns,
                   double jitter_ns, struct atoll_buffer *out)
{
    struct atoll_buffer rest;
    atoll_buffer_init(&rest, FILE_BYTES);
    atoll_buffer_put_i64(&rest, now_unix_ns);
    numbers_put(info, jitter_ns, &rest);
    struct atoll_id id = atoll_id_of(rest.data, rest.length);
    atoll_buffer_put_u64(out, MAGIC);
    atoll_buffer_put_bytes(out, key->bytes, sizeof(key->bytes));
    atoll_buffer_put_bytes(out, id.bytes, sizeof(id.bytes));
    atoll_buffer_put_bytes(out, rest.data, rest.length);
    atoll_buffer_fini(&rest);
}

void atoll_kept_calibration_write(const struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                                  double jitter_ns)
{
    char name[ATOLL_ID_HEX], temporary[ATOLL_ID_HEX + 32];
    struct atoll_buffer bytes;
    struct atoll_id key;
    int folder = folder_open();
    if (folder < 0)
        return;
    atoll_buffer_init(&bytes, FILE_BYTES);
    if (key_make(info, how, &key)) {
        encode(&key, info, now_unix_ns, jitter_ns, &bytes);
        atoll_id_hex(&key, name);
        snprintf(temporary, sizeof(temporary), "%s-%ld", name, (long)getpid());
        unlinkat(folder, temporary, 0); /* of a killed process that had this number */
        int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        int failed = fd < 0 || bytes.failed || atoll_write_all(fd, bytes.data, bytes.length) != 0;
        failed |= fd >= 0 && close(fd) != 0;
        if (failed || renameat(folder, temporary, folder, name) != 0)
            unlinkat(folder, temporary, 0);
    }
    atoll_buffer_fini(&bytes);
    old_remove(folder, now_unix_ns);
    close(folder);
}

int atoll_kept_calibration_agrees(double kept_rate, double probed_rate)
{
    return probed_rate > LESS_RATIO * kept_rate && probed_rate < MORE_RATIO * kept_rate;
}

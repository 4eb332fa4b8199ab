/* A file: magic, key, id of the rest, unix time, content.  Its name is the key's hex. */
#include "mpi-eval/referee/kept_record.h"

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
#define HEAD_BYTES 128 /* what comes before the content, at most */
#define READ_BYTES 4096

/* The folder's descriptor; -1: nothing is kept here. */
static int folder_open(void)
{
    struct stat st;
    const char *path = getenv(ATOLL_KEPT_RECORD_VARIABLE);
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

static int decode(const struct atoll_buffer *bytes, const struct atoll_id *key, int64_t now_unix_ns,
                  struct atoll_reader *ret_reader)
{
    struct atoll_reader r;
    struct atoll_id its, id;
    atoll_reader_init(&r, bytes->data, bytes->length);
    uint64_t mark = atoll_reader_u64(&r);
    atoll_reader_bytes(&r, its.bytes, sizeof(its.bytes));
    atoll_reader_bytes(&r, id.bytes, sizeof(id.bytes));
    if (r.failed || mark != MAGIC || !atoll_id_equal(&its, key))
        return 0;
    struct atoll_id real = atoll_id_of(bytes->data + r.offset, bytes->length - r.offset);
    double age_s = 1e-9 * (double)(now_unix_ns - atoll_reader_i64(&r));
    if (r.failed || !atoll_id_equal(&id, &real) || !(age_s >= 0 && age_s <= ATOLL_KEPT_RECORD_S))
        return 0;
    *ret_reader = r;
    return 1;
}

int atoll_kept_record_read(const struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                           struct atoll_buffer *bytes, struct atoll_reader *ret_reader)
{
    unsigned char part[READ_BYTES];
    char name[ATOLL_ID_HEX];
    struct atoll_id key;
    struct stat st;
    int folder = folder_open(), fd = -1;
    if (folder >= 0 && key_make(info, how, &key)) {
        atoll_id_hex(&key, name);
        fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }
    ssize_t length = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() ? 1 : -1;
    while (length > 0) {
        length = read(fd, part, sizeof(part));
        if (length > 0)
            atoll_buffer_put_bytes(bytes, part, (size_t)length);
        if (bytes->failed)
            length = -1;
    }
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    return length == 0 && bytes->length && decode(bytes, &key, now_unix_ns, ret_reader);
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
            (double)st.st_mtim.tv_sec + 2 * ATOLL_KEPT_RECORD_S < 1e-9 * (double)now_unix_ns) {
            unlinkat(folder, e->d_name, 0);
        }
    if (dir)
        closedir(dir);
}

static void encode(const struct atoll_id *key, const struct atoll_buffer *content, int64_t now_unix_ns,
                   struct atoll_buffer *out)
{
    struct atoll_buffer rest;
    atoll_buffer_init(&rest, content->length + HEAD_BYTES);
    atoll_buffer_put_i64(&rest, now_unix_ns);
    atoll_buffer_put_bytes(&rest, content->data, content->length);
    struct atoll_id id = atoll_id_of(rest.data, rest.length);
    out->failed = rest.failed;
    atoll_buffer_put_u64(out, MAGIC);
    atoll_buffer_put_bytes(out, key->bytes, sizeof(key->bytes));
    atoll_buffer_put_bytes(out, id.bytes, sizeof(id.bytes));
    atoll_buffer_put_bytes(out, rest.data, rest.length);
    atoll_buffer_fini(&rest);
}

void atoll_kept_record_write(const struct atoll_device_info *info, const char *how, int64_t now_unix_ns,
                             const struct atoll_buffer *content)
{
    char name[ATOLL_ID_HEX], temporary[ATOLL_ID_HEX + 32];
    struct atoll_buffer bytes;
    struct atoll_id key;
    int folder = content->failed ? -1 : folder_open();
    if (folder < 0)
        return;
    atoll_buffer_init(&bytes, content->length + 2 * (size_t)HEAD_BYTES);
    if (key_make(info, how, &key)) {
        encode(&key, content, now_unix_ns, &bytes);
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

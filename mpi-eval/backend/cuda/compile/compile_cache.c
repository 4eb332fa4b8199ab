/* A file: magic, key, id of the rest (32 bytes), u32 length of the report, report, cubin.  Its name is the key's hex.  A
 * hit renews its time, so the oldest are those that nobody asks for.  A claim is a lock on a file of its own, which goes with
 * the claim: whoever locks a file that has just gone finds what was put before it went. */
#include "mpi-eval/backend/cuda/compile/compile_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "mpi-eval/backend/sandbox/scratch.h"

#define MAGIC_BYTES 8
#define HEAD_BYTES  (MAGIC_BYTES + 2 * ATOLL_ID_BYTES)
#define FILE_LIMIT  ((uint64_t)256 << 20)
#define STALE_AFTER 600 /* seconds until a temporary file is nobody's */
#define TEMPORARY   "new-"
#define CLAIM       "claim-"

static const unsigned char magic[MAGIC_BYTES] = {'a', 't', 'o', 'l', 'l', 'c', 'u', '1'};

struct atoll_compile_cache {
    int fd;
    uint64_t limit_bytes, bytes; /* bytes: at the last look, and what was put since */
    unsigned serial;
};

struct file {
    char name[ATOLL_ID_HEX];
    uint64_t bytes;
    struct timespec used;
};

/* ---- the folder ---- */

static int open_folder(const char *folder, struct atoll_err *err)
{
    struct stat st;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return atoll_err_errno(err, errno, "cannot make the compile cache %s", folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return atoll_err_errno(err, errno, "cannot open the compile cache %s", folder);
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return fd;
    close(fd);
    return atoll_err_set(err, ATOLL_E_DENIED,
                         "the compile cache %s is not this user's alone; remove it, or set ATOLL_SCRATCH",
                         folder);
}

/* All entries into *ret_files (malloc, NULL when there are none or no memory); left-over temporary files go. */
static size_t list(const struct atoll_compile_cache *cache, struct file **ret_files, uint64_t *ret_bytes)
{
    size_t count = 0, room = 0;
    int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    *ret_files = NULL;
    *ret_bytes = 0;
    if (!dir && fd >= 0)
        close(fd);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        struct stat st;
        if (fstatat(cache->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        int is_passing = strncmp(e->d_name, TEMPORARY, strlen(TEMPORARY)) == 0 ||
                         strncmp(e->d_name, CLAIM, strlen(CLAIM)) == 0;
        if (is_passing && st.st_mtime + STALE_AFTER < time(NULL))
            unlinkat(cache->fd, e->d_name, 0);
        if (!(strlen(e->d_name) == ATOLL_ID_HEX - 1 &&
              strspn(e->d_name, "0123456789abcdef") == ATOLL_ID_HEX - 1))
            continue;
        if (count == room) {
            room = room ? 2 * room : 64;
            struct file *grown = realloc(*ret_files, room * sizeof(**ret_files));
            if (!grown)
                break;
            *ret_files = grown;
        }
        struct file *file = &(*ret_files)[count++];
        memcpy(file->name, e->d_name, ATOLL_ID_HEX);
        file->bytes = (uint64_t)st.st_size;
        file->used = st.st_mtim;
        *ret_bytes += file->bytes;
    }
    if (dir)
        closedir(dir);
    return count;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct file *)a)->used, *y = &((const struct file *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Down to seven eighths, so that not every put has to look. */
static void shrink(struct atoll_compile_cache *cache)
{
    struct file *files;
    size_t count = list(cache, &files, &cache->bytes);
    uint64_t wanted = cache->limit_bytes - cache->limit_bytes / 8;
    if (cache->bytes > cache->limit_bytes) {
        qsort(files, count, sizeof(files[0]), by_use);
        for (size_t i = 0; i < count && cache->bytes > wanted; i++)
            if (unlinkat(cache->fd, files[i].name, 0) == 0 || errno == ENOENT)
                cache->bytes -= files[i].bytes;
    }
    free(files);
}

struct atoll_compile_cache *atoll_compile_cache_create(const char *folder, uint64_t limit_bytes,
                                                       struct atoll_err *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/atoll-cache-%u", atoll_scratch_base(), (unsigned)geteuid());
    if (!folder && (n <= 0 || (size_t)n >= sizeof(path))) {
        atoll_err_set(err, ATOLL_E_LIMIT, "the name of the compile cache is too long");
        return NULL;
    }
    struct atoll_compile_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) {
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the compile cache");
        return NULL;
    }
    cache->limit_bytes = limit_bytes;
    cache->fd = open_folder(folder ? folder : path, err);
    if (cache->fd < 0) {
        free(cache);
        return NULL;
    }
    shrink(cache);
    return cache;
}

void atoll_compile_cache_destroy(struct atoll_compile_cache *cache)
{
    if (!cache)
        return;
    close(cache->fd);
    free(cache);
}

/* ---- files ---- */

static unsigned char *read_file(int fd, size_t *ret_length)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_size < HEAD_BYTES + 4 || (uint64_t)st.st_size > FILE_LIMIT)
        return NULL;
    size_t length = (size_t)st.st_size, done = 0;
    unsigned char *bytes = malloc(length);
    for (ssize_t got = 1; bytes && done < length && got > 0; done += got > 0 ? (size_t)got : 0)
        got = read(fd, bytes + done, length - done);
    if (bytes && done == length) {
        *ret_length = length;
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* Length of the report; -1: these are not the bytes that were put under the key. */
static int64_t check(const unsigned char *bytes, size_t length, const struct atoll_id *key)
{
    struct atoll_id id = atoll_id_of(bytes + HEAD_BYTES, length - HEAD_BYTES);
    if (memcmp(bytes, magic, MAGIC_BYTES) != 0 ||
        memcmp(bytes + MAGIC_BYTES, key->bytes, ATOLL_ID_BYTES) != 0 ||
        memcmp(bytes + MAGIC_BYTES + ATOLL_ID_BYTES, id.bytes, ATOLL_ID_BYTES) != 0)
        return -1;
    const unsigned char *at = bytes + HEAD_BYTES;
    uint32_t report = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return report < length - HEAD_BYTES - 4 ? (int64_t)report : -1;
}

int atoll_compile_cache_get(struct atoll_compile_cache *cache, const struct atoll_id *key, void **ret_object,
                            size_t *ret_length, char **ret_report)
{
    char name[ATOLL_ID_HEX];
    size_t length = 0;
    atoll_id_hex(key, name);
    int fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    unsigned char *bytes = read_file(fd, &length);
    int64_t report = bytes ? check(bytes, length, key) : -1;
    futimens(fd, NULL);
    close(fd);
    if (report < 0) {
        unlinkat(cache->fd, name, 0);
        free(bytes);
        return 0;
    }
    const unsigned char *text = bytes + HEAD_BYTES + 4, *object = text + report;
    size_t object_length = length - (size_t)(object - bytes);
    char *kept_report = strndup((const char *)text, (size_t)report);
    void *kept = malloc(object_length);
    int found = kept && kept_report;
    if (found) {
        memcpy(kept, object, object_length);
        *ret_object = kept;
        *ret_length = object_length;
        *ret_report = kept_report;
    } else {
        free(kept);
        free(kept_report);
    }
    free(bytes);
    return found;
}

static unsigned char *lay_out(const struct atoll_id *key, const void *object, size_t length,
                              const char *report, size_t report_length, size_t *ret_length)
{
    size_t total = HEAD_BYTES + 4 + report_length + length;
    unsigned char *bytes = length > 0 && total <= FILE_LIMIT ? malloc(total) : NULL;
    if (!bytes)
        return NULL;
    unsigned char *at = bytes + HEAD_BYTES;
    for (unsigned i = 0; i < 4; i++)
        at[i] = (unsigned char)(report_length >> (8 * i));
    memcpy(at + 4, report, report_length);
    memcpy(at + 4 + report_length, object, length);
    struct atoll_id id = atoll_id_of(at, total - HEAD_BYTES);
    memcpy(bytes, magic, MAGIC_BYTES);
    memcpy(bytes + MAGIC_BYTES, key->bytes, ATOLL_ID_BYTES);
    memcpy(bytes + MAGIC_BYTES + ATOLL_ID_BYTES, id.bytes, ATOLL_ID_BYTES);
    *ret_length = total;
    return bytes;
}

void atoll_compile_cache_put(struct atoll_compile_cache *cache, const struct atoll_id *key,
                             const void *object, size_t length, const char *report)
{
    char name[ATOLL_ID_HEX], temporary[64];
    size_t total = 0;
    unsigned char *bytes = lay_out(key, object, length, report, strlen(report), &total);
    if (!bytes)
        return;
    atoll_id_hex(key, name);
    snprintf(temporary, sizeof(temporary), TEMPORARY "%ld-%p-%u", (long)getpid(), (void *)cache,
             cache->serial++);
    int fd = openat(cache->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
        int failed = atoll_write_all(fd, bytes, total) != 0;
        failed |= close(fd) != 0;
        if (failed || renameat(cache->fd, temporary, cache->fd, name) != 0)
            unlinkat(cache->fd, temporary, 0);
        else
            cache->bytes += total;
    }
    free(bytes);
    if (cache->bytes > cache->limit_bytes)
        shrink(cache);
}

/* ---- claims ---- */

static void claim_name(const struct atoll_id *key, char ret_name[ATOLL_ID_HEX + sizeof(CLAIM)])
{
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(key, hex);
    snprintf(ret_name, ATOLL_ID_HEX + sizeof(CLAIM), CLAIM "%s", hex);
}

int atoll_compile_cache_claim(struct atoll_compile_cache *cache, const struct atoll_id *key,
                              struct atoll_compile_claim *ret_claim)
{
    char name[ATOLL_ID_HEX + sizeof(CLAIM)];
    claim_name(key, name);
    int fd = openat(cache->fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int is_taken = errno == EWOULDBLOCK;
        close(fd);
        if (is_taken)
            return 0;
        fd = -1;
    }
    *ret_claim = (struct atoll_compile_claim){.fd = fd, .key = *key};
    return 1;
}

void atoll_compile_cache_unclaim(struct atoll_compile_cache *cache, struct atoll_compile_claim *claim)
{
    char name[ATOLL_ID_HEX + sizeof(CLAIM)];
    if (claim->fd < 0)
        return;
    claim_name(&claim->key, name);
    unlinkat(cache->fd, name, 0);
    close(claim->fd);
    claim->fd = -1;
}

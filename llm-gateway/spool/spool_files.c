/* spool_files.c - a name's first two digits are its folder; the file "spool" is made last: where it is, the tree is whole.
 *
 * Publishing: write aside, fsync, link to the name, fsync of the folder.  link() and not rename(), for it never replaces: of
 * two who publish, one is first.  A lost answer of an NFS server can make a link that succeeded look as if the name had been
 * there; the count of links tells. */
#include "llm-gateway/spool/spool_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/array.h"
#include "base/file.h"

#define NAME_LONGEST 64u
#define NAME_DIGITS  40    /* 160 bits of BLAKE2b: nobody will see two requests of one name */
#define FILE_LIMIT   65536 /* of one folder */
#define ATTEMPTS     4     /* of what ESTALE ended */
#define MARK         "atoll-spool 1\n"

static const char *const suffixes[] = {[ATOLL_SPOOL_REQUEST] = ".request", [ATOLL_SPOOL_REPLY] = ".reply"};

/* ---- names ---- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int atoll_spool_name_is_valid(const char *name)
{
    size_t length = strnlen(name, NAME_LONGEST + 1);
    if (length < 3 || length > NAME_LONGEST || digit_of(name[0]) < 0 || digit_of(name[1]) < 0)
        return 0;
    for (const char *c = name; *c; c++)
        if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && *c != '-' && *c != '_'))
            return 0;
    return 1;
}

unsigned atoll_spool_name_folder(const char *name)
{
    return ((unsigned)digit_of(name[0]) << 4 | (unsigned)digit_of(name[1])) & 0xff;
}

void atoll_spool_name_of(const struct atoll_llm_request *request, char ret_name[ATOLL_SPOOL_NAME_BYTES])
{
    int has_key = request->key && *request->key;
    struct atoll_id id =
        has_key ? atoll_id_of(request->key, strlen(request->key)) : atoll_llm_request_id(request);
    char hex[ATOLL_ID_HEX];
    atoll_id_hex(&id, hex);
    snprintf(ret_name, ATOLL_SPOOL_NAME_BYTES, "%.*s", NAME_DIGITS, hex);
}

int atoll_spool_name_parse(const char *file, char ret_name[ATOLL_SPOOL_NAME_BYTES],
                           enum atoll_spool_kind *ret_kind)
{
    char name[ATOLL_SPOOL_NAME_BYTES];
    const char *dot = strchr(file, '.');
    if (!dot || (size_t)(dot - file) >= sizeof(name))
        return 0;
    memcpy(name, file, (size_t)(dot - file));
    name[dot - file] = '\0';
    int is_request = strcmp(dot, suffixes[ATOLL_SPOOL_REQUEST]) == 0;
    if (!atoll_spool_name_is_valid(name) || (!is_request && strcmp(dot, suffixes[ATOLL_SPOOL_REPLY]) != 0))
        return 0;
    memcpy(ret_name, name, sizeof(name));
    *ret_kind = is_request ? ATOLL_SPOOL_REQUEST : ATOLL_SPOOL_REPLY;
    return 1;
}

void atoll_spool_path(const char *root, const char *name, enum atoll_spool_kind kind, char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/%.2s/%s%s", root, name, name, suffixes[kind]);
}

/* ---- reading ---- */

int atoll_spool_part_open(const char *root, const char *part)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, part);
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What a name's file is called in its folder, and the folder. */
struct place {
    char part[3], file[ATOLL_SPOOL_NAME_BYTES + 16];
};

static struct place place_of(const char *name, enum atoll_spool_kind kind)
{
    struct place place;
    snprintf(place.part, sizeof(place.part), "%.2s", name);
    snprintf(place.file, sizeof(place.file), "%s%s", name, suffixes[kind]);
    return place;
}

/* 0, or an errno; EFBIG beyond the buffer's limit.  Not blocking: a pipe of that name must not hold anybody up. */
static int read_once(int folder, const char *file, struct atoll_buffer *out)
{
    char piece[16384];
    struct stat status;
    ssize_t n = 1;
    int failed = 0, fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENXIO ? ELOOP : errno; /* a socket */
    if (fstat(fd, &status) != 0)
        failed = errno;
    else if (!S_ISREG(status.st_mode))
        failed = ELOOP;
    while (!failed && n > 0 && !out->failed) { /* a sparse file is larger than anybody's patience */
        n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        if (n < 0)
            failed = errno;
        else
            atoll_buffer_put_bytes(out, piece, (size_t)n);
    }
    close(fd);
    if (!failed) {
        atoll_buffer_put_u8(out, 0);
        failed = out->failed == ATOLL_E_LIMIT ? EFBIG : out->failed ? ENOMEM : 0;
        out->length -= failed == 0;
    }
    return failed;
}

/* A file of one of the parts; path: for messages. */
static int read_file(const char *root, const char *part, const char *file, const char *path,
                     struct atoll_buffer *ret_bytes, struct atoll_err *err)
{
    int failed = ESTALE;
    for (int i = 0; i < ATTEMPTS && failed == ESTALE; i++) {
        int folder = atoll_spool_part_open(root, part);
        if (folder < 0)
            return atoll_err_errno(err, errno, "%s/%s: cannot open the spool's folder", root, part);
        atoll_buffer_clear(ret_bytes);
        failed = read_once(folder, file, ret_bytes);
        close(folder);
    }
    switch (failed) {
    case 0: return 1;
    case ENOENT: return 0;
    case ELOOP: return atoll_err_set(err, ATOLL_E_INPUT, "%s: not a regular file", path);
    case EFBIG:
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: larger than %zu bytes", path,
                             ret_bytes->limit_bytes - 1);
    default: return atoll_err_errno(err, failed, "%s: cannot read", path);
    }
}

int atoll_spool_read(const char *root, const char *name, enum atoll_spool_kind kind,
                     struct atoll_buffer *ret_bytes, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct place place = place_of(name, kind);
    atoll_spool_path(root, name, kind, path);
    return read_file(root, place.part, place.file, path, ret_bytes, err);
}

int atoll_spool_is_there(const char *root, const char *name, enum atoll_spool_kind kind)
{
    struct stat status;
    struct place place = place_of(name, kind);
    int folder = atoll_spool_part_open(root, place.part);
    int is_there = folder >= 0 && fstatat(folder, place.file, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (folder >= 0)
        close(folder);
    return is_there;
}

static void remove_file(const char *root, const char *part, const char *file)
{
    for (int i = 0, failed = ESTALE; i < ATTEMPTS && failed == ESTALE; i++) {
        int folder = atoll_spool_part_open(root, part);
        if (folder < 0)
            return;
        failed = unlinkat(folder, file, 0) != 0 ? errno : 0;
        close(folder);
    }
}

void atoll_spool_remove(const char *root, const char *name, enum atoll_spool_kind kind)
{
    struct place place = place_of(name, kind);
    remove_file(root, place.part, place.file);
}

/* ---- bells ---- */

void atoll_spool_bell_ring(const char *root, unsigned folder)
{
    char file[8];
    snprintf(file, sizeof(file), "%02x", folder & 0xff);
    int bells = atoll_spool_part_open(root, "bell");
    int fd =
        bells < 0 ? -1 : openat(bells, file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd >= 0)
        close(fd);
    if (bells >= 0)
        close(bells);
}

void atoll_spool_bell_remove(const char *root, unsigned folder)
{
    char file[8];
    snprintf(file, sizeof(file), "%02x", folder & 0xff);
    remove_file(root, "bell", file);
}

/* ---- publishing ---- */

void atoll_spool_tag_draw(char ret_tag[SPOOL_TAG_BYTES])
{
    unsigned char bytes[(SPOOL_TAG_BYTES - 1) / 2];
    randombytes_buf(bytes, sizeof(bytes));
    sodium_bin2hex(ret_tag, SPOOL_TAG_BYTES, bytes, sizeof(bytes));
}

/* 0 or an errno; EEXIST: the name is taken; ENOENT: somebody cleaned the temporary file away. */
static int give_name(int folder, const char *temporary, const char *file)
{
    struct stat status;
    if (linkat(folder, temporary, folder, file, 0) == 0)
        return 0;
    switch (errno) {
    case EEXIST: return fstatat(folder, temporary, &status, 0) == 0 && status.st_nlink == 2 ? 0 : EEXIST;
    case EPERM:
    case ENOTSUP:
    case ENOSYS:
    case EMLINK: /* a file system without hard links: look, then rename */
        return fstatat(folder, file, &status, AT_SYMLINK_NOFOLLOW) == 0 ? EEXIST
               : renameat(folder, temporary, folder, file) == 0         ? 0
                                                                        : errno;
    default: return errno;
    }
}

/* 0 or an errno. */
static int write_new(int folder, const char *file, const void *bytes, size_t length)
{
    int fd = openat(folder, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    int failed = atoll_write_all(fd, bytes, length) != 0 || fsync(fd) != 0 ? errno : 0;
    if (close(fd) != 0 && !failed)
        failed = errno;
    return failed;
}

/* 1, 0 or -1 as atoll_spool_publish; temporary: in the same folder, this process's alone.  The folder is synced also for what
 * was there: who made it may have been killed before. */
static int publish(const char *root, const char *part, const char *temporary, const char *file,
                   const void *bytes, size_t length, struct atoll_err *err)
{
    char path[PATH_MAX];
    int failed = ENOENT, synced = 0;
    for (int i = 0; i < ATTEMPTS && (failed == ENOENT || failed == ESTALE); i++) {
        int folder = atoll_spool_part_open(root, part);
        if (folder < 0) {
            failed = errno;
            break;
        }
        unlinkat(folder, temporary, 0); /* never written over: it may be a second name of what stands there */
        failed = write_new(folder, temporary, bytes, length);
        failed = failed ? failed : give_name(folder, temporary, file);
        unlinkat(folder, temporary, 0);
        synced = fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
        close(folder);
    }
    snprintf(path, sizeof(path), "%s/%s/%s", root, part, file);
    if (failed && failed != EEXIST)
        return atoll_file_write_failed(path, "write the file", failed, err);
    return synced ? atoll_file_write_failed(path, "sync its folder", synced, err) : !failed;
}

int atoll_spool_publish(const char *root, const char *tag, const char *name, enum atoll_spool_kind kind,
                        const void *bytes, size_t length, struct atoll_err *err)
{
    char temporary[ATOLL_SPOOL_NAME_BYTES + SPOOL_TAG_BYTES + 16];
    struct place place = place_of(name, kind);
    snprintf(temporary, sizeof(temporary), ".%s.%s.tmp", name, tag);
    return publish(root, place.part, temporary, place.file, bytes, length, err);
}

/* ---- the tree ---- */

/* A folder of other things must not be filled with ours, and never be cleaned. */
static int refuse_foreign(const char *root, struct atoll_err *err)
{
    static const char *const parts[] = {"bell", "spool", "lease", "offer"};
    DIR *directory = opendir(root);
    if (!directory)
        return atoll_err_errno(err, errno, "%s: cannot read the folder of the spool", root);
    int failed = 0;
    for (const struct dirent *e; !failed && (e = readdir(directory));) {
        const char *file = e->d_name;
        int is_part = file[0] == '.' || (digit_of(file[0]) >= 0 && digit_of(file[1]) >= 0 && !file[2]);
        for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
            is_part |= strcmp(file, parts[i]) == 0;
        if (!is_part) {
            failed = atoll_err_set(err, ATOLL_E_INPUT,
                                   "%s: no spool, for it holds '%.64s'; name an empty folder or a new one",
                                   root, file);
        }
    }
    closedir(directory);
    return failed;
}

/* Those that are missing: a copy of a spool may have lost what was empty. */
static int make_folders(const char *root, struct atoll_err *err)
{
    char path[PATH_MAX];
    for (unsigned i = 0; i <= SPOOL_FOLDER_COUNT; i++) {
        if (i < SPOOL_FOLDER_COUNT)
            snprintf(path, sizeof(path), "%s/%02x", root, i);
        else
            snprintf(path, sizeof(path), "%s/bell", root);
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return atoll_file_write_failed(path, "make the folder", errno, err);
    }
    return 0;
}

static int make_tree(const char *root, struct atoll_err *err)
{
    char tag[SPOOL_TAG_BYTES], temporary[SPOOL_TAG_BYTES + 16];
    if (refuse_foreign(root, err) != 0 || make_folders(root, err) != 0)
        return -1;
    atoll_spool_tag_draw(tag);
    snprintf(temporary, sizeof(temporary), ".spool.%s.tmp", tag);
    return publish(root, ".", temporary, "spool", MARK, strlen(MARK), err) < 0 ? -1 : 0;
}

int atoll_spool_tree_open(const char *root, struct atoll_err *err)
{
    char mark[PATH_MAX];
    struct atoll_buffer bytes;
    if (!*root || strlen(root) >= SPOOL_ROOT_BYTES) {
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "spool '%.64s': a folder's path of at most %d bytes is expected", root,
                             SPOOL_ROOT_BYTES - 1);
    }
    if (atoll_folder_make(root, err) != 0)
        return -1;
    snprintf(mark, sizeof(mark), "%s/spool", root);
    atoll_buffer_init(&bytes, 64);
    int result = read_file(root, ".", "spool", mark, &bytes, err);
    if (result == 0) {
        result = make_tree(root, err);
    } else if (result > 0) {
        const char *text = (const char *)bytes.data;
        int is_ours = bytes.length == strlen(MARK) && memcmp(text, MARK, bytes.length) == 0;
        int is_newer = bytes.length > 12 && memcmp(text, MARK, 12) == 0;
        result =
            is_ours ? make_folders(root, err)
            : is_newer
                ? atoll_err_set(err, ATOLL_E_SCHEMA, "%s: a spool of a newer version of Atoll", mark)
                : atoll_err_set(err, ATOLL_E_INPUT, "%s: not the mark of a spool; name another folder", mark);
    }
    atoll_buffer_fini(&bytes);
    return result;
}

/* ---- one of the folders ---- */

void atoll_spool_folder_fini(struct atoll_spool_folder *folder)
{
    free(folder->entries);
    *folder = (struct atoll_spool_folder){NULL, 0, 0};
}

static int by_name(const void *a, const void *b)
{
    const struct atoll_spool_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int add(struct atoll_spool_folder *folder, const char *file, unsigned index, struct atoll_err *err)
{
    struct atoll_spool_entry entry = {.name = ""};
    enum atoll_spool_kind kind;
    if (!atoll_spool_name_parse(file, entry.name, &kind) || atoll_spool_name_folder(entry.name) != index)
        return 0; /* temporary, or nothing of ours */
    if (folder->count == FILE_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "more than %d files: remove what nobody needs", FILE_LIMIT);
    if (atoll_array_reserve(&folder->entries, &folder->capacity, folder->count + 1, sizeof(*folder->entries),
                            err))
        return atoll_err_add(err, "names of files");
    entry.has_request = kind == ATOLL_SPOOL_REQUEST;
    entry.has_reply = kind == ATOLL_SPOOL_REPLY;
    folder->entries[folder->count++] = entry;
    return 0;
}

/* 0, an errno, or -1 with err. */
static int read_names(struct atoll_spool_folder *folder, const char *root, unsigned index,
                      struct atoll_err *err)
{
    char part[8];
    snprintf(part, sizeof(part), "%02x", index & 0xff);
    int failed = 0, fd = atoll_spool_part_open(root, part);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        failed = errno;
        if (fd >= 0)
            close(fd);
        return failed;
    }
    folder->count = 0;
    while (!failed) {
        errno = 0;
        const struct dirent *e = readdir(directory);
        if (!e) {
            failed = errno;
            break;
        }
        failed = add(folder, e->d_name, index, err);
    }
    closedir(directory);
    return failed;
}

int atoll_spool_folder_read(struct atoll_spool_folder *folder, const char *root, unsigned index,
                            struct atoll_err *err)
{
    char path[PATH_MAX];
    int failed = ESTALE;
    snprintf(path, sizeof(path), "%s/%02x", root, index & 0xff);
    for (int i = 0; i < ATTEMPTS && failed == ESTALE; i++)
        failed = read_names(folder, root, index, err);
    if (failed) {
        folder->count = 0;
        if (failed == ELOOP || failed == ENOTDIR) {
            return atoll_err_set(err, ATOLL_E_INPUT,
                                 "%s: a folder of the spool is expected, and no link; remove it", path);
        }
        return failed < 0 ? atoll_err_add(err, "in the spool's folder %s", path)
                          : atoll_err_errno(err, failed, "%s: cannot read the spool's folder", path);
    }
    /* Files of one name become one entry. */
    uint32_t kept = 0;
    if (folder->count)
        qsort(folder->entries, folder->count, sizeof(*folder->entries), by_name);
    for (size_t i = 0; i < folder->count; i++) {
        const struct atoll_spool_entry *e = &folder->entries[i];
        if (!kept || by_name(&folder->entries[kept - 1], e) != 0) {
            folder->entries[kept++] = *e;
            continue;
        }
        folder->entries[kept - 1].has_request |= e->has_request;
        folder->entries[kept - 1].has_reply |= e->has_reply;
    }
    folder->count = kept;
    return 0;
}

const struct atoll_spool_entry *atoll_spool_folder_find(const struct atoll_spool_folder *folder,
                                                        const char *name)
{
    struct atoll_spool_entry key = {.name = ""};
    if (!folder->count || strlen(name) >= sizeof(key.name))
        return NULL;
    memcpy(key.name, name, strlen(name) + 1);
    return bsearch(&key, folder->entries, folder->count, sizeof(key), by_name);
}

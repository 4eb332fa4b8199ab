/* spool_path.c - a name's first two digits are its folder.  The file "spool" is made last: where it is, the tree is whole. */
#include "llm-gateway/spool/spool_path.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-gateway/budget/frame_file.h"
#include "base/file.h"
#include "llm-gateway/spool/spool_file.h"

#define NAME_LONGEST 64u
#define NAME_DIGITS  40 /* 160 bits of BLAKE2b: nobody will see two requests of one name */
#define EPOCH_LIMIT  1000000u
#define MARK         "atoll-spool 1\n"

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int atoll_spool_name_is_valid(const char *name)
{
    size_t length = strnlen(name, NAME_LONGEST + 1);
    if (length < 3 || length > NAME_LONGEST || digit_of(name[0]) < 0 || digit_of(name[1]) < 0)
        return 0;
    for (const char *c = name; *c; c++) {
        if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && *c != '-' && *c != '_'))
            return 0;
    }
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

static int parse_epoch(const char *text, unsigned *ret_epoch)
{
    unsigned epoch = 0;
    if (*text < '1' || *text > '9')
        return 0;
    for (; isdigit((unsigned char)*text); text++) {
        epoch = epoch * 10 + (unsigned)(*text - '0');
        if (epoch > EPOCH_LIMIT)
            return 0;
    }
    *ret_epoch = epoch;
    return !*text;
}

int atoll_spool_name_parse(const char *file, char ret_name[ATOLL_SPOOL_NAME_BYTES],
                           enum atoll_spool_kind *ret_kind, unsigned *ret_epoch)
{
    char name[ATOLL_SPOOL_NAME_BYTES];
    const char *dot = strchr(file, '.');
    unsigned epoch = 0;
    enum atoll_spool_kind kind;
    if (!dot || (size_t)(dot - file) >= sizeof name)
        return 0;
    memcpy(name, file, (size_t)(dot - file));
    name[dot - file] = '\0';
    if (!atoll_spool_name_is_valid(name))
        return 0;
    if (strcmp(dot, ".request") == 0)
        kind = ATOLL_SPOOL_REQUEST;
    else if (strcmp(dot, ".reply") == 0)
        kind = ATOLL_SPOOL_REPLY;
    else if (strncmp(dot, ".lease-", 7) == 0 && parse_epoch(dot + 7, &epoch))
        kind = ATOLL_SPOOL_LEASE;
    else
        return 0;
    memcpy(ret_name, name, sizeof name);
    *ret_kind = kind;
    *ret_epoch = epoch;
    return 1;
}

void atoll_spool_path(const char *root, const char *name, enum atoll_spool_kind kind, unsigned epoch,
                      char ret_path[PATH_MAX])
{
    static const char *const suffixes[] = {"request", "reply", "lease"};
    int length = snprintf(ret_path, PATH_MAX, "%s/%.2s/%s.%s", root, name, name, suffixes[kind]);
    if (kind == ATOLL_SPOOL_LEASE && length > 0 && length < PATH_MAX)
        snprintf(ret_path + length, (size_t)(PATH_MAX - length), "-%u", epoch);
}

void atoll_spool_path_temporary(const char *root, const char *name, const char *tag, char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/%.2s/.%s.%s.tmp", root, name, name, tag);
}

void atoll_spool_path_folder(const char *root, unsigned folder, char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/%02x", root, folder & 0xff);
}

void atoll_spool_path_bell(const char *root, unsigned folder, char ret_path[PATH_MAX])
{
    snprintf(ret_path, PATH_MAX, "%s/bell/%02x", root, folder & 0xff);
}

/* ---- the tree ---- */

static int is_part(const char *file)
{
    return file[0] == '.' || strcmp(file, "bell") == 0 || strcmp(file, "spool") == 0 ||
           (digit_of(file[0]) >= 0 && digit_of(file[1]) >= 0 && !file[2]);
}

/* A folder of other things must not be filled with ours, and never be cleaned. */
static int refuse_foreign(const char *root, struct atoll_err *err)
{
    DIR *directory = opendir(root);
    if (!directory)
        return atoll_err_errno(err, errno, "%s: cannot read the folder of the spool", root);
    int failed = 0;
    for (const struct dirent *e; !failed && (e = readdir(directory));) {
        if (!is_part(e->d_name))
            failed = atoll_err_set(err, ATOLL_E_INPUT,
                                   "%s: no spool, for it holds '%.64s'; name an empty folder or a new one",
                                   root, e->d_name);
    }
    closedir(directory);
    return failed;
}

static int check_mark(const char *path, const char *bytes, size_t length, struct atoll_err *err)
{
    if (length == strlen(MARK) && memcmp(bytes, MARK, length) == 0)
        return 0;
    if (length > 12 && memcmp(bytes, MARK, 12) == 0)
        return atoll_err_set(err, ATOLL_E_SCHEMA, "%s: a spool of a newer version of Atoll", path);
    return atoll_err_set(err, ATOLL_E_INPUT, "%s: not the mark of a spool; name another folder", path);
}

static int make_tree(const char *root, struct atoll_err *err)
{
    const struct atoll_frame_file_ops *ops = atoll_frame_file_real_ops();
    char path[PATH_MAX];
    if (refuse_foreign(root, err) != 0)
        return -1;
    for (unsigned i = 0; i <= SPOOL_FOLDER_COUNT; i++) {
        if (i < SPOOL_FOLDER_COUNT)
            atoll_spool_path_folder(root, i, path);
        else
            snprintf(path, sizeof path, "%s/bell", root);
        if (ops->mkdir(ops->context, path, 0777) != 0 && errno != EEXIST)
            return atoll_frame_file_write_failed(path, "make the folder", errno, err);
    }
    char mark[PATH_MAX], temporary[PATH_MAX], tag[SPOOL_TAG_BYTES];
    atoll_spool_tag_draw(tag);
    snprintf(mark, sizeof mark, "%s/spool", root);
    snprintf(temporary, sizeof temporary, "%s/.spool.%s.tmp", root, tag);
    return atoll_spool_file_publish(temporary, mark, MARK, strlen(MARK), err) < 0 ? -1 : 0;
}

int atoll_spool_tree_open(const char *root, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_buffer bytes;
    if (!*root || strlen(root) >= SPOOL_ROOT_BYTES)
        return atoll_err_set(err, ATOLL_E_INPUT,
                             "spool '%.64s': a folder's path of at most %d bytes is expected", root,
                             SPOOL_ROOT_BYTES - 1);
    if (atoll_folder_make_parents(root, err) != 0 ||
        atoll_frame_file_make_folder(atoll_frame_file_real_ops(), root, err) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/spool", root);
    atoll_buffer_init(&bytes, 64);
    int found = atoll_spool_file_read(path, &bytes, err);
    int result = found < 0    ? -1
                 : found == 0 ? make_tree(root, err)
                              : check_mark(path, (const char *)bytes.data, bytes.length, err);
    atoll_buffer_fini(&bytes);
    return result;
}

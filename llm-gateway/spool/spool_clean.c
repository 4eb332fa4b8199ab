/* spool_clean.c - ages are times of files against the time that the same file system gives to a file made now: so neither
 * this machine's clock nor the asker's counts. */
#include "llm-gateway/spool/spool_clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-gateway/budget/frame_file.h"
#include "llm-gateway/spool/spool_file.h"

#define LEFTOVER_S 600.0 /* nobody writes a file for so long */

struct cleaning {
    const char *root;
    const struct atoll_spool_folder *folder;
    const struct atoll_spool_shelf *shelf;
    double now_s, keep_s;
};

static double seconds(const struct stat *status)
{
    return (double)status->st_mtim.tv_sec + (double)status->st_mtim.tv_nsec * 1e-9;
}

int atoll_spool_clean_clock(const char *root, const char *tag, double *ret_now_s, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct stat status = {.st_size = 0};
    if ((size_t)snprintf(path, sizeof path, "%s/.clock.%s.tmp", root, tag) >= sizeof path)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s...", root);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0)
        return atoll_frame_file_write_failed(path, "create the file", errno, err);
    int failed = write(fd, "\n", 1) != 1 || fstat(fd, &status) != 0 ? errno : 0;
    close(fd);
    atoll_spool_file_remove(path);
    if (failed)
        return atoll_frame_file_write_failed(path, "write the file", failed, err);
    *ret_now_s = seconds(&status);
    return 0;
}

static int is_temporary(const char *file)
{
    size_t length = strlen(file);
    return file[0] == '.' && length > 4 && strcmp(file + length - 4, ".tmp") == 0;
}

/* How old a file must be to go; infinite: it stays. */
static double lifetime_s(const struct cleaning *c, const char *file)
{
    char name[ATOLL_SPOOL_NAME_BYTES];
    enum atoll_spool_kind kind;
    unsigned epoch;
    double leftover_s = fmin(LEFTOVER_S, c->keep_s);
    if (is_temporary(file))
        return leftover_s;
    if (!atoll_spool_name_parse(file, name, &kind, &epoch) || kind == ATOLL_SPOOL_REQUEST)
        return INFINITY;
    if (kind == ATOLL_SPOOL_REPLY)
        return c->keep_s;
    const struct atoll_spool_entry *entry = atoll_spool_folder_find(c->folder, name);
    const struct atoll_spool_note *note = atoll_spool_shelf_find(c->shelf, name);
    if ((note && note->is_held && note->epoch == epoch) || !entry)
        return INFINITY;
    return entry->has_reply || !entry->has_request || entry->lease > epoch ? leftover_s : INFINITY;
}

static void remove_aged(const struct cleaning *c, const char *path, const char *file)
{
    char name[ATOLL_SPOOL_NAME_BYTES], request[PATH_MAX];
    enum atoll_spool_kind kind;
    unsigned epoch;
    struct stat status;
    double lifetime = lifetime_s(c, file);
    if (isinf(lifetime) || lstat(path, &status) != 0 || c->now_s - seconds(&status) < lifetime)
        return;
    if (atoll_spool_name_parse(file, name, &kind, &epoch) && kind == ATOLL_SPOOL_REPLY) {
        atoll_spool_path(c->root, name, ATOLL_SPOOL_REQUEST, 0, request);
        atoll_spool_file_remove(request); /* first: without its reply it would be answered again */
    }
    atoll_spool_file_remove(path);
}

static int clean_names(const struct cleaning *c, unsigned index, struct atoll_err *err)
{
    char path[PATH_MAX];
    atoll_spool_path_folder(c->root, index, path);
    DIR *directory = opendir(path);
    if (!directory)
        return atoll_err_errno(err, errno, "%s: cannot read the spool's folder", path);
    size_t length = strlen(path);
    for (const struct dirent *e; (e = readdir(directory));) {
        if ((size_t)snprintf(path + length, sizeof path - length, "/%s", e->d_name) < sizeof path - length)
            remove_aged(c, path, e->d_name);
    }
    closedir(directory);
    return 0;
}

int atoll_spool_clean_folder(const char *root, unsigned index, double keep_s, double now_s,
                             const struct atoll_spool_shelf *shelf, struct atoll_err *err)
{
    struct atoll_spool_folder folder;
    struct cleaning cleaning = {root, &folder, shelf, now_s, keep_s > 0.0 ? keep_s : 0.0};
    atoll_spool_folder_init(&folder);
    int failed =
        atoll_spool_folder_read(&folder, root, index, err) != 0 || clean_names(&cleaning, index, err) != 0;
    atoll_spool_folder_fini(&folder);
    return failed ? -1 : 0;
}

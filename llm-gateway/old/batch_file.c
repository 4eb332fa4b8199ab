/* batch_file.c - one small file per batch under way: its provider's number and its items' ids.  Written before anybody
 * may wait for it, by rename; a file that does not read is left where it is and reported. */
#include "llm-gateway/old/batch_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define VERSION 1
#define KEPT_S  (29.0 * 86400.0) /* providers keep results for 29 or 30 days */

int atoll_batch_is_name(const char *name)
{
    static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    return *name && *name != '.' && strlen(name) < ATOLL_BATCH_NAME && name[strspn(name, characters)] == '\0';
}

static int path_of(const struct atoll_batch *batch, const char *end, char *ret_path, size_t bytes,
                   struct atoll_err *err)
{
    const struct atoll_batch_settings *settings = &batch->owner->settings;
    int length = snprintf(ret_path, bytes, "%s/%s.%s%s", settings->folder, settings->endpoint->name,
                          batch->number, end);
    if (length < 0 || (size_t)length >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "batch: path too long: %.80s...", settings->folder);
    return 0;
}

static char *text_of(const struct atoll_batch *batch)
{
    json_t *ids = json_array();
    for (const struct atoll_batch_item *item = batch->items; item; item = item->next)
        json_array_append_new(ids, json_string(item->id));
    json_t *state = json_pack("{s:i, s:s, s:s, s:o}", "version", VERSION, "endpoint",
                              batch->owner->settings.endpoint->name, "batch", batch->number, "ids", ids);
    char *text = state ? json_dumps(state, JSON_COMPACT) : NULL;
    json_decref(state);
    return text;
}

static int sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return result;
}

static int write_file(const char *path, const char *text, struct atoll_err *err)
{
    size_t length = strlen(text), done = 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return atoll_err_errno(err, errno, "%s", path);
    while (done < length) {
        ssize_t count = write(fd, text + done, length - done);
        if (count <= 0 && errno != EINTR)
            break;
        done += count > 0 ? (size_t)count : 0;
    }
    int result = done < length || fsync(fd) ? atoll_err_errno(err, errno, "%s", path) : 0;
    close(fd);
    return result;
}

int atoll_batch_save(const struct atoll_batch *batch, struct atoll_err *err)
{
    char path[4096], temporary[4096];
    const char *folder = batch->owner->settings.folder;
    if (path_of(batch, ".json", path, sizeof path, err) ||
        path_of(batch, ".new", temporary, sizeof temporary, err))
        return -1;
    if (mkdir(folder, 0700) && errno != EEXIST)
        return atoll_err_errno(err, errno, "%s", folder);
    char *text = text_of(batch);
    if (!text)
        return atoll_err_set(err, ATOLL_E_MEMORY, "batch: no memory for its file");
    int result = write_file(temporary, text, err);
    free(text);
    if (result == 0 && (rename(temporary, path) || sync_folder(folder)))
        result = atoll_err_errno(err, errno, "%s", path);
    return result;
}

void atoll_batch_remove(const struct atoll_batch *batch)
{
    char path[4096];
    if (batch->number[0] && path_of(batch, ".json", path, sizeof path, NULL) == 0)
        unlink(path);
}

/* ---- earlier lives ---- */

static int take(struct atoll_batches *batches, const json_t *state, struct atoll_err *err)
{
    const char *number = json_string_value(json_object_get(state, "batch"));
    const json_t *ids = json_object_get(state, "ids"), *value;
    size_t i;
    if (json_integer_value(json_object_get(state, "version")) != VERSION || !number ||
        !atoll_batch_is_name(number) || !json_is_array(ids))
        return atoll_err_set(err, ATOLL_E_CORRUPT, "no batch's file");
    struct atoll_batch *batch = atoll_batch_create(batches, err);
    if (!batch)
        return -1;
    snprintf(batch->number, sizeof batch->number, "%s", number);
    batch->step = ATOLL_BATCH_ENDED;
    json_array_foreach(ids, i, value)
    {
        const char *id = json_string_value(value);
        if (id && atoll_batch_is_name(id) && strlen(id) < ATOLL_BATCH_ID_BYTES &&
            !atoll_batch_item(batches, id) && !atoll_batch_add_item(batch, id, err))
            return -1;
    }
    return 0;
}

static int is_ours(const struct atoll_batches *batches, const char *name)
{
    const char *endpoint = batches->settings.endpoint->name;
    size_t length = strlen(endpoint), all = strlen(name);
    return all > length + 6 && strncmp(name, endpoint, length) == 0 && name[length] == '.' &&
           strcmp(name + all - 5, ".json") == 0;
}

static void load_one(struct atoll_batches *batches, const char *path)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct stat status;
    if (stat(path, &status) == 0 && difftime(time(NULL), status.st_mtime) > KEPT_S) {
        unlink(path);
        return;
    }
    json_t *state = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (take(batches, state, &err)) {
        atoll_err_add(&err, "%s stays where it is", path);
        atoll_log_err(ATOLL_LOG_WARNING, "gateway.batch.file", &err);
    }
    json_decref(state);
}

int atoll_batches_load(struct atoll_batches *batches, struct atoll_err *err)
{
    DIR *folder = opendir(batches->settings.folder);
    if (!folder && errno != ENOENT)
        return atoll_err_errno(err, errno, "%s", batches->settings.folder);
    for (const struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s/%s", batches->settings.folder, entry->d_name);
        if (length > 0 && (size_t)length < sizeof path && is_ours(batches, entry->d_name))
            load_one(batches, path);
    }
    if (folder)
        closedir(folder);
    return 0;
}

#include "scheduler/campaign/campaign_queue.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/print.h"
#include "base/buffer.h"

#define ENTRY_LIMIT 4096
#define SUFFIX      ".json"

int atoll_campaign_queue_folder(char *ret_path, size_t bytes, struct atoll_err *err)
{
    const char *own = getenv("ATOLL_QUEUE"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length;

    if (own && *own) /* jobs get it too, and work elsewhere */
        return atoll_folder_absolute(own, ret_path, bytes, err);
    if (data && *data == '/') {
        length = snprintf(ret_path, bytes, "%s/atoll/queue", data);
    } else if (home && *home == '/') {
        length = snprintf(ret_path, bytes, "%s/.local/share/atoll/queue", home);
    } else {
        return atoll_err_set(
            err, ATOLL_E_MISSING,
            "there is no home directory to keep the queue in; set ATOLL_QUEUE to a folder of yours");
    }
    return length >= 0 && (size_t)length < bytes
               ? 0
               : atoll_err_set(err, ATOLL_E_LIMIT, "the path of the queue's folder is too long");
}

static int is_id(const char *id)
{
    return *id && strspn(id, "0123456789abcdef") == strlen(id);
}

static int entry_path(const char *id, char path[PATH_MAX], struct atoll_err *err)
{
    char dir[PATH_MAX];

    if (atoll_campaign_queue_folder(dir, sizeof(dir), err) != 0)
        return -1;
    if (!is_id(id) || snprintf(path, PATH_MAX, "%s/%.64s%s", dir, id, SUFFIX) >= PATH_MAX)
        return atoll_err_set(err, ATOLL_E_INPUT, "'%.80s' is no campaign's id", id);
    return 0;
}

/* ---- one entry ---- */

static void entry_fini(struct atoll_campaign_queue_entry *entry)
{
    for (size_t i = 0; i < entry->after_count; i++)
        free(entry->after[i]);
    free(entry->after);
    free(entry->id);
    free(entry->campaign);
}

static int entry_fill(const json_t *object, struct atoll_campaign_queue_entry *entry)
{
    const char *id = json_string_value(json_object_get(object, "id"));
    const char *campaign = json_string_value(json_object_get(object, "campaign"));
    const json_t *after = json_object_get(object, "after");
    size_t count = json_array_size(after);

    *entry = (struct atoll_campaign_queue_entry){
        .priority = json_number_value(json_object_get(object, "priority")),
        .share = json_number_value(json_object_get(object, "share")),
        .added_unix_s = json_integer_value(json_object_get(object, "added_unix_s"))};
    if (!id || !is_id(id) || !campaign || *campaign != '/' || !(entry->share > 0) ||
        (after && !json_is_array(after)) || count > ATOLL_QUEUE_AFTER_LIMIT) {
        return -1;
    }
    entry->id = strdup(id);
    entry->campaign = strdup(campaign);
    entry->after = calloc(count + 1, sizeof(*entry->after));
    for (size_t i = 0; entry->after && i < count; i++) {
        const char *other = json_string_value(json_array_get(after, i));

        entry->after[entry->after_count] = other ? strdup(other) : NULL;
        entry->after_count += entry->after[entry->after_count] != NULL;
    }
    return entry->id && entry->campaign && entry->after && entry->after_count == count ? 0 : -1;
}

int atoll_campaign_queue_put(const struct atoll_campaign_queue_entry *entry, struct atoll_err *err)
{
    char path[PATH_MAX];
    json_t *after = json_array(), *object;
    char *text;
    int status;

    if (entry_path(entry->id, path, err) != 0 || atoll_folder_make_parents(path, err) != 0) {
        json_decref(after);
        return -1;
    }
    for (size_t i = 0; i < entry->after_count; i++)
        json_array_append_new(after, json_string(entry->after[i]));
    object = json_pack("{s:s, s:s, s:f, s:f, s:I, s:o}", "id", entry->id, "campaign", entry->campaign,
                       "priority", entry->priority, "share", entry->share, "added_unix_s",
                       (json_int_t)entry->added_unix_s, "after", after);
    text = object ? json_dumps(object, JSON_INDENT(1)) : NULL;
    status =
        text ? atoll_file_replace(atoll_file_ops_real(), path, text, strlen(text), err)
             : atoll_err_set(err, ATOLL_E_INPUT, "%.200s: its path is not text in UTF-8", entry->campaign);
    free(text);
    json_decref(object);
    return status;
}

int atoll_campaign_queue_remove(const char *id, struct atoll_err *err)
{
    char path[PATH_MAX];

    if (entry_path(id, path, err) != 0)
        return -1;
    return unlink(path) == 0 || errno == ENOENT ? 0 : atoll_err_errno(err, errno, "%s: cannot remove", path);
}

/* ---- all ---- */

static int by_priority(const void *a, const void *b)
{
    const struct atoll_campaign_queue_entry *x = a, *y = b;

    if (x->priority > y->priority || x->priority < y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (x->added_unix_s != y->added_unix_s)
        return x->added_unix_s < y->added_unix_s ? -1 : 1;
    return strcmp(x->id, y->id);
}

static int is_entry(const char *name)
{
    size_t length = strlen(name), suffix = strlen(SUFFIX);

    return name[0] != '.' && length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

static int entry_add(struct atoll_campaign_queue *queue, const char *name, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_campaign_queue_entry *grown = realloc(queue->entries, (queue->count + 1) * sizeof(*grown));
    struct atoll_campaign_queue_entry *entry;
    json_error_t why;
    json_t *object;
    int is_good;

    if (!grown)
        return atoll_err_set(err, ATOLL_E_MEMORY, "no memory for the queue");
    queue->entries = grown;
    if (snprintf(path, sizeof(path), "%s/%s", queue->dir, name) >= (int)sizeof(path))
        return 0;
    entry = &grown[queue->count];
    *entry = (struct atoll_campaign_queue_entry){0};
    object = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    is_good = object && entry_fill(object, entry) == 0;
    json_decref(object);
    /* A copy under another name would want the campaign's jobs a second time. */
    if (is_good && strncmp(name, entry->id, strlen(entry->id)) == 0 &&
        strcmp(name + strlen(entry->id), SUFFIX) == 0) {
        queue->count++;
        return 0;
    }
    entry_fini(entry);
    if (access(path, F_OK) == 0) /* not taken out a moment ago */
        atoll_print(stderr, "atoll: warning: %s is no entry of a queue and is passed over; remove it\n",
                    path);
    return 0;
}

int atoll_campaign_queue_load(struct atoll_campaign_queue *ret_queue, struct atoll_err *err)
{
    char dir[PATH_MAX];
    DIR *folder;
    int status = 0;

    *ret_queue = (struct atoll_campaign_queue){0};
    if (atoll_campaign_queue_folder(dir, sizeof(dir), err) != 0 || atoll_folder_make(dir, err) != 0)
        return -1;
    ret_queue->dir = strdup(dir);
    folder = ret_queue->dir ? opendir(dir) : NULL;
    if (!folder) {
        atoll_err_errno(err, errno, "%s: cannot read the queue", dir);
        atoll_campaign_queue_fini(ret_queue);
        return -1;
    }
    for (struct dirent *e; status == 0 && ret_queue->count < ENTRY_LIMIT && (e = readdir(folder));)
        status = is_entry(e->d_name) ? entry_add(ret_queue, e->d_name, err) : 0;
    closedir(folder);
    if (status != 0) {
        atoll_campaign_queue_fini(ret_queue);
        return -1;
    }
    if (ret_queue->count)
        qsort(ret_queue->entries, ret_queue->count, sizeof(*ret_queue->entries), by_priority);
    return 0;
}

void atoll_campaign_queue_fini(struct atoll_campaign_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        entry_fini(&queue->entries[i]);
    free(queue->entries);
    free(queue->dir);
    *queue = (struct atoll_campaign_queue){0};
}

const struct atoll_campaign_queue_entry *atoll_campaign_queue_find(const struct atoll_campaign_queue *queue,
                                                                   const char *id)
{
    for (size_t i = 0; i < queue->count; i++)
        if (strcmp(queue->entries[i].id, id) == 0)
            return &queue->entries[i];
    return NULL;
}

/* campaign.c - the directory of a campaign.
 * Creation commits with campaign.yaml: everything else is durable before that file is renamed into place, so
 * a killed create leaves a folder that a later create may take over. */
#include "archive-h5/campaign/campaign.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign_state.h"
#include "archive-h5/campaign/knowledge.h"
#include "archive-h5/campaign/prior.h"
#include "archive-h5/campaign/config.h"
#include "base/arena.h"
#include "base/lock.h"

#define CONFIG_LIMIT_BYTES ((size_t)4 << 20)
#define COPY_FILE_LIMIT    256
#define COPY_DEPTH_LIMIT   3
#define ARENA_LIMIT_BYTES  ((size_t)32 << 20)

int atoll_campaign_path(const struct atoll_campaign *c, char *ret_path, size_t bytes, const char *name,
                        struct atoll_err *err)
{
    if ((size_t)snprintf(ret_path, bytes, "%s/%s", c->dir, name) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s.../%s", c->dir, name);
    return 0;
}

int atoll_campaign_lock(struct atoll_campaign *c, struct atoll_err *err)
{
    char path[PATH_MAX];
    if (c->lock_fd >= 0)
        return 0;
    if (atoll_campaign_path(c, path, sizeof(path), "campaign.lock", err) != 0)
        return -1;
    return atoll_lock_take(path, &c->lock_fd, err);
}

int atoll_campaign_has_no_locks(const struct atoll_err *err)
{
    return err->sys_errno == ENOLCK || err->sys_errno == EOPNOTSUPP || err->sys_errno == ENOSYS ||
           err->sys_errno == EINVAL;
}

int atoll_campaign_is_held(const struct atoll_campaign *c)
{
    return c->lock_fd >= 0 || c->lease;
}

/* Without locks the lease keeps two creators apart. */
int atoll_campaign_hold_new(struct atoll_campaign *c, struct atoll_err *err)
{
    struct atoll_err own = ATOLL_ERR_INIT;
    struct atoll_lease_holder self;
    if (atoll_campaign_lock(c, &own) == 0)
        return 0;
    if (!atoll_campaign_has_no_locks(&own)) {
        if (err)
            *err = own;
        return -1;
    }
    atoll_lease_holder_self("create", 0, &self);
    c->lease = atoll_lease_claim(c->dir, &self, 0, c->ops, err);
    return c->lease ? 0 : -1;
}

/* The lock first: whoever finds the lease released finds the lock free. */
void atoll_campaign_let_go(struct atoll_campaign *c)
{
    atoll_lock_release(c->lock_fd);
    c->lock_fd = -1;
    atoll_lease_release(c->lease);
    c->lease = NULL;
}

struct atoll_lease *atoll_campaign_lease(const struct atoll_campaign *c)
{
    return c->lease;
}

static struct atoll_campaign *new_campaign(const char *dir, const struct atoll_file_ops *ops,
                                           struct atoll_err *err)
{
    struct atoll_campaign *c = calloc(1, sizeof(*c));
    if (!c || !(c->seen = calloc(1, sizeof(*c->seen)))) {
        free(c);
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory for a campaign");
        return NULL;
    }
    c->lock_fd = -1;
    c->ops = ops ? ops : atoll_file_ops_real();
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    if (!(c->arena = atoll_arena_create(ARENA_LIMIT_BYTES, err)) ||
        !(c->dir = atoll_arena_text(c->arena, dir, length, err))) {
        atoll_campaign_close(c);
        return NULL;
    }
    return c;
}

void atoll_campaign_close(struct atoll_campaign *c)
{
    if (!c)
        return;
    atoll_campaign_let_go(c);
    atoll_arena_destroy(c->arena);
    free(c->seen);
    free(c);
}

void atoll_campaign_on_life(struct atoll_campaign *c, void (*alive)(void *context), void *context)
{
    c->alive = alive;
    c->alive_context = context;
}

/* The copies of the tasks, by path. */
static int place_tasks(struct atoll_campaign *c, struct atoll_err *err)
{
    struct atoll_campaign_task *tasks =
        atoll_arena_alloc_array(c->arena, c->config.task_count, sizeof(*tasks), err);
    if (!tasks)
        return -1;
    for (size_t i = 0; i < c->config.task_count; i++) {
        char name[128], path[PATH_MAX];
        tasks[i] = c->config.tasks[i];
        snprintf(name, sizeof(name), "tasks/%.63s", tasks[i].name);
        if (atoll_campaign_path(c, path, sizeof(path), name, err) != 0 ||
            !(tasks[i].dir = atoll_arena_text(c->arena, path, strlen(path), err))) {
            return -1;
        }
    }
    c->config.tasks = tasks;
    return 0;
}

/* A campaign is begun in an empty folder: one that holds other things is not suggested for it. */
static int say_no_campaign(const char *dir, struct atoll_err *err)
{
    char below[NAME_MAX + 1] = "";
    DIR *folder = opendir(dir);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        char path[PATH_MAX];
        if (e->d_name[0] != '.' &&
            snprintf(path, sizeof(path), "%s/%s/campaign.yaml", dir, e->d_name) < (int)sizeof(path) &&
            access(path, F_OK) == 0 && (!*below || strcmp(e->d_name, below) < 0))
            snprintf(below, sizeof(below), "%s", e->d_name);
    }
    if (folder)
        closedir(folder);
    atoll_err_set(err, ATOLL_E_NOTFOUND, "%s: is not a campaign (no campaign.yaml in it)", dir);
    if (*below)
        return atoll_err_add(err, "did you mean '%s/%s'?", dir, below);
    return atoll_folder_is_empty(dir) ? atoll_err_add(err, "start one with atoll run SUITE -o %s", dir)
                                      : atoll_err_add(err, "name the folder that was given to atoll run -o");
}

static int load_config(struct atoll_campaign *c, struct atoll_err *err)
{
    struct atoll_err local = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    size_t length;
    if (atoll_campaign_path(c, path, sizeof(path), "campaign.yaml", err) != 0)
        return -1;
    char *text = atoll_file_read(path, CONFIG_LIMIT_BYTES, &length, &local);
    if (!text && local.code == ATOLL_E_NOTFOUND)
        return say_no_campaign(c->dir, err);
    if (!text && local.sys_errno == ENOTDIR)
        return atoll_err_set(err, ATOLL_E_NOTFOUND,
                             "%s: is a file and no campaign; name the folder that was given to atoll run -o",
                             c->dir);
    if (!text) {
        if (err)
            *err = local;
        return -1;
    }
    int failed = atoll_config_read(text, length, path, c->arena, &c->config, err);
    free(text);
    return failed ? -1 : place_tasks(c, err);
}

struct atoll_campaign *atoll_campaign_open(const char *dir, const struct atoll_file_ops *ops,
                                           struct atoll_err *err)
{
    struct atoll_campaign *c = new_campaign(dir, ops, err);
    if (c && load_config(c, err) != 0) {
        atoll_campaign_close(c);
        return NULL;
    }
    return c;
}

/* A folder may become a campaign when it holds nothing, or only what a killed create leaves. */
static int check_folder(const char *dir, struct atoll_err *err)
{
    static const char *const leftovers[] = {".",
                                            "..",
                                            "campaign.lock",
                                            "campaign.yaml.tmp",
                                            "tasks",
                                            "jobs",
                                            ATOLL_PRIOR_FILE,
                                            (ATOLL_PRIOR_FILE ".tmp"),
                                            ATOLL_CAMPAIGN_KNOWLEDGE_FILE,
                                            (ATOLL_CAMPAIGN_KNOWLEDGE_FILE ".tmp"),
                                            "lease"};
    const size_t leftover_count = sizeof(leftovers) / sizeof(*leftovers);
    int failed = 0;
    DIR *d = opendir(dir);
    if (!d && errno == ENOTDIR)
        return atoll_err_set(err, ATOLL_E_EXISTS, "%s: is a file; choose a folder, new or empty", dir);
    if (!d)
        return atoll_err_errno(err, errno, "%s: cannot open the folder", dir);
    if (faccessat(dirfd(d), "campaign.yaml", F_OK, 0) == 0) {
        closedir(d);
        return atoll_err_set(
            err, ATOLL_E_EXISTS,
            "%s: holds a campaign already; go on with `atoll resume %s` or choose another folder", dir, dir);
    }
    for (struct dirent *e; !failed && (e = readdir(d));) {
        size_t i = 0;
        while (i < leftover_count && strcmp(e->d_name, leftovers[i]) != 0)
            i++;
        if (i == leftover_count) {
            failed = atoll_err_set(err, ATOLL_E_EXISTS,
                                   "%s: is not empty (%s is there); choose another folder", dir, e->d_name);
        }
    }
    closedir(d);
    return failed;
}

static int check_tasks(const struct atoll_config *config, struct atoll_err *err)
{
    if (config->task_count == 0 || config->task_count > ATOLL_CAMPAIGN_TASK_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "a campaign has 1 to %d tasks, not %zu",
                             ATOLL_CAMPAIGN_TASK_LIMIT, config->task_count);
    }
    if (config->option_count > ATOLL_CAMPAIGN_OPTION_LIMIT) {
        return atoll_err_set(err, ATOLL_E_LIMIT, "a campaign keeps up to %d options",
                             ATOLL_CAMPAIGN_OPTION_LIMIT);
    }
    for (size_t i = 0; i < config->task_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (!strcmp(config->tasks[i].name, config->tasks[k].name)) {
                return atoll_err_set(err, ATOLL_E_INPUT, "two tasks are named %s (%s and %s); rename one",
                                     config->tasks[i].name, config->tasks[k].dir, config->tasks[i].dir);
            }
        }
    }
    return 0;
}

/* ---- copies of the tasks ---- */

struct copy {
    const struct atoll_file_ops *ops;
    unsigned file_count, depth;
};

/* Regular files and folders of `from` to `to` (made; files there are replaced), each synced.  Hidden files are left out. */
static int copy_directory(struct copy *c, const char *from, const char *to, struct atoll_err *err)
{
    char source[PATH_MAX], target[PATH_MAX];
    int failed = 0;
    if (c->depth == COPY_DEPTH_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "%s: folders nested deeper than %d", from, COPY_DEPTH_LIMIT);
    DIR *d = opendir(from);
    if (!d)
        return atoll_err_errno(err, errno, "%s: cannot open the task's folder", from);
    c->depth++;
    failed = atoll_file_make_directory(c->ops, to, 1, err);
    for (struct dirent *e; !failed && (e = readdir(d));) {
        struct stat st;
        size_t length;
        if (e->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(source, sizeof(source), "%s/%s", from, e->d_name) >= sizeof(source) ||
            (size_t)snprintf(target, sizeof(target), "%s/%s", to, e->d_name) >= sizeof(target)) {
            failed = atoll_err_set(err, ATOLL_E_LIMIT, "%s: path too long", e->d_name);
        } else if (stat(source, &st) != 0) {
            failed = atoll_err_errno(err, errno, "%s: cannot read", source);
        } else if (S_ISDIR(st.st_mode)) {
            failed = copy_directory(c, source, target, err);
        } else if (++c->file_count > COPY_FILE_LIMIT) {
            failed = atoll_err_set(err, ATOLL_E_LIMIT, "%s: the task has more than %d files", source,
                                   COPY_FILE_LIMIT);
        } else {
            char *bytes = atoll_file_read(source, ATOLL_TASK_FILE_LIMIT, &length, err);
            failed = bytes ? atoll_file_write(c->ops, target, bytes, length, err) : -1;
            free(bytes);
        }
    }
    c->depth--;
    closedir(d);
    return failed ? -1 : atoll_file_sync_directory(c->ops, to, err);
}

static int copy_tasks(struct atoll_campaign *c, const struct atoll_config *config, struct atoll_err *err)
{
    char path[PATH_MAX], name[128];
    if (atoll_campaign_path(c, path, sizeof(path), "jobs", err) != 0 ||
        atoll_file_make_directory(c->ops, path, 1, err) != 0) {
        return -1;
    }
    if (atoll_campaign_path(c, path, sizeof(path), "tasks", err) != 0 ||
        atoll_file_make_directory(c->ops, path, 1, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < config->task_count; i++) {
        snprintf(name, sizeof(name), "tasks/%.63s", config->tasks[i].name);
        if (atoll_campaign_path(c, path, sizeof(path), name, err) != 0 ||
            copy_directory(&(struct copy){.ops = c->ops}, config->tasks[i].dir, path, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int write_config(struct atoll_campaign *c, const struct atoll_config *config, struct atoll_err *err)
{
    struct atoll_config own = *config;
    struct atoll_buffer text;
    char path[PATH_MAX];
    own.schema = ATOLL_CAMPAIGN_SCHEMA;
    atoll_buffer_init(&text, CONFIG_LIMIT_BYTES);
    int failed = atoll_config_write(&own, &text, err) != 0 ||
                 atoll_campaign_path(c, path, sizeof(path), "campaign.yaml", err) != 0 ||
                 atoll_file_replace(c->ops, path, text.data, text.length, err) != 0;
    atoll_buffer_fini(&text);
    return failed ? -1 : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

/* What a create that found no space has made, under its lock; the folder itself where that was made, too. */
static void take_back(struct atoll_campaign *c, int is_own_folder)
{
    static const char *const files[] = {"campaign.yaml.tmp",
                                        ATOLL_PRIOR_FILE,
                                        (ATOLL_PRIOR_FILE ".tmp"),
                                        ATOLL_CAMPAIGN_KNOWLEDGE_FILE,
                                        (ATOLL_CAMPAIGN_KNOWLEDGE_FILE ".tmp"),
                                        "jobs"};
    char path[PATH_MAX];
    if (atoll_campaign_path(c, path, sizeof(path), "tasks", NULL) == 0)
        nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        if (atoll_campaign_path(c, path, sizeof(path), files[i], NULL) == 0)
            remove(path);
    if (is_own_folder && atoll_campaign_path(c, path, sizeof(path), "campaign.lock", NULL) == 0) {
        remove(path);
        rmdir(c->dir);
    }
}

/* A file that the campaign begins with; NULL: it has none. */
static int write_given(struct atoll_campaign *c, const char *name, const void *bytes, size_t length,
                       struct atoll_err *err)
{
    char path[PATH_MAX];
    if (!bytes)
        return 0;
    return atoll_campaign_path(c, path, sizeof(path), name, err) != 0
               ? -1
               : atoll_file_replace(c->ops, path, bytes, length, err);
}

struct atoll_campaign *atoll_campaign_create(const char *dir, const struct atoll_config *config,
                                             const struct atoll_file_ops *ops, struct atoll_err *err)
{
    char path[PATH_MAX];
    struct atoll_err own = ATOLL_ERR_INIT;
    int is_ours = 0; /* under the lock, and no campaign before */
    struct atoll_campaign *c = new_campaign(dir, ops, err);
    if (!c)
        return NULL;
    int is_own_folder = access(c->dir, F_OK) != 0;
    if (check_tasks(config, &own) != 0 || atoll_file_make_directory(c->ops, c->dir, 1, &own) != 0 ||
        check_folder(c->dir, &own) != 0 || atoll_campaign_hold_new(c, &own) != 0) {
        goto failed;
    }
    /* Again under the lock: another create may have finished in between. */
    is_ours = check_folder(c->dir, &own) == 0;
    if (!is_ours || copy_tasks(c, config, &own) != 0 ||
        write_given(c, ATOLL_PRIOR_FILE, config->prior, config->prior_length, &own) != 0 ||
        write_given(c, ATOLL_CAMPAIGN_KNOWLEDGE_FILE, config->knowledge, config->knowledge_length, &own) !=
            0 ||
        write_config(c, config, &own) != 0 || load_config(c, &own) != 0) {
        goto failed;
    }
    return c;
failed:
    if (own.code == ATOLL_E_FULL && is_own_folder && !is_ours)
        rmdir(c->dir); /* made, and not durable */
    if (own.code == ATOLL_E_FULL && is_ours &&
        atoll_campaign_path(c, path, sizeof(path), "campaign.yaml", NULL) == 0 && access(path, F_OK) != 0) {
        take_back(c, is_own_folder);
        atoll_err_clear(&own);
        atoll_err_set(
            &own, ATOLL_E_FULL,
            "%s: no space for the campaign, and nothing was left of it: free space on this file system, then "
            "start it again",
            c->dir);
    }
    if (err)
        *err = own;
    atoll_campaign_close(c);
    return NULL;
}

const struct atoll_config *atoll_campaign_config(const struct atoll_campaign *c)
{
    return &c->config;
}

const char *atoll_campaign_dir(const struct atoll_campaign *c)
{
    return c->dir;
}

const char *atoll_campaign_option(const struct atoll_campaign *c, const char *key)
{
    for (size_t i = 0; i < c->config.option_count; i++)
        if (!strcmp(c->config.options[i].key, key))
            return c->config.options[i].value;
    return NULL;
}

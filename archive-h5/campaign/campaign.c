/* campaign.c - the directory of a campaign.
 * Creation commits with campaign.yaml: everything else is durable before that file is renamed into place, so
 * a killed create leaves a folder that a later create may take over. */
#include "archive-h5/campaign/campaign.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive-h5/campaign/campaign_state.h"
#include "archive-h5/campaign/prior.h"
#include "archive-h5/campaign/task_copy.h"
#include "base/arena.h"

#define CONFIG_LIMIT_BYTES ((size_t)4 << 20)
#define ARENA_LIMIT_BYTES  ((size_t)32 << 20)

int atoll_campaign_path(const struct atoll_campaign *c, char *ret_path, size_t bytes, const char *name,
                        struct atoll_err *err)
{
    if ((size_t)snprintf(ret_path, bytes, "%s/%s", c->dir, name) >= bytes)
        return atoll_err_set(err, ATOLL_E_LIMIT, "path too long: %.80s.../%s", c->dir, name);
    return 0;
}

static struct atoll_campaign *new_campaign(const char *dir, const struct atoll_file_ops *ops,
                                           struct atoll_err *err)
{
    struct atoll_campaign *c = calloc(1, sizeof *c);
    if (!c || !(c->seen = calloc(1, sizeof *c->seen))) {
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
        atoll_arena_alloc_array(c->arena, c->config.task_count, sizeof *tasks, err);
    if (!tasks)
        return -1;
    for (size_t i = 0; i < c->config.task_count; i++) {
        char name[128], path[PATH_MAX];
        tasks[i] = c->config.tasks[i];
        snprintf(name, sizeof name, "tasks/%.63s", tasks[i].name);
        if (atoll_campaign_path(c, path, sizeof path, name, err) != 0 ||
            !(tasks[i].dir = atoll_arena_text(c->arena, path, strlen(path), err)))
            return -1;
    }
    c->config.tasks = tasks;
    return 0;
}

static int load_config(struct atoll_campaign *c, struct atoll_err *err)
{
    struct atoll_err local = ATOLL_ERR_INIT;
    char path[PATH_MAX];
    size_t length;
    if (atoll_campaign_path(c, path, sizeof path, "campaign.yaml", err) != 0)
        return -1;
    char *text = atoll_file_read(path, CONFIG_LIMIT_BYTES, &length, &local);
    if (!text && local.code == ATOLL_E_NOTFOUND)
        return atoll_err_set(
            err, ATOLL_E_NOTFOUND,
            "%s: is not a campaign (no campaign.yaml in it); start one with atoll run SUITE -o %s", c->dir,
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
    static const char *const leftovers[] = {".",     "..",   "campaign.lock",  "campaign.yaml.tmp",
                                            "tasks", "jobs", ATOLL_PRIOR_FILE, (ATOLL_PRIOR_FILE ".tmp"),
                                            "lease"};
    const size_t leftover_count = sizeof leftovers / sizeof *leftovers;
    int failed = 0;
    DIR *d = opendir(dir);
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
        if (i == leftover_count)
            failed = atoll_err_set(err, ATOLL_E_EXISTS,
                                   "%s: is not empty (%s is there); choose another folder", dir, e->d_name);
    }
    closedir(d);
    return failed;
}

static int check_tasks(const struct atoll_campaign_config *config, struct atoll_err *err)
{
    if (config->task_count == 0 || config->task_count > ATOLL_CAMPAIGN_TASK_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "a campaign has 1 to %d tasks, not %zu",
                             ATOLL_CAMPAIGN_TASK_LIMIT, config->task_count);
    if (config->option_count > ATOLL_CAMPAIGN_OPTION_LIMIT)
        return atoll_err_set(err, ATOLL_E_LIMIT, "a campaign keeps up to %d options",
                             ATOLL_CAMPAIGN_OPTION_LIMIT);
    for (size_t i = 0; i < config->task_count; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(config->tasks[i].name, config->tasks[k].name))
                return atoll_err_set(err, ATOLL_E_INPUT, "two tasks are named %s (%s and %s); rename one",
                                     config->tasks[i].name, config->tasks[k].dir, config->tasks[i].dir);
    return 0;
}

static int copy_tasks(struct atoll_campaign *c, const struct atoll_campaign_config *config,
                      struct atoll_err *err)
{
    char path[PATH_MAX], name[128];
    if (atoll_campaign_path(c, path, sizeof path, "jobs", err) != 0 ||
        atoll_file_make_directory(c->ops, path, 1, err) != 0)
        return -1;
    if (atoll_campaign_path(c, path, sizeof path, "tasks", err) != 0 ||
        atoll_file_make_directory(c->ops, path, 1, err) != 0)
        return -1;
    for (size_t i = 0; i < config->task_count; i++) {
        snprintf(name, sizeof name, "tasks/%.63s", config->tasks[i].name);
        if (atoll_campaign_path(c, path, sizeof path, name, err) != 0 ||
            atoll_task_copy(c->ops, config->tasks[i].dir, path, err) != 0)
            return -1;
    }
    return 0;
}

static int write_prior(struct atoll_campaign *c, const struct atoll_campaign_config *config,
                       struct atoll_err *err)
{
    char path[PATH_MAX];
    if (!config->prior)
        return 0;
    if (atoll_campaign_path(c, path, sizeof path, ATOLL_PRIOR_FILE, err) != 0)
        return -1;
    return atoll_file_replace(c->ops, path, config->prior, config->prior_length, err);
}

static int write_config(struct atoll_campaign *c, const struct atoll_campaign_config *config,
                        struct atoll_err *err)
{
    struct atoll_campaign_config own = *config;
    struct atoll_buffer text;
    char path[PATH_MAX];
    own.schema = ATOLL_CAMPAIGN_SCHEMA;
    atoll_buffer_init(&text, CONFIG_LIMIT_BYTES);
    int failed = atoll_config_write(&own, &text, err) != 0 ||
                 atoll_campaign_path(c, path, sizeof path, "campaign.yaml", err) != 0 ||
                 atoll_file_replace(c->ops, path, text.data, text.length, err) != 0;
    atoll_buffer_fini(&text);
    return failed ? -1 : 0;
}

struct atoll_campaign *atoll_campaign_create(const char *dir, const struct atoll_campaign_config *config,
                                             const struct atoll_file_ops *ops, struct atoll_err *err)
{
    struct atoll_campaign *c = new_campaign(dir, ops, err);
    if (!c)
        return NULL;
    if (check_tasks(config, err) != 0 || atoll_file_make_directory(c->ops, c->dir, 1, err) != 0 ||
        check_folder(c->dir, err) != 0 || atoll_campaign_hold_new(c, err) != 0)
        goto failed;
    /* Again under the lock: another create may have finished in between. */
    if (check_folder(c->dir, err) != 0 || copy_tasks(c, config, err) != 0 ||
        write_prior(c, config, err) != 0 || write_config(c, config, err) != 0 || load_config(c, err) != 0)
        goto failed;
    return c;
failed:
    atoll_campaign_close(c);
    return NULL;
}

const struct atoll_campaign_config *atoll_campaign_config(const struct atoll_campaign *c)
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
